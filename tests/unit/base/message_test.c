/* Messages that are cut, growing arrays, whole files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../check.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"

static void test_message_is_cut_with_a_mark(void)
{
    struct buf buf;
    buf_init_message(&buf, 16);
    CHECK(slice_is(buf_message(&buf), "no memory"));
    buf_text(&buf, "0123456789");
    CHECK(slice_is(buf_message(&buf), "0123456789"));
    buf_text(&buf, "abcdefghij");
    CHECK(buf_ok(&buf) && slice_is(buf_message(&buf), "0123456789abc\xE2\x80\xA6"));
    buf_text(&buf, "x");
    buf_byte(&buf, 'y');
    buf_printf(&buf, "%d", 7);
    CHECK(buf_reserve(&buf, 1) == NULL && buf_ok(&buf));
    CHECK(slice_is(buf_message(&buf), "0123456789abc\xE2\x80\xA6"));
    buf_reset(&buf);
    buf_printf(&buf, "%s and %s", "a long name of a file", "more");
    CHECK(slice_is(buf_message(&buf), "a long name o\xE2\x80\xA6"));
    buf_finish(&buf);
}

static void test_no_character_is_cut_in_two(void)
{
    struct buf buf;
    buf_init_message(&buf, 8);
    buf_text(&buf, "abcd\xC3\xA9xyz"); /* the mark takes three: the character would be cut */
    CHECK(slice_is(buf_message(&buf), "abcd\xE2\x80\xA6"));
    buf_reset(&buf);
    buf_text(&buf, "12345678"); /* exactly full: nothing is cut */
    CHECK(slice_is(buf_message(&buf), "12345678"));
    buf_finish(&buf);
}

static void test_array_grows(void)
{
    size_t cap = 0;
    int *list = NULL;
    for (size_t i = 0; i < 1000; i++) {
        int *more = array_grow(list, &cap, i + 1, sizeof(*more));
        CHECK(more != NULL && cap > i);
        list = more;
        list[i] = (int)i;
    }
    CHECK(list[999] == 999);
    size_t before = cap;
    CHECK(array_grow(list, &cap, SIZE_MAX / 2, sizeof(*list)) == NULL && cap == before && list[0] == 0);
    free(list);
}

static void test_whole_files(void)
{
    char dir[] = "/tmp/callgate-file-XXXXXX";
    CHECK(mkdtemp(dir) != NULL);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct buf text;
    buf_init(&text, 8);
    CHECK(!file_read_at(fd, "a", &text) && errno == ENOENT);
    CHECK(file_replace_at(fd, "a.new", "a", SLICE("1234567"), true));
    CHECK(file_read_at(fd, "a", &text) && slice_is(buf_slice_of(&text), "1234567"));
    buf_reset(&text);
    CHECK(file_replace_at(fd, "a.new", "a", SLICE("123456789"), false));
    CHECK(!file_read_at(fd, "a", &text) && errno == EFBIG);
    CHECK(faccessat(fd, "a.new", F_OK, 0) != 0);
    CHECK(symlinkat("a", fd, "link") == 0);
    buf_reset(&text);
    CHECK(!file_read_at(fd, "link", &text));
    CHECK(unlinkat(fd, "a", 0) == 0 && unlinkat(fd, "link", 0) == 0 && rmdir(dir) == 0);
    close(fd);
    buf_finish(&text);
}

int main(void)
{
    test_message_is_cut_with_a_mark();
    test_no_character_is_cut_in_two();
    test_array_grows();
    test_whole_files();
    return check_done();
}
