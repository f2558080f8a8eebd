#!/usr/bin/env python3
"""upgrade.py CALLGATE MCP_SERVER FAIL_MODULE [OLD]: a state directory of the first release, taken over under load.

OLD is the first release's program; without it commit a3a5b58 is built from the history, once, beside CALLGATE."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gate"))
from support import CALLGATE, SERVER, Folder, Gate, check, finish, pending, run, wait_for  # noqa: E402

FIRST = "a3a5b58"
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EVENTS = 10_000
POLICY = [{"id": "ls", "effect": "auto_approve", "match": {"tool": "ls"}},
          {"id": "rm", "effect": "deny", "match": {"tool": "rm"}, "reason": "gone is gone"},
          {"id": "ask", "effect": "require_approval", "match": {"tool": "cp"}, "ttlMs": 3_600_000},
          {"id": "ask-call", "effect": "require_approval", "match": {"tool": "mv"}, "scope": "call", "ttlMs": 3_600_000},
          {"id": "late", "effect": "require_approval", "match": {"tool": "ln"}},
          {"id": "changes", "effect": "require_approval", "match": {"tool": "dd"}, "ttlMs": 3_600_000}]


def old_program():
    if len(sys.argv) > 4:
        return os.path.abspath(sys.argv[4])
    folder = os.path.join(os.path.dirname(CALLGATE), "first-release")
    program = os.path.join(folder, "build", "callgate")
    if not os.path.exists(program):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        archive = subprocess.run(["git", "-C", TOP, "archive", FIRST], capture_output=True)
        if archive.returncode != 0:
            print("the history is not here: not run")
            sys.exit(77)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        for command in (["meson", "setup", "-Dwerror=false", "build"], ["ninja", "-C", "build", "callgate"]):
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return program


class OldGate(Gate):
    def __init__(self, folder, program, policy, thread):
        self.process = subprocess.Popen(
            [program, "run", "--state", folder.state, "--channel", "C", "--thread", thread, "--policy", policy, "--",
             SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.id = 0


def approve(program, folder):
    code = wait_for("a request", lambda: json.loads(subprocess.run(
        [program, "pending", "--format", "json", "--state", folder.state], capture_output=True, text=True).stdout))
    subprocess.run([program, "approve", code[-1]["code"], "--state", folder.state], check=True, capture_output=True)


class Load(threading.Thread):
    """Calls, one after the other, as long as it lives: what is allowed runs, what is denied does not."""

    def __init__(self, gate):
        super().__init__()
        self.gate, self.ends, self.wrong, self.count = gate, False, [], 0

    def run(self):
        while not self.ends:
            for tool, runs in (("ls", True), ("rm", False)):
                if (self.gate.call(tool) == "ran") != runs:
                    self.wrong.append(tool)
                self.count += 1

    def finish(self):
        self.ends = True
        self.join(timeout=30)
        return self.count


def first_release_state(folder, program, policy):
    gate = OldGate(folder, program, policy, "T")
    for _ in range(EVENTS // 100):
        for _ in range(100):
            gate.send("ls", {"n": gate.id})
        for _ in range(100):
            gate.answer()
    for tool in ("cp", "mv", "dd"):
        gate.send(tool, {"n": 1})
        approve(program, folder)
        check(f"{tool} runs in the first release", gate.answer() == "ran")
    gate.send("cp", {"n": 2})
    check("a grant of the session", gate.answer() == "ran")
    return gate


def hook_of_the_first_release(folder, program, policy):
    """What the first release put into settings is renewed, and taken out again to the byte."""
    settings = folder.write("settings.json", '{\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]}\n}\n')
    before = open(settings, "rb").read()
    words = ["hook", "install", "claude-code", "--settings", settings, "--policy", policy, "--state", folder.state, "--home", folder.path]
    done = subprocess.run([program, *words], capture_output=True, text=True)
    check("the first release installs its hook", done.returncode == 0 and program in open(settings).read(), done)
    done = run(*words, code=0, what="the new one installs it again")
    check("and says what it replaced", "replaced the older hook" in done.stdout and program in done.stdout, done.stdout)
    check("nothing of the older is left", program not in open(settings).read(), open(settings).read())
    once = open(settings, "rb").read()
    done = run(*words, code=0)
    check("twice is once", open(settings, "rb").read() == once and "as it is" in done.stdout, done.stdout)
    run("hook", "uninstall", "claude-code", "--settings", settings, "--state", folder.state, "--home", folder.path, code=0)
    check("taken out, the settings are those of before", open(settings, "rb").read() == before)


def main():
    program = old_program()
    with Folder() as f:
        policy = f.write("p.json", POLICY)
        old = first_release_state(f, program, policy)
        held = OldGate(f, program, policy, "HELD")
        held.send("ln", {"n": 1})
        wait_for("a request that waits", lambda: json.loads(subprocess.run(
            [program, "pending", "--format", "json", "--state", f.state], capture_output=True, text=True).stdout))
        load = Load(old)
        load.start()
        time.sleep(0.3)

        hook_of_the_first_release(f, program, policy)

        # The new program comes, with a policy in which one rule has changed.
        changed = [dict(r, ttlMs=1_800_000) if r["id"] == "changes" else r for r in POLICY]
        new = Gate(f, "--policy", f.write("new.json", changed))
        check("the new gate judges", new.call("ls") == "ran" and new.call("rm") != "ran")
        second = Load(Gate(f, "--policy", policy, thread="OTHER"))
        second.start()
        waiting = pending(f)
        check("the request of the first release waits still", [p["tool"] for p in waiting] == ["ln"], waiting)
        check("a grant of the session lets calls run", new.call("cp", {"n": 7}) == "ran")
        check("a grant of one call lets that call run", new.call("mv", {"n": 1}) == "ran")
        new.send("mv", {"n": 2})
        wait_for("and no other", lambda: "mv" in [p["tool"] for p in pending(f)])
        live = json.loads(run("approvals", "--format", "json", "--state", f.state, code=0).stdout)
        check("the grants are there", sorted((g["rule"], g["scope"]) for g in live) ==
              [("ask", "session"), ("ask-call", "call"), ("changes", "session")], live)
        run("approve", waiting[0]["code"], "--state", f.state, code=0)
        counts = [load.finish(), second.finish()]
        check("calls were decided throughout", load.wrong == [] and second.wrong == [] and min(counts) > 10,
              (load.wrong[:3], second.wrong[:3], counts))
        check("a running gate of the first release denies what it cannot ask any more or waits",
              old.process.poll() is None)

        done = subprocess.run([program, "pending", "--state", f.state], capture_output=True, text=True)
        check("the way back is refused with a message", done.returncode == 2 and "another version" in done.stderr,
              (done.returncode, done.stdout, done.stderr))
        said = new.close()
        check("what no longer counts is told", "changes" in said and "no longer" in said, said)
        old.close()
        held.process.kill()
        held.close()
        second.gate.close()
        run("journal", "verify", os.path.join(f.state, "journal.jsonl"), code=0, what="the chain verifies")
        done = subprocess.run([program, "journal", "verify", os.path.join(f.state, "journal.jsonl")],
                              capture_output=True, text=True)
        check("by the first release, too", done.returncode == 0, done.stderr)
        events = f.events("policy.allow")
        check("no event is lost", len(events) >= EVENTS + sum(counts) // 2, (len(events), counts))
        with sqlite3.connect(os.path.join(f.state, "approvals.db")) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            check("the store is of this version, and whole",
                  version > 1 and db.execute("PRAGMA integrity_check").fetchone()[0] == "ok", version)
        db.close()


main()
finish()
