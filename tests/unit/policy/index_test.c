/* The index against the plain scan: `index_test [PAIRS [SEED]]` decides so many random calls under random
 * policies both ways. The mixes are chosen to be hard on an index: values that few rules differ in, prefixes
 * inside one another, many arguments, every combination of fields, readings of every kind. */
#include "index/index_internal.h"
#include "support.h"

static uint64_t state;

static uint32_t below(uint32_t bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

static bool chance(uint32_t percent)
{
    return below(100) < percent;
}

/* How the rules of a policy and the calls under it are drawn: how often a rule has a field, and from how many
 * values. */
struct mix {
    const char *name;
    uint32_t tool, tool_prefix, server, channel, thread, actor, prefix, component, args; /* percent */
    uint32_t values;     /* of the plain fields */
    uint32_t deep;       /* most components of a path */
    uint32_t most_args;  /* of a rule */
    uint32_t arg_values; /* of each argument */
    uint32_t tiers;      /* percent of rules that name one */
};

static const struct mix mixes[] = {
    {"everyday", 80, 10, 20, 30, 10, 10, 40, 10, 30, 30, 6, 3, 10, 20},
    {"every combination", 50, 30, 50, 50, 50, 50, 50, 50, 50, 3, 4, 3, 2, 30},
    {"one tool", 100, 0, 0, 0, 0, 0, 70, 0, 70, 1, 6, 2, 50, 0},
    {"prefixes inside one another", 30, 0, 0, 20, 0, 0, 100, 0, 10, 3, 30, 1, 3, 0},
    {"sixteen arguments", 30, 0, 0, 0, 0, 10, 0, 0, 100, 5, 3, 16, 2, 0},
    {"names", 0, 100, 30, 0, 0, 0, 30, 100, 0, 4, 5, 1, 2, 10},
    {"threads", 20, 0, 0, 50, 100, 0, 0, 0, 20, 200, 3, 1, 20, 50},
    {"nearly none", 5, 5, 5, 5, 5, 5, 5, 5, 5, 2, 3, 1, 2, 10},
};
#define MIXES (sizeof(mixes) / sizeof(mixes[0]))

/* ---- Texts ---- */

static void write_name(struct buf *buf, const char *kind, uint32_t count)
{
    uint32_t n = below(count);
    buf_printf(buf, "\"%s_%.*s%u\"", kind, (int)(n % 5) * 2, "a_long_name", n);
}

/* Components are few, so that prefixes lie inside one another. */
static void write_path(struct buf *buf, const struct mix *mix)
{
    uint32_t deep = below(mix->deep + 1);
    if (deep == 0) {
        buf_byte(buf, '/');
    }
    for (uint32_t i = 0; i < deep; i++) {
        static const char *const names[] = {"aa", "ab", "b", ".env", "secret.key", "a_rather_long_name"};
        buf_printf(buf, "/%s", names[chance(70) ? 0 : below(6)]);
    }
}

static void write_value(struct buf *buf, const struct mix *mix)
{
    static const char *const odd[] = {"null", "true", "[1,2]", "{\"a\":1}",
                                      "1.0",  "1e0",  "\"1\"", "\"\\u0041\""};
    uint32_t n = below(mix->arg_values + 2);
    if (n >= mix->arg_values) {
        buf_text(buf, odd[below(8)]);
    } else {
        buf_printf(buf, n % 2 == 0 ? "%u" : "\"value %u\"", n);
    }
}

/* At most `most` arguments with different names. */
static void write_args(struct buf *buf, const struct mix *mix, uint32_t most)
{
    buf_byte(buf, '{');
    bool first = true;
    for (uint32_t i = 0; i < 16; i++) {
        if (below(16) < most) {
            buf_printf(buf, "%s\"k%u\":", first ? "" : ",", i);
            write_value(buf, mix);
            first = false;
        }
    }
    buf_byte(buf, '}');
}

static void write_match(struct buf *buf, const struct mix *mix, bool strict)
{
    static const char *const hints[] = {"destructiveHint", "readOnlyHint", "openWorldHint"};
    static const char *const components[] = {"aa",    "b",  ".env", ".e*",      "a*",
                                             "*.key", "*v", "*a",   "a_rather*"};
    static const char *const tiers[] = {"admin", "user", "workspace", "default"};
    buf_text(buf, "{\"tier\":");
    buf_printf(buf, "\"%s\"", chance(mix->tiers) ? tiers[below(4)] : "default");
    bool tool = chance(mix->tool), any = tool;
    if (tool) {
        buf_text(buf, ",\"tool\":");
        write_name(buf, "tool", mix->values);
    } else if (chance(mix->tool_prefix)) {
        buf_printf(buf, ",\"toolPrefix\":\"%.*s\"", (int)(1 + below(12)), "tool_a_long_name");
        any = true;
    }
    const struct {
        const char *key, *kind;
        uint32_t percent;
    } plain[] = {{"server", "server", mix->server},
                 {"channel", "channel", mix->channel},
                 {"thread_ts", "thread", mix->thread}};
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (chance(plain[i].percent)) {
            buf_printf(buf, ",\"%s\":", plain[i].key);
            write_name(buf, plain[i].kind, mix->values);
            any = true;
        }
    }
    if (chance(mix->prefix)) {
        buf_text(buf, ",\"pathPrefix\":\"");
        write_path(buf, mix);
        buf_text(buf, "\"");
        any = true;
    }
    if (chance(mix->component)) {
        buf_printf(buf, ",\"pathComponent\":\"%s\"", components[below(9)]);
        any = true;
    }
    if (chance(mix->args)) {
        buf_text(buf, ",\"argEquals\":");
        write_args(buf, mix, 1 + below(mix->most_args));
    }
    if (strict && chance(mix->actor)) {
        buf_printf(buf, ",\"annotations\":{\"%s\":%s}", hints[below(3)], chance(50) ? "true" : "false");
        any = true;
    }
    if (chance(mix->actor) || !any) {
        buf_printf(buf, ",\"actor\":\"%s\"", chance(50) ? "session_owner" : "claude_process");
    }
    buf_byte(buf, '}');
}

static struct policy *random_policy(const struct mix *mix, uint32_t count)
{
    static const char *const effects[] = {"\"auto_approve\"", "\"deny\",\"reason\":\"r\"",
                                          "\"require_approval\"", "\"require_approval\",\"scope\":\"call\""};
    struct buf buf;
    buf_init(&buf, LIMIT_POLICY_BYTES);
    buf_text(&buf,
             "{\"requireAuthoredPolicy\":[\"tool_0\",\"server_1a_/tool_0\",\"server_0/*\"],\"rules\":[");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t effect = below(4);
        buf_printf(&buf, "%s{\"id\":\"%u\",\"priority\":%u,\"effect\":%s,\"match\":", i == 0 ? "" : ",", i,
                   below(3), effects[effect]);
        write_match(&buf, mix, effect != 0);
        buf_byte(&buf, '}');
    }
    buf_text(&buf, "]}");
    struct policy_source source = {.name = SLICE("p"), .tier = TIER_DEFAULT, .text = buf_slice_of(&buf)};
    struct findings errors;
    findings_init(&errors);
    struct policy *policy = buf_ok(&buf) ? policy_load(&source, 1, &test_base, &errors) : NULL;
    if (policy == NULL && errors.count != 0) {
        printf("%s: %.*s\n", mix->name, SLICE_FMT(errors.list[0].message));
    }
    findings_finish(&errors);
    buf_finish(&buf);
    return policy;
}

/* ---- Calls ---- */

#define MOST_NAMES    3
#define MOST_READINGS 4

struct drawn {
    struct json_doc doc;
    struct buf text, path[MOST_READINGS];
    struct call_name names[MOST_NAMES];
    struct reading readings[MOST_READINGS];
    size_t reading_count;
    struct call call;
    struct approval live[2];
    struct approvals approvals;
};

static void write_call(struct buf *buf, const struct mix *mix)
{
    buf_byte(buf, '[');
    for (int i = 0; i < MOST_NAMES; i++) {
        write_name(buf, "tool", mix->values + 1);
        buf_byte(buf, ',');
        write_name(buf, "server", mix->values + 1);
        buf_byte(buf, ',');
    }
    write_name(buf, "channel", mix->values + 1);
    buf_byte(buf, ',');
    write_name(buf, "thread", mix->values + 1);
    buf_byte(buf, ',');
    write_args(buf, mix, 16);
    buf_byte(buf, ']');
}

static void draw_readings(struct drawn *drawn, const struct mix *mix)
{
    drawn->reading_count = 1 + below(MOST_READINGS);
    for (size_t i = 0; i < drawn->reading_count; i++) {
        uint32_t kind = below(8);
        buf_reset(&drawn->path[i]);
        write_path(&drawn->path[i], mix);
        drawn->readings[i] = (struct reading){.kind = kind == 0   ? READING_UNREADABLE
                                                      : kind <= 2 ? READING_NO_PATH
                                                                  : READING_PATH,
                                              .name = (uint16_t)below((uint32_t)drawn->call.name_count)};
        if (kind > 2) {
            drawn->readings[i].path = buf_slice_of(&drawn->path[i]);
        }
    }
}

static void draw_approvals(struct drawn *drawn, const struct policy *policy)
{
    for (size_t i = 0; i < 2; i++) {
        drawn->live[i] = (struct approval){.rule = below(policy->rule_count),
                                           .channel = drawn->call.channel,
                                           .thread = drawn->call.thread,
                                           .granted = 1,
                                           .expires = 3,
                                           .for_call = chance(50)};
    }
    static const uint8_t hash[32];
    drawn->approvals = (struct approvals){.list = drawn->live,
                                          .count = 2,
                                          .now = 1 + below(3),
                                          .channel = drawn->call.channel,
                                          .thread = drawn->call.thread,
                                          .call_hash = hash};
}

static bool draw_call(struct drawn *drawn, const struct mix *mix, const struct policy *policy)
{
    const struct json_options options = {.max_depth = 8, .max_bytes = 1u << 20};
    struct json_error error;
    buf_reset(&drawn->text);
    write_call(&drawn->text, mix);
    if (!json_parse(&drawn->doc, buf_slice_of(&drawn->text), &options, &error)) {
        return false;
    }
    const struct json_value *root = json_root(&drawn->doc), *v = json_first(&drawn->doc, root);
    struct slice texts[2 * MOST_NAMES + 2];
    for (int i = 0; i < 2 * MOST_NAMES + 2; i++, v = json_right(&drawn->doc, root, v)) {
        texts[i] = json_str(v);
    }
    for (int i = 0; i < MOST_NAMES; i++) {
        drawn->names[i] = (struct call_name){.server = texts[2 * i + 1],
                                             .has_server = chance(70),
                                             .tool = texts[2 * i],
                                             .hints_not = (uint8_t)(chance(50) ? 0u : 1u << below(8))};
    }
    drawn->call = (struct call){.names = drawn->names,
                                .name_count = chance(80) ? 1 : MOST_NAMES,
                                .channel = texts[2 * MOST_NAMES],
                                .thread = texts[2 * MOST_NAMES + 1],
                                .actor = chance(50) ? ACTOR_SESSION_OWNER : ACTOR_CLAUDE_PROCESS,
                                .doc = chance(95) ? &drawn->doc : NULL};
    drawn->call.input = drawn->call.doc == NULL ? NULL : v;
    draw_readings(drawn, mix);
    draw_approvals(drawn, policy);
    return true;
}

/* ---- Both ways ---- */

static unsigned long decided_by_rule, stopped;

static bool same(const struct decision *a, const struct decision *b)
{
    return a->kind == b->kind && a->cause == b->cause && a->rule == b->rule && a->reading == b->reading &&
           a->by_approval == b->by_approval && slice_eq(a->detail, b->detail);
}

static bool decide_both_ways(struct drawn *drawn, const struct policy *policy, struct facts *facts)
{
    if (!facts_make(facts, policy, &drawn->call)) {
        return false;
    }
    struct decision indexed =
        policy_evaluate_indexed(policy, facts, drawn->readings, drawn->reading_count, &drawn->approvals);
    struct decision linear =
        policy_evaluate_linear(policy, facts, drawn->readings, drawn->reading_count, &drawn->approvals);
    struct decision either =
        policy_evaluate(policy, facts, drawn->readings, drawn->reading_count, &drawn->approvals);
    decided_by_rule += linear.rule != NULL && linear.cause == CAUSE_NONE;
    stopped += linear.cause == CAUSE_UNREADABLE || linear.cause == CAUSE_UNKNOWN_INPUT;
    if (!facts_make_whole(facts, policy, &drawn->call)) {
        return false;
    }
    struct decision whole =
        policy_evaluate_linear(policy, facts, drawn->readings, drawn->reading_count, &drawn->approvals);
    return same(&indexed, &linear) && same(&either, &linear) && same(&whole, &linear);
}

static void show(const struct mix *mix, const struct drawn *drawn, const struct policy *policy)
{
    printf("%s, %u rules, call %.*s\n", mix->name, policy->rule_count, SLICE_FMT(buf_slice_of(&drawn->text)));
    for (size_t i = 0; i < drawn->reading_count; i++) {
        printf("  reading %u of name %u: %.*s\n", drawn->readings[i].kind, drawn->readings[i].name,
               SLICE_FMT(drawn->readings[i].path));
    }
}

static void check_policy(const struct mix *mix, uint32_t rules, unsigned long pairs)
{
    struct policy *policy = random_policy(mix, rules);
    struct drawn drawn = {.call = {.actor = ACTOR_CLAUDE_PROCESS}};
    struct facts facts;
    CHECK(policy != NULL && facts_init(&facts));
    if (policy == NULL) {
        return;
    }
    json_init(&drawn.doc);
    buf_init(&drawn.text, 1u << 20);
    for (int i = 0; i < MOST_READINGS; i++) {
        buf_init(&drawn.path[i], 1u << 12);
    }
    bool good = true;
    for (unsigned long i = 0; i < pairs && good; i++) {
        good = draw_call(&drawn, mix, policy) && decide_both_ways(&drawn, policy, &facts);
    }
    CHECK(good);
    if (!good) {
        show(mix, &drawn, policy);
    }
    for (int i = 0; i < MOST_READINGS; i++) {
        buf_finish(&drawn.path[i]);
    }
    buf_finish(&drawn.text);
    json_finish(&drawn.doc);
    facts_finish(&facts);
    policy_destroy(policy);
}

/* As many policies of each size as take about the same time; of a million pairs each mix has its part of
 * every size. Those of 64, 65 and 128 rules fill the masks of small policies to their ends. */
static void check_pairs(unsigned long pairs)
{
    static const struct {
        uint32_t rules;
        unsigned calls;
        uint32_t of_1000; /* pairs */
    } sizes[] = {{3, 50, 100},    {20, 100, 200},   {64, 100, 100},    {65, 100, 100},    {128, 200, 150},
                 {129, 200, 100}, {1000, 500, 150}, {10000, 2000, 80}, {100000, 2500, 20}};
    unsigned long done = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned long left = pairs * sizes[i].of_1000 / 1000;
        for (unsigned round = 0; left >= sizes[i].calls; round++, left -= sizes[i].calls) {
            const struct mix *mix = &mixes[round % MIXES];
            check_policy(mix, sizes[i].rules, sizes[i].calls);
            done += sizes[i].calls;
        }
    }
    printf("%lu pairs: a rule decided %lu, %lu stopped at one\n", done, decided_by_rule, stopped);
    CHECK(decided_by_rule > done / 10 && decided_by_rule < done);
}

/* ---- Chains ---- */

/* Rules whose arguments are all common: sixteen keys of two values each. */
static struct policy *common_arguments(uint32_t count)
{
    struct buf buf;
    buf_init(&buf, 1u << 26);
    buf_byte(&buf, '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_printf(&buf, "%s{'id':'%u','effect':'deny','reason':'r','match':{'tool':'t','argEquals':{",
                   i == 0 ? "" : ",", i);
        for (uint32_t k = 0; k < 16; k++) {
            buf_printf(&buf, "%s'k%u':%u", k == 0 ? "" : ",", k, i >> k & 1);
        }
        buf_text(&buf, "}}}");
    }
    buf_bytes(&buf, "]", 2);
    struct policy *policy = buf_ok(&buf) ? load_good(buf.ptr) : NULL;
    buf_finish(&buf);
    return policy;
}

static void check_chains(void)
{
    const struct rule *first = NULL;
    struct policy *policy = common_arguments(1u << 8);
    /* Of the eight arguments that differ each stands in half of the rules. */
    CHECK(policy != NULL && policy_longest_chain(policy, &first) == 1u << 7 && first != NULL);
    policy_destroy(policy);
    policy = load_good("[]");
    CHECK(policy != NULL && policy_longest_chain(policy, &first) == 0 && first == NULL);
    policy_destroy(policy);
    /* Equal matches with different effects: only the first can be got to. */
    policy = load_good("[{'id':'a','effect':'auto_approve','match':{'tool':'t'}},"
                       "{'id':'b','effect':'deny','reason':'r','match':{'tool':'t'}},"
                       "{'id':'c','effect':'deny','reason':'r','match':{'tool':'t','actor':'session_owner'}},"
                       "{'id':'d','effect':'require_approval','match':{'tool':'t'}}]");
    CHECK(policy != NULL && policy_longest_chain(policy, &first) == 1 && first == &policy->rules[0]);
    CHECK(policy_index_bytes(policy) > 0);
    policy_destroy(policy);
}

int main(int argc, char **argv)
{
    unsigned long pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
    state = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    check_chains();
    check_pairs(pairs);
    return check_done();
}
