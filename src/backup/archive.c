/* A tar archive of plain files (ustar, with GNU's entry for long names), written with a manifest and read strictly. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/internal.h"
#include "base/array.h"
#include "base/file.h"
#include "json/json.h"

#define BLOCK      512u
#define PIECE      ((size_t)256 << 10)
#define NAME_FIELD 100u

/* Offsets of a header's fields. */
enum {
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_TIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_MAGIC = 257,
};

static unsigned sum_of(const char block[BLOCK])
{
    unsigned sum = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        sum += i >= AT_SUM && i < AT_SUM + 8 ? (unsigned)' ' : (unsigned char)block[i];
    }
    return sum;
}

/* ---- Writing ---- */

static bool fail(struct buf *ret_error, const char *name, const char *what)
{
    buf_printf(ret_error, "%s %s: %s", name, what, strerror(errno));
    return false;
}

static void make_header(char block[BLOCK], const char *name, char type, uint64_t size)
{
    memset(block, 0, BLOCK);
    memcpy(block, name, strnlen(name, NAME_FIELD));
    (void)snprintf(block + AT_MODE, 8, "%07o", 0600u);
    (void)snprintf(block + AT_UID, 8, "%07o", 0u);
    (void)snprintf(block + AT_GID, 8, "%07o", 0u);
    (void)snprintf(block + AT_SIZE, 12, "%011llo", (unsigned long long)size);
    (void)snprintf(block + AT_TIME, 12, "%011o", 0u);
    block[AT_TYPE] = type;
    memcpy(block + AT_MAGIC, "ustar\00000", 8);
    (void)snprintf(block + AT_SUM, 8, "%06o", sum_of(block));
    block[AT_SUM + 7] = ' ';
}

static bool write_padded(int fd, struct slice bytes)
{
    static const char zeros[BLOCK];
    size_t rest = bytes.len % BLOCK;
    return file_write_whole(fd, bytes) &&
           (rest == 0 || file_write_whole(fd, (struct slice){zeros, BLOCK - rest}));
}

static bool write_header(int fd, const char *name, uint64_t size)
{
    char block[BLOCK];
    size_t len = strlen(name);
    if (len >= NAME_FIELD) {
        make_header(block, "././@LongLink", 'L', len + 1);
        if (!file_write_whole(fd, (struct slice){block, BLOCK}) ||
            !write_padded(fd, (struct slice){name, len + 1})) {
            return false;
        }
    }
    make_header(block, name, '0', size);
    return file_write_whole(fd, (struct slice){block, BLOCK});
}

/* Copies bytes of a file that may grow meanwhile, and hashes them. */
static bool write_content(int to, int from, uint64_t size, uint8_t ret_hash[HASH_SIZE])
{
    static const char zeros[BLOCK];
    char *piece = malloc(PIECE);
    struct hash_stream *stream = hash_begin();
    uint64_t at = 0;
    bool ok = piece != NULL && stream != NULL;
    while (ok && at < size) {
        size_t want = size - at < PIECE ? (size_t)(size - at) : PIECE;
        ssize_t n = pread(from, piece, want, (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        errno = n == 0 ? EIO : errno; /* it has become shorter */
        ok = n > 0 && file_write_whole(to, (struct slice){piece, (size_t)n});
        hash_add(stream, (struct slice){piece, n > 0 ? (size_t)n : 0});
        at += n > 0 ? (uint64_t)n : 0;
    }
    ok = hash_end(stream, ret_hash) && ok;
    free(piece);
    size_t rest = (size_t)(size % BLOCK);
    return ok && (rest == 0 || file_write_whole(to, (struct slice){zeros, BLOCK - rest}));
}

bool archive_add(struct archive *archive, const char *name, int fd, uint64_t size, struct buf *ret_error)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1];
    if (strlen(name) >= NAME_MOST || size >= ENTRY_MOST) {
        buf_printf(ret_error, "%s does not fit into a backup: its name, or the file, is too long", name);
        return false;
    }
    errno = ENOMEM;
    if (!write_header(archive->fd, name, size) || !write_content(archive->fd, fd, size, hash)) {
        return fail(ret_error, name, "cannot be copied");
    }
    hash_to_hex(hash, hex);
    buf_text(&archive->files, archive->files.len > 0 ? ",{\"name\":" : "{\"name\":");
    json_write_bytes(&archive->files, slice_of(name));
    buf_printf(&archive->files, ",\"sha256\":\"%s\",\"size\":%llu}", hex, (unsigned long long)size);
    if (!buf_ok(&archive->files)) {
        buf_text(ret_error, "there are too many files for a backup");
    }
    return buf_ok(&archive->files);
}

bool archive_end(struct archive *archive, struct slice head, struct buf *ret_error)
{
    static const char end[2 * BLOCK];
    struct buf manifest;
    buf_init(&manifest, MANIFEST_BYTES);
    buf_byte(&manifest, '{');
    buf_slice(&manifest, head);
    buf_text(&manifest, "\"files\":[");
    buf_slice(&manifest, buf_slice_of(&archive->files));
    buf_text(&manifest, "]}\n");
    bool ok = buf_ok(&manifest) && write_header(archive->fd, MANIFEST, manifest.len) &&
              write_padded(archive->fd, buf_slice_of(&manifest)) &&
              file_write_whole(archive->fd, (struct slice){end, sizeof(end)}) && fsync(archive->fd) == 0;
    buf_finish(&manifest);
    return ok || fail(ret_error, "the backup", "cannot be written");
}

/* ---- Reading ---- */

struct entry {
    char name[NAME_MOST];
    uint64_t size;
    uint8_t hash[HASH_SIZE];
};

struct unpacking {
    int fd, into;
    struct entry *list;
    size_t count, cap;
    struct buf *manifest, *error;
};

static bool refuse(struct unpacking *u, const char *why)
{
    buf_printf(u->error, "this is no whole backup of callgate's: %s", why);
    return false;
}

/* All of `len`, or false at the end. */
static bool read_whole(int fd, char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len) {
        ssize_t n = read(fd, bytes + at, len - at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        at += (size_t)n;
    }
    return true;
}

static bool read_octal(const char *field, size_t len, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t i = 0;
    while (i < len && field[i] >= '0' && field[i] <= '7') {
        number = number * 8 + (uint64_t)(field[i++] - '0');
    }
    *ret_number = number;
    return i > 0 && i < len && (field[i] == '\0' || field[i] == ' ');
}

static bool is_zero(const char block[BLOCK])
{
    for (size_t i = 0; i < BLOCK; i++) {
        if (block[i] != '\0') {
            return false;
        }
    }
    return true;
}

/* Plain names below the two folders: no point first, so none leads elsewhere. */
static bool is_name(const char *name)
{
    bool ours = strncmp(name, STATE_FOLDER "/", sizeof(STATE_FOLDER)) == 0 ||
                strncmp(name, CONFIG_FOLDER "/", sizeof(CONFIG_FOLDER)) == 0;
    size_t slashes = 0;
    for (const char *at = name; *at != '\0'; at++) {
        slashes += *at == '/';
        if ((unsigned char)*at < 0x20 || (*at == '/' && (at[1] == '/' || at[1] == '.' || at[1] == '\0'))) {
            return false;
        }
    }
    return strcmp(name, MANIFEST) == 0 || (ours && slashes <= 2);
}

static int make_file(struct unpacking *u, const char *name)
{
    char folder[NAME_MOST];
    for (const char *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        memcpy(folder, name, (size_t)(slash - name));
        folder[slash - name] = '\0';
        if (mkdirat(u->into, folder, 0700) != 0 && errno != EEXIST) {
            return -1;
        }
    }
    return openat(u->into, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static bool unpack_content(struct unpacking *u, struct entry *entry, int to)
{
    char *piece = malloc(PIECE);
    struct hash_stream *stream = hash_begin();
    uint64_t left = (entry->size + BLOCK - 1) / BLOCK * BLOCK, at = 0;
    bool is_manifest = strcmp(entry->name, MANIFEST) == 0;
    bool ok = piece != NULL && stream != NULL;
    while (ok && left > 0) {
        size_t want = left < PIECE ? (size_t)left : PIECE;
        ok = read_whole(u->fd, piece, want) || refuse(u, "it ends too early");
        struct slice bytes = {piece, entry->size - at < want ? (size_t)(entry->size - at) : want};
        if (ok && !file_write_whole(to, bytes)) {
            ok = fail(u->error, entry->name, "cannot be unpacked");
        }
        if (ok && is_manifest) {
            buf_slice(u->manifest, bytes);
        }
        hash_add(stream, bytes);
        at += bytes.len;
        left -= want;
    }
    bool hashed = hash_end(stream, entry->hash);
    free(piece);
    if (u->error->len == 0 && (!ok || !hashed || !buf_ok(u->manifest))) {
        ok = refuse(u, "no memory");
    }
    return ok && hashed;
}

static bool unpack_entry(struct unpacking *u, const char *name, uint64_t size)
{
    struct entry *list =
        u->count < ENTRIES_MOST ? array_grow(u->list, &u->cap, u->count + 1, sizeof(*u->list)) : NULL;
    if (list == NULL) {
        return refuse(u, "it has too many files");
    }
    u->list = list;
    if (!is_name(name) || size >= ENTRY_MOST) {
        return refuse(u, "a file in it has a name or a size that none has");
    }
    struct entry *entry = &u->list[u->count++];
    *entry = (struct entry){.size = size};
    memcpy(entry->name, name, strlen(name) + 1);
    int to = make_file(u, name);
    if (to < 0) {
        return errno == EEXIST ? refuse(u, "a file stands in it twice")
                               : fail(u->error, name, "cannot be unpacked");
    }
    bool ok = unpack_content(u, entry, to);
    if (ok && fsync(to) != 0) {
        ok = fail(u->error, name, "cannot be flushed");
    }
    close(to);
    return ok;
}

/* A header, and the name of a long one before it. *ret_end: there is none any more. */
static bool read_header(struct unpacking *u, char name[NAME_MOST], uint64_t *ret_size, bool *ret_end)
{
    char block[BLOCK], longer[(NAME_MOST + BLOCK) / BLOCK * BLOCK];
    uint64_t sum;
    bool is_long = false;
    *ret_end = false;
    for (;;) {
        if (!read_whole(u->fd, block, BLOCK)) {
            return refuse(u, "it ends too early");
        }
        if (is_zero(block) && !is_long) {
            *ret_end = true;
            return true;
        }
        if (memcmp(block + AT_MAGIC, "ustar", 6) != 0 || !read_octal(block + AT_SUM, 8, &sum) ||
            sum != sum_of(block) || !read_octal(block + AT_SIZE, 12, ret_size)) {
            return refuse(u, "a header in it is damaged");
        }
        if (block[AT_TYPE] == '0') {
            break;
        }
        if (block[AT_TYPE] != 'L' || is_long || *ret_size == 0 || *ret_size > NAME_MOST ||
            !read_whole(u->fd, longer, (size_t)((*ret_size + BLOCK - 1) / BLOCK * BLOCK)) ||
            longer[*ret_size - 1] != '\0') {
            return refuse(u, "it has something else than files");
        }
        is_long = true;
        memcpy(name, longer, (size_t)*ret_size);
    }
    if (!is_long) {
        memcpy(name, block, NAME_FIELD);
        name[NAME_FIELD] = '\0';
    }
    return true;
}

/* Whether the manifest names each entry, with its size and its hash, and no other. */
static bool compare(struct unpacking *u)
{
    const struct json_options options = {.max_depth = 4, .max_bytes = MANIFEST_BYTES};
    struct json_doc doc;
    struct json_error error;
    size_t at = 0;
    json_init(&doc);
    bool ok = json_parse(&doc, buf_slice_of(u->manifest), &options, &error);
    const struct json_value *files = ok ? json_get(&doc, json_root(&doc), "files") : NULL, *f;
    ok = ok && json_is(files, JSON_ARRAY) && (size_t)files->count + 1 == u->count;
    for (f = ok ? json_first(&doc, files) : NULL; f != NULL && ok; f = json_right(&doc, files, f)) {
        const struct entry *entry = &u->list[at++];
        const struct json_value *name = json_get(&doc, f, "name"), *size = json_get(&doc, f, "size"),
                                *sha = json_get(&doc, f, "sha256");
        int64_t number = -1;
        char hex[HASH_HEX + 1];
        hash_to_hex(entry->hash, hex);
        ok = json_is(name, JSON_STRING) && slice_is(json_str(name), entry->name) &&
             json_is(size, JSON_NUMBER) && json_number_int(json_str(size), &number) == JSON_INT_OK &&
             (uint64_t)number == entry->size && json_is(sha, JSON_STRING) && slice_is(json_str(sha), hex);
    }
    json_finish(&doc);
    return ok || refuse(u, "a file in it is not what was put in");
}

bool archive_unpack(int fd, int into, struct buf *ret_manifest, struct buf *ret_error)
{
    struct unpacking u = {.fd = fd, .into = into, .manifest = ret_manifest, .error = ret_error};
    char name[NAME_MOST] = "";
    bool ok = true, ended = false;
    while (ok && !ended) {
        uint64_t size = 0;
        ok = read_header(&u, name, &size, &ended) && (ended || unpack_entry(&u, name, size));
    }
    if (ok && (u.count == 0 || strcmp(u.list[u.count - 1].name, MANIFEST) != 0)) {
        ok = refuse(&u, "its last entry is not " MANIFEST);
    }
    ok = ok && compare(&u);
    free(u.list);
    return ok;
}
