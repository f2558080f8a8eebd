/* `notices`: who is told that a request waits, and the sender that tells them. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/libexec.h"
#include "cli/options.h"
#include "gate/state.h"
#include "people/sender.h"

static const char usage[] =
    "usage: callgate notices [list] [--state DIR]\n"
    "       callgate notices add command PROGRAM [ARG...]\n"
    "       callgate notices add desktop\n"
    "       callgate notices add bell TTY\n"
    "       callgate notices add webhook URL KEYFILE\n"
    "       callgate notices remove NUMBER\n"
    "       callgate notices test\n\n"
    "Tells people that a request waits, and that it has ended. Every gate and hook of the state directory "
    "does "
    "it.\n\n"
    "  command   runs PROGRAM (never through a shell) with the notice as JSON on its standard input\n"
    "  desktop   shows a desktop notice (notify-send)\n"
    "  bell      rings the bell of a terminal: callgate notices add bell $(tty)\n"
    "  webhook   posts the notice to URL, signed with the bytes of KEYFILE (mode 0600, 16 bytes or more)\n"
    "  test      sends a notice that says it is a test\n\n"
    "Example: callgate notices add command /usr/local/bin/tell-me\n\n"
    "Exit: 0 done, 1 there is no target of this number, 2 could not be done.\n";

static int show(const struct notice_targets *targets)
{
    struct buf out;
    buf_init(&out, 1u << 20);
    for (size_t i = 0; i < targets->count; i++) {
        const struct notice_target *t = &targets->list[i];
        buf_printf(&out, "%zu  ", i + 1);
        if (t->kind == NOTICE_COMMAND) {
            buf_text(&out, "command");
            for (size_t k = 0; k < t->argc; k++) {
                buf_byte(&out, ' ');
                utf8_append_printable(&out, t->argv[k]);
            }
        } else if (t->kind == NOTICE_WEBHOOK) {
            buf_text(&out, "webhook ");
            utf8_append_printable(&out, t->url);
        } else if (t->kind == NOTICE_BELL) {
            buf_text(&out, "bell ");
            utf8_append_printable(&out, t->tty);
        } else {
            buf_text(&out, "desktop");
        }
        buf_byte(&out, '\n');
    }
    if (targets->count == 0) {
        buf_text(&out, "Nobody is told. 'callgate notices add desktop' is the shortest way to be.\n");
    }
    int code = print(&out);
    buf_finish(&out);
    return code;
}

/* The target of an `add` as the JSON that notices.json would hold, so that one reader judges both. */
static bool write_wanted(struct buf *json, int argc, char **argv)
{
    const char *kind = argc > 0 ? argv[0] : "";
    char real[PATH_MAX];
    if (strcmp(kind, "command") == 0 && argc >= 2) {
        buf_text(json, "{\"kind\":\"command\",\"argv\":[");
        json_write_bytes(json, slice_of(realpath(argv[1], real) != NULL ? real : argv[1]));
        for (int i = 2; i < argc; i++) {
            buf_byte(json, ',');
            json_write_bytes(json, slice_of(argv[i]));
        }
        buf_text(json, "]}");
        return true;
    }
    if (strcmp(kind, "desktop") == 0 && argc == 1) {
        buf_text(json, "{\"kind\":\"desktop\"}");
        return true;
    }
    if (strcmp(kind, "bell") == 0 && argc == 2) {
        buf_text(json, "{\"kind\":\"bell\",\"tty\":");
        json_write_bytes(json, slice_of(argv[1]));
        buf_byte(json, '}');
        return true;
    }
    if (strcmp(kind, "webhook") == 0 && argc == 3) {
        buf_text(json, "{\"kind\":\"webhook\",\"url\":");
        json_write_bytes(json, slice_of(argv[1]));
        buf_text(json, ",\"keyFile\":");
        json_write_bytes(json, slice_of(realpath(argv[2], real) != NULL ? real : argv[2]));
        buf_byte(json, '}');
        return true;
    }
    return false;
}

/* Whether a target's program can be started; says why not. */
static bool can_start(const struct notice_target *target)
{
    struct buf webhook;
    bool ok = true;
    if (target->kind == NOTICE_COMMAND && access(target->argv[0].ptr, X_OK) != 0) {
        say("%s cannot be run: %s", target->argv[0].ptr, strerror(errno));
        return false;
    }
    buf_init(&webhook, 4096);
    if (target->kind == NOTICE_WEBHOOK) {
        libexec_path("callgate-webhook", &webhook);
        ok = buf_ok(&webhook) && access(webhook.ptr, X_OK) == 0;
        if (!ok) {
            say("callgate-webhook is not there: it is a program of its own; install the whole package");
        }
    }
    buf_finish(&webhook);
    return ok;
}

static int add(struct notice_targets *targets, int state, int argc, char **argv)
{
    struct buf json, error;
    struct json_doc doc;
    struct json_error fault;
    const struct json_options options = {.max_depth = 4, .max_bytes = 1u << 20};
    int code = EXIT_UNABLE;
    buf_init(&json, 1u << 20);
    buf_init_message(&error, MESSAGE_BYTES);
    json_init(&doc);
    struct notice_target *list = arena_array(&targets->arena, targets->count + 1, sizeof(*list));
    if (!write_wanted(&json, argc, argv)) {
        code = usage_error(&command_notices,
                           "name a target: command PROGRAM, desktop, bell TTY or webhook URL KEYFILE");
    } else if (list == NULL || !buf_ok(&json) || !json_parse(&doc, buf_slice_of(&json), &options, &fault)) {
        say("the target cannot be read");
    } else if (!notice_target_read(&list[targets->count], &doc, json_root(&doc), &targets->arena, &error)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (!can_start(&list[targets->count])) {
        code = EXIT_UNABLE;
    } else {
        if (targets->count > 0) {
            memcpy(list, targets->list, targets->count * sizeof(*list));
        }
        targets->list = list;
        targets->count++;
        if (notice_targets_write(targets, state, &error)) {
            code = show(targets);
        } else {
            say("%.*s", SLICE_FMT(buf_slice_of(&error)));
        }
    }
    json_finish(&doc);
    buf_finish(&json);
    buf_finish(&error);
    return code;
}

static int remove_one(struct notice_targets *targets, int state, const char *word)
{
    struct buf error;
    int64_t number;
    if (!option_number(word, 1, INT32_MAX, &number)) {
        return usage_error(&command_notices, "name the target's number, as 'callgate notices' shows it");
    }
    if ((uint64_t)number > targets->count) {
        say("there is no target %lld; 'callgate notices' shows those that there are", (long long)number);
        return EXIT_NO;
    }
    size_t at = (size_t)number - 1;
    targets->count--;
    memmove(&targets->list[at], &targets->list[at + 1], (targets->count - at) * sizeof(*targets->list));
    buf_init_message(&error, MESSAGE_BYTES);
    int code = EXIT_UNABLE;
    if (notice_targets_write(targets, state, &error)) {
        code = show(targets);
    } else {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&error);
    return code;
}

static int test(int state, const char *state_path)
{
    struct buf notice, error;
    uint64_t random = 0;
    buf_init(&notice, 4096);
    buf_init_message(&error, MESSAGE_BYTES);
    (void)!random_bytes(&random, sizeof(random));
    buf_printf(
        &notice,
        "{\"event\":\"test\",\"id\":\"test-%016llx\",\"request\":null,\"text\":\"Requests that wait will be "
        "told like this.\",\"title\":\"Callgate: a test\"}",
        (unsigned long long)random);
    bool ok = outbox_post(state, state_path, buf_slice_of(&notice), NULL, &error);
    if (!ok) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&notice);
    buf_finish(&error);
    return ok ? EXIT_YES : EXIT_UNABLE;
}

static int send_all(int state)
{
    struct buf error, webhook;
    buf_init_message(&error, MESSAGE_BYTES);
    buf_init(&webhook, 4096);
    libexec_path("callgate-webhook", &webhook);
    bool ok = buf_ok(&webhook) && sender_run(state, webhook.ptr, &error);
    if (!ok) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&error);
    buf_finish(&webhook);
    return ok ? EXIT_YES : EXIT_UNABLE;
}

static int with_targets(int state, struct options *options, const char *verb)
{
    struct notice_targets targets;
    struct buf error;
    int code = EXIT_UNABLE;
    buf_init_message(&error, MESSAGE_BYTES);
    if (!notice_targets_read(&targets, state, &error)) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else {
        if (strcmp(verb, "add") == 0) {
            code = add(&targets, state, options->argc - 1, options->argv + 1);
        } else if (strcmp(verb, "remove") == 0) {
            code = remove_one(&targets, state, options->argc == 2 ? options->argv[1] : "");
        } else if (options->argc <= 1) {
            code = show(&targets);
        }
        notice_targets_finish(&targets);
    }
    buf_finish(&error);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct buf error;
    int code = options_read(&options, &command_notices, argc, argv, TAKES_STATE, NULL, 0);
    if (code != -1) {
        return code;
    }
    const char *verb = options.argc > 0 ? options.argv[0] : "list";
    bool known = strcmp(verb, "add") == 0 || strcmp(verb, "remove") == 0 ||
                 (options.argc <= 1 &&
                  (strcmp(verb, "list") == 0 || strcmp(verb, "test") == 0 || strcmp(verb, "send") == 0));
    buf_init_message(&error, MESSAGE_BYTES);
    int state = known ? state_open(options.state_dir, &error) : -1;
    if (!known) {
        code = usage_error(&command_notices, "say 'list', 'add KIND', 'remove NUMBER' or 'test'");
    } else if (state < 0) {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
        code = EXIT_UNABLE;
    } else if (strcmp(verb, "test") == 0) {
        code = test(state, options.state_dir);
    } else if (strcmp(verb, "send") == 0) {
        code = send_all(state);
    } else {
        code = with_targets(state, &options, verb);
    }
    if (state >= 0) {
        close(state);
    }
    buf_finish(&error);
    options_finish(&options);
    return code;
}

const struct cli_command command_notices = {"notices", "who is told that a request waits", usage, run};
