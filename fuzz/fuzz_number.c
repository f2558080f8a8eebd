/* Numbers: equality against the exact form, integers, and the form of RFC 8785 against the C library's
 * doubles. An input is two numbers with a space between, or one. */
#include <math.h>

#include "fuzz.h"
#include "json/json.h"

static const struct json_options options = {.max_depth = 1, .max_bytes = 1u << 20};

/* Reads a number and writes it in a form; false when it is none. */
static bool write_number(struct buf *buf, struct slice text, enum json_number_form form)
{
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    bool ok = json_parse(&doc, text, &options, &error) && json_root(&doc)->type == JSON_NUMBER &&
              json_root(&doc)->length == text.len; /* no white space */
    if (ok) {
        json_write_canonical(buf, &doc, json_root(&doc), form);
        FUZZ_CHECK(buf_ok(buf));
    }
    json_finish(&doc);
    return ok;
}

static void check_int(struct slice number, struct slice exact)
{
    int64_t value = 0, same = 0;
    enum json_int_result result = json_number_int(number, &value);
    FUZZ_CHECK(json_number_int(exact, &same) == result && same == value);
    if (result == JSON_INT_OK) {
        struct buf text;
        buf_init(&text, 32);
        buf_i64(&text, value);
        FUZZ_CHECK(json_number_equal(number, buf_slice_of(&text)));
        buf_finish(&text);
    }
}

/* What SPEC.md section 9 says, word for word: RFC 8785's text if that has the same value, else the exact
 * form. */
static void check_call_form(struct slice number, struct slice exact)
{
    struct buf got, want;
    buf_init(&got, 1u << 20);
    buf_init(&want, 1u << 20);
    FUZZ_CHECK(write_number(&got, number, JSON_NUMBER_CALL));
    char *text = malloc(number.len + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, number.ptr, number.len);
    text[number.len] = 0;
    double d = strtod(text, NULL);
    free(text);
    if (isfinite(d)) {
        json_write_double(&want, d);
        FUZZ_CHECK(buf_ok(&want));
        char back[64] = {0};
        FUZZ_CHECK(want.len < sizeof(back));
        memcpy(back, want.ptr, want.len);
        FUZZ_CHECK(strtod(back, NULL) == d);
    }
    if (!isfinite(d) || !json_number_equal(buf_slice_of(&want), number)) {
        buf_reset(&want);
        buf_slice(&want, exact);
    }
    FUZZ_CHECK(slice_eq(buf_slice_of(&got), buf_slice_of(&want)));
    FUZZ_CHECK(json_number_equal(buf_slice_of(&got), number));
    buf_finish(&got);
    buf_finish(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    const char *space = size == 0 ? NULL : memchr(data, ' ', size);
    struct slice a = {text.ptr, space == NULL ? size : (size_t)(space - text.ptr)};
    struct slice b = space == NULL ? a : slice_from(text, a.len + 1);
    struct buf exact_a, exact_b;
    buf_init(&exact_a, 1u << 20);
    buf_init(&exact_b, 1u << 20);
    if (write_number(&exact_a, a, JSON_NUMBER_EXACT) && write_number(&exact_b, b, JSON_NUMBER_EXACT)) {
        struct slice ea = buf_slice_of(&exact_a), eb = buf_slice_of(&exact_b);
        FUZZ_CHECK(json_number_equal(a, b) == slice_eq(ea, eb));
        FUZZ_CHECK(json_number_equal(b, a) == slice_eq(ea, eb));
        FUZZ_CHECK(json_number_equal(a, ea) && json_number_equal(ea, a));
        check_int(a, ea);
        check_int(b, eb);
        check_call_form(a, ea);
        check_call_form(b, eb);
    }
    buf_finish(&exact_a);
    buf_finish(&exact_b);
    return 0;
}
