/* The set "blas": matrix products by OpenBLAS's sgemm in float32, everything else as the reference set does it. The
 * portable path for a unit whose CPU has no kernels of its own, and the other precision on the far side of the bridge.
 *
 * Weights stay the rows of the file and are widened panel by panel, never a whole matrix. Each worker multiplies the
 * rows that it is given by itself: the library is told to use one thread, because a pool of its own would compete with
 * ours. OpenBLAS chooses its order of summation by the number of tokens, so this set is outside the promise of
 * exactness (kernel.h) and kernels_available doesn't list it.
 *
 * The library is loaded when the set is first asked for: it starts a thread for every core and takes 128 MB, which a
 * run without such a unit is spared. It is never unloaded.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/kernel/sets.h"

/* As every cblas.h has them, which lies elsewhere on every system. */
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                   int lda, const float *b, int ldb, float beta, float *c, int ldc);
static sgemm *cblas_sgemm;

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

/* What went wrong, in dlerror's words; "": nothing. */
static char failure[256];

/* Nothing of a library that turns out to be another one stays. */
static bool take_library(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL), (*set_threads)(int threads);
    if (library) *(void **)&cblas_sgemm = dlsym(library, "cblas_sgemm");
    if (!cblas_sgemm) {
        const char *why = dlerror();
        if (!failure[0]) snprintf(failure, sizeof failure, "%s", why ? why : name);
        if (library) dlclose(library);
        return false;
    }
    *(void **)&set_threads = dlsym(library, "openblas_set_num_threads"); /* not every stand-in has it */
    if (set_threads) set_threads(1);
    failure[0] = 0;
    return true;
}

static void make_table(void)
{
    /* The usual name; with threads of POSIX or OpenMP, where the usual one has none; Alpine's; a developer's. */
    static const char *const names[] = {"libopenblas.so.0", "libopenblasp.so.0", "libopenblaso.so.0",
                                        "libopenblas.so.3", "libopenblas.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !take_library(names[i]); i++) continue;
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

tdm_status kernels_blas(const struct kernels **out, tdm_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_table);
    if (failure[0]) return error_set(err, TDM_E_NOT_FOUND, "blas: expected the library OpenBLAS, found %s", failure);
    *out = &table;
    return TDM_OK;
}
