"""An MCP server for the tests of the proxy: does what the mode and the tool's name say.

What it reads is written to the file RECORD as it came.
"""
import json
import os
import signal
import sys
import time

mode, record_name = sys.argv[1], sys.argv[2]
if mode == "stubborn":  # before there is a file, which says that it has started
    signal.signal(signal.SIGTERM, lambda *_: record.write(b"SIGTERM\n"))
record = open(record_name, "ab", buffering=0)
out = sys.stdout.buffer


def send(message):
    out.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
    out.flush()


def answer(ident, result):
    send({"jsonrpc": "2.0", "id": ident, "result": result})


def tool(message):
    """What the tools do that are not plain."""
    ident, params = message["id"], message["params"]
    name = params["name"]
    arguments = params.get("arguments", {})
    if name == "never":
        return
    if name == "die":
        os._exit(7)
    if name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "close":
        os.close(1)
        time.sleep(60)
    if name == "raw":
        send(arguments["line"].encode("utf-8", "surrogateescape"))
        return
    if name == "latin":
        send(b'{"jsonrpc":"2.0","id":%d,"result":{"t":"\xff"}}\n' % ident)
        return
    if name == "twice":
        answer(ident, {"n": 1})
        answer(ident, {"n": 2})
        return
    if name == "big":
        size = arguments["size"]
        out.write(b'{"result":{"t":"')
        for _ in range(size >> 16):
            out.write(b"x" * 65536)
        out.write(b'"},"jsonrpc":"2.0","id":%d}\n' % ident)
        out.flush()
        return
    if name == "flood":
        while True:
            send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x" * 1000}})
    answer(ident, {"tool": name})


def list_tools(message):
    """The tools of the file RECORD.tools, as it stands now, in pages of PAGE."""
    with open(record_name + ".tools", encoding="utf-8") as file:
        offered = json.load(file)
    if isinstance(offered, str):
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": offered}})
        return
    page = offered["page"]
    start = int(message.get("params", {}).get("cursor", "0"))
    result = {"tools": offered["tools"][start:start + page]}
    if start + page < len(offered["tools"]):
        result["nextCursor"] = str(start + page)
    answer(message["id"], result)


def main():
    if mode == "banner":
        send(b"Need to install the following packages:\n\n{\"level\":\"info\"}\nOk to proceed? (y)\n")
    if mode in ("deaf", "stubborn"):
        while True:
            time.sleep(1)
    if mode == "orphan":  # leaves a child that keeps the pipes open
        if os.fork() == 0:
            os.close(0)
            time.sleep(30)
            os._exit(0)
    for line in sys.stdin.buffer:
        record.write(line)
        if mode == "mute":
            continue
        message = json.loads(line)
        if "method" in message and "id" in message:
            if message["method"] == "tools/call":
                tool(message)
            elif message["method"] == "tools/list" and mode == "lists":
                list_tools(message)
            else:
                answer(message["id"], {"method": message["method"]})
    record.write(b"EOF\n")
    if mode == "late":  # has something to say after the end of its input
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "bye"}})
        sys.exit(5)


main()
