#!/usr/bin/env python3
"""state.py CALLGATE MCP_SERVER FAIL_MODULE: `state backup` under gates and people at work, `state restore`, and archives
that are no backup. Ends with `N passed, N failed`."""
import io
import json
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gate"))
from support import CALLGATE, Folder, Gate, check, finish, pending, run, wait_for  # noqa: E402

POLICY = [{"id": "ls", "effect": "auto_approve", "match": {"tool": "ls"}},
          {"id": "rm", "effect": "deny", "match": {"tool": "rm"}, "reason": "gone is gone"},
          {"id": "ask", "effect": "require_approval", "match": {"tool": "cp"}, "scope": "call", "ttlMs": 3_600_000}]
ENDS = {"approval.approved": 1, "approval.refused": 2, "approval.timed_out": 3, "approval.withdrawn": 4}


def state(f, verb, *argv, home=None, where=None, code=0, what=None):
    return run("state", verb, *argv, "--state", where or f.state, "--home", home or f.path, code=code, what=what)


def unpack(f, archive, name):
    to = os.path.join(f.path, name)
    with tarfile.open(archive) as tar:
        tar.extractall(to, filter="data")
    return to


class Load(threading.Thread):
    """Calls as fast as they go, and a person who answers what waits."""

    def __init__(self, gate, folder=None):
        super().__init__()
        self.gate, self.folder, self.ends, self.wrong, self.count = gate, folder, False, [], 0

    def run(self):
        while not self.ends:
            if self.folder is None:
                for tool, runs in (("ls", True), ("rm", False)):
                    if (self.gate.call(tool) == "ran") != runs:
                        self.wrong.append(tool)
            else:
                self.gate.send("cp", {"n": self.count})
                for request in wait_for("a request", lambda: pending(self.folder)) or []:
                    run("approve" if self.count % 3 else "refuse", request["code"], "--state", self.folder.state)
                if (self.gate.answer() == "ran") != (self.count % 3 != 0):
                    self.wrong.append("cp")
            self.count += 1

    def finish(self):
        self.ends = True
        self.join(timeout=60)
        return self.count


def agrees(folder):
    """What the store says of ended requests is what the journal says, and the other way round."""
    said = {}
    for name in os.listdir(folder):
        if name.startswith("journal.jsonl"):
            with open(os.path.join(folder, name)) as file:
                for event in map(json.loads, file):
                    if event["kind"] in ENDS:
                        said[event["detail"]["request"]] = ENDS[event["kind"]]
    db = sqlite3.connect(os.path.join(folder, "approvals.db"))
    kept = dict(db.execute("SELECT number, state FROM request WHERE state <> 0"))
    whole = db.execute("PRAGMA integrity_check").fetchone()[0]
    db.close()
    return whole == "ok" and kept == said, (whole, len(kept), len(said), dict(set(kept.items()) ^ set(said.items())))


def under_load(f, policy):
    os.makedirs(os.path.join(f.path, ".config/callgate"))
    f.write(".config/callgate/policy.json", POLICY)
    f.write(".config/callgate/people.json", '{"people":[]}')
    os.makedirs(os.path.join(f.state, "tools"), mode=0o700)
    os.chmod(f.state, 0o700)
    gates = [Gate(f, "--policy", policy, "--server", "s", thread=str(i)) for i in range(3)]
    f.write("state/tools/s.json", "{}")
    loads = [Load(gates[0]), Load(gates[1]), Load(gates[2], f)]
    for load in loads:
        load.start()
    time.sleep(0.5)
    for i in range(6):
        archive = os.path.join(f.path, f"backup-{i}.tar")
        done = state(f, "backup", archive, what=f"backup {i} under load")
        check("it says what it verified", "verified" in done.stdout, done.stdout)
        check("it is 0600", stat.S_IMODE(os.stat(archive).st_mode) == 0o600)
        folder = unpack(f, archive, f"unpacked-{i}")
        run("journal", "verify", "--state", os.path.join(folder, "state"), code=0, what="its chain verifies")
        check("journal and store agree", *agrees(os.path.join(folder, "state")))
        check("settings and tools are in it", os.path.exists(os.path.join(folder, "config/people.json")) and
              os.path.exists(os.path.join(folder, "state/tools/s.json")), sorted(os.walk(folder)))
        if i == 2:
            run("journal", "rotate", "--state", f.state, code=0)
    counts = [load.finish() for load in loads]
    check("calls were decided throughout", not any(load.wrong for load in loads) and min(counts) > 3,
          ([load.wrong for load in loads], counts))
    with tarfile.open(archive) as tar:
        parts = [n for n in tar.getnames() if n.startswith("state/journal.jsonl")]
    check("both parts are in the last", len(parts) == 2, parts)
    state(f, "backup", archive, code=2, what="a file that is there is not replaced")
    state(f, "backup", "--replace", archive, what="but with --replace")
    state(f, "restore", archive, code=2, what="nothing is restored over a running gate")
    state(f, "restore", "--replace", archive, code=2, what="also not with --replace")
    for gate in gates:
        gate.close()
    return archive


def restored(f, policy, archive):
    home, where = os.path.join(f.path, "home2"), os.path.join(f.path, "home2/.local/state/callgate")
    os.makedirs(home)
    done = state(f, "restore", archive, home=home, where=where, what="into an empty home")
    check("it says what it verified", "verified" in done.stdout, done.stdout)
    modes = {stat.S_IMODE(os.stat(os.path.join(d, n)).st_mode) for d, _, names in os.walk(where) for n in names}
    check("all of it is 0600", modes == {0o600}, modes)
    check("settings are there", json.load(open(os.path.join(home, ".config/callgate/policy.json"))) == POLICY)
    run("journal", "verify", "--state", where, code=0, what="the chain verifies, and nothing is missing")
    f.state, old = where, f.state
    events = f.events()
    check("the journal tells of it", events[-1]["kind"] == "system.restored" and events[-1]["detail"]["lastSeq"] ==
          events[-1]["seq"] - 1, events[-1])
    lives = [json.loads(run("approvals", "--format", "json", "--state", s).stdout) for s in (old, where)]
    check("approvals are those of before", len(lives[1]) > 0 and all(g in lives[0] for g in lives[1]), lives)
    gate = Gate(f, "--policy", policy, "--server", "s", "--hold-for", "5", thread="2")
    check("a gate goes on", gate.call("ls") == "ran" and gate.call("rm") != "ran" and gate.call("cp", {"n": 1}) == "ran")
    gate.close()
    run("journal", "verify", "--state", where, code=0, what="and the chain with it")
    before = sorted(os.listdir(where))
    state(f, "restore", archive, home=home, where=where, code=2, what="nothing is restored over what is there")
    check("and nothing has changed", sorted(os.listdir(where)) == before and os.listdir(os.path.dirname(where)) == ["callgate"],
          os.listdir(os.path.dirname(where)))
    with open(os.path.join(home, ".config/callgate/people.json"), "w") as file:
        file.write('{"people":[{"name":"ada"}]}')
    done = state(f, "restore", "--replace", archive, home=home, where=where, what="but with --replace")
    beside = [n for n in os.listdir(os.path.dirname(where)) if n != "callgate"]
    check("what was there is beside", len(beside) == 1 and beside[0] in done.stdout and
          sorted(os.listdir(os.path.join(os.path.dirname(where), beside[0]))) == before, (beside, done.stdout))
    kept = [n for n in os.listdir(os.path.join(home, ".config/callgate")) if n.startswith("people.json.before-")]
    check("also of settings", len(kept) == 1 and "ada" in open(os.path.join(home, ".config/callgate", kept[0])).read(), kept)
    f.state = old


def refused(f, archive, what, text):
    """A damaged archive changes nothing."""
    home = os.path.join(f.path, "home3")
    where = os.path.join(home, "state")
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    path = os.path.join(f.path, "bad.tar")
    with open(path, "wb") as file:
        file.write(text)
    done = run("state", "restore", path, "--state", where, "--home", home)
    if done.returncode == 0 and what == "a flipped bit":
        # In a block's padding: nothing of it is read.
        return
    check(f"{what} is refused, and nothing is left", done.returncode == 2 and done.stderr != "" and os.listdir(home) == [],
          (done, os.listdir(home)))


def forged(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, len(data) if kind == tarfile.REGTYPE else 0
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = "/etc/passwd"
            tar.addfile(info, io.BytesIO(data) if kind == tarfile.REGTYPE else None)
    return out.getvalue()


def damaged(f, archive):
    text = open(archive, "rb").read()
    generator = random.Random(7)
    for _ in range(40):
        at = generator.randrange(len(text))
        refused(f, archive, "a flipped bit", text[:at] + bytes([text[at] ^ (1 << generator.randrange(8))]) + text[at + 1:])
    for length in (0, 1, 511, 512, len(text) // 2, len(text) - 1536):
        refused(f, archive, f"{length} bytes of it", text[:length])
    manifest = ("callgate-backup.json", tarfile.REGTYPE, b'{"v":1,"files":[]}')
    for name, kind in (("state/a", tarfile.SYMTYPE), ("state/a", tarfile.LNKTYPE), ("state/a", tarfile.FIFOTYPE),
                       ("../a", tarfile.REGTYPE), ("/tmp/a", tarfile.REGTYPE), ("state/../../a", tarfile.REGTYPE),
                       ("state/.a", tarfile.REGTYPE), ("other/a", tarfile.REGTYPE), ("state//a", tarfile.REGTYPE)):
        refused(f, archive, f"an entry {name} of type {kind}", forged([(name, kind, b"x"), manifest]))
    refused(f, archive, "a file that no manifest names", forged([("state/a", tarfile.REGTYPE, b"x"), manifest]))
    refused(f, archive, "a file that stands twice", forged([("state/a", tarfile.REGTYPE, b"x")] * 2 + [manifest]))
    refused(f, archive, "no manifest", forged([("state/a", tarfile.REGTYPE, b"x")]))
    # A journal that was changed, in an archive that is whole by its own account.
    with tarfile.open(archive) as tar:
        members = [(m.name, tarfile.REGTYPE, tar.extractfile(m).read()) for m in tar if m.name != "callgate-backup.json"]
        manifest = json.load(tar.extractfile("callgate-backup.json"))
    import hashlib
    changed = [(n, k, d.replace(b'"ls"', b'"xx"', 1) if n == "state/journal.jsonl" else d) for n, k, d in members]
    manifest["files"] = [{"name": n, "sha256": hashlib.sha256(d).hexdigest(), "size": len(d)} for n, _, d in changed]
    refused(f, archive, "a journal whose chain does not verify",
            forged(changed + [("callgate-backup.json", tarfile.REGTYPE, json.dumps(manifest).encode())]))
    broken = [(n, k, d[:4096] + bytes(len(d) - 4096) if n == "state/approvals.db" else d) for n, k, d in members]
    manifest["files"] = [{"name": n, "sha256": hashlib.sha256(d).hexdigest(), "size": len(d)} for n, _, d in broken]
    refused(f, archive, "a store that is damaged",
            forged(broken + [("callgate-backup.json", tarfile.REGTYPE, json.dumps(manifest).encode())]))


def main():
    with Folder() as f:
        policy = f.write("p.json", POLICY)
        state(f, "backup", os.path.join(f.path, "x.tar"), code=2, what="no state directory: said")
        archive = under_load(f, policy)
        left = [n for n in os.listdir(f.path) if ".callgate-" in n]
        check("nothing is left beside", left == [], left)
        restored(f, policy, archive)
        damaged(f, archive)


main()
finish()
