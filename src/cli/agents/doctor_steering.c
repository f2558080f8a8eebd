/* The files that steer a host: no switch in them takes the hook out of use, and the agent cannot write them. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/agents/doctor_internal.h"

static void check_switches(struct doctor *d, const struct install_place *place,
                           const struct steering_path *path)
{
    const struct host_steering *steering = place->host->steering;
    bool unreadable;
    uint32_t found = steering_switches_in(place->host, path, &unreadable);
    char mend[MEND_SIZE];
    for (size_t i = 0; i < steering->switch_count; i++) {
        const struct steering_switch *one = &steering->switches[i];
        if ((found & 1u << i) == 0) {
            continue;
        }
        if (one->spares_managed && place->scope == INSTALL_SCOPE_MANAGED) {
            doctor_note(d, "%s: '%s' is %s; this hook is managed and runs all the same", path->path, one->key,
                        one->off);
            continue;
        }
        snprintf(mend, sizeof(mend), "take '%s' out of ", one->key);
        doctor_write_command(mend, mend, path->path, "");
        doctor_fault(d, mend, "%s: '%s' is %s: %s", path->path, one->key, one->off, one->what);
    }
    if (unreadable) {
        doctor_fault(d, "mend or remove the file",
                     "%s cannot be read: whether it switches hooks off is not known", path->path);
    }
}

/* The first of the host's own tools that write, on each of the files. */
static void check_writing(struct doctor *d, const struct install_place *place, const struct doctor_line *line,
                          const struct steering_paths *paths)
{
    struct path_base base = line->options.base;
    base.cwd = d->options.base.cwd;
    struct probe_options options = {
        .host = place->host, .event = &place->host->events[0], .policy = line->policy, .base = &base};
    size_t open = 0;
    const char *first = NULL;
    for (size_t i = 0; i < paths->count; i++) {
        if (!probe_denies_writing(&options, paths->list[i].path)) {
            first = open++ == 0 ? paths->list[i].path : first;
        }
    }
    if (open == 0) {
        doctor_good(d, "the agent cannot write the %zu file(s) and directories that steer its host",
                    paths->count);
    } else if (line->a.protect == NULL) {
        doctor_note(
            d,
            "installed without protection: the agent may write %s and %zu more that can switch the hook off",
            first, open - 1);
    } else {
        doctor_fault(d, line->mend, "the agent may write %s and %zu more that can switch the hook off", first,
                     open - 1);
    }
}

void doctor_check_steering(struct doctor *d, const struct install_place *place, struct doctor_line *line)
{
    struct arena arena;
    arena_init(&arena, 64u << 20);
    struct steering_paths paths = {.arena = &arena};
    if (!steering_add_all(&paths, place->host, place->home, place->project)) {
        doctor_fault(d, "free some memory", "no memory to look at the files that steer the host");
    }
    for (size_t i = 0; i < paths.count; i++) {
        check_switches(d, place, &paths.list[i]);
    }
    if (line->policy != NULL) {
        check_writing(d, place, line, &paths);
    }
    arena_finish(&arena);
}
