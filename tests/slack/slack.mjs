// slack.mjs --callgate PROGRAM [--flood COUNT]: approvals in Slack, against the stand-in: buttons, replies, quorum, ends,
// restarts, reconnects, forged answers, limits; or so many requests, with pauses that Slack asks for in between. Ends with
// 'N passed, N failed'.
import { spawn, execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { APP, BOT, Standin } from "./standin.mjs";

const callgate = path.resolve(process.argv[process.argv.indexOf("--callgate") + 1]);
let passed = 0, failed = 0;
const check = (what, ok, seen) => { ok ? passed++ : (failed++, console.log(`failed: ${what}`, JSON.stringify(seen)?.slice(0, 1500))); };
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
async function until(condition, ms = 30000) {
  for (const end = Date.now() + ms; Date.now() < end;) { if (await condition()) return true; await sleep(30); }
  return !!(await condition());
}

const top = fs.mkdtempSync(path.join(os.tmpdir(), "slack-"));
const state = path.join(top, "state"), people = path.join(top, "people.json"), policy = path.join(top, "policy.json");
fs.mkdirSync(state, { mode: 0o700 });
const secret = (name, text) => { const file = path.join(top, name); fs.writeFileSync(file, text + "\n", { mode: 0o600 }); return file; };
fs.writeFileSync(path.join(state, "slack.json"), JSON.stringify({ channel: "C0DEFAULT1", botTokenFile: secret("bot", BOT), appTokenFile: secret("app", APP) }), { mode: 0o600 });
fs.writeFileSync(people, JSON.stringify({ people: [
  { name: "ada", slack: "T1/U1" }, { name: "bob", slack: "T1/U2" }, { name: "eve", slack: "T1/U3", rules: ["other"] } ] }));
fs.writeFileSync(policy, JSON.stringify([
  { id: "ask", effect: "require_approval", match: { tool: "t" } },
  { id: "two", effect: "require_approval", match: { tool: "two" }, approvers: 2, scope: "call" } ]));

class Gate {
  constructor(channel = "local", thread, hold = 120) {
    this.answers = new Map();
    this.process = spawn(callgate, ["run", "--state", state, "--policy", policy, "--channel", channel, ...(thread ? ["--thread", thread] : []), "--hold-for", String(hold), "--", "cat"], { stdio: ["pipe", "pipe", "ignore"] });
    this.process.stdin.on("error", () => {});
    let rest = "";
    this.process.stdout.on("data", (data) => {
      const lines = (rest + data).split("\n"); rest = lines.pop();
      for (const line of lines) { const m = JSON.parse(line); this.twice += this.answers.has(m.id); this.answers.set(m.id, m); }
    });
    this.twice = 0;
    this.id = 0;
  }
  call(name, args) { this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: ++this.id, method: "tools/call", params: { name, arguments: args } }) + "\n"); return this.id; }
  ran(id) { return this.answers.get(id)?.method === "tools/call"; }
  denied(id) { const a = this.answers.get(id); return a && a.method === undefined; }
  stop() { this.process.stdin.end(); }
}

const slack = new Standin();
await slack.start();
let program, log = "";
function start() {
  program = spawn(callgate, ["slack", "--state", state, "--people", people, "--home", top, "--api", slack.api], { stdio: ["ignore", "pipe", "pipe"] });
  program.stderr.on("data", (d) => { log += d; });
  program.stdout.on("data", (d) => { log += d; });
}
async function killed() {
  program.kill("SIGKILL");
  await until(() => (program.exitCode !== null || program.signalCode !== null) && slack.sockets.size === 0);
}
const journal = () => fs.readFileSync(path.join(state, "journal.jsonl"), "utf8").trim().split("\n").map(JSON.parse);
const events = (kind) => journal().filter((e) => e.kind === kind);
const waiting = (m) => (m?.blocks ?? []).some((b) => b.type === "actions");
const text = (m) => JSON.stringify(m?.blocks ?? "");
const newest = () => slack.messages.at(-1);
async function asked(action) { const before = slack.messages.length; const value = action(); await until(() => slack.messages.length > before); await sleep(50); return [newest(), value]; }

function finish() {
  program.kill(); slack.stop();
  fs.rmSync(top, { recursive: true, force: true });
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

// Ten calls wait at a time; each is answered once, by whoever sees its message.
async function flood(count) {
  const pressed = new Set();
  slack.every = 40;
  for (let sent = 0; gate.answers.size < count;) {
    for (; sent < count && sent - gate.answers.size < 10; sent++) gate.call("t", { n: `flood ${sent}` });
    for (const m of slack.messages) {
      if (waiting(m) && !pressed.has(m.ts)) { pressed.add(m.ts); slack.press(m, "callgate:once"); }
    }
    const ended = gate.answers.size;
    if (!await until(() => gate.answers.size > ended || slack.messages.some((m) => waiting(m) && !pressed.has(m.ts)), 60000)) break;
  }
  check("every call was answered", gate.answers.size === count, [gate.answers.size, log.slice(-500)]);
  check("none twice", gate.twice === 0, gate.twice);
  check("every call ran", [...gate.answers.keys()].every((id) => gate.ran(id)));
  check("one message each", slack.messages.length === count, slack.messages.length);
  check("every message says how it ended", await until(() => slack.messages.every((m) => !waiting(m) && text(m).includes("was approved")), 120000),
        slack.messages.filter((m) => waiting(m)).length);
  check("one vote each", events("approval.approved").length === count, events("approval.approved").length);
  check("Slack asked for pauses", slack.paused >= count / 40, slack.paused);
}

start();
check("it connects", await until(() => slack.sockets.size === 1), log);
const gate = new Gate();
if (process.argv.includes("--flood")) { await flood(Number(process.argv[process.argv.indexOf("--flood") + 1])); gate.stop(); finish(); }

{ // once
  const [m, id] = await asked(() => gate.call("t", { path: "/x", old_string: "a\nb", new_string: "a\nc", evil: "<!channel> `x` \u202e" }));
  check("it is posted in the configured channel", m?.channel === "C0DEFAULT1" && waiting(m), m);
  check("the call is there, harmless", text(m).includes("+ c") && !text(m).includes("<!channel>") && text(m).includes("&lt;!channel&gt;") && text(m).includes("\\\\u{202E}"), m?.blocks);
  slack.press(m, "callgate:once");
  check("a button lets the call run", await until(() => gate.ran(id)), log);
  check("the message says so", await until(() => !waiting(m) && text(m).includes("was approved")), m);
  const [again] = await asked(() => gate.call("t", { path: "/x", old_string: "a\nb", new_string: "a\nc", evil: "<!channel> `x` \u202e" }));
  check("once is once", waiting(again), again);
  slack.press(again, "callgate:refuse");
  check("a refusal", await until(() => gate.denied(gate.id) && text(again).includes("was refused")), again);
}
{ // for the rule
  const [m, id] = await asked(() => gate.call("t", { n: 1 }));
  slack.press(m, "callgate:rule", { user: "U2" });
  check("for the rule", await until(() => gate.ran(id)), log);
  const next = gate.call("t", { n: 2 });
  check("covers the next call", await until(() => gate.ran(next)), log);
}
const second = new Gate("C0SESSION1", "1699999999.000100");
{ // in the session's own channel and thread; replies
  const [m, id] = await asked(() => second.call("t", { n: 3 }));
  check("it is posted in the session's thread", m?.channel === "C0SESSION1" && m.thread_ts === "1699999999.000100", m);
  const code = m.blocks.find((b) => b.type === "actions").elements[0].value;
  slack.say(m, `y ${code}`, { thread: "1699999999.000100", bot_id: "B9" });
  slack.say(m, `y ${code}`, { thread: "1699999999.000100", subtype: "message_changed" });
  slack.say(m, `y ${code}`, { thread: "1699999999.000100", edited: { user: "U1", ts: "1" } });
  slack.say(m, `yes please`, { thread: "1699999999.000100" });
  await sleep(600);
  check("bots, edits and talk count for nothing", !second.ran(id) && waiting(m), m);
  slack.say(m, ` Y ${code.toUpperCase()} `, { thread: "1699999999.000100" });
  check("a reply counts", await until(() => second.ran(id)), log);
}
{ // a quorum
  const [m, id] = await asked(() => second.call("two", { n: 4 }));
  slack.press(m, "callgate:once");
  check("one of two", await until(() => text(m).includes("1 of 2")), m);
  slack.press(m, "callgate:once");
  check("one person is told so", await until(() => slack.ephemeral.some((e) => e.text.includes("already"))), slack.ephemeral);
  check("and is one", !second.ran(id));
  slack.press(m, "callgate:rule", { user: "U2" });
  check("two of two", await until(() => second.ran(id)), log);
}
{ // a late answer: the caller gave up, the request stays open for the call when it comes again
  const hasty = new Gate("local", undefined, 2);
  const [m, id] = await asked(() => hasty.call("t", { n: 0 }));
  check("nobody answers in time", await until(() => hasty.denied(id)), log);
  check("the request stays open", waiting(m), m);
  slack.press(m, "callgate:once");
  check("the late answer is taken", await until(() => !waiting(m) && text(m).includes("was approved")), m);
  const again = hasty.call("t", { n: 0 });
  check("and the call passes when it comes again", await until(() => hasty.ran(again)), log);
  hasty.stop();
}
{ // who may not
  const [m, id] = await asked(() => second.call("two", { n: 5 }));
  slack.press(m, "callgate:once", { user: "U9" });
  slack.press(m, "callgate:once", { team: "T2" });
  slack.press(m, "callgate:once", { user: "U3" });
  slack.press(m, "callgate:once", { channel: "C0OTHER001" });
  slack.press(m, "callgate:once:zzzzz");
  slack.deliver("interactive", { type: "block_actions" });
  slack.deliver("interactive", { type: "view_submission" });
  for (const ws of slack.sockets) { ws.send("not json"); ws.send(Buffer.from([1, 2, 3])); ws.send('{"envelope_id":5,"type":"interactive"}'); }
  check("they are told", await until(() => slack.ephemeral.filter((e) => /may not|nothing any more/.test(e.text)).length >= 3), slack.ephemeral);
  check("and journalled", await until(() => events("approval.dropped").length >= 3), events("approval.dropped"));
  await sleep(600);
  check("nobody of these counts", waiting(m) && text(m).includes("0 of 2"), m);
  slack.press(m, "callgate:refuse");
  check("refused in the end", await until(() => second.denied(id)), log);
  slack.press(m, "callgate:once:" + "abcde");
  const [old] = [m];
  slack.press({ ...old, blocks: [] }, "callgate:once");
  await sleep(300);
  check("an old button does nothing", second.denied(id));
}
{ // elsewhere
  const [m, id] = await asked(() => second.call("two", { n: 6 }));
  const code = m.blocks.find((b) => b.type === "actions").elements[0].value;
  execFileSync(callgate, ["refuse", "--state", state, code], { stdio: "ignore" });
  check("an end elsewhere is shown", await until(() => text(m).includes("was refused")), m);
  check("the caller hears it", await until(() => second.denied(id)));
}
{ // reconnects
  const opened = slack.opened;
  slack.disconnect("refresh_requested");
  check("a new connection before the old one goes", await until(() => slack.opened > opened && slack.sockets.size >= 1), log);
  const [m, id] = await asked(() => second.call("two", { n: 7 }));
  const before = slack.envelopes;
  const envelope = slack.press(m, "callgate:once");
  await until(() => slack.acks.has(envelope));
  for (const ws of slack.sockets) ws.send(JSON.stringify({ envelope_id: envelope, type: "interactive", payload: { type: "block_actions", user: { id: "U2", team_id: "T1" }, container: { message_ts: m.ts, channel_id: m.channel }, actions: [{ action_id: `callgate:once:${m.blocks.find((b) => b.type === "actions").elements[0].value}` }] } }));
  await sleep(600);
  check("an envelope counts once", !second.ran(id) && slack.envelopes > before, m);
  const lost = slack.opened;
  slack.cut();
  check("a lost connection is made again", await until(() => slack.opened > lost && slack.sockets.size >= 1), log);
  slack.press(m, "callgate:once", { user: "U2" });
  check("and answers go on", await until(() => second.ran(id)), log);
}
{ // killed at each step
  const [m, id] = await asked(() => second.call("two", { n: 8 }));
  await killed();
  const posts = slack.messages.length;
  start();
  await until(() => slack.sockets.size >= 1);
  await sleep(900);
  check("nothing is posted twice", slack.messages.length === posts, slack.messages.length - posts);
  slack.press(m, "callgate:once");
  await until(() => text(m).includes("1 of 2"));
  await killed();
  start();
  await until(() => slack.sockets.size >= 1, 30000);
  await sleep(300);
  slack.press(m, "callgate:once");
  await sleep(500);
  check("a vote before the kill still counts, once", !second.ran(id), m);
  slack.press(m, "callgate:once", { user: "U2" });
  check("and the quorum is met", await until(() => second.ran(id)), log);
}
{ // limits
  slack.busy.set("chat.postMessage", 2);
  const [m, id] = await asked(() => second.call("two", { n: 9 }));
  check("a pause is obeyed and nothing lost", waiting(m) || (await until(() => waiting(newest()), 30000)), log);
  slack.press(newest(), "callgate:refuse");
  await until(() => second.denied(id));
  const [mid, midId] = await asked(() => second.call("two", { text: "&".repeat(9000) + "PAYLOAD" }));
  check("what fits over several blocks is whole", text(mid).includes("PAYLOAD") && waiting(mid), text(mid).slice(-600));
  slack.press(mid, "callgate:refuse");
  await until(() => second.denied(midId));
}
{ // too long for a message: the whole call is a snippet in the thread
  const shared = () => [...slack.files.values()].filter((f) => f.shared);
  for (const method of ["files.getUploadURLExternal", "upload", "files.completeUploadExternal"]) slack.busy.set(method, 1);
  const token = "ghp_" + "a1B2".repeat(9), body = "x<&".repeat(330000) + "\u202e" + token + " PAYLOAD";
  const [m, id] = await asked(() => second.call("two", { text: body }));
  check("no buttons before the snippet is there", shared().length > 0 || (!waiting(m) && text(m).includes("too long")), text(m).slice(0, 600));
  check("the message says that it is in the snippet", await until(() => waiting(m) && text(m).includes("in the snippet")), [text(m).slice(0, 600), log.slice(-500)]);
  const [file] = shared(), bytes = file?.bytes?.toString() ?? "";
  check("the snippet is in the session's thread", file?.channel === "C0SESSION1" && file.thread_ts === "1699999999.000100", file?.thread_ts);
  check("it holds all of the call", bytes.includes("x<&".repeat(330000)) && bytes.trimEnd().endsWith("PAYLOAD"), bytes.slice(-200));
  check("with what is unseen spelt out, and secrets masked", bytes.includes("\\u{202E}") && !bytes.includes(token), bytes.slice(-200));
  check("no token went to the upload's address", !slack.leaked);
  slack.press(m, "callgate:once");
  check("a vote", await until(() => text(m).includes("1 of 2") && waiting(m)), log.slice(-500));
  slack.press(m, "callgate:once", { user: "U2" });
  check("it is approved by button", await until(() => second.ran(id)), log.slice(-500));
  check("and the message says so", await until(() => !waiting(m) && text(m).includes("was approved") && text(m).includes("in the snippet")), text(m).slice(0, 600));
  check("one snippet", shared().length === 1, shared().length);

  const [larger, largerId] = await asked(() => gate.call("two", { text: "y".repeat(3000000) + "PAYLOAD" }));
  check("a call of three megabytes", await until(() => waiting(larger)), log.slice(-500));
  const last = shared().at(-1);
  check("is a plain file in the message's own thread", last.snippet === undefined && last.thread_ts === larger.ts && last.bytes.toString().trimEnd().endsWith("PAYLOAD"), last.thread_ts);
  await killed();
  start();
  await until(() => slack.sockets.size >= 1);
  slack.press(larger, "callgate:refuse");
  check("and answered after a restart", await until(() => gate.denied(largerId)), log.slice(-500));

  for (const refused of ["refused", "lost"]) {
    slack.uploads = refused;
    const [bad, badId] = await asked(() => second.call("two", { text: "x".repeat(200000) + "PAYLOAD" + refused }));
    check("an upload that is refused is told", await until(() => text(bad).includes("cannot be approved here") && text(bad).includes("callgate pending")), [text(bad).slice(0, 600), log.slice(-500)]);
    const code = bad.text.match(/\((\w+)\)/)[1], told = slack.ephemeral.length;
    for (const user of ["U1", "U2"]) {
      slack.press(bad, `callgate:once:${code}`, { user });
      slack.say(bad, `y ${code}`, { user });
    }
    check("there is no button, and no answer counts", await until(() => slack.ephemeral.length >= told + 4) && !waiting(bad) && !second.ran(badId), slack.ephemeral.slice(told));
    slack.say(bad, `n ${code}`);
    check("but a refusal", await until(() => second.denied(badId)), log.slice(-500));
  }
  slack.uploads = "taken";
}
second.stop(); gate.stop();
check("a gate that ends withdraws", await until(() => slack.messages.every((m) => !waiting(m))), slack.messages.filter(waiting));
{ // denials and refused reloads, to a channel of the operator's
  program.kill();
  await until(() => program.exitCode !== null || program.signalCode !== null);
  const settings = path.join(state, "slack.json");
  fs.writeFileSync(settings, JSON.stringify({ ...JSON.parse(fs.readFileSync(settings)), denials: "C0DENIALS1" }));
  fs.writeFileSync(policy, JSON.stringify([{ id: "no", effect: "deny", match: { tool: "rm" }, reason: "gone <!here> is gone" }]));
  const third = new Gate(), told = () => slack.messages.filter((m) => m.channel === "C0DENIALS1");
  third.denied(third.call("rm", { secret: "ghp_" + "a".repeat(36), n: 0 }));
  await until(() => third.denied(1));
  start();
  await until(() => slack.sockets.size === 1);
  await sleep(800);
  check("what was denied before is the journal's", told().length === 0, told());
  third.call("rm", { secret: "ghp_" + "a".repeat(36), n: 1 });
  check("a denial is told", await until(() => told().length === 1), log);
  const line = told()[0]?.text ?? "";
  check("with rule and reason, harmless", line.includes("denied rm by rule no: gone &lt;!here&gt; is gone") && line.includes("(local/"), line);
  check("and nothing of the input", !JSON.stringify(told()).includes("ghp_"), line);
  for (let n = 0; n < 200; n++) third.call("rm", { n });
  await until(() => third.denied(202));
  const more = () => told().slice(1).map((m) => (m.text.match(/denied rm/g) ?? []).length + Number(m.text.match(/and (\d+) more/)?.[1] ?? 0)).reduce((a, b) => a + b, 0);
  check("a flood is a few messages, and none is left out", await until(() => more() === 200, 30000) && told().length <= 8, [more(), told().length]);
  fs.writeFileSync(policy, "[");
  execFileSync("sh", ["-c", `${callgate} reload --state ${state} || true`]);
  check("a refused reload is told", await until(() => told().some((m) => m.text.includes("reload refused")), 30000), told().at(-1));
  third.stop();
}
{ // tokens
  slack.revoked = true;
  slack.cut();
  check("a revoked token ends it", await until(() => program.exitCode !== null, 30000), log);
  check("no token in the log", !log.includes("xoxb-") && !log.includes("xapp-"), log);
  check("no token in the journal", !fs.readFileSync(path.join(state, "journal.jsonl"), "utf8").includes("xoxb-"));
}
{ // check
  slack.revoked = false;
  const run = () => new Promise((done) => { const p = spawn(callgate, ["slack", "check", "--state", state, "--people", people, "--home", top, "--api", slack.api]); let out = ""; p.stdout.on("data", (d) => out += d); p.on("exit", (code) => done([code, out])); });
  const [code, out] = await run();
  check("check finds all in order", code === 0 && out.includes("may answer in Slack"), [code, out]);
  slack.scopes = "chat:write,channels:read";
  const [less, which] = await run();
  check("check names a scope that is missing", less === 1 && which.includes("files:write") && which.includes("MISSING"), [less, which]);
  slack.revoked = true;
  const [bad, why] = await run();
  check("check says what is missing", bad === 1 && why.includes("MISSING") && why.includes("socket_mode_enabled") && !why.includes("xoxb-test"), [bad, why]);
}
finish();
