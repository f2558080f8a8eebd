"""The part of the shell language that is read (section 4.2): a text to its commands, or Unreadable."""
import re

MOST_BYTES = 65536
MOST_DEPTH = 32
PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:,@%+-=!")
NAME_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
DIGITS = frozenset("0123456789")
NAME_CHARS = NAME_START | DIGITS
ENDS_WORD = frozenset(" \t\n;&|<>()")
RESERVED = frozenset(("if then else elif fi for while until do done case esac in function select time coproc repeat foreach "
                      "end noglob nocorrect").split())
NEVER = frozenset("eval alias trap let emulate compgen complete mapfile readarray - noglob time".split())
NEVER_WITH = frozenset(("test [ printf read declare typeset local export readonly unset shift integer float set break bye continue "
                        "exit getln getopts global nameref print private return ulimit zformat zparseopts zregexparse").split())
ASSIGNING = frozenset(("export declare typeset local readonly read unset getopts integer float hash set shopt setopt enable shift "
                       "autoload disable functions getln global nameref private unfunction unhash vared zformat zparseopts "
                       "zregexparse").split())
WRAPPERS = ("command", "builtin", "exec")


class Unreadable(Exception):
    """The text is outside the language; the message says why, for the person who debugs a difference."""


class Word:
    """A word of a command. `value` is its text without quotes; of an opaque word, what it may be: a variable is `$NAME` or
    `$`. `lead` is HOME or PWD where the word begins with that variable, and `rest` what follows it."""

    def __init__(self, value, opaque=False, tilde=False):
        self.value, self.opaque, self.tilde = value, opaque, tilde
        self.lead = self.rest = None
        self.globs = False      # an unquoted * or ? makes it opaque
        self.expands = False    # a $ makes it opaque
        self.star = False       # one unquoted * and nothing else
        self.marks = []         # (character, unquoted) of the value
        self.quoted = False     # some quote stands in it

    def unquoted(self, char):
        return any(each == char and plain for each, plain in self.marks)

    def first(self, chars):
        return bool(self.marks) and self.marks[0][0] in chars and self.marks[0][1]

    def key(self):
        return (self.value, self.opaque, self.tilde, self.lead, self.rest)


class Raw:
    """A command as it stands in a text."""

    def __init__(self, words, assigned, redirection=False):
        self.words, self.assigned, self.redirection = words, assigned, redirection


class Text:
    """`commands`, in order; `documents`: the lines of the here-documents; `redirected`: a redirection stands in it;
    `parted`: more stands in it than words: a separator or parentheses."""

    def __init__(self):
        self.commands, self.documents = [], []
        self.redirected = self.parted = self.assigned = False
        self.word_count, self.last = 0, None  # the last command, where nothing but blanks stands behind it


class _Reader:
    def __init__(self, text):
        self.text, self.at = text, 0
        self.out = Text()
        self.assigned = False
        self.pending = None  # (name, quoted, depth) of a here-document whose lines are still to come

    def peek(self):
        while self.text.startswith("\\\n", self.at):
            self.at += 2
        return self.text[self.at:self.at + 1]

    def next_is(self, char):
        """The character after the one at hand, continuation lines left out."""
        here, self.at = self.at, self.at + 1
        found = self.peek() == char
        self.at = here
        return found

    def take(self):
        char = self.peek()
        self.at += 1
        return char

    def blanks(self):
        while self.peek() in (" ", "\t"):
            self.at += 1

    def whole(self):
        self.lines(0)
        if self.peek() != "":
            self.list(0)
        if self.pending is not None:
            raise Unreadable("a here-document without its lines")

    def lines(self, depth):
        """Blanks and line feeds."""
        while True:
            self.blanks()
            if self.peek() != "\n":
                return
            self.at += 1
            self.out.parted, self.out.last = True, None
            self.line_feed(depth)

    def line_feed(self, depth):
        if self.pending is None:
            return
        name, quoted, where = self.pending
        if where != depth:
            raise Unreadable("a line feed inside parentheses before the lines of a here-document")
        self.pending, held = None, []
        while True:
            end = self.text.find("\n", self.at)
            line = self.text[self.at:] if end < 0 else self.text[self.at:end]
            if line == name:
                self.at = len(self.text) if end < 0 else end  # the line feed behind it is a separator like any other
                break
            if end < 0:
                raise Unreadable("a here-document without its end")
            if not quoted and any(char in line for char in "$\\`"):
                raise Unreadable("an expansion in a here-document")
            if depth > 0 and line.lstrip(" \t").startswith(name):
                raise Unreadable("a line that may end a here-document inside parentheses")
            held.append(line + "\n")
            self.at = end + 1
        self.out.documents.append("".join(held))

    def list(self, depth):
        """Commands up to the end, or to a `)` that is not taken."""
        while True:
            self.command(depth)
            self.blanks()
            char = self.peek()
            if char == "" or char == ")":
                break
            if char == "\n":
                self.lines(depth)
                if self.peek() in ("", ")"):
                    break
                continue
            if char not in (";", "&", "|"):
                raise Unreadable(f"{char!r} behind a command")
            self.at += 1
            self.out.parted, self.out.last = True, None
            double = char != ";" and self.peek() == char
            if double:
                self.at += 1
            self.lines(depth)
            if self.peek() in ("", ")"):
                if double or char == "|":
                    raise Unreadable("nothing behind an operator")
                break
        if (self.peek() == ")") != (depth > 0):
            raise Unreadable("a parenthesis without its other half")

    def parentheses(self, depth):
        """What stands behind a `(`."""
        if depth > MOST_DEPTH:
            raise Unreadable("too many parentheses inside each other")
        if self.peek() == "(":
            raise Unreadable("two parentheses")
        self.lines(depth)
        self.list(depth)
        if self.pending is not None and self.pending[2] == depth:
            raise Unreadable("a parenthesis that closes before the lines of a here-document")
        self.at += 1
        self.out.last = None

    def command(self, depth):
        self.blanks()
        if self.peek() == "(":
            self.at += 1
            self.out.parted, self.out.last = True, None
            self.parentheses(depth + 1)
            return self.behind_parentheses(depth)
        words, targets, assignments = [], [], 0
        while True:
            self.blanks()
            char = self.peek()
            if char in ("", "\n", ";", "|", ")"):
                break
            if char == "&":
                if not self.next_is(">"):
                    break
                self.both_to_null(words)
                break
            if char in "<>":
                self.redirection(words, targets, None, depth)
                continue
            if char == "(":
                raise Unreadable("a parenthesis behind a word")
            start = self.at
            word = self.word(depth)
            digits = word.marks and all(each in DIGITS and plain for each, plain in word.marks) and not word.quoted
            if digits and (self.peek() in ("<", ">") or self.peek() == "&" and self.next_is(">")):
                if len(word.value) > 1 or self.peek() != ">" or "\\\n" in self.text[start:self.at]:
                    raise Unreadable("a number before a redirection")
                self.redirection(words, targets, word.value, depth)
                continue
            self.out.word_count += 1
            if not words and self.is_assignment(word):
                assignments += 1
                self.assigned = True
                continue
            words.append(word)
        self.emit(words, targets, assignments)

    def emit(self, words, targets, assignments):
        if not words:
            if not assignments:
                raise Unreadable("no command where one must stand")
            self.out.last = None
            return
        check(words)
        raw = Raw(words, self.assigned)
        self.out.commands.append(raw)
        self.assigned = self.assigned or assigns(words)
        for target in targets:
            self.out.commands.append(Raw(target, self.assigned, True))
        self.out.last = raw

    def behind_parentheses(self, depth):
        while True:
            self.blanks()
            char = self.peek()
            if char in ("", "\n", ";", "|", ")"):
                return
            if char == "&":
                if not self.next_is(">"):
                    return
                self.both_to_null([None])
                return
            targets = []
            if char in DIGITS and self.next_is(">"):
                self.at += 1
                self.redirection([None], targets, char, None)
            elif char in "<>":
                self.redirection([None], targets, None, None)
            else:
                raise Unreadable("a word behind parentheses")
            if targets:
                raise Unreadable("a redirection to a file behind parentheses")

    def both_to_null(self, words):
        """`&>` before /dev/null at a command's end."""
        if not words:
            raise Unreadable("a redirection before the first word")
        self.at += 1
        self.peek()
        self.at += 1
        self.out.redirected = True
        self.blanks()
        if self.target(0).value != "/dev/null":
            raise Unreadable("&> to a file")
        self.blanks()
        char = self.peek()
        if char not in ("", "\n", ";", "&", "|", ")") or char == "&" and self.next_is(">"):
            raise Unreadable("something behind &>/dev/null")

    def redirection(self, words, targets, digit, depth):
        if not words:
            raise Unreadable("a redirection before the first word")
        self.out.redirected = True
        operator = self.take()
        char = self.peek()
        if operator == "<":
            if char == "<":
                self.at += 1
                self.here_document(depth)
                return
            rest = self.text[self.at:].replace("\\\n", "")
            if re.match(r"[0-9]*-[0-9]*>", rest):
                raise Unreadable("a range of numbers")
        elif char == "&":
            self.at += 1
            number = self.take()
            after = self.peek()
            if number == "" or number not in DIGITS or after != "" and (after not in ENDS_WORD or after in "<>("):
                raise Unreadable("a redirection to another than a digit")
            return
        elif char == ">":
            self.at += 1
        self.blanks()
        word = self.target(depth)
        if word.value == "/dev/null":
            return
        if depth is None:
            raise Unreadable("a redirection to a file behind parentheses")
        sign = Word(operator)
        sign.marks = [(operator, True)]
        targets.append([sign, word])

    def target(self, depth):
        """The file of a redirection."""
        if self.peek() == "" or self.peek() in ENDS_WORD:
            raise Unreadable("a redirection to nothing")
        word = self.word(depth or 0)
        if word.opaque:
            raise Unreadable("a redirection to what is not known")
        if word.value.isdigit() and not word.quoted and self.peek() in ("<", ">"):
            raise Unreadable("a number before a redirection")
        if word.first("="):
            raise Unreadable("a word that begins with =")
        return word

    def here_document(self, depth):
        if depth is None or self.pending is not None:
            raise Unreadable("a here-document where none may stand")
        self.blanks()
        quoted = self.peek() == "'"
        if quoted:
            self.at += 1
        name = ""
        while self.peek() != "" and self.peek() in NAME_CHARS:
            name += self.take()
        if quoted and self.take() != "'" or not name:
            raise Unreadable("a here-document of another form")
        if self.peek() != "" and self.peek() not in ENDS_WORD:
            raise Unreadable("a here-document of another form")
        self.pending = (name, quoted, depth)

    @staticmethod
    def is_assignment(word):
        text, plain = word.value, [each[1] for each in word.marks]
        found = re.match(r"[A-Za-z_][A-Za-z0-9_]*\+?=", text)
        if found is None or not all(plain[:found.end()]) or word.expands:
            return False
        return not any(char in text[found.end():] for char in "$`[")

    def word(self, depth):
        word, value = Word(""), []  # value: (character, unquoted, an own plain character that a ~ may follow)
        while True:
            char = self.peek()
            if char == "" or char in ENDS_WORD:
                break
            if char in PLAIN:
                self.at += 1
                value.append((char, True, True))
            elif char == "^" and (value or word.quoted or word.opaque):
                self.at += 1
                value.append((char, True, False))
            elif char == "~":
                self.tilde(word, value)
            elif char == "\\":
                self.at += 1
                char = self.text[self.at:self.at + 1]
                if not " " <= char <= "~" or char == "":
                    raise Unreadable("a backslash before this")
                self.at += 1
                word.quoted = True
                value.append((char, False, False))
            elif char == "'":
                self.single(word, value, depth)
            elif char == '"':
                self.double(word, value, depth)
            elif char == "$":
                self.dollar(word, value, depth, False)
            elif char in "*?":
                self.at += 1
                word.opaque = word.globs = True
                value.append((char, True, False))
            else:
                raise Unreadable(f"{char!r}")
        word.value = "".join(each[0] for each in value)
        word.marks = [each[:2] for each in value]
        word.star = len(value) == 1 and value[0][:2] == ("*", True) and not word.quoted
        if word.lead is not None:
            word.rest = word.value[len("$" + word.lead):]
        return word

    def tilde(self, word, value):
        self.at += 1
        after = self.peek()
        if not value and not word.quoted and not word.opaque:
            if after != "" and after != "/" and after not in ENDS_WORD:
                raise Unreadable("~ and a name")
            word.tilde = True
        elif not value or not value[-1][2] or any(char in "=:" and plain for char, plain, _ in value):
            raise Unreadable("a ~ that may be a home directory")
        value.append(("~", True, False))

    def quoted_line_feed(self, depth):
        if self.pending is not None and self.pending[2] != depth:
            raise Unreadable("a line feed inside parentheses before the lines of a here-document")

    def single(self, word, value, depth):
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Unreadable("a quote without its end")
        word.quoted = True
        for char in self.text[self.at + 1:end]:
            if char == "\n":
                self.quoted_line_feed(depth)
            value.append((char, False, False))
        self.at = end + 1
        mark_break(value)

    def double(self, word, value, depth):
        self.at += 1
        word.quoted = True
        while True:
            char = self.peek()
            if char == "":
                raise Unreadable("a quote without its end")
            if char == '"':
                self.at += 1
                mark_break(value)
                return
            if char == "`":
                raise Unreadable("a backquote")
            if char == "$":
                self.dollar(word, value, depth, True)
                continue
            self.at += 1
            if char == "\\" and self.text[self.at:self.at + 1] in ("$", "`", '"', "\\"):
                char = self.text[self.at]
                self.at += 1
            if char == "\n":
                self.quoted_line_feed(depth)
            value.append((char, False, False))

    def dollar(self, word, value, depth, in_quotes):
        self.at += 1
        char = self.peek()
        if in_quotes and char in ('"', " ", "\t"):
            value.append(("$", False, False))
            return
        shown = "$"
        if char == "(":
            self.at += 1
            self.parentheses(depth + 1)
        elif char == "{":
            self.at += 1
            shown = "$" + self.name()
            if self.peek() == ":":
                self.at += 1
                if self.peek() not in ("-", "+"):
                    raise Unreadable("an expansion of another form")
            if self.peek() in ("-", "+"):
                self.at += 1
                while self.peek() != "" and self.peek() in PLAIN:
                    self.at += 1
            if self.take() != "}":
                raise Unreadable("an expansion of another form")
        elif char != "" and char in NAME_START:
            shown = "$" + self.name()
        elif char != "" and char in "0123456789?#$@*":
            self.at += 1
        else:
            raise Unreadable("a $ before this")
        if not value and not word.opaque and shown in ("$HOME", "$PWD"):
            word.lead = shown[1:]
        word.opaque = word.expands = True
        value.extend((each, False, False) for each in shown)

    def name(self):
        name = ""
        while self.peek() != "" and self.peek() in NAME_CHARS and (name or self.peek() in NAME_START):
            name += self.take()
        if not name:
            raise Unreadable("an expansion of another form")
        return name


def mark_break(value):
    """Behind a closing quote the last character is none that a ~ may follow."""
    if value:
        char, plain, _ = value[-1]
        value[-1] = (char, plain, False)


def check(words):
    """Raises Unreadable for what shells take otherwise, or do with the words what a program would not."""
    first = words[0]
    if first.opaque or first.first("-!") or first.unquoted("="):
        raise Unreadable("a first word that shells take otherwise")
    if not first.quoted and first.value in RESERVED:
        raise Unreadable("a reserved word")
    if not first.quoted and re.fullmatch("[A-Za-z_][A-Za-z0-9_]*:", first.value):
        raise Unreadable("a label of ksh93")
    if any(word.first("=") for word in words):
        raise Unreadable("a word that begins with =")
    check_builtins(words)


def check_builtins(words):
    """Raises Unreadable for a command of the shell's own that takes its words as a text or an expression."""
    at = behind_wrappers(words)
    if at == len(words):
        return
    name, later = words[at].value, words[at + 1:]
    if words[at].opaque:
        raise Unreadable("a command whose name is not known")
    if name in NEVER:
        raise Unreadable("a command that reads its words as a text")
    if name == "jobs" and any(word.opaque or word.value.startswith("-") and "x" in word.value for word in later):
        raise Unreadable("a command that runs its words")
    if name in NEVER_WITH and any(word.expands or any(char in word.value for char in "$`[") for word in later):
        raise Unreadable("a command that may read its words as an expression")


def behind_wrappers(words):
    """The index of the word that `command`, `builtin`, `exec` and their options lead to."""
    at = 0
    while at < len(words) and not words[at].opaque and words[at].value in WRAPPERS:
        at += 1
        while at < len(words) and words[at].value.startswith("-"):
            at += 1
    return at


def assigns(words):
    at = behind_wrappers(words)
    if at >= len(words):
        return False
    name, later = words[at].value, words[at + 1:]
    return name in ASSIGNING or name in ("printf", "print") and any(word.opaque or word.value.startswith("-v") for word in later)


def read(text):
    """The commands of a text. Raises Unreadable."""
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise Unreadable("no text")
    if size > MOST_BYTES:
        raise Unreadable("too long")
    if any((char < " " and char not in "\t\n") or char == "\x7f" for char in text):
        raise Unreadable("a control character")
    reader = _Reader(text)
    reader.whole()
    reader.out.assigned = reader.assigned
    return reader.out
