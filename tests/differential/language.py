"""Random commands, hosts, lists, and strings that may name something: what generate.py makes policies and calls of."""
from . import generate
from .generate import Number, sometimes

PROGRAMS = ("rm", "git", "ls", "cat", "grep", "rg", "find", "sudo", "env", "sh", "bash", "cd", "pushd", "mv", "./a", "/bin/rm",
            "/bin/sh", "python", "make", "kubectl", "curl", "tar", "timeout", "xargs", "fd", "tree", "command", "export", "test",
            "printf", "popd", "busybox", "if", "eval", "local/rm", "[", "builtin", "read", "du", "diff", "awk")
WORDS = ("a", "b", "c", "ab", "x", "status", "push", "log", "-f", "-rf", "-r", "-n", "-C", "--force", "-c", "-", "--", "-exec",
         "-name", "--hidden", "-uu", "-u", "--recursive", "..", ".", "./a", "../b", ".env", "x=y", "--out=a", "-Ia", "-o/a", "a:b",
         "u@h:a", "if=a", "a,b", "-lc", "-e", "KEY", "1", "12", "+x", "%a", "a^", "HEAD~1", "HEAD^", "@{u}", "-v", "-p",
         "a.b", "home", "get", "pods", "origin", "main", "-x", "-iname", "example.com", "http://example.com/x", "https://evil.org",
         "https://u@evil.org", "ftp://evil.org/a", "--url=http://a.example.com", "git@evil.org:a/b", "file:a", "file://$ROOT/a",
         "http://[::1]/", "evil.org:80", "a@evil.org")
OPAQUE = ("$X", "$HOME", "$HOME/a", "$PWD/b", "${HOME}/.env", "${X:-a}", "${X+b}", "\"$X\"", "\"$X/a\"", "*", "*.b", "a*", "?", "a/*",
          "$1", "$?", "$@", "\"$@\"", "${X}a", "$X/.env", "../*", ".e*", "~/*", "a/?", "b$X", "\"$HOME/a\"")
ODD = ("~", "~/a", "~root/x", "~a", "a~", "'~/a'", "\"~\"", "''", "\"\"", "'a b'", "\"a b\"", "\\a", "a\\ b", "\\~/a", "'$X'", "\"\\$X\"",
       "\"$\"", "\"a$ b\"", "\"\\\\\"", "'*'", "\\*", "'-f'", "\\-f", "'=x'", "a\\\nb", "\"a\\\nb\"", "'\u00e9'", "\"e\u0301\"", "'a\nb'",
       "a'b'c", "\"a\"b", "'git'", "\\rm", "r''m", "x~", "a=~", "'a'~", "$X~", "\\a~", "a:~", "\"`x`\"", "'`x`'", "'a[0]'", "'#'",
       "a#b", "#a", "!a", "a!", "{a,b}", "{a", "[a]", "=x", "''=x", "`x`", "\u00e9", "$((1))", "$'a'", "$\"a\"", "$", "a$", "\"a`\"",
       "$-", "$!", "${X:=a}", "${X%a}", "${#X}", "${X", "'a", "\"a", "a)", "(a)", "\x07", "a\r", "^a", "~~", "a\\", "\\\n", "\\\t")
REDIRECTIONS = (">a", "> a", ">>b", ">> b", "2>a", "2> a", "<a", "< b", ">/dev/null", "2>/dev/null", "2>&1", ">&2", "</dev/null",
                "&>/dev/null", ">&1", ">| a", "<>a", "12>a", "0<a", ">&a", "<&0", "&>a", "<<<a", ">$X", ">'a b'", ">~/a",
                ">$ROOT/a/b", "<$ROOT/b", "<1-5>a", "2>&1>a", ">&12", "> /dev/null", ">\"/dev/null\"", ">/dev/nullx", "<-", "1>&2",
                "2>>b", ">a>b", "< /dev/null", ">=a", ">-a", ">../a", ">*")
SEPARATORS = ("; ", " && ", " || ", " | ", "\n", " & ", ";", "&&", "|", "\n\n", ";\n", "&\n", " |\n", "&&\n\n")
BAD_SEPARATORS = (";;", " |& ", "& ;", "\n;", "&&&", ";&", "|||")
PATTERNS = ("rm", "git", "ls", "cat", "git push", "git log", "git status", "git -C", "grep", "find", "sudo", "sh", "cd", "a b",
            "kubectl -n * get", "git *", "mv a *", "/bin/rm", "rm -rf", "cat a", "cat .env", "env", "python", "> a", ">", "<",
            "> *", "ls 'a b'", "rm x", "rm a", "make", "curl", "./a", "tar", "bash", "local/rm", "git push origin", "rg", "timeout",
            "sh -c 'rm a'", "read", "printf", "du", "awk", "export")
BAD_PATTERNS = ("", "git log | cat", "git $X", "git *.c", "* x", "X=1 git", "git > x", "if", "a\nb", "-x", "ls &", "sh -c 'a; b'",
                "eval x", "a ''", "(a)", "a;", "> $X", "> a b", "a " * 31 + "b", "a " * 32 + "b", "> " + "a " * 31, "a\0", "\u00e9 x",
                "'\u00e9' x", ">>", "> a > b", "a 2>&1", "a <<E\nE", "sh -c", "bash -c x y", " a ", "a\n", "\na", ">a", "<a b", "a '*'",
                "a \\*", "a **", "sh -c '* a'", "sh -c 'a *'")
COMMAND_WORDS = ("-f", "-r", "--force*", "*.env", "a", "-exec*", "push", "-*", "*b", "--", "x*", "$ROOT/a", "-C", "http*")
BAD_COMMAND_WORDS = ("*", "", "a*b", "**", "a b", "\u00e9", "a\0")
HOSTS = ("example.com", "evil.org", "a.example.com", "b.a.example.com", "localhost", "127.0.0.1", "[::1]", "example.org",
         "EXAMPLE.com", "example.com.", "x_y.example.com", "10.0.0.1", "h", "a", "b", "a.b")
RULE_HOSTS = HOSTS + ("*.example.com", "*.org", "*.com", "*.a.example.com", "*.b", "[::ffff:127.0.0.1]", "[0:0::1]")
BAD_HOSTS = ("", "*", "*.", "example.com/", "https://example.com", "example.com:443", "*.127.0.0.1", "a b", "*.*.com", "a..b", "1.2.3",
             "0x7f.1", "256.1.1.1", "01.2.3.4", "[::1", "[fe80::1%eth0]", "u@h", "*.[::1]", ".example.com", "a.0x1", "a.1", "1.2.3.4.",
             "-a", "a-", "_", "a" * 253, "a" * 254, "a" * 64 + ".com", "[1::2::3]", "[::1.2.3.4]", "\u00e9.com", "xn--a.com", "..", "*.a.")
URL_FORMS = ("https://%s/", "http://%s", "HTTPS://%s:8080/x?y#z", "ws://%s/a", "wss://%s:1", "https://u@%s/", "https:%s", "https:/%s",
             "https:\\\\%s", " http://%s/", "\x01http://%s", "http://%s\\x", "http://%s /", "http://%s?a", "http://%s#a", "ftp://%s/a",
             "ssh://git@%s/a", "%s", "%s:80", "//%s/a", "mailto:a@%s", "http://%s:99999/", "http://%s:123456/", "http://%s:/",
             "http://%s.", "http://%%41%s/", "http://a%s/", "s3://%s/a/b", "file:///%s", "http://%s/a\nb", "http://%s/\u00e9",
             "http://\u00e9%s/", "http://%s:a/", "http:///%s", "a.b+c://%s/x", "http://%s;a", "\u00a0http://%s/", "http://%s/\x7f",
             "\thttp://%s/a", "ws:%s", "x://%s:80", "https://%s\x00", "git+ssh://u:p@%s:22/a", "9x://%s/")
PLACE_KEYS = ("inputPath", "output_file", "target", "save-to", "root", "location", "workspace", "working_dir", "dir_path", "repo_path",
              "workingDirectory", "destDir", "data", "task", "name", "my.file", "csv_path", "OUTPUT", "\u017fource", "wor\u212adir", "in put file")
PROSE_KEYS = ("content", "text", "description", "new_string", "query", "headers", "params", "sql", "body", "fileContents", "regexp",
              "oldPath", "label")
SPECIAL_KEYS = ("pattern", "glob", "include", "includePattern", "file_pattern", "host", "hostname", "url", "urls", "href", "URL", "link")
COMMAND_KEYS = ("command", "command", "command", "cmd", "commands", "CommandLine", "command_line", "script", "\u212aommand", "Command")
LOOSE = (True, False, "true", "True ", "yes", "ON", "t", "f", "no", "off", "0", "1", Number("1.0"), Number("0"), Number("-0"), "1_000",
         Number("1000"), "1e3", "+1000", " 1000.0\n", "1,000", "1__0", "10", Number("10"), "Prod", "prod", " PROD\u00a0", "null", None,
         "\"true\"", "[1]", ["1"], "{\"x\": 1}", {"X": "1"}, {"x": True}, "\u00c4", "\u00e4", "", " ", "1.", ".5", "0.5", "-1", "+-1",
         "0x10", "1e400", Number("1e400"), "01", "-0", "+0", "0e9", "1_0.5_0", "1e1_0", "infinity", "nan", "tRuE", "\u017f", "s", "[]", [],
         "{}", {}, "[\"TRUE\"]", [True], "[\"[1]\"]", [[1]], "\u3000on", "o\u0144", "Y", "y\x1f", "truE\x85")


# --- commands

def word(rng, fs):
    pick = rng.random()
    if pick < 0.45:
        return rng.choice(WORDS)
    if pick < 0.68:
        text = place(rng, fs)
        if sometimes(rng, 0.3):
            text = rng.choice(("--x=", "-o", "a=", "@", "h:", "a,", "-I", "--in=", "b@")) + text
        return quoted(rng, text) if sometimes(rng, 0.4) else text
    if pick < 0.8:
        return rng.choice(OPAQUE)
    return rng.choice(ODD) if sometimes(rng, 0.6) else rng.choice(PROGRAMS)


def place(rng, fs):
    text = rng.choice(generate.names_of(fs))
    if sometimes(rng, 0.3):
        text += "/" + rng.choice(generate.NAMES)
    return rng.choice((text, text, "$ROOT/" + text, "./" + text, "../" + text, "~/" + text, "$ROOT/" + text + "/../b"))


def quoted(rng, text):
    if sometimes(rng, 0.5):
        return "'" + text.replace("'", "'\\''") + "'"
    return '"' + "".join("\\" + char if char in '"\\`' else char for char in text) + '"'


def simple(rng, fs, depth):
    out = []
    if sometimes(rng, 0.06):
        out.append(rng.choice(("A=1", "A=", "A+=b", "A='x y'", "A=$X", "A=a[0]", "A='a[0]'", "A=~/x", "1A=2", "A=*", "'A'=1", "A=\"$X\"")))
    if not (out and sometimes(rng, 0.2)):
        program = rng.choice(PROGRAMS[:16] if sometimes(rng, 0.6) else PROGRAMS)
        out.append(quoted(rng, program) if sometimes(rng, 0.05) else program)
    if depth < 2 and sometimes(rng, 0.08):
        shell = rng.choice(("sh -c ", "bash -lc ", "/bin/sh -c ", "sh -xec ", "/opt/sh -c ", "sh -c -- ", "sudo sh -c ", "env bash -c "))
        text = quoted(rng, command_text(rng, fs, depth + 1))
        return shell + text + rng.choice(("", "", "", " x", " >a", " 2>&1"))
    for _ in range(rng.randrange(0, 5)):
        out.append(word(rng, fs))
        if sometimes(rng, 0.08):
            out.append(rng.choice(REDIRECTIONS))
    if depth < 2 and sometimes(rng, 0.06):
        out.append(rng.choice(("$(%s)", "\"$(%s)\"", "x$(%s)", "$( %s )", "$(\\\n%s)")) % command_text(rng, fs, depth + 1))
    blank = rng.choice((" ", " ", " ", "  ", "\t", " \\\n"))
    return blank.join(out)


def command_text(rng, fs, depth=0):
    parts = [simple(rng, fs, depth)]
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        parts.append(rng.choice(SEPARATORS if sometimes(rng, 0.96) else BAD_SEPARATORS))
        parts.append(simple(rng, fs, depth))
    text = "".join(parts)
    if depth < 2 and sometimes(rng, 0.05):
        text = rng.choice(("(%s)", "( %s )", "(%s) >/dev/null", "(%s) 2>&1 | cat a", "(%s);", "((%s))", "(%s) a", "(%s) >a", "cd a; (%s)",
                           "(%s\n)", "\n(%s)", "(%s)&", "(%s) &>/dev/null")) % text
    if sometimes(rng, 0.05):
        text += rng.choice((" <<E\n%s\nE", " << 'E'\n%s\nE\n", " <<E\n%s\n", " <<E; ls\n%s\nE\ngit log", " <<\"E\"\n%s\nE", " <<-E\n%s\nE",
                            " <<E <<F\n%s\nE\nF\n", " <<E)\n%s\nE", " <<E\n%s\nEE\n E\nE\n", " <<E 'a\nb'\n%s\nE", " <<E | cat a\n%s\nE\n"))\
            % rng.choice(("a", "/etc/x b", "$X", "`x`", "a\\b", "$ROOT/a/b", "", "Ex", " E", "a\nb"))
    if sometimes(rng, 0.03):
        text = rng.choice(("\n%s", "%s;", "%s &", "%s\n", " %s ", "%s &&", ";%s", "%s;;", "& %s", "%s |", "%s\n\n;", "")).replace("%s", text)
    if sometimes(rng, 0.02):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice("\\\n'\"$(){}<>&;|~=*? \t!#`^0") + text[at:]
    return text


def command_members(rng, fs, out):
    """Adds a command argument, and what may stand beside it."""
    key = rng.choice(COMMAND_KEYS)
    pick = rng.random()
    if pick < 0.8:
        out[key] = command_text(rng, fs)
    elif pick < 0.93:
        words = [rng.choice(PROGRAMS)] + [word(rng, fs) for _ in range(rng.randrange(0, 4))]
        if sometimes(rng, 0.3):
            words = [rng.choice(("bash", "sh", "/bin/sh", "zsh")), rng.choice(("-lc", "-c", "-x")), command_text(rng, fs)] + words[4:]
        out[key] = words
    else:
        out[key] = rng.choice((None, "", " \n", 7, True, [], [1], ["a", None], {}, {"command": "rm a"}, [["rm", "a"]], "\t"))
    if sometimes(rng, 0.15):
        name = rng.choice(("args", "arguments", "Args"))
        out[name] = rng.choice(([word(rng, fs) for _ in range(rng.randrange(0, 3))], ["-f"], ["a"], None, "a", "", {}, {"a": 1}, [1], 7,
                                False))
        if sometimes(rng, 0.2):
            out["arguments"] = rng.choice((["a"], None, [], "x"))
    if sometimes(rng, 0.25):
        base = rng.choice(("cwd", "workdir", "directory", "working_dir", "options", "workspace"))
        where = rng.choice((place(rng, fs), "$ROOT/a", "a", "", "/" if generate.rooted(rng) else ".", "$ROOT"))
        out[base] = {"cwd": where} if base == "options" else [where] if sometimes(rng, 0.1) else where


# --- strings

def url(rng):
    return rng.choice(URL_FORMS[:3] if sometimes(rng, 0.5) else URL_FORMS) % rng.choice(HOSTS if sometimes(rng, 0.7) else BAD_HOSTS)


def loose_string(rng, fs):
    """A string that may name a path."""
    text = generate.path(rng, fs)
    if len(text) > 1000:
        return text
    pick = rng.random()
    if pick < 0.4:
        return text
    if pick < 0.55:
        return globbed(rng, text)
    if pick < 0.65:
        return rng.choice((" %s", "%s ", "%s\n", "\u00a0%s", "'%s'", "\"%s\"", "`%s`", " '%s' ", "' %s'", "\u2003%s\u3000", "\"%s'", "''", "'%s",
                           "\x1f%s", "\x85%s", "\t%s")).replace("%s", text)
    if pick < 0.69:
        return rng.choice((":(top)%s", ":/%s", ":!%s", ":^/%s", ":(exclude,top)%s", ":(glob)%s", ":(top,icase)%s", ":()%s", ":(top,)%s", ":/:%s",
                           " ':(top)%s'", ":(top%s", ":%s", ":(top)", ":/", "::%s", ":(literal,)%s")).replace("%s", text)
    if pick < 0.75:
        return rng.choice(("$HOME/%s", "${HOME}/%s", "$PWD/%s", "${PWD}/%s", "$HOMEX/%s", "$HOME%s", "${HOME}%s", "$X/%s", "$HOME", "$PWD",
                           "~root/%s/nothing", "~nobody", "~none/%s")).replace("%s", text)
    if pick < 0.8:
        return rng.choice(("*** Begin Patch\n*** Update File: %s\n@@\n", "a\n+++ b/%s\n", "--- a/%s\n+++ b/%s", "*** Add File: %s",
                           "x\n*** Move to: %s\r\ny", "*** Delete File: %s ", "x\n *** Add File: %s", "+++ b/%s", "***\n--- a/%s",
                           "*** Update File:  '%s'")).replace("%s", text)
    if pick < 0.9:
        inner = {rng.choice(generate.PATH_KEYS + PLACE_KEYS + PROSE_KEYS): rng.choice((text, text, [text], {"path": text}, url(rng), 7))}
        value = rng.choice((inner, [inner], [text, 1], [[text]], inner))
        out = generate.spell(rng, value)
        return rng.choice((out, out, " " + out, out + "\n", generate.spell(rng, {"file": out}), out + "}"))
    return rng.choice((url(rng), "prose about a/b and c", "a/b c", "./a b", "~/a b", "/a b", ".", "..", "~", ".env", "a", "b", "x\ny/z",
                       "a/b\x01", "caf\u00e9/a", "cafe\u0301/a", "\u00e9", "e\u0301", "\u212b/a", "\ufb01/a"))


def globbed(rng, text):
    parts = text.split("/")
    at = rng.randrange(len(parts))
    if "$ROOT" in parts[at]:
        at = len(parts) - 1
    if "$ROOT" not in parts[at]:
        part = parts[at]
        parts[at] = rng.choice(("*", "?", "[" + (part[:1] or "a") + "]" + part[1:], part[:1] + "*", "*" + part[-1:], "**", "{" + part + ",x}",
                                "{a,b}", "[!a]", "[^a]*", "[a-c]", "{a}", "{a,{b,c}}", "[a", "{a,b", "*.b", ".*", "[]a]", "[c-a]", "**.b", "a**",
                                "[[:alpha:]]", "{,a}", "\\*", "[a-]", "?" * len(part)))
    out = "/".join(parts)
    return out + rng.choice(("", "", "", "/*", "/**", "/**/*.b", "/{a,b}", "/.env", "/**/a", "/*/a", "/"))


def extra_members(rng, fs, out):
    """Members that the new language reads."""
    for _ in range(rng.choice((0, 1, 1, 2))):
        pick = rng.random()
        if pick < 0.5:
            out[rng.choice(PLACE_KEYS)] = loose_string(rng, fs)[:2000]  # whether a start may be longer than a path is not said
        elif pick < 0.58:
            out[rng.choice(PROSE_KEYS)] = rng.choice((loose_string(rng, fs), {"a/b": loose_string(rng, fs)}, [loose_string(rng, fs)]))
        elif pick < 0.7:
            key = rng.choice(SPECIAL_KEYS)
            if "url" in key.lower() or key in ("href", "link"):
                out[key] = rng.choice((url(rng), url(rng), [url(rng), url(rng)], None, 7, {"href": url(rng)}, spelled_list(rng)))
            elif key in ("host", "hostname"):
                out[key] = rng.choice(HOSTS + BAD_HOSTS) + rng.choice(("", "", ":80", ":"))
            else:
                out[key] = rng.choice(("*", "*.b", "**/*.b", "!a", "a", "{a,b}", "**", "*.{b,c}", ["*.b", "a"], 7, ".env", "", "src/**", "[ab]",
                                       "*/", ["!a"], None))
        elif pick < 0.85:
            out[rng.choice(("path", "file_path", "src", "paths", "files", "destination", "uri"))] = loose_string(rng, fs)
        else:
            out[rng.choice(("n", "o", "flag", "N", "\u212aey", "key"))] = rng.choice(LOOSE)


def spelled_list(rng):
    return generate.spell(rng, [url(rng) for _ in range(rng.randrange(1, 3))])


# --- what a server says of a tool

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def annotations(rng):
    return {name: rng.choice((True, True, False, False, False, None, "true"))
            for name in HINTS + ("title",) if sometimes(rng, 0.4)}


# --- matches

def listed(rng, value):
    """Sometimes a list of a few of what value() gives, each once."""
    if not sometimes(rng, 0.3):
        return value()
    out = []
    for _ in range(rng.randrange(1, 4)):
        item = value()
        if item not in out:
            out.append(item)
    return out


def extend_match(rng, fs, effect, out):
    """Adds fields of the new language to a match."""
    if sometimes(rng, 0.35):
        field = rng.choice(("command", "commandPrefix", "commandPrefix"))
        out[field] = listed(rng, lambda: rng.choice(PATTERNS))
    if effect != "auto_approve" and sometimes(rng, 0.15):
        out["commandWord"] = listed(rng, lambda: rng.choice(COMMAND_WORDS))
    if effect != "auto_approve" and sometimes(rng, 0.2):
        out["annotations"] = {name: sometimes(rng, 0.5) for name in rng.sample(HINTS, rng.choice((1, 1, 2)))}
    has_command = any(key in out for key in ("command", "commandPrefix", "commandWord"))
    if sometimes(rng, 0.2) and not (effect == "auto_approve" and has_command):
        out["host"] = listed(rng, lambda: rng.choice(RULE_HOSTS))
    if has_command and effect == "auto_approve":
        out.pop("pathComponent", None)
        if sometimes(rng, 0.4):
            out.pop("pathPrefix", None)
    elif (has_command or "host" in out) and sometimes(rng, 0.5):
        out.pop("pathPrefix", None)
    if sometimes(rng, 0.12):
        out["argIn"] = {rng.choice(("n", "o", "flag", "key", "k")): values(rng)}
        out.get("argEquals", {}).pop(list(out["argIn"])[0], None)
    if sometimes(rng, 0.12):
        out.setdefault("argEquals", {}).setdefault(rng.choice(("flag", "N", "key", "Flag")), generate.plain_deep(rng.choice(LOOSE)))
        for key in out.get("argIn", {}):
            out["argEquals"].pop(key, None)
    if "tool" not in out and "toolPrefix" not in out and sometimes(rng, 0.15):
        out["tool"] = "*"
    for key, pool in (("tool", generate.TOOLS), ("server", generate.SERVERS), ("channel", generate.CHANNELS),
                      ("pathComponent", generate.COMPONENTS)):
        if key in out and out[key] != "*" and sometimes(rng, 0.12):
            out[key] = sorted({out[key], rng.choice(pool)} - {"*"})
    if "pathPrefix" in out and sometimes(rng, 0.1):
        out["pathPrefix"] = [out["pathPrefix"], generate.path(rng, fs, clean=True) + "/z"]


def values(rng):
    out, seen = [], set()
    for _ in range(rng.randrange(1, 4)):
        item = generate.plain_deep(rng.choice(LOOSE))
        key = repr(item) if not isinstance(item, (int, float)) or isinstance(item, bool) else repr(float(item) if item < 2 ** 50 else item)
        if key not in seen:
            seen.add(key)
            out.append(item)
    return out
