/* The proxy's reading of heads, and which addresses are public. */
#include <arpa/inet.h>

#include "check.h"
#include "net/internal.h"

static const char *read_text(const char *text, struct head *ret_head)
{
    const char *why = NULL;
    switch (head_read(slice_of(text), ret_head, &why)) {
    case HEAD_OK:
        return "good";
    case HEAD_MORE:
        return "more";
    default:
        return why;
    }
}

static void bad(const char *text, const char *want)
{
    struct head head;
    const char *got = read_text(text, &head);
    CHECK_BYTES(got, strlen(got), want);
}

static void written(const char *text, const char *want)
{
    struct head head;
    struct buf buf;
    CHECK(strcmp(read_text(text, &head), "good") == 0);
    buf_init(&buf, HEAD_BYTES);
    head_write(&buf, &head);
    CHECK_BYTES(buf.ptr, buf.len, want);
    buf_finish(&buf);
}

static void test_heads(void)
{
    struct head head;
    CHECK(strcmp(read_text("CONNECT A.com.:443 HTTP/1.1\r\nHost: a.com\r\n\r\n", &head), "good") == 0);
    CHECK(head.tunnel && head.port == 443 && head.port_usual && head.body == 0);
    CHECK(slice_is(url_host_text(&head.host), "a.com"));
    CHECK(strcmp(read_text("CONNECT [::1]:8443 HTTP/1.0\r\n\r\nrest", &head), "good") == 0);
    CHECK(head.port == 8443 && !head.port_usual && head.len == 31);
    CHECK(strcmp(read_text("GET http://a.com:8080?x HTTP/1.1\r\nhost:a.com:8080\r\n\r\n", &head), "good") ==
          0);
    CHECK(!head.tunnel && head.port == 8080 && slice_is(head.target, "?x"));
    bad("GET http://a.com:8080/ HTTP/1.1\r\nHost: a.com\r\n\r\n", "Host is not the target's");
    bad("GET http://a.com/ HTTP/1.1\r\nHost: a.com:80\r\n\r\n", "good");
    bad("GET http://a.com/ HTTP/1.1\r\nHost:\r\n\r\n", "Host is not the target's");
    bad("GET http://a.com/ HTTP/1.1\r\n", "more");
    bad("GET http://a.com/ HTTP/1.1\r", "more");
    bad("", "more");
    bad("\r\n\r\n", "no request line");
    bad("GET http://a.com/ HTTP/1.1\r\n:x\r\n\r\n", "a field has no name");
    bad("GET http://a.com/ HTTP/1.1\r\nContent-Length: 9999999999999999999\r\n\r\n",
        "Content-Length is no one number");
    bad("GET HTTP/1.1\r\n\r\n", "no request line of HTTP/1.1");
    bad("connect a.com:443 HTTP/1.1\r\n\r\n", "the target is no http URL");
    bad("G T http://a.com/ HTTP/1.1\r\n\r\n", "the target is no http URL");
    bad("GET http:/// HTTP/1.1\r\n\r\n", "the target is no http URL");
    bad("CONNECT a.com: HTTP/1.1\r\n\r\n", "the target is no HOST:PORT");
    bad("CONNECT :443 HTTP/1.1\r\n\r\n", "the target is no HOST:PORT");
}

static void test_written(void)
{
    written("GET http://a.com HTTP/1.0\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.com\r\nConnection: close\r\n\r\n");
    written("PUT http://A.com:81/x?y HTTP/1.1\r\nHost: a.com:81\r\nA: 1 \r\nProxy-Connection: keep-alive\r\n"
            "Connection: keep-alive\r\nTE: x\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\n",
            "PUT /x?y HTTP/1.1\r\nHost: a.com:81\r\nConnection: close\r\nA: 1 \r\nContent-Length: 3\r\n\r\n");
}

static bool is_public(const char *text)
{
    uint8_t bytes[16];
    return inet_pton(AF_INET, text, bytes) == 1
               ? net_address_is_public_v4(bytes)
               : inet_pton(AF_INET6, text, bytes) == 1 && net_address_is_public_v6(bytes);
}

static void test_addresses(void)
{
    static const char *const public[] = {
        "1.1.1.1",          "93.184.216.34",       "172.15.0.1", "172.32.0.1",
        "100.63.255.255",   "2606:2800:220:1::1",  "2a00::1",    "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1", "2001:4860:4860::8888"};
    static const char *const other[] = {"0.0.0.0",
                                        "10.0.0.1",
                                        "100.64.0.1",
                                        "127.0.0.1",
                                        "127.255.255.254",
                                        "169.254.169.254",
                                        "172.16.0.1",
                                        "172.31.255.255",
                                        "192.0.0.1",
                                        "192.0.2.1",
                                        "192.168.1.1",
                                        "198.18.0.1",
                                        "224.0.0.1",
                                        "255.255.255.255",
                                        "::",
                                        "::1",
                                        "fe80::1",
                                        "fc00::1",
                                        "fd12::1",
                                        "ff02::1",
                                        "::ffff:10.0.0.1",
                                        "64:ff9b::10.0.0.1",
                                        "2002:7f00:1::1",
                                        "2001::1",
                                        "2001:db8::1",
                                        "::127.0.0.1",
                                        "fec0::1"};
    for (size_t i = 0; i < sizeof(public) / sizeof(public[0]); i++) {
        CHECK(is_public(public[i]));
    }
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        CHECK(!is_public(other[i]));
    }
}

int main(void)
{
    test_heads();
    test_written();
    test_addresses();
    return check_done();
}
