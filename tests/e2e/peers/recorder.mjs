// A server written by hand: it records every byte it gets, and misbehaves on request.
//
//   --log FILE       every byte of standard input is appended here before anything else happens
//   --exit CODE      exit status when standard input ends (default 0)
//   --stay           does not end when standard input ends
//   --deaf           ignores SIGTERM as well
//   --banner         prints lines that are no JSON-RPC before it does anything
//   --prompt-list    sends a notification before the answer to initialize, as some servers do
// Signals and the end of input are recorded in FILE.signals, one a line.
import { appendFileSync, writeFileSync, writeSync } from 'node:fs';

const args = process.argv.slice(2);
const value = name => args.includes(name) ? args[args.indexOf(name) + 1] : undefined;
const log = value('--log');
writeFileSync(log, '');
writeFileSync(`${log}.pid`, String(process.pid));
const noted = what => appendFileSync(`${log}.signals`, `${what}\n`);

function out(bytes) {
    bytes = Buffer.from(bytes);
    // Blocking writes keep the order and let a full pipe stop this server, as it would a simple one.
    for (let at = 0; at < bytes.length;) {
        try {
            at += writeSync(1, bytes, at);
        } catch (error) {
            if (error.code === 'EPIPE') process.exit(0);
            if (error.code !== 'EAGAIN') throw error;
            Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
        }
    }
}
const say = message => out(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const text = (id, content, more = {}) => say({ id, result: { content: [{ type: 'text', text: content }], ...more } });

const tools = ['echo', 'write', 'read', 'secret', 'slow', 'never', 'die', 'junk', 'stray', 'twice', 'broken', 'big', 'ask', 'steps'];
const asked = new Map();
let own = 0;

const calls = {
    // Says what it was given.
    echo: (id, a) => text(id, JSON.stringify(a)),
    write: (id, a) => text(id, `wrote ${a.path}`),
    read: (id, a) => text(id, `read ${a.path}`),
    secret: (id) => text(id, 'the secret'),
    slow: (id, a) => setTimeout(() => text(id, 'slow'), a.ms),
    never: () => {},
    die: (id, a) => process.exit(a.code ?? 7),
    // Lines that are no message, then the answer.
    junk: (id, a) => { out(Buffer.from(a.base64 ?? '', 'base64')); text(id, 'after junk'); },
    // An answer to a question that nobody put, then the answer.
    stray: (id, a) => { say({ id: a.id, result: { stray: true } }); text(id, 'after stray'); },
    twice: (id) => { text(id, 'first'); text(id, 'second'); },
    // An answer of the given bytes; ID stands for the id.
    broken: (id, a) => out(Buffer.from(Buffer.from(a.base64, 'base64').toString('latin1').replaceAll('ID', JSON.stringify(id)), 'latin1')),
    big: (id, a) => text(id, 'x'.repeat(a.bytes)),
    // A request of the server's own; what comes back is the answer.
    ask: (id, a) => {
        const mine = a.id ?? `own-${++own}`;
        asked.set(mine, message => text(id, JSON.stringify(message.result ?? message.error)));
        say({ id: mine, method: a.method ?? 'sampling/createMessage', params: a.params ?? {} });
    },
    steps: (id, a, params) => {
        for (let i = 1; i <= 3; i++) {
            say({ method: 'notifications/progress', params: { progressToken: params._meta?.progressToken, progress: i, total: 3 } });
        }
        text(id, 'three steps');
    },
};

function handle({ id, method, params = {} }) {
    if (method === undefined) return asked.get(id)?.(arguments[0]);
    if (id === undefined) return;
    switch (method) {
        case 'initialize':
            if (args.includes('--prompt-list')) say({ method: 'notifications/tools/list_changed' });
            return say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'recorder', version: '1' } } });
        case 'ping':
            return say({ id, result: {} });
        case 'tools/list':
            return say({ id, result: { tools: tools.map(name => ({ name, inputSchema: { type: 'object' } })) } });
        case 'tools/call':
            if (params.task) return say({ id, result: { task: { taskId: 't1', status: 'working', createdAt: '2026-01-01T00:00:00Z', lastUpdatedAt: '2026-01-01T00:00:00Z', ttl: 1000 } } });
            return (calls[params.name] ?? calls.echo)(id, params.arguments ?? {}, params);
        default:
            return say({ id, result: { served: method } });
    }
}

if (args.includes('--banner')) out('added 1 package in 2s\nReady\n{"not":"a message"}\n[1,2]\n\n');
if (args.includes('--deaf')) process.on('SIGTERM', () => noted('SIGTERM'));
else process.on('SIGTERM', () => { noted('SIGTERM'); process.exit(143); });
const alive = args.includes('--stay') ? setInterval(() => {}, 1 << 30) : null;

let rest = [];
process.stdin.on('data', data => {
    appendFileSync(log, data);
    let from = 0;
    for (let at; (at = data.indexOf(10, from)) >= 0; from = at + 1) {
        const line = Buffer.concat([...rest, data.subarray(from, at)]);
        rest = [];
        try {
            handle(JSON.parse(line.toString('utf8')));
        } catch {
            // Not for a recorder to judge.
        }
    }
    if (from < data.length) rest.push(data.subarray(from));
});
process.stdin.on('end', () => {
    noted('end');
    if (!alive) process.exit(Number(value('--exit') ?? 0));
});
