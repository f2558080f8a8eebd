/* Reads a rule's match. */
#include <stdlib.h>

#include "base/utf8.h"
#include "document/load_internal.h"

static int by_key(const void *a, const void *b)
{
    uint32_t key_a = ((const struct match_arg *)a)->key, key_b = ((const struct match_arg *)b)->key;
    return (key_a > key_b) - (key_a < key_b);
}

/* Any key, any value. The values are never shown: they may be secret. */
static void load_args(struct loading *loading, const struct json_value *object, struct policy *into,
                      struct match *match)
{
    match->arg_first = into->arg_count;
    const struct json_value *key = json_first(&loading->doc, object);
    for (; key != NULL; key = json_right(&loading->doc, object, key)) {
        buf_reset(&loading->text);
        json_write_canonical(&loading->text, &loading->doc, json_member_value(key), JSON_NUMBER_EXACT);
        if (!buf_ok(&loading->text) ||
            !load_grow(loading, (void **)&into->args, into->arg_count, sizeof(*into->args))) {
            loading->errors->failed = true;
            return;
        }
        into->args[into->arg_count].key = load_symbol(loading, into, json_str(key));
        into->args[into->arg_count].value = load_symbol(loading, into, buf_slice_of(&loading->text));
        into->arg_count++;
        match->arg_count++;
    }
    if (match->arg_count > 1) {
        qsort(into->args + match->arg_first, match->arg_count, sizeof(*into->args), by_key);
    }
}

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
static uint32_t load_prefix(struct loading *loading, const struct json_value *value,
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

static void load_tier(struct loading *loading, uint32_t tier, const struct json_value *value,
                      const struct place *place, uint8_t *ret_tier)
{
    if (loading->source->at_tier && tier < loading->source->tier) {
        const char *own = tier_name(loading->source->tier);
        buf_printf(
            load_message(loading),
            "tier '%s' is above this file's, which is '%s': name '%s' or a lower tier, or leave 'tier' out",
            tier_name(tier), own, own);
        load_report(loading, "tier-above-file", value->offset, place);
    }
    *ret_tier = (uint8_t)tier;
}

/* One field. Says whether it constrains anything. */
static bool load_field(struct loading *loading, const struct key *key, const struct json_value *value,
                       const struct place *place, struct policy *into, struct match *match, uint8_t *ret_tier)
{
    struct loaded loaded = {0};
    if (!load_value(loading, key, value, place, &loaded)) {
        return true;
    }
    switch (key->id) {
    case ID_TOOL:
        match->tool = load_symbol(loading, into, loaded.string);
        return true;
    case ID_TOOL_PREFIX:
        match->tool_prefix = load_symbol(loading, into, loaded.string);
        return true;
    case ID_SERVER:
        match->server = load_symbol(loading, into, loaded.string);
        return true;
    case ID_CHANNEL:
        match->channel = load_symbol(loading, into, loaded.string);
        return true;
    case ID_THREAD:
        match->thread = load_symbol(loading, into, loaded.string);
        return true;
    case ID_ACTOR:
        match->actor = (uint8_t)loaded.choice;
        return true;
    case ID_PATH_PREFIX:
        match->path_prefix = load_prefix(loading, value, place, into);
        return true;
    case ID_PATH_COMPONENT:
        match->path_component = load_symbol(loading, into, loaded.string);
        return true;
    case ID_ARG_EQUALS:
        load_args(loading, value, into, match);
        return value->count != 0;
    case ID_TIER:
        load_tier(loading, loaded.choice, value, place, ret_tier);
        return false;
    default:
        return false;
    }
}

static void report_empty(struct loading *loading, const struct json_value *object, const struct place *place)
{
    buf_printf(
        load_message(loading),
        "'match' %s: name at least one field that calls must meet, such as 'tool', 'server', 'channel' or "
        "'pathPrefix'",
        object->count == 0 ? "is empty" : "constrains nothing");
    load_report(loading, "empty-match", object->offset, place);
}

void load_match(struct loading *loading, const struct key_table *table, const struct json_value *object,
                const struct place *place, struct policy *into, struct match *ret_match, uint8_t *ret_tier)
{
    size_t errors_before = loading->errors->count;
    bool constrains = false;
    struct match match = {0};
    const struct json_value *name = json_first(&loading->doc, object);
    for (; name != NULL; name = json_right(&loading->doc, object, name)) {
        const struct json_value *value = json_member_value(name);
        struct place here = {.up = place, .key = json_str(name)};
        const struct key *key = schema_key(table, json_str(name));
        if (key == NULL) {
            report_unknown_key(loading, table, name, &here);
        } else if (key->id == ID_TOOL_PREFIX && value->type == JSON_STRING &&
                   json_get(&loading->doc, object, "tool") != NULL) {
            buf_text(load_message(loading), "'toolPrefix' cannot stand beside 'tool': leave one of them out");
            load_report(loading, "bad-value", value->offset, &here);
        } else {
            constrains = load_field(loading, key, value, &here, into, &match, ret_tier) || constrains;
        }
    }
    /* An assertion may speak of every call; a rule may not. */
    if (table == &schema_match && !constrains && loading->errors->count == errors_before) {
        report_empty(loading, object, place);
    }
    *ret_match = match;
}
