"""The same rules and calls for other evaluators, by bench/peers."""
import json
import os
import subprocess
import sys

from .common import TOP, Unavailable, count, ms, row, target

TITLE = "Beside others"
NOTE = ("`bench/peers/run.py`: decisions a second under the same rules and for the same calls, without paths; in brackets "
        "how many times as many callgate decides. Every decision is compared with that of `callgate eval` first. "
        "bench/peers/README.md tells how each was given the rules, and what this does not say.")
SCRIPT = os.path.join(TOP, "bench", "peers", "run.py")
OURS = ("callgate", "callgate bench")


def is_own(name):
    return name in OURS or name.startswith("our JavaScript")


def number(rate):
    return count(rate) if rate >= 10 else f"{rate:.2g}"


def cell(size, figure):
    if "decisions_per_second" not in figure:
        return f"{count(size)} rules: not measured"
    times = figure.get("callgate_is_times")
    shown = "" if times is None else f" ({times:,.1f})" if times < 100 else f" ({times:,.0f})"
    return f"{count(size)} rules {number(figure['decisions_per_second'])}/s{shown}"


def beside(size, figures):
    """The fastest of the others at one size, and the fastest that is not of our own."""
    times = {name: figure["callgate_is_times"] for name, figure in figures.items()
             if name not in OURS and "callgate_is_times" in figure}
    foreign = {name: value for name, value in times.items() if not is_own(name)}
    for what, of, least in (("the fastest", times, 1), ("the fastest not of our own", foreign, 10 if size == 1000 else 1)):
        if of:
            name = min(of, key=of.get)
            yield row(f"{count(size)} rules, {what}", {"peer": name, "callgate_is_times": of[name]},
                      f"{name}: callgate decides {of[name]:,.2f} times as many",
                      target("times as many", of[name], least=least))


def rows(folder):
    if not os.path.exists(SCRIPT):
        raise Unavailable("bench/peers is not here")
    path = os.path.join(folder, "peers.json")
    done = subprocess.run([sys.executable, SCRIPT, "--json", path], stdout=subprocess.DEVNULL, check=False)
    if not os.path.exists(path):
        raise RuntimeError(f"bench/peers/run.py ended with {done.returncode}")
    with open(path, encoding="utf-8") as file:
        measured = json.load(file)
    sizes = {int(size): figures for size, figures in measured["sizes"].items()}
    names = list(dict.fromkeys(name for figures in sizes.values() for name in figures))
    for name in names:
        by_size = {size: figures.get(name, {}) for size, figures in sizes.items()}
        loads = [figure["load_ms"] for figure in by_size.values() if "load_ms" in figure]
        yield row(name, {str(size): figure for size, figure in by_size.items()},
                  "; ".join(cell(size, figure) for size, figure in by_size.items())
                  + (f"; loads the last in {ms(loads[-1])}" if loads else ""))
    for size, figures in sizes.items():
        yield from beside(size, figures)
    every = [figure for figures in sizes.values() for figure in figures.values()]
    compared, differing = (sum(figure.get(key, 0) for figure in every) for key in ("compared", "differing"))
    yield row("decisions compared", {"compared": compared, "differing": differing},
              f"{count(compared)}, of which {differing} differ")
    for what, why in measured["not_measured"].items():
        yield row(what, {}, f"not measured: {why}")
