/* A request as a notice: what is put into the outbox, and what a program that is told reads. */
#ifndef PEOPLE_NOTICE_H
#define PEOPLE_NOTICE_H

#include "approval/approval.h"

/* Appends {"id","event","title","text","request"}: `event` is "waiting", or how the request ended ("approved",
 * "refused", "timed_out", "withdrawn"). The request is as `pending --format json` shows it; its secrets are masked
 * already. The same request and event give the same id, so that a receiver can tell a second delivery. */
void notice_write(struct buf *buf, const struct request *request);

/* Appends a request as `pending --format json` has it: one object. */
void notice_write_request(struct buf *buf, const struct request *request);

/* Appends until when the client that called waits: "waits 40 s more", or that it has given up and what an approval is
 * good for then. False, and nothing is appended, where that is not known. */
bool notice_write_client(struct buf *buf, const struct request *request, int64_t now_ms);

#endif
