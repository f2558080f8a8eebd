#!/usr/bin/env python3
"""check.py [--soak] [--fuzz SECONDS]: runs every test and ends with the line 'N passed, N failed'.

A test program prints how many of its checks passed and failed in a line 'N passed, N failed'; one that prints no
such line counts as one. What does not build, or does not end well, is a failure whatever it printed.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COUNTS = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
TOOLS = os.path.join(TOP, ".venv", "bin")
NODE = os.path.join(TOP, "tests", "e2e", "node")
SANITIZE = ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Doptimization=1"]

passed = failed = skipped = 0


def count(name, ok, output, quiet=False):
    """Adds one test's checks to the totals and shows what went wrong."""
    global passed, failed, skipped
    counts = COUNTS.findall(output)
    good, bad, left = (int(n or 0) for n in counts[-1]) if counts else (int(ok), int(not ok), 0)
    if not ok and bad == 0:
        bad = 1
    passed, failed, skipped = passed + good, failed + bad, skipped + left
    if not quiet or bad:
        print(f"{'ok  ' if not bad else 'FAIL'} {name}: {good} passed, {bad} failed" + (f", {left} skipped" if left else ""))
    if bad:
        print("    " + output[-6000:].replace("\n", "\n    "))
    sys.stdout.flush()


def command(name, argv, **more):
    """Runs one command as a test."""
    result = subprocess.run(argv, cwd=TOP, text=True, errors="replace", stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, **more)
    count(name, result.returncode == 0, result.stdout)
    return result.returncode == 0


def build(folder, options, env=None):
    """Sets a build folder up and builds it; a warning is an error."""
    path = os.path.join(TOP, folder)
    env = dict(os.environ, **(env or {}))
    if not os.path.exists(os.path.join(path, "build.ninja")):
        setup = subprocess.run(["meson", "setup", folder, "-Dwerror=true"] + options, cwd=TOP, env=env, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if setup.returncode != 0:
            count(f"setup of {folder}", False, setup.stdout)
            return False
    return command(f"build of {folder}", ["ninja", "-C", folder, "--quiet"], env=env)


def tests(folder, suites, more=(), log="testlog.json"):
    """Runs suites of Meson tests and counts the checks of each program."""
    global skipped
    argv = ["meson", "test", "-C", folder, "--no-rebuild", "--quiet", "--num-processes", "2", *more]
    for suite in suites:
        argv += ["--suite", suite]
    log = os.path.join(TOP, folder, "meson-logs", log)
    if os.path.exists(log):
        os.remove(log)
    done = subprocess.run(argv, cwd=TOP, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if not os.path.exists(log):
        count(f"{folder}: {' '.join(suites)}", False, done.stdout)
        return
    for line in open(log, encoding="utf-8", errors="replace"):
        test = json.loads(line)
        name = f"{folder}: {test['name']}"
        if test["result"] == "SKIP":
            skipped += 1
            print(f"skip {name}")
            continue
        output = (test.get("stdout") or "") + (test.get("stderr") or "")
        count(name, test["result"] == "OK", output)


def style():
    """What a reader would stumble over: format, banned calls, long functions."""
    files = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=TOP, text=True, capture_output=True).stdout.split()
    command("clang-format", [os.path.join(TOOLS, "clang-format"), "--dry-run", "--Werror"] + files)
    command("lint by grep", [sys.executable, "tools/lint.py"])


SHALLOW = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow")]


def tidy(folder, deep):
    """clang-tidy over every file, with the flags that the folder was built with. Deep, its analyzer follows calls as far
    as it can, which takes seven times as long."""
    files = subprocess.run(["git", "ls-files", "src/*.c"], cwd=TOP, text=True, capture_output=True).stdout.split()
    files.sort(key=lambda path: -os.path.getsize(os.path.join(TOP, path)))  # the long ones first, so that all end together

    def one(path):
        return subprocess.run([os.path.join(TOOLS, "clang-tidy"), "-p", folder, "--quiet", *([] if deep else SHALLOW), path], cwd=TOP, text=True,
                              errors="replace", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = list(pool.map(one, files))
    bad = [run.stdout for run in done if run.returncode != 0]
    count("clang-tidy", not bad, "\n".join(bad) + f"\n{len(done) - len(bad)} passed, {len(bad)} failed\n")


def valgrind():
    """Unit tests and end-to-end tests with valgrind watching the program, but for unit tests that a script makes: it would
    watch the script."""
    wrap = "valgrind --quiet --error-exitcode=99 --leak-check=full --trace-children=no"
    known = json.loads(subprocess.run(["meson", "introspect", "--tests", "build-check"], cwd=TOP, capture_output=True, text=True, check=True).stdout)
    names = [test["name"] for test in known if any(suite.endswith("unit") for suite in test["suite"]) and "/unit/" in test["cmd"][0]]
    tests("build-check", ["unit"], ["--wrap", wrap, "--timeout-multiplier", "20", *names], log="testlog-valgrind.json")
    for name in ("policy", "hostile", "lifecycle"):
        command(f"valgrind: {name}", [NODE, f"tests/e2e/{name}.mjs", "--callgate",
                                          "build-check/callgate", "--under", "valgrind"])


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--soak", action="store_true", help="the long tests, too")
    options.add_argument("--fuzz", type=int, metavar="SECONDS", help="only fuzz, so long for each parser")
    options.add_argument("--tidy", action="store_true", help="only clang-tidy, over every file")
    args = options.parse_args()
    if args.fuzz:
        os.environ["FUZZ_SECONDS"] = str(args.fuzz)
        if build("build-asan", SANITIZE):
            tests("build-asan", ["fuzz"])
    elif args.tidy:
        if build("build-check", []):
            tidy("build-check", False)
    else:
        style()
        if build("build-check", []):
            if not args.soak:
                tidy("build-check", False)
            tests("build-check", ["unit", "cases", "differential", "shells", "cli", "e2e", "install"])
            if args.soak:
                tests("build-check", ["soak"], ["--timeout-multiplier", "2"])  # their limits are for a machine of its own
                tidy("build-check", True)
                valgrind()
        if build("build-asan", SANITIZE):
            tests("build-asan", ["unit", "cases", "cli", "e2e", "fuzz"])
        build("build-clang", [], env={"CC": "clang"})
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
