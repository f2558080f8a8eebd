// A server of the 2026-07-28 era (SDK v2), which also serves older clients.
import { McpServer, ResourceTemplate, acceptedContent, completable, createRequestStateCodec, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const codec = createRequestStateCodec({ key: 'a key of thirty-two bytes or more, for tests' });

serveStdio(() => {
    const server = new McpServer({ name: 'v2', version: '1.0.0' }, {
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, prompts: {}, completions: {}, logging: {} },
        requestState: { verify: codec.verify }, instructions: 'Only for tests.',
    });

    server.registerTool('add', { description: 'Adds', inputSchema: z.object({ a: z.number(), b: z.number() }),
        outputSchema: z.object({ sum: z.number() }) },
    ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }));

    server.registerTool('fail', { description: 'Fails' }, () => { throw new Error('as it should'); });

    // Asks before it acts: one round with a question, a second with state as well.
    server.registerTool('deploy', { description: 'Needs a yes', inputSchema: z.object({ where: z.string() }) }, async ({ where }, ctx) => {
        const sure = z.object({ sure: z.boolean() });
        const first = acceptedContent(ctx.mcpReq.inputResponses, 'sure', sure);
        if (!first) {
            return inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: `Deploy to ${where}?`, requestedSchema: sure }) } });
        }
        const state = ctx.mcpReq.requestState();
        if (!state) {
            return inputRequired({
                inputRequests: { sure: inputRequired.elicit({ message: 'Really?', requestedSchema: sure }), roots: inputRequired.listRoots() },
                requestState: await codec.mint({ where, round: 2 }, ctx),
            });
        }
        return { content: [{ type: 'text', text: `deployed to ${state.where}, ${first.sure}` }] };
    });

    server.registerTool('sample', { description: 'Asks the client for a text' }, (_, ctx) => {
        const given = ctx?.mcpReq?.inputResponses ?? _?.mcpReq?.inputResponses;
        if (!given) {
            return inputRequired({ inputRequests: { text: inputRequired.createMessage({ maxTokens: 5,
                messages: [{ role: 'user', content: { type: 'text', text: 'Say something' } }] }) } });
        }
        return { content: [{ type: 'text', text: JSON.stringify(given) }] };
    });

    server.registerTool('steps', { description: 'Reports progress', inputSchema: z.object({ steps: z.number(), ms: z.number().default(5) }) },
        async ({ steps, ms }, ctx) => {
            const progressToken = ctx.mcpReq._meta?.progressToken;
            for (let i = 1; i <= steps; i++) {
                if (ctx.mcpReq.signal.aborted) break;
                if (progressToken !== undefined) {
                    await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: i, total: steps, message: `step ${i}` } });
                }
                await new Promise(done => setTimeout(done, ms));
            }
            return { content: [{ type: 'text', text: `${steps} steps` }] };
        });

    // Changes the list of tools and a resource, for those who listen.
    let more = null;
    server.registerTool('grow', { description: 'Adds a tool' }, async () => {
        more ??= server.registerTool('grown', { description: 'Was added' }, () => ({ content: [{ type: 'text', text: 'grown' }] }));
        return { content: [{ type: 'text', text: 'more' }] };
    });

    server.registerResource('one', 'test://one', { mimeType: 'text/plain' }, uri => ({ contents: [{ uri: uri.href, text: 'the one' }] }));
    server.registerResource('many', new ResourceTemplate('test://many/{n}', { list: undefined, complete: { n: value => [`${value}1`, `${value}2`] } }),
        { mimeType: 'text/plain' }, (uri, { n }) => ({ contents: [{ uri: uri.href, text: `number ${n}` }] }));
    server.registerPrompt('greet', { description: 'Greets', argsSchema: z.object({ who: completable(z.string(), value => [`${value}a`, `${value}b`]) }) },
        ({ who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello ${who}` } }] }));
    server.registerPrompt('ask', { description: 'Needs an answer first' }, (...given) => {
        const ctx = given.at(-1);
        const colour = acceptedContent(ctx.mcpReq.inputResponses, 'colour', z.object({ colour: z.string() }));
        if (!colour) {
            return inputRequired({ inputRequests: { colour: inputRequired.elicit({ message: 'Which colour?',
                requestedSchema: z.object({ colour: z.string() }) }) } });
        }
        return { messages: [{ role: 'user', content: { type: 'text', text: `Paint it ${colour.colour}` } }] };
    });
    return server;
});
