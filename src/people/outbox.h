/* Notices: what tells people that a request waits, or that it has ended.
 *
 * Who is to be told stands in `notices.json` of the state directory, so that every gate and every hook of the
 * user has it. A process that has something to tell puts it into the directory `outbox` and goes on: nothing
 * here waits, and a hook may end at once. A sender (people/sender.h), one for a state directory, takes notices
 * from there, and outlives whoever put them in.
 *
 * A notice is JSON without secrets: {"id","event","title","text","request"}. Texts are borrowed. */
#ifndef PEOPLE_OUTBOX_H
#define PEOPLE_OUTBOX_H

#include "json/json.h"

#define NOTICES_FILE "notices.json"
#define OUTBOX_DIR   "outbox"
#define OUTBOX_LOCK  "sender.lock"
#define OUTBOX_STATE "state.json" /* what the sender could not deliver: `status` shows it */

enum notice_kind {
    NOTICE_NONE = 0,
    NOTICE_COMMAND, /* a program: {"kind":"command","argv":["/usr/local/bin/tell"]}; never through a shell */
    NOTICE_DESKTOP, /* notify-send: {"kind":"desktop"} */
    NOTICE_BELL,    /* the bell of a terminal: {"kind":"bell","tty":"/dev/pts/3"} */
    NOTICE_WEBHOOK, /* an HTTPS POST: {"kind":"webhook","url":"https://…","keyFile":"/…"} */
};

struct notice_target {
    enum notice_kind kind;
    struct slice argv[16]; /* of a command; the first is absolute */
    size_t argc;
    struct slice tty, url, key_file;
};

struct notice_targets {
    struct notice_target *list;
    size_t count;
    struct arena arena; /* owns list and texts */
};

/* Reads notices.json of a state directory; a file that is not there gives no targets. False with a line for
 * people when it is there and cannot be read. */
MUST_USE bool notice_targets_read(struct notice_targets *ret_targets, int state_dir, struct buf *ret_error);
void notice_targets_finish(struct notice_targets *targets);

/* Reads one target from a JSON value; false with what is wrong. Texts are copied into the arena. */
MUST_USE bool notice_target_read(struct notice_target *ret_target, const struct json_doc *doc,
                                 const struct json_value *v, struct arena *arena, struct buf *ret_error);
void notice_target_write(struct buf *buf, const struct notice_target *target);

/* Writes notices.json anew. */
MUST_USE bool notice_targets_write(const struct notice_targets *targets, int state_dir,
                                   struct buf *ret_error);

/* Puts a notice into the outbox, once for each target, and one more for `command` (an absolute program of this
 * gate alone, from --notify) unless it is NULL. Then starts a sender unless one runs. Takes well under a
 * millisecond. Does nothing when nobody is to be told. False with a line for people when it cannot be put
 * there: the call is none the worse for it. */
MUST_USE bool outbox_post(int state_dir, const char *state_path, struct slice notice, const char *command,
                          struct buf *ret_error);

/* What `status` tells of notices. */
struct outbox_state {
    size_t waiting;   /* notices that are in the outbox now */
    uint64_t dropped; /* since the sender started */
    bool failing;     /* a webhook does not take what it is sent; then: */
    char since[32];   /* as ISO 8601 */
    char why[96];     /* for people */
};

/* False when the outbox is there and cannot be read. */
MUST_USE bool outbox_read_state(struct outbox_state *ret_state, int state_dir);

#endif
