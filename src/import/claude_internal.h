/* The parts of the import of Claude Code's permission lists. Nothing outside src/import includes this.
 *
 * An importer borrows its options and result and owns the rest until the end of import_claude_settings. */
#ifndef IMPORT_CLAUDE_INTERNAL_H
#define IMPORT_CLAUDE_INTERNAL_H

#include "import/claude_path_internal.h"
#include "import/import.h"

/* In the order in which they are asked, there and here. */
enum claude_list {
    LIST_OF_DENY,
    LIST_OF_ASK,
    LIST_OF_ALLOW,
};
#define CLAUDE_LISTS 3

struct claude_entry {
    struct slice text;
    enum claude_list list;
    uint32_t number;    /* in the merged list, from 1 */
    uint32_t rules;     /* written for it */
    struct slice place; /* "FILE: permissions.deny[0] ": the begin of its line in the report */
};

struct importer {
    const struct import_options *options;
    struct import_result *result;
    struct arena arena;
    struct intern written;       /* effect and match of each rule */
    struct claude_places places; /* of the file at hand */
    struct buf rules, match;
    bool limits_files; /* a deny or an ask names files: there it holds for shell commands, too */
    bool failed;       /* no memory */
};

const char *claude_list_name(enum claude_list list);

/* What a rule matches; a field whose ptr is NULL is absent. */
struct claude_match {
    struct slice tool, prefix, server, actor, path, component, argument;
    const char *value; /* of the argument: JSON text */
};

/* Writes a rule for an entry, unless one with this effect and match is there already. False when the rule
 * would not load. */
MUST_USE bool claude_add_rule(struct importer *im, struct claude_entry *entry,
                              const struct claude_match *match);

enum claude_verdict {
    CLAUDE_KEPT,
    CLAUDE_STRICTER, /* a deny or an ask that covers more */
    CLAUDE_NARROWER, /* an allow that covers less */
    CLAUDE_LEFT_OUT,
};

/* The entry's line in the report. `note` may be "". */
void claude_tell(struct importer *im, const struct claude_entry *entry, enum claude_verdict verdict,
                 const char *note);

/* The line of a setting that is no rule. `place` begins it. */
void claude_tell_setting(struct importer *im, struct slice place, struct slice value, const char *why);

/* Translates one entry: its rules, and its line in the report. */
void claude_import_entry(struct importer *im, struct claude_entry *entry);

#endif
