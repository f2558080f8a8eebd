/* Heads of requests to the proxy: what is written of one is read as the same, and is one request. */
#include "fuzz.h"
#include "net/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    struct head head, again;
    const char *why = NULL;
    struct buf out;
    enum head_result result = head_read(text, &head, &why);
    FUZZ_CHECK(result != HEAD_BAD || why != NULL);
    if (result != HEAD_OK) {
        return 0;
    }
    FUZZ_CHECK(head.len <= size && head.len <= HEAD_BYTES);
    FUZZ_CHECK(head_read((struct slice){text.ptr, head.len - 1}, &again, &why) == HEAD_MORE);
    if (head.tunnel) {
        return 0;
    }
    buf_init(&out, 2 * HEAD_BYTES);
    head_write(&out, &head);
    FUZZ_CHECK(buf_ok(&out));
    const char *end = memmem(out.ptr, out.len, "\r\n\r\n", 4);
    FUZZ_CHECK(end != NULL && (size_t)(end - out.ptr) + 4 == out.len);
    FUZZ_CHECK(memmem(out.ptr, out.len, "\r\nHost: ", 8) != NULL && memchr(out.ptr, '\0', out.len) == NULL);
    buf_finish(&out);
    return 0;
}
