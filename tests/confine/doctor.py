#!/usr/bin/env python3
"""doctor.py CALLGATE CONFINE_BROKEN: `callgate doctor --confine` says that a confinement holds, and finds each way out when it
is broken on purpose: what starts the confinement is exchanged for a program that leaves one protection away. Ends with 'N
passed, N failed'; told as skipped where the kernel gives no user namespaces."""
import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys

from support import run

CALLGATE, BROKEN = (os.path.abspath(path) for path in sys.argv[1:3])
WAYS = ("denied files", "state directory", "command line", "store", "socket", "signal", "ptrace", "terminal", "journal", "policy",
        "PATH", "environment")
# Changes the arguments that callgate works out, and becomes the confinement with a protection missing.
EXCHANGED = """#!/usr/bin/python3
import os, sys
shown, added, missing = {shown!r}, {added!r}, {missing!r}
words, out = sys.argv[1:], []
while words and words[0] != "--":
    word = words.pop(0)
    if word == "--hide" and any(words[0] == s or words[0].startswith(s + "/") for s in shown):
        words.pop(0)
    elif word == "--keep":
        words.pop(0)
    else:
        out.append(word)
if missing == "everything":
    os.execv(words[1], words[1:])
for place in added:
    out += ["--write", place]
os.environ["CONFINE_BREAK"] = missing
os.execv({broken!r}, ["callgate-confine", *out, *words])
"""


class Trial:
    def __init__(self, top, callgate):
        self.top, self.callgate, self.home = top, callgate, top + "/home"
        self.state, self.policy = self.home + "/.local/state/callgate", self.home + "/.config/callgate/policy.json"
        self.project, self.bin = self.home + "/proj", self.home + "/bin"
        self.agent = self.home + "/run/agent.sock"
        self.passed = self.failed = 0
        for folder in ("proj", ".ssh", ".config/callgate", ".local/state", "bin", "run"):
            os.makedirs(f"{self.home}/{folder}", 0o700)
        with open(self.home + "/.ssh/id", "w") as file:
            file.write("x")
        with open(self.policy, "w") as file:
            json.dump([{"id": "no-keys", "effect": "deny", "match": {"pathPrefix": self.home + "/.ssh"}, "reason": "keys"}], file)

    def check(self, what, true, seen=""):
        self.passed, self.failed = self.passed + bool(true), self.failed + (not true)
        if not true:
            print(f"failed: {what}: {seen}")

    def exchange(self, shown=(), added=(), missing=""):
        program = self.top + "/callgate-confine"
        os.unlink(program)
        with open(program, "w") as file:
            file.write(EXCHANGED.format(shown=list(shown), added=list(added), missing=missing, broken=self.top + "/confine-broken"))
        os.chmod(program, 0o755)

    def doctor(self, *options):
        done = subprocess.run([self.callgate, "doctor", "--confine", "--home", self.home, "--cwd", self.project, "--policy",
                               self.policy, "--state", self.state, *options], cwd=self.project, capture_output=True, text=True,
                              timeout=120, env={"PATH": f"{self.bin}:/usr/bin:/bin", "SSH_AUTH_SOCK": self.agent})
        said = {}
        for line in done.stdout.splitlines():
            match = re.match(r"(ok|note|FAULT) +confinement: ([a-zA-Z ]+): (.*)", line)
            if match is not None:
                said.setdefault(match[2], []).append((match[1], match[3]))
        return done.returncode, said, done.stdout + done.stderr

    def intact(self, name, *options, ways=WAYS):
        code, said, text = self.doctor(*options)
        self.check(f"{name}: exit 0", code == 0, text)
        for way in ways:
            # "ok" and not "note": the same try succeeds outside.
            self.check(f"{name}: {way}", [word for word, _ in said.get(way, [])] == ["ok"], text)
        return said

    def finds(self, way, *options, name=None, **how):
        self.exchange(**how)
        code, said, text = self.doctor(*options)
        found = any(word == "FAULT" and "WITHIN REACH" in rest for word, rest in said.get(way, []))
        self.check(f"broken: {name or way}", code == 1 and found, f"exit {code}: {text}")


def has_typing():
    try:
        with open("/proc/sys/dev/tty/legacy_tiocsti") as file:
            return file.read().strip() != "0"
    except OSError:
        return True  # an older kernel


def has_network():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        return s.connect_ex(("192.0.2.1", 9)) == 0


def break_all(t):
    t.finds("denied files", shown=[t.home + "/.ssh"])
    t.finds("state directory", shown=[t.state])
    t.finds("command line", shown=[t.state], added=[t.state])
    t.finds("store", shown=[t.state], added=[t.state + "/approvals.db"])
    t.finds("socket", shown=[t.state])
    t.finds("signal", missing="processes restrictions")
    t.finds("ptrace", missing="everything")  # a user namespace alone holds it
    t.finds("terminal", missing="devices")
    t.finds("journal", shown=[t.state], added=[t.state + "/journal.jsonl"])
    t.finds("policy", added=[t.home + "/.config/callgate"])
    t.finds("PATH", added=[t.bin])
    t.finds("PATH", added=[t.top], name="the program itself")
    t.finds("environment", shown=[t.agent])
    skipped = 0
    if has_typing():
        t.finds("terminal", missing="restrictions", name="typing")
    else:
        skipped += 1
    if has_network():
        t.finds("network", "--no-net", missing="network")
    else:
        skipped += 1
    return skipped


def trial(top, callgate):
    t = Trial(top, callgate)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(t.agent)
    listener.listen(64)
    t.intact("as it is")
    t.intact("no network", "--no-net", ways=WAYS + ("network",) if has_network() else WAYS)
    t.intact("the state is writable, as --write names it, and hidden all the same", "--write", t.home + "/.local")
    code, said, text = t.doctor("--write", t.bin)
    t.check("a directory of PATH that --write names", code == 1 and said.get("PATH", [("", "")])[0][0] == "FAULT", text)
    broker = subprocess.Popen([callgate, "serve", "--state", t.state, "--policy", t.policy, "--home", t.home], stderr=subprocess.PIPE)
    t.intact("with a broker", "--gate", t.state + "/gate.sock")
    broker.terminate()
    broker.wait(timeout=30)
    shutil.copy2(top + "/callgate-confine", top + "/callgate-confine.kept")
    t.exchange()
    t.intact("exchanged, and nothing missing")
    skipped = break_all(t)
    t.exchange(missing="nothing", added=["/not/there"])
    code, said, text = t.doctor()
    t.check("one that does not start", code == 1 and not any(w[0] == "ok" and way in WAYS for way in said for w in said[way]), text)
    listener.close()
    left = f", {skipped} skipped" if skipped else ""
    print(f"{t.passed} passed, {t.failed} failed{left}", flush=True)
    return 1 if t.failed else 0


if __name__ == "__main__":
    USER = pwd.getpwnam("games")
    sys.exit(run(trial, CALLGATE, BROKEN, USER.pw_uid, USER.pw_gid))
