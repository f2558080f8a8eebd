/* What a gate keeps of a reload that it refused, for a person. */
#ifndef CLI_REFUSED_H
#define CLI_REFUSED_H

#include "json/json.h"

/* Appends a line for each violation, error and weakening, each behind `indent`; of a weakening a call that
 * shows it, and how to accept them. */
void refused_write(struct buf *out, const struct json_doc *doc, const struct json_value *refused,
                   const char *indent);

#endif
