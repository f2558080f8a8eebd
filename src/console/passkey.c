/* Passkeys: what an authenticator has signed, checked by libfido2. */
#include <fido.h>
#include <fido/es256.h>
#include <fido/rs256.h>
#include <string.h>

#include "console/internal.h"

#define FLAG_PRESENT    0x01u
#define FLAG_VERIFIED   0x04u
#define FLAG_CREDENTIAL 0x40u
#define ES256_BYTES     64u
#define CLIENT_DATA     (16u << 10)

/* The name that the keys are bound to: the host's, without the port. */
static const char *party(const struct console *console)
{
    return console->options.name;
}

/* What the browser says: for what, in answer to which challenge, and for which page. */
static bool client_data_is_ours(struct console *console, const struct passkey_proof *proof, const char *type,
                                uint64_t session)
{
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 8, .max_bytes = CLIENT_DATA};
    uint8_t challenge[64];
    size_t len = 0;
    json_init(&doc);
    bool ok = json_parse(&doc, proof->client_data, &options, &error) &&
              slice_is(member_text(&doc, "type"), type) &&
              slice_is(member_text(&doc, "origin"), console->origin) &&
              !json_is(json_get(&doc, json_root(&doc), "crossOrigin"), JSON_TRUE) &&
              base64url_read(member_text(&doc, "challenge"), challenge, sizeof(challenge), &len) &&
              challenge_take(console, session, challenge, len);
    json_finish(&doc);
    return ok;
}

/* The data begins with the hash of the page's name and a byte of flags. */
static bool data_is_ours(const struct console *console, struct slice data, unsigned flags)
{
    uint8_t name[32];
    if (data.len < 37 || !hash_bytes(slice_of(party(console)), name)) {
        return false;
    }
    return memcmp(data.ptr, name, sizeof(name)) == 0 && ((unsigned char)data.ptr[32] & flags) == flags;
}

/* A key that was checked: the algorithm that its length tells, and what libfido2 makes of it. */
struct public_key {
    int type;
    es256_pk_t *es256;
    rs256_pk_t *rs256;
    const void *any;
};

static bool open_key(const struct console_passkey *key, struct public_key *ret)
{
    bool ok = false;
    *ret = (struct public_key){.type = key->key_len == ES256_BYTES ? COSE_ES256 : COSE_RS256};
    if (ret->type == COSE_ES256) {
        ret->any = ret->es256 = es256_pk_new();
        ok = ret->es256 != NULL && es256_pk_from_ptr(ret->es256, key->key, key->key_len) == FIDO_OK;
    } else {
        ret->any = ret->rs256 = rs256_pk_new();
        ok = ret->rs256 != NULL && rs256_pk_from_ptr(ret->rs256, key->key, key->key_len) == FIDO_OK;
    }
    return ok;
}

static void close_key(struct public_key *key)
{
    es256_pk_free(&key->es256);
    rs256_pk_free(&key->rs256);
}

/* Reads a new key of one algorithm out of what the authenticator said. */
static bool read_key(struct slice data, int type, struct arena *arena, struct console_passkey *ret_key)
{
    fido_cred_t *cred = fido_cred_new();
    struct public_key opened = {0};
    bool ok = cred != NULL && fido_cred_set_type(cred, type) == FIDO_OK &&
              fido_cred_set_authdata_raw(cred, (const unsigned char *)data.ptr, data.len) == FIDO_OK &&
              fido_cred_id_len(cred) > 0 && fido_cred_id_len(cred) <= CREDENTIAL_MOST &&
              fido_cred_pubkey_len(cred) > 0 && fido_cred_pubkey_len(cred) <= PASSKEY_BYTES;
    if (ok) {
        ret_key->key_len = fido_cred_pubkey_len(cred);
        memcpy(ret_key->key, fido_cred_pubkey_ptr(cred), ret_key->key_len);
        ret_key->count = fido_cred_sigcount(cred);
        ret_key->id =
            arena_copy(arena, (struct slice){(const char *)fido_cred_id_ptr(cred), fido_cred_id_len(cred)});
        /* A key that is none of the curve is none at all. */
        ok = ret_key->id.ptr != NULL && open_key(ret_key, &opened) && opened.type == type;
        close_key(&opened);
    }
    fido_cred_free(&cred);
    return ok;
}

bool passkey_read(struct console *console, const struct session *session, const struct passkey_proof *proof,
                  struct arena *arena, struct console_passkey *ret_key)
{
    struct slice data = proof->authenticator_data;
    struct console_passkey key = {0};
    if (!client_data_is_ours(console, proof, "webauthn.create", session->number) ||
        !data_is_ours(console, data, FLAG_PRESENT | FLAG_VERIFIED | FLAG_CREDENTIAL)) {
        return false;
    }
    if (!read_key(data, COSE_ES256, arena, &key) && !read_key(data, COSE_RS256, arena, &key)) {
        return false;
    }
    *ret_key = key;
    return true;
}

bool passkey_verify(struct console *console, const struct passkey_proof *proof,
                    const struct console_passkey *key, uint32_t *ret_count)
{
    struct slice data = proof->authenticator_data, signature = proof->signature;
    uint8_t hash[32];
    if (!client_data_is_ours(console, proof, "webauthn.get", 0) ||
        !data_is_ours(console, data, FLAG_PRESENT | FLAG_VERIFIED) || !hash_bytes(proof->client_data, hash)) {
        return false;
    }
    fido_assert_t *assertion = fido_assert_new();
    struct public_key opened;
    bool ok =
        open_key(key, &opened) && assertion != NULL &&
        fido_assert_set_clientdata_hash(assertion, hash, sizeof(hash)) == FIDO_OK &&
        fido_assert_set_rp(assertion, party(console)) == FIDO_OK &&
        fido_assert_set_count(assertion, 1) == FIDO_OK &&
        fido_assert_set_up(assertion, FIDO_OPT_TRUE) == FIDO_OK &&
        fido_assert_set_uv(assertion, FIDO_OPT_TRUE) == FIDO_OK &&
        fido_assert_set_authdata_raw(assertion, 0, (const unsigned char *)data.ptr, data.len) == FIDO_OK &&
        fido_assert_set_sig(assertion, 0, (const unsigned char *)signature.ptr, signature.len) == FIDO_OK &&
        fido_assert_verify(assertion, 0, opened.type, opened.any) == FIDO_OK;
    uint32_t count = ok ? fido_assert_sigcount(assertion, 0) : 0;
    fido_assert_free(&assertion);
    close_key(&opened);
    /* A counter that does not grow is that of a copy; an authenticator that keeps none always says zero. */
    ok = ok && ((count == 0 && key->count == 0) || count > key->count);
    if (ok) {
        *ret_count = count;
    }
    return ok;
}
