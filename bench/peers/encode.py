"""A policy of the comparison in the languages of Cedar, Rego and casbin, which more than one peer reads.

The other JavaScript peers take their rules as objects and make them themselves, in js/."""
import json
import os

MOST_ELSE = 1000

CASBIN_MODEL = """[request_definition]
r = tool, server, channel, thread, actor, input

[policy_definition]
p = rank, tool, prefix, server, channel, thread, actor, args

[policy_effect]
e = priority(p.eft) || deny

[matchers]
m = """ + " && ".join([
    '(p.tool == "" || r.tool == p.tool)',
    '(p.channel == "" || r.channel == p.channel)',
    '(p.thread == "" || r.thread == p.thread)',
    '(p.server == "" || r.server == p.server)',
    '(p.actor == "" || r.actor == p.actor)',
    '(p.prefix == "" || startsWith(r.tool, p.prefix))',
    '(p.args == "" || argsEqual(r.input, p.args))']) + "\n"


def quoted(text):
    """A string literal, the same in all three: the mix has no text that they would write differently."""
    if not text.isascii() or not text.isprintable() or any(c in text for c in '"\\*'):
        raise ValueError(f"{text!r} would need escapes")
    return f'"{text}"'


def literal(value):
    return quoted(value) if isinstance(value, str) else json.dumps(value)


def cedar(rules):
    """Every rule a permit, in order, so that Cedar names them policy0, policy1, and so on. What its scope can say stands
    there (channel, tool, server), the rest in a condition."""
    text = []
    for rule in rules:
        match = rule["match"]
        scope = [("principal", "Channel", "channel"), ("action", "Action", "tool"), ("resource", "Server", "server")]
        head = ", ".join(f"{name} == {kind}::{quoted(match[field])}" if field in match else name
                         for name, kind, field in scope)
        when = []
        if "toolPrefix" in match:
            when.append(f'context.tool like "{quoted(match["toolPrefix"])[1:-1]}*"')
        if "thread_ts" in match:
            when.append(f'context.thread == {quoted(match["thread_ts"])}')
        if "actor" in match:
            when.append(f'context.actor == {quoted(match["actor"])}')
        for key, value in match.get("argEquals", {}).items():
            when.append(f"context.input has {key} && context.input.{key} == {literal(value)}")
        text.append(f"permit({head})" + (f" when {{ {' && '.join(when)} }}" if when else "") + ";\n")
    return "".join(text)


def rego_body(match):
    """Comparisons that OPA's rule index understands."""
    fields = {"tool": "input.tool", "channel": "input.sessionKey.channel", "thread_ts": "input.sessionKey.thread",
              "server": "input.server", "actor": "input.actor"}
    body = [f"{ref} == {quoted(match[field])}" for field, ref in fields.items() if field in match]
    if "toolPrefix" in match:
        body.append(f'startswith(input.tool, {quoted(match["toolPrefix"])})')
    body += [f"input.input.{key} == {literal(value)}" for key, value in match.get("argEquals", {}).items()]
    return " if {\n\t" + "\n\t".join(body) + "\n}"


def rego(rules):
    """One rule, each of ours the `else` of the one before: the first that matches gives its rank. OPA takes minutes to
    prepare a long chain of that kind; beyond MOST_ELSE every rule adds its rank to a set, and the lowest is taken."""
    bodies = [rego_body(rule["match"]) for rule in rules]
    if len(rules) <= MOST_ELSE:
        chain = " else".join(f" := {rank}{body}" for rank, body in enumerate(bodies))
        return f"package callgate\n\ndecision{chain}\n"
    members = "".join(f"\nmatching contains {rank}{body}\n" for rank, body in enumerate(bodies))
    return f"package callgate\n\ndecision := min(matching)\n{members}"


def casbin(rules):
    rows = []
    for rank, rule in enumerate(rules):
        match = rule["match"]
        args = match.get("argEquals")
        rows.append([str(rank)] + [match.get(field, "") for field in
                                   ("tool", "toolPrefix", "server", "channel", "thread_ts", "actor")] +
                    [json.dumps(list(args.items())) if args else ""])
    return rows


def write(rules, folder):
    """What the peers read beside policy.json and calls.jsonl."""
    for name, text in {"policy.cedar": cedar(rules), "policy.rego": rego(rules), "casbin.conf": CASBIN_MODEL,
                       "casbin.json": json.dumps(casbin(rules))}.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
