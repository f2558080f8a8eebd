/* What the hosts' readers share: parts of a message, names of tools. Nothing outside src/host includes this.
 */
#ifndef HOST_INTERNAL_H
#define HOST_INTERNAL_H

#include "host/host.h"

/* Ends the reading of a message with the phrase of its fault; always false. */
bool message_fault(struct host_message *message, const char *phrase);

/* Takes the event's name; one that decides nothing makes the message silent; an unknown one is taken for the
 * event that was expected. */
MUST_USE bool message_take_event(struct host_message *message, const struct host *host, const char *key);

/* A member of the message that must be a non-empty string; false with `phrase`. */
MUST_USE bool message_text(struct host_message *message, const char *key, const char *phrase,
                           struct slice *ret_text);

/* Takes the working directory, which must be an absolute path. */
MUST_USE bool message_take_cwd(struct host_message *message, const char *key);

/* Takes the session. */
MUST_USE bool message_take_session(struct host_message *message, const char *key);

/* Puts the texts under an argument before the input as `patternPaths`, in the wildcards that paths know: what a reader that
 * ignores case, knows extended globs and takes a backslash for a slash finds with them. */
MUST_USE bool message_add_patterns(struct host_message *message, const char *key);

/* Takes the tool's input, which must be an object: of the message, or the text of one. */
MUST_USE bool message_take_input(struct host_message *message, const struct json_value *input);
MUST_USE bool message_take_input_text(struct host_message *message, struct slice text);

/* The tool has this name and no other. */
MUST_USE bool message_take_name(struct host_message *message, struct slice tool);

/* Adds the member `patchPaths` to the input of a tool that applies a patch: the files that the patch names,
 * or, when none can be found in it, something that is no path and so is judged as one that cannot be read. */
MUST_USE bool message_add_patch_paths(struct host_message *message);

/* ---- Flattened names (split.c) ---- */

/* The names of a tool that is written SERVER, `separator`, TOOL: the pairs with the known servers that it can
 * begin with; if the user's own configuration names none of these, the pairs of every possible split as well.
 * `flat` is without the host's own prefix.
 * No possible split: `whole` alone. With `whole_too` and no known server it stands beside the splits: it may
 * be a tool's own name. */
MUST_USE bool split_name(struct host_message *message, struct slice flat, struct slice separator,
                         const struct host_servers *servers, struct slice whole, bool whole_too);

/* Takes the name of `tool_name`: a tool of the host's own, or `mcp__SERVER__TOOL`. */
MUST_USE bool message_take_mcp_name(struct host_message *message, const struct host *host,
                                    const struct host_places *places);

/* The names of a tool whose server the message does not tell: that of every server that the policy names, and
 * that of any other. */
MUST_USE bool names_of_every_server(struct host_message *message, const struct slice *servers,
                                    size_t server_count);

/* A server's name as hosts spell it in flattened names: what is no letter, digit, `_`, `-` or one of `others`
 * stands as `_`. */
struct slice spelled_name(struct arena *arena, struct slice name, const char *others);

/* ---- The host's configuration (servers.c). What is missing or cannot be read is passed over. ---- */

/* Appends the whole of a regular file `dir/file`. False when it is missing, no regular file, too large, or cannot be
 * read. */
MUST_USE bool config_read(struct buf *text, struct slice dir, const char *file);

/* A JSON file, comments and trailing commas allowed. */
struct config_file {
    struct buf text;
    struct json_doc doc;
    const struct json_value *root; /* NULL: it is missing or cannot be read */
};
void config_open(struct config_file *ret_config, struct slice dir, const char *file);
void config_close(struct config_file *config);

/* Adds the members of an object as servers; NULL or another type adds none. False only when memory ran out.
 */
MUST_USE bool servers_add(struct host_message *message, struct host_servers *servers,
                          const struct config_file *config, const struct json_value *object);

/* The directory above, or one with ptr NULL above the root. For walking up from cwd. */
struct slice directory_above(struct slice dir);

/* The same for member `key` of the file in every directory from `dir` up to the root. */
MUST_USE bool servers_add_above(struct host_message *message, struct host_servers *servers, struct slice dir,
                                const char *file, const char *key);

/* Adds the tables `[TABLE.NAME]` of a TOML file; any other mention of the table makes the servers partial. */
MUST_USE bool servers_add_toml(struct host_message *message, struct host_servers *servers, struct slice dir,
                               const char *file, struct slice table);

#endif
