#!/usr/bin/env python3
"""tools.py CALLGATE: the tools of a developer's day do their work inside a confinement, and two MCP servers behind a confined
gate. Says of each whether it works; docs/confinement.md lists what does not. Installs the servers from npm and PyPI, so it is a
part of make soak only. What is not on this machine is told as skipped. Ends with 'N passed, N failed, N skipped'."""
import getpass
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CALLGATE = os.path.abspath(sys.argv[1])
# What docs/confinement.md says does not work.
DO_NOT = {"git add -A with a denied file that is not ignored", "git config of the project", "sudo"}
passed = failed = skipped = 0


def tell(name, good, got=""):
    global passed, failed
    right = bool(good) != (name in DO_NOT)
    passed, failed = passed + right, failed + (not right)
    print(f"{'works' if good else 'does not'}: {name}{'' if right else ' -- not as the documentation says: ' + str(got)[-1200:]}", flush=True)


def skip(name, why):
    global skipped
    skipped += 1
    print(f"skipped: {name}: {why}", flush=True)


class Place:
    def __init__(self, top):
        self.home, self.project, self.state, self.policy = top + "/home", top + "/home/project", top + "/state", top + "/policy.json"
        os.makedirs(self.project)
        os.makedirs(self.home + "/.ssh", 0o700)
        os.mkdir(self.state, 0o700)
        self.write(".env", "SECRET\n")
        self.write("../.ssh/id", "SECRET\n")
        self.write("../.gitconfig", "[user]\n\tname = a\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n")
        with open(self.policy, "w", encoding="utf-8") as file:
            json.dump([{"id": "ssh", "effect": "deny", "match": {"pathPrefix": self.home + "/.ssh"}, "reason": "keys"},
                       {"id": "env", "effect": "deny", "match": {"pathComponent": ".env"}, "reason": "secrets"}], file)
        self.environment = dict(os.environ, HOME=self.home, TMPDIR="/tmp", npm_config_cache="/tmp/npm", npm_config_update_notifier="false")

    def write(self, name, text):
        with open(os.path.join(self.project, name), "w", encoding="utf-8") as file:
            file.write(text)

    def outside(self, command):
        subprocess.run(["sh", "-ec", command], cwd=self.project, env=self.environment, check=True, capture_output=True)

    def options(self):
        return ["--home", self.home, "--policy", self.policy, "--state", self.state]

    def inside(self, command, timeout=120):
        return subprocess.run([CALLGATE, "confine", *self.options(), "--", "sh", "-ec", command], cwd=self.project,
                              env=self.environment, capture_output=True, text=True, timeout=timeout)

    def works(self, name, command, want=""):
        try:
            got = self.inside(command)
        except subprocess.TimeoutExpired as late:
            tell(name, False, late)
            return
        tell(name, got.returncode == 0 and want in got.stdout, got)


def git(place):
    place.outside("git init -q . && echo .env >.gitignore && git add .gitignore && git commit -qm first && git init -q --bare ../project/up.git")
    place.works("git add, commit, log", "echo a >a && git add a && git commit -qm a && git log --oneline", "a")
    place.works("git add -A with a denied file that is ignored", "git add -A -- . ':!up.git' && git status")
    place.works("git branch, checkout, merge, stash", "git checkout -qb b && echo b >b && git add b && git commit -qm b && "
                "git checkout -q main && git merge -q b && echo c >>a && git stash -q && git stash pop -q && git checkout -q a")
    place.works("git worktree, clone", "git worktree add -q wt b && git clone -q . copy && git -C copy log --oneline", "first")
    place.works("git push, fetch", "git push -q ./up.git main && git fetch -q ./up.git main")
    place.works("git rebase", "git checkout -qB r HEAD~1 && git rebase -q main && git checkout -q main")
    place.works("git config of the project", "git config x.y z")
    place.outside("mkdir new && cd new && git init -q . && echo x >.env")
    place.works("git add -A with a denied file that is not ignored", "cd new && git add -A")


def languages(place):
    if shutil.which("npm"):
        os.mkdir(place.project + "/lib")
        place.write("lib/package.json", '{"name":"lib","version":"1.0.0","main":"i.js"}')
        place.write("lib/i.js", "module.exports = 41\n")
        place.write("package.json", '{"name":"p","version":"1.0.0","scripts":{"test":"node -e \\"console.log(require(\'lib\') + 1)\\""}}')
        place.works("npm install, npm test", "npm install --no-audit --no-fund --offline ./lib && npm test", "42")
    else:
        skip("npm", "not here")
    if shutil.which("node"):
        place.works("node, its child processes and threads", "node -e 'const {execSync}=require(\"child_process\");const {Worker}=require(\"worker_threads\");"
                    "new Worker(\"process.stdout.write(\\\"thread\\\")\",{eval:true});console.log(execSync(\"echo 42\").toString())'", "42")
    place.works("python, venv, multiprocessing", "python3 -m venv --without-pip v && v/bin/python -c 'import multiprocessing as m\n"
                "p = m.Pool(2)\nprint(sum(p.map(abs, range(10))))'", "45")
    place.write("m.c", '#include <stdio.h>\nint main(void) { puts("42"); return 0; }\n')
    place.write("Makefile", "m: m.c\n\tcc -o $@ $<\n")
    place.works("gcc", "gcc -o g m.c && ./g", "42")
    place.works("make", "make -s -j2 m && ./m", "42")
    place.works("files of /tmp, locks and pipes", "t=$(mktemp); flock $t echo locked >$t; mkfifo p; cat p & echo 42 >p; wait", "42")
    place.works("a server on the loopback", "python3 -c 'import http.server as h, threading as t, urllib.request as u\n"
                "s = h.HTTPServer((\"127.0.0.1\", 0), h.SimpleHTTPRequestHandler)\nt.Thread(target=s.serve_forever, daemon=True).start()\n"
                "print(u.urlopen(\"http://127.0.0.1:%d/m.c\" % s.server_port).read())'", "puts")
    if shutil.which("sudo"):
        place.works("sudo", "sudo -n true")


def ssh(place):
    """ssh to a server outside, with a key that the policy leaves visible."""
    sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if sshd is None or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        skip("ssh", "no sshd here")
        return
    at = place.home + "/sshd"
    os.mkdir(at, 0o700)
    place.outside(f"ssh-keygen -q -t ed25519 -N '' -f {at}/host && ssh-keygen -q -t ed25519 -N '' -f {at}/key && cp {at}/key.pub {at}/authorized")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    server = subprocess.Popen([sshd, "-D", "-e", "-f", "/dev/null", "-p", str(port), "-h", at + "/host", "-o", "ListenAddress=127.0.0.1", "-o", "UsePAM=no",
                               "-o", f"AuthorizedKeysFile={at}/authorized", "-o", "StrictModes=no", "-o", "PidFile=none"],
                              stderr=subprocess.PIPE)
    time.sleep(1)
    if server.poll() is not None:
        skip("ssh", server.stderr.read().decode().strip()[-200:])
        return
    place.works("ssh to a server", f"ssh -F none -i {at}/key -p {port} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/tmp/known "
                f"{getpass.getuser()}@127.0.0.1 echo reached", "reached")
    server.terminate()
    server.wait()


def calls(place, words, listed):
    """What an MCP server behind a confined gate answers."""
    lines = [{"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
             {"method": "notifications/initialized"}]
    lines += [{"id": i + 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}} for i, (name, arguments) in enumerate(listed)]
    got = subprocess.Popen([CALLGATE, "run", "--confine", "--write", place.project, *place.options(), "--", *words], cwd=place.project,
                           env=place.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    answers = {}
    for line in lines:  # one after the other
        got.stdin.write(json.dumps({"jsonrpc": "2.0", **line}) + "\n")
        got.stdin.flush()
        while line.get("id") is not None and line["id"] not in answers and (text := got.stdout.readline()):
            message = json.loads(text)
            answers[message.get("id", -1)] = text
    got.stdin.close()
    got.wait(timeout=30)
    return [answers.get(i + 1, "no answer: " + got.stderr.read()[-500:]) for i in range(len(listed))]


def servers(place, top):
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", top + "/npm",
                           "@modelcontextprotocol/server-filesystem@2026.8.31"], capture_output=True) if shutil.which("npm") else None
    if done is None or done.returncode != 0:
        skip("server-filesystem", "cannot be had from npm here")
    else:
        got = calls(place, ["node", top + "/npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", place.project],
                    [("write_file", {"path": place.project + "/w.txt", "content": "42"}), ("read_text_file", {"path": place.project + "/w.txt"}),
                     ("list_directory", {"path": place.project})])
        tell("server-filesystem", "42" in got[1] and "w.txt" in got[2], got)
    venv = subprocess.run(f"python3 -m venv {top}/venv && {top}/venv/bin/pip install -q mcp-server-git", shell=True, capture_output=True)
    if venv.returncode != 0:
        skip("server-git", "cannot be had from PyPI here")
    else:
        place.write("s.txt", "s\n")
        got = calls(place, [top + "/venv/bin/mcp-server-git", "--repository", place.project],
                    [("git_status", {"repo_path": place.project}), ("git_add", {"repo_path": place.project, "files": ["s.txt"]}),
                     ("git_commit", {"repo_path": place.project, "message": "by the server"}), ("git_log", {"repo_path": place.project})])
        tell("server-git", "by the server" in got[3], got)


def main():
    if subprocess.run(["unshare", "-Urmpif", "true"], capture_output=True).returncode != 0:
        print("no user namespaces here\n0 passed, 0 failed, 1 skipped")
        return 77
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as top:
        top = os.path.realpath(top)
        place = Place(top)
        git(place)
        languages(place)
        ssh(place)
        servers(place, top)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
