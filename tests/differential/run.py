#!/usr/bin/env python3
"""Holds the program against the slow evaluator of tests/oracle on random input.

usage: run.py [--callgate PROGRAM | --library libcallgate.so] [--seed N] [--calls N] [--documents N] [--reloads N]
              [--only KIND/INDEX]

Decisions are compared whole, `check`'s errors with their places and order, its warnings of the specification's kinds,
`diff`'s violations and its classes of calls that change; with the library, in place of these, decisions after files have changed since the load. On a
difference prints a case as small as it gets, in the form of tests/cases, and how to get back to where it was found.
The last line is `N passed, N failed`. Exit 1 if any failed.
"""
import argparse
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from differential import batches, classes, documents, library, moved  # noqa: E402

MOST_SHOWN = 8


def program(options):
    if options.library:
        return library.Library(options.library)
    return batches.tables.Program(options.callgate)


class Run:
    def __init__(self, options):
        self.options, self.program = options, program(options)
        self.passed = self.failed = 0

    def chosen(self, kind, count):
        """(index, its random source) for each item of a kind; each can be had alone."""
        for index in range(count):
            if self.options.only in ("", f"{kind}/{index}") and self.failed < MOST_SHOWN:
                yield index, random.Random(f"{self.options.seed}/{kind}/{index}")

    def report(self, kind, index, line, want, got):
        self.failed += 1
        print(f"{kind}/{index} differs; to see it alone: --seed {self.options.seed} --only {kind}/{index}\n"
              f"    case {line}\n    want {want}\n    got  {got}", flush=True)

    def calls(self):
        for index, rng in self.chosen("calls", -(-self.options.calls // batches.CALLS_IN_A_BATCH)):
            batch = batches.make(rng)
            found, agreed = batches.differences(batch, self.program)
            self.passed += agreed
            for text, want, got in found[:1]:
                if text is None:
                    line = json.dumps(dict(batch, calls=len(batch["calls"])))[:1500]
                    self.report("calls", index, line, str(want)[:200], str(got)[:200])
                    continue
                small = batches.shrink(batch, text, self.program)
                line, got = batches.as_line(small, self.program)
                self.report("calls", index, line, json.dumps(json.loads(line)["want"]), got)
            self.failed += max(0, len(found) - 1)

    def documents(self):
        for index, rng in self.chosen("documents", self.options.documents):
            case = documents.make(rng)
            if documents.differs(case, self.program) is None:
                self.passed += 1
                continue
            small = documents.shrink(case, self.program)
            want, got = documents.differs(small, self.program)
            self.report("documents", index, json.dumps(small), want, got)

    def moved(self):
        """A quarter as many: with files that change between load and call."""
        for index, rng in self.chosen("moved", self.options.calls // batches.CALLS_IN_A_BATCH // 4):
            batch = moved.make(rng)
            found, agreed = moved.differences(batch, self.program)
            self.passed += agreed
            for text, want, got in found[:1]:
                small = batch if text is None else moved.shrink(batch, text, self.program)
                self.report("moved", index, json.dumps(small)[:4000], want, got)
            self.failed += max(0, len(found) - 1)

    def reloads(self):
        for index, rng in self.chosen("reloads", self.options.reloads):
            case = documents.make_pair(rng)
            case["calls"] = classes.make_calls(rng, case)
            for differs in (documents.pair_differs, classes.differs):
                if differs(case, self.program) is None:
                    self.passed += 1
                    continue
                small = documents.shrink_pair(case, self.program, differs)
                want, got = differs(small, self.program)
                self.report("reloads", index, json.dumps(small), want, got)


def main():
    parser = argparse.ArgumentParser(description="the program against the slow evaluator, on random input")
    parser.add_argument("--callgate", default="build/callgate")
    parser.add_argument("--library", help="the shared library, in this process, in place of the program")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10 ** 9))
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--reloads", type=int, default=200)
    parser.add_argument("--only", default="")
    run = Run(parser.parse_args())
    print(f"seed {run.options.seed}", flush=True)
    run.calls()
    run.documents()
    if run.options.library:
        run.moved()
    else:
        run.reloads()
    print(f"{run.passed} passed, {run.failed} failed")
    return 1 if run.failed or not run.passed else 0


if __name__ == "__main__":
    sys.exit(main())
