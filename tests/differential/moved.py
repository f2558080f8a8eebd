"""Files that change between the load of a policy and the call: what a prefix's file is, and where links lead then.
Only with the library: there, nothing happens between the two but what this says."""
import json
import os

from . import batches, generate, library

tables = batches.tables


def changes(rng, fs):
    """Steps on the tree: [what, name, other]."""
    names = [name for name in generate.names_of(fs) if not name.startswith("home")]
    files = fs.get("files", []) + list(fs.get("hardlinks", {}))
    out = []
    for _ in range(rng.randrange(1, 5)):
        what = rng.choice(("remove", "file", "link", "hardlink", "hardlink", "rename", "directory"))
        fresh = rng.choice(names) + rng.choice(("", "", "/" + rng.choice(generate.NAMES)))
        other = rng.choice(files if what == "hardlink" and files else names)
        out.append([what, fresh, other])
    return out


def inside(root, name):
    """Whether what a name names is in the tree: a link in it may lead anywhere."""
    root, above = os.path.realpath(root), os.path.realpath(os.path.dirname(name))
    return above == root or above.startswith(root + os.sep)


def apply(steps, root):
    """Does each step that can be done; the others are passed over, the same for both sides."""
    for what, name, other in steps:
        name, other = os.path.join(root, name), os.path.join(root, other)
        if not inside(root, name) or not inside(root, other):
            continue
        try:
            if what == "remove":
                os.unlink(name)
            elif what == "file":
                if os.path.lexists(name):
                    os.unlink(name)  # another file under the same name
                with open(name, "x", encoding="utf-8"):
                    pass
            elif what == "link":
                os.symlink(other, name)
            elif what == "hardlink":
                if os.path.lexists(name):
                    os.unlink(name)
                os.link(other, name, follow_symlinks=False)
            elif what == "rename":
                os.rename(other, name)
            else:
                os.mkdir(name)
        except OSError:
            pass


def make(rng):
    batch = batches.make(rng)
    batch["changes"] = changes(rng, batch["fs"])
    for pair in batch["policies"]:  # more rules about single files, where all this matters
        for rule in generate.rules_of(pair[1]):
            if "pathPrefix" in rule["match"] and batch["fs"].get("files") and rng.random() < 0.5:
                rule["match"]["pathPrefix"] = "$ROOT/" + rng.choice(batch["fs"]["files"])
    batch["calls"] = [text for text in batch["calls"] if "sessionKey" in text]
    return batch


def differences(batch, lib):
    """[(call's text, want, got)] and how many agreed."""
    with batches.world(batch) as (root, aside):
        case = tables.Case("evaluate", batch, root, aside)
        words = case.policies()
        documents = []
        for word in words[1::2]:
            tier, equals, name = word.partition("=")
            tier, name = (tier, name) if equals else (None, word)
            with open(name, "rb") as file:
                documents.append((tier, file.read(), name))
        world = batches.oracle_readings.World(os.fsencode(case.cwd), os.fsencode(case.home),
                                              [os.fsencode(each) for each in case.case.get("roots", [])])
        mine = batches.oracle_policy.load(documents, batches.oracle_document.Place(world.cwd, world.home))
        base = library.Library.base(case.cwd, case.home, case.case.get("roots", ()))
        theirs, _ = lib.load(documents, base)
        if mine.errors or not theirs:
            lib.lib.cg_policy_free(theirs)
            return ([] if bool(mine.errors) == (not theirs) else [(None, bool(mine.errors), not theirs)]), 0
        apply(batch["changes"], root)
        found = []
        for text in case.case["calls"]:
            line = text.encode("utf-8", "surrogatepass")
            want = list(mine.decide_line(line, world, [], 0).items())
            call = lib.call(line)
            got = json.loads(lib.decide(theirs, call, base), object_pairs_hook=list)
            lib.lib.cg_call_free(call[0])
            if not batches.same(want, got):
                found.append((text.replace(root, "$ROOT"), want, got))
        lib.lib.cg_policy_free(theirs)
    return found, len(batch["calls"]) - len(found)


def shrink(batch, text, lib, most=400):
    case, progress = dict(batch, calls=[text]), True
    case.pop("approvals", None)
    while progress and most > 0:
        progress = False
        fewer = [dict(case, changes=each) for each in batches.prune(case["changes"])]
        for smaller in list(batches.reductions(case)) + fewer:
            most -= 1
            try:
                found = differences(smaller, lib)[0] if most > 0 else []
            except (OSError, ValueError, TypeError, LookupError, AttributeError):
                continue
            if found and found[0][0] is not None:
                case, progress = smaller, True
                break
    return case
