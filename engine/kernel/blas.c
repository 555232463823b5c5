/* The set "blas": matrix products by OpenBLAS's sgemm in float32, everything else as the reference set does it. The
 * portable path for a unit whose CPU has no kernels of its own, and the other precision on the far side of the bridge.
 *
 * Weights stay the rows of the file and are widened panel by panel, never a whole matrix. Each worker multiplies the
 * rows that it is given by itself: the library is told to use one thread, because a pool of its own would compete with
 * ours. OpenBLAS chooses its order of summation by the number of tokens, so this set is outside the promise of
 * exactness (kernel.h) and kernels_available doesn't list it.
 */
#include <pthread.h>
#include <string.h>

#include "engine/kernel/sets.h"

/* As every cblas.h has them, which lies elsewhere on every system. */
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
extern void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                        int lda, const float *b, int ldb, float beta, float *c, int ldc);
/* Not every library that stands in for OpenBLAS has it. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

/* A panel of widened weights: 64 KiB, on the worker's stack. */
enum { PANEL_ROWS = 64, PANEL_COLS = 256 };

static enum panel_kind blas_panel_of(enum type type)
{
    (void)type;
    return PANEL_F32;
}

static size_t blas_panel_bytes(enum panel_kind kind, uint32_t tokens, uint32_t cols)
{
    (void)kind;
    return ((size_t)tokens * cols * sizeof(float) + 63) / 64 * 64;
}

static void blas_panel_fill(struct panel *p, const float *x, size_t ldx, uint32_t t0, uint32_t t1, uint32_t c0,
                            uint32_t c1)
{
    float *rows = p->data;
    for (uint32_t t = t0; t < t1; t++) memcpy(rows + (size_t)t * p->cols + c0, x + t * ldx, (c1 - c0) * sizeof *rows);
}

static void blas_panel_copy(struct panel *to, uint32_t t, const struct panel *from, uint32_t t_from)
{
    const float *in = from->data;
    float *out = to->data;
    memcpy(out + (size_t)t * to->cols, in + (size_t)t_from * from->cols, to->cols * sizeof *out);
}

static size_t blas_packed_bytes(enum type type, uint32_t rows, uint32_t cols)
{
    return rows * type_row_bytes(type, cols);
}

static void blas_pack(struct matrix *m, const void *raw, uint32_t row0, uint32_t n)
{
    size_t row = type_row_bytes(m->type, m->cols);
    memcpy((unsigned char *)m->data + row0 * row, raw, n * row);
}

static void blas_unpack_row(const struct matrix *m, uint32_t row, float *out)
{
    type_widen(m->type, (const unsigned char *)m->data + row * type_row_bytes(m->type, m->cols), out, m->cols);
}

static void blas_matmul(const struct matrix *m, const struct panel *p, uint32_t r0, uint32_t r1, uint32_t t0,
                        uint32_t t1, float *out, size_t ldo, bool add)
{
    float wide[PANEL_ROWS * PANEL_COLS] __attribute__((aligned(64)));
    size_t row_bytes = type_row_bytes(m->type, m->cols);
    for (uint32_t r = r0; r < r1; r += PANEL_ROWS) {
        uint32_t rows = r1 - r < PANEL_ROWS ? r1 - r : PANEL_ROWS;
        int ldc = t1 - t0 > 1 ? (int)ldo : (int)rows; /* sgemm wants it of a single token, too */
        for (uint32_t c = 0; c < m->cols; c += PANEL_COLS) {
            /* PANEL_COLS is a multiple of every type's block, so the panel begins on a block. */
            uint32_t cols = m->cols - c < PANEL_COLS ? m->cols - c : PANEL_COLS;
            const unsigned char *from = (const unsigned char *)m->data + r * row_bytes + type_row_bytes(m->type, c);
            for (uint32_t i = 0; i < rows; i++)
                type_widen(m->type, from + i * row_bytes, wide + (size_t)i * cols, cols);
            cblas_sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, (int)(t1 - t0), (int)rows, (int)cols, 1,
                        (const float *)p->data + (size_t)t0 * p->cols + c, (int)p->cols, wide, (int)cols,
                        add || c > 0 ? 1 : 0, out + t0 * ldo + r, ldc);
        }
    }
}

static struct kernels table;

static void make_table(void)
{
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    table = kernels_reference;
    table.name = "blas";
    table.panel_of = blas_panel_of;
    table.panel_bytes = blas_panel_bytes;
    table.panel_fill = blas_panel_fill;
    table.panel_copy = blas_panel_copy;
    table.packed_bytes = blas_packed_bytes;
    table.pack = blas_pack;
    table.unpack_row = blas_unpack_row;
    table.matmul = blas_matmul;
}

const struct kernels *kernels_blas(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);
    return &table;
}
