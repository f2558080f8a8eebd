/* `callgate watch`: requests that wait and decisions that pass, live, in a terminal.
 *
 * A program of its own, because no gate and no hook shall link ncurses. It sees what `pending` sees and answers as
 * `approve` and `refuse` do; the store decides who was first. What a tool sends is never drawn as it came: every
 * character that a terminal could obey stands spelt out (people/show.h). */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include "gate/gate.h"
#include "people/show.h"

#define WATCH_LOOK_MS   250
#define WATCH_DECISIONS 200u

/* ---- What is seen (model.c) ---- */

struct watch_line {
    enum show_kind kind;
    struct slice text;
};

/* One decision that passed: a line for people. */
struct watch_decision {
    char text[512];
    bool denied;
};

struct watch_model {
    struct people *people;
    struct roster roster;
    const char *state_dir;
    struct request *requests; /* that wait and pass the filter, oldest first; valid until the next look */
    size_t count;
    size_t hidden; /* that wait and do not pass it */
    char filter[64];
    struct arena arena; /* of the requests */

    struct watch_decision *decisions; /* the newest last; a ring */
    size_t decision_first, decision_count;
    int journal; /* read from `journal_at` on; -1: not open */
    int64_t journal_at;
    uint64_t journal_ino;
    struct buf tail; /* of a line that is not whole yet */

    char message[512]; /* what became of the last answer */
};

/* `home` and `people_file` as roster_open has them. */
MUST_USE bool watch_open(struct watch_model *ret_model, const char *state_dir, const char *home,
                         const char *people_file, struct buf *ret_error);
void watch_close(struct watch_model *model);

/* Looks again. False when the store cannot be read; the message says why. */
bool watch_look(struct watch_model *model);

/* What an answer is. */
enum watch_answer {
    WATCH_ONCE, /* this call, one time */
    WATCH_CALL, /* this very call again, too */
    WATCH_RULE, /* what the rule allows */
    WATCH_REFUSE,
};

/* Answers; the message says what became of it. */
void watch_answer(struct watch_model *model, const struct request *request, enum watch_answer answer);

/* The lines of one request, whole, in an arena. False when it cannot be shown: then it cannot be approved. */
MUST_USE bool watch_lines(const struct request *request, int64_t now_ms, struct arena *arena,
                          struct watch_line **ret_lines, size_t *ret_count);

/* ---- What is drawn (view.c) ---- */

struct watch_view {
    size_t selected;
    bool open; /* one request, whole */
    char open_code[CODE_LENGTH + 1];
    size_t top;               /* the first row shown of it */
    struct watch_line *lines; /* as they are */
    size_t line_count;
    struct watch_line *rows; /* wrapped at `width`, so that nothing of them is out of sight */
    size_t row_count;
    int width;
    struct arena arena;   /* of the lines */
    bool shown;           /* the lines are all there is */
    bool filtering;       /* keys go into the filter */
    uint64_t answered_ns; /* when a request was answered last, by clock_mono_ns */
    bool help;
    bool colour;
};

void watch_view_begin(struct watch_view *ret_view);
void watch_view_end(struct watch_view *view);
/* Wraps the lines anew where the terminal's width is another than that of the rows. */
void watch_wrap(struct watch_view *view);
void watch_draw(const struct watch_view *view, const struct watch_model *model, int64_t now_ms);

#endif
