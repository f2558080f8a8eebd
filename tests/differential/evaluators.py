#!/usr/bin/env python3
"""Holds the evaluators that bench/peers compares speeds with, and the program that times our own, against `eval`.

usage: evaluators.py --build FOLDER [--policies N] [--seed N]

Random policies over few words, every combination of fields but paths; a call for each decision is compared. The last
line is `N passed, N failed`. Exit 1 if any failed, 77 (skipped) without node.
"""
import argparse
import json
import os
import random
import shutil
import sys
import tempfile

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "peers")
sys.path.insert(0, PEERS)
import run  # noqa: E402
from process import Peer  # noqa: E402

CALLS = 400
TOOLS = ["a", "ab", "abc", "b", "bc", "tool"]
SERVERS, CHANNELS, THREADS = ["s", "t"], ["C1", "C2", "C3"], ["1.1", "1.2"]
ACTORS = ["session_owner", "claude_process"]
# No two of one loose form (1, true and "1" are one in a deny): the peers compare exactly.
VALUES = [0, 1, 1.5, None, "", "v", [], [1, 2], [2, 1], {}, {"x": 1}, {"x": 1, "y": [None]}]
KEYS = ["k", "l", "__proto__", "constructor", "length"]


def arguments(rng, most):
    return {key: rng.choice(VALUES) for key in rng.sample(KEYS, rng.randint(0, most))}


def a_match(rng):
    match = {}
    while not match:
        name = rng.randrange(4)
        if name == 0:
            match["toolPrefix"] = rng.choice(["a", "ab", "b", "to"])
        elif name > 1:
            match["tool"] = rng.choice(TOOLS)
        for field, values, often in (("server", SERVERS, 0.2), ("channel", CHANNELS, 0.4), ("thread_ts", THREADS, 0.3),
                                     ("actor", ACTORS, 0.2)):
            if rng.random() < often:
                match[field] = rng.choice(values)
        if rng.random() < 0.4:
            match["argEquals"] = arguments(rng, 2)
        if match == {"argEquals": {}}:
            match = {}
    return match


def a_policy(rng):
    rules = []
    for i in range(rng.choice([1, 3, 10, 40, 150])):
        rule = {"id": f"r{i}", "effect": rng.choice(list(run.KINDS)), "match": a_match(rng)}
        if rule["effect"] == "deny":
            rule["reason"] = "no"
        rules.append(rule)
    return rules


def a_call(rng):
    call = {"tool": rng.choice(TOOLS + ["other"]), "input": arguments(rng, 3), "actor": rng.choice(ACTORS),
            "sessionKey": {"channel": rng.choice(CHANNELS + ["C9"]), "thread": rng.choice(THREADS)}}
    if rng.random() < 0.7:
        call["server"] = rng.choice(SERVERS)
    return call


def differing(name, argv, folder, rules, want):
    peer = Peer(argv + [folder])
    try:
        peer.answer(60)
        ranks = peer.ask("check 60000", 120)["ranks"]
    finally:
        peer.end()
    got = [("allow", None) if rank < 0 else (run.KINDS[rules[rank]["effect"]], rules[rank]["id"]) for rank in ranks]
    wrong = [i for i, decision in enumerate(want) if i >= len(got) or got[i] != decision]
    if wrong:
        with open(os.path.join(folder, "calls.jsonl")) as file:
            call = file.read().splitlines()[wrong[0]]
        print(f"{name}: policy {json.dumps(rules)}\n    call {call}\n    eval says {want[wrong[0]]}, "
              f"the evaluator {got[wrong[0]:wrong[0] + 1]}")
    return len(wrong)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", required=True)
    options.add_argument("--policies", type=int, default=8)
    options.add_argument("--seed", default="1")
    options = options.parse_args()
    node = shutil.which("node")
    if not node:
        print("no node on this machine")
        return 77
    host = [node, os.path.join(PEERS, "host.mjs")]
    commands = {"plain scan": host + ["linear"], "index by tool": host + ["indexed"],
                "bench/peer": [os.path.join(options.build, "bench", "peer")]}
    passed = failed = 0
    for index in range(options.policies):
        rng = random.Random(f"{options.seed}/{index}")
        rules = a_policy(rng)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "policy.json"), "w") as file:
                json.dump(rules, file)
            with open(os.path.join(folder, "calls.jsonl"), "w") as file:
                file.writelines(json.dumps(a_call(rng)) + "\n" for _ in range(CALLS))
            want = run.decisions_of(os.path.join(options.build, "callgate"), folder)
            for name, argv in commands.items():
                wrong = differing(name, argv, folder, rules, want)
                passed, failed = passed + CALLS - wrong, failed + wrong
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
