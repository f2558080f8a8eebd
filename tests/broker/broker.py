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


def hello(version=1):
    return frame(1, b"callgate" + struct.pack("<I", version) + text(b"run") + text(None) + text(None) + b"\0" +
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
        s.sendall(frame(1, b"callgate" + struct.pack("<I", 1)))
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


def test_started_on_demand():
    with Folder() as f:
        home = os.path.join(f.path, "home")
        os.makedirs(home + "/.config/callgate")
        sock = os.path.join(f.path, "d.sock")
        processes = [subprocess.Popen([CALLGATE, "hook", "claude-code", "--gate", sock, "--state", f.state],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(8)]
        message = json.dumps({"hook_event_name": "PreToolUse", "session_id": "x", "cwd": f.path, "tool_name": "rm",
                              "tool_input": {}})
        outs = [p.communicate(message, timeout=30)[0] for p in processes]
        # There may be a policy of this user or none: either way each is answered, and one broker at most was started.
        check("all are answered", all(o == "" or "deny" in o for o in outs), outs)
        done = subprocess.run(["fuser", f.state + "/serve.lock"], capture_output=True, text=True)
        check("one broker at most", len(done.stdout.split()) <= 1, done.stdout)
        for pid in done.stdout.split():
            os.kill(int(pid), signal.SIGTERM)
            wait_for("its end", lambda: not os.path.exists(f"/proc/{pid}"))


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
