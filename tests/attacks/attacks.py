#!/usr/bin/env python3
"""attacks.py CALLGATE [--only WORD] [--cache FOLDER]: calls whose arguments mean something that a gate could fail to read,
against the real servers that they were found on. Each is made twice: bare, where it must do its harm, for else it proves
nothing; and behind the gate, where it must be denied and do none. Installs the servers from npm, PyPI and Go's proxy, so it is
a part of make soak only; what cannot be had is told as skipped. Ends with 'N passed, N failed, N skipped'."""
import argparse
import contextlib
import json
import os
import pwd
import queue
import re
import shutil
import subprocess
import sys
import tempfile

from servers import Client, Servers

SECRET = "c2VjcmV0-of-the-house"
options = argparse.ArgumentParser()
options.add_argument("callgate")
options.add_argument("--only", default="")
options.add_argument("--cache", help="a folder for the servers, kept")
args = options.parse_args()
CALLGATE = os.path.abspath(args.callgate)


class Place:
    """A home, a folder of work, and in it what nobody may read: work/secret/, every .env, and what an attack adds."""

    def __init__(self, top):
        self.top, self.home, self.work = top, top + "/home", top + "/home/work"
        self.secret = self.work + "/secret"
        os.makedirs(self.secret)
        self.write("secret/s.txt", SECRET)
        self.write("open.txt", "open")
        self.rules = []
        self.deny("secret", pathPrefix=self.secret)
        self.deny("env", pathComponent=".env")
        self.environment = {**os.environ, "HOME": self.home, "MCP_TRANSPORT_TYPE": "stdio", "MCP_LOG_LEVEL": "error",
                            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
                            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org", "DISABLE_TELEMETRY": "1"}
        self.client, self.argv, self.gated = None, None, False

    def write(self, name, text):
        os.makedirs(os.path.dirname(os.path.join(self.work, name)), exist_ok=True)
        with open(os.path.join(self.work, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with contextlib.suppress(OSError, UnicodeDecodeError), open(os.path.join(self.work, name), encoding="utf-8") as file:
            return file.read()
        return ""

    def deny(self, name, **match):
        self.rules.append({"id": name, "effect": "deny", "reason": "for nobody", "match": match})

    def outside(self, command):
        return subprocess.run(["sh", "-ec", command], cwd=self.work, env=self.environment, check=True, capture_output=True, text=True).stdout

    def start(self, *words):
        """The server, with words of its own; what the attack does next goes through the gate if this is the gated turn."""
        gate = []
        if self.gated:
            with open(self.top + "/policy.json", "w", encoding="utf-8") as file:
                json.dump(self.rules, file)
            os.makedirs(self.top + "/state", 0o700)
            gate = [CALLGATE, "run", "--policy", self.top + "/policy.json", "--state", self.top + "/state", "--"]
        with open(self.top + "/log", "w", encoding="utf-8") as log:
            self.client = Client([*self.argv, *words], self.work, self.environment, log, gate)
        return self.client


def text_of(answer):
    return json.dumps(answer, ensure_ascii=False)


# ---- The attacks: each returns what was answered to the call that matters, and whether harm was done ----

ATTACKS = []


def attack(server, name, cases=(None,)):
    def note(function):
        for case in cases:
            ATTACKS.append((server, name if case is None else f"{name}: {case!r}", function, case))
        return function
    return note


@attack("excel", "import_csv of a denied csv_path")
def import_csv(place, _):
    place.write("secret/s.csv", SECRET)
    client = place.start()
    client.call("create_workbook", path=place.work + "/a.xlsx", sheets=["S"])
    answer = client.call("import_csv", path=place.work + "/a.xlsx", csv_path=place.secret + "/s.csv", sheet="S")
    seen = client.call("read_range", path=place.work + "/a.xlsx", sheet="S", range="A1:A1")
    return answer, SECRET in text_of(seen)


@attack("excel", "overwrite", ["true", "yes", 1, "on", "1", "TRUE"])
def overwrite(place, value):
    place.deny("keep", tool="create_workbook", argEquals={"overwrite": True})
    client = place.start()
    client.call("create_workbook", path=place.work + "/a.xlsx", sheets=["Mine"])
    answer = client.call("create_workbook", path=place.work + "/a.xlsx", sheets=["Theirs"], overwrite=value)
    return answer, "Theirs" in text_of(client.call("describe_workbook", path=place.work + "/a.xlsx"))


@attack("excel", "~user/")
def tilde_user(place, _):
    user = pwd.getpwuid(os.getuid())
    with tempfile.TemporaryDirectory(dir=user.pw_dir, prefix=".callgate-attack-") as folder:
        with open(folder + "/s.csv", "w", encoding="utf-8") as file:
            file.write(SECRET)
        place.deny("theirs", pathPrefix=folder)
        client = place.start()
        client.call("create_workbook", path=place.work + "/a.xlsx", sheets=["S"])
        answer = client.call("import_csv", path=place.work + "/a.xlsx", sheet="S",
                             csv_path=f"~{user.pw_name}/{os.path.basename(folder)}/s.csv")
        return answer, SECRET in text_of(client.call("read_range", path=place.work + "/a.xlsx", sheet="S", range="A1:A1"))


@attack("word", "copy_document of a denied source_filename")
def copy_document(place, _):
    place.start().call("create_document", filename=place.work + "/made.docx", title="t")
    os.rename(place.work + "/made.docx", place.secret + "/s.docx")
    answer = place.client.call("copy_document", source_filename=place.secret + "/s.docx", destination_filename=place.work + "/c.docx")
    return answer, os.path.exists(place.work + "/c.docx")


@attack("cyanheads-git", "git_blame: a path and a filePath below it")
def blame(place, _):
    place.outside("git init -q . && git add -A && git commit -qm one")
    answer = place.start().call("git_blame", path=place.work, filePath="secret/s.txt")
    return answer, SECRET in text_of(answer)


@attack("commander", "start_search over a directory above")
def search(place, _):
    client = place.start()
    answer = client.call("start_search", path=place.work, pattern="c2VjcmV0", searchType="content")
    return answer, SECRET in text_of(answer) or "secret/s.txt" in text_of(answer)


@attack("commander", "a decoy path beside a command")
def decoy(place, _):
    client = place.start()
    answer = client.call("start_process", command=f"cat {place.secret}/s.txt", path=place.work + "/open.txt", timeout_ms=3000)
    number = re.search(r"PID (\d+)", text_of(answer))
    return answer, SECRET in text_of(answer) or (number and SECRET in text_of(client.call("read_process_output", pid=int(number[1]))))


@attack("git", "git_add of a pathspec or a folder", [":(top)secret/s.txt", ":/secret", ":/", ":!open.txt", ":(icase)SECRET/S.TXT", ".", "*", "secre?/s.txt"])
def git_add(place, file):
    place.outside("git init -q .")
    answer = place.start().call("git_add", repo_path=place.work, files=[file])
    return answer, "secret/s.txt" in place.outside("git ls-files --cached")


@attack("cyanheads-git", "git_add of the top of the repository, from a folder of it", [":(top)secret/s.txt", ":/"])
def git_add_top(place, file):
    place.write("sub/a", "open")
    place.outside("git init -q .")
    answer = place.start().call("git_add", path=place.work + "/sub", paths=[file])
    return answer, "secret/s.txt" in place.outside("git ls-files --cached")


@attack("filesystem", "a Kelvin sign for a K")
def kelvin(place, _):
    place.write("Keys/s.txt", SECRET)
    place.deny("keys", pathPrefix=place.work + "/Keys")
    answer = place.start(place.work).call("read_text_file", path=place.work + "/\u212aeys/s.txt")
    return answer, SECRET in text_of(answer)


@attack("filesystem", "moving a directory above")
def move_above(place, _):
    place.write("box/secret/s.txt", SECRET)
    place.deny("box", pathPrefix=place.work + "/box/secret")
    answer = place.start(place.work).call("move_file", source=place.work + "/box", destination=place.work + "/moved")
    return answer, SECRET in place.read("moved/secret/s.txt")


@attack("filesystem", "a directory made after the load and moved by its parent")
def made_later(place, _):
    place.deny("later", pathPrefix=place.work + "/later/secret")
    client = place.start(place.work)
    client.call("list_directory", path=place.work)
    place.write("later/secret/s.txt", SECRET)
    answer = client.call("move_file", source=place.work + "/later", destination=place.work + "/moved")
    return answer, SECRET in place.read("moved/secret/s.txt")


@attack("filesystem", "a file saved anew and moved")
def saved_anew(place, _):
    place.write("notes.txt", "old")
    os.link(place.work + "/notes.txt", place.work + "/other-name.txt")
    place.deny("notes", pathPrefix=place.work + "/notes.txt")
    client = place.start(place.work)
    client.call("list_directory", path=place.work)
    place.write("notes.new", SECRET)
    os.rename(place.work + "/notes.new", place.work + "/notes.txt")
    answer = client.call("move_file", source=place.work + "/notes.txt", destination=place.work + "/moved.txt")
    return answer, SECRET in place.read("moved.txt")


@attack("filesystem", "a name relative to the server's ~/work")
def relative_to_tilde(place, _):
    os.makedirs(place.top + "/elsewhere")
    client = place.start("~/work")
    answer = client.call("read_text_file", path="~/work/secret/s.txt")
    return answer, SECRET in text_of(answer)


@attack("filesystem", "another HOME")
def other_home(place, _):
    os.makedirs(place.top + "/other/secret")
    with open(place.top + "/other/secret/s.txt", "w", encoding="utf-8") as file:
        file.write(SECRET)
    place.environment["HOME"] = place.top + "/other"
    place.deny("other", pathPrefix=place.top + "/other/secret")
    answer = place.start(place.top + "/other").call("read_text_file", path="~/secret/s.txt")
    return answer, SECRET in text_of(answer)


@attack("markitdown", "file: behind white space", ["\u00a0", "\u2003", " \t", "\u3000"])
def markitdown(place, space):
    answer = place.start().call("convert_to_markdown", uri=f"{space}file://{place.secret}/s.txt")
    return answer, SECRET in text_of(answer)


@attack("go", "a name of an argument in another case", ["Source", "SOURCE", "\u017fource"])
def other_case(place, name):
    place.deny("named", argEquals={"source": "open.txt"})
    place.write("open.txt", SECRET)
    answer = place.start().call("read", **{name: "open.txt"})
    return answer, SECRET in text_of(answer)


@attack("sdk", "JSON text of an object")
def json_text(place, _):
    answer = place.start().call("read", request=json.dumps({"path": place.secret + "/s.txt"}))
    return answer, SECRET in text_of(answer)


@attack("sdk", "a name relative to a folder among the server's arguments", ["--root={}", "file://{}"])
def relative_to_word(place, word):
    os.makedirs(place.top + "/data/private")
    with open(place.top + "/data/private/s.txt", "w", encoding="utf-8") as file:
        file.write(SECRET)
    place.deny("private", pathPrefix=place.top + "/data/private")
    answer = place.start(word.format(place.top + "/data")).call("read_relative", name="private/s.txt")
    return answer, SECRET in text_of(answer)


# ---- Judging ----

def turn(argv, function, case, gated):
    with tempfile.TemporaryDirectory(prefix="callgate-attack-") as top:
        place = Place(os.path.realpath(top))
        place.argv, place.gated = argv, gated
        try:
            answer, harm = function(place, case)
        except (EOFError, OSError, queue.Empty, subprocess.CalledProcessError) as error:
            with open(place.top + "/log", encoding="utf-8", errors="replace") as log:
                return {"broken": f"{error!r}; its standard error: {log.read()[-300:]}"}, False
        finally:
            if place.client is not None:
                place.client.close()
    return answer, harm


def main():
    count = {"passed": 0, "failed": 0, "skipped": 0}

    def tell(result, name, why=""):
        count[result] += 1
        print(f"{result}: {name}{': ' + why if why else ''}", flush=True)

    folder = args.cache or tempfile.mkdtemp(prefix="callgate-servers-")
    try:
        servers = Servers(os.path.abspath(folder))
        for server, name, function, case in ATTACKS:
            name = f"{server}: {name}"
            if args.only not in name:
                continue
            if server in servers.missing:
                tell("skipped", name, servers.missing[server])
                continue
            bare, harm = turn(servers.commands[server], function, case, False)
            if not harm:
                tell("skipped", name, "this server does no harm here even without the gate: " + text_of(bare)[:300])
                continue
            answer, harm = turn(servers.commands[server], function, case, True)
            denied = "denied" in text_of(answer)
            tell("passed" if denied and not harm else "failed", name, "" if denied and not harm else text_of(answer)[:500])
    finally:
        if not args.cache:
            shutil.rmtree(folder, ignore_errors=True)
    print(", ".join(f"{number} {word}" for word, number in count.items()))
    return 1 if count["failed"] else 0 if count["passed"] else 77


sys.exit(main())
