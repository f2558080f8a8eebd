/* The values of match fields: one string, or a list of them. */
#include <string.h>

#include "base/utf8.h"
#include "document/load_internal.h"

/* ---- Strings ---- */

static bool not_empty(struct loading *loading, const struct key *key, const struct json_value *value,
                      const struct place *place)
{
    return json_str(value).len != 0 || load_bad_value(loading, key, value, place, "not an empty one");
}

/* Names are compared byte for byte: a pattern would match nothing, and its author believe that it does. */
static bool name_value(struct loading *loading, const struct key *key, const struct json_value *value,
                       const struct place *place)
{
    struct slice text = json_str(value);
    if (!not_empty(loading, key, value, place)) {
        return false;
    }
    if (memchr(text.ptr, '*', text.len) == NULL && memchr(text.ptr, '?', text.len) == NULL) {
        return true;
    }
    buf_printf(load_message(loading),
               "'%s' knows no '*' or '?', names are compared byte for byte: use 'toolPrefix' for tools whose "
               "names begin alike, 'server' for all tools of a server",
               key->name);
    load_report(loading, "bad-value", value->offset, place);
    return false;
}

static bool is_component(struct slice text)
{
    size_t stars = 0;
    for (size_t i = 0; i < text.len; i++) {
        stars += text.ptr[i] == '*';
    }
    if (text.len == 0 || memchr(text.ptr, '/', text.len) != NULL || slice_is(text, ".") ||
        slice_is(text, "..") || slice_is(text, "*")) {
        return false;
    }
    return stars == 0 || (stars == 1 && (text.ptr[0] == '*' || text.ptr[text.len - 1] == '*'));
}

/* ---- Prefixes ---- */

static void report_prefix(struct loading *loading, enum path_prefix_result result, struct slice text,
                          const struct buf *two, const struct json_value *value, const struct place *place)
{
    struct buf *message = load_message(loading);
    buf_text(message, "'pathPrefix' ");
    message_quote(message, text);
    if (result == PATH_PREFIX_UNREADABLE) {
        buf_text(message,
                 " cannot be resolved (too long, a loop of links, no permission, or a link under /proc): "
                 "write the path that is meant, without links");
        load_report(loading, "bad-value", value->offset, place);
        return;
    }
    buf_text(message, " means two places, since '..' follows a link: write the one that is meant, of ");
    utf8_append_printable(message, buf_slice_of(two));
    load_report(loading, "ambiguous-prefix", value->offset, place);
}

/* The id of a prefix as written, 0 after a report. A rule's prefix that was resolved once is not looked at
 * again: a million rules name few directories. */
static uint32_t prefix_value(struct loading *loading, const struct json_value *value,
                             const struct place *place, struct policy *into)
{
    struct slice text = json_str(value);
    bool remember = into == loading->policy;
    uint32_t known = remember ? intern_find(&loading->prefix_texts, text) : 0;
    if (known != 0) {
        return loading->prefix_ids[known - 1];
    }
    struct buf two;
    buf_init(&two, 4 * (size_t)LIMIT_PATH_BYTES);
    uint32_t id = 0;
    enum path_prefix_result result = path_prefixes_add(into->prefixes, loading->base, text, &id, &two);
    if (result == PATH_PREFIX_NO_MEMORY) {
        loading->errors->failed = true;
    } else if (result != PATH_PREFIX_OK) {
        report_prefix(loading, result, text, &two, value, place);
    } else if (remember) {
        uint32_t count = loading->prefix_texts.count;
        if (!load_grow(loading, (void **)&loading->prefix_ids, count, sizeof(id)) ||
            intern_add(&loading->prefix_texts, text) == 0) {
            loading->errors->failed = true;
        } else {
            loading->prefix_ids[count] = id;
        }
    }
    buf_finish(&two);
    return result == PATH_PREFIX_OK ? id : 0;
}

/* ---- Patterns ---- */

/* Reports what is wrong with a pattern, and at which of its characters when that is not the first. */
static uint32_t bad_pattern(struct loading *loading, const struct key *key, const struct json_value *value,
                            const struct place *place, const char *why, uint32_t at)
{
    struct slice text = json_str(value);
    struct buf *message = load_message(loading);
    buf_printf(message, "'%s' must be %s: ", key->name, key->expected);
    message_quote(message, text);
    buf_printf(message, " %s", why);
    if (at != 0) {
        buf_printf(message, ", at its character %zu",
                   utf8_count((struct slice){text.ptr, at < text.len ? at : text.len}) + 1);
    }
    load_report(loading, "bad-value", value->offset, place);
    return 0;
}

static uint32_t keep_pattern(struct loading *loading, const struct match_loading *match,
                             const struct key *key, const struct match_pattern *pattern)
{
    uint32_t id = policy_add_pattern(match->into, (enum match_field)key->field, pattern);
    loading->errors->failed = loading->errors->failed || id == 0;
    return id;
}

static uint32_t command_value(struct loading *loading, const struct match_loading *match,
                              const struct key *key, const struct json_value *value,
                              const struct place *place)
{
    struct match_pattern pattern = {0};
    enum command_pattern_result result;
    const char *why = "";
    uint32_t at = 0;
    command_reader_reset(loading->commands);
    if (key->field == FIELD_COMMAND_WORD) {
        result = command_word_compile(loading->commands, &match->into->arena, json_str(value), &pattern.word,
                                      &why, &at);
    } else {
        result = command_pattern_compile(loading->commands, &match->into->arena, json_str(value),
                                         key->field == FIELD_COMMAND, match->effects != KEY_AUTO_APPROVE,
                                         &pattern.command, &why, &at);
    }
    if (result == COMMAND_PATTERN_OK) {
        return keep_pattern(loading, match, key, &pattern);
    }
    if (result == COMMAND_PATTERN_BAD) {
        return bad_pattern(loading, key, value, place, why, at);
    }
    loading->errors->failed = true;
    return 0;
}

static uint32_t host_value(struct loading *loading, const struct match_loading *match, const struct key *key,
                           const struct json_value *value, const struct place *place)
{
    struct match_pattern pattern = {0};
    const char *why = url_pattern_read(json_str(value), &pattern.host);
    return why == NULL ? keep_pattern(loading, match, key, &pattern)
                       : bad_pattern(loading, key, value, place, why, 0);
}

/* ---- Hints ---- */

static enum hint hint_of(struct slice name)
{
    enum hint hint = 0;
    while (hint < HINT_COUNT && !slice_is(name, hint_names[hint])) {
        hint++;
    }
    return hint;
}

/* The bits of an object of hints; 0 also for one without any, which constrains nothing. */
static uint32_t hints_value(struct loading *loading, const struct json_value *value,
                            const struct place *place)
{
    uint32_t bits = 0;
    if (value->type != JSON_OBJECT) {
        buf_text(load_message(loading),
                 "'annotations' must be an object such as {\"destructiveHint\": true}");
        load_report(loading, "wrong-type", value->offset, place);
        return 0;
    }
    const struct json_value *name = json_first(&loading->doc, value);
    for (; name != NULL; name = json_right(&loading->doc, value, name)) {
        const struct json_value *is = json_member_value(name);
        struct place here = {.up = place, .key = json_str(name)};
        enum hint hint = hint_of(json_str(name));
        if (hint == HINT_COUNT) {
            buf_text(load_message(loading), "unknown hint ");
            message_quote(load_message(loading), json_str(name));
            buf_text(load_message(loading), ": 'annotations' knows 'destructiveHint', 'idempotentHint', "
                                            "'openWorldHint' and 'readOnlyHint'");
            load_report(loading, "unknown-key", name->offset, &here);
        } else if (is->type != JSON_TRUE && is->type != JSON_FALSE) {
            buf_printf(load_message(loading), "'%s' must be true or false", hint_names[hint]);
            load_report(loading, "wrong-type", is->offset, &here);
        } else {
            bits |= hint_bit(hint, is->type == JSON_TRUE);
        }
    }
    return bits;
}

/* ---- One value ---- */

/* The value of one string of a field; 0 after a report, or when memory ran out. */
static uint32_t one_value(struct loading *loading, const struct match_loading *match, const struct key *key,
                          const struct json_value *value, const struct place *place)
{
    struct loaded loaded = {0};
    if (!load_value(loading, key, value, place, &loaded)) {
        return 0;
    }
    switch ((enum field_type)field_table[key->field].type) {
    case FIELD_TYPE_NAME:
    case FIELD_TYPE_NAME_PREFIX:
        return name_value(loading, key, value, place) ? load_symbol(loading, match->into, loaded.string) : 0;
    case FIELD_TYPE_TEXT:
        return not_empty(loading, key, value, place) ? load_symbol(loading, match->into, loaded.string) : 0;
    case FIELD_TYPE_ACTOR:
        return loaded.choice;
    case FIELD_TYPE_PATH:
        return not_empty(loading, key, value, place) ? prefix_value(loading, value, place, match->into) : 0;
    case FIELD_TYPE_COMPONENT:
        if (!is_component(loaded.string)) {
            (void)load_bad_value(loading, key, value, place, "");
            return 0;
        }
        return load_symbol(loading, match->into, loaded.string);
    case FIELD_TYPE_COMMAND:
    case FIELD_TYPE_PREFIX:
    case FIELD_TYPE_WORD:
        return command_value(loading, match, key, value, place);
    case FIELD_TYPE_HOST:
        return host_value(loading, match, key, value, place);
    case FIELD_TYPE_HINTS:
        break; /* read by itself: it is no string */
    }
    return 0;
}

/* ---- Lists ---- */

/* Reports a list that is empty or too long. */
static bool has_good_length(struct loading *loading, const struct key *key, const struct json_value *array,
                            const struct place *place)
{
    if (array->count != 0 && array->count <= MATCH_LIST_MOST) {
        return true;
    }
    buf_printf(load_message(loading), "the list of '%s' must have 1 to %u values, it has %u: %s", key->name,
               MATCH_LIST_MOST, array->count,
               array->count == 0 ? "leave the field out to mean any" : "make two rules of it");
    load_report(loading, "bad-value", array->offset, place);
    return false;
}

/* Whether a string repeats one before it in its array. */
static bool is_repeated(struct loading *loading, const struct json_value *array,
                        const struct json_value *value, const struct place *place)
{
    const struct json_value *other = json_first(&loading->doc, array);
    for (; other != value; other = json_right(&loading->doc, array, other)) {
        if (other->type == JSON_STRING && slice_eq(json_str(other), json_str(value))) {
            struct buf *message = load_message(loading);
            message_quote(message, json_str(value));
            buf_text(message, " stands in this list already: leave it out");
            load_report(loading, "bad-value", value->offset, place);
            return true;
        }
    }
    return false;
}

/* Adds a value to those of a list that are different: two strings may stand for one. */
static uint32_t add_value(uint32_t *values, uint32_t count, uint32_t value)
{
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == value) {
            return count;
        }
    }
    values[count] = value;
    return count + 1;
}

static uint32_t list_value(struct loading *loading, const struct match_loading *match, const struct key *key,
                           const struct json_value *array, const struct place *place)
{
    uint32_t count = 0;
    bool good = has_good_length(loading, key, array, place);
    struct place here = {.up = place, .element = true};
    const struct json_value *value = good ? json_first(&loading->doc, array) : NULL;
    for (; value != NULL; value = json_right(&loading->doc, array, value), here.index++) {
        if (value->type == JSON_STRING && is_repeated(loading, array, value, &here)) {
            good = false;
            continue;
        }
        uint32_t one = one_value(loading, match, key, value, &here);
        good = good && one != 0;
        count = one == 0 ? count : add_value(loading->list, count, one);
    }
    if (!good) {
        return 0;
    }
    uint32_t set = policy_add_set(match->into, (enum match_field)key->field, loading->list, count);
    loading->errors->failed = loading->errors->failed || set == 0;
    return set;
}

bool load_field(struct loading *loading, struct match_loading *match, const struct key *key,
                const struct json_value *value, const struct place *place)
{
    uint32_t *to = &match->match->values[key->field];
    if (field_table[key->field].type == FIELD_TYPE_HINTS) {
        *to = hints_value(loading, value, place);
        return value->count != 0 || value->type != JSON_OBJECT;
    }
    if (value->type == JSON_ARRAY && field_table[key->field].list) {
        *to = list_value(loading, match, key, value, place);
    } else if (key->field == FIELD_TOOL && value->type == JSON_STRING && slice_is(json_str(value), "*")) {
        loading->any_tool = true;
    } else {
        *to = one_value(loading, match, key, value, place);
    }
    return true;
}
