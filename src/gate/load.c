/* Loading a gate's policy, and the digest that names it. */
#include "gate/internal.h"

bool policy_digest(const struct policy *policy, char ret_hex[HASH_HEX + 1])
{
    struct buf text;
    uint8_t hash[HASH_SIZE];
    buf_init(&text, (size_t)2 << 30);
    policy_write_canonical(&text, policy);
    bool ok = buf_ok(&text) && hash_bytes(buf_slice_of(&text), hash);
    buf_finish(&text);
    if (ok) {
        hash_to_hex(hash, ret_hex);
    }
    return ok;
}

static void tell_unnamed(const struct policy *policy, const struct rule *rule, struct findings *ret_errors)
{
    struct finding *finding = findings_add(ret_errors, "server",
                                           "it names a server, and this server has no name: say which it is "
                                           "with --server NAME");
    if (finding == NULL) {
        return;
    }
    finding->file = rule->file;
    finding->file_name = arena_copy(&ret_errors->arena, policy->files[rule->file].name);
    finding->line = rule->line;
    finding->column = rule->column;
    finding->rule = arena_copy(&ret_errors->arena, policy_text(policy, rule->id));
}

/* Rules name servers, and this one not: its name may be misspelt on either side. */
static void tell_strange(struct gate *gate, const struct policy *policy)
{
    struct slice some = {0};
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        struct match_values servers = match_values_by_text(policy, &policy->rules[i].match.server);
        for (uint32_t s = 0; s < servers.count; s++) {
            some = policy_text(policy, servers.list[s]);
            if (slice_eq(some, gate->options.server)) {
                return;
            }
        }
    }
    gate_tell(gate,
              "no rule names the server '%.*s', and rules name others ('%.*s'): rules without a server hold "
              "for it; "
              "is --server spelt as the rules spell it?",
              SLICE_FMT(gate->options.server), SLICE_FMT(some));
}

struct policy *gate_load(struct gate *gate, struct source_texts *texts, struct findings *ret_errors)
{
    struct policy *policy = sources_load(gate->options.sources, &gate->options.base, texts, ret_errors);
    if (policy == NULL || !gate->options.must_name_server || !policy->names_server) {
        return policy;
    }
    if (gate->options.server.ptr != NULL) {
        tell_strange(gate, policy);
        return policy;
    }
    const struct rule *rule = policy->rules;
    while (rule->match.server == 0) {
        rule++;
    }
    tell_unnamed(policy, rule, ret_errors);
    policy_destroy(policy);
    return NULL;
}
