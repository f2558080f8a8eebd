/* What the tests of the store share: a state directory of their own, requests, and short forms of the calls.
 */
#ifndef TESTS_APPROVAL_SCRATCH_H
#define TESTS_APPROVAL_SCRATCH_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "approval/internal.h"
#include "base/limits.h"

struct scratch {
    char path[64];
    struct store *store;
    struct arena arena;
    struct buf error;
};

static inline struct store *scratch_store(struct scratch *scratch, const char *boot)
{
    struct store *store = store_open_in_boot(scratch->path, boot, &scratch->error);
    if (store == NULL) {
        printf("    cannot open: %.*s\n", (int)scratch->error.len, scratch->error.ptr);
    }
    return store;
}

static inline void scratch_open(struct scratch *scratch)
{
    /* In memory where that is possible: every commit waits for the disk. */
    strcpy(scratch->path, "/dev/shm/callgate-test-XXXXXX");
    if (mkdtemp(scratch->path) == NULL &&
        mkdtemp(strcpy(scratch->path, "/tmp/callgate-test-XXXXXX")) == NULL) {
        perror("scratch");
        exit(1);
    }
    arena_init(&scratch->arena, 0);
    buf_init(&scratch->error, 4096);
    scratch->store = scratch_store(scratch, "boot-1");
}

static inline void scratch_close(struct scratch *scratch)
{
    store_close(scratch->store);
    arena_finish(&scratch->arena);
    buf_finish(&scratch->error);
    DIR *dir = opendir(scratch->path);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    }
    (void)closedir(dir);
    (void)rmdir(scratch->path);
}

static inline const char *scratch_path(const struct scratch *scratch, const char *name, char out[128])
{
    (void)snprintf(out, 128, "%s/%s", scratch->path, name);
    return out;
}

static inline struct times at(int64_t wall_ms, int64_t boot_ms)
{
    return (struct times){wall_ms, boot_ms};
}

/* A request of rule `rule` for call number `call` in session ("C1", "1.1"): one approver, five minutes. */
static inline struct request a_request(const char *rule, uint8_t call)
{
    struct request request = {
        .rule = slice_of(rule),
        .rule_digest = {1, 2, 3},
        .tool = SLICE("write_file"),
        .server = SLICE("fs"),
        .channel = SLICE("C1"),
        .thread = SLICE("1.1"),
        .actor = SLICE("claude_process"),
        .input = SLICE("{\"path\":\"/tmp/x\"}"),
        .paths = SLICE("[\"/tmp/x\"]"),
        .call_hash = {call, 0xCC},
        .ttl_ms = DEFAULT_TTL_MS,
        .needed = 1,
    };
    return request;
}

/* Asks in a transaction of its own. */
static inline enum store_result ask(struct scratch *scratch, const struct request *request, struct times now,
                                    struct request *ret_request, bool *ret_existing)
{
    bool existing = false;
    enum store_result result = STORE_FAILED;
    if (store_begin(scratch->store)) {
        result = store_ask(scratch->store, request, (struct slice){NULL, 0}, now, &scratch->arena,
                           ret_request, &existing);
        if (result != STORE_DONE) {
            store_rollback(scratch->store);
        } else if (!store_commit(scratch->store)) {
            result = STORE_FAILED;
        }
    }
    if (ret_existing != NULL) {
        *ret_existing = existing;
    }
    return result;
}

struct votes {
    struct request request;
    struct request *ended;
    size_t count;
};

static inline enum store_result vote_as_far(struct scratch *scratch, const char *code, const char *identity,
                                            bool yes, enum approval_scope scope, struct times now,
                                            struct votes *ret_votes)
{
    if (!store_begin(scratch->store)) {
        return STORE_FAILED;
    }
    enum store_result result = store_vote(
        scratch->store,
        &(struct vote){.code = slice_of(code), .identity = slice_of(identity), .yes = yes, .scope = scope},
        now, &scratch->arena, &ret_votes->request, &ret_votes->ended, &ret_votes->count);
    if (result != STORE_DONE) {
        store_rollback(scratch->store);
    } else if (!store_commit(scratch->store)) {
        result = STORE_FAILED;
    }
    return result;
}

static inline enum store_result vote(struct scratch *scratch, const char *code, const char *identity,
                                     bool yes, struct times now, struct votes *ret_votes)
{
    return vote_as_far(scratch, code, identity, yes, APPROVAL_SESSION, now, ret_votes);
}

/* How many requests the sweep ended; SIZE_MAX on failure. */
static inline size_t sweep(struct scratch *scratch, struct times now)
{
    struct request *ended;
    size_t count = SIZE_MAX;
    if (!store_begin(scratch->store)) {
        return SIZE_MAX;
    }
    if (store_sweep(scratch->store, now, &scratch->arena, &ended, &count) != STORE_DONE ||
        !store_commit(scratch->store)) {
        store_rollback(scratch->store);
        return SIZE_MAX;
    }
    return count;
}

static inline enum request_state state_of(struct scratch *scratch, int64_t number)
{
    struct request request = {.state = (enum request_state) - 1};
    (void)!store_find(scratch->store, number, &scratch->arena, &request);
    return request.state;
}

/* How many grants are alive in the session of a_request; SIZE_MAX on failure. */
static inline size_t alive(struct scratch *scratch, struct times now)
{
    struct grant *grants;
    size_t count;
    return store_grants(scratch->store, SLICE("C1"), SLICE("1.1"), now, &scratch->arena, &grants, &count) ==
                   STORE_DONE
               ? count
               : SIZE_MAX;
}

static inline bool refused(struct scratch *scratch, const struct request *request, struct times now)
{
    bool is_refused = false;
    return store_refused(scratch->store, request->channel, request->thread, request->call_hash, now,
                         &is_refused) != STORE_DONE ||
           is_refused;
}

#endif
