/* file: URIs, and the tables of prefixes. */
#include "check.h"
#include "path/internal.h"
#include "tree.h"

/* ---- URIs ---- */

static void uri(int line, struct slice text, enum path_uri kind, const char *want)
{
    struct buf path;
    buf_init(&path, 8192);
    enum path_uri got = path_decode_uri(text, &path);
    bool same = got == kind && buf_ok(&path) && slice_is(buf_slice_of(&path), want);
    if (!same) {
        printf("line %d: %.*s: kind %d, %.*s\n", line, SLICE_FMT(text), got, SLICE_FMT(buf_slice_of(&path)));
    }
    CHECK(same);
    CHECK(path_is_uri(text) == (kind != PATH_URI_NONE));
    buf_finish(&path);
}

#define URI(text, want)      uri(__LINE__, SLICE(text), PATH_URI_OK, want)
#define URI_UNREADABLE(text) uri(__LINE__, SLICE(text), PATH_URI_UNREADABLE, "")
#define URI_NONE(text)       uri(__LINE__, SLICE(text), PATH_URI_NONE, "")

static void uris(void)
{
    URI("file:/a", "/a");
    URI("file:///a", "/a");
    URI("file://localhost/a", "/a");
    URI("file:/", "/");
    URI("file:///", "/");
    URI("file://localhost/", "/");
    URI("FILE:///a", "/a");
    URI("fIlE:/a", "/a");
    URI("  \t\r\n\x01 file:///a", "/a");
    URI("file:////a", "//a");
    URI("file:///a/../b/./c//", "/a/../b/./c//");
    URI("file:///a%20b", "/a b");
    URI("file:///%2e%2E/%2Fetc", "/..//etc");
    URI("file:///a%2541", "/a%41");
    URI("file:///a+b", "/a+b");
    URI("file:///a%3Fb%23c%5Cd", "/a?b#c\\d");
    URI("file:///\xc3\xa4%C3%a4", "/\xc3\xa4\xc3\xa4");
    URI("file:///a b", "/a b");
    URI("file:///a:b@c", "/a:b@c");
    URI("file:///%01%ff", "/\x01\xff");

    /* Parsers of URLs pass over these. */
    URI_UNREADABLE("file:///a ");
    URI_UNREADABLE("file:///a\x01");
    URI_UNREADABLE("file:///\ta");
    URI_UNREADABLE("file:///a\n");
    URI_UNREADABLE("file:\r///a");
    URI_UNREADABLE("file:/\t/localhost/a");
    URI_UNREADABLE(" fi\tle:///a");
    URI_UNREADABLE("F\n\r\tILE\n:/a");
    URI("file:///a%20", "/a ");
    URI("file:///a%0A%09", "/a\n\t");

    URI_UNREADABLE("file:");
    URI_UNREADABLE("file:a");
    URI_UNREADABLE("file:./a");
    URI_UNREADABLE("file://");
    URI_UNREADABLE("file://localhost");
    URI_UNREADABLE("file://a");
    URI_UNREADABLE("file://host/a");
    URI_UNREADABLE("file://LOCALHOST/a");
    URI_UNREADABLE("file://Localhost/a");
    URI_UNREADABLE("file://localhost:80/a");
    URI_UNREADABLE("file://user@localhost/a");
    URI_UNREADABLE("file://127.0.0.1/a");
    URI_UNREADABLE("file://%6cocalhost/a");
    URI_UNREADABLE("file:\\a");
    URI_UNREADABLE("file:/a\\b");
    URI_UNREADABLE("file:///a?");
    URI_UNREADABLE("file:///a?b");
    URI_UNREADABLE("file:///a#b");
    URI_UNREADABLE("file:///a%");
    URI_UNREADABLE("file:///a%2");
    URI_UNREADABLE("file:///a%2g");
    URI_UNREADABLE("file:///a%g2");
    URI_UNREADABLE("file:///a% 2");
    URI_UNREADABLE("file:///a%00");
    URI_UNREADABLE("file:///a%00/../b");
    URI_UNREADABLE("file:///a\0");
    URI_UNREADABLE("\0file:///a");
    URI_UNREADABLE("file:%2Fa");
    URI_UNREADABLE("file: /a");

    URI_NONE("");
    URI_NONE(" ");
    URI_NONE("file");
    URI_NONE("file ");
    URI_NONE("files:///a");
    URI_NONE("http://a/file:///b");
    URI_NONE("/file:///a");
    URI("\xc2\xa0"
        "file:///a",
        "/a");
    URI_NONE("\"file:///a\"");

    /* Appended; and beyond the ceiling it is not. */
    struct buf path;
    buf_init(&path, 8);
    buf_text(&path, "x");
    CHECK(path_decode_uri(SLICE("file:///a%41"), &path) == PATH_URI_OK);
    CHECK_BYTES(path.ptr, path.len, "x/aA");
    CHECK(path_decode_uri(SLICE("file:///abcdef"), &path) == PATH_URI_UNREADABLE && !buf_ok(&path));
    buf_finish(&path);
}

/* ---- Prefixes ---- */

static struct path_prefixes *prefixes;
static struct path_base base;

static uint32_t add(const char *text, enum path_prefix_result want)
{
    uint32_t id = 0;
    CHECK(path_prefixes_add(prefixes, &base, tree_slice(text), &id, NULL) == want);
    return id;
}

static const char *above(const char *path)
{
    static char text[256];
    uint32_t ids[16];
    size_t count = path_prefixes_above(prefixes, tree_slice(path), ids, 16);
    text[0] = '\0';
    for (size_t i = 0; i < count && i < 16; i++) {
        (void)snprintf(text + strlen(text), 16, "%u ", ids[i]);
    }
    return text;
}

static bool mark(void *context, uint32_t id)
{
    ((char *)context)[id]++;
    return true;
}

/* Which prefixes are below, as a sum of 1 << id, each seen once. */
static unsigned below(const char *path)
{
    char seen[32] = {0};
    unsigned sum = 0;
    CHECK(path_prefixes_below(prefixes, tree_slice(path), mark, seen));
    for (unsigned i = 0; i < 32; i++) {
        CHECK(seen[i] <= 1);
        sum |= (unsigned)seen[i] << i;
    }
    return sum;
}

static void tables(void)
{
    static char home[PATH_MAX];
    (void)strcpy(home, tree_text("$/home"));
    base = (struct path_base){.cwd = slice_of(tree_root), .home = slice_of(home)};
    prefixes = path_prefixes_create();
    tree_need(prefixes != NULL, "prefixes");
    CHECK(add("$/d", PATH_PREFIX_OK) == 1);
    CHECK(add("$/d/e/f", PATH_PREFIX_OK) == 2);
    CHECK(add("d/", PATH_PREFIX_OK) == 1);
    CHECK(add("link", PATH_PREFIX_OK) == 1);
    CHECK(add("$/absent/x", PATH_PREFIX_OK) == 3);
    CHECK(add("~", PATH_PREFIX_OK) == 4);
    CHECK(add("~//new", PATH_PREFIX_OK) == 5);
    CHECK(add("$/~", PATH_PREFIX_OK) == 6);
    CHECK(add("/", PATH_PREFIX_OK) == 7);
    CHECK(add("$/hard", PATH_PREFIX_OK) == 8);
    CHECK(add("$/d/e", PATH_PREFIX_OK) == 9);
    CHECK(add("$/d/e", PATH_PREFIX_OK) == 9);
    CHECK(add("d/e/..", PATH_PREFIX_OK) == 1);
    CHECK(add("$/loop", PATH_PREFIX_UNREADABLE) == 0);
    CHECK(add("link/../d", PATH_PREFIX_OK) == 1);
    CHECK(add("loop/../d", PATH_PREFIX_UNREADABLE) == 0);
    struct buf two;
    uint32_t id = 0;
    buf_init(&two, 1000);
    CHECK(path_prefixes_add(prefixes, &base, SLICE("far/.."), &id, &two) == PATH_PREFIX_AMBIGUOUS && id == 0);
    CHECK_BYTES(two.ptr, two.len, tree_text("$ and $/d"));
    CHECK(path_prefixes_add(prefixes, &base, SLICE("far/.."), &id, NULL) == PATH_PREFIX_AMBIGUOUS);
    buf_finish(&two);
    char text[LIMIT_PATH_BYTES + 1];
    memset(text, '/', sizeof(text));
    text[0] = '~';
    CHECK(path_prefixes_add(prefixes, &base, (struct slice){text, sizeof(text)}, &id, NULL) ==
          PATH_PREFIX_UNREADABLE);
    CHECK(path_prefixes_add(prefixes, &base, (struct slice){text, sizeof(text) - 1}, &id, NULL) ==
              PATH_PREFIX_OK &&
          id == 4);

    CHECK(prefixes->count == 9 && slice_eq(prefixes->list[0].path, tree_slice("$/d")));
    CHECK(prefixes->list[0].exists && prefixes->list[0].directory && !prefixes->list[2].exists);
    CHECK(prefixes->list[7].exists && !prefixes->list[7].directory);
    CHECK(path_prefixes_seal(prefixes));

    CHECK(strcmp(above("/"), "7 ") == 0);
    CHECK(strcmp(above("/elsewhere/x"), "7 ") == 0);
    CHECK(strcmp(above("$/d/e/f/g/h"), "7 1 9 2 ") == 0);
    CHECK(strcmp(above("$/d"), "7 1 ") == 0);
    CHECK(strcmp(above("$/dd/e"), "7 ") == 0);
    CHECK(strcmp(above("$/absent"), "7 ") == 0);
    CHECK(strcmp(above("$/absent/x"), "7 3 ") == 0);
    uint32_t one[1];
    CHECK(path_prefixes_above(prefixes, tree_slice("$/d/e/f"), one, 1) == 4 && one[0] == 7);

    CHECK(below("/") == (0x3FE & ~(1u << 7)));
    CHECK(below("$/d") == (1u << 2 | 1u << 9));
    CHECK(below("$/d/e") == 1u << 2);
    CHECK(below("$/d/e/f") == 0 && below("$/other") == 0 && below("$/absent") == 1u << 3);

    path_prefixes_destroy(prefixes);
}

/* Against the plain definitions, over a few thousand prefixes. */
static void many_prefixes(void)
{
    prefixes = path_prefixes_create();
    tree_need(prefixes != NULL, "prefixes");
    char text[64];
    unsigned long seed = 1;
    for (int i = 0; i < 3000; i++) {
        size_t at = 0, parts = 1 + (size_t)i % 5;
        for (size_t j = 0; j < parts; j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            at += (size_t)snprintf(text + at, sizeof(text) - at, "/x%lu", (seed >> 33) % 7);
        }
        uint32_t id;
        CHECK(path_prefixes_add(prefixes, &base, (struct slice){text, at}, &id, NULL) == PATH_PREFIX_OK &&
              slice_is(prefixes->list[id - 1].path, text));
    }
    CHECK(path_prefixes_seal(prefixes));
    static char seen[4096];
    int wrong = 0;
    for (uint32_t i = 0; i < prefixes->count; i++) {
        struct slice path = prefixes->list[i].path;
        uint32_t ids[8];
        size_t count = path_prefixes_above(prefixes, path, ids, 8), at = 0;
        memset(seen, 0, sizeof(seen));
        CHECK(path_prefixes_below(prefixes, path, mark, seen));
        for (uint32_t j = 0; j < prefixes->count; j++) {
            struct slice other = prefixes->list[j].path;
            wrong += seen[j + 1] != (j != i && path_is_under(other, path));
            at += path_is_under(path, other);
        }
        wrong += at != count;
        for (size_t j = 0; j < count && j < 8; j++) {
            wrong += !path_is_under(path, prefixes->list[ids[j] - 1].path);
            wrong += j > 0 && prefixes->list[ids[j] - 1].path.len <= prefixes->list[ids[j - 1] - 1].path.len;
        }
    }
    CHECK(prefixes->count > 1000 && wrong == 0);
    path_prefixes_destroy(prefixes);
}

/* What stands at a prefix, as one text: the result, the path, and what it was at load. */
static void describe(struct path_prefixes *in, const char *text, struct buf *ret)
{
    uint32_t id = 0;
    buf_reset(ret);
    enum path_prefix_result result = path_prefixes_add(in, &base, slice_of(text), &id, ret);
    buf_printf(ret, " %d ", (int)result);
    if (result == PATH_PREFIX_OK) {
        const struct path_prefix *prefix = &in->list[id - 1];
        buf_slice(ret, prefix->path);
        buf_printf(ret, " %d %d %llu", prefix->exists, prefix->directory, (unsigned long long)prefix->ino);
    }
    CHECK(buf_ok(ret));
}

/* However many prefixes were resolved before it, each is resolved as if it were alone. */
static void together_as_alone(void)
{
    static const char *const fronts[] = {"$/", "/", "", "~/", "./", "$//", "$/far/../"};
    static const char *const parts[] = {"d",     "e",      "f", "link", "far", "loop", "home",
                                        "other", "absent", ".", "..",   "",    "x",    "back"};
    const char *const starts[] = {"$",        "$/d",        "$/link", "$/far/..",
                                  "$/absent", "$/home//./", "/",      "relative"};
    char cwd[PATH_MAX], home[PATH_MAX], text[512];
    struct buf one, other;
    unsigned long seed = 1;
    buf_init(&one, 65536);
    buf_init(&other, 65536);
    for (size_t s = 0; s < sizeof(starts) / sizeof(*starts); s++) {
        (void)strcpy(cwd, tree_text(starts[s]));
        (void)strcpy(home, tree_text(starts[(s + 3) % 7]));
        base = (struct path_base){.cwd = slice_of(cwd), .home = slice_of(home)};
        prefixes = path_prefixes_create();
        tree_need(prefixes != NULL, "prefixes");
        for (int i = 0; i < 1000; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            unsigned long random = seed >> 20;
            (void)strcpy(text, tree_text(fronts[random % 7]));
            for (size_t count = 1 + (random >> 8) % 5, j = 0; j < count; j++) {
                (void)strcat(text, j == 0 ? "" : "/");
                (void)strcat(text, parts[(random >> (12 + 4 * j)) % (sizeof(parts) / sizeof(*parts))]);
            }
            struct path_prefixes *alone = path_prefixes_create();
            tree_need(alone != NULL, "prefixes");
            describe(prefixes, text, &one);
            describe(alone, text, &other);
            if (!slice_eq(buf_slice_of(&one), buf_slice_of(&other))) {
                printf("'%s' from '%s': together %.*s, alone %.*s\n", text, cwd,
                       SLICE_FMT(buf_slice_of(&one)), SLICE_FMT(buf_slice_of(&other)));
                CHECK(false);
            }
            path_prefixes_destroy(alone);
        }
        path_prefixes_destroy(prefixes);
    }
    buf_finish(&one);
    buf_finish(&other);
}

int main(void)
{
    uris();
    tree_begin();
    tree_dir("d");
    tree_dir("d/e");
    tree_file("d/e/f");
    tree_dir("home");
    tree_file("other");
    tree_link("link", "d");
    tree_link("far", "d/e");
    tree_link("loop", "loop");
    tree_hard("hard", "d/e/f");
    tables();
    many_prefixes();
    tree_link("home/back", "../d");
    together_as_alone();
    path_prefixes_destroy(NULL);
    tree_end();
    return check_done();
}
