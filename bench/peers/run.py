#!/usr/bin/env python3
"""run.py [--json FILE]: callgate beside other evaluators, under the same rules and for the same calls.

Installs what the lock files of this folder name, where it is missing; says of a peer that cannot be had why not. Each
peer is a process that loads the policy and then waits; they are measured in turn, round after round, so that what else
the machine does falls on all alike. Every decision is compared with that of `callgate eval` first. See README.md.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import encode  # noqa: E402
import inputs  # noqa: E402
from process import Peer, PeerError  # noqa: E402

KINDS = {"auto_approve": "allow", "deny": "deny", "require_approval": "require"}
OURS = "callgate"
BENCH = "callgate bench"
LINEAR, INDEXED = "our JavaScript, plain scan", "our JavaScript, index by tool"
OWN = (OURS, BENCH, LINEAR, INDEXED)
LOAD_SECONDS = 180


def found(name, *folders):
    """A program on the path or where its own installer puts it."""
    places = [os.path.join(os.path.expanduser(folder), name) for folder in folders]
    return shutil.which(name) or next((place for place in places if os.access(place, os.X_OK)), None)


def text_of(*path):
    with open(os.path.join(HERE, *path)) as file:
        return file.read()


def installed(what, argv, folder, notes, env=None):
    """Runs one step of an installation; on failure notes why."""
    print(f"{what}: {' '.join(map(os.path.basename, argv[:2]))}", file=sys.stderr, flush=True)
    done = subprocess.run(argv, cwd=os.path.join(HERE, folder), text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, **(env or {})))
    if done.returncode != 0:
        notes[what] = (done.stdout.strip().splitlines() or ["failed"])[-1]
    return done.returncode == 0


def npm_peers(notes):
    node, npm = found("node"), found("npm")
    if not node:
        notes["JavaScript"] = "node is not on this machine"
        return {}
    host = [node, os.path.join(HERE, "host.mjs")]
    peers = {LINEAR: host + ["linear"], INDEXED: host + ["indexed"]}
    stamp = os.path.join(HERE, "node_modules", ".package-lock.json")
    lock = os.path.join(HERE, "package-lock.json")
    if not os.path.exists(stamp) or os.path.getmtime(stamp) < os.path.getmtime(lock):
        if not npm:
            notes["npm packages"] = "npm is not on this machine"
            return peers
        if not installed("npm packages", [npm, "ci", "--no-audit", "--no-fund"], ".", notes):
            return peers
        os.utime(stamp)
    versions = json.loads(text_of("package.json"))["dependencies"]
    for package in ("casbin", "@casl/ability", "json-rules-engine", "@cedar-policy/cedar-wasm"):
        peers[f"{package} {versions[package]}"] = host + [package.split("/")[-1].replace("ability", "casl")]
    return peers


def cargo_peers(build, notes):
    cargo = found("cargo", "~/.cargo/bin")
    if not cargo:
        notes["cedar-policy crate"] = "cargo is not on this machine"
        return {}
    target = os.path.join(build, "cargo")
    if not installed("cedar-policy crate", [cargo, "build", "--quiet", "--release", "--locked", "--target-dir", target],
                     "rust", notes):
        return {}
    program = os.path.join(target, "release", "callgate-peers")
    version = re.search(r'cedar-policy = "=([^"]+)"', text_of("rust", "Cargo.toml")).group(1)
    return {f"cedar-policy crate {version}": [program, "cedar"],
            f"cedar-policy crate {version}, request made before": [program, "cedar-request"]}


def go_peers(build, notes):
    go = found("go", "/usr/local/go/bin")
    if not go:
        notes["OPA and casbin for Go"] = "go is not on this machine"
        return {}
    program = os.path.join(build, "go-peers")
    if not installed("OPA and casbin for Go", [go, "build", "-mod=readonly", "-o", program, "."], "go", notes,
                     {"GOTOOLCHAIN": "local"}):
        return {}
    version = {name: re.search(rf"\s{re.escape(name)}\S* v(\S+)", text_of("go", "go.mod")).group(1)
               for name in ("github.com/open-policy-agent/opa", "github.com/casbin/casbin/")}
    opa, casbin = version.values()
    return {f"OPA for Go {opa}": [program, "opa"], f"OPA for Go {opa}, input parsed before": [program, "opa-parsed"],
            f"casbin for Go {casbin}": [program, "casbin"]}


# ---- One size ----

def decisions_of(callgate, folder):
    """What `callgate eval` says, in the form in which the peers' answers are compared."""
    with open(os.path.join(folder, "calls.jsonl")) as calls:
        out = subprocess.run([callgate, "eval", "--policy", os.path.join(folder, "policy.json"), "-"], stdin=calls,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    return [(decision["kind"], decision.get("rule")) for decision in map(json.loads, out.splitlines())]


def bench_figure(callgate, folder):
    out = subprocess.run([callgate, "bench", "--policy", os.path.join(folder, "policy.json"), "--calls",
                          os.path.join(folder, "calls.jsonl"), "--format", "json"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True, text=True).stdout
    return json.loads(out)["decisions_per_second"]


def start(name, argv, folder, options, want, rules, figures):
    """Starts a peer, lets it load, and compares its decisions. None when one of these failed; the figures say why."""
    figure = figures[name] = {}
    peer = None
    try:
        peer = Peer(argv + [folder])
        figure["load_ms"] = round(peer.answer(LOAD_SECONDS)["load_ms"], 1)
        ranks = peer.ask(f"check {options.check_ms}", options.check_ms / 1000 + 60)["ranks"]
        got = [("allow", None) if rank < 0 else (KINDS[rules[rank]["effect"]], rules[rank]["id"]) for rank in ranks]
        figure["compared"] = len(got)
        figure["differing"] = sum(g != w for g, w in zip(got, want))
        peer.ask(f"measure {options.ms} {len(got)}", 60)  # warms up
        return peer
    except PeerError as error:
        figure["note"] = str(error)
        if peer:
            peer.end()
        return None


def measure(peers, rounds, options, callgate, folder, figures):
    rates = {name: [] for name in [*peers, BENCH]}
    for _ in range(rounds):
        for name, peer in peers.items():
            done = peer.ask(f"measure {options.ms} {figures[name]['compared']}", 60)
            rates[name].append(done["decisions"] * 1e9 / done["ns"])
        rates[BENCH].append(bench_figure(callgate, folder))
    figures[BENCH] = {}
    for name, rate in rates.items():
        figures[name]["decisions_per_second"] = float(f"{statistics.median(rate):.4g}")
        if name != OURS:
            times = statistics.median(ours / other for ours, other in zip(rates[OURS], rate))
            figures[name]["callgate_is_times"] = float(f"{times:.3g}")


def one_size(size, commands, options):
    callgate, build = os.path.join(options.build, "callgate"), os.path.join(options.build, "bench")
    figures, peers = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        rules = inputs.make(os.path.join(build, "synthetic"), folder, size, options.calls)
        encode.write(rules, folder)
        want = decisions_of(callgate, folder)
        try:
            for name, argv in commands.items():
                print(f"{size} rules: {name}", file=sys.stderr, flush=True)
                peer = start(name, argv, folder, options, want, rules, figures)
                if peer:
                    peers[name] = peer
            measure(peers, options.rounds, options, callgate, folder, figures)
        finally:
            for peer in peers.values():
                peer.end()
    return figures


# ---- The table ----

def cell(figure):
    if "decisions_per_second" not in figure:
        return "-"
    rate = figure["decisions_per_second"]
    text = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
    times = figure.get("callgate_is_times")
    return text if times is None else f"{text} ({times:,.1f})" if times < 100 else f"{text} ({times:,.0f})"


def verdicts(results):
    """Whether callgate is at least as fast as each peer at each size and, at 1,000 rules, by how much."""
    lines = []
    for size, figures in results.items():
        others = {name: figure["callgate_is_times"] for name, figure in figures.items()
                  if name not in (OURS, BENCH) and "callgate_is_times" in figure}
        if not others:
            continue
        name = min(others, key=others.get)
        lines.append(f"at {int(size):,} rules callgate decides {others[name]:.2f} times as many as the fastest peer, {name}"
                     + ("" if others[name] >= 1 else ": FEWER"))
        foreign = {name: times for name, times in others.items() if name not in OWN}
        if size == "1000" and foreign:
            name = min(foreign, key=foreign.get)
            lines.append(f"at 1,000 rules {foreign[name]:.1f} times as many as the fastest peer that is not of our own, "
                         f"{name}" + ("" if foreign[name] >= 10 else ": LESS THAN 10")
                         + "".join(f"; {others[own]:.1f} times {own}" for own in (LINEAR, INDEXED) if own in others))
    return lines


def show(results, notes):
    names = list(next(iter(results.values())))
    width = max(map(len, names))
    columns = {size: [cell(figures.get(name, {})) for name in names] for size, figures in results.items()}
    print("Decisions a second; in brackets how many times as many callgate decides\n")
    print(" " * width + "".join(f"{f'{int(size):,} rules':>22}" for size in results))
    for i, name in enumerate(names):
        print(f"{name:<{width}}" + "".join(f"{columns[size][i]:>22}" for size in results))
    print()
    every = [(size, name, figure) for size, figures in results.items() for name, figure in figures.items()]
    compared = sum(figure.get("compared", 0) for _, _, figure in every)
    print(f"{compared:,} decisions compared with those of callgate eval, "
          f"{sum(figure.get('differing', 0) for _, _, figure in every)} differ")
    for line in verdicts(results):
        print(line)
    for size, name, figure in every:
        if "note" in figure:
            print(f"{name}, {int(size):,} rules: {figure['note']}")
    for what, why in notes.items():
        print(f"not measured: {what}: {why}")


def arguments():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--json", metavar="FILE", help="write the figures here, too")
    options.add_argument("--build", default=os.path.join(TOP, "build"), help="where callgate was built")
    options.add_argument("--sizes", default="10,100,1000,10000", help="numbers of rules")
    options.add_argument("--calls", type=int, default=2000, help="different calls a size")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--ms", type=int, default=250, help="at least how long a peer is measured in a round")
    options.add_argument("--check-ms", type=int, default=3000, help="at most how long a peer's decisions are compared; "
                         "it is measured with the calls that it got through")
    options.add_argument("--only", metavar="PATTERN", default="", help="only peers whose name this matches")
    return options.parse_args()


def main():
    options, notes = arguments(), {}
    options.build = os.path.abspath(options.build)
    build = os.path.join(options.build, "peers")
    os.makedirs(build, exist_ok=True)
    commands = {OURS: [os.path.join(options.build, "bench", "peer")]}
    for peers in (npm_peers(notes), cargo_peers(build, notes), go_peers(build, notes)):
        commands.update({name: argv for name, argv in peers.items() if re.search(options.only, name)})
    results = {size: one_size(int(size), commands, options) for size in options.sizes.split(",")}
    show(results, notes)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"sizes": results, "not_measured": notes, "verdicts": verdicts(results)}, file, indent=1)
            file.write("\n")
    differing = any(figure.get("differing") for figures in results.values() for figure in figures.values())
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
