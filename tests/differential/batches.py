"""One policy, one tree and many calls against both evaluators: a batch; and what of it makes a difference."""
import copy
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from cases import run as tables  # noqa: E402
from oracle import calls as oracle_calls, document as oracle_document, policy as oracle_policy  # noqa: E402
from oracle import match as oracle_match, readings as oracle_readings, values  # noqa: E402, F401

from . import generate  # noqa: E402

CALLS_IN_A_BATCH = 40


def make(rng):
    """A batch: a case whose `calls` are many."""
    rng.rooted = rng.random() < 0.25 and not generate.first_release(rng)
    fs = generate.tree(rng)
    batch = {"fs": fs, "policies": generate.policies(rng, fs), **generate.setting(rng, fs)}
    drop_unloadable(batch)
    batch["calls"] = [generate.call(rng, fs) for _ in range(CALLS_IN_A_BATCH)]
    batch["now"] = 2000
    batch["approvals"] = approvals(rng, batch)
    return batch


def drop_unloadable(batch):
    """Random prefixes are often ambiguous or unreadable: their rules go, by the oracle's word."""
    with world(batch) as (root, aside):
        for pair in batch["policies"]:
            rules = generate.rules_of(pair[1])
            for rule in list(rules):
                case = dict(batch, policies=[[None, [{"id": "a", "effect": "auto_approve", "match": rule["match"]}]]])
                if answer(tables.Oracle(), "check", case, root, aside)[0] == 1:
                    rules.remove(rule)


def approvals(rng, batch):
    asking = [rule for _, document in batch["policies"] for rule in generate.rules_of(document)
              if rule["effect"] == "require_approval" or rng.random() < 0.1]
    out = []
    for rule in asking:
        if rng.random() < 0.4:
            continue
        for _ in range(rng.randrange(1, 3)):
            entry = {"rule": rule["id"], "channel": rng.choice(generate.CHANNELS[:2]),
                     "thread": rng.choice(generate.THREADS[:2]), "granted": rng.choice((1000, 2000, 2001)),
                     "expires": rng.choice((2000, 2001, 5000))}
            if rule.get("scope") in ("call", "once") or rng.random() < 0.3:
                entry["callOf"] = rng.choice(batch["calls"])
            out.append(entry)
    return out


def hashed(approvals):
    """Approvals of one call name it by its text, so that `$ROOT` is replaced in it before it is hashed."""
    out = []
    for entry in approvals:
        entry = dict(entry)
        text = entry.pop("callOf", None)
        if text is not None:
            try:
                entry["callHash"] = values.call_hash(oracle_calls.parse(text.encode("utf-8", "surrogatepass")))
            except oracle_calls.Refused:
                pass
        out.append(entry)
    return out


class world:
    """A fresh tree for one case: (root, directory for files of the runner)."""

    def __init__(self, case):
        self.case = case

    def __enter__(self):
        self.root = tempfile.TemporaryDirectory(prefix="differ-")
        self.aside = tempfile.TemporaryDirectory(prefix="aside-")
        # Some directories deep, so that ".." leads to nothing that others change.
        root = os.path.join(os.path.realpath(self.root.name), *"uvwxyz")
        os.makedirs(root)
        tables.lay_out(tables.placed(self.case.get("fs", {}), root), root)
        return root, self.aside.name

    def __exit__(self, *_):
        self.root.cleanup()
        self.aside.cleanup()


def answer(program, command, case, root, aside):
    """(exit status, standard output, standard error) of the command on the case."""
    placed = tables.Case("evaluate", case, root, aside)
    words = [command] + placed.policies() + ["--home", placed.home]
    if command == "check":
        return program.run(words + ["--format", "json"], placed.cwd)
    words += ["--now", str(case.get("now", 0))]
    for each in placed.case.get("roots", []):
        words += ["--root", each]
    if case.get("approvals"):
        words += ["--approvals", placed.write("approvals.json", json.dumps(hashed(placed.case["approvals"])))]
    text = "".join(each + "\n" for each in placed.case["calls"])
    return program.run(words + ["-"], placed.cwd, text.encode("utf-8", "surrogatepass"))


def decisions(result):
    """Each line's decision with its members in order, or what came instead."""
    code, out, err = result
    if code != 0:
        return f"exit {code}, {out[:200]!r}, {err[:300]!r}"
    try:
        return [json.loads(line, object_pairs_hook=list) for line in out.decode("utf-8").split("\n") if line]
    except ValueError:
        return f"no JSON: {out[:300]!r}"


WORK_OF_A_LOOK, MOST_WORK = 16, 1_000_000  # as src/base/limits.h has it


def same(want, got, work=0):
    """Of a malformed call's reason only the beginning is fixed. The program stops at a limit of work, which the oracle only
    estimates: it forgets nothing that was walked before."""
    if want == got:
        return True
    if work * WORK_OF_A_LOOK > MOST_WORK and got[-1] == ("reason", "call is over a limit"):
        return True
    if len(want) != len(got) or want[-1] != ("reason", "malformed call: "):
        return False
    return want[:-1] == got[:-1] and got[-1][0] == "reason" and got[-1][1].startswith(want[-1][1])


def differences(batch, program):
    """[(call's text, want, got)], or one entry without a call if the whole batch went another way; and how many agreed."""
    oracle_policy.works.clear()
    with world(batch) as (root, aside):
        want = decisions(answer(tables.Oracle(), "eval", batch, root, aside))
        got = decisions(answer(program, "eval", batch, root, aside))
    if isinstance(want, str) or isinstance(got, str) or len(want) != len(got):
        if isinstance(want, str) and isinstance(got, str) and want.split(",")[0] == got.split(",")[0]:
            return [], 0
        return [(None, want, got)], 0
    lines = zip(batch["calls"], want, got, oracle_policy.works, strict=True)
    found = [(text, *pair) for text, *pair, work in lines if not same(*pair, work)]
    return found, len(want) - len(found)


# --- from a batch to the smallest case that still differs

def shrink(batch, text, program, most=400):
    case = dict(copy.deepcopy(batch), calls=[text])
    left = [most]

    def differs(candidate):
        left[0] -= 1
        try:
            found = differences(candidate, program)[0] if left[0] > 0 else []
            return bool(found) and found[0][0] is not None
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            return False  # no case any more: a file whose directory is gone, a policy without its document

    progress = True
    while progress and left[0] > 0:
        progress = False
        for smaller in list(reductions(case)):
            if differs(smaller):
                case, progress = smaller, True
                break
    return case


def reductions(case):
    """Every case that is smaller by one thing, the big things first."""
    for key in ("roots", "home", "approvals", "cwd"):
        if case.get(key):
            yield {each: item for each, item in case.items() if each != key}
    for pruned in prune(case["policies"]):
        yield dict(case, policies=pruned)
    for pruned in prune(case.get("fs", {})):
        yield dict(case, fs=pruned)
    try:
        call = json.loads(case["calls"][0])
    except ValueError:
        return
    for pruned in prune(call):
        yield dict(case, calls=[json.dumps(pruned, ensure_ascii=False)])


def prune(item):
    """Every copy of a JSON value with one member or element less, outer ones first."""
    if isinstance(item, dict):
        for key in item:
            yield {each: value for each, value in item.items() if each != key}
        for key, value in item.items():
            for smaller in prune(value):
                yield {**item, key: smaller}
    elif isinstance(item, list):
        for index in range(len(item)):
            yield item[:index] + item[index + 1:]
        for index, value in enumerate(item):
            for smaller in prune(value):
                yield item[:index] + [smaller] + item[index + 1:]


def as_line(case, program):
    """The case as a line of the tables: it wants what the oracle says; and what the program says."""
    _, want, got = (differences(case, program)[0] or [(None, "no difference any more", "")])[0]
    line = {key: value for key, value in case.items() if key not in ("calls",) and value}
    if "approvals" in line:
        line["approvals"] = hashed(line["approvals"])
    line["callText"] = case["calls"][0]
    line["want"] = plain(want)
    return json.dumps(line, ensure_ascii=True), json.dumps(plain(got), ensure_ascii=True)


def plain(decision):
    """A list of members as an object again; anything else as it is."""
    try:
        return dict(decision)
    except (TypeError, ValueError):
        return decision
