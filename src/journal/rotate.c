/* The parts of a journal, from the writer's side: a file that is over is renamed, and the next one opens with a boot whose
 * detail names the last event of the one before. Whoever renames it (we, or logrotate), every writer that meets the new
 * name goes over to it under both locks, so that no event is chained to a part that is over. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "journal/append_internal.h"
#include "journal/parts_internal.h"

/* The detail of the boot: the anchor, whose text's hash the file's chain begins with, and where it ties to. */
static bool write_detail(struct buf *detail, const struct chain *previous, struct slice given,
                         struct chain *ret_chain)
{
    uint8_t random[HASH_SIZE], hash[HASH_SIZE];
    char anchor[HASH_HEX + 1];
    if (!random_bytes(random, sizeof(random))) {
        return false;
    }
    hash_to_hex(random, anchor);
    if (!hash_bytes(slice_of(anchor), hash)) {
        return false;
    }
    hash_to_hex(hash, ret_chain->hash);
    ret_chain->seq = previous->seq;
    buf_printf(detail, "{\"anchor\":\"%s\"", anchor);
    if (previous->seq > 0) {
        buf_printf(detail, ",\"previous\":{\"hash\":\"%s\",\"seq\":%" PRIu64 "}", previous->hash,
                   previous->seq);
    }
    if (given.len > 2) {
        buf_byte(detail, ',');
        buf_slice(detail, slice_from(given, 1));
    } else {
        buf_byte(detail, '}');
    }
    return buf_ok(detail);
}

bool rotate_begin(struct journal *journal, const struct chain *previous, struct slice given,
                  struct ending *ending, struct buf *error)
{
    struct buf detail;
    buf_init(&detail, LIMIT_MESSAGE_BYTES);
    bool made = write_detail(&detail, previous, given, &ending->chain);
    struct event event = {.kind = "system.boot", .detail = buf_slice_of(&detail)};
    made = made && event_write(&journal->parts, &event, &journal->detail, &ending->first);
    buf_finish(&detail);
    ending->has_first = made;
    if (!made) {
        buf_printf(error, "journal '%s': cannot make its first event (memory, random bytes or its detail)",
                   journal->file.name);
    }
    return made;
}

bool rotate_newest_part(struct journal *journal, struct chain *ret_last, struct buf *error)
{
    struct parts parts;
    if (!parts_list(journal->file.dir, journal->file.name, &parts, error)) {
        return false;
    }
    const struct part *newest = parts_newest(&parts);
    *ret_last = newest != NULL ? newest->last : (struct chain){0};
    parts_finish(&parts);
    return true;
}

/* Whether the file that has the journal's name continues the chain, over other parts or at once. */
static bool continues(struct journal *journal, const struct chain *last, struct buf *error)
{
    struct parts parts;
    if (!parts_list(journal->file.dir, journal->file.name, &parts, error)) {
        return false;
    }
    const struct part *part = parts_named(&parts, journal->file.name);
    bool found = false;
    for (size_t i = 0; i <= parts.count && part != NULL && !found; i++) {
        found = part->previous.seq == last->seq && strcmp(part->previous.hash, last->hash) == 0;
        part = parts_before(&parts, part);
    }
    parts_finish(&parts);
    if (!found) {
        buf_printf(
            error,
            "journal '%s': another file, which does not continue it, has taken its name; restart callgate",
            journal->file.name);
    }
    return found;
}

bool rotate_follow(struct journal *journal, const struct chain *last, bool may_begin, struct buf *error)
{
    struct journal_file next;
    uint64_t size = 0;
    if ((journal->dirty && !journal_flush(journal, error)) ||
        !journal_file_open_next(&journal->file, &next, error)) {
        return false;
    }
    bool done =
        journal_file_lock(&next, error) && journal_file_end(&next, &size, error) != JOURNAL_FILE_FAILED;
    if (done && size == 0 && !may_begin) {
        buf_printf(error, "journal '%s': was removed while in use; restart callgate", journal->file.name);
        done = false;
    }
    done = done && (size == 0 || last->seq == 0 || continues(journal, last, error));
    if (!done) {
        journal_file_close(&next);
        return false;
    }
    journal_file_close(&journal->file);
    journal->file = next;
    journal->end = 0;
    journal->chain = (struct chain){0};
    return true;
}

bool rotate_rename(struct journal *journal, const struct chain *last, struct buf *error)
{
    char name[NAME_MAX + 1];
    /* The number of its last event: names sort as the parts follow one another, and none comes twice. */
    int length = snprintf(name, sizeof(name), "%s.%012" PRIu64, journal->file.name, last->seq);
    if (length < 0 || (size_t)length >= sizeof(name) || !journal_file_rename(&journal->file, name)) {
        buf_printf(error, "journal '%s': cannot give it the name of a part that is over: %s",
                   journal->file.name, strerror(errno));
        return false;
    }
    return true;
}
