/* The policy of a gate as it stands on the disk, for people who want to know which rule asked, and where it stands. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "console/internal.h"
#include "journal/journal.h"

#define GATES_BYTES ((size_t)64 << 20)

static int64_t number_of(const struct json_doc *doc, const struct json_value *object, const char *name)
{
    const struct json_value *v = json_get(doc, object, name);
    int64_t number = 0;
    return json_is(v, JSON_NUMBER) && json_number_int(json_str(v), &number) == JSON_INT_OK ? number : 0;
}

static struct slice text_of(const struct json_doc *doc, const struct json_value *object, const char *name)
{
    const struct json_value *v = json_get(doc, object, name);
    return json_is(v, JSON_STRING) ? json_str(v) : SLICE("");
}

/* The gate of a process number among those that run; 0: the first. */
static const struct json_value *find_gate(const struct json_doc *doc, int64_t pid)
{
    const struct json_value *list = json_root(doc);
    for (const struct json_value *v = json_first(doc, list); v != NULL; v = json_right(doc, list, v)) {
        if (pid == 0 || number_of(doc, v, "pid") == pid) {
            return v;
        }
    }
    return NULL;
}

static void find_base(struct console *console, int64_t pid, struct gate_policy *ret)
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/%lld/cwd", (long long)pid);
    ssize_t len = pid > 0 ? readlink(link, ret->cwd, sizeof(ret->cwd) - 1) : -1;
    ret->cwd[len > 0 ? len : 0] = '\0';
    ret->base.cwd = slice_of(len > 0 ? ret->cwd : "/");
    ret->base.home = slice_of(console->options.home);
}

/* A file as the gate named it, from where the gate stands. One that is a part of the program has no path. */
static bool add_file(struct gate_policy *ret, struct slice file, struct slice tier, struct buf *ret_error)
{
    char path[PATH_MAX], argument[PATH_MAX + 16];
    bool absolute = file.len > 0 && file.ptr[0] == '/';
    if (snprintf(path, sizeof(path), "%s%s%.*s", absolute ? "" : ret->cwd, absolute ? "" : "/",
                 SLICE_FMT(file)) >= (int)sizeof(path) ||
        access(path, R_OK) != 0) {
        return true;
    }
    bool own = slice_is(tier, "operator");
    snprintf(argument, sizeof(argument), "%.*s%s%s", own ? 0 : (int)tier.len, tier.ptr, own ? "" : "=", path);
    return sources_add(&ret->sources, argument, ret_error);
}

static bool add_files(struct gate_policy *ret, const struct json_doc *doc, const struct json_value *gate,
                      struct buf *ret_error)
{
    const struct json_value *files = json_get(doc, json_get(doc, gate, "policy"), "files");
    for (const struct json_value *f = json_is(files, JSON_ARRAY) ? json_first(doc, files) : NULL; f != NULL;
         f = json_right(doc, files, f)) {
        if (slice_is(text_of(doc, f, "state"), source_state_name(SOURCE_USED)) &&
            !add_file(ret, text_of(doc, f, "file"), text_of(doc, f, "tier"), ret_error)) {
            return false;
        }
    }
    return true;
}

static bool load(struct gate_policy *ret, struct slice digest, struct buf *ret_error)
{
    struct findings errors;
    char own[HASH_HEX + 1];
    findings_init(&errors);
    ret->policy = sources_load(&ret->sources, &ret->base, &ret->texts, &errors);
    if (ret->policy == NULL) {
        sources_write_errors(ret_error, &errors);
        if (errors.count == 0) {
            buf_text(ret_error, "no memory");
        }
    } else {
        ret->is_current = policy_digest(ret->policy, own) && slice_is(digest, own);
    }
    findings_finish(&errors);
    return ret->policy != NULL;
}

bool gate_policy_load(struct console *console, int64_t pid, struct gate_policy *ret_policy,
                      struct buf *ret_error)
{
    struct buf gates;
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = (uint32_t)GATES_BYTES};
    *ret_policy = (struct gate_policy){0};
    buf_init(&gates, GATES_BYTES);
    json_init(&doc);
    bool ok = sources_init(&ret_policy->sources) &&
              gates_write_json(console->options.state_dir, &gates, ret_error) &&
              json_parse(&doc, buf_slice_of(&gates), &options, &error);
    if (ok) {
        const struct json_value *gate = find_gate(&doc, pid);
        int64_t found = gate != NULL ? number_of(&doc, gate, "pid") : pid;
        find_base(console, found, ret_policy);
        ret_policy->pid = found;
        ok = gate != NULL ? add_files(ret_policy, &doc, gate, ret_error)
                          : sources_add_places(&ret_policy->sources, &ret_policy->base, true);
        ok = ok && load(ret_policy, text_of(&doc, json_get(&doc, gate, "policy"), "digest"), ret_error);
    }
    json_finish(&doc);
    buf_finish(&gates);
    return ok;
}

void gate_policy_finish(struct gate_policy *policy)
{
    policy_destroy(policy->policy);
    source_texts_finish(&policy->texts);
    sources_finish(&policy->sources);
    *policy = (struct gate_policy){0};
}

/* ---- The rule of a request ---- */

static const struct rule *rule_of(const struct policy *policy, const struct request *request)
{
    struct buf text;
    const struct rule *found = NULL;
    buf_init(&text, 64u << 20);
    for (uint32_t i = 0; found == NULL && i < policy->rule_count; i++) {
        const struct rule *rule = &policy->rules[i];
        uint8_t digest[HASH_SIZE];
        if (!slice_eq(policy_text(policy, rule->id), request->rule)) {
            continue;
        }
        buf_reset(&text);
        rule_write_canonical(&text, policy, rule);
        if (buf_ok(&text) && hash_bytes(buf_slice_of(&text), digest) &&
            memcmp(digest, request->rule_digest, HASH_SIZE) == 0) {
            found = rule;
        }
    }
    buf_finish(&text);
    return found;
}

void write_rule_of_request(struct console *console, struct buf *buf, const struct request *request)
{
    struct gate_policy policy;
    struct buf error;
    char holder[32];
    const struct rule *rule = NULL;
    snprintf(holder, sizeof(holder), "%.*s", request->holder.len < 20 ? (int)request->holder.len : 20,
             request->holder.ptr != NULL ? request->holder.ptr : "");
    buf_init_message(&error, MESSAGE_BYTES);
    int64_t pid = strtoll(holder, NULL, 10); /* a holder is PID-RANDOM */
    if (gate_policy_load(console, pid > 0 ? pid : 0, &policy, &error) &&
        (rule = rule_of(policy.policy, request)) != NULL) {
        buf_text(buf, "{\"file\":");
        json_write_bytes(buf, policy.policy->files[rule->file].name);
        buf_printf(buf, ",\"line\":%u,\"effect\":\"%s\",\"tier\":\"%s\",\"reason\":", rule->line,
                   effect_name(rule->effect), tier_name((enum tier)rule->tier));
        json_write_bytes(buf, policy_text(policy.policy, rule->reason));
        buf_text(buf, ",\"tell\":");
        json_write_bytes(buf, policy_text(policy.policy, rule->tell));
        buf_text(buf, ",\"match\":");
        rule_write_match_json(buf, policy.policy, rule);
        buf_byte(buf, '}');
    } else {
        buf_text(buf, "null");
    }
    gate_policy_finish(&policy);
    buf_finish(&error);
}
