/* What the server of the tests can do wrong, named on its command line or later by POST /test/fault.
 *
 * Threads: the caller's lock. */
#ifndef TANDEM_TESTS_FAULT_H
#define TANDEM_TESTS_FAULT_H

#include <stdbool.h>

typedef enum {
    FAULT_NONE,
    FAULT_SILENT,   /* takes the request and never answers */
    FAULT_BUSY,     /* 429, Retry-After: VALUE seconds */
    FAULT_LOADING,  /* 503, Retry-After: VALUE seconds */
    FAULT_BROKEN,   /* the status VALUE, else 503 */
    FAULT_CUT,      /* a stream ends in the middle, after VALUE bytes */
    FAULT_GARBAGE,  /* bytes that mean nothing */
    FAULT_FLOOD,    /* one line of VALUE MiB */
    FAULT_REDIRECT, /* 307 to the host VALUE, http://... */
    FAULTS
} fault_kind;

typedef struct {
    fault_kind kind;
    int times; /* requests that it still happens to; -1: all */
    int value;
    char to[200]; /* FAULT_REDIRECT */
} fault;

/* NAME, NAME:VALUE, and behind either *TIMES: "cut:200*1", "busy:2", "none". False: it is none of them. */
bool fault_parse(fault *out, const char *text);
/* The names, for a message. */
const char *fault_names(void);

#endif
