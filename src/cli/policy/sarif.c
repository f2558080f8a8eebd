/* Writes findings as SARIF 2.1.0. */
#include "cli/policy/sarif.h"

#include <string.h>

#include "json/json.h"

/* A file's name as a URI reference: an absolute one is a file: URI; a `:` in the first part of another would
 * be a scheme's. */
static void write_uri(struct buf *out, struct slice name)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    buf_text(out, name.len && name.ptr[0] == '/' ? "\"file://" : "\"");
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] != '\0' && strchr(plain, name.ptr[i]) != NULL) {
            buf_byte(out, name.ptr[i]);
        } else {
            buf_printf(out, "%%%02X", (unsigned char)name.ptr[i]);
        }
    }
    buf_byte(out, '"');
}

static void write_result(struct buf *out, const struct finding *f, const char *level)
{
    buf_text(out, "{\"ruleId\":");
    json_write_string(out, slice_of(f->code));
    buf_printf(out, ",\"level\":\"%s\",\"message\":{\"text\":", level);
    json_write_bytes(out, f->message);
    buf_text(out, "},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":");
    write_uri(out, f->file_name);
    buf_byte(out, '}');
    if (f->line) {
        buf_printf(out, ",\"region\":{\"startLine\":%u,\"startColumn\":%u}", f->line,
                   f->column ? f->column : 1);
    }
    buf_text(out, "}}]}");
}

static void write_results(struct buf *out, const struct findings *findings, const char *level, bool *any)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (*any) {
            buf_byte(out, ',');
        }
        *any = true;
        write_result(out, &findings->list[i], level);
    }
}

/* Each code once, in the order of first appearance. */
static void write_rules(struct buf *out, const struct findings *findings, const struct findings *before,
                        bool *any)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct slice code = slice_of(findings->list[i].code);
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++) {
            seen = slice_is(code, findings->list[j].code);
        }
        for (size_t j = 0; before != NULL && j < before->count && !seen; j++) {
            seen = slice_is(code, before->list[j].code);
        }
        if (seen) {
            continue;
        }
        buf_text(out, *any ? ",{\"id\":" : "{\"id\":");
        *any = true;
        json_write_string(out, code);
        buf_byte(out, '}');
    }
}

void sarif_write(struct buf *out, const struct findings *errors, const struct findings *warnings)
{
    bool any = false;
    buf_text(
        out,
        "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
        "\"tool\":{\"driver\":{\"name\":\"callgate\",\"version\":\"" CALLGATE_VERSION "\",\"rules\":[");
    write_rules(out, errors, NULL, &any);
    write_rules(out, warnings, errors, &any);
    buf_text(out, "]}},\"columnKind\":\"unicodeCodePoints\",\"results\":[");
    any = false;
    write_results(out, errors, "error", &any);
    write_results(out, warnings, "warning", &any);
    buf_text(out, "]}]}\n");
}
