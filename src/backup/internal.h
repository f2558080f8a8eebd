/* What backup and restore share: the archive, and the proof of what was unpacked. Inside this room. */
#ifndef BACKUP_INTERNAL_H
#define BACKUP_INTERNAL_H

#include "backup/backup.h"
#include "journal/journal.h"

#define MANIFEST       "callgate-backup.json"
#define MANIFEST_BYTES ((size_t)16 << 20)
#define NAME_MOST      512u /* of an entry */
#define ENTRIES_MOST   65536u
#define ENTRY_MOST     ((uint64_t)1 << 33) /* bytes of one entry: what eleven octal digits can say */
#define STATE_FOLDER   "state"
#define CONFIG_FOLDER  "config"

/* ---- archive.c: a tar archive of plain files ---- */

struct archive {
    int fd;
    struct buf files; /* of the manifest: what has been added so far, as elements of a JSON list */
};

/* Adds `size` bytes of a descriptor, from its beginning, under a name. False with a message. */
MUST_USE bool archive_add(struct archive *archive, const char *name, int fd, uint64_t size,
                          struct buf *ret_error);
/* Adds the manifest, whose other members (each with a comma behind it) are `head`, and the end; on the disk then. */
MUST_USE bool archive_end(struct archive *archive, struct slice head, struct buf *ret_error);

/* Unpacks an archive into an empty directory, 0600 and 0700 whatever it says, and compares every entry with the manifest.
 * An entry that no backup has (a link, a device, a name that leads elsewhere, one that stands twice) is refused. Appends
 * the manifest. False with a message. */
MUST_USE bool archive_unpack(int fd, int into, struct buf *ret_manifest, struct buf *ret_error);

/* ---- verify.c ---- */

/* What an archive held, in a directory of its own beside the place that it is for. */
struct unpacked {
    char path[4096]; /* empty: there is none */
    struct buf manifest;
    struct journal_report journal; /* verified; no events when there was no journal */
    bool has_journal;
};

/* Unpacks and verifies: hashes, chain, integrity. The directory is PLACE and a random ending. False with a message. */
MUST_USE bool unpacked_make(struct unpacked *unpacked, const char *file, const char *place,
                            struct buf *ret_error);
/* Removes what is left of the directory. */
void unpacked_finish(struct unpacked *unpacked);

/* Removes a directory and all below it, following no link. */
void remove_tree(const char *path);

#endif
