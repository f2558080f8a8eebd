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

RULES = [
    {"id": "no", "effect": "deny", "match": {"toolPrefix": "deny"}, "reason": "a secret reason"},
    {"id": "ask", "effect": "require_approval", "match": {"toolPrefix": "hold"}, "scope": "call"},
]


def callgate(*arguments, **how):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=DEADLINE, check=False,
                          stdin=subprocess.DEVNULL, **how)


class Run(harness.Run):
    """`callgate run` with a policy and a state directory of its own."""

    def arguments(self, rules=None, options=()):
        self.policy = os.path.join(self.dir.name, "policy.json")
        self.state = os.path.join(self.dir.name, "state")
        self.write_policy(RULES if rules is None else rules)
        return [PROGRAM, "run", "--policy", self.policy, "--state", self.state, *options, "--"]

    def write_policy(self, rules):
        with open(self.policy, "w", encoding="utf-8") as file:
            json.dump(rules, file)

    def journal(self):
        with open(os.path.join(self.state, "journal.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def decisions(self):
        return [event for event in self.journal() if event["kind"].startswith("policy.")]

    def kinds(self):
        return [event["kind"] for event in self.journal()]

    def pending(self):
        return json.loads(callgate("pending", "--format", "json", "--state", self.state).stdout)

    def code(self, count=1):
        """The code of the newest request, once `count` wait."""
        check(wait_for(lambda: len(self.pending()) == count))
        return self.pending()[-1]["code"]

    def vote(self, what, code):
        check(callgate(what, code, "--as", "tester", "--state", self.state).returncode == 0)

    def verified(self):
        done = callgate("journal", "verify", os.path.join(self.state, "journal.jsonl"))
        return done.returncode == 0 and done.stdout.startswith(b"OK: ")


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


class Shop(Run):
    """A run with a server that offers the tools of a file."""

    def __init__(self, tools, state=None, mode="pin", page=2, more=(), rules=None):
        self.given = state
        super().__init__("lists", rules=rules, options=[f"--tools={mode}", "--server", "shop", *more])
        self.offer(tools, page)

    def arguments(self, rules=None, options=()):
        words = super().arguments(rules, options)
        if self.given is not None:
            words[words.index(self.state)] = self.given
            self.state = self.given
        return words

    def offer(self, tools, page=2):
        with open(self.record + ".new", "w", encoding="utf-8") as file:
            json.dump(tools if isinstance(tools, str) else {"tools": tools, "page": page}, file)
        os.replace(self.record + ".new", self.record + ".tools")

    def passes(self, ident, name):
        self.call(ident, name)
        got = self.message()
        check(got.get("id") == ident, got)
        return got.get("result") == {"tool": name}

    def listed(self, ident):
        names, cursor = [], None
        while True:
            self.send({"jsonrpc": "2.0", "id": ident, "method": "tools/list",
                       "params": {} if cursor is None else {"cursor": cursor}})
            got = self.message()
            names += [t["name"] for t in got["result"]["tools"]]
            cursor = got["result"].get("nextCursor")
            if cursor is None:
                return names


def tool_of(name, **more):
    return {"name": name, "description": f"does {name}", "inputSchema": {"type": "object"}, **more}


def test_pins():
    """A tool that is new or changed is denied until it is accepted: between two runs, and within one."""
    with tempfile.TemporaryDirectory() as state:
        os.chmod(state, 0o700)
        tools = [tool_of(name) for name in "abcde"]
        run = Shop(tools, state)
        check(run.passes(1, "a"), "a server that was never seen is accepted as it is")
        check(run.passes(2, "e"), "over pages")
        check(not run.passes(3, "f"), "a tool that is not offered")
        check(run.end() == 0)
        check(b"5 tool(s) of the server were accepted" in run.errors, run.errors)
        check(run.recorded().count(b"callgate:tools:") == 3)
        shown = callgate("tools", "shop", "--state", state)
        check(shown.returncode == 0 and shown.stdout.count(b"accepted") == 5, shown)
        changes = (("description", {"description": "now steals"}), ("schema", {"inputSchema": {"type": "object", "x": 1}}),
                   ("annotation", {"annotations": {"readOnlyHint": True}}), ("title", {"title": "t"}))
        for what, change in changes:
            run = Shop([dict(tools[0], **change), *tools[1:], tool_of("new")], state)
            check(not run.passes(1, "a") and not run.passes(2, "new") and run.passes(3, "b"), what)
            check(run.listed(4) == ["b", "c", "d", "e"], "what is not accepted is not shown")
            check(run.end() == 0 and b"2 tool(s) of the server are new or changed" in run.errors, run.errors)
            run = Shop(tools, state)
            check(run.passes(1, "a"), "as it was accepted again")
            run.end()
        run = Shop([dict(tools[0], inputSchema=tools[1]), dict(tools[1], inputSchema=tools[0]), *tools[2:]], state)
        check(not run.passes(1, "a") and not run.passes(2, "b"), "two schemas swapped")
        run.end()
        run = Shop([tools[0], dict(tools[0], description="twice"), *tools[1:]], state)
        check(not run.passes(1, "a"), "a tool that is named twice")
        run.end()
        run = Shop([dict(tools[0], _meta={"n": 1}, icons=[]), *tools[1:]], state)
        check(run.passes(1, "a"), "icons and _meta are no part of what a tool is")
        run.offer([dict(tools[0], description="later"), *tools[1:]])
        check(run.passes(2, "a"), "nobody has heard of it yet")
        check(run.listed(3) == ["b", "c", "d", "e"], "within a run, without a word")
        check(not run.passes(4, "a"))
        shown = callgate("tools", "shop", "a", "--state", state)
        check(shown.returncode == 1 and b"later" in shown.stdout and b"does a" in shown.stdout, shown)
        check(callgate("tools", "accept", "shop", "nothing", "--state", state).returncode == 1)
        check(callgate("tools", "accept", "shop", "a", "--state", state).returncode == 0)
        check(run.passes(5, "a"), "accepted while it runs")
        run.offer([dict(tools[0], description="worse"), *tools[1:]])
        run.call(6, "raw", {"line": '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'})
        check(run.message()["result"]["isError"])
        check(run.end() == 0 and run.verified())
        kinds = run.kinds()
        check("tools.changed" in kinds and "tools.seen" in kinds and "tools.accepted" in kinds, set(kinds))
        reasons = {e.get("reason") for e in run.journal() if e["kind"] == "policy.deny"}
        check("the tool is not as it was accepted (callgate tools)" in reasons, reasons)
        check(callgate("tools", "forget", "shop", "--state", state).returncode == 0)
        check(callgate("tools", "shop", "--state", state).returncode == 1)


def test_undeclared():
    """An argument that the tool's schema does not declare is journalled, and under pins people are asked about the call."""
    closed = {"type": "object", "properties": {"id": {"type": "string"}}}
    tools = [tool_of("a", inputSchema=closed), tool_of("b"), tool_of("c", inputSchema={**closed, "additionalProperties": True}),
             tool_of("d", inputSchema={**closed, "additionalProperties": False}),
             tool_of("e", inputSchema={**closed, "patternProperties": {"^x": {}}})]
    for mode in ("pin", "record"):
        run = Shop(tools, mode=mode, more=["--hold-for", "60"])
        run.listed(1)
        for ident, name, arguments in ((2, "a", {"id": "1"}), (3, "b", {"x": 1}), (4, "c", {"x": 1}), (5, "e", {"x": 1}), (6, "a", {})):
            run.call(ident, name, arguments)
            check(run.message().get("result") == {"tool": name}, mode, name, arguments)
        run.call(7, "a", {"id": "1", "to": "x", "id2": 1})
        if mode == "pin":
            run.vote("approve", run.code())
        check(run.message() == {"jsonrpc": "2.0", "id": 7, "result": {"tool": "a"}})
        run.call(8, "d", {"secret": 1})
        if mode == "pin":
            run.vote("refuse", run.code())
            check(run.message()["result"]["isError"])
        else:
            check(run.message().get("result") == {"tool": "d"})
        check(run.end() == 0)
        noted = [(e["toolName"], e["detail"]["arguments"]) for e in run.journal() if e["kind"] == "tools.undeclared"]
        check(noted[0] == ("a", ["to", "id2"]) and noted[-1] == ("d", ["secret"]) and len(noted) == 2, noted)
        check(run.kinds().count("policy.require") == (2 if mode == "pin" else 0))


def test_list_changed():
    """The server's word that its list has changed makes the gate look again before the next call."""
    tools = [tool_of("a"), tool_of("raw")]
    run = Shop(tools)
    check(run.passes(1, "a"))
    run.offer([dict(tools[0], description="worse"), tools[1]])
    line = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
    run.call(2, "raw", {"line": line + '{"jsonrpc":"2.0","id":2,"result":{}}\n'})
    check({run.message().get("method"), run.message().get("id")} == {"notifications/tools/list_changed", 2})
    check(not run.passes(3, "a"))
    run.offer("broken")
    run.call(4, "raw", {"line": line + '{"jsonrpc":"2.0","id":4,"result":{}}\n'})
    run.message(), run.message()
    check(not run.passes(5, "raw"), "a list that cannot be had denies")
    run.offer([dict(tools[0], description="worse"), tools[1]])
    run.call(6, "raw", {"line": '{"jsonrpc":"2.0","id":6,"result":{}}\n'})
    check(run.message().get("result") == {}, "the next call asks again")
    check(run.end() == 0)
    check(not any(b"callgate:tools" in line for line in run.rest()))


ASKS = [{"id": "destroys", "effect": "deny", "match": {"server": "shop", "annotations": {"destructiveHint": True}}, "reason": "no"}]


def test_annotations():
    """What the server says of its tools, from the list of the session, or from the definitions that were accepted."""
    reads = {"annotations": {"readOnlyHint": True}}
    tools = [tool_of("reads", **reads), tool_of("silent"), tool_of("gentle", annotations={"destructiveHint": False}),
             tool_of("odd", annotations={"destructiveHint": "no"})]
    with tempfile.TemporaryDirectory() as state:
        os.chmod(state, 0o700)
        run = Shop(tools, state, mode="record", rules=ASKS)
        check(not run.passes(1, "reads"), "nobody has listed anything: nothing is known")
        run.listed(2)
        check(run.passes(3, "reads") and run.passes(4, "gentle"))
        check(not run.passes(5, "silent") and not run.passes(6, "odd") and not run.passes(7, "none"))
        run.offer([tool_of("reads"), tool_of("silent", **reads), *tools[2:]])
        run.listed(8)
        check(not run.passes(9, "reads") and run.passes(10, "silent"), "nothing is accepted: the last list counts")
        run.offer([*tools[:2], *tools[1:]])
        run.listed(11)
        check(run.passes(12, "reads") and not run.passes(13, "silent"), "a tool that is named twice")
        check(run.end() == 0 and run.verified())
        check({e.get("ruleId") for e in run.journal() if e["kind"] == "policy.deny"} == {"destroys"})
        judged_by_annotations(state, run)
        run = Shop(tools, state, mode="off", rules=ASKS)
        run.listed(1)
        check(not run.passes(2, "gentle"), "no list is kept")
        run.end()
    with tempfile.TemporaryDirectory() as state:
        os.chmod(state, 0o700)
        run = Shop(tools, state, rules=ASKS)
        check(run.passes(1, "reads") and run.passes(2, "gentle") and not run.passes(3, "silent"), "the gate has asked")
        run.end()
        run = Shop(tools, state, mode="record", rules=ASKS)
        check(run.passes(1, "reads") and not run.passes(2, "silent"), "accepted, and not listed yet")
        run.offer([tool_of("reads"), tool_of("silent", **reads), *tools[2:]])
        run.listed(3)
        check(not run.passes(4, "reads") and not run.passes(5, "silent"), "where list and accepted differ a hint is either's")
        check(callgate("tools", "accept", "shop", "--state", state).returncode == 0)
        run.end()
        run = Shop([tool_of("reads"), tool_of("silent", **reads), *tools[2:]], state, rules=ASKS)
        check(not run.passes(1, "reads") and run.passes(2, "silent"), "as it is accepted now")
        run.end()


def judged_by_annotations(state, run):
    """The journal holds what calls were judged with, so that they are decided alike when they are judged again."""
    decisions = [e for e in run.journal() if e["kind"] in ("policy.allow", "policy.deny") and e["toolName"] in ("reads", "gentle")]
    known = [e for e in decisions if "annotations" in e]
    check(known and "annotations" not in decisions[0], "before there was a list nothing was known")
    check(all(list(e["annotations"]) == sorted(HINTS) for e in known), known)
    check([e for e in known if e["toolName"] == "gentle"][0]["annotations"] == {
        "destructiveHint": False, "idempotentHint": False, "openWorldHint": True, "readOnlyHint": False}, known)
    check(callgate("journal", "verify", "--state", state).returncode == 0)
    policies = os.path.join(state, "replayed.json")
    with open(policies, "w") as file:
        json.dump(ASKS, file)
    done = callgate("replay", "--policy", policies, "--state", state)
    check(done.returncode == 0 and b" 0 would have been different" in done.stdout, done.stdout)
    with open(policies, "w") as file:
        json.dump([{**ASKS[0], "match": {"annotations": {"idempotentHint": True}}}], file)
    done = callgate("replay", "--policy", policies, "--state", state, "--format", "json")
    flips = [json.loads(line) for line in done.stdout.splitlines()]
    flipped = {f["tool"] for f in flips}
    check("reads" in flipped and "gentle" not in [f["tool"] for f in flips if not f["weaker"]], flips)


HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def test_many_tools():
    """5,000 tools over pages; and without pins, what is seen is kept and denies nothing."""
    with tempfile.TemporaryDirectory() as state:
        os.chmod(state, 0o700)
        tools = [tool_of(f"t{i}", title="x" * 200) for i in range(5000)]
        run = Shop(tools, state, page=100)
        check(run.passes(1, "t4999"))
        check(run.end() == 0)
        run = Shop([*tools[:-1], tool_of("t4999")], state, page=5000, mode="record")
        check(run.passes(1, "t4999"))
        check(len(run.listed(2)) == 5000)
        check(run.end() == 0)
        shown = callgate("tools", "--state", state, "--format", "json")
        states = [t["state"] for t in json.loads(shown.stdout)[0]["tools"]]
        check(shown.returncode == 1 and states.count("accepted") == 4999 and states.count("changed") == 1)
        check(os.stat(os.path.join(state, "tools", "shop.json")).st_mode & 0o777 == 0o600)


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
