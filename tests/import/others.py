"""What Codex's rules, Gemini CLI's policy and opencode's permission block say of a call: small references, and random ones.

Each class has `text` (the file), `decision(call)` (deny, ask, allow or none: no rule speaks) and `calls(rng)`. Commands are
compared as words where the program compares words, as text where it compares text. Where the programs' documentation leaves a
choice open, the stricter answer is taken.
"""
import json
import re
import shlex

STRICT = {"allow": 0, "none": 1, "ask": 2, "deny": 3}
OPERATORS = re.compile(r"&&|\|\||[;|&\n]")


def strictest(decisions):
    return max(decisions, key=STRICT.get, default="none")


PROGRAMS = (["git", "push"], ["git", "status"], ["git", "push", "-f"], ["git", "log"], ["git"], ["rm"], ["rm", "-rf", "x"], ["npm", "run"],
            ["npm", "run", "test"], ["cat", ".env"], ["ls"], ["cat"], ["a b", "c"], ["make", "*"], ["bash", "-lc"], ["mkdir", "d"], ["x'y", "z"])


def one_command(rng):
    words = list(rng.choice(PROGRAMS)) + [rng.choice(("x", "-f", "a/b", ".env", "/srv/y", "origin", "'q r'", "--all"))
                                          for _ in range(rng.randrange(0, 3))]
    if rng.random() < 0.1:
        words.append(rng.choice(("$X", "$(git push)", "*.c", "> out", "2>&1", "`id`")))
        return " ".join(words[:-1]) + " " + words[-1] if " " not in words[0] and "'" not in words[0] else "ls " + words[-1]
    return " ".join(word if word.startswith("'") else shlex.quote(word) for word in words)


def random_command(rng):
    text = one_command(rng)
    while rng.random() < 0.25:
        text = rng.choice(("{} && {}", "{}; {}", "{} | {}", "{} || {}")).format(text, one_command(rng))
    if rng.random() < 0.06:
        text = rng.choice(("X=1 {}", "sudo {}", "( {} )", "if true; then {}; fi", "sh -c '{}'")).format(text)
    return text


def inner(text):
    """A text in which what stands in parentheses, in a substitution or behind `sh -c` are commands of their own, and an `if`
    is one that no rule names but one for all."""
    text = re.sub(r"sh -c '([^']*)'", r"\1", text.replace("2>&1", ""))
    return re.sub(r"\$\(|`|[()]", ";", re.sub(r"\bif true; then (.*); fi", r"\1; \0", text)).replace("X=1 ", "")


class Codex:
    def __init__(self, rng):
        self.rules = []
        for _ in range(rng.randrange(1, 5)):
            words = list(rng.choice(PROGRAMS))
            for index in range(len(words)):
                if rng.random() < 0.3:
                    words[index] = [words[index], rng.choice(("log", "rm", "test", "ls", "-r"))]
            self.rules.append((words, rng.choice(("allow", "allow", "prompt", "forbidden", None))))
        self.text = "# rules\n" + "".join(
            f"prefix_rule(\n    pattern = {json.dumps(pattern)},\n" + (f"    decision = '{decision}',\n" if decision else "") +
            f"    justification = \"why\",\n    match = [{json.dumps('git push')}],\n)\n" for pattern, decision in self.rules)
        self.name = "default.rules"

    @staticmethod
    def commands(text):
        """The words of each command, or the whole text as what a shell is told to run."""
        text = re.sub(r"sh -c '([^']*)'", r"\1", text)
        plain = not re.search(r"[$`<>()]|(?<!&)&(?!&)|=", text)
        try:
            parts = [shlex.split(part) for part in OPERATORS.split(text)] if plain else []
        except ValueError:
            parts = []
        if parts and all(parts) and not any(part[0] in ("if", "then", "fi") for part in parts):
            return parts
        # Redirections to nowhere and parentheses make no difference, and `sh -c TEXT` is the text: what runs is the same.
        bare = re.sub(r"^\( (.*) \)$", r"\1", re.sub(r" 2>&1", "", text))
        return Codex.commands(bare) if bare != text else [["bash", "-lc", text]]

    def decision(self, call):
        out = []
        for words in self.commands(call["input"]["command"]):
            hits = [{"allow": "allow", "prompt": "ask", "forbidden": "deny", None: "allow"}[decision] for pattern, decision in self.rules
                    if len(pattern) <= len(words) and all(word in each if isinstance(each, list) else word == each
                                                          for each, word in zip(pattern, words))]
            out.append(strictest(hits) if hits else "none")
        return strictest(out)

    def calls(self, rng):
        return [{"tool": "Bash", "input": {"command": random_command(rng)}} for _ in range(60)]

    def strict_rules(self):
        return any(decision in ("prompt", "forbidden") for _, decision in self.rules)


class Gemini:
    def __init__(self, rng):
        self.rules = []
        for _ in range(rng.randrange(1, 5)):
            rule = {"decision": rng.choice(("allow", "allow", "deny", "ask_user")), "priority": rng.choice((1, 5, 100, 100, 900))}
            pick = rng.random()
            if pick < 0.5:
                rule["toolName"] = "run_shell_command"
                prefixes = [" ".join(words) for words in PROGRAMS if " " not in words[0] and "'" not in words[0] and "*" not in words]
                rule["commandPrefix"] = rng.choice(prefixes) if rng.random() < 0.6 else [rng.choice(prefixes) for _ in range(2)]
            elif pick < 0.58:
                rule["toolName"], rule["commandRegex"] = "run_shell_command", rng.choice(("git (push|log)", "rm .*", "ls"))
            elif pick < 0.66:
                rule["toolName"], rule["argsPattern"] = "read_file", rng.choice(("secret", "a/b"))
            elif pick < 0.8:
                rule["mcpName"] = rng.choice(("s", "t_u"))
                if rng.random() < 0.6:
                    rule["toolName"] = rng.choice(("put", "get_a", "*"))
            else:
                rule["toolName"] = rng.choice(("run_shell_command", "write_file", ["read_file", "write_file"], "*", "mcp_s_put", "mcp_t_u_*", "read_*"))
            if rng.random() < 0.15:
                rule["modes"] = [rng.choice(("yolo", "plan"))]
            self.rules.append(rule)
        self.text = "".join("[[rule]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in rule.items()) for rule in self.rules)
        self.name = "rules.toml"

    @staticmethod
    def names(rule, call):
        tools = rule.get("toolName")
        tools = tools if isinstance(tools, list) else [tools]
        if "mcpName" in rule:
            return call.get("server") == rule["mcpName"] and any(tool in (None, "*", call["tool"]) for tool in tools)
        flat = f"mcp_{call['server']}_{call['tool']}" if "server" in call else call["tool"]
        return any(tool is None or tool == "*" or flat == tool or ("*" in tool and tool != "*" and
                   re.fullmatch(re.escape(tool).replace(r"\*", ".*"), flat)) for tool in tools)

    def one(self, call, command, mode):
        order = sorted(self.rules, key=lambda rule: (-rule["priority"], -STRICT[{"allow": "allow", "deny": "deny", "ask_user": "ask"}[rule["decision"]]]))
        for rule in order:
            if not self.names(rule, call) or ("modes" in rule and mode not in rule["modes"]):
                continue
            if "commandPrefix" in rule:
                prefixes = rule["commandPrefix"] if isinstance(rule["commandPrefix"], list) else [rule["commandPrefix"]]
                if command is None or not any(command == prefix or command.startswith(prefix + " ") for prefix in prefixes):
                    continue
            if "commandRegex" in rule and (command is None or not re.match(rule["commandRegex"], command)):
                continue
            if "argsPattern" in rule and not re.search(rule["argsPattern"], json.dumps(call.get("input", {}))):
                continue
            decision = {"allow": "allow", "deny": "deny", "ask_user": "ask"}[rule["decision"]]
            # There a redirection makes a question of an allow; no rule says so.
            redirects = command is not None and re.search(r"[<>]", command.replace("2>&1", ""))
            return "none" if decision == "allow" and redirects else decision
        return "none"

    def decision(self, call):
        command = call.get("input", {}).get("command")
        if command is None:
            parts = [None]
        else:
            parts = [part.strip() for part in OPERATORS.split(inner(command))]
        return strictest([self.one(call, part, mode) for part in parts if part != "" for mode in ("default", "yolo", "plan")])

    def calls(self, rng):
        out = []
        for _ in range(60):
            pick = rng.random()
            if pick < 0.6:
                out.append({"tool": "run_shell_command", "input": {"command": random_command(rng)}})
            elif pick < 0.8:
                out.append({"server": rng.choice(("s", "t_u", "v")), "tool": rng.choice(("put", "get_a", "x"))})
            else:
                out.append({"tool": rng.choice(("read_file", "write_file", "glob")), "input": {"file_path": rng.choice(("a/b", "secret", "c"))}})
        return out

    def strict_rules(self):
        return any(rule["decision"] != "allow" for rule in self.rules)


class OpenCode:
    FILES = ("cd", "rm", "cp", "mv", "mkdir", "touch", "chmod", "chown", "cat")
    EDIT = ("edit", "write", "patch", "multiedit", "apply_patch")

    def __init__(self, rng):
        effect = lambda: rng.choice(("allow", "allow", "ask", "deny"))
        block = {}
        if rng.random() < 0.3:
            block["*"] = effect()
        if rng.random() < 0.8:
            patterns = ["*", "git *", "git push*", "rm *", "rm -rf *", "ls", "cat *", "npm run test", "git * origin", "* -f", "mkdir *", "g?t log *",
                        "bash -lc *", "git push -f *", "cat .env", "npm run*"]
            block["bash"] = effect() if rng.random() < 0.3 else {rng.choice(patterns): effect() for _ in range(rng.randrange(1, 5))}
        for permission in ("read", "edit", "list"):
            if rng.random() < 0.4:
                patterns = ["*", "*.env", "src/*", "src/**", "*.env.*", "**/secret/*", "a/b", "/srv/*", "~/x/**"]
                block[permission] = effect() if rng.random() < 0.4 else {rng.choice(patterns): effect() for _ in range(rng.randrange(1, 4))}
        if rng.random() < 0.3:
            block["external_directory"] = effect() if rng.random() < 0.5 else {"/srv/**": effect()}
        if rng.random() < 0.3:
            block[rng.choice(("s_*", "s_put", "t_u_*", "webfetch"))] = effect()
        if rng.random() < 0.3:
            block["task"] = {rng.choice(("*", "explore", "ex*")): effect() for _ in range(2)}
        items = list(block.items())
        rng.shuffle(items)
        self.block = dict(items)
        self.text = "// a comment\n" + json.dumps({"permission": self.block, "agent": {"plan": {"permission": {"edit": "deny"}}}}, indent=1)
        self.name = "opencode.json"
        self.rules = [(permission, pattern, action) for permission, value in self.block.items()
                      for pattern, action in (value.items() if isinstance(value, dict) else [("*", value)])]

    def place(self, project, home):
        self.project, self.home = project, home

    @staticmethod
    def matches(text, pattern):
        regex = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
        if pattern.endswith(" *"):
            regex = regex[:-len(r"\ .*")] + "(?: .*)?"
        return re.fullmatch(regex, text, re.S) is not None

    def last(self, permission, text):
        """The last rule that matches; where a wildcard's allow stands behind others, also as if it stood before them."""
        out = []
        low = [rule for rule in self.rules if "*" in rule[0] and rule[2] == "allow"]
        for rules in (self.rules, low + [rule for rule in self.rules if rule not in low]):
            hits = [action for name, pattern, action in rules if self.matches(permission, name) and
                    self.matches(text, self.home + pattern[1:] if pattern.startswith("~/") else pattern)]
            out.append(hits[-1] if hits else "none")
        return strictest(out)

    def outside(self, path):
        if path == self.project or path.startswith(self.project + "/"):
            return "allow"
        found = self.last("external_directory", path.rsplit("/", 1)[0] + "/*")
        specific = any(name == "external_directory" and pattern != "*" and action == found for name, pattern, action in self.rules)
        # What holds for every place outside stays opencode's own to ask where no rule allows.
        return found if specific or found == "allow" else "none"

    def full(self, path):
        return path if path.startswith("/") else f"{self.project}/{path}"

    def decision(self, call):
        given = call.get("input", {})
        if call["tool"] == "bash":
            text = given["command"]
            out = []
            for part in OPERATORS.split(inner(text)):
                part = part.strip()
                out.append(self.last("bash", part) if part else "allow")
                words = part.replace("'", "").split()
                if words and words[0] in self.FILES:
                    out += [self.outside(self.full(word)) for word in words[1:] if not word.startswith("-")]
            return strictest(out)
        flat = f"{call['server']}_{call['tool']}" if "server" in call else call["tool"]
        permission = "edit" if flat in self.EDIT else flat
        if permission in ("read", "edit", "list"):
            path = self.full(given.get("filePath") or given.get("path"))
            relative = path[len(self.project) + 1:] if path.startswith(self.project + "/") else path
            return strictest([self.last(permission, relative), self.last(permission, path) if permission != "edit" else "allow", self.outside(path)])
        return self.last(permission, given.get("subagent_type") or "*")

    def calls(self, rng):
        out = []
        for _ in range(60):
            pick = rng.random()
            path = rng.choice(("a/b", ".env", "src/x", "src", "x.env", "x.env.local", "k/secret/y", "/srv/y", "b.env/z", "src/d/e"))
            if pick < 0.5:
                out.append({"tool": "bash", "input": {"command": random_command(rng)}})
            elif pick < 0.8:
                tool = rng.choice(("read", "edit", "write", "list"))
                # A directory itself cannot be edited.
                out.append({"tool": tool, "input": {"filePath": "src/x" if path == "src" and tool in self.EDIT else path}})
            elif pick < 0.9:
                out.append({"server": rng.choice(("s", "t_u")), "tool": rng.choice(("put", "get"))})
            else:
                out.append(rng.choice(({"tool": "task", "input": {"subagent_type": rng.choice(("explore", "plan"))}}, {"tool": "webfetch"}, {"tool": "todowrite"})))
        return out

    def strict_rules(self):
        return any(action != "allow" for _, _, action in self.rules)
