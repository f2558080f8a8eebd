/* How flattened names are taken apart, and patches read. */
#include "host/internal.h"
#include "tests/check.h"

static void expect(struct host_message *message, const char *want)
{
    struct buf got;
    buf_init(&got, 1u << 16);
    for (size_t i = 0; i < message->name_count; i++) {
        buf_text(&got, i ? " " : "");
        if (message->names[i].has_server) {
            buf_slice(&got, message->names[i].server);
            buf_byte(&got, '/');
        }
        buf_slice(&got, message->names[i].tool);
    }
    CHECK_BYTES(got.ptr, got.len, want);
    buf_finish(&got);
}

static void split(const char *flat, const char *separator, const char *known, bool partial, bool whole_too,
                  const char *want)
{
    struct host_message message;
    struct host_server one;
    struct host_servers servers = {.list = &one, .partial = partial};
    CHECK(host_message_init(&message));
    if (known != NULL) {
        one = (struct host_server){.name = slice_of(known),
                                   .spelled = spelled_name(&message.arena, slice_of(known), NULL)};
        servers.count = 1;
    }
    CHECK(split_name(&message, slice_of(flat), slice_of(separator), &servers, SLICE("whole"), whole_too));
    expect(&message, want);
    host_message_finish(&message);
}

static void test_splits(void)
{
    split("a__b", "__", NULL, false, false, "a/b");
    split("a__b__c", "__", NULL, false, false, "a/b__c a__b/c");
    split("a___b", "__", NULL, false, false, "a/_b a_/b");
    split("__a", "__", NULL, false, false, "whole");
    split("a__", "__", NULL, false, false, "whole");
    split("a", "__", NULL, false, false, "whole");
    split("", "__", NULL, false, false, "whole");
    split("a__b__c", "__", "a", false, false, "a/b__c");
    split("a__b__c", "__", "a__b", false, false, "a__b/c");
    split("a__b__c", "__", "b", false, false, "a/b__c a__b/c");
    split("a__b", "__", "a__b", false, false, "a/b");
    split("a_b__c", "__", "a b", false, false, "a b/c a_b/c");
    split("a__b__c", "__", "a", true, false, "a/b__c a__b/c");
    split("a_b_c", "_", NULL, false, true, "a/b_c a_b/c whole");
    split("a_b_c", "_", "a", false, true, "a/b_c");
}

static void test_too_many_splits(void)
{
    static char flat[20001];
    struct host_message message;
    struct host_servers none = {0};
    memset(flat, '_', sizeof(flat) - 1);
    CHECK(host_message_init(&message));
    CHECK(!split_name(&message, slice_of(flat), SLICE("_"), &none, SLICE("whole"), false));
    CHECK(message.over_limit);
    host_message_finish(&message);
}

static void test_spelling(void)
{
    static const struct {
        const char *name, *others, *want;
    } cases[] = {
        {"git", NULL, "git"},
        {"my git.server", NULL, "my_git_server"},
        {"my git.server", ".:", "my_git.server"},
        {"h\xc3\xa9", NULL, "h_"},
        {"\xf0\x9f\x98\x80", NULL, "__"},
        {"a\xff", NULL, "a__"},
    };
    struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct slice got = spelled_name(&arena, slice_of(cases[i].name), cases[i].others);
        CHECK_BYTES(got.ptr, got.len, cases[i].want);
    }
    arena_finish(&arena);
}

static void patch(const char *input, const char *want)
{
    struct host_message message;
    CHECK(host_message_init(&message));
    CHECK(message_take_input_text(&message, slice_of(input)));
    /* The input of a message is never in the buffer that the new one is written to. */
    CHECK(json_parse(&message.doc, slice_of(input), &(struct json_options){64, 1u << 20, false},
                     &(struct json_error){0}));
    CHECK(message_take_input(&message, json_root(&message.doc)));
    CHECK(message_add_patch_paths(&message));
    struct slice got = json_text_of(message.input_doc, message.input);
    CHECK_BYTES(got.ptr, got.len, want);
    host_message_finish(&message);
}

static void test_patches(void)
{
    patch("{\"c\":\"*** Add File: a b.c\\n+x\"}",
          "{\"patchPaths\":[\"a b.c\"],\"c\":\"*** Add File: a b.c\\n+x\"}");
    patch("{\"c\":\"*** Update File: a\\n*** Move to: /b\"}",
          "{\"patchPaths\":[\"a\",\"/b\"],\"c\":\"*** Update File: a\\n*** Move to: /b\"}");
    patch("{\"a\":\"***delete file:x\",\"n\":1,\"b\":\"\\t*** Add File:\\ty\\r\\n\"}",
          "{\"patchPaths\":[\"x\",\"y\",\"\\ty\"],\"a\":\"***delete file:x\",\"n\":1,\"b\":\"\\t*** Add "
          "File:\\ty\\r\\n\"}");
    patch("{\"c\":\"+*** Add File: a\\n** File: b\"}",
          "{\"patchPaths\":[0],\"c\":\"+*** Add File: a\\n** File: b\"}");
    patch("{\"c\":\"*** Add File: a\\n*** New: b\\n *** c\"}",
          "{\"patchPaths\":[\"a\",0],\"c\":\"*** Add File: a\\n*** New: b\\n *** c\"}");
    patch("{}", "{\"patchPaths\":[0]}");
    patch("{\"c\":\"*** Add File:   \"}", "{\"patchPaths\":[0],\"c\":\"*** Add File:   \"}");
}

int main(void)
{
    test_splits();
    test_too_many_splits();
    test_spelling();
    test_patches();
    return check_done();
}
