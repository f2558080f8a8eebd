"""What `callgate run` adds to a call."""
import os
import shutil

from .common import CALLGATE, TOP, median, policy_of_tools, row, run_json, target, tool, us

TITLE = "run: what it adds to a call"
NOTE = ("One client and one small MCP server; 10,000 calls to each, one at a time, in turn: straight, through a process "
        "that only copies bytes, through a proxy in Node that parses each line and prints it again, and through "
        "`callgate run` (1,000 rules, the journal on). `adds` is what the median, or the 99th percentile, is above that "
        "of the straight way.")
CALLS = 10000
MODES = ("batch", "always", "never")


def commands(folder):
    server = tool("mcp_server")
    policy = policy_of_tools(1000, folder)
    found = {"straight": [server], "bare pass-through": [tool("passthrough"), server]}
    if shutil.which("node"):
        found["Node proxy"] = ["node", os.path.join(TOP, "bench", "proxy.mjs"), server]
    for mode in MODES:
        found[f"run --fsync={mode}"] = [CALLGATE, "run", "--policy", policy, "--state", os.path.join(folder, mode),
                                        "--fsync", mode, "--", server]
    return found


def flush_us(folder):
    """Microseconds of a bare append of one event and its flush."""
    figure = run_json([tool("journal"), folder])["always"]["1"]
    return 1e6 / figure["bare_per_second"]


def rows(folder):
    argv = [tool("roundtrip"), str(CALLS)]
    for i, (name, command) in enumerate(commands(folder).items()):
        argv += ([":::"] if i else []) + [name] + command
    figures = run_json(argv)
    for figure in figures.values():
        figure["adds_p50_us"] = round(figure["p50_us"] - figures["straight"]["p50_us"], 1)
        figure["adds_p99_us"] = round(figure["p99_us"] - figures["straight"]["p99_us"], 1)
    bare = figures["bare pass-through"]["adds_p50_us"]
    flush = median([flush_us(folder) for _ in range(3)])
    for name, figure in figures.items():
        adds = figure["adds_p50_us"]
        targets = []
        if name == "run --fsync=batch":
            targets.append(target("times the bare pass-through", round(adds / bare, 2), most=3))
            if "Node proxy" in figures:
                targets.append(target("times the Node proxy", round(adds / figures["Node proxy"]["adds_p50_us"], 2), most=1))
        elif name == "run --fsync=always":
            targets.append(target("adds", adds, most=round(3 * bare + flush, 1), unit="µs (3 bare pass-throughs, a flush)"))
        adding = "" if name == "straight" else f"; adds {us(adds)} and {us(figure['adds_p99_us'])}"
        yield row(name, figure, f"p50 {us(figure['p50_us'])}, p99 {us(figure['p99_us'])}{adding}", *targets)
    yield row("one bare append and flush", {"us": round(flush, 1)}, us(flush))
