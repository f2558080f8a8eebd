/* What the files of the program share. Nothing outside src/slack includes this. */
#ifndef SLACK_INTERNAL_H
#define SLACK_INTERNAL_H

#include "slack/slack.h"
#include "slack/socket_internal.h"
#include "slack/web_internal.h"

#define SEEN_ENVELOPES 1024u
#define ENVELOPE_ID    64u

/* Two connections at most: a new one stands before an old one that Slack is about to close goes. */
#define LINKS 2

struct slack_link {
    struct slack *slack;
    struct socket_link *socket;
    bool greeted;  /* Slack has said hello */
    bool retiring; /* Slack has said that it will close it */
    bool failed;
};

struct slack {
    struct slack_settings settings;
    struct web *web;
    struct slack_link links[LINKS];
    bool opening;         /* a ticket is asked for */
    int64_t next_open_ms; /* boot clock */
    int64_t pause_ms;
    bool stopped; /* Slack does not want us any more: the message says why */

    struct people *people;
    struct roster roster;
    struct slack_posts posts;
    struct slack_denials *denials; /* NULL: they are not wanted */
    struct arena arena;            /* of one look */
    struct request *waiting;
    size_t waiting_count;

    char seen[SEEN_ENVELOPES][ENVELOPE_ID]; /* a ring of envelopes that were taken */
    size_t seen_at;
    bool look_soon; /* an answer has changed something */
};

/* A line for the operator, to standard error. Never holds a token or a text of a call. */
void slack_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reads what waits and brings the messages up to date. */
void slack_look(struct slack *slack);

/* ---- Denials (denials.c) ---- */

struct slack_denials;

/* Tells the operator's channel what the journal says from now on of denials and refused reloads. `state_dir` is borrowed. NULL
 * without memory. */
struct slack_denials *slack_denials_create(const char *state_dir);
void slack_denials_destroy(struct slack_denials *denials);

/* Reads what is new in the journal and posts it, at most one message in two seconds: a flood of denials is one message with
 * their number. */
void slack_denials_look(struct slack *slack);

/* ---- Snippets (snippet.c) ---- */

/* Uploads the whole input of a request, laid out as on every surface, into the thread of its message, which is posted.
 * `post->whole` says what came of it. `thread_ts`: the thread. */
void slack_upload(struct slack *slack, struct slack_post *post, const struct request *request,
                  const char *thread_ts);

/* The request that waits under a number, or NULL. */
const struct request *slack_waiting(const struct slack *slack, int64_t number);

/* Proves tokens, channel and people, and says what is missing. The program's exit status. */
int slack_check(struct slack *slack);

/* Tells one person alone, in a channel. */
void slack_tell(struct slack *slack, struct slice channel, struct slice user, const char *text);

#endif
