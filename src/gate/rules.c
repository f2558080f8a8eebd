/* The rules that requests and grants name: found by id, compared by digest. */
#include <stdlib.h>
#include <string.h>

#include "gate/judge_internal.h"

static bool map_rules(struct gate *gate)
{
    const struct policy *policy = gate->policy;
    uint32_t most = 0;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        most = policy->rules[i].id > most ? policy->rules[i].id : most;
    }
    gate->rules_of_ids = calloc((size_t)most + 1, sizeof(*gate->rules_of_ids));
    if (gate->rules_of_ids == NULL) {
        return false;
    }
    gate->ids_mapped = (size_t)most + 1;
    for (uint32_t i = policy->rule_count; i > 0; i--) {
        gate->rules_of_ids[policy->rules[i - 1].id] = i;
    }
    return true;
}

/* The first rule with an id. The map is made when a call first needs people: most gates never do. */
const struct rule *gate_rule_by_id(struct gate *gate, struct slice text)
{
    if (gate->rules_of_ids == NULL && !map_rules(gate)) {
        return NULL;
    }
    uint32_t id = intern_find(&gate->policy->symbols, text);
    uint32_t number = id < gate->ids_mapped ? gate->rules_of_ids[id] : 0;
    return id != 0 && number != 0 ? &gate->policy->rules[number - 1] : NULL;
}

bool judged_rule_digest(const struct policy *policy, const struct rule *rule, uint8_t ret_digest[HASH_SIZE])
{
    struct buf text;
    buf_init(&text, 64u << 20);
    rule_write_canonical(&text, policy, rule);
    bool ok = buf_ok(&text) && hash_bytes(buf_slice_of(&text), ret_digest);
    buf_finish(&text);
    return ok;
}

/* Whether a request was for this rule as it is now; for no rule at all when `rule` is NULL. */
bool judged_same_rule(const struct policy *policy, const struct rule *rule, const struct request *request)
{
    uint8_t digest[HASH_SIZE];
    if (rule == NULL) {
        return slice_is(request->rule, "default");
    }
    return slice_eq(policy_text(policy, rule->id), request->rule) &&
           judged_rule_digest(policy, rule, digest) && memcmp(digest, request->rule_digest, HASH_SIZE) == 0;
}
