#!/usr/bin/env python3
"""wrap.py CALLGATE MCP_SERVER: `wrap` and `unwrap` on configurations as people have them.

Wrapping and unwrapping gives the very bytes back; wrapped twice is wrapped once; what a wrapped entry starts is the gate
with the same command behind it. Ends with `N passed, N failed`."""
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib

CALLGATE, SERVER = (os.path.abspath(path) for path in sys.argv[1:3])
# Offers two tools: what is wrapped is pinned to them.
OFFERS = '''
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    r = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("ls", "rm")]} if m["method"] == "tools/list" else {}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
'''
passed = failed = 0

# NAME, text, servers that are started, servers with a URL.
CONFIGS = [
    ("claude_desktop_config.json", '{\n  "mcpServers": {\n    "filesystem": {\n      "command": "npx",\n      "args": [\n        "-y",\n'
     '        "@modelcontextprotocol/server-filesystem",\n        "/Users/username/Desktop",\n        "/path/to/other/allowed/dir"\n'
     '      ]\n    }\n  }\n}\n', 1, 0),
    ("claude_desktop_config.json", '{"mcpServers":{"github":{"command":"docker","args":["run","-i","--rm","-e","GITHUB_PERSONAL_ACCESS_TOKEN",'
     '"ghcr.io/github/github-mcp-server"],"env":{"GITHUB_PERSONAL_ACCESS_TOKEN":"<YOUR_TOKEN>"}}}}', 1, 0),
    ("claude_desktop_config.json", '{\r\n  "mcpServers": {\r\n    "memory": {\r\n      "command": "npx",\r\n      "args": ["-y", "@modelcontextprotocol/server-memory"]\r\n'
     '    },\r\n    "sqlite": {\r\n      "command": "uvx",\r\n      "args": ["mcp-server-sqlite", "--db-path", "~/test.db"]\r\n    }\r\n  },\r\n'
     '  "globalShortcut": "Ctrl+Space"\r\n}\r\n', 2, 0),
    (".mcp.json", '{\n  "mcpServers": {\n    "api-server": {\n      "type": "http",\n      "url": "${API_BASE_URL:-https://api.example.com}/mcp",\n'
     '      "headers": {\n        "Authorization": "Bearer ${API_KEY}"\n      }\n    },\n    "postgres": {\n      "type": "stdio",\n      "command": "npx",\n'
     '      "args": ["-y", "@bytebase/dbhub", "--dsn", "${DSN}"],\n      "env": {}\n    }\n  }\n}\n', 1, 1),
    (".mcp.json", '{ "mcpServers": { "shared": { "command": "/path/to/server", "args": [], "env": { "K": "v" } } } }', 1, 0),
    (".mcp.json", '{ "mcpServers": { "bare": { "command": "/path/to/server" } } }\n', 1, 0),
    (".mcp.json", '{"mcpServers":{"odd \\u00e9\\"name": {"args": [ "a b", "\\"q\\"", "\\u00fc" ], "command": "ru\\u006e"}}}', 1, 0),
    (".mcp.json", '{"mcpServers": {}}\n', 0, 0),
    (".claude.json", '{"numStartups":7,"mcpServers":{"ctx":{"type":"stdio","command":"npx","args":["-y","@upstash/context7-mcp"]}},'
     '"projects":{"/home/me/p":{"allowedTools":[],"mcpServers":{"local":{"type":"stdio","command":"uvx","args":["mcp-server-git","--repository","."],'
     '"env":{}},"remote":{"type":"sse","url":"https://mcp.example.com/sse"}},"hasTrustDialogAccepted":true}}}', 2, 1),
    ("mcp.json", '{\n  // Cursor\n  "mcpServers": {\n    "playwright": {\n      "command": "npx", // the newest\n      "args": [\n        "@playwright/mcp@latest", // tools\n      ],\n'
     '    },\n  },\n}\n', 1, 0),
    ("mcp.json", '{"mcpServers":{"server-name":{"url":"http://localhost:3000/sse","env":{"API_KEY":"value"}},"x":{"command":"node","args":["/a/b.js"],'
     '"envFile":"${workspaceFolder}/.env"}}}', 1, 1),
    ("mcp.json", '{\n\t"inputs": [\n\t\t{ "type": "promptString", "id": "k", "description": "Key", "password": true }\n\t],\n\t"servers": {\n'
     '\t\t"perplexity": {\n\t\t\t"type": "stdio",\n\t\t\t"command": "npx",\n\t\t\t"args": ["-y", "server-perplexity-ask"],\n'
     '\t\t\t"env": { "PERPLEXITY_API_KEY": "${input:k}" }\n\t\t},\n\t\t"fetch": {\n\t\t\t"type": "stdio",\n\t\t\t"command": "uvx",\n\t\t\t"args": ["mcp-server-fetch"]\n'
     '\t\t},\n\t\t"github": { "url": "https://api.githubcopilot.com/mcp/" }\n\t}\n}', 2, 1),
    ("settings.json", '{\n  "editor.tabSize": 4, // mine\n  "mcp": {\n    "servers": {\n      "my-server": { "command": "my-command", "args": [] }\n    }\n  }\n}\n', 1, 0),
    ("settings.json", '{\n  "theme": "GitHub",\n  "mcpServers": {\n    "pythonTools": {\n      "command": "python",\n      "args": ["-m", "my_mcp_server", "--port", "8080"],\n'
     '      "cwd": "./mcp-servers/python",\n      "env": {"DATABASE_URL": "$DB_CONNECTION_STRING"},\n      "timeout": 15000,\n      "trust": true\n    },\n'
     '    "httpServer": { "httpUrl": "http://localhost:3000/mcp" }\n  },\n  "hooks": {}\n}\n', 1, 1),
    ("opencode.json", '{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {\n    "mcp_everything": {\n      "type": "local",\n      "command": ["npx", "-y", "@modelcontextprotocol/server-everything"],\n'
     '      "enabled": true\n    },\n    "sentry": { "type": "remote", "url": "https://mcp.sentry.dev/mcp", "oauth": {} }\n  }\n}\n', 1, 1),
    ("opencode.jsonc", '{\n  // one word\n  "mcp": { "one": { "type": "local", "command": [ "server" ] } } /* end */\n}\n', 1, 0),
    ("mcp_config.json", '{\n  "mcpServers": {\n    "figma": {\n      "serverUrl": "https://x.example/mcp"\n    },\n    "stripe": {\n      "args": ["-y", "@stripe/mcp", "--tools=all"],\n'
     '      "command": "npx",\n      "disabled": false,\n      "alwaysAllow": ["a"]\n    }\n  }\n}', 1, 1),
    ("config.toml", 'model = "o3"\n\n[mcp_servers.context7]\ncommand = "npx"\nargs = ["-y", "@upstash/context7-mcp"]\n\n[mcp_servers.context7.env]\nMY_ENV_VAR = "MY_ENV_VALUE"\n\n'
     '[mcp_servers."figma remote"]\nurl = "https://mcp.figma.com/mcp"\nbearer_token_env_var = "FIGMA"\n\n[tui]\nnotifications = true\n', 1, 1),
    ("config.toml", '# mine\r\n[mcp_servers.local]\r\nstartup_timeout_sec = 20\r\ncommand = \'/opt/my server/bin\'   # quoted\r\nenabled = true\r\n', 1, 0),
    ("config.toml", '[mcp_servers.long]\nargs = [\n  "--flag", # what for\n  \'lit "eral\',\n]\ncommand = "uvx"\n', 1, 0),
    ("config.toml", '[mcp_servers.empty]\ncommand = "docker"\nargs = []\n[other]\nargs = ["x"]\ncommand = "y"\n', 1, 0),
    ("config.toml", 'mcp_servers.inline = { command = "npx", args = ["x"] }\n', 0, 0),
]


def check(what, ok, *shown):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *shown, sep="\n    ")


def meaning(name, text):
    """The servers of a configuration: what is started, by its path in the document."""
    if name.endswith(".toml"):
        doc = tomllib.loads(text)
    else:
        text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda m: m.group(1) or " ", text, flags=re.S)
        text = re.sub(r'("(?:\\.|[^"\\])*")|,(\s*[\]}])', lambda m: m.group(1) or m.group(2), text)
        doc = json.loads(text)
    found, rest = {}, {}

    def walk(value, path):
        if isinstance(value, dict):
            if "command" in value and "other" not in path and "inline" not in path:
                command, value = value["command"], dict(value)
                line = list(command) if isinstance(command, list) else [command] + value.pop("args", [])
                del value["command"]
                found[path] = line
            for key, inner in value.items():
                walk(inner, path + (key,))
        else:
            rest[path] = value
    walk(doc, ())
    return found, rest


def run(*argv, stdin=""):
    return subprocess.run([CALLGATE, *argv], input=stdin, capture_output=True, text=True, timeout=60)


def there_and_back(name, text, started, by_url):
    what = f"{name} {text[:50]!r}"
    with tempfile.TemporaryDirectory(prefix="callgate-wrap-") as folder:
        file, state, policy = (os.path.join(os.path.realpath(folder), x) for x in (name, "state", "policy.json"))
        with open(file, "wb") as f:
            f.write(text.encode())
        os.chmod(file, 0o640)
        with open(policy, "w", encoding="utf-8") as f:
            f.write("[]")
        words = (file, "--state", state, "--policy", f"user={policy}")
        dry = run("wrap", "--dry-run", *words)
        check(f"{what}: --dry-run changes nothing", open(file, "rb").read() == text.encode() and
              dry.stdout.count("would wrap:") == started, dry.stdout, dry.stderr)
        done = run("wrap", *words)
        wrapped = open(file, "rb").read().decode()
        check(f"{what}: {started} wrapped", done.returncode == (0 if started else 1) and done.stdout.count("wrapped: ") == started and
              done.stdout.count("not covered") == done.stdout.count("mcp-remote") == by_url, done.stdout, done.stderr)
        check(f"{what}: its mode stays", os.stat(file).st_mode & 0o777 == 0o640)
        old, old_rest = meaning(name, text)
        new, new_rest = meaning(name, wrapped)
        check(f"{what}: nothing else changes", old_rest == new_rest)
        for path, line in old.items():
            got = new.get(path, [])
            at = got.index("--") if "--" in got else 0
            gate = got[:at]
            named = gate[-1] == f"--server={path[-1]}" or gate[-2:] == ["--server", path[-1]] if at else False
            check(f"{what}: {path} runs the same behind the gate", got[at + 1:] == line and named and os.access(got[0], os.X_OK) and
                  gate[1:8] == ["run", "--tools", "pin", "--policy", f"user={policy}", "--state", state], got)
        again = run("wrap", *words)
        check(f"{what}: twice is once", open(file, "rb").read().decode() == wrapped and again.stdout.count("already behind a gate: ") == started, again.stdout)
        if started:
            copy = re.search(r"the file as it was: (.*)", done.stdout)
            check(f"{what}: a copy is kept", copy and open(copy.group(1), "rb").read() == text.encode())
        done = run("unwrap", file, "--state", state)
        check(f"{what}: unwrapped, it is what it was", open(file, "rb").read() == text.encode(), done.stdout, done.stderr,
              repr(open(file, "rb").read()), repr(text))
        done = run("unwrap", file, "--state", state)
        check(f"{what}: and no less", open(file, "rb").read() == text.encode(), done.stdout)
        if not name.endswith(".toml") and started:
            # Somebody's formatter has been over it.
            run("wrap", *words)
            document = meaning(name, wrapped)
            plain = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda m: m.group(1) or " ", wrapped, flags=re.S)
            plain = re.sub(r'("(?:\\.|[^"\\])*")|,(\s*[\]}])', lambda m: m.group(1) or m.group(2), plain)
            with open(file, "w", encoding="utf-8") as f:
                json.dump(json.loads(plain), f, indent=3)
            run("unwrap", file, "--state", state)
            check(f"{what}: formatted meanwhile, it means what it meant", meaning(name, open(file, encoding="utf-8").read()) == (old, old_rest), document)


def answers():
    """A wrapped server answers, and a denied call does not reach it."""
    with tempfile.TemporaryDirectory(prefix="callgate-wrap-") as folder:
        home = os.path.realpath(folder)
        os.makedirs(os.path.join(home, ".cursor"))
        os.makedirs(os.path.join(home, "project/.vscode"))
        policy = os.path.join(home, "p.json")
        with open(policy, "w", encoding="utf-8") as f:
            json.dump([{"id": "no", "effect": "deny", "match": {"server": "files", "tool": "rm"}, "reason": "r"}], f)
        for name, key in ((".cursor/mcp.json", "mcpServers"), ("project/.vscode/mcp.json", "servers")):
            with open(os.path.join(home, name), "w", encoding="utf-8") as f:
                json.dump({key: {"files": {"command": sys.executable, "args": ["-c", OFFERS]}}}, f)
        done = run("wrap", "--home", home, "--cwd", os.path.join(home, "project"), "--state", os.path.join(home, "s"), "--policy", policy)
        check("known places are found", done.returncode == 0 and "2 server(s) wrapped" in done.stdout, done.stdout, done.stderr)
        done = run("wrap", "--home", home, "--cwd", home, "--state", os.path.join(home, "s"), "--client", "gemini")
        check("of one client", done.returncode == 1 and "0 server(s) wrapped" in done.stdout, done.stdout, done.stderr)
        for name, key in ((".cursor/mcp.json", "mcpServers"), ("project/.vscode/mcp.json", "servers")):
            entry = json.load(open(os.path.join(home, name), encoding="utf-8"))[key]["files"]
            calls = "".join(json.dumps({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": tool, "arguments": {}}}) + "\n"
                            for i, tool in enumerate(("ls", "rm"), 1))
            done = subprocess.run([entry["command"], *entry["args"]], input=calls, capture_output=True, text=True, timeout=60)
            got = {answer["id"]: answer["result"].get("isError", False) for answer in map(json.loads, done.stdout.splitlines())}
            check(f"{name}: it answers", got == {1: False, 2: True}, done.stdout, done.stderr)


def refused():
    with tempfile.TemporaryDirectory(prefix="callgate-wrap-") as folder:
        file = os.path.join(folder, "mcp.json")
        with open(file, "w", encoding="utf-8") as f:
            f.write('{"mcpServers": ')
        done = run("wrap", file, "--state", os.path.join(folder, "s"))
        check("a file that cannot be read is told and stays", done.returncode == 2 and "mend it first" in done.stderr and
              open(file, encoding="utf-8").read() == '{"mcpServers": ', done.stderr)
        check("a file that is not there", run("wrap", file + "x").returncode == 2)
        check("an unknown client", run("wrap", "--client", "nobody").returncode == 2)
        check("help", run("wrap", "--help").returncode == run("unwrap", "--help").returncode == 0)


for config in CONFIGS:
    there_and_back(*config)
answers()
refused()
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
