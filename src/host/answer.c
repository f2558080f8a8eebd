/* The words of a denial at a hook: what kind it is, and the rule's own words for the agent. SPEC.md section 10. */
#include "host/internal.h"

#include <string.h>

void host_write_reason(struct buf *buf, enum denial denial, struct slice tell)
{
    static const char *const kinds[] = {
        [DENIAL_POLICY] = HOST_DENY_TEXT,
        [DENIAL_REFUSED] = "Denied by Callgate: refused by a person.",
        [DENIAL_NOT_IN_TIME] = "Denied by Callgate: nobody answered in time.",
        [DENIAL_UNREADABLE] = "Denied by Callgate: the call could not be read.",
        [DENIAL_TOO_MANY] = "Denied by Callgate: too many requests wait for a person.",
    };
    size_t kind = (size_t)denial < sizeof(kinds) / sizeof(*kinds) ? (size_t)denial : DENIAL_POLICY;
    buf_text(buf, kinds[kind]);
    if (tell.len > 0) {
        buf_byte(buf, ' ');
        buf_slice(buf, tell);
    }
}

void host_write_deny(struct buf *buf, const struct host_event *event, struct slice reason)
{
    struct slice rest = slice_of(event->deny);
    struct buf escaped;
    buf_init(&escaped, 64u << 10);
    json_write_bytes(&escaped, reason);
    if (!buf_ok(&escaped) || escaped.len < 2) {
        buf->failed = true;
        buf_finish(&escaped);
        return;
    }
    struct slice words = {escaped.ptr + 1,
                          escaped.len - 2}; /* without its quotes: it stands inside a string */
    const size_t len = sizeof(HOST_DENY_TEXT) - 1;
    for (const char *at; (at = memmem(rest.ptr, rest.len, HOST_DENY_TEXT, len)) != NULL;) {
        size_t before = (size_t)(at - rest.ptr);
        buf_bytes(buf, rest.ptr, before);
        buf_slice(buf, words);
        rest = slice_from(rest, before + len);
    }
    buf_slice(buf, rest);
    buf_finish(&escaped);
}
