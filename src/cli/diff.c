#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate diff [--format text|json] [--fail-on violation|weaker|any] [TIER=]OLD [TIER=]NEW\n\n"
    "Compares two policies: every class of calls whose decision changes, with the deciding rules on both "
    "sides,\n"
    "weaker or stricter, and a call that shows it; and each new auto_approve rule that weakens a deny of the "
    "old\n"
    "policy, for which a reload is refused. A class is exactly the calls of its match (`calls`) that no "
    "match under\n"
    "`except` has. Both digests are named: `callgate acknowledge` takes the new one.\n\n"
    "  --fail-on WHAT        exit 1 for violations only, for weaker classes too (the default), or for any "
    "class\n"
    "  --old [TIER=]FILE, --new [TIER=]FILE  more files of either side; repeatable\n"
    "  --format json         one JSON object on standard output\n"
    "  --cwd DIR, --home DIR what relative prefixes and ~ start from\n\n"
    "Exit: 0 nothing of that kind, 1 something, 2 could not be done.\n";

struct side {
    struct sources sources;
    struct option_list more;
    struct policy *policy;
    char digest[HASH_HEX + 1];
};

static bool load_side(struct side *side, const char *first, const struct path_base *base)
{
    struct buf error;
    struct findings errors;
    buf_init(&error, 64u << 20);
    findings_init(&errors);
    bool ok = sources_init(&side->sources) && (!first || sources_add(&side->sources, first, &error));
    for (size_t i = 0; ok && i < side->more.count; i++)
        ok = sources_add(&side->sources, side->more.items[i], &error);
    if (ok) {
        side->policy = sources_load(&side->sources, base, NULL, &errors);
        sources_write_errors(&error, &errors);
    }
    say_lines(&error);
    buf_finish(&error);
    findings_finish(&errors);
    return side->policy != NULL && policy_digest(side->policy, side->digest);
}

static void finish_side(struct side *side)
{
    policy_destroy(side->policy);
    sources_finish(&side->sources);
    free(side->more.items);
}

/* ---- JSON ---- */

static void write_side_json(struct buf *out, const struct policy *policy, const struct diff_side *side)
{
    buf_printf(out, "{\"kind\":\"%s\"", decision_kind_name(side->kind));
    if (side->rule || side->kind == DECISION_DENY) {
        buf_text(out, ",\"rule\":");
        json_write_bytes(out, side->rule ? policy_text(policy, side->rule->id) : SLICE("default"));
    }
    buf_byte(out, '}');
}

static void write_place_json(struct buf *out, const char *member, const struct policy *policy,
                             const struct rule *rule)
{
    if (!rule)
        return;
    buf_printf(out, ",\"%s\":{\"file\":", member);
    json_write_bytes(out, policy->files[rule->file].name);
    buf_printf(out, ",\"line\":%u}", rule->line);
}

static void write_excepts_json(struct buf *out, const struct diff_class *class)
{
    buf_text(out, ",\"except\":[");
    for (size_t i = 0; i < class->except_count; i++) {
        if (i)
            buf_byte(out, ',');
        buf_slice(out, class->except[i]);
    }
    buf_byte(out, ']');
}

static void write_class_json(struct buf *out, const struct side *old, const struct side *new,
                             const struct diff_class *class)
{
    buf_printf(out, "{\"weaker\":%s,\"from\":", class->weaker ? "true" : "false");
    write_side_json(out, old->policy, &class->from);
    buf_text(out, ",\"to\":");
    write_side_json(out, new->policy, &class->to);
    buf_text(out, ",\"match\":");
    buf_slice(out, class->match.len ? class->match : SLICE("{}"));
    buf_text(out, ",\"witness\":");
    buf_slice(out, class->witness.ptr ? class->witness : SLICE("null"));
    if (!class->list)
        write_excepts_json(out, class);
    write_place_json(out, "fromAt", old->policy, class->from.rule);
    write_place_json(out, "toAt", new->policy, class->to.rule);
    if (class->list) {
        buf_printf(out, ",\"list\":\"%s\",\"name\":", class->list);
        json_write_bytes(out, class->name);
        buf_printf(out, ",\"added\":%s", class->added ? "true" : "false");
    }
    buf_byte(out, '}');
}

static void write_json(struct buf *out, const struct side *old, const struct side *new,
                       const struct violations *violations, const struct diff *diff)
{
    buf_text(out, "{\"violations\":[");
    for (size_t i = 0; i < violations->count; i++) {
        const struct violation *v = &violations->list[i];
        buf_text(out, i ? ",{\"newRule\":" : "{\"newRule\":");
        json_write_bytes(out, v->new_rule);
        buf_text(out, ",\"existingDeny\":");
        json_write_bytes(out, v->existing_deny);
        buf_text(out, ",\"message\":");
        json_write_bytes(out, v->message);
        buf_byte(out, '}');
    }
    buf_text(out, "],\"classes\":[");
    for (size_t i = 0; i < diff->count; i++) {
        if (i)
            buf_byte(out, ',');
        write_class_json(out, old, new, &diff->list[i]);
    }
    buf_printf(out, "],\"digests\":{\"old\":\"%s\",\"new\":\"%s\"}}\n", old->digest, new->digest);
}

/* ---- Text ---- */

static void write_side_text(struct buf *out, const struct policy *policy, const struct diff_side *side)
{
    buf_text(out, decision_kind_name(side->kind));
    if (!side->rule) {
        buf_text(out, side->kind == DECISION_DENY ? " by default" : ", no rule");
        return;
    }
    buf_text(out, " by '");
    utf8_append_printable(out, policy_text(policy, side->rule->id));
    buf_text(out, "' (");
    utf8_append_printable(out, policy->files[side->rule->file].name);
    buf_printf(out, ":%u", side->rule->line);
    if (side->kind == DECISION_REQUIRE)
        buf_printf(out, ", %u approver(s), ttlMs %u, scope %s", side->rule->approvers, side->rule->ttl_ms,
                   scope_name((enum scope)side->rule->scope));
    buf_byte(out, ')');
}

#define EXCEPTS_SHOWN 8u

static void write_class_text(struct buf *out, const struct side *old, const struct side *new,
                             const struct diff_class *class)
{
    buf_text(out, class->weaker ? "WEAKER    " : "stricter  ");
    if (class->list) {
        buf_printf(out, "%s: '", class->list);
        utf8_append_printable(out, class->name);
        buf_text(out, class->added ? "' is added; " : "' is taken away; ");
    }
    write_side_text(out, old->policy, &class->from);
    buf_text(out, " -> ");
    write_side_text(out, new->policy, &class->to);
    buf_text(out, "\n    calls    ");
    utf8_append_printable(out, class->match);
    for (size_t i = 0; i < class->except_count && i < EXCEPTS_SHOWN; i++) {
        buf_text(out, i ? "\n             " : "\n    except   ");
        utf8_append_printable(out, class->except[i]);
    }
    if (class->except_count > EXCEPTS_SHOWN)
        buf_printf(out, "\n             and %zu more: --format json lists them all",
                   class->except_count - EXCEPTS_SHOWN);
    buf_text(out, "\n    such as  ");
    utf8_append_printable(out, class->witness.ptr ? class->witness
                                                  : SLICE("(no call could be made: files may rule it out)"));
    buf_byte(out, '\n');
}

static void write_text(struct buf *out, const struct side *old, const struct side *new,
                       const struct violations *violations, const struct diff *diff)
{
    for (size_t i = 0; i < violations->count; i++) {
        utf8_append_printable(out, violations->list[i].message);
        buf_byte(out, '\n');
    }
    for (size_t i = 0; i < diff->count; i++)
        write_class_text(out, old, new, &diff->list[i]);
    size_t weaker = 0;
    for (size_t i = 0; i < diff->count; i++)
        weaker += diff->list[i].weaker;
    buf_printf(out, "%zu violation(s), %zu class(es) of calls change, %zu of them weaker\nold %s\nnew %s\n",
               violations->count, diff->count, weaker, old->digest, new->digest);
}

/* ---- The command ---- */

enum fail_on { FAIL_ON_VIOLATION, FAIL_ON_WEAKER, FAIL_ON_ANY };

static bool read_fail_on(const char *text, enum fail_on *ret)
{
    static const char *const names[] = {"violation", "weaker", "any"};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum fail_on)i;
            return true;
        }
    }
    return false;
}

static bool fails(enum fail_on fail_on, const struct violations *violations, const struct diff *diff)
{
    bool weaker = false;
    for (size_t i = 0; i < diff->count; i++)
        weaker = weaker || diff->list[i].weaker;
    return violations->count > 0 || (fail_on == FAIL_ON_WEAKER && weaker) ||
           (fail_on == FAIL_ON_ANY && diff->count > 0);
}

static int compare(const struct side *old, const struct side *new, const struct options *options,
                   enum fail_on fail_on)
{
    struct violations violations;
    struct diff diff;
    struct buf out;
    violations_init(&violations);
    diff_init(&diff);
    buf_init(&out, (size_t)1 << 30);
    violations_find(old->policy, new->policy, &violations);
    diff_find(old->policy, new->policy, &options->base, DIFF_EXCEPT, &diff);
    (options->json ? write_json : write_text)(&out, old, new, &violations, &diff);
    int code = EXIT_UNABLE;
    if (violations.failed || diff.failed)
        say("the comparison is not whole: no memory, or too many classes");
    else if (print(&out) == EXIT_YES)
        code = fails(fail_on, &violations, &diff) ? EXIT_NO : EXIT_YES;
    violations_finish(&violations);
    diff_finish(&diff);
    buf_finish(&out);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct side old = {0}, new = {0};
    const char *fail_on_name = "weaker";
    enum fail_on fail_on = FAIL_ON_WEAKER;
    const struct option_spec own[] = {
        {"old", OPTION_LIST, &old.more},
        {"new", OPTION_LIST, &new.more},
        {"fail-on", OPTION_VALUE, &fail_on_name},
    };
    int code = options_read(&options, &command_diff, argc, argv, TAKES_PATHS | TAKES_FORMAT, own, 3);
    if (code != -1)
        return code;
    bool named = options.argc == 2 || (options.argc == 0 && old.more.count && new.more.count);
    if (!named)
        code = usage_error(&command_diff, "name two policies, OLD and NEW");
    else if (!read_fail_on(fail_on_name, &fail_on))
        code = usage_error(&command_diff, "--fail-on is violation, weaker or any");
    else if (!load_side(&old, options.argc ? options.argv[0] : NULL, &options.base) ||
             !load_side(&new, options.argc ? options.argv[1] : NULL, &options.base))
        code = EXIT_UNABLE;
    else
        code = compare(&old, &new, &options, fail_on);
    finish_side(&old);
    finish_side(&new);
    options_finish(&options);
    return code;
}

const struct command command_diff = {"diff", "list every class of calls whose decision changes", usage, run};
