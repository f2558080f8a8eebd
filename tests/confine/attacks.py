#!/usr/bin/env python3
"""attacks.py CALLGATE [landlock]: everything that an attacker was seen to try from inside a confinement, and what has to work
there all the same. Ends with 'N passed, N failed'; told as skipped where the kernel gives no user namespaces."""
import json
import os
import pty
import socket
import subprocess
import sys
import tempfile
import threading
import time

from support import landlock_abi, run

CALLGATE = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
# What namespaces and masks cannot hold: docs/confinement.md names each.
INHERENT = {"later: .env made outside", "before: hard link to the key"}
LOOPBACK_ONLY_ABI_6 = {"abstract socket"}  # held by Landlock's scopes, which older kernels do not have
USER = 12321
LANDLOCK = sys.argv[2:] == ["landlock"]
# What --landlock tells that it does not hold: docs/confinement.md has the same list.
INHERENT_LANDLOCK = {
    # Nothing is subtracted from a directory that can be written to.
    "read .env", "read a .env deeper", "symbolic link to .env", "write a policy in the project", "write a git hook",
    "rename the folder of a policy in the project", "go round the hooks by a rename", "write the agent's settings",
    "use: git", "use: git branch",  # after that rename
    # Of files only their contents are held, of processes outside that they are not entered.
    "size of the key", "change the state's mode", "touch the policy", "pidfd", "limits",
    # What does not work there.
    "use: a terminal of one's own", "use: a nested sandbox",
}
PYTHON = "/usr/bin/python3"  # one that every user can start
SECRET = b"SECRET-of-the-victim"


def write(path, content, mode=0o600):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)


def make_home(home):
    write(home + "/.ssh/id", SECRET)
    write(home + "/.ssh/pub/k", b"pub")
    write(home + "/docs/d.txt", b"doc")
    write(home + "/.bashrc", b"")
    write(home + "/.config/callgate/policy.json", json.dumps([
        {"id": "pub", "effect": "auto_approve", "match": {"pathPrefix": home + "/.ssh/pub"}},
        {"id": "no-ssh", "effect": "deny", "match": {"pathPrefix": home + "/.ssh"}, "reason": "keys"},
        {"id": "open", "effect": "auto_approve", "match": {"pathPrefix": home + "/proj/closed/open"}},
        {"id": "no-closed", "effect": "deny", "match": {"pathPrefix": home + "/proj/closed"}, "reason": "closed"},
        {"id": "no-env", "effect": "deny", "match": {"pathComponent": ".env"}, "reason": "secrets"},
    ]).encode())
    project = home + "/proj"
    write(project + "/.env", SECRET)
    write(project + "/sub/deep/.env", SECRET)
    write(project + "/src/a.txt", b"a")
    write(project + "/closed/open/a.txt", b"a")
    write(project + "/conf/own.json", b'[{"id": "own", "effect": "deny", "match": {"tool": "own"}, "reason": "own"}]')
    write(project + "/.claude/settings.json", b"{}")
    subprocess.run(["git", "init", "-q", project], check=True)
    os.link(home + "/.ssh/id", project + "/hl_key")
    write(home + "/.local/state/callgate/journal.jsonl", b"")
    os.chmod(home + "/.local/state/callgate", 0o700)
    os.makedirs(home + "/run")


def serve(address):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(8)

    def loop():
        while True:
            other, _ = listener.accept()
            other.sendall(SECRET)
            other.close()
    threading.Thread(target=loop, daemon=True).start()


def attack(home, victim, tmp_socket, abstract, tty):
    inherited = os.open(home + "/.ssh", os.O_RDONLY)
    os.dup2(inherited, 9, inheritable=True)
    command = [CALLGATE, "confine", "--home", home, "--cwd", home + "/proj", "--policy", home + "/.config/callgate/policy.json",
               *(["--landlock"] if LANDLOCK else ["--policy", home + "/proj/conf/own.json"]), "--state",
               home + "/.local/state/callgate", "--",
               PYTHON, os.path.dirname(CALLGATE) + "/inside.py", home, str(victim), tmp_socket, abstract, tty]
    env = {**os.environ, "TMPDIR": os.path.dirname(tmp_socket)} if LANDLOCK else None
    running = subprocess.Popen(command, env=env, cwd=home + "/proj", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               pass_fds=[9])
    time.sleep(0.3)
    write(home + "/proj/src/.env", SECRET)
    write(home + "/.ssh/new_key", SECRET)
    out, err = running.communicate(timeout=240)
    return running.returncode, out, err


def trial(top, callgate):
    global CALLGATE
    CALLGATE = callgate
    passed = failed = 0
    with tempfile.TemporaryDirectory(dir="/tmp") as tmp:
        home = os.path.realpath(top) + "/home"
        make_home(home)
        serve(home + "/run/agent.sock")
        serve(tmp + "/s.sock")
        abstract = f"callgate-test-{os.getpid()}"
        serve("\0" + abstract)
        primary, secondary = pty.openpty()
        victim = subprocess.Popen(["sleep", "600"], cwd=home + "/.ssh", stdin=open(home + "/.ssh/id"),
                                  env={"TOKEN": SECRET.decode()})
        code, out, err = attack(home, victim.pid, tmp + "/s.sock", abstract, os.ttyname(secondary))
        victim.kill()
        victim.wait()
        attempts = [json.loads(line) for line in out.splitlines()]
        for name, escaped, seen in attempts:
            good = not escaped or name in INHERENT or LANDLOCK and name in INHERENT_LANDLOCK
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"failed: {name}: {seen}")
        for name in INHERENT_LANDLOCK if LANDLOCK else ():
            if name not in [attempt[0] for attempt in attempts]:
                failed += 1
                print(f"failed: {name} is no attempt")
        if code != 0 or len(attempts) < 60:
            failed += 1
            print(f"failed: {len(attempts)} attempts, exit {code}: {err[-2000:]}")
        os.close(primary)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if LANDLOCK and landlock_abi() < 3:
        print("no Landlock of ABI 3 here\n0 passed, 0 failed, 1 skipped")
        sys.exit(77)
    if landlock_abi() < 6:
        INHERENT_LANDLOCK |= {"signal", "signal everybody"}
    sys.exit(run(trial, CALLGATE, HERE + "/inside.py", USER, USER, namespaces=not LANDLOCK))
