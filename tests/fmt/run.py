#!/usr/bin/env python3
"""`callgate fmt` on every document of the case tables and on random ones.

usage: run.py [--callgate PROGRAM] [--random N] [--seed N]

A document that loads is laid out: what is printed holds the same (members in any order, rules and every other list in
theirs, numbers with their text), and laying it out again changes nothing. One that does not load is refused. Ends with
the line `N passed, N failed`.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "..", "cases")
sys.path.insert(0, os.path.join(HERE, ".."))

from differential import documents, generate

passed = failed = 0


def check(what, good, *shown):
    global passed, failed
    if good:
        passed += 1
        return
    failed += 1
    print(f"failed: {what}")
    for each in shown:
        print("   ", each if isinstance(each, str) else repr(each))


class Program:
    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __call__(self, *words):
        done = subprocess.run([self.path, *words], capture_output=True, timeout=120)
        return done.returncode, done.stdout, done.stderr


def held(text):
    """What a document holds, whatever its layout: members in any order, numbers as text."""
    def members(pairs):
        return ("object", tuple(sorted(pairs, key=repr)))

    def plain(item):
        return ("array", tuple(plain(each) for each in item)) if isinstance(item, list) else \
            ("object", tuple((key, plain(each)) for key, each in item[1])) if isinstance(item, tuple) and item[0] == "object" else item

    number = lambda text: ("number", text)
    return plain(json.loads(text, object_pairs_hook=members, parse_int=number, parse_float=number))


def table_documents():
    """Every document of the case tables, as text."""
    for name in ("evaluate", "load", "lint", "reload"):
        with open(os.path.join(CASES, name + ".jsonl"), encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                for document in [case[key] for key in ("policy", "text", "prev", "next") if key in case] + \
                        [document for _, document in case.get("policies", [])]:
                    yield document if isinstance(document, str) else json.dumps(document)


def random_documents(rng, count):
    for _ in range(count):
        fs = generate.tree(rng)
        if rng.random() < 0.7:
            document = generate.document(rng, fs, None, "p", most=12)
            for rule in generate.rules_of(document):
                if rng.random() < 0.2:
                    rule["comment"] = rng.choice(("why", "\u00e9 \u202e \U000e0041", "long " * 30, ""))
            yield generate.spell(rng, documents.as_pairs(document), crlf=True)
        else:
            yield documents.document(rng, fs, None, "p")


def whole(program, folder, texts):
    """Lays out all documents at once, then each in place, then asks whether anything is left to do."""
    texts = dict.fromkeys(text.replace("$ROOT", folder) for text in texts)
    loading = []
    for index, text in enumerate(texts):
        path = os.path.join(folder, f"{index}.json")
        with open(path, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        where = ("--cwd", folder, "--home", folder)
        code, out, err = program("fmt", *where, path)
        if code == 2:
            check("what is refused does not load", program("check", *where, "--policy", path)[0] == 1, text, code, err)
            check("a refusal tells the errors only", not out and b"error" in err, text, out, err)
            continue
        loading.append(path)
        check("exit 0 and no word", code == 0 and not err, text, code, err)
        try:
            check("it holds the same", held(text) == held(out), text, out.decode())
        except ValueError as error:
            check(f"it is JSON: {error}", False, text, out.decode("utf-8", "replace"))
        check("lines end well", out.endswith(b"\n") and b" \n" not in out and b"\r" not in out, out)
        with open(path, "wb") as file:
            file.write(out)
    check("there are documents", len(loading) > 20)
    code, out, err = program("fmt", "--check", "--cwd", folder, "--home", folder, *loading)
    check("laying out again changes nothing", code == 0 and not out and not err, code, out, err)


def write_in_place(program, folder, want, other, bad):
    with open(bad, "rb") as file:
        bad_text = file.read()
    link = os.path.join(folder, "link.json")
    os.chmod(other, 0o640)
    os.symlink("other.json", link)
    before = os.stat(other)
    code, out, err = program("fmt", "--write", link, bad)
    check("--write says nothing but errors", code == 2 and not out and err.startswith(bad.encode()), code, out, err)
    with open(other, "rb") as file:
        check("--write writes", file.read() == want)
    after = os.lstat(other)
    check("the link stays, mode and owner too", os.path.islink(link) and
          (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid))
    with open(bad, "rb") as file:
        check("a bad one is left alone", file.read() == bad_text)
    check("no other file is left behind", sorted(os.listdir(folder)) == ["bad.json", "good.json", "link.json", "other.json"])
    check("--write of what needs nothing changes nothing", program("fmt", "--write", other) == (0, b"", b"") and
          os.stat(other).st_ino == after.st_ino)
    check("--check and --write do not go together", program("fmt", "--write", "--check", other)[:2] == (2, b""))


def command_line(program, folder):
    """Refusals and exit codes."""
    def write(name, text):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    good = write("good.json", "[\n  {\"id\": \"a\", \"effect\": \"auto_approve\", \"match\": {\"tool\": \"t\"}}\n]\n")
    other = write("other.json", "[{\"match\":{\"tool\":\"t\"},\"effect\":\"auto_approve\",\"id\":\"a\"}]")
    bad = write("bad.json", "[{\"id\":\"a\",\"effect\":\"deny\",\"match\":{\"tool\":\"t\"}}]")
    with open(good, "rb") as file:
        want = file.read()
    check("a good one stays", program("fmt", good) == (0, want, b""))
    check("another becomes it", program("fmt", other) == (0, want, b""))
    check("several are printed in order", program("fmt", good, other) == (0, want + want, b""))
    check("--check names what differs", program("fmt", "--check", good, other) == (1, other.encode() + b"\n", b""))
    check("--check says nothing of a good one", program("fmt", "--check", good) == (0, b"", b""))
    code, out, err = program("fmt", "--check", other, bad, good)
    check("a bad one is the worst", code == 2 and out == other.encode() + b"\n", code, out)
    check("its errors are told", err.startswith(bad.encode() + b":1:2: error: rule 'a': "), err)
    write_in_place(program, folder, want, other, bad)
    workspace = write("workspace.json", "[{\"id\":\"a\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"t\"}}]")
    check("a file of a tier is judged as such", program("fmt", "workspace=" + workspace)[:2] == (2, b""))
    check("a missing file is told", program("fmt", os.path.join(folder, "none"))[:2] == (2, b""))
    check("no file is wrong usage", program("fmt")[:2] == (2, b""))


def main():
    parser = argparse.ArgumentParser(description="checks `callgate fmt`")
    parser.add_argument("--callgate", default="build/callgate")
    parser.add_argument("--random", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    program = Program(options.callgate)
    rng = random.Random(options.seed)
    for run in (lambda folder: command_line(program, folder), lambda folder: whole(program, folder, table_documents()),
                lambda folder: whole(program, folder, random_documents(rng, options.random))):
        with tempfile.TemporaryDirectory(prefix="fmt-") as folder:
            run(os.path.realpath(folder))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
