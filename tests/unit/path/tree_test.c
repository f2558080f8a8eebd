/* The entries below a directory: names against pathComponents and globs, order, depth, what is not gone into, the limit. */
#include "base/buffer.h"
#include "check.h"
#include "path/path.h"
#include "tree.h"

static struct path_walker *walker;
static struct buf found;

/* Adds a path without the test's own directory. */
static bool collect(void *context, struct slice path)
{
    size_t root = strlen(tree_root);
    (void)context;
    if (found.len > 0) {
        buf_byte(&found, ' ');
    }
    buf_slice(&found, path.len > root ? slice_from(path, root + 1) : SLICE("."));
    return true;
}

static bool refuse(void *context, struct slice path)
{
    (void)context;
    (void)path;
    return false;
}

static enum path_walk walk(const char *directory, struct path_ask ask, size_t *left)
{
    buf_reset(&found);
    ask.found = ask.found == NULL ? collect : ask.found;
    return path_walk_entries(walker, tree_slice(directory), &ask, left);
}

static void finds(const char *directory, struct path_ask ask, const char *want)
{
    size_t left = 1000;
    CHECK(walk(directory, ask, &left) == PATH_WALK_OK);
    CHECK_BYTES(found.ptr, found.len, want);
}

static void make_files(void)
{
    tree_dir("a");
    tree_dir("a/.h");
    tree_dir("a/z");
    tree_file("a/.h/k");
    tree_file("a/z/k");
    tree_file("a/b");
    tree_file("a/.k");
    tree_file("k");
    tree_link("a/l", "$");
    tree_link("top", "a");
    tree_dir("shut");
    tree_file("shut/k");
    tree_need(chmod("shut", 0) == 0, "chmod");
}

static void test_order(void)
{
    const struct path_ask all = {.hidden = true, .deep = true};
    finds("$/a", all, "a/.h a/.h/k a/.k a/b a/l a/z a/z/k");
    finds("$/a", (struct path_ask){.hidden = true}, "a/.h a/.k a/b a/l a/z");
    finds("$/a", (struct path_ask){.deep = true}, "a/b a/l a/z a/z/k");
    finds("$/k", all, "");       /* a file */
    finds("$/nothing", all, ""); /* nothing at all */
    finds("$/top", all, "top/.h top/.h/k top/.k top/b top/l top/z top/z/k");
    if (geteuid() != 0) {
        finds("$/shut", all, "");
    }
}

static void test_names(void)
{
    const struct slice patterns[] = {SLICE("k"), SLICE("*b"), SLICE(".h*")};
    struct path_names *names = path_names_create(patterns, 3);
    struct slice filter = SLICE("[!.]*");
    tree_need(names != NULL, "path_names_create");
    finds("$/a", (struct path_ask){.names = names, .hidden = true, .deep = true}, "a/.h a/.h/k a/b a/z/k");
    finds("$/a",
          (struct path_ask){
              .names = names, .hidden = true, .deep = true, .filters = &filter, .filter_count = 1},
          "a/.h/k a/b a/z/k");
    CHECK(path_names_have(names, SLICE("k")) && path_names_have(names, SLICE("xb")) &&
          path_names_have(names, SLICE(".hx")) && path_names_have(names, SLICE("b")));
    CHECK(!path_names_have(names, SLICE("kk")) && !path_names_have(names, SLICE("bx")) &&
          !path_names_have(names, SLICE("h")) && !path_names_have(names, SLICE("")));
    path_names_destroy(names);
    names = path_names_create(NULL, 0);
    CHECK(names != NULL && !path_names_have(names, SLICE("k")));
    path_names_destroy(names);
    path_names_destroy(NULL);
}

static void test_limit(void)
{
    const struct path_ask all = {.hidden = true, .deep = true};
    size_t left = 7;
    CHECK(walk("$/a", all, &left) == PATH_WALK_OK && left == 0);
    left = 6;
    CHECK(walk("$/a", all, &left) == PATH_WALK_OVER && left == 0);
    left = 0;
    CHECK(walk("$/a", all, &left) == PATH_WALK_OVER);
    CHECK(walk("$/nothing", all, &left) == PATH_WALK_OK);
    left = 100;
    CHECK(walk("$/a", (struct path_ask){.found = refuse}, &left) == PATH_WALK_FAILED);
    finds("$/a", (struct path_ask){.hidden = true}, "a/.h a/.k a/b a/l a/z"); /* it may be used again */
}

/* As deep as a path may be: what would be longer is passed over, and nothing is lost on the way back. */
static void test_deep(void)
{
    const size_t name_len = 200, depth = 30;
    char name[201];
    size_t left = 1000, made = 0;
    memset(name, 'n', name_len);
    name[name_len] = '\0';
    tree_dir("deep");
    tree_need(chdir("deep") == 0, "chdir");
    for (size_t i = 0; i < depth; i++, made++) {
        tree_file("k");
        tree_dir(name);
        tree_need(chdir(name) == 0, "chdir");
    }
    tree_need(chdir(tree_root) == 0, "chdir");
    CHECK(walk("$/deep", (struct path_ask){.deep = true, .hidden = true}, &left) == PATH_WALK_OK);
    size_t files = 0, longest = 0, base = strlen(tree_root) + 1;
    for (size_t at = 0; at < found.len;) {
        const char *end = memchr(found.ptr + at, ' ', found.len - at);
        size_t len = end == NULL ? found.len - at : (size_t)(end - (found.ptr + at));
        files += found.ptr[at + len - 1] == 'k';
        longest = base + len > longest ? base + len : longest;
        at += len + 1;
    }
    CHECK(longest <= LIMIT_PATH_BYTES && longest > LIMIT_PATH_BYTES - name_len - 2);
    CHECK(files == (LIMIT_PATH_BYTES - strlen(tree_root) - strlen("/deep") - 2) / (name_len + 1) + 1);
}

int main(void)
{
    tree_begin();
    buf_init(&found, 1u << 20);
    walker = path_walker_create();
    tree_need(walker != NULL, "path_walker_create");
    make_files();
    test_order();
    test_names();
    test_limit();
    test_deep();
    path_walker_destroy(walker);
    path_walker_destroy(NULL);
    buf_finish(&found);
    tree_end();
    return check_done();
}
