"""What the tests of the proxy share: checks, waiting, and one proxy with its server.

Everything that is waited for is an event; the deadline of a wait is only there to end a failed test.
"""
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = os.path.abspath(sys.argv[1])
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_server.py")

# What the program is run under: TEST_WRAPPER="valgrind -q --error-exitcode=99"
WRAPPER = os.environ.get("TEST_WRAPPER", "").split()
DEADLINE = 300 if WRAPPER else 30

with open(PROGRAM, "rb") as program:
    SANITIZED = WRAPPER or b"__asan_init" in program.read()  # its memory says nothing then

counts = {"passed": 0, "failed": 0}


def check(good, *what):
    counts["passed" if good else "failed"] += 1
    if not good:
        print("failed:", sys._getframe(1).f_code.co_name, sys._getframe(1).f_lineno, *what)


def wait_for(condition):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


class Run:
    """One proxy with its server."""

    def __init__(self, mode="echo", read=True, command=None, **options):
        self.dir = tempfile.TemporaryDirectory()
        self.record = os.path.join(self.dir.name, "record")
        command = command or [sys.executable, SERVER, mode, self.record]
        self.process = subprocess.Popen(
            WRAPPER + self.arguments(**options) + command,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        self.lines = queue.Queue()
        self.errors = b""
        self.readers = []
        if read:
            self.start_reading()
        self.readers.append(threading.Thread(target=self._read_errors, daemon=True))
        self.readers[-1].start()

    def arguments(self):
        """The program and its arguments before the server's command."""
        raise NotImplementedError

    def start_reading(self):
        self.readers.append(threading.Thread(target=self._read, daemon=True))
        self.readers[-1].start()

    def _read(self):
        for line in os.fdopen(os.dup(self.process.stdout.fileno()), "rb"):
            self.lines.put(line)
        self.lines.put(None)

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def send(self, *lines):
        data = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view):]

    def line(self):
        try:
            return self.lines.get(timeout=DEADLINE)
        except queue.Empty:
            return b"(nothing came)"

    def message(self):
        line = self.line()
        try:
            return json.loads(line)
        except (ValueError, TypeError):
            return {"unreadable": line}

    def call(self, ident, name, arguments=None, **params):
        params["name"] = name
        if arguments is not None:
            params["arguments"] = arguments
        self.send({"jsonrpc": "2.0", "id": ident, "method": "tools/call", "params": params})

    def ping(self, ident="ping"):
        """A message that comes back behind everything before it."""
        self.send({"jsonrpc": "2.0", "id": ident, "method": "ping"})

    def recorded(self):
        with open(self.record, "rb") as file:
            return file.read()

    def touch(self, name):
        with open(os.path.join(self.dir.name, name), "w", encoding="utf-8"):
            pass

    def memory(self):
        if SANITIZED:
            return 0
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) * 1024

    def close(self):
        self.process.stdin.close()

    def wait(self):
        try:
            return self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "did not end"

    def end(self):
        self.close()
        code = self.wait()
        for reader in self.readers:
            reader.join(DEADLINE)
        self.process.stdout.close()
        return code

    def rest(self):
        """The lines that are left, after the end."""
        rest = []
        while True:
            try:
                line = self.lines.get_nowait()
            except queue.Empty:
                return rest
            if line is not None:
                rest.append(line)


def denied(message, ident, text="The call was denied."):
    return message == {"jsonrpc": "2.0", "id": ident, "result": {
        "content": [{"type": "text", "text": text}], "isError": True}}


def main(tests):
    """Runs the tests of a module, or those that are named."""
    names = sys.argv[2:] or [name for name in tests if name.startswith("test_")]
    for name in names:
        before = time.monotonic()
        tests[name]()
        if "-v" in os.environ.get("PROXY_TEST", ""):
            print(f"{name}: {time.monotonic() - before:.2f} s")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    sys.exit(counts["failed"] != 0)
