/* What append_test.c asks of the journals that it has written: are they good, by our verifier and by another one? */
#ifndef JOURNAL_OPINION_H
#define JOURNAL_OPINION_H

#include "../../check.h"
#include "scratch.h"

static const char *second_opinion;
static struct buf error;

static struct journal *open_in(const struct scratch *scratch, enum journal_fsync mode)
{
    return journal_open(scratch->fd, "journal.jsonl", mode, SLICE("{\"pid\":1}"), &error);
}

/* What Python says about files: 0 good, 1 not. */
static int ask_python(const struct scratch *scratch, const char *name)
{
    char path[128];
    scratch_path(scratch, name, path);
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
        (void)execlp("python3", "python3", second_opinion, path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The verifier calls the file good, with this many events. */
static bool verifies(const struct scratch *scratch, uint64_t events)
{
    char path[128];
    const char *files[] = {scratch_path(scratch, "journal.jsonl", path)};
    struct journal_report report;
    if (!journal_verify(files, 1, (struct slice){NULL, 0}, &report, &error)) {
        printf("    cannot verify: %.*s\n", (int)error.len, error.ptr);
        return false;
    }
    if (report.fault.reason != NULL || report.events != events || report.last_seq != events) {
        printf("    %llu events; line %llu: %s: expected %s, actual %s\n", (unsigned long long)report.events,
               (unsigned long long)report.fault.line,
               report.fault.reason == NULL ? "no fault" : report.fault.reason, report.fault.expected,
               report.fault.actual);
        return false;
    }
    return true;
}

/* And so does the other one. */
static bool both_verify(const struct scratch *scratch, uint64_t events)
{
    return verifies(scratch, events) && ask_python(scratch, "journal.jsonl") == 0;
}

static bool note(struct journal *journal, const char *kind)
{
    return journal_stage(journal, &(struct event){.kind = kind}) && journal_commit(journal, false, &error);
}

#endif
