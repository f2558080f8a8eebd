"""From an absolute text to one canonical path (section 4). Everything is bytes: nothing is folded or normalised."""
import os
import stat

from . import names

LONGEST = 4095  # bytes of a string, and of a canonical path
MOST_LINKS = 40


class Unreadable(Exception):
    """The text has no canonical path; the message says why, for the person who debugs a difference."""


work = [0]  # components of the paths that were asked for since it was last set to nothing, those of links included
_resolved = {}  # texts to what kernel() makes of them
_seen = {}  # what lstat said of a path: a call's many readings ask for the same again and again


def look_again():
    """Forgets what files were: between two calls they may have changed."""
    _seen.clear()
    _resolved.clear()


def status(path):
    """os.lstat, asked once for a call."""
    found = _seen.get(path)
    if found is None:
        try:
            found = os.lstat(path)
        except (OSError, ValueError) as error:
            found = error
        _seen[path] = found
    if isinstance(found, Exception):
        raise found
    return found


def textual(path):
    """`..` removed from the text, before any link is looked at."""
    kept = []
    for part in path.split(b"/"):
        if part == b"..":
            if kept:
                kept.pop()
        elif part not in (b"", b"."):
            kept.append(part)
    return b"/" + b"/".join(kept)


def kernel(path):
    """Links followed one component at a time, `..` taken from where they lead. What does not exist, or lies below
    a file, is kept, and resolving goes on after it."""
    if path not in _resolved:
        before = work[0]
        try:
            result = _kernel(path)
        except Unreadable as error:
            result = error
        _resolved[path] = result, work[0] - before
        work[0] = before
    result, walked = _resolved[path]
    work[0] += walked
    if isinstance(result, Unreadable):
        raise Unreadable(str(result))
    return result


def _kernel(path):
    todo, done, links = path.split(b"/")[::-1], [b""], 0  # done: where each component led, the last one deepest
    while todo:
        part = todo.pop()
        work[0] += 1
        if part in (b"", b"."):
            continue
        if part == b"..":
            if len(done) > 1:
                done.pop()
            continue
        here = done[-1] + b"/" + part
        try:
            is_link = stat.S_ISLNK(status(here).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            is_link = False
        except (OSError, ValueError) as error:
            raise Unreadable(str(error))
        if not is_link:
            done.append(here)
            continue
        links += 1
        if here.startswith(b"/proc/"):
            raise Unreadable("a symbolic link under /proc")
        if links > MOST_LINKS:
            raise Unreadable("more than 40 links")
        try:
            target = os.readlink(here)
        except OSError as error:
            raise Unreadable(str(error))
        if target.startswith(b"/"):
            done = [b""]
        todo += target.split(b"/")[::-1]
    result = done[-1] or b"/"
    if len(result) > LONGEST:
        raise Unreadable("a canonical path of more than 4095 bytes")
    return result


def both(path):
    """The two readings of an absolute text, textual first; None stands for an unreadable one."""
    out = []
    for text in (textual(path), path):
        try:
            out.append(kernel(text))
        except Unreadable:
            out.append(None)
    return out


def exists(path):
    try:
        status(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        pass  # it cannot be told: then it may
    return True


def is_directory(path):
    try:
        return stat.S_ISDIR(status(path).st_mode)
    except (OSError, ValueError):
        return False


def _link(text):
    """The name of the link that the last component of a text is, or None."""
    above, _, name = text.rpartition(b"/")
    if name in (b"", b".", b".."):
        return None
    try:
        here = joined(kernel(above or b"/"), b"/" + name)
        return here if stat.S_ISLNK(status(here).st_mode) else None
    except (Unreadable, OSError, ValueError):
        return None


def ways(path):
    """The two readings of an absolute text, textual first: (the link's own name if its last component is one, else None; the
    path, None for an unreadable one)."""
    return list(zip((_link(textual(path)), _link(path.rstrip(b"/"))), both(path)))


def as_link(path):
    """The names of the links that the last component of a text is, each once."""
    out = []
    for link, _ in ways(path):
        if link is not None and link not in out:
            out.append(link)
    return out


def identity(path):
    """(device, inode) of what exists there, else None."""
    try:
        found = status(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino)


def identity_behind(path):
    """The same of what a link leads to: a prefix may have become one since the load."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino)


def is_under(path, prefix):
    return prefix == b"/" or path == prefix or path.startswith(prefix + b"/")


def ancestors(path):
    """The path itself, then each directory above it up to the root."""
    while True:
        yield path
        if path == b"/":
            return
        path = path[:path.rindex(b"/")] or b"/"


def below(path, ancestor):
    """What of `path` lies below `ancestor`, with its leading slash; nothing if they are equal."""
    if ancestor == b"/":
        return b"" if path == b"/" else path
    return path[len(ancestor):]


def joined(prefix, rest):
    return (prefix if prefix != b"/" else b"") + rest or b"/"


def from_uri(text):
    """A `file:` URI (leading white space already taken off) to the path that it names."""
    rest = text[len(b"file:"):]
    if any(char in text for char in b"?#\\\0\t\n\r") or text.decode("utf-8")[-1] in names.TRIMMED:
        raise Unreadable("a byte that a file URI may not hold, or not there")
    if rest.startswith(b"//localhost/"):
        rest = rest[len(b"//localhost"):]
    elif rest.startswith(b"///"):
        rest = rest[2:]
    elif not rest.startswith(b"/") or rest.startswith(b"//"):
        raise Unreadable("a file URI with a host, or without a path")
    out, at = bytearray(), 0
    while at < len(rest):
        if rest[at:at + 1] != b"%":
            out.append(rest[at])
            at += 1
            continue
        digits = rest[at + 1:at + 3]
        if len(digits) != 2 or not all(digit in b"0123456789abcdefABCDEF" for digit in digits):
            raise Unreadable("an invalid percent escape")
        out.append(int(digits, 16))
        at += 3
    if 0 in out:
        raise Unreadable("a NUL in a file URI")
    if len(out) > LONGEST:
        raise Unreadable("a file URI of more than 4095 bytes")
    return bytes(out)
