#include "analysis/analysis.h"

/* Two symbols of perhaps different policies: the numbers differ then, the texts count. */
static bool same_symbol(const struct policy *a_policy, uint32_t a, const struct policy *b_policy, uint32_t b)
{
    if (a_policy == b_policy) {
        return a == b;
    }
    return slice_eq(policy_text(a_policy, a), policy_text(b_policy, b));
}

static struct slice prefix_text(const struct policy *policy, uint32_t id)
{
    return policy->prefixes->list[id - 1].path;
}

/* The outer field of a symbol: absent, or present in inner with an equal text. */
static bool symbol_holds(const struct policy *inner_policy, uint32_t inner, const struct policy *outer_policy,
                         uint32_t outer)
{
    return outer == 0 || (inner != 0 && same_symbol(inner_policy, inner, outer_policy, outer));
}

static bool tool_prefix_holds(const struct policy *inner_policy, const struct match *inner,
                              const struct policy *outer_policy, const struct match *outer)
{
    if (outer->tool_prefix == 0) {
        return true;
    }
    uint32_t name = inner->tool != 0 ? inner->tool : inner->tool_prefix;
    return name != 0 &&
           slice_starts_with(policy_text(inner_policy, name), policy_text(outer_policy, outer->tool_prefix));
}

static bool path_prefix_holds(const struct policy *inner_policy, const struct match *inner,
                              const struct policy *outer_policy, const struct match *outer)
{
    if (outer->path_prefix == 0) {
        return true;
    }
    if (inner->path_prefix == 0) {
        return false;
    }
    return path_is_under(prefix_text(inner_policy, inner->path_prefix),
                         prefix_text(outer_policy, outer->path_prefix));
}

/* The argument of `match` that has the same key as `arg`, or NULL. */
static const struct match_arg *arg_of(const struct policy *policy, const struct match *match,
                                      const struct policy *arg_policy, const struct match_arg *arg)
{
    const struct match_arg *args = policy->args + match->arg_first;
    if (policy != arg_policy) {
        for (uint32_t i = 0; i < match->arg_count; i++) {
            if (same_symbol(policy, args[i].key, arg_policy, arg->key)) {
                return &args[i];
            }
        }
        return NULL;
    }
    uint32_t low = 0, high = match->arg_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (args[middle].key < arg->key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < match->arg_count && args[low].key == arg->key ? &args[low] : NULL;
}

static bool args_hold(const struct policy *inner_policy, const struct match *inner,
                      const struct policy *outer_policy, const struct match *outer)
{
    if (outer->arg_count > inner->arg_count) {
        return false;
    }
    for (uint32_t i = 0; i < outer->arg_count; i++) {
        const struct match_arg *want = &outer_policy->args[outer->arg_first + i];
        const struct match_arg *have = arg_of(inner_policy, inner, outer_policy, want);
        if (have == NULL || !same_symbol(inner_policy, have->value, outer_policy, want->value)) {
            return false;
        }
    }
    return true;
}

bool match_subset(const struct policy *inner_policy, const struct match *inner,
                  const struct policy *outer_policy, const struct match *outer)
{
    return symbol_holds(inner_policy, inner->tool, outer_policy, outer->tool) &&
           symbol_holds(inner_policy, inner->server, outer_policy, outer->server) &&
           symbol_holds(inner_policy, inner->channel, outer_policy, outer->channel) &&
           symbol_holds(inner_policy, inner->thread, outer_policy, outer->thread) &&
           (outer->actor == ACTOR_ANY || outer->actor == inner->actor) &&
           symbol_holds(inner_policy, inner->path_component, outer_policy, outer->path_component) &&
           tool_prefix_holds(inner_policy, inner, outer_policy, outer) &&
           path_prefix_holds(inner_policy, inner, outer_policy, outer) &&
           args_hold(inner_policy, inner, outer_policy, outer);
}

static bool symbols_meet(const struct policy *a_policy, uint32_t a, const struct policy *b_policy, uint32_t b)
{
    return a == 0 || b == 0 || same_symbol(a_policy, a, b_policy, b);
}

static bool tools_meet(const struct policy *a_policy, const struct match *a, const struct policy *b_policy,
                       const struct match *b)
{
    uint32_t a_name = a->tool != 0 ? a->tool : a->tool_prefix;
    uint32_t b_name = b->tool != 0 ? b->tool : b->tool_prefix;
    if (a_name == 0 || b_name == 0) {
        return true;
    }
    if (a->tool != 0 && b->tool != 0) {
        return same_symbol(a_policy, a_name, b_policy, b_name);
    }
    struct slice a_text = policy_text(a_policy, a_name), b_text = policy_text(b_policy, b_name);
    return (a->tool == 0 && slice_starts_with(b_text, a_text)) ||
           (b->tool == 0 && slice_starts_with(a_text, b_text));
}

static bool paths_meet(const struct policy *a_policy, const struct match *a, const struct policy *b_policy,
                       const struct match *b)
{
    if (a->path_prefix == 0 || b->path_prefix == 0) {
        return true;
    }
    struct slice a_path = prefix_text(a_policy, a->path_prefix),
                 b_path = prefix_text(b_policy, b->path_prefix);
    return path_is_under(a_path, b_path) || path_is_under(b_path, a_path);
}

static bool args_meet(const struct policy *a_policy, const struct match *a, const struct policy *b_policy,
                      const struct match *b)
{
    for (uint32_t i = 0; i < a->arg_count; i++) {
        const struct match_arg *arg = &a_policy->args[a->arg_first + i];
        const struct match_arg *other = arg_of(b_policy, b, a_policy, arg);
        if (other != NULL && !same_symbol(a_policy, arg->value, b_policy, other->value)) {
            return false;
        }
    }
    return true;
}

bool match_intersects(const struct policy *a_policy, const struct match *a, const struct policy *b_policy,
                      const struct match *b)
{
    return tools_meet(a_policy, a, b_policy, b) && symbols_meet(a_policy, a->server, b_policy, b->server) &&
           symbols_meet(a_policy, a->channel, b_policy, b->channel) &&
           symbols_meet(a_policy, a->thread, b_policy, b->thread) &&
           (a->actor == ACTOR_ANY || b->actor == ACTOR_ANY || a->actor == b->actor) &&
           paths_meet(a_policy, a, b_policy, b) && args_meet(a_policy, a, b_policy, b);
}
