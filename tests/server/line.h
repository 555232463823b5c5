/* A network between a client and a server, both on this machine: what comes to a port of its own is carried to another
 * one and back, each byte later by a delay, and counted.
 *
 * Threads: one of its own carries; the functions may be called from any. */
#ifndef TANDEM_TESTS_LINE_H
#define TANDEM_TESTS_LINE_H

#include <stdint.h>

#include "engine/tandem.h"

struct line;

typedef struct {
    uint64_t connections;             /* that were opened */
    uint64_t open;                    /* of these, those that no side has ended yet */
    uint64_t bytes_there, bytes_back; /* from clients, to clients */
} line_counts;

/* port 0: any that is free. delay_ms counts for each direction. */
tdm_status line_open(struct line **out, int port, int to_port, int delay_ms, tdm_error *err);
void line_close(struct line *l); /* NULL is allowed */
int line_port(const struct line *l);
void line_count(struct line *l, line_counts *out);
/* Closes every connection that is open, as a server does that is started anew. */
void line_cut(struct line *l);

/* A listening socket on this machine; the port is in *port. -1: failed. */
int line_listen(int *port);

#endif
