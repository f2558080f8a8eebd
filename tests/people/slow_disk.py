#!/usr/bin/env python3
"""slow_disk.py CALLGATE SERVER LIBRARY [--calls N]: thirteen gates put their requests into one store on a disk whose flushes
take long, and none of them is pushed aside by the others until its call is denied. Ends with 'N passed, N failed'."""
import argparse
import json
import os
import subprocess
import tempfile
import time

options = argparse.ArgumentParser()
options.add_argument("callgate")
options.add_argument("server")
options.add_argument("library")
options.add_argument("--calls", type=int, default=7, help="of each gate")
args = options.parse_args()
CALLGATE, SERVER, LIBRARY = (os.path.abspath(path) for path in (args.callgate, args.server, args.library))
GATES = 13


def environment():
    """A sanitizer wants to be the first library, and need not be."""
    sanitizer = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
    return dict(os.environ, LD_PRELOAD=LIBRARY, SLOW_DISK_MS="30", ASAN_OPTIONS=sanitizer)


def start(top, number):
    gate = subprocess.Popen([CALLGATE, "run", "--state", top + "/state", "--policy", top + "/p.json", "--channel", f"c{number}",
                             "--hold-for", "600", "--", SERVER], env=environment(), stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for n in range(args.calls):
        call = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "ask", "arguments": {"n": n}}}
        gate.stdin.write(json.dumps(call).encode() + b"\n")
    gate.stdin.flush()
    return gate


def decisions(top):
    """How many calls were held, and what was said of those that were denied."""
    try:
        events = [json.loads(line) for line in open(top + "/state/journal.jsonl")]
    except (OSError, ValueError):
        return 0, []  # not there yet, or its last line is half written
    return (sum(event["kind"] == "policy.require" for event in events),
            [event.get("reason") for event in events if event["kind"] == "policy.deny"])


def main():
    with tempfile.TemporaryDirectory() as top:
        with open(top + "/p.json", "w") as policy:
            json.dump([{"id": "ask", "effect": "require_approval", "match": {"tool": "ask"}}], policy)
        gates = [start(top, number) for number in range(GATES)]
        held, denied = 0, []
        until = time.monotonic() + 240
        while held + len(denied) < GATES * args.calls and time.monotonic() < until:
            time.sleep(0.1)
            held, denied = decisions(top)
        for gate in gates:
            gate.stdin.close()
        for gate in gates:
            gate.wait(timeout=120)
    whole = held == GATES * args.calls
    if not whole:
        print(f"failed: {held} of {GATES * args.calls} calls are held; {len(denied)} were denied: {denied[:3]}")
    print(f"{held} passed, {GATES * args.calls - held} failed")
    return 0 if whole else 1


raise SystemExit(main())
