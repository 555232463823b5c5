/* Weights: packing, unpacking and products, for every kernel set that this CPU runs and every weight type. */
#include "engine/kernel/kernel.h"
#include "engine/kernel/sets.h"

#include "engine/model/half.h"
#include "engine/model/hf/safetensors.h"
#include "tests/check.h"
#include "tests/engine/kernel/sample.h"
#include "tests/engine/kernel/tested.h"

static const struct kernels *sets[TESTED_SETS];
static int set_count;

static void pack(struct matrix *m, const struct kernels *k, enum type type, uint32_t rows, uint32_t cols,
                 const void *raw)
{
    tdm_error err;
    if (matrix_new(m, k, type, rows, cols, &err)) {
        CHECK_FAIL("%s", err.text);
        exit(1);
    }
    /* In panels, as a loader does it. */
    for (uint32_t r = 0; r < rows; r += MATRIX_TILE)
        matrix_pack(m, (const uint8_t *)raw + r * type_row_bytes(type, cols), r,
                    rows - r < MATRIX_TILE ? rows - r : MATRIX_TILE);
}

static struct panel fill(const struct kernels *k, enum type type, const float *x, size_t ldx, uint32_t tokens,
                         uint32_t cols)
{
    struct panel p = {.kind = k->panel_of(type), .tokens = tokens, .cols = cols};
    size_t bytes = (k->panel_bytes(p.kind, tokens, cols) + 63) / 64 * 64;
    if (posix_memalign(&p.data, 64, bytes)) abort();
    memset(p.data, 0xee, bytes);
    k->panel_fill(&p, x, ldx, 0, tokens, 0, cols);
    return p;
}

/* How many numbers of tokens further to go on: under a sanitizer the short form has every nth one with a type and a
 * set, others with the next. */
static size_t step_of(size_t n)
{
    return check_slow() && !getenv("TANDEM_LONG") ? n : 1;
}

static uint32_t cols_of(enum type type, int i)
{
    uint32_t block = type_info(type)->block;
    static const uint32_t any[] = {1, 31, 257, 160, 97}, blocks[] = {32, 96, 288, 160, 64},
                          supers[] = {256, 512, 768, 256, 512};
    return (block == 1 ? any : block == 32 ? blocks : supers)[i];
}

/* What the arithmetic of a type makes of the activations: the values that enter the products. */
static void model(const struct kernels *k, enum type type, const float *x, uint32_t n, double *out)
{
    enum panel_kind kind = k->panel_of(type);
    for (uint32_t c = 0; c < n; c += 128) {
        uint32_t left = n - c < 128 ? n - c : 128;
        float top = 0;
        for (uint32_t i = 0; i < left; i++) top = fmaxf(top, fabsf(x[c + i]));
        for (uint32_t i = 0; i < left; i++)
            out[c + i] = kind == PANEL_INT8
                             ? (double)(top / 127) * (top > 0 ? (double)lrintf(x[c + i] * (127 / top)) : 0)
                         : kind == PANEL_BF16 ? (double)bf16_widen(bf16_narrow(x[c + i]))
                                              : (double)x[c + i];
    }
}

/* Whether a set rounds quantised weights to bfloat16 (amx-bf16), rather than multiplying their quants. */
static bool rounds_weights(const struct kernels *k)
{
    return k->panel_of(TYPE_Q8_0) == PANEL_BF16;
}

TEST(a_row_comes_back_as_it_was)
{
    for (int s = 0; s < set_count; s++)
        for (int type = 0; type < TYPE_COUNT; type++)
            for (int i = 0; i < 5; i++) {
                uint32_t rows = 67, cols = cols_of(type, i);
                float want[768], got[768];
                uint8_t *raw = sample_rows(type, rows, cols);
                struct matrix m;
                pack(&m, sets[s], type, rows, cols, raw);
                for (uint32_t r = 0; r < rows; r++) {
                    type_widen(type, raw + r * type_row_bytes(type, cols), want, cols);
                    sets[s]->unpack_row(&m, r, got);
                    for (uint32_t c = 0; c < cols; c++)
                        if (want[c] != got[c]) {
                            CHECK_FAIL("%s %s row %u column %u of %u: expected %g, found %g", sets[s]->name,
                                       type_info(type)->name, r, c, cols, want[c], got[c]);
                            break;
                        }
                }
                matrix_free(&m);
                free(raw);
            }
}

/* Every product against sums in double of what the type's arithmetic says; to 1e-5 of the sum of absolute products. */
TEST(products_are_those_of_the_type)
{
    enum { TOKENS = 7 };
    for (int s = 0; s < set_count; s++)
        for (int type = 0; type < TYPE_COUNT; type++)
            for (int i = 0; i < 5; i++) {
                const struct kernels *k = sets[s];
                uint32_t rows = i == 3 ? 16 : 67, cols = cols_of(type, i);
                uint8_t *raw = sample_rows(type, rows, cols);
                float *x = malloc(TOKENS * cols * sizeof *x), *out = calloc(TOKENS * rows, sizeof *out), w[768];
                double *y = malloc(TOKENS * cols * sizeof *y);
                struct matrix m;
                sample_floats(x, TOKENS * cols);
                memset(x + cols, 0, cols * sizeof *x); /* a token of zeros */
                pack(&m, k, type, rows, cols, raw);
                struct panel p = fill(k, type, x, cols, TOKENS, cols);
                k->matmul(&m, &p, 0, rows, 0, TOKENS, out, rows, false);
                for (uint32_t t = 0; t < TOKENS; t++) model(k, type, x + t * cols, cols, y + t * cols);
                for (uint32_t r = 0; r < rows; r++) {
                    type_widen(type, raw + r * type_row_bytes(type, cols), w, cols);
                    for (uint32_t c = 0; c < cols && p.kind == PANEL_BF16; c++) w[c] = bf16_widen(bf16_narrow(w[c]));
                    for (uint32_t t = 0; t < TOKENS; t++) {
                        double sum = 0, size = 0;
                        for (uint32_t c = 0; c < cols; c++) {
                            double part = (double)w[c] * y[t * cols + c];
                            sum += part, size += fabs(part);
                        }
                        if (!(fabs(sum - (double)out[t * rows + r]) <= 1e-5 * size))
                            CHECK_FAIL("%s %s, %u columns, row %u, token %u: expected %g, found %g", k->name,
                                       type_info(type)->name, cols, r, t, sum, (double)out[t * rows + r]);
                    }
                }
                matrix_free(&m);
                free(p.data);
                free(raw);
                free(x);
                free(y);
                free(out);
            }
}

/* Blocks whose values were computed outside this program: packed they are these values, and products are theirs. */
TEST(golden_blocks_come_back_and_multiply)
{
    enum { ROWS = 64, TOKENS = 7 };
    static const enum type types[] = {TYPE_IQ2_XXS, TYPE_IQ2_XS, TYPE_IQ2_S, TYPE_IQ3_XXS, TYPE_IQ3_S, TYPE_MXFP4};
    for (int i = 0; i < 6; i++) {
        enum type type = types[i];
        uint32_t cols = type_info(type)->block;
        char path[80];
        struct safetensors *file;
        tdm_error err;
        snprintf(path, sizeof path, "tests/goldens/types/%s.safetensors", type_info(type)->name);
        REQUIRE(!safetensors_open(&file, path, &err));
        const struct safetensors_tensor *blocks = safetensors_find(file, "blocks"),
                                        *values = safetensors_find(file, "values");
        REQUIRE(blocks && values && blocks->bytes == ROWS * type_row_bytes(type, cols) &&
                values->elements == ROWS * cols);
        float want[ROWS * TYPE_MAX_BLOCK], got[TYPE_MAX_BLOCK], x[TOKENS * TYPE_MAX_BLOCK], out[TOKENS * ROWS];
        double y[TOKENS * TYPE_MAX_BLOCK];
        memcpy(want, values->data, values->bytes);
        sample_floats(x, TOKENS * cols);
        for (int s = 0; s < set_count; s++) {
            if (rounds_weights(sets[s])) continue;
            struct matrix m;
            pack(&m, sets[s], type, ROWS, cols, blocks->data);
            struct panel p = fill(sets[s], type, x, cols, TOKENS, cols);
            sets[s]->matmul(&m, &p, 0, ROWS, 0, TOKENS, out, ROWS, false);
            for (uint32_t t = 0; t < TOKENS; t++) model(sets[s], type, x + t * cols, cols, y + t * cols);
            for (uint32_t r = 0; r < ROWS; r++) {
                sets[s]->unpack_row(&m, r, got);
                for (uint32_t c = 0; c < cols; c++)
                    if (got[c] != want[r * cols + c])
                        CHECK_FAIL("%s %s, row %u", sets[s]->name, type_info(type)->name, r);
                for (uint32_t t = 0; t < TOKENS; t++) {
                    double sum = 0, size = 0;
                    for (uint32_t c = 0; c < cols; c++) {
                        sum += (double)want[r * cols + c] * y[t * cols + c];
                        size += fabs((double)want[r * cols + c] * y[t * cols + c]);
                    }
                    CHECK_NEAR(sum, out[t * ROWS + r], 1e-5 * size);
                }
            }
            matrix_free(&m);
            free(p.data);
        }
        safetensors_close(file);
    }
}

/* Scales of MXFP4 from the least, which is no normal number, to those whose sums are still finite. */
TEST(powers_of_every_exponent)
{
    enum { ROWS = 240, COLS = 32 };
    uint8_t raw[ROWS * 17];
    float x[COLS], out[ROWS];
    for (int r = 0; r < ROWS; r++) {
        memset(raw + 17 * r, 0x11, 17); /* every value 1 */
        raw[17 * r] = (uint8_t)r;
    }
    for (int c = 0; c < COLS; c++) x[c] = 1;
    for (int s = 0; s < set_count; s++) {
        if (rounds_weights(sets[s])) continue; /* and loses the smallest */
        struct matrix m;
        pack(&m, sets[s], TYPE_MXFP4, ROWS, COLS, raw);
        struct panel p = fill(sets[s], TYPE_MXFP4, x, COLS, 1, COLS);
        sets[s]->matmul(&m, &p, 0, ROWS, 0, 1, out, ROWS, false);
        for (int r = 0; r < ROWS; r++) CHECK_NEAR(ldexp(COLS, r - 128), out[r], ldexp(COLS, r - 128) * 1e-6);
        matrix_free(&m);
        free(p.data);
    }
}

/* The promise of engine/README.md, 'Exactness': a token's outputs have the same bits alone and among others, whatever
 * rows and tokens a call asks for, wherever its pointers stand. */
TEST(products_do_not_depend_on_company)
{
    size_t step = step_of(10);
    enum { LIMIT = 67, ROWS = 135 };
    static const uint32_t counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16, 23, 24, 25, 31, 32, 33, 64, 67};
    for (int s = 0; s < set_count; s++)
        for (int type = 0; type < TYPE_COUNT; type++) {
            const struct kernels *k = sets[s];
            uint32_t cols = cols_of(type, 2), ldx = cols + 3, ldo = ROWS + 5, known = 0;
            uint8_t *raw = sample_rows(type, ROWS, cols);
            float *x = sample_unaligned(LIMIT * ldx, 1), *alone = malloc(LIMIT * ROWS * sizeof *alone);
            float *out = sample_unaligned(LIMIT * ldo, 3);
            struct matrix m;
            sample_floats(x, LIMIT * ldx);
            pack(&m, k, type, ROWS, cols, raw);
            for (size_t i = (size_t)(s + type) % step; i < sizeof counts / sizeof *counts; i += step) {
                uint32_t n = counts[i], cut = i % 2 ? 64 : ROWS, mid = n / 3;
                for (; known < n; known++) {
                    struct panel one = fill(k, type, x + known * ldx, ldx, 1, cols);
                    k->matmul(&m, &one, 0, ROWS, 0, 1, alone + known * ROWS, ROWS, false);
                    free(one.data);
                }
                struct panel p = fill(k, type, x, ldx, n, cols);
                for (size_t j = 0; j < LIMIT * ldo; j++) out[j] = 1;
                k->matmul(&m, &p, 0, cut, 0, mid, out, ldo, false);
                k->matmul(&m, &p, 0, cut, mid, n, out, ldo, false);
                if (cut < ROWS) k->matmul(&m, &p, cut, ROWS, 0, n, out, ldo, false);
                for (uint32_t t = 0; t < n; t++) {
                    if (memcmp(out + t * ldo, alone + t * ROWS, ROWS * sizeof *out))
                        CHECK_FAIL("%s %s: token %u of %u differs from itself alone", k->name, type_info(type)->name, t,
                                   n);
                    for (uint32_t j = ROWS; j < ldo; j++) CHECK(out[t * ldo + j] == 1);
                }
                k->matmul(&m, &p, 0, ROWS, 0, n, out, ldo, true); /* adding: the same sum on top, twice it */
                for (uint32_t t = 0; t < n; t++)
                    for (uint32_t r = 0; r < ROWS; r++) CHECK(out[t * ldo + r] == 2 * alone[t * ROWS + r]);
                free(p.data);
            }
            matrix_free(&m);
            free(raw);
            free(alone);
            sample_free(x, 1);
            sample_free(out, 3);
        }
}

/* Tokens gathered from another panel, in any order and number, are those that were filled. */
TEST(copied_tokens_are_those_that_were_filled)
{
    enum { LIMIT = 40, ROWS = 64 };
    static const uint32_t counts[] = {1, 2, 15, 16, 17, 33, 40};
    size_t step = step_of(3);
    const struct kernels *blas = NULL; /* the last one, where it is there */
    bool has_blas = !kernels_blas(&blas, NULL);
    for (int s = 0; s < set_count + has_blas; s++)
        for (int type = 0; type < TYPE_COUNT; type++) {
            const struct kernels *k = s < set_count ? sets[s] : blas;
            uint32_t cols = cols_of(type, 2);
            uint8_t *raw = sample_rows(type, ROWS, cols);
            float *x = malloc(LIMIT * cols * sizeof *x), *want = malloc(LIMIT * ROWS * sizeof *want);
            float *got = malloc(LIMIT * ROWS * sizeof *got);
            struct matrix m;
            sample_floats(x, LIMIT * cols);
            pack(&m, k, type, ROWS, cols, raw);
            struct panel all = fill(k, type, x, cols, LIMIT, cols);
            for (uint32_t t = 0; t < LIMIT; t++) k->matmul(&m, &all, 0, ROWS, t, t + 1, want, ROWS, false);
            for (size_t i = (size_t)(s + type) % step; i < sizeof counts / sizeof *counts; i += step) {
                uint32_t n = counts[i];
                struct panel some = fill(k, type, x, cols, n, cols);
                memset(some.data, 0xee, k->panel_bytes(some.kind, n, cols));
                for (uint32_t t = n; t-- > 0;) k->panel_copy(&some, t, &all, (t * 7 + 3) % LIMIT);
                k->matmul(&m, &some, 0, ROWS, 0, n, got, ROWS, false);
                for (uint32_t t = 0; t < n; t++) {
                    const float *w = want + (t * 7 + 3) % LIMIT * ROWS, *g = got + t * ROWS;
                    double worst = 0, largest = 0;
                    for (uint32_t r = 0; r < ROWS; r++) {
                        worst = fmax(worst, fabs((double)w[r] - g[r]));
                        largest = fmax(largest, fabs((double)w[r]));
                    }
                    /* OpenBLAS adds in another order for another number of tokens. */
                    bool same = s < set_count ? !memcmp(w, g, ROWS * sizeof *w) : worst <= 5e-6 * largest;
                    if (!same) CHECK_FAIL("%s %s: token %u of %u differs", k->name, type_info(type)->name, t, n);
                }
                free(some.data);
            }
            matrix_free(&m);
            free(all.data);
            free(raw);
            free(x);
            free(want);
            free(got);
        }
}

/* Products by one set and by another of the same panel; both take the same rows. */
static void check_same_products(const struct kernels *unit, const struct kernels *other, int type, uint32_t cols,
                                size_t first, size_t step)
{
    enum { LIMIT = 67, ROWS = 104 };
    static const uint32_t counts[] = {1, 3, 5, 6, 9, 13, 16, 17, 20, 31, 32, 33, 48, 49, 67};
    uint8_t *raw = sample_rows(type, ROWS, cols);
    float *x = malloc(LIMIT * cols * sizeof *x), *a = malloc(LIMIT * ROWS * sizeof *a),
          *b = malloc(LIMIT * ROWS * sizeof *b);
    struct matrix m, v;
    sample_floats(x, LIMIT * cols);
    pack(&m, unit, type, ROWS, cols, raw);
    pack(&v, other, type, ROWS, cols, raw);
    for (size_t c = first % step; c < sizeof counts / sizeof *counts; c += step) {
        struct panel p = fill(unit, type, x, cols, counts[c], cols);
        unit->matmul(&m, &p, 0, ROWS, 0, counts[c], a, ROWS, false);
        other->matmul(&v, &p, 0, ROWS, 0, counts[c], b, ROWS, false);
        if (memcmp(a, b, counts[c] * ROWS * sizeof *a))
            CHECK_FAIL("%s, %u columns, %u tokens: %s and %s differ", type_info(type)->name, cols, counts[c],
                       unit->name, other->name);
        free(p.data);
    }
    matrix_free(&m);
    matrix_free(&v);
    free(raw);
    free(x);
    free(a);
    free(b);
}

/* What the set amx does on the matrix unit with quantised weights has the bits of the vector kernels; with all types
 * the unit has those of its description in C. */
TEST(the_matrix_unit_makes_the_bits_of_the_vectors)
{
    size_t step = step_of(4);
    const struct kernels *vectors = NULL, *units[TESTED_SETS];
    tdm_error err;
    int n = 0;
    for (int s = 0; s < set_count; s++)
        if (!strncmp(sets[s]->name, "amx", 3)) units[n++] = sets[s];
    if (!n || kernels_find(&vectors, "avx512", &err)) SKIP("this CPU has no AVX-512");
    for (int type = 0; type < TYPE_COUNT; type++)
        for (int i = 0; i < 5; i++) {
            uint32_t cols = cols_of(type, i);
            for (int u = 0; u < n; u++) {
                if (units[u]->panel_of(type) == PANEL_INT8)
                    check_same_products(units[u], vectors, type, cols, (size_t)(type + i), step);
                for (int v = 0; v < u; v++)
                    if (units[v]->panel_of(type) == units[u]->panel_of(type))
                        check_same_products(units[v], units[u], type, cols, (size_t)(type + i), step);
            }
        }
}

/* What amx-bf16 makes of a type has the bits of a BF16 matrix with the same weights. */
TEST(widened_weights_are_those_of_bfloat16)
{
    enum { ROWS = 104, LIMIT = 67 };
    static const uint32_t counts[] = {1, 15, 16, 17, 33, 67};
    static float w[768], a[LIMIT * ROWS], b[LIMIT * ROWS];
    int found = 0;
    for (int s = 0; s < set_count; s++)
        for (int type = 0; type < TYPE_COUNT && rounds_weights(sets[s]); type++)
            for (int i = 0; i < 5 && type != TYPE_F32; i++, found++) {
                uint32_t cols = cols_of(type, i);
                size_t row = type_row_bytes(type, cols);
                uint8_t *raw = sample_rows(type, ROWS, cols);
                uint16_t *rounded = malloc(ROWS * cols * sizeof *rounded);
                float *x = malloc(LIMIT * cols * sizeof *x);
                struct matrix m, n;
                sample_floats(x, LIMIT * cols);
                for (uint32_t r = 0; r < ROWS; r++) {
                    type_widen(type, raw + r * row, w, cols);
                    for (uint32_t c = 0; c < cols; c++) rounded[r * cols + c] = bf16_narrow(w[c]);
                }
                pack(&m, sets[s], type, ROWS, cols, raw);
                pack(&n, sets[s], TYPE_BF16, ROWS, cols, (uint8_t *)rounded);
                for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
                    struct panel p = fill(sets[s], type, x, cols, counts[j], cols);
                    sets[s]->matmul(&m, &p, 0, ROWS, 0, counts[j], a, ROWS, false);
                    sets[s]->matmul(&n, &p, 0, ROWS, 0, counts[j], b, ROWS, false);
                    if (memcmp(a, b, counts[j] * ROWS * sizeof *a))
                        CHECK_FAIL("%s %s, %u columns, %u tokens: not the bits of bfloat16", sets[s]->name,
                                   type_info(type)->name, cols, counts[j]);
                    free(p.data);
                }
                matrix_free(&m);
                matrix_free(&n);
                free(raw);
                free(rounded);
                free(x);
            }
    if (!found) SKIP("this CPU has no AVX-512");
}

/* The largest quants and scales there are, against equal activations: integer sums as large as a file can make them. */
TEST(the_largest_sums_fit)
{
    enum { LIMIT = 33, ROWS = 64, COLS = 512 };
    static const struct {
        enum type type;
        int floats[2]; /* where in a block */
    } types[] = {{TYPE_Q4_K, {0, 2}}, {TYPE_Q5_K, {0, 2}}, {TYPE_Q6_K, {208, 208}}, {TYPE_Q3_K, {108, 108}},
                 {TYPE_Q2_K, {80, 82}}, {TYPE_IQ4_XS, {0, 0}}, {TYPE_IQ2_XXS, {0, 0}}, {TYPE_IQ2_XS, {0, 0}},
                 {TYPE_IQ2_S, {0, 0}},  {TYPE_IQ3_XXS, {0, 0}}, {TYPE_IQ3_S, {0, 0}}};
    static float x[LIMIT * COLS], alone[ROWS], out[LIMIT * ROWS], w[COLS];
    for (size_t i = 0; i < LIMIT * COLS; i++) x[i] = i / COLS % 2 ? -1 : 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int ones = 0; ones < 2; ones++) {
            enum type type = types[i].type;
            uint8_t *raw = sample_rows(type, ROWS, COLS);
            size_t block = type_info(type)->block_bytes;
            for (uint8_t *b = raw; b < raw + ROWS * type_row_bytes(type, COLS); b += block) {
                memset(b, ones ? 0xff : 0, block);
                if (type == TYPE_Q6_K) memset(b + 192, ones ? 0x7f : 0x80, 16);
                for (int k = 0; k < 2; k++) {
                    uint16_t scale = f16_narrow(k ? 1.f / 128 : 1.f / 64);
                    memcpy(b + types[i].floats[k], &scale, 2);
                }
            }
            double sum = 0, size = 0;
            type_widen(type, raw, w, COLS);
            for (uint32_t c = 0; c < COLS; c++) sum += (double)w[c], size += fabs((double)w[c]);
            for (int s = 0; s < set_count; s++) {
                if (rounds_weights(sets[s])) continue;
                struct matrix m;
                pack(&m, sets[s], type, ROWS, COLS, raw);
                struct panel one = fill(sets[s], type, x, COLS, 1, COLS), p = fill(sets[s], type, x, COLS, LIMIT, COLS);
                sets[s]->matmul(&m, &one, 0, ROWS, 0, 1, alone, ROWS, false);
                sets[s]->matmul(&m, &p, 0, ROWS, 0, LIMIT, out, ROWS, false);
                if (!(fabs(sum - (double)alone[0]) <= 1e-5 * size))
                    CHECK_FAIL("%s %s: expected %g, found %g", sets[s]->name, type_info(type)->name, sum,
                               (double)alone[0]);
                for (uint32_t j = 0; j < LIMIT * ROWS; j++)
                    if (out[j] != (j / ROWS % 2 ? -alone[0] : alone[0])) {
                        CHECK_FAIL("%s %s, token %u: expected +-%g, found %g", sets[s]->name, type_info(type)->name,
                                   j / ROWS, (double)alone[0], (double)out[j]);
                        break;
                    }
                free(one.data);
                free(p.data);
                matrix_free(&m);
            }
            free(raw);
        }
}

TEST(a_packed_matrix_is_no_larger_than_promised)
{
    /* Codebook types grow, to what engine/kernel/README.md says. */
    static const struct {
        enum type type;
        size_t bytes; /* of 256 weights */
    } grown[] = {{TYPE_IQ2_XXS, 102}, {TYPE_IQ2_XS, 106}, {TYPE_IQ2_S, 106}, {TYPE_IQ3_XXS, 134}, {TYPE_IQ3_S, 134}};
    for (int s = 0; s < set_count; s++)
        for (int type = 0; type < TYPE_COUNT; type++) {
            size_t file = 4096 * type_row_bytes(type, 1024), packed = sets[s]->packed_bytes(type, 4096, 1024), most = 0;
            for (int i = 0; i < 5; i++)
                if (grown[i].type == (enum type)type) most = 4096 * 1024 / 256 * grown[i].bytes;
            CHECK((double)packed <= (most ? (double)most : 1.06 * (double)file));
        }
}

TEST(sets_are_found_by_name)
{
    const struct kernels *k = NULL, *own[TESTED_SETS];
    tdm_error err;
    CHECK_INT(TDM_OK, kernels_find(&k, NULL, &err));
    CHECK(k == own[kernels_available(own, TESTED_SETS) - 1]);
    CHECK_INT(TDM_OK, kernels_find(&k, "scalar", &err));
    CHECK_STR("scalar", k->name);
    CHECK_INT(TDM_E_ARG, kernels_find(&k, "sse9", &err));
#if defined __x86_64__
    CHECK_INT(TDM_E_UNSUPPORTED, kernels_find(&k, "neon", &err));
#endif
    struct matrix m;
    CHECK_INT(TDM_E_FORMAT, matrix_new(&m, k, TYPE_Q8_0, 4, 33, &err));
    CHECK_INT(TDM_E_FORMAT, matrix_new(&m, k, TYPE_F32, 0xffffffff, 0xffffffff, &err));
}

TEST(panels_may_be_filled_by_parts)
{
    enum { TOKENS = 11 };
    static const enum type types[] = {TYPE_F32, TYPE_BF16, TYPE_Q8_0};
    static const uint32_t widths[] = {PANEL_STEP, 3 * PANEL_STEP, 5 * PANEL_STEP + 32};
    for (int s = 0; s < set_count; s++)
        for (int i = 0; i < 9; i++) {
            const struct kernels *k = sets[s];
            uint32_t cols = widths[i % 3], ldx = cols + 3;
            enum type type = types[i / 3];
            float *x = malloc(sizeof *x * TOKENS * ldx);
            sample_floats(x, TOKENS * ldx);
            struct panel whole = fill(k, type, x, ldx, TOKENS, cols), parts = fill(k, type, x, ldx, TOKENS, cols);
            size_t bytes = k->panel_bytes(whole.kind, TOKENS, cols);
            memset(parts.data, 0xee, bytes);
            static const uint32_t cuts[] = {0, 1, 6, TOKENS};
            for (uint32_t c = 0; c < cols; c += 2 * PANEL_STEP)
                for (int t = 0; t < 3; t++)
                    k->panel_fill(&parts, x + c, ldx, cuts[t], cuts[t + 1], c,
                                  c + 2 * PANEL_STEP < cols ? c + 2 * PANEL_STEP : cols);
            if (memcmp(whole.data, parts.data, bytes))
                CHECK_FAIL("%s, %s, %u columns", k->name, type_info(type)->name, cols);
            free(whole.data);
            free(parts.data);
            free(x);
        }
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {
        T(a_row_comes_back_as_it_was), T(products_are_those_of_the_type), T(products_do_not_depend_on_company),
        T(golden_blocks_come_back_and_multiply), T(powers_of_every_exponent),
        T(copied_tokens_are_those_that_were_filled),
        T(the_matrix_unit_makes_the_bits_of_the_vectors), T(widened_weights_are_those_of_bfloat16),
        T(the_largest_sums_fit),
        T(a_packed_matrix_is_no_larger_than_promised), T(sets_are_found_by_name), T(panels_may_be_filled_by_parts)};
    set_count = tested_variants(sets);
    return check_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
