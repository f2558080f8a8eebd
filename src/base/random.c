/* Random bytes by getrandom. */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

bool random_bytes(void *out, size_t len)
{
    char *at = out;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        len -= (size_t)got;
    }
    return true;
}
