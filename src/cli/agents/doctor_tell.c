/* What `doctor` says: lines that are well, notes, faults with the command that mends them. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/agents/doctor_internal.h"
#include "cli/agents/subprocess.h"
#include "cli/commands.h"

static void print_line(const struct doctor *d, const char *word, const char *format, va_list args)
{
    struct buf line;
    char text[4096];
    vsnprintf(text, sizeof(text), format, args);
    buf_init(&line, 1u << 20);
    utf8_append_printable(&line, slice_of(d->place));
    utf8_append_printable(&line, slice_of(text));
    printf("%-6s %.*s\n", word, SLICE_FMT(buf_slice_of(&line)));
    buf_finish(&line);
}

void doctor_good(const struct doctor *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(d, "ok", format, args);
    va_end(args);
}

void doctor_note(const struct doctor *d, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(d, "note", format, args);
    va_end(args);
}

void doctor_fault(struct doctor *d, const char *mend, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(d, "FAULT", format, args);
    va_end(args);
    struct buf line;
    buf_init(&line, 1u << 20);
    utf8_append_printable(&line, slice_of(mend));
    printf("       mend: %.*s\n", SLICE_FMT(buf_slice_of(&line)));
    buf_finish(&line);
    d->faults++;
}

/* A command that a person may copy: whatever the word is, a shell reads it as one. */
void doctor_write_command(char ret_mend[MEND_SIZE], const char *before, const char *word, const char *after)
{
    struct buf text;
    buf_init(&text, MEND_SIZE - 1);
    buf_text(&text, before);
    write_shell_word(&text, word);
    buf_text(&text, after);
    buf_byte(&text, '\0');
    snprintf(ret_mend, MEND_SIZE, "%s%s", buf_ok(&text) ? text.ptr : before, buf_ok(&text) ? "" : "it");
    buf_finish(&text);
}
