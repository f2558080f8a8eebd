/* Calls read from text, and the text that a call's hash covers. */
#include <stdlib.h>

#include "call/call.h"
#include "check.h"

static struct call_reader reader;
static const struct call_defaults defaults = {
    .channel = {"C1", 2}, .thread = {"1.1", 3}, .actor = ACTOR_CLAUDE_PROCESS};

static enum call_result read_call(struct slice text)
{
    return call_read(&reader, text, &defaults);
}

#define OK(text) CHECK(read_call(SLICE(text)) == CALL_OK)
/* The phrase is constant, so it echoes nothing of the call. */
#define MALFORMED(text, phrase)                                                                              \
    do {                                                                                                     \
        CHECK(read_call(SLICE(text)) == CALL_MALFORMED);                                                     \
        CHECK_BYTES(reader.detail, strlen(reader.detail), phrase);                                           \
    } while (0)

static void good(void)
{
    OK("{\"tool\":\"t\"}");
    const struct call *call = &reader.call;
    CHECK(call->name_count == 1 && slice_is(call->names[0].tool, "t") && !call->names[0].has_server);
    CHECK(slice_is(call->channel, "C1") && slice_is(call->thread, "1.1") &&
          call->actor == ACTOR_CLAUDE_PROCESS);
    CHECK(json_is(call->input, JSON_OBJECT) && call->input->count == 0 &&
          json_root(call->doc) == call->input);

    OK(" {\"sessionKey\":{\"thread\":\"\",\"channel\":\"a\\u0000b\"},\"actor\":\"session_owner\","
       "\"input\":{\"a\":1},\"server\":\"s\",\"tool\":\"\\u0000\"} ");
    CHECK(slice_eq(call->names[0].tool, SLICE("\0")) && slice_is(call->names[0].server, "s"));
    CHECK(call->names[0].has_server && slice_eq(call->channel, SLICE("a\0b")) && call->thread.len == 0);
    CHECK(call->actor == ACTOR_SESSION_OWNER && call->input->count == 1 && call->doc == &reader.doc);

    /* Nothing of the call before is left. */
    OK("{\"tool\":\"u\"}");
    CHECK(!call->names[0].has_server && slice_is(call->channel, "C1") && call->input->count == 0);

    struct call_defaults named = defaults;
    named.server = SLICE("d");
    CHECK(call_read(&reader, SLICE("{\"tool\":\"t\"}"), &named) == CALL_OK && call->names[0].has_server);
    CHECK(slice_is(call->names[0].server, "d"));
    CHECK(call_read(&reader, SLICE("{\"tool\":\"t\",\"server\":\"e\"}"), &named) == CALL_OK);
    CHECK(slice_is(call->names[0].server, "e"));
    OK("{\"tool\":\"t\",\"input\":{\"a\":1,\"b\":{\"c\":1,\"C\":2}}}");
}

static void malformed(void)
{
    static const char session[] = "'sessionKey' is not an object of the strings 'channel' and 'thread'";
    MALFORMED("", "not JSON");
    MALFORMED("{", "not JSON");
    MALFORMED("{\"tool\":\"t\"} x", "not JSON");
    MALFORMED("\xEF\xBB\xBF{\"tool\":\"t\"}", "begins with a byte order mark");
    MALFORMED("{\"tool\":\"\xff\"}", "not valid UTF-8");
    MALFORMED("{\"tool\":\"\\ud800\"}", "a lone surrogate escape");
    MALFORMED("{\"tool\":\"t\",\"tool\":\"t\"}", "a repeated key");
    MALFORMED("{\"tool\":\"t\",\"\\u0074ool\":\"t\"}", "a repeated key");
    MALFORMED("{\"tool\":\"t\",\"input\":{\"a\":{\"b\":1,\"b\":1}}}", "a repeated key");
    MALFORMED("[]", "not an object");
    MALFORMED("\"t\"", "not an object");
    MALFORMED("null", "not an object");
    MALFORMED("{}", "no 'tool'");
    MALFORMED("{\"input\":{}}", "no 'tool'");
    MALFORMED("{\"tool\":\"\"}", "'tool' is not a non-empty string");
    MALFORMED("{\"tool\":null}", "'tool' is not a non-empty string");
    MALFORMED("{\"tool\":[\"t\"]}", "'tool' is not a non-empty string");
    MALFORMED("{\"tool\":\"t\",\"server\":\"\"}", "'server' is not a non-empty string");
    MALFORMED("{\"tool\":\"t\",\"server\":null}", "'server' is not a non-empty string");
    MALFORMED("{\"tool\":\"t\",\"input\":null}", "'input' is not an object");
    MALFORMED("{\"tool\":\"t\",\"input\":[]}", "'input' is not an object");
    MALFORMED("{\"tool\":\"t\",\"input\":\"{}\"}", "'input' is not an object");
    MALFORMED("{\"tool\":\"t\",\"inputs\":{}}", "an unknown field");
    MALFORMED("{\"tool\":\"t\",\"Tool\":\"t\"}", "an unknown field");
    MALFORMED("{\"tool\":\"t\",\"tool\\u0000\":\"t\"}", "an unknown field");
    MALFORMED("{\"tool\":\"t\",\"actor\":\"root\"}",
              "'actor' is neither 'session_owner' nor 'claude_process'");
    MALFORMED("{\"tool\":\"t\",\"actor\":\"any\"}",
              "'actor' is neither 'session_owner' nor 'claude_process'");
    MALFORMED("{\"tool\":\"t\",\"actor\":null}", "'actor' is neither 'session_owner' nor 'claude_process'");
    MALFORMED("{\"tool\":\"t\",\"sessionKey\":{\"channel\":\"C\"}}", session);
    MALFORMED("{\"tool\":\"t\",\"sessionKey\":{\"thread\":\"C\"}}", session);
    MALFORMED("{\"tool\":\"t\",\"sessionKey\":{}}", session);
    MALFORMED("{\"tool\":\"t\",\"sessionKey\":null}", session);
    MALFORMED("{\"tool\":\"t\",\"sessionKey\":[\"a\",\"b\"]}", session);
    MALFORMED("{\"tool\":\"t\",\"sessionKey\":{\"channel\":\"C\",\"thread\":1}}", session);
    MALFORMED("{\"tool\":\"t\",\"sessionKey\":{\"channel\":\"C\",\"thread\":\"1\",\"x\":1}}", session);
    MALFORMED("{\"tool\":\"t\",\"input\":{\"path\":1,\"Path\":1}}",
              "two argument names that differ only by case");
}

/* A call whose input is nested `depth` deep. */
static struct slice nested(char *text, size_t depth)
{
    char *at = stpcpy(text, "{\"tool\":\"t\",\"input\":{\"a\":");
    memset(at, '[', depth - 1);
    memset(at + depth - 1, ']', depth - 1);
    at = stpcpy(at + 2 * (depth - 1), "}}");
    return (struct slice){text, (size_t)(at - text)};
}

static void limits(void)
{
    char text[1024];
    CHECK(read_call(nested(text, LIMIT_JSON_DEPTH)) == CALL_OK);
    CHECK(read_call(nested(text, LIMIT_JSON_DEPTH + 1)) == CALL_OVER_LIMIT);
    char *large = malloc(LIMIT_MESSAGE_BYTES + 1);
    CHECK(large != NULL);
    if (large == NULL) {
        return;
    }
    memset(large, ' ', LIMIT_MESSAGE_BYTES + 1);
    memcpy(large, "{\"tool\":\"t\"}", 12);
    CHECK(read_call((struct slice){large, LIMIT_MESSAGE_BYTES}) == CALL_OK);
    CHECK(read_call((struct slice){large, LIMIT_MESSAGE_BYTES + 1}) == CALL_OVER_LIMIT);
    free(large);
}

/* An object of `count` members, the last of which is `last`. */
static bool clash(unsigned count, const char *last)
{
    static char text[1 << 20];
    char *at = stpcpy(text, "{");
    for (unsigned i = 0; i + 1 < count; i++) {
        at += sprintf(at, "\"Name%u\":0,", i);
    }
    at += sprintf(at, "\"%s\":0}", last);
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 1, .max_bytes = sizeof(text)};
    json_init(&doc);
    bool parsed = json_parse(&doc, (struct slice){text, (size_t)(at - text)}, &options, &error);
    CHECK(parsed);
    bool result = parsed && call_names_clash(&doc, json_root(&doc));
    json_finish(&doc);
    return result;
}

static void clashes(void)
{
    static const unsigned counts[] = {2, 3, 12, 13, 14, 1000, 20000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        CHECK(clash(counts[i], "nAME0"));
        CHECK(!clash(counts[i], "name"));
        CHECK(!clash(counts[i], "name0\\u0000"));
        /* Only ASCII letters have a case here. */
        CHECK(!clash(counts[i], "na\\u212Ae0"));
        CHECK(!clash(counts[i], "@ame0") && !clash(counts[i], "`ame0"));
    }
    CHECK(!clash(1, "a"));
    CHECK(clash(1, "key\":0,\"\\u212Aey") && clash(1, "mi\\u017F\\u017F\":0,\"MISS"));
    CHECK(clash(13, "key\":0,\"\\u212Aey") && !clash(13, "key\":0,\"\\u212Bey"));
}

static void canonical(void)
{
    struct buf buf;
    buf_init(&buf, 4096);
    OK("{\"tool\":\"t\",\"input\":{\"a\":1}}");
    call_write_canonical(&buf, &reader.call);
    /* Its SHA-256 is 67241f8e58c155fba93ce801cf0ba5b2c964a6bd777c541beb02808a53293aba. */
    CHECK_BYTES(buf.ptr, buf.len,
                "{\"actor\":\"claude_process\",\"input\":{\"a\":1},"
                "\"sessionKey\":{\"channel\":\"C1\",\"thread\":\"1.1\"},\"tool\":\"t\"}");
    buf_reset(&buf);
    OK("{\"server\":\"s\\n\",\"tool\":\"\\u00e4\",\"actor\":\"session_owner\",\"input\":"
       "{\"b\":[9007199254740993,1e400,1.0],\"a\":\"\\u002f\"}}");
    call_write_canonical(&buf, &reader.call);
    CHECK_BYTES(
        buf.ptr, buf.len,
        "{\"actor\":\"session_owner\",\"input\":{\"a\":\"/\",\"b\":[9007199254740993e0,1e400,1]},"
        "\"server\":\"s\\n\",\"sessionKey\":{\"channel\":\"C1\",\"thread\":\"1.1\"},\"tool\":\"\xc3\xa4\"}");
    buf_reset(&buf);
    struct call unknown = reader.call;
    unknown.input = NULL;
    call_write_canonical(&buf, &unknown);
    CHECK(buf.len > 40 && memcmp(buf.ptr, "{\"actor\":\"session_owner\",\"input\":null,", 38) == 0);
    buf_finish(&buf);
    CHECK(strcmp(actor_name(ACTOR_SESSION_OWNER), "session_owner") == 0);
    CHECK(strcmp(actor_name(ACTOR_CLAUDE_PROCESS), "claude_process") == 0);
}

int main(void)
{
    if (!call_reader_init(&reader)) {
        return 1;
    }
    good();
    malformed();
    limits();
    clashes();
    canonical();
    call_reader_finish(&reader);
    return check_done();
}
