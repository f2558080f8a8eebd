#!/usr/bin/env python3
"""docs/hosts: each page's whole configuration is what `callgate wrap` and `callgate hook install` write.

usage: hosts.py [--callgate PROGRAM]

Ends with the line `N passed, N failed`.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = os.path.join(HERE, "..", "..", "docs", "hosts")
NAMED = "/usr/local/bin/callgate"  # the program on the pages
passed = failed = 0


def check(what, good, *shown):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"failed: {what}", *map(str, shown), sep="\n    ")


def configurations(text):
    """[(file below the home directory, its format, its text)] of a page."""
    return re.findall(r"^`~/(\S+?)`[^\n]*:\n\n```(json|toml)\n(.*?)^```$", text, re.M | re.S)


def read(kind, text):
    """A configuration as values. Of TOML as much as the page has: a table's lines of strings and lists."""
    if kind == "json":
        return json.loads(text)
    tables = {}
    for line in text.splitlines():
        if line.startswith("["):
            table = tables.setdefault(line.strip("[]"), {})
        elif "=" in line:
            key, value = line.split("=", 1)
            table[key.strip()] = json.loads(value)
    return tables


def bare(words):
    """A command line without the gate before it."""
    return words[words.index("--") + 1:]


def unwrapped(value):
    """What `callgate wrap` was given, if this is what it wrote."""
    if not isinstance(value, dict):
        return value
    value = {name: unwrapped(each) for name, each in value.items() if name != "hooks"}
    if value.get("command") == NAMED:
        words = bare(value["args"])
        value.update(command=words[0], args=words[1:])
    elif isinstance(value.get("command"), list):
        value["command"] = bare(value["command"])
    return value


def write(kind, value):
    if kind == "json":
        return json.dumps(value)
    return "".join(f"[{table}]\n" + "".join(f"{key} = {json.dumps(each)}\n" for key, each in lines.items())
                   for table, lines in value.items())


def servers(value):
    return {name: each for name, each in value.items() if name not in ("hooks", "version")}


class Home:
    """The home directory of ada, with a policy."""

    def __init__(self, callgate, folder):
        self.callgate, self.folder = callgate, folder
        self.state = os.path.join(folder, ".local/state/callgate")
        os.makedirs(os.path.join(folder, ".config/callgate"))
        os.makedirs(os.path.join(folder, "work"))
        with open(os.path.join(folder, ".config/callgate/policy.json"), "w", encoding="utf-8") as file:
            file.write("[]")

    def run(self, *words):
        done = subprocess.run([self.callgate, *words, "--home", self.folder, "--cwd", os.path.join(self.folder, "work"),
                               "--state", self.state], capture_output=True, text=True)
        check(" ".join(words), done.returncode == 0, done.stdout, done.stderr)

    def as_printed(self, text):
        """With the names of the page: its program, its user, and no --state, which the page's user did not give."""
        for program in (self.callgate, self.callgate + "-static"):
            text = text.replace(json.dumps(program), json.dumps(NAMED)).replace(f'"{program} ', f'"{NAMED} ')
        return text.replace(self.folder, "/home/ada")


def check_servers(home, name, kind, text):
    path = os.path.join(home.folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    wanted = servers(read(kind, text))
    with open(path, "w", encoding="utf-8") as file:
        file.write(write(kind, unwrapped(wanted)).replace("/home/ada", home.folder))
    home.run("wrap", path)
    with open(path, encoding="utf-8") as file:
        wrote = home.as_printed(file.read())
    wrote = re.sub(r'"--state", ?"/home/ada/.local/state/callgate", ?', "", wrote)
    check(f"{name}: the servers as wrap writes them", read(kind, wrote) == wanted, write(kind, wanted), wrote)


def check_hooks(home, name, text):
    with open(os.path.join(home.folder, name), encoding="utf-8") as file:
        wrote = json.loads(home.as_printed(file.read()))
    wanted = json.loads(text)
    check(f"{name}: the hooks as hook install writes them", wrote["hooks"] == wanted["hooks"] and
          wrote.get("version") == wanted.get("version"), json.dumps(wanted, indent=1), json.dumps(wrote, indent=1))


def check_page(callgate, page):
    with open(os.path.join(PAGES, page), encoding="utf-8") as file:
        text = file.read()
    found = configurations(text)
    check(f"{page}: has a whole configuration", found)
    with tempfile.TemporaryDirectory() as folder:
        home = Home(callgate, os.path.realpath(folder))
        for name, kind, block in found:
            if servers(read(kind, block)):
                check_servers(home, name, kind, block)
        host = page[:-3]
        if host == "mcp-clients":
            return
        home.run("hook", "install", host)
        for name, kind, block in found:
            if kind == "json" and "hooks" in json.loads(block):
                check_hooks(home, name, block)
        if host == "opencode":
            with open(os.path.join(home.folder, ".config/opencode/plugins/callgate.js"), encoding="utf-8") as file:
                check("opencode: the plugin runs the hook", f'COMMAND = ["{NAMED}", "hook", "opencode", "--protect", ' in
                      home.as_printed(file.read()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--callgate", default=os.path.join(HERE, "..", "..", "build", "callgate"))
    callgate = os.path.realpath(parser.parse_args().callgate)
    for page in sorted(os.listdir(PAGES)):
        if page != "README.md":
            check_page(callgate, page)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
