/* Reads one rule. */
#include <stdlib.h>
#include <string.h>

#include "document/load_internal.h"

/* A longer id, in bytes, is no help in finding the rule; every error of the rule would carry it. */
#define MAX_KNOWN_ID 1000u

/* Notes an id and tells of one that is taken. */
static void take_id(struct loading *loading, struct slice text, const struct json_value *value,
                    const struct place *place, struct rule *rule)
{
    if (slice_is(text, "default")) {
        buf_text(load_message(loading),
                 "the id 'default' is reserved for decisions that no rule made: choose another");
        load_report(loading, "reserved-id", value->offset, place);
        return;
    }
    rule->id = load_symbol(loading, loading->policy, text);
    if (rule->id == 0 || load_note_id(loading, rule->id, rule->line)) {
        return;
    }
    const struct seen_id *first = &loading->ids[loading->id_of_symbol[rule->id] - 1];
    struct buf *message = load_message(loading);
    buf_text(message, "the id ");
    message_quote(message, text);
    buf_text(message, " is taken by the rule at ");
    message_quote(message, loading->sources[first->file].name);
    buf_printf(message, " line %u: choose another", first->line);
    load_report(loading, "duplicate-id", value->offset, place);
}

static void take_effect(struct loading *loading, uint32_t effect, const struct json_value *value,
                        const struct place *place, struct rule *rule)
{
    rule->effect = effect;
    if (load_is_workspace(loading->source) && effect != EFFECT_DENY) {
        buf_printf(
            load_message(loading),
            "a workspace file may hold only 'deny' rules, not '%s': move this rule to a user or admin file",
            effect_name(effect));
        load_report(loading, "loosening-rule", value->offset, place);
    }
}

/* The groups that a rule's approvers must be of, sorted and each once, as a JSON text: one symbol. */
static void take_groups(struct loading *loading, const struct key *key, const struct json_value *value,
                        const struct place *place, struct rule *rule)
{
    struct slice groups[LIMIT_APPROVER_GROUPS];
    struct place here = {.up = place, .element = true};
    size_t count = 0;
    if (value->count < (size_t)key->min || value->count > (size_t)key->max) {
        (void)load_bad_value(loading, key, value, place, value->count == 0 ? "not an empty one" : "");
        return;
    }
    for (const struct json_value *item = json_first(&loading->doc, value); item != NULL;
         item = json_right(&loading->doc, value, item), here.index++) {
        if (item->type != JSON_STRING || json_str(item).len == 0) {
            bool other = item->type != JSON_STRING;
            buf_printf(load_message(loading), "every entry must be the name of a group, not %s",
                       other ? json_type_name(item->type) : "an empty string");
            load_report(loading, other ? "wrong-type" : "bad-value", item->offset, &here);
            continue;
        }
        size_t at = 0;
        while (at < count && slice_cmp(groups[at], json_str(item)) < 0) {
            at++;
        }
        if (at == count || !slice_eq(groups[at], json_str(item))) {
            memmove(&groups[at + 1], &groups[at], (count - at) * sizeof(*groups));
            groups[at] = json_str(item);
            count++;
        }
    }
    struct buf text;
    buf_init(&text, LIMIT_POLICY_BYTES);
    for (size_t i = 0; i < count; i++) {
        buf_byte(&text, i == 0 ? '[' : ',');
        json_write_string(&text, groups[i]);
    }
    buf_byte(&text, ']');
    loading->errors->failed = loading->errors->failed || !buf_ok(&text);
    if (buf_ok(&text) && count > 0) {
        rule->groups = load_symbol(loading, loading->policy, buf_slice_of(&text));
    }
    buf_finish(&text);
}

static void take_value(struct loading *loading, const struct key *key, const struct json_value *value,
                       const struct place *place, uint8_t effects, struct rule *rule)
{
    struct loaded loaded = {0};
    if (!load_value(loading, key, value, place, &loaded)) {
        return;
    }
    switch (key->id) {
    case ID_ID:
        take_id(loading, loaded.string, value, place, rule);
        break;
    case ID_EFFECT:
        take_effect(loading, loaded.choice, value, place, rule);
        break;
    case ID_MATCH:
        load_match(loading, &schema_match, value, place, loading->policy, effects, &rule->match,
                   &(struct match_said){&rule->tier, &rule->looks});
        break;
    case ID_PRIORITY:
        rule->priority = (int32_t)loaded.integer;
        break;
    case ID_REASON:
        rule->reason = load_symbol(loading, loading->policy, loaded.string);
        break;
    case ID_TELL:
        rule->tell = load_symbol(loading, loading->policy, loaded.string);
        break;
    case ID_TTL:
        rule->ttl_ms = (uint32_t)loaded.integer;
        break;
    case ID_APPROVERS:
        rule->approvers = (uint8_t)loaded.integer;
        break;
    case ID_APPROVERS_FROM:
        take_groups(loading, key, value, place, rule);
        break;
    case ID_SCOPE:
        rule->scope = (uint8_t)loaded.choice;
        break;
    default: /* a comment */
        break;
    }
}

static enum key_effects key_effects_of(uint32_t effect)
{
    switch (effect) {
    case EFFECT_AUTO_APPROVE:
        return KEY_AUTO_APPROVE;
    case EFFECT_REQUIRE_APPROVAL:
        return KEY_REQUIRE_APPROVAL;
    default:
        return KEY_DENY;
    }
}

/* A rule's members, looked up once: what some are decides how others are judged. */
#define MEMBERS_LOOKED_UP 16u
struct members {
    const struct key *keys[MEMBERS_LOOKED_UP];     /* of the first, in order; NULL: an unknown one */
    const struct json_value *values[ID_SCOPE + 1]; /* by enum key_id; NULL: there is none */
};

static struct members members_of(const struct loading *loading, const struct json_value *object)
{
    struct members members = {0};
    size_t at = 0;
    const struct json_value *name = json_first(&loading->doc, object);
    for (; name != NULL; name = json_right(&loading->doc, object, name), at++) {
        const struct key *key = schema_key(&schema_rule, json_str(name));
        if (at < MEMBERS_LOOKED_UP) {
            members.keys[at] = key;
        }
        if (key != NULL) {
            members.values[key->id] = json_member_value(name);
        }
    }
    return members;
}

/* What a rule's effect is, to judge its other keys by: 0 when it is missing or unknown. */
static uint8_t effects_of(const struct json_value *value)
{
    const struct choice *choice =
        json_is(value, JSON_STRING) ? schema_choice(schema_effects, json_str(value)) : NULL;
    return choice == NULL ? 0 : (uint8_t)key_effects_of(choice->value);
}

static void report_other_effect(struct loading *loading, const struct key *key, const struct json_value *name,
                                const struct place *place)
{
    buf_printf(load_message(loading),
               "unknown key '%s': only %s rules have it, so leave it out or change the effect", key->name,
               key->effects == KEY_DENY               ? "'deny'"
               : key->effects == KEY_REQUIRE_APPROVAL ? "'require_approval'"
                                                      : "'deny' and 'require_approval'");
    load_report(loading, "unknown-key", name->offset, place);
}

static void load_members(struct loading *loading, const struct json_value *object, const struct place *place,
                         const struct members *members, struct rule *rule)
{
    uint8_t effects = effects_of(members->values[ID_EFFECT]);
    for (size_t i = 0; i < schema_rule.count; i++) {
        const struct key *key = &schema_rule.keys[i];
        bool has = key->effects == KEY_EVERY_EFFECT || (key->effects & effects) != 0;
        if (key->required && has && members->values[key->id] == NULL) {
            report_missing_key(loading, key, object, place);
        }
    }
    size_t at = 0;
    const struct json_value *name = json_first(&loading->doc, object);
    for (; name != NULL; name = json_right(&loading->doc, object, name), at++) {
        struct place here = {.up = place, .key = json_str(name)};
        const struct key *key =
            at < MEMBERS_LOOKED_UP ? members->keys[at] : schema_key(&schema_rule, json_str(name));
        if (key == NULL) {
            report_unknown_key(loading, &schema_rule, name, &here);
        } else if (key->effects == KEY_EVERY_EFFECT || (key->effects & effects) != 0) {
            take_value(loading, key, json_member_value(name), &here, effects, rule);
        } else if (effects != 0) {
            report_other_effect(loading, key, name, &here);
        }
    }
}

static void load_rule(struct loading *loading, const struct json_value *value, const struct place *place)
{
    size_t errors_before = loading->errors->count;
    if (value->type != JSON_OBJECT) {
        buf_printf(load_message(loading),
                   "a rule must be an object such as {\"id\": …, \"effect\": …, \"match\": …}, not %s",
                   json_type_name(value->type));
        load_report(loading, "wrong-type", value->offset, place);
        return;
    }
    cursor_move(&loading->cursor, value->offset);
    struct rule rule = {
        .effect = EFFECT_DENY,
        .tier = (uint8_t)(loading->source->at_tier ? loading->source->tier : TIER_DEFAULT),
        .scope = SCOPE_SESSION,
        .approvers = 1,
        .ttl_ms = DEFAULT_TTL_MS,
        .priority = DEFAULT_PRIORITY,
        .file = loading->file,
        .line = loading->cursor.line,
        .column = loading->cursor.column,
    };
    struct members members = members_of(loading, value);
    const struct json_value *id = members.values[ID_ID];
    bool known = json_is(id, JSON_STRING) && id->str_len <= MAX_KNOWN_ID;
    loading->rule = known ? json_str(id) : (struct slice){"", 0};
    load_members(loading, value, place, &members, &rule);
    loading->rule = (struct slice){"", 0};
    if (loading->errors->count == errors_before && !loading->errors->failed) {
        loading->policy->rules[loading->policy->rule_count++] = rule;
    }
}

/* The symbols of a million rules are far from the processor: those of the next rule are asked for while this
 * one is loaded. */
static void look_ahead(const struct loading *loading, const struct json_value *object, unsigned depth)
{
    const struct json_doc *doc = &loading->doc;
    if (!json_is(object, JSON_OBJECT) || depth > 2) {
        return;
    }
    for (const struct json_value *key = json_first(doc, object); key != NULL;
         key = json_right(doc, object, key)) {
        const struct json_value *value = json_member_value(key);
        if (value->type == JSON_STRING) {
            intern_prefetch(&loading->policy->symbols, json_str(value));
        } else {
            look_ahead(loading, value, depth + 1);
        }
    }
}

void load_rules(struct loading *loading, const struct json_value *rules, const struct place *place)
{
    struct policy *policy = loading->policy;
    size_t most = (size_t)policy->rule_count + rules->count;
    struct rule *room = most == 0 ? NULL : realloc(policy->rules, most * sizeof(*room));
    policy->rules = room != NULL ? room : policy->rules;
    /* Each rule brings an id, and most of them little else that is new. */
    if (room == NULL ||
        !intern_reserve(&policy->symbols, policy->symbols.count + (uint32_t)(most + most / 2))) {
        loading->errors->failed = loading->errors->failed || most != 0;
        return;
    }
    struct place here = {.up = place, .element = true};
    const struct json_value *value = json_first(&loading->doc, rules);
    for (; value != NULL; here.index++) {
        const struct json_value *next = json_right(&loading->doc, rules, value);
        look_ahead(loading, next, 0);
        load_rule(loading, value, &here);
        value = next;
    }
}
