// casbin: one line of policy a rule, an empty field for any, and its priority effect, which stops at the first line
// that matches; `enforceEx` tells which one that was. Its synchronous form is the faster.
import { newEnforcer, newModelFromString } from "casbin";
import { argumentsTable } from "./rows.mjs";

export async function load({ casbinModel, casbinRows }) {
  const enforcer = await newEnforcer(newModelFromString(casbinModel));
  const table = argumentsTable(casbinRows);
  await enforcer.addFunction("argsEqual", (input, args) =>
    table.get(args).every(([key, value]) => input[key] === value),
  );
  await enforcer.addFunction("startsWith", (text, prefix) => text.startsWith(prefix));
  const assertion = enforcer.getModel().model.get("p").get("p");
  assertion.policy = casbinRows;
  return (call) => {
    const { tool, server, sessionKey, actor, input } = call;
    const [matched, line] = enforcer.enforceExSync(tool, server, sessionKey.channel, sessionKey.thread, actor, input);
    return matched ? Number(line[0]) : -1;
  };
}
