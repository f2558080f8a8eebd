#!/usr/bin/env python3
"""lint.py: what grep can see and a reviewer should not have to. Ends with 'N passed, N failed'."""
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A call that has a safer twin, and where it may stand all the same.
BANNED = {
    r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca)\s*\(": "an unbounded or hidden copy",
    r"\b(atoi|atol|atof|strncpy|strncat)\s*\(": "errors or ends pass unseen",
    r"\b(system|popen)\s*\(": "a shell",
    r"\b(getenv|secure_getenv)\s*\(": "the environment steers nothing",
    r"\b(rand|random|srand)\s*\(": "not a cryptographic source",
    r"\b(tmpnam|mktemp|tempnam)\s*\(": "a race",
}
# Which rooms a room may include: those listed before it, but for what is taken away below. Not every room exists yet.
ROOMS = ["base", "json", "path", "url", "command", "call", "policy", "index", "document", "analysis", "approval", "journal",
         "people", "process", "gate", "broker", "host", "install", "import", "setup", "tools", "mcp", "relay", "console", "slack", "watch",
         "confine", "cli"]
BELOW = {room: set(ROOMS[:i]) for i, room in enumerate(ROOMS)}
DECISION = {"path", "url", "command", "call", "policy", "index", "document", "analysis"}
# What stands side by side, each without the others.
BELOW["process"] = {"base"}
BELOW["url"] -= {"path"}
BELOW["command"] -= {"path"}
BELOW["journal"] -= {"approval"} | DECISION
BELOW["approval"] -= DECISION
# The surfaces (mcp, host, relay, console, slack, watch) do not see one another; installing and importing know the hosts.
SURFACES = {"mcp", "host", "install", "import", "setup", "relay", "console", "slack", "watch", "confine"}
for surface in SURFACES:
    BELOW[surface] -= SURFACES
BELOW["install"] |= {"host"}
BELOW["import"] |= {"host"}
BELOW["setup"] |= {"host", "install", "import"}
FUNCTION_LINES = 80
FILE_LINES = 700

checks = failures = 0


def fail(path, line, message):
    global failures
    failures += 1
    print(f"{path}:{line}: {message}")


def without_comments(text):
    keep_lines = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: m.group(0) if m.group(0)[0] == '"' else keep_lines(m),
                  text, flags=re.S)


def check_file(path):
    global checks
    text = open(os.path.join(TOP, path), encoding="utf-8").read()
    code = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', without_comments(text))
    lines = code.split("\n")
    checks += 1
    if path.startswith("src/"):
        for number, line in enumerate(lines, 1):
            for pattern, why in BANNED.items():
                if re.search(pattern, line):
                    fail(path, number, f"{line.strip()}: {why}")
    if len(lines) > FILE_LINES and path.startswith(("src/", "include/")):
        fail(path, 1, f"{len(lines)} lines: is this one room?")
    room = path.split("/")[1]
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(r'#include "([a-z]+)/', line)
        if path.startswith("src/") and room in BELOW and found and found.group(1) not in BELOW[room] | {room}:
            fail(path, number, f"{room} may not know {found.group(1)}: arrows go down")
        private = re.match(r'#include "([a-z]+)/(?:[a-z0-9_]+_)?internal\.h"', line)
        if path.startswith("src/") and private and private.group(1) != room:
            fail(path, number, f"{private.group(1)} keeps this header to itself")
    start = None
    for number, line in enumerate(lines, 1) if not path.startswith("tests/") else ():  # a table of cases may be long
        if line == "{":
            start = number
        elif line == "}" and start:
            if number - start > FUNCTION_LINES:
                fail(path, start, f"a function of {number - start} lines does not fit a screen")
            start = None


def main():
    files = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=TOP, text=True, capture_output=True).stdout.split()
    for path in files:
        if os.path.exists(os.path.join(TOP, path)):
            check_file(path)
    print(f"{checks} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
