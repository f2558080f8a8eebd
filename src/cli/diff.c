#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "cli/commands.h"
#include "cli/options.h"

static const char usage[] = "usage: callgate diff [--format text|json] [TIER=]OLD [TIER=]NEW\n\n"
                            "Compares two policies as a reload would: lists each new auto_approve rule that "
                            "weakens a deny of the old one.\n\n"
                            "  --old [TIER=]FILE, --new [TIER=]FILE  more files of either side; repeatable\n"
                            "  --format json         one JSON object on standard output\n"
                            "  --cwd DIR, --home DIR what relative prefixes and ~ start from\n\n"
                            "Exit: 0 no violation, 1 a violation, 2 could not be done.\n";

struct side {
    struct sources sources;
    struct option_list more;
    struct policy *policy;
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
    fwrite(error.ptr, 1, error.len, stderr);
    buf_finish(&error);
    findings_finish(&errors);
    return side->policy != NULL;
}

static void finish_side(struct side *side)
{
    policy_destroy(side->policy);
    sources_finish(&side->sources);
    free(side->more.items);
}

static void write_json(struct buf *out, const struct violations *violations)
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
    buf_text(out, "]}\n");
}

static int diff(const struct side *old, const struct side *new, bool json)
{
    struct violations violations;
    struct buf out;
    violations_init(&violations);
    buf_init(&out, (size_t)1 << 30);
    violations_find(old->policy, new->policy, &violations);
    if (json)
        write_json(&out, &violations);
    for (size_t i = 0; !json && i < violations.count; i++)
        buf_printf(&out, "%.*s\n", SLICE_FMT(violations.list[i].message));
    int code = EXIT_UNABLE;
    if (violations.failed)
        say("no memory");
    else if (print(&out) == EXIT_YES)
        code = violations.count ? EXIT_NO : EXIT_YES;
    violations_finish(&violations);
    buf_finish(&out);
    return code;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct side old = {0}, new = {0};
    const struct option_spec own[] = {
        {"old", OPTION_LIST, &old.more},
        {"new", OPTION_LIST, &new.more},
    };
    int code = options_read(&options, &command_diff, argc, argv, TAKES_PATHS | TAKES_FORMAT, own, 2);
    if (code != -1)
        return code;
    bool named = options.argc == 2 || (options.argc == 0 && old.more.count && new.more.count);
    if (!named)
        code = usage_error(&command_diff, "name two policies, OLD and NEW");
    else if (!load_side(&old, options.argc ? options.argv[0] : NULL, &options.base) ||
             !load_side(&new, options.argc ? options.argv[1] : NULL, &options.base))
        code = EXIT_UNABLE;
    else
        code = diff(&old, &new, options.json);
    finish_side(&old);
    finish_side(&new);
    options_finish(&options);
    return code;
}

const struct command command_diff = {"diff", "tell what a new policy would weaken", usage, run};
