/* The client's lines: which pass as what, and how the others are refused. */
#include <stdlib.h>

#include "../../check.h"
#include "mcp/envelope.h"
#include "mcp/message_internal.h"

static struct json_doc doc;

static struct message read_slice(struct slice line)
{
    return message_read(&doc, line);
}

static const char *kind_name(const struct message *m)
{
    static const char *const names[] = {"refused", "request", "notification", "response"};
    return names[m->kind];
}

/* What a line is: its kind, its id, and for a refused one its code. */
static void check_line(const char *line, struct slice text, const char *want)
{
    struct message m = read_slice(text);
    struct buf got;
    buf_init(&got, 4096);
    buf_text(&got, kind_name(&m));
    buf_byte(&got, ' ');
    id_write(&got, &m.id);
    if (m.kind == MESSAGE_REFUSED) {
        buf_printf(&got, " %d", m.code);
        CHECK(m.why != NULL);
    } else {
        CHECK(m.why == NULL && m.code == 0);
    }
    if (got.len != strlen(want) || memcmp(got.ptr, want, got.len) != 0) {
        printf("of the line: %.200s\n", line);
    }
    CHECK_BYTES(got.ptr, got.len, want);
    buf_finish(&got);
}

static const struct {
    const char *line, *want;
} table[] = {
    /* What passes. */
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "request 1"},
    {" { \"method\" : \"ping\" , \"id\" : \"a\" , \"jsonrpc\" : \"2.0\" } ", "request \"a\""},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x/y\",\"params\":{}}", "request 1"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "notification null"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "response 1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"}}", "response 1"},
    {"{\"\\u006asonrpc\":\"2\\u002e0\",\"i\\u0064\":1,\"m\\u0065thod\":\"pin\\u0067\"}", "request 1"},
    /* Ids in any spelling. */
    {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"ping\"}", "request 1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1e3,\"method\":\"ping\"}", "request 1000"},
    {"{\"jsonrpc\":\"2.0\",\"id\":-0,\"method\":\"ping\"}", "request 0"},
    {"{\"jsonrpc\":\"2.0\",\"id\":9007199254740992,\"method\":\"ping\"}", "request 9007199254740992"},
    {"{\"jsonrpc\":\"2.0\",\"id\":-9007199254740992,\"method\":\"ping\"}", "request -9007199254740992"},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\"}", "request \"\""},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\\u0041\\\"\",\"method\":\"ping\"}", "request \"A\\\"\""},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "refused 1.5 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"ping\"}", "refused 9007199254740993 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":-9007199254740993,\"method\":\"ping\"}",
     "refused -9007199254740993 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"ping\"}", "refused 1e400 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", "refused null -32600"},
    /* Not JSON. */
    {"x", "refused null -32700"},
    {" ", "refused null -32700"},
    {"{", "refused null -32700"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}x", "refused 1 -32700"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}{}", "refused 1 -32700"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",}", "refused 1 -32700"},
    {"{'jsonrpc':\"2.0\",\"id\":1,\"method\":\"ping\"}", "refused null -32700"},
    {"{\"jsonrpc\":\"2.0\",\"id\":01,\"method\":\"ping\"}", "refused null -32700"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\tng\"}", "refused 1 -32700"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\ud800\"}", "refused 1 -32700"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "refused 1 -32700"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc0\xaf\"}", "refused 1 -32700"},
    {"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "refused 1 -32700"},
    /* Not one message. */
    {"[]", "refused null -32600"},
    {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "refused null -32600"},
    {"1", "refused null -32600"},
    {"null", "refused null -32600"},
    {"\"{}\"", "refused null -32600"},
    {"{}", "refused null -32600"},
    /* A carriage return that a server may take for a line end. */
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\r\"method\":\"ping\"}", "refused 1 -32600"},
    {"\r{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", "refused 1 -32600"},
    /* Repeated keys, wherever. */
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/call\"}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"m\\u0065thod\":\"ping\"}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"ping\"}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":[{\"b\":1,\"b\":1}]}}",
     "refused 1 -32600"},
    /* Other members, and such as only look like one of ours. */
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"extra\":1}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"Method\":\"tools/call\"}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"PARAMS\":{}}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"param\xc5\xbf\":{}}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\\u0000\":\"x\"}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"ID\":1,\"method\":\"ping\"}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"\":1}", "refused 1 -32600"},
    /* The version. */
    {"{\"id\":1,\"method\":\"ping\"}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "refused 1 -32600"},
    {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0 \",\"id\":1,\"method\":\"ping\"}", "refused 1 -32600"},
    /* Exactly one of three. */
    {"{\"jsonrpc\":\"2.0\",\"id\":1}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":{}}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"error\":{}}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "refused 1 -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null,\"result\":{}}", "refused null -32600"},
    /* Params. */
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", "refused 1 -32602"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}", "request 1"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\",\"params\":[]}", "refused null -32602"},
    /* Answers. */
    {"{\"jsonrpc\":\"2.0\",\"result\":{}}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"params\":{}}", "refused null -32600"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}", "refused null -32600"},
};

static void test_table(void)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        check_line(table[i].line, slice_of(table[i].line), table[i].want);
    }
    check_line("empty", (struct slice){NULL, 0}, "refused null -32700");
    check_line("nul", (struct slice){"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0", 42},
               "refused 1 -32700");
    check_line("utf-16", SLICE("{\0\"\0j\0"), "refused null -32700");
}

/* A message whose innermost value stands `depth` containers deep, `outside` of them around the brackets. */
static void check_depth(const char *before, const char *after, size_t brackets, const char *want, bool over)
{
    struct buf line;
    buf_init(&line, 1u << 20);
    buf_text(&line, before);
    for (size_t i = 0; i < brackets; i++) {
        buf_byte(&line, '[');
    }
    for (size_t i = 0; i < brackets; i++) {
        buf_byte(&line, ']');
    }
    buf_text(&line, after);
    check_line(before, buf_slice_of(&line), want);
    CHECK(read_slice(buf_slice_of(&line)).over_limit == over);
    buf_finish(&line);
}

static void test_depth(void)
{
    const char *ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":";
    check_depth(ping, "}}", 62, "request 1", false);
    check_depth(ping, "}}", 63, "refused 1 -32600", true);
    check_depth(ping, "}}", 64, "refused 1 -32600", true);
    check_depth(ping, "}}", 1000, "refused 1 -32600", true);
    check_depth(ping, "}}", 100000, "refused 1 -32600", true);

    /* A call's depth is counted from its input. */
    const char *call =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"arguments\":{\"a\":";
    check_depth(call, "},\"name\":\"t\"}}", 63, "request 1", false);
    check_depth(call, "},\"name\":\"t\"}}", 64, "refused 1 -32600", true);
    const char *meta =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{\"a\":";
    check_depth(meta, "},\"name\":\"t\"}}", 61, "request 1", false);
    check_depth(meta, "},\"name\":\"t\"}}", 62, "refused 1 -32600", true);
    const char *read = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"a\":";
    check_depth(read, "}}", 63, "request 1", false);
    check_depth(read, "}}", 64, "refused 1 -32600", true);
    const char *result = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":";
    check_depth(result, "}}", 62, "response 1", false);
    check_depth(result, "}}", 63, "refused null -32600", true);
}

static void test_mimics(void)
{
    CHECK(!name_mimics(SLICE("arguments"), "arguments"));
    CHECK(name_mimics(SLICE("Arguments"), "arguments"));
    CHECK(name_mimics(SLICE("argumentS"), "arguments"));
    CHECK(name_mimics(SLICE("argument\xc5\xbf"), "arguments"));  /* U+017F */
    CHECK(name_mimics(SLICE("ta\xc5\xbf\xe2\x84\xaa"), "task")); /* U+212A */
    CHECK(name_mimics(SLICE("inputresponses"), "inputResponses"));
    CHECK(name_mimics(SLICE("name\0"), "name"));
    CHECK(name_mimics(SLICE("name\0x"), "name"));
    CHECK(name_mimics(SLICE("NAME\0x"), "name"));
    CHECK(!name_mimics(SLICE("names"), "name"));
    CHECK(!name_mimics(SLICE("nam"), "name"));
    CHECK(!name_mimics(SLICE(""), "name"));
    CHECK(!name_mimics(SLICE("nam\xc3\xa9"), "name"));
    CHECK(!name_mimics(SLICE("`meta"), "_meta"));
}

static void test_forms(void)
{
    CHECK(message_call_form(SLICE("tools/call")) == CALL_FORM_TOOL);
    CHECK(message_call_form(SLICE("resources/read")) == CALL_FORM_METHOD);
    CHECK(message_call_form(SLICE("resources/subscribe")) == CALL_FORM_METHOD);
    CHECK(message_call_form(SLICE("prompts/get")) == CALL_FORM_METHOD);
    CHECK(message_call_form(SLICE("completion/complete")) == CALL_FORM_METHOD);
    CHECK(message_call_form(SLICE("tools/list")) == CALL_FORM_NONE);
    CHECK(message_call_form(SLICE("Tools/call")) == CALL_FORM_NONE);
    struct message m =
        read_slice(SLICE("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools\\/c\\u0061ll\",\"x\":1}"));
    CHECK(m.kind == MESSAGE_REFUSED && m.form == CALL_FORM_TOOL && slice_is(m.method, "tools/call"));
}

static void test_size(void)
{
    struct buf line;
    buf_init(&line, (size_t)LIMIT_MESSAGE_BYTES + 1024);
    buf_text(&line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"");
    size_t fill = LIMIT_MESSAGE_BYTES - line.len - 3;
    char *space = buf_reserve(&line, fill);
    CHECK(space != NULL);
    memset(space, 'x', fill);
    buf_added(&line, fill);
    buf_text(&line, "\"}}");
    CHECK(line.len == LIMIT_MESSAGE_BYTES);
    struct message m = read_slice(buf_slice_of(&line));
    CHECK(m.kind == MESSAGE_REQUEST);
    buf_byte(&line, ' ');
    m = read_slice(buf_slice_of(&line));
    CHECK(m.kind == MESSAGE_REFUSED && m.over_limit);
    buf_finish(&line);
}

int main(void)
{
    json_init(&doc);
    test_table();
    test_depth();
    test_mimics();
    test_forms();
    test_size();
    json_finish(&doc);
    return check_done();
}
