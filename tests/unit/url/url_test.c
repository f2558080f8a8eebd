/* URLs and hosts: what is read, as which host, and what is not. */
#include <stdlib.h>

#include "url/url.h"

#include "check.h"

/* The host of a URL, or a word that says what it is. */
static void url(const char *text, const char *want)
{
    struct url_host host;
    static const char *const kinds[] = {"unreadable", "no scheme", "no host"};
    enum url_kind kind = url_read(slice_of(text), &host);
    struct slice got = kind == URL_HOST ? url_host_text(&host) : slice_of(kinds[kind]);
    CHECK_BYTES(got.ptr, got.len, want);
}

static void host(const char *text, const char *want)
{
    struct url_host host = {.len = 0};
    struct slice got = url_read_host(slice_of(text), &host) ? url_host_text(&host) : SLICE("none");
    CHECK_BYTES(got.ptr, got.len, want);
}

static void test_urls(void)
{
    url("https://example.com", "example.com");
    url("HTTPS://EXAMPLE.com:443/a?b#c", "example.com");
    url("http://example.com.", "example.com");
    url("ws://example.com?x", "example.com");
    url("wss://example.com#x", "example.com");
    url("  \x01\x1fhttp://a/", "a");
    url("http://a/\xc3\xa9", "a");
    url("http://127.0.0.1:8080/x", "127.0.0.1");
    url("http://[::1]:1/", "[::1]");
    url("http://[::ffff:127.0.0.1]/", "127.0.0.1");
    url("mailto:a@b", "no host");
    url("file:///x", "no host");
    url("git+ssh://x", "no host");
    url("localhost:3000", "no scheme");
    url("example.com/x", "no scheme");
    url("//example.com/", "no scheme");
    url("", "no scheme");
    url("1http://a", "no scheme");
    static const char *const bad[] = {
        "http:",
        "http:/a",
        "http:a",
        "http://",
        "http:///a",
        "http://a b",
        "http://a/ b",
        "http://a\\b",
        "http://a/\\b",
        "http://a:/",
        "http://a:123456",
        "http://a:1x",
        "http://u@a/",
        "http://u:p@a/",
        "http://a%2eb/",
        "http://a..b/",
        "http://.a/",
        "http://a:80:80/",
        "http://1.2.3/",
        "http://0x7f.1/",
        "http://a.0x1/",
        "http://a.1/",
        "http://1.2.3.4./",
        "http://01.2.3.4/",
        "http://1.2.3.256/",
        "http://[::1",
        "http://::1/",
        "http://[::1]a/",
        "http://[::1%25x]",
        "http://[1:2:3:4:5:6:7]/",
        "http://[:::]/",
        "http://[1:2:3:4:5:6:7:8::]/",
        "http://[::1:2:3:4:5:6:7:8]/",
        "http://[1::2::3]/",
        "http://[1:2:3:4:5:6:7:8:9]/",
        "http://[1:2:3:4:5:6:7::8:9]/",
        "http://[::1.2.3]/",
        "http://[12345::]/",
        "http://[]/",
        "http://a\x7f/",
        "http://\xc3\xa9/",
        "http://a/\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        url(bad[i], "unreadable");
    }
    struct url_host kept;
    CHECK(url_read((struct slice){"http://a\0b/", 11}, &kept) == URL_UNREADABLE);
    CHECK(url_begins(SLICE(" hTTp:x")) && url_begins(SLICE("wss:")));
    CHECK(!url_begins(SLICE("xhttp://a")) && !url_begins(SLICE("httpx://a")) && !url_begins(SLICE("ftp:")));
}

static void test_hosts(void)
{
    char longest[255];
    for (size_t i = 0; i < 253; i++) {
        longest[i] = i % 2 == 0 ? 'a' : '.';
    }
    memcpy(longest + 253, ".", 2);
    struct url_host read;
    CHECK(url_read_host((struct slice){longest, 253}, &read) && read.len == 253);
    CHECK(url_read_host((struct slice){longest, 254}, &read) && read.len == 253);
    longest[253] = 'a';
    CHECK(!url_read_host((struct slice){longest, 254}, &read));
    host("My_Host", "my_host");
    host("-a-.b", "-a-.b");
    host("0xa.b", "0xa.b");
    host("1.a", "1.a");
    host("255.255.255.255", "255.255.255.255");
    host("0.0.0.0", "0.0.0.0");
    host("[2001:DB8:0:0:1:0:0:1]", "[2001:db8::1:0:0:1]");
    host("[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]");
    host("[1:2:3:4:5:6:7:0]", "[1:2:3:4:5:6:7:0]");
    host("[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7:0]");
    host("[::2:3:4:5:6:7:8]", "[0:2:3:4:5:6:7:8]");
    host("[::]", "[::]");
    host("[1::]", "[1::]");
    host("[::1.2.3.4]", "[::102:304]");
    host("[64:ff9b::1.2.3.4]", "[64:ff9b::102:304]");
    host("[0:0:0:0:0:FFFF:0102:0304]", "1.2.3.4");
    host("", "none");
    host(".", "none");
    host("a:1", "none");
    host("a/", "none");
}

static void loose(const char *text, const char *want)
{
    struct url_host host;
    struct slice got = url_read_loosely(slice_of(text), &host) ? url_host_text(&host) : SLICE("none");
    CHECK_BYTES(got.ptr, got.len, want);
}

static void test_aside(void)
{
    struct url_host host;
    CHECK(url_read_host_port(SLICE("Evil.org:443"), &host) && slice_is(url_host_text(&host), "evil.org"));
    CHECK(url_read_host_port(SLICE("[::1]:80"), &host) && slice_is(url_host_text(&host), "[::1]"));
    CHECK(url_read_host_port(SLICE("evil.org"), &host));
    CHECK(!url_read_host_port(SLICE("evil.org:"), &host) && !url_read_host_port(SLICE("evil.org/x"), &host));
    loose("postgres://user:p@ss@db.evil.org:5432/x?y", "db.evil.org");
    loose("http://u@evil.org\\x", "evil.org");
    loose("git+ssh://git@evil.org/a@b", "evil.org");
    loose("x://[::1]:7", "[::1]");
    loose("mailto:a@b", "none");
    loose("evil.org", "none");
    loose("x://", "none");
    loose("x:///a", "none");
}

static struct url_pattern pattern(const char *text)
{
    struct url_pattern read = {.below = false};
    CHECK(url_pattern_read(slice_of(text), &read) == NULL);
    return read;
}

static void test_patterns(void)
{
    static const char *const bad[] = {"",
                                      "*",
                                      "*.",
                                      "example.com/",
                                      "https://example.com",
                                      "a:443",
                                      "*.127.0.0.1",
                                      "a b",
                                      "ex\xc3\xa4mple.com",
                                      "*.*.com",
                                      "a.*.b",
                                      ".a",
                                      "a..b",
                                      "1.2.3",
                                      "0x7f.1",
                                      "[::1",
                                      "[fe80::1%eth0]",
                                      "u@a",
                                      "*.[::1]",
                                      "*a"};
    struct url_pattern unchanged = {.below = true};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK(url_pattern_read(slice_of(bad[i]), &unchanged) != NULL);
    }
    CHECK(unchanged.below && unchanged.host.len == 0);
    struct url_pattern name = pattern("Example.COM."), below = pattern("*.example.com"),
                       deeper = pattern("*.a.example.com"), address = pattern("[::ffff:1.2.3.4]");
    CHECK(url_pattern_match(&name, SLICE("example.com")) &&
          !url_pattern_match(&name, SLICE("a.example.com")));
    CHECK(url_pattern_match(&below, SLICE("a.example.com")) &&
          url_pattern_match(&below, SLICE("b.a.example.com")));
    CHECK(!url_pattern_match(&below, SLICE("example.com")) &&
          !url_pattern_match(&below, SLICE("aexample.com")));
    CHECK(!url_pattern_match(&below, SLICE(".example.com.org")));
    CHECK(url_pattern_match(&address, SLICE("1.2.3.4")));
    CHECK(url_pattern_subset(&deeper, &below) && !url_pattern_subset(&below, &deeper));
    CHECK(!url_pattern_subset(&name, &below) && !url_pattern_subset(&below, &name));
    CHECK(url_pattern_subset(&name, &name) && url_pattern_equal(&below, &below));
    CHECK(url_pattern_meet(&deeper, &below) && !url_pattern_meet(&name, &below));
    struct url_pattern list[] = {deeper, address, pattern("*.org"), below, name, pattern("b.org")};
    const size_t count = sizeof(list) / sizeof(*list);
    static const char *const hosts[] = {
        "example.com", "a.example.com", "c.b.example.com", "com",   "xexample.com",
        "1.2.3.4",     "org",           "a.b.org",         "b.org", "[::1]"};
    qsort(list, count, sizeof(*list), url_pattern_order);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        for (size_t most = 0; most <= count; most++) {
            bool any = false;
            for (size_t j = 0; j < most; j++) {
                any = any || url_pattern_match(&list[j], slice_of(hosts[i]));
            }
            CHECK(url_patterns_match(list, most, slice_of(hosts[i])) == any);
        }
    }
    char text[URL_PATTERN_BYTES];
    CHECK_BYTES(text, url_pattern_text(&below, text), "*.example.com");
    CHECK_BYTES(text, url_pattern_text(&name, text), "example.com");
}

int main(void)
{
    test_urls();
    test_hosts();
    test_aside();
    test_patterns();
    return check_done();
}
