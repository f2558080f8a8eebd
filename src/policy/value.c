/* How values of each type of match field are written and compared. */
#include "policy/value.h"

#include <string.h>

#include "base/utf8.h"
#include "json/json.h"

static enum field_type type_of(const struct field_value *value)
{
    return (enum field_type)field_table[value->field].type;
}

static const struct match_pattern *pattern_of(const struct field_value *value)
{
    return policy_pattern(value->policy, value->value);
}

/* The canonical text of a value of any type. */
static struct slice text_of(const struct field_value *value)
{
    switch (type_of(value)) {
    case FIELD_TYPE_ACTOR:
        return slice_of(actor_name((enum actor)value->value));
    case FIELD_TYPE_PATH:
        return value->policy->prefixes->list[value->value - 1].path;
    case FIELD_TYPE_COMMAND:
    case FIELD_TYPE_PREFIX:
    case FIELD_TYPE_WORD:
    case FIELD_TYPE_HOST:
        return policy_text(value->policy, pattern_of(value)->text);
    default:
        return policy_text(value->policy, value->value);
    }
}

/* {"destructiveHint":true,…}: hints in the order of their names. */
static void write_hints(struct buf *buf, uint32_t bits)
{
    char before = '{';
    for (enum hint hint = 0; hint < HINT_COUNT; hint++) {
        bool is_true = (bits & hint_bit(hint, true)) != 0;
        if (is_true || (bits & hint_bit(hint, false)) != 0) {
            buf_printf(buf, "%c\"%s\":%s", before, hint_names[hint], is_true ? "true" : "false");
            before = ',';
        }
    }
    buf_byte(buf, '}');
}

void field_write_text(struct buf *buf, const struct field_value *value)
{
    if (type_of(value) == FIELD_TYPE_HINTS) {
        write_hints(buf, value->value);
        return;
    }
    buf_slice(buf, text_of(value));
}

void field_write_json(struct buf *buf, const struct field_value *value)
{
    if (type_of(value) == FIELD_TYPE_HINTS) {
        write_hints(buf, value->value);
        return;
    }
    struct slice text = text_of(value);
    if (type_of(value) != FIELD_TYPE_PATH || utf8_valid_upto(text) == text.len) {
        json_write_string(buf, text);
        return;
    }
    buf_text(buf, "\"\\u0000"); /* no path has a NUL, so two paths never share a text */
    for (size_t i = 0; i < text.len; i++) {
        static const char digits[] = "0123456789abcdef";
        unsigned char c = (unsigned char)text.ptr[i];
        buf_byte(buf, digits[c >> 4]);
        buf_byte(buf, digits[c & 15]);
    }
    buf_byte(buf, '"');
}

/* ---- Relations ---- */

/* Commands of a deny stand for more than those of an allow that are written alike. */
static bool same_kind(const struct field_value *a, const struct field_value *b)
{
    enum field_type type = type_of(a);
    if (a->field != b->field) {
        return false;
    }
    return (type != FIELD_TYPE_COMMAND && type != FIELD_TYPE_PREFIX) ||
           pattern_of(a)->command.loose == pattern_of(b)->command.loose;
}

bool field_equal(const struct field_value *a, const struct field_value *b)
{
    if (a->field == b->field && (a->policy == b->policy || type_of(a) == FIELD_TYPE_HINTS)) {
        return a->value == b->value;
    }
    return same_kind(a, b) && slice_eq(text_of(a), text_of(b));
}

bool field_related(enum match_field outer, enum match_field inner)
{
    if (outer == inner) {
        return true;
    }
    bool names = (outer == FIELD_TOOL || outer == FIELD_TOOL_PREFIX) &&
                 (inner == FIELD_TOOL || inner == FIELD_TOOL_PREFIX);
    return names || (field_table[outer].looks == LOOKS_COMMAND && field_table[inner].looks == LOOKS_COMMAND);
}

/* Whether every command of a pattern has a later word of a word pattern. */
static bool has_word(const struct command_pattern *pattern, const struct command_word_pattern *word)
{
    for (uint32_t i = 1; i < pattern->count; i++) {
        if (!pattern->words[i].any && command_word_meets(word, pattern->words[i].text)) {
            return true;
        }
    }
    return false;
}

static bool command_covers(const struct field_value *outer, const struct field_value *inner)
{
    if (outer->field == FIELD_COMMAND_WORD) {
        return inner->field == FIELD_COMMAND_WORD
                   ? command_word_subset(&pattern_of(inner)->word, &pattern_of(outer)->word)
                   : has_word(&pattern_of(inner)->command, &pattern_of(outer)->word);
    }
    return inner->field != FIELD_COMMAND_WORD &&
           command_pattern_subset(&pattern_of(inner)->command, &pattern_of(outer)->command);
}

bool field_covers(const struct field_value *outer, const struct field_value *inner)
{
    if (!field_related(outer->field, inner->field)) {
        return false;
    }
    switch (type_of(outer)) {
    case FIELD_TYPE_NAME_PREFIX:
        return slice_starts_with(text_of(inner), text_of(outer));
    case FIELD_TYPE_PATH:
        return path_is_under(text_of(inner), text_of(outer));
    case FIELD_TYPE_COMMAND:
    case FIELD_TYPE_PREFIX:
    case FIELD_TYPE_WORD:
        return command_covers(outer, inner);
    case FIELD_TYPE_HINTS: /* whatever has more of them also has these */
        return (outer->value & ~inner->value) == 0;
    case FIELD_TYPE_HOST:
        return url_pattern_subset(&pattern_of(inner)->host, &pattern_of(outer)->host);
    default:
        return field_equal(outer, inner);
    }
}

static bool commands_meet(const struct field_value *a, const struct field_value *b)
{
    if (a->field == FIELD_COMMAND_WORD || b->field == FIELD_COMMAND_WORD) {
        return true; /* of a prefix some command has any word; of an exact command this is not looked at */
    }
    return command_pattern_meet(NULL, &pattern_of(a)->command, &pattern_of(b)->command, NULL) != COMMAND_NO;
}

bool field_meets(const struct field_value *a, const struct field_value *b)
{
    if (!field_related(a->field, b->field)) {
        return true;
    }
    switch (type_of(a)) {
    case FIELD_TYPE_COMPONENT: /* a path has many */
    case FIELD_TYPE_HINTS:     /* a tool of which nothing is known may have any */
        return true;
    case FIELD_TYPE_COMMAND:
    case FIELD_TYPE_PREFIX:
    case FIELD_TYPE_WORD:
        return commands_meet(a, b);
    case FIELD_TYPE_HOST:
        return url_pattern_meet(&pattern_of(a)->host, &pattern_of(b)->host);
    default:
        return field_covers(a, b) || field_covers(b, a);
    }
}

/* Commands stand by their first words, so that those of one program stand together. */
int field_compare(const struct field_value *a, const struct field_value *b)
{
    if (field_table[a->field].looks == LOOKS_COMMAND && a->field != FIELD_COMMAND_WORD) {
        int order = slice_cmp(pattern_of(a)->command.words[0].text, pattern_of(b)->command.words[0].text);
        if (order != 0) {
            return order;
        }
    }
    return slice_cmp(text_of(a), text_of(b)); /* hints are in no list */
}
