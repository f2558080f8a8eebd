/* The way of a call through the door: events, people, failures. */
#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/gate/support.h"

static const char policy[] =
    "[{\"id\":\"no\",\"effect\":\"deny\",\"match\":{\"tool\":\"rm\"},\"reason\":\"secret reason\"},"
    " {\"id\":\"yes\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"ls\"}},"
    " {\"id\":\"ask\",\"effect\":\"require_approval\",\"match\":{\"tool\":\"write\"},\"ttlMs\":60000},"
    " {\"id\":\"ask-call\",\"effect\":\"require_approval\",\"match\":{\"tool\":\"once\"},\"scope\":\"call\"},"
    " {\"id\":\"two\",\"effect\":\"require_approval\",\"match\":{\"tool\":\"two\"},\"approvers\":2},"
    " {\"id\":\"short\",\"effect\":\"require_approval\",\"match\":{\"tool\":\"short\"},\"ttlMs\":1}]";

static void test_decisions_and_events(void)
{
    struct bench b;
    bench_open(&b, policy);
    CHECK(judge(&b, "{\"tool\":\"ls\"}", NULL).kind == OUTCOME_ALLOW);
    CHECK(gate_commit(b.gate));
    struct outcome denied = judge(&b, "{\"tool\":\"rm\",\"input\":{\"path\":\"/x\"}}", NULL);
    CHECK(denied.kind == OUTCOME_DENY && denied.authored);
    CHECK(gate_commit(b.gate));
    struct outcome none = judge(&b, "{\"tool\":\"other\"}", NULL);
    CHECK(none.kind == OUTCOME_ALLOW && !none.authored);
    CHECK(judge(&b, "{\"tool\":\"upload_file\"}", NULL).kind == OUTCOME_DENY);
    CHECK(gate_commit(b.gate));
    char *text = journal_text(&b);
    CHECK(count_of(text, "\"kind\":\"policy.allow\"") == 2);
    CHECK(count_of(text, "\"kind\":\"policy.deny\"") == 2);
    CHECK(count_of(text, "\"kind\":\"policy.deny.context_stripped\"") == 2);
    CHECK(count_of(text, "secret reason") == 1); /* in policy.deny, not in the stripped one */
    CHECK(count_of(text, "\"ruleId\":\"default\"") == 1);
    free(text);
    bench_close(&b);
}

static void test_held_and_approved(void)
{
    struct bench b;
    bench_open(&b, policy);
    struct outcome held = judge(&b, "{\"tool\":\"write\",\"input\":{\"n\":1}}", NULL);
    CHECK(held.kind == OUTCOME_HELD && held.held.number != 0 && strlen(held.held.code) == CODE_LENGTH);
    CHECK(gate_held_state(b.gate, &held.held) == REQUEST_WAITING);
    /* The same call again is the same request; another call is another. */
    CHECK(judge(&b, "{\"tool\":\"write\",\"input\":{\"n\":1}}", NULL).held.number == held.held.number);
    struct outcome other = judge(&b, "{\"tool\":\"write\",\"input\":{\"n\":2}}", NULL);
    CHECK(other.kind == OUTCOME_HELD && other.held.number != held.held.number);
    CHECK(vote(&b, held.held.code, "ada", true) == STORE_DONE);
    CHECK(gate_people_moved(b.gate));
    CHECK(gate_held_state(b.gate, &held.held) == REQUEST_APPROVED);
    CHECK(gate_held_state(b.gate, &other.held) == REQUEST_APPROVED); /* the grant covers it */
    struct outcome after = judge(&b, "{\"tool\":\"write\",\"input\":{\"n\":1}}", &held.held);
    CHECK(after.kind == OUTCOME_ALLOW && after.by_approval);
    CHECK(judge(&b, "{\"tool\":\"write\",\"input\":{\"n\":3}}", NULL).kind == OUTCOME_ALLOW);
    CHECK(gate_commit(b.gate));
    char *text = journal_text(&b);
    CHECK(count_of(text, "\"kind\":\"approval.approved\"") == 2);
    CHECK(count_of(text, "\"kind\":\"approval.vote\"") == 1);
    CHECK(strstr(text, "\"kind\":\"policy.require\"") < strstr(text, "\"kind\":\"approval.vote\""));
    free(text);
    bench_close(&b);
}

static void test_scope_call_and_refusal(void)
{
    struct bench b;
    bench_open(&b, policy);
    struct outcome one = judge(&b, "{\"tool\":\"once\",\"input\":{\"n\":1}}", NULL);
    CHECK(vote(&b, one.held.code, "ada", true) == STORE_DONE);
    CHECK(judge(&b, "{\"tool\":\"once\",\"input\":{\"n\":1}}", &one.held).kind == OUTCOME_ALLOW);
    CHECK(judge(&b, "{\"tool\":\"once\",\"input\":{\"n\":1}}", NULL).kind == OUTCOME_ALLOW);
    struct outcome two = judge(&b, "{\"tool\":\"once\",\"input\":{\"n\":2}}", NULL);
    CHECK(two.kind == OUTCOME_HELD);
    CHECK(vote(&b, two.held.code, "ada", false) == STORE_DONE);
    CHECK(judge(&b, "{\"tool\":\"once\",\"input\":{\"n\":2}}", &two.held).kind == OUTCOME_DENY);
    CHECK(judge(&b, "{\"tool\":\"once\",\"input\":{\"n\":2}}", NULL).kind ==
          OUTCOME_DENY); /* stays refused */
    /* Refused although a grant of its rule and session comes later. */
    struct outcome refused = judge(&b, "{\"tool\":\"write\",\"input\":{\"n\":1}}", NULL);
    CHECK(vote(&b, refused.held.code, "ada", false) == STORE_DONE);
    struct outcome granted = judge(&b, "{\"tool\":\"write\",\"input\":{\"n\":2}}", NULL);
    CHECK(vote(&b, granted.held.code, "ada", true) == STORE_DONE);
    CHECK(judge(&b, "{\"tool\":\"write\",\"input\":{\"n\":3}}", NULL).kind == OUTCOME_ALLOW);
    CHECK(judge(&b, "{\"tool\":\"write\",\"input\":{\"n\":1}}", NULL).kind == OUTCOME_DENY);
    CHECK(gate_commit(b.gate));
    bench_close(&b);
}

static void test_quorum_and_short_life(void)
{
    struct bench b;
    bench_open(&b, policy);
    struct outcome held = judge(&b, "{\"tool\":\"two\"}", NULL);
    CHECK(held.held.needed == 2);
    CHECK(vote(&b, held.held.code, "ada", true) == STORE_DONE);
    CHECK(vote(&b, held.held.code, "ada", true) == STORE_TWICE);
    CHECK(gate_held_state(b.gate, &held.held) == REQUEST_WAITING);
    CHECK(vote(&b, held.held.code, "bob", true) == STORE_DONE);
    CHECK(gate_held_state(b.gate, &held.held) == REQUEST_APPROVED);
    CHECK(judge(&b, "{\"tool\":\"two\"}", &held.held).kind == OUTCOME_ALLOW);
    /* Judged at the moment of the grant, however short the grant lives. */
    held = judge(&b, "{\"tool\":\"short\"}", NULL);
    CHECK(vote(&b, held.held.code, "ada", true) == STORE_DONE);
    usleep(5000);
    CHECK(judge(&b, "{\"tool\":\"short\"}", &held.held).kind == OUTCOME_ALLOW);
    CHECK(judge(&b, "{\"tool\":\"short\"}", NULL).kind == OUTCOME_HELD);
    CHECK(gate_commit(b.gate));
    bench_close(&b);
}

static void test_paths_moved_since_shown(void)
{
    struct bench b;
    char link[128], call[256];
    bench_open(&b, policy);
    snprintf(link, sizeof(link), "%s/link", b.dir);
    CHECK(symlink("/tmp/one", link) == 0);
    snprintf(call, sizeof(call), "{\"tool\":\"write\",\"input\":{\"path\":\"%s\"}}", link);
    struct outcome held = judge(&b, call, NULL);
    CHECK(unlink(link) == 0 && symlink("/tmp/two", link) == 0);
    CHECK(vote(&b, held.held.code, "ada", true) == STORE_DONE);
    struct outcome again = judge(&b, call, &held.held);
    CHECK(again.kind == OUTCOME_HELD && again.held.number != held.held.number);
    CHECK(gate_commit(b.gate));
    bench_close(&b);
}

static void test_withdrawn_and_too_many(void)
{
    struct bench b;
    char call[64];
    bench_open(&b, policy);
    struct outcome held = judge(&b, "{\"tool\":\"once\",\"input\":{\"n\":0}}", NULL);
    gate_withdraw(b.gate, &held.held);
    CHECK(gate_held_state(b.gate, &held.held) == REQUEST_WITHDRAWN);
    CHECK(vote(&b, held.held.code, "ada", true) == STORE_NONE);
    for (int i = 1; i <= (int)LIMIT_WAITING; i++) {
        snprintf(call, sizeof(call), "{\"tool\":\"once\",\"input\":{\"n\":%d}}", i);
        CHECK(judge(&b, call, NULL).kind == OUTCOME_HELD);
    }
    CHECK(judge(&b, "{\"tool\":\"once\",\"input\":{\"n\":99}}", NULL).kind == OUTCOME_DENY);
    CHECK(gate_commit(b.gate));
    bench_close(&b);
}

/* A full disk: nothing that is not recorded runs, the operator hears of it once, and it heals by itself. */
static void test_journal_full(void)
{
    struct bench b;
    bench_open(&b, policy);
    CHECK(judge(&b, "{\"tool\":\"ls\"}", NULL).kind == OUTCOME_ALLOW && gate_commit(b.gate));
    char *before = journal_text(&b);
    struct rlimit unlimited, full;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    full = unlimited;
    full.rlim_cur = strlen(before) + 10;
    signal(SIGXFSZ, SIG_IGN);
    bench_said[0] = '\0';
    CHECK(setrlimit(RLIMIT_FSIZE, &full) == 0);
    CHECK(judge(&b, "{\"tool\":\"ls\"}", NULL).kind == OUTCOME_ALLOW);
    CHECK(!gate_commit(b.gate));
    CHECK(judge(&b, "{\"tool\":\"ls\"}", NULL).kind == OUTCOME_ALLOW);
    CHECK(!gate_commit(b.gate));
    CHECK(judge(&b, "{\"tool\":\"write\"}", NULL).kind == OUTCOME_DENY);
    CHECK(!gate_commit(b.gate));
    CHECK(setrlimit(RLIMIT_FSIZE, &unlimited) == 0);
    CHECK(count_of(bench_said, "journal cannot be written") == 1);
    char *after = journal_text(&b);
    CHECK(strcmp(before, after) == 0); /* nothing partial stays */
    CHECK(judge(&b, "{\"tool\":\"ls\"}", NULL).kind == OUTCOME_ALLOW && gate_commit(b.gate));
    free(before);
    free(after);
    bench_close(&b);
}

static void test_unknown_input(void)
{
    struct bench b;
    bench_open(
        &b, "[{\"id\":\"d\",\"effect\":\"deny\",\"match\":{\"tool\":\"rm\"},\"reason\":\"r\"},"
            "{\"id\":\"a\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"ls\"}},"
            "{\"id\":\"p\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"cat\",\"pathPrefix\":\"/\"}}]");
    struct call_name name = {.tool = SLICE("rm")};
    struct call call = {.names = &name,
                        .name_count = 1,
                        .channel = SLICE("C"),
                        .thread = SLICE("T"),
                        .actor = ACTOR_CLAUDE_PROCESS,
                        .preview = SLICE("a preview")};
    CHECK(gate_judge(b.gate, &call, NULL, (struct slice){0}).kind == OUTCOME_DENY);
    name.tool = SLICE("ls");
    CHECK(gate_judge(b.gate, &call, NULL, (struct slice){0}).kind == OUTCOME_ALLOW);
    name.tool = SLICE("cat");
    struct outcome held = gate_judge(b.gate, &call, NULL, SLICE("abcde"));
    CHECK(held.kind == OUTCOME_HELD && strcmp(held.held.code, "abcde") == 0);
    CHECK(vote(&b, "abcde", "ada", true) == STORE_DONE);
    CHECK(gate_judge(b.gate, &call, &held.held, (struct slice){0}).kind == OUTCOME_ALLOW);
    /* An answer to one unknown input says nothing about the next. */
    CHECK(gate_judge(b.gate, &call, NULL, (struct slice){0}).kind == OUTCOME_HELD);
    CHECK(gate_commit(b.gate));
    bench_close(&b);
}

int main(void)
{
    test_decisions_and_events();
    test_held_and_approved();
    test_scope_call_and_refusal();
    test_quorum_and_short_life();
    test_paths_moved_since_shown();
    test_withdrawn_and_too_many();
    test_journal_full();
    test_unknown_input();
    return check_done();
}
