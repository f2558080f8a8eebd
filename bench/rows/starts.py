"""Whole processes: `eval` of one call, by the number of rules, a hook, and a confinement."""
import json
import os
import subprocess

import hook_bench

from .common import CALLGATE, count, ms, policy_of_tools, row, run, target, tool

TITLE = "Start-up"
NOTE = ("From before the process is made until it is gone and its output is read, measured from C, 1,000 times, in turn "
        "with /bin/true, which is what any process costs here. 1,000 rules; for the hook half of them with a path, the "
        "journal on. callgate-static is the program without shared objects that `hook install` takes. Each of these "
        "processes reads its whole policy: what that takes shows with synthetic policies. At the end /bin/true in a "
        "confinement, 200 times in turn with /bin/true alone, where user namespaces can be had.")


def larger(folder):
    """`eval` of one call with policies of more rules."""
    commands = []
    call = os.path.join(folder, "synthetic.jsonl")
    with open(call, "w", encoding="utf-8") as file:
        file.write(run([tool("synthetic"), "plain", "1000", "1"]))
    for size in (1000, 10000, 100000):
        policy = os.path.join(folder, f"synthetic-{size}.json")
        with open(policy, "w", encoding="utf-8") as file:
            file.write(run([tool("synthetic"), "policy", str(size)]))
        commands.append((f"callgate eval, {count(size)} synthetic rules", call, [CALLGATE, "eval", "--policy", policy, "-"]))
    return hook_bench.spawn(30, commands)


def confinements(folder):
    """/bin/true confined: the start, what it does, and the end of all namespaces."""
    if subprocess.run(["unshare", "-Urmpif", "true"], capture_output=True, check=False).returncode != 0:
        return {}
    project, state, policy = (os.path.join(os.path.realpath(folder), name) for name in ("confined", "confined-state", "confined.json"))
    os.makedirs(os.path.join(project, ".ssh"), exist_ok=True)
    os.makedirs(state, mode=0o700, exist_ok=True)
    with open(os.path.join(project, ".env"), "w", encoding="utf-8") as file:
        file.write("x\n")
    with open(policy, "w", encoding="utf-8") as file:
        json.dump([{"id": "keys", "effect": "deny", "match": {"pathPrefix": project + "/.ssh"}, "reason": "keys"},
                   {"id": "secrets", "effect": "deny", "match": {"pathComponent": ".env"}, "reason": "secrets"},
                   {"id": "site", "effect": "auto_approve", "match": {"tool": "network", "host": "example.org"}}], file)
    words = [CALLGATE, "confine", "--policy", policy, "--state", state, "--cwd", project]
    return hook_bench.spawn(200, [("confine, /bin/true alone", "-", ["/bin/true"])] + [
        (f"confine{more and ' ' + more}, /bin/true", "-", words + more.split() + ["--", "/bin/true"])
        for more in ("", "--no-net", "--confine-net")])


def rows(folder):
    measured = {}
    call = os.path.join(folder, "call.jsonl")
    with open(call, "w", encoding="utf-8") as file:
        file.write('{"tool":"tool_999","input":{"query":"x"}}\n')
    argv = [CALLGATE, "eval", "--policy", policy_of_tools(1000, folder), "-"]
    measured.update(hook_bench.spawn(1000, [("callgate eval of one call", call, argv)]))
    hook_bench.hooks(measured)
    measured.update(larger(folder))
    measured.update(confinements(folder))
    for name, figure in measured.items():
        if "decided" in figure:
            yield row(name, figure, f"{figure['decided']} decided, all within {ms(figure['all_ms'])}")
            continue
        targets = []
        if "hook" in name or "of one call" in name:
            targets.append(target("p50", figure["p50_ms"], most=5, unit="ms"))
        if name == "confine, /bin/true":
            alone = measured["confine, /bin/true alone"]["p50_ms"]
            targets.append(target("p50 without /bin/true", round(figure["p50_ms"] - alone, 2), most=4, unit="ms"))
        if "hook" in name:
            targets.append(target("p99", figure["p99_ms"], most=15, unit="ms"))
        yield row(name, figure, f"p50 {ms(figure['p50_ms'])}, p99 {ms(figure['p99_ms'])}", *targets)
