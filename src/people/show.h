/* What people see of a call that waits: the whole input, laid out for reading. Every surface uses it.
 *
 * Nothing is left out and nothing is shortened. Control, bidirectional and other unseen characters stand as
 * \u{XXXX}, so that no text can draw on a terminal or hide a part of itself. Secrets are masked before a request
 * is stored (journal.h), not here. SPEC.md section 6. */
#ifndef PEOPLE_SHOW_H
#define PEOPLE_SHOW_H

#include "json/json.h"

/* What one line of the layout is, for surfaces that colour or fold. */
enum show_kind {
    SHOW_PLAIN,
    SHOW_NAME,    /* begins with an argument's name */
    SHOW_REMOVED, /* a line that an edit takes away; begins with "- " */
    SHOW_ADDED,   /* a line that an edit brings; begins with "+ " */
    SHOW_NOTE,    /* of ours, not of the call */
};

/* Gets each line, without its line end. The text is borrowed until the call returns. */
struct show_lines {
    void (*line)(void *context, enum show_kind kind, struct slice text);
    void *context;
};

/* Lays the text of a JSON value out: members of objects one a line, `name: value`, what they hold indented by two;
 * texts of several lines line by line; the old and the new text of an edit as a difference. False when `json` is
 * no JSON, or without memory: then it cannot be shown, and so not approved. */
MUST_USE bool show_input(struct slice json, const struct show_lines *lines);

/* The difference of two texts, line by line: what both have stands as "  ", what only one has as "- " or "+ ".
 * Beyond SHOW_DIFF_LINES lines that differ, all of the old text and then all of the new. */
#define SHOW_DIFF_LINES 2000u
MUST_USE bool show_difference(struct slice old_text, struct slice new_text, unsigned indent,
                              const struct show_lines *lines);

/* The same as one text: each line with its line end. */
MUST_USE bool show_input_text(struct buf *buf, struct slice json, unsigned indent);

#endif
