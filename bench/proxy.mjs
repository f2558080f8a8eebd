// proxy.mjs COMMAND...: a proxy as it is quickly written in Node: parses each line and prints it again.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const child = spawn(process.argv[2], process.argv.slice(3), { stdio: ["pipe", "pipe", "inherit"] });
createInterface({ input: process.stdin }).on("line", (line) => child.stdin.write(JSON.stringify(JSON.parse(line)) + "\n"))
  .on("close", () => child.stdin.end());
createInterface({ input: child.stdout }).on("line", (line) => process.stdout.write(JSON.stringify(JSON.parse(line)) + "\n"));
child.on("exit", (code) => process.exit(code ?? 1));
