/* `callgate slack`: approvals in Slack, as the bridge had them.
 *
 * A program of its own, because no gate and no hook shall link libcurl. It sees what `pending` sees, posts a message
 * for each request, and takes answers by buttons and by `y CODE` in the message's thread, over Socket Mode: no port is
 * open. Who may answer stands in people.json; a person is WORKSPACE/USER. The store decides who was first, so a vote
 * that comes twice, after a restart or from two connections, counts once. */
#ifndef SLACK_SLACK_H
#define SLACK_SLACK_H

#include "gate/gate.h"
#include "people/roster.h"

/* ---- Settings (settings.c) ---- */

#define SLACK_API "https://slack.com/api/"

struct slack_settings {
    char channel[64]; /* where requests go whose session is in no Slack channel */
    char denials[64]; /* where denials and refused reloads are told; empty: nowhere */
    char bot_token[256], app_token[256];
    char base[256]; /* SLACK_API; a loopback one in tests */
};

/* Reads slack.json of the state directory: {"channel","botTokenFile","appTokenFile","denials"?}, and the tokens from
 * their files (mode 0600, this user's). False with a line for people, which never holds a token. */
MUST_USE bool slack_settings_read(struct slack_settings *ret_settings, int state_dir, struct buf *ret_error);
void slack_settings_clear(struct slack_settings *settings);

/* ---- Messages (blocks.c) ---- */

#define SLACK_SECTION_MOST 2900u /* bytes of one section; Slack takes 3000 characters */
#define SLACK_SECTIONS     30u   /* of an input; a longer one goes to a snippet */

/* Where the whole input can be seen in Slack. Only where it can, the request is answered there. */
enum slack_whole {
    SLACK_UNKNOWN,    /* not looked at yet */
    SLACK_IN_MESSAGE, /* in the message itself */
    SLACK_TOO_LONG,   /* for a message; no snippet yet */
    SLACK_UPLOADING,  /* a snippet is on its way */
    SLACK_IN_SNIPPET, /* Slack has said that it has all of it */
    SLACK_NOT_TO_SEE, /* the snippet was refused */
};

/* Appends {"channel","text","blocks"[,"thread_ts"][,"ts"]} for a request. `ended` is a word for how it ended, or NULL
 * while it waits; then there are buttons if `whole` says that the input can be seen. `by`: who answered. */
void slack_write_message(struct buf *buf, const struct request *request, enum slack_whole whole,
                         const char *ended, struct slice by, const char *channel, const char *thread_ts,
                         const char *ts);

/* Appends a text as it may stand in a message: printable, and no mark-up of Slack's. */
void slack_append_text(struct buf *buf, struct slice text);

/* Whether an input can be shown whole in a message. */
bool slack_can_show(struct slice input);

/* Whether a session's channel is one of Slack's, by the form of its id. */
bool slack_is_channel(struct slice channel);

/* ---- Which message stands for which request (posts.c) ---- */

struct slack_post {
    int64_t request;
    char code[CODE_LENGTH + 1];
    char channel[64], ts[64];
    uint32_t given;         /* as shown */
    enum slack_whole whole; /* where its input is */
    enum slack_whole shown; /* what its message says of that */
    int64_t again_ms;       /* boot clock: a snippet that found no network is not tried before */
    bool posting;           /* on its way: no ts yet */
    bool over;              /* its end is shown, or on its way */
};

struct slack_posts {
    struct slack_post *list;
    size_t count, cap;
    int state_dir;
};

#define SLACK_POSTS_FILE "slack-messages.json"

MUST_USE bool slack_posts_read(struct slack_posts *ret_posts, int state_dir, struct buf *ret_error);
void slack_posts_finish(struct slack_posts *posts);
/* The post of a request, or NULL. Borrowed until the next slack_posts_add. */
struct slack_post *slack_posts_find(struct slack_posts *posts, int64_t request);
struct slack_post *slack_posts_add(struct slack_posts *posts, int64_t request, const char *code);
/* Writes the list, so that a restart posts nothing twice; forgets what is over. */
void slack_posts_save(struct slack_posts *posts);

/* ---- Answers (answers.c) ---- */

struct slack;

/* What an envelope of Socket Mode asks for. Called after it was acknowledged. */
void slack_take_envelope(struct slack *slack, const struct json_doc *doc, const struct json_value *type,
                         const struct json_value *payload);

#endif
