/* Policies: rules, and what they decide of a call and its readings. SPEC.md sections 3, 5, 6 (liveness) and 11.
 *
 * A policy owns all that it holds, copies of the documents' strings included, until policy_destroy. After
 * policy_load it never changes and may be shared between threads. Evaluation allocates nothing, takes no lock
 * and looks at nothing but its arguments. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/intern.h"
#include "call/readings.h"
#include "command/pattern.h"
#include "policy/field.h"
#include "url/url.h"

/* ---- Rules ---- */

/* What a rule asks for. Far apart in bits, so that no flipped bit turns one into another. */
enum effect {
    EFFECT_DENY = 0x00000000,
    EFFECT_REQUIRE_APPROVAL = 0x0f0f3c3c,
    EFFECT_AUTO_APPROVE = 0x5a5aa5a5,
};

/* In the order in which they are consulted. */
enum tier {
    TIER_ADMIN,
    TIER_USER,
    TIER_WORKSPACE,
    TIER_DEFAULT,
};
#define TIER_COUNT 4

enum scope {
    SCOPE_SESSION, /* an approval covers every call of the rule in the session */
    SCOPE_CALL,    /* an approval covers one call, by its hash */
    SCOPE_ONCE,    /* the same, and the first call that it lets run ends it */
};

/* One key of argEquals or argIn: numbers of the policy's symbols. Of an exact argument (of an auto_approve) the decoded
 * key and the value's text in JSON_NUMBER_EXACT form, so that equal numbers mean equal values. Of a loose one (of a deny
 * or a require_approval) the folded key behind MATCH_LOOSE_KEY and the value's loose form (SPEC.md section 5). A value of
 * argIn may be a list: see match_values. */
struct match_arg {
    uint32_t key, value;
};

/* No JSON string begins with this byte, so no exact key is a loose one. */
#define MATCH_LOOSE_KEY '\xff'

/* A value with this bit is a list: the rest is an index in policy->sets. */
#define MATCH_SET 0x80000000u

/* A canonical match: 0 means "absent, any". Two matches of one policy and one kind of effect are equal when all values
 * and arguments are: equal lists are one list, and a list of one value is that value. */
struct match {
    union {
        uint32_t values[FIELD_VALUES]; /* by enum match_field, of the types that field.h says */
        struct {
#define FIELD_MEMBER(name, member, key, type, looks, list, expected, help) uint32_t member;
            FIELD_TABLE(FIELD_MEMBER)
#undef FIELD_MEMBER
        };
    };
    uint32_t arg_count;
    /* In policy->args: arg_count arguments as this kind of rule compares them, sorted by key; and behind them the same
     * arguments in the other form (loose ones of an auto_approve, exact ones of others), sorted by key too. */
    uint32_t arg_first;
};

/* A list of at least two values of a field, or of an argument. */
struct match_set {
    uint32_t
        first; /* in policy->set_values: `count` values in ascending order, and behind them the same by text */
    uint32_t count;
};

/* A compiled value of command, commandPrefix, commandWord or host. */
struct match_pattern {
    union {
        struct command_pattern command;
        struct command_word_pattern word;
        struct url_pattern host;
    };
    uint32_t text; /* symbol: the canonical text */
    /* Of command and commandPrefix, symbols: the first word, and what its commands begin with that is looked up: the
     * first word, or the first two with a NUL between them, where the second is known and they are not long. */
    uint32_t program, start;
};
#define PATTERN_START_BYTES 512u

struct rule {
    struct match match;
    uint32_t effect; /* enum effect */
    uint8_t tier;    /* enum tier */
    uint8_t scope;   /* enum scope */
    uint8_t approvers;
    uint8_t looks; /* bits of enum reading_fields: what it looks at, and what kind of rule it is */
    uint32_t ttl_ms;
    int32_t priority;
    uint32_t id;     /* symbol */
    uint32_t reason; /* symbol; 0 unless deny */
    uint32_t tell;   /* symbol: what an agent is told beside the denial; 0: nothing */
    uint32_t
        groups; /* symbol: the groups that approvers must be of, a sorted JSON array of names; 0: anybody */
    uint32_t file; /* index in policy->files */
    uint32_t line; /* of the rule's `{`, from 1 */
    uint32_t column;
    uint32_t
        speaker; /* index of the rule that speaks for its group of equivalents; its own index if it does */
};

struct policy_file {
    struct slice name;
    uint8_t tier;   /* enum tier; TIER_DEFAULT for the operator's own */
    bool at_tier;   /* loaded at that tier */
    bool used;      /* false: a workspace file that did not load and was left out */
    uint32_t rules; /* how many it gave */
};

/* One string of a document's lists, as written. */
enum policy_list {
    LIST_REQUIRED, /* requireAuthoredPolicy; key is 0 */
    LIST_PATHS,    /* pathArguments */
    LIST_TREES,    /* treeArguments */
    LIST_COMMANDS, /* commandArguments */
    LIST_URLS,     /* urlArguments */
};
struct policy_entry {
    uint32_t key, name; /* symbols */
    uint32_t file;      /* index in policy->files */
    uint8_t list;       /* enum policy_list */
};

/* What a document says must hold: that no call of `match` gets a decision of `never`. Kept, not yet proved.
 */
enum never {
    NEVER_ALLOW = 1,
    NEVER_DENY = 2,
    NEVER_REQUIRE = 4,
};
struct assertion {
    struct match match; /* of policy->assertion_space */
    uint32_t name;      /* symbol of policy->assertion_space */
    uint8_t never;      /* bits of enum never */
    bool even_approved;
    uint32_t file; /* index in policy->files */
    uint32_t line, column;
};

/* A place of a document's `confine`. SPEC.md section 16. */
struct policy_confine {
    uint32_t place; /* symbol: as written */
    uint32_t file;  /* index in policy->files */
    bool writes;    /* can be written to; else it stays read-only */
};

struct policy {
    struct arena arena;
    struct intern symbols;
    struct rule *rules; /* in load order: files, then authored order */
    uint32_t rule_count;
    struct match_arg *args;
    uint32_t arg_count;
    struct match_set *sets;
    uint32_t set_count;
    uint32_t *set_values;
    uint32_t set_value_count;
    struct match_pattern *patterns; /* by id minus one */
    uint32_t pattern_count;
    struct intern pattern_keys, set_keys; /* for loading: what tells a pattern, or a list, from others */
    struct reading_interest interest;     /* what any rule can look at: for readings_make */
    uint32_t *order; /* the rules that speak, in the order of evaluation: tiers, then positions */
    uint32_t order_count;
    struct path_prefixes *prefixes;
    struct argument_lists *arguments;
    struct policy_file *files;
    uint32_t file_count;
    uint32_t *required; /* symbols of the default set, sorted; entries as written, `upload_file` included */
    uint32_t required_count;
    uint8_t hints;              /* of each hint that some rule asks about, the bits of the values */
    bool names_server;          /* some rule matches a server */
    bool forbids_observing;     /* a document says "allowObserve": false */
    bool has_path_rules;        /* some rule has a field that looks at a path, a command or a host */
    bool required_all;          /* the default set holds `*` */
    bool required_servers;      /* the default set holds an entry with a `/` */
    struct policy_index *index; /* the index room's; NULL until index_build */
    void (*index_destroy)(struct policy_index *index);
    struct policy_entry
        *entries; /* the documents' lists as written, in order: for digests, diff and explain */
    uint32_t entry_count;
    struct policy_confine *confine;
    uint32_t confine_count;
    struct assertion *assertions;
    uint32_t assertion_count;
    /* The symbols, args and prefixes of the assertions' matches, and nothing else: an assertion's prefix is
     * no rule's and must not give readings. NULL when there are no assertions. */
    struct policy *assertion_space;
};

static inline struct slice policy_text(const struct policy *policy, uint32_t symbol)
{
    return symbol ? intern_text(&policy->symbols, symbol) : (struct slice){"", 0};
}

/* The values of a field or an argument: none, one or several, in ascending order. */
struct match_values {
    const uint32_t *list;
    uint32_t count;
};

static inline struct match_values match_values(const struct policy *policy, const uint32_t *value)
{
    if ((*value & MATCH_SET) == 0) {
        return (struct match_values){value, *value != 0};
    }
    const struct match_set *set = &policy->sets[*value & ~MATCH_SET];
    return (struct match_values){policy->set_values + set->first, set->count};
}

/* The same in the order of field_compare. */
static inline struct match_values match_values_by_text(const struct policy *policy, const uint32_t *value)
{
    struct match_values values = match_values(policy, value);
    values.list += values.count > 1 ? values.count : 0;
    return values;
}

/* Whether `got`, 0 for none, is what a field wants: any, one value or one of a list. */
bool match_set_has(const struct policy *policy, uint32_t set, uint32_t got);

/* The arguments of a rule as written, and in their loose form. */
static inline const struct match_arg *rule_exact_args(const struct policy *policy, const struct rule *rule)
{
    const struct match_arg *args = policy->args + rule->match.arg_first;
    return rule->effect == EFFECT_AUTO_APPROVE || rule->match.arg_count == 0 ? args
                                                                             : args + rule->match.arg_count;
}

static inline const struct match_arg *rule_loose_args(const struct policy *policy, const struct rule *rule)
{
    const struct match_arg *args = policy->args + rule->match.arg_first;
    return rule->effect != EFFECT_AUTO_APPROVE || rule->match.arg_count == 0 ? args
                                                                             : args + rule->match.arg_count;
}

/* How many arms a match stands for: the product of the lengths of its lists, UINT32_MAX when that is greater. */
uint32_t match_arms(const struct policy *policy, const struct match *match);
#define MATCH_ARMS_MOST 4096u
#define MATCH_LIST_MOST 1000u

/* The value of a match's field that stands for one or several values of the policy; 0 when memory ran out. `values` are
 * put in order; there must be at least one, and no two equal ones. */
uint32_t policy_add_set(struct policy *policy, enum match_field field, uint32_t *values, uint32_t count);

/* The id of a pattern of a field, the same for equal ones; 0 when memory ran out. What it points to must live as long as
 * the policy. */
uint32_t policy_add_pattern(struct policy *policy, enum match_field field,
                            const struct match_pattern *pattern);

/* The compiled pattern of a value of command, commandPrefix, commandWord or host. */
static inline const struct match_pattern *policy_pattern(const struct policy *policy, uint32_t id)
{
    return &policy->patterns[id - 1];
}

/* A policy without anything in it, for who fills it; NULL when memory ran out. */
MUST_USE struct policy *policy_new(void);

/* Makes what evaluation needs of a policy whose rules and lists are all there: the groups of equivalent rules, their
 * speakers, the order of evaluation. False when memory ran out. */
MUST_USE bool policy_seal(struct policy *policy);

void policy_destroy(struct policy *policy);

/* What a rule of an effect with this match looks at: bits of enum reading_fields. */
uint8_t match_looks(const struct match *match, uint32_t effect);
#define RULE_ANY_TOOL 0x80u /* in rule.looks: it says "tool": "*" */

/* ---- Facts: a call looked up in a policy's symbols, once for all its readings ---- */

/* A set of rules as the index sees it: a bit for each rule of a small policy; of a large one, a bit of `low`
 * for each shape of its rules. */
struct facts_mask {
    uint64_t low, high;
};

/* A value as the index sees it: part of a key, and the rules that have it. All 0: in no rule. */
struct facts_value {
    uint64_t hash;
    struct facts_mask mask;
};

struct facts_name {
    struct slice tool, server;
    uint32_t tool_symbol, server_symbol; /* 0: in no rule as such */
    bool has_server;
    uint8_t hints_not; /* as in struct call_name */
    bool needs_rule;   /* in the default set */
    struct facts_value tool_value, server_value;
    struct facts_value *prefixes; /* the toolPrefixes that the tool's name begins with */
    size_t prefix_count;
    struct facts_mask prefix_mask; /* of any of them */
    struct facts_mask
        mask; /* the rules whose tool, toolPrefix, server, channel and thread the call may meet */
};

#define FACTS_FEW 16u
struct facts {
    struct facts_name *names; /* one for each of the call's names */
    size_t name_count;
    uint32_t channel, thread; /* symbols; 0: in no rule as such */
    struct facts_value channel_value, thread_value;
    uint8_t actor;
    bool input_unknown;
    /* The call's top-level arguments that some rule has so, in both forms (struct match_arg); by key. What no rule depends on may
     * be left out: see facts_make. */
    struct match_arg *args;
    size_t arg_count;
    struct facts_value *atoms; /* those of them that are part of a key */
    size_t atom_count;
    struct facts_mask atom_mask; /* of any of them */
    struct arena arena;
    struct buf scratch;
    struct json_doc text;       /* of strings that are the text of a value */
    struct facts_name one_name; /* where all this is for most calls, so facts cannot be moved */
    struct match_arg few_args[2 * FACTS_FEW];
    struct facts_value few_atoms[2 * FACTS_FEW], few_prefixes[FACTS_FEW];
};

MUST_USE bool facts_init(struct facts *facts);
void facts_finish(struct facts *facts);

/* Looks a call up by the policy's symbols alone, with all that a rule by itself can be compared with: for the plain
 * scan and for who asks which field of a rule fails. False when memory ran out. The facts borrow the call's slices
 * and hold for this policy only. What is quick to look up and quick to judge is in index/index.h. */
MUST_USE bool facts_make_whole(struct facts *facts, const struct policy *policy, const struct call *call);

/* ---- Approvals, as evaluation sees them ---- */

struct approval {
    uint32_t rule; /* index in policy->rules; the caller has checked the rule's digest */
    struct slice channel, thread;
    int64_t granted, expires; /* wall clock, ms: live while granted <= now < expires */
    bool for_call;            /* covers one call, by its hash, whatever the scope of the rule */
    uint8_t call_hash[32];
};

struct approvals {
    const struct approval *list;
    size_t count;
    int64_t now;
    struct slice channel, thread; /* of the call */
    const uint8_t *call_hash;     /* of the call: 32 bytes; NULL only when no approval is for_call */
};

/* ---- Decisions ---- */

/* The zero value is deny. Test for DECISION_ALLOW by name, never for "not deny". */
enum decision_kind {
    DECISION_DENY = 0x00000000,
    DECISION_REQUIRE = 0x33cc0ff0,
    DECISION_ALLOW = 0x6996a55a,
};

/* Why rule `default` denied. */
enum decision_cause {
    CAUSE_NONE = 0,      /* a rule decided, or nothing did and the call is allowed */
    CAUSE_NO_RULE,       /* "no policy authored for tool 'NAME'" */
    CAUSE_UNREADABLE,    /* "path cannot be resolved" */
    CAUSE_HOST,          /* "host cannot be read" */
    CAUSE_MALFORMED,     /* "malformed call: …" */
    CAUSE_OVER_LIMIT,    /* "call is over a limit" */
    CAUSE_INTERNAL,      /* a failure of our own: no memory, no journal, … */
    CAUSE_UNKNOWN_INPUT, /* the input is unknown and the next rule depends on it: before people (SPEC.md
                            section 11) */
};

struct decision {
    uint32_t kind;           /* enum decision_kind */
    uint32_t cause;          /* enum decision_cause */
    const struct rule *rule; /* the rule that decided, or at which evaluation stopped; NULL: none */
    uint32_t reading;        /* index of the reading that gave it */
    bool by_approval;        /* allowed because a live approval covers a rule that asks */
    bool noted;              /* whether `rule` matches is not known: people are asked about this very call */
    bool passed; /* a reading aside that nothing strict decided: it counts for nothing (SPEC.md section 4) */
    struct slice detail; /* the tool's name for CAUSE_NO_RULE, the phrase for CAUSE_MALFORMED, what there
                            is too much of for CAUSE_OVER_LIMIT; borrowed */
};

/* Strictness: deny > require > allow. */
int decision_rank(uint32_t kind);

/* "allow", "require"; "deny" for whatever else it is. */
const char *decision_kind_name(uint32_t kind);

/* Decides by the plain scan: each reading by itself, the strictest stands, among equals the first. Pure. */
struct decision policy_evaluate_linear(const struct policy *policy, const struct facts *facts,
                                       const struct reading *readings, size_t reading_count,
                                       const struct approvals *approvals);

/* The first field of a rule that a reading of the call fails, or FIELD_ALL, FIELD_UNKNOWN, FIELD_NOTED, FIELD_BARE. */
enum match_field policy_match(const struct policy *policy, const struct rule *rule, const struct facts *facts,
                              const struct reading *reading);

/* The rules noted on the way through a reading (SPEC.md section 4.2): the first of each number of approvers, and how many
 * rules stood before it in the order of evaluation. */
struct policy_notes {
    bool any;
    const struct rule *rules[LIMIT_APPROVERS + 1];
    uint32_t ranks[LIMIT_APPROVERS + 1];
};

/* Notes a rule; `rank` is its place in policy->order. */
void policy_note(struct policy_notes *notes, const struct rule *rule, uint32_t rank);

/* What becomes of a reading: the rule that ended its evaluation with how it matched (FIELD_ALL or FIELD_UNKNOWN), or
 * NULL and the default; and the rules noted before rank `end`. For who finds these in another way than policy_scan. */
struct decision policy_conclude(const struct policy *policy, const struct rule *rule, enum match_field field,
                                const struct policy_notes *notes, uint32_t end, const struct facts *facts,
                                const struct reading *reading, const struct approvals *approvals);

/* What people are asked for by a decision to require: the rule's own of a require_approval, else the defaults. */
uint32_t decision_ttl_ms(const struct decision *decision);
uint32_t decision_approvers(const struct decision *decision);
/* The most that an approval of it may cover: this very call where a rule was noted or the input is unknown. */
enum scope decision_scope(const struct decision *decision);

/* Sees each rule that is looked at, in the order of evaluation, and the first field that failed. */
struct policy_visitor {
    void (*visit)(void *context, const struct rule *rule, enum match_field field);
    void *context;
};

/* One reading by the plain scan: the first rule in the order of evaluation that matches, or that cannot be
 * judged. `visitor` may be NULL. This is what policy_evaluate_linear does for each reading. */
struct decision policy_scan(const struct policy *policy, const struct facts *facts,
                            const struct reading *reading, const struct approvals *approvals,
                            const struct policy_visitor *visitor);

/* Appends why a call was decided as it was: {"decision","readings":[{"tool",…,"decision","rules":[…]}]}, for
 * each rule that was looked at the first field that failed, with what the rule wants and what the call has.
 * The decision is policy_evaluate's. Only for the person who writes the policy: it holds the call's
 * arguments. */
void policy_explain(struct buf *buf, const struct policy *policy, const struct call *call,
                    const struct reading *readings, size_t reading_count, const struct approvals *approvals);

/* Appends a decision as SPEC.md section 3 shows it: {"kind":"deny","rule":"…","reason":"…"}. */
void decision_write_json(struct buf *buf, const struct policy *policy, const struct decision *decision);

/* Appends the reason of a deny as plain text: the rule's, or the default rule's. */
void decision_write_reason(struct buf *buf, const struct policy *policy, const struct decision *decision);

/* ---- Canonical texts (RFC 8785), for digests ---- */

/* What an approval of a rule depends on: {approvers, effect, match, scope, tier, ttlMs}. SPEC.md section 6.
 */
void rule_write_canonical(struct buf *buf, const struct policy *policy, const struct rule *rule);

/* The whole policy, whatever its layout: rules in order with all that decides or is reported, and its lists.
 */
void policy_write_canonical(struct buf *buf, const struct policy *policy);

/* A canonical match as a JSON object of the documents' own field names (paths canonical, lists by text). Of a rule the
 * arguments are as written; of a match as such they are those that it compares, which must be exact ones. */
void match_write_json(struct buf *buf, const struct policy *policy, const struct match *match);
void rule_write_match_json(struct buf *buf, const struct policy *policy, const struct rule *rule);

const char *effect_name(uint32_t effect);
const char *tier_name(enum tier tier);
bool tier_from_name(struct slice name, enum tier *ret_tier);
const char *scope_name(enum scope scope);

#endif
