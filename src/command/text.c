/* Commands as text that the grammar reads again, and when two commands are one. */
#include "base/buffer.h"
#include "command/internal.h"

/* Whether a word may stand as it is. A first word must not look like the grammar's own words. */
static bool is_plain_word(struct slice word, bool first)
{
    if (word.len == 0 || (first && (name_flags(word) & NAME_RESERVED) != 0)) {
        return false;
    }
    for (size_t i = 0; i < word.len; i++) {
        enum word_char kind = (enum word_char)word_chars[(unsigned char)word.ptr[i]];
        bool plain = (kind == CHAR_PLAIN && word.ptr[i] != '!') || kind == CHAR_COLON;
        if (!plain && !(kind == CHAR_EQUALS && i > 0 && !first)) {
            return false;
        }
    }
    return !first || (word.ptr[0] != '-' && word.ptr[word.len - 1] != ':');
}

static void append_quoted(struct buf *buf, struct slice word)
{
    buf_byte(buf, '\'');
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '\'') {
            buf_text(buf, "'\\''");
        } else {
            buf_byte(buf, word.ptr[i]);
        }
    }
    buf_byte(buf, '\'');
}

void append_word(struct buf *buf, struct slice word, bool first)
{
    if (is_plain_word(word, first)) {
        buf_slice(buf, word);
    } else {
        append_quoted(buf, word);
    }
}

void command_append_word(struct buf *buf, struct slice word)
{
    append_word(buf, word, true);
}

void command_append_text(struct buf *buf, const struct command *command)
{
    if ((command->flags & COMMAND_UNREADABLE) != 0) {
        buf_slice(buf, command->raw);
        return;
    }
    for (uint32_t i = 0; i < command->count; i++) {
        const struct command_word *word = command_word_at(command, i);
        bool redirection = i == 0 && (command->flags & COMMAND_REDIRECTION) != 0;
        buf_text(buf, i > 0 ? " " : "");
        if (is_opaque(word) || redirection) {
            buf_slice(buf, word->text);
        } else if ((word->flags & COMMAND_WORD_HOME) != 0) {
            size_t name = word->text.len > 1 ? 2 : 1; /* the `~`, and the `/` behind it */
            buf_bytes(buf, word->text.ptr, name);
            if (word->text.len > name) {
                append_word(buf, slice_from(word->text, name), false);
            }
        } else {
            append_word(buf, word->text, i == 0);
        }
    }
}

static bool same_cds(const struct command_cd *a, const struct command_cd *b)
{
    while (a != b && a != NULL && b != NULL && a->home == b->home && slice_eq(a->text, b->text)) {
        a = a->before;
        b = b->before;
    }
    return a == b;
}

bool command_equal(const struct command *a, const struct command *b)
{
    const uint32_t flags =
        COMMAND_UNREADABLE | COMMAND_OPEN | COMMAND_ASSIGNED | COMMAND_REDIRECTION | COMMAND_LOST;
    const uint32_t word_flags =
        COMMAND_WORD_OPAQUE | COMMAND_WORD_GLOB | COMMAND_WORD_HOME | COMMAND_WORD_EXPANDED;
    if (((a->flags ^ b->flags) & flags) != 0 || a->count != b->count || a->known != b->known ||
        !slice_eq(a->raw, b->raw) || !same_cds(a->cd, b->cd)) {
        return false;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        const struct command_word *one = command_word_at(a, i), *other = command_word_at(b, i);
        if (((one->flags ^ other->flags) & word_flags) != 0 || !slice_eq(one->text, other->text)) {
            return false;
        }
    }
    return true;
}
