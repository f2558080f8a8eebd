/* The program may have set a locale whose decimal point is a comma. Makes one, since none may be installed;
 * skipped (77) where that cannot be done. */
#include <locale.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../check.h"
#include "json/json.h"

static char dir[] = "/tmp/callgate-locale-XXXXXX";

static bool set_comma_locale(void)
{
    char command[512];
    if (mkdtemp(dir) == NULL) {
        return false;
    }
    /* localedef warns of all that is missing, and says 1. */
    (void)snprintf(command, sizeof(command),
                   "printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \".\"\\ngrouping 3;3\\n"
                   "END LC_NUMERIC\\n' >%s/source; "
                   "localedef -c -i %s/source -f ANSI_X3.4-1968 --no-archive %s/comma >/dev/null 2>&1",
                   dir, dir, dir);
    return system(command) != -1 && setenv("LOCPATH", dir, 1) == 0 &&
           setlocale(LC_NUMERIC, "comma") != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
}

static void check_written(const char *text, const char *want)
{
    struct json_doc doc;
    struct json_error error;
    struct json_options options = {.max_depth = 1, .max_bytes = 100};
    struct buf buf;
    buf_init(&buf, 100);
    json_init(&doc);
    CHECK(json_parse(&doc, slice_of(text), &options, &error));
    json_write_canonical(&buf, &doc, json_root(&doc), JSON_NUMBER_CALL);
    CHECK_BYTES(buf.ptr, buf.len, want);
    json_finish(&doc);
    buf_finish(&buf);
}

static void check_double(double d, const char *want)
{
    struct buf buf;
    buf_init(&buf, 100);
    json_write_double(&buf, d);
    CHECK_BYTES(buf.ptr, buf.len, want);
    buf_finish(&buf);
}

int main(void)
{
    bool set = set_comma_locale();
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -rf %s", dir);
    if (system(command) != 0 || !set) {
        return 77;
    }
    check_double(0.1, "0.1");
    check_double(1234567.5, "1234567.5");
    check_double(0.30000000000000004, "0.30000000000000004");
    check_double(1.7976931348623157e308, "1.7976931348623157e+308");
    check_double(5e-324, "5e-324");
    check_written("0.30000000000000004", "0.30000000000000004");
    check_written("1.7976931348623157e308", "1.7976931348623157e+308");
    check_written("1234567.5", "1234567.5");
    check_written("9007199254740993.0", "9007199254740993e0");
    return check_done();
}
