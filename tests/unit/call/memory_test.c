/* Each allocation fails once; and readings that are made again and again settle on none. */
#include "call/readings.h"
#include "torture.h"
#include "tree.h"
#include "url/url.h"

static const struct call_defaults defaults = {
    .channel = {"C1", 2}, .thread = {"1.1", 3}, .actor = ACTOR_CLAUDE_PROCESS};
static struct path_base base;
static char text[1 << 16];

static bool change_arguments(struct argument_lists *arguments)
{
    char name[32];
    for (int i = 0; i < 100; i++) {
        (void)snprintf(name, sizeof(name), "name%d", i);
        if (!argument_lists_change(arguments, ARGUMENT_PATHS, i % 2 == 0 ? SLICE("*") : slice_of(name),
                                   slice_of(name), ARGUMENT_SOURCE_OPERATOR)) {
            return false;
        }
    }
    return argument_lists_change(arguments, ARGUMENT_TREES, SLICE("t"), SLICE("tree"),
                                 ARGUMENT_SOURCE_OPERATOR);
}

static bool arguments_work(void)
{
    struct argument_lists *arguments = argument_lists_create();
    bool ok = arguments != NULL && change_arguments(arguments);
    argument_lists_destroy(arguments);
    return ok;
}

static bool add_prefixes(struct path_prefixes *prefixes)
{
    uint32_t id;
    if (path_prefixes_add(prefixes, &base, SLICE("d/f"), &id, NULL) != PATH_PREFIX_OK) {
        return false;
    }
    for (int i = 0; i < 200; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), i % 2 == 0 ? "/absent/%d/%d" : "x/%d/%d", i % 7, i);
        if (path_prefixes_add(prefixes, &base, slice_of(name), &id, NULL) != PATH_PREFIX_OK) {
            return false;
        }
    }
    return path_prefixes_seal(prefixes);
}

static bool prefixes_work(void)
{
    struct path_prefixes *prefixes = path_prefixes_create();
    bool ok = prefixes != NULL && add_prefixes(prefixes);
    path_prefixes_destroy(prefixes);
    return ok;
}

/* A call that needs everything: many paths, a tree, bases, links, hard links, a URI, array texts. */
static void make_text(void)
{
    char *at = text;
    at += sprintf(at, "{\"tool\":\"t\",\"server\":\"s\",\"input\":{\"cwd\":\"d\",\"path\":[");
    for (int i = 0; i < 300; i++) {
        at += sprintf(at, "\"x/%d\",\"link/../%d\",", i % 150, i);
    }
    at += sprintf(at, "\"[\\\"[\\\\\\\"a\\\\\\\"]\\\"]\",\"hard\",\"~/x\"],\"file\":\"file:///a%%20b\"}}");
}

static struct argument_lists *arguments;
static struct path_prefixes *prefixes;

/* A call that everything is read aside of. */
static const char wide[] =
    "{\"tool\":\"Grep\",\"input\":{\"path\":[\"d\",\"~/x\",\"$HOME/y\",\" 'q' "
    "\"],\"where\":\"d/*\",\"a\":\"d/{x,y}/**\","
    "\"u\":\"~root/k\",\"caf\":\"caf\xc3\xa9/x\",\"cwd\":\"~/w\",\"folder\":\"file:///"
    "e\",\"glob\":\"*.{f,g}\","
    "\"json\":\"{\\\"dir\\\":[\\\"r/s\\\"],\\\"u\\\":\\\"https://b.org/\\\"}\",\"list\":\"[\\\"m/n\\\"]\","
    "\"diff\":\"*** Update File: p\\n\",\"url\":\"https://a.org/\",\"host\":\"c.org\","
    "\"command\":\"cd d && sudo cat -n f $HOME/z $(rm -r e) > out; curl https://d.org 'a*' ./g*; for x\","
    "\"commands\":[\"cd e; find . -exec rm f +\",\"python3 - <<E\\nopen('d/f')\\nE\\n\"],\"args\":[\"z\"]}}";
static const struct slice components[] = {{"f", 1}, {"*.g", 3}};
static struct url_pattern patterns[1];
static const struct reading_interest interest = {
    .classes = 1u << (READING_FIELD_STRICT | READING_FIELD_PATH) |
               1u << (READING_FIELD_STRICT | READING_FIELD_HOST) |
               1u << (READING_FIELD_STRICT | READING_FIELD_COMMAND) |
               1u << (READING_FIELD_COMMAND | READING_FIELD_PATH) |
               1u << (READING_FIELD_BARE | READING_FIELD_PATH),
    .components = components,
    .component_count = 2,
    .hosts = patterns,
    .host_count = 1,
};

static bool wide_work(void)
{
    static size_t count;
    struct call_reader reader;
    struct readings readings;
    if (!call_reader_init(&reader)) {
        return false;
    }
    bool ok = call_read(&reader, slice_of(wide), &defaults) == CALL_OK && readings_init(&readings);
    if (ok) {
        enum readings_result result =
            readings_make(&readings, &reader.call, &base, arguments, prefixes, &interest, 0);
        CHECK(result == READINGS_OK ||
              (result == READINGS_NO_MEMORY && torture_failed && readings.count == 0));
        /* Nothing that can't be read for want of memory is left out. */
        CHECK(result != READINGS_OK || count == 0 || readings.count == count);
        ok = result == READINGS_OK;
        torture_until = -1;
        CHECK(readings_make(&readings, &reader.call, &base, arguments, prefixes, &interest, 0) ==
              READINGS_OK);
        CHECK(readings.count > 100 && (count == 0 || readings.count == count));
        count = readings.count;
        readings_finish(&readings);
    }
    call_reader_finish(&reader);
    return ok;
}

static bool readings_work(void)
{
    struct call_reader reader;
    struct readings readings;
    if (!call_reader_init(&reader)) {
        return false;
    }
    enum call_result call = call_read(&reader, slice_of(text), &defaults);
    CHECK(call == CALL_OK || (call == CALL_NO_MEMORY && torture_failed));
    bool ok = call == CALL_OK && readings_init(&readings);
    if (ok) {
        enum readings_result result =
            readings_make(&readings, &reader.call, &base, arguments, prefixes, NULL, 0);
        CHECK(result == READINGS_OK ||
              (result == READINGS_NO_MEMORY && torture_failed && readings.count == 0));
        ok = result == READINGS_OK;
        /* Again, now that there is memory. */
        torture_until = -1;
        CHECK(readings_make(&readings, &reader.call, &base, arguments, prefixes, NULL, 0) == READINGS_OK);
        CHECK(readings.count > 1000);
        readings_finish(&readings);
    }
    call_reader_finish(&reader);
    return ok;
}

static void settles(void)
{
    struct call_reader reader;
    struct readings readings;
    CHECK(call_reader_init(&reader) && readings_init(&readings));
    struct slice call = SLICE("{\"tool\":\"t\",\"input\":{\"path\":\"d/f\",\"tree\":\"x\",\"cwd\":\"/\","
                              "\"files\":[\"link/../x\",\"hard\",\"file:///a\",\"[\\\"b\\\"]\"]}}");
    for (int i = 0; i < 10; i++) {
        torture_made = i < 3 ? 0 : torture_made;
        CHECK(call_read(&reader, call, &defaults) == CALL_OK);
        CHECK(readings_make(&readings, &reader.call, &base, arguments, prefixes, NULL, 0) == READINGS_OK);
        CHECK(readings.count > 100);
    }
    CHECK(torture_made == 0);

    /* What a large call took is given back. */
    CHECK(call_read(&reader, slice_of(text), &defaults) == CALL_OK);
    CHECK(readings_make(&readings, &reader.call, &base, arguments, prefixes, NULL, 0) == READINGS_OK);
    CHECK(call_read(&reader, call, &defaults) == CALL_OK);
    CHECK(readings_make(&readings, &reader.call, &base, arguments, prefixes, NULL, 0) == READINGS_OK);
    CHECK(readings.arena.total < 1 << 20);
    readings_finish(&readings);
    call_reader_finish(&reader);
}

int main(void)
{
    tree_begin();
    tree_dir("d");
    tree_file("d/f");
    tree_hard("hard", "d/f");
    tree_dir("e");
    tree_link("link", "e");
    base = (struct path_base){.cwd = slice_of(tree_root), .home = SLICE("/home/nobody")};
    make_text();

    torture("arguments", arguments_work);
    torture("prefixes", prefixes_work);
    arguments = argument_lists_create();
    prefixes = path_prefixes_create();
    tree_need(arguments != NULL && prefixes != NULL && change_arguments(arguments) && add_prefixes(prefixes),
              "policy");
    torture("readings", readings_work);
    CHECK(url_pattern_read(SLICE("*.org"), &patterns[0]) == NULL);
    CHECK(wide_work());
    torture("all that is read aside", wide_work);
    settles();
    argument_lists_destroy(arguments);
    path_prefixes_destroy(prefixes);
    tree_end();
    return check_done();
}
