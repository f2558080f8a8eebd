/* A call read from text, and the text that its hash covers. */
#include "call/call.h"

#include <stdlib.h>

#include "base/fold.h"

/* A call's document holds the input as a member, one level down. */
static const struct json_options call_options = {
    .max_depth = LIMIT_JSON_DEPTH + 1,
    .max_bytes = LIMIT_MESSAGE_BYTES,
};

bool call_reader_init(struct call_reader *reader)
{
    *reader = (struct call_reader){.detail = NULL};
    json_init(&reader->doc);
    json_init(&reader->empty);
    struct json_error error;
    if (!json_parse(&reader->empty, SLICE("{}"), &call_options, &error)) {
        call_reader_finish(reader);
        return false;
    }
    return true;
}

void call_reader_finish(struct call_reader *reader)
{
    json_finish(&reader->doc);
    json_finish(&reader->empty);
}

const char *actor_name(enum actor actor)
{
    switch (actor) {
    case ACTOR_SESSION_OWNER:
        return "session_owner";
    case ACTOR_CLAUDE_PROCESS:
        return "claude_process";
    case ACTOR_ANY:
        break;
    }
    return "any";
}

/* ---- Hints ---- */

#define HINT_NAME(name, key) key,
const char *const hint_names[HINT_COUNT] = {HINT_TABLE(HINT_NAME)};
#undef HINT_NAME

static uint8_t hint_mask(enum hint hint)
{
    return (uint8_t)(hint_bit(hint, true) | hint_bit(hint, false));
}

/* What an absent hint rules out. A tool that only reads destroys nothing and may be called twice: of others alone MCP says
 * that they may destroy and may not. Where it is not known whether the tool only reads, neither is this. */
static uint8_t default_rules_out(enum hint hint, uint8_t read_only)
{
    switch (hint) {
    case HINT_READ_ONLY:
        return hint_bit(hint, true);
    case HINT_OPEN_WORLD:
        return hint_bit(hint, false);
    case HINT_DESTRUCTIVE:
    case HINT_IDEMPOTENT:
    case HINT_COUNT:
        break;
    }
    if ((read_only & hint_mask(HINT_READ_ONLY)) == 0) {
        return 0;
    }
    bool reads = (read_only & hint_bit(HINT_READ_ONLY, false)) != 0;
    return hint_bit(hint, hint == HINT_DESTRUCTIVE ? reads : !reads);
}

static uint8_t one_ruled_out(const struct json_doc *doc, const struct json_value *annotations, enum hint hint,
                             uint8_t read_only)
{
    const struct json_value *value =
        annotations == NULL ? NULL : json_get(doc, annotations, hint_names[hint]);
    if (value == NULL) {
        return default_rules_out(hint, read_only);
    }
    bool known = json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE);
    return known ? hint_bit(hint, json_is(value, JSON_FALSE)) : 0;
}

uint8_t hints_ruled_out(const struct json_doc *doc, const struct json_value *annotations)
{
    if (annotations != NULL && !json_is(annotations, JSON_OBJECT)) {
        return 0;
    }
    uint8_t read_only = one_ruled_out(doc, annotations, HINT_READ_ONLY, 0), out = read_only;
    for (enum hint hint = 0; hint < HINT_READ_ONLY; hint++) {
        out |= one_ruled_out(doc, annotations, hint, read_only);
    }
    return out;
}

void hints_write(struct buf *buf, uint8_t ruled_out)
{
    for (enum hint hint = 0; hint < HINT_COUNT; hint++) {
        uint8_t bits = ruled_out & hint_mask(hint);
        buf_printf(buf, "%s\"%s\":%s", hint == 0 ? "{" : ",", hint_names[hint],
                   bits == 0                       ? "null"
                   : bits == hint_bit(hint, false) ? "true"
                                                   : "false");
    }
    buf_byte(buf, '}');
}

/* ---- Reading ---- */

static enum call_result malformed(struct call_reader *reader, const char *detail)
{
    reader->detail = detail;
    return CALL_MALFORMED;
}

static enum call_result unparsed(struct call_reader *reader, enum json_error_code code)
{
    switch (code) {
    case JSON_ERROR_MEMORY:
        return CALL_NO_MEMORY;
    case JSON_ERROR_DEPTH:
    case JSON_ERROR_SIZE:
        return CALL_OVER_LIMIT;
    case JSON_ERROR_UTF8:
        return malformed(reader, "not valid UTF-8");
    case JSON_ERROR_BOM:
        return malformed(reader, "begins with a byte order mark");
    case JSON_ERROR_SURROGATE:
        return malformed(reader, "a lone surrogate escape");
    case JSON_ERROR_DUPLICATE:
        return malformed(reader, "a repeated key");
    case JSON_ERROR_SYNTAX:
    case JSON_OK:
        break;
    }
    return malformed(reader, "not JSON");
}

static const char *take_session(const struct json_doc *doc, const struct json_value *key, struct call *call)
{
    static const char *const what = "'sessionKey' is not an object of the strings 'channel' and 'thread'";
    const struct json_value *channel = json_get(doc, key, "channel");
    const struct json_value *thread = json_get(doc, key, "thread");
    /* Keys are unique: two members that are these two are all there are. */
    if (!json_is(key, JSON_OBJECT) || key->count != 2 || !json_is(channel, JSON_STRING) ||
        !json_is(thread, JSON_STRING)) {
        return what;
    }
    call->channel = json_str(channel);
    call->thread = json_str(thread);
    return NULL;
}

static const char *take_actor(const struct json_value *value, struct call *call)
{
    static const enum actor actors[] = {ACTOR_SESSION_OWNER, ACTOR_CLAUDE_PROCESS};
    for (size_t i = 0; i < sizeof(actors) / sizeof(*actors); i++) {
        if (json_is(value, JSON_STRING) && slice_is(json_str(value), actor_name(actors[i]))) {
            call->actor = actors[i];
            return NULL;
        }
    }
    return "'actor' is neither 'session_owner' nor 'claude_process'";
}

static bool is_text(const struct json_value *value)
{
    return json_is(value, JSON_STRING) && value->str_len > 0;
}

/* Takes one member; the phrase of its fault, or NULL. */
static const char *take_member(struct call_reader *reader, struct slice name, const struct json_value *value)
{
    if (slice_is(name, "tool")) {
        reader->name.tool = json_str(value);
        return is_text(value) ? NULL : "'tool' is not a non-empty string";
    }
    if (slice_is(name, "server")) {
        reader->name.server = json_str(value);
        reader->name.has_server = true;
        return is_text(value) ? NULL : "'server' is not a non-empty string";
    }
    if (slice_is(name, "input")) {
        reader->call.doc = &reader->doc;
        reader->call.input = value;
        return json_is(value, JSON_OBJECT) ? NULL : "'input' is not an object";
    }
    if (slice_is(name, "sessionKey")) {
        return take_session(&reader->doc, value, &reader->call);
    }
    if (slice_is(name, "actor")) {
        return take_actor(value, &reader->call);
    }
    if (slice_is(name, "annotations")) {
        reader->name.hints_not = hints_ruled_out(&reader->doc, value);
        return json_is(value, JSON_OBJECT) ? NULL : "'annotations' is not an object";
    }
    return "an unknown field";
}

enum call_result call_read(struct call_reader *reader, struct slice text,
                           const struct call_defaults *defaults)
{
    struct json_doc *doc = &reader->doc;
    struct json_error error = {.code = JSON_ERROR_SYNTAX};
    reader->detail = NULL;
    if (!json_parse(doc, text, &call_options, &error)) {
        return unparsed(reader, error.code);
    }
    const struct json_value *root = json_root(doc), *key;
    if (!json_is(root, JSON_OBJECT)) {
        return malformed(reader, "not an object");
    }
    reader->name = (struct call_name){.server = defaults->server, .has_server = defaults->server.ptr != NULL};
    reader->call = (struct call){
        .names = &reader->name,
        .name_count = 1,
        .channel = defaults->channel,
        .thread = defaults->thread,
        .actor = defaults->actor,
        .doc = &reader->empty,
        .input = json_root(&reader->empty),
    };
    for (key = json_first(doc, root); key != NULL; key = json_right(doc, root, key)) {
        const char *fault = take_member(reader, json_str(key), json_member_value(key));
        if (fault != NULL) {
            return malformed(reader, fault);
        }
    }
    if (reader->name.tool.ptr == NULL) {
        return malformed(reader, "no 'tool'");
    }
    if (call_names_clash(reader->call.doc, reader->call.input)) {
        return malformed(reader, "two argument names that differ only by case");
    }
    return CALL_OK;
}

/* ---- Names of one folded form ---- */

#define FEW_NAMES 12u

struct name {
    uint32_t hash; /* of the folded form */
    const struct json_value *key;
};

static int compare_folded(const void *a, const void *b)
{
    const struct name *left = a, *right = b;
    if (left->hash != right->hash) {
        return left->hash < right->hash ? -1 : 1;
    }
    return fold_cmp(json_str(left->key), json_str(right->key));
}

/* One bit for a name, the same for all of its folded form: from its first two letters and its last. */
static uint64_t folded_bit(const struct json_value *key)
{
    size_t at = 0;
    uint32_t h = 0;
    for (int i = 0; i < 2 && at < key->str_len; i++) {
        h = h * 7 + fold_next(json_str(key), &at);
    }
    unsigned char last = key->str_len == 0 ? 0 : (unsigned char)key->str[key->str_len - 1];
    last = last == 0xAA ? 'k' : last == 0xBF ? 's' : last >= 'A' && last <= 'Z' ? last | 0x20 : last;
    return (uint64_t)1 << ((h + last * 31u) & 63);
}

static bool few_names_clash(const struct name *names, uint32_t count)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bit = folded_bit(names[i].key);
        for (uint32_t j = 0; j < i && (seen & bit) != 0; j++) {
            if (compare_folded(&names[i], &names[j]) == 0) {
                return true;
            }
        }
        seen |= bit;
    }
    return false;
}

static bool many_names_clash(struct name *names, uint32_t count)
{
    bool clash = false;
    for (uint32_t i = 0; i < count; i++) {
        names[i].hash = fold_hash(json_str(names[i].key));
    }
    qsort(names, count, sizeof(*names), compare_folded);
    for (uint32_t i = 1; i < count && !clash; i++) {
        clash = compare_folded(&names[i - 1], &names[i]) == 0;
    }
    return clash;
}

bool call_names_clash(const struct json_doc *doc, const struct json_value *object)
{
    struct name few[FEW_NAMES], *names = few;
    const struct json_value *key;
    uint32_t count = 0;
    if (object->count > FEW_NAMES) {
        names = calloc(object->count, sizeof(*names));
        if (names == NULL) {
            return true; /* not known to be sound, so denied */
        }
    }
    for (key = json_first(doc, object); key != NULL; key = json_right(doc, object, key)) {
        names[count++] = (struct name){.key = key};
    }
    bool clash = names == few ? few_names_clash(names, count) : many_names_clash(names, count);
    if (names != few) {
        free(names);
    }
    return clash;
}

/* ---- Flattened names ---- */

bool call_split_next(struct slice flat, struct slice separator, size_t *at, struct call_name *ret_name)
{
    for (size_t i = *at + 1; i + separator.len < flat.len; i++) {
        if (slice_starts_with(slice_from(flat, i), separator)) {
            *at = i;
            *ret_name = (struct call_name){
                .server = {flat.ptr, i}, .has_server = true, .tool = slice_from(flat, i + separator.len)};
            return true;
        }
    }
    return false;
}

/* ---- The text of the hash ---- */

void call_write_canonical(struct buf *buf, const struct call *call)
{
    const struct call_name *name = &call->names[0];
    buf_text(buf, "{\"actor\":");
    json_write_string(buf, slice_of(actor_name(call->actor)));
    buf_text(buf, ",\"input\":");
    if (call->input == NULL) {
        buf_text(buf, "null");
    } else {
        json_write_canonical(buf, call->doc, call->input, JSON_NUMBER_CALL);
    }
    if (name->has_server) {
        buf_text(buf, ",\"server\":");
        json_write_string(buf, name->server);
    }
    buf_text(buf, ",\"sessionKey\":{\"channel\":");
    json_write_string(buf, call->channel);
    buf_text(buf, ",\"thread\":");
    json_write_string(buf, call->thread);
    buf_text(buf, "},\"tool\":");
    json_write_string(buf, name->tool);
    buf_byte(buf, '}');
}
