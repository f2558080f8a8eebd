/* Calls that a gate of the same agent judges: a hook passes them on, so that nothing is judged twice. */
#include "host/passed_on_internal.h"

#include "gate/claim.h"

struct passing {
    const struct host_hook_options *options;
    const struct host_message *message;
    char terms[HASH_HEX + 1];
    bool terms_known;
};

/* The names of the call; a tool that reads a server's resources has its own name behind that of the method. */
static size_t name_count(const struct host_message *message)
{
    return message->name_count - (message->reads_resource ? 1 : 0);
}

static bool is_excepted(const struct host_hook_options *options, struct slice server)
{
    for (size_t i = 0; i < options->except_count; i++) {
        if (slice_is(server, options->except[i])) {
            return true;
        }
    }
    return false;
}

/* Whether, however the call's name is understood, it is one of a server that --except-server names, and that a gate
 * claims. */
static bool is_of_excepted(const struct passing *p)
{
    size_t count = name_count(p->message);
    for (size_t i = 0; i < count; i++) {
        const struct call_name *name = &p->message->names[i];
        if (!name->has_server || !is_excepted(p->options, name->server) ||
            !claim_stands(p->options->state_dir, name->server, NULL)) {
            return false;
        }
    }
    return count > 0;
}

static bool is_named(const struct host_message *message, struct slice server)
{
    size_t count = name_count(message);
    for (size_t i = 0; i < count; i++) {
        if (message->names[i].has_server && slice_eq(message->names[i].server, server)) {
            return true;
        }
    }
    return false;
}

/* A server that only a project's file names may be of an agent's making: its gate must judge by what this hook does. */
static bool has_gate(const struct passing *p, const struct host_server *server)
{
    bool wrapped = host_server_is_wrapped(server->launched) || is_excepted(p->options, server->name);
    return wrapped && (!server->of_project || p->terms_known) &&
           claim_stands(p->options->state_dir, server->name, server->of_project ? p->terms : NULL);
}

/* Whether every server of the host's configuration that the call may be of starts a gate that claims it. */
static bool is_of_wrapped(const struct passing *p, const struct host_servers *servers)
{
    size_t found = 0;
    for (size_t i = 0; i < servers->count; i++) {
        if (is_named(p->message, servers->list[i].name)) {
            found++;
            if (!has_gate(p, &servers->list[i])) {
                return false;
            }
        }
    }
    return found > 0 && !servers->partial;
}

bool call_is_passed_on(const struct host_hook_options *options, struct host_message *message)
{
    const struct host_places places = {.home = options->base.home};
    struct host_servers servers = {0};
    struct passing p = {.options = options, .message = message};
    bool of_server = false;
    size_t count = name_count(message);
    for (size_t i = 0; i < count; i++) {
        of_server = of_server || message->names[i].has_server;
    }
    if (!of_server || message->server_unknown) {
        return false;
    }
    if (is_of_excepted(&p)) {
        return true;
    }
    p.terms_known = claim_terms(options->sources, options->broker, options->protect_file, p.terms);
    return options->host->servers(message, &places, &servers) && is_of_wrapped(&p, &servers);
}
