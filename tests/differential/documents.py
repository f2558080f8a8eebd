"""Random and damaged policy documents through `check`, and pairs of policies through `diff`."""
import json

from . import batches, generate
from .generate import Number, Pairs, sometimes

tables = batches.tables
ODD = (None, True, "", "x", "*", "a*", "a?", "-", "-x", "a/b", ".", "..", "default", "admin", "user", "workspace", "deny",
       "auto_approve", "require_approval", "session_owner", "session", "\u00e9\U0001F511", "i" * 120, "i" * 121, "r" * 200,
       "\U0001F511" * 201, "$ROOT/a", "a\0b", "p0", "p1",
       Number("0"), Number("1"), Number("-1"), Number("1.0"), Number("1.5"),
       Number("5e0"), Number("1e400"), Number("1e-400"), Number("86400000"), Number("86400001"), Number("2147483647"),
       Number("2147483648"), Number("-2147483648"), Number("-2147483649"), Number("10"), Number("11"),
       Number("0e99999999999"),
       Number("9007199254740993"), [], {}, [""], ["x"], [Number("7")], {"x": "y"}, {"t": ["x", ""]})
# `assertions` stays out: what one looks like is not said where documents are.
KEYS = ("id", "effect", "match", "priority", "comment", "reason", "ttlMs", "approvers", "scope", "tool", "server", "channel",
        "thread_ts", "toolPrefix", "actor", "pathPrefix", "pathComponent", "argEquals", "annotations", "destructiveHint", "tier", "rules", "policy", "version",
        "$schema", "requireAuthoredPolicy", "pathArguments", "treeArguments", "Rules", "tol", "a/b", "a~b", "",
        "\u00e9", "reasons", "chanel")


def as_pairs(item):
    """The value with every object as a list of members, so that a member can be repeated."""
    if isinstance(item, dict):
        return Pairs([key, as_pairs(each)] for key, each in item.items())
    if isinstance(item, list):
        return [as_pairs(each) for each in item]
    if isinstance(item, (int, float)) and not isinstance(item, bool):
        return Number(json.dumps(item))
    return item


def places(item, out):
    """Every list (of members, of elements) in the value."""
    if isinstance(item, list):
        out.append(item)
        for each in item:
            places(each[1] if isinstance(item, Pairs) else each, out)
    return out


def damage(rng, root):
    """One change somewhere in the value, in place."""
    lists = [each for each in places(root, []) if each]
    if not lists:
        return
    where = rng.choice(lists)
    at = rng.randrange(len(where))
    pick = rng.random()
    odd = as_pairs(rng.choice(ODD))
    if pick < 0.45:
        if isinstance(where, Pairs):
            where[at][1] = odd
        else:
            where[at] = odd
    elif pick < 0.6:
        del where[at]
    elif not isinstance(where, Pairs):
        where.insert(at, odd)
    elif pick < 0.72:
        where[at][0] = rng.choice(KEYS)
    elif pick < 0.92:
        where.insert(at, [rng.choice(KEYS), odd])
    else:
        where.append([where[at][0], odd])


def document(rng, fs, tier, prefix):
    """The text of a document at that tier."""
    whole = as_pairs(generate.document(rng, fs, tier, prefix, most=5))
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 5))):
        damage(rng, whole)
    text = generate.spell(rng, whole, crlf=True)
    if sometimes(rng, 0.15):
        text = generate.mutated(rng, text)
    if sometimes(rng, 0.02):
        deep = rng.choice((56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 100))
        text = text.replace("null", "[" * deep + "]" * deep, 1)
    return text


def make(rng):
    fs = generate.tree(rng)
    tiers = [rng.choice((None, None, None, "admin", "user", "workspace")) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    return {"fs": fs, "policies": [[tier, document(rng, fs, tier, rng.choice("ppq"))] for tier in tiers]}


def findings(result):
    """(errors, warnings) as far as the specification fixes them, or a text of what came instead."""
    code, out, err = result
    try:
        got = json.loads(out)
        errors = [[int(each["file"].rsplit("policy", 1)[1].split(".")[0]), each["code"], each["pointer"], each["line"],
                   each["column"], each["rule"] or None] for each in got["errors"]]
        warnings = sorted(json.dumps([each["kind"], *(each.get(key) for key in ("later", "earlier", "crossTier", "rule"))])
                          for each in got["warnings"] if each["kind"] in tables.SPEC_WARNINGS)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        return f"exit {code}, {out[:300]!r}, {err[:300]!r}, {error!r}"
    if (code == 0) != (not errors) or code not in (0, 1):
        return f"exit {code} with {errors}"
    return errors, warnings if not errors else []


def blurred(one, other, texts):
    """`other` (the program's errors) with what the specification leaves open taken from `one`: the byte of a bad UTF-8
    sequence or lone surrogate, and the pointer of an error of the text."""
    out = []
    for mine, theirs in zip(one, other):
        theirs = list(theirs)
        if mine[:2] == theirs[:2] and mine[1] in ("json-syntax", "limit"):
            theirs[2] = mine[2]
            if mine[3] == theirs[3] and mine[4] <= theirs[4] <= mine[4] + 12 and loose(texts[mine[0]]):
                theirs[4] = mine[4]
        out.append(theirs)
    return out


def loose(text):
    return "\udc80" in text or "\\u" in text


def differs(case, program):
    """None, or (want, got)."""
    with batches.world(case) as (root, aside):
        want = findings(batches.answer(tables.Oracle(), "check", case, root, aside))
        got = findings(batches.answer(program, "check", case, root, aside))
    if isinstance(want, tuple) and isinstance(got, tuple) and len(want[0]) == len(got[0]):
        got = (blurred(want[0], got[0], [text for _, text in case["policies"]]), got[1])
    return None if want == got else (want, got)


def shrink(case, program, most=600):
    left = most
    progress = True
    while progress and left > 0:
        progress = False
        for smaller in list(reductions(case)):
            left -= 1
            if left <= 0:
                break
            if still(differs, smaller, program):
                case, progress = smaller, True
                break
    return case


def still(differs, case, program):
    try:
        return bool(differs(case, program))
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return False  # no case any more


def reductions(case):
    for index in range(len(case["policies"])):
        if len(case["policies"]) > 1:
            yield dict(case, policies=case["policies"][:index] + case["policies"][index + 1:])
    for smaller in batches.prune(case["fs"]):
        yield dict(case, fs=smaller)
    for index, (tier, text) in enumerate(case["policies"]):
        if tier:
            yield dict(case, policies=case["policies"][:index] + [[None, text]] + case["policies"][index + 1:])
        shorter = []
        try:
            value = json.loads(text, object_pairs_hook=lambda pairs: Pairs(map(list, pairs)),
                               parse_int=Number, parse_float=Number)
            shorter = [text_of(each) for each in _less(value)]
        except ValueError:
            pass
        size = max(1, len(text) // 2)
        while size:
            shorter += [text[:at] + text[at + size:] for at in range(0, len(text), size)]
            size //= 4
        for each in shorter:
            if len(each) < len(text):
                yield dict(case, policies=case["policies"][:index] + [[tier, each]] + case["policies"][index + 1:])


def text_of(item):
    """Its JSON, each Number in its own spelling."""
    if isinstance(item, Number):
        return str(item)
    if isinstance(item, Pairs):
        return "{" + ",".join(json.dumps(key) + ":" + text_of(each) for key, each in item) + "}"
    if isinstance(item, list):
        return "[" + ",".join(map(text_of, item)) + "]"
    return json.dumps(item)


def _less(item):
    if not isinstance(item, list):
        return
    kind = type(item)
    for index in range(len(item)):
        yield kind(item[:index] + item[index + 1:])
    for index, each in enumerate(item):
        inner = each[1] if kind is Pairs else each
        for smaller in _less(inner):
            yield kind(item[:index] + [[each[0], smaller] if kind is Pairs else smaller] + item[index + 1:])


# --- reload

def make_pair(rng):
    """Two policies of which the second comes from the first, as a reload's do."""
    fs = generate.tree(rng)
    old = generate.rules_of(generate.document(rng, fs, None, "p"))
    new = [dict(rule) for rule in old if not sometimes(rng, 0.2)]
    for index, rule in enumerate(generate.rules_of(generate.document(rng, fs, None, "n"))):
        if old and sometimes(rng, 0.5):
            rule["match"] = {**rng.choice(old)["match"], **(rule["match"] if sometimes(rng, 0.5) else {})}
            rule["match"].pop("toolPrefix" if "tool" in rule["match"] else "tool", None)
        new.insert(rng.randrange(len(new) + 1), rule)
    batch = {"fs": fs, "policies": [[None, old], [None, new]]}
    batches.drop_unloadable(batch)
    return {"fs": fs, "prev": with_set(rng, old), "next": with_set(rng, new)}


def with_set(rng, rules):
    if sometimes(rng, 0.6):
        return rules
    return {"rules": rules, "requireAuthoredPolicy": [rng.choice(("t", "put", "*", "s/*", "disk/put", "get"))]}


def pair_differs(case, program):
    with batches.world(case) as (root, aside):
        results = []
        for each in (tables.Oracle(), program):
            placed = tables.Case("reload", dict(case, violations=[]), root, aside)
            code, out, err = placed.reload(each)
            try:
                results.append(sorted([found["newRule"], found["existingDeny"]] for found in json.loads(out)["violations"]))
            except (ValueError, KeyError, TypeError):
                results.append(f"exit {code}, {out[:200]!r}, {err[:300]!r}")
    return None if results[0] == results[1] else tuple(results)


def shrink_pair(case, program, differs, most=300):
    progress = True
    while progress and most > 0:
        progress = False
        for key in ("calls", "prev", "next", "fs"):
            for smaller in list(batches.prune(case[key])):
                most -= 1
                candidate = dict(case, **{key: smaller})
                if most > 0 and still(differs, candidate, program):
                    case, progress = candidate, True
                    break
            if progress:
                break
    return case
