/* The commands that stand for all commands of a set, for whoever asks which patterns cover which (docs: "Exact
 * analysis").
 *
 * A world is the patterns that matter. For a set of commands, one pattern and up to two later words, a world gives
 * finitely many commands of it, its points: some patterns of the world cover the set together exactly when each point
 * is in one of them. The reason: in the words that the set leaves open a point has words like no pattern's, which only
 * an open word or none covers; and there is a point for each number of words up to one more than any pattern has, and
 * for each place of the later words.
 *
 * A world borrows the patterns and owns the rest until command_world_finish. */
#ifndef COMMAND_POINTS_H
#define COMMAND_POINTS_H

#include "base/intern.h"
#include "command/pattern.h"

#define COMMAND_POINT_WORDS (COMMAND_PATTERN_WORDS + 4u)

struct command_world {
    struct arena arena, kept; /* of the points of one visit; of the texts */
    struct intern texts;      /* of all words of patterns */
    const struct command_word_pattern **later;
    size_t later_count, later_cap;
    uint32_t most_words; /* of any pattern */
    size_t longest;      /* text */
    bool failed;         /* no memory */
};

void command_world_init(struct command_world *world);
void command_world_finish(struct command_world *world);

/* Adds what rules ask for; what they point to must live as long as the world, which may not be moved. What is added once is
 * enough: equal later words cost time at every visit. */
void command_world_add(struct command_world *world, const struct command_pattern *pattern);
void command_world_add_word(struct command_world *world, const struct command_word_pattern *later);

/* A set of commands: those of the pattern (NULL: all) that have each of the later words (NULL: none asked for). */
struct command_set {
    const struct command_pattern *pattern;
    const struct command_word_pattern *later[2];
};

/* A point: the words of a command. Those that are like no pattern's are marked, so that a caller may put others in
 * their place which are as unlike, such as paths. */
struct command_point {
    struct slice words[COMMAND_POINT_WORDS];
    bool fresh[COMMAND_POINT_WORDS];
    uint32_t count;
};

/* Sees one point after the other until it says that it has seen enough. A point is no more after the visit; a visitor
 * visits no other points of the world. */
typedef bool command_point_visit(void *context, const struct command_point *point);

enum command_points_result {
    COMMAND_POINTS_ALL,    /* every point was seen */
    COMMAND_POINTS_ENOUGH, /* the visitor had enough */
    COMMAND_POINTS_FAILED, /* not all points could be made: no memory, or no word that is like no other */
};

enum command_points_result command_points_visit(struct command_world *world, const struct command_set *set,
                                                command_point_visit *visit, void *context);

#endif
