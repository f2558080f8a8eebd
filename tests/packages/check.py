#!/usr/bin/env python3
"""check.py [--only PART]...: builds each package twice, then installs, uses, upgrades and removes it.

Parts: install (make install by a user who is not root), static, npm, wheel, image, same (two builds, same bytes),
bookworm and trixie (Debian's packages, in bare systems). Used means: a gate denies one call, and a person approves one
(use.sh). Upgraded means: from packages of the first release, with a state directory that it wrote. Ends with
"N passed, N failed". Takes root, for the bare systems and for the image.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "packaging"))
import archives  # noqa: E402
import build  # noqa: E402

FIRST = "a3a5b58"
USE = os.path.join(HERE, "use.sh")
passed = failed = skipped = 0
sizes = []


def check(what, ok, said=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    print(f"{'ok  ' if ok else 'FAIL'} {what}", flush=True)
    if not ok and said:
        print("    " + str(said)[-4000:].replace("\n", "\n    "), flush=True)
    return ok


def skip(what):
    global skipped
    skipped += 1
    print(f"skip {what}", flush=True)


def run(*argv, ok=0, **more):
    """What a command printed, if it ended as wanted; else None, after showing it."""
    done = subprocess.run([str(word) for word in argv], text=True, errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, **more)
    if done.returncode != ok:
        print(f"    {argv}: ended with {done.returncode}\n    " + done.stdout[-4000:].replace("\n", "\n    "), flush=True)
        return None
    return done.stdout


def size(name, path):
    sizes.append((name, os.path.getsize(path)))


def used(what, program, state, **env):
    said = run(USE, *program, env=dict(os.environ, STATE=state, **env))
    return check(f"{what}: denies one call, lets an approved one through", said is not None and "verified" in said, said)


def files(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


class Makers:
    """This release and the first one, each built once and only if some part wants it."""

    def __init__(self, folder):
        self.folder, self.releases = folder, {}

    def release(self, old):
        if old not in self.releases:
            if old:
                top = os.path.join(build.WORK, "first-release")
                if not os.path.isdir(top):
                    os.makedirs(top)
                    archive = subprocess.run(["git", "-C", TOP, "archive", FIRST], capture_output=True, check=True)
                    subprocess.run(["tar", "-x", "-C", top], input=archive.stdout, check=True)
                self.releases[old] = build.Release(top, os.path.join(build.WORK, "first"))
            else:
                self.releases[old] = build.Release()
        return self.releases[old]

    def make(self, what, old=False):
        """The files of a package."""
        out = os.path.join(self.folder, "old" if old else "new")
        return [os.path.join(out, name) for name in build.MAKERS[what](out, self.release(old))]


def as_user(folder, *argv):
    """Runs a command as somebody who owns nothing but this folder, from an environment that says little."""
    return run("setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", "env", "-i", f"HOME={folder}/home",
               "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "sh", "-c", argv[0], cwd=folder)


def install_part(makers, folder):
    """make install PREFIX=~/.local by a user without root; moved; uninstalled."""
    tree, home = os.path.join(folder, "tree"), os.path.join(folder, "home")
    os.makedirs(home)
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, check=True).stdout
    packed = subprocess.run(["tar", "-c", "-C", TOP, "--null", "--ignore-failed-read", "-T", "-"], input=listed,
                            capture_output=True).stdout
    os.makedirs(tree)
    subprocess.run(["tar", "-x", "-C", tree], input=packed, check=True)
    subprocess.run(["chown", "-R", "54321:54321", folder], check=True)
    os.chmod(folder, 0o755)
    local = os.path.join(home, ".local")
    shutil.copytree(os.path.join(makers.release(True).root, "usr", "local"), local, symlinks=True)
    subprocess.run(["chown", "-R", "54321:54321", local], check=True)
    used("install, first release", [os.path.join(local, "bin", "callgate")], os.path.join(folder, "state"))
    # The tests are not what is installed: leave them out, to save their time.
    check("install: a user without root builds and installs", as_user(
        folder, "cd tree && meson setup build -Dtests=false >/dev/null && make install 'PREFIX=~/.local'") is not None)
    plan = json.loads(run("meson", "introspect", "--install-plan", os.path.join(tree, "build")))
    wanted = {re.sub(r"^\{libdir_shared\}", "{libdir}", file["destination"]) for group in plan.values()
              for file in group.values()}
    there = files(local)
    ends = {name.split("/")[-1] for name in there}
    missing = [name for name in wanted if name.split("/")[-1] not in ends and not
               os.path.isdir(os.path.join(local, "share", *name.split("/")[1:]))]
    check("install: everything of Meson's list is there", not missing, missing)
    used("install, upgraded", [os.path.join(local, "bin", "callgate")], os.path.join(folder, "state"))
    manual = run("env", "-i", f"PATH={local}/bin:/usr/bin:/bin", "man", "-w", "callgate-run") if shutil.which("man") else ""
    check("install: man finds the pages", manual is not None and (not manual or local in manual), manual)
    unit = open(os.path.join(local, "share", "systemd", "user", "callgate.service"), encoding="utf-8").read()
    check("install: the unit starts the program that was installed", f"ExecStart={local}/bin/callgate serve" in unit, unit)
    uninstall = as_user(folder, "cd tree && make uninstall")
    check("install: make uninstall leaves nothing", uninstall is not None and not files(local), sorted(files(local))[:20])
    as_user(folder, "cd tree && make install 'PREFIX=~/.local' && mv ~/.local ~/moved")
    moved = os.path.join(home, "moved")
    used("install, moved", [os.path.join(moved, "bin", "callgate")], os.path.join(folder, "state"))
    for name in sorted(os.listdir(os.path.join(moved, "libexec", "callgate"))):
        command = name.removeprefix("callgate-")
        if command in ("watch", "slack"):
            said = subprocess.run([f"{moved}/bin/callgate", command, "--state", f"{folder}/state"], text=True,
                                  capture_output=True, stdin=subprocess.DEVNULL)
            check(f"install, moved: callgate {command} is found", "cannot be started" not in said.stderr, said.stderr)
        needs = run("ldd", os.path.join(moved, "libexec", "callgate", name))
        check(f"install, moved: {name} has its libraries", needs is not None and "not found" not in needs, needs)
    where = os.path.dirname(glob.glob(f"{moved}/lib/**/callgate.pc", recursive=True)[0])
    flags = run("pkg-config", "--cflags", "--libs", "callgate", env=dict(os.environ, PKG_CONFIG_PATH=where)) or ""
    built = run("cc", f"{TOP}/examples/decide.c", "-o", f"{folder}/decide", *flags.split())
    check("install, moved: the example builds by pkg-config", built is not None and moved in flags, flags)


def static_part(makers, folder):
    program, archive = makers.make("static")
    old = makers.make("static", old=True)[0]
    size("static file", program)
    size("static file with man pages (.tar.gz)", archive)
    headers = run("readelf", "-l", "-d", program) or "INTERP"
    check("static: needs no shared object", "INTERP" not in headers and "NEEDED" not in headers, headers)
    state, place = os.path.join(folder, "state"), os.path.join(folder, "callgate")
    shutil.copy(old, place)
    used("static, first release", [place], state)
    shutil.copy(program, place)
    used("static, upgraded", [place], state)
    run("tar", "-x", "-C", folder, "-f", archive)
    prefix = archive.removesuffix(".tar.gz").split("/")[-1]
    check("static: the archive has program, manual, changelog, upgrade notes, bill", all(os.path.isfile(os.path.join(
        folder, prefix, name)) for name in ("bin/callgate", "share/man/man1/callgate.1", "share/doc/callgate/CHANGELOG.md",
                                           "share/doc/callgate/docs/upgrading.md", "share/doc/callgate/sbom.cdx.json")))
    bill_names(os.path.join(folder, prefix, "share/doc/callgate/sbom.cdx.json"), "static")
    os.remove(place)
    check("static: removed, the state stays", os.path.isfile(os.path.join(state, "journal.jsonl")))


def bill_names(path, what):
    """The bill of materials names what the static file was linked with, and versions."""
    with open(path, encoding="utf-8") as file:
        bill = json.load(file)
    parts = {part["name"]: part for part in bill["components"] if part["type"] == "library"}
    found = [name for name in ("glibc", "openssl", "sqlite3", "utf8proc") if name in parts and parts[name].get("version")]
    check(f"{what}: the bill of materials names what was linked", len(found) == 4 and
          any(name.startswith("libuv") for name in parts), sorted(parts))


def npm_part(makers, folder):
    new, old = makers.make("npm")[0], makers.make("npm", old=True)[0]
    size("npm package", new)
    state = os.path.join(folder, "state")
    shutil.copytree(os.path.join(HERE, "types"), os.path.join(folder, "types"), dirs_exist_ok=True)
    with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "stranger", "version": "1.0.0", "private": True}, file)
    npm = ["npm", "--prefix", folder, "--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"]
    npx = ["npx", "--prefix", folder, "--no-install", "callgate"]
    check("npm: the first release is installed", run(*npm, "install", old) is not None)
    check("npm: npx runs it", (run(*npx, "--version", cwd=folder) or "").split()[-1:] == [makers.release(True).version])
    used("npm, first release", npx, state)
    check("npm: upgraded", run(*npm, "install", new) is not None and
          (run(*npx, "--version", cwd=folder) or "").split()[-1:] == [build.version()])
    used("npm, upgraded", npx, state)
    package = os.path.join(folder, "node_modules", "callgate")
    check("npm: the package has changelog, upgrade notes, bill", all(os.path.isfile(os.path.join(package, name)) for name in
          ("CHANGELOG.md", "upgrading.md", "sbom.cdx.json", "LICENSE", "README.md")))
    bill_names(os.path.join(package, "sbom.cdx.json"), "npm")
    types(folder, npx, state)
    run(*npm, "uninstall", "callgate")
    left = [name for name in os.listdir(os.path.join(folder, "node_modules")) if not name.startswith(".")] \
        if os.path.isdir(os.path.join(folder, "node_modules")) else []
    check("npm: removed, nothing is left but the state", left == [] and os.path.isfile(os.path.join(state, "journal.jsonl")),
          left)


def hold_a_call(npx, folder, state):
    """A gate with a call that waits for a person."""
    policy = os.path.join(folder, "types", "held.json")
    with open(policy, "w", encoding="utf-8") as file:
        json.dump([{"id": "ask", "effect": "require_approval", "match": {"tool": "write_file"}, "ttlMs": 600_000}], file)
    gate = subprocess.Popen([*npx, "run", "--state", state, "--policy", policy, "--server", "fs", "--", "cat"], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    gate.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/x"}}}\n')
    gate.stdin.flush()
    for _ in range(100):
        said = run(*npx, "pending", "--format", "json", "--state", state, cwd=folder)
        if json.loads(said or "[]"):
            return gate, json.loads(said)[0]["code"]
        time.sleep(0.3)
    return gate, None


def types(folder, npx, state):
    """What the program prints is what the types say: it is written into a TypeScript file, which must compile."""
    policy = os.path.join(folder, "types", "policy.json")
    calls = os.path.join(folder, "types", "calls.jsonl")
    printed = []
    gate, code = hold_a_call(npx, folder, state)
    check("npm: a call waits", code is not None)
    for kind, words, lines in (
            ("Decision", ["eval", "--policy", policy, calls], True),
            ("Decision", ["eval", "--explain", "--policy", policy, calls], True),
            ("Explanation", ["explain", "--format", "json", "--policy", policy, calls], True),
            ("CheckReport", ["check", "--format", "json", "--witness", "--policy", policy], False),
            ("CheckReport", ["check", "--format", "json", "--policy", os.path.join(folder, "types", "bad.json")], False),
            ("Difference", ["diff", "--format", "json", policy, os.path.join(folder, "types", "next.json")], False),
            ("Assertion", ["assert", "--format", "json", "--policy", policy, os.path.join(folder, "types", "assert.json")],
             True),
            ("Status", ["status", "--format", "json", "--state", state], False),
            ("Stats", ["stats", "--format", "json", "--state", state], False),
            ("Pending", ["pending", "--format", "json", "--state", state], False),
            (None, ["approve", code or "", "--state", state], False),
            ("Approvals", ["approvals", "--format", "json", "--state", state], False),
            ("Replayed", ["replay", "--format", "json", "--policy", policy, "--state", state], True),
            ("JournalEvent", ["journal", "show", "--format", "json", "--state", state], True)):
        said = subprocess.run([*npx, *words], text=True, capture_output=True, cwd=folder, stdin=subprocess.DEVNULL).stdout
        if kind is None:
            continue
        texts = [line for line in said.splitlines() if line.strip()] if lines else [said]
        if not check(f"npm: {words[0]} prints JSON", all(is_json(text) for text in texts) and texts, said):
            continue
        printed += [f"const v{len(printed) + i}: {kind} = {text.strip()};" for i, text in enumerate(texts)]
    gate.stdin.close()
    gate.wait(30)
    with open(os.path.join(folder, "types", "printed.ts"), "w", encoding="utf-8") as file:
        names = "Approvals, Assertion, CheckReport, Decision, Difference, Explanation, JournalEvent, Pending, Replayed, Stats, Status"
        file.write(f'import type {{ {names} }} from "callgate";\n' + "\n".join(printed) + "\n")
    folder = os.path.join(folder, "types")
    run("npm", "--prefix", folder, "ci", "--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", cwd=folder)
    said = run(os.path.join(folder, "node_modules", ".bin", "tsc"), "-p", folder)
    check(f"npm: {len(printed)} printed values are of their types", said is not None and len(printed) > 30, said)
    with open(os.path.join(folder, "printed.ts"), "a", encoding="utf-8") as file:
        file.write('const wrong: Decision = {"kind": "perhaps"};\n')
    check("npm: a value that is not is refused", run(os.path.join(folder, "node_modules", ".bin", "tsc"), "-p", folder,
                                                     ok=2) is not None)


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def wheel_part(makers, folder):
    new, old = makers.make("wheel")[0], makers.make("wheel", old=True)[0]
    size("Python wheel", new)
    state, python = os.path.join(folder, "state"), os.path.join(folder, "venv", "bin", "python")
    run(sys.executable, "-m", "venv", os.path.join(folder, "venv"))
    before = files(os.path.join(folder, "venv"))
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    program = [os.path.join(folder, "venv", "bin", "callgate")]
    check("wheel: the first release is installed", run(*pip, "install", old) is not None)
    used("wheel, first release", program, state)
    check("wheel: upgraded", run(*pip, "install", "--upgrade", new) is not None and
          build.version() in (run(*program, "--version") or ""))
    used("wheel, upgraded", program, state)
    said = run(python, os.path.join(HERE, "binding.py"), build.version(), cwd=folder)
    check("wheel: load, judge, explain", said is not None, said)
    info = glob.glob(os.path.join(folder, "venv", "lib", "*", "site-packages", "callgate-*.dist-info"))[0]
    check("wheel: it has changelog, upgrade notes", all(os.path.isfile(os.path.join(info, name)) for name in
                                                        ("CHANGELOG.md", "upgrading.md", "LICENSE")))
    bill_names(os.path.join(info, "sboms", "callgate.cdx.json"), "wheel")
    run(*pip, "uninstall", "--yes", "callgate", "cffi", "pycparser")
    left = {name for name in files(os.path.join(folder, "venv")) - before if "__pycache__" not in name}
    check("wheel: removed, nothing is left but the state", not left and os.path.isfile(os.path.join(state, "journal.jsonl")),
          left)


def image_part(makers, folder):
    context, *image = makers.make("image")
    size("image's context (.tar.gz)", context)
    if not image:
        skip("image: no buildah here: built no image and ran none")
        return
    size("image (OCI archive, its layer packed)", image[0])
    old = makers.make("image", old=True)[1]
    server = os.path.join(folder, "server")
    run("cc", "-static", "-O1", "-o", server, os.path.join(TOP, "bench", "mcp_server.c"))
    shared = os.path.join(folder, "shared")
    os.makedirs(shared)
    shutil.copy(server, shared)
    state = os.path.join(folder, "state")
    os.makedirs(state)
    os.chown(state, 65532, 65532)
    os.chmod(folder, 0o755)
    buildah = ["buildah", "--storage-driver", "vfs", "--root", f"{folder}/images", "--runroot", f"{folder}/images-run"]
    for name, archive in (("first release", old), ("upgraded", image[0])):
        said = run(*buildah, "from", "--name", "gate", f"oci-archive:{archive}")
        bytes_ = [int(layer["Size"]) for layer in json.loads(run(*buildah, "images", "--json") or "[]") if "Size" in layer
                  and str(layer["Size"]).isdigit()]
        if said is None:
            check(f"image, {name}: loaded", False)
            continue
        mounted = run(*buildah, "mount", "gate").strip()
        unpacked = sum(os.lstat(os.path.join(mounted, file)).st_size for file in files(mounted))
        run(*buildah, "unmount", "gate")
        if name == "upgraded":
            sizes.append(("image, unpacked", unpacked))
            check("image: under 20 MB", 0 < max([unpacked, *bytes_]) < 20_000_000, unpacked)
        used(f"image, {name}", [*buildah, "run", "--isolation", "chroot", "--volume", f"{shared}:/srv:ro", "--volume",
                               f"{state}:/home/callgate/.local/state", "gate", "--", "/usr/bin/callgate"],
             "", FOLDER=shared, FOLDER_THERE="/srv", SERVER="/srv/server")
        run(*buildah, "rm", "gate")
    run(*buildah, "rmi", "--all", "--force")
    check("image: removed, the state stays", os.path.isfile(os.path.join(state, "callgate", "journal.jsonl")))


def same_part(makers, folder):
    """The same tree elsewhere, later, by a caller with other settings: the same bytes."""
    other = os.path.join(folder, "at", "some other place", "callgate")
    shutil.copytree(TOP, other, symlinks=True, ignore=lambda at, names: [
        name for name in names if name in (".git", ".venv", "node_modules", "dist") or at == TOP and name.startswith("build")])
    for at, _, names in os.walk(other):
        for name in names:
            os.utime(os.path.join(at, name), (1_000_000_000, 1_000_000_000), follow_symlinks=False)
    out = os.path.join(folder, "out")
    env = dict(os.environ, TZ="Asia/Kathmandu", LC_ALL="C", CFLAGS="-O1", USER="somebody")
    check("same: built a second time", run("sh", "-c", 'umask 077; exec "$0" "$@"', os.path.join(other, "packaging", "build.py"),
          "static", "npm", "wheel", "image", "--out", out, env=env) is not None)
    for what in ("static", "npm", "wheel", "image"):
        for first in makers.make(what):
            second = os.path.join(out, os.path.basename(first))
            check(f"same: {os.path.basename(first)}", os.path.isfile(second) and
                  open(first, "rb").read() == open(second, "rb").read())


def debian_part(suite, folder):
    done = subprocess.run([os.path.join(HERE, "deb.sh"), suite, folder], text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    global passed, failed
    for line in done.stdout.splitlines():
        print(line, flush=True)
        passed, failed = passed + line.startswith("ok  "), failed + line.startswith("FAIL")
        if line.startswith("size "):
            _, count, name = line.split(" ", 2)
            sizes.append((f"{suite}: {name}", int(count)))
    if done.returncode != 0 and "FAIL" not in done.stdout:
        check(f"{suite}: came to its end", False, done.stdout)


def main():
    parts = {"install": install_part, "static": static_part, "npm": npm_part, "wheel": wheel_part, "image": image_part,
             "same": same_part, "bookworm": None, "trixie": None}
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", action="append", choices=parts)
    args = options.parse_args()
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="callgate-packages-", dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        makers = Makers(folder)
        for name, part in parts.items():
            if args.only and name not in args.only:
                continue
            own = os.path.join(folder, name)
            os.makedirs(own)
            started = time.monotonic()
            if part is None:
                debian_part(name, own)
            else:
                part(makers, own)
            print(f"     {name}: {time.monotonic() - started:.0f} s", flush=True)
    for name, count in sizes:
        print(f"{count:>12,} bytes  {name}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
