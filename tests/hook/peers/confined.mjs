// confined.mjs CALLGATE PROGRAM HOST: the host itself in a confinement, with its hook as a client of a broker outside: a small
// task works, a denied file is not there for whatever it starts, and nothing of the gate is within reach.
import { spawn } from "node:child_process"
import fs from "node:fs"
import path from "node:path"
import { check, finish, place, run } from "./lib.mjs"

const [callgate, program, host] = process.argv.slice(2)
process.env.TMPDIR = "/var/tmp" // /tmp is private inside
const shell = (command) => ({ type: "function_call", name: "exec_command", arguments: JSON.stringify({ cmd: command }) })

/// What each host calls the things of the task, and where below the home directory it writes while it runs.
const dialects = {
  "claude-code": {
    writes: [".claude"],
    settings: ".claude/settings.json",
    words: ["--permission-mode", "bypassPermissions"],
    read: (file) => ["Read", { file_path: file }],
    write: (file, text) => ["Write", { file_path: file, content: text }],
    shell: (command) => ["Bash", { command, description: "run" }],
  },
  codex: {
    writes: [".codex"],
    settings: ".codex/hooks.json",
    read: (file) => shell(`cat ${file}`),
    write: (file, text) => ({ type: "custom_tool_call", name: "apply_patch", input: `*** Begin Patch\n*** Add File: ${file}\n+${text}\n*** End Patch\n` }),
    shell,
  },
  opencode: {
    writes: [".local/share/opencode", ".local/state/opencode", ".cache", ".config/opencode"],
    settings: ".config/opencode/plugins/callgate.js",
    read: (file) => ["read", { filePath: file }],
    write: (file, text) => ["write", { filePath: file, content: text }],
    shell: (command) => ["bash", { command, description: "run" }],
  },
}
const d = dialects[host]

/// A program that starts the host confined, in the place of the host.
function wrapper(p, gate) {
  const file = path.join(p.home, "confined.cjs")
  for (const place of d.writes) fs.mkdirSync(path.join(p.home, place), { recursive: true })
  const words = ["confine", "--home", p.home, "--gate", gate, "--policy", p.policy, "--state", p.state, ...d.writes.flatMap((place) => ["--write", path.join(p.home, place)]), "--"]
  const command = host === "codex" ? [process.execPath, program] : [program]
  fs.writeFileSync(file, `#!${process.execPath}
const { spawnSync } = require("node:child_process")
const done = spawnSync(${JSON.stringify(callgate)}, [...${JSON.stringify([...words, ...command])}, ...process.argv.slice(2)], { stdio: "inherit" })
process.exit(done.status ?? 1)
`)
  fs.chmodSync(file, 0o755)
  return file
}

async function main() {
  if ((await run("unshare", ["-Urmpif", "true"], {})).code !== 0) {
    console.log("no user namespaces here\n0 passed, 0 failed, 1 skipped")
    process.exit(0)
  }
  if ([callgate, program].some((file) => file.startsWith("/tmp/"))) {
    console.log("/tmp is private inside, and these programs are there\n0 passed, 0 failed, 1 skipped")
    process.exit(0)
  }
  const p = place()
  const gate = path.join(p.state, "gate.sock")
  fs.writeFileSync(path.join(p.project, "peek.sh"), "cat secret.txt\n")
  fs.writeFileSync(path.join(p.project, "approve.sh"), `${callgate} pending --state ${p.state}; ls ${p.state}; cat ${p.state}/journal.jsonl\n`)
  fs.writeFileSync(path.join(p.project, "steer.sh"), `cd ${p.home}; for f in ${d.settings}; do echo x >$f; rm -f $f; mv $f $f.old; mv $(dirname $f) $(dirname $f).old; done`)
  fs.mkdirSync(p.state, { mode: 0o700 })
  const broker = spawn(callgate, ["serve", "--policy", p.policy, "--state", p.state, "--gate", gate, "--quiet"], { cwd: p.project, stdio: "ignore" })
  for (let i = 0; i < 100 && !fs.existsSync(gate); i++) await new Promise((resolve) => setTimeout(resolve, 100))
  const installed = await run(callgate, ["hook", "install", host, "--gate", gate, "--home", p.home, "--state", p.state], { cwd: p.project })
  check("the hook installs", installed.code === 0, installed.out)
  process.argv[3] = wrapper(p, gate)
  const confined = await import(`./${host}.mjs?confined`)
  const settings = fs.readFileSync(path.join(p.home, d.settings), "utf8")
  const got = await confined.session(p, [
    d.read(`${p.project}/open.txt`),
    d.write(`${p.project}/made.txt`, "made"),
    d.shell("echo ran >ran.txt"),
    d.shell("sh peek.sh"),
    d.shell("sh approve.sh"),
    d.read(`${p.project}/secret.txt`),
    d.shell("sh steer.sh"),
  ], d.words)
  const text = (result) => (typeof result === "string" ? result : JSON.stringify(result || ""))
  check("an allowed file is read", text(got[0]).includes("OPENTEXT"), got[0])
  check("a file is written", p.exists("made.txt"), got[1])
  check("a command runs", p.exists("ran.txt"), got[2])
  check("what a command starts does not read a denied file", got[3] && !text(got[3]).includes("TOPSECRET") && /denied|ermission/.test(text(got[3])), got[3])
  check("nothing of the gate is there", got[4] && !text(got[4]).includes("policy.allow"), got[4])
  check("a denied read is denied at the hook", text(got[5]).includes("Denied by Callgate"), got[5])
  check("its settings cannot be written", got[6] && fs.readFileSync(path.join(p.home, d.settings), "utf8") === settings, got[6])
  check("each call is in the journal outside", p.journal().length >= 7, p.journal().length)
  broker.kill()
  p.remove()
  finish()
}
main()
