/* Claims of gates on the calls of their servers, and whether one stands for a hook. */
#include "gate/claim.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gate/internal.h"
#include "gate/state.h"

#define PARENTS_MOST 8u
#define CLAIMS_BYTES ((size_t)16 << 20)

/* ---- What a surface judges by ---- */

static int by_text(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

static bool counts(const struct source_file *file, const char *but)
{
    return file->text == NULL && strcmp(file->path, SOURCES_ADMIN_FILE) != 0 &&
           !(file->at_tier && file->tier == TIER_WORKSPACE) && (but == NULL || strcmp(file->path, but) != 0);
}

/* "TIER=REAL" of a file. One that is not there stands by its name. */
static struct slice term_of(struct arena *arena, const struct source_file *file)
{
    char real[PATH_MAX];
    struct buf text;
    buf_init(&text, 2 * PATH_MAX);
    buf_printf(&text, "%s=", file->at_tier ? tier_name(file->tier) : "");
    buf_text(&text, realpath(file->path, real) != NULL ? real : file->path);
    struct slice copy = buf_ok(&text) ? arena_copy(arena, buf_slice_of(&text)) : (struct slice){0};
    buf_finish(&text);
    return copy;
}

static bool write_files(struct buf *text, const struct sources *sources, const char *but)
{
    struct arena arena;
    size_t count = 0;
    arena_init(&arena, 64u << 20);
    struct slice *terms = arena_array(&arena, sources->count + 1, sizeof(*terms));
    bool ok = terms != NULL;
    for (size_t i = 0; i < sources->count && ok; i++) {
        if (counts(&sources->files[i], but)) {
            terms[count] = term_of(&arena, &sources->files[i]);
            ok = terms[count++].ptr != NULL;
        }
    }
    if (ok) {
        qsort(terms, count, sizeof(*terms), by_text);
    }
    for (size_t i = 0; i < count && ok; i++) {
        buf_slice(text, terms[i]);
        buf_byte(text, '\0');
    }
    arena_finish(&arena);
    return ok;
}

bool claim_terms(const struct sources *sources, const char *broker, const char *but,
                 char ret_hex[HASH_HEX + 1])
{
    char real[PATH_MAX];
    uint8_t hash[HASH_SIZE];
    struct buf text;
    buf_init(&text, 64u << 20);
    bool ok = true;
    if (broker != NULL) {
        buf_text(&text, "broker=");
        buf_text(&text, realpath(broker, real) != NULL ? real : broker);
    } else {
        ok = write_files(&text, sources, but);
    }
    ok = ok && buf_ok(&text) && hash_bytes(buf_slice_of(&text), hash);
    buf_finish(&text);
    if (ok) {
        hash_to_hex(hash, ret_hex);
    }
    return ok;
}

/* ---- A gate's claim ---- */

struct claim {
    struct registry registry;
};

struct claim *claim_open(const char *state_dir, struct slice server, const char terms[HASH_HEX + 1],
                         struct buf *ret_error)
{
    struct claim *claim = calloc(1, sizeof(*claim));
    struct buf json;
    int dir = claim != NULL ? state_open(state_dir, ret_error) : -1;
    bool entered = dir >= 0 && registry_enter(&claim->registry, dir, ret_error);
    buf_init(&json, 1u << 20);
    buf_printf(&json, "{\"pid\":%ld,\"server\":", (long)getpid());
    json_write_bytes(&json, server);
    buf_printf(&json, ",\"terms\":\"%s\"}", terms);
    bool written =
        entered && buf_ok(&json) && registry_write(&claim->registry, REGISTRY_CLAIM, buf_slice_of(&json));
    if (entered && !written) {
        buf_text(ret_error, "the calls of the server cannot be claimed");
        registry_leave(&claim->registry);
    }
    buf_finish(&json);
    if (dir >= 0) {
        close(dir);
    }
    if (!written) {
        free(claim);
        return NULL;
    }
    return claim;
}

void claim_close(struct claim *claim)
{
    if (claim != NULL) {
        registry_leave(&claim->registry);
        free(claim);
    }
}

/* ---- Whether one stands ---- */

/* The parent of a process, and its name; 0 when it cannot be told. */
static pid_t parent_of(pid_t pid, char ret_name[32])
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    /* `PID (NAME) STATE PARENT …`; a name may hold anything. */
    const char *open_at = strchr(text, '('), *close_at = strrchr(text, ')');
    if (open_at == NULL || close_at == NULL || close_at[1] != ' ' || close_at[2] == '\0') {
        return 0;
    }
    snprintf(ret_name, 32, "%.*s", (int)(close_at - open_at - 1), open_at + 1);
    return (pid_t)strtol(close_at + 3, NULL, 10);
}

static bool is_shell(const char *name)
{
    static const char *const shells[] = {"sh",   "bash", "dash", "zsh",    "ksh",
                                         "mksh", "ash",  "fish", "busybox"};
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
        if (strcmp(name, shells[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Who may have run this hook: the parent, and behind shells in between, theirs. */
static size_t callers(pid_t ret_list[PARENTS_MOST])
{
    char name[32];
    pid_t pid = getppid();
    size_t count = 0;
    while (pid > 1 && count < PARENTS_MOST) {
        ret_list[count++] = pid;
        pid_t above = parent_of(pid, name);
        pid = above > 0 && is_shell(name) ? above : 0;
    }
    return count;
}

static bool is_ours(const struct json_doc *doc, const struct json_value *claim, struct slice server,
                    const char *terms)
{
    const struct json_value *name = json_get(doc, claim, "server"), *by = json_get(doc, claim, "terms"),
                            *pid = json_get(doc, claim, "pid");
    int64_t number = 0;
    pid_t list[PARENTS_MOST];
    char unused[32];
    if (!json_is(name, JSON_STRING) || !slice_eq(json_str(name), server) || !json_is(by, JSON_STRING) ||
        (terms != NULL && !slice_is(json_str(by), terms)) || !json_is(pid, JSON_NUMBER) ||
        json_number_int(json_str(pid), &number) != JSON_INT_OK || number <= 1 || number > INT32_MAX) {
        return false;
    }
    pid_t parent = parent_of((pid_t)number, unused);
    size_t count = callers(list);
    for (size_t i = 0; i < count; i++) {
        if (parent > 1 && list[i] == parent) {
            return true;
        }
    }
    return false;
}

bool claim_stands(const char *state_dir, struct slice server, const char *terms)
{
    const struct json_options options = {.max_depth = 4, .max_bytes = CLAIMS_BYTES};
    struct json_error json_error;
    struct json_doc doc;
    struct buf text, error;
    bool stands = false;
    buf_init(&text, CLAIMS_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    json_init(&doc);
    if (registry_claims(state_dir, &text, &error) &&
        json_parse(&doc, buf_slice_of(&text), &options, &json_error)) {
        const struct json_value *list = json_root(&doc);
        for (const struct json_value *v = json_first(&doc, list); v != NULL && !stands;
             v = json_right(&doc, list, v)) {
            stands = is_ours(&doc, v, server, terms);
        }
    }
    json_finish(&doc);
    buf_finish(&error);
    buf_finish(&text);
    return stands;
}
