/* What the files of callgate-confine-probe share. Nothing outside src/confine includes this. */
#ifndef CONFINE_PROBE_INTERNAL_H
#define CONFINE_PROBE_INTERNAL_H

#include <stdbool.h>

#include "confine/probe.h"

struct probe_seen {
    char text[512]; /* one line, for people */
};

/* Notes what was seen; `why`: an errno, or 0. */
void probe_see(struct probe_seen *seen, const char *what, int why);

/* Each tries one task, and returns whether something was reached. */
bool probe_typing(const char *unused, struct probe_seen *seen);
bool probe_connect(const char *path, struct probe_seen *seen);
bool probe_command(const char *words, struct probe_seen *seen);
bool probe_environment(const char *words, struct probe_seen *seen);
bool probe_named_sockets(const char *allowed, struct probe_seen *seen);
bool probe_network(const char *unused, struct probe_seen *seen);

#endif
