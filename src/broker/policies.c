/* The policies that clients have: compiled once for all for whom they are the same.
 *
 * A policy depends on its files, on what is known of the surface's arguments, and, where a prefix of it is relative or
 * a workspace's file belongs to it, on where its client starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "broker/internal.h"

#define LINES_MOST ((size_t)1 << 20)

static struct slice copy(char **at, struct slice text)
{
    struct slice copied = {*at, text.len};
    if (text.len > 0) {
        memcpy(*at, text.ptr, text.len);
    }
    (*at)[text.len] = '\0';
    *at += text.len + 1;
    return copied;
}

static bool keep_key(struct shared_policy *policy, const struct policy_key *key)
{
    arena_init(&policy->arena, 1u << 20);
    buf_init_message(&policy->lines, LINES_MOST);
    policy->texts =
        malloc(key->surface.len + key->project.len + key->protect.len + key->cwd.len + key->home.len + 5);
    if (policy->texts == NULL) {
        return false;
    }
    char *at = policy->texts;
    policy->key = *key;
    policy->key.surface = copy(&at, key->surface);
    if (key->project.ptr != NULL) {
        policy->key.project = copy(&at, key->project);
    }
    if (key->protect.ptr != NULL) {
        policy->key.protect = copy(&at, key->protect);
    }
    policy->key.cwd = copy(&at, key->cwd);
    policy->key.home = copy(&at, key->home);
    policy->base = (struct path_base){.cwd = policy->key.cwd, .home = policy->key.home};
    return true;
}

/* Which files: the broker's configuration, and at standard places the workspace's of this client. The user's own is
 * that of the broker's home directory, whatever the client says. */
static bool choose_files(const struct policies *policies, struct shared_policy *policy)
{
    const struct broker_options *options = policies->options;
    const struct path_base places = {.cwd = policy->key.cwd, .home = options->base.home};
    bool done = sources_init(&policy->sources);
    for (size_t i = 0; i < options->sources->count && done; i++) {
        done = sources_add_file(&policy->sources, &options->sources->files[i]);
    }
    if (done && policy->key.protect.ptr != NULL) {
        const struct source_file file = {
            .path = policy->key.protect.ptr, .tier = TIER_ADMIN, .at_tier = true, .no_policy = true};
        done = sources_add_file(&policy->sources, &file);
    }
    policy->sources.authored = options->sources->authored || options->standard_places;
    if (done && options->standard_places) {
        done = sources_add_places(&policy->sources, &places, true);
    }
    return done &&
           (options->add_built_in == NULL || options->add_built_in(&policy->sources, policy->key.surface,
                                                                   policy->key.project, &policy->arena));
}

static bool has_workspace(const struct policies *policies, struct slice cwd)
{
    char path[LIMIT_PATH_BYTES + 64];
    struct stat st;
    if (!policies->options->standard_places || cwd.len > LIMIT_PATH_BYTES) {
        return false;
    }
    snprintf(path, sizeof(path), "%.*s/.callgate/policy.json", SLICE_FMT(cwd));
    return lstat(path, &st) == 0;
}

static void destroy(struct shared_policy *policy)
{
    gate_close(policy->gate);
    buf_finish(&policy->lines);
    sources_finish(&policy->sources);
    arena_finish(&policy->arena);
    free(policy->texts);
    free(policy);
}

static struct shared_policy *load(struct policies *policies, const struct policy_key *key,
                                  struct buf *ret_lines)
{
    const struct broker_options *options = policies->options;
    struct shared_policy *policy = calloc(1, sizeof(*policy));
    if (policy == NULL || !keep_key(policy, key) || !choose_files(policies, policy)) {
        buf_text(ret_lines, "no memory");
        if (policy != NULL) {
            destroy(policy);
        }
        return NULL;
    }
    policy->of_workspace = has_workspace(policies, key->cwd);
    struct gate_options gate = {
        .surface = "serve",
        .must_name_server = key->unnamed,
        .sources = &policy->sources,
        .ledger = policies->ledger,
        .state_dir = options->state_dir,
        .base = policy->base,
        .readings_flags = key->readings_flags,
        .fsync = options->fsync,
        .journal_max_size = options->journal_max_size,
        .notify = options->notify,
        .journal_optional = options->journal_optional,
        .no_weakening = options->no_weakening,
        .observe = options->observe && !gate_enforced_since(options->state_dir, policies->started_ms),
        .tells_authored = true,
        .say = policies->say,
    };
    policy->gate = gate_open(&gate, &policy->lines);
    if (policy->gate == NULL) {
        buf_slice(ret_lines, buf_message(&policy->lines));
        destroy(policy);
        return NULL;
    }
    policy->next = policies->first;
    policies->first = policy;
    policies->count++;
    return policy;
}

static bool fits(const struct shared_policy *policy, const struct policy_key *key, bool workspace)
{
    const struct policy_key *has = &policy->key;
    bool same_start = slice_eq(has->cwd, key->cwd) && slice_eq(has->home, key->home);
    bool same_project =
        (has->project.ptr != NULL) == (key->project.ptr != NULL) && slice_eq(has->project, key->project);
    same_project = same_project && (has->protect.ptr != NULL) == (key->protect.ptr != NULL) &&
                   slice_eq(has->protect, key->protect);
    if (!same_project || !slice_eq(has->surface, key->surface) ||
        (has->unnamed != key->unnamed && gate_policy(policy->gate)->names_server) ||
        has->readings_flags != key->readings_flags || policy->of_workspace != workspace) {
        return false;
    }
    return same_start || (!workspace && gate_is_movable(policy->gate));
}

/* What nobody uses goes, the longest unused first, but for the one that is about to be used. */
static void drop_unused(struct policies *policies, const struct shared_policy *taken)
{
    while (policies->count > POLICIES_MOST) {
        struct shared_policy **oldest = NULL;
        for (struct shared_policy **at = &policies->first; *at != NULL; at = &(*at)->next) {
            if (*at != taken && (*at)->users == 0 && (oldest == NULL || (*at)->used < (*oldest)->used)) {
                oldest = at;
            }
        }
        if (oldest == NULL) {
            return;
        }
        struct shared_policy *policy = *oldest;
        *oldest = policy->next;
        policies->count--;
        destroy(policy);
    }
}

struct shared_policy *policies_take(struct policies *policies, const struct policy_key *key,
                                    struct buf *ret_lines)
{
    bool workspace = has_workspace(policies, key->cwd);
    struct shared_policy *policy = policies->first;
    while (policy != NULL && !fits(policy, key, workspace)) {
        policy = policy->next;
    }
    if (policy == NULL) {
        policy = load(policies, key, ret_lines);
    }
    if (policy != NULL) {
        policy->users++;
        policy->used = ++policies->taken;
        buf_slice(ret_lines, buf_slice_of(&policy->lines));
        drop_unused(policies, policy);
    }
    return policy;
}

bool policies_protect(const struct policies *policies, struct slice file)
{
    for (const struct shared_policy *policy = policies->first; policy != NULL; policy = policy->next) {
        if (policy->key.protect.ptr != NULL && slice_eq(policy->key.protect, file)) {
            return true;
        }
    }
    return false;
}

void policies_give_back(struct policies *policies, struct shared_policy *policy)
{
    (void)policies;
    policy->users--;
}

void policies_reload(struct policies *policies)
{
    for (struct shared_policy *policy = policies->first; policy != NULL; policy = policy->next) {
        (void)gate_reload(policy->gate);
    }
}

void policies_finish(struct policies *policies)
{
    while (policies->first != NULL) {
        struct shared_policy *policy = policies->first;
        policies->first = policy->next;
        destroy(policy);
    }
    policies->count = 0;
}
