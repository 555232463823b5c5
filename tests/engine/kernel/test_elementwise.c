/* Norms, activations, the delta rule and attention, for every kernel set that this CPU runs: against float64, and
 * against themselves at other lengths, places and splits. */
#include "engine/kernel/kernel.h"

#include "tests/check.h"
#include "tests/engine/kernel/sample.h"
#include "tests/engine/kernel/tested.h"

static const struct kernels *sets[TESTED_SETS];
static int set_count;

static const uint32_t lengths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 160, 257, 1024};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static bool near(double want, double got)
{
    return fabs(want - got) <= 1e-5 * fabs(want) + 1e-6;
}

#define CHECK_CLOSE(want, got)                                                                                      \
    do {                                                                                                            \
        if (!near(want, (double)(got)))                                                                             \
            CHECK_FAIL("%s, n %u, element %u: expected %g, found %g", k->name, n, i, (double)(want), (double)(got)); \
    } while (0)

TEST(activations_and_norms_are_right_at_every_length)
{
    for (int s = 0; s < set_count; s++)
        for (int l = 0; l < LENGTHS; l++)
            for (unsigned shift = 0; shift < 3; shift++) {
                const struct kernels *k = sets[s];
                uint32_t n = lengths[l];
                float *x = sample_unaligned(n + 1, shift), *y = sample_unaligned(n + 1, shift);
                float *z = sample_unaligned(n + 1, 2), *out = sample_unaligned(n + 1, shift);
                double squares = 0;
                sample_floats(x, n), sample_floats(y, n), sample_floats(z, n);
                for (uint32_t i = 0; i < n; i++) x[i] *= 3, z[i] *= 20, squares += (double)x[i] * (double)x[i];
                double rms = 1 / sqrt(squares / n + 1e-6);
                out[n] = 42;
                k->rms_norm(out, x, y, n, 1e-6f);
                for (uint32_t i = 0; i < n; i++) CHECK_CLOSE((double)x[i] * rms * (double)y[i], out[i]);
                memcpy(out, x, n * sizeof *x);
                k->l2_norm(out, n, n, 1e-6f, 0.25f, 1);
                for (uint32_t i = 0; i < n; i++) CHECK_CLOSE((double)x[i] / sqrt(squares + 1e-6) * 0.25, out[i]);
                memcpy(out, x, n * sizeof *x);
                k->norm_gate(out, n, y, z, n, n, 1e-6f, 1);
                for (uint32_t i = 0; i < n; i++)
                    CHECK_CLOSE((double)x[i] * rms * (double)y[i] * silu((double)z[i]), out[i]);
                k->silu_mul(out, z, y, n);
                for (uint32_t i = 0; i < n; i++) CHECK_CLOSE(silu((double)z[i]) * (double)y[i], out[i]);
                k->sigmoid_mul(out, y, z, n);
                for (uint32_t i = 0; i < n; i++) CHECK_CLOSE(sigmoid((double)z[i]) * (double)y[i], out[i]);
                memcpy(out, z, n * sizeof *z);
                k->soft_cap(out, 5, n);
                for (uint32_t i = 0; i < n; i++) CHECK_CLOSE(5 * tanh((double)z[i] / 5), out[i]);
                CHECK(out[n] == 42);
                sample_free(x, shift), sample_free(y, shift), sample_free(z, 2), sample_free(out, shift);
            }
}

/* Sums of products, and rows added with weights, whatever part of them is asked for. */
TEST(dots_and_mixes_are_right_at_every_length)
{
    enum { ROWS = 9, LONGEST = 1024 };
    for (int s = 0; s < set_count; s++)
        for (int l = 0; l < LENGTHS; l++) {
            const struct kernels *k = sets[s];
            uint32_t n = lengths[l];
            static float rows[ROWS][LONGEST], x[LONGEST + 1], before[LONGEST], weights[ROWS];
            const float *at[ROWS];
            sample_floats(*rows, ROWS * LONGEST), sample_floats(x, n), sample_floats(weights, ROWS);
            memcpy(before, x, n * sizeof *x);
            double dot = 0, size = 0;
            for (uint32_t i = 0; i < n; i++) {
                dot += (double)rows[0][i] * (double)rows[1][i];
                size += fabs((double)rows[0][i] * (double)rows[1][i]);
            }
            CHECK_NEAR(dot, k->dot(rows[0], rows[1], n), 1e-5 * size);
            for (int r = 0; r < ROWS; r++) at[r] = rows[r];
            x[n] = 42;
            k->mix(x, at, weights, ROWS, n);
            CHECK(x[n] == 42);
            for (uint32_t i = 0; i < n; i++) {
                double want = (double)before[i];
                for (int r = 0; r < ROWS; r++) want += (double)weights[r] * (double)rows[r][i];
                if (fabs(want - (double)x[i]) > 2e-5)
                    CHECK_FAIL("%s, n %u, element %u: %g, %g", k->name, n, i, want, (double)x[i]);
            }
            uint32_t cut = n / 3;
            for (int r = 0; r < ROWS; r++) at[r] = rows[r] + cut;
            float whole[LONGEST];
            memcpy(whole, x, n * sizeof *x), memcpy(x, before, n * sizeof *x);
            k->mix(x + cut, at, weights, ROWS, n - cut);
            CHECK(!memcmp(x + cut, whole + cut, (n - cut) * sizeof *x));
        }
}

TEST(norms_of_rows_are_those_of_each)
{
    enum { TOKENS = 17, LD = 141, LDZ = 150 };
    static float x[TOKENS][LD], z[TOKENS][LDZ], some[TOKENS][LD], each[TOKENS][LD], multiplier[LD];
    for (int s = 0; s < set_count; s++)
        for (int gate = 0; gate < 2; gate++) {
            const struct kernels *k = sets[s];
            uint32_t n = gate ? 140 : 128;
            sample_floats(*x, TOKENS * LD), sample_floats(*z, TOKENS * LDZ), sample_floats(multiplier, LD);
            memcpy(some, x, sizeof x), memcpy(each, x, sizeof x);
            if (gate) k->norm_gate(*some, LD, multiplier, *z, LDZ, n, 1e-6f, TOKENS);
            else k->l2_norm(*some, LD, n, 1e-6f, 0.5f, TOKENS);
            for (int t = 0; t < TOKENS; t++)
                if (gate) k->norm_gate(each[t], LD, multiplier, z[t], LDZ, n, 1e-6f, 1);
                else k->l2_norm(each[t], LD, n, 1e-6f, 0.5f, 1);
            CHECK(!memcmp(some, each, sizeof some)); /* what lies between the rows, too */
            for (int t = 0; t < TOKENS; t++) CHECK(!memcmp(some[t] + n, x[t] + n, sizeof x[t] - n * sizeof *x[t]));
        }
}

TEST(extreme_inputs_stay_finite)
{
    static const float gates[] = {-INFINITY, -1e30f, -1000,  -104, -88, -87.4f, -87.2f,
                                  -1e-30f,   0,      1e-30f, 87,   89,  1e30f};
    enum { N = sizeof gates / sizeof *gates };
    for (int s = 0; s < set_count; s++) {
        const struct kernels *k = sets[s];
        uint32_t n = N;
        float one[N], out[N], beta[N];
        for (uint32_t i = 0; i < N; i++) one[i] = 1;
        k->sigmoid_mul(out, one, gates, N);
        for (uint32_t i = 0; i < N; i++) CHECK_CLOSE(sigmoid((double)gates[i]), out[i]);
        float a[N];
        for (uint32_t i = 0; i < N; i++) a[i] = gates[i] > -1e29f ? gates[i] : -200;
        k->delta_gates(out, beta, a, gates, 1, -2.5f, 0, N);
        for (uint32_t i = 0; i < N; i++) {
            double x = (double)a[i], soft = x > 30 ? x : log1p(exp(x));
            CHECK_CLOSE(exp(-2.5 * soft), out[i]);
            CHECK_CLOSE(sigmoid((double)gates[i]), beta[i]);
        }
    }
}

TEST(delta_gates_are_right)
{
    for (int s = 0; s < set_count; s++)
        for (uint32_t n = 1; n < 50; n += 3) {
            const struct kernels *k = sets[s];
            enum { LD = 3 };
            float a[50 * LD], b[50 * LD], decay[51], beta[51], rate = -expf(sample_normal()), bias = sample_normal();
            sample_floats(a, n * LD), sample_floats(b, n * LD);
            for (uint32_t i = 0; i < n; i++) a[i * LD] *= 4;
            decay[n] = beta[n] = 42;
            k->delta_gates(decay, beta, a, b, LD, rate, bias, n);
            for (uint32_t i = 0; i < n; i++) {
                CHECK_CLOSE(exp((double)rate * log1p(exp((double)a[i * LD] + (double)bias))), decay[i]);
                CHECK_CLOSE(sigmoid((double)b[i * LD]), beta[i]);
                float alone[2]; /* a token's gates don't depend on the others */
                k->delta_gates(alone, alone + 1, a + i * LD, b + i * LD, LD, rate, bias, 1);
                CHECK(alone[0] == decay[i] && alone[1] == beta[i]);
            }
            CHECK(decay[n] == 42 && beta[n] == 42);
        }
}

TEST(rotation_is_right)
{
    for (int s = 0; s < set_count; s++)
        for (uint32_t n = 2; n <= 64; n += 2) {
            const struct kernels *k = sets[s];
            float x[65], was[65], c[32], sine[32];
            sample_floats(x, 65);
            memcpy(was, x, sizeof x);
            for (uint32_t i = 0; i < n / 2; i++) c[i] = cosf((float)i), sine[i] = sinf((float)i);
            k->rope(x, c, sine, n);
            for (uint32_t i = 0; i < n / 2; i++) {
                double p = (double)was[i], q = (double)was[i + n / 2];
                CHECK(fabs(p * (double)c[i] - q * (double)sine[i] - (double)x[i]) < 1e-5);
                CHECK(fabs(q * (double)c[i] + p * (double)sine[i] - (double)x[i + n / 2]) < 1e-5);
            }
            for (uint32_t i = n; i < 65; i++) CHECK(x[i] == was[i]);
        }
}

TEST(convolution_is_right_and_splits)
{
    enum { CHANNELS = 75, TOKENS = 13 };
    for (int s = 0; s < set_count; s++)
        for (uint32_t taps = 1; taps <= 5; taps++) {
            const struct kernels *k = sets[s];
            uint32_t n = CHANNELS;
            float in[TOKENS][CHANNELS], w[5][CHANNELS], first[4][CHANNELS], state[4][CHANNELS], out[TOKENS][CHANNELS];
            sample_floats(*in, TOKENS * CHANNELS), sample_floats(*w, 5 * CHANNELS), sample_floats(*first, 4 * CHANNELS);
            memcpy(state, first, sizeof state);
            k->conv_silu(*out, CHANNELS, *in, CHANNELS, *w, *state, CHANNELS, taps, 0, CHANNELS, TOKENS);
            for (int t = 0; t < TOKENS; t++)
                for (uint32_t i = 0; i < CHANNELS; i++) {
                    double sum = 0;
                    for (int j = 0; j < (int)taps; j++) {
                        int at = t - (int)taps + 1 + j;
                        sum += (double)w[j][i] * (double)(at < 0 ? first[at + (int)taps - 1][i] : in[at][i]);
                    }
                    if (fabs(silu(sum) - (double)out[t][i]) > 1e-5)
                        CHECK_FAIL("%s: expected %g, found %g (n %u)", k->name, silu(sum), (double)out[t][i], n);
                }
            for (uint32_t j = 0; j + 1 < taps; j++)
                CHECK(!memcmp(state[j], in[TOKENS - taps + 1 + j], sizeof state[j]));
            /* The same in three dispatches and two ranges of channels. */
            float again[TOKENS][CHANNELS];
            memcpy(state, first, sizeof state);
            static const uint32_t cuts[] = {0, 2, 3, TOKENS};
            for (int c = 0; c < 3; c++)
                for (uint32_t from = 0; from < CHANNELS; from += 37)
                    k->conv_silu(again[cuts[c]] + from, CHANNELS, in[cuts[c]], CHANNELS, *w, *state, CHANNELS, taps,
                                 from, from + 37 < CHANNELS ? from + 37 : CHANNELS, cuts[c + 1] - cuts[c]);
            CHECK(!memcmp(out, again, sizeof out));
        }
}

TEST(the_delta_rule_is_right_and_splits)
{
    enum { TOKENS = 9, LIMIT = 128, LD = 40 };
    static const uint32_t widths[] = {32, 16, 5, 31, 1}, dims[] = {128, 16, 33, 64, 1};
    for (int s = 0; s < set_count; s++)
        for (int shape = 0; shape < 5; shape++) {
            const struct kernels *k = sets[s];
            uint32_t width = widths[shape], dim = dims[shape], n = width;
            static float state[LIMIT * 32], other[LIMIT * 32];
            static double model[LIMIT * 32];
            float q[TOKENS][LIMIT], key[TOKENS][LIMIT], v[TOKENS][LD], out[TOKENS][LD], again[TOKENS][LD];
            float gate[TOKENS][2];
            sample_floats(state, dim * width);
            sample_floats(*q, TOKENS * LIMIT), sample_floats(*key, TOKENS * LIMIT), sample_floats(*v, TOKENS * LD);
            memset(out, 0, sizeof out), memset(again, 0, sizeof again);
            for (int t = 0; t < TOKENS; t++) {
                gate[t][0] = 1 / (1 + expf(sample_normal())), gate[t][1] = 1 / (1 + expf(sample_normal()));
                k->l2_norm(q[t], LIMIT, dim, 1e-6f, 1, 1), k->l2_norm(key[t], LIMIT, dim, 1e-6f, 1, 1);
            }
            for (uint32_t i = 0; i < dim * width; i++) model[i] = (double)state[i], other[i] = state[i];
            k->delta_slab(state, dim, width, *q, *key, LIMIT, *v, LD, &gate[0][0], &gate[0][1], 2, *out, LD, TOKENS);
            for (int t = 0; t < TOKENS; t++)
                for (uint32_t i = 0; i < width; i++) {
                    double was = 0, y = 0;
                    for (uint32_t r = 0; r < dim; r++)
                        model[r * width + i] *= (double)gate[t][0], was += model[r * width + i] * (double)key[t][r];
                    double d = (double)gate[t][1] * ((double)v[t][i] - was);
                    for (uint32_t r = 0; r < dim; r++)
                        model[r * width + i] += (double)key[t][r] * d, y += model[r * width + i] * (double)q[t][r];
                    CHECK(fabs(y - (double)out[t][i]) < 1e-5);
                }
            for (uint32_t i = 0; i < n * dim; i++) CHECK(fabs(model[i] - (double)state[i]) < 1e-5);
            for (uint32_t t = 0; t < TOKENS; t += 4)
                k->delta_slab(other, dim, width, q[t], key[t], LIMIT, v[t], LD, &gate[t][0], &gate[t][1], 2, again[t],
                              LD, TOKENS - t < 4 ? TOKENS - t : 4);
            CHECK(!memcmp(out, again, sizeof out));
            CHECK(!memcmp(state, other, dim * width * sizeof *state));
        }
}

TEST(attention_is_right_and_rows_stand_alone)
{
    enum { ROWS = 21, DIM = 256 };
    static const uint32_t dims[] = {256, 64, 32, 16, 24, 80};
    static float k_in[KV_PAGE][DIM], v_in[KV_PAGE][DIM], q[ROWS][DIM], acc[ROWS][DIM], one[DIM], kept_k[DIM],
        kept_v[DIM];
    for (int s = 0; s < set_count; s++)
        for (int type = KV_F32; type <= KV_Q8_0; type++)
            for (int shape = 0; shape < 6; shape++) {
                const struct kernels *k = sets[s];
                uint32_t dim = dims[shape];
                size_t bytes = k->kv_block_bytes((enum kv_type)type, dim);
                void *keys, *values;
                if (posix_memalign(&keys, 64, bytes) || posix_memalign(&values, 64, bytes)) abort();
                memset(keys, 0xff, bytes), memset(values, 0xff, bytes); /* positions never stored are NaN */
                for (uint32_t p = 0; p < 29; p++) {
                    sample_floats(k_in[p], dim), sample_floats(v_in[p], dim);
                    k->kv_store((enum kv_type)type, dim, keys, values, p, k_in[p], v_in[p]);
                }
                for (uint32_t p = 0; p < 29; p++) { /* the model uses what was kept */
                    k->kv_load((enum kv_type)type, dim, keys, values, p, kept_k, kept_v);
                    double slack = type == KV_F32 ? 0 : type == KV_F16 ? 1e-3 : 2e-2;
                    for (uint32_t i = 0; i < dim; i++) {
                        CHECK(fabs((double)(kept_k[i] - k_in[p][i])) <= slack * fmax(1, fabs((double)k_in[p][i])));
                        CHECK(fabs((double)(kept_v[i] - v_in[p][i])) <= slack * fmax(1, fabs((double)v_in[p][i])));
                    }
                    memcpy(k_in[p], kept_k, sizeof kept_k), memcpy(v_in[p], kept_v, sizeof kept_v);
                }
                uint8_t visible[ROWS];
                float max[ROWS], sum[ROWS], scale = 1 / sqrtf((float)dim);
                for (int r = 0; r < ROWS; r++) {
                    visible[r] = r == 0 ? 0 : r < 12 ? 29 : (uint8_t)(r - 10);
                    sample_floats(q[r], dim);
                    for (uint32_t i = 0; i < dim; i++) q[r][i] *= scale * 4;
                }
                float packed[ROWS * DIM];
                for (int r = 0; r < ROWS; r++) memcpy(packed + r * dim, q[r], dim * sizeof(float));
                struct attend a = {
                    (enum kv_type)type, dim, ROWS, packed, visible, keys, values, max, sum, *acc, NULL, 0};
                k->attend(&a);
                CHECK(max[0] == -INFINITY && sum[0] == 0 && acc[0][0] == 0);
                for (int r = 1; r < ROWS; r++) {
                    double score[KV_PAGE], most = -INFINITY, total = 0;
                    for (int p = 0; p < visible[r]; p++) {
                        score[p] = 0;
                        for (uint32_t i = 0; i < dim; i++) score[p] += (double)q[r][i] * (double)k_in[p][i];
                        most = fmax(most, score[p]);
                    }
                    for (int p = 0; p < visible[r]; p++) total += exp(score[p] - most);
                    CHECK(fabs(most - (double)max[r]) < 1e-4 && fabs(total - (double)sum[r]) < 1e-3);
                    const float *found = (const float *)acc + r * dim;
                    for (uint32_t i = 0; i < dim; i++) {
                        double y = 0;
                        for (int p = 0; p < visible[r]; p++) y += exp(score[p] - most) * (double)v_in[p][i];
                        if (fabs(y - (double)found[i]) > 2e-4 * total)
                            CHECK_FAIL("%s type %d dim %u row %d: expected %g, found %g", k->name, type, dim, r, y,
                                       (double)found[i]);
                    }
                    float alone_max, alone_sum;
                    struct attend b = {(enum kv_type)type, dim, 1,    q[r], visible + r, keys, values, &alone_max,
                                       &alone_sum,         one, NULL, 0};
                    k->attend(&b);
                    CHECK(alone_max == max[r] && alone_sum == sum[r] &&
                          !memcmp(one, found, dim * sizeof *one));
                }
                free(keys), free(values);
            }
}

/* A window that begins within a block: the softmax over what it sees, whatever rows stand beside. */
TEST(a_window_passes_the_first_positions)
{
    enum { ROWS = 9, DIM = 32, STORED = 30 };
    static float k_in[KV_PAGE][DIM], v_in[KV_PAGE][DIM], q[ROWS][DIM], acc[ROWS][DIM], one[DIM];
    for (int s = 0; s < set_count; s++) {
        const struct kernels *k = sets[s];
        size_t bytes = k->kv_block_bytes(KV_F32, DIM);
        void *keys, *values;
        if (posix_memalign(&keys, 64, bytes) || posix_memalign(&values, 64, bytes)) abort();
        memset(keys, 0xff, bytes), memset(values, 0xff, bytes);
        for (uint32_t p = 0; p < STORED; p++) {
            sample_floats(k_in[p], DIM), sample_floats(v_in[p], DIM);
            k->kv_store(KV_F32, DIM, keys, values, p, k_in[p], v_in[p]);
        }
        uint8_t visible[ROWS], passed[ROWS];
        float max[ROWS], sum[ROWS];
        for (int r = 0; r < ROWS; r++) {
            visible[r] = r == 0 ? 0 : r < 6 ? STORED : (uint8_t)(10 + r);
            passed[r] = r == 0 ? 0 : r < 4 ? 7 : (uint8_t)(r - 4);
            sample_floats(q[r], DIM);
        }
        struct attend a = {KV_F32, DIM, ROWS, *q, visible, keys, values, max, sum, *acc, passed, 0};
        k->attend(&a);
        for (int r = 1; r < ROWS; r++) {
            double most = -INFINITY, total = 0, score[KV_PAGE], y[DIM] = {0};
            for (int p = passed[r]; p < visible[r]; p++) {
                score[p] = 0;
                for (int i = 0; i < DIM; i++) score[p] += (double)q[r][i] * (double)k_in[p][i];
                most = fmax(most, score[p]);
            }
            for (int p = passed[r]; p < visible[r]; p++) {
                total += exp(score[p] - most);
                for (int i = 0; i < DIM; i++) y[i] += exp(score[p] - most) * (double)v_in[p][i];
            }
            CHECK(fabs(most - (double)max[r]) < 1e-4 && fabs(total - (double)sum[r]) < 1e-3);
            for (int i = 0; i < DIM; i++) CHECK(fabs(y[i] - (double)acc[r][i]) <= 2e-4 * total);
            float alone_max, alone_sum;
            struct attend b = {KV_F32, DIM,        1,          q[r], visible + r, keys,
                               values, &alone_max, &alone_sum, one,  passed + r,  0};
            k->attend(&b);
            CHECK(alone_max == max[r] && alone_sum == sum[r] && !memcmp(one, acc[r], sizeof one));
        }
        free(keys), free(values);
    }
}

/* Two pages merged are one softmax over both. */
TEST(blocks_merge)
{
    enum { DIM = 40 };
    for (int s = 0; s < set_count; s++) {
        const struct kernels *k = sets[s];
        float max_a[2] = {1, -INFINITY}, sum_a[2] = {2, 0}, acc_a[2 * DIM], max_b[2] = {3, 5}, sum_b[2] = {1.5f, 1};
        float acc_b[2 * DIM], was[2 * DIM], out[DIM];
        sample_floats(acc_a, DIM), sample_floats(acc_b, 2 * DIM);
        memset(acc_a + DIM, 0, DIM * sizeof *acc_a);
        memcpy(was, acc_a, sizeof was);
        k->attend_merge(max_a, sum_a, acc_a, max_b, sum_b, acc_b, 2, DIM);
        CHECK(max_a[0] == 3 && max_a[1] == 5);
        CHECK_NEAR(2 * exp(-2) + 1.5, (double)sum_a[0], 1e-5);
        CHECK_NEAR(1, (double)sum_a[1], 0);
        for (int i = 0; i < DIM; i++) {
            CHECK_NEAR((double)was[i] * exp(-2) + (double)acc_b[i], (double)acc_a[i], 1e-5);
            CHECK_NEAR((double)acc_b[DIM + i], (double)acc_a[DIM + i], 0);
        }
        k->attend_finish(out, acc_a, sum_a[0], DIM);
        for (int i = 0; i < DIM; i++) CHECK_NEAR((double)acc_a[i] / (double)sum_a[0], (double)out[i], 1e-5);
        float none_max = -INFINITY, none_sum = 0, none[DIM] = {0}, before[DIM];
        memcpy(before, acc_a, sizeof before);
        k->attend_merge(max_a, sum_a, acc_a, &none_max, &none_sum, none, 1, DIM); /* an empty block changes nothing */
        CHECK(max_a[0] == 3 && !memcmp(before, acc_a, sizeof before));
    }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(activations_and_norms_are_right_at_every_length),
                                              T(dots_and_mixes_are_right_at_every_length),
                                              T(norms_of_rows_are_those_of_each),
                                              T(extreme_inputs_stay_finite),
                                              T(delta_gates_are_right),
                                              T(rotation_is_right),
                                              T(convolution_is_right_and_splits),
                                              T(the_delta_rule_is_right_and_splits),
                                              T(attention_is_right_and_rows_stand_alone),
                                              T(a_window_passes_the_first_positions),
                                              T(blocks_merge)};
    set_count = tested_variants(sets);
    return check_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
