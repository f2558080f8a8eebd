/* argEquals and argIn: arguments as they are written, and in their loose form. SPEC.md section 5. */
#include <stdlib.h>

#include "document/load_internal.h"
#include "policy/loose.h"

static int by_key(const void *a, const void *b)
{
    uint32_t key_a = ((const struct match_arg *)a)->key, key_b = ((const struct match_arg *)b)->key;
    return (key_a > key_b) - (key_a < key_b);
}

/* The symbol of what stands in loading->text. */
static uint32_t text_symbol(struct loading *loading, struct policy *into)
{
    if (!buf_ok(&loading->text)) {
        loading->errors->failed = true;
        return 0;
    }
    return load_symbol(loading, into, buf_slice_of(&loading->text));
}

static uint32_t exact_value(struct loading *loading, struct policy *into, const struct json_value *value)
{
    buf_reset(&loading->text);
    json_write_canonical(&loading->text, &loading->doc, value, JSON_NUMBER_EXACT);
    return text_symbol(loading, into);
}

static uint32_t loose_value(struct loading *loading, struct policy *into, const struct json_value *value)
{
    buf_reset(&loading->text);
    loose_write(&loading->text, &loading->doc, value, &loading->loose);
    return text_symbol(loading, into);
}

static uint32_t loose_key(struct loading *loading, struct policy *into, struct slice name)
{
    buf_reset(&loading->text);
    loose_write_key(&loading->text, name);
    return text_symbol(loading, into);
}

/* ---- Lists ---- */

/* Reports an argument of argIn that is no list of 1 to 1,000 values. */
static bool is_good_list(struct loading *loading, const struct json_value *list, const struct place *place)
{
    struct buf *message = load_message(loading);
    message_quote(message, place->key);
    if (list->type != JSON_ARRAY) {
        buf_printf(message,
                   " must hold a list of values, not %s: put it between '[' and ']', or use 'argEquals'",
                   json_type_name(list->type));
        load_report(loading, "wrong-type", list->offset, place);
        return false;
    }
    if (list->count == 0 || list->count > MATCH_LIST_MOST) {
        buf_printf(message, " must hold a list of 1 to %u values, it has %u", MATCH_LIST_MOST, list->count);
        load_report(loading, "bad-value", list->offset, place);
        return false;
    }
    return true;
}

/* The value of a list, in one of the two forms; loose forms of different values may be equal. Reports values that are
 * repeated, for the exact form. */
static uint32_t list_value(struct loading *loading, struct policy *into, const struct json_value *list,
                           const struct place *place, bool loose)
{
    uint32_t count = 0;
    bool good = true;
    struct place here = {.up = place, .element = true};
    const struct json_value *value = json_first(&loading->doc, list);
    for (; value != NULL; value = json_right(&loading->doc, list, value), here.index++) {
        uint32_t one = loose ? loose_value(loading, into, value) : exact_value(loading, into, value), at = 0;
        while (at < count && loading->list[at] != one) {
            at++;
        }
        if (at == count) {
            loading->list[count++] = one;
        } else if (!loose) {
            buf_text(load_message(loading), "this value stands in the list already: leave it out");
            load_report(loading, "bad-value", value->offset, &here);
            good = false;
        }
    }
    uint32_t set = good ? policy_add_set(into, FIELD_ARG_IN, loading->list, count) : 0;
    loading->errors->failed = loading->errors->failed || (good && set == 0);
    return set;
}

/* ---- Both members ---- */

static bool add_arg(struct loading *loading, struct policy *into, uint32_t key, uint32_t value)
{
    if (!load_grow(loading, (void **)&into->args, into->arg_count, sizeof(*into->args))) {
        return false;
    }
    into->args[into->arg_count++] = (struct match_arg){key, value};
    return true;
}

/* Adds the members of one object in one form. */
static void add_args(struct loading *loading, struct policy *into, const struct json_value *object,
                     const struct place *place, bool lists, bool loose)
{
    const struct json_value *name = object == NULL ? NULL : json_first(&loading->doc, object);
    for (; name != NULL; name = json_right(&loading->doc, object, name)) {
        const struct json_value *value = json_member_value(name);
        struct place here = {.up = place, .key = json_str(name)};
        uint32_t key =
            loose ? loose_key(loading, into, json_str(name)) : load_symbol(loading, into, json_str(name));
        uint32_t one = lists   ? list_value(loading, into, value, &here, loose)
                       : loose ? loose_value(loading, into, value)
                               : exact_value(loading, into, value);
        if (!add_arg(loading, into, key, one)) {
            return;
        }
    }
}

/* Reports what is wrong with argIn before anything of it is taken. */
static bool lists_are_good(struct loading *loading, const struct json_value *equals,
                           const struct json_value *lists, const struct place *place)
{
    bool good = true;
    if (lists->count == 0) {
        buf_text(load_message(loading),
                 "'argIn' names no argument: name one and its list of values, or leave it out");
        load_report(loading, "bad-value", lists->offset, place);
        return false;
    }
    const struct json_value *name = json_first(&loading->doc, lists);
    for (; name != NULL; name = json_right(&loading->doc, lists, name)) {
        const struct json_value *value = json_member_value(name);
        struct place here = {.up = place, .key = json_str(name)};
        if (equals != NULL && json_get_slice(&loading->doc, equals, json_str(name)) != NULL) {
            struct buf *message = load_message(loading);
            message_quote(message, json_str(name));
            buf_text(message, " stands under 'argEquals' already: leave one of them out");
            load_report(loading, "bad-value", value->offset, &here);
            good = false;
        } else {
            good = is_good_list(loading, value, &here) && good;
        }
    }
    return good;
}

void load_args(struct loading *loading, struct match_loading *match, const struct json_value *equals,
               const struct json_value *lists, const struct place *place)
{
    struct policy *into = match->into;
    struct place equals_place = {.up = place, .key = SLICE("argEquals")},
                 lists_place = {.up = place, .key = SLICE("argIn")};
    equals = json_is(equals, JSON_OBJECT) ? equals : NULL;
    lists = json_is(lists, JSON_OBJECT) ? lists : NULL;
    if (lists != NULL && !lists_are_good(loading, equals, lists, &lists_place)) {
        lists = NULL;
    }
    bool loose_first = match->effects != KEY_AUTO_APPROVE && !match->assertion;
    uint32_t first = into->arg_count;
    for (unsigned half = 0; half < 2; half++) {
        bool loose = (half == 0) == loose_first;
        uint32_t from = into->arg_count;
        add_args(loading, into, equals, &equals_place, false, loose);
        add_args(loading, into, lists, &lists_place, true, loose);
        if (into->arg_count - from > 1) {
            qsort(into->args + from, into->arg_count - from, sizeof(*into->args), by_key);
        }
    }
    match->match->arg_first = first;
    match->match->arg_count = (into->arg_count - first) / 2;
}
