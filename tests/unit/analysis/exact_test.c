/* Dead rules, assertions and differences against the enumeration of all calls of a small scope.
 *
 * usage: exact_test [POLICIES [all]]   random policies; `all`: every three-rule policy of a smaller scope
 * too. */
#include "exact_scope.h"

/* ---- The comparisons ---- */

static void compare_dead(const struct universe *scope, const struct policy *policy, struct analysis *analysis,
                         const uint32_t *points)
{
    bool *wins = calloc((size_t)policy->rule_count + 2, sizeof(*wins));
    struct findings dead;
    struct buf call;
    findings_init(&dead);
    buf_init(&call, 1 << 20);
    for (size_t i = 0; i < POINTS; i++) {
        wins[points[i]] = true;
    }
    dead_find(analysis, &dead);
    bool ok = !dead.failed;
    size_t at = 0;
    for (uint32_t i = 0; i < policy->order_count; i++) {
        uint32_t rule = policy->order[i];
        bool reported =
            at < dead.count && slice_eq(dead.list[at].rule, policy_text(policy, policy->rules[rule].id));
        at += reported;
        ok = ok && reported == !wins[2 + rule];
        buf_reset(&call);
        bool found = dead_witness(analysis, rule, &call);
        ok = ok && found == wins[2 + rule];
        if (found) {
            struct decision decision;
            ok = ok && decide_text(scope, policy, buf_slice_of(&call), &decision) &&
                 decision.rule == &policy->rules[rule] && decision.cause == CAUSE_NONE;
        }
    }
    CHECK(ok && at == dead.count);
    free(wins);
    buf_finish(&call);
    findings_finish(&dead);
}

static bool is_bad(const struct policy *policy, const struct assertion *assertion, uint32_t winner)
{
    uint32_t effect = winner == 0   ? EFFECT_DENY
                      : winner == 1 ? EFFECT_AUTO_APPROVE
                                    : policy->rules[winner - 2].effect;
    switch (effect) {
    case EFFECT_AUTO_APPROVE:
        return (assertion->never & NEVER_ALLOW) != 0;
    case EFFECT_REQUIRE_APPROVAL:
        return (assertion->never & NEVER_REQUIRE) != 0 ||
               ((assertion->never & NEVER_ALLOW) != 0 && assertion->even_approved);
    default:
        return (assertion->never & NEVER_DENY) != 0;
    }
}

static bool refuted_by_points(const struct universe *scope, const struct policy *policy,
                              const struct assertion *assertion, const uint32_t *points)
{
    struct policy *space = policy->assertion_space;
    struct rule asked = {
        .effect = EFFECT_AUTO_APPROVE, .match = assertion->match, .looks = READING_FIELD_STRICT};
    asked.looks |= match_looks(&asked.match, EFFECT_DENY);
    struct facts facts;
    bool refuted = false;
    CHECK(facts_init(&facts));
    if (space->index == NULL) {
        test_index_assertions(policy);
    }
    for (size_t i = 0; i < BARE_POINTS && !refuted; i++) {
        if (!facts_make(&facts, space, &scope->calls[i])) {
            CHECK(false);
            break;
        }
        for (size_t p = 0; p < READINGS; p++) {
            refuted = refuted || (is_bad(policy, assertion, points[i * READINGS + p]) &&
                                  policy_match(space, &asked, &facts, &scope->readings[p]) == FIELD_ALL);
        }
    }
    facts_finish(&facts);
    return refuted;
}

static void compare_assertions(const struct universe *scope, const struct policy *policy,
                               struct analysis *analysis, const uint32_t *points)
{
    for (uint32_t i = 0; i < policy->assertion_count; i++) {
        struct buf call;
        struct refutation refutation = {0};
        buf_init(&call, 1 << 20);
        enum assertion_result result = assertion_prove(analysis, i, &refutation, &call);
        bool refuted = refuted_by_points(scope, policy, &policy->assertions[i], points);
        bool ok =
            result == (refuted ? ASSERTION_REFUTED : ASSERTION_PROVED) &&
            (!refuted || decided_by(scope, policy, buf_slice_of(&call), refutation.kind, refutation.rule));
        CHECK(ok);
        buf_finish(&call);
    }
}

/* What decides, as a class names it: the default deny, the default allow, or a rule. */
static uint32_t winner_of(const struct policy *policy, const struct diff_side *side)
{
    return side->rule != NULL ? 2 + (uint32_t)(side->rule - policy->rules) : side->kind == DECISION_ALLOW;
}

static uint32_t effect_of(const struct policy *policy, uint32_t winner, const struct rule **ret_rule)
{
    *ret_rule = winner < 2 ? NULL : &policy->rules[winner - 2];
    return winner == 0 ? EFFECT_DENY : winner == 1 ? EFFECT_AUTO_APPROVE : (*ret_rule)->effect;
}

/* 0 the same, 1 stricter in every respect that changed, 2 weaker in some. */
static int change_of(const struct policy *from, uint32_t a, const struct policy *to, uint32_t b)
{
    const struct rule *x, *y;
    uint32_t was = effect_of(from, a, &x), is = effect_of(to, b, &y);
    int strict_was = was == EFFECT_DENY ? 2 : was == EFFECT_REQUIRE_APPROVAL;
    int strict_is = is == EFFECT_DENY ? 2 : is == EFFECT_REQUIRE_APPROVAL;
    if (strict_was != strict_is) {
        return strict_is < strict_was ? 2 : 1;
    }
    if (was != EFFECT_REQUIRE_APPROVAL) {
        return 0;
    }
    if (y->approvers < x->approvers || y->ttl_ms > x->ttl_ms || y->scope < x->scope) {
        return 2;
    }
    return y->approvers != x->approvers || y->ttl_ms != x->ttl_ms || y->scope != x->scope;
}

/* ---- A class as it is printed ---- */

/* One match of a class as rules all of which must match: of a pathComponent that is a list, one each. The
 * entry with a star of the default set is a tool's name as well, which no rule can write. */
struct printed {
    uint32_t rules[4];
    uint32_t count;
    bool starred_tool;
    int beside; /* 0 whatever, 1 nothing, 2 a command or a host */
};

/* Writes a rule of a printed match: an auto_approve of what is exact, or a deny of what is loose. */
static void write_rule(struct buf *buf, const struct json_doc *doc, const char *component, bool loose,
                       uint32_t *made, struct printed *ret)
{
    const struct json_value *root = json_root(doc), *v = json_first(doc, root);
    struct buf match;
    bool some = false;
    buf_init(&match, 1 << 16);
    for (; v != NULL; v = json_right(doc, root, v)) {
        const struct json_value *value = json_member_value(v);
        bool list = slice_is(json_str(v), "pathComponent") && json_is(value, JSON_ARRAY);
        bool starred = slice_is(json_str(v), "tool") && slice_is(json_str(value), "s/*");
        if (slice_is(json_str(v), "beside")) {
            ret->beside = slice_is(json_str(value), "nothing") ? 1 : 2;
            continue;
        }
        if (slice_is(json_str(v), "argLoosely") != loose) {
            continue;
        }
        test_comma(&match, &some);
        json_write_string(&match, starred ? SLICE("toolPrefix") : loose ? SLICE("argEquals") : json_str(v));
        buf_byte(&match, ':');
        if (list) {
            buf_printf(&match, "\"%s\"", component);
        } else {
            buf_slice(&match, starred ? SLICE("\"s/\"") : json_text_of(doc, value));
        }
        ret->starred_tool = ret->starred_tool || starred;
    }
    if (some) { /* an empty one is of no rule: every call */
        buf_printf(buf, "%s{\"id\":\"m%u\",\"effect\":%s,\"match\":{", *made ? "," : "", *made,
                   loose ? "\"deny\",\"reason\":\"no\"" : "\"auto_approve\"");
        buf_slice(buf, buf_slice_of(&match));
        buf_text(buf, "}}");
        ret->rules[ret->count++] = (*made)++;
    }
    buf_finish(&match);
}

static void write_printed(struct buf *buf, struct slice match, uint32_t *made, struct printed *ret)
{
    static const struct json_options options = {.max_depth = 8, .max_bytes = 4096};
    struct json_error error;
    struct json_doc doc;
    json_init(&doc);
    CHECK(json_parse(&doc, match, &options, &error));
    const struct json_value *both = json_get(&doc, json_root(&doc), "pathComponent");
    if (both != NULL && json_is(both, JSON_ARRAY)) {
        for (const struct json_value *v = json_first(&doc, both); v != NULL; v = json_right(&doc, both, v)) {
            char text[32];
            (void)snprintf(text, sizeof(text), "%.*s", SLICE_FMT(json_str(v)));
            write_rule(buf, &doc, text, false, made, ret);
        }
    } else {
        write_rule(buf, &doc, "", false, made, ret);
    }
    write_rule(buf, &doc, "", true, made, ret);
    json_finish(&doc);
}

static bool has_all(const struct policy *policy, const struct printed *printed, const struct call *call,
                    const struct facts *facts, const struct reading *reading)
{
    if (printed->starred_tool && !slice_is(call->names[0].tool, "s/*")) {
        return false;
    }
    bool beside = reading->host_kind != READING_NO_HOST;
    if (printed->beside != 0 && (printed->beside == 2) != beside) {
        return false;
    }
    for (uint32_t i = 0; i < printed->count; i++) {
        struct rule rule = policy->rules[printed->rules[i]];
        rule.looks &= (uint8_t)~READING_FIELD_BARE; /* what it says of that is `beside` */
        if (policy_match(policy, &rule, facts, reading) != FIELD_ALL) {
            return false;
        }
    }
    return true;
}

static const struct reading no_path = {.kind = READING_NO_PATH};

/* Counts for each point the classes that have it: those of its own change in the low half, others in the high
 * one. */
static void count_class(const struct universe *scope, const struct diff_class *class,
                        const struct reading *readings, size_t reading_count, const uint32_t *was,
                        const uint32_t *is, uint32_t from, uint32_t to, uint8_t *counts)
{
    struct printed *list = calloc(class->except_count + 1, sizeof(*list));
    uint32_t made = 0;
    struct buf text;
    struct facts facts;
    buf_init(&text, 1 << 20);
    buf_byte(&text, '[');
    write_printed(&text, class->match, &made, &list[0]);
    for (size_t i = 0; i < class->except_count; i++) {
        write_printed(&text, class->except[i], &made, &list[1 + i]);
    }
    buf_byte(&text, ']');
    struct policy *policy = test_load(buf_slice_of(&text));
    CHECK(policy != NULL && facts_init(&facts));
    for (size_t i = 0; policy != NULL && i < BARE_POINTS; i++) {
        const struct call *call = &scope->calls[i];
        if (!facts_make(&facts, policy, call)) {
            CHECK(false);
            break;
        }
        for (size_t p = 0; p < reading_count; p++) {
            size_t at = i * reading_count + p;
            bool in = has_all(policy, &list[0], call, &facts, &readings[p]);
            for (size_t e = 0; in && e < class->except_count; e++) {
                in = !has_all(policy, &list[1 + e], call, &facts, &readings[p]);
            }
            counts[at] = (uint8_t)(counts[at] + (!in ? 0 : was[at] == from && is[at] == to ? 1 : 16));
        }
    }
    if (policy != NULL) {
        facts_finish(&facts);
    }
    policy_destroy(policy);
    buf_finish(&text);
    free(list);
}

/* Every point that changes is in exactly one class, which says its change; no other is in any. */
static void check_counts(const struct universe *scope, const struct policy *from, const struct policy *to,
                         const uint32_t *was, const uint32_t *is, const uint8_t *counts)
{
    size_t wrong = 0;
    for (size_t i = 0; i < POINTS; i++) {
        const struct call *call = &scope->calls[i / READINGS];
        bool changes = change_of(from, was[i], to, is[i]) != 0;
        if (counts[i] != changes && wrong++ == 0 && check_failed < 20) {
            printf("tool %.*s, channel %.*s, path %s: %u -> %u (0: default deny, 1: default allow, 2: first "
                   "rule) is in %d classes, %d of them another change's\n",
                   SLICE_FMT(call->names[0].tool), SLICE_FMT(call->channel),
                   paths[i % READINGS / OTHERS] != NULL ? paths[i % READINGS / OTHERS] : "none", was[i],
                   is[i], counts[i] / 16 + counts[i] % 16, counts[i] / 16);
        }
    }
    CHECK(wrong == 0);
}

/* ---- Calls with a path that cannot be resolved ---- */

/* What decides each call, or where evaluation stops: 0 the default deny, 1 the default allow, 2 + rule. */
static uint32_t *decide_unreadable(const struct universe *scope, const struct policy *policy)
{
    const struct reading unreadable = {.kind = READING_UNREADABLE};
    uint32_t *points = calloc(BARE_POINTS, sizeof(*points));
    struct facts facts;
    CHECK(facts_init(&facts));
    for (size_t i = 0; i < BARE_POINTS && facts_make(&facts, policy, &scope->calls[i]); i++) {
        struct decision d = policy_evaluate_linear(policy, &facts, &unreadable, 1, NULL);
        points[i] = d.rule != NULL ? 2 + (uint32_t)(d.rule - policy->rules) : d.kind == DECISION_ALLOW;
    }
    facts_finish(&facts);
    return points;
}

static bool is_stopped(const struct policy *policy, uint32_t winner)
{
    return winner >= 2 && (policy->rules[winner - 2].match.path_prefix != 0 ||
                           policy->rules[winner - 2].match.path_component != 0);
}

/* change_of, where stopping is a deny. */
static int unreadable_change(const struct policy *from, uint32_t a, const struct policy *to, uint32_t b)
{
    return change_of(from, is_stopped(from, a) ? 0 : a, to, is_stopped(to, b) ? 0 : b);
}

static void compare_unreadable(const struct universe *scope, const struct policy *from,
                               const struct policy *to)
{
    uint32_t *was = decide_unreadable(scope, from), *is = decide_unreadable(scope, to);
    uint8_t *counts = calloc(BARE_POINTS, sizeof(*counts));
    size_t wrong = 0;
    struct diff diff;
    diff_init(&diff);
    diff_find_unreadable(from, to, &scope->base, DIFF_EXCEPT, &diff);
    bool ok = !diff.failed;
    for (size_t i = 0; i < diff.count; i++) {
        const struct diff_class *class = &diff.list[i];
        struct decision a, b;
        uint32_t x = winner_of(from, &class->from), y = winner_of(to, &class->to);
        ok = ok && class->weaker == (unreadable_change(from, x, to, y) == 2) && class->witness.ptr != NULL &&
             decide_text(scope, from, class->witness, &a) && decide_text(scope, to, class->witness, &b) &&
             a.kind == class->from.kind && b.kind == class->to.kind;
        ok = ok && class->from.stops == is_stopped(from, x) && class->to.stops == is_stopped(to, y);
        count_class(scope, class, &no_path, 1, was, is, x, y, counts);
    }
    for (size_t i = 0; i < BARE_POINTS; i++) {
        bool stops = is_stopped(from, was[i]) || is_stopped(to, is[i]);
        wrong += counts[i] != (stops && unreadable_change(from, was[i], to, is[i]) != 0);
    }
    if ((!ok || wrong != 0) && check_failed < 20) {
        printf("%zu calls with an unreadable path are not in the class of their change; classes hold: %d\n",
               wrong, ok);
    }
    CHECK(ok && wrong == 0);
    diff_finish(&diff);
    free(was);
    free(is);
    free(counts);
}

/* A class is of readings. Where the other readings of every call that was tried decide, it is listed without a call. */
static unsigned long classes, unshown;

static void compare_diff(const struct universe *scope, const struct policy *from, const struct policy *to,
                         const uint32_t *was, const uint32_t *is)
{
    size_t width = (size_t)to->rule_count + 2, cells = ((size_t)from->rule_count + 2) * width;
    bool *there = calloc(cells, sizeof(*there)), *listed = calloc(cells, sizeof(*listed));
    for (size_t i = 0; i < POINTS; i++) {
        there[was[i] * width + is[i]] = change_of(from, was[i], to, is[i]) != 0;
    }
    uint8_t *counts = calloc(POINTS, sizeof(*counts));
    struct diff diff;
    diff_init(&diff);
    diff_find(from, to, &scope->base, DIFF_EXCEPT, &diff);
    bool ok = !diff.failed;
    for (size_t i = 0; i < diff.count; i++) {
        const struct diff_class *class = &diff.list[i];
        uint32_t a = winner_of(from, &class->from), b = winner_of(to, &class->to);
        if (class->aside) {
            continue;
        }
        listed[a * width + b] = true;
        bool shown = class->witness.ptr != NULL;
        bool holds = class->weaker == (change_of(from, a, to, b) == 2) && class->list == NULL;
        classes++;
        unshown += !shown;
        holds = holds &&
                (!shown || (decided_by(scope, from, class->witness, class->from.kind, class->from.rule) &&
                            decided_by(scope, to, class->witness, class->to.kind, class->to.rule)));
        if (!holds && check_failed < 20) {
            printf("class %.*s: %s, %.*s\n", SLICE_FMT(class->match), class->weaker ? "weaker" : "stricter",
                   SLICE_FMT(class->witness));
        }
        ok = ok && holds;
        count_class(scope, class, scope->readings, READINGS, was, is, a, b, counts);
    }
    for (size_t i = 0; i < cells; i++) {
        if (there[i] != listed[i] && check_failed < 20) {
            printf("class %zu -> %zu (0: default deny, 1: default allow, 2: first rule): %s\n", i / width,
                   i % width, there[i] ? "missing" : "not there");
        }
    }
    CHECK(ok);
    check_counts(scope, from, to, was, is, counts);
    free(counts);
    CHECK(memcmp(there, listed, cells * sizeof(*there)) == 0);
    diff_finish(&diff);
    free(there);
    free(listed);
}

static struct policy *compare_one(const struct universe *scope, struct slice text,
                                  const struct policy *before, const uint32_t *points_before,
                                  uint32_t *points)
{
    struct policy *policy = test_load(text);
    CHECK(policy != NULL);
    if (policy == NULL) {
        return NULL;
    }
    struct analysis *analysis = analysis_create(policy, policy->assertion_space, policy->assertions,
                                                policy->assertion_count, &scope->base);
    CHECK(analysis != NULL);
    decide_points(scope, policy, points);
    if (analysis != NULL) {
        compare_dead(scope, policy, analysis, points);
        compare_assertions(scope, policy, analysis, points);
    }
    analysis_destroy(analysis);
    if (before != NULL) {
        compare_diff(scope, before, policy, points_before, points);
        compare_unreadable(scope, before, policy);
    }
    return policy;
}

static void random_policies(const struct universe *scope, uint64_t count)
{
    struct texts texts = {.made = 0};
    struct buf document;
    uint32_t *points = calloc(POINTS, sizeof(*points)),
             *before_points = calloc(POINTS, sizeof(*before_points));
    struct policy *before = NULL;
    uint64_t seed = 1;
    buf_init(&document, 1 << 20);
    for (size_t i = 0; i < RULES; i++) {
        buf_init(&texts.rules[i], 1 << 16);
    }
    for (uint64_t n = 0; n < count; n++) {
        uint32_t percent = 15 + 10 * (uint32_t)(n / 4 % 5);
        random_document(&document, &texts, &seed, n % 4 == 0 ? RULES : 1 + test_below(&seed, 2), percent);
        int failed = check_failed;
        struct policy *policy = compare_one(scope, buf_slice_of(&document), before, before_points, points);
        if (check_failed != failed && check_failed < 20) {
            printf("policy %llu: %.*s\n", (unsigned long long)n, SLICE_FMT(buf_slice_of(&document)));
        }
        policy_destroy(before);
        before = policy;
        uint32_t *swap = before_points;
        before_points = points;
        points = swap;
    }
    policy_destroy(before);
    for (size_t i = 0; i < RULES; i++) {
        buf_finish(&texts.rules[i]);
    }
    buf_finish(&document);
    free(points);
    free(before_points);
}

/* ---- Every policy of three rules over a few matches ---- */

static const char *const small_matches[] = {
    "\"tool\":\"t\"",
    "\"toolPrefix\":\"t\"",
    "\"tool\":\"tu\",\"actor\":\"session_owner\"",
    "\"actor\":\"session_owner\"",
    "\"actor\":\"claude_process\"",
    "\"pathPrefix\":\"/zz\"",
    "\"pathPrefix\":\"/zz/b\",\"actor\":\"claude_process\"",
    "\"pathComponent\":\"b*\"",
    "\"tool\":\"t\",\"pathComponent\":\"b\"",
    "\"argEquals\":{\"k0\":1}",
    "\"tool\":\"t\",\"argEquals\":{\"k0\":1,\"k1\":1}",
    "\"channel\":\"A\",\"toolPrefix\":\"tu\"",
};
static const char *const small_effects[] = {"\"deny\",\"reason\":\"no\"", "\"auto_approve\"",
                                            "\"require_approval\""};

/* Rule number `n` of all small ones; some stand in a higher tier. */
static void small_rule(struct buf *buf, size_t n, size_t place)
{
    const char *tier = n % 5 == 3 ? "user" : "default";
    buf_printf(buf, "%s{\"id\":\"r%zu\",\"effect\":%s,\"match\":{%s,\"tier\":\"%s\"}}", place ? "," : "",
               place, small_effects[n % COUNT(small_effects)], small_matches[n / COUNT(small_effects)], tier);
}

static void all_small_policies(const struct universe *scope)
{
    size_t rules = COUNT(small_matches) * COUNT(small_effects);
    struct buf document;
    uint32_t *points = calloc(POINTS, sizeof(*points)),
             *before_points = calloc(POINTS, sizeof(*before_points));
    struct policy *before = NULL;
    buf_init(&document, 1 << 20);
    for (size_t n = 0; n < rules * rules * rules; n++) {
        buf_reset(&document);
        buf_text(&document, "{\"assertions\":[{\"name\":\"a\",\"never\":[\"allow\"],\"match\":{"
                            "\"toolPrefix\":\"t\",\"pathPrefix\":\"/zz\"}}],\"rules\":[");
        small_rule(&document, n % rules, 0);
        small_rule(&document, n / rules % rules, 1);
        small_rule(&document, n / rules / rules, 2);
        buf_text(&document, "]}");
        struct policy *policy = compare_one(scope, buf_slice_of(&document), before, before_points, points);
        policy_destroy(before);
        before = policy;
        uint32_t *swap = before_points;
        before_points = points;
        points = swap;
    }
    policy_destroy(before);
    buf_finish(&document);
    free(points);
    free(before_points);
}

int main(int argc, char **argv)
{
    static struct universe scope;
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
    scope_init(&scope);
    random_policies(&scope, count);
    if (argc > 2 && strcmp(argv[2], "all") == 0) {
        all_small_policies(&scope);
    }
    for (size_t i = 0; i < COUNT(inputs); i++) {
        json_finish(&scope.docs[i]);
    }
    printf("%lu classes of changes, %lu of them shown by no call\n", classes, unshown);
    CHECK(unshown <= classes / 500);
    return check_done();
}
