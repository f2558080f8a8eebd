/* Checks one line of a journal by itself, and its place in the chain. */
#include "journal/line_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void line_reader_init(struct line_reader *reader)
{
    json_init(&reader->doc);
    /* A number in another spelling may grow: 1e20 to 21 digits. */
    buf_init(&reader->canonical, (size_t)8 * JOURNAL_LINE_MAX);
}

void line_reader_finish(struct line_reader *reader)
{
    json_finish(&reader->doc);
    buf_finish(&reader->canonical);
}

void fault_set(struct journal_fault *fault, const char *reason, const char *expected, const char *actual)
{
    fault->reason = reason;
    (void)snprintf(fault->expected, sizeof(fault->expected), "%s", expected);
    (void)snprintf(fault->actual, sizeof(fault->actual), "%s", actual);
}

static enum line_result wrong(struct journal_fault *fault, const char *reason, const char *expected,
                              const char *actual)
{
    fault_set(fault, reason, expected, actual);
    return LINE_FAULT;
}

const char *hash_for_people(struct slice hash, char out[HASH_HEX + 1])
{
    uint8_t bytes[HASH_SIZE];
    if (!hash_from_hex(hash, bytes)) {
        return "no SHA-256 in lower-case hex";
    }
    hash_to_hex(bytes, out);
    return out;
}

static enum line_result not_json(const struct json_error *error, struct journal_fault *fault)
{
    if (error->code == JSON_ERROR_MEMORY) {
        return LINE_UNREAD;
    }
    char actual[sizeof(fault->actual)];
    (void)snprintf(actual, sizeof(actual), "byte %" PRIu32 ": %s", error->offset + 1,
                   error->detail != NULL ? error->detail : "not JSON");
    return wrong(fault, "the line is not JSON", "one JSON object", actual);
}

/* Equal spelling is what makes the hash of a line the hash of an event. */
static enum line_result check_spelling(struct line_reader *reader, struct slice text,
                                       struct journal_fault *fault)
{
    struct buf *canonical = &reader->canonical;
    buf_reset(canonical);
    json_write_canonical(canonical, &reader->doc, json_root(&reader->doc), JSON_NUMBER_JOURNAL);
    size_t at = 0;
    if (!buf_ok(canonical)) {
        return LINE_UNREAD;
    }
    while (at < text.len && at < canonical->len && text.ptr[at] == canonical->ptr[at]) {
        at++;
    }
    if (at == text.len && at == canonical->len) {
        return LINE_OK;
    }
    char actual[sizeof(fault->actual)];
    (void)snprintf(actual, sizeof(actual), "another spelling from byte %zu on", at + 1);
    return wrong(fault, "the line is not in its canonical form", "RFC 8785", actual);
}

static bool read_text(const struct json_doc *doc, const char *name, struct slice *ret_text)
{
    const struct json_value *v = json_get(doc, json_root(doc), name);
    if (!json_is(v, JSON_STRING)) {
        return false;
    }
    *ret_text = json_str(v);
    return true;
}

static bool read_number(const struct json_doc *doc, const char *name, int64_t *ret_number)
{
    const struct json_value *v = json_get(doc, json_root(doc), name);
    return json_is(v, JSON_NUMBER) && json_number_int(json_str(v), ret_number) == JSON_INT_OK;
}

static enum line_result check_members(const struct json_doc *doc, struct line *line,
                                      struct journal_fault *fault)
{
    int64_t seq = 0, version = 0;
    if (!json_is(json_root(doc), JSON_OBJECT)) {
        return wrong(fault, "the line is not an event", "an object",
                     json_type_name((enum json_type)json_root(doc)->type));
    }
    bool has_seq = read_number(doc, "seq", &seq) && seq > 0;
    fault->seq = has_seq ? (uint64_t)seq : 0;
    line->seq = fault->seq;
    if (!read_number(doc, "v", &version) || version != 1) {
        return wrong(fault, "the event has another version", "\"v\":1", "another or none");
    }
    if (!has_seq) {
        return wrong(fault, "the event has no sequence number", "\"seq\" from 1", "another or none");
    }
    if (!read_text(doc, "ts", &line->ts) || !read_text(doc, "kind", &line->kind) ||
        !read_text(doc, "prevHash", &line->prev_hash) || !read_text(doc, "hash", &line->hash)) {
        return wrong(fault, "a member of the event is missing", "ts, kind, prevHash and hash as strings",
                     "one of them is not there or no string");
    }
    const struct json_value *detail = json_get(doc, json_root(doc), "detail");
    const struct json_value *anchor = json_is(detail, JSON_OBJECT) ? json_get(doc, detail, "anchor") : NULL;
    line->anchor = json_is(anchor, JSON_STRING) ? json_str(anchor) : (struct slice){NULL, 0};
    const struct json_value *previous =
        json_is(detail, JSON_OBJECT) ? json_get(doc, detail, "previous") : NULL;
    if (line->anchor.ptr != NULL && json_is(previous, JSON_OBJECT)) {
        const struct json_value *number = json_get(doc, previous, "seq");
        const struct json_value *hash = json_get(doc, previous, "hash");
        if (json_is(number, JSON_NUMBER) && json_number_int(json_str(number), &seq) == JSON_INT_OK &&
            seq > 0 && json_is(hash, JSON_STRING)) {
            line->previous_seq = (uint64_t)seq;
            line->previous_hash = json_str(hash);
        }
    }
    return LINE_OK;
}

/* The text is canonical, so cutting the member out of it leaves the canonical form of the rest. */
static enum line_result check_hash(struct line_reader *reader, struct slice text, const struct line *line,
                                   struct journal_fault *fault)
{
    const struct json_value *v = json_get(&reader->doc, json_root(&reader->doc), "hash");
    size_t gap = v->offset - (sizeof("\"hash\":") - 1);
    size_t rest = v->offset + v->length + 1; /* behind the comma: `kind` follows */
    uint8_t hash[HASH_SIZE];
    if (!hasher_begin(&reader->hasher) || !hasher_add(&reader->hasher, line->prev_hash) ||
        !hasher_add(&reader->hasher, (struct slice){text.ptr, gap}) ||
        !hasher_add(&reader->hasher, slice_from(text, rest)) || !hasher_end(&reader->hasher, hash)) {
        return LINE_UNREAD;
    }
    char hex[HASH_HEX + 1], actual[HASH_HEX + 1];
    hash_to_hex(hash, hex);
    if (!slice_is(line->hash, hex)) {
        return wrong(fault, "the hash is not that of the event", hex, hash_for_people(line->hash, actual));
    }
    return LINE_OK;
}

enum line_result line_read(struct line_reader *reader, struct slice text, struct line *ret_line,
                           struct journal_fault *ret_fault)
{
    /* The event's own object, and `input` or `detail` in it. */
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH + 1, .max_bytes = JOURNAL_LINE_MAX};
    struct json_error error;
    struct line line = {0};
    if (!json_parse(&reader->doc, text, &options, &error)) {
        return not_json(&error, ret_fault);
    }
    enum line_result result = check_members(&reader->doc, &line, ret_fault);
    if (result == LINE_OK) {
        result = check_spelling(reader, text, ret_fault);
    }
    if (result == LINE_OK) {
        result = check_hash(reader, text, &line, ret_fault);
    }
    if (result == LINE_OK) {
        *ret_line = line;
    }
    return result;
}

bool line_follows(const struct line *line, const struct chain *chain, struct journal_fault *ret_fault)
{
    char expected[HASH_HEX + 1], actual[HASH_HEX + 1];
    ret_fault->seq = line->seq;
    if (line->seq != chain->seq + 1) {
        (void)snprintf(expected, sizeof(expected), "seq %" PRIu64, chain->seq + 1);
        (void)snprintf(actual, sizeof(actual), "seq %" PRIu64, line->seq);
        fault_set(ret_fault, "the sequence is broken", expected, actual);
        return false;
    }
    if (!slice_is(line->prev_hash, chain->hash)) {
        fault_set(ret_fault, "the event does not follow the one before it", chain->hash,
                  hash_for_people(line->prev_hash, actual));
        return false;
    }
    return true;
}

void line_advance(const struct line *line, struct chain *chain)
{
    chain->seq = line->seq;
    memcpy(chain->hash, line->hash.ptr, HASH_HEX);
    chain->hash[HASH_HEX] = '\0';
}
