#!/usr/bin/env python3
"""cannot.py CALLGATE CONFINE-BROKEN: where a confinement cannot be had: what is said, and that nothing is started. Where this
machine cannot be made so, CONFINE-BROKEN (callgate-confine, linked with other answers of the system) stands in for the real
program. Ends with 'N passed, N failed'."""
import os
import shutil
import subprocess
import sys
import tempfile

from support import check, tell_counts

CALLGATE, BROKEN = map(os.path.abspath, sys.argv[1:3])
BIN = os.path.dirname(CALLGATE)
LESS = "callgate confine --landlock"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def of_system(top, name, files, breaks, wants, errno="Operation not permitted", less=True):
    """A system that gives no user namespaces, and that has these files."""
    system = f"{top}/{name}"
    os.makedirs(system, exist_ok=True)
    for path, text in files.items():
        write(system + path, text)
    ran = subprocess.run([BROKEN, "--hide", "/nowhere", "--", "/bin/sh", "-c", "echo started"], capture_output=True, text=True,
                         timeout=60, env={**os.environ, "CONFINE_SYSTEM": system, "CONFINE_BREAK": breaks})
    check(f"{name}: not started, exit 125", ran.returncode == 125 and ran.stdout == "", ran)
    check(f"{name}: what was refused", errno in ran.stderr and "confinement: this system gives no" in ran.stderr.replace("does not give", "gives no"), ran.stderr)
    for want in wants:
        check(f"{name}: says {want}", want in ran.stderr, ran.stderr)
    check(f"{name}: says what else there is" if less else f"{name}: offers nothing that is not there", (LESS in ran.stderr) == less,
          ran.stderr)
    check(f"{name}: a line each", len(ran.stderr.splitlines()) == 2 + less, ran.stderr)


def systems(top, landlock):
    kernel = "/proc/sys/kernel/"
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode == 0:  # in a chroot there are none to be without rights
        of_system(top, "Ubuntu", {kernel + "apparmor_restrict_unprivileged_userns": "1\n", kernel + "unprivileged_userns_clone": "1\n"},
                  "rights", ["AppArmor", "'sudo apparmor_parser -r /", "apparmor.d/callgate-confine'"], "Permission denied", less=landlock)
    of_system(top, "Ubuntu, at once", {kernel + "apparmor_restrict_unprivileged_userns": "1\n"}, "userns", ["'sudo apparmor_parser -r /"],
              less=landlock)
    of_system(top, "old Debian", {kernel + "unprivileged_userns_clone": "0\n"}, "userns",
              ["'sudo sysctl kernel.unprivileged_userns_clone=1'"], less=landlock)
    of_system(top, "none allowed", {"/proc/sys/user/max_user_namespaces": "0\n"}, "userns-space",
              ["'sudo sysctl user.max_user_namespaces=10000'"], "No space left on device", less=landlock)
    of_system(top, "Docker", {"/.dockerenv": "", "/proc/sys/user/max_user_namespaces": "127\n"}, "userns",
              ["this is a container", "--security-opt seccomp=unconfined"], less=landlock)
    of_system(top, "Podman", {"/run/.containerenv": ""}, "userns", ["this is a container"], less=landlock)
    of_system(top, "a filter", {}, "userns", ["a filter of system calls"], less=landlock)
    of_system(top, "too deep", {}, "userns-space", ["nested too deep"], "No space left on device", less=landlock)
    of_system(top, "no Landlock either", {}, "userns,landlock", ["a filter of system calls"], less=False)
    of_system(top, "too old a Landlock", {}, "userns,landlock2", ["a filter of system calls"], less=False)


def really_none():
    """In a user namespace whose owner allows no more of them: as any sysctl says it, and no stand-in."""
    ran = subprocess.run(["unshare", "-Urm", "/bin/sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces && "
                          f"exec {BIN}/callgate-confine --hide /nowhere -- echo started"], capture_output=True, text=True, timeout=60)
    if "unshare:" in ran.stderr or "/bin/sh:" in ran.stderr:
        print("no user namespaces to take away: skipped")
        return
    check("really none: not started", ran.returncode == 125 and ran.stdout == "", ran)
    check("really none: the command", "'sudo sysctl user.max_user_namespaces=10000'" in ran.stderr, ran.stderr)


def landlock_alone(top, landlock):
    """--landlock needs ABI 3, takes what it is told, and never goes on with less."""
    for breaks, wants in (("landlock", "none that is switched on"), ("landlock2", "this kernel has ABI 2")):
        ran = subprocess.run([BROKEN, "--landlock", "--hide", "/nowhere", "--", "echo", "started"], capture_output=True, text=True,
                             timeout=60, env={**os.environ, "CONFINE_BREAK": breaks})
        check(f"{breaks}: not started", ran.returncode == 125 and ran.stdout == "" and wants in ran.stderr, ran)
    home = f"{top}/home"
    write(home + "/policy.json", '[{"id": "k", "effect": "deny", "match": {"pathPrefix": "~/.ssh"}, "reason": "keys"},'
          '{"id": "e", "effect": "deny", "match": {"pathComponent": ".env"}, "reason": "secrets"}]')
    write(home + "/.ssh/id", "key")
    write(home + "/proj/.env", "secret")
    os.makedirs(home + "/state", mode=0o700)

    def confine(*words, state=home + "/state", cwd=home + "/proj"):
        return subprocess.run([CALLGATE, *words[:1], "--home", home, "--cwd", cwd, "--state", state, "--policy",
                               home + "/policy.json", *words[1:]], capture_output=True, text=True, timeout=60, cwd=home + "/proj",
                              stdin=subprocess.DEVNULL)
    for words, wants in ((("confine", "--landlock", "--confine-net", "--", "true"), "--landlock has no network of its own"),
                         (("confine", "--landlock", "--gate", "g", "--", "true"), "reaches no socket"),
                         (("run", "--server", "s", "--confine=lanlock", "--", "true"), "--confine is alone, or --confine=landlock"),
                         (("run", "--server", "s", "--confine=landlock", "--confine-net", "--", "true"), "needs a network namespace")):
        ran = confine(*words)
        check(" ".join(words), ran.returncode == 2 and wants in ran.stderr, ran)
    if not landlock:
        print("no Landlock of ABI 3: skipped in part")
        return
    gaps = ["/proj/.env can be read and written", "modes, owners, times", "/tmp and /dev/shm are those of outside"]
    shown, ran = confine("confine", "--landlock", "--print"), confine("confine", "--landlock", "--", "cat", home + "/.ssh/id", home + "/proj/.env")
    for gap in gaps:
        check(f"--print: {gap}", f"{gap}" in shown.stdout and "not held" in shown.stdout, shown)
        check(f"told at the start: {gap}", gap in ran.stderr, ran.stderr)
    check("it holds what it says", ran.stdout == "secret", ran)
    ran = confine("confine", "--landlock", "--print", "--write", home)
    check("the gate's own state must not be writable", ran.returncode == 2 and "/state lies where the program could write" in ran.stderr, ran)
    ran = confine("confine", "--landlock", "--print", "--write", home, state="/nowhere")
    check("nor the policy", ran.returncode == 2 and "policy.json lies where the program could write" in ran.stderr, ran)
    ran = confine("run", "--server", "s", "--confine=landlock", "--", "/bin/sh", "-c", "cat ~/.ssh/id; touch made; exit 0")
    check("run --confine=landlock", os.path.exists(home + "/proj/made") and gaps[0] in ran.stderr, ran)


def main():
    abi = subprocess.run([sys.executable, "-c", "import support; print(support.landlock_abi())"], capture_output=True, text=True,
                         cwd=os.path.dirname(os.path.abspath(__file__)), check=True)
    landlock = int(abi.stdout) >= 3
    # Not below /tmp, which is anybody's to write there.
    top = tempfile.mkdtemp(dir="/var/tmp")
    try:
        systems(top, landlock)
        really_none()
        landlock_alone(top, landlock)
    finally:
        shutil.rmtree(top)
    return tell_counts()


if __name__ == "__main__":
    sys.exit(main())
