#!/usr/bin/env python3
"""notices.py CALLGATE [WEBHOOK]: who is told that a request waits: what arrives, how often, and what a target that
hangs, forks, shouts or is not there can do. Ends with 'N passed, N failed'."""
import hashlib
import hmac
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

CALLGATE = os.path.abspath(sys.argv[1])
WEBHOOK = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
passed = failed = 0


def check(what, ok, seen=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"failed: {what}\n    {str(seen)[:2000]}")


def run(*argv, code=0):
    done = subprocess.run([CALLGATE, *argv], capture_output=True, text=True, timeout=60)
    check(f"{' '.join(argv[:3])} exits {code}", done.returncode == code, (done.returncode, done.stdout, done.stderr))
    return done.stdout


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def is_gone(pid):
    """Whether a process has ended, also when nobody has fetched its status yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (OSError, IndexError):
        return True


class State:
    def __enter__(self):
        self.held = tempfile.TemporaryDirectory()
        self.dir = os.path.realpath(self.held.name)
        self.state = os.path.join(self.dir, "state")
        return self

    def __exit__(self, *args):
        time.sleep(0.1)
        self.signal(signal.SIGKILL)
        wait_for(lambda: not self.senders(), 20)
        self.held.cleanup()

    def senders(self):
        """The processes that send this state's notices."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[1:3] == [b"notices", b"send"] and self.state.encode() in words:
                found.append(int(pid))
        return found

    def signal(self, number):
        for pid in self.senders():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def script(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return path

    def lines(self, name):
        path = os.path.join(self.dir, name)
        return open(path).read().splitlines() if os.path.exists(path) else []

    def waiting(self):
        box = os.path.join(self.state, "outbox")
        return [n for n in os.listdir(box) if n[0] != "." and n[-2:] in ("-n", "-w")] if os.path.isdir(box) else []


def test_targets():
    with State() as s:
        out = run("notices", "--state", s.state)
        check("nobody is told at first", "Nobody is told" in out, out)
        program = s.script("tell", "cat >/dev/null\n")
        run("notices", "add", "command", program, "one", "two", "--state", s.state)
        run("notices", "add", "desktop", "--state", s.state)
        run("notices", "add", "bell", "/dev/pts/99", "--state", s.state)
        run("notices", "add", "webhook", "http://mail.example/x", program, "--state", s.state, code=2)
        run("notices", "add", "command", "/no/such/program", "--state", s.state, code=2)
        run("notices", "add", "smoke", "--state", s.state, code=2)
        out = run("notices", "--state", s.state)
        check("three targets", [line[:2] for line in out.splitlines()] == ["1 ", "2 ", "3 "], out)
        run("notices", "remove", "4", "--state", s.state, code=1)
        run("notices", "remove", "2", "--state", s.state)
        out = run("notices", "list", "--state", s.state)
        check("two are left", "desktop" not in out and "bell" in out, out)
        check("the file is the user's alone", os.stat(os.path.join(s.state, "notices.json")).st_mode & 0o77 == 0)


def test_command():
    with State() as s:
        program = s.script("tell", f'cat >>{s.dir}/got; echo "$1 $(pwd)" >>{s.dir}/args\n')
        run("notices", "add", "command", program, "a b; touch /tmp/never", "--state", s.state)
        run("notices", "test", "--state", s.state)
        check("it arrives", wait_for(lambda: len(s.lines("args")) == 1), s.lines("got"))
        notice = json.loads("".join(s.lines("got")))
        check("it is the notice", notice["event"] == "test" and notice["id"].startswith("test-"), notice)
        check("words are words", s.lines("args")[0].startswith("a b; touch /tmp/never "), s.lines("args"))
        # Held still while they come: on a slow machine they would come no faster than it sends them.
        run("notices", "test", "--state", s.state)
        check("a sender runs", wait_for(s.senders), s.waiting())
        s.signal(signal.SIGSTOP)
        for _ in range(30):
            run("notices", "test", "--state", s.state)
        s.signal(signal.SIGCONT)

        def told():
            got = [json.loads(line) for line in s.lines("got") if line.endswith("}")]
            return any(n.get("dropped", 0) > 0 for n in got)
        check("what was dropped is told", wait_for(told), s.lines("got"))
        check("at most eight wait", len(s.waiting()) <= 8, s.waiting())


def test_bad_commands():
    with State() as s:
        run("notices", "add", "command", s.script("hang", f"echo $$ >>{s.dir}/hang.out\nexec sleep 1000\n"), "--state", s.state)
        run("notices", "add", "command", s.script("shout", f"yes | head -c 10000000\necho done >>{s.dir}/shout.out\n"),
            "--state", s.state)
        run("notices", "add", "command", s.script("fork", f"sleep 500 & sleep 500 & echo $! >>{s.dir}/fork.out\n"),
            "--state", s.state)
        run("notices", "add", "command", s.script("good", f"cat >>{s.dir}/good.out\n"), "--state", s.state)
        run("notices", "test", "--state", s.state)
        check("a command that hangs holds up nobody", wait_for(lambda: len(s.lines("good.out")) == 1), s.waiting())
        check("one that prints ends", wait_for(lambda: s.lines("shout.out") == ["done"]))
        check("what a command leaves behind ends with it",
              wait_for(lambda: s.lines("fork.out") and is_gone(s.lines("fork.out")[0])), s.lines("fork.out"))
        wait_for(lambda: s.lines("hang.out"))
        subprocess.run(["kill", *s.lines("hang.out")])


class Receiver(http.server.BaseHTTPRequestHandler):
    answers = []  # statuses still to give; then 200
    got = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = Receiver.answers.pop(0) if Receiver.answers else 200
        Receiver.got.append((status, dict(self.headers), body))
        self.send_response(status)
        self.end_headers()

    def log_message(self, *args):
        pass


def test_webhook():
    with State() as s:
        key = os.path.join(s.dir, "key")
        with open(key, "w") as file:
            file.write("0123456789abcdef-secret\n")
        os.chmod(key, 0o600)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/hook"
        run("notices", "add", "webhook", url, key, "--state", s.state)
        Receiver.answers[:] = [503, 500]
        run("notices", "test", "--state", s.state)
        run("notices", "test", "--state", s.state)
        check("both arrive", wait_for(lambda: sum(g[0] == 200 for g in Receiver.got) == 2), Receiver.got)
        taken = [g for g in Receiver.got if g[0] == 200]
        ids = [g[1]["Callgate-Notice"] for g in taken]
        check("each once, in order", len(set(ids)) == 2 and ids == [json.loads(g[2])["id"] for g in taken], ids)
        check("a try again has the same id", {g[1]["Callgate-Notice"] for g in Receiver.got[:2]} == {ids[0]}, ids)
        for _, headers, body in Receiver.got:
            text = headers["Callgate-Timestamp"].encode() + b"." + body
            want = "sha256=" + hmac.new(b"0123456789abcdef-secret", text, hashlib.sha256).hexdigest()
            check("it is signed", headers["Callgate-Signature"] == want, headers)
        check("nothing waits", wait_for(lambda: not s.waiting()), s.waiting())
        server.shutdown()
        server.server_close()
        run("notices", "test", "--state", s.state)
        box = os.path.join(s.state, "outbox", "state.json")
        check("what fails is told", wait_for(lambda: os.path.exists(box) and json.load(open(box))["failing"]))
        check("and kept", len(s.waiting()) == 1, s.waiting())
        os.chmod(key, 0o644)
        check("no key in the state", "secret" not in open(box).read())


def main():
    test_targets()
    test_command()
    test_bad_commands()
    if WEBHOOK:
        test_webhook()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
