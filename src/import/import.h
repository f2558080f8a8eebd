/* Permission lists of coding agents' settings as a policy document, and what of them cannot be one.
 *
 * Nothing becomes wider: what can't be said exactly becomes a rule that covers more of a deny or an ask, less
 * of an allow, or stays out, and the report says which. One thing is not carried over: a `*` inside a deny or an ask
 * of Claude Code also reaches from one command of a text into the next. Owns nothing of its caller's. */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include "document/document.h"

struct import_file {
    struct slice name; /* as the person gave it */
    struct slice dir;  /* absolute: where the file lies */
    struct slice text;
};

struct import_options {
    const struct path_base *base; /* what prefixes are resolved from, to see that the rules load */
    struct slice project; /* absolute: what `/path` starts from; ptr NULL: told by where a file lies */
};

struct import_result {
    struct buf document; /* the policy document, laid out */
    struct buf report;   /* lines for people, one for each entry and each setting */
    uint32_t rules;
    uint32_t kept, changed, left_out; /* entries */
    uint32_t settings;                /* that are no rules */
};

void import_result_init(struct import_result *result);
void import_result_finish(struct import_result *result);

/* Claude Code: permissions.deny, ask and allow of all files together, which are merged there too. False, with
 * lines for people in ret_error, when a file cannot be read as settings or memory ran out. */
MUST_USE bool import_claude_settings(const struct import_file *files, size_t count,
                                     const struct import_options *options, struct import_result *ret_result,
                                     struct buf *ret_error);

/* Codex: its rules for commands (any name) and the approvals of `config.toml` (names that end in `.toml`). */
MUST_USE bool import_codex(const struct import_file *files, size_t count,
                           const struct import_options *options, struct import_result *ret_result,
                           struct buf *ret_error);

/* Gemini CLI: policy files. */
MUST_USE bool import_gemini(const struct import_file *files, size_t count,
                            const struct import_options *options, struct import_result *ret_result,
                            struct buf *ret_error);

/* opencode: the `permission` block of one configuration, with comments or without. */
MUST_USE bool import_opencode(const struct import_file *files, size_t count,
                              const struct import_options *options, struct import_result *ret_result,
                              struct buf *ret_error);

#endif
