#include "bench/synthetic.h"

#include <string.h>

#define CALL_BYTES 600u

/* Which fields a kind of rules has, and how many of a thousand rules are of it. */
enum {
    TOOL = 1,
    TOOL_PREFIX = 2,
    SERVER = 4,
    CHANNEL = 8,
    THREAD = 16,
    ACTOR = 32,
    PREFIX = 64,
    COMPONENT = 128,
    ARG = 256,
    SECOND_ARG = 512,
};
static const struct {
    uint16_t fields, of_1000;
} kinds[] = {
    {TOOL | CHANNEL | THREAD | ARG, 30},
    {TOOL | SERVER | CHANNEL | PREFIX, 40},
    {TOOL | CHANNEL | PREFIX | ARG, 40},
    {TOOL | CHANNEL | THREAD, 100},
    {TOOL | CHANNEL | ARG | SECOND_ARG, 60},
    {TOOL | CHANNEL | PREFIX, 100},
    {TOOL | SERVER | CHANNEL, 60},
    {TOOL | CHANNEL | ACTOR, 60},
    {TOOL_PREFIX | SERVER | CHANNEL, 30},
    {CHANNEL | THREAD | PREFIX, 30},
    {TOOL | CHANNEL | COMPONENT, 20},
    {TOOL | CHANNEL, 150},
    {TOOL | PREFIX | ARG, 40},
    {TOOL | ARG, 70},
    {TOOL | PREFIX, 70},
    {CHANNEL | PREFIX, 30},
    {TOOL_PREFIX | CHANNEL, 30},
    {CHANNEL | ARG, 20},
    {SERVER | TOOL_PREFIX, 10},
    {TOOL, 10},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* How many different values there are of each field. */
struct sizes {
    uint32_t tools, servers, channels, threads, directories, values;
};

static struct sizes sizes_of(uint32_t rules)
{
    uint32_t directories = 4 + rules / 20;
    return (struct sizes){.tools = 8 + rules / 200,
                          .servers = 2 + rules / 2000,
                          .channels = 4 + rules / 30,
                          .threads = 8 + rules / 10,
                          .directories = directories < 1000 ? directories : 1000,
                          .values = 6 + rules / 50};
}

struct random {
    uint64_t state;
};

static uint32_t below(struct random *random, uint32_t bound)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random->state >> 33) * bound >> 31);
}

/* The values of one rule, or of the call that is made after it. */
struct drawn {
    uint32_t fields;
    uint32_t tool, server, channel, thread, directory, key, value;
    bool owner;
};

static uint32_t kind_of(uint32_t rule, uint32_t rules)
{
    uint32_t kind = 0, at = (uint32_t)((uint64_t)rule * 1000 / rules);
    while (kind < KINDS - 1 && at >= kinds[kind].of_1000) {
        at -= kinds[kind++].of_1000;
    }
    return kind;
}

static struct drawn draw(const struct sizes *sizes, uint32_t rule, uint32_t rules)
{
    struct random random = {rule * 2654435761u + 1};
    (void)below(&random, 2);
    struct drawn drawn = {.fields = kinds[kind_of(rule, rules)].fields};
    drawn.tool = below(&random, sizes->tools);
    drawn.server = drawn.tool % sizes->servers;
    drawn.channel = below(&random, sizes->channels);
    drawn.thread = below(&random, sizes->threads);
    drawn.directory = below(&random, sizes->directories);
    drawn.key = below(&random, 12);
    drawn.value = below(&random, sizes->values);
    drawn.owner = below(&random, 2) != 0;
    return drawn;
}

static void write_tool(struct buf *buf, uint32_t tool)
{
    static const char *const verbs[] = {"get", "list", "create", "update", "delete", "search", "send", "run"};
    buf_printf(buf, "%s_item_%u", verbs[tool % 8], tool);
}

/* Every fourth directory is inside another. */
static void write_directory(struct buf *buf, uint32_t directory)
{
    buf_printf(buf, "/srv/projects/team-%u", directory % 40);
    if (directory % 4 != 0) {
        buf_printf(buf, "/repository-%u", directory);
    }
    if (directory % 4 == 3) {
        buf_text(buf, "/src/main");
    }
}

static void write_args(struct buf *buf, const struct drawn *drawn)
{
    buf_printf(buf, "\"mode_%u\":\"value %u\"", drawn->key, drawn->value);
    if (drawn->fields & SECOND_ARG) {
        buf_printf(buf, ",\"force\":%s", drawn->value % 2 ? "true" : "false");
    }
}

/* ---- Rules ---- */

static void write_match(struct buf *buf, const struct drawn *drawn)
{
    static const char *const components[] = {".env", ".git", "*.pem", "id_*", "node_modules"};
    buf_text(buf, "{\"tier\":\"default\"");
    if (drawn->fields & TOOL) {
        buf_text(buf, ",\"tool\":\"");
        write_tool(buf, drawn->tool);
        buf_byte(buf, '"');
    }
    if (drawn->fields & TOOL_PREFIX) {
        struct buf name;
        buf_init(&name, 64);
        write_tool(&name, drawn->tool);
        buf_printf(buf, ",\"toolPrefix\":\"%.*s\"", (int)name.len - (int)(name.len > 12), name.ptr);
        buf_finish(&name);
    }
    if (drawn->fields & SERVER) {
        buf_printf(buf, ",\"server\":\"server-%u\"", drawn->server);
    }
    if (drawn->fields & CHANNEL) {
        buf_printf(buf, ",\"channel\":\"C%07u\"", drawn->channel);
    }
    if (drawn->fields & THREAD) {
        buf_printf(buf, ",\"thread_ts\":\"17%08u.000100\"", drawn->thread);
    }
    if (drawn->fields & ACTOR) {
        buf_printf(buf, ",\"actor\":\"%s\"", drawn->owner ? "session_owner" : "claude_process");
    }
    if (drawn->fields & PREFIX) {
        buf_text(buf, ",\"pathPrefix\":\"");
        write_directory(buf, drawn->directory);
        buf_byte(buf, '"');
    }
    if (drawn->fields & COMPONENT) {
        buf_printf(buf, ",\"pathComponent\":\"%s\"", components[drawn->value % 5]);
    }
    if (drawn->fields & (ARG | SECOND_ARG)) {
        buf_text(buf, ",\"argEquals\":{");
        write_args(buf, drawn);
        buf_byte(buf, '}');
    }
    buf_byte(buf, '}');
}

void synthetic_policy(struct buf *buf, uint32_t rules)
{
    static const char *const effects[] = {"\"auto_approve\"", "\"require_approval\"",
                                          "\"deny\",\"reason\":\"not in this project\""};
    struct sizes sizes = sizes_of(rules);
    buf_text(buf, "{\"version\":1,\"rules\":[");
    for (uint32_t i = 0; i < rules && buf_ok(buf); i++) {
        struct drawn drawn = draw(&sizes, i, rules);
        buf_printf(buf, "%s\n{\"id\":\"rule-%u\",\"effect\":%s,\"match\":", i ? "," : "", i,
                   effects[drawn.value % 3]);
        write_match(buf, &drawn);
        buf_byte(buf, '}');
    }
    buf_bytes(buf, "\n]}\n", 5);
}

/* ---- Calls ---- */

static void write_call(struct buf *buf, const struct drawn *drawn, enum synthetic_calls kind, uint32_t salt)
{
    static const char *const files[] = {"src/index.ts", ".env", "docs/a/b/c.md", "keys/server.pem",
                                        "Makefile"};
    size_t begin = buf->len;
    buf_text(buf, "{\"tool\":\"");
    write_tool(buf, drawn->tool);
    buf_printf(
        buf,
        "\",\"server\":\"server-%u\",\"sessionKey\":{\"channel\":\"C%07u\",\"thread\":\"17%08u.000100\"},"
        "\"actor\":\"%s\",\"input\":{",
        drawn->server, drawn->channel, drawn->thread, drawn->owner ? "session_owner" : "claude_process");
    write_args(buf, drawn);
    buf_printf(buf, ",\"limit\":%u,\"query\":\"what was asked %u\"", salt % 100, salt);
    if (kind == SYNTHETIC_WITH_PATH) {
        buf_text(buf, ",\"path\":\"");
        write_directory(buf, drawn->directory);
        buf_printf(buf, "/%s\"", files[salt % 5]);
    } else {
        static const char words[] =
            "The quick brown fox jumps over the lazy dog, and then it does so again; ";
        buf_text(buf, ",\"content\":\"");
        while (buf->len - begin + 3 < CALL_BYTES) {
            buf_byte(buf, words[(buf->len - begin) % (sizeof(words) - 1)]);
        }
        buf_byte(buf, '"');
    }
    buf_text(buf, "}}\n");
}

void synthetic_calls(struct buf *buf, uint32_t rules, uint32_t count, enum synthetic_calls kind)
{
    struct sizes sizes = sizes_of(rules);
    struct random random = {kind + 1};
    for (uint32_t i = 0; i < count && buf_ok(buf); i++) {
        struct drawn drawn = draw(&sizes, below(&random, rules), rules);
        if (i % 2 == 1) { /* one that few rules, or none, are made for */
            drawn.tool = below(&random, sizes.tools);
            drawn.channel = below(&random, sizes.channels);
            drawn.value = below(&random, sizes.values);
        }
        write_call(buf, &drawn, kind, below(&random, 1u << 20));
    }
}
