/* Repeated keys. Small objects by comparing, large ones by a hash that is keyed with random bytes, so that
 * nobody can choose keys that collide. The result does not depend on the random bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "json/internal.h"

#define SMALL 16u

struct slot {
    uint32_t key; /* index of a value; 0 is free, since the first value is never a key */
    uint32_t hash;
};

static void mark(struct json_doc *doc, struct json_value *key, uint32_t *first)
{
    key->duplicate = 1;
    doc->duplicates++;
    if (key->offset < *first) {
        *first = key->offset;
    }
}

static bool equal_keys(const struct json_value *a, const struct json_value *b)
{
    return a->str_len == b->str_len && memcmp(a->str, b->str, a->str_len) == 0;
}

/* One bit for a key, from its length and two of its bytes: keys with different bits differ. */
static uint64_t key_bit(const struct json_value *key)
{
    uint32_t h = key->str_len;
    if (h != 0) {
        h += (unsigned char)key->str[0] * 7u + (unsigned char)key->str[h - 1] * 31u;
    }
    return (uint64_t)1 << (h & 63);
}

static void check_small(struct json_doc *doc, uint32_t object, uint32_t *first)
{
    struct json_value *values = doc->values;
    uint64_t seen = 0;
    for (uint32_t i = object + 1; i < values[object].next; i = values[i + 1].next) {
        uint64_t bit = key_bit(&values[i]);
        if ((seen & bit) != 0) {
            for (uint32_t j = object + 1; j < i; j = values[j + 1].next) {
                if (equal_keys(&values[j], &values[i])) {
                    mark(doc, &values[i], first);
                    break;
                }
            }
        }
        seen |= bit;
    }
}

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson and Bernstein). */
static uint32_t sip_hash(const uint64_t seed[2], const char *ptr, size_t len)
{
    uint64_t v[4] = {seed[0] ^ 0x736f6d6570736575u, seed[1] ^ 0x646f72616e646f6du,
                     seed[0] ^ 0x6c7967656e657261u, seed[1] ^ 0x7465646279746573u};
    uint64_t last = (uint64_t)len << 56;
    for (; len >= 8; ptr += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, ptr, sizeof(word));
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    for (size_t i = 0; i < len; i++) {
        last |= (uint64_t)(unsigned char)ptr[i] << (8 * i);
    }
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xFF;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    uint64_t h = v[0] ^ v[1] ^ v[2] ^ v[3];
    return (uint32_t)(h ^ h >> 32);
}

/* Zeroed slots, a power of two and at most half of them to be used; NULL without memory. */
static struct slot *take_slots(struct json_doc *doc, uint32_t keys, size_t *ret_count)
{
    size_t count = 64;
    while (count < (size_t)keys * 2) {
        count *= 2;
    }
    if (count > doc->scratch_cap / sizeof(struct slot)) {
        void *scratch = malloc(count * sizeof(struct slot));
        if (scratch == NULL) {
            return NULL;
        }
        free(doc->scratch);
        doc->scratch = scratch;
        doc->scratch_cap = count * sizeof(struct slot);
    }
    *ret_count = count;
    return memset(doc->scratch, 0, count * sizeof(struct slot));
}

static bool check_large(struct json_doc *doc, uint32_t object, uint32_t *first)
{
    struct json_value *values = doc->values;
    size_t count;
    struct slot *slots = take_slots(doc, values[object].count, &count);
    if (slots == NULL) {
        return false;
    }
    if (!doc->seeded && !random_bytes(doc->seed, sizeof(doc->seed))) {
        return false;
    }
    doc->seeded = true;
    for (uint32_t i = object + 1; i < values[object].next; i = values[i + 1].next) {
        uint32_t hash = sip_hash(doc->seed, values[i].str, values[i].str_len);
        size_t at = hash & (count - 1);
        while (slots[at].key != 0 &&
               (slots[at].hash != hash || !equal_keys(&values[slots[at].key], &values[i]))) {
            at = (at + 1) & (count - 1);
        }
        if (slots[at].key != 0) {
            mark(doc, &values[i], first);
        } else {
            slots[at] = (struct slot){i, hash};
        }
    }
    return true;
}

bool json_keys_check(struct json_doc *doc, uint32_t object, uint32_t *first)
{
    if (doc->values[object].count > SMALL) {
        return check_large(doc, object, first);
    }
    check_small(doc, object, first);
    return true;
}
