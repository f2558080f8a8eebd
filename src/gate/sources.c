/* Reads the policy files of a command, with the checks of their owner, mode and kind. */
#include "gate/sources.h"

#include "analysis/analysis.h"
#include "base/file.h"
#include "base/utf8.h"
#include "document/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool sources_init(struct sources *sources)
{
    *sources = (struct sources){0};
    arena_init(&sources->arena, 0);
    return true;
}

void sources_finish(struct sources *sources)
{
    free(sources->files);
    arena_finish(&sources->arena);
    *sources = (struct sources){0};
}

static bool add(struct sources *sources, struct source_file file, bool first)
{
    struct slice path = arena_copy(&sources->arena, slice_of(file.path));
    struct source_file *files = realloc(sources->files, (sources->count + 1) * sizeof(*files));
    if (files == NULL || path.ptr == NULL) {
        sources->files = files != NULL ? files : sources->files;
        return false;
    }
    file.path = path.ptr;
    size_t at = first ? 0 : sources->count;
    memmove(files + at + 1, files + at, (sources->count - at) * sizeof(*files));
    files[at] = file;
    sources->files = files;
    sources->count++;
    return true;
}

bool sources_add(struct sources *sources, const char *argument, struct buf *ret_error)
{
    struct source_file file = {.path = argument, .tier = TIER_DEFAULT};
    const char *equals = strchr(argument, '=');
    if (equals != NULL) {
        struct slice word = {argument, (size_t)(equals - argument)};
        if (tier_from_name(word, &file.tier)) {
            if (file.tier == TIER_DEFAULT) {
                buf_text(ret_error,
                         "--policy default=FILE: 'default' is no tier of a file; leave it out, or name "
                         "admin, user or workspace");
                return false;
            }
            file.at_tier = true;
            file.path = equals + 1;
        }
    }
    if (file.path[0] == '\0') {
        buf_text(ret_error, "--policy: the file's name is empty");
        return false;
    }
    if (add(sources, file, false)) {
        return true;
    }
    buf_text(ret_error, "no memory");
    return false;
}

bool sources_add_file(struct sources *sources, const struct source_file *file)
{
    return add(sources, *file, false);
}

/* A file that may be missing, in front of (first) or behind the others. */
static bool add_place(struct sources *sources, struct slice dir, const char *name, enum tier tier, bool first)
{
    struct buf path;
    buf_init(&path, 64u << 10);
    buf_slice(&path, dir);
    buf_text(&path, name);
    buf_byte(&path, '\0');
    struct source_file file = {.path = path.ptr, .tier = tier, .at_tier = true, .optional = true};
    bool added = buf_ok(&path) && add(sources, file, first);
    buf_finish(&path);
    return added;
}

bool sources_add_places(struct sources *sources, const struct path_base *base, bool all)
{
    return add_place(sources, (struct slice){0}, SOURCES_ADMIN_FILE, TIER_ADMIN, true) &&
           (!all || (add_place(sources, base->home, "/.config/callgate/policy.json", TIER_USER, false) &&
                     add_place(sources, base->cwd, "/.callgate/policy.json", TIER_WORKSPACE, false)));
}

const char *source_state_name(enum source_state state)
{
    static const char *const names[] = {"absent", "used", "left out", "last good form used"};
    return (unsigned)state < sizeof(names) / sizeof(*names) ? names[state] : "";
}

bool sources_add_built_in(struct sources *sources, const char *name, const char *text)
{
    return add(sources, (struct source_file){.path = name, .tier = TIER_DEFAULT, .text = text}, true);
}

/* An admin file decides over everything: nobody else may be able to write it. Judged on the descriptor that
 * is parsed, so that no exchange of the name between check and use matters. */
static const char *refusal_of_admin_file(const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) {
        return "is no regular file: an admin policy must be one";
    }
    if (st->st_uid != 0 && st->st_uid != geteuid()) {
        return "belongs to neither root nor you: an admin policy must (chown root)";
    }
    if (st->st_mode & (S_IWGRP | S_IWOTH)) {
        return "can be written by group or others: an admin policy must not be (chmod go-w)";
    }
    return NULL;
}

static bool is_workspace(const struct source_file *file)
{
    return file->at_tier && file->tier == TIER_WORKSPACE;
}

/* An agent can put anything in the place of a workspace file: what blocks or never ends must not hold up the
 * rest. */
static const char *refusal_of_workspace_file(const struct stat *st)
{
    return S_ISREG(st->st_mode) ? NULL : "is no regular file: a workspace policy must be one";
}

static bool read_all(int fd, struct buf *text)
{
    for (;;) {
        size_t size;
        char *room = buf_room(text, &size);
        if (room == NULL) {
            return text->failed = true, false;
        }
        ssize_t n = read(fd, room, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return false;
        }
        if (n == 0) {
            return true;
        }
        buf_added(text, (size_t)n);
        /* One byte over the limit is enough for the reader to say so. */
        if (text->len > LIMIT_POLICY_BYTES) {
            return true;
        }
    }
}

enum read_result { READ_FAILED, READ_ABSENT, READ_DONE };

static struct finding *file_finding(struct findings *errors, const struct source_file *file, uint32_t index,
                                    const char *message)
{
    struct finding *finding = findings_add(errors, "file", "%s", message);
    if (finding != NULL) {
        finding->file = index;
        finding->file_name = slice_of(file->path);
    }
    return finding;
}

/* A word before a `=` that is no tier is part of the name: where there is no such file, it may not have been
 * meant so. */
static void add_tier_advice(char *text, size_t size, const char *path)
{
    const char *equals = strchr(path, '=');
    struct slice word = {path, equals != NULL ? (size_t)(equals - path) : 0};
    if (word.len == 0 || word.len > 40 || memchr(word.ptr, '/', word.len) != NULL) {
        return;
    }
    const char *near = schema_advise_choice(schema_tiers, word);
    if (near != NULL && strcmp(near, "default") != 0) {
        snprintf(text, size, "; the '=' is taken as part of its name: did you mean the tier, %s=%s?", near,
                 equals + 1);
    } else {
        snprintf(text, size,
                 "; the '=' is taken as part of its name, for a tier is admin, user or workspace");
    }
}

static enum read_result read_source(const struct source_file *file, uint32_t index, struct buf *text,
                                    struct findings *errors)
{
    if (file->text != NULL) {
        buf_text(text, file->text);
        if (buf_ok(text)) {
            return READ_DONE;
        }
        file_finding(errors, file, index, "no memory");
        return READ_FAILED;
    }
    const char *why = NULL;
    errno = 0;
    int fd = file_open_text(file->path, &why);
    if (fd < 0) {
        if (errno == ENOENT && file->optional) {
            return READ_ABSENT;
        }
        char text_of_why[512];
        int len = snprintf(text_of_why, sizeof(text_of_why), "%s%s",
                           strncmp(why, "is ", 3) == 0 ? "" : "cannot be opened: ", why);
        if (errno == ENOENT) {
            add_tier_advice(text_of_why + len, sizeof(text_of_why) - (size_t)len, file->path);
        }
        file_finding(errors, file, index, text_of_why);
        return READ_FAILED;
    }
    struct stat st;
    const char *refused = NULL;
    if (fstat(fd, &st) != 0) {
        refused = "cannot be examined";
    } else if (file->at_tier && file->tier == TIER_ADMIN) {
        refused = refusal_of_admin_file(&st);
    } else if (is_workspace(file)) {
        refused = refusal_of_workspace_file(&st);
    }
    if (refused == NULL && S_ISREG(st.st_mode) && st.st_size < LIMIT_POLICY_BYTES) {
        (void)(buf_reserve(text, (size_t)st.st_size + 1) != NULL); /* one more, to see the end in */
    }
    bool read_ok = refused == NULL && read_all(fd, text);
    if (refused == NULL && !read_ok) {
        refused = text->failed ? "cannot be read: no memory" : "cannot be read";
    }
    close(fd);
    if (refused == NULL) {
        return READ_DONE;
    }
    file_finding(errors, file, index, refused);
    return READ_FAILED;
}

void source_texts_finish(struct source_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        buf_finish(&texts->list[i]);
    }
    free(texts->list);
    free(texts->states);
    free(texts->why);
    *texts = (struct source_texts){0};
}

static bool texts_init(struct source_texts *texts, size_t count)
{
    texts->list = calloc(count ? count : 1, sizeof(*texts->list));
    texts->states = calloc(count ? count : 1, sizeof(*texts->states));
    texts->why = calloc(count ? count : 1, sizeof(*texts->why));
    if (texts->list == NULL || texts->states == NULL || texts->why == NULL) {
        return false;
    }
    texts->count = count;
    for (size_t i = 0; i < count; i++) {
        buf_init(&texts->list[i], LIMIT_POLICY_BYTES + (128u << 10));
    }
    return true;
}

/* One attempt. in_use[i] says which files take part; which[k] the file that the k-th source is. */
static struct policy *load_texts(const struct sources *sources, const struct source_texts *texts,
                                 const bool *in_use, uint32_t *which, const struct path_base *base,
                                 struct findings *errors)
{
    struct policy_source *list = calloc(sources->count + 1, sizeof(*list));
    if (list == NULL) {
        errors->failed = true;
        return NULL;
    }
    size_t count = 0;
    for (size_t i = 0; i < sources->count; i++) {
        if (!in_use[i]) {
            continue;
        }
        const struct source_file *file = &sources->files[i];
        which[count] = (uint32_t)i;
        list[count++] = (struct policy_source){slice_of(file->path), file->tier, file->at_tier,
                                               buf_slice_of(&texts->list[i])};
    }
    struct policy *policy = policy_load(list, count, base, errors);
    free(list);
    return policy;
}

/* Puts the last good text in the place of each workspace file that was read now and did not load. */
static bool fall_back(const struct policy *policy, const struct source_texts *last,
                      struct source_texts *texts, bool *in_use, const uint32_t *which)
{
    bool any = false;
    for (uint32_t k = 0; k < policy->file_count; k++) {
        uint32_t i = which[k];
        if (policy->files[k].used || i >= last->count || last->list[i].len == 0) {
            continue;
        }
        buf_reset(&texts->list[i]);
        buf_slice(&texts->list[i], buf_slice_of(&last->list[i]));
        in_use[i] = buf_ok(&texts->list[i]);
        texts->states[i] = SOURCE_LAST_GOOD;
        any = true;
    }
    return any;
}

/* A refuted assertion is an error of its document. One of a workspace file is told, and takes nothing away:
 * what the file tightens stays. */
static bool assertions_hold(const struct policy *policy, const struct sources *sources, const uint32_t *which,
                            const struct path_base *base, struct findings *errors)
{
    size_t before = errors->count;
    bool hold = assertions_check(policy, base, errors);
    for (size_t i = before; i < errors->count; i++) {
        if (!is_workspace(&sources->files[which[errors->list[i].file]])) {
            return false;
        }
    }
    return hold || !errors->failed;
}

/* Whether somebody other than a workspace has written any of it; else the last place where one may is told.
 */
static bool any_authored(const struct sources *sources, const bool *in_use, struct findings *errors)
{
    size_t place = 0;
    for (size_t i = 0; i < sources->count; i++) {
        if (is_workspace(&sources->files[i]) || sources->files[i].text != NULL ||
            sources->files[i].no_policy) {
            continue;
        }
        if (in_use[i]) {
            return true;
        }
        place = i;
    }
    file_finding(errors, &sources->files[place], (uint32_t)place,
                 "no policy is there, and a workspace's alone is none: write one");
    return false;
}

static struct policy *load_all(const struct sources *sources, const struct path_base *base,
                               struct source_texts *last, struct source_texts *texts, bool *in_use,
                               uint32_t *which, struct findings *errors)
{
    bool fatal = false;
    for (size_t i = 0; i < sources->count; i++) {
        enum read_result result = read_source(&sources->files[i], (uint32_t)i, &texts->list[i], errors);
        in_use[i] = result == READ_DONE;
        texts->states[i] = result == READ_ABSENT ? SOURCE_ABSENT : SOURCE_USED;
        if (result != READ_FAILED) {
            continue;
        }
        texts->states[i] = SOURCE_LEFT_OUT;
        if (!is_workspace(&sources->files[i])) {
            fatal = true;
        }
        buf_reset(&texts->list[i]);
        if (last != NULL && i < last->count && last->list[i].len > 0 && is_workspace(&sources->files[i])) {
            buf_slice(&texts->list[i], buf_slice_of(&last->list[i]));
            in_use[i] = buf_ok(&texts->list[i]);
            texts->states[i] = SOURCE_LAST_GOOD;
        }
    }
    if (sources->authored && !fatal && !any_authored(sources, in_use, errors)) {
        fatal = true;
    }
    struct policy *policy = load_texts(sources, texts, in_use, which, base, errors);
    if (policy != NULL && last != NULL && fall_back(policy, last, texts, in_use, which)) {
        struct findings again; /* the faults are told already */
        findings_init(&again);
        policy_destroy(policy);
        policy = load_texts(sources, texts, in_use, which, base, &again);
        findings_finish(&again);
    }
    for (uint32_t k = 0; policy != NULL && k < policy->file_count; k++) {
        if (!policy->files[k].used) {
            texts->states[which[k]] = SOURCE_LEFT_OUT;
        }
    }
    if (policy != NULL && !assertions_hold(policy, sources, which, base, errors)) {
        fatal = true;
    }
    if (policy != NULL && (fatal || errors->failed)) {
        policy_destroy(policy);
        policy = NULL;
    }
    return policy;
}

/* Keeps of each file that is not used, or not as it is now, the first error. */
static void keep_reasons(const struct sources *sources, const struct findings *errors,
                         struct source_texts *texts)
{
    for (size_t i = 0; i < sources->count; i++) {
        if (texts->states[i] != SOURCE_LEFT_OUT && texts->states[i] != SOURCE_LAST_GOOD) {
            continue;
        }
        for (size_t k = 0; k < errors->count && !texts->why[i][0]; k++) {
            const struct finding *f = &errors->list[k];
            if (slice_is(f->file_name, sources->files[i].path)) {
                snprintf(texts->why[i], SOURCE_WHY_SIZE, "%u:%u: %.*s", f->line, f->column,
                         SLICE_FMT(f->message));
            }
        }
    }
}

struct policy *sources_load(const struct sources *sources, const struct path_base *base,
                            struct source_texts *texts, struct findings *ret_errors)
{
    struct source_texts read = {0};
    bool *in_use = calloc(sources->count + 1, sizeof(*in_use));
    uint32_t *which = calloc(sources->count + 1, sizeof(*which));
    struct policy *policy = NULL;
    if (in_use != NULL && which != NULL && texts_init(&read, sources->count)) {
        policy = load_all(sources, base, texts, &read, in_use, which, ret_errors);
    } else {
        ret_errors->failed = true;
    }
    if (policy != NULL && texts != NULL) {
        keep_reasons(sources, ret_errors, &read);
        source_texts_finish(texts);
        *texts = read;
        read = (struct source_texts){0};
    }
    source_texts_finish(&read);
    free(in_use);
    free(which);
    return policy;
}

struct policy *sources_load_texts(const struct sources *sources, const struct path_base *base,
                                  const struct source_texts *texts)
{
    bool *in_use = calloc(sources->count + 1, sizeof(*in_use));
    uint32_t *which = calloc(sources->count + 1, sizeof(*which));
    struct policy *policy = NULL;
    struct findings errors;
    findings_init(&errors);
    for (size_t i = 0; in_use != NULL && i < sources->count && i < texts->count; i++) {
        in_use[i] = texts->states[i] == SOURCE_USED || texts->states[i] == SOURCE_LAST_GOOD;
    }
    if (in_use != NULL && which != NULL) {
        policy = load_texts(sources, texts, in_use, which, base, &errors);
    }
    findings_finish(&errors);
    free(in_use);
    free(which);
    return policy;
}

void sources_write_doubts(struct buf *buf, const struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        const struct source_file *file = &sources->files[i];
        struct stat st;
        if (file->text != NULL || is_workspace(file) || stat(file->path, &st) != 0 || !S_ISREG(st.st_mode) ||
            !(st.st_mode & (S_IWGRP | S_IWOTH))) {
            continue;
        }
        utf8_append_printable(buf, slice_of(file->path));
        buf_printf(buf, ": warning: %s can write this policy: chmod go-w\n",
                   st.st_mode & S_IWOTH ? "everyone" : "its group");
    }
}

void sources_write_errors(struct buf *buf, const struct findings *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        const struct finding *f = &errors->list[i];
        utf8_append_printable(buf, f->file_name);
        if (f->line) {
            buf_printf(buf, ":%u:%u", f->line, f->column);
        }
        buf_text(buf, ": error: ");
        if (f->rule.len) {
            buf_text(buf, "rule '");
            utf8_append_printable(buf, f->rule);
            buf_text(buf, "': ");
        }
        utf8_append_printable(buf, f->message);
        buf_byte(buf, '\n');
    }
    if (errors->failed) {
        buf_text(buf, "callgate: no memory to load the policy\n");
    }
}
