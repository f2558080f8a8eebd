/* Requests, votes, ends, grants: what the store answers to one process. */
#include "../../check.h"
#include "scratch.h"

static const struct times start = {1700000000000, 5000};

static struct times later(int64_t ms)
{
    return at(start.wall_ms + ms, start.boot_ms + ms);
}

static void test_ask(void)
{
    struct scratch scratch;
    struct request asked, found;
    bool existing;
    scratch_open(&scratch);
    struct request request = a_request("r\0x", 1);
    request.rule = SLICE("r\0x");
    request.scope = APPROVAL_CALL;
    request.needed = 3;
    CHECK(ask(&scratch, &request, start, &asked, &existing) == STORE_DONE && !existing);
    CHECK(code_valid(slice_of(asked.code)) && asked.number > 0 && asked.state == REQUEST_WAITING);
    CHECK(store_find(scratch.store, asked.number, &scratch.arena, &found) == STORE_DONE);
    CHECK(strcmp(found.code, asked.code) == 0 && found.number == asked.number);
    CHECK(slice_eq(found.rule, request.rule) && slice_eq(found.tool, request.tool));
    CHECK(slice_eq(found.server, request.server) && slice_eq(found.channel, request.channel));
    CHECK(slice_eq(found.thread, request.thread) && slice_eq(found.actor, request.actor));
    CHECK(slice_eq(found.input, request.input) && slice_eq(found.paths, request.paths));
    CHECK(memcmp(found.rule_digest, request.rule_digest, APPROVAL_HASH) == 0);
    CHECK(memcmp(found.call_hash, request.call_hash, APPROVAL_HASH) == 0);
    CHECK(found.scope == APPROVAL_CALL && found.ttl_ms == DEFAULT_TTL_MS && found.needed == 3 &&
          found.given == 0);
    CHECK(found.created_ms == start.wall_ms && found.expires_ms == start.wall_ms + LIMIT_REQUEST_MS);

    /* The same call again is the same request. */
    struct request again;
    CHECK(ask(&scratch, &request, later(10), &again, &existing) == STORE_DONE && existing);
    CHECK(again.number == asked.number && strcmp(again.code, asked.code) == 0);
    /* One with other paths, another rule or digest, or of another session is not. */
    struct request other = request;
    other.paths = SLICE("[\"/tmp/y\"]");
    CHECK(ask(&scratch, &other, start, &again, &existing) == STORE_DONE && !existing);
    other = request;
    other.rule_digest[31] = 1;
    CHECK(ask(&scratch, &other, start, &again, &existing) == STORE_DONE && !existing);
    other = request;
    other.thread = SLICE("1.2");
    CHECK(ask(&scratch, &other, start, &again, &existing) == STORE_DONE && !existing);
    /* Empty texts without a pointer, and no server. */
    other = a_request("r", 9);
    other.server = other.channel = other.thread = other.paths = (struct slice){NULL, 0};
    CHECK(ask(&scratch, &other, start, &again, &existing) == STORE_DONE && !existing);
    CHECK(again.server.ptr == NULL && again.channel.ptr != NULL && again.channel.len == 0);
    CHECK(ask(&scratch, &other, start, &again, &existing) == STORE_DONE && existing);

    CHECK(store_find(scratch.store, 999, &scratch.arena, &found) == STORE_NONE);
    struct request *waiting;
    size_t count;
    CHECK(store_waiting(scratch.store, &scratch.arena, &waiting, &count) == STORE_DONE && count == 5);
    CHECK(waiting[0].number == asked.number && waiting[0].number < waiting[1].number);
    scratch_close(&scratch);
}

static void test_client(void)
{
    struct scratch scratch;
    struct request asked, again, found;
    bool existing;
    scratch_open(&scratch);
    struct request request = a_request("r", 1);
    request.client_ms = start.wall_ms + 55000;
    CHECK(store_begin(scratch.store));
    CHECK(store_ask(scratch.store, &request, SLICE("quick"), start, &scratch.arena, &asked, &existing) ==
          STORE_DONE);
    CHECK(asked.client_ms == start.wall_ms + 55000);
    /* The same call again, for longer and then for shorter: the later end stands. */
    request.client_ms = start.wall_ms + 90000;
    CHECK(store_ask(scratch.store, &request, SLICE(""), start, &scratch.arena, &again, &existing) ==
          STORE_DONE);
    CHECK(existing && again.number == asked.number && again.client_ms == start.wall_ms + 90000);
    request.client_ms = start.wall_ms + 1000;
    CHECK(store_ask(scratch.store, &request, SLICE(""), start, &scratch.arena, &again, &existing) ==
          STORE_DONE);
    CHECK(existing && again.client_ms == start.wall_ms + 90000);
    CHECK(store_commit(scratch.store));
    CHECK(store_find(scratch.store, asked.number, &scratch.arena, &found) == STORE_DONE);
    CHECK(found.client_ms == start.wall_ms + 90000);
    scratch_close(&scratch);
}

static void test_codes(void)
{
    struct scratch scratch;
    struct request asked, found;
    bool existing;
    scratch_open(&scratch);
    struct request request = a_request("r", 1);
    CHECK(store_begin(scratch.store));
    CHECK(store_ask(scratch.store, &request, SLICE("QUICK"), start, &scratch.arena, &asked, &existing) ==
          STORE_DONE);
    CHECK(strcmp(asked.code, "quick") == 0);
    request.call_hash[5] = 1;
    CHECK(store_ask(scratch.store, &request, SLICE("quick"), start, &scratch.arena, &asked, &existing) ==
          STORE_DONE);
    CHECK(strcmp(asked.code, "quick") != 0); /* it is taken */
    request.call_hash[5] = 2;
    CHECK(store_ask(scratch.store, &request, SLICE("hello"), start, &scratch.arena, &asked, &existing) ==
          STORE_DONE);
    CHECK(strcmp(asked.code, "hello") != 0); /* it is no code */
    CHECK(store_commit(scratch.store));
    CHECK(store_find_code(scratch.store, SLICE("QuicK"), &scratch.arena, &found) == STORE_DONE);
    CHECK(store_find_code(scratch.store, SLICE("quic"), &scratch.arena, &found) == STORE_NONE);
    struct votes votes;
    CHECK(vote(&scratch, "QUICK", "ann", true, later(1), &votes) == STORE_DONE);
    CHECK(store_find_code(scratch.store, SLICE("quick"), &scratch.arena, &found) == STORE_NONE);
    CHECK(vote(&scratch, "quick", "ann", true, later(1), &votes) == STORE_NONE);
    /* An ended request's code is free again. */
    request.call_hash[5] = 3;
    request.thread = SLICE("other");
    CHECK(store_begin(scratch.store));
    CHECK(store_ask(scratch.store, &request, SLICE("quick"), start, &scratch.arena, &asked, &existing) ==
          STORE_DONE);
    CHECK(store_commit(scratch.store) && strcmp(asked.code, "quick") == 0);
    scratch_close(&scratch);
}

static void test_sixteen(void)
{
    struct scratch scratch;
    struct request asked[LIMIT_WAITING], one_more;
    struct votes votes;
    scratch_open(&scratch);
    struct request request = a_request("r", 0);
    for (uint8_t i = 0; i < LIMIT_WAITING; i++) {
        request.call_hash[0] = i;
        CHECK(ask(&scratch, &request, start, &asked[i], NULL) == STORE_DONE);
        for (uint8_t j = 0; j < i; j++) {
            CHECK(strcmp(asked[i].code, asked[j].code) != 0);
        }
    }
    request.call_hash[0] = 100;
    CHECK(ask(&scratch, &request, start, &one_more, NULL) == STORE_TOO_MANY);
    struct request other = request;
    other.thread = SLICE("1.2");
    CHECK(ask(&scratch, &other, start, &one_more, NULL) == STORE_DONE);
    CHECK(vote(&scratch, asked[3].code, "ann", false, start, &votes) == STORE_DONE);
    CHECK(ask(&scratch, &request, start, &one_more, NULL) == STORE_DONE);
    request.call_hash[0] = 101;
    CHECK(ask(&scratch, &request, start, &one_more, NULL) == STORE_TOO_MANY);
    /* Those that are over do not count, swept or not. */
    CHECK(ask(&scratch, &request, later(LIMIT_REQUEST_MS), &one_more, NULL) == STORE_DONE);
    scratch_close(&scratch);
}

static void test_quorum(void)
{
    struct scratch scratch;
    struct request asked;
    struct votes votes;
    scratch_open(&scratch);
    struct request request = a_request("r", 1);
    request.needed = 3;
    CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    CHECK(vote(&scratch, asked.code, "ann", true, start, &votes) == STORE_DONE);
    CHECK(votes.request.given == 1 && votes.request.state == REQUEST_WAITING && votes.count == 0);
    CHECK(vote(&scratch, asked.code, "ann", true, start, &votes) == STORE_TWICE);
    CHECK(vote(&scratch, asked.code, "bob", true, start, &votes) == STORE_DONE && votes.request.given == 2);
    CHECK(vote(&scratch, asked.code, "bob", true, start, &votes) == STORE_TWICE);
    CHECK(alive(&scratch, start) == 0);
    CHECK(vote(&scratch, asked.code, "", true, start, &votes) == STORE_FAILED);
    CHECK(vote(&scratch, asked.code, "Bob", true, later(60000), &votes) == STORE_DONE);
    CHECK(votes.request.given == 3 && votes.request.state == REQUEST_APPROVED && votes.count == 1);
    CHECK(votes.ended[0].number == asked.number && votes.ended[0].state == REQUEST_APPROVED);
    CHECK(state_of(&scratch, asked.number) == REQUEST_APPROVED);
    /* The grant's time begins with the last vote. */
    struct grant *grants;
    size_t count;
    CHECK(store_grants(scratch.store, SLICE("C1"), SLICE("1.1"), later(60000), &scratch.arena, &grants,
                       &count) == STORE_DONE);
    CHECK(count == 1 && slice_is(grants[0].rule, "r") && grants[0].scope == APPROVAL_SESSION);
    CHECK(grants[0].granted == start.wall_ms + 60000 &&
          grants[0].expires == start.wall_ms + 60000 + DEFAULT_TTL_MS);
    CHECK(memcmp(grants[0].rule_digest, request.rule_digest, APPROVAL_HASH) == 0);
    CHECK(store_grants(scratch.store, SLICE("C1"), SLICE("1.2"), later(60000), &scratch.arena, &grants,
                       &count) == STORE_DONE &&
          count == 0);
    CHECK(store_grants(scratch.store, SLICE("C11"), SLICE(".1"), later(60000), &scratch.arena, &grants,
                       &count) == STORE_DONE &&
          count == 0); /* channel and thread are separate values */
    scratch_close(&scratch);
}

static void test_refusal(void)
{
    struct scratch scratch;
    struct request asked, other_paths, other_rule, other_call;
    struct votes votes;
    scratch_open(&scratch);
    struct request request = a_request("r", 1);
    request.needed = 2;
    CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    struct request other = request;
    other.paths = SLICE("[\"/tmp/y\"]");
    CHECK(ask(&scratch, &other, start, &other_paths, NULL) == STORE_DONE);
    other = request;
    other.rule = SLICE("r2");
    other.ttl_ms = 2 * DEFAULT_TTL_MS;
    CHECK(ask(&scratch, &other, start, &other_rule, NULL) == STORE_DONE);
    other = a_request("r", 2);
    other.needed = 2;
    CHECK(ask(&scratch, &other, start, &other_call, NULL) == STORE_DONE);

    /* A no counts from a person who said yes, and ends every request for the call. */
    CHECK(vote(&scratch, asked.code, "ann", true, start, &votes) == STORE_DONE);
    CHECK(!refused(&scratch, &request, start));
    CHECK(vote(&scratch, asked.code, "ann", false, start, &votes) == STORE_DONE);
    CHECK(votes.request.state == REQUEST_REFUSED && votes.count == 3);
    CHECK(votes.ended[0].number == asked.number && votes.ended[1].number == other_paths.number);
    CHECK(votes.ended[2].number == other_rule.number && votes.ended[2].state == REQUEST_REFUSED);
    CHECK(state_of(&scratch, other_rule.number) == REQUEST_REFUSED);
    CHECK(state_of(&scratch, other_call.number) == REQUEST_WAITING);
    CHECK(vote(&scratch, asked.code, "bob", true, start, &votes) == STORE_NONE);
    CHECK(alive(&scratch, start) == 0);

    /* It stays refused for the longest of their times, whatever is granted. */
    CHECK(refused(&scratch, &request, start) && refused(&scratch, &request, later(DEFAULT_TTL_MS)));
    CHECK(refused(&scratch, &request, later(2 * DEFAULT_TTL_MS - 1)));
    CHECK(!refused(&scratch, &request, later(2 * DEFAULT_TTL_MS)));
    CHECK(!refused(&scratch, &other_call, start));
    struct request elsewhere = request;
    elsewhere.thread = SLICE("1.2");
    CHECK(!refused(&scratch, &elsewhere, start));

    /* A grant does not end a waiting request whose call is refused. */
    struct request late;
    CHECK(ask(&scratch, &request, later(10), &late, NULL) == STORE_DONE);
    CHECK(vote(&scratch, other_call.code, "ann", true, later(10), &votes) == STORE_DONE);
    CHECK(vote(&scratch, other_call.code, "bob", true, later(10), &votes) == STORE_DONE);
    CHECK(votes.request.state == REQUEST_APPROVED && votes.count == 1);
    CHECK(state_of(&scratch, late.number) == REQUEST_WAITING);
    scratch_close(&scratch);
}

static void test_grant_covers(void)
{
    struct scratch scratch;
    struct request first, same_rule, other_thread, other_digest, other_rule, over;
    struct votes votes;
    scratch_open(&scratch);
    struct request request = a_request("r", 1);
    CHECK(ask(&scratch, &request, at(start.wall_ms, start.boot_ms - 4000), &over, NULL) == STORE_DONE);
    request.call_hash[0] = 2;
    struct times now = at(start.wall_ms + LIMIT_REQUEST_MS - 1, start.boot_ms - 4000 + LIMIT_REQUEST_MS);
    CHECK(ask(&scratch, &request, now, &first, NULL) == STORE_DONE);
    request.call_hash[0] = 3;
    CHECK(ask(&scratch, &request, now, &same_rule, NULL) == STORE_DONE);
    struct request other = request;
    other.thread = SLICE("1.2");
    CHECK(ask(&scratch, &other, now, &other_thread, NULL) == STORE_DONE);
    other = request;
    other.rule_digest[0] = 77;
    CHECK(ask(&scratch, &other, now, &other_digest, NULL) == STORE_DONE);
    other = request;
    other.rule = SLICE("r2");
    CHECK(ask(&scratch, &other, now, &other_rule, NULL) == STORE_DONE);
    CHECK(vote(&scratch, first.code, "ann", true, now, &votes) == STORE_DONE && votes.count == 2);
    CHECK(votes.ended[0].number == first.number && votes.ended[1].number == same_rule.number);
    CHECK(votes.ended[1].state == REQUEST_APPROVED);
    CHECK(state_of(&scratch, same_rule.number) == REQUEST_APPROVED);
    CHECK(state_of(&scratch, other_thread.number) == REQUEST_WAITING);
    CHECK(state_of(&scratch, other_digest.number) == REQUEST_WAITING);
    CHECK(state_of(&scratch, other_rule.number) == REQUEST_WAITING);
    CHECK(state_of(&scratch, over.number) ==
          REQUEST_WAITING); /* over by the time since boot: for the sweep */
    CHECK(alive(&scratch, now) == 1);
    CHECK(sweep(&scratch, now) == 1 && state_of(&scratch, over.number) == REQUEST_TIMED_OUT);

    /* With scope call only the same call, whatever its paths. */
    struct request same_call, other_call;
    request = a_request("c", 50);
    request.scope = APPROVAL_CALL;
    CHECK(ask(&scratch, &request, now, &first, NULL) == STORE_DONE);
    request.paths = SLICE("[]");
    CHECK(ask(&scratch, &request, now, &same_call, NULL) == STORE_DONE);
    request.call_hash[0] = 51;
    CHECK(ask(&scratch, &request, now, &other_call, NULL) == STORE_DONE);
    CHECK(vote(&scratch, first.code, "ann", true, now, &votes) == STORE_DONE && votes.count == 2);
    CHECK(state_of(&scratch, same_call.number) == REQUEST_APPROVED);
    CHECK(state_of(&scratch, other_call.number) == REQUEST_WAITING);
    scratch_close(&scratch);
}

static void test_ends(void)
{
    struct scratch scratch;
    struct request asked, withdrawn;
    struct votes votes;
    scratch_open(&scratch);
    struct request request = a_request("r", 1);
    CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    CHECK(store_begin(scratch.store));
    CHECK(store_withdraw(scratch.store, asked.number, &scratch.arena, &withdrawn) == STORE_DONE);
    CHECK(withdrawn.number == asked.number && withdrawn.state == REQUEST_WITHDRAWN);
    CHECK(store_withdraw(scratch.store, asked.number, &scratch.arena, &withdrawn) == STORE_NONE);
    CHECK(store_withdraw(scratch.store, 12345, &scratch.arena, &withdrawn) == STORE_NONE);
    CHECK(store_commit(scratch.store));
    CHECK(vote(&scratch, asked.code, "ann", true, start, &votes) == STORE_NONE);
    CHECK(state_of(&scratch, asked.number) == REQUEST_WITHDRAWN);

    CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    CHECK(!store_sweep_due(scratch.store, later(LIMIT_REQUEST_MS - 1)));
    CHECK(sweep(&scratch, later(LIMIT_REQUEST_MS - 1)) == 0);
    CHECK(store_sweep_due(scratch.store, later(LIMIT_REQUEST_MS)));
    CHECK(vote(&scratch, asked.code, "ann", true, later(LIMIT_REQUEST_MS), &votes) == STORE_NONE);
    CHECK(sweep(&scratch, later(LIMIT_REQUEST_MS)) == 1);
    CHECK(sweep(&scratch, later(LIMIT_REQUEST_MS)) == 0 &&
          !store_sweep_due(scratch.store, later(LIMIT_REQUEST_MS)));
    CHECK(state_of(&scratch, asked.number) == REQUEST_TIMED_OUT);

    CHECK(strcmp(request_state_name(REQUEST_WAITING), "waiting") == 0);
    CHECK(strcmp(request_state_name(REQUEST_APPROVED), "approved") == 0);
    CHECK(strcmp(request_state_name(REQUEST_REFUSED), "refused") == 0);
    CHECK(strcmp(request_state_name(REQUEST_TIMED_OUT), "timed out") == 0);
    CHECK(strcmp(request_state_name(REQUEST_WITHDRAWN), "withdrawn") == 0);
    scratch_close(&scratch);
}

static void test_transactions(void)
{
    struct scratch scratch;
    struct request asked, found;
    bool existing;
    struct votes votes;
    scratch_open(&scratch);
    struct request request = a_request("r", 1);
    /* Nothing changes outside of a transaction, and what is rolled back has not been. */
    CHECK(store_ask(scratch.store, &request, SLICE(""), start, &scratch.arena, &asked, &existing) ==
          STORE_FAILED);
    CHECK(store_withdraw(scratch.store, 1, &scratch.arena, &asked) == STORE_FAILED);
    CHECK(!store_commit(scratch.store));
    store_rollback(scratch.store);
    CHECK(store_begin(scratch.store));
    CHECK(store_ask(scratch.store, &request, SLICE(""), start, &scratch.arena, &asked, &existing) ==
          STORE_DONE);
    store_rollback(scratch.store);
    CHECK(store_find(scratch.store, asked.number, &scratch.arena, &found) == STORE_NONE);
    CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    CHECK(store_begin(scratch.store));
    CHECK(store_vote(scratch.store,
                     &(struct vote){.code = slice_of(asked.code), .identity = SLICE("ann"), .yes = true},
                     start, &scratch.arena, &votes.request, &votes.ended, &votes.count) == STORE_DONE);
    store_rollback(scratch.store);
    CHECK(state_of(&scratch, asked.number) == REQUEST_WAITING && alive(&scratch, start) == 0);

    /* A change that failed spoils its transaction. */
    struct request bad = request;
    bad.needed = 0;
    CHECK(store_begin(scratch.store));
    CHECK(store_vote(scratch.store,
                     &(struct vote){.code = slice_of(asked.code), .identity = SLICE("ann"), .yes = true},
                     start, &scratch.arena, &votes.request, &votes.ended, &votes.count) == STORE_DONE);
    CHECK(store_ask(scratch.store, &bad, SLICE(""), start, &scratch.arena, &found, &existing) ==
          STORE_FAILED);
    CHECK(strstr(store_error(scratch.store), "impossible quorum") != NULL);
    CHECK(store_find(scratch.store, asked.number, &scratch.arena, &found) == STORE_FAILED);
    CHECK(!store_commit(scratch.store));
    CHECK(state_of(&scratch, asked.number) == REQUEST_WAITING);
    bad = request;
    bad.ttl_ms = LIMIT_TTL_MS + 1;
    CHECK(ask(&scratch, &bad, start, &found, NULL) == STORE_FAILED);
    bad = request;
    bad.needed = LIMIT_APPROVERS + 1;
    CHECK(ask(&scratch, &bad, start, &found, NULL) == STORE_FAILED);

    /* Clocks that cannot be read, or are out of range. */
    CHECK(ask(&scratch, &request, at(INT64_MIN, 5000), &found, NULL) == STORE_FAILED);
    CHECK(ask(&scratch, &request, at(start.wall_ms, -1), &found, NULL) == STORE_FAILED);
    struct request other = a_request("r", 7);
    CHECK(ask(&scratch, &other, at(INT64_MAX, 5000), &found, NULL) == STORE_FAILED);
    CHECK(ask(&scratch, &other, at(5000, INT64_MAX), &found, NULL) == STORE_FAILED);
    CHECK(vote(&scratch, asked.code, "ann", true, at(INT64_MIN, 5000), &votes) == STORE_FAILED);
    CHECK(sweep(&scratch, at(INT64_MIN, -1)) == SIZE_MAX);
    CHECK(!store_sweep_due(scratch.store, at(INT64_MIN, -1)));
    scratch_close(&scratch);
}

static void test_changed(void)
{
    struct scratch scratch;
    struct request asked;
    scratch_open(&scratch);
    struct scratch other = {.store = scratch_store(&scratch, "boot-1")};
    arena_init(&other.arena, 0);
    (void)store_changed(scratch.store);
    CHECK(!store_changed(scratch.store));
    struct request request = a_request("r", 1);
    CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    CHECK(!store_changed(scratch.store)); /* by itself */
    CHECK(store_changed(other.store) && !store_changed(other.store));
    request.call_hash[0] = 2;
    CHECK(ask(&other, &request, start, &asked, NULL) == STORE_DONE);
    CHECK(store_changed(scratch.store) && !store_changed(scratch.store));
    store_close(other.store);
    arena_finish(&other.arena);
    scratch_close(&scratch);
}

static void test_pruning(void)
{
    struct scratch scratch;
    struct request asked, first = {0}, found;
    struct votes votes;
    scratch_open(&scratch);
    struct request request = a_request("r", 0);
    for (int i = 0; i < KEPT_ENDS + 50; i++) {
        request.call_hash[0] = (uint8_t)i;
        request.call_hash[1] = (uint8_t)(i >> 8);
        CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
        first = i == 0 ? asked : first;
        CHECK(vote(&scratch, asked.code, "ann", i % 2 == 0, start, &votes) == STORE_DONE);
    }
    CHECK(store_find(scratch.store, asked.number, &scratch.arena, &found) == STORE_DONE);
    CHECK(store_find(scratch.store, first.number, &scratch.arena, &found) == STORE_NONE);
    CHECK(sweep(&scratch, later(KEPT_ENDS_MS - 1)) == 0);
    CHECK(store_find(scratch.store, asked.number, &scratch.arena, &found) == STORE_DONE);
    CHECK(sweep(&scratch, later(KEPT_ENDS_MS)) == 0);
    CHECK(store_find(scratch.store, asked.number, &scratch.arena, &found) == STORE_NONE);
    /* A number is not given twice, even when every row is gone. */
    struct request next;
    CHECK(ask(&scratch, &request, later(KEPT_ENDS_MS), &next, NULL) == STORE_DONE &&
          next.number > asked.number);
    scratch_close(&scratch);
}

/* The narrowest answer of a quorum holds; what is for one time is used once, by its request or by its grant. */
static void test_scopes(void)
{
    struct scratch scratch;
    struct votes votes;
    struct times now = at(1000, 10);
    scratch_open(&scratch);
    struct request first, second, other, request = a_request("r", 1);
    request.needed = 2;
    CHECK(ask(&scratch, &request, now, &first, NULL) == STORE_DONE);
    request.call_hash[0] = 2;
    CHECK(ask(&scratch, &request, now, &other, NULL) == STORE_DONE);
    CHECK(vote_as_far(&scratch, first.code, "ada", true, APPROVAL_CALL, now, &votes) == STORE_DONE);
    CHECK(votes.request.narrowed == APPROVAL_CALL);
    CHECK(vote(&scratch, first.code, "bob", true, now, &votes) == STORE_DONE && votes.count == 1);
    CHECK(state_of(&scratch, other.number) == REQUEST_WAITING);
    struct grant *grants;
    size_t count;
    CHECK(store_all_grants(scratch.store, now, &scratch.arena, &grants, &count) == STORE_DONE && count == 1);
    CHECK(grants[0].scope == APPROVAL_CALL && grants[0].request == first.number);
    /* A call is told by what was shown of it, too. */
    request = a_request("r", 1);
    request.shown[0] = 9;
    CHECK(ask(&scratch, &request, now, &second, NULL) == STORE_DONE);
    CHECK(vote_as_far(&scratch, second.code, "ada", true, APPROVAL_ONCE, now, &votes) == STORE_DONE);
    CHECK(votes.count == 1 && votes.request.state == REQUEST_APPROVED);
    CHECK(store_begin(scratch.store) && store_use_once(scratch.store, second.number) == STORE_DONE &&
          store_commit(scratch.store));
    CHECK(store_begin(scratch.store) && store_use_once(scratch.store, second.number) == STORE_NONE);
    store_rollback(scratch.store);
    CHECK(alive(&scratch, now) == 1);
    struct grant revoked;
    CHECK(store_begin(scratch.store) &&
          store_revoke(scratch.store, grants[0].id, now, &scratch.arena, &revoked) == STORE_DONE &&
          store_commit(scratch.store));
    CHECK(alive(&scratch, now) == 0);
    scratch_close(&scratch);
}

/* What a gate holds is withdrawn with it; a retry of another gate is a request of its own. */
static void test_holders(void)
{
    struct scratch scratch;
    struct times now = at(1000, 10);
    scratch_open(&scratch);
    struct request first, second, request = a_request("r", 1);
    request.holder = SLICE("one");
    CHECK(ask(&scratch, &request, now, &first, NULL) == STORE_DONE);
    request.holder = SLICE("two");
    CHECK(ask(&scratch, &request, now, &second, NULL) == STORE_DONE && first.number != second.number);
    struct slice *holders;
    struct request *ended;
    size_t count;
    CHECK(store_holders(scratch.store, &scratch.arena, &holders, &count) == STORE_DONE && count == 2);
    CHECK(store_begin(scratch.store) &&
          store_withdraw_held(scratch.store, SLICE("one"), &scratch.arena, &ended, &count) == STORE_DONE &&
          count == 1 && ended[0].number == first.number && store_commit(scratch.store));
    CHECK(state_of(&scratch, first.number) == REQUEST_WITHDRAWN);
    CHECK(state_of(&scratch, second.number) == REQUEST_WAITING);
    struct slice kept;
    CHECK(store_kept(scratch.store, "a", &scratch.arena, &kept) && kept.ptr == NULL);
    CHECK(store_begin(scratch.store) && store_keep(scratch.store, "a", SLICE("1")) &&
          store_keep(scratch.store, "a", SLICE("2")) && store_commit(scratch.store));
    CHECK(store_kept(scratch.store, "a", &scratch.arena, &kept) && slice_is(kept, "2"));
    scratch_close(&scratch);
}

int main(void)
{
    test_scopes();
    test_holders();
    test_ask();
    test_client();
    test_codes();
    test_sixteen();
    test_quorum();
    test_refusal();
    test_grant_covers();
    test_ends();
    test_transactions();
    test_changed();
    test_pruning();
    return check_done();
}
