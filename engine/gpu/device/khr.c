/* SPIR-V of SPV_NV_cooperative_matrix in terms of SPV_KHR_cooperative_matrix. What differs: numbers of operations; a
 * type says what its matrices are used for; loads and stores take the layout as a number, and before the stride; a
 * product of integers says which of its operands are signed. https://github.khronos.org/SPIRV-Registry/ has both. */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/pass/gemm.h"

enum {
    OP_EXTENSION = 10,
    OP_CAPABILITY = 17,
    OP_TYPE_FLOAT = 22,
    OP_CONSTANT_TRUE = 41,
    OP_CONSTANT = 43,
    NV_CAPABILITY = 5357,
    NV_TYPE,
    NV_LOAD,
    NV_STORE,
    NV_MUL_ADD,
    KHR_CAPABILITY = 6022,
    KHR_TYPE = 4456,
    KHR_LOAD,
    KHR_STORE,
    KHR_MUL_ADD,
};
enum { HEADER = 5, BOUND = 3, ALL_SIGNED = 15 };
/* KHR's numbers of uses and of layouts, of which a constant each is added. */
enum { USE_A, USE_B, USE_C, ROW_MAJOR = 0, COLUMN_MAJOR = 1, NUMBERS = 3 };

struct rewrite {
    const uint32_t *in;
    size_t n; /* words of it */
    uint32_t *out;
    size_t at;
    uint32_t number;               /* the id of the constant 0; those of 1 and 2 follow */
    uint32_t scope, rows, columns; /* ids: what C's type is made of */
    bool numbers_made, floats;     /* floats: sums are */
};

static void put(struct rewrite *r, uint32_t op, const uint32_t *operands, size_t n)
{
    r->out[r->at++] = (uint32_t)(n + 1) << 16 | op;
    memcpy(r->out + r->at, operands, n * sizeof *operands);
    r->at += n;
}

/* The instruction with this operation whose word `place` is `value`; NULL: none. */
static const uint32_t *find(const struct rewrite *r, uint32_t op, size_t place, uint32_t value)
{
    for (size_t i = HEADER; i < r->n; i += r->in[i] >> 16)
        if ((r->in[i] & 0xffff) == op && r->in[i] >> 16 > place && (!place || r->in[i + place] == value))
            return r->in + i;
    return NULL;
}

/* The constants 0 to 2, of the type that the scope has. */
static void make_numbers(struct rewrite *r)
{
    const uint32_t *scope = find(r, OP_CONSTANT, 2, r->scope);
    for (uint32_t i = 0; i < NUMBERS && scope; i++) put(r, OP_CONSTANT, (uint32_t[]){scope[1], r->number + i, i}, 3);
    r->numbers_made = scope != NULL;
}

/* in: result, component, scope, rows, columns. M, N and K are constants of their own: C has A's rows, B's columns. */
static void put_type(struct rewrite *r, const uint32_t *in)
{
    uint32_t use = in[3] != r->rows ? USE_B : in[4] != r->columns ? USE_A : USE_C;
    if (!r->numbers_made) make_numbers(r);
    put(r, KHR_TYPE, (uint32_t[]){in[0], in[1], in[2], in[3], in[4], r->number + use}, 6);
}

/* in[at]: a stride, then whether by columns. Before them: of a load type, result and pointer, of a store pointer and
 * matrix; behind them: how memory is accessed. */
static void put_access(struct rewrite *r, uint32_t op, const uint32_t *in, size_t n, size_t at)
{
    uint32_t layout = find(r, OP_CONSTANT_TRUE, 2, in[at + 1]) ? COLUMN_MAJOR : ROW_MAJOR;
    put(r, op, in, n);
    r->out[r->at - n + at] = r->number + layout;
    r->out[r->at - n + at + 1] = in[at];
}

static void put_one(struct rewrite *r, const uint32_t *in)
{
    static const char nv[] = "SPV_NV_cooperative_matrix", khr[28] = "SPV_KHR_cooperative_matrix";
    const uint32_t *operands = in + 1, op = *in & 0xffff;
    size_t n = (*in >> 16) - 1;
    if (op == OP_CAPABILITY && *operands == NV_CAPABILITY) {
        put(r, op, (uint32_t[]){KHR_CAPABILITY}, 1);
    } else if (op == OP_EXTENSION && n * sizeof *in >= sizeof nv && !memcmp(operands, nv, sizeof nv)) {
        uint32_t name[sizeof khr / sizeof(uint32_t)];
        memcpy(name, khr, sizeof khr);
        put(r, op, name, sizeof name / sizeof *name);
    } else if (op == NV_TYPE && n == 5) {
        put_type(r, operands);
    } else if (op == NV_LOAD && n >= 5) {
        put_access(r, KHR_LOAD, operands, n, 3);
    } else if (op == NV_STORE && n >= 4) {
        put_access(r, KHR_STORE, operands, n, 2);
    } else if (op == NV_MUL_ADD && n == 5) {
        uint32_t all[] = {operands[0], operands[1], operands[2], operands[3], operands[4], ALL_SIGNED};
        put(r, KHR_MUL_ADD, all, r->floats ? 5 : 6);
    } else {
        put(r, op, operands, n);
    }
}

uint32_t *gemm_khr(const uint32_t *words, size_t bytes, size_t *out_bytes)
{
    struct rewrite r = {.in = words, .n = bytes / sizeof *words};
    const uint32_t *product = find(&r, NV_MUL_ADD, 0, 0);
    const uint32_t *result = product ? find(&r, NV_TYPE, 1, product[1]) : NULL;
    if (!result) return NULL;
    r.scope = result[3], r.rows = result[4], r.columns = result[5];
    r.floats = find(&r, OP_TYPE_FLOAT, 1, result[2]) != NULL;
    r.number = words[BOUND];
    r.out = malloc(2 * bytes); /* no instruction becomes twice as long */
    if (!r.out) return NULL;
    memcpy(r.out, words, HEADER * sizeof *words);
    r.out[BOUND] += NUMBERS;
    r.at = HEADER;
    for (size_t i = HEADER; i < r.n; i += words[i] >> 16) put_one(&r, words + i);
    *out_bytes = r.at * sizeof *words;
    return r.out;
}
