#!/usr/bin/env python3
"""hidden.py CALLGATE [POLICIES]: `run --hide-denied` shows exactly the tools of which some call is not denied: against every
call of a small world, by `eval`, under generated policies, before and after reloads. Ends with `N passed, N failed`."""
import itertools
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time

CALLGATE = os.path.abspath(sys.argv[1])
POLICIES = int(sys.argv[2]) if len(sys.argv) > 2 else 40
# What the server says of each: a rule by annotations decides for or against the tool as a whole.
ANNOTATIONS = {"read_a": {"readOnlyHint": True}, "read_b": {"readOnlyHint": True, "openWorldHint": False}, "write_a": {"destructiveHint": True},
               "write_b": {"destructiveHint": False, "idempotentHint": True}, "send": {}, "odd*name": {"destructiveHint": "no"}}
TOOLS = ["read_a", "read_b", "write_a", "write_b", "send", "odd*name"]
SERVER = '''
import json, sys
TOOLS, ANNOTATIONS = %r
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        r = {"tools": [{"name": t, "annotations": ANNOTATIONS[t], "inputSchema": {"type": "object"}} for t in TOOLS]} if m["method"] == "tools/list" else {}
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
''' % ((TOOLS, ANNOTATIONS),)
SESSION = {"channel": "local", "thread": "t1"}
passed = failed = 0


def check(what, ok, *shown):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *shown, sep="\n    ")


HINTS = ("destructiveHint", "readOnlyHint", "idempotentHint", "openWorldHint")


def policy(rng):
    rules = []
    for number in range(rng.randint(0, 7)):
        match = {}
        kind = rng.random()
        if kind < 0.5:
            names = rng.sample(TOOLS[:-1], rng.randint(1, 3))
            match["tool"] = names if len(names) > 1 else names[0]
        elif kind < 0.75:
            match["toolPrefix"] = rng.choice(["read_", "write", "s", "o"])
        for key, values, often in (("server", ["shop", "other"], 0.3), ("channel", ["local", "C1"], 0.15), ("thread_ts", ["t1", "t2"], 0.15),
                                   ("actor", ["claude_process", "session_owner"], 0.15), ("pathPrefix", ["/srv/a", "/srv/b", "/"], 0.3),
                                   ("argEquals", [{"x": 1}, {"x": 2}, {"y": True}], 0.3)):
            if rng.random() < often:
                match[key] = rng.choice(values)
        if not match:
            match["tool"] = "*"
        if rng.random() < 0.3:
            match["tier"] = rng.choice(["admin", "user", "default"])
        effect = rng.choice(["deny", "deny", "auto_approve", "require_approval"])
        if effect != "auto_approve" and rng.random() < 0.35:
            match["annotations"] = {rng.choice(HINTS): rng.random() < 0.5 for _ in range(rng.choice((1, 1, 2)))}
        rule = {"id": f"r{number}", "effect": effect, "match": match}
        if effect == "deny":
            rule["reason"] = "r"
        rules.append(rule)
    return {"rules": rules, "requireAuthoredPolicy": rng.choice([[], ["*"], ["shop/*"], ["read_a", "shop/send"], ["other/*"]])}


def worlds():
    """Every call of each tool that differs to some rule."""
    paths = [{}, {"path": "/srv/a/f"}, {"path": "/srv/b"}, {"path": "/srv/c"}, {"path": "/srv/a", "file": "/srv/c"}]
    for tool in TOOLS:
        for where, x, y in itertools.product(paths, [None, 1, 2, 3], [None, True]):
            values = {**where, **({} if x is None else {"x": x}), **({} if y is None else {"y": y})}
            yield {"tool": tool, "server": "shop", "input": values, "sessionKey": SESSION, "actor": "claude_process", "annotations": ANNOTATIONS[tool]}


CALLS = list(worlds())
LINES = "".join(json.dumps(call) + "\n" for call in CALLS)


def usable(file):
    done = subprocess.run([CALLGATE, "eval", "--policy", file, "-"], input=LINES, capture_output=True, text=True, timeout=60, check=False)
    answers = [json.loads(line)["kind"] for line in done.stdout.split("\n") if line]
    assert len(answers) == len(CALLS), done.stderr
    return [tool for tool in TOOLS if any(kind != "deny" for call, kind in zip(CALLS, answers) if call["tool"] == tool)]


class Gate:
    def __init__(self, state, *where):
        self.process = subprocess.Popen([CALLGATE, "run", "--hide-denied", *where, "--state", state, "--server", "shop", "--thread", "t1",
                                         "--", sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def told(self):
        """A notification that comes by itself, within some seconds."""
        ready, _, _ = select.select([self.process.stdout], [], [], 20)
        return [json.loads(self.process.stdout.readline())["method"]] if ready else []

    def listed(self):
        """What is listed now, and the notifications that came before."""
        self.process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n')
        self.process.stdin.flush()
        before = []
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == 1:
                return [tool["name"] for tool in message["result"]["tools"]], before
            before.append(message.get("method"))


def write(file, document):
    with open(file, "w", encoding="utf-8") as out:
        json.dump(document, out)


def play(rng, folder, policies, broker):
    """A gate, or one behind a broker, under one policy after the other."""
    file, state, where = os.path.join(folder, "policy.json"), os.path.join(folder, "state"), ("--policy", os.path.join(folder, "policy.json"))
    document, served = policy(rng), None
    write(file, document)
    if broker:
        where = ("--gate", os.path.join(folder, "s"))
        served = subprocess.Popen([CALLGATE, "serve", "--state", state, "--policy", file, *where], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not os.path.exists(where[1]):
            served.poll() is None or sys.exit(f"the broker has ended: {served.stderr.read()}")
            time.sleep(0.02)
    gate = Gate(state, *where)
    shown, _ = gate.listed()
    running = usable(file)
    check("the first list", shown == running, document, shown, running)
    hidden = changed = notified = 0
    for _ in range(policies):
        document = policy(rng)
        write(file, document)
        adopted = subprocess.run([CALLGATE, "reload", "--state", state], capture_output=True, timeout=60, check=False).returncode == 0
        want = usable(file) if adopted else running
        told = ["notifications/tools/list_changed"] if want != running else []
        # A broker's client hears of it when it comes: whoever asks before sees the new list, and is told nothing.
        heard = gate.told() if broker and told else []
        shown, before = gate.listed()
        check("what is listed is what some call could use", shown == want, json.dumps(document), shown, want)
        check("the client hears of a change, and of nothing else", heard + before == told, json.dumps(document), heard, before, running, want)
        hidden += len(TOOLS) - len(want)
        changed += want != running
        notified += len(heard + before)
        running = want
    gate.process.communicate(timeout=60)
    check("tools were hidden, and lists changed", hidden > policies // 4 and changed > policies // 8, hidden, changed)
    check("most changes were told", notified > changed // 2, notified, changed)
    if broker:
        served.terminate()
        served.communicate(timeout=60)


rng = random.Random(int(os.environ.get("HIDDEN_SEED", "19")))
with tempfile.TemporaryDirectory(prefix="callgate-hidden-") as folder:
    play(rng, folder, POLICIES, False)
    file, state = os.path.join(folder, "policy.json"), os.path.join(folder, "state")
    done = subprocess.run([CALLGATE, "run", "--hide-denied", "--tools", "off", "--policy", file, "--state", state, "--", "true"],
                          capture_output=True, text=True, timeout=60, check=False)
    check("what does not go with it is told", done.returncode == 2 and "--hide-denied" in done.stderr, done.stderr)
with tempfile.TemporaryDirectory(prefix="callgate-hidden-") as folder:
    play(rng, folder, POLICIES // 2, True)
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
