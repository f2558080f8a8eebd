// @casl/ability: the action is the tool, the type of the subject is the channel, so that its own index by both helps;
// 'manage' and 'all' are its words for any. Its last matching rule wins: the rules stand in reverse order.
import { createMongoAbility } from "@casl/ability";

function conditions({ match }) {
  const found = {};
  if (match.toolPrefix !== undefined) found.tool = { $regex: `^${match.toolPrefix}` };
  if (match.server !== undefined) found.server = match.server;
  if (match.thread_ts !== undefined) found["sessionKey.thread"] = match.thread_ts;
  if (match.actor !== undefined) found.actor = match.actor;
  for (const [key, value] of Object.entries(match.argEquals ?? {})) found[`input.${key}`] = value;
  return Object.keys(found).length > 0 ? found : undefined;
}

export function load({ policy }) {
  const rules = policy.map((rule, rank) => ({
    action: rule.match.tool ?? "manage",
    subject: rule.match.channel ?? "all",
    conditions: conditions(rule),
    inverted: rule.effect === "deny",
    reason: String(rank),
  }));
  const ability = createMongoAbility(rules.reverse(), { detectSubjectType: (call) => call.sessionKey.channel });
  return (call) => {
    const rule = ability.relevantRuleFor(call.tool, call);
    return rule === null ? -1 : Number(rule.reason);
  };
}
