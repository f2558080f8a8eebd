/* Messages kept up to date: one for each request that waits, and its end in the same message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "slack/internal.h"

#define POST_BYTES ((size_t)16 << 20)

/* What a request to the Web API was about: the post's number, because the list of posts may move meanwhile. */
struct errand {
    struct slack *slack;
    int64_t request;
    bool ends;
};

const struct request *slack_waiting(const struct slack *slack, int64_t number)
{
    for (size_t i = 0; i < slack->waiting_count; i++) {
        if (slack->waiting[i].number == number) {
            return &slack->waiting[i];
        }
    }
    return NULL;
}

static void posted(void *context, const struct web_answer *answer)
{
    struct errand *errand = context;
    struct slack_post *post = slack_posts_find(&errand->slack->posts, errand->request);
    const struct json_value *ts =
        answer->doc != NULL ? json_get(answer->doc, json_root(answer->doc), "ts") : NULL;
    const struct json_value *channel =
        answer->doc != NULL ? json_get(answer->doc, json_root(answer->doc), "channel") : NULL;
    if (post != NULL) {
        post->posting = false;
        if (answer->error != NULL || !json_is(ts, JSON_STRING) || !json_is(channel, JSON_STRING)) {
            slack_say("a request cannot be posted: %s",
                      answer->error != NULL ? answer->error : "no time stamp");
        } else {
            snprintf(post->ts, sizeof(post->ts), "%.*s", SLICE_FMT(json_str(ts)));
            snprintf(post->channel, sizeof(post->channel), "%.*s", SLICE_FMT(json_str(channel)));
            slack_posts_save(&errand->slack->posts);
        }
    }
    free(errand);
}

static void updated(void *context, const struct web_answer *answer)
{
    struct errand *errand = context;
    struct slack_post *post = slack_posts_find(&errand->slack->posts, errand->request);
    if (post != NULL) {
        post->posting = false;
        if (errand->ends && !answer->unreachable) { /* gone messages cannot be updated, and need not be */
            post->over = true;
            slack_posts_save(&errand->slack->posts);
        }
    }
    if (post != NULL && answer->error != NULL && answer->unreachable) {
        post->shown = SLACK_UNKNOWN; /* and so tried again */
    }
    if (answer->error != NULL) {
        slack_say("a message cannot be updated: %s", answer->error);
    }
    free(errand);
}

/* The thread that a request's session names, if it is one of Slack's; else "". */
static void write_thread(const struct request *r, char *to, size_t size)
{
    bool given = slack_is_channel(r->channel) && r->thread.len > 0 && r->thread.len < size;
    snprintf(to, size, "%.*s", given ? (int)r->thread.len : 0, given ? r->thread.ptr : "");
}

static void show(struct slack *slack, struct slack_post *post, const struct request *r, const char *ended)
{
    struct buf json;
    struct errand *errand = calloc(1, sizeof(*errand));
    char thread[64] = "";
    bool update = post->ts[0] != '\0', in_slack = slack_is_channel(r->channel);
    buf_init(&json, POST_BYTES);
    if (errand != NULL) {
        *errand = (struct errand){slack, post->request, ended != NULL};
        write_thread(r, thread, sizeof(thread));
        char channel[64];
        snprintf(channel, sizeof(channel), "%.*s",
                 update     ? (int)strlen(post->channel)
                 : in_slack ? (int)r->channel.len
                            : 63,
                 update     ? post->channel
                 : in_slack ? r->channel.ptr
                            : slack->settings.channel);
        slack_write_message(&json, r, post->whole, ended, SLICE(""), channel,
                            !update && thread[0] != '\0' ? thread : NULL, update ? post->ts : NULL);
        post->posting = buf_ok(&json) && web_post(slack->web, update ? "chat.update" : "chat.postMessage",
                                                  slack->settings.bot_token, buf_slice_of(&json),
                                                  update ? updated : posted, errand);
        if (post->posting) {
            post->given = r->given;
            post->shown = post->whole;
        } else {
            free(errand);
        }
    }
    buf_finish(&json);
}

/* Whether a message has to say something else than it does of where the whole input is. */
static bool whole_changed(const struct slack_post *post)
{
    return post->whole != post->shown && (post->whole == SLACK_IN_SNIPPET || post->whole == SLACK_NOT_TO_SEE);
}

/* Finds out where the input can be seen, and uploads it when its message is there. */
static void care_for_whole(struct slack *slack, struct slack_post *post, const struct request *r)
{
    char thread[64];
    if (post->whole == SLACK_UNKNOWN) {
        post->whole = slack_can_show(r->input) ? SLACK_IN_MESSAGE : SLACK_TOO_LONG;
    }
    if (post->whole == SLACK_TOO_LONG && post->ts[0] != '\0' && clock_boot_ms() >= post->again_ms) {
        write_thread(r, thread, sizeof(thread));
        slack_upload(slack, post, r, thread[0] != '\0' ? thread : post->ts);
    }
}

static void show_waiting(struct slack *slack)
{
    for (size_t i = 0; i < slack->waiting_count; i++) {
        const struct request *r = &slack->waiting[i];
        struct slack_post *post = slack_posts_find(&slack->posts, r->number);
        if (post == NULL) {
            post = slack_posts_add(&slack->posts, r->number, r->code);
        }
        if (post == NULL) {
            continue;
        }
        care_for_whole(slack, post, r);
        if (!post->posting && (post->ts[0] == '\0' || post->given != r->given || whole_changed(post))) {
            show(slack, post, r, NULL);
        }
    }
}

static const char *end_name(enum request_state state)
{
    switch (state) {
    case REQUEST_APPROVED:
        return "was approved";
    case REQUEST_REFUSED:
        return "was refused";
    case REQUEST_TIMED_OUT:
        return "was answered by nobody in time";
    default:
        return "was withdrawn";
    }
}

static void show_ends(struct slack *slack)
{
    for (size_t i = 0; i < slack->posts.count; i++) {
        struct slack_post *post = &slack->posts.list[i];
        struct request last = {0};
        struct buf error;
        if (post->posting || post->over || slack_waiting(slack, post->request) != NULL) {
            continue;
        }
        if (post->ts[0] == '\0') { /* it ended before it was posted */
            post->over = true;
            continue;
        }
        buf_init(&error, 4096);
        if (people_last(slack->people, slice_of(post->code), &last, &error) == STORE_DONE &&
            last.number == post->request && last.state != REQUEST_WAITING) {
            if (post->whole == SLACK_UNKNOWN) {
                post->whole = slack_can_show(last.input) ? SLACK_IN_MESSAGE : SLACK_TOO_LONG;
            }
            show(slack, post, &last, end_name(last.state));
        } else if (error.len == 0) { /* forgotten by the store: an old message keeps what it says */
            post->over = true;
        }
        buf_finish(&error);
    }
}

/* A copy of what waits, because every other question to the store takes the memory of its last answer. */
static bool copy_waiting(struct slack *slack, const struct request *list, size_t count)
{
    arena_reset(&slack->arena);
    struct request *copy = arena_array(&slack->arena, count + 1, sizeof(*copy));
    bool ok = copy != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        struct slice *const texts[] = {&copy[i].rule,   &copy[i].tool,    &copy[i].server, &copy[i].channel,
                                       &copy[i].thread, &copy[i].actor,   &copy[i].input,  &copy[i].paths,
                                       &copy[i].holder, &copy[i].because, &copy[i].groups};
        copy[i] = list[i];
        for (size_t k = 0; ok && k < sizeof(texts) / sizeof(texts[0]); k++) {
            if (texts[k]->ptr != NULL) {
                *texts[k] = arena_copy(&slack->arena, *texts[k]);
                ok = texts[k]->ptr != NULL;
            }
        }
    }
    slack->waiting = ok ? copy : NULL;
    slack->waiting_count = ok ? count : 0;
    return ok;
}

void slack_look(struct slack *slack)
{
    struct request *list = NULL;
    size_t count = 0;
    struct buf error;
    buf_init(&error, 4096);
    slack->look_soon = false;
    if (!people_waiting(slack->people, &list, &count, &error)) {
        slack_say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (copy_waiting(slack, list, count)) {
        show_waiting(slack);
        show_ends(slack);
    }
    buf_finish(&error);
}

static void told(void *context, const struct web_answer *answer)
{
    (void)context;
    (void)answer;
}

void slack_tell(struct slack *slack, struct slice channel, struct slice user, const char *text)
{
    struct buf json;
    if (channel.len == 0 || user.len == 0) {
        return;
    }
    buf_init(&json, 64u << 10);
    buf_text(&json, "{\"channel\":");
    json_write_bytes(&json, channel);
    buf_text(&json, ",\"user\":");
    json_write_bytes(&json, user);
    buf_text(&json, ",\"text\":");
    json_write_bytes(&json, slice_of(text));
    buf_byte(&json, '}');
    if (buf_ok(&json)) {
        (void)!web_post(slack->web, "chat.postEphemeral", slack->settings.bot_token, buf_slice_of(&json),
                        told, NULL);
    }
    buf_finish(&json);
}
