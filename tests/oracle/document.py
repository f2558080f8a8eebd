"""One policy document: its rules and lists, or every error in it with its place (section 2)."""
from . import arms, jsonread, names, values

TIERS = ("admin", "user", "workspace", "default")
EFFECTS = ("auto_approve", "deny", "require_approval")
MOST_RULES = 1_000_000
DEPTH = 64

EVERY_RULE = ("id", "effect", "match", "priority", "comment")
OF_EFFECT = {"auto_approve": (), "deny": ("reason", "tell"), "require_approval": ("ttlMs", "approvers", "approversFrom", "scope", "tell")}
ALL_EFFECTS = ("reason", "tell", "ttlMs", "approvers", "approversFrom", "scope")
ARGUMENT_LISTS = {"pathArguments": "path", "treeArguments": "tree", "commandArguments": "command", "urlArguments": "url"}
NAMED_PLACES = ("@cache", "@npm", "@cargo", "@go", "@maven", "@gradle", "@claude-code", "@codex", "@opencode")
SECOND_FORM = ("rules", "$schema", "version", "requireAuthoredPolicy", "assertions")


class Error:
    """`others` are byte offsets that the specification's words allow as well."""

    def __init__(self, code, offset, pointer, rule=None, others=()):
        self.code, self.offset, self.pointer, self.rule, self.others = code, offset, pointer, rule, tuple(others)


class Rule:
    """`arms` are the matches that it stands for, one after another."""

    def __init__(self):
        self.id = self.effect = self.reason = self.tell = self.tier = None
        self.arms = []
        self.priority, self.ttl_ms, self.approvers, self.scope = 100, 300_000, 1, "session"
        self.missing = []  # prefixes that do not exist
        self.stated, self.from_workspace = None, False  # the effect as it is written, known or not
        self.file = self.line = None

    def prefixes(self):
        """(canonical prefix, its (device, inode) as it was at load), each once."""
        out = []
        for arm in self.arms:
            if arm.prefix is not None and (arm.prefix, arm.identity) not in out:
                out.append((arm.prefix, arm.identity))
        return out

    def components(self):
        return [arm.component for arm in self.arms if arm.component is not None]


class Place:
    """Where prefixes are canonicalised from."""

    def __init__(self, cwd, home):
        self.cwd, self.home = cwd, home


class Document:
    """Reads `text`, loaded at `tier` (None: the operator's own file). `ids` holds the ids of the files before and
    takes this one's. Either `errors` is empty or nothing else counts."""

    def __init__(self, text, tier, place, ids, name=""):
        self.text, self.tier, self.place, self.ids, self.name = text, tier, place, ids, name
        self.errors, self.rules = [], []
        self.authored, self.lists = [], names.Lists()
        self._load()
        self.errors.sort(key=lambda error: error.offset)  # stable: missing keys keep their order

    def _error(self, code, offset, pointer, rule=None, others=()):
        self.errors.append(Error(code, offset, pointer, rule, others))

    def _load(self):
        try:
            root, duplicates = jsonread.read(self.text, DEPTH)
        except jsonread.JsonError as error:
            self._error(error.code, error.offset, "", None, error.others)
            return
        rules, pointer = self._rules_of(root)
        if rules is not None and rules.kind == "array" and len(rules.value) > MOST_RULES:
            self._error("limit", rules.value[MOST_RULES].start, "")
            return
        if duplicates:
            for offset, where in duplicates:
                self._error("duplicate-key", offset, where)
            return
        if root.kind == "object":
            self._object(root)
        elif root.kind != "array":
            self._error("wrong-type", root.start, "")
        if rules is None:
            return
        if rules.kind != "array":
            self._error("wrong-type", rules.start, pointer)
            return
        for index, node in enumerate(rules.value):
            self._rule(node, jsonread.pointer_join(pointer, index))

    @staticmethod
    def _rules_of(root):
        if root.kind == "array":
            return root, ""
        if root.kind != "object":
            return None, ""
        if root.get("rules") is not None:
            return root.get("rules"), "/rules"
        return root.get("policy"), "/policy"

    def _object(self, root):
        has_rules, has_policy = root.get("rules") is not None, root.get("policy") is not None
        slack = has_policy and not has_rules
        for member in root.value:
            key, node, pointer = member.key, member.value, jsonread.pointer_join("", member.key)
            if key == "requireAuthoredPolicy":
                self._strings(node, pointer, self.authored, False)
            elif key in ARGUMENT_LISTS:
                self._argument_lists(node, pointer, ARGUMENT_LISTS[key])
            elif key == "allowObserve":
                if node.kind != "bool":
                    self._error("wrong-type", node.start, pointer)
            elif key == "confine":
                self._confine(node, pointer)
            elif slack or key == "rules":
                continue
            elif key not in SECOND_FORM:
                self._error("unknown-key", member.start, pointer)
            elif key == "$schema" and node.kind != "string":
                self._error("wrong-type", node.start, pointer)
            elif key == "assertions" and node.kind != "array":
                self._error("wrong-type", node.start, pointer)
            elif key == "version":
                self._integer(node, pointer, 1, 1, None)

    def _strings(self, node, pointer, out, minus):
        """A list of non-empty strings; `minus`: entries may begin with `-`, but not in a workspace file."""
        if node.kind != "array":
            self._error("wrong-type", node.start, pointer)
            return
        for index, item in enumerate(node.value):
            where = jsonread.pointer_join(pointer, index)
            if item.kind != "string":
                self._error("wrong-type", item.start, where)
            elif item.value == "":
                self._error("bad-value", item.start, where)
            elif minus and (item.value == "-" or item.value.startswith("-") and self.tier == "workspace"):
                self._error("bad-value", item.start, where)
            else:
                out.append(item.value)

    def _argument_lists(self, node, pointer, kind):
        if node.kind != "object":
            self._error("wrong-type", node.start, pointer)
            return
        for member in node.value:
            entries = []
            self._strings(member.value, jsonread.pointer_join(pointer, member.key), entries, True)
            self.lists.add(kind, member.key, entries)

    def _confine(self, node, pointer):
        """Section 16: places to be written to, of which some have names, and places that are not."""
        if node.kind != "object":
            self._error("wrong-type", node.start, pointer)
            return
        for member in node.value:
            where, list_of = jsonread.pointer_join(pointer, member.key), member.value
            if member.key not in ("write", "read"):
                self._error("unknown-key", member.start, where)
            elif list_of.kind != "array":
                self._error("wrong-type", list_of.start, where)
            elif member.key == "write" and self.tier == "workspace":
                self._error("bad-value", list_of.start, where)
            else:
                for index, item in enumerate(list_of.value):
                    if item.kind != "string":
                        self._error("wrong-type", item.start, jsonread.pointer_join(where, index))
                    elif not self._is_place(item.value, member.key == "write"):
                        self._error("bad-value", item.start, jsonread.pointer_join(where, index))

    @staticmethod
    def _is_place(text, named):
        return text != "" and "\0" not in text and (not text.startswith("@") or named and text in NAMED_PLACES)

    def _integer(self, node, pointer, low, high, rule):
        if node.kind != "number":
            self._error("wrong-type", node.start, pointer, rule)
            return None
        number = values.integer(node.value, low, high)
        if number is None:
            self._error("bad-value", node.start, pointer, rule)
        return number

    def _string(self, node, pointer, rule, ok):
        """The string if it is one and `ok` holds of it; else None, and the error is noted."""
        if node.kind != "string":
            self._error("wrong-type", node.start, pointer, rule)
        elif not ok(node.value):
            self._error("bad-value", node.start, pointer, rule)
        else:
            return node.value
        return None

    def _rule(self, node, pointer):
        if node.kind != "object":
            self._error("wrong-type", node.start, pointer)
            return
        rule = Rule()
        rule.file, rule.line = self.name, jsonread.line_and_column(self.text, node.start)[0]
        named = node.get("id")
        known = named.value if named is not None and named.kind == "string" else None
        stated = node.get("effect")
        effect = stated.value if stated is not None and stated.kind == "string" else None
        own = OF_EFFECT.get(effect)
        rule.stated, rule.from_workspace = effect, self.tier == "workspace"
        missing = [key for key in ("id", "effect", "match") if node.get(key) is None]
        if effect == "deny" and node.get("reason") is None:
            missing.append("reason")
        for key in missing:
            self._error("missing-key", node.start, jsonread.pointer_join(pointer, key), known)
        for member in node.value:
            where = jsonread.pointer_join(pointer, member.key)
            if member.key in EVERY_RULE:
                self._common(rule, member.key, member.value, where, known)
            elif member.key not in ALL_EFFECTS or own is not None and member.key not in own:
                self._error("unknown-key", member.start, where, known)
            elif own is not None:
                self._of_effect(rule, member.key, member.value, where, known)
        self.rules.append(rule)

    def _common(self, rule, key, node, where, known):
        if key == "id":
            rule.id = self._string(node, where, known, lambda text: 1 <= len(text) <= 120)
            if rule.id == "default":
                self._error("reserved-id", node.start, where, known)
            elif rule.id is not None and rule.id in self.ids:
                self._error("duplicate-id", node.start, where, known)
            elif rule.id is not None:
                self.ids.add(rule.id)
        elif key == "effect":
            rule.effect = self._string(node, where, known, lambda text: text in EFFECTS)
            if self.tier == "workspace" and rule.effect in ("auto_approve", "require_approval"):
                self._error("loosening-rule", node.start, where, known)
        elif key == "match":
            self._match(rule, node, where, known)
        elif key == "priority":
            number = self._integer(node, where, -2 ** 31, 2 ** 31 - 1, known)
            rule.priority = 100 if number is None else number
        elif node.kind != "string":  # comment
            self._error("wrong-type", node.start, where, known)

    def _of_effect(self, rule, key, node, where, known):
        if key in ("reason", "tell"):
            text = self._string(node, where, known, lambda text: 1 <= len(text) <= 200)
            setattr(rule, key, text)
        elif key == "ttlMs":
            rule.ttl_ms = self._integer(node, where, 1, 86_400_000, known)
        elif key == "approvers":
            rule.approvers = self._integer(node, where, 1, 10, known)
        elif key == "approversFrom":
            self._groups(node, where, known)
        else:
            rule.scope = self._string(node, where, known, lambda text: text in ("session", "call", "once"))

    def _groups(self, node, where, known):
        """1 to 10 non-empty names; who belongs to a group is none of the document's business."""
        if node.kind != "array":
            self._error("wrong-type", node.start, where, known)
        elif not 1 <= len(node.value) <= 10:
            self._error("bad-value", node.start, where, known)
        else:
            for index, item in enumerate(node.value):
                if item.kind != "string" or item.value == "":
                    code = "wrong-type" if item.kind != "string" else "bad-value"
                    self._error(code, item.start, jsonread.pointer_join(where, index), known)

    def _match(self, rule, node, pointer, known):
        if node.kind != "object":
            self._error("wrong-type", node.start, pointer, known)
            return
        rule.tier = self.tier or "default"
        arms.read(self, rule, node, pointer, known)

    def _tier(self, rule, node, where, known):
        tier = self._string(node, where, known, lambda text: text in TIERS)
        if tier is None:
            return
        if self.tier is not None and TIERS.index(tier) < TIERS.index(self.tier):
            self._error("tier-above-file", node.start, where, known)
        rule.tier = tier
