/* Documents, and every error in them: code, line, column, JSON pointer, in order. SPEC.md section 2. */
#include "support.h"

#define HEAD        "'id':'a','effect':'auto_approve',"
#define RULE(match) "[{" HEAD "'match':{" match "}}]"
#define ASK(extra)  "[{'id':'a','effect':'require_approval','match':{'tool':'t'}," extra "}]"
#define X30         "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define E30         "éééééééééééééééééééééééééééééé"

struct load_case {
    const char *name, *tier, *text, *errors;
};

static const struct load_case cases[] = {
    /* ---- Forms ---- */
    {"an empty list", NULL, "[]", ""},
    {"an empty object", NULL, "{}", ""},
    {"an object", NULL, "{'$schema':'s','version':1.0,'rules':[],'requireAuthoredPolicy':['x','a/*','*']}",
     ""},
    {"the bridge's layout ignores other keys", NULL, "{'version':2,'assertions':7,'policy':[],'anything':{}}",
     ""},
    {"the bridge's lists are judged", NULL, "{'policy':[],'requireAuthoredPolicy':''}",
     "wrong-type 1:38 /requireAuthoredPolicy"},
    {"the bridge's policy must be a list", NULL, "{'policy':{}}", "wrong-type 1:11 /policy"},
    {"both", NULL, "{'version':1,'rules':[],'policy':[7]}", "unknown-key 1:25 /policy"},
    {"a misspelt key", NULL, "{'rule':[]}", "unknown-key 1:2 /rule"},
    {"a number", NULL, " 7", "wrong-type 1:2 "},
    {"a string", NULL, "'x'", "wrong-type 1:1 "},
    {"null", NULL, "null", "wrong-type 1:1 "},
    {"rules no list", NULL, "{'rules':{}}", "wrong-type 1:10 /rules"},
    {"a version from the future", NULL, "{'version':2}", "bad-value 1:12 /version"},
    {"a version with a fraction", NULL, "{'version':1.5}", "bad-value 1:12 /version"},
    {"a version as text", NULL, "{'version':'1'}", "wrong-type 1:12 /version"},
    {"a schema that is no string", NULL, "{'$schema':1}", "wrong-type 1:12 /$schema"},

    /* ---- Not JSON: the only error of its file ---- */
    {"nothing", NULL, "", "json-syntax 1:1 "},
    {"cut short", NULL, "[\n{'id'", "json-syntax 2:6 "},
    {"a trailing comma", NULL, "[\n {" HEAD "'match':{'tool':'t'}},\n]", "json-syntax 3:1 "},
    {"two documents", NULL, "[] []", "json-syntax 1:4 "},
    {"errors before it count for nothing", NULL, "[7,8,", "json-syntax 1:6 "},
    {"CRLF is one line end", NULL, "[\r\n\r\n x]", "json-syntax 3:2 "},
    {"a tab is one column", NULL, "[\t\tx]", "json-syntax 1:4 "},
    {"a lone surrogate", NULL, "['\\ud800']", "json-syntax 1:3 "},
    {"64 deep", NULL,
     RULE("'argEquals':{'a':[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
          "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}"),
     ""},
    {"65 deep", NULL,
     "\n" RULE("'argEquals':{'a':[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
               "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}"),
     "limit 2:122 "},

    /* ---- Repeated keys: with one of them, only those ---- */
    {"in a rule", NULL, "[{'id':'d','effect':'deny','effect':'auto_approve','match':{'tool':'t'},'x':1}]",
     "duplicate-key 1:28 /0/effect"},
    {"each repeat", NULL, "[{'id':'d','id':'e',\n'id':'f'},{'id':1,'id':2}]",
     "duplicate-key 1:12 /0/id; duplicate-key 2:1 /0/id; duplicate-key 2:19 /1/id"},
    {"deep in argEquals", NULL, RULE("'argEquals':{'o':[{'x':1,'x':2}]}"),
     "duplicate-key 1:70 /0/match/argEquals/o/0/x"},
    {"decoded", NULL, "[{'id':'d','\\u0069d':'e'}]", "duplicate-key 1:12 /0/id"},
    {"inside a repeat's value", NULL, "{'a':{'b':1,'b':2},'a':{'b':1,'b':2}}",
     "duplicate-key 1:13 /a/b; duplicate-key 1:20 /a; duplicate-key 1:31 /a/b"},
    {"a pointer escapes ~ and /", NULL, "{'a/b~c':1,'a/b~c':2}", "duplicate-key 1:12 /a~1b~0c"},

    /* ---- Rules ---- */
    {"the least rule", NULL, RULE("'tool':'t'"), ""},
    {"a comment", NULL, "[{" HEAD "'match':{'tool':'t'},'comment':''}]", ""},
    {"a comment that is no string", NULL, "[{" HEAD "'match':{'tool':'t'},'comment':7}]",
     "wrong-type 1:67 /0/comment"},
    {"a rule that is no object", NULL, "[7,[]]", "wrong-type 1:2 /0; wrong-type 1:4 /1"},
    {"an empty rule", NULL, "{'rules':[\n {}]}",
     "missing-key 2:2 /rules/0/id; missing-key 2:2 /rules/0/effect; missing-key 2:2 /rules/0/match"},
    {"missing keys stand at the brace, in their order", NULL, "[\n  {'effect':'deny'}]",
     "missing-key 2:3 /0/id; missing-key 2:3 /0/match; missing-key 2:3 /0/reason"},
    {"a column counts characters", NULL, "[{'id':'éé','x':1,'effect':'auto_approve','match':{'tool':'t'}}]",
     "unknown-key 1:13 /0/x"},
    {"a misspelt key of a rule", NULL, "[{" HEAD "'match':{'tool':'t'},'prority':1}]",
     "unknown-key 1:57 /0/prority"},
    {"an id that is no string", NULL, "[{'id':1,'effect':'auto_approve','match':{'tool':'t'}}]",
     "wrong-type 1:8 /0/id"},
    {"an empty id", NULL, "[{'id':'','effect':'auto_approve','match':{'tool':'t'}}]", "bad-value 1:8 /0/id"},
    {"an id of 120 characters", NULL,
     "[{'id':'" X30 E30 X30 E30 "','effect':'auto_approve','match':{'tool':'t'}}]", ""},
    {"an id of 121 characters", NULL,
     "[{'id':'" X30 E30 X30 E30 "x','effect':'auto_approve','match':{'tool':'t'}}]", "bad-value 1:8 /0/id"},
    {"the reserved id", NULL, "[{'id':'default','effect':'auto_approve','match':{'tool':'t'}}]",
     "reserved-id 1:8 /0/id"},
    {"one id twice", NULL, "[{" HEAD "'match':{'tool':'t'}},{" HEAD "'match':{'tool':'u'}}]",
     "duplicate-id 1:64 /1/id"},
    {"one id twice, the first rule in error", NULL,
     "[{" HEAD "'match':{'tol':'t'}},{" HEAD "'match':{'tool':'u'}}]",
     "unknown-key 1:45 /0/match/tol; duplicate-id 1:63 /1/id"},
    {"an unknown effect", NULL, "[{'id':'a','effect':'allow','match':{'tool':'t'}}]",
     "bad-value 1:21 /0/effect"},
    {"an unknown effect: keys of every effect pass unjudged", NULL,
     "[{'id':'a','effect':'x','match':{'tool':'t'},'reason':1,'ttlMs':'','approvers':99,'scope':[],'z':1}]",
     "bad-value 1:21 /0/effect; unknown-key 1:94 /0/z"},
    {"no effect: the same", NULL, "[{'id':'a','match':{'tool':'t'},'reason':1,'ttlMs':''}]",
     "missing-key 1:2 /0/effect"},
    {"an effect that is no string: the same", NULL, "[{'id':'a','effect':7,'match':{'tool':'t'},'ttlMs':''}]",
     "wrong-type 1:21 /0/effect"},
    {"a priority", NULL, "[{" HEAD "'match':{'tool':'t'},'priority':-2147483648}]", ""},
    {"a priority below 32 bits", NULL, "[{" HEAD "'match':{'tool':'t'},'priority':-2147483649}]",
     "bad-value 1:68 /0/priority"},
    {"a priority with a fraction", NULL, "[{" HEAD "'match':{'tool':'t'},'priority':1e-400}]",
     "bad-value 1:68 /0/priority"},
    {"a priority beyond everything", NULL, "[{" HEAD "'match':{'tool':'t'},'priority':1e999999999999}]",
     "bad-value 1:68 /0/priority"},

    /* ---- What belongs to one effect ---- */
    {"a deny without a reason", NULL, "[{'id':'a','effect':'deny','match':{'tool':'t'}}]",
     "missing-key 1:2 /0/reason"},
    {"an empty reason", NULL, "[{'id':'a','effect':'deny','match':{'tool':'t'},'reason':''}]",
     "bad-value 1:58 /0/reason"},
    {"a reason of 201 characters", NULL,
     "[{'id':'a','effect':'deny','match':{'tool':'t'},'reason':'" X30 X30 X30 X30 X30 X30
     "xxxxxxxxxxxxxxxxxxxxx'}]",
     "bad-value 1:58 /0/reason"},
    {"a reason on an allow", NULL, "[{" HEAD "'match':{'tool':'t'},'reason':7}]",
     "unknown-key 1:57 /0/reason"},
    {"ttlMs, approvers and scope on a deny", NULL,
     "[{'id':'a','effect':'deny','match':{'tool':'t'},'reason':'x','ttlMs':0,'approvers':0,'scope':0}]",
     "unknown-key 1:62 /0/ttlMs; unknown-key 1:72 /0/approvers; unknown-key 1:86 /0/scope"},
    {"integers by value", NULL, ASK("'ttlMs':5e0,'approvers':1.0e1"), ""},
    {"ttlMs zero", NULL, ASK("'ttlMs':0"), "bad-value 1:69 /0/ttlMs"},
    {"ttlMs of a day", NULL, ASK("'ttlMs':86400000"), ""},
    {"ttlMs above a day", NULL, ASK("'ttlMs':86400001"), "bad-value 1:69 /0/ttlMs"},
    {"ttlMs with a fraction", NULL, ASK("'ttlMs':1.5"), "bad-value 1:69 /0/ttlMs"},
    {"ttlMs as text", NULL, ASK("'ttlMs':'5'"), "wrong-type 1:69 /0/ttlMs"},
    {"approvers zero and eleven", NULL,
     ASK("'approvers':0},{'id':'b','effect':'require_approval','match':{'tool':'t'},'approvers':11"),
     "bad-value 1:73 /0/approvers; bad-value 1:147 /1/approvers"},
    {"an unknown scope", NULL, ASK("'scope':'ever'"), "bad-value 1:69 /0/scope"},
    {"a scope once", NULL, ASK("'scope':'once'"), ""},
    {"a scope null", NULL, ASK("'scope':null"), "wrong-type 1:69 /0/scope"},

    /* ---- Match ---- */
    {"every field", NULL,
     RULE("'tool':'t','server':'s','channel':'c','thread_ts':'1','actor':'session_owner','pathPrefix':'/x',"
          "'pathComponent':'*.pem','argEquals':{'':null},'tier':'user'"),
     ""},
    {"empty", NULL, RULE(""), "empty-match 1:44 /0/match"},
    {"only a tier", NULL, RULE("'tier':'admin'"), "empty-match 1:44 /0/match"},
    {"only an empty argEquals", NULL, RULE("'argEquals':{}"), "empty-match 1:44 /0/match"},
    {"empty but for an error", NULL, RULE("'chanel':'c'"), "unknown-key 1:45 /0/match/chanel"},
    {"empty but for a bad tier", NULL, RULE("'tier':'root'"), "bad-value 1:52 /0/match/tier"},
    {"no object", NULL, "[{" HEAD "'match':'t'}]", "wrong-type 1:44 /0/match"},
    {"empty strings", NULL,
     RULE("'tool':'','server':'','channel':'','thread_ts':'','pathPrefix':'','toolPrefix':''"),
     "bad-value 1:52 /0/match/tool; bad-value 1:64 /0/match/server; bad-value 1:77 /0/match/channel; "
     "bad-value 1:92 /0/match/thread_ts; bad-value 1:108 /0/match/pathPrefix; bad-value 1:124 "
     "/0/match/toolPrefix"},
    {"lists", NULL, RULE("'tool':['x'],'argEquals':[1],'actor':1"),
     "wrong-type 1:70 /0/match/argEquals; wrong-type 1:82 /0/match/actor"},
    {"stars", NULL, RULE("'tool':'a*','server':'?'"),
     "bad-value 1:52 /0/match/tool; bad-value 1:66 /0/match/server"},
    {"a star in a prefix", NULL, RULE("'toolPrefix':'a*'"), "bad-value 1:58 /0/match/toolPrefix"},
    {"a star in a channel is a star", NULL, RULE("'channel':'*'"), ""},
    {"tool and toolPrefix", NULL, RULE("'toolPrefix':'a','tool':'ab'"), "bad-value 1:58 /0/match/toolPrefix"},
    {"tool and toolPrefix, one of them wrong", NULL, RULE("'toolPrefix':1,'tool':''"),
     "wrong-type 1:58 /0/match/toolPrefix; bad-value 1:67 /0/match/tool"},
    {"an unknown actor", NULL, RULE("'actor':'root'"), "bad-value 1:53 /0/match/actor"},
    {"components", NULL, RULE("'pathComponent':'*.env'"), ""},
    {"a component ...", NULL, RULE("'pathComponent':'...'"), ""},
    {"a component with a slash", NULL, RULE("'pathComponent':'a/b'"),
     "bad-value 1:61 /0/match/pathComponent"},
    {"a component with a star inside", NULL, RULE("'pathComponent':'a*b'"),
     "bad-value 1:61 /0/match/pathComponent"},
    {"a component with two stars", NULL, RULE("'pathComponent':'*a*'"),
     "bad-value 1:61 /0/match/pathComponent"},
    {"a component that is a star", NULL, RULE("'pathComponent':'*'"),
     "bad-value 1:61 /0/match/pathComponent"},
    {"a component .", NULL, RULE("'pathComponent':'.'"), "bad-value 1:61 /0/match/pathComponent"},
    {"a component ..", NULL, RULE("'pathComponent':'..'"), "bad-value 1:61 /0/match/pathComponent"},
    {"an empty component", NULL, RULE("'pathComponent':''"), "bad-value 1:61 /0/match/pathComponent"},
    {"a prefix under /proc/self", NULL, RULE("'pathPrefix':'/proc/self/cwd'"),
     "bad-value 1:58 /0/match/pathPrefix"},
    {"a prefix with a NUL", NULL, RULE("'pathPrefix':'/x\\u0000'"), "bad-value 1:58 /0/match/pathPrefix"},

    /* ---- Tiers and files ---- */
    {"the operator's file names any tier", NULL, RULE("'tool':'t','tier':'admin'"), ""},
    {"a user file and a higher tier", "user", RULE("'tool':'t','tier':'admin'"),
     "tier-above-file 1:63 /0/match/tier"},
    {"a user file, its own tier and a lower one", "user",
     "[{" HEAD "'match':{'tool':'t','tier':'user'}},{'id':'b','effect':'auto_approve','match':{'tool':'t','"
     "tier':'default'}}]",
     ""},
    {"an admin file, every tier", "admin", RULE("'tool':'t','tier':'workspace'"), ""},
    {"a workspace file only tightens", "workspace",
     "[{" HEAD "'match':{'tool':'t'}},{'id':'b','effect':'require_approval','match':{'tool':'t'},'ttlMs':0}]",
     "loosening-rule 1:21 /0/effect; loosening-rule 1:77 /1/effect; bad-value 1:125 /1/ttlMs"},
    {"a workspace deny", "workspace",
     "[{'id':'a','effect':'deny','reason':'x','match':{'tool':'t','tier':'default'}}]", ""},
    {"a tier above and nothing else", "workspace",
     "[{'id':'a','effect':'deny','reason':'x','match':{'tier':'user'}}]",
     "tier-above-file 1:57 /0/match/tier"},

    /* ---- Lists ---- */
    {"lists of the wrong types", NULL,
     "{'requireAuthoredPolicy':{},'pathArguments':[],'treeArguments':{'t':'x','u':[1,'',null]}}",
     "wrong-type 1:26 /requireAuthoredPolicy; wrong-type 1:45 /pathArguments; wrong-type 1:69 "
     "/treeArguments/t; "
     "wrong-type 1:78 /treeArguments/u/0; bad-value 1:80 /treeArguments/u/1; wrong-type 1:83 "
     "/treeArguments/u/2"},
    {"strings of a list", NULL, "{'requireAuthoredPolicy':['','-',7]}",
     "bad-value 1:27 /requireAuthoredPolicy/0; wrong-type 1:34 /requireAuthoredPolicy/2"},
    {"a minus alone", NULL, "{'pathArguments':{'*':['-','--','-x']}}", "bad-value 1:24 /pathArguments/*/0"},
    {"a workspace file takes nothing away", "workspace",
     "{'pathArguments':{'a/b':['x','-x']},'treeArguments':{'c':['-y']}}",
     "bad-value 1:30 /pathArguments/a~1b/1; bad-value 1:59 /treeArguments/c/0"},

    /* ---- Assertions ---- */
    {"an assertion", NULL,
     "{'assertions':[{'name':'n','match':{'tool':'t','pathPrefix':'/"
     "etc'},'never':['allow'],'evenApproved':true}]}",
     ""},
    {"of every call", NULL, "{'assertions':[{'name':'n','match':{},'never':['deny','require']}]}", ""},
    {"empty", NULL, "{'assertions':[{}]}",
     "missing-key 1:16 /assertions/0/name; missing-key 1:16 /assertions/0/match; missing-key 1:16 "
     "/assertions/0/never"},
    {"wrong", NULL,
     "{'assertions':[{'name':'','match':{'tier':'user'},'never':[],'evenApproved':1,'effect':2},7]}",
     "bad-value 1:24 /assertions/0/name; unknown-key 1:36 /assertions/0/match/tier; "
     "bad-value 1:59 /assertions/0/never; wrong-type 1:77 /assertions/0/evenApproved; "
     "unknown-key 1:79 /assertions/0/effect; wrong-type 1:91 /assertions/1"},
    {"decisions", NULL, "{'assertions':[{'name':'n','match':{'tool':'t'},'never':['allow','x',1]}]}",
     "bad-value 1:66 /assertions/0/never/1; wrong-type 1:70 /assertions/0/never/2"},
    {"no list", NULL, "{'assertions':{}}", "wrong-type 1:15 /assertions"},

    /* ---- All of them, in order ---- */
    {"every error is reported", NULL,
     "[{" HEAD "'match':{'tool':'t','tol':'x'}},\n{'id':'b','effect':'nope','match':{'tool':'t'}},\n{'id':'c'"
     ",'effect':'deny','match':{'tool':'t'}},\n{" HEAD "'match':{'tool':'u'}}]",
     "unknown-key 1:56 /0/match/tol; bad-value 2:20 /1/effect; missing-key 3:1 /2/reason; duplicate-id 4:7 "
     "/3/id"},
    {"in order of position, not of the tables", NULL, "[{'x':1,'match':{'y':1},'effect':3,'id':2}]",
     "unknown-key 1:3 /0/x; unknown-key 1:18 /0/match/y; wrong-type 1:34 /0/effect; wrong-type 1:41 /0/id"},
};

static void check_case(const struct load_case *c)
{
    char *text = unquoted(c->text);
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = load_one(c->tier, text, &errors);
    struct buf got;
    buf_init(&got, 1 << 20);
    write_errors(&got, &errors);
    bool same = slice_is(buf_slice_of(&got), c->errors);
    CHECK(same);
    if (!same) {
        printf("  %s\n  want %s\n  got  %.*s\n", c->name, c->errors, SLICE_FMT(buf_slice_of(&got)));
    }
    bool left_out = policy != NULL && !policy->files[0].used;
    CHECK((policy == NULL || left_out) == (c->errors[0] != '\0'));
    CHECK(!errors.failed);
    buf_finish(&got);
    policy_destroy(policy);
    findings_finish(&errors);
    free(text);
}

/* ---- Several files ---- */

struct file_case {
    const char *name;
    struct {
        const char *tier, *text;
    } files[3];
    const char *errors; /* "FILE CODE POINTER; …" */
    const char *ids;    /* in order of loading; NULL: no policy */
};

#define DENY(id) "{'id':'" id "','effect':'deny','reason':'r','match':{'tool':'t','pathPrefix':'/" id "'}}"

static const struct file_case file_cases[] = {
    {"order is the files', then the rules'",
     {{NULL, "[" DENY("a") "," DENY("b") "]"}, {"workspace", "[" DENY("c") "]"}, {"user", "[" DENY("d") "]"}},
     "",
     "a b c d"},
    {"an id of two files",
     {{"admin", "[" DENY("a") "]"}, {"user", "[" DENY("a") "]"}},
     "1 duplicate-id /0/id",
     NULL},
    {"errors of all files",
     {{NULL, "["}, {NULL, "[7]"}, {NULL, "{'x':1}"}},
     "0 json-syntax ; 1 wrong-type /0; 2 unknown-key /x",
     NULL},
    {"a workspace file in error is left out",
     {{NULL, "[" DENY("a") "]"}, {"workspace", "[" DENY("b") ",7]"}, {"user", "[" DENY("c") "]"}},
     "1 wrong-type /1",
     "a c"},
    {"and the others' errors still count",
     {{NULL, "[" DENY("a") "]"}, {"workspace", "[7]"}, {"user", "[7]"}},
     "1 wrong-type /0; 2 wrong-type /0",
     NULL},
    {"a shared id is the workspace file's error, last",
     {{NULL, "[" DENY("a") "]"}, {"workspace", "[" DENY("a") "]"}},
     "1 duplicate-id /0/id",
     "a"},
    {"a shared id is the workspace file's error, first",
     {{"workspace", "[" DENY("b") "," DENY("a") "]"}, {NULL, "[" DENY("a") "]"}},
     "0 duplicate-id /1/id",
     "a"},
    {"of two workspace files, the later one's",
     {{"workspace", "[" DENY("a") "]"}, {"workspace", "[" DENY("a") "]"}},
     "1 duplicate-id /0/id",
     "a"},
    {"a file that is left out holds no id",
     {{"workspace", "[" DENY("a") ",7]"}, {"workspace", "[" DENY("a") "]"}},
     "0 wrong-type /1",
     "a"},
};

static void check_files(const struct file_case *c)
{
    struct policy_source sources[3];
    char *texts[3] = {NULL, NULL, NULL};
    size_t count = 0;
    for (; count < 3 && c->files[count].text != NULL; count++) {
        texts[count] = unquoted(c->files[count].text);
        sources[count] = source_of("f", c->files[count].tier, texts[count]);
    }
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = policy_load(sources, count, &test_base, &errors);
    struct buf got;
    buf_init(&got, 1 << 20);
    for (size_t i = 0; i < errors.count; i++) {
        buf_printf(&got, "%s%u %s %.*s", i == 0 ? "" : "; ", errors.list[i].file, errors.list[i].code,
                   SLICE_FMT(errors.list[i].pointer));
    }
    CHECK_BUF(&got, c->errors);
    CHECK((policy == NULL) == (c->ids == NULL));
    buf_reset(&got);
    for (uint32_t i = 0; policy != NULL && i < policy->rule_count; i++) {
        buf_text(&got, i == 0 ? "" : " ");
        buf_slice(&got, policy_text(policy, policy->rules[i].id));
        /* Prefixes are numbered in the order of the rules, and those of files left out are gone. */
        CHECK(policy->rules[i].match.path_prefix == i + 1);
        CHECK(policy->prefixes->count == policy->rule_count);
    }
    if (c->ids != NULL) {
        CHECK_BUF(&got, c->ids);
    }
    buf_finish(&got);
    policy_destroy(policy);
    findings_finish(&errors);
    for (size_t i = 0; i < count; i++) {
        free(texts[i]);
    }
}

/* More rules than fit are the file's only error, at the first too many. */
static void check_most_rules(void)
{
    struct buf text;
    buf_init(&text, (size_t)64 << 20);
    buf_text(&text, "[7");
    for (uint32_t i = 1; i < LIMIT_RULES; i++) {
        buf_text(&text, ",7");
    }
    buf_text(&text, ",\n8]");
    struct findings errors;
    findings_init(&errors);
    struct policy_source source = {.name = SLICE("p"), .tier = TIER_DEFAULT, .text = buf_slice_of(&text)};
    CHECK(policy_load(&source, 1, &test_base, &errors) == NULL);
    CHECK(errors.count == 1);
    CHECK(strcmp(errors.list[0].code, "limit") == 0);
    CHECK(errors.list[0].line == 2 && errors.list[0].column == 1);
    findings_finish(&errors);
    buf_finish(&text);
}

/* No file at all is an empty policy; a file of no bytes is not. */
static void check_nothing(void)
{
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = policy_load(NULL, 0, &test_base, &errors);
    CHECK(policy != NULL && policy->rule_count == 0 && policy->required_count == 1 && errors.count == 0);
    policy_destroy(policy);
    struct policy_source source = {.name = SLICE("p"), .tier = TIER_DEFAULT, .text = {NULL, 0}};
    CHECK(policy_load(&source, 1, &test_base, &errors) == NULL);
    CHECK(errors.count == 1 && strcmp(errors.list[0].code, "json-syntax") == 0);
    findings_finish(&errors);
    policy_destroy(NULL);
}

/* A NUL and invalid UTF-8 cannot stand in a C string of the table. */
static void check_bytes(void)
{
    static const struct {
        struct slice text;
        uint32_t column;
    } texts[] = {{SLICE("[\0]"), 2}, {SLICE("[\"\xff\"]"), 3}, {SLICE("\xef\xbb\xbf[]"), 1}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct findings errors;
        findings_init(&errors);
        struct policy_source source = {.name = SLICE("p"), .tier = TIER_DEFAULT, .text = texts[i].text};
        CHECK(policy_load(&source, 1, &test_base, &errors) == NULL);
        CHECK(errors.count == 1 && strcmp(errors.list[0].code, "json-syntax") == 0);
        CHECK(errors.list[0].line == 1 && errors.list[0].column == texts[i].column);
        findings_finish(&errors);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_case(&cases[i]);
    }
    for (size_t i = 0; i < sizeof(file_cases) / sizeof(file_cases[0]); i++) {
        check_files(&file_cases[i]);
    }
    check_most_rules();
    check_bytes();
    check_nothing();
    return check_done();
}
