/* The index against the plain scan, over policies with lists, commands, hosts and loose arguments, and calls whose
 * readings have all of these.
 *
 * usage: fields_test [POLICIES] */
#include "index/index_internal.h"
#include "support.h"

static uint32_t test_below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % limit);
}

static const char *const tools[] = {"t", "tu", "u", "Bash"};
static const char *const commands[] = {"git log", "git", "git log -p", "rm",      "rm -f", "/bin/rm", "ls",
                                       "git * x", "cat", "cat a",      "make -j", "> out", "ls -l"};
static const char *const texts[] = {"git log",
                                    "git log -p | ls",
                                    "rm -f x",
                                    "/bin/rm x",
                                    "cat /p/a/.env",
                                    "cat $X",
                                    "git $X x",
                                    "for i in a; do x; done",
                                    "ls > out",
                                    "X=1 ls",
                                    "git status",
                                    "cd /p && cat b",
                                    "rm",
                                    "sudo rm -f /q",
                                    "curl https://h.org/x",
                                    "make -j 4",
                                    "cat a",
                                    "git push x"};
static const char *const words[] = {"-f", "*.env", "x", "-p", "log", "a*"};
static const char *const hosts[] = {"h.org", "*.h.org", "x.h.org", "*.org", "1.2.3.4"};
static const char *const urls[] = {"https://h.org/a", "http://x.h.org", "https://y.x.h.org",
                                   "https://u@h.org", "ftp://h.org",    "https://1.2.3.4:8/"};
static const char *const prefixes[] = {"/p", "/p/a", "/q", "/"};
static const char *const components[] = {".env", "*.pem", "a", "b*"};
static const char *const paths[] = {"/p/a/.env", "/p/x", "/q", "/r/k.pem", "/p/a/b1"};
static const char *const values[] = {"1", "true", "\"yes\"", "\"a\"", "\"A \"", "[1]", "null"};
static const char *const keys[] = {"k", "K", "m"};
#define COUNT(list) ((uint32_t)(sizeof(list) / sizeof((list)[0])))

static void write_key(struct buf *buf, bool *some, const char *key)
{
    buf_printf(buf, "%s\"%s\":", *some ? "," : "", key);
    *some = true;
}

/* One value, or a list of different ones. */
static void write_values(struct buf *buf, uint64_t *seed, const char *const *list, uint32_t count,
                         bool quoted)
{
    uint32_t many = test_below(seed, 3) != 0 ? 1 : 1 + test_below(seed, count),
             from = test_below(seed, count);
    bool array = many > 1 || test_below(seed, 8) == 0;
    buf_text(buf, array ? "[" : "");
    for (uint32_t i = 0; i < many; i++) {
        buf_printf(buf, "%s%s%s%s", i == 0 ? "" : ",", quoted ? "\"" : "", list[(from + i) % count],
                   quoted ? "\"" : "");
    }
    buf_text(buf, array ? "]" : "");
}

#define MAYBE(percent, key, list)                                                                            \
    if (test_below(seed, 100) < (percent)) {                                                                 \
        write_key(buf, &some, key);                                                                          \
        write_values(buf, seed, list, COUNT(list), true);                                                    \
    }

static void write_match(struct buf *buf, uint64_t *seed, bool allow)
{
    bool some = false;
    uint32_t kind = test_below(seed, 4);
    bool command = kind == 0, host = kind == 1;
    buf_byte(buf, '{');
    MAYBE(40, "tool", tools)
    if (command && test_below(seed, 2) == 0) {
        MAYBE(100, "command", commands)
    } else if (command) {
        MAYBE(allow ? 100 : 80, "commandPrefix", commands)
    }
    if (command && !allow) {
        MAYBE(40, "commandWord", words)
    }
    if (host || (command && !allow && test_below(seed, 4) == 0)) {
        MAYBE(100, "host", hosts)
    }
    MAYBE(30, "pathPrefix", prefixes)
    if (!(command && allow)) {
        MAYBE(20, "pathComponent", components)
    }
    if (test_below(seed, 4) == 0) {
        write_key(buf, &some, "argEquals");
        buf_printf(buf, "{\"%s\":%s}", keys[test_below(seed, COUNT(keys))],
                   values[test_below(seed, COUNT(values))]);
    } else if (test_below(seed, 6) == 0) {
        write_key(buf, &some, "argIn");
        buf_printf(buf, "{\"%s\":[%s,%s]}", keys[test_below(seed, COUNT(keys))], values[test_below(seed, 3)],
                   values[3 + test_below(seed, COUNT(values) - 3)]);
    }
    if (!some) {
        buf_text(buf, "\"channel\":\"C\"");
    }
    buf_byte(buf, '}');
}

static struct policy *make_policy(uint64_t *seed, uint32_t rules)
{
    static const char *const effects[] = {"auto_approve", "deny\",\"reason\":\"r", "require_approval",
                                          "require_approval\",\"scope\":\"call"};
    struct buf text;
    struct findings errors;
    buf_init(&text, 1 << 24);
    findings_init(&errors);
    buf_byte(&text, '[');
    for (uint32_t i = 0; i < rules; i++) {
        uint32_t effect = test_below(seed, COUNT(effects));
        buf_printf(&text, "%s{\"id\":\"r%u\",\"effect\":\"%s\",", i == 0 ? "" : ",", i, effects[effect]);
        if (effect == 2) {
            buf_printf(&text, "\"approvers\":%u,", 1 + test_below(seed, 3));
        }
        buf_text(&text, "\"match\":");
        write_match(&text, seed, effect == 0);
        buf_byte(&text, '}');
    }
    buf_text(&text, "]");
    struct policy_source source = {
        .name = SLICE("p.json"), .tier = TIER_DEFAULT, .text = buf_slice_of(&text)};
    struct policy *policy = policy_load(&source, 1, &test_base, &errors);
    if (policy == NULL) {
        printf("does not load: %s\n", errors.count != 0 ? errors.list[0].message.ptr : "no memory");
    }
    findings_finish(&errors);
    buf_finish(&text);
    return policy;
}

static void write_call(struct buf *buf, uint64_t *seed)
{
    bool some = false;
    buf_reset(buf);
    buf_printf(buf, "{\"tool\":\"%s\",\"input\":{", tools[test_below(seed, COUNT(tools))]);
    if (test_below(seed, 3) != 0) {
        write_key(buf, &some, "command");
        buf_printf(buf, "\"%s\"", texts[test_below(seed, COUNT(texts))]);
    }
    if (test_below(seed, 3) == 0) {
        write_key(buf, &some, "url");
        buf_printf(buf, "\"%s\"", urls[test_below(seed, COUNT(urls))]);
    }
    if (test_below(seed, 3) == 0) {
        write_key(buf, &some, "path");
        buf_printf(buf, test_below(seed, 8) == 0 ? "7" : "\"%s\"", paths[test_below(seed, COUNT(paths))]);
    }
    if (test_below(seed, 2) == 0) {
        write_key(buf, &some, keys[test_below(seed, COUNT(keys))]);
        buf_text(buf, values[test_below(seed, COUNT(values))]);
    }
    buf_text(buf, "}}");
}

static bool same(const struct decision *a, const struct decision *b)
{
    return a->kind == b->kind && a->rule == b->rule && a->cause == b->cause && a->noted == b->noted &&
           a->reading == b->reading && a->passed == b->passed;
}

struct work {
    struct call_reader reader;
    struct readings readings;
    struct facts facts, plain;
    struct buf call;
    unsigned noted, denied, stopped;
};

static void compare(struct work *w, const struct policy *policy, uint64_t *seed)
{
    static const struct call_defaults defaults = {
        .channel = {"C", 1}, .thread = {"1", 1}, .actor = ACTOR_CLAUDE_PROCESS};
    write_call(&w->call, seed);
    struct reading_interest interest = policy->interest;
    interest.component_count = 0; /* no directory of this machine is looked through */
    bool read = call_read(&w->reader, buf_slice_of(&w->call), &defaults) == CALL_OK &&
                readings_make(&w->readings, &w->reader.call, &test_base, policy->arguments, policy->prefixes,
                              &interest, READINGS_STILL) == READINGS_OK &&
                facts_make(&w->facts, policy, &w->reader.call) &&
                facts_make_whole(&w->plain, policy, &w->reader.call);
    CHECK(read);
    for (size_t i = 0; read && i <= w->readings.count; i++) {
        const struct reading *from = i == w->readings.count ? w->readings.list : &w->readings.list[i];
        size_t count = i == w->readings.count ? w->readings.count : 1;
        struct decision scanned = policy_evaluate_linear(policy, &w->plain, from, count, NULL);
        struct decision found = policy_evaluate_indexed(policy, &w->facts, from, count, NULL);
        struct decision usual = policy_evaluate(policy, &w->facts, from, count, NULL);
        bool ok = same(&scanned, &found) && same(&scanned, &usual);
        CHECK(ok);
        if (!ok && check_failed < 5) {
            printf("  %.*s reading %zu: %s %d, %s %d\n", SLICE_FMT(buf_slice_of(&w->call)), i,
                   decision_kind_name(scanned.kind), scanned.rule ? (int)(scanned.rule - policy->rules) : -1,
                   decision_kind_name(found.kind), found.rule ? (int)(found.rule - policy->rules) : -1);
        }
        w->noted += scanned.noted;
        w->denied += scanned.kind == DECISION_DENY;
        w->stopped += scanned.cause == CAUSE_HOST || scanned.cause == CAUSE_UNREADABLE;
    }
}

int main(int argc, char **argv)
{
    uint64_t policies = argc > 1 ? strtoull(argv[1], NULL, 10) : 60, seed = 11;
    static struct work w;
    CHECK(call_reader_init(&w.reader) && readings_init(&w.readings) && facts_init(&w.facts) &&
          facts_init(&w.plain));
    buf_init(&w.call, 1 << 20);
    for (uint64_t n = 0; n < policies; n++) {
        static const uint32_t sizes[] = {2, 6, 30, 120, 300};
        struct policy *policy = make_policy(&seed, sizes[n % COUNT(sizes)]);
        CHECK(policy != NULL);
        for (unsigned i = 0; policy != NULL && i < 60; i++) {
            compare(&w, policy, &seed);
        }
        policy_destroy(policy);
    }
    printf("%u denied, %u noted, %u stopped\n", w.denied, w.noted, w.stopped);
    CHECK(w.denied != 0 && w.noted != 0 && w.stopped != 0);
    call_reader_finish(&w.reader);
    readings_finish(&w.readings);
    facts_finish(&w.facts);
    facts_finish(&w.plain);
    buf_finish(&w.call);
    return check_done();
}
