/* spawn COUNT RUNS NAME INPUT COMMAND [ARG...] [::: NAME INPUT COMMAND [ARG...]]...
 *
 * Starts COUNT processes of a command at once, RUNS times, the commands in turn: A B C A B C …, so that whatever else the
 * machine does falls on all alike. INPUT is a file whose bytes each process reads through a pipe ("-": none). Prints one
 * JSON object: for each name the 50th and 99th percentile of milliseconds from before the first process is made until the
 * last is gone and all output is read. A run that fails, or prints something else than the first, ends it all. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST   16
#define WARMUP 20 /* processes that are not counted */
#define COUNT  256
#define ROOM   65536 /* of a message and of an answer; a pipe holds as much, so writing never waits */

extern char **environ;

struct program {
    const char *name;
    char **command;
    char input[ROOM], output[ROOM];
    size_t input_len, output_len;
    bool ran;
    double *millis;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static _Noreturn void fail(const char *name, const char *what)
{
    fprintf(stderr, "spawn: %s: %s\n", name, what);
    exit(1);
}

static size_t read_all(const char *name, int fd, char bytes[ROOM])
{
    size_t len = 0;
    ssize_t n;
    while ((n = read(fd, bytes + len, ROOM - len)) > 0) {
        len += (size_t)n;
    }
    if (n < 0 || len == ROOM) {
        fail(name, "cannot be read, or is too long");
    }
    return len;
}

static pid_t start(const struct program *program, int *ret_out)
{
    int down[2], up[2];
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0 ||
        posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, down[0], 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, up[1], 1) != 0 ||
        posix_spawnp(&pid, program->command[0], &actions, NULL, program->command, environ) != 0) {
        fail(program->name, "cannot be started");
    }
    posix_spawn_file_actions_destroy(&actions);
    close(down[0]);
    close(up[1]);
    /* A command may end without having read: SIGPIPE is ignored, and what it printed tells. */
    (void)!write(down[1], program->input, program->input_len);
    close(down[1]);
    *ret_out = up[0];
    return pid;
}

static double run(struct program *program, int count)
{
    static char output[ROOM];
    int outs[COUNT], status;
    pid_t pids[COUNT];
    double begin = now();
    for (int i = 0; i < count; i++) {
        pids[i] = start(program, &outs[i]);
    }
    for (int i = 0; i < count; i++) {
        size_t len = read_all(program->name, outs[i], output);
        close(outs[i]);
        if (waitpid(pids[i], &status, 0) != pids[i] || status != 0) {
            fail(program->name, "failed");
        }
        if (program->ran && (len != program->output_len || memcmp(output, program->output, len) != 0)) {
            fail(program->name, "printed something else than the first time");
        }
        memcpy(program->output, output, len);
        program->output_len = len;
        program->ran = true;
    }
    return now() - begin;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void read_input(struct program *program, const char *file)
{
    int fd = strcmp(file, "-") == 0 ? -1 : open(file, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        program->input_len = read_all(file, fd, program->input);
        close(fd);
    } else if (strcmp(file, "-") != 0) {
        fail(file, "cannot be opened");
    }
}

int main(int argc, char **argv)
{
    static struct program programs[MOST];
    int programs_count = 0;
    long count = argc > 5 ? strtol(argv[1], NULL, 10) : 0, runs = argc > 5 ? strtol(argv[2], NULL, 10) : 0;
    if (count <= 0 || count > COUNT || runs <= 0) {
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int i = 3; i + 2 < argc && programs_count < MOST; i++) {
        struct program *program = &programs[programs_count++];
        program->name = argv[i];
        read_input(program, argv[i + 1]);
        program->command = &argv[i + 2];
        program->millis = calloc((size_t)runs, sizeof(double));
        if (program->millis == NULL) {
            fail(program->name, "no memory");
        }
        while (i < argc && strcmp(argv[i], ":::") != 0) {
            i++;
        }
        if (i < argc) {
            argv[i] = NULL;
        }
    }
    for (long i = -1 - WARMUP / count; i < runs; i++) {
        for (int p = 0; p < programs_count; p++) {
            double millis = run(&programs[p], (int)count);
            if (i >= 0) {
                programs[p].millis[i] = millis;
            }
        }
    }
    for (int p = 0; p < programs_count; p++) {
        qsort(programs[p].millis, (size_t)runs, sizeof(double), compare);
        printf("%s\"%s\":{\"p50_ms\":%.2f,\"p99_ms\":%.2f}", p ? "," : "{", programs[p].name,
               programs[p].millis[runs / 2], programs[p].millis[runs * 99 / 100]);
    }
    puts("}");
    return 0;
}
