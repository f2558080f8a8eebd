/* Looks for an event that is known from elsewhere: whether a journal still is the one that it was. */
#include <string.h>

#include "journal/append_internal.h"
#include "journal/reader.h"

struct journal_place journal_last(const struct journal *journal)
{
    struct journal_place place = {.seq = journal->chain.seq, .size = journal->end};
    uint64_t dev;
    memcpy(place.hash, journal->chain.hash, sizeof(place.hash));
    if (!journal_file_identity(&journal->file, &dev, &place.inode)) {
        place.inode = 0;
    }
    return place;
}

/* Whether an event is the one of the place: that of its number decides. */
static bool find_event(struct journal_reader *reader, const struct journal_place *place, bool *ret_holds,
                       struct buf *error)
{
    const struct journal_event *event;
    enum journal_read result;
    *ret_holds = false;
    while ((result = journal_reader_next(reader, &event, error)) == JOURNAL_READ_EVENT) {
        if (event->seq >= place->seq) {
            const struct json_value *hash = json_get(&event->doc, json_root(&event->doc), "hash");
            *ret_holds = event->seq == place->seq && json_is(hash, JSON_STRING) &&
                         slice_is(json_str(hash), place->hash);
            return true;
        }
    }
    return result == JOURNAL_READ_END;
}

/* The last lines before the place's end of the file, when it is the file that the place was in: one look instead of
 * reading all of a long journal. */
static void skip_most(struct journal_reader *reader, const struct journal_place *place)
{
    uint64_t back = (uint64_t)2 * JOURNAL_LINE_MAX;
    if (journal_reader_inode(reader) == place->inode && place->size > back) {
        journal_reader_skip_to_line(reader, place->size - back);
    }
}

bool journal_holds(const char *dir, const char *name, const struct journal_place *place, bool *ret_holds,
                   struct buf *ret_error)
{
    struct journal_parts parts;
    if (!journal_parts_find(dir, name, &parts, ret_error)) {
        return false;
    }
    /* A file without an event of its own ends with the part before it. */
    size_t at = 0;
    while (at < parts.count && parts.last_seq[at] < place->seq) {
        at++;
    }
    bool done = true;
    *ret_holds = false;
    if (at < parts.count) {
        struct journal_reader *reader = journal_reader_open(&parts.files[at], 1, NULL, ret_error);
        if (reader != NULL) {
            skip_most(reader, place);
        }
        done = reader != NULL && find_event(reader, place, ret_holds, ret_error);
        journal_reader_close(reader);
    }
    journal_parts_finish(&parts);
    return done;
}
