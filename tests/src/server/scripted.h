/* A server of models that says whatever a test wants: a thread of the test program with a plain socket, one connection
 * and one request at a time. */
#ifndef TANDEM_TESTS_SCRIPTED_H
#define TANDEM_TESTS_SCRIPTED_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

struct scripted_page {
    const char *path, *answer; /* the whole answer, head and all */
};

/* Set before a request, read after it. */
extern struct scripted {
    const char *answer;                /* to each request, but for those of the pages */
    const char *second;                /* to each request after the next one, if not NULL */
    bool second_hangs;                 /* these alone hang */
    bool first_went;                   /* the server's own */
    const struct scripted_page *pages; /* ends with a path NULL; or NULL */
    size_t flood;                      /* then so many bytes of 'x' */
    bool unread;                       /* it answers whatever has come first */
    bool hangs;                        /* then nothing, until the other end goes ... */
    sem_t left;                        /* ... which is told here */
    int port, connected, served;       /* connections and requests so far ... */
    int readied;                       /* ... without those that only make a connection ready */
    char asked[1 << 16];               /* the last request as it came */
    const char *sought;                /* in requests, if not NULL; ... */
    int found;                         /* ... of those that came, so many had it */
} scripted;

/* Starts it (once) and gives its address: http://127.0.0.1:PORT */
const char *scripted_start(void);

/* 200 with this body, in a buffer of its own that is never freed. */
const char *scripted_ok(const char *body);

/* Puts the folder of tandem-net, which is beside the tested program, on PATH. False: it was not built. */
bool scripted_find_net(void);

#endif
