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
