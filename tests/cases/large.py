#!/usr/bin/env python3
"""The limits that no line of a table can hold: a message of 16 MiB, a million rules, a tree of 100 000 entries.

usage: large.py [--callgate PROGRAM | --oracle]        ends with `N passed, N failed`
"""
import argparse
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from cases import run as tables  # noqa: E402

MESSAGE, RULES, ENTRIES = 16 * 1024 * 1024, 1_000_000, 100_000
DENY = {"kind": "deny", "rule": "default", "reason": "call is over a limit"}


def message(length):
    head, tail = b'{"tool":"t","input":{"text":"', b'"}}'
    return head + b"x" * (length - len(head) - len(tail)) + tail


def messages(program, aside):
    """A call of just 16 MiB is judged, one byte more is over the limit, and the calls after it are judged."""
    path = os.path.join(aside, "policy.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{"id": "a", "effect": "auto_approve", "match": {"tool": "t"}}], file)
    text = b"\n".join((message(MESSAGE), message(MESSAGE + 1), message(100), message(2 * MESSAGE), message(100))) + b"\n"
    code, out, _ = program.run(["eval", "--policy", path, "--home", aside, "-"], aside, text)
    allow = {"kind": "allow", "rule": "a"}
    got = [json.loads(line) for line in out.splitlines()]
    yield "messages", [0, allow, DENY, allow, DENY, allow], [code] + got


def rules(program, aside):
    """One rule too many is the only error of its file, at that rule, whatever else is wrong there."""
    path = os.path.join(aside, "many.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + "0,\n" * RULES + " 0]")
    code, out, _ = program.run(["check", "--format", "json", "--policy", path, "--home", aside], aside)
    got = [[each["code"], each["line"], each["column"]] for each in json.loads(out)["errors"]]
    yield "rules", [1, ["limit", RULES + 2, 2]], [code] + got[:3]


def entries(program, aside):
    """What cannot be looked through: of the call's own tree it is a path that cannot be read, of a command's a place that cannot,
    and of a directory that is a tree aside nothing. What one of these looks at is not missing to the others."""
    many, path = os.path.join(aside, "many"), os.path.join(aside, "tree.json")
    for name in (many, os.path.join(aside, "few")):
        os.makedirs(name)
    for index in range(ENTRIES + 1):
        os.close(os.open(os.path.join(many, str(index)), os.O_CREAT | os.O_WRONLY))
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{"id": "d", "effect": "deny", "match": {"pathComponent": ".env"}, "reason": "closed"}], file)
    asked = {"kind": "require", "rule": "d", "approver": "human_approver", "ttlMs": 300_000, "approvers": 1}
    unread, allow = dict(DENY, reason="path cannot be resolved"), {"kind": "allow"}
    calls = [({"tool": "t", "input": {"command": "rm -r many"}}, asked), ({"tool": "t", "input": {"command": "rg x"}}, asked),
             ({"tool": "t", "input": {"command": "rm -r few"}}, allow), ({"tool": "t", "input": {"path": "many"}}, allow),
             ({"tool": "Grep", "input": {"path": "many"}}, unread),
             ({"tool": "Grep", "input": {"directory": "many", "path": "few"}}, allow)]
    text = "".join(json.dumps(call) + "\n" for call, _ in calls).encode()
    code, out, _ = program.run(["eval", "--policy", path, "--home", aside, "-"], aside, text)
    yield "entries", [0] + [want for _, want in calls], [code] + [json.loads(line) for line in out.splitlines()]


def main():
    parser = argparse.ArgumentParser(description="limits that no table can hold")
    parser.add_argument("--callgate", default="build/callgate")
    parser.add_argument("--oracle", action="store_true")
    options = parser.parse_args()
    program = tables.Oracle() if options.oracle else tables.Program(options.callgate)
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="large-") as aside:
        for each in (messages, rules, entries):
            for name, want, got in each(program, aside):
                if want == got:
                    passed += 1
                else:
                    failed += 1
                    print(f"{name}\n    want {want}\n    got  {got}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
