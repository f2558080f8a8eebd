/* Requests to the Web API: a list of those that wait for their time, and libcurl for those under way. */
#include "slack/web_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define ANSWER_BYTES ((size_t)4 << 20)
#define CONNECT_MS   5000L
#define TOTAL_MS     15000L
#define UPLOAD_MS    120000L
#define BODY_BYTES   ((size_t)64 << 20)
#define TRIES        4u
#define PAUSE_MS     1000
#define PAUSE_MOST_S 300L
#define METHODS_MOST 16u

struct web_request {
    struct web_request *next;
    struct web *web;
    CURL *curl;
    struct curl_slist *headers;
    char method[48];
    struct buf body, answer;
    unsigned tries;
    int64_t due_ms; /* boot clock; not sent before */
    bool running;
    bool plain; /* the answer is no JSON: its status says all */
    web_done *done;
    void *context;
};

struct web {
    CURLM *multi;
    char *base;
    void (*log)(const char *line);
    struct web_request *requests;
    size_t open;
    struct {
        char method[48];
        int64_t until_ms;
    } limits[METHODS_MOST];
};

struct web *web_create(const char *base, void (*log)(const char *line))
{
    struct web *web = calloc(1, sizeof(*web));
    if (web == NULL) {
        return NULL;
    }
    web->multi = curl_multi_init();
    web->base = strdup(base);
    web->log = log;
    if (web->multi != NULL && web->base != NULL) {
        return web;
    }
    web_destroy(web);
    return NULL;
}

static void free_request(struct web_request *r)
{
    if (r->running) {
        curl_multi_remove_handle(r->web->multi, r->curl);
    }
    curl_easy_cleanup(r->curl);
    /* The list holds the token. */
    for (struct curl_slist *h = r->headers; h != NULL; h = h->next) {
        explicit_bzero(h->data, strlen(h->data));
    }
    curl_slist_free_all(r->headers);
    buf_finish(&r->body);
    buf_finish(&r->answer);
    free(r);
}

void web_destroy(struct web *web)
{
    if (web == NULL) {
        return;
    }
    while (web->requests != NULL) {
        struct web_request *r = web->requests;
        web->requests = r->next;
        free_request(r);
    }
    curl_multi_cleanup(web->multi);
    free(web->base);
    free(web);
}

size_t web_open(const struct web *web)
{
    return web->open;
}

/* ---- One request ---- */

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
    struct web_request *r = context;
    buf_bytes(&r->answer, bytes, size * count);
    return buf_ok(&r->answer) ? size * count : 0;
}

static bool add_header(struct web_request *r, const char *line)
{
    struct curl_slist *more = curl_slist_append(r->headers, line);
    r->headers = more != NULL ? more : r->headers;
    return more != NULL;
}

/* `token` NULL: none is sent. */
static bool add_headers(struct web_request *r, const char *type, const char *token)
{
    struct buf header;
    buf_init(&header, 4096);
    buf_printf(&header, "Content-Type: %s", type);
    bool ok = buf_ok(&header) && add_header(r, header.ptr);
    if (ok && token != NULL) {
        buf_reset(&header);
        buf_printf(&header, "Authorization: Bearer %s", token);
        ok = buf_ok(&header) && add_header(r, header.ptr);
    }
    if (header.ptr != NULL) {
        explicit_bzero(header.ptr, header.len);
    }
    buf_finish(&header);
    return ok;
}

static bool prepare(struct web_request *r, const char *url, const char *type, const char *token)
{
    if ((r->curl = curl_easy_init()) == NULL || !add_headers(r, type, token)) {
        return false;
    }
    curl_easy_setopt(r->curl, CURLOPT_URL, url);
    curl_easy_setopt(r->curl, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(r->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, r->headers);
    curl_easy_setopt(r->curl, CURLOPT_POSTFIELDS, r->body.ptr);
    curl_easy_setopt(r->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len);
    curl_easy_setopt(r->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(r->curl, CURLOPT_TIMEOUT_MS, r->plain ? UPLOAD_MS : TOTAL_MS);
    curl_easy_setopt(r->curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(r->curl, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(r->curl, CURLOPT_PRIVATE, r);
    curl_easy_setopt(r->curl, CURLOPT_NOSIGNAL, 1L);
    return true;
}

static struct web_request *new_request(struct web *web, const char *method, struct slice body, web_done *done,
                                       void *context)
{
    struct web_request *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    r->web = web;
    r->done = done;
    r->context = context;
    snprintf(r->method, sizeof(r->method), "%s", method);
    buf_init(&r->body, BODY_BYTES);
    buf_init(&r->answer, ANSWER_BYTES);
    buf_slice(&r->body, body);
    buf_byte(&r->body, '\0');
    r->body.len -= buf_ok(&r->body) ? 1 : 0;
    if (buf_ok(&r->body)) {
        return r;
    }
    free_request(r);
    return NULL;
}

static void add_request(struct web *web, struct web_request *r)
{
    struct web_request **end = &web->requests; /* in their order: an update must not overtake the post */
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = r;
    web->open++;
}

static bool post(struct web *web, struct web_request *r, const char *type, const char *token)
{
    struct buf url;
    if (r == NULL) {
        return false;
    }
    buf_init(&url, 4096);
    buf_printf(&url, "%s%s", web->base, r->method);
    bool ok = buf_ok(&url) && prepare(r, url.ptr, type, token);
    buf_finish(&url);
    if (ok) {
        add_request(web, r);
    } else {
        free_request(r);
    }
    return ok;
}

bool web_post(struct web *web, const char *method, const char *token, struct slice json, web_done *done,
              void *context)
{
    return post(web, new_request(web, method, json, done, context), "application/json; charset=utf-8", token);
}

bool web_post_form(struct web *web, const char *method, const char *token, struct slice form, web_done *done,
                   void *context)
{
    return post(web, new_request(web, method, form, done, context), "application/x-www-form-urlencoded",
                token);
}

bool web_upload(struct web *web, const char *url, struct slice bytes, web_done *done, void *context)
{
    bool secure = strncmp(url, "https://", 8) == 0;
    bool of_tests = strncmp(web->base, "http://", 7) == 0 && strncmp(url, "http://", 7) == 0;
    struct web_request *r = secure || of_tests ? new_request(web, "an upload", bytes, done, context) : NULL;
    if (r == NULL) {
        return false;
    }
    r->plain = true;
    if (!prepare(r, url, "application/octet-stream", NULL)) {
        free_request(r);
        return false;
    }
    add_request(web, r);
    return true;
}

/* ---- Limits ---- */

static int64_t *limit_of(struct web *web, const char *method)
{
    for (size_t i = 0; i < METHODS_MOST; i++) {
        if (web->limits[i].method[0] == '\0') {
            snprintf(web->limits[i].method, sizeof(web->limits[i].method), "%s", method);
        }
        if (strcmp(web->limits[i].method, method) == 0) {
            return &web->limits[i].until_ms;
        }
    }
    return &web->limits[METHODS_MOST - 1].until_ms;
}

static void start_due(struct web *web, int64_t now)
{
    for (struct web_request *r = web->requests; r != NULL; r = r->next) {
        if (!r->running && r->due_ms <= now && *limit_of(web, r->method) <= now) {
            buf_reset(&r->answer);
            r->running = curl_multi_add_handle(web->multi, r->curl) == CURLM_OK;
            r->tries++;
        }
    }
}

/* ---- Answers ---- */

static void end_request(struct web *web, struct web_request *r, const struct web_answer *answer)
{
    for (struct web_request **at = &web->requests; *at != NULL; at = &(*at)->next) {
        if (*at == r) {
            *at = r->next;
            break;
        }
    }
    web->open--;
    r->done(r->context, answer);
    free_request(r);
}

static void put_off(struct web *web, struct web_request *r, int64_t pause_ms)
{
    (void)web;
    r->due_ms = clock_boot_ms() + pause_ms;
}

/* Reads an answer whose exchange has come to its end. `error` has room for Slack's word. */
static void read_answer(struct web_request *r, long status, struct json_doc *doc, char *error, size_t size,
                        struct web_answer *ret_answer)
{
    struct json_error fault;
    struct curl_header *scopes = NULL;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = (uint32_t)ANSWER_BYTES};
    if (r->plain) {
        snprintf(error, size, "HTTP status %ld", status);
        ret_answer->error = status == 200 ? NULL : error;
        return;
    }
    if (curl_easy_header(r->curl, "x-oauth-scopes", 0, CURLH_HEADER, -1, &scopes) == CURLHE_OK) {
        ret_answer->scopes = scopes->value;
    }
    if (json_parse(doc, buf_slice_of(&r->answer), &options, &fault)) {
        const struct json_value *ok = json_get(doc, json_root(doc), "ok");
        const struct json_value *why = json_get(doc, json_root(doc), "error");
        ret_answer->doc = doc;
        ret_answer->error = NULL;
        if (!json_is(ok, JSON_TRUE)) {
            snprintf(error, size, "%.*s", json_is(why, JSON_STRING) ? (int)why->str_len : 0,
                     json_is(why, JSON_STRING) ? why->str : "");
            ret_answer->error = error[0] != '\0' ? error : "refused";
        }
    }
}

static void answered(struct web *web, struct web_request *r, CURLcode result)
{
    long status = 0;
    curl_off_t wait = 0;
    struct json_doc doc;
    char error[64] = "";
    curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(r->curl, CURLINFO_RETRY_AFTER, &wait);
    curl_multi_remove_handle(web->multi, r->curl);
    r->running = false;
    if (result == CURLE_OK && status == 429) {
        wait = wait < 1 ? 1 : wait > PAUSE_MOST_S ? PAUSE_MOST_S : wait;
        *limit_of(web, r->method) = clock_boot_ms() + wait * 1000;
        r->tries = 0;
        web->log("Slack asks for a pause; what waits is sent later");
        return;
    }
    if ((result != CURLE_OK || status >= 500) && r->tries < TRIES) {
        put_off(web, r, (int64_t)PAUSE_MS << r->tries);
        return;
    }
    json_init(&doc);
    struct web_answer answer = {.error = "no answer", .unreachable = result != CURLE_OK || status >= 500};
    if (!answer.unreachable) {
        read_answer(r, status, &doc, error, sizeof(error), &answer);
    }
    end_request(web, r, &answer);
    json_finish(&doc);
}

void web_turn(struct web *web, int fd, bool writable, int timeout_ms)
{
    int running = 0, left = 0;
    struct curl_waitfd extra = {.fd = fd,
                                .events = (short)(CURL_WAIT_POLLIN | (writable ? CURL_WAIT_POLLOUT : 0))};
    start_due(web, clock_boot_ms());
    (void)curl_multi_perform(web->multi, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(web->multi, &left)) != NULL;) {
        struct web_request *r = NULL;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &r);
        answered(web, r, result);
    }
    (void)curl_multi_poll(web->multi, &extra, fd >= 0 ? 1 : 0, timeout_ms, NULL);
}
