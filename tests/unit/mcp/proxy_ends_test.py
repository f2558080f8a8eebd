"""How the proxy ends, and peers that read or write nothing, with a fake gate and a fake server: proxy_ends_test.py PROXY_FAKE
[NAME…]"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import harness
from harness import DEADLINE, PROGRAM, SERVER, check, denied, wait_for
from proxy_support import Run


def test_server_dies():
    """Whoever waits gets an error; the child's code is passed on."""
    for name, code in (("die", 7), ("kill", 128 + 9)):
        run = Run()
        run.send({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "never"}},
                 {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "hold"}},
                 {"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": {"name": name}})
        got = {m.get("id"): m for m in (run.message(), run.message(), run.message())}
        for ident in ("a", "b", "c"):
            check(got.get(ident, {}).get("error", {}).get("code") == -32603, ident, got)
        check(run.wait() == code)
        check("withdraw" in run.log())


def test_server_closes():
    """A server that closes its output has ended, though its process has not."""
    run = Run()
    run.call(1, "close")
    check(run.message().get("error", {}).get("code") == -32603)
    check(run.wait() == 128 + 15)


def test_orphan():
    """A child of the server that keeps the pipe open does not keep us."""
    run = Run("orphan")
    run.call(1, "die")
    check(run.message().get("error", {}).get("code") == -32603)
    check(run.wait() == 7)


def test_no_server():
    run = Run(command=["/nonexistent/server"])
    check(run.wait() == 2)
    run.end()
    check(b"cannot be started" in run.errors and run.errors.count(b"\n") == 1, run.errors)
    run = Run(command=["true"])
    check(run.wait() == 0)


def test_late():
    """What the server says after the end of its input is handed on, and its code passed on."""
    run = Run("late")
    run.ping()
    check(run.message().get("id") == "ping")
    check(run.end() == 5)
    check([json.loads(l)["params"]["data"] for l in run.rest()] == ["bye"])


def test_stubborn():
    """SIGTERM, then SIGKILL, for a server that does not end."""
    run = Run("stubborn")
    run.ping()
    check(run.end() == 128 + 9)
    check(run.recorded() == b"SIGTERM\n")


def test_signals():
    run = Run()
    run.ping()
    check(run.message().get("id") == "ping")
    run.process.send_signal(signal.SIGHUP)
    check(wait_for(lambda: "reload" in run.log()))
    run.call(1, "hold")
    check(wait_for(lambda: "hold 1" in run.log()))
    run.process.send_signal(signal.SIGTERM)
    check(run.wait() == 0, "the server ended by itself")
    check(run.recorded().endswith(b"EOF\n"))
    check("withdraw 1" in run.log())
    run = Run("stubborn")
    check(wait_for(lambda: os.path.exists(run.record)), "it has started")
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(signal.SIGTERM)
    check(run.wait() == 128 + 9)


def test_garbage():
    """10 MB of random bytes: alive, nothing passed."""
    run = Run()
    noise = os.urandom(10 << 20)
    start = run.memory()
    run.send(noise, b"\n")
    run.ping()
    answers = 0
    while True:
        message = run.message()
        if message.get("id") == "ping" or "unreadable" in message:
            break
        answers += message.get("error", {}).get("code") in (-32700, -32600)
    check(message.get("id") == "ping")
    lines = [l for l in (noise + b"\n").split(b"\n") if l not in (b"", b"\r")]
    check(answers == len(lines), answers, len(lines))
    check(run.memory() < start + (32 << 20), run.memory() - start)
    check(run.end() == 0)
    check(run.recorded() == b'{"jsonrpc": "2.0", "id": "ping", "method": "ping"}\nEOF\n')


class Stuck:
    """Writes until the other side takes no more."""

    def __init__(self, run, line):
        self.taken = 0
        self.run = run
        os.set_blocking(run.process.stdin.fileno(), False)
        still = time.monotonic()
        while time.monotonic() - still < 1:
            try:
                sent = os.write(run.process.stdin.fileno(), line[self.taken % len(line):])
            except BlockingIOError:
                time.sleep(0.02)
                continue
            self.taken += sent
            still = time.monotonic()


def test_deaf_server():
    """A server that never reads: the client is not read either, memory stays, and the end is an end."""
    run = Run("deaf")
    line = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":"' + b"y" * 4000 + b'"}}\n'
    stuck = Stuck(run, line)
    check(stuck.taken < 4 << 20, stuck.taken)
    check(run.memory() < 32 << 20, run.memory())
    check(run.end() == 128 + 15)


def test_deaf_client():
    """A client that never reads: the server is stopped, denials are not piled up, and the end is an end."""
    run = Run(read=False)
    run.call(1, "flood")
    line = b'{"jsonrpc":"2.0","id":"%s","method":"tools/call","params":{"name":"deny"}}\n' % (b"i" * 4000)
    stuck = Stuck(run, line)
    check(stuck.taken < 8 << 20, stuck.taken)
    check(run.memory() < 32 << 20, run.memory())
    run.close()
    check(run.wait() == 128 + 15)


def test_client_stops_reading():
    """A client that closes its end: that is its end."""
    run = Run(read=False)
    run.process.stdout.close()
    run.call(1, "flood")
    check(run.wait() in (1, 128 + 15), "the server notices, or is told")


def test_mute_server():
    """A server that never answers holds up nobody but its callers."""
    run = Run("mute")
    run.call(1, "t")
    run.call(2, "deny")
    check(denied(run.message(), 2))
    check(run.end() == 0)
    check([json.loads(l)["id"] for l in run.rest()] == [1])


def test_big_results():
    """A large result passes; one beyond the ceiling is an error for its id, in little memory."""
    run = Run()
    run.call(1, "big", {"size": 40 << 20})
    line = run.line()
    check(len(line) > 40 << 20 and line.endswith(b'"},"jsonrpc":"2.0","id":1}\n'))
    run.call(2, "big", {"size": 80 << 20})
    check(run.message().get("error", {}).get("code") == -32603)
    run.ping()
    check(run.message().get("id") == "ping")
    check(run.memory() < 64 << 20, run.memory())
    check(run.end() == 0)


def test_files():
    """Standard input from a file, output to a file."""
    with tempfile.TemporaryDirectory() as name:
        record = os.path.join(name, "record")
        with open(os.path.join(name, "in"), "wb") as file:
            for i in range(2000):
                file.write(b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s"}}\n'
                           % (i, b"t" if i % 2 else b"deny"))
        with open(os.path.join(name, "in"), "rb") as given, open(os.path.join(name, "out"), "wb") as out:
            code = subprocess.run([PROGRAM, name, "1000", sys.executable, SERVER, "echo", record], stdin=given,
                                  stdout=out, timeout=DEADLINE, check=False).returncode
        check(code == 0)
        with open(os.path.join(name, "out"), "rb") as file:
            got = [json.loads(line) for line in file]
        check(sorted(m["id"] for m in got) == list(range(2000)))
        check(all(("isError" in m["result"]) == (m["id"] % 2 == 0) for m in got))
        with open(os.devnull, "rb") as given:
            code = subprocess.run([PROGRAM, name, "1000", "cat"], stdin=given, stdout=subprocess.DEVNULL,
                                  timeout=DEADLINE, check=False).returncode
        check(code == 0)


def test_descriptors():
    """The child gets 0, 1 and 2 and nothing of ours; the environment is passed on."""
    with tempfile.TemporaryDirectory() as name:
        out = os.path.join(name, "seen")
        script = f"ls -l /proc/self/fd > {out}; echo \"$SEEN\" >> {out}"
        subprocess.run([PROGRAM, name, "1000", "sh", "-c", script], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, env={**os.environ, "SEEN": "passed on"}, timeout=DEADLINE,
                       check=False)
        with open(out, encoding="utf-8") as file:
            seen = file.read()
        numbers = [int(l.split(" -> ")[0].split()[-1]) for l in seen.splitlines() if " -> " in l]
        check(all(n <= 3 for n in numbers), seen)  # 3 is of ls, or its output
        check("eventpoll" not in seen and "log" not in seen, seen)
        check("passed on" in seen)


harness.main(globals())
