/* A call looked up in the words of an index, as far as the rules that are left need it. */
#include "base/fold.h"
#include "index/index_internal.h"
#include "policy/loose.h"

#define FOLDED_BYTES 256u /* most names of arguments are shorter */

/* In a small policy there are no keys for a hash to be part of. */
static inline struct facts_value value_of(const struct policy_index *index, enum facet facet, enum role role,
                                          const struct word *word)
{
    struct facts_value value = {0};
    if (word != NULL) {
        value.hash = index->small ? 0 : index_value_hash(facet, word->id);
        value.mask = word_mask(&index->words[role], word);
    }
    return value;
}

static uint32_t id_of(const struct word *word)
{
    return word == NULL ? 0 : word->id;
}

/* ---- Names ---- */

static bool server_entry_required(struct facts *facts, const struct policy *policy, struct slice server,
                                  struct slice tool)
{
    buf_reset(&facts->scratch);
    buf_slice(&facts->scratch, server);
    buf_byte(&facts->scratch, '/');
    buf_slice(&facts->scratch, tool);
    return buf_ok(&facts->scratch) &&
           words_find_rare(&policy->index->words[ROLE_REQUIRED], buf_slice_of(&facts->scratch)) != NULL;
}

/* Whether a name is in the default set. No memory is for the caller to see in the scratch buffer. */
static bool needs_rule(struct facts *facts, const struct policy *policy, const struct facts_name *name)
{
    if (policy->required_all || words_find_rare(&policy->index->words[ROLE_REQUIRED], name->tool) != NULL) {
        return true;
    }
    return policy->required_servers && name->has_server &&
           (server_entry_required(facts, policy, name->server, name->tool) ||
            (buf_ok(&facts->scratch) && server_entry_required(facts, policy, name->server, SLICE("*"))));
}

/* Which rules' toolPrefixes a tool's name begins with. */
static bool make_tool_prefixes(struct facts *facts, const struct policy *policy, struct facts_name *name)
{
    const struct lengths *lengths = &policy->index->tool_prefixes;
    const struct words *words = &policy->index->words[ROLE_TOOL_PREFIX];
    if (lengths->count == 0 || name->tool.len < lengths->list[0]) {
        return true;
    }
    size_t most = name->tool.len < lengths->count ? name->tool.len : lengths->count;
    name->prefixes = most <= FACTS_FEW && name == &facts->one_name
                         ? facts->few_prefixes
                         : arena_array(&facts->arena, most, sizeof(*name->prefixes));
    if (name->prefixes == NULL) {
        return false;
    }
    struct intern_prefix_hash state;
    intern_prefix_hash_start(&state);
    for (uint32_t i = 0; i < lengths->count && lengths->list[i] <= name->tool.len; i++) {
        struct slice prefix = {name->tool.ptr, lengths->list[i]};
        const struct word *word = NULL;
        if (words_may_have(words, prefix)) {
            word = words_find_hashed(words, prefix, 0, intern_prefix_hash_of(&state, prefix));
        }
        if (word != NULL) {
            struct facts_value value = value_of(policy->index, FACET_TOOL_PREFIX, ROLE_TOOL_PREFIX, word);
            name->prefixes[name->prefix_count++] = value;
            name->prefix_mask = mask_or(name->prefix_mask, value.mask);
        }
    }
    return true;
}

/* Whether some rule that a mask has left has a facet: else nothing need be looked up for it. */
static bool needed(const struct policy_index *index, struct facts_mask left, enum facet facet)
{
    return mask_meets(left, index->with[facet]);
}

static bool make_name(struct facts *facts, const struct policy *policy, const struct call_name *from,
                      struct facts_name *name)
{
    const struct policy_index *index = policy->index;
    const struct word *tool = words_find(&index->words[ROLE_TOOL], from->tool), *server = NULL;
    name->tool = from->tool;
    name->tool_symbol = id_of(tool);
    name->tool_value = value_of(index, FACET_TOOL, ROLE_TOOL, tool);
    name->has_server = from->has_server;
    name->hints_not = from->hints_not;
    name->server = from->has_server ? from->server : (struct slice){NULL, 0};
    name->needs_rule = needs_rule(facts, policy, name);
    name->prefixes = NULL;
    name->prefix_count = 0;
    name->prefix_mask = (struct facts_mask){0, 0};
    struct facts_mask left = mask_left(index->all, index, FACET_TOOL, name->tool_value.mask);
    left = mask_left(left, index, FACET_CHANNEL, facts->channel_value.mask);
    if (!buf_ok(&facts->scratch)) {
        return false;
    }
    /* The toolPrefixes of few rules are compared, not looked up. */
    if (needed(index, left, FACET_TOOL_PREFIX) &&
        !(index->small && mask_is_few(mask_and(left, index->with[FACET_TOOL_PREFIX])))) {
        if (!make_tool_prefixes(facts, policy, name)) {
            return false;
        }
        left = mask_left(left, index, FACET_TOOL_PREFIX, name->prefix_mask);
    }
    if (from->has_server && needed(index, left, FACET_SERVER)) {
        server = words_find(&index->words[ROLE_SERVER], from->server);
    }
    name->server_symbol = id_of(server);
    name->server_value = value_of(index, FACET_SERVER, ROLE_SERVER, server);
    name->mask = mask_left(left, index, FACET_SERVER, name->server_value.mask);
    return true;
}

static bool make_names(struct facts *facts, const struct policy *policy, const struct call *call)
{
    facts->names = call->name_count == 1
                       ? &facts->one_name
                       : arena_array(&facts->arena, call->name_count, sizeof(*facts->names));
    if (facts->names == NULL) {
        return false;
    }
    facts->name_count = call->name_count;
    for (size_t i = 0; i < call->name_count; i++) {
        if (!make_name(facts, policy, &call->names[i], &facts->names[i])) {
            return false;
        }
    }
    return true;
}

/* ---- Arguments ---- */

/* Restores the heap below `at`: every parent's key at least its children's. */
static void sift(struct match_arg *args, size_t at, size_t count)
{
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && args[child + 1].key > args[child].key) {
            child++;
        }
        if (args[at].key >= args[child].key) {
            return;
        }
        struct match_arg larger = args[child];
        args[child] = args[at];
        args[at] = larger;
        at = child;
    }
}

#define FEW_ARGS 16u

/* By key, in place: qsort may allocate. */
static void sort_args(struct match_arg *args, size_t count)
{
    for (size_t i = 1; i < count && count <= FEW_ARGS; i++) {
        struct match_arg arg = args[i];
        size_t at = i;
        for (; at > 0 && args[at - 1].key > arg.key; at--) {
            args[at] = args[at - 1];
        }
        args[at] = arg;
    }
    for (size_t i = count > FEW_ARGS ? count / 2 : 0; i-- > 0;) {
        sift(args, i, count);
    }
    for (size_t end = count > FEW_ARGS ? count : 0; end-- > 1;) {
        struct match_arg largest = args[0];
        args[0] = args[end];
        args[end] = largest;
        sift(args, 0, end);
    }
}

/* The text of a value that is already in the form that the rules' are kept in; ptr is NULL when it is not. A
 * string that is as long as what it stands for has no escapes, and needs none. */
static struct slice text_as_written(const struct call *call, const struct json_value *value)
{
    bool same =
        value->type <= JSON_TRUE || (value->type == JSON_STRING && value->length == value->str_len + 2u);
    return same ? json_text_of(call->doc, value) : (struct slice){NULL, 0};
}

/* A value in the form of an argument's key, and its hash; nothing when no rule has it. */
__attribute__((always_inline)) static inline void take_value(struct facts *facts,
                                                             const struct policy_index *index, uint32_t key,
                                                             struct slice text, uint32_t hash)
{
    const struct words *words = &index->words[ROLE_ATOM];
    const struct word *word = words_find_hashed(words, text, key, words_atom_hash(hash, key));
    if (word != NULL) {
        facts->args[facts->arg_count++] = index->atoms[word->id - 1];
        struct facts_value atom = value_of(index, FACET_ATOM, ROLE_ATOM, word);
        facts->atoms[facts->atom_count] = atom;
        facts->atom_count += !mask_is_empty(atom.mask);
        facts->atom_mask = mask_or(facts->atom_mask, atom.mask);
    }
}

/* One argument whose value is written in another form than the rules' are kept in; a key of 0 is none. */
__attribute__((noinline)) static bool take_rewritten(struct facts *facts, const struct policy_index *index,
                                                     const struct call *call, const struct json_value *value,
                                                     uint32_t exact, uint32_t loose)
{
    const struct words *words = &index->words[ROLE_ATOM];
    /* With its quotes a string may be longer than all of them. */
    if (exact != 0 && (value->type != JSON_STRING || value->str_len + 2u <= words->longest)) {
        buf_reset(&facts->scratch);
        json_write_canonical(&facts->scratch, call->doc, value, JSON_NUMBER_EXACT);
        struct slice text = buf_slice_of(&facts->scratch);
        if (buf_ok(&facts->scratch) && words_may_have(words, text)) {
            take_value(facts, index, exact, text, intern_hash(text));
        }
    }
    if (loose != 0 && buf_ok(&facts->scratch)) {
        buf_reset(&facts->scratch);
        loose_write(&facts->scratch, call->doc, value, &facts->text);
        struct slice text = buf_slice_of(&facts->scratch);
        if (buf_ok(&facts->scratch) && words_may_have(words, text)) {
            take_value(facts, index, loose, text, intern_hash(text));
        }
    }
    return buf_ok(&facts->scratch);
}

/* One argument whose key some rule has, `exact` as it compares it exactly, `loose` loosely; 0: none does. */
static inline bool take_arg(struct facts *facts, const struct policy_index *index, const struct call *call,
                            const struct json_value *value, uint32_t exact, uint32_t loose)
{
    const struct words *words = &index->words[ROLE_ATOM];
    struct slice text = text_as_written(call, value);
    if (text.ptr == NULL) {
        return take_rewritten(facts, index, call, value, exact, loose);
    }
    if (words_may_have(words, text)) {
        uint32_t hash = intern_hash(text);
        if (exact != 0) {
            take_value(facts, index, exact, text, hash);
        }
        if (loose != 0 && value->type == JSON_STRING && loose_is_itself(json_str(value))) {
            take_value(facts, index, loose, text, hash);
            return true;
        }
    }
    bool itself = loose == 0 || (value->type == JSON_STRING && loose_is_itself(json_str(value)));
    return itself || take_rewritten(facts, index, call, value, 0, loose);
}

/* Whether a name is its own folded form, as far as is seen at a glance: no byte of it is a capital, or beyond ASCII. The
 * bytes of the word's end that are none are 0. */
static inline bool is_folded_word(uint64_t word)
{
    const uint64_t high = 0x8080808080808080u;
    uint64_t from_a = word + 0x3f3f3f3f3f3f3f3fu, behind_z = word + 0x2525252525252525u;
    return ((word | (from_a & ~behind_z)) & high) == 0;
}

static inline bool is_folded(struct slice name)
{
    bool folded = is_folded_word(intern_last_word(name));
    for (size_t at = 0; at + 8 < name.len; at += 8) {
        folded = folded && is_folded_word(intern_load64(name.ptr + at));
    }
    return folded;
}

/* The word of a name's folded form, or NULL. A name that is much longer than all of them is none. No memory is for the
 * caller to see in the scratch buffer. */
__attribute__((noinline)) static const struct word *find_folded(struct facts *facts, const struct words *keys,
                                                                struct slice name)
{
    char folded[FOLDED_BYTES];
    size_t len = 0;
    if (name.len > 3 * (size_t)keys->longest) {
        return NULL;
    }
    if (name.len > sizeof(folded)) {
        buf_reset(&facts->scratch);
        loose_write_key(&facts->scratch, name);
        bool good = buf_ok(&facts->scratch);
        return good ? words_find_rare(keys, slice_from(buf_slice_of(&facts->scratch), 1)) : NULL;
    }
    for (size_t at = 0; at < name.len;) {
        folded[len++] = (char)fold_next(name, &at);
    }
    return words_find_rare(keys, (struct slice){folded, len});
}

/* Only arguments that some rule of `left` names are looked at. A value that no rule names can meet no rule's,
 * so it is left out. */
static bool make_args(struct facts *facts, const struct policy *policy, const struct call *call,
                      struct facts_mask left)
{
    const struct words *keys = &policy->index->words[ROLE_KEY];
    if (call->input == NULL || keys->slots == 0) {
        return true;
    }
    facts->args = facts->few_args;
    facts->atoms = facts->few_atoms;
    if (call->input->count > FACTS_FEW) {
        facts->args = arena_array(&facts->arena, 2 * (size_t)call->input->count, sizeof(*facts->args));
        facts->atoms = arena_array(&facts->arena, 2 * (size_t)call->input->count, sizeof(*facts->atoms));
        if (facts->args == NULL || facts->atoms == NULL) {
            return false;
        }
    }
    bool exactly = mask_meets(left, policy->index->exact_args);
    bool loosely = mask_meets(left, policy->index->loose_args);
    const struct json_value *values = call->doc->values, *key = call->input + 1;
    for (uint32_t i = 0; i < call->input->count; i++, key = &values[json_member_value(key)->next]) {
        struct slice name = json_str(key);
        const struct word *word = words_find_rare(keys, name);
        bool as_written = word != NULL;
        if (word == NULL && loosely && !is_folded(name)) {
            word = find_folded(facts, keys, name);
        }
        if (word == NULL || !mask_meets(left, word_mask(keys, word))) {
            continue;
        }
        if (!take_arg(facts, policy->index, call, json_member_value(key),
                      exactly && as_written ? word->id : 0, loosely ? word->key : 0)) {
            return false;
        }
    }
    sort_args(facts->args, facts->arg_count);
    return buf_ok(&facts->scratch);
}

/* ---- The thread ---- */

/* What any of the names leaves. */
static struct facts_mask left_by_names(const struct facts *facts)
{
    struct facts_mask left = {0, 0};
    for (size_t i = 0; i < facts->name_count; i++) {
        left = mask_or(left, facts->names[i].mask);
    }
    return left;
}

static void take_thread(struct facts *facts, const struct policy_index *index, struct slice text)
{
    const struct word *thread = NULL;
    if (needed(index, left_by_names(facts), FACET_THREAD)) {
        thread = words_find(&index->words[ROLE_THREAD], text);
    }
    facts->thread = id_of(thread);
    facts->thread_value = value_of(index, FACET_THREAD, ROLE_THREAD, thread);
    for (size_t i = 0; i < facts->name_count; i++) {
        struct facts_mask *mask = &facts->names[i].mask;
        *mask = mask_left(*mask, index, FACET_THREAD, facts->thread_value.mask);
    }
}

/* ---- Ahead of all of it ---- */

#define MOST_AHEAD 16u

/* Words that will be looked at. */
struct ahead {
    const struct word *list[MOST_AHEAD];
    unsigned count;
};

static void ask(struct ahead *ahead, const struct words *words, uint32_t hash)
{
    if (words->slots != 0 && ahead->count < MOST_AHEAD) {
        const struct word *word = &words->list[index_slot(hash, words->slots)];
        __builtin_prefetch(word);
        ahead->list[ahead->count++] = word;
    }
}

static void ask_args(struct ahead *ahead, const struct policy_index *index, const struct call *call)
{
    const struct json_value *values = call->doc->values, *key = call->input + 1;
    for (uint32_t i = 0; i < call->input->count && ahead->count < MOST_AHEAD;
         i++, key = &values[json_member_value(key)->next]) {
        const struct word *word = words_find_rare(&index->words[ROLE_KEY], json_str(key));
        struct slice text = {NULL, 0};
        if (word != NULL) {
            text = text_as_written(call, json_member_value(key));
        }
        if (text.ptr != NULL && text.len <= index->words[ROLE_ATOM].longest) {
            ask(ahead, &index->words[ROLE_ATOM],
                words_atom_hash(intern_hash(text), word->id != 0 ? word->id : word->key));
        }
    }
}

/* The words of a large policy are not in the processor's cache. They are asked for together, and then their
 * texts, so that the lookups that follow do not wait for one after the other. */
static void look_ahead(const struct policy_index *index, const struct call *call)
{
    const struct words *words = index->words;
    struct ahead ahead = {.count = 0};
    ask(&ahead, &words[ROLE_CHANNEL], intern_hash(call->channel));
    ask(&ahead, &words[ROLE_THREAD], intern_hash(call->thread));
    if (call->name_count != 0) {
        ask(&ahead, &words[ROLE_TOOL], intern_hash(call->names[0].tool));
    }
    if (call->input != NULL && words[ROLE_KEY].slots != 0) {
        ask_args(&ahead, index, call);
    }
    for (unsigned i = 0; i < ahead.count; i++) {
        const struct word *word = ahead.list[i];
        __builtin_prefetch(word->text);
        if (word->key != 0) { /* an atom */
            __builtin_prefetch(&index->atoms[word->id - 1]);
        }
    }
}

/* ---- All of it ---- */

#define FAR_BYTES ((size_t)1 << 20) /* of an index that is not in the cache */

bool facts_make(struct facts *facts, const struct policy *policy, const struct call *call)
{
    const struct policy_index *index = policy->index;
    if (index->bytes > FAR_BYTES) {
        look_ahead(index, call);
    }
    const struct word *channel = words_find(&index->words[ROLE_CHANNEL], call->channel);
    arena_reset(&facts->arena);
    buf_reset(&facts->scratch);
    facts->channel = id_of(channel);
    facts->channel_value = value_of(index, FACET_CHANNEL, ROLE_CHANNEL, channel);
    facts->actor = (uint8_t)call->actor;
    facts->input_unknown = call->input == NULL;
    facts->args = NULL;
    facts->atoms = NULL;
    facts->name_count = facts->arg_count = facts->atom_count = 0;
    facts->atom_mask = (struct facts_mask){0, 0};
    if (!make_names(facts, policy, call)) {
        return false;
    }
    take_thread(facts, index, call->thread);
    struct facts_mask left = left_by_names(facts);
    return !needed(index, left, FACET_ATOM) || make_args(facts, policy, call, left);
}
