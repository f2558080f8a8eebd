/* The one table of match fields. SPEC.md section 2.
 *
 * A field is a key of a rule's `match`: what its value is, and what of a reading it is compared with; how two values
 * relate is value.h's. Loading, the JSON Schema and its hover texts, matching, explain, canonical texts, lint, index
 * and analysis ask this table; a new field is a line of FIELD_TABLE, and a type where none of those there are fits.
 *
 * A field that may be a list has one value or several: see match_values in policy/policy.h. */
#ifndef POLICY_FIELD_H
#define POLICY_FIELD_H

#include <stdbool.h>
#include <stdint.h>

/* What a value is, and how it is compared. */
enum field_type {
    FIELD_TYPE_NAME,        /* a symbol; equal texts. Without `*` and `?` */
    FIELD_TYPE_TEXT,        /* a symbol; equal texts */
    FIELD_TYPE_NAME_PREFIX, /* a symbol; the text begins with it. Without `*` and `?` */
    FIELD_TYPE_ACTOR,       /* an enum actor */
    FIELD_TYPE_PATH,        /* an id of the policy's prefixes; the path is it or below it */
    FIELD_TYPE_COMPONENT,   /* a symbol; some component of the path is, begins (x*) or ends (*x) with it */
    FIELD_TYPE_COMMAND,     /* an id of the policy's patterns; exactly these words */
    FIELD_TYPE_PREFIX,      /* the same; the words begin with these */
    FIELD_TYPE_WORD,        /* the same; some later word */
    FIELD_TYPE_HOST,        /* the same; the host, or (*.NAME) some host below it */
    FIELD_TYPE_HINTS,       /* bits of call/call.h, at most one of each hint; the tool may have all of them */
};

/* What a field looks at beside the call's own names: the same bits as enum reading_fields of call/readings.h. */
#define LOOKS_NAMES   0u
#define LOOKS_PATH    1u
#define LOOKS_COMMAND 2u
#define LOOKS_HOST    4u

#define FIELD_TEXT_EXPECTED "a non-empty string"

/* FIELD(name of the enum, member of struct match, key, type, looks, may it be a list, what is expected, help).
 * The order is that in which a rule's fields are compared, and the first that fails is told. */
#define FIELD_TABLE(FIELD)                                                                                   \
    FIELD(TOOL, tool, "tool", NAME, NAMES, true, FIELD_TEXT_EXPECTED,                                        \
          "The tool's name, byte for byte; a list means any of them, \"*\" any tool.")                       \
    FIELD(TOOL_PREFIX, tool_prefix, "toolPrefix", NAME_PREFIX, NAMES, true, FIELD_TEXT_EXPECTED,             \
          "What the tool's name begins with. Not beside `tool`.")                                            \
    FIELD(SERVER, server, "server", NAME, NAMES, true, FIELD_TEXT_EXPECTED,                                  \
          "The MCP server's name, byte for byte.")                                                           \
    FIELD(CHANNEL, channel, "channel", TEXT, NAMES, true, FIELD_TEXT_EXPECTED,                               \
          "The session's channel, byte for byte.")                                                           \
    FIELD(THREAD, thread, "thread_ts", TEXT, NAMES, false, FIELD_TEXT_EXPECTED,                              \
          "The session's thread, byte for byte.")                                                            \
    FIELD(ACTOR, actor, "actor", ACTOR, NAMES, false, "one of 'session_owner' and 'claude_process'",         \
          "Who makes the call.")                                                                             \
    FIELD(ANNOTATIONS, annotations, "annotations", HINTS, NAMES, false,                                      \
          "an object such as {\"destructiveHint\": true}",                                                   \
          "What the server says of the tool: of deny and require_approval only. A hint that is not known "   \
          "has either value.")                                                                               \
    FIELD(PATH_PREFIX, path_prefix, "pathPrefix", PATH, PATH, true, FIELD_TEXT_EXPECTED,                     \
          "A file or directory: a path of the call is it or lies below it, links followed. Beside a "        \
          "command field "                                                                                   \
          "it asks where the command acts.")                                                                 \
    FIELD(PATH_COMPONENT, path_component, "pathComponent", COMPONENT, PATH, true,                            \
          "one file name such as '.env', or one with a single '*' at its start or its end",                  \
          "A component of the call's path is this name, or ends (*x) or begins (x*) with it.")               \
    FIELD(COMMAND, command, "command", COMMAND, COMMAND, true,                                               \
          "the text of one command such as 'git status'",                                                    \
          "A shell command, exactly these words; `*` as a whole word is any one word. In a deny or "         \
          "require_approval "                                                                                \
          "a program without a directory stands for it in every directory.")                                 \
    FIELD(COMMAND_PREFIX, command_prefix, "commandPrefix", PREFIX, COMMAND, true,                            \
          "the first words of a command such as 'git log'",                                                  \
          "What a shell command begins with, word by word: `git log` is also `git log -p x`. Not beside "    \
          "`command`.")                                                                                      \
    FIELD(COMMAND_WORD, command_word, "commandWord", WORD, COMMAND, true,                                    \
          "one word such as '--force', or one with a single '*' at its start or its end",                    \
          "Some later word of a shell command is this word; of deny and require_approval only.")             \
    FIELD(HOST, host, "host", HOST, HOST, true, "a host such as 'example.com' or '*.example.com'",           \
          "The host that a URL of the call goes to: a name or an address, or `*.` and a name for all below " \
          "it.")

/* A rule's fields with one value or a list, and those that take arguments, which struct match keeps apart. */
enum match_field {
#define FIELD_NUMBER(name, member, key, type, looks, list, expected, help) FIELD_##name,
    FIELD_TABLE(FIELD_NUMBER)
#undef FIELD_NUMBER
        FIELD_VALUES, /* how many of them there are */
    FIELD_ARG_EQUALS = FIELD_VALUES,
    FIELD_ARG_IN,
    FIELD_COUNT,
    /* What a comparison with a reading ends in beside the first field that failed (policy_match): */
    FIELD_ALL = 0x1ac6, /* none failed: the rule matches */
    FIELD_UNKNOWN =
        0x253b,           /* evaluation stops here: the rule depends on what cannot be read or is not known */
    FIELD_NOTED = 0x3a95, /* whether it matches is not known; it is noted and evaluation goes on */
    FIELD_BARE = 0x0d6c,  /* an auto_approve that names no tool does not speak of what this reading has */
};

struct field {
    const char *key;
    uint8_t type;  /* enum field_type */
    uint8_t looks; /* LOOKS_ bits */
    bool list;     /* may be a list */
    const char *expected, *help;
};
extern const struct field field_table[FIELD_VALUES];

/* The documents' name of a field: "tool", …, "argEquals". Empty for what is no field. */
const char *match_field_name(enum match_field field);

#endif
