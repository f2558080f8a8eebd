"""What the tests of the commands share: how they are called, folders of files, and a gate in front of a server."""
import json
import os
import select
import subprocess
import sys
import tempfile
import time

CALLGATE = os.path.abspath(sys.argv[1])
SERVER = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
passed = failed = 0

with open(CALLGATE, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()  # its shadow takes terabytes of addresses

DENY_RM = {"id": "no-rm", "effect": "deny", "match": {"tool": "rm"}, "reason": "gone is gone"}
ALLOW_LS = {"id": "ls", "effect": "auto_approve", "match": {"tool": "ls"}}
ASK_CP = {"id": "ask-cp", "effect": "require_approval", "match": {"tool": "cp"}}


def check(what, ok, seen=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"failed: {what}\n    {str(seen)[:2000]}")


def run(*argv, stdin="", code=None, what=None):
    done = subprocess.run([CALLGATE, *argv], input=stdin, capture_output=True, text=True, timeout=120)
    if code is not None:
        check(what or f"{argv[0]} exits {code}", done.returncode == code, (done.returncode, done.stdout, done.stderr))
    return done


def until(true, seconds=20):
    """Waits for what another process does."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)


class Folder:
    """A folder of files for one test, and the working directory of nothing: names are absolute."""

    def __enter__(self):
        self.held = tempfile.TemporaryDirectory()
        self.path = os.path.realpath(self.held.name)
        return self

    def __exit__(self, *args):
        self.held.cleanup()

    def write(self, name, content):
        path = os.path.join(self.path, name)
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path


class Gate:
    """`callgate run` in front of a server that answers everything."""

    def __init__(self, f, policy, *more):
        self.state = os.path.join(f.path, "state")
        self.process = subprocess.Popen([CALLGATE, "run", "--policy", policy, "--state", self.state, *more, "--", SERVER],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.id = 0
        self.call("anything")  # up and running

    def call(self, tool, arguments=None):
        self.id += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments or {}}}) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], 30)[0]:
            self.process.kill()
            raise TimeoutError(f"no answer to {tool} within 30 s")
        answer = json.loads(self.process.stdout.readline())
        return "denied" if answer["result"].get("isError") else "ran"

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()


def finish(tests):
    """Runs every function whose name begins with `test_`."""
    for name in [name for name in tests if name.startswith("test_")]:
        tests[name]()
    tell_counts()


def tell_counts():
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
