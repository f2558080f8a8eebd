#!/usr/bin/env python3
"""check_tools.py CALLGATE: `check --tools` and `--tools-file`: names that no list has, with the nearest; arguments that look like
paths, commands or URLs and are read as none; tools that no rule names. Ends with `N passed, N failed`."""
import json
import os
import subprocess
import sys
import tempfile

CALLGATE = os.path.abspath(sys.argv[1])
passed = failed = 0
TEXT = {"type": "string"}
FILES = [
    {"name": "read_file", "inputSchema": {"type": "object", "properties": {"path": TEXT, "encoding": TEXT}}},
    {"name": "write_file", "inputSchema": {"type": "object", "properties": {"path": TEXT, "force": {"type": "boolean"}}}},
    {"name": "stamp", "inputSchema": {"type": "object", "properties": {
        "logFile": TEXT, "place": {"type": "string", "description": "Path to the thing"}, "shell_script": TEXT, "hook": {"type": "string", "format": "uri"},
        "fileCount": {"type": "integer"}, "profile": TEXT}}},
    {"name": "ping", "inputSchema": {"type": "object"}},
]
RULES = [
    {"id": "reads", "effect": "auto_approve", "match": {"server": "files", "tool": ["read_file", "read_flie"]}},
    {"id": "typo-server", "effect": "deny", "reason": "r", "match": {"server": "fiels", "tool": "x"}},
    {"id": "forced", "effect": "deny", "reason": "r", "match": {"server": "files", "tool": "write_file", "argEquals": {"forse": True}}},
    {"id": "right", "effect": "deny", "reason": "r", "match": {"server": "files", "tool": "write_file", "argEquals": {"force": True}}},
    {"id": "own", "effect": "auto_approve", "match": {"tool": ["Bash", "TodoWrite"]}},
    {"id": "misspelt", "effect": "auto_approve", "match": {"tool": "write_fle"}},
    {"id": "open", "effect": "auto_approve", "match": {"tool": "ping", "argEquals": {"whatever": 1}}},
]
SERVER = '''
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"tools": json.loads(sys.argv[1])}}), flush=True)
'''


def check(what, ok, *shown):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *shown, sep="\n    ")


with tempfile.TemporaryDirectory(prefix="callgate-check-") as folder:
    policy, state = os.path.join(folder, "p.json"), os.path.join(folder, "s")

    def write(document):
        with open(policy, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def run(*options):
        done = subprocess.run([CALLGATE, "check", "--format", "json", "--policy", policy, "--state", state, "--home", folder, *options],
                              capture_output=True, text=True, timeout=60, check=False)
        kinds = {}
        for warning in json.loads(done.stdout or '{"warnings":[]}')["warnings"]:
            kinds.setdefault(warning["kind"], []).append((warning.get("rule"), warning["message"]))
        return done.returncode, kinds, done.stderr

    write(RULES)
    gate = subprocess.Popen([CALLGATE, "run", "--policy", policy, "--state", state, "--server", "files", "--", sys.executable, "-c", SERVER,
                             json.dumps(FILES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    gate.communicate('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n', timeout=60)
    lists = os.path.join(folder, "tools.json")
    with open(lists, "w", encoding="utf-8") as file:
        json.dump({"jsonrpc": "2.0", "id": 1, "result": {"tools": FILES}}, file)
    for options in (["--tools"], ["--tools-file", f"files={lists}"]):
        code, kinds, errors = run(*options)
        check("warnings are no errors", code == 0, errors)
        check("a server that no list has, with the nearest", [(rule, "'files'" in text) for rule, text in kinds.get("unknown-server", [])] == [("typo-server", True)], kinds)
        check("tools that no list has, with the nearest", sorted((rule, "did you mean" in text) for rule, text in kinds.get("unknown-tool", [])) ==
              [("misspelt", True), ("reads", True)], kinds.get("unknown-tool"))
        check("an argument that no list has, with the nearest", [(rule, "'force'" in text) for rule, text in kinds.get("unknown-argument", [])] ==
              [("forced", True)], kinds.get("unknown-argument"))
        unread = " ".join(text for _, text in kinds.get("unread-argument", []))
        check("arguments that look like something and are read as none", all(f"'{name}'" in unread for name in ("logFile", "place", "shell_script", "hook")) and
              "'path'" not in unread and "fileCount" not in unread and "profile" not in unread, kinds.get("unread-argument"))
        unnamed = [text for _, text in kinds.get("unnamed-tool", [])]
        check("a tool that no rule names is allowed", len(unnamed) == 1 and "'stamp'" in unnamed[0] and "allowed" in unnamed[0], unnamed)
        check("--strict makes them faults", run(*options, "--strict")[0] == 1)
    write({"rules": [*RULES, {"id": "rest", "effect": "require_approval", "match": {"tool": "*"}}],
           "pathArguments": {"stamp": ["logFile", "place"]}, "commandArguments": {"*": ["shell_script"]}, "urlArguments": {"files/*": ["hook"]}})
    code, kinds, _ = run("--tools")
    check("what the lists say is read", "unread-argument" not in kinds, kinds)
    check("a rule for the rest speaks for what none names", "put before people (rule 'rest')" in kinds["unnamed-tool"][0][1], kinds)
    write({"rules": RULES, "requireAuthoredPolicy": ["*"]})
    check("and else the default denies", "denied (rule 'default')" in run("--tools")[1]["unnamed-tool"][0][1])
    check("without --tools nothing is said", not {"unnamed-tool", "unknown-tool"} & set(run()[1]))
    check("a file that is no list", run("--tools-file", policy + "x")[0] == 2 and run("--tools-file", f"a={policy}")[0] == 2)
    code, kinds, errors = run("--tools", "--state", os.path.join(folder, "none"))
    check("no server was seen", code == 0 and "no server's tools are known" in errors, code, errors)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
