"""One way in which a call can be understood (section 4)."""

UNREADABLE = "unreadable"


class Reading:
    """`path`: canonical bytes, UNREADABLE or None; `command`: a Command or None; `host`: a text, UNREADABLE or None. An aside
    reading counts only when a deny or a require that looks at places decides it."""

    def __init__(self, path=None, command=None, host=None, aside=False):
        self.path, self.command, self.host, self.aside = path, command, host, aside

    def key(self):
        return (self.path, self.command.key() if self.command is not None else None, self.host, self.aside)
