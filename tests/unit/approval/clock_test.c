/* Clocks: whatever the wall clock does, and whenever the machine starts anew, a grant is alive for no longer
 * than its time to live as time since boot counts it, and a refused call stays refused for no less. */
#include "../../check.h"
#include "scratch.h"

static unsigned seed = 7;

static int64_t random_below(int64_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)(seed >> 8) % n;
}

/* One history: real time passes, the wall clock is set now and then, the machine may start anew. */
static void history(int boots_allowed)
{
    const int64_t ttl = 10000;
    struct scratch scratch;
    struct request asked, denied;
    struct votes votes;
    scratch_open(&scratch);
    struct request request = a_request("r", 1), other = a_request("r2", 2);
    request.ttl_ms = other.ttl_ms = (uint32_t)ttl;
    int64_t real = 50000, wall_offset = 1700000000000, boot_start = 0;
    struct times now = at(real + wall_offset, real - boot_start);
    CHECK(ask(&scratch, &request, now, &asked, NULL) == STORE_DONE);
    CHECK(ask(&scratch, &other, now, &denied, NULL) == STORE_DONE);
    CHECK(vote(&scratch, asked.code, "ann", true, now, &votes) == STORE_DONE);
    CHECK(vote(&scratch, denied.code, "ann", false, now, &votes) == STORE_DONE);
    CHECK(alive(&scratch, now) == 1 && refused(&scratch, &other, now));

    const int64_t answered = real;
    int boot = 1;
    bool within = true, long_enough = true, same_boot = true, seen_dead = false, ended = false;
    for (int step = 0; step < 60; step++) {
        real += random_below(1200);
        switch (random_below(6)) {
        case 0:
            wall_offset += random_below(40000) - 20000;
            break;
        case 1:
            wall_offset = random_below(2) ? -real : INT64_MAX - real - LIMIT_REQUEST_MS - 1;
            break;
        case 2:
            if (boot <= boots_allowed) {
                char name[16];
                (void)snprintf(name, sizeof(name), "boot-%d", ++boot);
                store_close(scratch.store);
                scratch.store = scratch_store(&scratch, name);
                real += random_below(5000);
                boot_start = real;
            }
            break;
        default:
            break;
        }
        same_boot = boot == 1;
        now = at(real + wall_offset, real - boot_start);
        size_t grants = alive(&scratch, now);
        within = within && (grants == 0 || (grants == 1 && same_boot && real - answered < ttl));
        seen_dead = seen_dead || grants == 0;
        bool is_refused = refused(&scratch, &other, now);
        long_enough = long_enough && (is_refused || real - answered >= ttl);
        ended = ended || !is_refused;
        if (random_below(8) == 0) {
            (void)sweep(&scratch, now); /* pruning changes nothing of this */
        }
    }
    CHECK(within);
    CHECK(long_enough);
    CHECK(seen_dead);
    CHECK(boots_allowed > 0 || ended); /* without a reboot 60 steps are long enough */
    scratch_close(&scratch);
}

static void test_edges(void)
{
    struct scratch scratch;
    struct request asked;
    struct votes votes;
    const int64_t ttl = DEFAULT_TTL_MS;
    scratch_open(&scratch);
    struct request request = a_request("r", 1);
    CHECK(ask(&scratch, &request, at(1000000, 2000), &asked, NULL) == STORE_DONE);
    CHECK(vote(&scratch, asked.code, "ann", true, at(1000000, 2000), &votes) == STORE_DONE);
    CHECK(alive(&scratch, at(1000000, 2000)) == 1);
    CHECK(alive(&scratch, at(999999, 2000)) == 0); /* granted <= now */
    CHECK(alive(&scratch, at(1000000, 1999)) == 0);
    CHECK(alive(&scratch, at(1000000 + ttl - 1, 2000 + ttl - 1)) == 1);
    CHECK(alive(&scratch, at(1000000 + ttl, 2000)) == 0); /* now < expires, by either clock */
    CHECK(alive(&scratch, at(1000000, 2000 + ttl)) == 0);
    CHECK(alive(&scratch, at(INT64_MIN, 2000)) == 0);
    CHECK(alive(&scratch, at(1000000, -1)) == 0);
    /* Another boot, at a moment that would fit. */
    store_close(scratch.store);
    scratch.store = scratch_store(&scratch, "boot-2");
    CHECK(alive(&scratch, at(1000001, 2001)) == 0);

    /* A request: over by either clock, or with its boot; a wall clock that is set back does not end it. */
    CHECK(ask(&scratch, &request, at(1000000, 2000), &asked, NULL) == STORE_DONE);
    CHECK(!store_sweep_due(scratch.store, at(0, 2001)));
    CHECK(store_sweep_due(scratch.store, at(1000000 + LIMIT_REQUEST_MS, 2001)));
    CHECK(store_sweep_due(scratch.store, at(0, 2000 + LIMIT_REQUEST_MS)));
    store_close(scratch.store);
    scratch.store = scratch_store(&scratch, "boot-3");
    CHECK(store_sweep_due(scratch.store, at(1000000, 2000)));
    CHECK(vote(&scratch, asked.code, "ann", true, at(1000000, 2000), &votes) == STORE_NONE);
    CHECK(sweep(&scratch, at(1000000, 2000)) == 1);

    /* A refusal in another boot takes the whole time from that boot's start. */
    CHECK(ask(&scratch, &request, at(1000000, 2000), &asked, NULL) == STORE_DONE);
    CHECK(vote(&scratch, asked.code, "ann", false, at(1000000, 2000), &votes) == STORE_DONE);
    CHECK(refused(&scratch, &request, at(9000000000000, 2001)));
    CHECK(refused(&scratch, &request, at(1000000, 2000 + ttl - 1)));
    CHECK(!refused(&scratch, &request, at(0, 2000 + ttl)));
    CHECK(refused(&scratch, &request, at(INT64_MIN, -1)));
    store_close(scratch.store);
    scratch.store = scratch_store(&scratch, "boot-4");
    CHECK(refused(&scratch, &request, at(9000000000000, ttl - 1)));
    CHECK(!refused(&scratch, &request, at(0, ttl)));
    scratch_close(&scratch);
}

int main(void)
{
    test_edges();
    for (int i = 0; i < 40; i++) {
        history(i % 2 == 0 ? 0 : 3);
    }
    return check_done();
}
