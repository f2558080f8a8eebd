/* The one place that knows libcrypto.
 *
 * The older calls on purpose. They are the same assembly as behind EVP_DigestInit, but need no start, no
 * memory and no lock, and nothing else in libcrypto: finding a digest through its providers takes a hook,
 * which makes two hashes and is gone, more than reading its policy does; and neither OPENSSL_CONF nor a
 * provider can put other code in their place. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "journal/hash_internal.h"

#include <stdlib.h>
#include <string.h>

#include "journal/journal.h"

bool hasher_begin(struct hasher *hasher)
{
    return SHA256_Init(&hasher->context) == 1;
}

bool hasher_add(struct hasher *hasher, struct slice bytes)
{
    return bytes.len == 0 || SHA256_Update(&hasher->context, bytes.ptr, bytes.len) == 1;
}

bool hasher_end(struct hasher *hasher, uint8_t ret_hash[HASH_SIZE])
{
    return SHA256_Final(ret_hash, &hasher->context) == 1;
}

bool hash_bytes(struct slice bytes, uint8_t ret_hash[HASH_SIZE])
{
    struct hasher hasher;
    return hasher_begin(&hasher) && hasher_add(&hasher, bytes) && hasher_end(&hasher, ret_hash);
}

struct hash_stream {
    struct hasher hasher;
    bool whole; /* nothing has failed */
};

struct hash_stream *hash_begin(void)
{
    struct hash_stream *stream = malloc(sizeof(*stream));
    if (stream != NULL) {
        stream->whole = hasher_begin(&stream->hasher);
    }
    return stream;
}

void hash_add(struct hash_stream *stream, struct slice bytes)
{
    if (stream != NULL) {
        stream->whole = hasher_add(&stream->hasher, bytes) && stream->whole;
    }
}

bool hash_end(struct hash_stream *stream, uint8_t ret_hash[HASH_SIZE])
{
    bool whole = stream != NULL && stream->whole && hasher_end(&stream->hasher, ret_hash);
    free(stream);
    return whole;
}

/* The digits of four bytes at once, in the bytes of a word. */
static uint64_t to_digits(uint64_t four)
{
    uint64_t halves = four & 0xffff0000u;
    four = (halves << 16 | (four & 0xffff));
    four = (four << 8 | four) & 0x00ff00ff00ff00ffu;
    four = (four << 4 | four) & 0x0f0f0f0f0f0f0f0fu;
    uint64_t letters = (four + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
    return four + 0x3030303030303030u + letters * ('a' - '0' - 10);
}

void hash_to_hex(const uint8_t hash[HASH_SIZE], char ret_hex[HASH_HEX + 1])
{
    for (size_t i = 0; i < HASH_SIZE; i += 4) {
        uint32_t four = (uint32_t)hash[i] << 24 | (uint32_t)hash[i + 1] << 16 | (uint32_t)hash[i + 2] << 8 |
                        (uint32_t)hash[i + 3];
        uint64_t digits = to_digits(four);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        digits = __builtin_bswap64(digits);
#endif
        memcpy(ret_hex + 2 * i, &digits, sizeof(digits));
    }
    ret_hex[HASH_HEX] = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hash_from_hex(struct slice hex, uint8_t ret_hash[HASH_SIZE])
{
    uint8_t hash[HASH_SIZE];
    if (hex.len != HASH_HEX) {
        return false;
    }
    for (size_t i = 0; i < HASH_SIZE; i++) {
        int high = digit_value(hex.ptr[2 * i]);
        int low = digit_value(hex.ptr[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        hash[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(ret_hash, hash, HASH_SIZE);
    return true;
}
