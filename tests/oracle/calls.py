"""A line of bytes to a call, or to the reason why it is refused before evaluation (section 12)."""
from . import jsonread, names

MOST_BYTES = 16 * 1024 * 1024
MALFORMED = "malformed call: "
OVER_LIMIT = "call is over a limit"
FIELDS = ("tool", "input", "server", "sessionKey", "actor", "annotations")
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
EITHER = (True, False)


class Call:
    def __init__(self):
        self.tool = self.server = self.input = None  # input: an object node, or None for {}
        self.channel, self.thread, self.actor = "C1", "1.1", "claude_process"
        self.may_have = dict.fromkeys(HINTS, EITHER)  # what each hint of the tool may be
        self.own_paths = []  # canonical, of the call's own arguments: readings.py fills it in


class Refused(Exception):
    """str() is the decision's reason; for a malformed call it is only its beginning."""


def _malformed():
    return Refused(MALFORMED)


def _string(node):
    if node.kind != "string":
        raise _malformed()
    return node.value


def parse(line, server=None):
    """`server` is what a call that names none comes from."""
    if len(line) > MOST_BYTES:
        raise Refused(OVER_LIMIT)
    try:
        root, duplicates = jsonread.read(line, 65)  # 64 counted from `input`, which stands one level down
    except jsonread.JsonError as error:
        raise Refused(OVER_LIMIT) if error.code == "limit" else _malformed()
    if duplicates or root.kind != "object":
        raise _malformed()
    call = Call()
    call.server = server
    for member in root.value:
        if member.key == "tool":
            call.tool = _string(member.value)
        elif member.key == "server":
            call.server = _string(member.value)
            if not call.server:
                raise _malformed()  # an empty name is half given: no rule and no list could mean it
        elif member.key == "actor":
            call.actor = _string(member.value)
            if call.actor not in ("session_owner", "claude_process"):
                raise _malformed()
        elif member.key == "sessionKey":
            _session(call, member.value)
        elif member.key == "annotations":
            if member.value.kind != "object":
                raise _malformed()
            call.may_have = may_have(member.value)
        elif member.key == "input":
            _input(call, member.value)
        else:
            raise _malformed()
    if not call.tool:
        raise _malformed()
    return call


def may_have(annotations):
    """By hint what a tool's may be. Of a tool that only reads, destroying and calling twice are no question."""
    out = {}
    for name in HINTS:
        node = annotations.get(name)
        if node is not None:
            out[name] = (node.value,) if node.kind == "bool" else EITHER
    out.setdefault("readOnlyHint", (False,))
    out.setdefault("openWorldHint", (True,))
    reads = out["readOnlyHint"]
    out.setdefault("destructiveHint", EITHER if len(reads) == 2 else (not reads[0],))
    out.setdefault("idempotentHint", EITHER if len(reads) == 2 else (reads[0],))
    return out


def _session(call, node):
    if node.kind != "object" or sorted(member.key for member in node.value) != ["channel", "thread"]:
        raise _malformed()
    call.channel, call.thread = _string(node.get("channel")), _string(node.get("thread"))


def _input(call, node):
    if node.kind != "object":
        raise _malformed()
    folded = [names.folded(member.key) for member in node.value]
    if len(set(folded)) != len(folded):
        raise _malformed()
    call.input = node
