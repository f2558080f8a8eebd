/* Values of match fields: how they are written, and how two of them relate, whatever policies they belong to. What
 * is said of two values is said of single ones: a field that may be a list has several. The fields are field.h's. */
#ifndef POLICY_VALUE_H
#define POLICY_VALUE_H

#include "policy/policy.h"

/* One value of one field. */
struct field_value {
    const struct policy *policy;
    enum match_field field;
    uint32_t value;
};

/* Appends the canonical text of a value, as bytes: two values of one field (and one kind of rule) are equal when their
 * texts are. */
void field_write_text(struct buf *buf, const struct field_value *value);

/* Appends the same as a JSON string. A path that is not UTF-8 stands as a NUL and its bytes in hex. */
void field_write_json(struct buf *buf, const struct field_value *value);

/* Whether two values are equal: they stand for the same, whatever policy they belong to. */
bool field_equal(const struct field_value *a, const struct field_value *b);

/* Whether whatever has `inner` also has `outer`. The two may be of different fields that look at the same thing, such
 * as toolPrefix and tool. Exact for one component pattern or one word only when they are equal. */
bool field_covers(const struct field_value *outer, const struct field_value *inner);

/* Whether something may have both: false is a proof. */
bool field_meets(const struct field_value *a, const struct field_value *b);

/* The order of values in which policies keep lists: by text. */
int field_compare(const struct field_value *a, const struct field_value *b);

/* Whether covers and meets say more of a value of `outer` and one of `inner` than that they look at different things. */
bool field_related(enum match_field outer, enum match_field inner);

#endif
