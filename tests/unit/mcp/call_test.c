/* Which message is which call, and what is said when it does not run. */
#include "../../check.h"
#include "mcp/call.h"
#include "mcp/revision_internal.h"

static struct json_doc doc;
static const struct call_defaults defaults = {
    .server = {"fs", 2},
    .channel = {"local", 5},
    .thread = {"t1", 2},
    .actor = ACTOR_CLAUDE_PROCESS,
};
static const struct call_defaults unnamed = {.channel = {"local", 5}, .thread = {"t1", 2}};
static struct call_maker maker;

static struct message read_line(const char *line)
{
    struct message message = message_read(&doc, slice_of(line));
    if (message.kind == MESSAGE_REFUSED) {
        printf("refused: %s: %s\n", message.why, line);
    }
    CHECK(message.kind != MESSAGE_REFUSED);
    return message;
}

/* The tool and the input of a call, or "" when it is none. */
static void check_call(const char *method, const char *params, const char *want)
{
    struct buf line, got;
    buf_init(&line, 1u << 16);
    buf_init(&got, 1u << 16);
    buf_printf(&line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"%s%s}%c", method,
               params != NULL ? ",\"params\":" : "", params != NULL ? params : "", 0);
    struct message message = read_line(line.ptr);
    const char *why = call_make(&maker, &doc, &message);
    if (why == NULL) {
        const struct call *call = &maker.call;
        CHECK(call->name_count == 1 && call->names[0].has_server && slice_is(call->names[0].server, "fs"));
        CHECK(slice_is(call->channel, "local") && slice_is(call->thread, "t1"));
        CHECK(call->actor == ACTOR_CLAUDE_PROCESS);
        buf_slice(&got, call->names[0].tool);
        buf_byte(&got, ' ');
        json_write_canonical(&got, call->doc, call->input, JSON_NUMBER_CALL);
    }
    if (got.len != strlen(want) || (got.len > 0 && memcmp(got.ptr, want, got.len) != 0)) {
        printf("of %s: %s\n", line.ptr, why != NULL ? why : "no refusal");
    }
    CHECK_BYTES(got.ptr ? got.ptr : "", got.len, want);
    buf_finish(&line);
    buf_finish(&got);
}

static void test_calls(void)
{
    check_call("tools/call", "{\"name\":\"t\",\"arguments\":{\"a\":1}}", "t {\"a\":1}");
    check_call("tools/call", "{\"name\":\"t\"}", "t {}");
    check_call("tools/call", "{\"n\\u0061me\":\"\\u0074\",\"arguments\":{}}", "t {}");
    check_call("tools/call", "{\"name\":\"t\",\"task\":{\"ttl\":1},\"_meta\":{},\"other\":[1]}", "t {}");
    check_call(
        "tools/call",
        "{\"name\":\"t\",\"arguments\":{\"a\":2},\"inputResponses\":{\"k\":{}},\"requestState\":\"s\"}",
        "t {\"a\":2}");
    check_call("resources/read", "{\"uri\":\"file:///a\"}", "resources/read {\"uri\":\"file:///a\"}");
    check_call("resources/subscribe", "{\"uri\":\"x:y\"}", "resources/subscribe {\"uri\":\"x:y\"}");
    check_call("prompts/get", "{\"name\":\"p\",\"arguments\":{\"a\":\"b\"}}",
               "prompts/get {\"arguments\":{\"a\":\"b\"},\"name\":\"p\"}");
    check_call("completion/complete", "{\"ref\":{},\"argument\":{}}",
               "completion/complete {\"argument\":{},\"ref\":{}}");
    check_call("prompts/get", NULL, "prompts/get {}");
}

static void test_no_calls(void)
{
    check_call("tools/call", NULL, "");
    check_call("tools/call", "{}", "");
    check_call("tools/call", "{\"name\":\"\"}", "");
    check_call("tools/call", "{\"name\":1}", "");
    check_call("tools/call", "{\"name\":null}", "");
    check_call("tools/call", "{\"name\":[\"t\"]}", "");
    check_call("tools/call", "{\"name\":\"t\",\"arguments\":null}", "t {}");
    check_call("tools/call", "{\"name\":\"t\",\"arguments\":{\"_meta\":1}}", "t {\"_meta\":1}");
    check_call("resources/read", "{\"uri\":\"u\",\"_meta\":{\"path\":\"/x\"}}",
               "resources/read {\"uri\":\"u\"}");
    check_call("prompts/get", "{\"_meta\":{\"progressToken\":1}}", "prompts/get {}");
    check_call("completion/complete", "{\"_meta\":null,\"ref\":{\"_meta\":1}}",
               "completion/complete {\"ref\":{\"_meta\":1}}");
    check_call("skills/get", "{\"uri\":\"skill://a/SKILL.md\"}",
               "skills/get {\"uri\":\"skill://a/SKILL.md\"}");
    check_call("resources/directory/read", "{\"uri\":\"file:///x\"}",
               "resources/directory/read {\"uri\":\"file:///x\"}");
    check_call("tools/call", "{\"name\":\"t\",\"arguments\":[]}", "");
    check_call("tools/call", "{\"name\":\"t\",\"arguments\":\"{}\"}", "");
    check_call("tools/call", "{\"name\":\"t\",\"arguments\":{\"path\":1,\"Path\":2}}", "");
    check_call("tools/call", "{\"name\":\"t\",\"Name\":\"u\"}", "");
    check_call("tools/call", "{\"Name\":\"t\"}", "");
    check_call("tools/call", "{\"name\":\"t\",\"Arguments\":{}}", "");
    check_call("tools/call", "{\"name\":\"t\",\"argument\xc5\xbf\":{}}", "");
    check_call("tools/call", "{\"name\":\"t\",\"ta\xc5\xbf\xe2\x84\xaa\":{}}", "");
    check_call("tools/call", "{\"name\":\"t\",\"arguments\\u0000\":{}}", "");
    check_call("tools/call", "{\"name\":\"t\",\"_Meta\":{}}", "");
    check_call("resources/read", "{\"uri\":\"a\",\"URI\":\"b\"}", "");
    check_call("resources/read", "{\"Uri\":\"b\"}", "");
    check_call("resources/read", "{\"uri\":\"a\",\"x\":1,\"X\":2}", "");
    /* Only top-level argument names, and only ASCII, are compared. */
    check_call("tools/call", "{\"name\":\"t\",\"arguments\":{\"a\":{\"b\":1,\"B\":2}}}",
               "t {\"a\":{\"B\":2,\"b\":1}}");
}

static void test_no_server(void)
{
    struct call_maker other;
    CHECK(call_maker_init(&other, &unnamed));
    struct message m =
        read_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}");
    CHECK(call_make(&other, &doc, &m) == NULL);
    CHECK(!other.call.names[0].has_server);
    call_maker_finish(&other);
}

static void check_denial(const char *method, const char *params, const char *want)
{
    struct buf line, got;
    buf_init(&line, 1u << 16);
    buf_init(&got, 1u << 16);
    buf_printf(&line, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"%s\",\"params\":%s}%c", method, params,
               0);
    struct message m = read_line(line.ptr);
    answer_denied(&got, &m.id, call_answer_shape(&doc, &m), DENIAL_POLICY, (struct slice){0});
    CHECK_BYTES(got.ptr, got.len, want);
    buf_finish(&line);
    buf_finish(&got);
}

#define DENIED_ERROR                                                                                         \
    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":403,\"message\":\"The call was denied.\"}}\n"
#define DENIED_RESULT                                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"The call was " \
    "denied.\"}],\"isError\":true}}\n"
#define DENIED_MODERN                                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"The call was " \
    "denied.\"}],\"isError\":true,\"resultType\":\"complete\"}}\n"
#define META(version) "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\"}"

static void test_denials(void)
{
    check_denial("tools/call", "{\"name\":\"t\"}", DENIED_RESULT);
    check_denial("tools/call", "{\"name\":\"other\",\"arguments\":{\"secret\":1}}", DENIED_RESULT);
    check_denial("tools/call", "{\"name\":\"t\"," META("2025-11-25") "}", DENIED_RESULT);
    check_denial("tools/call", "{\"name\":\"t\"," META("2026-07-28") "}", DENIED_MODERN);
    check_denial("tools/call", "{\"name\":\"t\"," META("2027-01-01") "}", DENIED_MODERN);
    check_denial("tools/call", "{\"name\":\"t\",\"task\":{}}", DENIED_ERROR);
    check_denial("tools/call", "{\"name\":\"t\",\"task\":{}," META("2026-07-28") "}", DENIED_MODERN);
    check_denial("resources/read", "{\"uri\":\"a\"}", DENIED_ERROR);
    check_denial("resources/read", "{\"uri\":\"a\"," META("2026-07-28") "}", DENIED_ERROR);
    check_denial("prompts/get", "{\"name\":\"a\"}", DENIED_ERROR);
}

static void test_texts(void)
{
    struct buf got;
    struct id none = {0}, seven = {.kind = ID_NUMBER, .number = 7};
    buf_init(&got, 4096);
    answer_error(&got, &none, RPC_UNREADABLE, answer_text(RPC_UNREADABLE));
    CHECK_BYTES(
        got.ptr, got.len,
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}\n");
    buf_reset(&got);
    answer_denied(&got, &seven, ANSWER_RESULT_MODERN, DENIAL_NOT_IN_TIME, (struct slice){0});
    CHECK_BYTES(
        got.ptr, got.len,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"The call was "
        "not approved in time.\"}],\"isError\":true,\"resultType\":\"complete\"}}\n");
    buf_reset(&got);
    answer_denied(&got, &seven, ANSWER_ERROR, DENIAL_NOT_IN_TIME, (struct slice){0});
    CHECK_BYTES(
        got.ptr, got.len,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":408,\"message\":\"The call was not approved in "
        "time.\"}}\n");
    buf_reset(&got);
    answer_denied(&got, &seven, ANSWER_ERROR, DENIAL_REFUSED, SLICE("Ask \"us\"\n"));
    CHECK_BYTES(
        got.ptr, got.len,
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":403,\"message\":\"The call was refused by a "
        "person. Ask \\\"us\\\"\\n\"}}\n");
    buf_reset(&got);
    answer_denied(&got, &seven, ANSWER_ERROR, (enum denial)77, (struct slice){0});
    CHECK(strstr(got.ptr, "The call was denied.") != NULL);
    buf_reset(&got);
    answer_progress(&got, SLICE("\"to\\u006ben\""), 12);
    CHECK_BYTES(got.ptr, got.len,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":"
                "\"to\\u006ben\",\"progress\":0.012,\"message\":\"Waiting for approval\"}}\n");
    buf_finish(&got);
}

static void check_token(const char *params, const char *want)
{
    struct buf line;
    buf_init(&line, 4096);
    buf_printf(&line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":%s}%c", params, 0);
    struct message m = read_line(line.ptr);
    struct slice token = call_progress_token(&doc, &m);
    CHECK((token.ptr == NULL) == (want == NULL));
    if (want != NULL) {
        CHECK_BYTES(token.ptr, token.len, want);
    }
    buf_finish(&line);
}

static void test_tokens(void)
{
    check_token("{\"name\":\"t\",\"_meta\":{\"progressToken\":7}}", "7");
    check_token("{\"name\":\"t\",\"_meta\":{\"progressToken\":\"a\\\"b\"}}", "\"a\\\"b\"");
    check_token("{\"name\":\"t\",\"_meta\":{\"progressToken\":null}}", NULL);
    check_token("{\"name\":\"t\",\"_meta\":{}}", NULL);
    check_token("{\"name\":\"t\",\"_meta\":3}", NULL);
    check_token("{\"name\":\"t\"}", NULL);
}

static void test_revisions(void)
{
    CHECK(revision_client_may(SLICE("initialize"), METHOD_REQUEST, REVISION_ANY));
    CHECK(!revision_client_may(SLICE("initialize"), METHOD_NOTIFICATION, REVISION_ANY));
    CHECK(!revision_client_may(SLICE("initialize"), METHOD_REQUEST, REVISION_2026_07_28));
    CHECK(revision_client_may(SLICE("server/discover"), METHOD_REQUEST, REVISION_2026_07_28));
    CHECK(!revision_client_may(SLICE("server/discover"), METHOD_REQUEST, REVISION_2025_11_25));
    CHECK(revision_client_may(SLICE("subscriptions/listen"), METHOD_REQUEST, REVISION_ANY));
    CHECK(revision_client_may(SLICE("tasks/update"), METHOD_REQUEST, REVISION_ANY));
    CHECK(!revision_server_may(SLICE("tasks/update"), METHOD_REQUEST, REVISION_ANY));
    CHECK(revision_client_may(SLICE("tasks/result"), METHOD_REQUEST, REVISION_2025_11_25));
    CHECK(!revision_client_may(SLICE("tasks/result"), METHOD_REQUEST, REVISION_2026_07_28));
    CHECK(!revision_client_may(SLICE("sampling/createMessage"), METHOD_REQUEST, REVISION_ANY));
    CHECK(revision_server_may(SLICE("sampling/createMessage"), METHOD_REQUEST, REVISION_ANY));
    CHECK(revision_server_may(SLICE("elicitation/create"), METHOD_REQUEST, REVISION_2025_06_18));
    CHECK(!revision_server_may(SLICE("elicitation/create"), METHOD_REQUEST, REVISION_2025_03_26));
    CHECK(revision_client_may(SLICE("ping"), METHOD_REQUEST, REVISION_2024_11_05));
    CHECK(revision_server_may(SLICE("ping"), METHOD_REQUEST, REVISION_2024_11_05));
    CHECK(revision_client_may(SLICE("notifications/cancelled"), METHOD_NOTIFICATION, REVISION_2026_07_28));
    CHECK(!revision_client_may(SLICE("notifications/progress"), METHOD_NOTIFICATION, REVISION_2026_07_28));
    CHECK(!revision_client_may(SLICE("notifications/message"), METHOD_NOTIFICATION, REVISION_ANY));
    CHECK(!revision_client_may(SLICE("tools/call\0"), METHOD_REQUEST, REVISION_ANY));
    CHECK(!revision_client_may(SLICE(""), METHOD_REQUEST, REVISION_ANY));
    CHECK(revision_is_modern(SLICE("2026-07-28")));
    CHECK(revision_is_modern(SLICE("2026-10-01")));
    CHECK(!revision_is_modern(SLICE("2025-11-25")));
    CHECK(!revision_is_modern(SLICE("")));
}

int main(void)
{
    json_init(&doc);
    CHECK(call_maker_init(&maker, &defaults));
    test_calls();
    test_no_calls();
    test_no_server();
    test_denials();
    test_texts();
    test_tokens();
    test_revisions();
    call_maker_finish(&maker);
    json_finish(&doc);
    return check_done();
}
