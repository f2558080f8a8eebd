/* Questions about rules with lists, commands and hosts: the calls that stand for all. */
#include <string.h>

#include "analysis/hints_internal.h"
#include "analysis/named_common_internal.h"
#include "analysis/named_inside_internal.h"
#include "call/call.h"
#include "json/json.h"

#define CALLS_MOST 50000u /* calls that are tried for one question */

/* ---- Calls ---- */

/* How a call's command stands to a point. */
enum command_form {
    FORM_PLAIN,
    FORM_ASSIGNED, /* behind an assignment */
    FORM_OPEN,     /* before a word that is not known */
    FORM_OPTIONS,  /* words like no other as options, which name no places */
    FORM_COUNT,
    FORM_BEHIND = FORM_COUNT, /* an option behind its first word: read aside, it is the point */
    FORM_INSIDE,              /* behind a program that runs it: the same */
};

struct asking {
    struct named *named;
    const struct named_question *question;
    const struct common *common;
    const struct command_point *point; /* NULL: no command */
    enum command_form form;
    struct slice wrapper; /* of FORM_INSIDE: the program and its words, as text */
    bool unreadable;      /* the command is a text that is not read */
    bool with_host;
    enum actor actor;
    uint8_t hints; /* those that some rule or what is asked about asks about */
    uint32_t
        annotations;  /* of what is asked about: its calls have them, or it is not known that they have not */
    uint32_t profile; /* of the annotations of the call: see hints_internal.h */
    uint32_t tried;
    bool hit; /* some reading is decided so, if perhaps no call */
    bool found, failed;
    struct decision decision;
    struct named_covers covers;         /* what decides readings instead */
    const struct named_question *other; /* of a pair: the new policy's */
};

static void write_command(struct asking *asking)
{
    struct buf *text = &asking->named->text;
    buf_reset(text);
    buf_text(text, asking->unreadable ? "if" : asking->form == FORM_ASSIGNED ? "X=1 " : "");
    if (asking->form == FORM_INSIDE) {
        buf_slice(text, asking->wrapper);
    }
    for (uint32_t i = 0; asking->point != NULL && i < asking->point->count; i++) {
        bool option = asking->form == FORM_OPTIONS && asking->point->fresh[i] && i > 0;
        buf_text(text, i > 0 ? " " : "");
        buf_text(text, option ? "--" : "");
        command_append_word(text, asking->point->words[i]);
        buf_text(text, asking->form == FORM_BEHIND && i == 0 ? " --new" : "");
    }
    buf_text(text, asking->form == FORM_OPEN ? " $X" : "");
}

static void write_name(struct asking *asking, const char *key, enum match_field field)
{
    struct buf *call = &asking->named->call;
    struct slice name = asking->common->texts[field];
    buf_text(call, key);
    json_write_string(call, name.ptr != NULL ? name : asking->named->fresh_name);
}

static void write_url(struct asking *asking)
{
    struct buf *text = &asking->named->text;
    const struct url_pattern *host = asking->common->host;
    buf_reset(text);
    buf_text(text, "https://");
    if (host == NULL || host->below) {
        buf_slice(text, asking->named->fresh_name);
        buf_text(text, ".");
    }
    buf_slice(text, host == NULL ? SLICE("invalid") : url_host_text(&host->host));
    json_write_string(&asking->named->call, buf_slice_of(text));
}

static void write_tool(struct asking *asking)
{
    struct buf *call = &asking->named->call, *text = &asking->named->text;
    struct slice prefix = asking->common->texts[FIELD_TOOL_PREFIX];
    if (asking->common->texts[FIELD_TOOL].ptr != NULL || prefix.ptr == NULL) {
        write_name(asking, "{\"tool\":", FIELD_TOOL);
        return;
    }
    buf_reset(text);
    buf_slice(text, prefix);
    buf_slice(text, asking->named->fresh_name);
    buf_text(call, "{\"tool\":");
    json_write_string(call, buf_slice_of(text));
}

static void write_call(struct asking *asking)
{
    struct buf *call = &asking->named->call;
    buf_reset(call);
    write_tool(asking);
    if (asking->common->texts[FIELD_SERVER].ptr != NULL) {
        write_name(asking, ",\"server\":", FIELD_SERVER);
    }
    buf_text(call, ",\"input\":{");
    if (asking->point != NULL || asking->unreadable) {
        write_command(asking);
        buf_text(call, "\"command\":");
        json_write_string(call, buf_slice_of(&asking->named->text));
    }
    if (asking->with_host) {
        buf_text(call, asking->point != NULL || asking->unreadable ? ",\"url\":" : "\"url\":");
        write_url(asking);
    }
    write_name(asking, "},\"sessionKey\":{\"channel\":", FIELD_CHANNEL);
    write_name(asking, ",\"thread\":", FIELD_THREAD);
    buf_text(call, "},\"actor\":");
    json_write_string(call, slice_of(actor_name(asking->actor)));
    hints_write_profile(call, asking->hints, asking->profile);
    buf_byte(call, '}');
}

static bool is_by(const struct named_question *question, const struct decision *decision)
{
    const struct rule *rule = decision->cause == CAUSE_NO_RULE ? NULL : decision->rule;
    return rule == question->rule;
}

static void note_cover(struct named_covers *covers, const struct decision *decision)
{
    bool known = decision->rule == NULL || decision->cause != CAUSE_NONE;
    for (uint32_t i = 0; i < covers->count && !known; i++) {
        known = covers->list[i] == decision->rule;
    }
    if (!known && covers->count < NAMED_COVERS) {
        covers->list[covers->count++] = decision->rule;
    }
}

/* Decides the call that was read by one policy: whether a reading of its own, and the call, is decided as is asked. */
static void decide_by(struct asking *asking, const struct policy *policy,
                      const struct named_question *question, bool *ret_hit, bool *ret_found)
{
    struct named *named = asking->named;
    unsigned side = policy == named->policy ? 0 : 1;
    struct readings *readings = &named->readings[side];
    if (readings_make(readings, &named->reader.call, named->base, policy->arguments, policy->prefixes,
                      &policy->interest, named->looked[side] ? READINGS_STILL : 0) != READINGS_OK ||
        !facts_make(&named->facts, policy, &named->reader.call)) {
        asking->failed = true;
        return;
    }
    named->looked[side] = true;
    *ret_hit = false;
    const struct reading *list = readings->list;
    asking->decision = policy_evaluate(policy, &named->facts, list, readings->count, NULL);
    for (size_t i = 0; i < readings->count; i++) {
        const struct reading *reading = &list[i];
        struct decision own = readings->count == 1 ? asking->decision
                                                   : policy_evaluate(policy, &named->facts, reading, 1, NULL);
        if (!reading->aside) {
            *ret_hit = *ret_hit || (is_by(question, &own) && question->is_bad(question->context, own.kind));
            note_cover(&asking->covers, &own);
        }
    }
    *ret_found = *ret_hit && question->is_bad(question->context, asking->decision.kind) &&
                 (!question->by_it || is_by(question, &asking->decision));
}

static void decide(struct asking *asking)
{
    struct named *named = asking->named;
    const struct call_defaults none = {0};
    bool hit = false, found = false;
    if (!buf_ok(&named->call) || call_read(&named->reader, buf_slice_of(&named->call), &none) != CALL_OK) {
        asking->failed = true;
        return;
    }
    decide_by(asking, named->policy, asking->question, &hit, &found);
    if (hit && asking->other != NULL && !asking->failed) {
        bool other_hit = false, other_found = false;
        decide_by(asking, named->asked, asking->other, &other_hit, &other_found);
        hit = other_hit;
        found = found && other_found;
    }
    asking->hit = asking->hit || (hit && asking->form < FORM_COUNT);
    asking->found = found && !asking->failed;
}

static void try_profiles(struct asking *asking)
{
    uint32_t count = hints_profiles(asking->hints);
    for (uint32_t i = 0; i < count && !asking->found && !asking->failed; i++) {
        if (hints_profile_in(asking->hints, i, asking->annotations)) {
            asking->profile = i;
            asking->failed = ++asking->tried > CALLS_MOST;
            write_call(asking);
            decide(asking);
        }
    }
}

/* Tries the call of a point and a form, for each actor and with a host or without. True when that is enough. */
static bool try_calls(struct asking *asking)
{
    static const enum actor actors[] = {ACTOR_SESSION_OWNER, ACTOR_CLAUDE_PROCESS};
    for (unsigned i = 0; i < 4 && !asking->found && !asking->failed; i++) {
        asking->actor = actors[i % 2];
        asking->with_host = i >= 2;
        bool apart = asking->common->actor != 0 && asking->common->actor != (uint32_t)asking->actor;
        if (apart || (asking->common->host != NULL && !asking->with_host)) {
            continue;
        }
        try_profiles(asking);
    }
    return asking->found || asking->failed;
}

static bool visit_point(void *context, const struct command_point *point)
{
    struct asking *asking = context;
    asking->point = point;
    for (unsigned form = 0; form < FORM_COUNT; form++) {
        asking->form = (enum command_form)form;
        if (try_calls(asking)) {
            return true;
        }
    }
    return false;
}

static bool visit_aside(void *context, const struct command_point *point)
{
    struct asking *asking = context;
    struct command_point bare = *point;
    bare.words[0] = program_of(bare.words[0]);
    asking->point = &bare; /* a program in any directory is one in none, too */
    /* Behind an option the words from the first that is none on are left as they are. */
    bool behind = bare.count < 2 || bare.words[1].len == 0 || bare.words[1].ptr[0] != '-';
    asking->form = FORM_BEHIND;
    if (behind && try_calls(asking)) {
        return true;
    }
    asking->form = FORM_INSIDE;
    return try_calls(asking);
}

/* The words behind which a rule's arm lets a command stand: its own, where it is about a program that runs others. */
static void write_wrapper(struct named *named, const struct arm *arm, struct slice *ret_wrapper)
{
    const struct command_pattern *pattern = arm_pattern(arm);
    struct buf *text = &named->text;
    bool wraps = pattern != NULL && program_runs_commands(program_of(pattern->words[0].text));
    buf_reset(text);
    for (uint32_t i = 0; wraps && i < pattern->count; i++) {
        command_append_word(text, pattern->words[i].any ? named->fresh_name : pattern->words[i].text);
        buf_byte(text, ' ');
    }
    buf_text(text, wraps ? "" : "sudo ");
    *ret_wrapper = arena_copy(&named->arena, buf_slice_of(text));
}

/* Looks for commands that are what is asked about only when they are read aside. What is not found is no proof. */
static void ask_aside(struct asking *asking, const struct arm *asked, const struct arm *arm)
{
    static const struct arm none = {.policy = NULL};
    struct common common = *asking->common;
    if (!common_commands(&asking->named->arena, asked, &none, &common) || !common.has_commands) {
        return;
    }
    if (common.commands.pattern != NULL && !common.commands.pattern->loose) {
        return; /* it is that of a directory, or one that is no program */
    }
    write_wrapper(asking->named, arm, &asking->wrapper);
    asking->common = &common;
    (void)command_points_visit(&asking->named->world, &common.commands, visit_aside, asking);
    asking->point = NULL;
    asking->form = FORM_PLAIN;
}

/* Asks about what one pair of arms has in common. */
static void ask_pair(struct asking *asking)
{
    const struct common *common = asking->common;
    asking->point = NULL;
    asking->form = FORM_PLAIN;
    if (!common->has_commands) {
        bool enough = try_calls(asking); /* first without a command, because that is decided sooner */
        asking->unreadable = !enough;
        enough = enough || try_calls(asking);
        asking->unreadable = false;
        if (enough) {
            return;
        }
    }
    enum command_points_result result =
        command_points_visit(&asking->named->world, &common->commands, visit_point, asking);
    asking->failed = asking->failed || result == COMMAND_POINTS_FAILED;
    asking->point = NULL;
}

/* Whether a match has fields in which a call of its arms need not be like every other: nothing is proved of it. */
static bool is_found_only(const struct match *match)
{
    return (match->path_prefix | match->path_component | match->arg_count) != 0 ||
           ((match->command | match->command_prefix | match->command_word) != 0 && match->host != 0);
}

/* An entry of the default set is about its tool and server. */
static bool take_entry(const struct named_question *question, struct common *common)
{
    struct slice *tool = &common->texts[FIELD_TOOL], *server = &common->texts[FIELD_SERVER];
    struct slice prefix = common->texts[FIELD_TOOL_PREFIX];
    if (question->tool.ptr != NULL) {
        if ((tool->ptr != NULL && !slice_eq(*tool, question->tool)) ||
            (prefix.ptr != NULL && !slice_starts_with(question->tool, prefix))) {
            return false;
        }
        *tool = question->tool;
    }
    if (question->server.ptr != NULL) {
        if (server->ptr != NULL && !slice_eq(*server, question->server)) {
            return false;
        }
        *server = question->server;
    }
    return true;
}

static void ask_pairs(struct asking *asking, const struct policy *asked_policy, const struct match *asked,
                      const struct match *match, bool aside)
{
    struct named *named = asking->named;
    uint32_t asked_arms = arm_count(asked_policy, asked), rule_arms = arm_count(named->policy, match);
    asking->failed = asking->failed || (uint64_t)asked_arms * rule_arms > ARMS_MOST;
    for (uint32_t i = 0; i < asked_arms * rule_arms && !asking->failed && !asking->found; i++) {
        struct arm a = arm_of(asked_policy, asked, i % asked_arms),
                   b = arm_of(named->policy, match, i / asked_arms);
        struct common common;
        arena_reset(&named->arena);
        if (!common_find(&a, &b, &common) || !take_entry(asking->question, &common) ||
            (asking->other != NULL && !take_entry(asking->other, &common))) {
            continue;
        }
        asking->common = &common;
        if (common_commands(&named->arena, &a, &b, &common)) {
            ask_pair(asking);
        }
        if (aside && !asking->found && !asking->failed) {
            ask_aside(asking, &a, &b);
        }
        asking->common = NULL;
    }
}

static bool cannot_be_made(const struct match *match)
{
    return match->arg_count != 0 || match->path_prefix != 0 || match->path_component != 0;
}

static const struct match any_call = {.arg_count = 0};

enum named_answer named_ask(struct named *named, const struct named_question *question,
                            struct decision *ret_decision, struct buf *ret_call)
{
    const struct match *match = question->rule == NULL ? &any_call : &question->rule->match;
    struct asking asking = {
        .named = named, .question = question, .annotations = question->asked->annotations};
    asking.hints = (uint8_t)(named->policy->hints | asking.annotations);
    if (cannot_be_made(question->asked) || cannot_be_made(match)) {
        return NAMED_UNKNOWN;
    }
    ask_pairs(&asking, named->asked, question->asked, match, true);
    if (asking.found && !asking.failed) {
        *ret_decision = asking.decision;
        buf_slice(ret_call, buf_slice_of(&named->call));
        return NAMED_FOUND;
    }
    bool only = question->noted || is_found_only(question->asked) || is_found_only(match);
    return asking.failed || asking.hit || only ? NAMED_UNKNOWN : NAMED_NONE;
}

static bool is_any_kind(const void *context, uint32_t kind)
{
    (void)context;
    (void)kind;
    return true;
}

enum named_answer named_decides(struct named *named, const struct rule *rule, struct named_covers *ret_covers,
                                struct buf *ret_call)
{
    const struct match *match = &rule->match;
    const struct named_question question = {
        .asked = &any_call, .rule = rule, .is_bad = is_any_kind, .by_it = true};
    struct asking asking = {.named = named, .question = &question, .hints = named->policy->hints};
    bool noted = rule->effect != EFFECT_AUTO_APPROVE &&
                 (match->command | match->command_prefix | match->command_word) != 0;
    if (cannot_be_made(match)) {
        return NAMED_UNKNOWN;
    }
    ask_pairs(&asking, named->policy, &any_call, match, false);
    if (asking.found && !asking.failed) {
        buf_slice(ret_call, buf_slice_of(&named->call));
        return NAMED_FOUND;
    }
    *ret_covers = asking.covers;
    return asking.failed || asking.hit || noted || is_found_only(match) ? NAMED_UNKNOWN : NAMED_NONE;
}

static bool is_its_kind(const void *context, uint32_t kind)
{
    const struct named_side *side = context;
    return side->rule != NULL || side->kind == kind;
}

/* Whether a rule may decide a call by what stands aside of it, or by a note: calls that are not asked about. */
static bool may_decide_others(const struct rule *rule)
{
    const struct match *match = rule == NULL ? &any_call : &rule->match;
    return rule != NULL && rule->effect != EFFECT_AUTO_APPROVE &&
           (match->command | match->command_prefix | match->command_word | match->host) != 0;
}

static struct named_question side_question(const struct named_side *side)
{
    return (struct named_question){.rule = side->rule,
                                   .server = side->server,
                                   .tool = side->tool,
                                   .by_it = true,
                                   .is_bad = is_its_kind,
                                   .context = side};
}

enum named_answer named_differs(struct named *named, const struct named_side *from,
                                const struct named_side *to, struct buf *ret_call)
{
    const struct match *old = from->rule == NULL ? &any_call : &from->rule->match;
    const struct match *new = to->rule == NULL ? &any_call : &to->rule->match;
    const struct named_question question = side_question(from), other = side_question(to);
    struct asking asking = {.named = named,
                            .question = &question,
                            .other = &other,
                            .hints = (uint8_t)(named->policy->hints | named->asked->hints)};
    if (cannot_be_made(old) || cannot_be_made(new)) {
        return NAMED_UNKNOWN;
    }
    ask_pairs(&asking, named->asked, new, old, false);
    if (asking.found) {
        buf_slice(ret_call, buf_slice_of(&named->call));
        return NAMED_FOUND;
    }
    bool only = may_decide_others(from->rule) || may_decide_others(to->rule) || is_found_only(old) ||
                is_found_only(new);
    return asking.failed || asking.hit || only ? NAMED_UNKNOWN : NAMED_NONE;
}
