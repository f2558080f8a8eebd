/* The texts in a word that may be places, and the runs in a text that may be words or hosts. */
#include <string.h>

#include "command/internal.h"
#include "url/url.h"

/* What is walked of a word, in this order. */
enum step {
    STEP_WHOLE,  /* the word, or of one with a leading `-` what may be a place in it */
    STEP_PARTS,  /* what follows each `,`, `:` and `@` of that, and what stands before its first `:` */
    STEP_EQUALS, /* what follows the first `=`, of a word without a leading `-` */
    STEP_EQUALS_PARTS,
    STEP_END,
};

static struct slice behind_equals(struct slice word)
{
    const char *equals = word.len == 0 ? NULL : memchr(word.ptr, '=', word.len);
    return equals == NULL ? (struct slice){NULL, 0} : slice_from(word, (size_t)(equals - word.ptr) + 1);
}

/* What may be a place in a word with a leading `-`: behind its first `=`, or else from its first `/`, `.` or `~`. */
static struct slice option_place(struct slice word)
{
    struct slice place = behind_equals(word);
    if (place.ptr != NULL) {
        return place;
    }
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '/' || word.ptr[i] == '.' || word.ptr[i] == '~') {
            return slice_from(word, i);
        }
    }
    return (struct slice){NULL, 0};
}

void command_split_start(struct command_split *split, struct slice word, bool home)
{
    bool dash = word.len > 0 && word.ptr[0] == '-';
    *split = (struct command_split){.whole = dash ? option_place(word) : word, .home = home};
    split->next = dash || url_begins(word) ? (struct slice){NULL, 0} : behind_equals(word);
}

/* The next of the parts of split->whole: what stands before its first `:` comes first. */
static bool next_part(struct command_split *split, struct command_place *place)
{
    struct slice whole = split->whole;
    if (!split->before_done) {
        split->before_done = true;
        const char *colon = whole.len == 0 ? NULL : memchr(whole.ptr, ':', whole.len);
        if (colon != NULL) {
            place->text = (struct slice){whole.ptr, (size_t)(colon - whole.ptr)};
            place->home = split->home;
            return true;
        }
    }
    bool pathspec = slice_starts_with(whole, SLICE(":("));
    while (split->at < whole.len) {
        char c = whole.ptr[split->at++];
        if (c == ',' || c == ':' || c == '@' || (pathspec && c == ')')) {
            place->text = slice_from(whole, split->at);
            place->home = false;
            return true;
        }
    }
    return false;
}

/* The step behind this one. Of what follows the first `=` only what stands before its first `:` is new: what
 * follows the others was a part of the word. */
static void next_step(struct command_split *split)
{
    if (split->step == STEP_PARTS) {
        split->whole = split->next;
        split->home = false;
    }
    split->step++;
    split->at = split->step == STEP_EQUALS_PARTS ? split->whole.len : 0;
    split->before_done = false;
}

bool command_split_next(struct command_split *split, struct command_place *ret_place)
{
    struct command_place place = {.home = false};
    while (split->step < STEP_END) {
        bool parts = split->step == STEP_PARTS || split->step == STEP_EQUALS_PARTS;
        if (parts) {
            if (url_begins(split->whole) || !next_part(split, &place)) {
                next_step(split);
                continue;
            }
        } else {
            place.text = split->whole;
            place.home = split->home;
            next_step(split);
        }
        if (place.text.len > 0) {
            place.url = url_begins(place.text);
            *ret_place = place;
            return true;
        }
    }
    return false;
}

/* A character that may stand in a word without quotes. */
static bool is_run_char(char c)
{
    enum word_char kind = (enum word_char)word_chars[(unsigned char)c];
    return kind == CHAR_PLAIN || kind == CHAR_EQUALS || kind == CHAR_COLON || kind == CHAR_CARET ||
           kind == CHAR_TILDE;
}

/* The length of `$HOME`, `${HOME}`, `$PWD` or `${PWD}` at the beginning of a text, and what it is filled in for. */
static size_t directory_variable(struct slice text, struct slice *ret_name)
{
    static const struct {
        struct slice written, name;
    } forms[] = {{{"$HOME", 5}, {"$HOME", 5}},
                 {{"${HOME}", 7}, {"$HOME", 5}},
                 {{"$PWD", 4}, {"$PWD", 4}},
                 {{"${PWD}", 6}, {"$PWD", 4}}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        size_t len = forms[i].written.len;
        if (slice_starts_with(text, forms[i].written) && (len == text.len || !is_name_char(text.ptr[len]))) {
            *ret_name = forms[i].name;
            return len;
        }
    }
    return 0;
}

bool command_run_next(struct slice text, size_t *at, char room[COMMAND_RUN_BYTES], struct slice *ret_run)
{
    while (*at < text.len) {
        size_t begin = *at;
        struct slice name = {NULL, 0};
        size_t variable = text.ptr[begin] == '$' ? directory_variable(slice_from(text, begin), &name) : 0;
        *at += variable;
        while (*at < text.len && is_run_char(text.ptr[*at])) {
            (*at)++;
        }
        struct slice rest = {text.ptr + begin + variable, *at - begin - variable};
        if (*at == begin) {
            (*at)++;
        } else if (name.len + rest.len <= COMMAND_RUN_BYTES) {
            memcpy(room, name.len == 0 ? "" : name.ptr, name.len);
            memcpy(room + name.len, rest.ptr, rest.len);
            *ret_run = (struct slice){room, name.len + rest.len};
            return true;
        }
    }
    return false;
}

static bool is_host_char(char c)
{
    return is_name_char(c) || c == '.' || c == '-';
}

bool command_host_run_next(struct slice text, size_t *at, struct slice *ret_run)
{
    while (*at < text.len && !is_host_char(text.ptr[*at])) {
        (*at)++;
    }
    size_t begin = *at;
    while (*at < text.len && is_host_char(text.ptr[*at])) {
        (*at)++;
    }
    *ret_run = (struct slice){text.ptr + begin, *at - begin};
    return *at > begin;
}
