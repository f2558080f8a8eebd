/* Loads the documents of a policy: reads them, checks them against the schema, and puts the rules in order. */
#include "document/load_internal.h"

#include "index/index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ITEMS 16u

bool load_grow(struct loading *loading, void **array, uint32_t count, size_t item_size)
{
    /* Full exactly when the count is a power of two, so no capacity needs to be kept. */
    if (count != 0 && (count < FIRST_ITEMS || (count & (count - 1)) != 0)) {
        return true;
    }
    size_t room = count == 0 ? FIRST_ITEMS : (size_t)count * 2;
    void *grown = room > UINT32_MAX ? NULL : realloc(*array, room * item_size);
    if (grown == NULL) {
        loading->errors->failed = true;
        return false;
    }
    *array = grown;
    return true;
}

uint32_t load_symbol(struct loading *loading, struct policy *into, struct slice text)
{
    uint32_t symbol = intern_add(&into->symbols, text);
    loading->errors->failed = loading->errors->failed || symbol == 0;
    return symbol;
}

bool load_note_id(struct loading *loading, uint32_t symbol, uint32_t line)
{
    if (symbol >= loading->id_of_symbol_cap) {
        uint32_t cap = symbol < 1u << 30 ? (symbol | 1023u) * 2 : UINT32_MAX;
        uint32_t *grown = realloc(loading->id_of_symbol, cap * sizeof(*grown));
        if (grown == NULL) {
            loading->errors->failed = true;
            return true;
        }
        memset(grown + loading->id_of_symbol_cap, 0, (cap - loading->id_of_symbol_cap) * sizeof(*grown));
        loading->id_of_symbol = grown;
        loading->id_of_symbol_cap = cap;
    }
    if (loading->id_of_symbol[symbol] != 0) {
        return false;
    }
    if (load_grow(loading, (void **)&loading->ids, loading->id_count, sizeof(*loading->ids))) {
        loading->ids[loading->id_count++] = (struct seen_id){symbol, loading->file, line};
        loading->id_of_symbol[symbol] = loading->id_count;
    }
    return true;
}

/* ---- One source ---- */

/* What a person who knows JSON's dialects may have meant: a next step, or "". */
static const char *json_advice(struct slice text, size_t offset)
{
    size_t before = offset;
    while (before > 0 && memchr(" \t\r\n", text.ptr[before - 1], 4) != NULL) {
        before--;
    }
    if (offset >= text.len) {
        return before == 0 ? ": the file is empty, write a list of rules" : "";
    }
    char here = text.ptr[offset];
    if (here == '/' || here == '#') {
        return ": JSON has no comments, a rule may have a 'comment'";
    }
    if ((here == '}' || here == ']') && before > 0 && text.ptr[before - 1] == ',') {
        return ": remove the comma before it";
    }
    return "";
}

static void report_json(struct loading *loading, const struct json_error *error)
{
    const char *detail = error->detail == NULL ? "it cannot be read" : error->detail;
    switch (error->code) {
    case JSON_OK:
        break;
    case JSON_ERROR_MEMORY:
        loading->errors->failed = true;
        break;
    case JSON_ERROR_DEPTH:
        buf_printf(load_message(loading), "arrays and objects are nested deeper than %u: flatten the value",
                   LIMIT_JSON_DEPTH);
        load_report(loading, "limit", error->offset, NULL);
        break;
    case JSON_ERROR_SIZE:
        buf_printf(load_message(loading), "the file is longer than %u bytes: split it", LIMIT_POLICY_BYTES);
        load_report(loading, "limit", error->offset, NULL);
        break;
    case JSON_ERROR_SYNTAX:
    case JSON_ERROR_UTF8:
    case JSON_ERROR_BOM:
    case JSON_ERROR_SURROGATE:
    case JSON_ERROR_DUPLICATE:
        buf_printf(load_message(loading), "this is not JSON here: %s%s", detail,
                   error->code == JSON_ERROR_SYNTAX ? json_advice(loading->doc.text, error->offset) : "");
        load_report(loading, "json-syntax", error->offset, NULL);
        break;
    }
}

/* The rules of a document, whatever its form; NULL when it has none. */
static const struct json_value *rules_of(const struct loading *loading, const struct json_value *root)
{
    if (root->type != JSON_OBJECT) {
        return root;
    }
    const struct json_value *rules = json_get(&loading->doc, root, "rules");
    return rules != NULL ? rules : json_get(&loading->doc, root, "policy");
}

/* Whether this source has more rules than fit. Then that is its only error. */
static bool over_limit(struct loading *loading, const struct json_value *root)
{
    const struct json_value *rules = rules_of(loading, root);
    uint32_t room = LIMIT_RULES - loading->policy->rule_count;
    if (!json_is(rules, JSON_ARRAY) || rules->count <= room) {
        return false;
    }
    const struct json_value *value = json_first(&loading->doc, rules);
    for (uint32_t i = 0; i < room; i++) {
        value = json_right(&loading->doc, rules, value);
    }
    buf_printf(load_message(loading), "a policy has at most %u rules, all files together: leave out the rest",
               LIMIT_RULES);
    load_report(loading, "limit", value->offset, NULL);
    return true;
}

static void load_document_key(struct loading *loading, const struct key *key, const struct json_value *value,
                              const struct place *place)
{
    struct loaded loaded = {0};
    if (!load_value(loading, key, value, place, &loaded)) {
        return;
    }
    switch (key->id) {
    case ID_RULES:
    case ID_POLICY:
        load_rules(loading, value, place);
        break;
    case ID_REQUIRED:
        load_required(loading, value, place);
        break;
    case ID_PATH_ARGUMENTS:
        load_changes(loading, LIST_PATHS, value, place);
        break;
    case ID_TREE_ARGUMENTS:
        load_changes(loading, LIST_TREES, value, place);
        break;
    case ID_COMMAND_ARGUMENTS:
        load_changes(loading, LIST_COMMANDS, value, place);
        break;
    case ID_URL_ARGUMENTS:
        load_changes(loading, LIST_URLS, value, place);
        break;
    case ID_ASSERTIONS:
        load_assertions(loading, value, place);
        break;
    case ID_ALLOW_OBSERVE:
        loading->policy->forbids_observing = loading->policy->forbids_observing || !loaded.boolean;
        break;
    case ID_CONFINE:
        load_confine(loading, value, place);
        break;
    default: /* $schema, version */
        break;
    }
}

static void load_object(struct loading *loading, const struct json_value *root)
{
    bool has_rules = json_get(&loading->doc, root, "rules") != NULL;
    bool has_policy = json_get(&loading->doc, root, "policy") != NULL;
    bool bridge = has_policy && !has_rules;
    const struct key_table *table = bridge ? &schema_bridge : &schema_document;
    const struct json_value *name = json_first(&loading->doc, root);
    for (; name != NULL; name = json_right(&loading->doc, root, name)) {
        struct place here = {.key = json_str(name)};
        const struct key *key = schema_key(table, json_str(name));
        if (key != NULL) {
            load_document_key(loading, key, json_member_value(name), &here);
        } else if (has_rules && slice_is(json_str(name), "policy")) {
            buf_text(load_message(loading),
                     "unknown key 'policy' beside 'rules': rules stand under one of the two, keep 'rules'");
            load_report(loading, "unknown-key", name->offset, &here);
        } else if (!bridge) {
            report_unknown_key(loading, table, name, &here);
        }
    }
}

static void load_document(struct loading *loading)
{
    const struct json_value *root = json_root(&loading->doc);
    if (over_limit(loading, root)) {
        return;
    }
    if (loading->doc.duplicates != 0) {
        load_duplicates(loading);
        return;
    }
    if (root->type == JSON_ARRAY) {
        load_rules(loading, root, NULL);
    } else if (root->type == JSON_OBJECT) {
        load_object(loading, root);
    } else {
        buf_printf(load_message(loading),
                   "a policy must be an array of rules, or an object such as {\"rules\": […]}, not %s",
                   json_type_name(root->type));
        load_report(loading, "wrong-type", root->offset, NULL);
    }
}

/* Takes back all that a source gave. Its symbols and prefixes stay, which is why the policy is then made
 * anew. */
static void leave_out(struct loading *loading, const struct policy *before)
{
    loading->policy->rule_count = before->rule_count;
    loading->policy->entry_count = before->entry_count;
    loading->policy->assertion_count = before->assertion_count;
    loading->policy->confine_count = before->confine_count;
    loading->policy->forbids_observing = before->forbids_observing;
    while (loading->id_count > 0 && loading->ids[loading->id_count - 1].file == loading->file) {
        loading->id_of_symbol[loading->ids[--loading->id_count].symbol] = 0;
    }
}

static void load_source(struct loading *loading, uint32_t file)
{
    static const struct json_options options = {
        .max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_POLICY_BYTES, .keep_duplicates = true};
    struct policy *policy = loading->policy;
    const struct policy before = *policy; /* of which the counts are looked at */
    size_t errors_before = loading->errors->count;
    loading->file = file;
    loading->source = &loading->sources[file];
    loading->file_name = (struct slice){NULL, 0};
    cursor_start(&loading->cursor, loading->source->text);
    json_init(&loading->doc);
    struct json_error error = {0};
    if (json_parse(&loading->doc, loading->source->text, &options, &error)) {
        load_document(loading);
    } else {
        report_json(loading, &error);
    }
    json_finish(&loading->doc);
    policy->files[file].used = loading->errors->count == errors_before && !loading->errors->failed;
    if (policy->files[file].used) {
        policy->files[file].rules = policy->rule_count - before.rule_count;
    } else if (load_is_workspace(loading->source)) {
        leave_out(loading, &before);
    }
}

/* ---- All sources ---- */

static bool start_files(struct loading *loading)
{
    struct policy *policy = loading->policy;
    policy->files = arena_array(&policy->arena, loading->source_count, sizeof(*policy->files));
    if (policy->files == NULL) {
        return false;
    }
    policy->file_count = (uint32_t)loading->source_count;
    for (size_t i = 0; i < loading->source_count; i++) {
        const struct policy_source *source = &loading->sources[i];
        policy->files[i] = (struct policy_file){
            .name = arena_copy(&policy->arena, source->name),
            .tier = (uint8_t)(source->at_tier ? source->tier : TIER_DEFAULT),
            .at_tier = source->at_tier,
        };
        if (policy->files[i].name.ptr == NULL) {
            return false;
        }
    }
    return true;
}

/* Starts a loading over: a new policy, no ids, no prefixes. */
static bool start_over(struct loading *loading)
{
    policy_destroy(loading->policy);
    loading->policy = policy_new();
    free(loading->id_of_symbol);
    loading->id_of_symbol = NULL;
    loading->id_of_symbol_cap = loading->id_count = 0;
    intern_finish(&loading->prefix_texts);
    arena_finish(&loading->prefix_arena);
    return loading->policy != NULL && start_files(loading);
}

/* Loads the operator's sources first, so that an id that a workspace source shares is the workspace source's
 * error. Says whether the policy stands as it should: every source used, and in the sources' order. */
static bool load_all(struct loading *loading)
{
    bool in_order = true, workspace_seen = false;
    for (uint32_t i = 0; i < loading->source_count; i++) {
        bool workspace = load_is_workspace(&loading->sources[i]);
        in_order = in_order && (workspace || !workspace_seen);
        workspace_seen = workspace_seen || workspace;
        if (!workspace) {
            load_source(loading, i);
        }
    }
    for (uint32_t i = 0; i < loading->source_count; i++) {
        if (load_is_workspace(&loading->sources[i])) {
            load_source(loading, i);
            in_order = in_order && loading->policy->files[i].used;
        }
    }
    return in_order;
}

/* Loads the good sources again, in their order. */
static void load_again(struct loading *loading, const bool *used)
{
    if (!start_over(loading)) {
        loading->errors->failed = true;
        return;
    }
    for (uint32_t i = 0; i < loading->source_count; i++) {
        if (used[i]) {
            load_source(loading, i);
        }
    }
}

static bool operator_sources_good(const struct loading *loading)
{
    for (uint32_t i = 0; i < loading->source_count; i++) {
        if (!load_is_workspace(&loading->sources[i]) && !loading->policy->files[i].used) {
            return false;
        }
    }
    return !loading->errors->failed;
}

/* False when there is no policy. */
static bool load_sources(struct loading *loading)
{
    if (!start_over(loading)) {
        loading->errors->failed = true;
        return false;
    }
    bool stands = load_all(loading);
    if (stands || !operator_sources_good(loading)) {
        return stands && operator_sources_good(loading);
    }
    bool *used = calloc(loading->source_count + 1, sizeof(*used));
    if (used == NULL) {
        loading->errors->failed = true;
        return false;
    }
    for (uint32_t i = 0; i < loading->source_count; i++) {
        used[i] = loading->policy->files[i].used;
    }
    size_t errors_before = loading->errors->count;
    load_again(loading, used);
    free(used);
    /* Only a change of the files that prefixes pass through can bring errors now. */
    return !loading->errors->failed && loading->errors->count == errors_before;
}

struct policy *policy_load(const struct policy_source *sources, size_t count, const struct path_base *base,
                           struct findings *ret_errors)
{
    struct loading loading = {.sources = sources, .source_count = count, .base = base, .errors = ret_errors};
    arena_init(&loading.prefix_arena, 0);
    intern_init(&loading.prefix_texts, &loading.prefix_arena);
    buf_init(&loading.message, (size_t)64 << 10);
    buf_init(&loading.pointer, (size_t)2 * LIMIT_POLICY_BYTES);
    buf_init(&loading.text, (size_t)4 * LIMIT_POLICY_BYTES);
    json_init(&loading.loose);
    loading.commands = command_reader_create();
    ret_errors->failed = ret_errors->failed || loading.commands == NULL;
    bool good = loading.commands != NULL && load_sources(&loading);
    load_place_errors(&loading);
    struct policy *policy = loading.policy;
    if (good && !ret_errors->failed && !(policy_seal(policy) && index_build(policy))) {
        ret_errors->failed = true;
    }
    if (!good || ret_errors->failed) {
        policy_destroy(policy);
        policy = NULL;
    }
    free(loading.ids);
    free(loading.id_of_symbol);
    free(loading.prefix_ids);
    intern_finish(&loading.prefix_texts);
    arena_finish(&loading.prefix_arena);
    buf_finish(&loading.message);
    buf_finish(&loading.pointer);
    buf_finish(&loading.text);
    json_finish(&loading.loose);
    command_reader_destroy(loading.commands);
    return policy;
}
