/* The tables of schema.c as a JSON Schema (2020-12), for editors. It says what can be said without a file
 * system and without a second rule to compare with; loading says the rest. */
#include "document/document.h"
#include "document/schema.h"

#include <string.h>

#include "json/json.h"

static void quoted(struct buf *buf, const char *text)
{
    json_write_string(buf, slice_of(text));
}

static void write_choices(struct buf *buf, const struct choice *choices)
{
    buf_text(buf, "\"enum\":[");
    for (const struct choice *choice = choices; choice->name != NULL; choice++) {
        buf_text(buf, choice == choices ? "" : ",");
        quoted(buf, choice->name);
    }
    /* What editors show beside each choice. */
    buf_text(buf, "],\"enumDescriptions\":[");
    for (const struct choice *choice = choices; choice->name != NULL; choice++) {
        buf_text(buf, choice == choices ? "" : ",");
        quoted(buf, choice->help != NULL ? choice->help : "");
    }
    buf_byte(buf, ']');
}

/* What editors offer where no choice is listed: values that load, as JSON texts. */
static const struct {
    const char *name, *examples;
} examples[] = {
    {"$schema", "\"policy.schema.json\""},
    {"requireAuthoredPolicy", "[\"delete_message\",\"github/*\"],[\"*\"]"},
    {"pathArguments", "{\"write_file\":[\"target\"]},{\"search/*\":[\"-source\"]}"},
    {"treeArguments", "{\"search\":[\"root\"]}"},
    {"commandArguments", "{\"run\":[\"script\"]}"},
    {"urlArguments", "{\"fetch\":[\"site\"]}"},
    {"id", "\"ask-writes\""},
    {"reason", "\"secrets are off limits\""},
    {"tell", "\"Ask the user to do this.\""},
    {"ttlMs", "60000,300000,3600000"},
    {"approvers", "1,2"},
    {"approversFrom", "[\"leads\"]"},
    {"priority", "100"},
    {"comment", "\"why this rule is here\""},
    {"tool", "\"write_file\",\"*\",[\"Read\",\"Grep\"]"},
    {"toolPrefix", "\"delete_\",[\"get_\",\"list_\"]"},
    {"server", "\"github\",[\"files\",\"mail\"]"},
    {"channel", "\"C0123456789\""},
    {"thread_ts", "\"1700000000.000100\""},
    {"pathPrefix", "\"~/work\",\".\",[\"~/.ssh\",\"~/.aws\"]"},
    {"pathComponent", "\".env\",\"*.pem\",[\".env\",\".env.*\"]"},
    {"command", "\"git status\",\"npm run *\""},
    {"commandPrefix", "\"git log\",[\"npm test\",\"pytest\"]"},
    {"commandWord", "\"--force\",\"-f\",\"*secret\""},
    {"host", "\"example.com\",\"*.example.com\""},
    {"annotations", "{\"destructiveHint\":true},{\"readOnlyHint\":false}"},
    {"argEquals", "{\"force\":true}"},
    {"argIn", "{\"branch\":[\"main\",\"release\"]}"},
    {"name", "\"no call runs rm\""},
    {"write", "[\"~/work/out\"],[\"@cache\",\"@npm\",\"@cargo\",\"@go\",\"@maven\",\"@gradle\"],"
              "[\"@claude-code\"],[\"@codex\"],[\"@opencode\"]"},
    {"read", "[\"vendor\"],[\"~/work/out/signed\"]"},
};

static void write_examples(struct buf *buf, const struct key *key)
{
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        if (strcmp(examples[i].name, key->name) == 0) {
            buf_printf(buf, ",\"examples\":[%s]", examples[i].examples);
        }
    }
}

static void write_string(struct buf *buf, const struct key *key)
{
    buf_text(buf, "\"type\":\"string\"");
    if (key->min > 0) {
        buf_printf(buf, ",\"minLength\":%lld", (long long)key->min);
    }
    if (key->max > 0) {
        buf_printf(buf, ",\"maxLength\":%lld", (long long)key->max);
    }
    if (key->id == ID_ID) {
        buf_text(buf, ",\"not\":{\"const\":\"default\"}");
    }
}

static void write_hints(struct buf *buf)
{
    buf_text(buf, "\"type\":\"object\",\"additionalProperties\":false,\"properties\":");
    for (enum hint hint = 0; hint < HINT_COUNT; hint++) {
        buf_printf(buf, "%c\"%s\":{\"type\":\"boolean\"}", hint == 0 ? '{' : ',', hint_names[hint]);
    }
    buf_byte(buf, '}');
}

/* One value of a match field. */
static void write_field_value(struct buf *buf, const struct key *key)
{
    switch ((enum field_type)field_table[key->field].type) {
    case FIELD_TYPE_ACTOR:
        write_choices(buf, key->choices);
        return;
    case FIELD_TYPE_HINTS:
        write_hints(buf);
        return;
    case FIELD_TYPE_NAME:
        write_string(buf, key);
        buf_printf(buf, ",\"pattern\":\"^[^*?]*$%s\"", key->field == FIELD_TOOL ? "|^\\\\*$" : "");
        return;
    case FIELD_TYPE_NAME_PREFIX:
        write_string(buf, key);
        buf_text(buf, ",\"pattern\":\"^[^*?]*$\"");
        return;
    case FIELD_TYPE_COMPONENT:
        buf_text(buf, "\"type\":\"string\",\"pattern\":\"^(?!\\\\.{1,2}$)(\\\\*[^*/]+|[^*/]+\\\\*?)$\"");
        return;
    case FIELD_TYPE_WORD:
        write_string(buf, key);
        buf_text(buf, ",\"not\":{\"const\":\"*\"}");
        return;
    default:
        write_string(buf, key);
        return;
    }
}

static void write_field(struct buf *buf, const struct key *key)
{
    if (!field_table[key->field].list) {
        write_field_value(buf, key);
        return;
    }
    buf_text(buf, "\"anyOf\":[{");
    write_field_value(buf, key);
    buf_printf(buf, "},{\"type\":\"array\",\"minItems\":1,\"maxItems\":%u,\"uniqueItems\":true,\"items\":{",
               MATCH_LIST_MOST);
    write_field_value(buf, key);
    buf_text(buf, "}}]");
}

/* What a key's value may be. */
static void write_type(struct buf *buf, const struct key *key)
{
    static const char strings[] = "\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":1}";
    switch ((enum key_type)key->type) {
    case KEY_STRING:
        write_string(buf, key);
        break;
    case KEY_FIELD:
        write_field(buf, key);
        break;
    case KEY_ARG_LISTS:
        buf_printf(buf,
                   "\"type\":\"object\",\"minProperties\":1,\"additionalProperties\":{\"type\":\"array\","
                   "\"minItems\":1,\"maxItems\":%u,\"uniqueItems\":true}",
                   MATCH_LIST_MOST);
        break;
    case KEY_INTEGER:
        buf_printf(buf, "\"type\":\"integer\",\"minimum\":%lld,\"maximum\":%lld", (long long)key->min,
                   (long long)key->max);
        break;
    case KEY_BOOLEAN:
        buf_text(buf, "\"type\":\"boolean\"");
        break;
    case KEY_CHOICE:
        write_choices(buf, key->choices);
        break;
    case KEY_CHOICES:
        buf_printf(buf, "\"type\":\"array\",\"minItems\":%lld,\"items\":{", (long long)key->min);
        write_choices(buf, key->choices);
        buf_byte(buf, '}');
        break;
    case KEY_ARGS:
        buf_text(buf, "\"type\":\"object\"");
        break;
    case KEY_STRINGS:
        buf_text(buf, strings);
        if (key->max != 0) {
            buf_printf(buf, ",\"minItems\":%lld,\"maxItems\":%lld", (long long)key->min, (long long)key->max);
        }
        break;
    case KEY_CHANGES:
        buf_printf(
            buf, "\"type\":\"object\",\"additionalProperties\":{%s,\"not\":{\"contains\":{\"const\":\"-\"}}}",
            strings);
        break;
    case KEY_RULES:
        buf_text(buf, "\"$ref\":\"#/$defs/rules\"");
        break;
    case KEY_ASSERTIONS:
        buf_text(buf, "\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/assertion\"}");
        break;
    case KEY_MATCH:
        buf_text(buf, "\"$ref\":\"#/$defs/match\"");
        break;
    case KEY_CONFINE:
        buf_text(buf, "\"$ref\":\"#/$defs/confine\"");
        break;
    }
}

static void write_property(struct buf *buf, const struct key *key, const char *match_ref)
{
    quoted(buf, key->name);
    buf_text(buf, ":{");
    if (key->type == KEY_MATCH) {
        buf_printf(buf, "\"$ref\":\"#/$defs/%s\"", match_ref);
    } else {
        write_type(buf, key);
    }
    if (key->fallback != NULL) {
        buf_printf(buf, ",\"default\":%s", key->fallback);
    }
    write_examples(buf, key);
    buf_text(buf, ",\"description\":");
    quoted(buf, key->help);
    buf_byte(buf, '}');
}

/* "properties":{…},"required":[…] of a table, or of the keys that rules of one effect have. */
static void write_properties(struct buf *buf, const struct key_table *table, uint8_t effect,
                             const struct choice *is, const char *match_ref)
{
    const char *comma = "";
    buf_text(buf, "\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < table->count; i++) {
        const struct key *key = &table->keys[i];
        if (effect != 0 && (key->effects & effect) == 0) {
            continue;
        }
        buf_text(buf, comma);
        comma = ",";
        if (key->id == ID_EFFECT && is != NULL) {
            buf_text(buf, "\"effect\":{\"const\":");
            quoted(buf, is->name);
            buf_text(buf, ",\"description\":");
            quoted(buf, is->help);
            buf_byte(buf, '}');
        } else {
            write_property(buf, key, match_ref);
        }
    }
    buf_text(buf, "},\"required\":[");
    comma = "";
    for (size_t i = 0; i < table->count; i++) {
        const struct key *key = &table->keys[i];
        if (key->required && (effect == 0 || (key->effects & effect) != 0)) {
            buf_text(buf, comma);
            comma = ",";
            quoted(buf, key->name);
        }
    }
    buf_byte(buf, ']');
}

static const char tool_or_prefix[] =
    ",\"additionalProperties\":false,\"not\":{\"anyOf\":[{\"required\":[\"tool\",\"toolPrefix\"]},"
    "{\"required\":[\"command\",\"commandPrefix\"]}]}";

/* A rule's match must constrain something. */
static void write_match(struct buf *buf)
{
    buf_text(buf, "\"match\":{");
    write_properties(buf, &schema_match, 0, NULL, NULL);
    buf_text(buf, tool_or_prefix);
    buf_text(buf, ",\"anyOf\":[");
    const char *comma = "";
    for (size_t i = 0; i < schema_match.count; i++) {
        const struct key *key = &schema_match.keys[i];
        if (key->id == ID_TIER) {
            continue;
        }
        buf_printf(buf, "%s{\"required\":[\"%s\"]", comma, key->name);
        if (key->id == ID_ARG_EQUALS) {
            buf_printf(buf, ",\"properties\":{\"%s\":{\"minProperties\":1}}", key->name);
        }
        buf_byte(buf, '}');
        comma = ",";
    }
    buf_text(buf, "]},");
}

static void write_rule(struct buf *buf)
{
    static const struct {
        uint8_t bit;
        uint32_t value;
    } effects[] = {{KEY_AUTO_APPROVE, EFFECT_AUTO_APPROVE},
                   {KEY_DENY, EFFECT_DENY},
                   {KEY_REQUIRE_APPROVAL, EFFECT_REQUIRE_APPROVAL}};
    buf_text(buf, "\"rules\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/rule\"}},");
    buf_text(buf, "\"rule\":{\"oneOf\":[");
    for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
        buf_printf(buf, "%s{\"$ref\":\"#/$defs/%s\"}", i == 0 ? "" : ",", effect_name(effects[i].value));
    }
    buf_text(buf, "]},");
    for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++) {
        const struct choice *is = schema_choice(schema_effects, slice_of(effect_name(effects[i].value)));
        buf_printf(buf, "\"%s\":{", is->name);
        write_properties(buf, &schema_rule, effects[i].bit, is, "match");
        buf_text(buf, ",\"additionalProperties\":false},");
    }
}

void policy_write_schema(struct buf *buf)
{
    buf_text(buf,
             "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"Callgate policy\","
             "\"oneOf\":[{\"$ref\":\"#/$defs/rules\"},{\"$ref\":\"#/$defs/document\"},"
             "{\"$ref\":\"#/$defs/bridge\"}],\"$defs\":{");
    write_rule(buf);
    write_match(buf);
    buf_text(buf, "\"document\":{");
    write_properties(buf, &schema_document, 0, NULL, NULL);
    buf_text(buf, ",\"additionalProperties\":false},\"bridge\":{");
    write_properties(buf, &schema_bridge, 0, NULL, NULL);
    buf_text(buf, ",\"not\":{\"required\":[\"rules\"]}},\"assertion\":{");
    write_properties(buf, &schema_assertion, 0, NULL, "callMatch");
    buf_text(buf, ",\"additionalProperties\":false},\"callMatch\":{");
    write_properties(buf, &schema_assertion_match, 0, NULL, NULL);
    buf_text(buf, tool_or_prefix);
    buf_text(buf, "},\"confine\":{");
    write_properties(buf, &schema_confine, 0, NULL, NULL);
    buf_text(buf, ",\"additionalProperties\":false}}}");
}
