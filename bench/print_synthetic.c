/* synthetic policy RULES | synthetic calls RULES COUNT | synthetic plain RULES COUNT: writes what `callgate
 * bench --synthetic` measures with: the policy, calls with a path, calls of 600 bytes without. */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "bench/synthetic.h"

int main(int argc, char **argv)
{
    struct buf text;
    uint32_t rules = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint32_t count = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    buf_init(&text, LIMIT_POLICY_BYTES);
    if (rules == 0) {
        fputs("usage: synthetic policy RULES | synthetic calls|plain RULES COUNT\n", stderr);
        return 2;
    }
    if (argv[1][0] == 'c' || count != 0) {
        synthetic_calls(&text, rules, count,
                        argv[1][0] == 'c' ? SYNTHETIC_WITH_PATH : SYNTHETIC_WITHOUT_PATH);
    } else {
        synthetic_policy(&text, rules);
        text.len--;
    }
    size_t written = fwrite(text.ptr, 1, text.len, stdout);
    bool ok = buf_ok(&text) && written == text.len && fflush(stdout) == 0;
    buf_finish(&text);
    return ok ? 0 : 1;
}
