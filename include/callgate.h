/* callgate.h - decide whether an AI agent's tool call runs, is denied, or waits for a person
 *
 * SYNOPSIS
 *     cc program.c $(pkg-config --cflags --libs callgate)
 *
 * DESCRIPTION
 *     A call is judged in four steps:
 *
 *         cg_policy_load    documents        -> policy    (once; looks at files: resolves prefixes)
 *         cg_call_create    JSON text        -> call
 *         cg_readings_make  policy, call     -> readings  (looks at files: every way to read the paths)
 *         cg_evaluate       policy, readings -> decision  (pure: its arguments only, allocates nothing)
 *
 *     Where a call can be understood in more than one way, it is judged in every way, and the strictest
 * answer stands. Every failure denies: a NULL policy, call or readings handed to cg_evaluate is a deny, and
 * the zero value of a decision is a deny. Test for CG_ALLOW by name, never for "not CG_DENY".
 *
 * OWNERSHIP
 *     What a _create, _load or _make function returns is the caller's, until the matching _free, which takes
 * NULL. Strings that are handed out belong to the object they came from and live as long as it does; they are
 *     followed by a NUL that their length does not count, and may hold NULs. Arguments are copied, except
 * where a function says otherwise.
 *
 * THREADS
 *     A policy never changes after cg_policy_load and may be used by many threads. A call and its readings
 * belong to one thread at a time. The library has no global state, starts no thread, reads no environment
 * variable and no clock, and needs libc only.
 *
 * STABILITY
 *     Types are opaque or begin with a `size` member that the caller sets to sizeof; functions and
 * enumerators are only ever added. CG_ABI_VERSION changes when that promise is broken, and cg_abi_version
 * tells what the library was built as.
 */
#ifndef CALLGATE_H
#define CALLGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CG_ABI_VERSION 1

#if defined(__GNUC__)
#define CG_API      __attribute__((visibility("default")))
#define CG_MUST_USE __attribute__((warn_unused_result))
#else
#define CG_API
#define CG_MUST_USE
#endif

/* The CG_ABI_VERSION and the release ("0.1.0") that the library was built as. */
CG_API uint32_t cg_abi_version(void);
CG_API const char *cg_version(void);

/* ---- Policies ---- */

typedef struct cg_policy cg_policy;
typedef struct cg_report cg_report;

enum cg_tier {
    CG_TIER_OPERATOR = 0, /* the operator's own document: its rules may name any tier */
    CG_TIER_ADMIN = 1,
    CG_TIER_USER = 2,
    CG_TIER_WORKSPACE = 3, /* may only tighten */
};

typedef struct cg_document {
    const char *name; /* for messages: a file's name */
    enum cg_tier tier;
    const char *text;
    size_t length; /* bytes */
} cg_document;

/* Where relative paths and `~` start. Absolute directories. `roots` are further starts of relative paths and
 * may be NULL when there are none. */
typedef struct cg_base {
    size_t size; /* sizeof(cg_base); a smaller one of an earlier release is taken as well */
    const char *cwd;
    const char *home;
    const char *const *roots;
    size_t root_count;
} cg_base;

/* Loads documents, in order, into one policy: all or nothing, except that a workspace document with errors is
 * reported and left out. Returns NULL when there is no policy. *ret_report, unless ret_report is NULL, gets
 * every error and warning of every document, or one error `bad-base` when the base cannot be used (NULL only
 * when memory ran out); free it with cg_report_free. */
CG_API CG_MUST_USE cg_policy *cg_policy_load(const cg_document *documents, size_t count, const cg_base *base,
                                             cg_report **ret_report);
CG_API void cg_policy_free(cg_policy *policy);

/* How many rules a policy has. */
CG_API size_t cg_policy_rules(const cg_policy *policy);

enum cg_severity {
    CG_ERROR = 1,
    CG_WARNING = 2,
};

typedef struct cg_finding {
    size_t size; /* sizeof(cg_finding), set by the caller */
    enum cg_severity severity;
    const char *code;    /* "unknown-key", "shadow": stable */
    const char *file;    /* the document's name */
    uint32_t line;       /* from 1; 0: no place */
    uint32_t column;     /* from 1, in characters */
    const char *pointer; /* RFC 6901; "" when there is none */
    const char *rule;    /* the rule's id; "" when unknown */
    const char *message; /* what is wrong and the next step */
    const char *later;   /* of shadow warnings: rule ids; else "" */
    const char *earlier;
    int cross_tier;
    /* An id, a pointer or a file's name may hold a NUL; behind each text stands one more. */
    size_t file_length, pointer_length, rule_length, message_length, later_length, earlier_length;
} cg_finding;

/* Errors first, each kind in order of document and place. cg_report_get returns 0 when there is no such
 * finding. */
CG_API size_t cg_report_count(const cg_report *report);
CG_API int cg_report_get(const cg_report *report, size_t index, cg_finding *ret_finding);
CG_API void cg_report_free(cg_report *report);

/* ---- Calls ---- */

typedef struct cg_call cg_call;

/* Reads one call: {"tool","input"?,"server"?,"sessionKey"?:{"channel","thread"},"actor"?,"annotations"?}. Absent members are
 * input {}, no server, channel and thread "", actor claude_process. A malformed text or one over a limit
 * gives a call all the same: one that every policy denies, with the reason. NULL only when memory ran out. */
CG_API CG_MUST_USE cg_call *cg_call_create(const char *text, size_t length);
CG_API void cg_call_free(cg_call *call);

/* Whether the text was a well-formed call within the limits. */
CG_API int cg_call_ok(const cg_call *call);

/* The text whose SHA-256 is the call's hash. *ret_length bytes that live as long as the
 * call; NULL for a call that is not ok. The library hashes nothing itself. */
CG_API const char *cg_call_text(cg_call *call, size_t *ret_length);

/* ---- Readings ---- */

typedef struct cg_readings cg_readings;

/* Makes every reading of a call's paths. This looks at files: two runs may differ. NULL when memory ran out.
 */
CG_API CG_MUST_USE cg_readings *cg_readings_make(const cg_policy *policy, const cg_call *call,
                                                 const cg_base *base);
CG_API void cg_readings_free(cg_readings *readings);

CG_API size_t cg_readings_count(const cg_readings *readings);

/* The canonical path of a reading: NULL for one without a path and for one that cannot be resolved, which
 * *ret_unreadable, unless NULL, tells apart. */
CG_API const char *cg_readings_path(const cg_readings *readings, size_t index, size_t *ret_length,
                                    int *ret_unreadable);

/* ---- Decisions ---- */

/* Far apart in bits, so that a flipped bit is not an allow. */
enum cg_kind {
    CG_DENY = 0,
    CG_REQUIRE = 0x33cc0ff0,
    CG_ALLOW = 0x6996a55a,
};

/* A live approval as the caller's store has it. */
typedef struct cg_approval {
    const char *rule; /* id; the caller has checked that the rule's text (cg_policy_rule_text) is unchanged */
    const char *channel, *thread;
    int64_t granted, expires; /* milliseconds since 1970: live while granted <= now < expires */
    const uint8_t
        *call_hash; /* 32 bytes: covers only the call with this hash; NULL: every call of the session */
} cg_approval;

typedef struct cg_approvals {
    size_t size; /* sizeof(cg_approvals) */
    const cg_approval *list;
    size_t count; /* at most 64 of the call's session; with more, every call is denied */
    int64_t now;  /* milliseconds since 1970 */
    const uint8_t
        *call_hash; /* the SHA-256 of cg_call_text: 32 bytes; NULL: no approval of one call counts */
} cg_approvals;

typedef struct cg_decision {
    size_t size; /* sizeof(cg_decision), set by the caller */
    enum cg_kind kind;
    const char *rule; /* the rule that decided, "default", or NULL for an allow that no rule gave */
    size_t rule_length;
    uint32_t ttl_ms;      /* of CG_REQUIRE: how long an approval lives */
    uint32_t approvers;   /* of CG_REQUIRE: how many different people */
    size_t reading;       /* index of the reading that gave it */
    uint64_t private_[6]; /* for cg_decision_json and cg_decision_reason */
} cg_decision;

/* Decides. `approvals` may be NULL: then no approval is live. Always sets *ret_decision. Pure. */
CG_API void cg_evaluate(const cg_policy *policy, const cg_call *call, const cg_readings *readings,
                        const cg_approvals *approvals, cg_decision *ret_decision);

/* Write a decision as `callgate eval` prints it, or the reason of a deny, into a buffer of `size` bytes,
 * always followed by a NUL when size > 0. Return the whole length without the NUL, as snprintf does. The
 * policy and the call must still live. */
CG_API size_t cg_decision_json(const cg_policy *policy, const cg_decision *decision, char *buffer,
                               size_t size);
CG_API size_t cg_decision_reason(const cg_policy *policy, const cg_decision *decision, char *buffer,
                                 size_t size);

/* The text that a rule's digest is taken of, likewise; 0 when there is no rule of this id.
 */
CG_API size_t cg_policy_rule_text(const cg_policy *policy, const char *rule, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif
