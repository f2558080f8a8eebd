/* A rule's or an assertion's match: its fields, and what cannot stand beside what. SPEC.md section 2. */
#include "document/load_internal.h"

static void load_tier(struct loading *loading, uint32_t tier, const struct json_value *value,
                      const struct place *place, uint8_t *ret_tier)
{
    if (loading->source->at_tier && tier < loading->source->tier) {
        const char *own = tier_name(loading->source->tier);
        buf_printf(
            load_message(loading),
            "tier '%s' is above this file's, which is '%s': name '%s' or a lower tier, or leave 'tier' out",
            tier_name(tier), own, own);
        load_report(loading, "tier-above-file", value->offset, place);
    }
    *ret_tier = (uint8_t)tier;
}

/* ---- What cannot stand beside what ---- */

/* Two fields that exclude one another. */
struct exclusion {
    uint8_t field;         /* enum match_field: where the error stands */
    uint8_t effects;       /* of rules of which effects; KEY_EVERY_EFFECT of all, assertions included */
    const char *beside[3]; /* keys of which one must be there; none of them: the field itself is enough */
    const char *message;
};

static const struct exclusion exclusions[] = {
    {FIELD_TOOL_PREFIX,
     KEY_EVERY_EFFECT,
     {"tool"},
     "'toolPrefix' cannot stand beside 'tool': leave one of them out"},
    {FIELD_COMMAND_PREFIX,
     KEY_EVERY_EFFECT,
     {"command"},
     "'commandPrefix' cannot stand beside 'command': leave one of them out"},
    {FIELD_COMMAND_WORD,
     KEY_AUTO_APPROVE,
     {NULL},
     "'commandWord' cannot allow a command, for the other words are not looked at: use it in a 'deny' or a "
     "'require_approval' before this rule"},
    {FIELD_ANNOTATIONS,
     KEY_AUTO_APPROVE,
     {NULL},
     "'annotations' cannot allow a call, for the server says them of itself: use them in a 'deny' or a "
     "'require_approval' before this rule"},
    {FIELD_PATH_COMPONENT,
     KEY_AUTO_APPROVE,
     {"command", "commandPrefix"},
     "'pathComponent' cannot stand beside a command in an 'auto_approve': use 'pathPrefix', or deny the "
     "names before it"},
    {FIELD_HOST,
     KEY_AUTO_APPROVE,
     {"command", "commandPrefix"},
     "'host' cannot stand beside a command in an 'auto_approve', for what a program does with its words is "
     "the "
     "program's: deny other hosts before it"},
};

static bool has_any(const struct loading *loading, const struct json_value *object, const char *const *keys)
{
    bool none = keys[0] == NULL;
    for (size_t i = 0; i < 3 && keys[i] != NULL; i++) {
        none = none || json_get(&loading->doc, object, keys[i]) != NULL;
    }
    return none;
}

/* Reports a field that cannot stand where it does. A value of another type is reported as that. */
static bool is_excluded(struct loading *loading, const struct match_loading *match, const struct key *key,
                        const struct json_value *object, const struct json_value *value,
                        const struct place *place)
{
    bool is_hints = key->id == ID_FIELD && field_table[key->field].type == FIELD_TYPE_HINTS;
    bool has_type =
        is_hints ? value->type == JSON_OBJECT : value->type == JSON_STRING || value->type == JSON_ARRAY;
    if (key->id != ID_FIELD || !has_type) {
        return false;
    }
    for (size_t i = 0; i < sizeof(exclusions) / sizeof(exclusions[0]); i++) {
        const struct exclusion *e = &exclusions[i];
        bool of_effect = e->effects == KEY_EVERY_EFFECT || (e->effects & match->effects) != 0;
        if (e->field == key->field && of_effect && has_any(loading, object, e->beside)) {
            buf_text(load_message(loading), e->message);
            load_report(loading, "bad-value", value->offset, place);
            return true;
        }
    }
    return false;
}

/* ---- All of a match ---- */

static void report_empty(struct loading *loading, const struct json_value *object, const struct place *place)
{
    buf_printf(
        load_message(loading),
        "'match' %s: name at least one field that calls must meet, such as 'tool', 'server', 'channel' or "
        "'pathPrefix'",
        object->count == 0 ? "is empty" : "constrains nothing");
    load_report(loading, "empty-match", object->offset, place);
}

static void report_arms(struct loading *loading, uint32_t arms, const struct json_value *object,
                        const struct place *place)
{
    buf_printf(load_message(loading),
               "the lists of this match stand for %s%u combinations, and at most %u can be: make two rules "
               "of it, or "
               "shorten a list",
               arms == UINT32_MAX ? "more than " : "", arms, MATCH_ARMS_MOST);
    load_report(loading, "bad-value", object->offset, place);
}

/* One member. Says whether it constrains anything. */
static bool load_member(struct loading *loading, struct match_loading *match, const struct key *key,
                        const struct json_value *value, const struct place *place,
                        const struct match_said *said)
{
    struct loaded loaded = {0};
    if (key->id == ID_FIELD) {
        return load_field(loading, match, key, value, place);
    }
    if (!load_value(loading, key, value, place, &loaded)) {
        return true;
    }
    if (key->id == ID_TIER && said != NULL) {
        load_tier(loading, loaded.choice, value, place, said->tier);
        return false;
    }
    return value->count != 0; /* arguments, which are loaded when all members are known */
}

void load_match(struct loading *loading, const struct key_table *table, const struct json_value *object,
                const struct place *place, struct policy *into, uint8_t effects, struct match *ret_match,
                const struct match_said *ret_said)
{
    size_t errors_before = loading->errors->count;
    bool constrains = false;
    struct match match = {0};
    struct match_loading to = {
        .into = into, .effects = effects, .assertion = table != &schema_match, .match = &match};
    const struct json_value *equals = NULL, *lists = NULL;
    loading->any_tool = false;
    const struct json_value *name = json_first(&loading->doc, object);
    for (; name != NULL; name = json_right(&loading->doc, object, name)) {
        const struct json_value *value = json_member_value(name);
        struct place here = {.up = place, .key = json_str(name)};
        const struct key *key = schema_key(table, json_str(name));
        if (key == NULL) {
            report_unknown_key(loading, table, name, &here);
        } else if (!is_excluded(loading, &to, key, object, value, &here)) {
            constrains = load_member(loading, &to, key, value, &here, ret_said) || constrains;
            equals = key->id == ID_ARG_EQUALS ? value : equals;
            lists = key->id == ID_ARG_IN ? value : lists;
        }
    }
    if (equals != NULL || lists != NULL) {
        load_args(loading, &to, equals, lists, place);
    }
    uint32_t arms =
        loading->errors->count == errors_before && !loading->errors->failed ? match_arms(into, &match) : 1;
    if (arms > MATCH_ARMS_MOST) {
        report_arms(loading, arms, object, place);
    }
    /* An assertion may speak of every call; a rule may not. */
    if (table == &schema_match && !constrains && loading->errors->count == errors_before) {
        report_empty(loading, object, place);
    }
    if (loading->any_tool && ret_said != NULL) {
        *ret_said->looks |= (uint8_t)RULE_ANY_TOOL;
    }
    *ret_match = match;
}
