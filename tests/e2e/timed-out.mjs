// Fifteen minutes without an answer, and a surface's own deadline before that: the clocks are put forward by a library.
import { openSync, writeSync } from 'node:fs';
import { assert, callgate, run, skip, test, under, until, via } from './lib.mjs';

const ask = [{ id: 'ask', effect: 'require_approval', match: { tool: 'Bash' }, scope: 'call' },
    { id: 'ask-echo', effect: 'require_approval', match: { tool: 'echo' }, scope: 'call' }];
const MINUTES = 60_000;

// The clocks of the processes that are started with `env`.
function clock(t) {
    if (under || via !== 'gate') skip('the library stands before no other');
    const file = openSync(t.write('clock', Buffer.alloc(8)), 'r+');
    return {
        env: { ...process.env, LD_PRELOAD: t.clock, CALLGATE_TEST_CLOCK: t.path('clock') },
        ahead: ms => writeSync(file, new BigInt64Array([BigInt(ms)]), 0, 8, 0),
    };
}

const kinds = t => t.events().map(event => event.kind).filter(kind => kind.startsWith('approval.'));
const denials = t => t.events().filter(event => event.kind === 'policy.deny').map(event => [event.ruleId, event.reason]);
const ended = t => until('the end of the request', () => kinds(t).includes('approval.timed_out'));

// What people say after the end counts for nothing, and is in the journal.
function late(t, request) {
    const event = t.events().find(each => each.kind === 'approval.timed_out');
    assert.equal(event.detail.code, request.code);
    assert.equal(event.detail.given, 0);
    assert.deepEqual(JSON.parse(t.cli('pending', '--format', 'json').stdout), []);
    assert.equal(t.cli('approve', request.code, '--as', 'ada').code, 1);
    assert.equal(t.cli('reply', '--as', 'ada', `y ${request.code}`).code, 1);
    assert.deepEqual(kinds(t), ['approval.timed_out', 'approval.dropped', 'approval.dropped']);
    for (const { detail } of t.events().filter(each => each.kind === 'approval.dropped'))
        assert.deepEqual([detail.code, detail.by, detail.answer, detail.reason], [request.code, 'ada', 'yes', 'no such request waits']);
    assert.deepEqual(denials(t), [[request.rule, 'not approved in time']]);
}

test('the relay: denied after fifteen minutes, once, and the late answer is dropped', async t => {
    const time = clock(t);
    const peer = t.raw([callgate, 'relay', '--policy', t.policy(ask), '--state', t.state], { env: time.env });
    const verdicts = () => peer.lines.map(String).filter(line => line.includes('"behavior"'));
    peer.send({ jsonrpc: '2.0', method: 'notifications/claude/channel/permission_request',
        params: { request_id: 'aaaaa', tool_name: 'Bash', description: 'Build', input_preview: '{"command":"make"}' } });
    const [request] = await t.pending(1);
    assert.equal(request.code, 'aaaaa');
    time.ahead(14 * MINUTES);
    await peer.ping();
    assert.deepEqual([verdicts(), (await t.pending(1))[0].code], [[], 'aaaaa']);
    time.ahead(15 * MINUTES);
    await peer.wait('the verdict', () => verdicts().length);
    late(t, request);
    await peer.ping();
    assert.deepEqual(verdicts(), [
        '{"jsonrpc":"2.0","method":"notifications/claude/channel/permission","params":{"request_id":"aaaaa","behavior":"deny"}}']);
});

test('run: denied after fifteen minutes, and the late answer is dropped', async t => {
    const time = clock(t);
    const peer = t.recorder({ rules: ask, args: ['--hold-for', '3600'], spawn: { env: time.env } });
    const answer = peer.call(1, 'echo', { message: 'x' });
    const [request] = await t.pending(1);
    time.ahead(15 * MINUTES);
    const { message } = await answer;
    assert.equal(message.result.isError, true);
    late(t, request);
    assert.doesNotMatch(peer.got(), /"echo"/);
});

// A host's message: nobody is asked in this mode but by us.
const message = t => JSON.stringify({ session_id: 's', cwd: t.dir, hook_event_name: 'PreToolUse', permission_mode: 'bypassPermissions',
    tool_name: 'Bash', tool_input: { command: 'make' } });
const DENY = '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Denied by Callgate: nobody answered in time."}}';

function hook(t, deadline, env = process.env) {
    const peer = t.raw([callgate, 'hook', 'claude-code', '--policy', t.policy(ask), '--state', t.state, '--deadline', deadline], { env });
    peer.send(message(t));
    peer.child.stdin.end();
    return peer;
}

async function answered(peer, want) {
    assert.deepEqual(await peer.exit, { code: 0, signal: null });
    assert.deepEqual(peer.lines.map(String), want);
}

test('a held hook: denied after fifteen minutes, and the late answer is dropped', async t => {
    const time = clock(t);
    const peer = hook(t, '86400', time.env);
    const [request] = await t.pending(1);
    time.ahead(15 * MINUTES);
    await answered(peer, [DENY]);
    late(t, request);
});

test('a held hook whose own deadline passes: denied, its request is withdrawn, and people are asked anew', async t => {
    const peer = hook(t, '1');
    const [request] = await t.pending(1);
    await answered(peer, [DENY]);
    assert.deepEqual(denials(t), [['ask', 'not approved in time']]);
    assert.deepEqual(await t.pending(0), []);
    assert.deepEqual(kinds(t), ['approval.withdrawn']);
    assert.equal(t.cli('approve', request.code, '--as', 'ada').code, 1);
    const again = hook(t, '60');
    const [other] = await t.pending(1);
    assert.equal(t.cli('approve', other.code, '--as', 'ada').code, 0);
    await answered(again, []);
});

await run();
