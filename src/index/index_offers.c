/* What a reading offers to the rules of an index: the prefixes and components of its path, the starts of its command, the
 * domains of its host. */
#include <string.h>

#include "index/search_internal.h"

/* ---- What a path offers ---- */

static inline void take_value(struct search *search, enum facet facet, struct facts_value *list,
                              const struct words *words, const struct word *word)
{
    struct offer *offer = &search->offers[facet];
    struct facts_value value = {index_value_hash(facet, word->id), word_mask(words, word)};
    offer->mask = mask_or(offer->mask, value.mask);
    if (search->policy->index->small) {
        return; /* masks alone count */
    }
    for (size_t i = 0; i < offer->count && facet == FACET_COMPONENT; i++) {
        if (list[i].hash == value.hash) {
            return; /* one name twice in one path */
        }
    }
    if (offer->count == MOST_VALUES) {
        search->overrun = true;
        return;
    }
    list[offer->count++] = value;
}

static bool may_be_part(const struct lengths *lengths, char c)
{
    unsigned char byte = (unsigned char)c;
    return (lengths->bytes[byte / 64] >> byte % 64 & 1) != 0;
}

/* Patterns with a star that a component begins with, or ends with. */
static void take_parts(struct search *search, const struct lengths *lengths, enum role role,
                       struct slice name)
{
    const struct words *words = &search->policy->index->words[role];
    for (uint32_t i = 0; i < lengths->count && lengths->list[i] <= name.len; i++) {
        size_t len = lengths->list[i];
        struct slice part = {role == ROLE_ENDS ? name.ptr + name.len - len : name.ptr, len};
        const struct word *word = words_find_rare(words, part);
        if (word != NULL) {
            take_value(search, FACET_COMPONENT, search->components, words, word);
        }
    }
}

static void take_component(struct search *search, struct slice name)
{
    const struct policy_index *index = search->policy->index;
    const struct words *words = &index->words[ROLE_COMPONENT];
    const struct word *word = words_find_rare(words, name);
    if (word != NULL) {
        take_value(search, FACET_COMPONENT, search->components, words, word);
    }
    if (may_be_part(&index->starts, name.ptr[0])) {
        take_parts(search, &index->starts, ROLE_STARTS, name);
    }
    if (may_be_part(&index->ends, name.ptr[name.len - 1])) {
        take_parts(search, &index->ends, ROLE_ENDS, name);
    }
}

/* What finding the prefixes above a path has come to. */
struct climb {
    struct intern_prefix_hash hash;
    unsigned depth;
};

static void take_prefix(struct search *search, struct climb *climb, struct slice prefix)
{
    const struct policy_index *index = search->policy->index;
    const struct words *words = &index->words[ROLE_PREFIX];
    if ((index->depths >> index_depth_bit(climb->depth) & 1) == 0 || !words_may_have(words, prefix)) {
        return;
    }
    uint32_t hash = intern_prefix_hash_of(&climb->hash, prefix);
    const struct word *word = words_find_hashed(words, prefix, 0, hash);
    if (word != NULL) {
        take_value(search, FACET_PREFIX, search->prefixes, words, word);
    }
}

/* The slashes among up to eight bytes, a bit for each, the first byte's the lowest. */
static uint64_t slashes(const char *at, size_t len)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    uint64_t word = 0;
    if (len >= 8) {
        word = intern_load64(at);
    } else {
        memcpy(&word, at, len);
    }
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    word ^= 0x2f2f2f2f2f2f2f2fu;
    uint64_t found = ~(((word & low) + low) | word | low); /* the high bit of each byte that was a slash */
    return (found >> 7) * 0x0102040810204080u >> 56;
}

/* One component of a path, which ends at `end`, with all that is before it. */
static void take_step(struct search *search, struct climb *climb, struct slice path, size_t begin, size_t end,
                      bool prefixes, bool components)
{
    climb->depth++;
    if (prefixes) {
        take_prefix(search, climb, (struct slice){path.ptr, end});
    }
    if (components) {
        take_component(search, (struct slice){path.ptr + begin, end - begin});
    }
}

/* Which rules' prefixes and patterns a path has, as far as the rules that are left need it. */
void search_take_path(struct search *search, struct slice path, struct facts_mask left)
{
    const struct policy_index *index = search->policy->index;
    struct climb climb = {.depth = 0};
    bool prefixes = mask_meets(left, index->with[FACET_PREFIX]);
    bool components = mask_meets(left, index->with[FACET_COMPONENT]);
    if (!prefixes && !components) {
        return;
    }
    intern_prefix_hash_start(&climb.hash);
    if (prefixes) {
        take_prefix(search, &climb, (struct slice){path.ptr, 1});
    }
    if (path.len == 1) {
        return;
    }
    size_t begin = 1;
    for (size_t at = 1; at < path.len; at += 8) {
        for (uint64_t found = slashes(path.ptr + at, path.len - at); found != 0; found &= found - 1) {
            size_t end = at + (unsigned)__builtin_ctzll(found);
            take_step(search, &climb, path, begin, end, prefixes, components);
            begin = end + 1;
        }
    }
    take_step(search, &climb, path, begin, path.len, prefixes, components);
}

/* ---- What a command offers ---- */

static void add_command(struct search *search, uint32_t id, struct facts_mask mask)
{
    struct offer *offer = &search->offers[FACET_COMMAND];
    search->commands[offer->count++] = (struct facts_value){index_value_hash(FACET_COMMAND, id), mask};
    offer->mask = mask_or(offer->mask, mask);
}

static void take_start(struct search *search, enum role role, struct slice text)
{
    const struct words *words = &search->policy->index->words[role];
    const struct word *word = words_find_rare(words, text);
    if (word != NULL) {
        add_command(search, index_command_value(word->id, role == ROLE_NAME), word_mask(words, word));
    }
}

/* The first two words as match_pattern.start has them; an empty text when they are longer than any of these. */
static struct slice two_words(struct slice first, struct slice second, char room[PATTERN_START_BYTES])
{
    if (first.len + 1 + second.len > PATTERN_START_BYTES) {
        return (struct slice){room, 0};
    }
    memcpy(room, first.ptr, first.len);
    room[first.len] = '\0';
    memcpy(room + first.len + 1, second.ptr, second.len);
    return (struct slice){room, first.len + 1 + second.len};
}

void search_take_command(struct search *search, const struct command *command)
{
    char room[PATTERN_START_BYTES];
    struct slice first = command->first->text, name = first;
    const char *slash = memrchr(first.ptr, '/', first.len);
    if (slash != NULL) {
        name = slice_from(first, (size_t)(slash - first.ptr) + 1);
    }
    add_command(search, COMMAND_ANY, search->policy->index->any_command);
    take_start(search, ROLE_PROGRAM, first);
    take_start(search, ROLE_NAME, name);
    if (command->known > 1) {
        struct slice second = command_word_at(command, 1)->text;
        take_start(search, ROLE_PROGRAM, two_words(first, second, room));
        take_start(search, ROLE_NAME, two_words(name, second, room));
    }
}

/* ---- What a host offers ---- */

void search_take_host(struct search *search, struct slice host)
{
    const struct policy_index *index = search->policy->index;
    const struct word *word = words_find_rare(&index->words[ROLE_HOST], host);
    if (word != NULL) {
        take_value(search, FACET_HOST, search->hosts, &index->words[ROLE_HOST], word);
    }
    for (size_t at = 0; at < host.len && index->words[ROLE_BELOW].slots != 0; at++) {
        if (host.ptr[at] == '.' && at != 0) {
            word = words_find_rare(&index->words[ROLE_BELOW], slice_from(host, at));
            if (word != NULL) {
                take_value(search, FACET_HOST, search->hosts, &index->words[ROLE_BELOW], word);
            }
        }
    }
}
