/* What a command acts on: its places, its hosts, its span, and what is read aside of it. SPEC.md section 4.2. */
#include <stdlib.h>

#include "call/commands_internal.h"

/* ---- Where it starts ---- */

/* The starts that all commands of the call have: its own, and what its strings of directories name. */
static bool make_common(struct scratch *scratch)
{
    struct command_state *state = scratch->command_state;
    struct starts *starts = &state->starts, *own;
    if (state->common != 0) {
        return true;
    }
    if (!starts_of_call(scratch, &own)) {
        return false;
    }
    starts_clear(starts);
    for (size_t i = 0; i < own->count; i++) {
        if (!starts_add(scratch, starts, SLICE(""), own->list[i].text)) {
            return false;
        }
    }
    size_t count = 1 + scratch->base->root_count;
    count = count < starts->count ? count : starts->count;
    for (size_t i = 0; i < scratch->item_count; i++) {
        const struct item *item = &scratch->items[i];
        struct slice text = json_str(&scratch->call->doc->values[item->value]);
        if ((item->context & CONTEXT_DIRECTORY) == 0) {
            continue;
        }
        if (!call_count_string(scratch) || !starts_add_text(scratch, starts, count, text) ||
            !starts_add_meant(scratch, starts, text)) {
            return false;
        }
    }
    state->common = starts->count;
    state->cd = NULL;
    return true;
}

/* Adds a directory that a change leads to. Where no link is on the way, its text is as good as any other of the same
 * directory, and the canonical one stands for all of them; else `..` may be taken before the link or behind it. */
static bool add_changed(struct scratch *scratch, struct slice outer, struct slice text)
{
    struct command_state *state = scratch->command_state;
    struct starts *starts = &state->starts;
    size_t before = starts->count;
    if (!starts_add(scratch, starts, outer, text) || starts->count == before) {
        return scratch->fault == READINGS_OK;
    }
    struct path_start start = starts->list[before];
    if (!start.usable) {
        return true;
    }
    if (!start_walk(scratch, &start)) {
        return false;
    }
    starts->list[before] = start;
    if (!start.readable || start.links > 0 || slice_eq(start.canonical, start.text)) {
        return true;
    }
    starts->count = before;
    return starts_add(scratch, starts, SLICE(""), start.canonical);
}

/* Adds where one change of directory leads, from all starts before it. */
static bool add_change(struct scratch *scratch, const struct command_cd *cd)
{
    struct starts *starts = &scratch->command_state->starts;
    size_t before = starts->count;
    if (cd->home) {
        return add_changed(scratch, scratch->base->home, path_below_home(cd->text));
    }
    if (cd->text.len > 0 && cd->text.ptr[0] == '/') {
        return add_changed(scratch, SLICE(""), cd->text);
    }
    for (size_t i = 0; i < before; i++) {
        if (!add_changed(scratch, starts->list[i].text, cd->text)) {
            return false;
        }
    }
    return true;
}

#define CHANGES_MOST 1024u

/* Sets the starts of a command whose last change of directory is `cd`. */
static bool go_to(struct scratch *scratch, const struct command_cd *cd)
{
    struct command_state *state = scratch->command_state;
    const struct command_cd *changes[CHANGES_MOST];
    size_t count = 0;
    if (!make_common(scratch)) {
        return false;
    }
    for (const struct command_cd *at = cd; at != NULL && at != state->cd; at = at->before) {
        if (count == CHANGES_MOST) {
            return call_over_limit(scratch, "changes of directory in one command");
        }
        changes[count++] = at;
    }
    bool goes_on =
        state->cd == NULL || cd == state->cd || (count > 0 && changes[count - 1]->before == state->cd);
    if (!goes_on) { /* another text: from the common starts */
        state->common = 0;
        return make_common(scratch) && go_to(scratch, cd);
    }
    for (size_t i = count; i > 0; i--) {
        if (!add_change(scratch, changes[i - 1])) {
            return false;
        }
    }
    state->cd = cd;
    return true;
}

/* ---- Places of known words ---- */

static bool add_place(struct scratch *scratch, const struct command_place *place, const struct origin *origin)
{
    struct command_state *state = scratch->command_state;
    bool is_new;
    /* The words of a command that stands in another one are that one's. */
    if (set_add(&state->counted, scratch->seed, &scratch->out->arena, place->text, &is_new) == NULL) {
        return call_no_memory(scratch);
    }
    if (is_new && !call_count_string(scratch)) {
        return false;
    }
    if (path_is_uri(place->text) && !places_add_uri(scratch, origin, place->text)) {
        return false;
    }
    return places_add_plain(scratch, origin, &state->starts, place->text);
}

static bool add_host(struct scratch *scratch, struct sink *sink, uint32_t value, struct slice text)
{
    struct url_host host;
    return url_read(text, &host) == URL_HOST ? hosts_add(scratch, sink, value, &host)
                                             : hosts_add_unreadable(scratch, sink, value);
}

static bool add_known(struct scratch *scratch, const struct command *command, uint32_t value,
                      const struct tree_ask *tree)
{
    struct command_state *state = scratch->command_state;
    bool aside = scratch->needs.command_paths;
    struct command_places places;
    struct command_place place;
    struct origin origin = {
        .value = value,
        .to = &state->places,
        .aside = aside ? &state->guesses : NULL,
        .aside_tree = aside ? tree : NULL,
    };
    command_places_start(&places, command);
    while (command_places_next(&places, &place)) {
        origin.home_only = place.home;
        if (scratch->acts_paths && !add_place(scratch, &place, &origin)) {
            return false;
        }
        if (scratch->acts_hosts && place.url && !add_host(scratch, &state->hosts, value, place.text)) {
            return false;
        }
    }
    return true;
}

/* ---- What is read aside ---- */

/* One text that may be a place. */
static bool guess(struct scratch *scratch, const struct command_place *place, uint32_t value)
{
    struct command_state *state = scratch->command_state;
    const struct origin origin = {.value = value, .to = &state->guesses, .home_only = place->home};
    struct command_place filled = *place;
    struct slice text;
    if (scratch->needs.command_hosts && place->url &&
        !add_host(scratch, &state->guessed_hosts, value, place->text)) {
        return false;
    }
    if (!scratch->needs.command_paths) {
        return true;
    }
    if (aside_fill_in(scratch, place->text, &text)) {
        filled.text = arena_copy(&scratch->out->arena, text);
        if (filled.text.ptr == NULL) {
            return call_no_memory(scratch);
        }
    }
    if (scratch->fault != READINGS_OK) {
        return false;
    }
    return add_place(scratch, &filled, &origin) &&
           (!place->glob || aside_glob(scratch, &origin, &state->starts, filled.text));
}

static bool guess_opaque(struct scratch *scratch, const struct command *command, uint32_t value)
{
    struct command_places places;
    struct command_place place;
    command_guesses_start(&places, command);
    while (command_places_next(&places, &place)) {
        if (!guess(scratch, &place, value)) {
            return false;
        }
    }
    return true;
}

/* The runs of a text, each once. */
static bool guess_runs(struct scratch *scratch, struct slice text, uint32_t value)
{
    struct command_state *state = scratch->command_state;
    char room[COMMAND_RUN_BYTES];
    struct command_split split;
    struct command_place place;
    struct slice run;
    size_t at = 0;
    bool is_new;
    while (command_run_next(text, &at, room, &run)) {
        if (!call_spend(scratch, 2)) {
            return false;
        }
        struct text_slot *slot = set_add(&state->runs, scratch->seed, &scratch->out->arena, run, &is_new);
        if (slot == NULL) {
            return call_no_memory(scratch);
        }
        if (!is_new) {
            continue;
        }
        command_split_start(&split, slot->text, false);
        while (command_split_next(&split, &place)) {
            if (!guess(scratch, &place, value)) {
                return false;
            }
        }
    }
    return true;
}

/* Runs of a text that are a HOST which some loaded `host` meets. */
static bool guess_hosts(struct scratch *scratch, struct slice text, uint32_t value)
{
    const struct reading_interest *interest = scratch->interest;
    struct url_host host;
    struct slice run;
    size_t at = 0;
    while (command_host_run_next(text, &at, &run)) {
        if (!call_spend(scratch, 2)) {
            return false;
        }
        if (run.len > URL_HOST_BYTES + 1 || !url_read_host(run, &host)) {
            continue;
        }
        if (url_patterns_match(interest->hosts, interest->host_count, url_host_text(&host)) &&
            !hosts_add(scratch, &scratch->command_state->guessed_hosts, value, &host)) {
            return false;
        }
    }
    return true;
}

static bool guess_words(struct scratch *scratch, const struct command *command, uint32_t value, bool runs)
{
    for (uint32_t i = 0; i < command->count; i++) {
        struct slice word = command_word_at(command, i)->text;
        if ((runs && !guess_runs(scratch, word, value)) ||
            (scratch->needs.command_hosts && !guess_hosts(scratch, word, value))) {
            return false;
        }
    }
    return true;
}

/* The working directory as a tree, unless what the command names last exists. */
static bool guess_here(struct scratch *scratch, const struct command_trees *trees, uint32_t value,
                       const struct tree_ask *tree)
{
    struct command_state *state = scratch->command_state;
    const struct origin last = {.value = value, .to = &state->looked, .home_only = trees->last_home};
    const struct origin here = {.value = value, .to = &state->guesses, .tree = tree};
    if (trees->last.len > 0 && !trees->last_opaque) {
        scratch->exists = false;
        sink_clear(&state->looked);
        if (!places_add_plain(scratch, &last, &state->starts, trees->last)) {
            return false;
        }
        if (scratch->exists) {
            return true;
        }
    }
    return places_add_plain(scratch, &here, &state->starts, SLICE(""));
}

static bool add_guesses(struct scratch *scratch, const struct command *command, uint32_t list)
{
    const struct taken_list *taken = &scratch->command_state->lists[list];
    if ((command->flags & COMMAND_UNREADABLE) != 0) {
        return guess_runs(scratch, command->raw, taken->value) &&
               (!scratch->needs.command_hosts || guess_hosts(scratch, command->raw, taken->value));
    }
    bool runs = command_runs_anything(command);
    if (!guess_opaque(scratch, command, taken->value) || !guess_words(scratch, command, taken->value, runs)) {
        return false;
    }
    for (uint32_t i = 0; runs && i < taken->list.document_count; i++) {
        if (!guess_runs(scratch, taken->list.documents[i], taken->value)) {
            return false;
        }
    }
    return true;
}

/* ---- Putting it together ---- */

static size_t common_length(struct slice a, struct slice b)
{
    size_t len = 0, same = 0;
    while (len < a.len && len < b.len && a.ptr[len] == b.ptr[len]) {
        len++;
        bool ends = (len == a.len || a.ptr[len] == '/') && (len == b.len || b.ptr[len] == '/');
        same = ends ? len : same;
    }
    return same == 0 ? 1 : same; /* the root is above both */
}

static void widen(struct slice *span, struct slice path)
{
    if (span->ptr == NULL) {
        *span = path;
    } else {
        span->len = common_length(*span, path);
    }
}

/* The longest path that all places and all paths of the call's own are equal to or below. */
static bool find_span(struct scratch *scratch, struct reading_command *command)
{
    const struct command_state *state = scratch->command_state;
    struct slice span = {NULL, 0};
    bool known =
        !command->place_unreadable && (command->command->flags & (COMMAND_OPEN | COMMAND_UNREADABLE)) == 0;
    for (size_t i = 0; i < state->places.count; i++) {
        widen(&span, state->places.list[i].path);
    }
    for (size_t i = 0; i < scratch->paths.count && known; i++) {
        known = scratch->paths.list[i].kind == READING_PATH;
        if (known) {
            widen(&span, scratch->paths.list[i].path);
        }
    }
    if (known && span.ptr == NULL) {
        struct path_start here = start_of(scratch->base->cwd);
        if (!here.usable || !start_walk(scratch, &here)) {
            return scratch->fault == READINGS_OK;
        }
        known = here.readable;
        span = here.canonical;
    }
    command->span_known = known;
    command->span = known ? span : (struct slice){NULL, 0};
    return true;
}

static bool copy_texts(struct scratch *scratch, const struct sink *sink, bool hosts,
                       struct reading_texts *ret)
{
    struct slice *list = arena_array(&scratch->out->arena, sink->count + 1, sizeof(*list));
    size_t count = 0;
    if (list == NULL) {
        return call_no_memory(scratch);
    }
    for (size_t i = 0; i < sink->count; i++) {
        const struct reading *reading = &sink->list[i];
        if (hosts ? reading->host_kind == READING_HOST : reading->kind == READING_PATH) {
            list[count++] = hosts ? reading->host : reading->path;
        }
    }
    *ret = (struct reading_texts){list, count};
    return true;
}

/* Stages what a sink holds; what another holds as well is left out. */
static bool stage(struct scratch *scratch, const struct reading_command *command, struct sink *sink,
                  struct sink *other, bool known)
{
    for (size_t i = 0; i < sink->count; i++) {
        struct reading reading = sink->list[i];
        bool host = reading.host_kind != READING_NO_HOST;
        if (other != NULL &&
            set_find(&other->set, scratch->seed, host ? reading.host : reading.path) != NULL) {
            continue;
        }
        reading.kind = host ? READING_NO_PATH : reading.kind;
        reading.aside = true;
        reading.known = reading.known || known;
        reading.command = command;
        if (!sink_append(scratch, &scratch->command_state->staged, reading)) {
            return false;
        }
    }
    return true;
}

static bool stage_all(struct scratch *scratch, const struct reading_command *command, bool own, bool full)
{
    struct command_state *state = scratch->command_state;
    const struct needs *needs = &scratch->needs;
    const struct reading alone = {.kind = READING_NO_PATH, .aside = true, .command = command};
    if (!own && needs->inner_alone && !sink_append(scratch, &state->staged, alone)) {
        return false;
    }
    if (full && needs->command_paths &&
        !(stage(scratch, command, &state->places, NULL, true) &&
          stage(scratch, command, &state->guesses, &state->places, false))) {
        return false;
    }
    return !full || !needs->command_hosts ||
           (stage(scratch, command, &state->hosts, NULL, true) &&
            stage(scratch, command, &state->guessed_hosts, &state->hosts, false));
}

static void clear_sinks(struct command_state *state)
{
    sink_clear(&state->places);
    sink_clear(&state->guesses);
    sink_clear(&state->hosts);
    sink_clear(&state->guessed_hosts);
    set_clear(&state->runs);
}

static bool find_acts(struct scratch *scratch, size_t index)
{
    struct command_state *state = scratch->command_state;
    struct reading_command *acting = scratch->commands[index];
    const struct command *command = acting->command;
    uint32_t list = state->list_of[index];
    struct command_trees trees = {.names = false};
    bool own = index < scratch->own_commands, unreadable = (command->flags & COMMAND_UNREADABLE) != 0;
    if (!unreadable) {
        command_trees_of(command, &trees);
    }
    const struct tree_ask ask = {
        .entries = trees.entries, .hidden = trees.hidden, .absent = true, .noted = true};
    uint32_t value = state->lists[list].value;
    bool full = own || !state->fewer_options[index];
    if (!unreadable && !add_known(scratch, command, value, full && trees.names ? &ask : NULL)) {
        return false;
    }
    if (full && scratch->needs.command_paths && trees.here && !guess_here(scratch, &trees, value, &ask)) {
        return false;
    }
    if ((scratch->needs.command_paths || scratch->needs.command_hosts) && full &&
        !add_guesses(scratch, command, list)) {
        return false;
    }
    acting->place_unreadable = acting->place_unreadable || state->places.unreadable ||
                               (command->flags & COMMAND_LOST) != 0 || command_has_unknown_place(command);
    acting->host_unreadable = state->hosts.unreadable;
    return copy_texts(scratch, &state->places, false, &acting->places) &&
           copy_texts(scratch, &state->hosts, true, &acting->hosts) &&
           (!scratch->acts_paths || find_span(scratch, acting)) && stage_all(scratch, acting, own, full);
}

bool acts_resolve(struct scratch *scratch, size_t index)
{
    const struct needs *needs = &scratch->needs;
    bool remote = (scratch->flags & READINGS_REMOTE) != 0;
    scratch->acts_paths = (needs->command_paths || needs->command_places) && !remote;
    scratch->acts_hosts = needs->command_hosts || needs->command_urls;
    if (remote) {
        scratch->commands[index]->place_unreadable = true;
    }
    if (!scratch->acts_paths && !scratch->acts_hosts) {
        return index < scratch->own_commands || stage_all(scratch, scratch->commands[index], false, false);
    }
    if (scratch->acts_paths && !go_to(scratch, scratch->commands[index]->command->cd)) {
        return false;
    }
    clear_sinks(scratch->command_state);
    return find_acts(scratch, index);
}
