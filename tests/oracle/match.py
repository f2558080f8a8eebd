"""One arm of a rule's match, and whether it matches a reading (sections 2, 3, 4.2)."""
from . import canonical, commands, hosts, trees, values
from .commands import NO, NOT_KNOWN, YES
from .reading import UNREADABLE

NOTED, STOPS_AT_PATH, STOPS_AT_HOST = "noted", "path cannot be resolved", "host cannot be read"
ANY = "*"
FIELDS = ("tool", "server", "channel", "thread_ts", "toolPrefix", "actor", "hints", "prefix", "component", "command", "exact", "word",
          "host", "args")


class Arm:
    """None means any; `prefix` is the canonical pathPrefix, `command` the words of a command (`exact`) or commandPrefix, `args`
    by key: (the value exactly, its loose form), `hints` a set of (name, value)."""
    __slots__ = FIELDS + ("strict", "identity", "star")

    def __init__(self, strict):
        for name in self.__slots__:
            setattr(self, name, None)
        self.args, self.strict, self.exact, self.star = {}, strict, False, False

    @property
    def has_path(self):
        return self.prefix is not None or self.component is not None

    @property
    def has_command(self):
        return self.command is not None or self.word is not None

    @property
    def looks(self):
        """It looks at a place, a command or a host."""
        return self.has_path or self.has_command or self.host is not None

    def key(self):
        """What makes matches equal."""
        fields = [getattr(self, name) for name in FIELDS[:-1]]
        return tuple(fields) + (frozenset((key, value[0]) for key, value in self.args.items()),)

    def matches(self, call, reading):
        """YES, NO, NOTED, or where evaluation stops for what cannot be read."""
        stops = self.has_path and not self.has_command and reading.path == UNREADABLE and not reading.aside
        if not self.simple_fields(call) or (self.speaks_of_less(reading) and not stops):
            return NO
        if self.has_command:
            return self.about_command(call, reading)
        path, host = self.about_path(reading), self.about_host(reading)
        if NO in (path, host):
            return NO
        if NOT_KNOWN in (path, host):
            if reading.aside:
                return NOTED if self.strict else NO
            return STOPS_AT_PATH if path == NOT_KNOWN else STOPS_AT_HOST
        return YES

    def simple_fields(self, call):
        """Every field but those that look at a place, a command or a host."""
        for name, value in (("tool", call.tool), ("server", call.server), ("channel", call.channel),
                            ("thread_ts", call.thread), ("actor", call.actor)):
            wanted = getattr(self, name)
            if wanted is not None and wanted != value:
                return False
        if self.toolPrefix is not None and not call.tool.startswith(self.toolPrefix):
            return False
        if any(value not in call.may_have[name] for name, value in self.hints or ()):
            return False
        return all(self.argument(call, key, wanted) for key, wanted in self.args.items())

    def argument(self, call, key, wanted):
        members = call.input.value if call.input is not None else []
        if self.strict:
            return any(values.names.folded(member.key) == values.names.folded(key) and
                       values.loose(member.value) == wanted[1] for member in members)
        return any(member.key == key and values.frozen(member.value) == wanted[0] for member in members)

    def speaks_of_less(self, reading):
        """An allow that names no tool speaks only of what it names."""
        if self.strict or not self.looks or self.tool is not None or self.toolPrefix is not None:
            return False
        return reading.command is not None and not self.has_command or \
            reading.host is not None and self.host is None or \
            reading.path is not None and not self.has_path and not self.has_command

    def about_path(self, reading):
        if not self.has_path:
            return YES
        if reading.path is None:
            return NO
        if reading.path == UNREADABLE:
            return NOT_KNOWN
        return YES if self.path_matches(reading.path) else NO

    def about_host(self, reading):
        if self.host is None:
            return YES
        if reading.host is None:
            return NO
        if reading.host == UNREADABLE:
            return NOT_KNOWN
        return YES if hosts.matches(self.host, reading.host) else NO

    def path_matches(self, path):
        if self.prefix is not None and not canonical.is_under(path, self.prefix):
            return False
        return self.component is None or any(trees.component_matches(self.component, part)
                                             for part in path.split(b"/") if part)

    # --- with command fields

    def about_command(self, call, reading):
        command = reading.command
        if command is None:
            return NO
        if not self.strict:
            return self.allows(call, command)
        if command.unreadable:
            return NOTED
        words = YES
        if self.command is not None:
            words = commands.answer(self.command, self.exact, command, True)
        if self.word is not None:
            words = commands.both(words, commands.word_answer(self.word, command))
        if words == NO:
            return NO
        answers = [words, self.some_place(command), self.some_host(command)]
        if NOT_KNOWN in answers:
            return NOTED
        return NO if NO in answers else YES

    def some_place(self, command):
        if not self.has_path:
            return YES
        places = [path for path, _ in command.places]
        if any(path != UNREADABLE and self.path_matches(path) for path in places):
            return YES
        return NOT_KNOWN if command.open or UNREADABLE in places or not command.places_known else NO

    def some_host(self, command):
        if self.host is None:
            return YES
        if any(host != UNREADABLE and hosts.matches(self.host, host) for host in command.hosts):
            return YES
        return NOT_KNOWN if command.open or UNREADABLE in command.hosts else NO

    def allows(self, call, command):
        if command.unreadable or command.assigned:
            return NO
        if commands.answer(self.command, self.exact, command, False) != YES:
            return NO
        if self.prefix is None:
            return YES
        if command.open or not command.places_known:
            return NO
        places = [path for path, _ in command.places] + call.own_paths
        if not places:
            places = [canonical_cwd(call)]
        return YES if all(path != UNREADABLE and canonical.is_under(path, self.prefix) for path in places) else NO


def canonical_cwd(call):
    return canonical.kernel(call.cwd)
