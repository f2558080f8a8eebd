#!/usr/bin/env python3
"""doctor.py CALLGATE: `callgate doctor` on installed hooks, as they are and with something wrong.

What is wrong must be told, with exit 1, and the command that is named must mend it. Ends with `N passed, N failed`."""
import json
import os
import re
import shlex
import stat
import subprocess
import sys
import tempfile

CALLGATE = os.path.abspath(sys.argv[1])
passed = failed = 0
SETTINGS = {"claude-code": ".claude/settings.json", "gemini": ".gemini/settings.json", "codex": ".codex/hooks.json",
            "cursor": ".cursor/hooks.json", "opencode": ".config/opencode/plugins/callgate.js"}
# Answers that are compared: a broken message for each event; a deny and an allow where calls can be made up.
ANSWERS = {"claude-code": 6, "gemini": 3, "codex": 6, "cursor": 7, "opencode": 3}
POLICY = '[{"id":"x","effect":"deny","match":{"pathPrefix":"/etc"},"reason":"no"}]'


def check(what, ok, *shown):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *shown, sep="\n    ")


class Home:
    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="callgate-doctor-")
        self.home = os.path.realpath(self.dir.name)
        self.project = self.path("project")
        os.mkdir(self.project)
        self.write("policy.json", POLICY)
        return self

    def __exit__(self, *_):
        self.dir.cleanup()

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, text, mode=None):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        if mode:
            os.chmod(self.path(name), mode)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run(self, *words):
        return subprocess.run([CALLGATE, *words, "--home", self.home, "--state", self.path("state"), "--cwd", self.project],
                              cwd=self.project, capture_output=True, text=True, timeout=120)

    def install(self, host, *words):
        done = self.run("hook", "install", host, "--policy", self.path("policy.json"), *words)
        if done.returncode != 0:
            raise SystemExit(f"install: {done.stdout}{done.stderr}")

    def doctor(self, *words):
        return self.run("doctor", *words)

    def change(self, host, change):
        """Changes each entry of ours in the settings."""
        settings = json.loads(self.read(SETTINGS[host]))
        for event, groups in list(settings["hooks"].items()):
            for group in groups:
                for entry in group.get("hooks", [group]):
                    change(settings["hooks"], event, group, entry)
        self.write(SETTINGS[host], json.dumps(settings))


def faults(done):
    return [line for line in done.stdout.splitlines() if line.startswith("FAULT")]


def mends(done):
    return [line.strip()[len("mend: "):] for line in done.stdout.splitlines() if line.startswith("       mend: ")]


def every_host():
    for host, count in ANSWERS.items():
        with Home() as h:
            h.install(host)
            before = h.read(SETTINGS[host])
            done = h.doctor(host)
            check(f"{host}: all is well", done.returncode == 0 and done.stdout.endswith("\n0 fault(s)\n"), done.stdout, done.stderr)
            check(f"{host}: {count} answers are compared", done.stdout.count("byte for byte") == count, done.stdout)
            check(f"{host}: the settings are what they were", h.read(SETTINGS[host]) == before)
            check(f"{host}: without its name, too", h.doctor().returncode == 0)
            kinds = [json.loads(line)["kind"] for line in h.read("state/journal.jsonl").splitlines()]
            check(f"{host}: the calls are in the journal", kinds.count("doctor.check") == 2 and "policy.deny" in kinds and
                  "policy.allow" in kinds, kinds)
            done = subprocess.run([CALLGATE, "journal", "verify", h.path("state/journal.jsonl")], capture_output=True, text=True)
            check(f"{host}: which verifies", done.returncode == 0, done.stderr)
            h.run("hook", "uninstall", host)
            done = h.doctor(host)
            check(f"{host}: taken out", done.returncode == 1 and "no hook of callgate's is installed" in done.stdout and
                  f"callgate hook install {host} --policy FILE" in done.stdout, done.stdout)


def wrong(what, host, spoil, word, mended=True, words=()):
    """Something is spoiled: it is told, and the first command that is named mends it."""
    with Home() as h:
        h.install(host, *words)
        spoil(h)
        done = h.doctor(host)
        check(f"{what}: exit 1", done.returncode == 1, done.stdout, done.stderr)
        check(f"{what}: told", any(word in line for line in faults(done)), *faults(done))
        check(f"{what}: each has a command", len(mends(done)) == len(faults(done)) > 0, done.stdout)
        if not mended or not mends(done):
            return
        command = shlex.split(mends(done)[0].split(";")[0])
        if command[0] == "callgate":
            h.run(*command[1:])
        else:
            subprocess.run(command, check=False)
        done = h.doctor(host)
        check(f"{what}: mended by {mends(done)[:1]}", done.returncode == 0, done.stdout)


def entry_change(host, **values):
    def change(hooks, event, group, entry):
        for key, value in values.items():
            (group if key == "matcher" else entry).pop(key, None)
            if value is not None:
                (group if key == "matcher" else entry)[key] = value
    return lambda h: h.change(host, change)


def first_word(h, host, program):
    """Another program in the command line."""
    def change(hooks, event, group, entry):
        if "args" in entry:
            entry["command"] = program
        else:
            entry["command"] = " ".join([program] + entry["command"].split()[1:])
    h.change(host, change)


def script(h, name, text):
    h.write(name, "#!/bin/sh\n" + text, 0o755)
    return h.path(name)


def spoiled():
    wrong("no switch", "claude-code", entry_change("claude-code", onFailure=None), "'onFailure' is not \"block\"")
    wrong("switch off", "cursor", entry_change("cursor", failClosed=False), "'failClosed' is not true")
    wrong("a matcher", "claude-code", entry_change("claude-code", matcher="Bash"), "leaves tools out")
    wrong("a short timeout", "claude-code", entry_change("claude-code", timeout=1), "the host lets the call run after 1000 ms")
    wrong("an event is missing", "claude-code", lambda h: h.change(
        "claude-code", lambda hooks, event, group, entry: hooks.pop("PermissionRequest", None)), "there is no hook for PermissionRequest")
    wrong("no program", "claude-code", lambda h: first_word(h, "claude-code", h.path("callgate")), "is not there")
    wrong("a program without a path", "claude-code", lambda h: first_word(h, "claude-code", "callgate"), "where the environment says")
    wrong("a directory as program", "codex", lambda h: (os.mkdir(h.path("callgate")), first_word(h, "codex", h.path("callgate"))),
          "is no program")
    wrong("wrong arguments", "claude-code", lambda h: h.change(
        "claude-code", lambda hooks, event, group, entry: entry["args"].append("--nonsense")), "wrong arguments")
    # Programs that fail open, each in its way.
    for what, text in (("says nothing", "cat >/dev/null\n"), ("crashes", "kill -SEGV $$\n"), ("says allow", "echo '{}'\n"),
                       ("denies in other words", "echo '{\"decision\":\"deny\"}'\n"), ("denies twice", None)):
        text = text or f"exec {CALLGATE} \"$@\"; \n"
        if what == "denies twice":
            text = f"{CALLGATE} \"$@\" >/tmp/$$.out; cat /tmp/$$.out /tmp/$$.out; rm /tmp/$$.out\n"
        wrong(what, "claude-code", lambda h: first_word(h, "claude-code", script(h, "callgate", text)), "is not denied")
    wrong("in a shell, too", "gemini", lambda h: first_word(h, "gemini", script(h, "callgate", "exit 1\n")), "is not denied")
    wrong("written by others", "claude-code", lambda h: first_word(
        h, "claude-code", (script(h, "callgate", f"exec {CALLGATE} \"$@\"\n"), os.chmod(h.path("callgate"), 0o777), h.path("callgate"))[2]),
        "can be written by group or others")
    wrong("no policy", "claude-code", lambda h: os.unlink(h.path("policy.json")), "the policy does not load", mended=False)
    wrong("a broken policy", "claude-code", lambda h: h.write("policy.json", "["), "the policy does not load", mended=False)
    wrong("no protection", "claude-code", lambda h: os.unlink(h.path(".config/callgate/protect-claude-code.json")),
          "the rules that came along with the hook are gone")
    wrong("an open state directory", "claude-code", lambda h: os.chmod(h.path("state"), 0o755), "the journal cannot be written")
    wrong("approvals that others may write", "claude-code", lambda h: h.write("state/approvals.db", "", 0o644), "approvals cannot be kept")
    wrong("damaged approvals", "claude-code", lambda h: h.write("state/approvals.db", "x" * 8192, 0o600), "it is damaged", mended=False)
    wrong("settings that are no JSON", "claude-code", lambda h: h.write(SETTINGS["claude-code"], "{"), "", mended=False)


def policies():
    everything = '[{"id":"all","effect":"auto_approve","match":{"actor":"claude_process"}}]'
    nothing = '[{"id":"none","effect":"deny","match":{"actor":"claude_process"},"reason":"no"}]'
    listed = '{"requireAuthoredPolicy":["*"],"rules":[{"id":"r","effect":"auto_approve","match":{"tool":"Read"}}]}'
    for what, policy, words, want in (
            ("a policy that allows everything", everything, (), "no call was found that this policy denies"),
            ("a policy that denies everything", nothing, (), "no call was found that this policy lets through"),
            ("people are asked about everything", everything.replace("auto_approve", "require_approval"), (),
             "no call was found that this policy lets through"),
            ("an allow by a rule", listed, (), "a call of 'Read' (rule 'r') is let through"),
            ("a granted allow", listed, ("--grant",), "a call of 'Read' (rule 'r') is let through"),
            ("no rule at all", "[]", (), "a call of 'upload_file' is denied")):
        with Home() as h:
            h.write("policy.json", policy)
            h.install("claude-code", "--no-self-protect", *words)
            done = h.doctor("claude-code")
            check(f"{what}: well", done.returncode == 0 and want in done.stdout, done.stdout, done.stderr)


def not_run():
    """A person who looks for a fault must not run what somebody put there."""
    with Home() as h:
        h.install("gemini")
        done = h.path("done")
        h.change("gemini", lambda hooks, event, group, entry: entry.update(command=entry["command"] + f"; touch {done}"))
        out = h.doctor("gemini")
        check("more than a command is not run", out.returncode == 1 and "it was not run" in out.stdout and not os.path.exists(done), out.stdout)
    with Home() as h:
        done = h.path("done")
        program = script(h, "project/callgate", f"touch {done}\n")
        h.write("project/.claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [
            {"type": "command", "command": program, "args": ["hook", "claude-code", "--policy", h.path("policy.json")]}]}]}}))
        out = h.doctor("claude-code", "--project")
        check("a project's own program is not run", out.returncode == 1 and "it was not run" in out.stdout and
              not os.path.exists(done), out.stdout)
    # What this program and a shell may read in different ways, each beside a file that makes one reading this program.
    for what, command, link in (("a backslash in quotes", f'"\\{CALLGATE}" hook claude-code', None),
                                ("an assignment", "PATH=$HERE/callgate hook claude-code", "PATH=$HERE/callgate"),
                                ("a relative name", "./callgate hook claude-code", None),
                                ("braces", "$HERE/callgate{,x} hook claude-code", "$HERE/callgate{,x}")):
        with Home() as h:
            done, here = h.path("done"), h.path("project")
            for name in (f"\\{CALLGATE}", "callgate", "callgate_/hook"):
                script(h, "project/" + name, f"touch {done}\n")
            if "PATH" in command:
                os.unlink(h.path("project/callgate"))
                os.rename(h.path("project/callgate_"), h.path("project/callgate"))
            if link:
                path = os.path.join(here, link.replace("$HERE", here))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(CALLGATE, path)
            h.write("project/.claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [
                {"type": "command", "command": command.replace("$HERE", here)}]}]}}))
            out = h.doctor("claude-code", "--project")
            check(f"{what}: a project's program is not run", out.returncode == 1 and "it was not run" in out.stdout and
                  not os.path.exists(done), out.stdout)
    with Home() as h:
        done = h.path("done")
        h.write("project/.claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [
            {"type": "command", "command": CALLGATE, "args": ["hook", "claude-code", "--policy", f"\x1b[2J; touch {done}"]}]}]}}))
        out = h.doctor("claude-code", "--project")
        check("what a project names reaches no terminal as it is", out.returncode == 1 and "\x1b" not in out.stdout, out.stdout)
        check("nor a shell as more than a word", all(len(shlex.split(line)) == 7 for line in mends(out) if " --policy " in line and
                                                     "install" in line), mends(out))
    with Home() as h:
        h.install("claude-code", "--project")
        out = h.doctor("claude-code")
        check("a project's hook that is ours is", out.returncode == 0 and "claude-code, project: " in out.stdout, out.stdout)
        check("of this place only", h.doctor("claude-code", "--user").returncode == 1)


def steering():
    """Every setting that takes the hook out of use is found, at every level, and none of their files can be written."""
    switches = [
        ("claude-code", ".claude/settings.local.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("claude-code", "project/.claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("claude-code", "project/.claude/settings.local.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("claude-code", "other/.claude/settings.json", '{"disableAllHooks": true}', "disableAllHooks"),
        ("claude-code", ".claude/settings.local.json", '{"strictPluginOnlyCustomization": ["skills", "hooks"]}', "strictPlugin"),
        ("gemini", "project/.gemini/settings.json", '{"hooksConfig": {"enabled": false,},} // off', "hooksConfig.enabled"),
        ("gemini", "other/.gemini/settings.json", '{"hooksConfig": {"disabled": ["x", "callgate"]}}', "hooksConfig.disabled"),
        ("codex", ".codex/config.toml", '[features]\nhooks = false\n', "features.hooks"),
        ("codex", ".codex/config.toml", 'features = { a = "}", "hooks" = false }\n', "features.hooks"),
        ("codex", ".codex/config.toml", 'features.hooks = false # off\n', "features.hooks"),
        ("codex", ".codex/config.toml", '[profiles.x.features]\n"hooks"=false\n', "features.hooks"),
        ("codex", ".codex/fast.config.toml", '[features]\nhooks=false\n', "features.hooks"),
        ("codex", "project/.codex/config.toml", '[ features ]\n hooks = false\n', "features.hooks"),
        ("codex", "other/.codex/config.toml", '[features]\nhooks = false\n', "features.hooks"),
    ]
    for host, name, text, word in switches:
        with Home() as h:
            other = h.path("other")
            h.write(".claude.json", json.dumps({"projects": {other: {}}}))
            h.write(".gemini/trustedFolders.json", json.dumps({other: "TRUST_FOLDER"}))
            if name != ".codex/config.toml":
                h.write(".codex/config.toml", f'[projects."{other}"]\ntrust_level = "trusted"\n')
            h.install(host)
            what = f"{host}: {word} in {name}"
            check(f"{what}: without it all is well", h.doctor(host).returncode == 0)
            h.write(name, text)
            done = h.doctor(host)
            check(f"{what}: a fault that names file and setting", done.returncode == 1 and any(
                word in line and h.path(name).split("/fast")[0].rsplit("/config", 1)[0] in line for line in faults(done)), done.stdout)
            check(f"{what}: a deny still comes through the hook", "is denied, byte for byte" in done.stdout, done.stdout)
            check(f"{what}: the agent could not write it", "the agent cannot write" in done.stdout, done.stdout)
    with Home() as h:
        h.install("claude-code", "--no-self-protect")
        done = h.doctor("claude-code")
        check("without protection that is said", "installed without protection" in done.stdout, done.stdout)
    with Home() as h:
        h.install("claude-code")
        h.write(".config/callgate/protect-claude-code.json", '{"rules": []}')
        done = h.doctor("claude-code")
        check("rules that protect nothing are a fault", done.returncode == 1 and any("the agent may write" in f for f in faults(done)),
              done.stdout)
    with Home() as h:
        h.install("claude-code")
        h.write(".claude/settings.local.json", '{"disableAllHooks": tru')
        check("a file that cannot be read is a fault", any("cannot be read" in f for f in faults(h.doctor("claude-code"))))


def usage():
    with Home() as h:
        check("an unknown host", h.doctor("nobody").returncode == 2)
        check("two hosts", h.doctor("codex", "gemini").returncode == 2)
        check("settings of no host", h.doctor("--settings", "x").returncode == 2)
        done = h.doctor("--policy", h.path("policy.json"))
        check("without any hook, policy and journal are looked at", done.returncode == 1 and "policy: 1 rule(s)" in done.stdout and
              "journal and approvals can be written" in done.stdout, done.stdout)


for each in (every_host, spoiled, policies, not_run, steering, usage):
    each()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
