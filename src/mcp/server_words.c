/* The directories and the home that a server is told by its command and its environment. */
#include "mcp/server_words.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* Each word is looked at as it stands and behind its `=`, and each of these as a name, as a URI, and below
 * two homes. */
#define FORMS_MOST 8u

struct reading_words {
    struct arena *arena;
    struct slice cwd;
    struct path_base base;
    struct slice *roots;
    size_t count;
    bool failed;
};

/* Adds a directory, if there is one of that name. */
static void add_directory(struct reading_words *words, struct slice above, struct slice name)
{
    struct buf path;
    struct stat status;
    buf_init(&path, (size_t)4 * PATH_MAX);
    if (name.len == 0 || name.ptr[0] != '/') {
        buf_slice(&path, above);
        buf_byte(&path, '/');
    }
    buf_slice(&path, name);
    size_t len = path.len;
    buf_byte(&path, '\0');
    if (buf_ok(&path) && stat(path.ptr, &status) == 0 && S_ISDIR(status.st_mode)) {
        struct slice copy = arena_copy(words->arena, (struct slice){path.ptr, len});
        words->failed = words->failed || copy.ptr == NULL;
        words->roots[words->count++] = copy;
    }
    buf_finish(&path);
}

static void take_name(struct reading_words *words, struct slice name)
{
    struct buf path;
    if (name.len == 0) {
        return;
    }
    add_directory(words, words->cwd, name);
    if (slice_is(name, "~") || slice_starts_with(name, SLICE("~/"))) {
        struct slice below = slice_from(name, name.len > 1 ? 2 : 1);
        add_directory(words, words->base.home, below);
        if (words->base.server_home.len > 0) {
            add_directory(words, words->base.server_home, below);
        }
    }
    buf_init(&path, (size_t)2 * PATH_MAX);
    if (path_decode_uri(name, &path) == PATH_URI_OK && path.len > 0) {
        add_directory(words, words->cwd, buf_slice_of(&path));
    }
    buf_finish(&path);
}

/* The value of an assignment to HOME among words; ptr NULL when there is none. */
static struct slice home_among(char *const *words)
{
    struct slice home = {0};
    for (; *words != NULL; words++) {
        if (strncmp(*words, "HOME=", 5) == 0) {
            home = slice_of(*words + 5);
        }
    }
    return home;
}

/* The server's HOME: what `env`, in front of its program, sets stands before the environment. */
static struct slice home_of(char *const *command, char *const *environment)
{
    const char *name = strrchr(command[0], '/');
    struct slice home = {0};
    if (strcmp(name != NULL ? name + 1 : command[0], "env") == 0) {
        home = home_among(command + 1);
    }
    return home.ptr != NULL ? home : home_among(environment);
}

bool server_words_read(struct arena *arena, const struct path_base *base, struct slice cwd,
                       char *const *command, char *const *environment, struct path_base *ret_base)
{
    struct reading_words words = {.arena = arena, .cwd = cwd, .base = *base, .count = base->root_count};
    size_t count = 0;
    while (command[count] != NULL) {
        count++;
    }
    words.roots = arena_array(arena, base->root_count + count * FORMS_MOST, sizeof(*words.roots));
    if (words.roots == NULL) {
        return false;
    }
    for (size_t i = 0; i < base->root_count; i++) {
        words.roots[i] = base->roots[i];
    }
    struct slice home = home_of(command, environment);
    if (home.len > 0 && home.ptr[0] == '/' && !slice_eq(home, base->home)) {
        words.base.server_home = home;
    }
    for (size_t i = 1; i < count; i++) {
        struct slice word = slice_of(command[i]);
        const char *equals = memchr(word.ptr, '=', word.len);
        take_name(&words, word);
        if (equals != NULL) {
            take_name(&words, slice_from(word, (size_t)(equals - word.ptr) + 1));
        }
    }
    *ret_base = words.base;
    ret_base->roots = words.roots;
    ret_base->root_count = words.count;
    return !words.failed;
}
