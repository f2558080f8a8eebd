"""What Claude Code's permission lists say of a call, as far as its documentation does: a small reference.

Deny before ask before allow; in each, whether any rule matches. Paths have no links in them here. Where the
documentation leaves a choice open, the one that denies more is taken for deny and ask, the one that allows less for allow.
"""
import fnmatch
import re

READ = ("Read", "Grep", "Glob", "LS", "NotebookRead")
EDIT = ("Edit", "Write", "MultiEdit", "NotebookEdit")
PARAMETERS = {("Agent", "model"), ("Agent", "isolation"), ("Bash", "run_in_background")}


class Place:
    """Where a settings file lies: what its patterns start from."""

    def __init__(self, source, working, home):
        self.source, self.working, self.home = source, working, home


def split(entry):
    found = re.fullmatch(r"([^(]+)\((.*)\)", entry, re.S)
    return found.groups() if found else (entry, None)


# --- paths

def component_regex(text):
    out, at = "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            at += 1
            out += re.escape(text[at])
        elif char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        else:
            out += re.escape(char)
        at += 1
    return out


def path_matches(pattern, path, place, which):
    """Whether a pattern (without `!`) covers an absolute path."""
    for start, base in (("//", ""), ("~/", place.home), ("/", place.source), ("./", place.working), ("", place.working)):
        if pattern.startswith(start):
            break
    parts = [part for part in pattern[len(start):].split("/") if part not in ("", ".")]
    below = bool(parts) and parts[-1] == "**"
    while parts and parts[-1] == "**":
        parts.pop()
    if not (path == base or path.startswith(base + "/")):
        return False
    if not parts:
        return True
    # A name alone is looked for at any depth; a directory's as an allow only at the start.
    floating = base == place.working and start in ("./", "") and len(parts) == 1 and not (below and which == "allow")
    regex = "(?:[^/]+/)*" if floating else ""
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        regex += "(?:[^/]+/)*" if part == "**" else component_regex(part) + ("" if last else "/")
    return re.match(regex + "(?:/.*)?$", path[len(base) + 1:], re.S) is not None


# --- commands

OPERATORS = re.compile(r"&&|\|\||\|&|[;|&\n]")
WRAPPERS = ("timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin", "xargs")


def commands(text, all_assignments):
    """The whole text and each command in it, without what stands around it."""
    out = [text.strip()]
    for part in OPERATORS.split(re.sub(r"\$\(|`|\)|<\(|[(]", ";", text)):
        part = re.sub(r"\s*(?:[0-9]*>>?|<)\s*\S+", "", part).strip()
        out.append(part)
        words = part.split()
        while words:
            if words[0] in WRAPPERS:
                words = words[2:] if words[0] == "timeout" else words[1:]
            elif all_assignments and re.match(r"[A-Za-z_]\w*=", words[0]):
                words = words[1:]
            else:
                break
            out.append(" ".join(words))
    return [each for each in out if each]


def command_matches(pattern, command):
    if pattern.endswith(":*"):
        pattern = pattern[:-2] + " *"
    if "*" not in pattern:
        return command == pattern
    if OPERATORS.search(command) and not OPERATORS.search(pattern):
        # Claude Code lets a deny or an ask reach over operators, by comparing the whole text as well. That is not carried over,
        # and said so (callgate(1), the report): the rule that would be left denies every command that begins so.
        return False
    regex = ".*".join(re.escape(part) for part in pattern.split("*"))
    if pattern.endswith(" *") and pattern.count("*") == 1:
        regex = regex[:-len(re.escape(" ") + ".*")] + "(?: .*)?"
    return re.fullmatch(regex, command, re.S) is not None


READING, WRITING = ("cat", "head", "tail", "sed", "grep"), ("sed", "tee")


def files_of_command(text, working):
    """Files that a command is known to touch, as (the tool that would do it, path)."""
    out = []
    for part in OPERATORS.split(text):
        out += [("Edit" if sign == ">" else "Read", path) for sign, path in re.findall(r"([<>])\s*(\S+)", part)]
        words = re.sub(r"[0-9]*[<>]+\s*\S+", "", part).split()
        while words and (words[0] in WRAPPERS or "=" in words[0]):
            words = words[2:] if words[0] == "timeout" else words[1:]
        for tool, programs in (("Read", READING), ("Edit", WRITING)):
            if words and words[0] in programs:
                out += [(tool, word) for word in words[1:] if not word.startswith("-")]
    return [(tool, each if each.startswith("/") else working + "/" + each) for tool, each in out]


# --- rules

class Lists:
    def __init__(self, lists, place):
        self.lists, self.place = lists, place

    def flattened(self, call):
        return f"mcp__{call['server']}__{call['tool']}" if "server" in call else call["tool"]

    def target(self, call):
        """The path of a file tool's call."""
        given = call.get("input", {})
        path = given.get("notebook_path") or given.get("file_path") or given.get("path")
        return path if path and path.startswith("/") else (self.place.working + "/" + path if path else self.place.working)

    def rule_matches(self, which, entry, call):
        name, spec = split(entry)
        flat, given = self.flattened(call), call.get("input", {})
        if name.startswith("mcp__"):
            if spec is not None:
                return False
            if "*" in name and which == "allow" and not re.match(r"mcp__[^*]+__", name):
                return False
            return "server" in call and (fnmatch.fnmatchcase(flat, name) or name == "mcp__" + call["server"])
        if "*" in name:
            return which != "allow" and fnmatch.fnmatchcase(flat, name)
        if spec is None or (spec == "*" and name == "Bash"):
            return flat == name
        if name in ("Read", "Edit"):
            tools = EDIT if name == "Edit" else READ + (("Edit", "Write", "MultiEdit") if which == "deny" else ())
            return flat in tools and not spec.startswith("!") and path_matches(spec, self.target(call), self.place, which)
        if flat != name:
            return False
        if name == "WebFetch":
            host = re.match(r"https?://([^/:?#]+)", given.get("url", ""))
            return spec.startswith("domain:") and bool(host) and fnmatch.fnmatchcase(host.group(1), spec[7:])
        key, colon, value = spec.partition(":")
        if which != "allow" and colon and (name, key) in PARAMETERS:
            return key in given and str(given[key]).lower() == value.lower()
        if name == "Bash":
            return any(command_matches(spec, each) for each in commands(given.get("command", ""), which != "allow"))
        if name in ("Agent", "Skill"):
            return given.get({"Agent": "subagent_type", "Skill": "skill"}[name]) == spec
        return False

    def any_matches(self, which, call):
        if which == "allow" and call["tool"] == "Bash" and "server" not in call:
            return self.allows_command(call)
        hit = False
        for entry in self.lists.get(which, []):
            name, spec = split(entry)
            if name in ("Read", "Edit") and spec and spec.startswith("!") and which != "allow":
                # Takes out what a relative rule before it put in; another kind of rule puts it in all the same.
                if hit == "relative" and path_matches("./" + spec[1:].lstrip("~/"), self.target(call), self.place, which):
                    hit = False
            elif hit is not True and self.rule_matches(which, entry, call):
                hit = "relative" if name in ("Read", "Edit") and spec and spec[0] not in "/~" else True
        return bool(hit)

    def allows_command(self, call):
        """Each command of a compound one needs a rule."""
        text = call.get("input", {}).get("command", "")
        entries = self.lists.get("allow", [])
        if any(self.rule_matches("allow", each, call) for each in entries if split(each)[1] in (None, "*")):
            return True
        parts = [each.strip() for each in OPERATORS.split(text)]
        return bool(text) and not re.search(r"[`$<>()]", text) and all(
            part and any(split(each)[0] == "Bash" and split(each)[1] is not None and
                         any(command_matches(split(each)[1], one) for one in commands(part, False)) for each in entries)
            for part in parts)

    def decision(self, call):
        """deny, ask, allow, or none: no rule matches."""
        for which in ("deny", "ask", "allow"):
            if self.any_matches(which, call):
                return which
        return "none"

    def files_decision(self, call):
        """What the rules for files say of the files that a shell command touches: deny, ask, or none."""
        if call["tool"] != "Bash" or "server" in call:
            return "none"
        for which in ("deny", "ask"):
            for tool, path in files_of_command(call.get("input", {}).get("command", ""), self.place.working):
                if self.any_matches(which, {"tool": tool, "input": {"file_path": path}}):
                    return which
        return "none"
