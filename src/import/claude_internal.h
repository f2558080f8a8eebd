/* The import of Claude Code's permission lists: what of it stands in files of their own. */
#ifndef IMPORT_CLAUDE_INTERNAL_H
#define IMPORT_CLAUDE_INTERNAL_H

#include "import/internal.h"

/* Translates one entry: its rules, and its line in the report. */
void claude_import_entry(struct importer *im, struct import_entry *entry);

/* The P of an entry `Bash(P:*)` or `Bash(P *)` that is kept exactly. */
MUST_USE bool claude_beginning(struct importer *im, struct slice entry, struct slice *ret);

/* As claude_import_entry for one of permissions.additionalDirectories: below it is read without a question. */
void claude_import_directory(struct importer *im, struct import_entry *entry);

#endif
