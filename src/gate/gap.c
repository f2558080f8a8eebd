/* Whether the journal still is the one that was written to.
 *
 * Its last event is also kept in the store of approvals, within 100 ms of its being written. A journal that does not hold
 * that event was deleted, exchanged or cut while nobody looked. The gate that finds this out tells it in an event of
 * the new journal; what is kept then stays, for `status` and `journal verify`, until a person acknowledges it. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gate/internal.h"
#include "gate/state.h"

#define KEPT_HEAD "journal.head"
#define KEPT_GAP  "journal.gap"

static uint64_t number_at(const struct json_doc *doc, const char *key)
{
    const struct json_value *v = json_get(doc, json_root(doc), key);
    int64_t number = 0;
    bool good = json_is(v, JSON_NUMBER) && json_number_int(json_str(v), &number) == JSON_INT_OK && number > 0;
    return good ? (uint64_t)number : 0;
}

/* A place that is kept; seq 0 for what cannot be read. */
static struct journal_place read_place(struct slice text)
{
    const struct json_options options = {.max_depth = 1, .max_bytes = DETAIL_BYTES};
    struct journal_place place = {0};
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    if (text.len > 0 && json_parse(&doc, text, &options, &error) && json_is(json_root(&doc), JSON_OBJECT)) {
        const struct json_value *hash = json_get(&doc, json_root(&doc), "hash");
        if (json_is(hash, JSON_STRING) && json_str(hash).len == HASH_HEX) {
            memcpy(place.hash, json_str(hash).ptr, HASH_HEX);
            place.seq = number_at(&doc, "seq");
            place.inode = number_at(&doc, "inode");
            place.size = number_at(&doc, "size");
        }
    }
    json_finish(&doc);
    return place;
}

static bool kept_place(struct store *store, struct arena *arena, const char *name,
                       struct journal_place *ret_place)
{
    struct slice text = {0};
    if (!store_kept(store, name, arena, &text)) {
        return false;
    }
    *ret_place = read_place(text);
    return true;
}

static bool keep_place(struct store *store, const char *name, const struct journal_place *place)
{
    char text[256];
    int length = place->seq == 0 ? 0
                                 : snprintf(text, sizeof(text),
                                            "{\"hash\":\"%s\",\"inode\":%" PRIu64 ",\"seq\":%" PRIu64
                                            ",\"size\":%" PRIu64 "}",
                                            place->hash, place->inode, place->seq, place->size);
    return length >= 0 && store_keep(store, name, (struct slice){text, (size_t)length});
}

/* In a transaction of its own. False with a message. */
static bool keep(struct ledger *ledger, const struct journal_place *head, const struct journal_place *gap,
                 struct buf *error)
{
    bool kept = store_begin(ledger->store) && keep_place(ledger->store, KEPT_HEAD, head) &&
                (gap == NULL || keep_place(ledger->store, KEPT_GAP, gap)) && store_commit(ledger->store);
    if (!kept) {
        buf_text(error, store_error(ledger->store));
        store_rollback(ledger->store);
    }
    return kept;
}

void gap_keep_head(struct ledger *ledger)
{
    struct journal_place head = journal_last(ledger->journal);
    struct buf error;
    if (ledger->store == NULL || head.seq == 0 || strcmp(head.hash, ledger->kept_hash) == 0) {
        return;
    }
    buf_init_message(&error, MESSAGE_BYTES);
    struct journal_place other = {0};
    arena_reset(&ledger->arena);
    /* Another gate of the same journal may have kept a later event. That it cannot be kept now is tried again. */
    if (kept_place(ledger->store, &ledger->arena, KEPT_HEAD, &other) &&
        (other.seq >= head.seq || keep(ledger, &head, NULL, &error))) {
        memcpy(ledger->kept_hash, head.hash, sizeof(head.hash));
    }
    buf_finish(&error);
}

static bool journal_gap_event(struct ledger *ledger, const char *kind, const struct journal_place *place,
                              struct buf *error)
{
    struct buf detail;
    buf_init(&detail, DETAIL_BYTES);
    buf_printf(&detail, "{\"missing\":{\"hash\":\"%s\",\"seq\":%" PRIu64 "}}", place->hash, place->seq);
    struct event event = {.kind = kind, .detail = buf_slice_of(&detail)};
    bool done = buf_ok(&detail) && journal_stage(ledger->journal, &event) &&
                journal_commit(ledger->journal, true, error);
    buf_finish(&detail);
    return done;
}

/* Compares what is kept with the journal. ret_missing is the event that is not there; seq 0: none. */
static bool compare(struct store *store, struct arena *arena, const char *state_dir,
                    struct journal_place *ret_missing, struct buf *error)
{
    struct journal_place head = {0};
    bool holds = true;
    if (!kept_place(store, arena, KEPT_HEAD, &head)) {
        buf_text(error, store_error(store));
        return false;
    }
    if (head.seq > 0 && !journal_holds(state_dir, STATE_JOURNAL, &head, &holds, error)) {
        return false;
    }
    *ret_missing = holds ? (struct journal_place){0} : head;
    return true;
}

bool gap_check(struct ledger *ledger, const char *state_dir, bool *ret_found, struct buf *ret_error)
{
    struct journal_place missing = {0};
    *ret_found = false;
    if (!compare(ledger->store, &ledger->arena, state_dir, &missing, ret_error)) {
        return false;
    }
    if (missing.seq == 0) {
        return true;
    }
    if (!journal_gap_event(ledger, "system.gap", &missing, ret_error)) {
        return false;
    }
    struct journal_place head = journal_last(ledger->journal);
    *ret_found = keep(ledger, &head, &missing, ret_error);
    return *ret_found;
}

bool gate_find_gap(const char *state_dir, struct journal_place *ret_missing, struct buf *ret_error)
{
    struct journal_place missing = {0}, told = {0};
    struct arena arena;
    char path[PATH_MAX];
    *ret_missing = missing;
    /* Looking makes no store. */
    int length = snprintf(path, sizeof(path), "%s/" STATE_APPROVALS, state_dir);
    if (length < 0 || (size_t)length >= sizeof(path) || access(path, F_OK) != 0) {
        return true;
    }
    struct store *store = store_open(state_dir, ret_error);
    if (store == NULL) {
        return false;
    }
    arena_init(&arena, DETAIL_BYTES);
    bool done =
        compare(store, &arena, state_dir, &missing, ret_error) && kept_place(store, &arena, KEPT_GAP, &told);
    if (done) {
        *ret_missing = missing.seq > 0 ? missing : told;
    }
    arena_finish(&arena);
    store_close(store);
    return done;
}

bool gate_acknowledge_gap(const char *state_dir, bool *ret_was, struct buf *ret_error)
{
    struct ledger ledger;
    struct journal_place missing = {0};
    bool found = false;
    *ret_was = false;
    bool done = ledger_open(&ledger, state_dir, JOURNAL_FSYNC_ALWAYS, (struct slice){0}, ret_error) &&
                ledger_open_store(&ledger, state_dir, ret_error) &&
                gap_check(&ledger, state_dir, &found, ret_error) &&
                kept_place(ledger.store, &ledger.arena, KEPT_GAP, &missing);
    if (done && missing.seq > 0) {
        done = journal_gap_event(&ledger, "system.gap_acknowledged", &missing, ret_error);
        struct journal_place head = journal_last(ledger.journal);
        done = done && keep(&ledger, &head, &(struct journal_place){0}, ret_error);
        *ret_was = done;
    }
    ledger_close(&ledger);
    return done;
}
