/* Request ids and their table. */
#include "mcp/id_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

bool id_read(const struct json_value *value, struct id *ret_id)
{
    if (json_is(value, JSON_STRING)) {
        *ret_id = (struct id){.kind = ID_STRING, .text = json_str(value)};
        return true;
    }
    int64_t number = 0;
    if (!json_is(value, JSON_NUMBER) || json_number_int(json_str(value), &number) != JSON_INT_OK ||
        number > ID_NUMBER_MAX || number < -ID_NUMBER_MAX) {
        return false;
    }
    *ret_id = (struct id){.kind = ID_NUMBER, .number = number};
    return true;
}

/* The length of the escape at `at`, a backslash; 0 when there is none that JSON has. */
static size_t escape_len(struct slice text, size_t at)
{
    if (text.len - at >= 2 && memchr("\"\\/bfnrt", text.ptr[at + 1], 8) != NULL) {
        return 2;
    }
    if (text.len - at < 6 || text.ptr[at + 1] != 'u') {
        return 0;
    }
    for (size_t i = at + 2; i < at + 6; i++) {
        if (memchr("0123456789abcdefABCDEF", text.ptr[i], 22) == NULL) {
            return 0;
        }
    }
    return 6;
}

bool id_take_raw(struct slice text, struct id *ret_id)
{
    if (text.len < 2 || text.len > ID_RAW_MOST || text.ptr[0] != '"') {
        return false;
    }
    size_t at = 1;
    while (at < text.len && text.ptr[at] != '"') {
        size_t len = text.ptr[at] == '\\' ? escape_len(text, at) : 1;
        at += len > 0 ? len : 1;
    }
    if (at != text.len - 1) {
        return false;
    }
    *ret_id = (struct id){.kind = ID_RAW, .text = text};
    return true;
}

bool id_to_answer(const struct json_doc *doc, const struct json_value *value, struct id *ret_id)
{
    if (id_read(value, ret_id)) {
        return true;
    }
    if (!json_is(value, JSON_NUMBER) || value->length > ID_RAW_MOST) {
        return false;
    }
    *ret_id = (struct id){.kind = ID_RAW, .text = json_text_of(doc, value)};
    return true;
}

/* JSON's escapes stay as they are; bytes that must not stand in a string are made into some that may. */
static void write_raw(struct buf *buf, struct slice text)
{
    for (size_t at = 0; at < text.len;) {
        unsigned char c = (unsigned char)text.ptr[at];
        size_t len = c == '\\' ? escape_len(text, at) : utf8_char_len(text.ptr + at, text.len - at);
        if (c < 0x20) {
            buf_printf(buf, "\\u%04x", c);
        } else if (len > 0) {
            buf_slice(buf, (struct slice){text.ptr + at, len});
        } else {
            buf_text(buf, c == '\\' ? "\\\\" : "\xEF\xBF\xBD");
        }
        at += len > 0 ? len : 1;
    }
}

void id_write(struct buf *buf, const struct id *id)
{
    if (id->kind == ID_NUMBER) {
        buf_i64(buf, id->number);
    } else if (id->kind == ID_STRING) {
        json_write_string(buf, id->text);
    } else if (id->kind == ID_RAW) {
        write_raw(buf, id->text);
    } else {
        buf_text(buf, "null");
    }
}

bool id_text_is_number(struct slice text, int64_t *ret_number)
{
    char again[ID_NUMBER_TEXT];
    int64_t number = 0;
    size_t digits = text.len > 0 && text.ptr[0] == '-' ? 1 : 0;
    if (text.len == digits || text.len >= sizeof(again)) {
        return false;
    }
    for (size_t i = digits; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || number > ID_NUMBER_MAX) {
            return false;
        }
        number = number * 10 + (text.ptr[i] - '0');
    }
    number = digits != 0 ? -number : number;
    int len = snprintf(again, sizeof(again), "%lld", (long long)number);
    if (number > ID_NUMBER_MAX || number < -ID_NUMBER_MAX ||
        !slice_eq(text, (struct slice){again, (size_t)len})) {
        return false;
    }
    *ret_number = number;
    return true;
}

static uint32_t hash_of(const struct id *id)
{
    uint32_t hash = 2166136261u ^ (uint32_t)id->kind;
    if (id->kind == ID_NUMBER) {
        uint64_t mixed = (uint64_t)id->number * 0x9E3779B97F4A7C15u;
        return hash ^ (uint32_t)(mixed >> 32);
    }
    for (size_t i = 0; i < id->text.len; i++) {
        hash = (hash ^ (unsigned char)id->text.ptr[i]) * 16777619u;
    }
    return hash;
}

static bool equal(const struct id *a, const struct id *b)
{
    return a->kind == b->kind && a->number == b->number && slice_eq(a->text, b->text);
}

void ids_init(struct ids *ids)
{
    *ids = (struct ids){0};
}

void ids_finish(struct ids *ids)
{
    struct ids_entry *entry;
    while ((entry = ids_any(ids)) != NULL) {
        ids_remove(ids, entry);
    }
    free(ids->slots);
    ids_init(ids);
}

struct ids_entry *ids_find(const struct ids *ids, const struct id *id)
{
    if (ids->count == 0 || (id->kind != ID_NUMBER && id->kind != ID_STRING)) {
        return NULL;
    }
    uint32_t hash = hash_of(id);
    struct ids_entry *entry = ids->slots[hash & (ids->slot_count - 1)];
    while (entry != NULL && !(entry->hash == hash && equal(&entry->id, id))) {
        entry = entry->next;
    }
    return entry;
}

static bool grow(struct ids *ids)
{
    uint32_t slot_count = ids->slot_count ? ids->slot_count * 2 : 64;
    struct ids_entry **slots = calloc(slot_count, sizeof(struct ids_entry *));
    if (slots == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < ids->slot_count; i++) {
        struct ids_entry *entry = ids->slots[i], *next;
        for (; entry != NULL; entry = next) {
            next = entry->next;
            struct ids_entry **slot = &slots[entry->hash & (slot_count - 1)];
            entry->next = *slot;
            *slot = entry;
        }
    }
    free(ids->slots);
    ids->slots = slots;
    ids->slot_count = slot_count;
    ids->first = 0;
    return true;
}

/* A server need not answer what was cancelled, so such entries are kept only while there is room. */
static void drop_cancelled(struct ids *ids)
{
    for (uint32_t i = 0; i < ids->slot_count; i++) {
        struct ids_entry *entry = ids->slots[i], *next;
        for (; entry != NULL; entry = next) {
            next = entry->next;
            if (entry->state == IDS_CANCELLED) {
                ids_remove(ids, entry);
            }
        }
    }
}

static bool full(const struct ids *ids, size_t more)
{
    return ids->count >= IDS_MOST || ids->bytes + more > IDS_BYTES;
}

struct ids_entry *ids_add(struct ids *ids, const struct id *id, enum ids_state state)
{
    if (full(ids, id->text.len)) {
        drop_cancelled(ids);
    }
    if (full(ids, id->text.len) || (ids->count >= ids->slot_count && !grow(ids))) {
        return NULL;
    }
    struct ids_entry *entry = malloc(sizeof(*entry) + id->text.len);
    if (entry == NULL) {
        return NULL;
    }
    *entry = (struct ids_entry){.hash = hash_of(id), .state = state, .id = *id};
    if (id->text.len > 0) {
        memcpy(entry + 1, id->text.ptr, id->text.len);
        entry->id.text.ptr = (const char *)(entry + 1);
    }
    uint32_t at = entry->hash & (ids->slot_count - 1);
    entry->next = ids->slots[at];
    ids->slots[at] = entry;
    ids->first = at < ids->first ? at : ids->first;
    ids->count++;
    ids->bytes += id->text.len;
    return entry;
}

void ids_remove(struct ids *ids, struct ids_entry *entry)
{
    struct ids_entry **link = &ids->slots[entry->hash & (ids->slot_count - 1)];
    while (*link != entry) {
        link = &(*link)->next;
    }
    *link = entry->next;
    ids->count--;
    ids->bytes -= entry->id.text.len;
    free(entry->sent);
    free(entry);
}

struct ids_entry *ids_any(struct ids *ids)
{
    for (; ids->count > 0 && ids->first < ids->slot_count; ids->first++) {
        if (ids->slots[ids->first] != NULL) {
            return ids->slots[ids->first];
        }
    }
    return NULL;
}
