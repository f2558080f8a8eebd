/* Signing in and out: by a link, by a password, by a passkey. */
#include <openssl/crypto.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "console/internal.h"

#define NAME_MOST 128u

static void write_session(struct exchange *x, const struct session *session, const char *token)
{
    struct buf name, account;
    buf_init(&name, MESSAGE_BYTES);
    buf_init(&account, MESSAGE_BYTES);
    session_person(x->console, session, &name);
    session_account(x->console, session, &account);
    buf_text(&x->out, "{\"person\":");
    if (name.len > 0) {
        json_write_bytes(&x->out, buf_slice_of(&name));
    } else {
        buf_text(&x->out, "null");
    }
    buf_text(&x->out, ",\"account\":");
    json_write_bytes(&x->out, buf_slice_of(&account));
    buf_text(&x->out, ",\"id\":");
    json_write_bytes(&x->out, slice_of(session->id));
    buf_printf(&x->out, ",\"way\":\"%s\",\"fresh\":%s", session->way,
               clock_boot_ms() - session->began_ms < FRESH_MS ? "true" : "false");
    buf_printf(&x->out, ",\"ends\":%lld",
               (long long)(clock_wall_ms() + SESSION_MS - (clock_boot_ms() - session->began_ms)));
    if (token != NULL) {
        buf_printf(&x->out, ",\"token\":\"%s\"", token);
    }
    buf_byte(&x->out, '}');
    buf_finish(&name);
    buf_finish(&account);
}

void answer_session(struct exchange *x)
{
    write_session(x, x->session, NULL);
}

/* Begins the session of whoever has proved who they are. */
static void admit(struct exchange *x, enum people_surface surface, const char *id, const char *way)
{
    char token[SECRET_TEXT];
    struct session *session = session_begin(x->console, surface, id, way, x->cookie, token);
    if (session == NULL) {
        x->cookie[0] = '\0';
        console_note(x->console, "console.refused", "unknown-person", NULL);
        exchange_fail(x, MHD_HTTP_FORBIDDEN, "person");
        return;
    }
    console_note(x->console, "console.signed_in", way, session);
    write_session(x, session, token);
    OPENSSL_cleanse(token, sizeof(token));
}

static void refuse_proof(struct exchange *x, const char *why)
{
    console_note(x->console, "console.refused", why, NULL);
    exchange_fail(x, MHD_HTTP_FORBIDDEN, "proof");
}

/* Whoever tries too often waits. */
static bool may_try(struct exchange *x, struct bucket *bucket)
{
    if (bucket_take(bucket, clock_boot_ms())) {
        return true;
    }
    console_note(x->console, "console.refused", "too-often", NULL);
    exchange_fail(x, MHD_HTTP_TOO_MANY_REQUESTS, "often");
    return false;
}

void answer_sign_in_link(struct exchange *x)
{
    struct json_doc doc;
    char account[NAME_MOST];
    if (exchange_json(x, &doc) && may_try(x, &x->console->sign_ins)) {
        if (!accounts_take_link(x->console->state, member_text(&doc, "link"), clock_wall_ms(), account,
                                sizeof(account))) {
            refuse_proof(x, "link");
        } else if (account[0] != '\0') {
            admit(x, PEOPLE_PAGE, account, "link");
        } else {
            struct buf own;
            buf_init(&own, NAME_MOST);
            people_own_name(&own);
            buf_byte(&own, '\0');
            admit(x, PEOPLE_USER, buf_ok(&own) ? own.ptr : "", "link");
            buf_finish(&own);
        }
    }
    json_finish(&doc);
}

static bool read_accounts(struct exchange *x, struct console_accounts *ret_accounts)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool read = accounts_read(ret_accounts, x->console->state, &error);
    if (!read) {
        console_say("%.*s", SLICE_FMT(buf_message(&error)));
        exchange_fail(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "accounts");
    }
    buf_finish(&error);
    return read;
}

void answer_sign_in_password(struct exchange *x)
{
    struct json_doc doc;
    struct console_accounts accounts;
    if (exchange_json(x, &doc) && may_try(x, &x->console->passwords) && read_accounts(x, &accounts)) {
        struct slice name = member_text(&doc, "account"), password = member_text(&doc, "password");
        const struct console_account *account = accounts_find(&accounts, name, false);
        bool same = password.len <= PASSWORD_MOST && password_matches(password, account);
        if (same && account != NULL && name.len < NAME_MOST) {
            struct slice copy = arena_copy(&accounts.arena, name);
            admit(x, PEOPLE_PAGE, copy.ptr != NULL ? copy.ptr : "", "password");
        } else {
            refuse_proof(x, "password");
        }
        accounts_finish(&accounts);
    }
    json_finish(&doc);
    if (x->body.ptr != NULL) {
        OPENSSL_cleanse(x->body.ptr, x->body.len);
    }
}

static void write_challenge(struct exchange *x, uint64_t session)
{
    uint8_t challenge[32];
    if (!challenge_make(x->console, session, challenge)) {
        exchange_fail(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "memory");
        return;
    }
    buf_text(&x->out, "{\"challenge\":\"");
    base64url_write(&x->out, challenge, sizeof(challenge));
    buf_text(&x->out, "\",\"party\":");
    json_write_bytes(&x->out, slice_of(x->console->options.name));
}

void answer_sign_in_challenge(struct exchange *x)
{
    write_challenge(x, 0);
    buf_byte(&x->out, '}');
}

/* ---- Passkeys ---- */

/* A member that is base64url, as bytes in the arena. */
static struct slice member_bytes(const struct json_doc *doc, const char *name, struct arena *arena)
{
    struct slice text = member_text(doc, name);
    uint8_t *bytes = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    return bytes != NULL && base64url_read(text, bytes, text.len, &len)
               ? (struct slice){(const char *)bytes, len}
               : SLICE("");
}

static struct passkey_proof read_proof(const struct json_doc *doc, struct arena *arena)
{
    return (struct passkey_proof){
        .client_data = member_bytes(doc, "clientData", arena),
        .authenticator_data = member_bytes(doc, "authenticatorData", arena),
        .signature = member_bytes(doc, "signature", arena),
    };
}

static struct console_passkey *find_passkey(const struct console_accounts *accounts, struct slice id,
                                            const struct console_account **ret_account)
{
    for (size_t i = 0; id.len > 0 && i < accounts->count; i++) {
        for (size_t k = 0; k < accounts->list[i].passkey_count; k++) {
            if (slice_eq(accounts->list[i].passkeys[k].id, id)) {
                *ret_account = &accounts->list[i];
                return &accounts->list[i].passkeys[k];
            }
        }
    }
    return NULL;
}

struct key_change {
    struct slice account;
    struct console_passkey key;
    struct console_password password;
    bool duplicate;
};

static bool set_count(struct console_accounts *accounts, void *context)
{
    const struct key_change *change = context;
    const struct console_account *account;
    struct console_passkey *key = find_passkey(accounts, change->key.id, &account);
    /* Of two uses at once the later counter must be the greater one, here as well. */
    if (key == NULL || (key->count != 0 && key->count >= change->key.count)) {
        return false;
    }
    key->count = change->key.count;
    return true;
}

static bool update(struct exchange *x, accounts_change *change, struct key_change *context)
{
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool done = accounts_update(x->console->state, change, context, &error);
    if (!done && error.len > 0) {
        console_say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return done;
}

void answer_sign_in_passkey(struct exchange *x)
{
    struct json_doc doc;
    struct console_accounts accounts;
    if (exchange_json(x, &doc) && may_try(x, &x->console->sign_ins) && read_accounts(x, &accounts)) {
        const struct console_account *account = NULL;
        struct key_change change = {0};
        struct passkey_proof proof = read_proof(&doc, &accounts.arena);
        const struct console_passkey *key =
            find_passkey(&accounts, member_bytes(&doc, "id", &accounts.arena), &account);
        if (key != NULL && passkey_verify(x->console, &proof, key, &change.key.count)) {
            change.key.id = key->id;
            if (change.key.count == 0 || update(x, set_count, &change)) {
                admit(x, PEOPLE_PAGE, account->name.ptr, "passkey");
            } else {
                refuse_proof(x, "passkey");
            }
        } else {
            refuse_proof(x, "passkey");
        }
        accounts_finish(&accounts);
    }
    json_finish(&doc);
}

void answer_sign_out(struct exchange *x)
{
    console_note(x->console, "console.signed_out", "asked", x->session);
    session_end(x->console, x->session);
    x->session = NULL;
    x->clears_cookie = true;
    buf_text(&x->out, "{}");
}

/* ---- One's own credentials ---- */

/* The account whose credentials a session may change now. False, with the answer set. */
static bool own_account(struct exchange *x, bool change, struct buf *ret_account)
{
    session_account(x->console, x->session, ret_account);
    if (!buf_ok(ret_account) || ret_account->len == 0 || ret_account->len >= NAME_MOST) {
        exchange_fail(x, MHD_HTTP_CONFLICT, "no-account");
        return false;
    }
    if (change && clock_boot_ms() - x->session->began_ms >= FRESH_MS) {
        exchange_fail(x, MHD_HTTP_FORBIDDEN, "stale");
        return false;
    }
    return true;
}

static void write_ids(struct exchange *x, const struct console_account *account, bool names)
{
    buf_byte(&x->out, '[');
    for (size_t i = 0; account != NULL && i < account->passkey_count; i++) {
        const struct console_passkey *key = &account->passkeys[i];
        buf_text(&x->out, i > 0 ? ",{\"id\":\"" : "{\"id\":\"");
        base64url_write(&x->out, (const uint8_t *)key->id.ptr, key->id.len);
        buf_byte(&x->out, '"');
        if (names) {
            buf_printf(&x->out, ",\"added\":%lld,\"name\":", (long long)key->added_ms);
            json_write_bytes(&x->out, key->name);
        }
        buf_byte(&x->out, '}');
    }
    buf_byte(&x->out, ']');
}

void answer_credentials(struct exchange *x)
{
    struct console_accounts accounts;
    struct buf name;
    buf_init(&name, MESSAGE_BYTES);
    if (own_account(x, false, &name) && read_accounts(x, &accounts)) {
        const struct console_account *account = accounts_find(&accounts, buf_slice_of(&name), false);
        buf_printf(&x->out, "{\"password\":%s,\"passkeys\":",
                   account != NULL && account->password.n != 0 ? "true" : "false");
        write_ids(x, account, true);
        buf_byte(&x->out, '}');
        accounts_finish(&accounts);
    }
    buf_finish(&name);
}

void answer_passkey_challenge(struct exchange *x)
{
    struct console_accounts accounts;
    struct buf name;
    buf_init(&name, MESSAGE_BYTES);
    if (own_account(x, true, &name) && read_accounts(x, &accounts)) {
        uint8_t
            handle[32]; /* what the authenticator keeps the account by: no name leaves the machine with it */
        write_challenge(x, x->session->number);
        secret_hash(buf_slice_of(&name), handle);
        buf_text(&x->out, ",\"account\":");
        json_write_bytes(&x->out, buf_slice_of(&name));
        buf_text(&x->out, ",\"handle\":\"");
        base64url_write(&x->out, handle, sizeof(handle));
        buf_text(&x->out, "\",\"known\":");
        write_ids(x, accounts_find(&accounts, buf_slice_of(&name), false), false);
        buf_byte(&x->out, '}');
        accounts_finish(&accounts);
    }
    buf_finish(&name);
}

static bool add_key(struct console_accounts *accounts, void *context)
{
    struct key_change *change = context;
    const struct console_account *owner;
    struct console_account *account = accounts_find(accounts, change->account, true);
    change->duplicate = find_passkey(accounts, change->key.id, &owner) != NULL;
    if (account == NULL || change->duplicate || account->passkey_count >= PASSKEYS_MOST) {
        return false;
    }
    struct console_passkey *list = arena_array(&accounts->arena, account->passkey_count + 1, sizeof(*list));
    if (list == NULL) {
        return false;
    }
    if (account->passkey_count > 0) {
        memcpy(list, account->passkeys, account->passkey_count * sizeof(*list));
    }
    list[account->passkey_count++] = change->key;
    account->passkeys = list;
    return true;
}

/* What an owner calls a passkey: a short text of what people see. */
static struct slice label(struct slice wanted)
{
    return wanted.len > 0 && wanted.len <= 64 && people_name_usable(wanted) ? wanted : SLICE("passkey");
}

static void finish_change(struct exchange *x, bool done, const char *what)
{
    if (done) {
        console_note(x->console, "console.credentials", what, x->session);
        buf_text(&x->out, "{}");
    } else {
        exchange_fail(x, MHD_HTTP_CONFLICT, "change");
    }
}

void answer_passkey_add(struct exchange *x)
{
    struct json_doc doc;
    struct buf name;
    struct arena arena;
    arena_init(&arena, 1u << 20);
    buf_init(&name, MESSAGE_BYTES);
    if (exchange_json(x, &doc) && own_account(x, true, &name)) {
        struct key_change change = {.account = buf_slice_of(&name)};
        const struct passkey_proof proof = read_proof(&doc, &arena);
        if (passkey_read(x->console, x->session, &proof, &arena, &change.key)) {
            change.key.name = label(member_text(&doc, "name"));
            change.key.added_ms = clock_wall_ms();
            finish_change(x, update(x, add_key, &change), "passkey-added");
        } else {
            exchange_fail(x, MHD_HTTP_BAD_REQUEST, "passkey");
        }
    }
    json_finish(&doc);
    buf_finish(&name);
    arena_finish(&arena);
}

static bool remove_key(struct console_accounts *accounts, void *context)
{
    const struct key_change *change = context;
    struct console_account *account = accounts_find(accounts, change->account, false);
    for (size_t i = 0; account != NULL && i < account->passkey_count; i++) {
        if (slice_eq(account->passkeys[i].id, change->key.id)) {
            account->passkeys[i] = account->passkeys[--account->passkey_count];
            return true;
        }
    }
    return false;
}

void answer_passkey_remove(struct exchange *x)
{
    struct json_doc doc;
    struct buf name;
    struct arena arena;
    arena_init(&arena, 1u << 20);
    buf_init(&name, MESSAGE_BYTES);
    if (exchange_json(x, &doc) && own_account(x, true, &name)) {
        struct key_change change = {.account = buf_slice_of(&name),
                                    .key.id = member_bytes(&doc, "id", &arena)};
        finish_change(x, update(x, remove_key, &change), "passkey-removed");
    }
    json_finish(&doc);
    buf_finish(&name);
    arena_finish(&arena);
}

static bool set_password(struct console_accounts *accounts, void *context)
{
    const struct key_change *change = context;
    struct console_account *account = accounts_find(accounts, change->account, true);
    if (account != NULL) {
        account->password = change->password;
    }
    return account != NULL;
}

void answer_password_set(struct exchange *x)
{
    struct json_doc doc;
    struct buf name;
    buf_init(&name, MESSAGE_BYTES);
    if (exchange_json(x, &doc) && own_account(x, true, &name)) {
        struct slice password = member_text(&doc, "password");
        struct key_change change = {.account = buf_slice_of(&name)};
        if (password.len > PASSWORD_MOST || utf8_count(password) < PASSWORD_LEAST) {
            exchange_fail(x, MHD_HTTP_BAD_REQUEST, "password");
        } else if (may_try(x, &x->console->passwords)) {
            finish_change(x, password_make(password, &change.password) && update(x, set_password, &change),
                          "password-set");
        }
    }
    json_finish(&doc);
    if (x->body.ptr != NULL) {
        OPENSSL_cleanse(x->body.ptr, x->body.len);
    }
    buf_finish(&name);
}
