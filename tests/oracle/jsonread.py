"""One strict read of JSON bytes (RFC 8259, UTF-8) into nodes that know where they stand.

Offsets are bytes from the start of the text. A duplicate key is no error of the reader: each repeat is noted,
because a document reports all of them and a call is refused for one.
"""
import re

SPACE = re.compile(rb"[ \t\r\n]*")
PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
HEX = frozenset(b"0123456789abcdefABCDEF")
ESCAPES = {ord('"'): '"', ord("\\"): "\\", ord("/"): "/", ord("b"): "\b", ord("f"): "\f",
           ord("n"): "\n", ord("r"): "\r", ord("t"): "\t"}


class Node:
    """A value. `value` is None, a bool, the number's text, a str, a list of nodes or a list of Members."""
    __slots__ = ("kind", "value", "start", "end")

    def __init__(self, kind, value, start, end):
        self.kind, self.value, self.start, self.end = kind, value, start, end

    def get(self, key):
        """The value of the first member of that name, or None."""
        for member in self.value:
            if member.key == key:
                return member.value
        return None


class Member:
    __slots__ = ("key", "start", "value")

    def __init__(self, key, start, value):
        self.key, self.start, self.value = key, start, value


class JsonError(Exception):
    """code is 'json-syntax' or 'limit'. `others` are offsets that the text of the specification allows as well
    (which byte of a bad UTF-8 sequence or of a lone surrogate is the offending one is not said)."""

    def __init__(self, code, offset, others=()):
        super().__init__(f"{code} at byte {offset}")
        self.code, self.offset, self.others = code, offset, tuple(others)


def pointer_join(pointer, token):
    return pointer + "/" + str(token).replace("~", "~0").replace("/", "~1")


class _Reader:
    def __init__(self, text, max_depth):
        self.text, self.max_depth = text, max_depth
        self.duplicates = []  # (offset of the repeated key, its pointer)
        # Bytes past the first malformed UTF-8 are never looked at: the text ends there, badly.
        self.bad = None
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            self.bad = error.start
            self.text = text[:error.start]

    def syntax(self, offset, others=()):
        if self.bad is not None and offset >= self.bad:
            return JsonError("json-syntax", self.bad, range(self.bad, self.bad + 4))
        return JsonError("json-syntax", offset, others)

    def skip(self, at):
        return SPACE.match(self.text, at).end()

    def byte(self, at):
        return self.text[at] if at < len(self.text) else -1

    def expect(self, at, what):
        """Each byte of `what` in turn; the first that differs is the offending one."""
        for index, wanted in enumerate(what):
            if self.byte(at + index) != wanted:
                raise self.syntax(at + index)
        return at + len(what)

    def value(self, at, depth, pointer):
        first = self.byte(at)
        if first in (ord("["), ord("{")):
            if depth >= self.max_depth:
                raise JsonError("limit", at)
            return (self.array if first == ord("[") else self.object)(at, depth + 1, pointer)
        if first == ord('"'):
            text, end = self.string(at)
            return Node("string", text, at, end)
        if first == ord("t"):
            return Node("bool", True, at, self.expect(at, b"true"))
        if first == ord("f"):
            return Node("bool", False, at, self.expect(at, b"false"))
        if first == ord("n"):
            return Node("null", None, at, self.expect(at, b"null"))
        return self.number(at)

    def digits(self, at):
        if not 48 <= self.byte(at) <= 57:
            raise self.syntax(at)
        while 48 <= self.byte(at) <= 57:
            at += 1
        return at

    def number(self, start):
        at = start
        if self.byte(at) == ord("-"):
            at += 1
        at = at + 1 if self.byte(at) == ord("0") else self.digits(at)
        if self.byte(at) == ord("."):
            at = self.digits(at + 1)
        if self.byte(at) in (ord("e"), ord("E")):
            at += 1
            if self.byte(at) in (ord("+"), ord("-")):
                at += 1
            at = self.digits(at)
        return Node("number", self.text[start:at].decode("ascii"), start, at)

    def unit(self, at):
        """Four hex digits: a UTF-16 unit."""
        for index in range(4):
            if self.byte(at + index) not in HEX:
                raise self.syntax(at + index)
        return int(self.text[at:at + 4], 16)

    def string(self, start):
        parts, at = [], start + 1
        while True:
            end = PLAIN.match(self.text, at).end()
            parts.append(self.text[at:end].decode("utf-8"))
            at = end
            byte = self.byte(at)
            if byte == ord('"'):
                return "".join(parts), at + 1
            if byte != ord("\\"):
                raise self.syntax(at)
            escape = self.byte(at + 1)
            if escape in ESCAPES:
                parts.append(ESCAPES[escape])
                at += 2
                continue
            if escape != ord("u"):
                raise self.syntax(at + 1)
            unit = self.unit(at + 2)
            lone = range(at, at + 13)
            if 0xDC00 <= unit <= 0xDFFF:
                raise self.syntax(at, lone)
            if 0xD800 <= unit <= 0xDBFF:
                if self.byte(at + 6) != ord("\\") or self.byte(at + 7) != ord("u"):
                    raise self.syntax(at, lone)
                low = self.unit(at + 8)
                if not 0xDC00 <= low <= 0xDFFF:
                    raise self.syntax(at, lone)
                parts.append(chr(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)))
                at += 12
                continue
            parts.append(chr(unit))
            at += 6

    def array(self, start, depth, pointer):
        items, at = [], self.skip(start + 1)
        if self.byte(at) == ord("]"):
            return Node("array", items, start, at + 1)
        while True:
            item = self.value(at, depth, pointer_join(pointer, len(items)))
            items.append(item)
            at = self.skip(item.end)
            if self.byte(at) == ord("]"):
                return Node("array", items, start, at + 1)
            at = self.skip(self.expect(at, b","))

    def object(self, start, depth, pointer):
        members, seen, at = [], set(), self.skip(start + 1)
        if self.byte(at) == ord("}"):
            return Node("object", members, start, at + 1)
        while True:
            if self.byte(at) != ord('"'):
                raise self.syntax(at)
            key, end = self.string(at)
            below = pointer_join(pointer, key)
            if key in seen:
                self.duplicates.append((at, below))
            seen.add(key)
            item = self.value(self.skip(self.expect(self.skip(end), b":")), depth, below)
            members.append(Member(key, at, item))
            at = self.skip(item.end)
            if self.byte(at) == ord("}"):
                return Node("object", members, start, at + 1)
            at = self.skip(self.expect(at, b","))


def read(text, max_depth=64):
    """The whole text is one value: (node, duplicates). Raises JsonError at the first offending byte."""
    reader = _Reader(text, max_depth)
    node = reader.value(reader.skip(0), 0, "")
    end = reader.skip(node.end)
    if end < len(reader.text) or reader.bad is not None:
        raise reader.syntax(end)
    return node, reader.duplicates


def line_and_column(text, offset):
    """Counted from 1; columns in characters, a CRLF is one line end, a lone CR none."""
    before = text[:offset]
    line = before.count(b"\n") + 1
    start = before.rfind(b"\n") + 1
    return line, len(before[start:].decode("utf-8", "replace")) + 1
