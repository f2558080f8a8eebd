/* The difference of two texts: common lines at both ends first, then the longest common subsequence between. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "people/show_internal.h"

#define LINE_BYTES ((size_t)256 << 20)

struct lines {
    struct slice *list;
    size_t count;
};

static bool split(struct slice text, struct lines *ret_lines)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        count += text.ptr[i] == '\n';
    }
    struct slice *list = calloc(count + 2, sizeof(*list));
    *ret_lines = (struct lines){list, 0};
    while (list != NULL && text.len > 0) {
        list[ret_lines->count++] = show_next_line(&text);
    }
    return list != NULL;
}

struct difference {
    const struct show_lines *out;
    struct buf line;
    unsigned indent;
    bool ok;
};

static void write_line(struct difference *d, const char *mark, enum show_kind kind, struct slice text)
{
    show_begin(&d->line, d->indent);
    buf_text(&d->line, mark);
    utf8_append_printable(&d->line, text);
    d->ok = d->ok && show_end(&d->line, kind, d->out);
}

static void write_all(struct difference *d, const char *mark, enum show_kind kind, const struct lines *lines,
                      size_t from, size_t to)
{
    for (; from < to; from++) {
        write_line(d, mark, kind, lines->list[from]);
    }
}

/* The lines from `at` on that differ, old and new; `lengths` holds for each pair of positions how many lines the
 * rests have in common. */
static void write_between(struct difference *d, const struct lines *a, const struct lines *b, size_t at,
                          size_t a_end, size_t b_end, uint16_t *lengths)
{
    size_t rows = a_end - at, columns = b_end - at;
    size_t width = columns + 1;
    for (size_t i = rows; i-- > 0;) {
        for (size_t k = columns; k-- > 0;) {
            uint16_t down = lengths[(i + 1) * width + k], right = lengths[i * width + k + 1];
            bool same = slice_eq(a->list[at + i], b->list[at + k]);
            lengths[i * width + k] = same           ? (uint16_t)(lengths[(i + 1) * width + k + 1] + 1)
                                     : down > right ? down
                                                    : right;
        }
    }
    size_t i = 0, k = 0;
    while (i < rows && k < columns) {
        if (slice_eq(a->list[at + i], b->list[at + k])) {
            write_line(d, "  ", SHOW_PLAIN, a->list[at + i]);
            i++;
            k++;
        } else if (lengths[(i + 1) * width + k] >= lengths[i * width + k + 1]) {
            write_line(d, "- ", SHOW_REMOVED, a->list[at + i++]);
        } else {
            write_line(d, "+ ", SHOW_ADDED, b->list[at + k++]);
        }
    }
    write_all(d, "- ", SHOW_REMOVED, a, at + i, a_end);
    write_all(d, "+ ", SHOW_ADDED, b, at + k, b_end);
}

static void write_difference(struct difference *d, const struct lines *a, const struct lines *b)
{
    size_t same = 0, a_end = a->count, b_end = b->count;
    while (same < a_end && same < b_end && slice_eq(a->list[same], b->list[same])) {
        same++;
    }
    while (a_end > same && b_end > same && slice_eq(a->list[a_end - 1], b->list[b_end - 1])) {
        a_end--;
        b_end--;
    }
    size_t rows = a_end - same + 1, columns = b_end - same + 1;
    uint16_t *lengths = NULL;
    if (rows <= SHOW_DIFF_LINES && columns <= SHOW_DIFF_LINES) {
        lengths = calloc(rows * columns, sizeof(*lengths));
    }
    write_all(d, "  ", SHOW_PLAIN, a, 0, same);
    if (lengths != NULL) {
        write_between(d, a, b, same, a_end, b_end, lengths);
    } else {
        write_all(d, "- ", SHOW_REMOVED, a, same, a_end);
        write_all(d, "+ ", SHOW_ADDED, b, same, b_end);
    }
    write_all(d, "  ", SHOW_PLAIN, a, a_end, a->count);
    free(lengths);
}

/* Whether one text ends in a line end and the other does not: no line shows it. */
static bool ends_differ(struct slice a, struct slice b)
{
    bool a_ends = a.len > 0 && a.ptr[a.len - 1] == '\n', b_ends = b.len > 0 && b.ptr[b.len - 1] == '\n';
    return a_ends != b_ends;
}

bool show_difference(struct slice old_text, struct slice new_text, unsigned indent,
                     const struct show_lines *lines)
{
    struct lines a, b = {NULL, 0};
    struct difference d = {.out = lines, .indent = indent, .ok = true};
    buf_init(&d.line, LINE_BYTES);
    d.ok = split(old_text, &a) && split(new_text, &b);
    if (d.ok) {
        write_difference(&d, &a, &b);
    }
    if (d.ok && ends_differ(old_text, new_text)) {
        show_begin(&d.line, indent);
        buf_text(&d.line, new_text.len > 0 && new_text.ptr[new_text.len - 1] == '\n'
                              ? "(a line end is added at the end)"
                              : "(no line end at the end)");
        d.ok = show_end(&d.line, SHOW_NOTE, lines);
    }
    free(a.list);
    free(b.list);
    buf_finish(&d.line);
    return d.ok;
}
