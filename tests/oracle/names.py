"""Names of arguments: how they are folded (section 5), the words in them, and which of them name paths, trees, commands
and URLs for a call (section 4)."""
import functools
import re

BASES = tuple("cwd workdir working_directory workingdirectory working_dir dir_path repo_path".split())
BUILT_IN = {
    "path": ("path paths file files file_path filepath filename notebook_path source destination src dst old_path new_path "
             "directory dir folder uri").split(),
    "command": "command cmd commands commandline command_line".split(),
    "url": "url urls uri href".split(),
}
BUILT_IN_TREES = {"directory_tree": ["path"], "search_files": ["path"], "Grep": ["path"], "Glob": ["path"]}
KINDS = ("path", "tree", "command", "url")

BLANKS = " \t"
# What Unicode calls white space.
WHITE_SPACE = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200b))) + \
    "\u2028\u2029\u202f\u205f\u3000"
# What the trimming functions of some language take away.
TRIMMED = WHITE_SPACE + "".join(map(chr, range(0x21))) + "\x7f\ufeff"

# Strings under these are prose, values of others, or texts of other languages: no places.
NO_PLACE_WORDS = set(("header label params properties value content contents text body message messages title description "
                      "comment prompt query sql string regex old new").split())
PLACE_WORDS = set(("path paths file files filename dir dirs directory folder root location output input target save "
                   "dest").split())
START_WORDS = set("cwd dir directory folder workdir root workspace location".split())


LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def ascii_lower(text):
    return text.translate(LOWER)


def folded(name):
    """ASCII lower case, and the two letters that case folding makes ASCII."""
    return ascii_lower(name).replace("\u212a", "k").replace("\u017f", "s")


@functools.lru_cache(4096)
def words(name):
    """The words of an argument's name, in lower case."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [folded(word) for word in re.split(r"[-_. \t]+", parted) if word]


def has_word(name, pool):
    return any(word in pool for word in words(name))


class Lists:
    """What `pathArguments` and its three siblings of one policy say: {kind: {key: [entries]}}."""

    def __init__(self):
        self.entries = {kind: {} for kind in KINDS}

    def add(self, kind, key, entries):
        self.entries[kind].setdefault(key, []).extend(entries)

    def extend(self, other):
        for kind in KINDS:
            for key, entries in other.entries[kind].items():
                self.add(kind, key, entries)


class Meaning:
    """Which folded names mean what for one call."""

    def __init__(self, lists, tool, server):
        self.names, self.taken = {}, {}
        for kind in KINDS:
            built_in = BUILT_IN_TREES.get(tool, []) if kind == "tree" else BUILT_IN[kind]
            self.names[kind], self.taken[kind] = self._apply(list(built_in), lists.entries[kind], tool, server)

    @staticmethod
    def _apply(names, entries, tool, server):
        """The names that are left, in order, and those that were taken away at the last."""
        keys = ["*"] + ([server + "/*"] if server is not None else []) + [tool]
        keys += [server + "/" + tool] if server is not None else []
        taken = set()
        for key in keys:
            for entry in entries.get(key, []):
                minus = entry.startswith("-")
                name = folded(entry[1:] if minus else entry)
                if minus:
                    names = [each for each in names if each != name]
                    taken.add(name)
                else:
                    taken.discard(name)
                    if name not in names:
                        names.append(name)
        return names, taken

    def has(self, kind, name):
        return folded(name) in self.names[kind]

    def takes_away(self, kind, name):
        return folded(name) in self.taken[kind]
