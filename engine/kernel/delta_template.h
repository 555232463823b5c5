/* The gated delta rule on one slab: part of a kernel set (set_template.h).
 *
 * With S the state before a token, g its decay: d = beta (v - g S^T k); out = g S^T q + (k . q) d; S = g S + k d^T.
 * One pass over the slab makes S^T k and S^T q, the next the update; the slab stays in L1 over all tokens. S^T k and
 * S^T q are each two partial sums, of the even and the odd rows. */

/* Columns [j, j + vectors * LANES) of the slab, or the n < LANES that are left of it (vectors = 1). */
static ALWAYS_INLINE void delta_columns(float *s, uint32_t key_dim, uint32_t width, const float *q, const float *k,
                                        size_t ldq, const float *v, size_t ldv, const float *decay, const float *beta,
                                        size_t ldg, float *out, size_t ldo, uint32_t tokens, uint32_t vectors, uint32_t n)
{
#define DELTA_LOAD(p) (vectors == 1 ? vf_load_n(p, n) : vf_load(p))
    for (uint32_t t = 0; t < tokens; t++, q += ldq, k += ldq, v += ldv, out += ldo, decay += ldg, beta += ldg) {
        vf sk[2][DELTA_VECTORS], sq[2][DELTA_VECTORS];
        UNROLL for (uint32_t c = 0; c < vectors; c++) sk[0][c] = sk[1][c] = sq[0][c] = sq[1][c] = vf_set(0);
        const float *row = s;
        for (uint32_t i = 0; i + 1 < key_dim; i += 2, row += 2 * width)
            UNROLL for (uint32_t odd = 0; odd < 2; odd++) {
                vf by_k = vf_set(k[i + odd]), by_q = vf_set(q[i + odd]);
                UNROLL for (uint32_t c = 0; c < vectors; c++) {
                    vf x = DELTA_LOAD(row + odd * width + c * LANES);
                    sk[odd][c] = vf_fma(x, by_k, sk[odd][c]);
                    sq[odd][c] = vf_fma(x, by_q, sq[odd][c]);
                }
            }
        if (key_dim % 2)
            UNROLL for (uint32_t c = 0; c < vectors; c++) {
                vf x = DELTA_LOAD(row + c * LANES);
                sk[0][c] = vf_fma(x, vf_set(k[key_dim - 1]), sk[0][c]);
                sq[0][c] = vf_fma(x, vf_set(q[key_dim - 1]), sq[0][c]);
            }
        vf kq = vf_set(sum_of_products(k, q, key_dim)), g = vf_set(*decay), b = vf_set(*beta), d[DELTA_VECTORS];
        UNROLL for (uint32_t c = 0; c < vectors; c++) {
            vf was = vf_mul(g, vf_add(sk[0][c], sk[1][c])), seen = vf_mul(g, vf_add(sq[0][c], sq[1][c]));
            d[c] = vf_mul(b, vf_sub(DELTA_LOAD(v + c * LANES), was));
            vf y = vf_fma(kq, d[c], seen);
            if (vectors == 1) vf_store_n(out + c * LANES, y, n);
            else vf_store(out + c * LANES, y);
        }
        float *target = s;
        for (uint32_t i = 0; i < key_dim; i++, target += width) {
            vf by_k = vf_set(k[i]);
            UNROLL for (uint32_t c = 0; c < vectors; c++) {
                float *p = target + c * LANES;
                vf y = vf_fma(by_k, d[c], vf_mul(g, DELTA_LOAD(p)));
                if (vectors == 1) vf_store_n(p, y, n);
                else vf_store(p, y);
            }
        }
    }
#undef DELTA_LOAD
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
