/* people.json written, and who could change it. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "people/roster.h"

static void write_member(struct buf *buf, const char *name, struct slice value)
{
    buf_printf(buf, ", \"%s\": ", name);
    json_write_string(buf, value);
}

static void write_list(struct buf *buf, struct slice_list list)
{
    buf_byte(buf, '[');
    for (size_t i = 0; i < list.count; i++) {
        buf_text(buf, i > 0 ? ", " : "");
        json_write_string(buf, list.items[i]);
    }
    buf_byte(buf, ']');
}

static void write_person(struct buf *buf, const struct person *person)
{
    buf_text(buf, "    {\"name\": ");
    json_write_string(buf, person->name);
    for (enum people_surface i = 0; i < PEOPLE_SURFACES; i++) {
        if (person->ids[i].ptr != NULL) {
            write_member(buf, people_surface_name(i), person->ids[i]);
        }
    }
    if (person->rules.count > 0) {
        buf_text(buf, ", \"rules\": ");
        write_list(buf, person->rules);
    }
    if (person->channels.count > 0) {
        buf_text(buf, ", \"channels\": ");
        write_list(buf, person->channels);
    }
    buf_byte(buf, '}');
}

void roster_write(struct buf *buf, const struct roster *roster)
{
    buf_text(buf, "{\n  \"people\": [");
    for (size_t i = 0; i < roster->count; i++) {
        buf_text(buf, i > 0 ? ",\n" : "\n");
        write_person(buf, &roster->people[i]);
    }
    buf_text(buf, roster->count > 0 ? "\n  ]" : "]");
    if (roster->group_count > 0) {
        buf_text(buf, ",\n  \"groups\": {");
        for (size_t i = 0; i < roster->group_count; i++) {
            buf_text(buf, i > 0 ? ",\n    " : "\n    ");
            json_write_string(buf, roster->groups[i].name);
            buf_text(buf, ": ");
            write_list(buf, roster->groups[i].members);
        }
        buf_text(buf, "\n  }");
    }
    buf_text(buf, "\n}\n");
}

/* One file or directory of the way: who but `owner` and root could change what stands in it. A sticky
 * directory lets nobody replace what is another's. */
static void tell_writer(struct buf *out, const char *path, const struct stat *st, uid_t owner)
{
    const char *who = NULL;
    bool sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0;
    if (st->st_uid != 0 && st->st_uid != owner) {
        who = "its owner";
    } else if ((st->st_mode & S_IWOTH) != 0 && !sticky) {
        who = "everybody";
    } else if ((st->st_mode & S_IWGRP) != 0 && !sticky && st->st_gid != 0) {
        who = "its group";
    }
    if (who != NULL) {
        buf_printf(out, "%s can write ", who);
        utf8_append_printable(out, slice_of(path));
        buf_text(out, "\n");
    }
}

void people_tell_writers(struct buf *out, const char *path, uid_t owner)
{
    char at[PATH_MAX];
    struct stat st;
    if (strlen(path) >= sizeof(at)) {
        return;
    }
    memcpy(at, path, strlen(path) + 1);
    for (;;) {
        if (stat(at, &st) == 0) {
            tell_writer(out, at, &st, owner);
        }
        if (strcmp(at, "/") == 0 || strcmp(at, ".") == 0) {
            return;
        }
        char *above = dirname(at); /* points into `at`, or at a constant */
        memmove(at, above, strlen(above) + 1);
    }
}
