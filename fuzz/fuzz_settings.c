/* Settings edited as text. What was put in and is taken out again leaves the very bytes of before; what is in
 * between means the same, and more. */
#include "fuzz.h"

#include "host/jsonc.h"
#include "install/settings.h"

#define ELEMENT                                                                                              \
    "{\"matcher\":\"*\",\"hooks\":[{\"type\":\"command\",\"command\":\"/usr/bin/callgate hook "              \
    "x\",\"timeout\":60}]}"

static void check_length_kept(struct slice text)
{
    struct buf copy;
    buf_init(&copy, 1u << 20);
    buf_slice(&copy, text);
    if (copy.len) {
        jsonc_blank(copy.ptr, copy.len);
    }
    FUZZ_CHECK(copy.len == text.len);
    for (size_t i = 0; i < text.len; i++) {
        FUZZ_CHECK(copy.ptr[i] == text.ptr[i] || copy.ptr[i] == ' ');
    }
    buf_finish(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const path[] = {"hooks", "PreToolUse", NULL};
    struct settings settings;
    struct buf error, inserted, before;
    struct slice text = {(const char *)data, size};
    check_length_kept(text);
    buf_init(&error, 1u << 20);
    buf_init(&inserted, 1u << 20);
    buf_init(&before, 1u << 24);
    if (settings_init(&settings, "settings", text, &error)) {
        buf_slice(&before, buf_slice_of(&settings.text));
        if (settings_add(&settings, path, SLICE(ELEMENT), &inserted, &error)) {
            const struct json_value *list =
                json_get(&settings.doc, json_get(&settings.doc, settings.root, "hooks"), "PreToolUse");
            FUZZ_CHECK(json_is(list, JSON_ARRAY) && list->count > 0);
            /* The bytes may stand there twice only if the text held them before. */
            if (settings_take_out(&settings, buf_slice_of(&inserted))) {
                FUZZ_CHECK(slice_eq(buf_slice_of(&settings.text), buf_slice_of(&before)));
            } else {
                FUZZ_CHECK(memmem(before.ptr, before.len, "callgate", 8) != NULL);
            }
        } else {
            FUZZ_CHECK(error.len > 0);
            FUZZ_CHECK(slice_eq(buf_slice_of(&settings.text), buf_slice_of(&before)));
        }
        settings_finish(&settings);
    } else {
        FUZZ_CHECK(error.len > 0);
    }
    buf_finish(&error);
    buf_finish(&inserted);
    buf_finish(&before);
    return 0;
}
