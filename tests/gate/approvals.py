#!/usr/bin/env python3
"""approvals.py CALLGATE MCP_SERVER FAIL_MODULE: how far a yes goes, what it releases, and what ends a request."""
import json
import os
import pwd
import re
import signal
import subprocess
import time

from support import CALLGATE, Folder, Gate, check, finish, pending, run, wait_for

ASK = {"id": "ask", "effect": "require_approval", "match": {"tool": "cp"}}
ASK_TWO = {"id": "two", "effect": "require_approval", "match": {"tool": "mv"}, "approvers": 2}
ASK_ONCE = {"id": "one", "effect": "require_approval", "match": {"tool": "mk"}, "scope": "once", "tell": "Ask ops."}
ASK_OPS = {"id": "ops", "effect": "require_approval", "match": {"tool": "rm"}, "scope": "call", "approversFrom": ["security", "ops"]}
POLICY = [ASK, ASK_TWO, ASK_ONCE, ASK_OPS]


class Session:
    """A gate in a folder of its own."""

    def __enter__(self):
        self.folder = Folder().__enter__()
        self.policy = self.folder.write("p.json", POLICY)
        self.gate = self.start()
        return self

    def start(self, **more):
        return Gate(self.folder, "--policy", self.policy, **more)

    def __exit__(self, *args):
        self.gate.close()
        self.folder.__exit__()

    def held(self, tool, arguments=None, gate=None):
        known = {p["code"] for p in pending(self.folder)}
        (gate or self.gate).send(tool, arguments)
        found = wait_for("a request", lambda: [p for p in pending(self.folder) if p["code"] not in known])
        return found[0]["code"]

    def say(self, *argv, code=0, what=None):
        return run(*argv, "--state", self.folder.state, code=code, what=what).stdout


def test_once_is_once():
    with Session() as s:
        code = s.held("cp", {"n": 1})
        check("what it would cover", json.loads(s.say("pending", "--format", "json"))[0]["scope"] == "session")
        out = s.say("approve", "--once", code)
        check("what a yes covers is said", "covers this call, one time" in out, out)
        check("the held call runs", s.gate.answer() == "ran")
        again = s.held("cp", {"n": 1})
        check("the same call again is asked for again", again != code)
        s.say("refuse", again, "--because", "once was enough")
        check("and refused", s.gate.answer() != "ran")
        votes = s.folder.events("approval.vote")
        check("the reason is in the journal", votes[-1]["detail"]["because"] == "once was enough", votes)
        check("that it was used is in the journal", len(s.folder.events("approval.used")) == 1)


def test_once_for_a_retry():
    """Its caller gave up; the approval is for one retry."""
    with Session() as s:
        gate = s.start(thread="U")
        gate.process.stdin.close()
        gate.close()
        short = Gate(s.folder, "--policy", s.policy, "--hold-for", "0.3", thread="U")
        code = s.held("cp", {"n": 5}, short)
        check("not in time", "time" in short.answer())
        s.say("approve", "--once", code)
        check("the retry runs", short.call("cp", {"n": 5}) == "ran")
        check("one more does not", short.call("cp", {"n": 5}) != "ran")
        short.close()


def test_a_rule_of_scope_once():
    with Session() as s:
        code = s.held("mk", {"n": 1})
        check("its scope is shown", json.loads(s.say("pending", "--format", "json"))[0]["scope"] == "once")
        s.say("approve", code)
        check("it runs", s.gate.answer() == "ran")
        again = s.held("mk", {"n": 1})
        s.say("refuse", again)
        said = s.gate.answer()
        check("the rule's words reach the agent", "Ask ops." in said, said)


def test_call_is_this_call():
    with Session() as s:
        first = s.held("cp", {"n": 1})
        second = s.held("cp", {"n": 2})
        out = s.say("approve", "--call", first)
        check("it releases no other", "also released" not in out, out)
        check("it runs", s.gate.answer() == "ran")
        check("and runs again", s.gate.call("cp", {"n": 1}) == "ran")
        check("the other waits", [p["code"] for p in pending(s.folder)] == [second])
        third = s.held("cp", {"n": 3})
        text = s.say("pending", second)
        check("what else would be released is shown before", f"releases 1 more request(s) that wait: {third}" in text, text)
        out = s.say("approve", second)
        check("and said after", f"also released {third}" in out, out)
        check("both run", [s.gate.answer(), s.gate.answer()] == ["ran", "ran"])


def people_file(s):
    """Two people: one in this terminal, one behind a bridge, and one who may answer other rules only."""
    user = pwd.getpwuid(os.getuid()).pw_name
    return s.folder.write("people.json", {"people": [
        {"name": "ada", "user": user}, {"name": "bob", "bridge": "bob"},
        {"name": "eve", "bridge": "eve", "rules": ["other"]}]})


def test_the_narrowest_answer_of_a_quorum():
    with Session() as s:
        people = people_file(s)
        first, second = s.held("mv", {"n": 1}), s.held("mv", {"n": 2})
        s.say("approve", "--call", first, "--people", people)
        out = s.say("reply", "--as", "bob", "--people", people, f"y {first}")
        check("the wider answer does not widen", "covers this very call" in out, out)
        check("it runs", s.gate.answer() == "ran")
        check("the other waits", [p["code"] for p in pending(s.folder)] == [second])


def test_one_identity_for_one_person():
    with Session() as s:
        code = s.held("mv", {"n": 1})
        s.say("approve", code, "--as", "ada")
        s.say("approve", code, "--as", "bob", code=1, what="two names of one user are one person")
        s.say("reply", "--as", "bob", f"y {code}", code=1, what="a bridge without people.json is that user, too")
        check("so it waits", [p["given"] for p in pending(s.folder)] == [1])
        people = people_file(s)
        other = s.held("mv", {"n": 2})
        s.say("approve", other, "--as", "bob", "--people", people, code=1, what="a name counts only for whom it authenticates")
        s.say("reply", "--as", "eve", "--people", people, f"y {other}", code=1, what="one who may not answer this rule")
        s.say("reply", "--as", "mallory", "--people", people, f"y {other}", code=1, what="nobody")
        check("none of these counts", [p["given"] for p in pending(s.folder) if p["code"] == other] == [0])
        check("and each is journalled", len(s.folder.events("approval.dropped")) >= 5)
        s.say("approve", other, "--as", "ada", "--people", people)
        s.say("reply", "--as", "bob", "--people", people, f"Y {other.upper()}", what="a reply in capitals")
        check("two people are two", s.gate.answer() == "ran")


def test_approvers_from_groups():
    with Session() as s:
        code = s.held("rm", {"n": 1})
        shown = json.loads(s.say("pending", "--format", "json", code))[0]
        check("the groups are shown", shown["approversFrom"] == ["ops", "security"], shown)
        check("in text, too", '"ops"' in s.say("pending", code))
        s.say("approve", code, code=1, what="without people.json nobody is of a group")
        s.say("refuse", code, code=1, what="nor may anybody refuse")
        user = pwd.getpwuid(os.getuid()).pw_name
        groups = {"people": [{"name": "ada", "user": user}, {"name": "bob", "bridge": "bob"}], "groups": {"ops": ["bob"], "others": ["ada"]}}
        people = s.folder.write("people.json", groups)
        s.say("approve", code, "--people", people, code=1, what="somebody of another group may not")
        check("none of these counts", [p["given"] for p in pending(s.folder)] == [0])
        check("each is journalled", len(s.folder.events("approval.dropped")) == 3, s.folder.events("approval.dropped"))
        s.say("reply", "--as", "bob", "--people", people, f"y {code}", what="somebody of the group may")
        check("and the call runs", s.gate.answer() == "ran")


def test_weaker_approvers():
    """Whoever takes a group away, or names another, weakens the rule, and its approvals are over."""
    with Folder() as f:
        def diff(old, new):
            rule = lambda groups: [{**{k: v for k, v in ASK_OPS.items() if k != "approversFrom"}, **({"approversFrom": groups} if groups else {})}]
            done = run("diff", "--json", f.write("old.json", rule(old)), f.write("new.json", rule(new)))
            return [c["weaker"] for c in json.loads(done.stdout)["classes"]]
        check("equal", diff(["a", "b"], ["b", "a", "b"]) == [], diff(["a", "b"], ["b", "a", "b"]))
        check("taken away", diff(["a"], []) == [True], diff(["a"], []))
        check("another", diff(["a"], ["b"]) == [True], diff(["a"], ["b"]))
        check("added", diff([], ["a"]) == [False], diff([], ["a"]))


def test_reasons():
    with Session() as s:
        s.gate.send("cp", {"n": 1})
        code = wait_for("a request", lambda: pending(s.folder))[0]["code"]
        s.say("refuse", code, "--because", "use the copy in /srv instead")
        check("the agent hears no reason", "copy in /srv" not in s.gate.answer())
        check("the journal has it", s.folder.events("approval.vote")[-1]["detail"]["because"] == "use the copy in /srv instead")
        gate = Gate(s.folder, "--policy", s.policy, "--tell-refusals", thread="telling")
        code = s.held("cp", {"n": 2}, gate)
        s.say("refuse", code, "--because", "use the copy in /srv instead")
        check("unless the operator lets it", "copy in /srv" in gate.answer())
        gate.close()


def test_client_gives_up():
    with Session() as s:
        gate = Gate(s.folder, "--policy", s.policy, "--hold-for", "2", thread="short")
        code = s.held("cp", {"n": 1}, gate)
        check("until when the client waits", re.search(r"client +waits [12] s more\n", s.say("pending", code)), s.say("pending", code))
        check("in JSON, too", pending(s.folder)[0]["clientWaitsUntil"] < pending(s.folder)[0]["expires"], pending(s.folder))
        gate.answer()
        text = s.say("pending")
        check("and that it has given up", "client   has given up; an approval counts for its next try" in text, text)
        s.say("approve", code)
        check("its next try passes", gate.call("cp", {"n": 1}) == "ran")
        gate.close()


def test_notices():
    with Session() as s:
        told = s.folder.write("told", "")
        program = s.folder.write("tell", f"#!/bin/sh\ncat >>{told}\n")
        os.chmod(program, 0o755)
        s.say("notices", "add", "command", program)
        code = s.held("cp", {"text": "hello", "token": "ghp_" + "a" * 36})
        notices = lambda: [json.loads(line) for line in open(told)]
        wait_for("a notice", lambda: len(notices()) == 1)
        notice = notices()[0]
        check("it is the request", notice["event"] == "waiting" and notice["request"]["code"] == code, notice)
        check("without secrets", "ghp_" not in json.dumps(notice), notice)
        s.say("refuse", code)
        wait_for("its end", lambda: len(notices()) == 2)
        check("its end is told", notices()[1]["event"] == "refused", notices())
        subprocess.run(["pkill", "-f", f"notices send --state {s.folder.state}"])


def test_live_approvals():
    with Session() as s:
        s.say("approve", s.held("cp"))
        check("it runs", s.gate.answer() == "ran")
        live = json.loads(s.say("approvals", "--format", "json"))
        check("it is listed", [(a["rule"], a["scope"]) for a in live] == [("ask", "session")], live)
        check("runs again", s.gate.call("cp", {"n": 9}) == "ran")
        s.say("approvals", "revoke", str(live[0]["id"]))
        s.say("approvals", "revoke", str(live[0]["id"]), code=1)
        check("it is over", json.loads(s.say("approvals", "--format", "json")) == [])
        s.held("cp", {"n": 9})
        check("and journalled", len(s.folder.events("approval.revoked")) == 1)


def test_whole_input():
    with Session() as s:
        payload = "x" * 1_000_000 + "PAYLOAD"
        code = s.held("cp", {"text": payload, "list": list(range(2000))})
        shown = json.loads(s.say("pending", "--format", "json", code))[0]["input"]
        check("nothing is cut", shown["text"] == payload and shown["list"] == list(range(2000)))
        check("in text, too", "PAYLOAD" in s.say("pending", code))
        check("the list says where the rest is", f"'callgate pending {code}' shows all" in s.say("pending"))


def test_ended_gates_hold_nothing():
    with Session() as s:
        gate = s.start(thread="killed")
        code = s.held("cp", {}, gate)
        gate.kill()
        check("nothing waits after kill -9", pending(s.folder) == [])
        done = run("approve", code, "--state", s.folder.state, code=1)
        check("approve says that the call is gone", "the call is gone" in done.stderr, done.stderr)
        gate = s.start(thread="ended")
        code = s.held("cp", {}, gate)
        gate.close()
        check("nothing waits after an end", pending(s.folder) == [])
        ends = [e["kind"] for e in s.folder.events() if e["kind"] == "approval.withdrawn"]
        check("both are withdrawn in the journal", len(ends) == 2, ends)


def test_seventeen_wait():
    with Session() as s:
        for n in range(16):
            s.gate.send("cp", {"n": n})
        wait_for("sixteen", lambda: len(pending(s.folder)) == 16)
        s.gate.send("cp", {"n": 16})
        check("the seventeenth is denied", s.gate.answer() != "ran")
        last = s.folder.events("policy.deny")[-1]
        check("and why is in the journal", last["reason"] == "too many requests wait for this session", last)
        out = s.say("approve", "--rule", "ask", "--once")
        check("one command answers all of a rule", out.count("approved ") == 16, out)


for test in [value for name, value in sorted(globals().items()) if name.startswith("test_")]:
    test()
finish()
