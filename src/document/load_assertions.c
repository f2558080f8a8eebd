/* Reads the assertions of a document. */
#include <stdlib.h>

#include "document/load_internal.h"

/* The policy that holds the assertions' matches, made when the first is met. NULL when memory ran out. */
static struct policy *space_of(struct loading *loading)
{
    if (loading->policy->assertion_space == NULL) {
        loading->policy->assertion_space = policy_new();
    }
    return loading->policy->assertion_space;
}

static void take_value(struct loading *loading, const struct key *key, const struct json_value *value,
                       const struct place *place, struct policy *space, struct assertion *assertion)
{
    struct loaded loaded = {0};
    if (!load_value(loading, key, value, place, &loaded)) {
        return;
    }
    switch (key->id) {
    case ID_NAME:
        assertion->name = load_symbol(loading, space, loaded.string);
        break;
    case ID_MATCH:
        load_match(loading, &schema_assertion_match, value, place, space, 0, &assertion->match, NULL);
        break;
    case ID_NEVER:
        assertion->never = (uint8_t)loaded.choice;
        break;
    default:
        assertion->even_approved = loaded.boolean;
        break;
    }
}

static void load_assertion(struct loading *loading, const struct json_value *object,
                           const struct place *place, struct policy *space)
{
    if (object->type != JSON_OBJECT) {
        buf_printf(
            load_message(loading),
            "an assertion must be an object such as {\"name\": …, \"match\": …, \"never\": [\"allow\"]}, "
            "not %s",
            json_type_name(object->type));
        load_report(loading, "wrong-type", object->offset, place);
        return;
    }
    cursor_move(&loading->cursor, object->offset);
    struct assertion assertion = {
        .file = loading->file, .line = loading->cursor.line, .column = loading->cursor.column};
    for (size_t i = 0; i < schema_assertion.count; i++) {
        const struct key *key = &schema_assertion.keys[i];
        if (key->required && json_get(&loading->doc, object, key->name) == NULL) {
            report_missing_key(loading, key, object, place);
        }
    }
    const struct json_value *name = json_first(&loading->doc, object);
    for (; name != NULL; name = json_right(&loading->doc, object, name)) {
        struct place here = {.up = place, .key = json_str(name)};
        const struct key *key = schema_key(&schema_assertion, json_str(name));
        if (key == NULL) {
            report_unknown_key(loading, &schema_assertion, name, &here);
        } else {
            take_value(loading, key, json_member_value(name), &here, space, &assertion);
        }
    }
    struct policy *policy = loading->policy;
    if (load_grow(loading, (void **)&policy->assertions, policy->assertion_count, sizeof(assertion))) {
        policy->assertions[policy->assertion_count++] = assertion;
    }
}

void load_assertions(struct loading *loading, const struct json_value *array, const struct place *place)
{
    struct policy *space = space_of(loading);
    if (space == NULL) {
        loading->errors->failed = true;
        return;
    }
    struct place here = {.up = place, .element = true};
    const struct json_value *value = json_first(&loading->doc, array);
    for (; value != NULL; value = json_right(&loading->doc, array, value), here.index++) {
        load_assertion(loading, value, &here, space);
    }
}
