/* What the tests of this room share: documents are written with ' for ", so that tables can be read. */
#ifndef TESTS_POLICY_SUPPORT_H
#define TESTS_POLICY_SUPPORT_H

#include <stdlib.h>

#include "../../check.h"
#include "document/document.h"
#include "index/index.h"

#define CHECK_BUF(buf, want) CHECK_BYTES((buf)->len ? (buf)->ptr : "", (buf)->len, want)

/* A copy with ' as ", to be freed. */
static inline char *unquoted(const char *text)
{
    char *copy = strdup(text);
    for (char *c = copy; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    return copy;
}

static inline struct policy_source source_of(const char *name, const char *tier, const char *text)
{
    struct policy_source source = {.name = slice_of(name), .tier = TIER_DEFAULT, .text = slice_of(text)};
    if (tier != NULL) {
        source.at_tier = tier_from_name(slice_of(tier), &source.tier);
    }
    return source;
}

static const struct path_base test_base = {.cwd = {"/", 1}, .home = {"/nowhere/home", 13}};

static inline struct policy *load_one(const char *tier, const char *text, struct findings *ret_errors)
{
    struct policy_source source = source_of("p.json", tier, text);
    return policy_load(&source, 1, &test_base, ret_errors);
}

/* A policy that must load. */
static inline struct policy *load_good(const char *quoted)
{
    char *text = unquoted(quoted);
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = load_one(NULL, text, &errors);
    if (policy == NULL) {
        printf("does not load: %s\n  %s\n", quoted, errors.count ? errors.list[0].message.ptr : "no memory");
    }
    findings_finish(&errors);
    free(text);
    return policy;
}

/* "CODE LINE:COLUMN POINTER; …" */
static inline void write_errors(struct buf *buf, const struct findings *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        const struct finding *e = &errors->list[i];
        buf_printf(buf, "%s%s %u:%u ", i == 0 ? "" : "; ", e->code, e->line, e->column);
        buf_slice(buf, e->pointer);
    }
}

#endif
