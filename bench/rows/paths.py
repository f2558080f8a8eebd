"""Resolving a path, and making the readings of a call."""
import re

from .common import row, run, tool, us

TITLE = "Paths"
NOTE = ("`build/bench/path_bench`: the best of many rounds, everything in the kernel's cache. The readings of a call are "
        "made under 1,000 prefixes, JSON already read.")
LINE = re.compile(r"(.*?)\s+([\d.]+) us(?:,? *(.*))?$")


def rows(_folder):
    for line in run([tool("path_bench")]).splitlines():
        what, micros, more = LINE.match(line).groups()
        yield row(re.sub(r"\s+", " ", what), {"us": float(micros)}, us(float(micros)) + (f"; {more}" if more else ""))
