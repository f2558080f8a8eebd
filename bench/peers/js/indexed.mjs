// Our evaluator with an index by tool: for each tool that a rule names, the rules that can match it, in order.
import { compile, first } from "./rules.mjs";

export function load({ policy }) {
  const rules = compile(policy);
  const ofOthers = rules.filter((rule) => rule.tool === null);
  const byTool = new Map();
  for (const { tool } of rules) {
    if (tool !== null && !byTool.has(tool)) byTool.set(tool, []);
  }
  for (const [tool, list] of byTool) {
    for (const rule of rules) {
      if (rule.tool === null ? rule.toolPrefix === null || tool.startsWith(rule.toolPrefix) : rule.tool === tool) {
        list.push(rule);
      }
    }
  }
  return (call) => first(byTool.get(call.tool) ?? ofOthers, call);
}
