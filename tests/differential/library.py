"""libcallgate in this process, behind the same face as the program: what the random tests and the enumeration call
thousands of times. Only `eval` and `check`; only what callgate.h promises."""
import ctypes
import hashlib
import json
import os

TIERS = {None: 0, "admin": 1, "user": 2, "workspace": 3}
c_text, c_size, pointer = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p


class Document(ctypes.Structure):
    _fields_ = [("name", c_text), ("tier", ctypes.c_int), ("text", c_text), ("length", c_size)]


class Base(ctypes.Structure):
    _fields_ = [("size", c_size), ("cwd", c_text), ("home", c_text), ("roots", ctypes.POINTER(c_text)),
                ("root_count", c_size)]


class Finding(ctypes.Structure):
    _fields_ = [("size", c_size), ("severity", ctypes.c_int), ("code", c_text), ("file", pointer), ("line", ctypes.c_uint32),
                ("column", ctypes.c_uint32), ("pointer", pointer), ("rule", pointer), ("message", pointer), ("later", pointer),
                ("earlier", pointer), ("cross_tier", ctypes.c_int), *((name + "_length", c_size) for name in (
                    "file", "pointer", "rule", "message", "later", "earlier"))]


class Approval(ctypes.Structure):
    _fields_ = [("rule", c_text), ("channel", c_text), ("thread", c_text), ("granted", ctypes.c_int64),
                ("expires", ctypes.c_int64), ("call_hash", c_text)]


class Approvals(ctypes.Structure):
    _fields_ = [("size", c_size), ("list", ctypes.POINTER(Approval)), ("count", c_size), ("now", ctypes.c_int64),
                ("call_hash", c_text)]


class Decision(ctypes.Structure):
    _fields_ = [("size", c_size), ("kind", ctypes.c_int), ("rule", c_text), ("rule_length", c_size),
                ("ttl_ms", ctypes.c_uint32), ("approvers", ctypes.c_uint32), ("reading", c_size), ("private_", ctypes.c_uint64 * 6)]


class Library:
    def __init__(self, path):
        lib = self.lib = ctypes.CDLL(os.path.abspath(path))
        self.buffer = ctypes.create_string_buffer(1 << 16)
        for name, result, *arguments in (
                ("cg_policy_load", pointer, pointer, c_size, pointer, pointer), ("cg_policy_free", None, pointer),
                ("cg_policy_rules", c_size, pointer), ("cg_report_get", ctypes.c_int, pointer, c_size, pointer),
                ("cg_report_free", None, pointer), ("cg_call_create", pointer, c_text, c_size),
                ("cg_call_free", None, pointer), ("cg_call_text", pointer, pointer, pointer),
                ("cg_readings_make", pointer, pointer, pointer, pointer), ("cg_readings_free", None, pointer),
                ("cg_evaluate", None, pointer, pointer, pointer, pointer, pointer),
                ("cg_decision_json", c_size, pointer, pointer, c_text, c_size)):
            function = getattr(lib, name)
            function.restype, function.argtypes = result, list(arguments)
        if lib.cg_abi_version() != 1:
            raise SystemExit(f"{path}: another ABI than these tests know")

    def load(self, documents, base):
        """documents: (tier, bytes, name). (policy or None, findings as dicts)."""
        array = (Document * max(1, len(documents)))(*[
            Document(name.encode(), TIERS[tier], text, len(text)) for tier, text, name in documents])
        report = ctypes.c_void_p()
        policy = self.lib.cg_policy_load(array, len(documents), ctypes.byref(base), ctypes.byref(report))
        found, each = [], Finding(size=ctypes.sizeof(Finding))
        while self.lib.cg_report_get(report, len(found), ctypes.byref(each)):
            found.append({name: self.text_of(each, name) for name, _ in Finding._fields_})
        self.lib.cg_report_free(report)
        return policy, found

    @staticmethod
    def text_of(found, name):
        value = getattr(found, name)
        if hasattr(found, name + "_length"):
            return ctypes.string_at(value, getattr(found, name + "_length")).decode("utf-8", "replace")
        return value.decode() if isinstance(value, bytes) else value

    @staticmethod
    def base(cwd, home, roots=()):
        array = (c_text * max(1, len(roots)))(*[os.fsencode(root) for root in roots])
        base = Base(ctypes.sizeof(Base), os.fsencode(cwd), os.fsencode(home), array, len(roots))
        base.kept = array
        return base

    def call(self, text):
        """(call, its hash): for `decide`, as often as wanted; the call is this process's to keep."""
        call, length = self.lib.cg_call_create(text, len(text)), c_size()
        canonical = self.lib.cg_call_text(call, ctypes.byref(length))
        return call, hashlib.sha256(ctypes.string_at(canonical, length.value)).digest() if canonical else None

    def decide(self, policy, call, base, approvals=(), now=0):
        """The decision's text for what `call` gave."""
        lib, (call, digest) = self.lib, call
        given = (Approval * max(1, len(approvals)))(*approvals)
        store = Approvals(ctypes.sizeof(Approvals), given, len(approvals), now, digest)
        readings = lib.cg_readings_make(policy, call, ctypes.byref(base))
        decision = Decision(size=ctypes.sizeof(Decision))
        lib.cg_evaluate(policy, call, readings, ctypes.byref(store), ctypes.byref(decision))
        size = lib.cg_decision_json(policy, ctypes.byref(decision), self.buffer, len(self.buffer))
        lib.cg_readings_free(readings)
        return ctypes.string_at(self.buffer, size)

    def run(self, arguments, cwd, text=b""):
        """As tests/cases' programs are run: (exit status, standard output, standard error)."""
        command, words, given = arguments[0], list(arguments[1:]), {}
        while words:
            word = words.pop(0)
            if word != "-":
                given.setdefault(word, []).append(words.pop(0))
        documents = []
        for word in given.get("--policy", []):
            tier, equals, name = word.partition("=")
            tier, name = (tier, name) if equals else (None, word)
            with open(name, "rb") as file:
                documents.append((tier, file.read(), name))
        base = self.base(cwd, given["--home"][-1], given.get("--root", ()))
        policy, found = self.load(documents, base)
        try:
            return self._check(policy, found) if command == "check" else self._eval(policy, given, base, text)
        finally:
            self.lib.cg_policy_free(policy)

    @staticmethod
    def _check(policy, found):
        errors = [dict(each, rule=each["rule"] or None) for each in found if each["severity"] == 1]
        warnings = [{"kind": each["code"], "later": each["later"] or None, "earlier": each["earlier"] or None,
                     "crossTier": bool(each["cross_tier"]) if each["code"] == "shadow" else None,
                     "rule": each["rule"] if each["code"] != "shadow" else None}
                    for each in found if each["severity"] == 2]
        return (1 if errors else 0), json.dumps({"errors": errors, "warnings": warnings}).encode(), b""

    def _eval(self, policy, given, base, text):
        if not policy:
            return 2, b"", b""
        approvals = []
        for name in given.get("--approvals", []):
            with open(name, "rb") as file:
                for each in json.load(file):
                    digest = bytes.fromhex(each["callHash"]) if each.get("callHash") else None
                    approvals.append(Approval(each["rule"].encode(), each["channel"].encode(), each["thread"].encode(),
                                              each["granted"], each["expires"], digest))
        lines = []
        for line in filter(None, text.split(b"\n")):
            call = self.call(with_session(line))
            lines.append(self.decide(policy, call, base, approvals, int(given["--now"][-1])))
            self.lib.cg_call_free(call[0])
        return 0, b"".join(line + b"\n" for line in lines), b""


def with_session(line):
    """The session that the command line gives a call that names none: the library leaves that to its caller."""
    try:
        call = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(call, dict) or "sessionKey" in call:
        return line
    comma = b"," if call else b""
    return line.replace(b"{", b'{"sessionKey":{"channel":"C1","thread":"1.1"}' + comma, 1)
