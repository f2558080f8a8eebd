// The official SDK's client gets the same answers with the gate as without, call by call.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
    ResourceUpdatedNotificationSchema, CallToolResultSchema, CreateTaskResultSchema, GetTaskResultSchema,
    ListTasksResultSchema, CancelTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { assert, run, servers, test, until } from './lib.mjs';
import { both } from './same.mjs';

async function connect(s, { capabilities = {}, env, handlers = () => {} } = {}) {
    const [command, ...args] = s.command;
    const transport = s.tap(new StdioClientTransport({ command, args, stderr: 'pipe', env, cwd: s.dir }));
    transport.stderr?.resume();
    const client = new Client({ name: 'callgate-e2e', version: '1.0.0' }, { capabilities });
    handlers(client);
    await client.connect(transport);
    s.t.cleanup(() => client.close());
    s.note('initialize', { capabilities: client.getServerCapabilities(), version: client.getServerVersion(),
        instructions: client.getInstructions(), protocol: transport._protocolVersion });
    return client;
}

// Every tool that the server lists must be called by the script: a tool that is forgotten is a hole in the test.
function every(s, tools) {
    const called = new Set(s.steps.map(step => /^call (\S+)/.exec(step.name)?.[1]).filter(Boolean));
    assert.deepEqual(tools.map(tool => tool.name).filter(name => !called.has(name)), [], 'tools that were not called');
}

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

test('server-filesystem: every tool, with roots from the client', async t => {
    for (const side of ['without', 'withgate']) {
        const dir = t.path(side);
        mkdirSync(join(dir, 'files/sub'), { recursive: true });
        mkdirSync(join(dir, 'other'));
        writeFileSync(join(dir, 'files/one.txt'), 'first\nsecond\nthird\n');
        writeFileSync(join(dir, 'files/sub/two.txt'), 'zwei – ünïcode 🙂\u2028\n');
        writeFileSync(join(dir, 'files/dot.png'), PNG);
        writeFileSync(join(dir, 'secret.txt'), 'secret\n');
        writeFileSync(join(dir, 'other/three.txt'), 'three\n');
        symlinkSync('../secret.txt', join(dir, 'files/link'));
    }
    const count = await both(t, dir => servers.filesystem(join(dir, 'files')), async s => {
        let roots = [];
        const client = await connect(s, {
            capabilities: { roots: { listChanged: true } },
            handlers: c => c.setRequestHandler(ListRootsRequestSchema, () => ({ roots })),
        });
        const at = (...parts) => join(s.dir, 'files', ...parts);
        const call = (name, args, label = '') => s.step(`call ${name} ${label}`, () => client.callTool({ name, arguments: args }));
        const tools = await s.step('tools/list', () => client.listTools());
        await s.step('ping', () => client.ping());
        await call('list_allowed_directories', {});
        await call('read_file', { path: at('one.txt') });
        await call('read_text_file', { path: at('one.txt'), head: 1 }, 'head');
        await call('read_text_file', { path: at('sub/two.txt'), tail: 1 }, 'tail');
        await call('read_text_file', { path: at('one.txt'), head: 1, tail: 1 }, 'both');
        await call('read_text_file', { path: at('missing.txt') }, 'missing');
        await call('read_text_file', { path: at('../secret.txt') }, 'traversal');
        await call('read_text_file', { path: '/etc/passwd' }, 'outside');
        await call('read_text_file', { path: at('link') }, 'link out');
        await call('read_text_file', { path: 'file://' + at('one.txt') }, 'uri');
        await call('read_media_file', { path: at('dot.png') });
        await call('read_multiple_files', { paths: [at('one.txt'), at('missing.txt'), at('sub/two.txt')] });
        await call('write_file', { path: at('new.txt'), content: 'a\r\nb\u0000c "quoted" \\ \t\n' });
        await call('read_text_file', { path: at('new.txt') }, 'written');
        await call('edit_file', { path: at('one.txt'), edits: [{ oldText: 'second', newText: '2nd' }], dryRun: true }, 'dry');
        await call('edit_file', { path: at('one.txt'), edits: [{ oldText: 'second', newText: '2nd' }] });
        await call('edit_file', { path: at('one.txt'), edits: [{ oldText: 'absent', newText: 'x' }] }, 'no match');
        await call('create_directory', { path: at('deep/er/est') });
        await call('list_directory', { path: at() });
        await call('list_directory_with_sizes', { path: at(), sortBy: 'size' });
        await call('directory_tree', { path: at(), excludePatterns: ['sub'] });
        await call('move_file', { source: at('new.txt'), destination: at('deep/moved.txt') });
        await call('move_file', { source: at('one.txt'), destination: at('deep/moved.txt') }, 'onto a file');
        await call('search_files', { path: at(), pattern: '**/*.txt' });
        await call('get_file_info', { path: at('deep/moved.txt') });
        await call('no_such_tool', { path: at() }, 'unknown');
        await call('read_text_file', {}, 'no path');
        await call('read_text_file', { path: 7 }, 'number');
        await s.step('call without arguments', () => client.callTool({ name: 'list_allowed_directories' }));
        // The client's roots replace the server's directories.
        roots = [{ uri: pathToFileURL(join(s.dir, 'other')).href, name: 'other' }];
        await client.sendRootsListChanged();
        await until('the new roots', async () => (await client.callTool({ name: 'list_allowed_directories', arguments: {} }))
            .content[0].text.includes('/other'));
        s.wire = s.wire.filter(m => !JSON.stringify(m).includes('Allowed directories:'));
        await call('list_allowed_directories', {}, 'after roots');
        await call('read_text_file', { path: join(s.dir, 'other/three.txt') }, 'new root');
        await call('read_text_file', { path: at('one.txt') }, 'old root');
        every(s, tools.tools);
    }, { loose: m => m.method === undefined });
    assert.ok(count >= 30, `${count} steps`);
});

test('server-memory: every tool, and its resources', async t => {
    for (const side of ['without', 'withgate']) mkdirSync(t.path(side));
    await both(t, () => servers.memory(), async s => {
        const client = await connect(s, { env: { ...process.env, MEMORY_FILE_PATH: join(s.dir, 'memory.jsonl') } });
        const call = (name, args, label = '') => s.step(`call ${name} ${label}`, () => client.callTool({ name, arguments: args }));
        const tools = await s.step('tools/list', () => client.listTools());
        await s.step('resources/list', () => client.listResources());
        await s.step('resources/templates/list', () => client.listResourceTemplates());
        await call('read_graph', {}, 'empty');
        await call('create_entities', { entities: [
            { name: 'Gate', entityType: 'thing', observations: ['stands', 'has one door'] },
            { name: 'Käfer', entityType: 'animal', observations: [] } ] });
        await call('create_relations', { relations: [{ from: 'Käfer', to: 'Gate', relationType: 'crawls_through' }] });
        await call('add_observations', { observations: [{ entityName: 'Gate', contents: ['is shut'] }] });
        await call('add_observations', { observations: [{ entityName: 'Nobody', contents: ['x'] }] }, 'unknown');
        await call('read_graph', {});
        await call('search_nodes', { query: 'door' });
        await call('open_nodes', { names: ['Gate', 'Nobody'] });
        for (const resource of (await client.listResources()).resources) {
            await s.step(`resources/read ${resource.uri}`, () => client.readResource({ uri: resource.uri }));
            await s.step(`resources/subscribe ${resource.uri}`, () => client.subscribeResource({ uri: resource.uri }));
            await s.step(`resources/unsubscribe ${resource.uri}`, () => client.unsubscribeResource({ uri: resource.uri }));
        }
        await call('delete_observations', { deletions: [{ entityName: 'Gate', observations: ['stands'] }] });
        await call('delete_relations', { relations: [{ from: 'Käfer', to: 'Gate', relationType: 'crawls_through' }] });
        await call('delete_entities', { entityNames: ['Gate'] });
        await call('read_graph', {}, 'at the end');
        await call('create_entities', { entities: 'no list' }, 'wrong type');
        every(s, tools.tools);
    });
});

// What a client can offer, server-everything asks for.
const OFFERS = {
    sampling: {}, roots: { listChanged: true }, elicitation: { form: {}, url: {} },
};
function answering(s) {
    s.asked = [];
    return client => {
        client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///srv/one', name: 'one' }, { uri: 'file:///srv/two' }] }));
        client.setRequestHandler(CreateMessageRequestSchema, request => {
            s.asked.push(request);
            return { role: 'assistant', model: 'test', stopReason: 'endTurn', content: { type: 'text', text: 'sampled' } };
        });
        client.setRequestHandler(ElicitRequestSchema, request => {
            s.asked.push(request);
            if (request.params.mode === 'url') return { action: 'accept' };
            if (request.params.requestedSchema?.properties?.interpretation) return { action: 'accept', content: { interpretation: 'technical' } };
            return { action: 'accept', content: { name: 'Ada', check: true } };
        });
    };
}

test('server-everything: every tool, sampling, elicitation, roots', async t => {
    for (const side of ['without', 'withgate']) mkdirSync(t.path(side));
    await both(t, () => servers.everything(), async s => {
        const client = await connect(s, { capabilities: OFFERS, handlers: answering(s) });
        const call = (name, args, label = '', options) => s.step(`call ${name} ${label}`, () => client.callTool({ name, arguments: args }, undefined, options));
        await s.heard('the roots to be asked for', m => m.method === 'notifications/message' && /Roots updated/.test(m.params.data));
        const tools = await s.step('tools/list', () => client.listTools());
        await call('echo', { message: 'hello \u2028 "\\u0000" \ud83d\ude00' });
        await call('echo', { message: 'x'.repeat(1 << 20) }, 'a megabyte');
        await call('echo', {}, 'without its argument');
        for (const messageType of ['error', 'success', 'debug']) await call('get-annotated-message', { messageType, includeImage: messageType === 'error' }, messageType);
        await call('get-env', {});
        await call('get-resource-links', { count: 4 });
        await call('get-resource-reference', { resourceType: 'Text', resourceId: 3 }, 'text');
        await call('get-resource-reference', { resourceType: 'Blob', resourceId: 4 }, 'blob');
        await call('get-structured-content', { location: 'Chicago' });
        await call('get-sum', { a: 0.1, b: 1e21 });
        await call('get-tiny-image', {});
        await call('gzip-file-as-resource', { name: 'a.gz', data: 'data:text/plain,hello', outputType: 'resource' }, 'inline');
        await call('gzip-file-as-resource', { name: 'b.gz', data: 'data:text/plain,hello' }, 'link');
        await s.step('resources/read the session resource', () => client.readResource({ uri: 'demo://resource/session/b.gz' }));
        await call('get-roots-list', {});
        await call('trigger-sampling-request', { prompt: 'say something', maxTokens: 7 });
        await call('trigger-elicitation-request', {});
        await call('trigger-url-elicitation', { url: 'https://example.org/a', elicitationId: 'e1' }, 'request');
        await call('trigger-url-elicitation', { url: 'https://example.org/b', elicitationId: 'e2', errorPath: true }, 'error -32042');
        await call('trigger-url-elicitation', { url: 'https://example.org/b', elicitationId: 'e2', errorPath: true }, 'error, again');
        await call('trigger-long-running-operation', { duration: 0.2, steps: 2 }, 'without a token');
        await call('simulate-research-query', { topic: 'gates' }, 'not as a task');
        // The simulations say something at once, then every five seconds: on and off again.
        await s.step('logging/setLevel', () => client.setLoggingLevel('debug'));
        await call('toggle-simulated-logging', {}, 'on');
        await call('toggle-simulated-logging', {}, 'off');
        await s.step('resources/subscribe', () => client.subscribeResource({ uri: 'demo://resource/dynamic/text/1' }));
        await call('toggle-subscriber-updates', {}, 'on');
        await call('toggle-subscriber-updates', {}, 'off');
        await s.heard('an update', m => m.method === 'notifications/resources/updated');
        s.note('what the server asked', s.asked);
        every(s, tools.tools);
    // A simulated log line is of a random level.
    }, { loose: m => m.method === 'notifications/message' && /level/i.test(String(m.params.data)) });
});

test('server-everything: resources, prompts, completion, logging level', async t => {
    for (const side of ['without', 'withgate']) mkdirSync(t.path(side));
    await both(t, () => servers.everything(), async s => {
        const client = await connect(s);
        s.logged = 0;
        client.setNotificationHandler(LoggingMessageNotificationSchema, () => { s.logged++; });
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => {});
        const resources = await s.step('resources/list', () => client.listResources());
        await s.step('resources/templates/list', () => client.listResourceTemplates());
        for (const { uri } of resources.resources) await s.step(`resources/read ${uri}`, () => client.readResource({ uri }));
        await s.step('resources/read text', () => client.readResource({ uri: 'demo://resource/dynamic/text/1' }));
        await s.step('resources/read blob', () => client.readResource({ uri: 'demo://resource/dynamic/blob/2' }));
        await s.step('resources/read bad', () => client.readResource({ uri: 'demo://resource/dynamic/text/none' }));
        await s.step('resources/read unknown', () => client.readResource({ uri: 'demo://nowhere' }));
        await s.step('resources/subscribe', () => client.subscribeResource({ uri: 'demo://resource/dynamic/text/1' }));
        await s.step('resources/unsubscribe', () => client.unsubscribeResource({ uri: 'demo://resource/dynamic/text/1' }));
        const prompts = await s.step('prompts/list', () => client.listPrompts());
        const given = {
            'simple-prompt': {}, 'args-prompt': { city: 'Köln', state: 'NRW' },
            'completable-prompt': { department: 'Engineering', name: 'Alice' },
            'resource-prompt': { resourceType: 'Text', resourceId: '5' },
        };
        for (const { name } of prompts.prompts) {
            assert.ok(given[name], `no arguments for the prompt ${name}`);
            await s.step(`prompts/get ${name}`, () => client.getPrompt({ name, arguments: given[name] }));
        }
        await s.step('prompts/get without what it needs', () => client.getPrompt({ name: 'args-prompt', arguments: {} }));
        await s.step('prompts/get unknown', () => client.getPrompt({ name: 'nobody' }));
        await s.step('completion of a prompt', () => client.complete({ ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'E' } }));
        await s.step('completion with context', () => client.complete({ ref: { type: 'ref/prompt', name: 'completable-prompt' },
            argument: { name: 'name', value: '' }, context: { arguments: { department: 'Sales' } } }));
        await s.step('completion of a resource', () => client.complete({ ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' }, argument: { name: 'resourceId', value: '7' } }));
        await s.step('completion unknown', () => client.complete({ ref: { type: 'ref/prompt', name: 'nobody' }, argument: { name: 'x', value: '' } }));
        for (const level of ['error', 'debug']) await s.step(`logging/setLevel ${level}`, () => client.setLoggingLevel(level));
        await s.step('ping', () => client.ping());
    });
});

test('server-everything: progress and cancellation', async t => {
    for (const side of ['without', 'withgate']) mkdirSync(t.path(side));
    await both(t, () => servers.everything(), async s => {
        const client = await connect(s);
        const long = { name: 'trigger-long-running-operation', arguments: { duration: 0.4, steps: 4 } };
        // What the client's handler sees of it is a matter of the SDK's timing: the wire is compared.
        await s.step('a call with progress', () => client.callTool(long, undefined, { onprogress: () => {} }));
        const stop = new AbortController();
        const slow = s.step('a cancelled call', () => client.callTool({ ...long, arguments: { duration: 1, steps: 5 } }, undefined,
            { signal: stop.signal, onprogress: () => stop.abort('enough') }));
        await slow;
        await s.step('a call after it', () => client.callTool({ name: 'echo', arguments: { message: 'still here' } }));
        // Several at once, answered out of order.
        await Promise.all([0.3, 0.2, 0.1].map((duration, i) => client.callTool({ ...long, arguments: { duration, steps: 1 } })
            .then(answer => { s[`at${i}`] = answer; })));
        s.note('three at once', [s.at0, s.at1, s.at2]);
        await s.step('a call that the client gives up', () => client.callTool({ ...long, arguments: { duration: 0.5, steps: 5 } }, undefined, { timeout: 50 }));
        await s.step('ping', () => client.ping());
    // After a cancellation the server goes on to the end or not, as its timers will.
    }, { loose: m => m.method === 'notifications/progress' && m.params.total === 5 });
});

test('server-everything: tasks', async t => {
    for (const side of ['without', 'withgate']) mkdirSync(t.path(side));
    await both(t, () => servers.everything(), async s => {
        const client = await connect(s, { capabilities: OFFERS, handlers: answering(s) });
        await s.heard('the roots to be asked for', m => m.method === 'notifications/message' && /Roots updated/.test(m.params.data));
        const task = (ambiguous) => client.request({ method: 'tools/call',
            params: { name: 'simulate-research-query', arguments: { topic: 'gates', ambiguous }, task: { ttl: 60_000 } } }, CreateTaskResultSchema);
        const first = await s.step('call simulate-research-query as a task', () => task(true));
        const second = await s.step('call simulate-research-query to be cancelled', () => task(false));
        await s.step('tasks/get', () => client.request({ method: 'tasks/get', params: { taskId: first.task.taskId } }, GetTaskResultSchema));
        await s.step('tasks/list', () => client.request({ method: 'tasks/list', params: {} }, ListTasksResultSchema));
        await s.step('tasks/cancel', () => client.request({ method: 'tasks/cancel', params: { taskId: second.task.taskId } }, CancelTaskResultSchema));
        await s.step('tasks/get unknown', () => client.request({ method: 'tasks/get', params: { taskId: 'none' } }, GetTaskResultSchema));
        // Blocks until the task is done; the elicitation comes through it.
        await s.step('tasks/result', () => client.request({ method: 'tasks/result', params: { taskId: first.task.taskId } }, CallToolResultSchema));
        s.note('what the server asked', s.asked);
    }, { loose: m => m.method === 'notifications/tasks/status' });
});

await run();
