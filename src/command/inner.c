/* Commands that stand in the words of others, read aside: behind a program such as sudo, behind `find -exec`, and
 * a command without its options. */
#include <string.h>

#include "command/internal.h"

#define INNER_DEPTH 8u         /* of commands in commands in commands */
#define INNER_WORDS (1u << 20) /* of all inner commands of a list together */
#define INNER_TAILS 16u        /* places where a subcommand may begin behind options */

struct inner {
    struct command_reader *reader;
    const struct command *owner;
    uint32_t owner_index;
    size_t words; /* so far */
    bool over, no_memory;
};

/* How an inner command stands to the one in whose words it was found. */
enum how {
    HOW_EVERY_WORD = 1, /* not all that begins at its own later words is added already */
    HOW_FEWER = 2,      /* it is that one without its options */
};

static bool add_one(struct inner *inner, const struct command_word *words, uint32_t count, bool open,
                    unsigned how, unsigned depth);

static bool has_opaque(const struct command_word *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (is_opaque(&words[i])) {
            return true;
        }
    }
    return false;
}

/* Programs that run what begins at some later word. An opaque word may begin it where nothing but options stands
 * before it. */
static bool add_suffixes(struct inner *inner, const struct command_word *words, uint32_t count, bool open,
                         unsigned depth)
{
    bool options = true;
    for (uint32_t i = 1; i < count; i++) {
        if (is_opaque(&words[i])) {
            return !options || add_one(inner, words + i, count - i, true, 0, depth);
        }
        if (!add_one(inner, words + i, count - i, open, 0, depth)) {
            return false;
        }
        options = options && begins_with_dash(&words[i]);
    }
    return true;
}

static bool is_exec(struct slice word)
{
    return slice_is(word, "-exec") || slice_is(word, "-execdir") || slice_is(word, "-ok") ||
           slice_is(word, "-okdir");
}

/* What stands behind `-exec` and its like, up to `;` or `{} +`. */
static bool add_execs(struct inner *inner, const struct command_word *words, uint32_t count, bool open,
                      unsigned depth)
{
    for (uint32_t i = 1; i + 1 < count; i++) {
        if (is_opaque(&words[i]) || !is_exec(words[i].text)) {
            continue;
        }
        uint32_t end = i + 1;
        while (end < count && !slice_is(words[end].text, ";") &&
               !(slice_is(words[end].text, "+") && slice_is(words[end - 1].text, "{}"))) {
            end++;
        }
        bool ends = end < count;
        if (end > i + 1 &&
            !add_one(inner, words + i + 1, end - i - 1, open && !ends, HOW_EVERY_WORD, depth)) {
            return false;
        }
    }
    return true;
}

static bool same_words(const struct command_word *a, uint32_t a_count, const struct command_word *b,
                       uint32_t b_count)
{
    bool same = a_count == b_count;
    for (uint32_t i = 0; same && i < a_count; i++) {
        same = a[i].at == b[i].at && a[i].text.ptr == b[i].text.ptr && slice_eq(a[i].text, b[i].text);
    }
    return same;
}

/* Words of which a command without its options is made. */
struct variant {
    struct command_word *words;
    uint32_t count;
};

/* The first word, and those of the others that stay when options are taken away: alone, or each with the word
 * behind it, unless it has a `=`. */
static void strip_options(const struct command_word *words, uint32_t count, bool with_values,
                          struct variant *variant)
{
    bool value = false; /* the word before is an option that may have this one as its value */
    for (uint32_t i = 0; i < count; i++) {
        bool dash = i > 0 && begins_with_dash(&words[i]);
        if (!dash && !value) {
            variant->words[variant->count++] = words[i];
        }
        value = dash && with_values && memchr(words[i].text.ptr, '=', words[i].text.len) == NULL;
    }
}

/* The first word, and the others from `tail` on. */
static void cut_options(const struct command_word *words, uint32_t count, uint32_t tail,
                        struct variant *variant)
{
    variant->words[variant->count++] = words[0];
    memcpy(variant->words + 1, words + tail, (count - tail) * sizeof(*words));
    variant->count += count - tail;
}

/* The next word at which a subcommand may begin: the first that is no option, or one behind an option, which is
 * its value if it is not that. 0 when there is none. */
static uint32_t next_tail(const struct command_word *words, uint32_t count, uint32_t tail)
{
    bool was_value = tail > 1 && begins_with_dash(&words[tail - 1]) &&
                     memchr(words[tail - 1].text.ptr, '=', words[tail - 1].text.len) == NULL;
    if (tail > 0 && !was_value) {
        return 0;
    }
    uint32_t i = tail + 1;
    while (i < count && begins_with_dash(&words[i])) {
        i++;
    }
    return i < count ? i : 0;
}

/* A command whose second word begins with `-`, without what may be its options. */
static bool add_without_options(struct inner *inner, const struct command_word *words, uint32_t count,
                                bool open, unsigned depth)
{
    struct variant made[2 + INNER_TAILS];
    uint32_t tail = 0;
    for (uint32_t i = 0; i < 2 + INNER_TAILS; i++) {
        tail = i < 2 ? 0 : next_tail(words, count, tail);
        if (i >= 2 && tail == 0) {
            return true;
        }
        inner->words += count;
        made[i] = (struct variant){.words = arena_array(&inner->reader->arena, count, sizeof(*words))};
        if (made[i].words == NULL) {
            inner->no_memory = true;
            return false;
        }
        if (i < 2) {
            strip_options(words, count, i == 1, &made[i]);
        } else {
            cut_options(words, count, tail, &made[i]);
        }
        bool known = false;
        for (uint32_t j = 0; j < i && !known; j++) {
            known = same_words(made[i].words, made[i].count, made[j].words, made[j].count);
        }
        /* Behind an opaque word nothing was looked at: it may have been an option's value. */
        unsigned how = HOW_FEWER | (has_opaque(words, count) ? HOW_EVERY_WORD : 0u);
        if (!known && !add_one(inner, made[i].words, made[i].count, open, how, depth)) {
            return false;
        }
    }
    return true;
}

/* Adds what stands in the words of one command. */
static bool add_inside(struct inner *inner, const struct command_word *words, uint32_t count, bool open,
                       bool every_word, unsigned depth)
{
    if (is_opaque(&words[0])) {
        return true;
    }
    uint32_t flags = name_flags(name_base(words[0].text));
    bool suffixes = every_word || has_opaque(words, count);
    if ((flags & NAME_WRAPPER) != 0 && suffixes && !add_suffixes(inner, words, count, open, depth)) {
        return false;
    }
    if ((flags & NAME_FIND) != 0 && !add_execs(inner, words, count, open, depth)) {
        return false;
    }
    return count < 2 || !begins_with_dash(&words[1]) || add_without_options(inner, words, count, open, depth);
}

/* Adds one inner command and what stands in it. */
static bool add_one(struct inner *inner, const struct command_word *words, uint32_t count, bool open,
                    unsigned how, unsigned depth)
{
    struct command_reader *reader = inner->reader;
    size_t before = reader->command_count;
    inner->words += count;
    inner->over =
        inner->over || depth >= INNER_DEPTH || before >= COMMAND_INNER || inner->words > INNER_WORDS;
    if (inner->over) {
        return false;
    }
    struct sink sink = {.reader = reader,
                        .cd = inner->owner->cd,
                        .flags = inner->owner->flags & (COMMAND_ASSIGNED | COMMAND_LOST)};
    if (!sink_add(&sink, words, count, open, words[0].at, 0)) {
        reader->command_count = before;
        struct command unreadable = {
            .flags = COMMAND_UNREADABLE | COMMAND_OPEN, .raw = {"", 0}, .at = sink.at, .reason = sink.reason};
        if (sink.no_memory || !sink_push(&sink, &unreadable)) {
            inner->no_memory = true;
            return false;
        }
    }
    size_t after = reader->command_count;
    for (size_t i = before; i < after; i++) {
        struct command command = reader->commands[i];
        reader->commands[i].owner = inner->owner_index;
        bool same = command.first == words; /* or one of the text of `sh -c` */
        reader->commands[i].flags |= !same                    ? (uint32_t)COMMAND_OF_TEXT
                                     : (how & HOW_FEWER) != 0 ? (uint32_t)COMMAND_FEWER
                                                              : 0u;
        if (command.count > 0 && (command.flags & COMMAND_REDIRECTION) == 0 &&
            !add_inside(inner, command.first, command.count, (command.flags & COMMAND_OPEN) != 0,
                        !same || (how & HOW_EVERY_WORD) != 0, depth + 1)) {
            return false;
        }
    }
    return true;
}

bool command_read_inner(struct command_reader *reader, struct command_list *list)
{
    struct inner inner = {.reader = reader};
    reader->command_count = reader->word_count = reader->redirection_count = 0;
    size_t documents = reader->document_count; /* those of inner texts are in their words */
    for (uint32_t i = 0; i < list->count && !inner.over && !inner.no_memory; i++) {
        const struct command *command = &list->commands[i];
        inner.owner = command;
        inner.owner_index = i;
        if (command->count > 0 && (command->flags & COMMAND_REDIRECTION) == 0) {
            bool open = (command->flags & COMMAND_OPEN) != 0;
            (void)add_inside(&inner, command->first, command->count, open, true, 0);
        }
    }
    reader->document_count = documents;
    const struct command *kept = keep_array(reader, reader->commands, reader->command_count, sizeof(*kept));
    if (inner.no_memory || kept == NULL) {
        return false;
    }
    list->inner = kept;
    list->inner_count = (uint32_t)reader->command_count;
    list->inner_over = inner.over;
    return true;
}
