/* Runs a fuzz target without libFuzzer: over given files, or over mutations of seeds.
 *
 *   fuzz_NAME FILE…                              each file is one input
 *   fuzz_NAME --seeds FILE [--runs N] [--seconds N] [--seed N]
 *                                                each line of FILE, then mutations of them: the same ones for
 * the same number --seed, until the runs or the seconds are over fuzz_NAME --seeds FILE --split DIR writes
 * each line into a file of DIR: a corpus for libFuzzer
 *
 * The input under which the target ends the program is kept as `crash-NAME` in the working directory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define LONGEST 4096u /* bytes of an input that mutation makes */

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

struct input {
    uint8_t *bytes;
    size_t len;
};

static struct input *seeds;
static size_t seeds_len, seeds_cap;
static const uint8_t *current;
static size_t current_len;
static char crash_name[256];
static uint64_t state = 1;

static void keep_input(void)
{
    int fd = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd >= 0 && current != NULL && write(fd, current, current_len) == (ssize_t)current_len) {
        (void)!write(STDERR_FILENO, "input kept as ", 14);
        (void)!write(STDERR_FILENO, crash_name, strlen(crash_name));
        (void)!write(STDERR_FILENO, "\n", 1);
    }
}

static void on_signal(int number)
{
    keep_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void *must(void *ptr)
{
    if (ptr == NULL) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return ptr;
}

/* A copy that ends where its memory does, so that a sanitizer sees each byte read too many. */
static void run(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = must(malloc(len == 0 ? 1 : len));
    memcpy(copy, bytes, len);
    current = copy;
    current_len = len;
    (void)LLVMFuzzerTestOneInput(copy, len);
    current = NULL;
    free(copy);
}

static void add_seed(const char *line, size_t len)
{
    uint8_t *bytes = must(malloc(len + 1));
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '%' && i + 2 < len) {
            char hex[3] = {line[i + 1], line[i + 2], 0};
            bytes[at++] = (uint8_t)strtoul(hex, NULL, 16);
            i += 2;
        } else {
            bytes[at++] = (uint8_t)line[i];
        }
    }
    if (seeds_len == seeds_cap) {
        seeds_cap = seeds_cap * 2 + 64;
        seeds = must(realloc(seeds, seeds_cap * sizeof(*seeds)));
    }
    seeds[seeds_len++] = (struct input){bytes, at};
}

static void read_seeds(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t len; (len = getline(&line, &cap, file)) >= 0;) {
        if (len > 0 && line[len - 1] == '\n') {
            len--;
        }
        if (line[0] != '#') {
            add_seed(line, (size_t)len);
        }
    }
    free(line);
    fclose(file);
}

static void run_file(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(2);
    }
    uint8_t *bytes = NULL;
    size_t len = 0, got;
    do {
        bytes = must(realloc(bytes, len + 65536));
        got = fread(bytes + len, 1, 65536, file);
        len += got;
    } while (got > 0);
    fclose(file);
    run(bytes, len);
    free(bytes);
}

static void split(const char *dir)
{
    for (size_t i = 0; i < seeds_len; i++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/%zu", dir, i);
        FILE *file = fopen(path, "we");
        if (file == NULL || fwrite(seeds[i].bytes, 1, seeds[i].len, file) != seeds[i].len ||
            fclose(file) != 0) {
            fprintf(stderr, "%s: %s\n", path, strerror(errno));
            exit(2);
        }
    }
}

/* A number below `limit`, which is no zero; xorshift64*. */
static size_t below(size_t limit)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (size_t)(state * 0x2545F4914F6CDD1Du >> 16) % limit;
}

/* Replaces `drop` bytes at `at` by `len` others, as far as there is room. */
static size_t replace(uint8_t *bytes, size_t size, size_t at, size_t drop, const uint8_t *with, size_t len)
{
    if (size - drop + len > LONGEST) {
        return size;
    }
    memmove(bytes + at + len, bytes + at + drop, size - at - drop);
    if (len != 0) {
        memcpy(bytes + at, with, len);
    }
    return size - drop + len;
}

/* One change: a byte, a piece dropped, doubled, or taken from another seed. */
static size_t mutate(uint8_t *bytes, size_t size)
{
    static uint8_t piece[LONGEST];
    size_t at = below(size + 1);
    size_t drop = size == at ? 0 : below(size - at < 16 ? size - at + 1 : 16);
    uint8_t byte = (uint8_t)below(256);
    switch (below(6)) {
    case 0:
        return replace(bytes, size, at, at < size, &byte, 1);
    case 1:
        return replace(bytes, size, at, 0, &byte, 1);
    case 2:
        return replace(bytes, size, at, drop, NULL, 0);
    case 3:
        if (at < size) {
            bytes[at] ^= (uint8_t)(1u << below(8));
        }
        return size;
    case 4:
        memcpy(piece, bytes + at, drop);
        return replace(bytes, size, below(size + 1), 0, piece, drop);
    default: {
        const struct input *other = &seeds[below(seeds_len)];
        if (other->len == 0) {
            return size;
        }
        size_t from = below(other->len);
        size_t len = 1 + below(other->len - from < 32 ? other->len - from : 32);
        return replace(bytes, size, at, drop, other->bytes + from, len);
    }
    }
}

static void run_mutations(unsigned long runs, unsigned long seconds)
{
    static uint8_t bytes[LONGEST];
    time_t end = time(NULL) + (time_t)seconds;
    unsigned long i = 0;
    for (; seeds_len > 0 && (runs == 0 || i < runs); i++) {
        if (seconds != 0 && i % 256 == 0 && time(NULL) >= end) {
            break;
        }
        const struct input *seed = &seeds[below(seeds_len)];
        size_t size = seed->len < LONGEST ? seed->len : LONGEST;
        memcpy(bytes, seed->bytes, size);
        for (size_t changes = 1 + below(4); changes > 0; changes--) {
            size = mutate(bytes, size);
        }
        run(bytes, size);
    }
    printf("%zu seeds, %lu mutations\n", seeds_len, i);
}

int main(int argc, char **argv)
{
    unsigned long runs = 0, seconds = 0;
    const char *split_dir = NULL;
    const char *slash = strrchr(argv[0], '/');
    (void)snprintf(crash_name, sizeof(crash_name), "crash-%s", slash == NULL ? argv[0] : slash + 1);
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, on_signal);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(keep_input);
    }
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strncmp(argv[i], "--", 2) != 0) {
            run_file(argv[i]);
            continue;
        }
        if (value == NULL) {
            fprintf(stderr, "%s: wants a value\n", argv[i]);
            return 2;
        }
        i++;
        if (strcmp(argv[i - 1], "--seeds") == 0) {
            read_seeds(value);
        } else if (strcmp(argv[i - 1], "--runs") == 0) {
            runs = strtoul(value, NULL, 10);
        } else if (strcmp(argv[i - 1], "--seconds") == 0) {
            seconds = strtoul(value, NULL, 10);
        } else if (strcmp(argv[i - 1], "--seed") == 0) {
            state = strtoul(value, NULL, 10) * 2 + 1;
        } else if (strcmp(argv[i - 1], "--split") == 0) {
            split_dir = value;
        } else {
            fprintf(stderr, "%s: no such option\n", argv[i - 1]);
            return 2;
        }
    }
    if (split_dir != NULL) {
        split(split_dir);
        return 0;
    }
    for (size_t i = 0; i < seeds_len; i++) {
        run(seeds[i].bytes, seeds[i].len);
    }
    if (runs != 0 || seconds != 0) {
        run_mutations(runs, seconds);
    }
    for (size_t i = 0; i < seeds_len; i++) {
        free(seeds[i].bytes);
    }
    free(seeds);
    return 0;
}
