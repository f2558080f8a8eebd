// The official clients against the stand-in: what it gives them is what they expect. Ends with 'N passed, N failed'.
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { APP, BOT, Standin } from "./standin.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(path.join(here, "../e2e/package.json"));
const { SocketModeClient } = require("@slack/socket-mode");
const { WebClient, LogLevel } = require("@slack/web-api");
let passed = 0, failed = 0;
const check = (what, ok, seen) => { ok ? passed++ : (failed++, console.log(`failed: ${what}`, seen)); };

const slack = new Standin();
await slack.start();
const web = new WebClient(BOT, { slackApiUrl: slack.api, logLevel: LogLevel.ERROR, retryConfig: { retries: 1 } });
check("auth.test", (await web.auth.test()).team_id === "T1");
const posted = await web.chat.postMessage({ channel: "C1", text: "x", blocks: [{ type: "section", text: { type: "mrkdwn", text: "x" } }] });
check("chat.postMessage", posted.ok && slack.messages.length === 1, posted);
check("chat.update", (await web.chat.update({ channel: "C1", ts: posted.ts, text: "y", blocks: [] })).ok);
const long = await web.chat.postMessage({ channel: "C1", text: "x", blocks: [{ type: "section", text: { type: "mrkdwn", text: "x".repeat(3001) } }] }).catch((e) => e.data);
check("a block that is too long", long.error === "invalid_blocks", long);
slack.busy.set("chat.postMessage", 1);
check("a pause is obeyed", (await web.chat.postMessage({ channel: "C1", text: "x" })).ok);
const wrong = await new WebClient("xoxb-wrong", { slackApiUrl: slack.api, logLevel: LogLevel.ERROR }).auth.test().catch((e) => e.data);
check("a wrong token", wrong.error === "invalid_auth", wrong);

const socket = new SocketModeClient({ appToken: APP, clientOptions: { slackApiUrl: slack.api }, logLevel: LogLevel.ERROR });
const got = [];
socket.on("interactive", async ({ body, ack }) => { got.push(body); await ack(); });
socket.on("message", async ({ event, ack }) => { got.push(event); await ack(); });
await socket.start();
slack.messages[0].blocks = [{ type: "actions", elements: [{ type: "button", action_id: "a:b", value: "v", text: { type: "plain_text", text: "x" } }] }];
const id = slack.press(slack.messages[0], "a");
slack.say(slack.messages[0], "y abcde");
for (let i = 0; i < 50 && got.length < 2; i++) await new Promise((r) => setTimeout(r, 50));
check("a button", got[0]?.type === "block_actions" && got[0].actions[0].value === "v", got[0]);
check("a message", got[1]?.text === "y abcde", got[1]);
check("an ack", slack.acks.get(id) === 1, [...slack.acks]);
await socket.disconnect();
slack.stop();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
