/* URLs and hosts: what is read has a canonical text that is read as itself. */
#include "fuzz.h"
#include "url/url.h"

static void check_host(const struct url_host *host)
{
    struct url_host again;
    struct url_pattern pattern;
    char text[URL_PATTERN_BYTES + 8];
    struct slice name = url_host_text(host);
    FUZZ_CHECK(name.len > 0 && url_read_host(name, &again) && slice_eq(url_host_text(&again), name));
    memcpy(text, "http://", 7);
    memcpy(text + 7, name.ptr, name.len);
    FUZZ_CHECK(url_read((struct slice){text, name.len + 7}, &again) == URL_HOST);
    FUZZ_CHECK(slice_eq(url_host_text(&again), name));
    FUZZ_CHECK(url_read_loosely((struct slice){text, name.len + 7}, &again));
    FUZZ_CHECK(slice_eq(url_host_text(&again), name));
    FUZZ_CHECK(url_read_host_port(name, &again));
    FUZZ_CHECK(url_pattern_read(name, &pattern) == NULL && url_pattern_match(&pattern, name));
    FUZZ_CHECK(url_pattern_subset(&pattern, &pattern) && url_pattern_meet(&pattern, &pattern));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    struct url_host host, loose;
    struct url_pattern pattern, again;
    enum url_kind kind = url_read(text, &host);
    if (kind == URL_HOST) {
        check_host(&host);
        FUZZ_CHECK(url_begins(text));
        FUZZ_CHECK(url_read_loosely(text, &loose) && slice_eq(url_host_text(&loose), url_host_text(&host)));
    }
    FUZZ_CHECK(kind != URL_UNREADABLE || url_begins(text));
    if (url_read_host(text, &host)) {
        check_host(&host);
    }
    if (url_read_host_port(text, &host)) {
        check_host(&host);
    }
    if (url_read_loosely(text, &host)) {
        check_host(&host);
    }
    if (url_pattern_read(text, &pattern) == NULL) {
        char shown[URL_PATTERN_BYTES];
        size_t len = url_pattern_text(&pattern, shown);
        FUZZ_CHECK(url_pattern_read((struct slice){shown, len}, &again) == NULL);
        FUZZ_CHECK(url_pattern_equal(&pattern, &again));
    }
    return 0;
}
