/* callgate check: errors and warnings of policies, as text, JSON or SARIF. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/utf8.h"
#include "cli/colour.h"
#include "cli/commands.h"
#include "cli/journal/counted.h"
#include "cli/options.h"
#include "cli/policy/check_tools.h"
#include "cli/policy/sarif.h"
#include "cli/policy/upgrade.h"

static const char usage[] =
    "usage: callgate check [--format text|json|sarif] [--strict] --policy [TIER=]FILE...\n"
    "       callgate check --upgrade OLD... [--format text|json] --policy [TIER=]FILE...\n\n"
    "Loads policies and reports every error and warning, each at its place.\n\n"
    "  --policy [TIER=]FILE  a policy document; TIER: admin, user or workspace. Repeatable, in order\n"
    "  --format json|sarif   one JSON object on standard output; sarif: SARIF 2.1.0, for code scanning\n"
    "  --witness             for every rule that can fire, a call on which it decides\n"
    "  --strict              a warning, too, makes the exit code 1\n"
    "  --stats               warns of rules that never decided anything, by the journal of --state DIR\n"
    "  --since DATE          with --stats: that did not since then (2026-11-29, or with a time behind)\n"
    "  --tools               holds the policy against the tools that servers offer, as --state DIR knows "
    "them: names\n"
    "                        of servers, tools and arguments that no list has, arguments that look like "
    "paths,\n"
    "                        commands or URLs and are read as none, tools that no rule names\n"
    "  --tools-file [SERVER=]FILE  the same with the result of tools/list in a file; repeatable\n"
    "  --upgrade OLD...      names the calls that this release decides more strictly than the last. OLD: its "
    "program,\n"
    "                        which is asked, also about calls made up from the rules; a journal or a state\n"
    "                        directory, whose calls are judged again; a file of calls, beside the program\n"
    "  --cwd DIR, --home DIR, --root DIR  what relative paths and ~ start from\n\n"
    "Exit: 0 no error, or no call decided more strictly; 1 one; 2 could not be done.\n";

static void write_error_json(struct buf *buf, const struct finding *f)
{
    buf_text(buf, "{\"code\":");
    json_write_string(buf, slice_of(f->code));
    buf_text(buf, ",\"file\":");
    json_write_bytes(buf, f->file_name);
    buf_printf(buf, ",\"line\":%u,\"column\":%u,\"pointer\":", f->line, f->column);
    json_write_bytes(buf, f->pointer);
    buf_text(buf, ",\"rule\":");
    if (f->rule.len) {
        json_write_bytes(buf, f->rule);
    } else {
        buf_text(buf, "null");
    }
    buf_text(buf, ",\"message\":");
    json_write_bytes(buf, f->message);
    buf_byte(buf, '}');
}

static void write_member(struct buf *buf, const char *name, struct slice value)
{
    if (!value.len) {
        return;
    }
    buf_printf(buf, ",\"%s\":", name);
    json_write_bytes(buf, value);
}

static void write_warning_json(struct buf *buf, const struct finding *f)
{
    buf_text(buf, "{\"kind\":");
    json_write_string(buf, slice_of(f->code));
    write_member(buf, "file", f->file_name);
    buf_printf(buf, ",\"line\":%u", f->line);
    write_member(buf, "later", f->later);
    write_member(buf, "earlier", f->earlier);
    if (f->later.len) {
        buf_printf(buf, ",\"crossTier\":%s", f->cross_tier ? "true" : "false");
    } else {
        write_member(buf, "rule", f->rule);
    }
    if (f->by.len) {
        buf_text(buf, ",\"by\":");
        buf_slice(buf, f->by);
    }
    write_member(buf, "message", f->message);
    buf_byte(buf, '}');
}

static void write_json(struct buf *buf, const struct policy *policy, const struct findings *errors,
                       const struct findings *warnings)
{
    buf_printf(buf, "{\"ok\":%s,\"rules\":%u,\"errors\":[", errors->count == 0 ? "true" : "false",
               policy != NULL ? policy->rule_count : 0);
    for (size_t i = 0; i < errors->count; i++) {
        if (i) {
            buf_byte(buf, ',');
        }
        write_error_json(buf, &errors->list[i]);
    }
    buf_text(buf, "],\"warnings\":[");
    for (size_t i = 0; i < warnings->count; i++) {
        if (i) {
            buf_byte(buf, ',');
        }
        write_warning_json(buf, &warnings->list[i]);
    }
    buf_text(buf, "]}\n");
}

/* A policy that lets a call through that no rule matches: worth a word, and no warning, because it may be meant so. */
static bool allows_the_rest(const struct policy *policy)
{
    if (policy->required_all) {
        return false;
    }
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        const struct rule *rule = &policy->rules[i];
        struct match any = {.tool = rule->match.tool};
        if (rule->effect != EFFECT_AUTO_APPROVE && memcmp(&rule->match, &any, sizeof(any)) == 0 &&
            slice_is(policy_text(policy, any.tool), "*")) {
            return false; /* catches whatever the rules before it leave */
        }
    }
    return true;
}

static void write_text(struct buf *buf, const struct policy *policy, const struct findings *errors,
                       const struct findings *warnings, size_t doubts)
{
    sources_write_errors(buf, errors);
    for (size_t i = 0; i < warnings->count; i++) {
        const struct finding *f = &warnings->list[i];
        utf8_append_printable(buf, f->file_name);
        buf_printf(buf, ":%u:%u: ", f->line, f->column);
        colour_start(buf, COLOUR_YELLOW);
        buf_text(buf, "warning:");
        colour_end(buf);
        buf_byte(buf, ' ');
        utf8_append_printable(buf, f->message);
        buf_byte(buf, '\n');
    }
    if (policy == NULL || errors->count) {
        return;
    }
    colour_start(buf, COLOUR_GREEN);
    buf_text(buf, "OK:");
    colour_end(buf);
    buf_printf(buf, " %u rule(s), %zu warning(s)\n", policy->rule_count, warnings->count + doubts);
    if (allows_the_rest(policy)) {
        colour_start(buf, COLOUR_YELLOW);
        buf_text(buf, "Nearly everything is let through:");
        colour_end(buf);
        buf_text(buf, " a call that no rule matches is allowed. "
                      "\"requireAuthoredPolicy\": [\"*\"] would deny it.\n");
    }
}

/* Warns of each rule that never decided, or did so last before `since`. */
static bool add_unused(const struct policy *policy, const char *state_dir, const char *since,
                       struct findings *warnings)
{
    struct journal_counts counts;
    bool read = counted_read(&counts, state_dir);
    for (uint32_t i = 0; read && i < policy->rule_count; i++) {
        const struct rule *rule = &policy->rules[i];
        struct slice id = policy_text(policy, rule->id);
        struct journal_count count = journal_counts_of(&counts, id);
        if (count.last[0] != '\0' && strcmp(count.last, since) >= 0) {
            continue;
        }
        struct finding *f =
            findings_add(warnings, "unused", "rule '%.*s' %s%s: is it still needed?", SLICE_FMT(id),
                         count.last[0] ? "decided last at " : "never decided anything", count.last);
        if (f == NULL) {
            break;
        }
        f->file = rule->file;
        f->file_name = policy->files[rule->file].name;
        f->line = rule->line;
        f->column = rule->column;
        f->rule = id;
    }
    journal_counts_finish(&counts);
    return read;
}

/* The part of a tool's name before a slash, when it looks like the server that people write in front of it. */
static struct slice server_in(struct slice tool)
{
    const char *slash = memchr(tool.ptr, '/', tool.len);
    size_t len = slash != NULL ? (size_t)(slash - tool.ptr) : 0;
    return (struct slice){tool.ptr, len + 1 < tool.len ? len : 0};
}

/* Warns of `"tool": "fs/write_file"`: the journal shows calls so, and a rule has two fields for it. */
static void add_slashed(const struct policy *policy, struct findings *warnings)
{
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        const struct rule *rule = &policy->rules[i];
        struct match_values tools = match_values_by_text(policy, &rule->match.tool);
        for (uint32_t t = 0; t < tools.count; t++) {
            struct slice tool = policy_text(policy, tools.list[t]), server = server_in(tool);
            if (server.len == 0) {
                continue;
            }
            struct finding *f =
                findings_add(warnings, "tool-name",
                             "rule '%.*s' (line %u): no tool of server '%.*s' is called '%.*s' — write "
                             "\"server\": \"%.*s\", "
                             "\"tool\": \"%.*s\", unless the slash is part of the tool's own name.",
                             SLICE_FMT(policy_text(policy, rule->id)), rule->line, SLICE_FMT(server),
                             SLICE_FMT(tool), SLICE_FMT(server), SLICE_FMT(slice_from(tool, server.len + 1)));
            if (f == NULL) {
                return;
            }
            f->file = rule->file;
            f->file_name = policy->files[rule->file].name;
            f->line = rule->line;
            f->column = rule->column;
            f->rule = policy_text(policy, rule->id);
            break;
        }
    }
}

/* Whether a warning says already that a rule never decides. */
static bool never_decides(const struct findings *warnings, struct slice id)
{
    for (size_t i = 0; i < warnings->count; i++) {
        const struct finding *f = &warnings->list[i];
        if ((strcmp(f->code, "dead") == 0 && slice_eq(f->rule, id)) ||
            (strcmp(f->code, "shadow") == 0 && !f->cross_tier && slice_eq(f->later, id))) {
            return true;
        }
    }
    return false;
}

/* For each rule that can fire a call on which it decides. */
static void write_witnesses(struct buf *buf, const struct policy *policy, const struct findings *warnings,
                            struct analysis *analysis, bool json)
{
    struct buf call;
    bool any = false;
    buf_init(&call, (size_t)64 << 20);
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        struct slice id = policy_text(policy, policy->rules[i].id);
        buf_reset(&call);
        bool found = dead_witness(analysis, i, &call);
        if (!found && never_decides(warnings, id)) {
            continue;
        }
        if (json) {
            buf_text(buf, any ? ",{\"rule\":" : "{\"rule\":");
            json_write_bytes(buf, id);
            buf_text(buf, ",\"call\":");
            buf_slice(buf, found ? buf_slice_of(&call) : SLICE("null"));
            buf_byte(buf, '}');
        } else {
            buf_text(buf, "witness of '");
            utf8_append_printable(buf, id);
            buf_text(buf, "': ");
            utf8_append_printable(buf, found ? buf_slice_of(&call)
                                             : SLICE("no call could be made: files may rule it out"));
            buf_byte(buf, '\n');
        }
        any = true;
    }
    buf_finish(&call);
}

struct own {
    bool strict, stats, witness, sarif, tools;
    const char *since;
    struct option_list olds;  /* --upgrade */
    struct option_list lists; /* --tools-file */
};

/* Everything that is found, and what was asked for beside it. */
struct report {
    struct findings errors, warnings;
    struct policy *policy;
    struct analysis *analysis;
    struct buf out;
    size_t doubts; /* warnings about the files themselves, on standard error */
};

static void write_report(struct report *report, const struct options *options, const struct own *own)
{
    struct buf *out = &report->out;
    if (own->sarif) {
        sarif_write(out, &report->errors, &report->warnings);
    } else if (options->json) {
        write_json(out, report->policy, &report->errors, &report->warnings);
        if (own->witness && report->analysis != NULL && buf_ok(out)) {
            out->len -= 2; /* the closing brace and the line's end come behind one more member */
            buf_text(out, ",\"witnesses\":[");
            write_witnesses(out, report->policy, &report->warnings, report->analysis, true);
            buf_text(out, "]}\n");
        }
    } else {
        write_text(out, report->policy, &report->errors, &report->warnings, report->doubts);
        if (own->witness && report->analysis != NULL) {
            write_witnesses(out, report->policy, &report->warnings, report->analysis, false);
        }
    }
}

/* Whether a file could not be read at all: nothing is known of it then. */
static bool is_unread(const struct report *report)
{
    for (size_t i = 0; i < report->errors.count; i++) {
        if (strcmp(report->errors.list[i].code, "file") == 0 && report->policy == NULL) {
            return true;
        }
    }
    return false;
}

static int check(struct options *options, const struct own *own)
{
    struct report report = {0};
    bool whole = true;
    findings_init(&report.errors);
    findings_init(&report.warnings);
    buf_init(&report.out, (size_t)1 << 30);
    report.policy = sources_load(&options->sources, &options->base, NULL, &report.errors);
    if (report.policy != NULL) {
        lint(report.policy, &report.warnings);
        add_slashed(report.policy, &report.warnings);
        report.analysis = analysis_create(report.policy, NULL, NULL, 0, &options->base);
        whole = report.analysis != NULL;
        if (whole) {
            dead_find(report.analysis, &report.warnings);
        }
        if (own->stats && !add_unused(report.policy, options->state_dir, own->since != NULL ? own->since : "",
                                      &report.warnings)) {
            whole = false;
        }
        if (own->tools &&
            !check_tools(report.policy, &options->base, options->state_dir, &own->lists, &report.warnings)) {
            whole = false;
        }
        findings_sort(&report.warnings);
    }
    struct buf doubts;
    buf_init(&doubts, 1u << 20);
    sources_write_doubts(&doubts, &options->sources);
    say_lines(&doubts);
    for (size_t i = 0; i < doubts.len; i++) {
        report.doubts += doubts.ptr[i] == '\n';
    }
    buf_finish(&doubts);
    write_report(&report, options, own);
    int code = EXIT_UNABLE;
    if (report.errors.failed || report.warnings.failed || !whole) {
        say("the check is not whole: no memory, no journal, or no list of tools");
    } else if (print(&report.out) == EXIT_YES) {
        bool found = report.policy == NULL || report.errors.count > 0 ||
                     (own->strict && report.warnings.count + report.doubts > 0);
        code = is_unread(&report) ? EXIT_UNABLE : found ? EXIT_NO : EXIT_YES;
    }
    analysis_destroy(report.analysis);
    policy_destroy(report.policy);
    findings_finish(&report.errors);
    findings_finish(&report.warnings);
    buf_finish(&report.out);
    return code;
}

/* The release before: what --upgrade names, and the words behind it. */
static int check_upgrade(struct options *options, const struct own *own)
{
    struct option_list olds = {0};
    int code = EXIT_UNABLE;
    olds.items = arena_array(&options->arena, own->olds.count + (size_t)options->argc, sizeof(*olds.items));
    struct policy *policy = olds.items != NULL ? options_load_policy(&command_check, options) : NULL;
    struct analysis *analysis =
        policy != NULL ? analysis_create(policy, NULL, NULL, 0, &options->base) : NULL;
    for (size_t i = 0; i < own->olds.count && analysis != NULL; i++) {
        olds.items[olds.count++] = own->olds.items[i];
    }
    for (int i = 0; i < options->argc && analysis != NULL; i++) {
        olds.items[olds.count++] = options->argv[i];
    }
    if (analysis != NULL) {
        code = upgrade_check(options, policy, analysis, &olds);
    } else if (policy != NULL) {
        say("no memory");
    }
    analysis_destroy(analysis);
    policy_destroy(policy);
    return code;
}

/* 2026-11-29, or with a time behind as the journal writes it: then texts compare as times do. */
static bool is_date(const char *text)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    size_t len = strlen(text);
    if (len < 10 || len > sizeof(form) - 1) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) {
            return false;
        }
    }
    return true;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct own own = {0};
    const char *format = "text";
    const struct option_spec specs[] = {
        {"strict", OPTION_FLAG, &own.strict},       {"stats", OPTION_FLAG, &own.stats},
        {"since", OPTION_VALUE, &own.since},        {"witness", OPTION_FLAG, &own.witness},
        {"tools", OPTION_FLAG, &own.tools},         {"tools-file", OPTION_LIST, &own.lists},
        {"upgrade", OPTION_LIST, &own.olds},        {"format", OPTION_VALUE, &format},
        {"json", OPTION_FLAG, &options.json_asked},
    };
    int code = options_read(&options, &command_check, argc, argv, TAKES_POLICY | TAKES_PATHS | TAKES_STATE,
                            specs, sizeof(specs) / sizeof(*specs));
    if (code != -1) {
        return code;
    }
    own.sarif = strcmp(format, "sarif") == 0;
    own.tools = own.tools || own.lists.count > 0;
    options.json = strcmp(format, "json") == 0 || options.json_asked;
    if (!own.sarif && !options.json && strcmp(format, "text") != 0) {
        code = usage_error(&command_check, "--format is text, json or sarif");
    } else if (own.since != NULL && !own.stats) {
        code = usage_error(&command_check, "--since goes with --stats");
    } else if (own.since != NULL && !is_date(own.since)) {
        code = usage_error(&command_check, "--since is a date: 2026-11-29, or 2026-11-29T20:00:00.000Z");
    } else if (own.olds.count > 0 && (own.sarif || own.strict || own.stats || own.witness || own.tools)) {
        code =
            usage_error(&command_check, "--upgrade goes with --format text or json, and no other question");
    } else if (own.olds.count > 0) {
        code = check_upgrade(&options, &own);
    } else if (options.argc > 0) {
        code = usage_error(&command_check, "unexpected argument '%s'; policies are named with --policy",
                           options.argv[0]);
    } else if (!options_standard_places(&command_check, &options)) {
        code = EXIT_UNABLE;
    } else {
        code = check(&options, &own);
    }
    free(own.olds.items);
    free(own.lists.items);
    options_finish(&options);
    return code;
}

const struct cli_command command_check = {"check", "report every error and warning of a policy", usage, run};
