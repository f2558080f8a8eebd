#!/usr/bin/env python3
"""setup.py CALLGATE: `callgate setup` in a directory that stands for the machine's root, and its undoing byte for byte. Ends with
'N passed, N failed'."""
import os
import stat
import subprocess
import sys
import tempfile

CALLGATE = os.path.abspath(sys.argv[1])
passed = failed = 0
GOOD = '[{"id": "a", "effect": "deny", "match": {"tool": "rm"}, "reason": "no"}]\n'
LINK = "etc/systemd/user/sockets.target.wants/callgate.socket"


def check(what, good, *shown):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print("failed: " + what, *map(str, shown), sep="\n    ")


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def everything(top):
    """{name: (kind and mode, content)} of all that stands below a directory."""
    out = {}
    for at, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(at, name)
            st = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(st.st_mode) else open(path, "rb").read() if stat.S_ISREG(st.st_mode) else None
            out[os.path.relpath(path, top)] = (st.st_mode, st.st_uid, content)
    return out


class Machine:
    def __init__(self, systemd=True, before=None):
        self.held = tempfile.TemporaryDirectory()
        self.top = os.path.realpath(self.held.name) + "/root"
        self.policy = os.path.dirname(self.top) + "/mine.json"
        write(self.policy, GOOD)
        for name in ("etc", "var/lib", "run"):
            os.makedirs(f"{self.top}/{name}")
        if systemd:
            os.makedirs(self.top + "/run/systemd/system")
            write(self.top + "/usr/share/systemd/user/callgate.socket", "[Socket]\n")
        for name, (text, mode) in (before or {}).items():
            write(f"{self.top}/{name}", text, mode)
        self.before = everything(self.top)

    def setup(self, *words, text=""):
        return subprocess.run([CALLGATE, "setup", "--below", self.top, *words], input=text, capture_output=True, text=True, timeout=60)

    def read(self, name):
        with open(f"{self.top}/{name}") as file:
            return file.read()

    def is_as_before(self):
        now = everything(self.top)
        return now == self.before, {name for name in now.keys() | self.before.keys() if now.get(name) != self.before.get(name)}


def of_doing(before):
    m = Machine(before=before)
    ran = m.setup("--policy", m.policy, "--dry-run")
    check("--dry-run says all and does nothing", ran.returncode == 0 and m.is_as_before()[0] and "/etc/callgate/policy.json" in ran.stdout and
          f"/{LINK} -> /usr/share/systemd/user/callgate.socket" in ran.stdout, ran)
    for answer in ("", "n\n", "yours\n"[1:]):
        ran = m.setup("--policy", m.policy, text=answer)
        check(f"the answer {answer!r} does nothing", ran.returncode == 1 and "nothing was done" in ran.stderr and m.is_as_before()[0], ran)
    ran = m.setup("--policy", m.policy, text="y\n")
    check("yes does it", ran.returncode == 0 and m.read("etc/callgate/policy.json") == GOOD, ran)
    mode = os.stat(m.top + "/etc/callgate/policy.json")
    check("others read it and do not write it", stat.S_IMODE(mode.st_mode) == 0o644 and mode.st_uid == os.geteuid(), mode)
    check("the broker's socket is enabled", os.readlink(f"{m.top}/{LINK}") == "/usr/share/systemd/user/callgate.socket")
    check("what is kept is private", stat.S_IMODE(os.stat(m.top + "/var/lib/callgate-setup").st_mode) == 0o700)
    after = everything(m.top)
    ran = m.setup("--policy", m.policy, "--yes")
    check("not twice", ran.returncode == 1 and "already" in ran.stderr and everything(m.top) == after, ran)
    ran = m.setup("--undo")
    check("undone byte for byte", ran.returncode == 0 and m.is_as_before()[0], ran, m.is_as_before()[1])
    check("not undone twice", m.setup("--undo").returncode == 1)


def of_changes():
    m = Machine(before={"etc/callgate/policy.json": ("[]", 0o600), "etc/callgate/people.json": ("{}", 0o644)})
    check("done", m.setup("--policy", m.policy, "--yes").returncode == 0)
    write(m.top + "/etc/callgate/policy.json", "[ ]\n")
    changed = everything(m.top)
    ran = m.setup("--undo")
    check("what somebody changed since stays, and so does all else", ran.returncode == 2 and
          "/etc/callgate/policy.json was changed since" in ran.stderr and everything(m.top) == changed, ran)
    ran = m.setup("--undo", "--force")
    check("unless it is forced", ran.returncode == 0 and m.is_as_before()[0], ran, m.is_as_before()[1])
    m = Machine()
    m.setup("--policy", m.policy, "--yes")
    write(m.top + "/etc/callgate/people.json", "{}")
    ran = m.setup("--undo")
    check("a directory with another's file in it stays", ran.returncode == 0 and "kept     /etc/callgate" in ran.stdout and
          m.is_as_before()[1] == {"etc/callgate", "etc/callgate/people.json"}, ran, m.is_as_before()[1])
    m = Machine()
    m.setup("--policy", m.policy, "--yes")
    os.unlink(f"{m.top}/{LINK}")
    check("what is undone by hand already is no change", m.setup("--undo").returncode == 0 and m.is_as_before()[0])


def of_failing():
    m = Machine()
    write(m.policy, '[{"id": "a"}]')
    ran = m.setup("--policy", m.policy, "--yes")
    check("a policy that does not load is not put there", ran.returncode == 2 and "missing key" in ran.stderr and m.is_as_before()[0], ran)
    ran = m.setup("--policy", m.policy + "x", "--yes")
    check("nor one that is not there", ran.returncode == 2 and m.is_as_before()[0], ran)
    m = Machine(before={"etc/systemd/user/sockets.target.wants/callgate.socket/x": ("", 0o644)})
    ran = m.setup("--policy", m.policy, "--yes")
    check("where a step cannot be, none is", ran.returncode == 2 and "is a directory" in ran.stderr and m.is_as_before()[0], ran, m.is_as_before()[1])
    m = Machine(before={"etc/systemd": ("a file", 0o644)})
    ran = m.setup("--policy", m.policy, "--yes")
    check("nor where a file stands for a directory", ran.returncode == 2 and "is no directory" in ran.stderr and m.is_as_before()[0], ran)
    m = Machine()
    os.symlink("/nowhere/at-all", m.top + "/etc/systemd")
    m.before = everything(m.top)
    ran = m.setup("--policy", m.policy, "--yes")
    check("a step that fails takes the ones before it back", ran.returncode == 2 and m.is_as_before()[0], ran, m.is_as_before()[1])
    m = Machine(systemd=False)
    ran = m.setup("--yes")
    check("nothing to do is told", ran.returncode == 1 and "name a policy" in ran.stderr and "systemd does not run here" in ran.stdout, ran)
    ran = subprocess.run([CALLGATE, "setup", "--yes", "--force"], capture_output=True, text=True, timeout=60)
    check("--force without --undo is refused", ran.returncode == 2, ran)


of_doing({})
of_doing({"etc/callgate/policy.json": ('[{"id": "old"}]', 0o640), LINK: ("a file of somebody's", 0o600)})
of_changes()
of_failing()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
