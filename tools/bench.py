#!/usr/bin/env python3
"""bench.py [--json FILE] [--calls N]: measures, and prints one table. Figures, no verdicts.

Whatever is compared runs interleaved, so that what else the machine does falls on all alike.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "bench"))
from hook_bench import hooks, spawn  # noqa: E402
BUILD = os.path.join(TOP, "build")
CALLGATE = os.path.join(BUILD, "callgate")


def tool(name):
    return os.path.join(BUILD, "bench", name)


def policy_of(count, folder):
    """A policy of so many rules, each for a tool of its own."""
    path = os.path.join(folder, f"policy-{count}.json")
    rules = [{"id": f"rule-{i}", "effect": "auto_approve", "match": {"tool": f"tool_{i}"}} for i in range(count)]
    with open(path, "w") as file:
        json.dump(rules, file)
    return path


def process_start(folder, results):
    """A whole `callgate eval` of one call, from spawn to exit."""
    policy = policy_of(1000, folder)
    call = os.path.join(folder, "call.jsonl")
    with open(call, "w") as file:
        file.write('{"tool":"tool_999","input":{"query":"x"}}\n')
    results.update(spawn(200, [("eval, whole process, 1,000 rules", call, [CALLGATE, "eval", "--policy", policy, "-"])]))


def proxy(folder, results, calls):
    """What `callgate run` adds to a call, beside a process that only copies bytes and a proxy in Node."""
    server = tool("mcp_server")
    policy = policy_of(1000, folder)
    commands = {
        "direct": [server],
        "pass-through": [tool("passthrough"), server],
        "node proxy": ["node", os.path.join(TOP, "bench", "proxy.mjs"), server],
    }
    for mode in ("batch", "always", "never"):
        state = os.path.join(folder, "state-" + mode)
        commands[f"run --fsync={mode}"] = [CALLGATE, "run", "--policy", policy, "--state", state, "--fsync", mode,
                                           "--", server]
    argv = [tool("roundtrip"), str(calls)]
    for i, (name, command) in enumerate(commands.items()):
        argv += ([":::"] if i else []) + [name] + command
    out = subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout
    figures = json.loads(out)
    direct = figures["direct"]
    for name, figure in figures.items():
        if name != "direct":
            figure["adds_p50_us"] = round(figure["p50_us"] - direct["p50_us"], 1)
            figure["adds_p99_us"] = round(figure["p99_us"] - direct["p99_us"], 1)
        results["a call, " + name] = figure


def show(results):
    width = max(len(name) for name in results)
    for name, figure in results.items():
        print(f"{name:<{width}}  " + "  ".join(f"{key} {value}" for key, value in figure.items()))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", metavar="FILE", default=os.path.join(BUILD, "bench.json"))
    options.add_argument("--calls", type=int, default=10000)
    args = options.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        process_start(folder, results)
        proxy(folder, results, args.calls)
        hooks(results)
    show(results)
    with open(args.json, "w") as file:
        json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
