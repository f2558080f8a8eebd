// race.mjs --callgate PROGRAM --clock LIBRARY [--requests N]: two people at the page, one in a terminal, callers who cancel
// and time that runs out, all at once: each request has one end, everybody hears the same one, no quorum is met by one
// person, and journal and store agree. Ends with 'N passed, N failed'.
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Gate, Page, Place, callgate, check, cleanUp, clockEnv, end, signIn, until } from "./lib.mjs";

const option = (name, otherwise) => { const at = process.argv.indexOf("--" + name); return at > 0 ? process.argv[at + 1] : otherwise; };
const wanted = Number(option("requests", "48")), BATCH = 16;
const place = new Place([
  { id: "rule", effect: "require_approval", match: { tool: "rule" } },
  { id: "call", effect: "require_approval", scope: "call", match: { tool: "call" } },
  { id: "once", effect: "require_approval", scope: "once", match: { tool: "once" } },
  { id: "two", effect: "require_approval", approvers: 2, scope: "call", match: { tool: "two" } },
]);
place.people();
const clock = place.write("clock", Buffer.alloc(8));
const env = clockEnv(option("clock"), clock);
const hands = fs.openSync(clock, "r+");
let ahead = 0n;
function forward() {
  ahead += 901000n;
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(ahead);
  fs.writeSync(hands, bytes, 0, 8, 0); // in its place: the processes have the file's bytes in their memory
}
const page = await new Page(place, [], env).start();
const inClock = (args) => new Promise((done) => {
  const child = spawn(callgate, [...args, "--state", place.state, "--people", place.peopleFile], { env, stdio: ["ignore", "pipe", "ignore"] });
  let out = "";
  child.stdout.on("data", (data) => { out += data; });
  child.on("exit", (code) => done({ code, out: out.trim() }));
});
const ada = await signIn(page), bob = await signIn(page, (await inClock(["console", "link", "bob"])).out);
// The server ends connections that seem to have been idle for fifteen minutes: a question is asked again, an answer may have
// counted.
for (const who of [ada, bob]) {
  const { get, post } = who;
  who.get = (where) => get(where).catch(() => get(where)).catch(() => get(where));
  who.post = (where, body) => post(where, body).catch(() => ({ json: { result: "unheard" } }));
}
const any = (list) => list[Math.floor(Math.random() * list.length)];
const pause = (ms) => new Promise((done) => setTimeout(done, Math.random() * ms));
const heard = new Map(); // number → what each answer was told
const tools = new Map();

for (let round = 0; round * BATCH < wanted; round++) {
  const gate = new Gate(place, { channel: "c" + round, thread: "t", env });
  for (let i = 0; i < BATCH; i++) gate.call(any(["rule", "call", "once", "two"]), { n: round * BATCH + i });
  const list = await until(async () => { const all = (await ada.get("/api/waiting")).json?.requests; return all?.length === BATCH && all; }, 30000);
  if (!check("all of a round wait", list, round)) break;
  const whole = new Map();
  for (const r of list) {
    tools.set(r.number, r.tool);
    whole.set(r.code, (await ada.get("/api/request?code=" + r.code)).json.shown);
  }
  const work = [];
  for (const r of list) {
    for (const who of [ada, bob, any([ada, bob])]) {
      if (Math.random() < 0.2) continue;
      const yes = Math.random() < 0.75;
      work.push(pause(150).then(() => who.post("/api/answer", { code: r.code, number: r.number, yes, scope: any(["once", "call", "session"]), shown: whole.get(r.code) }))
        .then((answer) => heard.set(r.number, [...(heard.get(r.number) ?? []), answer.json?.result ?? answer.json?.error])));
    }
    if (Math.random() < 0.25) work.push(pause(150).then(() => inClock([any(["approve", "refuse"]), r.code])));
    if (Math.random() < 0.1) work.push(pause(150).then(() => gate.cancel(1 + Math.floor(Math.random() * BATCH))));
  }
  if (Math.random() < 0.5) work.push(pause(150).then(forward));
  await Promise.all(work);
  if (Math.random() < 0.5) gate.process.kill("SIGKILL");
  gate.stop();
  await until(async () => (await ada.get("/api/waiting")).json?.requests.length === 0 || (forward(), false), 30000);
}

const events = place.events(), ends = new Map(), votes = new Map(), asked = new Set(), voided = new Set(), session = new Map();
for (const event of events) {
  const number = event.detail?.request;
  if (event.kind === "policy.require" && number) { asked.add(number); session.set(number, event.sessionKey.channel); }
  if (/^approval\.(approved|refused|timed_out|withdrawn)$/.test(event.kind)) ends.set(number, [...(ends.get(number) ?? []), event.kind.slice(9)]);
  if (event.kind === "approval.vote") votes.set(number, [...(votes.get(number) ?? []), event.detail]);
  if (event.kind === "approval.void") voided.add(number);
}
check("all were asked", asked.size >= wanted, asked.size);
check("every request has one end", [...asked].every((number) => ends.get(number)?.length === 1), [...asked].filter((number) => ends.get(number)?.length !== 1).map((number) => [number, ends.get(number)]));
const counts = {};
for (const [one] of ends.values()) counts[one] = (counts[one] ?? 0) + 1;
console.log(`${asked.size} requests: ${JSON.stringify(counts)}`);
for (const [number, told] of heard) {
  const over = told.filter((one) => ["approved", "refused"].includes(one));
  check("one answer at most is told that it ended the request, and says how it did", over.length <= 1 && (!over.length || voided.has(number) || over[0] === ends.get(number)[0]), [number, told, ends.get(number)]);
}
for (const [number, given] of votes) {
  const yes = given.filter((one) => one.answer === "yes").map((one) => one.by);
  check("everybody counts once", new Set(yes).size === yes.length, [number, given]);
}
const full = new Set([...votes].filter(([number, given]) => tools.get(number) === "two" && new Set(given.filter((one) => one.answer === "yes").map((one) => one.by)).size >= 2).map(([number]) => number));
for (const [number, tool] of tools) {
  if (tool === "two" && ends.get(number)?.[0] === "approved") check("two people are a quorum", full.has(number), [number, votes.get(number)]);
}
check("nothing waits", (await ada.get("/api/waiting")).json.requests.length === 0);
check("the chain verifies", (await inClock(["journal", "verify", path.join(place.state, "journal.jsonl")])).code !== 1 && place.cli(["journal", "verify"]).status === 0);
check("the page has gone through all of it", await page.stop() === 0, page.log);
await cleanUp();
end();
