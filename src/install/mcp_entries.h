/* The servers of MCP configurations, by where they stand in the text: what `wrap` changes and `init` starts. All of an
 * entry lives in the arena of its list. */
#ifndef INSTALL_MCP_ENTRIES_H
#define INSTALL_MCP_ENTRIES_H

#include "base/arena.h"
#include "install/wrap.h"

/* A piece of the text, from `start` to `end`; both 0: it is not there. */
struct span {
    size_t start, end;
};

#define WRAP_WORDS_MOST 4096u

/* One server of a configuration. Offsets are of the file's text. */
struct server_entry {
    struct slice name; /* decoded */
    struct slice url;  /* decoded; ptr NULL: it is started, not reached */
    struct span
        command; /* the token of the command, a string; or of the array that has everything (opencode) */
    bool command_is_list;
    struct span args;      /* the array */
    struct span *words;    /* its elements' tokens */
    struct slice *decoded; /* and what they say; ptr NULL: not a string */
    size_t word_count;
    struct slice *env; /* "NAME=VALUE", each with a NUL behind it */
    size_t env_count;
    struct slice program; /* decoded: the command, or the first word of the list */
};

struct server_entries {
    struct arena *arena;
    struct server_entry *list;
    size_t count, cap;
    size_t not_read; /* mentions of servers in a form that is not read */
};

MUST_USE bool server_entries_add(struct server_entries *entries, const struct server_entry *entry);

/* Whether an entry starts a gate. */
bool server_entry_is_gate(const struct server_entry *entry);

/* Read the servers of a text. False with a message. */
MUST_USE bool server_entries_json(struct server_entries *entries, const char *file, struct slice text,
                                  struct buf *ret_error);
MUST_USE bool server_entries_toml(struct server_entries *entries, struct slice text);

#endif
