/* What a call's commands are, what they act on, and what is read aside of them. */
#include "world.h"

#define STRICT_PATH    (READING_FIELD_STRICT | READING_FIELD_PATH)
#define STRICT_HOST    (READING_FIELD_STRICT | READING_FIELD_HOST)
#define STRICT_COMMAND (READING_FIELD_STRICT | READING_FIELD_COMMAND)

static void arguments_of(void)
{
    world_policy("Bash");
    world_class(READING_FIELD_COMMAND);
    READ("{\"command\":\"git log -1\"}", "{git log -1}");
    READ("{\"command\":\"a; b | a\"}", "{a} {b}");
    READ("{\"command\":[\"git\",\"log\",\"a b\"]}", "{git log a b}");
    READ("{\"commands\":[\"a b\",\"c\"]}", "{a b} {c}");
    READ("{\"command\":null}", "-");
    READ("{\"command\":\" \\n\"}", "-");
    READ("{\"command\":7}", "{?}");
    READ("{\"command\":[]}", "{?}");
    READ("{\"command\":[\"a\",7]}", "{?}");
    READ("{\"command\":\"git\",\"args\":[\"log\"]}", "{git log}");
    READ("{\"command\":\"git log\",\"args\":[\"x\"]}", "{git log} {git log x}");
    READ("{\"command\":[\"git\"],\"arguments\":[\"x\"]}", "{git x}");
    READ("{\"command\":\"git\",\"args\":[],\"arguments\":null}", "{git}");
    READ("{\"steps\":[{\"Cmd\":\"a\"},{\"COMMAND\":\"b\"}]}", "{a} {b}");
    READ("{\"command\":\"[\\\"git\\\",\\\"log\\\"]\"}", "{?} {git log}");
    READ("{\"script\":\"a\"}", "-");
    world_change(ARGUMENT_COMMANDS, "Bash", "script");
    world_change(ARGUMENT_COMMANDS, "*", "-cmd");
    READ("{\"script\":\"a\",\"cmd\":\"b\"}", "{a}");
    CHECK(readings.list[0].command->span.ptr == NULL);
}

static void places_of(const char *want, const char *span)
{
    struct buf got;
    buf_init(&got, 1 << 20);
    const struct reading_command *command = readings.count == 0 ? NULL : readings.list[0].command;
    CHECK(command != NULL);
    for (size_t i = 0; command != NULL && i < command->places.count; i++) {
        buf_text(&got, i == 0 ? "" : " ");
        world_append_path(&got, command->places.list[i]);
    }
    buf_byte(&got, 0);
    CHECK(strcmp(got.ptr, want) == 0);
    buf_reset(&got);
    if (command != NULL && command->span_known) {
        world_append_path(&got, command->span);
    } else {
        buf_text(&got, "?");
    }
    CHECK_BYTES(got.ptr, got.len, span);
    buf_finish(&got);
}

static void spans(void)
{
    world_policy("Bash");
    world_class(READING_FIELD_COMMAND | READING_FIELD_PATH);
    READ("{\"command\":\"rm -f src/a src/b\"}", "{rm -f src/a src/b}");
    places_of("#/src/a #/src/b", "#/src");
    READ("{\"command\":\"make\"}", "{make}");
    places_of("", "#");
    READ("{\"command\":\"rm ~/x\"}", "{rm ~/x}");
    places_of("#/home/x", "#/home/x");
    READ("{\"command\":\"rm src/*\"}", "{rm src/*}");
    places_of("", "?");
    READ("{\"command\":\"x --file=a/b if=c d,e:f@g\"}", "{x --file=a/b if=c d,e:f@g}");
    READ("{\"command\":\"cat x\",\"options\":{\"cwd\":\"out\"}}", "{cat x}");
    places_of("#/x #/out/x", "#");
    READ("{\"command\":\"make\",\"cwd\":\"/out\"}", "/out{make} {make}");
    places_of("", "/out");
    READ("{\"command\":\"cat ws/loop\"}", "{cat ws/loop}");
    places_of("", "?");
    READ("{\"command\":\"cd src && cat a\"}", "{cd src} {cat a}");
    const struct reading_command *cat = readings.list[1].command;
    CHECK(cat->places.count == 2 && cat->span_known && slice_is(cat->span, tree_root));
    READ("{\"command\":\"cd && cat a\"}", "{cd} {cat a}");
    cat = readings.list[1].command;
    CHECK(cat->places.count == 2 && slice_is(cat->places.list[1], world_text("#/home/a")));
    READ("{\"command\":\"cd - && cat x\"}", "{cd -} {cat x}");
    CHECK(!readings.list[1].command->span_known && readings.list[1].command->place_unreadable);
    READ("{\"command\":\"cd a b && cat x\"}", "{cd a b} {cat x}");
    CHECK(!readings.list[1].command->span_known);
}

static void aside(void)
{
    world_policy("Bash");
    world_class(STRICT_PATH);
    READ("{\"command\":\"cat secret/k\"}", "{cat secret/k} | #/secret/k{cat secret/k}");
    CHECK(readings.list[1].known && readings.list[1].aside);
    READ("{\"command\":\"cat $A secret/k\"}",
         "{cat $A secret/k} | #/secret/k{cat $A secret/k} #/$A{cat $A secret/k}");
    READ("{\"command\":\"cat \\\"$HOME/x\\\"\"}", "{cat $HOME/x} | #/home/x{cat $HOME/x}");
    READ("{\"command\":\"cat ws/loop\"}", "{cat ws/loop} | ?{cat ws/loop} @@#/ws/loop{cat ws/loop}");
    READ("{\"command\":\"for f in s/k; do cat $f; done\"}",
         "{?} | #/for{?} #/f{?} #/in{?} #/s/k{?} #/do{?} #/cat{?} #/done{?}");
    READ("{\"command\":\"grep -n a/b c\"}", "{grep -n a/b c} | #/c{grep -n a/b c}");
    world_prefix("#/ws/secret");
    READ("{\"command\":\"grep -r x ws\"}", "{grep -r x ws} | #/ws{grep -r x ws} <#/ws/secret{grep -r x ws}");
    READ("{\"command\":\"rg x\"}", "{rg x} | #{rg x} <#/ws/secret{rg x}");
    READ("{\"command\":\"git add ws\"}", "{git add ws} | #/add{git add ws} #/ws{git add ws}");
    READ("{\"command\":\"sudo rm -r ws\"}", "{sudo rm -r ws} | #/rm{sudo rm -r ws} #/ws{sudo rm -r ws} "
                                            "#/sudo{sudo rm -r ws} #/ws{rm -r ws} <#/ws/secret{rm -r ws}");
    READ("{\"command\":\"setsid cat x\"}", "{setsid cat x} | #/cat{setsid cat x} #/x{setsid cat x}");
    READ("{\"command\":\"setsid sh x\"}",
         "{setsid sh x} | #/sh{setsid sh x} #/x{setsid sh x} #/x{sh x} #/sh{sh x}");
    READ("{\"command\":\"setsid sh -c 'cat \\\"/a b\\\"'\"}",
         "{setsid sh -c cat \"/a b\"} | #/sh{setsid sh -c cat \"/a b\"} #/cat \"/a b\"{setsid sh -c cat \"/a "
         "b\"} "
         "/a b{cat /a b}");
    /* The strings of the call come after. */
    READ("{\"where\":\"a/b\",\"command\":\"ls x\"}", "{ls x} | #/x{ls x} #/a/b");
    READ("{\"command\":\"ls\",\"path\":\"p\"}", "#/p{ls}");
}

static void inner(void)
{
    world_policy("Bash");
    world_class(STRICT_COMMAND);
    READ("{\"command\":\"sudo rm x\"}", "{sudo rm x} | {rm x} {x}");
    READ("{\"command\":\"git -C . push\"}", "{git -C . push} | {git . push} {git push}");
    static const struct slice programs[] = {{"rm", 2}};
    interest.programs = programs;
    interest.program_count = 1;
    READ("{\"command\":\"sudo /bin/rm x\"}", "{sudo /bin/rm x} | {/bin/rm x}");
    READ("{\"command\":\"find . -exec rm x +\"}", "{find . -exec rm x +} | {rm x +}");
}

static void hosts_of(void)
{
    world_policy("Bash");
    world_class(STRICT_HOST);
    world_host("*.evil.org");
    READ("{\"command\":\"curl -s https://x.evil.org/a\"}",
         "{curl -s https://x.evil.org/a} | {curl -s https://x.evil.org/a}@x.evil.org");
    READ("{\"command\":\"ping b.evil.org c.org\"}",
         "{ping b.evil.org c.org} | {ping b.evil.org c.org}@b.evil.org");
}

static void limits(void)
{
    static char input[1 << 16];
    world_policy("Bash");
    world_class(READING_FIELD_COMMAND);
    for (unsigned count = LIMIT_CALL_COMMANDS; count <= LIMIT_CALL_COMMANDS + 1; count++) {
        char *at = stpcpy(input, "{\"command\":\"");
        for (unsigned i = 0; i < count; i++) {
            at += sprintf(at, "c%u;", i);
        }
        (void)stpcpy(at, "\"}");
        enum readings_result result = world_make(input, 0);
        CHECK(result == (count == LIMIT_CALL_COMMANDS ? READINGS_OK : READINGS_OVER_LIMIT));
        CHECK(readings.count == (count == LIMIT_CALL_COMMANDS ? count : 0));
    }
}

int main(void)
{
    world_begin();
    tree_dir("ws");
    tree_dir("ws/secret");
    tree_link("ws/loop", "loop");
    tree_dir("home");
    tree_dir("src");
    arguments_of();
    spans();
    aside();
    inner();
    hosts_of();
    limits();
    return world_end();
}
