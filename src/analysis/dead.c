/* Rules that can never decide a call, and what decides in their place. */
#include <stdlib.h>
#include <string.h>

#include "analysis/exact_internal.h"
#include "base/utf8.h"

struct analysis *analysis_create(const struct policy *policy, const struct policy *asked,
                                 const struct assertion *assertions, size_t assertion_count,
                                 const struct path_base *base)
{
    struct analysis *analysis = calloc(1, sizeof(*analysis));
    if (analysis == NULL ||
        !space_init(&analysis->space, SPACE_READABLE, &policy, 1, asked, assertions, assertion_count)) {
        free(analysis);
        return NULL;
    }
    analysis->asked = asked;
    analysis->base = base;
    analysis->asked_count = asked == NULL ? 0 : assertion_count;
    analysis->assertions = assertions;
    analysis->args = calloc(space_room(&analysis->space, 2), sizeof(*analysis->args));
    if (!witness_init(&analysis->witness, &analysis->space, base) || analysis->args == NULL) {
        analysis_destroy(analysis);
        return NULL;
    }
    return analysis;
}

struct named *analysis_named(struct analysis *analysis)
{
    if (analysis->named == NULL) {
        analysis->named = named_create(analysis->space.sides[0].policy, analysis->asked, analysis->assertions,
                                       analysis->asked_count, analysis->base);
    }
    return analysis->named;
}

void analysis_destroy(struct analysis *analysis)
{
    if (analysis == NULL) {
        return;
    }
    named_destroy(analysis->named);
    witness_finish(&analysis->witness);
    space_finish(&analysis->space);
    free(analysis->args);
    free(analysis);
}

uint32_t exact_kind(const struct rule *rule)
{
    switch (rule->effect) {
    case EFFECT_AUTO_APPROVE:
        return DECISION_ALLOW;
    case EFFECT_REQUIRE_APPROVAL:
        return DECISION_REQUIRE;
    default:
        return DECISION_DENY;
    }
}

/* ---- One rule ---- */

#define MOST_COVERS SPACE_POINTS

/* What decides the calls of a rule that never does: rules of flat, by point. */
struct covers {
    uint32_t rule[MOST_COVERS];
    uint32_t point[MOST_COVERS];
    uint32_t count;
    bool together; /* not by point, but arm by arm and command by command */
};

/* Readings of calls that had to be tried: what decides those that the rule matches. */
struct trial {
    const struct witness *witness;
    uint32_t rule;       /* of flat */
    uint32_t decided_by; /* the policy's rule; NO_RULE: none */
};

static bool decides_reading(void *context, const struct decision *decisions)
{
    struct trial *trial = context;
    const struct witness *witness = trial->witness;
    const struct side *side = &witness->space->sides[0];
    const struct rule *rule = &side->policy->rules[side->origin[trial->rule]];
    if (policy_match(side->policy, rule, &witness->facts[0], &witness->readings.list[witness->reading]) !=
        FIELD_ALL) {
        return false;
    }
    if (decisions[0].rule != NULL && decisions[0].cause == CAUSE_NONE) {
        trial->decided_by = (uint32_t)(decisions[0].rule - side->policy->rules);
    }
    return decisions[0].rule == rule;
}

/* Calls: whichever rule decides one of them. */
static bool decides_call(void *context, const struct decision *decisions)
{
    struct trial *trial = context;
    const struct side *side = &trial->witness->space->sides[0];
    if (decisions[0].rule != NULL && decisions[0].cause == CAUSE_NONE) {
        trial->decided_by = (uint32_t)(decisions[0].rule - side->policy->rules);
    }
    return witness_is_by(trial->witness->space, 0, trial->rule, &decisions[0]);
}

/* For a box with arguments that may be paths: the rule of flat that decides its calls instead, or NOWHERE
 * when the rule decides some itself, or when that cannot be ruled out. */
static uint32_t tried_winner(struct analysis *analysis, const struct box *box, uint32_t point, uint32_t rule)
{
    struct trial trial = {&analysis->witness, rule, NO_RULE};
    if (witness_try(&analysis->witness, WITNESS_CALL, box, point, decides_call, &trial)) {
        return NOWHERE;
    }
    if (analysis->witness.unmade) {
        return NOWHERE;
    }
    trial.decided_by = NO_RULE;
    if (witness_try(&analysis->witness, WITNESS_READING, box, point, decides_reading, &trial)) {
        bool whole;
        trial.decided_by = NO_RULE;
        if (witness_search(&analysis->witness, box, point, decides_call, &trial, &whole) || !whole) {
            return NOWHERE;
        }
    }
    return trial.decided_by == NO_RULE ? NOWHERE : analysis->space.sides[0].place[trial.decided_by];
}

/* Adds a rule that covers a point, once. */
static void add_cover(struct covers *covers, uint32_t rule, uint32_t point)
{
    for (uint32_t i = 0; i < covers->count; i++) {
        if (covers->rule[i] == rule) {
            return;
        }
    }
    covers->rule[covers->count] = rule;
    covers->point[covers->count++] = point;
}

/* Of a rule that a box does not hold: whether it decides some call, or may; if none, by what they are decided. */
static bool is_named_live(struct analysis *analysis, uint32_t rule, struct covers *ret_covers)
{
    const struct side *side = &analysis->space.sides[0];
    struct named_covers covers = {.count = 0};
    struct named *named = analysis_named(analysis);
    buf_reset(&analysis->witness.call);
    if (named == NULL ||
        named_decides(named, space_rule(&analysis->space, 0, rule), &covers, &analysis->witness.call) !=
            NAMED_NONE ||
        covers.count == 0) {
        return true;
    }
    *ret_covers = (struct covers){.together = true};
    for (uint32_t i = 0; i < covers.count && i < MOST_COVERS; i++) {
        ret_covers->rule[ret_covers->count++] =
            side->place[side->policy->rules[covers.list[i] - side->policy->rules].speaker];
    }
    return false;
}

/* Whether some call is decided by a rule of flat, or may be; if none, by what they are decided. */
static bool is_live(struct analysis *analysis, uint32_t rule, struct covers *ret_covers)
{
    struct box box = space_box(&analysis->space, 0, rule);
    bool tried = box.match.arg_count != 0 && witness_reads_args(&analysis->witness, &box);
    uint32_t points[SPACE_POINTS], count = space_points(&analysis->space, &box, points);
    *ret_covers = (struct covers){.count = 0};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t by = tried ? tried_winner(analysis, &box, points[i], rule)
                            : space_winner(&analysis->space, 0, &box, points[i], rule);
        if (by == NOWHERE) {
            return !analysis->space.sides[0].opaque[rule] || is_named_live(analysis, rule, ret_covers);
        }
        add_cover(ret_covers, by, points[i]);
    }
    return false;
}

bool dead_witness(struct analysis *analysis, uint32_t rule, struct buf *ret_call)
{
    struct space *space = &analysis->space;
    uint32_t flat = space->sides[0].place[rule];
    struct named_covers covers;
    if (flat == NOWHERE) {
        return false;
    }
    if (space->sides[0].opaque[flat] && analysis_named(analysis) != NULL &&
        named_decides(analysis_named(analysis), space_rule(space, 0, flat), &covers, ret_call) ==
            NAMED_FOUND) {
        return true;
    }
    struct box box = space_box(space, 0, flat);
    uint32_t points[SPACE_POINTS], count = space_points(space, &box, points);
    for (uint32_t i = 0; i < count; i++) {
        struct wanted wanted = {space, &flat};
        bool whole;
        if (witness_search(&analysis->witness, &box, points[i], witness_is_wanted, &wanted, &whole)) {
            buf_slice(ret_call, buf_slice_of(&analysis->witness.call));
            return true;
        }
    }
    return false;
}

/* ---- All of them ---- */

/* The rules that a shadow warning of the list names as the later one. */
static bool *named_rules(const struct policy *policy, const struct findings *warnings)
{
    bool *named = calloc((size_t)policy->rule_count + 1, sizeof(*named));
    uint32_t *by_id = calloc((size_t)policy->symbols.count + 1, sizeof(*by_id));
    for (uint32_t i = 0; named != NULL && by_id != NULL && i < policy->rule_count; i++) {
        by_id[policy->rules[i].id] = i + 1;
    }
    for (size_t i = 0; named != NULL && by_id != NULL && i < warnings->count; i++) {
        const struct finding *finding = &warnings->list[i];
        uint32_t rule =
            strcmp(finding->code, "shadow") != 0 ? 0 : by_id[intern_find(&policy->symbols, finding->later)];
        if (rule != 0) {
            named[rule - 1] = true;
        }
    }
    if (by_id == NULL) {
        free(named);
        named = NULL;
    }
    free(by_id);
    return named;
}

static void write_cover(struct buf *buf, const struct policy *policy, const struct rule *dead,
                        const struct rule *by)
{
    buf_byte(buf, '\'');
    utf8_append_printable(buf, policy_text(policy, by->id));
    buf_printf(buf, "' (line %u", by->line);
    if (by->file != dead->file) {
        buf_text(buf, " of ");
        utf8_append_printable(buf, policy->files[by->file].name);
    }
    if (by->tier != dead->tier) {
        buf_printf(buf, ", tier %s", tier_name((enum tier)by->tier));
    }
    buf_byte(buf, ')');
}

static const struct rule *cover_rule(const struct side *side, uint32_t flat)
{
    return &side->policy->rules[side->origin[flat]];
}

static void write_message(struct buf *buf, const struct side *side, const struct rule *dead,
                          const struct covers *covers)
{
    const struct policy *policy = side->policy;
    buf_text(buf, "rule '");
    utf8_append_printable(buf, policy_text(policy, dead->id));
    buf_printf(buf, "' (line %u) never decides: ", dead->line);
    for (uint32_t i = 0; i < covers->count; i++) {
        buf_text(buf, i == 0 ? "" : ", ");
        write_cover(buf, policy, dead, cover_rule(side, covers->rule[i]));
        if (covers->count > 1 && !covers->together) {
            buf_printf(buf, " covers %s%s", actor_name(space_actor(covers->point[i])),
                       (covers->point[i] & SPACE_OTHER) != 0 ? " with a command or a host" : "");
        }
    }
    bool together = covers->count > 1 && covers->together;
    buf_text(buf, together            ? " decide every call that it matches, together"
                  : covers->count > 1 ? ""
                                      : " decides every call that it matches");
    buf_text(buf, cover_rule(side, covers->rule[0])->tier != dead->tier
                      ? " \xe2\x80\x94 a higher tier hides it: narrow that rule or remove this one."
                      : " \xe2\x80\x94 reorder, narrow what covers it, or remove it.");
}

static void add_dead(struct analysis *analysis, uint32_t flat, const struct covers *covers, struct buf *text,
                     struct findings *warnings)
{
    const struct side *side = &analysis->space.sides[0];
    const struct rule *dead = cover_rule(side, flat);
    struct arena *arena = &warnings->arena;
    buf_reset(text);
    write_message(text, side, dead, covers);
    struct finding *finding = findings_add(warnings, "dead", "%.*s", SLICE_FMT(buf_slice_of(text)));
    if (finding == NULL) {
        return;
    }
    buf_reset(text);
    for (uint32_t i = 0; i < covers->count; i++) {
        buf_byte(text, i == 0 ? '[' : ',');
        json_write_string(text, policy_text(side->policy, cover_rule(side, covers->rule[i])->id));
    }
    buf_byte(text, ']');
    finding->file = dead->file;
    finding->file_name = arena_copy(arena, side->policy->files[dead->file].name);
    finding->line = dead->line;
    finding->column = dead->column;
    finding->rule = arena_copy(arena, policy_text(side->policy, dead->id));
    finding->by = arena_copy(arena, buf_slice_of(text));
    warnings->failed = warnings->failed || !buf_ok(text) || finding->file_name.ptr == NULL ||
                       finding->rule.ptr == NULL || finding->by.ptr == NULL;
}

void dead_find(struct analysis *analysis, struct findings *warnings)
{
    const struct side *side = &analysis->space.sides[0];
    bool *named = named_rules(side->policy, warnings);
    struct buf text;
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    for (uint32_t i = 0; named != NULL && i < side->flat.rule_count && !warnings->failed; i++) {
        struct covers covers;
        if (side->origin[i] != NO_RULE && !named[side->origin[i]] && !is_live(analysis, i, &covers)) {
            add_dead(analysis, i, &covers, &text, warnings);
        }
    }
    if (named == NULL || analysis->witness.failed || superset_state(side->index) == SUPERSET_NO_MEMORY) {
        warnings->failed = true;
    } else if (superset_state(side->index) == SUPERSET_EXHAUSTED) {
        (void)findings_add(
            warnings, "lint-limit",
            "looking for dead rules was given up after very many steps: some may be missing \xe2\x80\x94 "
            "use fewer different sets of argEquals.");
    }
    buf_finish(&text);
    free(named);
}
