#!/usr/bin/env python3
"""hook_bench.py [PROGRAM [RUNS]]: what a hook costs a call, from spawn to exit: a policy of 1,000 rules, the journal on.

/bin/true, run in turn with it, is what any process costs here. Also imported by tools/bench.py."""
import json
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPAWN = os.path.join(TOP, "build", "bench", "spawn")


def policy_of(count, home):
    """Rules of two kinds, half of them with a prefix that exists."""
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


def decision_of(answer):
    return "deny" if b'"permissionDecision":"deny"' in answer else "no opinion" if answer == b"" else repr(answer)


def spawn(runs, commands, at_once=1):
    """Runs (name, input file or "-", argv)s in turn, so many processes of one at once: {name: {"p50_ms", "p99_ms"}}."""
    argv = [SPAWN, str(at_once), str(runs)]
    for i, (name, stdin, command) in enumerate(commands):
        argv += ([":::"] if i else []) + [name, stdin] + command
    return json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout)


def parallel(argv, call, count=20):
    begin = time.perf_counter()
    processes = [subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(count)]
    for process in processes:
        process.stdin.write(call)
        process.stdin.close()
    decided = sum(decision_of(process.stdout.read()) == "deny" and process.wait() == 0 for process in processes)
    return {"decided": decided, "all_ms": round((time.perf_counter() - begin) * 1e3, 1)}


def measure(programs, runs, results):
    with tempfile.TemporaryDirectory() as home:
        home = os.path.realpath(home)
        for i in range(50):
            os.makedirs(f"{home}/project/{i}/secret")
        policy = policy_of(1000, home)
        commands = [("/bin/true, whole process", "-", ["/bin/true"])]
        for program in programs:
            name = os.path.basename(program)
            argv = [program, "hook", "claude-code", "--policy", policy, "--home", home, "--state", f"{home}/state-{name}"]
            for what, path in (("no opinion", "src/main.c"), ("deny", "8/secret/key")):
                call = os.path.join(home, what)
                with open(call, "wb") as file:
                    file.write(message(home, path))
                answer = subprocess.run(argv, input=message(home, path), stdout=subprocess.PIPE, check=True).stdout
                if decision_of(answer) != what:
                    raise RuntimeError(f"{name}: {what}: {answer}")
                commands.append((f"{name} hook, whole process, 1,000 rules, {what}", call, argv))
            results[f"{name} hook, 20 in parallel"] = parallel(argv, message(home, "8/secret/key"))
        results.update(spawn(runs, commands))


def hooks(results, runs=1000):
    """Both programs, if the static one is built."""
    programs = [os.path.join(TOP, "build", name) for name in ("callgate-static", "callgate")]
    measure([program for program in programs if os.path.exists(program)], runs, results)


def main():
    results = {}
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    if len(sys.argv) > 1:
        measure([os.path.abspath(sys.argv[1])], runs, results)
    else:
        hooks(results, runs)
    for name, figures in results.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
