"""Hosts: how a URL is read, strictly, and how a rule's host compares (section 4.3)."""
import ipaddress
import re

UNREADABLE = "unreadable"
SCHEMES = ("http:", "https:", "ws:", "wss:")
NAME = re.compile(r"[A-Za-z0-9_.-]+\Z")
LEADING = "".join(map(chr, range(0x21)))  # C0 controls and spaces
ADDRESS = re.compile(r"(0|[1-9][0-9]{0,2})(?:\.(0|[1-9][0-9]{0,2})){3}\Z")


def parse(text):
    """HOST to its one form: a lower-case name, an IPv4 address, or 'ipv6:' and 32 digits; None if it is none."""
    if text.startswith("[") and text.endswith("]"):
        return _version_6(text[1:-1])
    if not NAME.match(text) or len(text.removesuffix(".")) > 253:
        return None
    if ADDRESS.match(text):
        return text if all(int(part) <= 255 for part in text.split(".")) else None
    text = text.lower()
    if text.endswith("."):
        text = text[:-1]
    labels = text.split(".")
    if "" in labels or labels[-1].isdigit() or labels[-1].startswith("0x"):
        return None
    return text


def _version_6(text):
    if not re.match(r"[0-9A-Fa-f:.]+\Z", text):
        return None
    try:
        packed = ipaddress.IPv6Address(text).packed
    except ValueError:
        return None
    if packed[:12] == b"\0" * 10 + b"\xff\xff":
        return ".".join(str(byte) for byte in packed[12:])
    return "ipv6:" + packed.hex()


def is_name(host):
    return not host.startswith("ipv6:") and not ADDRESS.match(host)


def pattern(text):
    """A rule's `host` in its one form, or None."""
    if text.startswith("*."):
        name = parse(text[2:])
        return None if name is None or not is_name(name) else "*." + name
    return parse(text)


def matches(wanted, host):
    if wanted.startswith("*."):
        return is_name(host) and host.endswith(wanted[1:]) and host != wanted[2:] and len(host) > len(wanted) - 1
    return wanted == host


def contains(wider, narrower):
    """Every host that the second pattern means, the first does."""
    if wider == narrower:
        return True
    if not wider.startswith("*."):
        return False
    name = narrower[2:] if narrower.startswith("*.") else narrower
    return is_name(name) and name.endswith(wider[1:]) and name != wider[2:]


def begins_as_url(text):
    """It begins with one of the four schemes."""
    return text.lstrip(LEADING).lower().startswith(SCHEMES)


def any_scheme(text):
    """SCHEME:// at the start, of whatever scheme."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def of_url(text):
    """The host of a text that begins with one of the schemes, or UNREADABLE."""
    found = re.match(r"(?:https?|wss?)://(\[[^\]]*\]|[^/?#:\[\]]*)(?::[0-9]{1,5})?(?=[/?#]|\Z)(.*)\Z", text.lstrip(LEADING),
                     re.IGNORECASE | re.DOTALL)
    if found is None or any(char <= " " or char == "\x7f" or char == "\\" for char in found.group(2)):
        return UNREADABLE
    return parse(found.group(1)) or UNREADABLE


def of_argument(text, is_uri):
    """The host of a string under a URL argument: None if it has none."""
    if begins_as_url(text):
        return of_url(text)
    if re.match(r"[A-Za-z][A-Za-z0-9+-]*:(?![0-9])", text) or is_uri:
        return None
    return UNREADABLE


def behind_scheme(text):
    """The host that stands behind SCHEME://, a user left out, or None: read aside."""
    found = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)", text)
    if found is None:
        return None
    return with_port(found.group(1).rsplit("@", 1)[-1])


def with_port(text):
    found = re.match(r"(\[[^\]]*\]|[^:\[\]]*)(?::[0-9]{1,5})?\Z", text)
    return None if found is None else parse(found.group(1))


def runs(text):
    """Every HOST that stands bare in a text."""
    return [host for host in map(parse, re.findall(r"[A-Za-z0-9._-]+", text)) if host is not None]
