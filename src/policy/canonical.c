/* Canonical texts (RFC 8785) of rules and policies, for digests and for people. */
#include <stdlib.h>

#include "base/utf8.h"
#include "policy/policy.h"

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

/* A path that is not UTF-8 (a link may lead there) stands as a NUL and its bytes in hex: no path has a NUL,
 * so two paths never share a text. */
static void path_member(struct buf *buf, bool *first, struct slice path)
{
    member(buf, first, "pathPrefix");
    if (utf8_valid_upto(path) == path.len) {
        json_write_string(buf, path);
        return;
    }
    buf_text(buf, "\"\\u0000");
    for (size_t i = 0; i < path.len; i++) {
        static const char digits[] = "0123456789abcdef";
        unsigned char c = (unsigned char)path.ptr[i];
        buf_byte(buf, digits[c >> 4]);
        buf_byte(buf, digits[c & 15]);
    }
    buf_byte(buf, '"');
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
    struct slice name, value;
};

static int by_name(const void *a, const void *b)
{
    return json_key_cmp(((const struct named_arg *)a)->name, ((const struct named_arg *)b)->name);
}

static void args_member(struct buf *buf, bool *first, const struct policy *policy, const struct match *match)
{
    if (match->arg_count == 0) {
        return;
    }
    struct named_arg *args = calloc(match->arg_count, sizeof(*args));
    if (args == NULL) {
        buf->failed = true;
        return;
    }
    for (uint32_t i = 0; i < match->arg_count; i++) {
        const struct match_arg *arg = &policy->args[match->arg_first + i];
        args[i] = (struct named_arg){policy_text(policy, arg->key), policy_text(policy, arg->value)};
    }
    qsort(args, match->arg_count, sizeof(*args), by_name);
    member(buf, first, "argEquals");
    for (uint32_t i = 0; i < match->arg_count; i++) {
        buf_byte(buf, i == 0 ? '{' : ',');
        json_write_string(buf, args[i].name);
        buf_byte(buf, ':');
        write_value(buf, args[i].value);
    }
    buf_byte(buf, '}');
    free(args);
}

void match_write_json(struct buf *buf, const struct policy *policy, const struct match *match)
{
    bool first = true;
    buf_byte(buf, '{');
    if (match->actor != ACTOR_ANY) {
        string_member(buf, &first, "actor", slice_of(actor_name((enum actor)match->actor)));
    }
    args_member(buf, &first, policy, match);
    symbol_member(buf, &first, "channel", policy, match->channel);
    symbol_member(buf, &first, "pathComponent", policy, match->path_component);
    if (match->path_prefix != 0) {
        path_member(buf, &first, policy->prefixes->list[match->path_prefix - 1].path);
    }
    symbol_member(buf, &first, "server", policy, match->server);
    symbol_member(buf, &first, "thread_ts", policy, match->thread);
    symbol_member(buf, &first, "tool", policy, match->tool);
    symbol_member(buf, &first, "toolPrefix", policy, match->tool_prefix);
    buf_byte(buf, '}');
}

/* Members in the order of RFC 8785: approvers, effect, id, match, priority, reason, scope, tier, ttlMs.
 * `whole` adds what an approval does not depend on. */
static void write_rule(struct buf *buf, const struct policy *policy, const struct rule *rule, bool whole)
{
    bool first = true;
    buf_byte(buf, '{');
    number_member(buf, &first, "approvers", rule->approvers);
    string_member(buf, &first, "effect", slice_of(effect_name(rule->effect)));
    if (whole) {
        symbol_member(buf, &first, "id", policy, rule->id);
    }
    member(buf, &first, "match");
    match_write_json(buf, policy, &rule->match);
    if (whole) {
        number_member(buf, &first, "priority", rule->priority);
        symbol_member(buf, &first, "reason", policy, rule->reason);
    }
    string_member(buf, &first, "scope", slice_of(scope_name((enum scope)rule->scope)));
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
    buf_byte(buf, '}');
}
