/* The table of methods. */
#include "mcp/revision_internal.h"

enum sender {
    CLIENT = 1,
    SERVER = 2,
    BOTH = 3,
};

/* The revisions in which a method exists, by the first and last of them. */
enum {
    LEGACY = REVISION_2024_11_05 | REVISION_2025_03_26 | REVISION_2025_06_18 | REVISION_2025_11_25,
    FROM_2025_06 = REVISION_2025_06_18 | REVISION_2025_11_25,
    ONLY_2025_11 = REVISION_2025_11_25,
    ONLY_2026 = REVISION_2026_07_28,
    FROM_2025_11 = REVISION_2025_11_25 | REVISION_2026_07_28,
    ALWAYS = REVISION_ANY,
};

static const struct {
    const char *name;
    enum method_sort sort;
    enum sender sender;
    unsigned revisions;
} methods[] = {
    {"initialize", METHOD_REQUEST, CLIENT, LEGACY},
    {"ping", METHOD_REQUEST, BOTH, LEGACY},
    {"server/discover", METHOD_REQUEST, CLIENT, ONLY_2026},
    {"completion/complete", METHOD_REQUEST, CLIENT, ALWAYS},
    {"logging/setLevel", METHOD_REQUEST, CLIENT, LEGACY},
    {"prompts/list", METHOD_REQUEST, CLIENT, ALWAYS},
    {"prompts/get", METHOD_REQUEST, CLIENT, ALWAYS},
    {"resources/list", METHOD_REQUEST, CLIENT, ALWAYS},
    {"resources/templates/list", METHOD_REQUEST, CLIENT, ALWAYS},
    {"resources/read", METHOD_REQUEST, CLIENT, ALWAYS},
    {"resources/subscribe", METHOD_REQUEST, CLIENT, LEGACY},
    {"resources/unsubscribe", METHOD_REQUEST, CLIENT, LEGACY},
    {"subscriptions/listen", METHOD_REQUEST, CLIENT, ONLY_2026},
    {"tools/list", METHOD_REQUEST, CLIENT, ALWAYS},
    /* The extension io.modelcontextprotocol/skills, which servers of either era may have. */
    {"skills/list", METHOD_REQUEST, CLIENT, ALWAYS},
    {"skills/get", METHOD_REQUEST, CLIENT, ALWAYS},
    {"resources/directory/read", METHOD_REQUEST, CLIENT, ALWAYS},
    {"tools/call", METHOD_REQUEST, CLIENT, ALWAYS},
    /* 2025-11-25 lets either side own tasks; in 2026-07-28 they are an extension, of servers only. */
    {"tasks/get", METHOD_REQUEST, CLIENT, FROM_2025_11},
    {"tasks/cancel", METHOD_REQUEST, CLIENT, FROM_2025_11},
    {"tasks/get", METHOD_REQUEST, SERVER, ONLY_2025_11},
    {"tasks/cancel", METHOD_REQUEST, SERVER, ONLY_2025_11},
    {"tasks/result", METHOD_REQUEST, BOTH, ONLY_2025_11},
    {"tasks/list", METHOD_REQUEST, BOTH, ONLY_2025_11},
    {"tasks/update", METHOD_REQUEST, CLIENT, ONLY_2026},
    {"sampling/createMessage", METHOD_REQUEST, SERVER, LEGACY},
    {"roots/list", METHOD_REQUEST, SERVER, LEGACY},
    {"elicitation/create", METHOD_REQUEST, SERVER, FROM_2025_06},

    {"notifications/cancelled", METHOD_NOTIFICATION, BOTH, ALWAYS},
    {"notifications/initialized", METHOD_NOTIFICATION, CLIENT, LEGACY},
    {"notifications/progress", METHOD_NOTIFICATION, CLIENT, LEGACY},
    {"notifications/progress", METHOD_NOTIFICATION, SERVER, ALWAYS},
    {"notifications/roots/list_changed", METHOD_NOTIFICATION, CLIENT, LEGACY},
    {"notifications/tasks/status", METHOD_NOTIFICATION, BOTH, ONLY_2025_11},
    {"notifications/message", METHOD_NOTIFICATION, SERVER, ALWAYS},
    {"notifications/tools/list_changed", METHOD_NOTIFICATION, SERVER, ALWAYS},
    {"notifications/prompts/list_changed", METHOD_NOTIFICATION, SERVER, ALWAYS},
    {"notifications/resources/list_changed", METHOD_NOTIFICATION, SERVER, ALWAYS},
    {"notifications/resources/updated", METHOD_NOTIFICATION, SERVER, ALWAYS},
    {"notifications/elicitation/complete", METHOD_NOTIFICATION, SERVER, ONLY_2025_11},
    {"notifications/subscriptions/acknowledged", METHOD_NOTIFICATION, SERVER, ONLY_2026},
};

static bool may(struct slice method, enum method_sort sort, enum sender sender, unsigned revisions)
{
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (methods[i].sort == sort && (methods[i].sender & sender) && (methods[i].revisions & revisions) &&
            slice_is(method, methods[i].name)) {
            return true;
        }
    }
    return false;
}

bool revision_client_may(struct slice method, enum method_sort sort, unsigned revisions)
{
    return may(method, sort, CLIENT, revisions);
}

bool revision_server_may(struct slice method, enum method_sort sort, unsigned revisions)
{
    return may(method, sort, SERVER, revisions);
}

bool revision_is_of_extension(struct slice method)
{
    return slice_starts_with(method, SLICE("tasks/")) || slice_is(method, "skills/list");
}

bool revision_is_modern(struct slice version)
{
    /* Revisions are named by their dates, so that the order of bytes is the order of time. */
    return slice_cmp(version, SLICE("2026-07-28")) >= 0;
}
