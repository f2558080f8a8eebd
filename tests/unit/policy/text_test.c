/* Groups and their order, canonical texts, names, the JSON Schema, the list of findings. */
#include "support.h"

#define D(id, rest) "{'id':'" id "','effect':'deny','reason':'r'," rest "}"

/* ---- Groups ---- */

static void check_groups(void)
{
    struct policy *policy = load_good("[" D("a", "'match':{'tool':'t'}") ","            /* 0, with 2 and 5 */
                                      D("b", "'match':{'tool':'u','tier':'user'}") ","  /* 1 */
                                      D("c", "'match':{'tool':'t'},'priority':5") ","   /* 2 */
                                      D("d", "'match':{'tool':'v','tier':'admin'}") "," /* 3 */
                                      D("e", "'match':{'tool':'t','channel':'x'}") ","  /* 4 */
                                      D("f", "'match':{'tool':'t','tier':'default'},'priority':5") "]");
    static const uint32_t speakers[] = {2, 1, 2, 3, 4, 2}, order[] = {3, 1, 2, 4};
    CHECK(policy->rule_count == 6 && policy->order_count == 4);
    for (uint32_t i = 0; i < 6; i++) {
        CHECK(policy->rules[i].speaker == speakers[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(policy->order[i] == order[i]);
    }
    policy_destroy(policy);
}

/* Rules that differ in one thing only are no equivalents, however full the table is. */
static void check_many_groups(void)
{
    static const char *const kinds[] = {
        "'effect':'deny','reason':'r','match':{'tool':'t%u'}",
        "'effect':'auto_approve','match':{'tool':'t%u'}",
        "'effect':'deny','reason':'r','match':{'tool':'t%u','tier':'user'}",
        "'effect':'deny','reason':'r','match':{'server':'t%u'}",
        "'effect':'deny','reason':'r','match':{'tool':'t%u','argEquals':{'a':1}}",
        "'effect':'deny','reason':'r','match':{'tool':'t%u','argEquals':{'a':2}}",
        "'effect':'deny','reason':'r','match':{'tool':'t%u','argEquals':{'a':1,'b':1}}",
        "'effect':'deny','reason':'r','match':{'tool':'t%u','actor':'session_owner'}",
    };
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), EACH = 1000 };
    struct buf text;
    buf_init(&text, 16u << 20);
    for (unsigned i = 0; i < 2 * EACH * KINDS; i++) {
        buf_printf(&text, "%c{'id':'%u',", i == 0 ? '[' : ',', i);
        buf_printf(&text, kinds[i % KINDS], i / KINDS % EACH);
        buf_byte(&text, '}');
    }
    buf_bytes(&text, "]", 2);
    struct policy *policy = load_good(text.ptr);
    CHECK(policy->order_count == EACH * KINDS);
    unsigned wrong = 0;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        wrong += policy->rules[i].speaker != i % (EACH * KINDS);
    }
    CHECK(wrong == 0);
    policy_destroy(policy);
    buf_finish(&text);
}

/* What a rule holds when its document says nothing, and where it stands. */
static void check_defaults(void)
{
    struct policy *policy =
        load_good("[\r\n {'id':'é','effect':'require_approval','match':{'tool':'t'}}, {'match':"
                  "{'channel':'c','tier':'user'},'id':'b','effect':'auto_approve'}]");
    const struct rule *a = &policy->rules[0], *b = &policy->rules[1];
    CHECK(a->tier == TIER_DEFAULT && a->scope == SCOPE_SESSION && a->approvers == 1 && a->ttl_ms == 300000);
    CHECK(a->priority == 100 && a->reason == 0 && a->file == 0);
    CHECK(a->line == 2 && a->column == 2);
    CHECK(b->line == 2 && b->column == 63 && b->tier == TIER_USER && b->effect == EFFECT_AUTO_APPROVE);
    CHECK(policy->files[0].used && policy->files[0].rules == 2 && slice_is(policy->files[0].name, "p.json"));
    CHECK(sizeof(struct rule) <= 108);
    policy_destroy(policy);
}

/* ---- Canonical texts ---- */

struct text_case {
    const char *policy, *rule, *whole;
};

static const struct text_case text_cases[] = {
    {"[" D("a", "'match':{'tool':'t'},'comment':'not in it'") "]",
     "{'approvers':1,'effect':'deny','match':{'tool':'t'},'scope':'session','tier':'default','ttlMs':300000}",
     "{'pathArguments':{},'requireAuthoredPolicy':['upload_file'],'rules':[{'approvers':1,'effect':'deny','"
     "id':'a',"
     "'match':{'tool':'t'},'priority':100,'reason':'r','scope':'session','tier':'default','ttlMs':300000}],"
     "'treeArguments':{}}"},
    {"{'treeArguments':{'t':['x','-y']},'requireAuthoredPolicy':['é','b','b','a/"
     "*'],'rules':[{'match':{'tier':'user',"
     "'argEquals':{'é':[1e2,{'b':-0,'a':null}],'':9007199254740993},'pathPrefix':'/nowhere/./"
     "x','thread_ts':'1',"
     "'actor':'session_owner','toolPrefix':'p','channel':'c','server':'s','pathComponent':'*.x'},'scope':'"
     "call',"
     "'ttlMs':5.0,'approvers':2,'effect':'require_approval','id':'q','priority':-1}],"
     "'pathArguments':{'b':['2'],'*':['-1'],'a/b':[]}}",
     "{'approvers':2,'effect':'require_approval','match':{'actor':'session_owner','argEquals':{'':"
     "9007199254740993e0,"
     "'é':[100,{'a':null,'b':0}]},'channel':'c','pathComponent':'*.x','pathPrefix':'/nowhere/x','server':'s',"
     "'thread_ts':'1','toolPrefix':'p'},'scope':'call','tier':'user','ttlMs':5}",
     "{'pathArguments':{'*':['-1'],'b':['2']},'requireAuthoredPolicy':['a/*','b','upload_file','é'],'rules':["
     "{'approvers':2,'effect':'require_approval','id':'q','match':{'actor':'session_owner','argEquals':{"
     "'':9007199254740993e0,'é':[100,{'a':null,'b':0}]},'channel':'c','pathComponent':'*.x',"
     "'pathPrefix':'/nowhere/x','server':'s','thread_ts':'1','toolPrefix':'p'},'priority':-1,'scope':'call',"
     "'tier':'user','ttlMs':5}],'treeArguments':{'t':['x','-y']}}"},
    {"{'confine':{'write':['b','@npm','b'],'read':['~/v']},'rules':[" D("a", "'match':{'tool':'t'}") "]}",
     "{'approvers':1,'effect':'deny','match':{'tool':'t'},'scope':'session','tier':'default','ttlMs':300000}",
     "{'confine':{'read':['~/"
     "v'],'write':['@npm','b']},'pathArguments':{},'requireAuthoredPolicy':['upload_file'],"
     "'rules':[{'approvers':1,'effect':'deny','id':'a','match':{'tool':'t'},'priority':100,'reason':'r',"
     "'scope':'session','tier':'default','ttlMs':300000}],'treeArguments':{}}"},
};

static void check_texts(const struct text_case *c)
{
    struct policy *policy = load_good(c->policy);
    struct buf got;
    buf_init(&got, 1 << 20);
    char *want = unquoted(c->rule);
    rule_write_canonical(&got, policy, &policy->rules[0]);
    CHECK_BUF(&got, want);
    free(want);
    want = unquoted(c->whole);
    buf_reset(&got);
    policy_write_canonical(&got, policy);
    CHECK_BUF(&got, want);
    free(want);
    buf_finish(&got);
    policy_destroy(policy);
}

/* Two layouts of one policy have one text; two policies have two. */
static void check_layouts(void)
{
    static const char *const same[] = {
        "[" D("a", "'match':{'argEquals':{'n':1,'m':2}}") "]",
        "{'version':1,'rules':[" D(
            "a", "'comment':'','priority':1e2,'match':{'tier':'default','argEquals':{'m':2.0,'n':1}}") "]}",
        "{'policy':[" D(
            "a",
            "'match':{'argEquals':{'n':10e-1,'m':2}}") "],'requireAuthoredPolicy':['upload_file'],'x':1}",
    };
    static const char *const other[] = {
        "[" D("a", "'match':{'argEquals':{'n':1,'m':3}}") "]",
        "[" D("a", "'match':{'argEquals':{'n':1,'m':2}},'priority':99") "]",
        "[" D("b", "'match':{'argEquals':{'n':1,'m':2}}") "]",
        "{'confine':{'read':['x']},'rules':[" D("a", "'match':{'argEquals':{'n':1,'m':2}}") "]}",
        "{'confine':{'write':['x']},'rules':[" D("a", "'match':{'argEquals':{'n':1,'m':2}}") "]}",
        "[]",
    };
    struct buf first, got;
    buf_init(&first, 1 << 20);
    buf_init(&got, 1 << 20);
    struct policy *policy = load_good(same[0]);
    policy_write_canonical(&first, policy);
    policy_destroy(policy);
    for (size_t i = 0; i < 9; i++) {
        policy = load_good(i < 3 ? same[i] : other[i - 3]);
        buf_reset(&got);
        policy_write_canonical(&got, policy);
        CHECK(buf_ok(&got) && slice_eq(buf_slice_of(&first), buf_slice_of(&got)) == (i < 3));
        policy_destroy(policy);
    }
    buf_finish(&first);
    buf_finish(&got);
}

static void check_names(void)
{
    enum tier tier = TIER_USER;
    CHECK(strcmp(effect_name(EFFECT_AUTO_APPROVE), "auto_approve") == 0);
    CHECK(strcmp(effect_name(EFFECT_REQUIRE_APPROVAL), "require_approval") == 0);
    CHECK(strcmp(effect_name(EFFECT_DENY), "deny") == 0);
    CHECK(strcmp(effect_name(12345), "deny") == 0);
    CHECK(strcmp(tier_name(TIER_WORKSPACE), "workspace") == 0);
    CHECK(strcmp(scope_name(SCOPE_CALL), "call") == 0);
    CHECK(tier_from_name(SLICE("admin"), &tier) && tier == TIER_ADMIN);
    CHECK(!tier_from_name(SLICE("Admin"), &tier) && !tier_from_name(SLICE(""), &tier) && tier == TIER_ADMIN);
}

/* ---- Assertions ---- */

static void check_assertions(void)
{
    struct policy *policy = load_good("{'rules':[" D(
        "a", "'match':{'tool':'t'}") "],'assertions':[{'name':'n','match':"
                                     "{'tool':'w','pathPrefix':'/nowhere'},'never':['allow','require'],"
                                     "'evenApproved':true},\n{'name':'m','match':{},'never':['deny']}]}");
    CHECK(policy->assertion_count == 2);
    const struct assertion *n = &policy->assertions[0];
    CHECK(n->never == (NEVER_ALLOW | NEVER_REQUIRE) && n->even_approved && n->line == 1);
    CHECK(policy->assertions[1].never == NEVER_DENY && policy->assertions[1].line == 2);
    struct buf got;
    buf_init(&got, 1 << 10);
    match_write_json(&got, policy->assertion_space, &n->match);
    CHECK_BUF(&got, "{\"pathPrefix\":\"/nowhere\",\"tool\":\"w\"}");
    buf_finish(&got);
    /* What an assertion names gives no readings and no symbols. */
    CHECK(policy->prefixes->count == 0 && !policy->has_path_rules);
    CHECK(intern_find(&policy->symbols, SLICE("w")) == 0);
    policy_destroy(policy);
}

/* ---- The JSON Schema ---- */

/* Every reference leads somewhere; every object of keys is closed but the bridge's. */
static void check_references(const struct json_doc *doc, const struct json_value *value)
{
    const struct json_value *defs = json_get(doc, json_root(doc), "$defs");
    for (uint32_t i = (uint32_t)(value - doc->values); i < doc->count; i++) {
        const struct json_value *key = &doc->values[i];
        if (key->type == JSON_STRING && slice_starts_with(json_str(key), SLICE("#/$defs/"))) {
            CHECK(json_is(json_get_slice(doc, defs, slice_from(json_str(key), 8)), JSON_OBJECT));
        }
    }
}

static void check_schema(void)
{
    static const char *const closed[] = {"auto_approve", "deny",      "require_approval", "match",
                                         "document",     "assertion", "callMatch"};
    struct buf text;
    struct json_doc doc;
    struct json_error error;
    struct json_options options = {.max_depth = 64, .max_bytes = 1 << 20};
    buf_init(&text, 1 << 20);
    json_init(&doc);
    policy_write_schema(&text);
    CHECK(buf_ok(&text) && json_parse(&doc, buf_slice_of(&text), &options, &error));
    const struct json_value *defs = json_get(&doc, json_root(&doc), "$defs");
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
        const struct json_value *def = json_get(&doc, defs, closed[i]);
        CHECK(json_is(json_get(&doc, def, "additionalProperties"), JSON_FALSE));
        CHECK(json_is(json_get(&doc, def, "properties"), JSON_OBJECT));
    }
    check_references(&doc, json_root(&doc));
    json_finish(&doc);
    buf_finish(&text);
}

/* ---- Findings ---- */

static void check_findings(void)
{
    static const uint32_t places[][2] = {{1, 5}, {0, 9}, {1, 5}, {0, 0}, {1, 4}, {0, 9}, {2, 0}};
    static const char *const want = "3 1 5 4 0 2 6";
    struct findings findings;
    struct buf got;
    findings_init(&findings);
    buf_init(&got, 1 << 10);
    for (uint32_t i = 0; i < 7; i++) {
        struct finding *finding = findings_add(&findings, "code", "%u", i);
        finding->file = places[i][0];
        finding->offset = places[i][1];
    }
    findings_sort(&findings);
    for (size_t i = 0; i < findings.count; i++) {
        buf_printf(&got, "%s%s", i == 0 ? "" : " ", findings.list[i].message.ptr);
    }
    CHECK_BUF(&got, want);
    buf_finish(&got);
    findings_finish(&findings);
}

int main(void)
{
    check_groups();
    check_many_groups();
    check_defaults();
    for (size_t i = 0; i < sizeof(text_cases) / sizeof(text_cases[0]); i++) {
        check_texts(&text_cases[i]);
    }
    check_layouts();
    check_names();
    check_assertions();
    check_schema();
    check_findings();
    return check_done();
}
