/* A call: one attempt to run a tool, as every room that decides sees it. SPEC.md sections 1 and 12.
 *
 * All slices and the document are borrowed from the surface that read the message and must outlive the call.
 */
#ifndef CALL_CALL_H
#define CALL_CALL_H

#include "json/json.h"

enum actor {
    ACTOR_ANY = 0, /* in a rule: the field is absent. Never in a call. */
    ACTOR_SESSION_OWNER = 1,
    ACTOR_CLAUDE_PROCESS = 2,
};

/* What a server says of a tool, its annotations. SPEC.md section 5.1. Each of them is true, false, or not known. */
#define HINT_TABLE(HINT)                                                                                     \
    HINT(DESTRUCTIVE, "destructiveHint")                                                                     \
    HINT(IDEMPOTENT, "idempotentHint")                                                                       \
    HINT(OPEN_WORLD, "openWorldHint")                                                                        \
    HINT(READ_ONLY, "readOnlyHint")
enum hint {
#define HINT_NUMBER(name, key) HINT_##name,
    HINT_TABLE(HINT_NUMBER)
#undef HINT_NUMBER
        HINT_COUNT,
};
extern const char *const hint_names[HINT_COUNT];

/* The bit of one value of one hint, in a set of eight. */
static inline uint8_t hint_bit(enum hint hint, bool value)
{
    return (uint8_t)(1u << (2 * (unsigned)hint + (value ? 0 : 1)));
}

/* The values that a tool's `annotations` rule out: of each hint that is known the other one. NULL, a tool without any,
 * is as MCP says: a hint that is absent has its default. What is no object, or no boolean, rules out nothing. */
uint8_t hints_ruled_out(const struct json_doc *doc, const struct json_value *annotations);

/* Appends hints as a JSON object: those that are known, or null where neither value is ruled out. */
void hints_write(struct buf *buf, uint8_t ruled_out);

/* One way in which the call's name can be understood. */
struct call_name {
    struct slice server;
    bool has_server;
    struct slice tool;
    /* Values of hints that the tool is known not to have. 0: nothing is known of its annotations, so that a rule about any
     * of them matches. */
    uint8_t hints_not;
};

struct call {
    const struct call_name *names; /* at least one; more when a flattened name can be split in several ways */
    size_t name_count;
    struct slice channel, thread;
    enum actor actor;
    const struct json_doc *doc;
    const struct json_value
        *input;           /* an object of doc; NULL when the input is unknown (SPEC.md section 11) */
    struct slice preview; /* of an unknown input: text that people are shown; never judged */
    bool asks_people;     /* the surface wants people's leave for this very call, whatever rule allows it */
    uint32_t
        waits_ms; /* how long from now the surface's client waits for people; 0: not known. Never judged. */
};

enum call_result {
    CALL_MALFORMED = 0, /* denied: "malformed call: " and the detail */
    CALL_OVER_LIMIT,    /* denied: "call is over a limit" */
    CALL_NO_MEMORY,     /* denied */
    CALL_OK,
};

/* Defaults for what a call may leave out. */
struct call_defaults {
    struct slice server; /* ptr NULL: none */
    struct slice channel, thread;
    enum actor actor;
};

/* A call read from text. Owns its document and its name. Init once, read many, finish. */
struct call_reader {
    struct json_doc doc;
    struct json_doc empty; /* `{}`: the input of a call that names none */
    struct call_name name;
    struct call call;
    const char *detail; /* why a call is malformed: a constant phrase that echoes nothing of the call */
};

MUST_USE bool call_reader_init(struct call_reader *reader);
void call_reader_finish(struct call_reader *reader);

/* Reads {"tool","input"?,"server"?,"sessionKey"?:{"channel","thread"},"actor"?,"annotations"?}. On CALL_OK reader->call is
 * set. */
MUST_USE enum call_result call_read(struct call_reader *reader, struct slice text,
                                    const struct call_defaults *defaults);

/* Whether two top-level names of an object have one folded form (SPEC.md sections 5 and 12). */
bool call_names_clash(const struct json_doc *doc, const struct json_value *object);

/* The ways to split a flattened name SERVER SEPARATOR TOOL, server and tool not empty, one after the other:
 * "a___b" is "a" and "_b", and it is "a_" and "b". *at is 0 before the first. False when there is none left.
 * A name with more than CALL_SPLITS_MOST of them is over a limit: each costs an evaluation. */
#define CALL_SPLITS_MOST 4096u
bool call_split_next(struct slice flat, struct slice separator, size_t *at, struct call_name *ret_name);

/* Appends the text whose SHA-256 is the call's hash: the RFC 8785 form of {actor, input, server?, sessionKey,
 * tool} of the first name, numbers in JSON_NUMBER_CALL form. SPEC.md section 9. */
void call_write_canonical(struct buf *buf, const struct call *call);

const char *actor_name(enum actor actor);

#endif
