"""network_inside.py: runs confined; what programs reach through the proxy, what has no network, and attacks on the proxy.
Prints [NAME, GOOD, WHAT WAS SEEN] a line."""
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

SITE, PRIVATE, NAMED_PRIVATE = "93.184.216.34", "10.1.2.3", "10.1.2.4"
PROXY = ("127.0.0.1", 3128)


def tell(name, good, got=""):
    print(json.dumps([name, bool(good), str(got)[:800]]), flush=True)


def curl(*words):
    got = subprocess.run(["curl", "-sS", "-m", "40", *words], capture_output=True, text=True)
    return got.stdout + got.stderr


def raw(request, wait=20, rest=b""):
    """What the proxy says to these bytes, until it closes; whatever."""
    with socket.create_connection(PROXY, timeout=wait) as s:
        got = b""
        try:
            s.sendall(request)
            if rest:
                time.sleep(0.3)
                s.sendall(rest)
            while more := s.recv(65536):
                got += more
        except OSError as error:
            got += repr(error).encode()
        return got


def programs():
    tell("curl: allowed", SITE in curl("http://allowed.test/curl"))
    tell("curl: a tunnel to 443", SITE in (got := curl("-p", "http://allowed.test:443/tunnel")), got)
    tell("curl: a body", '"got": 100000' in (got := curl("-d", "x" * 100000, "-H", "X-Kept: 1", "http://allowed.test/body")), got)
    tell("curl: a long answer", len(curl("http://allowed.test/long")) == 3000000)
    got = curl("http://denied.test/")
    tell("curl: denied, with the rule's words for the agent alone", "Not there." in got and "secret" not in got, got)
    tell("curl: a tunnel denied", "403" in (got := curl("https://denied.test/")), got)
    tell("curl: a name without a rule", "denied" in (got := curl("http://unnamed.test/")), got)
    tell("curl: an address in place of its name", "denied" in (got := curl(f"http://{SITE}/")), got)
    tell("curl: a redirect to a denied host", "Not there." in (got := curl("-L", "http://allowed.test/away")), got)
    tell("curl: a tunnel to another port", "403" in (got := curl("-p", "http://allowed.test:22/")), got)
    tell("curl: a port that a rule names", SITE in (got := curl("-p", "http://allowed.test:8443/")), got)
    tell("curl: a denied host at another port", "403" in (got := curl("-p", "http://denied.test:8443/")), got)
    tell("curl: another port without a tunnel", "denied" in (got := curl("http://allowed.test:8080/")), got)
    tell("curl: a name that leads into a private network", "denied" in (got := curl("http://rebound.test/")), got)
    tell("curl: the same at a port that a rule names", "403" in (got := curl("-p", "http://rebound.test:8443/")), got)
    tell("curl: a name that leads to the machine itself", "denied" in (got := curl("--noproxy", "x", "http://loop.test/")), got)
    tell("curl: a private address that a rule names", NAMED_PRIVATE in (got := curl("http://named.test/")), got)
    tell("curl: a name that is none", "not known" in (got := curl("http://gone.test/")), got)
    tell("curl: a person approves", SITE in (got := curl("http://ask.test/")), got)
    tell("python: allowed", urllib.request.urlopen("http://allowed.test/python", timeout=20).status == 200)
    for url in ("http://denied.test/", f"http://{SITE}/"):
        try:
            tell(f"python: {url}", False, urllib.request.urlopen(url, timeout=20).read())
        except urllib.error.HTTPError as error:
            tell(f"python: {url}", error.code == 403, error)
    if shutil.which("npm"):
        environment = dict(os.environ, npm_config_cache="/tmp/npm", npm_config_update_notifier="false", npm_config_fetch_retries="0",
                           HOME="/tmp")
        for host, want in (("allowed.test", 0), ("denied.test", 1)):
            got = subprocess.run(["npm", "ping", "--registry", f"http://{host}/"], capture_output=True, text=True, env=environment)
            tell(f"npm: {host}", (got.returncode != 0) == want, got)


def no_network():
    def attempt(name, act):
        try:
            tell(f"no network: {name}", False, act())
        except OSError as error:
            tell(f"no network: {name}", True, error)
    attempt("TCP", lambda: socket.create_connection((SITE, 80), timeout=5))
    attempt("TCP to the machine's loopback", lambda: socket.create_connection(("127.0.0.1", 80), timeout=5))
    attempt("UDP", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (SITE, 53)))
    attempt("DNS", lambda: socket.getaddrinfo("example.org", 80))
    attempt("IPv6", lambda: socket.create_connection(("2606:2800:220:1::1", 80), timeout=5))
    attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
    attempt("packets", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        own.listen()
        tell("its own loopback works", socket.create_connection(own.getsockname(), timeout=5))


GOOD = b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n"
SMUGGLED = b"GET http://denied.test/SMUGGLED HTTP/1.1\r\nHost: denied.test\r\n\r\n"
BAD_HEADS = {
    "Host of another host": b"GET http://allowed.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n",
    "Host with another port": b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test:81\r\n\r\n",
    "Host twice": GOOD + b"Host: denied.test\r\n\r\n",
    "Host with a user": b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test@denied.test\r\n\r\n",
    "a user in the URL": b"GET http://allowed.test@denied.test/ HTTP/1.1\r\n\r\n",
    "a user in a tunnel": b"CONNECT allowed.test@denied.test:443 HTTP/1.1\r\n\r\n",
    "a zone in an address": b"CONNECT [fe80::1%25lo]:443 HTTP/1.1\r\n\r\n",
    "a zone, not escaped": b"GET http://[fe80::1%lo]/ HTTP/1.1\r\n\r\n",
    "an escape in the host": b"GET http://allowed%2etest/ HTTP/1.1\r\n\r\n",
    "an address as one number": b"GET http://1572395042/ HTTP/1.1\r\n\r\n",
    "an address in octal": b"GET http://0135.184.216.34/ HTTP/1.1\r\n\r\n",
    "a backslash": b"GET http://allowed.test\\@denied.test/ HTTP/1.1\r\n\r\n",
    "a fragment": b"GET http://allowed.test/#@denied.test HTTP/1.1\r\n\r\n",
    "a path alone": b"GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
    "https without a tunnel": b"GET https://allowed.test/ HTTP/1.1\r\n\r\n",
    "another scheme": b"GET ftp://allowed.test/ HTTP/1.1\r\n\r\n",
    "a tunnel without a port": b"CONNECT allowed.test HTTP/1.1\r\n\r\n",
    "a tunnel to a URL": b"CONNECT http://allowed.test:443/ HTTP/1.1\r\n\r\n",
    "port 0": b"CONNECT allowed.test:0 HTTP/1.1\r\n\r\n",
    "a port beyond": b"CONNECT allowed.test:65979 HTTP/1.1\r\n\r\n",
    "a port with a zero": b"CONNECT allowed.test:0443 HTTP/1.1\r\n\r\n",
    "line feeds alone": b"GET http://allowed.test/ HTTP/1.1\nHost: allowed.test\n\n",
    "a line feed alone": GOOD + b"X: 1\nHost: denied.test\r\n\r\n",
    "a carriage return alone": GOOD + b"X: 1\rHost: denied.test\r\n\r\n",
    "a folded line": GOOD + b"X: 1\r\n Host: denied.test\r\n\r\n",
    "a space before the colon": GOOD + b"Content-Length : 5\r\n\r\n",
    "a NUL": GOOD + b"X: \0\r\n\r\n",
    "no version": b"GET http://allowed.test/\r\n\r\n",
    "HTTP/2": b"GET http://allowed.test/ HTTP/2.0\r\n\r\n",
    "a tab in the first line": b"GET\thttp://allowed.test/ HTTP/1.1\r\n\r\n",
    "two spaces": b"GET  http://allowed.test/ HTTP/1.1\r\n\r\n",
    "two lengths": GOOD + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "a list of lengths": GOOD + b"Content-Length: 0, 0\r\n\r\n",
    "a signed length": GOOD + b"Content-Length: +5\r\n\r\n",
    "a chunked body": GOOD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "a body in two ways": GOOD + b"Content-Length: 5\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "a tunnel with a body": b"CONNECT allowed.test:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
    "bytes before the tunnel is open": b"CONNECT allowed.test:443 HTTP/1.1\r\n\r\nSMUGGLED",
    "a head too long": GOOD + b"X: " + b"a" * 20000 + b"\r\n\r\n",
    "too many fields": GOOD + b"X: 1\r\n" * 200 + b"\r\n",
    "TLS": b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
}


def attacks():
    slow = socket.create_connection(PROXY, timeout=30)
    slow.sendall(b"GET http://allowed.test/ HT")
    for name, request in BAD_HEADS.items():
        got = raw(request)
        tell(f"attack: {name}", got.startswith(b"HTTP/1.1 400 "), got)
    got = raw(GOOD + b"X-Kept: 1\r\nProxy-Authorization: x\r\nConnection: keep-alive\r\n\r\n" + SMUGGLED)
    tell("attack: a second request behind the first", got.count(b"HTTP/1.1 ") == 1 and b" 200 " in got, got)
    got = raw(GOOD + b"Content-Length: 5\r\n\r\nhello" + SMUGGLED)
    tell("attack: a second request behind a body", got.count(b"HTTP/1.1 ") == 1 and b'"got": 5' in got, got)
    got = raw(GOOD + b"Content-Length: 5\r\n\r\nhel", rest=b"lo" + SMUGGLED)
    tell("attack: the same in two parts", got.count(b"HTTP/1.1 ") == 1 and b'"got": 5' in got, got)
    begun = time.time()
    many = []
    for _ in range(200):
        many.append(socket.create_connection(PROXY, timeout=30))
        many[-1].sendall(GOOD + b"\r\n")
    answers = sum(b" 200 OK" in s.recv(4096) for s in many)
    tell("200 connections at once", answers == 200, f"{answers} in {time.time() - begun:.1f} s")
    for s in many:
        s.close()
    crowd = [socket.create_connection(PROXY, timeout=30) for _ in range(400)]
    time.sleep(0.5)
    for s in crowd:
        s.close()
    time.sleep(0.5)
    tell("after 400 that say nothing it serves on", SITE in (got := curl("http://allowed.test/after")), got)
    got = slow.recv(4096)
    tell("a head that does not come is not waited for", got.startswith(b"HTTP/1.1 408 "), got)


programs()
no_network()
attacks()
