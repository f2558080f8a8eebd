"""What a policy's author is warned of (section 7), and what a reload is refused for (section 8)."""
from . import canonical

EQUAL_FIELDS = ("server", "channel", "thread_ts", "actor", "component")


def contains(earlier, later):
    """Every call that `later` matches, `earlier` matches, judged field by field."""
    for field in EQUAL_FIELDS:
        if getattr(earlier, field) not in (None, getattr(later, field)):
            return False
    if earlier.tool not in (None, later.tool):
        return False
    if earlier.toolPrefix is not None:
        name = later.tool if later.tool is not None else later.toolPrefix
        if name is None or not name.startswith(earlier.toolPrefix):
            return False
    if earlier.prefix is not None and (later.prefix is None or not canonical.is_under(later.prefix, earlier.prefix)):
        return False
    return all(later.args.get(key) == value for key, value in earlier.args.items())


def intersect(a, b):
    """Some call may match both, judged field by field; two pathComponents always intersect."""
    for field in ("tool", "server", "channel", "thread_ts", "actor"):
        if None not in (getattr(a, field), getattr(b, field)) and getattr(a, field) != getattr(b, field):
            return False
    for one, other in ((a, b), (b, a)):
        if one.toolPrefix is not None and other.tool is not None and not other.tool.startswith(one.toolPrefix):
            return False
    if None not in (a.toolPrefix, b.toolPrefix) and \
            not (a.toolPrefix.startswith(b.toolPrefix) or b.toolPrefix.startswith(a.toolPrefix)):
        return False
    if None not in (a.prefix, b.prefix) and \
            not (canonical.is_under(a.prefix, b.prefix) or canonical.is_under(b.prefix, a.prefix)):
        return False
    return all(a.args[key] == b.args[key] for key in a.args if key in b.args)


def warnings(policy):
    """Dicts with kind and what belongs to it, in no order that matters."""
    out = []
    spoken_for = {}  # rule -> its group, of those with several members
    for group in policy.groups:
        if len(group.members) > 1:
            for rule in group.members:
                spoken_for[id(rule)] = group
    for later in policy.rules:
        warning = _shadow(policy, later, spoken_for.get(id(later)))
        if warning is not None:
            out.append(warning)
    denies = [rule for rule in policy.rules if rule.tier == "admin" and rule.effect == "deny"]
    for rule in policy.rules:
        match = rule.match
        if rule.effect == "auto_approve" and rule.tier != "admin":
            over = next((deny for deny in denies if intersect(rule.match, deny.match)), None)
            if over is not None:
                out.append({"kind": "shadow", "later": rule.id, "earlier": over.id, "crossTier": True})
        if rule.effect == "auto_approve" and match.tool is None and match.toolPrefix is None \
                and match.prefix is None and match.component is None:
            out.append({"kind": "broad", "rule": rule.id})
        if not rule.prefix_exists:
            out.append({"kind": "missing-prefix", "rule": rule.id})
        if match.tool is not None and match.tool.startswith("mcp__"):
            out.append({"kind": "flattened-name", "rule": rule.id})
    return out


def _shadow(policy, later, group):
    def found(earlier):
        return {"kind": "shadow", "later": later.id, "earlier": earlier.id, "crossTier": False}

    if group is not None and group.speaker is not later:
        return found(group.speaker)
    # A group acts where its first member stands: only what stands before that can shadow the one who speaks.
    first = later if group is None else group.members[0]
    for earlier in policy.rules:
        if earlier is first:
            return None
        if earlier.tier == later.tier and contains(earlier.match, later.match):
            return found(earlier)


def violations(running, new):
    """(id of the new rule, id of the running deny), in the order of the new rules, then of the denies."""
    have = {rule.id for rule in running.rules}
    denies = [rule for rule in running.rules if rule.effect == "deny"]
    return [(rule.id, deny.id) for rule in new.rules if rule.effect == "auto_approve" and rule.id not in have
            for deny in denies if contains(deny.match, rule.match)]
