/* Who has signed in: sessions, challenges, and how often somebody may try. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "console/internal.h"

bool bucket_take(struct bucket *bucket, int64_t now_ms)
{
    if (bucket->filled_ms == 0 || now_ms < bucket->filled_ms) {
        bucket->filled_ms = now_ms;
    }
    int64_t more = (now_ms - bucket->filled_ms) / bucket->every_ms;
    if (more > 0) {
        bucket->left = more >= bucket->most - bucket->left ? bucket->most : bucket->left + (uint32_t)more;
        bucket->filled_ms += more * bucket->every_ms;
    }
    if (bucket->left == 0) {
        return false;
    }
    bucket->left--;
    return true;
}

/* ---- Persons ---- */

static bool open_roster(const struct console *console, struct roster *ret_roster)
{
    struct buf path, error;
    buf_init(&path, 4096);
    buf_init_message(&error, MESSAGE_BYTES);
    bool ok =
        roster_open(ret_roster, slice_of(console->options.home), console->options.people_file, &path, &error);
    buf_finish(&path);
    buf_finish(&error);
    return ok;
}

static bool is_own_name(struct slice id)
{
    struct buf own;
    buf_init(&own, MESSAGE_BYTES);
    people_own_name(&own);
    bool same = buf_ok(&own) && slice_eq(id, buf_slice_of(&own));
    buf_finish(&own);
    return same;
}

bool session_is_known(struct console *console, const struct session *session)
{
    struct roster roster;
    if (!open_roster(console, &roster)) {
        return false;
    }
    /* The system's user who runs the page may look even when people.json does not name them. */
    bool known = session->surface == PEOPLE_USER ||
                 (roster.present ? roster_find(&roster, session->surface, slice_of(session->id)) != NULL
                                 : is_own_name(slice_of(session->id)));
    roster_finish(&roster);
    return known;
}

void session_account(struct console *console, const struct session *session, struct buf *ret_account)
{
    struct roster roster;
    if (session->surface == PEOPLE_PAGE) {
        buf_text(ret_account, session->id);
        return;
    }
    if (!open_roster(console, &roster)) {
        return;
    }
    if (!roster.present) {
        buf_text(ret_account, session->id);
    } else {
        const struct person *person = roster_find(&roster, session->surface, slice_of(session->id));
        if (person != NULL && person->ids[PEOPLE_PAGE].ptr != NULL) {
            buf_slice(ret_account, person->ids[PEOPLE_PAGE]);
        }
    }
    roster_finish(&roster);
}

void session_person(struct console *console, const struct session *session, struct buf *ret_name)
{
    struct roster roster;
    if (!open_roster(console, &roster)) {
        return;
    }
    if (!roster.present) {
        people_own_name(ret_name);
    } else {
        const struct person *person = roster_find(&roster, session->surface, slice_of(session->id));
        if (person != NULL) {
            buf_slice(ret_name, person->name);
        }
    }
    roster_finish(&roster);
}

/* ---- Sessions ---- */

static struct session *free_place(struct console *console)
{
    struct session *oldest = &console->sessions[0];
    for (size_t i = 0; i < SESSIONS_MOST; i++) {
        struct session *session = &console->sessions[i];
        if (!session->used) {
            return session;
        }
        oldest = session->seen_ms < oldest->seen_ms ? session : oldest;
    }
    session_end(console, oldest);
    return oldest;
}

struct session *session_begin(struct console *console, enum people_surface surface, const char *id,
                              const char *way, char ret_cookie[SECRET_TEXT], char ret_token[SECRET_TEXT])
{
    struct session begun = {.used = true, .surface = surface, .way = way};
    if (strlen(id) >= sizeof(begun.id) || !secret_make(ret_cookie) || !secret_make(ret_token)) {
        return NULL;
    }
    snprintf(begun.id, sizeof(begun.id), "%s", id);
    secret_hash(slice_of(ret_cookie), begun.cookie);
    secret_hash(slice_of(ret_token), begun.token);
    begun.began_ms = begun.seen_ms = clock_boot_ms();
    if (begun.began_ms < 0 || !session_is_known(console, &begun)) {
        return NULL;
    }
    struct session *place = free_place(console);
    begun.number = ++console->next_session;
    *place = begun;
    return place;
}

void session_end(struct console *console, struct session *session)
{
    streams_end(console, session->number);
    *session = (struct session){0};
}

static bool is_over(const struct session *session, int64_t now_ms)
{
    return now_ms < session->began_ms || now_ms - session->began_ms >= SESSION_MS ||
           now_ms - session->seen_ms >= SESSION_IDLE_MS;
}

struct session *session_find(struct console *console, struct slice cookie)
{
    uint8_t hash[32];
    int64_t now = clock_boot_ms();
    struct session *found = NULL;
    secret_hash(cookie, hash);
    for (size_t i = 0; i < SESSIONS_MOST; i++) {
        struct session *session = &console->sessions[i];
        found = session->used && secret_same(session->cookie, hash) ? session : found;
    }
    if (found != NULL && (is_over(found, now) || !session_is_known(console, found))) {
        session_end(console, found);
        return NULL;
    }
    return found;
}

bool session_has_token(const struct session *session, struct slice token)
{
    uint8_t hash[32];
    secret_hash(token, hash);
    return token.len > 0 && secret_same(session->token, hash);
}

void sessions_sweep(struct console *console)
{
    int64_t now = clock_boot_ms();
    for (size_t i = 0; i < SESSIONS_MOST; i++) {
        struct session *session = &console->sessions[i];
        if (session->used && (is_over(session, now) || !session_is_known(console, session))) {
            session_end(console, session);
        }
    }
}

/* ---- Challenges ---- */

bool challenge_make(struct console *console, uint64_t session, uint8_t ret_bytes[32])
{
    struct challenge *place = &console->challenges[0];
    for (size_t i = 0; i < CHALLENGES_MOST; i++) { /* the one that would be over first */
        struct challenge *c = &console->challenges[i];
        place = c->expires_ms < place->expires_ms ? c : place;
    }
    if (!random_bytes(ret_bytes, 32)) {
        return false;
    }
    memcpy(place->bytes, ret_bytes, 32);
    place->session = session;
    place->expires_ms = clock_boot_ms() + CHALLENGE_MS;
    return true;
}

bool challenge_take(struct console *console, uint64_t session, const uint8_t *bytes, size_t len)
{
    int64_t now = clock_boot_ms();
    for (size_t i = 0; len == 32 && i < CHALLENGES_MOST; i++) {
        struct challenge *c = &console->challenges[i];
        if (c->expires_ms > now && c->session == session && secret_same(c->bytes, bytes)) {
            c->expires_ms = 0;
            return true;
        }
    }
    return false;
}
