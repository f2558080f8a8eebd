/* What is wrong or doubtful in a policy, as values. SPEC.md sections 2 and 7. */
#ifndef DOCUMENT_FINDING_H
#define DOCUMENT_FINDING_H

#include "base/arena.h"
#include "base/buffer.h"

/* One error or warning. Texts live in the list's arena; constants need not. */
struct finding {
    const char *code; /* an error's code ("unknown-key") or a warning's kind ("shadow"): stable, constant */
    uint32_t file;    /* index of the source */
    struct slice file_name;
    uint32_t offset;             /* byte offset in the file: the order of reporting */
    uint32_t line, column;       /* from 1 */
    struct slice pointer;        /* JSON pointer (RFC 6901) of the place or of the missing key */
    struct slice rule;           /* the rule's id if known */
    struct slice message;        /* what is wrong and the next step, one line, no full stop needed */
    struct slice later, earlier; /* of shadow warnings: rule ids */
    bool cross_tier;
    struct slice by; /* of dead rules: the ids that cover it, as JSON array text */
};

/* A growing list that owns its findings' texts. `failed` is set when memory ran out: then the list is not
 * whole and must be treated as an error. */
struct findings {
    struct arena arena;
    struct finding *list;
    size_t count, cap;
    bool failed;
};

void findings_init(struct findings *findings);
void findings_finish(struct findings *findings);

/* Adds a finding with a formatted message and returns it for the other fields, or NULL (failed is set). */
struct finding *findings_add(struct findings *findings, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* In order of file, then of byte offset; stable. */
void findings_sort(struct findings *findings);

#endif
