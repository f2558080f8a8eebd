/* What a server is told by its command and its environment. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../check.h"
#include "mcp/server_words.h"

static char top[] = "/tmp/callgate-words-XXXXXX";

/* The roots that a command adds, each in brackets, and the home; "%" is the test's directory. */
static void check_words(char *const *command, char *const *environment, const char *want)
{
    struct arena arena;
    struct buf got, expanded;
    const struct path_base base = {.cwd = SLICE("/cwd"), .home = SLICE("/home/u")};
    struct path_base made;
    arena_init(&arena, 0);
    buf_init(&got, 1u << 16);
    buf_init(&expanded, 1u << 16);
    CHECK(server_words_read(&arena, &base, slice_of(top), command, environment, &made));
    for (size_t i = 0; i < made.root_count; i++) {
        buf_printf(&got, "[%.*s]", SLICE_FMT(made.roots[i]));
    }
    buf_slice(&got, made.server_home);
    for (const char *at = want; *at != '\0'; at++) {
        if (*at == '%') {
            buf_text(&expanded, top);
        } else {
            buf_byte(&expanded, *at);
        }
    }
    buf_byte(&expanded, '\0');
    CHECK_BYTES(got.ptr, got.len, expanded.ptr);
    buf_finish(&expanded);
    buf_finish(&got);
    arena_finish(&arena);
}

static char *word(const char *before, const char *after)
{
    size_t size = strlen(before) + strlen(top) + strlen(after) + 1;
    char *text = malloc(size);
    CHECK(text != NULL && snprintf(text, size, "%s%s%s", before, top, after) == (int)size - 1);
    return text;
}

int main(void)
{
    char *none[] = {NULL}, *homes[] = {"A=b", "HOME=/home/u", "B=c", NULL};
    CHECK(mkdtemp(top) != NULL);
    char *dir = word("", "/a b");
    CHECK(mkdir(dir, 0700) == 0);
    char *option = word("--root=", "/a b"), *uri = word("file://", "/a%20b"),
         *behind = word("--x=file:", "/a%20b");
    char *other = word("HOME=", ""), *file = word("", "/file");
    CHECK(fclose(fopen(file, "w")) == 0);
    char *plain[] = {dir, "x", dir, file, "a b", "", "-", "missing", NULL};
    check_words(plain, none, "[%/a b][%/a b]");
    char *formed[] = {"server", option, uri, behind, "--y=a b", NULL};
    check_words(formed, homes, "[%/a b][%/a b][%/a b][%/a b]");
    char *home[] = {"/usr/bin/env", "Z=1", other, "server", "~/a b", "--w=~", NULL};
    check_words(home, homes, "[%][%/a b][%/]%");
    char *set[] = {other, NULL}, *tilde[] = {"server", "~/a b", NULL};
    check_words(tilde, set, "[%/a b]%");
    char *relative[] = {"HOME=x", NULL};
    check_words(tilde, relative, "");
    CHECK(unlink(file) == 0 && rmdir(dir) == 0 && rmdir(top) == 0);
    free(dir), free(option), free(uri), free(behind), free(other), free(file);
    return check_done();
}
