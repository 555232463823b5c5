/* The gated delta rule on one slab: part of a kernel set (set_template.h).
 *
 * With S the state before a token, g its decay: d = beta (v - g S^T k); out = g S^T q + (k . q) d; S = g S + k d^T.
 * One pass over the slab applies a token's update and, from the rows just written, computes S^T k and S^T q for the
 * next token; the slab stays in L1 over all tokens. */

/* S^T k and S^T q, each in two partial sums: of the even and of the odd rows. */
struct delta_sums {
    vf k[2][DELTA_VECTORS], q[2][DELTA_VECTORS];
};

/* One row of the slab. `update`: S = g S + k d^T; `look`: adds the new row to the sums of the next token. Both, vectors
 * and odd (the row's parity) are constants after inlining. k, next_k and next_q are pointers: a broadcast from memory
 * uses a load port, one from a register would use one of the two ports that multiply. */
static ALWAYS_INLINE void delta_row(float *row, uint32_t vectors, uint32_t n, uint32_t odd, bool update, vf g,
                                    const float *k, const vf *d, bool look, const float *next_k, const float *next_q,
                                    struct delta_sums *sums)
{
    vf x[DELTA_VECTORS];
    UNROLL for (uint32_t c = 0; c < vectors; c++) x[c] = vectors == 1 ? vf_load_n(row, n) : vf_load(row + c * LANES);
    if (update) {
        vf by = vf_set(*k);
        UNROLL for (uint32_t c = 0; c < vectors; c++) {
            x[c] = vf_fma(by, d[c], vf_mul(g, x[c]));
            if (vectors == 1) vf_store_n(row, x[c], n);
            else vf_store(row + c * LANES, x[c]);
        }
    }
    if (look) {
        vf by_k = vf_set(*next_k), by_q = vf_set(*next_q);
        UNROLL for (uint32_t c = 0; c < vectors; c++) {
            sums->k[odd][c] = vf_fma(x[c], by_k, sums->k[odd][c]);
            sums->q[odd][c] = vf_fma(x[c], by_q, sums->q[odd][c]);
        }
    }
}

/* All rows. */
static ALWAYS_INLINE void delta_pass(float *s, uint32_t key_dim, uint32_t width, uint32_t vectors, uint32_t n,
                                     bool update, vf g, const float *k, const vf *d, bool look, const float *next_k,
                                     const float *next_q, struct delta_sums *out)
{
    struct delta_sums sums;
    UNROLL for (uint32_t c = 0; c < vectors; c++) sums.k[0][c] = sums.k[1][c] = sums.q[0][c] = sums.q[1][c] = vf_set(0);
    uint32_t i = 0;
    for (; i + 2 <= key_dim; i += 2, s += 2 * width) {
        delta_row(s, vectors, n, 0, update, g, k + i, d, look, next_k + i, next_q + i, &sums);
        delta_row(s + width, vectors, n, 1, update, g, k + i + 1, d, look, next_k + i + 1, next_q + i + 1, &sums);
    }
    if (i < key_dim) delta_row(s, vectors, n, 0, update, g, k + i, d, look, next_k + i, next_q + i, &sums);
    *out = sums;
}

/* All tokens for vectors * LANES columns of the slab, or the n < LANES that are left of it (vectors = 1). */
static ALWAYS_INLINE void delta_columns(float *s, uint32_t key_dim, uint32_t width, const float *q, const float *k,
                                        size_t ldq, const float *v, size_t ldv, const float *decay, const float *beta,
                                        size_t ldg, float *out, size_t ldo, uint32_t tokens, uint32_t vectors,
                                        uint32_t n)
{
    struct delta_sums sums;
    vf d[DELTA_VECTORS];
    UNROLL for (uint32_t c = 0; c < vectors; c++) d[c] = vf_set(0);
    if (tokens) delta_pass(s, key_dim, width, vectors, n, false, vf_set(0), k, d, true, k, q, &sums);
    for (uint32_t t = 0; t < tokens; t++, q += ldq, k += ldq, v += ldv, out += ldo, decay += ldg, beta += ldg) {
        vf kq = vf_set(sum_of_products(k, q, key_dim)), g = vf_set(*decay), b = vf_set(*beta);
        UNROLL for (uint32_t c = 0; c < vectors; c++) {
            vf was = vf_mul(g, vf_add(sums.k[0][c], sums.k[1][c])),
               seen = vf_mul(g, vf_add(sums.q[0][c], sums.q[1][c]));
            vf target = vectors == 1 ? vf_load_n(v, n) : vf_load(v + c * LANES);
            d[c] = vf_mul(b, vf_sub(target, was));
            vf y = vf_fma(kq, d[c], seen);
            if (vectors == 1) vf_store_n(out, y, n);
            else vf_store(out + c * LANES, y);
        }
        if (t + 1 < tokens) delta_pass(s, key_dim, width, vectors, n, true, g, k, d, true, k + ldq, q + ldq, &sums);
        else delta_pass(s, key_dim, width, vectors, n, true, g, k, d, false, k, q, &sums);
    }
}

static void set_delta_slab(float *s, uint32_t key_dim, uint32_t width, const float *q, const float *k, size_t ldq,
                           const float *v, size_t ldv, const float *decay, const float *beta, size_t ldg, float *out,
                           size_t ldo, uint32_t tokens)
{
    enum { STEP = DELTA_VECTORS * LANES };
    uint32_t j = 0;
    for (; j + STEP <= width; j += STEP)
        delta_columns(s + j, key_dim, width, q, k, ldq, v + j, ldv, decay, beta, ldg, out + j, ldo, tokens,
                      DELTA_VECTORS, LANES);
    for (; j < width; j += LANES)
        delta_columns(s + j, key_dim, width, q, k, ldq, v + j, ldv, decay, beta, ldg, out + j, ldo, tokens, 1,
                      width - j < LANES ? width - j : LANES);
}
