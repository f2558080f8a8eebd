/* What people read: what is wrong, what was expected, the next step; never a secret. */
#include "support.h"

struct message_case {
    const char *tier, *text, *message; /* of the first error */
};

#define RULE(match)    "[{'id':'a','effect':'deny','reason':'r','match':{" match "}}]"
#define KEY(key)       "[{'id':'a','effect':'deny','reason':'r','match':{'tool':'t'}," key "}]"
#define EFFECT(effect) "[{'id':'a','effect':'" effect "','match':{'tool':'t'}}]"
#define EFFECTS        "'effect' must be one of 'auto_approve', 'deny' and 'require_approval', not "

static const struct message_case cases[] = {
    /* A misspelt key: the nearest one. */
    {NULL, RULE("'chanel':'c'"), "unknown key 'chanel': did you mean 'channel'?"},
    {NULL, RULE("'Tool':'t'"), "unknown key 'Tool': did you mean 'tool'?"},
    {NULL, RULE("'arg_equals':{}"), "unknown key 'arg_equals': did you mean 'argEquals'?"},
    {NULL, KEY("'prority':1"), "unknown key 'prority': did you mean 'priority'?"},
    {NULL, "{'rule':[]}", "unknown key 'rule': did you mean 'rules'?"},
    {NULL, "{'requireAuthoredPolicies':[]}",
     "unknown key 'requireAuthoredPolicies': did you mean 'requireAuthoredPolicy'?"},
    {NULL, KEY("'zzzzzz':1"),
     "unknown key 'zzzzzz': the keys of a rule are 'id', 'effect', 'match', 'reason', "
     "'tell', 'ttlMs', 'approvers', 'approversFrom', 'scope', 'priority' and 'comment'"},
    {NULL, KEY("'\\u001b[31m':1"),
     "unknown key '\\u{001B}[31m': the keys of a rule are 'id', 'effect', 'match', "
     "'reason', 'tell', 'ttlMs', 'approvers', 'approversFrom', 'scope', 'priority' and 'comment'"},
    /* Words that people try first: the right one. */
    {NULL, RULE("'path':'/etc'"), "unknown key 'path': did you mean 'pathPrefix'?"},
    {NULL, RULE("'paths':'/etc'"), "unknown key 'paths': did you mean 'pathPrefix'?"},
    {NULL, RULE("'file':'/etc'"), "unknown key 'file': did you mean 'pathPrefix'?"},
    {NULL, RULE("'dir':'/etc'"), "unknown key 'dir': did you mean 'pathPrefix'?"},
    {NULL, RULE("'tools':'t'"), "unknown key 'tools': did you mean 'tool'?"},
    {NULL, RULE("'name':'t'"), "unknown key 'name': did you mean 'tool'?"},
    {NULL, RULE("'toolName':'t'"), "unknown key 'toolName': did you mean 'tool'?"},
    {NULL, RULE("'args':{}"), "unknown key 'args': did you mean 'argEquals'?"},
    {NULL, RULE("'arguments':{}"), "unknown key 'arguments': did you mean 'argEquals'?"},
    {NULL, RULE("'input':{}"), "unknown key 'input': did you mean 'argEquals'?"},
    {NULL, RULE("'thread':'1'"), "unknown key 'thread': did you mean 'thread_ts'?"},
    {NULL, RULE("'servers':'1'"), "unknown key 'servers': did you mean 'server'?"},
    {NULL, RULE("'glob':'1'"), "unknown key 'glob': did you mean 'pathComponent'?"},
    {NULL, RULE("'pattern':'1'"), "unknown key 'pattern': did you mean 'pathComponent'?"},
    {NULL, KEY("'ttl':1"), "unknown key 'ttl': did you mean 'ttlMs'?"},
    {NULL, KEY("'timeout':1"), "unknown key 'timeout': did you mean 'ttlMs'?"},
    {NULL, KEY("'quorum':1"), "unknown key 'quorum': did you mean 'approvers'?"},
    {NULL, KEY("'description':''"), "unknown key 'description': did you mean 'comment'?"},
    {NULL, KEY("'note':''"), "unknown key 'note': did you mean 'comment'?"},
    {NULL, KEY("'when':{}"), "unknown key 'when': did you mean 'match'?"},
    {NULL, KEY("'if':{}"), "unknown key 'if': did you mean 'match'?"},
    {NULL, KEY("'where':{}"), "unknown key 'where': did you mean 'match'?"},
    {NULL, KEY("'action':''"), "unknown key 'action': did you mean 'effect'?"},
    {NULL, KEY("'decision':''"), "unknown key 'decision': did you mean 'effect'?"},
    /* Right, but elsewhere. */
    {NULL, KEY("'tool':'t'"), "unknown key 'tool': it belongs inside 'match'"},
    {NULL, KEY("'path':'/etc'"),
     "unknown key 'path': did you mean 'pathPrefix', which belongs inside 'match'?"},
    {NULL, RULE("'priority':1"), "unknown key 'priority': it belongs beside 'match', not inside it"},
    {NULL, "{'effect':'deny'}", "unknown key 'effect': it belongs in a rule under 'rules'"},
    {NULL, KEY("'ttlMs':5"),
     "unknown key 'ttlMs': only 'require_approval' rules have it, so leave it out or change the effect"},
    {NULL, "{'rules':[],'policy':[]}",
     "unknown key 'policy' beside 'rules': rules stand under one of the two, keep 'rules'"},
    /* Effects. */
    {NULL, EFFECT("allow"), EFFECTS "'allow': did you mean 'auto_approve'?"},
    {NULL, EFFECT("approve"), EFFECTS "'approve': did you mean 'auto_approve'?"},
    {NULL, EFFECT("permit"), EFFECTS "'permit': did you mean 'auto_approve'?"},
    {NULL, EFFECT("ask"), EFFECTS "'ask': did you mean 'require_approval'?"},
    {NULL, EFFECT("confirm"), EFFECTS "'confirm': did you mean 'require_approval'?"},
    {NULL, EFFECT("prompt"), EFFECTS "'prompt': did you mean 'require_approval'?"},
    {NULL, EFFECT("require"), EFFECTS "'require': did you mean 'require_approval'?"},
    {NULL, EFFECT("block"), EFFECTS "'block': did you mean 'deny'?"},
    {NULL, EFFECT("reject"), EFFECTS "'reject': did you mean 'deny'?"},
    {NULL, EFFECT("forbid"), EFFECTS "'forbid': did you mean 'deny'?"},
    {NULL, EFFECT("Deny"), EFFECTS "'Deny': did you mean 'deny'?"},
    {NULL, EFFECT("auto-approve"), EFFECTS "'auto-approve': did you mean 'auto_approve'?"},
    {NULL, EFFECT("purple"), EFFECTS "'purple'"},
    /* Values. */
    {NULL, RULE("'tool':7"), "'tool' must be a non-empty string, not a number"},
    {NULL, RULE("'tool':'mcp__github__*'"),
     "'tool' knows no '*' or '?', names are compared byte for byte: use 'toolPrefix' for tools whose names "
     "begin "
     "alike, 'server' for all tools of a server"},
    {NULL, RULE(""),
     "'match' is empty: name at least one field that calls must meet, such as 'tool', 'server', "
     "'channel' or 'pathPrefix'"},
    {NULL, "[{'id':'a','effect':'require_approval','match':{'tool':'t'},'ttlMs':0}]",
     "'ttlMs' must be a whole number from 1 to 86400000, not 0"},
    {NULL, "[{'id':'a'}]",
     "missing key 'effect': add it, one of 'auto_approve', 'deny' and 'require_approval'"},
    {NULL, "{'version':2}", "'version' must be the number 1, not 2"},
    {"workspace", EFFECT("auto_approve"),
     "a workspace file may hold only 'deny' rules, not 'auto_approve': move this rule to a user or admin "
     "file"},
    {"user", RULE("'tier':'admin'"),
     "tier 'admin' is above this file's, which is 'user': name 'user' or a lower tier, or leave 'tier' out"},
    /* The first of two. */
    {NULL,
     "[\n{'id':'a','effect':'deny','reason':'r','match':{'tool':'t'}},\n"
     "{'id':'a','effect':'deny','reason':'r','match':{'tool':'t'}}]",
     "the id 'a' is taken by the rule at 'p.json' line 2: choose another"},
    {NULL, "{\n'x':1,\n\n'x':1}",
     "the key 'x' stands here for the second time, first on line 2: keep one of them"},
    {NULL, "[1", "this is not JSON here: expected ',' or ']'"},
    {NULL, "[1,\n]", "this is not JSON here: expected a value: remove the comma before it"},
    {NULL, "[// 1\n1]",
     "this is not JSON here: expected a value: JSON has no comments, a rule may have a 'comment'"},
    {NULL, "\n", "this is not JSON here: expected a value: the file is empty, write a list of rules"},
};

static void check_case(const struct message_case *c)
{
    char *text = unquoted(c->text);
    struct findings errors;
    findings_init(&errors);
    policy_destroy(load_one(c->tier, text, &errors));
    CHECK(errors.count != 0);
    if (errors.count != 0) {
        CHECK_BYTES(errors.list[0].message.ptr, errors.list[0].message.len, c->message);
    }
    findings_finish(&errors);
    free(text);
}

/* Whatever is wrong around them, values of argEquals are not shown. */
static void check_secrets(void)
{
    static const char *const texts[] = {
        "[{'id':'a','match':{'argEquals':{'k':'hunter2'},'x':1},'argEquals':{'k':'hunter2'}}]",
        "[{'id':'a','match':{'argEquals':'hunter2'}}]",
        "[{'id':'a','match':{'argEquals':['hunter2']}}]",
        "[{'id':'a','match':{'argEquals':{'k':'hunter2','k':'hunter2'}}}]",
        "[{'id':'a','match':{'argEquals':{'k':'hunter2\\ud800'}}}]",
        "[{'id':'a','match':{'argEquals':{'k':'hunter2'",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *text = unquoted(texts[i]);
        struct findings errors;
        findings_init(&errors);
        CHECK(load_one(NULL, text, &errors) == NULL);
        CHECK(errors.count != 0);
        for (size_t e = 0; e < errors.count; e++) {
            CHECK(strstr(errors.list[e].message.ptr, "hunter2") == NULL);
            CHECK(memmem(errors.list[e].pointer.ptr, errors.list[e].pointer.len, "hunter2", 7) == NULL);
        }
        findings_finish(&errors);
        free(text);
    }
}

/* Each error carries the id of its rule, wherever in the rule that stands, and the file's name. */
static void check_owner(void)
{
    char *text = unquoted("[{'x':1,'match':{'y':1},'id':'late','effect':'deny','reason':'r'},7]");
    struct findings errors;
    findings_init(&errors);
    CHECK(load_one(NULL, text, &errors) == NULL);
    CHECK(errors.count == 3);
    for (size_t i = 0; i < errors.count; i++) {
        CHECK_BYTES(errors.list[i].rule.ptr, errors.list[i].rule.len, i < 2 ? "late" : "");
        CHECK_BYTES(errors.list[i].file_name.ptr, errors.list[i].file_name.len, "p.json");
    }
    findings_finish(&errors);
    free(text);
}

/* A long word is cut, between characters. */
static void check_long(void)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_text(&text, "{\"a");
    for (int i = 0; i < 100; i++) {
        buf_text(&text, "é");
    }
    buf_text(&text, "\":1}");
    struct policy_source source = {.name = SLICE("p"), .tier = TIER_DEFAULT, .text = buf_slice_of(&text)};
    struct findings errors;
    findings_init(&errors);
    CHECK(policy_load(&source, 1, &test_base, &errors) == NULL);
    CHECK(errors.count == 1);
    CHECK(errors.list[0].message.len < 300);
    CHECK(strstr(errors.list[0].message.ptr, "é…'") != NULL);
    CHECK(errors.list[0].pointer.len == 202);
    findings_finish(&errors);
    buf_finish(&text);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_case(&cases[i]);
    }
    check_secrets();
    check_owner();
    check_long();
    return check_done();
}
