/* Calls that are made up from the rules of a policy, for `check --upgrade`: for each rule one on which it decides, and the
 * same said in other words, since that is where a release learns to read more. */
#include "cli/policy/upgrade_internal.h"

#include <string.h>

#include "json/json.h"

#define WORDS_MOST 4u /* of a witness's input that are said in other ways */

static void begin(struct buf *calls, const struct json_doc *doc, const struct json_value *call,
                  const char *tool)
{
    static const char *const kept[] = {"server", "sessionKey", "actor"};
    const struct json_value *own = json_get(doc, call, "tool");
    buf_text(calls, "{\"tool\":");
    if (tool == NULL && json_is(own, JSON_STRING)) {
        json_write_string(calls, json_str(own));
    } else {
        json_write_string(calls, slice_of(tool != NULL ? tool : "tool"));
    }
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        const struct json_value *value = json_get(doc, call, kept[i]);
        if (value != NULL) {
            buf_printf(calls, ",\"%s\":", kept[i]);
            buf_slice(calls, json_text_of(doc, value));
        }
    }
    buf_text(calls, ",\"input\":{");
}

static void one(struct buf *calls, const struct json_doc *doc, const struct json_value *call,
                const char *tool, const char *name, struct slice value)
{
    begin(calls, doc, call, tool);
    buf_printf(calls, "\"%s\":", name);
    json_write_string(calls, value);
    buf_text(calls, "}}\n");
}

/* One word of a witness, a path, a command or an address, where nothing is known to read it as that. */
static void say_otherwise(struct buf *calls, const struct json_doc *doc, const struct json_value *call,
                          struct slice word)
{
    struct buf text;
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    one(calls, doc, call, NULL, "target", word);
    buf_text(&text, "{\"path\":");
    json_write_string(&text, word);
    buf_byte(&text, '}');
    one(calls, doc, call, NULL, "data", buf_slice_of(&text));
    if (word.len > 1 && word.ptr[0] == '/') {
        struct slice above = word;
        for (int i = 0; i < 2; i++) { /* a directory, with what is below it */
            const char *slash = memrchr(above.ptr, '/', above.len);
            above.len = slash != NULL && slash > above.ptr ? (size_t)(slash - above.ptr) : 1;
            one(calls, doc, call, NULL, "path", above);
        }
        buf_reset(&text);
        buf_slice(&text, word);
        buf_text(&text, "*");
        one(calls, doc, call, NULL, "path", buf_slice_of(&text));
    }
    buf_reset(&text);
    buf_text(&text, "cat ");
    buf_slice(&text, word);
    one(calls, doc, call, NULL, "command", buf_slice_of(&text));
    one(calls, doc, call, "Bash", "command", buf_slice_of(&text));
    one(calls, doc, call, NULL, "script", word);
    calls->failed = calls->failed || !buf_ok(&text);
    buf_finish(&text);
}

/* The strings of an input, however deep; at most WORDS_MOST. */
static void each_string(struct buf *calls, const struct json_doc *doc, const struct json_value *call,
                        const struct json_value *value, unsigned *left)
{
    const struct json_value *v;
    if (json_is(value, JSON_STRING) && *left > 0 && json_str(value).len > 0) {
        --*left;
        say_otherwise(calls, doc, call, json_str(value));
    } else if (json_is(value, JSON_OBJECT) || json_is(value, JSON_ARRAY)) {
        for (v = json_first(doc, value); v != NULL && *left > 0; v = json_right(doc, value, v)) {
            each_string(calls, doc, call, json_is(value, JSON_OBJECT) ? json_member_value(v) : v, left);
        }
    }
}

bool upgrade_make_calls(struct buf *calls, const struct policy *policy, struct analysis *analysis)
{
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct buf witness;
    struct json_doc doc;
    struct json_error error;
    buf_init(&witness, LIMIT_MESSAGE_BYTES);
    json_init(&doc);
    for (uint32_t i = 0; i < policy->rule_count && buf_ok(calls); i++) {
        buf_reset(&witness);
        if (!dead_witness(analysis, i, &witness) ||
            !json_parse(&doc, buf_slice_of(&witness), &options, &error)) {
            continue;
        }
        const struct json_value *call = json_root(&doc);
        unsigned left = WORDS_MOST;
        buf_slice(calls, json_text_of(&doc, call));
        buf_byte(calls, '\n');
        each_string(calls, &doc, call, json_get(&doc, call, "input"), &left);
    }
    json_finish(&doc);
    buf_finish(&witness);
    return buf_ok(calls);
}
