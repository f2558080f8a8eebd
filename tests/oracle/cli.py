"""The part of the command line that the case tables call, so that one runner serves the program and this package."""
import json
import os
import pwd
import sys

from . import analysis, document, jsonread, policy, readings

TIERS = ("admin", "user", "workspace")


class Usage(Exception):
    pass


class Session:
    """What a command reads and writes, so that it runs in this process as well as in its own."""

    def __init__(self, cwd, text):
        self.cwd, self.text, self.lines = cwd, text, []

    def answer(self, value):
        self.lines.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))

    def output(self):
        return "".join(line + "\n" for line in self.lines).encode("utf-8")


class Options:
    WITH_VALUE = ("--policy", "--cwd", "--home", "--root", "--now", "--approvals", "--server", "--format")

    def __init__(self, arguments, session):
        self.session = session
        self.given, self.rest = {}, []
        arguments = list(arguments)
        while arguments:
            word = arguments.pop(0)
            if word in self.WITH_VALUE:
                if not arguments:
                    raise Usage(f"{word} needs a value")
                self.given.setdefault(word, []).append(arguments.pop(0))
            elif word.startswith("-") and word != "-":
                raise Usage(f"unknown option {word}")
            else:
                self.rest.append(word)

    def last(self, name, default=None):
        return self.given.get(name, [default])[-1]

    def world(self):
        here = os.fsencode(self.session.cwd)
        absolute = lambda text: os.path.join(here, os.fsencode(text))
        home = self.last("--home") or pwd.getpwuid(os.getuid()).pw_dir
        return readings.World(absolute(self.last("--cwd", "")) if self.last("--cwd") else here, absolute(home),
                              [absolute(root) for root in self.given.get("--root", [])])


def load(specifications, world, how=policy.load):
    files = []
    for word in specifications:
        tier, equals, name = word.partition("=")
        if not equals or tier not in TIERS:
            tier, name = None, word
        with open(name, "rb") as file:
            files.append((tier, file.read(), name))
    return how(files, document.Place(world.cwd, world.home))


def report(loaded):
    """The errors as check prints them, and each one's other places that are as good."""
    out = []
    for name, text, error in loaded.errors:
        line, column = jsonread.line_and_column(text, error.offset)
        out.append({"code": error.code, "file": name, "line": line, "column": column, "pointer": error.pointer,
                    "rule": error.rule, "message": error.code})
    return out


def check(options):
    loaded = load(options.given.get("--policy", []), options.world(), policy.Policy)
    errors = report(loaded)
    found = analysis.warnings(loaded) if not errors else []
    options.session.answer({"ok": not errors, "rules": len(loaded.rules), "errors": errors, "warnings": found})
    return 1 if errors else 0


def approvals(name):
    if name is None:
        return []
    with open(name, "rb") as file:
        return [policy.Approval(each["rule"], each["channel"], each["thread"], each["granted"], each["expires"],
                                each.get("callHash")) for each in json.load(file)]


def evaluate(options):
    world = options.world()
    loaded = load(options.given.get("--policy", []), world)
    if loaded.errors:
        return 2
    granted, now = approvals(options.last("--approvals")), int(options.last("--now", "0"))
    lines = options.session.text().split(b"\n")
    for line in lines:
        if line:
            options.session.answer(loaded.decide_line(line, world, granted, now, options.last("--server")))
    return 0


def diff(options):
    old, new = (load([name], options.world()) for name in options.rest)
    if old.errors or new.errors:
        return 2
    found = [{"newRule": rule, "existingDeny": deny,
              "message": f"new auto_approve rule '{rule}' weakens existing deny '{deny}' — reload refused"}
             for rule, deny in analysis.violations(old, new)]
    options.session.answer({"violations": found, "classes": []})
    return 1 if found else 0


COMMANDS = {"check": check, "eval": evaluate, "diff": diff}


def run(arguments, session):
    """The exit status; the answers are in the session. Raises what `main` turns into a usage error."""
    return COMMANDS[arguments[0]](Options(arguments[1:], session))


def in_process(arguments, cwd, text=b""):
    """(exit status, standard output, standard error), as a process started in `cwd` would give them."""
    session = Session(cwd, lambda: text)
    try:
        return run(arguments, session), session.output(), b""
    except (Usage, IndexError, KeyError, OSError) as error:
        return 2, b"", str(error).encode("utf-8")


def main(arguments):
    session = Session(os.getcwd(), sys.stdin.buffer.read)
    try:
        code = run(arguments, session)
    except (Usage, IndexError, KeyError, OSError) as error:
        print(f"oracle: {error}", file=sys.stderr)
        return 2
    sys.stdout.buffer.write(session.output())
    return code
