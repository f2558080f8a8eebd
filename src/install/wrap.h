/* `callgate wrap` and `unwrap`: a gate in front of every server that an MCP configuration starts.
 *
 * An entry keeps its name, its environment and its arguments; every other byte of the file stays as it was, comments
 * and line ends included. What is put in can be told from the file alone, so unwrapping needs no record; the file as it
 * was is kept in the state directory all the same. */
#ifndef INSTALL_WRAP_H
#define INSTALL_WRAP_H

#include "base/arena.h"
#include "base/buffer.h"

/* Where programs that speak MCP have their configuration. */
struct mcp_config {
    const char *client; /* "claude-code" */
    const char *file;   /* below the home directory, or a project's */
    bool of_project;
};
extern const struct mcp_config mcp_configs[];
extern const size_t mcp_config_count;

struct wrap_options {
    const char *file;         /* absolute */
    const char *state_dir;    /* absolute: where the copy goes */
    const char *const *words; /* the gate: program, "run", options; without --server and what follows */
    size_t word_count;
    const char *only; /* a server; NULL: every one */
    bool dry_run;
    bool changes_only; /* servers that stay as they are get no line */
};

struct wrap_result {
    size_t changed, already, by_url, not_read; /* servers; already: behind a gate (wrap) or not (unwrap) */
};

/* Puts the gate before each server that the file starts, or takes it away. A line a server goes to ret_report. False
 * with a message when the file cannot be read as a configuration, or not be written: it is as it was. A file that is
 * not there has no servers. */
MUST_USE bool wrap_file(const struct wrap_options *options, struct wrap_result *ret_result,
                        struct buf *ret_report, struct buf *ret_error);
MUST_USE bool unwrap_file(const struct wrap_options *options, struct wrap_result *ret_result,
                          struct buf *ret_report, struct buf *ret_error);

/* The files that were wrapped, by the copies that a state directory has of them; they may be as they were again, or gone.
 * Absolute names, in the arena. */
MUST_USE bool wrapped_files(const char *state_dir, struct arena *arena, const char ***ret_files,
                            size_t *ret_count, struct buf *ret_error);

/* Takes --observe away from the gates of a file. */
MUST_USE bool wrap_end_observing(const struct wrap_options *options, struct wrap_result *ret_result,
                                 struct buf *ret_report, struct buf *ret_error);

#endif
