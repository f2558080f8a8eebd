"""`callgate run` whole, with a fake server: run_test.py CALLGATE [NAME…]"""
import hashlib
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile

import harness
from harness import DEADLINE, PROGRAM, SERVER, check, denied, wait_for

from run_support import RULES, Run, callgate


def test_usage():
    """What is wrong with the arguments is told, exit 2, and nothing is started."""
    with tempfile.TemporaryDirectory() as name:
        policy, broken, named = (os.path.join(name, n) for n in ("p.json", "broken.json", "named.json"))
        for path, text in ((policy, "[]"), (broken, "[{]"), (named, json.dumps(
                [{"id": "s", "effect": "deny", "reason": "r", "match": {"server": "fs"}}]))):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        started = os.path.join(name, "started")
        command = ["--state", os.path.join(name, "state"), "--", "touch", started]
        for arguments in (["--policy", policy], ["--", "touch", started], ["--policy", policy, "--actor", "me", *command],
                          ["--policy", policy, "--fsync", "often", *command],
                          ["--policy", policy, "--journal", "maybe", *command],
                          ["--policy", policy, "--hold-for", "-1", *command],
                          ["--policy", policy, "--hold-for", "soon", *command],
                          ["--policy", policy, "--server", "", *command],
                          ["--policy", policy, "--unknown", *command],
                          ["--policy", broken, *command], ["--policy", named, *command],
                          ["--policy", os.path.join(name, "missing"), *command]):
            done = callgate("run", *arguments)
            check(done.returncode == 2 and done.stdout == b"" and done.stderr != b"", arguments, done)
        check(not os.path.exists(started))
        check(callgate("run", "--policy", named, "--server", "fs", *command).returncode == 0)
        check(os.path.exists(started))
        done = callgate("run", "--help")
        check(done.returncode == 0 and done.stdout.startswith(b"usage: callgate run") and done.stderr == b"")


def test_decisions():
    """Allowed, denied, held and approved from another process; all of it in the journal."""
    run = Run()
    run.call(1, "t", {"a": 1})
    check(run.message().get("result") == {"tool": "t"})
    run.call(2, "deny-it", {"a": 1})
    check(denied(run.message(), 2))
    run.call(3, "hold", {"a": 1}, _meta={"progressToken": 3})
    check(run.message().get("method") == "notifications/progress")
    run.call(4, "t")
    check(run.message().get("id") == 4)
    run.vote("approve", run.code())
    check(run.message().get("result") == {"tool": "hold"})
    run.call(5, "hold", {"a": 2})
    run.vote("refuse", run.code())
    check(denied(run.message(), 5, "The call was refused by a person."))
    run.call(6, "hold", {"a": 2})  # stays refused
    check(denied(run.message(), 6, "The call was refused by a person."))
    run.send(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","name":"u"}}\n')
    check(run.message().get("error", {}).get("code") == -32600)
    check(run.end() == 0)
    check(run.verified())
    check(run.recorded().count(b'"name": "t"') == 2 and run.recorded().count(b"hold") == 1)
    last = run.decisions()[-2]
    check(last["kind"] == "policy.deny" and last["reason"] == "malformed call: a repeated key", last)
    line = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","name":"u"}}'
    check(last["detail"] == {"bytes": len(line), "sha256": hashlib.sha256(line).hexdigest()}, last)
    check("callHash" not in last)
    check(stat.S_IMODE(os.stat(run.state).st_mode) == 0o700)
    check(stat.S_IMODE(os.stat(os.path.join(run.state, "journal.jsonl")).st_mode) == 0o600)
    check(run.errors == b"", run.errors)


def test_in_time():
    """Not approved in time, approved later: the call passes when it is made again."""
    run = Run(options=["--hold-for", "0.2"])
    run.call(1, "hold")
    check("not approved in time" in run.message()["result"]["content"][0]["text"])
    code = run.code()
    run.call(2, "hold")
    check("not approved in time" in run.message()["result"]["content"][0]["text"])
    check(run.code() == code, "it is the same request")
    run.vote("approve", code)
    run.call(3, "hold")
    check(run.message().get("result") == {"tool": "hold"})
    check(run.end() == 0)


def test_too_many():
    """The seventeenth request that waits is denied in words of its own."""
    run = Run(options=["--hold-for", "1.5"])
    for ident in range(17):
        run.call(ident, "hold", {"n": ident})
    got = [run.message() for _ in range(17)]
    many = [m["id"] for m in got if denied(m, m["id"], "Too many requests wait for approval.")]
    late = [m["id"] for m in got if denied(m, m["id"], "The call was not approved in time.")]
    check(many == [16] and sorted(late) == list(range(16)), got)
    check(run.end() == 0)


def test_tell():
    """A rule's words for the agent stand behind the kind of the denial, at every way in which it can be denied."""
    rules = [{"id": "no", "effect": "deny", "match": {"tool": "no"}, "reason": "a secret", "tell": "Use \"yes\"."},
             {"id": "read", "effect": "deny", "match": {"tool": "resources/read"}, "reason": "a secret", "tell": "Ask."},
             {"id": "ask", "effect": "require_approval", "match": {"tool": "ask"}, "tell": "Only on weekdays."}]
    run = Run(rules=rules, options=["--hold-for", "1.5"])
    run.call(1, "no")
    check(denied(run.message(), 1, 'The call was denied. Use "yes".'))
    run.send({"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "x:y"}})
    check(run.message().get("error") == {"code": 403, "message": "The call was denied. Ask."})
    run.call(3, "ask", {"a": 1})
    check(denied(run.message(), 3, "The call was not approved in time. Only on weekdays."))
    run.call(4, "ask", {"a": 1})
    run.vote("refuse", run.code())
    check(denied(run.message(), 4, "The call was refused by a person. Only on weekdays."))
    check(run.end() == 0)
    check(not any(b"secret" in line for line in run.rest()))


def test_cancel():
    run = Run()
    run.call(1, "hold", {"a": 1})
    run.code()
    run.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    check(wait_for(lambda: "approval.withdrawn" in run.kinds()))
    check(wait_for(lambda: run.pending() == []), "the journal has it before the store")
    run.call(2, "hold", {"a": 2})
    run.code()
    check(run.end() == 0)
    check(run.pending() == [] and run.kinds().count("approval.withdrawn") == 2)
    check(run.recorded() == b"EOF\n")


def test_reload():
    """SIGHUP: a new policy, or the old one when the new one is none."""
    run = Run()
    run.call(1, "extra")
    check(run.message().get("result") == {"tool": "extra"})
    extra = {"id": "extra", "effect": "deny", "match": {"tool": "extra"}, "reason": "r"}
    run.write_policy(RULES + [extra])
    run.process.send_signal(signal.SIGHUP)
    check(wait_for(lambda: run.kinds().count("policy.loaded") == 2))
    run.call(2, "extra")
    check(denied(run.message(), 2))
    for bad in ([{"id": "allow", "effect": "auto_approve", "match": {"tool": "extra"}}] + RULES, "no policy",
                [{"id": "fs", "effect": "deny", "match": {"server": "fs"}, "reason": "r"}]):
        before = run.kinds().count("policy.reload_refused")
        run.write_policy(bad)
        run.process.send_signal(signal.SIGHUP)
        check(wait_for(lambda: run.kinds().count("policy.reload_refused") == before + 1), bad)
    run.call(3, "extra")
    check(denied(run.message(), 3))
    check(run.end() == 0)


def test_paths():
    """Directories among the server's arguments are roots; --root adds one; --remote reads no path."""
    with tempfile.TemporaryDirectory() as name:
        name = os.path.realpath(name)
        rules = [{"id": "p", "effect": "deny", "match": {"pathPrefix": os.path.join(name, "secret")}, "reason": "r"}]
        for options, arguments, blocked in (((), [name], True), (("--root", name), [], True), ((), [], False),
                                            (("--remote",), [name], False), (("--cwd", name), [], True)):
            record = os.path.join(name, "record")
            run = Run(rules=rules, options=options, command=[sys.executable, SERVER, "echo", record, *arguments])
            run.call(1, "t", {"path": "secret/../secret/x"})
            got = run.message()
            check(denied(got, 1) == blocked, options, arguments, got)
            run.send({"jsonrpc": "2.0", "id": 2, "method": "resources/read",
                      "params": {"uri": f"file://{name}/secret/y"}})
            got = run.message()
            check(("error" in got) == ("--remote" not in options), options, got)
            check("error" not in got or got["error"] == {"code": 403, "message": "The call was denied."})
            check(run.end() == 0)


def test_server_words():
    """A server's directories are known in every form that it is told them."""
    with tempfile.TemporaryDirectory() as name:
        name = os.path.realpath(name)
        home = os.path.join(name, "home")
        os.makedirs(os.path.join(home, "work", "secret"))
        secret = os.path.join(home, "work", "secret")
        rules = [{"id": "p", "effect": "deny", "match": {"pathPrefix": secret}, "reason": "r"}]
        record = os.path.join(name, "record")
        server = [sys.executable, SERVER, "echo", record]
        for front, words in (([], ["--root=" + os.path.join(home, "work")]),
                             ([], ["file://" + os.path.join(home, "work")]),
                             ([], ["--allow=file:" + os.path.join(home, "work")]),
                             (["env", "HOME=" + home], ["~/work"]), (["env", "X=y", "HOME=" + home], ["--dir=~/work"])):
            run = Run(rules=rules, command=[*front, *server, *words])
            run.call(1, "t", {"path": "secret/x"})
            got = run.message()
            check(denied(got, 1), front, words, got)
            check(run.end() == 0)
        run = Run(rules=rules, command=["env", "HOME=" + home, *server])
        run.call(1, "t", {"path": "~/work/secret/x"})
        check(denied(run.message(), 1), "another HOME")
        run.call(2, "t", {"path": "~/work/other"})
        check(run.message().get("result") == {"tool": "t"})
        check(run.end() == 0)


def test_session():
    """Each run is a session of its own unless it is named; actor and server are those of the options."""
    threads = set()
    for _ in range(2):
        run = Run()
        run.call(1, "t")
        run.message()
        check(run.end() == 0)
        event = run.decisions()[-1]
        check(event["sessionKey"]["channel"] == "local" and event["actor"] == "claude_process")
        threads.add(event["sessionKey"]["thread"])
    check(len(threads) == 2 and all(len(t) == 32 for t in threads), threads)
    run = Run(options=["--channel", "C", "--thread", "T", "--actor", "session_owner", "--server", "fs"])
    run.call(1, "t")
    run.message()
    check(run.end() == 0)
    event = run.decisions()[-1]
    check(event["sessionKey"] == {"channel": "C", "thread": "T"} and event["server"] == "fs"
          and event["actor"] == "session_owner", event)


def test_allow_method():
    run = Run(options=["--allow-method", "vendor/a", "--allow-method", "notifications/b"])
    run.send({"jsonrpc": "2.0", "id": 1, "method": "vendor/a"}, {"jsonrpc": "2.0", "method": "notifications/b"},
             {"jsonrpc": "2.0", "id": 2, "method": "vendor/c"})
    got = {m.get("id"): m for m in (run.message(), run.message())}
    check("result" in got.get(1, {}) and got.get(2, {}).get("error", {}).get("code") == -32601, got)
    check(run.end() == 0)
    check(b"notifications/b" in run.recorded() and b"vendor/c" not in run.recorded())
    judged = [(e["kind"], e["toolName"]) for e in run.decisions() if "toolName" in e]
    check(judged == [("policy.allow", "vendor/a"), ("policy.allow", "notifications/b")], judged)
    no = [{"id": "no", "effect": "deny", "match": {"toolPrefix": "vendor/"}, "reason": "r"},
          {"id": "nor", "effect": "deny", "match": {"tool": "notifications/b"}, "reason": "r"}]
    run = Run(rules=no, options=["--allow-method", "vendor/a", "--allow-method", "notifications/b"])
    run.send({"jsonrpc": "2.0", "id": 1, "method": "vendor/a"}, {"jsonrpc": "2.0", "method": "notifications/b"})
    check(run.message().get("error") == {"code": 403, "message": "The call was denied."})
    check(run.end() == 0)
    check(run.recorded() == b"EOF\n")


def test_outcomes():
    """An event for each call that has ended, tied to its decision; none when that is not wanted."""
    for options, count in (((), 2), (("--record-outcomes=off",), 0)):
        run = Run(options=options)
        run.call(1, "t", {"secret": "s"})
        run.message()
        run.call(2, "raw", {"line": '{"jsonrpc":"2.0","id":2,"result":{"isError":true}}\n'})
        run.message()
        check(run.end() == 0 and run.verified())
        ended = [event for event in run.journal() if event["kind"] == "call.ended"]
        check(len(ended) == count, ended)
        allowed = {event["correlationId"]: event for event in run.journal() if event["kind"] == "policy.allow"}
        for event, outcome in zip(ended, ("ok", "tool_error")):
            check(event["outcome"] == outcome and "input" not in event)
            check(event["toolName"] == allowed[event["correlationId"]]["toolName"])
            check(set(event["detail"]) == {"durationMs", "resultBytes"} and event["detail"]["resultBytes"] > 30, event)


def test_long_line():
    """Of a line that is over the limit the journal has hash and length."""
    run = Run()
    line = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"t","arguments":{"x":"' + b"y" * (17 << 20)
    run.send(line + b'"}}}\n')
    check(run.message().get("id") == 9)
    check(run.end() == 0)
    detail = run.decisions()[-2]["detail"]
    line += b'"}}}'
    check(detail == {"bytes": len(line), "sha256": hashlib.sha256(line).hexdigest()}, detail)


def test_closed_descriptors():
    """What is said to a standard descriptor that is closed does not go into the journal."""
    with tempfile.TemporaryDirectory() as name:
        state, policy = os.path.join(name, "state"), os.path.join(name, "policy.json")
        with open(policy, "w", encoding="utf-8") as file:
            file.write("[]")
        callgate("run", "--policy", policy, "--state", state, "--", "true")
        for closed in ((0, 1, 2), (1, 2), (0, 1), (1,), (2,)):
            for command in (["status"], ["pending"], ["approve", "abcde"], ["reload"], ["stats"],
                            ["run", "--policy", policy, "--", "true"]):
                at = command.index("--") if "--" in command else len(command)
                callgate(*command[:at], "--state", state, *command[at:],
                         preexec_fn=lambda fds=closed: [os.close(fd) for fd in fds])
                check(callgate("journal", "verify", os.path.join(state, "journal.jsonl")).returncode == 0, command)


def test_planted():
    """What somebody has put into the state directory holds up nobody, and is not shown as it stands."""
    run = Run()
    gates = os.path.join(run.state, "gates")
    check(wait_for(lambda: os.path.isdir(gates) and any(n.endswith(".json") for n in os.listdir(gates))))
    status = next(os.path.join(gates, n) for n in os.listdir(gates) if n.endswith(".json"))
    counts = os.path.join(run.state, "counts.json")
    with open(counts, "w", encoding="utf-8") as file:
        json.dump({"offset": 0, "seq": 0, "rules": {"x": {"allow": 1, "last": "\x1b[2J\""}}}, file)
    shown = callgate("stats", "--state", run.state)
    check(shown.returncode == 0 and b"\x1b" not in shown.stdout, shown)
    json.loads(callgate("stats", "--format", "json", "--state", run.state).stdout)
    for path in (counts, status):
        os.unlink(path)
        os.mkfifo(path, 0o600)
    check(callgate("stats", "--state", run.state).returncode == 0)
    check(callgate("status", "--state", run.state).returncode == 0)
    run.end()


def test_few_descriptors():
    """Whatever few files may be open at once: a message and exit 2, or it works; never an abort."""
    with tempfile.TemporaryDirectory() as name:
        policy, state = os.path.join(name, "policy.json"), os.path.join(name, "state")
        with open(policy, "w", encoding="utf-8") as file:
            file.write("[]")
        line = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}\n'
        for most in [*range(4, 64), 256]:
            done = subprocess.run([PROGRAM, "run", "--policy", policy, "--state", state, "--", sys.executable, SERVER,
                                   "echo", os.path.join(name, "record")], input=line, capture_output=True, check=False,
                                  timeout=DEADLINE,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            worked = done.returncode == 0 and b'"tool": "t"' in done.stdout
            check(worked or (done.returncode == 2 and done.stderr.startswith(b"callgate: ")
                             and b'"result"' not in done.stdout), most, done)
        check(worked)


def test_umask():
    """The server's files get the modes that they would have without us."""
    with tempfile.TemporaryDirectory() as name:
        run = Run(command=["sh", "-c", f"umask > {name}/umask"], )
        run.end()
        mask = os.umask(0)
        os.umask(mask)
        with open(os.path.join(name, "umask"), encoding="ascii") as file:
            check(int(file.read(), 8) == mask)


def test_full_disk():
    """When the journal cannot be written, what would be allowed is denied; told once."""
    with tempfile.TemporaryDirectory() as name:
        policy, state, record = (os.path.join(name, n) for n in ("policy.json", "state", "record"))
        with open(policy, "w", encoding="utf-8") as file:
            json.dump(RULES, file)
        limit = 100000  # bytes of any file: room for the store, and for some hundred calls
        calls = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}\n' % i
                         for i in range(400))
        process = subprocess.Popen(
            [PROGRAM, "run", "--policy", policy, "--state", state, "--", sys.executable, SERVER, "echo", record],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, restore_signals=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        got = []
        for line in calls.splitlines(True):
            process.stdin.write(line)
            process.stdin.flush()
            got.append(json.loads(process.stdout.readline()))
        errors = process.communicate(timeout=DEADLINE)[1]
        allowed = [m["id"] for m in got if m["result"].get("tool") == "t"]
        check(0 < len(allowed) < 400 and allowed == list(range(len(allowed))), allowed)
        check(all(denied(m, m["id"]) for m in got[len(allowed):]))
        check(errors.count(b"journal cannot be written") == 1, errors)
        with open(record, "rb") as file:
            check(file.read().count(b"tools/call") == len(allowed))


TREE = """
import os, signal, sys, time
names = sys.argv[1]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def child(name, away):
    if os.fork() == 0:
        if away:
            os.setsid()
            if os.fork():
                os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with open(os.path.join(names, name), "w") as file:
            file.write(str(os.getpid()))
        while True:
            time.sleep(1)
child("child", False)
child("daemon", True)
with open(os.path.join(names, "server"), "w") as file:
    file.write(str(os.getpid()))
while True:
    time.sleep(1)
"""


def alive(pid):
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def tree(name, front=()):
    """A gate before a server that ignores SIGTERM, with a child, and a grandchild in a session of its own."""
    run = Run(command=[*front, sys.executable, "-c", TREE, name])
    names = [os.path.join(name, n) for n in ("server", "child", "daemon")]

    def written(path):
        return os.path.exists(path) and os.path.getsize(path) > 0

    check(wait_for(lambda: all(map(written, names))))
    pids = []
    for path in names:
        with open(path, encoding="ascii") as file:
            pids.append(int(file.read()))
        os.unlink(path)
    return run, pids


def test_no_orphans():
    """In whatever way the gate ends, nothing of the server's tree is left."""
    with tempfile.TemporaryDirectory() as name:
        for front in ((), ("sh", "-c", '"$@" & wait', "sh"), ("setsid", "--wait")):
            run, pids = tree(name, front)
            check(all(map(alive, pids)))
            run.process.kill()
            check(run.wait() == -signal.SIGKILL)
            check(wait_for(lambda: not any(map(alive, pids))), front, pids)
            run.close()
        run, pids = tree(name)
        check(run.end() == 128 + 9, "its input closed")
        check(not any(map(alive, pids)), "and gone when the gate is gone")
        run, pids = tree(name)
        run.process.terminate()
        check(run.wait() == 128 + 9, "told to end")
        check(not any(map(alive, pids)))


def test_keeper_killed():
    """A keeper that is killed takes the server along, and the gate ends."""
    with tempfile.TemporaryDirectory() as name:
        run, pids = tree(name)
        with open(f"/proc/{pids[0]}/stat", encoding="latin-1") as file:
            keeper = int(file.read().rpartition(")")[2].split()[1])
        check(keeper != run.process.pid)
        os.kill(keeper, signal.SIGKILL)
        check(run.wait() == 128 + 9)
        check(wait_for(lambda: not alive(pids[0]) and not alive(pids[1])))
        os.kill(pids[2], signal.SIGKILL)


harness.main(globals())
