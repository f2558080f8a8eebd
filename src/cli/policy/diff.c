/* callgate diff: the classes of calls whose decision changes between two policies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    "`except` has. Places under `confine` are compared as written: one more in `write`, or one less in "
    "`read`, is\n"
    "weaker. Both digests are named: `callgate acknowledge` takes the new one.\n\n"
    "  --fail-on WHAT        exit 1 for violations only, for weaker classes too (the default), or for any "
    "class; what "
    "changes\n"
    "                        where a path cannot be resolved is shown beside, and is none of these\n"
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
    bool ok = sources_init(&side->sources) && (first == NULL || sources_add(&side->sources, first, &error));
    for (size_t i = 0; ok && i < side->more.count; i++) {
        ok = sources_add(&side->sources, side->more.items[i], &error);
    }
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

/* ---- Prefixes that no rule names any more ---- */

#define ABOVE_MOST (LIMIT_PATH_BYTES / 2 + 2)

static bool names_prefix(const struct policy *policy, struct slice path)
{
    uint32_t above[ABOVE_MOST];
    size_t count = path_prefixes_above(policy->prefixes, path, above, ABOVE_MOST);
    for (size_t i = 0; i < count; i++) {
        if (slice_eq(policy->prefixes->list[above[i] - 1].path, path)) {
            return true;
        }
    }
    return false;
}

/* Marks each prefix that a rule has that does not allow, by id; true when such a rule has a pathComponent. */
static bool mark_strict(const struct policy *policy, bool *ret_strict)
{
    bool components = false;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        const struct rule *rule = &policy->rules[i];
        if (rule->effect == EFFECT_AUTO_APPROVE) {
            continue;
        }
        ret_strict[rule->match.path_prefix] = true;
        components = components || rule->match.path_component;
    }
    return components;
}

/* Whether a reading at this prefix can be anything but allowed. */
static bool is_strict(const struct policy *policy, const bool *strict, struct slice path)
{
    uint32_t above[ABOVE_MOST];
    size_t count = path_prefixes_above(policy->prefixes, path, above, ABOVE_MOST);
    for (size_t i = 0; i < count; i++) {
        if (strict[above[i]]) {
            return true;
        }
    }
    return false;
}

/* A rule's prefix gives calls readings, by other names of the same file and by trees above it. What goes with
 * the last rule that has it is beyond classes of paths: it depends on what the files' other names are. */
static void write_notes(struct buf *out, const struct side *old, const struct side *new, bool json)
{
    const struct path_prefixes *prefixes = old->policy->prefixes;
    bool *strict = calloc((size_t)prefixes->count + 1, sizeof(*strict)), any = false;
    struct buf text;
    buf_init(&text, 64u << 10);
    if (strict == NULL) {
        out->failed = true;
        return;
    }
    bool components = mark_strict(old->policy, strict);
    for (uint32_t i = 0; i < prefixes->count; i++) {
        const struct path_prefix *prefix = &prefixes->list[i];
        bool counts = components || (prefix->exists && is_strict(old->policy, strict, prefix->path));
        if (!counts || prefix->path.len <= 1 || names_prefix(new->policy, prefix->path)) {
            continue;
        }
        buf_reset(&text);
        buf_text(&text, "no rule names ");
        utf8_append_printable(&text, prefix->path);
        buf_text(&text,
                 " any more: a hard link or bind mount of it elsewhere, and a tree above it, is no longer "
                 "judged as it");
        buf_text(out, !json ? "note: " : any ? "," : ",\"notes\":[");
        (json ? json_write_bytes : buf_slice)(out, buf_slice_of(&text));
        buf_text(out, json ? "" : "\n");
        any = true;
    }
    buf_text(out, json && any ? "]" : "");
    buf_finish(&text);
    free(strict);
}

/* ---- JSON ---- */

static void write_side_json(struct buf *out, const struct policy *policy, const struct diff_side *side)
{
    buf_printf(out, "{\"kind\":\"%s\"", decision_kind_name(side->kind));
    bool by_rule = side->rule != NULL && !side->stops;
    if (by_rule || side->kind == DECISION_DENY) {
        buf_text(out, ",\"rule\":");
        json_write_bytes(out, by_rule ? policy_text(policy, side->rule->id) : SLICE("default"));
    }
    buf_byte(out, '}');
}

static void write_place_json(struct buf *out, const char *member, const struct policy *policy,
                             const struct rule *rule)
{
    if (rule == NULL) {
        return;
    }
    buf_printf(out, ",\"%s\":{\"file\":", member);
    json_write_bytes(out, policy->files[rule->file].name);
    buf_printf(out, ",\"line\":%u}", rule->line);
}

static void write_excepts_json(struct buf *out, const struct diff_class *class)
{
    if (class->except == NULL) {
        buf_text(out, ",\"except\":null");
        return;
    }
    buf_text(out, ",\"except\":[");
    for (size_t i = 0; i < class->except_count; i++) {
        if (i) {
            buf_byte(out, ',');
        }
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
    buf_slice(out, class->witness.ptr != NULL ? class->witness : SLICE("null"));
    if (class->list == NULL) {
        write_excepts_json(out, class);
    }
    write_place_json(out, "fromAt", old->policy, class->from.rule);
    write_place_json(out, "toAt", new->policy, class->to.rule);
    if (class->list != NULL) {
        buf_printf(out, ",\"list\":\"%s\",\"name\":", class->list);
        json_write_bytes(out, class->name);
        buf_printf(out, ",\"added\":%s", class->added ? "true" : "false");
    }
    buf_text(out, class->aside ? ",\"aside\":true}" : "}");
}

/* What is found: the classes of readable calls, and those of calls with an unreadable path. */
struct found {
    struct violations violations;
    struct confined_changes confined;
    struct diff diff, unreadable;
};

static void write_classes_json(struct buf *out, const struct side *old, const struct side *new,
                               const struct diff *diff)
{
    for (size_t i = 0; i < diff->count; i++) {
        if (i) {
            buf_byte(out, ',');
        }
        write_class_json(out, old, new, &diff->list[i]);
    }
}

static void write_confined_json(struct buf *out, const struct confined_changes *confined)
{
    for (size_t i = 0; i < confined->count; i++) {
        const struct confined_change *change = &confined->list[i];
        buf_printf(out, "%s{\"list\":\"%s\",\"place\":", i > 0 ? "," : ",\"confine\":[",
                   change->writes ? "write" : "read");
        json_write_bytes(out, change->place);
        buf_printf(out, ",\"added\":%s,\"weaker\":%s}", change->added ? "true" : "false",
                   change->weaker ? "true" : "false");
    }
    buf_text(out, confined->count > 0 ? "]" : "");
}

static void write_json(struct buf *out, const struct side *old, const struct side *new,
                       const struct found *found)
{
    const struct violations *violations = &found->violations;
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
    write_classes_json(out, old, new, &found->diff);
    buf_text(out, "],\"unreadable\":[");
    write_classes_json(out, old, new, &found->unreadable);
    buf_printf(out, "],\"digests\":{\"old\":\"%s\",\"new\":\"%s\"}", old->digest, new->digest);
    write_confined_json(out, &found->confined);
    write_notes(out, old, new, true);
    buf_text(out, "}\n");
}

/* ---- Text ---- */

static void write_side_text(struct buf *out, const struct policy *policy, const struct diff_side *side)
{
    buf_text(out, decision_kind_name(side->kind));
    if (side->rule == NULL) {
        buf_text(out, side->kind == DECISION_DENY ? " by default" : ", no rule");
        return;
    }
    buf_text(out, side->stops ? " by default at '" : " by '");
    utf8_append_printable(out, policy_text(policy, side->rule->id));
    buf_text(out, "' (");
    utf8_append_printable(out, policy->files[side->rule->file].name);
    buf_printf(out, ":%u", side->rule->line);
    if (side->kind == DECISION_REQUIRE) {
        buf_printf(out, ", %u approver(s), ttlMs %u, scope %s", side->rule->approvers, side->rule->ttl_ms,
                   scope_name((enum scope)side->rule->scope));
    }
    buf_byte(out, ')');
}

#define EXCEPTS_SHOWN 8u

static void write_class_text(struct buf *out, const struct side *old, const struct side *new,
                             const struct diff_class *class)
{
    buf_text(out, class->weaker ? "WEAKER    " : "stricter  ");
    if (class->from.stops || class->to.stops) {
        buf_text(out, "where a path cannot be resolved: ");
    }
    if (class->list != NULL) {
        buf_printf(out, "%s: '", class->list);
        utf8_append_printable(out, class->name);
        buf_text(out, class->added ? "' is added; " : "' is taken away; ");
    }
    write_side_text(out, old->policy, &class->from);
    buf_text(out, " -> ");
    write_side_text(out, new->policy, &class->to);
    buf_text(out, "\n    calls    ");
    utf8_append_printable(out, class->match);
    if (class->except == NULL && class->list == NULL) {
        buf_text(out, "\n    except   what earlier rules take: more than can be listed");
    }
    for (size_t i = 0; i < class->except_count && i < EXCEPTS_SHOWN; i++) {
        buf_text(out, i ? "\n             " : "\n    except   ");
        utf8_append_printable(out, class->except[i]);
    }
    if (class->except_count > EXCEPTS_SHOWN) {
        buf_printf(out, "\n             and %zu more: --format json lists them all",
                   class->except_count - EXCEPTS_SHOWN);
    }
    buf_text(out, "\n    such as  ");
    utf8_append_printable(out, class->witness.ptr != NULL
                                   ? class->witness
                                   : SLICE("(no call could be made: files may rule it out)"));
    buf_byte(out, '\n');
}

static size_t count_weaker(const struct diff *diff)
{
    size_t weaker = 0;
    for (size_t i = 0; i < diff->count; i++) {
        weaker += diff->list[i].weaker;
    }
    return weaker;
}

/* Of calls with an unreadable path only what gets weaker is shown: the rest follows the readable ones. */
static void write_unreadable(struct buf *out, const struct side *old, const struct side *new,
                             const struct diff *diff)
{
    size_t weaker = count_weaker(diff), stricter = diff->count - weaker;
    for (size_t i = 0; i < diff->count; i++) {
        if (diff->list[i].weaker) {
            write_class_text(out, old, new, &diff->list[i]);
        }
    }
    if (stricter) {
        buf_printf(out,
                   "%zu class(es) of calls with a path that cannot be resolved get stricter: --format json "
                   "lists them\n",
                   stricter);
    }
}

static void write_confined_text(struct buf *out, const struct confined_changes *confined)
{
    for (size_t i = 0; i < confined->count; i++) {
        const struct confined_change *change = &confined->list[i];
        buf_printf(out, "%sconfine.%s %s '", change->weaker ? "WEAKER    " : "stricter  ",
                   change->writes ? "write" : "read", change->added ? "gets" : "loses");
        utf8_append_printable(out, change->place);
        buf_text(out, "'\n");
    }
}

static void write_text(struct buf *out, const struct side *old, const struct side *new,
                       const struct found *found)
{
    const struct violations *violations = &found->violations;
    for (size_t i = 0; i < violations->count; i++) {
        utf8_append_printable(out, violations->list[i].message);
        buf_byte(out, '\n');
    }
    for (size_t i = 0; i < found->diff.count; i++) {
        write_class_text(out, old, new, &found->diff.list[i]);
    }
    write_unreadable(out, old, new, &found->unreadable);
    write_confined_text(out, &found->confined);
    write_notes(out, old, new, false);
    buf_printf(out, "%zu violation(s), %zu class(es) of calls change, %zu of them weaker", violations->count,
               found->diff.count, count_weaker(&found->diff));
    if (count_weaker(&found->unreadable)) {
        buf_printf(out, "; %zu weaker where a path cannot be resolved", count_weaker(&found->unreadable));
    }
    buf_printf(out, "\nold %s\nnew %s\n", old->digest, new->digest);
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

static bool fails(enum fail_on fail_on, const struct found *found)
{
    size_t weaker = count_weaker(&found->diff) + found->confined.weaker;
    size_t any = found->diff.count + found->confined.count;
    return found->violations.count > 0 || (fail_on == FAIL_ON_WEAKER && weaker > 0) ||
           (fail_on == FAIL_ON_ANY && any > 0);
}

static int compare(const struct side *old, const struct side *new, const struct options *options,
                   enum fail_on fail_on)
{
    struct found found;
    struct buf out;
    violations_init(&found.violations);
    diff_init(&found.diff);
    diff_init(&found.unreadable);
    buf_init(&out, (size_t)1 << 30);
    violations_find(old->policy, new->policy, &found.violations);
    confined_compare(old->policy, new->policy, &found.confined);
    diff_find(old->policy, new->policy, &options->base, DIFF_EXCEPT, &found.diff);
    diff_find_unreadable(old->policy, new->policy, &options->base, DIFF_EXCEPT, &found.unreadable);
    (options->json ? write_json : write_text)(&out, old, new, &found);
    int code = EXIT_UNABLE;
    if (found.violations.failed || found.confined.failed || found.diff.failed || found.unreadable.failed) {
        say("the comparison is not whole: no memory, or too many classes");
    } else if (print(&out) == EXIT_YES) {
        code = fails(fail_on, &found) ? EXIT_NO : EXIT_YES;
    }
    violations_finish(&found.violations);
    confined_finish(&found.confined);
    diff_finish(&found.diff);
    diff_finish(&found.unreadable);
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
    if (code != -1) {
        finish_side(&old);
        finish_side(&new);
        return code;
    }
    bool named = options.argc == 2 || (options.argc == 0 && old.more.count && new.more.count);
    if (!named) {
        code = usage_error(&command_diff, "name two policies, OLD and NEW");
    } else if (!read_fail_on(fail_on_name, &fail_on)) {
        code = usage_error(&command_diff, "--fail-on is violation, weaker or any");
    } else if (!load_side(&old, options.argc ? options.argv[0] : NULL, &options.base) ||
               !load_side(&new, options.argc ? options.argv[1] : NULL, &options.base)) {
        code = EXIT_UNABLE;
    } else {
        code = compare(&old, &new, &options, fail_on);
    }
    finish_side(&old);
    finish_side(&new);
    options_finish(&options);
    return code;
}

const struct cli_command command_diff = {"diff", "list every class of calls whose decision changes", usage,
                                         run};
