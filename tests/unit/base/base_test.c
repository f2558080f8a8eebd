/* Slices, arenas, buffers, the interner and the clocks. */
#include <stdint.h>

#include "../../check.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/intern.h"

static void test_slice(void)
{
    CHECK(slice_cmp(SLICE("a"), SLICE("b")) < 0);
    CHECK(slice_cmp(SLICE("b"), SLICE("a")) > 0);
    CHECK(slice_cmp(SLICE("a"), SLICE("a")) == 0);
    CHECK(slice_cmp(SLICE("a"), SLICE("ab")) < 0);
    CHECK(slice_cmp(SLICE("ab"), SLICE("a")) > 0);
    CHECK(slice_cmp(SLICE("\x7f"), SLICE("\x80")) < 0);
    CHECK(slice_cmp((struct slice){NULL, 0}, (struct slice){NULL, 0}) == 0);
    CHECK(slice_cmp(SLICE("a\0b"), SLICE("a\0c")) < 0);
    CHECK(slice_eq_ascii_case(SLICE("filePath"), SLICE("FILEpATH")));
    CHECK(!slice_eq_ascii_case(SLICE("filePath"), SLICE("filePat")));
    CHECK(!slice_eq_ascii_case(SLICE("["), SLICE("{"))); /* differ in the same bit as letters do */
    CHECK(!slice_eq_ascii_case(SLICE("\xC3\x84"), SLICE("\xC3\xA4")));
    CHECK(slice_eq(slice_from(SLICE("abc"), 1), SLICE("bc")));
    CHECK(slice_starts_with(SLICE("abc"), SLICE("ab")) && !slice_starts_with(SLICE("a"), SLICE("ab")));
    CHECK(slice_ends_with(SLICE("abc"), SLICE("bc")) && !slice_ends_with(SLICE("c"), SLICE("bc")));
}

static bool all_zero(const char *piece, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (piece[i] != 0) {
            return false;
        }
    }
    return true;
}

static void test_arena(void)
{
    struct arena arena;
    arena_init(&arena, 0);
    CHECK(arena.total == 0);
    for (size_t size = 0; size < 3000; size += 7) {
        char *piece = arena_alloc(&arena, size);
        CHECK(piece != NULL && (uintptr_t)piece % _Alignof(max_align_t) == 0);
        CHECK(all_zero(piece, size));
        memset(piece, 0xFF, size);
    }
    size_t grown = arena.total;
    arena_reset(&arena);
    CHECK(arena_alloc(&arena, grown / 2) != NULL);
    CHECK(arena.total == grown); /* one block as large as all of them */
    arena_reset(&arena);
    char *again = arena_alloc(&arena, 1000);
    CHECK(again != NULL && all_zero(again, 1000)); /* zeroed although it was used before */
    CHECK(arena.total == grown);                   /* and no new memory was needed */
    CHECK(arena_array(&arena, SIZE_MAX / 2, 3) == NULL);
    CHECK(arena_alloc(&arena, SIZE_MAX) == NULL);
    CHECK(arena_alloc(&arena, SIZE_MAX - 64) == NULL);
    struct slice copy = arena_copy(&arena, SLICE("a\0b"));
    CHECK(slice_eq(copy, SLICE("a\0b")) && copy.ptr[3] == 0);
    copy = arena_copy(&arena, (struct slice){NULL, 0});
    CHECK(copy.ptr != NULL && copy.len == 0);
    arena_finish(&arena);
    CHECK(arena.total == 0 && arena.first == NULL);

    arena_init(&arena, 10000);
    CHECK(arena_alloc(&arena, 10000) == NULL); /* the block's own header counts */
    CHECK(arena_alloc(&arena, 5000) != NULL);
    CHECK(arena_alloc(&arena, 4500) !=
          NULL); /* what is left is given, though doubling would pass the ceiling */
    CHECK(arena_alloc(&arena, 4500) == NULL);
    CHECK(arena.total <= 10000);
    arena_finish(&arena);
    arena_finish(&arena);
}

static void test_buffer(void)
{
    struct buf buf;
    buf_init(&buf, 1000);
    buf_text(&buf, "n=");
    buf_i64(&buf, INT64_MIN);
    buf_byte(&buf, ' ');
    buf_u64(&buf, UINT64_MAX);
    buf_slice(&buf, SLICE(" \0 "));
    buf_printf(&buf, "%s-%d", "x", 7);
    buf_i64(&buf, 0);
    struct slice want = SLICE("n=-9223372036854775808 18446744073709551615 \0 x-70");
    CHECK(buf_ok(&buf) && slice_eq(buf_slice_of(&buf), want));
    buf_drop(&buf, 2);
    CHECK(slice_eq(buf_slice_of(&buf), slice_from(want, 2)));
    buf_drop(&buf, 5000);
    CHECK(buf.len == 0);
    buf_finish(&buf);

    buf_init(&buf, 5);
    buf_text(&buf, "12345");
    CHECK(buf_ok(&buf));
    buf_bytes(&buf, "", 0);
    CHECK(buf_ok(&buf));
    buf_byte(&buf, '6');
    CHECK(!buf_ok(&buf) && buf.len == 5);
    buf_bytes(&buf, "", 0);
    CHECK(!buf_ok(&buf)); /* sticks */
    CHECK(buf_reserve(&buf, 0) == NULL);
    buf_reset(&buf);
    CHECK(buf_ok(&buf) && buf.len == 0);
    buf_printf(&buf, "%s", "12345"); /* the NUL of printf does not count */
    CHECK(buf_ok(&buf) && slice_is(buf_slice_of(&buf), "12345"));
    buf_printf(&buf, "%s", "6");
    CHECK(!buf_ok(&buf));
    buf_finish(&buf);

    buf_init(&buf, SIZE_MAX);
    CHECK(buf_reserve(&buf, SIZE_MAX) == NULL && !buf_ok(&buf));
    buf_finish(&buf);
    buf_finish(&buf);
}

static void test_buffer_grows(void)
{
    struct buf buf;
    buf_init(&buf, 100000);
    for (int i = 0; i < 10000; i++) {
        char *to = buf_reserve(&buf, 10);
        CHECK(to != NULL);
        if (to != NULL) {
            memset(to, 'a' + i % 26, 10);
            buf_added(&buf, 10);
        }
    }
    CHECK(buf.len == 100000 && buf.cap == 100000);
    CHECK(buf.ptr[0] == 'a' && buf.ptr[99999] == 'a' + 9999 % 26);
    buf_byte(&buf, 'x');
    CHECK(!buf_ok(&buf));
    buf_finish(&buf);
}

/* Reads of any length fill a buffer to its ceiling and not beyond. */
static void test_buffer_room(void)
{
    struct buf buf;
    size_t room, grown = 0;
    buf_init(&buf, 100000);
    for (size_t i = 0; buf.len < 100000; i++) {
        size_t before = buf.cap;
        char *to = buf_room(&buf, &room);
        CHECK(to == buf.ptr + buf.len && room > 0 && room == buf.cap - buf.len);
        if (to == NULL) {
            break;
        }
        CHECK(buf.cap == before || buf.len == before); /* it grows only when it is full */
        grown += buf.cap != before;
        size_t len = i % 3 == 0 || room < 7 ? room : room / 7;
        memset(to, 'x', len);
        buf_added(&buf, len);
    }
    CHECK(buf.len == 100000 && grown < 10);
    CHECK(buf_room(&buf, &room) == NULL && room == 0 && !buf_ok(&buf));
    buf_finish(&buf);
}

static void test_intern(void)
{
    struct arena arena;
    struct intern intern;
    arena_init(&arena, 0);
    intern_init(&intern, &arena);
    CHECK(intern_find(&intern, SLICE("a")) == 0);
    CHECK(intern_add(&intern, SLICE("a")) == 1);
    CHECK(intern_add(&intern, SLICE("b")) == 2);
    CHECK(intern_add(&intern, SLICE("a")) == 1);
    CHECK(intern_add(&intern, SLICE("")) == 3);
    CHECK(intern_add(&intern, SLICE("a\0")) == 4);
    CHECK(intern_find(&intern, SLICE("a\0\0")) == 0);
    char name[32];
    for (int i = 0; i < 20000; i++) {
        int len = snprintf(name, sizeof(name), "name number %d", i);
        CHECK(intern_add(&intern, (struct slice){name, (size_t)len}) == (uint32_t)i + 5);
    }
    for (int i = 0; i < 20000; i += 37) {
        int len = snprintf(name, sizeof(name), "name number %d", i);
        struct slice s = {name, (size_t)len};
        CHECK(intern_find(&intern, s) == (uint32_t)i + 5);
        CHECK(slice_eq(intern_text(&intern, (uint32_t)i + 5), s));
    }
    CHECK(slice_eq(intern_text(&intern, 4), SLICE("a\0")));
    CHECK(intern_text(&intern, 0).len == 0 && intern_text(&intern, 99999).len == 0);
    intern_trim(&intern);
    CHECK(intern_find(&intern, SLICE("name number 7")) == 12);
    CHECK(intern_add(&intern, SLICE("one more")) == 20005 && intern_add(&intern, SLICE("one more")) == 20005);
    CHECK(intern_find(&intern, SLICE("name number 7")) == 12);
    intern_finish(&intern);
    intern_finish(&intern);
    arena_finish(&arena);
}

static void test_prefix_hashes(void)
{
    static const char text[] = "/srv/projects/one/two and then some";
    for (size_t from = 0; from < 9; from++) {
        struct intern_prefix_hash state;
        intern_prefix_hash_start(&state);
        for (size_t len = 0; len < sizeof(text) - from; len += 1 + len % 3) {
            struct slice prefix = {text + from, len};
            CHECK(intern_prefix_hash_of(&state, prefix) == intern_hash(prefix));
        }
    }
    CHECK(intern_hash(SLICE("a")) != intern_hash(SLICE("a\0")));
}

static void check_iso(int64_t ms, const char *want)
{
    char text[CLOCK_ISO_SIZE];
    clock_iso8601(ms, text);
    CHECK(text[CLOCK_ISO_SIZE - 1] == 0);
    CHECK_BYTES(text, strlen(text), want);
}

static void test_clock(void)
{
    check_iso(0, "1970-01-01T00:00:00.000Z");
    check_iso(-1, "1969-12-31T23:59:59.999Z");
    check_iso(1795982400000, "2026-11-29T20:00:00.000Z");
    check_iso(951782399999, "2000-02-28T23:59:59.999Z");
    check_iso(951782400000, "2000-02-29T00:00:00.000Z");
    check_iso(951868800000, "2000-03-01T00:00:00.000Z");
    check_iso(4107542400000, "2100-03-01T00:00:00.000Z");
    check_iso(4107542399999, "2100-02-28T23:59:59.999Z");
    check_iso(-62167219200000, "0000-01-01T00:00:00.000Z");
    check_iso(-62162035200001, "0000-02-29T23:59:59.999Z");
    check_iso(253402300799999, "9999-12-31T23:59:59.999Z");
    check_iso(253402300800000, "9999-12-31T23:59:59.999Z");
    check_iso(INT64_MAX, "9999-12-31T23:59:59.999Z");
    check_iso(INT64_MIN, "0000-01-01T00:00:00.000Z");
    CHECK(clock_wall_ms() > 1700000000000);
    CHECK(clock_boot_ms() > 0);
    uint64_t before = clock_mono_ns();
    CHECK(before > 0 && clock_mono_ns() >= before);
}

int main(void)
{
    test_slice();
    test_arena();
    test_buffer();
    test_buffer_grows();
    test_buffer_room();
    test_intern();
    test_prefix_hashes();
    test_clock();
    return check_done();
}
