"""Where a command acts and which hosts it names (section 4.2)."""
import os
import re

from . import canonical, commands, forms, hosts, shell, trees

SEARCHES = frozenset("grep egrep fgrep rg ag ack".split())
BEFORE_SEARCHED = r"-[cHhiLlnoqRrsvwxzEFGPUu]+"
GOES_BELOW = "find fd rg ag ack tree du grep egrep fgrep diff tar zip rsync scp cp mv rm chmod chown".split()
FROM_HERE = ("find", "fd", "rg", "ag", "ack", "tree", "du")
FROM_HERE_IF_TOLD = ("grep", "egrep", "fgrep")
FIRST_IS_SEARCHED = ("grep", "egrep", "fgrep", "rg", "ag", "ack", "fd")
NAMES_ONLY = ("find", "fd", "tree", "du")
PASSES_HIDDEN = ("rg", "ag", "ack", "fd")
RUN = re.compile(r"(\$\{(?:HOME|PWD)\}|\$(?:HOME|PWD)(?![A-Za-z0-9_]))?([A-Za-z0-9_./:,@%+=!~^-]*)")


def runs(text, world):
    """The runs of a text, the home or the working directory filled in where one begins with it."""
    directories = {"": b"", "HOME": world.home, "PWD": world.cwd}
    return [os.fsdecode(directories[(found.group(1) or "").strip("${}")]) + found.group(2)
            for found in RUN.finditer(text) if found.group()]


def split(text):
    """The text, and what of it may be a place of its own."""
    if hosts.begins_as_url(text):
        return [text]
    out = [text] + ([text[:text.index(":")]] if ":" in text else [])
    return _each_once(out + [text[at + 1:] for at, char in enumerate(text) if char in ",:@" or char == ")" and text.startswith(":(")])


def _each_once(texts):
    out = []
    for text in texts:
        if text and text not in out:
            out.append(text)
    return out


def pieces(text):
    """The texts of a later word that may be places."""
    if hosts.begins_as_url(text):
        whole = [text]
    elif not text.startswith("-"):
        whole = [text] + ([text.split("=", 1)[1]] if "=" in text else [])
    elif "=" in text:
        whole = [text.split("=", 1)[1]]
    else:
        found = re.search(r"[/.~]", text)
        whole = [text[found.start():]] if found else []
    out = []
    for each in whole:
        if each:
            out += split(each)
    return _each_once(out)


def option(word):
    return word.value.startswith("-")


def searched_for(words):
    """The index of what a search looks for, or None."""
    if not words or words[0].opaque or words[0].value not in SEARCHES:
        return None
    for at, word in enumerate(words[1:], 1):
        if not (option(word) and not word.opaque):
            return at
        if not re.fullmatch(BEFORE_SEARCHED, word.value):
            return None
    return None


def known_pieces(command):
    """(text, whether it begins with an unquoted ~) for every place of a command."""
    out, skipped = [], searched_for(command.all_words)
    if len(command.all_words) == 1 and command.words == ["cd"]:
        return [("~", True)]
    for at, word in enumerate(command.all_words):
        if word.opaque or word.value == "" or at == skipped:
            continue
        if at == 0:
            found = pieces(word.value) if "/" in word.value else []
        else:
            found = pieces(word.value)
        out += [(text, word.tilde and word.value.startswith(text[:1]) and text.startswith("~")) for text in found]
    return out


def change(command):
    """(the word of the place that a command changes to, or None; whether where it leads is known)."""
    at = shell.behind_wrappers(command.all_words)
    if at >= len(command.words) or command.words[at] not in ("cd", "pushd", "popd"):
        return None, True
    name, later = command.words[at], command.all_words[at + 1:]
    if name == "popd" or command.open or any(word.value == "-" for word in later):
        return None, False
    plain = [word for word in later if not option(word)]
    if len(plain) > 1 or later and not plain:
        return None, False
    if plain:
        return plain[0], True
    return (shell.Word("~", tilde=True) if name == "cd" else None), True  # pushd goes back to one of before


def hidden_too(name, options):
    """Whether a search looks below names that begin with a dot."""
    return name not in PASSES_HIDDEN or any("hidden" in each or "unrestricted" in each or
                                            re.fullmatch(r"-[A-Za-z.]*[u.][A-Za-z.]*", each) for each in options)


def starts_here(name, options):
    """Whether a program goes below the working directory when it is told no place."""
    return name in FROM_HERE or name in FROM_HERE_IF_TOLD and any(
        each == "--recursive" or re.fullmatch(r"-[A-Za-z]*[rR][A-Za-z]*", each) for each in options)


class Places:
    """Makes canonical paths of the texts of one call's commands."""

    def __init__(self, world, files, starts, counted):
        self.world, self.files, self.starts, self.counted = world, files, starts, counted

    def anchored(self, text, tilde, starts):
        if tilde:
            return [forms.Anchored(self.world.home, each[1:].encode("utf-8") or b"/") for each in forms.variants(text)]
        return forms.anchored(text, starts, self.world.home)

    def of_text(self, text, tilde, starts):
        """[(path or UNREADABLE, aside)] with every spelling."""
        self.counted()
        out = []
        found = self.anchored(text, tilde, starts)
        if not tilde:
            uri = forms.starts_as_uri(text)
            if uri is not None:
                try:
                    found += forms.of_uri(uri)
                except canonical.Unreadable:
                    out.append((forms.UNREADABLE, False))
        for form in found:
            for link, path in forms.ways_of(form):
                if link is not None:
                    out.append((link, True))
                if path == forms.UNREADABLE:
                    out.append((path, form.aside))
                else:
                    out += [(each, form.aside) for each in self.files.spellings(path)]
        return out

    def fill(self, texts):
        """Gives every command of one text its places and hosts: what `cd` does reaches those behind it."""
        starts, known = list(self.starts), True
        for command in texts:
            command.starts, command.places_known = list(starts), known
            if command.like in texts:
                command.starts, command.places_known = command.like.starts, command.like.places_known
            if command.unreadable:
                continue
            self.own(command)
            known = self.moves(command, starts) and known

    def own(self, command):
        command.places, command.hosts = [], []
        for text, tilde in known_pieces(command):
            if hosts.begins_as_url(text):
                host = hosts.of_url(text)
                if host not in command.hosts:
                    command.hosts.append(host)
            for each in self.of_text(text, tilde, command.starts):
                if each not in command.places:
                    command.places.append(each)

    def moves(self, command, starts):
        """Adds the place of a `cd` to the starts; False when it is not known any more."""
        place, known = change(command)
        if place is None:
            return known
        if place.tilde:
            found = [self.world.home + place.value[1:].encode("utf-8")]
        else:
            raw = place.value.encode("utf-8")
            found = [raw] if raw.startswith(b"/") else [None if start is None else start + b"/" + raw for start in starts]
            if not forms.fits(raw):
                found = [None]
        for each in found:
            each = each if each is not None and forms.fits(each) else None
            if each not in starts:
                starts.append(each)
        return known

    # --- read aside

    def aside_paths(self, command, budget):
        """[(path, known word)] in order: the places of known words, what these mean besides, with trees, and what else may
        be a place."""
        out = [(path, True) for path, aside in command.places if not aside]
        tree = self.tree_of(command, budget)
        for path, aside in command.places:
            out += [(path, False)] if aside else []
            out += [(each, True) for each in tree(path)]
        out += [(path, True) for path in self.tree_here(command, tree)]
        for text, tilde in self.may_be(command):
            for piece in pieces(text):
                for path, _ in self.of_text(piece, tilde and piece.startswith("~"), command.starts):
                    out.append((path, False))
        for word in command.all_words:
            if word.opaque and word.globs:
                out += [(path, False) for path in self.globbed(self.maybe(word), word.tilde, command, budget)]
        return out

    def aside_hosts(self, command):
        """[(host, known word)]."""
        out = [(host, True) for host in command.hosts]
        for text, _ in self.may_be(command):
            out += [(hosts.of_url(piece), False) for piece in pieces(text) if hosts.begins_as_url(piece)]
        texts = [command.text] if command.unreadable else [word.value for word in command.all_words]
        for text in texts:
            out += [(host, False) for host in hosts.runs(text)
                    if any(hosts.matches(wanted, host) for wanted in self.files.hosts)]
        return out

    def maybe(self, word):
        """The text that an opaque word may be."""
        if word.lead is None:
            return word.value
        where = self.world.home if word.lead == "HOME" else self.world.cwd
        return os.fsdecode(where) + word.rest

    def may_be(self, command):
        """Texts that may be later words, and whether they begin with an unquoted ~."""
        if command.unreadable:
            return [(run, False) for run in runs(command.text, self.world)]
        out = [(self.maybe(word), word.tilde) for word in command.all_words if word.opaque]
        if command.words and commands.basename(command.words[0]) in commands.RUNS_ANYTHING:
            for text in [self.maybe(word) if word.opaque else word.value for word in command.all_words] + \
                    list(command.documents):
                out += [(run, False) for run in runs(text, self.world)]
        return out

    def globbed(self, text, tilde, command, budget):
        out = []
        for form in self.anchored(text, tilde, command.starts):
            if form.readable:
                out += expanded(form, self.files, budget)
        return out

    def tree_of(self, command, budget):
        """A function of a path: what of the tree there a command goes through."""
        name = commands.basename(command.words[0]) if command.words else ""
        hidden = hidden_too(name, [word.value for word in command.all_words[1:] if option(word)])

        def tree(path):
            if name not in GOES_BELOW or path == forms.UNREADABLE:
                return []
            return self.files.below([path]) + ([] if name in NAMES_ONLY else trees.entries(
                path, self.files, lambda name: True, budget, hidden))
        return tree

    def tree_here(self, command, tree):
        """The working directory, where a command goes through that, from every start."""
        out = []
        name = commands.basename(command.words[0]) if command.words else ""
        options = [word.value for word in command.all_words[1:] if option(word)]
        if name not in GOES_BELOW or not self.starts_here(name, command, options):
            return out
        for start in command.starts:
            for link, path in forms.ways_of(forms.Anchored(start, b"")) if start is not None else []:
                out += [link] if link is not None else []
                for each in self.files.spellings(path) if path != forms.UNREADABLE else []:
                    out += [each] + tree(each)
        return out

    def starts_here(self, name, command, options):
        if not starts_here(name, options):
            return False
        named = [word for word in command.all_words[1:] if word.opaque or not option(word)]
        if name in FIRST_IS_SEARCHED and "--files" not in [word.value for word in command.all_words[1:]]:
            named = named[1:]  # the first may be what is searched for
        if not named or named[-1].opaque or named[-1].value == "":
            return True
        found = self.anchored(named[-1].value, named[-1].tilde, command.starts)
        return not any(path != forms.UNREADABLE and canonical.exists(path)
                       for form in found for path in forms.canonical_of(form) if not form.users)


def expanded(form, files, budget):
    """What a form with wildcards stands for now: canonical paths, and the names of links."""
    out, found = [], trees.expand(form.base, form.rest)
    for text in found.texts:
        text = text if text.startswith(b"/") else b"/" + text
        out += canonical.as_link(text)
        for path in forms.canonical_of(forms.Anchored(b"/", text)):
            if path != forms.UNREADABLE:
                out += files.spellings(path)
    for directory, keep in found.trees:
        out += canonical.as_link(directory)
        for path in forms.canonical_of(forms.Anchored(b"/", directory)):
            if path == forms.UNREADABLE:
                continue
            spellings = files.spellings(path)
            out += spellings + files.below(spellings) + trees.entries(path, files, keep, budget)
    return [path for path in out if path != forms.UNREADABLE]
