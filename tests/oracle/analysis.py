"""What a policy's author is warned of (section 7), and what a reload is refused for (section 8)."""
import re

from . import canonical, commands, hosts
from .names import folded as fold
from .commands import STAR

EQUAL_FIELDS = ("server", "channel", "thread_ts", "actor", "component")


def contains(earlier, later):
    """Every call that the arm `later` matches, `earlier` matches, judged field by field."""
    for field in EQUAL_FIELDS:
        if getattr(earlier, field) not in (None, getattr(later, field)):
            return False
    if earlier.hints is not None and not earlier.hints <= (later.hints or frozenset()):
        return False
    if earlier.tool not in (None, later.tool):
        return False
    if earlier.toolPrefix is not None:
        name = later.tool if later.tool is not None else later.toolPrefix
        if name is None or not name.startswith(earlier.toolPrefix):
            return False
    if looks_inside(earlier) != looks_inside(later):
        return False
    if earlier.prefix is not None and (later.prefix is None or not canonical.is_under(later.prefix, earlier.prefix)):
        return False
    if earlier.host is not None and (later.host is None or not hosts.contains(earlier.host, later.host)):
        return False
    return contains_commands(earlier, later) and contains_arguments(earlier, later)


def looks_inside(arm):
    """An allow with command fields and a path field asks for all that a command names."""
    return not arm.strict and arm.has_command and arm.has_path


def contains_arguments(earlier, later):
    for key, (exact, loose) in earlier.args.items():
        if not earlier.strict:
            if later.strict or key not in later.args or later.args[key][0] != exact:
                return False
        elif not any(fold(name) == fold(key) and value[1] == loose for name, value in later.args.items()):
            return False
    return True


# --- commands as the sets that they stand for

def contains_commands(earlier, later):
    if earlier.command is not None:
        if later.command is None or not contains_pattern(earlier, later):
            return False
    if earlier.word is None:
        return True
    if later.word is not None and contains_word(earlier.word, later.word):
        return True
    known = later.command[1:] if later.command is not None else ()
    return any(word is not STAR and commands.word_matches(earlier.word, word) for word in known)


def contains_pattern(earlier, later):
    mine, theirs = earlier.command, later.command
    if later.strict and "/" not in theirs[0] and not (earlier.strict and "/" not in mine[0]):
        return False  # it stands for every directory
    if not commands.same_program(mine[0], theirs[0], earlier.strict):
        return False
    if len(mine) > len(theirs) or earlier.exact and (not later.exact or len(mine) != len(theirs)):
        return False
    return all(one is STAR or one == other for one, other in zip(mine[1:], theirs[1:]))


def contains_word(wider, narrower):
    if wider == narrower:
        return True
    if narrower.startswith("*"):
        return wider.startswith("*") and narrower[1:].endswith(wider[1:])
    if narrower.endswith("*"):
        return wider.endswith("*") and narrower[:-1].startswith(wider[:-1])
    if re.fullmatch(r"-[A-Za-z]", narrower):  # stands for every cluster with that letter
        return wider == "-*"
    return commands.word_matches(wider, narrower)


def intersect(a, b):
    """Some call may match both arms, judged field by field; two pathComponents always intersect."""
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
    if None not in (a.host, b.host) and not (hosts.contains(a.host, b.host) or hosts.contains(b.host, a.host)):
        return False
    return commands_meet(a, b) and arguments_agree(a, b)


def commands_meet(a, b):
    if a.command is None or b.command is None:
        return True
    one, other = a.command, b.command
    first = commands.same_program(one[0], other[0], a.strict) or commands.same_program(other[0], one[0], b.strict)
    if not first or a.exact and len(other) > len(one) or b.exact and len(one) > len(other):
        return False
    return all(STAR in (mine, theirs) or mine == theirs for mine, theirs in zip(one[1:], other[1:]))


def arguments_agree(a, b):
    """The keys that both have: as the one that reads loosely reads them, if one does."""
    for key, value in a.args.items():
        for name, other in b.args.items():
            loosely = a.strict or b.strict
            if (fold(key) == fold(name) if loosely else key == name) and value[loosely] != other[loosely]:
                return False
    return True


def covers(earlier, later):
    """Each arm of the later rule is one of some arm of the earlier."""
    return all(any(contains(mine, theirs) for mine in earlier.arms) for theirs in later.arms)


def meet(a, b):
    return any(intersect(one, other) for one in a.arms for other in b.arms)


# --- warnings

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
        if rule.effect == "auto_approve" and rule.tier != "admin":
            over = next((deny for deny in denies if meet(rule, deny)), None)
            if over is not None:
                out.append({"kind": "shadow", "later": rule.id, "earlier": over.id, "crossTier": True})
        out += [{"kind": kind, "rule": rule.id} for kind in kinds(policy, rule)]
    return out


def kinds(policy, rule):
    """The kinds of warning about one rule by itself."""
    out, arm = [], rule.arms[0]  # which fields there are is the same in every arm
    names_tool = arm.tool is not None or arm.toolPrefix is not None
    if rule.effect == "auto_approve" and not names_tool and not (arm.star and arm.looks):
        out.append("broad")
    if rule.effect == "require_approval" and rule.scope == "session" and not names_tool and not arm.looks and not arm.args:
        out.append("session-wide")
    if rule.effect == "auto_approve" and any(runs_anything(policy, rule, each) for each in rule.arms):
        out.append("runs-anything")
    out += ["missing-prefix"] if rule.missing else []
    if any(each.tool is not None and each.tool.startswith("mcp__") for each in rule.arms):
        out.append("flattened-name")
    return out


def runs_anything(policy, rule, arm):
    if arm.command is None or arm.exact or len(arm.command) != 1:
        return False
    program = commands.basename(arm.command[0])
    if program not in commands.RUNS_ANYTHING:
        return False
    for before in policy.rules:
        if before is rule:
            return True
        if before.effect != "auto_approve" and any(
                each.word is not None and each.command is not None and commands.basename(each.command[0]) == program
                for each in before.arms):
            return False
    return True


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
        if earlier.tier == later.tier and covers(earlier, later):
            return found(earlier)


def violations(running, new):
    """(id of the new rule, id of the running deny), in the order of the new rules, then of the denies."""
    have = {rule.id for rule in running.rules}
    denies = [rule for rule in running.rules if rule.effect == "deny" and not rule.from_workspace]
    return [(rule.id, deny.id) for rule in new.rules if rule.effect == "auto_approve" and rule.id not in have
            for deny in denies if covers(deny, rule)]
