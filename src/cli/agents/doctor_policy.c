/* An installed hook's command line, its policy and its state directory. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/agents/doctor_internal.h"
#include "cli/agents/subprocess.h"
#include "cli/commands.h"

/* ---- An installed command line, read as the program will read it ---- */

const char *const doctor_scope_names[] = {"user", "project", "managed"};

/* The command that installs the hook again, with the policies that it has. */
void doctor_write_mend(char ret_mend[MEND_SIZE], const struct install_place *place,
                       const struct installed_hook *hook)
{
    struct buf text;
    buf_init(&text, MEND_SIZE - 1);
    buf_printf(&text, "callgate hook install %s --%s", place->host->name, doctor_scope_names[place->scope]);
    if (place->settings != NULL) {
        buf_text(&text, " --settings ");
        write_shell_word(&text, place->settings);
    }
    for (size_t i = 0; i + 1 < hook->word_count; i++) {
        bool broker = strcmp(hook->words[i], "--gate") == 0;
        if (broker || strcmp(hook->words[i], "--policy") == 0) {
            buf_text(&text, broker ? " --gate " : " --policy ");
            write_shell_word(&text, hook->words[i + 1]);
        }
    }
    buf_byte(&text, '\0');
    if (buf_ok(&text)) {
        memcpy(ret_mend, text.ptr, text.len);
    } else {
        snprintf(ret_mend, MEND_SIZE, "callgate hook install %s", place->host->name);
    }
    buf_finish(&text);
}

/* False when the command line has wrong arguments, which are told on standard error. getopt puts the words
 * into another order: into that of a copy. */
bool doctor_read_line(struct doctor_line *line, struct arena *arena, const struct installed_hook *hook)
{
    const struct option_spec own[] = {
        {"ask", OPTION_VALUE, &line->a.ask},         {"grant", OPTION_FLAG, &line->a.grant},
        {"observe", OPTION_FLAG, &line->a.observe},  {"deadline", OPTION_VALUE, &line->a.deadline},
        {"event", OPTION_VALUE, &line->a.event},     {"fsync", OPTION_VALUE, &line->a.fsync},
        {"journal", OPTION_VALUE, &line->a.journal}, {"except-server", OPTION_LIST, &line->a.except},
        {"protect", OPTION_VALUE, &line->a.protect}, {"gate", OPTION_VALUE, &line->a.gate},
    };
    char **words = arena_array(arena, hook->word_count + 1, sizeof(*words));
    if (words == NULL) {
        return false;
    }
    memcpy(words, hook->words, hook->word_count * sizeof(*words));
    return options_read(&line->options, &command_hook, (int)hook->word_count - 1, words + 1,
                        TAKES_POLICY | TAKES_PATHS | TAKES_STATE, own, sizeof(own) / sizeof(*own)) == -1;
}

bool doctor_line_observes(const struct doctor_line *line)
{
    return line->a.observe && line->policy != NULL && !line->policy->forbids_observing;
}

void doctor_finish_line(struct doctor_line *line)
{
    policy_destroy(line->policy);
    free(line->a.except.items);
    options_finish(&line->options);
}

/* ---- Policy and state ---- */

static void print_errors(const struct findings *errors)
{
    struct buf lines;
    buf_init(&lines, 64u << 20);
    sources_write_errors(&lines, errors);
    print_lines(&lines);
    buf_finish(&lines);
}

struct policy *doctor_load_policy(struct doctor *d, const struct options *o, const char *mend, bool first)
{
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = sources_load(&o->sources, &o->base, NULL, &errors);
    if (policy == NULL) {
        doctor_fault(d, mend, "the policy does not load, so every call is denied:");
    } else if (errors.count) {
        doctor_note(d, "a workspace file does not load and is left out:");
    }
    print_errors(&errors);
    findings_finish(&errors);
    for (uint32_t i = 0; policy != NULL && first && i < policy->file_count; i++) {
        if (policy->files[i].used && policy->files[i].rules > 0) {
            doctor_good(d, "policy: %u rule(s) from %.*s", policy->files[i].rules,
                        SLICE_FMT(policy->files[i].name));
        }
    }
    return policy;
}

/* What the hook of this host loads beside the named files. */
static bool add_hook_sources(struct doctor *d, struct doctor_line *line, const struct host *host)
{
    struct arena *arena = &line->options.arena;
    struct slice project = {0};
    struct sources *sources = &line->options.sources;
    struct buf protect, error;
    bool added = true;
    buf_init(&protect, 64u << 10);
    buf_init_message(&error, MESSAGE_BYTES);
    if (line->a.protect != NULL) {
        buf_printf(&protect, "admin=%s", line->a.protect);
        added = buf_ok(&protect) && sources_add(sources, protect.ptr, &error) &&
                host_project_protection(arena, host, d->options.base.cwd, &project) &&
                sources_add_built_in(sources, "the project's steering files", project.ptr);
    }
    added = added && sources_add_built_in(sources, host->name, host->path_arguments);
    buf_finish(&protect);
    buf_finish(&error);
    return added;
}

struct policy *doctor_load_hook_policy(struct doctor *d, struct doctor_line *line, const struct host *host,
                                       bool first)
{
    struct options *o = &line->options;
    char mend[MEND_SIZE] = "mend the file that is named below";
    if (!options_surface_places(&command_hook, o)) {
        doctor_fault(d, "write one of the files named above, or install the hook with --policy FILE",
                     "the hook has no policy, so every call is denied");
        return NULL;
    }
    if (o->policies.count) {
        doctor_write_command(mend, "callgate check --policy ", o->policies.items[0], "");
    }
    if (line->a.protect != NULL && access(line->a.protect, R_OK) != 0) {
        doctor_fault(d, line->mend,
                     "the rules that came along with the hook are gone, so every call is denied: %s",
                     line->a.protect);
        return NULL;
    }
    if (!add_hook_sources(d, line, host)) {
        doctor_fault(d, line->mend, "the policy cannot be named");
        return NULL;
    }
    return doctor_load_policy(d, o, mend, first);
}

static void say_nothing(const char *line)
{
    (void)line;
}

/* A hook opens it only for a call that needs people. */
static void check_approvals(struct doctor *d, const struct options *o)
{
    struct buf error;
    char path[MEND_SIZE], mend[MEND_SIZE];
    buf_init(&error, 1u << 16);
    snprintf(path, sizeof(path), "%s/approvals.db", o->state_dir);
    doctor_write_command(mend, "chmod 600 ", path, "; move it away if it is damaged");
    struct people *people = people_open(o->state_dir, &error);
    if (people != NULL) {
        doctor_good(d, "journal and approvals can be written: %s", o->state_dir);
    } else {
        doctor_fault(d, mend, "approvals cannot be kept, so every call that needs people is denied: %.*s",
                     SLICE_FMT(buf_slice_of(&error)));
    }
    people_close(people);
    buf_finish(&error);
}

/* Opens what a hook does, and writes an event. */
void doctor_check_state(struct doctor *d, const struct options *o)
{
    struct gate_options options = {
        .surface = "doctor",
        .sources = &o->sources,
        .state_dir = o->state_dir,
        .base = o->base,
        .brief = true,
        .say = say_nothing,
    };
    struct event event = {.kind = "doctor.check", .detail = SLICE("{}")};
    struct buf error;
    char mend[MEND_SIZE];
    bool written = false;
    buf_init(&error, 1u << 20);
    doctor_write_command(mend, "chmod 700 ", o->state_dir, "; it must be yours, on a disk with room");
    struct gate *gate = gate_open(&options, &error);
    if (gate != NULL) {
        gate_note(gate, &event);
        written = gate_commit(gate);
    }
    if (written) {
        check_approvals(d, o);
    } else {
        doctor_fault(d, mend, "the journal cannot be written, so every call is denied: %.*s",
                     SLICE_FMT(buf_slice_of(&error)));
    }
    gate_close(gate);
    buf_finish(&error);
}
