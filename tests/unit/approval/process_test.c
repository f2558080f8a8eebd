/* Many processes at once: however they vote, each request ends once, and nothing is lost. */
#include <signal.h>

#include "../../check.h"
#include "scratch.h"

enum { PROCESSES = 8, REQUESTS = 40 };

static const struct times start = {1700000000000, 5000};

/* What a child did, told through a pipe. */
struct tally {
    int ended[REQUESTS]; /* how often this process was told that it ended the request */
    int grants, failures;
};

static void retry_vote(struct scratch *scratch, const char *code, const char *identity, bool yes, int index,
                       struct tally *tally)
{
    struct votes votes = {0};
    switch (vote(scratch, code, identity, yes, start, &votes)) {
    case STORE_DONE:
        if (votes.count > 0) {
            tally->ended[index]++;
            tally->grants += votes.request.state == REQUEST_APPROVED;
        }
        break;
    case STORE_NONE:
    case STORE_TWICE:
        break;
    default:
        printf("    %s\n", store_error(scratch->store));
        tally->failures++;
    }
}

/* Each child votes on every request, in an order of its own: all with two yes needed; every fourth child
 * refuses, and another withdraws what it finds. */
static void child(const struct scratch *parent, int number, char codes[REQUESTS][CODE_LENGTH + 1],
                  const int64_t numbers[REQUESTS], int out)
{
    struct scratch scratch = {.store = NULL};
    struct tally tally = {0};
    char identity[32];
    memcpy(scratch.path, parent->path, sizeof(scratch.path));
    arena_init(&scratch.arena, 0);
    buf_init(&scratch.error, 4096);
    scratch.store = scratch_store(&scratch, "boot-1");
    (void)snprintf(identity, sizeof(identity), "person-%d", number / 2); /* two processes for each person */
    for (int i = 0; i < REQUESTS && scratch.store != NULL; i++) {
        int index = (i * 7 + number * 5) % REQUESTS;
        if (number == 7 && index % 5 == 0) {
            struct request withdrawn;
            if (!store_begin(scratch.store)) {
                tally.failures++;
                continue;
            }
            if (store_withdraw(scratch.store, numbers[index], &scratch.arena, &withdrawn) == STORE_DONE &&
                store_commit(scratch.store)) {
                tally.ended[index]++;
            } else {
                store_rollback(scratch.store);
            }
            continue;
        }
        retry_vote(&scratch, codes[index], identity, number % 4 != 3 || index % 3 != 0, index, &tally);
        arena_reset(&scratch.arena);
    }
    tally.failures += scratch.store == NULL;
    store_close(scratch.store);
    _exit(write(out, &tally, sizeof(tally)) == sizeof(tally) ? 0 : 1);
}

static void test_one_end_each(void)
{
    struct scratch scratch;
    char codes[REQUESTS][CODE_LENGTH + 1];
    int64_t numbers[REQUESTS];
    int ends[2], ended[REQUESTS] = {0}, grants = 0, failures = 0;
    scratch_open(&scratch);
    for (int i = 0; i < REQUESTS; i++) {
        char thread[32], rule[32];
        struct request request = a_request("", (uint8_t)i), asked;
        (void)snprintf(thread, sizeof(thread), "t%d", i / 10);
        (void)snprintf(rule, sizeof(rule), "rule-%d", i); /* so that no grant covers another */
        request.thread = slice_of(thread);
        request.rule = slice_of(rule);
        request.needed = 2;
        CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
        memcpy(codes[i], asked.code, sizeof(codes[i]));
        numbers[i] = asked.number;
    }
    /* A connection must not cross a fork. */
    store_close(scratch.store);
    scratch.store = NULL;
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    (void)fflush(stdout);
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            child(&scratch, i, codes, numbers, ends[1]);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        struct tally tally;
        CHECK(read(ends[0], &tally, sizeof(tally)) == sizeof(tally));
        grants += tally.grants;
        failures += tally.failures;
        for (int j = 0; j < REQUESTS; j++) {
            ended[j] += tally.ended[j];
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    CHECK(failures == 0);
    scratch.store = scratch_store(&scratch, "boot-1");
    int approved = 0, alive_grants = 0;
    for (int i = 0; i < REQUESTS; i++) {
        CHECK(ended[i] == 1);
        CHECK(state_of(&scratch, numbers[i]) != REQUEST_WAITING);
        approved += state_of(&scratch, numbers[i]) == REQUEST_APPROVED;
    }
    for (int thread = 0; thread < REQUESTS / 10; thread++) {
        char name[16];
        struct grant *list;
        size_t count = 0;
        (void)snprintf(name, sizeof(name), "t%d", thread);
        CHECK(store_grants(scratch.store, SLICE("C1"), slice_of(name), start, &scratch.arena, &list,
                           &count) == STORE_DONE);
        alive_grants += (int)count;
    }
    CHECK(approved > 0 && grants == approved && alive_grants == approved);
    (void)close(ends[0]);
    (void)close(ends[1]);
    scratch_close(&scratch);
}

/* Many first starts at once make one store, and asking at once keeps to sixteen. */
static void test_first_start(void)
{
    for (int round = 0; round < 5; round++) {
        struct scratch scratch;
        int ends[2];
        scratch_open(&scratch);
        store_close(scratch.store);
        scratch.store = NULL;
        char path[128];
        (void)unlink(scratch_path(&scratch, STORE_NAME, path));
        CHECK(pipe2(ends, O_CLOEXEC) == 0);
        (void)fflush(stdout);
        pid_t children[PROCESSES];
        for (int i = 0; i < PROCESSES; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                int made = 0;
                arena_init(&scratch.arena, 0);
                scratch.store = scratch_store(&scratch, "boot-1");
                for (int j = 0; j < 5 && scratch.store != NULL; j++) {
                    struct request request = a_request("r", (uint8_t)(i * 10 + j)), asked;
                    enum store_result result = ask(&scratch, &request, start, &asked, NULL);
                    made += result == STORE_DONE;
                    if (result != STORE_DONE && result != STORE_TOO_MANY) {
                        printf("    %s\n", store_error(scratch.store));
                        made += 1000;
                    }
                }
                made += scratch.store == NULL ? 1000 : 0;
                store_close(scratch.store);
                (void)fflush(stdout);
                _exit(write(ends[1], &made, sizeof(made)) == sizeof(made) ? 0 : 1);
            }
        }
        int sum = 0, made;
        for (int i = 0; i < PROCESSES; i++) {
            CHECK(read(ends[0], &made, sizeof(made)) == sizeof(made));
            sum += made;
        }
        for (int i = 0; i < PROCESSES; i++) {
            int status = -1;
            CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
        }
        CHECK(sum == LIMIT_WAITING);
        (void)close(ends[0]);
        (void)close(ends[1]);
        scratch_close(&scratch);
    }
}

/* A process that is killed in the middle of a change takes the change with it, and its lock. */
static void test_killed(void)
{
    struct scratch scratch;
    struct request request = a_request("r", 1), asked, found;
    int ends[2];
    char byte;
    scratch_open(&scratch);
    store_close(scratch.store);
    scratch.store = NULL;
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    (void)fflush(stdout);
    pid_t killed = fork();
    if (killed == 0) {
        bool existing;
        arena_init(&scratch.arena, 0);
        scratch.store = scratch_store(&scratch, "boot-1");
        if (store_begin(scratch.store) && store_ask(scratch.store, &request, SLICE("mmmmm"), start,
                                                    &scratch.arena, &asked, &existing) == STORE_DONE) {
            (void)!write(ends[1], "x", 1);
            (void)pause();
        }
        _exit(1);
    }
    CHECK(read(ends[0], &byte, 1) == 1);
    scratch.store = scratch_store(&scratch, "boot-1");
    CHECK(store_find_code(scratch.store, SLICE("mmmmm"), &scratch.arena, &found) == STORE_NONE);
    CHECK(kill(killed, SIGKILL) == 0 && waitpid(killed, NULL, 0) == killed);
    CHECK(store_find_code(scratch.store, SLICE("mmmmm"), &scratch.arena, &found) == STORE_NONE);
    CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    (void)close(ends[0]);
    (void)close(ends[1]);
    scratch_close(&scratch);
}

int main(void)
{
    test_one_end_each();
    test_first_start();
    test_killed();
    return check_done();
}
