/* The baseline: the policy that the operator acknowledged last, kept as the documents it was loaded from. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "gate/internal.h"
#include "gate/state.h"

#define BASELINE_FILE    "baseline.json"
#define BASELINE_CEILING ((size_t)1 << 30)

/* ---- Writing ---- */

static void write_baseline(struct buf *buf, const struct sources *sources, const struct source_texts *texts,
                           const struct path_base *base, struct slice digest)
{
    bool any = false;
    buf_text(buf, "{\"cwd\":");
    json_write_bytes(buf, base->cwd);
    buf_text(buf, ",\"digest\":");
    json_write_bytes(buf, digest);
    buf_text(buf, ",\"home\":");
    json_write_bytes(buf, base->home);
    buf_text(buf, ",\"sources\":[");
    for (size_t i = 0; i < sources->count && i < texts->count; i++) {
        const struct source_file *file = &sources->files[i];
        if (texts->states[i] != SOURCE_USED) {
            continue;
        }
        buf_text(buf, any ? ",{\"name\":" : "{\"name\":");
        any = true;
        json_write_bytes(buf, slice_of(file->path));
        buf_text(buf, ",\"text\":");
        json_write_string(buf, buf_slice_of(&texts->list[i]));
        buf_printf(buf, ",\"tier\":\"%s\"}", file->at_tier ? tier_name(file->tier) : "operator");
    }
    buf_text(buf, "]}\n");
}

/* The journal knows of it before it counts. */
static bool keep(const char *state_dir, const struct buf *text, struct slice digest, struct buf *ret_error)
{
    struct ledger ledger;
    struct buf detail;
    buf_init(&detail, DETAIL_BYTES);
    buf_text(&detail, "{\"digest\":");
    json_write_bytes(&detail, digest);
    buf_byte(&detail, '}');
    struct event event = {.kind = "policy.acknowledged", .detail = buf_slice_of(&detail)};
    bool kept = ledger_open(&ledger, state_dir, JOURNAL_FSYNC_ALWAYS, (struct slice){0}, ret_error) &&
                buf_ok(&detail) && journal_stage(ledger.journal, &event) &&
                journal_commit(ledger.journal, true, ret_error);
    if (kept && !file_replace_at(ledger.dir, BASELINE_FILE ".new", BASELINE_FILE, buf_slice_of(text), true)) {
        buf_printf(ret_error, "the baseline cannot be written: %s", strerror(errno));
        kept = false;
    }
    ledger_close(&ledger);
    buf_finish(&detail);
    return kept;
}

static bool digest_is(const struct sources *sources, const struct path_base *base, struct source_texts *texts,
                      struct slice digest, struct buf *ret_error)
{
    struct findings errors;
    char hex[HASH_HEX + 1] = "";
    findings_init(&errors);
    struct policy *policy = sources_load(sources, base, texts, &errors);
    sources_write_errors(ret_error, &errors);
    bool equal = policy != NULL && policy_digest(policy, hex) && slice_is(digest, hex);
    policy_destroy(policy);
    findings_finish(&errors);
    return equal;
}

bool gate_acknowledge(const char *state_dir, const struct sources *sources, const struct path_base *base,
                      struct slice digest, struct buf *ret_error)
{
    struct sources behind_admin;
    struct source_texts texts = {0}, alone = {0};
    struct buf text;
    bool done = sources_init(&behind_admin);
    buf_init(&text, BASELINE_CEILING);
    for (size_t i = 0; i < sources->count && done; i++) {
        done = sources_add_file(&behind_admin, &sources->files[i]);
    }
    if (sources->count == 0 || strcmp(sources->files[0].path, SOURCES_ADMIN_FILE) != 0) {
        done = done && sources_add_places(&behind_admin, base, false);
    }
    /* Gates always load the admin file, too: whichever of the two the digest names, both are the baseline. */
    if (done && !digest_is(&behind_admin, base, &texts, digest, ret_error) &&
        !digest_is(sources, base, &alone, digest, ret_error)) {
        buf_text(ret_error, "these files do not have this digest: `callgate diff` shows it");
        done = false;
    }
    if (done) {
        write_baseline(&text, &behind_admin, &texts, base, digest);
        done = buf_ok(&text) && keep(state_dir, &text, digest, ret_error);
    }
    sources_finish(&behind_admin);
    source_texts_finish(&texts);
    source_texts_finish(&alone);
    buf_finish(&text);
    return done;
}

/* ---- Reading ---- */

static struct slice text_of(const struct json_doc *doc, const struct json_value *object, const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    return json_is(value, JSON_STRING) ? json_str(value) : (struct slice){0};
}

static struct policy *load(const struct json_doc *doc)
{
    const struct json_value *root = json_root(doc), *list = json_get(doc, root, "sources"), *v;
    struct path_base base = {.cwd = text_of(doc, root, "cwd"), .home = text_of(doc, root, "home")};
    struct policy *policy = NULL;
    struct findings errors;
    size_t count = 0;
    struct policy_source *sources =
        json_is(list, JSON_ARRAY) ? calloc((size_t)list->count + 1, sizeof(*sources)) : NULL;
    findings_init(&errors);
    for (v = sources != NULL ? json_first(doc, list) : NULL; v != NULL; v = json_right(doc, list, v)) {
        struct policy_source *source = &sources[count++];
        *source = (struct policy_source){
            .name = text_of(doc, v, "name"), .text = text_of(doc, v, "text"), .tier = TIER_DEFAULT};
        source->at_tier = tier_from_name(text_of(doc, v, "tier"), &source->tier);
    }
    if (sources != NULL && base.cwd.ptr != NULL && base.home.ptr != NULL) {
        policy = policy_load(sources, count, &base, &errors);
    }
    findings_finish(&errors);
    free(sources);
    return policy;
}

enum baseline_result baseline_load(int state_dir, struct policy **ret_policy, struct buf *ret_error)
{
    struct buf text;
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = 4, .max_bytes = (uint32_t)BASELINE_CEILING};
    enum baseline_result result = BASELINE_FAILED;
    buf_init(&text, BASELINE_CEILING + 1);
    json_init(&doc);
    if (!file_read_at(state_dir, BASELINE_FILE, &text)) {
        result = errno == ENOENT ? BASELINE_NONE : BASELINE_FAILED;
    } else if (json_parse(&doc, buf_slice_of(&text), &options, &error) &&
               (*ret_policy = load(&doc)) != NULL) {
        result = BASELINE_READ;
    }
    if (result == BASELINE_FAILED) {
        buf_text(ret_error, BASELINE_FILE " of the state directory is damaged; acknowledge a policy anew");
    }
    json_finish(&doc);
    buf_finish(&text);
    return result;
}
