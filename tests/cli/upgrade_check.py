#!/usr/bin/env python3
"""upgrade_check.py CALLGATE MCP_SERVER: `check --upgrade` beside a program that answers as a release before did, and
journals with what it decided. Ends with `N passed, N failed`."""
import json
import os
import subprocess
import tempfile

from support import CALLGATE, SERVER, check, tell_counts


POLICY = [{"id": "keys", "effect": "deny", "match": {"pathPrefix": "/srv/keys"}, "reason": "keys stay here"},
          {"id": "ask", "effect": "require_approval", "match": {"tool": "cp"}},
          {"id": "all", "effect": "auto_approve", "match": {"tool": "*"}}]

# The release before: only an argument `path` was read, and nothing else.
OLD = '''#!/usr/bin/python3 -I
import json, sys
if "--policy" not in sys.argv or sys.argv[1] != "eval" or sys.argv[-1] != "-" or %(broken)s:
    sys.exit("old: this policy has a field that is not known")
for line in sys.stdin:
    call = json.loads(line)
    if str(call.get("input", {}).get("path", "")).startswith("/srv/keys"):
        print('{"kind":"deny","rule":"keys","reason":"keys stay here"}')
    elif call["tool"] == "cp":
        print('{"kind":"require","rule":"ask","approver":"human_approver","ttlMs":300000,"approvers":1}')
    else:
        print('{"kind":"allow","rule":"all"}')
'''


def main():
    with tempfile.TemporaryDirectory() as d:
        def write(name, text, mode=0o600):
            path = os.path.join(d, name)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, mode)
            return path

        policy = write("p.json", json.dumps(POLICY))
        old, broken = write("old", OLD % {"broken": "False"}, 0o700), write("broken", OLD % {"broken": "True"}, 0o700)

        def ask(*olds, code, more=("--json",)):
            done = subprocess.run([CALLGATE, "check", "--upgrade", *olds, "--policy", policy, *more], capture_output=True, text=True)
            check(f"--upgrade {' '.join(os.path.basename(o) for o in olds)} exits {code}", done.returncode == code, done)
            return [json.loads(line) for line in done.stdout.splitlines()] if "--json" in more and code < 2 else done

        # Calls that are made up from the rules.
        found = ask(old, code=1)
        check("each is stricter, and a rule is named", all(f["from"]["kind"] == "allow" and f["to"] == {"kind": "deny", "rule": "keys"}
                                                           and f["reason"] == "keys stay here" for f in found), found)
        check("what is read aside is found: texts, and the words of commands", {"target", "command", "path"} <=
              {name for f in found for name in f["call"]["input"]}, found)
        text = ask(old, code=1, more=())
        check("for people, too", "allow ('all') -> deny ('keys')" in text.stdout and "more strictly" in text.stdout, text)
        found = ask(CALLGATE, code=0)
        check("no release is stricter than itself", found == [], found)

        # Calls of a file.
        calls = write("calls.jsonl", '{"tool":"bash","input":{"command":"ls /srv/keys/a"}}\n\n{"tool":"ls","input":{"x":1}}\n{"tool":"cp"}\n')
        found = [f for f in ask(old, calls, code=1) if f["where"] == calls]
        check("a file of calls", [f["call"]["tool"] for f in found] == ["bash"], found)
        done = ask(calls, code=2, more=())
        check("without the program it says what it needs", "name the program" in done.stderr, done)

        # A journal of calls with what was decided; people's approvals are no difference.
        state = os.path.join(d, "state")
        loose = write("loose.json", json.dumps(POLICY[1:]))
        lines = [json.dumps({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": n, "arguments": a}})
                 for i, (n, a) in enumerate((("ls", {"path": "/srv/keys/x"}), ("ls", {"path": "/tmp"}), ("bash", {"command": "cat /srv/keys/x"})))]
        subprocess.run([CALLGATE, "run", "--policy", loose, "--state", state, "--", SERVER], input="\n".join(lines) + "\n",
                       capture_output=True, text=True, timeout=30)
        for old_place in (state, os.path.join(state, "journal.jsonl")):
            found = ask(old_place, code=1)
            check("a journal: the calls that were let through, by number", [f["call"]["tool"] for f in found] == ["ls", "bash"] and
                  all(f["from"]["kind"] == "allow" and f["seq"] > 1 for f in found), found)
        found = [f for f in ask(old, state, code=1) if f["where"] == state]
        check("beside the program: its answers count, not what was recorded", [f["call"]["tool"] for f in found] == ["bash"], found)

        # What cannot be done.
        done = ask(broken, code=2, more=())
        check("a program that does not know the policy", "not known" in done.stderr and "journal otherwise" in done.stderr, done)
        ask(os.path.join(d, "none"), code=2, more=())
        ask(old, old, code=2, more=())
        ask(write("empty", ""), code=2, more=())
        check("not with another question", subprocess.run([CALLGATE, "check", "--upgrade", old, "--strict", "--policy", policy],
                                                          capture_output=True).returncode == 2)


main()
tell_counts()
