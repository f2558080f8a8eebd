/* Collects what is wrong or doubtful in a policy. */
#include "document/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_CAP 16u

void findings_init(struct findings *findings)
{
    *findings = (struct findings){0};
    arena_init(&findings->arena, 0);
}

void findings_finish(struct findings *findings)
{
    free(findings->list);
    findings->list = NULL;
    findings->count = findings->cap = 0;
    arena_finish(&findings->arena);
}

static bool grow(struct findings *findings)
{
    if (findings->count < findings->cap) {
        return true;
    }
    size_t cap = findings->cap == 0 ? FIRST_CAP : findings->cap * 2;
    struct finding *list =
        cap > SIZE_MAX / sizeof(*list) ? NULL : realloc(findings->list, cap * sizeof(*list));
    if (list == NULL) {
        return false;
    }
    findings->list = list;
    findings->cap = cap;
    return true;
}

/* A million warnings are written at a load: most texts are short, and then they are formatted once. */
struct finding *findings_add(struct findings *findings, const char *code, const char *format, ...)
{
    char few[512], *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vsnprintf(few, sizeof(few), format, args);
    va_end(args);
    if (len >= 0 && (size_t)len < sizeof(few)) {
        text = (char *)arena_copy(&findings->arena, (struct slice){few, (size_t)len}).ptr;
    } else if (len >= 0) {
        text = arena_alloc(&findings->arena, (size_t)len + 1);
    }
    if (text == NULL || !grow(findings)) {
        findings->failed = true;
        return NULL;
    }
    if ((size_t)len >= sizeof(few)) {
        va_start(args, format);
        (void)vsnprintf(text, (size_t)len + 1, format, args);
        va_end(args);
    }
    struct finding *finding = &findings->list[findings->count++];
    *finding = (struct finding){.code = code, .message = {text, (size_t)len}};
    return finding;
}

static bool comes_after(const struct finding *a, const struct finding *b)
{
    return a->file != b->file ? a->file > b->file : a->offset > b->offset;
}

/* Merges the sorted runs [from, middle) and [middle, to) of `in` into `out`. */
static void merge(const struct finding *in, size_t from, size_t middle, size_t to, struct finding *out)
{
    for (size_t a = from, b = middle, at = from; at < to; at++) {
        bool second = a == middle || (b < to && comes_after(&in[a], &in[b]));
        out[at] = second ? in[b++] : in[a++];
    }
}

void findings_sort(struct findings *findings)
{
    size_t count = findings->count;
    bool sorted = true;
    for (size_t i = 1; i < count && sorted; i++) {
        sorted = !comes_after(&findings->list[i - 1], &findings->list[i]);
    }
    if (sorted) {
        return;
    }
    struct finding *spare = malloc(findings->cap * sizeof(*spare));
    if (spare == NULL) {
        findings->failed = true;
        return;
    }
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t from = 0; from < count; from += 2 * width) {
            size_t middle = from + width < count ? from + width : count;
            size_t to = middle + width < count ? middle + width : count;
            merge(findings->list, from, middle, to, spare);
        }
        struct finding *sorted_list = spare;
        spare = findings->list;
        findings->list = sorted_list;
    }
    free(spare);
}
