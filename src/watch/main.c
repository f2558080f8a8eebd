/* `callgate watch`: the keys. */
#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "watch/watch.h"

#define KEY_ESCAPE 27

static const struct request *find(const struct watch_model *model, const char *code)
{
    for (size_t i = 0; i < model->count; i++) {
        if (strcmp(model->requests[i].code, code) == 0) {
            return &model->requests[i];
        }
    }
    return NULL;
}

/* What the next answer is for. */
static const struct request *target(const struct watch_view *view, const struct watch_model *model)
{
    if (view->open) {
        return find(model, view->open_code);
    }
    return view->selected < model->count ? &model->requests[view->selected] : NULL;
}

static void close_request(struct watch_view *view)
{
    view->open = false;
    view->lines = view->rows = NULL;
    view->line_count = view->row_count = view->top = 0;
    view->width = 0;
}

/* So long after an answer no key in the list answers the next request. */
#define QUIET_NS 700000000u

static void open_request(struct watch_view *view, const struct watch_model *model)
{
    const struct request *r = target(view, model);
    if (r != NULL) {
        view->open = true;
        view->top = 0;
        view->width = 0;
        memcpy(view->open_code, r->code, sizeof(view->open_code));
        view->shown = watch_lines(r, clock_wall_ms(), &view->arena, &view->lines, &view->line_count);
    }
}

static void answer(struct watch_view *view, struct watch_model *model, enum watch_answer answer)
{
    const struct request *r = target(view, model);
    if (r == NULL) {
        snprintf(model->message, sizeof(model->message), "it waits no longer");
        return;
    }
    if (!view->open && clock_mono_ns() - view->answered_ns < QUIET_NS) {
        return; /* meant for the one before, or typed as a reason */
    }
    if (!view->open && answer != WATCH_REFUSE) {
        open_request(view, model); /* nobody approves what has not been in sight */
        snprintf(model->message, sizeof(model->message),
                 view->shown ? "this is the whole call: now o, c or a approves %s"
                             : "%s cannot be shown whole, so it cannot be approved",
                 r->code);
        return;
    }
    if (!view->shown && answer != WATCH_REFUSE) {
        return;
    }
    watch_answer(model, r, answer);
    view->answered_ns = clock_mono_ns();
    close_request(view);
}

static void step(struct watch_view *view, const struct watch_model *model, long by)
{
    long page = LINES > 2 ? LINES - 2 : 1;
    long last = view->open ? (long)view->row_count - page : (long)model->count - 1;
    size_t *at = view->open ? &view->top : &view->selected;
    long to = (long)*at + by;
    to = to > last ? last : to;
    *at = to < 0 ? 0 : (size_t)to;
}

static void filter_key(struct watch_view *view, struct watch_model *model, int key)
{
    size_t len = strlen(model->filter);
    if (key == '\r' || key == '\n' || key == KEY_ENTER || key == KEY_ESCAPE) {
        view->filtering = false;
        if (key == KEY_ESCAPE) {
            model->filter[0] = '\0';
        }
    } else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && len > 0) {
        model->filter[len - 1] = '\0';
    } else if (key >= ' ' && key < 127 && len + 1 < sizeof(model->filter)) {
        model->filter[len] = (char)key;
        model->filter[len + 1] = '\0';
    }
}

static void move_key(struct watch_view *view, const struct watch_model *model, int key)
{
    long page = LINES > 4 ? LINES - 3 : 1;
    switch (key) {
    case 'j':
    case KEY_DOWN:
        step(view, model, 1);
        break;
    case 'k':
    case KEY_UP:
        step(view, model, -1);
        break;
    case KEY_NPAGE:
    case ' ':
        step(view, model, page);
        break;
    case KEY_PPAGE:
        step(view, model, -page);
        break;
    case 'g':
    case KEY_HOME:
        step(view, model, -1000000000L);
        break;
    case 'G':
    case KEY_END:
        step(view, model, 1000000000L);
        break;
    default:
        break;
    }
}

/* False when the person leaves. */
static bool obey(struct watch_view *view, struct watch_model *model, int key)
{
    model->message[0] = '\0';
    view->help = false;
    switch (key) {
    case 'q':
    case KEY_ESCAPE:
        if (!view->open) {
            return key != 'q';
        }
        close_request(view);
        break;
    case '\r':
    case '\n':
    case KEY_ENTER:
        open_request(view, model);
        break;
    case 'o':
        answer(view, model, WATCH_ONCE);
        break;
    case 'c':
        answer(view, model, WATCH_CALL);
        break;
    case 'a':
        answer(view, model, WATCH_RULE);
        break;
    case 'r':
        answer(view, model, WATCH_REFUSE);
        break;
    case '/':
        view->filtering = true;
        break;
    case '?':
        view->help = true;
        break;
    default:
        move_key(view, model, key);
        break;
    }
    return true;
}

static void run(struct watch_model *model)
{
    struct watch_view view;
    watch_view_begin(&view);
    for (bool stays = true; stays;) {
        (void)watch_look(model);
        if (view.selected >= model->count) {
            view.selected = model->count > 0 ? model->count - 1 : 0;
        }
        if (view.open && find(model, view.open_code) == NULL) {
            snprintf(model->message, sizeof(model->message), "%s waits no longer", view.open_code);
            close_request(&view);
        }
        watch_wrap(&view);
        watch_draw(&view, model, clock_wall_ms());
        int key = getch();
        if (key == ERR) {
            continue;
        }
        if (view.filtering) {
            filter_key(&view, model, key);
        } else {
            stays = obey(&view, model, key);
        }
    }
    watch_view_end(&view);
}

int main(int argc, char **argv)
{
    struct watch_model model;
    struct buf error;
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    if (argc != 4 || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        fprintf(stderr, "callgate: watch draws in a terminal: start it with 'callgate watch' in one\n");
        return 2;
    }
    buf_init(&error, 4096);
    if (!watch_open(&model, argv[1], argv[2], argv[3][0] != '\0' ? argv[3] : NULL, &error)) {
        fprintf(stderr, "callgate: %.*s\n", SLICE_FMT(buf_slice_of(&error)));
        buf_finish(&error);
        return 2;
    }
    buf_finish(&error);
    run(&model);
    watch_close(&model);
    return 0;
}
