/* What install and uninstall share. Nothing outside src/hook includes this. */
#ifndef HOOK_PLACE_H
#define HOOK_PLACE_H

#include "base/files.h"
#include "hook/install.h"
#include "hook/settings.h"

/* What was put into settings, kept in the state directory until it is taken out. Owns its texts. */
struct hook_record {
    bool found;
    bool existed;        /* the settings were there before */
    struct buf inserted; /* what was put in, in order, each behind a NUL */
    struct buf before;   /* the settings as they were */
    struct buf protect;  /* the file of the rules that came along; empty: none */
};

void record_init(struct hook_record *record);
void record_finish(struct hook_record *record);

/* Reads the record of settings, if there is one. */
MUST_USE bool record_read(struct hook_record *record, const struct hook_install_options *options,
                          const char *settings, struct buf *ret_error);
MUST_USE bool record_write(const struct hook_record *record, const struct hook_install_options *options,
                           const char *settings, struct buf *ret_error);
void record_remove(const struct hook_install_options *options, const char *settings);

/* Appends where the copy of the settings is, and a NUL. */
MUST_USE bool record_copy_path(const struct hook_install_options *options, const char *settings,
                               struct buf *ret_path);

/* Takes our hook out of a text: by the record, byte for byte, or, when that does not fit any more, by what it
 * looks like. ret_found: there was one. */
MUST_USE bool take_hook_out(struct settings *settings, const struct hook_host *host,
                            const struct hook_record *record, bool *ret_found);

/* Whether an entry of a host's settings runs our hook for this host. */
bool is_ours(const struct json_doc *doc, const struct json_value *entry, const struct hook_host *host);

/* Splits a command line as a shell would: blanks, quotes, backslashes; anything else that means something to
 * a shell ends it. *ret_plain: every shell reads these words, and nothing else. NULL-terminated, in the
 * arena; NULL when memory ran out. */
char **split_words(struct arena *arena, struct slice line, size_t *ret_count, bool *ret_plain);

/* Appends a policy document of rules that deny writes to each of the paths, `count` of them. */
void write_protection(struct buf *buf, const struct hook_host *host, const char *const *paths, size_t count);

/* The plugin with a command line in it. */
MUST_USE bool write_plugin(struct buf *buf, const char *const *words, size_t count);
bool is_plugin(struct slice text);

#endif
