/* Slack's Web API over HTTPS: requests that run side by side, by libcurl.
 *
 * Every request carries its own answer function. Rate limits are obeyed here: after an answer 429 no request of that
 * method leaves before Retry-After has passed, and the request itself is sent again then. A token stands in a header
 * of the request and nowhere else: no message and no log holds one. */
#ifndef SLACK_WEB_INTERNAL_H
#define SLACK_WEB_INTERNAL_H

#include <curl/curl.h>

#include "json/json.h"

struct web;

/* `base`: "https://slack.com/api/" or, for tests, one on this machine. `log` gets lines for the operator. */
struct web *web_create(const char *base, void (*log)(const char *line));
void web_destroy(struct web *web);

/* What came of a request. `doc` is NULL when there was no JSON: `error` says why. Else `error` is Slack's word for
 * what went wrong, or NULL. All borrowed until the function returns. */
struct web_answer {
    const struct json_doc *doc;
    const char *error;
    bool unreachable;   /* no answer at all: the network, or the server failed */
    const char *scopes; /* of the token, with commas between, where Slack says them; else NULL */
};
typedef void web_done(void *context, const struct web_answer *answer);

/* Starts a POST of a JSON body with a bearer token. False without memory; then `done` is not called. */
MUST_USE bool web_post(struct web *web, const char *method, const char *token, struct slice json,
                       web_done *done, void *context);

/* The same with a body of a form (a=b&c=d): some methods take no JSON. */
MUST_USE bool web_post_form(struct web *web, const char *method, const char *token, struct slice form,
                            web_done *done, void *context);

/* Starts a POST of plain bytes to an address that Slack gave. No token goes there. The answer holds no document: it is
 * well when `error` is NULL. An address that is not HTTPS is taken in tests only, where `base` is not either. */
MUST_USE bool web_upload(struct web *web, const char *url, struct slice bytes, web_done *done, void *context);

/* Lets what is on its way move on, and waits at most `timeout_ms` for it, or for `fd` (-1: none) to be readable, or
 * writable too. */
void web_turn(struct web *web, int fd, bool writable, int timeout_ms);

/* How many requests have no answer yet. */
size_t web_open(const struct web *web);

#endif
