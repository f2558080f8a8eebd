/* Warnings about rules: shadows, overridden allows, and rules that are too broad. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/shadows_internal.h"
#include "base/utf8.h"

/* What is found before anything is written: all by rule, in load order. */
struct lint {
    const struct policy *policy;
    uint32_t *earlier;             /* the rule that shadows it within its tier; NOWHERE: none */
    struct shadows_denies *denies; /* the admin denies that meet it */
    bool shadows_whole, denies_whole;
    struct findings *out;
    struct buf later_text, earlier_text; /* printable ids */
};

/* ---- Writing ---- */

static struct slice printable(struct buf *buf, struct slice text)
{
    buf_reset(buf);
    utf8_append_printable(buf, text);
    return buf_ok(buf) ? buf_slice_of(buf) : SLICE("?");
}

static struct slice id_of(const struct policy *policy, uint32_t rule)
{
    return policy_text(policy, policy->rules[rule].id);
}

/* Gives a finding its place; NULL (no memory) passes. */
static struct finding *place(const struct lint *lint, struct finding *finding, uint32_t rule)
{
    if (finding == NULL) {
        return NULL;
    }
    const struct rule *at = &lint->policy->rules[rule];
    finding->file = at->file;
    finding->line = at->line;
    finding->column = at->column;
    finding->file_name = arena_copy(&lint->out->arena, lint->policy->files[at->file].name);
    lint->out->failed = lint->out->failed || finding->file_name.ptr == NULL;
    return finding;
}

static void name_rule(const struct lint *lint, struct slice *ret_name, uint32_t rule)
{
    *ret_name = arena_copy(&lint->out->arena, id_of(lint->policy, rule));
    lint->out->failed = lint->out->failed || ret_name->ptr == NULL;
}

/* "line M", or "line M of FILE" when that is another file than the later rule's. */
static struct slice line_of(struct lint *lint, uint32_t rule, uint32_t beside, struct buf *buf)
{
    const struct rule *at = &lint->policy->rules[rule];
    buf_reset(buf);
    buf_text(buf, "line ");
    buf_u64(buf, at->line);
    if (at->file != lint->policy->rules[beside].file) {
        buf_text(buf, " of ");
        utf8_append_printable(buf, lint->policy->files[at->file].name);
    }
    return buf_ok(buf) ? buf_slice_of(buf) : SLICE("?");
}

static void write_shadow(struct lint *lint, uint32_t later, uint32_t earlier, struct buf *line)
{
    struct slice a = printable(&lint->later_text, id_of(lint->policy, later));
    struct slice b = printable(&lint->earlier_text, id_of(lint->policy, earlier));
    struct slice at = line_of(lint, earlier, later, line);
    struct finding *finding =
        findings_add(lint->out, "shadow",
                     "rule '%.*s' (line %u) is shadowed by earlier rule '%.*s' (%.*s) \xe2\x80\x94 "
                     "reorder or narrow the earlier rule.",
                     SLICE_FMT(a), lint->policy->rules[later].line, SLICE_FMT(b), SLICE_FMT(at));
    if (place(lint, finding, later) != NULL) {
        name_rule(lint, &finding->later, later);
        name_rule(lint, &finding->earlier, earlier);
    }
}

static void write_cross_tier(struct lint *lint, uint32_t later, struct buf *line)
{
    const struct shadows_denies *denies = &lint->denies[later];
    struct slice a = printable(&lint->later_text, id_of(lint->policy, later));
    struct slice b = printable(&lint->earlier_text, id_of(lint->policy, denies->first));
    struct slice at = line_of(lint, denies->first, later, line);
    char more[64] = "";
    if (denies->count > 1) {
        (void)snprintf(more, sizeof(more), " and %s%u more", lint->denies_whole ? "" : "at least ",
                       denies->count - 1);
    }
    struct finding *finding = findings_add(
        lint->out, "shadow",
        "auto_approve rule '%.*s' (line %u, tier %s) is overridden by admin deny '%.*s' (%.*s)%s wherever "
        "they meet \xe2\x80\x94 narrow it, or settle it with whoever owns the admin tier.",
        SLICE_FMT(a), lint->policy->rules[later].line, tier_name((enum tier)lint->policy->rules[later].tier),
        SLICE_FMT(b), SLICE_FMT(at), more);
    if (place(lint, finding, later) != NULL) {
        name_rule(lint, &finding->later, later);
        name_rule(lint, &finding->earlier, denies->first);
        finding->cross_tier = true;
    }
}

static void write_broad(struct lint *lint, uint32_t rule)
{
    struct slice id = printable(&lint->later_text, id_of(lint->policy, rule));
    struct finding *finding =
        findings_add(lint->out, "broad",
                     "rule '%.*s' (line %u) allows every tool that it can be about \xe2\x80\x94 add tool or "
                     "toolPrefix, or say "
                     "\"tool\": \"*\" beside pathPrefix, pathComponent, a command or host.",
                     SLICE_FMT(id), lint->policy->rules[rule].line);
    if (place(lint, finding, rule) != NULL) {
        name_rule(lint, &finding->rule, rule);
    }
}

static void write_session_wide(struct lint *lint, uint32_t rule)
{
    struct slice id = printable(&lint->later_text, id_of(lint->policy, rule));
    struct finding *finding =
        findings_add(lint->out, "session-wide",
                     "rule '%.*s' (line %u) asks for every tool and its approval covers the session: one yes "
                     "opens all of it "
                     "\xe2\x80\x94 write \"scope\": \"call\", or name what it asks about.",
                     SLICE_FMT(id), lint->policy->rules[rule].line);
    if (place(lint, finding, rule) != NULL) {
        name_rule(lint, &finding->rule, rule);
    }
}

static void write_runs_anything(struct lint *lint, uint32_t rule, struct slice program)
{
    struct slice id = printable(&lint->later_text, id_of(lint->policy, rule));
    struct slice name = printable(&lint->earlier_text, program);
    struct finding *finding =
        findings_add(lint->out, "runs-anything",
                     "rule '%.*s' (line %u) allows '%.*s' with any words, and that program runs what it is "
                     "told \xe2\x80\x94 name "
                     "more words, or deny or ask before it what must not be run, by commandWord.",
                     SLICE_FMT(id), lint->policy->rules[rule].line, SLICE_FMT(name));
    if (place(lint, finding, rule) != NULL) {
        name_rule(lint, &finding->rule, rule);
    }
}

static void write_missing_prefix(struct lint *lint, uint32_t rule, uint32_t prefix)
{
    struct slice id = printable(&lint->later_text, id_of(lint->policy, rule));
    struct slice path = printable(&lint->earlier_text, lint->policy->prefixes->list[prefix - 1].path);
    struct finding *finding = findings_add(
        lint->out, "missing-prefix",
        "rule '%.*s' (line %u): pathPrefix '%.*s' does not exist \xe2\x80\x94 check the spelling%s; a link "
        "made there later is not followed until a reload.",
        SLICE_FMT(id), lint->policy->rules[rule].line, SLICE_FMT(path),
        memchr(path.ptr, '*', path.len) != NULL ? ", '*' stands for itself and a prefix covers all below it"
                                                : "");
    if (place(lint, finding, rule) != NULL) {
        name_rule(lint, &finding->rule, rule);
    }
}

/* Splits mcp__SERVER__TOOL at the first `__` behind the server, for the message. */
static void write_flattened(struct lint *lint, uint32_t rule, uint32_t symbol)
{
    struct slice id = printable(&lint->later_text, id_of(lint->policy, rule));
    struct slice tool = printable(&lint->earlier_text, policy_text(lint->policy, symbol));
    struct slice flat = SLICE("mcp__");
    struct slice rest = slice_from(tool, tool.len < flat.len ? tool.len : flat.len);
    const char *split = rest.len == 0 ? NULL : memmem(rest.ptr, rest.len, "__", 2);
    struct finding *finding;
    if (split != NULL && split != rest.ptr && split + 2 != rest.ptr + rest.len) {
        struct slice server = {rest.ptr, (size_t)(split - rest.ptr)};
        struct slice name = slice_from(rest, server.len + 2);
        finding = findings_add(
            lint->out, "flattened-name",
            "rule '%.*s' (line %u): '%.*s' is a flattened name, and calls carry the server apart "
            "\xe2\x80\x94 write \"server\": \"%.*s\", \"tool\": \"%.*s\".",
            SLICE_FMT(id), lint->policy->rules[rule].line, SLICE_FMT(tool), SLICE_FMT(server),
            SLICE_FMT(name));
    } else {
        finding = findings_add(
            lint->out, "flattened-name",
            "rule '%.*s' (line %u): '%.*s' looks like a flattened name, and calls carry the server "
            "apart \xe2\x80\x94 write server and tool.",
            SLICE_FMT(id), lint->policy->rules[rule].line, SLICE_FMT(tool));
    }
    if (place(lint, finding, rule) != NULL) {
        name_rule(lint, &finding->rule, rule);
    }
}

/* ---- One rule by itself ---- */

/* The first word of a command pattern by its last path component. */
static struct slice program_of(const struct command_pattern *pattern)
{
    struct slice word = pattern->words[0].text;
    const char *slash = memrchr(word.ptr, '/', word.len);
    return slash == NULL ? word : slice_from(word, (size_t)(slash - word.ptr) + 1);
}

/* Whether a rule names a program and a later word of it. */
static bool names_word_of(const struct policy *policy, const struct rule *rule, struct slice program)
{
    const uint32_t *value = rule->match.command != 0 ? &rule->match.command : &rule->match.command_prefix;
    struct match_values values = match_values(policy, value);
    for (uint32_t i = 0; rule->match.command_word != 0 && i < values.count; i++) {
        if (slice_eq(program_of(&policy_pattern(policy, values.list[i])->command), program)) {
            return true;
        }
    }
    return false;
}

/* Whether a deny or a require_approval before a rule is about words of a program. */
static bool is_looked_at(const struct policy *policy, uint32_t rule, struct slice program)
{
    for (uint32_t i = 0; i < rule; i++) {
        if (policy->rules[i].effect != EFFECT_AUTO_APPROVE &&
            names_word_of(policy, &policy->rules[i], program)) {
            return true;
        }
    }
    return false;
}

static void look_at_commands(struct lint *lint, uint32_t rule)
{
    const struct policy *policy = lint->policy;
    struct match_values values = match_values(policy, &policy->rules[rule].match.command_prefix);
    for (uint32_t i = 0; i < values.count; i++) {
        const struct command_pattern *pattern = &policy_pattern(policy, values.list[i])->command;
        struct slice program = program_of(pattern);
        if (pattern->count == 1 && command_name_runs_anything(program) &&
            !is_looked_at(policy, rule, program)) {
            write_runs_anything(lint, rule, program);
            return;
        }
    }
}

static void look_at_lists(struct lint *lint, uint32_t rule)
{
    const struct policy *policy = lint->policy;
    const struct match *match = &policy->rules[rule].match;
    struct match_values prefixes = match_values(policy, &match->path_prefix),
                        tools = match_values(policy, &match->tool);
    for (uint32_t i = 0; i < prefixes.count; i++) {
        if (!policy->prefixes->list[prefixes.list[i] - 1].exists) {
            write_missing_prefix(lint, rule, prefixes.list[i]);
            break; /* one warning for a rule */
        }
    }
    for (uint32_t i = 0; i < tools.count; i++) {
        if (slice_starts_with(policy_text(policy, tools.list[i]), SLICE("mcp__"))) {
            write_flattened(lint, rule, tools.list[i]);
            break;
        }
    }
}

static void write_rule(struct lint *lint, uint32_t rule, struct buf *line)
{
    const uint8_t places = READING_FIELD_PATH | READING_FIELD_COMMAND | READING_FIELD_HOST;
    const struct rule *at = &lint->policy->rules[rule];
    bool any_tool = at->match.tool == 0 && at->match.tool_prefix == 0, looks = (at->looks & places) != 0;
    if (lint->earlier[rule] != NOWHERE) {
        write_shadow(lint, rule, lint->earlier[rule], line);
    }
    if (lint->denies[rule].first != NOWHERE) {
        write_cross_tier(lint, rule, line);
    }
    if (at->effect == EFFECT_AUTO_APPROVE && any_tool && !((at->looks & RULE_ANY_TOOL) != 0 && looks)) {
        write_broad(lint, rule);
    }
    if (at->effect == EFFECT_REQUIRE_APPROVAL && at->scope == SCOPE_SESSION && any_tool && !looks &&
        at->match.arg_count == 0) {
        write_session_wide(lint, rule);
    }
    if (at->effect == EFFECT_AUTO_APPROVE) {
        look_at_commands(lint, rule);
    }
    look_at_lists(lint, rule);
}

/* What makes calls slow and changes no decision. */
static void write_long_chain(struct lint *lint)
{
    const struct rule *first;
    uint32_t count = policy_longest_chain(lint->policy, &first);
    if (count <= POLICY_LONG_CHAIN || lint->out->failed) {
        return;
    }
    uint32_t rule = (uint32_t)(first - lint->policy->rules);
    struct slice id = printable(&lint->later_text, id_of(lint->policy, rule));
    struct finding *finding = findings_add(
        lint->out, "long-chain",
        "rule '%.*s' and %u others have every field alike but for arguments that many rules have, so calls "
        "that meet them are compared with each in turn \xe2\x80\x94 give each an argument or a field of its "
        "own.",
        SLICE_FMT(id), count - 1);
    if (place(lint, finding, rule) != NULL) {
        name_rule(lint, &finding->rule, rule);
    }
}

static void write_all(struct lint *lint)
{
    struct buf line;
    buf_init(&line, LIMIT_MESSAGE_BYTES);
    buf_init(&lint->later_text, LIMIT_MESSAGE_BYTES);
    buf_init(&lint->earlier_text, LIMIT_MESSAGE_BYTES);
    for (uint32_t i = 0; i < lint->policy->rule_count && !lint->out->failed; i++) {
        write_rule(lint, i, &line);
    }
    write_long_chain(lint);
    if (!lint->shadows_whole || !lint->denies_whole) {
        struct finding *finding = findings_add(
            lint->out, "lint-limit",
            "comparing the rules was given up after very many steps: warnings of kind shadow may be "
            "missing \xe2\x80\x94 use fewer different sets of argEquals.");
        if (lint->policy->rule_count != 0) {
            (void)place(lint, finding, 0);
        }
    }
    buf_finish(&line);
    buf_finish(&lint->later_text);
    buf_finish(&lint->earlier_text);
}

void lint(const struct policy *policy, struct findings *ret_warnings)
{
    struct lint lint = {.policy = policy, .out = ret_warnings};
    lint.earlier = calloc((size_t)policy->rule_count + 1, sizeof(*lint.earlier));
    lint.denies = calloc((size_t)policy->rule_count + 1, sizeof(*lint.denies));
    if (lint.earlier != NULL && lint.denies != NULL &&
        shadows_find(policy, lint.earlier, &lint.shadows_whole) &&
        shadows_find_denies(policy, lint.denies, &lint.denies_whole)) {
        write_all(&lint);
    } else {
        ret_warnings->failed = true;
    }
    free(lint.earlier);
    free(lint.denies);
}

void lint_write_text(struct buf *buf, const struct finding *warning)
{
    buf_text(buf, "policy-load: warning: ");
    buf_slice(buf, warning->message);
}
