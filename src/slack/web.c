/* Requests to the Web API: a list of those that wait for their time, and libcurl for those under way. */
#include "slack/web_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define ANSWER_BYTES ((size_t)4 << 20)
#define CONNECT_MS   5000L
#define TOTAL_MS     15000L
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

static bool prepare(struct web_request *r, const char *token)
{
    struct buf url, header;
    buf_init(&url, 4096);
    buf_init(&header, 4096);
    buf_printf(&url, "%s%s", r->web->base, r->method);
    buf_printf(&header, "Authorization: Bearer %s", token);
    bool ok = buf_ok(&url) && buf_ok(&header) && (r->curl = curl_easy_init()) != NULL;
    if (ok) {
        r->headers = curl_slist_append(NULL, "Content-Type: application/json; charset=utf-8");
        struct curl_slist *more = r->headers != NULL ? curl_slist_append(r->headers, header.ptr) : NULL;
        ok = more != NULL;
        curl_easy_setopt(r->curl, CURLOPT_URL, url.ptr);
        curl_easy_setopt(r->curl, CURLOPT_PROTOCOLS_STR, "https,http");
        curl_easy_setopt(r->curl, CURLOPT_PROXY, "");
        curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, r->headers);
        curl_easy_setopt(r->curl, CURLOPT_POSTFIELDS, r->body.ptr);
        curl_easy_setopt(r->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len);
        curl_easy_setopt(r->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
        curl_easy_setopt(r->curl, CURLOPT_TIMEOUT_MS, TOTAL_MS);
        curl_easy_setopt(r->curl, CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(r->curl, CURLOPT_WRITEDATA, r);
        curl_easy_setopt(r->curl, CURLOPT_PRIVATE, r);
        curl_easy_setopt(r->curl, CURLOPT_NOSIGNAL, 1L);
    }
    if (header.ptr != NULL) {
        explicit_bzero(header.ptr, header.len);
    }
    buf_finish(&url);
    buf_finish(&header);
    return ok;
}

bool web_post(struct web *web, const char *method, const char *token, struct slice json, web_done *done,
              void *context)
{
    struct web_request *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return false;
    }
    r->web = web;
    r->done = done;
    r->context = context;
    snprintf(r->method, sizeof(r->method), "%s", method);
    buf_init(&r->body, ANSWER_BYTES);
    buf_init(&r->answer, ANSWER_BYTES);
    buf_slice(&r->body, json);
    buf_byte(&r->body, '\0');
    r->body.len -= buf_ok(&r->body) ? 1 : 0;
    if (!buf_ok(&r->body) || !prepare(r, token)) {
        free_request(r);
        return false;
    }
    struct web_request **end = &web->requests; /* in their order: an update must not overtake the post */
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = r;
    web->open++;
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

static void answered(struct web *web, struct web_request *r, CURLcode result)
{
    long status = 0;
    curl_off_t wait = 0;
    struct json_doc doc;
    struct json_error fault;
    char error[64] = "";
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = (uint32_t)ANSWER_BYTES};
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
    if (!answer.unreachable && json_parse(&doc, buf_slice_of(&r->answer), &options, &fault)) {
        const struct json_value *ok = json_get(&doc, json_root(&doc), "ok");
        const struct json_value *why = json_get(&doc, json_root(&doc), "error");
        answer.doc = &doc;
        answer.error = NULL;
        if (!json_is(ok, JSON_TRUE)) {
            snprintf(error, sizeof(error), "%.*s", json_is(why, JSON_STRING) ? (int)why->str_len : 0,
                     json_is(why, JSON_STRING) ? why->str : "");
            answer.error = error[0] != '\0' ? error : "refused";
        }
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
