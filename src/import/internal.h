/* What the importers share: entries of another program's lists, the rules that are written for them, and the
 * report. Nothing outside src/import includes this.
 *
 * An importer borrows its options and result and owns the rest until import_finish. All texts that helpers give
 * live in its arena. A helper that finds no memory sets `failed` and gives nothing. */
#ifndef IMPORT_INTERNAL_H
#define IMPORT_INTERNAL_H

#include "base/intern.h"
#include "import/import.h"
#include "import/path_pattern_internal.h"
#include "json/json.h"

enum import_list {
    IMPORT_DENY,
    IMPORT_ASK,
    IMPORT_ALLOW,
};
#define IMPORT_LISTS 3

struct import_entry {
    struct slice text; /* as the report shows it */
    enum import_list list;
    uint32_t number;    /* of those in this list, from 1 */
    uint32_t rules;     /* written for it */
    bool asked;         /* an allow that was written as a question, because of a deferred one */
    struct slice place; /* "FILE: permissions.deny[0] ": the begin of its line in the report */
};

struct import_deferred;

struct importer {
    const struct import_options *options;
    struct import_result *result;
    const char *source; /* "Claude Code's settings": for the rules' reasons and comments */
    struct arena arena;
    struct intern written;       /* effect and match of each rule */
    struct import_places places; /* of the file at hand */
    struct buf rules, match;
    struct slice *beginnings; /* of commands, from allows that say no more */
    size_t beginning_count;
    uint32_t numbers[IMPORT_LISTS];   /* of the last entry in each list */
    struct import_deferred *deferred; /* the newest first */
    bool limits_files;                /* a deny or an ask names files */
    bool failed;                      /* no memory */
};

void import_init(struct importer *im, const struct import_options *options, struct import_result *result,
                 const char *source);
void import_finish(struct importer *im);

/* Writes the document of all rules and the end of the report; `notes` are lines for people. */
MUST_USE bool import_write(struct importer *im, const char *notes);

/* ---- Rules ---- */

struct texts {
    const struct slice *list;
    size_t count;
};

/* A list of one text, or of none when ptr is NULL. */
struct texts import_one(struct importer *im, struct slice text);

/* A list of constant texts, up to a NULL. */
struct texts import_texts(struct importer *im, const char *const *texts);

/* What a rule matches; a list without texts and a slice whose ptr is NULL are absent. */
struct import_match {
    struct texts tools;
    struct slice prefix; /* of the tool's name */
    struct slice server;
    struct slice path, component;
    struct texts commands, command_prefixes;
    struct slice command_word;
    struct slice host;
    struct slice argument;
    const char *value; /* of the argument: JSON text */
};

/* Writes a rule for an entry, unless one with this effect and match is there already. False when the rule
 * would not load. */
MUST_USE bool import_add(struct importer *im, struct import_entry *entry, const struct import_match *match);

/* The same with another effect than the entry's. */
MUST_USE bool import_add_as(struct importer *im, struct import_entry *entry, enum import_list effect,
                            const struct import_match *match);

/* Where rules of several effects stand in one order: an ask that covers more than it should would stand before a deny
 * of the same calls, and take them from it. So it is written at the very end, and allows that follow and may be about
 * the same tools become questions. False when it would not load. */
MUST_USE bool import_defer(struct importer *im, struct import_entry *entry, const struct import_match *match);

/* An entry of a list with its number. */
struct import_entry import_entry(struct importer *im, enum import_list list, struct slice text,
                                 struct slice place);

/* A text as JSON, in the arena; NULL without memory. */
const char *import_json_text(struct importer *im, struct slice text);

/* A part of a tool's name in a server's flattened name: every way to part it. */
MUST_USE bool import_add_splits(struct importer *im, struct import_entry *entry, struct slice rest,
                                struct slice separator);

/* ---- The report ---- */

enum import_verdict {
    IMPORT_KEPT,
    IMPORT_STRICTER, /* a deny or an ask that covers more */
    IMPORT_NARROWER, /* an allow that covers less */
    IMPORT_LEFT_OUT,
};

/* The entry's line in the report. `note` may be "". */
void import_tell(struct importer *im, const struct import_entry *entry, enum import_verdict verdict,
                 const char *note);

/* The line of a setting that is no rule. `place` begins it. */
void import_tell_setting(struct importer *im, struct slice place, struct slice value, const char *why);

/* "FILE: WHERE" and "[INDEX]" (NULL: none) and a blank, in the arena. */
struct slice import_place(struct importer *im, const struct import_file *file, const char *where,
                          struct slice key, const uint32_t *index);

/* "FILE:LINE:COLUMN: " before a message. */
void import_place_message(struct buf *error, const struct import_file *file, size_t offset);

/* ---- Shell commands ---- */

enum import_command_kind {
    IMPORT_COMMAND_NONE = 0, /* nothing of it can be said; `note` says why */
    IMPORT_COMMAND_ALL,      /* every command */
    IMPORT_COMMAND_EXACT,
    IMPORT_COMMAND_MORE, /* the match covers more than the pattern; `note` says what */
    IMPORT_COMMAND_LESS,
};

struct import_command {
    struct slice command, prefix, word; /* of a match */
    struct slice text;                  /* of an allow: this very text, as an argument */
    struct slice program;               /* the first word, where it is known */
    const char *note;
};

/* A pattern over the text of one command: `*` is any text, `?` (where `one` is set) any character, and ` *` at its end
 * may also be nothing. widen: the match may cover more (of a deny or an ask), else only less. */
enum import_command_kind import_command_read(struct importer *im, struct slice pattern, bool widen, bool one,
                                             struct import_command *ret);

/* Words as the text of a pattern; ptr NULL when no pattern can say them. */
struct slice import_command_words(struct importer *im, const struct slice *words, size_t count);

/* Whether a program runs the text that stands behind its -c: what is inside is judged in its stead. */
bool import_is_shell(struct slice program);

#endif
