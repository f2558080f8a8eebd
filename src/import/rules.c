/* The rules that an import writes, and the document they stand in. */
#include "import/internal.h"

#include <string.h>

#include "base/utf8.h"

#define QUOTED_MOST 120u /* bytes of an entry that a reason repeats: it has 200 characters at most */
#define ASK_TTL_MS  60000u

static const char *list_name(enum import_list list)
{
    static const char *const names[] = {"deny", "ask", "allow"};
    return names[list];
}

/* ---- Lists of texts ---- */

struct texts import_one(struct importer *im, struct slice text)
{
    struct slice *list = text.ptr != NULL ? arena_array(&im->arena, 1, sizeof(*list)) : NULL;
    if (list == NULL) {
        im->failed = im->failed || text.ptr != NULL;
        return (struct texts){0};
    }
    list[0] = text;
    return (struct texts){list, 1};
}

struct texts import_texts(struct importer *im, const char *const *texts)
{
    size_t count = 0;
    while (texts[count] != NULL) {
        count++;
    }
    struct slice *list = arena_array(&im->arena, count + 1, sizeof(*list));
    if (list == NULL) {
        im->failed = true;
        return (struct texts){0};
    }
    for (size_t i = 0; i < count; i++) {
        list[i] = slice_of(texts[i]);
    }
    return (struct texts){list, count};
}

const char *import_json_text(struct importer *im, struct slice text)
{
    struct buf value;
    buf_init(&value, 1u << 20);
    json_write_string(&value, text);
    buf_byte(&value, '\0');
    struct slice copy = buf_ok(&value) ? arena_copy(&im->arena, buf_slice_of(&value)) : (struct slice){0};
    buf_finish(&value);
    im->failed = im->failed || copy.ptr == NULL;
    return copy.ptr;
}

/* ---- Rules ---- */

/* Whether a match loads here: a place that cannot be resolved, a name with a wildcard. */
static bool loads(struct importer *im, enum import_list effect, struct slice match)
{
    struct buf text;
    struct findings errors;
    buf_init(&text, 1u << 20);
    findings_init(&errors);
    buf_text(&text, effect == IMPORT_ALLOW ? "[{\"id\":\"x\",\"effect\":\"auto_approve\",\"match\":"
                                           : "[{\"id\":\"x\",\"effect\":\"require_approval\",\"match\":");
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

static bool is_new(struct importer *im, enum import_list effect, struct slice match)
{
    struct buf key;
    uint32_t before = im->written.count;
    buf_init(&key, 1u << 20);
    buf_byte(&key, (char)('0' + effect));
    buf_slice(&key, match);
    if (!buf_ok(&key) || intern_add(&im->written, buf_slice_of(&key)) == 0) {
        im->failed = true;
    }
    buf_finish(&key);
    return im->written.count > before;
}

static void write_source(struct importer *im, const char *verb, const struct import_entry *entry, bool whole)
{
    struct buf text;
    struct slice quoted = entry->text;
    buf_init(&text, 1u << 20);
    buf_printf(&text, "%s %s ", im->source, verb);
    if (!whole && quoted.len > QUOTED_MOST) {
        quoted.len = utf8_valid_upto((struct slice){quoted.ptr, QUOTED_MOST});
        buf_slice(&text, quoted);
        buf_text(&text, "...");
    } else {
        buf_slice(&text, quoted);
    }
    json_write_string(&im->rules, buf_slice_of(&text));
    im->rules.failed = im->rules.failed || !buf_ok(&text);
    buf_finish(&text);
}

static void write_rule(struct importer *im, struct import_entry *entry, enum import_list effect,
                       struct slice match)
{
    static const char *const effects[] = {"deny", "require_approval", "auto_approve"};
    struct buf *out = &im->rules;
    buf_printf(out, "%s{\"id\":\"%s-%u", im->result->rules ? "," : "", list_name(entry->list), entry->number);
    if (++entry->rules > 1) {
        buf_printf(out, ".%u", entry->rules);
    }
    buf_printf(out, "\",\"effect\":\"%s\",\"match\":", effects[effect]);
    buf_slice(out, match);
    if (effect == IMPORT_DENY) {
        buf_text(out, ",\"reason\":");
        write_source(im, "deny", entry, false);
    } else {
        /* There a person is asked each time: an approval lives for this call, and not for long. */
        if (effect == IMPORT_ASK) {
            buf_printf(out, ",\"ttlMs\":%u,\"scope\":\"call\"", ASK_TTL_MS);
        }
        buf_text(out, ",\"comment\":");
        write_source(im,
                     entry->list == IMPORT_ALLOW ? "allow"
                     : entry->list == IMPORT_ASK ? "ask for"
                                                 : "deny",
                     entry, true);
    }
    buf_byte(out, '}');
    im->result->rules++;
}

static void write_name(struct buf *buf, const char *name)
{
    buf_printf(buf, "%s\"%s\":", buf->len > 1 ? "," : "", name);
}

static void write_field(struct buf *buf, const char *name, struct slice value)
{
    if (value.ptr != NULL) {
        write_name(buf, name);
        json_write_string(buf, value);
    }
}

static void write_texts(struct buf *buf, const char *name, struct texts texts)
{
    if (texts.count <= 1) {
        write_field(buf, name, texts.count == 1 ? texts.list[0] : (struct slice){0});
        return;
    }
    write_name(buf, name);
    for (size_t i = 0; i < texts.count; i++) {
        buf_byte(buf, i == 0 ? '[' : ',');
        json_write_string(buf, texts.list[i]);
    }
    buf_byte(buf, ']');
}

static struct slice match_text(struct importer *im, const struct import_match *wanted)
{
    struct buf *match = &im->match;
    buf_reset(match);
    buf_byte(match, '{');
    write_texts(match, "tool", wanted->tools);
    write_field(match, "toolPrefix", wanted->prefix);
    write_field(match, "server", wanted->server);
    write_field(match, "pathPrefix", wanted->path);
    write_field(match, "pathComponent", wanted->component);
    write_texts(match, "command", wanted->commands);
    write_texts(match, "commandPrefix", wanted->command_prefixes);
    write_field(match, "commandWord", wanted->command_word);
    write_field(match, "host", wanted->host);
    if (wanted->argument.ptr != NULL) {
        write_name(match, "argEquals");
        buf_byte(match, '{');
        json_write_string(match, wanted->argument);
        buf_printf(match, ":%s}", wanted->value);
    }
    buf_byte(match, '}');
    im->failed = im->failed || !buf_ok(match);
    return buf_slice_of(match);
}

bool import_add_as(struct importer *im, struct import_entry *entry, enum import_list effect,
                   const struct import_match *wanted)
{
    struct slice match = match_text(im, wanted);
    if (im->failed || !loads(im, effect, match)) {
        return false;
    }
    if (is_new(im, effect, match)) {
        write_rule(im, entry, effect, match);
    }
    return true;
}

/* ---- Questions that cover more than they should ---- */

struct import_deferred {
    struct import_deferred *before;
    struct import_entry entry;
    struct import_match match;
};

static bool any_tool(const struct import_match *match)
{
    return match->tools.count == 0 || slice_is(match->tools.list[0], "*");
}

static bool may_meet(const struct import_match *one, const struct import_match *other)
{
    if (any_tool(one) || any_tool(other)) {
        return true;
    }
    for (size_t i = 0; i < one->tools.count; i++) {
        for (size_t j = 0; j < other->tools.count; j++) {
            if (slice_eq(one->tools.list[i], other->tools.list[j])) {
                return true;
            }
        }
    }
    return false;
}

bool import_defer(struct importer *im, struct import_entry *entry, const struct import_match *match)
{
    struct slice text = match_text(im, match);
    struct import_deferred *deferred = arena_alloc(&im->arena, sizeof(*deferred));
    if (deferred == NULL) {
        im->failed = true;
    }
    if (im->failed || !loads(im, IMPORT_ASK, text)) {
        return false;
    }
    *deferred = (struct import_deferred){.before = im->deferred, .entry = *entry, .match = *match};
    entry->rules++; /* the deferred one has the number before */
    im->deferred = deferred;
    return true;
}

static void write_deferred(struct importer *im)
{
    for (struct import_deferred *at = im->deferred; at != NULL; at = at->before) {
        im->failed = !import_add_as(im, &at->entry, IMPORT_ASK, &at->match) || im->failed;
    }
}

bool import_add(struct importer *im, struct import_entry *entry, const struct import_match *wanted)
{
    enum import_list effect = entry->list;
    for (const struct import_deferred *at = im->deferred; effect == IMPORT_ALLOW && at != NULL;
         at = at->before) {
        entry->asked = entry->asked || may_meet(wanted, &at->match);
    }
    if (effect == IMPORT_ALLOW && entry->asked) {
        effect = IMPORT_ASK;
    }
    return import_add_as(im, entry, effect, wanted);
}

struct import_entry import_entry(struct importer *im, enum import_list list, struct slice text,
                                 struct slice place)
{
    return (struct import_entry){
        .text = text,
        .list = list,
        .number = ++im->numbers[list],
        .place = place,
    };
}

static size_t find(struct slice text, size_t from, struct slice what)
{
    for (size_t i = from; i + what.len <= text.len; i++) {
        if (memcmp(text.ptr + i, what.ptr, what.len) == 0) {
            return i;
        }
    }
    return text.len;
}

bool import_add_splits(struct importer *im, struct import_entry *entry, struct slice rest,
                       struct slice separator)
{
    bool good = true;
    for (size_t at = find(rest, 1, separator); good && at + separator.len < rest.len;
         at = find(rest, at + 1, separator)) {
        struct slice tool = slice_from(rest, at + separator.len);
        struct import_match match = {.server = {rest.ptr, at}};
        if (slice_is(tool, "*")) {
            return import_add(im, entry, &match);
        }
        if (tool.ptr[tool.len - 1] == '*') {
            match.prefix = (struct slice){tool.ptr, tool.len - 1};
        } else {
            match.tools = import_one(im, tool);
        }
        good = import_add(im, entry, &match);
    }
    return good;
}

/* ---- The document ---- */

void import_init(struct importer *im, const struct import_options *options, struct import_result *result,
                 const char *source)
{
    *im = (struct importer){.options = options, .result = result, .source = source};
    arena_init(&im->arena, 256u << 20);
    intern_init(&im->written, &im->arena);
    buf_init(&im->rules, 64u << 20);
    buf_init(&im->match, 1u << 20);
}

void import_finish(struct importer *im)
{
    buf_finish(&im->rules);
    buf_finish(&im->match);
    intern_finish(&im->written);
    arena_finish(&im->arena);
}

bool import_write(struct importer *im, const char *notes)
{
    struct buf document;
    struct import_result *result = im->result;
    write_deferred(im);
    buf_init(&document, 64u << 20);
    buf_text(&document, "{\"version\":1,\"rules\":[");
    buf_slice(&document, buf_slice_of(&im->rules));
    buf_text(&document, "]}");
    bool good = !im->failed && buf_ok(&im->rules) && buf_ok(&document) &&
                policy_write_layout(&result->document, buf_slice_of(&document));
    buf_finish(&document);
    uint32_t entries = result->kept + result->changed + result->left_out;
    buf_printf(&result->report,
               "%u rule(s) of %u entries: %u kept, %u made stricter or narrower, %u left out; %u other "
               "setting(s)\n",
               result->rules, entries, result->kept, result->changed, result->left_out, result->settings);
    buf_text(&result->report, notes);
    return good && buf_ok(&result->report);
}

void import_result_init(struct import_result *result)
{
    *result = (struct import_result){0};
    buf_init(&result->document, 128u << 20);
    buf_init(&result->report, 64u << 20);
}

void import_result_finish(struct import_result *result)
{
    buf_finish(&result->document);
    buf_finish(&result->report);
}

/* ---- The report ---- */

static void count_verdict(struct import_result *result, enum import_verdict verdict)
{
    if (verdict == IMPORT_KEPT) {
        result->kept++;
    } else if (verdict == IMPORT_LEFT_OUT) {
        result->left_out++;
    } else {
        result->changed++;
    }
}

void import_tell(struct importer *im, const struct import_entry *entry, enum import_verdict verdict,
                 const char *note)
{
    static const char *const words[] = {"kept", "stricter", "narrower", "left out"};
    struct buf *out = &im->result->report;
    const char *name = list_name(entry->list);
    if (entry->asked && verdict != IMPORT_LEFT_OUT) {
        verdict = IMPORT_STRICTER;
        note = "asked about: a question before it covers some of these calls";
    }
    buf_slice(out, entry->place);
    utf8_append_printable(out, entry->text);
    buf_printf(out, ": %s", words[verdict]);
    if (entry->rules == 1) {
        buf_printf(out, " (%s-%u)", name, entry->number);
    } else if (entry->rules > 1) {
        buf_printf(out, " (%s-%u to %s-%u.%u)", name, entry->number, name, entry->number, entry->rules);
    } else if (verdict != IMPORT_LEFT_OUT) {
        buf_text(out, " (by rules before it)");
    }
    buf_printf(out, "%s%s\n", *note ? ": " : "", note);
    count_verdict(im->result, verdict);
}

void import_tell_setting(struct importer *im, struct slice place, struct slice value, const char *why)
{
    struct buf *out = &im->result->report;
    buf_slice(out, place);
    utf8_append_printable(out, value);
    buf_printf(out, ": left out: %s\n", why);
    im->result->settings++;
}

struct slice import_place(struct importer *im, const struct import_file *file, const char *where,
                          struct slice key, const uint32_t *index)
{
    struct buf text;
    buf_init(&text, 1u << 20);
    utf8_append_printable(&text, file->name);
    buf_printf(&text, ": %s", where);
    utf8_append_printable(&text, key);
    if (index != NULL) {
        buf_printf(&text, "[%u]", *index);
    }
    buf_byte(&text, ' ');
    struct slice place = buf_ok(&text) ? arena_copy(&im->arena, buf_slice_of(&text)) : (struct slice){0};
    buf_finish(&text);
    im->failed = im->failed || place.ptr == NULL;
    return place.ptr != NULL ? place : SLICE("");
}

void import_place_message(struct buf *error, const struct import_file *file, size_t offset)
{
    uint32_t line, column;
    json_place(file->text, (uint32_t)offset, &line, &column);
    utf8_append_printable(error, file->name);
    buf_printf(error, ":%u:%u: ", line, column);
}
