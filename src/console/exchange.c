/* One request of HTTP: what it must show before it is answered, and the answer's headers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "console/internal.h"

static const char content_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'";

static const struct route routes[] = {
    {"/api/session", 0, answer_session},
    {"/api/sign-in/link", ROUTE_OPEN | ROUTE_CHANGE, answer_sign_in_link},
    {"/api/sign-in/password", ROUTE_OPEN | ROUTE_CHANGE, answer_sign_in_password},
    {"/api/sign-in/challenge", ROUTE_OPEN | ROUTE_CHANGE, answer_sign_in_challenge},
    {"/api/sign-in/passkey", ROUTE_OPEN | ROUTE_CHANGE, answer_sign_in_passkey},
    {"/api/sign-out", ROUTE_CHANGE, answer_sign_out},
    {"/api/credentials", 0, answer_credentials},
    {"/api/passkey/challenge", ROUTE_CHANGE, answer_passkey_challenge},
    {"/api/passkey/add", ROUTE_CHANGE, answer_passkey_add},
    {"/api/passkey/remove", ROUTE_CHANGE, answer_passkey_remove},
    {"/api/password", ROUTE_CHANGE, answer_password_set},
    {"/api/events", ROUTE_STREAM, NULL},
    {"/api/waiting", 0, answer_waiting},
    {"/api/request", 0, answer_request},
    {"/api/answer", ROUTE_CHANGE, answer_answer},
    {"/api/grants", 0, answer_grants},
    {"/api/revoke", ROUTE_CHANGE, answer_revoke},
    {"/api/record", 0, answer_record},
    {"/api/event", 0, answer_event},
    {"/api/chart", 0, answer_chart},
    {"/api/chain", 0, answer_chain},
    {"/api/gates", 0, answer_gates},
    {"/api/rules", 0, answer_rules},
    {"/api/explain", ROUTE_CHANGE | ROUTE_LONG, answer_explain},
    {"/api/difference", ROUTE_CHANGE | ROUTE_LONG, answer_difference},
};

/* ---- What a request says ---- */

struct slice exchange_header(const struct exchange *x, const char *name)
{
    const char *text = MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
    return text != NULL ? slice_of(text) : (struct slice){0};
}

struct slice exchange_query(const struct exchange *x, const char *name)
{
    const char *text = MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);
    return text != NULL ? slice_of(text) : (struct slice){0};
}

void exchange_fail(struct exchange *x, unsigned status, const char *why)
{
    x->status = status;
    x->why = why;
}

bool exchange_json(struct exchange *x, struct json_doc *ret_doc)
{
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = POLICY_MOST};
    json_init(ret_doc);
    if (buf_ok(&x->body) && json_parse(ret_doc, buf_slice_of(&x->body), &options, &error) &&
        json_is(json_root(ret_doc), JSON_OBJECT)) {
        return true;
    }
    exchange_fail(x, MHD_HTTP_BAD_REQUEST, "body");
    return false;
}

struct slice member_text(const struct json_doc *doc, const char *name)
{
    const struct json_value *v = json_get(doc, json_root(doc), name);
    return json_is(v, JSON_STRING) ? json_str(v) : SLICE("");
}

int64_t member_number(const struct json_doc *doc, const char *name)
{
    const struct json_value *v = json_get(doc, json_root(doc), name);
    int64_t number = 0;
    return json_is(v, JSON_NUMBER) && json_number_int(json_str(v), &number) == JSON_INT_OK ? number : 0;
}

/* ---- Answers ---- */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value);
}

static void add_headers(const struct exchange *x, struct MHD_Response *response)
{
    add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
               x->type != NULL ? x->type : "application/json; charset=utf-8");
    add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, x->is_static ? "no-cache" : "no-store");
    add_header(response, "Content-Security-Policy", content_policy);
    add_header(response, "X-Content-Type-Options", "nosniff");
    add_header(response, "X-Frame-Options", "DENY");
    add_header(response, "Referrer-Policy", "no-referrer");
    add_header(response, "Cross-Origin-Opener-Policy", "same-origin");
    add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    add_header(response, "Permissions-Policy", "camera=(), microphone=(), geolocation=()");
    if (x->console->options.certificate != NULL) {
        add_header(response, "Strict-Transport-Security", "max-age=31536000");
    }
    if (x->tag != NULL) {
        add_header(response, MHD_HTTP_HEADER_ETAG, x->tag);
        add_header(response, MHD_HTTP_HEADER_VARY, "Accept-Language");
    }
}

/* The name of the cookie: with TLS a browser lets nobody but this host set it. */
static const char *cookie_name(const struct console *console)
{
    return console->options.certificate != NULL ? "__Host-callgate" : "callgate";
}

static void add_cookie(const struct exchange *x, struct MHD_Response *response)
{
    char text[256];
    const struct console *console = x->console;
    if (x->cookie[0] != '\0' || x->clears_cookie) {
        snprintf(text, sizeof(text), "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s", cookie_name(console),
                 x->cookie, console->options.certificate != NULL ? "; Secure" : "",
                 x->clears_cookie ? "; Max-Age=0" : "");
        add_header(response, MHD_HTTP_HEADER_SET_COOKIE, text);
    }
}

static enum MHD_Result queue(struct exchange *x)
{
    struct MHD_Response *response;
    if (x->why != NULL) {
        buf_reset(&x->out);
        buf_printf(&x->out, "{\"error\":\"%s\"}", x->why);
        x->is_static = false;
        x->type = NULL;
    } else if (!buf_ok(&x->out)) {
        x->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
        buf_reset(&x->out);
        buf_text(&x->out, "{\"error\":\"memory\"}");
    }
    if (x->is_static) {
        response =
            MHD_create_response_from_buffer(x->fixed.len, (void *)x->fixed.ptr, MHD_RESPMEM_PERSISTENT);
    } else {
        response = MHD_create_response_from_buffer(x->out.len, x->out.ptr, MHD_RESPMEM_MUST_FREE);
        if (response != NULL) {
            buf_init(&x->out, ANSWER_MOST); /* the text is the response's now */
        }
    }
    if (response == NULL) {
        return MHD_NO;
    }
    add_headers(x, response);
    add_cookie(x, response);
    enum MHD_Result queued = MHD_queue_response(x->connection, x->status, response);
    MHD_destroy_response(response);
    x->queued = true;
    return queued;
}

static enum MHD_Result refuse(struct exchange *x, unsigned status, const char *why)
{
    exchange_fail(x, status, why);
    return queue(x);
}

/* ---- What is looked at before anything else ---- */

/* A page of another name that leads to this address (DNS rebinding) says its own name. */
static bool host_is_ours(const struct exchange *x)
{
    const struct console *console = x->console;
    struct slice host = exchange_header(x, MHD_HTTP_HEADER_HOST);
    char text[64];
    if (slice_eq_ascii_case(host, slice_of(console->host))) {
        return true;
    }
    if (console->world) {
        return false;
    }
    snprintf(text, sizeof(text), "127.0.0.1:%u", console->port);
    if (slice_is(host, text)) {
        return true;
    }
    snprintf(text, sizeof(text), "[::1]:%u", console->port);
    return slice_is(host, text);
}

/* An origin, where the browser says one, is that of the host that was asked. */
static bool origin_is_ours(const struct exchange *x, bool must)
{
    struct slice origin = exchange_header(x, MHD_HTTP_HEADER_ORIGIN),
                 host = exchange_header(x, MHD_HTTP_HEADER_HOST);
    struct slice site = exchange_header(x, "Sec-Fetch-Site");
    struct slice scheme = x->console->options.certificate != NULL ? SLICE("https://") : SLICE("http://");
    if (site.ptr != NULL && !slice_is(site, "same-origin") && (must || !slice_is(site, "none"))) {
        return false;
    }
    if (origin.ptr == NULL) {
        return !must;
    }
    return slice_starts_with(origin, scheme) && slice_eq_ascii_case(slice_from(origin, scheme.len), host);
}

static bool is_json(const struct exchange *x)
{
    struct slice type = exchange_header(x, MHD_HTTP_HEADER_CONTENT_TYPE), json = SLICE("application/json");
    return slice_starts_with(type, json) && (type.len == json.len || type.ptr[json.len] == ';');
}

static struct slice cookie_of(const struct exchange *x)
{
    const char *text = MHD_lookup_connection_value(x->connection, MHD_COOKIE_KIND, cookie_name(x->console));
    return text != NULL ? slice_of(text) : (struct slice){0};
}

/* Finds the session. False, with the refusal made, when the route needs one and there is none. */
static bool is_admitted(struct exchange *x)
{
    struct slice cookie = cookie_of(x);
    x->session = cookie.len > 0 ? session_find(x->console, cookie) : NULL;
    bool open = (x->route->flags & ROUTE_OPEN) != 0;
    if (x->session == NULL) {
        if (!open) {
            console_note(x->console, "console.refused", cookie.len > 0 ? "old-cookie" : "no-session", NULL);
            exchange_fail(x, MHD_HTTP_UNAUTHORIZED, "session");
        }
        return open;
    }
    if (!session_has_token(x->session, exchange_header(x, "X-Callgate"))) {
        if (!open) {
            console_note(x->console, "console.refused", "no-token", x->session);
            exchange_fail(x, MHD_HTTP_FORBIDDEN, "token");
        }
        x->session = NULL;
        return open;
    }
    x->session->seen_ms = clock_boot_ms();
    return true;
}

static const struct route *find_route(const char *path)
{
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        if (strcmp(routes[i].path, path) == 0) {
            return &routes[i];
        }
    }
    return NULL;
}

static enum MHD_Result answer_asset(struct exchange *x, const char *path)
{
    const struct asset *asset = strcmp(path, "/texts.json") == 0
                                    ? asset_texts(exchange_header(x, MHD_HTTP_HEADER_ACCEPT_LANGUAGE))
                                    : asset_find(path);
    if (asset == NULL) {
        return refuse(x, MHD_HTTP_NOT_FOUND, "path");
    }
    bool same = slice_is(exchange_header(x, MHD_HTTP_HEADER_IF_NONE_MATCH), asset->tag);
    x->is_static = true;
    x->fixed = same ? SLICE("") : asset->text;
    x->type = asset->type;
    x->tag = asset->tag;
    x->status = same ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK;
    return queue(x);
}

/* The first look: the headers are there, the body is not. */
static enum MHD_Result begin(struct exchange *x, const char *method, const char *path)
{
    struct console *console = x->console;
    bool change = strcmp(method, MHD_HTTP_METHOD_POST) == 0, get = strcmp(method, MHD_HTTP_METHOD_GET) == 0;
    if (!host_is_ours(x)) {
        console_note(console, "console.refused", "host", NULL);
        return refuse(x, MHD_HTTP_FORBIDDEN, "host");
    }
    if (!change && !get && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return refuse(x, MHD_HTTP_METHOD_NOT_ALLOWED, "method");
    }
    if (!origin_is_ours(x, change)) {
        console_note(console, "console.refused", "origin", NULL);
        return refuse(x, MHD_HTTP_FORBIDDEN, "origin");
    }
    x->route = find_route(path);
    if (x->route == NULL) {
        return change ? refuse(x, MHD_HTTP_NOT_FOUND, "path") : answer_asset(x, path);
    }
    if (change != ((x->route->flags & ROUTE_CHANGE) != 0)) {
        return refuse(x, MHD_HTTP_METHOD_NOT_ALLOWED, "method");
    }
    if (!is_admitted(x)) {
        return queue(x);
    }
    if (change && !is_json(x)) {
        return refuse(x, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "type");
    }
    uint64_t most = (x->route->flags & ROUTE_LONG) != 0 ? POLICY_MOST : BODY_MOST, length = 0;
    const char *said =
        MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    for (; said != NULL && *said >= '0' && *said <= '9' && length <= most; said++) {
        length = length * 10 + (uint64_t)(*said - '0');
    }
    if (length > most) {
        return refuse(x, MHD_HTTP_CONTENT_TOO_LARGE, "long");
    }
    buf_init(&x->body, most);
    return MHD_YES;
}

static enum MHD_Result end(struct exchange *x)
{
    server_link_waits(x->connection, false);
    if (x->body.failed) {
        return refuse(x, MHD_HTTP_CONTENT_TOO_LARGE, "long");
    }
    /* The session may have ended while the body came. */
    if (x->session != NULL && !is_admitted(x)) {
        return queue(x);
    }
    if ((x->route->flags & ROUTE_STREAM) != 0) {
        return stream_open(x) ? MHD_YES
               : x->queued    ? MHD_NO
                              : refuse(x, MHD_HTTP_TOO_MANY_REQUESTS, "streams");
    }
    x->status = MHD_HTTP_OK;
    x->route->answer(x);
    return queue(x);
}

enum MHD_Result exchange_take(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload, size_t *upload_len,
                              void **state)
{
    struct console *console = context;
    struct exchange *x = *state;
    (void)version;
    if (x == NULL) {
        x = calloc(1, sizeof(*x));
        if (x == NULL) {
            return MHD_NO;
        }
        *x = (struct exchange){.console = console, .connection = connection};
        buf_init(&x->out, ANSWER_MOST);
        buf_init(&x->body, 0);
        *state = x;
        return begin(x, method, path);
    }
    if (*upload_len > 0) {
        buf_bytes(&x->body, upload, *upload_len);
        *upload_len = 0;
        return MHD_YES;
    }
    return x->queued ? MHD_YES : end(x);
}

void exchange_completed(void *context, struct MHD_Connection *connection, void **state,
                        enum MHD_RequestTerminationCode code)
{
    struct exchange *x = *state;
    (void)context;
    (void)code;
    server_link_waits(connection, true);
    if (x != NULL) {
        buf_finish(&x->body);
        buf_finish(&x->out);
        free(x);
        *state = NULL;
    }
}
