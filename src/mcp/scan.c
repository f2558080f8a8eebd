/* Finding an id without reading JSON. */
#include "mcp/scan_internal.h"

void scan_start(struct scan *scan)
{
    scan->at = SCAN_START;
    scan->depth = 0;
    scan->in_string = scan->escaped = false;
    scan->is_id = scan->has_method = scan->has_answer = false;
    scan->ids = 0;
    scan->ids_differ = false;
    scan->fed = scan->key_len = scan->id_len = scan->id_at = scan->same = 0;
}

static void end_key(struct scan *scan)
{
    struct slice key = {scan->key, scan->key_len};
    bool whole = scan->key_len < sizeof(scan->key);
    scan->is_id = whole && slice_is(key, "id");
    scan->has_method = scan->has_method || (whole && slice_is(key, "method"));
    scan->has_answer = scan->has_answer || (whole && (slice_is(key, "result") || slice_is(key, "error")));
    scan->ids += scan->is_id;
    scan->same = 0;
    scan->at = SCAN_COLON;
}

static void feed_string(struct scan *scan, char c)
{
    if (scan->escaped) {
        scan->escaped = false;
    } else if (c == '\\') {
        scan->escaped = true;
    } else if (c == '"') {
        scan->in_string = false;
        if (scan->depth == 1 && scan->at == SCAN_KEY) {
            end_key(scan);
            return;
        }
    }
    if (scan->depth == 1 && scan->at == SCAN_KEY && scan->key_len < sizeof(scan->key)) {
        scan->key[scan->key_len++] = c;
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void end_value(struct scan *scan)
{
    if (!scan->is_id) {
        return;
    }
    scan->is_id = false;
    if (scan->ids > 1) {
        scan->ids_differ = scan->ids_differ || scan->same != scan->id_len;
    }
    while (scan->ids == 1 && scan->id_len > 0 && scan->id_len < sizeof(scan->id) &&
           is_space(scan->id[scan->id_len - 1])) {
        scan->id_len--;
    }
}

/* A byte of the value of a member that is called `id`. */
static void feed_id(struct scan *scan, char c)
{
    if (scan->ids > 1) {
        if (is_space(c) && (scan->same == 0 || scan->same == scan->id_len)) {
            return;
        }
        scan->ids_differ = scan->ids_differ || scan->same >= scan->id_len || scan->id[scan->same] != c;
        scan->same++;
        return;
    }
    if (scan->id_len == 0) {
        if (is_space(c)) {
            return;
        }
        scan->id_at = scan->fed;
    }
    if (scan->id_len < sizeof(scan->id)) {
        scan->id[scan->id_len++] = c;
    }
}

static void feed_mark(struct scan *scan, char c)
{
    switch (c) {
    case '"':
        scan->in_string = true;
        scan->key_len = 0;
        break;
    case '{':
    case '[':
        if (scan->depth == 0 && scan->at != SCAN_END) { /* what stands behind the object changes nothing */
            scan->at = c == '{' && scan->at == SCAN_START ? SCAN_KEY : SCAN_LOST;
        }
        scan->depth++;
        break;
    case '}':
    case ']':
        scan->depth -= scan->depth > 0;
        if (scan->depth == 0 && scan->at != SCAN_LOST) {
            scan->at = SCAN_END;
            end_value(scan);
        }
        break;
    case ':':
        if (scan->depth == 1 && scan->at == SCAN_COLON) {
            scan->at = SCAN_VALUE;
        }
        break;
    case ',':
        if (scan->depth == 1 && scan->at == SCAN_VALUE) {
            scan->at = SCAN_KEY;
            end_value(scan);
        }
        break;
    default:
        break;
    }
}

void scan_feed(struct scan *scan, struct slice bytes)
{
    for (size_t i = 0; i < bytes.len && scan->at != SCAN_LOST; i++) {
        char c = bytes.ptr[i];
        bool inside = scan->at == SCAN_VALUE;
        if (scan->in_string) {
            feed_string(scan, c);
        } else {
            feed_mark(scan, c);
        }
        /* What ends the value, a comma or a bracket, is no part of it. */
        if (inside && scan->at == SCAN_VALUE && scan->is_id) {
            feed_id(scan, c);
        }
        scan->fed++;
    }
}

static bool has_one_id(const struct scan *scan)
{
    return scan->at != SCAN_LOST && scan->ids > 0 && !scan->ids_differ && scan->id_len < sizeof(scan->id);
}

static bool parse_id(struct slice text, struct json_doc *doc)
{
    struct json_options options = {.max_depth = 1, .max_bytes = SCAN_ID_MOST};
    struct json_error error;
    return json_parse(doc, text, &options, &error);
}

bool scan_id(const struct scan *scan, struct json_doc *doc, struct id *ret_id)
{
    return has_one_id(scan) && parse_id((struct slice){scan->id, scan->id_len}, doc) &&
           id_read(json_root(doc), ret_id);
}

bool scan_id_to_answer(const struct scan *scan, struct slice text, struct json_doc *doc, struct id *ret_id)
{
    if (!has_one_id(scan) || scan->has_answer) {
        return false;
    }
    struct slice raw = {text.ptr == scan->id ? text.ptr : text.ptr + scan->id_at, scan->id_len};
    return parse_id(raw, doc) ? id_to_answer(doc, json_root(doc), ret_id) : id_take_raw(raw, ret_id);
}
