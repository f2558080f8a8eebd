/* The one layout of policy documents. Nothing here depends on how a document was laid out before, only on its
 * values: laying out twice gives the same text. */
#include <string.h>

#include "base/utf8.h"
#include "document/document.h"
#include "document/schema.h"

#define WIDTH      110u /* a value that would go beyond this many columns is broken */
#define LINE_MOST  124u /* aligning makes no line longer than this */
#define INDENT     2u
#define RULE_KEYS  16u /* more than a rule has */
#define ALIGN_MOST 40u /* a name longer than this moves no other line */

struct pen {
    struct buf *out;
    const struct json_doc *doc;
    struct buf line; /* a value on one line, to see whether it fits. Its ceiling is that of a line. */
};

/* ---- Members in order ---- */

/* What a document is about comes before its rules, which may be many. */
static const char *const document_order[] = {
    "$schema",       "version",       "requireAuthoredPolicy",
    "pathArguments", "treeArguments", "commandArguments",
    "urlArguments",  "confine",       "rules",
    "policy",        "assertions",
};

static const char *name_at(const struct key_table *table, size_t at)
{
    if (table == NULL) {
        return NULL;
    }
    if (table == &schema_document || table == &schema_bridge) {
        return at < sizeof(document_order) / sizeof(*document_order) ? document_order[at] : NULL;
    }
    return at < table->count ? table->keys[at].name : NULL;
}

/* Walks an object's members: those of the table in its order, then all others in theirs. */
struct walk {
    const struct json_doc *doc;
    const struct json_value *object, *other;
    const struct key_table *table;
    size_t at;
};

static bool is_known(const struct key_table *table, struct slice name)
{
    const char *known;
    for (size_t i = 0; (known = name_at(table, i)) != NULL; i++) {
        if (slice_is(name, known)) {
            return true;
        }
    }
    return false;
}

static const struct json_value *next_member(struct walk *walk)
{
    const char *name;
    while ((name = name_at(walk->table, walk->at)) != NULL) {
        walk->at++;
        const struct json_value *value = json_get(walk->doc, walk->object, name);
        if (value != NULL) {
            return value - 1;
        }
    }
    do {
        walk->other = walk->other == NULL ? json_first(walk->doc, walk->object)
                                          : json_right(walk->doc, walk->object, walk->other);
    } while (walk->other != NULL && is_known(walk->table, json_str(walk->other)));
    return walk->other;
}

static const struct key_table *table_below(const struct key_table *table, struct slice name)
{
    const struct key *key = table == NULL ? NULL : schema_key(table, name);
    switch (key == NULL ? KEY_STRING : (enum key_type)key->type) {
    case KEY_MATCH:
        return table == &schema_assertion ? &schema_assertion_match : &schema_match;
    case KEY_RULES:
        return &schema_rule;
    case KEY_CONFINE:
        return &schema_confine;
    case KEY_ASSERTIONS:
        return &schema_assertion;
    default:
        return NULL;
    }
}

/* ---- On one line ---- */

static void write_unit(struct buf *buf, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    buf_bytes(
        buf,
        (char[]){'\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15]},
        6);
}

/* Whoever reads a policy must see all that is in it: what cannot be seen stands as an escape. */
static void write_string(struct buf *buf, struct slice s)
{
    size_t pos = 0;
    buf_byte(buf, '"');
    while (pos < s.len && !buf->failed) {
        size_t from = pos;
        uint32_t c = utf8_next(s, &pos);
        bool special = c == '"' || c == '\\' || (c > 0 && c < 0x20);
        const char *letter = special ? strchr("\"\"\\\\\bb\tt\nn\ff\rr", (int)c) : NULL;
        if (letter != NULL) {
            buf_bytes(buf, (char[]){'\\', letter[1]}, 2);
        } else if (!utf8_unseen(c)) {
            buf_bytes(buf, s.ptr + from, pos - from);
        } else if (c < 0x10000) {
            write_unit(buf, c);
        } else {
            write_unit(buf, 0xD800 + ((c - 0x10000) >> 10));
            write_unit(buf, 0xDC00 + ((c - 0x10000) & 0x3FF));
        }
    }
    buf_byte(buf, '"');
}

static void write_inline(struct buf *buf, const struct json_doc *doc, const struct json_value *value,
                         const struct key_table *table);

static void write_inline_member(struct buf *buf, const struct json_doc *doc, const struct json_value *key,
                                const struct key_table *table)
{
    write_string(buf, json_str(key));
    buf_text(buf, ": ");
    write_inline(buf, doc, json_member_value(key), table_below(table, json_str(key)));
}

/* `table` is an object's, or that of an array's elements. */
static void write_inline(struct buf *buf, const struct json_doc *doc, const struct json_value *value,
                         const struct key_table *table)
{
    struct walk walk = {.doc = doc, .object = value, .table = table};
    const struct json_value *at;
    bool first = true;
    switch ((enum json_type)value->type) {
    case JSON_STRING:
        write_string(buf, json_str(value));
        return;
    case JSON_OBJECT:
        buf_byte(buf, '{');
        while (!buf->failed && (at = next_member(&walk)) != NULL) {
            buf_text(buf, first ? "" : ", ");
            write_inline_member(buf, doc, at, table);
            first = false;
        }
        buf_byte(buf, '}');
        return;
    case JSON_ARRAY:
        buf_byte(buf, '[');
        for (at = json_first(doc, value); at != NULL && !buf->failed; at = json_right(doc, value, at)) {
            buf_text(buf, first ? "" : ", ");
            write_inline(buf, doc, at, table);
            first = false;
        }
        buf_byte(buf, ']');
        return;
    default:
        buf_slice(buf, json_text_of(doc, value));
    }
}

/* The columns of a value on one line; more than LINE_MOST when it is longer than any line may be. */
static size_t width_of(struct pen *pen, const struct json_value *value, const struct key_table *table)
{
    buf_reset(&pen->line);
    write_inline(&pen->line, pen->doc, value, table);
    return buf_ok(&pen->line) ? utf8_count(buf_slice_of(&pen->line)) : LINE_MOST + 1;
}

static size_t width_of_member(struct pen *pen, const struct json_value *key, const struct key_table *table)
{
    buf_reset(&pen->line);
    write_inline_member(&pen->line, pen->doc, key, table);
    return buf_ok(&pen->line) ? utf8_count(buf_slice_of(&pen->line)) : LINE_MOST + 1;
}

/* ---- On several lines ---- */

static void spaces(struct buf *buf, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_byte(buf, ' ');
    }
}

static void new_line(struct pen *pen, size_t indent)
{
    buf_byte(pen->out, '\n');
    spaces(pen->out, indent);
}

static void write_value(struct pen *pen, const struct json_value *value, const struct key_table *table,
                        size_t indent, size_t column);

static void write_member(struct pen *pen, const struct json_value *key, const struct key_table *table,
                         size_t indent)
{
    write_string(pen->out, json_str(key));
    buf_text(pen->out, ": ");
    write_value(pen, json_member_value(key), table_below(table, json_str(key)), indent,
                indent + utf8_count(json_str(key)) + 4);
}

static void write_broken(struct pen *pen, const struct json_value *value, const struct key_table *table,
                         size_t indent)
{
    struct walk walk = {.doc = pen->doc, .object = value, .table = table};
    const struct json_value *at = NULL;
    bool object = value->type == JSON_OBJECT, first = true;
    buf_byte(pen->out, object ? '{' : '[');
    for (;;) {
        at = object  ? next_member(&walk)
             : first ? json_first(pen->doc, value)
                     : json_right(pen->doc, value, at);
        if (at == NULL) {
            break;
        }
        buf_text(pen->out, first ? "" : ",");
        new_line(pen, indent + INDENT);
        if (object) {
            write_member(pen, at, table, indent + INDENT);
        } else {
            write_value(pen, at, table, indent + INDENT, indent + INDENT);
        }
        first = false;
    }
    new_line(pen, indent);
    buf_byte(pen->out, object ? '}' : ']');
}

/* A value that begins at `column` of a line that is indented by `indent`. */
static void write_value(struct pen *pen, const struct json_value *value, const struct key_table *table,
                        size_t indent, size_t column)
{
    bool container = value->type == JSON_OBJECT || value->type == JSON_ARRAY;
    /* One more for the comma behind it. */
    if (container && value->count > 0 && column + width_of(pen, value, table) + 1 > WIDTH) {
        write_broken(pen, value, table, indent);
    } else {
        write_inline(pen->out, pen->doc, value, table);
    }
}

/* ---- Rules ---- */

static bool is_rule(const struct json_doc *doc, const struct json_value *value)
{
    return json_get(doc, value, "id") != NULL && json_get(doc, value, "effect") != NULL &&
           json_get(doc, value, "match") != NULL;
}

static bool is_short(struct pen *pen, const struct json_value *value, size_t indent)
{
    return is_rule(pen->doc, value) && indent + width_of(pen, value, &schema_rule) + 1 <= WIDTH;
}

/* Rules of one line that follow one another have their ids and effects in columns. */
struct columns {
    size_t id, effect;
};

static void take_column(struct pen *pen, const struct json_value *rule, const char *name, size_t *widest)
{
    size_t width = width_of(pen, json_get(pen->doc, rule, name), NULL);
    if (width <= ALIGN_MOST && width > *widest) {
        *widest = width;
    }
}

/* The columns of the short rules from `rule` on. */
static struct columns columns_of(struct pen *pen, const struct json_value *rules,
                                 const struct json_value *rule, size_t indent)
{
    struct columns columns = {0, 0};
    for (; rule != NULL && is_short(pen, rule, indent); rule = json_right(pen->doc, rules, rule)) {
        take_column(pen, rule, "id", &columns.id);
        take_column(pen, rule, "effect", &columns.effect);
    }
    return columns;
}

static size_t padding(struct pen *pen, const struct json_value *rule, const char *name, size_t column)
{
    size_t width = width_of(pen, json_get(pen->doc, rule, name), NULL);
    return width < column ? column - width : 0;
}

static void write_short_rule(struct pen *pen, const struct json_value *rule, struct columns columns,
                             size_t indent)
{
    struct walk walk = {.doc = pen->doc, .object = rule, .table = &schema_rule};
    size_t behind_id = padding(pen, rule, "id", columns.id);
    size_t behind_effect = padding(pen, rule, "effect", columns.effect);
    if (indent + width_of(pen, rule, &schema_rule) + 1 + behind_id + behind_effect > LINE_MOST) {
        behind_id = behind_effect = 0;
    }
    const struct json_value *key = next_member(&walk);
    buf_byte(pen->out, '{');
    while (key != NULL) {
        write_inline_member(pen->out, pen->doc, key, &schema_rule);
        size_t pad = slice_is(json_str(key), "id")       ? behind_id
                     : slice_is(json_str(key), "effect") ? behind_effect
                                                         : 0;
        key = next_member(&walk);
        if (key != NULL) {
            buf_text(pen->out, ", ");
            spaces(pen->out, pad);
        }
    }
    buf_byte(pen->out, '}');
}

/* Id and effect, then the match on a line of its own, what fits behind it, and the comment. */
static void write_long_rule(struct pen *pen, const struct json_value *rule, size_t indent)
{
    struct walk walk = {.doc = pen->doc, .object = rule, .table = &schema_rule};
    const struct json_value *key;
    size_t column = indent + 1; /* behind the brace, where its members begin */
    bool first = true, broken = false;
    buf_byte(pen->out, '{');
    while ((key = next_member(&walk)) != NULL) {
        struct slice name = json_str(key);
        size_t width = width_of_member(pen, key, &schema_rule);
        bool own_line = slice_is(name, "match") || slice_is(name, "comment");
        /* Before it a comma and a space, behind it the brace and the comma. */
        bool starts =
            !first && !slice_is(name, "effect") && (own_line || broken || column + 2 + width + 2 > WIDTH);
        buf_text(pen->out, first ? "" : starts ? "," : ", ");
        if (starts) {
            new_line(pen, indent + 1);
        }
        column = (first || starts ? indent + 1 : column + 2) + width;
        broken = column + 2 > WIDTH;
        if (broken) {
            write_member(pen, key, &schema_rule, indent + 1);
        } else {
            write_inline_member(pen->out, pen->doc, key, &schema_rule);
        }
        first = false;
    }
    buf_byte(pen->out, '}');
}

static void write_rules(struct pen *pen, const struct json_value *rules, size_t indent)
{
    const struct json_value *rule;
    struct columns columns = {0, 0};
    bool in_run = false, first = true;
    buf_byte(pen->out, '[');
    for (rule = json_first(pen->doc, rules); rule != NULL; rule = json_right(pen->doc, rules, rule)) {
        bool is_one_line = is_short(pen, rule, indent + INDENT);
        buf_text(pen->out, first ? "" : ",");
        new_line(pen, indent + INDENT);
        if (is_one_line && !in_run) {
            columns = columns_of(pen, rules, rule, indent + INDENT);
        }
        if (is_one_line) {
            write_short_rule(pen, rule, columns, indent + INDENT);
        } else if (is_rule(pen->doc, rule)) {
            write_long_rule(pen, rule, indent + INDENT);
        } else {
            write_value(pen, rule, NULL, indent + INDENT, indent + INDENT);
        }
        in_run = is_one_line;
        first = false;
    }
    if (!first) {
        new_line(pen, indent);
    }
    buf_byte(pen->out, ']');
}

/* ---- Documents ---- */

static void write_document(struct pen *pen, const struct json_value *root)
{
    bool bridge = json_get(pen->doc, root, "policy") != NULL && json_get(pen->doc, root, "rules") == NULL;
    const struct key_table *table = bridge ? &schema_bridge : &schema_document;
    struct walk walk = {.doc = pen->doc, .object = root, .table = table};
    const struct json_value *key;
    bool first = true;
    buf_byte(pen->out, '{');
    while ((key = next_member(&walk)) != NULL) {
        const struct json_value *value = json_member_value(key);
        buf_text(pen->out, first ? "" : ",");
        new_line(pen, INDENT);
        first = false;
        if (value->type == JSON_ARRAY && table_below(table, json_str(key)) == &schema_rule) {
            write_string(pen->out, json_str(key));
            buf_text(pen->out, ": ");
            write_rules(pen, value, INDENT);
        } else if (value->type == JSON_ARRAY && value->count > 0 &&
                   table_below(table, json_str(key)) == &schema_assertion) {
            write_string(pen->out, json_str(key));
            buf_text(pen->out, ": ");
            write_broken(pen, value, &schema_assertion, INDENT);
        } else {
            write_member(pen, key, table, INDENT);
        }
    }
    buf_text(pen->out, first ? "}" : "\n}");
}

bool policy_write_layout(struct buf *buf, struct slice text)
{
    static const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH,
                                                .max_bytes = LIMIT_POLICY_BYTES};
    struct json_doc doc;
    struct json_error error;
    struct pen pen = {.out = buf, .doc = &doc};
    json_init(&doc);
    /* All of a line's room is taken now: from here on a failure says that a value is too long for it. */
    buf_init(&pen.line, (size_t)4 * LINE_MOST);
    bool good = json_parse(&doc, text, &options, &error) && buf_reserve(&pen.line, pen.line.ceiling) != NULL;
    if (good) {
        const struct json_value *root = json_root(&doc);
        if (root->type == JSON_ARRAY) {
            write_rules(&pen, root, 0);
        } else if (root->type == JSON_OBJECT) {
            write_document(&pen, root);
        } else {
            write_inline(buf, &doc, root, NULL);
        }
        buf_byte(buf, '\n');
    }
    buf_finish(&pen.line);
    json_finish(&doc);
    return good && buf_ok(buf);
}
