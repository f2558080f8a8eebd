/* Values on their way into the journal and before people's eyes: secrets replaced, long strings and long
 * containers cut. What comes out is canonical (RFC 8785), whatever went in, and redacting it once more
 * changes nothing. */
#include "journal/redact_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "journal/ascii_internal.h"
#include "journal/journal.h"
#include "journal/secrets_internal.h"

#define MARK_ROOM    64u            /* of REDACT_STRING_MAX, for the mark that says how long the text was */
#define LONGEST_MARK 40u            /* of something redacted */
#define FEW_MEMBERS  16u            /* members that need no memory of their own */
#define CUT_NAME     "\xE2\x80\xA6" /* the member that stands for those cut off: U+2026 */

static const struct slice hidden = {"[redacted]", 10};

/* ---- Texts ---- */

/* Removes a character that was cut in two from the end of valid or invalid UTF-8. */
static size_t whole_characters(const char *bytes, size_t len)
{
    size_t at = len;
    while (at > 0 && len - at < 3 && ((unsigned char)bytes[at - 1] & 0xC0) == 0x80) {
        at--;
    }
    if (at == 0 || ((unsigned char)bytes[at - 1] & 0xC0) != 0xC0) {
        return len;
    }
    unsigned char first = (unsigned char)bytes[at - 1];
    size_t needs = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    return len - (at - 1) < needs ? at - 1 : len;
}

/* Removes a mark of something redacted that was cut in two. */
static size_t whole_marks(const char *bytes, size_t len)
{
    size_t look = len < LONGEST_MARK ? len : LONGEST_MARK;
    const char *open = look == 0 ? NULL : memrchr(bytes + len - look, '[', look);
    bool cut = open != NULL && memchr(open, ']', len - (size_t)(open - bytes)) == NULL;
    return cut ? (size_t)(open - bytes) : len;
}

/* Appends what can be kept of text, at most `most` bytes, to an empty `out`; true if nothing was
 * changed (then `out` is not used). */
static bool unchanged_or_cleaned(struct buf *out, struct slice text, size_t most)
{
    struct secret_scan scan = {.text = text, .stop = most};
    struct secret secret;
    size_t copied = 0;
    bool found = secret_next(&scan, &secret);
    if (!found && text.len <= most) {
        return true;
    }
    while (found) {
        buf_bytes(out, text.ptr + copied, secret.start - copied);
        buf_printf(out, "[redacted %s]", secret.label);
        copied = secret.end;
        /* What starts where the room is used up need not be looked for. */
        scan.stop = out->len >= most ? copied : copied + (most - out->len);
        found = out->len < most && secret_next(&scan, &secret);
    }
    size_t room = out->len < most ? most - out->len : 0;
    size_t rest = text.len - copied;
    buf_bytes(out, text.ptr + copied, rest < room ? rest : room);
    if (buf_ok(out) && (rest > room || out->len > most)) {
        out->len = whole_marks(out->ptr, whole_characters(out->ptr, most - MARK_ROOM));
        buf_printf(out, TRUNCATED_MARK ", %zu bytes]", text.len);
    }
    return false;
}

/* `write` writes a JSON string; it is not asked to when the text may stay as `written`, if that is given. */
static void write_clean(struct buf *buf, struct slice text, struct slice written, size_t most,
                        void (*write)(struct buf *buf, struct slice s))
{
    struct buf clean;
    buf_init(&clean, 3 * most);
    if (!unchanged_or_cleaned(&clean, text, most)) {
        write(buf, buf_slice_of(&clean));
        buf->failed = buf->failed || !buf_ok(&clean);
        buf_finish(&clean);
    } else if (written.ptr != NULL) {
        buf_slice(buf, written);
    } else {
        write(buf, text);
    }
}

void redact_text(struct buf *buf, struct slice text)
{
    write_clean(buf, text, (struct slice){NULL, 0}, REDACT_STRING_MAX, json_write_bytes);
}

/* A string of a document as it was written there, if that is its canonical form: without escapes it is. */
static struct slice as_written(const struct json_doc *doc, const struct json_value *v)
{
    return v->length == v->str_len + 2u ? json_text_of(doc, v) : (struct slice){NULL, 0};
}

/* ---- Values ---- */

struct redactor {
    struct buf *out;
    const struct json_doc *doc;
    struct arena *arena; /* members of large objects, changed names */
    size_t text_most;    /* bytes of one string or name */
    uint32_t number_most, items_most;
    size_t stop;    /* out->len beyond which nothing more is begun */
    uint32_t depth; /* containers that are open */
};

struct member {
    struct slice name; /* as it will stand */
    const struct json_value *key;
};

static void write_value(struct redactor *r, const struct json_value *v, enum secret_name kind);

/* A number of a million digits is a long string too; what stands for it is a string. */
static void write_number(struct redactor *r, const struct json_value *v)
{
    if (v->str_len > r->number_most) {
        buf_printf(r->out, "\"" CUT_NAME "[truncated, a number of %" PRIu32 " bytes]\"", v->str_len);
    } else {
        json_write_canonical(r->out, r->doc, v, JSON_NUMBER_JOURNAL);
    }
}

static void write_text(struct redactor *r, const struct json_value *v, enum secret_name kind)
{
    struct slice text = json_str(v);
    if (kind == SECRET_NAME_NO) {
        /* The reader has seen that it is UTF-8. */
        write_clean(r->out, text, as_written(r->doc, v), r->text_most, json_write_string);
    } else {
        json_write_string(r->out, text.len == 0 ? text : hidden);
    }
}

/* An option whose value is the next element: ["--password", "…"]. */
static bool is_secret_option(const struct json_value *v)
{
    struct slice text = json_str(v);
    return v->type == JSON_STRING && slice_starts_with(text, SLICE("-")) &&
           memchr(text.ptr, '=', text.len) == NULL && memchr(text.ptr, ' ', text.len) == NULL &&
           secret_name(text, false) != SECRET_NAME_NO;
}

/* Takes what was written since `mark` back if it does not fit. */
static bool take_back(struct redactor *r, size_t mark)
{
    if (r->out->failed || r->out->len <= r->stop) {
        return false;
    }
    r->out->len = mark;
    return true;
}

static void write_array(struct redactor *r, const struct json_value *array, enum secret_name kind)
{
    uint32_t count = 0;
    /* One place less when there are too many: the mark takes it. */
    uint32_t most = array->count > r->items_most ? r->items_most - 1 : r->items_most;
    bool option = false;
    buf_byte(r->out, '[');
    for (const struct json_value *v = json_first(r->doc, array); v != NULL;
         v = json_right(r->doc, array, v)) {
        size_t mark = r->out->len;
        if (count > 0) {
            buf_byte(r->out, ',');
        }
        bool is_option_value = option && !slice_starts_with(json_str(v), SLICE("-"));
        if (count < most) {
            write_value(r, v, is_option_value && v->type == JSON_STRING ? SECRET_NAME_TEXT : kind);
        }
        if (count == most || take_back(r, mark)) {
            r->out->len = mark;
            buf_printf(r->out, "%s\"" CUT_NAME "[truncated, %" PRIu32 " elements]\"", count > 0 ? "," : "",
                       array->count);
            break;
        }
        option = is_secret_option(v);
        count++;
    }
    buf_byte(r->out, ']');
}

/* The name as it will stand. Fails (ptr NULL) for memory. */
static struct slice clean_name(struct redactor *r, struct slice name)
{
    struct buf clean;
    buf_init(&clean, 3 * r->text_most);
    struct slice result = name;
    if (!unchanged_or_cleaned(&clean, name, r->text_most)) {
        result = buf_ok(&clean) ? arena_copy(r->arena, buf_slice_of(&clean)) : (struct slice){NULL, 0};
    }
    buf_finish(&clean);
    return result;
}

static int by_name(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    int order = json_key_cmp(left->name, right->name);
    /* qsort keeps no order among equals, and the first one written is the one that stays. */
    return order != 0 ? order : (left->key > right->key) - (left->key < right->key);
}

static void sort_members(struct member *members, uint32_t count)
{
    if (count > FEW_MEMBERS) {
        qsort(members, count, sizeof(*members), by_name);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct member moved = members[i];
        uint32_t to = i;
        for (; to > 0 && by_name(&members[to - 1], &moved) > 0; to--) {
            members[to] = members[to - 1];
        }
        members[to] = moved;
    }
}

/* Lists the members that may stay, sorted, each name once. Fails for memory. */
static bool list_members(struct redactor *r, const struct json_value *object, struct member *members,
                         uint32_t most, uint32_t *ret_count)
{
    uint32_t count = 0, kept = 0;
    for (const struct json_value *key = json_first(r->doc, object); key != NULL && count < most;
         key = json_right(r->doc, object, key)) {
        members[count] = (struct member){clean_name(r, json_str(key)), key};
        if (members[count++].name.ptr == NULL) {
            return false;
        }
    }
    sort_members(members, count);
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || !slice_eq(members[kept - 1].name, members[i].name)) {
            members[kept++] = members[i];
        }
    }
    *ret_count = kept;
    return true;
}

static enum secret_name stricter(enum secret_name a, enum secret_name b)
{
    return a > b ? a : b;
}

/* A name counts as it was and as it will stand, so that what is redacted once stays as it is. */
static enum secret_name kind_of_name(struct slice name, struct slice clean)
{
    enum secret_name kind = secret_name(name, false);
    return clean.ptr == name.ptr ? kind : stricter(kind, secret_name(clean, false));
}

/* {"name": "API_KEY", "value": "…"}, as environments and headers are written. */
static bool names_a_secret(struct redactor *r, const struct json_value *object)
{
    static const char *const names[] = {"name", "key", "header"};
    if (object->count > FEW_MEMBERS) {
        return false;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct json_value *name = json_get(r->doc, object, names[i]);
        if (json_is(name, JSON_STRING) &&
            kind_of_name(json_str(name), clean_name(r, json_str(name))) != SECRET_NAME_NO) {
            return true;
        }
    }
    return false;
}

static void write_member(struct redactor *r, const struct member *member, bool pair, enum secret_name kind)
{
    struct slice name = json_str(member->key);
    enum secret_name own = kind_of_name(name, member->name);
    if (pair && slice_is(name, "value")) {
        own = stricter(own, SECRET_NAME_TEXT);
    }
    struct slice written = as_written(r->doc, member->key);
    if (member->name.ptr == name.ptr && written.ptr != NULL) {
        buf_slice(r->out, written);
    } else {
        json_write_string(r->out, member->name);
    }
    buf_byte(r->out, ':');
    write_value(r, json_member_value(member->key), stricter(own, kind));
}

/* The member that stands for those cut off, at `at`, in place of what was written from there. */
static void write_cut(struct redactor *r, size_t at, uint32_t count)
{
    r->out->len = r->out->failed ? r->out->len : at;
    buf_printf(r->out, "%s\"" CUT_NAME "\":\"[truncated, %" PRIu32 " members]\"",
               r->out->len > 0 && r->out->ptr[r->out->len - 1] != '{' ? "," : "", count);
}

/* Writes the members in order. If some of the object's `all` are not among them, or the room is used up, one
 * member more says so, in its place in the order. */
static void write_members(struct redactor *r, const struct member *members, uint32_t count, uint32_t all,
                          bool pair, enum secret_name kind)
{
    bool cut = count < all, said = false;
    size_t place = SIZE_MAX; /* where the mark would stand */
    for (uint32_t i = 0; i < count && !r->out->failed; i++) {
        size_t mark = r->out->len;
        if (place == SIZE_MAX && json_key_cmp(members[i].name, SLICE(CUT_NAME)) >= 0) {
            place = mark;
            if (cut) {
                write_cut(r, mark, all);
                said = true;
            }
        }
        if (said && slice_is(members[i].name, CUT_NAME)) {
            continue;
        }
        if (i > 0 || said) {
            buf_byte(r->out, ',');
        }
        write_member(r, &members[i], pair, kind);
        if (take_back(r, mark)) {
            if (!said) {
                write_cut(r, place == SIZE_MAX ? mark : place, all);
            }
            return;
        }
    }
    if (cut && !said) {
        write_cut(r, r->out->len, all);
    }
}

static void write_object(struct redactor *r, const struct json_value *object, enum secret_name kind)
{
    struct member few[FEW_MEMBERS], *members = few;
    uint32_t most = object->count > r->items_most ? r->items_most - 1 : object->count, count = 0;
    if (object->count > FEW_MEMBERS) {
        members = arena_array(r->arena, most, sizeof(*members));
    }
    if (members == NULL || !list_members(r, object, members, most, &count)) {
        r->out->failed = true;
        return;
    }
    buf_byte(r->out, '{');
    write_members(r, members, count, object->count, names_a_secret(r, object), kind);
    buf_byte(r->out, '}');
}

static void write_value(struct redactor *r, const struct json_value *v, enum secret_name kind)
{
    if (r->out->failed) {
        return;
    }
    if (kind == SECRET_NAME_ALL && v->type != JSON_NULL) {
        json_write_string(r->out, hidden);
        return;
    }
    if (r->depth == LIMIT_JSON_DEPTH && v->count > 0) {
        json_write_string(r->out, SLICE(CUT_NAME "[truncated, nested deeper]"));
        return;
    }
    switch ((enum json_type)v->type) {
    case JSON_ARRAY:
        r->depth++;
        write_array(r, v, kind);
        r->depth--;
        break;
    case JSON_OBJECT:
        r->depth++;
        write_object(r, v, kind);
        r->depth--;
        break;
    case JSON_STRING:
        write_text(r, v, kind);
        break;
    case JSON_NUMBER:
        write_number(r, v);
        break;
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
        json_write_canonical(r->out, r->doc, v, JSON_NUMBER_JOURNAL);
        break;
    }
}

static void redact(struct buf *buf, const struct json_doc *doc, const struct json_value *value,
                   struct redactor limits)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct redactor r = limits;
    r.out = buf;
    r.doc = doc;
    r.arena = &arena;
    write_value(&r, value, SECRET_NAME_NO);
    arena_finish(&arena);
}

void redact_write(struct buf *buf, const struct json_doc *doc, const struct json_value *value)
{
    redact(buf, doc, value,
           (struct redactor){.text_most = REDACT_STRING_MAX,
                             .number_most = REDACT_NUMBER_MAX,
                             .items_most = REDACT_ITEMS_MAX,
                             .stop = buf->len + REDACT_VALUE_MAX});
}

/* Longer than anything that a message can hold, and three times it does not overflow. */
#define WHOLE_TEXT_MOST ((size_t)LIMIT_MESSAGE_BYTES * 2)

void redact_write_whole(struct buf *buf, const struct json_doc *doc, const struct json_value *value)
{
    redact(buf, doc, value,
           (struct redactor){.text_most = WHOLE_TEXT_MOST,
                             .number_most = UINT32_MAX,
                             .items_most = UINT32_MAX,
                             .stop = SIZE_MAX});
}
