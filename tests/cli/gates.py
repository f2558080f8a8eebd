#!/usr/bin/env python3
"""gates.py CALLGATE MCP_SERVER: an operator's commands beside gates that run. MCP_SERVER is a server that answers every call
(bench/mcp_server). Ends with 'N passed, N failed'."""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time

from support import ALLOW_LS, ASK_CP, CALLGATE, DENY_RM, Folder, Gate, check, finish, run, until


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


finish(globals())
