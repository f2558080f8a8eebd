/* Which files the prefixes are: other spellings of the same file, at load and after what was made, moved and replaced. */
#include "base/buffer.h"
#include "check.h"
#include "path/path.h"
#include "tree.h"

static struct path_resolved r;
static struct path_files *files;

static struct path_prefixes *make(const char *const *texts)
{
    struct path_prefixes *prefixes = path_prefixes_create();
    const struct path_base base = {.cwd = slice_of(tree_root), .home = slice_of(tree_root)};
    uint32_t id;
    tree_need(prefixes != NULL, "path_prefixes_create");
    for (size_t i = 0; texts[i] != NULL; i++) {
        tree_need(path_prefixes_add(prefixes, &base, tree_slice(texts[i]), &id, NULL) == PATH_PREFIX_OK,
                  texts[i]);
        CHECK(id == i + 1);
    }
    tree_need(path_prefixes_seal(prefixes), "path_prefixes_seal");
    return prefixes;
}

/* What is the same file as a step of a path: `ID:the step's path` for each. */
static void same(const char *text, const char *want)
{
    const struct path_same *list;
    struct buf got;
    size_t count = 0, root = strlen(tree_root);
    buf_init(&got, 1u << 16);
    path_resolve(&r, slice_of(tree_root), tree_slice(text), PATH_KERNEL);
    CHECK(r.readable && path_files_find(files, &r, &list, &count));
    for (size_t i = 0; i < count; i++) {
        struct slice step = {r.text, r.steps[list[i].step].end};
        buf_printf(&got, "%s%u:%.*s", i == 0 ? "" : " ", list[i].prefix,
                   (int)(step.len > root ? step.len - root - 1 : step.len),
                   step.ptr + (step.len > root ? root + 1 : 0));
    }
    CHECK_BYTES(got.len == 0 ? "" : got.ptr, got.len, want);
    buf_finish(&got);
}

static void look(const struct path_prefixes *prefixes)
{
    CHECK(path_files_look(files, prefixes, false));
}

static void test_load(void)
{
    const char *const texts[] = {"$/secret/key", "$/secret", "$/later", "$/dir", NULL};
    struct path_prefixes *prefixes = make(texts);
    look(prefixes);
    same("$/secret/key", ""); /* its own spelling is nothing new */
    same("$/other", "1:other");
    same("$/dir/x", "");
    same("$/later", "");
    same("$/none", "");
    same("$/link", ""); /* a link is followed before */

    /* Made after the load, under another name. */
    tree_file("later");
    tree_hard("later2", "later");
    look(prefixes);
    same("$/later2", "3:later2");

    /* Moved away: what it was it stays. */
    tree_need(rename("dir", "moved") == 0, "rename");
    look(prefixes);
    same("$/moved/x", "4:moved");
    tree_dir("dir");
    look(prefixes);
    same("$/moved/x", "4:moved");
    same("$/dir/x", "");

    /* Replaced by a link, whose target is what the prefix is now. */
    tree_need(rename("dir", "dir2") == 0, "rename");
    tree_link("dir", "$/elsewhere");
    look(prefixes);
    same("$/elsewhere/x", "4:elsewhere");
    tree_need(unlink("dir") == 0, "unlink");
    tree_link("dir", "$/elsewhere2");
    look(prefixes);
    same("$/elsewhere2/x", "4:elsewhere2");
    same("$/elsewhere/x", "4:elsewhere");

    /* Not looked again when nothing can have changed. */
    tree_file("unseen");
    tree_need(unlink("later") == 0 && rename("unseen", "later") == 0, "rename");
    tree_hard("later3", "later");
    CHECK(path_files_look(files, prefixes, true));
    same("$/later3", "");
    look(prefixes);
    same("$/later3", "3:later3");
    path_prefixes_destroy(prefixes);
}

/* Other prefixes: nothing of those before is left; the order is that of loading, the deepest step first. */
static void test_again(void)
{
    const char *const texts[] = {"$/two", "$/p", NULL}, *const none[] = {NULL};
    struct path_prefixes *prefixes = make(texts);
    look(prefixes);
    same("$/moved/x", "");
    tree_need(rename("p", "q") == 0, "rename");
    tree_need(rename("two", "q/two") == 0, "rename");
    look(prefixes);
    same("$/q/two/x", "1:q/two 2:q");
    path_prefixes_destroy(prefixes);
    prefixes = make(none);
    look(prefixes);
    same("$/q/two/x", "");
    path_prefixes_destroy(prefixes);
}

/* More files than the table has room for at first. */
static void test_many(void)
{
    char text[64], hard[64], want[64];
    struct path_prefixes *prefixes = path_prefixes_create();
    const struct path_base base = {.cwd = slice_of(tree_root), .home = slice_of(tree_root)};
    uint32_t id;
    tree_need(prefixes != NULL, "path_prefixes_create");
    tree_dir("n");
    tree_dir("h");
    for (int i = 0; i < 500; i++) {
        (void)snprintf(text, sizeof(text), "n/%d", i);
        (void)snprintf(hard, sizeof(hard), "h/%d", i);
        tree_file(text);
        tree_hard(hard, text);
        CHECK(path_prefixes_add(prefixes, &base, slice_of(text), &id, NULL) == PATH_PREFIX_OK);
    }
    tree_need(path_prefixes_seal(prefixes), "path_prefixes_seal");
    look(prefixes);
    for (int i = 0; i < 500; i += 83) {
        (void)snprintf(text, sizeof(text), "$/h/%d", i);
        (void)snprintf(want, sizeof(want), "%d:h/%d", i + 1, i);
        same(text, want);
    }
    path_prefixes_destroy(prefixes);
}

int main(void)
{
    tree_begin();
    tree_dir("secret");
    tree_file("secret/key");
    tree_hard("other", "secret/key");
    tree_link("link", "secret");
    tree_dir("dir");
    tree_dir("elsewhere");
    tree_dir("elsewhere2");
    tree_dir("two");
    tree_dir("p");
    files = path_files_create();
    tree_need(files != NULL, "path_files_create");
    test_load();
    test_again();
    test_many();
    path_files_destroy(files);
    path_files_destroy(NULL);
    tree_end();
    return check_done();
}
