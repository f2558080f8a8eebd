"""A call to its readings, in order (section 4): those of what it names, then those that are read aside."""
from . import aside, canonical, commands, forms, hosts, inputs, names, places, trees
from .forms import UNREADABLE, World  # noqa: F401: others ask here for it
from .reading import Reading

MOST_STRINGS = 4096
MOST_HOSTS = 256
MOST_READINGS = 16384
NO_PATH = None


class OverLimit(Exception):
    pass


class Maker:
    def __init__(self, call, policy, world):
        self.call, self.policy, self.world = call, policy, world
        self.mine = names.Meaning(policy.lists, call.tool, call.server)
        self.operators = names.Meaning(policy.operators_lists, call.tool, call.server)
        self.walk = inputs.Walk(call, self.mine, self.operators)
        self.files = forms.Files(policy)
        self.budget = trees.Budget(trees.MOST_ENTRIES)
        self.strings = 0
        self.bases = self._bases()
        self.starts = [world.cwd] + world.roots + self.bases
        self.keep = trees.filter_of(self.walk.members, names.folded)
        self.no_path_stays, self.paths = True, []
        self.empty_trees = False  # some tree argument is absent or null

    # --- where relative paths start

    def _bases(self):
        """The texts of the bases, as they are written: no home, no URI. None stands for an unreadable one."""
        out = []
        for name in names.BASES:
            for member in self.walk.members:
                if names.folded(member.key) == name and member.value.kind == "string":
                    out += self._as_start(member.value.value)
        return out

    def _as_start(self, text):
        raw = text.encode("utf-8")
        if not forms.fits(raw):
            return [None]
        if raw.startswith(b"/"):
            return [raw]
        joined = [each + b"/" + raw for each in [self.world.cwd] + self.world.roots]
        return [each if forms.fits(each) else None for each in joined]

    def command_starts(self):
        out = list(self.starts)
        for text in self.walk.strings_under(names.START_WORDS):
            out += [each for each in self._as_start(text) + self._meant(text) if each not in out]
        return out

    def _meant(self, text):
        """The directory that a text means besides, below home or as a file: URI."""
        if forms.is_home(text):
            home = self.world.home + text[1:].encode("utf-8")
            return [home if forms.fits(home) else None]
        uri = forms.starts_as_uri(text)
        try:
            return [canonical.from_uri(uri.encode("utf-8"))] if uri is not None else []
        except canonical.Unreadable:
            return []

    # --- paths

    def count(self):
        self.strings += 1
        if self.strings > MOST_STRINGS:
            raise OverLimit

    def own_paths(self):
        for leaf in self.walk.leaves:
            self._leaf(leaf)
        absent = [name for name in self.mine.names["tree"] if self._is_absent(name)]
        if absent:
            self.empty_trees = True
            sure = any(name in self.operators.names["tree"] for name in absent)
            for form in forms.anchored("", self.starts, self.world.home):
                self._form(form, True, not sure)
        return self.paths + ([NO_PATH] if self.no_path_stays else [])

    def _is_absent(self, name):
        return all(names.folded(member.key) != name for member in self.walk.members)

    def _leaf(self, leaf):
        node = leaf.node
        if node.kind == "string":
            self._string(node.value, leaf)
        elif leaf.is_path and node.kind in ("number", "bool"):
            self._add(UNREADABLE, leaf.is_base or not leaf.sure)
        elif leaf.is_tree and any(member.value is node for member in self.walk.members):  # null
            self.empty_trees = True
            for form in forms.anchored("", self.starts, self.world.home):
                self._form(form, True, not self.operators.has("tree", leaf.name))

    def _string(self, text, leaf):
        uri = forms.starts_as_uri(text)
        if uri is not None or leaf.is_path and not leaf.is_uri:
            self.count()
        # Behind white space beyond ASCII it is a URI to some readers alone.
        to_all = uri is not None and text[:len(text) - len(uri)].strip("".join(map(chr, range(33)))) == ""
        stays = leaf.is_base or not to_all and (not leaf.sure or leaf.is_uri)
        if uri is not None:
            try:
                for form in forms.of_uri(uri):
                    self._form(form, leaf.is_tree, stays)
            except canonical.Unreadable:
                self._add(UNREADABLE, stays)
        if leaf.is_path and (uri is not None or not leaf.is_uri):
            for form in forms.anchored(text, self.starts, self.world.home):
                if not form.aside:
                    self._form(form, leaf.is_tree, stays)
        for item in inputs.array_of_strings(text):
            self._string(item.value, leaf)

    def _form(self, form, tree, stays):
        for path in forms.canonical_of(form):
            if path == UNREADABLE:
                self._add(UNREADABLE, stays)
                continue
            spellings = self.files.spellings(path)
            for each in spellings:
                self._add(each, stays)
            if tree:
                for each in self.tree(path, spellings):
                    self._add(each, stays)

    def tree(self, path, spellings):
        """What of a tree is a reading besides the paths themselves."""
        out = self.files.below(spellings)
        if names.ascii_lower(self.call.tool) not in trees.LISTS_NAMES:
            out += trees.entries(path, self.files, self.keep, self.budget)
        return out

    def _add(self, path, stays):
        if not stays:
            self.no_path_stays = False
        if path not in self.paths:
            self.paths.append(path)

    # --- commands and hosts

    def own_commands(self):
        """(commands, whether a reading without one stays)."""
        out, stays = [], True
        maker = places.Places(self.world, self.files, self.command_starts(), lambda: None)
        for node, name, members, sure in self.walk.command_arguments:
            for found in commands.of_argument(node, name, members):
                maker.fill(found)
                out += found
                stays = stays and not (found and sure)
        unique = {}
        for command in out:
            unique.setdefault(command.key(), command)
        if len(unique) > commands.MOST_COMMANDS:
            raise OverLimit
        return list(unique.values()), stays, maker

    def own_hosts(self):
        out, stays = [], True

        def add(host, sure):
            nonlocal stays
            if host is None:
                return
            stays = stays and not sure
            if host not in out:
                out.append(host)

        def string(text, leaf):
            if leaf.is_url:
                host = hosts.of_argument(text, leaf.is_uri)
            else:
                host = hosts.of_url(text) if hosts.begins_as_url(text) else None
            add(host, not leaf.is_url or leaf.sure_url or hosts.begins_as_url(text))
            for item in inputs.array_of_strings(text):
                string(item.value, leaf)

        for leaf in self.walk.leaves:
            if leaf.node.kind == "string":
                string(leaf.node.value, leaf)
            elif leaf.is_url and leaf.node.kind in ("number", "bool"):
                add(UNREADABLE, leaf.sure_url)
        if len(out) > MOST_HOSTS:
            raise OverLimit
        return out, stays

    def make(self):
        paths = self.own_paths()
        self.call.own_paths = [path for path in paths if path is not None]
        found, stays, maker = self.own_commands()
        own_hosts, host_stays = self.own_hosts()
        own = [Reading(path, command, host) for command in found + ([None] if stays else []) for path in paths
               for host in own_hosts + ([None] if host_stays else [])]
        out = own
        for more in (lambda: self.of_commands(found, maker), lambda: aside.of_strings(self)):
            self.budget = trees.Budget(trees.MOST_ENTRIES)  # one for each: none takes what another needs
            out = out + more()
        if len(own) > MOST_READINGS:
            raise OverLimit
        return out

    def of_commands(self, found, maker):
        out, inner = [], [each for command in found if not command.unreadable for each in commands.inside(command)]
        for each in inner:
            if not each.unreadable:
                maker.own(each)
        for at, each in enumerate(found + inner):
            if at >= len(found):
                out.append(Reading(None, each, None, True))
                if each.fewer:
                    continue  # it acts where the command that it is acts
            out += [Reading(path, each, None, True) for path, known in maker.aside_paths(each, self.budget)
                    if known or path != UNREADABLE]
            out += [Reading(None, each, host, True) for host, known in maker.aside_hosts(each)
                    if known or host != UNREADABLE]
        return out


def readings(call, policy, world):
    """Raises OverLimit if the call names too much."""
    return Maker(call, policy, world).make()
