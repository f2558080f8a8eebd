/* Finding an id without reading JSON. */
#include "mcp/scan.h"

void scan_start(struct scan *scan)
{
    scan->at = SCAN_START;
    scan->depth = 0;
    scan->in_string = scan->escaped = false;
    scan->is_id = scan->has_method = scan->has_answer = false;
    scan->ids = 0;
    scan->key_len = scan->id_len = 0;
}

static void end_key(struct scan *scan)
{
    struct slice key = {scan->key, scan->key_len};
    bool whole = scan->key_len < sizeof(scan->key);
    scan->is_id = whole && slice_is(key, "id");
    scan->has_method = scan->has_method || (whole && slice_is(key, "method"));
    scan->has_answer = scan->has_answer || (whole && (slice_is(key, "result") || slice_is(key, "error")));
    scan->ids += scan->is_id;
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

static void feed_mark(struct scan *scan, char c)
{
    switch (c) {
    case '"':
        scan->in_string = true;
        scan->key_len = 0;
        break;
    case '{':
    case '[':
        if (scan->depth == 0) {
            scan->at = c == '{' && scan->at == SCAN_START ? SCAN_KEY : SCAN_LOST;
        }
        scan->depth++;
        break;
    case '}':
    case ']':
        scan->depth -= scan->depth > 0;
        if (scan->depth == 0 && scan->at != SCAN_LOST) {
            scan->at = SCAN_END;
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
            scan->is_id = false;
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
        inside = inside && scan->at == SCAN_VALUE;
        if (inside && scan->is_id && scan->ids == 1 && scan->id_len < sizeof(scan->id)) {
            scan->id[scan->id_len++] = c;
        }
    }
}

bool scan_id(const struct scan *scan, struct json_doc *doc, struct id *ret_id)
{
    struct json_options options = {.max_depth = 1, .max_bytes = SCAN_ID_MOST};
    struct json_error error;
    return scan->at != SCAN_LOST && scan->ids == 1 && scan->id_len < sizeof(scan->id) &&
           json_parse(doc, (struct slice){scan->id, scan->id_len}, &options, &error) &&
           id_read(json_root(doc), ret_id);
}
