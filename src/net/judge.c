/* A request as a call of the tool `network`, judged at the one door. SPEC.md section 15. */
#include "net/internal.h"

#define TOOL       "network"
#define CALL_BYTES (4u * HEAD_BYTES)

bool net_judge_init(struct judge *judge, struct gate *gate, const struct call_defaults *defaults)
{
    *judge = (struct judge){.gate = gate, .defaults = *defaults};
    buf_init(&judge->text, CALL_BYTES);
    return call_reader_init(&judge->reader);
}

void net_judge_finish(struct judge *judge)
{
    call_reader_finish(&judge->reader);
    buf_finish(&judge->text);
}

static void write_member(struct buf *buf, const char *name, struct slice value)
{
    buf_printf(buf, ",\"%s\":\"", name);
    json_write_escaped(buf, value);
    buf_byte(buf, '"');
}

/* At its usual port a request is its URL, of which rules by `host` speak. At another one it has no URL, so that no allow
 * by host takes it: the site of that name was meant, not every service of that machine. Denies by host still do. */
static void write_place(struct buf *text, const struct head *head, struct slice host)
{
    struct buf place;
    buf_init(&place, HEAD_BYTES + URL_HOST_BYTES + 32);
    if (head->port_usual) {
        buf_text(&place, head->tunnel ? "https://" : "http://");
        buf_slice(&place, host);
        if (head->target.len == 0 || head->target.ptr[0] != '/') {
            buf_byte(&place, '/');
        }
        buf_slice(&place, head->target);
        write_member(text, "url", buf_slice_of(&place));
    } else {
        buf_slice(&place, host);
        buf_byte(&place, ':');
        buf_u64(&place, head->port);
        write_member(text, "authority", buf_slice_of(&place));
        write_member(text, "host", host);
        buf_printf(text, ",\"port\":%u", (unsigned)head->port);
        if (!head->tunnel) {
            write_member(text, "target", head->target);
        }
    }
    text->failed = text->failed || !buf_ok(&place);
    buf_finish(&place);
}

static bool make_call(struct judge *judge, const struct head *head, const struct url_host *address)
{
    struct buf *text = &judge->text;
    buf_reset(text);
    buf_text(text, "{\"tool\":\"" TOOL "\",\"input\":{\"method\":\"");
    json_write_escaped(text, head->method);
    buf_byte(text, '"');
    write_place(text, head, url_host_text(address != NULL ? address : &head->host));
    if (address != NULL) {
        write_member(text, "name", url_host_text(&head->host));
    }
    buf_text(text, "}}");
    return buf_ok(text) && call_read(&judge->reader, buf_slice_of(text), &judge->defaults) == CALL_OK;
}

static void write_words(struct buf *buf, const struct outcome *outcome)
{
    static const char *const kinds[] = {
        [DENIAL_POLICY] = "The request was denied.",
        [DENIAL_REFUSED] = "The request was refused by a person.",
        [DENIAL_NOT_IN_TIME] = "The request was not approved in time.",
        [DENIAL_UNREADABLE] = "The request could not be read.",
        [DENIAL_TOO_MANY] = "Too many requests wait for approval.",
    };
    size_t kind = outcome->denial < sizeof(kinds) / sizeof(kinds[0]) ? outcome->denial : DENIAL_POLICY;
    buf_text(buf, kinds[kind]);
    if (outcome->tell.len > 0) {
        buf_byte(buf, ' ');
        buf_slice(buf, outcome->tell);
    }
}

enum verdict net_judge_request(struct judge *judge, const struct head *head, const struct url_host *address,
                               struct held *held, struct buf *ret_words)
{
    if (!make_call(judge, head, address)) {
        net_judge_unreadable(judge, "the request is no call");
        buf_text(ret_words, "The request could not be read.");
        return VERDICT_DENY;
    }
    const struct held prior = *held;
    struct outcome outcome =
        gate_judge(judge->gate, &judge->reader.call, prior.number != 0 ? &prior : NULL, (struct slice){0});
    bool authored = outcome.authored_in_every_reading || outcome.observed || outcome.by_approval;
    *held = (struct held){0};
    if (!gate_commit(judge->gate)) {
        outcome.kind = OUTCOME_DENY;
    }
    if (outcome.kind == OUTCOME_ALLOW && authored) {
        return VERDICT_ALLOW;
    }
    if (outcome.kind == OUTCOME_HELD) {
        *held = outcome.held;
        return VERDICT_HELD;
    }
    write_words(ret_words, &outcome);
    return VERDICT_DENY;
}

void net_judge_unreadable(struct judge *judge, const char *why)
{
    (void)gate_judge_unreadable(judge->gate, CAUSE_MALFORMED, SLICE(TOOL), slice_of(why), NULL,
                                &judge->defaults);
    bool written = gate_commit(judge->gate);
    (void)written; /* it is refused either way, and the gate has told the operator */
}
