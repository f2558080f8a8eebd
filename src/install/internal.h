/* What install and uninstall share. Nothing outside src/install includes this. */
#ifndef INSTALL_INTERNAL_H
#define INSTALL_INTERNAL_H

#include "base/files.h"
#include "install/install.h"
#include "install/settings.h"

/* What was put into settings, kept in the state directory until it is taken out. Owns its texts. */
struct install_record {
    bool found;
    bool existed;        /* the settings were there before */
    struct buf inserted; /* what was put in, in order, each behind a NUL */
    struct buf before;   /* the settings as they were */
    struct buf protect;  /* the file of the rules that came along; empty: none */
};

void record_init(struct install_record *record);
void record_finish(struct install_record *record);

/* Reads the record of settings, if there is one. */
MUST_USE bool record_read(struct install_record *record, const struct install_options *options,
                          const char *settings, struct buf *ret_error);
MUST_USE bool record_write(const struct install_record *record, const struct install_options *options,
                           const char *settings, struct buf *ret_error);
void record_remove(const struct install_options *options, const char *settings);

/* Appends where the copy of the settings is, and a NUL. */
MUST_USE bool record_copy_path(const struct install_options *options, const char *settings,
                               struct buf *ret_path);

/* Takes our hook out of a text: by the record, byte for byte, or, when that does not fit any more, by what it
 * looks like. ret_found: there was one. */
MUST_USE bool take_hook_out(struct settings *settings, const struct host *host,
                            const struct install_record *record, bool *ret_found);

/* Whether an entry of a host's settings runs our hook for this host. */
bool is_ours(const struct json_doc *doc, const struct json_value *entry, const struct host *host);

/* Splits a command line as a shell would: blanks, quotes, backslashes; anything else that means something to
 * a shell ends it. *ret_plain: every shell reads these words, and nothing else. NULL-terminated, in the
 * arena; NULL when memory ran out. */
char **split_words(struct arena *arena, struct slice line, size_t *ret_count, bool *ret_plain);

/* Appends `dir/file` and a NUL. */
MUST_USE bool write_path(struct buf *buf, struct slice dir, const char *file);

/* One install or uninstall: the settings file, what is recorded of it, and where lines for people go. Borrows
 * the options, the report and the error; owns the rest. */
struct install_work {
    const struct install_options *options;
    struct text_file file;
    struct settings settings;
    struct install_record record;
    struct installed_hook *older; /* of ours, as they stood there before an install */
    size_t older_count;
    bool protect_as_it_is; /* the rules that come along stand there already */
    struct buf *report, *error;
};

/* Reads the settings file and its record. False with a message, and nothing to finish. */
MUST_USE bool install_work_init(struct install_work *w, const struct install_options *options,
                                struct buf *ret_report, struct buf *ret_error);
void install_work_finish(struct install_work *work);

/* The plugin with a command line in it. */
MUST_USE bool write_plugin(struct buf *buf, const char *const *words, size_t count);
bool is_plugin(struct slice text);

#endif
