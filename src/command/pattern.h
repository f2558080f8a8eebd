/* Patterns over commands: `command`, `commandPrefix` and `commandWord` of a rule (SPEC 4.2).
 *
 * A pattern is compiled once, from text, by the reader of commands, and lives in the arena that was given. Two
 * kinds of rule read one text in two ways: in an auto_approve a first word is that word (tight); in a deny or
 * require_approval a first word without `/` is that program in every directory (loose). */
#ifndef COMMAND_PATTERN_H
#define COMMAND_PATTERN_H

#include "command/command.h"

#define COMMAND_PATTERN_WORDS 32u

/* Zero is the answer that is right for every effect: not known. */
enum command_answer {
    COMMAND_UNKNOWN, /* an auto_approve does not match, any other rule is noted */
    COMMAND_NO,
    COMMAND_YES,
};

struct command_pattern_word {
    struct slice text;
    bool any; /* `*`: any one word */
};

struct command_pattern {
    bool exact; /* these words and no more; otherwise a command begins with them */
    bool
        loose; /* the first word is compared with what follows the last `/` of a command's; it has none itself */
    uint32_t count; /* from 1 to COMMAND_PATTERN_WORDS */
    const struct command_pattern_word *words;
};

enum command_pattern_result {
    COMMAND_PATTERN_OK,
    COMMAND_PATTERN_BAD, /* no pattern; *ret_why says why */
    COMMAND_PATTERN_NO_MEMORY,
};

/* Compiles a rule's `command` (exact) or `commandPrefix`. `loose` is true of a deny or a require_approval. What
 * is wrong is told as the end of a sentence, with the byte where it stands. */
MUST_USE enum command_pattern_result command_pattern_compile(struct command_reader *reader,
                                                             struct arena *arena, struct slice text,
                                                             bool exact, bool loose,
                                                             struct command_pattern *ret_pattern,
                                                             const char **ret_why, uint32_t *ret_at);

enum command_answer command_pattern_match(const struct command_pattern *pattern,
                                          const struct command *command);

bool command_pattern_equal(const struct command_pattern *a, const struct command_pattern *b);

/* Whether every command that `part` stands for is one of `whole`. Exact: if not, there is such a command. */
bool command_pattern_subset(const struct command_pattern *part, const struct command_pattern *whole);

/* Whether some command is one of both; then *ret_meet stands for just those, and its words are in the arena.
 * `ret_meet` may be NULL, and the arena too. */
MUST_USE enum command_answer command_pattern_meet(struct arena *arena, const struct command_pattern *a,
                                                  const struct command_pattern *b,
                                                  struct command_pattern *ret_meet);

/* Appends the canonical text, which compiles to an equal pattern (for the same kind of rule). */
struct buf;
void command_pattern_append(struct buf *buf, const struct command_pattern *pattern);

/* ---- commandWord: a later word ---- */

enum command_word_kind {
    COMMAND_WORD_IS,
    COMMAND_WORD_BEGINS, /* `TEXT*` */
    COMMAND_WORD_ENDS,   /* `*TEXT` */
};

struct command_word_pattern {
    enum command_word_kind kind;
    char letter;       /* of `-x`: also met in a word of `-` and letters that has it; otherwise 0 */
    struct slice text; /* never empty */
};

MUST_USE enum command_pattern_result command_word_compile(struct command_reader *reader, struct arena *arena,
                                                          struct slice text,
                                                          struct command_word_pattern *ret_pattern,
                                                          const char **ret_why, uint32_t *ret_at);

/* Whether one known word is one of the pattern's. */
bool command_word_meets(const struct command_word_pattern *pattern, struct slice word);

enum command_answer command_word_match(const struct command_word_pattern *pattern,
                                       const struct command *command);

bool command_word_equal(const struct command_word_pattern *a, const struct command_word_pattern *b);
bool command_word_subset(const struct command_word_pattern *part, const struct command_word_pattern *whole);
void command_word_append(struct buf *buf, const struct command_word_pattern *pattern);

#endif
