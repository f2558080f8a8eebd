/* `callgate state backup` and `restore`: all that callgate keeps for a user, in one file.
 *
 * The file is a tar archive: the journal with its parts, the store of approvals, the other files of the state directory,
 * the settings (~/.config/callgate), and a last entry, callgate-backup.json, which has the size and the SHA-256 of each.
 * It holds what the journal holds and the secrets of the settings: mode 0600. A backup is of one moment, also while gates
 * run: nothing of the store is in it that its journal does not tell of, and the other way round. Not in it: which gates
 * run, sockets, notices on their way, and what is root's (/etc/callgate). */
#ifndef BACKUP_BACKUP_H
#define BACKUP_BACKUP_H

#include "base/buffer.h"

struct backup_options {
    const char *file;       /* the archive */
    const char *state_dir;  /* absolute */
    const char *config_dir; /* absolute: ~/.config/callgate */
    const char *program;    /* this version's name */
    bool replace; /* backup: a file of that name; restore: the state and settings that are there, which are
                               moved beside, and kept */
};

/* Writes the archive and verifies it: every byte against its hash, the journal's chain, SQLite's integrity. Lines for
 * people go to ret_report. False with a message, and no file of that name, or the one that was there. */
MUST_USE bool backup_write(const struct backup_options *options, struct buf *ret_report,
                           struct buf *ret_error);

/* Verifies an archive in the same way, then puts its files in place and adds an event system.restored to the journal.
 * Refused while a gate or a broker runs there. False with a message and nothing changed, but for a failure in the middle
 * of putting in place, which the message tells. */
MUST_USE bool backup_restore(const struct backup_options *options, struct buf *ret_report,
                             struct buf *ret_error);

#endif
