// Callgate's hook for opencode: every tool call is judged before it runs. `callgate hook install opencode` puts this
// file into opencode's plugins with its own command below.
//
// opencode runs no program of its own before a tool, so this does, and throws on anything but a clear no-deny: no
// program, a signal, a code that is not 0, an answer that is not one of the two below, silence.
import { spawn } from "node:child_process"

const COMMAND = ["callgate", "hook", "opencode"]
const SILENCE_MS = 600000
const GOES_ON = ['{"decision":"none"}\n', '{"decision":"allow"}\n']

function ask(message) {
  return new Promise((resolve, reject) => {
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], env: {} })
    const timer = setTimeout(() => child.kill("SIGKILL"), SILENCE_MS)
    let answer = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => {
      if (answer.length < 4096) answer += text
    })
    child.stdin.on("error", () => {}) // the exit code tells
    child.on("error", reject)
    child.on("close", (code) => {
      clearTimeout(timer)
      resolve(code === 0 || code === 2 ? answer : "")
    })
    child.stdin.end(message)
  })
}

// What the denial says; it says no more than Callgate let it.
function reason(answer) {
  try {
    const { decision, reason } = JSON.parse(answer)
    if (decision === "deny" && typeof reason === "string" && reason !== "") return reason
  } catch {}
  return "Denied by Callgate."
}

export const Callgate = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    let answer = ""
    try {
      const { tool, sessionID, callID } = input
      answer = await ask(JSON.stringify({ tool, sessionID, callID, args: output.args, directory }))
    } catch {}
    if (!GOES_ON.includes(answer)) throw new Error(reason(answer))
  },
})
