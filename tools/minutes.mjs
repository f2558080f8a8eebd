// minutes.mjs: docs/first-ten-minutes.md on a system of its own (tools/fresh.sh --only minutes SUITE): three real servers from
// npm in Claude Code's configuration of a user who has no policy, then the page's commands as they stand there, up to a call
// that is denied and one that is held and approved. Changes the home directory of whoever runs it. Ends with
// `N passed, N failed`.
import { execFileSync, spawn } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"
import readline from "node:readline"

const home = os.homedir()
const work = path.join(home, "work")
const began = Date.now()
let passed = 0
let failed = 0
let commands = 1 // make && sudo make install came first

function check(what, ok, more = "") {
  if (ok) passed++
  else {
    failed++
    console.log(`failed: ${what}`, more)
  }
}

function type(line) {
  console.log(`$ ${line}`)
  commands++
  try {
    const out = execFileSync("sh", ["-c", line], { cwd: work, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
    console.log(out.trimEnd())
    check(line, true)
    return out
  } catch (error) {
    check(line, false, `${error.stdout}${error.stderr}`)
    return ""
  }
}

if (fs.existsSync(path.join(home, ".claude.json")) || fs.existsSync(path.join(home, ".config/callgate"))) {
  console.log("minutes: this home directory has a configuration already: run it on a system of its own (tools/fresh.sh)")
  process.exit(2)
}
fs.mkdirSync(path.join(home, ".claude"))
fs.mkdirSync(work)
fs.mkdirSync(path.join(home, ".ssh"), { recursive: true })
fs.writeFileSync(path.join(home, ".ssh/id_rsa"), "TOPSECRET")
fs.writeFileSync(path.join(work, "notes.txt"), "hello")
const npx = (...args) => ({ command: "npx", args: ["-y", ...args] })
fs.writeFileSync(path.join(home, ".claude.json"), JSON.stringify({ mcpServers: {
  files: npx("@modelcontextprotocol/server-filesystem", home),
  memory: npx("@modelcontextprotocol/server-memory"),
  thinking: npx("@modelcontextprotocol/server-sequential-thinking"),
} }))

type("callgate init --yes 2>&1")
type("callgate wrap")
type("callgate hook install claude-code 2>/dev/null")

// The agent: what it does with the hook and with the servers is what Claude Code would.
const settings = JSON.parse(fs.readFileSync(path.join(home, ".claude/settings.json"), "utf8"))
const hook = settings.hooks.PreToolUse[0].hooks[0]
const message = { session_id: "s", cwd: work, hook_event_name: "PreToolUse", permission_mode: "default", tool_name: "Read", tool_input: { file_path: path.join(home, ".ssh/id_rsa") } }
const heard = execFileSync(hook.command, hook.args, { input: JSON.stringify(message), encoding: "utf8" })
check("the agent's own tool is denied a key", heard.includes('"deny"') && heard.includes("Credentials are off limits"), heard)

const { command, args } = JSON.parse(fs.readFileSync(path.join(home, ".claude.json"), "utf8")).mcpServers.files
const gate = spawn(command, args, { cwd: work, stdio: ["pipe", "pipe", "ignore"] })
const lines = readline.createInterface({ input: gate.stdout })[Symbol.asyncIterator]()
const send = (body) => gate.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...body }) + "\n")
async function answer(id) {
  for (;;) {
    const { value, done } = await lines.next()
    if (done) return {}
    const got = JSON.parse(value)
    if (got.id === id) return got
  }
}
send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "agent", version: "1" } } })
await answer(1)
send({ method: "notifications/initialized" })
const call = (id, name, input) => send({ id, method: "tools/call", params: { name, arguments: input } })
call(2, "read_text_file", { path: path.join(work, "notes.txt") })
check("a file of the work is read through the gate", JSON.stringify(await answer(2)).includes("hello"))
call(3, "read_text_file", { path: path.join(home, ".ssh/id_rsa") })
const denied = await answer(3)
check("a key is not", denied.result?.isError && !JSON.stringify(denied).includes("TOPSECRET"), JSON.stringify(denied))
call(4, "write_file", { path: path.join(work, "new.txt"), content: "x" })
let code = ""
for (let i = 0; i < 300 && !code; i++) {
  const waiting = JSON.parse(execFileSync("callgate", ["pending", "--format", "json"], { encoding: "utf8" }))
  code = waiting.length ? waiting[0].code : ""
  await new Promise((resolve) => setTimeout(resolve, 100))
}
check("a write waits", code !== "" && !fs.existsSync(path.join(work, "new.txt")))
if (code) type(`callgate approve ${code}`)
await answer(4)
check("and is carried out once it is approved", fs.existsSync(path.join(work, "new.txt")))
gate.stdin.end()
const minutes = (Date.now() - began) / 60000
console.log(`${commands} commands, ${minutes.toFixed(1)} minutes after the build`)
check("five commands at most", commands <= 5, commands)
check("ten minutes at most", minutes <= 10, minutes)
console.log(`${passed} passed, ${failed} failed`)
process.exit(failed || !passed ? 1 : 0)
