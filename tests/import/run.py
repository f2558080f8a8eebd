#!/usr/bin/env python3
"""`callgate import claude-settings`: a table of what becomes of each form of entry, and random lists held against claude.py.

usage: run.py [--callgate PROGRAM] [--random N] [--seed N] [--show]

No policy that is imported allows by a rule what the lists do not allow, or lets run what they deny or ask about. Where the
report says that every entry was kept, the decisions are the same. Ends with the line `N passed, N failed`.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import claude
import others

passed = failed = 0


def check(what, good, *shown):
    global passed, failed
    if good:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}")
    for each in shown:
        print("   ", each if isinstance(each, str) else json.dumps(each, ensure_ascii=False))


def kind_of(decision):
    """deny, ask, allow (by a rule in every reading, as a hook that grants asks), none."""
    if decision["kind"] == "allow":
        own = [each for each in decision["explain"]["readings"] if not each.get("aside")]
        return "allow" if all("rule" in each["decision"] for each in own) else "none"
    return {"deny": "deny", "require": "ask"}[decision["kind"]]


class Gate:
    """A project with settings in it, in a folder of its own."""

    def __init__(self, program, root):
        self.program, self.root = os.path.abspath(program), root
        self.project, self.home = os.path.join(root, "project"), os.path.join(root, "home")
        for folder in (self.project, self.home):
            os.makedirs(os.path.join(folder, ".claude"), exist_ok=True)
        self.where = ("--cwd", self.project, "--home", self.home)

    def run(self, *words, text=b""):
        done = subprocess.run([self.program, *words], input=text, capture_output=True, timeout=120, cwd=self.project)
        return done.returncode, done.stdout, done.stderr.decode()

    def settings(self, value, kind="project"):
        folder = {"project": self.project + "/.claude", "user": self.home + "/.claude", "other": self.root}[kind]
        path = os.path.join(folder, "settings.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(value if isinstance(value, str) else json.dumps(value))
        return path

    def imported(self, paths, *more):
        code, out, err = self.run("import", "claude-settings", *self.where, *more, *paths)
        report = {}
        for line in err.splitlines():
            found = re.match(r".*?: (?:permissions\.)?(\S+?) (.*): (kept|stricter|narrower|left out)(?: \([^)]*\))?(?:: .*)?$", line)
            if found:
                report[found.group(1)] = found.group(3)
        return code, out, err, report

    def decisions(self, document, calls):
        return [kind_of(each) for each in self.explained(document, calls)]

    def explained(self, document, calls):
        path = os.path.join(self.root, "policy.json")
        with open(path, "wb") as file:
            file.write(document)
        text = "".join(json.dumps(call) + "\n" for call in calls).encode()
        code, out, err = self.run("eval", "--policy", path, "--explain", *self.where, "-", text=text)
        if code != 0:
            raise SystemExit(f"eval: {code} {err}")
        return [json.loads(line) for line in out.splitlines()]  # bytes: only line feeds part them


# --- the table

def placed(value, gate):
    return json.loads(json.dumps(value).replace("$PROJECT", gate.project).replace("$HOME", gate.home).replace("$ROOT", gate.root))


def table(gate, show):
    with open(os.path.join(HERE, "claude.jsonl"), encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            case = placed(json.loads(line), gate)
            lists = {key: case[key] for key in ("deny", "ask", "allow") if key in case}
            path = gate.settings({"permissions": {**lists, **case.get("permissions", {})}, **case.get("settings", {})},
                                 case.get("kind", "project"))
            code, out, err, report = gate.imported([path], *case.get("args", []))
            document = json.loads(out) if out else None
            rules = [[rule["effect"], rule["match"]] for rule in document["rules"]] if document else None
            if show:
                print(json.dumps({**json.loads(line), "rules": rules, "report": report}, ensure_ascii=False)
                      .replace(gate.project, "$PROJECT").replace(gate.home, "$HOME").replace(gate.root, "$ROOT"))
                continue
            place = f"claude.jsonl:{number}: {case['name']}"
            check(f"{place}: rules", rules == case["rules"], rules, err)
            check(f"{place}: report", report == case["report"], report, err)
            check(f"{place}: exit", code == (1 if "left out" in case["report"].values() else 0), code)
            if out:
                policy = os.path.join(gate.root, "policy.json")
                with open(policy, "wb") as file:
                    file.write(out)
                check(f"{place}: it is laid out", gate.run("fmt", "--check", *gate.where, policy)[0] == 0)
            os.unlink(path)


def refusals(gate):
    for what, text in (("no JSON", "{"), ("no object", "[]"), ("permissions", '{"permissions":[]}'),
                       ("a list", '{"permissions":{"deny":{}}}'), ("a repeated key", '{"permissions":{},"permissions":{}}')):
        path = gate.settings(text)
        code, out, err, _ = gate.imported([path])
        check(f"{what} is refused with its place", code == 2 and not out and err.startswith(f"callgate: {path}:1:"), code, err)
    check("a missing file is refused", gate.imported([gate.root + "/none"])[:2] == (2, b""))
    check("no file is wrong usage", gate.run("import", "claude-settings")[:2] == (2, b""))
    check("another word is wrong usage", gate.run("import", "x", path)[:2] == (2, b""))
    code, out, err, report = gate.imported([gate.settings({})])
    check("no lists, no rules", code == 0 and json.loads(out) == {"version": 1, "rules": []} and not report, code, out.decode(), err)
    first, second = gate.settings({"permissions": {"allow": ["A", "B"]}}), gate.settings({"permissions": {"deny": ["B"], "allow": ["C", "A"]}}, "user")
    code, out, err, _ = gate.imported([first, second])
    check("several files are one: every deny first", [rule["id"] + " " + rule["match"]["tool"] for rule in json.loads(out)["rules"]] ==
          ["deny-1 B", "allow-1 A", "allow-2 B", "allow-3 C"], out.decode())
    report = os.path.join(gate.root, "report")
    code, out, err, _ = gate.imported([first], "--report", report)
    with open(report, encoding="utf-8") as file:
        check("--report takes the report", code == 0 and err == "" and "allow[0] A: kept" in file.read(), err)


# --- random lists

NAMES = ("a", "b", ".env", "x.pem", "src", "k")
BASH = ("ls", "ls -la", "npm run build", "npm run test", "rm -rf b", "git push", "git status", "make", "cat a", "cat b/.env")


def random_path(rng, gate):
    return "/".join([rng.choice((gate.project, gate.project, gate.home, gate.root))] +
                    [rng.choice(NAMES) for _ in range(rng.randrange(0, 4))])


def random_pattern(rng, gate):
    if rng.random() < 0.3:
        return rng.choice(("**", "*", ".env", "*.pem", "**/.env", "src/**", "./a", "./src/**", "a/b", "a/b/**", "**/src/**", "**/a/*.pem",
                           "a/**/b", "a/*", "~/**", "~/a", "~/src/**", "//**", "//**/.env", "/**", "/src/**", "/a/b", "/**/x.pem",
                           "//**/s*c/k", "a?", "\\*.pem", "!.env", "!a/b", "!~/a", "k*", "**/k*/**"))
    path = random_path(rng, gate).split("/")
    for index in range(3, len(path)):
        if rng.random() < 0.25:
            path[index] = rng.choice(("*", "**", "*.pem", "s*", "*c", "?"))
    return "/" + "/".join(path) + rng.choice(("", "/**", "/*", "/**/*.pem"))


def random_entry(rng, gate):
    pick = rng.random()
    if pick < 0.45:
        return rng.choice(("Read", "Read", "Edit", "Edit", "Write", "Grep")) + "(" + random_pattern(rng, gate) + ")"
    if pick < 0.62:
        return "Bash(" + rng.choice(BASH + ("npm:*", "npm run:*", "npm *", "rm:*", "git * b", "* -la", "ls*", "*", "cat:*", "run_in_background:true")) + ")"
    if pick < 0.8:
        return rng.choice(("mcp__s", "mcp__s__*", "mcp__s__put", "mcp__t__get_a", "mcp__s__get_*", "mcp__t__*_a", "mcp__*", "mcp__s*", "mcp__s__p__q",
                           "mcp__s__put(x)", "mcp__t"))
    return rng.choice(("Read", "Edit", "Write", "Bash", "Grep", "WebFetch", "TodoWrite", "Agent", "WebFetch(domain:a.org)", "WebFetch(domain:*.a.org)",
                       "WebFetch(domain:*)", "Agent(Explore)", "Agent(model:opus)", "*", "T*", "Web*", "*Write", "Bash(", "Bash()", "Skill(x)", "B"))


def random_call(rng, gate):
    pick = rng.random()
    if pick < 0.55:
        tool = rng.choice(claude.READ + claude.EDIT)
        key = "notebook_path" if tool == "NotebookEdit" else "path" if tool in ("Grep", "Glob", "LS") else "file_path"
        path = random_path(rng, gate)
        if rng.random() < 0.3 and path.startswith(gate.project + "/"):
            path = path[len(gate.project) + 1:]
        return {"tool": tool, "input": {key: path}}
    if pick < 0.75:
        command = rng.choice(BASH)
        while rng.random() < 0.4:
            command = rng.choice(("X=1 {}", "timeout 5 {}", "{} && " + rng.choice(BASH), rng.choice(BASH) + "; {}", "echo $({})", "{} > a/k",
                                  "nohup {}")).format(command)
        return {"tool": "Bash", "input": {"command": command, **({"run_in_background": True} if rng.random() < 0.2 else {})}}
    if pick < 0.9:
        return {"server": rng.choice("stu"), "tool": rng.choice(("put", "get_a", "get_b", "p__q", "q"))}
    return rng.choice(({"tool": "WebFetch", "input": {"url": "https://" + rng.choice(("a.org", "x.a.org", "b.org")) + "/x"}},
                       {"tool": "Agent", "input": {"subagent_type": rng.choice(("Explore", "Plan")), "model": rng.choice(("opus", "haiku"))}},
                       {"tool": "TodoWrite"}, {"tool": "Skill", "input": {"skill": "x"}}, {"tool": "WebSearch"}))


def aimed_call(rng, gate, lists):
    """A call that has something to do with an entry."""
    entries = [entry for which in lists.values() for entry in which]
    name, spec = claude.split(rng.choice(entries)) if entries else ("*", None)
    if name in ("Read", "Edit", "Write", "Grep") and spec:
        path = spec.lstrip("!")
        for start, base in (("//", "/"), ("~/", gate.home + "/"), ("/", gate.project + "/"), ("./", gate.project + "/"), ("", gate.project + "/")):
            if path.startswith(start):
                path = base + path[len(start):]
                break
        path = re.sub(r"\*\*/?", lambda _: rng.choice(("", "a/", "b/src/")), path)
        path = re.sub(r"[*?]", lambda _: rng.choice("ak"), path).replace("\\", "").rstrip("/") + rng.choice(("", "", "/a", "/.env"))
        if rng.random() < 0.15:
            path = os.path.dirname(path)
        tool = rng.choice(claude.READ + claude.EDIT)
        key = "notebook_path" if tool == "NotebookEdit" else "path" if tool in ("Grep", "Glob", "LS") else "file_path"
        return {"tool": tool, "input": {key: os.path.normpath(path)}}
    if name == "Bash" and spec:
        return {"tool": "Bash", "input": {"command": rng.choice(("{}", "{}", "X=1 {}", "make; {}", "{} b")).format(
            re.sub(r":?\*", " x", spec)).strip() or "ls"}}
    return random_call(rng, gate)


def held(gate, lists, kind, calls):
    """Faults of one import, as (what, call, there, here)."""
    place = claude.Place(gate.home + "/.claude" if kind == "user" else gate.project, gate.project, gate.home)
    reference = claude.Lists(lists, place)
    code, out, err, report = gate.imported([gate.settings({"permissions": lists}, kind)])
    if code not in (0, 1):
        return [("it is imported", None, code, err)]
    if len(report) != sum(map(len, lists.values())):
        return [("every entry is in the report", None, report, err)]
    faults, same = [], set(report.values()) <= {"kept"}
    for call, decision in zip(calls, gate.decisions(out, calls)):
        there, here = reference.decision(call), decision
        allowed = {"deny": ("deny",), "ask": ("deny", "ask"), "none": ("deny", "ask", "none"), "allow": ("deny", "ask", "allow", "none")}
        if here not in allowed[there]:
            faults.append(("nothing is wider", call, there, here))
        if here == "allow" and reference.files_decision(call) != "none":
            faults.append(("no command on denied files is allowed", call, reference.files_decision(call), here))
        # Searches meet prefixes below their directory; a bare name of a group covers the group.
        bare = any(split in ("Read", "Edit", "Agent") for entries in lists.values() for split in entries)
        # So does a path argument that names a directory, of any tool.
        above = any(os.path.isdir(str(value)) for value in call.get("input", {}).values())
        # Rules for files hold for shell commands that name them, and one about a command also for it with options.
        around = re.search(r"[=$>]|timeout|nohup", str(call.get("input", {}).get("command")))
        limited = call["tool"] == "Bash" and (around or any(claude.split(entry)[0] in ("Read", "Edit") or
                                                 (claude.split(entry)[1] or "").startswith(("ls", "rm", "npm", "git", "cat"))
                                                 for which in ("deny", "ask") for entry in lists[which]))
        if same and not bare and not above and not limited and call["tool"] not in ("Grep", "Glob") and there != here:
            faults.append(("what was kept is the same", call, there, here))
    return faults


def shrink(gate, lists, kind, calls):
    """Fewer entries and one call that still show a fault."""
    smaller = True
    while smaller:
        smaller = False
        for which in lists:
            for index in range(len(lists[which])):
                less = {**lists, which: lists[which][:index] + lists[which][index + 1:]}
                if held(gate, less, kind, calls):
                    lists, smaller = less, True
                    break
    return lists, held(gate, lists, kind, calls)[0]


def random_lists(gate, rng, count):
    for number in range(count):
        kind = rng.choice(("project", "project", "user"))
        few = rng.random() < 0.4
        lists = {which: [random_entry(rng, gate) for _ in range(rng.randrange(0, 2 if few else 4))] for which in ("deny", "ask", "allow")}
        calls = [aimed_call(rng, gate, lists) if rng.random() < 0.6 else random_call(rng, gate) for _ in range(60)]
        faults = held(gate, lists, kind, calls)
        if faults:
            lists, fault = shrink(gate, lists, kind, calls)
            check(f"lists {number}, {kind}: {fault[0]}", False, lists, list(fault[1:]))
        else:
            check("", True)


# --- other programs

ALLOWED = {"deny": ("deny",), "ask": ("deny", "ask"), "none": ("deny", "ask", "none"), "allow": ("deny", "ask", "allow", "none")}


def import_text(gate, kind, name, text):
    path = os.path.join(gate.project, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    code, out, err = gate.run("import", kind, *gate.where, "--project", gate.project, path)
    os.unlink(path)
    return code, out, err


def unread(gate, document, call):
    """Whether a command of a call cannot be read here, or its words are not all known: then a deny is a question."""
    return re.search(r"[*?$`]", str(call.get("input", {}).get("command"))) is not None or any("unreadable" in json.dumps(each) for each in gate.explained(document, [call])[0]["explain"]["readings"])


def random_others(gate, rng, count):
    for kind, make in (("codex", others.Codex), ("gemini", others.Gemini), ("opencode", others.OpenCode)):
        allowed = said = 0
        for number in range(count):
            source = make(rng)
            if kind == "opencode":
                source.place(gate.project, gate.home)
            code, out, err = import_text(gate, kind, source.name, source.text)
            if code not in (0, 1):
                check(f"{kind} {number}: it is imported", False, source.text, err)
                continue
            calls = source.calls(rng)
            kept = all(word not in err for word in (": narrower", ": left out"))
            for call, here in zip(calls, gate.decisions(out, calls)):
                there = source.decision(call)
                good = here in ALLOWED[there] or (there == "deny" and here == "ask" and unread(gate, out, call))
                said += there == "allow"
                allowed += here == "allow"
                check(f"{kind} {number}: nothing is wider", good, source.text, [call, there, here])
                text = str(call.get("input", {}).get("command", ""))
                plain = not re.search(r"[=$`<>()*&]|sudo|sh -c|if |/srv", text)
                if kept and there == "allow" and plain and not source.strict_rules() and kind == "codex" and "bash" not in text:
                    check(f"{kind} {number}: what was kept allows", here == "allow", source.text, [call, there, here])
        check(f"{kind}: allows are seen on both sides", count < 20 or (said > count and allowed > count // 4), [said, allowed])


RULES = '''prefix_rule(pattern=["a", ["b",]], decision="prompt",)
X = ["git", "push"]  # a name
prefix_rule(pattern=X)
network_rule(host="evil.example", protocol="https", decision="deny")
'''
CONFIG = '''approval_policy = "untrusted"
[mcp_servers.gh]
disabled_tools = ["drop"]
default_tools_approval_mode = "prompt"
[mcp_servers.gh.tools.get_issue]
approval_mode = "approve"
'''


def other_forms(gate):
    """The approvals of Codex's config.toml stand tool before server; what cannot be read is refused with its place."""
    code, out, err = import_text(gate, "codex", "default.rules", RULES)
    rules = [(rule["effect"], rule["match"].get("commandPrefix"), rule["match"].get("host")) for rule in json.loads(out)["rules"]] if out else None
    check("Codex: alternatives, names, hosts", rules == [("deny", None, "evil.example"), ("require_approval", "a b", None),
                                                        ("require_approval", "git push", None), ("auto_approve", "git push", None)], rules, err)
    code, out, err = import_text(gate, "codex", "config.toml", CONFIG)
    rules = [(rule["effect"], rule["match"]) for rule in json.loads(out)["rules"]] if out else None
    check("Codex: approvals", rules == [("deny", {"tool": "drop", "server": "gh"}), ("auto_approve", {"tool": "get_issue", "server": "gh"}),
                                        ("require_approval", {"tool": ["Bash", "apply_patch"]}), ("require_approval", {"server": "gh"})], rules, err)
    for kind, name, text, place in (("codex", "x.rules", 'prefix_rule(pattern=["a"', ":1:25:"), ("codex", "x.rules", "def f(): pass", ":1:"),
                                    ("codex", "x.rules", "prefix_rule(pattern=[])", ":1:1:"), ("codex", "x.toml", "a = [1", ":1:"),
                                    ("gemini", "x.toml", '[[rule]]\ntoolName = "x\n', ":2:14:"), ("gemini", "x.toml", "[[rule]]\n", ":1:1:"),
                                    ("gemini", "x.toml", '[[rule]]\ndecision = "maybe"\n', ":2:1:"),
                                    ("opencode", "x.json", '{"permission": {"bash": "perhaps"}}', ":1:25:"), ("opencode", "x.json", "[]", ":1:1:")):
        code, out, err = import_text(gate, kind, name, text)
        check(f"{kind} {text!r}: refused with its place", code == 2 and not out and name + place in err, code, err)


# --- public settings

def public(gate):
    """The share of the entries of public settings that is kept exactly; printed, and held where it must be."""
    folder = os.path.join(HERE, "public")
    figures, kinds = {}, {}
    for name in sorted(os.listdir(folder)):
        program = name.split("-")[0]
        if program not in ("claude", "codex", "gemini", "opencode"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        if program == "claude":
            code, out, err = gate.run("import", "claude-settings", *gate.where, gate.settings(text))
        else:
            code, out, err = import_text(gate, program, name, text)
        check(f"{name}: it is imported", code in (0, 1), err)
        line = re.search(r"of (\d+) entries: (\d+) kept, (\d+) made stricter or narrower, (\d+) left out", err)
        files, entries, kept, changed, left = figures.get(program, (0, 0, 0, 0, 0))
        numbers = [int(each) for each in line.groups()] if line else [0, 0, 0, 0]
        check(f"{name}: each entry has its line", numbers[0] == sum(numbers[1:]), numbers)
        if program == "claude":  # written by people, and what was saved by a yes
            kinds.setdefault(name.split("-")[1], []).append((numbers[1], numbers[0]))
        figures[program] = (files + 1, entries + numbers[0], kept + numbers[1], changed + numbers[2], left + numbers[3])
    for program, (files, entries, kept, changed, left) in figures.items():
        print(f"{program}: {files} files, {entries} entries, {100 * kept / entries:.1f} % kept exactly, {changed} changed, {left} left out")
        if program == "claude":
            for kind, numbers in sorted(kinds.items()):
                print(f"    {kind}: {len(numbers)} files, {sum(all for _, all in numbers)} entries, "
                      f"{100 * sum(kept for kept, _ in numbers) / sum(all for _, all in numbers):.1f} % kept exactly")
        # What people wrote, of Claude Code; of what was saved by a yes the figure is printed.
        exact = [sum(each) for each in zip(*kinds["project"])] if program == "claude" else [kept, entries]
        check(f"{program}: the share kept exactly", program in ("gemini", "opencode") or exact[0] >= 0.95 * exact[1], exact)
        check(f"{program}: enough files", files >= {"claude": 20, "codex": 10, "gemini": 1, "opencode": 10}[program], files)


def main():
    parser = argparse.ArgumentParser(description="checks `callgate import`")
    parser.add_argument("--callgate", default="build/callgate")
    parser.add_argument("--random", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print the table as it would be")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="import-") as root:
        gate = Gate(options.callgate, os.path.realpath(root))
        table(gate, options.show)
        if options.show:
            return 0
        refusals(gate)
        random_lists(gate, random.Random(options.seed), options.random)
        random_others(gate, random.Random(options.seed), options.random)
        other_forms(gate)
        public(gate)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
