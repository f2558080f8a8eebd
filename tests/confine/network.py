#!/usr/bin/env python3
"""network.py CALLGATE: a confined program's network (`confine --confine-net`): curl, npm and Python through the proxy, what
has no network, and attacks on the proxy. The servers are this script's own, in a network namespace of its own, where names
are those of a private /etc/hosts. Ends with 'N passed, N failed'; told as skipped where the kernel gives no user namespaces."""
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

CALLGATE = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
SITE, OTHER_SITE, PRIVATE, NAMED_PRIVATE = "93.184.216.34", "93.184.216.35", "10.1.2.3", "10.1.2.4"
HOSTS = f"""127.0.0.1 localhost
{SITE} allowed.test ask.test
{OTHER_SITE} denied.test unnamed.test
{PRIVATE} rebound.test
{NAMED_PRIVATE} named.test
127.0.0.1 loop.test
"""
POLICY = [
    {"id": "sites", "effect": "auto_approve", "match": {"host": ["allowed.test", "rebound.test", "named.test", "loop.test",
                                                                 "gone.test", NAMED_PRIVATE]}},
    {"id": "port", "effect": "auto_approve", "match": {"tool": "network", "argIn": {"authority": ["allowed.test:8443",
                                                                                                 "rebound.test:8443"]}}},
    {"id": "bad", "effect": "deny", "match": {"host": "denied.test"}, "reason": "secret reason", "tell": "Not there."},
    {"id": "ask", "effect": "require_approval", "match": {"host": "ask.test"}},
]
passed = failed = 0
seen = {}  # (address, port): the bytes of each connection
lock = threading.Lock()


def check(good, what, got=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"failed: {what}: {str(got)[:1500]}")


def raise_interfaces():
    """lo, and the addresses of the sites on it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1))
        for number, address in enumerate((SITE, OTHER_SITE, PRIVATE, NAMED_PRIVATE)):
            fcntl.ioctl(s, 0x8916, struct.pack("16sHH4s8x", f"lo:{number + 1}".encode(), socket.AF_INET, 0,
                                               socket.inet_aton(address)))


def answer(connection, key):
    got = b""
    connection.settimeout(20)
    try:
        while b"\r\n\r\n" not in got:
            more = connection.recv(65536)
            if not more:
                break
            got += more
        head, _, body = got.partition(b"\r\n\r\n")
        length = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while length and len(body) < length[0]:
            more = connection.recv(65536)
            if not more:
                break
            body, got = body + more, got + more
        if b" /away" in head.split(b"\r\n")[0]:
            connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://denied.test/\r\nContent-Length: 0\r\n\r\n")
        elif b" /long" in head.split(b"\r\n")[0]:
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * 3000000)
        else:
            text = json.dumps({"site": key[0], "got": len(body)}).encode()
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
        connection.settimeout(0.3)
        while more := connection.recv(65536):
            got += more
    except OSError:
        pass
    connection.close()
    with lock:
        seen.setdefault(key, []).append(got)


def serve(address, port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(600)

    def loop():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection, (address, port)), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()


def serve_udp(address, port):
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((address, port))

    def loop():
        while True:
            data, _ = listener.recvfrom(2048)
            with lock:
                seen.setdefault((address, port), []).append(data)
    threading.Thread(target=loop, daemon=True).start()


def approve_what_waits(state, done):
    while not done.is_set():
        waiting = subprocess.run([CALLGATE, "pending", "--state", state, "--json"], capture_output=True, text=True).stdout
        for word in waiting.split('"code":"')[1:]:
            subprocess.run([CALLGATE, "approve", word.split('"')[0], "--state", state], capture_output=True)
        done.wait(0.3)


def events(state):
    with open(state + "/journal.jsonl", encoding="utf-8") as journal:
        return [json.loads(line) for line in journal]


def check_journal(state):
    decided = [(e["kind"], e["input"].get("url") or e["input"].get("authority"), e["input"]["method"]) for e in events(state)
               if e.get("toolName") == "network" and e.get("input")]
    for want in (("policy.allow", "http://allowed.test/curl", "GET"), ("policy.allow", "http://allowed.test/python", "GET"),
                 ("policy.allow", "https://allowed.test/", "CONNECT"), ("policy.deny", "http://denied.test/", "GET"),
                 ("policy.deny", "https://denied.test/", "CONNECT"), ("policy.deny", f"http://{SITE}/", "GET"),
                 ("policy.deny", "http://unnamed.test/", "GET"), ("policy.allow", "http://allowed.test/away", "GET"),
                 ("policy.deny", "allowed.test:22", "CONNECT"), ("policy.allow", "allowed.test:8443", "CONNECT"),
                 ("policy.deny", "denied.test:8443", "CONNECT"), ("policy.deny", "allowed.test:8080", "GET"),
                 ("policy.allow", "http://rebound.test/", "GET"), ("policy.deny", f"http://{PRIVATE}/", "GET"),
                 ("policy.deny", f"{PRIVATE}:8443", "CONNECT"), ("policy.deny", "http://127.0.0.1/", "GET"),
                 ("policy.allow", f"http://{NAMED_PRIVATE}/", "GET"), ("policy.allow", "http://ask.test/", "GET")):
        check(want in decided, f"in the journal: {want}", decided)
    malformed = [e for e in events(state) if e.get("toolName") == "network" and "malformed" in str(e.get("reason"))]
    check(len(malformed) >= 20, "attacks on the head are in the journal", len(malformed))
    for e in events(state):
        if e["kind"] == "policy.deny" and e.get("sessionKey"):
            check(e["sessionKey"]["channel"] == "net-test", "the session is named", e)
            break
    verified = subprocess.run([CALLGATE, "journal", "verify", "--state", state], capture_output=True, text=True)
    check(verified.returncode == 0, "the journal verifies", verified)


def check_run(state, policy, project):
    """`run --confine --confine-net`: the server's requests are judged under its name."""
    server = ("import sys, urllib.request\n"
              "for line in sys.stdin:\n"
              "    print(urllib.request.urlopen('http://allowed.test/server').status, file=sys.stderr, flush=True)\n"
              "    break\n")
    got = subprocess.run([CALLGATE, "run", "--server", "fs", "--confine", "--confine-net", "--policy", policy, "--state", state,
                          "--", sys.executable, "-c", server], cwd=project, capture_output=True, text=True, timeout=60,
                         input='{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    check("200" in got.stderr, "a confined server reaches an allowed host", got)
    named = [e for e in events(state) if e.get("toolName") == "network" and "/server" in str(e.get("input"))]
    check(named and named[0].get("server", named[0].get("serverName", "")) == "fs", "under its server's name", named)


def check_print(state, policy, project):
    for option, want in ((["--confine-net"], "by a proxy outside"), (["--no-net"], "network   none"), ([], "network   as outside")):
        got = subprocess.run([CALLGATE, "confine", *option, "--policy", policy, "--state", state, "--print"], cwd=project,
                             capture_output=True, text=True)
        check(want in got.stdout, f"--print {option}", got)
    both = subprocess.run([CALLGATE, "confine", "--no-net", "--confine-net", "--policy", policy, "--state", state, "--", "true"],
                          cwd=project, capture_output=True, text=True)
    check(both.returncode == 2, "two networks at once", both)
    code = subprocess.run([CALLGATE, "confine", "--confine-net", "--policy", policy, "--state", state, "--", "sh", "-c", "exit 7"],
                          cwd=project, capture_output=True, text=True)
    check(code.returncode == 7, "the program's own exit code", code)


def check_broker(state, policy, project):
    """The same, judged by a broker outside."""
    gate = state + "/gate.sock"
    broker = subprocess.Popen([CALLGATE, "serve", "--policy", policy, "--state", state, "--quiet"], cwd=project)
    for _ in range(100):
        if os.path.exists(gate):
            break
        time.sleep(0.1)
    got = subprocess.run([CALLGATE, "confine", "--confine-net", "--gate", gate, "--policy", policy, "--state", state, "--", "sh", "-c",
                          "curl -s -m 20 http://allowed.test/broker; curl -s -m 20 http://unnamed.test/broker"],
                         cwd=project, capture_output=True, text=True, timeout=60)
    check(SITE in got.stdout and "denied" in got.stdout, "a broker judges", got)
    broker.terminate()
    broker.wait()


def trial(top):
    state, project, policy = top + "/state", top + "/project", top + "/policy.json"
    os.mkdir(state, 0o700)
    os.mkdir(project)
    shutil.copy2(HERE + "/network_inside.py", top)  # where it can be seen: /tmp is private inside
    with open(policy, "w", encoding="utf-8") as file:
        json.dump(POLICY, file)
    with open(top + "/hosts", "w", encoding="utf-8") as file:
        file.write(HOSTS)
    os.chmod(top + "/hosts", 0o644)
    subprocess.run(["mount", "--bind", top + "/hosts", "/etc/hosts"], check=True)
    if not os.access("/root", os.X_OK):  # a user without rights is root here, and root's home is not theirs
        subprocess.run(["mount", "-t", "tmpfs", "none", "/root"], check=True)
    raise_interfaces()
    for address in (SITE, OTHER_SITE, PRIVATE, NAMED_PRIVATE, "127.0.0.1"):
        for port in (80, 443, 8080, 8443):
            serve(address, port)
    serve_udp(SITE, 53)
    done = threading.Event()
    people = threading.Thread(target=approve_what_waits, args=(state, done))
    people.start()
    inside = subprocess.run([CALLGATE, "confine", "--confine-net", "--channel", "net-test", "--policy", policy, "--state", state, "--",
                             sys.executable, top + "/network_inside.py"],
                            cwd=project, capture_output=True, text=True, timeout=200)
    done.set()
    people.join()
    results = [json.loads(line) for line in inside.stdout.splitlines() if line.startswith("[")]
    for name, good, got in results:
        check(good, name, got)
    check(inside.returncode == 0 and len(results) >= 60, f"all was tried ({len(results)})", inside)
    with lock:
        arrived = {key: list(value) for key, value in seen.items()}
    for key in ((OTHER_SITE, 80), (OTHER_SITE, 443), (OTHER_SITE, 8443), (PRIVATE, 80), (PRIVATE, 8443), (SITE, 8080), (SITE, 53),
                ("127.0.0.1", 80)):
        check(key not in arrived, f"nothing arrives at {key}", arrived.get(key))
    for key, connections in arrived.items():
        for got in connections:
            check(b"SMUGGLED" not in got and b"Proxy-" not in got and b"keep-alive" not in got, f"what arrives at {key}", got)
    check(any(b"X-Kept: 1" in got for got in arrived[(SITE, 80)]), "other fields arrive")
    check_journal(state)
    check_print(state, policy, project)
    check_run(state, policy, project)
    check_broker(state, policy, project)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


def main():
    if len(sys.argv) > 2:
        return trial(sys.argv[2])
    if subprocess.run(["unshare", "-Urmpnif", "true"], capture_output=True).returncode != 0:
        print("no user namespaces here\n0 passed, 0 failed, 1 skipped")
        return 77
    if shutil.which("curl") is None:
        print("no curl here\n0 passed, 0 failed, 1 skipped")
        return 77
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        return subprocess.run(["unshare", "-Urmn", sys.executable, os.path.abspath(__file__), CALLGATE, os.path.realpath(top)]).returncode


if __name__ == "__main__":
    sys.exit(main())
