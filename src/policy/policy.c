/* A policy's life: made, sealed when its rules are in, destroyed. */
#include "policy/policy.h"

#include <stdlib.h>

#include "policy/policy_internal.h"

struct policy *policy_new(void)
{
    struct policy *policy = calloc(1, sizeof(*policy));
    if (policy == NULL) {
        return NULL;
    }
    arena_init(&policy->arena, 0);
    intern_init(&policy->symbols, &policy->arena);
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
    free(policy->rules);
    free(policy->args);
    free(policy->entries);
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
        enum argument_list list = entry->list == LIST_PATHS ? ARGUMENT_PATHS : ARGUMENT_TREES;
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

static void seal_rules(struct policy *policy)
{
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        const struct match *match = &policy->rules[i].match;
        policy->names_server = policy->names_server || match->server != 0;
        policy->has_path_rules =
            policy->has_path_rules || match->path_prefix != 0 || match->path_component != 0;
    }
}

bool policy_seal(struct policy *policy)
{
    seal_rules(policy);
    bool good = seal_required(policy) && seal_arguments(policy) && path_prefixes_seal(policy->prefixes) &&
                (policy->assertion_space == NULL || path_prefixes_seal(policy->assertion_space->prefixes)) &&
                policy_group(policy);
    intern_trim(&policy->symbols);
    return good;
}
