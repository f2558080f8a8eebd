/* Ten kinds of rules over the whole language. */
#include "language.h"

#define KINDS 10u

static const char deny[] = "\"deny\",\"reason\":\"not here\"", ask[] = "\"require_approval\"",
                  allow[] = "\"auto_approve\"";

static void write_match(struct buf *buf, uint32_t kind, uint32_t n)
{
    switch (kind) {
    case 0:
        buf_printf(buf, "{\"tool\":\"Bash\",\"commandPrefix\":[\"prog-%u list\",\"prog-%u show *\"]}", n, n);
        break;
    case 1:
        buf_printf(buf, "{\"tool\":\"shell_%u\",\"command\":\"prog-%u status\"}", n % 7, n);
        break;
    case 2:
        buf_printf(buf, "{\"commandPrefix\":\"prog-%u\",\"commandWord\":[\"-f\",\"--force\"]}", n);
        break;
    case 3:
        buf_printf(
            buf, "{\"tool\":[\"fetch\",\"get_%u\"],\"host\":[\"h%u.example.com\",\"*.zone%u.example.org\"]}",
            n % 50, n, n);
        break;
    case 4:
        buf_printf(buf, "{\"host\":\"*.bad%u.example\"}", n);
        break;
    case 5:
        buf_printf(buf, "{\"tool\":\"deploy_%u\",\"argIn\":{\"env\":[\"staging\",\"review-%u\"]}}", n % 100,
                   n);
        break;
    case 6:
        buf_printf(buf, "{\"tool\":[\"edit_%u\",\"write_%u\"],\"pathPrefix\":\"/srv/data-%u\"}", n % 20,
                   n % 20, n);
        break;
    case 7:
        buf_printf(buf, "{\"tool\":\"Bash\",\"commandPrefix\":\"prog-%u\",\"pathPrefix\":\"/srv/data-%u\"}",
                   n, n);
        break;
    case 8:
        buf_printf(buf, "{\"pathComponent\":[\"*.key%u\",\".env%u\"]}", n, n);
        break;
    default:
        buf_printf(buf, "{\"server\":\"server_%u\",\"toolPrefix\":\"get_%u\",\"argEquals\":{\"force\":true}}",
                   n % 40, n);
        break;
    }
}

void language_rule(struct buf *buf, uint32_t rule, bool changed)
{
    static const char *const effects[KINDS] = {allow, allow, deny, allow, deny, allow, ask, ask, deny, allow};
    uint32_t kind = rule % KINDS;
    const char *effect = effects[kind];
    if (changed) {
        effect = effect == ask ? deny : ask;
    }
    buf_printf(buf, "{\"id\":\"r%u\",\"effect\":%s,\"match\":", rule, effect);
    write_match(buf, kind, rule / KINDS);
    buf_byte(buf, '}');
}
