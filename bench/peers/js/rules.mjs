// Rules as both evaluators of our own hold them: every rule has the same members, null where it constrains nothing.

export function compile(policy) {
  return policy.map((rule, rank) => {
    const { match } = rule;
    const args = Object.entries(match.argEquals ?? {});
    return {
      rank,
      tool: match.tool ?? null,
      toolPrefix: match.toolPrefix ?? null,
      server: match.server ?? null,
      channel: match.channel ?? null,
      thread: match.thread_ts ?? null,
      actor: match.actor ?? null,
      args: args.length > 0 ? args : null,
    };
  });
}

function equal(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

function argsEqual(args, input) {
  for (const [key, value] of args) {
    if (!Object.hasOwn(input, key) || !equal(value, input[key])) return false;
  }
  return true;
}

export function matches(rule, call) {
  return (
    (rule.tool === null || rule.tool === call.tool) &&
    (rule.channel === null || rule.channel === call.sessionKey.channel) &&
    (rule.thread === null || rule.thread === call.sessionKey.thread) &&
    (rule.server === null || rule.server === call.server) &&
    (rule.actor === null || rule.actor === call.actor) &&
    (rule.toolPrefix === null || call.tool.startsWith(rule.toolPrefix)) &&
    (rule.args === null || argsEqual(rule.args, call.input))
  );
}

export function first(rules, call) {
  for (const rule of rules) {
    if (matches(rule, call)) return rule.rank;
  }
  return -1;
}
