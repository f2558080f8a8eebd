"""Strings of a call that may name a path or a host but are not known to (section 4.1, 4.3)."""
from . import canonical, forms, hosts, inputs, names, places, trees
from .forms import UNREADABLE
from .reading import Reading

PATTERN_TOOLS = ("Grep", "grep_search", "search_file_content")
NO_TREE_TOOLS = frozenset(("ls list_files list_directory list_directory_with_sizes list_dir ls create_directory make_directory "
                           "mkdir get_file_info file_info stat").split())
HEADERS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/", "--- a/")


def of_strings(maker):
    return _Aside(maker).make()


def may_be_place(text, under):
    """Whether a string that is no argument of its own may name a path, by its look and the names that it stands under."""
    if any(char < " " or char == "\x7f" for char in text) or hosts.begins_as_url(text):
        return False
    if text == "" or len(text.encode("utf-8")) > canonical.LONGEST:
        return False
    if any(blank in text for blank in names.BLANKS) and not text.startswith(("/", "~", "./", "../")):
        return False
    if any(names.has_word(name, names.NO_PLACE_WORDS) for name in under):
        return False
    return "/" in text or text.startswith(("~", ".")) or any(names.has_word(name, names.PLACE_WORDS) for name in under)


def is_path_argument(leaf, text):
    return leaf.is_path and (not leaf.is_uri or forms.starts_as_uri(text) is not None)


class _Aside:
    def __init__(self, maker):
        self.maker, self.world, self.files = maker, maker.world, maker.files
        self.folders = self._folders()
        self.out = []

    def _folders(self):
        """The directories that are path arguments of the call, as starts for others."""
        out = []
        for leaf in self.maker.walk.leaves:
            if leaf.node.kind == "string":
                out += [path for path in self._folders_of(leaf, leaf.node.value) if path not in out]
        return out

    def _folders_of(self, leaf, text):
        out = []
        if is_path_argument(leaf, text):
            for form in self.all_forms(text):
                out += [path for path in forms.canonical_of(form) if path != UNREADABLE and canonical.is_directory(path)]
        for item in inputs.array_of_strings(text):
            out += self._folders_of(leaf, item.value)
        return out

    def all_forms(self, text):
        """The forms of a text, and what it leads to as a file URI."""
        out, uri = forms.anchored(text, self.maker.starts, self.world.home), forms.starts_as_uri(text)
        if uri is not None:
            try:
                out.append(forms.Anchored(b"/", canonical.from_uri(uri.encode("utf-8"))))
            except canonical.Unreadable:
                pass
        return out

    def make(self):
        for leaf in self.maker.walk.leaves:
            if leaf.node.kind == "string":
                self.level(leaf, leaf.node.value)
        if self.maker.empty_trees:
            for form in forms.anchored("", self.maker.starts, self.world.home):
                if form.readable:
                    self.out += [Reading(path=path, aside=True) for path in canonical.as_link(form.text())]
        return self.out

    def level(self, leaf, text):
        """A string, and the elements of the array that it is the text of."""
        self.leaf(leaf, text)
        for item in inputs.array_of_strings(text):
            self.level(leaf, item.value)

    def path(self, path):
        if path != UNREADABLE:
            self.out.append(Reading(path=path, aside=True))

    def host(self, host):
        if host is not None and host != UNREADABLE:
            self.out.append(Reading(host=host, aside=True))

    def leaf(self, leaf, text):
        if is_path_argument(leaf, text):
            self.path_argument(leaf, text)
        elif not leaf.is_command and not leaf.is_url and self.counts(text, leaf.under):
            self.texts([text], True)
        if self.json_counts(leaf):
            for under, inner in inputs.inside_json(text, leaf.under):
                if self.counts(inner, under):
                    self.texts([inner], True)
                self.inner_host(inner)
        prose = any(names.has_word(name, names.NO_PLACE_WORDS) for name in leaf.under)
        if not prose and ("\n" in text or text.startswith("***")):
            for line in text.split("\n"):
                for header in HEADERS:
                    if line.startswith(header) and len(line) > len(header):
                        self.texts([line[len(header):]], True)
        self.hosts_of(leaf, text)

    def json_counts(self, leaf):
        return not leaf.is_command and not any(names.has_word(name, names.NO_PLACE_WORDS) or
                                               self.maker.mine.takes_away("path", name) for name in leaf.under)

    def counts(self, text, under):
        if any(self.maker.mine.takes_away("path", name) for name in under):
            return False
        if under and names.folded(under[-1]) == "pattern" and self.maker.call.tool in PATTERN_TOOLS:
            return False
        return may_be_place(text, under)

    def inner_host(self, text):
        if hosts.begins_as_url(text):
            self.host(hosts.of_url(text))

    def hosts_of(self, leaf, text):
        if names.folded(leaf.name) in ("host", "hostname"):
            self.host(hosts.with_port(text))
        if hosts.any_scheme(text) and not hosts.begins_as_url(text):
            self.host(hosts.behind_scheme(text))

    # --- paths

    def path_argument(self, leaf, text):
        found = forms.anchored(text, self.maker.starts, self.world.home)
        for form in found:
            if form.aside:
                self.form(form)
        others = forms.trimmed(text)
        filled = forms.filled(text, self.world)
        self.texts([text], False)
        self.texts(others + ([filled] if filled is not None else []), True)
        tool = names.ascii_lower(self.maker.call.tool)
        if leaf.is_base or tool in NO_TREE_TOOLS or \
                self.maker.mine.takes_away("tree", leaf.under[0]):
            return
        for each in [text] + others + ([filled] if filled is not None else []):
            for form in self.all_forms(each) + self.joined(each):
                self.folder(form)

    def folder(self, form):
        """An existing directory is a tree."""
        for path in forms.canonical_of(form):
            if path != UNREADABLE and canonical.is_directory(path):
                for each in self.maker.tree(path, self.files.spellings(path)):
                    self.path(each)

    def texts(self, texts, plain):
        """Each text by all its forms (`plain`: these themselves too), joined to the call's directories, as links, and by what
        its wildcards stand for."""
        for text in texts + ([each for one in texts for each in forms.trimmed(one)] if plain else []):
            found = self.all_forms(text) if plain else forms.anchored(text, self.maker.starts, self.world.home)
            joined = self.joined(text)
            for form in (found if plain else []) + joined:
                self.form(form)
            for form in found + joined:
                if not form.readable:
                    continue
                for path in canonical.as_link(form.text()):
                    self.path(path)
                if trees.has_wildcards(form.rest):
                    for path in places.expanded(form, self.files, self.maker.budget):
                        self.path(path)

    def joined(self, text):
        """A relative text from the directories of the call."""
        if text.startswith("/"):
            return []
        return [form for form in forms.anchored(text, self.folders, self.world.home)
                if form.readable and form.base in self.folders]

    def form(self, form):
        for path in forms.canonical_of(form):
            if path != UNREADABLE:
                for each in self.files.spellings(path):
                    self.path(each)
