/* Changed lists of path and tree arguments, tools that always have a path, and what the findings say. */
#include "analysis/analysis.h"

#include "../../check.h"
#include "build.h"

static void write_side(struct buf *buf, const struct policy *policy, const struct diff_side *side)
{
    buf_text(buf, side->kind == DECISION_ALLOW     ? "allow"
                  : side->kind == DECISION_REQUIRE ? "require"
                                                   : "deny");
    if (side->rule != NULL) {
        buf_byte(buf, ':');
        buf_slice(buf, policy_text(policy, side->rule->id));
    }
}

/* One line for each class: weaker or stricter, the list if it is one, from, to, match, witness. */
static void check_diff(const char *from, const char *to, const char *want)
{
    struct policy *old = test_load(slice_of(from)), *new = test_load(slice_of(to));
    struct path_base base = test_base();
    struct diff diff;
    struct buf text;
    CHECK(old != NULL && new != NULL);
    diff_init(&diff);
    buf_init(&text, 1 << 20);
    if (old != NULL && new != NULL) {
        diff_find(old, new, &base, DIFF_EXCEPT, &diff);
        CHECK(!diff.failed);
    }
    for (size_t i = 0; i < diff.count; i++) {
        const struct diff_class *class = &diff.list[i];
        buf_text(&text, class->weaker ? "weaker" : "stricter");
        if (class->list != NULL) {
            buf_printf(&text, " %s %s%.*s", class->list, class->added ? "+" : "-", SLICE_FMT(class->name));
        }
        if (class->list == NULL || class->witness.ptr != NULL) {
            buf_byte(&text, ' ');
            write_side(&text, old, &class->from);
            buf_text(&text, " -> ");
            write_side(&text, new, &class->to);
        }
        buf_byte(&text, ' ');
        buf_slice(&text, class->match);
        struct slice witness = class->witness;
        const char *end =
            witness.ptr == NULL ? NULL : memmem(witness.ptr, witness.len, ",\"sessionKey\"", 13);
        buf_byte(&text, ' ');
        buf_bytes(&text, witness.ptr, end == NULL ? 0 : (size_t)(end - witness.ptr));
        buf_byte(&text, '\n');
    }
    CHECK_BYTES(text.ptr == NULL ? "" : text.ptr, text.len, want);
    buf_finish(&text);
    diff_finish(&diff);
    policy_destroy(old);
    policy_destroy(new);
}

#define ETC                                                                                                  \
    "{\"id\":\"etc\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"pathPrefix\":\"/nowhere/etc\"}}"
#define TMP                                                                                                  \
    "{\"id\":\"tmp\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"t\",\"pathPrefix\":\"/nowhere/"       \
    "tmp\"}}"
#define ALL "{\"id\":\"all\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"tool\":\"t\"}}"

static void lists(void)
{
    /* A path that is looked at no more. */
    check_diff("{\"pathArguments\":{\"t\":[\"target\"]},\"rules\":[" ETC "]}", "{\"rules\":[" ETC "]}",
               "weaker pathArguments -target deny -> allow {\"tool\":\"t\"} "
               "{\"tool\":\"t\",\"input\":{\"target\":1}\n");
    /* One that is looked at now is stricter, unless a rule approves paths. */
    check_diff("{\"rules\":[" ETC "]}", "{\"pathArguments\":{\"t\":[\"target\"]},\"rules\":[" ETC "]}",
               "stricter pathArguments +target allow -> deny {\"tool\":\"t\"} "
               "{\"tool\":\"t\",\"input\":{\"target\":1}\n");
    check_diff("{\"rules\":[" TMP "," ALL "]}",
               "{\"pathArguments\":{\"*\":[\"target\"]},\"rules\":[" TMP "," ALL "]}",
               "weaker pathArguments +target deny:all -> allow:tmp {} "
               "{\"tool\":\"t\",\"input\":{\"target\":\"/nowhere/tmp/any\"}\n");
    /* The built-in name taken away from one tool; the same change said twice is no change. */
    check_diff(
        "{\"rules\":[" ETC "]}", "{\"pathArguments\":{\"u\":[\"-file\"]},\"rules\":[" ETC "]}",
        "weaker pathArguments -file deny -> allow {\"tool\":\"u\"} {\"tool\":\"u\",\"input\":{\"file\":1}\n");
    check_diff("{\"pathArguments\":{\"*\":[\"a\"]},\"rules\":[" ETC "]}",
               "{\"pathArguments\":{\"*\":[\"a\"],\"u\":[\"a\"]},\"rules\":[" ETC "]}", "");
    /* No rule looks at paths: a class, but no decision changes. */
    check_diff("{\"rules\":[" ALL "]}", "{\"pathArguments\":{\"t\":[\"x\"]},\"rules\":[" ALL "]}",
               "stricter pathArguments +x {\"tool\":\"t\"} \n");
    check_diff("{\"rules\":[" ETC "]}", "{\"treeArguments\":{\"s/t\":[\"dir\"]},\"rules\":[" ETC "]}",
               "stricter treeArguments +dir {\"server\":\"s\",\"tool\":\"t\"} \n");
}

static void defaults(void)
{
    check_diff("[]", "{\"requireAuthoredPolicy\":[\"s/*\"]}",
               "stricter allow -> deny {\"tool\":\"s/*\"} {\"tool\":\"s/*\",\"input\":{}\n"
               "stricter allow -> deny {\"server\":\"s\"} {\"tool\":\"any\",\"server\":\"s\",\"input\":{}\n");
    check_diff("{\"requireAuthoredPolicy\":[\"*\"]}", "[]",
               "weaker deny -> allow {} {\"tool\":\"any\",\"input\":{}\n");
}

static void approvals(void)
{
#define ASK(more) "[{\"id\":\"a\",\"effect\":\"require_approval\"" more ",\"match\":{\"tool\":\"t\"}}]"
#define CLASS     "{\"tool\":\"t\"} {\"tool\":\"t\",\"input\":{}\n"
    check_diff(ASK(""), ASK(",\"approvers\":2"), "stricter require:a -> require:a " CLASS);
    check_diff(ASK(",\"approvers\":2"), ASK(""), "weaker require:a -> require:a " CLASS);
    check_diff(ASK(""), ASK(",\"ttlMs\":1"), "stricter require:a -> require:a " CLASS);
    check_diff(ASK(",\"ttlMs\":1"), ASK(""), "weaker require:a -> require:a " CLASS);
    check_diff(ASK(",\"scope\":\"call\""), ASK(""), "weaker require:a -> require:a " CLASS);
    /* More people for longer: weaker in one respect is weaker. */
    check_diff(ASK(",\"ttlMs\":1"), ASK(",\"approvers\":3"), "weaker require:a -> require:a " CLASS);
    check_diff(ASK(""), ASK(",\"comment\":\"new\",\"priority\":3"), "");
}

static void check_dead(const char *document, const char *want)
{
    struct policy *policy = test_load(slice_of(document));
    struct path_base base = test_base();
    struct findings warnings;
    struct buf text;
    findings_init(&warnings);
    buf_init(&text, 1 << 20);
    struct analysis *analysis = policy == NULL ? NULL : analysis_create(policy, NULL, NULL, 0, &base);
    CHECK(analysis != NULL);
    if (analysis != NULL) {
        lint(policy, &warnings);
        dead_find(analysis, &warnings);
        for (size_t i = 0; i < warnings.count; i++) {
            if (strcmp(warnings.list[i].code, "dead") == 0) {
                buf_slice(&text, warnings.list[i].message);
                buf_byte(&text, ' ');
                buf_slice(&text, warnings.list[i].by);
                buf_byte(&text, '\n');
            }
        }
    }
    CHECK_BYTES(text.ptr == NULL ? "" : text.ptr, text.len, want);
    analysis_destroy(analysis);
    buf_finish(&text);
    findings_finish(&warnings);
    policy_destroy(policy);
}

static void dead(void)
{
    /* Two rules cover it together. */
    check_dead(
        "[{\"id\":\"a\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"tool\":\"t\",\"actor\":"
        "\"session_owner\"}},\n{\"id\":\"b\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"actor\":"
        "\"claude_process\"}},\n{\"id\":\"c\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"t\"}}]",
        "rule 'c' (line 3) never decides: 'a' (line 1) covers session_owner, 'b' (line 2) covers "
        "claude_process \xe2\x80\x94 reorder, narrow what covers it, or remove it. [\"a\",\"b\"]\n");
    /* A higher tier hides it; a shadow warning that names a rule is enough. */
    check_dead(
        "[{\"id\":\"a\",\"effect\":\"require_approval\",\"match\":{\"tool\":\"t\"}},\n"
        "{\"id\":\"b\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"t\",\"tier\":\"admin\"}},\n"
        "{\"id\":\"c\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"tool\":\"t\",\"channel\":\"C\"}}]",
        "rule 'a' (line 1) never decides: 'b' (line 2, tier admin) decides every call that it matches "
        "\xe2\x80\x94 a higher tier hides it: narrow that rule or remove this one. [\"b\"]\n");
    /* A component brings a pattern with it, and any component a path. */
    check_dead(
        "[{\"id\":\"a\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"pathComponent\":\"*.env\"}},\n"
        "{\"id\":\"b\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"t\",\"pathComponent\":\"x.env\"}},\n"
        "{\"id\":\"c\",\"effect\":\"auto_approve\",\"match\":{\"pathPrefix\":\"/nowhere/x.env/y\"}}]",
        "rule 'b' (line 2) never decides: 'a' (line 1) decides every call that it matches \xe2\x80\x94 "
        "reorder, "
        "narrow what covers it, or remove it. [\"a\"]\n"
        "rule 'c' (line 3) never decides: 'a' (line 1) decides every call that it matches \xe2\x80\x94 "
        "reorder, "
        "narrow what covers it, or remove it. [\"a\"]\n");
    /* A tool that reads a tree when nothing names one has no call without a path; another tool has. */
    check_dead("[{\"id\":\"a\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"pathPrefix\":\"/\"}},\n"
               "{\"id\":\"b\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"Grep\"}},\n"
               "{\"id\":\"c\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"t\"}}]",
               "rule 'b' (line 2) never decides: 'a' (line 1) decides every call that it matches "
               "\xe2\x80\x94 reorder, "
               "narrow what covers it, or remove it. [\"a\"]\n");
    /* An argument that is a path itself. */
    check_dead(
        "[{\"id\":\"a\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"pathPrefix\":\"/nowhere\"}},\n"
        "{\"id\":\"b\",\"effect\":\"auto_approve\",\"match\":{\"argEquals\":{\"file\":\"/nowhere/x\"},"
        "\"tool\":\"t\"}}]",
        "rule 'b' (line 2) never decides: 'a' (line 1) decides every call that it matches \xe2\x80\x94 "
        "reorder, "
        "narrow what covers it, or remove it. [\"a\"]\n");
}

static void write_arguments(struct buf *buf, const char *id, const char *effect, char letter)
{
    buf_printf(buf, "{\"id\":\"%s\",%s,\"match\":{\"argEquals\":{", id, effect);
    for (unsigned i = 0; i < 8; i++) {
        buf_printf(buf, "%s\"%c%u\":\"v\"", i == 0 ? "" : ",", letter, i);
    }
    buf_text(buf, "}}}");
}

/* A class is of two rules, and what it leaves out of a third: the pairs of all three have room. */
static void many_arguments(void)
{
    struct buf old_text, new_text;
    buf_init(&old_text, 1 << 20);
    buf_init(&new_text, 1 << 20);
    buf_byte(&old_text, '[');
    write_arguments(&old_text, "a", "\"effect\":\"deny\",\"reason\":\"r\"", 'a');
    buf_byte(&old_text, ']');
    buf_byte(&new_text, '[');
    write_arguments(&new_text, "b", "\"effect\":\"auto_approve\"", 'b');
    buf_byte(&new_text, ',');
    write_arguments(&new_text, "c", "\"effect\":\"auto_approve\"", 'c');
    buf_byte(&new_text, ']');
    struct policy *old = test_load(buf_slice_of(&old_text)), *new = test_load(buf_slice_of(&new_text));
    struct path_base base = test_base();
    struct diff diff;
    diff_init(&diff);
    CHECK(old != NULL && new != NULL);
    if (old != NULL && new != NULL) {
        diff_find(old, new, &base, DIFF_EXCEPT, &diff);
        CHECK(!diff.failed);
        CHECK(diff.count == 5);
    }
    diff_finish(&diff);
    policy_destroy(old);
    policy_destroy(new);
    buf_finish(&old_text);
    buf_finish(&new_text);
}

/* What a rule with a command, a host or a list takes is not excepted from a class: it takes some of its box only. */
static void excepts_of_named_rules(void)
{
    static const char before[] =
        "[{\"id\":\"rm\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"tool\":\"Bash\","
        "\"commandPrefix\":\"rm\"}},"
        "{\"id\":\"h\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"tool\":\"Bash\",\"host\":\"*.h."
        "org\"}},"
        "{\"id\":\"l\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"tool\":[\"Bash\",\"Sh\"],"
        "\"pathPrefix\":"
        "[\"/zz/x\",\"/zz/y\"]}},"
        "{\"id\":\"c\",\"effect\":\"deny\",\"reason\":\"no\",\"match\":{\"channel\":\"C\"}},"
        "{\"id\":\"all\",\"effect\":";
    static const char *const effects[2] = {"\"require_approval\"", "\"auto_approve\""};
    struct policy *policies[2];
    struct path_base base = test_base();
    struct diff diff;
    for (size_t i = 0; i < 2; i++) {
        struct buf text;
        buf_init(&text, 4096);
        buf_printf(&text, "%s%s,\"match\":{\"tool\":\"Bash\"}}]", before, effects[i]);
        policies[i] = test_load(buf_slice_of(&text));
        CHECK(policies[i] != NULL);
        buf_finish(&text);
    }
    diff_init(&diff);
    diff_find(policies[0], policies[1], &base, DIFF_EXCEPT, &diff);
    CHECK(!diff.failed && diff.count == 1);
    CHECK(diff.count == 1 && diff.list[0].weaker && diff.list[0].except_count == 1 &&
          slice_is(diff.list[0].except[0], "{\"channel\":\"C\"}"));
    diff_finish(&diff);
    policy_destroy(policies[0]);
    policy_destroy(policies[1]);
}

int main(void)
{
    excepts_of_named_rules();
    many_arguments();
    lists();
    defaults();
    approvals();
    dead();
    return check_done();
}
