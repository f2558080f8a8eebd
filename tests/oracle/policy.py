"""Several documents as one policy (sections 2, 3), and the decision for a call (sections 3, 4, 6)."""
from . import calls, canonical, document, names, readings, values
from .match import NO, NOTED, YES

works = []  # of each line that was decided, the components that were walked: the program has a limit
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

    def covers(self, rule, call, now, this_call_only=False):
        if (self.rule, self.channel, self.thread) != (rule.id, call.channel, call.thread):
            return False
        if this_call_only or rule.scope in ("call", "once") or self.call_hash is not None:
            if self.call_hash != values.call_hash(call):
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
        canonical.look_again()
        self.errors, self.rules, self.authored = [], [], set(BUILT_IN_AUTHORED)
        self.lists, self.operators_lists = names.Lists(), names.Lists()  # the second without what workspace files add
        for tier, text, name, loaded in self._read(files, place):
            self.errors += [(name, text, error) for error in loaded.errors]
            self.rules += loaded.rules
            self.authored |= set(loaded.authored)
            self.lists.extend(loaded.lists)
            if tier != "workspace":
                self.operators_lists.extend(loaded.lists)
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
                    key = (rule.effect, frozenset(arm.key() for arm in rule.arms))
                    if key in by_key:
                        by_key[key].members.append(rule)
                    else:
                        by_key[key] = Group(rule)
            out += by_key.values()
        return out

    def needs_authored(self, call):
        wanted = {"*", call.tool}
        if call.server is not None:
            wanted |= {call.server + "/" + call.tool, call.server + "/*"}
        return bool(wanted & self.authored)

    def decide_line(self, line, world, approvals, now, server=None):
        """The decision for one line of bytes, as eval prints it."""
        canonical.work[0] = 0
        try:
            call = calls.parse(line, server)
            return self.decide(call, world, approvals, now)
        except calls.Refused as refused:
            return default_deny(str(refused))
        finally:
            works.append(canonical.work[0])

    def decide(self, call, world, approvals, now):
        call.cwd = world.cwd
        canonical.look_again()
        try:
            ways = readings.readings(call, self, world)
        except readings.OverLimit:
            return default_deny(calls.OVER_LIMIT)
        strictest, each_once = None, {}
        for way in ways:
            each_once.setdefault((way.path, id(way.command), way.host, way.aside), way)
        for way in each_once.values():
            decision = self.evaluate(call, way, approvals, now)
            if decision is not None and \
                    (strictest is None or STRICTNESS[decision["kind"]] > STRICTNESS[strictest["kind"]]):
                strictest = decision
        return strictest

    def evaluate(self, call, way, approvals, now):
        """The decision for one reading; None for an aside one that does not count."""
        noted = []
        for group in self.groups:
            answer = self._first(group, call, way, noted)
            if answer == NO:
                continue
            if answer == YES:
                rest = outcome(group.speaker, call, approvals, now)
                counts = group.speaker.effect != "auto_approve" and group.members[0].arms[0].looks
            else:
                rest, counts = default_deny(answer), True
            break
        else:
            rest, counts = {"kind": "allow"}, False
            if self.needs_authored(call):
                rest = default_deny(f"no policy authored for tool '{call.tool}'")
        if way.aside and not counts:
            rest = None
        return self.with_noted(rest, noted, call, approvals, now)

    @staticmethod
    def _first(group, call, way, noted):
        """What the first arm that says anything but no says; noted ones are put aside."""
        for arm in group.members[0].arms:
            answer = arm.matches(call, way)
            if answer == NOTED:
                if group not in noted:
                    noted.append(group)
            elif answer != NO:
                return answer
        return NO

    @staticmethod
    def with_noted(rest, noted, call, approvals, now):
        """The stricter of what the rest decides and of a require by the first and strictest noted rule, which only an approval
        for this very call answers. `rest` is None where it does not count."""
        if not noted:
            return rest
        found = None
        for group in noted:
            rule = group.speaker
            deny = rule.effect == "deny"
            decision = require(rule, 300_000 if deny else rule.ttl_ms, 1 if deny else rule.approvers)
            if found is None or decision["approvers"] > found[1]["approvers"]:
                found = rule, decision
        rule, decision = found
        if any(approval.covers(rule, call, now, True) for approval in approvals):
            decision = {"kind": "allow", "rule": rule.id}
        if rest is None or rest["kind"] == "allow":
            return decision
        if rest["kind"] == "deny" or decision["kind"] == "allow" or rest["approvers"] >= decision["approvers"]:
            return rest
        return decision


def default_deny(reason):
    return {"kind": "deny", "rule": "default", "reason": reason}


def require(rule, ttl_ms, approvers):
    return {"kind": "require", "rule": rule.id, "approver": "human_approver", "ttlMs": ttl_ms, "approvers": approvers}


def outcome(rule, call, approvals, now):
    if rule.effect == "auto_approve":
        return {"kind": "allow", "rule": rule.id}
    if rule.effect == "deny":
        return {"kind": "deny", "rule": rule.id, "reason": rule.reason}
    if any(approval.covers(rule, call, now) for approval in approvals):
        return {"kind": "allow", "rule": rule.id}
    return require(rule, rule.ttl_ms, rule.approvers)
