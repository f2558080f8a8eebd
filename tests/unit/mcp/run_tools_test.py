"""`callgate run` and the tools that a server offers, with a fake server: run_tools_test.py CALLGATE [NAME…]"""
import json
import os
import tempfile

import harness
from harness import check
from run_support import Run, callgate


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


harness.main(globals())
