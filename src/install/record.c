/* The record of what was put into settings: STATE/hooks/HOST-HASH.json and, beside it, the settings as they
 * were. */
#include <unistd.h>

#include "install/internal.h"

static const struct json_options record_options = {
    .max_depth = LIMIT_JSON_DEPTH,
    .max_bytes = LIMIT_MESSAGE_BYTES,
};

void record_init(struct install_record *record)
{
    *record = (struct install_record){0};
    buf_init(&record->inserted, LIMIT_MESSAGE_BYTES);
    buf_init(&record->before, LIMIT_MESSAGE_BYTES);
    buf_init(&record->protect, LIMIT_PATH_BYTES + 1);
}

void record_finish(struct install_record *record)
{
    buf_finish(&record->inserted);
    buf_finish(&record->before);
    buf_finish(&record->protect);
    *record = (struct install_record){0};
}

/* One record for each settings file. */
static bool path_of(const struct install_options *options, const char *settings, const char *suffix,
                    struct buf *ret_path)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    if (!hash_bytes(slice_of(settings), hash)) {
        return false;
    }
    hash_to_hex(hash, hex);
    buf_printf(ret_path, "%s/hooks/%s-%.16s.%s", options->state_dir, options->place.host->name, hex, suffix);
    buf_byte(ret_path, '\0');
    return buf_ok(ret_path);
}

bool record_copy_path(const struct install_options *options, const char *settings, struct buf *ret_path)
{
    return path_of(options, settings, "before", ret_path);
}

static bool take(struct install_record *record, struct slice text, const char *settings)
{
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    bool ok = json_parse(&doc, text, &record_options, &error);
    const struct json_value *root = ok ? json_root(&doc) : NULL, *name = json_get(&doc, root, "settings"),
                            *list = json_get(&doc, root, "inserted"),
                            *protect = json_get(&doc, root, "protect"), *v;
    ok = json_is(name, JSON_STRING) && slice_is(json_str(name), settings) && json_is(list, JSON_ARRAY);
    for (v = ok ? json_first(&doc, list) : NULL; v != NULL; v = json_right(&doc, list, v)) {
        buf_slice(&record->inserted, json_str(v));
        buf_byte(&record->inserted, '\0');
    }
    if (ok && json_is(protect, JSON_STRING)) {
        buf_slice(&record->protect, json_str(protect));
    }
    record->existed = ok && json_is(json_get(&doc, root, "existed"), JSON_TRUE);
    record->found = ok;
    json_finish(&doc);
    return buf_ok(&record->inserted) && buf_ok(&record->protect);
}

bool record_read(struct install_record *record, const struct install_options *options, const char *settings,
                 struct buf *ret_error)
{
    struct buf path;
    struct text_file file, copy;
    buf_init(&path, LIMIT_PATH_BYTES + 1);
    bool ok = path_of(options, settings, "json", &path) &&
              text_file_read(&file, path.ptr, LIMIT_MESSAGE_BYTES, ret_error);
    if (ok) {
        ok = !file.existed || take(record, buf_slice_of(&file.text), settings);
        text_file_finish(&file);
    }
    buf_reset(&path);
    if (ok && record->found && record->existed) {
        ok = path_of(options, settings, "before", &path) &&
             text_file_read(&copy, path.ptr, LIMIT_MESSAGE_BYTES, ret_error);
        if (ok) {
            record->found = copy.existed;
            buf_slice(&record->before, buf_slice_of(&copy.text));
            text_file_finish(&copy);
        }
    }
    buf_finish(&path);
    if (!ok && ret_error->len == 0) {
        buf_text(ret_error, "no memory");
    }
    return ok && buf_ok(&record->before);
}

static void write_record(struct buf *buf, const struct install_record *record,
                         const struct install_options *options, const char *settings)
{
    buf_text(buf, "{\"existed\":");
    buf_text(buf, record->existed ? "true" : "false");
    buf_text(buf, ",\"host\":");
    json_write_string(buf, slice_of(options->place.host->name));
    buf_text(buf, ",\"inserted\":[");
    for (size_t at = 0; at < record->inserted.len;) {
        struct slice text = slice_of(record->inserted.ptr + at);
        buf_text(buf, at ? "," : "");
        json_write_string(buf, text);
        at += text.len + 1;
    }
    buf_text(buf, "],\"protect\":");
    if (record->protect.len) {
        json_write_bytes(buf, buf_slice_of(&record->protect));
    } else {
        buf_text(buf, "null");
    }
    buf_text(buf, ",\"settings\":");
    json_write_string(buf, slice_of(settings));
    buf_text(buf, ",\"v\":1}\n");
}

static bool write_file(const struct install_options *options, const char *settings, const char *suffix,
                       struct slice text, struct buf *ret_error)
{
    struct buf path;
    struct text_file file;
    buf_init(&path, LIMIT_PATH_BYTES + 1);
    bool ok = path_of(options, settings, suffix, &path) &&
              text_file_read(&file, path.ptr, LIMIT_MESSAGE_BYTES, ret_error);
    if (ok) {
        ok = text_file_replace(&file, text, 0600, ret_error);
        text_file_finish(&file);
    }
    buf_finish(&path);
    return ok;
}

bool record_write(const struct install_record *record, const struct install_options *options,
                  const char *settings, struct buf *ret_error)
{
    struct buf text;
    buf_init(&text, 4 * (size_t)LIMIT_MESSAGE_BYTES);
    write_record(&text, record, options, settings);
    bool ok = buf_ok(&text);
    if (ok && record->existed) {
        ok = write_file(options, settings, "before", buf_slice_of(&record->before), ret_error);
    }
    ok = ok && write_file(options, settings, "json", buf_slice_of(&text), ret_error);
    buf_finish(&text);
    return ok;
}

void record_remove(const struct install_options *options, const char *settings)
{
    static const char *const suffixes[] = {"json", "before"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        struct buf path;
        buf_init(&path, LIMIT_PATH_BYTES + 1);
        if (path_of(options, settings, suffixes[i], &path)) {
            unlink(path.ptr);
        }
        buf_finish(&path);
    }
}

bool install_work_init(struct install_work *w, const struct install_options *options, struct buf *ret_report,
                       struct buf *ret_error)
{
    struct buf path;
    *w = (struct install_work){.options = options, .report = ret_report, .error = ret_error};
    record_init(&w->record);
    buf_init(&path, LIMIT_PATH_BYTES + 1);
    bool ok = install_place_path(&options->place, &path);
    if (!ok) {
        buf_printf(ret_error, "%s has no such place", options->place.host->summary);
    }
    ok = ok && text_file_read(&w->file, path.ptr, LIMIT_MESSAGE_BYTES, ret_error);
    buf_finish(&path);
    if (ok && record_read(&w->record, options, w->file.path.ptr, ret_error)) {
        return true;
    }
    if (ok) {
        text_file_finish(&w->file);
    }
    record_finish(&w->record);
    return false;
}

void install_work_finish(struct install_work *w)
{
    text_file_finish(&w->file);
    record_finish(&w->record);
}
