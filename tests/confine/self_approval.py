#!/usr/bin/env python3
"""self_approval.py CALLGATE: an agent that is confined, with its hooks and gates, asks a broker outside; it cannot approve
itself. Ends with 'N passed, N failed'; told as skipped where the kernel gives no user namespaces."""
import json
import os
import pty
import pwd
import shutil
import subprocess
import sys
import tempfile
import time

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


def trial(top):
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


def as_a_user(top):
    """Root sees through modes: the test is one of a user without rights, whom the system knows by name."""
    global CALLGATE
    for name in ("callgate", "callgate-confine"):
        shutil.copy2(os.path.join(os.path.dirname(CALLGATE), name), top)
    shutil.copy2(HERE + "/self_approval_inside.py", top)
    CALLGATE = top + "/callgate"
    if os.geteuid() == 0:
        user = pwd.getpwnam("games")
        os.chown(top, user.pw_uid, user.pw_gid)
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)


def main():
    if subprocess.run(["unshare", "-Urmpif", "true"], capture_output=True).returncode != 0:
        print("no user namespaces here\n0 passed, 0 failed, 1 skipped")
        return 77
    # Not below /tmp, which is private inside.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        os.chmod(top, 0o755)
        child = os.fork()
        if child == 0:
            as_a_user(top)
            os._exit(trial(top))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        subprocess.run(["rm", "-rf", top + "/home"])
    return code


if __name__ == "__main__":
    sys.exit(main())
