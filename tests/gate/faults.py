#!/usr/bin/env python3
"""faults.py CALLGATE MCP_SERVER FAIL_MODULE: where a gate's stores, messages and entries could fall apart."""
import json
import os
import sqlite3
import subprocess
import time

from support import CALLGATE, FAIL, Folder, Gate, check, finish, pending, run, wait_for

DENY = {"id": "no", "effect": "deny", "match": {"tool": "rm"}, "reason": "gone is gone"}
ASK = {"id": "ask", "effect": "require_approval", "match": {"tool": "cp"}}
# A sanitizer's own library must come first, or it refuses to run.
LOADED = subprocess.run(["ldd", CALLGATE], capture_output=True, text=True).stdout.split()
PRELOAD = ":".join([w for w in LOADED if w.startswith("/") and "/libasan." in w] + [FAIL])
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n"


def test_vote_that_does_not_count_is_voided():
    with Folder() as f:
        gate = Gate(f, "--policy", f.write("p.json", [ASK]))
        gate.send("cp")
        code = wait_for("a request", lambda: pending(f))[0]["code"]
        done = run("approve", code, "--state", f.state, code=2, env={"LD_PRELOAD": PRELOAD, "CALLGATE_TEST_FLUSH": "2"},
                   what="the store's commit fails")
        check("and says so", "does not count" in done.stderr, done.stderr)
        kinds = [e["kind"] for e in f.events() if e["kind"].startswith("approval.")]
        check("the journal takes it back", kinds == ["approval.vote", "approval.approved", "approval.void"], kinds)
        void = f.events("approval.void")[0]["detail"]
        check("with request and why", void["code"] == code and void["request"] == 1 and "store" in void["why"], void)
        check("it waits still", [p["given"] for p in pending(f)] == [0])
        run("approve", code, "--state", f.state, code=0)
        check("and can be approved", gate.answer() == "ran")
        gate.close()
        run("journal", "verify", os.path.join(f.state, "journal.jsonl"), code=0)


def test_policy_from_a_pipe():
    with Folder() as f:
        command = f"{CALLGATE} run --state {f.state} --no-weakening --policy <(cat {f.write('p.json', [DENY])}) -- cat"
        done = subprocess.run(["bash", "-c", command], input=PING, capture_output=True, text=True, timeout=30)
        check("a policy from a pipe starts with --no-weakening", done.returncode == 0 and PING.strip() in done.stdout,
              (done.returncode, done.stdout, done.stderr))


def test_all_errors_of_a_refused_reload():
    with Folder() as f:
        gate = Gate(f, "--policy", f.write("p.json", [DENY]))
        gate.call("ls")
        f.write("p.json", [{"id": f"r{i}", "effect": "nope", "match": {"tool": f"t{i}"}} for i in range(200)])
        done = run("reload", "--state", f.state, code=1)
        check("reload lists all of them", done.stdout.count("one of 'auto_approve'") == 200, done.stdout)
        said = gate.close()
        check("so does the gate", said.count("one of 'auto_approve'") == 200, said[-500:])
        refused = f.events("policy.reload_refused")[0]["detail"]
        check("the journal says how many more", len(refused["errors"]) == 100 and refused["moreErrors"] == 100,
              (len(refused["errors"]), refused.get("moreErrors")))


def test_messages_are_never_empty():
    with Folder() as f:
        long = "/tmp/" + "a" * 4090
        done = run("pending", "--state", long)
        check("a long name is cut with a mark", done.returncode != 0 and "aaaa" in done.stderr, done.stderr[:100])
        Gate(f, "--policy", f.write("p.json", [DENY])).close()  # makes the store
        with sqlite3.connect(os.path.join(f.state, "approvals.db")) as db:
            db.execute("PRAGMA user_version = -1")
        db.close()
        done = run("pending", "--state", f.state, code=2)
        check("a store of no version says what it is", "another version" in done.stderr or "damaged" in done.stderr,
              done.stderr)


def test_an_entry_is_never_taken_for_a_dead_one():
    with Folder() as f:
        policy = f.write("p.json", [DENY])
        for late in ("1", "2", "3"):  # whichever of its locks is that of the entry
            gate = Gate(f, "--policy", policy, env={"LD_PRELOAD": PRELOAD, "CALLGATE_TEST_LATE_LOCK": late})
            until = time.monotonic() + 1.0
            while time.monotonic() < until:
                run("status", "--state", f.state)
            status = json.loads(run("status", "--format", "json", "--state", f.state).stdout)
            check("a gate that starts slowly is in status", len(status["gates"]) == 1, (late, status["gates"]))
            gate.close()


for test in [value for name, value in sorted(globals().items()) if name.startswith("test_")]:
    test()
finish()
