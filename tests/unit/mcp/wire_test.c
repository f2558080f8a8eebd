/* Bytes to lines, ids and their table, what the server said, and the batch. */
#include "../../check.h"
#include "mcp/batch_internal.h"
#include "mcp/held_internal.h"
#include "mcp/line_buffer.h"
#include "mcp/server_message.h"

/* ---- Lines ---- */

static void put(struct line_buffer *lines, const char *text, size_t len)
{
    while (len > 0) {
        size_t room = 0;
        char *space = line_buffer_space(lines, &room);
        CHECK(space != NULL);
        size_t part = len < room ? len : room;
        memcpy(space, text, part);
        line_buffer_added(lines, part);
        text += part;
        len -= part;
    }
}

static void check_next(struct line_buffer *lines, const char *text, const char *raw)
{
    struct slice got_text, got_raw;
    CHECK(line_buffer_next(lines, &got_text, &got_raw) == LINE_WHOLE);
    CHECK_BYTES(got_text.ptr, got_text.len, text);
    CHECK_BYTES(got_raw.ptr, got_raw.len, raw);
}

static void test_lines(void)
{
    struct line_buffer lines;
    struct slice text, raw;
    line_buffer_init(&lines, 10);
    CHECK(line_buffer_next(&lines, &text, &raw) == LINE_NONE);
    put(&lines, "ab\ncd\r\n\n\r\r\ne", 12);
    check_next(&lines, "ab", "ab\n");
    check_next(&lines, "cd", "cd\r\n");
    check_next(&lines, "", "\n");
    check_next(&lines, "\r", "\r\r\n");
    CHECK(line_buffer_next(&lines, &text, &raw) == LINE_NONE);
    put(&lines, "f\n", 2);
    check_next(&lines, "ef", "ef\n");
    put(&lines, "0123456789\n", 11);
    check_next(&lines, "0123456789", "0123456789\n");
    put(&lines, "0123456789\r\n", 12);
    check_next(&lines, "0123456789", "0123456789\r\n");
    put(&lines, "01234567890\nx\n", 14);
    CHECK(line_buffer_next(&lines, &text, &raw) == LINE_TOO_LONG);
    check_next(&lines, "x", "x\n");
    put(&lines, "tail", 4);
    CHECK(line_buffer_next(&lines, &text, &raw) == LINE_NONE);
    CHECK(line_buffer_last(&lines, &text, &raw) == LINE_WHOLE);
    CHECK_BYTES(text.ptr, text.len, "tail");
    CHECK(line_buffer_last(&lines, &text, &raw) == LINE_NONE);
    line_buffer_finish(&lines);
}

/* A line beyond the ceiling comes in any pieces, is not kept, and its id is found. */
static void test_long_lines(void)
{
    static const char line[] =
        "{\"result\":{\"id\":9,\"t\":\"}\\\",\\\\\"},\"jsonrpc\":\"2.0\",\"id\":\"a,b\"}\nok\n";
    for (size_t piece = 1; piece < sizeof(line); piece++) {
        struct line_buffer lines;
        struct slice text, raw;
        struct json_doc doc;
        struct id id = {0};
        unsigned told = 0, whole = 0;
        line_buffer_init(&lines, 20);
        json_init(&doc);
        for (size_t at = 0; at < sizeof(line) - 1; at += piece) {
            size_t len = sizeof(line) - 1 - at < piece ? sizeof(line) - 1 - at : piece;
            put(&lines, line + at, len);
            enum line_kind kind;
            while ((kind = line_buffer_next(&lines, &text, &raw)) != LINE_NONE) {
                if (kind == LINE_TOO_LONG) {
                    told++;
                    CHECK(lines.long_line.scan.has_answer && !lines.long_line.scan.has_method);
                    CHECK(scan_id(&lines.long_line.scan, &doc, &id) && id.kind == ID_STRING);
                    CHECK_BYTES(id.text.ptr, id.text.len, "a,b");
                } else {
                    whole++;
                    CHECK_BYTES(text.ptr, text.len, "ok");
                }
            }
        }
        CHECK(told == 1 && whole == 1);
        json_finish(&doc);
        line_buffer_finish(&lines);
    }
}

static void test_memory(void)
{
    struct line_buffer lines;
    struct slice text, raw;
    char block[4096];
    memset(block, 'x', sizeof(block));
    line_buffer_init(&lines, (size_t)4 << 20);
    for (int i = 0; i < 10240; i++) { /* 40 MB without a line end */
        put(&lines, block, sizeof(block));
        CHECK(line_buffer_next(&lines, &text, &raw) == LINE_NONE);
    }
    CHECK(lines.cap <= (size_t)16 << 20);
    put(&lines, "\nab\n", 4);
    CHECK(line_buffer_next(&lines, &text, &raw) == LINE_TOO_LONG);
    check_next(&lines, "ab", "ab\n");
    size_t room;
    CHECK(line_buffer_space(&lines, &room) != NULL && lines.cap <= (size_t)1 << 20);
    line_buffer_finish(&lines);
}

/* ---- Scans ---- */

static void check_scan(const char *line, const char *want)
{
    struct scan scan;
    struct json_doc doc;
    struct id id = {0};
    struct buf got;
    json_init(&doc);
    buf_init(&got, 4096);
    scan_start(&scan);
    scan_feed(&scan, slice_of(line));
    if (scan_id(&scan, &doc, &id)) {
        id_write(&got, &id);
    } else {
        buf_byte(&got, '-');
    }
    CHECK_BYTES(got.ptr, got.len, want);
    buf_finish(&got);
    json_finish(&doc);
}

static void test_scans(void)
{
    check_scan("{\"id\":1}", "1");
    check_scan("{\"id\": 1 ,\"x\":2}", "1");
    check_scan("{\"id\":\"a\\\"b\",\"id2\":2}", "\"a\\\"b\"");
    check_scan("{\"x\":{\"id\":2},\"id\":1,\"y\":[{\"id\":3}]}", "1");
    check_scan("{\"x\":\"\xff\",\"id\":1e0,\"y\":", "1");
    check_scan("{\"id\":1,\"id\":2}", "-");
    check_scan("{\"id\":1,\"id\": 1 }", "1");
    check_scan("{\"id\":1,\"id\":12}", "-");
    check_scan("{\"id\":12,\"id\":1}", "-");
    check_scan("{\"id\":1,\"id\":1,\"id\":2}", "-");
    check_scan("{\"id\":{\"a\":1}}", "-");
    check_scan("{\"id\":[1]}", "-");
    check_scan("{\"id\":null}", "-");
    check_scan("{\"id\":", "-");
    check_scan("[{\"id\":1}]", "-");
    check_scan("\"id\":1", "-");
    check_scan("id 1", "-");
    check_scan("{\"a\":\"\\\\\",\"id\":4}", "4");
    check_scan("", "-");
    check_scan("}{\"id\":1}", "-");
}

/* The id to answer, of lines that no reader takes. */
static void check_rescue(struct slice line, const char *want)
{
    struct scan scan;
    struct json_doc doc;
    struct id id = {0};
    struct buf got;
    json_init(&doc);
    buf_init(&got, 4096);
    scan_start(&scan);
    scan_feed(&scan, line);
    if (!scan_id_to_answer(&scan, line, &doc, &id)) {
        id = (struct id){0};
    }
    id_write(&got, &id);
    CHECK_BYTES(got.ptr, got.len, want);
    buf_finish(&got);
    json_finish(&doc);
}

static void test_rescue(void)
{
    check_rescue(SLICE("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{\"a\":\"\\ud83d\"}}"),
                 "7");
    check_rescue(SLICE("{\"id\":7,\"params\":{\"a\":NaN}}"), "7");
    check_rescue(SLICE("{\"id\" : \"a b\" ,\"params\":{\"a\":\"\x01\"}}"), "\"a b\"");
    check_rescue(SLICE("\xEF\xBB\xBF{\"id\":7}"), "7");
    check_rescue(SLICE("{\"id\":13.5}"), "13.5");
    check_rescue(SLICE("{\"id\":9007199254740993}"), "9007199254740993");
    check_rescue(SLICE("{\"id\":\"\\ud83d\"}"), "\"\\ud83d\"");
    check_rescue(SLICE("{\"id\":\"\xff\x01\\x\"}"), "\"\xEF\xBF\xBD\\u0001\\\\x\"");
    check_rescue(SLICE("{\"id\":\"a\"\"b\"}"), "null");
    check_rescue(SLICE("{\"id\":true}"), "null");
    check_rescue(SLICE("{\"id\":01}"), "null");
    check_rescue(SLICE("{\"id\":1,\"result\":{\"a\":NaN}}"), "null");
}

/* ---- Ids ---- */

static struct id number(int64_t n)
{
    return (struct id){.kind = ID_NUMBER, .number = n};
}

static void test_ids(void)
{
    struct ids ids;
    ids_init(&ids);
    struct id text = {.kind = ID_STRING, .text = SLICE("1")}, one = number(1), none = {0};
    CHECK(ids_find(&ids, &one) == NULL && ids_any(&ids) == NULL);
    CHECK(ids_add(&ids, &one, IDS_SENT) != NULL);
    CHECK(ids_find(&ids, &text) == NULL && ids_find(&ids, &none) == NULL);
    CHECK(ids_add(&ids, &text, IDS_HELD) != NULL);
    CHECK(ids_find(&ids, &text)->state == IDS_HELD && ids_find(&ids, &one)->state == IDS_SENT);
    ids_remove(&ids, ids_find(&ids, &one));
    CHECK(ids_find(&ids, &one) == NULL && ids.count == 1 && ids.bytes == 1);
    for (int64_t i = 100; i < 3000; i++) {
        struct id id = number(i);
        CHECK(ids_add(&ids, &id, i % 2 ? IDS_SENT : IDS_CANCELLED) != NULL);
    }
    for (int64_t i = 100; i < 3000; i++) {
        struct id id = number(i);
        CHECK(ids_find(&ids, &id) != NULL && ids_find(&ids, &id)->id.number == i);
    }
    ids_finish(&ids);
    CHECK(ids.count == 0 && ids.bytes == 0);
    int64_t value = 0;
    CHECK(id_text_is_number(SLICE("2"), &value) && value == 2);
    CHECK(id_text_is_number(SLICE("-17"), &value) && value == -17);
    CHECK(id_text_is_number(SLICE("9007199254740992"), &value) && value == ID_NUMBER_MAX);
    CHECK(!id_text_is_number(SLICE("9007199254740993"), &value) && !id_text_is_number(SLICE("02"), &value));
    CHECK(!id_text_is_number(SLICE("2.0"), &value) && !id_text_is_number(SLICE(""), &value));
    CHECK(!id_text_is_number(SLICE("-0"), &value) && !id_text_is_number(SLICE("-"), &value));
    CHECK(!id_text_is_number(SLICE("99999999999999999999"), &value));
}

static void test_ids_ceiling(void)
{
    struct ids ids;
    ids_init(&ids);
    size_t added = 0;
    for (int64_t i = 0; i < (int64_t)IDS_MOST + 10; i++) {
        struct id id = number(i);
        added += ids_add(&ids, &id, i < 100 ? IDS_CANCELLED : IDS_SENT) != NULL;
    }
    CHECK(added == IDS_MOST + 10 && ids.count == IDS_MOST - 90); /* the cancelled made room */
    for (int64_t i = 0; i < 100; i++) {
        struct id id = number(-1 - i);
        added += ids_add(&ids, &id, IDS_SENT) != NULL;
    }
    CHECK(ids.count == IDS_MOST);
    ids_finish(&ids);

    static char long_text[4u << 20];
    added = 0;
    for (char i = 0; i < 6; i++) {
        long_text[0] = i;
        struct id id = {.kind = ID_STRING, .text = {long_text, sizeof(long_text)}};
        added += ids_add(&ids, &id, IDS_SENT) != NULL;
    }
    CHECK(added == 4 && ids.bytes == IDS_BYTES);
    ids_finish(&ids);
}

/* ---- What the server said ---- */

static void check_server_message(const char *line, const char *want)
{
    static const char *const names[] = {"none", "request", "notification", "response", "broken"};
    struct json_doc doc;
    struct buf scratch, got;
    json_init(&doc);
    buf_init(&scratch, 1u << 20);
    buf_init(&got, 1u << 20);
    struct server_message message = {0};
    const char *why = NULL;
    enum server_text text = server_message_parse(&doc, &scratch, slice_of(line), &why);
    if (text != SERVER_TEXT_BROKEN) {
        message = server_message_read(&doc, json_root(&doc));
    } else {
        struct scan scan;
        scan_start(&scan);
        scan_feed(&scan, slice_of(line));
        message = server_message_rescue(&scan, &doc, why);
    }
    buf_text(&got, names[message.kind]);
    buf_byte(&got, ' ');
    id_write(&got, &message.id);
    if (message.kind == SERVER_MESSAGE_RESPONSE && (text == SERVER_TEXT_MENDED || message.repair != NULL)) {
        buf_byte(&got, ' ');
        server_message_write(&got, &doc, &message, &message.id);
        got.len--;
    }
    if (got.len != strlen(want) || memcmp(got.ptr, want, got.len) != 0) {
        printf("of the line: %s\n", line);
    }
    CHECK_BYTES(got.ptr, got.len, want);
    buf_finish(&got);
    buf_finish(&scratch);
    json_finish(&doc);
}

static void test_server_messages(void)
{
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "response 1");
    check_server_message("{\"result\":{\"content\":[]},\"jsonrpc\":\"2.0\",\"id\":\"x\"}", "response \"x\"");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"m\"}}",
                         "response 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"more\":1}", "response 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"input_required\"}}",
                         "response 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\"}}",
                         "response 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}", "request 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"any/thing\"}", "request 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}",
                         "notification null");
    /* JSON that a strict reader would not take. */
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1,\"a\":2}}", "response 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\\ud83d\"}}", "response 1");
    check_server_message(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\\\\ud83d\\ude00\\ud83d\\ude00\\udc00x\"}}",
        "response 1");
    /* Meant as responses, and not such. */
    check_server_message("{\"id\":1,\"result\":{}}", "broken 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", "broken 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"result\":{\"a\":1}}",
                         "response 1 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"Method\":\"x\"}",
                         "response 1 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":{}}", "broken 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xff\"}}",
                         "response 1 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"\xEF\xBF\xBD\"}}");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":nan}}", "broken 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\r\"id\":1,\"result\":{}}",
                         "response 1 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    check_server_message(
        "\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[NaN,-Infinity,\"NaN\\\"\t\"]}",
        "response 1 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[null,null,\"NaN\\\"\\u0009\"]}");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"result\":{},\"error\":null}",
                         "response 1 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    check_server_message(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null,\"error\":{\"code\":1,\"message\":\"m\"}}",
        "response 1 {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"}}");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"result\":{}}",
                         "response 2 {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", "response 1");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"\"}}",
                         "response null");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}", "response null");
    /* Nothing of the kind. */
    check_server_message("Need to install the following packages:", "none null");
    check_server_message("{\"level\":\"info\",\"msg\":\"started\"}", "none null");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", "none null");
    check_server_message("{\"jsonrpc\":\"2.0\",\"id\":1}", "broken 1");
    check_server_message("{\"method\":\"x\"}", "none null");
    check_server_message("17", "none null");
    check_server_message("{\"id\":1,\"method\":\"x\"", "none null");
}

/* ---- Turns and held calls ---- */

static void test_batch(void)
{
    static const char text[] = "aa\nbb\ncc\ndd\n";
    struct batch batch;
    batch_init(&batch);
    CHECK(batch_add(&batch, (struct slice){text, 3}, false));
    CHECK(batch_add(&batch, (struct slice){text + 3, 3}, true));
    CHECK(batch_add(&batch, (struct slice){text + 9, 3}, true));
    CHECK(batch_pieces(&batch) == 2);
    CHECK_BYTES(batch.pieces[0].base, batch.pieces[0].len, "aa\nbb\n");
    CHECK_BYTES(batch.pieces[1].base, batch.pieces[1].len, "dd\n");
    batch.lines[1].raw.len = 0; /* denied after all */
    CHECK(batch_pieces(&batch) == 2 && batch.pieces[0].len == 3);
    batch_reset(&batch);
    CHECK(batch_pieces(&batch) == 0);
    for (int i = 0; i < 1000; i++) {
        CHECK(
            batch_add(&batch, (struct slice){text, 3}, false)); /* the same place is not its own neighbour */
    }
    CHECK(batch_pieces(&batch) == 1000);
    batch_finish(&batch);
}

static void test_held(void)
{
    struct held_list list = {0};
    struct ids_entry entries[3] = {{0}};
    struct held_call *calls[3];
    for (int i = 0; i < 3; i++) {
        char line[] = "{\"t\":7}\r\n";
        calls[i] = held_add(&list, &entries[i], (struct slice){line, 9}, (struct slice){line, 7},
                            (struct slice){line + 5, 1});
        CHECK(calls[i] != NULL && entries[i].held == calls[i]);
        memset(line, 0, sizeof(line));
        CHECK_BYTES(calls[i]->raw.ptr, calls[i]->raw.len, "{\"t\":7}\r\n");
        CHECK_BYTES(calls[i]->text.ptr, calls[i]->text.len, "{\"t\":7}");
        CHECK_BYTES(calls[i]->token.ptr, calls[i]->token.len, "7");
        calls[i]->claim.number = i == 1 ? 5 : 6;
    }
    CHECK(list.count == 3 && list.bytes == 27);
    CHECK(!held_shared(&list, calls[1]) && held_shared(&list, calls[0]));
    held_take(&list, calls[0]);
    CHECK(list.first == calls[1] && !held_shared(&list, calls[2]));
    held_take(&list, calls[2]);
    held_take(&list, calls[1]);
    CHECK(list.first == NULL && list.last == NULL && list.count == 0 && list.bytes == 0);
    for (int i = 0; i < 3; i++) {
        held_free(calls[i]);
    }
    CHECK(held_add(&list, &entries[0], (struct slice){"", HELD_BYTES + 1}, (struct slice){"", 0},
                   (struct slice){0}) == NULL);
}

int main(void)
{
    test_lines();
    test_long_lines();
    test_memory();
    test_scans();
    test_rescue();
    test_ids();
    test_ids_ceiling();
    test_server_messages();
    test_batch();
    test_held();
    return check_done();
}
