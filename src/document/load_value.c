/* Reads single values of a document, with an error at their place. */
#include "document/load_internal.h"

#include "base/utf8.h"

/* The JSON type of a key's value; booleans are told apart by hand. */
static bool has_type(enum key_type type, uint8_t json_type)
{
    switch (type) {
    case KEY_STRING:
    case KEY_CHOICE:
    case KEY_FIELD: /* of one value; lists are load_match.c's */
        return json_type == JSON_STRING;
    case KEY_INTEGER:
        return json_type == JSON_NUMBER;
    case KEY_BOOLEAN:
        return json_type == JSON_TRUE || json_type == JSON_FALSE;
    case KEY_CHOICES:
    case KEY_RULES:
    case KEY_STRINGS:
    case KEY_ASSERTIONS:
        return json_type == JSON_ARRAY;
    case KEY_ARGS:
    case KEY_ARG_LISTS:
    case KEY_MATCH:
    case KEY_CHANGES:
    case KEY_CONFINE:
        return json_type == JSON_OBJECT;
    }
    return false;
}

bool load_bad_value(struct loading *loading, const struct key *key, const struct json_value *value,
                    const struct place *place, const char *but)
{
    buf_printf(load_message(loading), "'%s' must be %s%s%s", key->name, key->expected, but[0] ? ", " : "",
               but);
    load_report(loading, "bad-value", value->offset, place);
    return false;
}

static bool string_value(struct loading *loading, const struct key *key, const struct json_value *value,
                         const struct place *place)
{
    struct slice text = json_str(value);
    /* No string has more characters than bytes: most need no counting. */
    size_t count = key->max != 0 && text.len > (size_t)key->max ? utf8_count(text) : text.len;
    if (count < (size_t)key->min) {
        return load_bad_value(loading, key, value, place, "not an empty one");
    }
    if (key->max != 0 && count > (size_t)key->max) {
        buf_printf(load_message(loading), "'%s' must be %s; it has %zu: shorten it", key->name, key->expected,
                   count);
        load_report(loading, "bad-value", value->offset, place);
        return false;
    }
    return true;
}

static bool integer_value(struct loading *loading, const struct key *key, const struct json_value *value,
                          const struct place *place, int64_t *ret_integer)
{
    int64_t integer = 0;
    switch (json_number_int(json_str(value), &integer)) {
    case JSON_INT_FRACTION:
        return load_bad_value(loading, key, value, place, "not a fraction");
    case JSON_INT_RANGE:
        return load_bad_value(loading, key, value, place, "");
    case JSON_INT_OK:
        break;
    }
    if (integer < key->min || integer > key->max) {
        buf_printf(load_message(loading), "'%s' must be %s, not %lld", key->name, key->expected,
                   (long long)integer);
        load_report(loading, "bad-value", value->offset, place);
        return false;
    }
    *ret_integer = integer;
    return true;
}

static bool choice_value(struct loading *loading, const struct key *key, const struct json_value *value,
                         const struct place *place, uint32_t *ret_choice)
{
    struct slice word = json_str(value);
    const struct choice *choice = schema_choice(key->choices, word);
    if (choice != NULL) {
        *ret_choice = choice->value;
        return true;
    }
    const char *meant = schema_advise_choice(key->choices, word);
    struct buf *message = load_message(loading);
    buf_printf(message, "'%s' must be one of ", key->name);
    schema_write_choices(message, key->choices);
    buf_text(message, ", not ");
    message_quote(message, word);
    if (meant != NULL) {
        buf_printf(message, ": did you mean '%s'?", meant);
    }
    load_report(loading, "bad-value", value->offset, place);
    return false;
}

/* An array of choices; the sum of their values. */
static bool choices_value(struct loading *loading, const struct key *key, const struct json_value *array,
                          const struct place *place, uint32_t *ret_choices)
{
    bool good = array->count != 0 || load_bad_value(loading, key, array, place, "not an empty one");
    struct key one = *key;
    one.type = KEY_CHOICE;
    one.expected = "an array of strings";
    struct place element = {.up = place, .element = true};
    uint32_t sum = 0;
    const struct json_value *value = json_first(&loading->doc, array);
    for (; value != NULL; value = json_right(&loading->doc, array, value), element.index++) {
        struct loaded loaded = {0};
        good = load_value(loading, &one, value, &element, &loaded) && good;
        sum |= loaded.choice;
    }
    *ret_choices = sum;
    return good;
}

bool load_value(struct loading *loading, const struct key *key, const struct json_value *value,
                const struct place *place, struct loaded *ret_loaded)
{
    if (!has_type(key->type, value->type)) {
        buf_printf(load_message(loading), "'%s' must be %s, not %s", key->name, key->expected,
                   json_type_name(value->type));
        load_report(loading, "wrong-type", value->offset, place);
        return false;
    }
    ret_loaded->string = value->type == JSON_STRING ? json_str(value) : (struct slice){"", 0};
    switch ((enum key_type)key->type) {
    case KEY_STRING:
        return string_value(loading, key, value, place);
    case KEY_INTEGER:
        return integer_value(loading, key, value, place, &ret_loaded->integer);
    case KEY_CHOICE:
        return choice_value(loading, key, value, place, &ret_loaded->choice);
    case KEY_CHOICES:
        return choices_value(loading, key, value, place, &ret_loaded->choice);
    case KEY_FIELD:
        return key->choices == NULL || choice_value(loading, key, value, place, &ret_loaded->choice);
    case KEY_BOOLEAN:
        ret_loaded->boolean = value->type == JSON_TRUE;
        return true;
    case KEY_ARGS:
    case KEY_ARG_LISTS:
    case KEY_MATCH:
    case KEY_RULES:
    case KEY_STRINGS:
    case KEY_CHANGES:
    case KEY_ASSERTIONS:
    case KEY_CONFINE:
        return true;
    }
    return false;
}
