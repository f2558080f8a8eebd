/* Arms of matches, and what two have in common. */
#include "analysis/named_common_internal.h"

#include <string.h>

/* Arm number `number` of a match; its arguments' lists aside. */
struct arm arm_of(const struct policy *policy, const struct match *match, uint32_t number)
{
    struct arm arm = {.policy = policy};
    for (unsigned i = FIELD_VALUES; i-- > 0;) {
        struct match_values values = match_values(policy, &match->values[i]);
        if (values.count > 0) {
            arm.values[i] = values.list[number % values.count];
            number /= values.count;
        }
    }
    return arm;
}

uint32_t arm_count(const struct policy *policy, const struct match *match)
{
    uint64_t count = 1;
    for (unsigned i = 0; i < FIELD_VALUES && count <= ARMS_MOST; i++) {
        uint32_t values = match_values(policy, &match->values[i]).count;
        count *= values > 0 ? values : 1;
    }
    return count > ARMS_MOST ? ARMS_MOST + 1 : (uint32_t)count;
}

static struct slice name_of(const struct arm *arm, enum match_field field)
{
    return arm->values[field] == 0 ? (struct slice){NULL, 0} : policy_text(arm->policy, arm->values[field]);
}

static bool common_name(const struct arm *a, const struct arm *b, enum match_field field,
                        struct common *common)
{
    struct slice one = name_of(a, field), other = name_of(b, field);
    common->texts[field] = one.ptr != NULL ? one : other;
    return one.ptr == NULL || other.ptr == NULL || slice_eq(one, other);
}

static bool common_tool(const struct arm *a, const struct arm *b, struct common *common)
{
    struct slice *tool = &common->texts[FIELD_TOOL], *prefix = &common->texts[FIELD_TOOL_PREFIX];
    struct slice one = name_of(a, FIELD_TOOL_PREFIX), other = name_of(b, FIELD_TOOL_PREFIX);
    if (!common_name(a, b, FIELD_TOOL, common)) {
        return false;
    }
    *prefix = one.ptr == NULL || (other.ptr != NULL && other.len > one.len) ? other : one;
    struct slice name = tool->ptr != NULL ? *tool : *prefix;
    return (one.ptr == NULL || slice_starts_with(name, one)) &&
           (other.ptr == NULL || slice_starts_with(name, other));
}

const struct command_pattern *arm_pattern(const struct arm *arm)
{
    uint32_t id =
        arm->values[FIELD_COMMAND] != 0 ? arm->values[FIELD_COMMAND] : arm->values[FIELD_COMMAND_PREFIX];
    return id == 0 ? NULL : &policy_pattern(arm->policy, id)->command;
}

bool common_commands(struct arena *arena, const struct arm *a, const struct arm *b, struct common *common)
{
    const struct command_pattern *one = arm_pattern(a), *other = arm_pattern(b);
    common->commands.pattern = one != NULL ? one : other;
    if (one != NULL && other != NULL) {
        if (command_pattern_meet(arena, one, other, &common->meet) != COMMAND_YES) {
            return false;
        }
        common->commands.pattern = &common->meet;
    }
    const struct arm *arms[2] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        uint32_t id = arms[i]->values[FIELD_COMMAND_WORD];
        common->commands.later[i] = id == 0 ? NULL : &policy_pattern(arms[i]->policy, id)->word;
        common->has_commands = common->has_commands || id != 0;
    }
    common->has_commands = common->has_commands || common->commands.pattern != NULL;
    return true;
}

static bool common_host(const struct arm *a, const struct arm *b, struct common *common)
{
    const struct url_pattern *one =
        a->values[FIELD_HOST] == 0 ? NULL : &policy_pattern(a->policy, a->values[FIELD_HOST])->host;
    const struct url_pattern *other =
        b->values[FIELD_HOST] == 0 ? NULL : &policy_pattern(b->policy, b->values[FIELD_HOST])->host;
    common->host = one != NULL ? one : other;
    if (one != NULL && other != NULL) {
        common->host = url_pattern_subset(one, other) ? one : other;
        return url_pattern_meet(one, other);
    }
    return true;
}

bool common_find(const struct arm *a, const struct arm *b, struct common *ret_common)
{
    *ret_common = (struct common){.actor = a->values[FIELD_ACTOR] != 0 ? a->values[FIELD_ACTOR]
                                                                       : b->values[FIELD_ACTOR]};
    return (a->values[FIELD_ACTOR] == 0 || b->values[FIELD_ACTOR] == 0 ||
            a->values[FIELD_ACTOR] == b->values[FIELD_ACTOR]) &&
           common_tool(a, b, ret_common) && common_name(a, b, FIELD_SERVER, ret_common) &&
           common_name(a, b, FIELD_CHANNEL, ret_common) && common_name(a, b, FIELD_THREAD, ret_common) &&
           common_host(a, b, ret_common);
}

/* ---- Programs ---- */

bool program_runs_commands(struct slice program)
{
    static const char *const programs[] = {"sudo",   "doas",    "env",     "nohup", "nice",  "timeout",
                                           "time",   "command", "builtin", "exec",  "xargs", "setsid",
                                           "stdbuf", "ionice",  "busybox", "toybox"};
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        if (slice_is(program, programs[i])) {
            return true;
        }
    }
    return false;
}

struct slice program_of(struct slice word)
{
    const char *slash = word.len == 0 ? NULL : memrchr(word.ptr, '/', word.len);
    return slash == NULL ? word : slice_from(word, (size_t)(slash - word.ptr) + 1);
}

static struct match_values patterns_of(const struct policy *policy, const struct match *match)
{
    return match_values(policy, match->command != 0 ? &match->command : &match->command_prefix);
}

bool common_is_near(const struct policy *asked_policy, const struct match *asked, const struct policy *policy,
                    const struct match *match)
{
    struct match_values ours = patterns_of(policy, match), theirs = patterns_of(asked_policy, asked);
    for (uint32_t i = 0; i < ours.count; i++) {
        struct slice program = program_of(policy_pattern(policy, ours.list[i])->command.words[0].text);
        bool near = theirs.count == 0 || program_runs_commands(program);
        for (uint32_t j = 0; j < theirs.count && !near; j++) {
            near = slice_eq(program,
                            program_of(policy_pattern(asked_policy, theirs.list[j])->command.words[0].text));
        }
        if (near) {
            return asked->command != 0 || asked->command_prefix != 0 || asked->command_word != 0;
        }
    }
    return false;
}
