#!/usr/bin/env python3
"""kill.py CALLGATE [RUNS] [--gate]: whatever happens to a run, it never printed an allow for a denied call.
With --gate each run is the client of a broker, which is started for its state directory.

Killed at random points, with a full disk, out of memory, out of descriptors, over its limits, with closed
descriptors, under signals, with the libraries of somebody else: each answer is read as the host reads it."""
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CALLGATE = os.path.abspath(sys.argv[1])
WITH_BROKER = "--gate" in sys.argv
RUNS = next((int(arg) for arg in sys.argv[2:] if arg.isdigit()), 200)
passed = failed = 0

POLICY = [{"id": "no-etc", "effect": "deny", "match": {"pathPrefix": "/etc"}, "reason": "no"},
          {"id": "ask", "effect": "require_approval", "match": {"pathPrefix": "/srv"}},
          {"id": "all", "effect": "auto_approve", "match": {"toolPrefix": "R"}}]
PATHS = {"claude-code": "file_path", "gemini": "file_path", "codex": "path", "cursor": "file_path", "opencode": "filePath"}


def check(what, ok, more=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"failed: {what} {more}")


def message(host, home, path):
    """A call of a tool Read in the host's form."""
    call = {PATHS[host]: path}
    common = {"session_id": "s", "cwd": home, "tool_name": "Read", "tool_input": call}
    return json.dumps({
        "claude-code": dict(common, hook_event_name="PreToolUse", permission_mode="default"),
        "gemini": dict(common, hook_event_name="BeforeTool"),
        "codex": dict(common, hook_event_name="PreToolUse"),
        "cursor": {"conversation_id": "c", "workspace_roots": [home], "hook_event_name": "preToolUse", "cwd": home,
                   "tool_name": "Read", "tool_input": call},
        "opencode": {"sessionID": "s", "callID": "c", "tool": "Read", "args": call, "directory": home},
    }[host]).encode()


def reading(host, out, err, code):
    """How the host takes what came back: allow, deny, none (its own rules go on), or open: it takes it for a hook that
    failed and goes on."""
    text = out.decode("utf-8", "replace").strip()
    try:
        answer = json.loads(text) if text else {}
    except ValueError:
        answer = None
    if host in ("claude-code", "codex"):
        if code == 2 and (host == "claude-code" or err.strip()):
            return "deny"
        if answer is None or code != 0:
            return "open"
        return answer.get("hookSpecificOutput", {}).get("permissionDecision", "none")
    if host == "gemini":
        if answer is None or (not text and err.strip()):
            return "deny" if code >= 2 else "open"
        return answer.get("decision", "none") if code >= 0 else "open"
    if host == "cursor":
        if code == 2:
            return "deny"
        return "open" if code != 0 or answer is None else answer.get("permission", "none")
    return "deny" if code != 0 or not answer else answer.get("decision", "deny")


def answers(path):
    with socket.socket(socket.AF_UNIX) as peer:
        return peer.connect_ex(path) == 0


class Place:
    """A home directory with a policy in it."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="callgate-kill-")
        with open(os.path.join(self.home, "policy.json"), "w", encoding="utf-8") as file:
            json.dump(POLICY, file)
        self.brokers = {}

    def argv(self, host, *more):
        common = ["--home", self.home, "--state", os.path.join(self.home, "state"), "--grant", *more]
        if WITH_BROKER:
            state = common[len(common) - 1 - common[::-1].index("--state") + 1]
            return [CALLGATE, "hook", host, "--gate", self.broker(state), *common]
        return [CALLGATE, "hook", host, "--policy", os.path.join(self.home, "policy.json"), *common]

    def broker(self, state):
        """The socket of the state directory's broker, which is started when there is none. One that does not start, as
        its disk is full or its store is damaged, leaves a socket that nobody answers at."""
        path = os.path.join(self.home, f"{len(self.brokers)}.sock")
        if state in self.brokers and self.brokers[state][1].poll() is None:
            return self.brokers[state][0]
        process = subprocess.Popen([CALLGATE, "serve", "--gate", path, "--quiet", "--home", self.home, "--state", state,
                                    "--policy", os.path.join(self.home, "policy.json")],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.brokers[state] = (path, process)
        while process.poll() is None and not answers(path):
            time.sleep(0.01)
        return path

    def leave(self, state):
        """The state directory goes away, and its broker with it."""
        _, process = self.brokers.pop(state, (None, None))
        if process is not None:
            process.kill()
            process.wait()

    def close(self):
        for state in list(self.brokers):
            self.leave(state)
        shutil.rmtree(self.home)

    def run(self, host, path, *more, **how):
        result = subprocess.run(self.argv(host, *more), input=message(host, self.home, path), capture_output=True,
                                timeout=60, **how)
        return reading(host, result.stdout, result.stderr, result.returncode), result


def sanity(place):
    for host in PATHS:
        check(f"{host} denies", place.run(host, "/etc/passwd")[0] == "deny")
        want = "none" if host == "codex" else "allow"
        check(f"{host} allows", place.run(host, "a")[0] == want, place.run(host, "a"))


def killed(place):
    """SIGKILL at a random point: what was printed until then is no allow."""
    chance = random.Random(1)
    started = time.monotonic()
    place.run("claude-code", "/etc/passwd")
    usual = time.monotonic() - started
    ended = 0
    for i in range(RUNS):
        host = list(PATHS)[i % len(PATHS)]
        process = subprocess.Popen(place.argv(host), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            process.stdin.write(message(host, place.home, "/etc/passwd"))
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
        time.sleep(chance.random() * usual)
        process.kill()
        out, err = process.communicate()
        ended += process.returncode == -signal.SIGKILL
        check(f"killed: {host}", out == b"" or reading(host, out, err, 0) == "deny", (out, err))
    check("some were killed before their end", ended > 0, ended)
    result = subprocess.run([CALLGATE, "journal", "verify", os.path.join(place.home, "state/journal.jsonl")], capture_output=True)
    check("the journal is whole when the next has written to it", place.run("gemini", "/etc/x")[0] == "deny" and
          (result.returncode == 0 or b"recovered" in open(os.path.join(place.home, "state/journal.jsonl"), "rb").read()))


def signalled(place):
    """Every signal that would end the process is a deny, from the start to the end."""
    for number in sorted(set(range(1, 65)) - {9, 17, 18, 19, 20, 21, 22, 23, 28, 13, 25, 32, 33}):
        for host in ("claude-code", "gemini", "codex", "cursor", "opencode"):
            process = subprocess.Popen(place.argv(host), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            # It waits for its message, so it is armed once it reads: wait until it sleeps in that read.
            wait_for_read(process.pid)
            process.send_signal(number)
            out, err = process.communicate()
            check(f"signal {number}: {host}", reading(host, out, err, process.returncode) == "deny", (out, err, process.returncode))


def wait_for_read(pid):
    for _ in range(2000):
        try:
            with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
                if file.read().startswith("0 0x0 "):
                    return
        except OSError:
            pass
        time.sleep(0.002)


def limited(place):
    """Too little of everything."""
    def limit(which, value):
        return lambda: resource.setrlimit(which, (value, value))
    for host in PATHS:
        for size in (1 << 20, 8 << 20, 12 << 20, 20 << 20, 30 << 20, 50 << 20):
            got, result = place.run(host, "/etc/passwd", preexec_fn=limit(resource.RLIMIT_AS, size))
            # The loader of a shared library, or a sanitizer, may not even come to our first line: nothing of ours can
            # help then.
            loaded = result.returncode >= 0 and result.returncode != 127 and b"Sanitizer" not in result.stderr
            check(f"{host} with {size >> 20} MiB", got == "deny" or not loaded, (got, result))
        for count in (3, 4, 5, 6, 8, 10):
            got, result = place.run(host, "/etc/passwd", preexec_fn=limit(resource.RLIMIT_NOFILE, count))
            check(f"{host} with {count} descriptors", got == "deny" or result.returncode == 127, (got, result))
        got, result = place.run(host, "/etc/passwd", preexec_fn=limit(resource.RLIMIT_FSIZE, 0))
        check(f"{host} may write no file", got == "deny", (got, result))
        got, result = place.run(host, "a", preexec_fn=limit(resource.RLIMIT_FSIZE, 0))
        # A broker writes the journal itself, and may.
        check(f"{host} may write no file, so nothing is allowed", got == "deny" or WITH_BROKER, (got, result))
        got, result = place.run(host, "/etc/passwd", preexec_fn=limit(resource.RLIMIT_STACK, 64 << 10))
        check(f"{host} with a small stack", got == "deny" or result.returncode < 0, (got, result))


def closed(place):
    """Standard descriptors that are not there: no file of ours takes their place."""
    for host in PATHS:
        for which in (0, 1, 2):
            process = subprocess.run(["sh", "-c", f"exec \"$@\" {which}>&-", "sh", *place.argv(host)],
                                     input=message(host, place.home, "/etc/passwd"), capture_output=True)
            got = reading(host, process.stdout, process.stderr, process.returncode)
            fine = got == "deny" or (which == 2 and host == "codex" and b'"deny"' in process.stdout) or \
                (which == 1 and process.returncode == 2)
            check(f"{host} without descriptor {which}", fine, (got, process))
        full = subprocess.run(place.argv(host), input=message(host, place.home, "/etc/passwd"),
                              stdout=open("/dev/full", "wb"), stderr=subprocess.PIPE)
        check(f"{host}: nothing can be printed", reading(host, b"", full.stderr, full.returncode) == "deny", full)
        full = subprocess.run(place.argv(host), input=message(host, place.home, "a"),
                              stdout=open("/dev/full", "wb"), stderr=subprocess.PIPE)
        check(f"{host}: an allow that cannot be printed is none", host == "codex" or
              reading(host, b"", full.stderr, full.returncode) == "deny", full)


def full_disk(place):
    """The state directory on a disk without room; needs to mount one."""
    disk = os.path.join(place.home, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "none", disk], capture_output=True).returncode != 0:
        print("full disk: no disk of our own can be mounted here")
        return
    try:
        with open(os.path.join(disk, "fill"), "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        for host in PATHS:
            for path in ("/etc/passwd", "a"):
                got, result = place.run(host, path, "--state", os.path.join(disk, "state"))
                check(f"{host}: {path} with a full disk", got == "deny", (got, result))
        os.truncate(os.path.join(disk, "fill"), 16 << 10)
        for host in PATHS:
            for _ in range(8):
                got, result = place.run(host, "/etc/passwd", "--state", os.path.join(disk, "state"))
                check(f"{host}: a disk that becomes full", got == "deny", (got, result))
    finally:
        place.leave(os.path.join(disk, "state"))
        subprocess.run(["umount", disk], check=True)


def damaged(place):
    """A store of approvals that cannot be used: what needs people is denied, also where the host would ask."""
    def directory(name):
        os.mkdir(name)

    def other(text, mode):
        def make(name):
            with open(name, "wb") as file:
                file.write(text)
            os.chmod(name, mode)
        return make
    for what, make in (("no database", other(b"x" * 8192, 0o600)), ("others may write it", other(b"", 0o666)),
                       ("a directory", directory), ("a link", lambda name: os.symlink("/dev/null", name))):
        state = os.path.join(place.home, "damaged")
        os.mkdir(state, 0o700)
        make(os.path.join(state, "approvals.db"))
        for host in PATHS:
            for path in ("/etc/passwd", "/srv/x"):
                got, result = place.run(host, path, "--state", state)
                check(f"{host}: {path} with a store that is {what}", got == "deny", (got, result))
        place.leave(state)
        shutil.rmtree(state)


def inherited(place):
    """What a parent may leave behind: a mask, signals that are ignored, an environment."""
    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGSEGV):
            signal.signal(number, signal.SIG_IGN)
    process = subprocess.Popen(place.argv("claude-code", "--deadline", "1"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=prepare)
    out, err = process.stdout.read(), process.stderr.read()  # its input stays open
    process.wait()
    process.stdin.close()
    check("a deadline under a mask", reading("claude-code", out, err, process.returncode) == "deny", (out, err))
    env = {"HOME": "/", "XDG_CONFIG_HOME": "/", "XDG_STATE_HOME": "/", "CALLGATE_POLICY": "/dev/null", "TMPDIR": "/none",
           "OPENSSL_CONF": "/dev/null", "OPENSSL_MODULES": "/", "OPENSSL_ia32cap": "0xffffffffffffffff:0xffffffffffffffff",
           "SQLITE_TMPDIR": "/none", "LOCPATH": "/", "TZ": ":/dev/zero",
           "MALLOC_TOP_PAD_": "1", "GLIBC_TUNABLES": "glibc.malloc.perturb=85"}
    for host in PATHS:
        check(f"{host}: the environment steers nothing", place.run(host, "/etc/passwd", env=env)[0] == "deny")
    static = os.path.join(os.path.dirname(CALLGATE), "callgate-static")
    if os.path.exists(static):
        code = os.path.join(place.home, "evil.c")
        with open(code, "w", encoding="utf-8") as file:
            file.write('#include <stdio.h>\n#include <unistd.h>\n'
                       '__attribute__((constructor)) static void go(void){puts("{}");fflush(stdout);_exit(0);}\n')
        library = os.path.join(place.home, "evil.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, code], check=True)
        argv = [static] + place.argv("cursor")[1:]
        result = subprocess.run(argv, input=message("cursor", place.home, "/etc/passwd"), capture_output=True,
                                env={"LD_PRELOAD": library, "LD_LIBRARY_PATH": place.home, "LD_AUDIT": library})
        check("the static program takes no library from the environment", result.returncode == 2, result)


def main():
    place = Place()
    try:
        sanity(place)
        killed(place)
        signalled(place)
        limited(place)
        closed(place)
        full_disk(place)
        damaged(place)
        inherited(place)
    finally:
        place.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
