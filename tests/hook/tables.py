#!/usr/bin/env python3
"""tables.py CALLGATE TABLE...: runs each case of the tables and compares output, errors and exit code byte for byte.

A table is a list of blocks, `case NAME` and fields under it, one a line, `FIELD: VALUE`:
    policy   a name from `let` lines, or a document; absent: the table's `default`; `none`: no --policy
    args     more arguments
    message  what goes to standard input, %HH is a byte (%25 a per cent sign); `repeat N TEXT` and `endless` work too
    file     NAME CONTENT: a file in the home directory, %n a line end; repeatable
    gate     SERVER, or SERVER by another: a gate before this server runs for the same agent; by another policy
    alone    why the case is left out where each program is the client of a broker of its own
    closed   the standard descriptors that the hook starts without, as digits
    people   approve | refuse | approve 2: what people answer while the call waits
    out, err, exit   what must come back; absent: nothing, nothing, 0
    words    what the agent hears in the place of "Denied by Callgate.": a name of WORDS, or a text
`include FILE` takes the cases of another file. `let NAME TEXT` gives a text a name; {NAME} stands for it anywhere. {HOME} is the home directory of the case and
{CWD} its working directory, a folder in it.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

passed = failed = 0

# The kinds of denials that an agent may know of.
WORDS = {"refused": "Denied by Callgate: refused by a person.", "late": "Denied by Callgate: nobody answered in time.",
         "unreadable": "Denied by Callgate: the call could not be read.",
         "many": "Denied by Callgate: too many requests wait for a person."}


def parse(path, lets=None):
    """The lets and the cases of a table."""
    lets, cases, case = lets or {"paths": ',"a"' * 4096}, [], None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if not line or line.startswith("#"):
            continue
        if line.startswith("include "):
            cases += parse(os.path.join(os.path.dirname(path), line[8:]), lets)[1]
        elif line.startswith("let "):
            _, name, text = (line + " ").split(" ", 2)
            lets[name] = expand(text.strip(), lets)
        elif line.startswith("case "):
            case = {"name": line[5:], "place": f"{path}:{number}", "file": []}
            cases.append(case)
        else:
            field, _, value = line.strip().partition(":")
            value = value.strip()
            if field == "file":
                case["file"].append(value)
            elif field in ("policy", "args", "message", "closed", "gate", "people", "out", "err", "exit", "words", "alone") and field not in case:
                case[field] = value
            else:
                sys.exit(f"{path}:{number}: no such field, or twice: {field}")
    return lets, cases


def expand(text, names):
    for _ in range(3):  # names within names
        text = re.sub(r"\{([A-Za-z]+)\}", lambda m: names.get(m.group(1), m.group(0)), text)
    return text


def message_bytes(text):
    repeat = re.match(r"repeat (\d+) (.*)$", text)
    if repeat:
        return message_bytes(repeat.group(2)) * int(repeat.group(1))
    return re.sub(rb"%([0-9a-fA-F]{2})", lambda m: bytes([int(m.group(1), 16)]), text.encode())


def answer(callgate, state, word, count):
    """What people do: wait for the request, then answer it."""
    for _ in range(1000):
        listed = subprocess.run([callgate, "pending", "--format", "json", "--state", state], capture_output=True)
        waiting = json.loads(listed.stdout or b"[]") if listed.returncode == 0 else []
        if waiting:
            people = os.path.join(state, "people-of-the-test.json")
            with open(people, "w") as file:
                json.dump({"people": [{"name": f"person{i}", "bridge": f"person{i}"} for i in range(count)]}, file)
            letter = "y" if word == "approve" else "n"
            for i in range(count):
                subprocess.run([callgate, "reply", "--as", f"person{i}", "--people", people, "--state", state,
                                f"{letter} {waiting[0]['code']}"], capture_output=True, check=True)
            return
        time.sleep(0.01)


def start_gate(callgate, home, state, server, policy):
    """A gate before a server, which claims its calls: its parent is the hook's."""
    gate = subprocess.Popen([callgate, "run", "--policy", policy, "--state", state, "--home", home, "--server", server, "--", "cat"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for _ in range(6000):
        gates = os.path.join(state, "gates")
        if os.path.isdir(gates) and any(name.endswith(".claim") for name in os.listdir(gates)):
            return gate
        time.sleep(0.01)
    raise SystemExit("the gate does not start")


def run(callgate, host, lets, case):
    """Runs one case; (stdout, stderr, exit code) as they were and as they should be."""
    home = tempfile.mkdtemp(prefix="callgate-hook-")
    gate = None
    try:
        names = dict(lets, HOME=home, CWD=os.path.join(home, "project"))
        os.mkdir(names["CWD"])
        state = os.path.join(home, "state")
        for entry in case["file"]:
            name, _, content = expand(entry, names).partition(" ")
            os.makedirs(os.path.dirname(os.path.join(home, name)), exist_ok=True)
            with open(os.path.join(home, name), "wb") as file:
                file.write(message_bytes(content.replace("%n", "%0a")))
        argv = [callgate, "hook", host, "--home", home, "--state", state]
        policy = expand(case.get("policy", "{default}"), names)
        if policy != "none":
            with open(os.path.join(home, "policy.json"), "w", encoding="utf-8") as file:
                file.write(policy)
            argv += ["--policy", os.path.join(home, "policy.json")]
        argv += expand(case.get("args", ""), names).split()
        if "gate" in case:
            server, _, other = case["gate"].partition(" by ")
            if other:
                with open(os.path.join(home, "other.json"), "w", encoding="utf-8") as file:
                    file.write("[]")
            gate = start_gate(callgate, home, state, server, os.path.join(home, "other.json" if other else "policy.json"))
        text = expand(case.get("message", ""), names)
        closed = [int(digit) for digit in case.get("closed", "")]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=home,
                                   preexec_fn=(lambda: [os.close(fd) for fd in closed]) if closed else None)
        if case.get("people"):
            process.stdin.write(message_bytes(text))
            process.stdin.close()
            process.stdin = None
            word, _, count = case["people"].partition(" ")
            answer(callgate, state, word, int(count or 1))
            out, err = process.communicate(timeout=60)
        elif text == "endless":
            out = process.stdout.read()  # our end of its input stays open
            err = process.stderr.read()
            process.wait()
            process.stdin.close()
        else:
            out, err = process.communicate(message_bytes(text), timeout=60)
        want = [expand(case.get(f, ""), names) for f in ("out", "err")]
        if "words" in case:
            words = WORDS.get(case["words"], case["words"])
            want = [w.replace("Denied by Callgate.", json.dumps(words, ensure_ascii=False)[1:-1] if i == 0 else words) for i, w in enumerate(want)]
        want = [(w + "\n" if w else "").encode().replace(b"%n", b"\n") for w in want]
        return (out, err, process.returncode), (want[0], want[1], int(expand(case.get("exit", "0"), names)))
    finally:
        if gate:
            gate.communicate(timeout=60)
        shutil.rmtree(home)


def main():
    global passed, failed
    callgate = os.path.abspath(sys.argv[1])
    for table in sys.argv[2:]:
        host = os.path.basename(table).rsplit(".", 1)[0]
        lets, cases = parse(table)
        if "with-broker" in callgate:
            cases = [case for case in cases if "alone" not in case]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda case: run(callgate, host, lets, case), cases))
        for case, (got, want) in zip(cases, results):
            if got == want:
                passed += 1
                continue
            failed += 1
            print(f"{case['place']}: {case['name']}")
            for name, g, w in zip(("out", "err", "exit"), got, want):
                if g != w:
                    print(f"    {name}: want {w!r}\n         got  {g!r}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
