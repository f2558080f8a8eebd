#!/usr/bin/env python3
"""slow_disk.py CALLGATE SERVER LIBRARY [--calls N]: thirteen gates put their requests into one store on a disk whose flushes
take long, and none of them is pushed aside by the others until its call is denied; and an answer that comes while the same
call is made again is not missed. Ends with 'N passed, N failed'."""
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


def start(top, number, hold_for="600", answers=subprocess.DEVNULL):
    return subprocess.Popen([CALLGATE, "run", "--state", top + "/state", "--policy", top + "/p.json", "--channel", f"c{number}",
                             "--hold-for", hold_for, "--", SERVER], env=environment(), stdin=subprocess.PIPE,
                            stdout=answers, stderr=subprocess.DEVNULL)


def call(gate, number, n):
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "ask", "arguments": {"n": n}}}
    gate.stdin.write(json.dumps(message).encode() + b"\n")
    gate.stdin.flush()


def decisions(top):
    """How many calls were held, and what was said of those that were denied."""
    try:
        events = [json.loads(line) for line in open(top + "/state/journal.jsonl")]
    except (OSError, ValueError):
        return 0, []  # not there yet, or its last line is half written
    return (sum(event["kind"] == "policy.require" for event in events),
            [event.get("reason") for event in events if event["kind"] == "policy.deny"])


def wait_until(condition):
    until = time.monotonic() + 240
    while not condition() and time.monotonic() < until:
        time.sleep(0.1)


def crowd(top):
    gates = [start(top, number) for number in range(GATES)]
    for gate in gates:
        for n in range(args.calls):
            call(gate, n, n)
    wait_until(lambda: decisions(top)[0] + len(decisions(top)[1]) >= GATES * args.calls)
    held, denied = decisions(top)
    for gate in gates:
        gate.stdin.close()
    for gate in gates:
        gate.wait(timeout=120)
    failed = GATES * args.calls - held
    if failed:
        print(f"failed: {held} of {GATES * args.calls} calls are held; {len(denied)} were denied: {denied[:3]}")
    return held, failed


def retry(top):
    """The client has given up on a call and makes it again just as somebody approves it."""
    gate = start(top, "again", "3", subprocess.PIPE)
    call(gate, 1, "again")
    first = json.loads(gate.stdout.readline())
    out = subprocess.run([CALLGATE, "pending", "--format", "json", "--state", top + "/state"], capture_output=True, text=True).stdout
    code = [request["code"] for request in json.loads(out) if request["input"] == {"n": "again"}][0]
    call(gate, 2, "again")
    subprocess.run([CALLGATE, "approve", "--state", top + "/state", code], env=environment(), capture_output=True, stdin=subprocess.DEVNULL)
    second = json.loads(gate.stdout.readline())
    gate.stdin.close()
    gate.wait(timeout=120)
    good = bool(first["result"].get("isError")) and not second["result"].get("isError")
    if not good:
        print(f"failed: a call that was approved while it was made again: {first} {second}")
    return int(good), int(not good)


def main():
    with tempfile.TemporaryDirectory() as top:
        with open(top + "/p.json", "w") as policy:
            json.dump([{"id": "ask", "effect": "require_approval", "match": {"tool": "ask"}}], policy)
        counts = [crowd(top), retry(top)]
    passed, failed = (sum(count[i] for count in counts) for i in (0, 1))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


raise SystemExit(main())
