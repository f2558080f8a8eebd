/* Reading people.json: every member by a table, every name checked against all others. */
#include "people/roster.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/utf8.h"

#define PEOPLE_BYTES    ((size_t)1 << 20)
#define PEOPLE_MOST     1000u
#define PEOPLE_NAME     "people.json"
#define PEOPLE_CONFIG   "/.config/callgate/" PEOPLE_NAME
#define ARENA_OF_PEOPLE ((size_t)64 << 20)

static const char *const surface_names[PEOPLE_SURFACES] = {"user", "page", "slack", "bridge"};

const char *people_surface_name(enum people_surface surface)
{
    return surface < PEOPLE_SURFACES ? surface_names[surface] : "";
}

struct reading_file {
    struct roster *roster;
    struct slice file;
    struct json_doc doc;
    struct buf *error;
};

/* Says what is wrong and where. Returns false, so that a caller can hand it on. */
static bool fail(struct reading_file *in, const struct json_value *at, const char *what)
{
    uint32_t line = 1, column = 1;
    json_place(in->doc.text, at != NULL ? at->offset : 0, &line, &column);
    utf8_append_printable(in->error, in->file);
    buf_printf(in->error, ":%u:%u: %s", line, column, what);
    return false;
}

static bool fail_name(struct reading_file *in, const struct json_value *at, const char *what,
                      struct slice name)
{
    fail(in, at, what);
    buf_text(in->error, " '");
    utf8_append_printable(in->error, name);
    buf_byte(in->error, '\'');
    return false;
}

static bool is_blank(uint32_t c)
{
    return c == ' ' || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

bool people_name_usable(struct slice name)
{
    uint32_t first = 0, last = ' ';
    if (utf8_valid_upto(name) != name.len) {
        return false;
    }
    for (size_t pos = 0; pos < name.len;) {
        bool begins = pos == 0;
        last = utf8_next(name, &pos);
        first = begins ? last : first;
        if (utf8_unseen(last)) {
            return false;
        }
    }
    return !is_blank(first) && !is_blank(last);
}

static bool read_text(struct reading_file *in, const struct json_value *v, struct slice *ret_text)
{
    if (v->type != JSON_STRING || !people_name_usable(json_str(v))) {
        return fail(in, v,
                    "must be a text without blanks at its ends and without characters that nobody sees");
    }
    *ret_text = arena_copy(&in->roster->arena, json_str(v));
    return ret_text->ptr != NULL || fail(in, v, "no memory");
}

static bool read_list(struct reading_file *in, const struct json_value *v, struct slice_list *ret_list)
{
    if (v->type != JSON_ARRAY) {
        return fail(in, v, "must be a list of texts");
    }
    struct slice *items = arena_array(&in->roster->arena, v->count + 1, sizeof(*items));
    if (items == NULL) {
        return fail(in, v, "no memory");
    }
    size_t count = 0;
    for (const struct json_value *e = json_first(&in->doc, v); e != NULL; e = json_right(&in->doc, v, e)) {
        if (!read_text(in, e, &items[count++])) {
            return false;
        }
    }
    *ret_list = (struct slice_list){items, count};
    return true;
}

static bool read_member(struct reading_file *in, const struct json_value *key, struct person *person)
{
    struct slice name = json_str(key);
    const struct json_value *value = json_member_value(key);
    if (slice_is(name, "name")) {
        return read_text(in, value, &person->name);
    }
    if (slice_is(name, "rules")) {
        return read_list(in, value, &person->rules);
    }
    if (slice_is(name, "channels")) {
        return read_list(in, value, &person->channels);
    }
    for (size_t i = 0; i < PEOPLE_SURFACES; i++) {
        if (slice_is(name, surface_names[i])) {
            return read_text(in, value, &person->ids[i]);
        }
    }
    return fail_name(in, key,
                     "the members of a person are name, user, page, slack, bridge, rules and channels, not",
                     name);
}

/* Whether an earlier person has the same name, or the same way in. */
static bool check_unique(struct reading_file *in, const struct json_value *at, const struct person *person)
{
    for (const struct person *other = in->roster->people; other != person; other++) {
        if (slice_eq(other->name, person->name)) {
            return fail_name(in, at, "two people are called", person->name);
        }
        for (size_t i = 0; i < PEOPLE_SURFACES; i++) {
            if (person->ids[i].ptr != NULL && other->ids[i].ptr != NULL &&
                slice_eq(person->ids[i], other->ids[i])) {
                return fail_name(in, at, "what authenticates one person cannot stand for another: both have",
                                 person->ids[i]);
            }
        }
    }
    return true;
}

static bool read_person(struct reading_file *in, const struct json_value *v, struct person *person)
{
    if (v->type != JSON_OBJECT) {
        return fail(in, v, "a person is an object: {\"name\": \"ada\", \"user\": \"ada\"}");
    }
    for (const struct json_value *key = json_first(&in->doc, v); key != NULL;
         key = json_right(&in->doc, v, key)) {
        if (!read_member(in, key, person)) {
            return false;
        }
    }
    if (person->name.ptr == NULL) {
        return fail(in, v, "a person needs a \"name\"");
    }
    return check_unique(in, v, person);
}

static bool read_people(struct reading_file *in, const struct json_value *v)
{
    struct roster *roster = in->roster;
    if (v->type != JSON_ARRAY || v->count > PEOPLE_MOST) {
        return fail(in, v, "\"people\" must be a list of at most 1000 people");
    }
    roster->people = arena_array(&roster->arena, v->count + 1, sizeof(*roster->people));
    if (roster->people == NULL) {
        return fail(in, v, "no memory");
    }
    for (const struct json_value *e = json_first(&in->doc, v); e != NULL; e = json_right(&in->doc, v, e)) {
        if (!read_person(in, e, &roster->people[roster->count])) {
            return false;
        }
        roster->count++;
    }
    return true;
}

static bool read_groups(struct reading_file *in, const struct json_value *v)
{
    struct roster *roster = in->roster;
    if (v->type != JSON_OBJECT || v->count > PEOPLE_MOST) {
        return fail(in, v, "\"groups\" must be an object of lists of people's names");
    }
    roster->groups = arena_array(&roster->arena, v->count + 1, sizeof(*roster->groups));
    if (roster->groups == NULL) {
        return fail(in, v, "no memory");
    }
    for (const struct json_value *key = json_first(&in->doc, v); key != NULL;
         key = json_right(&in->doc, v, key)) {
        struct people_group *group = &roster->groups[roster->group_count];
        if (!read_text(in, key, &group->name) || !read_list(in, json_member_value(key), &group->members)) {
            return false;
        }
        for (size_t i = 0; i < group->members.count; i++) {
            if (roster_named(roster, group->members.items[i]) == NULL) {
                return fail_name(
                    in, key, "a group has a member who is nobody in \"people\":", group->members.items[i]);
            }
        }
        roster->group_count++;
    }
    return true;
}

static bool read_document(struct reading_file *in, const struct json_value *root)
{
    const struct json_value *people = json_get(&in->doc, root, "people");
    const struct json_value *groups = json_get(&in->doc, root, "groups");
    if (!json_is(root, JSON_OBJECT) || people == NULL) {
        return fail(in, root, "must be an object with a list \"people\"");
    }
    for (const struct json_value *key = json_first(&in->doc, root); key != NULL;
         key = json_right(&in->doc, root, key)) {
        struct slice name = json_str(key);
        if (!slice_is(name, "people") && !slice_is(name, "groups") && !slice_is(name, "$schema")) {
            return fail_name(in, key, "the members of the file are people and groups, not", name);
        }
    }
    return read_people(in, people) && (groups == NULL || read_groups(in, groups));
}

bool roster_read(struct roster *ret_roster, struct slice file, struct slice text, struct buf *ret_error)
{
    *ret_roster = (struct roster){.present = true};
    arena_init(&ret_roster->arena, ARENA_OF_PEOPLE);
    struct reading_file in = {.roster = ret_roster, .file = file, .error = ret_error};
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = (uint32_t)PEOPLE_BYTES};
    struct json_error error;
    json_init(&in.doc);
    bool ok = json_parse(&in.doc, text, &options, &error);
    if (!ok) {
        uint32_t line, column;
        json_place(text, error.offset, &line, &column);
        utf8_append_printable(ret_error, file);
        buf_printf(ret_error, ":%u:%u: %s", line, column, error.detail);
    }
    ok = ok && read_document(&in, json_root(&in.doc));
    json_finish(&in.doc);
    if (!ok) {
        roster_finish(ret_roster);
    }
    return ok;
}

void roster_finish(struct roster *roster)
{
    arena_finish(&roster->arena);
    *roster = (struct roster){0};
}

/* ---- Which file ---- */

static bool read_file(struct roster *ret_roster, const char *path, bool must_exist, struct buf *ret_error)
{
    struct text_file file;
    if (!text_file_read(&file, path, PEOPLE_BYTES, ret_error)) {
        return false;
    }
    bool ok = true;
    if (file.existed) {
        ok = roster_read(ret_roster, slice_of(path), buf_slice_of(&file.text), ret_error);
    } else if (must_exist) {
        buf_printf(ret_error, "%s is not there: 'callgate people add' makes it", path);
        ok = false;
    }
    text_file_finish(&file);
    return ok;
}

bool roster_open(struct roster *ret_roster, struct slice home, const char *named, struct buf *ret_path,
                 struct buf *ret_error)
{
    *ret_roster = (struct roster){0};
    bool managed = access(PEOPLE_MANAGED, F_OK) == 0 || errno != ENOENT;
    if (managed) {
        buf_text(ret_path, PEOPLE_MANAGED);
    } else if (named != NULL) {
        buf_text(ret_path, named);
    } else {
        buf_slice(ret_path, home);
        buf_text(ret_path, PEOPLE_CONFIG);
    }
    buf_byte(ret_path, '\0');
    if (!buf_ok(ret_path)) {
        buf_text(ret_error, "the name of the file of people is too long");
        return false;
    }
    ret_path->len--;
    return read_file(ret_roster, ret_path->ptr, named != NULL && !managed, ret_error);
}

/* ---- Asking ---- */

const struct person *roster_find(const struct roster *roster, enum people_surface surface, struct slice id)
{
    for (size_t i = 0; i < roster->count; i++) {
        const struct slice own = roster->people[i].ids[surface];
        if (own.ptr != NULL && slice_eq(own, id)) {
            return &roster->people[i];
        }
    }
    return NULL;
}

const struct person *roster_named(const struct roster *roster, struct slice name)
{
    for (size_t i = 0; i < roster->count; i++) {
        if (slice_eq(roster->people[i].name, name)) {
            return &roster->people[i];
        }
    }
    return NULL;
}

static bool has(struct slice_list list, struct slice text)
{
    for (size_t i = 0; i < list.count; i++) {
        if (slice_eq(list.items[i], text)) {
            return true;
        }
    }
    return false;
}

bool person_may_answer(const struct person *person, struct slice rule, struct slice channel)
{
    return (person->rules.count == 0 || has(person->rules, rule)) &&
           (person->channels.count == 0 || has(person->channels, channel));
}

bool roster_in_group(const struct roster *roster, const struct person *person, struct slice group)
{
    for (size_t i = 0; i < roster->group_count; i++) {
        if (slice_eq(roster->groups[i].name, group) && has(roster->groups[i].members, person->name)) {
            return true;
        }
    }
    return false;
}

bool roster_in_groups(const struct roster *roster, const struct person *person, struct slice groups)
{
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 1, .max_bytes = (uint32_t)PEOPLE_BYTES};
    bool in = groups.len == 0;
    json_init(&doc);
    if (!in && json_parse(&doc, groups, &options, &error) && json_is(json_root(&doc), JSON_ARRAY)) {
        for (const struct json_value *name = json_first(&doc, json_root(&doc)); name != NULL;
             name = json_right(&doc, json_root(&doc), name)) {
            in = in || (json_is(name, JSON_STRING) && roster_in_group(roster, person, json_str(name)));
        }
    }
    json_finish(&doc);
    return in;
}
