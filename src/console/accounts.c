/* console.json: accounts with their passkeys and passwords, and links that count once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "console/console.h"

#define FILE_BYTES    ((size_t)4 << 20)
#define ACCOUNTS_LOCK "console.lock"
#define BESIDE        "console.json.new"
#define LINKS_MOST    64u
#define ACCOUNTS_MOST 1000u

static bool read_hex(struct slice hex, uint8_t *ret_bytes, size_t len)
{
    if (hex.len != 2 * len) {
        return false;
    }
    for (size_t i = 0; i < hex.len; i++) {
        char c = hex.ptr[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            return false;
        }
        ret_bytes[i / 2] = (uint8_t)(i % 2 == 0 ? digit << 4 : ret_bytes[i / 2] | digit);
    }
    return true;
}

static void write_hex(struct buf *buf, const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        buf_printf(buf, "%02x", ((const uint8_t *)bytes)[i]);
    }
}

/* ---- Reading ---- */

struct account_reading {
    const struct json_doc *doc;
    struct arena *arena;
    bool ok;
};

static struct slice text_of(struct account_reading *r, const struct json_value *object, const char *name)
{
    const struct json_value *v = json_get(r->doc, object, name);
    struct slice copy = arena_copy(r->arena, json_is(v, JSON_STRING) ? json_str(v) : SLICE(""));
    r->ok = r->ok && copy.ptr != NULL;
    return copy;
}

static int64_t number_of(const struct account_reading *r, const struct json_value *object, const char *name)
{
    const struct json_value *v = json_get(r->doc, object, name);
    int64_t number = 0;
    return json_is(v, JSON_NUMBER) && json_number_int(json_str(v), &number) == JSON_INT_OK ? number : 0;
}

static void read_password(struct account_reading *r, const struct json_value *object,
                          struct console_password *ret)
{
    const struct json_value *v = json_get(r->doc, object, "password");
    if (v == NULL) {
        return;
    }
    int64_t n = number_of(r, v, "n"), cost = number_of(r, v, "r"), passes = number_of(r, v, "p");
    /* What would take more than we ever write is not ours. */
    r->ok = r->ok && n >= 1024 && n <= 1 << 15 && cost >= 1 && cost <= 8 && passes >= 1 && passes <= 8 &&
            read_hex(text_of(r, v, "salt"), ret->salt, sizeof(ret->salt)) &&
            read_hex(text_of(r, v, "hash"), ret->hash, sizeof(ret->hash));
    if (r->ok) {
        ret->n = (uint32_t)n;
        ret->r = (uint32_t)cost;
        ret->p = (uint32_t)passes;
    }
}

static void read_passkey(struct account_reading *r, const struct json_value *v, struct console_passkey *ret)
{
    struct slice id = text_of(r, v, "id");
    uint8_t *bytes = arena_alloc(r->arena, id.len / 2 + 1);
    struct slice key = text_of(r, v, "key");
    int64_t count = number_of(r, v, "count");
    r->ok = r->ok && bytes != NULL && id.len >= 2 && read_hex(id, bytes, id.len / 2) &&
            key.len / 2 <= sizeof(ret->key) && read_hex(key, ret->key, key.len / 2) && count >= 0 &&
            count <= UINT32_MAX;
    ret->id = (struct slice){(const char *)bytes, id.len / 2};
    ret->key_len = key.len / 2;
    ret->count = (uint32_t)count;
    ret->name = text_of(r, v, "name");
    ret->added_ms = number_of(r, v, "added");
}

static void *read_list(struct account_reading *r, const struct json_value *object, const char *name,
                       size_t size, const struct json_value **ret_list)
{
    *ret_list = json_get(r->doc, object, name);
    *ret_list = json_is(*ret_list, JSON_ARRAY) ? *ret_list : NULL;
    void *items = arena_array(r->arena, (*ret_list != NULL ? (*ret_list)->count : 0) + 1, size);
    r->ok = r->ok && items != NULL;
    return items;
}

static void read_account(struct account_reading *r, const struct json_value *v, struct console_account *ret)
{
    const struct json_value *list;
    ret->name = text_of(r, v, "account");
    r->ok = r->ok && ret->name.len > 0;
    read_password(r, v, &ret->password);
    ret->passkeys = read_list(r, v, "passkeys", sizeof(*ret->passkeys), &list);
    for (const struct json_value *k = list != NULL ? json_first(r->doc, list) : NULL; r->ok && k != NULL;
         k = json_right(r->doc, list, k)) {
        read_passkey(r, k, &ret->passkeys[ret->passkey_count++]);
    }
}

static void read_all(struct account_reading *r, struct console_accounts *ret)
{
    const struct json_value *root = json_root(r->doc), *list;
    ret->address = text_of(r, root, "address");
    ret->list = read_list(r, root, "accounts", sizeof(*ret->list), &list);
    for (const struct json_value *v = list != NULL ? json_first(r->doc, list) : NULL; r->ok && v != NULL;
         v = json_right(r->doc, list, v)) {
        read_account(r, v, &ret->list[ret->count++]);
    }
    ret->links = read_list(r, root, "links", sizeof(*ret->links), &list);
    for (const struct json_value *v = list != NULL ? json_first(r->doc, list) : NULL; r->ok && v != NULL;
         v = json_right(r->doc, list, v)) {
        struct console_link *link = &ret->links[ret->link_count++];
        r->ok = read_hex(text_of(r, v, "hash"), link->hash, sizeof(link->hash));
        link->account = text_of(r, v, "account");
        link->expires_ms = number_of(r, v, "expires");
    }
}

bool accounts_read(struct console_accounts *ret_accounts, int state_dir, struct buf *ret_error)
{
    struct buf text;
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 8, .max_bytes = (uint32_t)FILE_BYTES};
    *ret_accounts = (struct console_accounts){0};
    arena_init(&ret_accounts->arena, 64u << 20);
    struct account_reading r = {.doc = &doc, .arena = &ret_accounts->arena, .ok = true};
    buf_init(&text, FILE_BYTES);
    json_init(&doc);
    if (!file_read_at(state_dir, ACCOUNTS_FILE, &text)) {
        r.ok = errno == ENOENT;
        if (!r.ok) {
            buf_printf(ret_error, ACCOUNTS_FILE " cannot be read: %s", strerror(errno));
        }
        buf_reset(&text);
        buf_text(&text, "{}");
    }
    if (r.ok &&
        !(json_parse(&doc, buf_slice_of(&text), &options, &error) && json_is(json_root(&doc), JSON_OBJECT))) {
        buf_text(ret_error, ACCOUNTS_FILE " of the state directory is no JSON object: put it right or away");
        r.ok = false;
    } else if (r.ok) {
        read_all(&r, ret_accounts);
        if (!r.ok) {
            buf_text(ret_error,
                     ACCOUNTS_FILE " of the state directory does not hold what was written into it: put it "
                                   "right or away");
        }
    }
    json_finish(&doc);
    buf_finish(&text);
    if (!r.ok) {
        accounts_finish(ret_accounts);
    }
    return r.ok;
}

void accounts_finish(struct console_accounts *accounts)
{
    arena_finish(&accounts->arena);
    *accounts = (struct console_accounts){0};
}

struct console_account *accounts_find(struct console_accounts *accounts, struct slice name, bool make)
{
    for (size_t i = 0; i < accounts->count; i++) {
        if (slice_eq(accounts->list[i].name, name)) {
            return &accounts->list[i];
        }
    }
    if (!make || name.len == 0 || accounts->count >= ACCOUNTS_MOST) {
        return NULL;
    }
    struct console_account *list = arena_array(&accounts->arena, accounts->count + 1, sizeof(*list));
    struct slice copy = arena_copy(&accounts->arena, name);
    if (list == NULL || copy.ptr == NULL) {
        return NULL;
    }
    if (accounts->count > 0) {
        memcpy(list, accounts->list, accounts->count * sizeof(*list));
    }
    list[accounts->count] = (struct console_account){.name = copy};
    accounts->list = list;
    return &accounts->list[accounts->count++];
}

/* ---- Writing ---- */

static void write_account(struct buf *buf, const struct console_account *account)
{
    buf_text(buf, "{\"account\":");
    json_write_bytes(buf, account->name);
    if (account->password.n != 0) {
        buf_printf(buf, ",\"password\":{\"kdf\":\"scrypt\",\"n\":%u,\"r\":%u,\"p\":%u,\"salt\":\"",
                   account->password.n, account->password.r, account->password.p);
        write_hex(buf, account->password.salt, sizeof(account->password.salt));
        buf_text(buf, "\",\"hash\":\"");
        write_hex(buf, account->password.hash, sizeof(account->password.hash));
        buf_text(buf, "\"}");
    }
    buf_text(buf, ",\"passkeys\":[");
    for (size_t i = 0; i < account->passkey_count; i++) {
        const struct console_passkey *key = &account->passkeys[i];
        buf_text(buf, i > 0 ? ",{\"id\":\"" : "{\"id\":\"");
        write_hex(buf, key->id.ptr, key->id.len);
        buf_text(buf, "\",\"key\":\"");
        write_hex(buf, key->key, key->key_len);
        buf_printf(buf, "\",\"count\":%u,\"added\":%lld,\"name\":", key->count, (long long)key->added_ms);
        json_write_bytes(buf, key->name);
        buf_byte(buf, '}');
    }
    buf_text(buf, "]}");
}

static void write_all(struct buf *buf, const struct console_accounts *accounts)
{
    buf_text(buf, "{\"address\":");
    json_write_bytes(buf, accounts->address);
    buf_text(buf, ",\n\"accounts\":[");
    for (size_t i = 0; i < accounts->count; i++) {
        buf_text(buf, i > 0 ? ",\n" : "\n");
        write_account(buf, &accounts->list[i]);
    }
    buf_text(buf, "],\n\"links\":[");
    for (size_t i = 0; i < accounts->link_count; i++) {
        buf_text(buf, i > 0 ? ",\n{\"hash\":\"" : "\n{\"hash\":\"");
        write_hex(buf, accounts->links[i].hash, sizeof(accounts->links[i].hash));
        buf_printf(buf, "\",\"expires\":%lld,\"account\":", (long long)accounts->links[i].expires_ms);
        json_write_bytes(buf, accounts->links[i].account);
        buf_byte(buf, '}');
    }
    buf_text(buf, "]}\n");
}

bool accounts_update(int state_dir, accounts_change *change, void *context, struct buf *ret_error)
{
    struct console_accounts accounts;
    struct buf text;
    int lock = openat(state_dir, ACCOUNTS_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) {
        buf_printf(ret_error, ACCOUNTS_LOCK " cannot be locked: %s", strerror(errno));
        if (lock >= 0) {
            close(lock);
        }
        return false;
    }
    bool read = accounts_read(&accounts, state_dir, ret_error);
    bool ok = read && change(&accounts, context);
    buf_init(&text, FILE_BYTES);
    if (ok) {
        write_all(&text, &accounts);
        ok = buf_ok(&text) && file_replace_at(state_dir, BESIDE, ACCOUNTS_FILE, buf_slice_of(&text), true);
        if (!ok) {
            buf_printf(ret_error, ACCOUNTS_FILE " cannot be written: %s", strerror(errno));
        }
    }
    buf_finish(&text);
    if (read) {
        accounts_finish(&accounts);
    }
    close(lock);
    return ok;
}

/* ---- Links ---- */

struct link_change {
    struct console_link link;
    int64_t now_ms;
    char *account;
    size_t size;
};

static void drop_old_links(struct console_accounts *accounts, int64_t now_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < accounts->link_count; i++) {
        /* Of a clock that was set back, a link from far ahead is none. */
        int64_t left = accounts->links[i].expires_ms - now_ms;
        if (left > 0 && left <= LINK_MS) {
            accounts->links[kept++] = accounts->links[i];
        }
    }
    accounts->link_count = kept;
}

static bool add_link(struct console_accounts *accounts, void *context)
{
    const struct link_change *change = context;
    drop_old_links(accounts, change->now_ms);
    size_t from = accounts->link_count >= LINKS_MOST ? accounts->link_count - LINKS_MOST + 1 : 0;
    struct console_link *links =
        arena_array(&accounts->arena, accounts->link_count - from + 1, sizeof(*links));
    if (links == NULL) {
        return false;
    }
    for (size_t i = from; i < accounts->link_count; i++) {
        links[i - from] = accounts->links[i];
    }
    links[accounts->link_count - from] = change->link;
    accounts->links = links;
    accounts->link_count = accounts->link_count - from + 1;
    return true;
}

bool accounts_make_link(int state_dir, struct slice account, int64_t now_ms, char ret_secret[SECRET_TEXT],
                        struct buf *ret_error)
{
    struct link_change change = {.link = {.account = account, .expires_ms = now_ms + LINK_MS},
                                 .now_ms = now_ms};
    if (!secret_make(ret_secret)) {
        buf_text(ret_error, "no random numbers");
        return false;
    }
    secret_hash(slice_of(ret_secret), change.link.hash);
    return accounts_update(state_dir, add_link, &change, ret_error);
}

static bool take_link(struct console_accounts *accounts, void *context)
{
    struct link_change *change = context;
    drop_old_links(accounts, change->now_ms);
    for (size_t i = 0; i < accounts->link_count; i++) {
        struct console_link *link = &accounts->links[i];
        if (secret_same(link->hash, change->link.hash) && link->account.len < change->size) {
            snprintf(change->account, change->size, "%.*s", SLICE_FMT(link->account));
            *link = accounts->links[--accounts->link_count];
            return true;
        }
    }
    return false;
}

bool accounts_take_link(int state_dir, struct slice secret, int64_t now_ms, char *ret_account,
                        size_t account_size)
{
    struct link_change change = {.now_ms = now_ms, .account = ret_account, .size = account_size};
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    secret_hash(secret, change.link.hash);
    bool taken = accounts_update(state_dir, take_link, &change, &error);
    buf_finish(&error);
    return taken;
}
