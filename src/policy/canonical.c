/* Canonical texts (RFC 8785) of rules and policies, for digests and for people. */
#include <stdlib.h>

#include "base/utf8.h"
#include "policy/policy.h"
#include "policy/value.h"

/* Begins a member of an object; the first has no comma before it. */
static void member(struct buf *buf, bool *first, const char *name)
{
    buf_text(buf, *first ? "\"" : ",\"");
    buf_text(buf, name);
    buf_text(buf, "\":");
    *first = false;
}

static void string_member(struct buf *buf, bool *first, const char *name, struct slice text)
{
    member(buf, first, name);
    json_write_string(buf, text);
}

static void number_member(struct buf *buf, bool *first, const char *name, int64_t number)
{
    member(buf, first, name);
    buf_i64(buf, number);
}

static void symbol_member(struct buf *buf, bool *first, const char *name, const struct policy *policy,
                          uint32_t symbol)
{
    if (symbol != 0) {
        string_member(buf, first, name, policy_text(policy, symbol));
    }
}

/* A value is kept with its numbers exact (`1e0`); people and digests get the shorter form (`1`). */
static void write_value(struct buf *buf, struct slice text)
{
    static const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = UINT32_MAX};
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    if (json_parse(&doc, text, &options, &error)) {
        json_write_canonical(buf, &doc, json_root(&doc), JSON_NUMBER_CALL);
    } else {
        buf->failed = true;
    }
    json_finish(&doc);
}

struct named_arg {
    struct slice name;
    const uint32_t *value;
};

static int by_name(const void *a, const void *b)
{
    return json_key_cmp(((const struct named_arg *)a)->name, ((const struct named_arg *)b)->name);
}

/* {"NAME":VALUE,…}; of a list {"NAME":[VALUE,…],…}. */
static void write_args(struct buf *buf, const struct policy *policy, const struct named_arg *args,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct match_values values = match_values_by_text(policy, args[i].value);
        buf_byte(buf, i == 0 ? '{' : ',');
        json_write_string(buf, args[i].name);
        buf_text(buf, values.count > 1 ? ":[" : ":");
        for (uint32_t v = 0; v < values.count; v++) {
            buf_text(buf, v == 0 ? "" : ",");
            write_value(buf, policy_text(policy, values.list[v]));
        }
        buf_text(buf, values.count > 1 ? "]" : "");
    }
    buf_byte(buf, '}');
}

/* The arguments with one value, as argEquals, or those with a list, as argIn. */
static void args_member(struct buf *buf, bool *first, const struct policy *policy, const struct match *match,
                        const struct match_arg *exact, bool lists)
{
    struct named_arg *args = calloc((size_t)match->arg_count + 1, sizeof(*args));
    uint32_t count = 0;
    for (uint32_t i = 0; args != NULL && i < match->arg_count; i++) {
        if (((exact[i].value & MATCH_SET) != 0) == lists) {
            args[count++] = (struct named_arg){policy_text(policy, exact[i].key), &exact[i].value};
        }
    }
    if (args == NULL) {
        buf->failed = true;
    } else if (count != 0) {
        qsort(args, count, sizeof(*args), by_name);
        member(buf, first, lists ? "argIn" : "argEquals");
        write_args(buf, policy, args, count);
    }
    free(args);
}

static void field_member(struct buf *buf, bool *first, const struct policy *policy, const struct match *match,
                         enum match_field field)
{
    struct match_values values = match_values_by_text(policy, &match->values[field]);
    if (values.count == 0) {
        return;
    }
    member(buf, first, field_table[field].key);
    buf_text(buf, values.count > 1 ? "[" : "");
    for (uint32_t i = 0; i < values.count; i++) {
        struct field_value value = {policy, field, values.list[i]};
        buf_text(buf, i == 0 ? "" : ",");
        field_write_json(buf, &value);
    }
    buf_text(buf, values.count > 1 ? "]" : "");
}

/* The fields by their keys, as RFC 8785 orders members; FIELD_COUNT ends them. */
static const enum match_field member_order[] = {
    FIELD_ACTOR,       FIELD_ANNOTATIONS,    FIELD_ARG_EQUALS,   FIELD_ARG_IN, FIELD_CHANNEL,
    FIELD_COMMAND,     FIELD_COMMAND_PREFIX, FIELD_COMMAND_WORD, FIELD_HOST,   FIELD_PATH_COMPONENT,
    FIELD_PATH_PREFIX, FIELD_SERVER,         FIELD_THREAD,       FIELD_TOOL,   FIELD_TOOL_PREFIX,
};
_Static_assert(sizeof(member_order) / sizeof(member_order[0]) == FIELD_COUNT, "every field is a member");

/* `exact`: the arguments as they are written. */
static void write_match(struct buf *buf, const struct policy *policy, const struct match *match,
                        const struct match_arg *exact)
{
    bool first = true;
    buf_byte(buf, '{');
    for (unsigned i = 0; i < FIELD_COUNT; i++) {
        if (member_order[i] < FIELD_VALUES) {
            field_member(buf, &first, policy, match, member_order[i]);
        } else {
            args_member(buf, &first, policy, match, exact, member_order[i] == FIELD_ARG_IN);
        }
    }
    buf_byte(buf, '}');
}

void match_write_json(struct buf *buf, const struct policy *policy, const struct match *match)
{
    write_match(buf, policy, match, policy->args + match->arg_first);
}

void rule_write_match_json(struct buf *buf, const struct policy *policy, const struct rule *rule)
{
    write_match(buf, policy, &rule->match, rule_exact_args(policy, rule));
}

/* Members in the order of RFC 8785: approvers, approversFrom, effect, id, match, priority, reason, scope, tell, tier, ttlMs.
 * `whole` adds what an approval does not depend on. */
static void write_rule(struct buf *buf, const struct policy *policy, const struct rule *rule, bool whole)
{
    bool first = true;
    buf_byte(buf, '{');
    number_member(buf, &first, "approvers", rule->approvers);
    if (rule->groups != 0) {
        member(buf, &first, "approversFrom");
        buf_slice(buf, policy_text(policy, rule->groups));
    }
    string_member(buf, &first, "effect", slice_of(effect_name(rule->effect)));
    if (whole) {
        symbol_member(buf, &first, "id", policy, rule->id);
    }
    member(buf, &first, "match");
    rule_write_match_json(buf, policy, rule);
    if (whole) {
        number_member(buf, &first, "priority", rule->priority);
        symbol_member(buf, &first, "reason", policy, rule->reason);
    }
    string_member(buf, &first, "scope", slice_of(scope_name((enum scope)rule->scope)));
    if (whole) {
        symbol_member(buf, &first, "tell", policy, rule->tell);
    }
    string_member(buf, &first, "tier", slice_of(tier_name((enum tier)rule->tier)));
    number_member(buf, &first, "ttlMs", rule->ttl_ms);
    buf_byte(buf, '}');
}

void rule_write_canonical(struct buf *buf, const struct policy *policy, const struct rule *rule)
{
    write_rule(buf, policy, rule, false);
}

/* ---- A policy's lists ---- */

struct named_entry {
    struct slice key, name;
    uint32_t at; /* the order of the documents, which counts within one key */
};

static int by_key_then_place(const void *a, const void *b)
{
    const struct named_entry *left = a, *right = b;
    int order = json_key_cmp(left->key, right->key);
    return order != 0 ? order : (left->at > right->at) - (left->at < right->at);
}

/* What documents change in pathArguments or treeArguments: {"KEY":["NAME",…],…}. */
static void changes_member(struct buf *buf, bool *first, const char *name, const struct policy *policy,
                           enum policy_list list)
{
    struct named_entry *entries = calloc((size_t)policy->entry_count + 1, sizeof(*entries));
    if (entries == NULL) {
        buf->failed = true;
        return;
    }
    size_t count = 0;
    for (uint32_t i = 0; i < policy->entry_count; i++) {
        const struct policy_entry *entry = &policy->entries[i];
        if (entry->list == list) {
            entries[count++] =
                (struct named_entry){policy_text(policy, entry->key), policy_text(policy, entry->name), i};
        }
    }
    qsort(entries, count, sizeof(*entries), by_key_then_place);
    if (count == 0 && (list == LIST_COMMANDS || list == LIST_URLS)) {
        free(entries); /* so that the texts of policies without these stay as they were */
        return;
    }
    member(buf, first, name);
    buf_byte(buf, '{');
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && slice_eq(entries[i].key, entries[i - 1].key);
        if (!same) {
            buf_text(buf, i == 0 ? "" : "],");
            json_write_string(buf, entries[i].key);
        }
        buf_text(buf, same ? "," : ":[");
        json_write_string(buf, entries[i].name);
    }
    buf_text(buf, count == 0 ? "}" : "]}");
    free(entries);
}

static int by_text(const void *a, const void *b)
{
    return json_key_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* "write" or "read" of `confine`, each place once. */
static bool places_member(struct buf *buf, bool *first, const char *name, const struct policy *policy,
                          bool writes)
{
    struct slice *texts = calloc((size_t)policy->confine_count + 1, sizeof(*texts));
    size_t count = 0, written = 0;
    for (uint32_t i = 0; texts != NULL && i < policy->confine_count; i++) {
        if (policy->confine[i].writes == writes) {
            texts[count++] = policy_text(policy, policy->confine[i].place);
        }
    }
    if (count > 0) {
        qsort(texts, count, sizeof(*texts), by_text);
        member(buf, first, name);
        for (size_t i = 0; i < count; i++) {
            if (i == 0 || !slice_eq(texts[i], texts[i - 1])) {
                buf_text(buf, written++ == 0 ? "[" : ",");
                json_write_string(buf, texts[i]);
            }
        }
        buf_byte(buf, ']');
    }
    free(texts);
    return texts != NULL;
}

/* Left out where no document says a word of it, so that the texts of other policies stay as they were. */
static void confine_member(struct buf *buf, bool *first, const struct policy *policy)
{
    bool inner = true;
    if (policy->confine_count == 0) {
        return;
    }
    member(buf, first, "confine");
    buf_byte(buf, '{');
    if (!places_member(buf, &inner, "read", policy, false) ||
        !places_member(buf, &inner, "write", policy, true)) {
        buf->failed = true;
    }
    buf_byte(buf, '}');
}

static void required_member(struct buf *buf, bool *first, const struct policy *policy)
{
    struct slice *texts = calloc((size_t)policy->required_count + 1, sizeof(*texts));
    if (texts == NULL) {
        buf->failed = true;
        return;
    }
    for (uint32_t i = 0; i < policy->required_count; i++) {
        texts[i] = policy_text(policy, policy->required[i]);
    }
    qsort(texts, policy->required_count, sizeof(*texts), by_text);
    member(buf, first, "requireAuthoredPolicy");
    buf_byte(buf, '[');
    for (uint32_t i = 0; i < policy->required_count; i++) {
        buf_text(buf, i == 0 ? "" : ",");
        json_write_string(buf, texts[i]);
    }
    buf_byte(buf, ']');
    free(texts);
}

void policy_write_canonical(struct buf *buf, const struct policy *policy)
{
    bool first = true;
    buf_byte(buf, '{');
    if (policy->forbids_observing) {
        member(buf, &first, "allowObserve");
        buf_text(buf, "false");
    }
    changes_member(buf, &first, "commandArguments", policy, LIST_COMMANDS);
    confine_member(buf, &first, policy);
    changes_member(buf, &first, "pathArguments", policy, LIST_PATHS);
    required_member(buf, &first, policy);
    member(buf, &first, "rules");
    buf_byte(buf, '[');
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        buf_text(buf, i == 0 ? "" : ",");
        write_rule(buf, policy, &policy->rules[i], true);
    }
    buf_byte(buf, ']');
    changes_member(buf, &first, "treeArguments", policy, LIST_TREES);
    changes_member(buf, &first, "urlArguments", policy, LIST_URLS);
    buf_byte(buf, '}');
}
