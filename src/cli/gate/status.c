/* callgate status: the gates that run, what waits, and gaps in the journal. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/utf8.h"
#include "broker/broker.h"
#include "cli/commands.h"
#include "cli/gate/refusal_text.h"
#include "cli/gate/standard_policies.h"
#include "cli/options.h"
#include "install/observers.h"
#include "people/outbox.h"

static const char usage[] =
    "usage: callgate status [--format text|json] [--state DIR] [--cwd DIR] [--home DIR]\n\n"
    "Shows the running gates, the policy of each, a refused reload that is due for review, how many "
    "requests\n"
    "wait, and the standard places: which files a command without --policy uses here, and why one is not "
    "used.\n";

static void write_string(struct buf *out, const struct json_doc *doc, const struct json_value *object,
                         const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    if (json_is(value, JSON_STRING)) {
        utf8_append_printable(out, json_str(value));
    } else if (json_is(value, JSON_NUMBER)) {
        buf_slice(out, json_str(value));
    } else {
        buf_byte(out, '-');
    }
}

static void write_files(struct buf *out, const struct json_doc *doc, const struct json_value *policy)
{
    const struct json_value *files = json_get(doc, policy, "files"), *f;
    for (f = files != NULL ? json_first(doc, files) : NULL; f != NULL; f = json_right(doc, files, f)) {
        buf_text(out, "    file     ");
        write_string(out, doc, f, "file");
        buf_text(out, "  (tier ");
        write_string(out, doc, f, "tier");
        buf_text(out, ", ");
        write_string(out, doc, f, "rules");
        buf_text(out, " rules, ");
        write_string(out, doc, f, "state");
        if (json_get(doc, f, "why") != NULL) {
            buf_text(out, ": ");
            write_string(out, doc, f, "why");
        }
        buf_text(out, ")\n");
    }
}

static void write_gate(struct buf *out, const struct json_doc *doc, const struct json_value *gate)
{
    const struct json_value *policy = json_get(doc, gate, "policy"),
                            *refused = json_get(doc, gate, "refused");
    buf_text(out, "gate ");
    write_string(out, doc, gate, "pid");
    buf_text(out, "  ");
    write_string(out, doc, gate, "surface");
    buf_text(out, "  server ");
    write_string(out, doc, gate, "server");
    buf_text(out, "  since ");
    write_string(out, doc, gate, "started");
    if (json_is(json_get(doc, gate, "observing"), JSON_TRUE)) {
        buf_text(out, "\n    OBSERVING: denies and holds nothing; 'callgate enforce' ends it");
    }
    buf_text(out, "\n    policy   generation ");
    write_string(out, doc, policy, "generation");
    buf_text(out, " of ");
    write_string(out, doc, policy, "loaded");
    buf_text(out, ": ");
    write_string(out, doc, policy, "rules");
    buf_text(out, " rules, ");
    write_string(out, doc, policy, "warnings");
    buf_text(out, " warnings\n    digest   ");
    write_string(out, doc, policy, "digest");
    buf_byte(out, '\n');
    write_files(out, doc, policy);
    if (json_is(refused, JSON_OBJECT)) {
        buf_text(out, "    REFUSED RELOAD at ");
        write_string(out, doc, refused, "when");
        buf_byte(out, '\n');
        refusal_text_write(out, doc, refused, "      ");
        buf_text(out, "      'callgate dismiss' takes it off this list; so does a reload that succeeds\n");
    }
}

/* The broker: its policies stand among the gates, as the surface `serve`. */
static void write_broker(struct buf *out, const struct options *of)
{
    const struct json_options options = {.max_depth = 4, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct buf json;
    struct json_doc doc;
    struct json_error error;
    buf_init(&json, 2u << 20);
    json_init(&doc);
    if (broker_write_status(&json, of->state_dir) &&
        json_parse(&doc, buf_slice_of(&json), &options, &error) && json_is(json_root(&doc), JSON_OBJECT)) {
        const struct json_value *root = json_root(&doc), *version = json_get(&doc, root, "version");
        bool runs = json_is(json_get(&doc, root, "running"), JSON_TRUE);
        bool listens = json_is(json_get(&doc, root, "listens"), JSON_TRUE);
        buf_text(out, runs ? "broker " : "No broker runs; the last one was of version ");
        write_string(out, &doc, root, runs ? "pid" : "version");
        buf_text(out, runs ? "  version " : ", at ");
        write_string(out, &doc, root, runs ? "version" : "socket");
        if (runs) {
            buf_text(out, "  since ");
            write_string(out, &doc, root, "started");
            buf_text(out, "\n    socket   ");
            write_string(out, &doc, root, "socket");
            buf_text(out, listens ? "\n" : "  (DOES NOT LISTEN: start it anew)\n");
        } else {
            buf_text(out, listens ? " (a service manager listens there)\n"
                                  : "; a client that needs it starts it\n");
        }
        if (runs && (!json_is(version, JSON_STRING) || !slice_is(json_str(version), CALLGATE_VERSION))) {
            buf_text(out, "    it is of another release than this program (" CALLGATE_VERSION
                          "): start it anew\n");
        }
    }
    json_finish(&doc);
    buf_finish(&json);
}

/* Hooks and gates that were written with --observe, whether they run or not. */
static void write_observers(struct buf *out, const struct options *of, bool json)
{
    struct observer *list = NULL;
    size_t count = 0;
    struct buf report, name;
    struct arena arena;
    arena_init(&arena, 512u << 20);
    buf_init(&report, 1u << 20);
    buf_init(&name, 1u << 20);
    (void)!observers_find(of->state_dir, of->base.home, of->base.cwd, &arena, &list, &count, &report);
    for (size_t i = 0; i < count; i++) {
        buf_reset(&name);
        observer_write(&name, &list[i]);
        if (json) {
            buf_text(out, i > 0 ? "," : "");
            json_write_bytes(out, buf_slice_of(&name));
        } else {
            buf_printf(out,
                       "OBSERVING: %.*s denies and holds nothing, unless its policy forbids it; "
                       "'callgate enforce' ends it\n",
                       SLICE_FMT(buf_slice_of(&name)));
        }
    }
    buf_finish(&report);
    buf_finish(&name);
    arena_finish(&arena);
}

/* What became of notices: nothing is told while they arrive. */
static void write_notices(struct buf *out, const struct options *of, bool json)
{
    struct outbox_state state = {0};
    int fd = open(of->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool read = fd < 0 || outbox_read_state(&state, fd);
    if (json) {
        buf_printf(out, "{\"waiting\":%zu,\"dropped\":%llu,\"failing\":", state.waiting,
                   (unsigned long long)state.dropped);
        if (state.failing) {
            buf_text(out, "{\"since\":");
            json_write_bytes(out, slice_of(state.since));
            buf_text(out, ",\"why\":");
            json_write_bytes(out, slice_of(state.why));
            buf_text(out, "}}");
        } else {
            buf_text(out, "null}");
        }
    } else if (!read) {
        buf_text(out, "NOTICES: what became of them cannot be read.\n");
    } else if (state.failing) {
        buf_text(out, "NOTICES: ");
        utf8_append_printable(out, slice_of(state.why));
        buf_text(out, ", since ");
        utf8_append_printable(out, slice_of(state.since));
        buf_printf(out, "; %zu wait and are tried again for a day.\n", state.waiting);
    }
    if (!json && state.dropped > 0) {
        buf_printf(out, "NOTICES: %llu dropped.\n", (unsigned long long)state.dropped);
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void write_text(struct buf *out, const struct buf *json, size_t waiting,
                       const struct journal_place *missing, const struct options *of)
{
    struct json_doc doc;
    struct json_error error;
    struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    json_init(&doc);
    if (json_parse(&doc, buf_slice_of(json), &options, &error)) {
        const struct json_value *list = json_root(&doc), *v;
        if (list->count == 0) {
            buf_text(out, "No gate is running.\n");
        }
        for (v = json_first(&doc, list); v != NULL; v = json_right(&doc, list, v)) {
            write_gate(out, &doc, v);
        }
    }
    write_broker(out, of);
    write_observers(out, of, false);
    buf_printf(out, "%zu request(s) wait; 'callgate pending' lists them.\n", waiting);
    write_notices(out, of, false);
    if (missing->seq > 0) {
        buf_printf(out,
                   "The journal has a gap: event %llu, which was written, is not in it. Look at it with "
                   "'callgate journal "
                   "verify'; 'callgate acknowledge --gap' stops telling it.\n",
                   (unsigned long long)missing->seq);
    }
    buf_text(out, "standard places, used here without --policy:\n");
    standard_policies_write(out, &of->base, false);
    json_finish(&doc);
}

static void write_json(struct buf *out, const struct buf *gates, size_t waiting,
                       const struct journal_place *missing, const struct options *of)
{
    buf_printf(out, "{\"gates\":%.*s,\"waiting\":%zu,\"places\":", SLICE_FMT(buf_slice_of(gates)), waiting);
    standard_policies_write(out, &of->base, true);
    if (missing->seq > 0) {
        buf_printf(out, ",\"gap\":{\"hash\":\"%s\",\"seq\":%llu}", missing->hash,
                   (unsigned long long)missing->seq);
    }
    buf_text(out, ",\"notices\":");
    write_notices(out, of, true);
    buf_text(out, ",\"broker\":");
    if (!broker_write_status(out, of->state_dir)) {
        out->failed = true;
    }
    buf_text(out, ",\"observing\":[");
    write_observers(out, of, true);
    buf_text(out, "]}\n");
}

static int status(const struct options *options)
{
    struct buf gates, out, error;
    struct request *requests = NULL;
    size_t waiting = 0;
    struct journal_place missing = {0};
    int code = EXIT_UNABLE;
    buf_init(&gates, LIMIT_MESSAGE_BYTES);
    buf_init(&out, (size_t)64 << 20);
    buf_init_message(&error, MESSAGE_BYTES);
    bool absent = options_state_is_absent(options);
    struct people *people = absent ? NULL : people_open(options->state_dir, &error);
    if (absent) {
        buf_text(&gates, "[]");
    }
    if (absent || (people != NULL && people_waiting(people, &requests, &waiting, &error) &&
                   gates_write_json(options->state_dir, &gates, &error) &&
                   gate_find_gap(options->state_dir, &missing, &error))) {
        if (options->json) {
            write_json(&out, &gates, waiting, &missing, options);
        } else {
            write_text(&out, &gates, waiting, &missing, options);
        }
        code = print(&out);
    } else {
        say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    people_close(people);
    buf_finish(&gates);
    buf_finish(&out);
    buf_finish(&error);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    int code = options_read(&options, &command_status, argc, argv,
                            TAKES_STATE | TAKES_FORMAT | TAKES_PATHS | TAKES_NO_WORDS, NULL, 0);
    if (code != -1) {
        return code;
    }
    code = status(&options);
    options_finish(&options);
    return code;
}

const struct cli_command command_status = {"status", "show the running gates and their policies", usage, run};
