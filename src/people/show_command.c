/* A shell command, taken apart as the gate read it: what runs stands in a line of its own, however it was written. */
#include "base/utf8.h"
#include "command/command.h"
#include "people/show_internal.h"

#define LINE_BYTES ((size_t)1 << 20)

/* The names under which every tool's commands stand (SPEC.md section 4.2). */
bool show_is_command_name(struct slice name)
{
    static const char *const names[] = {"command", "cmd", "commands", "commandLine", "command_line"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (slice_eq_ascii_case(name, slice_of(names[i]))) {
            return true;
        }
    }
    return false;
}

static bool show_one(const struct command *command, struct buf *line, unsigned indent,
                     const struct show_lines *lines)
{
    struct buf text;
    buf_init(&text, LINE_BYTES);
    show_begin(line, indent);
    if ((command->flags & COMMAND_UNREADABLE) != 0) {
        buf_printf(line, "cannot be read at %u: %s", command->at, command->reason);
    } else {
        command_append_text(&text, command);
        buf_text(line, (command->flags & COMMAND_REDIRECTION) != 0 ? "file: " : "runs: ");
        utf8_append_printable(line, buf_slice_of(&text));
        buf_text(line,
                 (command->flags & COMMAND_OPEN) != 0 ? "  (more words follow that are not known)" : "");
        buf_text(line, (command->flags & COMMAND_ASSIGNED) != 0 ? "  (with variables set before)" : "");
    }
    line->failed = line->failed || text.failed;
    buf_finish(&text);
    return show_end(line, SHOW_NOTE, lines);
}

bool show_command(struct slice text, struct buf *line, unsigned indent, const struct show_lines *lines)
{
    struct command_reader *reader = command_reader_create();
    struct command_list list;
    bool ok = reader != NULL && command_read_text(reader, text, NULL, &list);
    /* One command that says just what stands there already is not said again. */
    if (ok && list.count == 1 && (list.commands[0].flags & COMMAND_UNREADABLE) == 0) {
        struct buf same;
        buf_init(&same, LINE_BYTES);
        command_append_text(&same, &list.commands[0]);
        list.count = buf_ok(&same) && slice_eq(buf_slice_of(&same), text) ? 0 : 1;
        buf_finish(&same);
    }
    for (uint32_t i = 0; ok && i < list.count; i++) {
        ok = show_one(&list.commands[i], line, indent, lines);
    }
    command_reader_destroy(reader);
    return ok;
}
