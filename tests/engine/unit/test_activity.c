#include "tests/check.h"

#include "engine/base/clock.h"
#include "engine/unit/activity.h"

#include <pthread.h>
#include <stdatomic.h>

TEST(reads_in_order_and_totals)
{
    struct activity *a = activity_new();
    for (int i = 0; i < 10; i++)
        activity_add(a, &(struct activity_span){.start_ns = i * 10,
                                                .end_ns = i * 10 + 7,
                                                .kind = i % 2 ? SPAN_DECODE : SPAN_DRAFT,
                                                .tokens = 32,
                                                .bytes = 1000});
    activity_add(a, &(struct activity_span){.kind = SPAN_NONE, .tokens = 5});
    CHECK_INT(10, activity_head(a));
    struct activity_span out[16];
    uint64_t at = 0, lost = 0;
    CHECK_INT(4, activity_read(a, &at, out, 4, &lost));
    CHECK_INT(30, out[3].start_ns);
    CHECK_INT(SPAN_DECODE, out[3].kind);
    CHECK_INT(6, activity_read(a, &at, out, 16, &lost));
    CHECK_INT(97, out[5].end_ns);
    CHECK_INT(0, activity_read(a, &at, out, 16, &lost));
    CHECK_INT(0, lost);
    struct activity_totals t = activity_total(a, SPAN_DECODE);
    CHECK_INT(5, t.spans);
    CHECK_INT(160, t.tokens);
    CHECK_INT(35, t.ns);
    CHECK_INT(5000, t.bytes);
    activity_free(a);
}

TEST(open_spans_are_seen)
{
    struct activity *a = activity_new();
    struct activity_span out[2];
    CHECK_INT(0, activity_open_spans(a, out));
    struct activity_span job = {.start_ns = 5, .end_ns = 99, .kind = SPAN_HISTORY, .tokens = 32};
    activity_begin(a, &job);
    activity_begin(a, &(struct activity_span){.start_ns = 6, .kind = SPAN_LENT});
    activity_begin(a, &(struct activity_span){.start_ns = 7, .kind = SPAN_NONE});
    CHECK_INT(2, activity_open_spans(a, out));
    CHECK_INT(SPAN_HISTORY, out[0].kind);
    CHECK_INT(0, out[0].end_ns);
    CHECK_INT(SPAN_LENT, out[1].kind);
    CHECK_INT(6, out[1].start_ns);
    job.end_ns = 20;
    job.tokens = 8;
    activity_end(a, &job);
    CHECK_INT(1, activity_open_spans(a, out));
    CHECK_INT(SPAN_LENT, out[0].kind);
    CHECK_INT(8, activity_total(a, SPAN_HISTORY).tokens);
    activity_free(a);
}

TEST(old_spans_are_lost_and_counted)
{
    struct activity *a = activity_new();
    enum { N = 3 * ACTIVITY_SPANS + 17 };
    for (int i = 0; i < N; i++)
        activity_add(a, &(struct activity_span){.start_ns = i, .end_ns = i + 1, .kind = SPAN_DECODE, .tokens = 1});
    static struct activity_span out[ACTIVITY_SPANS];
    uint64_t at = 3, lost = 0;
    CHECK_INT(ACTIVITY_SPANS, activity_read(a, &at, out, ACTIVITY_SPANS, &lost));
    CHECK_INT(N - ACTIVITY_SPANS, out[0].start_ns);
    CHECK_INT(N - 1, out[ACTIVITY_SPANS - 1].start_ns);
    CHECK_INT(N - ACTIVITY_SPANS - 3, lost);
    CHECK_INT(N, at);
    at = activity_head(a) - 2;
    CHECK_INT(2, activity_read(a, &at, out, ACTIVITY_SPANS, NULL));
    CHECK_INT(N, activity_total(a, SPAN_DECODE).tokens);
    activity_free(a);
}

/* Writers whose spans can be checked for having been torn: every field follows from one number. */
enum { WRITERS = 3, EACH = 60000 };

struct shared {
    struct activity *a;
    _Atomic int next_writer, finished;
};

static struct activity_span made(uint64_t x)
{
    return (struct activity_span){.start_ns = (int64_t)x,
                                  .end_ns = (int64_t)(x * 3 + 1),
                                  .kind = (enum span_kind)(x % SPAN_KINDS),
                                  .tokens = (uint32_t)(x * 7),
                                  .bytes = x * 11};
}

static void *write_spans(void *ctx)
{
    struct shared *s = ctx;
    uint64_t w = (uint64_t)atomic_fetch_add(&s->next_writer, 1);
    for (uint64_t i = 0; i < EACH; i++) {
        struct activity_span span = made(i * WRITERS + w);
        if (w == 0 && span.kind != SPAN_LENT) {
            activity_begin(s->a, &span);
            activity_end(s->a, &span);
        } else {
            activity_add(s->a, &span);
        }
    }
    atomic_fetch_add(&s->finished, 1);
    return NULL;
}

TEST(readers_never_see_a_torn_span)
{
    struct shared s = {.a = activity_new()};
    pthread_t thread[WRITERS];
    for (int i = 0; i < WRITERS; i++) pthread_create(&thread[i], NULL, write_spans, &s);
    static struct activity_span out[512];
    uint64_t at = 0, lost = 0, got = 0, torn = 0;
    uint64_t newest[WRITERS] = {0};
    bool backwards = false;
    for (bool last = false; !last;) {
        last = atomic_load(&s.finished) == WRITERS;
        for (size_t n; (n = activity_read(s.a, &at, out, 512, &lost)) > 0;) {
            for (size_t i = 0; i < n; i++) {
                uint64_t x = (uint64_t)out[i].start_ns;
                struct activity_span expected = made(x);
                torn += expected.end_ns != out[i].end_ns || expected.kind != out[i].kind ||
                        expected.tokens != out[i].tokens || expected.bytes != out[i].bytes;
                backwards |= x + 1 <= newest[x % WRITERS];
                newest[x % WRITERS] = x + 1;
            }
            got += n;
        }
        struct activity_span open[2];
        size_t n = activity_open_spans(s.a, open);
        for (size_t i = 0; i < n; i++)
            torn += open[i].end_ns != 0 || open[i].tokens != (uint32_t)(open[i].start_ns * 7);
    }
    for (int i = 0; i < WRITERS; i++) pthread_join(thread[i], NULL);
    CHECK_INT(0, torn);
    CHECK(!backwards);
    CHECK(got > 0);
    CHECK_INT(WRITERS * EACH, got + lost);
    uint64_t spans = 0;
    for (int k = 0; k < SPAN_KINDS; k++) spans += activity_total(s.a, (enum span_kind)k).spans;
    CHECK_INT(WRITERS * EACH, spans);
    activity_free(s.a);
}

TEST_MAIN(T(reads_in_order_and_totals), T(open_spans_are_seen), T(old_spans_are_lost_and_counted),
          T(readers_never_see_a_torn_span))
