"""What the groups share: a row, a target, how to run a program, how to write numbers."""
import json
import os
import statistics
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, "build")
CALLGATE = os.path.join(BUILD, "callgate")
SIZES = (10, 100, 1000, 10000, 100000, 1000000)


class Unavailable(Exception):
    """Why a group cannot be measured on this machine; no failure."""


def tool(name):
    return os.path.join(BUILD, "bench", name)


def run(argv, **more):
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, **more).stdout


def run_json(argv, **more):
    return json.loads(run(argv, **more))


def median(values):
    return statistics.median(values)


def row(what, figures, shown, *targets):
    """One row: `figures` are the numbers as they were measured, `shown` is how the table writes them."""
    return {"what": what, "figures": figures, "shown": shown, "targets": list(targets)}


def target(name, value, least=None, most=None, unit=""):
    """What is aimed at. `off` is by how many times the figure is on the wrong side of it: more than 1 is missed."""
    limit = least if most is None else most
    off = limit / value if most is None else value / limit
    text = f"{name} at {'least' if most is None else 'most'} {limit:,}{' ' + unit if unit else ''}"
    return {"text": text, "figure": value, "off": round(off, 3)}


def count(number):
    return f"{number:,.0f}"


def per_second(number):
    return f"{number / 1e6:.2f} M/s" if number >= 1e6 else f"{number:,.0f}/s"


def time_of(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            value = nanoseconds / size
            return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
    return f"{nanoseconds:.0f} ns"


def ms(milliseconds):
    return time_of(milliseconds * 1e6)


def us(microseconds):
    return time_of(microseconds * 1e3)


def policy_of_tools(rules, folder):
    """A policy of so many rules, each for a tool of its own."""
    path = os.path.join(folder, f"tools-{rules}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{"id": f"rule-{i}", "effect": "auto_approve", "match": {"tool": f"tool_{i}"}}
                   for i in range(rules)], file)
    return path
