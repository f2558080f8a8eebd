/* Reads JSON with comments and trailing commas. */
#include "host/jsonc.h"

static size_t string_end(const char *text, size_t len, size_t at)
{
    for (at++; at < len && text[at] != '"'; at++) {
        if (text[at] == '\\') {
            at++;
        }
    }
    return at < len ? at + 1 : len;
}

/* Blanks the comment at `at`, line ends kept, and returns its end; `at` itself when there is none. */
static size_t blank_comment(char *text, size_t len, size_t at)
{
    if (at + 1 >= len || text[at] != '/' || (text[at + 1] != '/' && text[at + 1] != '*')) {
        return at;
    }
    bool line = text[at + 1] == '/';
    size_t end = at + 2;
    if (line) {
        while (end < len && text[end] != '\n') {
            end++;
        }
    } else {
        while (end + 1 < len && (text[end] != '*' || text[end + 1] != '/')) {
            end++;
        }
        if (end + 1 >= len) {
            return at; /* never closed: no JSON */
        }
        end += 2;
    }
    for (; at < end; at++) {
        if (text[at] != '\n' && text[at] != '\r') {
            text[at] = ' ';
        }
    }
    return end;
}

void jsonc_blank(char *text, size_t len)
{
    size_t comma = len; /* the last one, if nothing but blanks followed */
    for (size_t at = 0; at < len;) {
        size_t end = blank_comment(text, len, at);
        if (end != at) {
            at = end;
            continue;
        }
        char c = text[at];
        if (c == '"') {
            at = string_end(text, len, at);
            comma = len;
            continue;
        }
        if ((c == ']' || c == '}') && comma < len) {
            text[comma] = ' ';
        }
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            comma = c == ',' ? at : len;
        }
        at++;
    }
}
