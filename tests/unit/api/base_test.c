/* What cg_policy_load says of a base that cannot be used, and that programs of earlier releases are served. */
#include <callgate.h>

#include <stddef.h>

#include "../../check.h"

static const char rules[] = "[{\"id\":\"a\",\"effect\":\"auto_approve\",\"match\":{\"tool\":\"t\"}}]";

/* Loads a policy with a base; the number of findings, and of a refusal its code and message. */
static size_t load(const cg_base *base, cg_policy **ret_policy, char code[64], char message[256])
{
    const cg_document document = {
        .name = "p.json", .tier = CG_TIER_OPERATOR, .text = rules, .length = sizeof(rules) - 1};
    cg_report *report = NULL;
    cg_finding finding = {.size = sizeof(finding)};
    *ret_policy = cg_policy_load(&document, 1, base, &report);
    CHECK(report != NULL);
    size_t count = cg_report_count(report);
    code[0] = message[0] = '\0';
    if (count > 0 && cg_report_get(report, 0, &finding)) {
        (void)snprintf(code, 64, "%s", finding.code);
        (void)snprintf(message, 256, "%s", finding.message);
    }
    cg_report_free(report);
    return count;
}

static void refuses(const cg_base *base, const char *why)
{
    char code[64], message[256];
    cg_policy *policy;
    CHECK(load(base, &policy, code, message) == 1);
    CHECK(policy == NULL);
    CHECK_BYTES(code, strlen(code), "bad-base");
    CHECK(strstr(message, why) != NULL);
    cg_policy_free(policy);
}

static void accepts(const cg_base *base)
{
    char code[64], message[256];
    cg_policy *policy;
    CHECK(load(base, &policy, code, message) == 0);
    CHECK(policy != NULL && cg_policy_rules(policy) == 1);
    cg_policy_free(policy);
}

int main(void)
{
    cg_base base = {.size = sizeof(base), .cwd = "/", .home = "/root"};
    accepts(&base);
    base.size = offsetof(cg_base, root_count) + sizeof(base.root_count); /* as the first release had it */
    accepts(&base);
    base.size -= 1;
    refuses(&base, "too small");
    base.size = 0;
    refuses(&base, "too small");
    base.size = sizeof(base);
    base.cwd = NULL;
    refuses(&base, "working directory");
    base.cwd = "relative";
    refuses(&base, "working directory");
    base.cwd = "/";
    base.home = NULL;
    refuses(&base, "home directory");
    base.home = "/";
    base.root_count = 1;
    refuses(&base, "has none");
    refuses(NULL, "no base was given");
    return check_done();
}
