/* Every class of calls whose decision changes from one policy to another. */
#include <stdlib.h>

#include "analysis/common_internal.h"
#include "analysis/exact_internal.h"
#include "analysis/except_internal.h"
#include "analysis/listed_internal.h"

void diff_init(struct diff *diff)
{
    *diff = (struct diff){0};
    arena_init(&diff->arena, 0);
}

void diff_finish(struct diff *diff)
{
    free(diff->list);
    arena_finish(&diff->arena);
    *diff = (struct diff){0};
}

struct diff_class *diff_add(struct diff *diff)
{
    if (diff->count == diff->cap) {
        size_t cap = diff->cap == 0 ? 16 : diff->cap * 2;
        struct diff_class *list = realloc(diff->list, cap * sizeof(*list));
        if (list == NULL) {
            diff->failed = true;
            return NULL;
        }
        diff->list = list;
        diff->cap = cap;
    }
    diff->list[diff->count] = (struct diff_class){0};
    return &diff->list[diff->count++];
}

/* ---- Outcomes ---- */

/* Less strict in any respect: an approval that is easier to get, lasts longer or covers more counts. Of rules of one
 * space, whose groups of approvers have one number where they are the same. */
static bool is_weaker(const struct rule *from, const struct rule *to)
{
    int was = decision_rank(exact_kind(from)), is = decision_rank(exact_kind(to));
    if (was != is || from->effect != EFFECT_REQUIRE_APPROVAL) {
        return is < was;
    }
    bool others = from->groups != 0 && to->groups != from->groups;
    return others || to->approvers < from->approvers || to->ttl_ms > from->ttl_ms || to->scope < from->scope;
}

static struct diff_side side_of(const struct side *side, enum space_calls calls, uint32_t rule)
{
    uint32_t origin = side->origin[rule];
    struct diff_side is = {.kind = exact_kind(&side->flat.rules[rule])};
    if (origin != NO_RULE) {
        is.rule = &side->policy->rules[origin];
        is.stops = calls == SPACE_UNREADABLE &&
                   (is.rule->match.path_prefix != 0 || is.rule->match.path_component != 0);
    }
    return is;
}

/* ---- Classes of rules ---- */

enum { LIFE_UNKNOWN, LIFE_LIVE, LIFE_DEAD };

#define NOT_ASKED (NOWHERE - 1)

struct comparison {
    struct space space;
    struct witness witness;
    struct diff *out;
    enum diff_detail detail;
    enum space_calls calls;
    struct match_arg *args;
    bool *common[SIDES];    /* by rule of flat */
    uint8_t *life[SIDES];   /* by rule of flat */
    uint32_t *tools[SIDES]; /* by rule of flat: its exact tool, kept together for a quick look */
    /* By side, and by rule of flat of a side: what space_first_cover says of the rule there. */
    uint32_t *cover[SIDES][SIDES];
    bool *aside;       /* by rule of the old flat: a class says what of it counts aside no more */
    uint32_t *changed; /* the new side's rules that are not common */
    uint32_t changed_count;
    struct buf text;
    const struct path_base *base;
    struct named *named; /* made when it is first asked */
};

/* Whether a box has arguments that are paths: calls of it must be tried. An unreadable path is one beside
 * them. */
static bool is_tried(struct comparison *c, const struct box *box)
{
    return c->calls == SPACE_READABLE && box->match.arg_count != 0 && witness_reads_args(&c->witness, box);
}

static bool is_live(struct comparison *c, size_t side, uint32_t rule)
{
    uint8_t *life = &c->life[side][rule];
    if (*life == LIFE_UNKNOWN) {
        struct box box = space_box(&c->space, side, rule);
        uint32_t points[SPACE_POINTS], count = space_points(&c->space, &box, points);
        bool live = is_tried(c, &box);
        for (uint32_t i = 0; i < count && !live; i++) {
            live = space_winner(&c->space, side, &box, points[i], rule) == NOWHERE;
        }
        *life = live ? LIFE_LIVE : LIFE_DEAD;
    }
    return *life == LIFE_LIVE;
}

static void add_class(struct comparison *c, uint32_t from, uint32_t to, const struct box *box, bool witnessed)
{
    struct diff_class *class = diff_add(c->out);
    if (class == NULL) {
        return;
    }
    class->weaker = is_weaker(&c->space.sides[0].flat.rules[from], &c->space.sides[1].flat.rules[to]);
    class->from = side_of(&c->space.sides[0], c->calls, from);
    class->to = side_of(&c->space.sides[1], c->calls, to);
    buf_reset(&c->text);
    listed_write_box(&c->text, &c->space, box);
    class->match = arena_copy(&c->out->arena, buf_slice_of(&c->text));
    if (witnessed) {
        class->witness = arena_copy(&c->out->arena, buf_slice_of(&c->witness.call));
    }
    const uint32_t rules[SIDES] = {from, to};
    bool ok = c->detail != DIFF_EXCEPT || except_find(&c->space, c->common, rules, box, c->out, class);
    if (!ok || !buf_ok(&c->text) || class->match.ptr == NULL || (witnessed && class->witness.ptr == NULL)) {
        c->out->failed = true;
    }
}

struct pair {
    struct witness *witness;
    struct wanted wanted;
};

/* That both rules decide the call, and one of its readings: each could decide another. */
static bool is_decided(void *context, const struct decision *decisions)
{
    struct pair *pair = context;
    return witness_is_wanted(&pair->wanted, decisions) &&
           witness_any_reading(pair->witness, witness_is_wanted, &pair->wanted);
}

/* A call with a number where a path should be, that is decided as the two rules say. */
static bool find_unreadable(struct comparison *c, const struct box *box, uint32_t point,
                            const uint32_t *rules)
{
    static const char *const keys[] = {"path", "file_path", "file", "source"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct decision decisions[SIDES] = {{0}};
        if (witness_with_key(&c->witness, box, point, slice_of(keys[i]), WITNESS_NUMBER, decisions) &&
            decisions[0].kind == exact_kind(&c->space.sides[0].flat.rules[rules[0]]) &&
            decisions[1].kind == exact_kind(&c->space.sides[1].flat.rules[rules[1]])) {
            return true;
        }
    }
    return false;
}

/* Whether an opaque rule of side `side`, before its rule `end`, takes all that a rule of side `of` matches. */
static bool is_covered(struct comparison *c, size_t side, uint32_t end, size_t of, uint32_t rule)
{
    const struct rule *asked = space_rule(&c->space, of, rule);
    uint32_t *cover = &c->cover[side][of][rule];
    if (asked != NULL && *cover == NOT_ASKED) {
        *cover = space_first_cover(&c->space, side, c->space.sides[of].policy, asked);
    }
    return asked != NULL && *cover < end;
}

/* Whether rules with lists, commands or hosts leave nothing of a pair: the two have no call in common, or one of them
 * matches nothing that is left to it on its side. */
static bool is_ruled_out(struct comparison *c, uint32_t from, uint32_t to)
{
    const struct side *sides = c->space.sides;
    const struct rule *a = space_rule(&c->space, 0, from), *b = space_rule(&c->space, 1, to);
    if (a != NULL && b != NULL && (sides[0].opaque[from] || sides[1].opaque[to]) &&
        !rule_intersects(sides[0].policy, a, sides[1].policy, b)) {
        return true;
    }
    return is_covered(c, 1, to, 0, from) || is_covered(c, 0, from, 0, from) ||
           is_covered(c, 0, from, 1, to) || is_covered(c, 1, to, 1, to);
}

static struct named_side named_side(const struct comparison *c, size_t side, uint32_t rule)
{
    const struct rule *flat = &c->space.sides[side].flat.rules[rule];
    struct named_side named = {.rule = space_rule(&c->space, side, rule), .kind = exact_kind(flat)};
    if (named.rule == NULL && flat->match.tool != 0) {
        named.tool = intern_text(&c->space.symbols, flat->match.tool);
    }
    if (named.rule == NULL && flat->match.server != 0) {
        named.server = intern_text(&c->space.symbols, flat->match.server);
    }
    return named;
}

/* What boxes do not hold is asked call by call: puts a call into the witness's, if there is one. */
static enum named_answer ask_named(struct comparison *c, uint32_t from, uint32_t to)
{
    bool opaque = c->space.sides[0].opaque[from] || c->space.sides[1].opaque[to];
    if (c->calls != SPACE_READABLE || !opaque) {
        return NAMED_UNKNOWN;
    }
    if (c->named == NULL) {
        c->named = named_create_pair(c->space.sides[0].policy, c->space.sides[1].policy, c->base);
    }
    struct named_side old = named_side(c, 0, from), new = named_side(c, 1, to);
    buf_reset(&c->witness.call);
    return c->named == NULL ? NAMED_UNKNOWN : named_differs(c->named, &old, &new, &c->witness.call);
}

/* Looks for calls that rule `from` decides on the old side and rule `to` on the new one. */
static void compare_rules(struct comparison *c, uint32_t from, uint32_t to)
{
    struct box a = space_box(&c->space, 0, from), b = space_box(&c->space, 1, to), box;
    if (!space_meet(&c->space, &a, &b, c->args, &box) || !is_live(c, 0, from) || !is_live(c, 1, to) ||
        is_ruled_out(c, from, to)) {
        return;
    }
    const uint32_t rules[SIDES] = {from, to};
    struct pair pair = {&c->witness, {&c->space, rules}};
    bool tried = is_tried(c, &box), inhabited = false;
    uint32_t points[SPACE_POINTS], count = space_points(&c->space, &box, points);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t point = points[i];
        if (!tried && (space_winner(&c->space, 0, &box, point, from) != NOWHERE ||
                       space_winner(&c->space, 1, &box, point, to) != NOWHERE)) {
            continue;
        }
        if (c->calls == SPACE_UNREADABLE
                ? find_unreadable(c, &box, point, rules)
                : witness_try(&c->witness, WITNESS_CALL, &box, point, is_decided, &pair)) {
            add_class(c, from, to, &box, true);
            return;
        }
        inhabited = inhabited || !tried ||
                    witness_try(&c->witness, WITNESS_READING, &box, point, witness_is_wanted, &pair.wanted) ||
                    c->witness.unmade;
    }
    enum named_answer named = inhabited ? ask_named(c, from, to) : NAMED_NONE;
    if (named != NAMED_NONE) {
        add_class(c, from, to, &box, named == NAMED_FOUND);
    }
}

/* Whether what a rule decides of a reading aside counts. */
static bool counts_aside(const struct rule *rule)
{
    const uint8_t places = READING_FIELD_PATH | READING_FIELD_COMMAND | READING_FIELD_HOST;
    return rule != NULL && (rule->looks & READING_FIELD_STRICT) != 0 && (rule->looks & places) != 0;
}

/* Whether some rule of the new side before `end` lets a call of a box through, whatever its path: what is read aside of
 * it then decides. */
static bool lets_through(struct comparison *c, const struct box *box, uint32_t end)
{
    struct box open = *box;
    open.match.path_prefix = open.match.path_component = open.second_component = 0;
    open.match.host = OTHER_ANY;
    for (uint32_t i = 0; i < end; i++) {
        struct box own = space_box(&c->space, 1, i), both;
        if (c->space.sides[1].flat.rules[i].effect != EFFECT_DENY &&
            space_meet(&c->space, &own, &open, c->args + space_room(&c->space, SIDES), &both)) {
            return true;
        }
    }
    return false;
}

/* A rule that counts aside, where one decides now that is as strict and does not: a class that is weaker, if the call can
 * be let through otherwise. One for each old rule. */
static void compare_aside(struct comparison *c, uint32_t from, uint32_t to)
{
    const struct rule *old = space_rule(&c->space, 0, from), *new = space_rule(&c->space, 1, to);
    struct box a = space_box(&c->space, 0, from), b = space_box(&c->space, 1, to), box;
    if (c->aside[from] || !counts_aside(old) || counts_aside(new) ||
        c->space.sides[1].flat.rules[to].effect == EFFECT_AUTO_APPROVE ||
        !space_meet(&c->space, &a, &b, c->args, &box) || !is_live(c, 0, from) || !is_live(c, 1, to) ||
        is_ruled_out(c, from, to) || !lets_through(c, &box, to)) {
        return;
    }
    uint32_t points[SPACE_POINTS], count = space_points(&c->space, &box, points);
    bool tried = is_tried(c, &box);
    for (uint32_t i = 0; i < count && !c->aside[from]; i++) {
        c->aside[from] = tried || (space_winner(&c->space, 0, &box, points[i], from) == NOWHERE &&
                                   space_winner(&c->space, 1, &box, points[i], to) == NOWHERE);
    }
    if (c->aside[from]) {
        size_t at = c->out->count;
        add_class(c, from, to, &box, false);
        if (c->out->count > at) {
            c->out->list[at].weaker = c->out->list[at].aside = true;
        }
    }
}

/* Whether a class of unreadable calls would say more than one of readable calls that the same rules decide.
 */
static bool stops(const struct comparison *c, uint32_t from, uint32_t to)
{
    return side_of(&c->space.sides[0], c->calls, from).stops ||
           side_of(&c->space.sides[1], c->calls, to).stops;
}

static void compare_with(struct comparison *c, uint32_t from, uint32_t to)
{
    uint32_t a = c->tools[0][from], b = c->tools[1][to];
    if (c->calls == SPACE_READABLE && (a == b || a == 0 || b == 0)) {
        compare_aside(c, from, to);
    }
    if ((a == b || a == 0 || b == 0) && (c->calls == SPACE_READABLE || stops(c, from, to)) &&
        !common_same_outcome(&c->space.sides[0].flat.rules[from], &c->space.sides[1].flat.rules[to])) {
        compare_rules(c, from, to);
    }
}

static void compare_all(struct comparison *c)
{
    for (uint32_t i = 0; i < c->space.sides[0].flat.rule_count && !c->out->failed; i++) {
        if (c->common[0][i]) {
            for (uint32_t j = 0; j < c->changed_count; j++) {
                compare_with(c, i, c->changed[j]);
            }
        } else {
            for (uint32_t j = 0; j < c->space.sides[1].flat.rule_count; j++) {
                compare_with(c, i, j);
            }
        }
    }
}

/* ---- What cannot be read ---- */

/* Whether a new rule is at least as strict, whatever an old one matches or is noted for. */
static bool is_kept_by(const struct policy *from, const struct rule *old, const struct policy *to,
                       const struct rule *new)
{
    bool stops = (old->looks & READING_FIELD_COMMAND) == 0;
    bool kind = stops ? new->match.host != 0 && (new->looks &READING_FIELD_COMMAND) == 0
                      : (new->looks &READING_FIELD_STRICT) != 0;
    struct rule was = *old, is = *new;
    bool others = !slice_eq(policy_text(from, old->groups), policy_text(to, new->groups));
    was.groups = old->groups != 0;
    is.groups = was.groups + others; /* numbers of one space */
    return kind && !is_weaker(&was, &is) && rule_subset(from, old, to, new);
}

/* A deny or a require_approval with commands also asks people about commands that cannot be read, and a rule with a host
 * also stops calls with a host that cannot be read. Where such a rule is gone, so may that be. */
static void compare_unreadable(struct comparison *c)
{
    const struct policy *from = c->space.sides[0].policy, *to = c->space.sides[1].policy;
    for (uint32_t i = 0; i < c->space.sides[0].flat.rule_count && !c->out->failed; i++) {
        const struct rule *old = c->common[0][i] ? NULL : space_rule(&c->space, 0, i);
        const uint8_t notes = READING_FIELD_COMMAND | READING_FIELD_STRICT;
        if (old == NULL || ((old->looks & notes) != notes && old->match.host == 0)) {
            continue;
        }
        bool kept = false;
        for (uint32_t j = 0; j < to->rule_count && !kept; j++) {
            kept = is_kept_by(from, old, to, &to->rules[j]);
        }
        if (!kept) {
            struct box box = space_box(&c->space, 0, i);
            add_class(c, i, c->space.sides[1].flat.rule_count - 1, &box, false);
        }
    }
}

/* ---- The whole ---- */

static void comparison_finish(struct comparison *c)
{
    for (size_t s = 0; s < SIDES; s++) {
        free(c->common[s]);
        free(c->life[s]);
        free(c->tools[s]);
        free(c->cover[0][s]);
        free(c->cover[1][s]);
    }
    free(c->args);
    free(c->aside);
    free(c->changed);
    buf_finish(&c->text);
    named_destroy(c->named);
    witness_finish(&c->witness);
    space_finish(&c->space);
}

static bool comparison_init(struct comparison *c, const struct policy *from, const struct policy *to,
                            const struct path_base *base, enum diff_detail detail, enum space_calls calls,
                            struct diff *out)
{
    *c = (struct comparison){.out = out, .detail = detail, .calls = calls, .base = base};
    const struct policy *policies[SIDES] = {from, to};
    buf_init(&c->text, LIMIT_MESSAGE_BYTES);
    if (!space_init(&c->space, calls, policies, SIDES, NULL, NULL, 0)) {
        return false;
    }
    bool ok = witness_init(&c->witness, &c->space, base);
    for (size_t s = 0; s < SIDES; s++) {
        const struct policy *flat = &c->space.sides[s].flat;
        c->common[s] = calloc(flat->rule_count, sizeof(bool));
        c->life[s] = calloc(flat->rule_count, sizeof(uint8_t));
        c->tools[s] = calloc(flat->rule_count, sizeof(uint32_t));
        ok = ok && c->common[s] != NULL && c->life[s] != NULL && c->tools[s] != NULL;
        for (size_t side = 0; side < SIDES; side++) {
            c->cover[side][s] = calloc(flat->rule_count, sizeof(uint32_t));
            ok = ok && c->cover[side][s] != NULL;
        }
        for (uint32_t i = 0; ok && i < flat->rule_count; i++) {
            c->tools[s][i] = flat->rules[i].match.tool;
            c->cover[0][s][i] = c->cover[1][s][i] = NOT_ASKED;
        }
    }
    c->args = calloc(space_room(&c->space, SIDES) + space_room(&c->space, SIDES + 1), sizeof(*c->args));
    c->aside = calloc(c->space.sides[0].flat.rule_count, sizeof(*c->aside));
    c->changed = calloc(c->space.sides[1].flat.rule_count, sizeof(*c->changed));
    if (!ok || c->args == NULL || c->aside == NULL || c->changed == NULL ||
        !common_mark(&c->space, c->common[0], c->common[1])) {
        return false;
    }
    for (uint32_t j = 0; j < c->space.sides[1].flat.rule_count; j++) {
        if (!c->common[1][j]) {
            c->changed[c->changed_count++] = j;
        }
    }
    return true;
}

static void find(const struct policy *from, const struct policy *to, const struct path_base *base,
                 enum diff_detail detail, enum space_calls calls, struct diff *ret_diff)
{
    struct comparison c;
    if (comparison_init(&c, from, to, base, detail, calls, ret_diff)) {
        compare_all(&c);
        if (calls == SPACE_READABLE) {
            compare_unreadable(&c);
            listed_compare(&c.space, &c.witness, ret_diff);
        }
        if (c.witness.failed || superset_state(c.space.sides[0].index) != SUPERSET_WHOLE ||
            superset_state(c.space.sides[1].index) != SUPERSET_WHOLE) {
            ret_diff->failed = true;
        }
    } else {
        ret_diff->failed = true;
    }
    comparison_finish(&c);
}

void diff_find(const struct policy *from, const struct policy *to, const struct path_base *base,
               enum diff_detail detail, struct diff *ret_diff)
{
    find(from, to, base, detail, SPACE_READABLE, ret_diff);
}

void diff_find_unreadable(const struct policy *from, const struct policy *to, const struct path_base *base,
                          enum diff_detail detail, struct diff *ret_diff)
{
    if (from->has_path_rules || to->has_path_rules) {
        find(from, to, base, detail, SPACE_UNREADABLE, ret_diff);
    }
}

bool diff_is_weaker(const struct diff *diff)
{
    bool weaker = diff->failed;
    for (size_t i = 0; i < diff->count && !weaker; i++) {
        weaker = diff->list[i].weaker;
    }
    return weaker;
}
