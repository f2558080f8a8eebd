/* Reads the lists of a document beside its rules: which tools need rules, which arguments are paths. */
#include "document/load_internal.h"

static void add_entry(struct loading *loading, enum policy_list list, uint32_t key, struct slice text)
{
    struct policy *policy = loading->policy;
    if (!load_grow(loading, (void **)&policy->entries, policy->entry_count, sizeof(*policy->entries))) {
        return;
    }
    policy->entries[policy->entry_count++] = (struct policy_entry){
        .key = key,
        .name = load_symbol(loading, policy, text),
        .file = loading->file,
        .list = (uint8_t)list,
    };
}

/* What is wrong with a string of a list; NULL: nothing. */
static const char *fault_of(const struct loading *loading, enum policy_list list, struct slice text)
{
    if (text.len == 0) {
        return list == LIST_REQUIRED
                   ? "an entry must name a tool, it is empty: write its name, or leave it out"
                   : "an entry must name an argument, it is empty: write its name, or leave it out";
    }
    if (list == LIST_REQUIRED || text.ptr[0] != '-') {
        return NULL;
    }
    if (text.len == 1) {
        return "'-' takes an argument away, and none is named: write '-NAME'";
    }
    if (load_is_workspace(loading->source)) {
        return "a workspace file may add arguments and not take them away: move this to a user or admin file";
    }
    return NULL;
}

static void load_strings(struct loading *loading, enum policy_list list, uint32_t key,
                         const struct json_value *array, const struct place *place)
{
    struct place here = {.up = place, .element = true};
    const struct json_value *value = json_first(&loading->doc, array);
    for (; value != NULL; value = json_right(&loading->doc, array, value), here.index++) {
        if (value->type != JSON_STRING) {
            buf_printf(load_message(loading), "every entry must be a string, not %s",
                       json_type_name(value->type));
            load_report(loading, "wrong-type", value->offset, &here);
            continue;
        }
        const char *fault = fault_of(loading, list, json_str(value));
        if (fault != NULL) {
            buf_text(load_message(loading), fault);
            load_report(loading, "bad-value", value->offset, &here);
            continue;
        }
        add_entry(loading, list, key, json_str(value));
    }
}

void load_required(struct loading *loading, const struct json_value *array, const struct place *place)
{
    load_strings(loading, LIST_REQUIRED, 0, array, place);
}

void load_changes(struct loading *loading, enum policy_list list, const struct json_value *object,
                  const struct place *place)
{
    const struct json_value *name = json_first(&loading->doc, object);
    for (; name != NULL; name = json_right(&loading->doc, object, name)) {
        struct place here = {.up = place, .key = json_str(name)};
        const struct json_value *value = json_member_value(name);
        if (value->type != JSON_ARRAY) {
            struct buf *message = load_message(loading);
            message_quote(message, json_str(name));
            buf_printf(message, " must hold an array of argument names, not %s: put them between '[' and ']'",
                       json_type_name(value->type));
            load_report(loading, "wrong-type", value->offset, &here);
            continue;
        }
        load_strings(loading, list, load_symbol(loading, loading->policy, json_str(name)), value, &here);
    }
}
