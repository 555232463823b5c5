/* The timed table. Each thread adds to a slot of its own; slots are shared only by more than SLOTS threads, and then
 * the additions are atomic all the same. */
#include "engine/kernel/timed.h"

#include <stdatomic.h>
#if defined __x86_64__
#include <x86intrin.h>
#endif

#include "engine/base/clock.h"

enum { SLOTS = 256 };

static struct slot {
    _Alignas(64) _Atomic uint64_t ticks[TIMED_PARTS];
} slots[SLOTS];

static atomic_uint threads;
static _Thread_local struct slot *own;

static const struct kernels *inner;
static const struct matrix *lm_head;
static struct kernels table;
static struct {
    uint64_t ticks;
    int64_t ns;
} start;

static inline uint64_t ticks_now(void)
{
#if defined __x86_64__
    return __rdtsc();
#elif defined __aarch64__
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return (uint64_t)clock_ns();
#endif
}

static void add(enum timed_part part, uint64_t began)
{
    uint64_t took = ticks_now() - began;
    if (!own) own = &slots[atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % SLOTS];
    atomic_fetch_add_explicit(&own->ticks[part], took, memory_order_relaxed);
}

/* Defines timed_NAME, which calls the set's NAME and adds the time to a part. */
#define TIMED(part, name, parameters, arguments)                                                                       \
    static void timed_##name parameters                                                                                \
    {                                                                                                                  \
        uint64_t began = ticks_now();                                                                                  \
        inner->name arguments;                                                                                         \
        add(part, began);                                                                                              \
    }

/* Is it the LM head, or a view of some of its rows? */
static bool is_head(const struct matrix *m)
{
    const unsigned char *data = m->data, *head = lm_head->data;
    return data >= head && data < head + lm_head->bytes;
}

TIMED(is_head(m) ? TIMED_HEAD : TIMED_PRODUCTS, matmul,
      (const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0, uint32_t t1, float *out,
       size_t ldo, bool more),
      (m, p, r0, r1, t0, t1, out, ldo, more))
TIMED(TIMED_QUANTISING, panel_fill,
      (struct panel *p, const float *x, size_t ldx, uint32_t t0, uint32_t t1, uint32_t c0, uint32_t c1),
      (p, x, ldx, t0, t1, c0, c1))
TIMED(TIMED_QUANTISING, panel_copy,
      (struct panel *to, uint32_t t, const struct panel *from, uint32_t t_from), (to, t, from, t_from))
TIMED(TIMED_EMBEDDING, unpack_row, (const struct matrix *m, uint32_t row, float *out), (m, row, out))
TIMED(TIMED_NORMS, rms_norm, (float *out, const float *x, const float *multiplier, uint32_t n, float eps),
      (out, x, multiplier, n, eps))
TIMED(TIMED_NORMS, layer_norm,
      (float *out, const float *x, const float *multiplier, const float *bias, uint32_t n, float eps),
      (out, x, multiplier, bias, n, eps))
TIMED(TIMED_NORMS, l2_norm, (float *x, size_t ld, uint32_t n, float eps, float scale, uint32_t tokens),
      (x, ld, n, eps, scale, tokens))
TIMED(TIMED_NORMS, norm_gate,
      (float *x, size_t ld, const float *multiplier, const float *z, size_t ldz, uint32_t n, float eps,
       uint32_t tokens),
      (x, ld, multiplier, z, ldz, n, eps, tokens))
TIMED(TIMED_NORMS, sigmoid_mul, (float *out, const float *x, const float *gate, uint32_t n), (out, x, gate, n))
TIMED(TIMED_NORMS, mix, (float *x, const float *const *rows, const float *weights, uint32_t n_rows, uint32_t n),
      (x, rows, weights, n_rows, n))
TIMED(TIMED_NORMS, rope, (float *x, const float *cosine, const float *sine, uint32_t dims), (x, cosine, sine, dims))
TIMED(TIMED_NORMS, delta_gates,
      (float *decay, float *beta, const float *a, const float *b, size_t ld, float rate, float dt_bias,
       uint32_t tokens),
      (decay, beta, a, b, ld, rate, dt_bias, tokens))
TIMED(TIMED_SILU, silu_mul, (float *out, const float *gate, const float *up, uint32_t n), (out, gate, up, n))
TIMED(TIMED_SILU, gelu_tanh, (float *x, const float *bias, uint32_t n), (x, bias, n))
TIMED(TIMED_HEAD, soft_cap, (float *x, float cap, uint32_t n), (x, cap, n))
TIMED(TIMED_CONVOLUTION, conv_silu,
      (float *out, size_t ldo, const float *in, size_t ldi, const float *w, float *state, uint32_t channels,
       uint32_t taps, uint32_t c0, uint32_t c1, uint32_t tokens),
      (out, ldo, in, ldi, w, state, channels, taps, c0, c1, tokens))
TIMED(TIMED_DELTA, delta_slab,
      (float *s, uint32_t key_dim, uint32_t width, const float *q, const float *k, size_t ldq, const float *v,
       size_t ldv, const float *decay, const float *beta, size_t ldg, float *out, size_t ldo, uint32_t tokens),
      (s, key_dim, width, q, k, ldq, v, ldv, decay, beta, ldg, out, ldo, tokens))
TIMED(TIMED_ATTENTION, kv_store,
      (enum kv_type type, uint32_t head_dim, void *keys, void *values, uint32_t position, const float *k,
       const float *v),
      (type, head_dim, keys, values, position, k, v))
TIMED(TIMED_ATTENTION, attend, (const struct attend *a), (a))
TIMED(TIMED_ATTENTION, attend_merge,
      (float *max_a, float *sum_a, float *acc_a, const float *max_b, const float *sum_b, const float *acc_b,
       uint32_t rows, uint32_t head_dim),
      (max_a, sum_a, acc_a, max_b, sum_b, acc_b, rows, head_dim))
TIMED(TIMED_ATTENTION, attend_finish, (float *out, const float *acc, float sum, uint32_t head_dim),
      (out, acc, sum, head_dim))

const struct kernels *timed_kernels(const struct kernels *k, const struct matrix *head)
{
    inner = k;
    lm_head = head;
    table = *k;
#define TAKE(name) table.name = timed_##name
    TAKE(matmul);
    TAKE(panel_fill);
    TAKE(panel_copy);
    TAKE(unpack_row);
    TAKE(rms_norm);
    TAKE(layer_norm);
    TAKE(l2_norm);
    TAKE(norm_gate);
    TAKE(sigmoid_mul);
    TAKE(mix);
    TAKE(rope);
    TAKE(delta_gates);
    TAKE(silu_mul);
    TAKE(gelu_tanh);
    TAKE(soft_cap);
    TAKE(conv_silu);
    TAKE(delta_slab);
    TAKE(kv_store);
    TAKE(attend);
    TAKE(attend_merge);
    TAKE(attend_finish);
#undef TAKE
    return &table;
}

void timed_reset(void)
{
    for (int s = 0; s < SLOTS; s++)
        for (int p = 0; p < TIMED_PARTS; p++) atomic_store_explicit(&slots[s].ticks[p], 0, memory_order_relaxed);
    start.ns = clock_ns();
    start.ticks = ticks_now();
}

void timed_read(double ns[TIMED_PARTS])
{
    /* What a tick is, by the clock over the same time. */
    uint64_t ticks = ticks_now() - start.ticks;
    double tick = ticks ? (double)(clock_ns() - start.ns) / (double)ticks : 0;
    for (int p = 0; p < TIMED_PARTS; p++) {
        uint64_t sum = 0;
        for (int s = 0; s < SLOTS; s++) sum += atomic_load_explicit(&slots[s].ticks[p], memory_order_relaxed);
        ns[p] = tick * (double)sum;
    }
}
