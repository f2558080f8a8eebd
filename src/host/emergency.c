/* Prepares a hook's deny in advance, and prints it from a signal handler when nothing else works. */
#include "host/emergency.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/standard.h"
#include "host/internal.h"

/* An exit code that every host reads as a deny, also beside an output that it cannot read. */
#define DENY_BY_CODE 2

/* What goes to standard error beside such a code: some hosts heed the code only then. */
static const struct slice deny_line = {HOST_DENY_TEXT "\n", sizeof(HOST_DENY_TEXT)};

/* Written only by the one thread; read by the handler. */
static const struct host_event *volatile ready;
static volatile sig_atomic_t answering;
static uint64_t armed_ns;
static char stack[64 << 10];
static int errors = STDERR_FILENO; /* where the line of a deny goes */

static void write_line(struct slice line)
{
    (void)!write(errors, line.ptr, line.len);
}

/* True when all of the text left, in one write. */
static bool write_whole(struct slice text)
{
    ssize_t n;
    do {
        n = write(STDOUT_FILENO, text.ptr, text.len);
    } while (n < 0 && errno == EINTR);
    return n >= 0 && (size_t)n == text.len;
}

_Noreturn static void deny(const struct host_event *event, struct slice text, struct slice line)
{
    if (event->deny_code != 0) {
        write_line(line);
    }
    if (write_whole(text)) {
        _exit(event->deny_code);
    }
    if (event->deny_code == 0) {
        write_line(line);
    }
    _exit(DENY_BY_CODE);
}

/* The answer may be on its way out, whole or in part: what is left to say is said by the code. */
static void on_signal(int number)
{
    (void)number;
    if (answering) {
        write_line(deny_line);
        _exit(DENY_BY_CODE);
    }
    answering = 1;
    deny(ready, slice_of(ready->deny), deny_line);
}

_Noreturn void emergency_deny(const struct host_event *event, struct slice reason)
{
    struct buf text, line;
    buf_init(&text, 64u << 10);
    buf_init(&line, 64u << 10);
    host_write_deny(&text, event, reason);
    buf_slice(&line, reason);
    buf_byte(&line, '\n');
    bool ready_words = reason.len > 0 && buf_ok(&text) && buf_ok(&line);
    answering = 1;
    if (ready_words) {
        deny(event, buf_slice_of(&text), buf_slice_of(&line));
    }
    deny(event, slice_of(event->deny), deny_line);
}

_Noreturn void emergency_answer(const struct host_event *event, enum host_answer answer)
{
    const char *text = NULL;
    switch (answer) {
    case HOST_ALLOW:
        text = event->allow;
        break;
    case HOST_NONE:
        text = event->none;
        break;
    case HOST_ASK:
        text = event->ask;
        break;
    case HOST_DENY:
        break;
    }
    answering = 1;
    if (text == NULL) {
        deny(event, slice_of(event->deny), deny_line);
    }
    if (write_whole(slice_of(text))) {
        _exit(0);
    }
    write_line(deny_line);
    _exit(DENY_BY_CODE);
}

static bool ends_the_process(int number)
{
    switch (number) {
    case SIGKILL: /* nobody hears these two */
    case SIGSTOP:
    case SIGCHLD: /* and these do nothing, or only go on */
    case SIGURG:
    case SIGWINCH:
    case SIGCONT:
    case SIGTSTP: /* these are ignored below */
    case SIGTTIN:
    case SIGTTOU:
    case SIGPIPE:
    case SIGXFSZ:
        return false;
    default:
        return true;
    }
}

static void take_signals(void)
{
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    /* Those that would stop the process, and those that a write tells of by itself. */
    static const int ignored[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t none;
    (void)!sigaltstack(&alternate, NULL);
    sigfillset(&act.sa_mask);
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (ends_the_process(number)) {
            (void)!sigaction(number, &act, NULL); /* the C library keeps two for itself */
        }
    }
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++) {
        (void)!sigaction(ignored[i], &ignore, NULL);
    }
    sigemptyset(&none); /* a mask is inherited, and may hold back the timer */
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void silence_standard_error(void)
{
    int real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (real < 0 || nothing < 0 || dup2(nothing, STDERR_FILENO) < 0) {
        on_signal(0);
    }
    errors = real;
    close(nothing);
}

void emergency_arm(const struct host_event *event, uint32_t deadline_ms, bool quiet)
{
    ready = event;
    armed_ns = clock_mono_ns();
    take_signals();
    emergency_deadline(deadline_ms);
    if (!standard_hold()) {
        _exit(DENY_BY_CODE);
    }
    if (quiet && !isatty(STDERR_FILENO)) {
        silence_standard_error();
    }
    clearenv(); /* a project's settings can write it */
}

void emergency_event(const struct host_event *event)
{
    ready = event;
}

uint32_t emergency_elapsed(void)
{
    uint64_t ms = (clock_mono_ns() - armed_ns) / 1000000;
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

void emergency_deadline(uint32_t deadline_ms)
{
    uint32_t elapsed = emergency_elapsed(), left = deadline_ms > elapsed ? deadline_ms - elapsed : 0;
    struct itimerval timer = {.it_value = {.tv_sec = left / 1000, .tv_usec = (left % 1000) * 1000}};
    if (left == 0) {
        timer.it_value.tv_usec = 1; /* zero would disarm it */
    }
    if (setitimer(ITIMER_REAL, &timer, NULL) != 0) {
        on_signal(SIGALRM);
    }
}
