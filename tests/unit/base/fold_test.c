/* Folded names. */
#include "base/fold.h"
#include "check.h"

static void same(const char *a, const char *b)
{
    CHECK(fold_eq(slice_of(a), slice_of(b)) && fold_eq(slice_of(b), slice_of(a)));
    CHECK(fold_cmp(slice_of(a), slice_of(b)) == 0 && fold_hash(slice_of(a)) == fold_hash(slice_of(b)));
}

static void other(const char *a, const char *b)
{
    CHECK(!fold_eq(slice_of(a), slice_of(b)));
    CHECK(fold_cmp(slice_of(a), slice_of(b)) == -fold_cmp(slice_of(b), slice_of(a)));
    CHECK(fold_cmp(slice_of(a), slice_of(b)) != 0);
}

int main(void)
{
    same("", "");
    same("path", "PATH");
    same("\xE2\x84\xAA", "k");
    same("\xE2\x84\xAA"
         "ey",
         "KEY");
    same("\xC5\xBFource", "Source");
    same("mi\xC5\xBF\xC5\xBF", "MISS");
    other("", "a");
    other("path", "pat");
    other("\xC3\xA9", "\xC3\x89"); /* only what folding makes ASCII */
    other("\xE2\x84\xAB", "k");
    other("\xC5", "s");
    other("@", "`");
    CHECK(fold_cmp(SLICE("a"), SLICE("B")) < 0 && fold_cmp(SLICE("b"), SLICE("A")) > 0);
    return check_done();
}
