/* Arbitrary bytes as what a client and a server write. Lines are the same in whatever pieces they come; what
 * passes as a message says the same to a plain look at it; and an id that a scan finds is the id that stands
 * there. */
#include <string.h>

#include "fuzz.h"
#include "mcp/call.h"
#include "mcp/envelope.h"
#include "mcp/line_buffer.h"
#include "mcp/server_message.h"

static const struct call_defaults defaults = {.channel = {"c", 1}, .thread = {"t", 1}};

/* ---- Lines ---- */

/* Writes each line as its kind, its text and a mark. */
static void take_lines(struct buf *out, const uint8_t *data, size_t size, size_t piece)
{
    struct line_buffer lines;
    struct slice text, raw;
    enum line_kind kind;
    line_buffer_init(&lines, 200);
    for (size_t at = 0; at < size;) {
        size_t room = 0, len = size - at < piece ? size - at : piece;
        char *space = line_buffer_space(&lines, &room);
        FUZZ_CHECK(space != NULL && room >= len);
        memcpy(space, data + at, len);
        line_buffer_added(&lines, len);
        at += len;
        while ((kind = line_buffer_next(&lines, &text, &raw)) != LINE_NONE) {
            buf_byte(out, kind == LINE_WHOLE ? 'w' : 'l');
            if (kind == LINE_WHOLE) {
                FUZZ_CHECK(text.len <= 200 && raw.ptr == text.ptr && raw.ptr[raw.len - 1] == '\n');
                buf_slice(out, raw);
            }
        }
    }
    kind = line_buffer_last(&lines, &text, &raw);
    buf_byte(out, kind == LINE_WHOLE ? 'W' : kind == LINE_NONE ? '-' : 'L');
    line_buffer_finish(&lines);
}

static void check_pieces(const uint8_t *data, size_t size)
{
    struct buf whole, pieces;
    buf_init(&whole, 1u << 26);
    buf_init(&pieces, 1u << 26);
    take_lines(&whole, data, size, 4096);
    take_lines(&pieces, data, size, 1 + size % 7);
    FUZZ_CHECK(buf_ok(&whole) && buf_ok(&pieces));
    FUZZ_CHECK(slice_eq(buf_slice_of(&whole), buf_slice_of(&pieces)));
    buf_finish(&whole);
    buf_finish(&pieces);
}

/* ---- Messages ---- */

/* A name in lower case as the most lenient reader has it, up to a NUL. */
static void write_folded(struct buf *out, struct slice name)
{
    buf_reset(out);
    for (size_t i = 0; i < name.len && name.ptr[i] != '\0'; i++) {
        struct slice rest = slice_from(name, i);
        char c = name.ptr[i];
        if (slice_starts_with(rest, SLICE("\xC5\xBF"))) {
            buf_byte(out, 's');
            i++;
        } else if (slice_starts_with(rest, SLICE("\xE2\x84\xAA"))) {
            buf_byte(out, 'k');
            i += 2;
        } else {
            buf_byte(out, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
        }
    }
}

/* No two members of an object may be one to a lenient reader when one of them is `known`; nor may `known`
 * stand there in disguise. */
static void check_undisguised(const struct json_doc *doc, const struct json_value *object, const char *known)
{
    struct buf folded, want;
    buf_init(&folded, 1u << 24);
    buf_init(&want, 64);
    write_folded(&want, slice_of(known));
    for (const struct json_value *key = json_first(doc, object); key != NULL;
         key = json_right(doc, object, key)) {
        write_folded(&folded, json_str(key));
        FUZZ_CHECK(!slice_eq(buf_slice_of(&folded), buf_slice_of(&want)) || slice_is(json_str(key), known));
    }
    buf_finish(&folded);
    buf_finish(&want);
}

static void check_call(struct call_maker *maker, const struct json_doc *doc, const struct message *message)
{
    static const char *const known[] = {"name", "arguments", "_meta", "task", "uri", "ref", "context"};
    if (call_make(maker, doc, message) != NULL) {
        return;
    }
    const struct call *call = &maker->call;
    FUZZ_CHECK(call->input != NULL && call->input->type == JSON_OBJECT && call->names[0].tool.len > 0);
    FUZZ_CHECK(json_within_depth(call->doc, call->input, LIMIT_JSON_DEPTH));
    for (size_t i = 0; message->params != NULL && i < sizeof(known) / sizeof(known[0]); i++) {
        check_undisguised(doc, message->params, known[i]);
    }
    if (message->form == CALL_FORM_TOOL) {
        FUZZ_CHECK(slice_eq(json_str(json_get(doc, message->params, "name")), call->names[0].tool));
    } else {
        FUZZ_CHECK(slice_eq(message->method, call->names[0].tool));
    }
}

static void check_message(struct json_doc *doc, struct call_maker *maker, struct slice line)
{
    struct message message = message_read(doc, line);
    if (message.kind == MESSAGE_REFUSED) {
        FUZZ_CHECK(message.why != NULL && message.code < 0);
        return;
    }
    FUZZ_CHECK(memchr(line.ptr, '\r', line.len) == NULL);
    const struct json_value *root = json_root(doc);

    size_t members = 0;
    for (enum member member = 0; member < MEMBER_COUNT; member++) {
        members += json_get(doc, root, member_names[member]) != NULL;
    }
    FUZZ_CHECK(members == root->count && doc->duplicates == 0);
    FUZZ_CHECK(slice_is(json_str(json_get(doc, root, "jsonrpc")), "2.0"));
    FUZZ_CHECK((json_get(doc, root, "method") != NULL) == (message.kind != MESSAGE_RESPONSE));
    FUZZ_CHECK((json_get(doc, root, "id") != NULL) == (message.kind != MESSAGE_NOTIFICATION));
    FUZZ_CHECK((message.id.kind != ID_NONE) == (message.kind != MESSAGE_NOTIFICATION));
    if (message.kind == MESSAGE_REQUEST && message.form != CALL_FORM_NONE) {
        check_call(maker, doc, &message);
    }
}

/* ---- What the server said ---- */

/* Of an object with one plainly spelled `id`, which its scan must find. */
static bool has_plain_id(const struct json_doc *doc, const struct json_value *root, struct id *ret_id)
{
    const struct json_value *found = NULL;
    for (const struct json_value *key = json_first(doc, root); key != NULL;
         key = json_right(doc, root, key)) {
        if (slice_is(json_text_of(doc, key), "\"id\"")) {
            if (found != NULL) {
                return false;
            }
            found = json_member_value(key);
        }
    }
    return found != NULL && found->length < SCAN_ID_MOST && id_read(found, ret_id);
}

static void check_server_message(struct json_doc *doc, struct buf *scratch, struct slice line)
{
    struct json_doc other;
    struct scan scan;
    struct id plain, found;
    scan_start(&scan);
    scan_feed(&scan, line);
    json_init(&other);
    const char *why = NULL;
    enum server_text text = server_message_parse(doc, scratch, line, &why);
    if (text != SERVER_TEXT_BROKEN) {
        struct server_message message = server_message_read(doc, json_root(doc));
        FUZZ_CHECK(message.kind != SERVER_MESSAGE_REQUEST ||
                   (message.id.kind != ID_NONE && message.method.ptr != NULL));
        FUZZ_CHECK(message.kind != SERVER_MESSAGE_RESPONSE ||
                   (message.result != NULL) != (message.error != NULL));
        /* In a copy that was mended an id may differ from the one that stands there. */
        if (json_root(doc)->type == JSON_OBJECT && doc->text.ptr == line.ptr &&
            has_plain_id(doc, json_root(doc), &plain)) {
            FUZZ_CHECK(scan_id(&scan, &other, &found));
            FUZZ_CHECK(found.kind == plain.kind && found.number == plain.number &&
                       slice_eq(found.text, plain.text));
        }
    } else {
        FUZZ_CHECK(why != NULL);
        (void)server_message_rescue(&scan, &other, why);
    }
    json_finish(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_doc doc;
    struct call_maker maker;
    struct buf scratch;
    if (size == 0) {
        return 0;
    }
    struct slice line = {(const char *)data, size};
    json_init(&doc);
    buf_init(&scratch, 1u << 26);
    FUZZ_CHECK(call_maker_init(&maker, &defaults));
    check_pieces(data, size);
    check_message(&doc, &maker, line);
    check_server_message(&doc, &scratch, line);
    call_maker_finish(&maker);
    buf_finish(&scratch);
    json_finish(&doc);
    return 0;
}
