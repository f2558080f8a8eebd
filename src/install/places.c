/* Where hooks stand and what they run: the settings of a host, our rules beside them, our program. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "install/internal.h"

bool write_path(struct buf *buf, struct slice dir, const char *file)
{
    buf_slice(buf, dir);
    if (dir.len && dir.ptr[dir.len - 1] != '/') {
        buf_byte(buf, '/');
    }
    buf_text(buf, file);
    buf_byte(buf, '\0');
    return buf_ok(buf);
}

bool install_place_path(const struct install_place *place, struct buf *ret_path)
{
    const struct host_settings *shape = place->host->shape;
    if (place->settings != NULL) {
        return write_path(ret_path, (struct slice){0}, place->settings);
    }
    switch (place->scope) {
    case INSTALL_SCOPE_USER:
        return write_path(ret_path, place->home, shape->user);
    case INSTALL_SCOPE_PROJECT:
        return write_path(ret_path, place->project, shape->project);
    case INSTALL_SCOPE_MANAGED:
        break;
    }
    return shape->managed != NULL && write_path(ret_path, (struct slice){0}, shape->managed);
}

bool install_protect_path(const struct install_place *place, struct buf *ret_path)
{
    uint8_t hash[HASH_SIZE];
    char hex[HASH_HEX + 1], name[128];
    if (place->scope == INSTALL_SCOPE_MANAGED) {
        buf_printf(ret_path, "/etc/callgate/protect-%s.json", place->host->name);
        buf_byte(ret_path, '\0');
        return buf_ok(ret_path);
    }
    struct slice key = place->settings != NULL ? slice_of(place->settings) : place->project;
    if (place->scope == INSTALL_SCOPE_USER && place->settings == NULL) {
        snprintf(name, sizeof(name), ".config/callgate/protect-%s.json", place->host->name);
    } else {
        if (!hash_bytes(key, hash)) {
            return false;
        }
        hash_to_hex(hash, hex);
        snprintf(name, sizeof(name), ".config/callgate/protect-%s-%.16s.json", place->host->name, hex);
    }
    return write_path(ret_path, place->home, name);
}

bool install_program_path(struct buf *ret_path)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len <= 0) {
        return false;
    }
    self[len] = '\0';
    size_t before = ret_path->len;
    const char *slash = strrchr(self, '/');
    buf_bytes(ret_path, self, (size_t)(slash - self));
    buf_text(ret_path, "/callgate-static");
    buf_byte(ret_path, '\0');
    if (buf_ok(ret_path) && access(ret_path->ptr + before, X_OK) == 0) {
        return true;
    }
    if (buf_ok(ret_path)) {
        ret_path->len = before;
    }
    buf_text(ret_path, self);
    buf_byte(ret_path, '\0');
    return buf_ok(ret_path);
}

static bool is_plain(const char *word)
{
    static const char others[] = "_./=:@%+,-";
    for (const char *at = word; *at; at++) {
        if (!(*at >= 'a' && *at <= 'z') && !(*at >= 'A' && *at <= 'Z') && !(*at >= '0' && *at <= '9') &&
            strchr(others, *at) == NULL) {
            return false;
        }
    }
    return *word != '\0';
}

void write_shell_word(struct buf *buf, const char *word)
{
    if (is_plain(word)) {
        buf_text(buf, word);
        return;
    }
    buf_byte(buf, '\'');
    for (; *word; word++) {
        if (*word == '\'') {
            buf_text(buf, "'\\''");
        } else {
            buf_byte(buf, *word);
        }
    }
    buf_byte(buf, '\'');
}
