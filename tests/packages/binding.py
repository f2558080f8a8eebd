"""binding.py VERSION: the Python binding, as a stranger uses it."""
import sys

import callgate

RULES = ('[{"id": "no-etc", "effect": "deny", "match": {"pathPrefix": "/etc"}, "reason": "system files"},'
         ' {"id": "ask", "effect": "require_approval", "match": {"tool": "write_file"}}]')
policy = callgate.Policy(RULES)
assert callgate.__version__ == sys.argv[1], callgate.__version__
denied = policy.judge({"tool": "read_file", "input": {"path": "/srv/../etc/passwd"}})
assert denied == {"kind": "deny", "rule": "no-etc", "reason": "system files"}, denied
assert policy.judge('{"tool": "read_file", "input": {"path": "/srv/x"}}') == {"kind": "allow"}
assert policy.judge({"tool": "write_file"})["kind"] == "require"
assert policy.judge("no call at all")["kind"] == "deny"
assert policy.judge({"tool": "n\u00efce", "input": {"path": "/\u00e9tc"}})["kind"] == "allow"
why = policy.explain({"tool": "read_file", "input": {"path": "/srv/../etc/passwd"}})
assert why["decision"] == denied and why["paths"][why["reading"]] == "/etc/passwd", why
assert why["rule"]["effect"] == "deny" and why["rule"]["match"] == {"pathPrefix": "/etc"}, why
try:
    callgate.Policy('[{"id": "x", "effct": "deny"}]')
except callgate.PolicyError as error:
    assert any(code == "unknown-key" and "did you mean" in message for code, _, _, message in error.findings), error
else:
    raise AssertionError("a policy with a mistake was loaded")
for _ in range(2000):  # nothing is freed twice, nothing too early
    callgate.Policy(RULES).explain({"tool": "read_file", "input": {"path": "/etc"}})
print("the binding holds")
