// What the tests of the page share: a private state directory, gates that hold calls, the page's program, a client of HTTP.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";

export const callgate = path.resolve(process.argv[process.argv.indexOf("--callgate") + 1]);
export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
export async function until(condition, ms = 30000) {
  for (const end = Date.now() + ms; Date.now() < end;) { const value = await condition(); if (value) return value; await sleep(30); }
  return await condition();
}

let passed = 0, failed = 0;
export const check = (what, ok, seen) => { ok ? passed++ : (failed++, console.log(`failed: ${what}`, (JSON.stringify(seen) ?? "").slice(0, 1500))); return ok; };
export function end() {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed || !passed ? 1 : 0);
}

const undo = [];
export const later = (work) => undo.push(work);
export async function cleanUp() { for (const work of undo.reverse()) await work(); }
process.on("exit", () => { for (const child of children) child.kill("SIGKILL"); });
const children = new Set();
function run(argv, options) {
  const child = spawn(argv[0], argv.slice(1), options);
  children.add(child);
  child.on("exit", () => children.delete(child));
  return child;
}

export const RULES = [
  { id: "no-secrets", effect: "deny", reason: "secrets stay here", match: { tool: "secret" } },
  { id: "ask", effect: "require_approval", ttlMs: 60000, match: { tool: "ask" } },
  { id: "ask-call", effect: "require_approval", scope: "call", match: { tool: "ask_call" } },
  { id: "ask-once", effect: "require_approval", scope: "once", match: { tool: "ask_once" } },
  { id: "two", effect: "require_approval", approvers: 2, scope: "call", match: { tool: "two" } },
  { id: "edits", effect: "require_approval", match: { tool: "edit_file" } },
  { id: "free", effect: "auto_approve", match: { tool: "free" } },
];

export class Place {
  constructor(rules = RULES) {
    this.top = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "page-")));
    this.state = path.join(this.top, "state");
    fs.mkdirSync(this.state, { mode: 0o700 });
    this.policy = this.write("policy.json", JSON.stringify({ requireAuthoredPolicy: ["*"], rules }, null, 1));
    later(() => fs.rmSync(this.top, { recursive: true, force: true }));
  }
  write(name, text) {
    const file = path.join(this.top, name);
    fs.writeFileSync(file, text, { mode: 0o600 });
    return file;
  }
  // Two people of the page beside the one at the terminal.
  people(list = [{ name: "ada", user: os.userInfo().username, page: "ada" }, { name: "bob", page: "bob" }]) {
    this.peopleFile = this.write("people.json", JSON.stringify({ people: list }));
    return this.peopleFile;
  }
  cli(args, input) {
    const more = this.peopleFile && !["pending", "journal"].includes(args[0]) ? ["--people", this.peopleFile] : [];
    return spawnSync(callgate, [...args, "--state", this.state, ...more], { encoding: "utf8", input });
  }
  events() { return fs.readFileSync(path.join(this.state, "journal.jsonl"), "utf8").trim().split("\n").map((line) => JSON.parse(line)); }
  pending() { return JSON.parse(spawnSync(callgate, ["pending", "--state", this.state, "--format", "json"], { encoding: "utf8", maxBuffer: 1 << 30 }).stdout || "[]"); }
}

// The environment of processes whose clocks a file puts forward. A sanitizer wants to be the first library, and need not be.
export const clockEnv = (library, file) => ({ ...process.env, LD_PRELOAD: path.resolve(library), CALLGATE_TEST_CLOCK: file,
  ASAN_OPTIONS: [process.env.ASAN_OPTIONS, "verify_asan_link_order=0"].filter(Boolean).join(":") });

// A gate in front of a server that answers every call with itself.
export class Gate {
  constructor(place, { channel = "local", thread, server, args = [], env, gate } = {}) {
    this.answers = new Map();
    this.id = 0;
    this.process = run([callgate, "run", "--state", place.state, ...(gate ? ["--gate", gate] : ["--policy", place.policy]), "--channel", channel, ...(thread ? ["--thread", thread] : []), ...(server ? ["--server", server] : []), "--hold-for", "600", ...args, "--", "cat"], { stdio: ["pipe", "pipe", "ignore"], cwd: place.top, env });
    this.process.stdin.on("error", () => {});
    let rest = "";
    this.process.stdout.on("data", (data) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      for (const line of lines) { const message = JSON.parse(line); this.answers.set(message.id, message); }
    });
    later(() => this.stop());
  }
  call(name, args = {}) {
    this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: ++this.id, method: "tools/call", params: { name, arguments: args } }) + "\n");
    return this.id;
  }
  cancel(id) { this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } }) + "\n"); }
  ran(id) { return this.answers.get(id)?.method === "tools/call"; }
  denied(id) { const answer = this.answers.get(id); return Boolean(answer && answer.method === undefined); }
  stop() { this.process.stdin.end(); }
}

// The page's program.
export class Page {
  constructor(place, args = [], env) {
    this.place = place;
    this.env = env;
    this.args = args;
    this.log = "";
    later(() => this.stop());
  }
  async start(port = 0) {
    this.out = "";
    this.process = run([callgate, "console", "--listen", `${this.listen ?? "127.0.0.1"}:${port}`, "--state", this.place.state, "--home", this.place.top, ...(this.place.peopleFile ? ["--people", this.place.peopleFile] : []), ...this.args], { stdio: ["ignore", "pipe", "pipe"], env: this.env });
    this.process.stdout.on("data", (data) => { this.out += data; });
    this.process.stderr.on("data", (data) => { this.log += data; });
    await until(() => this.out.includes("\n") || this.process.exitCode !== null);
    this.link = this.out.trim();
    this.origin = this.link.split("/#")[0];
    this.port = Number(/:(\d+)$/.exec(this.origin)?.[1]);
    return this;
  }
  async stop(signal = "SIGTERM") {
    if (this.process?.exitCode === null && this.process.signalCode === null) {
      const over = new Promise((done) => this.process.on("exit", done));
      this.process.kill(signal);
      await over;
    }
    return this.process?.exitCode;
  }
  newLink(account) { return this.place.cli(["console", "link", ...(account ? [account] : [])]).stdout.trim(); }
  rss() { return Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${this.process.pid}/status`, "utf8"))?.[1]); }
}

// Asks as no browser would: any header may be wrong.
export function ask(page, where, { method = "GET", body, headers = {}, host = `localhost:${page.port}`, origin = method === "POST" ? `http://localhost:${page.port}` : undefined, raw } = {}) {
  return new Promise((done, fail) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const all = { Host: host, ...(origin ? { Origin: origin } : {}), ...(sent !== undefined ? { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(sent) } : {}), ...headers };
    const request = http.request({ host: "127.0.0.1", port: page.port, path: where, method, headers: all, setHost: false }, (answer) => {
      const parts = [];
      answer.on("data", (data) => parts.push(data));
      answer.on("end", () => {
        const text = Buffer.concat(parts).toString();
        let json;
        try { json = JSON.parse(text); } catch { json = undefined; }
        done({ status: answer.statusCode, headers: answer.headers, text, json });
      });
      answer.on("error", fail);
    });
    request.on("error", fail);
    request.end(sent);
  });
}

// Somebody who has signed in by a link.
export async function signIn(page, link = page.link) {
  const answer = await ask(page, "/api/sign-in/link", { method: "POST", body: { link: link.split("#link=")[1] } });
  const cookie = answer.headers["set-cookie"]?.[0].split(";")[0];
  const headers = { Cookie: cookie, "X-Callgate": answer.json?.token };
  return {
    answer, cookie, token: answer.json?.token, headers,
    get: (where, more = {}) => ask(page, where, { headers: { ...headers, ...more } }),
    post: (where, body, more = {}) => ask(page, where, { method: "POST", body, headers: { ...headers, ...more } }),
  };
}
