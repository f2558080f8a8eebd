#!/usr/bin/env python3
"""For policies without the fields that came after the first release, no call is decided less strictly than by it.

usage: run.py --callgate PROGRAM --first FOLDER [--seed N] [--calls N] [--only N]

The first release is built in FOLDER from this repository's history, once; where the history is not there, the test is skipped
and says so (exit 77). Policies, trees and calls are random, as in tests/differential. Left out is what CHANGELOG.md names as
decided otherwise on purpose: strings that begin with `~`, argument names of other than ASCII letters, list entries for a
whole server, and arguments compared in a require_approval. Ends with `N passed, N failed`.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from differential import batches, generate  # noqa: E402

FIRST = "a3a5b58"
STRICTNESS = {"allow": 0, "require": 1, "deny": 2}
MOST_SHOWN = 5
SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def first_release(folder):
    """The path of the first release's program, built if it is not there yet."""
    program = os.path.join(folder, "build", "callgate")
    if os.access(program, os.X_OK):
        return program
    top = os.path.join(HERE, "..", "..")
    known = subprocess.run(["git", "-C", top, "cat-file", "-e", FIRST + "^{commit}"], capture_output=True, check=False)
    if known.returncode != 0:
        skip(f"the repository's history, with {FIRST}, is not here")
    if shutil.which("meson") is None:
        skip("no meson to build the first release with")
    source, build = os.path.join(folder, "source"), os.path.join(folder, "build")
    for each in (source, build):  # what else is in the folder is not ours
        shutil.rmtree(each, ignore_errors=True)
    os.makedirs(source)
    archive = subprocess.run(["git", "-C", top, "archive", FIRST], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
    for words in (["meson", "setup", "-Dwerror=false", build, source], ["ninja", "-C", build, "callgate"]):
        done = subprocess.run(words, capture_output=True, check=False)
        if done.returncode != 0:
            print(done.stdout.decode("utf-8", "replace")[-2000:], done.stderr.decode("utf-8", "replace")[-2000:])
            sys.exit(1)
    return program


def strings(item):
    if isinstance(item, str):
        yield item
    elif isinstance(item, dict):
        for key, value in item.items():
            yield key
            yield from strings(value)
    elif isinstance(item, list):
        for each in item:
            yield from strings(each)


def left_out(text):
    """Whether a call is of those that are decided otherwise on purpose."""
    if any(char in text for char in "\u212a\u017f") or "\\u212a" in text.lower() or "\\u017f" in text.lower():
        return True
    try:
        return any(each.strip().lstrip("\"'`").startswith("~") for each in strings(json.loads(text)))
    except ValueError:
        return False


def make(rng):
    rng.first_release = True
    batch = batches.make(rng)
    batch.pop("approvals", None)
    batch["calls"] = [text for text in batch["calls"] if not left_out(text)]
    for _, document in batch["policies"]:
        for rule in generate.rules_of(document):
            if rule["effect"] == "require_approval":
                rule["match"].pop("argEquals", None)
                if not set(rule["match"]) - {"tier"}:
                    rule["match"]["tool"] = "t"
        for key in ("pathArguments", "treeArguments"):
            if isinstance(document, dict) and key in document:
                document[key] = {name: entries for name, entries in document[key].items() if not name.endswith("/*")}
    return batch


def compare(batch, first, now):
    """[(call's text, the first release's decision, this one's)] of those that got less strict; how many did not."""
    if not batch["calls"]:
        return [], 0
    with batches.world(batch) as (root, aside):
        was = batches.decisions(batches.answer(first, "eval", batch, root, aside))
        new = batches.decisions(batches.answer(now, "eval", batch, root, aside))
    if isinstance(was, str) and was.startswith("exit 2,"):
        return [], 0  # a policy that the first release does not load
    if isinstance(was, str) or isinstance(new, str):
        return [("", was, new)], 0
    worse = [(text, dict(one), dict(other)) for text, one, other in zip(batch["calls"], was, new)
             if STRICTNESS[dict(one)["kind"]] > STRICTNESS[dict(other)["kind"]]]
    return worse, len(was) - len(worse)


def shrink(batch, text, first, now, most=300):
    """The smallest case that still got less strict."""
    case, progress = dict(batch, calls=[text]), True
    while progress and most > 0:
        progress = False
        for smaller in batches.reductions(case):
            most -= 1
            try:
                if most > 0 and compare(smaller, first, now)[0] and compare(smaller, first, now)[0][0][0]:
                    case, progress = smaller, True
                    break
            except (OSError, ValueError, TypeError, LookupError, AttributeError):
                continue
    return case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--callgate", default="build/callgate")
    parser.add_argument("--first", required=True)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10 ** 9)))
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--only", type=int, default=-1)
    options = parser.parse_args()
    first = batches.tables.Program(first_release(options.first))
    now = batches.tables.Program(options.callgate)
    print(f"seed {options.seed}", flush=True)
    passed = failed = index = 0
    while passed + failed < options.calls and failed < MOST_SHOWN and index < options.calls:
        if options.only in (-1, index):
            batch = make(random.Random(f"{options.seed}/{index}"))
            worse, good = compare(batch, first, now)
            passed, failed = passed + good, failed + len(worse)
            for text, was, new in worse[:1]:
                print(f"batch {index}: {text or 'the whole batch'}\n    the first release {was}\n    now {new}", flush=True)
                if text:
                    print("    case", json.dumps(shrink(batch, text, first, now)), flush=True)
        index += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
