#!/usr/bin/env python3
"""test.py CALLGATE MCP_SERVER: the commands of a policy author, each as a person calls it. MCP_SERVER is a server that answers
every call (bench/mcp_server). Ends with 'N passed, N failed'."""
import json
import os
import re
import resource
import subprocess

from support import ALLOW_LS, ASK_CP, CALLGATE, DENY_RM, SANITIZED, SERVER, Folder, Gate, check, finish, run


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


def test_strange_names():
    """Nothing that an argument holds reaches the terminal as it stands, and nobody votes twice under names that look
    the same."""
    with Folder() as folder:
        state = os.path.join(folder.path, "state")
        os.mkdir(state, 0o700)
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


finish(globals())
