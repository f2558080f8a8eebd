#!/usr/bin/env python3
"""outage.py CALLGATE WEBHOOK SECONDS: a webhook that is down for so long while requests come and end. In turn it is not
there, answers 503, takes a notice without saying so, and hangs; its sender is killed, too. What it takes afterwards is each
notice once, in order, and `status` tells of it meanwhile. Ends with 'N passed, N failed'."""
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

CALLGATE, SECONDS = os.path.abspath(sys.argv[1]), float(sys.argv[3])
assert os.path.exists(sys.argv[2]), "the gate starts callgate-webhook beside it"
REQUESTS = 6
passed = failed = 0


def check(what, ok, seen=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"failed: {what}\n    {str(seen)[:2000]}")


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.05)
    return condition()


class Receiver(http.server.BaseHTTPRequestHandler):
    mode = "up"
    taken, unanswered = [], []  # notices as JSON

    def do_POST(self):
        notice = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        check("a notice and its header have one id", self.headers["Callgate-Notice"] == notice["id"], notice["id"])
        if Receiver.mode == "hangs":
            time.sleep(2)
        if Receiver.mode == "lost" or Receiver.mode == "hangs":
            Receiver.unanswered.append(notice)
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        if Receiver.mode == "up":
            Receiver.taken.append(notice)
        self.send_response(200 if Receiver.mode == "up" else 503)
        self.end_headers()

    def log_message(self, *args):
        pass


def serve(port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Gate:
    def __init__(self, folder, state):
        policy = os.path.join(folder, "policy.json")
        with open(policy, "w") as file:
            json.dump([{"id": "ask", "effect": "require_approval", "match": {"tool": "t"}, "scope": "once"}], file)
        self.process = subprocess.Popen([CALLGATE, "run", "--state", state, "--policy", policy, "--", "cat"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.answers = []
        threading.Thread(target=self.read, daemon=True).start()
        self.number = 0

    def read(self):
        for line in self.process.stdout:
            self.answers.append(line)

    def call(self):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": {
            "name": "t", "arguments": {"n": self.number}}}).encode() + b"\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def callgate(*argv):
    return subprocess.run([CALLGATE, *argv], capture_output=True, text=True, timeout=60)


def senders(state):
    """Processes that send this state's notices, by /proc: none other is touched."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
        except OSError:
            continue
        if b"notices" in words and b"send" in words and state.encode() in words:
            found.append(int(pid))
    return found


def kill_senders(state):
    for pid in senders(state):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def ask_and_end(gate, state, answer):
    """One request and its end; gives what the webhook has to hear of it."""
    gate.call()
    waiting = []

    def look():
        waiting[:] = json.loads(callgate("pending", "--state", state, "--format", "json").stdout or "[]")
        return len(waiting) == 1
    if not wait_for(look):
        check("a request waits", False, waiting)
        return
    before = len(gate.answers)
    done = callgate(answer, "--state", state, waiting[0]["code"])
    check("it is answered", done.returncode == 0, done.stderr)
    check("its call goes on, whatever the webhook does", wait_for(lambda: len(gate.answers) > before), gate.answers)


def outage(folder):
    state = os.path.join(folder, "state")
    os.mkdir(state, 0o700)
    key = os.path.join(folder, "key")
    with open(key, "w") as file:
        file.write("0123456789abcdef-secret\n")
    os.chmod(key, 0o600)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = callgate("notices", "add", "webhook", f"http://127.0.0.1:{port}/hook", key, "--state", state)
    check("a webhook is named", done.returncode == 0, done.stderr)
    gate = Gate(folder, state)
    server, end, begun = None, time.monotonic() + SECONDS, 0
    modes = ["gone", "503", "lost", "hangs", "gone", "503"]
    for mode in modes:
        if server is not None and mode == "gone":
            server.shutdown()
            server.server_close()
            server = None
        Receiver.mode = mode
        if mode != "gone" and server is None:
            server = serve(port)
        ask_and_end(gate, state, "refuse" if begun % 2 else "approve")
        begun += 1
        if mode == "hangs":
            check("a sender runs", wait_for(lambda: senders(state)), state)
            kill_senders(state)  # the next notice starts another one
        until = time.monotonic() + max(0.0, (end - time.monotonic()) / (len(modes) - begun + 1))
        time.sleep(max(0.0, until - time.monotonic()))
        if mode != "hangs":
            told = lambda: "a webhook cannot be reached" in callgate("status", "--state", state).stdout
            check(f"status tells that it fails ({mode})", wait_for(told), callgate("status", "--state", state).stdout)
    check("nothing was taken meanwhile", Receiver.taken == [], Receiver.taken)
    Receiver.mode = "up"
    check("all of it arrives afterwards", wait_for(lambda: len(Receiver.taken) >= 2 * REQUESTS, 180), len(Receiver.taken))
    time.sleep(3)  # for what might come twice
    ids = [n["id"] for n in Receiver.taken]
    check("each once", len(ids) == 2 * REQUESTS and len(set(ids)) == len(ids), ids)
    kinds = [n["event"] for n in Receiver.taken]
    check("a request and its end in turn, in order", kinds == ["requested", "ended"] * REQUESTS
          or [k == kinds[0] for k in kinds] == [True, False] * REQUESTS, kinds)
    check("what was taken without a word has the same id when it comes again",
          {n["id"] for n in Receiver.unanswered} <= set(ids), [n["id"] for n in Receiver.unanswered])
    quiet = lambda: "cannot be reached" not in callgate("status", "--state", state).stdout
    check("status tells no more of it", wait_for(quiet), callgate("status", "--state", state).stdout)
    gate.close()
    wait_for(lambda: not senders(state), 5)
    kill_senders(state)
    server.shutdown()


def main():
    with tempfile.TemporaryDirectory() as folder:
        outage(os.path.realpath(folder))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
