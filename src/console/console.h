/* `callgate console`: a page for the people who approve.
 *
 * A program of its own, because no gate and no hook shall link an HTTP server. It sees what `pending` sees and answers as
 * `approve` and `refuse` do, by way of the gate's interface for people: the store decides who was first, and the page may
 * be absent or started anew without a gate that notices. Who may answer stands in people.json; what proves who somebody
 * is (a passkey, a password, a link that counts once) stands in console.json of the state directory.
 *
 * What the page demands of a browser, in the order of looking: the host's name and the origin are this page's; the
 * session's cookie and its token, which no other origin can read, belong together; a change says so in JSON. One thread
 * does all of it. */
#ifndef CONSOLE_CONSOLE_H
#define CONSOLE_CONSOLE_H

#include "gate/gate.h"
#include "people/roster.h"

struct console_options {
    const char *state_dir;
    const char *home;
    const char *people_file;       /* NULL: the standard one */
    const char *address;           /* where to listen: 127.0.0.1, or another address of this machine */
    uint16_t port;                 /* 0: any */
    const char *name;              /* the host's name in links; "localhost" unless the world may come */
    const char *certificate, *key; /* files of TLS; NULL: none */
};

/* ---- Accounts (accounts.c): what proves who somebody is ---- */

#define ACCOUNTS_FILE   "console.json"
#define PASSWORD_LEAST  12u   /* characters */
#define PASSWORD_MOST   1024u /* bytes */
#define PASSKEYS_MOST   16u   /* of one account */
#define PASSKEY_BYTES   259u
#define LINK_MS         900000
#define SECRET_BYTES    32u
#define SECRET_TEXT     44u /* base64url without its padding, and a NUL */
#define CREDENTIAL_MOST 1023u

struct console_password {
    uint8_t salt[16], hash[32];
    uint32_t n, r, p; /* of scrypt; n 0: no password */
};

struct console_passkey {
    struct slice id; /* as the authenticator gave it */
    uint8_t key
        [PASSKEY_BYTES]; /* as libfido2 has it: an ES256 key's point, or an RS256 key's modulus and exponent */
    size_t key_len;
    uint32_t count;    /* the authenticator's counter at the last use */
    struct slice name; /* what its owner calls it */
    int64_t added_ms;
};

struct console_account {
    struct slice name; /* `page` in people.json */
    struct console_password password;
    struct console_passkey *passkeys;
    size_t passkey_count;
};

/* A link that signs somebody in once. */
struct console_link {
    uint8_t hash[32];
    struct slice account; /* empty: the system's user who runs the page */
    int64_t expires_ms;
};

struct console_accounts {
    struct console_account *list;
    size_t count;
    struct console_link *links;
    size_t link_count;
    struct slice address; /* of the page that runs, or ran last */
    struct arena arena;   /* owns all of it */
};

/* Reads console.json of a state directory; a file that is not there holds nothing. False with a line for people. */
MUST_USE bool accounts_read(struct console_accounts *ret_accounts, int state_dir, struct buf *ret_error);
void accounts_finish(struct console_accounts *accounts);

/* The account of a name, made if `make`; or NULL. */
struct console_account *accounts_find(struct console_accounts *accounts, struct slice name, bool make);

/* Changes console.json: reads it under a lock, has it changed, and writes it. `change` returns false when there is nothing
 * to be written. False with a line for people, which is empty when `change` wanted nothing. */
typedef bool accounts_change(struct console_accounts *accounts, void *context);
MUST_USE bool accounts_update(int state_dir, accounts_change *change, void *context, struct buf *ret_error);

/* Makes a link for an account (empty: the system's user), writes its secret, and keeps its hash. */
MUST_USE bool accounts_make_link(int state_dir, struct slice account, int64_t now_ms,
                                 char ret_secret[SECRET_TEXT], struct buf *ret_error);

/* Takes a link away if it is there and is not over. The account is copied, with a NUL. False: it does not count. */
MUST_USE bool accounts_take_link(int state_dir, struct slice secret, int64_t now_ms, char *ret_account,
                                 size_t account_size);

/* ---- Secrets (secret.c) ---- */

/* A new one: random bytes as base64url. */
MUST_USE bool secret_make(char ret_text[SECRET_TEXT]);
void secret_hash(struct slice text, uint8_t ret_hash[32]);
bool secret_same(const uint8_t a[32], const uint8_t b[32]); /* in constant time */

/* Base64url without padding. False when it is none, or longer than `size` bytes. */
MUST_USE bool base64url_read(struct slice text, uint8_t *ret_bytes, size_t size, size_t *ret_len);
void base64url_write(struct buf *buf, const uint8_t *bytes, size_t len);

/* A new password's salt and hash: takes about a tenth of a second and 32 MiB. */
MUST_USE bool password_make(struct slice password, struct console_password *ret);
/* Whether a password is that of an account. `account` NULL, or without a password: takes as long, and is false. */
bool password_matches(struct slice password, const struct console_account *account);

/* ---- The program (main.c, verbs.c) ---- */

/* `callgate console`: serves until it is told to end. */
MUST_USE int console_run(const struct console_options *options);

/* `callgate console link|password|accounts|forget`, with the account where one is meant. */
MUST_USE int console_verb(const struct console_options *options, const char *verb, const char *account);

/* A line for the operator, to standard error: no secret, no text of a call. */
void console_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
