#!/usr/bin/env python3
"""bench.py: measures, prints one table, and writes it as JSON. Figures, no verdicts: the exit code says only whether
everything could be measured.

Whatever is compared runs interleaved, so that what else the machine does falls on all alike. The groups of rows are
in bench/rows/.
"""
import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "bench"))
from rows import machine, show  # noqa: E402
from rows.common import BUILD, Unavailable  # noqa: E402

GROUPS = ("decisions", "growth", "instructions", "loading", "paths", "journal", "proxy", "starts", "broker", "analysis", "peers")


def measure(names, folder):
    """Everything that was asked for; what cannot be measured says why."""
    results = {"machine": machine.describe(folder), "groups": []}
    for name in names:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        module = importlib.import_module(f"rows.{name}")
        group = {"name": name, "title": module.TITLE, "note": module.NOTE, "rows": []}
        results["groups"].append(group)
        try:
            group["rows"].extend(module.rows(folder))
        except Unavailable as why:
            group["missing"] = f"Not measured here: {why}."
        except (OSError, subprocess.CalledProcessError, RuntimeError, ValueError, KeyError) as error:
            group["missing"] = f"Not measured: {error}"
            results["failed"] = True
    return results


def write_section(path, results):
    with open(path, encoding="utf-8") as file:
        document = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(show.replace_section(document, "\n".join(show.markdown(results))))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", metavar="GROUP", action="append", choices=GROUPS,
                         help=f"measure this group only; repeatable: {', '.join(GROUPS)}")
    options.add_argument("--json", metavar="FILE", help="build/bench.json; with --only build/bench-GROUP.json")
    options.add_argument("--folder", metavar="DIR", default=BUILD, help="where journals are measured (build)")
    options.add_argument("--markdown", action="store_true",
                         help="measure nothing: print the section of docs/performance.md from the JSON of the last run")
    options.add_argument("--into", metavar="FILE", help="with --markdown: put the section into FILE")
    args = options.parse_args()
    path = args.json or os.path.join(BUILD, f"bench-{'-'.join(args.only)}.json" if args.only else "bench.json")
    if args.markdown:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
        if args.into:
            write_section(args.into, results)
        else:
            print("\n".join(show.markdown(results)))
        return 0
    with tempfile.TemporaryDirectory(dir=args.folder, prefix="bench-files-") as folder:
        results = measure(args.only or GROUPS, folder)
    print("\n".join(show.text(results)))
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, ensure_ascii=False)
    return 1 if results.get("failed") else 0


if __name__ == "__main__":
    sys.exit(main())
