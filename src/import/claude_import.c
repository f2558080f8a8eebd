/* The rules and the report of an import. */
#include "import/claude_internal.h"

#include "base/utf8.h"

#define QUOTED_MOST 120u /* bytes of an entry that a reason repeats: it has 200 characters at most */
#define ASK_TTL_MS  60000u

const char *claude_list_name(enum claude_list list)
{
    static const char *const names[] = {"deny", "ask", "allow"};
    return names[list];
}

/* ---- Rules ---- */

/* Whether a match loads here: a place that cannot be resolved, a name with a wildcard. */
static bool loads(struct importer *im, struct slice match)
{
    struct buf text;
    struct findings errors;
    buf_init(&text, 1u << 20);
    findings_init(&errors);
    buf_text(&text, "[{\"id\":\"x\",\"effect\":\"auto_approve\",\"match\":");
    buf_slice(&text, match);
    buf_text(&text, "}]");
    struct policy_source source = {.name = SLICE("x"), .tier = TIER_DEFAULT, .text = buf_slice_of(&text)};
    struct policy *policy = buf_ok(&text) ? policy_load(&source, 1, im->options->base, &errors) : NULL;
    bool good = policy != NULL;
    im->failed = im->failed || errors.failed || !buf_ok(&text);
    policy_destroy(policy);
    findings_finish(&errors);
    buf_finish(&text);
    return good;
}

static bool is_new(struct importer *im, const struct claude_entry *entry, struct slice match)
{
    struct buf key;
    uint32_t before = im->written.count;
    buf_init(&key, 1u << 20);
    buf_byte(&key, (char)('0' + entry->list));
    buf_slice(&key, match);
    if (!buf_ok(&key) || intern_add(&im->written, buf_slice_of(&key)) == 0) {
        im->failed = true;
    }
    buf_finish(&key);
    return im->written.count > before;
}

static void write_source(struct buf *buf, const char *before, const struct claude_entry *entry)
{
    struct buf text;
    struct slice quoted = entry->text;
    buf_init(&text, 1u << 20);
    buf_text(&text, before);
    if (entry->list == LIST_OF_DENY && quoted.len > QUOTED_MOST) {
        quoted.len = utf8_valid_upto((struct slice){quoted.ptr, QUOTED_MOST});
        buf_slice(&text, quoted);
        buf_text(&text, "...");
    } else {
        buf_slice(&text, quoted);
    }
    json_write_string(buf, buf_slice_of(&text));
    buf->failed = buf->failed || !buf_ok(&text);
    buf_finish(&text);
}

static void write_rule(struct importer *im, struct claude_entry *entry, struct slice match)
{
    static const char *const effects[] = {"deny", "require_approval", "auto_approve"};
    struct buf *out = &im->rules;
    buf_printf(out, "%s{\"id\":\"%s-%u", im->result->rules ? "," : "", claude_list_name(entry->list),
               entry->number);
    if (++entry->rules > 1) {
        buf_printf(out, ".%u", entry->rules);
    }
    buf_printf(out, "\",\"effect\":\"%s\",\"match\":", effects[entry->list]);
    buf_slice(out, match);
    if (entry->list == LIST_OF_DENY) {
        buf_text(out, ",\"reason\":");
        write_source(out, "Claude Code's settings deny ", entry);
    } else {
        /* There a person is asked each time: an approval lives for this call, and not for long. */
        if (entry->list == LIST_OF_ASK) {
            buf_printf(out, ",\"ttlMs\":%u,\"scope\":\"call\"", ASK_TTL_MS);
        }
        buf_text(out, ",\"comment\":");
        write_source(out,
                     entry->list == LIST_OF_ASK ? "Claude Code's settings ask for "
                                                : "Claude Code's settings allow ",
                     entry);
    }
    buf_byte(out, '}');
    im->result->rules++;
}

static void write_field(struct buf *buf, const char *name, struct slice value)
{
    if (value.ptr == NULL) {
        return;
    }
    buf_printf(buf, "%s\"%s\":", buf->len > 1 ? "," : "", name);
    json_write_string(buf, value);
}

static struct slice match_text(struct importer *im, const struct claude_match *wanted)
{
    struct buf *match = &im->match;
    buf_reset(match);
    buf_byte(match, '{');
    write_field(match, "tool", wanted->tool);
    write_field(match, "toolPrefix", wanted->prefix);
    write_field(match, "server", wanted->server);
    write_field(match, "actor", wanted->actor);
    write_field(match, "pathPrefix", wanted->path);
    write_field(match, "pathComponent", wanted->component);
    if (wanted->argument.ptr != NULL) {
        buf_printf(match, "%s\"argEquals\":{", match->len > 1 ? "," : "");
        json_write_string(match, wanted->argument);
        buf_printf(match, ":%s}", wanted->value);
    }
    buf_byte(match, '}');
    im->failed = im->failed || !buf_ok(match);
    return buf_slice_of(match);
}

bool claude_add_rule(struct importer *im, struct claude_entry *entry, const struct claude_match *wanted)
{
    struct slice match = match_text(im, wanted);
    if (im->failed || !loads(im, match)) {
        return false;
    }
    if (is_new(im, entry, match)) {
        write_rule(im, entry, match);
    }
    return true;
}

/* ---- The report ---- */

static void count_verdict(struct import_result *result, enum claude_verdict verdict)
{
    if (verdict == CLAUDE_KEPT) {
        result->kept++;
    } else if (verdict == CLAUDE_LEFT_OUT) {
        result->left_out++;
    } else {
        result->changed++;
    }
}

void claude_tell(struct importer *im, const struct claude_entry *entry, enum claude_verdict verdict,
                 const char *note)
{
    static const char *const words[] = {"kept", "stricter", "narrower", "left out"};
    struct buf *out = &im->result->report;
    buf_slice(out, entry->place);
    utf8_append_printable(out, entry->text);
    buf_printf(out, ": %s", words[verdict]);
    if (entry->rules == 1) {
        buf_printf(out, " (%s-%u)", claude_list_name(entry->list), entry->number);
    } else if (entry->rules > 1) {
        buf_printf(out, " (%s-%u to %s-%u.%u)", claude_list_name(entry->list), entry->number,
                   claude_list_name(entry->list), entry->number, entry->rules);
    } else if (verdict != CLAUDE_LEFT_OUT) {
        buf_text(out, " (by rules before it)");
    }
    buf_printf(out, "%s%s\n", *note ? ": " : "", note);
    count_verdict(im->result, verdict);
}

void claude_tell_setting(struct importer *im, struct slice place, struct slice value, const char *why)
{
    struct buf *out = &im->result->report;
    buf_slice(out, place);
    utf8_append_printable(out, value);
    buf_printf(out, ": left out: %s\n", why);
    count_verdict(im->result, CLAUDE_LEFT_OUT);
}
