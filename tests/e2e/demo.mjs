// The story that `make demo` tells: an agent's MCP client, the gate, and the real filesystem server.
// Exits 1 if anything differs from what it should show.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const callgate = resolve(process.argv[2]);
const dir = realpathSync(process.argv[3]);
const at = name => join(dir, name);
const short = text => text.replaceAll(dir + '/', '').replaceAll(dir, '.');
const say = (text = '') => console.log(text);
const more = text => say(short(text).trimEnd().replace(/^/gm, '      '));

// The files, and a small policy for them.
mkdirSync(at('project'));
mkdirSync(at('private'));
mkdirSync(at('state'), { mode: 0o700 });
writeFileSync(at('project/readme.txt'), 'Hello from the project.\n');
writeFileSync(at('private/diary.txt'), 'Dear diary, nobody may read this.\n');
const rules = [
    { id: 'no-diary', effect: 'deny', match: { pathPrefix: at('private') }, reason: 'private is private' },
    { id: 'no-env', effect: 'deny', match: { pathComponent: '.env*' }, reason: 'environment files hold secrets' },
    { id: 'ask-to-write', effect: 'require_approval', match: { tool: 'write_file', pathPrefix: at('project') } },
    { id: 'project', effect: 'auto_approve', match: { pathPrefix: at('project') } },
    { id: 'nothing-else', effect: 'deny', match: { pathPrefix: '/' }, reason: 'outside the project' },
];
writeFileSync(at('policy.json'), JSON.stringify({ rules }, null, 2) + '\n');

function cli(...args) {
    const done = spawnSync(callgate, args, { encoding: 'utf8' });
    assert.equal(done.status, 0, `callgate ${args.join(' ')}: exit ${done.status}, ${done.stdout}${done.stderr}`);
    return done.stdout;
}
const state = ['--state', at('state')];
const journal = () => at(join('state', readdirSync(at('state')).find(name => /\.jsonl$/.test(name))));
const events = () => readFileSync(journal(), 'utf8').trim().split('\n').map(JSON.parse);
const text = result => result.content.map(item => item.text).join('\n');

const server = [process.execPath, join(dirname(fileURLToPath(import.meta.url)),
    'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js'), dir];
const transport = new StdioClientTransport({ command: callgate, stderr: 'pipe', cwd: dir,
    args: ['run', '--policy', at('policy.json'), ...state, '--server', 'fs', '--', ...server] });
let stderr = '';
transport.stderr.on('data', data => { stderr += data; });
const client = new Client({ name: 'demo-agent', version: '1.0.0' });

say('An agent uses the real MCP filesystem server, with the gate where the server\'s command stood:');
say('   callgate run --policy policy.json --server fs -- mcp-server-filesystem .');
say();
say('policy.json, in short (the first rule that matches decides):');
for (const { id, effect, match } of rules) {
    say(`   ${id.padEnd(13)} ${effect.padEnd(17)} ${short(Object.entries(match).map(([key, value]) => `${key} ${value}`).join(', '))}`);
}

async function denied(title, name, args, rule) {
    say();
    say(title);
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError, true, `this should have been denied: ${JSON.stringify(result)}`);
    const event = events().findLast(one => one.kind === 'policy.deny');
    assert.equal(event.ruleId, rule);
    say('   DENIED');
    more(`the agent hears:    ${text(result)}`);
    more(`the journal says:   rule ${event.ruleId}: ${event.reason} (${event.paths.join(', ')})`);
    return result;
}

try {
    await client.connect(transport);

    say();
    say('1. The agent reads project/readme.txt');
    const read = await client.callTool({ name: 'read_text_file', arguments: { path: at('project/readme.txt') } });
    assert.equal(text(read), 'Hello from the project.\n');
    say('   ALLOWED');
    more(`the agent gets:     ${text(read)}`);

    const one = await denied('2. The agent reads project/../private/diary.txt', 'read_text_file',
        { path: dir + '/project/../private/diary.txt' }, 'no-diary');
    const two = await denied('3. The agent writes project/.env, which does not exist yet', 'write_file',
        { path: at('project/.env'), content: 'TOKEN=1\n' }, 'no-env');
    assert.deepEqual(two, one, 'two denials differ');
    assert.ok(!existsSync(at('project/.env')));

    say();
    say('4. The agent writes project/plan.txt');
    const write = client.callTool({ name: 'write_file', arguments: { path: at('project/plan.txt'), content: 'Step one.\n' } });
    write.catch(() => {});
    let held = [];
    for (const end = Date.now() + 10_000; held.length === 0 && Date.now() < end;) {
        await new Promise(done => setTimeout(done, 30));
        held = JSON.parse(cli('pending', '--format', 'json', ...state));
    }
    assert.equal(held.length, 1, 'the write is not held');
    assert.ok(!existsSync(at('project/plan.txt')), 'a held write was carried out');
    say('   HELD, until a person answers. From another terminal:');
    say('   $ callgate pending');
    more(cli('pending', ...state));
    say(`   $ callgate approve ${held[0].code}`);
    more(cli('approve', held[0].code, ...state));
    const written = await write;
    assert.ok(!written.isError, text(written));
    assert.equal(readFileSync(at('project/plan.txt'), 'utf8'), 'Step one.\n');
    say('   ALLOWED');
    more(`the agent gets:     ${text(written)}`);

    await client.close();
    say();
    say('5. Everything is on record, and the record shows tampering');
    say('   $ callgate journal verify');
    const verified = cli('journal', 'verify', journal());
    assert.match(verified, /^OK: \d+ event\(s\) verified in /);
    more(verified);
    const changed = readFileSync(journal(), 'utf8').replace('private is private', 'private is public!');
    writeFileSync(at('changed.jsonl'), changed);
    say('   Then somebody changes one word in a copy, the reason of the first deny:');
    say('   $ callgate journal verify changed.jsonl');
    const fault = spawnSync(callgate, ['journal', 'verify', at('changed.jsonl')], { encoding: 'utf8' });
    assert.equal(fault.status, 1, 'a changed journal is verified');
    more(fault.stderr.split('\n')[0]);
    const decisions = events().filter(event => /^policy\.(allow|deny|require)$/.test(event.kind)).map(event => event.kind);
    assert.deepEqual(decisions, ['policy.allow', 'policy.deny', 'policy.deny', 'policy.require', 'policy.allow']);
    assert.equal(readFileSync(at('private/diary.txt'), 'utf8'), 'Dear diary, nobody may read this.\n');
} catch (error) {
    await client.close().catch(() => {});
    console.error(`\ndemo: FAILED: ${error.message}\n${stderr}`);
    process.exit(1);
}
