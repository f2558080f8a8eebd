/* Why a call was decided as it was, rule by rule. */
#include "policy/policy.h"

const char *match_field_name(enum match_field field)
{
    switch (field) {
    case FIELD_TOOL:
        return "tool";
    case FIELD_TOOL_PREFIX:
        return "toolPrefix";
    case FIELD_SERVER:
        return "server";
    case FIELD_CHANNEL:
        return "channel";
    case FIELD_THREAD:
        return "thread_ts";
    case FIELD_ACTOR:
        return "actor";
    case FIELD_PATH_PREFIX:
        return "pathPrefix";
    case FIELD_PATH_COMPONENT:
        return "pathComponent";
    case FIELD_ARG_EQUALS:
        return "argEquals";
    default:
        return "";
    }
}

/* What the visitor of one reading needs. */
struct explanation {
    struct buf *buf;
    const struct policy *policy;
    const struct call *call;
    const struct facts *facts;
    const struct reading *reading;
    bool any;
};

static void write_optional(struct buf *buf, bool present, struct slice text)
{
    if (present) {
        json_write_bytes(buf, text);
    } else {
        buf_text(buf, "null");
    }
}

/* The rule's value of a field, as documents spell it. */
static void write_wanted(const struct explanation *e, const struct match *match, enum match_field field)
{
    const struct policy *policy = e->policy;
    switch (field) {
    case FIELD_TOOL:
        json_write_bytes(e->buf, policy_text(policy, match->tool));
        break;
    case FIELD_TOOL_PREFIX:
        json_write_bytes(e->buf, policy_text(policy, match->tool_prefix));
        break;
    case FIELD_SERVER:
        json_write_bytes(e->buf, policy_text(policy, match->server));
        break;
    case FIELD_CHANNEL:
        json_write_bytes(e->buf, policy_text(policy, match->channel));
        break;
    case FIELD_THREAD:
        json_write_bytes(e->buf, policy_text(policy, match->thread));
        break;
    case FIELD_ACTOR:
        json_write_string(e->buf, slice_of(actor_name((enum actor)match->actor)));
        break;
    case FIELD_PATH_PREFIX:
        json_write_bytes(e->buf, policy->prefixes->list[match->path_prefix - 1].path);
        break;
    default:
        json_write_bytes(e->buf, policy_text(policy, match->path_component));
        break;
    }
}

static void write_got(const struct explanation *e, enum match_field field)
{
    const struct facts_name *name = &e->facts->names[e->reading->name];
    switch (field) {
    case FIELD_TOOL:
    case FIELD_TOOL_PREFIX:
        json_write_bytes(e->buf, name->tool);
        break;
    case FIELD_SERVER:
        write_optional(e->buf, name->has_server, name->server);
        break;
    case FIELD_CHANNEL:
        json_write_bytes(e->buf, e->call->channel);
        break;
    case FIELD_THREAD:
        json_write_bytes(e->buf, e->call->thread);
        break;
    case FIELD_ACTOR:
        json_write_string(e->buf, slice_of(actor_name(e->call->actor)));
        break;
    default:
        write_optional(e->buf, e->reading->kind == READING_PATH, e->reading->path);
        break;
    }
}

/* The first argument that the rule wants and the call has not, with both values. */
static void write_argument(const struct explanation *e, const struct match *match)
{
    for (uint32_t i = 0; i < match->arg_count; i++) {
        const struct match_arg *wanted = &e->policy->args[match->arg_first + i];
        size_t at = 0;
        while (at < e->facts->arg_count &&
               (e->facts->args[at].key != wanted->key || e->facts->args[at].value != wanted->value)) {
            at++;
        }
        if (at < e->facts->arg_count) {
            continue;
        }
        struct slice key = policy_text(e->policy, wanted->key);
        const struct json_value *got =
            e->call->input != NULL ? json_get_slice(e->call->doc, e->call->input, key) : NULL;
        buf_text(e->buf, ",\"argument\":");
        json_write_bytes(e->buf, key);
        buf_text(e->buf, ",\"wanted\":");
        buf_slice(e->buf, policy_text(e->policy, wanted->value));
        buf_text(e->buf, ",\"got\":");
        if (got != NULL) {
            json_write_canonical(e->buf, e->call->doc, got, JSON_NUMBER_EXACT);
        } else {
            buf_text(e->buf, "null,\"absent\":true");
        }
        return;
    }
}

static void visit(void *context, const struct rule *rule, enum match_field field)
{
    struct explanation *e = context;
    buf_text(e->buf, e->any ? ",{\"rule\":" : "{\"rule\":");
    e->any = true;
    json_write_bytes(e->buf, policy_text(e->policy, rule->id));
    buf_text(e->buf, ",\"file\":");
    json_write_bytes(e->buf, e->policy->files[rule->file].name);
    buf_printf(e->buf, ",\"line\":%u,\"tier\":\"%s\",\"effect\":\"%s\"", rule->line,
               tier_name((enum tier)rule->tier), effect_name(rule->effect));
    if (field == FIELD_ALL) {
        buf_text(e->buf, ",\"matched\":true}");
        return;
    }
    if (field == FIELD_UNKNOWN) {
        buf_text(e->buf, ",\"matched\":false,\"stopped\":true}");
        return;
    }
    buf_printf(e->buf, ",\"matched\":false,\"field\":\"%s\"", match_field_name(field));
    if (field == FIELD_ARG_EQUALS) {
        write_argument(e, &rule->match);
    } else {
        buf_text(e->buf, ",\"wanted\":");
        write_wanted(e, &rule->match, field);
        buf_text(e->buf, ",\"got\":");
        write_got(e, field);
    }
    buf_byte(e->buf, '}');
}

static const char *kind_name(const struct reading *reading)
{
    if (reading->kind == READING_PATH) {
        return "path";
    }
    return reading->kind == READING_NO_PATH ? "no-path" : "unreadable";
}

/* Where the reading's path came from. */
static void write_origin(const struct explanation *e)
{
    static const char *const forms[] = {"none", "as written", "home", "file URI"};
    static const char *const vias[] = {"resolution", "same file", "tree"};
    const struct reading *r = e->reading;
    if (r->value) {
        const struct json_value *value = &e->call->doc->values[r->value];
        buf_text(e->buf, ",\"from\":");
        if (value->type == JSON_STRING) {
            json_write_bytes(e->buf, json_str(value));
        } else {
            json_write_canonical(e->buf, e->call->doc, value, JSON_NUMBER_JOURNAL);
        }
    }
    if (r->kind != READING_PATH) {
        return;
    }
    buf_text(e->buf, ",\"path\":");
    json_write_bytes(e->buf, r->path);
    buf_printf(e->buf, ",\"read\":\"%s\",\"via\":\"%s\",\"dotdot\":\"%s\"", forms[r->form & 3],
               vias[r->via % 3], r->mode == PATH_KERNEL ? "after links" : "before links");
    if (r->start.len) {
        buf_text(e->buf, ",\"start\":");
        json_write_bytes(e->buf, r->start);
    }
}

static void write_reading(struct explanation *e, const struct approvals *approvals)
{
    const struct facts_name *name = &e->facts->names[e->reading->name];
    const struct policy_visitor visitor = {visit, e};
    buf_printf(e->buf, "{\"kind\":\"%s\",\"tool\":", kind_name(e->reading));
    json_write_bytes(e->buf, name->tool);
    if (name->has_server) {
        buf_text(e->buf, ",\"server\":");
        json_write_bytes(e->buf, name->server);
    }
    write_origin(e);
    buf_text(e->buf, ",\"rules\":[");
    struct decision decision = policy_scan(e->policy, e->facts, e->reading, approvals, &visitor);
    buf_text(e->buf, "],\"decision\":");
    decision_write_json(e->buf, e->policy, &decision);
    buf_byte(e->buf, '}');
}

static void write_explanation(struct buf *buf, const struct policy *policy, const struct call *call,
                              const struct facts *facts, const struct reading *readings, size_t reading_count,
                              const struct approvals *approvals)
{
    struct decision decision = policy_evaluate_linear(policy, facts, readings, reading_count, approvals);
    buf_text(buf, "{\"decision\":");
    decision_write_json(buf, policy, &decision);
    buf_printf(buf, ",\"reading\":%u,\"readings\":[", decision.reading);
    for (size_t i = 0; i < reading_count; i++) {
        struct explanation e = {buf, policy, call, facts, &readings[i], false};
        if (i) {
            buf_byte(buf, ',');
        }
        write_reading(&e, approvals);
    }
    buf_text(buf, "]}");
}

void policy_explain(struct buf *buf, const struct policy *policy, const struct call *call,
                    const struct reading *readings, size_t reading_count, const struct approvals *approvals)
{
    struct facts facts;
    if (!facts_init(&facts) || !facts_make_whole(&facts, policy, call)) {
        buf->failed = true;
    } else {
        write_explanation(buf, policy, call, &facts, readings, reading_count, approvals);
    }
    facts_finish(&facts);
}
