/* What the state directory remembers of --observe: the files that it was written into. */
#include "install/observed_internal.h"

#include "base/files.h"
#include "install/internal.h"

#define OBSERVED_FILE "observed.json"

bool observed_read(struct text_file *file, struct json_doc *doc, const char *state_dir, struct buf *ret_error)
{
    const struct json_options options = {.max_depth = 4, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    struct buf path;
    buf_init(&path, LIMIT_PATH_BYTES + 1);
    bool ok = write_path(&path, slice_of(state_dir), OBSERVED_FILE) &&
              text_file_read(file, path.ptr, LIMIT_MESSAGE_BYTES, ret_error);
    buf_finish(&path);
    if (ok && (!json_parse(doc, file->existed ? buf_slice_of(&file->text) : SLICE("[]"), &options, &error) ||
               !json_is(json_root(doc), JSON_ARRAY))) {
        (void)!json_parse(doc, SLICE("[]"), &options, &error); /* damaged: begun anew */
    }
    return ok;
}

struct slice observed_member(const struct json_doc *doc, const struct json_value *object, const char *key)
{
    const struct json_value *value = json_get(doc, object, key);
    return json_is(value, JSON_STRING) ? json_str(value) : (struct slice){0};
}

bool observed_note(const char *state_dir, const char *file, const char *host, struct buf *ret_error)
{
    struct text_file noted;
    struct json_doc doc;
    struct buf text;
    json_init(&doc);
    buf_init(&text, LIMIT_MESSAGE_BYTES);
    bool ok = observed_read(&noted, &doc, state_dir, ret_error), known = false;
    buf_byte(&text, '[');
    const struct json_value *list = ok ? json_root(&doc) : NULL;
    for (const struct json_value *v = ok ? json_first(&doc, list) : NULL; v != NULL;
         v = json_right(&doc, list, v)) {
        struct slice name = observed_member(&doc, v, "host");
        known = known || (slice_is(observed_member(&doc, v, "file"), file) &&
                          (host != NULL ? slice_is(name, host) : name.ptr == NULL));
        buf_slice(&text, json_text_of(&doc, v));
        buf_byte(&text, ',');
    }
    buf_text(&text, "{\"file\":");
    json_write_bytes(&text, slice_of(file));
    buf_printf(&text, host != NULL ? ",\"host\":\"%s\"}]\n" : ",\"host\":null}]\n", host != NULL ? host : "");
    if (ok && !known) {
        ok = buf_ok(&text) && text_file_replace(&noted, buf_slice_of(&text), 0600, ret_error);
    }
    if (list != NULL) {
        text_file_finish(&noted);
    }
    buf_finish(&text);
    json_finish(&doc);
    return ok;
}
