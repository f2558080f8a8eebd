/* Tables of tests: one case a line, fields parted by tabs, %HH for a byte, # for a comment. */
#ifndef TESTS_JSON_TABLE_H
#define TESTS_JSON_TABLE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/slice.h"

#define TABLE_FIELDS 4

struct table_line {
    int number, count;
    char *fields[TABLE_FIELDS]; /* terminated, decoded */
    size_t lens[TABLE_FIELDS];
};

static inline size_t table_decode(char *field)
{
    char *to = field;
    for (char *from = field; *from != 0; from++) {
        if (*from == '%') {
            char hex[3] = {from[1], from[2], 0};
            *to++ = (char)strtoul(hex, NULL, 16);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
    return (size_t)(to - field);
}

static inline struct slice table_field(const struct table_line *line, int i)
{
    return (struct slice){line->fields[i], line->lens[i]};
}

/* Calls `run` for every line of the file; the number of lines, or -1 when it cannot be read. */
static inline int table_run(const char *path, void (*run)(const struct table_line *line))
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return -1;
    }
    char *text = NULL;
    size_t cap = 0;
    ssize_t len;
    int cases = 0;
    for (struct table_line line = {0}; (len = getline(&text, &cap, file)) >= 0;) {
        line.number++;
        if (len > 0 && text[len - 1] == '\n') {
            text[--len] = 0;
        }
        if (len == 0 || text[0] == '#') {
            continue;
        }
        line.count = 0;
        for (char *at = text; at != NULL && line.count < TABLE_FIELDS;) {
            char *tab = strchr(at, '\t');
            if (tab != NULL) {
                *tab++ = 0;
            }
            line.fields[line.count] = at;
            line.lens[line.count++] = table_decode(at);
            at = tab;
        }
        cases++;
        run(&line);
    }
    free(text);
    fclose(file);
    return cases;
}

#endif
