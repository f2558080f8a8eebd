/* New allows inside running denies: what a reload refuses. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/shadows_internal.h"
#include "base/utf8.h"

void violations_init(struct violations *violations)
{
    *violations = (struct violations){0};
    arena_init(&violations->arena, 0);
}

void violations_finish(struct violations *violations)
{
    free(violations->list);
    arena_finish(&violations->arena);
    *violations = (struct violations){0};
}

/* Whether a new auto_approve must not be within a rule of the running set: not so one of a workspace file, with which an
 * agent could block its operator. */
static bool is_guarded(const struct policy *policy, const struct rule *rule)
{
    const struct policy_file *file = &policy->files[rule->file];
    return rule->effect == EFFECT_DENY && !(file->at_tier && file->tier == TIER_WORKSPACE);
}

/* The comparison of one reload. */
struct reload {
    const struct policy *running, *next;
    struct superset *denies;    /* of the running set, those that superset_takes */
    uint32_t *guarded, *others; /* every guarded deny in load order; those that the superset does not take */
    uint32_t guarded_count, other_count;
    uint64_t budget;
    bool *taken;            /* by symbol of the running set: some rule has it as its id */
    struct match_arg *args; /* the asked pairs in the running set's symbols */
    struct buf text;
    struct violations *out;
};

static uint32_t translate(const struct reload *reload, uint32_t symbol)
{
    if (symbol == 0) {
        return 0;
    }
    uint32_t found = intern_find(&reload->running->symbols, policy_text(reload->next, symbol));
    return found == 0 ? NOWHERE : found;
}

static int by_key(const void *a, const void *b)
{
    uint32_t left = ((const struct match_arg *)a)->key, right = ((const struct match_arg *)b)->key;
    return (left > right) - (left < right);
}

/* A match of the new set in the running set's terms, its arguments as denies compare them. Pairs that the running set
 * does not have stand in no deny. */
static struct foreign_match translate_match(struct reload *reload, const struct rule *rule)
{
    const struct policy *next = reload->next;
    const struct match *match = &rule->match;
    const struct match_arg *loose = rule_loose_args(next, rule);
    struct foreign_match foreign = {.match = *match, .args = reload->args};
    for (enum match_field field = 0; field < FIELD_VALUES; field++) {
        bool symbol = field_table[field].type <= FIELD_TYPE_NAME_PREFIX ||
                      field_table[field].type == FIELD_TYPE_COMPONENT;
        foreign.match.values[field] = symbol ? translate(reload, match->values[field]) : match->values[field];
    }
    foreign.match.path_prefix = 0;
    if (match->tool != 0 || match->tool_prefix != 0) {
        foreign.tool = policy_text(next, match->tool != 0 ? match->tool : match->tool_prefix);
    }
    if (match->path_prefix != 0) {
        foreign.path = next->prefixes->list[match->path_prefix - 1].path;
    }
    foreign.match.arg_count = 0;
    for (uint32_t i = 0; i < match->arg_count; i++) {
        struct match_arg arg = {translate(reload, loose[i].key), translate(reload, loose[i].value)};
        if (arg.key != NOWHERE && arg.value != NOWHERE) {
            reload->args[foreign.match.arg_count++] = arg;
        }
    }
    qsort(reload->args, foreign.match.arg_count, sizeof(*reload->args), by_key);
    return foreign;
}

static bool add_violation(struct reload *reload, struct slice new_rule, struct slice deny)
{
    struct violations *out = reload->out;
    if (out->count == out->cap) {
        size_t cap = out->cap == 0 ? 16 : out->cap * 2;
        struct violation *list = cap > VIOLATIONS_MAX ? NULL : realloc(out->list, cap * sizeof(*list));
        if (list == NULL) {
            return false;
        }
        out->list = list;
        out->cap = cap;
    }
    buf_reset(&reload->text);
    buf_text(&reload->text, "new auto_approve rule '");
    utf8_append_printable(&reload->text, new_rule);
    buf_text(&reload->text, "' weakens existing deny '");
    utf8_append_printable(&reload->text, deny);
    buf_text(&reload->text, "' \xe2\x80\x94 reload refused");
    struct violation violation = {arena_copy(&out->arena, new_rule), arena_copy(&out->arena, deny),
                                  arena_copy(&out->arena, buf_slice_of(&reload->text))};
    if (!buf_ok(&reload->text) || violation.new_rule.ptr == NULL || violation.existing_deny.ptr == NULL ||
        violation.message.ptr == NULL) {
        return false;
    }
    out->list[out->count++] = violation;
    return true;
}

/* Adds a violation for each of some denies that a rule is within, up to deny `end`; *at goes over them. */
static bool check_list(struct reload *reload, const struct rule *rule, const uint32_t *list, uint32_t count,
                       uint32_t *at, uint32_t end)
{
    const struct policy *running = reload->running, *next = reload->next;
    for (; *at < count && list[*at] < end; ++*at) {
        const struct rule *deny = &running->rules[list[*at]];
        if (reload->budget-- == 0) {
            reload->budget = 0;
            return false;
        }
        if (rule_subset(next, rule, running, deny) &&
            !add_violation(reload, policy_text(next, rule->id), policy_text(running, deny->id))) {
            return false;
        }
    }
    return true;
}

static bool check_rule(struct reload *reload, const struct rule *rule)
{
    struct slice id = policy_text(reload->next, rule->id);
    uint32_t known = intern_find(&reload->running->symbols, id), at = 0;
    if (rule->effect != EFFECT_AUTO_APPROVE || (known != 0 && reload->taken[known])) {
        return true;
    }
    if (!superset_takes(reload->next, rule)) {
        const uint32_t count = reload->guarded_count;
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the list is freed by violations_find */
        return check_list(reload, rule, reload->guarded, count, &at, NOWHERE);
    }
    struct foreign_match match = translate_match(reload, rule);
    const uint32_t *denies;
    size_t count = superset_every(reload->denies, &match, &denies);
    for (size_t i = 0; i < count; i++) {
        const struct rule *deny = &reload->running->rules[denies[i]];
        if (!check_list(reload, rule, reload->others, reload->other_count, &at, denies[i]) ||
            !add_violation(reload, id, policy_text(reload->running, deny->id))) {
            return false;
        }
    }
    return check_list(reload, rule, reload->others, reload->other_count, &at, NOWHERE) &&
           superset_state(reload->denies) == SUPERSET_WHOLE;
}

static bool check_all(struct reload *reload)
{
    const struct policy *running = reload->running, *next = reload->next;
    size_t most_args = 0;
    for (uint32_t i = 0; i < next->rule_count; i++) {
        most_args = next->rules[i].match.arg_count > most_args ? next->rules[i].match.arg_count : most_args;
    }
    reload->taken = calloc((size_t)running->symbols.count + 1, sizeof(*reload->taken));
    reload->args = calloc(most_args + 1, sizeof(*reload->args));
    reload->denies = superset_create(running, SUPERSET_EVERY);
    reload->guarded = calloc((size_t)running->rule_count + 1, sizeof(*reload->guarded));
    reload->others = calloc((size_t)running->rule_count + 1, sizeof(*reload->others));
    if (reload->guarded == NULL || reload->others == NULL || reload->taken == NULL || reload->args == NULL ||
        reload->denies == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < running->rule_count; i++) {
        reload->taken[running->rules[i].id] = true;
        if (!is_guarded(running, &running->rules[i])) {
            continue;
        }
        reload->guarded[reload->guarded_count++] = i;
        if (superset_takes(running, &running->rules[i])) {
            superset_add(reload->denies, i);
        } else {
            reload->others[reload->other_count++] = i;
        }
    }
    for (uint32_t i = 0; i < next->rule_count; i++) {
        if (!check_rule(reload, &next->rules[i])) {
            return false;
        }
    }
    return superset_state(reload->denies) == SUPERSET_WHOLE;
}

void violations_find(const struct policy *running, const struct policy *next,
                     struct violations *ret_violations)
{
    struct reload reload = {
        .running = running, .next = next, .out = ret_violations, .budget = SHADOWS_BUDGET};
    buf_init(&reload.text, LIMIT_MESSAGE_BYTES);
    if (!check_all(&reload)) {
        ret_violations->failed = true;
    }
    buf_finish(&reload.text);
    superset_destroy(reload.denies);
    free(reload.guarded);
    free(reload.others);
    free(reload.taken);
    free(reload.args);
}
