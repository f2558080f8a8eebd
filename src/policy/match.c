/* Whether a rule matches a reading, and which field fails first. SPEC.md sections 2, 4, 5 and 11. */
#include <string.h>

#include "policy/policy_internal.h"

/* ---- Arguments ---- */

/* Where a key is, or would be, among the call's arguments from `from` on; they are sorted by key. */
static size_t find_arg(const struct facts *facts, size_t from, uint32_t key)
{
    size_t to = facts->arg_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (facts->args[middle].key < key) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static inline bool differs(const struct policy *policy, uint32_t wanted, uint32_t got)
{
    bool other = (wanted != 0) & (wanted != got);
    return other && ((wanted & MATCH_SET) == 0 || !match_set_has(policy, wanted, got));
}

/* The rule's are sorted too. */
static bool args_match(const struct policy *policy, const struct match *match, const struct facts *facts)
{
    const struct match_arg *wanted = policy->args + match->arg_first;
    size_t at = 0;
    for (uint32_t i = 0; i < match->arg_count; i++) {
        at = find_arg(facts, at, wanted[i].key);
        if (at == facts->arg_count || facts->args[at].key != wanted[i].key ||
            differs(policy, wanted[i].value, facts->args[at].value)) {
            return false;
        }
    }
    return true;
}

/* ---- Lists of texts that are found by what a text begins with ---- */

/* Lists up to this length are walked. */
#define SHORT_LIST 8u

static struct slice value_text(const struct policy *policy, enum match_field field, uint32_t value)
{
    return field == FIELD_PATH_PREFIX ? policy->prefixes->list[value - 1].path : policy_text(policy, value);
}

static bool begins(enum match_field field, struct slice text, struct slice prefix)
{
    return field == FIELD_PATH_PREFIX ? path_is_under(text, prefix) : slice_starts_with(text, prefix);
}

static size_t common_bytes(struct slice a, struct slice b)
{
    size_t at = 0;
    while (at < a.len && at < b.len && a.ptr[at] == b.ptr[at]) {
        at++;
    }
    return at;
}

/* Whether some value of a long list is a prefix of a text. The last value that is not behind the text in their order is
 * one, or else a prefix of both is as long as what they have in common at most. */
static bool long_list_begins(const struct policy *policy, enum match_field field, struct match_values values,
                             struct slice whole)
{
    struct slice text = whole;
    for (;;) {
        uint32_t from = 0, to = values.count;
        while (from < to) {
            uint32_t middle = from + (to - from) / 2;
            if (slice_cmp(value_text(policy, field, values.list[middle]), text) <= 0) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        if (from == 0) {
            return false;
        }
        struct slice last = value_text(policy, field, values.list[from - 1]);
        if (begins(field, whole, last)) {
            return true;
        }
        size_t common = common_bytes(last, text);
        text.len = common < last.len ? common
                                     : last.len - 1; /* a prefix, but no path above: look for shorter ones */
        if (text.len == 0) {
            return false;
        }
    }
}

/* Whether a text begins with the value of a field, or some value of its list. */
static bool text_begins(const struct policy *policy, enum match_field field, const uint32_t *value,
                        struct slice text)
{
    if ((*value & MATCH_SET) == 0) {
        return *value != 0 && begins(field, text, value_text(policy, field, *value));
    }
    struct match_values values = match_values_by_text(policy, value);
    if (values.count > SHORT_LIST) {
        return long_list_begins(policy, field, values, text);
    }
    for (uint32_t i = 0; i < values.count; i++) {
        if (begins(field, text, value_text(policy, field, values.list[i]))) {
            return true;
        }
    }
    return false;
}

static bool has_component(const struct policy *policy, const uint32_t *value, struct slice path)
{
    struct match_values values = match_values(policy, value);
    for (uint32_t i = 0; i < values.count; i++) {
        if (path_has_component(path, policy_text(policy, values.list[i]))) {
            return true;
        }
    }
    return false;
}

/* The value of a list, in the order of texts, with this text; or one of `*.` and a name that it lies below. */
static bool list_has_host(const struct policy *policy, struct match_values values, struct slice text)
{
    uint32_t from = 0, to = values.count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int order = slice_cmp(policy_text(policy, policy_pattern(policy, values.list[middle])->text), text);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return false;
}

static bool has_host(const struct policy *policy, const uint32_t *value, struct slice host)
{
    struct match_values values = match_values_by_text(policy, value);
    if (values.count <= SHORT_LIST) {
        for (uint32_t i = 0; i < values.count; i++) {
            if (url_pattern_match(&policy_pattern(policy, values.list[i])->host, host)) {
                return true;
            }
        }
        return false;
    }
    if (list_has_host(policy, values, host)) {
        return true;
    }
    char below[URL_PATTERN_BYTES] = "*";
    for (size_t dot = 0; dot < host.len; dot++) {
        struct slice rest = slice_from(host, dot);
        if (host.ptr[dot] == '.' && rest.len < sizeof(below)) {
            memcpy(below + 1, rest.ptr, rest.len);
            if (list_has_host(policy, values, (struct slice){below, rest.len + 1})) {
                return true;
            }
        }
    }
    return false;
}

/* ---- Names ---- */

/* The first field that fails of those that no path and no argument decides. Which of them a rule has cannot
 * be foretold, so all are compared before anything is decided. */
static enum match_field plain_fields(const struct policy *policy, const struct match *match,
                                     const struct facts *facts, const struct facts_name *name)
{
    if (differs(policy, match->tool, name->tool_symbol)) {
        return FIELD_TOOL;
    }
    if (match->tool_prefix != 0 && !text_begins(policy, FIELD_TOOL_PREFIX, &match->tool_prefix, name->tool)) {
        return FIELD_TOOL_PREFIX;
    }
    bool server = differs(policy, match->server, name->server_symbol);
    bool channel = differs(policy, match->channel, facts->channel);
    bool thread = (match->thread != 0) & (match->thread != facts->thread);
    bool actor = (match->actor != 0) & (match->actor != facts->actor);
    bool hints = (match->annotations & name->hints_not) != 0;
    if (!(server | channel | thread | actor | hints)) {
        return FIELD_ALL;
    }
    return server    ? FIELD_SERVER
           : channel ? FIELD_CHANNEL
           : thread  ? FIELD_THREAD
           : actor   ? FIELD_ACTOR
                     : FIELD_ANNOTATIONS;
}

/* ---- Commands ---- */

static enum command_answer stronger(enum command_answer a, enum command_answer b)
{
    return a == COMMAND_YES || b == COMMAND_YES           ? COMMAND_YES
           : a == COMMAND_UNKNOWN || b == COMMAND_UNKNOWN ? COMMAND_UNKNOWN
                                                          : COMMAND_NO;
}

/* The patterns of a long list with this first word, which stand together. */
static enum command_answer ask_first_word(const struct policy *policy, struct match_values values,
                                          struct slice word, const struct command *command)
{
    uint32_t from = 0, to = values.count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (slice_cmp(policy_pattern(policy, values.list[middle])->command.words[0].text, word) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    enum command_answer answer = COMMAND_NO;
    for (; from < values.count && answer != COMMAND_YES; from++) {
        const struct command_pattern *pattern = &policy_pattern(policy, values.list[from])->command;
        if (!slice_eq(pattern->words[0].text, word)) {
            break;
        }
        answer = stronger(answer, command_pattern_match(pattern, command));
    }
    return answer;
}

static enum command_answer ask_patterns(const struct policy *policy, const uint32_t *value, bool words,
                                        const struct command *command)
{
    struct match_values values = match_values_by_text(policy, value);
    enum command_answer answer = COMMAND_NO;
    if (values.count > SHORT_LIST && !words && command->first != NULL) {
        struct slice word = command->first->text, name = policy_command_name(word);
        answer = ask_first_word(policy, values, word, command);
        return name.len == word.len || answer == COMMAND_YES
                   ? answer
                   : stronger(answer, ask_first_word(policy, values, name, command));
    }
    for (uint32_t i = 0; i < values.count && answer != COMMAND_YES; i++) {
        const struct match_pattern *pattern = policy_pattern(policy, values.list[i]);
        answer = stronger(answer, words ? command_word_match(&pattern->word, command)
                                        : command_pattern_match(&pattern->command, command));
    }
    return answer;
}

/* What is known of a field beside command fields. */
struct beside {
    bool unknown;           /* some answer is not known */
    enum match_field field; /* the first that fails; FIELD_ALL: none */
};

static void take_answer(struct beside *beside, enum match_field field, bool yes, bool known)
{
    if (!yes && !known) {
        beside->unknown = true;
    } else if (!yes && beside->field == FIELD_ALL) {
        beside->field = field;
    }
}

static bool any_text(const struct policy *policy, const struct match *match, enum match_field field,
                     const struct reading_texts *texts)
{
    const uint32_t *value = &match->values[field];
    for (size_t i = 0; i < texts->count; i++) {
        struct slice text = texts->list[i];
        bool has = field == FIELD_PATH_PREFIX      ? text_begins(policy, field, value, text)
                   : field == FIELD_PATH_COMPONENT ? has_component(policy, value, text)
                                                   : has_host(policy, value, text);
        if (has) {
            return true;
        }
    }
    return false;
}

/* The command fields themselves: NO with the field, YES, or not known. */
static enum command_answer ask_command(const struct policy *policy, const struct match *match,
                                       const struct command *command, enum match_field *ret_field)
{
    enum command_answer all = COMMAND_YES;
    for (enum match_field field = FIELD_COMMAND; field <= FIELD_COMMAND_WORD; field++) {
        if (match->values[field] == 0) {
            continue;
        }
        enum command_answer answer =
            ask_patterns(policy, &match->values[field], field == FIELD_COMMAND_WORD, command);
        if (answer == COMMAND_NO) {
            *ret_field = field;
            return COMMAND_NO;
        }
        all = answer == COMMAND_UNKNOWN ? COMMAND_UNKNOWN : all;
        *ret_field = answer == COMMAND_UNKNOWN ? field : *ret_field;
    }
    return all;
}

/* An auto_approve with command fields: only what is known lets a command run. */
static enum match_field allowed_command(const struct policy *policy, const struct rule *rule,
                                        const struct facts *facts, const struct reading *reading)
{
    const struct match *match = &rule->match;
    const struct reading_command *command = reading->command;
    enum match_field field = match->command != 0 ? FIELD_COMMAND : FIELD_COMMAND_PREFIX;
    if ((rule->looks & READING_FIELD_BARE) != 0 && reading->host_kind != READING_NO_HOST) {
        return FIELD_BARE;
    }
    if ((command->command->flags & COMMAND_ASSIGNED) != 0 ||
        ask_command(policy, match, command->command, &field) != COMMAND_YES) {
        return field;
    }
    if (match->path_prefix != 0 &&
        !(command->span_known &&
          text_begins(policy, FIELD_PATH_PREFIX, &match->path_prefix, command->span))) {
        return FIELD_PATH_PREFIX;
    }
    return match->arg_count != 0 && !args_match(policy, match, facts) ? FIELD_ARG_EQUALS : FIELD_ALL;
}

/* A deny or a require_approval with command fields: what is not known is noted. */
static enum match_field strict_command(const struct policy *policy, const struct match *match,
                                       const struct facts *facts, const struct reading *reading)
{
    const struct reading_command *command = reading->command;
    bool open = (command->command->flags & (COMMAND_OPEN | COMMAND_UNREADABLE)) != 0;
    struct beside beside = {.field = FIELD_ALL};
    enum match_field field = FIELD_COMMAND;
    enum command_answer answer = ask_command(policy, match, command->command, &field);
    if (answer == COMMAND_NO) {
        return field;
    }
    beside.unknown = answer == COMMAND_UNKNOWN;
    for (field = FIELD_PATH_PREFIX; field <= FIELD_PATH_COMPONENT; field++) {
        take_answer(&beside, field,
                    match->values[field] == 0 || any_text(policy, match, field, &command->places),
                    !open && !command->place_unreadable);
    }
    take_answer(&beside, FIELD_HOST, match->host == 0 || any_text(policy, match, FIELD_HOST, &command->hosts),
                !open && !command->host_unreadable);
    if (!beside.unknown && beside.field != FIELD_ALL) {
        return beside.field;
    }
    if (match->arg_count != 0 && !args_match(policy, match, facts)) {
        return FIELD_ARG_EQUALS;
    }
    return beside.unknown ? FIELD_NOTED : FIELD_ALL;
}

/* ---- Paths and hosts ---- */

static enum match_field path_fields(const struct policy *policy, const struct match *match,
                                    const struct reading *reading)
{
    bool path = reading->kind == READING_PATH;
    if (match->path_prefix != 0 &&
        !(path && text_begins(policy, FIELD_PATH_PREFIX, &match->path_prefix, reading->path))) {
        return FIELD_PATH_PREFIX;
    }
    if (match->path_component != 0 &&
        !(path && has_component(policy, &match->path_component, reading->path))) {
        return FIELD_PATH_COMPONENT;
    }
    return FIELD_ALL;
}

/* What names no tool speaks only of what it names. Of a path that cannot be read nobody knows whether it is named, so
 * evaluation stops there all the same: the first release did, and no call may be decided less strictly. */
static bool is_silent(const struct rule *rule, const struct reading *reading)
{
    return (rule->looks & READING_FIELD_BARE) != 0 &&
           (reading->command != NULL ||
            (reading->host_kind != READING_NO_HOST && (rule->looks & READING_FIELD_HOST) == 0) ||
            (reading->kind != READING_NO_PATH && (rule->looks & READING_FIELD_PATH) == 0));
}

/* A path or a host that the rule looks at cannot be read, and all its other fields match. */
static enum match_field unreadable(const struct rule *rule, const struct reading *reading)
{
    enum match_field field = rule->match.host != 0          ? FIELD_HOST
                             : rule->match.path_prefix != 0 ? FIELD_PATH_PREFIX
                                                            : FIELD_PATH_COMPONENT;
    if (!reading->aside) {
        return FIELD_UNKNOWN;
    }
    return reading->known && (rule->looks & READING_FIELD_STRICT) != 0 ? FIELD_NOTED : field;
}

static enum match_field place_fields(const struct policy *policy, const struct rule *rule,
                                     const struct facts *facts, const struct reading *reading)
{
    const struct match *match = &rule->match;
    bool no_path = (rule->looks & READING_FIELD_PATH) != 0 && reading->kind != READING_NO_PATH &&
                   reading->kind != READING_PATH;
    bool no_host =
        match->host != 0 && reading->host_kind != READING_NO_HOST && reading->host_kind != READING_HOST;
    if (is_silent(rule, reading) && (!no_path || reading->aside)) {
        return FIELD_BARE;
    }
    if (!no_path) {
        enum match_field field = path_fields(policy, match, reading);
        if (field != FIELD_ALL) {
            return field;
        }
    }
    if (match->host != 0 && !no_host &&
        !(reading->host_kind == READING_HOST && has_host(policy, &match->host, reading->host))) {
        return FIELD_HOST;
    }
    if (match->arg_count != 0 && !args_match(policy, match, facts)) {
        return FIELD_ARG_EQUALS;
    }
    return no_path || no_host ? unreadable(rule, reading) : FIELD_ALL;
}

#define LOOKS_ELSEWHERE (READING_FIELD_PATH | READING_FIELD_COMMAND | READING_FIELD_HOST)

enum match_field policy_match(const struct policy *policy, const struct rule *rule, const struct facts *facts,
                              const struct reading *reading)
{
    const struct match *match = &rule->match;
    enum match_field field = plain_fields(policy, match, facts, &facts->names[reading->name]);
    if (field != FIELD_ALL) {
        return field;
    }
    if (facts->input_unknown) {
        return (rule->looks & LOOKS_ELSEWHERE) != 0 || match->arg_count != 0 ? FIELD_UNKNOWN : FIELD_ALL;
    }
    if ((rule->looks & LOOKS_ELSEWHERE) == 0) {
        return match->arg_count != 0 && !args_match(policy, match, facts) ? FIELD_ARG_EQUALS : FIELD_ALL;
    }
    if ((rule->looks & READING_FIELD_COMMAND) == 0) {
        return place_fields(policy, rule, facts, reading);
    }
    if (reading->command == NULL) {
        return match->command != 0          ? FIELD_COMMAND
               : match->command_prefix != 0 ? FIELD_COMMAND_PREFIX
                                            : FIELD_COMMAND_WORD;
    }
    return (rule->looks & READING_FIELD_STRICT) != 0 ? strict_command(policy, match, facts, reading)
                                                     : allowed_command(policy, rule, facts, reading);
}
