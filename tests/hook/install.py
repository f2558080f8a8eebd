#!/usr/bin/env python3
"""install.py CALLGATE: `hook install` and `hook uninstall` on settings with other people's hooks in them.

Whatever was there must be there afterwards, and uninstalling must give the very bytes back."""
import json
import os
import re
import shlex
import stat
import subprocess
import sys
import tempfile

CALLGATE = os.path.abspath(sys.argv[1])
# What install names: the program without shared objects, where it is built.
PROGRAM = CALLGATE + "-static" if os.path.exists(CALLGATE + "-static") else CALLGATE
passed = failed = 0

# Real forms of each host's settings. What Python's json cannot read stands beside its meaning.
SETTINGS = {
    "claude-code": (".claude/settings.json", [
        '{\n  "permissions": {"allow": ["Bash(npm run lint)"], "deny": []},\n  "hooks": {\n    "PreToolUse": [\n'
        '      {\n        "matcher": "Edit|Write",\n        "hooks": [{"type": "command", "command": "~/fmt.sh", "timeout": 5}]\n'
        '      }\n    ],\n    "Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}]\n  },\n  "model": "opus"\n}\n',
        '{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"x"}]}]}}',
        '{\n\t"hooks": {\n\t\t"PermissionRequest": [\n\t\t\t{"hooks": []}\n\t\t]\n\t},\n\t"env": {"A": "\\u00e9"}\n}',
        '{\r\n    "env": {"A": "1"},\r\n    "hooks": {\r\n        "PreToolUse": []\r\n    }\r\n}\r\n',
        '{ "hooks": {}, "x": [1,2 , 3] }\n',
        '{}', '{\n}\n', '{"a": 1}', '\n', '', '  {"b": {"hooks": {"PreToolUse": 1}}}  ',
        '{\n  "hooks": {\n    "PreToolUse": [\n      {\n        "hooks": [\n          {"type": "command", "command": "/opt/callgate-lint hook other"}\n'
        '        ]\n      }\n    ]\n  }\n}\n',
    ]),
    "gemini": (".gemini/settings.json", [
        '{\n  // my theme\n  "theme": "GitHub", /* and more */\n  "hooks": {\n    // formatting\n    "BeforeTool": [\n'
        '      // first\n      {"matcher": "write_file", "hooks": [{"name": "fmt", "type": "command", "command": "fmt"}]}, // last\n'
        '    ],\n  },\n}\n',
        '{"mcpServers": {"git": {"command": "git-mcp"}}, "hooks": {"AfterTool": []}}\n',
        '{\n  "hooks": { /* nothing yet */ }\n}\n',
        '{\n  "a": "// no comment",\n  "b": "/* none */"\n}\n',
    ]),
    "codex": (".codex/hooks.json", [
        '{\n  "hooks": {\n    "PreToolUse": [\n      {"matcher": "Bash", "hooks": [{"type": "command", "command": "audit", "timeout": 10}]}\n'
        '    ],\n    "Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]\n  }\n}\n',
        '{"hooks":{}}\n',
    ]),
    "cursor": (".cursor/hooks.json", [
        '{\n  "version": 1,\n  "hooks": {\n    "afterFileEdit": [{"command": "./hooks/format.sh"}],\n'
        '    "beforeShellExecution": [\n      {"command": "./hooks/audit.sh", "timeout": 3},\n      {"command": "./b.sh"}\n    ]\n  }\n}\n',
        '{"version":1,"hooks":{"preToolUse":[{"command":"a"}],"stop":[]}}',
        '{\n  "hooks": {}\n}\n',
    ]),
}
COUNTS = {"claude-code": 2, "gemini": 1, "codex": 2, "cursor": 5}


def check(what, ok, more=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"failed: {what} {more}")


def meaning(text):
    """What settings mean, comments and trailing commas aside."""
    text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda m: m.group(1) or " ", text, flags=re.S)
    text = re.sub(r'("(?:\\.|[^"\\])*")|,(\s*[\]}])', lambda m: m.group(1) or m.group(2), text)
    return json.loads(text) if text.strip() else {}


def without_ours(value):
    """The same without our hooks and what is empty then."""
    if isinstance(value, dict):
        if any(isinstance(v, str) and v.startswith(PROGRAM) for v in value.values()):
            return None
        value = {k: without_ours(v) for k, v in value.items() if k != "version"}
        if value.get("hooks", True) == []:
            return None  # a group
        return {k: v for k, v in value.items() if v not in (None, [], {})} or None
    if isinstance(value, list):
        return [v for v in map(without_ours, value) if v not in (None, [], {})]
    return value


class Home:
    """A home directory with a policy in it."""

    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="callgate-install-")
        self.home = os.path.realpath(self.dir.name)
        self.write("policy.json", '[{"id":"x","effect":"deny","match":{"pathPrefix":"/etc"},"reason":"no"}]')
        return self

    def __exit__(self, *_):
        self.dir.cleanup()

    def path(self, name):
        return os.path.join(self.home, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(text.encode())

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read().decode()

    def run(self, *words, cwd=None, env=None):
        return subprocess.run([CALLGATE, "hook", *words, "--home", self.home, "--state", self.path("state")],
                              cwd=cwd or self.home, env=env, capture_output=True, text=True, timeout=60)

    def install(self, host, *words, **more):
        return self.run("install", host, "--policy", self.path("policy.json"), *words, **more)


def there_and_back(host, name, text):
    what = f"{host} {text[:60]!r}"
    with Home() as h:
        h.write(name, text)
        os.chmod(h.path(name), 0o640)
        result = h.install(host)
        check(f"{what}: installs", result.returncode == 0, result.stderr)
        after = h.read(name)
        check(f"{what}: is well-formed", isinstance(meaning(after), dict))
        check(f"{what}: names the program {COUNTS[host]} times", after.count(f'"command": "{PROGRAM}') == COUNTS[host] or
              after.count(f'"command":"{PROGRAM}') == COUNTS[host], after)
        check(f"{what}: means the same for others", without_ours(meaning(after)) == without_ours(meaning(text)), after)
        check(f"{what}: keeps its mode", stat.S_IMODE(os.stat(h.path(name)).st_mode) == 0o640)
        check(f"{what}: installs again", h.install(host, "--grant").returncode == 0)
        again = h.read(name)
        check(f"{what}: once", again.count("--grant") == COUNTS[host] and without_ours(meaning(again)) == without_ours(meaning(text)))
        check(f"{what}: uninstalls", h.run("uninstall", host).returncode == 0)
        check(f"{what}: gives the bytes back", h.read(name) == text, repr(h.read(name)))
        check(f"{what}: keeps its mode to the end", stat.S_IMODE(os.stat(h.path(name)).st_mode) == 0o640)
        check(f"{what}: leaves nothing behind", not os.path.exists(h.path(f".config/callgate/protect-{host}.json")) and
              os.listdir(h.path("state/hooks")) == [])
        check(f"{what}: and then there is none", h.run("uninstall", host).returncode == 1)


def changed_meanwhile(host, name, text):
    """Somebody edits the settings while the hook is in them."""
    mark = '"hooks"'
    if "hooks" not in meaning(text):
        return
    what = f"{host} changed {text[:60]!r}"
    with Home() as h:
        h.write(name, text)
        h.install(host)
        h.write(name, h.read(name).replace(mark, '"added": [true], "hooks"', 1))
        check(f"{what}: uninstalls", h.run("uninstall", host).returncode == 0)
        check(f"{what}: only ours goes", h.read(name) == text.replace(mark, '"added": [true], "hooks"', 1), repr(h.read(name)))


def without_record(host, name, text):
    """The record is lost: our hooks are known by what they run."""
    what = f"{host} no record {text[:60]!r}"
    with Home() as h:
        h.write(name, text)
        h.install(host)
        for file in os.listdir(h.path("state/hooks")):
            os.remove(h.path("state/hooks/" + file))
        check(f"{what}: uninstalls", h.run("uninstall", host).returncode == 0)
        check(f"{what}: nothing of ours is left", PROGRAM not in h.read(name), h.read(name))
        check(f"{what}: all of others' is", without_ours(meaning(h.read(name))) == without_ours(meaning(text)), h.read(name))


def no_settings(host, name):
    with Home() as h:
        check(f"{host}: installs where nothing is", h.install(host).returncode == 0)
        check(f"{host}: private", stat.S_IMODE(os.stat(h.path(name)).st_mode) == 0o600)
        check(f"{host}: uninstalls", h.run("uninstall", host).returncode == 0)
        check(f"{host}: nothing is there again", not os.path.exists(h.path(name)))


def a_link(host, name):
    with Home() as h:
        h.write("dotfiles/settings", "{}\n")
        os.makedirs(os.path.dirname(h.path(name)))
        os.symlink(h.path("dotfiles/settings"), h.path(name))
        check(f"{host} link: installs", h.install(host).returncode == 0)
        check(f"{host} link: stays a link", os.path.islink(h.path(name)) and PROGRAM in h.read("dotfiles/settings"))
        check(f"{host} link: uninstalls", h.run("uninstall", host).returncode == 0)
        check(f"{host} link: as it was", os.path.islink(h.path(name)) and h.read("dotfiles/settings") == "{}\n")
        os.remove(h.path("dotfiles/settings"))
        check(f"{host} link to nothing: refused", h.install(host).returncode == 2)


def refused(host, name, text, why):
    with Home() as h:
        h.write(name, text)
        result = h.install(host)
        check(f"{why}: refused", result.returncode == 2 and result.stdout == "", result.stdout)
        check(f"{why}: told", result.stderr.startswith("callgate: "), result.stderr)
        check(f"{why}: untouched", h.read(name) == text and os.listdir(os.path.dirname(h.path(name))) == [os.path.basename(name)])


def protection():
    """The rules that come along hold, whatever the policy allows."""
    with Home() as h:
        h.write("policy.json", '[{"id":"all","effect":"auto_approve","match":{"toolPrefix":"W"}}]')
        h.write(".claude/settings.json", "{}")
        h.install("claude-code", "--grant")
        hook = meaning(h.read(".claude/settings.json"))["hooks"]["PreToolUse"][0]["hooks"][0]
        command = [hook["command"]] + hook["args"]

        def judge(path, tool="Write"):
            message = {"session_id": "s", "cwd": h.home, "hook_event_name": "PreToolUse", "tool_name": tool,
                       "tool_input": {"file_path": path}}
            return subprocess.run(command, input=json.dumps(message), capture_output=True, text=True).stdout

        for path in ("policy.json", ".claude/settings.json", "state/journal.jsonl", "state", "p/.claude/settings.local.json",
                     ".claude/../policy.json", "/etc/callgate/policy.json", PROGRAM, ".config/callgate/protect-claude-code.json",
                     ".claude.json", f"file://{h.home}/policy.json"):
            check(f"writing {path} is denied", '"deny"' in judge(path), judge(path))
        check("the rest is not", '"allow"' in judge("src/a.c"))
        check("reading is not", judge("policy.json", "Read") == "")
        os.remove(h.path(".config/callgate/protect-claude-code.json"))
        check("without the rules everything is denied", '"deny"' in judge("src/a.c"))
        h.install("claude-code", "--no-self-protect")
        check("unless they were left out", "--protect" not in h.read(".claude/settings.json"))


def steering():
    """What steers a host is not the agent's to write: in the user's settings, in every project that the user trusts, and
    in the one that a call comes from, of which nobody knew when the hook was installed."""
    hosts = {
        "claude-code": (["Write", "Edit"], ".claude/settings.json .claude/settings.local.json .claude/plugins/x .claude.json",
                        ".claude/settings.json .claude/settings.local.json .claude/hooks/x.sh .mcp.json"),
        "gemini": (["write_file", "replace"], ".gemini/settings.json .gemini/.env .gemini/trustedFolders.json",
                   ".gemini/settings.json .gemini/.env"),
        "cursor": (["Write", "StrReplace"], ".cursor/hooks.json .cursor/mcp.json", ".cursor/hooks.json .cursor/hooks/x"),
        "codex": ([], ".codex/config.toml .codex/hooks.json", ".codex/config.toml"),
    }
    for host, (tools, of_home, of_project) in hosts.items():
        with Home() as h:
            os.mkdir(h.path("new"))
            h.write(".claude.json", json.dumps({"projects": {h.path("trusted"): {}}}))
            h.write(".gemini/trustedFolders.json", json.dumps({h.path("trusted"): "TRUST_FOLDER"}))
            h.write(".codex/config.toml", f"[projects.'{h.path('trusted')}']\ntrust_level = 'trusted'\n")
            h.install(host, "--cwd", h.path("elsewhere"))
            entry = meaning(h.read(SETTINGS[host][0]))["hooks"]
            entry = list(entry.values())[0][0]
            entry = entry.get("hooks", [entry])[0]
            command = [entry["command"], *entry["args"]] if "args" in entry else shlex.split(entry["command"])
            files = [h.path(f) for f in of_home.split()] + [h.path(f"new/{f}") for f in of_project.split()]
            if host != "cursor":
                files += [h.path(f"trusted/{f}") for f in of_project.split()]
            calls = [(tool, {"file_path": f}) for tool in tools for f in files] + [("write_note", {"path": f}) for f in files]
            if host == "codex":
                calls += [("apply_patch", {"command": f"*** Begin Patch\n*** Add File: {f}\n+x\n*** End Patch"}) for f in files]
            for tool, arguments in calls:
                message = {"session_id": "s", "conversation_id": "s", "cwd": h.path("new/sub"), "workspace_roots": [h.path("new")],
                           "hook_event_name": {"gemini": "BeforeTool", "cursor": "preToolUse"}.get(host, "PreToolUse"),
                           "tool_name": tool, "tool_input": arguments}
                out = subprocess.run(command, input=json.dumps(message), capture_output=True, text=True).stdout
                check(f"{host}: {tool} {arguments} is denied", '"deny"' in out, out)


def options():
    with Home() as h:
        result = h.install("claude-code", "--dry-run")
        check("dry run: says what", "would write" in result.stdout and '"onFailure": "block"' in result.stdout, result.stdout)
        check("dry run: writes nothing", sorted(os.listdir(h.home)) == ["policy.json"])
        h.write("project/.mcp.json", '{"mcpServers":{"git":{"command":"/usr/bin/callgate","args":["run","--","git-mcp"]},'
                                     '"hg":{"command":"hg"}}}')
        h.install("claude-code", "--project", "--deadline", "20", cwd=h.path("project"))
        text = h.read("project/.claude/settings.json")
        check("a project's settings", "hook" in text and "--except-server" not in text, text)
        check("the host waits longer than we do", '"timeout": 50' in text and '"20"' in text)
        check("can be read by others", stat.S_IMODE(os.stat(h.path("project/.claude/settings.json")).st_mode) == 0o644)
        check("its place is the project", h.run("uninstall", "claude-code").returncode == 1)
        check("uninstalls", h.run("uninstall", "claude-code", "--project", cwd=h.path("project")).returncode == 0)
        check("two scopes are one too many", h.install("claude-code", "--project", "--user").returncode == 2)
        check("no such host", h.install("emacs").returncode == 2)
        check("opencode has no managed place", h.install("opencode", "--managed").returncode == 2)
        h.write("policy.json", "[{")
        check("a policy that does not load", h.install("claude-code").returncode == 2 and not os.path.exists(h.path(".claude")))
        os.remove(h.path("policy.json"))
        check("a policy that is not there", h.install("claude-code").returncode == 2)
        h.write(".config/callgate/policy.json", "[]")
        check("the standard places", h.run("install", "claude-code").returncode == 0 and
              '"--policy"' not in h.read(".claude/settings.json"))
    with Home() as h:
        os.rename(h.path("policy.json"), h.path("it's a $policy.json"))
        h.run("install", "gemini", "--policy", h.path("it's a $policy.json"))
        command = meaning(h.read(".gemini/settings.json"))["hooks"]["BeforeTool"][0]["hooks"][0]["command"]
        message = json.dumps({"session_id": "s", "cwd": h.home, "hook_event_name": "BeforeTool", "tool_name": "read_file",
                              "tool_input": {"file_path": "a"}})
        result = subprocess.run(["bash", "-c", command], input=message, capture_output=True, text=True)
        check("a name that a shell would take apart", (result.returncode, result.stdout) == (0, ""), result)
        check("uninstalls it", h.run("uninstall", "gemini").returncode == 0)


def managed():
    """For everybody on the machine; only said, so that this machine's stay as they are."""
    places = {"claude-code": "/etc/claude-code/managed-settings.json", "gemini": "/etc/gemini-cli/settings.json",
              "codex": "/etc/codex/hooks.json", "cursor": "/etc/cursor/hooks.json"}
    for host, place in places.items():
        with Home() as h:
            result = h.install(host, "--managed", "--dry-run")
            check(f"{host}: its managed settings", result.returncode == 0 and f"would write {place}\n" in result.stdout and
                  f"/etc/callgate/protect-{host}.json" in result.stdout, result.stdout)


def versions():
    """A host that ignores the switch is told of."""
    for printed, warned in (("2.1.295 (Claude Code)", False), ("2.1.294 (Claude Code)", True), ("2.2.0", False), ("1.9.999", True),
                            ("3.0.0-beta.1", False), ("nothing known", True), (None, True)):
        with Home() as h:
            env = dict(os.environ, PATH=h.path("bin"))
            if printed:
                h.write("bin/claude", f'#!/bin/sh\necho "{printed}"\n')
                os.chmod(h.path("bin/claude"), 0o755)
            result = h.install("claude-code", env=env)
            check(f"Claude Code {printed}: installs", result.returncode == 0)
            check(f"Claude Code {printed}: {'a' if warned else 'no'} warning", ("2.1.295 ignore the switch" in result.stderr) == warned,
                  result.stderr)


def plugin():
    with Home() as h:
        name = ".config/opencode/plugins/callgate.js"
        check("plugin: installs", h.install("opencode").returncode == 0)
        check("plugin: with its command", f'const COMMAND = ["{PROGRAM}", "hook", "opencode", ' in h.read(name))
        check("plugin: again", h.install("opencode").returncode == 0)
        check("plugin: uninstalls", h.run("uninstall", "opencode").returncode == 0 and not os.path.exists(h.path(name)))
        h.write(name, "export const Other = 1\n")
        check("plugin: another's is not touched", h.install("opencode").returncode == 2 and
              h.run("uninstall", "opencode").returncode == 1 and h.read(name) == "export const Other = 1\n")


def main():
    for host, (name, texts) in SETTINGS.items():
        for text in texts:
            there_and_back(host, name, text)
            changed_meanwhile(host, name, text)
            without_record(host, name, text)
        no_settings(host, name)
        a_link(host, name)
    name = ".claude/settings.json"
    refused("claude-code", name, '{"hooks": ', "settings cut off")
    refused("claude-code", name, '[]', "settings that are no object")
    refused("claude-code", name, '{"hooks": []}', "hooks that are a list")
    refused("claude-code", name, '{"hooks": {"PreToolUse": {}}}', "an event that is no list")
    refused("claude-code", name, '{"hooks": {}, "hooks": {}}', "a repeated key")
    protection()
    steering()
    options()
    managed()
    versions()
    plugin()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
