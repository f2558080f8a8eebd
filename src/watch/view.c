/* The drawing: a list above, decisions below; or one request, whole. */
#include <curses.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"
#include "watch/watch.h"

enum {
    PAIR_HEAD = 1,
    PAIR_REMOVED,
    PAIR_ADDED,
    PAIR_NOTE,
};

void watch_view_begin(struct watch_view *ret_view)
{
    *ret_view = (struct watch_view){0};
    arena_init(&ret_view->arena, (size_t)2 << 30);
    initscr();
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    curs_set(0);
    set_escdelay(25);
    timeout(WATCH_LOOK_MS);
    ret_view->colour = has_colors() && start_color() == OK;
    if (ret_view->colour) {
        use_default_colors();
        init_pair(PAIR_HEAD, COLOR_BLACK, COLOR_CYAN);
        init_pair(PAIR_REMOVED, COLOR_RED, -1);
        init_pair(PAIR_ADDED, COLOR_GREEN, -1);
        init_pair(PAIR_NOTE, COLOR_CYAN, -1);
    }
}

void watch_view_end(struct watch_view *view)
{
    endwin();
    arena_finish(&view->arena);
}

/* How many bytes of a text fit into so many columns: a character is never cut in two, and a wide one takes two. */
static size_t fitting(struct slice text, int width)
{
    size_t pos = 0;
    int column = 0;
    while (pos < text.len) {
        size_t next = pos;
        int wide = wcwidth((wchar_t)utf8_next(text, &next));
        column += wide > 0 ? wide : wide < 0 ? 1 : 0;
        if (column > width) {
            break;
        }
        pos = next;
    }
    return pos;
}

/* Draws as much of a text as fits. Texts were made printable before they came here. */
static void put_text(int row, int column, int width, struct slice text)
{
    if (width > 0 && row >= 0 && row < LINES && text.ptr != NULL) {
        mvaddnstr(row, column, text.ptr, (int)fitting(text, width));
    }
}

static void put_bar(const struct watch_view *view, int row, const char *text)
{
    attr_t look = view->colour ? (attr_t)COLOR_PAIR(PAIR_HEAD) : A_REVERSE;
    attron(look);
    mvhline(row, 0, ' ', COLS);
    put_text(row, 0, COLS, slice_of(text));
    attroff(look);
}

static attr_t look_of(const struct watch_view *view, enum show_kind kind)
{
    switch (kind) {
    case SHOW_REMOVED:
        return view->colour ? (attr_t)COLOR_PAIR(PAIR_REMOVED) : A_DIM;
    case SHOW_ADDED:
        return view->colour ? (attr_t)COLOR_PAIR(PAIR_ADDED) : A_BOLD;
    case SHOW_NOTE:
        return view->colour ? (attr_t)COLOR_PAIR(PAIR_NOTE) : A_NORMAL;
    default:
        return A_NORMAL;
    }
}

/* ---- The list ---- */

static void draw_request(const struct watch_view *view, const struct request *r, int row, bool selected,
                         int64_t now_ms)
{
    struct buf line;
    int64_t left = (r->expires_ms - now_ms) / 1000;
    buf_init(&line, (size_t)1 << 20);
    buf_printf(&line, "%s %s  ", selected ? ">" : " ", r->code);
    if (r->server.ptr != NULL) {
        utf8_append_printable(&line, r->server);
        buf_byte(&line, '/');
    }
    utf8_append_printable(&line, r->tool);
    buf_text(&line, "  ");
    utf8_append_printable(&line, r->rule);
    buf_printf(&line, "  %u/%u  %llds  ", r->given, r->needed, (long long)(left > 0 ? left : 0));
    struct slice begin = r->input;
    begin.len = begin.len > 400 ? 400 : begin.len;
    utf8_append_printable(&line, begin);
    (void)view;
    attr_t look = selected ? A_REVERSE : A_NORMAL;
    attron(look);
    mvhline(row, 0, ' ', COLS);
    put_text(row, 0, COLS, buf_ok(&line) ? buf_slice_of(&line) : SLICE("?"));
    attroff(look);
    buf_finish(&line);
}

static void draw_list(const struct watch_view *view, const struct watch_model *model, int64_t now_ms)
{
    char text[256];
    int room = LINES - 2, list = room * 2 / 3, row = 1;
    snprintf(text, sizeof(text), " Callgate: %zu wait%s%s%s%s%s", model->count, model->count == 1 ? "s" : "",
             model->hidden > 0 ? " (others hidden)" : "",
             model->filter[0] != '\0' || view->filtering ? "  /" : "", model->filter,
             view->filtering ? "_" : "");
    put_bar(view, 0, text);
    size_t first = view->selected >= (size_t)list ? view->selected - (size_t)list + 1 : 0;
    for (size_t i = first; i < model->count && row <= list; i++) {
        draw_request(view, &model->requests[i], row++, i == view->selected, now_ms);
    }
    if (model->count == 0) {
        put_text(2, 2, COLS - 2, SLICE("Nothing waits."));
    }
    row = list + 1;
    mvhline(row++, 0, ACS_HLINE, COLS);
    size_t rows = row < LINES - 1 ? (size_t)(LINES - 1 - row) : 0;
    size_t skip = model->decision_count > rows ? model->decision_count - rows : 0;
    for (size_t i = skip; i < model->decision_count; i++) {
        const struct watch_decision *d = &model->decisions[(model->decision_first + i) % WATCH_DECISIONS];
        attr_t look = d->denied ? look_of(view, SHOW_REMOVED) : A_NORMAL;
        attron(look);
        put_text(row++, 1, COLS - 1, slice_of(d->text));
        attroff(look);
    }
}

/* ---- One request ---- */

void watch_wrap(struct watch_view *view)
{
    size_t count = 0;
    if (view->width == COLS || !view->open) {
        return;
    }
    view->width = COLS;
    view->rows = NULL;
    view->row_count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && (view->rows = arena_array(&view->arena, count + 1, sizeof(*view->rows))) == NULL) {
            view->shown = false; /* without memory it cannot be shown whole */
            return;
        }
        count = 0;
        for (size_t i = 0; i < view->line_count; i++) {
            struct slice rest = view->lines[i].text;
            do {
                size_t len = fitting(rest, COLS);
                len = len > 0 ? len : rest.len;
                if (pass == 1) {
                    view->rows[count] = (struct watch_line){view->lines[i].kind, {rest.ptr, len}};
                }
                count++;
                rest = slice_from(rest, len);
            } while (rest.len > 0);
        }
    }
    view->row_count = count;
    view->top = view->top < count ? view->top : 0;
}

static void draw_open(const struct watch_view *view)
{
    char text[256];
    int row = 1;
    snprintf(text, sizeof(text), " %s  row %zu of %zu%s", view->open_code, view->top + 1, view->row_count,
             view->shown ? "" : "  CANNOT BE SHOWN WHOLE: it cannot be approved");
    put_bar(view, 0, text);
    for (size_t i = view->top; i < view->row_count && row < LINES - 1; i++) {
        attr_t look = look_of(view, view->rows[i].kind);
        attron(look);
        put_text(row++, 0, COLS, view->rows[i].text);
        attroff(look);
    }
}

static void draw_help(void)
{
    static const char *const keys[] = {
        "Enter   the whole call            Esc, q  back, or leave",
        "in the list, o, c and a open it first: an approval needs the call in sight",
        "o       approve once              c       approve this call, also again",
        "a       approve what the rule allows",
        "r       refuse",
        "j k, arrows, PgUp PgDn, g G       move",
        "/       filter; Enter ends it     ?       these keys",
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        mvhline((int)i + 2, 1, ' ', COLS - 2);
        put_text((int)i + 2, 2, COLS - 3, slice_of(keys[i]));
    }
}

void watch_draw(const struct watch_view *view, const struct watch_model *model, int64_t now_ms)
{
    erase();
    if (view->open) {
        draw_open(view);
    } else {
        draw_list(view, model, now_ms);
    }
    if (view->help) {
        draw_help();
    }
    put_bar(view, LINES - 1,
            model->message[0] != '\0'
                ? model->message
                : " o once  a rule's scope  c this call  r refuse  Enter whole  / filter  ? keys  q leave");
    refresh();
}
