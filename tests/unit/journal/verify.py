#!/usr/bin/env python3
"""An independent verifier of journals: written from the format's description alone, with Python's json module and
RFC 8785's rules, to be the second opinion about what the C code writes.

usage: verify.py [--head JSON] FILE...
Prints `OK N` or `FAIL FILE LINE REASON`; exit 0 or 1.
"""
import hashlib
import json
import sys


class Fault(Exception):
    pass


class Number(str):
    """A number as it was written."""


def number(text):
    """What ECMAScript prints for a double (RFC 8785, 3.2.2.3)."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Fault("a number beyond double range")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = ("%r" % abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = len(whole) + int(exponent or 0)
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.lstrip("0").rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    power = point - 1
    body = digits[0] + ("." + digits[1:] if count > 1 else "")
    return "%s%se%s%d" % (sign, body, "+" if power > 0 else "-", abs(power))


def canonical(value):
    if value is None or value is True or value is False:
        return json.dumps(value)
    if isinstance(value, Number):
        return number(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ",".join(canonical(v) for v in value) + "]"
    keys = sorted(value, key=lambda k: k.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(canonical(k) + ":" + canonical(value[k]) for k in keys) + "}"


def once(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise Fault("a repeated name")
    return result


def no_constant(name):
    raise Fault("not JSON: " + name)


def sha256(text):
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def check_event(line, seq, prev, first):
    try:
        event = json.loads(line.decode("utf-8"), object_pairs_hook=once, parse_int=Number, parse_float=Number,
                           parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Fault("not JSON: %s" % error)
    if not isinstance(event, dict) or canonical(event).encode("utf-8", "surrogatepass") != line:
        raise Fault("not canonical")
    detail = event.get("detail")
    anchor = detail.get("anchor") if first and event.get("kind") == "system.boot" and type(detail) is dict else None
    if type(anchor) is str and "previous" in detail:
        if prev is not None and (detail["previous"].get("seq") != str(seq) or detail["previous"].get("hash") != prev):
            raise Fault("does not follow the part before")
        seq, prev = int(detail["previous"]["seq"]), sha256(anchor)
    elif seq == 0:
        if type(anchor) is not str:
            raise Fault("no anchor")
        prev = sha256(anchor)
    if event.get("v") != "1" or event.get("seq") != str(seq + 1):
        raise Fault("wrong v or seq")
    for name in ("ts", "kind", "prevHash", "hash"):
        if type(event.get(name)) is not str:
            raise Fault("no " + name)
    if event["prevHash"] != prev:
        raise Fault("wrong prevHash")
    claimed = event.pop("hash")
    if sha256(prev + canonical(event)) != claimed:
        raise Fault("wrong hash")
    return claimed, seq + 1


def main(arguments):
    head = None
    if arguments[:1] == ["--head"]:
        head = json.loads(arguments[1])
        arguments = arguments[2:]
    seq, prev = 0, None
    name, count = "", 0
    try:
        for name in arguments:
            count = 0
            with open(name, "rb") as file:
                for line in file:
                    count += 1
                    if not line.endswith(b"\n"):
                        raise Fault("no line end")
                    prev, seq = check_event(line[:-1], seq, prev, count == 1)
                    if head and head["seq"] == seq and head["hash"] != prev:
                        raise Fault("not the head")
        if seq == 0 or (head and head["seq"] > seq):
            raise Fault("events are missing at the end")
    except Fault as fault:
        print("FAIL", name, count, fault)
        return 1
    print("OK", seq)
    return 0


sys.exit(main(sys.argv[1:]))
