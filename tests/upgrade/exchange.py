#!/usr/bin/env python3
"""exchange.py CALLGATE MCP_SERVER FAIL_MODULE: the program's file is exchanged, again and again, while gates, hooks and a
broker that were started from it are at work: everything goes on, and what starts then is the new file."""
import json
import os
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gate"))
from support import CALLGATE, SERVER, Folder, check, finish, run, wait_for  # noqa: E402
import support  # noqa: E402

POLICY = [{"id": "no", "effect": "deny", "match": {"tool": "rm"}, "reason": "gone is gone"},
          {"id": "ask", "effect": "require_approval", "match": {"tool": "cp"}},
          {"id": "ls", "effect": "auto_approve", "match": {"tool": "ls"}}]
HELPERS = ("callgate-confine", "callgate-slack", "callgate-watch", "callgate-webhook")


class Work(threading.Thread):
    def __init__(self, step):
        super().__init__()
        self.step, self.ends, self.wrong, self.count = step, False, [], 0

    def run(self):
        while not self.ends:
            for tool, runs in (("ls", True), ("rm", False)):
                got = self.step(tool)
                if (got in ("ran", "none")) != runs:
                    self.wrong.append((tool, got))
                self.count += 1

    def finish(self):
        self.ends = True
        self.join(timeout=60)
        return self.count


class Place:
    """A place of installation: bin/callgate, libexec/callgate/…"""

    def __init__(self, folder):
        self.bin = os.path.join(folder.path, "bin")
        self.libexec = os.path.join(folder.path, "libexec/callgate")
        os.makedirs(self.bin)
        os.makedirs(self.libexec)
        self.program = os.path.join(self.bin, "callgate")
        self.helpers = [name for name in HELPERS if os.path.exists(os.path.join(os.path.dirname(CALLGATE), name))]
        self.count = 0
        self.exchange()

    def put(self, source, path):
        beside = f"{path}.new"
        shutil.copy(source, beside)
        with open(beside, "ab") as file:
            file.write(b"\0" * self.count)  # another file, of the same program
        os.rename(beside, path)

    def exchange(self):
        self.count += 1
        self.put(CALLGATE, self.program)
        for name in self.helpers:
            self.put(os.path.join(os.path.dirname(CALLGATE), name), os.path.join(self.libexec, name))


def is_current(pid, place):
    """Whether a process runs the file that has the program's name now. Its link can be followed by root, or where the
    process may be traced; else None."""
    try:
        return os.stat(f"/proc/{pid}/exe").st_ino == os.stat(place.program).st_ino
    except OSError:
        return None


def main():
    with Folder() as f:
        place = Place(f)
        policy = f.write("p.json", POLICY)
        support.CALLGATE = place.program
        broker_state = os.path.join(f.path, "broker")
        socket = os.path.join(f.path, "s")

        def hook(*argv):
            def step(tool):
                done = subprocess.run([place.program, "hook", "claude-code", *argv], text=True, capture_output=True, timeout=60,
                                      input=json.dumps({"hook_event_name": "PreToolUse", "session_id": "x", "cwd": f.path,
                                                        "tool_name": tool, "tool_input": {"n": 1}}))
                return "deny" if '"deny"' in done.stdout else "none" if (done.stdout, done.stderr, done.returncode) == ("", "", 0) else done
            return step

        def serve():
            return subprocess.Popen([place.program, "serve", "--policy", policy, "--state", broker_state, "--gate", socket, "--quiet"])

        broker = serve()
        wait_for("the broker", lambda: os.path.exists(socket))
        plain = support.Gate(f, "--policy", policy)
        asking = support.Gate(f, "--policy", policy, thread="ASK")
        client = subprocess.Popen([place.program, "run", "--gate", socket, "--state", broker_state, "--", SERVER],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        remote = support.Gate.__new__(support.Gate)
        remote.process, remote.id = client, 0
        works = [Work(plain.call), Work(remote.call), Work(hook("--policy", policy, "--state", f.state)),
                 Work(hook("--gate", socket, "--state", broker_state))]
        for work in works:
            work.start()
        for i in range(12):
            time.sleep(0.25)
            place.exchange()
            # A call that is held by the old file's gate is answered by the new file's program.
            asking.send("cp", {"n": i})
            code = wait_for("a request", lambda: support.pending(f))
            run("approve" if i else "refuse", code[0]["code"], "--state", f.state, code=0) if i == 0 else \
                run("approve", code[0]["code"], "--once", "--state", f.state, code=0)
            check("a held call is answered", (asking.answer() == "ran") == (i != 0))
            for name in place.helpers:
                words = {"callgate-slack": ["slack", "check"], "callgate-watch": ["watch", "--state", f.state]}.get(name)
                if words is not None:
                    done = run(*words, stdin="")
                    check(f"{name} is found beside the file that is there now", "cannot be started" not in done.stderr, done)
            status = run("status", "--state", f.state, code=0, what="status of gates of the old file").stdout
            check("both gates are in it", status.count("  run  ") == 2, status)
        for pid in (plain.process.pid, broker.pid):
            check("what runs is the old file's", is_current(pid, place) is not True)
        for work in works:
            work.ends = True
        counts = [work.finish() for work in works]
        check("calls were decided throughout", not any(w.wrong for w in works) and min(counts) > 10,
              ([w.wrong[:3] for w in works], counts))
        run("reload", "--state", f.state, code=0, what="gates of the old file load their policies")

        # The broker is started again, from the file that is there now: its clients of before go on with it.
        broker.terminate()
        broker.wait(timeout=20)
        broker = serve()
        wait_for("a call of a client of before", lambda: remote.call("ls") == "ran")
        check("its answers are those of before", remote.call("rm") != "ran")
        check("the broker is the new file's", is_current(broker.pid, place) is not False)
        for gate in (plain, asking):
            gate.close()
        client.stdin.close()
        client.wait(timeout=30)
        client.stdout.close()
        broker.terminate()
        broker.wait(timeout=20)
        for state in (f.state, broker_state):
            run("journal", "verify", "--state", state, code=0, what="the chain verifies, nothing is missing")


main()
finish()
