/* The search for a call of a box where arguments may be paths themselves: meetings with other rules. */
#include "analysis/witness_internal.h"

/* More meetings than this are not tried: then the answer is not whole. */
#define MEETINGS_TRIED 1024u

/* Room for the pairs of one meeting. */
size_t witness_meeting_args(const struct space *space)
{
    return space_room(space, WITNESS_MEETINGS_DEEP + SIDES);
}

struct meetings {
    uint32_t point;
    witness_accept *accept;
    void *context;
    uint32_t deepest, tried;
    bool whole;
};

static bool try_rules(struct witness *w, const struct box *box, uint32_t deep, struct slice forced,
                      struct meetings *m);

/* Tries a box, then its meetings with the rules of all sides. A call has the readings that its fixed
 * arguments force, each decided by some rule: so it lies in the meeting of the box with as many rules as it
 * has such readings, and the calls of that meeting that are like nothing else are decided as it is. */
static bool try_meetings(struct witness *w, const struct box *box, uint32_t deep, struct meetings *m)
{
    w->forced = 0;
    w->forced_any = false;
    buf_reset(&w->forced_paths);
    if (witness_try(w, WITNESS_CALL, box, m->point, m->accept, m->context)) {
        return true;
    }
    m->whole = m->whole && !w->unmade;
    if (w->forced <= deep) {
        return false;
    }
    if (deep == m->deepest) {
        m->whole = false;
        return false;
    }
    struct buf forced; /* the next ones note theirs */
    buf_init(&forced, LIMIT_MESSAGE_BYTES);
    buf_slice(&forced, buf_slice_of(&w->forced_paths));
    bool every = w->forced_any || !buf_ok(&forced);
    bool found = try_rules(w, box, deep, every ? (struct slice){NULL, 0} : buf_slice_of(&forced), m);
    buf_finish(&forced);
    m->whole = m->whole && m->tried < MEETINGS_TRIED;
    return found;
}

/* Whether a rule could decide one of the forced paths. */
static bool decides_some(struct witness *w, const struct match *match, struct slice forced)
{
    struct slice path;
    while (witness_next_path(&forced, &path)) {
        if ((match->path_prefix == 0 ||
             path_is_under(path, intern_text(&w->space->paths, match->path_prefix))) &&
            (match->path_component == 0 || witness_has_component(w, path, match->path_component))) {
            return true;
        }
    }
    return false;
}

/* Tries the meetings of a box with the rules that could decide one of its forced paths; ptr NULL: with all.
 */
static bool try_rules(struct witness *w, const struct box *box, uint32_t deep, struct slice forced,
                      struct meetings *m)
{
    for (size_t s = 0; s < w->space->side_count; s++) {
        for (uint32_t i = 0; m->tried < MEETINGS_TRIED && i < w->space->sides[s].flat.rule_count; i++) {
            struct box own = space_box(w->space, s, i), both;
            bool looks = own.match.path_prefix != 0 || own.match.path_component != 0;
            if ((own.match.actor != ACTOR_ANY && own.match.actor != (uint32_t)space_actor(m->point)) ||
                (looks && forced.ptr != NULL && !decides_some(w, &own.match, forced))) {
                continue;
            }
            own.match.path_prefix = own.match.path_component = 0; /* the rule is to decide the forced path */
            if (!space_meet(w->space, box, &own, w->args + deep * witness_meeting_args(w->space), &both)) {
                continue;
            }
            m->tried++;
            if (try_meetings(w, &both, deep + 1, m)) {
                return true;
            }
        }
    }
    return false;
}

bool witness_search(struct witness *w, const struct box *box, uint32_t point, witness_accept *accept,
                    void *context, bool *ret_whole)
{
    struct meetings m = {.point = point, .accept = accept, .context = context};
    *ret_whole = true;
    if (!witness_reads_args(w, box)) {
        return witness_try(w, WITNESS_CALL, box, point, accept, context);
    }
    bool found = false;
    while (!found && !m.whole && m.tried < MEETINGS_TRIED && m.deepest < WITNESS_MEETINGS_DEEP) {
        m.deepest++;
        m.tried = 0;
        m.whole = true;
        found = try_meetings(w, box, 0, &m);
    }
    *ret_whole = m.whole;
    return found;
}
