"""A call to its readings, in order (section 4).

A reading is a canonical path in bytes, UNREADABLE, or NO_PATH. The order is the one in which the text of the
specification counts them up; equal readings stand once, at the first one's place.
"""
from . import calls, canonical, jsonread

UNREADABLE = "unreadable"
NO_PATH = "no path"
MOST_STRINGS = 4096
BASES = ("cwd", "workdir", "repo_path")
BUILT_IN_PATHS = tuple(name.lower() for name in (
    "path paths file files file_path filePath filename notebook_path source destination src dst old_path new_path "
    "directory dir folder uri").split())
BUILT_IN_TREES = {"directory_tree": ["path"], "search_files": ["path"], "Grep": ["path"], "Glob": ["path"]}


class OverLimit(Exception):
    pass


class World:
    """Where readings start from: all absolute, in bytes."""

    def __init__(self, cwd, home, roots):
        self.cwd, self.home, self.roots = cwd, home, list(roots)


def argument_names(built_in, lists, tool, server):
    """The names that apply, in ASCII lower case: built-in, then `*`, the tool's, the server's tool's."""
    names = list(built_in)
    keys = ["*", tool] + ([server + "/" + tool] if server is not None else [])
    for key in keys:
        for entry in lists.get(key, []):
            name = calls.ascii_lower(entry[1:] if entry.startswith("-") else entry)
            if entry.startswith("-"):
                names = [each for each in names if each != name]
            elif name not in names:
                names.append(name)
    return names


def starts_as_uri(text):
    """The URI without leading white space if the string begins with `file:`, tabs and line ends ignored, else None."""
    for index, char in enumerate(text):
        if char > " ":
            scheme = text[index:].translate(dict.fromkeys(b"\t\n\r"))[:5]
            return text[index:] if calls.ascii_lower(scheme) == "file:" else None
    return None


def as_array(text):
    """The elements of the text of a non-empty JSON array of strings, else None."""
    if not text.lstrip(" \t\r\n").startswith("["):
        return None
    try:
        node, _ = jsonread.read(text.encode("utf-8"))
    except jsonread.JsonError:
        return None
    if not node.value or any(item.kind != "string" for item in node.value):
        return None
    return [item.value for item in node.value]


class _Maker:
    def __init__(self, call, policy, world):
        self.call, self.policy, self.world = call, policy, world
        self.paths = argument_names(BUILT_IN_PATHS, policy.path_arguments, call.tool, call.server)
        self.trees = argument_names(BUILT_IN_TREES.get(call.tool, []), policy.tree_arguments, call.tool, call.server)
        # What a workspace file alone calls a path adds readings and takes none away.
        self.sure_paths = argument_names(BUILT_IN_PATHS, policy.operators_paths, call.tool, call.server)
        self.sure_trees = argument_names(BUILT_IN_TREES.get(call.tool, []), policy.operators_trees, call.tool,
                                         call.server)
        self.members = call.input.value if call.input is not None else []
        self.starts = [world.cwd] + world.roots + self._base_starts()
        self.out, self.strings, self.no_path_stays, self.base, self.sure = [], 0, True, False, True

    def _base_starts(self):
        """A base's text as it is written: no home, no URI. None stands for an unreadable start."""
        starts = []
        for name in BASES:
            for member in self.members:
                if member.key == name and member.value.kind == "string":
                    text = member.value.value.encode("utf-8")
                    outer = [b""] if text.startswith(b"/") else \
                        [each + b"/" for each in [self.world.cwd] + self.world.roots]
                    starts += [each + text if self._fits(text) else None for each in outer]
        return starts

    @staticmethod
    def _fits(text):
        return b"\0" not in text and len(text) <= canonical.LONGEST

    def make(self):
        for member in self.members:
            name = calls.ascii_lower(member.key)
            self.base = member.key in BASES
            tree = name in self.trees
            is_path = tree or self.base or name in self.paths
            self.sure = name in self.sure_trees or name in self.sure_paths
            if tree and member.value.kind == "null":
                self.sure = name in self.sure_trees
                self._string("", True, False, True)
            else:
                self._value(member.value, is_path, name == "uri", tree)
        self.base = False
        present = [calls.ascii_lower(member.key) for member in self.members]
        absent = [name for name in self.trees if name not in present]
        if absent:
            self.sure = any(name in self.sure_trees for name in absent)
            self._path(b"", True)
        if self.no_path_stays:
            self._add(NO_PATH)
        return self.out

    def _add(self, reading):
        if reading != NO_PATH and not self.base and self.sure:
            self.no_path_stays = False
        if reading not in self.out:
            self.out.append(reading)

    def _value(self, node, is_path, is_uri, tree):
        if node.kind == "string":
            self._string(node.value, is_path, is_uri, tree)
        elif node.kind == "array":
            for item in node.value:
                self._value(item, is_path, is_uri, tree)
        elif node.kind == "object":
            for member in node.value:
                name, outer = calls.ascii_lower(member.key), self.sure
                self.sure = name in self.sure_paths
                self._value(member.value, name in self.paths, name == "uri", tree)
                self.sure = outer
        elif is_path and node.kind in ("number", "bool"):
            self._add(UNREADABLE)

    def _string(self, text, is_path, is_uri, tree):
        uri, outer = starts_as_uri(text), self.sure
        if uri is not None or is_path and not is_uri:
            self.strings += 1
            if self.strings > MOST_STRINGS:
                raise OverLimit
        self.sure = outer or uri is not None
        if uri is not None:
            self._uri(uri, tree)
        if is_path and (uri is not None or not is_uri):
            self._path(text.encode("utf-8"), tree)
        self.sure = outer
        for element in as_array(text) or []:
            self._string(element, is_path, is_uri, tree)

    def _uri(self, text, tree):
        try:
            path = canonical.from_uri(text.encode("utf-8"))
        except canonical.Unreadable:
            self._add(UNREADABLE)
            return
        self._form(path, tree)

    def _path(self, text, tree):
        if not self._fits(text):
            self._add(UNREADABLE)
            return
        if text.startswith(b"/"):
            self._form(text, tree)
            return
        for start in self.starts:
            if start is None:
                self._add(UNREADABLE)
            else:
                self._form(start + b"/" + text, tree)
        if text == b"~" or text.startswith(b"~/"):
            self._form(self.world.home + text[1:], tree)

    def _form(self, absolute, tree):
        for path in canonical.both(absolute):
            if path is None:
                self._add(UNREADABLE)
                continue
            spellings = [path] + self._same_files(path)
            for each in spellings:
                self._add(each if len(each) <= canonical.LONGEST else UNREADABLE)
            if tree:
                for rule in self.policy.rules:
                    prefix = rule.match.prefix
                    if prefix is not None and any(canonical.is_under(prefix, each) for each in spellings):
                        self._add(prefix)

    def _same_files(self, path):
        """The loaded prefixes that are the same file as the path or what it lies below, with the rest. A prefix's file
        is the one it was at load; for a file that has other names, also the one that stands there now."""
        found = []
        for rule in self.policy.rules:
            prefix = rule.match.prefix
            if prefix is None:
                continue
            for ancestor in canonical.ancestors(path):
                identity = None if ancestor == prefix else canonical.identity(ancestor)
                if identity is None:
                    continue
                now = canonical.has_other_names(ancestor) and canonical.identity(prefix) == identity
                if now or identity == rule.identity:
                    found.append(canonical.joined(prefix, canonical.below(path, ancestor)))
        return found


def readings(call, policy, world):
    """Raises OverLimit if too many strings of the call are read as paths."""
    return _Maker(call, policy, world).make()
