/* roundtrip CALLS NAME COMMAND [ARG...] [::: NAME COMMAND...]...
 *
 * Starts every command, each an MCP server to its client, and sends them CALLS calls in turn, one at a time:
 * A B C A B C …, so that whatever else the machine does falls on all alike. Prints one JSON object: for each
 * name the 50th and 99th percentile of microseconds from the call's line to the answer's. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST   16
#define WARMUP 200

struct peer {
    const char *name;
    char **command;
    int in, out;
    pid_t pid;
    double *micros;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void start(struct peer *peer)
{
    int down[2], up[2];
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) {
        exit(2);
    }
    peer->pid = fork();
    if (peer->pid == 0) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        execvp(peer->command[0], peer->command);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    peer->in = down[1];
    peer->out = up[0];
}

static void fail(const struct peer *peer, const char *what)
{
    fprintf(stderr, "roundtrip: %s: %s\n", peer->name, what);
    exit(1);
}

static double call(const struct peer *peer, long id)
{
    char line[1024], answer[65536];
    size_t got = 0;
    int len =
        snprintf(line, sizeof(line),
                 "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{\"name\":\"tool_17\","
                 "\"arguments\":{\"query\":\"select * from things where n = %ld\",\"limit\":10}}}\n",
                 id, id);
    double begin = now();
    if (write(peer->in, line, (size_t)len) != len) {
        fail(peer, "does not read");
    }
    while (got == 0 || answer[got - 1] != '\n') {
        ssize_t n = read(peer->out, answer + got, sizeof(answer) - got);
        if (n <= 0) {
            fail(peer, "does not answer");
        }
        got += (size_t)n;
    }
    double end = now();
    answer[got - 1] = '\0';
    if (strstr(answer, "done") == NULL) {
        fail(peer, answer);
    }
    return end - begin;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    static struct peer peers[MOST];
    int count = 0;
    long calls = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
    if (calls <= 0) {
        return 2;
    }
    for (int i = 2; i + 1 < argc && count < MOST; i++) {
        peers[count].name = argv[i];
        peers[count++].command = &argv[++i];
        while (i < argc && strcmp(argv[i], ":::") != 0) {
            i++;
        }
        if (i < argc) {
            argv[i] = NULL;
        }
    }
    signal(SIGPIPE, SIG_IGN);
    for (int p = 0; p < count; p++) {
        peers[p].micros = calloc((size_t)calls, sizeof(double));
        start(&peers[p]);
    }
    for (long i = 0; i < WARMUP + calls; i++) {
        for (int p = 0; p < count; p++) {
            double micros = call(&peers[p], i + 1);
            if (i >= WARMUP) {
                peers[p].micros[i - WARMUP] = micros;
            }
        }
    }
    for (int p = 0; p < count; p++) {
        qsort(peers[p].micros, (size_t)calls, sizeof(double), compare);
        printf("%s\"%s\":{\"p50_us\":%.1f,\"p99_us\":%.1f}", p ? "," : "{", peers[p].name,
               peers[p].micros[calls / 2], peers[p].micros[calls * 99 / 100]);
        close(peers[p].in);
        waitpid(peers[p].pid, NULL, 0);
    }
    puts("}");
    return 0;
}
