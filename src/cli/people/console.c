/* `console`: starts the page for the people who approve, which is a program of its own. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/libexec.h"
#include "cli/options.h"

static const char usage[] =
    "usage: callgate console [--listen ADDRESS:PORT] [--state DIR] [--people FILE]\n"
    "                        [--tls-certificate FILE --tls-key FILE --name HOST]\n"
    "       callgate console link [ACCOUNT]\n"
    "       callgate console password ACCOUNT\n"
    "       callgate console accounts\n"
    "       callgate console forget ACCOUNT\n\n"
    "Serves a page on this machine: what waits, answers, the journal, rules, gates. Prints a link that "
    "signs\n"
    "you in once; in the page you can add a passkey or a password. Who may answer stands in people.json\n"
    "(callgate people add NAME --page ACCOUNT); without it you are the only person.\n\n"
    "  link [ACCOUNT]     prints another link, for you or for an account\n"
    "  password ACCOUNT   sets a password, from the terminal or a line of standard input\n"
    "  accounts           who has a password or a passkey\n"
    "  forget ACCOUNT     takes its password and passkeys away\n"
    "  --listen A:PORT    another place than 127.0.0.1:8417. An address that others can reach needs TLS, a "
    "name,\n"
    "                     and an account with a password\n"
    "  --name HOST        the host's name in links; with it, passkeys are bound to it\n\n"
    "docs/console.md shows the page.\n\n"
    "Exit: 0 told to end, or done; 2 could not be done.\n";

#define DEFAULT_LISTEN "127.0.0.1:8417"

struct console_words {
    const char *listen, *people, *certificate, *key, *name;
    char address[64], port[8];
};

/* "127.0.0.1:8417" or "[::1]:8417" */
static bool split_listen(struct console_words *words)
{
    const char *colon = strrchr(words->listen, ':');
    const char *begin = words->listen;
    size_t len = colon != NULL ? (size_t)(colon - begin) : 0;
    int64_t port = 0;
    if (len >= 2 && begin[0] == '[' && begin[len - 1] == ']') {
        begin++;
        len -= 2;
    }
    if (colon == NULL || len == 0 || len >= sizeof(words->address) ||
        !option_number(colon + 1, 0, 65535, &port)) {
        return false;
    }
    snprintf(words->address, sizeof(words->address), "%.*s", (int)len, begin);
    snprintf(words->port, sizeof(words->port), "%lld", (long long)port);
    return true;
}

static const char *fault_of(const struct options *options, struct console_words *words)
{
    static const struct {
        const char *verb;
        int least, most;
    } verbs[] = {{"link", 1, 2}, {"password", 2, 2}, {"accounts", 1, 1}, {"forget", 2, 2}};
    for (size_t i = 0; options->argc > 0 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(options->argv[0], verbs[i].verb) == 0 && options->argc >= verbs[i].least &&
            options->argc <= verbs[i].most) {
            return NULL;
        }
    }
    if (options->argc > 0) {
        return "say nothing more, or 'link', 'password ACCOUNT', 'accounts' or 'forget ACCOUNT'";
    }
    if (!split_listen(words)) {
        return "--listen: an address of this machine and a port, as in " DEFAULT_LISTEN;
    }
    bool own = strcmp(words->address, "127.0.0.1") == 0 || strcmp(words->address, "::1") == 0;
    if ((words->certificate == NULL) != (words->key == NULL)) {
        return "--tls-certificate and --tls-key belong together";
    }
    if (!own && (words->certificate == NULL || words->name == NULL)) {
        return "others can reach this address: --tls-certificate, --tls-key and --name are needed";
    }
    return NULL;
}

static int run(int argc, char **argv)
{
    struct options options;
    struct console_words words = {.listen = DEFAULT_LISTEN};
    const struct option_spec own[] = {
        {"listen", OPTION_VALUE, &words.listen},
        {"people", OPTION_VALUE, &words.people},
        {"tls-certificate", OPTION_VALUE, &words.certificate},
        {"tls-key", OPTION_VALUE, &words.key},
        {"name", OPTION_VALUE, &words.name},
    };
    int code = options_read(&options, &command_console, argc, argv, TAKES_STATE | TAKES_PATHS, own,
                            sizeof(own) / sizeof(own[0]));
    if (code != -1) {
        return code;
    }
    const char *fault = fault_of(&options, &words);
    if (fault != NULL) {
        code = usage_error(&command_console, "%s", fault);
    } else {
        char *const arguments[] = {"callgate-console",
                                   options.argc > 0 ? options.argv[0] : "run",
                                   options.argc > 1 ? options.argv[1] : "",
                                   (char *)options.state_dir,
                                   (char *)options.base.home.ptr,
                                   (char *)(words.people != NULL ? words.people : ""),
                                   words.address,
                                   words.port,
                                   (char *)(words.name != NULL ? words.name : "localhost"),
                                   (char *)(words.certificate != NULL ? words.certificate : ""),
                                   (char *)(words.key != NULL ? words.key : ""),
                                   NULL};
        code = libexec_become("callgate-console", arguments);
    }
    options_finish(&options);
    return code;
}

const struct cli_command command_console = {"console", "a page for the people who approve", usage, run};
