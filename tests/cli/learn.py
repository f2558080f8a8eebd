#!/usr/bin/env python3
"""learn.py CALLGATE MCP_SERVER: `learn` from a day's journal of 2,000 calls.

All of them that people did not refuse pass under the policy that is learned, and `check` finds nothing to say about it. Ends
with `N passed, N failed`."""
import json
import os
import random
import subprocess
import sys
import tempfile

CALLGATE, SERVER = (os.path.abspath(path) for path in sys.argv[1:3])
passed = failed = 0


def check(what, ok, *shown):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *[str(s)[:3000] for s in shown], sep="\n    ")


def calls(work, rng):
    files = [os.path.join(work, d, f"f{i}.ts") for d in ("src", "tests", "docs") for i in range(30)]
    for file in files:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        open(file, "w", encoding="utf-8").close()
    commands = ["git status", "git log --oneline -5", "git diff --stat", "npm test", "npm run build", "ls -la", "cat src/f1.ts | head -20",
                "git add src/f2.ts && git commit -m \"fix: a\"", "grep -rn TODO src", "python3 -m pytest -q", "echo hi > docs/f1.ts",
                "for f in a b; do echo $f; done", "NODE_ENV=test npm test", "make check", "wc -l src/f3.ts"]
    made = []
    for _ in range(2000):
        kind = rng.randrange(10)
        if kind < 4:
            made.append(("Read", {"file_path": rng.choice(files)}))
        elif kind < 6:
            made.append(("Edit", {"file_path": rng.choice(files), "old_string": "a", "new_string": str(rng.random())}))
        elif kind < 8:
            made.append(("Bash", {"command": rng.choice(commands), "description": str(rng.randrange(5))}))
        elif kind == 8:
            made.append(("WebFetch", {"url": f"https://docs{rng.randrange(4)}.example.com/{rng.randrange(99)}", "prompt": "x"}))
        else:
            made.append(("TodoWrite", {"todos": [{"content": str(rng.randrange(50))}]}))
    made[7] = ("Read", {"file_path": files[0], "token": "ghp_" + "a1B2" * 9})  # redacted in the journal
    return made


with tempfile.TemporaryDirectory(prefix="callgate-learn-", dir="/var/tmp") as folder:
    home = os.path.realpath(folder)
    work, state, policy, learned = (os.path.join(home, name) for name in ("work", "state", "policy.json", "learned.json"))
    os.mkdir(work)
    with open(policy, "w", encoding="utf-8") as f:
        json.dump([{"id": "no", "effect": "deny", "match": {"tool": "Danger"}, "reason": "r"}], f)
    made = calls(work, random.Random(18)) + [("Danger", {"x": 1})]
    text = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}) + "\n"
                   for i, (tool, arguments) in enumerate(made, 1))
    done = subprocess.run([CALLGATE, "run", "--policy", policy, "--state", state, "--home", home, "--cwd", work, "--fsync", "never", "--", SERVER],
                          input=text, capture_output=True, text=True, timeout=200, cwd=work)
    check("the day went by", done.stdout.count("\n") == len(made), done.stderr)
    here = ("--home", home, "--cwd", work)
    done = subprocess.run([CALLGATE, "learn", "--state", state, "--output", learned, "--policy", policy, *here], capture_output=True,
                          text=True, timeout=200, cwd=work)
    check("it learns", done.returncode == 0 and os.path.exists(learned), done.stdout, done.stderr)
    check("what is redacted is listed and not learned", "1 not learnable" in done.stderr and "not learnable, redacted or cut" in done.stderr, done.stderr)
    check("the difference is shown", "The difference against the running policy" in done.stdout, done.stdout)
    document = open(learned, encoding="utf-8").read() if os.path.exists(learned) else "{}"
    check("nothing of what was denied", "Danger" not in document)
    check("each rule has its count", all("Seen " in rule["comment"] for rule in json.loads(document).get("rules", [])), document)
    report = subprocess.run([CALLGATE, "check", "--format", "json", "--policy", learned, *here], capture_output=True, text=True, timeout=60, cwd=work)
    check("check has nothing to say", report.returncode == 0 and json.loads(report.stdout)["warnings"] == [], report.stdout, report.stderr)
    kept = [(tool, arguments) for i, (tool, arguments) in enumerate(made[:-1]) if i != 7]
    lines = "".join(json.dumps({"tool": tool, "input": arguments}) + "\n" for tool, arguments in kept)
    done = subprocess.run([CALLGATE, "eval", "--policy", learned, *here, "-"], input=lines, capture_output=True, text=True, timeout=200, cwd=work)
    got = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    check("every call passes", got == ["allow"] * len(kept), [k for k, g in zip(kept, got) if g != "allow"][:10], done.stderr)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
