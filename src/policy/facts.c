#include "policy/policy.h"

/* Exact numbers may be written longer than they came, by a few bytes each. */
#define SCRATCH_CEILING ((size_t)8 * LIMIT_MESSAGE_BYTES)

bool facts_init(struct facts *facts)
{
    *facts = (struct facts){0};
    arena_init(&facts->arena, 0);
    buf_init(&facts->scratch, SCRATCH_CEILING);
    return true;
}

void facts_finish(struct facts *facts)
{
    arena_finish(&facts->arena);
    buf_finish(&facts->scratch);
    facts->names = NULL;
    facts->args = NULL;
    facts->name_count = facts->arg_count = 0;
}

static bool is_required(const struct policy *policy, uint32_t symbol)
{
    uint32_t from = 0, to = policy->required_count;
    while (symbol != 0 && from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (policy->required[middle] == symbol) {
            return true;
        }
        if (policy->required[middle] < symbol) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return false;
}

static bool server_entry_required(struct facts *facts, const struct policy *policy, struct slice server,
                                  struct slice tool)
{
    buf_reset(&facts->scratch);
    buf_slice(&facts->scratch, server);
    buf_byte(&facts->scratch, '/');
    buf_slice(&facts->scratch, tool);
    return buf_ok(&facts->scratch) &&
           is_required(policy, intern_find(&policy->symbols, buf_slice_of(&facts->scratch)));
}

/* Whether a name is in the default set. No memory is for the caller to see in the scratch buffer. */
static bool needs_rule(struct facts *facts, const struct policy *policy, const struct facts_name *name)
{
    if (policy->required_all || is_required(policy, name->tool_symbol)) {
        return true;
    }
    return policy->required_servers && name->has_server &&
           (server_entry_required(facts, policy, name->server, name->tool) ||
            (buf_ok(&facts->scratch) && server_entry_required(facts, policy, name->server, SLICE("*"))));
}

static bool make_names(struct facts *facts, const struct policy *policy, const struct call *call)
{
    facts->names = arena_array(&facts->arena, call->name_count, sizeof(*facts->names));
    if (facts->names == NULL) {
        return false;
    }
    facts->name_count = call->name_count;
    for (size_t i = 0; i < call->name_count; i++) {
        struct facts_name *name = &facts->names[i];
        name->tool = call->names[i].tool;
        name->tool_symbol = intern_find(&policy->symbols, name->tool);
        name->has_server = call->names[i].has_server;
        if (name->has_server) {
            name->server = call->names[i].server;
            name->server_symbol = intern_find(&policy->symbols, name->server);
        }
        name->needs_rule = needs_rule(facts, policy, name);
        if (!buf_ok(&facts->scratch)) {
            return false;
        }
    }
    return true;
}

/* Restores the heap below `at`: every parent's key at least its children's. */
static void sift(struct match_arg *args, size_t at, size_t count)
{
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && args[child + 1].key > args[child].key) {
            child++;
        }
        if (args[at].key >= args[child].key) {
            return;
        }
        struct match_arg larger = args[child];
        args[child] = args[at];
        args[at] = larger;
        at = child;
    }
}

/* By key, in place: qsort may allocate. */
static void sort_args(struct match_arg *args, size_t count)
{
    for (size_t i = count / 2; i-- > 0;) {
        sift(args, i, count);
    }
    for (size_t end = count; end-- > 1;) {
        struct match_arg largest = args[0];
        args[0] = args[end];
        args[end] = largest;
        sift(args, 0, end);
    }
}

/* Only arguments that some rule names are looked at. A value that no rule names can meet no rule's, so it is
 * left out. */
static bool make_args(struct facts *facts, const struct policy *policy, const struct call *call)
{
    if (call->input == NULL || policy->arg_count == 0 || call->input->count == 0) {
        return true;
    }
    facts->args = arena_array(&facts->arena, call->input->count, sizeof(*facts->args));
    if (facts->args == NULL) {
        return false;
    }
    const struct json_value *key = json_first(call->doc, call->input);
    for (; key != NULL; key = json_right(call->doc, call->input, key)) {
        uint32_t symbol = intern_find(&policy->symbols, json_str(key));
        if (!policy_is_arg_key(policy, symbol)) {
            continue;
        }
        buf_reset(&facts->scratch);
        json_write_canonical(&facts->scratch, call->doc, json_member_value(key), JSON_NUMBER_EXACT);
        if (!buf_ok(&facts->scratch)) {
            return false;
        }
        uint32_t value = intern_find(&policy->symbols, buf_slice_of(&facts->scratch));
        if (value != 0) {
            facts->args[facts->arg_count++] = (struct match_arg){symbol, value};
        }
    }
    sort_args(facts->args, facts->arg_count);
    return true;
}

bool facts_make(struct facts *facts, const struct policy *policy, const struct call *call)
{
    arena_reset(&facts->arena);
    buf_reset(&facts->scratch);
    facts->names = NULL;
    facts->args = NULL;
    facts->name_count = facts->arg_count = 0;
    facts->channel = intern_find(&policy->symbols, call->channel);
    facts->thread = intern_find(&policy->symbols, call->thread);
    facts->actor = (uint8_t)call->actor;
    facts->input_unknown = call->input == NULL;
    return make_names(facts, policy, call) && make_args(facts, policy, call);
}
