/* A call to its readings: which arguments, in which order, from where. Readings are compared as one text:
 * paths with the temporary directory as `$`, `?` for unreadable, `-` for the reading without a path; `=`
 * before a spelling of the same file, `<` before a prefix in a tree. */
#include <sched.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "call/readings.h"
#include "check.h"
#include "tree.h"

static struct readings readings;
static struct json_doc doc;
static struct argument_lists *arguments;
static struct path_prefixes *prefixes;
static struct path_base base;
static char home[PATH_MAX], roots_text[2][PATH_MAX];
static struct slice roots[2];
static struct call_name names[3] = {{.tool = {"t", 1}}};
static size_t name_count = 1;
static char input_text[LIMIT_CALL_PATHS * 64];

static enum readings_result make(const char *input, unsigned flags)
{
    const struct json_options options = {.max_depth = 100, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    bool parsed = json_parse(&doc, slice_of(input), &options, &error);
    CHECK(parsed);
    struct call call = {.names = names, .name_count = name_count, .doc = &doc, .input = json_root(&doc)};
    return parsed ? readings_make(&readings, &call, &base, arguments, prefixes, NULL, flags)
                  : READINGS_NO_MEMORY;
}

static void append_reading(char *text, size_t size, const struct reading *reading)
{
    size_t at = strlen(text), root = strlen(tree_root);
    char *to = text + at;
    size -= at;
    const char *space = at == 0 ? "" : " ";
    if (reading->kind != READING_PATH) {
        (void)snprintf(to, size, "%s%s", space, reading->kind == READING_UNREADABLE ? "?" : "-");
        return;
    }
    const char *via = reading->via == READING_VIA_SAME_FILE ? "="
                      : reading->via == READING_VIA_TREE    ? "<"
                                                            : "";
    struct slice path = reading->path;
    bool inside = path_is_under(path, slice_of(tree_root));
    path = inside ? slice_from(path, root) : path;
    (void)snprintf(to, size, "%s%s%s%.*s", space, via, inside ? "$" : "", SLICE_FMT(path));
}

static void check_readings(int line, const char *input, const char *want)
{
    static char got[1 << 16];
    got[0] = '\0';
    enum readings_result result = make(tree_text(input), 0);
    for (size_t i = 0; i < readings.count; i++) {
        append_reading(got, sizeof(got), &readings.list[i]);
    }
    if (result != READINGS_OK || strcmp(got, want) != 0) {
        printf("line %d: %s\n    want %s\n    got  %s (%d)\n", line, input, want, got, result);
    }
    CHECK(result == READINGS_OK && strcmp(got, want) == 0);
}
#define READ(input, want) check_readings(__LINE__, input, want)

/* Starts a policy without prefixes and changes. */
static void policy(void)
{
    argument_lists_destroy(arguments);
    path_prefixes_destroy(prefixes);
    arguments = argument_lists_create();
    prefixes = path_prefixes_create();
    tree_need(arguments != NULL && prefixes != NULL, "policy");
    names[0] = (struct call_name){.tool = SLICE("t")};
    name_count = 1;
    base.root_count = 0;
}

static void prefix(const char *text)
{
    uint32_t id;
    CHECK(path_prefixes_add(prefixes, &base, tree_slice(text), &id, NULL) == PATH_PREFIX_OK);
}

static void seal(void)
{
    CHECK(path_prefixes_seal(prefixes));
}

static void change(enum argument_list list, const char *key, const char *name)
{
    CHECK(argument_lists_change(arguments, list, slice_of(key), slice_of(name), ARGUMENT_SOURCE_OPERATOR));
}

static void which_arguments(void)
{
    policy();
    seal();
    READ("{}", "-");
    READ("{\"text\":\"$/a\",\"n\":1,\"b\":true}", "-");
    READ("{\"path\":\"$/a\"}", "$/a");
    READ("{\"PATH\":\"a\"}", "$/a");
    READ("{\"path\":\"a\",\"file\":\"b\"}", "$/a $/b");
    READ("{\"file\":\"b\",\"path\":\"a\"}", "$/b $/a");
    READ("{\"path\":\"a\",\"file\":\"./a\"}", "$/a");
    READ("{\"paths\":[\"a\",[\"b\"],[],\"c\"]}", "$/a $/b $/c");
    READ("{\"edits\":[{\"path\":\"a\",\"text\":\"x\"},{\"x\":{\"Src\":\"b\"}}],\"dst\":\"c\"}",
         "$/a $/b $/c");
    /* An object is walked for its own path arguments, in an array too. */
    READ("{\"path\":{\"name\":\"a\",\"file\":\"b\"}}", "$/b");
    READ("{\"path\":[\"a\",{\"name\":\"x\",\"file\":\"b\"},\"c\"]}", "$/a $/b $/c");
    READ("{\"path\":{}}", "-");
    READ("{\"path\":[]}", "-");
    READ("{\"path\":null}", "-");
    READ("{\"path\":[null,\"a\"]}", "$/a");
    READ("{\"path\":7}", "?");
    READ("{\"path\":true}", "?");
    READ("{\"path\":[\"a\",false,\"b\",1.5]}", "$/a ? $/b");
    READ("{\"path\":\"\"}", "$");
    READ("{\"path\":\".\"}", "$");
    READ("{\"path\":\"a\\u0000b\"}", "?");
    change(ARGUMENT_PATHS, "t", "target");
    change(ARGUMENT_PATHS, "*", "-file");
    READ("{\"Target\":\"a\",\"file\":\"b\",\"x\":{\"target\":\"c\"}}", "$/a $/c");
    names[0] = (struct call_name){.tool = SLICE("u")};
    READ("{\"Target\":\"a\",\"file\":\"b\"}", "-");
}

static void uris(void)
{
    policy();
    seal();
    READ("{\"url\":\"file://$/a\"}", "$/a");
    READ("{\"x\":[{\"y\":\" FILE:$/a\"}]}", "$/a");
    READ("{\"url\":\"file://host/a\"}", "?");
    READ("{\"url\":\"https://host/a\",\"uri\":\"https://host/a\"}", "-");
    READ("{\"uri\":\"a\"}", "-");
    READ("{\"uri\":7}", "?");
    READ("{\"uri\":[\"a\",true]}", "?");
    /* As a URI, then as a plain name. */
    READ("{\"path\":\"file:///b\"}", "/b $/file:/b");
    READ("{\"uri\":\"file:///b%20c\"}", "/b c $/file:/b%20c");
    READ("{\"path\":\"file:a\"}", "? $/file:a");
    READ("{\"path\":\"file:///a%00\"}", "? $/file:/a%00");
    READ("{\"url\":\"file:///a/%2e%2e/b\"}", "/b");
    READ("{\"url\":\"file:/~/b\"}", "/~/b");
    change(ARGUMENT_PATHS, "t", "-uri");
    READ("{\"uri\":\"file:///b\"}", "/b");
    READ("{\"uri\":7}", "-");
}

static void array_texts(void)
{
    policy();
    seal();
    READ("{\"paths\":\"[\\\"a\\\",\\\"b\\\"]\"}", "$/[\"a\",\"b\"] $/a $/b");
    READ("{\"paths\":\" [\\\"/a\\\"]\\n\"}", "$/ [\"/a\"]\n /a");
    READ("{\"paths\":\"[]\"}", "$/[]");
    READ("{\"paths\":\"[\\\"a\\\",1]\"}", "$/[\"a\",1]");
    READ("{\"paths\":\"[\\\"a\\\"\"}", "$/[\"a\"");
    READ("{\"paths\":\"[[\\\"a\\\"]]\"}", "$/[[\"a\"]]");
    READ("{\"paths\":\"[\\\"a\\\"] x\"}", "$/[\"a\"] x");
    /* Elsewhere only URIs count. */
    READ("{\"text\":\"[\\\"a\\\"]\"}", "-");
    READ("{\"text\":\"[\\\"a\\\",\\\"file:///b\\\"]\"}", "/b");
    READ("{\"text\":\"[\\\"[\\\\\\\"file:///b\\\\\\\"]\\\"]\"}", "/b");
    READ("{\"paths\":\"[\\\"[\\\\\\\"b\\\\\\\"]\\\",\\\"c\\\"]\"}",
         "$/[\"[\\\"b\\\"]\",\"c\"] $/[\"b\"] $/b $/c");
    READ("{\"uri\":\"[\\\"a\\\",\\\"file:///b\\\"]\"}", "/b $/file:/b");
    READ("{\"paths\":\"[\\\"~\\\"]\"}", "$/[\"~\"] $/~ $/home");
}

static void forms(void)
{
    policy();
    seal();
    READ("{\"path\":\"~/x\"}", "$/~/x $/home/x");
    READ("{\"path\":\"~\"}", "$/~ $/home");
    READ("{\"path\":\"~//x\"}", "$/~/x $/home/x");
    READ("{\"path\":\"~x\"}", "$/~x");
    READ("{\"path\":\"~/..\"}", "$");
    READ("{\"path\":\"ws/up/../b\"}", "$/ws/b $/b");
    READ("{\"path\":\"ws/loop/../b\"}", "$/ws/b ?");
    READ("{\"path\":\"ws/loop\"}", "?");
    READ("{\"path\":[\"ws/loop\",\"a\",\"ws/loop/x\",7]}", "? $/a");
    READ("{\"path\":\"$/ws/up/../b\"}", "$/ws/b $/b");
    READ("{\"path\":\"../x\"}", "/tmp/x");
    CHECK(readings.count == 1 && readings.list[0].mode == PATH_TEXTUAL);
    READ("{\"path\":\"~/../ws/up/../b\"}", "$/ws/b $/b");

    READ("{\"source\":\"x\",\"path\":\"~/ws/up/../b\"}", "$/x $/~/ws/b $/home/ws/b");
    CHECK(readings.list[1].form == READING_FORM_WRITTEN && readings.list[2].form == READING_FORM_HOME);
    CHECK(readings.list[1].value == 4 && slice_is(readings.list[1].start, tree_root));
    CHECK(readings.list[2].start.len == 0);
    READ("{\"path\":\"ws/up/../b\"}", "$/ws/b $/b");
    CHECK(readings.list[0].mode == PATH_TEXTUAL && readings.list[1].mode == PATH_KERNEL);
    READ("{\"u\":\"file:///x\"}", "/x");
    CHECK(readings.list[0].form == READING_FORM_URI && readings.list[0].start.len == 0);

    struct slice kept = base.home;
    base.home = (struct slice){NULL, 0};
    READ("{\"path\":\"~/x\"}", "$/~/x ?");
    base.home = SLICE("relative");
    READ("{\"path\":\"~/x\"}", "$/~/x ?");
    base.home = kept;
    kept = base.cwd;
    base.cwd = SLICE("relative");
    READ("{\"path\":\"x\"}", "?");
    READ("{\"path\":\"../x\"}", "?");
    READ("{\"path\":\"/x\"}", "/x");
    base.cwd = kept;
}

static void starts(void)
{
    policy();
    seal();
    base.root_count = 2;
    READ("{\"path\":\"x\"}", "$/x $/ws/x $/out/x");
    READ("{\"path\":\"$/x\"}", "$/x");
    READ("{\"path\":\"\"}", "$ $/ws $/out");
    READ("{\"path\":\"up/../x\"}", "$/x $/ws/x $/out/x");
    READ("{\"path\":\"~\"}", "$/~ $/ws/~ $/out/~ $/home");
    /* Bases, in the order in which they are named; a relative one from each other start. */
    READ("{\"path\":\"x\",\"cwd\":\"/c\"}", "$/x $/ws/x $/out/x /c/x /c");
    base.root_count = 1;
    READ("{\"path\":\"x\",\"workdir\":\"w\",\"cwd\":\"/c\",\"repo_path\":\"/r\"}",
         "$/x $/ws/x /c/x $/w/x $/ws/w/x /r/x $/w $/ws/w /c/w $/w/w $/ws/w/w /r/w /c /r");
    base.root_count = 0;
    READ("{\"path\":\"../x\",\"cwd\":\"ws/up\"}", "/tmp/x $/ws/x $/x $/out $/out/ws/up");
    READ("{\"path\":\"x\",\"cwd\":\"ws/up\"}", "$/x $/out/x $/out $/out/ws/up");
    READ("{\"path\":\"x\",\"cwd\":\"\"}", "$/x $");
    READ("{\"path\":\"x\",\"cwd\":\"/c\\u0000\"}", "$/x ?");
    READ("{\"path\":\"x\",\"cwd\":7}", "$/x ?");
    READ("{\"path\":\"x\",\"cwd\":null}", "$/x");
    READ("{\"path\":\"x\",\"cwd\":[\"/c\"]}", "$/x /c");
    READ("{\"path\":\"x\",\"cwd\":\"~\"}", "$/x $/~/x $/~ $/~/~ $/home");
    READ("{\"path\":\"x\",\"CWD\":\"/c\"}", "$/x /c/x /c");
    READ("{\"path\":\"x\",\"working_dir\":\"/d\",\"dir_path\":\"/e\",\"workingDirectory\":\"/c\"}",
         "$/x /c/x /d/x /e/x /d /e /c");
    READ("{\"path\":\"x\",\"o\":{\"cwd\":\"/c\"}}", "$/x");
    READ("{\"path\":\"x\",\"cwd\":\"ws/loop\"}", "$/x ?");
    READ("{\"path\":\"../x\",\"cwd\":\"ws/loop\"}", "/tmp/x $/ws/x ?");
}

static void bases_alone(void)
{
    policy();
    seal();
    READ("{\"cwd\":\"/c\"}", "/c -");
    READ("{\"cwd\":\"/c\",\"text\":\"x\"}", "/c -");
    READ("{\"cwd\":7}", "? -");
    READ("{\"cwd\":[\"/c\"]}", "/c -");
    READ("{\"cwd\":null}", "-");
    READ("{\"cwd\":{\"path\":\"/c\"}}", "/c -");
    READ("{\"cwd\":\"/c\",\"path\":null}", "/c -");
    READ("{\"cwd\":\"/c\",\"path\":7}", "/c ?");
    READ("{\"cwd\":\"/c\",\"url\":\"file:///x\"}", "/c /x");
    READ("{\"cwd\":\"file:///c\"}", "/c $/file:/c $/file:/c/file:/c -");
}

static void trees(void)
{
    policy();
    prefix("$/ws/secret");
    prefix("$/out");
    prefix("$/ws/b/c");
    prefix("$/ws");
    prefix("$/ws/absent");
    seal();
    READ("{\"path\":\"ws\"}", "$/ws");
    names[0] = (struct call_name){.tool = SLICE("Grep")};
    READ("{\"path\":\"ws\"}", "$/ws <$/ws/secret <$/ws/b/c <$/ws/absent");
    READ("{\"Path\":\"ws/b\"}", "$/ws/b <$/ws/b/c");
    READ("{\"path\":\"ws/secret\"}", "$/ws/secret");
    READ("{\"path\":null,\"file\":\"x\"}", "$ <$/ws/secret <$/out <$/ws/b/c <$/ws <$/ws/absent $/x");
    READ("{\"file\":\"x\"}", "$/x $ <$/ws/secret <$/out <$/ws/b/c <$/ws <$/ws/absent");
    READ("{}", "$ <$/ws/secret <$/out <$/ws/b/c <$/ws <$/ws/absent");
    READ("{\"cwd\":\"/c\"}", "/c $ <$/ws/secret <$/out <$/ws/b/c <$/ws <$/ws/absent");
    READ("{\"path\":[\"ws/b\",\"out\"]}", "$/ws/b <$/ws/b/c $/out");
    READ("{\"path\":[]}", "-");
    READ("{\"path\":[null]}", "-");
    READ("{\"path\":{\"file\":\"ws/b\",\"name\":\"ws\"}}", "$/ws/b <$/ws/b/c");
    READ("{\"path\":\"[\\\"ws/b\\\"]\"}", "$/[\"ws/b\"] $/ws/b <$/ws/b/c");
    READ("{\"path\":{\"x\":\"file:$/ws/b\"}}", "$/ws/b <$/ws/b/c");
    READ("{\"path\":7}", "?");
    READ("{\"o\":{\"path\":\"ws/b\"},\"path\":\"out\"}", "$/ws/b $/out");
    /* What was met as a plain path before is a tree all the same. */
    READ("{\"file\":\"ws/b\",\"path\":\"ws/b\"}", "$/ws/b <$/ws/b/c");
    READ("{\"path\":\"ws/b\",\"source\":\"ws/b/c\",\"x\":{\"path\":\"ws/b\"}}", "$/ws/b <$/ws/b/c");
    READ("{\"path\":\"ws/up/../ws/b\"}", "$/ws/ws/b $/ws/b <$/ws/b/c");
    base.root_count = 2;
    READ("{\"path\":\"b\"}", "$/b $/ws/b <$/ws/b/c $/out/b");
    base.root_count = 0;

    change(ARGUMENT_TREES, "Grep", "where");
    change(ARGUMENT_TREES, "*", "-path");
    READ("{\"path\":\"ws\",\"where\":\"out\"}", "$/ws $/out");
    READ("{\"path\":\"ws/b\",\"WHERE\":\"ws/b\"}", "$/ws/b <$/ws/b/c");
    change(ARGUMENT_PATHS, "Grep", "-where");
    READ("{\"where\":\"ws/b\"}", "$/ws/b <$/ws/b/c");
    change(ARGUMENT_TREES, "Grep", "uri");
    READ("{\"where\":\"x\",\"uri\":\"ws/b\"}", "$/x");
    READ("{\"where\":\"x\",\"uri\":null}", "$/x $ <$/ws/secret <$/out <$/ws/b/c <$/ws <$/ws/absent");
    change(ARGUMENT_TREES, "Grep", "cwd");
    change(ARGUMENT_TREES, "Grep", "-uri");
    READ("{\"where\":null,\"cwd\":\"$/ws/b\"}", "$ <$/ws/secret <$/out <$/ws/b/c <$/ws <$/ws/absent $/ws/b");
}

static void same_files(void)
{
    policy();
    prefix("$/ws/secret/a");
    prefix("$/later");
    prefix("$/ws/c");
    prefix("$/other");
    seal();
    READ("{\"path\":\"hard\"}", "$/hard =$/ws/secret/a");
    READ("{\"path\":\"hard/below\"}", "$/hard/below =$/ws/secret/a/below");
    READ("{\"path\":[\"ws/secret/a\",\"hard\"]}", "$/ws/secret/a $/hard");
    READ("{\"path\":\"x\"}", "$/x");
    /* Replaced since the load, or made since: a second name of what is there now. */
    tree_file("new");
    tree_hard("second", "new");
    READ("{\"path\":\"new\"}", "$/new");
    tree_need(rename("second", "other") == 0, "rename");
    READ("{\"path\":\"new\"}", "$/new =$/other");
    tree_hard("later", "new");
    READ("{\"path\":\"new\"}", "$/new =$/later =$/other");
    READ("{\"path\":[\"x\",\"later\"]}", "$/x $/later =$/other");
    tree_need(unlink("later") == 0 && symlink("new", "later") == 0, "later");
    READ("{\"path\":\"new\"}", "$/new =$/later =$/other"); /* it was, at the look before */
    tree_need(unlink("later") == 0, "later");

    /* A directory that was moved is still the one that the rule meant. */
    policy();
    prefix("$/ws/b");
    prefix("$/ws/b/c/d");
    prefix("$/moved/c/e");
    seal();
    tree_need(rename("ws/b", "moved") == 0, "rename");
    READ("{\"path\":\"moved\"}", "$/moved =$/ws/b");
    READ("{\"path\":\"moved/c/new\"}", "$/moved/c/new =$/ws/b/c/new");
    names[0] = (struct call_name){.tool = SLICE("Glob")};
    READ("{\"path\":\"moved\"}", "$/moved =$/ws/b <$/ws/b/c/d <$/moved/c/e");
    READ("{\"path\":\"moved/c\"}", "$/moved/c =$/ws/b/c <$/ws/b/c/d <$/moved/c/e");
    READ("{\"file\":\"moved\",\"path\":\"moved\"}", "$/moved =$/ws/b <$/ws/b/c/d <$/moved/c/e");
    tree_need(rename("moved", "ws/b") == 0, "rename");

    /* A spelling that no path can have. */
    policy();
    char name[256], text[LIMIT_PATH_BYTES + 1];
    memset(name, 'n', 255);
    name[255] = '\0';
    size_t at = 0;
    for (int i = 0; i < 12; i++) {
        tree_need(mkdir(name, 0700) == 0 && chdir(name) == 0, name);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i == 0 ? "$/" : "/", name);
    }
    tree_need(chdir(tree_root) == 0, tree_root);
    prefix(text);
    seal();
    READ("{}", "-");
    char from[PATH_MAX], input[LIMIT_PATH_BYTES];
    (void)strcpy(from, tree_text(text));
    tree_need(rename(from, "short") == 0, "rename");
    for (size_t i = 0; i < sizeof(input); i++) {
        input[i] = i % 2 == 0 ? 'x' : '/';
    }
    memcpy(input, "{\"path\":\"short/", 15);
    memcpy(input + 1500, "\"}", 3);
    CHECK(make(input, 0) == READINGS_OK && readings.count == 2 &&
          readings.list[1].kind == READING_UNREADABLE);
    CHECK(make("{\"path\":\"short\"}", 0) == READINGS_OK && readings.count == 2);
    CHECK(slice_is(readings.list[1].path, from) && readings.list[1].via == READING_VIA_SAME_FILE);
}

static void in_mounts(void)
{
    policy();
    prefix("$/ws/secret");
    prefix("/");
    seal();
    CHECK(mount("ws/secret", "bound", "none", MS_BIND, NULL) == 0);
    READ("{\"path\":\"bound/a\"}", "$/bound/a =$/ws/secret/a");
    READ("{\"path\":\"bound\"}", "$/bound =$/ws/secret");
    CHECK(umount("bound") == 0 && mount("/", "bound", "none", MS_BIND | MS_REC, NULL) == 0);
    READ("{\"path\":\"bound\"}", "$/bound =/");
    READ("{\"path\":\"bound/nowhere/x\"}", "$/bound/nowhere/x =/nowhere/x");
}

/* In a process with mounts of its own, so that none outlives it; where that is not allowed, not at all. */
static void bind_mounts(void)
{
    tree_dir("bound");
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) == 0 &&
            mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0) {
            in_mounts();
        }
        (void)fflush(stdout);
        _exit(check_failed != 0);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void several_names(void)
{
    policy();
    prefix("$/ws/secret");
    seal();
    names[0] = (struct call_name){.tool = SLICE("a__b")};
    names[1] = (struct call_name){.server = SLICE("a"), .has_server = true, .tool = SLICE("b")};
    names[2] = (struct call_name){.server = SLICE("a"), .has_server = true, .tool = SLICE("Grep")};
    name_count = 3;
    READ("{\"path\":\"ws\"}", "$/ws $/ws $/ws <$/ws/secret");
    CHECK(readings.list[0].name == 0 && readings.list[1].name == 1 && readings.list[2].name == 2);
    READ("{}", "- - $ <$/ws/secret");
    READ("{\"path\":7}", "? ? ?");
    change(ARGUMENT_PATHS, "a/b", "-path");
    READ("{\"path\":\"ws\"}", "$/ws - $/ws <$/ws/secret");
}

static void switches(void)
{
    policy();
    prefix("$/ws/secret");
    seal();
    names[0] = (struct call_name){.tool = SLICE("Grep")};
    names[1] = (struct call_name){.tool = SLICE("x")};
    name_count = 2;
    const char *input = "{\"path\":[\"a\",\"b\"],\"x\":\"[\\\"file:///y\\\"]\",\"file\":7}";
    CHECK(make(input, READINGS_REMOTE) == READINGS_OK && readings.count == 2 && readings.strings == 0);
    CHECK(readings.list[0].kind == READING_NO_PATH && readings.list[1].kind == READING_NO_PATH);
    CHECK(readings.list[1].name == 1);
    CHECK(make(input, READINGS_NO_RESOLVE) == READINGS_OK && readings.count == 2 && readings.strings == 3);
    CHECK(readings.list[0].kind == READING_NO_PATH && readings.list[1].kind == READING_NO_PATH);

    struct call unknown = {.names = names, .name_count = 2, .doc = NULL, .input = NULL};
    CHECK(readings_make(&readings, &unknown, &base, arguments, prefixes, NULL, 0) == READINGS_OK);
    CHECK(readings.count == 2 && readings.list[0].kind == READING_NO_PATH);
}

/* An input with `count` elements `text` under `name`. */
static const char *many(const char *name, const char *text, size_t count)
{
    char *at = input_text + sprintf(input_text, "{\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(stpcpy(at, i == 0 ? "" : ","), text);
    }
    (void)stpcpy(at, "]}");
    return input_text;
}

static void limits(void)
{
    policy();
    seal();
    CHECK(make(many("path", "\"/a\"", LIMIT_CALL_PATHS), 0) == READINGS_OK && readings.count == 1);
    CHECK(readings.strings == LIMIT_CALL_PATHS);
    CHECK(make(many("path", "\"/a\"", LIMIT_CALL_PATHS + 1), 0) == READINGS_OVER_LIMIT &&
          readings.count == 0);
    CHECK(make(many("path", "\"/a\"", LIMIT_CALL_PATHS + 1), READINGS_NO_RESOLVE) == READINGS_OVER_LIMIT);
    CHECK(make(many("path", "\"/a\"", LIMIT_CALL_PATHS + 1), READINGS_REMOTE) == READINGS_OK);
    CHECK(make(many("text", "\"/a\"", LIMIT_CALL_PATHS + 1), 0) == READINGS_OK && readings.strings == 0);
    CHECK(make(many("text", "\"file:/a\"", LIMIT_CALL_PATHS), 0) == READINGS_OK);
    CHECK(make(many("text", "\"file:/a\"", LIMIT_CALL_PATHS + 1), 0) == READINGS_OVER_LIMIT);
    CHECK(make(many("uri", "\"a\"", LIMIT_CALL_PATHS + 1), 0) == READINGS_OK);
    CHECK(make(many("cwd", "\"/a\"", LIMIT_CALL_PATHS + 1), 0) == READINGS_OVER_LIMIT);
    CHECK(make(many("path", "7", LIMIT_CALL_PATHS + 1), 0) == READINGS_OK && readings.count == 1);
    /* The text of an array is one string, its elements are others. */
    CHECK(make(many("path", "\"[\\\"/a\\\"]\"", LIMIT_CALL_PATHS / 2), 0) == READINGS_OK);
    CHECK(readings.strings == LIMIT_CALL_PATHS && readings.count == 2);
    CHECK(make(many("path", "\"[\\\"/a\\\"]\"", LIMIT_CALL_PATHS / 2 + 1), 0) == READINGS_OVER_LIMIT);

    /* Different paths, each once, in their order. */
    char *at = input_text + sprintf(input_text, "{\"path\":[");
    for (unsigned i = 0; i < LIMIT_CALL_PATHS; i++) {
        at += sprintf(at, "%s\"/absent/%u\"", i == 0 ? "" : ",", i / 2);
    }
    (void)stpcpy(at, "]}");
    CHECK(make(input_text, 0) == READINGS_OK && readings.count == LIMIT_CALL_PATHS / 2);
    CHECK(slice_is(readings.list[700].path, "/absent/700"));

    /* Nesting: 64 from the input, and not one more. */
    for (size_t depth = LIMIT_JSON_DEPTH; depth <= LIMIT_JSON_DEPTH + 1; depth++) {
        at = input_text + sprintf(input_text, "{\"path\":");
        memset(at, '[', depth - 1);
        at = stpcpy(at + depth - 1, "\"/a\"");
        memset(at, ']', depth - 1);
        (void)stpcpy(at + depth - 1, "}");
        CHECK(make(input_text, 0) == (depth == LIMIT_JSON_DEPTH ? READINGS_OK : READINGS_OVER_LIMIT));
    }

    /* Links through links: work without end, in a short call. */
    tree_dir("way");
    tree_link("way/x", ".");
    char way[2100];
    for (size_t i = 0; i < 1000; i++) {
        memcpy(way + 2 * i, "./", 3);
    }
    for (int i = 0; i < 40; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "way/%d", i);
        (void)snprintf(way + 2000, 100, "%d", i + 1);
        tree_link(name, way);
    }
    CHECK(make(many("path", "\"way/0\"", 10), 0) == READINGS_OK);
    CHECK(make(many("path", "\"way/0\"", LIMIT_CALL_PATHS), 0) == READINGS_OVER_LIMIT && readings.count == 0);
    CHECK(make(many("path", "\"way/x\"", LIMIT_CALL_PATHS), 0) == READINGS_OK);

    /* Array texts in array texts, as deep as they go. */
    char *from = malloc(1 << 20), *to = malloc(1 << 20);
    tree_need(from != NULL && to != NULL, "malloc");
    (void)strcpy(from, "/deep");
    unsigned level = 0;
    for (; strlen(from) < 1 << 17; level++) {
        at = stpcpy(to, "[\"");
        for (const char *c = from; *c != '\0'; c++) {
            at = *c == '"' || *c == '\\' ? stpcpy(at, "\\") : at;
            *at++ = *c;
        }
        (void)stpcpy(at, "\"]");
        char *swap = from;
        from = to;
        to = swap;
    }
    (void)sprintf(to, "{\"path\":%s}", from);
    CHECK(make(to, 0) == READINGS_OK && readings.strings == level);
    CHECK(slice_is(readings.list[readings.count - 1].path, "/deep"));
    free(from);
    free(to);
}

int main(void)
{
    tree_begin();
    tree_dir("home");
    tree_dir("ws");
    tree_dir("ws/secret");
    tree_file("ws/secret/a");
    tree_dir("ws/b");
    tree_dir("ws/b/c");
    tree_dir("out");
    tree_file("other");
    tree_link("ws/up", "$/out");
    tree_link("ws/loop", "loop");
    tree_hard("hard", "ws/secret/a");
    (void)strcpy(home, tree_text("$/home"));
    (void)strcpy(roots_text[0], tree_text("$/ws"));
    (void)strcpy(roots_text[1], tree_text("$/out"));
    roots[0] = slice_of(roots_text[0]);
    roots[1] = slice_of(roots_text[1]);
    base = (struct path_base){.cwd = slice_of(tree_root), .home = slice_of(home), .roots = roots};
    json_init(&doc);
    tree_need(readings_init(&readings), "readings_init");

    which_arguments();
    uris();
    array_texts();
    forms();
    starts();
    bases_alone();
    trees();
    same_files();
    bind_mounts();
    several_names();
    switches();
    limits();

    readings_finish(&readings);
    json_finish(&doc);
    argument_lists_destroy(arguments);
    path_prefixes_destroy(prefixes);
    tree_end();
    return check_done();
}
