/* Writes what a gate keeps of a refused reload. */
#include "cli/gate/refusal_text.h"

#include "base/utf8.h"

static void write_string(struct buf *out, const struct json_doc *doc, const struct json_value *object,
                         const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    if (json_is(value, JSON_STRING)) {
        utf8_append_printable(out, json_str(value));
    } else {
        utf8_append_printable(out, value != NULL ? json_text_of(doc, value) : SLICE("-"));
    }
}

static void write_violation(struct buf *out, const struct json_doc *doc, const struct json_value *violation)
{
    buf_text(out, "new auto_approve rule '");
    write_string(out, doc, violation, "newRule");
    buf_text(out, "' weakens existing deny '");
    write_string(out, doc, violation, "existingDeny");
    buf_text(out, "'");
}

static void write_error(struct buf *out, const struct json_doc *doc, const struct json_value *error)
{
    write_string(out, doc, error, "file");
    buf_byte(out, ':');
    write_string(out, doc, error, "line");
    buf_text(out, ": ");
    write_string(out, doc, error, "message");
}

static void write_weakening(struct buf *out, const struct json_doc *doc, const struct json_value *weakening)
{
    buf_text(out, "weaker: ");
    write_string(out, doc, weakening, "from");
    buf_text(out, " becomes ");
    write_string(out, doc, weakening, "to");
    buf_text(out, " for ");
    write_string(out, doc, weakening, "match");
    if (json_get(doc, weakening, "unreadable") != NULL) {
        buf_text(out, " with a path that cannot be resolved");
    }
    if (json_is(json_get(doc, weakening, "witness"), JSON_OBJECT)) {
        buf_text(out, ", such as ");
        write_string(out, doc, weakening, "witness");
    }
}

static void write_confined(struct buf *out, const struct json_doc *doc, const struct json_value *change)
{
    buf_text(out, "weaker: confine.");
    write_string(out, doc, change, "list");
    buf_text(out, json_is(json_get(doc, change, "added"), JSON_TRUE) ? " gets '" : " loses '");
    write_string(out, doc, change, "place");
    buf_byte(out, '\'');
}

void refusal_text_write(struct buf *out, const struct json_doc *doc, const struct json_value *refused,
                        const char *indent)
{
    static const struct {
        const char *list, *more;
        void (*write)(struct buf *out, const struct json_doc *doc, const struct json_value *item);
    } kinds[] = {{"violations", "moreViolations", write_violation},
                 {"errors", "moreErrors", write_error},
                 {"weaker", "moreWeaker", write_weakening},
                 {"confine", "moreConfine", write_confined}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const struct json_value *list = json_get(doc, refused, kinds[i].list), *v;
        for (v = list != NULL ? json_first(doc, list) : NULL; v != NULL; v = json_right(doc, list, v)) {
            buf_text(out, indent);
            kinds[i].write(out, doc, v);
            buf_byte(out, '\n');
        }
        if (json_get(doc, refused, kinds[i].more) != NULL) {
            buf_printf(out, "%sand ", indent);
            write_string(out, doc, refused, kinds[i].more);
            buf_text(out, " more: 'callgate check' lists all\n");
        }
    }
    if (json_get(doc, refused, "allowsObserving") != NULL) {
        buf_printf(out, "%sweaker: observing is no longer forbidden (allowObserve)\n", indent);
    }
    if (json_get(doc, refused, "digest") != NULL) {
        buf_printf(out, "%sto accept exactly this: callgate acknowledge ", indent);
        write_string(out, doc, refused, "digest");
        buf_byte(out, '\n');
    }
}
