#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/superset.h"
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

static bool is_deny(const struct rule *rule)
{
    return rule->effect == EFFECT_DENY;
}

/* The comparison of one reload. */
struct reload {
    const struct policy *running, *next;
    struct superset *denies; /* of the running set */
    bool *taken;             /* by symbol of the running set: some rule has it as its id */
    struct match_arg *args;  /* the asked pairs in the running set's symbols */
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

/* A match of the new set in the running set's terms. Pairs that the running set does not have stand in no
 * deny. */
static struct foreign_match translate_match(struct reload *reload, const struct match *match)
{
    const struct policy *next = reload->next;
    struct foreign_match foreign = {.match = *match, .args = reload->args};
    foreign.match.tool = translate(reload, match->tool);
    foreign.match.tool_prefix = translate(reload, match->tool_prefix);
    foreign.match.server = translate(reload, match->server);
    foreign.match.channel = translate(reload, match->channel);
    foreign.match.thread = translate(reload, match->thread);
    foreign.match.path_component = translate(reload, match->path_component);
    foreign.match.path_prefix = 0;
    if (match->tool != 0 || match->tool_prefix != 0) {
        foreign.tool = policy_text(next, match->tool != 0 ? match->tool : match->tool_prefix);
    }
    if (match->path_prefix != 0) {
        foreign.path = next->prefixes->list[match->path_prefix - 1].path;
    }
    foreign.match.arg_count = 0;
    for (uint32_t i = 0; i < match->arg_count; i++) {
        struct match_arg arg = {translate(reload, next->args[match->arg_first + i].key),
                                translate(reload, next->args[match->arg_first + i].value)};
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

static bool check_rule(struct reload *reload, const struct rule *rule)
{
    struct slice id = policy_text(reload->next, rule->id);
    uint32_t known = intern_find(&reload->running->symbols, id);
    if (rule->effect != EFFECT_AUTO_APPROVE || (known != 0 && reload->taken[known])) {
        return true;
    }
    struct foreign_match match = translate_match(reload, &rule->match);
    const uint32_t *denies;
    size_t count = superset_every(reload->denies, &match, &denies);
    for (size_t i = 0; i < count; i++) {
        const struct rule *deny = &reload->running->rules[denies[i]];
        if (!add_violation(reload, id, policy_text(reload->running, deny->id))) {
            return false;
        }
    }
    return superset_state(reload->denies) == SUPERSET_WHOLE;
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
    if (reload->taken == NULL || reload->args == NULL || reload->denies == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < running->rule_count; i++) {
        reload->taken[running->rules[i].id] = true;
        if (is_deny(&running->rules[i])) {
            superset_add(reload->denies, i);
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
    struct reload reload = {.running = running, .next = next, .out = ret_violations};
    buf_init(&reload.text, LIMIT_MESSAGE_BYTES);
    if (!check_all(&reload)) {
        ret_violations->failed = true;
    }
    buf_finish(&reload.text);
    superset_destroy(reload.denies);
    free(reload.taken);
    free(reload.args);
}
