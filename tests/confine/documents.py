#!/usr/bin/env python3
"""documents.py CALLGATE: what a policy's `confine` opens and closes for a confined program. Ends with 'N passed, N failed';
told as skipped where the kernel gives no user namespaces."""
import json
import os
import subprocess
import sys

from support import check, run, tell_counts

CALLGATE = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
DIRS = ("proj", "proj/vendor", "proj/deep/signed", "proj/deep", "out", "out/kept", ".npm", ".cache", "other")
READ_ONLY, WRITTEN = "Read-only file system", "written"


class World:
    def __init__(self, top, callgate):
        self.home, self.callgate, self.inside = top + "/home", callgate, top + "/documents_inside.py"
        for name in DIRS:
            os.makedirs(f"{self.home}/{name}", exist_ok=True)
        self.state = self.home + "/state"
        os.mkdir(self.state, 0o700)

    def policies(self, *documents):
        words = []
        for index, (tier, confine) in enumerate(documents):
            path = f"{self.home}/policy{index}.json"
            with open(path, "w") as file:
                json.dump({"rules": [], "confine": confine}, file)
            words += ["--policy", tier + path]
        return words

    def confine(self, policies, *more):
        return subprocess.run([self.callgate, "confine", "--home", self.home, "--cwd", self.home + "/proj", "--state", self.state,
                               *policies, *more], capture_output=True, text=True, timeout=60, cwd=self.home + "/proj")

    def inside_of(self, policies, *more):
        """{DIR: what came of writing there}."""
        for name in DIRS:
            if os.path.exists(f"{self.home}/{name}/made-inside"):
                os.unlink(f"{self.home}/{name}/made-inside")
        ran = self.confine(policies, *more, "--", PYTHON, self.inside, self.home, *DIRS)
        check("the program ran", ran.returncode == 0, ran.stderr)
        return dict(line.split(" ", 1) for line in ran.stdout.splitlines() if " " in line)


def opened_and_closed(world):
    got = world.inside_of(world.policies(("", {})))
    check("nothing but the working directory is writable by itself",
          {name for name in DIRS if got.get(name) == WRITTEN} == {"proj", "proj/vendor", "proj/deep", "proj/deep/signed"}, got)
    policies = world.policies(("", {"write": ["~/out", "@npm", "@cargo", "../absent"], "read": ["vendor", "deep/signed"]}))
    got = world.inside_of(policies)
    want = {"proj": WRITTEN, "proj/vendor": READ_ONLY, "proj/deep/signed": READ_ONLY, "proj/deep": WRITTEN, "out": WRITTEN,
            "out/kept": WRITTEN, ".npm": WRITTEN, ".cache": READ_ONLY, "other": READ_ONLY, "rename": "Device or resource busy"}
    for name, result in want.items():
        check(f"{name}: {result}", got.get(name) == result, got)
    shown = world.confine(policies, "--print").stdout
    for kind, path, why in (("writable", "/out", "policy0.json says so: confine.write"),
                            ("writable", "/.npm", "confine.write @npm: npm keeps downloads"),
                            ("absent", "/.cargo/registry", "confine.write @cargo"), ("absent", "/proj/../absent", "confine.write"),
                            ("read-only", "/proj/vendor", "policy0.json says so: confine.read"),
                            ("writable", "/proj/deep", "a mount point of its own"), ("writable", "/proj", "the working directory")):
        check(f"--print: {kind} {path}", any(line.startswith(f"{kind:<10}{world.home}{path}  (") and why in line
                                             for line in shown.splitlines()), shown)


def read_wins(world):
    got = world.inside_of(world.policies(("", {"write": ["~/out"]}), ("", {"read": ["~/out/kept"]})))
    check("read of one document closes what lies in write of another", (got["out"], got["out/kept"]) == (WRITTEN, READ_ONLY), got)
    got = world.inside_of(world.policies(("", {"write": ["~/out/kept"], "read": ["~/out"]})))
    check("what is writable below what is read-only is not", got["out/kept"] == READ_ONLY, got)
    got = world.inside_of(world.policies(("", {"read": ["~/out"]})), "--write", world.home + "/out/kept", "--write", world.home + "/out")
    check("--write does not open it either", (got["out"], got["out/kept"]) == (READ_ONLY, READ_ONLY), got)
    got = world.inside_of(world.policies(("", {"read": ["."]})))
    check("the working directory can be closed", got["proj"] == READ_ONLY and got["proj/deep"] == READ_ONLY, got)
    got = world.inside_of(world.policies(("", {})), "--write", "@npm", "--write", "~/out")
    check("--write takes names and ~", (got[".npm"], got["out"], got[".cache"]) == (WRITTEN, WRITTEN, READ_ONLY), got)
    ran = world.confine(world.policies(("", {})), "--write", "@home", "--print")
    check("--write with another name is refused", ran.returncode == 2 and "'@cache'" in ran.stderr, ran)


def workspace(world):
    got = world.inside_of(world.policies(("", {"write": ["~/out"]}), ("workspace=", {"read": ["vendor"]})))
    check("a workspace document narrows", (got["proj/vendor"], got["out"]) == (READ_ONLY, WRITTEN), got)
    policies = world.policies(("", {}), ("workspace=", {"write": ["~/out"]}))
    got = world.inside_of(policies)
    check("a workspace document opens nothing", got["out"] == READ_ONLY, got)
    ran = world.confine(policies, "--print")
    check("and it is told", "may only narrow" in ran.stderr and "1:" in ran.stderr, ran.stderr)


def nested_rules(world):
    """A denied place below an allowed one below a denied one is hidden."""
    base = world.home + "/a"
    path = world.home + "/nested.json"
    os.makedirs(base + "/b/c/d")
    for name in ("", "/b", "/b/c", "/b/c/d"):
        with open(f"{base}{name}/f", "w") as file:
            file.write("seen" + name)
    rules = [{"id": f"r{len(name)}", "effect": effect, "match": {"tool": "*", "pathPrefix": base + name}, **reason}
             for name, effect, reason in (("/b/c/d", "auto_approve", {}), ("/b/c", "deny", {"reason": "r"}), ("/b", "auto_approve", {}),
                                          ("", "deny", {"reason": "r"}))]
    with open(path, "w") as file:
        json.dump(rules, file)
    ran = world.confine(["--policy", path], "--", "/bin/sh", "-c", f"cd {base}; cat f b/f b/c/f b/c/d/f")
    check("what is denied below what is kept is hidden", ran.stdout == "seen/bseen/b/c/d", ran)


def server(world):
    """`run --confine` has the same view."""
    policies = world.policies(("", {"write": ["~/out"], "read": ["vendor"]}))
    ran = subprocess.run([world.callgate, "run", "--confine", "--server", "s", "--home", world.home, "--cwd", world.home + "/proj",
                          "--state", world.state, *policies, "--", "/bin/sh", "-c",
                          f"touch {world.home}/out/by-server; touch {world.home}/proj/vendor/by-server; "
                          f"touch {world.home}/other/by-server; exit 0"],
                         capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, cwd=world.home + "/proj")
    made = [name for name in ("out", "proj/vendor", "other") if os.path.exists(f"{world.home}/{name}/by-server")]
    check("run --confine opens and closes the same", made == ["out"], made, ran.stderr)


def trial(top, callgate):
    world = World(top, callgate)
    for part in (opened_and_closed, read_wins, workspace, nested_rules, server):
        part(world)
    return tell_counts()


if __name__ == "__main__":
    sys.exit(run(trial, CALLGATE, HERE + "/documents_inside.py", 12324, 12324))
