/* The one table of match fields. */
#include "policy/field.h"

#define FIELD_ROW(name, member, key, type, looks, list, expected, help)                                      \
    {key, FIELD_TYPE_##type, LOOKS_##looks, list, expected, help},
const struct field field_table[FIELD_VALUES] = {FIELD_TABLE(FIELD_ROW)};
#undef FIELD_ROW

const char *match_field_name(enum match_field field)
{
    if ((uint32_t)field < FIELD_VALUES) {
        return field_table[field].key;
    }
    return field == FIELD_ARG_EQUALS ? "argEquals" : field == FIELD_ARG_IN ? "argIn" : "";
}
