/* The loading of documents, shared by the room's load_*.c files. Inside the room only. SPEC.md section 2.
 *
 * A loading borrows the sources, the base and the list of errors, and owns the rest until the end of
 * policy_load. A lack of memory is noted in errors->failed, once and for all; the walk goes on and its result
 * is thrown away. */
#ifndef DOCUMENT_LOAD_INTERNAL_H
#define DOCUMENT_LOAD_INTERNAL_H

#include "document/document.h"
#include "document/schema.h"

/* Where a value stands: a chain up to the document, which is NULL. Lives on the stack of the walk. */
struct place {
    const struct place *up;
    bool element; /* of an array, by index; else of an object, by key */
    uint32_t index;
    struct slice key;
};

/* A position in a text that only moves forward, so that many places together cost one walk over it. */
struct cursor {
    struct slice text;
    uint32_t offset, line, column;
};

struct seen_id {
    uint32_t symbol;
    uint32_t file, line;
};

struct loading {
    const struct policy_source *sources;
    size_t source_count;
    const struct path_base *base;
    struct findings *errors;
    struct policy *policy;

    /* The source at hand. */
    uint32_t file;
    const struct policy_source *source;
    struct json_doc doc;
    struct cursor cursor;
    struct slice file_name; /* in errors' arena; ptr NULL until it is needed */
    struct slice rule;      /* id of the rule at hand, if known */

    /* Ids of the rules so far, in order, and where each symbol stands among them (index + 1). */
    struct seen_id *ids;
    uint32_t id_count;
    uint32_t *id_of_symbol;
    uint32_t id_of_symbol_cap;

    /* Prefixes as written that were resolved already. */
    struct arena prefix_arena;
    struct intern prefix_texts;
    uint32_t *prefix_ids; /* by prefix_texts' numbers, minus one */

    /* For patterns, and for the loose form of arguments. */
    struct command_reader *commands;
    struct json_doc loose;
    bool any_tool; /* the match at hand says "tool": "*" */
    uint32_t list[MATCH_LIST_MOST];

    struct buf message, pointer, text;
};

/* ---- load.c ---- */

/* Makes room for one more item of an array that grows by doubling. */
MUST_USE bool load_grow(struct loading *loading, void **array, uint32_t count, size_t item_size);

/* The number of a string in a policy's symbols; 0 when memory ran out, which is noted. */
uint32_t load_symbol(struct loading *loading, struct policy *into, struct slice text);

/* Whether a source may only tighten. */
static inline bool load_is_workspace(const struct policy_source *source)
{
    return source->at_tier && source->tier == TIER_WORKSPACE;
}

/* Notes a rule's id. False when it is taken: id_of_symbol then tells by which. */
bool load_note_id(struct loading *loading, uint32_t symbol, uint32_t line);

/* ---- load_report.c ---- */

void cursor_start(struct cursor *cursor, struct slice text);
void cursor_move(struct cursor *cursor, uint32_t offset);

/* An empty buffer for the message of the next load_report. */
struct buf *load_message(struct loading *loading);

/* Appends a string between single quotes as a terminal may show it, cut when it is long. */
void message_quote(struct buf *message, struct slice text);

/* Adds an error at a byte offset, with the message that was made. */
void load_report(struct loading *loading, const char *code, uint32_t offset, const struct place *place);

void report_unknown_key(struct loading *loading, const struct key_table *table, const struct json_value *key,
                        const struct place *place);
void report_missing_key(struct loading *loading, const struct key *key, const struct json_value *object,
                        const struct place *up);

/* Sorts all errors and gives them their lines and columns. */
void load_place_errors(struct loading *loading);

/* ---- load_value.c ---- */

/* What a value of the simple types holds. */
struct loaded {
    struct slice string;
    int64_t integer;
    uint32_t choice;
    bool boolean;
};

/* Judges a value by its key's type and range, as far as the table tells. False after an error was reported.
 */
MUST_USE bool load_value(struct loading *loading, const struct key *key, const struct json_value *value,
                         const struct place *place, struct loaded *ret_loaded);

/* Reports "'KEY' must be EXPECTED, BUT" and gives false. */
bool load_bad_value(struct loading *loading, const struct key *key, const struct json_value *value,
                    const struct place *place, const char *but);

/* ---- load_field.c ---- */

/* What a match is loaded into, and of what kind of rule. */
struct match_loading {
    struct policy *into;
    uint8_t effects; /* bits of enum key_effects: one, or 0 when the effect is not known */
    bool assertion;  /* of an assertion: its arguments are compared exactly */
    struct match *match;
};

/* Loads the value of a field of FIELD_TABLE, one or a list, into the match. Says whether it constrains anything; true
 * after a report. */
bool load_field(struct loading *loading, struct match_loading *match, const struct key *key,
                const struct json_value *value, const struct place *place);

/* ---- load_args.c ---- */

/* Loads argEquals and argIn of a match; either may be NULL, and what is of another type is passed over. */
void load_args(struct loading *loading, struct match_loading *match, const struct json_value *equals,
               const struct json_value *lists, const struct place *place);

/* ---- load_match.c ---- */

/* Compiles a match into the symbols, args, prefixes and patterns of `into`, for a rule of an effect (bits of enum
 * key_effects, 0 when it is not known). What it says beside its match goes into `ret_said`, which is left alone where
 * nothing is said; it may be NULL where the table has no tier. Whether the match is good shows in the number of errors. */
struct match_said {
    uint8_t *tier;  /* enum tier */
    uint8_t *looks; /* RULE_ANY_TOOL is added for "tool": "*" */
};
void load_match(struct loading *loading, const struct key_table *table, const struct json_value *object,
                const struct place *place, struct policy *into, uint8_t effects, struct match *ret_match,
                const struct match_said *ret_said);

/* ---- load_rule.c ---- */

void load_rules(struct loading *loading, const struct json_value *rules, const struct place *place);

/* ---- load_lists.c ---- */

void load_required(struct loading *loading, const struct json_value *array, const struct place *place);
void load_changes(struct loading *loading, enum policy_list list, const struct json_value *object,
                  const struct place *place);

/* ---- load_assertions.c ---- */

void load_assertions(struct loading *loading, const struct json_value *array, const struct place *place);

/* ---- load_confine.c ---- */

void load_confine(struct loading *loading, const struct json_value *object, const struct place *place);

/* ---- load_duplicates.c ---- */

/* Reports every repeated key of the document. */
void load_duplicates(struct loading *loading);

#endif
