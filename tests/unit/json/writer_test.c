/* The RFC 8785 writer. Argument: canonical.txt. */
#include "../../check.h"
#include "table.h"
#include "json/json.h"

static const struct json_options options = {.max_depth = 100000, .max_bytes = 16u << 20};

/* Writes text into buf in the form asked for; false when it is refused. */
static bool write_text(struct buf *buf, struct slice text, enum json_number_form form)
{
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    bool ok = json_parse(&doc, text, &options, &error);
    if (ok) {
        json_write_canonical(buf, &doc, json_root(&doc), form);
    }
    json_finish(&doc);
    return ok && buf_ok(buf);
}

static void run_line(const struct table_line *line)
{
    struct buf buf, again;
    buf_init(&buf, 1u << 20);
    buf_init(&again, 1u << 20);
    enum json_number_form form = line->fields[0][0] == 'c'   ? JSON_NUMBER_CALL
                                 : line->fields[0][0] == 'j' ? JSON_NUMBER_JOURNAL
                                                             : JSON_NUMBER_EXACT;
    bool ok = line->count == 3 && write_text(&buf, table_field(line, 1), form) &&
              slice_eq(buf_slice_of(&buf), table_field(line, 2));
    if (!ok) {
        printf("line %d: want %s\n         got  %.*s\n", line->number,
               line->count == 3 ? line->fields[2] : "?", (int)buf.len, buf.ptr == NULL ? "" : buf.ptr);
    }
    CHECK(ok);
    CHECK(write_text(&again, buf_slice_of(&buf), form));
    CHECK(slice_eq(buf_slice_of(&buf), buf_slice_of(&again)));
    buf_finish(&buf);
    buf_finish(&again);
}

static void test_key_order(void)
{
    CHECK(json_key_cmp(SLICE(""), SLICE("")) == 0);
    CHECK(json_key_cmp(SLICE(""), SLICE("a")) < 0);
    CHECK(json_key_cmp(SLICE("a"), SLICE("")) > 0);
    CHECK(json_key_cmp(SLICE("a"), SLICE("a\0")) < 0);
    CHECK(json_key_cmp(SLICE("\x7F"), SLICE("\xC2\x80")) < 0);
    /* U+1F600 is D83D DE00: before U+FB33 and U+E000, behind U+D7FF. */
    CHECK(json_key_cmp(SLICE("\xF0\x9F\x98\x80"), SLICE("\xEF\xAC\xB3")) < 0);
    CHECK(json_key_cmp(SLICE("\xEF\xAC\xB3"), SLICE("\xF0\x9F\x98\x80")) > 0);
    CHECK(json_key_cmp(SLICE("\xF0\x9F\x98\x80"), SLICE("\xEE\x80\x80")) < 0);
    CHECK(json_key_cmp(SLICE("\xF0\x9F\x98\x80"), SLICE("\xED\x9F\xBF")) > 0);
    CHECK(json_key_cmp(SLICE("\xF0\x9F\x98\x80"), SLICE("\xF0\x9F\x98\x81")) < 0);
    CHECK(json_key_cmp(SLICE("\xF0\x90\x80\x80"), SLICE("\xF4\x8F\xBF\xBF")) < 0);
    CHECK(json_key_cmp(SLICE("\xEE\x80\x80"), SLICE("\xEF\x80\x80")) < 0);
}

/* Keys of objects of every size come out in order, whatever order they stand in. */
static void test_sorting(void)
{
    struct buf text, got, want;
    buf_init(&text, 1u << 20);
    buf_init(&got, 1u << 20);
    buf_init(&want, 1u << 20);
    for (unsigned count = 1; count < 700; count = count < 70 ? count + 1 : count * 3 / 2) {
        unsigned step = 2 * count + 7; /* of no common factor with the prime below */
        buf_reset(&text);
        buf_reset(&got);
        buf_reset(&want);
        /* The object stands between others, so that the keys of several are kept at once. */
        buf_text(&text, "{\"b\":{\"y\":0,\"x\":");
        buf_text(&want, "{\"a\":0,\"b\":{\"x\":");
        for (unsigned i = 0, printed = 0; printed < count; i++) {
            unsigned key = i * step % 1009;
            if (key < count) {
                buf_printf(&text, "%s\"%04u\":%u", printed == 0 ? "{" : ",", key, key + 1);
                printed++;
            }
        }
        for (unsigned i = 0; i < count; i++) {
            buf_printf(&want, "%s\"%04u\":%u", i == 0 ? "{" : ",", i, i + 1);
        }
        buf_text(&text, "}},\"a\":0}");
        buf_text(&want, "},\"y\":0}}");
        CHECK(write_text(&got, buf_slice_of(&text), JSON_NUMBER_CALL));
        CHECK(slice_eq(buf_slice_of(&got), buf_slice_of(&want)));
    }
    buf_finish(&text);
    buf_finish(&got);
    buf_finish(&want);
}

static void test_deep(void)
{
    struct buf text, got;
    buf_init(&text, 1u << 20);
    buf_init(&got, 1u << 20);
    for (int i = 0; i < 50000; i++) {
        buf_text(&text, i % 2 == 0 ? "[" : "{\"\":");
    }
    buf_text(&text, "1");
    for (int i = 50000; i-- > 0;) {
        buf_byte(&text, i % 2 == 0 ? ']' : '}');
    }
    CHECK(write_text(&got, buf_slice_of(&text), JSON_NUMBER_CALL));
    CHECK(slice_eq(buf_slice_of(&got), buf_slice_of(&text)));
    buf_finish(&text);
    buf_finish(&got);
}

static void test_ceiling(void)
{
    struct buf buf;
    struct slice text = SLICE("{\"b\": [1, 2], \"a\": \"x\"}");
    buf_init(&buf, 19);
    CHECK(write_text(&buf, text, JSON_NUMBER_CALL) && buf.len == 19);
    buf_finish(&buf);
    for (size_t ceiling = 0; ceiling < 19; ceiling++) {
        buf_init(&buf, ceiling);
        CHECK(!write_text(&buf, text, JSON_NUMBER_CALL) && buf.len <= ceiling);
        buf_finish(&buf);
    }
}

static void check_string(struct slice s, const char *want, const char *want_bytes)
{
    struct buf buf;
    buf_init(&buf, 1000);
    if (want != NULL) {
        json_write_string(&buf, s);
        CHECK_BYTES(buf.ptr, buf.len, want);
        buf_reset(&buf);
    }
    json_write_bytes(&buf, s);
    CHECK_BYTES(buf.ptr, buf.len, want_bytes);
    buf_finish(&buf);
}

static void test_strings(void)
{
    check_string(SLICE(""), "\"\"", "\"\"");
    check_string((struct slice){NULL, 0}, "\"\"", "\"\"");
    check_string(SLICE("/home/\xC3\xA4\n"), "\"/home/\xC3\xA4\\n\"", "\"/home/\xC3\xA4\\n\"");
    check_string(SLICE("a\0b"), "\"a\\u0000b\"", "\"a\\u0000b\"");
    check_string(SLICE("0123456789\"\\0123456789"), "\"0123456789\\\"\\\\0123456789\"",
                 "\"0123456789\\\"\\\\0123456789\"");
    check_string(SLICE("a\xFF\xFE"
                       "b"),
                 NULL,
                 "\"a\xEF\xBF\xBD\xEF\xBF\xBD"
                 "b\"");
    check_string(SLICE("\xE2\x82"), NULL, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
    check_string(SLICE("\"\x80\""), NULL, "\"\\\"\xEF\xBF\xBD\\\"\"");
}

int main(int argc, char **argv)
{
    CHECK(argc == 2 && table_run(argv[1], run_line) > 40);
    test_key_order();
    test_sorting();
    test_deep();
    test_ceiling();
    test_strings();
    return check_done();
}
