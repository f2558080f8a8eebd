/* Assertions asked of a policy: proved, refuted with a call, or not known. */
#include "analysis/exact_internal.h"
#include "analysis/named_common_internal.h"

/* ---- Assertions: no rule that gives a bad decision wins anywhere in the box ---- */

struct hunt {
    struct analysis *analysis;
    const struct assertion *assertion;
    const struct box *asked;
    bool opaque;           /* the assertion's box holds more than it speaks of */
    uint32_t rule;         /* of flat */
    struct decision found; /* of the call that refutes */
};

static bool is_bad(const struct assertion *assertion, uint32_t kind)
{
    switch (kind) {
    case DECISION_ALLOW:
        return (assertion->never & NEVER_ALLOW) != 0;
    case DECISION_REQUIRE:
        return (assertion->never & NEVER_REQUIRE) != 0 ||
               ((assertion->never & NEVER_ALLOW) != 0 && assertion->even_approved);
    default:
        return (assertion->never & NEVER_DENY) != 0;
    }
}

bool assertion_holds_of_calls(const struct assertion *assertion)
{
    bool allow = is_bad(assertion, DECISION_ALLOW), require = is_bad(assertion, DECISION_REQUIRE);
    return allow && (require || !is_bad(assertion, DECISION_DENY));
}

/* Whether a reading of the match gets a bad decision, and the call that one, or any bad one where a proof is
 * about whole calls. */
static bool is_bad_reading(void *context, const struct decision *decisions)
{
    struct hunt *hunt = context;
    struct witness *witness = &hunt->analysis->witness;
    return witness_reading_in(witness, witness->reading, hunt->asked) &&
           is_bad(hunt->assertion, decisions[0].kind) &&
           (assertion_holds_of_calls(hunt->assertion) || decisions[0].kind == hunt->found.kind);
}

static bool is_bad_call(void *context, const struct decision *decisions)
{
    struct hunt *hunt = context;
    hunt->found = decisions[0];
    return is_bad(hunt->assertion, decisions[0].kind) &&
           witness_any_reading(&hunt->analysis->witness, is_bad_reading, hunt);
}

static bool is_hunted_reading(void *context, const struct decision *decisions)
{
    struct hunt *hunt = context;
    struct witness *witness = &hunt->analysis->witness;
    return witness_reading_in(witness, witness->reading, hunt->asked) &&
           witness_is_by(&hunt->analysis->space, 0, hunt->rule, &decisions[0]);
}

static bool is_bad_kind(const void *context, uint32_t kind)
{
    return is_bad(context, kind);
}

/* The same of what boxes cannot hold: rules and assertions with lists, commands and hosts. */
static enum assertion_result hunt_named(struct hunt *hunt, const struct rule *rule, const struct match *entry,
                                        bool noted)
{
    struct analysis *analysis = hunt->analysis;
    struct named *named = analysis_named(analysis);
    struct named_question question = {.asked = &hunt->assertion->match,
                                      .rule = rule,
                                      .noted = noted,
                                      .is_bad = is_bad_kind,
                                      .context = hunt->assertion};
    if (entry != NULL && entry->tool != 0) {
        question.tool = intern_text(&analysis->space.symbols, entry->tool);
    }
    if (entry != NULL && entry->server != 0) {
        question.server = intern_text(&analysis->space.symbols, entry->server);
    }
    switch (named == NULL ? NAMED_UNKNOWN
                          : named_ask(named, &question, &hunt->found, &analysis->witness.call)) {
    case NAMED_FOUND:
        return ASSERTION_REFUTED;
    case NAMED_NONE:
        return ASSERTION_PROVED;
    default:
        return ASSERTION_UNCONFIRMED;
    }
}

/* Whether a rule that gives a bad decision wins somewhere in a box, as far as is known: refuted, unconfirmed,
 * or proved that it does not. */
static enum assertion_result hunt_rule(struct hunt *hunt, const struct box *box)
{
    struct witness *witness = &hunt->analysis->witness;
    enum assertion_result result = ASSERTION_PROVED;
    bool tried = box->match.arg_count != 0 && witness_reads_args(witness, box);
    uint32_t points[SPACE_POINTS], count = space_points(&hunt->analysis->space, box, points);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t point = points[i];
        if (!tried && space_winner(&hunt->analysis->space, 0, box, point, hunt->rule) != NOWHERE) {
            continue;
        }
        bool whole = false;
        if (hunt->opaque) { /* a call of the box need not be one that the assertion speaks of */
            result = ASSERTION_UNCONFIRMED;
            continue;
        }
        if (witness_try(witness, WITNESS_CALL, box, point, is_bad_call, hunt)) {
            return ASSERTION_REFUTED;
        }
        if (tried && !witness_try(witness, WITNESS_READING, box, point, is_hunted_reading, hunt) &&
            !witness->unmade) {
            continue;
        }
        if (tried && witness_search(witness, box, point, is_bad_call, hunt, &whole)) {
            return ASSERTION_REFUTED;
        }
        bool opaque = hunt->analysis->space.sides[0].opaque[hunt->rule];
        result = whole && !opaque ? result : ASSERTION_UNCONFIRMED;
    }
    return result;
}

static struct refutation refutation_of(const struct decision *decision)
{
    return (struct refutation){decision->cause == CAUSE_NONE ? decision->rule : NULL, decision->kind};
}

enum assertion_result assertion_prove(struct analysis *analysis, size_t assertion, struct refutation *ret,
                                      struct buf *ret_call)
{
    struct space *space = &analysis->space;
    const struct side *side = &space->sides[0];
    enum assertion_result result = ASSERTION_PROVED;
    if (assertion >= analysis->asked_count) {
        return ASSERTION_FAILED;
    }
    /* The assertion as a rule: of an auto_approve its arguments are exact, as an assertion's are. */
    struct rule asked = {.effect = EFFECT_AUTO_APPROVE, .match = analysis->assertions[assertion].match};
    asked.looks = match_looks(&asked.match, asked.effect);
    struct hunt hunt = {.analysis = analysis,
                        .opaque = space_is_opaque(analysis->asked, &asked.match),
                        .assertion = &analysis->assertions[assertion],
                        .asked = &space->asked[assertion]};
    uint32_t count = side->flat.rule_count, cover = space_first_cover(space, 0, analysis->asked, &asked);
    for (hunt.rule = 0; hunt.rule < count && hunt.rule <= cover; hunt.rule++) {
        uint32_t kind = exact_kind(&side->flat.rules[hunt.rule]), origin = side->origin[hunt.rule];
        struct box own = space_box(space, 0, hunt.rule), both;
        const struct rule *rule = space_rule(space, 0, hunt.rule);
        /* A rule with commands that denies may also be noted, and then people are asked. */
        bool noted = rule != NULL && (rule->looks & (READING_FIELD_COMMAND | READING_FIELD_STRICT)) ==
                                         (READING_FIELD_COMMAND | READING_FIELD_STRICT);
        if (!is_bad(hunt.assertion, kind) && !(noted && is_bad(hunt.assertion, DECISION_REQUIRE))) {
            continue;
        }
        bool apart = rule != NULL && (hunt.opaque || side->opaque[hunt.rule]) &&
                     !rule_intersects(analysis->asked, &asked, side->policy, rule);
        bool near = apart && is_bad(hunt.assertion, kind) &&
                    common_is_near(analysis->asked, &asked.match, side->policy, &rule->match);
        if ((apart && !near) || !space_meet(space, &own, hunt.asked, analysis->args, &both)) {
            continue;
        }
        enum assertion_result here = near ? ASSERTION_UNCONFIRMED : hunt_rule(&hunt, &both);
        if (here == ASSERTION_UNCONFIRMED && (hunt.opaque || side->opaque[hunt.rule])) {
            buf_reset(&analysis->witness.call);
            here = hunt_named(&hunt, rule, rule == NULL ? &side->flat.rules[hunt.rule].match : NULL,
                              noted && is_bad(hunt.assertion, DECISION_REQUIRE));
        }
        if (here == ASSERTION_REFUTED) {
            *ret = refutation_of(&hunt.found);
            buf_slice(ret_call, buf_slice_of(&analysis->witness.call));
            return ASSERTION_REFUTED;
        }
        if (here != ASSERTION_PROVED) {
            *ret = (struct refutation){origin == NO_RULE ? NULL : &side->policy->rules[origin], kind};
            result = ASSERTION_UNCONFIRMED;
        }
    }
    if (analysis->witness.failed || superset_state(side->index) != SUPERSET_WHOLE) {
        return ASSERTION_FAILED;
    }
    return result;
}
