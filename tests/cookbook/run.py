#!/usr/bin/env python3
"""docs/policies.md: every policy on it loads, and every call beside one becomes what the page says.

usage: run.py [--callgate PROGRAM] [--page FILE]

Ends with the line `N passed, N failed`.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
passed = failed = 0


def check(what, good, *shown):
    global passed, failed
    if good:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *map(str, shown), sep="\n    ")


def parts(text):
    """Headings, with the policies under each and the calls behind each policy."""
    for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.M | re.S):
        for policy, rest in re.findall(r"^```json\n(.*?)^```\n(.*?)(?=^```json|\Z)", body, re.M | re.S):
            rows = re.findall(r"^\| `(\S+) (\{.*?\})`(?: said to be `(\{.*\})`)? \| (\w[\w ]*) \|$", rest, re.M)
            yield heading, policy, [((name, arguments.replace("\\|", "|"), said), becomes) for name, arguments, said, becomes in rows], rest.count("\n| `")


def call_of(name, arguments, said):
    server, slash, tool = name.rpartition("/")
    return {"tool": tool, "input": json.loads(arguments), **({"server": server} if slash else {}),
            **({"annotations": json.loads(said)} if said else {})}


def becomes_of(decision):
    """As a host's hook has it: an allow is one when a rule allows the call however it is read."""
    if decision["kind"] == "allow":
        own = [each for each in decision["explain"]["readings"] if not each.get("aside")]
        return "allowed" if all("rule" in each["decision"] for each in own) else "no rule"
    return {"deny": "denied", "require": "asked"}[decision["kind"]]


def main():
    parser = argparse.ArgumentParser(description="plays docs/policies.md")
    parser.add_argument("--callgate", default="build/callgate")
    parser.add_argument("--page", default=os.path.join(HERE, "../../docs/policies.md"))
    options = parser.parse_args()
    callgate = os.path.abspath(options.callgate)
    with open(options.page, encoding="utf-8") as file:
        text = file.read()
    found = list(parts(text))
    check("every policy on the page is played", len(found) == text.count("```json") and len(found) >= 10, len(found))
    with tempfile.TemporaryDirectory(prefix="cookbook-") as root:
        root = os.path.realpath(root)
        home, project = root + "/home", root + "/home/work/project"
        for folder in (project, home + "/scratch", home + "/.ssh"):
            os.makedirs(folder)
        where = ("--cwd", project, "--home", home)
        policy = root + "/policy.json"
        for heading, document, rows, written in found:
            with open(policy, "w", encoding="utf-8") as file:
                file.write(document)
            done = subprocess.run([callgate, "check", "--policy", policy, *where], capture_output=True, text=True, timeout=60)
            told = [line for line in (done.stdout + done.stderr).splitlines() if "warning" in line and "does not exist" not in line]
            check(f"{heading}: it loads", done.returncode == 0, done.stdout, done.stderr)
            check(f"{heading}: no rule is in the shadow of another", not any("shadow" in line or "never" in line for line in told), *told)
            check(f"{heading}: calls stand beside it", len(rows) >= 3 and len(rows) == written, rows)
            lines = "".join(json.dumps(call_of(*call)) + "\n" for call, _ in rows)
            done = subprocess.run([callgate, "eval", "--policy", policy, "--explain", *where, "-"], input=lines, capture_output=True,
                                  text=True, timeout=60)
            for ((name, arguments, said), becomes), line in zip(rows, done.stdout.splitlines()):
                here = becomes_of(json.loads(line))
                check(f"{heading}: {name} {arguments} {said} becomes {becomes}", here == becomes, here, line[:600])
            check(f"{heading}: each call is decided", done.returncode == 0 and done.stdout.count("\n") == len(rows), done.stderr)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
