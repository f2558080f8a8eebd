/* Every allocation of loading and of evaluating fails once: no policy, no crash, no leak, and never an allow.
 * The linker hands malloc and its kin to the functions here (see meson.build). */
#include "support.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

static bool armed;
static unsigned long seen, fails_at;

static bool fails(void)
{
    return armed && seen++ == fails_at;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
    return fails() ? NULL : __real_realloc(ptr, size);
}

/* More rounds than allocations: the last one runs through. */
#define MOST_ROUNDS 5000ul

static const char good[] =
    "{'requireAuthoredPolicy':['a','b/*'],'pathArguments':{'t':['x','-y']},'treeArguments':{'*':['r']},"
    "'assertions':[{'name':'n','match':{'tool':'t','argEquals':{'k':1}},'never':['deny']}],'rules':["
    "{'id':'a','effect':'deny','reason':'r','match':{'pathPrefix':'/nowhere/"
    "a','argEquals':{'k':[1,{'b':2,'a':1}]}}},"
    "{'id':'b','effect':'require_approval','match':{'tool':'t','server':'s','pathComponent':'*.x'}},"
    "{'id':'c','effect':'auto_approve','match':{'pathPrefix':'/nowhere/b','tier':'admin'}}]}";
static const char bad[] =
    "{'rules':[7,{'id':'a','effect':'x','match':{'pathPrefix':'/proc/self/cwd','chanel':1}},"
    "{'id':'a'}],'b':1,'a':{}}";
static const char repeats[] = "{'rules':[{'x':1,'x':2},{'y':1,'y':2,'z':3,'z':4}],'rules':[]}";
static const char workspace[] = "[{'id':'w','effect':'deny','reason':'r','match':{'tool':'t','bad':1}}]";

/* One loading with the allocation `round` failing. False when none was left to fail. */
static bool load_round(const struct policy_source *sources, size_t count, unsigned long round, bool loads)
{
    struct findings errors;
    findings_init(&errors);
    armed = true;
    seen = 0;
    fails_at = round;
    struct policy *policy = policy_load(sources, count, &test_base, &errors);
    armed = false;
    bool failed = seen > fails_at;
    if (failed) {
        /* An allocation that only spares work may fail without harm; else the lack of memory is told. */
        CHECK(policy == NULL || !errors.failed);
        CHECK(policy != NULL || errors.failed || errors.count != 0);
        CHECK(!loads || (policy == NULL) == errors.failed);
    } else {
        CHECK((policy != NULL) == loads && !errors.failed);
    }
    policy_destroy(policy);
    findings_finish(&errors);
    return failed;
}

static void check_loading(const char *quoted, const char *second, bool loads)
{
    char *text = unquoted(quoted), *other = unquoted(second);
    struct policy_source sources[2] = {source_of("w", "workspace", other), source_of("p", NULL, text)};
    unsigned long round = 0;
    while (round < MOST_ROUNDS && load_round(sources, 2, round, loads)) {
        round++;
    }
    CHECK(round > 10 && round < MOST_ROUNDS);
    free(text);
    free(other);
}

static void check_facts(void)
{
    struct policy *policy = load_good(good);
    char *text = unquoted("{'tool':'t','server':'s','input':{'k':[1.0,{'a':1,'b':2}]}}");
    struct call_reader reader;
    struct call_defaults defaults = {
        .channel = SLICE("C"), .thread = SLICE("1"), .actor = ACTOR_CLAUDE_PROCESS};
    CHECK(call_reader_init(&reader));
    CHECK(call_read(&reader, slice_of(text), &defaults) == CALL_OK);
    struct reading reading = {.kind = READING_PATH, .path = SLICE("/nowhere/a/1")};
    bool failed = true;
    unsigned long round = 0;
    for (; failed && round < MOST_ROUNDS; round++) {
        struct facts facts;
        armed = true;
        seen = 0;
        fails_at = round;
        bool made = facts_init(&facts) && facts_make(&facts, policy, &reader.call);
        armed = false;
        failed = seen > fails_at;
        CHECK(made == !failed);
        if (made) {
            CHECK(policy_evaluate(policy, &facts, &reading, 1, NULL).rule == &policy->rules[0]);
        }
        /* Once warm, nothing is allocated any more, and evaluation never does. */
        armed = made;
        seen = 0;
        fails_at = 0;
        if (made) {
            CHECK(facts_make(&facts, policy, &reader.call));
            CHECK(policy_evaluate(policy, &facts, &reading, 1, NULL).kind == DECISION_DENY);
            CHECK(seen == 0);
        }
        armed = false;
        facts_finish(&facts);
    }
    CHECK(round > 1 && round < MOST_ROUNDS);
    call_reader_finish(&reader);
    free(text);
    policy_destroy(policy);
}

/* A text that could not be written whole says so. */
static void check_texts(void)
{
    struct policy *policy = load_good(good);
    bool failed = true;
    unsigned long round = 0;
    for (; failed && round < MOST_ROUNDS; round++) {
        struct buf buf;
        buf_init(&buf, 1 << 20);
        armed = true;
        seen = 0;
        fails_at = round;
        policy_write_canonical(&buf, policy);
        policy_write_schema(&buf);
        struct decision decision = {.kind = DECISION_DENY, .rule = &policy->rules[0]};
        decision_write_json(&buf, policy, &decision);
        armed = false;
        failed = seen > fails_at;
        CHECK(buf_ok(&buf) == !failed);
        buf_finish(&buf);
    }
    CHECK(round > 1 && round < MOST_ROUNDS);
    policy_destroy(policy);
}

/* A layout that could not be written whole says so. */
static void check_layout(void)
{
    char *text = unquoted(good);
    bool failed = true;
    unsigned long round = 0;
    for (; failed && round < MOST_ROUNDS; round++) {
        struct buf buf;
        buf_init(&buf, 1 << 20);
        armed = true;
        seen = 0;
        fails_at = round;
        bool made = policy_write_layout(&buf, slice_of(text));
        armed = false;
        failed = seen > fails_at;
        CHECK(made == !failed);
        buf_finish(&buf);
    }
    CHECK(round > 1 && round < MOST_ROUNDS);
    free(text);
}

int main(void)
{
    check_loading(good, "[]", true);
    check_loading(good, workspace, true);
    check_loading(bad, "[]", false);
    check_loading(repeats, workspace, false);
    check_facts();
    check_texts();
    check_layout();
    return check_done();
}
