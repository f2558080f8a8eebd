/* What a server offers, as the state directory knows it: of each tool a digest of its definition, and which
 * definition people have accepted.
 *
 * A server that changes what a tool does after it was accepted is found by this, between two runs and within
 * one. A definition is everything that the server says of a tool but its icons and `_meta`, in RFC 8785 form;
 * its digest is the SHA-256 of that. The file is `tools/NAME.json` in the state directory, written whole.
 *
 * A tool_book owns its tools until tool_book_close. One thread uses it; several processes may use one file:
 * each reads what the others have accepted before it writes. */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H

#include "call/call.h"
#include "journal/journal.h"

struct tool_definition {
    char *text; /* malloc'd; NULL: there is none */
    size_t len;
    char digest[HASH_HEX + 1];
};

enum tool_state {
    TOOL_UNKNOWN = 0, /* the server has never offered it */
    TOOL_NEW,         /* offered, and never accepted */
    TOOL_CHANGED,     /* offered, and not as it was accepted */
    TOOL_GONE,        /* accepted, and not in the last list */
    TOOL_ACCEPTED,    /* offered as it was accepted */
};

struct tool {
    char *name; /* malloc'd; may hold any byte but is UTF-8 */
    size_t name_len;
    struct tool_definition seen;     /* in the last list that had it */
    struct tool_definition accepted; /* what people accepted */
    bool offered;                    /* the last list has it */
    bool news;                       /* the last list has it in another form than the one before */
    bool hidden;                     /* a surface does not show it (tool_book_hide); not kept in the file */
    uint64_t listed;                 /* the number of the last list that had it; 0: none of this process */
};

struct tool_book;

/* Opens the book of a server; one that is not there yet is empty. `key` is the server's name, or any text that
 * tells it from others. NULL with a message for people. */
MUST_USE struct tool_book *tool_book_open(const char *state_dir, struct slice key, struct buf *ret_error);
void tool_book_close(struct tool_book *book);

/* The tools, sorted by the bytes of their names; valid until the book is changed. */
const struct tool *tool_book_tools(const struct tool_book *book, size_t *ret_count);
const struct tool *tool_book_find(const struct tool_book *book, struct slice name);
enum tool_state tool_state(const struct tool *tool); /* NULL: TOOL_UNKNOWN */
const char *tool_state_name(enum tool_state state);

/* Whether the book has no file: the server was never seen. */
bool tool_book_is_fresh(const struct tool_book *book);

/* ---- A list of the server, in one page or several ---- */

void tool_book_begin_list(struct tool_book *book);

/* Takes the `tools` of one page. False without memory, or when a tool has no name. */
MUST_USE bool tool_book_add_page(struct tool_book *book, const struct json_doc *doc,
                                 const struct json_value *tools);

/* All pages are in: what was not in them is no longer offered. True when anything is another than before, so
 * that the book should be saved. */
bool tool_book_end_list(struct tool_book *book);

/* Marks a tool that is known as one that is not shown, or as one that is. True when that is another mark than before. */
bool tool_book_hide(struct tool_book *book, struct slice name, bool hidden);

/* Whether a tool's last definition is the accepted one, also in the middle of a list. */
bool tool_is_as_accepted(const struct tool *tool);

/* Whether a call has top-level arguments that the tool's schema, as accepted or else as seen, does not declare; their
 * names are appended as a JSON array. A schema that allows others, or does not tell by `properties` alone, declares
 * every name. */
bool tool_has_undeclared(const struct tool *tool, const struct json_doc *doc, const struct json_value *input,
                         struct buf *ret_names);

/* What its annotations rule out, in the bits of call/call.h: by the accepted definition, and by that of a list of this
 * process. Where both are there, only what both rule out; 0 where neither is. */
uint8_t tool_hints_ruled_out(const struct tool *tool); /* NULL: 0 */

/* ---- Accepting ---- */

/* Accepts a tool as it was offered last. False when there is none of that name. */
MUST_USE bool tool_book_accept(struct tool_book *book, struct slice name);
void tool_book_accept_all(struct tool_book *book); /* tools that are gone are forgotten */

/* Takes over what other processes have accepted since the file was read; cheap when nothing was. False with a
 * message when it cannot be read. */
MUST_USE bool tool_book_refresh(struct tool_book *book, struct buf *ret_error);

/* Writes the file. */
MUST_USE bool tool_book_save(struct tool_book *book, struct buf *ret_error);

/* Removes the file: the server is one that was never seen. */
MUST_USE bool tool_book_forget(struct tool_book *book, struct buf *ret_error);

/* The keys of all books of a state directory, each as one line of a buffer, sorted. */
MUST_USE bool tool_books_list(const char *state_dir, struct buf *ret_keys, struct buf *ret_error);

#endif
