/* Redaction: what comes out is canonical JSON, and redacting it again changes nothing. An input that is no
 * JSON is taken as a text. */
#include <string.h>

#include "fuzz.h"
#include "journal/journal.h"
#include "journal/secrets_internal.h"

static const struct json_options options = {.max_depth = 200, .max_bytes = 1u << 22};

static void walk(struct slice text)
{
    struct secret_scan scan = {.text = text, .stop = SIZE_MAX};
    struct secret secret;
    size_t last = 0;
    while (secret_next(&scan, &secret)) {
        FUZZ_CHECK(secret.start >= last && secret.end > secret.start && secret.end <= text.len);
        FUZZ_CHECK(secret.label != NULL);
        last = secret.end;
    }
}

static void redact(struct json_doc *doc, struct slice text, struct buf *out)
{
    struct json_error error;
    FUZZ_CHECK(json_parse(doc, text, &options, &error));
    redact_write(out, doc, json_root(doc));
    FUZZ_CHECK(buf_ok(out));
}

static void check(struct slice text)
{
    struct json_doc doc;
    struct json_error error;
    struct buf quoted, once, twice, canonical;
    json_init(&doc);
    buf_init(&quoted, 1u << 22);
    buf_init(&once, 1u << 22);
    buf_init(&twice, 1u << 22);
    buf_init(&canonical, 1u << 22);
    if (!json_parse(&doc, text, &options, &error)) {
        json_write_bytes(&quoted, text);
        FUZZ_CHECK(buf_ok(&quoted));
        text = buf_slice_of(&quoted);
    }
    redact(&doc, text, &once);
    redact(&doc, buf_slice_of(&once), &twice);
    json_write_canonical(&canonical, &doc, json_root(&doc), JSON_NUMBER_JOURNAL);
    FUZZ_CHECK(buf_ok(&canonical) && slice_eq(buf_slice_of(&once), buf_slice_of(&canonical)));
    FUZZ_CHECK(slice_eq(buf_slice_of(&once), buf_slice_of(&twice)));
    json_finish(&doc);
    buf_finish(&quoted);
    buf_finish(&once);
    buf_finish(&twice);
    buf_finish(&canonical);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    struct buf longer;
    walk(text);
    check(text);
    /* The same text again and again, so that it is cut somewhere. */
    buf_init(&longer, 1u << 20);
    while (size != 0 && longer.len < 2 * REDACT_STRING_MAX) {
        buf_slice(&longer, text);
    }
    check(buf_slice_of(&longer));
    buf_finish(&longer);
    return 0;
}
