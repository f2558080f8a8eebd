#!/usr/bin/env python3
"""Holds the template policies against calls of coding agents with the decision and the rule that each must get.

usage: run.py [--callgate PROGRAM | --oracle]

NAME.calls.jsonl beside this script goes with src/setup/templates/NAME.json. In it `$PROJECT` is the working directory, a
project with `.env`, `node_modules/dotenv/.env`, `src/` and `docs/`; `$HOME_DIR` is a home with `.ssh` and `.aws`; `$ROOT` is what
is above both. A false alarm is a fault like a hole. Ends with `N passed, N failed`; exit 1 if any failed.
"""
import argparse
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from cases import run as tables  # noqa: E402

TEMPLATES = HERE  # the draft that the language was made with; what `init` writes has tests of its own
FOLDERS = ("proj/src", "proj/docs", "proj/node_modules/dotenv", "home/.ssh", "home/.aws")
FILES = ("proj/.env", "proj/node_modules/dotenv/.env")


def lay_out(root):
    for name in FOLDERS:
        os.makedirs(os.path.join(root, name))
    for name in FILES:
        with open(os.path.join(root, name), "w", encoding="utf-8"):
            pass


def lines_of(name, root):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        for text in file:
            yield json.loads(text.replace("$PROJECT", root + "/proj").replace("$HOME_DIR", root + "/home")
                             .replace("$ROOT", root))


def differences(program, name, root):
    """How many lines the template decides as they say; those that it does not are printed."""
    lines = list(lines_of(name, root))
    template = os.path.join(TEMPLATES, name.replace(".calls.jsonl", ".json"))
    text = "".join(json.dumps(line["call"]) + "\n" for line in lines)
    words = ["eval", "--policy", template, "--home", root + "/home", "--now", "0", "-"]
    code, out, err = program.run(words, root + "/proj", text.encode("utf-8"))
    answers = [json.loads(each) for each in out.decode("utf-8").split("\n") if each] if code == 0 else []
    if len(answers) != len(lines):
        print(f"{name}: exit {code}, {len(answers)} answers: {err.decode('utf-8', 'replace')[:300]}")
        return 0, len(lines)
    failed = 0
    for number, (line, got) in enumerate(zip(lines, answers), 1):
        if (got["kind"], got.get("rule")) != (line["want"], line.get("rule")):
            failed += 1
            print(f"{name}:{number}: {json.dumps(line['call']).replace(root, '$ROOT')}\n    want {line['want']} by "
                  f"{line.get('rule')}\n    got  {json.dumps(got)}")
    return len(lines) - failed, failed


def main():
    parser = argparse.ArgumentParser(description="templates against calls")
    parser.add_argument("--callgate", default="build/callgate")
    parser.add_argument("--oracle", action="store_true")
    options = parser.parse_args()
    program = tables.Oracle() if options.oracle else tables.Program(options.callgate)
    passed = failed = 0
    # Not below /tmp: the template lets an agent read and write there.
    with tempfile.TemporaryDirectory(prefix="template-", dir="/var/tmp") as root:
        root = os.path.realpath(root)
        lay_out(root)
        for name in sorted(os.listdir(HERE)):
            if name.endswith(".calls.jsonl"):
                good, bad = differences(program, name, root)
                passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
