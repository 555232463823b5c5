/* Sequences that broke off. The decoder gave up waiting for the rest of a sequence, which may still come, on a slow
 * line or from a busy terminal. That rest is not typed text. One thread; used by the decoder alone. */
#ifndef TANDEM_UI_TORN_H
#define TANDEM_UI_TORN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TORN_NS INT64_C(10000000000) /* how long a rest may come */

struct torn {
    char bytes[64]; /* its bytes from Esc on; of a longer one enough to know its kind */
    size_t n;       /* 0: nothing broke off */
    int64_t since_ns;
};

enum torn_verdict {
    TORN_NOTHING, /* the text does not belong to the sequence, which is forgotten */
    TORN_WAIT,    /* it may be the rest, or a part of it, and more has to come */
    TORN_REST,    /* it begins with the rest: *took bytes */
    TORN_PASTE,   /* likewise, and the sequence was the mark before a paste */
};

void torn_keep(struct torn *t, const char *sequence, size_t n, int64_t now_ns);

/* How the next text[0..n), n > 0, relates to the sequence. *patient: with WAIT, whether it is almost certainly an
 * answer's rest, so that it may wait longer than a key. */
enum torn_verdict torn_look(struct torn *t, const char *text, size_t n, int64_t now_ns, size_t *took, bool *patient);

/* The time of WAIT is over. Returns how many bytes of the text are part of the answer, to be dropped; more of it may
 * still come. A single byte is a key. */
size_t torn_settle(struct torn *t, const char *text, size_t n, int64_t now_ns);

#endif
