// What a policy does to a client: denied, held, approved, refused, withdrawn; and the server sees only what is allowed.
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { assert, callgate, cli, run, servers, sleep, test, until } from './lib.mjs';

const deny = (id, match, reason = `because of ${id}`) => ({ id, effect: 'deny', match, reason });
const hold = (id, match, more = {}) => ({ id, effect: 'require_approval', match, ...more });

// Lines that the server got, as objects.
const got = peer => peer.got().split('\n').filter(Boolean).map(JSON.parse);
const gotCalls = peer => got(peer).filter(m => m.method === 'tools/call').map(m => m.params.name);
const text = message => message.result.content.map(item => item.text).join('\n');
const passed = message => assert.ok(message.result && !message.result.isError, `not allowed: ${JSON.stringify(message)}`);

// A denial's line with its id taken out: all of a kind are the same bytes.
const withoutId = ({ line, message }) => {
    const id = `"id":${JSON.stringify(message.id)}`;
    assert.equal(line.split(id).length, 2, `the id is not in ${line}`);
    return line.replace(id, '"id":?');
};

test('denials of a call differ in nothing but the id', async t => {
    const peer = t.recorder({ rules: [
        deny('no-secret', { tool: 'secret' }), deny('no-etc', { pathPrefix: '/etc' }, 'never /etc'),
        deny('no-x', { tool: 'echo', argEquals: { x: 1 } })], args: ['--server', 's'] });
    const lines = [];
    for (const [id, name, args] of [[1, 'secret', {}], ['two', 'read', { path: '/etc/passwd' }], [3, 'write', { path: '/usr/../etc/x', text: 'T'.repeat(5000) }],
        ['\u2028"\\', 'echo', { x: 1.0 }], [-9007199254740992, 'upload_file', { file: 'x' }]]) {
        lines.push(withoutId(await peer.call(id, name, args)));
    }
    assert.deepEqual(new Set(lines).size, 1, lines.join('\n'));
    const { result } = JSON.parse(lines[0].replace('?', '1'));
    assert.deepEqual([result.isError, result.content.length, result.content[0].type], [true, 1, 'text']);
    assert.equal(result.resultType, undefined);
    assert.doesNotMatch(lines[0], /secret|etc|no-|default|rule|policy authored/);
    passed((await peer.call(10, 'echo', { x: '2' })).message);
    await peer.ping();
    assert.deepEqual(gotCalls(peer), ['echo']);
});

test('a denial of the 2026-07-28 era says that it is complete', async t => {
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' })] });
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
    const one = await peer.call(1, 'secret', { a: 1 }, { _meta });
    const two = await peer.call(2, 'secret', { b: 2 }, { _meta, inputResponses: { k: { action: 'accept' } }, requestState: 'xyz' });
    assert.equal(one.message.result.resultType, 'complete');
    assert.equal(withoutId(one), withoutId(two));
    await peer.ping();
    assert.deepEqual(gotCalls(peer), []);
});

test('denied as a task, and denied methods: JSON-RPC errors that are constant', async t => {
    const methods = {
        'resources/read': [{ uri: 'file:///etc/passwd' }, { uri: 'demo://a' }],
        'resources/subscribe': [{ uri: 'file:///etc/passwd' }, { uri: 'demo://b' }],
        'prompts/get': [{ name: 'a' }, { name: 'b', arguments: { c: 'd' } }],
        'completion/complete': [{ ref: { type: 'ref/prompt', name: 'a' }, argument: { name: 'x', value: 'y' } },
            { ref: { type: 'ref/resource', uri: 'demo://c' }, argument: { name: 'z', value: '' } }],
    };
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' }),
        ...Object.keys(methods).map(method => deny(`no-${method}`, { tool: method }))] });
    let id = 0;
    const kinds = [[['tools/call', { name: 'secret', arguments: { a: 1 }, task: { ttl: 5 } }], ['tools/call', { name: 'secret', task: {} }]],
        ...Object.entries(methods).map(([method, all]) => all.map(params => [method, params]))];
    for (const kind of kinds) {
        const lines = [];
        for (const [method, params] of kind) {
            const answer = await peer.request(++id, method, params);
            assert.equal(typeof answer.message.error?.code, 'number', answer.line);
            assert.equal(answer.message.result, undefined);
            assert.doesNotMatch(answer.line, /secret|no-|etc|demo/);
            lines.push(withoutId(answer));
        }
        assert.equal(new Set(lines).size, 1, lines.join('\n'));
    }
    await peer.ping();
    assert.deepEqual(got(peer).map(m => m.method), ['ping']);
    // Their neighbours pass.
    for (const method of ['resources/list', 'resources/templates/list', 'resources/unsubscribe', 'prompts/list', 'tools/list', 'logging/setLevel']) {
        passed((await peer.request(`ok ${method}`, method, { uri: 'x' })).message);
    }
    passed((await peer.call(99, 'echo', {}, { task: { ttl: 1 } })).message);
});

test('the file of a resource is judged as a path', async t => {
    const peer = t.recorder({ rules: [deny('no-etc', { pathPrefix: '/etc' })] });
    for (const [id, uri] of ['file:///etc/passwd', 'file:///usr/%2e%2e/etc/shadow', 'FILE:/etc/x', 'file:///e\ttc/x', 'fi\nle:/etc/x'].entries()) {
        assert.ok((await peer.request(id, 'resources/read', { uri })).message.error, uri);
    }
    passed((await peer.request(9, 'resources/read', { uri: 'file:///usr/share/x' })).message);
    passed((await peer.request(10, 'resources/read', { uri: 'demo://etc/passwd' })).message);
    assert.deepEqual(got(peer).map(m => m.params.uri), ['file:///usr/share/x', 'demo://etc/passwd']);
});

test('what is allowed goes on byte for byte', async t => {
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' })] });
    const lines = [
        '{ "jsonrpc" : "2.0", "id":1 ,"method":"tools\\/call","params":{"name":"ech\\u006f","arguments":{"a":1.0e0,"\\u0062":[1e400, -0 ,12345678901234567890]}}}',
        '{"method":"tools/call","params":{"arguments":{"t":"\u2028\u{1f600}\\ud83d\\ude00\\u0000"},"name":"echo","_meta":{"x":null}},"id":"two","jsonrpc":"2.0"}',
        '\t{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}} ',
        '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo","arguments":{}}}\r',
        '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
        '{"jsonrpc":"2.0","id":5,"method":"ping"}',
    ];
    peer.send(lines.map(line => line + '\n').join(''));
    for (const id of [1, 'two', 3, 4, 5]) passed((await peer.answer(id)).message);
    // A CR before the LF is a line end: it may go on or not.
    assert.equal(peer.got().replaceAll('\r\n', '\n'), lines.map(line => line + '\n').join('').replaceAll('\r\n', '\n'));
});

test('a call is judged before the session is initialised, and every call after', async t => {
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' })] });
    assert.equal((await peer.call(1, 'secret')).message.result.isError, true);
    await peer.request(2, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } });
    peer.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    assert.equal((await peer.call(3, 'secret')).message.result.isError, true);
    await peer.ping();
    assert.deepEqual(got(peer).map(m => m.method), ['initialize', 'notifications/initialized', 'ping']);
});

test('both events of a denial are in the journal before the client hears of it', async t => {
    const peer = t.recorder({ rules: [deny('no-secret', { tool: 'secret' }, 'state secret')], args: ['--server', 'vault', '--channel', 'C7', '--thread', '9.9'] });
    await peer.call(1, 'secret', { name: 'x' });
    const events = t.events().filter(event => event.kind.startsWith('policy.deny'));
    assert.deepEqual(events.map(event => event.kind), ['policy.deny', 'policy.deny.context_stripped']);
    const [full, stripped] = events;
    assert.equal(stripped.seq, full.seq + 1);
    assert.equal(full.ruleId, 'no-secret');
    assert.equal(full.reason, 'state secret');
    assert.equal(full.outcome, 'deny');
    assert.equal(full.server, 'vault');
    assert.deepEqual(full.input, { name: 'x' });
    assert.deepEqual(full.sessionKey, { channel: 'C7', thread: '9.9' });
    assert.match(full.callHash, /^[0-9a-f]{64}$/);
    const own = ['correlationId', 'hash', 'kind', 'prevHash', 'seq', 'sessionKey', 'toolName', 'ts', 'v'];
    assert.deepEqual(Object.keys(stripped).sort(), own);
    assert.equal(stripped.correlationId, full.correlationId);
    await peer.call(2, 'echo', { a: 1 });
    const allowed = t.events().find(event => event.kind === 'policy.allow');
    assert.deepEqual([allowed.toolName, allowed.outcome, allowed.ruleId], ['echo', 'allow', undefined]);
    assert.match(allowed.callHash, /^[0-9a-f]{64}$/);
});

test('held, approved from another process, then released with the same bytes', async t => {
    const peer = t.recorder({ rules: [hold('ask-write', { tool: 'write' }, { ttlMs: 60_000 })],
        args: ['--server', 'fs', '--channel', 'C1', '--thread', '1.5'] });
    const line = '{"jsonrpc":"2.0",  "id":7,"method":"tools/call","params":{"name":"write","arguments":{"path":"/srv/new","n":1.50}}}';
    peer.send(line + '\n');
    const [held] = await t.pending(1);
    assert.match(held.code, /^[a-km-z]{5}$/);
    assert.deepEqual([held.rule, held.tool, held.server, held.channel, held.thread, held.scope, held.needed, held.given],
        ['ask-write', 'write', 'fs', 'C1', '1.5', 'session', 1, 0]);
    assert.deepEqual(held.paths, ['/srv/new']);
    assert.equal(held.input.path, '/srv/new');
    assert.ok(held.expires, 'no expiry');
    assert.deepEqual(Object.keys(held), ['code', 'rule', 'tool', 'server', 'input', 'paths', 'channel', 'thread', 'clientWaitsUntil', 'scope', 'needed', 'given', 'expires']);
    assert.equal(peer.got(), '');
    const done = t.cli('approve', held.code);
    assert.equal(done.code, 0, done.stderr);
    assert.equal(text((await peer.answer(7)).message), 'wrote /srv/new');
    assert.equal(peer.got(), line + '\n');
    await t.pending(0);
    // The approval covers the rule and the session, whatever the path.
    passed((await peer.call(8, 'write', { path: '/srv/other' })).message);
    assert.equal((await peer.call(9, 'read', { path: '/srv/other' })).message.id, 9);
    const kinds = t.events().map(event => event.kind);
    assert.ok(kinds.includes('policy.require') && kinds.includes('approval.approved'), kinds.join(' '));
    assert.ok(kinds.indexOf('policy.require') < kinds.indexOf('approval.approved'), 'journalled before anyone is asked');
});

test('held, refused: denied, and stays refused', async t => {
    const peer = t.recorder({ rules: [hold('ask-write', { tool: 'write' }), deny('no-secret', { tool: 'secret' })] });
    const denied = await peer.call(1, 'secret');
    const answer = peer.call(2, 'write', { path: '/a' });
    const [held] = await t.pending(1);
    const done = t.cli('refuse', held.code, '--as', 'ada');
    assert.equal(done.code, 0, done.stderr);
    const refused = await answer;
    assert.equal(refused.message.result.isError, true);
    assert.doesNotMatch(refused.line, /alice|ask-write/);
    assert.equal(withoutId(refused).replace('was refused by a person', 'was denied'), withoutId(denied), 'a refusal tells the agent only that it is one');
    // The same call is not asked for again.
    assert.equal(withoutId(await peer.call(3, 'write', { path: '/a' })), withoutId(refused));
    await t.pending(0);
    // Another is; and its grant does not free the refused one.
    const other = peer.call(4, 'write', { path: '/b' });
    const [again] = await t.pending(1);
    t.cli('approve', again.code);
    passed((await other).message);
    assert.equal((await peer.call(5, 'write', { path: '/a' })).message.result.isError, true);
    await peer.ping();
    assert.deepEqual(got(peer).filter(m => m.method === 'tools/call').map(m => m.id), [4]);
    assert.ok(t.events().some(event => event.kind === 'approval.refused'));
});

test('a cancelled call is withdrawn', async t => {
    const peer = t.recorder({ rules: [hold('ask-write', { tool: 'write' })] });
    peer.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write', arguments: { path: '/a' } } });
    const [held] = await t.pending(1);
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'bored' } });
    await t.pending(0);
    assert.equal(t.cli('approve', held.code).code, 1, 'a withdrawn request cannot be approved');
    await peer.ping();
    assert.deepEqual(gotCalls(peer), []);
    assert.deepEqual(peer.answers(1), []);
    assert.ok(t.events().some(event => event.kind === 'approval.withdrawn'), t.events().map(e => e.kind).join(' '));
    // The id is free for nothing: but another call works.
    passed((await peer.call(2, 'echo')).message);
});

test('a cancellation withdraws the call of its very id, and no request that another call waits for', async t => {
    const peer = t.recorder({ rules: [hold('ask-write', { tool: 'write' })] });
    const say = id => peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'write', arguments: { path: '/a' } } });
    const cancel = requestId => peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    say(1);
    say('1');
    say(2);
    const [held] = await t.pending(1);
    cancel('2');
    cancel(1);
    cancel(17);
    await peer.ping();
    assert.equal((await t.pending(1))[0].code, held.code);
    t.cli('approve', held.code);
    passed((await peer.answer('1')).message);
    passed((await peer.answer(2)).message);
    await peer.ping();
    assert.deepEqual(peer.answers(1), []);
    assert.deepEqual(got(peer).filter(m => m.method === 'tools/call').map(m => m.id), ['1', 2]);
});

test('an approval ends after ttlMs', async t => {
    const peer = t.recorder({ rules: [hold('ask-write', { tool: 'write' }, { ttlMs: 400 })] });
    const answer = peer.call(1, 'write', { path: '/a' });
    const [held] = await t.pending(1);
    t.cli('approve', held.code);
    passed((await answer).message);
    await sleep(450);
    const again = peer.call(2, 'write', { path: '/a' });
    const [next] = await t.pending(1);
    t.cli('refuse', next.code);
    assert.equal((await again).message.result.isError, true);
});

test('secrets of a call are neither in the journal nor in the store nor shown', async t => {
    const peer = t.recorder({ rules: [hold('ask-write', { tool: 'write' }), deny('no-read', { tool: 'read' })] });
    const password = 'hunter2-zyx', token = 'ghp_0123456789abcdefghijABCDEFGHIJ012345';
    const secret = { path: '/a', password, note: `use ${token}`, nested: [{ api_key: password }] };
    const answer = peer.call(1, 'write', secret);
    assert.equal((await peer.call(2, 'read', secret)).message.result.isError, true);
    const [held] = await t.pending(1);
    const everything = [t.cli('pending').stdout, JSON.stringify(held), t.cli('status').stdout, t.cli('approve', held.code).stdout];
    passed((await answer).message);
    await peer.close();
    everything.push(peer.stderr);
    for (const name of readdirSync(t.state, { recursive: true })) {
        const path = join(t.state, name);
        if (statSync(path).isFile()) everything.push(readFileSync(path, 'latin1'));
    }
    for (const text of everything) assert.ok(!text.includes('hunter2') && !text.includes('ghp_0123'), text.slice(0, 400));
    assert.ok(peer.got().includes(password), 'the server gets the call as it was');
});

test('not approved in time: a constant answer, and a retry passes once approved', async t => {
    const peer = t.recorder({ rules: [hold('ask-write', { tool: 'write' })], args: ['--hold-for', '1'] });
    const [one, two] = await Promise.all([peer.call(1, 'write', { path: '/a' }), peer.call('b', 'write', { path: '/b' })]);
    for (const answer of [one, two]) {
        assert.equal(answer.message.result.isError, true);
        assert.doesNotMatch(answer.line, /ask-write|\/a|\/b/);
    }
    assert.equal(withoutId(one), withoutId(two));
    assert.match(text(one.message), /not approved in time/i);
    const held = await t.pending(2);
    assert.equal(peer.got(), '');
    const code = held.find(request => request.input.path === '/a').code;
    assert.equal(t.cli('approve', code).code, 0);
    passed((await peer.call(3, 'write', { path: '/a' })).message);
    await t.pending(0);
    assert.deepEqual(got(peer).filter(m => m.method === 'tools/call').map(m => m.id), [3]);
});

test('a retry while the request still waits joins it', async t => {
    const peer = t.recorder({ rules: [hold('ask-write', { tool: 'write' })], args: ['--hold-for', '6'] });
    await peer.call(1, 'write', { path: '/a' });
    const [first] = await t.pending(1);
    const again = peer.call(2, 'write', { path: '/a' });
    const [second] = await t.pending(1);
    assert.equal(second.code, first.code);
    t.cli('approve', first.code);
    passed((await again).message);
});

test('progress while held, if the request asked for it; nothing else is blocked', async t => {
    const peer = t.recorder({ rules: [hold('ask-write', { tool: 'write' }), deny('no-secret', { tool: 'secret' })] });
    const answer = peer.call(1, 'write', { path: '/a' }, { _meta: { progressToken: 'tok' } });
    const without = peer.call(2, 'write', { path: '/b' });
    const [held] = await t.pending(2);
    await peer.find('progress', m => m.method === 'notifications/progress' && m.params.progressToken === 'tok');
    for (let id = 10; id < 30; id++) passed((await peer.call(id, 'echo', { id })).message);
    assert.equal((await peer.call(30, 'secret')).message.result.isError, true);
    assert.equal(peer.answers(1).length + peer.answers(2).length, 0);
    t.cli('approve', held.code);
    passed((await answer).message);
    passed((await without).message);
    const progress = peer.messages.filter(m => m.method === 'notifications/progress');
    const values = progress.map(m => m.params.progress);
    assert.deepEqual(values, [...values].sort((a, b) => a - b), 'progress goes up');
    assert.equal(new Set(values).size, values.length);
    assert.ok(progress.every(m => m.params.progressToken === 'tok'), 'only who asked for progress gets it');
    assert.doesNotMatch(JSON.stringify(progress), /ask-write|\/a/);
    assert.ok(!JSON.stringify(progress).includes(held.code), 'the agent never sees the code');
});

test('the server’s own progress comes unchanged, and goes up from the gate’s', async t => {
    const peer = t.recorder({ rules: [hold('ask-steps', { tool: 'steps' })] });
    const answer = peer.call(1, 'steps', {}, { _meta: { progressToken: 5 } });
    const [held] = await t.pending(1);
    await peer.find('progress', m => m.method === 'notifications/progress');
    t.cli('approve', held.code);
    passed((await answer).message);
    const own = peer.messages.filter(m => m.method === 'notifications/progress' && m.params.total === 3);
    assert.deepEqual(own.map(m => [m.params.progressToken, m.params.progress]), [[5, 1], [5, 2], [5, 3]]);
    const all = peer.messages.filter(m => m.method === 'notifications/progress').map(m => m.params.progress);
    assert.ok(all.every((value, i) => i === 0 || value > all[i - 1]), `progress must go up: ${all}`);
});

test('two approvers, each counted once', async t => {
    const peer = t.recorder({ rules: [hold('two', { tool: 'write' }, { approvers: 2 })] });
    const answer = peer.call(1, 'write', { path: '/a' });
    const [{ code, needed }] = await t.pending(1);
    assert.equal(needed, 2);
    t.cli('approve', code, '--as', 'ada');
    t.cli('approve', code, '--as', 'ada');
    const [after] = await t.pending(1);
    assert.deepEqual([after.code, after.given], [code, 1]);
    await peer.ping();
    assert.deepEqual(gotCalls(peer), []);
    assert.equal(t.cli('reply', '--as', 'bob', `y ${code}`).code, 0);
    passed((await answer).message);
});

test('a grant of a session releases every held call of its rule; of scope `call`, only its own', async t => {
    const peer = t.recorder({ rules: [hold('all', { tool: 'write' }), hold('each', { tool: 'read' }, { scope: 'call' })] });
    const writes = [1, 2, 3].map(id => peer.call(id, 'write', { path: `/w${id}` }));
    const reads = [4, 5].map(id => peer.call(id, 'read', { path: `/r${id}` }));
    const held = await t.pending(5);
    t.cli('approve', held.find(request => request.rule === 'all').code);
    for (const answer of writes) passed((await answer).message);
    const left = await t.pending(2);
    assert.deepEqual(new Set(left.map(request => request.rule)), new Set(['each']));
    t.cli('approve', left.find(request => request.input.path === '/r5').code);
    passed((await reads[1]).message);
    await peer.ping();
    assert.deepEqual(peer.answers(4), []);
    passed((await peer.call(6, 'read', { path: '/r5' })).message);
    const [last] = await t.pending(1);
    assert.equal(last.input.path, '/r4');
    t.cli('refuse', last.code);
    assert.equal((await reads[0]).message.result.isError, true);
});

test('at most sixteen wait for a session', async t => {
    const peer = t.recorder({ rules: [hold('ask', { tool: 'write' })] });
    for (let id = 1; id <= 16; id++) peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'write', arguments: { path: `/${id}` } } });
    const [held] = await t.pending(16);
    assert.equal((await peer.call(17, 'write', { path: '/17' })).message.result.isError, true);
    passed((await peer.call(18, 'echo')).message);
    await t.pending(16);
    t.cli('approve', held.code);
    for (let id = 1; id <= 16; id++) passed((await peer.answer(id)).message);
    assert.deepEqual(peer.answers(17).length, 1);
});

test('a link that was turned while the call was held makes a new request', async t => {
    for (const name of ['a', 'b', 'c']) mkdirSync(t.path(name));
    symlinkSync('a', t.path('link'));
    const peer = t.recorder({ rules: [deny('no-c', { pathPrefix: t.path('c') }), hold('ask', { tool: 'write' })] });
    const answer = peer.call(1, 'write', { path: t.path('link/x') });
    const [first] = await t.pending(1);
    assert.deepEqual(first.paths, [t.path('a/x')]);
    unlinkSync(t.path('link'));
    symlinkSync('b', t.path('link'));
    t.cli('approve', first.code);
    const second = await until('a new request', () => {
        const list = JSON.parse(t.cli('pending', '--format', 'json').stdout);
        return list.length === 1 && list[0].code !== first.code ? list[0] : null;
    });
    assert.deepEqual(second.paths, [t.path('b/x')]);
    assert.deepEqual(gotCalls(peer), []);
    // Then it is turned to what is denied: the approval is no leave to go there.
    unlinkSync(t.path('link'));
    symlinkSync('c', t.path('link'));
    t.cli('approve', second.code);
    assert.equal((await answer).message.result.isError, true);
    await peer.ping();
    assert.deepEqual(gotCalls(peer), []);
});

test('held resources/read and prompts/get: an error when refused, the answer when approved', async t => {
    const peer = t.recorder({ rules: [hold('ask', { tool: 'resources/read' }), hold('ask-p', { tool: 'prompts/get' })] });
    const reading = peer.request(1, 'resources/read', { uri: 'demo://x' });
    const prompting = peer.request(2, 'prompts/get', { name: 'p' });
    const held = await t.pending(2);
    t.cli('approve', held.find(request => request.rule === 'ask').code);
    t.cli('refuse', held.find(request => request.rule === 'ask-p').code);
    passed((await reading).message);
    assert.equal(typeof (await prompting).message.error.code, 'number');
    assert.deepEqual(got(peer).map(m => m.method), ['resources/read']);
});

test('a client that ends withdraws what it held', async t => {
    const peer = t.recorder({ rules: [hold('ask', { tool: 'write' })] });
    peer.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write', arguments: { path: '/a' } } });
    const [held] = await t.pending(1);
    assert.deepEqual((await peer.close()).code, 0);
    await t.pending(0);
    assert.equal(t.cli('approve', held.code).code, 1);
    assert.equal(peer.got(), '');
});

test('codes that nobody waits for', async t => {
    const peer = t.recorder({ rules: [hold('ask', { tool: 'write' })] });
    await peer.ping();
    assert.equal(t.cli('approve', 'abcde').code, 1);
    assert.equal(t.cli('refuse', 'abcde').code, 1);
    assert.notEqual(t.cli('approve', 'ab1de').code, 0);
    assert.notEqual(t.cli('approve').code, 0);
    assert.equal(t.cli('pending', '--format', 'json').stdout.trim(), '[]');
});

test('two gates share the approvals: a request of one is approved while the other runs', async t => {
    const rules = [hold('ask', { tool: 'write' })];
    const one = t.recorder({ rules, args: ['--thread', 'one'] });
    const two = t.recorder({ rules, args: ['--thread', 'two'] });
    const first = one.call(1, 'write', { path: '/a' }), second = two.call(1, 'write', { path: '/a' });
    const held = await t.pending(2);
    t.cli('approve', held.find(request => request.thread === 'one').code);
    passed((await first).message);
    // An approval belongs to its session.
    const [left] = await t.pending(1);
    assert.equal(left.thread, 'two');
    await two.ping();
    assert.deepEqual(gotCalls(two), []);
    t.cli('refuse', left.code);
    assert.equal((await second).message.result.isError, true);
});

test('a rule that names a server needs --server', async t => {
    const policy = t.policy([deny('no-write', { server: 'fs', tool: 'write' })]);
    const log = t.path('server.log');
    const without = cli('run', '--policy', policy, '--state', t.state, '--', ...servers.recorder(log));
    assert.equal(without.code, 2);
    assert.match(without.stderr, /--server/);
    assert.equal(without.stdout, '');
    assert.ok(!existsSync(log), 'the server was started');
    const peer = t.recorder({ policy, name: 'fs' });
    assert.equal((await peer.call(1, 'write', { path: '/x' })).message.result.isError, true);
    const other = t.recorder({ policy, name: 'other' });
    passed((await other.call(1, 'write', { path: '/x' })).message);
});

test('actor, roots, remote', async t => {
    mkdirSync(t.path('data'));
    const rules = [deny('no-agent', { actor: 'claude_process', tool: 'write' }), deny('no-secret', { pathPrefix: t.path('data/secret') })];
    const owner = t.recorder({ rules, args: ['--actor', 'session_owner'] });
    passed((await owner.call(1, 'write', { path: '/x' })).message);
    assert.equal((await t.recorder({ rules }).call(1, 'write', { path: '/x' })).message.result.isError, true);
    // A relative path also starts at a directory that the server was given.
    for (const [options, ...given] of [[{ rules }, t.path('data')], [{ rules, args: ['--root', t.path('data')] }]]) {
        const peer = t.recorder(options, ...given);
        assert.equal((await peer.call(1, 'read', { path: 'secret/x' })).message.result.isError, true);
        passed((await peer.call(2, 'read', { path: 'public/x' })).message);
    }
    passed((await t.recorder({ rules }).call(1, 'read', { path: 'secret/x' })).message);
    const remote = t.recorder({ rules, args: ['--remote'] }, t.path('data'));
    passed((await remote.call(1, 'read', { path: t.path('data/secret/x') })).message);
});

test('tiers: an admin file that others can write is refused; a workspace file only tightens, or is left out', async t => {
    const admin = t.policy([deny('admin-no-secret', { tool: 'secret' })], 'admin.json');
    const own = t.policy([{ id: 'own', effect: 'auto_approve', match: { tool: 'secret' } }], 'own.json');
    const tight = t.policy([deny('workspace-no-echo', { tool: 'echo' })], 'tight.json');
    const loose = t.policy([{ id: 'loose', effect: 'auto_approve', match: { tool: 'secret' } }, deny('workspace-no-read', { tool: 'read' })], 'loose.json');
    const command = (...policies) => [callgate, 'run', ...policies.flatMap(policy => ['--policy', policy]), '--state', t.state, '--'];
    const peer = t.raw([...command(own, `admin=${admin}`, `workspace=${tight}`, `workspace=${loose}`), ...servers.recorder(t.path('s.log'))]);
    peer.log = t.path('s.log');
    assert.equal((await peer.call(1, 'secret')).message.result.isError, true);
    assert.equal((await peer.call(2, 'echo')).message.result.isError, true);
    passed((await peer.call(3, 'read', { path: '/x' })).message);
    assert.match(peer.stderr, /loose\.json:\d+:\d+: /);
    chmodSync(admin, 0o664);
    const refused = cli(...command(`admin=${admin}`).slice(1), ...servers.recorder(t.path('r.log')));
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /admin\.json/);
    assert.ok(!existsSync(t.path('r.log')));
});

test('roots that the client tells a file server are judged as places to start from', async t => {
    const [one, two] = ['one', 'two'].map(name => dirname(t.write(`${name}/a.txt`, `in ${name}\n`)));
    t.write('two/secret/key', 'the key\n');
    const rules = [deny('no-secret', { pathPrefix: join(two, 'secret') })];
    const [command, ...args] = t.front(servers.filesystem(one), { rules, name: 'fs' });
    const client = new Client({ name: 'callgate-e2e', version: '1' }, { capabilities: { roots: { listChanged: true } } });
    let roots = [];
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
    await client.connect(new StdioClientTransport({ command, args, stderr: 'pipe', cwd: t.dir }));
    t.cleanup(() => client.close());
    const read = async path => {
        const result = await client.callTool({ name: 'read_text_file', arguments: { path } });
        return result.content[0].text;
    };
    const told = (await client.listTools()).tools.length; // the server asks for roots once it is initialised
    assert.ok(told > 0);
    assert.equal(await read('a.txt'), 'in one\n');
    roots = [{ uri: `file://${two}` }];
    await client.sendRootsListChanged();
    await until('the server has the root', async () => (await read('a.txt')) === 'in two\n');
    assert.doesNotMatch(await read('secret/key'), /the key/);
    assert.doesNotMatch(await read('secret/none'), /ENOENT|outside/, 'the gate, not the server, should have said no');
    assert.ok(t.events().some(event => event.kind === 'mcp.roots'));
    assert.ok(t.events().some(event => event.kind === 'policy.deny' && event.ruleId === 'no-secret' && event.input.path === 'secret/key'));
});

test('the real filesystem server: every spelling of a traversal ends in a denial', async t => {
    mkdirSync(t.path('files/sub'), { recursive: true });
    writeFileSync(t.path('files/a.txt'), 'fine\n');
    writeFileSync(t.path('secret.txt'), 'TOP SECRET\n');
    symlinkSync('../secret.txt', t.path('files/link'));
    symlinkSync('..', t.path('files/up'));
    const files = t.path('files');
    const rules = [
        { id: 'files', effect: 'auto_approve', match: { pathPrefix: files } },
        deny('nothing-else', { pathPrefix: '/' })];
    const [command, ...args] = t.front(servers.filesystem(files), { rules, name: 'fs' });
    const client = new Client({ name: 'callgate-e2e', version: '1' });
    await client.connect(new StdioClientTransport({ command, args, stderr: 'pipe', cwd: t.dir }));
    t.cleanup(() => client.close());
    const read = path => client.callTool({ name: 'read_text_file', arguments: { path } });
    assert.equal((await read(join(files, 'a.txt'))).content[0].text, 'fine\n');
    assert.equal((await read(`${files}//sub/.././a.txt`)).content[0].text, 'fine\n');
    const denied = await read('/etc/passwd');
    assert.equal(denied.isError, true);
    assert.doesNotMatch(JSON.stringify(denied), /Access denied|outside/, 'the gate, not the server, should have said no');
    for (const path of ['../secret.txt', `${files}/../secret.txt`, `${files}/sub/../../secret.txt`, `${files}/none/../../secret.txt`,
        `${files}/link`, `${files}/up/secret.txt`, `${files}/sub/../up/secret.txt`, `${files}/./../secret.txt`, `${files}/..//secret.txt`,
        t.path('secret.txt'), `/proc/self/root${t.path('secret.txt')}`, `/proc/self/cwd/secret.txt`, '~/x', `file://${t.path('secret.txt')}`,
        `file://${files}/%2e%2e/secret.txt`, `FILE:${t.path('secret.txt')}`, `${files}/a.txt\u0000`, `//${t.path('secret.txt')}`,
        `${files}/a.txt/../../secret.txt`, '', '/', '.', '..']) {
        assert.deepEqual(await read(path), denied, JSON.stringify(path));
    }
    for (const [name, input] of [['read_multiple_files', { paths: [`${files}/a.txt`, `${files}/../secret.txt`] }],
        ['move_file', { source: `${files}/a.txt`, destination: `${files}/../b.txt` }], ['directory_tree', { path: t.dir }],
        ['search_files', { path: t.dir, pattern: '*' }], ['write_file', { path: `${files}/up/new.txt`, content: 'x' }]]) {
        assert.deepEqual(await client.callTool({ name, arguments: input }), denied, name);
    }
    assert.equal(readFileSync(t.path('secret.txt'), 'utf8'), 'TOP SECRET\n');
    assert.ok(!existsSync(t.path('new.txt')) && !existsSync(t.path('b.txt')));
});

await run();
