"""The proxy with a fake gate, for the tests of its input and output."""
import os

import harness
from harness import PROGRAM


class Run(harness.Run):
    """The proxy with the gate of proxy_fake.c."""

    def arguments(self, hold_ms=20000):
        return [PROGRAM, self.dir.name, str(hold_ms)]

    def log(self):
        try:
            with open(os.path.join(self.dir.name, "log"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""
