#include "engine/kernel/kernel.h"

#include <stdlib.h>
#include <string.h>
#if defined __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "engine/base/error.h"
#include "engine/base/size.h"
#include "engine/kernel/layout.h"
#include "engine/kernel/sets.h"
#include "engine/os/pages.h"

/* ---- What this CPU runs ---------------------------------------------------------------------------------------- */

/* __builtin_cpu_supports asks cpuid and, for the vector registers, whether the system saves them (xgetbv). */
#if defined __x86_64__
static bool has_avx2(void)
{
    unsigned a, b, c = 0, d;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C; /* not every compiler's builtin knows its name */
    return f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx_vnni(void)
{
    unsigned a = 0, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & 1 << 4;
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
}

/* vdpbf16ps does twice the work of a fused multiply-add. AMD's cores start as many of the one as of the other; on
 * Intel's (measured on Sapphire Rapids) it takes four times as long, so there widening is twice as fast. */
static bool has_fast_bf16(void)
{
    return __builtin_cpu_supports("avx512bf16") && !__builtin_cpu_is("intel");
}

/* The matrix unit: tiles, int8 and bfloat16; the system saves its registers (xgetbv) and lets this process use them,
 * which holds for all its threads and has to be asked for. */
static bool has_amx(void)
{
    enum { TILE = 1 << 24, INT8 = 1 << 25, BF16 = 1 << 22, ALL = TILE | INT8 | BF16, SAVED = 1 << 17 | 1 << 18 };
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* arch_prctl */
    unsigned a, b, c, d = 0, low, high;
    if (!has_avx512() || !__builtin_cpu_supports("avx512bf16") || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return false;
    if ((d & ALL) != ALL) return false;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & SAVED) == SAVED && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}
#endif

int kernels_variants(const struct kernels **out, int room)
{
    const struct kernels *sets[8];
    int n = 0;
    sets[n++] = &kernels_reference;
    sets[n++] = &kernels_scalar;
#if defined __x86_64__
    if (has_avx2()) sets[n++] = &kernels_avx2;
    if (has_avx2() && has_avx_vnni()) sets[n++] = &kernels_avx2_vnni;
    if (has_avx512() && __builtin_cpu_supports("avx512bf16")) sets[n++] = &kernels_avx512_bf16;
    if (has_avx512()) sets[n++] = &kernels_avx512;
    if (has_avx512() && has_fast_bf16()) sets[n - 1] = &kernels_avx512_bf16, sets[n - 2] = &kernels_avx512;
    if (has_amx()) sets[n++] = &kernels_amx;
#elif defined __aarch64__
    sets[n++] = &kernels_neon;
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) sets[n++] = &kernels_neon_dotprod;
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP && getauxval(AT_HWCAP2) & HWCAP2_I8MM) sets[n++] = &kernels_neon_i8mm;
#endif
    n = n < room ? n : room;
    memcpy(out, sets, (size_t)n * sizeof *out);
    return n;
}

int kernels_available(const struct kernels **out, int room)
{
    const struct kernels *all[8];
    int count = kernels_variants(all, 8), n = 0;
    for (int i = 0; i < count; i++) {
        bool again = n && !strcmp(out[n - 1]->name, all[i]->name); /* a better one of the same name */
        if (again) out[n - 1] = all[i];
        else if (n < room) out[n++] = all[i];
    }
    return n;
}

tdm_status kernels_find(const struct kernels **out, const char *name, tdm_error *err)
{
    static const char *const names[] = {"reference", "scalar", "avx2", "avx512", "amx", "amx-bf16", "neon"};
    const struct kernels *sets[8];
    int n = kernels_available(sets, 8);
    if (!name) {
        *out = sets[n - 1];
        return TDM_OK;
    }
    if (!strcmp(name, "blas")) return kernels_blas(out, err);
#if defined __x86_64__
    if (!strcmp(name, "amx-bf16") && has_amx()) {
        *out = &kernels_amx_bf16;
        return TDM_OK;
    }
#endif
    for (int i = 0; i < n; i++)
        if (!strcmp(sets[i]->name, name)) {
            *out = sets[i];
            return TDM_OK;
        }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return error_set(err, TDM_E_UNSUPPORTED,
                             "kernels %s: this CPU cannot run them; the best that it runs are %s", name,
                             sets[n - 1]->name);
    return error_set(err, TDM_E_ARG,
                     "kernels: expected reference, scalar, avx2, avx512, amx, amx-bf16 or neon, found \"%s\"", name);
}

/* ---- Matrices -------------------------------------------------------------------------------------------------- */

tdm_status matrix_shape(struct matrix *m, const struct kernels *k, enum type type, uint32_t rows, uint32_t cols,
                        tdm_error *err)
{
    const struct type_info *info = type_info(type);
    uint64_t cells;
    if (!rows || !cols || cols % info->block)
        return error_set(err, TDM_E_FORMAT, "matrix %u x %u of %s: expected columns in blocks of %u", rows, cols,
                         info->name, info->block);
    if (!size_mul((uint64_t)rows + MATRIX_TILE, (uint64_t)cols + 1, &cells) || cells > (uint64_t)1 << 44)
        return error_set(err, TDM_E_FORMAT, "matrix %u x %u of %s: too large", rows, cols, info->name);
    *m = (struct matrix){
        .kernels = k, .type = type, .rows = rows, .cols = cols, .bytes = k->packed_bytes(type, rows, cols)};
    return TDM_OK;
}

tdm_status matrix_new(struct matrix *m, const struct kernels *k, enum type type, uint32_t rows, uint32_t cols,
                      tdm_error *err)
{
    tdm_status status = matrix_shape(m, k, type, rows, cols, err);
    if (status) return status;
    m->data = m->bytes < PAGES_LARGE ? aligned_alloc(64, (m->bytes + 63) / 64 * 64) : pages_map(m->bytes);
    if (m->data) return TDM_OK;
    return error_set(err, TDM_E_NOMEM, "matrix %u x %u of %s: no memory for %zu bytes", rows, cols,
                     type_info(type)->name, m->bytes);
}

void matrix_free(struct matrix *m)
{
    if (m->bytes < PAGES_LARGE)
        free(m->data);
    else
        pages_unmap(m->data, m->bytes);
    memset(m, 0, sizeof *m);
}

void matrix_pack(struct matrix *m, const void *raw, uint32_t row0, uint32_t n)
{
    assert_always(row0 % MATRIX_TILE == 0 && row0 <= m->rows && n <= m->rows - row0);
    m->kernels->pack(m, raw, row0, n);
}
