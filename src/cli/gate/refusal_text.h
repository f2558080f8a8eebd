/* What a gate keeps of a reload that it refused, for a person. */
#ifndef CLI_REFUSAL_TEXT_H
#define CLI_REFUSAL_TEXT_H

#include "json/json.h"

/* Appends a line for each violation, error and weakening, each behind `indent`; of a weakening a call that
 * shows it, and how to accept them. */
void refusal_text_write(struct buf *out, const struct json_doc *doc, const struct json_value *refused,
                        const char *indent);

#endif
