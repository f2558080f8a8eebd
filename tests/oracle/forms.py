"""One string to the canonical paths that it can mean (section 4.1). Everything is bytes below this.

A found path is (path, aside): a canonical path in bytes or UNREADABLE, and whether it is only read aside."""
import os
import pwd
import re
import unicodedata

from . import canonical, names

UNREADABLE = "unreadable"


class World:
    """Where readings start from: all absolute, in bytes."""

    def __init__(self, cwd, home, roots):
        self.cwd, self.home, self.roots = cwd, home, list(roots)


def fits(text):
    return b"\0" not in text and len(text) <= canonical.LONGEST


def starts_as_uri(text):
    """The URI without the white space before it if the string begins with `file:`, tabs and line ends ignored."""
    left = text.lstrip(names.TRIMMED)
    scheme = left.translate(dict.fromkeys(b"\t\n\r"))[:5]
    return left if names.ascii_lower(scheme) == "file:" else None


def variants(text):
    """As written, NFC, NFD: each once."""
    out = []
    for each in (text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)):
        if each not in out:
            out.append(each)
    return out


def is_home(text):
    return text == "~" or text.startswith("~/")


def users_home(text):
    """(the home of the user that a text names behind ~, the rest), or None."""
    found = re.match(r"~([^/\0]+)", text)
    if found is None:
        return None
    try:
        home = pwd.getpwnam(found.group(1)).pw_dir
    except (KeyError, ValueError, UnicodeEncodeError):
        return None
    return os.fsencode(home), text[found.end():]


class Anchored:
    """A form of a string: `base` is a directory in bytes, `rest` what of the string stands behind it (with a leading slash
    where the base is the root of an absolute text), None for what cannot be read. `users`: below the home of a user that it
    names."""

    def __init__(self, base, rest, aside=False, users=False):
        self.base, self.rest, self.aside, self.users = base, rest, aside, users

    @property
    def readable(self):
        return self.base is not None

    def text(self):
        if self.rest.startswith(b"/"):
            return (b"" if self.base == b"/" else self.base) + self.rest
        return self.base + b"/" + self.rest


def anchored(text, starts, home, others=()):
    """The forms of a string under a path argument, in their order: as written, NFC, NFD, home, a user's home. `starts` hold
    None for one that cannot be read."""
    out = []
    for each in variants(text):
        raw = each.encode("utf-8")
        if not fits(raw):
            out.append(Anchored(None, None))
            continue
        if raw.startswith(b"/"):
            out.append(Anchored(b"/", raw))
            continue
        for start in starts:
            if start is None:
                out.append(Anchored(None, None))
                continue
            aside = is_home(each) and not may_hold(start, b"~")
            out.append(Anchored(start, raw, aside))
    for each in variants(text):
        if is_home(each) and fits(each.encode("utf-8")):
            out.append(Anchored(home, each[1:].encode("utf-8") or b"/"))
    other = users_home(text)
    if other is not None and fits(text.encode("utf-8")):
        out.append(Anchored(other[0], other[1].encode("utf-8") or b"/", True, True))
    return out


def may_hold(start, name):
    """Whether a directory has such an entry, in either way to take its `..`; where that cannot be told, it may."""
    for text in (canonical.textual(start), start):
        try:
            if canonical.exists(canonical.joined(canonical.kernel(text), b"/" + name)):
                return True
        except canonical.Unreadable:
            return True
    return False


def of_uri(uri):
    """The forms of a file: URI: its path, NFC, NFD. Raises Unreadable."""
    raw = canonical.from_uri(uri.encode("utf-8"))
    try:
        found = [each.encode("utf-8") for each in variants(raw.decode("utf-8"))]
    except UnicodeDecodeError:
        found = [raw]  # no text has such bytes
    return [Anchored(b"/", each) if fits(each) else Anchored(None, None) for each in found]


def canonical_of(form):
    """The two readings of one form, UNREADABLE where it has none."""
    if not form.readable:
        return [UNREADABLE]
    return [UNREADABLE if path is None else path for path in canonical.both(form.text())]


def ways_of(form):
    """The same, each behind the name of the link that leads there, or None."""
    if not form.readable:
        return [(None, UNREADABLE)]
    return [(link, UNREADABLE if path is None else path) for link, path in canonical.ways(form.text())]


def filled(text, world):
    """A text that begins with a variable of the home or working directory, with it filled in; None otherwise."""
    found = re.match(r"\$(?:HOME|\{HOME\}|PWD|\{PWD\})(?![A-Za-z0-9_])|\$\{(?:HOME|PWD)\}", text)
    if found is None:
        return None
    where = world.home if "HOME" in found.group() else world.cwd
    return os.fsdecode(where) + text[found.end():]


def trimmed(text):
    """What a text is without white space at its ends, and without a pair of quotes around it."""
    out, left = [], text.strip(names.TRIMMED)
    if left != text:
        out.append(left)
    if len(left) >= 2 and left[0] == left[-1] and left[0] in "\"'`":
        out.append(left[1:-1])
        if left[1:-1].strip(names.TRIMMED) != left[1:-1]:
            out.append(left[1:-1].strip(names.TRIMMED))
    return out


def pathspec(text):
    """(what stands behind the magic, whether from the top of the repository, whether all may be meant) of a pathspec of git
    with magic; None for any other text."""
    found = re.match(r":\(([^)]*)\)|:([/!^]+):?", text)
    if found is None:
        return None
    if found.group(1) is not None:
        words = found.group(1).split(",")
        words = words if words[-1] != "" else words[:-1]
        top, whole = "top" in words, any(word not in ("top", "glob", "literal") for word in words)
    else:
        top, whole = "/" in found.group(2), any(char in "!^" for char in found.group(2))
    return text[found.end():] or ".", top, whole


def repository_above(start):
    """The nearest directory at or above a start that has an entry .git; None without one."""
    try:
        at = canonical.kernel(start) if start is not None else b""
    except canonical.Unreadable:
        return None
    while at:
        if os.path.lexists((at if at != b"/" else b"") + b"/.git"):
            return at
        at = b"" if at == b"/" else os.path.dirname(at)
    return None


class Files:
    """What the loaded prefixes and components say of files at this moment."""

    def __init__(self, policy):
        self.spelt = {}
        self.prefixes, self.components = {}, []  # canonical prefix: its identities, at load and now
        self.hosts = {arm.host for rule in policy.rules for arm in rule.arms if arm.host is not None}
        for rule in policy.rules:
            for prefix, first in rule.prefixes():
                known = self.prefixes.setdefault(prefix, {canonical.identity_behind(prefix)} - {None})
                known |= {first} - {None}
            for component in rule.components():
                if component not in self.components:
                    self.components.append(component)

    def spellings(self, path):
        """The path, and the loaded prefixes that are the same file as it or as what it lies below, with the rest."""
        if path not in self.spelt:
            self.spelt[path] = self._spellings(path)
        return self.spelt[path]

    def _spellings(self, path):
        found = [path]
        above = [(each, identity) for each, identity in ((each, canonical.identity(each)) for each in canonical.ancestors(path))
                 if identity is not None]
        for prefix, identities in self.prefixes.items():
            for ancestor, identity in above:
                if ancestor != prefix and identity in identities:
                    found.append(canonical.joined(prefix, canonical.below(path, ancestor)))
        return [each if len(each) <= canonical.LONGEST else UNREADABLE for each in found]

    def below(self, paths):
        """The prefixes that lie below any of the paths."""
        return [prefix for prefix in self.prefixes
                if any(each != UNREADABLE and canonical.is_under(prefix, each) for each in paths)]
