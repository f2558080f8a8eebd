/* What a text with wildcards stands for at this moment: braces first, then one component after another. */
#include <stdlib.h>
#include <string.h>

#include "path/internal.h"

#define ALTERNATIVES_MOST 64u
#define PATHS_MOST        ((size_t)1 << 14)
#define TEXTS_BYTES       ((size_t)16 << 20)

/* A text in the globber's buffer. */
struct part {
    size_t at, len;
};

/* A `{` that is open. */
struct brace {
    uint16_t at;
    bool comma;
};

struct path_globber {
    struct path_walker *walker;
    struct buf texts;
    struct part *parts;
    size_t part_count, part_cap;

    /* Of the present text. */
    const struct path_glob *glob;
    size_t left; /* how many entries may yet be looked at */
    size_t work;
    struct brace open[LIMIT_PATH_BYTES];
    struct slice last;
};

struct path_globber *path_globber_create(struct path_walker *walker)
{
    struct path_globber *globber = calloc(1, sizeof(*globber));
    if (globber != NULL) {
        globber->walker = walker;
        buf_init(&globber->texts, TEXTS_BYTES);
    }
    return globber;
}

void path_globber_destroy(struct path_globber *globber)
{
    if (globber == NULL) {
        return;
    }
    buf_finish(&globber->texts);
    free(globber->parts);
    free(globber);
}

static bool add_part(struct path_globber *globber, size_t at, size_t len)
{
    void *parts = globber->parts;
    if (!buf_ok(&globber->texts) ||
        !path_room(&parts, globber->part_count, &globber->part_cap, sizeof(*globber->parts), PATHS_MOST)) {
        return false;
    }
    globber->parts = parts;
    globber->parts[globber->part_count++] = (struct part){at, len};
    return true;
}

static struct slice part_text(const struct path_globber *globber, size_t index)
{
    return (struct slice){globber->texts.ptr + globber->parts[index].at, globber->parts[index].len};
}

/* ---- Braces ---- */

/* The first `{…}` with a comma of its own: where it begins, and the byte behind its `}`. One pass: of each brace that is
 * open, the globber keeps where it is and whether it has a comma. */
static bool find_braces(struct path_globber *globber, struct slice text, size_t *ret_from, size_t *ret_end)
{
    size_t depth = 0;
    bool found = false;
    if (text.len > LIMIT_PATH_BYTES) {
        return false;
    }
    for (size_t at = 0; at < text.len; at++) {
        if (text.ptr[at] == '{') {
            globber->open[depth++] = (struct brace){(uint16_t)at, false};
        } else if (text.ptr[at] == ',' && depth > 0) {
            globber->open[depth - 1].comma = true;
        } else if (text.ptr[at] == '}' && depth > 0 && globber->open[--depth].comma &&
                   (!found || globber->open[depth].at < *ret_from)) {
            *ret_from = globber->open[depth].at;
            *ret_end = at + 1;
            found = true;
        }
    }
    return found;
}

static bool add_alternative(struct path_globber *globber, struct part whole, size_t from, size_t end,
                            struct part middle)
{
    struct buf *texts = &globber->texts;
    size_t at = texts->len, len = from + middle.len + (whole.len - end);
    char *to = buf_reserve(texts, len);
    if (to == NULL) {
        return false;
    }
    memcpy(to, texts->ptr + whole.at, from);
    memcpy(to + from, texts->ptr + middle.at, middle.len);
    memcpy(to + from + middle.len, texts->ptr + whole.at + end, whole.len - end);
    buf_added(texts, len);
    return add_part(globber, at, len);
}

static bool add_alternatives(struct path_globber *globber, struct part whole, size_t from, size_t end)
{
    size_t depth = 0, begin = from + 1;
    for (size_t at = from; at < end; at++) {
        char c = globber->texts.ptr[whole.at + at];
        if ((c == ',' && depth == 1) || at == end - 1) {
            if (!add_alternative(globber, whole, from, end, (struct part){whole.at + begin, at - begin})) {
                return false;
            }
            begin = at + 1;
        }
        depth += c == '{';
        depth -= c == '}';
    }
    return true;
}

enum braces {
    BRACES_FAILED = 0,
    BRACES_MANY, /* more than ALTERNATIVES_MOST */
    BRACES_OK,
};

/* Replaces the only part by its alternatives, each without braces. */
static enum braces open_braces(struct path_globber *globber)
{
    size_t first = 0, from, end;
    while (first < globber->part_count) {
        if (!find_braces(globber, part_text(globber, first), &from, &end)) {
            first++;
            continue;
        }
        struct part whole = globber->parts[first];
        globber->parts[first] = globber->parts[--globber->part_count];
        if (!add_alternatives(globber, whole, from, end)) {
            return BRACES_FAILED;
        }
        if (globber->part_count > ALTERNATIVES_MOST) {
            return BRACES_MANY;
        }
    }
    return BRACES_OK;
}

/* ---- Components ---- */

static struct slice last_component(struct slice text)
{
    while (text.len > 0 && text.ptr[text.len - 1] == '/') {
        text.len--;
    }
    const char *slash = text.len == 0 ? NULL : memrchr(text.ptr, '/', text.len);
    return slash == NULL ? text : slice_from(text, (size_t)(slash - text.ptr) + 1);
}

static bool has_two_stars(struct slice name)
{
    return name.len >= 2 && memmem(name.ptr, name.len, "**", 2) != NULL;
}

/* The whole tree above the component at `at` of a text. */
static bool give_tree(struct path_globber *globber, struct slice path, bool filtered)
{
    const struct path_glob *glob = globber->glob;
    return glob->found(glob->context, path, true, filtered ? globber->last : (struct slice){NULL, 0});
}

static bool collect(void *context, struct slice path)
{
    struct path_globber *globber = context;
    size_t at = globber->texts.len;
    buf_slice(&globber->texts, path);
    return add_part(globber, at, path.len);
}

enum step {
    STEP_FAILED = 0,
    STEP_TREE, /* beyond the limit */
    STEP_OK,
};

/* Puts each entry of each path since `first` that a component with wildcards matches in their place. */
static enum step match_component(struct path_globber *globber, size_t first, struct slice name)
{
    const struct path_ask ask = {
        .filters = &name,
        .filter_count = 1,
        .hidden = true,
        .found = collect,
        .context = globber,
    };
    size_t until = globber->part_count;
    for (size_t i = first; i < until; i++) {
        char path[LIMIT_PATH_BYTES];
        struct slice text = part_text(globber, i);
        if (text.len > sizeof(path)) {
            continue;
        }
        memcpy(path, text.ptr, text.len); /* what it points into may move */
        size_t left = globber->left;
        enum path_walk walk =
            path_walk_entries(globber->walker, (struct slice){path, text.len}, &ask, &globber->left);
        globber->work += 64 + (left - globber->left) * (4 + name.len / 4);
        switch (walk) {
        case PATH_WALK_FAILED:
            return globber->part_count >= PATHS_MOST ? STEP_TREE : STEP_FAILED;
        case PATH_WALK_OVER:
            return STEP_TREE;
        case PATH_WALK_OK:
            break;
        }
    }
    memmove(globber->parts + first, globber->parts + until,
            (globber->part_count - until) * sizeof(*globber->parts));
    globber->part_count -= until - first;
    return STEP_OK;
}

/* Puts a component as it is behind each path since `first`. */
static bool append_component(struct path_globber *globber, size_t first, struct slice name)
{
    for (size_t i = first; i < globber->part_count; i++) {
        struct part part = globber->parts[i];
        bool root = part.len > 0 && globber->texts.ptr[part.at + part.len - 1] == '/';
        size_t at = globber->texts.len, len = part.len + !root + name.len;
        char *to = buf_reserve(&globber->texts, len);
        if (to == NULL) {
            return false;
        }
        memcpy(to, globber->texts.ptr + part.at, part.len);
        if (!root) {
            to[part.len] = '/';
        }
        memcpy(to + part.len + !root, name.ptr, name.len);
        buf_added(&globber->texts, len);
        globber->parts[i] = (struct part){at, len};
    }
    return true;
}

static bool walk_one(struct path_globber *globber, struct slice start, struct slice text)
{
    size_t first = globber->part_count, kept = globber->texts.len;
    char tree[LIMIT_PATH_BYTES];
    size_t tree_len = 0;
    bool wild = false, good = true;
    globber->last = last_component(text);
    if (start.len > sizeof(tree)) {
        return true;
    }
    buf_slice(&globber->texts, start);
    good = add_part(globber, kept, start.len);
    while (good && text.len > 0) {
        const char *slash = memchr(text.ptr, '/', text.len);
        size_t len = slash == NULL ? text.len : (size_t)(slash - text.ptr);
        struct slice name = {text.ptr, len};
        text = slice_from(text, slash == NULL ? len : len + 1);
        if (len == 0) {
            continue;
        }
        if (!wild && path_has_wildcard(name) && part_text(globber, first).len <= sizeof(tree)) {
            wild = true;
            tree_len = part_text(globber, first).len;
            memcpy(tree, part_text(globber, first).ptr, tree_len);
        }
        if (has_two_stars(name)) {
            for (size_t i = first; good && i < globber->part_count; i++) {
                good = give_tree(globber, part_text(globber, i), !has_two_stars(globber->last));
            }
            globber->part_count = first;
            break;
        }
        if (!path_has_wildcard(name)) {
            good = append_component(globber, first, name);
            continue;
        }
        enum step step = match_component(globber, first, name);
        if (step == STEP_TREE) {
            globber->part_count = first;
            return give_tree(globber, (struct slice){tree, tree_len}, false);
        }
        good = step == STEP_OK;
    }
    for (size_t i = first; good && wild && i < globber->part_count; i++) {
        good = globber->glob->found(globber->glob->context, part_text(globber, i), false,
                                    (struct slice){NULL, 0});
    }
    globber->part_count = first;
    globber->texts.len = kept;
    return good;
}

/* One text without braces, from one start. `..` is taken where the walk stands, and, as for every path, from the text. */
static bool expand_one(struct path_globber *globber, struct slice start, struct slice text)
{
    char room[PATH_TEXTUAL_BYTES];
    if (!walk_one(globber, start, text)) {
        return false;
    }
    if (!path_has_dotdot(text)) {
        return true;
    }
    struct slice reduced = path_textual(start, text, room);
    return !path_has_wildcard(reduced) || walk_one(globber, SLICE("/"), reduced);
}

bool path_has_glob(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '*' || text.ptr[i] == '?' || text.ptr[i] == '[' || text.ptr[i] == '{') {
            return true;
        }
    }
    return false;
}

/* What stands above the first component that has a wildcard or a brace. */
static struct slice above_wildcards(struct slice text)
{
    size_t at = 0;
    while (at < text.len && strchr("*?[{", text.ptr[at]) == NULL) {
        at++;
    }
    const char *slash = at == 0 ? NULL : memrchr(text.ptr, '/', at);
    return (struct slice){text.ptr, slash == NULL ? 0 : (size_t)(slash - text.ptr) + 1};
}

size_t path_glob_work(const struct path_globber *globber)
{
    return globber->work;
}

bool path_glob(struct path_globber *globber, struct slice text, const struct path_glob *glob)
{
    globber->glob = glob;
    globber->left = LIMIT_GLOB_ENTRIES;
    globber->work = text.len / 4;
    globber->part_count = 0;
    buf_reset(&globber->texts);
    buf_slice(&globber->texts, text);
    if (!add_part(globber, 0, text.len)) {
        return false;
    }
    enum braces braces = open_braces(globber);
    if (braces == BRACES_FAILED) {
        return false;
    }
    if (braces == BRACES_MANY) {
        return glob->plain(glob->context, above_wildcards(text), true);
    }
    size_t count = globber->part_count;
    for (size_t i = 0; i < count; i++) {
        char one[LIMIT_PATH_BYTES];
        struct slice part = part_text(globber, i);
        if (part.len > sizeof(one)) {
            continue;
        }
        memcpy(one, part.ptr, part.len);
        part = (struct slice){one, part.len};
        if (!path_has_wildcard(part)) {
            if (!glob->plain(glob->context, part, false)) {
                return false;
            }
            continue;
        }
        bool absolute = part.len > 0 && part.ptr[0] == '/';
        for (size_t s = 0; s < (absolute ? 1 : glob->start_count); s++) {
            if (!expand_one(globber, absolute ? SLICE("/") : glob->starts[s], part)) {
                return false;
            }
        }
    }
    return true;
}

enum path_walk path_alternatives(struct path_globber *globber, struct slice text,
                                 bool (*found)(void *context, struct slice text), void *context)
{
    globber->part_count = 0;
    buf_reset(&globber->texts);
    buf_slice(&globber->texts, text);
    enum braces braces = add_part(globber, 0, text.len) ? open_braces(globber) : BRACES_FAILED;
    if (braces == BRACES_FAILED) {
        return PATH_WALK_FAILED;
    }
    for (size_t i = 0; i < globber->part_count && braces == BRACES_OK; i++) {
        if (!found(context, part_text(globber, i))) {
            return PATH_WALK_OVER;
        }
    }
    return braces == BRACES_OK ? PATH_WALK_OK : PATH_WALK_OVER;
}
