// No SDK here: bytes that a hostile or broken client, server or machine would produce. After each of them nothing
// that was not allowed has reached the server, and the gate is alive.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, run, sleep, test, under, until } from './lib.mjs';

const MiB = 1 << 20;
const deny = (id, match) => ({ id, effect: 'deny', match, reason: 'no' });
const got = peer => peer.got().split('\n').filter(Boolean).map(JSON.parse);
const gotCalls = peer => got(peer).filter(m => m.method === 'tools/call');
const passed = message => assert.ok(message.result && !message.result.isError, `not allowed: ${JSON.stringify(message)}`);
const base64 = text => Buffer.from(text, 'latin1').toString('base64');
const kinds = t => t.events().map(event => event.kind);

// A small generator with a seed: a failure can be repeated.
function random(seed) {
    let x = seed >>> 0;
    return () => {
        x = (x + 0x6d2b79f5) >>> 0;
        let y = Math.imul(x ^ (x >>> 15), x | 1);
        y ^= y + Math.imul(y ^ (y >>> 7), y | 61);
        return (y ^ (y >>> 14)) >>> 0;
    };
}

// ------------------------------------------------------------------------------ client to server, one line each

const call = (params = '{"name":"echo","arguments":{}}', id = '1') => `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
const nest = (depth, open = '{"a":', shut = '}', leaf = '1') => open.repeat(depth) + leaf + shut.repeat(depth);
const bytes = (...parts) => Buffer.concat(parts.map(part => typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)));

// Each: what it is, the line, and the error codes that are right (none given: any).
const refused = {
    batches: [
        ['of one', `[${call()}]`, -32600],
        ['of two', `[${call()},${call(undefined, '2')}]`, -32600],
        ['empty', '[]', -32600],
        ['nested', `[[${call()}]]`, -32600],
        ['with white space before', `  [${call()}]`, -32600],
    ],
    'duplicate keys': [
        ['method', `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"echo"}}`],
        ['method, escaped', `{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/call","params":{"name":"echo"}}`],
        ['id', `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"echo"}}`],
        ['params', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"params":{"name":"secret"}}`],
        ['name', call('{"name":"echo","name":"secret"}')],
        ['name, escaped', call('{"name":"echo","n\\u0061me":"secret"}')],
        ['an argument', call('{"name":"echo","arguments":{"path":"/a","path":"/b"}}')],
        ['deep in an argument', call('{"name":"echo","arguments":{"a":[{"b":{"c":1,"d":2,"c":3}}]}}')],
        ['in _meta', call('{"name":"echo","_meta":{"x":1,"x":1}}')],
        ['of a method that is no call', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"a","cursor":"b"}}`],
    ],
    'invalid UTF-8': [
        ['a stray byte', bytes('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ec', [0xff], 'ho"}}')],
        ['an overlong slash', bytes('{"jsonrpc":"2.0","id":1,"method":"tools', [0xc0, 0xaf], 'call","params":{"name":"echo"}}')],
        ['a surrogate', bytes('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"', [0xed, 0xa0, 0x80], '"}}}')],
        ['cut short', bytes('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"', [0xf0, 0x9f], '"}}}')],
        ['beyond U+10FFFF', bytes('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"', [0xf4, 0x90, 0x80, 0x80], '"}}}')],
        ['in a key', bytes('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"', [0x80], '":1}}}')],
        ['UTF-16', Buffer.from(call(), 'utf16le')],
        ['a lone surrogate escape', call('{"name":"echo","arguments":{"a":"\\ud800"}}')],
        ['a lone low surrogate escape', call('{"name":"echo","arguments":{"a":"x\\udc00\\ud800"}}')],
    ],
    'byte order marks': [
        ['at the start of a line', bytes([0xef, 0xbb, 0xbf], call())],
        ['after a blank', bytes(' ', [0xef, 0xbb, 0xbf], call())],
    ],
    'bare carriage returns': [
        ['between tokens', `{"jsonrpc":"2.0",\r"id":1,"method":"tools/call","params":{"name":"echo"}}`],
        ['three lines for others', `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":\r${call('{"name":"secret"}', '9')}\r}}}`],
        ['in front', `\r${call()}`],
        ['two before the line end', `${call()}\r\r`],
        ['in a string', call('{"name":"echo","arguments":{"a":"x\ry"}}')],
    ],
    'members of the message': [
        ['an unknown one', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"extra":1}`],
        ['a NUL after a known one', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"id\\u0000":1}`],
        ['Method', `{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"echo"}}`],
        ['METHOD beside method', `{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call","params":{"name":"echo"}}`],
        ['PARAMS', `{"jsonrpc":"2.0","id":1,"method":"tools/call","PARAMS":{"name":"echo"}}`],
        ['paramſ', `{"jsonrpc":"2.0","id":1,"method":"tools/call","param\u017f":{"name":"echo"}}`],
        ['paramſ, escaped', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"param\\u017f":{"name":"echo"}}`],
        ['ID', `{"jsonrpc":"2.0","ID":1,"method":"tools/call","params":{"name":"echo"}}`],
        ['JsonRpc', `{"JsonRpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`],
        ['no jsonrpc', `{"id":1,"method":"tools/call","params":{"name":"echo"}}`],
        ['jsonrpc 1.0', `{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"echo"}}`],
        ['jsonrpc a number', `{"jsonrpc":2.0,"id":1,"method":"tools/call","params":{"name":"echo"}}`],
        ['method a number', `{"jsonrpc":"2.0","id":1,"method":7,"params":{"name":"echo"}}`],
        ['method null', `{"jsonrpc":"2.0","id":1,"method":null,"params":{"name":"echo"}}`],
        ['method and result', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"result":{}}`],
        ['method and error', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"error":{"code":1,"message":""}}`],
        ['result and error', `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`],
        ['none of the three', `{"jsonrpc":"2.0","id":1,"params":{"name":"echo"}}`],
        ['no member', '{}'],
    ],
    ids: [
        ['null', call(undefined, 'null')],
        ['a fraction', call(undefined, '1.5')],
        ['2^53+1', call(undefined, '9007199254740993')],
        ['-2^53-1', call(undefined, '-9007199254740993')],
        ['huge', call(undefined, '1e400')],
        ['tiny', call(undefined, '1e-400')],
        ['true', call(undefined, 'true')],
        ['an object', call(undefined, '{}')],
        ['an array', call(undefined, '[1]')],
        ['null, of a ping', `{"jsonrpc":"2.0","id":null,"method":"ping"}`],
        ['a fraction, of a list', `{"jsonrpc":"2.0","id":0.5,"method":"tools/list"}`],
    ],
    nesting: [
        ['65 from the input, objects', call(`{"name":"echo","arguments":${nest(65)}}`)],
        ['65 from the input, arrays', call(`{"name":"echo","arguments":{"a":${nest(65, '[', ']')}}}`)],
        ['65 of a list', `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":${nest(65)}}}`],
        ['100 000', call(`{"name":"echo","arguments":{"a":${nest(100_000, '[', ']')}}}`)],
        ['100 000, never closed', '['.repeat(100_000)],
        ['100 000 objects, never closed', '{"a":'.repeat(100_000)],
    ],
    'members of a call': [
        ['no params', `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`],
        ['params an array', call('["echo",{}]')],
        ['params null', call('null')],
        ['params a string', call('"echo"')],
        ['no name', call('{"arguments":{}}')],
        ['name a number', call('{"name":7,"arguments":{}}')],
        ['name null', call('{"name":null}')],
        ['name a list', call('{"name":["echo"]}')],
        ['arguments an array', call('{"name":"echo","arguments":[]}')],
        ['arguments a string', call('{"name":"echo","arguments":"{}"}')],
        ['Name beside name', call('{"name":"echo","Name":"secret"}')],
        ['NAME', call('{"NAME":"echo"}')],
        ['Arguments', call('{"name":"echo","Arguments":{"a":1}}')],
        ['argumentſ', call('{"name":"echo","argument\u017f":{"a":1}}')],
        ['_Meta', call('{"name":"echo","_Meta":{}}')],
        ['Task', call('{"name":"echo","Task":{}}')],
        ['inputresponses', call('{"name":"echo","inputresponses":{}}')],
        ['RequestState', call('{"name":"echo","RequestState":"x"}')],
        ['arguments that differ by case', call('{"name":"echo","arguments":{"path":"/a","Path":"/b"}}')],
        ['arguments that differ by case, escaped', call('{"name":"echo","arguments":{"path":"/a","p\\u0041th":"/b"}}')],
        ['URI of resources/read', `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"demo://a","URI":"demo://b"}}`],
        ['Uri of resources/subscribe', `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"Uri":"demo://b"}}`],
        ['Name of prompts/get', `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","Name":"b"}}`],
        ['params of resources/read an array', `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":["demo://a"]}`],
    ],
    'no message at all': [
        ['words', 'hello, this is dog'],
        ['a brace', '{'],
        ['a string', '"tools/call"'],
        ['a number', '42'],
        ['null', 'null'],
        ['true', 'true'],
        ['two messages on a line', call() + call()],
        ['a comment', `${call()} // x`],
        ['a trailing comma', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},}`],
        ['single quotes', `{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'echo'}}`],
        ['NaN', call('{"name":"echo","arguments":{"a":NaN}}')],
        ['a leading zero', call('{"name":"echo","arguments":{"a":01}}')],
        ['a NUL', bytes(call(), [0])],
        ['a control character in a string', call('{"name":"echo","arguments":{"a":"\u0001"}}')],
        ['a form feed between tokens', call().replace(',', ',\f')],
        ['a no-break space between tokens', call().replace(',', ',\u00a0')],
        ['HTTP', 'POST /mcp HTTP/1.1'],
        ['a header of another framing', 'Content-Length: 123\r'],
    ],
};

for (const [kind, cases] of Object.entries(refused)) {
    test(`refused: ${kind}`, async t => {
        const peer = t.recorder();
        const faults = [];
        for (const [name, line, ...codes] of cases) {
            const before = peer.lines.length;
            const had = peer.got().length;
            peer.send(bytes(line, '\n'));
            const ping = `alive after ${name}`;
            passed((await peer.request(ping, 'ping')).message);
            const said = peer.messages.slice(before).filter(m => m.id !== ping);
            const reached = peer.got().slice(had).split('\n').filter(Boolean);
            if (reached.length !== 1 || !reached[0].includes(ping)) faults.push(`${name}: reached the server: ${reached[0].slice(0, 200)}`);
            // A response that is refused has nobody to be told; all else is answered once, by an error or a denial.
            const response = /"result and error"|"result":|"error":/.test(String(line)) && !/"method"/.test(String(line));
            const waiting = name === 'of two' ? 2 : 1; // each element of a batch that waits is answered
            if (said.length !== waiting && !(response && said.length === 0)) faults.push(`${name}: ${said.length} answers: ${JSON.stringify(said).slice(0, 200)}`);
            for (const m of said) {
                const ok = m.error ? Number.isInteger(m.error.code) && typeof m.error.message === 'string' && m.result === undefined && 'id' in m
                    : m.result?.isError === true;
                if (!ok) faults.push(`${name}: answered ${JSON.stringify(m).slice(0, 200)}`);
                if (codes.length && !codes.includes(m.error?.code)) faults.push(`${name}: code ${m.error?.code}, not ${codes}`);
                if (JSON.stringify(m).includes('secret')) faults.push(`${name}: echoes the input: ${JSON.stringify(m).slice(0, 200)}`);
            }
        }
        assert.deepEqual(faults, []);
    });
}

test('a byte order mark at the start of the stream', async t => {
    const peer = t.recorder();
    peer.send(bytes([0xef, 0xbb, 0xbf], call(), '\n'));
    await peer.ping();
    assert.equal(gotCalls(peer).length, 0);
});

test('passed: what only looks like the above', async t => {
    const peer = t.recorder();
    const lines = [
        call('{"name":"echo","arguments":{"a":1}}', '9007199254740992'),
        call('{"name":"echo","arguments":{"a":1}}', '-9007199254740992'),
        call('{"name":"echo","arguments":{"a":{"x":1,"X":2}}}', '"below the top"'),
        call('{"name":"echo","arguments":{"ä":1,"Ä":2}}', '"no ASCII"'),
        call('{"name":"echo","arguments":{"a":{"name":1,"Name":2}}}', '"names below"'),
        call(`{"name":"echo","arguments":${nest(61)}}`, '"deep"'),
        call('{"name":"echo","arguments":{"a":"\\r\\n\\u0000\\ud83d\\ude00\u2028"}}', '"escaped"'),
        call('{"name":"echo","whatever":{"x":1}}', '"a member of params that nobody knows"'),
        call('{"name":"echo"}', '""'),
        call('{"name":"echo"}', '0'),
        `{"jsonrpc":"2.0","id":"é\u{1f600}","method":"ping"}`,
    ];
    peer.send(lines.map(line => line + '\n').join(''));
    for (const line of lines) passed((await peer.answer(JSON.parse(line).id)).message);
    assert.equal(peer.got(), lines.map(line => line + '\n').join(''));
});

test('an id that is an integer by value is answered or refused, never left', async t => {
    const peer = t.recorder();
    for (const [id, value] of [['1e3', 1000], ['7.0', 7], ['-0', 0]]) {
        const before = peer.lines.length;
        peer.send(call(undefined, id) + '\n');
        await peer.wait(`an answer to ${id}`, () => peer.messages.slice(before).find(m => m.error || m.id === value));
    }
});

test('an id that is in use is not taken again; a number is no string', async t => {
    const peer = t.recorder({ rules: [{ id: 'ask', effect: 'require_approval', match: { tool: 'write' } }] });
    peer.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write', arguments: { path: '/a' } } });
    peer.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'never', arguments: {} } });
    const [held] = await t.pending(1);
    for (const id of ['1', '2', '1.0', '2e0']) peer.send(call('{"name":"echo","arguments":{"again":true}}', id) + '\n');
    passed((await peer.call('1', 'echo')).message);
    passed((await peer.call('2', 'echo')).message);
    await peer.ping();
    assert.ok(!peer.got().includes('again'));
    assert.ok(peer.messages.filter(m => typeof m.id === 'number').every(m => m.error));
    t.cli('approve', held.code);
    await until('the held call to be released', () => gotCalls(peer).some(m => m.params.name === 'write'));
});

test('names are compared decoded', async t => {
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' })] });
    for (const line of [
        '{"jsonrpc":"2.0","id":1,"method":"tools\\/call","params":{"name":"secret"}}',
        '{"jsonrpc":"2.0","id":1,"method":"\\u0074ools/call","params":{"name":"secr\\u0065t"}}',
        '{"jsonrpc":"2.0","\\u0069d":1,"meth\\u006fd":"tools/call","par\\u0061ms":{"n\\u0061me":"secret"}}',
    ]) {
        const before = peer.lines.length;
        peer.send(line + '\n');
        await peer.ping();
        assert.equal(peer.messages.slice(before).find(m => m.id === 1)?.result?.isError, true, line);
    }
    assert.equal(gotCalls(peer).length, 0);
});

test('a message over 16 MiB, then a good one; one just below passes', async t => {
    const peer = t.recorder({ rules: [] });
    const whole = size => {
        const shell = call('{"name":"quiet","arguments":{"a":""}}', '"big"');
        return shell.replace('""', `"${'x'.repeat(size - shell.length)}"`);
    };
    peer.send(whole(16 * MiB + 1) + '\n');
    await peer.ping();
    assert.equal(gotCalls(peer).length, 0);
    const first = peer.messages[0];
    assert.ok(first.error || first.result?.isError, JSON.stringify(first).slice(0, 200));
    // Twice as large, and in the middle of it what looks like a line of its own but for the line end.
    peer.send(whole(16 * MiB) + whole(16 * MiB) + '\n');
    await peer.ping();
    assert.equal(gotCalls(peer).length, 0);
    peer.send(whole(16 * MiB - 4096).replace('"big"', '"ok"').replace('"quiet"', '"never"') + '\n');
    await peer.ping();
    assert.equal(gotCalls(peer).length, 1);
}, { timeout: 60_000 });

test('a line that never ends does not fill memory, and the client can still go', async t => {
    const peer = t.recorder();
    const blanks = Buffer.alloc(MiB, 0x20);
    for (let i = 0; i < 150; i++) peer.send(blanks);
    await until('the input to be read', () => peer.child.stdin.writableLength === 0, 20_000);
    slim(peer);
    peer.send('\n');
    await peer.ping();
    assert.equal((await peer.close()).code, 0);
});

test('a last line without a line end is no way in', async t => {
    const peer = t.recorder({ rules: [deny('no-echo', { tool: 'echo' })] });
    await peer.ping();
    peer.send(call('{"name":"echo"}'));
    await peer.close();
    assert.equal(gotCalls(peer).length, 0);
});

test('unknown methods, calls and notifications without an id', async t => {
    const peer = t.recorder({ args: ['--allow-method', 'vendor/thing', '--allow-method', 'notifications/vendor'] });
    for (const method of ['vendor/other', 'tools/Call', 'TOOLS/CALL', 'tools/call ', 'tools/call\u0000', '', 'rpc.discover']) {
        assert.equal((await peer.request(`m ${method}`, method, { name: 'echo' })).message.error?.code, -32601, method);
    }
    passed((await peer.request('v', 'vendor/thing', { a: 1 })).message);
    peer.send({ jsonrpc: '2.0', method: 'notifications/vendor', params: {} });
    const before = peer.lines.length;
    for (const method of ['tools/call', 'resources/read', 'resources/subscribe', 'prompts/get', 'completion/complete']) {
        peer.send({ jsonrpc: '2.0', method, params: { name: 'echo', uri: 'demo://a' } });
    }
    for (const method of ['notifications/nobody', 'notifications/Cancelled', 'vendor/other']) peer.send({ jsonrpc: '2.0', method, params: {} });
    await peer.ping();
    assert.equal(peer.lines.length, before + 1, 'what has no id is not answered');
    assert.deepEqual(got(peer).map(m => m.method), ['vendor/thing', 'notifications/vendor', 'ping']);
    assert.ok(kinds(t).filter(kind => kind === 'mcp.dropped').length >= 8, `each is journalled: ${kinds(t)}`);
    // What every revision knows passes.
    for (const method of ['initialize', 'ping', 'logging/setLevel', 'prompts/list', 'resources/list', 'resources/templates/list',
        'resources/unsubscribe', 'tools/list', 'tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'tasks/update',
        'server/discover', 'subscriptions/listen']) {
        passed((await peer.request(`k ${method}`, method, { protocolVersion: 'x', taskId: 't', uri: 'x' })).message);
    }
    for (const method of ['initialized', 'cancelled', 'progress', 'roots/list_changed', 'tasks/status']) {
        peer.send({ jsonrpc: '2.0', method: `notifications/${method}`, params: { requestId: 'none', progressToken: 1, progress: 1 } });
    }
    await peer.ping();
    const reached = got(peer).map(m => m.method);
    for (const method of ['initialized', 'progress', 'roots/list_changed']) assert.ok(reached.includes(`notifications/${method}`), method);
});

test('3 000 broken copies of a denied call: none of them reaches the server as one', async t => {
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' }), deny('no-echo', { tool: 'echo' })] });
    const next = random(20261129);
    const good = Buffer.from(call('{"name":"secret","arguments":{"a":[1,{"b":"c\\u0041"}]}}'));
    const bits = ['"', '\\', '{', '}', '[', ']', ',', ':', '\r', ' ', '\t', '\u0000', 'é', '\u2028', 'ſ', '"name":"secret"', '"name":"secret",',
        '"method":"tools/call",', '\\u0000', '\\/', '1e999', 'null', '"id":2,', '\ufeff'].map(bit => Buffer.from(bit));
    for (let i = 0; i < 3000; i++) {
        let line = good;
        for (let n = 1 + next() % 3; n > 0; n--) {
            const at = next() % line.length;
            switch (next() % 4) {
                case 0: line = Buffer.concat([line.subarray(0, at), bits[next() % bits.length], line.subarray(at)]); break;
                case 1: line = Buffer.concat([line.subarray(0, at), line.subarray(at + 1 + next() % 4)]); break;
                case 2: line = Buffer.from(line); line[at] = next(); break;
                default: { const to = at + next() % 30; line = Buffer.concat([line.subarray(0, to), line.subarray(at)]); }
            }
        }
        peer.send(Buffer.concat([line, Buffer.from('\n')]));
    }
    await peer.ping('the end');
    // However a server splits lines and reads JSON, there is no such call in what it got.
    for (const line of peer.got().split(/[\n\r\u2028\u2029\u0085\f\v]/)) {
        let message;
        try { message = JSON.parse(line); } catch { continue; }
        assert.ok(!(message.method === 'tools/call' && ['secret', 'echo'].includes(message.params?.name)), line);
    }
    assert.ok(!/[\r]/.test(peer.got()));
});

test('10 MB of random bytes', async t => {
    const peer = t.recorder();
    const next = random(42);
    for (let i = 0; i < 10; i++) {
        const chunk = Buffer.alloc(1_000_000);
        for (let at = 0; at < chunk.length; at += 4) chunk.writeUInt32LE(next(), at);
        peer.send(chunk);
    }
    peer.send('\n');
    peer.send({ jsonrpc: '2.0', id: 'after', method: 'ping' });
    await peer.answer('after', 60_000);
    assert.deepEqual(got(peer).map(m => m.method), ['ping']);
    assert.ok(peer.messages.every(m => m.error || m.id === 'after'));
    passed((await peer.call(1, 'echo')).message);
}, { timeout: 90_000 });

test('300 interleaved calls, each answered once and as it should be', async t => {
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' }), { id: 'ask', effect: 'require_approval', match: { tool: 'write' } }] });
    for (let id = 0; id < 300; id++) {
        const name = id % 25 === 7 ? 'write' : ['echo', 'secret', 'slow'][id % 3];
        peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { id, ms: (id * 7) % 40 } } });
    }
    const held = await t.pending(12);
    for (let id = 0; id < 300; id++) {
        if (id % 25 === 7) continue;
        const { message } = await peer.answer(id);
        assert.equal(Boolean(message.result.isError), id % 3 === 1, `call ${id}`);
        if (id % 3 === 0) assert.equal(JSON.parse(message.result.content[0].text).id, id);
    }
    t.cli('approve', held[0].code);
    for (let id = 7; id < 300; id += 25) passed((await peer.answer(id)).message);
    assert.equal(peer.lines.length, 300, 'each call is answered once');
    assert.ok(gotCalls(peer).every(m => m.params.name !== 'secret'));
});

// ------------------------------------------------------------------------------ server to client

test('lines of the server that are no message are dropped, with one note', async t => {
    const peer = t.recorder({}, '--banner', '--prompt-list');
    await peer.request(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } });
    await peer.call(1, 'junk', { base64: base64('npm warn\n{"jsonrpc":"2.0"}\n[]\n"x"\n\xff\xfe\n\x00\n{"jsonrpc":"1.0","id":99,"result":{}}\n') });
    await peer.call(2, 'junk', { base64: base64('more\n\n\r\n{\n') });
    await peer.ping();
    assert.deepEqual(peer.messages.map(m => m.method ?? m.id).slice(0, 4), ['notifications/tools/list_changed', 0, 1, 2]);
    assert.equal(peer.lines.length, 5);
    const notes = peer.stderr.split('\n').filter(line => /no (JSON-RPC )?message|not a (JSON-RPC )?message|dropped|not JSON/i.test(line));
    assert.equal(notes.length, 1, peer.stderr);
});

test('answers to questions that nobody put, or twice, are dropped and journalled', async t => {
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' }), { id: 'ask', effect: 'require_approval', match: { tool: 'write' } }] });
    await peer.call(1, 'stray', { id: 424242 });
    await peer.call(2, 'stray', { id: '3' });
    await peer.call(3, 'stray', { id: null });
    await peer.call(4, 'stray', { id: 1 });
    await peer.call(5, 'twice');
    await peer.call(6, 'secret');
    await peer.call(7, 'stray', { id: 6 });
    const held = peer.call(8, 'write', { path: '/a' });
    const [{ code }] = await t.pending(1);
    await peer.call(9, 'stray', { id: 8 });
    await peer.ping();
    assert.deepEqual(peer.answers(8), []);
    t.cli('approve', code);
    passed((await held).message);
    await peer.ping();
    assert.deepEqual(peer.messages.map(m => m.id).filter(id => typeof id === 'number'), [1, 2, 3, 4, 5, 6, 7, 9, 8]);
    assert.equal(peer.answers(5)[0].result.content[0].text, 'first');
    assert.ok(peer.messages.every(m => !m.result?.stray));
    const dropped = kinds(t).filter(kind => kind === 'mcp.dropped').length;
    assert.ok(dropped >= 7, `${dropped} dropped in ${kinds(t)}`);
});

test('an answer that cannot be handed on becomes an error for its id', async t => {
    const peer = t.recorder();
    const broken = {
        'cut short': '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"x"}]}\n',
        'neither result nor error': '{"jsonrpc":"2.0","id":ID}\n',
        'both': '{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}\n',
        'too deep': `{"jsonrpc":"2.0","id":ID,"result":{"a":${nest(100_000, '[', ']')}}}\n`,
        'id last': '{"result":{"content":[{"type":"text","text":broken}]},"jsonrpc":"2.0","id":ID}\n',
        'Result': '{"jsonrpc":"2.0","id":ID,"Result":{}}\n',
    };
    const faults = [];
    for (const [name, line] of Object.entries(broken)) {
        const answer = await peer.call(name, 'broken', { base64: base64(line) }).catch(error => ({ error }));
        if (answer.error) faults.push(`${name}: the client hangs`);
        else if (!answer.message.error && name !== 'both' && name !== 'too deep') faults.push(`${name}: ${answer.line.slice(0, 200)}`);
    }
    assert.deepEqual(faults, []);
    // What clients take of a server directly arrives, repaired.
    for (const [name, line] of [['invalid UTF-8', '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\xff"}]}}\n'],
        ['a bare carriage return', '{"jsonrpc":"2.0","id":ID,\r"result":{"content":[]}}\n'],
        ['two ids', '{"jsonrpc":"2.0","id":424242,"id":ID,"result":{"content":[]}}\n'],
        ['NaN', '{"jsonrpc":"2.0","id":ID,"result":{"content":[],"x":NaN}}\n']]) {
        passed((await peer.call(name, 'broken', { base64: base64(line) })).message);
    }
    // What clients read all alike is handed on: half a pair of surrogates, a batch of one, a CR before the line end.
    for (const [name, line] of [['half', '{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\\ud83d"}]}}\n'],
        ['batch', '[{"jsonrpc":"2.0","id":ID,"result":{"content":[]}},{"jsonrpc":"2.0","method":"notifications/message","params":{}}]\n'],
        ['crlf', '{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}\r\n']]) {
        passed((await peer.call(name, 'broken', { base64: base64(line) })).message);
    }
    // Larger than an answer may be; what only the client's messages may not be passes.
    peer.send({ jsonrpc: '2.0', id: 'big', method: 'tools/call', params: { name: 'big', arguments: { bytes: 65 * MiB } } });
    const big = await peer.answer('big', 40_000);
    assert.ok(big.message.error, big.line.slice(0, 100));
    passed((await peer.call('below', 'big', { bytes: 17 * MiB })).message);
    passed((await peer.call('after', 'echo')).message);
}, { timeout: 90_000 });

test('requests of the server pass, whatever their id, and are journalled', async t => {
    const peer = t.recorder();
    const answered = async (id, method, mine, result) => {
        const answer = peer.call(id, 'ask', { method, id: mine, params: { x: 'y' } });
        const { message } = await peer.find(method, m => m.method === method);
        assert.deepEqual([message.id, message.params], [mine, { x: 'y' }]);
        peer.send({ jsonrpc: '2.0', id: message.id, ...result });
        assert.deepEqual(JSON.parse((await answer).message.result.content[0].text), result.result ?? result.error);
    };
    await answered(1, 'sampling/createMessage', 1, { result: { role: 'assistant', content: [] } });
    await answered('2', 'elicitation/create', '2', { result: { action: 'decline' } });
    await answered(3, 'roots/list', 2, { error: { code: -1, message: 'no' } });
    const journal = t.events().filter(event => event.kind === 'mcp.server_request');
    assert.equal(journal.length, 3, kinds(t).join(' '));
});

test('a server that never answers: others are answered, a cancellation is handed on', async t => {
    const peer = t.recorder();
    for (let id = 1; id <= 50; id++) peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'never', arguments: {} } });
    for (let id = 51; id <= 60; id++) passed((await peer.call(id, 'echo')).message);
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    await peer.ping();
    assert.ok(got(peer).some(m => m.method === 'notifications/cancelled' && m.params.requestId === 7));
    assert.equal(peer.lines.length, 11);
    assert.equal((await peer.close()).code, 0);
});

test('a server that dies in the middle of calls: each caller gets an error', async t => {
    const peer = t.recorder({ rules: [{ id: 'ask', effect: 'require_approval', match: { tool: 'write' } }] });
    for (let id = 1; id <= 20; id++) peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'never', arguments: {} } });
    peer.send({ jsonrpc: '2.0', id: 21, method: 'tools/call', params: { name: 'write', arguments: { path: '/a' } } });
    await t.pending(1);
    peer.send({ jsonrpc: '2.0', id: 22, method: 'tools/call', params: { name: 'die', arguments: { code: 7 } } });
    const ended = await peer.exit;
    assert.deepEqual([ended.code, ended.signal], [7, null]);
    for (let id = 1; id <= 22; id++) {
        const answers = peer.answers(id);
        assert.equal(answers.length, 1, `call ${id} has ${answers.length} answers`);
        assert.ok(answers[0].error || answers[0].result?.isError, JSON.stringify(answers[0]));
    }
    await t.pending(0);
});

// ------------------------------------------------------------------------------ pipes that are full

// Twice the largest message in each direction, and what a program needs.
function slim(peer) {
    const now = memory(peer.pid);
    assert.ok(under || now < 100 * MiB, `the gate grew to ${Math.round(now / MiB)} MiB`);
}
const memory = pid => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;

test('a client that never reads', async t => {
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' })], spawn: { paused: true } });
    // More than memory may take: only waiting helps.
    const count = 150;
    for (let id = 1; id <= count; id++) {
        peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: id % 10 ? 'big' : 'secret', arguments: { bytes: MiB } } });
    }
    // Nothing moves any more once the pipes are full.
    let last = -1;
    await until('the pipes to fill', async () => {
        await sleep(200);
        const now = peer.got().length;
        const still = now === last && now > 0;
        last = now;
        return still;
    }, 20_000);
    slim(peer);
    assert.ok(gotCalls(peer).every(m => m.params.name === 'big'));
    peer.read();
    for (let id = 1; id <= count; id++) {
        const { message, line } = await peer.answer(id, 30_000);
        assert.equal(Boolean(message.result.isError), id % 10 === 0);
        assert.ok(id % 10 === 0 || line.length > MiB);
    }
}, { timeout: 90_000 });

test('a server that never reads', async t => {
    const peer = t.recorder();
    await peer.ping();
    const child = Number(readFileSync(`${peer.log}.pid`, 'utf8'));
    process.kill(child, 'SIGSTOP');
    const pad = 'x'.repeat(MiB);
    for (let id = 1; id <= 150; id++) peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'never', arguments: { pad } } });
    let last = -1;
    await until('the pipes to fill', async () => {
        await sleep(200);
        const now = peer.child.stdin.writableLength;
        const still = now === last;
        last = now;
        return still;
    }, 20_000);
    slim(peer);
    process.kill(child, 'SIGCONT');
    peer.send({ jsonrpc: '2.0', id: 'after', method: 'ping' });
    passed((await peer.answer('after', 30_000)).message);
    assert.equal(gotCalls(peer).length, 150);
}, { timeout: 90_000 });

test('a client that goes away without a word', async t => {
    const peer = t.recorder();
    await peer.ping();
    peer.child.stdout.destroy();
    for (let id = 1; id <= 50; id++) peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'big', arguments: { bytes: 100_000 } } });
    peer.child.stdin.end();
    const ended = await Promise.race([peer.exit, sleep(under === 'valgrind' ? 120_000 : 15_000)]);
    assert.ok(ended, 'the gate outlives its client');
    assert.equal(ended.signal, null);
});

await run();
