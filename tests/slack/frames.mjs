// frames.mjs --callgate PROGRAM: frames of WebSocket (RFC 6455) that a server may and may not send, each on a connection of its
// own, against the server of npm's `ws`, which judges what comes back. Ends with 'N passed, N failed'.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { APP, BOT, Standin } from "./standin.mjs";

const callgate = path.resolve(process.argv[process.argv.indexOf("--callgate") + 1]);
let passed = 0, failed = 0;
const check = (what, ok, seen) => { ok ? passed++ : (failed++, console.log(`failed: ${what}`, JSON.stringify(seen)?.slice(0, 600))); };
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
async function until(condition, ms = 15000) {
  for (const end = Date.now() + ms; Date.now() < end;) { if (condition()) return true; await sleep(20); }
  return !!condition();
}

const TEXT = 1, BINARY = 2, MORE = 0, CLOSE = 8, PING = 9, PONG = 10;
// One frame as it goes over the wire. `length`: how the length is written, whatever it is (7, 16 or 64 bits).
function frame(opcode, payload, { fin = true, rsv = 0, mask = false, length } = {}) {
  const body = Buffer.from(payload), bits = length ?? (body.length < 126 ? 7 : body.length < 65536 ? 16 : 64);
  const head = [(fin ? 0x80 : 0) | (rsv << 4) | opcode];
  if (bits === 7) head.push((mask ? 0x80 : 0) | body.length);
  else if (bits === 16) head.push((mask ? 0x80 : 0) | 126, body.length >> 8, body.length & 255);
  else { head.push((mask ? 0x80 : 0) | 127); const b = Buffer.alloc(8); b.writeBigUInt64BE(BigInt(body.length)); head.push(...b); }
  return Buffer.concat([Buffer.from(head), mask ? Buffer.from([0, 0, 0, 0]) : Buffer.alloc(0), body]);
}
const envelope = (id, more = "") => JSON.stringify({ envelope_id: id, type: "x", payload: {}, more });
const closing = (code, reason = "") => Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]);
const half = Buffer.from([0xe2, 0x82]), rest = Buffer.from([0xac]);

// [what, frames, what must come of it]: "ack": the envelope is acknowledged; "stays": nothing comes, and the next envelope is
// acknowledged; a number or several: the connection is closed, with one of these codes or without (1006).
const rows = [
  ["one text frame", (id) => [frame(TEXT, envelope(id))], "ack"],
  ["three fragments", (id) => { const t = envelope(id); return [frame(TEXT, t.slice(0, 5), { fin: false }), frame(MORE, t.slice(5, 9), { fin: false }), frame(MORE, t.slice(9))]; }, "ack"],
  ["an empty fragment", (id) => [frame(TEXT, "", { fin: false }), frame(MORE, envelope(id))], "ack"],
  ["a ping between fragments", (id) => { const t = envelope(id); return [frame(TEXT, t.slice(0, 5), { fin: false }), frame(PING, "p"), frame(MORE, t.slice(5))]; }, "ack"],
  ["a pong that nobody asked for", (id) => [frame(PONG, "x"), frame(TEXT, envelope(id))], "ack"],
  ["a character over two fragments", (id) => { const [a, b] = envelope(id, "@").split("@"); return [frame(TEXT, Buffer.concat([Buffer.from(a), half]), { fin: false }), frame(MORE, Buffer.concat([rest, Buffer.from(b)]))]; }, "ack"],
  ["a length of 16 bits", (id) => [frame(TEXT, envelope(id, "x".repeat(300)))], "ack"],
  ["a length of 64 bits", (id) => [frame(TEXT, envelope(id, "x".repeat(70000)))], "ack"],
  ["bytes one by one", (id) => [...frame(TEXT, envelope(id))].map((b) => Buffer.from([b])), "ack"],
  ["a megabyte", (id) => [frame(TEXT, envelope(id, "x".repeat(1 << 20)))], "ack"],
  ["an empty text", () => [frame(TEXT, "")], "stays"],
  ["a text that is no JSON", () => [frame(TEXT, "{")], "stays"],
  ["a binary message", () => [frame(BINARY, Buffer.from([1, 2, 3]))], "stays"],
  ["a ping in fragments", () => [frame(PING, "p", { fin: false })], [1002]],
  ["a ping of 126 bytes", () => [frame(PING, "p".repeat(126))], [1002]],
  ["a mask from the server", (id) => [frame(TEXT, envelope(id), { mask: true })], [1002]],
  ["a reserved bit", (id) => [frame(TEXT, envelope(id), { rsv: 4 })], [1002]],
  ["an unknown opcode", () => [frame(3, "x")], [1002]],
  ["an unknown control opcode", () => [frame(11, "x")], [1002]],
  ["a continuation of nothing", (id) => [frame(MORE, envelope(id))], [1002]],
  ["a new message inside another", (id) => [frame(TEXT, "{", { fin: false }), frame(TEXT, envelope(id))], [1002]],
  ["text that is no UTF-8", () => [frame(TEXT, Buffer.from([0x22, 0xff, 0x22]))], [1007]],
  ["a surrogate in UTF-8", () => [frame(TEXT, Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))], [1007]],
  ["no UTF-8 over two fragments", () => [frame(TEXT, half, { fin: false }), frame(MORE, Buffer.from([0x22]))], [1007]],
  ["a length longer than need be", () => [frame(TEXT, "{}", { length: 16 })], [1002]],
  ["a length beyond 63 bits", () => [Buffer.from([0x81, 127, 0xff, 0, 0, 0, 0, 0, 0, 0])], [1002, 1009]],
  ["17 MiB", (id) => [frame(TEXT, envelope(id, "x".repeat(17 << 20)))], [1009]],
  ["a close", () => [frame(CLOSE, closing(1000, "bye"))], [1000]],
  ["a close without a code", () => [frame(CLOSE, "")], [1005, 1000]],
  ["a close of one byte", () => [frame(CLOSE, "x")], [1002, 1005]], // libwslay closes without a code
  ["a close with a reserved code", () => [frame(CLOSE, closing(1005))], [1002]],
  ["a close whose reason is no UTF-8", () => [frame(CLOSE, Buffer.concat([closing(1000), Buffer.from([0xff])]))], [1007]],
];

const top = fs.mkdtempSync(path.join(os.tmpdir(), "slack-frames-"));
const state = path.join(top, "state"), people = path.join(top, "people.json");
fs.mkdirSync(state, { mode: 0o700 });
const secret = (name, text) => { const file = path.join(top, name); fs.writeFileSync(file, text + "\n", { mode: 0o600 }); return file; };
fs.writeFileSync(path.join(state, "slack.json"), JSON.stringify({ channel: "C0DEFAULT1", botTokenFile: secret("bot", BOT), appTokenFile: secret("app", APP) }), { mode: 0o600 });
fs.writeFileSync(people, JSON.stringify({ people: [{ name: "ada", slack: "T1/U1" }] }));
const slack = new Standin();
await slack.start();
const program = spawn(callgate, ["slack", "--state", state, "--people", people, "--home", top, "--api", slack.api], { stdio: ["ignore", "ignore", "pipe"] });
let log = "";
program.stderr.on("data", (d) => { log += d; });

let number = 0;
for (const [what, frames, wanted] of rows) {
  if (!(await until(() => slack.sockets.size === 1))) { check(`${what}: it connects`, false, log.slice(-300)); break; }
  const ws = [...slack.sockets][0], id = `row${++number}`;
  let code = null, pongs = 0;
  ws.setMaxListeners(0);
  ws.on("close", (c) => { code = c; });
  ws.on("error", () => {});
  ws.on("pong", () => pongs++);
  for (const bytes of frames(id)) { ws._socket?.write(bytes); if (bytes.length === 1) await sleep(1); }
  if (wanted === "ack" || wanted === "stays") {
    if (wanted === "stays") { await sleep(100); ws._socket?.write(frame(TEXT, envelope(id))); }
    check(what, (await until(() => slack.acks.get(id) === 1)) && code === null, [code, slack.acks.get(id)]);
    if (what.includes("ping")) check(`${what}: is answered`, await until(() => pongs > 0), pongs);
    continue;
  }
  check(what, (await until(() => code !== null)) && [...wanted, 1006].includes(code) && !slack.acks.has(id), [code, slack.acks.get(id)]);
}
program.kill();
slack.stop();
fs.rmSync(top, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
