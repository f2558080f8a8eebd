/* Who an answer comes from: one identity for one person, over all surfaces. */
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "base/utf8.h"
#include "gate/internal.h"

#define NAME_BYTES ((size_t)4 << 10)

void people_own_name(struct buf *ret_name)
{
    struct passwd entry, *found = NULL;
    char strings[16 << 10];
    if (getpwuid_r(getuid(), &entry, strings, sizeof(strings), &found) == 0 && found != NULL) {
        buf_text(ret_name, found->pw_name);
    } else {
        buf_printf(ret_name, "uid:%u", (unsigned)getuid());
    }
}

bool people_read_roster(struct roster *ret_roster, const char *named, struct buf *ret_error)
{
    struct buf home, path;
    buf_init(&home, MESSAGE_BYTES);
    buf_init(&path, MESSAGE_BYTES);
    bool ok = gate_home_dir(&home);
    if (!ok) {
        buf_text(ret_error, "your home directory cannot be told");
    }
    ok = ok && roster_open(ret_roster, buf_slice_of(&home), named, &path, ret_error);
    buf_finish(&home);
    buf_finish(&path);
    return ok;
}

void people_name_of_user(const struct roster *roster, struct buf *ret_name)
{
    size_t before = ret_name->len;
    people_own_name(ret_name);
    const struct person *person =
        buf_ok(ret_name) ? roster_find(roster, PEOPLE_USER, slice_from(buf_slice_of(ret_name), before))
                         : NULL;
    if (person != NULL) {
        ret_name->len = before;
        buf_slice(ret_name, person->name);
    }
}

static enum store_result forbid(struct people *people, const struct vote *vote, struct slice who,
                                const char *why, struct buf *ret_error)
{
    struct vote dropped = *vote;
    dropped.identity = who;
    people_drop(people, &dropped, why);
    utf8_append_printable(ret_error, who);
    buf_printf(ret_error, " may not answer: %s", why);
    return STORE_FORBIDDEN;
}

/* Of the people in the roster: the one that the surface has authenticated, and no other. */
static enum store_result answer_of_person(struct people *people, const struct roster *roster,
                                          const struct voter *voter, struct vote *vote,
                                          struct people_answer *ret_answer, struct buf *ret_error)
{
    const struct person *person = roster_find(roster, voter->surface, voter->id);
    struct request request;
    if (person == NULL) {
        return forbid(people, vote, voter->id, "people.json does not name them here", ret_error);
    }
    if (voter->as.len > 0 && !slice_eq(voter->as, person->name)) {
        return forbid(people, vote, person->name, "a name counts only for whom it authenticates", ret_error);
    }
    enum store_result found = people_last(people, vote->code, &request, ret_error);
    if (found == STORE_FAILED) {
        return found;
    }
    if (found == STORE_DONE && !person_may_answer(person, request.rule, request.channel)) {
        return forbid(people, vote, person->name, "not for this rule or channel", ret_error);
    }
    if (found == STORE_DONE && !roster_in_groups(roster, person, request.groups)) {
        return forbid(people, vote, person->name, "the rule asks people of other groups (approversFrom)",
                      ret_error);
    }
    vote->identity = person->name;
    return people_vote(people, vote, ret_answer, ret_error);
}

enum store_result people_take_answer(struct people *people, const struct roster *roster,
                                     const struct voter *voter, const struct vote *vote,
                                     struct people_answer *ret_answer, struct buf *ret_error)
{
    struct vote counted = *vote;
    struct buf name;
    *ret_answer = (struct people_answer){0};
    if (roster->present) {
        return answer_of_person(people, roster, voter, &counted, ret_answer, ret_error);
    }
    buf_init(&name, NAME_BYTES);
    people_own_name(&name);
    struct request request;
    enum store_result result = people_last(people, vote->code, &request, ret_error);
    if (result == STORE_DONE && request.groups.len > 0) {
        result =
            forbid(people, vote, buf_slice_of(&name),
                   "the rule asks people of a group (approversFrom), and there is no people.json", ret_error);
    } else if (result != STORE_FAILED && buf_ok(&name)) {
        counted.identity = buf_slice_of(&name);
        result = people_vote(people, &counted, ret_answer, ret_error);
    } else {
        buf_text(ret_error, "no memory");
    }
    buf_finish(&name);
    return result;
}
