/* A call looked up in a policy's symbols, with all that any rule can be compared with. */
#include <stdlib.h>

#include "policy/loose.h"
#include "policy/policy.h"
#include "json/json.h"

/* Exact numbers may be written longer than they came, by a few bytes each. */
#define SCRATCH_CEILING ((size_t)8 * LIMIT_MESSAGE_BYTES)

bool facts_init(struct facts *facts)
{
    *facts = (struct facts){0};
    arena_init(&facts->arena, 0);
    buf_init(&facts->scratch, SCRATCH_CEILING);
    json_init(&facts->text);
    return true;
}

void facts_finish(struct facts *facts)
{
    arena_finish(&facts->arena);
    buf_finish(&facts->scratch);
    json_finish(&facts->text);
    *facts = (struct facts){.scratch = facts->scratch};
}

/* ---- Names ---- */

static bool is_required(const struct policy *policy, struct slice text)
{
    uint32_t symbol = intern_find(&policy->symbols, text);
    for (uint32_t i = 0; symbol != 0 && i < policy->required_count; i++) {
        if (policy->required[i] == symbol) {
            return true;
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
    return buf_ok(&facts->scratch) && is_required(policy, buf_slice_of(&facts->scratch));
}

static bool make_name(struct facts *facts, const struct policy *policy, const struct call_name *from,
                      struct facts_name *name)
{
    *name =
        (struct facts_name){.tool = from->tool, .has_server = from->has_server, .hints_not = from->hints_not};
    name->tool_symbol = intern_find(&policy->symbols, from->tool);
    if (from->has_server) {
        name->server = from->server;
        name->server_symbol = intern_find(&policy->symbols, from->server);
    }
    name->needs_rule = policy->required_all || is_required(policy, from->tool) ||
                       (from->has_server && (server_entry_required(facts, policy, from->server, from->tool) ||
                                             server_entry_required(facts, policy, from->server, SLICE("*"))));
    return buf_ok(&facts->scratch);
}

/* ---- Arguments ---- */

static int by_key(const void *a, const void *b)
{
    uint32_t key_a = ((const struct match_arg *)a)->key, key_b = ((const struct match_arg *)b)->key;
    return (key_a > key_b) - (key_a < key_b);
}

static void add_arg(struct facts *facts, uint32_t key, uint32_t value)
{
    if (key != 0 && value != 0) {
        facts->args[facts->arg_count++] = (struct match_arg){key, value};
    }
}

/* An argument as a deny or a require_approval compares it. */
static bool add_loose_arg(struct facts *facts, const struct policy *policy, const struct call *call,
                          const struct json_value *key)
{
    buf_reset(&facts->scratch);
    loose_write_key(&facts->scratch, json_str(key));
    uint32_t name =
        buf_ok(&facts->scratch) ? intern_find(&policy->symbols, buf_slice_of(&facts->scratch)) : 0;
    if (name != 0) {
        buf_reset(&facts->scratch);
        loose_write(&facts->scratch, call->doc, json_member_value(key), &facts->text);
        if (buf_ok(&facts->scratch)) {
            add_arg(facts, name, intern_find(&policy->symbols, buf_slice_of(&facts->scratch)));
        }
    }
    return buf_ok(&facts->scratch);
}

/* Arguments with a key and a value that are symbols, in both forms; no rule's can be another. */
static bool make_args(struct facts *facts, const struct policy *policy, const struct call *call)
{
    facts->args = arena_array(&facts->arena, 2 * (size_t)call->input->count + 1, sizeof(*facts->args));
    if (facts->args == NULL) {
        return false;
    }
    const struct json_value *values = call->doc->values, *key = call->input + 1;
    for (uint32_t i = 0; i < call->input->count; i++, key = &values[json_member_value(key)->next]) {
        buf_reset(&facts->scratch);
        json_write_canonical(&facts->scratch, call->doc, json_member_value(key), JSON_NUMBER_EXACT);
        if (!buf_ok(&facts->scratch)) {
            return false;
        }
        add_arg(facts, intern_find(&policy->symbols, json_str(key)),
                intern_find(&policy->symbols, buf_slice_of(&facts->scratch)));
        if (!add_loose_arg(facts, policy, call, key)) {
            return false;
        }
    }
    if (facts->arg_count > 1) {
        qsort(facts->args, facts->arg_count, sizeof(*facts->args), by_key);
    }
    return true;
}

/* ---- All of it ---- */

bool facts_make_whole(struct facts *facts, const struct policy *policy, const struct call *call)
{
    arena_reset(&facts->arena);
    buf_reset(&facts->scratch);
    facts->channel = intern_find(&policy->symbols, call->channel);
    facts->thread = intern_find(&policy->symbols, call->thread);
    facts->channel_value = facts->thread_value = (struct facts_value){0};
    facts->actor = (uint8_t)call->actor;
    facts->input_unknown = call->input == NULL;
    facts->args = NULL;
    facts->atoms = NULL;
    facts->arg_count = facts->atom_count = 0;
    facts->atom_mask = (struct facts_mask){0, 0};
    facts->name_count = call->name_count;
    facts->names = arena_array(&facts->arena, call->name_count + 1, sizeof(*facts->names));
    for (size_t i = 0; i < call->name_count; i++) {
        if (facts->names == NULL || !make_name(facts, policy, &call->names[i], &facts->names[i])) {
            return false;
        }
    }
    return facts->names != NULL && (call->input == NULL || make_args(facts, policy, call));
}
