"""Several documents as one policy (sections 2, 3), and the decision for a call (sections 3, 4, 6)."""
from . import calls, canonical, document, readings, values

BUILT_IN_AUTHORED = ("upload_file",)
STRICTNESS = {"allow": 0, "require": 1, "deny": 2}


class Group:
    """Equivalent rules. The group acts where its first member stands; the speaker answers."""

    def __init__(self, rule):
        self.members = [rule]

    @property
    def speaker(self):
        return min(self.members, key=lambda rule: rule.priority)  # min keeps the first of equals


class Approval:
    def __init__(self, rule, channel, thread, granted, expires, call_hash):
        self.rule, self.channel, self.thread = rule, channel, thread
        self.granted, self.expires, self.call_hash = granted, expires, call_hash

    def covers(self, rule, call, now):
        if (self.rule, self.channel, self.thread) != (rule.id, call.channel, call.thread):
            return False
        if rule.scope == "call" and self.call_hash != values.call_hash(call):
            return False
        return self.granted <= now < self.expires


def load(files, place):
    """As every command but check loads: a workspace file that does not load is left out (section 2)."""
    whole = Policy(files, place)
    bad = {name for name, _, _ in whole.errors}
    kept = [file for file in files if file[0] != "workspace" or file[2] not in bad]
    if not whole.errors or any(tier != "workspace" and name in bad for tier, _, name in files):
        return whole
    return Policy(kept, place)


class Policy:
    """files: (tier or None, bytes, name), in order. `errors` are (name, text, document.Error), in order; with any
    of them there is no policy."""

    def __init__(self, files, place):
        self.errors, self.rules = [], []
        self.authored, self.path_arguments, self.tree_arguments = set(BUILT_IN_AUTHORED), {}, {}
        self.operators_paths, self.operators_trees = {}, {}  # without what workspace files add
        for tier, text, name, loaded in self._read(files, place):
            self.errors += [(name, text, error) for error in loaded.errors]
            self.rules += loaded.rules
            self.authored |= set(loaded.authored)
            lists = [(self.path_arguments, loaded.path_arguments), (self.tree_arguments, loaded.tree_arguments)]
            if tier != "workspace":
                lists += [(self.operators_paths, loaded.path_arguments), (self.operators_trees, loaded.tree_arguments)]
            for mine, theirs in lists:
                for key, entries in theirs.items():
                    mine.setdefault(key, []).extend(entries)
        if not self.errors:
            self.groups = self._group()

    @staticmethod
    def _read(files, place):
        """Every document, in order. An id that a workspace file and another both have is the other's, whichever comes
        first: what an agent can write must not make the operator's own rules an error. And a workspace file that will
        be left out takes no id from the next."""
        ids, out = set(), [None] * len(files)
        for workspace in (False, True):
            for index, (tier, text, name) in enumerate(files):
                if (tier == "workspace") == workspace:
                    taken = set(ids)
                    loaded = document.Document(text, tier, place, taken, name)
                    out[index] = (tier, text, name, loaded)
                    if not workspace or not loaded.errors:
                        ids = taken
        return out

    def _group(self):
        """Groups in the order in which they are consulted: tier by tier, by first member."""
        out = []
        for tier in document.TIERS:
            by_key = {}
            for rule in self.rules:
                if rule.tier == tier:
                    key = (rule.effect, rule.match.key())
                    if key in by_key:
                        by_key[key].members.append(rule)
                    else:
                        by_key[key] = Group(rule)
            out += by_key.values()
        return out

    def needs_authored(self, call):
        names = {"*", call.tool}
        if call.server is not None:
            names |= {call.server + "/" + call.tool, call.server + "/*"}
        return bool(names & self.authored)

    def decide_line(self, line, world, approvals, now, server=None):
        """The decision for one line of bytes, as eval prints it."""
        try:
            call = calls.parse(line, server)
        except calls.Refused as refused:
            return default_deny(str(refused))
        return self.decide(call, world, approvals, now)

    def decide(self, call, world, approvals, now):
        try:
            ways = readings.readings(call, self, world)
        except readings.OverLimit:
            return default_deny(calls.OVER_LIMIT)
        strictest = None
        for way in ways:
            decision = self.evaluate(call, way, approvals, now)
            if strictest is None or STRICTNESS[decision["kind"]] > STRICTNESS[strictest["kind"]]:
                strictest = decision
        return strictest

    def evaluate(self, call, way, approvals, now):
        for group in self.groups:
            match = group.members[0].match
            if not other_fields_match(match, call):
                continue
            if match.prefix is not None or match.component is not None:
                if way == readings.UNREADABLE:
                    return default_deny("path cannot be resolved")
                if way == readings.NO_PATH or not path_matches(match, way):
                    continue
            return outcome(group.speaker, call, approvals, now)
        if self.needs_authored(call):
            return default_deny(f"no policy authored for tool '{call.tool}'")
        return {"kind": "allow"}


def default_deny(reason):
    return {"kind": "deny", "rule": "default", "reason": reason}


def outcome(rule, call, approvals, now):
    if rule.effect == "auto_approve":
        return {"kind": "allow", "rule": rule.id}
    if rule.effect == "deny":
        return {"kind": "deny", "rule": rule.id, "reason": rule.reason}
    if any(approval.covers(rule, call, now) for approval in approvals):
        return {"kind": "allow", "rule": rule.id}
    return {"kind": "require", "rule": rule.id, "approver": "human_approver", "ttlMs": rule.ttl_ms,
            "approvers": rule.approvers}


def other_fields_match(match, call):
    """Every field but the two that speak of the path."""
    for field, value in (("tool", call.tool), ("server", call.server), ("channel", call.channel),
                         ("thread_ts", call.thread), ("actor", call.actor)):
        wanted = getattr(match, field)
        if wanted is not None and wanted != value:
            return False
    if match.toolPrefix is not None and not call.tool.startswith(match.toolPrefix):
        return False
    for key, wanted in match.args.items():
        value = call.input.get(key) if call.input is not None else None
        if value is None or values.frozen(value) != wanted:
            return False
    return True


def path_matches(match, path):
    if match.prefix is not None and not canonical.is_under(path, match.prefix):
        return False
    if match.component is None:
        return True
    parts = [part for part in path.split(b"/") if part]
    wanted = match.component
    if wanted.startswith(b"*"):
        return any(part.endswith(wanted[1:]) for part in parts)
    if wanted.endswith(b"*"):
        return any(part.startswith(wanted[:-1]) for part in parts)
    return wanted in parts
