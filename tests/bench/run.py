#!/usr/bin/env python3
"""The table of `make bench`: that it can be made, and that it says what was measured. No figure is judged.

usage: run.py BUILD

Runs the measuring programs on small policies, and makes the table and the section of docs/performance.md. Ends with
the line `N passed, N failed`.
"""
import json
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "bench"))
from rows import common, show  # noqa: E402

passed = failed = 0


def check(what, good, *shown):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAIL", what, *shown)


def output(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def programs(build):
    """One JSON object each, that counts the rules it was given."""
    for policy in ("synthetic", "crowded", "paths", "language"):
        code, text = output(os.path.join(build, "bench", "analysis"), policy, "200")
        found = json.loads(text)
        check(f"analysis {policy}", code == 0 and found["policy"] == policy and found["rules"] == 200, text)
        check(f"analysis {policy}: every assertion is answered",
              found["proved"] + found["refuted"] + found["unconfirmed"] == 101, text)
        check(f"analysis {policy}: a changed rule is seen",
              found["diff_one_most_classes"] > 0 and found["diff_tenth_classes"] > 0, text)
    check("analysis of nothing", output(os.path.join(build, "bench", "analysis"), "none", "200")[0] == 2)
    code, text = output(os.path.join(build, "bench", "loading"), "500")
    found = json.loads(text)
    check("loading", code == 0 and found["index_bytes"] > 0 and found["text_bytes"] > 500 * 40, text)
    code, text = output(os.path.join(build, "bench", "evaluation"), "100", "2000")
    check("evaluation", code == 0 and text.startswith("2000 evaluations, "), text)


def results():
    machine = {"cpu": "a processor", "cores": 2, "virtual": False, "memory_gib": 4, "kernel": "6", "version": "callgate 1",
               "file_system": "tmpfs on tmpfs", "compiler": "cc", "buildtype": "debug", "optimization": "0",
               "sanitize": "none", "commit": "abc", "date": "today", "load_at_start": 0}
    rows = [common.row("fast enough", {"ns": 10}, "10 ns", common.target("p50", 10, most=20, unit="ns")),
            common.row("too slow", {"ns": 30}, "30 ns", common.target("p50", 30, most=20, unit="ns")),
            common.row("too few", {"n": 5}, "5/s", common.target("a second", 5, least=20)),
            common.row("of no target", {"n": 1}, "1")]
    return {"machine": machine, "groups": [
        {"name": "a", "title": "Group A", "note": "What it is.", "rows": rows},
        {"name": "b", "title": "Group B", "note": "Not here.", "rows": [], "missing": "Not measured here: no disk."}]}


def table():
    shown = results()
    text = "\n".join(show.text(shown))
    for want in ("Group A", "too slow", "30 ns", "p50 at most 20 ns", "Not measured here: no disk.",
                 "warning: this build is not optimised", "warning: journals are on a file system in memory"):
        check(f"the table says: {want}", want in text, text)
    section = "\n".join(show.markdown(shown))
    missed = section[section.index("Targets that this run missed"):]
    check("what was missed", "too slow" in missed and "(1.50 times off)" in missed and "too few" in missed
          and "(4.00 times off)" in missed and "fast enough" not in missed, missed)
    document = f"before\n{show.BEGIN}\nold\n{show.END}\nafter\n"
    once = show.replace_section(document, section)
    check("the section is replaced", once.startswith("before\n") and once.endswith("\nafter\n") and "old" not in once)
    check("and again", show.replace_section(once, section) == once)
    with open(os.path.join(TOP, "docs", "performance.md"), encoding="utf-8") as file:
        page = file.read()
    check("docs/performance.md has the section", show.replace_section(page, section) != page)


def main():
    programs(sys.argv[1])
    table()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
