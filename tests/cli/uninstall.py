#!/usr/bin/env python3
"""uninstall.py CALLGATE: hooks, gates before servers, units and a broker are put in, and `uninstall` takes all of it out:
every file as it was, byte for byte, and the state kept. Also what `hook install` does to what stands there already.

Ends with `N passed, N failed`."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from support import CALLGATE, check, tell_counts

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SETTINGS = '{\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]},\n  "model": "opus"\n}\n'
SERVERS = '{\n  "mcpServers": {\n    "git": {"command": "git-mcp", "args": ["--repo", "."]}\n  }\n}\n'


class Home:
    def __enter__(self):
        self.held = tempfile.TemporaryDirectory()
        self.path = os.path.realpath(self.held.name)
        self.project = os.path.join(self.path, "work", "project")
        self.state = os.path.join(self.path, "state")
        os.makedirs(self.project)
        self.write(".config/callgate/policy.json", '[{"id":"a","effect":"auto_approve","match":{"tool":"ls"}}]')
        return self

    def __exit__(self, *args):
        self.held.cleanup()

    def write(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", newline="") as file:
            file.write(text)
        return path

    def call(self, *argv, cwd=None):
        return subprocess.run([CALLGATE, *argv, "--home", self.path, "--state", self.state], capture_output=True, text=True,
                              cwd=cwd or self.project, timeout=60)

    def files(self):
        """Every file and link below, without the state."""
        found = {}
        for folder, folders, names in os.walk(self.path):
            folders[:] = [f for f in folders if os.path.join(folder, f) != self.state]
            for name in names:
                path = os.path.join(folder, name)
                found[path] = os.readlink(path) if os.path.islink(path) else open(path, "rb").read()
        return found


def everything():
    with Home() as h:
        for name in (".claude/settings.json", ".gemini/settings.json", "work/project/.claude/settings.json", "elsewhere/s.json"):
            h.write(name, SETTINGS)
        for name in (".cursor/mcp.json", "work/project/.mcp.json", "elsewhere/mcp.json"):
            h.write(name, SERVERS)
        h.write(".config/systemd/user/other.service", "[Unit]\nDescription=another\n")
        before = h.files()
        for host in ("claude-code", "gemini", "codex", "cursor", "opencode"):
            done = h.call("hook", "install", host)
            check(f"the hook of {host} goes in", done.returncode == 0, done)
        check("and the project's", h.call("hook", "install", "claude-code", "--project").returncode == 0)
        check("and one elsewhere", h.call("hook", "install", "claude-code", "--settings",
                                          os.path.join(h.path, "elsewhere/s.json")).returncode == 0)
        check("servers are wrapped", h.call("wrap").returncode == 0)
        check("those elsewhere, too", h.call("wrap", os.path.join(h.path, "elsewhere/mcp.json")).returncode == 0)
        units = os.path.join(h.path, ".config/systemd/user")
        for name in ("callgate.socket", "callgate.service"):
            source = os.path.join(TOP, "packaging/systemd", name)
            shutil.copy(source if os.path.exists(source) else source + ".in", os.path.join(units, name))
        os.mkdir(os.path.join(units, "sockets.target.wants"))
        os.mkdir(os.path.join(units, "default.target.wants"))
        os.symlink("/usr/lib/systemd/user/gone/callgate.service", os.path.join(units, "default.target.wants/callgate.service"))
        os.symlink(os.path.join(units, "callgate.socket"), os.path.join(units, "sockets.target.wants/callgate.socket"))
        gate = os.path.join(h.state, "gate.sock")
        broker = subprocess.Popen([CALLGATE, "serve", "--gate", gate, "--home", h.path, "--state", h.state, "--quiet"],
                                  cwd=h.project)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with socket.socket(socket.AF_UNIX) as s:
                try:
                    s.connect(gate)
                    break
                except OSError:
                    time.sleep(0.02)
        with_all = h.files()

        # From another directory: what is recorded is found all the same.
        done = h.call("uninstall", "--print", cwd=h.path)
        check("--print changes nothing", done.returncode == 0 and h.files() == with_all and broker.poll() is None, done)
        for word in ("elsewhere/s.json", "elsewhere/mcp.json", ".claude/settings.json", ".cursor/hooks.json",
                     "project/.mcp.json", "callgate.socket", "would end the broker", f"kept: {h.state}"):
            check(f"--print names {word}", word in done.stdout, done.stdout)
        done = h.call("uninstall", cwd=h.path)
        check("uninstall is done", done.returncode == 0 and done.stderr == "", done)
        check("every file is as it was", h.files() == before,
              {p: v for p, v in {**before, **h.files()}.items() if before.get(p) != h.files().get(p)})
        check("the broker has ended", broker.wait(timeout=20) == 0, broker.returncode)
        check("the state is kept, and it says where", os.path.exists(os.path.join(h.state, "journal.jsonl")) and
              f"kept: {h.state}" in done.stdout and ".config/callgate" in done.stdout, done.stdout)
        check("the journal verifies", subprocess.run([CALLGATE, "journal", "verify", "--state", h.state],
                                                     capture_output=True).returncode == 0)
        done = h.call("uninstall", cwd=h.path)
        check("twice: nothing was there", done.returncode == 1 and "nothing" in done.stdout, done)


def what_others_have():
    with Home() as h:
        h.write(".claude/settings.json", SETTINGS)
        h.write(".config/systemd/user/callgate.service", "[Unit]\nDescription=another program of this name\n")
        before = h.files()
        done = h.call("uninstall")
        check("what is none of callgate's stays", done.returncode == 1 and h.files() == before, done)
        # The settings are gone, or the hook was taken out by hand: what came along with it goes.
        h.call("hook", "install", "claude-code")
        os.unlink(os.path.join(h.path, ".claude/settings.json"))
        done = h.call("uninstall")
        check("rules of a hook that is gone go", done.returncode == 0 and
              not os.path.exists(os.path.join(h.path, ".config/callgate/protect-claude-code.json")), done)
        # Settings that cannot be read are told; the rest is taken out.
        h.write(".claude/settings.json", "{")
        h.write(".gemini/settings.json", SETTINGS)
        h.call("hook", "install", "gemini")
        done = h.call("uninstall")
        check("what cannot be taken out is told, the rest goes", done.returncode == 2 and ".claude" in done.stderr and
              open(os.path.join(h.path, ".gemini/settings.json")).read() == SETTINGS, done)


def renewing():
    with Home() as h:
        path = h.write(".claude/settings.json", SETTINGS)
        done = h.call("hook", "install", "claude-code")
        check("a first install says what it wrote", f"wrote {path}" in done.stdout and "older" not in done.stdout, done)
        once = open(path).read()
        done = h.call("hook", "install", "claude-code")
        check("twice is once, and told", open(path).read() == once and "as it is" in done.stdout, done)
        # The forms that an older release may have written: another program, fewer options, no switch that fails closed.
        older = json.loads(once)
        entries = [e for groups in older["hooks"].values() for g in groups for e in g["hooks"] if "callgate" in e["command"]]
        for entry in entries:
            entry["command"] = "/opt/old/callgate hook claude-code --policy /tmp/x.json"
            entry.pop("args", None)
            entry.pop("timeout", None)
        h.write(".claude/settings.json", json.dumps(older, indent=2))
        done = h.call("hook", "install", "claude-code", "--dry-run")
        check("--dry-run says what would be replaced", "would replace" in done.stdout and "/opt/old/callgate" in done.stdout, done)
        done = h.call("hook", "install", "claude-code")
        now = json.loads(open(path).read())
        ours = [e for groups in now["hooks"].values() for g in groups for e in g["hooks"] if "callgate" in e["command"]]
        check("an older form is replaced, and told", len(ours) == len(entries) and "/opt/old" not in json.dumps(now) and
              "replaced the older hook" in done.stdout and "/opt/old/callgate" in done.stdout, (done, now))
        check("what others put in stays", "bell" in json.dumps(now), now)
        h.call("uninstall")
        left = json.loads(open(path).read())
        left["hooks"] = {event: groups for event, groups in left["hooks"].items() if groups}
        check("and taking it out leaves what was there", left == json.loads(SETTINGS), left)


everything()
what_others_have()
renewing()
tell_counts()
