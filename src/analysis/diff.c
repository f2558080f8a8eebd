#include <stdlib.h>

#include "analysis/common.h"
#include "analysis/exact.h"
#include "analysis/except.h"
#include "analysis/listed.h"

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

/* Less strict in any respect: an approval that is easier to get, lasts longer or covers more counts. */
static bool is_weaker(const struct rule *from, const struct rule *to)
{
    int was = decision_rank(exact_kind(from)), is = decision_rank(exact_kind(to));
    if (was != is || from->effect != EFFECT_REQUIRE_APPROVAL) {
        return is < was;
    }
    return to->approvers < from->approvers || to->ttl_ms > from->ttl_ms ||
           (from->scope == SCOPE_CALL && to->scope == SCOPE_SESSION);
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
    uint32_t *changed;      /* the new side's rules that are not common */
    uint32_t changed_count;
    struct buf text;
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
        enum actor first, last;
        exact_actors(&box, &first, &last);
        bool live = is_tried(c, &box);
        for (enum actor actor = first; actor <= last && !live; actor++) {
            live = space_winner(&c->space, side, &box, actor, rule) == NOWHERE;
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
static bool find_unreadable(struct comparison *c, const struct box *box, enum actor actor,
                            const uint32_t *rules)
{
    static const char *const keys[] = {"path", "file_path", "file", "source"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct decision decisions[SIDES] = {{0}};
        if (witness_with_key(&c->witness, box, actor, slice_of(keys[i]), WITNESS_NUMBER, decisions) &&
            decisions[0].kind == exact_kind(&c->space.sides[0].flat.rules[rules[0]]) &&
            decisions[1].kind == exact_kind(&c->space.sides[1].flat.rules[rules[1]])) {
            return true;
        }
    }
    return false;
}

/* Looks for calls that rule `from` decides on the old side and rule `to` on the new one. */
static void compare_rules(struct comparison *c, uint32_t from, uint32_t to)
{
    struct box a = space_box(&c->space, 0, from), b = space_box(&c->space, 1, to), box;
    if (!space_meet(&c->space, &a, &b, c->args, &box) || !is_live(c, 0, from) || !is_live(c, 1, to)) {
        return;
    }
    const uint32_t rules[SIDES] = {from, to};
    struct pair pair = {&c->witness, {&c->space, rules}};
    bool tried = is_tried(c, &box), inhabited = false;
    enum actor first, last;
    exact_actors(&box, &first, &last);
    for (enum actor actor = first; actor <= last; actor++) {
        if (!tried && (space_winner(&c->space, 0, &box, actor, from) != NOWHERE ||
                       space_winner(&c->space, 1, &box, actor, to) != NOWHERE)) {
            continue;
        }
        if (c->calls == SPACE_UNREADABLE
                ? find_unreadable(c, &box, actor, rules)
                : witness_try(&c->witness, WITNESS_CALL, &box, actor, is_decided, &pair)) {
            add_class(c, from, to, &box, true);
            return;
        }
        inhabited = inhabited || !tried ||
                    witness_try(&c->witness, WITNESS_READING, &box, actor, witness_is_wanted, &pair.wanted) ||
                    c->witness.unmade;
    }
    if (inhabited) {
        add_class(c, from, to, &box, false);
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

/* ---- The whole ---- */

static void comparison_finish(struct comparison *c)
{
    for (size_t s = 0; s < SIDES; s++) {
        free(c->common[s]);
        free(c->life[s]);
        free(c->tools[s]);
    }
    free(c->args);
    free(c->changed);
    buf_finish(&c->text);
    witness_finish(&c->witness);
    space_finish(&c->space);
}

static bool comparison_init(struct comparison *c, const struct policy *from, const struct policy *to,
                            const struct path_base *base, enum diff_detail detail, enum space_calls calls,
                            struct diff *out)
{
    *c = (struct comparison){.out = out, .detail = detail, .calls = calls};
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
        for (uint32_t i = 0; ok && i < flat->rule_count; i++) {
            c->tools[s][i] = flat->rules[i].match.tool;
        }
    }
    c->args = calloc((size_t)c->space.most_args * 2 + 1, sizeof(*c->args));
    c->changed = calloc(c->space.sides[1].flat.rule_count, sizeof(*c->changed));
    if (!ok || c->args == NULL || c->changed == NULL || !common_mark(&c->space, c->common[0], c->common[1])) {
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
