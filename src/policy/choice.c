/* The words that documents have for effects, tiers, scopes, actors and decisions. */
#include "policy/choice.h"

#include "policy/policy.h"

const struct choice schema_effects[] = {
    {"auto_approve", EFFECT_AUTO_APPROVE, "The call runs."},
    {"deny", EFFECT_DENY, "The call does not run."},
    {"require_approval", EFFECT_REQUIRE_APPROVAL, "The call waits for people."},
    {NULL, 0, NULL},
};

const struct choice schema_tiers[] = {
    {"admin", TIER_ADMIN, "Consulted first."},
    {"user", TIER_USER, "Consulted after admin."},
    {"workspace", TIER_WORKSPACE, "Consulted after user."},
    {"default", TIER_DEFAULT, "Consulted last."},
    {NULL, 0, NULL},
};

const struct choice schema_scopes[] = {
    {"session", SCOPE_SESSION, "Every call of the rule in the session."},
    {"call", SCOPE_CALL, "The one call that was approved, again and again."},
    {"once", SCOPE_ONCE, "The one call that was approved, one time."},
    {NULL, 0, NULL},
};

const struct choice schema_actors[] = {
    {"session_owner", ACTOR_SESSION_OWNER, "The person whose session it is."},
    {"claude_process", ACTOR_CLAUDE_PROCESS, "The agent."},
    {NULL, 0, NULL},
};

const struct choice schema_decisions[] = {
    {"allow", NEVER_ALLOW, "The call runs."},
    {"deny", NEVER_DENY, "The call does not run."},
    {"require", NEVER_REQUIRE, "The call waits for people."},
    {NULL, 0, NULL},
};

const struct choice *schema_choice(const struct choice *choices, struct slice name)
{
    for (const struct choice *choice = choices; choice->name != NULL; choice++) {
        /* Most words of a table differ in their first letter already. */
        if (name.len != 0 && name.ptr[0] == choice->name[0] && slice_is(name, choice->name)) {
            return choice;
        }
    }
    return NULL;
}
