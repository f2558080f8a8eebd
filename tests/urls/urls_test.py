#!/usr/bin/env python3
"""urls_test.py MAKE_URLS NODE [COUNT [SEED]]: for every URL that is read as a host, other parsers go to that host.

Made URLs (see make_urls.c) are given to Node's URL and to ada-url, which follow the WHATWG's standard, and to libcurl.
A parser may refuse one, and then goes nowhere: but only for a port above 65535, a label that begins `xn--` or is
longer than 63 bytes, or a name that is too long.
"""
import ctypes
import ctypes.util
import ipaddress
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, "..", "..", ".venv", "bin", "python3")
MAY_REFUSE = re.compile(r"(?i)(^|\.)xn--|[^.]{64}")
PORT = re.compile(r"^[a-z]+://(?:\[[^]]*\]|[^:/?#]*):(\d+)", re.I)

try:
    import ada_url
except ImportError:
    ada_url = None
    if os.path.exists(VENV) and os.environ.get("URLS_TEST_VENV") is None:
        os.environ["URLS_TEST_VENV"] = "1"
        os.execv(VENV, [VENV] + sys.argv)

passed = failed = skipped = 0


def canonical(host):
    """A host as a parser gives it, in our form."""
    if host.startswith("["):
        address = ipaddress.IPv6Address(host[1:-1])
        four = address.ipv4_mapped
        return str(four) if four else "[" + compressed(address) + "]"
    return host[:-1].lower() if host.endswith(".") else host.lower()


def compressed(address):
    """RFC 5952, which Python follows but for what it writes as dotted numbers in some releases."""
    text = address.compressed
    if "." in text:
        high, low = int(address) >> 16 & 0xFFFF, int(address) & 0xFFFF
        text = re.sub(r"\d+\.\d+\.\d+\.\d+$", f"{high:x}:{low:x}", text)
    return text


class Curl:
    """libcurl's URL API."""
    URL, HOST, FLAGS = 0, 5, 1 << 3  # CURLUPART_URL, CURLUPART_HOST, CURLU_NON_SUPPORT_SCHEME

    def __init__(self):
        name = ctypes.util.find_library("curl")
        self.lib = ctypes.CDLL(name) if name else None
        if self.lib:
            self.lib.curl_url.restype = ctypes.c_void_p
            self.lib.curl_url_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
            self.lib.curl_url_get.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint]
            self.lib.curl_free.argtypes = [ctypes.c_void_p]
            self.handle = self.lib.curl_url()

    def host(self, url):
        if self.lib.curl_url_set(self.handle, self.URL, url, self.FLAGS) != 0:
            return None
        text = ctypes.c_void_p()
        if self.lib.curl_url_get(self.handle, self.HOST, ctypes.byref(text), 0) != 0:
            return None
        host = ctypes.string_at(text).decode("utf-8", "replace")
        self.lib.curl_free(text)
        return host


def may_refuse(url, host):
    port = PORT.match(url)
    return MAY_REFUSE.search(host) or (port and int(port.group(1)) > 65535)


def judge(name, url, want, got):
    """Counts one answer; None is a refusal."""
    global passed, failed
    if got == want or (got is None and may_refuse(url, want)):
        passed += 1
    else:
        failed += 1
        if failed < 50:
            print(f"{name}: {url}: {'is refused' if got is None else 'goes to ' + got}, and is read as {want}")


def python_parsers(path):
    global skipped
    curl = Curl()
    skipped += (not curl.lib) + (not ada_url)
    with open(path, "rb") as lines:
        for line in lines:
            raw, want = line.rstrip(b"\n").rsplit(b" ", 1)
            url, want = raw.decode("utf-8", "surrogateescape"), want.decode()
            if curl.lib:
                got = curl.host(raw)
                judge("curl", url, want, got if got is None else canonical(got))
            if ada_url:
                try:
                    got = canonical(ada_url.URL(raw.decode("utf-8", "replace")).hostname)
                except ValueError:
                    got = None
                judge("ada", url, want, got)


def node_parser(node, path):
    global passed
    result = subprocess.run([node, os.path.join(HERE, "node_urls.mjs"), path], capture_output=True)
    lines = result.stdout.decode("utf-8", "replace").splitlines()
    end = re.match(r"(\d+) same, (\d+) refused$", lines[-1] if lines else "")
    if result.returncode != 0 or not end:
        judge("node", "all of them", "", "nothing: " + result.stderr.decode()[-500:])
        return
    passed += int(end.group(1))
    for line in lines[:-1]:
        got, url, want = line.split(" ", 1)[0], *line.split(" ", 1)[1].rsplit(" ", 1)
        judge("node", url, want, None if got == "refused" else got)


def main():
    make_urls, node, *rest = sys.argv[1:]
    count, seed = (rest + ["20000", "1"][len(rest):])[:2]
    with tempfile.NamedTemporaryFile(prefix="callgate-urls-") as file:
        subprocess.run([make_urls, "--count", count, "--seed", seed], stdout=file, check=True)
        python_parsers(file.name)
        node_parser(node, file.name)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
