#!/usr/bin/env python3
"""Every policy of three rules of a small scope, every call of it, libcallgate against the slow evaluator, in one process.

usage: every_policy.py --library libcallgate.so [--part K/N]

The scope has every effect, two tiers, two priorities, and matches over a tool, an actor and two nested prefixes; the
calls have every combination of what those tell apart: without a path, outside, in the outer and in the inner prefix,
unreadable, and two paths at once. `--part 2/5` is every fifth policy. Ends with `N passed, N failed`.
"""
import argparse
import itertools
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from differential import library  # noqa: E402
from oracle import calls, document, policy, readings  # noqa: E402

MOST_SHOWN = 8
ENCODE = json.JSONEncoder(separators=(",", ":")).encode
HOME = "/nonexistent-home"
OUTER, INNER = "/nonexistent/a", "/nonexistent/a/b"
MATCHES = ({"tool": "t"}, {"actor": "session_owner"}, {"pathPrefix": OUTER}, {"pathPrefix": INNER}, {"pathComponent": "b"},
           {"tool": "t", "actor": "session_owner"}, {"tool": "t", "pathPrefix": OUTER},
           {"actor": "session_owner", "pathPrefix": INNER})
EFFECTS = ("auto_approve", "deny", "require_approval")
STANDINGS = (("default", 100), ("default", 1), ("admin", 100))  # tier, priority
INPUTS = ({}, {"path": "/nonexistent/c"}, {"path": OUTER + "/x"}, {"path": INNER}, {"path": 7},
          {"paths": ["/nonexistent/c", INNER + "/y"]})


def scope():
    """The JSON of each rule, with %s for its id."""
    for match, effect, (tier, priority) in itertools.product(MATCHES, EFFECTS, STANDINGS):
        rule = {"id": "%s", "effect": effect, "match": dict(match, tier=tier), "priority": priority}
        if effect == "deny":
            rule["reason"] = "reason of %s"
        yield json.dumps(rule, separators=(",", ":"))


def named(rule, name):
    return rule % ((name,) * rule.count("%s"))


def texts():
    for tool, actor, given in itertools.product(("t", "u"), ("session_owner", "claude_process"), INPUTS):
        call = {"tool": tool, "actor": actor, "sessionKey": {"channel": "C1", "thread": "1.1"}, "input": given}
        yield json.dumps(call).encode()


class Oracle:
    """The evaluator of tests/oracle, with what does not depend on the policy done once."""

    def __init__(self, rules):
        place = document.Place(b"/", HOME.encode())
        self.rules = {}
        for name in "abc":
            for index, text in enumerate(rules):
                loaded = document.Document(f"[{named(text, name)}]".encode(), None, place, set())
                if loaded.errors:
                    raise SystemExit(f"every_policy.py: {text}: {loaded.errors[0].code}")
                self.rules[name, index] = loaded.rules[0]
        world = readings.World(b"/", HOME.encode(), [])
        every = policy.Policy([], place)
        self.calls = []
        for text in texts():
            call = calls.parse(text)
            call.cwd = b"/"
            self.calls.append((call, readings.readings(call, every, world)))
        self.policy = every

    @staticmethod
    def text(decision):
        return ENCODE(decision).encode()

    def decide(self, chosen):
        """The decisions on every call by the policy of these rules."""
        self.policy.rules = [self.rules[pair] for pair in zip("abc", chosen)]
        self.policy.groups = self.policy._group()
        for call, ways in self.calls:
            strictest = None
            for way in ways:
                decision = self.policy.evaluate(call, way, [], 0)
                if decision is None:
                    continue
                if strictest is None or policy.STRICTNESS[decision["kind"]] > policy.STRICTNESS[strictest["kind"]]:
                    strictest = decision
            yield strictest


def main():
    parser = argparse.ArgumentParser(description="every policy of three rules of a small scope")
    parser.add_argument("--library", required=True)
    parser.add_argument("--part", default="1/1", help="K/N: only every Nth policy, from the Kth on")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    lib, rules, lines = library.Library(options.library), list(scope()), list(texts())
    given = [lib.call(line) for line in lines]
    oracle, base = Oracle(rules), library.Library.base("/", HOME)
    passed = failed = 0
    for number, chosen in enumerate(itertools.product(range(len(rules)), repeat=3)):
        if number % parts != part - 1:
            continue
        text = "[" + ",".join(named(rules[index], name) for name, index in zip("abc", chosen)) + "]"
        loaded, found = lib.load([(None, text.encode(), "")], base)
        for line, call, want in zip(lines, given, oracle.decide(chosen)):
            got = lib.decide(loaded, call, base) if loaded else json.dumps([each["code"] for each in found]).encode()
            if got == oracle.text(want):
                passed += 1
                continue
            failed += 1
            if failed <= MOST_SHOWN:
                print(f"policy {text}\n    call {line.decode()}\n    want {json.dumps(want)}\n    got  {got.decode()}",
                      flush=True)
        lib.lib.cg_policy_free(loaded)
    print(f"{(number + parts - part + 1) // parts} policies of {len(rules)} rules, {len(lines)} calls each")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
