"""What an attacker tries from inside a confinement. Prints a JSON line for each attempt: [name, escaped, what was seen].

Started by attacks.py with the victim's home, the pid of a process of the same user outside, and the sockets that it
listens on. An attempt has escaped when it saw a secret or did something outside."""
import ctypes
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

HOME, VICTIM, TMP_SOCKET, ABSTRACT, TTY = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]
KEY, PROJECT = HOME + "/.ssh/id", HOME + "/proj"
ENV = PROJECT + "/.env"
TMP = os.environ.get("TMPDIR", "/tmp")
libc = ctypes.CDLL(None, use_errno=True)


def attempt(name, action):
    try:
        seen = action()
    except OSError as error:
        seen = None if not error.strerror else f"({error.strerror})"
    except Exception as error:  # whatever an attempt fails with, it failed
        seen = f"({type(error).__name__})"
    text = seen.decode("latin1") if isinstance(seen, bytes) else str(seen)
    print(json.dumps([name, "SECRET" in text or text.startswith("OUT"), text[:80]]), flush=True)


def read(path):
    with open(path, "rb") as file:
        return file.read(60)


def checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def link(source, name):
    os.link(source, name)
    return read(name)


def rename(source, name, then):
    os.rename(source, name)
    return read(then)


def symlink(target, name):
    os.symlink(target, name)
    return read(name)


def shell(text):
    done = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, timeout=20)
    return done.stdout[-200:]


def did(action):
    action()
    return "OUT"


def append(path):
    with open(path, "a") as file:
        file.write("x")
    return "OUT"


def connect(address, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as s:
        s.settimeout(2)
        s.connect(address)
        return s.recv(30)


def files():
    attempt("read the key", lambda: read(KEY))
    attempt("list the key's folder", lambda: "OUT" if "id" in os.listdir(HOME + "/.ssh") else "what is kept")
    attempt("size of the key", lambda: f"OUT {os.stat(KEY).st_size}")
    attempt("read .env", lambda: read(ENV))
    attempt("read a .env deeper", lambda: read(PROJECT + "/sub/deep/.env"))
    attempt("symbolic link to the key", lambda: symlink(KEY, PROJECT + "/src/l"))
    attempt("symbolic link to .env", lambda: symlink(ENV, PROJECT + "/src/m"))
    attempt("hard link to the key", lambda: link(KEY, PROJECT + "/src/h"))
    attempt("hard link to .env", lambda: link(ENV, PROJECT + "/src/x"))
    attempt("rename .env", lambda: rename(ENV, PROJECT + "/src/env2", PROJECT + "/src/env2"))
    attempt("rename the folder of .env",
            lambda: rename(PROJECT + "/sub/deep", PROJECT + "/src/deep2", PROJECT + "/src/deep2/.env"))
    attempt("rename the folder above", lambda: rename(PROJECT + "/sub", PROJECT + "/src/sub2", PROJECT + "/src/sub2/deep/.env"))
    attempt("rename ~/.ssh", lambda: rename(HOME + "/.ssh", PROJECT + "/src/ssh", PROJECT + "/src/ssh/id"))
    attempt("openat2", lambda: os.read(checked(libc.syscall(437, -100, KEY.encode(), struct.pack("QQQ", 0, 0, 0), 24)), 30))
    attempt("open by handle", by_handle)
    attempt("write the policy", lambda: append(HOME + "/.config/callgate/policy.json"))
    attempt("replace the policy's folder", lambda: did(lambda: os.rename(HOME + "/.config/callgate", HOME + "/.config/c2")))
    attempt("append to the journal", lambda: append(HOME + "/.local/state/callgate/journal.jsonl"))
    attempt("make a file in the state", lambda: append(HOME + "/.local/state/callgate/new"))
    attempt("truncate the journal", lambda: did(lambda: os.truncate(HOME + "/.local/state/callgate/journal.jsonl", 0)))
    attempt("change the state's mode", lambda: did(lambda: os.chmod(HOME + "/.local/state/callgate", 0o755)))
    attempt("touch the policy", lambda: did(lambda: os.utime(HOME + "/.config/callgate/policy.json")))
    attempt("write what an allow names below a denied folder", lambda: append(HOME + "/.ssh/pub/k"))
    attempt("make a file there", lambda: append(HOME + "/.ssh/pub/new"))
    attempt("write a policy in the project", lambda: append(PROJECT + "/conf/own.json"))
    attempt("replace a policy in the project",
            lambda: append(PROJECT + "/other.json") and rename(PROJECT + "/other.json", PROJECT + "/conf/own.json", PROJECT + "/conf/own.json") and "OUT")
    attempt("rename the folder of a policy in the project", lambda: did(lambda: os.rename(PROJECT + "/conf", PROJECT + "/conf2")))
    attempt("append to .bashrc", lambda: append(HOME + "/.bashrc"))
    attempt("write a git hook", lambda: append(PROJECT + "/.git/hooks/post-checkout"))
    attempt("go round the hooks by a rename", lambda: did(lambda: os.rename(PROJECT + "/.git", PROJECT + "/.git2")))
    attempt("write the agent's settings", lambda: append(PROJECT + "/.claude/settings.json"))


def by_handle():
    handle, mount = ctypes.create_string_buffer(200), ctypes.c_int()
    struct.pack_into("I", handle, 0, 128)
    checked(libc.name_to_handle_at(-100, (PROJECT + "/src/a.txt").encode(), handle, ctypes.byref(mount), 0))
    checked(libc.open_by_handle_at(os.open("/tmp", 0), handle, 0))
    return "OUT"


def processes():
    for what in ("root" + KEY, "cwd/id", "fd/3", "environ"):
        attempt(f"/proc/victim/{what.split('/')[0]}", lambda w=what: read(f"/proc/{VICTIM}/{w}"))
    attempt("/proc/victim/mem", lambda: f"OUT {os.open(f'/proc/{VICTIM}/mem', os.O_RDONLY)}")
    attempt("ptrace", lambda: did(lambda: checked(libc.ptrace(16, VICTIM, 0, 0))))
    attempt("pidfd", lambda: f"OUT {os.pidfd_open(VICTIM)}")
    attempt("signal", lambda: did(lambda: os.kill(VICTIM, 0)))
    attempt("limits", lambda: did(lambda: resource.prlimit(VICTIM, resource.RLIMIT_NOFILE)))
    attempt("signal everybody", lambda: did(lambda: os.kill(-1, signal.SIGCONT)) and "sent inside")
    attempt("enter its namespace", lambda: shell(f"nsenter -m -t {VICTIM} cat {KEY}"))
    attempt("inherited descriptor", lambda: os.read(os.open("id", 0, dir_fd=9), 30))


def doors():
    attempt("socket in the home", lambda: connect(HOME + "/run/agent.sock"))
    attempt("socket in /tmp", lambda: connect(TMP_SOCKET))
    attempt("abstract socket", lambda: connect("\0" + ABSTRACT))
    attempt("another terminal", lambda: did(lambda: os.open(TTY, os.O_RDONLY | os.O_NOCTTY)))
    import fcntl
    attempt("typing into the terminal", lambda: did(lambda: fcntl.ioctl(0, 0x5412, b"x")))
    attempt("typing, with bits above", lambda: did(lambda: checked(libc.syscall(16, 0, ctypes.c_ulong(0x100005412), b"x"))))
    attempt("keyring", lambda: did(lambda: checked(libc.syscall(250, 0, -4, 1, 0, 0))))


def nested():
    """From a user namespace of one's own, with every capability in it."""
    for name, text in (
            ("unmount the mask of .env", f"umount {ENV}; cat {ENV}"),
            ("unmount the mask of ~/.ssh", f"umount -l {HOME}/.ssh; cat {KEY}"),
            ("bind the home elsewhere", f"mkdir -p {PROJECT}/m; mount --bind {HOME} {PROJECT}/m && cat {PROJECT}/m/.ssh/id"),
            ("bind the home with all below", f"mkdir -p {PROJECT}/m; mount --rbind {HOME} {PROJECT}/m && cat {PROJECT}/m/.ssh/id {PROJECT}/m/proj/.env"),
            ("bind the project", f"mkdir -p {PROJECT}/m; mount --bind {PROJECT} {PROJECT}/m && cat {PROJECT}/m/.env"),
            ("overlay", f"mkdir -p {PROJECT}/m; mount -t overlay o -o lowerdir={HOME}:/usr/share {PROJECT}/m && cat {PROJECT}/m/.ssh/id"),
            ("move the mask away", f"mkdir -p {PROJECT}/m; mount --move {HOME}/.ssh {PROJECT}/m && cat {KEY}"),
            ("remount / writable", f"mount -o remount,bind,rw / && echo x >>{HOME}/.bashrc && echo OUT"),
            ("remount the policy writable", f"mount -o remount,bind,rw {HOME}/.config && echo x >>{HOME}/.config/callgate/policy.json && echo OUT"),
            ("pivot_root", f"mount --bind {HOME} {HOME} && cd {HOME} && pivot_root . docs && cat /.ssh/id"),
            ("a new /proc", f"mount -t proc p /proc && cat /proc/{VICTIM}/environ"),
            ("remove the mask of .env", f"rm -f {ENV} && echo OUT"),
            ("remove the mask of ~/.ssh", f"rmdir {HOME}/.ssh && echo OUT"),
            ("a device", "mknod /tmp/d b 254 0 && head -c 1 /tmp/d && echo OUT")):
        attempt("nested: " + name, lambda t=text: shell(f"unshare -Urm sh -c '{t}'"))


def later():
    """Names that are made from outside after the start: known not to be held."""
    attempt("later: .env made outside", lambda: read(PROJECT + "/src/.env"))
    attempt("later: key made outside", lambda: read(HOME + "/.ssh/new_key"))
    attempt("before: hard link to the key", lambda: read(PROJECT + "/hl_key"))


def uses():
    """What has to work."""
    def works(name, action):
        try:
            seen = action()
        except Exception as error:
            seen = str(error)
        print(json.dumps(["use: " + name, seen is not True, str(seen)[:80]]), flush=True)

    def write(path):
        with open(path, "w") as file:
            file.write("x")
        return True
    works("write in the project", lambda: write(PROJECT + "/new.txt"))
    works("replace a file in the project", lambda: write(PROJECT + "/t") and os.rename(PROJECT + "/t", PROJECT + "/new.txt") is None)
    works("make folders", lambda: os.makedirs(PROJECT + "/a/b/c") is None)
    works("write in /tmp", lambda: write(TMP + "/x"))
    works("read /etc/passwd", lambda: b"root" in read("/etc/passwd"))
    works("write what an allow names below a denied folder of the project", lambda: write(PROJECT + "/closed/open/new"))
    works("read documents in the home", lambda: read(HOME + "/docs/d.txt") == b"doc")
    works("read what an allow names below a denied folder", lambda: read(HOME + "/.ssh/pub/k") == b"pub")
    works("a terminal of one's own", lambda: len(os.openpty()) == 2)
    works("git", lambda: "ok" in shell(f"cd {PROJECT} && git -c user.name=a -c user.email=a@b add new.txt && git -c user.name=a -c user.email=a@b commit -qm x && echo ok"))
    works("git branch", lambda: "ok" in shell(f"cd {PROJECT} && git checkout -q -b other && echo ok"))
    works("a compiler", lambda: "ok" in shell(f"cd {TMP} && printf 'int main(void){{return 0;}}' >t.c && cc t.c -o t && ./t && echo ok"))
    works("python", lambda: "ok" in shell(f"{sys.executable} -c 'print(\"ok\")'"))
    works("a nested sandbox", lambda: "ok" in shell("unshare -Urm --propagation private sh -c 'mount -t tmpfs t /tmp && echo ok'"))


if __name__ == "__main__":
    files()
    processes()
    doors()
    nested()
    later()
    uses()
