/* Answers: buttons and replies, checked against what was posted and who may answer. */
#include <stdio.h>
#include <string.h>

#include "slack/internal.h"

static struct slice text_at(const struct json_doc *doc, const struct json_value *object, const char *name)
{
    const struct json_value *v = json_get(doc, object, name);
    return json_is(v, JSON_STRING) ? json_str(v) : (struct slice){0};
}

/* The post that a message is, or NULL. */
static const struct slack_post *post_of(struct slack *slack, struct slice channel, struct slice ts)
{
    for (size_t i = 0; i < slack->posts.count; i++) {
        const struct slack_post *post = &slack->posts.list[i];
        if (post->ts[0] != '\0' && slice_is(ts, post->ts) && slice_is(channel, post->channel)) {
            return post;
        }
    }
    return NULL;
}

/* WORKSPACE/USER, as people.json has it; false when either is missing or too long. */
static bool write_identity(struct slice team, struct slice user, char *to, size_t size)
{
    int len = team.len > 0 && user.len > 0 && team.len < 32 && user.len < 32
                  ? snprintf(to, size, "%.*s/%.*s", SLICE_FMT(team), SLICE_FMT(user))
                  : -1;
    return len > 0 && (size_t)len < size;
}

struct answer {
    struct slice team, user, channel; /* as Slack says: what authenticates */
    const char *code;
    int64_t request; /* that the message stands for */
    bool yes;
    enum approval_scope scope;
};

static void refuse_answer(struct slack *slack, const struct answer *a, struct slice identity, const char *why,
                          const char *told)
{
    const struct vote vote = {
        .code = slice_of(a->code), .identity = identity, .yes = a->yes, .scope = a->scope};
    people_drop(slack->people, &vote, why);
    slack_tell(slack, a->channel, a->user, told);
}

static void take_answer(struct slack *slack, const struct answer *a)
{
    char id[80] = "?";
    bool named = write_identity(a->team, a->user, id, sizeof(id));
    const struct request *request = slack_waiting(slack, a->request);
    const struct voter voter = {.surface = PEOPLE_SLACK, .id = slice_of(named ? id : "")};
    const struct vote vote = {.code = slice_of(a->code), .yes = a->yes, .scope = a->scope};
    struct people_answer answer;
    struct buf error;
    if (request == NULL || strcmp(request->code, a->code) != 0) {
        refuse_answer(slack, a, slice_of(id), "the request of this message waits no longer",
                      "This request waits no longer.");
        return;
    }
    const struct slack_post *post = slack_posts_find(&slack->posts, a->request);
    if (a->yes && (post == NULL || (post->whole != SLACK_IN_MESSAGE && post->whole != SLACK_IN_SNIPPET))) {
        refuse_answer(slack, a, slice_of(id), "the call was not shown whole",
                      "This call is too long to be approved here: answer in a terminal.");
        return;
    }
    buf_init_message(&error, MESSAGE_BYTES);
    switch (people_take_answer(slack->people, &slack->roster, &voter, &vote, &answer, &error)) {
    case STORE_DONE:
        break;
    case STORE_TWICE:
        slack_tell(slack, a->channel, a->user, "You have answered this request already.");
        break;
    case STORE_NONE:
        slack_tell(slack, a->channel, a->user, "This request waits no longer.");
        break;
    case STORE_FORBIDDEN:
        slack_tell(slack, a->channel, a->user, "You may not answer this request.");
        break;
    default:
        slack_say("an answer does not count: %.*s", SLICE_FMT(buf_message(&error)));
        slack_tell(slack, a->channel, a->user,
                   "Your answer could not be counted. Please answer in a terminal.");
    }
    buf_finish(&error);
    slack->look_soon = true;
}

/* ---- Buttons ---- */

static void take_button(struct slack *slack, const struct json_doc *doc, const struct json_value *payload)
{
    const struct json_value *actions = json_get(doc, payload, "actions");
    const struct json_value *action = json_is(actions, JSON_ARRAY) ? json_first(doc, actions) : NULL;
    const struct json_value *container = json_get(doc, payload, "container");
    const struct json_value *user = json_get(doc, payload, "user");
    struct slice id = text_at(doc, action, "action_id");
    struct slice channel = text_at(doc, container, "channel_id");
    const struct slack_post *post = post_of(slack, channel, text_at(doc, container, "message_ts"));
    const struct json_value *fleeting = json_get(doc, container, "is_ephemeral");
    static const struct {
        const char *begin;
        bool yes;
        enum approval_scope scope;
    } kinds[] = {
        {"callgate:once:", true, APPROVAL_ONCE},
        {"callgate:rule:", true, APPROVAL_SESSION},
        {"callgate:refuse:", false, APPROVAL_SESSION},
    };
    if (post == NULL || json_is(fleeting, JSON_TRUE)) {
        slack_tell(slack, channel, text_at(doc, user, "id"), "This message asks for nothing any more.");
        return;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char code[CODE_LENGTH + 1];
        memcpy(code, post->code, sizeof(code));
        if (slice_starts_with(id, slice_of(kinds[i].begin)) &&
            slice_is(slice_from(id, strlen(kinds[i].begin)), code)) {
            const struct answer answer = {
                .team = text_at(doc, user, "team_id"),
                .user = text_at(doc, user, "id"),
                .channel = channel,
                .code = code,
                .request = post->request,
                .yes = kinds[i].yes,
                .scope = kinds[i].scope,
            };
            take_answer(slack, &answer);
            return;
        }
    }
}

/* ---- Replies ---- */

/* `y CODE` in a thread of ours. What a bot says, what was edited, and what is no plain message counts for nothing. */
static void take_event(struct slack *slack, const struct json_doc *doc, const struct json_value *payload)
{
    const struct json_value *event = json_get(doc, payload, "event");
    char code[CODE_LENGTH + 1];
    bool yes;
    if (!slice_is(text_at(doc, event, "type"), "message") || json_get(doc, event, "subtype") != NULL ||
        json_get(doc, event, "bot_id") != NULL || json_get(doc, event, "edited") != NULL ||
        !reply_parse(text_at(doc, event, "text"), &yes, code)) {
        return;
    }
    struct slice channel = text_at(doc, event, "channel"), thread = text_at(doc, event, "thread_ts");
    for (size_t i = 0; i < CODE_LENGTH; i++) { /* a reply may be written in capitals; a code never is */
        code[i] = (char)(code[i] >= 'A' && code[i] <= 'Z' ? code[i] - 'A' + 'a' : code[i]);
    }
    const struct slack_post *post = post_of(slack, channel, thread);
    for (size_t i = 0; post == NULL && i < slack->posts.count; i++) { /* the session's own thread */
        const struct slack_post *other = &slack->posts.list[i];
        const struct request *request = slack_waiting(slack, other->request);
        if (request != NULL && strcmp(other->code, code) == 0 && slice_is(channel, other->channel) &&
            slice_eq(request->thread, thread)) {
            post = other;
        }
    }
    struct slice team = text_at(doc, event, "user_team");
    team = team.ptr != NULL ? team : text_at(doc, event, "team");
    team = team.ptr != NULL ? team : text_at(doc, payload, "team_id");
    const struct answer answer = {
        .team = team,
        .user = text_at(doc, event, "user"),
        .channel = channel,
        .code = code,
        .request = post != NULL ? post->request : 0,
        .yes = yes,
        .scope = APPROVAL_SESSION,
    };
    take_answer(slack, &answer);
}

void slack_take_envelope(struct slack *slack, const struct json_doc *doc, const struct json_value *type,
                         const struct json_value *payload)
{
    struct slice kind = json_str(type);
    if (slice_is(kind, "interactive") && slice_is(text_at(doc, payload, "type"), "block_actions")) {
        take_button(slack, doc, payload);
    } else if (slice_is(kind, "events_api")) {
        take_event(slack, doc, payload);
    }
}
