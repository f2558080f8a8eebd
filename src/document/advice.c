/* What someone meant who wrote a word that is not known. */
#include "document/schema.h"

/* Longer words are nobody's slip of the finger. */
#define MAX_WORD 40

/* Words that people try first, and the right ones. A pair counts wherever the right word is known. */
struct word_pair {
    const char *word, *right;
};

static const struct word_pair key_words[] = {
    /* match */
    {"tools", "tool"},
    {"name", "tool"},
    {"toolName", "tool"},
    {"tool_name", "tool"},
    {"toolNames", "tool"},
    {"cmd", "command"},
    {"commands", "command"},
    {"shell", "command"},
    {"command_prefix", "commandPrefix"},
    {"commandStartsWith", "commandPrefix"},
    {"word", "commandWord"},
    {"command_word", "commandWord"},
    {"domain", "host"},
    {"domains", "host"},
    {"hosts", "host"},
    {"hostname", "host"},
    {"url", "host"},
    {"urls", "host"},
    {"argsIn", "argIn"},
    {"arg_in", "argIn"},
    {"oneOf", "argIn"},
    {"tool_prefix", "toolPrefix"},
    {"prefix", "toolPrefix"},
    {"servers", "server"},
    {"serverName", "server"},
    {"mcpServer", "server"},
    {"mcp", "server"},
    {"channels", "channel"},
    {"channel_id", "channel"},
    {"room", "channel"},
    {"thread", "thread_ts"},
    {"threadTs", "thread_ts"},
    {"ts", "thread_ts"},
    {"actors", "actor"},
    {"user", "actor"},
    {"who", "actor"},
    {"principal", "actor"},
    {"path", "pathPrefix"},
    {"paths", "pathPrefix"},
    {"file", "pathPrefix"},
    {"files", "pathPrefix"},
    {"dir", "pathPrefix"},
    {"directory", "pathPrefix"},
    {"folder", "pathPrefix"},
    {"under", "pathPrefix"},
    {"path_prefix", "pathPrefix"},
    {"glob", "pathComponent"},
    {"pattern", "pathComponent"},
    {"filename", "pathComponent"},
    {"fileName", "pathComponent"},
    {"basename", "pathComponent"},
    {"extension", "pathComponent"},
    {"component", "pathComponent"},
    {"args", "argEquals"},
    {"arg", "argEquals"},
    {"arguments", "argEquals"},
    {"input", "argEquals"},
    {"params", "argEquals"},
    {"level", "tier"},
    {"layer", "tier"},
    /* rule */
    {"name", "id"},
    {"key", "id"},
    {"description", "comment"},
    {"desc", "comment"},
    {"note", "comment"},
    {"notes", "comment"},
    {"when", "match"},
    {"if", "match"},
    {"where", "match"},
    {"matches", "match"},
    {"condition", "match"},
    {"conditions", "match"},
    {"action", "effect"},
    {"decision", "effect"},
    {"verdict", "effect"},
    {"outcome", "effect"},
    {"then", "effect"},
    {"message", "reason"},
    {"because", "reason"},
    {"why", "reason"},
    {"ttl", "ttlMs"},
    {"timeout", "ttlMs"},
    {"expires", "ttlMs"},
    {"timeoutMs", "ttlMs"},
    {"quorum", "approvers"},
    {"approvals", "approvers"},
    {"approver", "approvers"},
    {"needed", "approvers"},
    {"order", "priority"},
    {"weight", "priority"},
    /* document */
    {"permissions", "rules"},
    {"policies", "rules"},
    {"statements", "rules"},
    {"schema", "$schema"},
    {"required", "requireAuthoredPolicy"},
    {"requireAuthored", "requireAuthoredPolicy"},
    {"paths", "pathArguments"},
    {"trees", "treeArguments"},
    {"asserts", "assertions"},
    {"invariants", "assertions"},
    /* assertion */
    {"id", "name"},
    {"title", "name"},
    {"forbidden", "never"},
    {"not", "never"},
};

static const struct word_pair choice_words[] = {
    {"allow", "auto_approve"},
    {"approve", "auto_approve"},
    {"permit", "auto_approve"},
    {"accept", "auto_approve"},
    {"grant", "auto_approve"},
    {"ask", "require_approval"},
    {"confirm", "require_approval"},
    {"prompt", "require_approval"},
    {"require", "require_approval"},
    {"approval", "require_approval"},
    {"review", "require_approval"},
    {"block", "deny"},
    {"reject", "deny"},
    {"forbid", "deny"},
    {"refuse", "deny"},
    {"user", "session_owner"},
    {"owner", "session_owner"},
    {"human", "session_owner"},
    {"agent", "claude_process"},
    {"assistant", "claude_process"},
    {"claude", "claude_process"},
    {"model", "claude_process"},
    {"once", "call"},
    {"one", "call"},
    {"thread", "session"},
    {"always", "session"},
    {"system", "admin"},
    {"managed", "admin"},
    {"project", "workspace"},
    {"auto_approve", "allow"},
    {"approved", "allow"},
    {"require_approval", "require"},
};

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* How many slips (a byte added, left out, changed, or two swapped) lie between two words, ASCII case ignored.
 */
static size_t slips(struct slice a, struct slice b)
{
    size_t rows[3][MAX_WORD + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b.len; j++) {
        last[j] = j;
        before[j] = 0;
    }
    for (size_t i = 1; i <= a.len; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            bool same = lower(a.ptr[i - 1]) == lower(b.ptr[j - 1]);
            size_t least = last[j - 1] + !same;
            least = last[j] + 1 < least ? last[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            bool swapped = i > 1 && j > 1 && lower(a.ptr[i - 1]) == lower(b.ptr[j - 2]) &&
                           lower(a.ptr[i - 2]) == lower(b.ptr[j - 1]);
            least = swapped && before[j - 2] + 1 < least ? before[j - 2] + 1 : least;
            now[j] = least;
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[b.len];
}

/* Keeps the nearer of two names. A third of a word may be wrong, not more. */
static void nearer(struct slice word, const char *name, size_t *best, const char **ret_name)
{
    struct slice known = slice_of(name);
    if (word.len == 0 || word.len > MAX_WORD || known.len > MAX_WORD) {
        return;
    }
    size_t longest = word.len > known.len ? word.len : known.len;
    size_t distance = slips(word, known);
    if (distance <= (longest + 1) / 3 && distance < *best) {
        *best = distance;
        *ret_name = name;
    }
}

static const char *nearest_key(const struct key_table *table, struct slice word)
{
    const char *name = NULL;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < table->count; i++) {
        nearer(word, table->keys[i].name, &best, &name);
    }
    return name;
}

static const char *tried_first(const struct key_table *table, struct slice word)
{
    for (size_t i = 0; i < sizeof(key_words) / sizeof(key_words[0]); i++) {
        if (slice_eq_ascii_case(word, slice_of(key_words[i].word)) &&
            schema_key(table, slice_of(key_words[i].right)) != NULL) {
            return key_words[i].right;
        }
    }
    return NULL;
}

struct advice schema_advise_key(const struct key_table *table, struct slice word)
{
    const struct key_table *other = table->other;
    const char *name = tried_first(table, word);
    if (name != NULL) {
        return (struct advice){name, NULL};
    }
    const struct key *elsewhere = other == NULL ? NULL : schema_key(other, word);
    const char *there = elsewhere != NULL ? elsewhere->name : other != NULL ? tried_first(other, word) : NULL;
    if (there != NULL) {
        return (struct advice){there, table->other_place};
    }
    name = nearest_key(table, word);
    if (name != NULL || other == NULL) {
        return (struct advice){name, NULL};
    }
    there = nearest_key(other, word);
    return (struct advice){there, there == NULL ? NULL : table->other_place};
}

const char *schema_advise_choice(const struct choice *choices, struct slice word)
{
    for (size_t i = 0; i < sizeof(choice_words) / sizeof(choice_words[0]); i++) {
        if (slice_eq_ascii_case(word, slice_of(choice_words[i].word)) &&
            schema_choice(choices, slice_of(choice_words[i].right)) != NULL) {
            return choice_words[i].right;
        }
    }
    const char *name = NULL;
    size_t best = SIZE_MAX;
    for (const struct choice *choice = choices; choice->name != NULL; choice++) {
        nearer(word, choice->name, &best, &name);
    }
    return name;
}
