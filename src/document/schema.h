/* The shape of policy documents as tables. SPEC.md section 2. Inside the room only.
 *
 * These tables are the one place that says which keys there are and what each may hold. They drive validation
 * and its messages, the nearest known key, and the JSON Schema. Everything in them is constant. */
#ifndef DOCUMENT_SCHEMA_H
#define DOCUMENT_SCHEMA_H

#include <stdint.h>

#include "base/buffer.h"
#include "policy/choice.h"

/* What a key's value is. */
enum key_type {
    KEY_STRING,  /* min to max characters; max 0: any number */
    KEY_INTEGER, /* min to max, by value */
    KEY_BOOLEAN,
    KEY_CHOICE,    /* a string, one of choices */
    KEY_CHOICES,   /* a non-empty array of them */
    KEY_FIELD,     /* a match field with values of its own: key.field says which */
    KEY_ARGS,      /* argEquals: an object, whatever it holds */
    KEY_ARG_LISTS, /* argIn: an object of lists */
    KEY_MATCH,
    KEY_RULES,
    KEY_STRINGS, /* an array of non-empty strings; min to max of them, max 0: any number */
    KEY_CHANGES, /* an object of such arrays, whose strings may begin with `-` */
    KEY_ASSERTIONS,
    KEY_CONFINE, /* an object of lists of places */
};

/* Which rules have a key. */
enum key_effects {
    KEY_AUTO_APPROVE = 1,
    KEY_DENY = 2,
    KEY_REQUIRE_APPROVAL = 4,
    KEY_EVERY_EFFECT = 7,
};

/* What a key means, whatever table it stands in. */
enum key_id {
    ID_NONE,
    /* of a document */
    ID_SCHEMA,
    ID_VERSION,
    ID_RULES,
    ID_POLICY,
    ID_REQUIRED,
    ID_PATH_ARGUMENTS,
    ID_TREE_ARGUMENTS,
    ID_COMMAND_ARGUMENTS,
    ID_URL_ARGUMENTS,
    ID_ASSERTIONS,
    ID_ALLOW_OBSERVE,
    ID_CONFINE,
    /* of a rule */
    ID_ID,
    ID_EFFECT,
    ID_MATCH,
    ID_PRIORITY,
    ID_COMMENT,
    ID_REASON,
    ID_TELL,
    ID_TTL,
    ID_APPROVERS,
    ID_APPROVERS_FROM,
    ID_SCOPE,
    /* of a match */
    ID_FIELD, /* key.field says which */
    ID_ARG_EQUALS,
    ID_ARG_IN,
    ID_TIER,
    /* of an assertion */
    ID_NAME,
    ID_NEVER,
    ID_EVEN_APPROVED,
    /* of confine */
    ID_CONFINE_WRITE,
    ID_CONFINE_READ,
};

struct key {
    const char *name;
    uint8_t id;      /* enum key_id */
    uint8_t type;    /* enum key_type */
    uint8_t effects; /* enum key_effects; for rules */
    uint8_t field;   /* enum match_field; of KEY_FIELD */
    bool required;   /* of the rules that have it */
    int64_t min, max;
    const struct choice *choices;
    const char *fallback; /* the default as JSON text; NULL: none */
    const char *expected; /* for messages: "'KEY' must be …" */
    const char *help;     /* for the JSON Schema */
};

struct key_table {
    const char *what; /* "a rule" */
    const struct key *keys;
    size_t count;
    const struct key_table *other; /* where people put a key by mistake; NULL: nowhere */
    const char *other_place;       /* "inside 'match'" */
};

extern const struct key_table schema_document;
extern const struct key_table schema_bridge;
extern const struct key_table schema_rule;
extern const struct key_table schema_match;
extern const struct key_table schema_assertion;
extern const struct key_table schema_assertion_match;
extern const struct key_table schema_confine;

/* The key of a table by its name, or NULL. */
const struct key *schema_key(const struct key_table *table, struct slice name);

/* What someone who wrote an unknown key most likely meant. */
struct advice {
    const char *name;  /* the right key; NULL: none is near */
    const char *place; /* where it belongs, when not here: "inside 'match'"; else NULL */
};
struct advice schema_advise_key(const struct key_table *table, struct slice word);

/* The choice that someone who wrote an unknown value most likely meant; NULL: none is near. */
const char *schema_advise_choice(const struct choice *choices, struct slice word);

/* Appends "'a', 'b' and 'c'". */
void schema_write_choices(struct buf *buf, const struct choice *choices);
void schema_write_keys(struct buf *buf, const struct key_table *table);

#endif
