#!/usr/bin/env python3
"""test.py CALLGATE [MCP_SERVER]: the commands of a policy author and an operator, each as a person calls it.

Ends with 'N passed, N failed'. MCP_SERVER is a server that answers every call (bench/mcp_server)."""
import fcntl
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CALLGATE = os.path.abspath(sys.argv[1])
SERVER = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
passed = failed = 0

with open(CALLGATE, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()  # its shadow takes terabytes of addresses

DENY_RM = {"id": "no-rm", "effect": "deny", "match": {"tool": "rm"}, "reason": "gone is gone"}
ALLOW_LS = {"id": "ls", "effect": "auto_approve", "match": {"tool": "ls"}}
ASK_CP = {"id": "ask-cp", "effect": "require_approval", "match": {"tool": "cp"}}


def check(what, ok, seen=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"failed: {what}\n    {str(seen)[:2000]}")


def run(*argv, stdin="", code=None, what=None):
    done = subprocess.run([CALLGATE, *argv], input=stdin, capture_output=True, text=True, timeout=120)
    if code is not None:
        check(what or f"{argv[0]} exits {code}", done.returncode == code, (done.returncode, done.stdout, done.stderr))
    return done


def until(true, seconds=20):
    """Waits for what another process does."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)


class Folder:
    """A folder of files for one test, and the working directory of nothing: names are absolute."""

    def __enter__(self):
        self.held = tempfile.TemporaryDirectory()
        self.path = os.path.realpath(self.held.name)
        return self

    def __exit__(self, *args):
        self.held.cleanup()

    def write(self, name, content):
        path = os.path.join(self.path, name)
        with open(path, "w") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path


def test_explain():
    with Folder() as f:
        policy = f.write("p.json", [
            {"id": "secret", "effect": "deny", "match": {"pathPrefix": f.path + "/secret"}, "reason": "no"},
            {"id": "pdf", "effect": "auto_approve", "match": {"tool": "put", "argEquals": {"mime": "pdf"}}},
            {"id": "rest", "effect": "require_approval", "match": {"tool": "put"}}])
        calls = "\n".join(json.dumps(c) for c in [
            {"tool": "put", "input": {"path": f.path + "/a/../secret/x"}},
            {"tool": "put", "input": {"mime": "text"}}, {"tool": "put", "input": {"mime": "pdf"}}, {"tool": ""}]) + "\n"
        plain = run("eval", "--policy", policy, "-", stdin=calls, code=0).stdout.splitlines()
        with_member = run("eval", "--explain", "--policy", policy, "-", stdin=calls, code=0).stdout.splitlines()
        explained = run("explain", "--format", "json", "--policy", policy, "-", stdin=calls, code=0).stdout.splitlines()
        for one, two, three in zip(plain, with_member, explained):
            two, three = json.loads(two), json.loads(three)
            check("eval --explain adds a member", two.pop("explain") == three, two)
            check("and changes nothing else", two == json.loads(one) == three["decision"], (one, two))
        last = [json.loads(line) for line in explained]
        rules = last[0]["readings"][0]["rules"]
        check("the path and where it came from",
              last[0]["readings"][0]["path"] == f.path + "/secret/x" and
              last[0]["readings"][0]["from"] == f.path + "/a/../secret/x", last[0])
        check("the rule that matched", rules[-1]["rule"] == "secret" and rules[-1]["matched"], rules)
        field = last[1]["readings"][0]["rules"][1]
        check("the first field that failed, both values",
              (field["field"], field["argument"], field["wanted"], field["got"]) == ("argEquals", "mime", "pdf", "text"), field)
        check("file and line", field["file"] == policy and field["line"] == 1, field)
        text = run("explain", "--policy", policy, "-", stdin=calls, code=0).stdout
        check("the text says it in words", 'argument "mime", wants "pdf", the call has "text"' in text, text)


def test_policy_tests():
    with Folder() as f:
        policy = f.write("p.json", [DENY_RM, ALLOW_LS, ASK_CP])
        good = f.write("good.jsonl", "\n".join(json.dumps(t) for t in [
            {"name": "rm", "call": {"tool": "rm"}, "want": {"kind": "deny", "rule": "no-rm"}},
            {"name": "ls", "call": {"tool": "ls"}, "want": {"kind": "allow", "rule": "ls"}},
            {"name": "cp approved", "call": {"tool": "cp"}, "now": 5, "want": {"kind": "allow"},
             "approvals": [{"rule": "ask-cp", "channel": "C1", "thread": "1.1", "granted": 1, "expires": 9}]}]) + "\n")
        done = run("test", "--policy", policy, "--min-coverage", "100", good, code=0)
        check("all pass", done.stdout.endswith("3 passed, 0 failed\n"), done.stdout)
        bad = f.write("bad.jsonl", json.dumps({"name": "wrong", "call": {"tool": "rm"}, "want": {"kind": "allow"}}) + "\n")
        done = run("test", "--policy", policy, bad, code=1)
        check("a failing test is explained", "FAIL wrong" in done.stdout and "'no-rm'" in done.stdout and
              "matches" in done.stdout and "0 passed, 1 failed" in done.stdout, done.stdout)
        check("rules that no test reached", "rule 'ls'" in done.stdout and "rule 'ask-cp'" in done.stdout, done.stdout)
        run("test", "--policy", policy, "--min-coverage", "50", bad, good, code=1)
        run("test", "--policy", policy, f.write("no.jsonl", "{\n"), code=2)
        run("test", "--policy", policy, f.write("no2.jsonl", '{"name":"x","call":{"tool":"a"}}\n'), code=2)


def test_diff():
    with Folder() as f:
        old = f.write("old.json", [DENY_RM, ALLOW_LS, ASK_CP])
        stricter = f.write("stricter.json", [DENY_RM, dict(ALLOW_LS, effect="deny", reason="r"), ASK_CP])
        weaker = f.write("weaker.json", [DENY_RM, ALLOW_LS, dict(ASK_CP, effect="auto_approve")])
        violating = f.write("violating.json", [DENY_RM, ALLOW_LS, ASK_CP,
                                               {"id": "w", "effect": "auto_approve", "match": {"tool": "rm"}}])
        for new, violation, weak, any_ in ((old, 0, 0, 0), (stricter, 0, 0, 1), (weaker, 0, 1, 1), (violating, 1, 1, 1)):
            for word, code in (("violation", violation), ("weaker", weak), ("any", any_)):
                run("diff", "--fail-on", word, old, new, code=code, what=f"diff --fail-on {word} {os.path.basename(new)}")
        answer = json.loads(run("diff", "--format", "json", old, weaker, code=1).stdout)
        one = answer["classes"][0]
        check("one class", len(answer["classes"]) == 1 and one["weaker"] and one["from"] == {"kind": "require", "rule": "ask-cp"}
              and one["to"] == {"kind": "allow", "rule": "ask-cp"} and one["match"] == {"tool": "cp"}, answer)
        for policy, side in ((old, "from"), (weaker, "to")):
            decision = json.loads(run("eval", "--policy", policy, "-", stdin=json.dumps(one["witness"]) + "\n").stdout)
            check("the witness shows it", decision["kind"] == one[side]["kind"], (decision, one))
        for key, value in (("approvers", 2), ("ttlMs", 5), ("scope", "call")):
            changed = f.write("changed.json", [DENY_RM, ALLOW_LS, dict(ASK_CP, **{key: value})])
            answer = json.loads(run("diff", "--format", "json", old, changed, code=0).stdout)
            check(f"a stricter {key} is a class", len(answer["classes"]) == 1 and not answer["classes"][0]["weaker"], answer)
            run("diff", changed, old, code=1, what=f"a weaker {key}")
        listed = f.write("listed.json", {"rules": [DENY_RM, ALLOW_LS, ASK_CP], "requireAuthoredPolicy": ["x"]})
        run("diff", listed, old, code=1, what="a default set that shrinks")
        listed = f.write("paths.json", {"rules": [DENY_RM, ALLOW_LS, ASK_CP], "pathArguments": {"*": ["where"]}})
        answer = json.loads(run("diff", "--format", "json", old, listed).stdout)
        check("a path-argument list is a class of its own", any(c.get("list") == "pathArguments" for c in answer["classes"]), answer)


def test_what_a_class_is_less():
    with Folder() as f:
        os.makedirs(f.path + "/etc/ssl")
        home = {"id": "home", "effect": "auto_approve", "match": {"tool": "t", "pathPrefix": f.path + "/home"}}
        etc = {"id": "etc", "effect": "deny", "match": {"tool": "t", "pathPrefix": f.path + "/etc"}, "reason": "r"}
        ssl = {"id": "ssl", "effect": "deny", "match": {"tool": "t", "pathPrefix": f.path + "/etc/ssl"}, "reason": "r"}
        old, new = f.write("old.json", [etc]), f.write("new.json", [ssl])
        answer = json.loads(run("diff", "--format", "json", old, new, code=1).stdout)
        check("a class and what it is less", [(c["match"], c["except"]) for c in answer["classes"]] ==
              [({"pathPrefix": f.path + "/etc", "tool": "t"}, [{"pathPrefix": f.path + "/etc/ssl"}])], answer)
        check("both still stop at an unreadable path", answer["unreadable"] == [], answer)
        check("a prefix that no rule names any more", [n for n in answer["notes"] if f.path + "/etc " in n], answer)
        text = run("diff", old, new, code=1).stdout
        check("the same as text", f'except   {{"pathPrefix":"{f.path}/etc/ssl"}}' in text and "note: no rule" in text, text)
        # Nothing changes where paths can be read; where one cannot, the allow was what denied.
        old, new = f.write("old.json", [home]), f.write("new.json", [])
        answer = json.loads(run("diff", "--format", "json", old, new, code=0).stdout)
        one = answer["unreadable"][0]
        check("an unreadable path is let through", answer["classes"] == [] and len(answer["unreadable"]) == 1 and
              one["weaker"] and one["from"] == {"kind": "deny", "rule": "default"} and one["to"] == {"kind": "allow"} and
              one["fromAt"]["line"] == 1, answer)
        for policy, want in ((old, "deny"), (new, "allow")):
            got = json.loads(run("eval", "--policy", policy, "-", stdin=json.dumps(one["witness"]) + "\n").stdout)
            check("its witness shows it", got["kind"] == want, (got, one))
        check("the same as text", "where a path cannot be resolved: deny by default at 'home'" in run("diff", old, new).stdout)
        many = f.write("many.json", [dict(DENY_RM, id=f"r{i}", match={"tool": f"t{i}"}) for i in range(20)] +
                       [{"id": "c", "effect": "deny", "match": {"channel": "C"}, "reason": "r"}])
        text = run("diff", many, f.write("less.json", [dict(DENY_RM, id=f"r{i}", match={"tool": f"t{i}"}) for i in range(20)])).stdout
        check("a long list is cut, and says so", "and 13 more: --format json" in text, text)


def test_what_a_proof_says():
    with Folder() as f:
        os.makedirs(f.path + "/etc")
        policy = f.write("p.json", [{"id": "d", "effect": "deny", "match": {"tool": "write"}, "reason": "r"},
                                    {"id": "a", "effect": "auto_approve", "match": {"tool": "read"}},
                                    {"id": "k", "effect": "deny", "match": {"pathPrefix": f.path + "/keys"}, "reason": "r"}])
        def ask(match, never):
            file = f.write("a.json", [{"name": "n", "match": match, "never": never}])
            return json.loads(run("assert", "--format", "json", "--policy", policy, file).stdout)
        check("of calls", "notes" not in ask({"tool": "write"}, ["allow", "require"]))
        check("of each path by itself", "each path by itself" in ask({"tool": "read"}, ["deny"])["notes"][0])
        named = ask({"tool": "write", "pathPrefix": f.path + "/etc"}, ["allow"])
        check("by this name", named["result"] == "proved" and "bind mount" in named["notes"][0], named)
        # Two paths at once: only a call that both rules together let through refutes it.
        policy = f.write("p.json", [
            {"id": "one", "effect": "auto_approve", "match": {"pathPrefix": f.path + "/x", "argEquals": {"src": f.path + "/x"}}},
            {"id": "two", "effect": "auto_approve", "match": {"pathPrefix": f.path + "/y", "argEquals": {"k": 1}}},
            {"id": "rest", "effect": "deny", "match": {"pathPrefix": "/"}, "reason": "r"}])
        answer = ask({"tool": "copy", "argEquals": {"src": f.path + "/x", "dst": f.path + "/y"}}, ["allow"])
        check("refuted by two rules at once", answer["result"] == "refuted" and answer["call"]["input"].get("k") == 1, answer)
        got = json.loads(run("eval", "--policy", policy, "-", stdin=json.dumps(answer["call"]) + "\n").stdout)
        check("which the call shows", got["kind"] == "allow", got)
        # Patterns and prefixes that the names of made-up calls must keep out of.
        fixed = {"argEquals": {"path": "/q"}}
        broad = [{"id": "d1", "effect": "deny", "match": {"tool": "t", "pathComponent": "a*"}, "reason": "r"},
                 {"id": "d2", "effect": "deny", "match": {"pathComponent": "b*"}, "reason": "r"},
                 {"id": "d3", "effect": "deny", "match": {"pathComponent": "*c"}, "reason": "r"},
                 {"id": "d4", "effect": "deny", "match": {"toolPrefix": "a"}, "reason": "r"},
                 {"id": "d5", "effect": "deny", "match": {"toolPrefix": "get_a"}, "reason": "r"}]
        for more in ({"tool": "u", "pathComponent": "k"}, {"toolPrefix": "get_"}, {"server": "s"}):
            match = dict(fixed, **more)
            policy = f.write("p.json", broad + [{"id": "y", "effect": "auto_approve", "match": match}])
            answer = ask(match, ["allow"])
            check("refuted beside broad patterns", answer["result"] == "refuted", (more, answer))
            witnesses = json.loads(run("check", "--witness", "--format", "json", "--policy", policy).stdout)["witnesses"]
            check("each rule has a call", all(each["call"] for each in witnesses) and len(witnesses) == 6, witnesses)
            old = f.write("old.json", broad + [{"id": "y", "effect": "deny", "match": match, "reason": "r"}])
            classes = json.loads(run("diff", "--format", "json", old, policy).stdout)["classes"]
            # The deny compares loosely, the allow exactly: what is only loosely equal is a class of its own.
            check("and the change is told", [each["weaker"] for each in classes] == [True, True], classes)


def test_check_and_assert():
    with Folder() as f:
        owner = {"id": "o", "effect": "auto_approve", "match": {"tool": "t", "actor": "session_owner"}}
        process = {"id": "c", "effect": "auto_approve", "match": {"tool": "t", "actor": "claude_process"}}
        late = {"id": "late", "effect": "deny", "match": {"tool": "t"}, "reason": "r"}
        policy = f.write("p.json", [owner, process, late])
        answer = json.loads(run("check", "--format", "json", "--witness", "--policy", policy, code=0).stdout)
        dead = [w for w in answer["warnings"] if w["kind"] == "dead"]
        check("dead by union", len(dead) == 1 and dead[0]["rule"] == "late" and dead[0]["by"] == ["o", "c"], answer)
        check("witnesses of the others", [w["rule"] for w in answer["witnesses"]] == ["o", "c"], answer)
        for w in answer["witnesses"]:
            got = json.loads(run("eval", "--policy", policy, "-", stdin=json.dumps(w["call"]) + "\n").stdout)
            check("a witness is decided by its rule", got.get("rule") == w["rule"], (got, w))
        run("check", "--strict", "--policy", policy, code=1)
        sarif = json.loads(run("check", "--format", "sarif", "--policy", policy, code=0).stdout)
        check("SARIF", sarif["version"] == "2.1.0" and sarif["runs"][0]["results"][0]["ruleId"] == "dead", sarif)
        safe = f.write("safe.json", [{"name": "safe", "match": {"tool": "t"}, "never": ["deny"]}])
        check("proved", "safe: proved" in run("assert", "--policy", policy, safe, code=0).stdout)
        unsafe = f.write("unsafe.json", [{"name": "unsafe", "match": {"tool": "t"}, "never": ["allow"]}])
        answer = json.loads(run("assert", "--format", "json", "--policy", policy, unsafe, code=1).stdout)
        got = json.loads(run("eval", "--policy", policy, "-", stdin=json.dumps(answer["call"]) + "\n").stdout)
        check("refuted by a call that is allowed", answer["result"] == "refuted" and got["kind"] == "allow", (answer, got))
        run("assert", "--policy", policy, f.write("bad.json", [{"name": "x"}]), code=2)
        document = {"rules": [ALLOW_LS], "assertions": [{"name": "n", "match": {"tool": "ls"}, "never": ["allow"]}]}
        answer = json.loads(run("check", "--format", "json", "--policy", f.write("d.json", document), code=1).stdout)
        check("a refuted assertion is a load error", answer["errors"][0]["code"] == "assertion-refuted"
              and answer["errors"][0]["pointer"] == "/assertions/0", answer)
        done = run("eval", "--policy", f.write("d.json", document), "-", stdin='{"tool":"ls"}\n', code=2)
        check("and there is no policy", done.stdout == "", done.stdout)
        document["assertions"][0]["never"] = ["deny"]
        run("check", "--policy", f.write("d.json", document), code=0)


def test_slips():
    with Folder() as f:
        for argv, word in ((["chekc"], "did you mean 'check'?"), (["eval", "--polcy", "x"], "did you mean --policy?"),
                           (["eval", "--policy", f"wokspace={f.path}/p", "-"], f"did you mean the tier, workspace={f.path}/p?"),
                           (["eval", "--policy", f"wrk={f.path}/p", "-"], "a tier is admin, user or workspace")):
            seen = run(*argv, code=2).stderr
            check(f"{argv} is advised", word in seen, seen)
        for name in ("bench", "dismiss", "relay", "reload", "stats", "status"):
            seen = run(name, "--state", f.path, f.path + "/x", code=2).stderr if name != "bench" else run(name, "x", code=2).stderr
            check(f"{name} takes no word", "unexpected argument" in seen, seen)


def test_places_and_doubts():
    with Folder() as f:
        home, work = f.path + "/home", f.path + "/work"
        os.makedirs(home + "/.config/callgate")
        os.makedirs(work + "/.callgate")
        user = f.write("home/.config/callgate/policy.json", [DENY_RM])
        f.write("work/.callgate/policy.json", [ALLOW_LS])
        here = ("--home", home, "--cwd", work, "--state", f.path + "/state")
        places = {p["tier"]: p for p in json.loads(run("status", "--format", "json", *here, code=0).stdout)["places"]}
        check("the user's place is used", places["user"]["state"] == "used" and places["user"]["rules"] == 1, places)
        check("the workspace's is not, and why", places["workspace"]["state"] == "left out" and
              "only 'deny'" in places["workspace"]["why"], places)
        f.write("home/.config/callgate/policy.json", "[")
        text = run("status", *here, code=0).stdout
        check("a place that does not load, and why", "does not load: 1:2: " in text, text)
        open_policy = f.write("open.json", [ALLOW_LS])
        check("what allows nearly all says so", "requireAuthoredPolicy" in run("check", "--policy", open_policy, code=0).stdout)
        check("and is no warning", run("check", "--strict", "--policy", open_policy, code=0).returncode == 0)
        said = run("check", "--policy", f.write("p.json", [DENY_RM]), code=0).stdout.splitlines()
        check("so does one that denies a single tool, in its last line", "requireAuthoredPolicy" in said[-1], said)
        closed = f.write("closed.json", {"rules": [ALLOW_LS], "requireAuthoredPolicy": ["*"]})
        check("one that is closed does not", "Nearly" not in run("check", "--policy", closed, code=0).stdout)
        os.chmod(closed, 0o666)
        check("a warning about the file is counted", "1 warning(s)" in run("check", "--policy", closed, code=0).stdout)
        run("check", "--strict", "--policy", closed, code=1, what="and is one for --strict")
        check("--json is --format json", run("check", "--json", "--policy", closed).stdout ==
              run("check", "--format", "json", "--policy", closed).stdout)
        check("help of a command", run("help", "check", code=0).stdout == run("check", "--help").stdout)
        check("version", run("version", code=0).stdout == run("--version").stdout)
        settings = f.write("settings.json", {"permissions": {"denny": ["Read"]}, "disableAllHooks": True, "permisions": {}})
        said = run("import", "claude-settings", settings).stderr
        check("import names what it does not understand", "did you mean 'deny'" in said and "disableAllHooks true" in said and
              "did you mean 'permissions'" in said, said)
        os.chmod(open_policy, 0o666)
        done = run("check", "--format", "json", "--policy", open_policy, code=0)
        check("a policy that everyone can write", "everyone can write this policy" in done.stderr and
              json.loads(done.stdout)["warnings"] == [], (done.stdout, done.stderr))
        odd = f.write("a b:\u00fc.json", [{"id": "x"}])
        sarif = json.loads(run("check", "--format", "sarif", "--policy", odd, code=1).stdout)
        uri = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        check("a place in SARIF is a URI", uri == "file://" + f.path + "/a%20b%3A%C3%BC.json", uri)


class Gate:
    """`callgate run` in front of a server that answers everything."""

    def __init__(self, f, policy, *more):
        self.state = os.path.join(f.path, "state")
        self.process = subprocess.Popen([CALLGATE, "run", "--policy", policy, "--state", self.state, *more, "--", SERVER],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.id = 0
        self.call("anything")  # up and running

    def call(self, tool, arguments=None):
        self.id += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments or {}}}) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], 30)[0]:
            self.process.kill()
            raise TimeoutError(f"no answer to {tool} within 30 s")
        answer = json.loads(self.process.stdout.readline())
        return "denied" if answer["result"].get("isError") else "ran"

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        self.process.stderr.close()


def test_strange_names():
    """Nothing that an argument holds reaches the terminal as it stands, and nobody votes twice under names that look
    the same."""
    with Folder() as folder:
        state = os.path.join(folder.path, "state")
        strange = os.path.join(folder.path, "x\x1b[2J\x9b1m\u202e")
        for argv in (["journal", "verify", strange], ["check", "--policy", strange], ["eval", "--policy", strange, "-"],
                     ["pending", "--state", strange + "/\0"[:1]], [strange], ["pending", strange],
                     ["replay", "--policy", strange, strange]):
            done = run(*argv)
            seen = done.stdout + done.stderr
            check(f"{argv[0]} shows no control character",
                  not any(c in seen for c in ("\x1b", "\x9b", "\u202e")), seen)
        for name in ("", " ", "ada ", " ada", "ada\u00a0", "ada\u200b", "a\nda", "\u202eada", "ada\u3000"):
            run("approve", "abcde", "--as", name, "--state", state, code=2, what=f"{name!r} is no name of a person")
        for name in ("ada", "Ada Lovelace", "U02ABC", "\u00e9va"):
            run("approve", "abcde", "--as", name, "--state", state, code=1, what=f"{name!r} is one")


def test_journal_parts():
    """A journal in parts reads as one: rotated by the command, by a signal, by size and by logrotate, under a gate."""
    with Folder() as f:
        gate = Gate(f, f.write("p.json", [DENY_RM, ALLOW_LS]), "--journal-max-size", "64K")
        state = ["--state", gate.state]
        journal = os.path.join(gate.state, "journal.jsonl")
        parts = lambda: sorted(n for n in os.listdir(gate.state) if n.startswith("journal.jsonl"))
        gate.call("rm")
        run("journal", "rotate", *state, code=0)
        gate.call("rm")
        os.kill(gate.process.pid, signal.SIGUSR1)
        until(lambda: len(parts()) == 3)
        gate.call("rm")
        os.rename(journal, journal + ".1")
        gate.call("rm")
        check("a gate goes on through rotations", gate.process.poll() is None and len(parts()) == 4, parts())
        run("journal", "verify", *state, code=0)
        stats = lambda: {s["rule"]: s for s in json.loads(run("stats", "--format", "json", *state, code=0).stdout)}
        check("stats over the parts", stats()["no-rm"]["deny"] == 4, stats())
        shown = run("journal", "show", "--format", "json", *state, code=0).stdout.splitlines()
        events = [json.loads(line) for line in shown]
        check("show over the parts", [e["seq"] for e in events] == list(range(1, len(events) + 1)), shown)
        check("each part names the last event of the one before",
              [e["detail"]["previous"] for e in events if "previous" in e.get("detail", {})] ==
              [{"hash": events[i - 1]["hash"], "seq": events[i - 1]["seq"]} for i, e in enumerate(events)
               if e["kind"] == "system.boot" and "anchor" in e["detail"] and i > 0], shown)
        check("times are UTC in JSON", all(e["ts"].endswith("Z") for e in events))
        check("--tail", run("journal", "show", "--format", "json", "--tail", "2", *state).stdout.splitlines() == shown[-2:])
        run("journal", "show", "--tail", "0", *state, code=2)
        run("journal", "show", "--since", "yesterday", *state, code=2)
        check("--until", run("journal", "show", "--until", "2020-01-01", *state, code=0).stdout == "")
        cut = events[len(events) // 2]["ts"]
        check("--since a time of an event", run("journal", "show", "--format", "json", "--since", cut, *state).stdout
              .splitlines() == [line for line, e in zip(shown, events) if e["ts"] >= cut])
        check("--since an hour ago", len(run("journal", "show", "--since", "1h", *state).stdout.splitlines()) == len(shown))
        utc, east = (subprocess.run([CALLGATE, "journal", "show", "--tail", "1", *state], capture_output=True, text=True,
                                    env={"TZ": zone}).stdout[:16] for zone in ("UTC0", "XST-5"))
        check("local times for people", utc == events[-1]["ts"][:16].replace("T", " ") and east != utc, (utc, east))

        watching = subprocess.Popen([CALLGATE, "journal", "show", "--follow", "--tail", "1", "--format", "json", *state],
                                    stdout=subprocess.PIPE, text=True)
        first = json.loads(watching.stdout.readline())
        gate.call("ls", {"text": "x" * 60000})
        gate.call("ls", {"text": "y" * 60000})  # too long for one part together
        seen = [first["seq"]] + [json.loads(watching.stdout.readline())["seq"] for _ in range(2)]
        watching.kill()
        watching.wait()
        watching.stdout.close()
        check("--follow goes over to the next part", seen == list(range(first["seq"], first["seq"] + 3)), seen)
        gate.close()
        check("no part is longer than it may be", all(os.stat(os.path.join(gate.state, n)).st_size <= 64 << 10 for n in parts()))
        run("journal", "verify", *state, code=0)
        check("stats go on over the parts", stats()["no-rm"]["deny"] == 4 and stats()["ls"]["allow"] == 2, stats())
        os.rename(journal, journal + ".old")  # while no gate runs: the next one goes on all the same
        gate = Gate(f, f.path + "/p.json")
        gate.close()
        run("journal", "verify", *state, code=0)
        named = min((n for n in parts() if n[-1].isdigit()), key=lambda n: int(n.rsplit(".", 1)[1]) if len(n) > 20 else 1 << 60)
        os.remove(os.path.join(gate.state, named))
        done = run("journal", "verify", *state, code=0)
        check("a part that is missing is told", "follows event" in done.stderr, done.stderr)


def test_gap():
    """A journal that was deleted or exchanged while no gate ran is noticed, told and kept until it is acknowledged."""
    for harm in ("deleted", "exchanged", "cut"):
        with Folder() as f:
            policy = f.write("p.json", [DENY_RM, ALLOW_LS])
            gate = Gate(f, policy)
            state = ["--state", gate.state]
            journal = os.path.join(gate.state, "journal.jsonl")
            kept = os.path.join(f.path, "kept")
            gate.call("ls")
            shutil.copy(journal, kept)
            gate.call("rm")
            time.sleep(0.5)
            gate.process.kill()
            gate.process.wait()
            run("journal", "verify", *state, code=0, what=f"{harm}: no gap before")
            check(f"{harm}: status knows none", "gap" not in json.loads(run("status", "--format", "json", *state).stdout))
            os.remove(journal)
            if harm == "cut":
                shutil.copy(kept, journal)
                os.chmod(journal, 0o600)
            elif harm == "exchanged":
                with Folder() as elsewhere:
                    other = Gate(elsewhere, policy)
                    other.close()
                    shutil.copy(os.path.join(other.state, "journal.jsonl"), journal)
                os.chmod(journal, 0o600)
            if harm != "deleted":
                done = run("journal", "verify", *state, code=1, what=f"{harm}: told before a gate starts")
                check(f"{harm}: what is told", "was written and is not in the journal" in done.stderr, done.stderr)
            gate = Gate(f, policy)
            gate.call("ls")
            events = [json.loads(line) for line in open(journal)]
            gaps = [e for e in events if e["kind"] == "system.gap"]
            last = len(open(kept).readlines())
            check(f"{harm}: system.gap", len(gaps) == 1 and gaps[0]["detail"]["missing"]["seq"] > last, gaps)
            run("journal", "verify", *state, code=1, what=f"{harm}: told after the start")
            shown = run("status", *state, code=0).stdout
            check(f"{harm}: status", "has a gap" in shown, shown)
            check(f"{harm}: acknowledged", "acknowledged" in run("acknowledge", "--gap", *state, code=0).stdout)
            run("journal", "verify", *state, code=0, what=f"{harm}: told no more")
            check(f"{harm}: none is left", "no gap" in run("acknowledge", "--gap", *state, code=0).stdout)
            gate.call("rm")
            time.sleep(0.3)
            gate.process.kill()
            gate.process.wait()
            gate = Gate(f, policy)
            gate.close()
            run("journal", "verify", *state, code=0, what=f"{harm}: nor after the next start")


def test_running_gate():
    with Folder() as f:
        policy = f.write("p.json", [DENY_RM, ALLOW_LS])
        gate = Gate(f, policy)
        state = ["--state", gate.state]
        check("ran", gate.call("ls") == "ran")
        check("denied", gate.call("rm") == "denied")
        status = json.loads(run("status", "--format", "json", *state, code=0).stdout)
        one = status["gates"][0]
        check("status", len(status["gates"]) == 1 and one["pid"] == gate.process.pid and one["policy"]["rules"] == 2, status)

        f.write("p.json", [DENY_RM, ALLOW_LS, {"id": "w", "effect": "auto_approve", "match": {"tool": "rm"}}])
        done = run("reload", *state, code=1)
        check("a violation is refused and named", "'w' weakens existing deny 'no-rm'" in done.stdout, done.stdout)
        for text in ("", '[{"id":', "nonsense"):
            f.write("p.json", text)
            run("reload", *state, code=1, what=f"reload of {text!r}")
        os.remove(policy)
        run("reload", *state, code=1, what="reload of a deleted file")
        check("still denied", gate.call("rm") == "denied")
        status = json.loads(run("status", "--format", "json", *state, code=0).stdout)["gates"][0]
        check("a refusal stays for review", status["refused"] and status["policy"]["digest"] == one["policy"]["digest"]
              and status["policy"]["generation"] == 1, status)
        check("dismissed", "1 refused" in run("dismiss", *state, code=0).stdout)
        check("off the list", json.loads(run("status", "--format", "json", *state).stdout)["gates"][0]["refused"] is None)
        f.write("p.json", [DENY_RM, ALLOW_LS, ASK_CP])
        check("adopted", "generation 2" in run("reload", *state, code=0).stdout)

        stats = {s["rule"]: s for s in json.loads(run("stats", "--format", "json", *state, code=0).stdout)}
        check("stats", stats["no-rm"]["deny"] == 2 and stats["ls"]["allow"] == 1, stats)
        gate.call("ls")
        stats = {s["rule"]: s for s in json.loads(run("stats", "--format", "json", *state, code=0).stdout)}
        check("stats go on", stats["no-rm"]["deny"] == 2 and stats["ls"]["allow"] == 2, stats)
        unused = json.loads(run("check", "--format", "json", "--stats", *state, "--policy", policy, code=0).stdout)
        run("check", "--stats", "--since", "yesterday", *state, "--policy", policy, code=2)
        run("check", "--since", "2026-11-29", "--policy", policy, code=2)
        check("a rule that never decided", [w["rule"] for w in unused["warnings"] if w["kind"] == "unused"] == ["ask-cp"], unused)
        gate.close()
        run("journal", "verify", os.path.join(gate.state, "journal.jsonl"), code=0)
        check("no gate is left", json.loads(run("status", "--format", "json", *state).stdout)["gates"] == [])

        journal = os.path.join(gate.state, "journal.jsonl")
        shown = run("journal", "show", "--state", gate.state, code=0).stdout.splitlines()
        check("a line for each event", len(shown) == sum(1 for _ in open(journal)) and "system.boot" in shown[0], shown)
        denied = run("journal", "show", "--denied", "--session", "local", journal, code=0).stdout
        check("what was denied, and why", "by 'no-rm'  (gone is gone)" in denied and "policy.allow" not in denied, denied)
        calls = run("journal", "show", "--denied", "--calls", journal, code=0).stdout
        told = run("explain", "--policy", policy, "-", stdin=calls, code=0).stdout
        check("the calls go to explain", told.count("deny by rule 'no-rm'") == 2 * denied.count("policy.deny "), told)
        check("of another session nothing", run("journal", "show", "--session", "elsewhere", journal, code=0).stdout == "")
        run("journal", "show", "--state", gate.state, journal, code=2)
        run("journal", "verify", "--denied", journal, code=2)
        done = run("replay", "--policy", policy, "--state", gate.state, code=0)
        check("the journal of the state directory", "0 would have been different" in done.stdout, done.stdout)
        done = run("replay", "--policy", policy, journal, code=0)
        check("nothing flips", "0 would have been different" in done.stdout, done.stdout)
        new = f.write("new.json", [ALLOW_LS, dict(DENY_RM, effect="auto_approve", **{"reason": None})])
        f.write("new.json", [dict(ALLOW_LS, effect="deny", reason="r"),
                             {"id": "rm", "effect": "auto_approve", "match": {"tool": "rm"}}])
        flips = [json.loads(line) for line in run("replay", "--format", "json", "--policy", new, journal, code=1).stdout.splitlines()]
        check("what flips", sorted((x["tool"], x["weaker"], x["exact"]) for x in flips) ==
              [("ls", False, True), ("ls", False, True), ("rm", True, True), ("rm", True, True)], flips)


def test_no_weakening():
    with Folder() as f:
        policy = f.write("p.json", [DENY_RM, {"id": "home", "effect": "auto_approve", "match": {"pathPrefix": f.path}}])
        gate = Gate(f, policy, "--no-weakening")
        state = ("--state", gate.state)
        # The allow was what denied a call with a path that cannot be resolved: without it nothing does.
        for rules, why in (([ALLOW_LS], 'weaker: deny becomes allow for {"tool":"rm"}'),
                           ([DENY_RM], "with a path that cannot be resolved")):
            f.write("p.json", rules)
            done = run("reload", *state, code=1)
            check("what would be weaker, and a call", why in done.stdout and "such as {" in done.stdout, done.stdout)
            check("status shows it, too", why in run("status", *state).stdout)
            check("the policy stays", gate.call("rm") == "denied")
        digest = done.stdout.split("callgate acknowledge ")[1].split()[0]
        run("acknowledge", digest, "--policy", policy, *state, code=0)
        run("reload", *state, code=0, what="what was acknowledged is adopted")
        gate.close()


def test_reload_under_load():
    """Each call is judged by the old policy or by the new one: a mixture of both would let it through."""
    with Folder() as f:
        def deny(name):
            return [{"id": name, "effect": "deny", "match": {"pathPrefix": f"{f.path}/{name}"}, "reason": name}]
        policy = f.write("p.json", deny("one"))
        gate = Gate(f, policy)
        both = {"paths": [f"{f.path}/one/x", f"{f.path}/two/x"]}
        results, end = set(), time.monotonic() + 3
        turn = 0
        while time.monotonic() < end:
            turn += 1
            f.write("new.json", deny("two" if turn % 2 else "one"))
            os.replace(os.path.join(f.path, "new.json"), policy)
            gate.process.send_signal(signal.SIGHUP)
            results.update(gate.call("put", both) for _ in range(40))
        check("never a mixture", results == {"denied"}, results)
        gate.close()
        rules, kinds = set(), set()
        for line in open(os.path.join(gate.state, "journal.jsonl")):
            event = json.loads(line)
            kinds.add(event["kind"])
            if event["kind"] == "policy.deny":
                rules.add(event["ruleId"])
        check("by either policy", rules == {"one", "two"} and "policy.loaded" in kinds, (rules, kinds))


def test_kinds_of_files():
    """What is no file that holds text is refused at once, with its kind: a pipe may never end."""
    with Folder() as f:
        fine = f.write("fine.json", [DENY_RM])
        pipe, folder, state = (os.path.join(f.path, name) for name in ("pipe", "folder", "state"))
        os.mkfifo(pipe)
        os.mkdir(folder)
        for strange, kind in ((pipe, "is a pipe"), (folder, "is a directory"), ("/dev/zero", "is a device")):
            for argv in (["check", "--policy", strange], ["eval", "--policy", strange, "-"], ["eval", "--policy", fine, strange],
                         ["eval", "--policy", fine, "--approvals", strange, "-"], ["explain", "--policy", fine, strange],
                         ["test", "--policy", fine, strange], ["assert", "--policy", fine, strange], ["diff", strange, fine],
                         ["diff", fine, strange], ["fmt", strange], ["run", "--policy", strange, "--state", state, "--", "true"],
                         ["relay", "--policy", strange, "--state", state], ["journal", "verify", strange],
                         ["replay", "--policy", fine, strange], ["import", "claude-settings", strange]):
                done = run(*argv, code=2, what=f"{argv[0]} does not read what {kind}")
                check(f"{argv[0]} says what it is", kind in done.stderr + done.stdout, done.stderr)
            done = run("hook", "claude-code", "--policy", strange, "--state", state, code=0)
            check("a hook denies", '"deny"' in done.stdout and kind in done.stderr, (done.stdout, done.stderr))
        if SERVER:
            policy = f.write("p.json", [DENY_RM])
            gate = Gate(f, policy)
            os.unlink(policy)
            os.mkfifo(policy)
            done = run("reload", "--state", gate.state, code=1)
            check("a reload says it", "is a pipe" in done.stdout + done.stderr, (done.stdout, done.stderr))
            check("and the policy stays", gate.call("rm") == "denied")
            gate.close()
        done = subprocess.run(["bash", "-c", f"{CALLGATE} check --policy <(cat {fine})"], capture_output=True, timeout=30)
        check("a pipe that a shell made is read", done.returncode == 0, done.stderr)
        done = run("check", "--policy", os.path.join(f.path, "missing.json"), code=2)
        check("a file that is not there", "No such file" in done.stdout + done.stderr, done.stderr)


def test_words():
    """What a person is told: which rules came near, which limit, what a slash in a tool's name means, colour."""
    with Folder() as f:
        policy = f.write("p.json", [{"id": "slash", "effect": "deny", "match": {"tool": "fs/write_file"}, "reason": "r"},
                                    {"id": "near", "effect": "deny", "match": {"tool": "ls", "pathPrefix": f.path}, "reason": "r"},
                                    {"id": "word", "effect": "deny", "match": {"commandPrefix": "rm"}, "reason": "r"}])
        call = json.dumps({"tool": "ls", "input": {"path": "/"}})
        near = run("explain", "--policy", policy, "-", stdin=call, code=0).stdout
        check("what came near is shown", "'near'" in near and "'slash'" not in near, near)
        check("the others are counted", "1 rule(s) for other tools" in near and "--all shows them" in near, near)
        whole = run("explain", "--all", "--policy", policy, "-", stdin=call, code=0).stdout
        check("--all shows them", "'near'" in whole and "'slash'" in whole and "--all" not in whole, whole)
        found = json.loads(run("explain", "--json", "--policy", policy, "-", stdin=call, code=0).stdout)
        check("JSON is whole", [r["rule"] for r in found["readings"][0]["rules"]] == ["slash", "near", "word"], found)
        many = json.dumps({"tool": "t", "input": {"commands": [f"c{i}" for i in range(300)]}})
        found = json.loads(run("explain", "--json", "--policy", policy, "-", stdin=many, code=0).stdout)
        check("a limit is named", found["decision"]["kind"] == "deny" and found["limit"] == "256 commands", found)
        said = run("check", "--policy", policy, code=0).stdout
        check("a slash in a tool's name", '"server": "fs", "tool": "write_file"' in said and "1 warning(s)" in said, said)
        for env, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            end, other = os.openpty()
            subprocess.run([CALLGATE, "check", "--policy", policy], stdout=other, stdin=subprocess.DEVNULL,
                           env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **env}, timeout=60)
            os.close(other)
            shown = os.read(end, 1 << 16)
            os.close(end)
            check(f"colour on a terminal: {env}", (b"\033[3" in shown) == wanted, shown)
        check("and nowhere else", "\033" not in said, said)
        if SERVER:
            wide = f.write("wide.json", [{"id": "wide", "effect": "auto_approve", "match": {"server": "files"}}, DENY_RM])
            state = os.path.join(f.path, "told")
            said = [run("run", "--policy", wide, "--state", state, "--server", "Files", "--", SERVER, code=0).stderr for _ in (1, 2)]
            check("a server that no rule names", all("no rule names the server 'Files'" in s and "'files'" in s for s in said), said)
            check("a broad rule is told once", ["allows every tool" in s for s in said] == [True, False], said)


def test_readme():
    """README's sample decides what README says, is default deny, and its .mcp.json is one."""
    text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../README.md"), encoding="utf-8").read()
    policy, calls, decisions = re.search(
        r"^\$ cat policy\.json\n(.*?)\n\n\$ callgate eval[^\n]*\n(.*?)\nEOF\n(.*?)\n```", text, re.S | re.M).groups()
    with Folder() as f:
        file = f.write("policy.json", policy)
        done = run("eval", "--policy", file, "-", stdin=calls, code=0)
        check("README's decisions", done.stdout == decisions + "\n", done.stdout)
        done = run("check", "--policy", file, code=0)
        check("README's sample denies the rest", "Nearly everything" not in done.stdout, done.stdout)
    servers = json.loads(re.search(r"```\n(\{\n  \"mcpServers\".*?)```", text, re.S).group(1))["mcpServers"]
    check("README's .mcp.json", all("--" in s["args"] and s["args"][0] == "run" for s in servers.values()), servers)


def test_few_descriptors_and_little_memory():
    """A message and 2; never a signal, and never a gate that stands in front of nothing."""
    with Folder() as f:
        policy, state = f.write("p.json", [DENY_RM]), os.path.join(f.path, "state")
        for what, kind, limits in (("descriptors", resource.RLIMIT_NOFILE, range(4, 40)),
                                   ("bytes", resource.RLIMIT_AS, range(8 << 20, 64 << 20, 4 << 20))):
            if kind == resource.RLIMIT_AS and SANITIZED:
                continue
            for limit in limits:
                for argv in (["run", "--policy", policy, "--state", state, "--", "cat"], ["check", "--policy", policy],
                             ["pending", "--state", state], ["relay", "--policy", policy, "--state", state]):
                    done = subprocess.run([CALLGATE, *argv], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                          preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)))
                    if b"error while loading shared" in done.stderr:
                        continue
                    check(f"{argv[0]} with {limit} {what}", done.returncode == 0 or (done.returncode == 2 and done.stderr),
                          (done.returncode, done.stderr))


def test_unread_messages():
    """A gate whose messages nobody reads goes on judging, and says later how many were lost."""
    with Folder() as f:
        policy = f.write("p.json", [DENY_RM, ALLOW_LS])
        gate = Gate(f, policy)
        fcntl.fcntl(gate.process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        for _ in range(200):
            gate.process.send_signal(signal.SIGHUP)
            check("judged all the same", gate.call("rm") == "denied")
        os.set_blocking(gate.process.stderr.fileno(), False)
        os.read(gate.process.stderr.fileno(), 1 << 16)
        for _ in range(3):
            gate.process.send_signal(signal.SIGHUP)
            gate.call("ls")
        said = os.read(gate.process.stderr.fileno(), 1 << 16).decode()
        check("what was lost is counted", "message(s) were lost: nobody read standard error" in said, said)
        gate.close()


test_explain()
test_words()
test_readme()
test_policy_tests()
test_diff()
test_what_a_class_is_less()
test_what_a_proof_says()
test_check_and_assert()
test_slips()
test_places_and_doubts()
test_kinds_of_files()
test_few_descriptors_and_little_memory()
if SERVER:
    test_running_gate()
    test_journal_parts()
    test_gap()
    test_no_weakening()
    test_reload_under_load()
    test_unread_messages()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
