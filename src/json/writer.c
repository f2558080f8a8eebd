/* The RFC 8785 writer. No recursion: a stack of frames, and beside it the sorted keys of every open object.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "json/internal.h"

#define INLINE_FRAMES 64u
#define INLINE_KEYS   128u

struct frame {
    uint32_t container;
    uint32_t begin, at, end; /* an array's: indices of values; an object's: places in the keys */
};

/* A key on its way into order. Two keys whose beginnings differ are told apart without a look at the text. */
struct sort_key {
    uint64_t beginning;
    uint32_t index;
};

struct writer {
    struct buf *buf;
    const struct json_doc *doc;
    enum json_number_form form;
    struct frame *frames;
    size_t depth, frames_cap;
    struct sort_key *keys; /* of all open objects, each object's sorted */
    size_t keys_len, keys_cap;
    struct frame inline_frames[INLINE_FRAMES];
    struct sort_key inline_keys[INLINE_KEYS];
};

int json_key_cmp(struct slice a, struct slice b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    size_t i = 0;
    while (i < shorter && a.ptr[i] == b.ptr[i]) {
        i++;
    }
    if (i == shorter) {
        return (a.len > b.len) - (a.len < b.len);
    }
    unsigned char in_a = (unsigned char)a.ptr[i], in_b = (unsigned char)b.ptr[i];
    /* UTF-8 sorts like code points. UTF-16 differs where one character is above U+FFFF, and so begins with a
     * surrogate, and the other is from U+E000 to U+FFFF, with a first byte of 0xEE or 0xEF. */
    if (in_a >= 0xEE && in_b >= 0xEE && (in_a >= 0xF0) != (in_b >= 0xF0)) {
        return in_a >= 0xF0 ? -1 : 1;
    }
    return in_a < in_b ? -1 : 1;
}

/* Bytes above ASCII are copied. */
void json_write_escaped(struct buf *buf, struct slice s)
{
    static const char hex[] = "0123456789abcdef";
    if (s.len == 0) {
        return;
    }
    const char *at = s.ptr, *end = s.ptr + s.len, *plain = at;
    while (at < end) {
        at = json_skip_plain(at, end);
        if (at == end) {
            break;
        }
        unsigned char c = (unsigned char)*at;
        if (c >= 0x80) {
            at++;
            continue;
        }
        buf_bytes(buf, plain, (size_t)(at - plain));
        const char *letter = c == 0 ? NULL : strchr("\"\"\\\\\bb\tt\nn\ff\rr", c);
        if (letter != NULL) {
            buf_bytes(buf, (char[]){'\\', letter[1]}, 2);
        } else {
            buf_bytes(buf, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
        }
        plain = ++at;
    }
    buf_bytes(buf, plain, (size_t)(end - plain));
}

void json_write_string(struct buf *buf, struct slice s)
{
    buf_byte(buf, '"');
    json_write_escaped(buf, s);
    buf_byte(buf, '"');
}

void json_write_bytes(struct buf *buf, struct slice s)
{
    buf_byte(buf, '"');
    while (s.len != 0) {
        size_t valid = utf8_valid_upto(s);
        json_write_escaped(buf, (struct slice){s.ptr, valid});
        if (valid == s.len) {
            break;
        }
        buf_text(buf, "\xEF\xBF\xBD");
        s = slice_from(s, valid + 1);
    }
    buf_byte(buf, '"');
}

/* Makes room for `more` elements behind `len` of an array that begins inside the writer. */
static void *grow(struct writer *w, void *array, const void *inside, size_t len, size_t more, size_t size,
                  size_t *cap)
{
    if (more <= *cap - len) {
        return array;
    }
    size_t want = *cap * 2 < len + more ? len + more : *cap * 2;
    void *larger = realloc(array == inside ? NULL : array, want * size);
    if (larger == NULL) {
        w->buf->failed = true;
        return NULL;
    }
    if (array == inside) {
        memcpy(larger, inside, len * size);
    }
    *cap = want;
    return larger;
}

/* The first eight bytes of a key as a number that orders like json_key_cmp. Keys with equal beginnings may
 * differ. */
static uint64_t beginning_of(struct slice key)
{
    uint64_t beginning = 0;
    for (size_t i = 0; i < 8; i++) {
        unsigned char byte = i < key.len ? (unsigned char)key.ptr[i] : 0;
        if (byte >= 0xF0) { /* see json_key_cmp: what begins with a surrogate goes before 0xEE and 0xEF */
            byte = (unsigned char)(byte - 2);
        } else if (byte >= 0xEE) {
            byte = (unsigned char)(byte + 5);
        }
        beginning = beginning << 8 | byte;
    }
    return beginning;
}

static inline bool in_order(const struct writer *w, const struct sort_key *a, const struct sort_key *b)
{
    if (a->beginning != b->beginning) {
        return a->beginning < b->beginning;
    }
    const struct json_value *values = w->doc->values;
    return json_key_cmp(json_str(&values[a->index]), json_str(&values[b->index])) <= 0;
}

/* Merges the sorted runs [from, middle) and [middle, to) of `keys` into the same places of `out`. */
static void merge(const struct writer *w, const struct sort_key *keys, struct sort_key *out, size_t from,
                  size_t middle, size_t to)
{
    size_t left = from, right = middle;
    for (size_t i = from; i < to; i++) {
        bool take_left = left < middle && (right == to || in_order(w, &keys[left], &keys[right]));
        out[i] = take_left ? keys[left++] : keys[right++];
    }
}

/* Sorts by merging; `spare` is as long as keys. Stable, and quick where keys are in order already. */
static void sort_keys(const struct writer *w, struct sort_key *keys, struct sort_key *spare, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && in_order(w, &keys[sorted - 1], &keys[sorted])) {
        sorted++;
    }
    if (sorted >= count) {
        return;
    }
    struct sort_key *from = keys, *to = spare;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t middle = i + width < count ? i + width : count;
            size_t end = i + 2 * width < count ? i + 2 * width : count;
            merge(w, from, to, i, middle, end);
        }
        struct sort_key *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys) {
        memcpy(keys, from, count * sizeof(*keys));
    }
}

/* Puts the sorted keys of an object behind the other keys. */
static bool push_keys(struct writer *w, const struct json_value *object)
{
    struct sort_key *keys =
        grow(w, w->keys, w->inline_keys, w->keys_len, (size_t)object->count * 2, sizeof(*keys), &w->keys_cap);
    if (keys == NULL) {
        return false;
    }
    w->keys = keys;
    keys += w->keys_len;
    size_t count = 0;
    const struct json_value *values = w->doc->values;
    for (uint32_t i = (uint32_t)(object - values) + 1; i < object->next; i = values[i + 1].next) {
        keys[count++] = (struct sort_key){beginning_of(json_str(&values[i])), i};
    }
    sort_keys(w, keys, keys + count, count);
    w->keys_len += count;
    return true;
}

static bool open_container(struct writer *w, const struct json_value *v)
{
    struct frame *frames = grow(w, w->frames, w->inline_frames, w->depth, 1, sizeof(*frames), &w->frames_cap);
    if (frames == NULL) {
        return false;
    }
    w->frames = frames;
    struct frame *frame = &frames[w->depth++];
    frame->container = (uint32_t)(v - w->doc->values);
    if (v->type == JSON_ARRAY) {
        buf_byte(w->buf, '[');
        frame->begin = frame->at = frame->container + 1;
        frame->end = v->next;
        return true;
    }
    buf_byte(w->buf, '{');
    frame->begin = frame->at = (uint32_t)w->keys_len;
    if (!push_keys(w, v)) {
        return false;
    }
    frame->end = (uint32_t)w->keys_len;
    return true;
}

static void write_known_string(struct writer *w, const struct json_value *v)
{
    if (v->length == v->str_len + 2) { /* written without escapes, so it needs none */
        buf_slice(w->buf, json_text_of(w->doc, v));
    } else {
        json_write_string(w->buf, json_str(v));
    }
}

/* Writes a scalar, or opens a container. */
static bool write_value(struct writer *w, const struct json_value *v)
{
    switch ((enum json_type)v->type) {
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
        buf_slice(w->buf, json_text_of(w->doc, v));
        break;
    case JSON_NUMBER:
        json_write_number(w->buf, json_str(v), w->form);
        break;
    case JSON_STRING:
        write_known_string(w, v);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        return open_container(w, v);
    }
    return buf_ok(w->buf);
}

/* Writes the next value of the innermost container, or closes it. */
static bool step(struct writer *w)
{
    struct frame *frame = &w->frames[w->depth - 1];
    const struct json_value *values = w->doc->values;
    bool array = values[frame->container].type == JSON_ARRAY;
    if (frame->at == frame->end) {
        buf_byte(w->buf, array ? ']' : '}');
        if (!array) {
            w->keys_len = frame->begin;
        }
        w->depth--;
        return buf_ok(w->buf);
    }
    if (frame->at != frame->begin) {
        buf_byte(w->buf, ',');
    }
    if (array) {
        const struct json_value *v = &values[frame->at];
        frame->at = v->next;
        return write_value(w, v);
    }
    const struct json_value *key = &values[w->keys[frame->at++].index];
    write_known_string(w, key);
    buf_byte(w->buf, ':');
    return write_value(w, json_member_value(key));
}

void json_write_canonical(struct buf *buf, const struct json_doc *doc, const struct json_value *v,
                          enum json_number_form form)
{
    struct writer w;
    w.buf = buf;
    w.doc = doc;
    w.form = form;
    w.frames = w.inline_frames;
    w.depth = 0;
    w.frames_cap = INLINE_FRAMES;
    w.keys = w.inline_keys;
    w.keys_len = 0;
    w.keys_cap = INLINE_KEYS;
    bool going = write_value(&w, v);
    while (going && w.depth > 0) {
        going = step(&w);
    }
    if (w.frames != w.inline_frames) {
        free(w.frames);
    }
    if (w.keys != w.inline_keys) {
        free(w.keys);
    }
}
