/* Parses the head of an answer, line by line. One thread. */
#ifndef TANDEM_SRC_PULL_HEAD_H
#define TANDEM_SRC_PULL_HEAD_H

#include "src/pull/transfer.h"

typedef struct {
    transfer_reply *reply; /* the caller's */
    char *location;        /* of a redirect; NULL: none. The caller frees it */
    bool own;              /* this hop is the hub's own server, which alone knows digests, sizes and pages */
    bool linked;           /* its X-Linked-Etag was found */
    int after;             /* Retry-After in seconds; -1: not said */
} head;

/* Takes one line, with or without its end. Malformed headers are ignored. */
void head_take(head *h, const char *line, size_t n);

#endif
