/* What an argument's name says by itself: the built-in lists, and its words. */
#include <string.h>

#include "base/fold.h"
#include "call/arguments_inside_internal.h"

/* ---- Whole names ---- */

struct whole {
    struct slice name;
    uint32_t classes;
};

#define WHOLE(name, classes) {{name, sizeof(name) - 1}, classes}

static const struct whole wholes[] = {
    WHOLE("path", NAME_PATH),
    WHOLE("paths", NAME_PATH),
    WHOLE("file", NAME_PATH),
    WHOLE("files", NAME_PATH),
    WHOLE("file_path", NAME_PATH),
    WHOLE("filepath", NAME_PATH),
    WHOLE("filename", NAME_PATH),
    WHOLE("notebook_path", NAME_PATH),
    WHOLE("source", NAME_PATH),
    WHOLE("destination", NAME_PATH),
    WHOLE("src", NAME_PATH),
    WHOLE("dst", NAME_PATH),
    WHOLE("old_path", NAME_PATH),
    WHOLE("new_path", NAME_PATH),
    WHOLE("directory", NAME_PATH),
    WHOLE("dir", NAME_PATH),
    WHOLE("folder", NAME_PATH),
    WHOLE("uri", NAME_PATH | NAME_URI | NAME_URL),
    WHOLE("cwd", NAME_BASE),
    WHOLE("workdir", NAME_BASE),
    WHOLE("working_directory", NAME_BASE),
    WHOLE("workingdirectory", NAME_BASE),
    WHOLE("working_dir", NAME_BASE),
    WHOLE("dir_path", NAME_BASE),
    WHOLE("repo_path", NAME_BASE),
    WHOLE("command", NAME_COMMAND),
    WHOLE("cmd", NAME_COMMAND),
    WHOLE("commands", NAME_COMMAND | NAME_COMMANDS),
    WHOLE("commandline", NAME_COMMAND),
    WHOLE("command_line", NAME_COMMAND),
    WHOLE("url", NAME_URL),
    WHOLE("urls", NAME_URL),
    WHOLE("href", NAME_URL),
    WHOLE("host", NAME_HOST),
    WHOLE("hostname", NAME_HOST),
    WHOLE("pattern", NAME_PATTERN),
    WHOLE("glob", NAME_GLOB),
    WHOLE("include", NAME_GLOB),
    WHOLE("include_pattern", NAME_GLOB),
    WHOLE("includepattern", NAME_GLOB),
    WHOLE("file_pattern", NAME_GLOB),
    WHOLE("filepattern", NAME_GLOB),
    WHOLE("args", NAME_ARGS),
    WHOLE("arguments", NAME_ARGS),
};

static uint32_t whole_classes(struct slice folded)
{
    for (size_t i = 0; i < sizeof(wholes) / sizeof(*wholes); i++) {
        if (slice_eq(wholes[i].name, folded)) {
            return wholes[i].classes;
        }
    }
    return 0;
}

/* ---- Words ---- */

static const struct whole words[] = {
    WHOLE("header", NAME_PROSE),
    WHOLE("label", NAME_PROSE),
    WHOLE("params", NAME_PROSE),
    WHOLE("properties", NAME_PROSE),
    WHOLE("value", NAME_PROSE),
    WHOLE("content", NAME_PROSE),
    WHOLE("contents", NAME_PROSE),
    WHOLE("text", NAME_PROSE),
    WHOLE("body", NAME_PROSE),
    WHOLE("message", NAME_PROSE),
    WHOLE("messages", NAME_PROSE),
    WHOLE("title", NAME_PROSE),
    WHOLE("description", NAME_PROSE),
    WHOLE("comment", NAME_PROSE),
    WHOLE("prompt", NAME_PROSE),
    WHOLE("query", NAME_PROSE),
    WHOLE("sql", NAME_PROSE),
    WHOLE("string", NAME_PROSE),
    WHOLE("regex", NAME_PROSE),
    WHOLE("old", NAME_PROSE),
    WHOLE("new", NAME_PROSE),
    WHOLE("path", NAME_PLACE),
    WHOLE("paths", NAME_PLACE),
    WHOLE("file", NAME_PLACE),
    WHOLE("files", NAME_PLACE),
    WHOLE("filename", NAME_PLACE),
    WHOLE("dir", NAME_PLACE | NAME_DIRECTORY),
    WHOLE("dirs", NAME_PLACE),
    WHOLE("directory", NAME_PLACE | NAME_DIRECTORY),
    WHOLE("folder", NAME_PLACE | NAME_DIRECTORY),
    WHOLE("root", NAME_PLACE | NAME_DIRECTORY),
    WHOLE("location", NAME_PLACE | NAME_DIRECTORY),
    WHOLE("output", NAME_PLACE),
    WHOLE("input", NAME_PLACE),
    WHOLE("target", NAME_PLACE),
    WHOLE("save", NAME_PLACE),
    WHOLE("dest", NAME_PLACE),
    WHOLE("cwd", NAME_DIRECTORY),
    WHOLE("workdir", NAME_DIRECTORY),
    WHOLE("workspace", NAME_DIRECTORY),
};

#define WORD_SHORTEST 3u
#define WORD_LONGEST  11u

static uint32_t word_classes(struct slice folded)
{
    if (folded.len < WORD_SHORTEST || folded.len > WORD_LONGEST) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (slice_eq(words[i].name, folded)) {
            return words[i].classes;
        }
    }
    return 0;
}

#define WORD_MOST 17u /* no name or word of the lists is longer */

/* The folded form of a short text; its ptr is NULL when that is longer than any of the lists has. */
static struct slice fold_into(struct slice text, char room[WORD_MOST])
{
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        if (len == WORD_MOST) {
            return (struct slice){NULL, 0};
        }
        room[len++] = (char)fold_next(text, &at);
    }
    return (struct slice){room, len};
}

static bool parts_words(char c)
{
    return c == '_' || c == '-' || c == '.' || c == ' ' || c == '\t';
}

static bool is_capital_behind_small(struct slice name, size_t at)
{
    return at > 0 && name.ptr[at] >= 'A' && name.ptr[at] <= 'Z' && name.ptr[at - 1] >= 'a' &&
           name.ptr[at - 1] <= 'z';
}

static uint32_t take_apart(struct slice name)
{
    char room[WORD_MOST];
    struct slice folded = fold_into(name, room);
    uint32_t classes = folded.ptr == NULL ? 0 : whole_classes(folded);
    size_t from = 0;
    for (size_t at = 0; at <= name.len; at++) {
        bool parts = at == name.len || parts_words(name.ptr[at]);
        if (!parts && !is_capital_behind_small(name, at)) {
            continue;
        }
        folded = fold_into((struct slice){name.ptr + from, at - from}, room);
        classes |= folded.ptr == NULL ? 0 : word_classes(folded);
        from = parts ? at + 1 : at;
    }
    return classes;
}

uint32_t name_classes(struct name_cache *cache, struct slice name)
{
    if (name.len == 0 || name.len > NAME_CACHE_BYTES) {
        return take_apart(name);
    }
    uint32_t hash = (uint32_t)name.len * 31u + (unsigned char)name.ptr[0];
    hash = hash * 31u + (unsigned char)name.ptr[name.len / 2];
    hash = hash * 31u + (unsigned char)name.ptr[name.len - 1];
    uint32_t at = (hash ^ hash >> 7) % NAME_CACHE_SLOTS;
    if (cache->slots[at].len != name.len || memcmp(cache->slots[at].text, name.ptr, name.len) != 0) {
        cache->slots[at].len = (uint8_t)name.len;
        memcpy(cache->slots[at].text, name.ptr, name.len);
        cache->slots[at].classes = take_apart(name);
    }
    return cache->slots[at].classes;
}
