/* Commands: the readable part of the shell language, what a command is, and what it names (SPEC 4.2).
 *
 * A text is read by one grammar, that on which sh, bash, dash, ksh, mksh, zsh and busybox ash agree; anything
 * else makes the whole text one unreadable command. Reading is pure: no file, no environment, one pass over the
 * text, recursion no deeper than COMMAND_DEPTH for each of COMMAND_SHELLS texts inside one another.
 *
 * A reader owns all that it gives, until command_reader_reset or command_reader_finish; slices also point into
 * the texts that it was given, which must live as long. Patterns are in command/pattern.h. */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include <stdint.h>

#include "base/arena.h"

#define COMMAND_TEXT_BYTES 65536u /* a longer text is unreadable */
#define COMMAND_DEPTH      32u    /* `(` and `$(` inside one another */
#define COMMAND_SHELLS     4u     /* `sh -c` inside one another */
#define COMMAND_INNER      1024u  /* commands that one text's commands may hold in their words */

/* ---- Commands and their words ---- */

enum command_word_flag {
    COMMAND_WORD_OPAQUE = 1u << 0,   /* neither its value nor how many words it becomes is known */
    COMMAND_WORD_GLOB = 1u << 1,     /* has an unquoted `*` or `?`; opaque, too */
    COMMAND_WORD_HOME = 1u << 2,     /* begins with an unquoted `~`: below the home directory, nowhere else */
    COMMAND_WORD_EXPANDED = 1u << 3, /* has an expansion; opaque, too */
};

/* The text of an opaque word is what it may be, read aside: an expansion of a name stands as `$NAME`, any
 * other as `$`, and `*` and `?` as themselves. */
struct command_word {
    struct slice text; /* without its quotes */
    uint32_t at;       /* where it begins in its text */
    uint32_t flags;
};

enum command_flag {
    COMMAND_UNREADABLE = 1u << 0,  /* a text outside the grammar; has no words */
    COMMAND_OPEN = 1u << 1,        /* what follows its known words is not known */
    COMMAND_ASSIGNED = 1u << 2,    /* a variable was assigned before it: matches no auto_approve */
    COMMAND_REDIRECTION = 1u << 3, /* `>` or `<` and a file, of the command before it */
    COMMAND_LOST = 1u << 4,        /* a change of directory before it leads where it is not known */
    COMMAND_OF_TEXT = 1u << 5,     /* an inner one of the text of a `sh -c`: its words are not its owner's */
    COMMAND_FEWER = 1u << 6, /* an inner one that is another without its options: it acts where that does */
};

/* A change of directory before a command. The list goes from the last one back to the first. */
struct command_cd {
    const struct command_cd *before;
    struct slice text; /* a place, as of a command; `~` with `home` for a `cd` without a word */
    bool home;         /* begins with an unquoted `~`, as COMMAND_WORD_HOME */
};

struct command {
    const struct command_word *first; /* NULL of an unreadable one */
    const struct command_word *rest;  /* the later words; use command_word_at */
    uint32_t count;                   /* of all words, opaque ones and those behind them included */
    uint32_t known;                   /* words up to the first opaque one; all when none is */
    uint32_t flags;
    const struct command_cd *cd; /* where it may start besides; NULL for nowhere */
    uint32_t owner;              /* of an inner command: the index of the one whose words it stands in */
    struct slice raw;            /* of an unreadable one: its text, for command_run_next */
    uint32_t at;                 /* of an unreadable one: the byte of its text that cannot be read */
    const char *reason;          /* of an unreadable one: constant, as in "an expansion" */
};

static inline const struct command_word *command_word_at(const struct command *command, uint32_t index)
{
    return index == 0 ? command->first : &command->rest[index - 1];
}

/* What one text or one array is. */
struct command_list {
    const struct command *commands; /* in the order of SPEC 4.2: substitutions before, redirections behind */
    uint32_t count;                 /* 0 when the text holds no command; of an unreadable text 1 */
    const struct command *inner;    /* after command_read_inner: commands inside words, by owner */
    uint32_t inner_count;
    bool inner_over;               /* there are more than COMMAND_INNER; the call is over a limit */
    const struct slice *documents; /* the bodies of its here-documents */
    uint32_t document_count;
};

/* Equal in all that a rule or a reading looks at. */
bool command_equal(const struct command *a, const struct command *b);

/* ---- Reading ---- */

struct command_reader;

/* NULL when there is no memory. The reader may be used for any number of calls. */
MUST_USE struct command_reader *command_reader_create(void);
void command_reader_destroy(struct command_reader *reader); /* takes NULL */

/* Forgets all that was read, and keeps its memory for what comes. */
void command_reader_reset(struct command_reader *reader);

/* What stands beside a command in a call: the strings of `args` or `arguments`. */
struct command_args {
    const struct slice *words;
    size_t count;
    bool open; /* of a shape that is not known, or both of them: the last command is open */
};

/* Reads the text of a shell command. `args` may be NULL. False only when there is no memory. */
MUST_USE bool command_read_text(struct command_reader *reader, struct slice text,
                                const struct command_args *args, struct command_list *ret_list);

/* Reads the words of one command; there must be at least one. They are words as they are, no shell text. */
MUST_USE bool command_read_words(struct command_reader *reader, const struct slice *words, size_t count,
                                 const struct command_args *args, struct command_list *ret_list);

/* The list of a value that is no command at all, such as a number: one unreadable command. */
MUST_USE bool command_read_nothing(struct command_reader *reader, const char *reason,
                                   struct command_list *ret_list);

/* Fills in the commands that stand in the words of others and are read aside: behind programs such as sudo,
 * behind `find -exec`, and a command without its options. */
MUST_USE bool command_read_inner(struct command_reader *reader, struct command_list *list);

/* Appends a text that the grammar reads as this command: for messages, digests and witnesses. Opaque words
 * stand as in the original, `$` for a substitution; an unreadable command is its raw text. */
struct buf;
void command_append_text(struct buf *buf, const struct command *command);

/* Appends one word so that a shell reads it as this word: plain where it can be, else in single quotes. */
void command_append_word(struct buf *buf, struct slice word);

/* ---- Places and hosts ----
 *
 * What a command names, as text; the call's room turns texts into paths and hosts. All are walked one at a
 * time, in the order of SPEC 4.2, so that a limit can end a walk early. */

struct command_place {
    struct slice text; /* never empty; of a URL the whole URL */
    bool home;         /* below the home directory and nowhere else */
    bool url;          /* begins as a URL: its host is one of the command's hosts */
    bool glob;         /* of an opaque word with an unquoted `*` or `?` */
    bool opaque;       /* of an opaque word: read aside, with `$HOME` and `$PWD` at its start filled in */
};

/* The texts in one word that may be places: the word, what follows `=`, `,`, `:` and `@`, and so on. */
struct command_split {
    struct slice whole, next;
    size_t at;
    uint8_t step;
    bool home, later, before_done;
};

void command_split_start(struct command_split *split, struct slice word, bool home);
bool command_split_next(struct command_split *split, struct command_place *ret_place);

struct command_places {
    const struct command *command;
    struct command_split split;
    uint32_t index, skipped; /* the word that is walked; the word that a search is for */
    bool opaque;             /* opaque words alone */
    bool begun;
};

/* The places of a command: of its known words and of words behind an opaque one. */
void command_places_start(struct command_places *places, const struct command *command);
/* What its opaque words may be, read aside. */
void command_guesses_start(struct command_places *places, const struct command *command);
bool command_places_next(struct command_places *places, struct command_place *ret_place);

/* Whether the command has a place that is not known: `cd` or `pushd` of two places. The places of later commands
 * are then lost. */
bool command_has_unknown_place(const struct command *command);

/* Whether the runs of its words, and of the here-documents of its text, are read aside as places: it runs what
 * it is told. */
bool command_runs_anything(const struct command *command);

/* The same of a program's name, with or without a directory; for lint. */
bool command_name_runs_anything(struct slice name);

/* Runs in a text that may be places, each of which command_split_start takes apart. One behind `$HOME` or
 * `${HOME}`, or PWD, begins with `$HOME` or `$PWD`, to be filled in. *at goes from 0; `room` must hold a run. */
#define COMMAND_RUN_BYTES 4096u /* a longer one is no path, and is passed over */
bool command_run_next(struct slice text, size_t *at, char room[COMMAND_RUN_BYTES], struct slice *ret_run);

/* Runs in a text that may be a HOST: of letters, digits, `.`, `_` and `-`. */
bool command_host_run_next(struct slice text, size_t *at, struct slice *ret_run);

/* Whether a program names whole trees, which are read aside. */
struct command_trees {
    bool names;   /* its places are trees */
    bool entries; /* entries below them count, by name */
    bool hidden;  /* entries below names that begin with `.`, too */
    bool here;    /* the working directory is one, too, unless `last` names something that exists */
    struct slice
        last; /* the last later word without a leading `-`, of a search the second or a later such: the first
                          may be what is searched for; its length is 0 when there is none */
    bool last_home;   /* `last` begins with an unquoted `~` */
    bool last_opaque; /* `last` is not known: it names nothing that is known to exist */
};

void command_trees_of(const struct command *command, struct command_trees *ret_trees);

#endif
