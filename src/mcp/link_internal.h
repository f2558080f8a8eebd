/* One side of a session on the wire: lines come from it and lines go to it.
 *
 * A session and its proxy speak to a link through this interface only, so that another transport is another
 * link and no second proxy. stdio_link.h is the one over descriptors.
 *
 * What cannot be written at once is copied and kept, so the owner must stop whoever feeds a link while
 * link_queued is above its ceiling. No callback is called from within link_write: a batch is never entered
 * twice. That the other side has gone is told by link->broken, which the owner looks at when it likes. */
#ifndef MCP_LINK_INTERNAL_H
#define MCP_LINK_INTERNAL_H

#include <uv.h>

#include "mcp/line_buffer.h"

struct link;

struct link_kind {
    void (*read)(struct link *link, bool on);
    void (*write)(struct link *link, const uv_buf_t *pieces, size_t count);
    size_t (*queued)(const struct link *link);
    bool (*hung_up)(const struct link *link);
    void (*close_out)(struct link *link);
    void (*close)(struct link *link);
};

struct link {
    const struct link_kind *kind; /* NULL: was never opened */
    struct line_buffer lines;
    bool reading;
    bool open_out; /* the way out is open */
    bool closing;  /* it is closed once all is written */
    bool broken;   /* nothing more can be written */

    void *owner;
    void (*on_bytes)(struct link *link);   /* link->lines has got more */
    void (*on_end)(struct link *link);     /* nothing more comes; reading has stopped */
    void (*on_written)(struct link *link); /* less is queued than was */
    void (*on_closed)(struct link *link);  /* the way out has been closed by link_close_out; may be NULL */
};

/* Starts or stops reading; harmless after the end. */
static inline void link_read(struct link *link, bool on)
{
    link->kind->read(link, on);
}

/* Writes whole lines, in order, after all that waits. The pieces are free to go when it returns. */
static inline void link_write(struct link *link, const uv_buf_t *pieces, size_t count)
{
    link->kind->write(link, pieces, count);
}

/* How many bytes wait to be written. */
static inline size_t link_queued(const struct link *link)
{
    return link->kind->queued(link);
}

/* Whether the other side has gone, though there may be more to read: what a link that is not read would
 * otherwise not hear of. */
static inline bool link_hung_up(const struct link *link)
{
    return link->kind->hung_up(link);
}

/* Closes the way out once all is written, then calls on_closed. */
static inline void link_close_out(struct link *link)
{
    link->kind->close_out(link);
}

/* Closes both ways at once; nothing for a link that was never opened. The loop closes the handles: run it
 * before the link is forgotten. */
static inline void link_close(struct link *link)
{
    if (link->kind != NULL) {
        link->kind->close(link);
    }
}

#endif
