/* The JSON reader and writer. jansson is the second opinion on what is JSON and what it says; and what the
 * writer writes reads as the same value and is written the same way again. */
/* jansson's names that are ours too. Its macros that use them (json_is_null and the like) cannot be used
 * here. */
#define JSON_OBJECT     JANSSON_OBJECT
#define JSON_ARRAY      JANSSON_ARRAY
#define JSON_STRING     JANSSON_STRING
#define JSON_TRUE       JANSSON_TRUE
#define JSON_FALSE      JANSSON_FALSE
#define JSON_NULL       JANSSON_NULL
#define json_error_code jansson_error_code
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL
#undef json_error_code

#include "fuzz.h"
#include "json/json.h"

#define DEPTH 1000u /* jansson's limit is 2048 */

static const struct json_options options = {.max_depth = DEPTH, .max_bytes = 1u << 20};

/* Whether a refusal of jansson is one that we do not share: it has limits that we do not have. */
static bool own_limit_of_jansson(const json_error_t *error)
{
    switch (jansson_error_code(error)) {
    case json_error_numeric_overflow:
    case json_error_null_byte_in_key:
    case json_error_stack_overflow:
        return true;
    default:
        return false;
    }
}

static void check_number(const struct json_value *v, const json_t *theirs)
{
    int64_t value;
    if (json_is_integer(theirs)) {
        FUZZ_CHECK(json_number_int(json_str(v), &value) == JSON_INT_OK);
        FUZZ_CHECK(value == json_integer_value(theirs));
        return;
    }
    FUZZ_CHECK(json_is_real(theirs));
    char *text = malloc(v->str_len + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, v->str, v->str_len);
    text[v->str_len] = 0;
    FUZZ_CHECK(strtod(text, NULL) == json_real_value(theirs));
    free(text);
}

static void check_equal(const struct json_doc *doc, const struct json_value *v, const json_t *theirs)
{
    uint32_t count = 0;
    switch ((enum json_type)v->type) {
    case JSON_NULL:
        FUZZ_CHECK(json_typeof(theirs) == JANSSON_NULL);
        return;
    case JSON_FALSE:
        FUZZ_CHECK(json_typeof(theirs) == JANSSON_FALSE);
        return;
    case JSON_TRUE:
        FUZZ_CHECK(json_typeof(theirs) == JANSSON_TRUE);
        return;
    case JSON_NUMBER:
        check_number(v, theirs);
        return;
    case JSON_STRING:
        FUZZ_CHECK(json_typeof(theirs) == JANSSON_STRING);
        FUZZ_CHECK(
            slice_eq(json_str(v), (struct slice){json_string_value(theirs), json_string_length(theirs)}));
        return;
    case JSON_ARRAY:
        FUZZ_CHECK(json_typeof(theirs) == JANSSON_ARRAY && json_array_size(theirs) == v->count);
        for (const struct json_value *e = json_first(doc, v); e != NULL; e = json_right(doc, v, e)) {
            check_equal(doc, e, json_array_get(theirs, count++));
        }
        FUZZ_CHECK(count == v->count);
        return;
    case JSON_OBJECT:
        FUZZ_CHECK(json_typeof(theirs) == JANSSON_OBJECT && json_object_size(theirs) == v->count);
        for (const struct json_value *k = json_first(doc, v); k != NULL; k = json_right(doc, v, k)) {
            const json_t *member = json_object_getn(theirs, k->str, k->str_len);
            FUZZ_CHECK(member != NULL && json_get_slice(doc, v, json_str(k)) == json_member_value(k));
            check_equal(doc, json_member_value(k), member);
            count++;
        }
        FUZZ_CHECK(count == v->count);
        return;
    }
    abort();
}

/* Values stand in the order of the text, each within the one that holds it. */
static void check_layout(const struct json_doc *doc)
{
    for (uint32_t i = 0; i < doc->count; i++) {
        const struct json_value *v = &doc->values[i];
        FUZZ_CHECK(v->length > 0 && v->offset + v->length <= doc->text.len);
        FUZZ_CHECK(v->next > i && v->next <= doc->count);
        FUZZ_CHECK(i == 0 || v->offset > doc->values[i - 1].offset);
        FUZZ_CHECK(v->next == doc->count || doc->values[v->next].offset >= v->offset + v->length);
        FUZZ_CHECK(!v->duplicate);
    }
    FUZZ_CHECK(doc->values[0].next == doc->count);
}

static void check_fixed_point(const struct json_doc *doc, enum json_number_form form)
{
    struct buf once, twice;
    struct json_doc again;
    struct json_error error;
    buf_init(&once, 1u << 20);
    buf_init(&twice, 1u << 20);
    json_init(&again);
    json_write_canonical(&once, doc, json_root(doc), form);
    FUZZ_CHECK(buf_ok(&once));
    FUZZ_CHECK(json_parse(&again, buf_slice_of(&once), &options, &error));
    FUZZ_CHECK(again.count == doc->count);
    json_write_canonical(&twice, &again, json_root(&again), form);
    FUZZ_CHECK(buf_ok(&twice) && slice_eq(buf_slice_of(&once), buf_slice_of(&twice)));
    json_finish(&again);
    buf_finish(&once);
    buf_finish(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_doc doc;
    struct json_error error;
    json_error_t their_error;
    struct slice text = {(const char *)data, size};
    json_init(&doc);
    bool ok = json_parse(&doc, text, &options, &error);
    json_t *theirs = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL,
                                &their_error);
    /* JSON has no raw NUL. jansson passes over one behind a number. */
    bool nul = size != 0 && memchr(data, 0, size) != NULL;
    if (ok) {
        FUZZ_CHECK(!nul);
        FUZZ_CHECK(theirs != NULL || own_limit_of_jansson(&their_error));
        check_layout(&doc);
        if (theirs != NULL) {
            check_equal(&doc, json_root(&doc), theirs);
        }
        check_fixed_point(&doc, JSON_NUMBER_CALL);
        check_fixed_point(&doc, JSON_NUMBER_JOURNAL);
        check_fixed_point(&doc, JSON_NUMBER_EXACT);
    } else {
        FUZZ_CHECK(error.code != JSON_OK && error.code != JSON_ERROR_MEMORY && error.offset <= size);
        FUZZ_CHECK(theirs == NULL || nul || error.code == JSON_ERROR_DEPTH || error.code == JSON_ERROR_SIZE);
    }
    json_decref(theirs);
    json_finish(&doc);
    return 0;
}
