/* Reads what a document says of confined programs: what they can write, and what not. SPEC.md section 16. */
#include <string.h>

#include "document/load_internal.h"
#include "document/places.h"

/* Writes what is wrong with a place; false: nothing is. */
static bool find_fault(struct loading *loading, const struct key *key, struct slice text)
{
    if (text.len == 0) {
        buf_text(load_message(loading),
                 "an entry must name a place, it is empty: write its path, or leave it out");
        return true;
    }
    if (memchr(text.ptr, '\0', text.len) != NULL) {
        buf_text(load_message(loading), "no path has a NUL in it: leave it out");
        return true;
    }
    if (text.ptr[0] != '@' || (key->id == ID_CONFINE_WRITE && named_place_is(text))) {
        return false;
    }
    struct buf *message = load_message(loading);
    message_quote(message, text);
    if (key->id == ID_CONFINE_WRITE) {
        buf_text(message, " is no place that has a name; these have one: ");
        named_places_write(message);
        buf_text(message, ". A directory of that name is written './@…'");
    } else {
        buf_text(message, ": only places to be written to have names; write the path");
    }
    return true;
}

static void add_place(struct loading *loading, const struct key *key, struct slice text)
{
    struct policy *policy = loading->policy;
    if (load_grow(loading, (void **)&policy->confine, policy->confine_count, sizeof(*policy->confine))) {
        policy->confine[policy->confine_count++] = (struct policy_confine){
            .place = load_symbol(loading, policy, text),
            .file = loading->file,
            .writes = key->id == ID_CONFINE_WRITE,
        };
    }
}

static void load_places(struct loading *loading, const struct key *key, const struct json_value *array,
                        const struct place *place)
{
    struct place here = {.up = place, .element = true};
    const struct json_value *value = json_first(&loading->doc, array);
    for (; value != NULL; value = json_right(&loading->doc, array, value), here.index++) {
        if (value->type != JSON_STRING) {
            buf_printf(load_message(loading), "every entry must be a string, not %s",
                       json_type_name(value->type));
            load_report(loading, "wrong-type", value->offset, &here);
        } else if (find_fault(loading, key, json_str(value))) {
            load_report(loading, "bad-value", value->offset, &here);
        } else {
            add_place(loading, key, json_str(value));
        }
    }
}

void load_confine(struct loading *loading, const struct json_value *object, const struct place *place)
{
    const struct json_value *name = json_first(&loading->doc, object);
    for (; name != NULL; name = json_right(&loading->doc, object, name)) {
        struct place here = {.up = place, .key = json_str(name)};
        const struct key *key = schema_key(&schema_confine, json_str(name));
        const struct json_value *value = json_member_value(name);
        struct loaded loaded = {0};
        if (key == NULL) {
            report_unknown_key(loading, &schema_confine, name, &here);
        } else if (load_value(loading, key, value, &here, &loaded)) {
            if (key->id == ID_CONFINE_WRITE && load_is_workspace(loading->source)) {
                buf_text(load_message(loading),
                         "a workspace file may only narrow what a confined program can write: "
                         "move this to a user or admin file");
                load_report(loading, "bad-value", value->offset, &here);
            } else {
                load_places(loading, key, value, &here);
            }
        }
    }
}
