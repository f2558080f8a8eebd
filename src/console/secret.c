/* Secrets: random texts, their hashes, passwords. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

#include "console/console.h"

/* Of scrypt: 32 MiB and three passes, as OWASP has it for a program that may not take more. */
#define SCRYPT_N      32768u
#define SCRYPT_R      8u
#define SCRYPT_P      3u
#define SCRYPT_MEMORY ((uint64_t)64 << 20)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_write(struct buf *buf, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        for (size_t k = 0; k < (left > 2 ? 4 : left + 1); k++) {
            buf_byte(buf, alphabet[three >> (18 - 6 * k) & 63]);
        }
    }
}

bool base64url_read(struct slice text, uint8_t *ret_bytes, size_t size, size_t *ret_len)
{
    uint32_t bits = 0;
    size_t have = 0, len = 0;
    if (text.len % 4 == 1) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        const char *at = text.ptr[i] != '\0' ? strchr(alphabet, text.ptr[i]) : NULL;
        if (at == NULL) {
            return false;
        }
        bits = bits << 6 | (uint32_t)(at - alphabet);
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (len == size) {
                return false;
            }
            ret_bytes[len++] = (uint8_t)(bits >> have);
        }
    }
    if ((bits & ((1u << have) - 1)) != 0) { /* one text for one secret */
        return false;
    }
    *ret_len = len;
    return true;
}

bool secret_make(char ret_text[SECRET_TEXT])
{
    uint8_t bytes[SECRET_BYTES];
    struct buf text;
    if (!random_bytes(bytes, sizeof(bytes))) {
        return false;
    }
    buf_init(&text, SECRET_TEXT);
    base64url_write(&text, bytes, sizeof(bytes));
    bool ok = buf_ok(&text) && text.len == SECRET_TEXT - 1;
    if (ok) {
        memcpy(ret_text, text.ptr, text.len);
        ret_text[text.len] = '\0';
        OPENSSL_cleanse(text.ptr, text.len);
    }
    buf_finish(&text);
    return ok;
}

void secret_hash(struct slice text, uint8_t ret_hash[32])
{
    if (!hash_bytes(text, ret_hash)) {
        /* A hash that cannot be made is like no other. */
        if (RAND_bytes(ret_hash, 32) != 1) {
            memset(ret_hash, 0xff, 32);
        }
    }
}

bool secret_same(const uint8_t a[32], const uint8_t b[32])
{
    return CRYPTO_memcmp(a, b, 32) == 0;
}

static bool derive(struct slice password, const struct console_password *with, uint8_t ret_hash[32])
{
    return EVP_PBE_scrypt(password.ptr, password.len, with->salt, sizeof(with->salt), with->n, with->r,
                          with->p, SCRYPT_MEMORY, ret_hash, 32) == 1;
}

bool password_make(struct slice password, struct console_password *ret)
{
    struct console_password made = {.n = SCRYPT_N, .r = SCRYPT_R, .p = SCRYPT_P};
    if (!random_bytes(made.salt, sizeof(made.salt)) || !derive(password, &made, made.hash)) {
        return false;
    }
    *ret = made;
    return true;
}

bool password_matches(struct slice password, const struct console_account *account)
{
    static const struct console_password nobodys = {.n = SCRYPT_N, .r = SCRYPT_R, .p = SCRYPT_P};
    bool has = account != NULL && account->password.n != 0;
    const struct console_password *kept = has ? &account->password : &nobodys;
    uint8_t hash[32];
    bool made = derive(password, kept, hash);
    return has && made && CRYPTO_memcmp(hash, kept->hash, sizeof(hash)) == 0;
}
