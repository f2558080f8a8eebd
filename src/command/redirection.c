/* Redirections and here-documents. */
#include <stdlib.h>
#include <string.h>

#include "command/internal.h"

bool scan_at_redirection(const struct scan *scan)
{
    size_t at = scan->at;
    if (scan_is(scan, '\n') || scan_is(scan, ';') || scan_is(scan, '|')) {
        return false; /* what most commands end with */
    }
    /* Digits, and continuation lines between and behind them: the shells do not agree on what those are. */
    while (at < scan->len) {
        bool continued = at + 1 < scan->len && scan->text[at] == '\\' && scan->text[at + 1] == '\n';
        if (!is_ascii_digit(scan->text[at]) && !(continued && at > scan->at)) {
            break;
        }
        at += continued ? 2 : 1;
    }
    char c = at < scan->len ? scan->text[at] : '\0';
    char next = at + 1 < scan->len ? scan->text[at + 1] : '\0';
    return c == '<' || c == '>' || (c == '&' && next == '>');
}

/* NAME or 'NAME' of a here-document, behind its `<<`. */
static bool here_document(struct scan *scan, size_t begin)
{
    if (scan->document.name.len != 0) {
        return scan_refuse(scan, begin, "two here-documents in one line");
    }
    scan_blanks(scan);
    bool quoted = scan_is(scan, '\'');
    scan->at += quoted;
    size_t name = scan->at;
    while (scan->at < scan->len && is_name_char(scan->text[scan->at])) {
        scan->at++;
    }
    struct slice text = {scan->text + name, scan->at - name};
    if (text.len == 0 || (quoted && !scan_is(scan, '\''))) {
        return scan_refuse(scan, begin, "a here-document of another form");
    }
    scan->at += quoted;
    if (scan_char(scan) != CHAR_END || scan_is(scan, '<') || scan_is(scan, '>')) {
        return scan_refuse(scan, begin, "a here-document of another form");
    }
    scan->document = (struct here_document){.name = text, .quoted = quoted, .depth = scan->depth};
    return true;
}

/* zsh takes `<1-5>` for the names of numbers. */
static bool is_number_range(const struct scan *scan, const struct read_word *word, bool glued)
{
    struct slice text = word->word.text;
    size_t dashes = 0;
    if (!glued || word->quoted || !scan_is(scan, '>')) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        dashes += text.ptr[i] == '-';
        if (text.ptr[i] != '-' && !is_ascii_digit(text.ptr[i])) {
            return false;
        }
    }
    return dashes == 1;
}

/* `2>` behind an operator: the number belongs to the next redirection, so no shell has a file here. */
static bool is_descriptor(const struct scan *scan, const struct read_word *word)
{
    struct slice text = word->word.text;
    if (word->quoted || (!scan_is(scan, '<') && !scan_is(scan, '>'))) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!is_ascii_digit(text.ptr[i])) {
            return false;
        }
    }
    return text.len > 0;
}

static bool push_redirection(struct scan *scan, const struct redirection *redirection)
{
    struct command_reader *reader = scan->sink->reader;
    if (!stack_room((void **)&reader->redirections, reader->redirection_count, &reader->redirection_cap,
                    sizeof(*reader->redirections))) {
        return sink_no_memory(scan->sink);
    }
    reader->redirections[reader->redirection_count++] = *redirection;
    return true;
}

/* The file of a redirection, which is a command of its own when it is no /dev/null; `listed` allows that. */
static bool redirection_file(struct scan *scan, char operator, size_t begin, bool listed)
{
    size_t behind = scan->at;
    scan_blanks(scan);
    bool glued = scan->at == behind;
    if (scan_char(scan) == CHAR_END) {
        return scan_refuse(scan, begin, "a redirection of another form");
    }
    struct read_word file;
    if (!scan_word(scan, &file)) {
        return false;
    }
    if (operator== '<' && is_number_range(scan, &file, glued)) {
        return scan_refuse(scan, begin, "a range of numbers");
    }
    if (is_descriptor(scan, &file)) {
        return scan_refuse(scan, begin, "a number before a redirection");
    }
    if ((file.word.flags & COMMAND_WORD_OPAQUE) != 0) {
        return scan_refuse(scan, begin, "a redirection to a file that is not known");
    }
    if (slice_is(file.word.text, "/dev/null")) {
        return true;
    }
    if (!listed) {
        return scan_refuse(scan, begin, "a redirection of more than one command");
    }
    struct redirection redirection = {.operator= operator, .at =(uint32_t) begin, .target = file.word};
    return push_redirection(scan, &redirection);
}

/* `&>` before /dev/null, at a command's end. dash reads it as the end of a command and an empty one. */
static bool redirect_both(struct scan *scan, size_t begin)
{
    scan->at += 2;
    if (scan_is(scan, '>') || !redirection_file(scan, '>', begin, false)) {
        return scan_refuse(scan, begin, "a redirection of another form");
    }
    scan_blanks(scan);
    if (scan_char(scan) != CHAR_END || scan_at_redirection(scan) || scan_is(scan, '(')) {
        return scan_refuse(scan, begin, "'&>' before a command's end");
    }
    return true;
}

/* `>&` and a digit, behind its `>`. */
static bool redirect_to_digit(struct scan *scan, size_t begin)
{
    scan->at++;
    bool digit = scan->at < scan->len && is_ascii_digit(scan->text[scan->at]);
    scan->at += digit;
    if (!digit || scan_char(scan) != CHAR_END || scan_is(scan, '<') || scan_is(scan, '>')) {
        return scan_refuse(scan, begin, "a redirection of another form");
    }
    return true;
}

bool scan_redirection(struct scan *scan, bool listed)
{
    size_t begin = scan->at;
    if (scan_is(scan, '&')) {
        return redirect_both(scan, begin);
    }
    while (scan->at < scan->len && is_ascii_digit(scan->text[scan->at])) {
        scan->at++;
    }
    size_t digits = scan->at - begin;
    char operator= scan->text[scan->at];
    if (digits > 1 || (digits == 1 && operator!= '>') || operator== '\\') {
        return scan_refuse(scan, begin, "digits before a redirection");
    }
    scan->at++;
    scan_continuations(scan);
    if (operator== '>') {
        if (scan_is(scan, '&')) {
            return redirect_to_digit(scan, begin);
        }
        if (scan_is(scan, '>')) {
            scan->at++;
        }
    } else if (scan_is(scan, '<')) {
        scan->at++;
        return listed ? here_document(scan, begin)
                      : scan_refuse(scan, begin, "a redirection of more than one command");
    }
    return redirection_file(scan, operator, begin, listed);
}

/* One line of a here-document. */
static bool document_line(struct scan *scan, struct slice line)
{
    const struct here_document *document = &scan->document;
    size_t at = (size_t)(line.ptr - scan->text), blanks = 0;
    for (size_t i = 0; i < line.len; i++) {
        char c = line.ptr[i];
        if (is_control(c)) {
            return scan_refuse(scan, at + i, "a control character");
        }
        if (!document->quoted && (c == '$' || c == '\\' || c == '`')) {
            return scan_refuse(scan, at + i, "an expansion in a here-document");
        }
    }
    while (blanks < line.len && (line.ptr[blanks] == ' ' || line.ptr[blanks] == '\t')) {
        blanks++;
    }
    if (document->depth > 0 && slice_starts_with(slice_from(line, blanks), document->name)) {
        return scan_refuse(scan, at, "a line like the end of its here-document");
    }
    return true;
}

static bool keep_document(struct scan *scan, struct slice body)
{
    struct command_reader *reader = scan->sink->reader;
    if (!stack_room((void **)&reader->documents, reader->document_count, &reader->document_cap,
                    sizeof(*reader->documents))) {
        return sink_no_memory(scan->sink);
    }
    reader->documents[reader->document_count++] = body;
    return true;
}

/* The lines of a here-document, from scan->at, up to the one that ends it. */
static bool document_lines(struct scan *scan)
{
    size_t begin = scan->at, at = begin;
    while (at < scan->len) {
        const char *end = memchr(scan->text + at, '\n', scan->len - at);
        size_t len = (end == NULL ? scan->len : (size_t)(end - scan->text)) - at;
        struct slice line = {scan->text + at, len};
        if (slice_eq(line, scan->document.name)) {
            scan->at = at + len + (end != NULL);
            scan->document = (struct here_document){.depth = 0};
            return keep_document(scan, (struct slice){scan->text + begin, at - begin});
        }
        if (!document_line(scan, line)) {
            return false;
        }
        at += len + (end != NULL);
    }
    return scan_refuse(scan, begin - 1, "a here-document that does not end");
}

bool scan_line_end(struct scan *scan)
{
    scan->at++;
    if (scan->document.name.len == 0) {
        return true;
    }
    if (scan->document.depth != scan->depth) {
        return scan_refuse(scan, scan->at - 1, "a line end before a here-document");
    }
    return document_lines(scan);
}

bool scan_inner_line(struct scan *scan)
{
    if (scan->document.name.len != 0 && scan->document.depth != scan->depth) {
        return scan_refuse(scan, scan->at, "a line end before a here-document");
    }
    return true;
}
