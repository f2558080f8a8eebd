/* Why a call was decided as it was, rule by rule. */
#include "base/fold.h"
#include "policy/policy_internal.h"
#include "policy/value.h"
#include "json/json.h"

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

/* The rule's value of a field, as documents spell it; a list as one. */
static void write_wanted(const struct explanation *e, const struct match *match, enum match_field field)
{
    struct match_values values = match_values_by_text(e->policy, &match->values[field]);
    buf_text(e->buf, values.count > 1 ? "[" : "");
    for (uint32_t i = 0; i < values.count; i++) {
        struct field_value value = {e->policy, field, values.list[i]};
        struct buf text;
        buf_text(e->buf, i == 0 ? "" : ",");
        if (field_table[field].type == FIELD_TYPE_HINTS) {
            field_write_json(e->buf, &value);
            continue;
        }
        buf_init(&text, LIMIT_POLICY_BYTES);
        field_write_text(&text, &value);
        json_write_bytes(e->buf, buf_slice_of(&text));
        e->buf->failed = e->buf->failed || text.failed;
        buf_finish(&text);
    }
    buf_text(e->buf, values.count > 1 ? "]" : "");
}

static void write_texts(const struct explanation *e, const struct reading_texts *texts)
{
    buf_byte(e->buf, '[');
    for (size_t i = 0; i < texts->count; i++) {
        buf_text(e->buf, i == 0 ? "" : ",");
        json_write_bytes(e->buf, texts->list[i]);
    }
    buf_byte(e->buf, ']');
}

static void write_command_text(const struct explanation *e)
{
    struct buf text;
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    command_append_text(&text, e->reading->command->command);
    json_write_bytes(e->buf, buf_slice_of(&text));
    e->buf->failed = e->buf->failed || text.failed;
    buf_finish(&text);
}

/* What a command acts on, for a rule with command fields: the span for an auto_approve, else its places or hosts. */
static void write_acted_on(const struct explanation *e, const struct rule *rule, enum match_field field)
{
    const struct reading_command *command = e->reading->command;
    if (field == FIELD_HOST) {
        write_texts(e, &command->hosts);
    } else if (rule->effect != EFFECT_AUTO_APPROVE) {
        write_texts(e, &command->places);
    } else {
        write_optional(e->buf, command->span_known, command->span);
    }
}

static void write_got(const struct explanation *e, const struct rule *rule, enum match_field field)
{
    const struct facts_name *name = &e->facts->names[e->reading->name];
    bool acts = (rule->looks & READING_FIELD_COMMAND) != 0 && e->reading->command != NULL;
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
    case FIELD_ANNOTATIONS:
        hints_write(e->buf, name->hints_not);
        break;
    case FIELD_COMMAND:
    case FIELD_COMMAND_PREFIX:
    case FIELD_COMMAND_WORD:
        if (e->reading->command == NULL) {
            buf_text(e->buf, "null");
        } else {
            write_command_text(e);
        }
        break;
    default:
        if (acts) {
            write_acted_on(e, rule, field);
        } else if (field == FIELD_HOST) {
            write_optional(e->buf, e->reading->host_kind == READING_HOST, e->reading->host);
        } else {
            write_optional(e->buf, e->reading->kind == READING_PATH, e->reading->path);
        }
        break;
    }
}

/* Whether the call has the argument that a rule compares. */
static bool has_argument(const struct explanation *e, const struct match_arg *wanted)
{
    for (size_t i = 0; i < e->facts->arg_count; i++) {
        const struct match_arg *got = &e->facts->args[i];
        if (got->key == wanted->key &&
            (got->value == wanted->value ||
             ((wanted->value & MATCH_SET) != 0 && match_set_has(e->policy, wanted->value, got->value)))) {
            return true;
        }
    }
    return false;
}

/* The call's argument under a name, or, of a rule that compares loosely, under one that is folded alike. */
static const struct json_value *got_argument(const struct explanation *e, const struct rule *rule,
                                             struct slice key)
{
    if (e->call->input == NULL) {
        return NULL;
    }
    const struct json_value *name = json_first(e->call->doc, e->call->input);
    for (; name != NULL; name = json_right(e->call->doc, e->call->input, name)) {
        if (rule->effect == EFFECT_AUTO_APPROVE ? slice_eq(json_str(name), key)
                                                : fold_eq(json_str(name), key)) {
            return json_member_value(name);
        }
    }
    return NULL;
}

static void write_wanted_values(const struct explanation *e, const uint32_t *value)
{
    struct match_values values = match_values_by_text(e->policy, value);
    buf_text(e->buf, values.count > 1 ? "[" : "");
    for (uint32_t i = 0; i < values.count; i++) {
        buf_text(e->buf, i == 0 ? "" : ",");
        buf_slice(e->buf, policy_text(e->policy, values.list[i]));
    }
    buf_text(e->buf, values.count > 1 ? "]" : "");
}

/* The exact argument that stands for a compared one of a rule: the keys of both forms are of one name. */
static const struct match_arg *written_argument(const struct explanation *e, const struct rule *rule,
                                                uint32_t at)
{
    const struct match_arg *exact = rule_exact_args(e->policy, rule);
    const struct match_arg *compared = &e->policy->args[rule->match.arg_first + at];
    if (rule->effect == EFFECT_AUTO_APPROVE) {
        return compared;
    }
    struct slice folded = slice_from(policy_text(e->policy, compared->key), 1);
    for (uint32_t i = 0; i < rule->match.arg_count; i++) {
        if (fold_eq(policy_text(e->policy, exact[i].key), folded)) {
            return &exact[i];
        }
    }
    return compared;
}

/* The first argument that the rule wants and the call has not, with both values. */
static void write_argument(const struct explanation *e, const struct rule *rule)
{
    for (uint32_t i = 0; i < rule->match.arg_count; i++) {
        if (has_argument(e, &e->policy->args[rule->match.arg_first + i])) {
            continue;
        }
        const struct match_arg *wanted = written_argument(e, rule, i);
        struct slice key = policy_text(e->policy, wanted->key);
        const struct json_value *got = got_argument(e, rule, key);
        buf_text(e->buf, ",\"argument\":");
        json_write_bytes(e->buf, key);
        buf_text(e->buf, ",\"wanted\":");
        write_wanted_values(e, &wanted->value);
        buf_text(e->buf, ",\"got\":");
        if (got != NULL) {
            json_write_canonical(e->buf, e->call->doc, got, JSON_NUMBER_EXACT);
        } else {
            buf_text(e->buf, "null,\"absent\":true");
        }
        return;
    }
}

/* What else there is to say than which field failed. */
static const char *outcome_of(enum match_field field)
{
    switch (field) {
    case FIELD_ALL:
        return ",\"matched\":true}";
    case FIELD_UNKNOWN:
        return ",\"matched\":false,\"stopped\":true}";
    case FIELD_NOTED:
        return ",\"matched\":false,\"noted\":true}";
    case FIELD_BARE:
        return ",\"matched\":false,\"bare\":true}";
    default:
        return NULL;
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
    const char *outcome = outcome_of(field);
    if (outcome != NULL) {
        buf_text(e->buf, outcome);
        return;
    }
    buf_printf(e->buf, ",\"matched\":false,\"field\":\"%s\"", match_field_name(field));
    if (field == FIELD_ARG_EQUALS) {
        write_argument(e, rule);
    } else {
        buf_text(e->buf, ",\"wanted\":");
        write_wanted(e, &rule->match, field);
        buf_text(e->buf, ",\"got\":");
        write_got(e, rule, field);
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

/* The string or value of the call that a path or a host came from. */
static void write_from(const struct explanation *e, const char *name, uint32_t at)
{
    if (at == 0) {
        return;
    }
    const struct json_value *value = &e->call->doc->values[at];
    buf_printf(e->buf, ",\"%s\":", name);
    if (value->type == JSON_STRING) {
        json_write_bytes(e->buf, json_str(value));
    } else {
        json_write_canonical(e->buf, e->call->doc, value, JSON_NUMBER_JOURNAL);
    }
}

/* The reading's path, and where it came from. */
static void write_origin(const struct explanation *e)
{
    static const char *const forms[] = {
        [READING_FORM_NONE] = "none",
        [READING_FORM_WRITTEN] = "as written",
        [READING_FORM_HOME] = "home",
        [READING_FORM_URI] = "file URI",
        [READING_FORM_NFC] = "NFC",
        [READING_FORM_NFD] = "NFD",
        [READING_FORM_USER_HOME] = "user home",
        [READING_FORM_BARE] = "without quotes or blanks",
        [READING_FORM_PATHSPEC] = "pathspec",
        [READING_FORM_EXPANDED] = "expanded",
        [READING_FORM_GLOB] = "glob",
    };
    static const char *const vias[] = {"resolution", "same file", "tree", "entry", "link"};
    const struct reading *r = e->reading;
    write_from(e, "from", r->value);
    if (r->kind != READING_PATH) {
        return;
    }
    buf_text(e->buf, ",\"path\":");
    json_write_bytes(e->buf, r->path);
    buf_printf(e->buf, ",\"read\":\"%s\",\"via\":\"%s\",\"dotdot\":\"%s\"",
               r->form < sizeof(forms) / sizeof(forms[0]) ? forms[r->form] : "none",
               r->via < sizeof(vias) / sizeof(vias[0]) ? vias[r->via] : "resolution",
               r->mode == PATH_KERNEL ? "after links" : "before links");
    if (r->start.len) {
        buf_text(e->buf, ",\"start\":");
        json_write_bytes(e->buf, r->start);
    }
}

/* The reading's command with what it acts on; of an unreadable one where its text cannot be read, and why. */
static void write_command(const struct explanation *e)
{
    const struct reading_command *command = e->reading->command;
    if (command == NULL) {
        return;
    }
    buf_text(e->buf, ",\"command\":");
    write_command_text(e);
    if ((command->command->flags & COMMAND_UNREADABLE) != 0) {
        buf_printf(e->buf, ",\"unreadableAt\":%u,\"unreadable\":\"%s\"", command->command->at,
                   command->command->reason == NULL ? "" : command->command->reason);
        return;
    }
    buf_text(e->buf, (command->command->flags & COMMAND_OPEN) != 0 ? ",\"open\":true" : "");
    buf_text(e->buf, (command->command->flags & COMMAND_ASSIGNED) != 0 ? ",\"assigned\":true" : "");
    buf_text(e->buf, ",\"places\":");
    write_texts(e, &command->places);
    buf_text(e->buf, command->place_unreadable ? ",\"placesKnown\":false" : "");
    if (command->hosts.count != 0) {
        buf_text(e->buf, ",\"hosts\":");
        write_texts(e, &command->hosts);
    }
    buf_text(e->buf, command->host_unreadable ? ",\"hostsKnown\":false" : "");
    buf_text(e->buf, ",\"span\":");
    write_optional(e->buf, command->span_known, command->span);
}

static void write_host(const struct explanation *e)
{
    const struct reading *r = e->reading;
    if (r->host_kind == READING_NO_HOST) {
        return;
    }
    buf_text(e->buf, ",\"host\":");
    write_optional(e->buf, r->host_kind == READING_HOST, r->host);
    buf_text(e->buf, r->host_kind == READING_HOST ? "" : ",\"hostUnreadable\":true");
    write_from(e, "hostFrom", r->host_value);
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
    write_command(e);
    write_host(e);
    buf_text(e->buf, e->reading->aside ? ",\"aside\":true" : "");
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
