/* Paths: a text as a file: URI and as a path, and, when it is a JSON object, the readings of a call with that
 * input. The files are those of the system under /usr and /proc; nothing is written. */
#include <string.h>

#include "call/readings.h"
#include "fuzz.h"

static struct argument_lists *arguments;
static struct path_prefixes *prefixes;
static struct readings readings;
static struct json_doc doc;
static struct path_resolved place, again;
static const struct slice roots[] = {{"/usr/lib", 8}, {"/proc/self", 10}};
static const struct path_base base = {
    .cwd = {"/usr/bin", 8}, .home = {"/root", 5}, .roots = roots, .root_count = 2};
static const struct call_name names[] = {
    {.tool = {"t", 1}},
    {.tool = {"Grep", 4}},
    {.server = {"s", 1}, .has_server = true, .tool = {"t", 1}},
};

static void set_up(void)
{
    static const char *const texts[] = {"/",       "/usr",     "/usr/bin/env", "/usr/share/doc",
                                        "/absent", "/usr/lib", "a/b"};
    uint32_t id;
    arguments = argument_lists_create();
    prefixes = path_prefixes_create();
    json_init(&doc);
    FUZZ_CHECK(arguments != NULL && prefixes != NULL && readings_init(&readings));
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        FUZZ_CHECK(path_prefixes_add(prefixes, &base, slice_of(texts[i]), &id, NULL) == PATH_PREFIX_OK);
    }
    FUZZ_CHECK(path_prefixes_seal(prefixes));
    FUZZ_CHECK(argument_lists_change(arguments, ARGUMENT_PATHS, SLICE("s/t"), SLICE("-path"),
                                     ARGUMENT_SOURCE_OPERATOR));
    FUZZ_CHECK(
        argument_lists_change(arguments, ARGUMENT_TREES, SLICE("s/t"), SLICE("x"), ARGUMENT_SOURCE_OPERATOR));
}

static void check_canonical(struct slice path)
{
    FUZZ_CHECK(path.len >= 1 && path.len <= LIMIT_PATH_BYTES && path.ptr[0] == '/');
    FUZZ_CHECK(memchr(path.ptr, '\0', path.len) == NULL);
    size_t at = 1;
    while (path.len > 1 && at <= path.len) {
        const char *slash = at == path.len ? NULL : memchr(path.ptr + at, '/', path.len - at);
        size_t len = slash == NULL ? path.len - at : (size_t)(slash - path.ptr) - at;
        struct slice name = {path.ptr + at, len};
        FUZZ_CHECK(len > 0 && !slice_is(name, ".") && !slice_is(name, ".."));
        at += len + 1;
    }
}

static void check_resolve(struct slice text, enum path_mode mode)
{
    path_resolve(&place, base.cwd, text, mode);
    if (!place.readable) {
        return;
    }
    struct slice path = {place.text, place.len};
    check_canonical(path);
    FUZZ_CHECK(place.text[place.len] == '\0' && place.step_count >= 1 && place.steps[0].end == 1);
    for (size_t i = 1; i < place.step_count; i++) {
        FUZZ_CHECK(place.steps[i - 1].directory && place.steps[i].end > place.steps[i - 1].end);
        FUZZ_CHECK(place.steps[i].end == place.len || place.text[place.steps[i].end] == '/');
    }
    FUZZ_CHECK(place.exists == (place.steps[place.step_count - 1].end == place.len));
    /* A canonical path is its own canonical path. */
    path_resolve(&again, SLICE("/"), path, PATH_KERNEL);
    FUZZ_CHECK(again.readable && again.links == 0 && slice_eq((struct slice){again.text, again.len}, path));
}

static void check_uri(struct slice text)
{
    struct buf path;
    buf_init(&path, 1u << 20);
    enum path_uri uri = path_decode_uri(text, &path);
    FUZZ_CHECK(buf_ok(&path) && (uri == PATH_URI_OK) == (path.len > 0));
    if (uri == PATH_URI_OK) {
        FUZZ_CHECK(path.ptr[0] == '/' && memchr(path.ptr, '\0', path.len) == NULL);
        FUZZ_CHECK(memchr(text.ptr, '?', text.len) == NULL && memchr(text.ptr, '#', text.len) == NULL);
        FUZZ_CHECK(path.len < text.len);
        check_resolve(buf_slice_of(&path), PATH_KERNEL);
    }
    buf_finish(&path);
}

static void check_list(void)
{
    bool unreadable = false, none = false;
    for (size_t i = 0; i < readings.count; i++) {
        const struct reading *reading = &readings.list[i];
        bool first = i == 0 || readings.list[i - 1].name != reading->name;
        unreadable = unreadable && !first;
        none = none && !first;
        FUZZ_CHECK(i == 0 ? reading->name == 0 : reading->name - readings.list[i - 1].name <= 1);
        FUZZ_CHECK(!none); /* the reading without a path is the last */
        switch (reading->kind) {
        case READING_PATH:
            check_canonical(reading->path);
            break;
        case READING_UNREADABLE:
            FUZZ_CHECK(!unreadable);
            unreadable = true;
            break;
        default:
            none = true;
        }
        for (size_t j = i; j-- > 0 && i < 200 && readings.list[j].name == reading->name;) {
            FUZZ_CHECK(reading->kind != READING_PATH || !slice_eq(readings.list[j].path, reading->path));
        }
    }
    FUZZ_CHECK(readings.count > 0 && readings.list[readings.count - 1].name == 2);
}

static void check_input(struct slice text)
{
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = 1u << 20};
    struct json_error error;
    if (!json_parse(&doc, text, &options, &error) || !json_is(json_root(&doc), JSON_OBJECT)) {
        return;
    }
    struct call call = {.names = names, .name_count = 3, .doc = &doc, .input = json_root(&doc)};
    bool clash = call_names_clash(&doc, call.input);
    enum readings_result result = readings_make(&readings, &call, &base, arguments, prefixes, NULL, 0);
    FUZZ_CHECK(result == READINGS_OK || (result == READINGS_OVER_LIMIT && readings.count == 0));
    if (result == READINGS_OK && !clash) {
        check_list();
    }
    size_t strings = readings.strings;
    FUZZ_CHECK(readings_make(&readings, &call, &base, arguments, prefixes, NULL, READINGS_NO_RESOLVE) ==
               result);
    FUZZ_CHECK(result != READINGS_OK || (readings.strings == strings && readings.count == 3));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    if (arguments == NULL) {
        set_up();
    }
    check_uri(text);
    check_resolve(text, PATH_TEXTUAL);
    check_resolve(text, PATH_KERNEL);
    check_input(text);
    return 0;
}
