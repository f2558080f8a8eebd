#!/usr/bin/python3 -I
"""with_broker.py ARG...: callgate for the suites that know nothing of a broker. `run`, `hook` and `relay` become clients
of one: what is the broker's to say goes to `callgate serve`, which is started for their state directory, and the rest
stays with them. Every other command is as it is. CALLGATE_REAL is put in place of the program's name by the build."""
import hashlib
import os
import select
import socket
import sys
import time

CALLGATE = "@CALLGATE@"
VALUES = {"--policy", "--state", "--cwd", "--home", "--fsync", "--journal", "--protect", "--journal-max-size"}
FLAGS = {"--no-weakening"}


def split(argv):
    """What the broker gets and what the client keeps. None where there can be no broker."""
    end = argv.index("--") if "--" in argv else len(argv)
    options, rest = argv[1:end], argv[end:]
    serve, client, state, policies = [], [], None, 0
    i = 0
    while i < len(options):
        name, _, value = options[i].partition("=")
        taken = 1
        if name in VALUES:
            if "=" not in options[i]:
                if i + 1 == len(options):
                    return None
                value = options[i + 1]
                taken = 2
            if name == "--state":
                state = value
            if name == "--policy":
                policies += 1
            if name == "--journal-max-size":
                return None
            if name == "--protect":
                serve += ["--policy", "admin=" + value]
                client += ["--protect", value]
            else:
                serve += [name, value]
                if name in ("--state", "--cwd", "--home"):
                    client += [name, value]
        elif name in FLAGS:
            serve.append(name)
        else:
            client.append(options[i])
        i += taken
    # Tried with the options of one broker: those that make no sense to it are for the program itself to tell.
    if state is None or policies == 0 or "--confine" in client or "--help" in client:
        return None
    return state, serve, client, rest


def connects(path):
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
            return True
        except OSError:
            return False


def start(words):
    """Starts a program that is nobody's child. A descriptor that is readable when it has ended."""
    ended, lives = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            os.set_inheritable(lives, True)
            os.execv(words[0], words)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(lives)
    return ended


def broker(state, serve):
    """The socket of a broker with these options, started when there is none. None: it does not start."""
    name = hashlib.sha256("\0".join([os.path.realpath(state), os.getcwd(), *serve]).encode()).hexdigest()[:16]
    path = f"/tmp/callgate-broker-{name}.sock"
    for _ in range(3):
        if connects(path):
            return path
        ended = start([CALLGATE, "serve", "--gate", path, "--idle", "2", "--quiet", *serve])
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if connects(path):
                os.close(ended)
                return path
            if select.select([ended], [], [], 0.005)[0]:
                break
        os.close(ended)
        # Another one of the same state directory, with other options, has it for two seconds more.
        time.sleep(2.5)
    return None


def main():
    argv = sys.argv[1:]
    found = split(argv) if argv and argv[0] in ("run", "hook", "relay") and argv[1:2] not in (["install"], ["uninstall"]) \
        else None
    path = broker(found[0], found[1]) if found else None
    if path is not None:
        argv = [argv[0], *found[2], "--gate", path, *found[3]]
    # As it came: Python may have added to its own.
    with open("/proc/self/environ", "rb") as file:
        environment = dict(pair.split(b"=", 1) for pair in file.read().split(b"\0") if b"=" in pair)
    os.execve(CALLGATE, [CALLGATE, *argv], environment)


main()
