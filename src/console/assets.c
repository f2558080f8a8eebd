/* The files of the page, which are part of the program, and which texts a browser gets. */
#include <string.h>

#include "console/internal.h"

/* Made by tools/embed.py from src/console/assets. */
extern const struct asset console_assets[];
extern const size_t console_asset_count;

const struct asset *asset_find(const char *path)
{
    const char *name = strcmp(path, "/") == 0 ? "/index.html" : path;
    for (size_t i = 0; i < console_asset_count; i++) {
        if (strcmp(console_assets[i].path, name) == 0) {
            return &console_assets[i];
        }
    }
    return NULL;
}

/* The texts of one language, by the first part of its name: "de" of "de-AT". */
static const struct asset *texts_of(struct slice language)
{
    char path[32] = "/texts/";
    size_t len = 0;
    while (len < language.len && len < 3 && language.ptr[len] != '-') {
        char c = language.ptr[len];
        c = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        if (c < 'a' || c > 'z') {
            return NULL;
        }
        path[7 + len++] = c;
    }
    memcpy(path + 7 + len, ".json", sizeof(".json"));
    return len >= 2 ? asset_find(path) : NULL;
}

const struct asset *asset_texts(struct slice wanted)
{
    while (wanted.len > 0) { /* browsers say the best first */
        const char *comma = memchr(wanted.ptr, ',', wanted.len);
        size_t len = comma != NULL ? (size_t)(comma - wanted.ptr) : wanted.len;
        struct slice one = {wanted.ptr, len};
        const char *quality = memchr(one.ptr, ';', one.len);
        one.len = quality != NULL ? (size_t)(quality - one.ptr) : one.len;
        while (one.len > 0 && *one.ptr == ' ') {
            one = slice_from(one, 1);
        }
        const struct asset *found = texts_of(one);
        if (found != NULL) {
            return found;
        }
        wanted = slice_from(wanted, comma != NULL ? len + 1 : len);
    }
    return texts_of(SLICE("en"));
}
