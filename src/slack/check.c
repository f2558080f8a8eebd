/* `callgate slack check`: what is missing, before anybody waits for it. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "slack/internal.h"

#define CHECK_MS 30000

struct question {
    bool done, ok;
    char error[64];
    char team[32];
    char scopes[1024]; /* of the token, with commas around and between; "" when Slack does not say */
};

static void take(void *context, const struct web_answer *answer)
{
    struct question *q = context;
    const struct json_value *team =
        answer->doc != NULL ? json_get(answer->doc, json_root(answer->doc), "team_id") : NULL;
    q->done = true;
    q->ok = answer->error == NULL;
    snprintf(q->error, sizeof(q->error), "%s", answer->error != NULL ? answer->error : "");
    if (answer->scopes != NULL) {
        snprintf(q->scopes, sizeof(q->scopes), ",%s,", answer->scopes);
    }
    if (json_is(team, JSON_STRING)) {
        snprintf(q->team, sizeof(q->team), "%.*s", SLICE_FMT(json_str(team)));
    }
}

static struct question ask(struct slack *slack, const char *method, const char *token, struct slice json)
{
    struct question q = {0};
    int64_t until = clock_boot_ms() + CHECK_MS;
    if (web_post(slack->web, method, token, json, take, &q)) {
        while (!q.done && clock_boot_ms() < until) {
            web_turn(slack->web, -1, false, 100);
        }
    }
    if (!q.done) {
        snprintf(q.error, sizeof(q.error), "no answer");
    }
    return q;
}

static bool tell(const char *what, const struct question *q, const char *advice)
{
    if (q->ok) {
        printf("ok       %s\n", what);
    } else {
        printf("MISSING  %s: %s\n         %s\n", what, q->error, advice);
    }
    return q->ok;
}

static bool check_channel(struct slack *slack, const char *channel, const char *what)
{
    char json[128];
    snprintf(json, sizeof(json), "{\"channel\":\"%s\"}", channel);
    struct question q = ask(slack, "conversations.info", slack->settings.bot_token, slice_of(json));
    return tell(what, &q,
                "name the channel's id (C…) in slack.json, and invite the app there: /invite @callgate");
}

/* Whether the bot's token may do what is asked of it. */
static bool check_scopes(const struct question *bot)
{
    static const struct {
        const char *name, *what_for;
    } scopes[] = {
        {"chat:write", "requests cannot be posted"},
        {"files:write",
         "a call that is too long for a message cannot be shown, and so not approved in Slack"},
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]) && bot->scopes[0] != '\0'; i++) {
        char name[32];
        snprintf(name, sizeof(name), ",%s,", scopes[i].name);
        if (strstr(bot->scopes, name) == NULL) {
            printf(
                "MISSING  the bot's scope %s: %s\n         add it under OAuth & Permissions, and install the "
                "app again\n",
                scopes[i].name, scopes[i].what_for);
            ok = false;
        }
    }
    if (bot->scopes[0] == '\0') {
        printf("?        the bot's scopes: Slack does not say which\n");
    } else if (ok) {
        printf("ok       the bot's scopes\n");
    }
    return ok;
}

static bool check_people(const struct slack *slack, const char *team)
{
    size_t count = 0;
    bool ok = true;
    for (size_t i = 0; i < slack->roster.count; i++) {
        struct slice id = slack->roster.people[i].ids[PEOPLE_SLACK];
        if (id.ptr == NULL) {
            continue;
        }
        count++;
        size_t len = strlen(team);
        if (!(id.len > len + 1 && memcmp(id.ptr, team, len) == 0 && id.ptr[len] == '/')) {
            printf("MISSING  %.*s is of another workspace than the app's (%s)\n", SLICE_FMT(id), team);
            ok = false;
        }
    }
    if (count == 0) {
        printf("MISSING  nobody of people.json has a Slack id\n         callgate people add NAME --slack "
               "%s/USER\n",
               team);
        return false;
    }
    printf("ok       %zu of people.json may answer in Slack\n", count);
    return ok;
}

static void print_manifest(void)
{
    static const char manifest[] =
        "The app's manifest, to paste at api.slack.com/apps, Create New App, From a manifest:\n\n"
        "{\"display_information\":{\"name\":\"Callgate\"},\n"
        " \"features\":{\"bot_user\":{\"display_name\":\"callgate\",\"always_online\":true}},\n"
        " \"oauth_config\":{\"scopes\":{\"bot\":[\"chat:write\",\"files:write\",\"channels:read\",\"channels:"
        "history\","
        "\"groups:read\","
        "\"groups:history\"]}},\n"
        " \"settings\":{\"event_subscriptions\":{\"bot_events\":[\"message.channels\",\"message.groups\"]},\n"
        "  \"interactivity\":{\"is_enabled\":true},\"socket_mode_enabled\":true}}\n\n"
        "Then: Basic Information, App-Level Tokens, one with connections:write (xapp-…); Install App "
        "(xoxb-…).\n";
    fputs(manifest, stdout);
}

int slack_check(struct slack *slack)
{
    const struct slack_settings *settings = &slack->settings;
    struct question bot = ask(slack, "auth.test", settings->bot_token, SLICE("{}"));
    bool ok = tell("the bot's token", &bot,
                   "install the app to the workspace, and put its xoxb- token into botTokenFile");
    struct question app = ask(slack, "apps.connections.open", settings->app_token, SLICE("{}"));
    ok =
        tell("the app's token (connections:write)", &app, "make an app-level token with connections:write") &&
        ok;
    ok = (!bot.ok || check_scopes(&bot)) && ok;
    ok = (bot.ok && check_channel(slack, settings->channel, "the channel for requests")) && ok;
    ok = (!bot.ok || check_people(slack, bot.team)) && ok;
    if (!ok) {
        print_manifest();
    }
    return ok ? 0 : 1;
}
