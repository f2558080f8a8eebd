#!/usr/bin/env python3
"""watch.py CALLGATE: the terminal view, driven in tmux: sizes, colours, hostile names, a megabyte, requests that come and
go. Ends with 'N passed, N failed'; told as skipped where tmux is not there."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

CALLGATE = os.path.abspath(sys.argv[1])
passed = failed = 0


def check(what, ok, seen=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"failed: {what}\n{str(seen)[-3000:]}")


class Gate:
    """A gate whose server answers nothing, with requests that wait."""

    def __init__(self, folder, name):
        self.answers = []
        policy = os.path.join(folder, "policy.json")
        with open(policy, "w") as file:
            json.dump([{"id": "ask", "effect": "require_approval", "match": {"tool": "t"}, "scope": "call"},
                       {"id": "ask-named", "effect": "require_approval", "match": {"toolPrefix": "x"}, "scope": "call"}], file)
        self.process = subprocess.Popen(
            [CALLGATE, "run", "--state", folder + "/state", "--policy", policy, "--channel", name, "--", "cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        threading.Thread(target=self.read, daemon=True).start()
        self.number = 0

    def read(self):
        for line in self.process.stdout:
            self.answers.append(line)

    def call(self, tool, arguments):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": "tools/call",
                   "params": {"name": tool, "arguments": arguments}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


class Terminal:
    def __init__(self, folder, columns, rows, term):
        self.socket = os.path.join(folder, f"tmux-{columns}-{term}")
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(rows),
                  f"TERM={term} {CALLGATE} watch --state {folder}/state 2>{folder}/watch.err")

    def tmux(self, *argv):
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *argv], capture_output=True, text=True).stdout

    def screen(self, colours=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def wait(self, text, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if text in self.screen():
                return True
            time.sleep(0.05)
        return False

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def close(self):
        self.tmux("kill-server")


def drive(folder, columns, rows, term):
    gate = Gate(folder, f"c{columns}")
    what = f"{columns}x{rows} {term}: "
    # Before the gate has made it, there is no state to watch.
    check(what + "a gate has started", wait_for(lambda: os.path.exists(os.path.join(folder, "state", "approvals.db"))))
    terminal = Terminal(folder, columns, rows, term)
    check(what + "nothing waits", terminal.wait("Nothing waits."), terminal.screen())
    gate.call("t", {"path": "/a", "old_string": "one\ntwo\n", "new_string": "one\nzwei\n"})
    check(what + "a request comes", terminal.wait("1 waits"), terminal.screen())
    colours = re.search(r"\x1b\[(?:[0-9;]*;)?[34][0-7]m", terminal.screen(True)) is not None
    check(what + "colour only where there is some", colours == (term != "vt100"), repr(terminal.screen(True))[:400])
    terminal.keys("Enter")
    check(what + "an edit is a difference", terminal.wait("+ zwei") and "- two" in terminal.screen(), terminal.screen())
    terminal.keys("o")
    check(what + "an approval is told", terminal.wait("approved"), terminal.screen())
    check(what + "and the call goes on", wait_for(lambda: any(b"zwei" in a for a in gate.answers)), gate.answers)
    gate.call("x\x1b[2J\u202eevil", {"a": "\x1b]0;title\x07", "b": "\u0000"})
    check(what + "a hostile name is spelt out", terminal.wait("\\u{001B}[2J"), terminal.screen())
    terminal.keys("Enter")
    check(what + "and so is what it holds", terminal.wait("\\u{001B}]0;title\\u{0007}"), terminal.screen())
    terminal.keys("r")
    check(what + "a refusal is told", terminal.wait("refused"), terminal.screen())
    check(what + "and nothing waits any more", terminal.wait("Nothing waits."), terminal.screen())
    gate.call("t", {"content": "x" * 1000000 + "PAYLOAD"})
    check(what + "a megabyte comes", terminal.wait("1 waits"), terminal.screen())
    terminal.keys("Enter")
    time.sleep(0.5)
    terminal.keys("G")
    check(what + "its end is there to see", terminal.wait("PAYLOAD"), terminal.screen())
    terminal.tmux("resize-window", "-x", "60", "-y", "20")
    terminal.keys("q")
    check(what + "it is resized", terminal.wait("1 waits"), terminal.screen())
    terminal.keys("r")
    check(what + "and refused", terminal.wait("Nothing waits."), terminal.screen())
    for i in range(20):
        gate.call("t", {"n": i})
    check(what + "at most 16 wait", terminal.wait("16 wait"), terminal.screen())
    terminal.keys("/", '"n":7', "Enter")
    check(what + "a filter", terminal.wait("1 waits"), terminal.screen())
    time.sleep(1.5)  # right after an answer no key answers another request
    terminal.keys("o")
    check(what + "in the list a yes only opens", terminal.wait("this is the whole call"), terminal.screen())
    check(what + "and lets nothing run", not any(b'"n":7' in a for a in gate.answers), gate.answers)
    terminal.keys("q")
    terminal.keys("?")
    check(what + "the keys are told", terminal.wait("approve once"), terminal.screen())
    terminal.keys("j")
    gate.close()
    check(what + "requests of a gate that ended go", terminal.wait("Nothing waits."), terminal.screen())
    terminal.keys("q")
    check(what + "it leaves", wait_for(lambda: terminal.tmux("list-sessions") == ""), terminal.screen())
    terminal.close()


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.05)
    return condition()


def main():
    if shutil.which("tmux") is None:
        print("no tmux here\n0 passed, 0 failed, 1 skipped")
        return 77
    for columns, rows, term in ((80, 24, "vt100"), (200, 60, "xterm-256color"), (80, 24, "xterm-256color")):
        with tempfile.TemporaryDirectory() as folder:
            drive(os.path.realpath(folder), columns, rows, term)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
