#!/usr/bin/env python3
"""Runs the case tables of a folder against a program that has callgate's command line, or against the oracle.

usage: run.py [--callgate PROGRAM | --oracle] [--only WORD] [FOLDER ...]

Without FOLDER, the tables beside this script. README.md there says what a line holds. Prints each case that differs,
what it wants and what came, and last `N passed, N failed`. Exit 1 if any failed, 2 if the tables cannot be run.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
SPEC_WARNINGS = ("shadow", "broad", "missing-prefix", "flattened-name", "session-wide", "runs-anything")


def placed(value, root):
    """The value with $ROOT replaced in every string, names of members included."""
    if isinstance(value, str):
        return value.replace("$ROOT", root)
    if isinstance(value, list):
        return [placed(item, root) for item in value]
    if isinstance(value, dict):
        return {placed(key, root): placed(item, root) for key, item in value.items()}
    return value


def lay_out(fs, root):
    """Builds what `fs` names under root; the targets of symbolic links are taken as written."""
    def at(name):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    os.makedirs(os.path.join(root, "home"), exist_ok=True)
    for name in fs.get("dirs", []):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    for name in fs.get("files", []):
        with open(at(name), "w", encoding="utf-8") as file:
            file.write(name)
    for name, target in fs.get("links", {}).items():
        os.symlink(target, at(name))
    for name, file in fs.get("hardlinks", {}).items():
        os.link(os.path.join(root, file), at(name))


class Program:
    """A command line to hold a case against: a built callgate, or anything that answers as it does."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        if not os.access(self.path, os.X_OK):
            raise SystemExit(f"run.py: {path} is no program: build it first, or name one with --callgate")

    def run(self, arguments, cwd, text=b""):
        done = subprocess.run([self.path] + arguments, input=text, capture_output=True, cwd=cwd, timeout=60,
                              env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"})
        return done.returncode, done.stdout, done.stderr


class Oracle:
    """The same through the package tests/oracle, without a process for each case."""

    def run(self, arguments, cwd, text=b""):
        from oracle import cli
        return cli.in_process(arguments, cwd, text)


class Case:
    def __init__(self, kind, line, root, aside):
        self.kind, self.case, self.aside = kind, placed(line, root), aside
        self.cwd = self.case.get("cwd", root)
        self.home = self.case.get("home", os.path.join(root, "home"))

    def write(self, name, text):
        path = os.path.join(self.aside, name)
        with open(path, "wb") as file:
            # A lone surrogate in a table stands for the bytes that UTF-8 does not have for it.
            file.write(text.encode("utf-8", "surrogatepass"))
        return path

    def policies(self):
        case = self.case
        if "policies" in case:
            documents = case["policies"]
        else:
            documents = [(case.get("tier"), case["policy"] if "policy" in case else case["text"])]
        words = []
        for index, (tier, document) in enumerate(documents):
            text = document if isinstance(document, str) else json.dumps(document)
            path = self.write(f"policy{index}.json", text)
            words += ["--policy", f"{tier}={path}" if tier else path]
        return words

    def expected(self):
        return self.case[{"evaluate": "want", "load": "errors", "lint": "warnings", "reload": "violations"}[self.kind]]

    def actual(self, program):
        code, out, err = getattr(self, self.kind)(program)
        try:
            return self.picked(code, json.loads(out))
        except (ValueError, KeyError, TypeError):
            return {"exit": code, "stdout": out.decode("utf-8", "replace"), "stderr": err.decode("utf-8", "replace")}

    def evaluate(self, program):
        case = self.case
        words = ["eval"] + self.policies() + ["--now", str(case.get("now", 0)), "--home", self.home]
        for root in case.get("roots", []):
            words += ["--root", root]
        if "approvals" in case:
            words += ["--approvals", self.write("approvals.json", json.dumps(case["approvals"]))]
        text = case["callText"] if "callText" in case else json.dumps(case["call"])
        return program.run(words + ["-"], self.cwd, text.encode("utf-8", "surrogatepass") + b"\n")

    def load(self, program):
        return program.run(["check", "--format", "json", "--home", self.home] + self.policies(), self.cwd)

    lint = load

    def reload(self, program):
        pair = [self.write(key + ".json", json.dumps(self.case[key])) for key in ("prev", "next")]
        return program.run(["diff", "--format", "json", "--home", self.home] + pair, self.cwd)

    def picked(self, code, got):
        """Of the answer, what the case speaks of; the exit status must fit it."""
        want = self.expected()
        if self.kind == "evaluate":
            reason = want.get("reason", "")
            if reason.endswith(": ") and got.get("reason", "").startswith(reason):
                got["reason"] = reason
            return got if code == 0 else {"exit": code, "decision": got}
        if self.kind == "load":
            errors = got["errors"]
            if code != (1 if want else 0):
                return {"exit": code, "errors": errors}
            if len(errors) != len(want):
                return [{key: each.get(key) for key in ("code", "pointer", "line", "column")} for each in errors]
            return [{key: each.get(key) for key in wanted} for each, wanted in zip(errors, want)]
        if self.kind == "lint":
            keys, found = ("kind", "later", "earlier", "crossTier", "rule"), got["warnings"]
            found = [each for each in found if each["kind"] in SPEC_WARNINGS]
        else:
            keys, found = ("newRule", "existingDeny"), got["violations"]
        return [{key: each[key] for key in keys if each.get(key) is not None} for each in found]


def unordered(kind, value):
    return sorted(value, key=lambda each: json.dumps(each, sort_keys=True)) \
        if kind in ("lint", "reload") and isinstance(value, list) else value


def run_one(program, kind, line):
    """None, or (expected, actual)."""
    with tempfile.TemporaryDirectory(prefix="case-") as root, tempfile.TemporaryDirectory(prefix="aside-") as aside:
        root = os.path.realpath(root)
        case = Case(kind, line, root, aside)
        lay_out(case.case.get("fs", {}), root)
        want, got = unordered(kind, case.expected()), unordered(kind, case.actual(program))
        if want == got:
            return None
        return tuple(json.dumps(each, ensure_ascii=False, sort_keys=True).replace(root, "$ROOT") for each in (want, got))


def main():
    parser = argparse.ArgumentParser(description="runs case tables", usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--callgate", default="build/callgate")
    parser.add_argument("--oracle", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("folders", nargs="*", default=[HERE])
    options = parser.parse_args()
    program = Oracle() if options.oracle else Program(options.callgate)
    passed = failed = 0
    for folder in options.folders:
        for kind in ("evaluate", "load", "lint", "reload"):
            path = os.path.join(folder, kind + ".jsonl")
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as lines:
                for number, text in enumerate(lines, 1):
                    line = json.loads(text)
                    if options.only not in line["name"]:
                        continue
                    difference = run_one(program, kind, line)
                    if difference is None:
                        passed += 1
                        continue
                    failed += 1
                    print(f"{kind}.jsonl:{number}: {line['name']}\n    want {difference[0]}\n    got  {difference[1]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
