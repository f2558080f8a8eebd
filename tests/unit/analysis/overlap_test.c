/* What overlap.h rules out, held to a comparison of every two rules: of random rules over every field, with lists, of one
 * policy and of two. */
#include "../../check.h"
#include "analysis/analysis.h"
#include "analysis/overlap_internal.h"
#include "build.h"

#define RULES 70u /* more than one word of bits */

struct values {
    const char *key;
    const char *list[10];
    uint32_t count;
    bool strict; /* of deny and require_approval alone */
};

static const struct values fields[] = {
    {"tool", {"get", "get_x", "get_xy", "put", "g", "get_file", "t"}, 7, false},
    {"toolPrefix", {"g", "get", "get_", "get_f", "get_fi", "pu", "put"}, 7, false},
    {"server", {"s", "s1"}, 2, false},
    {"channel", {"C", "D"}, 2, false},
    {"pathPrefix", {"/", "/zz", "/zz/a", "/zz/a/b", "/zz/ab", "/zz/a-b", "/yy"}, 7, false},
    {"pathComponent", {".env", "*.env", ".e*", "b"}, 4, false},
    {"command", {"a", "a x", "/d/a x", "b *", "a *", "/e/a"}, 6, false},
    {"commandPrefix", {"a", "a x", "/d/a", "b", "b * x", "d/b"}, 6, false},
    {"commandWord", {"x", "-f", "q*"}, 3, true},
    {"host", {"h.org", "*.h.org", "s.h.org", "*.s.h.org", "org", "*.org", "127.0.0.1", "[::1]"}, 8, false},
};

static void put_field(struct buf *buf, const struct values *field, uint64_t *seed)
{
    uint32_t some = test_below(seed, 3) == 0 ? 1 + test_below(seed, 3) : 1,
             first = test_below(seed, field->count);
    some = some > field->count ? field->count : some;
    buf_printf(buf, "\"%s\":[", field->key);
    for (uint32_t i = 0; i < some; i++) {
        buf_printf(buf, "%s\"%s\"", i == 0 ? "" : ",", field->list[(first + i) % field->count]);
    }
    buf_byte(buf, ']');
}

static void put_match(struct buf *buf, bool strict, uint64_t *seed)
{
    bool some = false, commands = test_below(seed, 2) == 0;
    uint32_t without = test_below(seed, 2); /* tool or toolPrefix, command or commandPrefix */
    buf_byte(buf, '{');
    for (uint32_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        bool beside = strict || (commands ? i != 5 && i != 9 : i != 6 && i != 7);
        bool apart = i == without || i == 6 + without || (fields[i].strict && !strict) || !beside;
        if (!apart && test_below(seed, 4) == 0) {
            test_comma(buf, &some);
            put_field(buf, &fields[i], seed);
        }
    }
    if (test_below(seed, 5) == 0) {
        test_comma(buf, &some);
        buf_printf(buf, "\"actor\":\"%s\"", test_below(seed, 2) ? "session_owner" : "claude_process");
    }
    if (strict && test_below(seed, 6) == 0) {
        test_comma(buf, &some);
        buf_printf(buf, "\"annotations\":{\"readOnlyHint\":%s}", test_below(seed, 2) ? "true" : "false");
    }
    if (test_below(seed, 5) == 0) {
        test_comma(buf, &some);
        buf_printf(buf, "\"argIn\":{\"k\":[%u,%u]}", test_below(seed, 2), 2 + test_below(seed, 2));
    }
    buf_text(buf, some ? "}" : "\"thread_ts\":\"1\"}");
}

static struct policy *make(uint64_t seed)
{
    static const char *const effects[] = {"\"deny\",\"reason\":\"no\"", "\"auto_approve\"",
                                          "\"require_approval\""};
    struct buf text;
    buf_init(&text, (size_t)1 << 20);
    for (uint32_t i = 0; i < RULES; i++) {
        uint32_t effect = test_below(&seed, 3);
        buf_printf(&text, "%s{\"id\":\"r%u\",\"effect\":%s,\"match\":", i == 0 ? "[" : ",\n", i,
                   effects[effect]);
        put_match(&text, effect != 1, &seed);
        buf_byte(&text, '}');
    }
    buf_byte(&text, ']');
    struct policy *policy = test_load(buf_slice_of(&text));
    CHECK(policy != NULL);
    buf_finish(&text);
    return policy;
}

static uint64_t true_pairs, named_pairs, all_pairs;

/* Every rule of `asking` is asked about in a set of the rules of `held`, which is asked again as it grows. */
static void compare(const struct policy *held, const struct policy *asking, enum overlap_question question)
{
    struct overlap *set = overlap_create(held->rule_count, question);
    bool good = set != NULL;
    for (uint32_t count = 0; good && count < held->rule_count; count++) {
        overlap_add(set, held, &held->rules[count], 10 * count);
        bool last = count + 1 == held->rule_count;
        for (uint32_t i = last ? 0 : count; i <= (last ? asking->rule_count - 1 : count); i++) {
            const struct rule *asked = &asking->rules[i];
            uint32_t next = 0, number;
            overlap_ask(set, asking, asked);
            bool more = overlap_next(set, &number);
            for (; next <= count; next++) {
                const struct rule *rule = &held->rules[next];
                bool is = question == OVERLAP_CONTAINS ? rule_subset(asking, asked, held, rule)
                                                       : rule_intersects(asking, asked, held, rule);
                bool named = more && number == 10 * next;
                good = good && (named || !is);
                true_pairs += is;
                named_pairs += named;
                all_pairs++;
                more = named ? overlap_next(set, &number) : more;
            }
            good = good && !more;
        }
    }
    CHECK(good && !overlap_failed(set));
    overlap_destroy(set);
}

int main(int argc, char **argv)
{
    uint64_t many = argc > 1 ? strtoull(argv[1], NULL, 10) : 60;
    struct policy *before = make(0);
    for (uint64_t seed = 1; seed <= many; seed++) {
        struct policy *policy = make(seed);
        compare(policy, policy, OVERLAP_CONTAINS);
        compare(before, policy, OVERLAP_CONTAINS);
        compare(policy, policy, OVERLAP_MEETS);
        compare(before, policy, OVERLAP_MEETS);
        policy_destroy(before);
        before = policy;
    }
    policy_destroy(before);
    printf("of %llu pairs %llu contain or meet, %llu were named\n", (unsigned long long)all_pairs,
           (unsigned long long)true_pairs, (unsigned long long)named_pairs);
    CHECK(true_pairs > all_pairs / 100);
    CHECK(named_pairs < all_pairs / 2 &&
          named_pairs < 2 * true_pairs); /* a set that names all rules helps nobody */
    return check_done();
}
