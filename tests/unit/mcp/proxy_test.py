"""The proxy's input and output, with a fake gate and a fake server: proxy_test.py PROXY_FAKE [NAME…]"""
import json
import os

import harness
from harness import check, denied, wait_for
from proxy_support import Run


def test_fidelity():
    """What passes, passes byte for byte; and ends with the child's code."""
    run = Run()
    lines = [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n',
        b'  {  "method" : "tools\\/list" ,"jsonrpc":"2.0" , "id" : 1.0e1 }\t\r\n',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        b'{"jsonrpc":"2.0","id":"\xe2\x80\xa8","method":"tools/call","params":{"name":"t","arguments":'
        b'{"n":1.50,"big":9007199254740993,"\\u00e9":"\xc3\xa9"}}}\n',
        b'{"jsonrpc":"2.0","id":7,"method":"vendor/thing"}\n',
    ]
    run.send(b"\n", *lines)
    check(run.message()["id"] == 1)
    check(run.message()["id"] == 10)
    check(run.message()["id"] == "\u2028")
    check(run.message()["id"] == 7)
    check(run.end() == 0)
    check(run.recorded() == b"".join(lines) + b"EOF\n", run.recorded())
    check(run.rest() == [])
    check(run.errors == b"", run.errors)


def test_split():
    """A line in pieces is one line; a last line without an end is one as well."""
    run = Run()
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    for i in range(len(line)):
        run.send(line[i:i + 1])
    check(run.message()["id"] == 1)
    run.send(b'{"jsonrpc":"2.0","id":2,"method":"ping"}')
    check(run.end() == 0)
    check([json.loads(l)["id"] for l in run.rest()] == [2])
    check(run.recorded() == line + line.replace(b"1", b"2").rstrip() + b"EOF\n"
          or run.recorded().endswith(b'"id":2,"method":"ping"}EOF\n'))


def test_refused():
    """Nothing that is refused reaches the server; each is answered."""
    run = Run()
    refused = [
        (b"x\n", None, -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}]\n', 1, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"ping"},17]\n', None, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":"\\ud83d"}}}\n', 1, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"x":NaN}}}\n', 1, -32700),
        (b'{"jsonrpc":"2.0","id":"\xff","method":"ping","params":{"x":"\x01"}}\n', "\ufffd", -32700),
        (b'{"jsonrpc":"2.0","id":13.5,"method":"ping"}\n', 13.5, -32600),
        (b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}\n', 9007199254740993, -32600),
        (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}\n', 1, -32600),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n', None, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}\n', 1, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":\r{"jsonrpc":"2.0","id":2,"method":"tools/call",'
         b'"params":{"name":"t"}}\r}}\n', 1, -32600),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}\n', 1, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"p\xff"}\n', 1, -32700),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', None, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","Method":"x"}\n', 1, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}\n', 1, -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/Call","params":{"name":"t"}}\n', 1, -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}\n', 1, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":[]}}\n', 1, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"A":1}}}\n',
         1, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","Arguments":{}}}\n', 1, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 70 + b"]" * 70 + b"}}\n", 1, -32600),
    ]
    for line, ident, code in refused:
        run.send(line)
        got = run.message()
        check(got.get("id", 0) == ident and got.get("error", {}).get("code") == code, line, got)
    dropped = [
        b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}\n',
        b'{"jsonrpc":"2.0","method":"notifications/unheard"}\n',
        b'{"jsonrpc":"2.0","method":"notifications/message"}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{}}\n',
        b'{"jsonrpc":"2.0","id":"q","error":{"code":1,"message":"m"}}\n',
    ]
    run.send(*dropped)
    run.ping()
    check(run.message().get("id") == "ping")
    check(run.end() == 0)
    check(run.recorded() == b'{"jsonrpc": "2.0", "id": "ping", "method": "ping"}\nEOF\n', run.recorded())
    check(run.log().count("note mcp.dropped") == len(dropped), run.log())
    check(run.rest() == [])


def test_too_long():
    """A message over the limit is answered and passed over."""
    run = Run()
    start = run.memory()
    run.send(b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"' + b"y" * (17 << 20) + b'"}}\n')
    got = run.message()
    check(got.get("id") == 5 and got["error"]["code"] == -32600, got)
    run.send(b"z" * (17 << 20) + b"\n")
    got = run.message()
    check(got.get("id", 0) is None and got["error"]["code"] == -32600, got)
    big = b'{"jsonrpc":"2.0","id":6,"method":"ping","params":{"x":"' + b"y" * (15 << 20) + b'"}}\n'
    run.send(big)
    check(run.message().get("id") == 6)
    run.ping()
    check(run.message().get("id") == "ping")
    check(run.memory() < start + (64 << 20), run.memory())
    check(run.end() == 0)
    check(run.recorded().startswith(big))


def test_denied():
    """Denials are constant and differ in the id only."""
    run = Run()
    run.call(1, "deny-a", {"secret": 1})
    check(denied(run.message(), 1))
    run.call("x", "deny-b", {"other": [2]})
    check(denied(run.message(), "x"))
    run.call(2, "deny", task={"ttl": 1})
    check(run.message() == {"jsonrpc": "2.0", "id": 2, "error": {"code": 403, "message": "The call was denied."}})
    run.call(3, "deny", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"})
    check(run.message()["result"] == {"content": [{"type": "text", "text": "The call was denied."}],
                                      "isError": True, "resultType": "complete"})
    check(run.end() == 0)
    check(run.recorded() == b"EOF\n")


def test_full():
    """A journal that cannot be written turns an allow into a denial, and nothing else."""
    run = Run()
    run.call(1, "t")
    check(run.message().get("id") == 1)
    run.touch("full")
    run.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "t"}},
             {"jsonrpc": "2.0", "id": 3, "method": "ping"},
             {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "t"}})
    got = {m["id"]: m for m in (run.message(), run.message(), run.message())}
    check(denied(got.get(2), 2) and denied(got.get(4), 4) and "method" in got.get(3, {}).get("result", {}), got)
    os.unlink(os.path.join(run.dir.name, "full"))
    run.call(2, "t")  # its id is free again
    check(run.message().get("result") == {"tool": "t"})
    check(run.end() == 0)
    check(run.recorded().count(b"tools/call") == 2)


def test_interleaved():
    """300 calls at once, held ones among them."""
    run = Run()
    calls = []
    for i in range(300):
        name = ("t", "deny", "hold")[i % 3]
        calls.append({"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": name}})
    run.send(*calls)
    got = {}
    for _ in range(200):
        message = run.message()
        got[message.get("id")] = message
    check(all(got[i]["result"] == {"tool": "t"} for i in range(0, 300, 3)))
    check(all(denied(got[i], i) for i in range(1, 300, 3)))
    for number in range(1, 101):
        run.touch(f"{number}.{'approved' if number % 2 else 'refused'}")
    for _ in range(100):
        message = run.message()
        got[message.get("id")] = message
    for n, i in enumerate(range(2, 300, 3)):
        check(got[i]["result"] == {"tool": "hold"} if n % 2 == 0 else denied(got[i], i), i)
    check(run.end() == 0)
    check(run.rest() == [])
    ids = [json.loads(l)["id"] for l in run.recorded().splitlines() if l.startswith(b"{")]
    check(ids[:100] == list(range(0, 300, 3)), "the order of what passes at once is kept")
    check(sorted(ids[100:]) == list(range(2, 300, 6)))


def test_hold():
    """Progress while it waits, then the call as it was sent; others are not kept waiting."""
    run = Run()
    line = (b'{"jsonrpc":"2.0", "id":1,"method":"tools/call","params":{"name":"hold","arguments":{"z":1,"a":2},'
            b'"_meta":{"progressToken":"p\\u0031"}}}\r\n')
    run.send(line)
    got = run.message()
    check(got.get("method") == "notifications/progress" and got["params"]["progressToken"] == "p1", got)
    check(0 < got["params"]["progress"] < 1)
    run.ping()
    check(run.message().get("id") == "ping")
    run.call(1, "t")
    check(run.message().get("error", {}).get("code") == -32600, "the id of a held call is in use")
    run.touch("1.approved")
    check(run.message().get("result") == {"tool": "hold"})
    check(run.end() == 0)
    check(run.recorded().endswith(line + b"EOF\n"), run.recorded())


def test_hold_again():
    """A released call may have to wait for a new request."""
    run = Run()
    run.call(1, "hold-again")
    run.touch("1.approved")
    check(wait_for(lambda: "hold 99" in run.log()))
    check(run.lines.empty())
    run.touch("99.refused")
    check(denied(run.message(), 1))
    check(run.end() == 0)


def test_cancel():
    """A held call that is cancelled is withdrawn; the server hears of neither."""
    run = Run()
    run.call(1, "hold")
    run.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1.0, "reason": "r"}})
    run.call(2, "hold-same")
    run.call(3, "hold-same")
    run.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    run.ping()
    check(run.message().get("id") == "ping")
    check(run.log().count("withdraw") == 1 and "withdraw 1\n" in run.log(), run.log())
    run.touch("1000.approved")
    check(run.message().get("id") == 3)
    run.call(4, "never")
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}
    run.send(cancelled)
    run.call(1, "t")  # a withdrawn call's id is free
    check(run.message().get("id") == 1)
    check(run.end() == 0)
    check(run.recorded().count(b"notifications/cancelled") == 1)
    check(run.rest() == [], "who has cancelled is not answered")


def test_not_in_time():
    """After the time to hold the client hears so, and the call can be made again."""
    run = Run(hold_ms=300)
    run.call(1, "hold")
    got = run.message()
    check(got == {"jsonrpc": "2.0", "id": 1, "result": {
        "content": [{"type": "text", "text": "The call was not approved in time."}], "isError": True}}, got)
    run.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "hold", "task": {}}})
    check(run.message() == {"jsonrpc": "2.0", "id": 2, "error": {
        "code": 408, "message": "The call was not approved in time."}})
    check("withdraw" not in run.log())
    run.call(1, "t")
    check(run.message().get("result") == {"tool": "t"})
    check(run.end() == 0)


def test_client_ends_while_held():
    run = Run()
    run.call(1, "hold")
    check(wait_for(lambda: "hold 1" in run.log()))
    check(run.end() == 0)
    check("withdraw 1" in run.log())
    check([json.loads(l)["result"]["isError"] for l in run.rest()] == [True])
    check(run.recorded() == b"EOF\n")


def test_banner():
    """Lines that are no messages are dropped with one note."""
    run = Run("banner")
    run.ping()
    check(run.message().get("id") == "ping")
    check(run.end() == 0)
    check(run.errors.count(b"\n") == 1 and b"no messages" in run.errors, run.errors)
    check(run.rest() == [])


def test_responses():
    """Only what was asked is answered, once; what cannot be read is an error for its id."""
    run = Run()
    run.call(1, "twice")
    check(run.message()["result"] == {"n": 1})
    run.call(2, "raw", {"line": '{"jsonrpc":"2.0","id":77,"result":{}}\n{"jsonrpc":"2.0","id":2,"result":{"x":"\\ud83d"}}\n'})
    check(run.line() == b'{"jsonrpc":"2.0","id":2,"result":{"x":"\\ud83d"}}\n')
    run.call(3, "latin")
    check(run.message() == {"jsonrpc": "2.0", "id": 3, "result": {"t": "\ufffd"}})
    run.call(4, "raw", {"line": '{"jsonrpc":"2.0","id":4,"result":{},"error":{"code":1,"message":""}}\n'})
    check(run.message().get("error") == {
        "code": -32603, "message": "The server's response cannot be read: it has a result and an error"})
    run.call(5, "raw", {"line": '[{"jsonrpc":"2.0","method":"notifications/message"}, {"jsonrpc":"2.0","id":5.0,"result":[1, 2]}]\n'})
    check(run.line() == b'{"jsonrpc":"2.0","method":"notifications/message"}\n')
    check(run.line() == b'{"jsonrpc":"2.0","id":5.0,"result":[1, 2]}\n')
    run.call(6, "raw", {"line": '{"jsonrpc":"2.0","id":6,"result":{"resultType":"input_required","requestState":"s"}}\n'})
    check(run.message()["result"]["resultType"] == "input_required")
    run.call(6, "t", inputResponses={"k": {}}, requestState="s")
    check(run.message().get("result") == {"tool": "t"}, "a retry is a call like any other")
    check(run.end() == 0)
    check(run.rest() == [])
    log = run.log()
    check(log.count("answers nothing") == 2 and "note mcp.input_required" in log, log)
    check(log.count("allow 0 t {") == 1)


def test_repaired():
    """What clients take of a server directly arrives, under the id that was asked; said once, journalled each time."""
    run = Run()
    tool = '{"jsonrpc":"2.0",%s}\n'
    for number, (text, want) in enumerate((
            ('"id":"%d","result":{"a":1}', {"result": {"a": 1}}),
            ('"id":%d,"result":{"a":1},"error":null', {"result": {"a": 1}}),
            ('"id":%d,"result":null,"error":{"code":5,"message":"why"}', {"error": {"code": 5, "message": "why"}}),
            ('"id":%d,"id":%d,"result":{"a":1}', {"result": {"a": 1}}),
            ('"id":%d,"result":{"a":[NaN,Infinity]}', {"result": {"a": [None, None]}}),
            ('"id":%d,"result":{"a":"\x01"}', {"result": {"a": "\x01"}}),
            ('"id":%d,\r"result":{"a":"b\rc"}', {"result": {"a": "b\rc"}}),
    ), 1):
        run.call(number, "raw", {"line": tool % text.replace("%d", str(number))})
        check(run.message() == {"jsonrpc": "2.0", "id": number, **want}, text)
    run.call("7", "raw", {"line": '{"jsonrpc":"2.0","id":7,"result":{}}\n'})
    check(run.message() == {"jsonrpc": "2.0", "id": "7", "result": {}}, "the other way round")
    run.call(7, "never")
    run.call("7", "raw", {"line": '{"jsonrpc":"2.0","id":"7","result":{}}\n'})
    check(run.message()["id"] == "7", "an answer to what is open under that very name")
    run.call(8, "raw", {"line": '{"jsonrpc":"2.0","id":8,"result":%s}\n' % ("[" * 5000 + "]" * 5000)})
    check("deeper than 4096" in run.message()["error"]["message"])
    check(run.end() == 0)
    check(run.errors.count(b"not quite JSON-RPC") == 1, run.errors)
    check(run.log().count("note mcp.repaired") == 8, run.log())
    check(not any(json.loads(line).get("id") == "7" for line in run.rest()))


def test_nulls():
    """Optional members that are null are absent."""
    run = Run()
    run.send(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}\n',
             b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":null,"_meta":null}}\n')
    check([run.message().get("id") for _ in range(2)] == [1, 2])
    run.send(b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":null}\n')
    check(run.message().get("error", {}).get("code") == -32602)
    check(run.end() == 0)
    check("allow 0 t {}" in run.log())


def test_extensions():
    """Methods of extensions are known: what reads is a call, the rest passes and is journalled."""
    run = Run()
    for ident, (method, params) in enumerate((
            ("skills/get", {"uri": "skill://a/SKILL.md"}), ("resources/directory/read", {"uri": "file:///d"}),
            ("skills/list", {}), ("tasks/update", {"taskId": "x"}), ("vendor/thing", {"path": "/p", "_meta": {"a": 1}}))):
        run.send({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
        check(run.message().get("result") == {"method": method})
    check(run.end() == 0)
    log = run.log()
    check('allow 0 skills/get {"uri":"skill://a/SKILL.md"}' in log and "allow 0 resources/directory/read" in log)
    check(log.count("note mcp.extension") == 2, log)
    check('allow 0 vendor/thing {"path":"/p"}' in log, "a method that is named is judged")


def test_ends():
    """How each call that ran has ended is told once, what never ran is not."""
    run = Run()
    run.call(1, "t")
    run.call(2, "raw", {"line": '{"jsonrpc":"2.0","id":2,"result":{"isError":true,"content":[]}}\n'})
    run.call(3, "raw", {"line": '{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m"}}\n'})
    run.call(4, "deny")
    run.call(5, "hold")
    for _ in range(4):
        run.message()
    run.call(6, "never")
    run.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 6}})
    run.call(7, "never")
    run.ping()
    run.message()
    check(run.end() == 0)
    ends = [line.split("} ")[1] for line in run.log().splitlines() if line.startswith("note call.ended")]
    check(sorted(ends) == ["cancelled", "ok", "protocol_error", "server_ended", "tool_error"], ends)


def test_server_requests():
    """The server's requests pass and are noted; the client may answer each once."""
    run = Run()
    ask = '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"secret":"s"}}\n'
    run.call(1, "raw", {"line": ask})
    check(run.line() == ask.encode())
    reply = b'{"jsonrpc":"2.0","id":1,"result":{"role":"assistant"}}\n'
    run.send(reply, reply)
    run.ping()
    check(run.message().get("id") == "ping")
    check(run.end() == 0)
    check(run.recorded().count(reply) == 1)
    check('note mcp.server_request {"what":"a request of the server","method":"sampling/createMessage"}' in run.log())
    check("secret" not in "".join(l for l in run.log().splitlines() if l.startswith("note")))
    check("note mcp.dropped" in run.log())


def started_from(run):
    """The roots that the gate was last told to start from."""
    lines = [line for line in run.log().splitlines() if line.startswith("start from")]
    return [part for part in lines[-1][len("start from '"):-1].split("' '")] if lines else None


def test_roots():
    """Each root that the client tells its server is one more place from which calls start; none is forgotten."""
    run = Run()

    def tell(ident, result):
        ask = '{"jsonrpc":"2.0","id":%d,"method":"roots/list"}\n' % ident
        run.call(100 + ident, "raw", {"line": ask})
        check(run.line() == ask.encode())
        run.send(json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}).encode() + b"\n")
        run.ping()
        check(run.message().get("id") == "ping")

    tell(1, {"roots": []})
    tell(2, {"role": "assistant", "content": {"roots": [{"uri": "file:///not/this"}]}})
    check(started_from(run) is None, "nothing was told")
    tell(3, {"roots": [{"uri": "file:///a/b%20c", "name": "x"}, {"uri": "FILE:/d"}]})
    first = ["/a/b c", "/cwd/file:///a/b%20c", "/d", "/cwd/FILE:/d"]
    check(started_from(run) == first, started_from(run))
    tell(4, {"Root\u017f": ["~/e", {"URI": "/f/../g"}, {"uri": "~"}, {"uri": "h"}]})
    more = first + ["/home/u//e", "/cwd/~/e", "/f/../g", "/home/u/", "/cwd/~", "/cwd/h"]
    check(started_from(run) == more, started_from(run))
    count = run.log().count("start from")
    tell(5, {"roots": [{"uri": "FILE:/d"}]})
    check(run.log().count("start from") == count, "known already")
    for ident, root in ((6, {"uri": 1}), (9, None)):
        tell(ident, {"roots": [root]})
        check(started_from(run) == more + [""], "not understood: nothing relative can be judged")
    run.call(7, "t", inputResponses={"k": {"roots": [{"uri": "file:///later"}]}}, requestState="s")
    check(run.message().get("result") == {"tool": "t"})
    check(started_from(run)[-2:] == ["/later", "/cwd/file:///later"])
    log = run.log()
    check(log.rindex("start from") < log.index("allow 0 t "), "before the call that tells it is judged")
    update = {"taskId": "x", "InputResponses": {"k": {"roots": [{"uri": "file:///by/update"}, {"uri": "fi\tle:///tab"}]}}}
    run.send(json.dumps({"jsonrpc": "2.0", "id": 20, "method": "tasks/update", "params": update}).encode() + b"\n")
    run.line()
    check(started_from(run)[-3:] == ["/by/update", "/cwd/file:///by/update", "/cwd/fi\tle:///tab"], started_from(run)[-3:])
    tell(8, {"roots": [{"uri": f"/many/{i}"} for i in range(200)]})
    check(len(started_from(run)) == 64 and "" in started_from(run), "at a ceiling")
    check("note mcp.roots" in run.log())
    check(run.end() == 0)


def test_too_many_roots():
    """Beyond the ceiling nothing relative can be judged."""
    run = Run()
    run.call(1, "t", inputResponses={"k": {"roots": [{"uri": f"/many/{i}"} for i in range(64)]}})
    check(run.message().get("result") == {"tool": "t"})
    check(started_from(run) == [f"/many/{i}" for i in range(63)] + [""], started_from(run))
    check(run.end() == 0)


def test_ids():
    """Ids by value: a number in another spelling is in use, a string of the same digits is not."""
    run = Run()
    run.call(1, "never")
    run.send(b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}\n', b'{"jsonrpc":"2.0","id":10e-1,"method":"ping"}\n')
    check([run.message().get("error", {}).get("code") for _ in range(2)] == [-32600, -32600])
    run.send(b'{"jsonrpc":"2.0","id":"1","method":"ping"}\n')
    check(run.message().get("id") == "1")
    check(run.end() == 0)


harness.main(globals())
