// The permission relay against the host's side, played with the official SDK and, where bytes count, by hand.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { writeFileSync } from 'node:fs';
import { assert, callgate, cli, run, test, until } from './lib.mjs';

const REQUEST = 'notifications/claude/channel/permission_request';
const VERDICT = 'notifications/claude/channel/permission';

// Rules that can be judged without the input, one that cannot, one that asks two people.
const rules = [
    { id: 'no-push', effect: 'deny', match: { server: 'git', tool: 'push' }, reason: 'not from here' },
    { id: 'no-secrets', effect: 'deny', match: { tool: 'Read', pathComponent: '.env' }, reason: 'secrets' },
    { id: 'reads', effect: 'auto_approve', match: { tool: 'Read' } },
    { id: 'searches', effect: 'auto_approve', match: { tool: 'WebSearch' } },
    { id: 'no-fetch', effect: 'deny', match: { tool: 'WebFetch' }, reason: 'no' },
    { id: 'ask-bash', effect: 'require_approval', match: { tool: 'Bash' }, scope: 'call' },
    { id: 'ask-edits', effect: 'require_approval', match: { tool: 'Edit' }, ttlMs: 600000 },
    { id: 'two', effect: 'require_approval', match: { tool: 'Deploy' }, approvers: 2, scope: 'call' },
    { id: 'status', effect: 'auto_approve', match: { server: 'git', tool: 'status' } },
];

const command = (t, { policy = t.policy(rules), state = t.state, args = [] } = {}) =>
    [callgate, 'relay', '--policy', policy, '--state', state, ...args];

const asked = (request_id, tool_name, input_preview = '{}', description = 'what for') =>
    ({ jsonrpc: '2.0', method: REQUEST, params: { request_id, tool_name, description, input_preview } });

const verdict = (id, behavior) =>
    `{"jsonrpc":"2.0","method":"${VERDICT}","params":{"request_id":"${id}","behavior":"${behavior}"}}`;

// The host: an SDK client that keeps every verdict.
class Host {
    verdicts = [];
    constructor(t, options) {
        this.t = t;
        const [program, ...args] = command(t, options);
        this.transport = new StdioClientTransport({ command: program, args, stderr: 'pipe' });
        this.client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: {} });
        this.client.fallbackNotificationHandler = async ({ method, params }) => this.verdicts.push({ method, params });
    }
    async open() {
        await this.client.connect(this.transport);
        this.transport.stderr.resume();
        this.t.cleanup(() => this.client.close());
        return this;
    }
    ask(...words) {
        const { method, params } = asked(...words);
        return this.client.notification({ method, params });
    }
    of(id) {
        return this.verdicts.filter(({ params }) => params.request_id === id);
    }
    // The one verdict of a request, exactly as it must be.
    async get(id, behavior) {
        await until(`the verdict of ${id}`, () => this.of(id).length);
        assert.deepEqual(this.of(id), [{ method: VERDICT, params: { request_id: id, behavior } }]);
        assert.deepEqual(Object.keys(this.of(id)[0].params), ['request_id', 'behavior']);
    }
    // What was sent before has been dealt with, and this many verdicts are all there are.
    async settled(count) {
        await this.client.ping();
        assert.equal(this.verdicts.length, count, JSON.stringify(this.verdicts));
    }
}

const host = (t, options) => new Host(t, options).open();

function raw(t, options) {
    const peer = t.raw(command(t, options));
    peer.verdicts = () => peer.lines.map(String).filter(line => line.includes(VERDICT));
    return peer;
}

const kinds = t => t.events().map(event => event.kind);
const count = (t, kind) => kinds(t).filter(each => each === kind).length;
const waiting = t => JSON.parse(t.cli('pending', '--format', 'json').stdout);

async function pending(t, code) {
    return await until(`${code} waits`, () => waiting(t).find(each => each.code === code));
}

function answered(t, words, code, text) {
    const done = t.cli(...words);
    assert.equal(done.code, code, `${words.join(' ')}: ${done.stdout}${done.stderr}`);
    if (text) assert.match(done.stdout + done.stderr, text);
}

test('it is a channel with the relay, of the era that begins with initialize', async t => {
    const { client } = await host(t);
    assert.deepEqual(client.getServerCapabilities(),
        { experimental: { 'claude/channel': {}, 'claude/channel/permission': {} }, tools: {} });
    assert.deepEqual((await client.listTools()).tools, []);
    await assert.rejects(client.callTool({ name: 'x', arguments: {} }), { code: -32602 });
    const peer = raw(t);
    for (const [id, method] of [[1, 'server/discover'], ['two', 'resources/list'], [3, 'tools/call/x']]) {
        const { message } = await peer.request(id, method, {});
        assert.equal(message.error.code, -32601, method);
    }
    for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28', 'x']) {
        const { message } = await peer.request(`v${version}`, 'initialize',
            { protocolVersion: version, capabilities: {}, clientInfo: { name: 'x', version: '1' } });
        assert.equal(message.result.protocolVersion, version < '2026' ? version : '2025-11-25');
    }
});

test('rules that need no input answer at once', async t => {
    const h = await host(t);
    await h.ask('aaaaa', 'WebSearch');
    await h.get('aaaaa', 'allow');
    await h.ask('bbbbb', 'WebFetch', '{"url":"https://example.org"}');
    await h.get('bbbbb', 'deny');
    await h.ask('ccccc', 'mcp__git__push', '{}');
    await h.get('ccccc', 'deny');
    await h.ask('ddddd', 'mcp__git__status', '{}');
    await h.get('ddddd', 'allow');
    await h.settled(4);
    assert.deepEqual(waiting(t), []);
    assert.equal(count(t, 'policy.allow'), 2);
    assert.equal(count(t, 'policy.deny'), 2);
    assert.equal(count(t, 'policy.deny.context_stripped'), 2);
});

test('verdicts, byte for byte', async t => {
    const peer = raw(t);
    peer.send(asked('aaaaa', 'WebSearch'));
    peer.send(asked('bcdef', 'WebFetch'));
    peer.send(asked('ABcde', 'WebSearch')); // the host's own spelling comes back
    await peer.ping();
    assert.deepEqual(peer.verdicts(), [verdict('aaaaa', 'allow'), verdict('bcdef', 'deny'), verdict('ABcde', 'allow')]);
    assert.deepEqual(await peer.close(), { code: 0, signal: null });
});

test('everything else goes before people, under the host\'s code', async t => {
    const h = await host(t);
    // A path decides before the rule that would allow; a tool that no rule names; a name that splits.
    const previews = [['aaaaa', 'Read', '{"file_path":"/x/.env"}'], ['bbbbb', 'TodoWrite', '{"todos":"⋯ 7 code points elided ⋯"}'],
        ['ccccc', 'mcp__git__x__push', 'not even JSON'], ['ddddd', 'Bash', '{"command":"make"}']];
    for (const words of previews) await h.ask(...words);
    await h.settled(0);
    const list = waiting(t);
    assert.deepEqual(list.map(each => each.code), ['aaaaa', 'bbbbb', 'ccccc', 'ddddd']);
    for (const [index, [, , preview]] of previews.entries()) assert.equal(list[index].input, preview);
    assert.deepEqual(list.map(each => [each.rule, each.scope, each.needed, each.paths]),
        [['no-secrets', 'call', 1, []], ['default', 'call', 1, []], ['default', 'call', 1, []], ['ask-bash', 'call', 1, []]]);
    answered(t, ['approve', 'aaaaa', '--as', 'ada'], 0, /approved/);
    answered(t, ['approve', 'ddddd', '--as', 'ada'], 0);
    answered(t, ['refuse', 'bbbbb', '--as', 'ada'], 0, /refused/);
    answered(t, ['approve', 'ccccc', '--as', 'ada'], 0);
    await h.get('aaaaa', 'allow');
    await h.get('bbbbb', 'deny');
    await h.get('ccccc', 'allow');
    await h.get('ddddd', 'allow');
    await h.settled(4);
    // Of an unknown input nobody can say that it is the same call: each is asked about.
    await h.ask('eeeee', 'Read', '{"file_path":"/x/.env"}');
    await h.ask('fffff', 'Bash', '{"command":"make"}');
    await h.settled(4);
    assert.deepEqual(waiting(t).map(each => each.code), ['eeeee', 'fffff']);
});

test('an approval of a session holds for the next request of the rule', async t => {
    const h = await host(t);
    await h.ask('aaaaa', 'Edit');
    await h.ask('bbbbb', 'Edit'); // waits as well, and is released with the first
    await h.settled(0);
    answered(t, ['approve', 'aaaaa', '--as', 'ada'], 0);
    await h.get('aaaaa', 'allow');
    await h.get('bbbbb', 'allow');
    await h.ask('ccccc', 'Edit');
    await h.get('ccccc', 'allow');
    await h.settled(3);
    const other = await host(t);
    await other.ask('ddddd', 'Edit'); // another session does not inherit it
    await other.settled(0);
    await pending(t, 'ddddd');
});

test('a quorum: each person once, one refusal ends it', async t => {
    const h = await host(t);
    await h.ask('aaaaa', 'Deploy');
    await pending(t, 'aaaaa');
    answered(t, ['approve', 'aaaaa', '--as', 'ada'], 0, /1 of 2/);
    answered(t, ['approve', 'aaaaa', '--as', 'ada'], 1, /answered this request already/);
    answered(t, ['reply', '--as', 'ada', 'yes aaaaa'], 1);
    await h.settled(0);
    assert.equal(waiting(t)[0].given, 1);
    answered(t, ['reply', '--as', 'bob', 'y aaaaa'], 0, /approved/);
    await h.get('aaaaa', 'allow');
    await h.ask('bbbbb', 'Deploy');
    await pending(t, 'bbbbb');
    answered(t, ['approve', 'bbbbb', '--as', 'ada'], 0);
    answered(t, ['reply', '--as', 'bob', 'n bbbbb'], 0, /refused/);
    await h.get('bbbbb', 'deny');
    answered(t, ['reply', '--as', 'eve', 'y bbbbb'], 1, /waits no longer: it was refused/);
    await h.settled(2);
    assert.equal(count(t, 'approval.vote'), 4);
    const dropped = t.events().filter(event => event.kind === 'approval.dropped');
    assert.deepEqual(dropped.map(({ detail }) => [detail.code, detail.by, detail.answer, detail.reason]), [
        ['aaaaa', 'ada', 'yes', 'this person has answered already'], ['aaaaa', 'ada', 'yes', 'this person has answered already'],
        ['bbbbb', 'eve', 'yes', 'no such request waits']]);
});

test('text replies: what has the form of one is consumed', async t => {
    const h = await host(t);
    for (const id of ['aaaaa', 'bbbbb', 'ccccc', 'mnopq']) await h.ask(id, 'Bash');
    await pending(t, 'mnopq');
    answered(t, ['reply', '--as', 'ada', '  Y\tAAAAA \n'], 0, /approved/);
    answered(t, ['reply', '--as', 'ada', 'no bbbbb'], 0, /refused/);
    answered(t, ['reply', '--as', 'ada', 'YES mnopq'], 0);
    for (const text of ['y aaaal', 'y aaaa', 'y aaaaaa', 'yes, aaaaa', 'yep ccccc', 'y ccccc now', 'ccccc', 'yccccc', ''])
        answered(t, ['reply', '--as', 'ada', text], 3);
    answered(t, ['reply', '--as', 'ada', 'y zzzzz'], 1); // no such request, and yet no text for the agent
    await h.get('aaaaa', 'allow');
    await h.get('bbbbb', 'deny');
    await h.get('mnopq', 'allow');
    await h.settled(3);
    assert.deepEqual(waiting(t).map(each => each.code), ['ccccc']);
});

test('late and second answers are dropped and recorded: one verdict for each request', async t => {
    const h = await host(t);
    await h.ask('aaaaa', 'Bash');
    await pending(t, 'aaaaa');
    answered(t, ['reply', '--as', 'ada', 'n aaaaa'], 0);
    await h.get('aaaaa', 'deny');
    answered(t, ['reply', '--as', 'bob', 'y aaaaa'], 1);
    answered(t, ['approve', 'aaaaa', '--as', 'bob'], 1);
    await h.ask('aaaaa', 'WebSearch'); // the host's id again: it had its answer
    await h.ask('bbbbb', 'Bash');
    await pending(t, 'bbbbb');
    await h.ask('bbbbb', 'WebSearch'); // and one that waits
    await h.settled(1);
    answered(t, ['approve', 'bbbbb', '--as', 'ada'], 0);
    await h.get('bbbbb', 'allow');
    await h.settled(2);
    assert.equal(count(t, 'approval.dropped'), 2);
    const dropped = t.events().filter(event => event.kind === 'relay.dropped');
    assert.deepEqual(dropped.map(event => event.detail.request), ['aaaaa', 'bbbbb']);
});

test('malformed requests: denied if they can be named, recorded in any case', async t => {
    const peer = raw(t);
    const params = asked('aaaaa', 'WebSearch').params;
    const without = key => Object.fromEntries(Object.entries(params).filter(([name]) => name !== key));
    const ids = [...'abcdefgh'].map(letter => letter.repeat(5));
    const broken = [without('tool_name'), without('description'), without('input_preview'), { ...params, tool_name: '' },
        { ...params, tool_name: 7 }, { ...params, description: null }, { ...params, input_preview: { command: 'x' } },
        { ...params, tool_name: ['WebSearch'] }];
    for (const [index, each] of broken.entries())
        peer.send({ jsonrpc: '2.0', method: REQUEST, params: { ...each, request_id: ids[index] } });
    await peer.ping();
    assert.deepEqual(peer.verdicts(), ids.map(id => verdict(id, 'deny')));
    assert.equal(count(t, 'policy.deny'), ids.length);
    // No id that a verdict could name.
    for (const request_id of [undefined, 7, '', 'aaaal', 'aaaa', 'aaaaaa', 'aa aa', 'ääääa'.slice(0, 5), 'aaaa\u0000'])
        peer.send({ jsonrpc: '2.0', method: REQUEST, params: { ...params, request_id } });
    for (const each of [undefined, null, [], 'aaaaa']) peer.send({ jsonrpc: '2.0', method: REQUEST, params: each });
    // No message at all; a repeated member; a member more; a byte order mark; a response; a batch.
    const lines = ['{', '', '   ', 'x', '[]', '7', `{"jsonrpc":"2.0","method":"${REQUEST}","params":{"request_id":"jjjjj","request_id":"jjjjj"}}`,
        '\ufeff{}', '{"jsonrpc":"2.0","id":9,"result":{}}', JSON.stringify([asked('kkkkk', 'WebSearch')])];
    for (const line of lines) peer.send(line + '\n');
    peer.send(Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff]), Buffer.from('"}\n')]));
    await peer.ping();
    assert.equal(peer.verdicts().length, ids.length);
    peer.send({ ...asked('mmmmm', 'WebSearch'), more: 1, params: { ...params, request_id: 'mmmmm', more: {} } });
    await peer.ping('later');
    assert.equal(peer.verdicts().at(-1), verdict('mmmmm', 'allow'), 'what is new in the message loses no verdict');
});

test('a line over the limit is read past', async t => {
    const peer = raw(t);
    const piece = Buffer.alloc(1 << 20, 'x');
    peer.send(`{"jsonrpc":"2.0","method":"${REQUEST}","params":{"request_id":"aaaaa","tool_name":"`);
    for (let i = 0; i < 18; i++) peer.send(piece);
    peer.send('"}}\n');
    peer.send(asked('bbbbb', 'WebSearch'));
    await peer.ping();
    assert.deepEqual(peer.verdicts(), [verdict('bbbbb', 'allow')]);
    assert.equal(count(t, 'relay.dropped'), 1);
}, { timeout: 60_000 });

test('a name that splits in too many ways is denied', async t => {
    const h = await host(t);
    await h.ask('aaaaa', 'mcp__' + '_'.repeat(5000));
    await h.get('aaaaa', 'deny');
    await h.ask('bbbbb', 'mcp__a___push');
    await h.settled(1);
    await pending(t, 'bbbbb');
});

test('an id that waits already in another session: another code, the verdict under the host\'s', async t => {
    const one = await host(t), two = await host(t);
    await one.ask('aaaaa', 'Bash', '{"command":"one"}');
    await pending(t, 'aaaaa');
    await two.ask('aaaaa', 'Bash', '{"command":"two"}');
    const [first, second] = await t.pending(2);
    assert.equal(first.code, 'aaaaa');
    assert.notEqual(second.code, 'aaaaa');
    assert.match(second.code, /^[a-km-z]{5}$/);
    assert.equal(second.input, '{"command":"two"}');
    answered(t, ['reply', '--as', 'ada', `y ${second.code}`], 0);
    await two.get('aaaaa', 'allow');
    await one.settled(0);
    answered(t, ['reply', '--as', 'ada', 'n aaaaa'], 0);
    await one.get('aaaaa', 'deny');
    await two.settled(1);
});

test('many wait at once, each gets its own verdict; one more than 16 is denied', async t => {
    const h = await host(t);
    const ids = [...'abcdefghijkmnopq'].map(letter => letter.repeat(5));
    for (const id of ids) await h.ask(id, 'Bash', `{"command":"${id}"}`);
    await t.pending(16);
    await h.ask('zzzzz', 'Bash');
    await h.get('zzzzz', 'deny');
    for (const [index, id] of [...ids].reverse().entries())
        answered(t, ['reply', '--as', 'ada', `${index % 2 ? 'y' : 'n'} ${id}`], 0);
    for (const [index, id] of [...ids].reverse().entries()) await h.get(id, index % 2 ? 'allow' : 'deny');
    await h.settled(17);
});

test('the host goes, or ends the relay: what waits is withdrawn', async t => {
    const peer = raw(t);
    peer.send(asked('aaaaa', 'Bash'));
    await pending(t, 'aaaaa');
    assert.deepEqual(await peer.close(), { code: 0, signal: null });
    assert.deepEqual(waiting(t), []);
    answered(t, ['approve', 'aaaaa', '--as', 'ada'], 1);
    const other = raw(t);
    other.send(asked('bbbbb', 'Bash'));
    await pending(t, 'bbbbb');
    other.child.kill('SIGTERM');
    assert.deepEqual(await other.exit, { code: 0, signal: null });
    assert.deepEqual(waiting(t), []);
    assert.equal(count(t, 'approval.withdrawn'), 2);
    assert.deepEqual([...peer.verdicts(), ...other.verdicts()], []);
});

test('killed and started again: nothing is answered twice, nothing that was approved for the old one is allowed', async t => {
    const args = ['--channel', 'relay', '--thread', 'the-same'];
    const peer = raw(t, { args });
    peer.send(asked('aaaaa', 'Bash'));
    peer.send(asked('bbbbb', 'Edit'));
    await t.pending(2);
    peer.child.kill('SIGKILL');
    await peer.exit;
    const h = await host(t, { args });
    assert.deepEqual(waiting(t), [], 'what the killed one held is withdrawn');
    answered(t, ['approve', 'aaaaa', '--as', 'ada'], 1, /the call is gone/);
    await h.settled(0);
    await h.ask('aaaaa', 'Bash');
    const [again] = await t.pending(1);
    assert.equal(again.code, 'aaaaa', 'the code is free again');
    await h.settled(0);
    answered(t, ['refuse', 'aaaaa', '--as', 'ada'], 0);
    await h.get('aaaaa', 'deny');
    await h.settled(1);
});

test('a policy that is loaded anew decides what comes next', async t => {
    const policy = t.policy(rules);
    const peer = raw(t, { policy });
    peer.send(asked('aaaaa', 'WebSearch'));
    peer.send(asked('bbbbb', 'Bash'));
    await pending(t, 'bbbbb');
    writeFileSync(policy, JSON.stringify([{ id: 'no', effect: 'deny', match: { tool: 'WebSearch' }, reason: 'no' }, ...rules.filter(rule => rule.id !== 'ask-bash'),
        { id: 'no-bash', effect: 'deny', match: { tool: 'Bash' }, reason: 'no' }]));
    answered(t, ['reload'], 0);
    peer.send(asked('ccccc', 'WebSearch'));
    answered(t, ['approve', 'bbbbb', '--as', 'ada'], 0); // judged anew when it is approved: a deny by now
    await peer.wait('three verdicts', () => peer.verdicts().length === 3);
    assert.deepEqual(peer.verdicts(), [verdict('aaaaa', 'allow'), verdict('ccccc', 'deny'), verdict('bbbbb', 'deny')]);
});

test('a long session does not run out of answers', async t => {
    const peer = raw(t);
    const letters = 'abcdefghijkmnopqrstuvwxyz';
    const id = n => [0, 1, 2, 3, 4].map(at => letters[Math.floor(n / 25 ** at) % 25]).join('');
    peer.send(asked(id(0), 'Bash')); // waits all the time, and is not forgotten
    for (let n = 1; n <= 4200; n++) peer.send(asked(id(n), 'WebSearch'));
    await peer.wait('4200 verdicts', () => peer.verdicts().length === 4200, 60_000);
    assert.equal(peer.verdicts().filter(line => line.endsWith('"allow"}}')).length, 4200);
    answered(t, ['approve', id(0), '--as', 'ada'], 0);
    await peer.wait('the last', () => peer.verdicts().length === 4201);
    assert.equal(peer.verdicts().at(-1), verdict(id(0), 'allow'));
}, { timeout: 120_000 });

test('without a policy it does not start', async t => {
    const done = cli('relay', '--policy', t.path('none.json'), '--state', t.state);
    assert.equal(done.code, 2);
    assert.equal(done.stdout, '');
});

await run();
