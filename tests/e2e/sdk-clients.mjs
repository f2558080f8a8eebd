// Clients of the Python, Go and Rust SDKs see the same through the gate as without it, answer by answer.
//
// Each client is a program that takes steps with a server and prints what its SDK made of the answers. What cannot be
// built here (no toolchain, or an older one) is told as skipped.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { assert, allowAll, here, run, servers, skip, test } from './lib.mjs';

const clients = join(here, 'clients');
const steps = join(clients, 'steps.json');
const python = resolve(here, '../../.venv/bin/python');

function tool(command, args, options = {}) {
    return spawnSync(command, args, { encoding: 'utf8', timeout: 600_000, ...options });
}

// A program in a folder outside the source tree, so that nothing of it stands in a clone afterwards.
function build(t, name, command, args, cwd) {
    const out = t.path('build');
    mkdirSync(out, { recursive: true });
    const done = tool(command, args(out), { cwd });
    if (done.error || done.status !== 0) skip(`the ${name} client cannot be built here: ${(done.error?.message ?? done.stderr).trim().split('\n').pop()}`);
    return out;
}

const programs = {
    Python: () => {
        if (!existsSync(python) || tool(python, ['-c', 'import mcp']).status !== 0) skip('the Python SDK is not installed (tools/deps.sh)');
        return [python, join(clients, 'client.py')];
    },
    Go: t => [join(build(t, 'Go', 'go', out => ['build', '-mod=readonly', '-o', join(out, 'client'), '.'], join(clients, 'go')), 'client')],
    Rust: t => [join(build(t, 'Rust', 'cargo', out => ['build', '--locked', '--quiet', '--target-dir', out], join(clients, 'rust')), 'debug/client')],
};

const of = {
    everything: () => servers.everything(),
};

for (const [name, program] of Object.entries(programs)) {
    test(`${name}: the same answers with and without the gate`, t => {
        const client = program(t);
        for (const [server, command] of Object.entries(of)) {
            const take = words => {
                const done = tool(client[0], [...client.slice(1), steps, ...words], { timeout: 120_000 });
                assert.equal(done.status, 0, `${name} with ${server}: ${done.error ?? done.stderr}`);
                return done.stdout.split('\n').filter(Boolean).map(JSON.parse);
            };
            const direct = take(command());
            assert.equal(direct.length, JSON.parse(readFileSync(steps, 'utf8')).length);
            assert.ok(direct.some(({ got }) => JSON.stringify(got).includes('☃')), 'the steps do something');
            assert.deepEqual(take(t.front(command(), { rules: allowAll })), direct, `${name} with ${server}`);
        }
    }, { timeout: 900_000 });
}

await run();
