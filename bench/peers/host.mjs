// host.mjs PEER FOLDER: loads a policy into one JavaScript evaluator, then does what standard input asks for, a line each:
//
//   check MS           decides the calls in their order for at most so long -> {"ranks":[...]}
//   measure MS COUNT   decides the first COUNT of them over and over for so long -> {"decisions":N,"ns":N}
//
// A call is parsed anew each time, outside of what is timed, so that no string of it was ever hashed or compared before.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const BATCH = 64;
const [name, folder] = process.argv.slice(2);
const file = (path) => readFileSync(`${folder}/${path}`, "utf8");
const lines = file("calls.jsonl").trimEnd().split("\n");

const sources = {
  get policy() {
    return JSON.parse(file("policy.json"));
  },
  get cedarText() {
    return file("policy.cedar");
  },
  get casbinModel() {
    return file("casbin.conf");
  },
  get casbinRows() {
    return JSON.parse(file("casbin.json"));
  },
};

let decide;
let nsOfOne = 1e9;
let at = 0;
let kept = 0; // of all decisions, so that none is optimised away

async function check(ms) {
  const ranks = [];
  const begin = performance.now();
  for (const line of lines) {
    ranks.push(await decide(JSON.parse(line)));
    if (performance.now() - begin > ms) break;
  }
  nsOfOne = ((performance.now() - begin) / ranks.length) * 1e6;
  return { ranks };
}

function decideAll(calls) {
  for (const call of calls) kept ^= decide(call);
}

async function decideAllInTurn(calls) {
  for (const call of calls) kept ^= await decide(call);
}

async function measure(ms, count) {
  const size = Math.max(1, Math.min(BATCH, Math.floor((ms * 1e6) / nsOfOne)));
  const waits = decide.constructor.name === "AsyncFunction";
  let decisions = 0;
  let ns = 0;
  while (ns < ms * 1e6) {
    const calls = [];
    for (let i = 0; i < size; i++, at++) calls.push(JSON.parse(lines[at % count]));
    const begin = process.hrtime.bigint();
    if (waits) await decideAllInTurn(calls);
    else decideAll(calls);
    ns += Number(process.hrtime.bigint() - begin);
    decisions += size;
  }
  return { decisions, ns, kept };
}

const begin = performance.now();
const { load } = await import(`./js/${name}.mjs`);
decide = await load(sources);
console.log(JSON.stringify({ load_ms: performance.now() - begin }));
for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...numbers] = line.split(" ");
  console.log(JSON.stringify(await (command === "check" ? check : measure)(...numbers.map(Number))));
}
