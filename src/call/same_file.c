/* A prefix that is the same file as a step of the path at hand, under another spelling: a hard link, a bind
 * mount, or a directory that was moved. Known by device and inode, as they were at load; for files with
 * several links also as they are now. */
#include <stdlib.h>

#include "call/internal.h"

#define MATCHES_MOST ((size_t)8 << 20)

static int compare_now(const void *a, const void *b)
{
    const struct file_now *left = a, *right = b;
    if (left->dev != right->dev) {
        return left->dev < right->dev ? -1 : 1;
    }
    if (left->ino != right->ino) {
        return left->ino < right->ino ? -1 : 1;
    }
    return left->prefix < right->prefix ? -1 : left->prefix > right->prefix;
}

/* A file with several links may have become a prefix's since the load: looks again, once for a call. */
static bool look_again(struct scratch *scratch)
{
    size_t count;
    const uint32_t *files = path_prefixes_files(scratch->prefixes, &count);
    if (scratch->now_made) {
        return true;
    }
    scratch->now_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct path_step step;
        void *now = scratch->now;
        if (!path_look(scratch->prefixes->list[files[i] - 1].path.ptr, &step)) {
            continue;
        }
        if (!call_grow(&now, scratch->now_count, &scratch->now_cap, sizeof(*scratch->now), LIMIT_RULES)) {
            return false;
        }
        scratch->now = now;
        scratch->now[scratch->now_count++] = (struct file_now){step.dev, step.ino, files[i]};
    }
    if (scratch->now_count > 1) {
        qsort(scratch->now, scratch->now_count, sizeof(*scratch->now), compare_now);
    }
    scratch->now_made = true;
    return true;
}

static bool add_match(struct scratch *scratch, uint32_t prefix, size_t step)
{
    const struct path_resolved *place = scratch->out->workspace;
    struct slice spelt = scratch->prefixes->list[prefix - 1].path;
    if (slice_eq(spelt, (struct slice){place->text, place->steps[step].end})) {
        return true;
    }
    void *matches = scratch->matches;
    if (!call_grow(&matches, scratch->match_count, &scratch->match_cap, sizeof(*scratch->matches),
                   MATCHES_MOST)) {
        return false;
    }
    scratch->matches = matches;
    scratch->matches[scratch->match_count++] = (struct same_file){prefix, (uint32_t)step};
    return true;
}

static bool match_again(struct scratch *scratch, size_t step)
{
    const struct path_step *file = &scratch->out->workspace->steps[step];
    if (!look_again(scratch)) {
        return false;
    }
    size_t low = 0, high = scratch->now_count;
    const struct file_now wanted = {file->dev, file->ino, 0};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_now(&scratch->now[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (;
         low < scratch->now_count && scratch->now[low].dev == file->dev && scratch->now[low].ino == file->ino;
         low++) {
        if (!add_match(scratch, scratch->now[low].prefix, step)) {
            return false;
        }
    }
    return true;
}

static int compare_matches(const void *a, const void *b)
{
    const struct same_file *left = a, *right = b;
    if (left->prefix != right->prefix) {
        return left->prefix < right->prefix ? -1 : 1;
    }
    return left->step > right->step ? -1 : left->step < right->step;
}

bool same_files_find(struct scratch *scratch)
{
    const struct path_resolved *place = scratch->out->workspace;
    scratch->match_count = 0;
    for (size_t i = 0; i < place->step_count; i++) {
        const struct path_step *step = &place->steps[i];
        for (uint32_t id = path_prefixes_of_file(scratch->prefixes, step->dev, step->ino); id != 0;
             id = path_prefixes_next_of_file(scratch->prefixes, id)) {
            if (!add_match(scratch, id, i)) {
                return false;
            }
        }
        if (step->linked && !match_again(scratch, i)) {
            return false;
        }
    }
    if (scratch->match_count > 1) {
        qsort(scratch->matches, scratch->match_count, sizeof(*scratch->matches), compare_matches);
    }
    return true;
}

struct slice same_file_spell(struct scratch *scratch, const struct same_file *match)
{
    const struct path_resolved *place = scratch->out->workspace;
    struct slice prefix = scratch->prefixes->list[match->prefix - 1].path;
    size_t end = place->steps[match->step].end;
    struct slice rest = {place->text + end, place->len - end};
    if (end == 1 && place->len > 1) {
        rest = (struct slice){place->text, place->len};
    }
    if (prefix.len == 1 && rest.len > 0) {
        prefix.len = 0;
    }
    memcpy(scratch->spelt, prefix.ptr, prefix.len);
    if (rest.len > 0) {
        memcpy(scratch->spelt + prefix.len, rest.ptr, rest.len);
    }
    return (struct slice){scratch->spelt, prefix.len + rest.len};
}
