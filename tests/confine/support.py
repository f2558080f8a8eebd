"""support.py: what the tests of confinement have in common: a folder that confined programs see, and a user without rights."""
import ctypes
import os
import shutil
import subprocess
import tempfile


passed = failed = 0


def check(what, good, *shown):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print("failed: " + what, *map(str, shown), sep="\n    ")


def tell_counts():
    """Prints them; the exit code."""
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def as_a_user(top, callgate, inside, uid, gid):
    """Root sees through modes, and the kernel gives a root less: the test is one of a user without rights. Copies the programs
    and the script that runs inside into the folder; the path of callgate there."""
    for name in ("callgate", "callgate-confine", "callgate-confine-probe"):
        shutil.copy2(os.path.join(os.path.dirname(callgate), name), top)
    shutil.copy2(inside, top)
    if os.geteuid() == 0:
        os.chown(top, uid, gid)
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    return top + "/callgate"


def landlock_abi():
    """The kernel's; 0 without Landlock."""
    return max(0, ctypes.CDLL(None, use_errno=True).syscall(444, None, ctypes.c_size_t(0), 1))


def run(trial, callgate, inside, uid, gid, namespaces=True):
    """trial(TOP, CALLGATE) in a process of a user without rights; its exit code, or 77 without user namespaces."""
    if namespaces and subprocess.run(["unshare", "-Urmpif", "true"], capture_output=True).returncode != 0:
        print("no user namespaces here\n0 passed, 0 failed, 1 skipped")
        return 77
    # Not below /tmp, which is private inside.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        os.chmod(top, 0o755)
        child = os.fork()
        if child == 0:
            os._exit(trial(top, as_a_user(top, callgate, inside, uid, gid)))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        subprocess.run(["rm", "-rf", top + "/home"])
    return code
