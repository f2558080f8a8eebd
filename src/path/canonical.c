/* One string to one canonical path. For that the platform is asked here alone: what is at this path
 * (fstatat), and where does this link lead (readlinkat).
 *
 * Not openat2: its one call gives the canonical text for less (2 to 3 us at 5 to 20 components, where the
 * walk takes 2.5 to 13), but no word of the files above it, and each of those may be a rule's prefix under
 * another name (SPEC.md section 4). With a look at each of them it is no quicker than the walk, it knows
 * nothing of a path that does not exist or of `..` beyond one, and there would be two resolvers to agree.
 * bench/path_bench.c measures all of them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "path/internal.h"

#ifndef O_PATH
#define O_PATH O_RDONLY /* elsewhere only directories that can be read are held */
#endif

#define LOOK_WORK 16u

enum look {
    LOOK_REFUSED = 0, /* neither there nor absent, as far as we can tell */
    LOOK_ABSENT,
    LOOK_LINK,
    LOOK_FOUND,
};

static enum look look_at(int dir, const char *path, struct path_step *ret_step)
{
    struct stat st;
    if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? LOOK_ABSENT : LOOK_REFUSED;
    }
    if (S_ISLNK(st.st_mode)) {
        return LOOK_LINK;
    }
    *ret_step = (struct path_step){
        .dev = st.st_dev,
        .ino = st.st_ino,
        .directory = S_ISDIR(st.st_mode),
    };
    return LOOK_FOUND;
}

static bool has_nul(struct slice text)
{
    return text.len != 0 && memchr(text.ptr, '\0', text.len) != NULL;
}

/* The text of a link; false for anything that is not a whole text of at least one byte. */
static bool read_target(int dir, const char *path, char target[LIMIT_PATH_BYTES + 1],
                        struct slice *ret_target)
{
    ssize_t len = readlinkat(dir, path, target, LIMIT_PATH_BYTES + 1);
    if (len <= 0 || (size_t)len > LIMIT_PATH_BYTES) {
        return false;
    }
    *ret_target = (struct slice){target, (size_t)len};
    return !has_nul(*ret_target);
}

bool path_look(const char *path, struct path_step *ret_step)
{
    return look_at(AT_FDCWD, path, ret_step) == LOOK_FOUND;
}

static bool is_dot(struct slice name)
{
    return name.len == 1 && name.ptr[0] == '.';
}

static bool is_dotdot(struct slice name)
{
    return name.len == 2 && name.ptr[0] == '.' && name.ptr[1] == '.';
}

/* Takes the first component, which may be empty, off a text. */
static struct slice take_name(struct slice *text)
{
    const char *slash = memchr(text->ptr, '/', text->len);
    size_t len = slash == NULL ? text->len : (size_t)(slash - text->ptr);
    struct slice name = {text->ptr, len};
    *text = slice_from(*text, slash == NULL ? len : len + 1);
    return name;
}

bool path_has_dotdot(struct slice text)
{
    while (text.len >= 2) {
        if (is_dotdot(take_name(&text))) {
            return true;
        }
    }
    return false;
}

/* ---- The walk ---- */

/* The kernel walks each path that it is given from its start, so asking with whole paths is quickest for
 * short ones, and costs the square of a long one's depth. A long walk holds a directory some steps above where it stands, and asks
 * from there: in the middle, so that going up and down around here does not lose it. */
#define HOLD_ABOVE 8u
#define HOLD_AFTER 20u

static void let_go(struct path_resolved *r)
{
    if (r->held >= 0) {
        (void)close(r->held);
    }
    r->held = AT_FDCWD;
    r->held_len = 0;
    r->held_steps = 0;
}

/* The path from the held directory. */
static const char *from_held(const struct path_resolved *r)
{
    return r->held_len == 0 ? r->text : r->text + r->held_len + 1;
}

static void hold(struct path_resolved *r)
{
    size_t steps = r->step_count - HOLD_ABOVE, len = r->steps[steps - 1].end;
    char after = r->text[len];
    r->text[len] = '\0';
    int dir = openat(r->held, from_held(r), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    r->text[len] = after;
    if (dir >= 0) { /* else the walk goes on as it is */
        let_go(r);
        r->held = dir;
        r->held_len = len;
        r->held_steps = steps;
    }
}

static void set_path(struct path_resolved *r, size_t len)
{
    r->len = len;
    r->text[len] = '\0';
}

static void go_to_root(struct path_resolved *r)
{
    r->text[0] = '/';
    set_path(r, 1);
    r->step_count = 1;
    let_go(r);
}

static void go_up(struct path_resolved *r)
{
    const char *slash = memrchr(r->text, '/', r->len);
    set_path(r, slash == r->text ? 1 : (size_t)(slash - r->text));
    while (r->steps[r->step_count - 1].end > r->len) {
        r->step_count--;
    }
    if (r->len < r->held_len) {
        let_go(r);
    }
}

bool path_is_here(struct slice text)
{
    while (text.len > 0) {
        struct slice name = take_name(&text);
        if (name.len > 0 && !is_dot(name)) {
            return false;
        }
    }
    return true;
}

/* Whether nothing is left to walk but slashes and dots, and no link led here. */
static bool is_last(const struct path_resolved *r)
{
    bool last = r->rest_count <= r->target_at;
    for (size_t i = 0; i < r->rest_count && last; i++) {
        last = path_is_here(r->rest[i]);
    }
    return last;
}

/* Goes on with the text of the link at the end of the path, which is `parent` bytes long without it. */
static bool follow(struct path_resolved *r, size_t parent)
{
    struct slice target;
    if (is_last(r)) {
        memcpy(r->link, r->text, r->len);
        r->link_len = r->len;
    }
    r->target_at = r->rest_count <= r->target_at ? r->rest_count : r->target_at;
    if (path_is_under((struct slice){r->text, r->len}, SLICE("/proc")) || r->links == LIMIT_LINKS ||
        !read_target(r->held, from_held(r), r->targets[r->links], &target)) {
        return false;
    }
    r->links++;
    r->rest[r->rest_count++] = target;
    if (target.ptr[0] == '/') {
        go_to_root(r);
    } else {
        set_path(r, parent);
    }
    return true;
}

static bool go_down(struct path_resolved *r, struct slice name)
{
    size_t parent = r->len;
    size_t at = parent == 1 ? 1 : parent + 1;
    if (at + name.len > LIMIT_PATH_BYTES) {
        return false;
    }
    r->text[at - 1] = '/';
    memcpy(r->text + at, name.ptr, name.len);
    set_path(r, at + name.len);
    const struct path_step *last = &r->steps[r->step_count - 1];
    if (last->end != parent || !last->directory) {
        return true; /* below what is absent, or below a file: kept, and there is nothing to look at */
    }
    struct path_step step;
    if (r->step_count - r->held_steps > HOLD_AFTER) {
        hold(r);
    }
    r->work += LOOK_WORK - 1;
    switch (look_at(r->held, from_held(r), &step)) {
    case LOOK_FOUND:
        step.end = (uint16_t)r->len;
        r->steps[r->step_count++] = step;
        return true;
    case LOOK_ABSENT:
        return true;
    case LOOK_LINK:
        return follow(r, parent);
    case LOOK_REFUSED:
        break;
    }
    return false;
}

/* Walks all that is left; `..` is taken where the walk stands. */
static bool walk(struct path_resolved *r)
{
    while (r->rest_count > 0) {
        struct slice *rest = &r->rest[r->rest_count - 1];
        if (rest->len == 0) {
            r->rest_count--;
            continue;
        }
        struct slice name = take_name(rest);
        r->work++;
        if (name.len == 0 || is_dot(name)) {
            continue;
        }
        if (is_dotdot(name)) {
            go_up(r);
        } else if (!go_down(r, name)) {
            return false;
        }
    }
    return true;
}

static void finish(struct path_resolved *r)
{
    r->work = 0;
    r->link_len = 0;
    r->target_at = SIZE_MAX;
    r->readable = walk(r);
    let_go(r);
    r->exists = r->readable && r->steps[r->step_count - 1].end == r->len;
}

static bool begin(struct path_resolved *r)
{
    r->readable = r->exists = false;
    r->links = 0;
    r->work = 0;
    r->link_len = 0;
    r->rest_count = 0;
    r->held = AT_FDCWD;
    go_to_root(r);
    if (!path_look("/", &r->steps[0])) {
        return false;
    }
    r->steps[0].end = 1;
    return true;
}

/* ---- Removing `..` from the text ---- */

/* Writes what `..` leaves of a text in front of *at, from its end to its start. *ups counts the `..` that
 * have yet to take a name away, and goes on into the text that stands before this one. */
static void reduce(struct slice text, char *buffer, size_t *at, size_t *ups)
{
    size_t end = text.len;
    for (;;) {
        const char *slash = end == 0 ? NULL : memrchr(text.ptr, '/', end);
        size_t from = slash == NULL ? 0 : (size_t)(slash - text.ptr) + 1;
        struct slice name = {text.ptr + from, end - from};
        if (is_dotdot(name)) {
            ++*ups;
        } else if (name.len != 0 && !is_dot(name) && *ups > 0) {
            --*ups;
        } else if (name.len != 0 && !is_dot(name)) {
            *at -= name.len;
            memcpy(buffer + *at, name.ptr, name.len);
            buffer[--*at] = '/';
        }
        if (slash == NULL) {
            return;
        }
        end = from - 1;
    }
}

struct slice path_textual(struct slice start, struct slice text, char room[PATH_TEXTUAL_BYTES])
{
    size_t at = PATH_TEXTUAL_BYTES, ups = 0;
    if (start.len > LIMIT_PATH_BYTES || text.len > LIMIT_PATH_BYTES) {
        return SLICE("/");
    }
    reduce(text, room, &at, &ups);
    if (text.len == 0 || text.ptr[0] != '/') {
        reduce(start, room, &at, &ups);
    }
    return at == PATH_TEXTUAL_BYTES ? SLICE("/") : (struct slice){room + at, PATH_TEXTUAL_BYTES - at};
}

void path_resolve(struct path_resolved *ret, struct slice start, struct slice text, enum path_mode mode)
{
    bool relative = text.len == 0 || text.ptr[0] != '/';
    if (!begin(ret) || text.len > LIMIT_PATH_BYTES || has_nul(text)) {
        return;
    }
    if (text.ptr == NULL) {
        text = SLICE("");
    }
    if (!relative) {
        start = SLICE("");
    } else if (start.len == 0 || start.ptr[0] != '/' || start.len > LIMIT_PATH_BYTES || has_nul(start)) {
        return;
    }
    if (mode == PATH_TEXTUAL && (path_has_dotdot(start) || path_has_dotdot(text))) {
        size_t at = sizeof(ret->reduced), ups = 0;
        reduce(text, ret->reduced, &at, &ups);
        reduce(start, ret->reduced, &at, &ups);
        ret->rest[ret->rest_count++] = (struct slice){ret->reduced + at, sizeof(ret->reduced) - at};
    } else {
        ret->rest[ret->rest_count++] = text;
        ret->rest[ret->rest_count++] = start;
    }
    finish(ret);
}

void path_resolve_on(struct path_resolved *ret, const struct path_start *start, struct slice text)
{
    ret->held = AT_FDCWD;
    let_go(ret);
    memcpy(ret->text, start->canonical.ptr, start->canonical.len);
    set_path(ret, start->canonical.len);
    memcpy(ret->steps, start->steps, start->step_count * sizeof(*start->steps));
    ret->step_count = start->step_count;
    ret->links = start->links;
    ret->rest[0] = text;
    ret->rest_count = 1;
    finish(ret);
}

bool path_is_home(struct slice text)
{
    return text.len > 0 && text.ptr[0] == '~' && (text.len == 1 || text.ptr[1] == '/');
}

struct slice path_below_home(struct slice text)
{
    do {
        text = slice_from(text, 1);
    } while (text.len > 0 && text.ptr[0] == '/');
    return text;
}

void path_resolve_again(struct path_resolved *place, size_t step, struct slice text, struct slice then)
{
    place->step_count = step + 1;
    set_path(place, place->steps[step].end);
    place->held = AT_FDCWD;
    let_go(place);
    place->links = 0;
    place->rest[0] = then;
    place->rest[1] = text;
    place->rest_count = 2;
    finish(place);
}

/* ---- Canonical paths compared ---- */

bool path_is_under(struct slice path, struct slice above)
{
    if (above.len == 1 && above.ptr[0] == '/') {
        return path.len > 0 && path.ptr[0] == '/';
    }
    return slice_starts_with(path, above) && (path.len == above.len || path.ptr[above.len] == '/');
}

bool path_has_component(struct slice path, struct slice pattern)
{
    bool ends = pattern.len > 1 && pattern.ptr[0] == '*';
    bool begins = !ends && pattern.len > 1 && pattern.ptr[pattern.len - 1] == '*';
    struct slice part = ends ? slice_from(pattern, 1) : (struct slice){pattern.ptr, pattern.len - begins};
    while (path.len > 0) {
        struct slice name = take_name(&path);
        if (name.len != 0 && (ends     ? slice_ends_with(name, part)
                              : begins ? slice_starts_with(name, part)
                                       : slice_eq(name, part))) {
            return true;
        }
    }
    return false;
}
