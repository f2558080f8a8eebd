#!/usr/bin/env python3
"""small.py BUILD_DIR: what of the packages can be held without building anything anew: Meson's list is complete and every
file of it has a place in a package, the static file is alone, archives are the same bytes, versions agree."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = sys.argv[1]
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "packaging"))
sys.dont_write_bytecode = True
import archives  # noqa: E402
import build  # noqa: E402
import sbom  # noqa: E402

passed = failed = 0


def check(what, ok, said=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"failed: {what}\n    {said}")


def introspect(what):
    meson = shutil.which("meson")
    return json.loads(subprocess.run([meson, "introspect", BUILD, f"--{what}"], capture_output=True, check=True).stdout)


def check_list(plan):
    """Whoever adds a file to install tags it, and nothing that should be installed is forgotten."""
    listed = {source: file for group in plan.values() for source, file in group.items()}
    for source, file in listed.items():
        check(f"{source} has a tag that packages know", file["tag"] in
              ("runtime", "devel", "man", "doc", "completion", "system"), file["tag"])
    names = {os.path.basename(file["destination"]) for file in listed.values()}
    for page in glob.glob(os.path.join(TOP, "man", "*.scd")):
        check(f"{page} is installed", os.path.basename(page).removesuffix(".scd") in names)
    for file in glob.glob(os.path.join(TOP, "packaging", "systemd", "*")):
        check(f"{file} is installed", os.path.basename(file).removesuffix(".in") in names)
    for target in introspect("targets"):
        if target["type"] == "executable" and target["name"].startswith("callgate"):
            check(f"{target['name']} is installed", target["installed"])


def check_static(folder, plan):
    """The static file, alone in a folder: decides, and says what it needs the whole package for."""
    source = os.path.join(BUILD, "callgate-static")
    if not os.path.exists(source):
        print("no static file in this build: not looked at")
        return
    program = os.path.join(folder, "callgate")
    shutil.copy(source, program)
    headers = subprocess.run(["readelf", "-l", "-d", program], text=True, capture_output=True).stdout
    check("the static file needs no shared object", headers and "INTERP" not in headers and "NEEDED" not in headers)
    policy, state = os.path.join(folder, "p.json"), os.path.join(folder, "state")
    with open(policy, "w", encoding="utf-8") as file:
        file.write('[{"id": "a", "effect": "deny", "match": {"tool": "x"}, "reason": "r"}]')
    said = subprocess.run([program, "eval", "--policy", policy, "-"], input='{"tool":"x"}\n', text=True, capture_output=True)
    check("the static file decides", '"kind":"deny"' in said.stdout, said)
    os.makedirs(state, 0o700)
    key = os.path.join(folder, "key")
    with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        file.write("k" * 32)
    special = {"confine": ["confine", "--policy", policy, "--", "true"],
               "confine-probe": ["doctor", "--confine", "--policy", policy, "--state", state],
               "webhook": ["notices", "add", "webhook", "https://example.org/", key, "--state", state]}
    for file in plan.get("targets", {}).values():
        if "{libexecdir}" not in file["destination"]:
            continue
        name = os.path.basename(file["destination"]).removeprefix("callgate-")
        words = special.get(name, [name, "--state", state])
        said = subprocess.run([program, *words], text=True, capture_output=True, stdin=subprocess.DEVNULL)
        check(f"{words[0]} of the static file says that it needs the whole package", said.returncode == 2 and
              "install the whole package" in said.stderr, said)


def check_archives(folder):
    """The same content, laid out by two people at two times: the same archive."""
    digests = []
    for i, (order, when, mode) in enumerate(((1, 1_000_000_000, 0o600), (-1, 1_700_000_000, 0o664))):
        at = os.path.join(folder, f"copy {i}")
        for name in sorted(("top/share/a", "top/bin/program", "top/share/b"))[::order]:
            path = os.path.join(at, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(name)
            os.chmod(path, mode | (0o111 if "bin" in name else 0))
            os.utime(path, (when, when))
        os.symlink("a", os.path.join(at, "top/share/link"))
        target = os.path.join(folder, f"{i}.tar.gz")
        archives.write_tar(target, at, "top", 1_800_000_000)
        with open(target, "rb") as file:
            digests.append(file.read())
    check("two archives of the same content are the same bytes", digests[0] == digests[1])
    listed = subprocess.run(["tar", "-tvf", os.path.join(folder, "0.tar.gz")], text=True, capture_output=True).stdout
    check("they hold everything, and modes", re.search(r"-rwxr-xr-x root/root .*top/bin/program", listed) and
          re.search(r"-rw-r--r-- root/root .*top/share/b", listed) and "top/share/link -> a" in listed, listed)


def check_bill(folder):
    bills = []
    for name in ("one.json", "two.json"):
        sbom.write(os.path.join(folder, name), "callgate", "1.0", 1_800_000_000, {"bin/x": sys.executable}, folder)
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            bills.append(file.read())
    bill = json.loads(bills[0])
    check("two bills of the same program are one", bills[0] == bills[1])
    check("a bill names what a program is linked with", any(part["type"] == "library" for part in bill["components"]), bill)
    known = {part["bom-ref"] for part in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    check("whatever depends, and on what, is in the bill", all({each["ref"], *each["dependsOn"]} <= known
                                                              for each in bill["dependencies"]), bill["dependencies"])


def check_versions():
    number = build.version()
    with open(os.path.join(TOP, "packaging", "debian", "changelog"), encoding="utf-8") as file:
        check("Debian's changelog begins with this version", file.readline().startswith(f"callgate ({number}-"))
    with open(os.path.join(TOP, "packaging", "debian", "NEWS"), encoding="utf-8") as file:
        check("Debian's news begin with this version", file.readline().startswith(f"callgate ({number}-"))
    with open(os.path.join(TOP, "CHANGELOG.md"), encoding="utf-8") as file:
        check("CHANGELOG.md begins with this version", re.search(r"^## (\S+)", file.read(), re.M).group(1) == number)


def main():
    plan = introspect("install-plan")
    check_list(plan)
    with tempfile.TemporaryDirectory() as folder:
        check_static(folder, plan)
        check_archives(folder)
        check_bill(folder)
    check_versions()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
