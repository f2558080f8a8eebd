/* A first policy for this machine: the servers that its agents have, the tools that these offer, and a template.
 *
 * Nothing here decides a call. What a server says of itself proposes and never decides: a server is a program that may
 * lie. Everything that is found lives in the arena of its owner. */
#ifndef SETUP_SETUP_H
#define SETUP_SETUP_H

#include "base/arena.h"
#include "base/buffer.h"
#include "install/mcp_entries.h"

/* ---- What is there ---- */

enum tool_kind {
    TOOL_UNKNOWN, /* its name does not tell */
    TOOL_READS,
    TOOL_WRITES, /* changes files or data */
    TOOL_SENDS,  /* to somewhere else, or runs something */
};

struct offered_tool {
    struct slice name;
    enum tool_kind kind;
    bool says_read_only; /* the server says so */
    bool takes_path;     /* its schema has an argument that is a path */
};

struct found_server {
    struct server_entry entry;
    const char *client, *file; /* where it was found first; file absolute */
    bool of_project;           /* in a project's file, which may be a stranger's */
    bool asked;                /* was started, and told its tools */
    const char *why_not;       /* it did not; a phrase for people */
    struct offered_tool *tools;
    size_t tool_count;
};

struct found {
    struct arena *arena; /* set by the caller */
    struct found_server *list;
    size_t count, cap;
};

/* Finds the servers in the configurations of a home directory and a project. Those of one name are one. Files that
 * cannot be read are passed over, with a line in ret_report. False only when memory ran out. */
MUST_USE bool setup_find_servers(struct found *found, struct slice home, struct slice project,
                                 struct buf *ret_report);

/* Starts a server as its client would, asks for its tools, and ends it. False only when memory ran out; what went wrong
 * else is in `why_not`. */
MUST_USE bool setup_ask_server(struct found *found, struct found_server *server, const char *dir,
                               uint32_t limit_ms);

/* What a tool does, by the first verb in its name. */
enum tool_kind setup_tool_kind(struct slice name);

/* ---- The policy ---- */

struct setup_options {
    const char *template_name;   /* of setup_templates */
    const struct found *found;   /* servers with their tools */
    const struct slice *folders; /* absolute: where work is */
    size_t folder_count;
};

extern const char *const setup_templates[]; /* strict, balanced, observe; NULL at the end */

/* Appends the policy document. */
void setup_write_policy(struct buf *buf, const struct setup_options *options);

#endif
