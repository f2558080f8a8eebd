/* `check --upgrade`: calls of a journal, of a file, and made up from the rules, judged by this release and by the last. */
#include "cli/policy/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/agents/subprocess.h"
#include "cli/calls/calls.h"
#include "cli/policy/upgrade_internal.h"
#include "gate/state.h"
#include "journal/reader.h"

#define TOGETHER   256u   /* calls that the old program is asked in one go */
#define ASK_MS     60000u /* how long it may take for them */
#define WORDS_MOST 256u
#define CALL_SHOWN 300u /* bytes of a call, in text */

struct upgrade {
    const struct options *options;
    struct judge judge;
    const char *words[WORDS_MOST]; /* the old program and its arguments; words[0] NULL: none is named */
    struct buf calls;              /* to be asked, one a line */
    size_t asked;
    const char *where; /* from which they are */
    struct buf out;
    size_t count, stricter, looser;
    bool failed;
};

static bool fail(struct upgrade *u, const char *name, const char *what)
{
    say("%s %s", name, what);
    u->failed = true;
    return false;
}

/* ---- Comparing ---- */

static uint32_t kind_of(struct slice name)
{
    bool asks = slice_is(name, "require") || slice_is(name, "would-require");
    return slice_is(name, "allow") ? DECISION_ALLOW : asks ? DECISION_REQUIRE : DECISION_DENY;
}

static struct slice new_rule(const struct upgrade *u)
{
    const struct decision *decision = &u->judge.decision;
    bool named = decision->rule != NULL && decision->cause == CAUSE_NONE;
    return named                             ? policy_text(u->judge.policy, decision->rule->id)
           : decision->kind == DECISION_DENY ? SLICE("default")
                                             : (struct slice){0};
}

static void write_side(struct buf *out, bool json, uint32_t kind, struct slice rule)
{
    if (json) {
        buf_printf(out, "{\"kind\":\"%s\",\"rule\":", decision_kind_name(kind));
        if (rule.len > 0) {
            json_write_bytes(out, rule);
        } else {
            buf_text(out, "null");
        }
        buf_byte(out, '}');
        return;
    }
    buf_text(out, decision_kind_name(kind));
    if (rule.len > 0) {
        buf_text(out, " ('");
        utf8_append_printable(out, rule);
        buf_text(out, "')");
    }
}

static void write_reason(struct upgrade *u, bool json)
{
    struct buf reason;
    buf_init_message(&reason, MESSAGE_BYTES);
    decision_write_reason(&reason, u->judge.policy, &u->judge.decision);
    if (json) {
        buf_text(&u->out, ",\"reason\":");
        json_write_bytes(&u->out, buf_message(&reason));
    } else if (reason.len > 0) {
        buf_text(&u->out, ": ");
        utf8_append_printable(&u->out, buf_message(&reason));
    }
    buf_finish(&reason);
}

static void tell(struct upgrade *u, struct slice call, uint64_t seq, uint32_t old_kind, struct slice old_rule)
{
    struct buf *out = &u->out;
    bool json = u->options->json;
    if (json) {
        buf_text(out, "{\"from\":");
        write_side(out, true, old_kind, old_rule);
        buf_text(out, ",\"to\":");
        write_side(out, true, u->judge.decision.kind, new_rule(u));
        write_reason(u, true);
        buf_text(out, ",\"where\":");
        json_write_bytes(out, slice_of(u->where));
        if (seq > 0) {
            buf_printf(out, ",\"seq\":%llu", (unsigned long long)seq);
        }
        buf_text(out, ",\"call\":");
        buf_slice(out, call);
        buf_text(out, "}\n");
        return;
    }
    buf_text(out, u->where);
    if (seq > 0) {
        buf_printf(out, ", event %llu", (unsigned long long)seq);
    }
    buf_text(out, ": ");
    write_side(out, false, old_kind, old_rule);
    buf_text(out, " -> ");
    write_side(out, false, u->judge.decision.kind, new_rule(u));
    write_reason(u, false);
    buf_text(out, "\n    ");
    struct slice shown = {call.ptr, call.len < CALL_SHOWN ? call.len : CALL_SHOWN};
    while (shown.len < call.len && shown.len > 0 && ((unsigned char)call.ptr[shown.len] & 0xC0) == 0x80) {
        shown.len--; /* not in the middle of a character */
    }
    utf8_append_printable(out, shown);
    buf_text(out, shown.len < call.len ? "…\n" : "\n");
}

/* A call, and what the release before decided of it. `people`: that may have been an approval of what it asked for. */
static void compare(struct upgrade *u, struct slice call, uint64_t seq, uint32_t old_kind,
                    struct slice old_rule, bool people)
{
    const struct decision *now = &u->judge.decision;
    judge_text(&u->judge, call);
    u->count++;
    bool approved = people && old_kind == DECISION_ALLOW && now->kind == DECISION_REQUIRE &&
                    old_rule.len > 0 && slice_eq(new_rule(u), old_rule);
    int was = decision_rank(old_kind), is = decision_rank(now->kind);
    if (is > was && !approved) {
        u->stricter++;
        tell(u, call, seq, old_kind, old_rule);
    }
    u->looser += is < was;
}

/* ---- Asking the old program ---- */

static bool take_answers(struct upgrade *u, struct slice answers)
{
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH, .max_bytes = LIMIT_MESSAGE_BYTES};
    struct slice calls = buf_slice_of(&u->calls);
    struct json_doc doc;
    struct json_error error;
    bool ok = true;
    json_init(&doc);
    for (size_t i = 0; i < u->asked && ok; i++) {
        const char *call_end = memchr(calls.ptr, '\n', calls.len);
        const char *answer_end = answers.len > 0 ? memchr(answers.ptr, '\n', answers.len) : NULL;
        ok = call_end != NULL && answer_end != NULL;
        if (!ok) {
            break;
        }
        struct slice call = {calls.ptr, (size_t)(call_end - calls.ptr)};
        struct slice answer = {answers.ptr, (size_t)(answer_end - answers.ptr)};
        ok = json_parse(&doc, answer, &options, &error);
        const struct json_value *kind = ok ? json_get(&doc, json_root(&doc), "kind") : NULL,
                                *rule = ok ? json_get(&doc, json_root(&doc), "rule") : NULL;
        ok = json_is(kind, JSON_STRING);
        if (ok) {
            compare(u, call, 0, kind_of(json_str(kind)),
                    json_is(rule, JSON_STRING) ? json_str(rule) : (struct slice){0}, false);
        }
        calls = slice_from(calls, call.len + 1);
        answers = slice_from(answers, answer.len + 1);
    }
    json_finish(&doc);
    return ok;
}

static bool ask(struct upgrade *u)
{
    struct subprocess ran;
    bool ok = true;
    if (u->asked == 0) {
        return true;
    }
    if (!subprocess_run((char *const *)u->words, NULL, ".", buf_slice_of(&u->calls), ASK_MS, &ran)) {
        return fail(u, u->words[0], strerror(errno));
    }
    if (!ran.in_time || ran.code != 0) {
        say("%s does not judge by this policy:", u->words[0]);
        say_lines(&ran.errors);
        ok = fail(u, u->words[0],
                  "must be a release of callgate that knows what the policy says; compare by a "
                  "journal otherwise");
    } else if (!buf_ok(&u->calls) || !take_answers(u, buf_slice_of(&ran.out))) {
        ok = fail(u, u->words[0], "did not answer for each call");
    }
    subprocess_finish(&ran);
    buf_reset(&u->calls);
    u->asked = 0;
    return ok;
}

static bool add_call(struct upgrade *u, struct slice call)
{
    if (call.len == 0) {
        return true;
    }
    buf_slice(&u->calls, call);
    buf_byte(&u->calls, '\n');
    return ++u->asked < TOGETHER || ask(u);
}

static bool add_word(struct upgrade *u, size_t *count, const char *word)
{
    if (*count + 1 >= WORDS_MOST || word == NULL) {
        return fail(u, "check --upgrade", "has too many arguments");
    }
    u->words[(*count)++] = word;
    return true;
}

static const char *kept(struct upgrade *u, struct slice text)
{
    struct arena *arena = (struct arena *)(uintptr_t)&u->options->arena;
    return arena_copy(arena, text).ptr;
}

/* The words that make the old program judge by the same files from the same places. */
static bool name_program(struct upgrade *u, const char *program)
{
    const struct options *o = u->options;
    char real[PATH_MAX], word[PATH_MAX + 32];
    size_t count = 0;
    if (u->words[0] != NULL) {
        return fail(u, program, "is a second program: name one");
    }
    bool ok = realpath(program, real) != NULL && add_word(u, &count, kept(u, slice_of(real))) &&
              add_word(u, &count, "eval");
    for (size_t i = 0; i < o->sources.count && ok; i++) {
        const struct source_file *file = &o->sources.files[i];
        if (file->text != NULL || (file->optional && access(file->path, F_OK) != 0)) {
            continue;
        }
        snprintf(word, sizeof(word), "%s%s%s", file->at_tier ? tier_name(file->tier) : "",
                 file->at_tier ? "=" : "", file->path);
        ok = add_word(u, &count, "--policy") && add_word(u, &count, kept(u, slice_of(word)));
    }
    ok = ok && add_word(u, &count, "--cwd") && add_word(u, &count, kept(u, o->base.cwd)) &&
         add_word(u, &count, "--home") && add_word(u, &count, kept(u, o->base.home));
    for (size_t i = 0; i < o->base.root_count && ok; i++) {
        ok = add_word(u, &count, "--root") && add_word(u, &count, kept(u, o->base.roots[i]));
    }
    return ok && add_word(u, &count, "-");
}

/* ---- Where calls come from ---- */

static bool read_journal(struct upgrade *u, const char *const *files, size_t file_count)
{
    const struct journal_filter filter = {.decisions = true};
    const struct journal_event *event;
    struct buf call, error;
    enum journal_read result = JOURNAL_READ_FAILED;
    bool ok = true;
    buf_init(&call, (size_t)2 * LIMIT_MESSAGE_BYTES);
    buf_init_message(&error, MESSAGE_BYTES);
    struct journal_reader *reader = journal_reader_open(files, file_count, &filter, &error);
    while (ok && reader != NULL &&
           (result = journal_reader_next(reader, &event, &error)) == JOURNAL_READ_EVENT) {
        if (event->call_hash.len == 0) {
            continue; /* a call that could not be read */
        }
        buf_reset(&call);
        journal_event_call(&call, event);
        if (u->words[0] != NULL) {
            ok = add_call(u, buf_slice_of(&call));
        } else {
            compare(u, buf_slice_of(&call), event->seq, kind_of(event->outcome), event->rule, true);
        }
    }
    journal_reader_close(reader);
    if (ok && result != JOURNAL_READ_END) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
        u->failed = true;
    }
    buf_finish(&call);
    buf_finish(&error);
    return ok && result == JOURNAL_READ_END && ask(u);
}

static bool read_state(struct upgrade *u, const char *dir)
{
    struct journal_parts parts;
    struct buf error;
    buf_init_message(&error, MESSAGE_BYTES);
    bool ok = journal_parts_find(dir, STATE_JOURNAL, &parts, &error);
    if (!ok) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
        u->failed = true;
    } else {
        ok = read_journal(u, parts.files, parts.count);
        journal_parts_finish(&parts);
    }
    buf_finish(&error);
    return ok;
}

static bool read_calls(struct upgrade *u, const char *file)
{
    struct input_lines lines;
    struct slice line;
    enum line_result result = LINE_FAILED;
    bool ok = true;
    if (u->words[0] == NULL) {
        return fail(
            u, file,
            "has calls and no decisions: name the program of the release before, too, which is asked");
    }
    int fd = calls_open(file);
    if (fd < 0) {
        u->failed = true;
        return false;
    }
    input_lines_init(&lines, fd, LIMIT_MESSAGE_BYTES);
    while (ok && (result = input_lines_next(&lines, &line)) == LINE_READ) {
        ok = add_call(u, line);
    }
    input_lines_finish(&lines);
    close(fd);
    if (ok && result != LINE_END) {
        ok = fail(u, file, "cannot be read to its end");
    }
    return ok && ask(u);
}

static bool make_up_calls(struct upgrade *u, struct analysis *analysis)
{
    struct buf calls;
    buf_init(&calls, (size_t)1 << 30);
    bool ok =
        upgrade_make_calls(&calls, u->judge.policy, analysis) || fail(u, "the policy", "has too many rules");
    struct slice left = ok ? buf_slice_of(&calls) : (struct slice){0};
    u->where = "made up from the rules";
    while (ok && left.len > 0) {
        const char *end = memchr(left.ptr, '\n', left.len);
        size_t len = end != NULL ? (size_t)(end - left.ptr) : left.len;
        ok = add_call(u, (struct slice){left.ptr, len});
        left = slice_from(left, len < left.len ? len + 1 : len);
    }
    buf_finish(&calls);
    return ok && ask(u);
}

enum old_kind {
    OLD_NONE = 0,
    OLD_PROGRAM,
    OLD_STATE,
    OLD_JOURNAL,
    OLD_CALLS,
};

static enum old_kind look_at(struct upgrade *u, const char *old)
{
    char head[4096];
    struct stat st;
    int fd = open(old, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        (void)fail(u, old, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return OLD_NONE;
    }
    ssize_t n = S_ISREG(st.st_mode) ? pread(fd, head, sizeof(head), 0) : 0;
    close(fd);
    struct slice text = {head, n > 0 ? (size_t)n : 0};
    if (S_ISDIR(st.st_mode)) {
        return OLD_STATE;
    }
    if (slice_starts_with(text, SLICE("\177ELF")) || slice_starts_with(text, SLICE("#!"))) {
        return OLD_PROGRAM;
    }
    const char *lf = memchr(text.ptr, '\n', text.len);
    struct slice first = {text.ptr, lf != NULL ? (size_t)(lf - text.ptr) : text.len};
    return memmem(first.ptr, first.len, "\"prevHash\":", 11) != NULL ? OLD_JOURNAL : OLD_CALLS;
}

static bool read_all(struct upgrade *u, struct analysis *analysis, const struct option_list *olds)
{
    bool ok = true;
    for (size_t i = 0; i < olds->count && ok; i++) {
        enum old_kind kind = look_at(u, olds->items[i]);
        ok = kind != OLD_NONE && (kind != OLD_PROGRAM || name_program(u, olds->items[i]));
    }
    for (size_t i = 0; i < olds->count && ok; i++) {
        const char *old = u->where = olds->items[i];
        switch (look_at(u, old)) {
        case OLD_STATE:
            ok = read_state(u, old);
            break;
        case OLD_JOURNAL:
            ok = read_journal(u, &old, 1);
            break;
        case OLD_CALLS:
            ok = read_calls(u, old);
            break;
        case OLD_PROGRAM:
            ok = make_up_calls(u, analysis);
            break;
        case OLD_NONE:
            ok = false;
            break;
        }
    }
    return ok && !u->failed;
}

int upgrade_check(const struct options *options, const struct policy *policy, struct analysis *analysis,
                  const struct option_list *olds)
{
    static struct upgrade upgrade; /* too large for the stack */
    struct upgrade *u = &upgrade;
    int code = EXIT_UNABLE;
    *u = (struct upgrade){.options = options};
    if (!judge_init(&u->judge, policy, &options->base)) {
        say("no memory");
        return code;
    }
    buf_init(&u->calls, (size_t)1 << 30);
    buf_init(&u->out, (size_t)1 << 30);
    if (read_all(u, analysis, olds)) {
        if (!options->json) {
            buf_printf(&u->out, "%zu call(s), %zu decided more strictly than by the release before", u->count,
                       u->stricter);
            buf_printf(&u->out, u->looser > 0 ? ", %zu less strictly: see 'callgate replay'\n" : "\n",
                       u->looser);
        }
        code = print(&u->out) != EXIT_YES ? EXIT_UNABLE : u->stricter > 0 ? EXIT_NO : EXIT_YES;
    }
    buf_finish(&u->calls);
    buf_finish(&u->out);
    judge_finish(&u->judge);
    return code;
}
