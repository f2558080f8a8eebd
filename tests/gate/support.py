"""support.py: a folder, a gate in front of a server that answers everything, and counted checks."""
import json
import os
import subprocess
import sys
import tempfile
import time

CALLGATE = os.path.abspath(sys.argv[1])
SERVER = os.path.abspath(sys.argv[2])
FAIL = os.path.abspath(sys.argv[3])
passed = failed = 0


def check(what, ok, seen=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"failed: {what}\n    {str(seen)[:2000]}")


def finish():
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def run(*argv, stdin="", code=None, what=None, env=None):
    done = subprocess.run([CALLGATE, *argv], input=stdin, capture_output=True, text=True, timeout=60,
                          env={**os.environ, **(env or {})})
    if code is not None:
        check(what or f"{argv[0]} exits {code}", done.returncode == code, (done.returncode, done.stdout, done.stderr))
    return done


class Folder:
    def __enter__(self):
        self.held = tempfile.TemporaryDirectory()
        self.path = os.path.realpath(self.held.name)
        self.state = os.path.join(self.path, "state")
        return self

    def __exit__(self, *args):
        self.held.cleanup()

    def write(self, name, content):
        path = os.path.join(self.path, name)
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def events(self, kind=None):
        with open(os.path.join(self.state, "journal.jsonl")) as file:
            events = [json.loads(line) for line in file]
        return [e for e in events if kind is None or e["kind"] == kind]


class Gate:
    """`callgate run` in front of the server. call() answers "ran" or the text of the denial."""

    def __init__(self, folder, *argv, env=None, channel="C", thread="T"):
        self.process = subprocess.Popen(
            [CALLGATE, "run", "--state", folder.state, "--channel", channel, "--thread", thread, *argv, "--", SERVER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, **(env or {})})
        self.id = 0

    def send(self, tool, arguments=None):
        self.id += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments or {}}}) + "\n")
        self.process.stdin.flush()
        return self.id

    def answer(self):
        result = json.loads(self.process.stdout.readline())["result"]
        return result["content"][0]["text"] if result.get("isError") else "ran"

    def call(self, tool, arguments=None):
        self.send(tool, arguments)
        return self.answer()

    def close(self):
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait(timeout=30)
        said = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return said

    def kill(self):
        self.process.kill()
        self.close()


def pending(folder):
    return json.loads(run("pending", "--format", "json", "--state", folder.state).stdout or "[]")


def wait_for(what, get, seconds=10):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = get()
        if found:
            return found
        time.sleep(0.02)
    check(f"{what} within {seconds} s", False)
    return None
