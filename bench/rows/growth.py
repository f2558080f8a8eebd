"""What a call costs, by how many arguments and paths it has."""
import json
import os

from .common import CALLGATE, count, per_second, row, run_json, time_of

TITLE = "Decisions, by the call"
NOTE = ("`callgate bench` with 1,000 rules, each for one of fifty tools and one or two arguments (then: one of 500 "
        "directories that do not exist), and 500 calls. Every argument of a call is one that some rule names, every "
        "path lies below a directory that some rule names; from line to line, paths are resolved.")
RULES, TOOLS, CALLS = 1000, 50, 500


def rules_of_arguments():
    for i in range(RULES):
        args = {f"arg_{(i + k) % 64}": f"value {(i + k) % 7}" for k in range(1 + i % 2)}
        yield {"id": f"rule-{i}", "effect": "deny", "reason": "no", "match": {"tool": f"tool_{i % TOOLS}", "argEquals": args}}


def rules_of_paths():
    for i in range(RULES):
        yield {"id": f"rule-{i}", "effect": "deny", "reason": "no",
               "match": {"tool": f"tool_{i % TOOLS}", "pathPrefix": f"/srv/none/{i % 500}"}}


def with_arguments(call, number):
    return {f"arg_{k}": f"value {(k + call) % 7}" for k in range(number)}


def with_paths(call, number):
    return {"paths": [f"/srv/none/{(call * 7 + k * 11) % 500}/src/file-{k}" for k in range(number)]}


def measure(folder, rules, inputs):
    policy, calls = os.path.join(folder, "growth.json"), os.path.join(folder, "growth.jsonl")
    with open(policy, "w", encoding="utf-8") as file:
        json.dump(list(rules), file)
    with open(calls, "w", encoding="utf-8") as file:
        for i, given in enumerate(inputs):
            file.write(json.dumps({"tool": f"tool_{i % TOOLS}", "input": given}) + "\n")
    return run_json([CALLGATE, "bench", "--policy", policy, "--calls", calls, "--format", "json"])


def rows(folder):
    for what, rules, make in (("argument", rules_of_arguments, with_arguments), ("path", rules_of_paths, with_paths)):
        for number in (1, 4, 16, 64):
            figure = measure(folder, rules(), [make(i, number) for i in range(CALLS)])
            yield row(f"{count(number)} {what}{'s' if number > 1 else ''}",
                      {key: figure[key] for key in ("p50_ns", "p99_ns", "line_to_decision_per_second")},
                      f"p50 {time_of(figure['p50_ns'])}, p99 {time_of(figure['p99_ns'])}; line to line "
                      f"{per_second(figure['line_to_decision_per_second'])}")
