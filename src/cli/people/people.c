/* `people`: who may approve, and what authenticates each on each surface. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "people/roster.h"

static const char usage[] =
    "usage: callgate people [list] [--people FILE] [--home DIR]\n"
    "       callgate people add NAME [--user USER] [--page ACCOUNT] [--slack WORKSPACE/USER] [--bridge "
    "NAME]\n"
    "                           [--rule ID]... [--channel CHANNEL]... [--group GROUP]...\n"
    "       callgate people remove NAME\n"
    "       callgate people check\n\n"
    "Says who may approve. One person is one identity over all surfaces, so a quorum of two needs two "
    "people.\n"
    "The file is /etc/callgate/people.json if it is there, else people.json beside your policy\n"
    "(~/.config/callgate). Without a file, you are the only person.\n\n"
    "  --user USER     the operating system's user who answers in a terminal\n"
    "  --page ACCOUNT  the account of the page\n"
    "  --slack W/U     workspace and user id in Slack\n"
    "  --bridge NAME   the name that a bridge vouches for (callgate reply --as NAME)\n"
    "  --rule ID       may answer requests of these rules only\n"
    "  --channel C     may answer requests of these channels only\n"
    "  --group GROUP   belongs to a group that rules may name (\"approversFrom\")\n"
    "  check           says what is wrong with the file, and who could change it\n\n"
    "Example: callgate people add ada --user ada --slack T012AB/U345CD\n\n"
    "Exit: 0 done, 1 there is no such person, or somebody else could change the file, 2 could not be done.\n";

struct people_options {
    const char *file;
    const char *ids[PEOPLE_SURFACES];
    struct option_list rules, channels, groups;
};

static void write_ids(struct buf *out, const struct person *person)
{
    for (enum people_surface i = 0; i < PEOPLE_SURFACES; i++) {
        if (person->ids[i].ptr != NULL) {
            buf_printf(out, "  %s ", people_surface_name(i));
            utf8_append_printable(out, person->ids[i]);
        }
    }
}

static void write_names(struct buf *out, const char *what, struct slice_list list)
{
    for (size_t i = 0; i < list.count; i++) {
        buf_text(out, i > 0 ? ", " : what);
        utf8_append_printable(out, list.items[i]);
    }
}

static int show(const struct roster *roster, const char *path)
{
    struct buf out;
    buf_init(&out, 1u << 20);
    if (!roster->present) {
        buf_text(&out,
                 "There is no people.json: the user who runs the gate is the only person who may approve.\n");
    }
    for (size_t i = 0; i < roster->count; i++) {
        const struct person *person = &roster->people[i];
        utf8_append_printable(&out, person->name);
        write_ids(&out, person);
        write_names(&out, "  rules ", person->rules);
        write_names(&out, "  channels ", person->channels);
        for (size_t g = 0; g < roster->group_count; g++) {
            if (roster_in_group(roster, person, roster->groups[g].name)) {
                buf_text(&out, "  group ");
                utf8_append_printable(&out, roster->groups[g].name);
            }
        }
        buf_byte(&out, '\n');
    }
    if (roster->present) {
        buf_text(&out, "(");
        utf8_append_printable(&out, slice_of(path));
        buf_text(&out, ")\n");
    }
    int code = print(&out);
    buf_finish(&out);
    return code;
}

static int check(const struct roster *roster, const char *path)
{
    struct buf out;
    buf_init(&out, 64u << 10);
    if (roster->present) {
        people_tell_writers(&out, path, getuid());
    }
    for (size_t i = 0; i < roster->count; i++) {
        bool any = false;
        for (size_t k = 0; k < PEOPLE_SURFACES; k++) {
            any = any || roster->people[i].ids[k].ptr != NULL;
        }
        if (!any) {
            utf8_append_printable(&out, roster->people[i].name);
            buf_text(
                &out,
                " can answer nowhere: give a user, an account of the page, a Slack id or a bridge's name\n");
        }
    }
    int code = out.len > 0 ? EXIT_NO : EXIT_YES;
    if (code == EXIT_YES) {
        buf_printf(&out, roster->present ? "OK: %zu people\n" : "There is no people.json.\n", roster->count);
    }
    int printed = print(&out);
    buf_finish(&out);
    return printed == EXIT_YES ? code : printed;
}

/* ---- Changing the file ---- */

static bool save(const struct roster *roster, const char *path)
{
    struct text_file file;
    struct buf text, error;
    struct roster again;
    buf_init(&text, 1u << 20);
    buf_init_message(&error, MESSAGE_BYTES);
    roster_write(&text, roster);
    bool ok = buf_ok(&text) &&
              roster_read(&again, SLICE("people.json as it would be"), buf_slice_of(&text), &error);
    if (ok) {
        roster_finish(&again);
        ok = text_file_read(&file, path, 1u << 20, &error);
    }
    if (ok) {
        ok = text_file_replace(&file, buf_slice_of(&text), 0600, &error);
        text_file_finish(&file);
    }
    if (!ok) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&text);
    buf_finish(&error);
    return ok;
}

static bool copy_list(struct roster *roster, const struct option_list *list, struct slice_list *ret_list)
{
    struct slice *items = arena_array(&roster->arena, list->count + 1, sizeof(*items));
    for (size_t i = 0; items != NULL && i < list->count; i++) {
        items[i] = slice_of(list->items[i]);
    }
    *ret_list = (struct slice_list){items, list->count};
    return items != NULL;
}

static bool join_group(struct roster *roster, struct slice group, struct slice name)
{
    size_t at = 0;
    while (at < roster->group_count && !slice_eq(roster->groups[at].name, group)) {
        at++;
    }
    size_t members = at < roster->group_count ? roster->groups[at].members.count : 0;
    struct people_group *groups = arena_array(&roster->arena, roster->group_count + 1, sizeof(*groups));
    struct slice *items = arena_array(&roster->arena, members + 1, sizeof(*items));
    if (groups == NULL || items == NULL) {
        return false;
    }
    if (roster->group_count > 0) {
        memcpy(groups, roster->groups, roster->group_count * sizeof(*groups));
    }
    if (members > 0) {
        memcpy(items, groups[at].members.items, members * sizeof(*items));
    }
    items[members] = name;
    groups[at] = (struct people_group){group, {items, members + 1}};
    roster->group_count += at == roster->group_count ? 1 : 0;
    roster->groups = groups;
    return true;
}

static int add(struct roster *roster, const char *path, const char *name, const struct people_options *own)
{
    if (!people_name_usable(slice_of(name))) {
        return usage_error(&command_people,
                           "name the person: no blanks at the ends, nothing that nobody sees");
    }
    struct person *people = arena_array(&roster->arena, roster->count + 1, sizeof(*people));
    if (people == NULL) {
        say("no memory");
        return EXIT_UNABLE;
    }
    if (roster->count > 0) {
        memcpy(people, roster->people, roster->count * sizeof(*people));
    }
    struct person *person = &people[roster->count];
    person->name = slice_of(name);
    for (size_t i = 0; i < PEOPLE_SURFACES; i++) {
        person->ids[i] = own->ids[i] != NULL ? slice_of(own->ids[i]) : (struct slice){0};
    }
    bool ok = copy_list(roster, &own->rules, &person->rules) &&
              copy_list(roster, &own->channels, &person->channels);
    roster->people = people;
    roster->count++;
    for (size_t i = 0; ok && i < own->groups.count; i++) {
        ok = join_group(roster, slice_of(own->groups.items[i]), person->name);
    }
    roster->present = true;
    return ok && save(roster, path) ? show(roster, path) : EXIT_UNABLE;
}

static int remove_person(struct roster *roster, const char *path, const char *name)
{
    const struct person *person = roster_named(roster, slice_of(name));
    if (person == NULL) {
        say("nobody is called '%s'; 'callgate people' lists everybody", name);
        return EXIT_NO;
    }
    for (size_t g = 0; g < roster->group_count; g++) {
        struct slice_list *members = &roster->groups[g].members;
        struct slice *kept = arena_array(&roster->arena, members->count + 1, sizeof(*kept));
        size_t count = 0;
        for (size_t i = 0; kept != NULL && i < members->count; i++) {
            if (!slice_eq(members->items[i], person->name)) {
                kept[count++] = members->items[i];
            }
        }
        *members = (struct slice_list){kept, count};
    }
    size_t at = (size_t)(person - roster->people);
    roster->count--;
    memmove(&roster->people[at], &roster->people[at + 1], (roster->count - at) * sizeof(*roster->people));
    return save(roster, path) ? show(roster, path) : EXIT_UNABLE;
}

static int obey(struct options *options, const struct people_options *own, struct roster *roster,
                const char *path)
{
    const char *verb = options->argc > 0 ? options->argv[0] : "list";
    if (strcmp(verb, "list") == 0 && options->argc <= 1) {
        return show(roster, path);
    }
    if (strcmp(verb, "check") == 0 && options->argc == 1) {
        return check(roster, path);
    }
    if (strcmp(verb, "add") == 0 && options->argc == 2) {
        return add(roster, path, options->argv[1], own);
    }
    if (strcmp(verb, "remove") == 0 && options->argc == 2) {
        return remove_person(roster, path, options->argv[1]);
    }
    return usage_error(&command_people, "say 'list', 'add NAME', 'remove NAME' or 'check'");
}

static int run(int argc, char **argv)
{
    struct options options;
    struct people_options own = {0};
    const struct option_spec specs[] = {
        {"people", OPTION_VALUE, &own.file},
        {"user", OPTION_VALUE, &own.ids[PEOPLE_USER]},
        {"page", OPTION_VALUE, &own.ids[PEOPLE_PAGE]},
        {"slack", OPTION_VALUE, &own.ids[PEOPLE_SLACK]},
        {"bridge", OPTION_VALUE, &own.ids[PEOPLE_BRIDGE]},
        {"rule", OPTION_LIST, &own.rules},
        {"channel", OPTION_LIST, &own.channels},
        {"group", OPTION_LIST, &own.groups},
    };
    int code = options_read(&options, &command_people, argc, argv, TAKES_PATHS, specs,
                            sizeof(specs) / sizeof(*specs));
    if (code != -1) {
        return code;
    }
    struct roster roster;
    struct buf path, error;
    buf_init(&path, PATH_MAX);
    buf_init_message(&error, MESSAGE_BYTES);
    bool adding = options.argc > 0 && strcmp(options.argv[0], "add") == 0;
    const char *named = adding && own.file != NULL && access(own.file, F_OK) != 0 ? NULL : own.file;
    if (roster_open(&roster, options.base.home, named, &path, &error)) {
        bool fresh = own.file != NULL && named == NULL && strcmp(path.ptr, PEOPLE_MANAGED) != 0;
        if (fresh) { /* a file that `add` makes: what the standard one holds is no part of it */
            roster_finish(&roster);
        }
        code = obey(&options, &own, &roster, fresh ? own.file : path.ptr);
        roster_finish(&roster);
    } else {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
        code = EXIT_UNABLE;
    }
    free(own.rules.items);
    free(own.channels.items);
    free(own.groups.items);
    buf_finish(&path);
    buf_finish(&error);
    options_finish(&options);
    return code;
}

const struct cli_command command_people = {"people", "who may approve", usage, run};
