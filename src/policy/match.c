/* Whether a rule's match holds for the facts of a call. */
#include "policy/policy.h"

/* Where a key is, or would be, among the call's arguments from `from` on; they are sorted by key. */
static size_t find_arg(const struct facts *facts, size_t from, uint32_t key)
{
    size_t to = facts->arg_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (facts->args[middle].key < key) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/* The rule's are sorted too. */
static bool args_match(const struct policy *policy, const struct match *match, const struct facts *facts)
{
    const struct match_arg *wanted = policy->args + match->arg_first;
    size_t at = 0;
    for (uint32_t i = 0; i < match->arg_count; i++) {
        at = find_arg(facts, at, wanted[i].key);
        if (at == facts->arg_count || facts->args[at].key != wanted[i].key ||
            facts->args[at].value != wanted[i].value) {
            return false;
        }
    }
    return true;
}

static bool differs(uint32_t wanted, uint32_t got)
{
    return (wanted != 0) & (wanted != got);
}

/* The first field that fails of those that no path and no argument decides. Which of them a rule has cannot
 * be foretold, so all are compared before anything is decided. */
static enum match_field plain_fields(const struct policy *policy, const struct match *match,
                                     const struct facts *facts, const struct facts_name *name)
{
    if (differs(match->tool, name->tool_symbol)) {
        return FIELD_TOOL;
    }
    if (match->tool_prefix != 0 && !slice_starts_with(name->tool, policy_text(policy, match->tool_prefix))) {
        return FIELD_TOOL_PREFIX;
    }
    bool server = differs(match->server, name->server_symbol);
    bool channel = differs(match->channel, facts->channel);
    bool thread = differs(match->thread, facts->thread);
    bool actor = differs(match->actor, facts->actor);
    if (!(server | channel | thread | actor)) {
        return FIELD_ALL;
    }
    return server ? FIELD_SERVER : channel ? FIELD_CHANNEL : thread ? FIELD_THREAD : FIELD_ACTOR;
}

static enum match_field path_fields(const struct policy *policy, const struct match *match,
                                    const struct reading *reading)
{
    bool path = reading->kind == READING_PATH;
    if (match->path_prefix != 0 &&
        !(path && path_is_under(reading->path, policy->prefixes->list[match->path_prefix - 1].path))) {
        return FIELD_PATH_PREFIX;
    }
    if (match->path_component != 0 &&
        !(path && path_has_component(reading->path, policy_text(policy, match->path_component)))) {
        return FIELD_PATH_COMPONENT;
    }
    return FIELD_ALL;
}

enum match_field policy_match(const struct policy *policy, const struct rule *rule, const struct facts *facts,
                              const struct reading *reading)
{
    const struct match *match = &rule->match;
    enum match_field field = plain_fields(policy, match, facts, &facts->names[reading->name]);
    if (field != FIELD_ALL) {
        return field;
    }
    bool on_path = match->path_prefix != 0 || match->path_component != 0;
    if (facts->input_unknown) {
        return on_path || match->arg_count != 0 ? FIELD_UNKNOWN : FIELD_ALL;
    }
    bool unreadable = on_path && reading->kind != READING_NO_PATH && reading->kind != READING_PATH;
    if (on_path && !unreadable) {
        field = path_fields(policy, match, reading);
        if (field != FIELD_ALL) {
            return field;
        }
    }
    if (match->arg_count != 0 && !args_match(policy, match, facts)) {
        return FIELD_ARG_EQUALS;
    }
    return unreadable ? FIELD_UNKNOWN : FIELD_ALL;
}
