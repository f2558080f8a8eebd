/* Policies taken over and refused; files and folders that are not to be trusted. */
#include "tests/unit/gate/support.h"

#define DENY_RM "{\"id\":\"no-rm\",\"effect\":\"deny\",\"match\":{\"tool\":\"rm\"},\"reason\":\"r\"}"

static void test_reload(void)
{
    struct bench b;
    bench_open(&b, "[" DENY_RM "]");
    CHECK(gate_policy(b.gate)->rule_count == 1);
    write_file(b.policy,
               "[" DENY_RM ",{\"id\":\"a\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"ls\"}}]");
    CHECK(gate_reload(b.gate));
    CHECK(gate_policy(b.gate)->rule_count == 2);

    const struct policy *running = gate_policy(b.gate);
    write_file(b.policy, "[{\"id\":\"w\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"rm\"}}]");
    bench_said[0] = '\0';
    CHECK(!gate_reload(b.gate));
    CHECK(gate_policy(b.gate) == running);
    CHECK(strstr(bench_said, "new auto_approve rule 'w' weakens existing deny 'no-rm'") != NULL);
    CHECK(judge(&b, "{\"tool\":\"rm\"}", NULL).kind == OUTCOME_DENY && gate_commit(b.gate));

    write_file(b.policy, "[{\"id\":");
    CHECK(!gate_reload(b.gate));
    CHECK(gate_policy(b.gate) == running);
    CHECK(unlink(b.policy) == 0);
    CHECK(!gate_reload(b.gate));
    CHECK(gate_policy(b.gate) == running);

    struct buf json, error;
    buf_init(&json, 1u << 20);
    buf_init(&error, 4096);
    CHECK(gates_write_json(b.state, &json, &error));
    buf_byte(&json, '\0');
    CHECK(strstr(json.ptr, "\"generation\":2") && strstr(json.ptr, "\"refused\":{"));
    write_file(b.policy, "[]");
    CHECK(gate_reload(b.gate));
    buf_reset(&json);
    CHECK(gates_write_json(b.state, &json, &error));
    buf_byte(&json, '\0');
    CHECK(strstr(json.ptr, "\"generation\":3") && strstr(json.ptr, "\"refused\":null"));
    buf_finish(&json);
    buf_finish(&error);

    char *text = journal_text(&b);
    CHECK(count_of(text, "\"kind\":\"policy.reload_refused\"") == 3);
    CHECK(count_of(text, "\"kind\":\"policy.loaded\"") == 3);
    free(text);
    bench_close(&b);
}

/* With no_weakening a reload is compared with what the operator acknowledged, not with what was loaded last.
 */
static void test_no_weakening(void)
{
    struct bench b;
    struct buf error;
    char digest[HASH_HEX + 1];
    buf_init(&error, 1u << 20);
    bench_open(&b, "[" DENY_RM "]");
    gate_close(b.gate);
    b.options.no_weakening = true;
    b.gate = gate_open(&b.options, &error);
    CHECK(b.gate != NULL);
    /* Stricter is adopted, and does not become the baseline. */
    write_file(b.policy, "[" DENY_RM
                         ",{\"id\":\"d\",\"effect\":\"deny\",\"match\":{\"tool\":\"ls\"},\"reason\":\"r\"}]");
    CHECK(gate_reload(b.gate));
    write_file(b.policy, "[" DENY_RM "]");
    CHECK(gate_reload(b.gate));
    write_file(b.policy, "[]");
    bench_said[0] = '\0';
    CHECK(!gate_reload(b.gate));
    CHECK(strstr(bench_said, "weaker than the baseline: deny becomes allow") != NULL);
    const char *at = strstr(bench_said, "callgate acknowledge ");
    CHECK(at != NULL && strlen(at) > 21 + HASH_HEX);
    if (at != NULL) {
        memcpy(digest, at + 21, HASH_HEX);
        digest[HASH_HEX] = '\0';
        CHECK(gate_acknowledge(b.state, &b.sources, &b.options.base, slice_of(digest), &error));
        CHECK(gate_reload(b.gate));
        /* Only exactly what was acknowledged: not yet something else that is weaker. */
        digest[0] = digest[0] == '0' ? '1' : '0';
        CHECK(!gate_acknowledge(b.state, &b.sources, &b.options.base, slice_of(digest), &error));
    }
    write_file(b.policy, "[{\"id\":\"q\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"upload_file\"}}]");
    CHECK(!gate_reload(b.gate));
    CHECK(gate_policy(b.gate)->rule_count == 0);
    buf_finish(&error);
    bench_close(&b);
}

/* Loads one file at a tier; the last good texts are the caller's. */
static struct policy *load(const char *argument, const char *more, struct source_texts *texts,
                           size_t *ret_errors)
{
    struct sources sources;
    struct findings errors;
    struct buf error;
    struct path_base base = {.cwd = SLICE("/tmp"), .home = SLICE("/tmp")};
    buf_init(&error, 4096);
    findings_init(&errors);
    CHECK(sources_init(&sources) && sources_add(&sources, argument, &error) &&
          (!more || sources_add(&sources, more, &error)));
    struct policy *policy = sources_load(&sources, &base, texts, &errors);
    *ret_errors = errors.count;
    findings_finish(&errors);
    sources_finish(&sources);
    buf_finish(&error);
    return policy;
}

static void test_workspace_keeps_its_last_good_form(void)
{
    char dir[] = "/tmp/callgate-gate-XXXXXX", own[64], workspace[64], argument[96];
    struct source_texts texts = {0};
    size_t errors;
    CHECK(mkdtemp(dir) != NULL);
    snprintf(own, sizeof(own), "%s/own.json", dir);
    snprintf(workspace, sizeof(workspace), "%s/ws.json", dir);
    snprintf(argument, sizeof(argument), "workspace=%s", workspace);
    write_file(own, "[]");
    write_file(workspace, "[" DENY_RM "]");
    struct policy *policy = load(own, argument, &texts, &errors);
    CHECK(policy && policy->rule_count == 1 && errors == 0);
    policy_destroy(policy);

    write_file(workspace, "[{\"id\":\"x\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"rm\"}}]");
    policy = load(own, argument, &texts, &errors);
    CHECK(policy && policy->rule_count == 1 && errors == 1); /* told, and the last good form stays */
    policy_destroy(policy);
    CHECK(unlink(workspace) == 0);
    policy = load(own, argument, &texts, &errors);
    CHECK(policy && policy->rule_count == 1 && errors == 1);
    policy_destroy(policy);
    source_texts_finish(&texts);
    policy = load(own, argument, NULL, &errors);
    CHECK(policy && policy->rule_count == 0 && errors == 1); /* never good: left out */
    policy_destroy(policy);
    /* What would block, or never end, is left out as well. */
    CHECK(mkfifo(workspace, 0600) == 0);
    policy = load(own, argument, NULL, &errors);
    CHECK(policy && policy->rule_count == 0 && errors == 1);
    policy_destroy(policy);
    CHECK(unlink(workspace) == 0 && symlink("/dev/zero", workspace) == 0);
    policy = load(own, argument, NULL, &errors);
    CHECK(policy && policy->rule_count == 0 && errors == 1);
    policy_destroy(policy);
    unlink(workspace);
    unlink(own);
    rmdir(dir);
}

static void test_admin_file(void)
{
    char dir[] = "/tmp/callgate-gate-XXXXXX", file[64], argument[96];
    size_t errors;
    CHECK(mkdtemp(dir) != NULL);
    snprintf(file, sizeof(file), "%s/admin.json", dir);
    snprintf(argument, sizeof(argument), "admin=%s", file);
    write_file(file, "[]");
    CHECK(chmod(file, 0644) == 0);
    struct policy *policy = load(argument, NULL, NULL, &errors);
    CHECK(policy != NULL && errors == 0);
    policy_destroy(policy);
    CHECK(chmod(file, 0664) == 0);
    CHECK(load(argument, NULL, NULL, &errors) == NULL && errors == 1);
    CHECK(chmod(file, 0646) == 0);
    CHECK(load(argument, NULL, NULL, &errors) == NULL && errors == 1);
    CHECK(chmod(file, 0600) == 0);
    if (geteuid() == 0) {
        CHECK(chown(file, 12345, (gid_t)-1) == 0);
        CHECK(load(argument, NULL, NULL, &errors) == NULL && errors == 1);
    }
    snprintf(argument, sizeof(argument), "admin=%s", dir);
    CHECK(load(argument, NULL, NULL, &errors) == NULL && errors == 1);
    unlink(file);
    rmdir(dir);
}

static void test_state_directory(void)
{
    struct bench b;
    struct buf error;
    struct stat st;
    char path[128];
    bench_open(&b, "[]");
    CHECK(stat(b.state, &st) == 0 && (st.st_mode & 0777) == 0700);
    static const char *const files[] = {"journal.jsonl", "gates"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", b.state, files[i]);
        CHECK(stat(path, &st) == 0 && (st.st_mode & 077) == 0);
    }
    CHECK(chmod(b.state, 0750) == 0);
    buf_init(&error, 1u << 16);
    CHECK(gate_open(&b.options, &error) == NULL && error.len > 0);
    CHECK(chmod(b.state, 0700) == 0);
    snprintf(path, sizeof(path), "%s/link", b.dir);
    CHECK(symlink(b.state, path) == 0);
    b.options.state_dir = path;
    CHECK(gate_open(&b.options, &error) == NULL);
    buf_finish(&error);
    bench_close(&b);
}

int main(void)
{
    test_reload();
    test_no_weakening();
    test_workspace_keeps_its_last_good_form();
    test_admin_file();
    test_state_directory();
    return check_done();
}
