/* `--confine-net`: the gate that judges a confined program's requests to the network, and the program that does it for a
 * server. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "broker/broker.h"
#include "cli/commands.h"
#include "cli/confine/confine.h"
#include "net/net.h"

#define THREAD_BYTES 16

static void say_line(const char *line)
{
    say("%s", line);
}

static struct gate *open_gate(struct options *options, const struct confine_options *own)
{
    struct buf error;
    const struct gate_options wanted = {
        .surface = NET_SURFACE,
        .server = own->server != NULL ? slice_of(own->server) : (struct slice){0},
        .sources = &options->sources,
        .state_dir = options->state_dir,
        .base = options->base,
        .tells_authored = true,
        .say = say_line,
    };
    const struct broker_client_options client = {
        .socket = own->gate, .starts = true, .state_dir = options->state_dir, .base = options->base};
    buf_init(&error, (size_t)64 << 20);
    struct gate *gate =
        own->gate != NULL ? broker_connect(&client, &wanted, &error) : gate_open(&wanted, &error);
    struct slice lines = buf_slice_of(&error);
    lines.len -= lines.len > 0 && lines.ptr[lines.len - 1] == '\n';
    if (lines.len > 0 || gate == NULL) {
        say("%.*s", SLICE_FMT(buf_message(&error)));
    }
    buf_finish(&error);
    return gate;
}

/* A session of its own for each start, unless the caller names one. */
static bool choose_thread(const char *named, char fresh[2 * THREAD_BYTES], struct slice *ret_thread)
{
    uint8_t bytes[THREAD_BYTES];
    if (named != NULL) {
        *ret_thread = slice_of(named);
        return true;
    }
    bool ok = random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; ok && i < sizeof(bytes); i++) {
        fresh[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        fresh[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    *ret_thread = (struct slice){fresh, 2 * sizeof(bytes)};
    return ok;
}

int confine_with_network(struct options *options, const struct confine_options *own)
{
    char fresh[2 * THREAD_BYTES];
    struct view view;
    struct net_options net = {
        .child_umask = umask_at_start,
        .defaults = {.server = own->server != NULL ? slice_of(own->server) : (struct slice){0},
                     .channel = slice_of(own->channel != NULL ? own->channel : "local"),
                     .actor = ACTOR_CLAUDE_PROCESS},
        .say = say_line,
    };
    if (!choose_thread(own->thread, fresh, &net.defaults.thread) ||
        !sources_add_built_in(&options->sources, "the network's tool", NET_BUILT_IN)) {
        say("no memory or no random numbers");
        return EXIT_UNABLE;
    }
    char **words = confine_words(options, own, &view);
    if (words == NULL) {
        return EXIT_UNABLE;
    }
    net.command = words;
    net.gate = open_gate(options, own);
    int code = net.gate != NULL ? net_run(&net) : -1;
    gate_close(net.gate);
    view_finish(&view);
    return code >= 0 ? code : EXIT_UNABLE;
}

/* ---- For `run` ---- */

struct words {
    char **list;
    size_t count;
};

static void add(struct words *words, const char *name, const char *value)
{
    if (value != NULL) {
        words->list[words->count++] = (char *)name;
        words->list[words->count++] = (char *)value;
    }
}

char **confine_server_words(struct options *options, const struct confine_options *own)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    size_t most = 2 * (options->policies.count + own->writable.count + options->base.root_count + 7) +
                  (size_t)options->argc + 5;
    struct words words = {arena_array(&options->arena, most, sizeof(*words.list)), 0};
    if (len <= 0 || words.list == NULL) {
        say("no memory, or the place of this program cannot be told");
        return NULL;
    }
    words.list[words.count++] = (char *)arena_copy(&options->arena, (struct slice){self, (size_t)len}).ptr;
    words.list[words.count++] = (char *)"confine";
    words.list[words.count++] = (char *)"--confine-net";
    add(&words, "--server", own->server);
    add(&words, "--channel", own->channel);
    add(&words, "--thread", own->thread);
    add(&words, "--state", options->state_dir);
    add(&words, "--home", options->home);
    add(&words, "--cwd", options->cwd);
    for (size_t i = 0; i < options->policies.count; i++) {
        add(&words, "--policy", options->policies.items[i]);
    }
    for (size_t i = 0; i < own->writable.count; i++) {
        add(&words, "--write", own->writable.items[i]);
    }
    for (size_t i = 0; i < options->base.root_count; i++) {
        add(&words, "--root", options->base.roots[i].ptr);
    }
    words.list[words.count++] = (char *)"--";
    for (int i = 0; i < options->argc; i++) {
        words.list[words.count++] = options->argv[i];
    }
    words.list[words.count] = NULL;
    return words.list[0] != NULL ? words.list : NULL;
}
