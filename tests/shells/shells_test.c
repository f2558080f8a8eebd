/* The reader of commands against real shells: of every text that is read, no shell runs a command that the reader
 * does not have, and the words agree.
 *
 *   shells_test --recorder FILE [--count N] [--seed N] [--only SHELL] [--text TEXT]
 *
 * Texts are made until N of them are read (5000). Each is given to each shell that is installed, in a folder of its own,
 * with nothing on its PATH but programs that record their words, and shells. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "command/command.h"
#include "make_text.h"

#define RECORD_FD   200
#define PATIENCE_MS 20000

struct shell {
    const char *name, *program;
    const char *argv[5]; /* before the text */
    char path[64];       /* PATH=… */
    bool there;
    unsigned long ran; /* commands */
};

static struct shell shells[] = {
    {.name = "bash", .program = "/bin/bash", .argv = {"bash", "-c"}},
    {.name = "posix", .program = "/bin/bash", .argv = {"bash", "--posix", "-c"}},
    {.name = "dash", .program = "/bin/dash", .argv = {"dash", "-c"}},
    {.name = "zsh", .program = "/bin/zsh", .argv = {"zsh", "-f", "-c"}},
    {.name = "mksh", .program = "/bin/mksh", .argv = {"mksh", "-c"}},
    {.name = "ksh", .program = "/bin/ksh93", .argv = {"ksh", "-c"}},
    {.name = "ash", .program = "/bin/busybox", .argv = {"ash", "-c"}},
};
#define SHELLS (sizeof(shells) / sizeof(*shells))

static char top[] = "/tmp/callgate-shells-XXXXXX";
static char home[64];
static struct command_reader *reader;
static struct buf shown;

static void need(bool done, const char *what)
{
    if (!done) {
        perror(what);
        exit(2);
    }
}

static void join(char out[64], const char *a, const char *b)
{
    need(snprintf(out, 64, "%s/%s", a, b) < 64, "a long name");
}

/* ---- The folders ---- */

static void link_name(const char *folder, const char *name, const char *target)
{
    char path[64];
    join(path, folder, name);
    need(symlink(target, path) == 0 || errno == EEXIST, path);
}

/* Every name that a text may call a program by: the pieces, and one and two letters. */
static void fill_path(const char *folder, const char *recorder, const struct shell *shell)
{
    static const char *const words[] = {"rm",  "ls",   "git",  "env",    "nohup", "nice", "if", "then", "fi",
                                        "do",  "done", "time", "noglob", "-",     "--x",  "d1", "22",   "1",
                                        "a b", "a.c",  "+",    "@",      "%1",    "_",    "EE", "-n",   "-c"};
    static const char *const names[] = {"sh", "bash", "dash", "ksh", "zsh", "ash", "mksh", "rbash"};
    char name[3] = "";
    for (int i = 0; i < 26 * 27; i++) {
        name[0] = (char)('a' + i % 26);
        name[1] = (char)(i / 26 == 0 ? '\0' : 'a' + i / 26 - 1);
        if (strcmp(name, "sh") != 0) {
            link_name(folder, name, recorder);
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        link_name(folder, words[i], recorder);
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        link_name(folder, names[i], shell->program);
    }
}

/* Has the recorder run for as long as this program, so that nobody can write to it: texts write to files. */
static void hold_recorder(const char *recorder)
{
    int ends[2];
    pid_t pid;
    char *argv[] = {(char *)recorder, "--hold", NULL}, *env[] = {NULL};
    posix_spawn_file_actions_t actions;
    need(pipe2(ends, O_CLOEXEC) == 0 && posix_spawn_file_actions_init(&actions) == 0, "pipe");
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    need(posix_spawn(&pid, recorder, &actions, NULL, argv, env) == 0, recorder);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
}

/* An empty folder to work in, but for what texts name. */
static void make_work(const char *recorder)
{
    char path[64];
    join(home, top, "home");
    need(mkdir(home, 0700) == 0, home);
    link_name(home, "a", recorder);
    join(path, top, "work");
    need(mkdir(path, 0700) == 0 && chdir(path) == 0, path);
    need(mkdir("x", 0700) == 0 && mkdir("d1", 0700) == 0, "mkdir");
    need(symlink(recorder, "a") == 0 && symlink(recorder, "b.c") == 0, "symlink");
}

static void set_up(const char *recorder)
{
    need(mkdtemp(top) != NULL, "mkdtemp");
    for (size_t i = 0; i < SHELLS; i++) {
        char folder[64];
        shells[i].there = access(shells[i].program, X_OK) == 0;
        join(folder, top, shells[i].name);
        need(mkdir(folder, 0700) == 0, folder);
        fill_path(folder, recorder, &shells[i]);
        need(snprintf(shells[i].path, sizeof(shells[i].path), "PATH=%s", folder) < 64, "a long name");
    }
    make_work(recorder);
    hold_recorder(recorder);
    reader = command_reader_create();
    need(reader != NULL, "memory");
    buf_init(&shown, 1u << 20);
}

/* ---- Running a shell ---- */

/* What is written until all that the shell started is gone; false when that takes too long. */
static bool read_records(int fd, struct buf *records)
{
    for (;;) {
        size_t room;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        char *to = buf_room(records, &room);
        if (to == NULL || poll(&ready, 1, PATIENCE_MS) != 1) {
            return false;
        }
        ssize_t got = read(fd, to, room);
        if (got <= 0) {
            return got == 0;
        }
        buf_added(records, (size_t)got);
    }
}

static bool run_shell(const struct shell *shell, char *text, struct buf *records)
{
    int ends[2];
    need(pipe2(ends, O_CLOEXEC) == 0, "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    need(posix_spawn_file_actions_init(&actions) == 0 && posix_spawnattr_init(&attributes) == 0, "memory");
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_adddup2(&actions, ends[1], RECORD_FD);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    char home_variable[80];
    (void)snprintf(home_variable, sizeof(home_variable), "HOME=%s", home);
    char *env[] = {(char *)shell->path, home_variable, "X=v w", "Z=*", "LC_ALL=C.UTF-8", NULL};
    char *argv[8];
    size_t argc = 0;
    for (; shell->argv[argc] != NULL; argc++) {
        argv[argc] = (char *)shell->argv[argc];
    }
    argv[argc++] = text;
    argv[argc] = NULL;
    pid_t pid;
    need(posix_spawn(&pid, shell->program, &actions, &attributes, argv, env) == 0, shell->program);
    close(ends[1]);
    bool done = read_records(ends[0], records);
    close(ends[0]);
    if (!done) {
        kill(-pid, SIGKILL);
    }
    int status;
    need(waitpid(pid, &status, 0) == pid, "waitpid");
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return done;
}

/* ---- Comparing ---- */

static struct slice base_name(struct slice word)
{
    const char *slash = word.len == 0 ? NULL : memrchr(word.ptr, '/', word.len);
    return slash == NULL ? word : slice_from(word, (size_t)(slash - word.ptr) + 1);
}

static bool same_word(const struct command_word *word, uint32_t index, struct slice ran)
{
    struct slice text = word->text, folder = slice_of(home);
    if (index == 0) {
        text = base_name(text);
    } else if ((word->flags & COMMAND_WORD_HOME) != 0) {
        if (!slice_starts_with(ran, folder)) {
            return false;
        }
        text = slice_from(text, 1);
        ran = slice_from(ran, folder.len);
    }
    return slice_eq(text, ran);
}

/* Whether a record is what the command is: all its words, or the known ones at its beginning. */
static bool is_command(const struct command *command, struct slice record)
{
    uint32_t index = 0;
    bool open = (command->flags & COMMAND_OPEN) != 0;
    for (size_t at = 0; at < record.len; index++) {
        struct slice word = slice_of(record.ptr + at);
        at += word.len + 1;
        if (index == command->known) {
            return open;
        }
        if (!same_word(command_word_at(command, index), index, word)) {
            return false;
        }
    }
    return index == command->known;
}

/* Whether a command says more of a record's words than another, or the same and that they are all. */
static bool says_more(const struct command *a, const struct command *b)
{
    return a->known > b->known ||
           (a->known == b->known && (a->flags & COMMAND_OPEN) < (b->flags & COMMAND_OPEN));
}

/* Takes the command that a record is, of the list's and of those inside them: the one that says most of its words. */
static bool take(const struct command_list *list, bool *taken, struct slice record)
{
    const struct command *best = NULL;
    uint32_t total = list->count + list->inner_count, at = 0;
    for (uint32_t i = 0; i < total; i++) {
        const struct command *command = i < list->count ? &list->commands[i] : &list->inner[i - list->count];
        if (!taken[i] && is_command(command, record) && (best == NULL || says_more(command, best))) {
            best = command;
            at = i;
        }
    }
    if (best != NULL) {
        taken[at] = true;
    }
    return best != NULL;
}

/* What a login shell runs of /etc/profile. */
static bool is_of_profile(struct slice record)
{
    return slice_eq(record, (struct slice){"id\0-u", 6});
}

static void show(struct slice record)
{
    buf_reset(&shown);
    for (size_t at = 0; at < record.len;) {
        struct slice word = slice_of(record.ptr + at);
        buf_text(&shown, at > 0 ? " " : "");
        command_append_word(&shown, word);
        at += word.len + 1;
    }
}

/* Whether each record is a command of the list, each command at most once. */
static bool agrees(struct shell *shell, const struct command_list *list, struct slice records,
                   const char *text)
{
    static bool taken[4096];
    uint32_t total = list->count + list->inner_count;
    need(total <= sizeof(taken), "commands");
    memset(taken, 0, sizeof(taken));
    for (size_t at = 0; at + 2 <= records.len;) {
        size_t len = (unsigned char)records.ptr[at] | (size_t)(unsigned char)records.ptr[at + 1] << 8;
        struct slice record = {records.ptr + at + 2, len};
        at += len + 2;
        shell->ran++;
        if (!is_of_profile(record) && !take(list, taken, record)) {
            show(record);
            printf("%s: runs %.*s of the text:\n%s\n", shell->name, SLICE_FMT(buf_slice_of(&shown)), text);
            return false;
        }
    }
    return true;
}

static unsigned long passed, failed;

/* Reads one text, and has every shell run it when it is read. */
static bool try_text(struct slice text, const char *only)
{
    struct command_list list;
    static char copy[4097];
    static struct buf records;
    command_reader_reset(reader);
    need(command_read_text(reader, text, NULL, &list) && command_read_inner(reader, &list), "memory");
    if (list.count == 0 || (list.commands[0].flags & COMMAND_UNREADABLE) != 0) {
        return false;
    }
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (records.ceiling == 0) {
        buf_init(&records, 1u << 20);
    }
    for (size_t i = 0; i < SHELLS; i++) {
        if (!shells[i].there || (only != NULL && strcmp(only, shells[i].name) != 0)) {
            continue;
        }
        buf_reset(&records);
        bool done = run_shell(&shells[i], copy, &records);
        if (!done) {
            printf("%s: does not end:\n%s\n", shells[i].name, copy);
        }
        bool good = done && agrees(&shells[i], &list, buf_slice_of(&records), copy);
        passed += good;
        failed += !good;
    }
    return true;
}

static void clean_up(void)
{
    char command[128];
    need(chdir("/") == 0, "chdir");
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", top);
    need(system(command) == 0, "rm");
}

int main(int argc, char **argv)
{
    unsigned long count = 5000;
    struct maker maker = {.state = 1};
    const char *recorder = NULL, *only = NULL, *text = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--recorder") == 0) {
            recorder = value;
        } else if (strcmp(argv[i], "--count") == 0) {
            count = strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0) {
            maker.state = strtoul(value, NULL, 10) * 2 + 1;
        } else if (strcmp(argv[i], "--only") == 0) {
            only = value;
        } else if (strcmp(argv[i], "--text") == 0) {
            text = value;
        }
    }
    if (recorder == NULL) {
        fprintf(stderr, "usage: %s --recorder FILE [--count N] [--seed N] [--only SHELL] [--text TEXT]\n",
                argv[0]);
        return 2;
    }
    set_up(recorder);
    unsigned long made = 0, read = 0;
    if (text != NULL) {
        read = try_text(slice_of(text), only);
    }
    for (; text == NULL && read < count; made++) {
        read += try_text(make_text(&maker), only);
    }
    printf("%lu texts read of %lu made;", read, made);
    for (size_t i = 0; i < SHELLS; i++) {
        printf(" %s ran %lu%s", shells[i].name, shells[i].ran, shells[i].there ? "" : " (is missing)");
    }
    printf("\n%lu passed, %lu failed\n", passed, failed);
    buf_finish(&shown);
    command_reader_destroy(reader);
    clean_up();
    return failed != 0;
}
