#!/usr/bin/env python3
"""first_minutes.py CALLGATE: docs/first-ten-minutes.md, played: from nothing to a denied and to an approved call, in five
commands and without the name of a tool. Ends with `N passed, N failed`."""
import json
import os
import subprocess
import sys
import tempfile
import time

CALLGATE = os.path.abspath(sys.argv[1])
passed = failed = 0
# A server with tools of every kind; it counts the calls that reach it.
SERVER = '''
import json, sys
TOOLS = ["read_note", "write_note", "send_note", "frobnicate"]
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"}}
    if m["method"] == "tools/list":
        r = {"tools": [{"name": t, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}} for t in TOOLS]}
    if m["method"] == "tools/call":
        open(sys.argv[1], "a").write(m["params"]["name"] + "\\n")
        r = {"content": [{"type": "text", "text": "done"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
'''


def check(what, ok, *shown):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *shown, sep="\n    ")


TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
with open(os.path.join(TOP, "docs/first-ten-minutes.md"), encoding="utf-8") as page, open(os.path.join(TOP, "tools/minutes.mjs"), encoding="utf-8") as played:
    typed = [line[2:].split(" CODE")[0] for line in page.read().splitlines() if line.startswith("$ ")]
    script = played.read()
    check("the transcript has five commands", len(typed) == 5, typed)
    check("and they are what is played on a bare system", all(" ".join(line.split()[:4]) in script or line.startswith(("make", "callgate approve"))
                                                              for line in typed), typed)

with tempfile.TemporaryDirectory(prefix="callgate-first-", dir="/var/tmp") as folder:
    home = os.path.realpath(folder)
    work, state, record = (os.path.join(home, name) for name in ("work", "state", "record"))
    os.makedirs(os.path.join(home, ".claude"))
    os.makedirs(os.path.join(home, ".ssh"))
    os.mkdir(work)
    with open(os.path.join(home, "server.py"), "w", encoding="utf-8") as f:
        f.write(SERVER)
    entry = {"command": sys.executable, "args": [os.path.join(home, "server.py"), record]}
    with open(os.path.join(home, ".claude.json"), "w", encoding="utf-8") as f:
        json.dump({"mcpServers": {name: entry for name in ("one", "two", "three")}}, f)
    stranger = {"command": "/bin/sh", "args": ["-c", f"touch {home}/stranger"]}
    with open(os.path.join(work, ".mcp.json"), "w", encoding="utf-8") as f:
        json.dump({"mcpServers": {"stranger": stranger}}, f)

    def run(*argv, **more):
        return subprocess.run([CALLGATE, *argv], capture_output=True, text=True, timeout=120, cwd=work, **more)

    policy = os.path.join(home, ".config/callgate/policy.json")
    here = ("--home", home, "--cwd", work)
    done = run("init", "--yes", "--print", *here)
    check("--print changes nothing", done.returncode == 0 and json.loads(done.stdout)["rules"] and not os.path.exists(policy), done.stderr)
    done = run("init", "--yes", *here)
    check("init writes a policy", done.returncode == 0 and os.path.exists(policy), done.stdout, done.stderr)
    check("it read the tools of three servers", done.stderr.count(": 4 tool(s)") == 3, done.stderr)
    check("a project's server was not started", not os.path.exists(os.path.join(home, "stranger")))
    rules = {rule["id"]: rule for rule in json.load(open(policy, encoding="utf-8"))["rules"]}
    check("what a tool's name tells decides, not the server's word", rules["one-reads"]["effect"] == "auto_approve" and
          rules["one-writes"]["effect"] == rules["one-sends"]["effect"] == rules["one-others"]["effect"] == "require_approval" and
          rules["one-others"]["match"]["tool"] in (["frobnicate"], "frobnicate"), rules)
    done = run("init", "--yes", *here)
    check("it replaces nothing unasked", done.returncode == 2 and "--force" in done.stderr, done.stderr)
    done = run("wrap", "--policy", f"user={policy}", "--state", state, *here)
    check("wrap", done.returncode == 0 and "4 server(s) wrapped" in done.stdout, done.stdout, done.stderr)
    done = run("hook", "install", "claude-code", "--policy", f"user={policy}", "--state", state, *here)
    check("hook install", done.returncode == 0, done.stdout, done.stderr)
    hook = json.load(open(os.path.join(home, ".claude/settings.json"), encoding="utf-8"))["hooks"]["PreToolUse"][0]["hooks"][0]
    message = {"session_id": "s", "cwd": work, "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": "Read",
               "tool_input": {"file_path": os.path.join(home, ".ssh/id_rsa")}}
    out = subprocess.run([hook["command"], *hook["args"]], input=json.dumps(message), capture_output=True, text=True, timeout=60).stdout
    check("a secret is denied, with words for the agent", "Credentials are off limits" in out or "Secret files are off limits" in out, out)
    message["tool_name"], message["tool_input"] = "TodoWrite", {"todos": []}
    out = subprocess.run([hook["command"], *hook["args"]], input=json.dumps(message), capture_output=True, text=True, timeout=60).stdout
    check("a list of things to do is not", out == "", out)
    gate = json.load(open(os.path.join(home, ".claude.json"), encoding="utf-8"))["mcpServers"]["one"]
    process = subprocess.Popen([gate["command"], *gate["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=work)

    def call(number, tool):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {
            "name": tool, "arguments": {"note": "x"}}}) + "\n")
        process.stdin.flush()

    call(1, "read_note")
    check("reading through the gate runs", "done" in process.stdout.readline())
    call(2, "write_note")
    waiting = []
    for _ in range(200):
        waiting = json.loads(run("pending", "--format", "json", "--state", state).stdout or "[]")
        if waiting:
            break
        time.sleep(0.05)
    check("writing waits", len(waiting) == 1 and open(record, encoding="utf-8").read() == "read_note\n", waiting)
    if waiting:
        done = run("approve", waiting[0]["code"], "--state", state)
        check("approved", done.returncode == 0, done.stdout, done.stderr)
        check("it runs", "done" in process.stdout.readline() and "write_note" in open(record, encoding="utf-8").read())
    process.stdin.close()
    process.wait(timeout=30)
    done = run("learn", "--state", state, *here)
    check("learn writes rules of what ran", done.returncode == 0 and "read_note" in done.stdout and " 0 would still be denied" in done.stderr, done.stdout, done.stderr)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
