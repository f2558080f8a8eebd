// What the end-to-end tests share: a tiny runner, the command in front of a server, and a raw peer.
//
// Each file is a program: `node FILE.mjs [--via gate|pass|direct] [--with broker] [--callgate PATH] [--clock PATH] [--only TEXT]
// [--under sanitizers|valgrind]`.
// It ends with a line `N passed, N failed` and exits 1 if anything failed, 77 if the npm packages are absent.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { userInfo, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';

export { assert };
export const here = dirname(fileURLToPath(import.meta.url));

if (!existsSync(join(here, 'node_modules/@modelcontextprotocol/sdk'))) {
    console.log('the npm packages are not installed (npm ci in tests/e2e)');
    process.exit(77);
}

function option(name, otherwise) {
    const at = process.argv.indexOf(`--${name}`);
    return at >= 0 ? process.argv[at + 1] : otherwise;
}

// via: what stands between client and server. `pass` proves that the client code survives a process between.
export const via = option('via', 'gate');
// broker: `--callgate` makes each `run` and `relay` a client of one (tests/broker/with_broker.py).
export const broker = option('with', '') === 'broker';
export const callgate = resolve(option('callgate', join(here, '../../build/callgate')));
// clock: the library that puts a process's clocks forward (peers/clock.c).
const clock = resolve(option('clock', join(here, '../../build/tests/e2e/clock.so')));
// under: what watches the gate's memory; a word from it fails the test, and memory itself is not measured then.
export const under = option('under', '');
const patience = under === 'valgrind' ? 8 : 1;
const only = option('only', '');
const without = option('without', '');

if (via === 'gate' && !existsSync(callgate)) {
    console.error(`there is no ${callgate}: build first, or name it with --callgate`);
    process.exit(1);
}

const bin = name => join(here, 'node_modules/@modelcontextprotocol', name, 'dist/index.js');
export const servers = {
    filesystem: (...roots) => [process.execPath, bin('server-filesystem'), ...roots],
    everything: () => [process.execPath, bin('server-everything'), 'stdio'],
    memory: () => [process.execPath, bin('server-memory')],
    recorder: (log, ...args) => [process.execPath, join(here, 'peers/recorder.mjs'), '--log', log, ...args],
    v2: () => [process.execPath, join(here, 'peers/v2server.mjs')],
};

// The policy that allows everything by name, not by the absence of rules.
export const allowAll = [{ id: 'all', effect: 'auto_approve', match: { channel: 'local' } }];

// ---------------------------------------------------------------------------------------------- runner

class Skip extends Error {}
export const skip = why => { throw new Skip(why); };
const tests = [];

export function test(name, fn, { timeout = 30_000 } = {}) {
    if ((!only || name.includes(only)) && (!without || !name.includes(without))) tests.push({ name, fn, timeout: timeout * patience });
}

// What a test gets: a private directory, a private state directory, and a list of things to undo.
class Context {
    undo = [];
    clock = clock;
    constructor() {
        this.dir = realpathSync(mkdtempSync(join(tmpdir(), 'callgate-e2e-')));
        this.state = join(this.dir, 'state');
        mkdirSync(this.state, { mode: 0o700 });
    }
    cleanup(fn) {
        this.undo.push(fn);
    }
    path(...parts) {
        return join(this.dir, ...parts);
    }
    write(name, text) {
        const path = this.path(name);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, text);
        return path;
    }
    policy(rules, name = 'policy.json', more = {}) {
        return this.write(name, JSON.stringify({ rules, ...more }, null, 2) + '\n');
    }
    // The watcher in front of a command; it writes files `watch.*` into the test's directory.
    watched(command) {
        const log = this.path('watch');
        switch (under) {
            case 'sanitizers': return ['/usr/bin/env', `ASAN_OPTIONS=log_path=${log}`, `UBSAN_OPTIONS=log_path=${log}`, ...command];
            case 'valgrind': return ['valgrind', '-q', '--leak-check=full', '--show-leak-kinds=definite', '--errors-for-leak-kinds=definite', '--error-exitcode=99',
                `--log-file=${log}.%p`, ...command];
            default: return command;
        }
    }
    complaints() {
        return readdirSync(this.dir).filter(name => name.startsWith('watch.')).map(name => readFileSync(this.path(name), 'utf8')).join('').slice(0, 4000);
    }
    // The command line that puts a gate (or what `via` says) in front of SERVER.
    front(server, { rules = allowAll, policy = this.policy(rules), state = this.state, args = [], name } = {}) {
        if (via === 'direct') return server;
        if (via === 'pass') return [process.execPath, join(here, 'peers/pass.mjs'), ...server];
        return this.watched([callgate, 'run', '--policy', policy, '--state', state, ...(name ? ['--server', name] : []), ...args,
            '--', ...server]);
    }
    // A hand-driven client on a gate in front of the recording server.
    raw(command, options) {
        const peer = new Raw(command, options);
        this.cleanup(() => peer.destroy());
        return peer;
    }
    recorder(options = {}, ...serverArgs) {
        const log = this.path(`server-${this.undo.length}.log`);
        const peer = this.raw(this.front(servers.recorder(log, ...serverArgs), options), options.spawn);
        peer.log = log;
        return peer;
    }
    // Two people and a third: ada answers in this terminal and through a bridge, the others through a bridge only.
    people() {
        return this.write('people.json', JSON.stringify({ people: [
            { name: 'ada', user: userInfo().username, bridge: 'ada' }, { name: 'bob', bridge: 'bob' }, { name: 'eve', bridge: 'eve' }] }));
    }
    cli(...args) {
        const more = ['approve', 'refuse', 'deny', 'reply'].includes(args[0]) ? ['--people', this.people()] : [];
        return cli(...args, ...more, '--state', this.state);
    }
    async pending(count) {
        return await until(`${count} pending`, () => {
            const done = this.cli('pending', '--format', 'json');
            assert.equal(done.code, 0, `pending: ${done.stderr}`);
            const list = JSON.parse(done.stdout);
            return list.length === count ? list : null;
        });
    }
    events(state = this.state) {
        return journals(state).flatMap(file => readFileSync(file, 'utf8').split('\n').filter(Boolean).map(JSON.parse));
    }
    // Every test that ran a gate leaves a journal that verifies.
    verify(state = this.state) {
        const files = journals(state);
        assert.ok(files.length > 0, 'no journal in the state directory');
        const done = cli('journal', 'verify', ...files);
        assert.equal(done.code, 0, `journal verify: ${done.stdout}${done.stderr}`);
        assert.match(done.stdout, /^OK: \d+ event\(s\) verified in /);
    }
}

export function cli(...args) {
    const done = spawnSync(callgate, args, { encoding: 'utf8', timeout: 20_000 });
    return { code: done.status, signal: done.signal, stdout: done.stdout, stderr: done.stderr };
}

// A journal is known by what is in it, not by its name.
export function journals(state) {
    const found = [];
    const walk = dir => {
        for (const entry of readdirSync(dir, { withFileTypes: true })) {
            const path = join(dir, entry.name);
            if (entry.isDirectory()) walk(path);
            else if (entry.isFile() && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0) {
                const line = readFileSync(path).subarray(0, 65536).toString('latin1').split('\n')[0];
                const seq = /"seq":(\d+)/.exec(line);
                if (line.startsWith('{') && line.includes('"prevHash"') && seq) found.push([Number(seq[1]), path]);
            }
        }
    };
    walk(state);
    return found.sort((a, b) => a[0] - b[0]).map(([, path]) => path);
}

// A test that has failed leaves promises behind that fail later: they are no news.
process.on('unhandledRejection', () => {});

export async function run() {
    let passed = 0, failed = 0, skipped = 0;
    for (const { name, fn, timeout } of tests) {
        const t = new Context();
        const started = Date.now();
        let timer;
        try {
            const late = new Promise((_, reject) => {
                timer = setTimeout(() => reject(new Error(`not done after ${timeout / 1000} s`)), timeout);
            });
            await Promise.race([Promise.resolve(fn(t)), late]);
            const left = await settle(t);
            if (left) throw left;
            if (via === 'gate' && !t.unverified && journals(t.state).length > 0) t.verify();
            assert.equal(t.complaints(), '', `${under} complains`);
            passed++;
            console.log(`ok      ${name} (${Date.now() - started} ms)`);
        } catch (error) {
            await settle(t);
            if (error instanceof Skip) {
                skipped++;
                console.log(`skipped ${name}: ${error.message}`);
            } else {
                failed++;
                console.log(`FAILED  ${name}\n        ${String(error?.stack ?? error).replaceAll('\n', '\n        ')}`);
            }
        } finally {
            clearTimeout(timer);
            rmSync(t.dir, { recursive: true, force: true });
        }
    }
    console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`);
    process.exit(failed ? 1 : 0);
}

// Undoes everything, whatever fails; what failed first is the answer.
async function settle(t) {
    let first = null;
    for (const fn of t.undo.splice(0).reverse()) {
        try {
            await fn();
        } catch (error) {
            first ??= error;
        }
    }
    return first;
}

export const sleep = ms => new Promise(done => setTimeout(done, ms));

// Ask until there is an answer. For what has no event to wait for: another process's state.
export async function until(what, ask, ms = 10_000) {
    ms *= patience;
    const end = Date.now() + ms;
    for (;;) {
        const answer = await ask();
        if (answer) return answer;
        if (Date.now() > end) throw new Error(`waited ${ms / 1000} s in vain for ${what}`);
        await sleep(20);
    }
}

// ---------------------------------------------------------------------------------------------- raw peer

// A client without an SDK: writes what it is told, byte for byte, and keeps every line that comes back.
export class Raw {
    lines = [];
    stderr = '';
    waiting = [];
    rest = [];
    constructor([command, ...args], { cwd, env, paused = false } = {}) {
        this.child = spawn(command, args, { cwd, env: env ?? process.env, stdio: ['pipe', 'pipe', 'pipe'] });
        this.child.stdin.on('error', () => {});
        if (!paused) this.read();
        this.child.stderr.on('data', data => { this.stderr += data; this.wake(); });
        this.exit = new Promise((done, fail) => {
            this.child.on('error', fail);
            // `close`, not `exit`: every line has been read by then.
            this.child.on('close', (code, signal) => { this.ended = { code, signal }; done(this.ended); this.wake(); });
        });
        this.exit.catch(() => {});
    }
    get pid() {
        return this.child.pid;
    }
    read() {
        this.child.stdout.on('data', data => {
            let from = 0;
            for (let at; (at = data.indexOf(10, from)) >= 0; from = at + 1) {
                this.lines.push(Buffer.concat([...this.rest, data.subarray(from, at)]));
                this.rest = [];
            }
            if (from < data.length) this.rest.push(data.subarray(from));
            this.wake();
        });
    }
    wake() {
        this.waiting = this.waiting.filter(look => !look());
    }
    // Bytes as they are; a string gets no newline; an object becomes one line.
    send(what) {
        this.child.stdin.write(Buffer.isBuffer(what) || typeof what === 'string' ? what : JSON.stringify(what) + '\n');
    }
    request(id, method, params) {
        this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
        return this.answer(id);
    }
    call(id, name, args = {}, more = {}) {
        return this.request(id, 'tools/call', { name, arguments: args, ...more });
    }
    get messages() {
        // The gate hands on nothing that is no JSON object on a line.
        return this.lines.map(line => this.parsed(line));
    }
    parsed(line) {
        return line.parsed ??= JSON.parse(line.toString('utf8'));
    }
    // Resolves with the first message for which ASK is true, now or later.
    find(what, ask, ms = 10_000) {
        let from = 0;
        return this.wait(what, () => {
            for (; from < this.lines.length; from++) {
                const message = this.parsed(this.lines[from]);
                if (ask(message)) return { message, line: this.lines[from].toString('utf8') };
            }
            return null;
        }, ms);
    }
    wait(what, ask, ms = 10_000) {
        ms *= patience;
        return new Promise((done, fail) => {
            const timer = setTimeout(() => {
                this.waiting = this.waiting.filter(other => other !== look);
                fail(new Error(`waited ${ms / 1000} s in vain for ${what}; stderr: ${this.stderr.slice(-600)}`));
            }, ms);
            const look = () => {
                let answer;
                try {
                    answer = ask();
                } catch (error) {
                    clearTimeout(timer);
                    fail(error);
                    return true;
                }
                if (answer) {
                    clearTimeout(timer);
                    done(answer);
                    return true;
                }
                if (this.ended) {
                    clearTimeout(timer);
                    fail(new Error(`the peer ended (${JSON.stringify(this.ended)}) before ${what}; stderr: ${this.stderr.slice(-600)}`));
                    return true;
                }
                return false;
            };
            if (!look()) this.waiting.push(look);
        });
    }
    async answer(id, ms) {
        return await this.find(`the answer to ${JSON.stringify(id)}`, m => m.id === id && m.method === undefined, ms);
    }
    answers(id) {
        return this.messages.filter(m => m.id === id && m.method === undefined);
    }
    note(pattern, ms) {
        return this.wait(`${pattern} on standard error`, () => pattern.exec(this.stderr), ms);
    }
    // What the recording server got, as lines (the last may be unfinished).
    got() {
        return existsSync(this.log) ? readFileSync(this.log, 'utf8') : '';
    }
    // A round trip through the server: whatever was sent before has been dealt with in both directions.
    async ping(id = `ping-${this.lines.length}-${Math.floor(performance.now())}`) {
        const { message } = await this.request(id, 'ping');
        assert.deepEqual(message.result, {}, 'the gate or the server no longer answers a ping');
    }
    async close() {
        this.child.stdin.end();
        return await this.exit;
    }
    // For tests that are over: nothing may outlive them.
    async destroy() {
        if (this.ended) return;
        this.child.stdin.destroy();
        this.read();
        const ended = await Promise.race([this.exit, sleep(8000 * patience).then(() => null)]);
        if (!ended) {
            this.child.kill('SIGKILL');
            throw new Error('the peer did not end in time after its input was closed');
        }
    }
}
