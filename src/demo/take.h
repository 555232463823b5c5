/* A take: the recording of one run of the demo's script, with the times of everything that is shown. Plain data; run.h
 * records one, scale.h gives it another timing, show.h puts two side by side.
 *
 * Times are nanoseconds of one clock, whose zero is the take's own. A mark gives a number of bytes from its time on;
 * marks and spans are in order of time. One thread. */
#ifndef TANDEM_SRC_DEMO_TAKE_H
#define TANDEM_SRC_DEMO_TAKE_H

#include "engine/base/buffer.h"
#include "ui/draw/view.h"

typedef struct {
    int64_t ns;
    size_t bytes;
} demo_mark;

typedef struct {
    demo_mark *all;
    size_t n, room;
} demo_marks;

/* A message and its reply. */
typedef struct {
    int64_t key_ns;   /* its first key */
    int64_t enter_ns;
    int64_t first_ns; /* the first characters of the reply */
    int64_t end_ns;   /* the reply is complete */
    struct buffer drafts; /* the drafts after each key, one after the other */
    demo_marks keys;      /* bytes of `drafts` up to the end of each; the last one is the message */
    demo_marks reads;     /* bytes of the draft that were read */
    struct buffer reply;
    demo_marks texts;     /* bytes of `reply` that were there */
} demo_turn;

typedef struct {
    struct view_span *all;
    size_t n, room;
} demo_spans;

typedef struct {
    demo_turn *turns;
    int n;
    demo_spans units[TDM_UNITS];
} demo_take;

/* n turns, all empty. */
tdm_status demo_take_new(demo_take *out, int n, tdm_error *err);
void demo_take_free(demo_take *t);
/* A copy of texts and marks, without spans. */
tdm_status demo_take_copy(demo_take *out, const demo_take *from, tdm_error *err);

tdm_status demo_marks_add(demo_marks *m, int64_t ns, size_t bytes, tdm_error *err);
/* Bytes at a time; 0 before the first mark. */
size_t demo_marks_at(const demo_marks *m, int64_t ns);
tdm_status demo_spans_add(demo_spans *s, const struct view_span *span, tdm_error *err);

/* The draft at a time, in `drafts` and not ended by a zero; *n its length. */
const char *demo_turn_draft(const demo_turn *t, int64_t ns, size_t *n);

#endif
