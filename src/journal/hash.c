/* The one place that knows libcrypto.
 *
 * Looking a digest up costs more than hashing a short text, so it is done once; so does making a context, so
 * the one of hash_bytes is kept, behind a lock. No configuration file is read: whoever can set OPENSSL_CONF
 * would otherwise choose which code computes the hashes. */
#include "journal/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>

#include "journal/journal.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256; /* NULL: libcrypto failed, and every call here fails */

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static EVP_MD_CTX *shared;

static void give_back(void)
{
    EVP_MD_CTX_free(shared);
    shared = NULL;
    EVP_MD_free(sha256);
    sha256 = NULL;
}

static void fetch(void)
{
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1) {
        return;
    }
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    shared = EVP_MD_CTX_new();
    /* The first start binds the context to the digest; later ones only rewind it. */
    if (sha256 == NULL || shared == NULL || EVP_DigestInit_ex2(shared, sha256, NULL) != 1 ||
        OPENSSL_atexit(give_back) != 1) {
        give_back();
    }
}

static bool ready(void)
{
    return pthread_once(&once, fetch) == 0 && sha256 != NULL;
}

bool hasher_init(struct hasher *hasher)
{
    EVP_MD_CTX *context = ready() ? EVP_MD_CTX_new() : NULL;
    if (context == NULL || EVP_DigestInit_ex2(context, sha256, NULL) != 1) {
        EVP_MD_CTX_free(context);
        *hasher = (struct hasher){NULL};
        return false;
    }
    *hasher = (struct hasher){context};
    return true;
}

void hasher_finish(struct hasher *hasher)
{
    if (hasher != NULL) {
        EVP_MD_CTX_free(hasher->context);
        *hasher = (struct hasher){NULL};
    }
}

bool hasher_begin(struct hasher *hasher)
{
    return hasher->context != NULL && EVP_DigestInit_ex2(hasher->context, NULL, NULL) == 1;
}

bool hasher_add(struct hasher *hasher, struct slice bytes)
{
    return bytes.len == 0 || EVP_DigestUpdate(hasher->context, bytes.ptr, bytes.len) == 1;
}

bool hasher_end(struct hasher *hasher, uint8_t ret_hash[HASH_SIZE])
{
    return EVP_DigestFinal_ex(hasher->context, ret_hash, NULL) == 1;
}

bool hash_bytes(struct slice bytes, uint8_t ret_hash[HASH_SIZE])
{
    if (!ready() || pthread_mutex_lock(&shared_lock) != 0) {
        return false;
    }
    struct hasher hasher = {shared};
    bool done = hasher_begin(&hasher) && hasher_add(&hasher, bytes) && hasher_end(&hasher, ret_hash);
    (void)pthread_mutex_unlock(&shared_lock);
    return done;
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
