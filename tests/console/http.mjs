// http.mjs --callgate PROGRAM: the page without a browser: who is let in, what is refused and journalled, answers, what a
// slow or greedy client can do. Ends with 'N passed, N failed'.
import { spawn, spawnSync } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import https from "node:https";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { Gate, Page, Place, RULES, ask, callgate, check, cleanUp, end, later, signIn, sleep, until } from "./lib.mjs";

const refusals = (place) => place.events().filter((event) => event.kind === "console.refused").map((event) => event.detail.why);

// ---- Who is let in ----
{
  const place = new Place(), gate = new Gate(place, { server: "fs" }), page = await new Page(place).start();
  check("it prints a link that says localhost", /^http:\/\/localhost:\d+\/#link=[\w-]{43}$/.test(page.link), page.link);
  check("console.json is the user's alone", (fs.statSync(path.join(place.state, "console.json")).mode & 0o777) === 0o600);
  check("no link stands in console.json", !fs.readFileSync(path.join(place.state, "console.json"), "utf8").includes(page.link.split("=")[1]));
  const index = await ask(page, "/");
  check("the page is there", index.status === 200 && index.text.includes("/app.js"), index.text);
  const policy = index.headers["content-security-policy"];
  check("its policy allows nothing but its own files", policy.includes("default-src 'none'") && policy.includes("script-src 'self'") && !/unsafe|\*|https?:/.test(policy) && policy.includes("frame-ancestors 'none'"), policy);
  check("it is not sniffed, framed or told of", index.headers["x-content-type-options"] === "nosniff" && index.headers["x-frame-options"] === "DENY" && index.headers["referrer-policy"] === "no-referrer", index.headers);
  check("nothing inline, nothing from elsewhere", !/<script>|style=|\son\w+=|https?:\/\//.test(index.text), index.text);
  for (const name of ["app.js", "dom.js", "waiting.js", "record.js", "rules.js", "gates.js", "sign-in.js", "style.css"]) {
    const file = await ask(page, "/" + name);
    check(`${name} is there and names no other host`, file.status === 200 && !/https?:\/\/(?!www\.w3\.org\/2000\/svg)/.test(file.text), file.status);
  }
  check("a file that is not changed is not sent again", (await ask(page, "/app.js", { headers: { "If-None-Match": (await ask(page, "/app.js")).headers.etag } })).status === 304);
  const texts = async (wanted) => JSON.parse((await ask(page, "/texts.json", { headers: { "Accept-Language": wanted } })).text).language;
  check("texts by the browser's language", await texts("de-AT,en;q=0.5") === "de" && await texts("fr,en;q=0.5") === "en" && await texts("fr, de;q=0.8, en;q=0.5") === "de" && await texts("") === "en" && await texts("../x") === "en");
  const all = await Promise.all(["en", "de"].map(async (one) => Object.keys(JSON.parse((await ask(page, `/texts/${one}.json`)).text)).sort()));
  check("both languages have the same texts", JSON.stringify(all[0]) === JSON.stringify(all[1]), all[0].filter((key) => !all[1].includes(key)));
  const weight = (await Promise.all(["/", "/app.js", "/dom.js", "/waiting.js", "/record.js", "/rules.js", "/gates.js", "/sign-in.js", "/style.css", "/texts.json"].map(async (one) => Buffer.byteLength((await ask(page, one)).text)))).reduce((a, b) => a + b);
  check("the page weighs less than 100 kB", weight < 100000, weight);

  for (const [what, where, more, status, why] of [
    ["without a session", "/api/waiting", {}, 401, "no-session"],
    ["with an old cookie", "/api/waiting", { headers: { Cookie: "callgate=AAAA" } }, 401, "old-cookie"],
    ["of another host", "/api/waiting", { host: "evil.example" }, 403, "host"],
    ["of another host's page", "/", { host: `evil.example:${page.port}` }, 403, "host"],
    ["without a host", "/", { host: "" }, 403, "host"],
    ["of another port", "/", { host: "localhost:1" }, 403, "host"],
    ["of another origin", "/api/sign-in/link", { method: "POST", body: {}, origin: "http://evil.example" }, 403, "origin"],
    ["of another port's origin", "/api/sign-in/link", { method: "POST", body: {}, origin: "http://localhost:1" }, 403, "origin"],
    ["of another scheme's origin", "/api/sign-in/link", { method: "POST", body: {}, origin: `https://localhost:${page.port}` }, 403, "origin"],
    ["of no origin", "/api/sign-in/link", { method: "POST", body: {}, origin: null }, 403, "origin"],
    ["of the origin null", "/api/sign-in/link", { method: "POST", body: {}, origin: "null" }, 403, "origin"],
    ["from another site", "/api/sign-in/link", { method: "POST", body: {}, headers: { "Sec-Fetch-Site": "same-site" } }, 403, "origin"],
    ["read by another site", "/api/waiting", { headers: { "Sec-Fetch-Site": "cross-site" } }, 403, "origin"],
    ["with a wrong link", "/api/sign-in/link", { method: "POST", body: { link: "A".repeat(43) } }, 403, "link"],
    ["with an unknown account", "/api/sign-in/password", { method: "POST", body: { account: "eve", password: "long enough, surely" } }, 403, "password"],
    ["with no passkey", "/api/sign-in/passkey", { method: "POST", body: { id: "AAAA" } }, 403, "passkey"],
  ]) {
    const before = refusals(place).length;
    const answer = await ask(page, where, more);
    const noted = await until(() => refusals(place).slice(before).includes(why));
    check(`a request ${what}: ${status}, and an event`, answer.status === status && noted, [answer.status, answer.text, refusals(place)]);
    await sleep(40);
  }
  for (const [what, where, more, status] of [
    ["a form's body", "/api/sign-in/link", { method: "POST", raw: "link=x", headers: { "Content-Type": "application/x-www-form-urlencoded" } }, 415],
    ["no JSON", "/api/sign-in/link", { method: "POST", raw: "{" }, 400],
    ["a list", "/api/sign-in/link", { method: "POST", raw: "[]" }, 400],
    ["another method", "/api/waiting", { method: "DELETE" }, 405],
    ["a change by GET", "/api/answer", {}, 405],
    ["a read by POST", "/api/waiting", { method: "POST", body: {} }, 405],
    ["no such path", "/api/nothing", {}, 404],
    ["a path out of the files", "/../../etc/passwd", {}, 404],
    ["a file of the texts that is none", "/texts/xx.json", {}, 404],
  ]) {
    const answer = await ask(page, where, more);
    check(`${what}: ${status}`, answer.status === status, [answer.status, answer.text]);
  }

  const me = await signIn(page);
  check("the link signs in", me.answer.status === 200 && me.token && me.cookie, me.answer);
  check("its cookie is for this page alone", /^callgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/.test(me.answer.headers["set-cookie"][0]), me.answer.headers);
  check("it counts once", (await signIn(page)).answer.status === 403);
  check("cookie and token let in", (await me.get("/api/waiting")).status === 200);
  check("answers are not kept", (await me.get("/api/waiting")).headers["cache-control"] === "no-store");
  check("the cookie alone does not read", (await ask(page, "/api/waiting", { headers: { Cookie: me.cookie } })).status === 403);
  check("the cookie alone does not change", (await ask(page, "/api/answer", { method: "POST", body: {}, headers: { Cookie: me.cookie } })).status === 403);
  check("the token alone is nothing", (await ask(page, "/api/waiting", { headers: { "X-Callgate": me.token } })).status === 401);
  check("a token with one letter wrong is nothing", (await me.get("/api/waiting", { "X-Callgate": me.token.slice(0, -2) + "__" })).status === 403);
  const other = await signIn(page, page.newLink());
  check("a token of another session is nothing", (await me.get("/api/waiting", { "X-Callgate": other.token })).status === 403);
  check("a stream needs both", (await ask(page, "/api/events", { headers: { Cookie: me.cookie } })).status === 403);
  const session = (await me.get("/api/session")).json;
  check("the session says who", session.person === os.userInfo().username && session.way === "link" && !session.token, session);

  // ---- Answers ----
  const waits = async (name, args) => {
    const id = gate.call(name, args);
    const known = new Set((await me.get("/api/waiting")).json.requests.map((r) => r.code));
    const r = await until(async () => (await me.get("/api/waiting")).json.requests.find((one) => one.tool === name && !done.has(one.number)));
    done.add(r.number);
    void known;
    return [id, r, (await me.get("/api/request?code=" + r.code)).json];
  };
  const done = new Set();
  const [a, ra, whole] = await waits("ask", { path: "../x", command: "cat a | sh", old_string: "one\n", new_string: "two\n" });
  check("the list says what it is", ra.server === "fs" && ra.rule === "ask" && ra.needed === 1 && ra.expires > ra.created && ra.begin.includes("cat a"), ra);
  check("the rule stands with its file and line", whole.where?.file === place.policy && whole.where.line > 1 && whole.where.effect === "require_approval", whole.where);
  const lines = whole.lines.map(([kind, text]) => kind + text);
  check("a command as the gate read it", lines.some((line) => line.startsWith("c") && line.includes("runs: sh")), lines);
  check("an edit as a difference", lines.includes("-  - one") && lines.includes("+  + two"), lines);
  check("the path that was judged", whole.paths.some((p) => p.path === path.join(path.dirname(place.top), "x") && !p.written), whole.paths);
  check("unseen answers do not count", (await me.post("/api/answer", { code: ra.code, number: ra.number, yes: true, scope: "once", shown: "0".repeat(64) })).json.error === "unseen");
  check("an answer to another number does not count", (await me.post("/api/answer", { code: ra.code, number: ra.number + 1, yes: true, scope: "once", shown: whole.shown })).json.error === "gone");
  check("an answer without a scope does not count", (await me.post("/api/answer", { code: ra.code, number: ra.number, yes: true, shown: whole.shown })).status === 400);
  check("an answer that is neither yes nor no does not count", (await me.post("/api/answer", { code: ra.code, number: ra.number, yes: "true", scope: "once", shown: whole.shown })).status === 400);
  check("an answer of another origin does not count", (await ask(page, "/api/answer", { method: "POST", body: { code: ra.code, number: ra.number, yes: true, scope: "once", shown: whole.shown }, headers: me.headers, origin: "http://localhost:3000" })).status === 403);
  check("still it waits", (await me.get("/api/waiting")).json.requests.length === 1 && !gate.ran(a));
  const yes = await me.post("/api/answer", { code: ra.code, number: ra.number, yes: true, scope: "once", shown: whole.shown });
  check("a yes, once", yes.json.result === "approved" && yes.json.scope === "once", yes.json);
  check("and the call runs", await until(() => gate.ran(a)));
  check("a second answer finds nothing", (await me.post("/api/answer", { code: ra.code, number: ra.number, yes: true, scope: "once", shown: whole.shown })).json.error === "gone");
  check("how it ended is told", (await me.get("/api/request?code=" + ra.code)).json.state === "approved");
  const [b, rb] = await waits("ask", { n: 2 });
  const no = await me.post("/api/answer", { code: rb.code, number: rb.number, yes: false, because: "not \u202E today" });
  check("a no with a reason", no.json.result === "refused" && await until(() => gate.denied(b)), no.json);
  check("the reason is in the journal", place.events().some((event) => event.kind === "approval.vote" && event.detail.because?.includes("today")));
  const [c, rc, wc] = await waits("ask", { n: 3 });
  const [d, rd, wd] = await waits("ask", { n: 4 });
  const again = (await me.get("/api/request?code=" + rc.code)).json;
  check("what else a yes releases is told before", again.alsoRule.includes(rd.code) && again.alsoCall.length === 0 && wd.alsoRule.includes(rc.code), [again, wd.alsoRule]);
  const rule = await me.post("/api/answer", { code: rc.code, number: rc.number, yes: true, scope: "session", shown: wc.shown });
  check("and after", rule.json.also.join() === rd.code && await until(() => gate.ran(c) && gate.ran(d)), rule.json);
  const grants = (await me.get("/api/grants")).json.grants;
  check("the approval is listed", grants.length === 1 && grants[0].rule === "ask" && grants[0].scope === "session", grants);
  check("and can be revoked", (await me.post("/api/revoke", { id: grants[0].id })).status === 200 && (await me.get("/api/grants")).json.grants.length === 0);
  const [e, re, we] = await waits("ask_once", { n: 5 });
  const narrow = await me.post("/api/answer", { code: re.code, number: re.number, yes: true, scope: "session", shown: we.shown });
  check("never wider than the rule allows", narrow.json.scope === "once" && await until(() => gate.ran(e)), narrow.json);
  const [f, rf, wf] = await waits("two", { n: 6 });
  check("one of two", (await me.post("/api/answer", { code: rf.code, number: rf.number, yes: true, scope: "call", shown: wf.shown })).json.result === "counted");
  check("the same person twice, from another session", (await other.post("/api/answer", { code: rf.code, number: rf.number, yes: true, scope: "call", shown: wf.shown })).json.error === "twice" && !gate.ran(f));
  check("the terminal is the same person", place.cli(["approve", rf.code]).status === 1 && !gate.ran(f));

  // ---- The record ----
  gate.call("secret", { password: "hunter2hunter2", n: 1 });
  await until(() => place.events().some((event) => event.kind === "policy.deny" && event.toolName === "secret"));
  const denied = (await me.get("/api/record?outcome=deny&tool=SECRET")).json.events;
  check("the record finds a denial", denied.length === 1 && denied[0].rule === "no-secrets" && denied[0].reason === "secrets stay here" && !JSON.stringify(denied).includes("hunter2"), denied);
  const event = (await me.get("/api/event?seq=" + denied[0].seq)).json;
  check("one call's events stand together", event.event.kind === "policy.deny" && event.joined.some((one) => one.kind === "policy.deny.context_stripped"), event.joined);
  const why = (await me.post("/api/explain", { call: { tool: event.event.toolName, server: event.event.server, input: event.event.input } })).json;
  check("and why", why.decision?.rule === "no-secrets" && why.readings.length > 0, why);
  const held = (await me.get("/api/record?outcome=require&rule=two")).json.events[0];
  check("votes stand with their request", (await me.get("/api/event?seq=" + held.seq)).json.joined.some((one) => one.kind === "approval.vote"));
  const some = (await me.get("/api/record?kind=all&limit=3")).json;
  const rest = (await me.get("/api/record?kind=all&limit=3&before=" + some.next)).json;
  check("older ones follow without a gap", some.events.length === 3 && rest.events[0].seq === some.events[2].seq - 1, [some.next, rest.events[0]]);
  const sums = (await me.get("/api/chart?hours=1")).json.counts.reduce((sum, three) => sum.map((n, i) => n + three[i]), [0, 0, 0]);
  check("the chart counts", sums[0] >= 4 && sums[1] >= 1 && sums[2] >= 6, sums);
  const chain = await until(async () => { const one = (await me.get("/api/chain")).json; return one.state !== "looking" && one; });
  check("the chain holds", chain.state === "holds" && chain.last > 10, chain);

  // ---- Rules and gates ----
  const rules = (await me.get("/api/rules")).json;
  check("rules in their order, with hits", rules.current && rules.rules.map((one) => one.rule).join() === "no-secrets,ask,ask-call,ask-once,two,edits,free" && rules.rules[0].deny === 1, rules.rules?.map((one) => [one.rule, one.deny]));
  const gates = (await me.get("/api/gates")).json.gates;
  check("the gate is there", gates.length === 1 && gates[0].pid === gate.process.pid && gates[0].policy.rules === 7, gates);
  const text = JSON.stringify({ rules: JSON.parse(fs.readFileSync(place.policy)).rules.map((one) => (one.id === "no-secrets" ? { ...one, effect: "auto_approve", reason: undefined } : one)) });
  const difference = (await me.post("/api/difference", { file: place.policy, text })).json;
  check("a weaker policy is told", difference.classes?.some((one) => one.weaker && one.from.rule === "no-secrets"), difference);
  check("one that does not load is told", (await me.post("/api/difference", { file: place.policy, text: '{"rules": 1}' })).json.failed?.includes("rules"));
  check("no file was written", !fs.readFileSync(place.policy, "utf8").includes('"auto_approve", "reason"'));
  const running = JSON.parse(fs.readFileSync(place.policy));
  fs.writeFileSync(place.policy, JSON.stringify({ ...running, rules: [{ id: "weak", effect: "auto_approve", match: { tool: "secret" } }, ...running.rules] }));
  const reload = place.cli(["reload"]);
  const refused = await until(async () => (await me.get("/api/gates")).json.gates[0].refused);
  check("a refused reload stands with the gate, and why", refused?.violations?.[0]?.existingDeny === "no-secrets", [refused, reload.stdout, reload.stderr]);
  check("that the files have changed is told", (await me.get("/api/rules")).json.current === false);
  check("what is no call is told", (await me.post("/api/explain", { call: "{" })).json.failed);

  // ---- Signing out ----
  check("signing out", (await other.post("/api/sign-out", {})).status === 200 && (await other.get("/api/waiting")).status === 401);
  check("the others stay", (await me.get("/api/waiting")).status === 200);
  check("a second page of one state directory does not start", await new Page(place).start().then((second) => second.process.exitCode === 2 && second.log.includes("runs already")));
  check("it ends when it is told", await page.stop() === 0, page.log);
  check("nothing secret was said", !page.log.includes(me.token) && !page.log.includes("hunter2"), page.log);
  check("the journal verifies", place.cli(["journal", "verify"]).status === 0 || place.cli(["journal", "verify", path.join(place.state, "journal.jsonl")]).status === 0);
  await page.start();
  check("a session of before does not count after", (await me.get("/api/waiting")).status === 401);
  gate.stop();
  await page.stop();
}

// ---- People, passwords ----
{
  const place = new Place();
  place.people();
  const gate = new Gate(place), page = await new Page(place).start();
  check("an account that nobody has gets no password", place.cli(["console", "password", "eve"], "correct horse battery\n").status === 2);
  check("a short password is none", place.cli(["console", "password", "bob"], "short\n").status === 2);
  check("a password is set", place.cli(["console", "password", "bob"], "correct horse battery\n").status === 0);
  const kept = fs.readFileSync(path.join(place.state, "console.json"), "utf8");
  check("its hash is kept, not the password", !kept.includes("correct") && kept.includes('"scrypt"'), kept);
  check("the list says so", place.cli(["console", "accounts"]).stdout.startsWith("bob  password  0 passkeys"), place.cli(["console", "accounts"]).stdout);
  const enter = (account, password) => ask(page, "/api/sign-in/password", { method: "POST", body: { account, password } });
  const bob = await enter("bob", "correct horse battery");
  check("bob signs in", bob.status === 200 && bob.json.person === "bob" && bob.json.way === "password", bob.json);
  check("not with another password", (await enter("bob", "correct horse batterz")).status === 403);
  check("not with none", (await enter("bob", "")).status === 403);
  check("not another account", (await enter("ada", "correct horse battery")).status === 403);
  const headers = { Cookie: bob.headers["set-cookie"][0].split(";")[0], "X-Callgate": bob.json.token };
  const ada = await signIn(page);
  check("the link is ada's", ada.answer.json.person === "ada" && ada.answer.json.account === "ada", ada.answer.json);
  const id = gate.call("two", { n: 1 });
  const r = await until(async () => (await ada.get("/api/waiting")).json.requests[0]);
  const shown = (await ada.get("/api/request?code=" + r.code)).json.shown;
  const yes = { code: r.code, number: r.number, yes: true, scope: "call", shown };
  check("ada is one of two", (await ada.post("/api/answer", yes)).json.result === "counted");
  check("ada in a terminal is ada", place.cli(["approve", r.code]).status === 1);
  check("bob is the other", (await ask(page, "/api/answer", { method: "POST", body: yes, headers })).json.result === "approved" && await until(() => gate.ran(id)));
  check("both stand in the journal", ["ada", "bob"].every((name) => place.events().some((event) => event.kind === "approval.vote" && event.detail.by === name)));
  const invited = await signIn(page, page.newLink("bob"));
  check("a link for an account", invited.answer.json.person === "bob", invited.answer.json);
  check("no link for an account that nobody has", page.newLink("eve") === "");
  check("bob sets another password", (await invited.post("/api/password", { password: "another one, long" })).status === 200 && (await enter("bob", "another one, long")).status === 200 && (await enter("bob", "correct horse battery")).status === 403);
  check("a page's password has twelve characters", (await invited.post("/api/password", { password: "elevenchars" })).status === 400);
  place.people([{ name: "ada", page: "ada", user: os.userInfo().username }, { name: "carl", page: "carl", rules: ["other"] }]);
  check("who is taken off people.json is out at once", (await ask(page, "/api/waiting", { headers })).status === 401);
  const carl = await signIn(page, page.newLink("carl"));
  const second = gate.call("ask", { n: 9 });
  const asked = await until(async () => (await carl.get("/api/waiting")).json.requests.find((one) => one.tool === "ask"));
  const seen = (await carl.get("/api/request?code=" + asked.code)).json.shown;
  check("who may not answer this rule is told so", (await carl.post("/api/answer", { code: asked.code, number: asked.number, yes: true, scope: "once", shown: seen })).json.error === "forbidden" && !gate.ran(second));
  check("and it is in the journal", place.events().some((event) => event.kind === "approval.dropped"));
  fs.writeFileSync(place.peopleFile, "{");
  check("a people.json that does not load lets nobody in", (await carl.get("/api/waiting")).status === 401 || (await carl.post("/api/answer", { code: asked.code, number: asked.number, yes: true, scope: "once", shown: seen })).status >= 400);
  place.people();
  let often = 0;
  for (let i = 0; i < 14; i++) often += (await enter("bob", "wrong password " + i)).status === 429;
  check("whoever tries too often waits", often > 0, often);
  check("the password can be forgotten", place.cli(["console", "forget", "bob"]).status === 0 && place.cli(["console", "accounts"]).stdout.includes("Nobody"));
  gate.stop();
  await page.stop();
}

// ---- Passkeys, of an authenticator that is a few lines ----
{
  const place = new Place();
  place.people();
  const page = await new Page(place).start();
  const ada = await signIn(page);
  const text = (bytes) => Buffer.from(bytes).toString("base64url");
  const cbor = (value) => {
    if (typeof value === "number") return value >= 0 ? Buffer.from(value < 24 ? [value] : [0x19, value >> 8, value & 255]) : (value = -1 - value, Buffer.from(value < 24 ? [0x20 | value] : [0x39, value >> 8, value & 255]));
    if (Buffer.isBuffer(value)) return Buffer.concat([Buffer.from(value.length < 24 ? [0x40 | value.length] : value.length < 256 ? [0x58, value.length] : [0x59, value.length >> 8, value.length & 255]), value]);
    return Buffer.concat([Buffer.from([0xa0 | value.length]), ...value.flatMap(([key, one]) => [cbor(key), cbor(one)])]);
  };
  const sha = (data) => crypto.createHash("sha256").update(data).digest();
  const clientData = (type, challenge, origin = page.origin, more = {}) => Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false, ...more }));
  class Authenticator {
    constructor(algorithm) {
      this.id = crypto.randomBytes(32);
      this.count = 0;
      const { publicKey, privateKey } = algorithm === -7 ? crypto.generateKeyPairSync("ec", { namedCurve: "P-256" }) : crypto.generateKeyPairSync("rsa", { modulusLength: 2048 });
      const jwk = publicKey.export({ format: "jwk" }), bytes = (name) => Buffer.from(jwk[name], "base64url");
      this.key = privateKey;
      this.cose = cbor(algorithm === -7 ? [[1, 2], [3, -7], [-1, 1], [-2, bytes("x")], [-3, bytes("y")]] : [[1, 3], [3, -257], [-1, bytes("n")], [-2, bytes("e")]]);
    }
    data(flags, party, attested) {
      const counter = Buffer.alloc(4);
      counter.writeUInt32BE(this.count);
      return Buffer.concat([sha(party), Buffer.from([flags]), counter, ...(attested ? [Buffer.alloc(16), Buffer.from([0, this.id.length]), this.id, this.cose] : [])]);
    }
    add(challenge, { flags = 0x45, party = "localhost", type = "webauthn.create", origin, more, name = "key" } = {}) {
      return { name, clientData: text(clientData(type, challenge, origin, more)), authenticatorData: text(this.data(flags, party, true)) };
    }
    sign(challenge, { flags = 0x05, party = "localhost", type = "webauthn.get", origin, more, step = 1 } = {}) {
      this.count += step;
      const client = clientData(type, challenge, origin, more), data = this.data(flags, party, false);
      return { id: text(this.id), clientData: text(client), authenticatorData: text(data), signature: text(crypto.sign("sha256", Buffer.concat([data, sha(client)]), this.key)) };
    }
  }
  const fresh = async () => (await ada.post("/api/passkey/challenge", {})).json;
  const asked = async () => (await ask(page, "/api/sign-in/challenge", { method: "POST", body: {} })).json.challenge;
  const enter = (body) => ask(page, "/api/sign-in/passkey", { method: "POST", body });
  const first = await fresh();
  check("what a browser needs for a passkey", first.party === "localhost" && first.account === "ada" && Buffer.from(first.challenge, "base64url").length === 32 && first.known.length === 0, first);
  for (const [what, algorithm] of [["ES256", -7], ["RS256", -257]]) {
    const key = new Authenticator(algorithm);
    check(`${what}: added`, (await ada.post("/api/passkey/add", key.add((await fresh()).challenge))).status === 200);
    const back = await enter(key.sign(await asked()));
    check(`${what}: signs in`, back.status === 200 && back.json.person === "ada" && back.json.way === "passkey", back.json);
    check(`${what}: not with another key's signature`, (await enter({ ...key.sign(await asked()), signature: new Authenticator(algorithm).sign("x").signature })).status === 403);
  }
  const key = new Authenticator(-7), one = (await fresh()).challenge;
  const refused = async (what, body) => check(`no passkey: ${what}`, (await ada.post("/api/passkey/add", body)).status === 400);
  await refused("a challenge of its own", key.add(text(crypto.randomBytes(32))));
  await refused("the challenge of somebody who signs in", key.add(await asked()));
  await refused("of another page", key.add((await fresh()).challenge, { origin: "http://localhost:1" }));
  await refused("in a frame of another page", key.add((await fresh()).challenge, { more: { crossOrigin: true } }));
  await refused("of another name", key.add((await fresh()).challenge, { party: "evil.example" }));
  await refused("without its owner", key.add((await fresh()).challenge, { flags: 0x41 }));
  await refused("of a sign-in", key.add((await fresh()).challenge, { type: "webauthn.get" }));
  await refused("cut off", { ...key.add((await fresh()).challenge), authenticatorData: key.add("x").authenticatorData.slice(0, 120) });
  check("another session's challenge is nothing", await (async () => { const other = await signIn(page, page.newLink("ada")); return (await other.post("/api/passkey/add", key.add(one))).status === 400; })());
  check("a challenge counts", (await ada.post("/api/passkey/add", key.add(one))).status === 200);
  check("once", (await ada.post("/api/passkey/add", new Authenticator(-7).add(one))).status === 400);
  check("and a key as well", (await ada.post("/api/passkey/add", key.add((await fresh()).challenge))).status === 409);
  const turned = async (what, body) => check(`no way in: ${what}`, (await enter(body)).status === 403);
  await turned("a challenge of its own", key.sign(text(crypto.randomBytes(32))));
  await turned("the challenge of somebody who adds a passkey", key.sign((await fresh()).challenge));
  await turned("of another page", key.sign(await asked(), { origin: "http://localhost:3000" }));
  await turned("of another name", key.sign(await asked(), { party: "evil.example" }));
  await turned("without its owner", key.sign(await asked(), { flags: 0x01 }));
  await turned("of a new passkey", key.sign(await asked(), { type: "webauthn.create" }));
  await turned("an unknown key", new Authenticator(-7).sign(await asked()));
  const again = key.sign(await asked());
  check("a proof counts", (await enter(again)).status === 200);
  await turned("a proof, twice", again);
  await turned("a counter that stands still", key.sign(await asked(), { step: 0 }));
  await turned("a counter that goes back", key.sign(await asked(), { step: -1 }));
  await turned("texts that are none", { id: "%%", clientData: 1, authenticatorData: null, signature: [] });
  const own = (await ada.get("/api/credentials")).json;
  check("the owner sees them", own.passkeys.length === 3 && own.password === false, own);
  check("and takes one away", (await ada.post("/api/passkey/remove", { id: text(key.id) })).status === 200 && (await enter(key.sign(await asked(), { step: 5 }))).status === 403);
  await page.stop();
}

// ---- For people at other machines: TLS, a name, and somebody who can sign in ----
{
  const place = new Place();
  place.people();
  const pem = (name) => path.join(place.top, name);
  const made = spawnSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", pem("key"), "-out", pem("cert"), "-days", "2", "-subj", "/CN=approve.example.org", "-addext", "subjectAltName=DNS:approve.example.org"]);
  const more = ["--name", "approve.example.org", "--tls-certificate", pem("cert"), "--tls-key", pem("key")];
  const fails = (args, text) => { const done = place.cli(["console", ...args]); return check(`it does not start: ${text}`, done.status === 2 && done.stderr.includes(text), done.stderr); };
  fails(["--listen", "0.0.0.0:0"], "others can reach this address");
  fails(["--listen", "0.0.0.0:0", "--tls-certificate", pem("cert"), "--tls-key", pem("key")], "--name");
  fails(["--listen", "127.0.0.1:0", "--tls-key", pem("key")], "belong together");
  fails(["--listen", "nowhere"], "an address of this machine");
  fails(["--listen", "203.0.113.1:1", ...more], made.status === 0 ? "nobody could sign in" : "");
  if (made.status !== 0) {
    console.log("openssl is not there: TLS is left out");
  } else {
    fails(["--listen", "0.0.0.0:0", ...more], "nobody could sign in");
    place.cli(["console", "password", "bob"], "correct horse battery\n");
    const page = new Page(place, more);
    page.listen = "0.0.0.0";
    await page.start();
    check("its address has the name", page.origin === `https://approve.example.org:${page.port}` && !page.link.includes("#"), page.link);
    const tls = (where, options = {}) => new Promise((done) => {
      const body = options.body && JSON.stringify(options.body);
      const request = https.request({ host: "127.0.0.1", port: page.port, path: where, method: body ? "POST" : "GET", ca: fs.readFileSync(pem("cert")), servername: "approve.example.org", setHost: false, agent: false, ...options.tls,
        headers: { Host: `approve.example.org:${page.port}`, ...(body ? { Origin: page.origin, "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) } : {}), ...options.headers } }, (answer) => {
        let text = "";
        answer.on("data", (data) => { text += data; });
        answer.on("end", () => done({ status: answer.statusCode, headers: answer.headers, json: /^\{/.test(text) ? JSON.parse(text) : null }));
      });
      request.on("error", (error) => done({ status: 0, error: String(error) }));
      request.end(body);
    });
    const bob = await tls("/api/sign-in/password", { body: { account: "bob", password: "correct horse battery" } });
    check("a password signs in", bob.status === 200 && bob.json.person === "bob", bob);
    check("its cookie is the host's alone", /^__Host-callgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/.test(bob.headers["set-cookie"][0]), bob.headers);
    check("it is not asked without TLS again", bob.headers["strict-transport-security"] !== undefined);
    const headers = { Cookie: bob.headers["set-cookie"][0].split(";")[0], "X-Callgate": bob.json.token };
    check("and lets in", (await tls("/api/waiting", { headers })).status === 200);
    check("localhost is not its name", (await tls("/api/waiting", { headers: { ...headers, Host: `localhost:${page.port}` } })).status === 403);
    check("nor an address", (await tls("/api/waiting", { headers: { ...headers, Host: `127.0.0.1:${page.port}` } })).status === 403);
    check("no old TLS", (await tls("/", { tls: { maxVersion: "TLSv1.1", minVersion: "TLSv1" } })).status === 0);
    check("no HTTP without TLS", await ask(page, "/").then(() => false, () => true));
    check("a link for an account has its name", page.newLink("bob").startsWith(page.origin + "/#link="));
    await page.stop();
  }
}

// ---- Gates of a broker ----
{
  const place = new Place([...RULES, { id: "grouped", effect: "require_approval", match: { tool: "grouped" }, approversFrom: ["security"] }]);
  place.write("people.json", "");
  place.peopleFile = place.write("people.json", JSON.stringify({ people: [{ name: "ada", user: os.userInfo().username }, { name: "bob", page: "bob" }], groups: { security: ["bob"] } }));
  const broker = spawn(callgate, ["serve", "--state", place.state, "--policy", place.policy], { stdio: "ignore" });
  later(() => broker.kill());
  const socket = path.join(place.state, "gate.sock");
  await until(() => fs.existsSync(socket));
  const gate = new Gate(place, { gate: socket }), page = await new Page(place).start(), me = await signIn(page), bob = await signIn(page, page.newLink("bob"));
  const answer = async (who, tool) => {
    const r = await until(async () => (await who.get("/api/waiting")).json.requests.find((one) => one.tool === tool));
    const whole = (await who.get("/api/request?code=" + r.code)).json;
    return [whole, (await who.post("/api/answer", { code: r.code, number: r.number, yes: true, scope: "once", shown: whole.shown })).json];
  };
  const id = gate.call("ask", { n: 1 });
  const [whole, done] = await answer(me, "ask");
  check("a call behind a broker is answered", done.result === "approved" && await until(() => gate.ran(id)), done);
  check("its rule is found", whole.where?.file === place.policy, whole.where);
  const grouped = gate.call("grouped", { n: 2 });
  const [asked, no] = await answer(me, "grouped");
  check("whom the rule asks is told", JSON.stringify(asked.groups) === '["security"]', asked.groups);
  check("others may not answer", no.error === "forbidden" && !gate.ran(grouped), no);
  check("who is of the group may", (await answer(bob, "grouped"))[1].result === "approved" && await until(() => gate.ran(grouped)));
  gate.stop();
  await page.stop();
  broker.kill();
}

// ---- Greedy clients ----
{
  const place = new Place(), gate = new Gate(place), page = await new Page(place).start();
  const me = await signIn(page);
  await me.get("/api/waiting");
  const open = [];
  later(() => open.forEach((socket) => socket.destroy()));
  const connect = (first) => new Promise((done) => {
    const socket = net.connect(page.port, "127.0.0.1", () => { socket.write(first); done(socket); });
    socket.on("error", () => done(socket));
    socket.on("data", () => {});
    open.push(socket);
  });
  const head = `Host: localhost:${page.port}\r\nCookie: ${me.cookie}\r\nX-Callgate: ${me.token}\r\n`;
  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 50 }, () => connect(`GET /api/events HTTP/1.1\r\n${head}\r\n`)));
  check("a thousand streams: it is there for who comes", (await me.get("/api/waiting").catch((error) => ({ status: String(error) }))).status === 200);
  const id = gate.call("ask", { n: 1 });
  const r = await until(async () => (await me.get("/api/waiting")).json.requests[0]);
  const shown = (await me.get("/api/request?code=" + r.code)).json.shown;
  check("and answers count", (await me.post("/api/answer", { code: r.code, number: r.number, yes: true, scope: "once", shown })).json.result === "approved" && await until(() => gate.ran(id)));
  for (const socket of open.splice(0)) socket.destroy();
  await sleep(300);
  // A body of 100 MB, said and unsaid.
  const said = await connect(`POST /api/answer HTTP/1.1\r\n${head}Origin: http://localhost:${page.port}\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n`);
  let heard = "";
  said.on("data", (data) => { heard += data; });
  const chunk = Buffer.alloc(1 << 20, "a");
  for (let i = 0; i < 100 && !said.destroyed; i++) await new Promise((on) => (said.write(chunk, on) ? on() : said.once("drain", on).once("close", on)));
  check("a body of 100 MB is refused", await until(() => heard.includes(" 413 ") || said.destroyed), heard.slice(0, 100));
  const unsaid = await connect(`POST /api/answer HTTP/1.1\r\n${head}Origin: http://localhost:${page.port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`);
  heard = "";
  unsaid.on("data", (data) => { heard += data; });
  for (let i = 0; i < 30 && !unsaid.destroyed; i++) await new Promise((on) => { const more = unsaid.write("100000\r\n") && unsaid.write(chunk) && unsaid.write("\r\n"); more ? on() : unsaid.once("drain", on).once("close", on); });
  if (!unsaid.destroyed) unsaid.write("0\r\n\r\n");
  check("one of unsaid length, too", await until(() => heard.includes(" 413 ") || unsaid.destroyed), heard.slice(0, 100));
  check("a header of a megabyte is refused", await until(async () => { const s = await connect(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(1 << 20)}\r\n\r\n`); return new Promise((on) => { s.on("close", () => on(true)); setTimeout(() => on(false), 30000); }); }));
  // Somebody who never asks and somebody who never reads.
  for (let i = 0; i < 100; i++) await connect("GET / HT");
  check("who never asks keeps nobody out", (await me.get("/api/waiting")).status === 200);
  if (!process.argv.includes("--sanitized")) check("in less than 100 MB", page.rss() < 100000, page.rss());
  const last = gate.call("free", {});
  check("the gate does not notice", await until(() => gate.ran(last)));
  gate.stop();
  check("and it ends", await page.stop() === 0);
}
await cleanUp();
end();
