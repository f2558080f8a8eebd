/* Frames over a connection of libcurl's. */
#include "slack/socket_internal.h"

#include <curl/curl.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wslay/wslay.h>

#include "base/clock.h"
#include "base/random.h"
#include "slack/handshake_internal.h"

#define HANDSHAKE_MS 10000
#define HEADER_BYTES (16u << 10)
#define SILENCE_MS   (2 * SOCKET_QUIET_MS)

struct socket_link {
    CURL *curl;
    curl_socket_t fd;
    wslay_event_context_ptr frames;
    struct buf early; /* what came behind the handshake's end, before the frames were ready */
    void (*message)(void *context, struct slice text);
    void *context;
    int64_t heard_ms, pinged_ms; /* boot clock */
    bool failed;
};

/* ---- Frames ---- */

static ssize_t receive(wslay_event_context_ptr frames, uint8_t *to, size_t len, int flags, void *context)
{
    struct socket_link *link = context;
    size_t got = 0;
    (void)flags;
    if (link->early.len > 0) {
        got = link->early.len < len ? link->early.len : len;
        memcpy(to, link->early.ptr, got);
        buf_drop(&link->early, got);
        return (ssize_t)got;
    }
    CURLcode result = curl_easy_recv(link->curl, to, len, &got);
    if (result == CURLE_OK && got > 0) {
        link->heard_ms = clock_boot_ms();
        return (ssize_t)got;
    }
    wslay_event_set_error(frames, result == CURLE_AGAIN ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static ssize_t transmit(wslay_event_context_ptr frames, const uint8_t *bytes, size_t len, int flags,
                        void *context)
{
    struct socket_link *link = context;
    size_t sent = 0;
    (void)flags;
    CURLcode result = curl_easy_send(link->curl, bytes, len, &sent);
    if (result == CURLE_OK) {
        return (ssize_t)sent;
    }
    wslay_event_set_error(frames, result == CURLE_AGAIN ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static int make_mask(wslay_event_context_ptr frames, uint8_t *to, size_t len, void *context)
{
    (void)context;
    if (random_bytes(to, len)) {
        return 0;
    }
    wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static void take_message(wslay_event_context_ptr frames, const struct wslay_event_on_msg_recv_arg *arg,
                         void *context)
{
    struct socket_link *link = context;
    (void)frames;
    if (arg->opcode == WSLAY_TEXT_FRAME) {
        link->message(link->context, (struct slice){(const char *)arg->msg, arg->msg_length});
    }
}

static bool make_frames(struct socket_link *link)
{
    const struct wslay_event_callbacks callbacks = {
        .recv_callback = receive,
        .send_callback = transmit,
        .genmask_callback = make_mask,
        .on_msg_recv_callback = take_message,
    };
    if (wslay_event_context_client_init(&link->frames, &callbacks, link) != 0) {
        return false;
    }
    wslay_event_config_set_max_recv_msg_length(link->frames, SOCKET_MESSAGE_BYTES);
    return true;
}

/* ---- The handshake (RFC 6455, section 4) ---- */

bool socket_accept_key(const char *key, char ret_accept[SOCKET_ACCEPT_SIZE])
{
    char text[128];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    snprintf(text, sizeof(text), "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    if (EVP_Digest(text, strlen(text), digest, &len, EVP_sha1(), NULL) != 1) {
        return false;
    }
    return EVP_EncodeBlock((unsigned char *)ret_accept, digest, (int)len) > 0;
}

/* Whether the answer's head is an upgrade with the right key; other headers do not matter. */
bool socket_head_accepts(struct slice head, const char *accept)
{
    bool upgraded = false, right = false, first = true;
    while (head.ptr != NULL && head.len > 0) {
        const char *end = memmem(head.ptr, head.len, "\r\n", 2);
        size_t len = end != NULL ? (size_t)(end - head.ptr) : head.len;
        const char *line = head.ptr;
        const char *colon = memchr(line, ':', len);
        if (first && !(len >= 12 && strncmp(line, "HTTP/1.1 101", 12) == 0)) {
            return false;
        }
        if (colon != NULL) {
            size_t name = (size_t)(colon - line), at = name + 1;
            while (at < len && (line[at] == ' ' || line[at] == '\t')) {
                at++;
            }
            struct slice value = {line + at, len - at};
            upgraded = upgraded || (name == 7 && strncasecmp(line, "upgrade", 7) == 0 && value.len == 9 &&
                                    strncasecmp(value.ptr, "websocket", 9) == 0);
            right = right || (name == 20 && strncasecmp(line, "sec-websocket-accept", 20) == 0 &&
                              slice_is(value, accept));
        }
        first = false;
        head = slice_from(head, end != NULL ? len + 2 : len);
    }
    return upgraded && right;
}

static bool wait_for(struct socket_link *link, bool writable, int64_t until)
{
    int64_t left = until - clock_boot_ms();
    struct curl_waitfd fd = {.fd = link->fd, .events = writable ? CURL_WAIT_POLLOUT : CURL_WAIT_POLLIN};
    CURLM *multi = left > 0 ? curl_multi_init() : NULL;
    bool ok = multi != NULL && curl_multi_poll(multi, &fd, 1, (int)left, NULL) == CURLM_OK;
    curl_multi_cleanup(multi);
    return ok;
}

static bool send_all(struct socket_link *link, struct slice text, int64_t until)
{
    while (text.len > 0) {
        size_t sent = 0;
        CURLcode result = curl_easy_send(link->curl, text.ptr, text.len, &sent);
        if (result == CURLE_AGAIN && !wait_for(link, true, until)) {
            return false;
        }
        if (result != CURLE_OK && result != CURLE_AGAIN) {
            return false;
        }
        text = slice_from(text, sent);
    }
    return true;
}

static bool read_head(struct socket_link *link, const char *accept, int64_t until)
{
    struct buf head;
    bool ok = false;
    buf_init(&head, HEADER_BYTES);
    for (;;) {
        char bytes[1024];
        size_t got = 0;
        CURLcode result = curl_easy_recv(link->curl, bytes, sizeof(bytes), &got);
        if (result == CURLE_AGAIN) {
            if (wait_for(link, false, until)) {
                continue;
            }
            break;
        }
        if (result != CURLE_OK || got == 0) {
            break;
        }
        buf_bytes(&head, bytes, got);
        if (!buf_ok(&head)) {
            break;
        }
        const char *end = memmem(head.ptr, head.len, "\r\n\r\n", 4);
        if (end != NULL) {
            size_t len = (size_t)(end - head.ptr);
            ok = socket_head_accepts((struct slice){head.ptr, len}, accept);
            buf_bytes(&link->early, head.ptr + len + 4, head.len - len - 4);
            break;
        }
    }
    buf_finish(&head);
    return ok;
}

static bool shake_hands(struct socket_link *link, const char *host, const char *target)
{
    uint8_t bytes[16];
    char key[32], accept[SOCKET_ACCEPT_SIZE];
    struct buf request;
    int64_t until = clock_boot_ms() + HANDSHAKE_MS;
    if (!random_bytes(bytes, sizeof(bytes)) ||
        EVP_EncodeBlock((unsigned char *)key, bytes, sizeof(bytes)) <= 0 || !socket_accept_key(key, accept)) {
        return false;
    }
    buf_init(&request, HEADER_BYTES);
    buf_printf(&request,
               "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
               target, host, key);
    bool ok =
        buf_ok(&request) && send_all(link, buf_slice_of(&request), until) && read_head(link, accept, until);
    buf_finish(&request);
    return ok;
}

/* ---- The link ---- */

/* Connects to the URL's host as https (or http) would, and stops there. */
static bool connect_to(struct socket_link *link, CURLU *parts)
{
    char *scheme = NULL, *plain = NULL;
    bool ok = curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              (strcmp(scheme, "wss") == 0 || strcmp(scheme, "ws") == 0) &&
              curl_url_set(parts, CURLUPART_SCHEME, strcmp(scheme, "wss") == 0 ? "https" : "http", 0) ==
                  CURLUE_OK &&
              curl_url_get(parts, CURLUPART_URL, &plain, 0) == CURLUE_OK &&
              (link->curl = curl_easy_init()) != NULL;
    if (ok) {
        curl_easy_setopt(link->curl, CURLOPT_URL, plain);
        curl_easy_setopt(link->curl, CURLOPT_PROXY, "");
        curl_easy_setopt(link->curl, CURLOPT_CONNECT_ONLY, 1L);
        curl_easy_setopt(link->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        curl_easy_setopt(link->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)HANDSHAKE_MS);
        curl_easy_setopt(link->curl, CURLOPT_NOSIGNAL, 1L);
        ok = curl_easy_perform(link->curl) == CURLE_OK &&
             curl_easy_getinfo(link->curl, CURLINFO_ACTIVESOCKET, &link->fd) == CURLE_OK;
    }
    curl_free(scheme);
    curl_free(plain);
    return ok;
}

static bool open_link(struct socket_link *link, const char *url)
{
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL, *path = NULL, *query = NULL;
    struct buf target, name;
    buf_init(&target, HEADER_BYTES);
    buf_init(&name, 4096);
    bool ok = parts != NULL &&
              curl_url_set(parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
              curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
              curl_url_get(parts, CURLUPART_PATH, &path, 0) == CURLUE_OK;
    if (ok) {
        bool has_query = curl_url_get(parts, CURLUPART_QUERY, &query, 0) == CURLUE_OK;
        bool has_port = curl_url_get(parts, CURLUPART_PORT, &port, 0) == CURLUE_OK;
        buf_printf(&target, "%s%s%s", path, has_query ? "?" : "", has_query ? query : "");
        buf_printf(&name, "%s%s%s", host, has_port ? ":" : "", has_port ? port : "");
        ok = buf_ok(&target) && buf_ok(&name) && connect_to(link, parts) &&
             shake_hands(link, name.ptr, target.ptr) && make_frames(link);
    }
    curl_free(host);
    curl_free(port);
    curl_free(path);
    curl_free(query);
    curl_url_cleanup(parts);
    buf_finish(&target);
    buf_finish(&name);
    return ok;
}

struct socket_link *socket_open(const char *url, void (*message)(void *context, struct slice text),
                                void *context, struct buf *ret_error)
{
    struct socket_link *link = calloc(1, sizeof(*link));
    if (link == NULL) {
        buf_text(ret_error, "no memory");
        return NULL;
    }
    link->message = message;
    link->context = context;
    link->fd = CURL_SOCKET_BAD;
    buf_init(&link->early, SOCKET_MESSAGE_BYTES);
    link->heard_ms = link->pinged_ms = clock_boot_ms();
    if (open_link(link, url)) {
        return link;
    }
    buf_text(ret_error, "no WebSocket to Slack could be opened");
    socket_close(link);
    return NULL;
}

void socket_close(struct socket_link *link)
{
    if (link == NULL) {
        return;
    }
    if (link->frames != NULL) {
        wslay_event_context_free(link->frames);
    }
    curl_easy_cleanup(link->curl);
    buf_finish(&link->early);
    free(link);
}

int socket_fd(const struct socket_link *link)
{
    return (int)link->fd;
}

bool socket_wants_write(const struct socket_link *link)
{
    return wslay_event_want_write(link->frames) != 0;
}

bool socket_turn(struct socket_link *link)
{
    int64_t now = clock_boot_ms();
    if (now - link->heard_ms > SILENCE_MS) {
        return false;
    }
    if (now - link->heard_ms > SOCKET_QUIET_MS && now - link->pinged_ms > SOCKET_QUIET_MS) {
        const struct wslay_event_msg ping = {.opcode = WSLAY_PING};
        link->pinged_ms = now;
        link->failed = wslay_event_queue_msg(link->frames, &ping) != 0 || link->failed;
    }
    link->failed = wslay_event_recv(link->frames) != 0 || wslay_event_send(link->frames) != 0 || link->failed;
    return !link->failed && wslay_event_want_read(link->frames) != 0;
}

bool socket_send(struct socket_link *link, struct slice text)
{
    const struct wslay_event_msg message = {WSLAY_TEXT_FRAME, (const uint8_t *)text.ptr, text.len};
    return wslay_event_queue_msg(link->frames, &message) == 0;
}
