// A stand-in for Slack's Web API and Socket Mode on loopback. It is strict where Slack is: tokens by kind, tickets that
// work once, JSON bodies, limits of blocks. `standin.check.mjs` drives it with the official clients, so that it is fair.
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const require = createRequire(path.join(here, "../e2e/package.json"));
const { WebSocketServer } = require("ws");

export const BOT = "xoxb-test-bot-token", APP = "xapp-test-app-token";

const LIMITS = { blocks: 50, section: 3000, header: 150, button: 75, value: 2000, context: 10 };

function blockFault(blocks) {
  if (!Array.isArray(blocks) || blocks.length > LIMITS.blocks) return "invalid_blocks";
  for (const b of blocks) {
    if (b.type === "section" && (typeof b.text?.text !== "string" || b.text.text.length > LIMITS.section || b.text.text === "")) return "invalid_blocks";
    if (b.type === "context" && b.elements.length > LIMITS.context) return "invalid_blocks";
    if (b.type === "actions") {
      const ids = new Set();
      for (const e of b.elements) {
        if (e.text.type !== "plain_text" || e.text.text.length > LIMITS.button || (e.value ?? "").length > LIMITS.value) return "invalid_blocks";
        if (ids.has(e.action_id)) return "invalid_blocks";
        ids.add(e.action_id);
      }
    }
  }
  return null;
}

export class Standin {
  constructor() {
    this.messages = []; // {channel, ts, text, blocks, thread_ts, updates}
    this.ephemeral = [];
    this.files = new Map(); // id to {name, length, snippet, bytes, channel, thread_ts, shared}
    this.uploads = "taken"; // "refused": the bytes are; "lost": the scope is
    this.scopes = "chat:write,files:write,channels:read,channels:history";
    this.calls = []; // {method, body}
    this.sockets = new Set();
    this.tickets = new Set();
    this.acks = new Map(); // envelope id to count
    this.busy = new Map(); // method to how many 429 answers are still to give
    this.every = 0; // not 0: each so-many-th post or update is answered with 429
    this.turns = 0;
    this.paused = 0; // so many were
    this.revoked = false;
    this.opened = 0;
    this.clock = 1700000000;
    this.envelopes = 0;
  }

  async start() {
    this.server = http.createServer((request, response) => this.answer(request, response));
    this.wss = new WebSocketServer({ noServer: true, maxPayload: 1 << 25 });
    this.server.on("upgrade", (request, socket, head) => {
      const ticket = new URL(request.url, "http://x").searchParams.get("ticket");
      if (!this.tickets.delete(ticket)) { socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n"); return; }
      this.wss.handleUpgrade(request, socket, head, (ws) => this.connected(ws));
    });
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    this.port = this.server.address().port;
    this.api = `http://127.0.0.1:${this.port}/api/`;
  }

  connected(ws) {
    this.sockets.add(ws);
    ws.on("close", () => this.sockets.delete(ws));
    ws.on("message", (data) => {
      const message = JSON.parse(String(data));
      if (message.envelope_id) this.acks.set(message.envelope_id, (this.acks.get(message.envelope_id) ?? 0) + 1);
    });
    ws.send(JSON.stringify({ type: "hello", num_connections: this.sockets.size, connection_info: { app_id: "A1" }, debug_info: { host: "standin" } }));
  }

  async answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const bytes = Buffer.concat(chunks), raw = bytes.toString();
    const upload = new URL(request.url, "http://x").pathname.match(/^\/upload\/(\w+)$/);
    if (upload) return this.upload(upload[1], bytes, request, response);
    const method = new URL(request.url, "http://x").pathname.replace(/^\/api\//, "");
    const token = (request.headers.authorization ?? "").replace(/^Bearer /, "");
    const send = (body, status = 200, headers = {}) => {
      response.writeHead(status, { "content-type": "application/json", "x-oauth-scopes": this.scopes, ...headers });
      response.end(JSON.stringify(body));
    };
    let body = {};
    try {
      body = (request.headers["content-type"] ?? "").startsWith("application/json") ? JSON.parse(raw || "{}")
        : Object.fromEntries([...new URLSearchParams(raw)].map(([k, v]) => [k, k === "blocks" || k === "files" ? JSON.parse(v) : v]));
    } catch { return send({ ok: false, error: "invalid_json" }); }
    const left = this.busy.get(method) ?? 0;
    if (left > 0) {
      this.busy.set(method, left - 1);
      return send({ ok: false, error: "ratelimited" }, 429, { "retry-after": "1" });
    }
    if (this.every > 0 && /^chat\.(postMessage|update)$/.test(method) && ++this.turns % this.every === 0) {
      this.paused++;
      return send({ ok: false, error: "ratelimited" }, 429, { "retry-after": "1" });
    }
    this.calls.push({ method, body, at: Date.now() });
    const wanted = method === "apps.connections.open" ? APP : BOT;
    if (this.revoked) return send({ ok: false, error: "token_revoked" });
    if (token !== wanted) return send({ ok: false, error: "invalid_auth" });
    // As Slack itself: this method takes no JSON.
    if (method === "files.getUploadURLExternal" && !(request.headers["content-type"] ?? "").startsWith("application/x-www-form-urlencoded")) {
      return send({ ok: false, error: "invalid_arguments" });
    }
    send(this.run(method, body));
  }

  // The address that files.getUploadURLExternal gave: it takes the bytes once, as many as were told, and no token.
  async upload(id, body, request, response) {
    const type = request.headers["content-type"] ?? "";
    let bytes = body; // or, as the official client does, a form with the file in it
    if (type.startsWith("multipart/form-data")) {
      const parts = [...(await new Response(body, { headers: { "content-type": type } }).formData()).values()];
      bytes = Buffer.from(await parts.find((part) => typeof part !== "string").arrayBuffer());
    }
    const file = this.files.get(id), left = this.busy.get("upload") ?? 0;
    const end = (status, text, headers = {}) => { response.writeHead(status, headers); response.end(text); };
    if (left > 0) { this.busy.set("upload", left - 1); return end(429, "", { "retry-after": "1" }); }
    if (request.headers.authorization) this.leaked = true;
    if (request.method !== "POST" || !file || file.bytes || file.length !== bytes.length || this.uploads === "refused") return end(400, "refused");
    file.bytes = bytes;
    end(200, `OK - ${bytes.length}`);
  }

  run(method, body) {
    switch (method) {
      case "apps.connections.open": {
        const ticket = `t${++this.opened}-${Math.random()}`;
        this.tickets.add(ticket);
        return { ok: true, url: `ws://127.0.0.1:${this.port}/link?ticket=${ticket}&app_id=A1` };
      }
      case "auth.test": return { ok: true, team_id: "T1", user_id: "UBOT", bot_id: "B1", team: "test", user: "callgate" };
      case "conversations.info": return body.channel === "C404" ? { ok: false, error: "channel_not_found" } : { ok: true, channel: { id: body.channel, is_member: body.channel !== "COUT" } };
      case "chat.postMessage": {
        if (body.channel === "C404") return { ok: false, error: "channel_not_found" };
        const fault = body.blocks && blockFault(body.blocks);
        if (fault) return { ok: false, error: fault };
        const ts = `${++this.clock}.000100`;
        this.messages.push({ channel: body.channel, ts, text: body.text, blocks: body.blocks, thread_ts: body.thread_ts, updates: 0 });
        return { ok: true, channel: body.channel, ts, message: {} };
      }
      case "chat.update": {
        const found = this.messages.find((m) => m.ts === body.ts && m.channel === body.channel);
        if (!found) return { ok: false, error: "message_not_found" };
        const fault = body.blocks && blockFault(body.blocks);
        if (fault) return { ok: false, error: fault };
        Object.assign(found, { text: body.text, blocks: body.blocks, updates: found.updates + 1 });
        return { ok: true, channel: body.channel, ts: body.ts };
      }
      case "files.getUploadURLExternal": {
        const length = Number(body.length);
        if (this.uploads === "lost") return { ok: false, error: "missing_scope", needed: "files:write" };
        if (!body.filename || !(length > 0)) return { ok: false, error: "missing_argument" };
        if (body.snippet_type && length > 1 << 20) return { ok: false, error: "snippet_too_large" };
        const id = `F${this.files.size + 1}`;
        this.files.set(id, { name: body.filename, length, snippet: body.snippet_type });
        return { ok: true, upload_url: `http://127.0.0.1:${this.port}/upload/${id}`, file_id: id };
      }
      case "files.completeUploadExternal": {
        const found = (body.files ?? []).map((f) => this.files.get(f.id));
        if (found.length === 0 || found.some((f) => !f?.bytes || f.shared)) return { ok: false, error: "file_not_found" };
        if (body.thread_ts && !/^\d+\.\d{6}$/.test(body.thread_ts)) return { ok: false, error: "invalid_arguments" };
        for (const f of found) Object.assign(f, { channel: body.channel_id, thread_ts: body.thread_ts, shared: true });
        return { ok: true, files: body.files };
      }
      case "chat.postEphemeral": this.ephemeral.push(body); return { ok: true, message_ts: "1" };
      default: return { ok: false, error: "unknown_method" };
    }
  }

  // Sends an envelope to one connection, as Slack does; resolves with its id.
  deliver(type, payload, more = {}) {
    const id = `e${++this.envelopes}`;
    const ws = [...this.sockets].at(-1);
    ws?.send(JSON.stringify({ envelope_id: id, type, payload, accepts_response_payload: type === "interactive", ...more }));
    return id;
  }

  press(message, actionId, { user = "U1", team = "T1", channel = message.channel, ts = message.ts, value } = {}) {
    const button = (message.blocks ?? []).flatMap((b) => b.elements ?? []).find((e) => e.action_id?.startsWith(actionId));
    return this.deliver("interactive", {
      type: "block_actions", team: { id: team, domain: "x" }, user: { id: user, username: "x", team_id: team }, api_app_id: "A1",
      token: "ignore", container: { type: "message", message_ts: ts, channel_id: channel, is_ephemeral: false },
      channel: { id: channel, name: "x" }, message: {}, response_url: "http://127.0.0.1:1/",
      actions: [{ type: "button", action_id: button?.action_id ?? actionId, block_id: "b", value: value ?? button?.value, action_ts: "1" }],
    });
  }

  say(message, text, { user = "U1", team = "T1", thread = message.ts, ...more } = {}) {
    return this.deliver("events_api", {
      token: "ignore", team_id: team, api_app_id: "A1", type: "event_callback", event_id: `Ev${this.envelopes}`,
      event: { type: "message", user, team, text, channel: message.channel, ts: `${++this.clock}.000200`, thread_ts: thread, ...more },
    });
  }

  disconnect(reason) { for (const ws of this.sockets) ws.send(JSON.stringify({ type: "disconnect", reason, debug_info: {} })); }
  cut() { for (const ws of this.sockets) ws.terminate(); }

  stop() { this.cut(); this.wss.close(); this.server.close(); this.server.closeAllConnections?.(); }
}
