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
# Where one may stand: NO_COLOR and TERM take colour away and steer nothing else.
MAY = {("src/cli/colour.c", r"\b(getenv|secure_getenv)\s*\(")}
# Which rooms a room may include: those listed before it, but for what is taken away below. Not every room exists yet.
ROOMS = ["base", "json", "path", "url", "command", "call", "policy", "index", "document", "analysis", "api", "approval", "journal",
         "people", "process", "gate", "backup", "broker", "host", "install", "import", "setup", "tools", "mcp", "relay", "console", "slack", "watch",
         "webhook", "net", "confine", "cli"]
BELOW = {room: set(ROOMS[:i]) for i, room in enumerate(ROOMS)}
DECISION = {"path", "url", "command", "call", "policy", "index", "document", "analysis"}
# What stands side by side, each without the others.
BELOW["process"] = {"base"}
BELOW["url"] -= {"path"}
BELOW["command"] -= {"path"}
BELOW["journal"] -= {"approval"} | DECISION
BELOW["approval"] -= DECISION
# The surfaces (mcp, host, relay, console, slack, watch) do not see one another; installing and importing know the hosts.
for room in ROOMS[ROOMS.index("api") + 1:]:
    BELOW[room] -= {"api"}  # for other programs; ours stand on the rooms themselves
SURFACES = {"mcp", "host", "install", "import", "setup", "relay", "console", "slack", "watch", "net", "confine"}
for surface in SURFACES:
    BELOW[surface] -= SURFACES
BELOW["install"] |= {"host"}
BELOW["import"] |= {"host"}
BELOW["setup"] |= {"host", "install", "import"}
FUNCTION_LINES = 60
FILE_LINES = 600
# What a file that uses one of these must include itself.
STANDARD = {
    "string.h": r"\b(mem(cpy|move|set|cmp|chr|rchr|mem)|str(len|cmp|ncmp|chr|rchr|str|spn|cspn|error|signal|dup|ndup|casecmp))\s*\(",
    "stdlib.h": r"\b(malloc|calloc|realloc|reallocarray|free|qsort|bsearch|exit|abort|realpath|mkstemp)\s*\(",
    "stdio.h": r"\b(snprintf|fprintf|printf|fputs|fflush|renameat|renameat2)\s*\(|\bFILE\b",
    "errno.h": r"\berrno\b",
}
# The table that policy/policy.h gives everybody.
GIVEN_ON = {"policy/field.h"}
# Circles that are still there, by the last file of each: `field.c` compares rules, and `named_common.c` builds for `named.c`.
# Headers of ours that give what is used of a standard one: a slice is made of strings.
GIVES = {"base/slice.h": {"string.h"}}

checks = failures = 0


def fail(path, line, message):
    global failures
    failures += 1
    print(f"{path}:{line}: {message}")


def without_comments(text):
    keep_lines = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: m.group(0) if m.group(0)[0] == '"' else keep_lines(m),
                  text, flags=re.S)


def check_dialect(path, text, lines):
    """What clang-format cannot see. A pointer is compared with NULL; grep sees the common ways not to."""
    room = path.split("/")[1]
    if path.endswith(".c") and not text.startswith("/*"):
        fail(path, 1, "does not begin with a comment that says what it holds")
    for number, line in enumerate(lines, 1):
        if re.search(r"\bsizeof\s+[^(\s]|\bsizeof \(", line):
            fail(path, number, "write sizeof(x)")
        if re.search(r"\bgoto\b", line):
            fail(path, number, "a goto")
        if re.search(r"!\s*(mem|str)(chr|rchr|str|mem|dup)\s*\(|!\s*(malloc|calloc|realloc|reallocarray|realpath|json_get)\s*\(", line):
            fail(path, number, "compare a pointer with NULL")
    includes = set(re.findall(r'#include [<"]([^>"]+)[>"]', text))
    given = includes.union(*(GIVES.get(header, set()) for header in includes))
    for header, pattern in STANDARD.items():
        used = next((n for n, line in enumerate(lines, 1) if re.search(pattern, line) and not line.startswith("#")), None)
        if used and header not in given:
            fail(path, used, f"uses <{header}> and does not include it")


def check_circles(files):
    """No circle of files. A file is NAME.c with NAME.h; a header alone (internal.h) has nothing that could turn back."""
    has_code = {path[4:-2] for path in files if path.startswith("src/") and path.endswith(".c")}
    edges = {stem: set() for stem in has_code}
    for path in files:
        stem = path[4:].rsplit(".", 1)[0]
        if path.startswith("src/") and stem in has_code:
            text = open(os.path.join(TOP, path), encoding="utf-8").read()
            edges[stem] |= {found for found in re.findall(r'#include "([a-z0-9_/]+)\.h"', text)} & has_code - {stem}
    state = {}

    def walk(stem, way):
        state[stem] = "open"
        for other in sorted(edges[stem]):
            if state.get(other) == "open":
                fail(f"src/{stem}.c", 1, "a circle of files: " + " -> ".join(way[way.index(other):] + [other]))
            elif state.get(other) is None:
                walk(other, way + [other])
        state[stem] = "done"

    for stem in sorted(edges):
        if stem not in state:
            walk(stem, [stem])


def check_private(files):
    """A header that only its own room includes says so in its name; the program's own room has nobody above it."""
    users = {}
    for path in files:
        if path.startswith(("src/", "bench/", "fuzz/")):
            text = open(os.path.join(TOP, path), encoding="utf-8").read()
            for found in re.findall(r'#include "([a-z0-9_]+/[a-z0-9_/]+\.h)"', text):
                users.setdefault(found, set()).add(path.split("/")[1] if path.startswith("src/") else path.split("/")[0])
    for path in files:
        name = path[4:]
        room = name.split("/")[0]
        if path.startswith("src/") and path.endswith(".h") and room not in {"cli", "base"} and name not in GIVEN_ON | {f"{room}/{room}.h"} and \
                not name.endswith("internal.h") and not users.get(name, set()) - {room}:
            fail(path, 1, f"only {room} includes it: name it {os.path.basename(name)[:-2]}_internal.h")


def check_map(path):
    """A text that leads a reader to a file that is not there leads nowhere."""
    text = open(os.path.join(TOP, path), encoding="utf-8").read()
    for number, line in enumerate(text.split("\n"), 1):
        for found in re.findall(r"`([a-z0-9_.]+/[a-z0-9_/.-]+\.(?:c|h|py|md|jsonl|build|txt|scd|mjs|sh|json))`", line):
            if not found.startswith(("build/", "/", ".")) and not any(os.path.exists(os.path.join(TOP, top, found)) for top in ("", "src")):
                fail(path, number, f"there is no {found}")


def check_file(path):
    global checks
    text = open(os.path.join(TOP, path), encoding="utf-8").read()
    code = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', without_comments(text))
    lines = code.split("\n")
    checks += 1
    if path.startswith("src/"):
        for number, line in enumerate(lines, 1):
            for pattern, why in BANNED.items():
                if re.search(pattern, line) and (path, pattern) not in MAY:
                    fail(path, number, f"{line.strip()}: {why}")
        check_dialect(path, text, lines)
    room = path.split("/")[1]
    check_length(path, lines)
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


def check_length(path, lines):
    if len(lines) > FILE_LINES:
        fail(path, 1, f"{len(lines)} lines: is this one room?")


def main():
    files = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=TOP, text=True, capture_output=True).stdout.split()
    files = [path for path in files if os.path.exists(os.path.join(TOP, path))]
    for path in files:
        check_file(path)
    for path in subprocess.run(["git", "ls-files", "*.py", "*.mjs", "*.sh", "*.js"], cwd=TOP, text=True, capture_output=True).stdout.split():
        if os.path.exists(os.path.join(TOP, path)):
            with open(os.path.join(TOP, path), encoding="utf-8") as file:
                check_length(path, file.read().splitlines())
    check_circles(files)
    check_private(files)
    for path in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"):
        check_map(path)
    print(f"{checks} passed, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
