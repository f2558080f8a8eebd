"""What the attacks drive: servers from npm and PyPI, pinned, and two small ones on public SDKs; a client that calls them, bare
or behind a gate."""
import json
import os
import queue
import shutil
import subprocess
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
NPM = ["@cyanheads/git-mcp-server@2.15.3", "@wonderwhy-er/desktop-commander@0.2.52",
       "@modelcontextprotocol/server-filesystem@2026.8.31"]
ANSWER_WITHIN = 60


class Servers:
    """Installed into a folder that is kept from run to run. A name that cannot be had has no command."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.commands, self.missing = {}, {}
        self._python(folder + "/venv")
        self._node(folder + "/npm")
        self._go(folder + "/go")

    def _made(self, names, argv, **more):
        done = subprocess.run(argv, capture_output=True, text=True, **more) if shutil.which(argv[0]) else None
        if done is None or done.returncode != 0:
            why = f"no {argv[0]} here" if done is None else "cannot be installed here: " + done.stderr.strip()[-300:]
            self.missing.update({name: why for name in names})
        return done is not None and done.returncode == 0

    def _python(self, venv):
        names = {"excel": ["excel-mcp-server", "stdio"], "word": ["word_mcp_server"], "git": ["mcp-server-git"],
                 "markitdown": ["markitdown-mcp"], "sdk": ["python", HERE + "/sdk_server.py"]}
        if not os.path.exists(venv + "/installed"):
            if not self._made(names, ["python3", "-m", "venv", "--clear", venv]) or not self._made(
                    names, [venv + "/bin/pip", "install", "-q", "--no-deps", "-r", HERE + "/requirements.txt"]):
                return
            open(venv + "/installed", "w").close()
        self.commands.update({name: [venv + "/bin/" + argv[0], *argv[1:]] for name, argv in names.items()})

    def _node(self, folder):
        names = {"cyanheads-git": "@cyanheads/git-mcp-server/dist/index.js", "commander": "@wonderwhy-er/desktop-commander/dist/index.js",
                 "filesystem": "@modelcontextprotocol/server-filesystem/dist/index.js"}
        if self._made(names, ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, *NPM]):
            self.commands.update({name: ["node", folder + "/node_modules/" + file] for name, file in names.items()})

    def _go(self, folder):
        shutil.copytree(HERE + "/go", folder, dirs_exist_ok=True)
        if self._made(["go"], ["go", "build", "-o", folder + "/server", "."], cwd=folder):
            self.commands["go"] = [folder + "/server"]


class Client:
    """One session with a server over its standard input and output; with a gate before it when `gate` is given."""

    def __init__(self, argv, cwd, environment, log, gate=()):
        self.process = subprocess.Popen([*gate, *argv], cwd=cwd, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log, text=True, errors="replace", start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "attacks", "version": "1"}})
        self._send({"method": "notifications/initialized"})

    def _read(self):
        for line in self.process.stdout:
            try:
                self.lines.put(json.loads(line))
            except ValueError:
                pass  # a server that prints on its standard output
        self.lines.put(None)

    def _send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while True:
            answer = self.lines.get(timeout=ANSWER_WITHIN)
            if answer is None:
                raise EOFError("it has ended")
            if answer.get("id") == self.number and "method" not in answer:
                return answer
            if "id" in answer and "method" in answer:
                self._send({"id": answer["id"], "error": {"code": -32601, "message": "not known"}})

    def call(self, tool, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
