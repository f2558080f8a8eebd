/* Writes an explanation for people from its JSON. */
#include "cli/calls/explain_text.h"

#include "base/utf8.h"
#include "cli/colour.h"
#include "json/json.h"

/* The text that is being written. */
struct page {
    struct buf *out;
    const struct json_doc *doc;
    bool all; /* every rule, not only those that came near */
};

/* A call of megabytes is not repeated to a person. */
#define CALL_SHOWN 400

static void write_value(struct buf *out, const struct json_doc *doc, const struct json_value *object,
                        const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    if (json_is(value, JSON_STRING)) {
        utf8_append_printable(out, json_str(value));
    } else if (value != NULL) {
        utf8_append_printable(out, json_text_of(doc, value));
    }
}

static void write_quoted(struct buf *out, const struct json_doc *doc, const struct json_value *object,
                         const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    if (value != NULL) {
        utf8_append_printable(out, json_text_of(doc, value));
    }
}

static void write_decision(struct buf *out, const struct json_doc *doc, const struct json_value *decision)
{
    colour_start(out, colour_of_decision(json_str(json_get(doc, decision, "kind"))));
    write_value(out, doc, decision, "kind");
    colour_end(out);
    if (json_get(doc, decision, "rule") != NULL) {
        buf_text(out, " by rule '");
        write_value(out, doc, decision, "rule");
        buf_byte(out, '\'');
    } else {
        buf_text(out, ": no rule matches, and the tool needs none");
    }
    if (json_get(doc, decision, "reason") != NULL) {
        buf_text(out, ": ");
        write_value(out, doc, decision, "reason");
    }
    if (json_get(doc, decision, "approvers") != NULL) {
        buf_text(out, ": waits for ");
        write_value(out, doc, decision, "approvers");
        buf_text(out, " approver(s)");
    }
}

static void write_rule(struct buf *out, const struct json_doc *doc, const struct json_value *rule)
{
    buf_text(out, "    ");
    write_value(out, doc, rule, "file");
    buf_byte(out, ':');
    write_value(out, doc, rule, "line");
    buf_text(out, ": rule '");
    write_value(out, doc, rule, "rule");
    buf_text(out, "' (");
    write_value(out, doc, rule, "effect");
    buf_text(out, ", tier ");
    write_value(out, doc, rule, "tier");
    if (json_is(json_get(doc, rule, "matched"), JSON_TRUE)) {
        buf_text(out, ") matches\n");
        return;
    }
    if (json_get(doc, rule, "stopped") != NULL) {
        buf_text(out, ") looks at a path or a host, and this one cannot be read\n");
        return;
    }
    if (json_get(doc, rule, "noted") != NULL) {
        buf_text(out, ") is noted: whether it matches is not known, so people are asked about this call\n");
        return;
    }
    if (json_get(doc, rule, "bare") != NULL) {
        buf_text(out, ") does not match: it names no tool, and says nothing of the command, the host or the "
                      "path here\n");
        return;
    }
    buf_text(out, ") does not match: ");
    write_value(out, doc, rule, "field");
    if (json_get(doc, rule, "argument") != NULL) {
        buf_text(out, ", argument ");
        write_quoted(out, doc, rule, "argument");
        buf_text(out, ",");
    }
    buf_text(out, " wants ");
    write_quoted(out, doc, rule, "wanted");
    if (json_get(doc, rule, "absent") != NULL || json_is(json_get(doc, rule, "got"), JSON_NULL)) {
        buf_text(out, ", the call has none\n");
        return;
    }
    buf_text(out, ", the call has ");
    write_quoted(out, doc, rule, "got");
    buf_byte(out, '\n');
}

/* Whether a rule is about another tool or server, so that nothing of the call's input could make it match. */
static bool is_far(const struct json_doc *doc, const struct json_value *rule)
{
    static const char *const far[] = {"tool", "toolPrefix", "server"};
    const struct json_value *named = json_get(doc, rule, "field");
    struct slice field = named != NULL ? json_str(named) : SLICE("");
    for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
        if (slice_is(field, far[i])) {
            return true;
        }
    }
    return false;
}

static void write_rules(const struct page *page, const struct json_value *rules)
{
    size_t left = 0;
    for (const struct json_value *rule = json_first(page->doc, rules); rule != NULL;
         rule = json_right(page->doc, rules, rule)) {
        if (page->all || !is_far(page->doc, rule)) {
            write_rule(page->out, page->doc, rule);
        } else {
            left++;
        }
    }
    if (left > 0) {
        colour_start(page->out, COLOUR_DIM);
        buf_printf(page->out, "    %zu rule(s) for other tools or servers do not match; --all shows them",
                   left);
        colour_end(page->out);
        buf_byte(page->out, '\n');
    }
}

/* The command and the host of a reading, and whether it is read aside. */
static void write_named(struct buf *out, const struct json_doc *doc, const struct json_value *reading)
{
    if (json_get(doc, reading, "command") != NULL) {
        buf_text(out, ", command ");
        write_quoted(out, doc, reading, "command");
        if (json_get(doc, reading, "unreadable") != NULL) {
            buf_text(out, " (unreadable at ");
            write_value(out, doc, reading, "unreadableAt");
            buf_text(out, ": ");
            write_value(out, doc, reading, "unreadable");
            buf_byte(out, ')');
        } else if (json_get(doc, reading, "open") != NULL) {
            buf_text(out, " (what follows is not known)");
        }
    }
    if (json_get(doc, reading, "hostUnreadable") != NULL) {
        buf_text(out, ", a host that cannot be read");
    } else if (json_get(doc, reading, "host") != NULL) {
        buf_text(out, ", host ");
        write_value(out, doc, reading, "host");
    }
    buf_text(out, json_get(doc, reading, "aside") != NULL ? ", read aside" : "");
}

static void write_reading(const struct page *page, const struct json_value *reading)
{
    struct buf *out = page->out;
    const struct json_doc *doc = page->doc;
    const struct json_value *path = json_get(doc, reading, "path");
    buf_text(out, "  reading: ");
    if (json_get(doc, reading, "server") != NULL) {
        write_value(out, doc, reading, "server");
        buf_byte(out, '/');
    }
    write_value(out, doc, reading, "tool");
    if (path != NULL) {
        buf_text(out, ", path ");
        write_value(out, doc, reading, "path");
        if (json_get(doc, reading, "from") != NULL) {
            buf_text(out, " (from ");
            write_quoted(out, doc, reading, "from");
            buf_text(out, ", ");
            write_value(out, doc, reading, "read");
            if (json_get(doc, reading, "start") != NULL) {
                buf_text(out, ", starting at ");
                write_value(out, doc, reading, "start");
            }
            buf_text(out, ", by ");
            write_value(out, doc, reading, "via");
            buf_text(out, ", '..' ");
            write_value(out, doc, reading, "dotdot");
            buf_byte(out, ')');
        }
    } else if (slice_is(json_str(json_get(doc, reading, "kind")), "unreadable")) {
        buf_text(out, ", a path that cannot be resolved");
        if (json_get(doc, reading, "from") != NULL) {
            buf_text(out, ": ");
            write_quoted(out, doc, reading, "from");
        }
    } else {
        buf_text(out, ", no path");
    }
    write_named(out, doc, reading);
    buf_byte(out, '\n');
    write_rules(page, json_get(doc, reading, "rules"));
    buf_text(out, "    -> ");
    write_decision(out, doc, json_get(doc, reading, "decision"));
    buf_byte(out, '\n');
}

void explain_text_write(struct buf *out, struct slice call, struct slice json, bool all)
{
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 2 * LIMIT_JSON_DEPTH, .max_bytes = UINT32_MAX};
    json_init(&doc);
    if (json_parse(&doc, json, &options, &error)) {
        const struct json_value *root = json_root(&doc), *list = json_get(&doc, root, "readings"), *reading;
        utf8_append_printable(out, (struct slice){call.ptr, call.len < CALL_SHOWN ? call.len : CALL_SHOWN});
        buf_text(out, call.len > CALL_SHOWN ? "…\n" : "\n");
        const struct page page = {.out = out, .doc = &doc, .all = all};
        write_decision(out, &doc, json_get(&doc, root, "decision"));
        if (json_get(&doc, root, "limit") != NULL) {
            buf_text(out, ": more than ");
            write_value(out, &doc, root, "limit");
        }
        buf_byte(out, '\n');
        if (json_is(list, JSON_ARRAY) && list->count == 0 && json_get(&doc, root, "limit") == NULL) {
            buf_text(
                out,
                "  a call is "
                "{\"tool\",\"input\"?,\"server\"?,\"sessionKey\"?:{\"channel\",\"thread\"},\"actor\"?}\n");
        }
        for (reading = json_first(&doc, list); reading != NULL; reading = json_right(&doc, list, reading)) {
            write_reading(&page, reading);
        }
    } else {
        out->failed = true;
    }
    json_finish(&doc);
}
