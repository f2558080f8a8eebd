"""A broker: hooks that ask it, beside /bin/true; a call of `run` over it, beside one in process; twenty hooks at once."""
import os
import socket
import subprocess
import time

import hook_bench

from .common import BUILD, CALLGATE, count, ms, policy_of_tools, row, run, run_json, target, tool, us

TITLE = "With a broker"
NOTE = ("`callgate serve` has the policy. A hook is a whole process, from before it is made until it is gone, in turn with "
        "/bin/true, which is what any process costs here; the call is one that no rule matches, so nothing is flushed. A "
        "call of `run` as above, over the broker and in process, in turn. Twenty hooks are started one right after the "
        "other, and the last of them has answered and ended; so are twenty of /bin/true.")
CALLS = 10000
HOOKS = 1000
TOGETHER = 20


class Broker:
    def __init__(self, folder, name, policy):
        self.socket = os.path.join(os.path.relpath(folder), f"{name}.sock")
        self.state = os.path.join(folder, f"state-{name}")
        self.process = subprocess.Popen([CALLGATE, "serve", "--policy", policy, "--gate", self.socket, "--state", self.state,
                                         "--quiet"], stdin=subprocess.DEVNULL)
        for _ in range(3000):
            with socket.socket(socket.AF_UNIX) as s:
                try:
                    s.connect(self.socket)
                    return
                except OSError:
                    time.sleep(0.01)
        raise RuntimeError("the broker does not start")

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.process.terminate()
        self.process.wait()

    def hook(self, program):
        return [program, "hook", "claude-code", "--gate", self.socket, "--state", self.state]


def policy_of(size, folder):
    """Synthetic rules, and one that leaves the tool of the hooks alone."""
    path = os.path.join(folder, f"broker-{size}.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(run([tool("synthetic"), "policy", str(size)]))
    return path


def call_of(folder):
    path = os.path.join(folder, "hook.json")
    with open(path, "wb") as file:
        file.write(hook_bench.message(folder, "src/main.c"))
    return path


def programs():
    found = [os.path.join(BUILD, name) for name in ("callgate-static", "callgate")]
    return [program for program in found if os.path.exists(program)]


def hooks(folder, call):
    """Rows of hooks at 1,000 and at 100,000 rules, and of twenty at once."""
    for size in (1000, 100000):
        with Broker(folder, f"rules-{size}", policy_of(size, folder)) as broker:
            commands = [("true", "-", ["/bin/true"])]
            commands += [(os.path.basename(program), call, broker.hook(program)) for program in programs()]
            figures = hook_bench.spawn(HOOKS, commands)
            bare = figures.pop("true")
            yield row(f"/bin/true beside hooks at {count(size)} rules", bare, f"p50 {ms(bare['p50_ms'])}, p99 {ms(bare['p99_ms'])}")
            for name, figure in figures.items():
                figure["adds_p50_ms"] = round(figure["p50_ms"] - bare["p50_ms"], 3)
                targets = [target("above /bin/true", figure["adds_p50_ms"], most=0.5, unit="ms")] if "static" in name else []
                yield row(f"{name} hook, {count(size)} rules", figure, f"p50 {ms(figure['p50_ms'])}, p99 {ms(figure['p99_ms'])}; "
                          f"adds {ms(max(figure['adds_p50_ms'], 0))}", *targets)
            figures = hook_bench.spawn(50, commands, at_once=TOGETHER)
            for name, figure in figures.items():
                targets = [target("all within", figure["p50_ms"], most=20, unit="ms")] if "static" in name else []
                what = "/bin/true" if name == "true" else f"{name} hook"
                yield row(f"{TOGETHER} at once, {what}, {count(size)} rules", figure,
                          f"p50 {ms(figure['p50_ms'])}, p99 {ms(figure['p99_ms'])}", *targets)


def calls(folder):
    policy, server = policy_of_tools(1000, folder), tool("mcp_server")
    with Broker(folder, "run", policy) as broker:
        commands = {
            "in process": [CALLGATE, "run", "--policy", policy, "--state", os.path.join(folder, "state-own"), "--", server],
            "over a broker": [CALLGATE, "run", "--gate", broker.socket, "--state", broker.state, "--", server],
        }
        argv = [tool("roundtrip"), str(CALLS)]
        for i, (name, command) in enumerate(commands.items()):
            argv += ([":::"] if i else []) + [name] + command
        figures = run_json(argv)
    own, remote = figures["in process"], figures["over a broker"]
    remote["adds_p50_us"] = round(remote["p50_us"] - own["p50_us"], 1)
    yield row("run, in process", own, f"p50 {us(own['p50_us'])}, p99 {us(own['p99_us'])}")
    yield row("run, over a broker", remote, f"p50 {us(remote['p50_us'])}, p99 {us(remote['p99_us'])}; adds {us(max(remote['adds_p50_us'], 0))}",
              target("above in process", remote["adds_p50_us"], most=15, unit="µs"))


def rows(folder):
    folder = os.path.realpath(folder)
    yield from hooks(folder, call_of(folder))
    yield from calls(folder)
