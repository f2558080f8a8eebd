/* Concrete calls for boxes: trying them on the evaluator of every side. */
#include "analysis/witness_call_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/hints_internal.h"
#include "base/fold.h"
#include "base/utf8.h"
#include "index/index.h"

bool witness_init(struct witness *w, struct space *space, const struct path_base *base)
{
    *w = (struct witness){.space = space, .base = base};
    buf_init(&w->call, LIMIT_MESSAGE_BYTES);
    buf_init(&w->path, LIMIT_MESSAGE_BYTES);
    buf_init(&w->part, LIMIT_MESSAGE_BYTES);
    buf_init(&w->forced_paths, LIMIT_MESSAGE_BYTES);
    json_init(&w->value);
    for (size_t s = 0; s < space->side_count; s++) {
        w->hints |= space->sides[s].policy->hints;
    }
    bool ok = call_reader_init(&w->reader);
    ok = readings_init(&w->readings) && ok;
    ok = readings_init(&w->before) && ok;
    ok = facts_init(&w->facts[0]) && ok;
    ok = facts_init(&w->facts[1]) && ok;
    w->resolved = malloc(sizeof(*w->resolved));
    w->patterns = calloc((size_t)space->patterns.count * 3 + 1, sizeof(*w->patterns));
    w->pair_kinds = calloc((size_t)space->symbols.count + 1, sizeof(*w->pair_kinds));
    w->args = calloc(WITNESS_MEETINGS_DEEP * witness_meeting_args(space), sizeof(*w->args));
    if (!ok || w->args == NULL || w->resolved == NULL || w->patterns == NULL || w->pair_kinds == NULL) {
        witness_finish(w);
        return false;
    }
    return true;
}

void witness_finish(struct witness *w)
{
    buf_finish(&w->call);
    buf_finish(&w->path);
    buf_finish(&w->part);
    buf_finish(&w->forced_paths);
    json_finish(&w->value);
    call_reader_finish(&w->reader);
    readings_finish(&w->readings);
    readings_finish(&w->before);
    facts_finish(&w->facts[0]);
    facts_finish(&w->facts[1]);
    free(w->resolved);
    free(w->patterns);
    free(w->pair_kinds);
    free(w->args);
    w->resolved = NULL;
    w->patterns = NULL;
    w->pair_kinds = NULL;
    w->args = NULL;
}

/* ---- Arguments that may be paths ---- */

static bool contains_file_scheme(struct slice text)
{
    for (size_t i = 0; i + 5 <= text.len; i++) {
        if (slice_eq_ascii_case((struct slice){text.ptr + i, 5}, SLICE("file:"))) {
            return true;
        }
    }
    return false;
}

enum { PAIR_UNKNOWN, PAIR_PLAIN, PAIR_PATH };

/* Any list's name for a path, whatever its case. */
static bool is_path_name(const struct space *space, struct slice key)
{
    for (uint32_t i = 0; i < space->path_name_count; i++) {
        if (slice_eq_ascii_case(intern_text(&space->symbols, space->path_names[i]), key)) {
            return true;
        }
    }
    return false;
}

static bool key_reads(struct witness *w, uint32_t key)
{
    if (w->pair_kinds[key] == PAIR_UNKNOWN) {
        struct slice name = intern_text(&w->space->symbols, key);
        bool path = is_path_name(w->space, space_is_loose(w->space, key) ? slice_from(name, 1) : name);
        w->pair_kinds[key] = path ? PAIR_PATH : PAIR_PLAIN;
    }
    return w->pair_kinds[key] == PAIR_PATH;
}

/* Whatever a value holds may be a path, if it holds names of its own; so may what begins with `file:`. An
 * escape can hide one: canonical text has none in such a word. */
static bool value_reads(const struct witness *w, uint32_t value)
{
    struct slice text = intern_text(&w->space->symbols, value);
    return text.len > 2 && (text.ptr[0] == '{' || text.ptr[0] == '[' || contains_file_scheme(text));
}

/* Whether a loose argument of the box may be read as a path: each of its spellings leads elsewhere, and not all of them
 * can be tried. */
static bool reads_loosely(struct witness *w, const struct box *box)
{
    for (uint32_t i = 0; i < box->match.arg_count; i++) {
        const struct match_arg *arg = &box->args[i];
        if (space_is_loose(w->space, arg->key) && !space_has_exact(w->space, box, arg->key) &&
            (key_reads(w, arg->key) || value_reads(w, space_loose_value(w->space, arg->value)))) {
            return true;
        }
    }
    return false;
}

bool witness_reads_args(struct witness *w, const struct box *box)
{
    for (uint32_t i = 0; i < box->match.arg_count; i++) {
        const struct match_arg *arg = &box->args[i];
        bool loose = space_is_loose(w->space, arg->key);
        if (key_reads(w, arg->key) ||
            value_reads(w, loose ? space_loose_value(w->space, arg->value) : arg->value)) {
            return true;
        }
    }
    return false;
}

/* ---- Trying ---- */

/* Reads the call in w->call; on each side makes its readings and decides. *ret_has_path: the path was read as
 * one. */
static bool decide_call(struct witness *w, const struct candidate *c, struct decision *ret_decisions,
                        bool *ret_has_path)
{
    const struct call_defaults none = {0};
    *ret_has_path = !c->with_path;
    if (!buf_ok(&w->call) || call_read(&w->reader, buf_slice_of(&w->call), &none) != CALL_OK) {
        return false;
    }
    for (size_t s = 0; s < w->space->side_count; s++) {
        const struct policy *policy = w->space->sides[s].policy;
        struct reading_interest interest = policy->interest;
        interest.classes |=
            1u << READING_FIELD_PATH; /* the other side, or what is asked, may look at paths */
        interest.component_count =
            0; /* what stands in directories is not looked through for each call that is tried */
        struct readings *readings = s + 1 == w->space->side_count ? &w->readings : &w->before;
        if (readings_make(readings, &w->reader.call, w->base, policy->arguments, policy->prefixes, &interest,
                          READINGS_STILL) != READINGS_OK ||
            !facts_make(&w->facts[s], policy, &w->reader.call)) {
            return false;
        }
        bool here = !c->with_path;
        for (size_t i = 0; i < readings->count && !here; i++) {
            here = readings->list[i].kind == READING_PATH &&
                   slice_eq(readings->list[i].path, buf_slice_of(&w->path));
        }
        *ret_has_path = here && (s == 0 || *ret_has_path);
        ret_decisions[s] = policy_evaluate(policy, &w->facts[s], readings->list, readings->count, NULL);
    }
    return true;
}

bool witness_has_component(struct witness *w, struct slice path, uint32_t pattern)
{
    while (path.len > 0) {
        const char *slash = memchr(path.ptr, '/', path.len);
        size_t len = slash == NULL ? path.len : (size_t)(slash - path.ptr);
        uint32_t count =
            patterns_of_component(&w->space->patterns, (struct slice){path.ptr, len}, w->patterns);
        for (uint32_t i = 0; i < count; i++) {
            if (w->patterns[i] == pattern) {
                return true;
            }
        }
        path = slice_from(path, slash == NULL ? len : len + 1);
    }
    return false;
}

bool witness_reading_in(struct witness *w, size_t reading, const struct box *box)
{
    const struct match *match = &box->match;
    const struct reading *is = &w->readings.list[reading];
    if (match->path_prefix == 0 && match->path_component == 0) {
        return true;
    }
    return is->kind == READING_PATH &&
           (match->path_prefix == 0 ||
            path_is_under(is->path, intern_text(&w->space->paths, match->path_prefix))) &&
           (match->path_component == 0 || witness_has_component(w, is->path, match->path_component)) &&
           (box->second_component == 0 || witness_has_component(w, is->path, box->second_component));
}

bool witness_any_reading(struct witness *w, witness_accept *accept, void *context)
{
    for (size_t i = 0; i < w->readings.count; i++) {
        struct decision decisions[SIDES] = {{0}};
        w->reading = i;
        for (size_t s = 0; s < w->space->side_count; s++) {
            decisions[s] =
                policy_evaluate(w->space->sides[s].policy, &w->facts[s], &w->readings.list[i], 1, NULL);
        }
        if (!decisions[0].passed && accept(context, decisions)) {
            return true;
        }
    }
    return false;
}

bool witness_next_path(struct slice *list, struct slice *ret_path)
{
    const char *end = list->len == 0 ? NULL : memchr(list->ptr, '\0', list->len);
    if (end == NULL) {
        return false;
    }
    *ret_path = (struct slice){list->ptr, (size_t)(end - list->ptr)};
    *list = slice_from(*list, ret_path->len + 1);
    return true;
}

/* Notes the readings of the call that was decided last: its arguments force them. */
static void note_forced(struct witness *w)
{
    w->forced = w->readings.count > w->forced ? w->readings.count : w->forced;
    for (size_t i = 0; i < w->readings.count; i++) {
        const struct reading *reading = &w->readings.list[i];
        struct slice list = buf_slice_of(&w->forced_paths), path;
        bool known = reading->kind != READING_PATH;
        while (!known && witness_next_path(&list, &path)) {
            known = slice_eq(path, reading->path);
        }
        if (!known) {
            buf_slice(&w->forced_paths, reading->path);
            buf_byte(&w->forced_paths, '\0');
        }
        w->forced_any = w->forced_any || reading->kind == READING_UNREADABLE;
    }
}

static bool try_candidate(struct witness *w, struct candidate *c, witness_accept *accept, void *context)
{
    size_t keys = c->with_path ? WITNESS_PATH_KEYS : 1;
    for (c->key = 0; c->key < keys; c->key++) {
        struct decision decisions[SIDES] = {{0}};
        bool has_path;
        if (c->with_path && c->key != 0 && witness_clashes(w, c->box, slice_of(witness_path_keys[c->key]))) {
            continue;
        }
        witness_write_call(w, c);
        if (decide_call(w, c, decisions, &has_path) && has_path) {
            if (!c->with_path) {
                note_forced(w);
            }
            return c->level == WITNESS_READING ? witness_any_reading(w, accept, context)
                                               : accept(context, decisions);
        }
    }
    return false;
}

/* Tries the calls of one tool. */
static bool try_tool(struct witness *w, const struct candidate *frame, struct slice tool, bool reads_args,
                     witness_accept *accept, void *context)
{
    const struct space *space = w->space;
    const struct box *box = frame->box;
    struct candidate c = *frame;
    c.tool = tool;
    if (box->match.server != 0) {
        c.server = intern_text(&space->symbols, box->match.server);
    }
    struct box asked = *box;
    uint32_t symbol = intern_find(&space->symbols, tool);
    asked.match.tool = symbol; /* 0, open, for a fresh one */
    bool needs =
        box->match.path_prefix != 0 || box->match.path_component != 0 || space_always_path(space, &asked);
    if ((!needs || reads_args) && try_candidate(w, &c, accept, context)) {
        return true;
    }
    if (!needs && !reads_args) {
        return false;
    }
    c.with_path = witness_make_path(w, box);
    w->unmade = w->unmade || !c.with_path;
    return c.with_path && try_candidate(w, &c, accept, context);
}

static bool tool_in_box(const struct space *space, const struct box *box, uint32_t tool)
{
    return box->match.tool_prefix == 0 ||
           slice_starts_with(intern_text(&space->symbols, tool),
                             intern_text(&space->symbols, box->match.tool_prefix));
}

/* Tries the calls of each server's tool that lists treat apart, where the box leaves the server open. */
static bool try_pairs(struct witness *w, const struct candidate *frame, witness_accept *accept, void *context)
{
    const struct space *space = w->space;
    const struct match *match = &frame->box->match;
    for (uint32_t i = 0; match->server == 0 && i < space->listed_pair_count; i++) {
        uint32_t server = space->listed_pairs[2 * i], tool = space->listed_pairs[2 * i + 1];
        struct candidate c = *frame;
        c.server = intern_text(&space->symbols, server);
        if ((match->tool == 0 || match->tool == tool) && tool_in_box(space, frame->box, tool) &&
            try_tool(w, &c, intern_text(&space->symbols, tool), true, accept, context)) {
            return true;
        }
    }
    return false;
}

/* Tries the calls of one spelling of the loose arguments. */
static bool try_frame(struct witness *w, const struct candidate *frame, bool reads_args,
                      witness_accept *accept, void *context)
{
    const struct space *space = w->space;
    const struct box *box = frame->box;
    if (box->match.tool != 0) {
        return try_tool(w, frame, intern_text(&space->symbols, box->match.tool), reads_args, accept,
                        context) ||
               (reads_args && try_pairs(w, frame, accept, context));
    }
    struct buf name;
    buf_init(&name, LIMIT_MESSAGE_BYTES);
    bool made = witness_write_fresh_tool(w, &name, box->match.tool_prefix);
    bool found = made && try_tool(w, frame, buf_slice_of(&name), reads_args, accept, context);
    w->unmade = w->unmade || !made;
    buf_finish(&name);
    for (uint32_t i = 0; !found && reads_args && i < space->listed_count; i++) {
        uint32_t tool = space->listed[i];
        if (tool_in_box(space, box, tool)) {
            found = try_tool(w, frame, intern_text(&space->symbols, tool), reads_args, accept, context);
        }
    }
    return found || (reads_args && try_pairs(w, frame, accept, context));
}

bool witness_try(struct witness *w, enum witness_level level, const struct box *box, uint32_t point,
                 witness_accept *accept, void *context)
{
    struct candidate frame = {.box = box, .point = point, .level = level};
    bool reads_args = witness_reads_args(w, box), found = false;
    bool loosely = reads_args && reads_loosely(w, box);
    w->unmade = loosely;
    for (uint32_t profile = 0; !found && profile < hints_profiles(w->hints); profile++) {
        w->profile = profile;
        frame.as_written = loosely;
        found = try_frame(w, &frame, reads_args, accept, context);
        if (!found && loosely) {
            frame.as_written = false;
            found = try_frame(w, &frame, reads_args, accept, context);
        }
    }
    return found;
}

bool witness_with_key(struct witness *w, const struct box *box, uint32_t point, struct slice key,
                      enum witness_value value, struct decision *ret_decisions)
{
    const struct space *space = w->space;
    struct candidate c = {.box = box, .point = point, .with_path = true, .own_key = key};
    struct buf name;
    bool has_path;
    w->profile = 0;
    c.number = value == WITNESS_NUMBER;
    if (box->match.server != 0) {
        c.server = intern_text(&space->symbols, box->match.server);
    }
    buf_init(&name, LIMIT_MESSAGE_BYTES);
    bool ok = !witness_clashes(w, box, key) && witness_make_path(w, box);
    if (box->match.tool != 0) {
        c.tool = intern_text(&space->symbols, box->match.tool);
    } else {
        ok = ok && witness_write_fresh_tool(w, &name, box->match.tool_prefix);
        c.tool = buf_slice_of(&name);
    }
    if (ok) {
        witness_write_call(w, &c);
        ok = decide_call(w, &c, ret_decisions, &has_path);
    }
    buf_finish(&name);
    return ok;
}

bool witness_is_by(const struct space *space, size_t side, uint32_t rule, const struct decision *decision)
{
    const struct side *at = &space->sides[side];
    if (at->origin[rule] != NO_RULE) {
        return decision->cause == CAUSE_NONE && !decision->noted &&
               decision->rule == &at->policy->rules[at->origin[rule]];
    }
    if (at->flat.rules[rule].effect == EFFECT_DENY) {
        return decision->kind == DECISION_DENY && decision->cause == CAUSE_NO_RULE;
    }
    return decision->kind == DECISION_ALLOW && decision->rule == NULL && !decision->passed;
}

bool witness_is_wanted(void *context, const struct decision *decisions)
{
    const struct wanted *wanted = context;
    for (size_t s = 0; s < wanted->space->side_count; s++) {
        if (wanted->rules[s] != NOWHERE &&
            !witness_is_by(wanted->space, s, wanted->rules[s], &decisions[s])) {
            return false;
        }
    }
    return true;
}
