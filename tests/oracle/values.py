"""JSON values compared exactly (section 5), and written in the RFC 8785 form (section 9)."""
import hashlib
import re

from . import jsonread, names

NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?\Z")


def exact(text):
    """(sign, digits, exponent): the value is sign * digits * 10**exponent, digits without trailing zeros.
    Zero is (0, '', 0), so that -0 and 0 are one. Nothing is ever multiplied out: 1e999999999 is no number to hold."""
    sign, whole, fraction, exponent = NUMBER.match(text).groups()
    digits = (whole + (fraction or "")).lstrip("0")
    power = int(exponent or "0") - len(fraction or "")
    stripped = digits.rstrip("0")
    if not stripped:
        return (0, "", 0)
    return (-1 if sign else 1, stripped, power + len(digits) - len(stripped))


def integer(text, low, high):
    """The number's value if it is an integer in [low, high], else None."""
    sign, digits, power = exact(text)
    if power < 0 or len(digits) + power > 30:
        return None
    number = sign * int(digits or "0") * 10 ** power
    return number if low <= number <= high else None


def frozen(node):
    """A hashable value that is equal for equal JSON values and for no others."""
    if node.kind == "number":
        return ("number",) + exact(node.value)
    if node.kind == "array":
        return ("array", tuple(frozen(item) for item in node.value))
    if node.kind == "object":
        return ("object", frozenset((member.key, frozen(member.value)) for member in node.value))
    return (node.kind, node.value)


def equal(a, b):
    return frozen(a) == frozen(b)


# --- the loose form, as servers that coerce their arguments would read a value (section 5)

TRUE, FALSE = ("bool", True), ("bool", False)
TRUE_WORDS, FALSE_WORDS = ("true", "t", "yes", "y", "on"), ("false", "f", "no", "n", "off")
LOOSE_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:_[0-9]+)*(?:\.(?:[0-9]+(?:_[0-9]+)*)?)?|\.[0-9]+(?:_[0-9]+)*)"
                          r"(?:[eE][+-]?[0-9]+(?:_[0-9]+)*)?\Z")


def loose(node, parsed=False):
    """A hashable value that is equal for values of one loose form. `parsed`: it stood in a string already."""
    if node.kind == "number":
        return _loose_number(node.value)
    if node.kind == "string":
        return _loose_string(node.value, parsed)
    if node.kind == "array":
        return ("array", tuple(loose(item) for item in node.value))
    if node.kind == "object":
        return ("object", frozenset((names.folded(member.key), loose(member.value)) for member in node.value))
    return (node.kind, node.value)


def _loose_number(text):
    number = exact(text)
    if number == (1, "1", 0):
        return TRUE
    if number == (0, "", 0):
        return FALSE
    return ("number",) + number


def _loose_string(text, parsed):
    text = text.strip(names.WHITE_SPACE)
    if not parsed:
        try:
            node = jsonread.read(text.encode("utf-8"))[0]
            if node.kind != "string":
                return loose(node, True)
        except (jsonread.JsonError, UnicodeEncodeError):
            pass
    low = names.ascii_lower(text)
    if low in TRUE_WORDS:
        return TRUE
    if low in FALSE_WORDS:
        return FALSE
    if LOOSE_NUMBER.match(text):
        return _loose_number(_as_json_number(text))
    return ("string", low)


def _as_json_number(text):
    """The same number in JSON's spelling, or near enough for exact()."""
    text = text.replace("_", "").lstrip("+")
    sign = "-" if text.startswith("-") else ""
    text = text.lstrip("+-")
    text = re.sub(r"\.(?=[eE]|\Z)", "", text)
    return sign + ("0" + text if text.startswith(".") else text)


def _double_form(number):
    """As ECMAScript's Number::toString prints a finite double. repr gives the shortest digits that round-trip."""
    if number == 0:
        return "0"
    sign, digits, power = exact(repr(number))
    count = len(digits)
    point = power + count
    text = "-" if sign < 0 else ""
    if count <= point <= 21:
        return text + digits + "0" * (point - count)
    if 0 < point <= 21:
        return text + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return text + "0." + "0" * -point + digits
    tail = "e" + ("+" if point - 1 >= 0 else "-") + str(abs(point - 1))
    return text + digits[0] + ("." + digits[1:] if count > 1 else "") + tail


def number_form(text):
    """RFC 8785's form of the number, or, where that would be another value, digits, `e`, power of ten."""
    sign, digits, power = exact(text)
    if abs(power + len(digits)) < 400:
        number = float(text)
        if number not in (float("inf"), float("-inf")):
            form = _double_form(number)
            if exact(form) == (sign, digits, power):
                return form
    return ("-" if sign < 0 else "") + digits + "e" + str(power)


def string_form(text):
    out = ['"']
    names = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
    for char in text:
        if char in names:
            out.append(names[char])
        elif char < " ":
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return "".join(out) + '"'


def object_form(pairs):
    """pairs: (key, the value's form). Keys are sorted by their UTF-16 units."""
    pairs = sorted(pairs, key=lambda pair: pair[0].encode("utf-16-be"))
    return "{" + ",".join(string_form(key) + ":" + form for key, form in pairs) + "}"


def canonical_form(node):
    if node.kind == "null":
        return "null"
    if node.kind == "bool":
        return "true" if node.value else "false"
    if node.kind == "number":
        return number_form(node.value)
    if node.kind == "string":
        return string_form(node.value)
    if node.kind == "array":
        return "[" + ",".join(canonical_form(item) for item in node.value) + "]"
    return object_form([(member.key, canonical_form(member.value)) for member in node.value])


def call_hash(call):
    """SHA-256 of the RFC 8785 form of {actor, input, server?, sessionKey, tool}."""
    session = object_form([("channel", string_form(call.channel)), ("thread", string_form(call.thread))])
    pairs = [("actor", string_form(call.actor)), ("sessionKey", session), ("tool", string_form(call.tool)),
             ("input", "{}" if call.input is None else canonical_form(call.input))]
    if call.server is not None:
        pairs.append(("server", string_form(call.server)))
    return hashlib.sha256(object_form(pairs).encode("utf-8")).hexdigest()
