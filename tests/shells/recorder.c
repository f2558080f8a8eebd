/* A program under every name: it writes the words that it was called with to descriptor 200, as one record, and
 * does nothing else. A record is its length in two bytes, the low one first, and the words, each with a NUL behind
 * it; of the first word what follows its last `/`. With --hold it waits for the end of its input. */
#include <string.h>
#include <unistd.h>

#define RECORD_FD 200

int main(int argc, char **argv)
{
    static char record[4096]; /* written at once: no other record comes between */
    size_t len = 2;
    if (argc == 2 && strcmp(argv[1], "--hold") == 0) {
        return (int)read(0, record, sizeof(record));
    }
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (i == 0 && strrchr(word, '/') != NULL) {
            word = strrchr(word, '/') + 1;
        }
        size_t more = strlen(word) + 1;
        if (len + more > sizeof(record)) {
            return 1;
        }
        memcpy(record + len, word, more);
        len += more;
    }
    record[0] = (char)((len - 2) & 0xff);
    record[1] = (char)((len - 2) >> 8);
    return write(RECORD_FD, record, len) != (ssize_t)len;
}
