"""Resolving a path, and making the readings of a call."""
import re

from .common import row, run, tool, us

TITLE = "Paths"
NOTE = ("`build/bench/path_bench`: the best of many rounds, everything in the kernel's cache. *resolve* is what callgate "
        "does; *openat2, text alone* opens the place and reads its name back, which says nothing of the directories above "
        "that may be a rule's by another name; *each file* looks at those as well; *realpath* is the C library's. The "
        "other rows are the readings of a call under 1,000 prefixes, JSON already read.")
LINE = re.compile(r"(.*?)\s+([\d.]+) us(?:,? *(.*))?$")


def rows(_folder):
    for line in run([tool("path_bench")]).splitlines():
        what, micros, more = LINE.match(line).groups()
        yield row(re.sub(r"\s+", " ", what), {"us": float(micros)}, us(float(micros)) + (f"; {more}" if more else ""))
