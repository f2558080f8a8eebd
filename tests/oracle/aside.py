"""Strings of a call that may name a path or a host but are not known to (section 4.1, 4.3)."""
import os

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
    return "/" in text or text.startswith(("~", ".", ":(")) or any(names.has_word(name, names.PLACE_WORDS) for name in under)


def is_path_argument(leaf, text):
    return leaf.is_path and (not leaf.is_uri or forms.starts_as_uri(text) is not None)


class _Aside:
    def __init__(self, maker):
        self.maker, self.world, self.files = maker, maker.world, maker.files
        self.folders = self._folders()
        self.out = []

    def _folders(self):
        """The directories that the call's own paths name, as starts for others."""
        out = []
        for leaf in self.maker.walk.leaves:
            if leaf.node.kind == "string":
                out += [path for path in self._folders_of(leaf, leaf.node.value) if path not in out]
        return out

    def _folders_of(self, leaf, text):
        out, uri = [], forms.starts_as_uri(text)
        if is_path_argument(leaf, text) or uri is not None:
            for form in self.all_forms(text) if is_path_argument(leaf, text) else self.uri_forms(uri):
                out += [path for path in forms.canonical_of(form) if path != UNREADABLE and canonical.is_directory(path)]
        for item in inputs.array_of_strings(text):
            out += self._folders_of(leaf, item.value)
        return out

    def all_forms(self, text):
        """What a text leads to as a file URI, and its forms."""
        return self.uri_forms(forms.starts_as_uri(text)) + forms.anchored(text, self.maker.starts, self.world.home)

    @staticmethod
    def uri_forms(uri):
        try:
            return forms.of_uri(uri) if uri is not None else []
        except canonical.Unreadable:
            return []

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
            self.other(text)
        if self.json_counts(leaf):
            for under, inner in inputs.inside_json(text, leaf.under):
                if self.counts(inner, under):
                    self.other(inner)
                self.inner_host(inner)
        prose = any(names.has_word(name, names.NO_PLACE_WORDS) for name in leaf.under)
        if not prose and ("\n" in text or text.startswith("***")):
            for line in text.split("\n"):
                for header in HEADERS:
                    if line.startswith(header) and len(line) > len(header):
                        self.other(line[len(header):])
                        name, tab, _ = line[len(header):].partition("\t")
                        if tab and name:
                            self.other(name)
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
        tool = names.ascii_lower(self.maker.call.tool)
        below = not (leaf.is_base or tool in NO_TREE_TOOLS or self.maker.mine.takes_away("tree", leaf.under[0]))
        for form in self.all_forms(text):
            self.form(form, form.aside, below)
        self.elsewhere(text, below)
        filled = forms.filled(text, self.world)
        if filled is not None:
            self.text(filled, below)
        for each in forms.trimmed(text):
            self.text(each, below)
        self.pathspec(text)

    def other(self, text):
        """A string that is no argument of its own."""
        for each in [text] + forms.trimmed(text):
            self.text(each, False)
        self.pathspec(text)

    def pathspec(self, text):
        """What stands behind the magic of a pathspec of git, and where it starts; a directory that it names is a tree."""
        found = forms.pathspec((forms.trimmed(text) or [text])[-1])
        if found is None:
            return
        rest, top, whole = found
        meant = [rest] + (["."] if whole else [])
        texts = list(meant)
        for start in self.maker.starts + self.folders if top else []:
            above = forms.repository_above(start)
            if above is not None:
                texts += [os.fsdecode(above) + "/" + each for each in meant]
        for each in texts:
            if len(each.encode("utf-8", "surrogateescape")) <= canonical.LONGEST:
                self.text(each, names.ascii_lower(self.maker.call.tool) not in NO_TREE_TOOLS)

    def text(self, text, below):
        for form in self.all_forms(text):
            self.form(form, True, below)
        self.elsewhere(text, below)

    def elsewhere(self, text, below):
        """A text joined to the call's directories, and what its wildcards stand for."""
        joined = self.joined(text)
        for form in joined:
            self.form(form, True, below)
        for form in self.all_forms(text) + joined:
            if form.readable and trees.has_wildcards(form.rest):
                for path in places.expanded(form, self.files, self.maker.budget):
                    self.path(path)

    def joined(self, text):
        """A relative text from the directories of the call."""
        if text.startswith("/"):
            return []
        return [form for form in forms.anchored(text, self.folders, self.world.home)
                if form.readable and form.base in self.folders]

    def form(self, form, counts, below):
        """`counts`: the path itself, not only the name of a link that leads there; `below`: an existing directory is a tree."""
        for link, path in forms.ways_of(form):
            if link is not None:
                self.path(link)
            if path == UNREADABLE:
                continue
            spellings = self.files.spellings(path)
            for each in spellings if counts else []:
                self.path(each)
            if below and canonical.is_directory(path):
                for each in self.maker.tree(path, spellings):
                    self.path(each)
