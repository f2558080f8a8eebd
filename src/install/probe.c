/* Calls to try a hook with. They are taken from the policy's own rules, and judged here first by the same
 * readings and the same evaluation: what the hook must say is known before it is asked. */
#include "install/probe.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/utf8.h"
#include "gate/decide.h"
#include "journal/reader.h"

#define RULES_TRIED 500u

static const struct json_options input_options = {
    .max_depth = LIMIT_JSON_DEPTH,
    .max_bytes = LIMIT_MESSAGE_BYTES,
};

/* `@T` is the tool, `@I` its input, `@C` the working directory, `@E` the event. */
static const struct {
    const struct host *host;
    const char *event; /* NULL: every event of the host */
    const char *text;
} shapes[] = {
    {&host_claude_code, NULL,
     "{\"session_id\":\"" JOURNAL_PROBE_THREAD "\",\"transcript_path\":\"/dev/null\",\"cwd\":@C,"
     "\"permission_mode\":\"default\",\"hook_event_name\":@E,\"tool_name\":@T,\"tool_input\":@I,"
     "\"tool_use_id\":\"toolu_callgate\"}"},
    {&host_gemini, NULL,
     "{\"session_id\":\"" JOURNAL_PROBE_THREAD "\",\"transcript_path\":\"/dev/null\",\"cwd\":@C,"
     "\"hook_event_name\":@E,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"tool_name\":@T,\"tool_input\":@I}"},
    {&host_codex, NULL,
     "{\"session_id\":\"" JOURNAL_PROBE_THREAD "\",\"turn_id\":\"1\",\"transcript_path\":null,\"cwd\":@C,"
     "\"hook_event_name\":@E,\"model\":\"none\",\"permission_mode\":\"default\",\"tool_name\":@T,"
     "\"tool_input\":@I,\"tool_use_id\":\"call_callgate\"}"},
    {&host_cursor, "preToolUse",
     "{\"conversation_id\":\"" JOURNAL_PROBE_THREAD "\",\"generation_id\":\"1\",\"model\":\"none\","
     "\"hook_event_name\":@E,\"cursor_version\":\"0\",\"workspace_roots\":[@C],\"user_email\":null,"
     "\"cwd\":@C,\"tool_name\":@T,\"tool_input\":@I,\"tool_use_id\":\"callgate\"}"},
    {&host_opencode, NULL,
     "{\"tool\":@T,\"sessionID\":\"" JOURNAL_PROBE_THREAD
     "\",\"callID\":\"callgate\",\"args\":@I,\"directory\":@C}"},
};

static const char *shape_of(const struct host *host, const struct host_event *event)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        if (shapes[i].host == host &&
            (shapes[i].event == NULL || strcmp(shapes[i].event, event->name) == 0)) {
            return shapes[i].text;
        }
    }
    return NULL;
}

bool probe_knows(const struct host *host, const struct host_event *event)
{
    return shape_of(host, event) != NULL;
}

/* ---- A call ---- */

struct probing {
    const struct probe_options *options;
    struct decider decider;
    struct probe *probe;
};

static void write_message(struct probing *p, struct slice tool, struct slice input)
{
    struct buf *out = &p->probe->message;
    buf_reset(out);
    for (const char *at = shape_of(p->options->host, p->options->event); *at; at++) {
        if (*at != '@') {
            buf_byte(out, *at);
            continue;
        }
        at++;
        if (*at == 'T') {
            json_write_bytes(out, tool);
        } else if (*at == 'I') {
            buf_slice(out, input);
        } else if (*at == 'C') {
            json_write_bytes(out, p->options->base->cwd);
        } else {
            json_write_string(out, slice_of(p->options->event->name));
        }
    }
}

/* Decides a message as the hook does. False when it cannot be read as a call. */
static bool decide_message(struct probing *p, struct host_message *message, struct decision *ret_decision)
{
    const struct probe_options *o = p->options;
    struct host_places places = {.home = o->base->home};
    struct path_base base = *o->base;
    struct approvals none = {0};
    if (!host_message_read(message, o->host, o->event, buf_slice_of(&p->probe->message), &places) ||
        message->silent || message->server_unknown) {
        return false;
    }
    struct call call = {
        .names = message->names,
        .name_count = message->name_count,
        .channel = slice_of(o->host->name),
        .thread = message->session,
        .actor = ACTOR_CLAUDE_PROCESS,
        .doc = message->input_doc,
        .input = message->input,
    };
    base.cwd = message->cwd;
    *ret_decision = decide(&p->decider, o->policy, &call, &base, 0, &none);
    return true;
}

static bool rules_decide_all(struct probing *p)
{
    struct approvals none = {0};
    const struct readings *readings = &p->decider.readings;
    for (size_t i = 0; i < readings->count; i++) {
        if (policy_evaluate(p->options->policy, &p->decider.facts, &readings->list[i], 1, &none).rule ==
            NULL) {
            return false;
        }
    }
    return readings->count > 0;
}

static void expect(struct probing *p, bool denied, enum denial denial, struct slice tell, bool one_name)
{
    const struct host_event *event = p->options->event;
    struct probe *probe = p->probe;
    bool granted = !denied && p->options->grant && event->allow != NULL && one_name && rules_decide_all(p);
    buf_reset(&probe->out);
    buf_reset(&probe->errors);
    probe->code = denied ? event->deny_code : 0;
    probe->says_why = p->options->host->says_why;
    if (!denied) {
        buf_text(&probe->out, granted ? event->allow : event->none);
        return;
    }
    host_write_reason(&probe->errors, denial, tell);
    host_write_deny(&probe->out, event, buf_slice_of(&probe->errors));
    buf_byte(&probe->errors, '\n');
    if (event->deny_code == 0) {
        buf_reset(&probe->errors);
    }
}

/* What the rule that decided has for the agent. */
static struct slice tell_of(const struct probing *p, const struct decision *decision)
{
    bool tells = decision->rule != NULL && decision->cause == CAUSE_NONE && decision->rule->tell != 0;
    return tells ? policy_text(p->options->policy, decision->rule->tell) : (struct slice){"", 0};
}

static void write_what(struct probing *p, struct slice tool, const struct rule *rule)
{
    struct buf *what = &p->probe->what;
    buf_reset(what);
    buf_text(what, "a call of '");
    utf8_append_printable(what, tool);
    buf_byte(what, '\'');
    if (rule != NULL) {
        buf_text(what, " (rule '");
        utf8_append_printable(what, policy_text(p->options->policy, rule->id));
        buf_text(what, "')");
    }
}

static bool try_call(struct probing *p, enum probe_kind kind, struct slice tool, struct slice input)
{
    struct host_message message;
    struct decision decision = {0};
    uint32_t wanted = kind == PROBE_DENY ? DECISION_DENY : DECISION_ALLOW;
    write_message(p, tool, input);
    if (!buf_ok(&p->probe->message) || !host_message_init(&message)) {
        return false;
    }
    bool found =
        decide_message(p, &message, &decision) && decision.kind == wanted && decision.cause != CAUSE_INTERNAL;
    if (found) {
        expect(p, kind == PROBE_DENY, DENIAL_POLICY, tell_of(p, &decision), message.name_count == 1);
        write_what(p, tool, decision.rule);
    }
    host_message_finish(&message);
    return found && buf_ok(&p->probe->what);
}

/* ---- Calls that a rule matches ---- */

static void write_argument(struct buf *input, struct slice name, struct slice value)
{
    buf_text(input, input->len > 1 ? "," : "");
    json_write_string(input, name);
    buf_byte(input, ':');
    buf_slice(input, value);
}

/* The first of the values that a field may have; 0: the rule does not have the field. */
static uint32_t first_of(const struct policy *policy, const uint32_t *value)
{
    struct match_values values = match_values(policy, value);
    return values.count > 0 ? values.list[0] : 0;
}

static void write_path(struct buf *input, const struct policy *policy, const struct match *match)
{
    struct buf path, value;
    struct slice component = policy_text(policy, first_of(policy, &match->path_component));
    uint32_t prefix = first_of(policy, &match->path_prefix);
    buf_init(&path, 1u << 20);
    buf_init(&value, 1u << 20);
    if (prefix != 0) {
        buf_slice(&path, policy->prefixes->list[prefix - 1].path);
    }
    if (component.len > 0) {
        buf_byte(&path, '/');
        for (size_t i = 0; i < component.len; i++) {
            buf_byte(&path, component.ptr[i] == '*' ? 'x' : component.ptr[i]);
        }
    }
    json_write_bytes(&value, buf_slice_of(&path));
    if (path.len) {
        write_argument(input, SLICE("file_path"), buf_slice_of(&value));
    }
    input->failed = input->failed || !buf_ok(&path) || !buf_ok(&value);
    buf_finish(&path);
    buf_finish(&value);
}

static bool try_rule(struct probing *p, enum probe_kind kind, const struct rule *rule)
{
    const struct policy *policy = p->options->policy;
    const struct match *match = &rule->match;
    struct buf input, tool;
    buf_init(&input, 1u << 20);
    buf_init(&tool, 1u << 16);
    buf_byte(&input, '{');
    write_path(&input, policy, match);
    /* Of a deny the exact forms stand behind the loose ones. */
    uint32_t exact = match->arg_first + (rule->effect == EFFECT_AUTO_APPROVE ? 0 : match->arg_count);
    for (uint32_t i = 0; i < match->arg_count; i++) {
        const struct match_arg *arg = &policy->args[exact + i];
        write_argument(&input, policy_text(policy, arg->key),
                       policy_text(policy, first_of(policy, &arg->value)));
    }
    buf_byte(&input, '}');
    uint32_t name = first_of(policy, match->tool != 0 ? &match->tool : &match->tool_prefix);
    buf_slice(&tool, policy_text(policy, name));
    if (!match->tool) {
        buf_text(&tool, "callgate_probe");
    }
    bool found =
        buf_ok(&input) && buf_ok(&tool) && try_call(p, kind, buf_slice_of(&tool), buf_slice_of(&input));
    buf_finish(&input);
    buf_finish(&tool);
    return found;
}

static bool try_rules(struct probing *p, enum probe_kind kind)
{
    const struct policy *policy = p->options->policy;
    uint32_t wanted = kind == PROBE_DENY ? EFFECT_DENY : EFFECT_AUTO_APPROVE, tried = 0;
    for (uint32_t i = 0; i < policy->order_count && tried < RULES_TRIED; i++) {
        const struct rule *rule = &policy->rules[policy->order[i]];
        if (rule->effect != wanted || rule->match.server || rule->match.channel || rule->match.thread ||
            rule->match.actor == ACTOR_SESSION_OWNER) {
            continue;
        }
        tried++;
        if (try_rule(p, kind, rule)) {
            return true;
        }
    }
    return false;
}

/* ---- All together ---- */

/* A name that no policy has. */
static bool try_unknown_tool(struct probing *p)
{
    uint64_t number;
    char name[48];
    if (!random_bytes(&number, sizeof(number))) {
        return false;
    }
    int len = snprintf(name, sizeof(name), "callgate_probe_%016llx", (unsigned long long)number);
    return try_call(p, PROBE_ALLOW, (struct slice){name, (size_t)len}, SLICE("{}"));
}

bool probe_make(const struct probe_options *options, enum probe_kind kind, struct probe *ret_probe)
{
    struct probing p = {.options = options, .probe = ret_probe};
    *ret_probe = (struct probe){0};
    buf_init(&ret_probe->message, LIMIT_MESSAGE_BYTES);
    buf_init(&ret_probe->what, 1u << 20);
    buf_init(&ret_probe->out, 1u << 20);
    buf_init(&ret_probe->errors, 1u << 20);
    if (kind == PROBE_BROKEN) {
        buf_text(&ret_probe->message, "{");
        buf_text(&ret_probe->what, "a message that cannot be read");
        expect(&p, true, DENIAL_UNREADABLE, (struct slice){"", 0}, false);
        return buf_ok(&ret_probe->message) && buf_ok(&ret_probe->what);
    }
    if (shape_of(options->host, options->event) == NULL || !decider_init(&p.decider)) {
        return false;
    }
    bool found = kind == PROBE_DENY
                     ? try_rules(&p, kind) || try_call(&p, kind, SLICE("upload_file"), SLICE("{}"))
                     : try_unknown_tool(&p) || try_rules(&p, kind);
    decider_finish(&p.decider);
    return found;
}

bool probe_denies_writing(const struct probe_options *options, const char *path)
{
    struct probing p = {.options = options};
    struct approvals none = {0};
    struct decision decision = {0};
    struct json_doc doc;
    struct json_error error;
    struct buf text;
    struct call_name name = {.tool = slice_of(options->host->shape->write_tools[0])};
    /* A tool that takes a patch is judged by what its reader finds in the patch. */
    bool patch = slice_is(name.tool, "apply_patch");
    json_init(&doc);
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    buf_text(&text, patch ? "{\"patchPaths\":[" : "{\"file_path\":");
    json_write_bytes(&text, slice_of(path));
    buf_text(&text, patch ? "]}" : "}");
    bool ready = buf_ok(&text) && json_parse(&doc, buf_slice_of(&text), &input_options, &error) &&
                 decider_init(&p.decider);
    if (ready) {
        struct call call = {
            .names = &name,
            .name_count = 1,
            .channel = slice_of(options->host->name),
            .thread = SLICE("callgate-doctor"),
            .actor = ACTOR_CLAUDE_PROCESS,
            .doc = &doc,
            .input = json_root(&doc),
        };
        decision = decide(&p.decider, options->policy, &call, options->base, 0, &none);
        decider_finish(&p.decider);
    }
    buf_finish(&text);
    json_finish(&doc);
    return ready && decision.kind == DECISION_DENY;
}

void probe_finish(struct probe *probe)
{
    buf_finish(&probe->message);
    buf_finish(&probe->what);
    buf_finish(&probe->out);
    buf_finish(&probe->errors);
}
