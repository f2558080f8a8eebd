/* JSON with comments and trailing commas, as hosts write their settings. */
#ifndef HOST_JSONC_H
#define HOST_JSONC_H

#include "json/json.h"

/* Replaces comments and trailing commas by blanks, so that every offset stays what it was. What is no such
 * JSON stays no JSON. */
void jsonc_blank(char *text, size_t len);

#endif
