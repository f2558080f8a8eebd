/* Request ids and their table. */
#include "mcp/id.h"

#include <stdlib.h>

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

void id_write(struct buf *buf, const struct id *id)
{
    if (id->kind == ID_NUMBER) {
        buf_i64(buf, id->number);
    } else if (id->kind == ID_STRING) {
        json_write_string(buf, id->text);
    } else {
        buf_text(buf, "null");
    }
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
    if (ids->count == 0 || id->kind == ID_NONE) {
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
