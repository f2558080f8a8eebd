/* A temporary directory with what a test builds in it. Names may have `$` for the directory's canonical path.
 */
#ifndef TESTS_TREE_H
#define TESTS_TREE_H

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slice.h"

static char tree_root[PATH_MAX];

/* Stops the test program: without its files nothing that it would say is worth anything. */
static inline void tree_need(bool done, const char *what)
{
    if (!done) {
        perror(what);
        exit(1);
    }
}

static inline void tree_begin(void)
{
    char name[] = "/tmp/callgate-path-XXXXXX";
    tree_need(mkdtemp(name) != NULL && realpath(name, tree_root) != NULL && chdir(tree_root) == 0, "mkdtemp");
}

static inline void tree_end(void)
{
    char command[2 * PATH_MAX + 64];
    (void)snprintf(command, sizeof(command), "chmod -R u+rwx '%s' && rm -rf '%s'", tree_root, tree_root);
    tree_need(chdir("/") == 0 && system(command) == 0, "rm");
}

/* A text with each `$` replaced; good until four more were made. */
static inline const char *tree_text(const char *text)
{
    static char texts[4][16384];
    static unsigned turn;
    char *out = texts[turn++ % 4], *at = out;
    for (; *text != '\0'; text++) {
        if (*text == '$') {
            at = stpcpy(at, tree_root);
        } else {
            *at++ = *text;
        }
    }
    *at = '\0';
    return out;
}

static inline struct slice tree_slice(const char *text)
{
    return slice_of(tree_text(text));
}

static inline void tree_dir(const char *name)
{
    tree_need(mkdir(name, 0700) == 0, name);
}

static inline void tree_file(const char *name)
{
    int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    tree_need(fd >= 0 && close(fd) == 0, name);
}

static inline void tree_link(const char *name, const char *target)
{
    tree_need(symlink(tree_text(target), name) == 0, name);
}

static inline void tree_hard(const char *name, const char *file)
{
    tree_need(link(file, name) == 0, name);
}

#endif
