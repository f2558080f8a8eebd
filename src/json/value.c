/* Looks values up in a document that was read. */
#include "json/json.h"

const struct json_value *json_first(const struct json_doc *doc, const struct json_value *parent)
{
    (void)doc;
    return parent != NULL && parent->count != 0 ? parent + 1 : NULL;
}

const struct json_value *json_right(const struct json_doc *doc, const struct json_value *parent,
                                    const struct json_value *v)
{
    const struct json_value *last = parent->type == JSON_OBJECT ? v + 1 : v;
    return last->next < parent->next ? doc->values + last->next : NULL;
}

const struct json_value *json_get_slice(const struct json_doc *doc, const struct json_value *object,
                                        struct slice key)
{
    if (!json_is(object, JSON_OBJECT)) {
        return NULL;
    }
    for (const struct json_value *k = json_first(doc, object); k != NULL; k = json_right(doc, object, k)) {
        if (slice_eq(json_str(k), key)) {
            return json_member_value(k);
        }
    }
    return NULL;
}

const struct json_value *json_get(const struct json_doc *doc, const struct json_value *object,
                                  const char *key)
{
    return json_get_slice(doc, object, slice_of(key));
}

bool json_within_depth(const struct json_doc *doc, const struct json_value *v, uint32_t max_depth)
{
    uint32_t ends[LIMIT_JSON_DEPTH]; /* of the containers around a value: where each is left again */
    uint32_t depth = 0;
    if (max_depth > LIMIT_JSON_DEPTH) {
        return false;
    }
    for (uint32_t i = (uint32_t)(v - doc->values); i < v->next; i++) {
        while (depth > 0 && ends[depth - 1] <= i) {
            depth--;
        }
        if (doc->values[i].type == JSON_ARRAY || doc->values[i].type == JSON_OBJECT) {
            if (depth == max_depth) {
                return false;
            }
            ends[depth++] = doc->values[i].next;
        }
    }
    return true;
}

const char *json_type_name(enum json_type type)
{
    switch (type) {
    case JSON_NULL:
        return "null";
    case JSON_FALSE:
    case JSON_TRUE:
        return "a boolean";
    case JSON_NUMBER:
        return "a number";
    case JSON_STRING:
        return "a string";
    case JSON_ARRAY:
        return "an array";
    case JSON_OBJECT:
        return "an object";
    }
    return "nothing";
}
