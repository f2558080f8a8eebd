/* The commands that stand for all commands of a set. */
#include "command/points.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/internal.h"

void command_world_init(struct command_world *world)
{
    *world = (struct command_world){.most_words = 1};
    arena_init(&world->arena, 0);
    arena_init(&world->kept, 0);
    intern_init(&world->texts, &world->kept);
}

void command_world_finish(struct command_world *world)
{
    intern_finish(&world->texts);
    free(world->later);
    arena_finish(&world->kept);
    arena_finish(&world->arena);
    *world = (struct command_world){.most_words = 0};
}

static void add_text(struct command_world *world, struct slice text)
{
    world->failed = world->failed || intern_add(&world->texts, text) == 0;
    world->longest = text.len > world->longest ? text.len : world->longest;
}

void command_world_add(struct command_world *world, const struct command_pattern *pattern)
{
    world->most_words = pattern->count > world->most_words ? pattern->count : world->most_words;
    for (uint32_t i = 0; i < pattern->count; i++) {
        add_text(world, pattern->words[i].text);
    }
}

void command_world_add_word(struct command_world *world, const struct command_word_pattern *later)
{
    if (!stack_room((void **)&world->later, world->later_count, &world->later_cap, sizeof(*world->later))) {
        world->failed = true;
        return;
    }
    world->later[world->later_count++] = later;
    add_text(world, later->text);
}

/* ---- Words like no other ---- */

/* What words that are like no other are made of: another in each try. */
#define TRIES 3700u

static struct slice stem(unsigned number, char room[8])
{
    static const char letters[] = "zqjxkvwyabcdefghilmnoprstu0123456789_";
    int len = snprintf(room, 8, "%c%c%u", letters[number % 37], letters[number % 37], number / 37 % 100);
    return (struct slice){room, (size_t)len};
}

/* Whether no pattern has a word that has not all that the later words stand for (NULL: for nothing). */
static bool is_generic(const struct command_world *world, const struct command_word_pattern *a,
                       const struct command_word_pattern *b, struct slice word)
{
    for (size_t i = 0; i < world->later_count; i++) {
        const struct command_word_pattern *other = world->later[i];
        bool all =
            (a != NULL && command_word_subset(a, other)) || (b != NULL && command_word_subset(b, other));
        if (!all && command_word_meets(other, word)) {
            return false;
        }
    }
    return intern_find(&world->texts, word) == 0;
}

static char *join(struct command_world *world, struct slice a, struct slice b, struct slice *ret)
{
    char *text = arena_alloc(&world->arena, a.len + b.len + 1);
    if (text == NULL) {
        world->failed = true;
        return NULL;
    }
    memcpy(text, a.len == 0 ? "" : a.ptr, a.len);
    memcpy(text + a.len, b.len == 0 ? "" : b.ptr, b.len);
    *ret = (struct slice){text, a.len + b.len};
    return text;
}

static bool find_fresh(struct command_world *world, struct slice *ret_word)
{
    char room[8];
    for (unsigned i = 0; i < TRIES; i++) {
        struct slice word = stem(i, room);
        if (is_generic(world, NULL, NULL, word)) {
            return join(world, word, (struct slice){"", 0}, ret_word) != NULL;
        }
    }
    return false;
}

/* `-`, letters, and the letter that is asked for among them: longer than any word of a pattern. */
static char *letters_word(struct command_world *world, unsigned number, char letter, struct slice *ret_word)
{
    unsigned filler = number % 52;
    size_t len = world->longest + 4;
    char *text = arena_alloc(&world->arena, len + 1);
    if (text == NULL) {
        world->failed = true;
        return NULL;
    }
    memset(text, filler < 26 ? (int)('a' + filler) : (int)('A' + filler - 26), len);
    text[0] = '-';
    text[2] = letter;
    *ret_word = (struct slice){text, len};
    return text;
}

/* Try number `number` of a word that a later word stands for; false when memory ran out. */
static bool make_instance(struct command_world *world, const struct command_word_pattern *later,
                          unsigned number, struct slice *ret_word)
{
    char room[8];
    struct slice fresh = stem(number, room);
    switch (later->kind) {
    case COMMAND_WORD_BEGINS:
        return join(world, later->text, fresh, ret_word) != NULL;
    case COMMAND_WORD_ENDS:
        return join(world, fresh, later->text, ret_word) != NULL;
    default:
        if (later->letter != 0) {
            return letters_word(world, number, later->letter, ret_word) != NULL;
        }
        *ret_word = later->text;
        return true;
    }
}

static bool find_instance(struct command_world *world, const struct command_word_pattern *later,
                          struct slice *ret_word)
{
    if (later->kind == COMMAND_WORD_IS && later->letter == 0) {
        *ret_word = later->text; /* there is no other */
        return true;
    }
    for (unsigned i = 0; i < TRIES && !world->failed; i++) {
        if (make_instance(world, later, i, ret_word) && is_generic(world, later, NULL, *ret_word)) {
            return true;
        }
    }
    return false;
}

/* Try number `number` of a word that is both: the one's word, which may be the other's as well. */
static bool make_both(struct command_world *world, const struct command_word_pattern *a,
                      const struct command_word_pattern *b, unsigned number, struct slice *ret_word)
{
    if (!make_instance(world, a, number, ret_word)) {
        return false;
    }
    if (a->kind == COMMAND_WORD_BEGINS && b->kind == COMMAND_WORD_ENDS) {
        return join(world, *ret_word, b->text, ret_word) != NULL;
    }
    if (a->letter != 0 && b->letter != 0) {
        return join(world, *ret_word, (struct slice){&b->letter, 1}, ret_word) != NULL;
    }
    return true;
}

/* A word of two later words at once; *ret_found is false when there seems to be none. */
static bool find_both(struct command_world *world, const struct command_word_pattern *a,
                      const struct command_word_pattern *b, bool *ret_found, struct slice *ret_word)
{
    *ret_found = false;
    for (unsigned i = 0; i < 2 * TRIES && !world->failed && !*ret_found; i++) {
        const struct command_word_pattern *one = i % 2 == 0 ? a : b, *other = i % 2 == 0 ? b : a;
        *ret_found =
            make_both(world, one, other, i / 2, ret_word) && command_word_meets(a, *ret_word) &&
            command_word_meets(b, *ret_word) &&
            (is_generic(world, a, b, *ret_word) || (one->kind == COMMAND_WORD_IS && one->letter == 0));
    }
    return !world->failed;
}

/* ---- Points ---- */

struct points {
    struct command_world *world;
    const struct command_word_pattern *later[2];
    const struct command_pattern *pattern;
    command_point_visit *visit;
    void *context;
    struct slice fresh, instances[2], both; /* `both` is the two at once */
    bool has_both, enough;
    struct command_point point;
};

/* The words of the pattern, and words like no other behind them up to `count`. */
static bool lay_out(struct points *points, uint32_t count)
{
    const struct command_pattern *pattern = points->pattern;
    struct command_point *point = &points->point;
    *point = (struct command_point){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        bool known = pattern != NULL && i < pattern->count && !pattern->words[i].any;
        point->words[i] = known ? pattern->words[i].text : points->fresh;
        point->fresh[i] = !known;
    }
    if (pattern != NULL && pattern->loose) { /* in a folder that no rule names */
        struct slice folder;
        return join(points->world, (struct slice){"/", 1}, points->fresh, &folder) != NULL &&
               join(points->world, folder, (struct slice){"/", 1}, &folder) != NULL &&
               join(points->world, folder, point->words[0], &point->words[0]) != NULL;
    }
    return true;
}

/* Shows the point with the later words from number `number` on put where they may stand. */
static void place_later(struct points *points, unsigned number)
{
    struct command_point *point = &points->point;
    const struct command_word_pattern *later = number < 2 ? points->later[number] : NULL;
    if (later == NULL) {
        points->enough = points->visit(points->context, point);
        return;
    }
    for (uint32_t i = 1; i < point->count && !points->enough; i++) {
        struct slice word = point->words[i];
        bool fresh = point->fresh[i];
        if (fresh) {
            point->words[i] = points->instances[number];
        } else if (!command_word_meets(later, word)) {
            /* Where the other later word was put one may stand that is both. */
            if (number == 0 || !points->has_both || word.ptr != points->instances[0].ptr) {
                continue;
            }
            point->words[i] = points->both;
        }
        point->fresh[i] = false;
        place_later(points, number + 1);
        point->words[i] = word;
        point->fresh[i] = fresh;
    }
}

/* Finds the words that points are made of. */
static bool find_words(struct points *points)
{
    struct command_world *world = points->world;
    bool found = find_fresh(world, &points->fresh);
    for (unsigned i = 0; i < 2 && found && points->later[i] != NULL; i++) {
        found = find_instance(world, points->later[i], &points->instances[i]);
    }
    if (found && points->later[1] != NULL) {
        found = find_both(world, points->later[0], points->later[1], &points->has_both, &points->both);
    }
    return found;
}

enum command_points_result command_points_visit(struct command_world *world, const struct command_set *set,
                                                command_point_visit *visit, void *context)
{
    struct points points = {.world = world, .pattern = set->pattern, .visit = visit, .context = context};
    points.later[0] = set->later[0] != NULL ? set->later[0] : set->later[1];
    points.later[1] = set->later[0] != NULL ? set->later[1] : NULL;
    arena_reset(&world->arena); /* what it holds is the words of the points before */
    if (world->failed || !find_words(&points)) {
        return COMMAND_POINTS_FAILED;
    }
    uint32_t least = set->pattern == NULL ? 1 : set->pattern->count, most = least;
    if (set->pattern == NULL || !set->pattern->exact) {
        uint32_t longest = world->most_words > least ? world->most_words : least;
        most = longest + 1 + (points.later[0] != NULL) + (points.later[1] != NULL);
    }
    for (uint32_t count = least; count <= most && !points.enough && !world->failed; count++) {
        if (lay_out(&points, count)) {
            place_later(&points, 0);
        }
    }
    if (world->failed) {
        return COMMAND_POINTS_FAILED;
    }
    return points.enough ? COMMAND_POINTS_ENOUGH : COMMAND_POINTS_ALL;
}
