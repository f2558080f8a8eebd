#!/usr/bin/env python3
"""observe.py CALLGATE: observing denies and holds nothing, journals what would be, is told of, may be forbidden, and ends
with `callgate enforce` wherever it was begun. Ends with `N passed, N failed`."""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

CALLGATE = os.path.abspath(sys.argv[1])
passed = failed = 0
SERVER = '''
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {"tools": [{"name": "read_note", "inputSchema": {"type": "object"}}]} if m["method"] == "tools/list" else {"did": m["params"]["name"]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
'''
RULES = [
    {"id": "no", "effect": "deny", "reason": "not here", "match": {"tool": ["drop_note", "Bash"]}, "tell": "ask somebody"},
    {"id": "ask", "effect": "require_approval", "scope": "once", "ttlMs": 60000, "approvers": 2, "match": {"tool": ["write_note", "Write"]}},
    {"id": "reads", "effect": "auto_approve", "match": {"tool": ["read_note", "Read"]}},
]


def check(what, ok, *shown):
    global passed, failed
    if ok:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}", *shown, sep="\n    ")


def wait_for(condition):
    end = time.monotonic() + 60
    while time.monotonic() < end and not condition():
        time.sleep(0.05)
    return condition()


class Gate:
    """A program that speaks lines of JSON."""

    def __init__(self, words, **how):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)

    def send(self, message):
        self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self.process.stdin.flush()

    def call(self, number, tool, arguments=None):
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments or {}}})
        return json.loads(self.process.stdout.readline())

    def end(self):
        return self.process.communicate(timeout=60)


class Place:
    """A home of its own."""

    def __init__(self, folder, rules=None):
        self.home = folder
        self.work, self.state, self.policy = (os.path.join(folder, name) for name in ("work", "state", "policy.json"))
        os.makedirs(self.work)
        self.server = os.path.join(folder, "server.py")
        with open(self.server, "w", encoding="utf-8") as file:
            file.write(SERVER)
        self.write(rules or {"rules": RULES, "requireAuthoredPolicy": ["*"]})
        self.here = ("--home", folder, "--cwd", self.work)

    def write(self, document):
        with open(self.policy, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def cli(self, *argv, **how):
        return subprocess.run([CALLGATE, *argv], capture_output=True, text=True, timeout=120, cwd=self.work, check=False, **how)

    def gate(self, *options, **how):
        return Gate([CALLGATE, "run", "--policy", self.policy, "--state", self.state, "--server", "notes", *options, "--",
                     sys.executable, self.server], **how)

    def events(self, state=None):
        with open(os.path.join(state or self.state, "journal.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def status(self):
        return json.loads(self.cli("status", "--format", "json", "--state", self.state, *self.here).stdout)


def ran(answer):
    return "did" in answer.get("result", {})


def kinds(events, *wanted):
    return [(event["kind"], event.get("ruleId"), event.get("outcome")) for event in events if event["kind"] in wanted]


WOULD = ("policy.would-deny", "policy.would-require")


def of_run(place):
    gate = place.gate("--observe")
    check("what is allowed runs", ran(gate.call(1, "read_note")))
    check("what a rule denies runs", ran(gate.call(2, "drop_note")))
    check("what no rule names runs", ran(gate.call(3, "other")))
    check("what people would be asked about runs, and is not held", ran(gate.call(4, "write_note")))
    check("nobody is asked", json.loads(place.cli("pending", "--format", "json", "--state", place.state).stdout) == [])
    answer = gate.call(5, "read_note", {"A": 1, "a": 2})
    check("a malformed call is denied", not ran(answer), answer)
    deep = json.dumps({"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "read_note", "arguments": {}}})
    gate.send(deep.replace("{}", '{"a":' * 70 + "1" + "}" * 70))
    answer = json.loads(gate.process.stdout.readline())
    check("a call over a limit is denied", not ran(answer), answer)
    text = place.cli("status", "--state", place.state, *place.here).stdout
    check("status shouts", "OBSERVING: denies and holds nothing" in text, text)
    check("status as JSON says it", place.status()["gates"][0]["observing"] is True)
    errors = gate.end()[1]
    check("the operator is told at the start", "OBSERVING: no call is denied or held" in errors, errors)
    events = place.events()
    got = kinds(events, "policy.allow", "policy.deny", "policy.require", *WOULD)
    want = [("policy.allow", "reads", "allow"), ("policy.would-deny", "no", "would-deny"), ("policy.would-deny", "default", "would-deny"),
            ("policy.would-require", "ask", "would-require"), ("policy.deny", "default", "deny"), ("policy.deny", "default", "deny")]
    check("the journal says what would be", got == want, *got)
    would = [event for event in events if event["kind"] in WOULD]
    check("with the reasons", [event.get("reason") for event in would] == ["not here", "no policy authored for tool 'other'", None], *would)
    check("and what people would be asked", would[2]["detail"] == {"approvers": 2, "scope": "once", "ttlMs": 60000}, would[2])
    ended = {event["correlationId"] for event in events if event["kind"] == "call.ended"}
    check("how each ended is told", all(event["correlationId"] in ended for event in would))
    check("a policy that observes is journalled so", [event["detail"].get("observing") for event in events if event["kind"] == "policy.loaded"] == [True])
    check("the journal verifies", place.cli("journal", "verify", "--state", place.state).returncode == 0)
    stats = {one["rule"]: one for one in json.loads(place.cli("stats", "--format", "json", "--state", place.state).stdout)}
    check("stats count them as what they would be", stats["no"]["deny"] == 1 and stats["ask"]["require"] == 1, stats)
    done = place.cli("replay", "--policy", place.policy, "--state", place.state, *place.here)
    check("replay finds nothing changed", done.returncode == 0 and "0 would have been different" in done.stdout, done.stdout, done.stderr)
    shown = place.cli("journal", "show", "--denied", "--state", place.state).stdout
    check("journal show --denied has them", shown.count("policy.would-deny") == 2, shown)


def of_journal(place):
    """What cannot be journalled is denied."""
    done = place.cli("run", "--policy", place.policy, "--state", place.state, "--observe", "--journal", "optional", "--", "true")
    check("--observe needs the journal", done.returncode == 2 and "--observe needs the journal" in done.stderr, done.stderr)
    gate = place.gate("--observe", restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)))
    got = [ran(gate.call(number, "drop_note")) for number in range(400)]
    check("without a record a call that would be denied is", True in got and False in got and sorted(got, reverse=True) == got, got.count(True))
    gate.end()


def of_forbidding(place):
    admin = os.path.join(place.home, "admin.json")
    with open(admin, "w", encoding="utf-8") as file:
        json.dump({"rules": [], "allowObserve": False}, file)
    os.chmod(admin, 0o600)
    gate = place.gate("--observe", "--policy", f"admin={admin}")
    check("an admin document forbids it", not ran(gate.call(1, "drop_note")))
    check("status does not call it observing", place.status()["gates"][0]["observing"] is False)
    with open(admin, "w", encoding="utf-8") as file:
        json.dump({"rules": []}, file)
    place.cli("reload", "--state", place.state)
    check("a reload without it observes", ran(gate.call(2, "drop_note")))
    with open(admin, "w", encoding="utf-8") as file:
        json.dump({"rules": [], "allowObserve": False}, file)
    place.cli("reload", "--state", place.state)
    check("and one with it ends that", not ran(gate.call(3, "drop_note")))
    errors = gate.end()[1]
    check("the operator is told", "observing is forbidden by the policy" in errors, errors)
    gate = place.gate("--observe", "--no-weakening", "--policy", f"admin={admin}")
    check("forbidden from the start", not ran(gate.call(1, "drop_note")))
    with open(admin, "w", encoding="utf-8") as file:
        json.dump({"rules": []}, file)
    done = place.cli("reload", "--state", place.state)
    check("the exact gate does not take that back", done.returncode == 1 and "observing is no longer forbidden" in done.stdout, done.stdout)
    check("so it enforces on", not ran(gate.call(2, "drop_note")))
    gate.end()


def of_confining(place):
    """The exact gate takes a confinement that opens for a weaker policy."""
    user = os.path.join(place.home, "confined.json")

    def reload(**confine):
        with open(user, "w", encoding="utf-8") as file:
            json.dump({"rules": [], "confine": confine}, file)
        os.chmod(user, 0o600)
        return place.cli("reload", "--state", place.state)
    reload(write=["out"], read=["vendor", "signed"])
    gate = place.gate("--no-weakening", "--policy", user)
    gate.call(1, "read_note")
    check("one more read and one less write is taken", reload(read=["more", "vendor", "signed"]).returncode == 0)
    done = reload(write=["out"], read=["more", "signed"])
    check("what the baseline has is no weakening, what it loses is", done.returncode == 1 and
          "weaker: confine.read loses 'vendor'" in done.stdout and "confine.write" not in done.stdout and
          "callgate acknowledge" in done.stdout, done.stdout)
    done = reload(write=["out", "@npm"], read=["vendor", "signed"])
    check("nor does it open a place", done.returncode == 1 and "weaker: confine.write gets '@npm'" in done.stdout, done.stdout)
    errors = gate.end()[1]
    check("the operator is told of it", "weaker than the baseline: confine.write gets '@npm'" in errors, errors)
    old, new = os.path.join(place.home, "old.json"), os.path.join(place.home, "new.json")
    for path, confine in ((old, {"write": ["a"], "read": ["b"]}), (new, {"write": ["c", "c"], "read": ["b", "d"]})):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"rules": [], "confine": confine}, file)
    done = place.cli("diff", "--format", "json", old, new)
    check("diff tells each change", done.returncode == 1 and json.loads(done.stdout).get("confine") == [
        {"list": "read", "place": "d", "added": True, "weaker": False},
        {"list": "write", "place": "a", "added": False, "weaker": False},
        {"list": "write", "place": "c", "added": True, "weaker": True}], done.stdout)
    done = place.cli("diff", "--fail-on", "violation", old, new)
    check("diff fails for what it is told to", done.returncode == 0 and "WEAKER    confine.write gets 'c'" in done.stdout, done.stdout)


def hook(place, words, tool):
    message = {"session_id": "s", "cwd": place.work, "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": tool,
               "tool_input": {"command": "ls"} if tool == "Bash" else {"file_path": "a"}}
    return subprocess.run(words, input=json.dumps(message), capture_output=True, text=True, timeout=60).stdout


def of_everything(place):
    """wrap, hook install, status, doctor, enforce."""
    config, other = os.path.join(place.home, ".claude.json"), os.path.join(place.home, "elsewhere.json")
    for name in (config, other):
        with open(name, "w", encoding="utf-8") as file:
            json.dump({"mcpServers": {"notes": {"command": sys.executable, "args": [place.server]}}}, file)
    policy, state = ("--policy", f"user={place.policy}"), ("--state", place.state)
    before = open(config, encoding="utf-8").read()
    done = place.cli("wrap", "--observe", *policy, *state, *place.here)
    check("wrap --observe", done.returncode == 0 and "--observe" in open(config, encoding="utf-8").read(), done.stderr)
    check("and of a file by name", place.cli("wrap", "--observe", other, *policy, *state, *place.here).returncode == 0)
    os.makedirs(os.path.join(place.home, ".claude"))
    done = place.cli("hook", "install", "claude-code", "--observe", *policy, *state, *place.here)
    check("hook install --observe", done.returncode == 0, done.stdout, done.stderr)
    settings = os.path.join(place.home, ".claude/settings.json")

    def words():
        entry = json.load(open(settings, encoding="utf-8"))["hooks"]["PreToolUse"][0]["hooks"][0]
        return [entry["command"], *entry["args"]]

    check("a hook gives no opinion of what it would deny", hook(place, words(), "Bash") == "", hook(place, words(), "Bash"))
    check("nor of what it would ask about", hook(place, words(), "Write") == "")
    out = subprocess.run(words(), input="{", capture_output=True, text=True, timeout=60).stdout
    check("a message that cannot be read is denied", '"deny"' in out, out)
    got = kinds(place.events(), *WOULD)
    check("both are journalled", ("policy.would-deny", "no", "would-deny") in got and ("policy.would-require", "ask", "would-require") in got, got)
    with open(os.path.join(place.home, "opencode.jsonl"), "w", encoding="utf-8"):
        pass
    done = place.cli("hook", "install", "opencode", "--observe", *policy, *state, *place.here)
    check("a plugin that observes", done.returncode == 0, done.stdout, done.stderr)
    text = place.cli("status", *state, *place.here).stdout
    check("status shouts all four", text.count("OBSERVING: the ") == 4 and "elsewhere.json" in text, text)
    done = place.cli("doctor", "claude-code", *state, *place.here)
    check("doctor calls it a fault", done.returncode == 1 and "OBSERVING: this hook denies and holds nothing" in done.stdout and
          "OBSERVING: the gate of server notes" in done.stdout and "callgate enforce" in done.stdout, done.stdout)
    entry = json.load(open(config, encoding="utf-8"))["mcpServers"]["notes"]
    gate = Gate([entry["command"], *entry["args"]], cwd=place.work)
    check("a wrapped server observes", ran(gate.call(1, "drop_note")))
    done = place.cli("enforce", "--dry-run", *state, *place.here)
    check("enforce --dry-run changes nothing", done.returncode == 0 and "--observe" in open(config, encoding="utf-8").read(), done.stdout)
    done = place.cli("enforce", *state, *place.here)
    check("enforce", done.returncode == 0 and "4 hook(s)" in done.stdout, done.stdout, done.stderr)
    check("the gate that runs enforces at once", not ran(gate.call(2, "drop_note")))
    gate.end()
    check("the hook denies", '"deny"' in hook(place, words(), "Bash"), hook(place, words(), "Bash"))
    check("--observe stands nowhere", all("--observe" not in open(name, encoding="utf-8").read() for name in (
        config, other, settings, os.path.join(place.home, ".config/opencode/plugin/callgate.js")) if os.path.exists(name)))
    text = place.cli("status", *state, *place.here).stdout
    check("status has nothing to shout", "OBSERVING" not in text, text)
    check("twice is told", place.cli("enforce", *state, *place.here).returncode == 1)
    check("doctor finds the hook whole", place.cli("doctor", "claude-code", *state, *place.here).stdout.count("OBSERVING") == 0)
    check("the journal has the end", [event["kind"] for event in place.events()].count("policy.enforced") >= 1)
    check("a later gate may observe again", wait_for(lambda: True) and ran((gate := place.gate("--observe")).call(1, "drop_note")))
    gate.end()
    done = place.cli("unwrap", *state, *place.here)
    check("unwrap gives the very bytes back", open(config, encoding="utf-8").read() == before, open(config, encoding="utf-8").read())
    done = place.cli("hook", "uninstall", "claude-code", *state, *place.here)
    check("uninstall takes the hook out whole", done.returncode == 0 and not os.path.exists(settings), done.stdout, done.stderr)
    check("and the rules that came along", "removed" in done.stdout and "protect" in done.stdout, done.stdout)


def of_broker(place):
    socket, state = os.path.join(place.home, "s"), place.state
    serve = subprocess.Popen([CALLGATE, "serve", "--observe", "--policy", place.policy, "--state", state, "--gate", socket],
                             stderr=subprocess.PIPE, text=True)
    check("the broker is there", wait_for(lambda: os.path.exists(socket)))
    words = [CALLGATE, "run", "--gate", socket, "--state", state, "--server", "notes", "--", sys.executable, place.server]
    gate = Gate(words)
    check("a gate behind a broker that observes does", ran(gate.call(1, "drop_note")) and ran(gate.call(2, "write_note")))
    out = hook(place, [CALLGATE, "hook", "claude-code", "--gate", socket, "--state", state, "--home", place.home], "Bash")
    check("so does a hook", out == "", out)
    done = place.cli("run", "--gate", socket, "--observe", "--", "true")
    check("which is the broker's to say", done.returncode == 2 and "callgate serve" in done.stderr, done.stderr)
    relay = Gate([CALLGATE, "relay", "--policy", place.policy, "--state", state, "--observe"])
    for code, tool in (("abcde", "Bash"), ("fghij", "Write"), ("kmnop", "Read")):
        relay.send({"jsonrpc": "2.0", "method": "notifications/claude/channel/permission_request", "params": {
            "request_id": code, "tool_name": tool, "description": "d", "input_preview": "{}"}})
    first = json.loads(relay.process.stdout.readline())["params"]
    check("a relay that observes leaves the rest to the dialog", first == {"request_id": "kmnop", "behavior": "allow"}, first)
    check("and says nothing more", relay.end()[0] == "")
    done = place.cli("enforce", "--state", state, *place.here)
    check("the broker enforces at once", not ran(gate.call(3, "drop_note")), done.stdout, done.stderr)
    gate.end()
    gate = Gate(words)
    check("for who comes later, too", not ran(gate.call(1, "drop_note")))
    gate.end()
    serve.terminate()
    serve.communicate(timeout=60)


def of_pins(place):
    gate = place.gate("--observe", "--tools", "pin")
    check("a pinned server", ran(gate.call(1, "read_note")))
    check("a tool that was never offered runs, too", ran(gate.call(2, "drop_note")) and ran(gate.call(3, "other")))
    gate.end()
    reasons = [event.get("reason") for event in place.events() if event["kind"] == "policy.would-deny"]
    check("and is journalled", reasons == ["the tool is not as it was accepted (callgate tools)"] * 2, reasons)


for part in (of_run, of_journal, of_forbidding, of_confining, of_everything, of_broker, of_pins):
    with tempfile.TemporaryDirectory(prefix="callgate-observe-", dir="/var/tmp") as folder:
        part(Place(os.path.realpath(folder)))
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
