/* Numbers as text: equal by value and nothing else; integers; doubles in the form of ECMAScript. */
#include <stdint.h>
#include <stdlib.h>

#include "../../check.h"
#include "json/json.h"

/* Numbers of one group are equal; numbers of different groups are not. */
static const char *const equal_groups[][8] = {
    {"0", "-0", "0.0", "-0.000", "0e5", "-0E-99999999999999999999999", "0.0e+3"},
    {"1", "1.0", "1e0", "10e-1", "0.1e1", "100E-2", "1e-0", "1e+000"},
    {"-1", "-1.0", "-10e-1"},
    {"10", "1e1", "10.0", "0.1e2", "1E+1"},
    {"100", "1e2", "1.00e2"},
    {"0.1", "1e-1", "0.10", "100e-3"},
    {"12.34", "1234e-2", "0.1234e2", "12.340"},
    {"1234", "1.234e3", "1234.0"},
    {"12034", "1.2034e4", "120.34e2"},
    {"9007199254740992", "9007199254740992.0"},
    {"9007199254740993", "9007199254740993e0", "900719925474099300e-2"},
    {"1e400"},
    {"1e401", "10e400"},
    {"1e-400"},
    {"1e99999999999999999999", "10e99999999999999999998", "0.1e100000000000000000000",
     "1e0099999999999999999999"},
    {"1e99999999999999999998", "10e99999999999999999997"},
    {"1e-99999999999999999999", "0.1e-99999999999999999998", "10e-100000000000000000000"},
    {"1e100000000000000000000", "100e99999999999999999998"},
    {"1e999999999999999999", "0.1e1000000000000000000", "10e999999999999999998"},
    {"1e1000000000000000000", "10e999999999999999999", "0.1e1000000000000000001"},
    {"1e-999999999999999999", "10e-1000000000000000000"},
    {"1e-1000000000000000000", "0.1e-999999999999999999"},
    {"1e2000000000000000000", "10e1999999999999999999"},
    {"1e1099999999999999999", "0.1e1100000000000000000"},
    {"123e99999999999999999999"},
    {"1e9999999999999999999", "0.1e10000000000000000000"},
    {"1e10000000000000000000", "10e9999999999999999999"},
    {"1e11000000000000000000", "10e10999999999999999999"},
    {"1e-21000000000000000001", "0.1e-21000000000000000000"},
};

static void test_equal(void)
{
    size_t groups = sizeof(equal_groups) / sizeof(equal_groups[0]);
    for (size_t g = 0; g < groups; g++) {
        for (size_t h = 0; h < groups; h++) {
            for (size_t i = 0; i < 8 && equal_groups[g][i] != NULL; i++) {
                for (size_t j = 0; j < 8 && equal_groups[h][j] != NULL; j++) {
                    const char *a = equal_groups[g][i], *b = equal_groups[h][j];
                    if (json_number_equal(slice_of(a), slice_of(b)) != (g == h)) {
                        printf("%s and %s\n", a, b);
                    }
                    CHECK(json_number_equal(slice_of(a), slice_of(b)) == (g == h));
                }
            }
        }
    }
}

static void check_int(const char *text, enum json_int_result want, int64_t want_value)
{
    int64_t value = 77;
    enum json_int_result got = json_number_int(slice_of(text), &value);
    if (got != want || value != (want == JSON_INT_OK ? want_value : 77)) {
        printf("%s: %d, %lld\n", text, got, (long long)value);
    }
    CHECK(got == want);
    CHECK(value == (want == JSON_INT_OK ? want_value : 77)); /* written on success only */
}

static void test_int(void)
{
    check_int("0", JSON_INT_OK, 0);
    check_int("-0", JSON_INT_OK, 0);
    check_int("0e99999999999999999999", JSON_INT_OK, 0);
    check_int("0.00", JSON_INT_OK, 0);
    check_int("5", JSON_INT_OK, 5);
    check_int("5e0", JSON_INT_OK, 5);
    check_int("5.0", JSON_INT_OK, 5);
    check_int("50e-1", JSON_INT_OK, 5);
    check_int("0.005e3", JSON_INT_OK, 5);
    check_int("-5", JSON_INT_OK, -5);
    check_int("1.5", JSON_INT_FRACTION, 0);
    check_int("15e-1", JSON_INT_FRACTION, 0);
    check_int("1e-1", JSON_INT_FRACTION, 0);
    check_int("1e-99999999999999999999", JSON_INT_FRACTION, 0);
    check_int("1e18", JSON_INT_OK, 1000000000000000000);
    check_int("1e19", JSON_INT_RANGE, 0);
    check_int("1e20", JSON_INT_RANGE, 0);
    check_int("1e99999999999999999999", JSON_INT_RANGE, 0);
    check_int("-1e99999999999999999999", JSON_INT_RANGE, 0);
    check_int("9223372036854775807", JSON_INT_OK, INT64_MAX);
    check_int("9223372036854775807.000e0", JSON_INT_OK, INT64_MAX);
    check_int("922337203685477580.7e1", JSON_INT_OK, INT64_MAX);
    check_int("9223372036854775808", JSON_INT_RANGE, 0);
    check_int("-9223372036854775808", JSON_INT_OK, INT64_MIN);
    check_int("-9223372036854775809", JSON_INT_RANGE, 0);
    check_int("9999999999999999999", JSON_INT_RANGE, 0);
    check_int("-9999999999999999999", JSON_INT_RANGE, 0);
    check_int("99999999999999999999", JSON_INT_RANGE, 0);
    check_int("9223372036854775807.5", JSON_INT_FRACTION, 0);
    check_int("123456789012345678901.5", JSON_INT_FRACTION, 0);
    check_int("86400000", JSON_INT_OK, 86400000);
    check_int("8.64e7", JSON_INT_OK, 86400000);
}

/* RFC 8785 appendix B, and doubles for which choosing digits is hard. */
static const struct {
    uint64_t bits;
    const char *want;
} doubles[] = {
    {0x0000000000000000, "0"},
    {0x8000000000000000, "0"},
    {0x0000000000000001, "5e-324"},
    {0x8000000000000001, "-5e-324"},
    {0x7fefffffffffffff, "1.7976931348623157e+308"},
    {0xffefffffffffffff, "-1.7976931348623157e+308"},
    {0x4340000000000000, "9007199254740992"},
    {0xc340000000000000, "-9007199254740992"},
    {0x4430000000000000, "295147905179352830000"},
    {0x44b52d02c7e14af5, "9.999999999999997e+22"},
    {0x44b52d02c7e14af6, "1e+23"},
    {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
    {0x444b1ae4d6e2ef4e, "999999999999999700000"},
    {0x444b1ae4d6e2ef4f, "999999999999999900000"},
    {0x444b1ae4d6e2ef50, "1e+21"},
    {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
    {0x3eb0c6f7a0b5ed8d, "0.000001"},
    {0x41b3de4355555553, "333333333.3333332"},
    {0x41b3de4355555554, "333333333.33333325"},
    {0x41b3de4355555555, "333333333.3333333"},
    {0x41b3de4355555556, "333333333.3333334"},
    {0x41b3de4355555557, "333333333.33333343"},
    {0xbecbf647612f3696, "-0.0000033333333333333333"},
    {0x43143ff3c1cb0959, "1424953923781206.2"},
    /* Powers of two whose shortest text is not the one that rounding to as many digits gives. */
    {0x0010000000000000, "2.2250738585072014e-308"},
    {0x0060000000000000, "7.120236347223045e-307"},
    {0x3f50000000000000, "0.0009765625"},
    {0x4710000000000000, "2.076918743413931e+34"},
    {0x5e00000000000000, "6.243497100631985e+144"},
    {0x0d70000000000000, "5.858190679279809e-244"},
    {0x4790000000000000, "5.316911983139664e+36"},
    {0x7cf0000000000000, "6.386688990511104e+293"},
    {0x3e60000000000000, "2.9802322387695312e-8"}, /* half way between two texts: the even one */
    {0x000fffffffffffff, "2.225073858507201e-308"},
    {0x0000000000000002, "1e-323"},
    {0x0000000000000003, "1.5e-323"},
    {0x3ff0000000000000, "1"},
    {0x3ff8000000000000, "1.5"},
    {0x3fb999999999999a, "0.1"},
    {0x433fffffffffffff, "9007199254740991"},
    {0x4330000000000001, "4503599627370497"},
    {0x4320000000000001, "2251799813685248.5"},
    {0x4415af1d78b58c40, "100000000000000000000"},
};

static void check_double(uint64_t bits, const char *want)
{
    double d;
    memcpy(&d, &bits, sizeof(d));
    struct buf buf;
    buf_init(&buf, 64);
    json_write_double(&buf, d);
    CHECK(buf_ok(&buf));
    CHECK_BYTES(buf.ptr, buf.len, want);
    buf_finish(&buf);
}

static void test_doubles(void)
{
    for (size_t i = 0; i < sizeof(doubles) / sizeof(doubles[0]); i++) {
        check_double(doubles[i].bits, doubles[i].want);
    }
    struct buf buf;
    buf_init(&buf, 64);
    json_write_double(&buf, 1e308 * 10);
    CHECK(!buf_ok(&buf));
    buf_finish(&buf);
}

/* Digits and exponents by the million: the work is linear, so this ends at once. */
static void test_long(void)
{
    size_t len = 16u << 20;
    char *a = malloc(len), *b = malloc(len);
    memset(a, '7', len);
    memset(b, '7', len);
    memcpy(b, "0.", 2);
    b[len - 1] = '8';
    struct slice sa = {a, len}, sb = {b, len};
    int64_t value;
    CHECK(!json_number_equal(sa, sb));
    CHECK(json_number_int(sa, &value) == JSON_INT_RANGE && json_number_int(sb, &value) == JSON_INT_FRACTION);
    memcpy(a, "1e", 2);
    memcpy(b, "10e", 3);
    CHECK(!json_number_equal(sa, sb));
    b[len - 1] = '7';
    CHECK(!json_number_equal(sa, sb)); /* one digit less, one power more */
    memcpy(a, "10e", 3);
    CHECK(json_number_equal(sa, sb));
    CHECK(json_number_int(sa, &value) == JSON_INT_RANGE);
    a[0] = '0';
    a[1] = '.';
    memset(a + 2, '0', len - 2);
    a[len - 1] = '1';
    CHECK(json_number_equal(sa, SLICE("1e-16777214")));
    free(a);
    free(b);
}

int main(void)
{
    test_equal();
    test_int();
    test_doubles();
    test_long();
    return check_done();
}
