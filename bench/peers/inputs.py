"""The inputs of the comparison: the synthetic mix of `callgate bench` without paths, one policy and its calls a size."""
import json
import os
import subprocess

OF_PATHS = ("pathPrefix", "pathComponent")


def written(program, *words):
    return subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, check=True, text=True).stdout


def without_paths(program, drawn):
    """The rules of a policy of so many that have no field about paths, in their order."""
    rules = json.loads(written(program, "policy", drawn))["rules"]
    return [rule for rule in rules if not any(field in rule["match"] for field in OF_PATHS)]


def make(program, folder, count, calls):
    """Writes policy.json with `count` rules, and calls.jsonl; returns the rules.

    A rule about paths would be much broader without that field, so such rules are left out whole and more are drawn
    until enough remain: the mix goes from the narrow kinds to the broad ones, and must not be cut short."""
    drawn = count
    rules = without_paths(program, drawn)
    while len(rules) != count:
        drawn += max(1, count - len(rules))
        rules = without_paths(program, drawn)
        if drawn > 2 * count:
            raise ValueError(f"the mix has no policy of {count} rules")
    with open(os.path.join(folder, "policy.json"), "w") as file:
        json.dump(rules, file, indent=0)
    with open(os.path.join(folder, "calls.jsonl"), "w") as file:
        file.write(written(program, "plain", drawn, calls))
    return rules
