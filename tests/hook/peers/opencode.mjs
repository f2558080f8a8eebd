// opencode.mjs CALLGATE PROGRAM: opencode itself, `opencode run`, with our plugin.
import fs from "node:fs"
import path from "node:path"
import { check, finish, isMain, install, model, place, run, show } from "./lib.mjs"

const [callgate, program] = process.argv.slice(2)

export async function session(p, calls) {
  let next = 0
  const results = []
  const server = await model((request, text, response) => {
    let body = {}
    try {
      body = JSON.parse(text)
    } catch {}
    if ((body.tools || []).length) show(body.tools)
    for (const message of body.messages || [])
      if (message.role === "tool") results[Number(message.tool_call_id.split("_")[1])] = JSON.stringify(message.content)
    const main = (body.tools || []).length > 0
    const chunk = (delta, reason = null) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
    response.writeHead(200, { "content-type": "text/event-stream" })
    if (main && next < calls.length) {
      const [name, args] = calls[next]
      const call = { index: 0, id: `call_${next++}`, type: "function", function: { name, arguments: JSON.stringify(args) } }
      response.write(chunk({ role: "assistant", tool_calls: [call] }) + chunk({}, "tool_calls"))
    } else {
      response.write(chunk({ role: "assistant", content: "done" }) + chunk({}, "stop"))
    }
    response.end("data: [DONE]\n\n")
  })
  const config = {
    $schema: "https://opencode.ai/config.json",
    autoupdate: false,
    share: "disabled",
    model: "own/m",
    small_model: "own/m",
    permission: { "*": "allow" },
    provider: { own: { npm: "@ai-sdk/openai-compatible", name: "own", options: { baseURL: `${server.url}/v1`, apiKey: "none" }, models: { m: { name: "m", tool_call: true } } } },
  }
  fs.mkdirSync(path.join(p.home, ".config/opencode"), { recursive: true })
  fs.writeFileSync(path.join(p.home, ".config/opencode/opencode.json"), JSON.stringify({ ...config, ...p.config }))
  const env = { PATH: process.env.PATH, HOME: p.home, OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_DEFAULT_PLUGINS: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" }
  const { code, out } = await run(program, ["run", "--model", "own/m", "go"], { env, cwd: p.project })
  server.close()
  check("it ends well", code === 0, out.slice(-1500))
  return results
}

const denied = (result) => (result || "").includes("Denied by Callgate")

async function main() {
  const version = await run(program, ["--version"], {})
  console.log(`opencode ${version.out.trim()}`)
  const p = place()
  await install(callgate, "opencode", p, "--deadline", "3")
  let got = await session(p, [
    ["read", { filePath: `${p.project}/secret.txt` }],
    ["read", { filePath: `${p.project}/open.txt` }],
    ["write", { filePath: `${p.project}/new/secret.txt`, content: "x" }],
    ["bash", { command: "echo ran >ran.txt", description: "run" }],
    ["write", { filePath: `${p.project}/free.txt`, content: "x" }],
  ])
  check("a denied read", denied(got[0]), got)
  check("an allowed read", (got[1] || "").includes("OPENTEXT"), got)
  check("a denied write", denied(got[2]) && !p.exists("new/secret.txt"), got)
  check("a command without a rule", p.exists("ran.txt"), got)
  check("a write without a rule", p.exists("free.txt"), got)
  check("each call once in the journal", p.journal().length === 5, p.journal().length)
  p.write("[{")
  got = await session(p, [["read", { filePath: `${p.project}/open.txt` }]])
  check("a policy that broke denies", denied(got[0]), got)
  p.write([{ id: "ask", effect: "require_approval", match: { tool: "bash" } }])
  got = await session(p, [["bash", { command: "echo asked >asked.txt", description: "run" }]])
  check("held, and not approved in time", denied(got[0]) && !p.exists("asked.txt"), got)
  const plugin = path.join(p.home, ".config/opencode/plugins/callgate.js")
  fs.writeFileSync(plugin, fs.readFileSync(plugin, "utf8").replace(/const COMMAND = \["[^"]*"/, 'const COMMAND = ["/none"'))
  p.write([])
  got = await session(p, [["bash", { command: "echo gone >gone.txt", description: "run" }]])
  check("a program that is not there denies", denied(got[0]) && !p.exists("gone.txt"), got)
  p.remove()
  finish()
}
if (isMain(import.meta.url)) main()
