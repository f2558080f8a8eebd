/* What is read aside of a call's strings. */
#include "world.h"

#define STRICT_PATH (READING_FIELD_STRICT | READING_FIELD_PATH)
#define STRICT_HOST (READING_FIELD_STRICT | READING_FIELD_HOST)

static void denies_paths(const char *tool)
{
    world_policy(tool);
    world_class(STRICT_PATH);
}

static void strings(void)
{
    denies_paths("t");
    READ("{\"where\":\"ws/a\"}", "- | #/ws/a");
    READ("{\"x\":[{\"y\":{\"z\":\"#/ws/new\"}}]}", "- | #/ws/new");
    READ("{\"where\":\"ws\",\"n\":7,\"b\":true}", "-");
    READ("{\"targetFile\":\"ws\"}", "- | #/ws");
    READ("{\"target_file\":\"ws\",\"saveAs\":\"x\",\"root.dir\":\"y\"}", "- | #/ws #/x #/y");
    READ("{\"query\":\"ws\",\"where\":\".env\"}", "- | #/.env");
    READ("{\"query\":\".env\",\"new_string\":\".env\",\"text\":\"/etc/x\"}", "-");
    READ("{\"content\":[\"a/b\"],\"o\":{\"content\":\"a/b\"}}", "-");
    READ("{\"content\":{\"deep\":[\"a/b\"]}}", "-");
    READ("{\"files\":{\"deep\":[\"x\"]}}", "- | #/x");
    READ("{\"task\":\"see ~/.aws/credentials\"}", "-");
    READ("{\"task\":\"~/my files/x\"}", "- | #/~/my files/x #/home/my files/x");
    READ("{\"task\":\"./a b\"}", "- | #/a b");
    READ("{\"page\":\"https://example.com/.env\"}", "-");
    READ("{\"x\":\"a/b\\u0001\",\"y\":\"a/b\\nc\"}", "-");
    /* A path that the call itself names says nothing new. */
    READ("{\"path\":\"a\",\"where\":\"./a\"}", "#/a");
    READ("{\"path\":\"a\",\"where\":\"b/c\"}", "#/a | #/b/c");
    READ("{\"where\":\"ws/loop\"}", "- | @@#/ws/loop");
    world_change(ARGUMENT_PATHS, "*", "-where");
    READ("{\"where\":\"ws/a\",\"o\":{\"where\":[\"a/b\"]}}", "-");
}

static void variants(void)
{
    denies_paths("t");
    READ("{\"path\":\"ws/a\\n\"}", "#/ws/a\n | #/ws/a");
    READ("{\"path\":\"\xc2\xa0ws/a\xe3\x80\x80\"}", "#/\xc2\xa0ws/a\xe3\x80\x80 | #/ws/a");
    READ("{\"path\":\"'ws/a'\"}", "#/'ws/a' | #/ws/a");
    READ("{\"inputPath\":\"`ws/a`\"}", "- | #/`ws/a` #/ws/a");
    READ("{\"path\":\"$HOME/x\"}", "#/$HOME/x | #/home/x");
    READ("{\"path\":\"${PWD}/x\"}", "#/${PWD}/x | #/x");
    READ("{\"path\":\"$HOMELESS/x\"}", "#/$HOMELESS/x");
    READ("{\"where\":\"$HOME/x\"}", "- | #/$HOME/x");
    READ("{\"path\":\"~root/x\"}", "#/~root/x | /root/x");
    READ("{\"path\":\"~nobody-here/x\"}", "#/~nobody-here/x");
    READ("{\"path\":\"~/x\"}", "#/home/x | #/~/x");
    tree_dir("~");
    READ("{\"path\":\"~/x\"}", "#/~/x #/home/x");
    tree_need(rmdir("~") == 0, "rmdir");
    base.server_home = SLICE("/srv/home");
    READ("{\"path\":\"~/x\"}", "#/home/x | #/~/x /srv/home/x");
    /* From each directory that is a path argument. */
    denies_paths("t");
    READ("{\"path\":\"#/ws\",\"filePath\":\"a\"}", "#/ws #/a | #/ws/a");
}

static void json_and_patches(void)
{
    denies_paths("t");
    READ("{\"files\":\"[{\\\"file_path\\\":\\\"ws/a\\\",\\\"text\\\":\\\"b/c\\\",\\\"n\\\":\\\"x\\\"}]\"}",
         "#/[{\"file_path\":\"ws/a\",\"text\":\"b/c\",\"n\":\"x\"}] | #/ws/a #/x");
    READ("{\"options\":\"{\\\"a\\\":{\\\"dir\\\":\\\"b\\\"}}\"}", "- | #/b");
    READ("{\"content\":\"{\\\"dir\\\":\\\"b\\\"}\"}", "-");
    READ("{\"patch\":\"*** Begin Patch\\n*** Update File: a\\n@@\\n-x/y\\n*** Move to: b/c\\n\"}",
         "- | #/a #/b/c");
    READ("{\"diff\":\"--- a/x y\\t2020\\r\\n+++ b/z\\r\\n\"}",
         "- | #/x y\t2020\r #/x y\t2020 #/x y #/z\r #/z");
    READ("{\"text\":\"*** Add File: a\\n\"}", "-");
}

static void trees(void)
{
    denies_paths("move_file");
    world_prefix("#/ws/secret");
    READ("{\"path\":\"ws\"}", "#/ws | <#/ws/secret #/ws/ws");
    READ("{\"where\":\"./ws\"}", "- | #/ws");
    READ("{\"cwd\":\"ws\"}", "#/ws #/ws/ws -");
    names[0].tool = SLICE("list_directory");
    READ("{\"path\":\"ws\"}", "#/ws | #/ws/ws");
    names[0].tool = SLICE("Grep");
    READ("{\"path\":\"ws\",\"pattern\":\"a/b\"}", "#/ws <#/ws/secret | #/ws/ws");
    names[0].tool = SLICE("t");
    world_change(ARGUMENT_TREES, "t", "-path");
    READ("{\"path\":\"ws\"}", "#/ws | #/ws/ws");

    denies_paths("Grep");
    world_component(".env");
    world_component("*.pem");
    READ("{\"path\":\"#/w\"}", "#/w <<#/w/a/.env <<#/w/a/b/x.pem <<#/w/z.pem");
    READ("{\"path\":\"#/w/a/b\"}", "#/w/a/b <<#/w/a/b/x.pem");
    READ("{\"path\":\"#/w\",\"glob\":\"*.{pem,txt}\"}", "#/w <<#/w/a/b/x.pem <<#/w/z.pem");
    READ("{\"path\":\"#/w\",\"include\":[\"src/.e*\"]}", "#/w <<#/w/a/.env | #/src/.e* #/w/src/.e*");
    READ("{\"path\":\"#/w\",\"glob\":\"!*.pem\"}", "#/w <<#/w/a/.env <<#/w/a/b/x.pem <<#/w/z.pem");
    READ("{\"path\":\"#/w/z.pem\"}", "#/w/z.pem");
    names[0].tool = SLICE("Glob");
    READ("{\"path\":\"#/w\"}", "#/w");
    names[0].tool = SLICE("search_code");
    READ("{\"path\":\"#/w\"}", "#/w | <<#/w/a/.env <<#/w/a/b/x.pem <<#/w/z.pem");
}

static void globs(void)
{
    denies_paths("t");
    world_component(".env");
    READ("{\"path\":\"w/*/b\"}", "#/w/*/b | #/w/a/b #/w/z.pem/b");
    READ("{\"path\":\"w/?/[ab]/x.p*\"}", "#/w/?/[ab]/x.p* | #/w/a/b/x.pem");
    READ("{\"path\":\"w/{a,q/{r,s}}/n\"}", "#/w/{a,q/{r,s}}/n | #/w/a/n #/w/q/r/n #/w/q/s/n");
    READ("{\"path\":\"zz*/a\"}", "#/zz*/a");
    READ("{\"pattern\":\"./**\"}", "- | #/** # <<#/w/a/.env");
    READ("{\"pattern\":\"w/**/*.c\"}", "- | #/w/**/*.c #/w");
    READ("{\"pattern\":\"w/**/.e*\"}", "- | #/w/**/.e* #/w <<#/w/a/.env");
    READ("{\"path\":\"~/*\"}", "#/home/* | #/~/* #/home/k");
    READ("{\"path\":\"a[b\"}", "#/a[b");
}

static void unicode(void)
{
    denies_paths("t");
    READ("{\"path\":\"caf\xc3\xa9\"}", "#/caf\xc3\xa9 #/cafe\xcc\x81");
    READ("{\"path\":\"cafe\xcc\x81\"}", "#/cafe\xcc\x81 #/caf\xc3\xa9");
    READ("{\"where\":\"caf\xc3\xa9/x\"}", "- | #/caf\xc3\xa9/x #/cafe\xcc\x81/x");
    READ("{\"\xc5\xbf"
         "ource\":\"a\",\"\xe2\x84\xaa\":\"b\"}",
         "#/a");
}

static void hosts_aside(void)
{
    world_policy("t");
    world_class(STRICT_HOST);
    READ("{\"url\":\"https://Example.COM/x\"}", "@example.com");
    READ("{\"url\":7}", "@?");
    READ("{\"url\":\"example.com\",\"uri\":\"example.com\"}", "@?");
    READ("{\"note\":{\"x\":[\" http://evil.org/a\"]}}", "@evil.org");
    READ("{\"note\":\"see http://evil.org/a\"}", "-");
    READ("{\"host\":\"evil.org:22\",\"hostname\":\"b.org\"}", "- | @evil.org @b.org");
    READ("{\"db\":\"postgres://user:pw@db.example.com:5432/x\"}", "- | @db.example.com");
    READ("{\"o\":\"{\\\"u\\\":\\\"https://a.b/\\\"}\"}", "- | @a.b");
    READ("{\"path\":\"a\",\"url\":\"mailto:x@y\"}", "-");
}

static void order_and_interest(void)
{
    world_policy("t");
    world_class(STRICT_PATH);
    world_class(STRICT_HOST | READING_FIELD_PATH);
    READ("{\"path\":[\"a\",\"b\"],\"urls\":[\"http://x/\",\"http://y/\"],\"where\":\"c/d\"}",
         "#/a@x #/a@y #/b@x #/b@y | #/c/d");
    world_policy("t"); /* no rule looks at anything */
    READ("{\"path\":[\"a\",\"b\"],\"url\":\"http://x/\",\"where\":\"c/d\",\"command\":\"ls\"}", "-");
    world_class(READING_FIELD_PATH);
    READ("{\"path\":\"a\",\"url\":\"http://x/\",\"where\":\"c/d\",\"command\":\"ls\"}", "#/a");
    world_class(READING_FIELD_HOST | READING_FIELD_BARE);
    READ("{\"path\":\"a\",\"url\":\"http://x/\",\"where\":\"c/d\",\"command\":\"ls\"}", "#/a{ls}@x");
}

int main(void)
{
    world_begin();
    tree_dir("ws");
    tree_dir("ws/secret");
    tree_link("ws/loop", "loop");
    tree_dir("home");
    tree_file("home/k");
    tree_dir("w");
    tree_dir("w/a");
    tree_dir("w/a/b");
    tree_file("w/a/.env");
    tree_file("w/a/b/x.pem");
    tree_file("w/z.pem");
    strings();
    variants();
    json_and_patches();
    trees();
    globs();
    unicode();
    hosts_aside();
    order_and_interest();
    return world_end();
}
