// How a gate begins, reloads and ends, and what it leaves behind.
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { assert, allowAll, broker, cli, here, journals, run, servers, skip, test, under, until } from './lib.mjs';

const deny = (id, match) => ({ id, effect: 'deny', match, reason: 'no' });
const allow = (id, match) => ({ id, effect: 'auto_approve', match });
const passed = message => assert.ok(message.result && !message.result.isError, `not allowed: ${JSON.stringify(message)}`);
const denied = message => assert.equal(message.result?.isError, true, JSON.stringify(message));
const calls = peer => peer.got().split('\n').filter(line => line.includes('"tools/call"'));
const signals = peer => existsSync(`${peer.log}.signals`) ? readFileSync(`${peer.log}.signals`, 'utf8').split('\n').filter(Boolean) : [];
const alive = pid => { try { process.kill(pid, 0); return true; } catch { return false; } };
const child = peer => Number(readFileSync(`${peer.log}.pid`, 'utf8'));
const kinds = t => t.events().map(event => event.kind);

// The policy of the start, and one more.
const reloaded = t => until('the reload', () => kinds(t).filter(kind => kind === 'policy.loaded').length === 2);

async function started(peer) {
    await peer.ping();
    return child(peer);
}

for (const code of [0, 1, 2, 7, 77, 255]) {
    test(`the server's exit ${code} is passed on`, async t => {
        const peer = t.recorder();
        await started(peer);
        peer.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'die', arguments: { code } } });
        assert.deepEqual(await peer.exit, { code, signal: null });
    });
}

test('the server is killed by a signal: 128 and its number', async t => {
    const peer = t.recorder();
    process.kill(await started(peer), 'SIGKILL');
    assert.deepEqual(await peer.exit, { code: 137, signal: null });
});

test('a server that cannot be started', async t => {
    const peer = t.raw(t.front([t.path('no-such-server')]));
    const { code } = await peer.exit;
    assert.equal(code, 2);
    assert.match(peer.stderr, /no-such-server/);
    assert.equal(peer.lines.length, 0);
});

test('what the server printed before it ended is handed on', async t => {
    const peer = t.raw(t.front([process.execPath, '-e',
        'process.stdout.write(\'{"jsonrpc":"2.0","method":"notifications/message","params":{"n":1}}\\n\'.repeat(500)); process.exitCode = 3']));
    assert.equal((await peer.exit).code, 3);
    assert.equal(peer.lines.length, 500);
});

test('standard error, environment, arguments and working directory are the server’s own', async t => {
    mkdirSync(t.path('work'));
    const program = 'process.stderr.write("to standard error\\n");' +
        'process.stdin.on("data",d=>{const m=JSON.parse(d);console.log(JSON.stringify({jsonrpc:"2.0",id:m.id,' +
        'result:{argv:process.argv.slice(1),cwd:process.cwd(),x:process.env.CALLGATE_E2E,fds:require("fs").readdirSync("/proc/self/fd").map(Number)}}))})';
    const peer = t.raw(t.front([process.execPath, '-e', program, '--', '--policy', '', 'a b', '--']), { cwd: t.path('work'), env: { ...process.env, CALLGATE_E2E: 'yes' } });
    const { message } = await peer.request(1, 'ping');
    assert.deepEqual([message.result.argv, message.result.cwd, message.result.x], [['--policy', '', 'a b', '--'], t.path('work'), 'yes']);
    await peer.note(/^to standard error$/m);
    const bare = JSON.parse(await new Promise(done => {
        const direct = t.raw([process.execPath, '-e', program]);
        direct.request(1, 'ping').then(({ line }) => done(line));
    })).result.fds;
    if (under !== 'valgrind') assert.deepEqual(message.result.fds, bare, 'the server inherits descriptors of the gate');
});

test('the client closes: the server’s input is closed, and it may finish', async t => {
    const peer = t.recorder({}, '--exit', '5');
    await started(peer);
    assert.deepEqual(await peer.close(), { code: 5, signal: null });
    assert.deepEqual(signals(peer), ['end']);
});

test('answers that are still on their way are handed on after the client closed its end', async t => {
    const peer = t.recorder({}, '--stay');
    await started(peer);
    peer.send({ jsonrpc: '2.0', id: 'late', method: 'tools/call', params: { name: 'slow', arguments: { ms: 100 } } });
    peer.child.stdin.end();
    await peer.exit;
    passed(peer.answers('late')[0]);
});

test('a server that stays gets SIGTERM after the end of its input', async t => {
    const peer = t.recorder({}, '--stay');
    const pid = await started(peer);
    const { code } = await peer.close();
    assert.deepEqual(signals(peer), ['end', 'SIGTERM']);
    assert.equal(code, 143);
    assert.ok(!alive(pid));
});

test('a server that ignores SIGTERM gets SIGKILL', async t => {
    const peer = t.recorder({}, '--stay', '--deaf');
    const pid = await started(peer);
    const { code } = await peer.close();
    assert.deepEqual(signals(peer), ['end', 'SIGTERM']);
    assert.equal(code, 137);
    assert.ok(!alive(pid));
});

test('SIGTERM ends the gate cleanly: the server is ended, held calls are withdrawn', async t => {
    const peer = t.recorder({ rules: [{ id: 'ask', effect: 'require_approval', match: { tool: 'write' } }] });
    const pid = await started(peer);
    peer.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write', arguments: { path: '/a' } } });
    await t.pending(1);
    process.kill(peer.pid, 'SIGTERM');
    const { signal } = await peer.exit;
    assert.equal(signal, null, 'the gate was killed by the signal instead of ending');
    await until('the server to end', () => !alive(pid));
    assert.ok(signals(peer)[0] === 'end', `${signals(peer)}`);
    await t.pending(0);
    assert.ok(kinds(t).includes('approval.withdrawn'));
});

test('SIGTERM also when the server will not go', async t => {
    const peer = t.recorder({}, '--stay', '--deaf');
    const pid = await started(peer);
    process.kill(peer.pid, 'SIGTERM');
    assert.equal((await peer.exit).signal, null);
    await until('the server to end', () => !alive(pid));
});

test('SIGKILL of the gate: the server sees the end of its input, and the journal verifies', async t => {
    const peer = t.recorder();
    const pid = await started(peer);
    for (let id = 1; id <= 2000; id++) peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { id } } });
    await peer.answer(50);
    process.kill(peer.pid, 'SIGKILL');
    await peer.exit;
    await until('the server to end', () => !alive(pid));
    // Every call that the server got is in the journal.
    const reached = peer.got().split('\n').slice(0, -1).map(JSON.parse).filter(m => m.method === 'tools/call').length;
    assert.ok(reached >= 50);
    const lines = readFileSync(journals(t.state)[0], 'utf8').split('\n').filter(line => line.includes('"kind":"policy.allow"')).length;
    assert.ok(lines >= reached, `${reached} calls reached the server, ${lines} are in the journal`);
    // The next gate goes on with the chain.
    const next = t.recorder();
    passed((await next.call(1, 'echo')).message);
    await next.close();
    t.verify();
});

test('a torn last line is cut off and told', async t => {
    const peer = t.recorder();
    await peer.call(1, 'echo');
    await peer.close();
    const [file] = journals(t.state);
    appendFileSync(file, '{"actor":"claude_process","callHash":"12');
    assert.equal(cli('journal', 'verify', file).code, 1);
    const next = t.recorder();
    await next.call(1, 'echo');
    await next.close();
    assert.ok(kinds(t).includes('system.recovered'));
});

test('a journal that was changed does not verify', async t => {
    const peer = t.recorder();
    for (let id = 1; id <= 5; id++) await peer.call(id, 'echo', { id });
    await peer.close();
    const [file] = journals(t.state);
    const whole = readFileSync(file, 'utf8');
    const head = t.write('head.json', cli('journal', 'head', file).stdout);
    assert.equal(cli('journal', 'verify', '--head', head, file).code, 0);
    const lines = whole.split('\n');
    for (const [what, text] of [['a letter', whole.replace('"echo"', '"ech0"')], ['a space', whole.replace(',', ', ')],
        ['a line less', [...lines.slice(0, 2), ...lines.slice(3)].join('\n')], ['two lines turned', [lines[0], lines[2], lines[1], ...lines.slice(3)].join('\n')]]) {
        const copy = t.write('copy.jsonl', text);
        const done = cli('journal', 'verify', copy);
        assert.equal(done.code, 1, what);
        assert.match(done.stderr, /^FAIL:/, what);
        assert.equal(done.stdout, '');
    }
    // Cut at its end it is a chain still; only a head kept elsewhere tells.
    const cut = t.write('cut.jsonl', lines.slice(0, -3).join('\n') + '\n');
    assert.equal(cli('journal', 'verify', cut).code, 0);
    assert.equal(cli('journal', 'verify', '--head', head, cut).code, 1);
});

test('the state directory: made 0700, files 0600; another’s mode is refused', async t => {
    const state = t.path('new/state');
    mkdirSync(t.path('new'));
    const peer = t.recorder({ state, rules: [{ id: 'ask', effect: 'require_approval', match: { tool: 'write' } }] });
    await peer.ping();
    assert.equal(statSync(state).mode & 0o777, 0o700);
    for (const file of journals(state)) assert.equal(statSync(file).mode & 0o777, 0o600);
    await peer.close();
    if (broker) return; // which has the directory open for a while yet, whatever becomes of its mode
    chmodSync(state, 0o755);
    const log = t.path('refused.log');
    const loose = cli('run', '--policy', t.policy(allowAll), '--state', state, '--', ...servers.recorder(log));
    assert.equal(loose.code, 2);
    assert.match(loose.stderr, /0?7[05][05]|mode|permission|group|others/i);
    assert.ok(!existsSync(log));
    chmodSync(state, 0o700);
});

test('a policy that does not load: no server, exit 2, nothing on standard output', async t => {
    const log = t.path('server.log');
    const policy = t.write('bad.json', '{"rules":[{"id":"x","effect":"allow","match":{"tool":"a"}}]}');
    const done = cli('run', '--policy', policy, '--state', t.state, '--', ...servers.recorder(log));
    assert.equal(done.code, 2);
    assert.equal(done.stdout, '');
    assert.match(done.stderr, /bad\.json:1:\d+: error: .*auto_approve/);
    assert.ok(!existsSync(log));
});

test('SIGHUP: a stricter policy is adopted, and calls in flight are not lost', async t => {
    const policy = t.policy([deny('no-secret', { tool: 'secret' })]);
    const peer = t.recorder({ policy });
    passed((await peer.call(1, 'echo')).message);
    const slow = peer.call(2, 'slow', { ms: 300 });
    t.policy([deny('no-secret', { tool: 'secret' }), deny('no-echo', { tool: 'echo' })]);
    process.kill(peer.pid, 'SIGHUP');
    await reloaded(t);
    denied((await peer.call(3, 'echo')).message);
    denied((await peer.call(4, 'secret')).message);
    passed((await slow).message);
    assert.ok(!kinds(t).some(kind => /refused/.test(kind)), kinds(t).join(' '));
});

test('SIGHUP: a new auto_approve that weakens a deny is refused; the policy stays; status shows it', async t => {
    const policy = t.policy([deny('no-write', { tool: 'write' })]);
    const peer = t.recorder({ policy });
    denied((await peer.call(1, 'write', { path: '/tmp/x' })).message);
    t.policy([allow('some-write', { tool: 'write', pathPrefix: '/tmp' }), deny('no-write', { tool: 'write' }), deny('no-echo', { tool: 'echo' })]);
    process.kill(peer.pid, 'SIGHUP');
    await peer.note(/new auto_approve rule 'some-write' weakens existing deny 'no-write' — reload refused/);
    const event = await until('its event', () => t.events().find(e => e.kind === 'policy.reload_refused'));
    assert.match(JSON.stringify(event), /some-write/);
    denied((await peer.call(2, 'write', { path: '/tmp/x' })).message);
    passed((await peer.call(3, 'echo')).message);
    const status = t.cli('status');
    assert.equal(status.code, 0, status.stderr);
    assert.match(status.stdout, /some-write|refused/);
    assert.match(status.stdout, broker ? /serve/ : new RegExp(`\\b${peer.pid}\\b`));
    // Put right, it is adopted.
    t.policy([deny('no-write', { tool: 'write' }), deny('no-echo', { tool: 'echo' })]);
    process.kill(peer.pid, 'SIGHUP');
    await reloaded(t);
    denied((await peer.call(4, 'echo')).message);
    await peer.close();
    assert.doesNotMatch(t.cli('status').stdout, new RegExp(`\\b${peer.pid}\\b`), 'a gate that ended is no longer among those running');
});

test('SIGHUP: a file that does not load, or is gone, is refused', async t => {
    const policy = t.policy([deny('no-write', { tool: 'write' })]);
    const peer = t.recorder({ policy });
    await peer.ping();
    for (const text of ['{"rules":[', '{"rules":[{"id":"a","effect":"deny","match":{},"reason":"x"}]}', '']) {
        writeFileSync(policy, text);
        const before = kinds(t).filter(kind => kind === 'policy.reload_refused').length;
        process.kill(peer.pid, 'SIGHUP');
        await until('the refusal', () => kinds(t).filter(kind => kind === 'policy.reload_refused').length > before);
        denied((await peer.call(`w${before}`, 'write', { path: '/x' })).message);
        passed((await peer.call(`e${before}`, 'echo')).message);
    }
    assert.match(peer.stderr, /policy\.json:1:\d+/);
});

test('SIGHUP: held calls are judged by the new policy when they are released', async t => {
    const ask = { id: 'ask', effect: 'require_approval', match: { tool: 'write' } };
    const policy = t.policy([ask]);
    const peer = t.recorder({ policy });
    const answer = peer.call(1, 'write', { path: '/a' });
    const [held] = await t.pending(1);
    t.policy([deny('no-write', { tool: 'write' }), ask]);
    process.kill(peer.pid, 'SIGHUP');
    await reloaded(t);
    t.cli('approve', held.code);
    denied((await answer).message);
    assert.ok(!peer.got().includes('write'));
});

test('SIGHUP: a rule that changed loses its approvals, one that did not keeps them', async t => {
    const ask = (id, tool, ttlMs) => ({ id, effect: 'require_approval', match: { tool }, ttlMs });
    const policy = t.policy([ask('w', 'write', 60_000), ask('r', 'read', 60_000)]);
    const peer = t.recorder({ policy });
    const answers = [peer.call(1, 'write', { path: '/a' }), peer.call(2, 'read', { path: '/a' })];
    for (const { code } of await t.pending(2)) t.cli('approve', code);
    for (const answer of answers) passed((await answer).message);
    t.policy([ask('w', 'write', 50_000), ask('r', 'read', 60_000)]);
    process.kill(peer.pid, 'SIGHUP');
    await reloaded(t);
    passed((await peer.call(3, 'read', { path: '/b' })).message);
    const again = peer.call(4, 'write', { path: '/a' });
    const [held] = await t.pending(1);
    t.cli('refuse', held.code);
    denied((await again).message);
});

test('what run cannot do is said, with exit 2', async t => {
    const policy = t.policy(allowAll), server = servers.recorder(t.path('never.log'));
    for (const args of [['--policy', policy], ['--policy', policy, '--'], ['--', ...server], ['--policy', t.path('none.json'), '--', ...server],
        ['--policy', policy, '--hold-for', 'x', '--', ...server], ['--policy', policy, '--actor', 'root', '--', ...server],
        ['--policy', policy, '--nonsense', '--', ...server], ['--policy', `boss=${policy}`, '--', ...server]]) {
        const done = cli('run', '--state', t.state, ...args);
        assert.deepEqual([done.code, done.stdout], [2, ''], `${args}: ${done.stderr}`);
        assert.ok(done.stderr.length > 20);
    }
    // A store that is none.
    t.write('broken/approvals.db', 'this is no database, and was never one\n'.repeat(200));
    chmodSync(t.path('broken'), 0o700);
    chmodSync(t.path('broken/approvals.db'), 0o600);
    const done = cli('run', '--state', t.path('broken'), '--policy', policy, '--', ...server);
    assert.equal(done.code, 2, done.stderr);
    assert.ok(!existsSync(t.path('never.log')), 'the server was started');
});

test('two gates write one journal at once', async t => {
    const peers = [t.recorder({ args: ['--thread', 'one'] }), t.recorder({ args: ['--thread', 'two'] })];
    for (const peer of peers) for (let id = 1; id <= 300; id++) peer.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'echo', arguments: { id } } });
    await Promise.all(peers.flatMap(peer => [1, 150, 300].map(id => peer.answer(id))));
    await Promise.all(peers.map(peer => peer.close()));
    const events = t.events();
    assert.equal(journals(t.state).length, 1);
    assert.deepEqual(events.map(event => event.seq), events.map((_, i) => i + 1));
    for (const thread of ['one', 'two']) {
        assert.equal(events.filter(event => event.kind === 'policy.allow' && event.sessionKey.thread === thread).length, 300);
    }
});

test('the session of each run is fresh, and an approval does not outlive it', async t => {
    const rules = [{ id: 'ask', effect: 'require_approval', match: { tool: 'write' } }];
    const threads = [];
    for (let i = 0; i < 2; i++) {
        const peer = t.recorder({ rules });
        const answer = peer.call(1, 'write', { path: '/a' });
        const [held] = await t.pending(1);
        assert.equal(held.channel, 'local');
        threads.push(held.thread);
        t.cli('approve', held.code);
        passed((await answer).message);
        await peer.close();
    }
    assert.notEqual(threads[0], threads[1]);
});

// What a launcher starts is part of the server: its processes, by their parents.
function descendants(pid) {
    const parents = new Map();
    for (const name of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
        try {
            const [, state, parent] = /\) (\S) (\d+) /.exec(readFileSync(`/proc/${name}/stat`, 'latin1'));
            if (state !== 'Z') parents.set(Number(name), Number(parent));
        } catch { /* it has ended */ }
    }
    const found = [pid];
    for (const known of found) for (const [child, parent] of parents) if (parent === known) found.push(child);
    return found.slice(1);
}
const running = pid => { try { return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')); } catch { return false; } };

const uv = join(here, '../../.venv/bin/uv');
const launchers = {
    npx: () => ['npx', '--no', '--', 'mcp-server-everything', 'stdio'],
    uv: () => existsSync(uv) ? [uv, 'run', '--no-project', '--offline', '--', ...servers.everything()] : skip('uv is not installed (tools/deps.sh)'),
};
for (const [name, command] of Object.entries(launchers)) {
    test(`kill -9 of the gate in front of ${name}: nothing of the tree is left`, async t => {
        const peer = t.raw(t.front(command()), { cwd: here });
        await peer.request(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } });
        const tree = descendants(peer.pid);
        assert.ok(tree.length >= 3, `a keeper, a launcher and a server: ${tree}`);
        peer.child.kill('SIGKILL');
        await peer.exit;
        await until('the tree to be gone', () => !tree.some(running), 1000);
    });
}

test('a full disk: what would be allowed is denied, and standard error says why once', async t => {
    const disk = t.path('disk');
    mkdirSync(disk);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=700', 'tmpfs', disk], { encoding: 'utf8' });
    if (mounted.status !== 0) skip('no tmpfs can be mounted here');
    t.cleanup(() => { spawnSync('umount', ['-l', disk]); });
    t.unverified = true;
    const state = join(disk, 'state');
    mkdirSync(state, { mode: 0o700 });
    const peer = t.recorder({ state, rules: [{ id: 'ask', effect: 'require_approval', match: { tool: 'write' } },
        deny('no-secret', { tool: 'secret' }), { id: 'all', effect: 'auto_approve', match: { channel: 'local' } }] });
    passed((await peer.call(1, 'echo')).message);
    const fill = join(disk, 'fill');
    try { writeFileSync(fill, Buffer.alloc(4 << 20)); } catch (error) { assert.equal(error.code, 'ENOSPC'); }
    // The journal may still have the rest of its last page.
    let id = 2;
    for (; id < 200; id++) {
        const { message } = await peer.call(id, 'echo', { pad: 'x'.repeat(200) });
        if (message.result?.isError) break;
    }
    assert.ok(id < 200, 'the disk is full, and calls still pass');
    const reached = calls(peer).length;
    const denials = [];
    for (const name of ['echo', 'write', 'read', 'secret']) denials.push((await peer.call(`d ${name}`, name, { path: '/x' })).message.result);
    assert.ok(denials.every(result => result.isError === true));
    assert.equal(calls(peer).length, reached, 'a call went on without its line in the journal');
    const said = peer.stderr.split('\n').filter(line => /journal cannot be written/i.test(line) && /space|ENOSPC/i.test(line));
    assert.equal(said.length, broker ? 0 : 1, peer.stderr); // a broker says it where it runs
    // What is no call still passes; and with room again, so do calls, and the chain is whole.
    await peer.ping();
    rmSync(fill);
    passed((await until('calls to pass again', async () => {
        const { message } = await peer.call(`r ${++id}`, 'echo');
        return message.result.isError ? null : message;
    })));
    assert.equal((await peer.close()).code, 0);
    t.verify(state);
});

await run();
