"""Commands of a call: from arguments to commands, what is seen through, what stands in a wrapper, and how patterns compare
(section 4.2). An answer is YES, NO or NOT_KNOWN."""
import re

from . import inputs, names, shell

YES, NO, NOT_KNOWN = "yes", "no", "not known"
SHELLS = frozenset("sh bash dash ksh zsh ash mksh rbash".split())
SHELL_FOLDERS = ("", "/bin/", "/usr/bin/", "/usr/local/bin/")
MOST_SHELLS = 4
FILE_NAME = (shell.PLAIN | frozenset("^~")) - frozenset("=")
MOST_COMMANDS = 256
RUNS_ANYTHING = frozenset(("sh bash dash ksh zsh fish env xargs sudo doas su nohup nice timeout time command exec eval find awk "
                           "sed perl python python3 ruby node deno bun php ssh make npx uvx docker podman watch source "
                           ".").split())
WRAPPERS = frozenset(("sudo doas env nohup nice timeout time command exec builtin xargs setsid stdbuf ionice busybox "
                      "toybox").split())
FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")
STAR = object()


def basename(text):
    return text.rsplit("/", 1)[-1]


class Command:
    """One command of a call. `all_words` are shell.Words; `words` the texts of those up to the first opaque one, `open` if
    there is one. Of an unreadable one only `text` counts."""

    def __init__(self, all_words, assigned=False, is_open=False, text=None, documents=()):
        self.all_words, self.assigned, self.text = list(all_words), assigned, text
        self.words = []
        for word in self.all_words:
            if word.opaque:
                break
            self.words.append(word.value)
        self.open = is_open or len(self.words) < len(self.all_words)
        self.redirection = False
        self.fewer = False  # inside another: it is that without its options
        self.like = None  # a command at whose place it stands: where it starts is where that does
        self.unreadable = text is not None
        self.documents = tuple(documents)
        # Filled in by places.py: where it acts, and its hosts.
        self.places, self.places_known, self.hosts = [], True, []
        self.starts = []

    def key(self):
        return (tuple(word.key() for word in self.all_words), self.assigned, self.open, self.text, self.documents,
                tuple(self.starts), self.places_known)


def unreadable(text):
    return Command([], text=text)


def plain_word(text):
    word = shell.Word(text)
    word.quoted = True
    word.marks = [(char, False) for char in text]
    return word


class _Told:
    """What one text of a call is told by the texts inside it: whether a variable is assigned by now, and here-documents."""

    def __init__(self):
        self.assigned, self.documents = False, []


def of_text(text, extra=(), is_open=False):
    """The commands of a shell text. Where words stand beside it, its last command with these behind it, and, if it has more
    words than one, before that the text as it is."""
    told = _Told()
    try:
        read = shell.read(text)
        found = [(raw, _made(raw, told)) for raw in _told(read, told)]
        if extra or is_open:
            found = _continued_text(read, found, extra, is_open, told)
    except shell.Unreadable:
        return [unreadable(text)]
    out = [command for _, made in found for command in made]
    for command in out:
        command.documents = tuple(told.documents)
    return out


def _told(read, told):
    """The raw commands of a text, one after another; what it assigns is told when all are taken."""
    told.documents += read.documents
    yield from read.commands
    told.assigned = told.assigned or read.assigned


def _made(raw, told, level=0):
    command = Command(raw.words, raw.assigned or told.assigned)
    command.redirection = raw.redirection
    return [command] if raw.redirection else _seen_through(command, level, told)


def _continued_text(read, found, extra, is_open, told):
    if read.last is None:
        raise shell.Unreadable("words beside a text that they do not continue")
    like = next(made for raw, made in found if raw is read.last)
    words = read.last.words + [plain_word(each) for each in extra]
    shell.check_builtins(words)
    command = Command(words, read.last.assigned, is_open)
    command.like = like[0] if like else None
    made = _seen_through(command, 0, told)
    for each in made:
        each.like = command.like
    return ([] if read.word_count == 1 else found) + [(None, made)]


def seen_through(command):
    """The command, or what the text of a shell's -c has in its place. Raises shell.Unreadable."""
    shell.check_builtins(command.all_words)
    return list(_seen_through(command, 0, _Told()))


def _seen_through(command, level, told):
    known = command.words
    if not known or basename(known[0]) not in SHELLS:
        return [command]
    folder = known[0][:-len(basename(known[0]))]
    if not command.open and len(known) == 3 and folder in SHELL_FOLDERS and \
            re.fullmatch(r"-[abefilnuvxc]*c[abefilnuvxc]*", known[1]):
        if level >= MOST_SHELLS:
            raise shell.Unreadable("too many shells inside each other")
        told.assigned = told.assigned or command.assigned
        return [made for raw in _told(shell.read(known[2]), told) for made in _made(raw, told, level + 1)]
    if _has_text_elsewhere(command):
        raise shell.Unreadable("a shell with a text in a place that is not read")
    return [command]


def _has_text_elsewhere(command):
    """Whether a shell may be told a text in a place that is not read."""
    options, value = True, False
    for at, word in enumerate(command.all_words[1:], 1):
        text = word.value
        option = text.startswith(("-", "+"))
        if word.opaque and at < 3 or len(text) > 1 and option and not text.startswith("--") and \
                ("c" in text or "-" in text[1:]):
            return True
        # What ksh93 runs as a text when there is no such file.
        if options and not option and not value and any(char not in FILE_NAME for char in text):
            return True
        options = options and (option or value)
        value = option and ("o" in text or "O" in text)
    return command.open and len(command.all_words) < 3


def of_argument(node, name, members):
    """The commands of one command argument, a list for each text; `members` are those of the object that it stands in."""
    extra, is_open = _continued(members)
    if node.kind == "null":
        return []
    if node.kind == "string":
        array = inputs.array_of_strings(node.value)
        return [of_text(node.value, extra, is_open)] + (_of_array(array, name, extra, is_open) if array else [])
    if node.kind == "array" and node.value and all(item.kind == "string" for item in node.value):
        return _of_array(node.value, name, extra, is_open)
    return [[unreadable("")]]


def _of_array(items, name, extra, is_open):
    """Under `commands` a list of texts, else the words of one command."""
    if names.folded(name) == "commands":
        return [of_text(item.value, *((extra, is_open) if item is items[-1] else ((), False))) for item in items]
    texts = [item.value for item in items] + list(extra)
    try:
        if any("\0" in text for text in texts):
            raise shell.Unreadable("a NUL")
        return [seen_through(Command([plain_word(text) for text in texts], is_open=is_open))]
    except shell.Unreadable:
        return [[unreadable("\n".join(texts))]]


def _continued(members):
    """(words that `args` or `arguments` append, whether these are not known)."""
    found = [member.value for member in members if names.folded(member.key) in ("args", "arguments")]
    found = [node for node in found if node.kind != "null" and not
             (node.kind in ("array", "object", "string") and not node.value)]
    if not found:
        return (), False
    if len(found) > 1 or found[0].kind != "array" or any(item.kind != "string" for item in found[0].value):
        return (), True
    return tuple(item.value for item in found[0].value), False


# --- commands inside a command, read aside

def inside(command):
    """Commands of their own that stand in the words of a command: of a wrapper, of find, and without its options."""
    found, seen = [], {command.key()}

    def add(words, of, is_open, whole, fewer=False):
        if not words:
            return
        inner = Command(words, of.assigned, is_open, None, of.documents)
        try:
            if words[0].opaque:
                raise shell.Unreadable("a command whose name is not known")
            parts = seen_through(inner)
        except shell.Unreadable:
            parts = [unreadable("")]  # the words are looked at where they stand
        for part in parts:
            part.starts, part.places_known = of.starts, of.places_known
            part.fewer = fewer and part is inner
            if part.key() in seen and not part.fewer:
                for other in found:
                    other.fewer = other.fewer and other.key() != part.key()
            if part.key() not in seen:
                seen.add(part.key())
                found.append(part)
                look(part, whole or part is not inner)

    def look(of, whole):
        words = of.all_words
        if of.unreadable or not words or of.redirection:
            return
        name = basename(words[0].value)
        if name in WRAPPERS and (whole or any(word.opaque for word in words)):
            for at in range(1, len(words)):
                if words[at].opaque:
                    if all(_is_option(word) for word in words[1:at]):
                        add(words[at:], of, of.open, False)
                    break
                add(words[at:], of, of.open, False)
        if name == "find":
            for at, word in enumerate(words):
                if at > 0 and not word.opaque and word.value in FIND_RUNS:
                    end = _end_of_exec(words, at + 1)
                    add(words[at + 1:end], of, of.open and end == len(words), True)
        if len(words) > 1 and _is_option(words[1]):
            for left in _without_options(words):
                # Behind an opaque word nothing was looked at: it may have been an option's value.
                add(left, of, of.open, any(word.opaque for word in words), True)

    look(command, True)
    return found


def _end_of_exec(words, at):
    """The index of the `;`, or of the `+` behind `{}`, that ends what find runs."""
    for end in range(at, len(words)):
        if words[end].value == ";" or words[end].value == "+" and words[end - 1].value == "{}":
            return end
    return len(words)


def _without_options(words):
    """The command without the words that begin with `-`, alone and each with the word behind it; and, because a subcommand's
    own options are not its program's, from each word on that may be the first of those."""
    out = [[words[0]] + [word for word in words[1:] if not _is_option(word)], [words[0]]]
    value = False
    for word in words[1:]:
        option = _is_option(word)
        if not option and not value:
            out[1].append(word)
        value = option and "=" not in word.value
    at = 1
    while True:
        while at < len(words) and _is_option(words[at]):
            at += 1
        if at == len(words):
            return out
        out.append([words[0]] + words[at:])
        if not _is_option(words[at - 1]) or "=" in words[at - 1].value:
            return out
        at += 1


def _is_option(word):
    return word.value.startswith("-")


# --- patterns

def pattern(text):
    """A rule's command or commandPrefix as its words, STAR for any one; None if it is no pattern."""
    redirection = re.match(r"[ \t\n]*([<>])(?=[ \t\n]|\Z)", text)
    head = []
    if redirection:
        head, text = [redirection.group(1)], text[redirection.end():]
        if not text.strip(" \t\n"):
            return tuple(head)
        text = "x " + text  # a program's name in the operator's place
    try:
        read = shell.read(text)
    except shell.Unreadable:
        return None
    if len(read.commands) != 1 or read.redirected or read.parted or read.commands[0].assigned:
        return None
    words = read.commands[0].words
    if any(word.opaque and not word.star for word in words) or words[0].star:
        return None
    out = tuple(STAR if word.star else word.value for word in words)
    if head:
        return tuple(head) + out[1:] if len(out) <= 32 else None
    try:
        plain = Command([plain_word("*") if word.star else word for word in words])
        if any(word.value.startswith(("-", "+")) and not word.value.startswith("--") and
               ("c" in word.value or "-" in word.value[1:]) for word in words[1:]) and basename(words[0].value) in SHELLS:
            return None  # what is seen through is no command itself: nothing would match
        shell.check_builtins(plain.all_words)
    except shell.Unreadable:
        return None
    return out if len(out) <= 32 else None


def word_pattern(text):
    """Whether the text may stand as commandWord."""
    if text == "" or text == "*" or "\0" in text:
        return False
    return "*" not in text or text.count("*") == 1 and (text[0] == "*" or text[-1] == "*")


def word_matches(wanted, word):
    if wanted.startswith("*"):
        return word.endswith(wanted[1:])
    if wanted.endswith("*"):
        return word.startswith(wanted[:-1])
    if word == wanted:
        return True
    return bool(re.fullmatch(r"-[A-Za-z]", wanted)) and bool(re.fullmatch(r"-[A-Za-z]+", word)) and wanted[1] in word[1:]


def same_program(wanted, word, strict):
    """A first word against a pattern's; `strict`: in a deny or a require."""
    if strict and "/" not in wanted:
        return basename(word) == wanted
    return word == wanted


def answer(wanted, exact, command, strict):
    """Of a pattern's words, about a readable command."""
    known = command.words
    if not same_program(wanted[0], known[0], strict):
        return NO
    for mine, theirs in zip(wanted[1:], known[1:]):
        if mine is not STAR and mine != theirs:
            return NO
    if exact and len(known) > len(wanted):
        return NO
    if exact and command.open:
        return NOT_KNOWN
    if len(known) >= len(wanted):
        return YES
    return NOT_KNOWN if command.open else NO


def word_answer(wanted, command):
    if any(word_matches(wanted, word) for word in command.words[1:]):
        return YES
    return NOT_KNOWN if command.open else NO


def both(one, other):
    if NO in (one, other):
        return NO
    return NOT_KNOWN if NOT_KNOWN in (one, other) else YES
