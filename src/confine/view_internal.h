/* What the files of the view share. Nothing outside src/confine includes this. */
#ifndef CONFINE_VIEW_INTERNAL_H
#define CONFINE_VIEW_INTERNAL_H

#include "confine/view.h"

/* Adds a place; the texts are copied. */
MUST_USE bool view_add(struct view *view, enum view_kind kind, struct slice path, const char *why);

/* Questions to the analysis, asked all at once because a policy is made ready once for all of them. */
struct view_question {
    struct slice path;    /* the prefix that the question is about */
    bool proved;          /* no call below it is allowed or waits */
    struct slice against; /* the id of the rule that may let a call through; empty: the default */
};

/* Proves for each path that every call to it is denied. False with a line for people. */
MUST_USE bool view_prove(const struct policy *policy, const struct path_base *base,
                         struct view_question *questions, size_t count, struct arena *arena,
                         struct buf *ret_error);

/* Adds the entries below the writable directories whose names match a pattern and to which every call is denied. */
MUST_USE bool view_find_names(struct view *view, const struct view_options *options, struct buf *ret_error);

/* Adds what no confined program needs and what leads out: sockets that others listen on, the run-time directory. */
MUST_USE bool view_add_sockets(struct view *view, const struct view_options *options);

#endif
