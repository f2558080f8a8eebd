#!/usr/bin/env python3
"""Five worked examples, each through the command line.

usage: run.py [--callgate PROGRAM]

A folder an example: `policy.json`, and `tests.jsonl` with calls and the decisions that they get. `callgate test` must pass
and `callgate eval` must print each decision whole. What an example shows besides stands here, in a function of its
folder's number. Ends with the line `N passed, N failed`.
"""
import argparse
import json
import os
import shutil
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
    print(f"failed: {what}", *map(repr, shown), sep="\n    ")


class Callgate:
    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __call__(self, *words, text=""):
        done = subprocess.run([self.path, *words], input=text, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr


def decisions(callgate, folder, aside):
    """Every decision of the table, whole."""
    policy, tests = os.path.join(folder, "policy.json"), os.path.join(folder, "tests.jsonl")
    code, out, err = callgate("test", "--policy", policy, tests)
    check(f"{folder}: callgate test", code == 0 and out.endswith(" passed, 0 failed\n"), out, err)
    with open(tests, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            approvals = os.path.join(aside, "approvals.json")
            with open(approvals, "w", encoding="utf-8") as file:
                json.dump(line.get("approvals", []), file)
            code, out, err = callgate("eval", "--policy", policy, "--approvals", approvals, "--now", str(line.get("now", 0)), "-",
                                      text=json.dumps(line["call"]) + "\n")
            check(f"{folder}: {line['name']}", code == 0 and json.loads(out) == line["want"], line["want"], out, err)


def example_1(callgate, folder, aside):
    check("1: a small policy has no warnings", callgate("check", "--strict", "--policy", folder + "/policy.json")[0] == 0)


def example_2(callgate, folder, aside):
    """A link in the folder leads out of it as well as `..` does."""
    safe, etc = os.path.join(aside, "safe"), os.path.join(aside, "etc")
    os.mkdir(safe), os.mkdir(etc)
    os.symlink("../etc", os.path.join(safe, "link"))
    with open(folder + "/policy.json", encoding="utf-8") as file:
        text = file.read().replace('"/etc"', json.dumps(etc)).replace('"/safe"', json.dumps(safe))
    policy = os.path.join(aside, "policy.json")
    with open(policy, "w", encoding="utf-8") as file:
        file.write(text)
    call = {"tool": "upload_file", "input": {"path": safe + "/link/passwd"}}
    code, out, _ = callgate("eval", "--policy", policy, "-", text=json.dumps(call) + "\n")
    check("2: a link leads out", code == 0 and json.loads(out)["rule"] == "never-etc", out)
    code, out, _ = callgate("explain", "--policy", policy, "-", text=json.dumps(call) + "\n")
    check("2: explain shows where it leads", code == 0 and etc + "/passwd" in out, out)


def example_3(callgate, folder, aside):
    code, out, _ = callgate("explain", "--policy", folder + "/policy.json", "-",
                            text='{"tool": "reply", "sessionKey": {"channel": "C_OTHER", "thread": "1.1"}}\n')
    check("3: explain names the field that failed, with both values",
          code == 0 and "channel" in out and "C_INCIDENTS" in out and "C_OTHER" in out, out)


SHADOW = "rule 'no-etc' (line 3) is shadowed by earlier rule 'all-uploads' (line 2) \u2014 reorder or narrow the earlier rule."


def example_4(callgate, folder, aside):
    policy, mended = folder + "/policy.json", folder + "/mended.json"
    code, out, _ = callgate("check", "--policy", policy)
    check("4: a warning, no error", code == 0 and f"{policy}:3:3: warning: {SHADOW}\n" in out, out)
    check("4: --strict makes it one", callgate("check", "--strict", "--policy", policy)[0] == 1)
    code, out, _ = callgate("check", "--format", "json", "--policy", policy)
    warnings = [each for each in json.loads(out)["warnings"] if each["kind"] == "shadow"]
    check("4: for programs", code == 0 and len(warnings) == 1 and
          [warnings[0][key] for key in ("later", "earlier", "crossTier", "message")] == ["no-etc", "all-uploads", False, SHADOW], out)
    check("4: the other order has none", callgate("check", "--strict", "--policy", mended)[0] == 0)
    call = '{"tool": "upload_file", "input": {"path": "/etc/environment"}}\n'
    code, out, _ = callgate("eval", "--policy", mended, "-", text=call)
    check("4: and denies", json.loads(out) == {"kind": "deny", "rule": "no-etc", "reason": "secrets"}, out)


WEAKENS = "new auto_approve rule 'pdf-uploads' weakens existing deny 'no-uploads'"
VIOLATION = WEAKENS + " \u2014 reload refused"


class Relay:
    """A running gate, asked for verdicts as Claude Code asks."""

    def __init__(self, callgate, policy, state):
        self.process = subprocess.Popen([callgate.path, "relay", "--policy", policy, "--state", state], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def verdict(self, request):
        self.process.stdin.write(json.dumps({
            "jsonrpc": "2.0", "method": "notifications/claude/channel/permission_request",
            "params": {"request_id": request, "tool_name": "upload_file", "description": "", "input_preview": "{}"}}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["params"]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.wait(timeout=30)


def example_5(callgate, folder, aside):
    old, new, without, later = (f"{folder}/{name}.json" for name in ("policy", "next", "without", "later"))
    code, out, _ = callgate("diff", "--format", "json", old, new)
    check("5: diff tells what a reload would refuse", code == 1 and json.loads(out)["violations"] ==
          [{"newRule": "pdf-uploads", "existingDeny": "no-uploads", "message": VIOLATION}], out)
    code, out, _ = callgate("diff", "--format", "json", "--fail-on", "violation", old, without)
    check("5: a deny that is removed is none: whoever removes it knows", code == 0 and json.loads(out)["violations"] == [], out)
    policy, state = os.path.join(aside, "policy.json"), os.path.join(aside, "state")
    shutil.copy(old, policy)
    relay = Relay(callgate, policy, state)
    try:
        check("5: the running gate denies", relay.verdict("abcde") == {"request_id": "abcde", "behavior": "deny"})
        shutil.copy(new, policy)
        code, out, err = callgate("reload", "--state", state)
        check("5: the reload is refused", code == 1 and WEAKENS in out, code, out, err)
        check("5: and the running policy stays", relay.verdict("bcdef") == {"request_id": "bcdef", "behavior": "deny"})
        code, out, _ = callgate("status", "--state", state)
        check("5: status keeps it for review", code == 0 and WEAKENS in out, out)
        shutil.copy(later, policy)
        check("5: without the deny, but in one step, it is refused too", callgate("reload", "--state", state)[0] == 1)
        for step in (without, later):
            shutil.copy(step, policy)
            code, out, err = callgate("reload", "--state", state)
            check("5: the deny removed first, then the new rule: adopted", code == 0, code, out, err)
    finally:
        relay.close()
    code, out, err = callgate("journal", "verify", state + "/journal.jsonl")
    check("5: the journal verifies", code == 0, out, err)


def main():
    parser = argparse.ArgumentParser(description="runs the worked examples")
    parser.add_argument("--callgate", default="build/callgate")
    callgate = Callgate(parser.parse_args().callgate)
    folders = sorted(name for name in os.listdir(HERE) if name[0].isdigit())
    for name in folders:
        with tempfile.TemporaryDirectory(prefix="example-") as aside:
            aside, folder = os.path.realpath(aside), os.path.join(HERE, name)
            decisions(callgate, folder, aside)
            globals()["example_" + name[0]](callgate, folder, aside)
            for document in sorted(os.listdir(folder)):
                if document.endswith(".json"):
                    check(f"{document} is laid out", callgate("fmt", "--check", os.path.join(folder, document))[0] == 0)
    check("there are five", len(folders) == 5)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
