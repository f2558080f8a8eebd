/* callgate-console: the loop. `callgate console` starts it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "console/internal.h"
#include "gate/state.h"

#define RUNNING_LOCK "console.running"
#define SWEEP_TICKS  20u
#define NOTE_BYTES   ((size_t)4096)
#define FILES_WANTED ((rlim_t)4096)

void console_say(const char *format, ...)
{
    va_list arguments;
    fputs("callgate: console: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void console_note(struct console *console, const char *kind, const char *why, const struct session *session)
{
    struct buf detail;
    if (!bucket_take(&console->notes, clock_boot_ms())) {
        console->notes_dropped++;
        return;
    }
    buf_init(&detail, NOTE_BYTES);
    buf_printf(&detail, "{\"why\":\"%s\"", why);
    if (session != NULL) {
        buf_text(&detail, ",\"who\":");
        json_write_bytes(&detail, slice_of(session->id));
        buf_printf(&detail, ",\"surface\":\"%s\"", people_surface_name(session->surface));
    }
    if (console->notes_dropped > 0) {
        buf_printf(&detail, ",\"leftOut\":%llu", (unsigned long long)console->notes_dropped);
    }
    buf_byte(&detail, '}');
    const struct event event = {.kind = kind, .detail = buf_slice_of(&detail)};
    if (buf_ok(&detail) && people_note(console->people, &event)) {
        console->notes_dropped = 0;
    }
    buf_finish(&detail);
}

/* ---- The loop ---- */

static void look_at_journal(struct console *console)
{
    struct stat st;
    if (fstatat(console->state, STATE_JOURNAL, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (st.st_ino != console->journal_inode || st.st_size != console->journal_size)) {
        console->journal_inode = st.st_ino;
        console->journal_size = st.st_size;
        streams_tell(console, "record", ++console->record_version);
    }
}

static void on_tick(uv_timer_t *timer)
{
    static unsigned ticks;
    struct console *console = timer->data;
    bool moved = people_may_have_changed(console->people);
    if (moved) {
        streams_tell(console, "waiting", ++console->waiting_version);
    }
    if (ticks % 5 == 0) { /* nobody reads two records a second */
        look_at_journal(console);
    }
    if (++ticks % SWEEP_TICKS == 0) {
        sessions_sweep(console);
        server_hurry(console);
        streams_beat(console);
    }
    server_turn(console);
}

static void on_signal(uv_signal_t *handle, int number)
{
    (void)number;
    uv_stop(handle->loop);
}

/* One page for a state directory: the link of another would lead to a page that does not know it. */
static int lock_running(int state)
{
    int fd = openat(state, RUNNING_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
        errno = EWOULDBLOCK;
    }
    return fd;
}

static bool set_address(struct console_accounts *accounts, void *context)
{
    accounts->address = slice_of(context);
    return true;
}

static bool has_credentials(int state, struct buf *ret_error)
{
    struct console_accounts accounts;
    bool any = false;
    if (!accounts_read(&accounts, state, ret_error)) {
        return false;
    }
    for (size_t i = 0; i < accounts.count; i++) {
        any = any || accounts.list[i].password.n != 0 || accounts.list[i].passkey_count > 0;
    }
    accounts_finish(&accounts);
    if (!any) {
        buf_text(
            ret_error,
            "nobody could sign in: give an account a password first: 'callgate console password ACCOUNT'");
    }
    return any;
}

static bool open_all(struct console *console, struct buf *ret_error)
{
    char secret[SECRET_TEXT];
    console->state = state_open(console->options.state_dir, ret_error);
    if (console->state < 0) {
        return false;
    }
    console->lock = lock_running(console->state);
    if (console->lock < 0) {
        buf_text(
            ret_error,
            errno == EWOULDBLOCK
                ? "the page of this state directory runs already: 'callgate console link' gives a link to it"
                : strerror(errno));
        return false;
    }
    console->people = people_open(console->options.state_dir, ret_error);
    if (console->people == NULL || (console->world && !has_credentials(console->state, ret_error)) ||
        server_start(console, ret_error) == NULL ||
        !accounts_update(console->state, set_address, console->origin, ret_error)) {
        return false;
    }
    if (console->world) {
        printf("%s\n", console->origin);
    } else if (accounts_make_link(console->state, SLICE(""), clock_wall_ms(), secret, ret_error)) {
        printf("%s/#link=%s\n", console->origin, secret);
    } else {
        return false;
    }
    fflush(stdout);
    fprintf(stderr, "callgate: console: %s\n",
            console->world
                ? "the page is at this address; Ctrl-C ends it"
                : "open this link in your browser. It counts once, within 15 minutes; Ctrl-C ends the page");
    return true;
}

static void more_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < FILES_WANTED) {
        limit.rlim_cur = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void start_handles(struct console *console)
{
    (void)uv_timer_init(&console->loop, &console->tick);
    (void)uv_signal_init(&console->loop, &console->term);
    (void)uv_signal_init(&console->loop, &console->interrupt);
    console->tick.data = console;
    (void)uv_signal_start(&console->term, on_signal, SIGTERM);
    (void)uv_signal_start(&console->interrupt, on_signal, SIGINT);
    (void)uv_timer_start(&console->tick, on_tick, CONSOLE_TICK_MS, CONSOLE_TICK_MS);
}

static void stop_handles(struct console *console)
{
    uv_close((uv_handle_t *)&console->tick, NULL);
    uv_close((uv_handle_t *)&console->term, NULL);
    uv_close((uv_handle_t *)&console->interrupt, NULL);
    (void)uv_run(&console->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&console->loop);
}

int console_run(const struct console_options *options)
{
    struct buf error;
    int code = 2;
    struct console *console = calloc(1, sizeof(*console));
    if (console == NULL || uv_loop_init(&console->loop) != 0) {
        console_say("no memory");
        free(console);
        return code;
    }
    buf_init_message(&error, MESSAGE_BYTES);
    console->options = *options;
    console->state = console->lock = -1;
    console->world = strcmp(options->address, "127.0.0.1") != 0 && strcmp(options->address, "::1") != 0;
    console->passwords = (struct bucket){.left = 10, .most = 10, .every_ms = 4000};
    console->sign_ins = (struct bucket){.left = 30, .most = 30, .every_ms = 1000};
    console->notes = (struct bucket){.left = 20, .most = 20, .every_ms = 500};
    more_files();
    start_handles(console);
    if (open_all(console, &error)) {
        (void)uv_run(&console->loop, UV_RUN_DEFAULT);
        code = 0;
    } else {
        console_say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    chain_stop();
    server_stop(console);
    stop_handles(console);
    people_close(console->people);
    if (console->lock >= 0) {
        close(console->lock);
    }
    if (console->state >= 0) {
        close(console->state);
    }
    free(console);
    buf_finish(&error);
    return code;
}

/* What `callgate console` hands over: verb, account, state, home, people, address, port, name, certificate, key. */
int main(int argc, char **argv)
{
    if (argc != 11) {
        fprintf(stderr, "callgate: console: started by 'callgate console'\n");
        return 2;
    }
    (void)prctl(PR_SET_DUMPABLE, 0); /* sessions are in this process's memory */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)umask(077);
    const struct console_options options = {
        .state_dir = argv[3],
        .home = argv[4],
        .people_file = argv[5][0] != '\0' ? argv[5] : NULL,
        .address = argv[6],
        .port = (uint16_t)strtoul(argv[7], NULL, 10),
        .name = argv[8],
        .certificate = argv[9][0] != '\0' ? argv[9] : NULL,
        .key = argv[10][0] != '\0' ? argv[10] : NULL,
    };
    return strcmp(argv[1], "run") == 0 ? console_run(&options) : console_verb(&options, argv[1], argv[2]);
}
