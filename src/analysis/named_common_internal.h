/* Arms of matches, and what two have in common. For this room only. */
#ifndef ANALYSIS_NAMED_COMMON_INTERNAL_H
#define ANALYSIS_NAMED_COMMON_INTERNAL_H

#include "command/points.h"
#include "policy/policy.h"

/* One value of each field; arguments aside. */
struct arm {
    const struct policy *policy;
    uint32_t values[FIELD_VALUES];
};

#define ARMS_MOST 65536u

/* How many arms a match has; ARMS_MOST + 1 when that are more. Arm number `number` of them. */
uint32_t arm_count(const struct policy *policy, const struct match *match);
struct arm arm_of(const struct policy *policy, const struct match *match, uint32_t number);

/* The pattern of an arm's command or commandPrefix; NULL when it has neither. */
const struct command_pattern *arm_pattern(const struct arm *arm);

struct common {
    struct slice texts[FIELD_VALUES]; /* of names; ptr NULL: any */
    uint32_t actor;
    struct command_pattern meet;
    struct command_set commands;
    bool has_commands;
    const struct url_pattern *host;
};

/* What two arms have in common beside commands; false when that is nothing. */
bool common_find(const struct arm *a, const struct arm *b, struct common *ret_common);

/* Adds their commands, some of it in the arena; false when they have none in common. */
bool common_commands(struct arena *arena, const struct arm *a, const struct arm *b, struct common *common);

/* Whether a rule that has no call in common with a match may yet decide calls whose commands are the match's when they
 * are read aside: it is about the same program, or about one that runs others. */
bool common_is_near(const struct policy *asked_policy, const struct match *asked, const struct policy *policy,
                    const struct match *match);

/* What follows the last `/` of a command's first word, and whether it is a program that runs the words behind it. */
struct slice program_of(struct slice word);
bool program_runs_commands(struct slice program);

#endif
