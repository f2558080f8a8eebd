#!/usr/bin/env python3
"""sigkill.py CALLGATE MCP_SERVER FAIL_MODULE [KILLS]: the broker is killed at random moments, again and again, while gates,
hooks and a person are at work. Every call is denied or decided; what ran stands in the journal as allowed; nothing that
the policy denies has run, and nothing that waits for people without their answer."""
import json
import os
import random
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gate"))
from support import CALLGATE, Folder, Gate, check, finish, run, wait_for  # noqa: E402

KILLS = int(sys.argv[4]) if len(sys.argv) > 4 else 12
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else 20261201
POLICY = [{"id": "no", "effect": "deny", "match": {"tool": "rm"}, "reason": "gone is gone"},
          {"id": "ask", "effect": "require_approval", "match": {"tool": "cp"}, "scope": "call"},
          {"id": "ls", "effect": "auto_approve", "match": {"tool": "ls"}}]


class Work(threading.Thread):
    """Calls one after the other, each with a text of its own. `ran`: which ones were let through, by tool."""

    def __init__(self, name, tools, step):
        super().__init__()
        self.called, self.tools, self.step = name, tools, step
        self.ends, self.ran, self.count, self.trouble = False, {}, 0, []

    def run(self):
        try:
            while not self.ends:
                for tool in self.tools:
                    text = f"{self.called}-{self.count}"
                    self.count += 1
                    if self.step(tool, {"n": text}):
                        self.ran.setdefault(tool, set()).add(text)
        except Exception as error:  # noqa: BLE001: told at the end
            self.trouble.append(repr(error))

    def finish(self):
        self.ends = True
        self.join(timeout=90)
        return not self.is_alive()


class Person(threading.Thread):
    """Answers what waits: yes to two of three."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.ends, self.answered = folder, False, 0

    def run(self):
        while not self.ends:
            done = subprocess.run([CALLGATE, "pending", "--format", "json", "--state", self.folder.state], capture_output=True, text=True)
            for request in json.loads(done.stdout or "[]"):
                self.answered += 1
                subprocess.run([CALLGATE, "approve" if self.answered % 3 else "refuse", request["code"], "--state", self.folder.state],
                               capture_output=True)
            time.sleep(0.03)


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


class Broker:
    def __init__(self, folder):
        self.folder, self.socket, self.policy = folder, os.path.join(folder.path, "s"), folder.write("p.json", POLICY)
        self.started = []
        self.start()

    def answers(self):
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(self.socket)
                return True
            except OSError:
                return False

    def start(self):
        """Starts one, unless a client was quicker: either has the same policy."""
        process = subprocess.Popen([CALLGATE, "serve", "--policy", self.policy, "--state", self.folder.state, "--gate", self.socket,
                                    "--quiet"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.started.append(process)
        return wait_for("the broker", self.answers, 60)

    def pid(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.socket)
            return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def kill(self, number=signal.SIGKILL):
        """Ends the one that listens now. False: there was none."""
        try:
            pid = self.pid()
            os.kill(pid, number)
        except OSError:
            return False
        return bool(wait_for("its end", lambda: not lives(pid), 30))

    def finish(self):
        self.kill(signal.SIGTERM)
        for process in self.started:
            process.wait(timeout=60)


def hook(folder, broker):
    def step(tool, arguments):
        message = {"hook_event_name": "PreToolUse", "session_id": "x", "cwd": folder.path, "tool_name": tool, "tool_input": arguments}
        done = subprocess.run([CALLGATE, "hook", "claude-code", "--gate", broker.socket, "--state", folder.state], timeout=60,
                              input=json.dumps(message), capture_output=True, text=True)
        if done.returncode == 0 and done.stdout == "":
            return True
        assert '"deny"' in done.stdout or '"ask"' in done.stdout, done
        return False
    return step


def main():
    generator = random.Random(SEED)
    with Folder() as f:
        broker = Broker(f)
        # Whoever comes first starts the next broker: this test, or a client.
        gates = [Gate(f, "--gate", broker.socket, "--hold-for", "2", thread=str(i)) for i in range(3)]
        check("each gate is there before the first kill", [g.call("ls", {"n": "first"}) for g in gates] == ["ran"] * 3)
        works = [Work(f"gate{i}", ("ls", "rm"), lambda tool, n, g=g: g.call(tool, n) == "ran") for i, g in enumerate(gates[:2])]
        works.append(Work("asks", ("cp",), lambda tool, n: gates[2].call(tool, n) == "ran"))
        works += [Work(f"hook{i}", ("ls", "rm"), hook(f, broker)) for i in range(2)]
        person = Person(f)
        for work in [*works, person]:
            work.start()
        restarted = killed = 0
        for i in range(KILLS):
            time.sleep(generator.uniform(0.02, 0.35))
            killed += broker.kill()
            time.sleep(generator.choice((0, 0, 0.05, 0.3)))
            restarted += bool(broker.start() if generator.random() < 0.5 else wait_for("a broker of a client's", broker.answers, 60))
            if i % 25 == 24:
                run("journal", "verify", "--state", f.state, code=0, what=f"the chain verifies after {i + 1} kills")
        check("the broker was killed and came back each time", (killed, restarted) == (KILLS, KILLS), (killed, restarted))
        before = [work.count for work in works]
        wait_for("each to go on", lambda: all(work.count > was + 1 for work, was in zip(works, before)), 60)
        check("work goes on after the last", all(work.count > was for work, was in zip(works, before)), (before, [w.count for w in works]))
        check("every call was answered", all([work.finish() for work in works]) and not any(w.trouble for w in works),
              [w.trouble for w in works])
        person.ends = True
        person.join(timeout=60)
        for gate in gates:
            gate.close()
        broker.finish()
        wait_for("its end", lambda: not broker.answers())

        allowed, answered = {}, 0
        for event in f.events():
            if event["kind"] == "policy.allow":
                allowed.setdefault(event["toolName"], set()).add(event.get("input", {}).get("n"))
            answered += event["kind"] == "approval.approved"
        ran = {tool: set().union(*(work.ran.get(tool, set()) for work in works)) for tool in ("ls", "rm", "cp")}
        check("nothing that is denied has run", ran["rm"] == set(), sorted(ran["rm"])[:5])
        for tool in ("ls", "cp"):
            check(f"each {tool} that ran is in the journal as allowed", ran[tool] <= allowed.get(tool, set()),
                  sorted(ran[tool] - allowed.get(tool, set()))[:5])
        check("no more ran for people than they approved", len(ran["cp"]) <= answered, (len(ran["cp"]), answered))
        check("calls ran", len(ran["ls"]) > KILLS, len(ran["ls"]))
        run("journal", "verify", "--state", f.state, code=0, what="the chain verifies, nothing that was written is missing")
        with sqlite3.connect(os.path.join(f.state, "approvals.db")) as db:
            check("the store is whole", db.execute("PRAGMA integrity_check").fetchone()[0] == "ok")
            waiting = db.execute("SELECT count(*) FROM request WHERE state = 0").fetchone()[0]
        db.close()
        run("pending", "--state", f.state, code=0)
        with sqlite3.connect(os.path.join(f.state, "approvals.db")) as db:
            check("nothing waits for nobody", db.execute("SELECT count(*) FROM request WHERE state = 0").fetchone()[0] == 0, waiting)
        db.close()
        print(f"{KILLS} kills; {sum(w.count for w in works)} calls, {len(ran['ls'])} ran, {len(ran['cp'])} after an approval")


main()
finish()
