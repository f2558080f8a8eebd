"""`callgate run` with a policy and a state directory of its own, for the tests of it as a whole."""
import json
import os
import subprocess

import harness
from harness import DEADLINE, PROGRAM, check, wait_for

RULES = [
    {"id": "no", "effect": "deny", "match": {"toolPrefix": "deny"}, "reason": "a secret reason"},
    {"id": "ask", "effect": "require_approval", "match": {"toolPrefix": "hold"}, "scope": "call"},
]


def callgate(*arguments, **how):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=DEADLINE, check=False,
                          stdin=subprocess.DEVNULL, **how)


class Run(harness.Run):
    """`callgate run` with a policy and a state directory of its own."""

    def arguments(self, rules=None, options=()):
        self.policy = os.path.join(self.dir.name, "policy.json")
        self.state = os.path.join(self.dir.name, "state")
        self.write_policy(RULES if rules is None else rules)
        return [PROGRAM, "run", "--policy", self.policy, "--state", self.state, *options, "--"]

    def write_policy(self, rules):
        with open(self.policy, "w", encoding="utf-8") as file:
            json.dump(rules, file)

    def journal(self):
        with open(os.path.join(self.state, "journal.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def decisions(self):
        return [event for event in self.journal() if event["kind"].startswith("policy.")]

    def kinds(self):
        return [event["kind"] for event in self.journal()]

    def pending(self):
        return json.loads(callgate("pending", "--format", "json", "--state", self.state).stdout)

    def code(self, count=1):
        """The code of the newest request, once `count` wait."""
        check(wait_for(lambda: len(self.pending()) == count))
        return self.pending()[-1]["code"]

    def vote(self, what, code):
        check(callgate(what, code, "--as", "tester", "--state", self.state).returncode == 0)

    def verified(self):
        done = callgate("journal", "verify", os.path.join(self.state, "journal.jsonl"))
        return done.returncode == 0 and done.stdout.startswith(b"OK: ")
