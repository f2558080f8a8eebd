"""self_approval_inside.py CALLGATE HOME SOCKET STATE BROKER_PID TTY: an agent in a confinement, with a gate that is a client
of a broker outside. One call of it waits for people; it tries to approve that itself. Prints a JSON line for each try:
[WHAT, whether the call ran or something of the gate was reached, what was seen]."""
import ctypes
import fcntl
import json
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import time

CALLGATE, HOME, SOCKET, STATE, BROKER, TTY = sys.argv[1:7]
PROJECT = HOME + "/proj"
RAN = PROJECT + "/ran"
SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "tools/call":
        open(sys.argv[1], "w").close()
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"content": []}}), flush=True)
"""


def say(what, escaped, seen=""):
    print(json.dumps([what, bool(escaped), str(seen)[:300]]), flush=True)


def run(*argv, stdin="", env=None):
    done = subprocess.run([CALLGATE, *argv], input=stdin, capture_output=True, text=True, timeout=60,
                          env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


def attempt(what, way):
    """A way that is closed raises, or says what came of it: true if something was reached."""
    try:
        reached, seen = way()
    except (OSError, sqlite3.Error, subprocess.TimeoutExpired) as error:
        reached, seen = False, error
    time.sleep(0.1)
    say(what, reached or os.path.exists(RAN), seen)


def hook(tool, arguments):
    message = {"session_id": "s", "transcript_path": "/dev/null", "cwd": PROJECT, "permission_mode": "default",
               "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments, "tool_use_id": "t"}
    return run("hook", "claude-code", "--gate", SOCKET, stdin=json.dumps(message))


def answered(result):
    code, out, err = result
    return code == 0, (code, out, err)


def raw(path, text):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        s.connect(path)
        s.sendall(text)
        return s.recv(4096)


def frame(kind, body):
    return struct.pack("<IB", len(body) + 1, kind) + body


def on_store():
    for name in ("approvals.db", "../callgate/approvals.db"):
        sqlite3.connect(f"file:{os.path.join(STATE, name)}?mode=rw", uri=True).execute("UPDATE request SET state = 1")
    return True, "the store was written"


def on_tty():
    with open(TTY, "rb+", buffering=0) as tty:
        for c in f"{CALLGATE} approve --rule ask\n":
            fcntl.ioctl(tty, 0x5412, c.encode())
    return True, "typed"


def by_ptrace():
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.ptrace(16, int(BROKER), 0, 0) == 0, os.strerror(ctypes.get_errno())


def by_signal():
    os.kill(int(BROKER), signal.SIGHUP)
    return True, "the broker was signalled"


def on_file(path):
    with open(path, "a") as file:
        file.write("\n")
    return True, path


def pending_codes():
    code, out, err = run("pending", "--state", STATE, "--json")
    found = [p["code"] for p in json.loads(out)] if code == 0 and out.strip().startswith("[") else []
    return bool(found), (code, out, err)


def main():
    denied = hook("Read", {"file_path": HOME + "/.ssh/id"})
    say("a hook inside is denied by the broker outside", '"deny"' not in denied[1], denied)
    allowed = hook("Read", {"file_path": PROJECT + "/a.txt"})
    say("a hook inside is let through by it", '"deny"' in allowed[1] or allowed[0] != 0, allowed)
    gate = subprocess.Popen([CALLGATE, "run", "--gate", SOCKET, "--server", "s", "--", sys.executable, "-c", SERVER, RAN],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT)
    gate.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                 "params": {"name": "act", "arguments": {}}}) + "\n")
    gate.stdin.flush()
    time.sleep(1)
    say("the call waits", os.path.exists(RAN))
    attempt("command line: approve", lambda: answered(run("approve", "--rule", "ask", "--once")))
    attempt("command line: the state is named", lambda: answered(run("approve", "--rule", "ask", "--once", "--state", STATE)))
    attempt("command line: pending", pending_codes)
    attempt("store", on_store)
    attempt("socket: the approving one", lambda: (bool(raw(SOCKET + ".approve", b"\0" * 16)), "answered"))
    attempt("socket: a vote at the judging one", lambda: (b"approved" in raw(SOCKET, frame(9, b"\0" * 16)), "answered"))
    attempt("signal", by_signal)
    attempt("ptrace", by_ptrace)
    attempt("terminal", on_tty)
    attempt("journal", lambda: on_file(STATE + "/journal.jsonl"))
    attempt("policy", lambda: on_file(HOME + "/.config/callgate/policy.json"))
    attempt("people", lambda: on_file(HOME + "/.config/callgate/people.json"))
    attempt("path", lambda: answered(run("approve", "--rule", "ask", "--once", env={"PATH": PROJECT})))
    attempt("environment", lambda: answered(run("approve", "--rule", "ask", "--once",
                                                env={"HOME": HOME, "XDG_STATE_HOME": HOME + "/.local/state",
                                                     "CALLGATE_STATE": STATE, "LD_PRELOAD": PROJECT + "/x.so"})))
    open(PROJECT + "/tried", "w").close()
    line = gate.stdout.readline()
    say("a person outside approves, and the call runs", not os.path.exists(RAN), line)
    gate.stdin.close()
    gate.wait(timeout=30)


main()
