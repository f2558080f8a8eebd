/* The one layout of documents: what it looks like, that it keeps everything, and that it is a fixed point. */
#include "support.h"

static void lay_out(struct buf *buf, struct slice text)
{
    buf_reset(buf);
    CHECK(policy_write_layout(buf, text));
}

static void write_digest_text(struct buf *buf, struct slice text)
{
    struct policy_source source = {.name = SLICE("p"), .tier = TIER_DEFAULT, .text = text};
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = policy_load(&source, 1, &test_base, &errors);
    CHECK(policy != NULL && errors.count == 0);
    buf_reset(buf);
    if (policy != NULL) {
        policy_write_canonical(buf, policy);
    }
    CHECK(buf_ok(buf) && buf->len > 2);
    policy_destroy(policy);
    findings_finish(&errors);
}

/* Both are written with ' for ". */
static void check_layout(const char *document, const char *want)
{
    struct buf once, twice, before, after;
    char *text = unquoted(document), *wanted = unquoted(want);
    struct buf *all[] = {&once, &twice, &before, &after};
    for (size_t i = 0; i < 4; i++) {
        buf_init(all[i], 1 << 20);
    }
    lay_out(&once, slice_of(text));
    CHECK_BUF(&once, wanted);
    lay_out(&twice, buf_slice_of(&once));
    CHECK(slice_eq(buf_slice_of(&once), buf_slice_of(&twice)));
    write_digest_text(&before, slice_of(text));
    write_digest_text(&after, buf_slice_of(&once));
    CHECK(slice_eq(buf_slice_of(&before), buf_slice_of(&after)));
    for (size_t i = 0; i < 4; i++) {
        buf_finish(all[i]);
    }
    free(text);
    free(wanted);
}

#define FORTY "123456789-123456789-123456789-123456789-12345"
#define SIXTY "123456789-123456789-123456789-123456789-123456789-123456789-"

static void check_forms(void)
{
    check_layout("[]", "[]\n");
    check_layout(" {\r\n} ", "{}\n");
    check_layout("{'rules':[ ]}", "{\n  'rules': []\n}\n");
    check_layout("{'policy':[],'other':{'a':[ 1 ]}}", "{\n  'policy': [],\n  'other': {'a': [1]}\n}\n");
    check_layout(
        "{'rules':[{'match':{'tool':'t'},'effect':'auto_approve','id':'a'}],'version':1,'$schema':'x',"
        "'pathArguments':{'t':['b','-a']},'requireAuthoredPolicy':['u','*'],'treeArguments':{}}",
        "{\n  '$schema': 'x',\n  'version': 1,\n  'requireAuthoredPolicy': ['u', '*'],\n"
        "  'pathArguments': {'t': ['b', '-a']},\n  'treeArguments': {},\n  'rules': [\n"
        "    {'id': 'a', 'effect': 'auto_approve', 'match': {'tool': 't'}}\n  ]\n}\n");
    check_layout(
        "{'assertions':[{'evenApproved':true,'never':['deny','allow'],'match':{'server':'s','tool':'t'},"
        "'name':'n'}]}",
        "{\n  'assertions': [\n    {'name': 'n', 'match': {'tool': 't', 'server': 's'}, "
        "'never': ['deny', 'allow'], 'evenApproved': true}\n  ]\n}\n");
}

static void check_rules(void)
{
    /* Short ones in columns; a long one ends the columns, and others begin behind it. */
    check_layout("[{'id':'a','effect':'deny','reason':'r','match':{'tool':'t'}},"
                 "{'id':'long','match':{'tool':'u','tier':'user'},'effect':'auto_approve','comment':'why'},"
                 "{'id':'x','effect':'deny','match':{'tool':'" SIXTY "'},'reason':'" SIXTY "'},"
                 "{'id':'b','effect':'deny','reason':'r','match':{'tool':'v'}},"
                 "{'id':'cc','effect':'deny','reason':'r','match':{'tool':'w'}}]",
                 "[\n"
                 "  {'id': 'a',    'effect': 'deny',         'match': {'tool': 't'}, 'reason': 'r'},\n"
                 "  {'id': 'long', 'effect': 'auto_approve', 'match': {'tool': 'u', 'tier': 'user'}, "
                 "'comment': 'why'},\n"
                 "  {'id': 'x', 'effect': 'deny',\n"
                 "   'match': {'tool': '" SIXTY "'},\n"
                 "   'reason': '" SIXTY "'},\n"
                 "  {'id': 'b',  'effect': 'deny', 'match': {'tool': 'v'}, 'reason': 'r'},\n"
                 "  {'id': 'cc', 'effect': 'deny', 'match': {'tool': 'w'}, 'reason': 'r'}\n"
                 "]\n");
    /* A name that is very long moves no other line. */
    check_layout("[{'id':'" FORTY "','effect':'auto_approve','match':{'tool':'t'}},"
                 "{'id':'a','effect':'auto_approve','match':{'tool':'u'}}]",
                 "[\n"
                 "  {'id': '" FORTY "', 'effect': 'auto_approve', 'match': {'tool': 't'}},\n"
                 "  {'id': 'a', 'effect': 'auto_approve', 'match': {'tool': 'u'}}\n"
                 "]\n");
    /* Every member, in one order; numbers as written. */
    check_layout("[{'comment':'" SIXTY "','priority':-0,'scope':'call','approvers':2.0,'ttlMs':5e3,"
                 "'match':{'argEquals':{'b':1.0,'a':[1e400,{}]},'actor':'session_owner'},"
                 "'effect':'require_approval','id':'a'}]",
                 "[\n"
                 "  {'id': 'a', 'effect': 'require_approval',\n"
                 "   'match': {'actor': 'session_owner', 'argEquals': {'b': 1.0, 'a': [1e400, {}]}}, "
                 "'ttlMs': 5e3,\n"
                 "   'approvers': 2.0, 'scope': 'call', 'priority': -0,\n"
                 "   'comment': '" SIXTY "'}\n"
                 "]\n");
    check_layout("[{'id':'a','effect':'auto_approve','match':{'argEquals':{'one':'" SIXTY "','two':'" SIXTY
                 "'},"
                 "'tool':'t'},'priority':1}]",
                 "[\n"
                 "  {'id': 'a', 'effect': 'auto_approve',\n"
                 "   'match': {\n"
                 "     'tool': 't',\n"
                 "     'argEquals': {\n"
                 "       'one': '" SIXTY "',\n"
                 "       'two': '" SIXTY "'\n"
                 "     }\n"
                 "   },\n"
                 "   'priority': 1}\n"
                 "]\n");
}

static void check_strings(void)
{
    check_layout(
        "[{'id':'\\u0061\\/\\u00e9','effect':'auto_approve','match':{'tool':'\\ud83d\\udd11\\u0000'}}]",
        "[\n  {'id': 'a/\xC3\xA9', 'effect': 'auto_approve', "
        "'match': {'tool': '\xF0\x9F\x94\x91\\u0000'}}\n]\n");
    /* What a reader cannot see stands as an escape: here a right-to-left override, and a tag. */
    check_layout(
        "[{'id':'a\xE2\x80\xAEz','effect':'auto_approve','match':{'tool':'\xF3\xA0\x81\x81\\n\\u007f'}}]",
        "[\n  {'id': 'a\\u202ez', 'effect': 'auto_approve', "
        "'match': {'tool': '\\udb40\\udc41\\n\\u007f'}}\n]\n");
    /* Columns count characters. */
    check_layout("[{'id':'\xC3\xA9\xC3\xA9','effect':'auto_approve','match':{'tool':'t'}},"
                 "{'id':'abc','effect':'auto_approve','match':{'tool':'u'}}]",
                 "[\n  {'id': '\xC3\xA9\xC3\xA9',  'effect': 'auto_approve', 'match': {'tool': 't'}},\n"
                 "  {'id': 'abc', 'effect': 'auto_approve', 'match': {'tool': 'u'}}\n]\n");
}

static void check_refusals(void)
{
    struct buf buf;
    buf_init(&buf, 1 << 20);
    CHECK(!policy_write_layout(&buf, SLICE("")));
    CHECK(!policy_write_layout(&buf, SLICE("[")));
    CHECK(!policy_write_layout(&buf, SLICE("{\"a\":1,\"a\":1}")));
    buf_finish(&buf);
    buf_init(&buf, 8);
    CHECK(!policy_write_layout(&buf, SLICE("[[[[[[[[]]]]]]]]")));
    buf_finish(&buf);
}

int main(void)
{
    check_forms();
    check_rules();
    check_strings();
    check_refusals();
    return check_done();
}
