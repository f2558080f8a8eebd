/* The tables of what a policy document may hold. */
#include "document/schema.h"

#include "document/document.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Documents ---- */

/* The plain form has all but the last key, the Slack bridge's all from the lists on. */
static const struct key document_keys[] = {
    {.name = "$schema",
     .id = ID_SCHEMA,
     .type = KEY_STRING,
     .expected = "a string",
     .help = "Where an editor finds this schema."},
    {.name = "version",
     .id = ID_VERSION,
     .type = KEY_INTEGER,
     .min = 1,
     .max = 1,
     .fallback = "1",
     .expected = "the number 1",
     .help = "The version of the policy language."},
    {.name = "rules",
     .id = ID_RULES,
     .type = KEY_RULES,
     .expected = "an array of rules",
     .help = "The rules, in order: within a tier the first that matches decides."},
    {.name = "assertions",
     .id = ID_ASSERTIONS,
     .type = KEY_ASSERTIONS,
     .expected = "an array of assertions",
     .help = "What must hold of this policy, whatever its rules."},
    {.name = "requireAuthoredPolicy",
     .id = ID_REQUIRED,
     .type = KEY_STRINGS,
     .expected = "an array of strings such as [\"delete_message\", \"github/*\"]",
     .help = "Tools that are denied unless a rule matches: a tool's name, SERVER/TOOL, SERVER/* or *. "
             "Documents add to this set and never take away; upload_file is always in it."},
    {.name = "pathArguments",
     .id = ID_PATH_ARGUMENTS,
     .type = KEY_CHANGES,
     .expected = "an object of string arrays such as {\"write_file\": [\"target\", \"-source\"]}",
     .help = "Names of arguments that are paths, by tool's name, SERVER/TOOL or *. A name is added, -name is "
             "taken away."},
    {.name = "treeArguments",
     .id = ID_TREE_ARGUMENTS,
     .type = KEY_CHANGES,
     .expected = "an object of string arrays such as {\"search\": [\"root\"]}",
     .help =
         "Names of top-level arguments that stand for a whole directory tree, by tool's name, SERVER/TOOL "
         "or *. A name is added, -name is taken away."},
    {.name = "commandArguments",
     .id = ID_COMMAND_ARGUMENTS,
     .type = KEY_CHANGES,
     .expected = "an object of string arrays such as {\"run\": [\"script\"]}",
     .help = "Names of arguments that are shell commands, by tool's name, SERVER/TOOL, SERVER/* or *. A name "
             "is added, "
             "-name is taken away."},
    {.name = "urlArguments",
     .id = ID_URL_ARGUMENTS,
     .type = KEY_CHANGES,
     .expected = "an object of string arrays such as {\"fetch\": [\"site\"]}",
     .help = "Names of arguments that are URLs, by tool's name, SERVER/TOOL, SERVER/* or *. A name is added, "
             "-name is "
             "taken away."},
    {.name = "allowObserve",
     .id = ID_ALLOW_OBSERVE,
     .type = KEY_BOOLEAN,
     .fallback = "true",
     .expected = "true or false",
     .help = "false: a gate that is started with --observe enforces all the same. One document that says so "
             "is enough."},
    {.name = "confine",
     .id = ID_CONFINE,
     .type = KEY_CONFINE,
     .expected = "an object such as {\"write\": [\"@cache\"], \"read\": [\"vendor\"]}",
     .help =
         "What a program can write that runs confined ('callgate confine'), beside its working directory."},
    {.name = "policy",
     .id = ID_POLICY,
     .type = KEY_RULES,
     .required = true,
     .expected = "an array of rules",
     .help = "The rules, in order: within a tier the first that matches decides."},
};
#define BRIDGE_FROM 4

const struct key_table schema_document = {"a policy document", document_keys, COUNT(document_keys) - 1,
                                          &schema_rule, "in a rule under 'rules'"};
const struct key_table schema_bridge = {"a Slack bridge document", document_keys + BRIDGE_FROM,
                                        COUNT(document_keys) - BRIDGE_FROM, NULL, NULL};

/* ---- Rules ---- */

static const struct key rule_keys[] = {
    {.name = "id",
     .id = ID_ID,
     .type = KEY_STRING,
     .effects = KEY_EVERY_EFFECT,
     .required = true,
     .min = 1,
     .max = LIMIT_ID_CHARS,
     .expected = "a string of 1 to 120 characters",
     .help = "The rule's name, unique over all files; `default` is reserved."},
    {.name = "effect",
     .id = ID_EFFECT,
     .type = KEY_CHOICE,
     .effects = KEY_EVERY_EFFECT,
     .required = true,
     .choices = schema_effects,
     .expected = "one of 'auto_approve', 'deny' and 'require_approval'",
     .help = "What becomes of a call that the rule decides."},
    {.name = "match",
     .id = ID_MATCH,
     .type = KEY_MATCH,
     .effects = KEY_EVERY_EFFECT,
     .required = true,
     .expected = "an object such as {\"tool\": \"write_file\"}",
     .help = "Which calls the rule matches: those that meet every field."},
    {.name = "reason",
     .id = ID_REASON,
     .type = KEY_STRING,
     .effects = KEY_DENY,
     .required = true,
     .min = 1,
     .max = LIMIT_REASON_CHARS,
     .expected = "a string of 1 to 200 characters",
     .help = "Why the call is denied, for the people who operate the gate. The agent never sees it."},
    {.name = "tell",
     .id = ID_TELL,
     .type = KEY_STRING,
     .effects = KEY_DENY | KEY_REQUIRE_APPROVAL,
     .min = 1,
     .max = LIMIT_REASON_CHARS,
     .expected = "a string of 1 to 200 characters",
     .help = "What the agent is told beside a denial, word for word. Without it the agent learns nothing of "
             "the rule."},
    {.name = "ttlMs",
     .id = ID_TTL,
     .type = KEY_INTEGER,
     .effects = KEY_REQUIRE_APPROVAL,
     .min = 1,
     .max = LIMIT_TTL_MS,
     .fallback = "300000",
     .expected = "a whole number from 1 to 86400000",
     .help = "How many milliseconds an approval lives."},
    {.name = "approvers",
     .id = ID_APPROVERS,
     .type = KEY_INTEGER,
     .effects = KEY_REQUIRE_APPROVAL,
     .min = 1,
     .max = LIMIT_APPROVERS,
     .fallback = "1",
     .expected = "a whole number from 1 to 10",
     .help = "How many different people must approve."},
    {.name = "approversFrom",
     .id = ID_APPROVERS_FROM,
     .type = KEY_STRINGS,
     .effects = KEY_REQUIRE_APPROVAL,
     .min = 1,
     .max = LIMIT_APPROVER_GROUPS,
     .expected = "an array of 1 to 10 names of groups of people.json",
     .help = "Only people of one of these groups (people.json) may approve. Without such people nobody may."},
    {.name = "scope",
     .id = ID_SCOPE,
     .type = KEY_CHOICE,
     .effects = KEY_REQUIRE_APPROVAL,
     .choices = schema_scopes,
     .fallback = "\"session\"",
     .expected = "one of 'session', 'call' and 'once'",
     .help = "The most that an approval covers: every call of the rule in the session, this very call, or "
             "this call one "
             "time."},
    {.name = "priority",
     .id = ID_PRIORITY,
     .type = KEY_INTEGER,
     .effects = KEY_EVERY_EFFECT,
     .min = INT32_MIN,
     .max = INT32_MAX,
     .fallback = "100",
     .expected = "a whole number from -2147483648 to 2147483647",
     .help = "Among rules of equal tier, effect and match the lowest speaks. It never moves a rule."},
    {.name = "comment",
     .id = ID_COMMENT,
     .type = KEY_STRING,
     .effects = KEY_EVERY_EFFECT,
     .expected = "a string",
     .help = "For people; nothing reads it."},
};

/* An assertion's match has all but the last: calls have no tier, so neither has what is said of them. */
#define FIELD_KEY(field_name, member, key_name, field_type, field_looks, may_list, is_expected, help_text)   \
    {.name = (key_name),                                                                                     \
     .id = ID_FIELD,                                                                                         \
     .type = KEY_FIELD,                                                                                      \
     .field = FIELD_##field_name,                                                                            \
     .min = 1,                                                                                               \
     .choices = FIELD_##field_name == FIELD_ACTOR ? schema_actors : NULL,                                    \
     .expected = (is_expected),                                                                              \
     .help = (help_text)},
static const struct key match_keys[] = {
    FIELD_TABLE(FIELD_KEY)
#undef FIELD_KEY
        {.name = "argEquals",
         .id = ID_ARG_EQUALS,
         .type = KEY_ARGS,
         .expected = "an object such as {\"force\": true}",
         .help = "Top-level arguments and the value that each must have: exactly in an auto_approve; in a "
                 "deny or "
                 "require_approval as servers read it, so that true is also \"true\", \"yes\" and 1."},
    {.name = "argIn",
     .id = ID_ARG_IN,
     .type = KEY_ARG_LISTS,
     .expected = "an object of lists such as {\"branch\": [\"main\", \"release\"]}",
     .help = "Top-level arguments and lists of values of which each must have one, compared as under "
             "`argEquals`."},
    {.name = "tier",
     .id = ID_TIER,
     .type = KEY_CHOICE,
     .choices = schema_tiers,
     .expected = "one of 'admin', 'user', 'workspace' and 'default'",
     .help = "The rule's tier: the file's own or a lower one. It constrains nothing."},
};

const struct key_table schema_rule = {"a rule", rule_keys, COUNT(rule_keys), &schema_match, "inside 'match'"};
const struct key_table schema_match = {"a match", match_keys, COUNT(match_keys), &schema_rule,
                                       "beside 'match', not inside it"};

/* ---- Assertions ---- */

static const struct key assertion_keys[] = {
    {.name = "name",
     .id = ID_NAME,
     .type = KEY_STRING,
     .required = true,
     .min = 1,
     .expected = "a non-empty string",
     .help = "What it says, for people."},
    {.name = "match",
     .id = ID_MATCH,
     .type = KEY_MATCH,
     .required = true,
     .expected = "an object such as {\"tool\": \"write_file\"}",
     .help = "The calls that it speaks of: those that meet every field."},
    {.name = "never",
     .id = ID_NEVER,
     .type = KEY_CHOICES,
     .required = true,
     .min = 1,
     .choices = schema_decisions,
     .expected = "a non-empty array of 'allow', 'deny' and 'require'",
     .help = "Decisions that none of these calls may get."},
    {.name = "evenApproved",
     .id = ID_EVEN_APPROVED,
     .type = KEY_BOOLEAN,
     .fallback = "false",
     .expected = "true or false",
     .help = "With `allow` in `never`: people's approval counts as an allow too."},
};

const struct key_table schema_assertion = {"an assertion", assertion_keys, COUNT(assertion_keys),
                                           &schema_assertion_match, "inside 'match'"};
const struct key_table schema_assertion_match = {"an assertion's match", match_keys, COUNT(match_keys) - 1,
                                                 &schema_assertion, "beside 'match', not inside it"};

/* ---- Confinement ---- */

static const struct key confine_keys[] = {
    {.name = "write",
     .id = ID_CONFINE_WRITE,
     .type = KEY_STRINGS,
     .expected = "an array of directories such as [\"~/work/out\", \"@npm\"]",
     .help = "Directories that a confined program can write to, or names of such: @cache, @npm and others. "
             "Not in a "
             "workspace file."},
    {.name = "read",
     .id = ID_CONFINE_READ,
     .type = KEY_STRINGS,
     .expected = "an array of paths such as [\"vendor\", \"~/work/out/signed\"]",
     .help = "Files and directories that stay read-only for it, wherever they stand."},
};

const struct key_table schema_confine = {"'confine'", confine_keys, COUNT(confine_keys), &schema_document,
                                         "beside 'confine', not inside it"};

/* ---- Looking up ---- */

/* Most words of a table differ in their first letter already. */
static bool is_word(struct slice name, const char *word)
{
    return name.len != 0 && name.ptr[0] == word[0] && slice_is(name, word);
}

const struct key *schema_key(const struct key_table *table, struct slice name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (is_word(name, table->keys[i].name)) {
            return &table->keys[i];
        }
    }
    return NULL;
}

static void write_listed(struct buf *buf, const char *name, size_t at, size_t count)
{
    buf_text(buf, at == 0 ? "'" : at + 1 < count ? ", '" : " and '");
    buf_text(buf, name);
    buf_byte(buf, '\'');
}

void schema_write_choices(struct buf *buf, const struct choice *choices)
{
    size_t count = 0;
    while (choices[count].name != NULL) {
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        write_listed(buf, choices[i].name, i, count);
    }
}

void schema_write_keys(struct buf *buf, const struct key_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        write_listed(buf, table->keys[i].name, i, table->count);
    }
}
