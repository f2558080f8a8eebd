/* What the files of the room share. */
#ifndef TOOLS_INTERNAL_H
#define TOOLS_INTERNAL_H

#include <sys/stat.h>

#include "base/files.h"
#include "tools/tools.h"

/* A file of this size is no book. */
#define BOOK_BYTES ((size_t)256 << 20)

struct tool_book {
    char *path;
    char *key;
    struct tool *tools;
    size_t count, cap;
    size_t sorted;  /* how many of the first are in order; those behind were added by the page */
    uint64_t list;  /* the number of the list being read */
    bool fresh;     /* there was no file */
    struct stat st; /* of the file as it was read */
    struct json_doc doc;
};

/* The tool of a name, added when it is not there. NULL without memory. */
struct tool *book_add(struct tool_book *book, struct slice name);
struct tool *book_find(const struct tool_book *book, struct slice name);
void book_sort(struct tool_book *book);
void book_remove(struct tool_book *book, struct tool *tool);

/* Puts a definition in the place of another. False without memory. */
MUST_USE bool definition_set(struct tool_definition *definition, struct slice text);
void definition_clear(struct tool_definition *definition);

#endif
