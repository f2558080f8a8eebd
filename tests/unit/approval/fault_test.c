/* Whatever fails, the store says so, and no change is there by half. Memory: SQLite's and ours, each
 * allocation once. The system: each of SQLite's calls once, and from some point on always. And files that are
 * not as they should be.
 *
 * Linked with --wrap for malloc, calloc and realloc. */
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <sys/syscall.h>

#include "../../check.h"
#include "scratch.h"

static const struct times start = {1700000000000, 5000};

static unsigned calls, failing = UINT_MAX;
static bool for_ever, has_failed;

static bool fails(void)
{
    calls++;
    bool now = calls == failing || (for_ever && calls > failing);
    has_failed = has_failed || now;
    return now;
}

/* ---- Memory ---- */

static bool memory_counts;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return memory_counts && fails() ? NULL : __real_malloc(size);
}
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return memory_counts && fails() ? NULL : __real_calloc(count, size);
}
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return memory_counts && fails() ? NULL : __real_realloc(old, size);
}

static sqlite3_mem_methods real_methods;

static void *counted_malloc(int size)
{
    return memory_counts && fails() ? NULL : real_methods.xMalloc(size);
}

static void *counted_realloc(void *old, int size)
{
    return memory_counts && fails() ? NULL : real_methods.xRealloc(old, size);
}

/* ---- The system ---- */

static bool system_counts;
static int system_errno;

static sqlite3_syscall_ptr real_pwrite, real_ftruncate, real_pread, real_open;

static ssize_t counted_pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    if (system_counts && fails()) {
        errno = system_errno;
        return -1;
    }
    return ((ssize_t(*)(int, const void *, size_t, off_t))real_pwrite)(fd, bytes, len, at);
}

static ssize_t counted_pread(int fd, void *bytes, size_t len, off_t at)
{
    if (system_counts && fails()) {
        errno = EIO;
        return -1;
    }
    return ((ssize_t(*)(int, void *, size_t, off_t))real_pread)(fd, bytes, len, at);
}

static int counted_ftruncate(int fd, off_t size)
{
    if (system_counts && fails()) {
        errno = system_errno;
        return -1;
    }
    return ((int (*)(int, off_t))real_ftruncate)(fd, size);
}

static int counted_open(const char *path, int flags, int mode)
{
    if (system_counts && fails()) {
        errno = EACCES;
        return -1;
    }
    return ((int (*)(const char *, int, int))real_open)(path, flags, mode);
}

/* The one call that SQLite does not let be replaced: its library finds this one before libc's. */
__attribute__((visibility("default"))) int fdatasync(int fd)
{
    if (system_counts && fails()) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static void replace_calls(sqlite3_vfs *vfs)
{
    real_pwrite = vfs->xGetSystemCall(vfs, "pwrite64");
    real_pread = vfs->xGetSystemCall(vfs, "pread64");
    real_ftruncate = vfs->xGetSystemCall(vfs, "ftruncate");
    real_open = vfs->xGetSystemCall(vfs, "open");
    CHECK(vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)counted_pwrite) == SQLITE_OK);
    CHECK(vfs->xSetSystemCall(vfs, "pread64", (sqlite3_syscall_ptr)counted_pread) == SQLITE_OK);
    CHECK(vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)counted_ftruncate) == SQLITE_OK);
    CHECK(vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)counted_open) == SQLITE_OK);
}

/* ---- One run ---- */

struct outcome {
    bool opened, asked, voted;
    struct request first, second;
};

/* Opens, asks twice, approves: the second request is covered by the grant of the first. */
static struct outcome run(struct scratch *scratch)
{
    struct outcome outcome = {0};
    struct votes votes;
    struct request request = a_request("r", 1);
    scratch->store = store_open_in_boot(scratch->path, "boot-1", &scratch->error);
    outcome.opened = scratch->store != NULL;
    if (!outcome.opened) {
        CHECK(scratch->error.len > 0 || !buf_ok(&scratch->error));
        return outcome;
    }
    if (!store_begin(scratch->store)) {
        CHECK(store_error(scratch->store)[0] != '\0');
        return outcome;
    }
    bool existing;
    enum store_result first = store_ask(scratch->store, &request, SLICE("aaaaa"), start, &scratch->arena,
                                        &outcome.first, &existing);
    request.call_hash[0] = 2;
    enum store_result second = store_ask(scratch->store, &request, SLICE("bbbbb"), start, &scratch->arena,
                                         &outcome.second, &existing);
    /* Committed whatever they said: a failure must have spoilt it. */
    outcome.asked = store_commit(scratch->store);
    CHECK(!outcome.asked || (first == STORE_DONE && second == STORE_DONE));
    CHECK(outcome.asked || store_error(scratch->store)[0] != '\0');
    outcome.voted = outcome.asked && vote(scratch, "aaaaa", "ann", true, start, &votes) == STORE_DONE;
    CHECK(!outcome.voted || votes.count == 2);
    return outcome;
}

/* With all failures over: what was said is there, the rest is not, and the store works. */
static bool is_whole(struct scratch *scratch, const struct outcome *outcome)
{
    struct request *waiting, found;
    size_t count = 99;
    store_close(scratch->store);
    buf_reset(&scratch->error);
    scratch->store = scratch_store(scratch, "boot-1");
    if (scratch->store == NULL) {
        return false;
    }
    bool good = store_waiting(scratch->store, &scratch->arena, &waiting, &count) == STORE_DONE;
    size_t grants = alive(scratch, start);
    if (outcome->voted) {
        good = good && count == 0 && grants == 1 &&
               state_of(scratch, outcome->first.number) == REQUEST_APPROVED &&
               state_of(scratch, outcome->second.number) == REQUEST_APPROVED;
    } else if (outcome->asked) {
        good = good && count == 2 && grants == 0;
    } else {
        good = good && count == 0 && grants == 0;
    }
    struct request request = a_request("r", 9);
    good = good && ask(scratch, &request, start, &found, NULL) == STORE_DONE;
    if (!good) {
        printf("    call %u: opened %d asked %d voted %d: %zu waiting, %zu grants\n", failing,
               outcome->opened, outcome->asked, outcome->voted, count, grants);
    }
    return good;
}

static void each_fails(bool *counts, unsigned least)
{
    unsigned target = 1;
    struct outcome outcome = {0};
    /* Late ones are many and alike. */
    for (; target < 20000; target += target < 400 ? 1 : 7) {
        struct scratch scratch;
        scratch_open(&scratch);
        store_close(scratch.store);
        char path[128];
        (void)unlink(scratch_path(&scratch, STORE_NAME, path));
        calls = 0;
        failing = target;
        has_failed = false;
        *counts = true;
        outcome = run(&scratch);
        *counts = false;
        CHECK(is_whole(&scratch, &outcome));
        scratch_close(&scratch);
        if (!has_failed) {
            break;
        }
    }
    CHECK(outcome.voted && target > least && target < 20000);
}

/* ---- Files ---- */

static bool cannot_open(struct scratch *scratch, const char *why)
{
    struct store *store = store_open_in_boot(scratch->path, "boot-1", &scratch->error);
    bool as_said = store == NULL && scratch->error.len > 0 &&
                   memmem(scratch->error.ptr, scratch->error.len, why, strlen(why)) != NULL;
    if (!as_said) {
        printf("    %s: %.*s\n", store == NULL ? "not opened" : "opened", (int)scratch->error.len,
               scratch->error.ptr == NULL ? "" : scratch->error.ptr);
    }
    store_close(store);
    buf_reset(&scratch->error);
    return as_said;
}

static void write_file(const char *path, const char *bytes, size_t len, off_t at)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && pwrite(fd, bytes, len, at) == (ssize_t)len);
    (void)close(fd);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_mode & 07777 : 0;
}

static void test_files(void)
{
    struct scratch scratch;
    struct request request = a_request("r", 1), asked;
    char db[128], wal[128], shm[128];
    (void)umask(0);
    scratch_open(&scratch);
    scratch_path(&scratch, STORE_NAME, db);
    scratch_path(&scratch, STORE_NAME "-wal", wal);
    scratch_path(&scratch, STORE_NAME "-shm", shm);
    CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    CHECK(mode_of(db) == 0600 && mode_of(wal) == 0600 && mode_of(shm) == 0600);
    store_close(scratch.store);
    scratch.store = NULL;
    (void)umask(077);

    CHECK(chmod(db, 0644) == 0 && cannot_open(&scratch, "mode 0600"));
    CHECK(chmod(db, 0600) == 0);
    write_file(wal, "", 0, 0);
    CHECK(chmod(wal, 0666) == 0 && cannot_open(&scratch, "mode 0600") && unlink(wal) == 0);
    CHECK(symlink("/etc/passwd", shm) == 0 && cannot_open(&scratch, "mode 0600") && unlink(shm) == 0);
    char away[128];
    CHECK(rename(db, scratch_path(&scratch, "away", away)) == 0 && symlink("away", db) == 0);
    CHECK(cannot_open(&scratch, "mode 0600") && unlink(db) == 0);
    CHECK(mkdir(db, 0600) == 0 && cannot_open(&scratch, "mode 0600") && rmdir(db) == 0);
    CHECK(rename(away, db) == 0);
    scratch.store = scratch_store(&scratch, "boot-1");
    CHECK(state_of(&scratch, asked.number) == REQUEST_WAITING); /* it is still good */
    store_close(scratch.store);
    scratch.store = NULL;

    /* Not a database; another version; a damaged one. */
    CHECK(unlink(db) == 0);
    write_file(db, "this is no database at all, but it is long enough to look like one .....", 72, 0);
    CHECK(cannot_open(&scratch, "it is damaged"));
    CHECK(unlink(db) == 0);
    sqlite3 *other = NULL;
    write_file(db, "", 0, 0);
    CHECK(sqlite3_open(db, &other) == SQLITE_OK);
    CHECK(sqlite3_exec(other, "PRAGMA user_version = 7", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_close(other) == SQLITE_OK && cannot_open(&scratch, "newer version of callgate"));
    CHECK(unlink(db) == 0);
    CHECK(store_open_in_boot("/nowhere/at/all", "boot-1", &scratch.error) == NULL && scratch.error.len > 0);
    buf_reset(&scratch.error);
    scratch_close(&scratch);
}

/* Bytes of the file are overwritten at many places: nothing crashes, nothing is granted. */
static void test_damage(void)
{
    struct scratch scratch;
    struct request request = a_request("r", 1), asked;
    char db[128];
    scratch_open(&scratch);
    scratch_path(&scratch, STORE_NAME, db);
    for (uint8_t i = 0; i < 16; i++) {
        request.call_hash[0] = i;
        CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    }
    store_close(scratch.store);
    struct stat status;
    CHECK(stat(db, &status) == 0);
    char *good = malloc((size_t)status.st_size);
    int fd = open(db, O_RDONLY | O_CLOEXEC);
    CHECK(read(fd, good, (size_t)status.st_size) == status.st_size);
    (void)close(fd);
    int unreadable = 0;
    for (off_t at = 100; at + 64 < status.st_size; at += 501) {
        write_file(db, good, (size_t)status.st_size, 0);
        char noise[64];
        for (size_t i = 0; i < sizeof(noise); i++) {
            noise[i] = (char)(at * 31 + (off_t)i * 17);
        }
        write_file(db, noise, sizeof(noise), at);
        scratch.store = store_open_in_boot(scratch.path, "boot-1", &scratch.error);
        buf_reset(&scratch.error);
        if (scratch.store == NULL) {
            unreadable++;
            continue;
        }
        struct request *waiting;
        size_t count;
        struct votes votes;
        unreadable += store_waiting(scratch.store, &scratch.arena, &waiting, &count) != STORE_DONE;
        size_t grants = alive(&scratch, start);
        CHECK(grants == 0 || grants == SIZE_MAX);
        (void)vote(&scratch, asked.code, "ann", true, start, &votes);
        (void)sweep(&scratch, start);
        store_close(scratch.store);
        arena_reset(&scratch.arena);
    }
    CHECK(unreadable > 0);
    scratch.store = NULL;
    free(good);
    scratch_close(&scratch);
}

/* Another process keeps the lock: told after five seconds at most, and nothing is changed. */
static void test_locked(void)
{
    struct scratch scratch;
    struct request request = a_request("r", 1), asked;
    scratch_open(&scratch);
    struct store *other = scratch_store(&scratch, "boot-1");
    CHECK(store_begin(other));
    CHECK(!store_begin(scratch.store));
    CHECK(strstr(store_error(scratch.store), "another process has held its lock") != NULL);
    size_t count;
    struct request *waiting;
    CHECK(store_waiting(scratch.store, &scratch.arena, &waiting, &count) == STORE_DONE); /* reading goes on */
    store_rollback(other);
    CHECK(ask(&scratch, &request, start, &asked, NULL) == STORE_DONE);
    store_close(other);
    store_close(NULL);
    scratch_close(&scratch);
}

int main(void)
{
    sqlite3_mem_methods methods;
    CHECK(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_methods) == SQLITE_OK);
    methods = real_methods;
    methods.xMalloc = counted_malloc;
    methods.xRealloc = counted_realloc;
    CHECK(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK);
    CHECK(sqlite3_initialize() == SQLITE_OK);
    replace_calls(sqlite3_vfs_find(NULL));

    each_fails(&memory_counts, 100);
    system_errno = ENOSPC;
    each_fails(&system_counts, 10);
    for_ever = true;
    each_fails(&system_counts, 10);
    for_ever = false;
    test_files();
    test_damage();
    test_locked();
    return check_done();
}
