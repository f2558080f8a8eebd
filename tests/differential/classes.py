"""The classes of calls that `diff` shows, held against the slow evaluator: each witness decides as its class says, and a
call whose decision changes lies in exactly one class, which says so: in its match and in none of its exceptions. Every
other call lies in none. That is said of calls that are understood in one way, a path that cannot be resolved included
(what changes for them stands in a list of its own); of those with several readings, that one that gets weaker has a
reading in a class that does, too."""
import json

from . import batches, documents, generate
from .batches import oracle_match

tables = batches.tables
CALLS = 30
ANNOTATIONS = [{"destructiveHint": destroys, "readOnlyHint": reads, "idempotentHint": twice, "openWorldHint": reaches}
               for destroys in (True, False, None) for reads, twice, reaches in
               ((True, True, False), (False, False, True), (False, True, False), (True, False, True), (None, False, None))]


def make_calls(rng, pair):
    """Calls near the rules of the pair, as texts."""
    rules = generate.rules_of(pair["prev"]) + generate.rules_of(pair["next"])
    out = []
    for _ in range(CALLS):
        match = rng.choice(rules)["match"] if rules else {}
        call = {"tool": match.get("tool", match.get("toolPrefix", "") + rng.choice(("x", "t", "put")))}
        if rng.random() < 0.3:
            call["tool"] = rng.choice(generate.TOOLS)
        if "server" in match or rng.random() < 0.1:
            call["server"] = match.get("server", "s")
        call["sessionKey"] = {"channel": match.get("channel", rng.choice(generate.CHANNELS)),
                              "thread": match.get("thread_ts", rng.choice(generate.THREADS))}
        call["actor"] = match.get("actor", rng.choice(generate.ACTORS))
        call["input"] = dict(match.get("argEquals", {}))
        prefix = match.get("pathPrefix")
        if prefix and "path" not in call["input"]:
            start = prefix.replace("~", "$ROOT/home", 1) if prefix.startswith("~") else prefix
            call["input"]["path"] = rng.choice((start, start + "/" + rng.choice(generate.NAMES[:7]), "$ROOT/a"))
        elif "pathComponent" in match and rng.random() < 0.7:
            call["input"]["path"] = "$ROOT/" + match["pathComponent"].replace("*", "w")
        if rng.random() < 0.15:
            call["input"]["path"] = 7
        out.append(json.dumps(call))
    return out


def outcome(policy, decision):
    """What is decided: who decides it, and the reason of a deny, are none of it."""
    scope = next((rule.scope for rule in policy.rules if rule.id == decision.get("rule")), None)
    return [decision.get(key) for key in ("kind", "ttlMs", "approvers")] + [decision["kind"] == "require" and scope]


def exact(value):
    return documents.text_of(documents.as_pairs(value)).encode("utf-8", "surrogatepass")


def short(decision):
    return {key: decision[key] for key in ("kind", "rule") if key in decision}


def matches(place, match, call, way, stops=False):
    """Whether a class's match holds of the call's one reading; a class of no field is of every call. `stops`: of a path
    that cannot be resolved it holds where a rule would look at it."""
    if not match:
        return True
    if isinstance(match.get("pathComponent"), list):  # a path that has a component of each
        return all(matches(place, dict(match, pathComponent=each), call, way, stops) for each in match["pathComponent"])
    if "beside" in match:  # whether a command or a host stands beside the path
        beside = way.command is not None or way.host is not None
        rest = {key: value for key, value in match.items() if key != "beside"}
        return beside == (match["beside"] != "nothing") and matches(place, rest, call, way, stops)
    if "argLoosely" in match:  # arguments as a deny compares them
        rest = {key: value for key, value in match.items() if key != "argLoosely"}
        deny = exact([{"id": "class", "effect": "deny", "reason": "r", "match": {"argEquals": match["argLoosely"]}}])
        arms = batches.oracle_document.Document(deny, None, place, set()).rules[0].arms
        return any(arm.matches(call, way) == oracle_match.YES for arm in arms) and matches(place, rest, call, way, stops)
    if "argEquals" in match and len(match) > 1:
        rest = {key: value for key, value in match.items() if key != "argEquals"}
        return matches(place, {"argEquals": match["argEquals"]}, call, way) and matches(place, rest, call, way, stops)
    # Arguments are compared as an allow does; everything else as a deny does, which is silent about nothing.
    effect = {"effect": "auto_approve"} if "argEquals" in match else {"effect": "deny", "reason": "r"}
    rule = exact([{"id": "class", **effect, "match": match}])
    document = batches.oracle_document.Document(rule, None, place, set())
    if document.errors:
        return False
    answers = [arm.matches(call, way) for arm in document.rules[0].arms]
    return oracle_match.YES in answers or stops and any(answer != oracle_match.NO for answer in answers)


def holds(place, each, call, way):
    """Whether a class is about this reading of the call."""
    return matches(place, each["match"], call, way) and \
        not any(matches(place, match, call, way, stops=True) for match in each.get("except", ()))


def misplaced(answer, place, call, ways, was, now, changes):
    """What is wrong with where the call lies among the classes, or None."""
    # A class of what is read aside is no class of a call's own readings, which are all that these calls have.
    of_rules = [each for each in answer["classes"] if "list" not in each and not each.get("aside")]
    if len(ways) == 1:
        unreadable = ways[0].path == batches.oracle_readings.UNREADABLE
        found = [each for each in answer["unreadable"] if unreadable and holds(place, each, call, ways[0])] or \
            [each for each in of_rules if holds(place, each, call, ways[0])]
        if not changes:
            return f"lies in {json.dumps(found[0])} and does not change" if found else None
        if len(found) != 1 or found[0]["from"] != short(was) or found[0]["to"] != short(now):
            return f"changes and lies in {json.dumps(found)}"
        return None
    strict = [batches.oracle_policy.STRICTNESS[decision["kind"]] for decision in (was, now)]
    if strict[0] != strict[1] and not any(each["weaker"] == (strict[1] < strict[0]) and holds(place, each, call, way)
                                          for each in of_rules for way in ways):
        return "changes, and none of its readings lies in a class that does so"
    return None


def complaint(answer, old, new, calls, world, place):
    """What is wrong with the classes, or None."""
    for each in answer["classes"] + answer["unreadable"]:
        if each.get("witness") is None:
            continue
        was, now = (policy.decide_line(exact(each["witness"]), world, [], 0) for policy in (old, new))
        if short(was) != each["from"] or short(now) != each["to"]:
            return f"witness of {json.dumps(each)}: {short(was)}, then {short(now)}"
        strict = [batches.oracle_policy.STRICTNESS[decision["kind"]] for decision in (was, now)]
        if strict[0] != strict[1] and each["weaker"] != (strict[1] < strict[0]):
            return f"weaker is wrong of {json.dumps(each)}"
    for text in calls:
        call = batches.oracle_calls.parse(text.encode("utf-8", "surrogatepass"))
        call.cwd = world.cwd
        ways = [batches.oracle_readings.readings(call, policy, world) for policy in (old, new)]
        if [way.key() for way in ways[0]] != [way.key() for way in ways[1]] or any(way.aside for way in ways[0]) or \
                len(ways[0]) > 1 and any(way.path == batches.oracle_readings.UNREADABLE for way in ways[0]):
            continue
        was, now = (policy.decide(call, world, [], 0) for policy in (old, new))
        changes = outcome(old, was) != outcome(new, now)
        wrong = misplaced(answer, place, call, ways[0], was, now, changes)
        if wrong is not None:
            return f"{text}: {was}, then {now}: it {wrong}"
        if not any(each["weaker"] for each in answer["classes"] + answer["unreadable"]):
            wrong = hidden_weakening(old, new, text, world, place)
            if wrong is not None:
                return wrong
    return None


def hidden_weakening(old, new, text, world, place):
    """A call that is decided less strictly, whatever the server says of its tool, while no class is weaker."""
    for annotations in ANNOTATIONS:
        said = json.dumps(dict(json.loads(text), annotations=annotations))
        was, now = (policy.decide_line(said.encode("utf-8", "surrogatepass"), world, [], 0) for policy in (old, new))
        if batches.oracle_policy.STRICTNESS[now["kind"]] < batches.oracle_policy.STRICTNESS[was["kind"]]:
            return f"{said}: {was}, then {now}: no class is weaker"
    return None


def differs(case, program):
    """None, or (what was expected, what is wrong)."""
    with batches.world(case) as (root, aside):
        placed = tables.Case("reload", dict(case, violations=[]), root, aside)
        world = batches.oracle_readings.World(placed.cwd.encode(), placed.home.encode(), [])
        place = batches.oracle_document.Place(world.cwd, world.home)
        pair = [batches.oracle_policy.load([(None, json.dumps(placed.case[key]).encode(), key)], place)
                for key in ("prev", "next")]
        if pair[0].errors or pair[1].errors:
            return None
        code, out, err = placed.reload(program)
        try:
            # Numbers stay texts: the program writes some that no double holds.
            answer = json.loads(out, parse_int=generate.Number, parse_float=generate.Number)
            answer["classes"], answer["unreadable"]
        except (ValueError, KeyError, TypeError):
            return "classes", f"exit {code}, {out[:200]!r}, {err[:300]!r}"
        wrong = complaint(answer, *pair, placed.case["calls"], world, place)
        return None if wrong is None else ("classes that hold", wrong.replace(root, "$ROOT"))
