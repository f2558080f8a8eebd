/* The whole of a call that is too long for a message, as a snippet in the message's thread: Slack gives an address, the
 * bytes go there, and then Slack is told where the file belongs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "people/show.h"
#include "slack/internal.h"

#define SHOWN_BYTES ((size_t)48 << 20)
#define SNIPPET_BYTES                                                                                        \
    1000000u /* what is longer is a plain file for Slack; it takes no snippet of more than 1 MB */
#define AGAIN_MS 60000

struct upload {
    struct slack *slack;
    int64_t request;
    char channel[64], thread[64], name[32], file[64];
    struct buf text;
};

/* Ends an upload. `why`: what was in the way, or NULL when Slack has all of it. */
static void end_upload(struct upload *upload, const char *why, bool unreachable)
{
    struct slack_post *post = slack_posts_find(&upload->slack->posts, upload->request);
    if (why != NULL) {
        slack_say("a call's snippet cannot be uploaded: %s", why);
    }
    if (post != NULL && post->whole == SLACK_UPLOADING) {
        post->whole = why == NULL ? SLACK_IN_SNIPPET : unreachable ? SLACK_TOO_LONG : SLACK_NOT_TO_SEE;
        post->again_ms = clock_boot_ms() + AGAIN_MS;
        slack_posts_save(&upload->slack->posts);
        upload->slack->look_soon = true;
    }
    buf_finish(&upload->text);
    free(upload);
}

static void completed(void *context, const struct web_answer *answer)
{
    end_upload(context, answer->error, answer->unreachable);
}

static void uploaded(void *context, const struct web_answer *answer)
{
    struct upload *upload = context;
    struct buf json;
    if (answer->error != NULL) {
        end_upload(upload, answer->error, answer->unreachable);
        return;
    }
    buf_init(&json, 4096);
    buf_text(&json, "{\"files\":[{\"id\":");
    json_write_bytes(&json, slice_of(upload->file));
    buf_text(&json, ",\"title\":");
    json_write_bytes(&json, slice_of(upload->name));
    buf_text(&json, "}],\"channel_id\":");
    json_write_bytes(&json, slice_of(upload->channel));
    buf_text(&json, ",\"thread_ts\":");
    json_write_bytes(&json, slice_of(upload->thread));
    buf_byte(&json, '}');
    if (!buf_ok(&json) ||
        !web_post(upload->slack->web, "files.completeUploadExternal", upload->slack->settings.bot_token,
                  buf_slice_of(&json), completed, upload)) {
        end_upload(upload, "no memory", true);
    }
    buf_finish(&json);
}

static void got_address(void *context, const struct web_answer *answer)
{
    struct upload *upload = context;
    const struct json_value *root = answer->doc != NULL ? json_root(answer->doc) : NULL;
    const struct json_value *url = root != NULL ? json_get(answer->doc, root, "upload_url") : NULL;
    const struct json_value *file = root != NULL ? json_get(answer->doc, root, "file_id") : NULL;
    struct buf text;
    if (answer->error != NULL) {
        end_upload(upload, answer->error, answer->unreachable);
        return;
    }
    if (!json_is(url, JSON_STRING) || !json_is(file, JSON_STRING) || file->str_len >= sizeof(upload->file)) {
        end_upload(upload, "Slack gives no address for it", false);
        return;
    }
    snprintf(upload->file, sizeof(upload->file), "%.*s", SLICE_FMT(json_str(file)));
    buf_init(&text, 64u << 10);
    buf_slice(&text, json_str(url));
    buf_byte(&text, '\0');
    if (!buf_ok(&text) ||
        !web_upload(upload->slack->web, text.ptr, buf_slice_of(&upload->text), uploaded, upload)) {
        end_upload(upload, "its address cannot be used", false);
    }
    buf_finish(&text);
}

void slack_upload(struct slack *slack, struct slack_post *post, const struct request *request,
                  const char *thread_ts)
{
    struct buf form;
    struct upload *upload = calloc(1, sizeof(*upload));
    if (upload == NULL) {
        return; /* tried again at the next look */
    }
    upload->slack = slack;
    upload->request = post->request;
    snprintf(upload->channel, sizeof(upload->channel), "%s", post->channel);
    snprintf(upload->thread, sizeof(upload->thread), "%s", thread_ts);
    snprintf(upload->name, sizeof(upload->name), "call-%s.txt", post->code);
    buf_init(&upload->text, SHOWN_BYTES);
    post->whole = SLACK_UPLOADING;
    if (!show_input_text(&upload->text, request->input, 0) || !buf_ok(&upload->text)) {
        end_upload(upload, "it cannot be laid out", false);
        return;
    }
    buf_init(&form, 4096);
    buf_printf(&form, "filename=%s&length=%zu%s", upload->name, upload->text.len,
               upload->text.len <= SNIPPET_BYTES ? "&snippet_type=text" : "");
    if (!buf_ok(&form) || !web_post_form(slack->web, "files.getUploadURLExternal", slack->settings.bot_token,
                                         buf_slice_of(&form), got_address, upload)) {
        end_upload(upload, "no memory", true);
    }
    buf_finish(&form);
}
