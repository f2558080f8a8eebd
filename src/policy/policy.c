/* A policy's life: made, sealed when its rules are in, destroyed. */
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "policy/policy_internal.h"

struct policy *policy_new(void)
{
    struct policy *policy = calloc(1, sizeof(*policy));
    if (policy == NULL) {
        return NULL;
    }
    arena_init(&policy->arena, 0);
    intern_init(&policy->symbols, &policy->arena);
    intern_init(&policy->pattern_keys, &policy->arena);
    intern_init(&policy->set_keys, &policy->arena);
    policy->prefixes = path_prefixes_create();
    policy->arguments = argument_lists_create();
    if (policy->prefixes == NULL || policy->arguments == NULL) {
        policy_destroy(policy);
        return NULL;
    }
    return policy;
}

void policy_destroy(struct policy *policy)
{
    if (policy == NULL) {
        return;
    }
    policy_destroy(policy->assertion_space);
    if (policy->index_destroy != NULL) {
        policy->index_destroy(policy->index);
    }
    path_prefixes_destroy(policy->prefixes);
    argument_lists_destroy(policy->arguments);
    intern_finish(&policy->symbols);
    intern_finish(&policy->pattern_keys);
    intern_finish(&policy->set_keys);
    free(policy->sets);
    free(policy->set_values);
    free(policy->patterns);
    free(policy->rules);
    free(policy->args);
    free(policy->entries);
    free(policy->confine);
    free(policy->assertions);
    arena_finish(&policy->arena);
    free(policy);
}

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* The default set: `upload_file` and whatever any document lists. */
static bool seal_required(struct policy *policy)
{
    uint32_t upload = intern_add(&policy->symbols, SLICE("upload_file"));
    uint32_t *list = arena_array(&policy->arena, (size_t)policy->entry_count + 1, sizeof(*list));
    if (upload == 0 || list == NULL) {
        return false;
    }
    size_t count = 0;
    list[count++] = upload;
    for (uint32_t i = 0; i < policy->entry_count; i++) {
        const struct policy_entry *entry = &policy->entries[i];
        if (entry->list != LIST_REQUIRED) {
            continue;
        }
        struct slice text = policy_text(policy, entry->name);
        policy->required_all = policy->required_all || slice_is(text, "*");
        policy->required_servers = policy->required_servers || memchr(text.ptr, '/', text.len) != NULL;
        list[count++] = entry->name;
    }
    qsort(list, count, sizeof(*list), by_number);
    policy->required = list;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || list[i] != list[i - 1]) {
            list[policy->required_count++] = list[i];
        }
    }
    return true;
}

static bool seal_arguments(struct policy *policy)
{
    for (uint32_t i = 0; i < policy->entry_count; i++) {
        const struct policy_entry *entry = &policy->entries[i];
        if (entry->list == LIST_REQUIRED) {
            continue;
        }
        static const enum argument_list lists[] = {[LIST_PATHS] = ARGUMENT_PATHS,
                                                   [LIST_TREES] = ARGUMENT_TREES,
                                                   [LIST_COMMANDS] = ARGUMENT_COMMANDS,
                                                   [LIST_URLS] = ARGUMENT_URLS};
        enum argument_list list = lists[entry->list];
        const struct policy_file *file = &policy->files[entry->file];
        enum argument_source source = file->at_tier && file->tier == TIER_WORKSPACE
                                          ? ARGUMENT_SOURCE_WORKSPACE
                                          : ARGUMENT_SOURCE_OPERATOR;
        if (!argument_lists_change(policy->arguments, list, policy_text(policy, entry->key),
                                   policy_text(policy, entry->name), source)) {
            return false;
        }
    }
    return true;
}

/* ---- What rules look at ---- */

uint8_t match_looks(const struct match *match, uint32_t effect)
{
    uint32_t looks = effect == EFFECT_AUTO_APPROVE ? 0 : READING_FIELD_STRICT;
    for (unsigned field = 0; field < FIELD_VALUES; field++) {
        looks |= match->values[field] != 0 ? field_table[field].looks : 0;
    }
    if (effect == EFFECT_AUTO_APPROVE && match->tool == 0 && match->tool_prefix == 0) {
        looks |= READING_FIELD_BARE;
    }
    return (uint8_t)looks;
}

static void seal_rules(struct policy *policy)
{
    const uint8_t elsewhere = READING_FIELD_PATH | READING_FIELD_COMMAND | READING_FIELD_HOST;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        struct rule *rule = &policy->rules[i];
        rule->looks = (uint8_t)((rule->looks & RULE_ANY_TOOL) | match_looks(&rule->match, rule->effect));
        policy->hints |= (uint8_t)rule->match.annotations;
        policy->names_server = policy->names_server || rule->match.server != 0;
        policy->interest.classes |= 1u << (rule->looks & (READING_FIELD_CLASSES - 1));
        policy->has_path_rules = policy->has_path_rules || (rule->looks & elsewhere) != 0;
    }
}

/* ---- What readings are made for ---- */

/* Numbers that were met already, each once, in the order of the rules. */
struct gathered {
    bool *seen; /* by number */
    uint32_t *list;
    size_t count;
    bool failed;
};

static void gather(struct gathered *g, uint32_t most, const uint32_t *list, uint32_t count)
{
    if (count != 0 && g->seen == NULL) {
        g->seen = calloc((size_t)most + 1, sizeof(*g->seen));
        g->list = malloc(((size_t)most + 1) * sizeof(*g->list));
        g->failed = g->seen == NULL || g->list == NULL;
    }
    for (uint32_t i = 0; i < count && !g->failed; i++) {
        if (!g->seen[list[i]]) {
            g->seen[list[i]] = true;
            g->list[g->count++] = list[i];
        }
    }
}

/* Each distinct value of a field of the rules. */
static struct gathered gather_field(const struct policy *policy, enum match_field field)
{
    struct gathered g = {0};
    uint32_t most = field == FIELD_HOST ? policy->pattern_count : policy->symbols.count;
    for (uint32_t i = 0; i < policy->rule_count && !g.failed; i++) {
        struct match_values values = match_values(policy, &policy->rules[i].match.values[field]);
        gather(&g, most, values.list, values.count);
    }
    return g;
}

/* The first words of the commands of denies and requires. *ret_any: one of them may meet any program. */
static struct gathered gather_programs(const struct policy *policy, bool *ret_any)
{
    struct gathered g = {0};
    for (uint32_t i = 0; i < policy->rule_count && !g.failed; i++) {
        const struct rule *rule = &policy->rules[i];
        const uint8_t wanted = READING_FIELD_COMMAND | READING_FIELD_STRICT;
        if ((rule->looks & wanted) != wanted) {
            continue;
        }
        const uint32_t *value = rule->match.command != 0 ? &rule->match.command : &rule->match.command_prefix;
        struct match_values values = match_values(policy, value);
        *ret_any = *ret_any || values.count == 0;
        for (uint32_t v = 0; v < values.count; v++) {
            gather(&g, policy->symbols.count, &policy_pattern(policy, values.list[v])->program, 1);
        }
    }
    return g;
}

/* Their texts, which live as long as the policy; never NULL unless memory ran out. */
static const struct slice *gathered_texts(struct policy *policy, const struct gathered *g)
{
    struct slice *texts = g->failed ? NULL : arena_array(&policy->arena, g->count + 1, sizeof(*texts));
    for (size_t i = 0; texts != NULL && i < g->count; i++) {
        texts[i] = policy_text(policy, g->list[i]);
    }
    return texts;
}

static const struct url_pattern *gathered_hosts(struct policy *policy, const struct gathered *g)
{
    struct url_pattern *hosts = g->failed ? NULL : arena_array(&policy->arena, g->count + 1, sizeof(*hosts));
    for (size_t i = 0; hosts != NULL && i < g->count; i++) {
        hosts[i] = policy_pattern(policy, g->list[i])->host;
    }
    if (hosts != NULL) {
        qsort(hosts, g->count, sizeof(*hosts), url_pattern_order);
    }
    return hosts;
}

static bool seal_interest(struct policy *policy)
{
    struct reading_interest *interest = &policy->interest;
    bool any_program = false;
    struct gathered components = gather_field(policy, FIELD_PATH_COMPONENT);
    struct gathered hosts = gather_field(policy, FIELD_HOST);
    struct gathered programs = gather_programs(policy, &any_program);
    interest->components = gathered_texts(policy, &components);
    interest->component_count = components.count;
    interest->hosts = gathered_hosts(policy, &hosts);
    interest->host_count = hosts.count;
    interest->programs = gathered_texts(policy, &programs);
    interest->program_count = programs.count;
    bool good = interest->components != NULL && interest->hosts != NULL && interest->programs != NULL;
    interest->programs = any_program ? NULL : interest->programs;
    free(components.seen);
    free(components.list);
    free(hosts.seen);
    free(hosts.list);
    free(programs.seen);
    free(programs.list);
    return good;
}

bool policy_seal(struct policy *policy)
{
    seal_rules(policy);
    bool good = seal_required(policy) && seal_arguments(policy) && seal_interest(policy) &&
                path_prefixes_seal(policy->prefixes) &&
                (policy->assertion_space == NULL || path_prefixes_seal(policy->assertion_space->prefixes)) &&
                policy_group(policy);
    intern_trim(&policy->symbols);
    return good;
}
