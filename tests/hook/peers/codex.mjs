// codex.mjs CALLGATE PROGRAM: Codex itself, `codex exec`, with all approvals and its sandbox off.
import fs from "node:fs"
import path from "node:path"
import { check, finish, isMain, install, model, place, run, show } from "./lib.mjs"

const [callgate, program] = process.argv.slice(2)

export async function session(p, calls) {
  let next = 0
  const results = []
  const server = await model((request, text, response) => {
    if (!request.url.includes("/responses") || request.method !== "POST") {
      response.writeHead(request.url.includes("models") ? 200 : 404, { "content-type": "application/json" })
      return response.end('{"models":[],"data":[]}')
    }
    const body = JSON.parse(text)
    show(body.tools)
    for (const item of body.input || [])
      if (/_output$/.test(item.type)) results[Number(item.call_id.split("_")[1])] = JSON.stringify(item.output)
    const item = next < calls.length ? { ...calls[next], call_id: `call_${next++}`, id: "i", status: "completed" } : { type: "message", role: "assistant", id: "i", content: [{ type: "output_text", text: "done" }] }
    const event = (type, data) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(event("response.created", { response: { id: "r" } }) + event("response.output_item.done", { output_index: 0, item }) +
      event("response.completed", { response: { id: "r", usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: null, output_tokens_details: null } } }))
  })
  fs.mkdirSync(path.join(p.home, ".codex"), { recursive: true })
  fs.writeFileSync(path.join(p.home, ".codex/config.toml"), `model = "gpt-5.5"\nmodel_provider = "own"\n[model_providers.own]\nname = "own"\nbase_url = "${server.url}/v1"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n${p.toml || ""}`)
  const env = { PATH: process.env.PATH, HOME: p.home, CODEX_HOME: path.join(p.home, ".codex") }
  const args = [program, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", "go"]
  const { code, out } = await run(process.execPath, args, { env, cwd: p.project })
  server.close()
  check("it ends well", code === 0, out.slice(-1500))
  return results
}

const shell = (command) => ({ type: "function_call", name: "exec_command", arguments: JSON.stringify({ cmd: command }) })
const patch = (text) => ({ type: "custom_tool_call", name: "apply_patch", input: text })
const denied = (result) => (result || "").includes("Denied by Callgate")

async function main() {
  const version = await run(process.execPath, [program, "--version"], {})
  console.log(version.out.trim())
  const p = place()
  p.write([
    { id: "secret", effect: "deny", match: { pathComponent: "secret.txt" }, reason: "no" },
    { id: "no", effect: "deny", match: { tool: "Bash", argEquals: { command: "echo no >no.txt" } }, reason: "no" },
  ])
  await install(callgate, "codex", p, "--deadline", "3")
  let got = await session(p, [
    shell("echo no >no.txt"),
    shell("echo ran >ran.txt"),
    patch("*** Begin Patch\n*** Add File: new/secret.txt\n+x\n*** End Patch\n"),
    patch("*** Begin Patch\n*** Add File: free.txt\n+x\n*** End Patch\n"),
  ])
  check("a denied command", denied(got[0]) && !p.exists("no.txt"), got)
  check("a command without a rule", p.exists("ran.txt"), got)
  check("a denied patch", denied(got[2]) && !p.exists("new/secret.txt"), got)
  check("a patch without a rule", p.exists("free.txt"), got)
  check("each call once in the journal", p.journal().length === 4, p.journal().length)
  p.write("[{")
  got = await session(p, [shell("echo broken >broken.txt")])
  check("a policy that broke denies", denied(got[0]) && !p.exists("broken.txt"), got)
  p.write([{ id: "ask", effect: "require_approval", match: { tool: "Bash" } }])
  got = await session(p, [shell("echo asked >asked.txt")])
  check("held, and not approved in time", denied(got[0]) && !p.exists("asked.txt"), got)
  p.remove()
  finish()
}
if (isMain(import.meta.url)) main()
