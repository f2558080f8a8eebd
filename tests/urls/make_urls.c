/* Makes URLs from pieces that parsers read in different ways, and prints those that are read as a host, each with
 * the host, parted by a space, a line each:  make_urls [--count N] [--seed N] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "url/url.h"

static uint64_t state = 1;
static char text[1024];
static size_t len;

static uint32_t below(uint32_t limit)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)(state * 0x2545F4914F6CDD1Du >> 33) % limit;
}

static void put(const char *piece)
{
    size_t more = strlen(piece);
    if (len + more < sizeof(text)) {
        memcpy(text + len, piece, more);
        len += more;
    }
}

#define PICK(list) (list)[below(sizeof(list) / sizeof(*(list)))]

static const char *const schemes[] = {"http",  "https", "ws",  "wss",  "HTTP",
                                      "hTTps", "Ws",    "WSS", "http", "https"};
static const char *const marks[] = {"://", "://", "://",  "://",   "://",  "://",   "://", "://",
                                    ":/",  ":",   ":///", ":\\\\", ":/\\", "://\t", "::/", ":////"};
static const char *const labels[] = {"a",          "b",
                                     "example",    "EXAMPLE",
                                     "a-b",        "-a",
                                     "a-",         "a_b",
                                     "_",          "0",
                                     "1",          "7",
                                     "127",        "255",
                                     "256",        "08",
                                     "010",        "0x7f",
                                     "0X1",        "0x",
                                     "1a",         "a1",
                                     "0xg",        "1e3",
                                     "xn--a",      "xn--mnchen-3ya",
                                     "xn--",       "XN--p1ai",
                                     "4294967295", "017700000001",
                                     "2130706433", "localhost",
                                     "com",        "org",
                                     "co",         "--",
                                     "a--b",       "ab--c",
                                     "1-",         "-1",
                                     "0b1",        "+1",
                                     "1_000"};
static const char *const odd_labels[] = {"%61",
                                         "%2e",
                                         "%00",
                                         "\xc3\xa9",
                                         "\xef\xbc\x8e",
                                         "\xe3\x80\x82",
                                         "\xef\xbc\x91",
                                         "\xc2\xad",
                                         " ",
                                         "\t",
                                         "\\",
                                         "*",
                                         "~",
                                         "$",
                                         "!",
                                         "'",
                                         "(",
                                         ",",
                                         ";",
                                         "=",
                                         "&",
                                         "|",
                                         "^",
                                         "`",
                                         "{",
                                         "<",
                                         "\"",
                                         "\x7f",
                                         "\xf0\x9f\x92\xa9"};
static const char *const groups[] = {"0",    "1", "ffff",  "FFFF", "abcd", "0000", "00ff",
                                     "7f00", "",  "12345", "g",    "1",    "0"};
static const char *const tails[] = {
    "",          "",    "/",   "/a",     "?a", "#a", "/a?b#c", "/@b", "?@b",   "#@b",   "/%2e%2e",   "/..",
    "/\xc3\xa9", "\\a", "/ a", "/a:b@c", ";a", "&a", ",a",     "%",   "/a\\b", "?\xff", "/http://b/"};
static const char *const ports[] = {":1", ":80", ":443",    ":65535", ":65536", ":99999", ":00080", ":",
                                    ":a", ":1a", ":123456", ":-1",    ":0",     ":80:90", ": 80",   ":+80"};
static const char *const users[] = {"a@", "a:b@", "@", ":@", "a:b@c@", "%40@", "a\\@", "b#@", "b?@", "b/@"};

static void make_name(void)
{
    uint32_t count = 1 + below(4);
    for (uint32_t i = 0; i < count; i++) {
        put(i > 0 ? "." : "");
        put(below(24) == 0 ? PICK(odd_labels) : PICK(labels));
        if (below(10) == 0) {
            put(PICK(labels));
        }
    }
    static const char *const ends[] = {"", "", "", "", "", ".", "..", "%2e"};
    put(PICK(ends));
}

static void make_numbers(void)
{
    static const char *const numbers[] = {"0",   "1",   "9",   "10", "99", "127", "200", "255",
                                          "192", "168", "256", "00", "01", "0x1", "1.",  ""};
    uint32_t count = below(6) == 0 ? 1 + below(6) : 4;
    for (uint32_t i = 0; i < count; i++) {
        put(i > 0 ? "." : "");
        put(numbers[below(below(5) == 0 ? 16 : 10)]);
    }
}

static void make_brackets(void)
{
    uint32_t count = below(3) == 0 ? 1 + below(9) : 8, gap = below(2) == 0 ? below(count + 1) : count + 1;
    put("[");
    for (uint32_t i = 0; i < count; i++) {
        if (i == gap) {
            put("::");
            i += below(count - i);
        } else if (i > 0) {
            put(":");
        }
        if (i + 2 >= count && below(4) == 0) {
            make_numbers();
            break;
        }
        put(groups[below(below(8) == 0 ? 13 : 8)]);
    }
    static const char *const ends[] = {"]",   "]", "]",  "]",  "]",   "]", "%25eth0]",
                                       "%1]", "",  "]a", "].", "::]", ":]"};
    put(PICK(ends));
}

static void make_url(void)
{
    len = 0;
    put(below(40) == 0 ? " \x01" : "");
    put(PICK(schemes));
    put(PICK(marks));
    put(below(16) == 0 ? PICK(users) : "");
    switch (below(4)) {
    case 0:
        make_numbers();
        break;
    case 1:
        if (below(3) == 0) {
            put(below(2) == 0 ? "[::ffff:" : "[::");
            make_numbers();
            put("]");
        } else {
            make_brackets();
        }
        break;
    default:
        make_name();
    }
    put(below(4) == 0 ? PICK(ports) : "");
    put(PICK(tails));
}

int main(int argc, char **argv)
{
    unsigned long count = 20000, read = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--count") == 0) {
            count = strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0) {
            state = strtoul(argv[i + 1], NULL, 10) * 2 + 1;
        }
    }
    while (read < count) {
        struct url_host host;
        make_url();
        size_t from = text[0] == ' ' ? 2 : 0; /* what is passed over would end the line's first part */
        if (url_read((struct slice){text, len}, &host) == URL_HOST) {
            printf("%.*s %.*s\n", (int)(len - from), text + from, SLICE_FMT(url_host_text(&host)));
            read++;
        }
    }
    return fflush(stdout) != 0;
}
