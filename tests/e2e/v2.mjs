// SDK v2: client and server of the 2026-07-28 era get the same answers with the gate as without, and so do
// clients and servers of different eras. Denials and approvals work in the new era too.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { mkdirSync } from 'node:fs';
import { assert, run, servers, skip, test, until, via } from './lib.mjs';
import { both } from './same.mjs';

async function connect(t, command, { mode = { pin: '2026-07-28' }, tap = x => x, asked = [], note = () => {}, cwd } = {}) {
    const [program, ...args] = command;
    const transport = tap(new StdioClientTransport({ command: program, args, stderr: 'pipe', cwd }));
    transport.stderr?.resume();
    const client = new Client({ name: 'callgate-e2e', version: '1.0.0' }, {
        capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
        versionNegotiation: { mode, probe: { timeoutMs: 10_000 } },
    });
    client.setRequestHandler('elicitation/create', request => {
        asked.push(request.params);
        const colour = request.params.requestedSchema?.properties?.colour;
        return { action: 'accept', content: colour ? { colour: 'blue' } : { sure: true } };
    });
    client.setRequestHandler('sampling/createMessage', request => {
        asked.push(request.params);
        return { role: 'assistant', model: 'test', content: { type: 'text', text: 'sampled' } };
    });
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///srv', name: 'srv' }] }));
    await client.connect(transport);
    t.cleanup(() => client.close());
    note('connected', { version: client.getNegotiatedProtocolVersion?.(), server: client.getServerVersion(),
        capabilities: client.getServerCapabilities(), instructions: client.getInstructions() });
    return client;
}

function session(t, s, options) {
    s.asked = [];
    return connect(t, s.command, { tap: x => s.tap(x), asked: s.asked, note: (name, what) => s.note(name, what), cwd: s.dir, ...options });
}

async function script(s, client, era) {
    const call = (name, args, label = '', options) => s.step(`call ${name} ${label}`, () => client.callTool({ name, arguments: args }, options));
    await s.step('tools/list', () => client.listTools());
    await call('add', { a: 2, b: 0.5 });
    await call('add', { a: 'x' }, 'wrong');
    await call('fail', {});
    await call('nobody', {}, 'unknown');
    await call('deploy', { where: 'moon' });
    await call('sample', {});
    // What the client's handler sees of it is a matter of the SDK's timing: the wire is compared.
    await call('steps', { steps: 4 }, 'with progress', { onprogress: () => {} });
    await call('steps', { steps: 2 }, 'without');
    const stop = new AbortController();
    await call('steps', { steps: 100, ms: 5 }, 'cancelled', { signal: stop.signal, onprogress: () => stop.abort('enough') });
    await s.step('resources/list', () => client.listResources());
    await s.step('resources/templates/list', () => client.listResourceTemplates());
    await s.step('resources/read', () => client.readResource({ uri: 'test://one' }));
    await s.step('resources/read template', () => client.readResource({ uri: 'test://many/7' }));
    await s.step('resources/read unknown', () => client.readResource({ uri: 'test://none' }));
    await s.step('prompts/list', () => client.listPrompts());
    await s.step('prompts/get', () => client.getPrompt({ name: 'greet', arguments: { who: 'Zoë' } }));
    await s.step('prompts/get that asks', () => client.getPrompt({ name: 'ask' }));
    await s.step('completion of a prompt', () => client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'x' } }));
    await s.step('completion of a resource', () => client.complete({ ref: { type: 'ref/resource', uri: 'test://many/{n}' }, argument: { name: 'n', value: '4' } }));
    if (era === 'modern') {
        const heard = [];
        client.setNotificationHandler('notifications/tools/list_changed', n => { heard.push(n.method); });
        const listening = await client.listen({ toolsListChanged: true });
        await call('grow', {});
        await until('the change of the list', () => heard.length > 0);
        await listening.close();
        await call('grown', {});
        await s.step('tools/list at the end', () => client.listTools());
    } else {
        await s.step('ping', () => client.ping());
    }
    s.note('what the server asked', s.asked);
}

// After a cancellation, how far the server came is chance.
const loose = m => m.method === 'notifications/progress' && m.params.total === 100;

for (const [name, mode, era] of [
    ['v2 client pinned to 2026-07-28, v2 server', { pin: '2026-07-28' }, 'modern'],
    ['v2 client in auto mode, v2 server', 'auto', 'modern'],
    ['v2 client in legacy mode, v2 server', 'legacy', 'legacy'],
]) {
    test(name, async t => {
        for (const side of ['without', 'withgate']) mkdirSync(t.path(side));
        await both(t, servers.v2, async s => await script(s, await session(t, s, { mode }), era), { loose });
    });
}

test('v2 client in auto mode, legacy server (server-everything)', async t => {
    for (const side of ['without', 'withgate']) mkdirSync(t.path(side));
    await both(t, servers.everything, async s => {
        const client = await session(t, s, { mode: 'auto' });
        await s.heard('the roots to be asked for', m => m.method === 'notifications/message' && /Roots updated/.test(m.params.data));
        await s.step('tools/list', () => client.listTools());
        for (const [name, args] of [['echo', { message: 'hi' }], ['get-sum', { a: 1, b: 2 }], ['get-roots-list', {}],
            ['trigger-sampling-request', { prompt: 'x' }], ['trigger-elicitation-request', {}]]) {
            await s.step(`call ${name}`, () => client.callTool({ name, arguments: args }));
        }
        await s.step('resources/read', () => client.readResource({ uri: 'demo://resource/dynamic/text/1' }));
        await s.step('prompts/get', () => client.getPrompt({ name: 'args-prompt', arguments: { city: 'Bonn' } }));
        await s.step('subscribe', () => client.subscribeResource({ uri: 'demo://resource/dynamic/text/1' }));
        s.note('what the server asked', s.asked);
    });
});

const need = () => via === 'gate' || skip('needs the gate');
const texts = answer => answer.content.map(item => item.text).join('\n');

test('2026-07-28: a denied call is a complete result that says nothing', async t => {
    need();
    const client = await connect(t, t.front(servers.v2(), { rules: [
        { id: 'no-adding', effect: 'deny', match: { tool: 'add' }, reason: 'sums are secret' },
        { id: 'no-reading', effect: 'deny', match: { tool: 'resources/read' }, reason: 'reading is secret' },
        { id: 'no-prompts', effect: 'deny', match: { tool: 'prompts/get' }, reason: 'prompts are secret' },
        { id: 'no-completion', effect: 'deny', match: { tool: 'completion/complete' }, reason: 'completion is secret' }] }));
    const one = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
    assert.equal(one.isError, true);
    assert.doesNotMatch(JSON.stringify(one), /secret|no-adding|sum/);
    assert.deepEqual(await client.callTool({ name: 'add', arguments: { a: 3, b: 4 } }), one);
    assert.equal(texts(await client.callTool({ name: 'steps', arguments: { steps: 1 } })), '1 steps');
    const errors = [];
    for (const ask of [() => client.readResource({ uri: 'test://one' }), () => client.readResource({ uri: 'test://many/1' }),
        () => client.getPrompt({ name: 'greet', arguments: { who: 'x' } }),
        () => client.complete({ ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'x' } })]) {
        await assert.rejects(ask, error => { errors.push(`${error.code} ${error.message}`); return true; });
    }
    assert.equal(errors[0], errors[1]);
    assert.doesNotMatch(errors.join(), /secret|no-|test:|greet/);
});

test('2026-07-28: a held call with questions of the server in it', async t => {
    need();
    const client = await connect(t, t.front(servers.v2(), { rules: [
        { id: 'ask-first', effect: 'require_approval', match: { tool: 'deploy' } }] }));
    const answer = client.callTool({ name: 'deploy', arguments: { where: 'moon' } });
    const [held] = await t.pending(1);
    assert.deepEqual([held.rule, held.tool, held.input], ['ask-first', 'deploy', { where: 'moon' }]);
    assert.equal(t.cli('approve', held.code).code, 0);
    // Both retries are calls of the same rule and session: the one approval covers them.
    assert.equal(texts(await answer), 'deployed to moon, true');
    const kinds = t.events().filter(event => event.toolName === 'deploy').map(event => event.kind);
    assert.equal(kinds.filter(kind => kind === 'policy.allow').length, 3, `each retry is judged anew: ${kinds}`);
});

test('2026-07-28: retries with inputResponses are judged anew', async t => {
    need();
    // With scope `call` each retry that looks different to the policy is asked for again; arguments are the same here,
    // so only the call's hash counts, and it covers actor, input, session and tool.
    const client = await connect(t, t.front(servers.v2(), { rules: [
        { id: 'ask-each', effect: 'require_approval', match: { tool: 'deploy' }, scope: 'call' }] }));
    const first = client.callTool({ name: 'deploy', arguments: { where: 'moon' } });
    const [held] = await t.pending(1);
    assert.equal(held.scope, 'call');
    assert.equal(t.cli('approve', held.code).code, 0);
    assert.equal(texts(await first), 'deployed to moon, true');
    const other = client.callTool({ name: 'deploy', arguments: { where: 'mars' } });
    const [again] = await t.pending(1);
    assert.deepEqual(again.input, { where: 'mars' });
    assert.equal(t.cli('refuse', again.code).code, 0);
    assert.equal((await other).isError, true);
});

await run();
