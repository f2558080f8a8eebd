// A host's real program against our hook, without a network: a model of our own on the loopback interface asks for the
// calls, and what the host makes of them is what is tested.
import { spawn } from "node:child_process"
import fs from "node:fs"
import http from "node:http"
import os from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"

let passed = 0
let failed = 0

export function check(what, ok, more = "") {
  if (ok) passed++
  else {
    failed++
    console.log(`failed: ${what}`, more)
  }
}

/// Whether a file is the program that runs, and not only used by it.
export const isMain = (url) => fileURLToPath(url) === fs.realpathSync(process.argv[1])

/// With SHOW in the environment: the names of the tools that a host offers its model.
export function show(tools) {
  if (process.env.SHOW) fs.writeFileSync(process.env.SHOW, JSON.stringify(tools, null, 1))
}

export function finish() {
  console.log(`${passed} passed, ${failed} failed`)
  process.exit(failed || !passed ? 1 : 0)
}

/// A home directory with a project, a policy that keeps secret.txt, and the hook installed.
export function place() {
  const home = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "callgate-peer-")))
  const project = path.join(home, "project")
  fs.mkdirSync(project)
  fs.writeFileSync(path.join(project, "secret.txt"), "TOPSECRET")
  fs.writeFileSync(path.join(project, "open.txt"), "OPENTEXT")
  const p = { home, project, policy: path.join(home, "policy.json"), state: path.join(home, "state") }
  p.write = (rules) => fs.writeFileSync(p.policy, typeof rules === "string" ? rules : JSON.stringify(rules))
  p.write([
    { id: "secret", effect: "deny", match: { pathComponent: "secret.txt" }, reason: "no" },
    { id: "push", effect: "deny", match: { server: "git", tool: "push" }, reason: "no" },
  ])
  p.exists = (name) => fs.existsSync(path.join(project, name))
  p.journal = () => {
    try {
      const lines = fs.readFileSync(path.join(p.state, "journal.jsonl"), "utf8").trim().split("\n")
      return lines.map((line) => JSON.parse(line)).filter((event) => /^policy\.(allow|deny|require)$/.test(event.kind))
    } catch {
      return []
    }
  }
  p.remove = () => fs.rmSync(home, { recursive: true, force: true })
  return p
}

export function run(command, args, options, seconds = 90) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options })
    let out = ""
    child.stdout.on("data", (text) => (out += text))
    child.stderr.on("data", (text) => (out += text))
    const timer = setTimeout(() => child.kill("SIGKILL"), seconds * 1000)
    child.on("error", (error) => resolve({ code: -1, out: String(error) }))
    child.on("close", (code) => {
      clearTimeout(timer)
      resolve({ code, out })
    })
  })
}

export async function install(callgate, host, p, ...more) {
  const args = ["hook", "install", host, "--policy", p.policy, "--home", p.home, "--state", p.state, ...more]
  const { code, out } = await run(callgate, args, {})
  check(`${host}: installs`, code === 0, out)
}

/// A server on the loopback interface; handle(request, body as text, response).
export function model(handle) {
  return new Promise((resolve) => {
    const server = http.createServer((request, response) => {
      let body = ""
      request.on("data", (text) => (body += text))
      request.on("end", () => handle(request, body, response))
    })
    server.listen(0, "127.0.0.1", () => resolve({ url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }))
  })
}
