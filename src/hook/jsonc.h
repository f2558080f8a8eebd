/* JSON with comments and trailing commas, as hosts write their settings. */
#ifndef HOOK_JSONC_H
#define HOOK_JSONC_H

#include "json/json.h"

/* Replaces comments and trailing commas by blanks, so that every offset stays what it was. What is no such
 * JSON stays no JSON. */
void jsonc_blank(char *text, size_t len);

#endif
