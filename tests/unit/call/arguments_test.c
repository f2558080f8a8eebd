/* The lists of arguments: which are paths, and which name whole trees. */
#include "call/internal.h"
#include "check.h"
#include "tree.h"

static struct argument_lists *arguments;

static struct argument_view view_of(const char *server, const char *tool)
{
    struct call_name name = {.tool = slice_of(tool)};
    if (server != NULL) {
        name.server = slice_of(server);
        name.has_server = true;
    }
    return argument_view_of(arguments, &name);
}

static bool is_path(const char *server, const char *tool, const char *argument)
{
    static struct name_cache cache;
    struct argument_view view = view_of(server, tool);
    bool built_in = (name_classes(&cache, slice_of(argument)) & NAME_PATH) != 0;
    return argument_is(&view, ARGUMENT_PATHS, slice_of(argument), built_in) >= ARGUMENT_CLAIM_WORKSPACE;
}

/* The tree arguments in their order, with a space behind each. */
static const char *trees(const char *server, const char *tool)
{
    static char text[256];
    struct argument_view view = view_of(server, tool);
    struct tree_position position = {0, 0};
    struct slice name;
    text[0] = '\0';
    while (argument_next_tree(&view, &position, &name)) {
        CHECK(argument_is_tree(&view, name) >= ARGUMENT_CLAIM_WORKSPACE);
        strncat(text, name.ptr, name.len);
        strcat(text, " ");
    }
    return text;
}

static void change(enum argument_list list, const char *key, const char *name)
{
    CHECK(argument_lists_change(arguments, list, slice_of(key), slice_of(name), ARGUMENT_SOURCE_OPERATOR));
}

static void built_in_arguments(void)
{
    static const char *const paths[] = {"path",        "paths",    "file",          "files",    "file_path",
                                        "filePath",    "filename", "notebook_path", "source",   "directory",
                                        "destination", "src",      "dst",           "old_path", "new_path",
                                        "dir",         "folder",   "FILEPATH",      "Path",     "sRc"};
    static const char *const others[] = {"",       "pat", "pathx", "text", "content", "file-path",
                                         "paths ", "cwd", "url",   "URL",  "name",    "notebook_paths"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        CHECK(is_path(NULL, "t", paths[i]));
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        CHECK(!is_path("s", "t", others[i]));
    }
    CHECK(is_path(NULL, "t", "uri") && is_path(NULL, "t", "Uri"));
    CHECK_BYTES(trees(NULL, "t"), strlen(trees(NULL, "t")), "");
    static const char *const tree_tools[] = {"directory_tree", "search_files", "Grep", "Glob"};
    for (size_t i = 0; i < sizeof(tree_tools) / sizeof(*tree_tools); i++) {
        CHECK(strcmp(trees("s", tree_tools[i]), "path ") == 0);
    }
    CHECK(strcmp(trees(NULL, "grep"), "") == 0);
}

static void changed_arguments(void)
{
    change(ARGUMENT_PATHS, "t", "Target");
    CHECK(is_path(NULL, "t", "target") && is_path("s", "t", "TARGET"));
    CHECK(!is_path(NULL, "u", "target") && is_path(NULL, "t", "path"));
    change(ARGUMENT_PATHS, "t", "-source");
    CHECK(!is_path(NULL, "t", "SOURCE") && is_path(NULL, "u", "source"));
    /* The last one of a key stands. */
    change(ARGUMENT_PATHS, "t", "source");
    CHECK(is_path(NULL, "t", "source"));
    change(ARGUMENT_PATHS, "t", "-Source");
    CHECK(!is_path(NULL, "t", "source"));
    /* `*`, then the tool, then the server's tool, whatever the order of loading. */
    change(ARGUMENT_PATHS, "s/t", "source");
    CHECK(is_path("s", "t", "source") && !is_path("r", "t", "source"));
    change(ARGUMENT_PATHS, "*", "-target");
    change(ARGUMENT_PATHS, "*", "where");
    CHECK(is_path("s", "t", "target") && !is_path(NULL, "u", "target"));
    CHECK(is_path("x", "y", "where"));
    change(ARGUMENT_PATHS, "y", "-where");
    CHECK(!is_path("x", "y", "where"));
    /* A key with a slash: the server's tool, and a tool of that name. */
    change(ARGUMENT_PATHS, "a/b", "both");
    CHECK(is_path("a", "b", "both") && is_path(NULL, "a/b", "both"));
    CHECK(is_path("z", "a/b", "both") && !is_path(NULL, "b", "both"));
    CHECK(!is_path("a/", "b", "both") && !is_path("ab", "b", "both"));
    /* A server's come between those of `*` and the tool's. */
    change(ARGUMENT_PATHS, "v/*", "wide");
    change(ARGUMENT_PATHS, "v/*", "-where");
    CHECK(is_path("v", "any", "wide") && !is_path("v", "any", "where") && is_path("w", "any", "where"));
    CHECK(!is_path("w", "any", "wide") && !is_path(NULL, "any", "wide"));
    change(ARGUMENT_PATHS, "z", "-wide");
    CHECK(!is_path("v", "z", "wide"));
    CHECK(is_path(NULL, "t", "pa\xE2\x84\xAAth") == is_path(NULL, "t", "pakth"));
    CHECK(is_path(NULL, "t", "\xC5\xBFrc"));
    change(ARGUMENT_PATHS, "t", "-uri");
    CHECK(!is_path(NULL, "t", "uri"));
    /* One list says nothing about the other. */
    CHECK(strcmp(trees("s", "t"), "") == 0);

    change(ARGUMENT_TREES, "Grep", "also");
    change(ARGUMENT_TREES, "*", "Everywhere");
    change(ARGUMENT_TREES, "*", "also");
    change(ARGUMENT_TREES, "s/Grep", "last");
    change(ARGUMENT_TREES, "s/Grep", "ALSO");
    CHECK(strcmp(trees(NULL, "Grep"), "path Everywhere also ") == 0);
    CHECK(strcmp(trees("s", "Grep"), "path Everywhere also last ") == 0);
    CHECK(strcmp(trees("s", "t"), "Everywhere also ") == 0);
    change(ARGUMENT_TREES, "s/Grep", "-Path");
    change(ARGUMENT_TREES, "s/Grep", "-everywhere");
    CHECK(strcmp(trees("s", "Grep"), "also last ") == 0);
    change(ARGUMENT_TREES, "s/Grep", "path");
    CHECK(strcmp(trees("s", "Grep"), "path also last ") == 0);
    CHECK(!is_path("s", "Grep", "everywhere"));

    for (int i = 0; i < 1000; i++) {
        char key[32], name[32];
        (void)snprintf(key, sizeof(key), "tool%d", i % 100);
        (void)snprintf(name, sizeof(name), "%sname%d", i % 3 == 0 ? "-" : "", i);
        change(ARGUMENT_PATHS, key, name);
    }
    CHECK(is_path("s", "tool7", "NAME107") && !is_path("s", "tool7", "name207"));
    CHECK(!is_path("s", "tool8", "name107") && is_path("s", "t", "target"));

    struct argument_view a = view_of("s", "u"), b = view_of("r", "v"), c = view_of("s", "t");
    CHECK(argument_views_alike(&a, &b) && !argument_views_alike(&a, &c));
}

int main(void)
{
    arguments = argument_lists_create();
    tree_need(arguments != NULL, "arguments");
    built_in_arguments();
    changed_arguments();
    argument_lists_destroy(arguments);
    argument_lists_destroy(NULL);
    return check_done();
}
