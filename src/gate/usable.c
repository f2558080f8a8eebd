/* Which tools a session could use at all: asked of the policy, so that others need not be shown to an agent. */
#include "gate/usable.h"

#include "document/document.h"
#include "gate/door.h"
#include "gate/internal.h"

/* Proofs that together take longer than this are left undone: what is not proved is shown. */
#define ASKED_BYTES ((size_t)64 << 20)

static void write_member(struct buf *text, const char *name, struct slice value)
{
    if (value.ptr != NULL && value.len > 0) {
        buf_printf(text, ",\"%s\":", name);
        json_write_string(text, value);
    }
}

/* A name with `*` or `?`, which no rule can have, is asked about as another that no rule has either: what a toolPrefix
 * sees of it, the part before, is the same. */
static void write_tool(struct buf *text, struct slice tool)
{
    struct buf name;
    buf_init(&name, LIMIT_MESSAGE_BYTES);
    for (size_t i = 0; i < tool.len; i++) {
        buf_byte(&name, tool.ptr[i] == '*' || tool.ptr[i] == '?' ? '\1' : tool.ptr[i]);
    }
    json_write_string(text, buf_slice_of(&name));
    text->failed = text->failed || !buf_ok(&name);
    buf_finish(&name);
}

/* "No call of this tool is anything but denied", for each tool. */
static void write_assertions(struct buf *text, const struct call_defaults *session,
                             const struct offered_tool *tools, size_t count)
{
    const char *between = "";
    buf_text(text, "{\"assertions\":[");
    for (size_t i = 0; i < count; i++) {
        if (tools[i].name.len == 0) {
            continue;
        }
        buf_printf(text, "%s{\"name\":\"%zu\",\"match\":{\"tool\":", between, i);
        write_tool(text, tools[i].name);
        write_member(text, "server", session->server);
        write_member(text, "channel", session->channel);
        write_member(text, "thread_ts", session->thread);
        buf_printf(text, ",\"actor\":\"%s\"},\"never\":[\"allow\",\"require\"]}", actor_name(session->actor));
        between = ",";
    }
    buf_text(text, "]}");
}

/* The policy that holds the assertions; NULL: none can be asked. */
static struct policy *ask(const struct gate *gate, const struct call_defaults *session,
                          const struct offered_tool *tools, size_t count)
{
    struct findings errors;
    struct buf text;
    buf_init(&text, ASKED_BYTES);
    findings_init(&errors);
    write_assertions(&text, session, tools, count);
    const struct policy_source source = {
        .name = SLICE("tools"), .tier = TIER_DEFAULT, .text = buf_slice_of(&text)};
    struct policy *asked = buf_ok(&text) ? policy_load(&source, 1, &gate->options.base, &errors) : NULL;
    findings_finish(&errors);
    buf_finish(&text);
    return asked;
}

/* ---- One tool by itself ---- */

static bool has_text(const struct policy *policy, const uint32_t *value, struct slice text)
{
    struct match_values values = match_values(policy, value);
    for (uint32_t i = 0; i < values.count; i++) {
        if (slice_eq(policy_text(policy, values.list[i]), text)) {
            return true;
        }
    }
    return *value == 0;
}

static bool has_prefix(const struct policy *policy, const uint32_t *value, struct slice text)
{
    struct match_values values = match_values(policy, value);
    for (uint32_t i = 0; i < values.count; i++) {
        if (slice_starts_with(text, policy_text(policy, values.list[i]))) {
            return true;
        }
    }
    return *value == 0;
}

/* Whether a rule could match a call of the tool in this session, whatever its input. */
static bool speaks_of(const struct policy *policy, const struct match *match,
                      const struct call_defaults *session, const struct offered_tool *offered)
{
    struct slice tool = offered->name;
    bool server = match->server == 0 ||
                  (session->server.ptr != NULL && has_text(policy, &match->server, session->server));
    return server && (match->annotations & offered->hints_not) == 0 && has_text(policy, &match->tool, tool) &&
           has_prefix(policy, &match->tool_prefix, tool) &&
           has_text(policy, &match->channel, session->channel) &&
           has_text(policy, &match->thread, session->thread) &&
           (match->actor == 0 || match->actor == (uint32_t)session->actor);
}

/* The rule without what the session and the tool settle. */
static void write_rule(struct buf *text, const struct policy *policy, const struct rule *rule,
                       struct slice tool)
{
    struct rule rest = *rule;
    bool named = rule->match.tool != 0 || rule->match.tool_prefix != 0;
    struct buf match;
    buf_init(&match, LIMIT_MESSAGE_BYTES);
    rest.match.tool = rest.match.tool_prefix = rest.match.server = rest.match.annotations = 0;
    rest.match.channel = rest.match.thread = rest.match.actor = 0;
    rule_write_match_json(&match, policy, &rest);
    struct slice fields = buf_ok(&match) && match.len > 2 ? slice_from(buf_slice_of(&match), 1) : SLICE("}");
    buf_printf(text, "{\"id\":\"r%u\",\"effect\":\"%s\"%s,\"match\":{\"tier\":\"%s\"",
               (unsigned)(rule - policy->rules), effect_name(rule->effect),
               rule->effect == EFFECT_DENY ? ",\"reason\":\"r\"" : "", tier_name((enum tier)rule->tier));
    if (named) {
        buf_text(text, ",\"tool\":");
        write_tool(text, tool);
    } else if ((rule->looks & RULE_ANY_TOOL) != 0 || fields.len <= 1) {
        buf_text(text, ",\"tool\":\"*\"");
    }
    buf_text(text, fields.len > 1 ? "," : "");
    buf_slice(text, fields);
    buf_byte(text, '}');
    text->failed = text->failed || !buf_ok(&match);
    buf_finish(&match);
}

static bool needs_rule(const struct policy *policy, const struct call_defaults *session, struct slice tool)
{
    for (uint32_t i = 0; i < policy->required_count; i++) {
        struct slice entry = policy_text(policy, policy->required[i]);
        size_t server = session->server.ptr != NULL ? session->server.len : 0;
        if (server > 0 && entry.len > server && entry.ptr[server] == '/' &&
            slice_starts_with(entry, session->server)) {
            struct slice rest = slice_from(entry, server + 1);
            if (slice_is(rest, "*") || slice_eq(rest, tool)) {
                return true;
            }
        }
        if (slice_is(entry, "*") || slice_eq(entry, tool)) {
            return true;
        }
    }
    return false;
}

/* The same question about the rules that speak of one tool, without names and lists of names: what several tools at once
 * leave open it may settle. */
static bool is_proved_alone(const struct gate *gate, const struct call_defaults *session,
                            const struct offered_tool *offered)
{
    struct slice tool = offered->name;
    const struct policy *policy = gate->policy;
    const char *between = "";
    struct findings errors;
    struct buf text;
    findings_init(&errors);
    buf_init(&text, ASKED_BYTES);
    buf_printf(&text, "{\"requireAuthoredPolicy\":[%s],\"assertions\":[{\"name\":\"t\",\"match\":{\"tool\":",
               needs_rule(policy, session, tool) ? "\"*\"" : "");
    write_tool(&text, tool);
    buf_text(&text, "},\"never\":[\"allow\",\"require\"]}],\"rules\":[");
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        if (speaks_of(policy, &policy->rules[i].match, session, offered)) {
            buf_text(&text, between);
            write_rule(&text, policy, &policy->rules[i], tool);
            between = ",";
        }
    }
    buf_text(&text, "]}");
    const struct policy_source source = {
        .name = SLICE("tool"), .tier = TIER_DEFAULT, .text = buf_slice_of(&text)};
    struct policy *alone = buf_ok(&text) ? policy_load(&source, 1, &gate->options.base, &errors) : NULL;
    struct findings unproved;
    findings_init(&unproved);
    bool proved = alone != NULL && errors.count == 0 &&
                  assertions_check(alone, &gate->options.base, &unproved) && !unproved.failed;
    findings_finish(&unproved);
    findings_finish(&errors);
    policy_destroy(alone);
    buf_finish(&text);
    return proved;
}

/* Whether a rule about the tool asks for annotations: a call that refutes may be one of a tool that has others. */
static bool asks_for_hints(const struct policy *policy, const struct call_defaults *session,
                           const struct offered_tool *tool)
{
    const struct offered_tool any = {.name = tool->name};
    for (uint32_t i = 0; policy->hints != 0 && i < policy->rule_count; i++) {
        const struct match *match = &policy->rules[i].match;
        if (match->annotations != 0 && speaks_of(policy, match, session, &any)) {
            return true;
        }
    }
    return false;
}

/* ---- All tools of a list ---- */

void gate_usable_tools(struct gate *gate, const struct call_defaults *session,
                       const struct offered_tool *tools, size_t count, bool *ret_usable)
{
    for (size_t i = 0; i < count; i++) {
        ret_usable[i] = true;
    }
    if (gate->door != NULL) {
        (void)gate->door->usable(gate->door_self, session, tools, count, ret_usable);
        return;
    }
    if (gate_observes(gate)) {
        return;
    }
    struct policy *asked = ask(gate, session, tools, count);
    struct analysis *analysis = asked != NULL && asked->assertion_count > 0
                                    ? analysis_create(gate->policy, asked->assertion_space, asked->assertions,
                                                      asked->assertion_count, &gate->options.base)
                                    : NULL;
    struct buf call;
    buf_init(&call, ASKED_BYTES);
    for (size_t i = 0, at = 0; analysis != NULL && i < count; i++) {
        struct refutation refutation = {0};
        if (tools[i].name.len > 0) {
            buf_reset(&call);
            enum assertion_result result = assertion_prove(analysis, at++, &refutation, &call);
            bool refuted = result == ASSERTION_REFUTED && !asks_for_hints(gate->policy, session, &tools[i]);
            ret_usable[i] =
                refuted || (result != ASSERTION_PROVED && !is_proved_alone(gate, session, &tools[i]));
        }
    }
    buf_finish(&call);
    analysis_destroy(analysis);
    policy_destroy(asked);
}
