// Our plain evaluator: every rule in order until one matches.
import { compile, first } from "./rules.mjs";

export function load({ policy }) {
  const rules = compile(policy);
  return (call) => first(rules, call);
}
