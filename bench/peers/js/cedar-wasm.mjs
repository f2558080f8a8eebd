// @cedar-policy/cedar-wasm: the policies are parsed once and kept by it; every rule is a permit, and of those that it
// names as reasons the host takes the one of lowest rank.
import cedar from "@cedar-policy/cedar-wasm/nodejs";

export function load({ cedarText }) {
  const parsed = cedar.preparsePolicySet("policy", { staticPolicies: cedarText });
  if (parsed.type !== "success") throw new Error(JSON.stringify(parsed));
  return (call) => {
    const answer = cedar.statefulIsAuthorized({
      principal: { type: "Channel", id: call.sessionKey.channel },
      action: { type: "Action", id: call.tool },
      resource: { type: "Server", id: call.server },
      context: { tool: call.tool, thread: call.sessionKey.thread, actor: call.actor, input: call.input },
      preparsedPolicySetId: "policy",
      validateRequest: false,
      entities: [],
    });
    if (answer.type !== "success" || answer.response.diagnostics.errors.length > 0)
      throw new Error(JSON.stringify(answer));
    let rank = -1;
    for (const reason of answer.response.diagnostics.reason) {
      const found = Number(reason.slice("policy".length));
      if (rank === -1 || found < rank) rank = found;
    }
    return rank;
  };
}
