/* What texts with wildcards stand for: braces, components, whole trees, and which names a pattern meets. */
#include "base/buffer.h"
#include "check.h"
#include "path/path.h"
#include "tree.h"

static struct path_walker *walker;
static struct path_globber *globber;
static struct buf given;

static void give(const char *kind, struct slice text, bool tree, struct slice filter)
{
    size_t root = strlen(tree_root);
    if (given.len > 0) {
        buf_byte(&given, ' ');
    }
    buf_text(&given, kind);
    if (slice_starts_with(text, slice_of(tree_root))) {
        buf_byte(&given, '$');
        text = slice_from(text, root);
    }
    buf_slice(&given, text);
    if (tree) {
        buf_text(&given, filter.ptr == NULL ? "<all>" : "<");
        buf_slice(&given, filter.ptr == NULL ? SLICE("") : filter);
        buf_text(&given, filter.ptr == NULL ? "" : ">");
    }
}

static bool found(void *context, struct slice path, bool tree, struct slice filter)
{
    (void)context;
    give("", path, tree, filter);
    return true;
}

static bool plain(void *context, struct slice text, bool tree)
{
    (void)context;
    give("=", text, tree, (struct slice){NULL, 0});
    return true;
}

static bool refuse(void *context, struct slice path, bool tree, struct slice filter)
{
    (void)context;
    (void)path;
    (void)tree;
    (void)filter;
    return false;
}

/* `$/x` that is found, `=x` that is plain, `…<filter>` for a tree. */
static void globs(const char *text, const char *want)
{
    const struct slice starts[] = {slice_of(tree_root)};
    const struct path_glob glob = {.starts = starts, .start_count = 1, .found = found, .plain = plain};
    buf_reset(&given);
    CHECK(path_glob(globber, tree_slice(text), &glob));
    CHECK_BYTES(given.ptr, given.len, want);
}

static void meets(const char *pattern, const char *name, bool want)
{
    bool got = path_glob_meets(slice_of(pattern), slice_of(name));
    if (got != want) {
        printf("%s against %s\n", pattern, name);
    }
    CHECK(got == want);
}

static void test_meets(void)
{
    meets("a", "a", true);
    meets("a", "b", false);
    meets("", "", true);
    meets("", "a", false);
    meets("*", "", true);
    meets("*", ".hidden", true);
    meets("a*c", "abbc", true);
    meets("a*c", "abcb", false);
    meets("*a*b*", "xxaxxbxx", true);
    meets("?", "a", true);
    meets("?", "ab", false);
    meets("?", "\xC3\xA9", true); /* one character, not one byte */
    meets("??", "\xC3\xA9", false);
    meets("[ab]", "b", true);
    meets("[ab]", "c", false);
    meets("[!ab]", "c", true);
    meets("[^ab]", "a", false);
    meets("[a-c]x", "bx", true);
    meets("[c-a]", "b", false);
    meets("[]a]", "]", true);
    meets("[a-]", "-", true);
    meets("[a", "[a", true); /* without its end it is itself */
    meets("[a", "a", false);
    meets("[a]", "\xC3\xA9", true); /* a class may mean any character beyond ASCII */
    meets("[!a]", "\xC3\xA9", true);
    meets("\\*", "*", true);
    meets("\\*", "a", false);
    meets("*********************************b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          false);
}

static void test_wildcards(void)
{
    globs("d/*", "$/d/.h $/d/a $/d/b");
    globs("d/a*", "$/d/a");
    globs("*/a", "$/d/a $/e/a $/f/a");
    globs("*/a/none/x", "$/d/a/none/x $/e/a/none/x $/f/a/none/x");
    globs("$/d/?", "$/d/a $/d/b");
    globs("d/x*", "");
    globs("none/*", "");
    globs("d/[ab]", "$/d/a $/d/b");
    globs("d/**", "$/d<all>");
    globs("d/**/*.c", "$/d<*.c>");
    globs("*/**/x", "$/d<x> $/e<x> $/f<x>");
    globs("d//*", "$/d/.h $/d/a $/d/b");
    globs("/none*x*y", "");
    /* `..` is taken from the text as well. */
    globs("none/../d/a*", "$/d/a");
    globs("none*/../d/a*", "$/d/a");
    globs("d/../e/*", "$/d/../e/a $/e/a");
    globs("d/a*/../b", "$/d/a/../b");
}

static void test_braces(void)
{
    globs("{a,b}", "=a =b");
    globs("x{a,b}y", "=xay =xby");
    globs("{d,e}/*", "$/d/.h $/d/a $/d/b $/e/a");
    globs("{a}", "={a}");
    globs("{a,b", "={a,b");
    globs("{,a}", "= =a");
    /* Braces in braces; the order of the alternatives is the expander's own. */
    buf_reset(&given);
    globs("{a,{b,c}}", "=a =b =c");
    char many[256] = "";
    for (int i = 0; i < 7; i++) {
        (void)strcat(many, "{a,b}");
    }
    globs(many, "=<all>"); /* 128 */
    char below[300];
    (void)snprintf(below, sizeof(below), "d/e%s", many);
    globs(below, "=d/<all>");
}

/* More entries than may be looked at: the whole tree above the first component with a wildcard. */
static void test_limit(void)
{
    char name[32];
    tree_dir("many");
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof(name), "many/%d", i);
        tree_dir(name);
    }
    globs("*/*/../../*/*", "$<all> $<all>"); /* from the text as well, for which nothing is left */
    globs("many/../*/*/../../*/*", "$/many/..<all> $<all>");
    const struct path_glob glob = {.found = refuse, .plain = plain, .start_count = 0};
    CHECK(!path_glob(globber, tree_slice("$/d/*"), &glob));
    globs("d/a*", "$/d/a");
}

static bool count(void *context, struct slice text)
{
    size_t *left = context;
    (void)text;
    return (*left)-- > 0;
}

static void test_alternatives(void)
{
    size_t left = 10;
    CHECK(path_alternatives(globber, SLICE("{a,b,c}"), count, &left) == PATH_WALK_OK && left == 7);
    left = 1;
    CHECK(path_alternatives(globber, SLICE("{a,b,c}"), count, &left) == PATH_WALK_OVER);
    CHECK(path_has_glob(SLICE("a*")) && path_has_glob(SLICE("{")) && !path_has_glob(SLICE("a.b")));
}

int main(void)
{
    tree_begin();
    buf_init(&given, 1u << 20);
    walker = path_walker_create();
    globber = path_globber_create(walker);
    tree_need(globber != NULL, "path_globber_create");
    tree_dir("d");
    tree_dir("e");
    tree_dir("f");
    tree_file("d/.h");
    tree_file("d/a");
    tree_file("d/b");
    tree_file("e/a");
    tree_link("f/a", "nowhere");
    test_meets();
    test_wildcards();
    test_braces();
    test_limit();
    test_alternatives();
    path_globber_destroy(globber);
    path_globber_destroy(NULL);
    path_walker_destroy(walker);
    buf_finish(&given);
    tree_end();
    return check_done();
}
