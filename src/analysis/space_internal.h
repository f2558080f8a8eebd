/* One numbering for the matches of several policies, and sets of calls in it. For this room only.
 *
 * A box is a set of calls as a match is: each field fixed or open. Two boxes meet in a box or not at all,
 * because in every field the values nest (docs: "Exact analysis"). The calls of a box that are like no rule's
 * value in its open fields stand for all of them: whichever rule contains such a call contains the box. So
 * "which rule decides the calls of this box" is one question to an index for each actor that the box leaves
 * open.
 *
 * A space borrows its policies; owns the rest until space_finish. */
#ifndef ANALYSIS_SPACE_INTERNAL_H
#define ANALYSIS_SPACE_INTERNAL_H

#include "analysis/overlap_internal.h"
#include "analysis/patterns_internal.h"
#include "analysis/superset_internal.h"

#define SIDES 2
/* Of a rule of a side: it stands for the default set or the final allow. */
#define NO_RULE UINT32_MAX

/* A policy as what decides: its rules in the order of evaluation, each group of equivalents once, then a deny
 * for each entry of the default set, then an allow of everything. */
struct side {
    const struct policy *policy;
    struct policy flat; /* symbols, rules and args in the space's numbers; nothing else */
    uint32_t *origin;   /* by rule of flat: the policy's rule, or NO_RULE */
    uint32_t *place;    /* by rule of the policy: the rule of flat; NOWHERE when another speaks for it */
    /* By rule of flat: it has lists, commands or a host, and its box holds more than it matches. It is never said to
     * decide all of a box; that it decides some of one is only found, by a witness. */
    bool *opaque;
    uint32_t *simple; /* the rules of flat that are not, in order */
    uint32_t simple_count;
    struct superset *index;
    struct overlap
        *covering; /* the opaque rules that match whatever their fields hold: see space_first_cover */
};

/* Whether a reading has a command or a host beside its path, as a closed field of boxes: match.host. An auto_approve that
 * names a path and no tool is about readings that have none. */
enum other {
    OTHER_ANY,
    OTHER_NONE,
    OTHER_SOME,
};

/* A point of the closed fields: an enum actor, and SPACE_OTHER where the reading has a command or a host. */
#define SPACE_OTHER 4u

struct box {
    struct match match;        /* arg_first is not used; host is an enum other, and there are no commands */
    uint32_t second_component; /* 0 unless two patterns are asked of one path */
    const struct match_arg *args; /* match.arg_count of them, by key */
};

struct space {
    struct arena arena;
    struct intern symbols, paths; /* `paths`: canonical prefixes, a prefix's id is its number */
    uint32_t *path_up;            /* by path: the one just above; 0: none */
    uint32_t root;                /* the path "/", 0 when no rule has it */
    struct name_nest tools;
    uint32_t *tool_at; /* by symbol: 1 + its place in `tools` and above, as name_nest_find gives it; 0: not
                          asked yet */
    struct patterns patterns;
    struct pattern_list *path_patterns; /* by path */
    struct side sides[SIDES];
    size_t side_count;
    struct box *asked; /* the asked policy's matches, by assertion */
    /* Tools that some policy's lists or the built-in ones treat apart, and names of path arguments. */
    bool *listed_tool, *path_name; /* by symbol */
    uint32_t *listed, *path_names;
    uint32_t listed_count, path_name_count;
    /* The servers and tools of the lists' SERVER/TOOL keys, two symbols each. */
    uint32_t *listed_pairs;
    uint32_t listed_pair_count;
    /* By symbol of the loose form of an argument: the symbol of a value of that form; 0: of none. */
    uint32_t *loose_value, loose_cap;
    bool bare;             /* some rule asks for OTHER_NONE */
    bool trees_everywhere; /* a list for every tool names a tree */
    uint32_t most_args;
    /* The question's lists. */
    uint32_t *tools_above, *paths_above, *components;
};

/* Of which calls: those whose paths can be read, or those with a reading that cannot be: for them a rule that
 * looks at a path is a deny of whatever its other fields match. */
enum space_calls { SPACE_READABLE, SPACE_UNREADABLE };

/* `asked`: the space of the policy's assertions, or NULL; count and assertions give its matches. */
MUST_USE bool space_init(struct space *space, enum space_calls calls, const struct policy *const *policies,
                         size_t count, const struct policy *asked, const struct assertion *assertions,
                         size_t assertion_count);
void space_finish(struct space *space);

/* The box of a rule of a side. */
struct box space_box(const struct space *space, size_t side, uint32_t rule);

/* Room for the pairs of a box that is the meeting of so many rules. */
size_t space_room(const struct space *space, uint32_t rules);

/* The box of the calls in both; false when there is none. `args` gets the pairs of both: it has room for all of them. */
bool space_meet(const struct space *space, const struct box *a, const struct box *b, struct match_arg *args,
                struct box *ret);

/* Whether the box of a match holds more than it matches: it has a list, commands or a host. */
bool space_is_opaque(const struct policy *policy, const struct match *match);

/* The rule of the policy that a rule of a side stands for; NULL for the default set and the final allow. */
const struct rule *space_rule(const struct space *space, size_t side, uint32_t rule);

/* The first opaque rule of a side that matches whatever a rule of some policy matches, as far as that can be told; NOWHERE:
 * there is none. What it matches is known then, so the evaluation ends there. */
uint32_t space_first_cover(const struct space *space, size_t side, const struct policy *policy,
                           const struct rule *rule);

/* Whether a pair's key is that of a loose argument. */
bool space_is_loose(const struct space *space, uint32_t key);

/* Whether an exact pair of a box brings a loose one with it. */
bool space_has_exact(const struct space *space, const struct box *box, uint32_t loose_key);

/* A value of a loose form, as it is written in some match. */
uint32_t space_loose_value(const struct space *space, uint32_t form);

/* The points of a box: what it allows of the closed fields, at most SPACE_POINTS. How many. */
#define SPACE_POINTS 4u
uint32_t space_points(const struct space *space, const struct box *box, uint32_t ret[SPACE_POINTS]);

/* The actor of a point. */
static inline enum actor space_actor(uint32_t point)
{
    return (enum actor)(point & 3u);
}

/* The rule of a side, before rule `end`, that decides the calls of a box that are like nothing else, for a
 * point of the box. NOWHERE only when end is no rule's number, or the index is not whole. */
uint32_t space_winner(struct space *space, size_t side, const struct box *box, uint32_t point, uint32_t end);

/* Whether the calls of a box have a path whatever they are: their tool reads a tree when no argument names
 * one. */
bool space_always_path(const struct space *space, const struct box *box);

/* The names of a tool's tree arguments on one side: at most `max`, how many there are. Texts of the policy.
 */
size_t space_tree_names(const struct policy *policy, struct slice server, struct slice tool,
                        struct slice *ret, size_t max);

#endif
