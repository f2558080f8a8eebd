#!/usr/bin/env python3
"""round.py CALLGATE: `hook install`, `doctor` and `hook uninstall` of every host, in one home directory as people have it.

Settings as they are found in the wild, other people's hooks in all of them: whatever is not ours is byte for byte what it was,
with its mode and its links, after each step. Ends with `N passed, N failed`."""
import difflib
import os
import stat
import subprocess
import sys
import tempfile

CALLGATE = os.path.abspath(sys.argv[1])
passed = failed = 0

CLAUDE = '''{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "model": "opus",
  "cleanupPeriodDays": 20,
  "env": { "BASH_DEFAULT_TIMEOUT_MS": "120000", "NOTE": "caf\\u00e9 \\"quoted\\" \\\\ /* none */ // none" },
  "permissions": {
    "allow": ["Bash(npm run lint)", "Bash(git log:*)", "Read(~/.zshrc)", "mcp__github__get_issue"],
    "ask": [ "Bash(git push:*)" ],
    "deny": ["Read(./.env)", "Read(./secrets/**)"],
    "defaultMode": "acceptEdits"
  },
  "hooks": {
    "SessionStart": [{ "matcher": "startup|resume", "hooks": [{ "type": "command", "command": "date +%s > ~/.claude/started" }] }],
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          { "type": "command", "command": "jq -r '.tool_input.command' >> ~/.claude/bash.log", "timeout": 5 },
          { "type": "command", "command": "python3 \\"$CLAUDE_PROJECT_DIR\\"/.claude/hooks/guard.py" }
        ]
      },
      { "matcher": "Edit|MultiEdit|Write", "hooks": [ { "type": "http", "url": "http://127.0.0.1:9/edits" } ] },
      { "matcher": "Read", "command": "an old form without a list of hooks" }
    ],
    "PermissionRequest": [
      {"hooks": [{"type": "command", "command": "terminal-notifier -message 'permission'", "onFailure": "block"}]}
    ],
    "Stop": [ { "hooks": [ { "type": "prompt", "prompt": "Are the tests green?" } ] } ]
  },
  "statusLine": {"type": "command", "command": "~/.claude/statusline.sh", "padding": 0},
  "enabledPlugins": {"formatter@tools": true}
}
'''

GEMINI = '''{
  // Written by hand; the program keeps the comments.
  "ui": { "theme": "GitHub", "hideBanner": true },
  "security": {"auth": {"selectedType": "oauth-personal"}},
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "some-server", "/srv//data"], "trust": false}, // two slashes in a string
  },
\t"hooks": {
\t\t"BeforeTool": [
\t\t\t/* the formatter first */
\t\t\t{ "matcher": "write_file|replace", "sequential": true,
\t\t\t  "hooks": [ { "name": "fmt", "type": "command", "command": "bun fmt.ts --platform gemini", "timeout": 5000 } ] },
\t\t],
\t\t"SessionStart": [
\t\t\t{ "type": "command", "command": "git config core.hooksPath .githooks", "statusMessage": "…" }
\t\t],
\t},
  "terminal.denyList": [ "rm -rf", "mkfs" ],
}'''

CODEX = '''{
    "description": "hooks of this team",
    "hooks": {
        "UserPromptSubmit": [ {"hooks": [ {"type": "command", "command": "node prompt.js", "timeout": 60} ]} ],
        "PreToolUse": [
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "forward codex PreToolUse # managed"
                    }
                ]
            }
        ],
        "PermissionRequest": [{"matcher":"Bash","hooks":[{"type":"command","command":"forward codex PermissionRequest"}]}]
    }
}
'''

CURSOR = '''
{
    "version": 1,
    "hooks": {
      "sessionStart": [ { "command": "sumo forward sessionStart" } ],
      "beforeShellExecution": [
        {
          "command": ".cursor/hooks/validate-mounted-env-files.sh"
        },
        {
          "command": "./hooks/audit.sh", "timeout": 3, "failClosed": true, "matcher": "curl|wget"
        }
      ],
      "beforeMCPExecution": [],
      "afterFileEdit": [{"command":"prettier --write"}]
    }
  }
'''

# The host's own files, and what stands beside them. A text, or a link's target behind "->".
FILES = {
    ".claude/settings.json": CLAUDE,
    ".claude/settings.local.json": '{"permissions":{"allow":["Bash(ls:*)"]}}',
    ".claude/CLAUDE.md": "# Mine\n",
    ".claude/hooks/guard.py": "import sys\n",
    ".claude.json": '{"numStartups": 7, "mcpServers": {"git": {"command": "git-mcp"}}}\n',
    ".gemini/settings.json": "->../dotfiles/gemini.json",
    "dotfiles/gemini.json": GEMINI,
    ".gemini/GEMINI.md": "# Mine\r\n",
    ".codex/hooks.json": CODEX,
    ".codex/config.toml": 'model = "gpt"\n[hooks]\n[[hooks.PreToolUse]]\nmatcher = "Bash"\n[mcp_servers.git]\ncommand = "git-mcp"\n',
    ".cursor/hooks.json": CURSOR.replace("\n", "\r\n"),
    ".cursor/mcp.json": '{"mcpServers":{"git":{"command":"git-mcp"}}}',
    ".config/opencode/opencode.json": '{\n  "$schema": "https://opencode.ai/config.json",\n  "plugin": ["opencode-notify"], // mine\n'
                                      '  "permission": {"bash": "ask",},\n}\n',
    ".config/opencode/plugins/notify.js": 'export const Notify = async () => ({ "tool.execute.before": async () => {} })\n',
    ".config/opencode/plugins/callgate-notes.js": "// not ours, whatever its name\nexport const Notes = async () => ({})\n",
    ".config/other/settings": "\0\1\2",
    "policy.json": '[{"id":"etc","effect":"deny","match":{"pathPrefix":"/etc"},"reason":"no"}]\n',
}
MODES = {".claude/settings.json": 0o640, ".codex/hooks.json": 0o600, ".claude/hooks/guard.py": 0o755, "dotfiles/gemini.json": 0o664}
SETTINGS = {"claude-code": ".claude/settings.json", "gemini": "dotfiles/gemini.json", "codex": ".codex/hooks.json",
            "cursor": ".cursor/hooks.json", "opencode": ".config/opencode/plugins/callgate.js"}


def check(what, ok, *shown):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *shown, sep="\n    ")


def snapshot(home):
    """What is there: for each path its kind, mode and bytes. Without the state directory, which is ours."""
    found = {}
    for folder, folders, files in os.walk(home):
        if folder == home and "state" in folders:
            folders.remove("state")
        for name in files + folders:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            content = os.readlink(path) if stat.S_ISLNK(info.st_mode) else \
                open(path, "rb").read() if stat.S_ISREG(info.st_mode) else None
            found[os.path.relpath(path, home)] = (info.st_mode, info.st_uid, info.st_gid, content)
    return found


def make(home):
    for name, text in FILES.items():
        path = os.path.join(home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if text.startswith("->"):
            os.symlink(text[2:], path)
            continue
        with open(path, "wb") as file:
            file.write(text.encode())
        os.chmod(path, MODES.get(name, 0o644))


def run(home, *words):
    return subprocess.run([CALLGATE, *words, "--home", home, "--state", os.path.join(home, "state")], cwd=home,
                          capture_output=True, text=True, timeout=120)


def only_inserted(old, new):
    """Whether new is old with pieces put in, all of them ours."""
    pieces = []
    for what, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "insert":
            pieces.append(new[j1:j2])
        elif what != "equal":
            return False
    return b"callgate" in b"".join(pieces)


def differences(a, b):
    return sorted(name for name in set(a) | set(b) if a.get(name) != b.get(name))


def ours(host):
    """What an installation makes or changes."""
    made = {SETTINGS[host], ".config/callgate", f".config/callgate/protect-{host}.json"}
    return made


def one_after_another(home, before):
    """Installs every host's hook, each into what the one before has left, and takes them out again."""
    stages = [before]
    for host, name in SETTINGS.items():
        done = run(home, "hook", "install", host, "--policy", os.path.join(home, "policy.json"))
        check(f"{host}: installs", done.returncode == 0, done.stdout, done.stderr)
        now = snapshot(home)
        changed = differences(stages[-1], now)
        check(f"{host}: changes nothing but its own", set(changed) <= ours(host) and name in changed, changed)
        old, new = stages[-1].get(name), now[name]
        check(f"{host}: only adds", old is None or (old[:3] == new[:3] and only_inserted(old[3], new[3])), new[3].decode())
        done = run(home, "doctor", host)
        check(f"{host}: the doctor finds no fault", done.returncode == 0, done.stdout, done.stderr)
        check(f"{host}: and changes nothing", differences(now, snapshot(home)) == [], differences(now, snapshot(home)))
        stages.append(now)
    done = run(home, "doctor")
    check("the doctor finds no fault in any", done.returncode == 0 and differences(stages[-1], snapshot(home)) == [], done.stdout)
    return stages


def taken_out(home, order, before):
    for host in order:
        done = run(home, "hook", "uninstall", host)
        check(f"{host}: uninstalls", done.returncode == 0, done.stdout, done.stderr)
        now = snapshot(home)
        check(f"{host}: is what it was", now.get(SETTINGS[host]) == before.get(SETTINGS[host]), now.get(SETTINGS[host]))
    left = differences(before, snapshot(home))
    check("all is what it was", left == [], left)


def main():
    for order in (list(SETTINGS), list(reversed(SETTINGS))):
        with tempfile.TemporaryDirectory(prefix="callgate-round-") as folder:
            home = os.path.realpath(folder)
            make(home)
            before = snapshot(home)
            one_after_another(home, before)
            taken_out(home, order, before)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
