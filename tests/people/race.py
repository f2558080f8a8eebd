#!/usr/bin/env python3
"""race.py CALLGATE SERVER [--requests N]: many processes answer, withdraw and let time out the same requests at once: each
request has one end, no quorum is met by one identity, no grant is wider than its answers, and journal and store agree.
Ends with 'N passed, N failed'."""
import argparse
import collections
import json
import os
import pwd
import random
import subprocess
import tempfile
import time

options = argparse.ArgumentParser()
options.add_argument("callgate")
options.add_argument("server")
options.add_argument("--requests", type=int, default=64)
options.add_argument("--processes", type=int, default=16)
args = options.parse_args()
CALLGATE, SERVER = os.path.abspath(args.callgate), os.path.abspath(args.server)
passed = failed = 0


def check(what, ok, seen=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"failed: {what}\n    {str(seen)[:1500]}")


def main():
    with tempfile.TemporaryDirectory() as top:
        top = os.path.realpath(top)
        state = top + "/state"
        policy, people = top + "/p.json", top + "/people.json"
        json.dump([{"id": "one", "effect": "require_approval", "match": {"tool": "one"}, "scope": "session"},
                   {"id": "two", "effect": "require_approval", "match": {"tool": "two"}, "approvers": 2}], open(policy, "w"))
        json.dump({"people": [{"name": "self", "user": pwd.getpwuid(os.getuid()).pw_name}] +
                   [{"name": f"p{i}", "bridge": f"p{i}"} for i in range(4)]}, open(people, "w"))
        done = 0
        while done < args.requests:
            done += round_of(top, state, policy, people, done)
        judge(state)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def round_of(top, state, policy, people, number):
    """Sixteen requests of one gate, answered by many processes in every way at once."""
    gate = subprocess.Popen([CALLGATE, "run", "--state", state, "--policy", policy, "--channel", f"c{number}", "--", SERVER],
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for i in range(16):
        call = {"jsonrpc": "2.0", "id": i, "method": "tools/call",
                "params": {"name": random.choice(["one", "two"]), "arguments": {"n": number + i}}}
        gate.stdin.write(json.dumps(call).encode() + b"\n")
    gate.stdin.flush()
    codes = []
    for _ in range(600):
        out = subprocess.run([CALLGATE, "pending", "--format", "json", "--state", state], capture_output=True, text=True).stdout
        codes = [p["code"] for p in json.loads(out or "[]")]
        if len(codes) == 16:
            break
        time.sleep(0.02)
    running = []
    for _ in range(args.processes):
        code = random.choice(codes) if codes else "aaaaa"
        running.append(subprocess.Popen(random.choice([
            [CALLGATE, "approve", random.choice(["--once", "--call"]), code, "--people", people, "--state", state],
            [CALLGATE, "approve", code, "--people", people, "--state", state],
            [CALLGATE, "refuse", code, "--people", people, "--state", state],
            [CALLGATE, "reply", "--as", f"p{random.randrange(4)}", "--people", people, "--state", state, f"y {code}"],
            [CALLGATE, "reply", "--as", f"p{random.randrange(4)}", "--people", people, "--state", state, f"n {code}"],
        ]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    if random.random() < 0.3:
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": random.randrange(16)}}
        gate.stdin.write(json.dumps(cancel).encode() + b"\n")
        gate.stdin.flush()
    for process in running:
        process.wait(timeout=120)
    if random.random() < 0.5:
        gate.kill()
    else:
        gate.stdin.close()
    gate.wait(timeout=60)
    subprocess.run([CALLGATE, "pending", "--state", state], capture_output=True)
    return 16


def judge(state):
    events = [json.loads(line) for line in open(state + "/journal.jsonl")]
    ends, votes, voided = collections.Counter(), collections.defaultdict(list), set()
    kind_of = {}
    for event in events:
        detail = event.get("detail") or {}
        number = detail.get("request")
        if event["kind"] in ("approval.approved", "approval.refused", "approval.timed_out", "approval.withdrawn"):
            ends[number] += 1
            kind_of[number] = event["kind"].split(".")[1]
        if event["kind"] == "approval.vote":
            votes[number].append((detail["by"], detail["answer"]))
        if event["kind"] == "approval.void":
            voided.add(number)
    asked = {e["detail"]["request"] for e in events if e["kind"] == "policy.require" and (e.get("detail") or {}).get("request")}
    check("every request has one end", all(ends[n] == 1 for n in asked - voided), {n: ends[n] for n in asked if ends[n] != 1})
    for number, given in votes.items():
        yes = [by for by, answer in given if answer == "yes"]
        check("each identity counts once", len(yes) == len(set(yes)), (number, given))
    two = {e["detail"]["request"] for e in events if e["kind"] == "policy.require" and e.get("ruleId") == "two"
           and (e.get("detail") or {}).get("request")}
    session_of = {e["detail"]["request"]: e["sessionKey"]["channel"] for e in events
                  if e["kind"] == "policy.require" and (e.get("detail") or {}).get("request")}
    full = {session_of[n] for n in two if len({by for by, answer in votes[n] if answer == "yes"}) >= 2}
    for number in two:
        if kind_of.get(number) == "approved":  # by two people, or by what two people granted in its session
            check("a quorum is two people", session_of[number] in full, (number, votes[number]))
    out = subprocess.run([CALLGATE, "pending", "--format", "json", "--state", state], capture_output=True, text=True).stdout
    check("nothing waits", json.loads(out) == [], out)
    verify = subprocess.run([CALLGATE, "journal", "verify", "--state", state], capture_output=True, text=True)
    check("the chain verifies", verify.returncode == 0, verify.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
