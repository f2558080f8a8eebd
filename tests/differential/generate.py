"""Random file trees, policies and calls, from small pools so that they meet each other often.

Everything is in the form of the case tables (tests/cases/README.md), `$ROOT` included, so that whatever makes a
difference can be printed as a case.
"""
import json

TOOLS = ("t", "put", "Put", "get_x", "get", "upload_file", "Grep", "Glob", "directory_tree", "search_files", "s/t")
SERVERS = ("s", "disk", "s/t")
CHANNELS, THREADS = ("C1", "C2", "C"), ("1.1", "2.2", "1")
ACTORS = ("session_owner", "claude_process")
TIERS = ("admin", "user", "workspace", "default")
NAMES = ("a", "b", "c", "ab", "a.b", ".env", "\u00e9", "~", "a b", "%41", "A", "[\"a\"]")
COMPONENTS = ("a", "b", ".env", "a*", "*b", "~", "\u00e9", "*.b", "home", "..b", "ab", "?", "file:")
PATH_KEYS = ("path", "Path", "paths", "file", "file_path", "filePath", "FILEPATH", "source", "destination", "src", "dst",
             "uri", "URI", "folder", "notebook_path")
OTHER_KEYS = ("text", "n", "o", "target", "Target", "pattern", "command", "cwd", "workdir", "repo_path", "CWD", "", "x y")
ARGUMENTS = ("n", "o", "path", "text", "target", "cwd", "")
LISTED = ("target", "Target", "text", "o", "path", "uri", "cwd", "-path", "-PATH", "-target", "-uri", "-file", "-cwd",
          "src", "-src", "n", "script", "-command", "-cmd", "-url", "link", "data", "-data", "-inputPath")


class Number(str):
    """A number in the spelling that it has in the text."""


def rooted(rng):
    """Whether paths may lead to the root of the file system: never in a batch whose rules name components, because all that is
    below a directory would be looked through for them."""
    return getattr(rng, "rooted", True)


def first_release(rng):
    """Whether policies hold only what the first release knew."""
    return getattr(rng, "first_release", False)


def sometimes(rng, chance):
    return rng.random() < chance


# --- trees

def tree(rng):
    """{"dirs", "files", "links", "hardlinks"}: every name lies in a directory that the tree makes itself."""
    dirs, files, links, hardlinks = [""], [], {}, {}
    taken = {"home"}

    def fresh():
        for _ in range(20):
            above = rng.choice(dirs)
            name = (above + "/" if above else "") + rng.choice(NAMES[:-1])
            if name not in taken:
                taken.add(name)
                return name
        return None

    for _ in range(rng.randrange(1, 7)):
        name = fresh()
        if name:
            dirs.append(name)
    for _ in range(rng.randrange(0, 6)):
        name = fresh()
        if name:
            files.append(name)
    for _ in range(rng.randrange(0, 7)):
        name = fresh()
        if name:
            links[name] = _target(rng, dirs + files + list(links), name)
    for _ in range(rng.randrange(0, 4)):
        name = fresh() if files else None
        if name:
            hardlinks[name] = rng.choice(files)
    if sometimes(rng, 0.1):
        dirs.append((rng.choice(dirs) + "/.git").lstrip("/"))
    if sometimes(rng, 0.08):
        length = rng.choice((39, 40, 41))
        links.update({f"l{index}": f"l{index + 1}" for index in range(1, length)})
        links[f"l{length}"] = rng.choice(dirs[1:] or ["home"])
    out = {"dirs": dirs[1:], "files": files, "links": links, "hardlinks": hardlinks}
    return {key: value for key, value in out.items() if value}


def _target(rng, known, name):
    pick = rng.random()
    there = rng.choice(known)
    if not rooted(rng) and pick >= 0.75:  # not out of the tree: what is there would be looked through
        return rng.choice((".", name.split("/")[-1], "nothing", "$ROOT/home", rng.choice(NAMES), "$ROOT/" + name + "/x"))
    up = "../" * name.count("/")
    if pick < 0.45:
        return (up + there or ".") + rng.choice(("", "", "/", "/.", "/..", "/nothing"))
    if pick < 0.75:
        return "$ROOT/" + there + rng.choice(("", "", "/..", "//", "/nothing/../" + rng.choice(NAMES)))
    return rng.choice(("..", ".", "../..", "/", "/proc/self", "/proc", name.split("/")[-1], "nothing", "$ROOT/home",
                       rng.choice(NAMES), "../" + rng.choice(NAMES), "$ROOT/" + name + "/x"))


def names_of(fs):
    return list(fs.get("dirs", [])) + list(fs.get("files", [])) + list(fs.get("links", {})) + \
        list(fs.get("hardlinks", {})) + ["home", "home/a"]


# --- paths

def path(rng, fs, clean=False):
    """A path that has to do with the tree. clean: as an author writes a prefix."""
    known = names_of(fs)
    text = rng.choice(known)
    for _ in range(rng.randrange(0, 3)):
        text += "/" + rng.choice(NAMES + ("..",) * (1 if clean else 6) + (".", ""))
    if sometimes(rng, 0.2):
        text = rng.choice(known) + rng.choice(("/../", "/", "/./", "//", "/../../")) + text
    if clean:
        return rng.choice(("$ROOT/" + text, "$ROOT/" + text, text, "~/" + text.split("/")[-1], "~",
                           "/" if rooted(rng) else "$ROOT", "$ROOT"))
    pick = rng.random()
    if pick < 0.5:
        return "$ROOT/" + text
    if pick < 0.85:
        return text
    if rooted(rng) and sometimes(rng, 0.2):
        return rng.choice(("/", "/proc/self/root$ROOT/a", "/proc/uptime/..", "../../../../../../../..", "/.."))
    return rng.choice(("", "~", "~/", "~/" + text, "~" + text, ".", "..", "../" + text, "//$ROOT/" + text, "~/../" + text, "$ROOT/l1",
                       "$ROOT/l1/a", "l2", "/proc/self/../uptime", "$ROOT", "$ROOT/../" + text, " $ROOT/" + text, text + "\0", "\0",
                       "./" * 2045 + "abcdef", "./" * 2045 + "abcde"[:rng.randrange(3, 6)],
                       "$ROOT/" + "n" * rng.choice((255, 256)), "none/" + "n" * 256, "ab/" * 1364 + "a",
                       text + "/" + "../" * (60 if rooted(rng) else 2) + text))


def uri(rng, fs):
    text = path(rng, fs)
    if not text.startswith(("$ROOT", "/")):
        text = "$ROOT/" + text
    head = rng.choice(("file://", "file://", "file:", "FILE://", "File:", "file://localhost", "file://LOCALHOST",
                       "file:/", "file:///", " file://", "\t\n\x01file:", "fi\tle://", "file:\n//", "\u00a0file://", "file://host", "file:x", "xfile:"))
    escaped = []
    for part in text.split("$ROOT"):
        escaped.append("".join(
            "".join(rng.choice(("%%%02x", "%%%02X")) % byte for byte in char.encode("utf-8"))
            if char not in "/" and sometimes(rng, 0.1) or char == "/" and sometimes(rng, 0.02) else char for char in part))
    return head + "$ROOT".join(escaped) + rng.choice(
        ("",) * 30 + ("?x", "#x", "\\", "%zz", "%", "%0", "%00", "%2e%2e", "/%2E%2e/a", "%ff", "+", " ", "\n", "\t/a", "\x01"))


# --- calls

def scalar(rng):
    return rng.choice((None, True, False, Number("0"), Number("-0"), Number("1"), Number("1.0"), Number("10e-1"), Number("7"),
                       Number("1e400"), Number("10e399"), Number("9007199254740993"), Number("9007199254740992.0"), "a", "",
                       "1", "\u00e9", "e\u0301", "a\0", "https://a/b"))


def value(rng, fs, depth=0):
    """What may stand under a path argument, or anywhere."""
    pick = rng.random()
    if pick < 0.55:
        return path(rng, fs)
    if pick < 0.67:
        return uri(rng, fs)
    if pick < 0.76 or depth > 2:
        return scalar(rng)
    if pick < 0.88:
        return [value(rng, fs, depth + 1) for _ in range(rng.randrange(0, 4))]
    if pick < 0.94:
        elements = [rng.choice((path, uri))(rng, fs) if not sometimes(rng, 0.08) else scalar(rng)
                    for _ in range(rng.randrange(0, 4))]
        text = spell(rng, elements)
        if sometimes(rng, 0.2):
            text = spell(rng, [text, path(rng, fs)])
        return rng.choice(("", "", "", " ", "\n")) + text + rng.choice(("", "", "", " ", "]", ","))
    return members(rng, fs, depth + 1, 3)


def members(rng, fs, depth, most):
    out = {}
    for _ in range(rng.randrange(0, most + 1)):
        if sometimes(rng, 0.6):
            out[rng.choice(PATH_KEYS)] = value(rng, fs, depth)
        else:
            key = rng.choice(OTHER_KEYS)
            out[key] = value(rng, fs, depth) if sometimes(rng, 0.7) else scalar(rng)
            if isinstance(out[key], str) and len(out[key]) > 2000:
                out[key] = out[key][:2000]  # whether a start may be longer than a path is not said
    return out


def call(rng, fs):
    """The text of one call."""
    out = {"tool": rng.choice(TOOLS)}
    if sometimes(rng, 0.4):
        out["server"] = rng.choice(SERVERS)
    if sometimes(rng, 0.3):
        out["sessionKey"] = {"channel": rng.choice(CHANNELS), "thread": rng.choice(THREADS)}
    if sometimes(rng, 0.3):
        out["actor"] = rng.choice(ACTORS)
    if sometimes(rng, 0.3) and not first_release(rng):
        out["annotations"] = language.annotations(rng) if sometimes(rng, 0.98) else rng.choice(([], None, True))
    if sometimes(rng, 0.95):
        out["input"] = members(rng, fs, 0, 4 if sometimes(rng, 0.5) else 1)
        if sometimes(rng, 0.6):
            language.extra_members(rng, fs, out["input"])
        if sometimes(rng, 0.4):
            language.command_members(rng, fs, out["input"])
    text = spell(rng, out)
    return mutated(rng, text) if sometimes(rng, 0.03) else text


def mutated(rng, text):
    """One small damage. It may well be none."""
    at = rng.randrange(len(text))
    piece = rng.choice(("", "", "{", "}", "[", "]", ",", ":", '"', "\\", "0", "e", "-", " ", "\t", "\0", "\udc80", "\ufeff",
                        "\\ud800", "\\u12", "null", "tool", '"tool":"t",', '"x":1,', "\u2028"))
    return text[:at] + piece + text[at + rng.choice((0, 1, 1, 1, 2)):]


# --- text

def spell(rng, item, crlf=False):
    """JSON text, with white space and escapes that say nothing."""
    space = lambda: rng.choice(("",) * 12 + (" ", "\t") + (("\r\n", "\n", "\r", "\u0020\n") if crlf else ()))
    if isinstance(item, Number):
        return str(item)
    if isinstance(item, str):
        return '"' + "$ROOT".join(_escaped(rng, part) for part in item.split("$ROOT")) + '"'
    if isinstance(item, (dict, list)) and not isinstance(item, Pairs) and not isinstance(item, dict):
        return "[" + space() + ("," + space()).join(spell(rng, each, crlf) + space() for each in item) + "]"
    if isinstance(item, (dict, Pairs)):
        pairs = item.items() if isinstance(item, dict) else item
        return "{" + space() + ("," + space()).join(
            spell(rng, key) + space() + ":" + space() + spell(rng, each, crlf) + space() for key, each in pairs) + "}"
    return json.dumps(item)


class Pairs(list):
    """The members of an object, repeats included."""


def _escaped(rng, text):
    out = []
    for char in text:
        if char in '"\\' or char < " ":
            out.append(json.dumps(char)[1:-1])
        elif sometimes(rng, 0.01):
            units = char.encode("utf-16-be", "surrogatepass")
            out.append("".join("\\u%04x" % int.from_bytes(units[index:index + 2], "big")
                               for index in range(0, len(units), 2)))
        elif char == "/" and sometimes(rng, 0.03):
            out.append("\\/")
        else:
            out.append(char)
    return "".join(out)


# --- policies

def match(rng, fs):
    out = {}
    if sometimes(rng, 0.45):
        out["tool"] = rng.choice(TOOLS)
    elif sometimes(rng, 0.2):
        out["toolPrefix"] = rng.choice(("g", "get", "get_", "p", "upload", "t", "s/"))
    for key, pool, chance in (("server", SERVERS, 0.12), ("channel", CHANNELS, 0.15), ("thread_ts", THREADS, 0.1),
                              ("actor", ACTORS, 0.12), ("pathComponent", COMPONENTS, 0 if rooted(rng) else 0.15)):
        if sometimes(rng, chance):
            out[key] = rng.choice(pool)
    if sometimes(rng, 0.5) or not out:
        out["pathPrefix"] = path(rng, fs, clean=True)
    if sometimes(rng, 0.12):
        out["argEquals"] = {rng.choice(ARGUMENTS): plain(scalar(rng)) if sometimes(rng, 0.7) else path(rng, fs)
                            for _ in range(rng.randrange(0, 3))}
    return out


def plain(item):
    """A Number as what json.dumps prints; those that it would change are passed over."""
    if not isinstance(item, Number):
        return item
    return int(item) if item.lstrip("-").isdigit() else 1.0


def plain_deep(item):
    """The value with every Number in it as what json.dumps prints."""
    if isinstance(item, dict):
        return {key: plain_deep(each) for key, each in item.items()}
    if isinstance(item, list):
        return [plain_deep(each) for each in item]
    return plain(item)


def rule(rng, fs, name, tier):
    effect = "deny" if tier == "workspace" else rng.choice(("auto_approve",) * 2 + ("deny",) * 2 + ("require_approval",))
    out = {"id": name, "effect": effect, "match": match(rng, fs)}
    if not rooted(rng) and not first_release(rng):
        language.extend_match(rng, fs, effect, out["match"])
    if tier is None and sometimes(rng, 0.4):
        out["match"]["tier"] = rng.choice(TIERS)
    elif tier is not None and sometimes(rng, 0.15):
        out["match"]["tier"] = rng.choice(TIERS[TIERS.index(tier):])
    if sometimes(rng, 0.4):
        out["priority"] = rng.choice((-1, 0, 1, 5, 100, 101))
    if effect == "deny":
        out["reason"] = "because of " + name
    if effect == "require_approval":
        for key, pool in (("ttlMs", (1, 5000, 86400000)), ("approvers", (1, 2, 10)), ("scope", ("session", "call") if first_release(rng) else ("session", "call", "once"))):
            if sometimes(rng, 0.4):
                out[key] = rng.choice(pool)
    return out


def lists(rng, tier, trees):
    out = {}
    for _ in range(rng.randrange(1, 4)):
        key = rng.choice(TOOLS + ("*", "*", "s/t", "disk/put", "s/Grep", "disk/*"))
        names = LISTED if not trees else [name for name in LISTED if "uri" not in name]
        out[key] = [name for name in (rng.choice(names) for _ in range(rng.randrange(0, 4)))
                    if tier != "workspace" or not name.startswith("-")]
    return out


def document(rng, fs, tier, prefix, most=9):
    rules = []
    for index in range(rng.randrange(0, most)):
        rules.append(rule(rng, fs, f"{prefix}{index}", tier))
        if rules[:-1] and sometimes(rng, 0.15):  # an equivalent of one before, or nearly
            rules[-1]["match"] = dict(rng.choice(rules[:-1])["match"])
    out = {}
    if sometimes(rng, 0.3):
        out["requireAuthoredPolicy"] = [rng.choice(("*", "t", "s/*", "s/t", "disk/put", "put", "disk/*"))
                                        for _ in range(rng.randrange(0, 3))]
    for key in ("pathArguments", "treeArguments", "commandArguments", "urlArguments"):
        if sometimes(rng, 0.3 if key[0] in "pt" else 0 if first_release(rng) else 0.08):
            out[key] = lists(rng, tier, key == "treeArguments")
    pick = rng.random()
    if not out and pick < 0.3:
        return rules
    if pick < 0.5:
        return {**out, "policy": rules, "other": 7}
    return {"version": 1, "rules": rules, **out}


def pointed(rng, fs):
    """A few rules that look at places, commands and hosts of every call, so that no other rule hides what they see."""
    rules = []
    for index in range(rng.choice((1, 1, 2, 3))):
        one = rule(rng, fs, f"p{index}", None)
        one["match"] = {key: value for key, value in one["match"].items()
                        if key in ("pathPrefix", "pathComponent", "host", "command", "commandPrefix", "commandWord", "tier")}
        if not set(one["match"]) - {"tier"}:
            one["match"]["pathPrefix"] = path(rng, fs, clean=True)
        rules.append(one)
    return [[None, rules]]


def policies(rng, fs):
    if sometimes(rng, 0.3):
        return pointed(rng, fs)
    tiers = [rng.choice((None, None, "admin", "user", "workspace")) for _ in range(rng.choice((1, 1, 2, 3)))]
    most = 80 if sometimes(rng, 0.06) else 9  # some big enough for an index to matter
    out = [[tier, document(rng, fs, tier, "pqr"[index], most)] for index, tier in enumerate(tiers)]
    for tier, each in out:
        if tier == "workspace" and rules_of(each) and sometimes(rng, 0.1):  # a file that is left out
            rng.choice(rules_of(each)).update(rng.choice(({"effect": "auto_approve"}, {"x": 1}, {"id": "p0"})))
    return out


def rules_of(document):
    if isinstance(document, list):
        return document
    return document.get("rules", document.get("policy", []))


def setting(rng, fs):
    """Where readings start, and what has been approved."""
    out = {"cwd": "$ROOT/" + rng.choice([""] * 3 + list(fs.get("dirs", [])))}
    out["cwd"] = out["cwd"].rstrip("/")
    if sometimes(rng, 0.4):
        out["roots"] = ["$ROOT/" + rng.choice(names_of(fs)) for _ in range(rng.randrange(1, 3))]
    if sometimes(rng, 0.2):
        out["home"] = "$ROOT/" + rng.choice(names_of(fs))
    return out


from . import language  # noqa: E402: it uses this file's pools
