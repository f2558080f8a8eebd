/* Answers of people at the approving socket. */
#include "broker/internal.h"

#define ANSWER_TEXT_MOST ((size_t)64 << 20) /* bytes of one answer */

static void write_answer(struct buf *json, enum store_result result, const struct people_answer *answer)
{
    static const char *const results[] = {"failed", "done", "none", "too many", "twice", "forbidden"};
    const struct request *r = &answer->request;
    buf_printf(json, "{\"result\":\"%s\"", results[result <= STORE_FORBIDDEN ? result : STORE_FAILED]);
    if (result == STORE_DONE) {
        buf_printf(
            json, ",\"code\":\"%s\",\"state\":\"%s\",\"given\":%u,\"needed\":%u,\"scope\":\"%s\",\"ended\":[",
            r->code, request_state_name(r->state), r->given, r->needed, approval_scope_name(r->narrowed));
        for (size_t i = 0; i < answer->ended_count; i++) {
            buf_printf(json, "%s\"%s\"", i > 0 ? "," : "", answer->ended[i].code);
        }
        buf_byte(json, ']');
    }
    buf_byte(json, '}');
}

/* Who answers is whom the socket says, not whom the frame names. */

/* Counts the answer of the peer, who is the user that runs the broker: no other is let in at the approving socket. As at
 * every surface, it counts for the person of people.json whom that user authenticates. */
static enum store_result take_answer(struct people *people, const struct vote *vote,
                                     struct people_answer *ret_answer, struct buf *ret_error)
{
    struct roster roster;
    struct buf name;
    enum store_result result = STORE_FAILED;
    if (!people_read_roster(&roster, NULL, ret_error)) {
        return STORE_FAILED;
    }
    buf_init(&name, MESSAGE_BYTES);
    people_own_name(&name);
    if (buf_ok(&name)) {
        const struct voter voter = {.surface = PEOPLE_USER, .id = buf_slice_of(&name)};
        result = people_take_answer(people, &roster, &voter, vote, ret_answer, ret_error);
    } else {
        buf_text(ret_error, "no memory");
    }
    buf_finish(&name);
    roster_finish(&roster);
    return result;
}

bool session_take_vote(struct client *client, struct fields *fields)
{
    struct people_answer answer = {0};
    struct buf json, error;
    struct vote vote = {.code = take_text(fields)};
    vote.yes = take_bool(fields);
    uint8_t scope = take_u8(fields);
    vote.because = take_text(fields);
    if (!fields_end(fields) || scope > APPROVAL_ONCE) {
        return false;
    }
    vote.scope = (enum approval_scope)scope;
    buf_init(&json, ANSWER_TEXT_MOST);
    buf_init_message(&error, MESSAGE_BYTES);
    write_answer(&json, take_answer(client->server->people, &vote, &answer, &error), &answer);
    size_t began = frame_begin(&client->out, FRAME_ANSWER);
    put_text(&client->out, buf_slice_of(&json));
    put_text(&client->out, error.len > 0 ? buf_message(&error) : SLICE(""));
    frame_end(&client->out, began);
    buf_finish(&json);
    buf_finish(&error);
    return true;
}
