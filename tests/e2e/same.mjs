// Runs one script of client calls against a server twice, without and with the gate, and compares.
//
// A script calls `s.step(name, thunk)`; each step's answer or error is kept, and every message that the client
// got from the wire is kept as well. What really varies (times, ids made by chance, the directory) is normalised.
import { assert, under, until, via } from './lib.mjs';

const CLOCK = /\b\d{1,2}:\d{2}:\d{2}(?:\s?[AP]M)?\b/g;
const ISO = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const STAMP = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d\d \d{4} \d\d:\d\d:\d\d GMT[^"\\\n]*/g;
const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const TASK = /\b[0-9a-f]{32}\b/g;
const LOGLINE = /\b(?:Debug|Info|Notice|Warning|Error|Critical|Alert|Emergency)[- ]level[- ]message\b/g;

function normal(value, dir) {
    if (typeof value === 'string') {
        return value.replaceAll(dir, '<DIR>').replace(STAMP, '<TIME>').replace(ISO, '<TIME>').replace(CLOCK, '<TIME>')
            .replace(UUID, '<UUID>').replace(TASK, '<TASK>').replace(LOGLINE, '<A LOG LINE>');
    }
    if (Array.isArray(value)) return value.map(item => normal(item, dir));
    if (value && typeof value === 'object') {
        return Object.fromEntries(Object.entries(value).map(([key, item]) => {
            if (key === 'blob' && typeof item === 'string') {
                // A blob is text with a time in it, or it is compared as it is.
                const text = Buffer.from(item, 'base64').toString('utf8');
                return [key, text.startsWith('Resource ') ? normal(text, dir) : item];
            }
            if (key === 'requestState') return [key, '<STATE>'];
            return [key, normal(item, dir)];
        }));
    }
    return value;
}

export class Session {
    steps = [];
    wire = [];
    errors = [];
    constructor(t, side, command) {
        this.t = t;
        this.side = side;
        this.command = command;
        this.dir = t.path(side);
    }
    // Taps a transport of either SDK: every message that the client is handed.
    tap(transport) {
        const start = transport.start.bind(transport);
        transport.start = () => {
            const hand = transport.onmessage;
            transport.onmessage = (message, extra) => {
                this.wire.push(message);
                hand?.(message, extra);
            };
            return start();
        };
        return transport;
    }
    async step(name, thunk) {
        let entry;
        try {
            entry = { answer: await thunk() };
        } catch (error) {
            entry = { error: { name: error.constructor.name, code: error.code, message: error.message, data: error.data } };
        }
        this.steps.push({ name, ...entry });
        return entry.answer;
    }
    note(name, answer) {
        this.steps.push({ name, answer });
    }
    // Wait for a message that the server sends by itself.
    heard(what, ask) {
        return until(what, () => this.wire.find(ask));
    }
    normalised() {
        // The SDK's results carry undefined members and class instances: what counts is what is on the wire.
        return normal(JSON.parse(JSON.stringify(this.steps)), this.dir);
    }
    // Answers by id (their text, so the order of members too), and the server's own messages in order.
    wireNormalised(loose = () => false) {
        const answers = {}, own = [];
        for (const message of this.wire) {
            if (loose(message)) continue;
            const text = JSON.stringify(normal(message, this.dir));
            if (message.method === undefined) (answers[message.id] ??= []).push(text);
            else own.push(text);
        }
        return { answers, own };
    }
}

// Compares call by call, so that the first difference is named.
export function compare(without, withGate, loose) {
    const a = without.normalised(), b = withGate.normalised();
    assert.ok(a.length > 0, 'the script did nothing');
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
        assert.deepEqual(b[i], a[i], `step ${i + 1}, ${a[i]?.name ?? b[i]?.name}, differs with ${via}`);
    }
    assert.deepEqual(withGate.wireNormalised(loose), without.wireNormalised(loose), 'the messages on the wire differ');
    return a.length;
}

// Both runs at once: two cores, and the servers mostly wait.
export async function both(t, command, script, { loose, front = {} } = {}) {
    const sides = ['without', 'withgate'].map(side => {
        const server = command(t.path(side));
        // Both sides get the same environment.
        return new Session(t, side, side === 'without' && under === 'sanitizers' ? t.watched(server) : side === 'without' ? server : t.front(server, front));
    });
    await Promise.all(sides.map(script));
    return compare(...sides, loose);
}
