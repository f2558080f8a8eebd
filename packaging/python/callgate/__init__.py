"""Decides whether an AI agent's tool call runs, is denied, or waits for a person: load, judge, explain."""
import json
import os
import pwd

from cffi import FFI

from .api import DECLARATIONS

ffi = FFI()
ffi.cdef(DECLARATIONS)
lib = ffi.dlopen(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libcallgate.so"))
__version__ = ffi.string(lib.cg_version()).decode()


class PolicyError(ValueError):
    """A policy that cannot be loaded; `findings` are its errors: code, line, column, message."""

    def __init__(self, findings):
        super().__init__("\n".join(f"{line}:{column}: {message}" for _, line, column, message in findings))
        self.findings = findings


def _text(function, *arguments):
    """What a function that prints as snprintf does has to say."""
    room = ffi.new("char[]", function(*arguments, ffi.NULL, 0) + 1)
    return ffi.buffer(room, function(*arguments, room, len(room)))[:].decode()


class Policy:
    """A policy, from its text. Relative paths start at cwd (default: where this process is), ~ at home."""

    def __init__(self, text, cwd=None, home=None, name="policy"):
        self._keep = [ffi.new("char[]", os.fsencode(part)) for part in
                      (name, cwd or os.getcwd(), home or pwd.getpwuid(os.getuid()).pw_dir, text.encode())]
        self._base = ffi.new("cg_base *", {"size": ffi.sizeof("cg_base"), "cwd": self._keep[1], "home": self._keep[2]})
        document = ffi.new("cg_document *", {"name": self._keep[0], "text": self._keep[3], "length": len(text.encode())})
        report = ffi.new("cg_report **")
        policy = lib.cg_policy_load(document, 1, self._base, report)
        found = list(_findings(ffi.gc(report[0], lib.cg_report_free)))
        if not policy:
            raise PolicyError(found)
        self._policy = ffi.gc(policy, lib.cg_policy_free)

    def _evaluate(self, call):
        said = (call if isinstance(call, str) else json.dumps(call)).encode()
        made = ffi.gc(lib.cg_call_create(said, len(said)), lib.cg_call_free)
        readings = ffi.gc(lib.cg_readings_make(self._policy, made, self._base), lib.cg_readings_free)
        decision = ffi.new("cg_decision *", {"size": ffi.sizeof("cg_decision")})
        lib.cg_evaluate(self._policy, made, readings, ffi.NULL, decision)
        return json.loads(_text(lib.cg_decision_json, self._policy, decision)), readings, decision

    def judge(self, call):
        """The decision for a call (a dict, or its JSON), as `callgate eval` prints it. Run only what is "allow"."""
        return self._evaluate(call)[0]

    def explain(self, call):
        """The decision, the canonical paths that the call can be read as, which of them decided, and the rule's text."""
        decided, readings, decision = self._evaluate(call)
        length = ffi.new("size_t *")
        paths = []
        for i in range(lib.cg_readings_count(readings)):
            path = lib.cg_readings_path(readings, i, length, ffi.NULL)
            paths.append(ffi.buffer(path, length[0])[:].decode() if path else None)
        rule = decided.get("rule")
        text = _text(lib.cg_policy_rule_text, self._policy, rule.encode()) if rule else ""
        return {"decision": decided, "reading": decision.reading, "paths": paths, "rule": json.loads(text) if text else None}


def _findings(report):
    finding = ffi.new("cg_finding *", {"size": ffi.sizeof("cg_finding")})
    for i in range(lib.cg_report_count(report)):
        if lib.cg_report_get(report, i, finding) and finding.severity == lib.CG_ERROR:
            yield (ffi.string(finding.code).decode(), finding.line, finding.column,
                   ffi.buffer(finding.message, finding.message_length)[:].decode())
