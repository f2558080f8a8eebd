/* Reads a file of approvals and finds the one that covers a call. */
#include "cli/calls/approvals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"
#include "journal/journal.h"

#define READ_PIECE ((size_t)64 << 10)

bool read_file(const char *file, size_t ceiling, struct buf *ret_text)
{
    const char *why = NULL;
    int fd = file_open_text(file, &why);
    /* Room for one more read, which finds the end. */
    buf_init(ret_text, ceiling + READ_PIECE);
    if (fd < 0) {
        say("%s cannot be read: %s", file, why);
        return false;
    }
    bool done = file_read_all(fd, ret_text);
    if (!done) {
        int saved = errno;
        say("%s cannot be read: %s", file, strerror(saved));
        if (saved == EFBIG) {
            say("the limit is %zu MiB", ceiling >> 20);
        }
    }
    close(fd);
    return done;
}

static bool read_time(const struct json_doc *doc, const struct json_value *object, const char *key,
                      int64_t *ret)
{
    const struct json_value *value = json_get(doc, object, key);
    return json_is(value, JSON_NUMBER) && json_number_int(json_str(value), ret) == JSON_INT_OK;
}

static bool read_text(const struct json_doc *doc, const struct json_value *object, const char *key,
                      struct slice *ret)
{
    const struct json_value *value = json_get(doc, object, key);
    if (!json_is(value, JSON_STRING)) {
        return false;
    }
    *ret = json_str(value);
    return true;
}

enum one_result { ONE_BAD, ONE_LEFT_OUT, ONE_READ };

static enum one_result read_one(const struct policy *policy, const struct json_doc *doc,
                                const struct json_value *object, struct approval *ret)
{
    struct slice rule, hash;
    if (!read_text(doc, object, "rule", &rule) || !read_text(doc, object, "channel", &ret->channel) ||
        !read_text(doc, object, "thread", &ret->thread) ||
        !read_time(doc, object, "granted", &ret->granted) ||
        !read_time(doc, object, "expires", &ret->expires)) {
        return ONE_BAD;
    }
    if (json_get(doc, object, "callHash") != NULL) {
        ret->for_call = true;
        if (!read_text(doc, object, "callHash", &hash) || !hash_from_hex(hash, ret->call_hash)) {
            return ONE_BAD;
        }
    }
    uint32_t id = intern_find(&policy->symbols, rule);
    for (uint32_t i = 0; id && i < policy->rule_count; i++) {
        if (policy->rules[i].id == id) {
            ret->rule = i;
            return ONE_READ;
        }
    }
    return ONE_LEFT_OUT;
}

bool approvals_from_json(struct approvals_list *ret_list, const struct policy *policy,
                         const struct json_doc *doc, const struct json_value *array)
{
    if (!json_is(array, JSON_ARRAY)) {
        say("approvals: a list is wanted");
        return false;
    }
    ret_list->list = calloc((size_t)array->count + 1, sizeof(*ret_list->list));
    if (ret_list->list == NULL) {
        say("no memory");
        return false;
    }
    for (const struct json_value *v = json_first(doc, array); v != NULL; v = json_right(doc, array, v)) {
        struct approval approval = {0};
        enum one_result result = read_one(policy, doc, v, &approval);
        if (result == ONE_BAD) {
            uint32_t line, column;
            json_place(doc->text, v->offset, &line, &column);
            say("approvals:%u:%u: wanted "
                "{\"rule\",\"channel\",\"thread\",\"granted\",\"expires\",\"callHash\"?}",
                line, column);
            return false;
        }
        if (result == ONE_READ) {
            ret_list->list[ret_list->count++] = approval;
        }
    }
    return true;
}

bool approvals_read(struct approvals_list *ret_list, const struct policy *policy, const char *file)
{
    struct json_error error;
    struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    *ret_list = (struct approvals_list){.open = true};
    json_init(&ret_list->doc);
    if (!read_file(file, LIMIT_MESSAGE_BYTES + (128u << 10), &ret_list->text)) {
        return false;
    }
    if (json_parse(&ret_list->doc, buf_slice_of(&ret_list->text), &options, &error)) {
        return approvals_from_json(ret_list, policy, &ret_list->doc, json_root(&ret_list->doc));
    }
    uint32_t line, column;
    json_place(buf_slice_of(&ret_list->text), error.offset, &line, &column);
    say("%s:%u:%u: %s", file, line, column, error.detail);
    return false;
}

void approvals_finish(struct approvals_list *list)
{
    free(list->list);
    if (list->open) {
        json_finish(&list->doc);
        buf_finish(&list->text);
    }
    *list = (struct approvals_list){0};
}
