"""Whole trees, and names with `*`, `?`, `[` or `{` in them, as what stands there now (section 4.1)."""
import os
import re

from . import canonical, forms

MOST_ENTRIES = 100_000      # of the trees of a call
MOST_MATCHED = 10_000       # of one name with wildcards
MOST_ALTERNATIVES = 64
LISTS_NAMES = frozenset("glob ls search_files list_files directory_tree list_directory_tree find_files find_path".split())
FILTERS = ("glob", "include", "include_pattern", "includepattern", "file_pattern", "filepattern")


class TooMany(Exception):
    pass


class Budget:
    """How many entries may still be looked at."""

    def __init__(self, most):
        self.left = most

    def take(self):
        self.left -= 1
        if self.left < 0:
            raise TooMany


def component_matches(wanted, name):
    """A rule's pathComponent against one name."""
    if wanted.startswith(b"*"):
        return name.endswith(wanted[1:])
    if wanted.endswith(b"*"):
        return name.startswith(wanted[:-1])
    return name == wanted


def sorted_names(directory):
    try:
        return sorted(os.listdir(directory))
    except (OSError, ValueError):
        return []


def is_real_directory(path):
    return canonical.is_directory(path)  # links are not followed


def entries(path, files, keep, budget, hidden=True):
    """The entries below a directory whose names a loaded component matches, depth first. `keep` says of a name whether it
    counts; without `hidden` nothing below a name that begins with a dot is looked at."""
    if not files.components:
        return []
    out = []

    def walk(directory):
        for name in sorted_names(directory):
            budget.take()
            if not hidden and name.startswith(b"."):
                continue
            here = canonical.joined(directory, b"/" + name)
            if keep(name) and any(component_matches(each, name) for each in files.components):
                out.append(here)
            if is_real_directory(here):
                walk(here)

    try:
        if is_real_directory(path):
            walk(path)
    except TooMany:
        out.append(forms.UNREADABLE)
    return out


# --- wildcards

def has_wildcards(text):
    return any(char in text for char in b"*?[{")


def alternatives(text):
    """Each text that the braces of one stand for, or None for more than 64. Braces without a comma, or without their other
    half, are themselves."""
    done, todo = [], [text]
    while todo:
        here = todo.pop(0)
        opened = _brace(here)
        if opened is None:
            done.append(here)
        else:
            start, parts, end = opened
            todo = [here[:start] + part + here[end:] for part in parts] + todo
        if len(done) + len(todo) > MOST_ALTERNATIVES:
            return None
    return done


def _brace(text):
    """The first pair of braces with a comma of its own: (start, its alternatives, end)."""
    for start in (at for at in range(len(text)) if text[at:at + 1] == b"{"):
        depth, parts, begin = 0, [], start + 1
        for at in range(start, len(text)):
            char = text[at:at + 1]
            if char == b"{":
                depth += 1
            elif char == b"}":
                depth -= 1
                if depth == 0:
                    parts.append(text[begin:at])
                    if len(parts) > 1:
                        return start, parts, at + 1
                    break
            elif char == b"," and depth == 1:
                parts.append(text[begin:at])
                begin = at + 1
    return None


def as_expression(wanted):
    """A component with wildcards as an expression over decoded names."""
    text, out, at = os.fsdecode(wanted), "", 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            out += ".*"
        elif char == "?":
            out += "."
        elif char == "[":
            end = at + (1 if text[at:at + 1] in ("!", "^") else 0)
            end = text.find("]", end + 1)
            if end < 0:
                out += "\\["
                continue
            inner = text[at:end]
            negated = inner[:1] in ("!", "^")
            # What locale it is read in is not known: any character beyond ASCII may be meant.
            out += "(?:[^\\x00-\\x7f]|[" + ("^" if negated else "") + _set(inner[1:] if negated else inner) + "])"
            at = end + 1
        else:
            out += re.escape(char)
    return re.compile(out + r"\Z", re.DOTALL)


def _set(inner):
    """Ranges whose ends are the wrong way round hold nothing."""
    out, at = "", 0
    while at < len(inner):
        if inner[at + 1:at + 2] == "-" and at + 2 < len(inner):
            low, high = inner[at], inner[at + 2]
            if low <= high:
                out += re.escape(low) + "-" + re.escape(high)
            at += 3
        else:
            out += re.escape(inner[at])
            at += 1
    return out or "\ud800"


def name_matches(wanted, name):
    return as_expression(wanted).match(os.fsdecode(name)) is not None


def last_component(text):
    return text.rstrip(b"/").rsplit(b"/", 1)[-1]


def filter_of(members, folded):
    """What the call's own filter leaves of entries: a function of a name."""
    patterns = []
    for member in members:
        if folded(member.key) in FILTERS:
            values = member.value.value if member.value.kind == "array" else [member.value]
            if any(each.kind != "string" for each in values):
                continue
            patterns += [each.value for each in values]
    if not patterns or any(each.startswith("!") for each in patterns):
        return lambda name: True
    wanted = []
    for each in patterns:
        found = alternatives(each.encode("utf-8"))
        if found is None:
            return lambda name: True
        wanted += [last_component(one) for one in found]
    if any(b"**" in each or each == b"" for each in wanted):
        return lambda name: True
    return lambda name: any(name_matches(each, name) for each in wanted)


class Glob:
    """What one text with wildcards stands for: `texts`, absolute and still to be made canonical, and `trees`: (directory,
    function of a name)."""

    def __init__(self):
        self.texts, self.trees = [], []


def expand(base, rest):
    """Of a form: the directory that it starts at, and the text behind it."""
    out = Glob()
    found = alternatives(rest)
    if found is None:
        at = rest.index(b"{")
        out.trees.append((_above(base, rest[:at]), lambda name: True))
        return out
    for each in found:
        _expand_one(out, base, each)
        if b".." in each.split(b"/") and any(char in each for char in b"*?["):
            reduced = canonical.textual(_glue(base, each))
            if any(char in reduced for char in b"*?["):
                _expand_one(out, b"/", reduced)
    return out


def _above(base, before):
    """The directory in which the component stands that begins in `before`."""
    folder = before.rpartition(b"/")[0]
    if before.startswith(b"/"):
        return (b"" if base == b"/" else base) + folder or b"/"
    return base + b"/" + folder if folder else base


def _expand_one(out, base, text):
    budget = Budget(MOST_MATCHED)
    parts = text.split(b"/")
    first = next((at for at, part in enumerate(parts) if any(char in part for char in b"*?[")), None)
    if first is None:
        out.texts.append(_glue(base, text))
        return
    found = [_glue(base, b"/".join(parts[:first])) if first else base]
    if first == 1 and parts[0] == b"":
        found = [base]
    trees = []
    try:
        for at in range(first, len(parts)):
            part, after = parts[at], []
            if b"**" in part:
                last = last_component(text)
                keep = (lambda name: True) if b"**" in last else (lambda name, last=last: name_matches(last, name))
                trees += [(here, keep) for here in found]
                found = []
                break
            if not any(char in part for char in b"*?["):
                found = [here + b"/" + part for here in found]
                continue
            for here in found:
                for name in sorted_names(here):
                    budget.take()
                    if name_matches(part, name):
                        after.append(canonical.joined(here, b"/" + name))
            found = after
    except TooMany:
        above = _glue(base, b"/".join(parts[:first])) if first else base
        out.trees.append((above, lambda name: True))
        return
    out.texts += found
    out.trees += trees


def _glue(base, text):
    if text.startswith(b"/"):
        return (b"" if base == b"/" else base) + text
    return base + b"/" + text
