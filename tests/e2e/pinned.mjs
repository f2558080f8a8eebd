// Every real server of the suite behind `run --tools pin`: accepted as it is when it is first seen, run again as it was accepted,
// denied where what was accepted is another, accepted anew, and forgotten.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, run, servers, skip, test } from './lib.mjs';

const peers = {
    filesystem: { command: t => servers.filesystem(t.path('work')), tool: 'read_text_file', args: t => ({ path: t.path('work', 'a.txt') }) },
    everything: { command: () => servers.everything(), tool: 'echo', args: () => ({ message: 'hello' }) },
    memory: { command: () => servers.memory(), tool: 'read_graph', args: () => ({}) },
    v2: { command: () => servers.v2(), tool: null },
};

const ask = async (peer, ...what) => (await peer.request(...what)).message;

async function open(t, name) {
    const peer = t.raw(t.front(peers[name].command(t), { name, args: ['--tools', 'pin'] }));
    const hello = await ask(peer, 1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } });
    if (hello.error) return null; // a server of the later era alone: its own tests have it
    peer.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return peer;
}

// All names that the client is shown.
async function listed(peer) {
    const names = [];
    for (let id = 100, cursor; ; id++) {
        const { result } = await ask(peer, id, 'tools/list', cursor ? { cursor } : {});
        names.push(...result.tools.map(tool => tool.name));
        cursor = result.nextCursor;
        if (!cursor) return names;
    }
}

for (const [name, { command, tool, args }] of Object.entries(peers)) {
    test(`${name}: pinned, run, unpinned`, async t => {
        t.write('work/a.txt', 'hello');
        if (!existsSync(command(t)[1])) skip('its npm package is not installed');
        const first = await open(t, name);
        if (!first) skip('it does not speak this revision');
        const names = await listed(first);
        const called = tool ?? names[0];
        const wanted = tool ? args(t) : {};
        const before = await ask(first, 2, 'tools/call', { name: called, arguments: wanted });
        assert.ok(!JSON.stringify(before).includes('The call was denied'), JSON.stringify(before));
        first.child.stdin.end();
        await first.exit;
        const accepted = t.cli('tools', name);
        assert.equal(accepted.code, 0, accepted.stdout);
        assert.equal(accepted.stdout.split('\n').filter(line => line.startsWith('  accepted')).length, new Set(names).size, accepted.stdout);

        // Again: the very same tools, before any list.
        const again = await open(t, name);
        const after = await ask(again, 2, 'tools/call', { name: called, arguments: wanted });
        assert.ok(!JSON.stringify(after).includes('The call was denied'), JSON.stringify(after));
        assert.deepEqual(await listed(again), names);
        again.child.stdin.end();
        await again.exit;

        // What was accepted was another: the server has changed, as far as anyone can tell.
        const book = join(t.state, 'tools', `${name}.json`);
        const kept = JSON.parse(readFileSync(book, 'utf8'));
        for (const entry of kept.tools) {
            if (entry.name === called) entry.accepted = entry.accepted.replace('"name":', '"title":"what it once was","name":');
        }
        writeFileSync(book, JSON.stringify(kept));
        const changed = await open(t, name);
        const refused = await ask(changed, 2, 'tools/call', { name: called, arguments: wanted });
        assert.ok(refused.result?.isError && JSON.stringify(refused).includes('The call was denied'), JSON.stringify(refused));
        assert.deepEqual(await listed(changed), names.filter(one => one !== called));
        assert.equal(t.cli('tools', name).code, 1);
        assert.equal(t.cli('tools', 'accept', name, called).code, 0);
        const then = await ask(changed, 3, 'tools/call', { name: called, arguments: wanted });
        assert.ok(!JSON.stringify(then).includes('The call was denied'), JSON.stringify(then));
        changed.child.stdin.end();
        await changed.exit;
        assert.equal(t.cli('tools', 'forget', name).code, 0);
        assert.equal(t.cli('tools', name).code, 1);
        const unpinned = await open(t, name);
        assert.deepEqual(await listed(unpinned), names);
        unpinned.child.stdin.end();
        await unpinned.exit;
        t.verify();
    });
}

await run();
