"""The match of a rule as it is written, to its arms, or to the errors in it (section 2)."""
from . import canonical, commands, hosts, jsonread, values
from .match import ANY, Arm

LISTED = ("tool", "server", "channel", "toolPrefix", "pathPrefix", "pathComponent", "command", "commandPrefix", "commandWord",
          "host")
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
MATCH_KEYS = LISTED + ("thread_ts", "actor", "annotations", "argEquals", "argIn", "tier")
ACTORS = ("session_owner", "claude_process")
MOST_ELEMENTS, MOST_ARMS = 1000, 4096
COMMAND_FIELDS = ("command", "commandPrefix", "commandWord")


def good_component(text):
    if "/" in text or text in ("", ".", "..", "*"):
        return False
    return "*" not in text or text.count("*") == 1 and (text[0] == "*" or text[-1] == "*")


def good_name(text):
    return text != "" and "*" not in text and "?" not in text


def read(document, rule, node, pointer, known):
    _Reader(document, rule, node, pointer, known).read()


class _Reader:
    """Reads one match. `document` notes the errors."""

    def __init__(self, document, rule, node, pointer, known):
        self.document, self.rule, self.node, self.pointer, self.known = document, rule, node, pointer, known
        self.allows = rule.stated == "auto_approve"
        self.choices = []  # [(field, [values])]: one of each makes an arm

    def error(self, code, node, where):
        self.document._error(code, node.start, where, self.known)

    def has(self, *keys):
        return any(self.node.get(key) is not None for key in keys)

    def read(self):
        before, constrains = len(self.document.errors), False
        for member in self.node.value:
            key, item, where = member.key, member.value, jsonread.pointer_join(self.pointer, member.key)
            if key not in MATCH_KEYS:
                self.document._error("unknown-key", member.start, where, self.known)
            elif key == "tier":
                self.document._tier(self.rule, item, where, self.known)
            else:
                constrains = constrains or key not in ("argEquals", "annotations") or item.kind != "object" or bool(item.value)
                self.field(key, item, where)
        if len(self.document.errors) > before:
            return
        if not constrains:
            self.error("empty-match", self.node, self.pointer)
            return
        count = 1
        for _, found in self.choices:
            count *= len(found)
        if count > MOST_ARMS:
            self.error("bad-value", self.node, self.pointer)
            return
        self.build()

    def field(self, key, node, where):
        if key == "argEquals":
            self.arguments(node, where)
        elif key == "argIn":
            self.argument_lists(node, where)
        elif key == "actor":
            text = self.document._string(node, where, self.known, lambda text: text in ACTORS)
            self.choices.append((key, [text]))
        elif key == "annotations":
            self.annotations(node, where)
        elif key == "thread_ts":
            self.choices.append((key, [self.document._string(node, where, self.known, lambda text: text != "")]))
        else:
            self.listed(key, node, where)

    def misplaced(self, key):
        """The field may not stand beside another of this match, or not in an allow."""
        if key == "toolPrefix" and self.has("tool") or key == "commandPrefix" and self.has("command"):
            return True
        if not self.allows:
            return False
        return key in ("commandWord", "annotations") or key in ("pathComponent", "host") and self.has(*COMMAND_FIELDS)

    def listed(self, key, node, where):
        if node.kind not in ("string", "array"):
            self.error("wrong-type", node, where)
        elif node.kind == "array" and not 1 <= len(node.value) <= MOST_ELEMENTS or self.misplaced(key):
            self.error("bad-value", node, where)
        elif node.kind == "string":
            self.choices.append((key, [self.value(key, node, where, True)]))
        else:
            found, seen = [], set()
            for index, item in enumerate(node.value):
                place = jsonread.pointer_join(where, index)
                if item.kind == "string" and item.value in seen:
                    self.error("bad-value", item, place)
                    continue
                if item.kind == "string":
                    seen.add(item.value)
                found.append(self.value(key, item, place, False))
            self.choices.append((key, found))

    def value(self, key, node, where, alone):
        """What one string of the field stands for."""
        if node.kind != "string":
            self.error("wrong-type", node, where)
            return None
        if key == "pathPrefix":
            return self.prefix(node, where)
        text = node.value
        if key in ("tool", "server", "toolPrefix"):
            found = text if good_name(text) or key == "tool" and text == ANY and alone else None
        elif key == "channel":
            found = text or None
        elif key == "pathComponent":
            found = text.encode("utf-8") if good_component(text) else None
        elif key in ("command", "commandPrefix"):
            found = commands.pattern(text)
        elif key == "commandWord":
            found = text if commands.word_pattern(text) else None
        else:
            found = hosts.pattern(text)
        if found is None:
            self.error("bad-value", node, where)
        return found

    def prefix(self, node, where):
        """(canonical prefix, its identity), or None."""
        text, place = node.value.encode("utf-8"), self.document.place
        if not text or b"\0" in text or len(text) > canonical.LONGEST:
            self.error("bad-value", node, where)
            return None
        if text == b"~" or text.startswith(b"~/"):
            text = place.home + text[1:]
        elif not text.startswith(b"/"):
            text = place.cwd + b"/" + text
        first, second = canonical.both(text)
        if first is None or second is None:
            self.error("bad-value", node, where)
        elif first != second:
            self.error("ambiguous-prefix", node, where)
        else:
            identity = canonical.identity(first)
            if identity is None:
                self.rule.missing.append(first)
            return (first, identity)
        return None

    def annotations(self, node, where):
        if node.kind != "object":
            self.error("wrong-type", node, where)
            return
        if self.misplaced("annotations"):
            self.error("bad-value", node, where)
            return
        hints = set()
        for member in node.value:
            place = jsonread.pointer_join(where, member.key)
            if member.key not in HINTS:
                self.document._error("unknown-key", member.start, place, self.known)
            elif member.value.kind != "bool":
                self.error("wrong-type", member.value, place)
            else:
                hints.add((member.key, member.value.value))
        if hints:
            self.choices.append(("hints", [frozenset(hints)]))

    def arguments(self, node, where):
        if node.kind != "object":
            self.error("wrong-type", node, where)
            return
        for member in node.value:
            self.choices.append((("argument", member.key), [_both_forms(member.value)]))

    def argument_lists(self, node, where):
        if node.kind != "object":
            self.error("wrong-type", node, where)
            return
        if not node.value:
            self.error("bad-value", node, where)
        equals = self.node.get("argEquals")
        taken = [member.key for member in equals.value] if equals is not None and equals.kind == "object" else []
        for member in node.value:
            place, item = jsonread.pointer_join(where, member.key), member.value
            if item.kind != "array":
                self.error("wrong-type", item, place)
            elif member.key in taken or not 1 <= len(item.value) <= MOST_ELEMENTS:
                self.error("bad-value", item, place)
            else:
                found = [_both_forms(each) for each in item.value]
                exact = [each[0] for each in found]
                for index, each in enumerate(item.value):
                    if exact[index] in exact[:index]:
                        self.error("bad-value", each, jsonread.pointer_join(place, index))
                self.choices.append((("argument", member.key), found))

    def build(self):
        arms = [[]]
        for field, found in self.choices:
            arms = [arm + [(field, each)] for arm in arms for each in found]
        self.rule.arms = [self.arm(chosen) for chosen in arms]

    def arm(self, chosen):
        arm = Arm(not self.allows)
        for field, value in chosen:
            if isinstance(field, tuple):
                arm.args[field[1]] = value
            elif field == "pathPrefix":
                arm.prefix, arm.identity = value
            elif field == "tool" and value == ANY:
                arm.star = True
            elif field in ("command", "commandPrefix"):
                arm.command, arm.exact = value, field == "command"
            else:
                setattr(arm, {"pathComponent": "component", "commandWord": "word"}.get(field, field), value)
        return arm


def _both_forms(node):
    return values.frozen(node), values.loose(node)
