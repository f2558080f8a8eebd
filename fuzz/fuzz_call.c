/* Calls whose inputs are read for rules of every kind: what they name, and what is read aside. A text that is no JSON
 * object is a command, and a string under a name of no list. The files are those of the system under /etc
 * and /proc; nothing is written. */
#include <string.h>

#include "base/utf8.h"
#include "call/readings.h"
#include "command/command.h"
#include "fuzz.h"
#include "url/url.h"

static struct argument_lists *arguments;
static struct path_prefixes *prefixes;
static struct readings readings;
static struct json_doc doc;
static const struct slice roots[] = {{"/etc/ssl", 8}, {"/proc/self/fd", 13}};
static const struct path_base base = {.cwd = {"/etc/apt", 8},
                                      .home = {"/root", 5},
                                      .server_home = {"/srv", 4},
                                      .roots = roots,
                                      .root_count = 2};
static const struct call_name names[] = {
    {.tool = {"Bash", 4}}, {.tool = {"Grep", 4}}, {.server = {"s", 1}, .has_server = true, .tool = {"t", 1}}};
static const struct slice components[] = {{".env", 4}, {"*.pem", 5}, {"lib*", 4}};
static struct url_pattern hosts[2];
static const struct slice programs[] = {{"rm", 2}, {"git", 3}};
static struct reading_interest interest = {
    .classes = ~(uint32_t)0,
    .components = components,
    .component_count = 3,
    .hosts = hosts,
    .host_count = 2,
};

static void set_up(void)
{
    static const char *const texts[] = {"/",        "/usr", "/usr/bin/env", "/absent",
                                        "/usr/lib", "a/b",  "/etc/passwd"};
    uint32_t id;
    arguments = argument_lists_create();
    prefixes = path_prefixes_create();
    json_init(&doc);
    FUZZ_CHECK(arguments != NULL && prefixes != NULL && readings_init(&readings));
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        FUZZ_CHECK(path_prefixes_add(prefixes, &base, slice_of(texts[i]), &id, NULL) == PATH_PREFIX_OK);
    }
    FUZZ_CHECK(path_prefixes_seal(prefixes));
    FUZZ_CHECK(argument_lists_change(arguments, ARGUMENT_COMMANDS, SLICE("s/*"), SLICE("x"),
                                     ARGUMENT_SOURCE_WORKSPACE));
    FUZZ_CHECK(argument_lists_change(arguments, ARGUMENT_PATHS, SLICE("s/t"), SLICE("-path"),
                                     ARGUMENT_SOURCE_OPERATOR));
    FUZZ_CHECK(url_pattern_read(SLICE("example.com"), &hosts[0]) == NULL);
    FUZZ_CHECK(url_pattern_read(SLICE("*.org"), &hosts[1]) == NULL);
}

static void check_path(struct slice path)
{
    FUZZ_CHECK(path.len >= 1 && path.len <= LIMIT_PATH_BYTES && path.ptr[0] == '/');
    FUZZ_CHECK(memchr(path.ptr, '\0', path.len) == NULL && memmem(path.ptr, path.len, "//", 2) == NULL);
}

static void check_command(const struct reading_command *acting)
{
    const struct command *command = acting->command;
    FUZZ_CHECK(command != NULL);
    for (size_t i = 0; i < acting->places.count; i++) {
        check_path(acting->places.list[i]);
        FUZZ_CHECK(!acting->span_known || path_is_under(acting->places.list[i], acting->span));
    }
    FUZZ_CHECK(!acting->span_known ||
               (!acting->place_unreadable && (command->flags & (COMMAND_UNREADABLE | COMMAND_OPEN)) == 0));
}

static void check_list(void)
{
    FUZZ_CHECK(readings.count > 0 && readings.count <= LIMIT_READINGS);
    for (size_t i = 0; i < readings.count; i++) {
        const struct reading *reading = &readings.list[i];
        bool same = i > 0 && readings.list[i - 1].name == reading->name;
        FUZZ_CHECK(i == 0 ? reading->name == 0 : reading->name - readings.list[i - 1].name <= 1);
        FUZZ_CHECK(same ? reading->aside || !readings.list[i - 1].aside : !reading->aside);
        FUZZ_CHECK(!reading->known || (reading->aside && reading->command != NULL));
        if (reading->kind == READING_PATH) {
            check_path(reading->path);
        }
        FUZZ_CHECK((reading->host_kind == READING_HOST) == (reading->host.len > 0));
        if (reading->aside) {
            FUZZ_CHECK(reading->kind == READING_NO_PATH || reading->host_kind == READING_NO_HOST);
            FUZZ_CHECK(reading->kind != READING_UNREADABLE || reading->known);
        }
        if (reading->command != NULL && !(same && readings.list[i - 1].command == reading->command)) {
            check_command(reading->command);
        }
    }
}

static void check_input(struct slice text)
{
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = 1u << 20};
    struct json_error error;
    if (!json_parse(&doc, text, &options, &error) || !json_is(json_root(&doc), JSON_OBJECT)) {
        return;
    }
    struct call call = {.names = names, .name_count = 3, .doc = &doc, .input = json_root(&doc)};
    bool some = text.len % 2 == 0;
    interest.programs = some ? programs : NULL;
    interest.program_count = some ? 2 : 0;
    enum readings_result result =
        readings_make(&readings, &call, &base, arguments, prefixes, &interest, some ? 0 : READINGS_STILL);
    FUZZ_CHECK(result == READINGS_OK || (result == READINGS_OVER_LIMIT && readings.count == 0));
    if (result == READINGS_OK) {
        check_list();
    }
}

static void append_string(struct buf *input, const char *name, struct slice text)
{
    buf_text(input, name);
    json_write_string(input, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    if (arguments == NULL) {
        set_up();
    }
    check_input(text);
    if (utf8_valid_upto(text) == text.len) {
        struct buf input;
        buf_init(&input, 1u << 20);
        append_string(&input, "{\"command\":", text);
        append_string(&input, ",\"where\":", text);
        append_string(&input, ",\"files\":", text);
        append_string(&input, ",\"url\":", text);
        buf_byte(&input, '}');
        if (buf_ok(&input)) {
            check_input(buf_slice_of(&input));
        }
        buf_finish(&input);
    }
    return 0;
}
