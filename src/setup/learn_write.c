/* The rules of what was learned. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "setup/learn_internal.h"

#define LIST_MOST    900u /* a rule's list has 1,000 at most */
#define PATHS_SINGLE 12u  /* more distinct paths than this are told by their directories */
#define SAME_DIR     3u   /* that many in one directory stand for it then */
#define SAME_PREFIX  3u   /* that many commands with the same first words stand for them */
#define INPUTS_MOST  12u  /* more distinct inputs than this are told as any */

struct writing {
    const struct learner *l;
    struct buf *buf;
    size_t rules;
};

static struct slice text_of(const struct writing *w, uint32_t id)
{
    return intern_text(&w->l->texts, id);
}

/* ---- A rule ---- */

static void begin_rule(struct writing *w, const struct learn_group *group, const char *what)
{
    struct buf id;
    struct slice tool = text_of(w, group->tool);
    buf_init(&id, 1u << 16);
    buf_printf(&id, "learned-%zu-%s-", ++w->rules, what);
    buf_bytes(&id, tool.ptr, tool.len < 60 ? tool.len : 60);
    buf_text(w->buf, w->rules > 1 ? ",\n    {\"id\": " : "\n    {\"id\": ");
    json_write_bytes(w->buf, buf_slice_of(&id));
    buf_text(w->buf, ", \"effect\": \"auto_approve\", \"match\": {\"tool\": ");
    json_write_bytes(w->buf, tool);
    if (group->server != 0) {
        buf_text(w->buf, ", \"server\": ");
        json_write_bytes(w->buf, text_of(w, group->server));
    }
    buf_finish(&id);
}

static void end_rule(struct writing *w, size_t times, const char *more)
{
    buf_printf(w->buf, "}, \"comment\": \"Seen %zu time(s).%s\"}", times, more);
}

/* A rule with a list of strings under a field, in pieces that a rule can hold. */
static void write_list_rules(struct writing *w, const struct learn_group *group, const char *what,
                             const char *field, const struct learn_item *items, size_t count,
                             const char *more)
{
    for (size_t at = 0; at < count; at += LIST_MOST) {
        size_t end = at + LIST_MOST < count ? at + LIST_MOST : count, times = 0;
        begin_rule(w, group, what);
        buf_printf(w->buf, ", \"%s\": [", field);
        for (size_t i = at; i < end; i++) {
            buf_text(w->buf, i > at ? ", " : "");
            json_write_bytes(w->buf, text_of(w, items[i].text));
            times += items[i].times;
        }
        buf_byte(w->buf, ']');
        end_rule(w, times, more);
    }
}

/* ---- Paths ---- */

/* The directory of a canonical path, within it. */
static struct slice directory_of(struct slice path)
{
    size_t len = path.len;
    while (len > 1 && path.ptr[len - 1] != '/') {
        len--;
    }
    return (struct slice){path.ptr, len > 1 ? len - 1 : len};
}

static bool is_below(struct slice path, struct slice dir)
{
    return path.len > dir.len && memcmp(path.ptr, dir.ptr, dir.len) == 0 &&
           (path.ptr[dir.len] == '/' || slice_is(dir, "/"));
}

static bool is_there(struct slice path)
{
    char name[LIMIT_PATH_BYTES + 1];
    if (path.len >= sizeof(name)) {
        return false;
    }
    memcpy(name, path.ptr, path.len);
    name[path.len] = '\0';
    return access(name, F_OK) == 0;
}

/* A place as it is written: the path, or its directory. */
struct place {
    struct slice path;
    size_t times;
    bool wider;
};

static size_t in_directory(const struct writing *w, const struct learn_set *set, struct slice dir)
{
    size_t n = 0;
    for (size_t i = 0; i < set->count; i++) {
        n += slice_eq(directory_of(text_of(w, set->list[i].text)), dir);
    }
    return n;
}

static void add_place(struct place *places, size_t *count, struct slice path, size_t times, bool wider)
{
    for (size_t i = 0; i < *count; i++) {
        if (slice_eq(places[i].path, path)) {
            places[i].times += times;
            places[i].wider = places[i].wider || wider;
            return;
        }
    }
    places[(*count)++] = (struct place){path, times, wider};
}

/* Takes places away that stand below others. */
static size_t drop_covered(struct place *places, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool covered = false;
        for (size_t j = 0; j < count; j++) {
            if (i != j && is_below(places[i].path, places[j].path)) {
                places[j].times += places[i].times;
                covered = true;
                break;
            }
        }
        if (!covered) {
            places[kept++] = places[i];
        }
    }
    return kept;
}

static void write_places(struct writing *w, const struct learn_group *group, const struct place *places,
                         size_t count, bool wider)
{
    size_t times = 0, n = 0;
    for (size_t i = 0; i < count; i++) {
        n += places[i].wider == wider;
        times += places[i].wider == wider ? places[i].times : 0;
    }
    if (n == 0) {
        return;
    }
    begin_rule(w, group, wider ? "folders" : "files");
    buf_text(w->buf, ", \"pathPrefix\": [");
    n = 0;
    for (size_t i = 0; i < count; i++) {
        if (places[i].wider == wider) {
            buf_text(w->buf, n++ > 0 ? ", " : "");
            json_write_bytes(w->buf, places[i].path);
        }
    }
    buf_byte(w->buf, ']');
    end_rule(w, times, wider ? " Wider than seen: whole folders." : "");
}

static void write_paths(struct writing *w, const struct learn_group *group)
{
    const struct learn_set *set = &group->sets[LEARN_PATHS];
    struct place *places = calloc(set->count + 1, sizeof(*places));
    size_t count = 0;
    if (places == NULL) {
        w->buf->failed = true;
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        struct slice path = text_of(w, set->list[i].text), dir = directory_of(path);
        bool many = set->count > PATHS_SINGLE && in_directory(w, set, dir) >= SAME_DIR;
        bool gone = !is_there(path) && is_there(dir); /* a prefix that is not there is a warning */
        bool wider = (many || gone) && !slice_is(dir, "/");
        add_place(places, &count, wider ? dir : path, set->list[i].times, wider);
    }
    count = drop_covered(places, count);
    for (size_t at = 0; at < count; at += LIST_MOST) {
        size_t n = at + LIST_MOST < count ? LIST_MOST : count - at;
        write_places(w, group, places + at, n, false);
        write_places(w, group, places + at, n, true);
    }
    free(places);
}

/* ---- Commands ---- */

/* Programs that run what they are told: a prefix of one of these alone is too wide for anybody. SPEC.md section 7. */
static bool runs_anything(struct slice prefix)
{
    static const char *const programs[] = {
        "sh",   "bash",  "dash",   "ksh",     "zsh",    "fish",    "env",    "xargs", "sudo", "doas",
        "su",   "nohup", "nice",   "timeout", "time",   "command", "exec",   "eval",  "find", "awk",
        "sed",  "perl",  "python", "python3", "ruby",   "node",    "deno",   "bun",   "php",  "ssh",
        "make", "npx",   "uvx",    "docker",  "podman", "watch",   "source", "."};
    const char *slash = memrchr(prefix.ptr, '/', prefix.len);
    struct slice name = slash != NULL ? slice_from(prefix, (size_t)(slash - prefix.ptr) + 1) : prefix;
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        if (slice_is(name, programs[i])) {
            return true;
        }
    }
    return false;
}

static size_t under_prefix(const struct learn_set *set, uint32_t prefix)
{
    size_t n = 0;
    for (size_t i = 0; i < set->count; i++) {
        n += set->list[i].under == prefix;
    }
    return n;
}

static void write_commands(struct writing *w, const struct learn_group *group)
{
    const struct learn_set *set = &group->sets[LEARN_COMMANDS];
    struct learn_item *exact = calloc(set->count + 1, sizeof(*exact)),
                      *wide = calloc(set->count + 1, sizeof(*wide));
    size_t exact_count = 0, wide_count = 0;
    for (size_t i = 0; exact != NULL && wide != NULL && i < set->count; i++) {
        const struct learn_item *item = &set->list[i];
        bool prefix = item->under != 0 && !runs_anything(text_of(w, item->under)) &&
                      under_prefix(set, item->under) >= SAME_PREFIX;
        if (!prefix) {
            exact[exact_count++] = *item;
            continue;
        }
        size_t at = 0;
        while (at < wide_count && wide[at].text != item->under) {
            at++;
        }
        if (at == wide_count) {
            wide[wide_count++] = (struct learn_item){.text = item->under};
        }
        wide[at].times += item->times;
    }
    w->buf->failed = w->buf->failed || exact == NULL || wide == NULL;
    write_list_rules(w, group, "commands", "command", exact, exact_count, "");
    write_list_rules(w, group, "command-prefixes", "commandPrefix", wide, wide_count,
                     " Wider than seen: whatever stands behind these words.");
    free(exact);
    free(wide);
}

/* Commands that cannot be read are compared as they stand: one rule for each name of the argument. */
static size_t write_texts_from(struct writing *w, const struct learn_group *group, size_t at)
{
    const struct learn_set *set = &group->sets[LEARN_TEXTS];
    uint32_t name = set->list[at].under;
    size_t times = 0, end = at;
    begin_rule(w, group, "texts");
    buf_text(w->buf, ", \"argIn\": {");
    json_write_bytes(w->buf, text_of(w, name));
    buf_text(w->buf, ": [");
    for (; end < set->count && end - at < LIST_MOST && set->list[end].under == name; end++) {
        buf_text(w->buf, end > at ? ", " : "");
        buf_slice(w->buf, text_of(w, set->list[end].text));
        times += set->list[end].times;
    }
    buf_text(w->buf, "]}");
    end_rule(w, times, " These texts, as they stand.");
    return end;
}

static void write_texts(struct writing *w, const struct learn_group *group)
{
    for (size_t at = 0; at < group->sets[LEARN_TEXTS].count;) {
        at = write_texts_from(w, group, at);
    }
}

/* ---- The rest ---- */

static void write_inputs(struct writing *w, const struct learn_group *group)
{
    const struct learn_set *set = &group->sets[LEARN_INPUTS];
    size_t times = 0;
    bool many = set->count > INPUTS_MOST, empty = false;
    for (size_t i = 0; i < set->count; i++) {
        empty = empty || slice_is(text_of(w, set->list[i].text), "{}");
        times += set->list[i].times;
    }
    if (many || empty) { /* no rule can say "no arguments" */
        begin_rule(w, group, "any");
        end_rule(w, times, " Wider than seen: any arguments.");
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        begin_rule(w, group, "input");
        buf_text(w->buf, ", \"argEquals\": ");
        buf_slice(w->buf, text_of(w, set->list[i].text));
        end_rule(w, set->list[i].times, "");
    }
}

/* Whether a rule for any arguments is written: it stands for all of the group. */
static bool is_any(const struct writing *w, const struct learn_group *group)
{
    const struct learn_set *set = &group->sets[LEARN_INPUTS];
    bool any = set->count > INPUTS_MOST;
    for (size_t i = 0; i < set->count; i++) {
        any = any || slice_is(text_of(w, set->list[i].text), "{}");
    }
    return any;
}

static void write_group(struct writing *w, const struct learn_group *group)
{
    if (is_any(w, group)) {
        write_inputs(w, group);
        return;
    }
    if (group->sets[LEARN_PATHS].count > 0) {
        write_paths(w, group);
    }
    write_commands(w, group);
    write_texts(w, group);
    write_list_rules(w, group, "hosts", "host", group->sets[LEARN_HOSTS].list, group->sets[LEARN_HOSTS].count,
                     "");
    if (group->sets[LEARN_INPUTS].count > 0) {
        write_inputs(w, group);
    }
}

void learner_write(const struct learner *learner, struct buf *buf, size_t *ret_rules)
{
    struct writing w = {.l = learner, .buf = buf};
    buf_text(buf, "{\n  \"version\": 1,\n  \"requireAuthoredPolicy\": [\"*\"],\n  \"rules\": [");
    for (size_t i = 0; i < learner->count; i++) {
        write_group(&w, &learner->groups[i]);
    }
    buf_text(buf, "\n  ]\n}\n");
    *ret_rules = w.rules;
}
