"""A walk over the input of a call: each string, number and boolean with what its names make of it (section 4)."""
from . import jsonread, names


class Leaf:
    """`name` is the innermost member's, '' outside of any; `under` are those of all members around it. `is_path`, `is_tree`, `is_url`, `is_command`: an argument of that
    kind; `sure`: not by the word of a workspace file alone. `members`: of the object that it stands in."""

    def __init__(self, node, name, members, top):
        self.node, self.name, self.members, self.top = node, name, members, top
        self.under = (name,)
        self.is_path = self.is_tree = self.is_base = self.is_url = self.is_command = False
        self.sure = self.sure_url = True
        self.is_uri = names.folded(name) == "uri"


def as_json(text):
    """The node of a text of a JSON object or array, or None."""
    left = text.lstrip(" \t\r\n")
    if not left.startswith(("[", "{")):
        return None
    try:
        return jsonread.read(text.encode("utf-8"))[0]
    except jsonread.JsonError:
        return None


def array_of_strings(text):
    """The elements of the text of a non-empty JSON array of strings, or []."""
    node = as_json(text)
    if node is None or node.kind != "array" or not node.value or any(item.kind != "string" for item in node.value):
        return []
    return node.value


class Walk:
    """`leaves`, in the order of the input; `command_arguments`: (node, name, members, sure)."""

    def __init__(self, call, mine, operators):
        self.mine, self.operators = mine, operators  # names.Meaning with and without what workspace files add
        self.members = call.input.value if call.input is not None else []
        self.leaves, self.command_arguments = [], []
        for member in self.members:
            self._member(member, self.members, True, None)

    def _member(self, member, members, top, outer):
        """`outer`: like a leaf of the member that this one stands in. What is in a base or a tree is of it."""
        name, node = member.key, member.value
        leaf = Leaf(node, name, members, top)
        leaf.is_tree = top and self.mine.has("tree", name)
        leaf.is_base = top and names.folded(name) in names.BASES
        leaf.is_path = leaf.is_tree or leaf.is_base or self.mine.has("path", name)
        if outer is not None:
            leaf.is_base, leaf.is_tree = outer.is_base, outer.is_tree
            leaf.under = outer.under + (name,)
        leaf.is_url = self.mine.has("url", name)
        leaf.is_command = self.mine.has("command", name)
        leaf.sure = top and self.operators.has("tree", name) or top and leaf.is_base or self.operators.has("path", name)
        leaf.sure_url = self.operators.has("url", name)
        if leaf.is_command:
            self.command_arguments.append((node, name, members, self.operators.has("command", name)))
        self._value(node, leaf)

    def _value(self, node, like):
        if node.kind == "array":
            for item in node.value:
                self._value(item, like)
        elif node.kind == "object":
            for member in node.value:
                self._member(member, node.value, False, like)
        else:
            leaf = Leaf(node, like.name, like.members, like.top)
            for field in ("under", "is_path", "is_tree", "is_base", "is_url", "is_command", "sure", "sure_url"):
                setattr(leaf, field, getattr(like, field))
            self.leaves.append(leaf)

    def strings_under(self, words):
        """Every string, or string of a list, under a name that has one of the words."""
        return [leaf.node.value for leaf in self.leaves
                if leaf.node.kind == "string" and any(names.has_word(name, words) for name in leaf.under)]


def inside_json(text, under):
    """(names around it, string) for the strings in a text of a JSON object or array."""
    node = as_json(text)
    out = []

    def walk(node, under):
        if node.kind == "string":
            out.append((under, node.value))
        elif node.kind == "array":
            for item in node.value:
                walk(item, under)
        elif node.kind == "object":
            for member in node.value:
                walk(member.value, under + (member.key,))

    if node is not None:
        walk(node, under)
    return out
