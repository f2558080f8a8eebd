#!/usr/bin/env python3
"""broker.py CALLGATE MCP_SERVER FAIL_MODULE: `callgate serve` and its clients, and every way in which the two part."""
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gate"))
from support import CALLGATE, Folder, Gate, check, finish, pending, run, wait_for  # noqa: E402

VERSION = 3  # of the protocol
POLICY = [{"id": "no", "effect": "deny", "match": {"tool": "rm"}, "reason": "gone is gone"},
          {"id": "ask", "effect": "require_approval", "match": {"tool": "cp"}},
          {"id": "ls", "effect": "auto_approve", "match": {"tool": "ls"}}]


class Broker:
    """A broker in a folder of its own, and clients of it."""

    def __init__(self, *argv, policy=POLICY):
        self.folder = Folder().__enter__()
        self.socket = os.path.join(self.folder.path, "s")
        self.policy = self.folder.write("p.json", policy)
        self.argv = argv
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([CALLGATE, "serve", "--policy", self.policy, "--state", self.folder.state,
                                         "--gate", self.socket, *self.argv],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for("the broker", self.answers)

    def answers(self):
        with socket.socket(socket.AF_UNIX) as s:
            try:
                s.connect(self.socket)
                return True
            except OSError:
                return False

    def gate(self, *argv, **more):
        return Gate(self.folder, "--gate", self.socket, *argv, **more)

    def hook(self, tool, what=None, **more):
        message = {"hook_event_name": "PreToolUse", "session_id": "x", "cwd": self.folder.path, "tool_name": tool,
                   "tool_input": {"n": 1}}
        done = subprocess.run([CALLGATE, "hook", "claude-code", "--gate", self.socket, "--state", self.folder.state],
                              input=json.dumps(message), capture_output=True, text=True, timeout=30, **more)
        return "deny" if '"deny"' in done.stdout else "none" if done.stdout == "" else done.stdout

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(timeout=20)
        self.process.stdout.close()
        self.process.stderr.close()

    def close(self):
        if self.process.poll() is None:
            self.kill(signal.SIGTERM)
        check("the broker ends by itself when told", self.process.returncode in (0, -9), self.process.returncode)
        run("journal", "verify", os.path.join(self.folder.state, "journal.jsonl"), code=0, what="the chain verifies")
        self.folder.__exit__()


def frame(kind, payload=b""):
    return struct.pack("<IB", len(payload) + 1, kind) + payload


def text(value):
    return struct.pack("<I", 0xFFFFFFFF) if value is None else struct.pack("<I", len(value)) + value


def hello(version=VERSION):
    return frame(1, b"callgate" + struct.pack("<I", version) + text(b"run") + text(None) + text(None) + b"\0\0" +
                 struct.pack("<I", 0) + text(b"/tmp") + text(b"/root") + text(b"") + struct.pack("<I", 0))


def read_frame(s):
    head = b""
    while len(head) < 5:
        piece = s.recv(5 - len(head))
        if not piece:
            return None, b""
        head += piece
    length, kind = struct.unpack("<IB", head)
    body = b""
    while len(body) < length - 1:
        piece = s.recv(length - 1 - len(body))
        if not piece:
            return None, b""
        body += piece
    return kind, body


def connect(path, timeout=10):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(timeout)
    s.connect(path)
    return s


def test_calls_through_a_broker():
    b = Broker()
    gate = b.gate()
    check("an allow runs", gate.call("ls") == "ran")
    check("a deny does not", gate.call("rm") != "ran")
    check("a hook's allow", b.hook("ls") == "none")
    check("a hook's deny", b.hook("rm") == "deny")
    gate.send("cp", {"n": 1})
    code = wait_for("a request", lambda: pending(b.folder))[0]["code"]
    out = run("approve", code, "--state", b.folder.state, code=0).stdout
    check("what it covers", "covers every call of rule 'ask'" in out, out)
    check("a held call runs once it is approved", gate.answer() == "ran")
    check("and so does another", gate.call("cp", {"n": 2}) == "ran")
    kinds = [e["kind"] for e in b.folder.events()]
    check("each decision is journalled once", kinds.count("policy.deny") == 2 and kinds.count("policy.require") == 1, kinds)
    check("no options of the policy beside --gate",
          run("run", "--gate", b.socket, "--policy", b.policy, "--", "cat").returncode == 2)
    gate.close()
    b.close()


def test_a_client_that_ends_holds_nothing():
    b = Broker()
    gate = b.gate()
    gate.send("cp", {"n": 1})
    wait_for("a request", lambda: pending(b.folder))
    gate.kill()
    wait_for("its end", lambda: pending(b.folder) == [], 3)
    check("withdrawn, and journalled", len(b.folder.events("approval.withdrawn")) == 1)
    b.close()


def test_killed_and_started_again():
    b = Broker()
    gate = b.gate()
    check("runs", gate.call("ls") == "ran")
    gate.send("cp", {"n": 1})
    wait_for("a request", lambda: pending(b.folder))
    b.kill()
    check("a held call of a broker that is gone is denied", gate.answer() != "ran")
    check("a call without a broker, which is then started", gate.call("rm") != "ran")
    kill_started(b)
    b.start()
    time.sleep(0.3)
    check("goes on with the next one", gate.call("ls") == "ran")
    check("nothing waits of the one that was killed", pending(b.folder) == [])
    gate.close()
    b.close()


def kill_started(b):
    """Ends the broker that a client has started."""
    for _ in range(100):
        done = subprocess.run(["fuser", b.folder.state + "/serve.lock"], capture_output=True, text=True)
        pids = [int(p) for p in done.stdout.split()]
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        if not pids:
            return
        time.sleep(0.05)


def test_hung():
    b = Broker()
    gate = b.gate()
    check("runs", gate.call("ls") == "ran")
    b.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    check("a hung broker is a deny", gate.call("ls") != "ran")
    check("within its time", time.monotonic() - began < 9)
    check("for a hook, too", b.hook("ls") == "deny")
    b.process.send_signal(signal.SIGCONT)
    time.sleep(0.5)
    check("and it goes on", gate.call("ls") == "ran")
    gate.close()
    b.close()


def test_reload():
    b = Broker()
    gate, other = b.gate(), b.gate()
    check("runs", gate.call("ls") == "ran" and other.call("ls") == "ran")
    b.folder.write("p.json", [{"id": "no-ls", "effect": "deny", "match": {"tool": "ls"}, "reason": "r"}])
    run("reload", "--state", b.folder.state, code=0)
    check("every client has the new policy", gate.call("ls") != "ran" and other.call("ls") != "ran")
    b.folder.write("p.json", "[")
    run("reload", "--state", b.folder.state, code=1)
    check("a refused one changes nothing", gate.call("ls") != "ran")
    gate.close()
    other.close()
    b.close()


def test_another_version():
    b = Broker()
    with connect(b.socket) as s:
        s.sendall(hello(99))
        kind, body = read_frame(s)
        check("another version is told so and not served", kind == 2 and body[4] == 0 and b"version" in body, body)
        s.sendall(frame(7))
        check("nothing else is", read_frame(s)[0] is None)
    with connect(b.socket) as s:
        s.sendall(frame(7))
        check("without a hello nothing is", read_frame(s)[0] is None)
    b.close()


def test_no_votes_where_calls_are_judged():
    b = Broker()
    vote = frame(14, text(b"abcde") + b"\1\0" + text(b""))
    with connect(b.socket) as s:
        s.sendall(hello())
        check("hello", read_frame(s)[0] == 2)
        s.sendall(vote)
        check("no vote at the judging socket", read_frame(s)[0] is None)
    with connect(b.socket + ".approve") as s:
        s.sendall(frame(1, b"callgate" + struct.pack("<I", VERSION)))
        check("hello there", read_frame(s)[0] == 2)
        s.sendall(vote)
        kind, body = read_frame(s)
        check("a vote is counted at the approving one", kind == 15 and b'"result":"none"' in body, body)
    confined = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", sys.executable, "-c",
         "import socket,struct\ns=socket.socket(socket.AF_UNIX)\ns.settimeout(5)\ns.connect(%r)\n"
         "s.sendall(struct.pack('<IB',13,1)+b'callgate'+struct.pack('<I',1))\nprint(len(s.recv(100)))" %
         (b.socket + ".approve")], capture_output=True, text=True)
    if "unshare" in confined.stderr:
        print("not run: this machine makes no namespaces:", confined.stderr.strip()[:100])
    else:
        check("a peer in namespaces of its own is refused there",
              confined.stdout.strip() == "0" or "Reset" in confined.stderr or "Broken" in confined.stderr, (confined.stdout, confined.stderr))
    b.close()


def test_one_person_at_terminal_and_socket():
    """Whoever answers by the command line and at the broker's socket is one identity, and no quorum of two."""
    b = Broker(policy=[{"id": "two", "effect": "require_approval", "match": {"tool": "cp"}, "approvers": 2}])
    gate = b.gate()
    gate.send("cp", {"n": 1})
    code = wait_for("a request", lambda: pending(b.folder))[0]["code"]
    run("approve", code, "--call", "--state", b.folder.state, code=0)
    with connect(b.socket + ".approve") as s:
        s.sendall(frame(1, b"callgate" + struct.pack("<I", VERSION)))
        check("hello there", read_frame(s)[0] == 2)
        s.sendall(frame(14, text(code.encode()) + b"\1\0" + text(b"")))
        kind, body = read_frame(s)
        check("the same person's second answer counts for nothing", kind == 15 and b'"result":"twice"' in body, body)
    check("so the call waits", [p["given"] for p in pending(b.folder)] == [1])
    gate.close()
    b.close()


def test_bytes_of_a_fuzzer():
    b = Broker()
    rng = random.Random(1)
    seeds = [hello(), frame(3, os.urandom(200)), frame(6, os.urandom(50)), frame(10, b"\1" * 8), frame(4, b""),
             frame(3, text(b"/") + text(b"/") + text(b"") + struct.pack("<I", 0xFFFF))]
    for _ in range(400):
        with connect(b.socket) as s:
            data = bytearray(hello() if rng.random() < 0.7 else b"")
            for _ in range(rng.randrange(1, 4)):
                piece = bytearray(rng.choice(seeds))
                for _ in range(rng.randrange(0, 6)):
                    piece[rng.randrange(len(piece))] = rng.randrange(256)
                data += piece
            try:
                s.sendall(bytes(data))
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except OSError:
                pass
    check("the broker lives", b.process.poll() is None)
    gate = b.gate()
    check("and judges", gate.call("ls") == "ran" and gate.call("rm") != "ran")
    allowed = [e for e in b.folder.events("policy.allow") if e["toolName"] != "ls"]
    check("nothing was allowed that was not asked for", allowed == [], allowed[:2])
    gate.close()
    b.close()


def test_flooded():
    b = Broker()
    gate = b.gate()
    check("runs", gate.call("ls") == "ran")
    flood = subprocess.Popen([sys.executable, "-c",
                              "import os,socket,sys,time\n"
                              "for p in range(20):\n"
                              "  if os.fork()==0:\n"
                              "    keep=[]\n"
                              "    for i in range(50):\n"
                              "      s=socket.socket(socket.AF_UNIX);s.settimeout(5)\n"
                              "      try: s.connect(sys.argv[1]); s.sendall(b'\\x10'); keep.append(s)\n"
                              "      except OSError: pass\n"
                              "    print('.',end='',flush=True); time.sleep(4); os._exit(0)\n"
                              "time.sleep(4)", b.socket], stdout=subprocess.PIPE)
    flood.stdout.read(20)
    answers = [gate.call("ls"), gate.call("rm")]
    check("a thousand clients change no decision", answers[0] == "ran" and answers[1] != "ran", answers)
    check("a hook is decided or denied", b.hook("rm") == "deny")
    flood.wait()
    flood.stdout.close()
    gate.close()
    b.close()


def test_out_of_descriptors():
    b = Broker()
    gate = b.gate()
    check("runs", gate.call("ls") == "ran")
    subprocess.run(["prlimit", "--pid", str(b.process.pid), "--nofile=20:"], check=True)
    many = []
    for _ in range(60):
        try:
            many.append(connect(b.socket, 2))
        except OSError:
            pass
    check("who is connected is served", gate.call("ls") == "ran" and gate.call("rm") != "ran")
    check("who is not is denied", b.hook("ls") in ("deny", "none"))
    for s in many:
        s.close()
    subprocess.run(["prlimit", "--pid", str(b.process.pid), "--nofile=1024:"], check=True)
    time.sleep(0.3)
    check("and it goes on with descriptors", b.hook("ls") == "none" and b.hook("rm") == "deny")
    gate.close()
    b.close()


def test_disk_full():
    b = Broker()
    gate = b.gate()
    check("runs", gate.call("ls") == "ran")
    size = os.path.getsize(os.path.join(b.folder.state, "journal.jsonl"))
    subprocess.run(["prlimit", "--pid", str(b.process.pid), f"--fsize={size + 100}:unlimited"], check=True)
    check("a call that cannot be recorded is denied", gate.call("ls") != "ran")
    subprocess.run(["prlimit", "--pid", str(b.process.pid), "--fsize=unlimited:unlimited"], check=True)
    check("and one that can runs", gate.call("ls") == "ran")
    gate.close()
    b.close()


def peer_of(path):
    with connect(path) as s:
        return struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


def end_peer(path):
    pid = peer_of(path)
    os.kill(pid, signal.SIGTERM)
    wait_for("its end", lambda: not os.path.exists(f"/proc/{pid}") or open(f"/proc/{pid}/stat").read().split(") ")[1][0] == "Z")


def test_started_on_demand():
    """One broker at most; with the options of the last, and never with a policy that nobody chose."""
    with Folder() as f:
        def hooks(sock, count=1, tool="rm"):
            processes = [subprocess.Popen([CALLGATE, "hook", "claude-code", "--gate", sock, "--state", f.state],
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                         for _ in range(count)]
            message = json.dumps({"hook_event_name": "PreToolUse", "session_id": "x", "cwd": f.path, "tool_name": tool,
                                  "tool_input": {}})
            return [p.communicate(message, timeout=30)[0] for p in processes]

        own, elsewhere = os.path.join(f.state, "gate.sock"), os.path.join(f.path, "d.sock")
        os.mkdir(f.state, 0o700)
        check("at a place that is not the state directory's none is started, and the call is denied",
              "deny" in hooks(elsewhere)[0] and not os.path.exists(elsewhere))
        # There may be a policy of this user or none: either way each is answered, and one broker at most was started.
        outs = hooks(own, 8)
        check("all are answered", all(o == "" or "deny" in o for o in outs), outs)
        done = subprocess.run(["fuser", f.state + "/serve.lock"], capture_output=True, text=True)
        check("one broker at most", len(done.stdout.split()) <= 1, done.stdout)
        # On a busy machine one that was started may not yet have come to its lock.
        wait_for("the end of all", lambda: subprocess.run(["pkill", "-TERM", "-f", f"serve .*{f.state}"]).returncode == 1)

        # One with a policy of its own, and another place; it is killed.
        policy = f.write("p.json", POLICY)
        first = subprocess.Popen([CALLGATE, "serve", "--policy", os.path.basename(policy), "--state", f.state, "--gate", elsewhere,
                                  "--quiet", "--journal-max-size", "64K"], cwd=f.path)
        wait_for("the broker", lambda: os.path.exists(elsewhere) and hooks(elsewhere, tool="ls") == [""])
        first.kill()
        first.wait(timeout=20)
        outs = hooks(elsewhere, 4) + hooks(elsewhere, 4, "ls")
        check("the one that clients start has its policy", ["deny" in o for o in outs] == [True] * 4 + [False] * 4, outs)
        check("and is another process", peer_of(elsewhere) != first.pid)
        status = json.loads(run("status", "--json", "--state", f.state, code=0).stdout)
        check("status tells of it", status["broker"]["running"] and status["broker"]["listens"] and
              status["broker"]["socket"] == elsewhere and status["broker"]["pid"] == peer_of(elsewhere) and
              status["broker"]["words"][:2] == ["--policy", policy], status["broker"])
        said = run("status", "--state", f.state, code=0).stdout
        check("for people, too", f"socket   {elsewhere}" in said and "version 0." in said, said)
        end_peer(elsewhere)
        said = run("status", "--state", f.state, code=0).stdout
        check("and that it has ended", "No broker runs" in said and elsewhere in said, said)
        with open(os.path.join(f.state, "serve.json"), "w") as file:
            file.write("{")
        check("what it was started with cannot be told: none is started", "deny" in hooks(elsewhere, tool="ls")[0] and
              "deny" in hooks(own, tool="ls")[0])


def test_options_of_a_gate():
    """What `run` has, the broker has for all: a program that is told, a journal that rotates."""
    notify = Folder().__enter__()
    told = os.path.join(notify.path, "told")
    program = notify.write("tell", f"#!/bin/sh\ncat >> {told}\n")
    os.chmod(program, 0o755)
    b = Broker("--journal-max-size", "64K", "--notify", program)
    gate = b.gate("--hold-for", "30", "--tell-refusals")
    for i in range(300):
        gate.call("ls", {"n": i})
    parts = [n for n in os.listdir(b.folder.state) if n.startswith("journal.jsonl.")]
    check("the journal is rotated by its size", len(parts) > 0, os.listdir(b.folder.state))
    b.process.send_signal(signal.SIGUSR1)
    wait_for("a part more", lambda: len([n for n in os.listdir(b.folder.state) if n.startswith("journal.jsonl.")]) > len(parts))
    gate.send("cp", {"n": 1})
    code = wait_for("a request", lambda: pending(b.folder))[0]["code"]
    wait_for("the program is told", lambda: os.path.exists(told) and code in open(told).read())
    run("refuse", "--because", "not on a Monday", code, "--state", b.folder.state, code=0)
    answer = gate.answer()
    check("what a person says of a refusal is told to a client that wants it", "not on a Monday" in answer, answer)
    for option in ("--notify", "--journal-max-size"):
        done = run("run", "--gate", b.socket, option, "/bin/true" if option == "--notify" else "1M", "--", "true")
        check(f"{option} is the broker's", done.returncode == 2 and "callgate serve" in done.stderr, done.stderr)
    gate.close()
    b.kill(signal.SIGTERM)
    run("journal", "verify", "--state", b.folder.state, code=0, what="all parts verify")
    b.folder.__exit__()
    notify.__exit__()


def test_installed_hook():
    """`hook install --gate`, and a broker that loads what came along with it."""
    with Folder() as f:
        sock, settings = os.path.join(f.state, "gate.sock"), os.path.join(f.path, ".claude/settings.json")
        policy = f.write("p.json", POLICY)
        done = run("hook", "install", "claude-code", "--gate", sock, "--state", f.state, "--home", f.path, code=0)
        words = json.load(open(settings))["hooks"]["PreToolUse"][0]["hooks"][0]
        check("the hook names the broker", ["--gate", sock] == words["args"][words["args"].index("--gate"):][:2], words)
        check("and no policy beside it", run("hook", "install", "claude-code", "--gate", sock, "--policy", policy, "--state", f.state,
                                             "--home", f.path).returncode == 2)
        done = run("doctor", "claude-code", "--state", f.state, "--home", f.path, "--cwd", f.path)
        check("doctor says that no broker is there", "no broker can be reached" in done.stdout, done.stdout)
        broker = subprocess.Popen([CALLGATE, "serve", "--policy", policy, "--state", f.state, "--home", f.path, "--quiet"])
        wait_for("the broker", lambda: os.path.exists(sock))
        # Another host's, which is put in when the broker runs already.
        run("hook", "install", "gemini", "--gate", sock, "--state", f.state, "--home", f.path, code=0)
        line = json.load(open(os.path.join(f.path, ".gemini/settings.json")))["hooks"]["BeforeTool"][0]["hooks"][0]["command"]
        for tool, denied in (("ls", False), ("rm", True)):
            done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=30, input=json.dumps(
                {"hook_event_name": "BeforeTool", "session_id": "x", "cwd": f.path, "tool_name": tool, "tool_input": {}}))
            check(f"hooks of two hosts ask one broker: {tool}", ("deny" in done.stdout) == denied, done)
        other = f.write("other.json", [{"id": "x", "effect": "auto_approve", "match": {"tool": "rm"}}])
        message = {"hook_event_name": "PreToolUse", "session_id": "x", "cwd": f.path, "tool_name": "ls", "tool_input": {}}
        done = subprocess.run([CALLGATE, "hook", "claude-code", "--gate", sock, "--state", f.state, "--protect", other],
                              input=json.dumps(message), capture_output=True, text=True, timeout=30)
        check("no client has another file loaded", "deny" in done.stdout and "does not load" in done.stderr, done)

        def call(tool, arguments):
            message = {"hook_event_name": "PreToolUse", "session_id": "x", "cwd": f.path, "tool_name": tool, "tool_input": arguments}
            return subprocess.run([words["command"], *words["args"]], input=json.dumps(message), capture_output=True, text=True,
                                  timeout=30).stdout
        check("an allow and a deny come through", call("ls", {}) == "" and "deny" in call("rm", {}))
        check("what protects the hook is loaded", "deny" in call("Write", {"file_path": settings, "content": "{}"}))
        done = run("doctor", "claude-code", "--state", f.state, "--home", f.path, "--cwd", f.path)
        check("doctor says that it answers", f"the broker at {sock} answers" in done.stdout, done.stdout)
        broker.terminate()
        broker.wait(timeout=20)


def test_one_for_a_state_directory():
    b = Broker()
    done = run("serve", "--policy", b.policy, "--state", b.folder.state, "--gate", b.socket + "2")
    check("a second one does not start", done.returncode == 2 and "already" in done.stderr, done.stderr)
    check("and takes nothing", b.hook("rm") == "deny")
    b.close()


only = sys.argv[4:]
for test in [value for name, value in sorted(globals().items()) if name.startswith("test_")]:
    if not only or test.__name__ in only:
        test()
finish()
