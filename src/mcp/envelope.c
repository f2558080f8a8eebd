/* The members of a JSON-RPC message, and the names that only look like theirs. */
#include "mcp/envelope.h"

#include "base/utf8.h"

const char *const member_names[MEMBER_COUNT] = {"jsonrpc", "id", "method", "params", "result", "error"};

static uint32_t fold(uint32_t c)
{
    if (c >= 'A' && c <= 'Z') {
        return c + ('a' - 'A');
    }
    return c == 0x17F ? 's' : c == 0x212A ? 'k' : c;
}

bool name_mimics(struct slice name, const char *known)
{
    size_t pos = 0;
    const char *at = known;
    while (pos < name.len && *at != '\0') {
        if (fold(utf8_next(name, &pos)) != fold((unsigned char)*at)) {
            return false;
        }
        at++;
    }
    if (*at != '\0') {
        return false;
    }
    return pos == name.len ? !slice_is(name, known) : name.ptr[pos] == '\0';
}

static void take_member(struct envelope *envelope, const struct json_doc *doc, const struct json_value *key)
{
    const struct json_value *value = json_member_value(key);
    for (enum member member = 0; member < MEMBER_COUNT; member++) {
        if (slice_is(json_str(key), member_names[member])) {
            const struct json_value *before = envelope->members[member];
            if (before != NULL) {
                bool same = slice_eq(json_text_of(doc, before), json_text_of(doc, value));
                envelope->repeated |= 1u << member;
                envelope->differing |= same ? 0 : 1u << member;
            }
            envelope->members[member] = value;
            return;
        }
    }
    envelope->stranger = true;
    for (enum member member = 0; member < MEMBER_COUNT; member++) {
        envelope->mimic = envelope->mimic || name_mimics(json_str(key), member_names[member]);
    }
}

struct envelope envelope_open(const struct json_doc *doc, const struct json_value *object)
{
    struct envelope envelope = {0};
    for (const struct json_value *key = json_first(doc, object); key != NULL;
         key = json_right(doc, object, key)) {
        take_member(&envelope, doc, key);
    }
    return envelope;
}

bool envelope_is_rpc(const struct envelope *envelope)
{
    const struct json_value *version = envelope->members[MEMBER_JSONRPC];
    return json_is(version, JSON_STRING) && slice_is(json_str(version), "2.0");
}
