#!/usr/bin/env python3
"""hook_bench.py [PROGRAM [RUNS]]: what a hook costs a call, from spawn to exit: a policy of 1,000 rules, the journal on.

Also imported by tools/bench.py."""
import json
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def policy_of(count, home):
    """Rules of every kind, half of them with a prefix that exists."""
    rules = []
    for i in range(count):
        match = {"tool": f"tool_{i}"} if i % 2 else {"pathPrefix": f"{home}/project/{i % 50}/secret"}
        rules.append({"id": f"rule-{i}", "effect": "deny", "match": match, "reason": "no"})
    path = os.path.join(home, "policy.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rules, file)
    return path


def message(home, path):
    return json.dumps({"session_id": "s", "transcript_path": "/t", "cwd": f"{home}/project", "permission_mode": "default",
                       "hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": path},
                       "tool_use_id": "toolu_1"}).encode()


def measure(program, runs, results):
    with tempfile.TemporaryDirectory() as home:
        home = os.path.realpath(home)
        for i in range(50):
            os.makedirs(f"{home}/project/{i}/secret")
        argv = [program, "hook", "claude-code", "--policy", policy_of(1000, home), "--home", home, "--state", f"{home}/state"]
        name = os.path.basename(program)
        for what, path in (("no opinion", "src/main.c"), ("deny", "8/secret/key")):
            call = message(home, path)
            times = []
            for i in range(runs + 20):
                begin = time.perf_counter()
                done = subprocess.run(argv, input=call, stdout=subprocess.PIPE, check=True)
                if i >= 20:
                    times.append((time.perf_counter() - begin) * 1e3)
                if (b'"deny"' in done.stdout) != (what == "deny"):
                    raise RuntimeError(f"{name}: {what}: {done}")
            results[f"{name} hook, whole process, 1,000 rules, {what}"] = {
                "p50_ms": round(percentile(times, 0.5), 2), "p99_ms": round(percentile(times, 0.99), 2)}
        begin = time.perf_counter()
        parallel = [subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(20)]
        for process in parallel:
            process.stdin.write(message(home, "8/secret/key"))
            process.stdin.close()
        decided = sum(b'"deny"' in process.stdout.read() and process.wait() == 0 for process in parallel)
        results[f"{name} hook, 20 in parallel"] = {
            "decided": decided, "all_ms": round((time.perf_counter() - begin) * 1e3, 1)}


def hooks(results, runs=1000):
    """Both programs, if the static one is built."""
    for name in ("callgate-static", "callgate"):
        program = os.path.join(TOP, "build", name)
        if os.path.exists(program):
            measure(program, runs, results)


def main():
    results = {}
    if len(sys.argv) > 1:
        measure(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1000, results)
    else:
        hooks(results)
    for name, figures in results.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
