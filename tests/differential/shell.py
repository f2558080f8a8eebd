#!/usr/bin/env python3
"""Holds the reader of commands against the slow evaluator's on random texts: commands and their words, what is open, assigned
or unreadable, commands inside commands, places, changes of directory, here-documents, and patterns.

usage: shell.py --dump PROGRAM [--seed N] [--texts N]

PROGRAM is built from command_dump.c. Prints each difference with its text, and last `N passed, N failed`.
"""
import argparse
import json
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from differential import generate, language  # noqa: E402
from oracle import commands, places, shell  # noqa: E402

MOST_SHOWN = 8
UNREADABLE, OPEN, ASSIGNED, LOST = 1, 2, 4, 16
FS = {"dirs": ["a", "a/b", "c"], "files": ["a/c", "ab"]}


def text(rng):
    pick = rng.random()
    if pick < 0.1:
        return rng.choice(language.PATTERNS + language.BAD_PATTERNS)
    if pick < 0.2:
        return rng.choice(language.PROGRAMS) + " " + " ".join(rng.choice(language.ODD) for _ in range(2))
    return language.command_text(rng, FS).replace("$ROOT", "/r")


def unhex(digits):
    return bytes.fromhex(digits).decode("utf-8", "surrogateescape")


def theirs(answer):
    out = {"commands": [_theirs(each) for each in answer["commands"]], "documents": sorted(map(unhex, answer["documents"])),
           "pattern": answer["pattern"] and [each and unhex(each) for each in answer["pattern"]]}
    readable = [each for each in answer["inner"]]
    out["inner"] = sorted({json.dumps(_theirs(each, False)) for each in readable})
    return out


def _theirs(each, deep=True):
    if each["flags"] & UNREADABLE:
        return "unreadable"
    out = {"words": [[unhex(word[0]), bool(word[1]), bool(word[2])] for word in each["words"]],
           "open": bool(each["flags"] & OPEN), "assigned": bool(each["flags"] & ASSIGNED)}
    if not deep:
        del out["assigned"]  # of what is read aside: only an allow asks
    if deep:
        out["places"] = [[unhex(place[0]), bool(place[1])] for place in each["places"]]
        out["lost"] = bool(each["flags"] & LOST)
        if not out["lost"]:
            out["cd"] = [[unhex(place[0]), bool(place[1])] for place in reversed(each["cd"])]
        out["trees"] = list(map(bool, each["trees"]))
    return out


def moved(found):
    """Of each command, the changes of directory before it as [text, unquoted ~], and whether they are known."""
    out, changes, known = [], [], True
    for command in found:
        out.append((list(changes), known))
        if command.unreadable:
            continue
        change, sure = places.change(command)
        known = known and sure
        if change is not None:
            changes.append([change.value, change.tilde])
    return out


def mine(given):
    found = commands.of_text(given)
    starts = moved(found)
    out = {"commands": [_mine(each, True, *starts[at]) for at, each in enumerate(found)], "documents": [], "inner": []}
    if not any(each.unreadable for each in found):
        out["documents"] = sorted(found[0].documents) if found else sorted(shell.read(given).documents)
        out["inner"] = sorted({json.dumps(_mine(inner, False)) for each in found for inner in commands.inside(each)})
    pattern = commands.pattern(given)
    out["pattern"] = pattern and [None if word is commands.STAR else word for word in pattern]
    return out


def _mine(command, deep, changes=(), known=True):
    if command.unreadable:
        return "unreadable"
    out = {"words": [[word.value, word.opaque, word.tilde] for word in command.all_words], "open": command.open,
           "assigned": command.assigned}
    if not deep:
        del out["assigned"]
    if deep:
        out["places"] = [list(each) for each in places.known_pieces(command)]
        out["lost"] = not known
        if known:
            out["cd"] = changes
        name = commands.basename(command.words[0]) if command.words else ""
        goes = name in places.GOES_BELOW
        options = [word.value for word in command.all_words[1:] if places.option(word)]
        here = goes and places.starts_here(name, options)
        hidden = places.hidden_too(name, options)
        entries = goes and name not in places.NAMES_ONLY
        out["trees"] = [goes, entries, entries and hidden, here]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10 ** 9)))
    parser.add_argument("--texts", type=int, default=5000)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    texts = [text(rng) for _ in range(options.texts)]
    given = "".join(each.encode("utf-8").hex() + "\n" for each in texts)
    done = subprocess.run([options.dump], input=given.encode(), capture_output=True, timeout=600, check=True)
    answers = done.stdout.splitlines()
    passed = failed = readable = 0
    for each, answer in zip(texts, answers):
        answer = json.loads(answer)
        want, got = mine(each), theirs(answer)
        readable += "unreadable" not in want["commands"]
        if want == got:
            passed += 1
            continue
        failed += 1
        if failed <= MOST_SHOWN:
            for key in want:
                if want[key] != got[key]:
                    why = [each.get("reason") for each in answer["commands"]]
                    print(f"{json.dumps(each)}: {key}\n    want {json.dumps(want[key])}\n    got  {json.dumps(got[key])} {why}", flush=True)
    failed += len(texts) - len(answers)
    print(f"{readable} of {len(texts)} texts are read\n{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
