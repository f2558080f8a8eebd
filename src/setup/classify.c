/* What tools of servers do, by their names. */
#include "setup/setup.h"

static const char *const read_verbs[] = {
    "read",   "get",     "list",  "search",  "find",      "view",    "show", "describe", "fetch",
    "query",  "lookup",  "count", "check",   "inspect",   "status",  "diff", "log",      "open",
    "browse", "resolve", "stat",  "tree",    "directory", "head",    "tail", "ls",       "cat",
    "echo",   "ping",    "time",  "convert", "retrieve",  "allowed", NULL};
static const char *const write_verbs[] = {
    "write",  "edit",   "create",   "update", "delete", "remove",  "move", "rename", "copy",   "insert",
    "append", "set",    "put",      "add",    "patch",  "replace", "save", "store",  "commit", "merge",
    "init",   "reset",  "checkout", "make",   "mkdir",  "rm",      "mv",   "cp",     "upload", "apply",
    "close",  "assign", "drop",     "alter",  "stash",  "tag",     NULL};
static const char *const send_verbs[] = {
    "send",    "post",    "push", "publish", "reply",  "notify", "email",    "share",    "invite", "run",
    "exec",    "execute", "call", "invoke",  "deploy", "click",  "type",     "navigate", "press",  "evaluate",
    "trigger", "start",   "stop", "pay",     "buy",    "submit", "transfer", NULL};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Takes the next word off a name: words are parted by what is no letter, and where a capital follows a small letter. */
static struct slice next_word(struct slice *name)
{
    while (name->len > 0 && !is_letter(name->ptr[0])) {
        *name = slice_from(*name, 1);
    }
    size_t end = 0;
    while (end < name->len && is_letter(name->ptr[end]) &&
           (end == 0 || !is_capital(name->ptr[end]) || is_capital(name->ptr[end - 1]))) {
        end++;
    }
    struct slice word = {name->ptr, end};
    *name = slice_from(*name, end);
    return word;
}

static bool is_one_of(struct slice word, const char *const *verbs)
{
    for (; *verbs != NULL; verbs++) {
        if (slice_eq_ascii_case(word, slice_of(*verbs))) {
            return true;
        }
    }
    return false;
}

enum tool_kind setup_tool_kind(struct slice name)
{
    enum tool_kind kind = TOOL_UNKNOWN;
    bool first = true;
    for (struct slice word = next_word(&name); word.len > 0; word = next_word(&name)) {
        if (is_one_of(word, send_verbs)) {
            return TOOL_SENDS; /* wherever it stands: get_and_send */
        }
        if (is_one_of(word, write_verbs)) {
            kind = TOOL_WRITES;
        } else if (kind == TOOL_UNKNOWN && first && is_one_of(word, read_verbs)) {
            kind = TOOL_READS;
        }
        first = false;
    }
    return kind;
}
