#!/usr/bin/env python3
"""self_approval.py CALLGATE: an agent that is confined, with its hooks and gates, asks a broker outside; it cannot approve
itself. Ends with 'N passed, N failed'; told as skipped where the kernel gives no user namespaces."""
import json
import os
import pty
import pwd
import subprocess
import sys
import time

from support import run

CALLGATE = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"  # one that every user can start


def until(true, seconds=30):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def make_home(home):
    for folder in ("proj", ".ssh", ".config/callgate", ".local/state"):
        os.makedirs(f"{home}/{folder}", 0o700)
    for name in (".ssh/id", "proj/a.txt", ".config/callgate/people.json"):
        with open(f"{home}/{name}", "w") as file:
            file.write('{"people": []}' if name.endswith("json") else "x")
    os.unlink(home + "/.config/callgate/people.json")
    with open(home + "/.config/callgate/policy.json", "w") as file:
        json.dump([{"id": "no-keys", "effect": "deny", "match": {"pathPrefix": home + "/.ssh"}, "reason": "keys"},
                   {"id": "ask", "effect": "require_approval", "match": {"tool": "act"}, "scope": "once"}], file)


def trial(top, callgate):
    global CALLGATE
    CALLGATE = callgate
    passed = failed = 0
    home = top + "/home"
    state, policy = home + "/.local/state/callgate", home + "/.config/callgate/policy.json"
    socket = state + "/gate.sock"
    make_home(home)
    primary, secondary = pty.openpty()
    broker = subprocess.Popen([CALLGATE, "serve", "--state", state, "--policy", policy, "--home", home], stderr=subprocess.PIPE)
    until(lambda: os.path.exists(socket))
    command = [CALLGATE, "confine", "--gate", socket, "--home", home, "--cwd", home + "/proj", "--policy", policy, "--state",
               state, "--", PYTHON, top + "/self_approval_inside.py", CALLGATE, home, socket, state, str(broker.pid),
               os.ttyname(secondary)]
    agent = subprocess.Popen(command, cwd=home + "/proj", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: os.path.exists(home + "/proj/tried") or agent.poll() is not None, 120)
    approved = subprocess.run([CALLGATE, "approve", "--rule", "ask", "--once", "--state", state], capture_output=True, text=True)
    out, err = agent.communicate(timeout=120)
    attempts = [json.loads(line) for line in out.splitlines()]
    for name, escaped, seen in attempts:
        passed, failed = passed + (not escaped), failed + escaped
        if escaped:
            print(f"failed: {name}: {seen}")
    if agent.returncode != 0 or len(attempts) != 18 or approved.returncode != 0:
        failed += 1
        print(f"failed: {len(attempts)} tries, exit {agent.returncode}: {err[-2000:]} {approved.stderr}")
    broker.terminate()
    broker.wait(timeout=30)
    os.close(primary)
    os.close(secondary)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    USER = pwd.getpwnam("games")  # whom the system knows by name
    sys.exit(run(trial, CALLGATE, HERE + "/self_approval_inside.py", USER.pw_uid, USER.pw_gid))
