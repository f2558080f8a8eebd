/* SHA-256: known answers, one context used again and again, and an environment that must not matter. */
#include <stdlib.h>

#include "../../check.h"
#include "journal/hash_internal.h"
#include "journal/journal.h"

static bool hashes_to(struct slice bytes, const char *want)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    if (!hash_bytes(bytes, hash)) {
        return false;
    }
    hash_to_hex(hash, hex);
    return strcmp(hex, want) == 0;
}

static const char of_nothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char of_abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

static void test_known(void)
{
    CHECK(hashes_to((struct slice){NULL, 0}, of_nothing));
    CHECK(hashes_to(SLICE("abc"), of_abc));
    CHECK(hashes_to(SLICE("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    CHECK(hashes_to((struct slice){million, 1000000},
                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
    free(million);
}

static void test_hasher(void)
{
    struct hasher hasher;
    uint8_t hash[HASH_SIZE], want[HASH_SIZE];
    CHECK(hash_from_hex(slice_of(of_abc), want));
    for (int i = 0; i < 3; i++) {
        CHECK(hasher_begin(&hasher) && hasher_add(&hasher, SLICE("a")) && hasher_add(&hasher, SLICE("")) &&
              hasher_add(&hasher, SLICE("bc")) && hasher_end(&hasher, hash));
        CHECK(memcmp(hash, want, HASH_SIZE) == 0);
    }
    /* Begun anew in the middle. */
    CHECK(hasher_begin(&hasher) && hasher_add(&hasher, SLICE("xyz")));
    CHECK(hashes_to(SLICE("abc"), of_abc)); /* another context */
    CHECK(hasher_begin(&hasher) && hasher_add(&hasher, SLICE("abc")) && hasher_end(&hasher, hash));
    CHECK(memcmp(hash, want, HASH_SIZE) == 0);
}

static void test_hex(void)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    CHECK(hash_from_hex(slice_of(of_abc), hash));
    hash_to_hex(hash, hex);
    CHECK(strcmp(hex, of_abc) == 0);
    char bad[HASH_HEX + 1];
    static const char others[] = "GgAF/:@`{ \x80";
    for (size_t i = 0; i < sizeof(others) - 1; i++) {
        memcpy(bad, of_abc, sizeof(bad));
        bad[i % 2 == 0 ? 0 : HASH_HEX - 1] = others[i];
        CHECK(!hash_from_hex(slice_of(bad), hash));
    }
    CHECK(!hash_from_hex((struct slice){of_abc, HASH_HEX - 1}, hash));
    CHECK(!hash_from_hex(SLICE(""), hash));
}

int main(void)
{
    /* A configuration file that would make every digest unavailable, were it read. */
    char path[] = "/tmp/callgate-test-XXXXXX";
    int fd = mkstemp(path);
    FILE *config = fd < 0 ? NULL : fdopen(fd, "w");
    if (config == NULL) {
        return 1;
    }
    (void)fputs("openssl_conf = init\n[init]\nalg_section = evp\n[evp]\ndefault_properties = provider=none\n",
                config);
    (void)fclose(config);
    (void)setenv("OPENSSL_CONF", path, 1);
    test_known();
    test_hasher();
    test_hex();
    (void)remove(path);
    return check_done();
}
