/* What is made of the words of commands: what must not be read, `sh -c` seen through, what a command does to
 * those after it; and the reader's doors. */
#include <stdlib.h>
#include <string.h>

#include "command/internal.h"

bool sink_refuse(struct sink *sink, size_t at, const char *reason)
{
    if (sink->reason == NULL) {
        sink->reason = reason;
        sink->at = (uint32_t)at;
    }
    return false;
}

bool sink_no_memory(struct sink *sink)
{
    sink->no_memory = true;
    return false;
}

struct command_word *sink_copy_words(struct sink *sink, const struct command_word *words, size_t count)
{
    struct command_word *copy = arena_array(&sink->reader->arena, count, sizeof(*copy));
    if (copy == NULL) {
        sink->no_memory = true;
        return NULL;
    }
    memcpy(copy, words, count * sizeof(*copy));
    return copy;
}

bool sink_push(struct sink *sink, const struct command *command)
{
    struct command_reader *reader = sink->reader;
    if (!stack_room((void **)&reader->commands, reader->command_count, &reader->command_cap,
                    sizeof(*reader->commands))) {
        return sink_no_memory(sink);
    }
    reader->commands[reader->command_count++] = *command;
    return true;
}

/* What a builtin would evaluate of a word. */
static bool is_evaluated(const struct command_word *word)
{
    for (size_t i = 0; i < word->text.len; i++) {
        char c = word->text.ptr[i];
        if (c == '$' || c == '`' || c == '[') {
            return true;
        }
    }
    return (word->flags & COMMAND_WORD_EXPANDED) != 0;
}

/* Whether a command is one that runs or evaluates what it is told, where no shell agrees with another. */
static bool refuse_builtins(struct sink *sink, const struct command_word *words, uint32_t count, uint32_t at)
{
    uint32_t index = name_index(words, count);
    if (index == count) {
        return true;
    }
    if (is_opaque(&words[index])) {
        return sink_refuse(sink, at, "a command whose name is not known");
    }
    uint32_t flags = name_flags(words[index].text);
    if ((flags & NAME_RUNS_TEXT) != 0) {
        return sink_refuse(sink, at, "a builtin that runs what it is told");
    }
    for (uint32_t i = index + 1; (flags & NAME_JOBS) != 0 && i < count; i++) {
        bool option =
            begins_with_dash(&words[i]) && memchr(words[i].text.ptr, 'x', words[i].text.len) != NULL;
        if (option || is_opaque(&words[i])) {
            return sink_refuse(sink, at, "a builtin that runs what it is told");
        }
    }
    for (uint32_t i = index + 1; (flags & NAME_SUBSCRIPTS) != 0 && i < count; i++) {
        if (is_evaluated(&words[i])) {
            return sink_refuse(sink, at, "a builtin that may evaluate its words");
        }
    }
    return true;
}

/* How a command stands to `sh -c`. */
enum shell_form {
    SHELL_NONE,
    SHELL_TEXT, /* its third word is a text */
    SHELL_BAD,  /* a `-c` in another form, or one that may be there */
};

static bool is_plain_shell(struct slice name)
{
    static const struct slice folders[] = {{"/bin/", 5}, {"/usr/bin/", 9}, {"/usr/local/bin/", 15}};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (slice_starts_with(name, folders[i])) {
            return (name_flags(slice_from(name, folders[i].len)) & NAME_SHELL) != 0;
        }
    }
    return (name_flags(name) & NAME_SHELL) != 0;
}

/* An option in which some shell finds a `c`: `-c`, `+c`, `-oc`, and of ksh93 also `-x-c`; and `-x-x`, behind which ksh93
 * takes a word for a text. */
static bool has_c(struct slice word)
{
    return word.len > 1 && (word.ptr[0] == '+' || (word.ptr[0] == '-' && word.ptr[1] != '-')) &&
           (memchr(word.ptr, 'c', word.len) != NULL || memchr(word.ptr + 1, '-', word.len - 1) != NULL);
}

/* What ksh93 runs as a text when there is no such file. */
static bool is_script_text(struct slice word)
{
    for (size_t i = 0; i < word.len; i++) {
        enum word_char kind = (enum word_char)word_chars[(unsigned char)word.ptr[i]];
        if (kind != CHAR_PLAIN && kind != CHAR_COLON && kind != CHAR_CARET && kind != CHAR_TILDE) {
            return true;
        }
    }
    return false;
}

static bool is_text_option(struct slice word)
{
    static const struct slice letters = {"abefilnuvxc", 11};
    for (size_t i = 1; i < word.len; i++) {
        if (memchr(letters.ptr, word.ptr[i], letters.len) == NULL) {
            return false;
        }
    }
    return is_letter_option(word) && has_c(word);
}

static enum shell_form shell_form(const struct command_word *words, uint32_t count, bool open)
{
    if (is_opaque(&words[0]) || (name_flags(name_base(words[0].text)) & NAME_SHELL) == 0) {
        return SHELL_NONE;
    }
    if (count == 3 && !open && !is_opaque(&words[1]) && !is_opaque(&words[2]) &&
        is_plain_shell(words[0].text) && is_text_option(words[1].text)) {
        return SHELL_TEXT;
    }
    bool options = true, value = false; /* options so far; the word is the value of `-o` */
    for (uint32_t i = 1; i < count; i++) {
        struct slice word = words[i].text;
        bool option = word.len > 0 && (word.ptr[0] == '-' || word.ptr[0] == '+');
        if ((i < 3 && is_opaque(&words[i])) || has_c(word) ||
            (options && !option && !value && is_script_text(word))) {
            return SHELL_BAD;
        }
        options = options && (option || value);
        value =
            option && (memchr(word.ptr, 'o', word.len) != NULL || memchr(word.ptr, 'O', word.len) != NULL);
    }
    return open && count < 3 ? SHELL_BAD : SHELL_NONE;
}

bool sink_stands_for_itself(struct sink *sink, const struct command_word *words, uint32_t count)
{
    if (!refuse_builtins(sink, words, count, words[0].at)) {
        return false;
    }
    enum shell_form form = shell_form(words, count, false);
    bool has_text = form == SHELL_TEXT;
    for (uint32_t i = 1; i < count; i++) {
        has_text =
            has_text || (form == SHELL_BAD && has_c(words[i].text)); /* `*` is any word, but one word */
    }
    return !has_text ||
           sink_refuse(sink, words[0].at, "a shell's '-c', which is seen through: name the command inside");
}

static bool see_through(struct sink *sink, const struct command_word *text, uint32_t at, unsigned shells)
{
    struct scan scan;
    if (shells >= COMMAND_SHELLS) {
        return sink_refuse(sink, at, "shells too deep");
    }
    uint32_t origin = shells > 0 ? at : text->at;
    return scan_text(sink, text->text, origin, shells + 1, &scan);
}

static bool add_cd(struct sink *sink, struct slice text, bool home)
{
    struct command_cd *cd = arena_alloc(&sink->reader->arena, sizeof(*cd));
    if (cd == NULL) {
        return sink_no_memory(sink);
    }
    *cd = (struct command_cd){.before = sink->cd, .text = text, .home = home};
    sink->cd = cd;
    return true;
}

/* A change of directory: where the commands after it may start. */
static bool change_directory(struct sink *sink, const struct command_word *words, uint32_t count, bool open)
{
    const struct command_word *place = NULL;
    bool lost = open;
    for (uint32_t i = 1; i < count; i++) {
        bool dash = begins_with_dash(&words[i]);
        lost = lost || is_opaque(&words[i]) || slice_is(words[i].text, "-") || (!dash && place != NULL);
        place = dash ? place : &words[i];
    }
    bool is_cd = slice_is(words[0].text, "cd");
    /* Options alone: no shell agrees with another on where `cd -- -x` leads. */
    lost = lost || (place == NULL && count > 1);
    if (lost) {
        sink->flags |= COMMAND_LOST;
        return true;
    }
    if (place != NULL) {
        return add_cd(sink, place->text, (place->flags & COMMAND_WORD_HOME) != 0);
    }
    return !is_cd || add_cd(sink, SLICE("~"), true);
}

/* What a command does to those after it. */
static bool keep_effects(struct sink *sink, const struct command_word *words, uint32_t count, bool open)
{
    uint32_t index = name_index(words, count);
    if (index == count) {
        return true;
    }
    words += index;
    count -= index;
    uint32_t flags = name_flags(words[0].text);
    bool assigns = (flags & NAME_ASSIGNS) != 0;
    if (slice_is(words[0].text, "printf") || slice_is(words[0].text, "print")) {
        assigns = open;
        for (uint32_t i = 1; i < count; i++) {
            assigns = assigns || is_opaque(&words[i]) || slice_starts_with(words[i].text, SLICE("-v"));
        }
    }
    sink->flags |= assigns ? (uint32_t)COMMAND_ASSIGNED : 0;
    sink->flags |= (flags & NAME_POPD) != 0 ? (uint32_t)COMMAND_LOST : 0;
    return (flags & NAME_CD) == 0 || change_directory(sink, words, count, open);
}

bool sink_add(struct sink *sink, const struct command_word *words, uint32_t count, bool open, uint32_t at,
              unsigned shells)
{
    /* Of most commands nothing more is known than their words. */
    bool named = is_opaque(&words[0]) || name_flags(name_base(words[0].text)) != 0;
    if (named && !refuse_builtins(sink, words, count, at)) {
        return false;
    }
    enum shell_form form = named ? shell_form(words, count, open) : SHELL_NONE;
    if (form == SHELL_BAD) {
        return sink_refuse(sink, at, "a shell's '-c' in a form that is not read");
    }
    if (form == SHELL_TEXT) {
        return see_through(sink, &words[2], at, shells);
    }
    struct command command = {.first = words,
                              .rest = words + 1,
                              .count = count,
                              .known = count,
                              .flags = sink->flags,
                              .cd = sink->cd};
    for (uint32_t i = 0; i < command.known; i++) {
        if (is_opaque(&words[i])) {
            command.known = i;
        }
    }
    command.flags |= command.known < count || open ? (uint32_t)COMMAND_OPEN : 0;
    return sink_push(sink, &command) && (!named || keep_effects(sink, words, count, open));
}

bool sink_add_redirection(struct sink *sink, const struct redirection *redirection)
{
    const struct command_word words[2] = {
        {.text = redirection->operator== '<' ? SLICE("<") : SLICE(">"), .at = redirection->at},
        redirection->target,
    };
    struct command_word *copy = sink_copy_words(sink, words, 2);
    if (copy == NULL) {
        return false;
    }
    const struct command command = {.first = copy,
                                    .rest = copy + 1,
                                    .count = 2,
                                    .known = 2,
                                    .flags = sink->flags | COMMAND_REDIRECTION,
                                    .cd = sink->cd};
    return sink_push(sink, &command);
}

struct command_reader *command_reader_create(void)
{
    struct command_reader *reader = calloc(1, sizeof(*reader));
    if (reader != NULL) {
        arena_init(&reader->arena, 0);
    }
    return reader;
}

void command_reader_destroy(struct command_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    arena_finish(&reader->arena);
    free(reader->words);
    free(reader->redirections);
    free(reader->commands);
    free(reader->documents);
    free(reader);
}

void command_reader_reset(struct command_reader *reader)
{
    arena_reset(&reader->arena);
}

static void begin_list(struct command_reader *reader, struct sink *ret_sink)
{
    reader->word_count = reader->redirection_count = reader->command_count = reader->document_count = 0;
    *ret_sink = (struct sink){.reader = reader};
}

void *keep_array(struct command_reader *reader, const void *items, size_t count, size_t size)
{
    void *copy = arena_array(&reader->arena, count + 1, size);
    if (copy != NULL && count > 0) {
        memcpy(copy, items, count * size);
    }
    return copy;
}

/* Makes the list of what was read; of what cannot be read one unreadable command with the raw text. */
static bool end_list(struct sink *sink, struct slice raw, struct command_list *ret_list)
{
    struct command_reader *reader = sink->reader;
    if (sink->no_memory) {
        return false;
    }
    if (sink->reason != NULL) {
        const struct command unreadable = {
            .flags = COMMAND_UNREADABLE | COMMAND_OPEN, .raw = raw, .at = sink->at, .reason = sink->reason};
        reader->command_count = reader->document_count = 0;
        if (!sink_push(sink, &unreadable)) {
            return false;
        }
    }
    struct command_list list = {.count = (uint32_t)reader->command_count,
                                .document_count = (uint32_t)reader->document_count};
    list.commands = keep_array(reader, reader->commands, list.count, sizeof(*list.commands));
    list.documents = keep_array(reader, reader->documents, list.document_count, sizeof(*list.documents));
    if (list.commands == NULL || list.documents == NULL) {
        return false;
    }
    *ret_list = list;
    return true;
}

/* `count` words from an array of strings, behind others. */
static void strings_to_words(struct command_word *words, const struct slice *strings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        words[i] = (struct command_word){.text = strings[i]};
    }
}

/* The last command of a text with the words that stand beside it; before it, as it is, a text of more words. */
static bool add_args(struct scan *scan, const struct command_args *args)
{
    struct sink *sink = scan->sink;
    const struct last_command *last = &scan->last;
    if (last->count == 0 || !last->last) {
        return sink_refuse(sink, scan->len, "words beside a text that they do not continue");
    }
    struct command_word *words = arena_array(&sink->reader->arena, last->count + args->count, sizeof(*words));
    if (words == NULL) {
        return sink_no_memory(sink);
    }
    memcpy(words, last->words, last->count * sizeof(*words));
    strings_to_words(words + last->count, args->words, args->count);
    sink->cd = last->mark.cd;
    sink->flags = last->mark.flags;
    if (scan->word_total == 1) {
        sink->reader->command_count = last->mark.command_count;
    }
    return sink_add(sink, words, last->count + (uint32_t)args->count, args->open, words[0].at, 0);
}

bool command_read_text(struct command_reader *reader, struct slice text, const struct command_args *args,
                       struct command_list *ret_list)
{
    struct sink sink;
    struct scan scan;
    begin_list(reader, &sink);
    if (scan_text(&sink, text, 0, 0, &scan) && args != NULL && (args->count > 0 || args->open)) {
        (void)add_args(&scan, args); /* what went wrong is in the sink */
    }
    return end_list(&sink, text, ret_list);
}

static bool has_nul(const struct slice *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (memchr(words[i].ptr, '\0', words[i].len) != NULL) {
            return true;
        }
    }
    return false;
}

/* The words of an unreadable array as a text, a line each, for what is read aside. */
static struct slice join_words(struct command_reader *reader, const struct command_word *words, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += words[i].text.len + 1;
    }
    char *text = arena_alloc(&reader->arena, len + 1);
    if (text == NULL) {
        return (struct slice){NULL, 0};
    }
    len = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(text + len, words[i].text.ptr, words[i].text.len);
        len += words[i].text.len;
        text[len++] = '\n';
    }
    return (struct slice){text, len};
}

bool command_read_words(struct command_reader *reader, const struct slice *words, size_t count,
                        const struct command_args *args, struct command_list *ret_list)
{
    struct sink sink;
    begin_list(reader, &sink);
    size_t more = args == NULL ? 0 : args->count;
    struct command_word *all = arena_array(&reader->arena, count + more + 1, sizeof(*all));
    if (all == NULL) {
        return false;
    }
    strings_to_words(all, words, count);
    if (more > 0) {
        strings_to_words(all + count, args->words, more);
    }
    if (has_nul(words, count) || (more > 0 && has_nul(args->words, more))) {
        (void)sink_refuse(&sink, 0, "a NUL in a word");
    } else {
        (void)sink_add(&sink, all, (uint32_t)(count + more), args != NULL && args->open, 0, 0);
    }
    struct slice raw = {"", 0};
    if (sink.reason != NULL) {
        raw = join_words(reader, all, count + more);
        if (raw.ptr == NULL) {
            return false;
        }
    }
    return end_list(&sink, raw, ret_list);
}

bool command_read_nothing(struct command_reader *reader, const char *reason, struct command_list *ret_list)
{
    struct sink sink;
    begin_list(reader, &sink);
    (void)sink_refuse(&sink, 0, reason);
    return end_list(&sink, SLICE(""), ret_list);
}
