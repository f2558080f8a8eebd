// claude-code.mjs CALLGATE PROGRAM: Claude Code itself, print mode.
import fs from "node:fs"
import path from "node:path"
import { check, finish, isMain, install, model, place, run, show } from "./lib.mjs"

const [callgate, program] = process.argv.slice(2)

function events(content) {
  const event = (type, data) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
  const tool = content.type === "tool_use"
  return [
    event("message_start", { message: { id: "m", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } } }),
    event("content_block_start", { index: 0, content_block: tool ? { ...content, input: {} } : { type: "text", text: "" } }),
    event("content_block_delta", { index: 0, delta: tool ? { type: "input_json_delta", partial_json: JSON.stringify(content.input) } : { type: "text_delta", text: "done" } }),
    event("content_block_stop", { index: 0 }),
    event("message_delta", { delta: { stop_reason: tool ? "tool_use" : "end_turn" }, usage: { output_tokens: 1 } }),
    event("message_stop", {}),
  ].join("")
}

/// Lets Claude Code make the calls, and gives what it got for each.
export async function session(p, calls, words) {
  let next = 0
  const results = []
  const server = await model((request, text, response) => {
    if (request.method !== "POST" || !request.url.startsWith("/v1/messages") || request.url.includes("count_tokens")) {
      response.writeHead(200, { "content-type": "application/json" })
      return response.end('{"input_tokens":1}')
    }
    const body = JSON.parse(text)
    if ((body.tools || []).length) show(body.tools)
    const parts = body.messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []))
    for (const part of parts)
      if (part.type === "tool_result")
        results[Number(part.tool_use_id.split("_")[1])] = { error: !!part.is_error, text: JSON.stringify(part.content) }
    const main = (body.tools || []).some((tool) => tool.name === "Read")
    const content = main && next < calls.length
      ? { type: "tool_use", id: `toolu_${next}`, name: calls[next][0], input: calls[next++][1] }
      : { type: "text", text: "done" }
    if (body.stream) {
      response.writeHead(200, { "content-type": "text/event-stream" })
      return response.end(events(content))
    }
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ id: "m", type: "message", role: "assistant", model: "m", content: [content], stop_reason: content.type === "tool_use" ? "tool_use" : "end_turn", usage: { input_tokens: 1, output_tokens: 1 } }))
  })
  const env = { PATH: process.env.PATH, HOME: p.home, ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "none", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", IS_SANDBOX: "1" }
  const { code, out } = await run(program, ["-p", "go", ...words], { env, cwd: p.project })
  server.close()
  check("it ends well", code === 0, out.slice(0, 600))
  return results
}

const denied = (result) => result && result.error && result.text.includes("Denied by Callgate")
const tools = ["--allowedTools", "Read", "Write", "Bash", "Grep"]

async function main() {
  const version = await run(program, ["--version"], {})
  console.log(`Claude Code ${version.out.trim()}`)
  for (const words of [tools, ["--permission-mode", "bypassPermissions", "--allowedTools", "Grep"]]) {
    const p = place()
    await install(callgate, "claude-code", p)
    const calls = [
      ["Read", { file_path: `${p.project}/secret.txt` }],
      ["Read", { file_path: `${p.project}/open.txt` }],
      ["Write", { file_path: `${p.project}/new/secret.txt`, content: "x" }],
      ["Bash", { command: "echo ran >ran.txt" }],
      ["Read", { file_path: p.policy }], // the host writes only what was read
      ["Write", { file_path: p.policy, content: "[]" }],
      ["Grep", { pattern: "SECRET", path: p.project, output_mode: "content" }],
      ["Grep", { pattern: "OPEN", path: `${p.project}/open.txt`, output_mode: "content" }],
    ]
    const got = await session(p, calls, words)
    const what = words[1]
    check(`${what}: a denied read`, denied(got[0]), got[0])
    check(`${what}: an allowed read`, got[1] && !got[1].error && got[1].text.includes("OPENTEXT"), got[1])
    check(`${what}: a denied write`, denied(got[2]) && !p.exists("new/secret.txt"), got[2])
    check(`${what}: a command without a rule`, got[3] && p.exists("ran.txt"), got[3])
    check(`${what}: the policy is not written`, denied(got[5]), got)
    check(`${what}: a search over a folder with a denied file`, denied(got[6]) && !got[6].text.includes("TOPSECRET"), got[6])
    check(`${what}: a search beside it`, got[7] && !got[7].error && got[7].text.includes("OPENTEXT"), got[7])
    check(`${what}: each call once in the journal`, p.journal().length === calls.length, p.journal())
    p.remove()
  }
  const p = place()
  await install(callgate, "claude-code", p, "--deadline", "2")
  p.write("[{")
  let got = await session(p, [["Read", { file_path: `${p.project}/open.txt` }]], tools)
  check("a policy that broke denies", denied(got[0]), got[0])
  p.write([{ id: "ask", effect: "require_approval", match: { tool: "Bash" } }])
  got = await session(p, [["Bash", { command: "echo ran >ran.txt" }]], tools)
  check("the host's question has nobody to answer it here", got[0] && got[0].error && !p.exists("ran.txt"), got[0])
  got = await session(p, [["Bash", { command: "echo ran >ran.txt" }]], ["--permission-mode", "bypassPermissions"])
  check("held in bypass mode, and not approved in time", denied(got[0]) && !p.exists("ran.txt"), got[0])
  p.write([{ id: "all", effect: "auto_approve", match: { tool: "Bash" } }])
  await install(callgate, "claude-code", p, "--grant")
  got = await session(p, [["Bash", { command: "echo ran >ran.txt" }]], [])
  check("--grant is the host's allow", got[0] && !got[0].error && p.exists("ran.txt"), got[0])
  const settings = path.join(p.home, ".claude/settings.json")
  const text = fs.readFileSync(settings, "utf8")
  for (const command of ["/none", "/bin/false", "/bin/true -"]) {
    fs.rmSync(path.join(p.project, "ran.txt"), { force: true })
    fs.writeFileSync(settings, text.replaceAll(/"command": "[^"]*"/g, `"command": "${command}"`))
    got = await session(p, [["Bash", { command: "echo ran >ran.txt" }]], tools)
    check(`the switch turns ${command} into a deny`, got[0] && got[0].error && !p.exists("ran.txt"), got[0])
  }
  p.remove()
  finish()
}
if (isMain(import.meta.url)) main()
