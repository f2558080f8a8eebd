#include <stdio.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate status [--format text|json] [--state DIR]\n\n"
    "Shows the running gates, the policy of each, a refused reload that is due for review,\n"
    "and how many requests wait.\n";

static void write_string(struct buf *out, const struct json_doc *doc, const struct json_value *object,
                         const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    if (json_is(value, JSON_STRING))
        utf8_append_printable(out, json_str(value));
    else if (json_is(value, JSON_NUMBER))
        buf_slice(out, json_str(value));
    else
        buf_byte(out, '-');
}

static void write_refusal(struct buf *out, const struct json_doc *doc, const struct json_value *refused)
{
    buf_text(out, "    REFUSED RELOAD at ");
    write_string(out, doc, refused, "when");
    buf_byte(out, '\n');
    const struct json_value *list = json_get(doc, refused, "violations"), *v;
    for (v = list ? json_first(doc, list) : NULL; v; v = json_right(doc, list, v)) {
        buf_text(out, "      new auto_approve rule '");
        write_string(out, doc, v, "newRule");
        buf_text(out, "' weakens existing deny '");
        write_string(out, doc, v, "existingDeny");
        buf_text(out, "'\n");
    }
    list = json_get(doc, refused, "errors");
    for (v = list ? json_first(doc, list) : NULL; v; v = json_right(doc, list, v)) {
        buf_text(out, "      ");
        write_string(out, doc, v, "file");
        buf_byte(out, ':');
        write_string(out, doc, v, "line");
        buf_text(out, ": ");
        write_string(out, doc, v, "message");
        buf_byte(out, '\n');
    }
}

static void write_files(struct buf *out, const struct json_doc *doc, const struct json_value *policy)
{
    const struct json_value *files = json_get(doc, policy, "files"), *f;
    for (f = files ? json_first(doc, files) : NULL; f; f = json_right(doc, files, f)) {
        buf_text(out, "    file     ");
        write_string(out, doc, f, "file");
        buf_text(out, "  (tier ");
        write_string(out, doc, f, "tier");
        buf_text(out, ", ");
        write_string(out, doc, f, "rules");
        buf_text(out, " rules, ");
        write_string(out, doc, f, "state");
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
    if (json_is(refused, JSON_OBJECT))
        write_refusal(out, doc, refused);
}

static void write_text(struct buf *out, const struct buf *json, size_t waiting)
{
    struct json_doc doc;
    struct json_error error;
    struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    json_init(&doc);
    if (json_parse(&doc, buf_slice_of(json), &options, &error)) {
        const struct json_value *list = json_root(&doc), *v;
        if (list->count == 0)
            buf_text(out, "No gate is running.\n");
        for (v = json_first(&doc, list); v; v = json_right(&doc, list, v))
            write_gate(out, &doc, v);
    }
    buf_printf(out, "%zu request(s) wait; 'callgate pending' lists them.\n", waiting);
    json_finish(&doc);
}

static int status(const struct options *options)
{
    struct buf gates, out, error;
    struct request *requests = NULL;
    size_t waiting = 0;
    int code = EXIT_UNABLE;
    buf_init(&gates, LIMIT_MESSAGE_BYTES);
    buf_init(&out, (size_t)64 << 20);
    buf_init(&error, 4096);
    bool absent = options_state_is_absent(options);
    struct people *people = absent ? NULL : people_open(options->state_dir, &error);
    if (absent)
        buf_text(&gates, "[]");
    if (absent || (people && people_waiting(people, &requests, &waiting, &error) &&
                   gates_write_json(options->state_dir, &gates, &error))) {
        if (options->json)
            buf_printf(&out, "{\"gates\":%.*s,\"waiting\":%zu}\n", SLICE_FMT(buf_slice_of(&gates)), waiting);
        else
            write_text(&out, &gates, waiting);
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
    int code = options_read(&options, &command_status, argc, argv, TAKES_STATE | TAKES_FORMAT, NULL, 0);
    if (code != -1)
        return code;
    code = status(&options);
    options_finish(&options);
    return code;
}

const struct command command_status = {"status", "show the running gates and their policies", usage, run};
