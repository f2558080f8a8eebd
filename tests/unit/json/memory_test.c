/* Each allocation fails once. Nothing crashes, nothing leaks, the failure is reported, and what was in use
 * can be used again. The linker sends the allocator's callers here (--wrap). */
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

#include "../../check.h"
#include "base/arena.h"
#include "base/intern.h"
#include "json/json.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void __real_free(void *ptr);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void __wrap_free(void *ptr);

ssize_t __real_getrandom(void *out, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags);

static int random_errno; /* what getrandom fails with, once; 0: it does not */

ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags)
{
    if (random_errno != 0) {
        errno = random_errno;
        random_errno = 0;
        return -1;
    }
    return __real_getrandom(out, len < 3 ? len : 3, flags); /* it may give less than asked for */
}

static long until_failure; /* this many allocations succeed, then one fails; negative: none does */
static bool failed_once;
static long live; /* pieces that are not given back */

static bool fails_now(void)
{
    if (until_failure != 0) {
        until_failure -= until_failure > 0;
        return false;
    }
    until_failure = -1;
    failed_once = true;
    return true;
}

void *__wrap_malloc(size_t size)
{
    void *ptr = fails_now() ? NULL : __real_malloc(size);
    live += ptr != NULL;
    return ptr;
}

void *__wrap_calloc(size_t count, size_t size)
{
    void *ptr = fails_now() ? NULL : __real_calloc(count, size);
    live += ptr != NULL;
    return ptr;
}

void *__wrap_realloc(void *old, size_t size)
{
    void *ptr = fails_now() ? NULL : __real_realloc(old, size);
    live += ptr != NULL && old == NULL;
    return ptr;
}

void __wrap_free(void *ptr)
{
    live -= ptr != NULL;
    __real_free(ptr);
}

/* Runs `work` with the first allocation failing, then the second, until it runs through without a failure.
 * `work` returns whether it was told of no failure. */
static void torture(const char *name, bool (*work)(void))
{
    for (long i = 0;; i++) {
        until_failure = i;
        failed_once = false;
        bool ok = work();
        bool through = !failed_once;
        until_failure = -1;
        if (ok != through || live != 0) {
            printf("%s: allocation %ld: ok %d, %ld pieces left\n", name, i, ok, live);
        }
        CHECK(ok == through);
        CHECK(live == 0);
        if (through) {
            CHECK(i > 0);
            return;
        }
    }
}

/* A text that needs every kind of memory: many values, decoded strings, a hash of keys, deep nesting. */
static char text[20000];
static size_t text_len;

static void make_text(void)
{
    char *at = text;
    at += sprintf(at, "{");
    for (int i = 0; i < 200; i++) {
        at += sprintf(at, "\"k\\u00e4%d\":[%d.5,\"\\n\"],", 199 - i, i);
    }
    at += sprintf(at, "\"deep\":");
    for (int i = 0; i < 100; i++) {
        at += sprintf(at, "[");
    }
    for (int i = 0; i < 100; i++) {
        at += sprintf(at, "]");
    }
    at += sprintf(at, "}");
    text_len = (size_t)(at - text);
}

static const struct json_options options = {.max_depth = 200, .max_bytes = 1u << 20};

static bool parse(void)
{
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    bool ok = json_parse(&doc, (struct slice){text, text_len}, &options, &error);
    CHECK(error.code == (ok ? JSON_OK : JSON_ERROR_MEMORY));
    CHECK(ok == (json_root(&doc) != NULL));
    /* The same document again, now that there is memory. */
    until_failure = ok ? until_failure : -1;
    CHECK(ok || json_parse(&doc, (struct slice){text, text_len}, &options, &error));
    json_finish(&doc);
    return ok;
}

static struct json_doc parsed;

static bool write(void)
{
    struct buf buf;
    buf_init(&buf, 1u << 20);
    json_write_canonical(&buf, &parsed, json_root(&parsed), JSON_NUMBER_CALL);
    bool ok = buf_ok(&buf);
    until_failure = ok ? until_failure : -1;
    if (!ok) {
        buf_reset(&buf);
        json_write_canonical(&buf, &parsed, json_root(&parsed), JSON_NUMBER_CALL);
        CHECK(buf_ok(&buf) && buf.len > 4000);
    }
    buf_finish(&buf);
    return ok;
}

static bool print(void)
{
    struct buf buf;
    buf_init(&buf, 1u << 20);
    for (int i = 0; i < 200; i++) {
        buf_printf(&buf, "%d, ", i);
        json_write_double(&buf, i / 8.0);
    }
    bool ok = buf_ok(&buf);
    buf_finish(&buf);
    return ok;
}

static bool lines(void)
{
    struct json_lines table;
    uint32_t line, column;
    bool ok = json_lines_init(&table, (struct slice){text, text_len});
    json_lines_place(&table, 4200, &line, &column);
    CHECK(line == 1 && column == 4201);
    json_lines_finish(&table);
    return ok;
}

static bool intern(void)
{
    struct arena arena;
    struct intern intern;
    arena_init(&arena, 0);
    intern_init(&intern, &arena);
    bool ok = true;
    for (int i = 0; i < 1000; i++) {
        char name[16];
        struct slice s = {name, (size_t)sprintf(name, "%d", i)};
        uint32_t id = intern_add(&intern, s);
        ok &= id != 0;
        if (id == 0) {
            CHECK(intern_find(&intern, s) == 0);
            id = intern_add(&intern, s); /* only one fails */
        }
        CHECK(id == (uint32_t)i + 1);
    }
    CHECK(intern.count == 1000 && intern_find(&intern, SLICE("999")) == 1000);
    intern_finish(&intern);
    arena_finish(&arena);
    return ok;
}

static bool pieces(void)
{
    struct arena arena;
    arena_init(&arena, 0);
    bool ok = true;
    for (size_t size = 1; size < 100000; size *= 3) {
        ok &= arena_alloc(&arena, size) != NULL;
        ok &= arena_array(&arena, 3, size) != NULL;
    }
    ok &= arena_copy(&arena, (struct slice){text, text_len}).ptr != NULL;
    arena_reset(&arena);
    ok &= arena_alloc(&arena, 1000000) != NULL;
    arena_finish(&arena);
    return ok;
}

/* Without random bytes large objects cannot be checked, and are refused. */
static void test_random(void)
{
    struct json_doc doc;
    struct json_error error;
    json_init(&doc);
    random_errno = ENOSYS;
    CHECK(!json_parse(&doc, (struct slice){text, text_len}, &options, &error));
    CHECK(error.code == JSON_ERROR_MEMORY && json_root(&doc) == NULL);
    random_errno = EINTR;
    CHECK(json_parse(&doc, (struct slice){text, text_len}, &options, &error));
    random_errno = ENOSYS; /* a document draws once */
    CHECK(json_parse(&doc, (struct slice){text, text_len}, &options, &error) && random_errno == ENOSYS);
    random_errno = 0;
    json_finish(&doc);
}

int main(void)
{
    until_failure = -1;
    make_text();
    torture("pieces", pieces);
    torture("intern", intern);
    torture("parse", parse);
    torture("print", print);
    torture("lines", lines);
    test_random();
    struct json_error error;
    json_init(&parsed);
    CHECK(json_parse(&parsed, (struct slice){text, text_len}, &options, &error));
    live = 0; /* the document stays while it is written */
    torture("write", write);
    json_finish(&parsed);
    return check_done();
}
