/* callgate-slack: the connections and the loop. `callgate slack` starts it. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "gate/state.h"
#include "slack/internal.h"

#define LOOK_MS        300
#define FIRST_PAUSE_MS 1000
#define LAST_PAUSE_MS  60000
#define ARENA_BYTES    ((size_t)1 << 30)

static volatile sig_atomic_t told_to_end;

static void end(int signal)
{
    (void)signal;
    told_to_end = 1;
}

void slack_say(const char *format, ...)
{
    va_list arguments;
    fputs("callgate: slack: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static void log_line(const char *line)
{
    slack_say("%s", line);
}

/* ---- Envelopes ---- */

static bool seen_before(struct slack *slack, struct slice id)
{
    if (id.len == 0 || id.len >= ENVELOPE_ID) {
        return true; /* none of Slack's */
    }
    for (size_t i = 0; i < SEEN_ENVELOPES; i++) {
        if (slice_is(id, slack->seen[i])) {
            return true;
        }
    }
    char *at = slack->seen[slack->seen_at++ % SEEN_ENVELOPES];
    memcpy(at, id.ptr, id.len);
    at[id.len] = '\0';
    return false;
}

static void acknowledge(struct slack_link *link, struct slice id)
{
    struct buf json;
    buf_init(&json, 4096);
    buf_text(&json, "{\"envelope_id\":");
    json_write_bytes(&json, id);
    buf_byte(&json, '}');
    link->failed = !buf_ok(&json) || !socket_send(link->socket, buf_slice_of(&json)) || link->failed;
    buf_finish(&json);
}

static void take_disconnect(struct slack_link *link, struct slice reason)
{
    link->retiring = true;
    link->slack->next_open_ms = 0;
    if (slice_is(reason, "link_disabled")) {
        slack_say("Socket Mode is switched off for the app");
        link->slack->stopped = true;
    }
}

static void take_message(void *context, struct slice text)
{
    struct slack_link *link = context;
    struct json_doc doc;
    struct json_error error;
    const struct json_options options = {.max_depth = LIMIT_JSON_DEPTH,
                                         .max_bytes = (uint32_t)SOCKET_MESSAGE_BYTES};
    json_init(&doc);
    if (json_parse(&doc, text, &options, &error) && json_is(json_root(&doc), JSON_OBJECT)) {
        const struct json_value *type = json_get(&doc, json_root(&doc), "type");
        const struct json_value *id = json_get(&doc, json_root(&doc), "envelope_id");
        const struct json_value *reason = json_get(&doc, json_root(&doc), "reason");
        if (json_is(id, JSON_STRING)) {
            acknowledge(link, json_str(id)); /* at once: Slack waits three seconds */
            if (json_is(type, JSON_STRING) && !seen_before(link->slack, json_str(id))) {
                slack_take_envelope(link->slack, &doc, type, json_get(&doc, json_root(&doc), "payload"));
            }
        } else if (json_is(type, JSON_STRING) && slice_is(json_str(type), "hello")) {
            link->greeted = true;
            link->slack->pause_ms = 0;
        } else if (json_is(type, JSON_STRING) && slice_is(json_str(type), "disconnect")) {
            take_disconnect(link, json_is(reason, JSON_STRING) ? json_str(reason) : SLICE(""));
        }
    }
    json_finish(&doc);
}

/* ---- Connections ---- */

static struct slack_link *free_link(struct slack *slack)
{
    for (size_t i = 0; i < LINKS; i++) {
        if (slack->links[i].socket == NULL) {
            return &slack->links[i];
        }
    }
    return NULL;
}

static bool is_hopeless(const char *error)
{
    static const char *const words[] = {
        "not_authed",    "invalid_auth",  "account_inactive", "user_removed_from_team",
        "team_disabled", "token_revoked", "token_expired"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(error, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void try_later(struct slack *slack)
{
    slack->pause_ms = slack->pause_ms == 0 ? FIRST_PAUSE_MS : slack->pause_ms * 2;
    slack->pause_ms = slack->pause_ms > LAST_PAUSE_MS ? LAST_PAUSE_MS : slack->pause_ms;
    slack->next_open_ms = clock_boot_ms() + slack->pause_ms;
}

static void got_ticket(void *context, const struct web_answer *answer)
{
    struct slack *slack = context;
    const struct json_value *url =
        answer->doc != NULL ? json_get(answer->doc, json_root(answer->doc), "url") : NULL;
    struct slack_link *link = free_link(slack);
    struct buf error, text;
    slack->opening = false;
    if (answer->error != NULL || !json_is(url, JSON_STRING)) {
        const char *why = answer->error != NULL ? answer->error : "no address";
        slack_say("no connection is given: %s", why);
        slack->stopped = slack->stopped || is_hopeless(why);
        try_later(slack);
        return;
    }
    buf_init(&error, 4096);
    buf_init(&text, 64u << 10);
    buf_slice(&text, json_str(url));
    buf_byte(&text, '\0');
    if (link != NULL && buf_ok(&text)) {
        *link = (struct slack_link){.slack = slack};
        link->socket = socket_open(text.ptr, take_message, link, &error);
    }
    if (link == NULL || link->socket == NULL) {
        slack_say("%.*s", SLICE_FMT(buf_slice_of(&error)));
        try_later(slack);
    }
    buf_finish(&error);
    buf_finish(&text);
}

/* Whether a connection is there that Slack is not about to close. */
static bool has_link(const struct slack *slack)
{
    for (size_t i = 0; i < LINKS; i++) {
        if (slack->links[i].socket != NULL && !slack->links[i].retiring) {
            return true;
        }
    }
    return false;
}

static void open_if_needed(struct slack *slack)
{
    if (!slack->opening && !slack->stopped && !has_link(slack) && clock_boot_ms() >= slack->next_open_ms) {
        slack->opening = web_post(slack->web, "apps.connections.open", slack->settings.app_token, SLICE("{}"),
                                  got_ticket, slack);
    }
}

static void turn_links(struct slack *slack)
{
    for (size_t i = 0; i < LINKS; i++) {
        struct slack_link *link = &slack->links[i];
        if (link->socket != NULL && (!socket_turn(link->socket) || link->failed)) {
            socket_close(link->socket);
            bool expected = link->retiring;
            *link = (struct slack_link){0};
            if (!expected) {
                try_later(slack);
            }
        }
    }
}

/* ---- The loop ---- */

static void turn(struct slack *slack, int wait_ms)
{
    const struct slack_link *link = slack->links[0].socket != NULL ? &slack->links[0] : &slack->links[1];
    bool both = slack->links[0].socket != NULL && slack->links[1].socket != NULL;
    int fd = link->socket != NULL ? socket_fd(link->socket) : -1;
    web_turn(slack->web, fd, fd >= 0 && socket_wants_write(link->socket), both ? 20 : wait_ms);
    turn_links(slack);
}

static int run(struct slack *slack)
{
    int64_t looked = 0;
    while (!told_to_end && !slack->stopped) {
        int64_t now = clock_boot_ms();
        if (now - looked >= LOOK_MS || slack->look_soon) {
            slack_look(slack);
            slack_denials_look(slack);
            looked = now;
        }
        open_if_needed(slack);
        turn(slack, LOOK_MS);
    }
    /* What was answered is shown before this ends, but not at any price. */
    for (int64_t until = clock_boot_ms() + 3000; web_open(slack->web) > 0 && clock_boot_ms() < until;) {
        web_turn(slack->web, -1, false, 100);
    }
    return slack->stopped ? 2 : 0;
}

static bool open_all(struct slack *slack, const char *state_dir, const char *home, const char *people_file,
                     const char *base, int state)
{
    struct buf error, path;
    buf_init(&error, 4096);
    buf_init(&path, 4096);
    arena_init(&slack->arena, ARENA_BYTES);
    bool ok = slack_settings_read(&slack->settings, state, &error) &&
              roster_open(&slack->roster, slice_of(home), people_file, &path, &error) &&
              slack_posts_read(&slack->posts, state, &error) &&
              (slack->people = people_open(state_dir, &error)) != NULL;
    if (ok && !slack->roster.present) {
        buf_text(&error, "nobody may answer in Slack: 'callgate people add NAME --slack WORKSPACE/USER'");
        ok = false;
    }
    if (ok && base != NULL) {
        snprintf(slack->settings.base, sizeof(slack->settings.base), "%s", base);
    }
    if (ok && slack->settings.denials[0] != '\0') {
        slack->denials = slack_denials_create(state_dir);
        ok = slack->denials != NULL;
    }
    ok = ok && (slack->web = web_create(slack->settings.base, log_line)) != NULL;
    if (error.len > 0) {
        slack_say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    }
    buf_finish(&error);
    buf_finish(&path);
    return ok;
}

static void close_all(struct slack *slack)
{
    for (size_t i = 0; i < LINKS; i++) {
        socket_close(slack->links[i].socket);
    }
    web_destroy(slack->web);
    people_close(slack->people);
    slack_posts_finish(&slack->posts);
    slack_denials_destroy(slack->denials);
    roster_finish(&slack->roster);
    arena_finish(&slack->arena);
    slack_settings_clear(&slack->settings);
}

int main(int argc, char **argv)
{
    struct buf error;
    struct sigaction action = {.sa_handler = end};
    if (argc != 6) {
        fprintf(stderr, "callgate: slack: started by 'callgate slack'\n");
        return 2;
    }
    (void)prctl(PR_SET_DUMPABLE, 0); /* the tokens are in this process's memory */
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)umask(077);
    buf_init(&error, 4096);
    const char *state_dir = argv[2], *people_file = argv[4][0] != '\0' ? argv[4] : NULL;
    const char *base = argv[5][0] != '\0' ? argv[5] : NULL;
    int state = state_open(state_dir, &error), code = 2;
    struct slack *slack = calloc(1, sizeof(*slack));
    if (state < 0 || slack == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
        slack_say("%.*s", SLICE_FMT(buf_slice_of(&error)));
    } else if (open_all(slack, state_dir, argv[3], people_file, base, state)) {
        code = strcmp(argv[1], "check") == 0 ? slack_check(slack) : run(slack);
    }
    if (slack != NULL) {
        close_all(slack);
        free(slack);
    }
    if (state >= 0) {
        close(state);
    }
    buf_finish(&error);
    return code;
}
