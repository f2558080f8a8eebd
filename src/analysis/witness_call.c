/* Writes the calls that are tried: fresh names, paths that do not exist, the text of a call. */
#include "analysis/witness_call_internal.h"

#include <stdio.h>
#include <string.h>

#include "analysis/hints_internal.h"
#include "base/fold.h"
#include "base/utf8.h"

#define TREE_NAMES  16
#define FRESH_TRIES 256u

/* ---- Fresh names ---- */

/* The n-th candidate for a fresh name: any, any1, any2, any3, then with other first and last letters, which
 * patterns and prefixes may ask for. */
static struct slice fresh_name(char room[32], uint32_t n)
{
    static const char letters[] = "bcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const uint32_t count = sizeof(letters) - 1, plain = 4;
    int len;
    if (n < plain) {
        len = n == 0 ? snprintf(room, 32, "any") : snprintf(room, 32, "any%u", n);
    } else {
        n -= plain;
        len = snprintf(room, 32, "%cany%u%c", letters[n % count], n, letters[(n + n / count) % count]);
    }
    return (struct slice){room, (size_t)len};
}

/* A text that no policy knows, for a plain field. */
static struct slice fresh_text(const struct space *space, char room[32])
{
    struct slice name = {room, 0};
    for (uint32_t n = 0; n < UINT32_MAX; n++) {
        name = fresh_name(room, n);
        if (intern_find(&space->symbols, name) == 0) {
            break;
        }
    }
    return name;
}

/* Writes a tool's name that begins with `prefix` (a symbol or 0) and is like no other. */
bool witness_write_fresh_tool(struct witness *w, struct buf *buf, uint32_t prefix)
{
    const struct space *space = w->space;
    struct slice start = prefix == 0 ? SLICE("") : intern_text(&space->symbols, prefix);
    uint32_t above = name_nest_find(&space->tools, start);
    for (uint32_t n = 0; n < FRESH_TRIES; n++) {
        char room[32];
        buf_reset(buf);
        buf_slice(buf, start);
        buf_slice(buf, fresh_name(room, n));
        if (buf_ok(buf) && intern_find(&space->symbols, buf_slice_of(buf)) == 0 &&
            name_nest_find(&space->tools, buf_slice_of(buf)) == above) {
            return true;
        }
    }
    return false;
}

/* Appends `/` and a component that has a pattern (0: none in particular) and no other that the pattern does
 * not bring with it. */
static bool add_component(struct witness *w, uint32_t pattern, uint32_t first_try)
{
    struct patterns *patterns = &w->space->patterns;
    const struct pattern_list *own = pattern == 0 ? NULL : patterns_of_pattern(patterns, pattern);
    if (pattern != 0 && own == NULL) {
        w->failed = true;
        return false;
    }
    for (uint32_t n = first_try; n < first_try + FRESH_TRIES; n++) {
        char room[32];
        buf_reset(&w->part);
        if (pattern == 0) {
            buf_slice(&w->part, fresh_name(room, n));
        } else {
            patterns_instance(&w->part, patterns, pattern, fresh_name(room, n));
        }
        if (!buf_ok(&w->part) || w->part.len > LIMIT_PATH_BYTES) {
            return false;
        }
        uint32_t count = patterns_of_component(patterns, buf_slice_of(&w->part), w->patterns);
        if (count == (own == NULL ? 0 : own->count)) {
            buf_byte(&w->path, '/');
            buf_slice(&w->path, buf_slice_of(&w->part));
            return true;
        }
    }
    return false;
}

/* Writes a path of the box that is like nothing else to w->path: below its prefix a name that does not exist,
 * below that one for each pattern. A prefix too long for more stands for itself. */
bool witness_make_path(struct witness *w, const struct box *box)
{
    const struct space *space = w->space;
    uint32_t prefix = box->match.path_prefix;
    for (uint32_t n = 0; n < FRESH_TRIES; n++) {
        buf_reset(&w->path);
        if (prefix != 0 && prefix != space->root) {
            buf_slice(&w->path, intern_text(&space->paths, prefix));
        }
        if (!add_component(w, 0, n)) {
            return false;
        }
        path_resolve(w->resolved, SLICE("/"), buf_slice_of(&w->path), PATH_TEXTUAL);
        if ((w->resolved->readable && !w->resolved->exists &&
             intern_find(&space->paths, buf_slice_of(&w->path)) == 0) ||
            w->path.len > LIMIT_PATH_BYTES) {
            break;
        }
    }
    bool ok = (box->match.path_component == 0 || add_component(w, box->match.path_component, 0)) &&
              (box->second_component == 0 || add_component(w, box->second_component, 0));
    if (ok && w->path.len > LIMIT_PATH_BYTES && box->match.path_component == 0 && prefix != 0) {
        buf_reset(&w->path);
        buf_slice(&w->path, intern_text(&space->paths, prefix));
    }
    return ok && buf_ok(&w->path) && w->path.len <= LIMIT_PATH_BYTES;
}

/* ---- The call's text ---- */

/* The last two carry a URI. */
const char *const witness_path_keys[WITNESS_PATH_KEYS] = {"path",   "file_path", "filename", "file",
                                                          "source", "directory", "uri",      "any"};
#define FIRST_URI_KEY (WITNESS_PATH_KEYS - 2)

bool witness_clashes(const struct witness *w, const struct box *box, struct slice key)
{
    for (uint32_t i = 0; i < box->match.arg_count; i++) {
        struct slice name = intern_text(&w->space->symbols, box->args[i].key);
        if (fold_eq(space_is_loose(w->space, box->args[i].key) ? slice_from(name, 1) : name, key)) {
            return true;
        }
    }
    return false;
}

static void write_uri(struct buf *buf, struct slice path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    buf_text(buf, "\"file://");
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] != '\0' && strchr(plain, path.ptr[i]) != NULL) {
            buf_byte(buf, path.ptr[i]);
        } else {
            buf_printf(buf, "%%%02X", (unsigned char)path.ptr[i]);
        }
    }
    buf_byte(buf, '"');
}

static void write_member(struct buf *buf, bool *some, struct slice key)
{
    if (*some) {
        buf_byte(buf, ',');
    }
    *some = true;
    json_write_string(buf, key);
    buf_byte(buf, ':');
}

/* Exact numbers are written as people write them. */
static void write_value(struct witness *w, struct slice text)
{
    static const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH,
                                                .max_bytes = LIMIT_MESSAGE_BYTES};
    struct json_error error;
    if (json_parse(&w->value, text, &options, &error)) {
        json_write_canonical(&w->call, &w->value, json_root(&w->value), JSON_NUMBER_CALL);
    } else {
        buf_slice(&w->call, text);
    }
}

/* Writes a value of a loose form that is no rule's exact value: a string of the value's text and blanks. */
static void write_loose_value(struct witness *w, uint32_t form)
{
    const struct space *space = w->space;
    struct slice text = intern_text(&space->symbols, space_loose_value(space, form));
    bool string = text.len > 1 && text.ptr[0] == '"';
    for (uint32_t blanks = 1; blanks < FRESH_TRIES; blanks++) {
        buf_reset(&w->part);
        buf_byte(&w->part, '"');
        if (string) {
            buf_bytes(&w->part, text.ptr + 1, text.len - 2);
        } else {
            json_write_escaped(&w->part, text);
        }
        for (uint32_t i = 0; i < blanks; i++) {
            buf_byte(&w->part, ' ');
        }
        buf_byte(&w->part, '"');
        if (buf_ok(&w->part) && intern_find(&space->symbols, buf_slice_of(&w->part)) == 0) {
            break;
        }
    }
    buf_slice(&w->call, buf_slice_of(&w->part));
}

static void write_arg(struct witness *w, const struct box *box, const struct match_arg *arg, bool as_written,
                      bool *some)
{
    struct slice key = intern_text(&w->space->symbols, arg->key);
    if (!space_is_loose(w->space, arg->key)) {
        write_member(&w->call, some, key);
        write_value(w, intern_text(&w->space->symbols, arg->value));
    } else if (!space_has_exact(w->space, box, arg->key)) {
        write_member(&w->call, some, slice_from(key, 1));
        if (as_written) {
            write_value(w, intern_text(&w->space->symbols, space_loose_value(w->space, arg->value)));
        } else {
            write_loose_value(w, arg->value);
        }
    }
}

static void write_path_members(struct witness *w, const struct candidate *c, bool *some)
{
    struct slice path = buf_slice_of(&w->path), names[TREE_NAMES];
    if (c->own_key.ptr != NULL) {
        write_member(&w->call, some, c->own_key);
        if (c->number) {
            buf_byte(&w->call, '1');
        } else {
            json_write_bytes(&w->call, path);
        }
        return;
    }
    size_t count = 0;
    for (size_t s = 0; s < w->space->side_count && count == 0; s++) {
        count = space_tree_names(w->space->sides[s].policy, c->server, c->tool, names, TREE_NAMES);
    }
    bool text = utf8_valid_upto(path) == path.len;
    if (count == 0 || !text || c->key != 0) {
        names[0] = slice_of(witness_path_keys[c->key]);
        count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        if (!witness_clashes(w, c->box, names[i])) {
            write_member(&w->call, some, names[i]);
            if (c->key >= FIRST_URI_KEY) {
                write_uri(&w->call, path);
            } else {
                json_write_bytes(&w->call, path);
            }
        }
    }
}

void witness_write_call(struct witness *w, const struct candidate *c)
{
    const struct space *space = w->space;
    const struct match *match = &c->box->match;
    struct buf *buf = &w->call;
    char room[32];
    bool some = false;
    buf_reset(buf);
    buf_text(buf, "{\"tool\":");
    json_write_string(buf, c->tool);
    if (c->server.ptr != NULL) {
        buf_text(buf, ",\"server\":");
        json_write_string(buf, c->server);
    }
    buf_text(buf, ",\"input\":{");
    if (c->with_path) {
        write_path_members(w, c, &some);
    }
    if ((c->point & SPACE_OTHER) != 0) {
        write_member(buf, &some, SLICE("command"));
        json_write_string(buf, fresh_text(space, room));
    }
    for (uint32_t i = 0; i < match->arg_count; i++) {
        write_arg(w, c->box, &c->box->args[i], c->as_written, &some);
    }
    buf_text(buf, "},\"sessionKey\":{\"channel\":");
    json_write_string(buf, match->channel != 0 ? intern_text(&space->symbols, match->channel)
                                               : fresh_text(space, room));
    buf_text(buf, ",\"thread\":");
    json_write_string(buf, match->thread != 0 ? intern_text(&space->symbols, match->thread)
                                              : fresh_text(space, room));
    buf_text(buf, "},\"actor\":");
    json_write_string(buf, slice_of(actor_name(space_actor(c->point))));
    hints_write_profile(buf, w->hints, w->profile);
    buf_byte(buf, '}');
}
