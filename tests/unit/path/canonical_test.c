/* path_resolve against real trees; path_is_under and path_has_component. */
#include "check.h"
#include "path/path.h"
#include "tree.h"

static struct path_resolved r;

/* Resolves from the temporary directory; NULL when unreadable. The texts may have `$`. */
static const char *resolve(const char *text, enum path_mode mode)
{
    path_resolve(&r, slice_of(tree_root), tree_slice(text), mode);
    return r.readable ? r.text : NULL;
}

static const char *mode_names[] = {[PATH_TEXTUAL] = "textual", [PATH_KERNEL] = "kernel"};

/* `want` NULL: unreadable. */
static void check_mode(int line, const char *text, enum path_mode mode, const char *want)
{
    const char *got = resolve(text, mode);
    const char *wanted = want == NULL ? NULL : tree_text(want);
    bool same = got == NULL ? wanted == NULL : wanted != NULL && strcmp(got, wanted) == 0;
    if (!same) {
        printf("line %d: %s, %s: want %s\n    got %s\n", line, text, mode_names[mode],
               wanted == NULL ? "unreadable" : wanted, got == NULL ? "unreadable" : got);
    }
    CHECK(same);
    CHECK(!r.readable || (r.len == strlen(r.text) && r.steps[0].end == 1));
    CHECK(r.readable || !r.exists);
}

#define BOTH(text, want)                                                                                     \
    do {                                                                                                     \
        check_mode(__LINE__, text, PATH_TEXTUAL, want);                                                      \
        check_mode(__LINE__, text, PATH_KERNEL, want);                                                       \
    } while (0)
#define EACH(text, textual, kernel)                                                                          \
    do {                                                                                                     \
        check_mode(__LINE__, text, PATH_TEXTUAL, textual);                                                   \
        check_mode(__LINE__, text, PATH_KERNEL, kernel);                                                     \
    } while (0)

static void build(void)
{
    tree_dir("d");
    tree_dir("d/e");
    tree_file("d/f");
    tree_file("d/e/g");
    tree_dir("out");
    tree_file("out/v");
    tree_link("abs", "$/d/e");
    tree_link("rel", "d/e");
    tree_link("d/up", "../out");
    tree_link("d/e/here", ".");
    tree_link("d/e/parent", "..");
    tree_link("to-file", "d/f");
    tree_link("to-up", "d/up");
    tree_link("dangling", "d/absent/x");
    tree_link("dangling-abs", "$/no/where");
    tree_link("root", "/");
    tree_link("above", "/../../..");
    tree_link("loop", "loop");
    tree_link("ping", "pong");
    tree_link("pong", "ping");
    tree_link("slashes", "d//./e///");
    tree_link("through-missing", "absent/../d/f");
    tree_link("through-file", "d/f/../e");
    tree_link("to-link", "rel/parent/up");
    tree_hard("d/hard", "d/f");
    tree_file("single");
}

static void plain(void)
{
    BOTH("/", "/");
    BOTH("//", "/");
    BOTH("/.", "/");
    BOTH("", "$");
    BOTH(".", "$");
    BOTH("./", "$");
    BOTH("d", "$/d");
    BOTH("d/", "$/d");
    BOTH("d//e/./g", "$/d/e/g");
    BOTH("$/d/f", "$/d/f");
    BOTH("absent", "$/absent");
    BOTH("absent/a/b/", "$/absent/a/b");
    BOTH("d/f/below/a", "$/d/f/below/a");
    BOTH("d/f/.", "$/d/f");
    BOTH("...", "$/...");
    BOTH("..a/.b", "$/..a/.b");
    BOTH("~", "$/~");
}

static void dotdot(void)
{
    BOTH("d/..", "$");
    BOTH("d/../d/f", "$/d/f");
    BOTH("absent/../d/f", "$/d/f");
    BOTH("absent/b/../../d/e/here", "$/d/e");
    BOTH("d/f/../e", "$/d/e");
    BOTH("d/f/a/b/../../../e/g", "$/d/e/g");
    BOTH("/..", "/");
    BOTH("/../../x-not-there", "/x-not-there");
    BOTH("../../../../../../../../../../..", "/");
    EACH("d/up/../d/f", "$/d/d/f", "$/d/f");
    EACH("d/up/..", "$/d", "$");
    EACH("abs/../out", "$/out", "$/d/out");
    EACH("rel/../..", "/tmp", "$");
    EACH("loop/../d", "$/d", NULL);
    EACH("dangling/..", "$", "$/d/absent");
    EACH("root/../d", "$/d", "/d");
    BOTH("absent/../rel", "$/d/e");
}

static void links(void)
{
    BOTH("abs", "$/d/e");
    BOTH("abs/", "$/d/e");
    BOTH("abs/g", "$/d/e/g");
    BOTH("rel/g", "$/d/e/g");
    BOTH("rel/new", "$/d/e/new");
    BOTH("d/up/v", "$/out/v");
    BOTH("d/e/here/here/g", "$/d/e/g");
    BOTH("d/e/parent/f", "$/d/f");
    BOTH("to-file", "$/d/f");
    BOTH("to-file/below", "$/d/f/below");
    BOTH("dangling", "$/d/absent/x");
    BOTH("dangling/y", "$/d/absent/x/y");
    BOTH("dangling-abs", "$/no/where");
    BOTH("root", "/");
    BOTH("root$/d", "$/d");
    BOTH("above", "/");
    BOTH("slashes", "$/d/e");
    BOTH("through-missing", "$/d/f");
    BOTH("through-file", "$/d/e");
    BOTH("to-link", "$/out");
    BOTH("loop", NULL);
    BOTH("loop/x", NULL);
    BOTH("ping", NULL);
    /* Nothing is looked at below what is absent, so a link's name there is a name. */
    BOTH("absent/loop", "$/absent/loop");
}

/* A chain of links: n0 is a directory, n1 leads to n0, … */
static void link_counts(void)
{
    tree_dir("chain");
    tree_dir("chain/n0");
    for (int i = 1; i <= 41; i++) {
        char name[32], target[32];
        (void)snprintf(name, sizeof(name), "chain/n%d", i);
        (void)snprintf(target, sizeof(target), "n%d", i - 1);
        tree_link(name, target);
    }
    BOTH("chain/n39", "$/chain/n0");
    BOTH("chain/n40", "$/chain/n0");
    BOTH("chain/n40/new", "$/chain/n0/new");
    BOTH("chain/n41", NULL);
    EACH("rel/parent/../chain/n38", "$/d/e/chain/n38", "$/chain/n0");
    EACH("rel/parent/../chain/n39", "$/d/e/chain/n39", NULL);
    /* The links of the start count too. */
    path_resolve(&r, tree_slice("$/chain/n20"), SLICE("../n20"), PATH_KERNEL);
    CHECK(r.readable && r.links == 40);
    path_resolve(&r, tree_slice("$/chain/n20"), SLICE("../n21"), PATH_KERNEL);
    CHECK(!r.readable);
    path_resolve(&r, tree_slice("$/chain/n20"), SLICE("../n21"), PATH_TEXTUAL);
    CHECK(r.readable && r.links == 21);

    /* Long targets one in another: all of their text is kept. */
    char target[4096];
    memset(target, '/', sizeof(target));
    for (int i = 1; i <= 40; i++) {
        char name[32];
        size_t len = (size_t)snprintf(name, sizeof(name), "long%d", i - 1);
        target[0] = '.';
        memcpy(target + sizeof(target) - 1 - len, name, len);
        target[sizeof(target) - 1] = '\0';
        (void)snprintf(name, sizeof(name), "long%d", i);
        if (symlink(target, name) != 0) {
            return; /* this file system has no links of 4095 bytes */
        }
    }
    tree_dir("long0");
    BOTH("long40/x", "$/long0/x");
}

static void starts(void)
{
    path_resolve(&r, tree_slice("$/d/up"), SLICE("../d/f"), PATH_TEXTUAL);
    CHECK_BYTES(r.text, r.len, tree_text("$/d/d/f"));
    path_resolve(&r, tree_slice("$/d/up"), SLICE("../d/f"), PATH_KERNEL);
    CHECK_BYTES(r.text, r.len, tree_text("$/d/f"));
    path_resolve(&r, tree_slice("$/d/../out"), SLICE("../../x/v"), PATH_TEXTUAL);
    CHECK_BYTES(r.text, r.len, "/tmp/x/v");
    path_resolve(&r, tree_slice("$/absent"), SLICE("../d/f"), PATH_KERNEL);
    CHECK_BYTES(r.text, r.len, tree_text("$/d/f"));
    path_resolve(&r, tree_slice("$/loop"), SLICE("../d/f"), PATH_TEXTUAL);
    CHECK_BYTES(r.text, r.len, tree_text("$/d/f"));
    path_resolve(&r, tree_slice("$/loop"), SLICE("../d/f"), PATH_KERNEL);
    CHECK(!r.readable);
    /* A start that is no absolute path is good for absolute texts only. */
    path_resolve(&r, SLICE("d"), SLICE("f"), PATH_KERNEL);
    CHECK(!r.readable);
    path_resolve(&r, (struct slice){NULL, 0}, SLICE("f"), PATH_TEXTUAL);
    CHECK(!r.readable);
    path_resolve(&r, SLICE("d"), SLICE("/"), PATH_KERNEL);
    CHECK(r.readable);
    path_resolve(&r, SLICE("/a\0b"), SLICE("f"), PATH_KERNEL);
    CHECK(!r.readable);
    path_resolve(&r, SLICE("/a\0b"), SLICE("../f"), PATH_TEXTUAL);
    CHECK(!r.readable);
    path_resolve(&r, slice_of(tree_root), (struct slice){NULL, 0}, PATH_TEXTUAL);
    CHECK(r.readable);
}

static void steps(void)
{
    struct stat st;
    CHECK(resolve("d/up/v", PATH_KERNEL) != NULL);
    const struct path_step *last = &r.steps[r.step_count - 1];
    CHECK(r.exists && last->end == r.len && !last->directory);
    CHECK(stat("out/v", &st) == 0 && st.st_dev == last->dev && st.st_ino == last->ino);
    CHECK(stat("out", &st) == 0 && st.st_ino == last[-1].ino && last[-1].directory);
    CHECK(last[-1].end == strlen(tree_root) + 4);
    CHECK(stat("/", &st) == 0 && st.st_ino == r.steps[0].ino && r.steps[0].directory);

    CHECK(resolve("d/hard", PATH_KERNEL) != NULL && r.exists);
    size_t depth = r.step_count;
    CHECK(resolve("d/hard/below", PATH_KERNEL) != NULL && !r.exists && r.step_count == depth);
    CHECK(resolve("d/absent/x/../..", PATH_KERNEL) != NULL && r.exists && r.step_count == depth - 1);
    CHECK(r.steps[r.step_count - 1].directory);
    CHECK(resolve("d/up/v", PATH_KERNEL) != NULL && r.link_len == 0);
    CHECK(resolve("d/up/./", PATH_KERNEL) != NULL && r.link_len == strlen(tree_root) + 5);
    CHECK(resolve("d/up/./..", PATH_KERNEL) != NULL && r.link_len == 0);
    CHECK(resolve("to-up/.", PATH_KERNEL) != NULL && r.link_len == strlen(tree_root) + 6);
    path_resolve(&r, tree_slice("$/d/up"), SLICE("."), PATH_KERNEL);
    CHECK(r.readable && r.link_len == strlen(tree_root) + 5);
    path_resolve(&r, tree_slice("$/d/up"), SLICE("v"), PATH_KERNEL);
    CHECK(r.readable && r.link_len == 0);
    CHECK(path_is_here(SLICE("")) && path_is_here(SLICE("././/")) && !path_is_here(SLICE("..")) &&
          !path_is_here(SLICE("./a")));
    CHECK(resolve("d/up//", PATH_KERNEL) != NULL && r.link_len == strlen(tree_root) + 5);
    CHECK(memcmp(r.link + strlen(tree_root), "/d/up", 5) == 0);
    CHECK(resolve("dangling", PATH_KERNEL) != NULL && !r.exists && r.step_count == depth - 1);
    CHECK(resolve("/", PATH_KERNEL) != NULL && r.exists && r.step_count == 1);
}

/* Fills out with `len` bytes of a text that begins with the temporary directory and goes on with `part`s. */
static struct slice long_text(char *out, size_t len, const char *part)
{
    size_t at = strlen(strcpy(out, tree_root));
    while (at < len) {
        out[at] = part[(at - strlen(tree_root)) % strlen(part)];
        at++;
    }
    return (struct slice){out, len};
}

static void lengths(void)
{
    char text[8192];
    struct slice name = long_text(text, LIMIT_PATH_BYTES, "/absent");
    path_resolve(&r, SLICE("/"), name, PATH_KERNEL);
    CHECK(r.readable && r.len == LIMIT_PATH_BYTES && !r.exists);
    name = long_text(text, LIMIT_PATH_BYTES + 1, "/absent");
    path_resolve(&r, SLICE("/"), name, PATH_KERNEL);
    CHECK(!r.readable);
    /* As a string, whatever it comes to. */
    name = long_text(text, LIMIT_PATH_BYTES, "/.");
    path_resolve(&r, SLICE("/"), name, PATH_TEXTUAL);
    CHECK(r.readable && slice_is((struct slice){r.text, r.len}, tree_root));
    name = long_text(text, LIMIT_PATH_BYTES + 1, "/.");
    path_resolve(&r, SLICE("/"), name, PATH_TEXTUAL);
    CHECK(!r.readable);
    /* As a canonical path, though both parts are short enough. */
    name = long_text(text, 3000, "/absent");
    path_resolve(&r, name, (struct slice){text + 1, 2000}, PATH_TEXTUAL);
    CHECK(!r.readable);
    /* The start has its own limit, and what is removed from the text is never that long a path. */
    memset(text, 'x', 2000);
    memcpy(text + 2000, "/../y", 5);
    char start[LIMIT_PATH_BYTES + 1];
    path_resolve(&r, long_text(start, 3000, "/absent"), (struct slice){text, 2005}, PATH_TEXTUAL);
    CHECK(r.readable && r.len == 3002);
    path_resolve(&r, long_text(start, 3000, "/absent"), (struct slice){text, 2005}, PATH_KERNEL);
    CHECK(!r.readable);
    path_resolve(&r, long_text(start, LIMIT_PATH_BYTES, "/."), SLICE("d/f"), PATH_KERNEL);
    CHECK(r.readable && slice_is((struct slice){r.text, r.len}, tree_text("$/d/f")));
    path_resolve(&r, long_text(start, LIMIT_PATH_BYTES, "/."), SLICE("../f"), PATH_TEXTUAL);
    CHECK(r.readable && slice_is((struct slice){r.text, r.len}, "/tmp/f"));
    char longer[LIMIT_PATH_BYTES + 2];
    path_resolve(&r, long_text(longer, LIMIT_PATH_BYTES + 1, "/."), SLICE("d/f"), PATH_KERNEL);
    CHECK(!r.readable);

    /* One name that the kernel refuses; below what is absent it is never asked. */
    memset(text, 'n', 256);
    path_resolve(&r, slice_of(tree_root), (struct slice){text, 256}, PATH_KERNEL);
    CHECK(!r.readable);
    path_resolve(&r, slice_of(tree_root), (struct slice){text, 255}, PATH_KERNEL);
    CHECK(r.readable);
    path_resolve(&r, tree_slice("$/absent"), (struct slice){text, 256}, PATH_KERNEL);
    CHECK(r.readable);
    path_resolve(&r, tree_slice("$/d/f"), (struct slice){text, 256}, PATH_KERNEL);
    CHECK(r.readable);
    memcpy(text + 256, "/..", 3);
    path_resolve(&r, slice_of(tree_root), (struct slice){text, 259}, PATH_KERNEL);
    CHECK(!r.readable);
    path_resolve(&r, slice_of(tree_root), (struct slice){text, 259}, PATH_TEXTUAL);
    CHECK(r.readable);

    path_resolve(&r, slice_of(tree_root), SLICE("d/f\0"), PATH_KERNEL);
    CHECK(!r.readable);
    path_resolve(&r, slice_of(tree_root), SLICE("a\0b/../d"), PATH_TEXTUAL);
    CHECK(!r.readable);
}

/* As many components as a path can have, and a real one that is deeper than one system call could name. */
static void depths(void)
{
    char text[LIMIT_PATH_BYTES];
    for (size_t i = 0; i < LIMIT_PATH_BYTES; i++) {
        text[i] = i % 2 == 0 ? '/' : 'a';
    }
    path_resolve(&r, SLICE("/"), (struct slice){text, LIMIT_PATH_BYTES}, PATH_KERNEL);
    CHECK(r.readable && r.len == LIMIT_PATH_BYTES - 1);

    tree_dir("deep");
    tree_need(chdir("deep") == 0, "deep");
    size_t depth = 0, len = strlen(tree_root) + 5;
    while (len + 2 <= LIMIT_PATH_BYTES) {
        tree_dir("a");
        tree_need(chdir("a") == 0, "a");
        len += 2;
        depth++;
    }
    tree_need(chdir(tree_root) == 0, tree_root);
    char deep[LIMIT_PATH_BYTES + 1];
    size_t at = (size_t)(stpcpy(stpcpy(deep, tree_root), "/deep") - deep);
    for (size_t i = 0; i < depth; i++, at += 2) {
        memcpy(deep + at, "/a", 2);
    }
    path_resolve(&r, SLICE("/"), (struct slice){deep, at}, PATH_KERNEL);
    CHECK(r.readable && r.exists && r.len == at && r.step_count > depth);
    /* Down and up and down again, from a deep start. */
    struct slice start = {deep, len};
    path_resolve(&r, start, SLICE("../../../../../../a/a/../a/a/a/a/b"), PATH_KERNEL);
    CHECK(r.readable && !r.exists && r.len == len - 12 + 10 + 2);
    char up[LIMIT_PATH_BYTES];
    size_t count = LIMIT_PATH_BYTES / 3;
    for (size_t i = 0; i < count; i++) {
        memcpy(up + 3 * i, "../", 3);
    }
    path_resolve(&r, start, (struct slice){up, 3 * count}, PATH_KERNEL);
    CHECK(r.readable && r.exists && r.len == len - 2 * count);
    struct stat st;
    CHECK(stat(r.text, &st) == 0 && st.st_ino == r.steps[r.step_count - 1].ino);
}

static void refused(void)
{
    BOTH("/proc/self/root", NULL);
    BOTH("/proc/self/exe", NULL);
    BOTH("/proc/self", NULL);
    BOTH("/proc/thread-self/cwd/x", NULL);
    BOTH("/proc/1/cwd", NULL);
    BOTH("/proc/version", "/proc/version");
    BOTH("/proc/absent", "/proc/absent");
    EACH("/proc/self/..", "/proc", NULL);
    tree_link("proc", "/proc");
    tree_link("self", "/proc/self");
    BOTH("proc/version", "/proc/version");
    BOTH("proc/self/status", NULL);
    BOTH("self", NULL);
    tree_link("procession", "d");
    BOTH("procession/f", "$/d/f");

    if (geteuid() == 0) {
        return; /* nothing is closed to root */
    }
    tree_dir("closed");
    tree_dir("closed/in");
    tree_need(chmod("closed", 0) == 0, "chmod");
    BOTH("closed", "$/closed");
    BOTH("closed/in", NULL);
    BOTH("closed/absent", NULL);
    EACH("closed/in/../../d/f", "$/d/f", NULL);
}

static void comparing(void)
{
    CHECK(path_is_under(SLICE("/a"), SLICE("/")));
    CHECK(path_is_under(SLICE("/"), SLICE("/")));
    CHECK(path_is_under(SLICE("/a"), SLICE("/a")));
    CHECK(path_is_under(SLICE("/a/b"), SLICE("/a")));
    CHECK(!path_is_under(SLICE("/ab"), SLICE("/a")));
    CHECK(!path_is_under(SLICE("/a"), SLICE("/a/b")));
    CHECK(!path_is_under(SLICE("/"), SLICE("/a")));
    CHECK(!path_is_under(SLICE(""), SLICE("/")));

    CHECK(path_has_component(SLICE("/a/.env"), SLICE(".env")));
    CHECK(path_has_component(SLICE("/.git/config"), SLICE(".git")));
    CHECK(!path_has_component(SLICE("/a/.environment"), SLICE(".env")));
    CHECK(path_has_component(SLICE("/a/.env.local/x"), SLICE(".env*")));
    CHECK(path_has_component(SLICE("/a/.env"), SLICE(".env*")));
    CHECK(!path_has_component(SLICE("/a/x.env"), SLICE(".env*")));
    CHECK(path_has_component(SLICE("/a/key.pem"), SLICE("*.pem")));
    CHECK(path_has_component(SLICE("/a/.pem/b"), SLICE("*.pem")));
    CHECK(!path_has_component(SLICE("/a/key.pem2"), SLICE("*.pem")));
    CHECK(!path_has_component(SLICE("/"), SLICE("*a")));
    CHECK(!path_has_component(SLICE("/a/b"), SLICE("a/b")));
    CHECK(!path_has_component(SLICE("/ab"), SLICE("a")));
}

int main(void)
{
    tree_begin();
    build();
    plain();
    dotdot();
    links();
    link_counts();
    starts();
    steps();
    lengths();
    depths();
    refused();
    comparing();
    tree_end();
    return check_done();
}
