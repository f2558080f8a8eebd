/* slack.json and the two tokens. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slack/slack.h"

#define SETTINGS_NAME  "slack.json"
#define SETTINGS_BYTES (64u << 10)

static bool read_whole(int dir, const char *name, bool secret, struct buf *ret_text)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              (!secret || ((st.st_mode & 077) == 0 && (st.st_uid == geteuid() || st.st_uid == 0)));
    while (ok) {
        char *room = buf_reserve(ret_text, 4096);
        ssize_t n = room != NULL ? read(fd, room, 4096) : -1;
        if (n == 0) {
            break;
        }
        ok = n > 0;
        if (ok) {
            buf_added(ret_text, (size_t)n);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return ok;
}

static bool take_text(const struct json_doc *doc, const char *name, char *to, size_t size,
                      struct buf *ret_error)
{
    const struct json_value *v = json_get(doc, json_root(doc), name);
    if (!json_is(v, JSON_STRING) || v->str_len == 0 || v->str_len >= size ||
        memchr(v->str, '\0', v->str_len) != NULL) {
        buf_printf(ret_error, "%s: \"%s\" must be a text", SETTINGS_NAME, name);
        return false;
    }
    memcpy(to, v->str, v->str_len);
    to[v->str_len] = '\0';
    return true;
}

/* A token: the kind that its beginning says, printable, and in a file that nobody else can read. */
static bool take_token(const struct json_doc *doc, const char *name, const char *kind, char *to, size_t size,
                       struct buf *ret_error)
{
    char file[4096];
    struct buf text;
    if (!take_text(doc, name, file, sizeof(file), ret_error)) {
        return false;
    }
    buf_init(&text, SETTINGS_BYTES);
    bool ok = read_whole(AT_FDCWD, file, true, &text);
    while (ok && text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r')) {
        text.len--;
    }
    bool good = ok && text.len < size && slice_starts_with(buf_slice_of(&text), slice_of(kind));
    for (size_t i = 0; good && i < text.len; i++) {
        good = text.ptr[i] > ' ' && text.ptr[i] < 127;
    }
    if (good) {
        memcpy(to, text.ptr, text.len);
        to[text.len] = '\0';
    } else if (!ok) {
        buf_printf(ret_error, "%s cannot be read, or others can read it: chmod 600 it", file);
    } else {
        buf_printf(ret_error, "%s holds no token that begins with %s", file, kind);
    }
    if (text.ptr != NULL) {
        explicit_bzero(text.ptr, text.cap);
    }
    buf_finish(&text);
    return good;
}

bool slack_settings_read(struct slack_settings *ret_settings, int state_dir, struct buf *ret_error)
{
    struct buf text;
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 2, .max_bytes = SETTINGS_BYTES};
    bool ok = false;
    *ret_settings = (struct slack_settings){.base = SLACK_API};
    buf_init(&text, SETTINGS_BYTES);
    json_init(&doc);
    if (!read_whole(state_dir, SETTINGS_NAME, false, &text)) {
        buf_printf(ret_error, "%s is not in the state directory: docs/slack.md says what stands in it",
                   SETTINGS_NAME);
    } else if (!json_parse(&doc, buf_slice_of(&text), &options, &error)) {
        buf_printf(ret_error, "%s: %s at byte %u", SETTINGS_NAME, error.detail, error.offset);
    } else {
        ok = (json_get(&doc, json_root(&doc), "denials") == NULL ||
              take_text(&doc, "denials", ret_settings->denials, sizeof(ret_settings->denials), ret_error)) &&
             take_text(&doc, "channel", ret_settings->channel, sizeof(ret_settings->channel), ret_error) &&
             take_token(&doc, "botTokenFile", "xoxb-", ret_settings->bot_token,
                        sizeof(ret_settings->bot_token), ret_error) &&
             take_token(&doc, "appTokenFile", "xapp-", ret_settings->app_token,
                        sizeof(ret_settings->app_token), ret_error);
    }
    json_finish(&doc);
    buf_finish(&text);
    return ok;
}

void slack_settings_clear(struct slack_settings *settings)
{
    explicit_bzero(settings, sizeof(*settings));
}
