/* What vision towers have of their own, for every kernel set that this CPU runs: against float64, at every length. */
#include "engine/model/half.h"

#include "tests/check.h"
#include "tests/engine/kernel/sample.h"
#include "tests/engine/kernel/tested.h"

static const struct kernels *sets[TESTED_SETS];
static int set_count;

/* Under a sanitizer the short form leaves out some, with another set others. */
static bool all_of(bool some)
{
    return some || !check_slow() || getenv("TANDEM_LONG");
}

static const uint32_t lengths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 160, 257, 1024};
enum { LENGTHS = sizeof lengths / sizeof *lengths, LONGEST = 1024 };

#define CHECK_CLOSE(want, got)                                                                                         \
    do {                                                                                                               \
        double want_ = (want), got_ = (double)(got);                                                                   \
        if (!(fabs(want_ - got_) <= 1e-5 * fabs(want_) + 2e-6))                                                        \
            CHECK_FAIL("%s, n %u, element %u: expected %g, found %g", k->name, n, i, want_, got_);                     \
    } while (0)

static float x[LONGEST + 1], y[LONGEST], z[LONGEST], out[LONGEST + 1];

static void norms(const struct kernels *k, uint32_t n)
{
    double mean = 0, variance = 0;
    for (uint32_t i = 0; i < n; i++) mean += (double)x[i] / n;
    for (uint32_t i = 0; i < n; i++) variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
    k->layer_norm(out, x, y, z, n, 1e-2f);
    for (uint32_t i = 0; i < n; i++)
        CHECK_CLOSE(((double)x[i] - mean) / sqrt(variance + 1e-2) * (double)y[i] + (double)z[i], out[i]);
    memcpy(out, x, n * sizeof *x);
    k->add(out, y, n);
    for (uint32_t i = 0; i < n; i++) CHECK_CLOSE((double)x[i] + (double)y[i], out[i]);
    k->scale(out, -3, n);
    for (uint32_t i = 0; i < n; i++) CHECK_CLOSE(-3 * ((double)x[i] + (double)y[i]), out[i]);
}

static void activations(const struct kernels *k, uint32_t n)
{
    memcpy(out, x, n * sizeof *x);
    k->gelu_tanh(out, y, n);
    for (uint32_t i = 0; i < n; i++) {
        double v = (double)x[i] + (double)y[i];
        CHECK_CLOSE(v / 2 * (1 + tanh(sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))), out[i]);
    }
    memcpy(out, x, n * sizeof *x);
    k->gelu_erf(out, y, n);
    for (uint32_t i = 0; i < n; i++) {
        double v = (double)x[i] + (double)y[i];
        CHECK_CLOSE(v / 2 * erfc(-v / sqrt(2)), out[i]);
    }
}

TEST(norms_and_activations_are_right_at_every_length)
{
    for (int s = 0; s < set_count; s++)
        for (int l = 0; l < LENGTHS; l++) {
            uint32_t n = lengths[l];
            sample_floats(x, n), sample_floats(y, n), sample_floats(z, n);
            for (uint32_t i = 0; i < n; i++) x[i] = x[i] * 3 + 1;
            out[n] = 42;
            norms(sets[s], n);
            activations(sets[s], n);
            CHECK(out[n] == 42);
        }
}

/* ---- Full attention ---------------------------------------------------------------------------------------------- */

enum { MAX_KEYS = 1100, MAX_DIMS = 256, MAX_QUERIES = 150 };
static float queries[MAX_QUERIES * MAX_DIMS], keys[MAX_KEYS * MAX_DIMS], values[MAX_KEYS * MAX_DIMS];

/* As the set that multiplies takes them. */
static void round_all(const struct kernels *k, float *list, size_t n)
{
    if (k->panel_of(TYPE_BF16) != PANEL_BF16) return;
    for (size_t i = 0; i < n; i++) list[i] = bf16_widen(bf16_narrow(list[i]));
}

/* out[query][dims] of the first `n` keys, by `kernels`; attend_full of some queries at a time. */
static void attend(const struct kernels *k, uint32_t n, uint32_t dims, uint32_t all, uint32_t some, float *result)
{
    enum type type = k->panel_of(TYPE_BF16) == PANEL_BF16 ? TYPE_BF16 : TYPE_F32;
    struct matrix key, value[MAX_KEYS / FULL_KEYS + 1];
    struct full_attention a = {&key, value, (float)(1.4426950408889634 / sqrt(dims))};
    uint32_t blocks = (n + FULL_KEYS - 1) / FULL_KEYS;
    REQUIRE(!matrix_new(&key, k, type, n, dims, NULL));
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t first = b * FULL_KEYS, here = n - first < FULL_KEYS ? n - first : FULL_KEYS;
        REQUIRE(!matrix_new(&value[b], k, type, dims, here, NULL));
        if (type == TYPE_BF16) {
            k->pack_keys(&key, keys + first * dims, dims, first, here);
            k->pack_values(&value[b], values + first * dims, dims);
            continue;
        }
        static float turned[MAX_DIMS * FULL_KEYS];
        for (uint32_t i = 0; i < here * dims; i++) turned[i % dims * here + i / dims] = values[first * dims + i];
        k->pack(&key, keys + first * dims, first, here);
        k->pack(&value[b], turned, 0, dims);
    }
    for (uint32_t t = 0; t < all; t += some) {
        struct panel p = {k->panel_of(type), all - t < some ? all - t : some, dims, NULL};
        REQUIRE(!posix_memalign(&p.data, 64, k->panel_bytes(p.kind, p.tokens, dims)));
        k->panel_fill(&p, queries + t * dims, dims, 0, p.tokens, 0, dims);
        k->attend_full(&a, &p, result + t * dims, dims);
        free(p.data);
    }
    matrix_free(&key);
    for (uint32_t b = 0; b < blocks; b++) matrix_free(&value[b]);
}

/* A query's output, in double precision. */
static void attend_slowly(uint32_t n, uint32_t dims, const float *query, double *result)
{
    static double scores[MAX_KEYS];
    double most = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        scores[i] = 0;
        for (uint32_t d = 0; d < dims; d++) scores[i] += (double)query[d] * (double)keys[i * dims + d];
        scores[i] /= sqrt(dims);
        most = fmax(most, scores[i]);
    }
    for (uint32_t d = 0; d < dims; d++) result[d] = 0;
    for (uint32_t i = 0; i < n; i++) {
        double weight = exp(scores[i] - most);
        sum += weight;
        for (uint32_t d = 0; d < dims; d++) result[d] += weight * (double)values[i * dims + d];
    }
    for (uint32_t d = 0; d < dims; d++) result[d] /= sum;
}

/* The later keys may weigh far more, or less: `grow` of a score from the first key to the last. */
static void check_attention(const struct kernels *k, uint32_t n, uint32_t dims, uint32_t all, float grow)
{
    static float together[MAX_QUERIES * MAX_DIMS], apart[MAX_QUERIES * MAX_DIMS];
    double want[MAX_DIMS], tolerance = k->panel_of(TYPE_BF16) == PANEL_BF16 ? 0.006 : 1e-4;
    sample_floats(queries, (size_t)all * dims), sample_floats(keys, (size_t)n * dims);
    sample_floats(values, (size_t)n * dims);
    for (uint32_t t = 0; t < all; t++) queries[t * dims] = 1;
    for (uint32_t i = 0; i < n; i++) keys[i * dims] = grow * (float)i / (float)n * sqrtf((float)dims);
    attend(k, n, dims, all, all, together);
    attend(k, n, dims, all, 48, apart);
    if (memcmp(together, apart, sizeof *apart * all * dims))
        CHECK_FAIL("%s: %u keys of %u, %u queries: other bits in pieces", k->name, n, dims, all);
    round_all(k, queries, (size_t)all * dims), round_all(k, keys, (size_t)n * dims);
    round_all(k, values, (size_t)n * dims);
    for (uint32_t t = 0; t<all; t += all> 20 ? 7 : 1) {
        attend_slowly(n, dims, queries + t * dims, want);
        for (uint32_t d = 0; d < dims; d++)
            if (!(fabs(want[d] - (double)together[t * dims + d]) <= tolerance))
                CHECK_FAIL("%s: %u keys of %u, query %u of %u, %u: expected %g, found %g", k->name, n, dims, t, all, d,
                           want[d], (double)together[t * dims + d]);
    }
}

TEST(full_attention_is_that_of_the_formula)
{
    static const uint32_t sizes[][3] = {{4, 4, 4},      {64, 64, 64},   {300, 72, 144}, {257, 64, 15}, {1100, 24, 150},
                                        {300, 256, 49}, {768, 24, 100}, {288, 32, 2},   {36, 100, 36}};
    for (int s = 0; s < set_count; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int grow = -60; grow <= 60; grow += 60)
                if (all_of((s + (int)i + grow / 60) % 3 == 0))
                    check_attention(sets[s], sizes[i][0], sizes[i][1], sizes[i][2], (float)grow);
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* Many tokens at a time, and few: also where the matrix unit takes whole pieces another way. */
TEST(products_of_many_tokens_have_the_bits_of_few)
{
    static const uint32_t sizes[][3] = {{256, 768, 512}, {96, 64, 64}, {72, 256, 77}, {50, 100, 130}, {33, 1000, 300}};
    for (int s = 0; s < set_count; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const struct kernels *k = sets[s];
            uint32_t rows = sizes[i][0], cols = sizes[i][1], tokens = sizes[i][2];
            struct matrix m;
            struct panel p = {k->panel_of(TYPE_BF16), tokens, cols, NULL};
            void *weights = sample_rows(TYPE_BF16, rows, cols);
            float *in = malloc(sizeof *in * tokens * cols), *many = malloc(sizeof *many * tokens * rows);
            float *few = malloc(sizeof *few * tokens * rows);
            REQUIRE(!posix_memalign(&p.data, 64, k->panel_bytes(p.kind, tokens, cols)));
            REQUIRE(!matrix_new(&m, k, TYPE_BF16, rows, cols, NULL));
            matrix_pack(&m, weights, 0, rows);
            sample_floats(in, (size_t)tokens * cols);
            k->panel_fill(&p, in, cols, 0, tokens, 0, cols);
            k->matmul(&m, &p, 0, rows, 0, tokens, many, rows, false);
            for (uint32_t t = 0; t < tokens; t += 16)
                k->matmul(&m, &p, 0, rows, t, tokens - t < 16 ? tokens : t + 16, few, rows, false);
            if (memcmp(many, few, sizeof *few * tokens * rows))
                CHECK_FAIL("%s: %u x %u, %u", k->name, rows, cols, tokens);
            matrix_free(&m);
            free(weights);
            free(in);
            free(many);
            free(few);
            free(p.data);
        }
}

/* What an ending makes of sums that matmul made. */
static void plain_ending(const struct kernels *k, const struct ending *end, float *sums, uint32_t rows, uint32_t t)
{
    static const float none[300];
    const float *bias = end->bias ? end->bias : none;
    if (end->kind == ENDING_GELU_TANH || end->kind == ENDING_GELU_ERF) {
        (end->kind == ENDING_GELU_TANH ? k->gelu_tanh : k->gelu_erf)(sums, bias, rows);
        k->panel_fill(end->to, sums, 0, t, t + 1, 0, rows);
        return;
    }
    if (end->bias) k->add(sums, bias, rows);
    if (end->kind == ENDING_ADD) k->add(sums, end->out + t * end->ldo, rows);
    memcpy(end->out + t * end->ldo, sums, rows * sizeof *sums);
}

/* A matrix with a panel of tokens, and what each token makes of it alone: all endings begin with these sums. */
struct product {
    const struct kernels *k;
    struct matrix m;
    struct panel p;
    uint32_t rows, tokens;
    float *sums; /* [tokens][rows] */
};

static void product_begin(struct product *work, const struct kernels *k, enum type type, const uint32_t *size)
{
    uint32_t rows = size[0], cols = size[1], tokens = size[2];
    float *in = malloc(sizeof *in * tokens * cols);
    void *weights = sample_rows(type, rows, cols);
    *work = (struct product){.k = k, .p = {k->panel_of(type), tokens, cols, NULL}, .rows = rows, .tokens = tokens};
    REQUIRE(!posix_memalign(&work->p.data, 64, k->panel_bytes(work->p.kind, tokens, cols)));
    REQUIRE(!matrix_new(&work->m, k, type, rows, cols, NULL));
    matrix_pack(&work->m, weights, 0, rows);
    sample_floats(in, (size_t)tokens * cols);
    k->panel_fill(&work->p, in, cols, 0, tokens, 0, cols);
    work->sums = malloc(sizeof *work->sums * tokens * rows);
    for (uint32_t t = 0; t < tokens; t++) k->matmul(&work->m, &work->p, 0, rows, t, t + 1, work->sums, rows, false);
    free(weights);
    free(in);
}

static void product_end(struct product *work)
{
    matrix_free(&work->m);
    free(work->p.data);
    free(work->sums);
}

/* The bits of a product with an ending are those of matmul and the ending's functions, a token at a time. */
static void check_ending(const struct product *work, struct ending end)
{
    const struct kernels *k = work->k;
    uint32_t rows = work->rows, tokens = work->tokens, ldo = rows + 5, cut = tokens / 32 * 16;
    enum panel_kind kind = k->panel_of(TYPE_BF16);
    size_t floats = (size_t)tokens * ldo, bytes = k->panel_bytes(kind, tokens, rows);
    struct panel to[2] = {{kind, tokens, rows, NULL}, {kind, tokens, rows, NULL}};
    float *made[2], *sums = malloc(sizeof *sums * rows);
    for (int i = 0; i < 2; i++) {
        made[i] = malloc(sizeof(float) * floats);
        for (size_t j = 0; j < floats; j++) made[i][j] = (float)(j % 7);
        REQUIRE(!posix_memalign(&to[i].data, 64, bytes));
        memset(to[i].data, 0, bytes);
    }
    end.ldo = ldo;
    end.out = made[0];
    end.to = &to[0];
    k->product(&work->m, &work->p, 0, rows < 128 ? rows : 128, 0, cut, &end);
    if (rows > 128) k->product(&work->m, &work->p, 128, rows, 0, cut, &end);
    k->product(&work->m, &work->p, 0, rows, cut, tokens, &end);
    end.out = made[1];
    end.to = &to[1];
    for (uint32_t t = 0; t < tokens; t++) {
        memcpy(sums, work->sums + t * rows, rows * sizeof *sums);
        plain_ending(k, &end, sums, rows, t);
    }
    if (memcmp(made[0], made[1], sizeof(float) * floats) || memcmp(to[0].data, to[1].data, bytes))
        CHECK_FAIL("%s, %s: ending %d of %u x %u, %u", k->name, type_info(work->m.type)->name, end.kind, rows,
                   work->p.cols, tokens);
    free(sums);
    for (int i = 0; i < 2; i++) free(made[i]), free(to[i].data);
}

TEST(products_end_as_matmul_and_the_ending_s_functions)
{
    static const uint32_t sizes[][3] = {{256, 768, 112}, {96, 64, 48},    {72, 256, 77},
                                        {176, 100, 130}, {33, 1440, 300}, {260, 4096, 256}};
    static const enum type types[] = {TYPE_BF16, TYPE_Q8_0};
    static float bias[300];
    sample_floats(bias, 300);
    size_t last = sizeof sizes / sizeof *sizes - 1, n = last + !check_slow(); /* the last takes an emulator minutes */
    bool all = getenv("TANDEM_LONG"); /* otherwise the last has half of the endings, and both types with the best set */
    for (int s = 0; s < set_count; s++)
        for (size_t i = 0; i < n; i++)
            for (int type = 0; type < 2; type++) {
                struct product work;
                if (types[type] == TYPE_Q8_0 && sizes[i][1] % 32) continue;
                if (!all && i == last && s < set_count - 1 && s % 2 != type) continue;
                if (!all_of((s + (int)i + type) % 2 == 0)) continue;
                product_begin(&work, sets[s], types[type], sizes[i]);
                for (int kind = ENDING_STORE; kind <= ENDING_GELU_ERF; kind++) {
                    if (!all && i == last && (s + kind + type) % 2 == 0) continue;
                    struct ending end = {.kind = (enum ending_kind)kind, .bias = kind || i % 2 ? bias : NULL};
                    check_ending(&work, end);
                }
                product_end(&work);
            }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        T(norms_and_activations_are_right_at_every_length), T(full_attention_is_that_of_the_formula),
        T(products_of_many_tokens_have_the_bits_of_few), T(products_end_as_matmul_and_the_ending_s_functions)};
    set_count = tested_variants(sets);
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
