/* What changes between two policies of the places that their documents name for confined programs. SPEC.md section 16. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "json/json.h"

static int by_list_and_text(const void *a, const void *b)
{
    const struct confined_change *left = a, *right = b;
    return left->writes != right->writes ? left->writes - right->writes
                                         : json_key_cmp(left->place, right->place);
}

/* The places of a policy in order, each once; NULL without memory. */
static struct confined_change *places_of(const struct policy *policy, size_t *ret_count)
{
    struct confined_change *list = calloc((size_t)policy->confine_count + 1, sizeof(*list));
    size_t count = 0;
    for (uint32_t i = 0; list != NULL && i < policy->confine_count; i++) {
        list[i] = (struct confined_change){.writes = policy->confine[i].writes,
                                           .place = policy_text(policy, policy->confine[i].place)};
    }
    if (list != NULL && policy->confine_count > 0) {
        qsort(list, policy->confine_count, sizeof(*list), by_list_and_text);
        for (uint32_t i = 0; i < policy->confine_count; i++) {
            if (count == 0 || by_list_and_text(&list[count - 1], &list[i]) != 0) {
                list[count++] = list[i];
            }
        }
    }
    *ret_count = count;
    return list;
}

static void add(struct confined_changes *changes, struct confined_change change, bool added)
{
    change.added = added;
    change.weaker = change.writes == added;
    changes->list[changes->count++] = change;
    changes->weaker += change.weaker;
}

void confined_compare(const struct policy *from, const struct policy *to,
                      struct confined_changes *ret_changes)
{
    size_t old_count = 0, new_count = 0, i = 0, j = 0;
    struct confined_change *old = places_of(from, &old_count), *new = places_of(to, &new_count);
    struct confined_changes changes = {.list = calloc(old_count + new_count + 1, sizeof(*changes.list))};
    changes.failed = old == NULL || new == NULL || changes.list == NULL;
    while (!changes.failed && (i < old_count || j < new_count)) {
        int order = i == old_count ? 1 : j == new_count ? -1 : by_list_and_text(&old[i], &new[j]);
        if (order < 0) {
            add(&changes, old[i], false);
        } else if (order > 0) {
            add(&changes, new[j], true);
        }
        i += order <= 0;
        j += order >= 0;
    }
    free(old);
    free(new);
    *ret_changes = changes;
}

void confined_finish(struct confined_changes *changes)
{
    free(changes->list);
    *changes = (struct confined_changes){0};
}
