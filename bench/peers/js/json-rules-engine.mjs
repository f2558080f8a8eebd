// json-rules-engine: one rule with a priority of its own for each of ours; the first event stops the run.
import { Engine } from "json-rules-engine";

function conditions({ match }) {
  const all = [];
  const add = (fact, value, operator = "equal") => all.push({ fact, operator, value });
  if (match.tool !== undefined) add("tool", match.tool);
  if (match.channel !== undefined) add("channel", match.channel);
  if (match.thread_ts !== undefined) add("thread", match.thread_ts);
  if (match.server !== undefined) add("server", match.server);
  if (match.actor !== undefined) add("actor", match.actor);
  if (match.toolPrefix !== undefined) add("tool", match.toolPrefix, "startsWith");
  for (const [path, value] of Object.entries(match.argEquals ?? {})) {
    all.push({ fact: "input", path, operator: "equal", value });
  }
  return { all };
}

export function load({ policy }) {
  const engine = new Engine([], { pathResolver: (input, key) => input[key] });
  engine.addOperator("startsWith", (text, prefix) => text.startsWith(prefix));
  policy.forEach((rule, rank) => {
    engine.addRule({ conditions: conditions(rule), event: { type: String(rank) }, priority: policy.length - rank });
  });
  engine.on("success", () => engine.stop());
  return async (call) => {
    const { tool, server, sessionKey, actor, input } = call;
    const { events } = await engine.run({
      tool,
      server,
      channel: sessionKey.channel,
      thread: sessionKey.thread,
      actor,
      input,
    });
    return events.length > 0 ? Number(events[0].type) : -1;
  };
}
