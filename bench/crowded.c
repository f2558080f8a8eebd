#include "crowded.h"

#define MOST_DEPTH 30u
#define MOST_ARGS  4u
#define KEYS       7u /* and `path` */

struct random {
    uint64_t state;
};

static uint32_t below(struct random *random, uint32_t bound)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random->state >> 33) * bound >> 31);
}

/* As seldom as one rule has few fields: `of_100` for the first rule, a third of it for the last. */
static bool has(struct random *random, uint32_t of_100, uint32_t rule, uint32_t rules)
{
    uint64_t least = of_100 * 10u / 3u;
    return below(random, 1000) < least + (uint64_t)(of_100 * 10u - least) * (rules - rule) / rules;
}

static void write_prefix(struct buf *buf, struct random *random, uint32_t rules)
{
    uint32_t depth = below(random, 4) == 0 ? below(random, MOST_DEPTH) : below(random, 4);
    buf_printf(buf, "\"pathPrefix\":\"/srv/data-%u", below(random, 1 + rules / 40));
    for (uint32_t i = 0; i < depth; i++) {
        buf_printf(buf, "/d%u", below(random, i < 3 ? 8 : 2));
    }
    buf_text(buf, "\",");
}

static void write_args(struct buf *buf, struct random *random, uint32_t rule, uint32_t rules,
                       uint32_t key_count)
{
    static const char *const keys[KEYS + 1] = {"mode",  "limit", "force", "branch",
                                               "label", "state", "owner", "path"};
    uint32_t count = 1 + below(random, MOST_ARGS * (rules - rule) / rules + 1),
             first = below(random, key_count);
    buf_text(buf, "\"argEquals\":{");
    for (uint32_t i = 0; i < count; i++) {
        const char *key = keys[(first + i) % key_count];
        buf_printf(buf, i == 0 ? "\"%s\":" : ",\"%s\":", key);
        if (strcmp(key, "path") == 0) {
            buf_printf(buf, "\"/srv/data-%u/f\"", below(random, 1 + rules / 40));
        } else {
            buf_printf(buf, "\"v%u\"", below(random, 5));
        }
    }
    buf_text(buf, "},");
}

static void write_match(struct buf *buf, uint32_t rule, uint32_t rules, uint32_t edition, bool path_arguments)
{
    struct random random = {((uint64_t)edition << 32) + rule * 2654435761u + 1};
    (void)below(&random, 2);
    buf_byte(buf, '{');
    if (has(&random, 60, rule, rules)) {
        buf_printf(buf, "\"tool\":\"tool_%u\",", below(&random, 4));
    } else if (has(&random, 30, rule, rules)) {
        buf_text(buf, "\"toolPrefix\":\"tool_\",");
    }
    if (has(&random, 30, rule, rules)) {
        buf_printf(buf, "\"server\":\"server-%u\",", below(&random, 3));
    }
    if (has(&random, 40, rule, rules)) {
        buf_printf(buf, "\"channel\":\"C%u\",", below(&random, 1 + rules / 100));
    }
    if (has(&random, 20, rule, rules)) {
        buf_printf(buf, "\"actor\":\"%s\",", below(&random, 2) ? "session_owner" : "claude_process");
    }
    if (has(&random, 15, rule, rules)) {
        static const char *const patterns[] = {".env", "*.pem", "id_*", ".git"};
        buf_printf(buf, "\"pathComponent\":\"%s\",", patterns[below(&random, 4)]);
    }
    if (has(&random, 60, rule, rules)) {
        write_args(buf, &random, rule, rules, KEYS + path_arguments);
    }
    write_prefix(buf, &random, rules);
    buf->len--; /* the last comma */
    buf_byte(buf, '}');
}

void crowded_rule(struct buf *buf, uint32_t rule, uint32_t rules, uint32_t edition, bool path_arguments)
{
    static const char *const effects[] = {"\"auto_approve\"", "\"require_approval\"",
                                          "\"deny\",\"reason\":\"no\""};
    buf_printf(buf, "{\"id\":\"rule-%u\",\"effect\":%s,\"match\":", rule, effects[(rule + edition) % 3]);
    write_match(buf, rule, rules, edition, path_arguments);
    buf_byte(buf, '}');
}
