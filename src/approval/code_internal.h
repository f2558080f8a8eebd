/* Codes, inside this room. approval.h has code_valid and reply_parse for everyone else. */
#ifndef APPROVAL_CODE_INTERNAL_H
#define APPROVAL_CODE_INTERNAL_H

#include "approval/approval.h"

/* A code of letters that are all equally likely. False when there are no random bytes. */
MUST_USE bool code_random(char ret_code[CODE_LENGTH + 1]);

/* A valid code, in lower case. */
void code_copy(struct slice text, char ret_code[CODE_LENGTH + 1]);

#endif
