/* What commands name: places, hosts, trees, and the runs of texts. */
#include "base/buffer.h"
#include "command/command.h"

#include "check.h"

static struct command_reader *reader;
static struct buf shown;

static const struct command *read_one(const char *text, struct command_list *list)
{
    CHECK(command_read_text(reader, slice_of(text), NULL, list) && list->count > 0);
    return &list->commands[0];
}

static void show_places(struct command_places *places)
{
    struct command_place place;
    buf_reset(&shown);
    while (command_places_next(places, &place)) {
        buf_printf(&shown, "%s%s%s%s%.*s", shown.len > 0 ? " " : "", place.home ? "home:" : "",
                   place.url ? "url:" : "", place.glob ? "glob:" : "", SLICE_FMT(place.text));
    }
}

static void places(const char *text, const char *want)
{
    struct command_list list;
    struct command_places walk;
    command_places_start(&walk, read_one(text, &list));
    show_places(&walk);
    CHECK_BYTES(shown.ptr, shown.len, want);
}

static void guesses(const char *text, const char *want)
{
    struct command_list list;
    struct command_places walk;
    command_guesses_start(&walk, read_one(text, &list));
    show_places(&walk);
    CHECK_BYTES(shown.ptr, shown.len, want);
}

static void test_places(void)
{
    places("cat a", "a");
    places("./x a/b ''", "./x a/b");
    places("cat $A secret/k", "secret/k");
    places("cat ~/x '~/y'", "home:~/x ~/y");
    places("x --file=secret/k -I/a/b -v -x.y -o~/z", "secret/k /a/b .y ~/z");
    places("dd if=a/b of=c", "if=a/b a/b of=c c");
    places("curl -d @a/b", "@a/b a/b");
    places("scp h:/x u@h:y,z ~/a:b", "h:/x h /x u@h:y,z u@h h:y,z y,z z home:~/a:b home:~/a b");
    places("x a=b:c=d", "a=b:c=d a=b c=d b:c=d b");
    places("curl 'http://a:1/x?y=/z'", "url:http://a:1/x?y=/z");
    places("curl --url=https://a/b", "url:https://a/b");
    places("x a=WS://b", "a=WS://b a=WS //b url:WS://b");
    places("cd", "home:~");
    places("cd x", "x");
    places("pushd", "");
    places("cat < f", "");
    places("x - --", "");
    places("x a= :b", "a= :b b");
}

static void test_search(void)
{
    places("grep -rn '/api/x' src", "src");
    places("grep '' secret/k", "secret/k");
    places("grep \"$X\" secret/k", "secret/k");
    places("rg -g secret/k KEY", "secret/k KEY");
    places("grep -e x y", "x y");
    places("grep -$X y", "y");
    places("/usr/bin/grep x y", "/usr/bin/grep x y");
    guesses("grep \"$X\" secret/k", "$X"); /* how many words it becomes is not known */
    guesses("grep * secret/k", "glob:*");
}

static void test_guesses(void)
{
    guesses("cat a $HOME/x ${PWD} \"$X/y\" *.c", "$HOME/x $PWD $X/y glob:*.c");
    guesses("cat $HOME/x ${HOME}", "$HOME/x $HOME");
    guesses("x --file=$HOME/y", "$HOME/y");
    guesses("cat a", "");
}

static void trees(const char *text, const char *want)
{
    struct command_list list;
    struct command_trees got;
    command_trees_of(read_one(text, &list), &got);
    buf_reset(&shown);
    buf_printf(&shown, "%s%s%s%s|%.*s", got.names ? "names " : "", got.entries ? "entries " : "",
               got.hidden ? "hidden " : "", got.here ? "here " : "", SLICE_FMT(got.last));
    CHECK_BYTES(shown.ptr, shown.len, want);
}

static void test_trees(void)
{
    trees("ls x", "|");
    trees("rm -rf x", "names entries hidden |x");
    trees("/usr/bin/find . -name y", "names hidden here |y");
    trees("rg x", "names entries here |");
    trees("rg -n x y", "names entries here |y");
    trees("rg --files x", "names entries here |x");
    trees("rg x $X", "names entries here |$X");
    trees("rg --hidden x", "names entries hidden here |");
    trees("rg -uu x", "names entries hidden here |");
    trees("rg -. x", "names entries hidden here |");
    trees("fd x", "names here |");
    trees("grep x y", "names entries hidden |y");
    trees("grep -rn x", "names entries hidden here |");
    trees("grep --recursive", "names entries hidden here |");
    trees("egrep -R x -- y", "names entries hidden here |y");
}

static void test_runs(void)
{
    static const char text[] = "for f in a/b;do cat $HOME/.ssh/id ${PWD}/x \"$HOMEX\" 'q r'`s`\xc3\xa9~/z";
    char room[COMMAND_RUN_BYTES];
    struct slice run, whole = slice_of(text);
    size_t at = 0;
    buf_reset(&shown);
    while (command_run_next(whole, &at, room, &run)) {
        buf_printf(&shown, "%.*s ", SLICE_FMT(run));
    }
    CHECK_BYTES(shown.ptr, shown.len, "for f in a/b do cat $HOME/.ssh/id $PWD/x HOMEX q r s ~/z ");
    at = 0;
    buf_reset(&shown);
    while (command_host_run_next(SLICE("ssh u@Evil.org:22 'a_b-c'/d"), &at, &run)) {
        buf_printf(&shown, "%.*s ", SLICE_FMT(run));
    }
    CHECK_BYTES(shown.ptr, shown.len, "ssh u Evil.org 22 a_b-c d ");
}

static void test_names(void)
{
    struct command_list list;
    CHECK(command_has_unknown_place(read_one("cd a b", &list)) &&
          !command_has_unknown_place(read_one("cd a", &list)));
    CHECK(!command_has_unknown_place(read_one("cd -P a", &list)) &&
          !command_has_unknown_place(read_one("x a b", &list)));
    CHECK(command_runs_anything(read_one("/usr/bin/python3 -c x", &list)));
    CHECK(!command_runs_anything(read_one("git x", &list)));
    static const char runs[] =
        "sh bash dash ksh zsh fish env xargs sudo doas su nohup nice timeout time command exec "
        "eval find awk sed perl python python3 ruby node deno bun php ssh make npx uvx docker "
        "podman watch source . ";
    for (const char *at = runs, *end; (end = strchr(at, ' ')) != NULL; at = end + 1) {
        CHECK(command_name_runs_anything((struct slice){at, (size_t)(end - at)}));
    }
    CHECK(command_name_runs_anything(SLICE("/x/node")) && command_name_runs_anything(SLICE(".")));
    CHECK(!command_name_runs_anything(SLICE("")));
}

int main(void)
{
    reader = command_reader_create();
    CHECK(reader != NULL);
    buf_init(&shown, 1u << 20);
    test_places();
    test_search();
    test_guesses();
    test_trees();
    test_runs();
    test_names();
    buf_finish(&shown);
    command_reader_destroy(reader);
    return check_done();
}
