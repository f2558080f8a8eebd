/* Finds the parts of a journal in its directory. */
#include "journal/parts_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/reader.h"
#include "journal/tail_internal.h"

static bool add_part(struct parts *parts, const struct part *part)
{
    if (parts->count == parts->cap) {
        size_t cap = parts->cap == 0 ? 8 : parts->cap * 2;
        struct part *list = reallocarray(parts->list, cap, sizeof(*list));
        if (list == NULL) {
            return false;
        }
        parts->list = list;
        parts->cap = cap;
    }
    parts->list[parts->count++] = *part;
    return true;
}

static void set_chain(struct chain *chain, uint64_t seq, struct slice hash)
{
    *chain = (struct chain){.seq = seq};
    size_t len = hash.len < HASH_HEX ? hash.len : HASH_HEX;
    memcpy(chain->hash, hash.ptr, len);
}

/* What the first and the last line of an open file say. False: it is no part. */
static bool read_part(const struct journal_file *file, uint64_t size, struct part *part)
{
    struct line_reader reader;
    struct buf bytes;
    struct tail tail;
    struct line line;
    struct journal_fault fault = {0};
    line_reader_init(&reader);
    buf_init(&bytes, (size_t)2 * JOURNAL_BATCH_MAX);
    bool good = tail_read(file, size, &bytes, &reader, &tail, &fault) == LINE_OK && tail.chain.seq > 0;
    if (good) {
        part->last = tail.chain;
        memcpy(part->ts, tail.ts, sizeof(part->ts));
        good = tail_read_line(file, 0, size, &bytes, &reader, &line, &fault) == LINE_OK;
    }
    if (good && line.previous_seq > 0) {
        set_chain(&part->previous, line.previous_seq, line.previous_hash);
    }
    buf_finish(&bytes);
    line_reader_finish(&reader);
    return good;
}

static bool is_candidate(const char *file, const char *journal)
{
    size_t len = strlen(journal);
    return strncmp(file, journal, len) == 0 && (file[len] == '\0' || file[len] == '.' || file[len] == '-');
}

/* False only when memory ran out. No lock is taken: the caller may hold that of one of the files. */
static bool look_at(struct parts *parts, int dir, const char *name)
{
    struct journal_file file = {.dir = -1};
    struct part part = {0};
    struct stat status;
    memcpy(part.name, name, strlen(name) + 1);
    file.fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_part = file.fd >= 0 && fstat(file.fd, &status) == 0 && S_ISREG(status.st_mode) &&
                   status.st_size > 0 && read_part(&file, (uint64_t)status.st_size, &part);
    journal_file_close(&file);
    return !is_part || add_part(parts, &part);
}

static bool look_through(struct parts *parts, DIR *stream, int dir)
{
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        if (is_candidate(entry->d_name, parts->journal) && !look_at(parts, dir, entry->d_name)) {
            return false;
        }
    }
    return true;
}

bool parts_list(int dir, const char *name, struct parts *ret_parts, struct buf *error)
{
    struct parts parts = {0};
    memcpy(parts.journal, name, strlen(name) + 1);
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
    if (stream == NULL) {
        buf_printf(error, "journal '%s': cannot look for its parts: %s", name, strerror(errno));
        if (copy >= 0) {
            (void)close(copy);
        }
        return false;
    }
    bool done = look_through(&parts, stream, dir);
    (void)closedir(stream);
    if (!done) {
        buf_printf(error, "journal '%s': out of memory", name);
        parts_finish(&parts);
        return false;
    }
    *ret_parts = parts;
    return true;
}

void parts_finish(struct parts *parts)
{
    free(parts->list);
    parts->list = NULL;
    parts->count = 0;
}

const struct part *parts_named(const struct parts *parts, const char *name)
{
    for (size_t i = 0; i < parts->count; i++) {
        if (strcmp(parts->list[i].name, name) == 0) {
            return &parts->list[i];
        }
    }
    return NULL;
}

const struct part *parts_before(const struct parts *parts, const struct part *part)
{
    for (size_t i = 0; i < parts->count && part->previous.seq > 0; i++) {
        const struct part *other = &parts->list[i];
        if (other->last.seq == part->previous.seq && strcmp(other->last.hash, part->previous.hash) == 0) {
            return other;
        }
    }
    return NULL;
}

const struct part *parts_newest(const struct parts *parts)
{
    const struct part *newest = NULL;
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->list[i];
        if (strcmp(part->name, parts->journal) != 0 && (newest == NULL || strcmp(part->ts, newest->ts) > 0)) {
            newest = part;
        }
    }
    return newest;
}

/* ---- For readers ---- */

static bool add_file(struct journal_parts *parts, const char *dir, const char *name, uint64_t last_seq)
{
    size_t room = strlen(dir) + strlen(name) + 2;
    char *path = malloc(room);
    if (path == NULL) {
        return false;
    }
    (void)snprintf(path, room, "%s/%s", dir, name);
    parts->files[parts->count] = path;
    parts->last_seq[parts->count++] = last_seq;
    return true;
}

/* From the newest back to the oldest, then turned round. */
static bool link_parts(const struct parts *found, const char *dir, const char *name,
                       struct journal_parts *parts)
{
    const struct part *part = parts_named(found, name), *oldest = NULL;
    bool done = true;
    if (part == NULL) {
        /* Not begun yet: what came before is its past all the same. */
        done = add_file(parts, dir, name, 0);
        part = parts_newest(found);
    }
    for (size_t i = 0; i < found->count && part != NULL && done; i++) {
        done = add_file(parts, dir, part->name, part->last.seq);
        oldest = part;
        part = parts_before(found, part);
    }
    parts->missing = oldest != NULL && part == NULL ? oldest->previous.seq : 0;
    for (size_t i = 0, j = parts->count; i + 1 < j; i++) {
        const char *file = parts->files[i];
        uint64_t seq = parts->last_seq[i];
        j--;
        parts->files[i] = parts->files[j];
        parts->last_seq[i] = parts->last_seq[j];
        parts->files[j] = file;
        parts->last_seq[j] = seq;
    }
    return done;
}

bool journal_parts_find(const char *dir, const char *name, struct journal_parts *ret_parts,
                        struct buf *ret_error)
{
    struct parts found = {0};
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool listed = fd >= 0 && parts_list(fd, name, &found, ret_error);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (fd >= 0 && !listed) {
        return false;
    }
    struct journal_parts parts = {.files = calloc(found.count + 1, sizeof(*parts.files)),
                                  .last_seq = calloc(found.count + 1, sizeof(*parts.last_seq))};
    bool done = parts.files != NULL && parts.last_seq != NULL && link_parts(&found, dir, name, &parts);
    parts_finish(&found);
    if (!done) {
        buf_printf(ret_error, "journal '%s': out of memory", name);
        journal_parts_finish(&parts);
        return false;
    }
    *ret_parts = parts;
    return true;
}

void journal_parts_finish(struct journal_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        free((char *)(uintptr_t)parts->files[i]);
    }
    free(parts->files);
    free(parts->last_seq);
    *parts = (struct journal_parts){0};
}
