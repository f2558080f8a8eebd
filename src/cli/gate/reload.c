/* `reload` and `dismiss`: what an operator tells the running gates. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/gate/refusal_text.h"
#include "cli/gate/reload.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate reload [--state DIR]\n\n"
    "Tells every running gate of the state directory to read its policy again, and reports what each did. A "
    "gate\n"
    "refuses a policy that does not load or that weakens a deny: its running policy stays.\n\n"
    "Exit: 0 all adopted theirs, 1 some refused, 2 could not be done.\n";

static const char dismiss_usage[] = "usage: callgate dismiss [--state DIR]\n\n"
                                    "Takes the refused reloads off the list that `callgate status` shows for "
                                    "review. The journal keeps them.\n";

/* A gate answers at the next turn of its loop; one that does not within this is told to be busy. */
#define WAIT_MS 10000
#define POLL_US 20000

struct told {
    int64_t pid, reloads, generation;
    bool answered;
};

struct status {
    struct buf text;
    struct json_doc doc;
};

static void status_init(struct status *status)
{
    buf_init(&status->text, LIMIT_MESSAGE_BYTES);
    json_init(&status->doc);
}

static void status_finish(struct status *status)
{
    json_finish(&status->doc);
    buf_finish(&status->text);
}

static bool status_read(struct status *status, const char *state_dir, struct buf *error)
{
    struct json_error json_error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    buf_reset(&status->text);
    return gates_write_json(state_dir, &status->text, error) &&
           json_parse(&status->doc, buf_slice_of(&status->text), &options, &json_error);
}

static int64_t number(const struct json_doc *doc, const struct json_value *object, const char *key)
{
    int64_t value = -1;
    const struct json_value *v = json_get(doc, object, key);
    if (!json_is(v, JSON_NUMBER) || json_number_int(json_str(v), &value) != JSON_INT_OK) {
        return -1;
    }
    return value;
}

static void report(struct buf *out, const struct json_doc *doc, const struct json_value *gate, bool *adopted)
{
    const struct json_value *refused = json_get(doc, gate, "refused"),
                            *policy = json_get(doc, gate, "policy");
    *adopted = !json_is(refused, JSON_OBJECT);
    buf_printf(out, "gate %lld: ", (long long)number(doc, gate, "pid"));
    if (*adopted) {
        buf_printf(out, "adopted: generation %lld, %lld rule(s)\n",
                   (long long)number(doc, policy, "generation"), (long long)number(doc, policy, "rules"));
        return;
    }
    buf_text(out, "refused: the running policy stays\n");
    refusal_text_write(out, doc, refused, "  ");
}

static struct told *tell_all(const struct status *status, size_t *ret_count)
{
    const struct json_value *list = json_root(&status->doc), *gate;
    struct told *told = calloc((size_t)list->count + 1, sizeof(*told));
    *ret_count = 0;
    if (told == NULL) {
        return NULL;
    }
    for (gate = json_first(&status->doc, list); gate != NULL; gate = json_right(&status->doc, list, gate)) {
        struct told *one = &told[*ret_count];
        one->pid = number(&status->doc, gate, "pid");
        one->reloads = number(&status->doc, gate, "reloads");
        /* The entry is locked by the process that made it: the number is still its own. */
        if (one->pid > 1 && one->pid <= INT32_MAX && kill((pid_t)one->pid, SIGHUP) == 0) {
            ++*ret_count;
        }
    }
    return told;
}

/* Looks once at what the gates have done since. Returns how many have not answered. */
static size_t look(struct status *status, struct told *told, size_t count, struct buf *out, bool *all_adopted)
{
    const struct json_value *list = json_root(&status->doc), *gate;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        bool here = false, adopted = true;
        for (gate = json_first(&status->doc, list); gate != NULL && !told[i].answered;
             gate = json_right(&status->doc, list, gate)) {
            if (number(&status->doc, gate, "pid") != told[i].pid) {
                continue;
            }
            here = true;
            if (number(&status->doc, gate, "reloads") == told[i].reloads) {
                continue;
            }
            told[i].answered = true;
            report(out, &status->doc, gate, &adopted);
            *all_adopted = *all_adopted && adopted;
        }
        if (!here && !told[i].answered) {
            told[i].answered = true;
            buf_printf(out, "gate %lld: has ended\n", (long long)told[i].pid);
        }
        left += !told[i].answered;
    }
    return left;
}

int reload_gates(const char *state_dir)
{
    struct status status;
    struct buf out, error;
    size_t count = 0, left = 0;
    bool all_adopted = true;
    status_init(&status);
    buf_init(&out, 16u << 20);
    buf_init_message(&error, MESSAGE_BYTES);
    struct told *told = status_read(&status, state_dir, &error) ? tell_all(&status, &count) : NULL;
    uint64_t until = clock_mono_ns() + WAIT_MS * 1000000ull;
    left = count;
    while (told != NULL && left > 0 && clock_mono_ns() < until && error.len == 0) {
        usleep(POLL_US);
        if (status_read(&status, state_dir, &error)) {
            left = look(&status, told, count, &out, &all_adopted);
        }
    }
    for (size_t i = 0; told != NULL && i < count; i++) {
        if (!told[i].answered) {
            buf_printf(&out, "gate %lld: has not answered; see `callgate status`\n", (long long)told[i].pid);
        }
    }
    if (told != NULL && count == 0) {
        buf_text(&out, "No gate is running.\n");
    }
    if (told == NULL) {
        say("%.*s", SLICE_FMT(error.len ? buf_slice_of(&error) : SLICE("no memory")));
    }
    int code = told != NULL ? print(&out) : EXIT_UNABLE;
    if (code == EXIT_YES && (left > 0 || !all_adopted)) {
        code = EXIT_NO;
    }
    free(told);
    status_finish(&status);
    buf_finish(&out);
    buf_finish(&error);
    return code;
}

static int run_reload(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, &command_reload, argc, argv,
                            TAKES_STATE | STATE_IS_THERE | TAKES_NO_WORDS, NULL, 0);
    if (code != -1) {
        return code;
    }
    code = reload_gates(options.state_dir);
    options_finish(&options);
    return code;
}

static int run_dismiss(int argc, char **argv)
{
    struct options options;
    struct buf out;
    size_t count = 0;
    int code = options_read(&options, &command_dismiss, argc, argv,
                            TAKES_STATE | STATE_IS_THERE | TAKES_NO_WORDS, NULL, 0);
    if (code != -1) {
        return code;
    }
    buf_init(&out, 4096);
    if (gates_dismiss(options.state_dir, &count, &out)) {
        buf_reset(&out);
        buf_printf(&out, "%zu refused reload(s) dismissed\n", count);
        code = print(&out);
    } else {
        say("%.*s", SLICE_FMT(buf_slice_of(&out)));
        code = EXIT_UNABLE;
    }
    buf_finish(&out);
    options_finish(&options);
    return code;
}

const struct cli_command command_reload = {"reload", "tell the running gates to read their policies again",
                                           usage, run_reload};
const struct cli_command command_dismiss = {"dismiss", "take refused reloads off the list for review",
                                            dismiss_usage, run_dismiss};
