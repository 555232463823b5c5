/* Nothing is read beyond the end of a packed matrix or of a panel, though a kernel takes columns and tokens many at a
 * time: what ends there may be the last of a mapping. Loads of the matrix unit are seen by no sanitizer, so each lies
 * against a page that can't be read. */
#include "engine/kernel/kernel.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/check.h"
#include "tests/engine/kernel/sample.h"
#include "tests/engine/kernel/tested.h"

enum { PAGE = 4096, ROWS = 67, LIMIT = 33 };

static const struct kernels *sets[TESTED_SETS];
static int set_count;
static char where[200];

static void tell(int number)
{
    (void)number;
    ssize_t n = write(STDOUT_FILENO, where, strlen(where));
    _exit(n < 0 ? 2 : 1);
}

/* So many bytes whose end is that of a page, but for what the alignment to 64 leaves, before one that can't be read. */
struct fenced {
    char *map;
    size_t bytes;
    void *data;
};

static struct fenced fence(size_t bytes)
{
    size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    struct fenced f = {.bytes = room + PAGE};
    f.map = mmap(NULL, f.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f.map == MAP_FAILED || mprotect(f.map + room, PAGE, PROT_NONE)) abort();
    f.data = f.map + (room - bytes) / 64 * 64;
    return f;
}

static void unfence(struct fenced *f)
{
    munmap(f->map, f->bytes);
}

/* All numbers of tokens that kernels have loops of their own for. */
static void multiply(const struct kernels *k, const struct matrix *m, const float *x)
{
    static const uint32_t counts[] = {1, 2, 3, 4, 6, 7, 9, 12, 13, 16, 17, 20, LIMIT};
    static float out[LIMIT * ROWS];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct panel p = {.kind = k->panel_of(m->type), .tokens = counts[i], .cols = m->cols};
        struct fenced f = fence(k->panel_bytes(p.kind, p.tokens, p.cols));
        p.data = f.data;
        snprintf(where, sizeof where, "# %s %s: %u columns, %u tokens: touched what lies beyond\n", k->name,
                 type_info(m->type)->name, m->cols, p.tokens);
        k->panel_fill(&p, x, m->cols, 0, p.tokens, 0, p.cols);
        k->matmul(m, &p, 0, ROWS, 0, p.tokens, out, ROWS, false);
        unfence(&f);
    }
}

TEST(nothing_is_read_beyond_matrices_and_panels)
{
    static const uint32_t any[] = {1, 31, 33, 97, 160, 257}, blocks[] = {32, 64, 96, 128, 160, 224, 288},
                          supers[] = {256, 512, 768};
    signal(SIGSEGV, tell);
    for (int s = 0; s < set_count; s++)
        for (int type = 0; type < TYPE_COUNT; type++) {
            uint32_t block = type_info(type)->block;
            const uint32_t *cols = block == 1 ? any : block == 32 ? blocks : supers;
            for (int n = block == 1 ? 6 : block == 32 ? 7 : 3; n > 0; n--, cols++) {
                struct matrix m;
                tdm_error err;
                uint8_t *raw = sample_rows(type, ROWS, *cols);
                float *x = malloc(LIMIT * *cols * sizeof *x);
                sample_floats(x, LIMIT * *cols);
                REQUIRE(matrix_new(&m, sets[s], type, ROWS, *cols, &err) == TDM_OK);
                matrix_pack(&m, raw, 0, ROWS);
                struct fenced f = fence(m.bytes);
                struct matrix against = m;
                against.data = memcpy(f.data, m.data, m.bytes);
                multiply(sets[s], &against, x);
                unfence(&f);
                matrix_free(&m);
                free(raw);
                free(x);
            }
        }
    signal(SIGSEGV, SIG_DFL);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(nothing_is_read_beyond_matrices_and_panels)};
    set_count = tested_variants(sets);
    return check_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
