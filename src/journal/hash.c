/* The one place that knows libcrypto.
 *
 * The older calls on purpose. They are the same assembly as behind EVP_DigestInit, but need no start, no
 * memory and no lock, and nothing else in libcrypto: finding a digest through its providers takes a hook,
 * which makes two hashes and is gone, more than reading its policy does; and neither OPENSSL_CONF nor a
 * provider can put other code in their place. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "journal/hash.h"

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

void hash_to_hex(const uint8_t hash[HASH_SIZE], char ret_hex[HASH_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < HASH_SIZE; i++) {
        ret_hex[2 * i] = digits[hash[i] >> 4];
        ret_hex[2 * i + 1] = digits[hash[i] & 15];
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
