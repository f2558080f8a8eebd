/* callgate-webhook URL KEYFILE: posts the notice on standard input to URL, signed. The sender of notices starts
 * it, so that no gate and no hook links libcurl.
 *
 * The body is the notice as it came. `Callgate-Timestamp` holds seconds since 1970, and `Callgate-Signature` is
 * `sha256=` and the HMAC-SHA-256, in hex, of the timestamp, a dot and the body, with the bytes of KEYFILE
 * (without a line end) as the key. `Callgate-Notice` is the notice's id, the same at each try, so that a
 * receiver can tell a second delivery.
 *
 * Exit: 0 the receiver took it (2xx); 65 trying again would not help; 75 try again later. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "json/json.h"

#define EXIT_TAKEN     0
#define EXIT_HOPELESS  65
#define EXIT_LATER     75
#define BODY_BYTES     (512u << 20)
#define KEY_BYTES      (128u << 10)
#define KEY_LEAST      16u
#define CONNECT_MS     5000L
#define TOTAL_MS       25000L
#define SIGNATURE_SIZE (2 * 32 + 1)

static bool read_all(int fd, struct buf *ret_text)
{
    for (;;) {
        char *room = buf_reserve(ret_text, 64 << 10);
        ssize_t n = room != NULL ? read(fd, room, 64 << 10) : -1;
        if (n < 0 && room != NULL && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0;
        }
        buf_added(ret_text, (size_t)n);
    }
}

/* The key: a regular file of this user that nobody else can read. */
static bool read_key(const char *path, struct buf *ret_key)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 077) == 0 &&
              (st.st_uid == geteuid() || st.st_uid == 0) && read_all(fd, ret_key);
    if (fd >= 0) {
        close(fd);
    }
    while (ok && ret_key->len > 0 &&
           (ret_key->ptr[ret_key->len - 1] == '\n' || ret_key->ptr[ret_key->len - 1] == '\r')) {
        ret_key->len--;
    }
    return ok && ret_key->len >= KEY_LEAST;
}

static bool sign(const struct buf *key, const char *timestamp, const struct buf *body,
                 char ret_hex[SIGNATURE_SIZE])
{
    struct buf text;
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    buf_init(&text, BODY_BYTES + 64);
    buf_text(&text, timestamp);
    buf_byte(&text, '.');
    buf_slice(&text, buf_slice_of(body));
    bool ok = buf_ok(&text) &&
              HMAC(EVP_sha256(), key->ptr, (int)key->len, (const unsigned char *)text.ptr, text.len, mac,
                   &len) != NULL &&
              len == 32;
    for (unsigned i = 0; ok && i < len; i++) {
        snprintf(ret_hex + (size_t)2 * i, 3, "%02x", mac[i]);
    }
    buf_finish(&text);
    return ok;
}

/* The notice's id, for the receiver: letters, digits and dashes only, so that it can stand in a header. */
static void read_id(const struct buf *body, char *ret_id, size_t size)
{
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH + 4, .max_bytes = BODY_BYTES};
    json_init(&doc);
    ret_id[0] = '\0';
    if (json_parse(&doc, buf_slice_of(body), &options, &error)) {
        const struct json_value *id = json_get(&doc, json_root(&doc), "id");
        struct slice text = json_is(id, JSON_STRING) ? json_str(id) : SLICE("");
        bool plain = text.len < size;
        for (size_t i = 0; plain && i < text.len; i++) {
            plain = text.ptr[i] == '-' || (text.ptr[i] >= '0' && text.ptr[i] <= '9') ||
                    (text.ptr[i] >= 'a' && text.ptr[i] <= 'z');
        }
        snprintf(ret_id, size, "%.*s", plain ? (int)text.len : 0, text.ptr != NULL ? text.ptr : "");
    }
    json_finish(&doc);
}

static size_t drop(char *bytes, size_t size, size_t count, void *unused)
{
    (void)bytes;
    (void)unused;
    return size * count;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
    char line[256];
    snprintf(line, sizeof(line), "%s: %s", name, value);
    return curl_slist_append(list, line);
}

static int post(const char *url, const struct buf *body, struct curl_slist *headers)
{
    CURL *curl = curl_easy_init();
    long status = 0;
    if (curl == NULL) {
        return EXIT_LATER;
    }
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* no variable of the environment names one */
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->ptr);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TOTAL_MS);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    CURLcode result = curl_easy_perform(curl);
    if (result == CURLE_OK) {
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    }
    curl_easy_cleanup(curl);
    if (status >= 200 && status < 300) {
        return EXIT_TAKEN;
    }
    bool hopeless = status >= 400 && status < 500 && status != 408 && status != 425 && status != 429;
    return hopeless || result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL ? EXIT_HOPELESS
                                                                                             : EXIT_LATER;
}

static int run(const char *url, const char *key_file, struct buf *body, struct buf *key)
{
    char timestamp[32], hex[SIGNATURE_SIZE], value[SIGNATURE_SIZE + 8], id[64];
    snprintf(timestamp, sizeof(timestamp), "%lld", (long long)time(NULL));
    if (!read_all(STDIN_FILENO, body)) {
        return EXIT_LATER;
    }
    if (!read_key(key_file, key) || !sign(key, timestamp, body, hex)) {
        return EXIT_HOPELESS;
    }
    read_id(body, id, sizeof(id));
    snprintf(value, sizeof(value), "sha256=%s", hex);
    struct curl_slist *headers = add_header(NULL, "Content-Type", "application/json");
    headers = add_header(headers, "Callgate-Timestamp", timestamp);
    headers = add_header(headers, "Callgate-Signature", value);
    headers = add_header(headers, "Callgate-Notice", id);
    int code = headers != NULL ? post(url, body, headers) : EXIT_LATER;
    curl_slist_free_all(headers);
    return code;
}

int main(int argc, char **argv)
{
    struct buf body, key;
    if (argc != 3) {
        fprintf(stderr, "usage: callgate-webhook URL KEYFILE <NOTICE; 'callgate notices' starts it\n");
        return EXIT_HOPELESS;
    }
    buf_init(&body, BODY_BYTES);
    buf_init(&key, KEY_BYTES);
    int code = curl_global_init(CURL_GLOBAL_DEFAULT) == 0 ? run(argv[1], argv[2], &body, &key) : EXIT_LATER;
    if (key.ptr != NULL) {
        OPENSSL_cleanse(key.ptr, key.len);
    }
    buf_finish(&body);
    buf_finish(&key);
    return code;
}
