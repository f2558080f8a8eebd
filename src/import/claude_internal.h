/* The import of Claude Code's permission lists: what of it stands in files of their own. */
#ifndef IMPORT_CLAUDE_INTERNAL_H
#define IMPORT_CLAUDE_INTERNAL_H

#include "import/internal.h"

/* Translates one entry: its rules, and its line in the report. */
void claude_import_entry(struct importer *im, struct import_entry *entry);

/* The same for one of permissions.additionalDirectories: below it is read without a question. */
void claude_import_directory(struct importer *im, struct import_entry *entry);

#endif
