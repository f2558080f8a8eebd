// gemini.mjs CALLGATE PROGRAM: Gemini CLI itself, without a terminal, approving everything by itself.
import fs from "node:fs"
import path from "node:path"
import { check, finish, isMain, install, model, place, run, show } from "./lib.mjs"

const [callgate, program] = process.argv.slice(2)

export async function session(p, calls, ends = true) {
  let next = 0
  const results = []
  const server = await model((request, text, response) => {
    let body = {}
    try {
      body = JSON.parse(text)
    } catch {}
    if (body.tools) show(body.tools)
    for (const content of body.contents || [])
      for (const part of content.parts || [])
        if (part.functionResponse) {
          const index = Number((part.functionResponse.id || "").split("_")[1] ?? NaN)
          results[Number.isNaN(index) ? results.length : index] = JSON.stringify(part.functionResponse.response)
        }
    const main = JSON.stringify(body.tools || []).includes("read_file") && request.url.includes("enerateContent")
    const part = main && next < calls.length
      ? { functionCall: { id: `c_${next}`, name: calls[next][0], args: calls[next++][1] } }
      : { text: main ? "done" : '{"next_speaker":"user","reasoning":"","model_choice":"flash","complexity_score":1,"complexity_reasoning":""}' }
    const answer = { candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } }
    const stream = request.url.includes("alt=sse")
    response.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json" })
    response.end(stream ? `data: ${JSON.stringify(answer)}\n\n` : JSON.stringify(request.url.includes("countTokens") ? { totalTokens: 1 } : answer))
  })
  const env = { PATH: process.env.PATH, HOME: p.home, GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: server.url, GEMINI_CLI_TRUST_WORKSPACE: "true", NO_COLOR: "1" }
  const { code, out } = await run(process.execPath, [program, "--yolo", "-p", "go"], { env, cwd: p.project })
  server.close()
  if (ends) check("it ends well", code === 0, out.slice(0, 1500))
  return results
}

const denied = (result) => (result || "").includes("Denied by Callgate")

async function main() {
  const version = await run(process.execPath, [program, "--version"], {})
  console.log(`Gemini CLI ${version.out.trim()}`)
  const p = place()
  fs.mkdirSync(path.join(p.home, ".gemini"))
  fs.writeFileSync(path.join(p.home, ".gemini/settings.json"), '{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}\n')
  await install(callgate, "gemini", p, "--deadline", "3")
  let got = await session(p, [
    ["read_file", { file_path: `${p.project}/secret.txt` }],
    ["read_file", { file_path: `${p.project}/open.txt` }],
    ["write_file", { file_path: `${p.project}/new/secret.txt`, content: "x" }],
    ["run_shell_command", { command: "echo ran >ran.txt" }],
    ["write_file", { file_path: `${p.project}/free.txt`, content: "x" }],
  ])
  check("a denied read", denied(got[0]), got)
  check("an allowed read", (got[1] || "").includes("OPENTEXT"), got)
  check("a denied write", denied(got[2]) && !p.exists("new/secret.txt"), got)
  check("a command without a rule", p.exists("ran.txt"), got)
  check("a write without a rule", p.exists("free.txt"), got)
  check("each call once in the journal", p.journal().length === 5, p.journal().length)
  p.write("[{")
  got = await session(p, [["read_file", { file_path: `${p.project}/open.txt` }]])
  check("a policy that broke denies", denied(got[0]), got)
  p.write([{ id: "ask", effect: "require_approval", match: { tool: "write_file" } }])
  got = await session(p, [["write_file", { file_path: `${p.project}/asked.txt`, content: "x" }]])
  check("held, and not approved in time", denied(got[0]) && !p.exists("asked.txt"), got)
  await install(callgate, "gemini", p, "--ask", "host")
  got = await session(p, [["write_file", { file_path: `${p.project}/asked.txt`, content: "x" }]], false)
  check("the host's question has nobody to answer it here", !p.exists("asked.txt"), got)
  p.remove()
  finish()
}
if (isMain(import.meta.url)) main()
