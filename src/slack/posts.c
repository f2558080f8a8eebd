/* Which message stands for which request, kept in the state directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slack/slack.h"

#define POSTS_BYTES ((size_t)4 << 20)
#define POSTS_TEMP  "." SLACK_POSTS_FILE ".new"

static bool take(const struct json_doc *doc, const struct json_value *v, const char *name, char *to,
                 size_t size)
{
    const struct json_value *text = json_get(doc, v, name);
    if (!json_is(text, JSON_STRING) || text->str_len >= size) {
        return false;
    }
    memcpy(to, text->str, text->str_len);
    to[text->str_len] = '\0';
    return true;
}

struct slack_post *slack_posts_add(struct slack_posts *posts, int64_t request, const char *code)
{
    if (posts->count == posts->cap) {
        size_t cap = posts->cap > 0 ? posts->cap * 2 : 64;
        struct slack_post *list = realloc(posts->list, cap * sizeof(*list));
        if (list == NULL) {
            return NULL;
        }
        posts->list = list;
        posts->cap = cap;
    }
    struct slack_post *post = &posts->list[posts->count++];
    *post = (struct slack_post){.request = request};
    snprintf(post->code, sizeof(post->code), "%s", code);
    return post;
}

struct slack_post *slack_posts_find(struct slack_posts *posts, int64_t request)
{
    for (size_t i = 0; i < posts->count; i++) {
        if (posts->list[i].request == request) {
            return &posts->list[i];
        }
    }
    return NULL;
}

static void take_all(struct slack_posts *posts, const struct json_doc *doc)
{
    const struct json_value *root = json_root(doc);
    if (!json_is(root, JSON_ARRAY)) {
        return;
    }
    for (const struct json_value *v = json_first(doc, root); v != NULL; v = json_right(doc, root, v)) {
        const struct json_value *request = json_get(doc, v, "request");
        struct slack_post read = {0};
        if (json_is(request, JSON_NUMBER) &&
            json_number_int(json_str(request), &read.request) == JSON_INT_OK &&
            take(doc, v, "code", read.code, sizeof(read.code)) &&
            take(doc, v, "channel", read.channel, sizeof(read.channel)) &&
            take(doc, v, "ts", read.ts, sizeof(read.ts))) {
            struct slack_post *post = slack_posts_add(posts, read.request, read.code);
            if (post != NULL) {
                *post = read;
                if (json_is(json_get(doc, v, "snippet"), JSON_TRUE)) {
                    post->whole = SLACK_IN_SNIPPET; /* its message may not say so yet */
                }
            }
        }
    }
}

bool slack_posts_read(struct slack_posts *ret_posts, int state_dir, struct buf *ret_error)
{
    struct buf text;
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 4, .max_bytes = (uint32_t)POSTS_BYTES};
    *ret_posts = (struct slack_posts){.state_dir = state_dir};
    int fd = openat(state_dir, SLACK_POSTS_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT;
    }
    buf_init(&text, POSTS_BYTES + (64u << 10));
    json_init(&doc);
    ssize_t n;
    char *room;
    while ((room = buf_reserve(&text, 64 << 10)) != NULL && (n = read(fd, room, 64 << 10)) > 0) {
        buf_added(&text, (size_t)n);
    }
    close(fd);
    if (buf_ok(&text) && json_parse(&doc, buf_slice_of(&text), &options, &error)) {
        take_all(ret_posts, &doc);
    } else { /* what it held is lost: requests that wait are posted again, and no vote counts twice for that */
        buf_printf(ret_error, "%s cannot be read and is begun anew", SLACK_POSTS_FILE);
    }
    json_finish(&doc);
    buf_finish(&text);
    return true;
}

void slack_posts_finish(struct slack_posts *posts)
{
    free(posts->list);
    *posts = (struct slack_posts){0};
}

static void forget_what_is_over(struct slack_posts *posts)
{
    size_t kept = 0;
    for (size_t i = 0; i < posts->count; i++) {
        if (!posts->list[i].over) {
            posts->list[kept++] = posts->list[i];
        }
    }
    posts->count = kept;
}

void slack_posts_save(struct slack_posts *posts)
{
    struct buf text;
    forget_what_is_over(posts);
    buf_init(&text, POSTS_BYTES);
    bool first = true;
    buf_byte(&text, '[');
    for (size_t i = 0; i < posts->count; i++) {
        const struct slack_post *post = &posts->list[i];
        if (post->ts[0] == '\0') {
            continue;
        }
        buf_printf(&text, "%s{\"request\":%lld,\"code\":\"%s\",\"channel\":\"%s\",\"ts\":\"%s\"%s}",
                   first ? "" : ",\n", (long long)post->request, post->code, post->channel, post->ts,
                   post->whole == SLACK_IN_SNIPPET ? ",\"snippet\":true" : "");
        first = false;
    }
    buf_text(&text, "]\n");
    int fd =
        openat(posts->state_dir, POSTS_TEMP, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && buf_ok(&text) && write(fd, text.ptr, text.len) == (ssize_t)text.len;
    if (fd >= 0) {
        close(fd);
    }
    if (ok) {
        (void)renameat(posts->state_dir, POSTS_TEMP, posts->state_dir, SLACK_POSTS_FILE);
    }
    buf_finish(&text);
}
