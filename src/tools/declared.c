/* What a definition says: whether a call's arguments are among those that its schema declares, and its annotations. */
#include <string.h>

#include "tools/internal.h"

/* Whether an object schema says by itself which names there are: its `properties`, and nothing that adds to them. */
static const struct json_value *properties_of(const struct json_doc *doc, const struct json_value *schema)
{
    static const char *const open[] = {
        "patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"};
    const struct json_value *properties = json_get(doc, schema, "properties"),
                            *more = json_get(doc, schema, "additionalProperties");
    if (more != NULL && !json_is(more, JSON_FALSE)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++) {
        if (json_get(doc, schema, open[i]) != NULL) {
            return NULL;
        }
    }
    return json_is(properties, JSON_OBJECT) ? properties : NULL;
}

static size_t write_names(const struct json_doc *schema_doc, const struct json_value *properties,
                          const struct json_doc *doc, const struct json_value *input, struct buf *ret_names)
{
    size_t count = 0;
    for (const struct json_value *key = json_first(doc, input); key != NULL;
         key = json_right(doc, input, key)) {
        if (json_get_slice(schema_doc, properties, json_str(key)) == NULL) {
            buf_text(ret_names, count++ > 0 ? "," : "[");
            json_write_string(ret_names, json_str(key));
        }
    }
    buf_text(ret_names, count > 0 ? "]" : "");
    return count;
}

bool tool_has_undeclared(const struct tool *tool, const struct json_doc *doc, const struct json_value *input,
                         struct buf *ret_names)
{
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    const struct tool_definition *definition = tool == NULL                  ? NULL
                                               : tool->accepted.text != NULL ? &tool->accepted
                                                                             : &tool->seen;
    struct json_doc schema_doc;
    struct json_error error;
    bool found = false;
    if (definition == NULL || definition->text == NULL || input == NULL || input->count == 0) {
        return false;
    }
    json_init(&schema_doc);
    if (json_parse(&schema_doc, (struct slice){definition->text, definition->len}, &options, &error)) {
        const struct json_value *properties =
            properties_of(&schema_doc, json_get(&schema_doc, json_root(&schema_doc), "inputSchema"));
        found = properties != NULL && write_names(&schema_doc, properties, doc, input, ret_names) > 0;
    }
    json_finish(&schema_doc);
    return found;
}

/* ---- Annotations ---- */

static uint8_t definition_rules_out(const struct tool_definition *definition)
{
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_doc doc;
    struct json_error error;
    uint8_t out = 0; /* a tool that is named twice has a text that is no JSON: nothing is known of it */
    json_init(&doc);
    if (json_parse(&doc, (struct slice){definition->text, definition->len}, &options, &error)) {
        out = hints_ruled_out(&doc, json_get(&doc, json_root(&doc), "annotations"));
    }
    json_finish(&doc);
    return out;
}

uint8_t tool_hints_ruled_out(const struct tool *tool)
{
    bool accepted = tool != NULL && tool->accepted.text != NULL;
    bool seen = tool != NULL && tool->seen.text != NULL && tool->listed != 0;
    uint8_t out = accepted ? definition_rules_out(&tool->accepted) : UINT8_MAX;
    if (seen && !(accepted && strcmp(tool->seen.digest, tool->accepted.digest) == 0)) {
        out &= definition_rules_out(&tool->seen);
    }
    return accepted || seen ? out : 0;
}
