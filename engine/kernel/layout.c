#include "engine/kernel/layout.h"

#include <math.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/model/codebook.h"
#include "engine/model/half.h"

const struct layout layouts[TYPE_COUNT] = {
    [TYPE_F32] = {0, 0, 0, 0, SCALE_NONE, 0, NULL, 1},
    [TYPE_F16] = {0, 0, 0, 0, SCALE_NONE, 0, NULL, 1},
    [TYPE_BF16] = {0, 0, 0, 0, SCALE_NONE, 0, NULL, 1},
    [TYPE_Q8_0] = {8, 8, 32, 128, SCALE_F16, 512, NULL, 1},
    [TYPE_Q4_0] = {4, 4, 32, 8, SCALE_F16, 256, NULL, 1},
    [TYPE_Q4_1] = {4, 4, 32, 0, SCALE_F16_MIN, 256, NULL, 1},
    [TYPE_Q5_0] = {5, 5, 32, 16, SCALE_F16, 320, NULL, 1},
    [TYPE_Q5_1] = {5, 5, 32, 0, SCALE_F16_MIN, 320, NULL, 1},
    [TYPE_Q4_K] = {4, 4, 32, 0, SCALE_BYTE_MIN, 256, NULL, 1},
    [TYPE_Q5_K] = {5, 5, 32, 0, SCALE_BYTE_MIN, 320, NULL, 1},
    [TYPE_Q6_K] = {6, 6, 16, 32, SCALE_SIGNED, 384, NULL, 1},
    [TYPE_Q3_K] = {3, 3, 16, 4, SCALE_SIGNED, 192, NULL, 1},
    [TYPE_Q2_K] = {2, 2, 16, 0, SCALE_PACKED_MIN, 128, NULL, 1},
    [TYPE_IQ4_NL] = {4, 8, 32, 0, SCALE_F16, 256, codebook_iq4, 1},
    [TYPE_IQ4_XS] = {4, 8, 32, 0, SCALE_SIGNED, 256, codebook_iq4, 1},
    [TYPE_IQ2_XXS] = {3, 7, 32, 0, SCALE_ODD, 192, codebook_iq2, 0.125f},
    [TYPE_IQ2_XS] = {3, 7, 16, 0, SCALE_ODD, 192, codebook_iq2, 0.125f},
    [TYPE_IQ2_S] = {3, 7, 16, 0, SCALE_ODD, 192, codebook_iq2, 0.125f},
    [TYPE_IQ3_XXS] = {4, 7, 32, 0, SCALE_ODD, 256, codebook_iq3_xxs, 0.25f},
    [TYPE_IQ3_S] = {4, 5, 32, 0, SCALE_ODD, 256, codebook_iq3_s, 1},
    [TYPE_MXFP4] = {4, 5, 32, 0, SCALE_POWER, 256, codebook_mxfp4, 1},
};

/* ---- Sizes ----------------------------------------------------------------------------------------------------- */

/* Of one half of a group. */
static size_t scale_bytes(const struct layout *l, uint32_t blocks)
{
    uint32_t subs = blocks * BLOCK_COLS / l->sub;
    switch (l->form) {
    case SCALE_F16: return 2 * HALF_ROWS * (size_t)blocks;
    case SCALE_POWER: return HALF_ROWS * ((size_t)blocks + blocks % 2); /* so that groups begin at a cache line */
    case SCALE_F16_MIN: return 4 * HALF_ROWS * (size_t)blocks;
    case SCALE_SIGNED: return HALF_ROWS * ((size_t)subs + 2);
    case SCALE_ODD: return HALF_ROWS * ((size_t)subs / 2 + 2);
    case SCALE_PACKED_MIN: return HALF_ROWS * ((size_t)subs + 4);
    case SCALE_BYTE_MIN: return HALF_ROWS * ((size_t)subs * 2 + 4);
    case SCALE_NONE: break;
    }
    return 0;
}

struct layout_group layout_group(const struct layout *l, uint32_t blocks)
{
    size_t quants = blocks * (size_t)l->block_bytes, scales = scale_bytes(l, blocks);
    return (struct layout_group){{0, quants}, {2 * quants, 2 * quants + scales}, 2 * (quants + scales)};
}

size_t layout_tile_bytes(enum type type, uint32_t cols)
{
    const struct layout *l = &layouts[type];
    if (!l->bits) return (size_t)TILE_ROWS * (type == TYPE_F32 ? 4 : 2) * (type == TYPE_BF16 ? (cols + 1) & ~1u : cols);
    uint32_t rest = cols % GROUP_COLS / BLOCK_COLS;
    return cols / GROUP_COLS * layout_group(l, GROUP_COLS / BLOCK_COLS).bytes +
           (rest ? layout_group(l, rest).bytes : 0);
}

size_t layout_bytes(enum type type, uint32_t rows, uint32_t cols)
{
    return ((size_t)rows + TILE_ROWS - 1) / TILE_ROWS * layout_tile_bytes(type, cols);
}

/* ---- Reading a file's blocks ------------------------------------------------------------------------------------
 * A strip is up to 256 columns of one row taken apart: quants one a byte, scales one a sub-block. */

struct strip {
    uint8_t q[GROUP_COLS];
    uint16_t d[BLOCK_STEPS], m[BLOCK_STEPS]; /* f16: one a block, or [0] alone for two-level types */
    uint8_t s[16], sm[16];                   /* one a sub-block; MXFP4: one a block */
};

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

/* 16 bytes: elements 0-15 in the low nibbles, 16-31 in the high ones. */
static void split_nibbles(uint8_t *q, const uint8_t *p)
{
    for (int i = 0; i < 16; i++) {
        q[i] = p[i] & 15;
        q[i + 16] = p[i] >> 4;
    }
}

/* Four bytes with one bit an element, added as bit 4. */
static void add_fifth_bits(uint8_t *q, const uint8_t *word)
{
    for (int i = 0; i < 32; i++) q[i] |= (word[i / 8] >> i % 8 & 1) << 4;
}

/* The 12 bytes of 6-bit scales and minima of Q4_K and Q5_K (engine/model/type.c). */
static void split_scales(uint8_t *s, uint8_t *m, const uint8_t *p)
{
    for (int j = 0; j < 4; j++) {
        s[j] = p[j] & 63;
        m[j] = p[j + 4] & 63;
        s[j + 4] = (uint8_t)((p[j + 8] & 15) | (p[j] >> 6) << 4);
        m[j + 4] = (uint8_t)((p[j + 8] >> 4) | (p[j + 4] >> 6) << 4);
    }
}

static void read_simple(enum type type, struct strip *t, const uint8_t *p, uint32_t blocks, uint8_t raised)
{
    for (uint32_t b = 0; b < blocks; b++) {
        uint8_t *q = t->q + BLOCK_COLS * b;
        t->d[b] = u16(p);
        switch (type) {
        case TYPE_MXFP4:
            t->s[b] = p[0];
            split_nibbles(q, p + 1);
            p += 17;
            break;
        case TYPE_Q8_0:
            for (int i = 0; i < 32; i++) q[i] = (uint8_t)(p[2 + i] + raised);
            p += 34;
            break;
        case TYPE_Q4_1:
            t->m[b] = u16(p + 2);
            split_nibbles(q, p + 4);
            p += 20;
            break;
        case TYPE_Q5_0:
            split_nibbles(q, p + 6);
            add_fifth_bits(q, p + 2);
            p += 22;
            break;
        case TYPE_Q5_1:
            t->m[b] = u16(p + 2);
            split_nibbles(q, p + 8);
            add_fifth_bits(q, p + 4);
            p += 24;
            break;
        default: /* Q4_0, IQ4_NL */
            split_nibbles(q, p + 2);
            p += 18;
            break;
        }
    }
}

static void read_k(enum type type, struct strip *t, const uint8_t *p)
{
    uint8_t *q = t->q;
    switch (type) {
    case TYPE_Q4_K:
    case TYPE_Q5_K:
        t->d[0] = u16(p), t->m[0] = u16(p + 2);
        split_scales(t->s, t->sm, p + 4);
        const uint8_t *low = p + (type == TYPE_Q4_K ? 16 : 48), *fifth = p + 16;
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 32; i++) {
                q[64 * j + i] = low[32 * j + i] & 15;
                q[64 * j + 32 + i] = low[32 * j + i] >> 4;
            }
        if (type == TYPE_Q5_K)
            for (int j = 0; j < 8; j++)
                for (int i = 0; i < 32; i++) q[32 * j + i] |= (fifth[i] >> j & 1) << 4;
        break;
    case TYPE_Q6_K:
        t->d[0] = u16(p + 208);
        memcpy(t->s, p + 192, 16);
        for (int h = 0; h < 2; h++)
            for (int i = 0; i < 32; i++) {
                uint8_t a = p[64 * h + i], b = p[64 * h + 32 + i], c = p[128 + 32 * h + i];
                q[128 * h + i] = (uint8_t)((a & 15) | (c & 3) << 4);
                q[128 * h + 32 + i] = (uint8_t)((b & 15) | (c >> 2 & 3) << 4);
                q[128 * h + 64 + i] = (uint8_t)(a >> 4 | (c >> 4 & 3) << 4);
                q[128 * h + 96 + i] = (uint8_t)(b >> 4 | (c >> 6) << 4);
            }
        break;
    case TYPE_Q3_K:
        t->d[0] = u16(p + 108);
        for (int j = 0; j < 16; j++)
            t->s[j] = (uint8_t)(((p[96 + j % 8] >> 4 * (j / 8) & 15) | (p[104 + j % 4] >> 2 * (j / 4) & 3) << 4) - 32);
        for (int j = 0; j < 8; j++)
            for (int i = 0; i < 32; i++)
                q[32 * j + i] = (uint8_t)((p[32 + 32 * (j / 4) + i] >> 2 * (j % 4) & 3) | (p[i] >> j & 1) << 2);
        break;
    case TYPE_Q2_K:
        t->d[0] = u16(p + 80), t->m[0] = u16(p + 82);
        memcpy(t->s, p, 16);
        for (int j = 0; j < 8; j++)
            for (int i = 0; i < 32; i++) q[32 * j + i] = p[16 + 32 * (j / 4) + i] >> 2 * (j % 4) & 3;
        break;
    case TYPE_IQ4_XS:
        t->d[0] = u16(p);
        for (int j = 0; j < 8; j++) {
            t->s[j] = (uint8_t)(((p[4 + j / 2] >> 4 * (j % 2) & 15) | (u16(p + 2) >> 2 * j & 3) << 4) - 32);
            split_nibbles(q + 32 * j, p + 8 + 16 * j);
        }
        break;
    default: codebook_of(type)->split(p, q, t->s); t->d[0] = u16(p);
    }
}

/* ---- Packing --------------------------------------------------------------------------------------------------- */

typedef uint8_t vector64 __attribute__((vector_size(64), may_alias, aligned(64)));

/* One block: 8 steps of 64 bytes, quants one a byte, to planes of bits. */
static void fold_bits(uint8_t bits, vector64 *out, const vector64 *step)
{
    if (bits == 8) {
        memcpy(out, step, BLOCK_STEPS * STEP_BYTES);
        return;
    }
    int at = 0, shift = 0; /* vectors written, bits done */
    if (bits >= 4) {
        for (int v = 0; v < 4; v++) out[v] = (step[v] & 15) | step[v + 4] << 4;
        at = 4, shift = 4;
    }
    if ((bits - shift) & 2) {
        for (int v = 0; v < 2; v++)
            out[at + v] = (step[v] >> shift & 3) | (step[v + 2] >> shift & 3) << 2 | (step[v + 4] >> shift & 3) << 4 |
                          (step[v + 6] >> shift & 3) << 6;
        at += 2, shift += 2;
    }
    if ((bits - shift) & 1) {
        vector64 all = step[0] >> shift & 1;
        for (int v = 1; v < 8; v++) all |= (step[v] >> shift & 1) << v;
        out[at] = all;
    }
}

/* The scales of 16 rows; out has scale_bytes. */
static void pack_scales(const struct layout *l, uint8_t *out, const struct strip *rows, uint32_t blocks)
{
    uint32_t subs = blocks * BLOCK_COLS / l->sub;
    uint16_t word;
    if (l->form == SCALE_F16 || l->form == SCALE_F16_MIN) {
        for (uint32_t b = 0; b < blocks; b++)
            for (int r = 0; r < HALF_ROWS; r++) memcpy(out + 2 * (HALF_ROWS * b + r), &rows[r].d[b], 2);
        if (l->form == SCALE_F16) return;
        out += 2 * HALF_ROWS * blocks;
        for (uint32_t b = 0; b < blocks; b++)
            for (int r = 0; r < HALF_ROWS; r++) memcpy(out + 2 * (HALF_ROWS * b + r), &rows[r].m[b], 2);
        return;
    }
    const bool shared = l->form == SCALE_ODD;
    if (l->form == SCALE_POWER) subs += subs % 2;
    for (uint32_t s = 0; s < subs; s += shared ? 2 : 1)
        for (int r = 0; r < HALF_ROWS; r++)
            *out++ = shared ? (uint8_t)(rows[r].s[s] | rows[r].s[s + 1] << 4) : rows[r].s[s];
    if (l->form == SCALE_POWER) return;
    if (l->form == SCALE_BYTE_MIN)
        for (uint32_t s = 0; s < subs; s++)
            for (int r = 0; r < HALF_ROWS; r++) *out++ = rows[r].sm[s];
    for (int r = 0; r < HALF_ROWS; r++, out += 2) word = rows[r].d[0], memcpy(out, &word, 2);
    if (layout_has_minima(l))
        for (int r = 0; r < HALF_ROWS; r++, out += 2) word = rows[r].m[0], memcpy(out, &word, 2);
}

static void pack_quants(enum type type, uint32_t cols, uint8_t *tile, const uint8_t *raw, uint32_t n, uint8_t raised)
{
    const struct layout *l = &layouts[type];
    size_t row_bytes = type_row_bytes(type, cols), strip_bytes = type_row_bytes(type, GROUP_COLS);
    vector64 step[BLOCK_STEPS];
    struct strip rows[HALF_ROWS];
    memset(rows, 0, sizeof rows);
    for (uint32_t c = 0; c < cols; c += GROUP_COLS, raw += strip_bytes) {
        uint32_t blocks = (cols - c < GROUP_COLS ? cols - c : GROUP_COLS) / BLOCK_COLS;
        const struct layout_group at = layout_group(l, blocks);
        for (uint32_t half = 0; half < 2; half++) {
            for (uint32_t r = 0; r < HALF_ROWS; r++) {
                if (half * HALF_ROWS + r >= n)
                    memset(&rows[r], 0, sizeof rows[r]); /* zero scales: whatever the quants, the weight is zero */
                else if (!layout_has_levels(l))
                    read_simple(type, &rows[r], raw + (half * HALF_ROWS + r) * row_bytes, blocks, raised);
                else
                    read_k(type, &rows[r], raw + (half * HALF_ROWS + r) * row_bytes);
            }
            for (uint32_t b = 0; b < blocks; b++) {
                uint8_t *bytes = (uint8_t *)step;
                for (int r = 0; r < HALF_ROWS; r++)
                    for (int s = 0; s < BLOCK_STEPS; s++)
                        memcpy(bytes + STEP_BYTES * s + 4 * r, rows[r].q + BLOCK_COLS * b + 4 * s, 4);
                fold_bits(l->bits, (vector64 *)(tile + at.quants[half] + b * (size_t)l->block_bytes), step);
            }
            pack_scales(l, tile + at.scales[half], rows, blocks);
        }
        tile += at.bytes;
    }
}

/* [n][cols] elements of `size` bytes to [cols][32 rows]; a strip of columns at a time so that every line of the
 * source is used while it is in L1. */
static void pack_float(uint8_t *tile, const uint8_t *raw, uint32_t cols, uint32_t n, uint32_t size, size_t row_bytes)
{
    if (n < TILE_ROWS) memset(tile, 0, (size_t)cols * TILE_ROWS * size);
    for (uint32_t c0 = 0; c0 < cols; c0 += 16) {
        uint32_t c1 = c0 + 16 < cols ? c0 + 16 : cols;
        for (uint32_t r = 0; r < n; r++) {
            const uint8_t *in = raw + r * row_bytes + (size_t)c0 * size;
            uint8_t *out = tile + ((size_t)c0 * TILE_ROWS + r) * size;
            if (size == 4)
                for (uint32_t c = c0; c < c1; c++, in += 4, out += 4 * TILE_ROWS) memcpy(out, in, 4);
            else
                for (uint32_t c = c0; c < c1; c++, in += 2, out += 2 * TILE_ROWS) memcpy(out, in, 2);
        }
    }
}

void layout_pack(enum type type, uint32_t cols, void *data, const void *raw, uint32_t row0, uint32_t n,
                 uint8_t raised)
{
    size_t row_bytes = type_row_bytes(type, cols), tile_bytes = layout_tile_bytes(type, cols);
    assert_always(row0 % TILE_ROWS == 0 && row_bytes);
    for (uint32_t r = 0; r < n; r += TILE_ROWS) {
        uint8_t *tile = (uint8_t *)data + (row0 + r) / TILE_ROWS * tile_bytes;
        const uint8_t *in = (const uint8_t *)raw + r * row_bytes;
        uint32_t count = n - r < TILE_ROWS ? n - r : TILE_ROWS;
        if (layouts[type].bits) {
            pack_quants(type, cols, tile, in, count, raised);
        } else if (type == TYPE_BF16) {
            pack_float(tile, in, cols / 2, count, 4, row_bytes); /* a pair of columns is moved as one */
            if (cols % 2) {
                uint8_t *last = tile + (size_t)(cols / 2) * TILE_ROWS * 4;
                memset(last, 0, TILE_ROWS * 4);
                for (uint32_t i = 0; i < count; i++)
                    memcpy(last + 4 * i, in + i * row_bytes + 2 * (size_t)(cols - 1), 2);
            }
        } else {
            pack_float(tile, in, cols, count, type == TYPE_F32 ? 4 : 2, row_bytes);
        }
    }
}

/* ---- One row back ---------------------------------------------------------------------------------------------- */

/* The quant of row r (of 16), column c (of 32), in a block of bits; 8 bits: the weight + 128. */
static int quant_at(const struct layout *l, const uint8_t *block, uint32_t r, uint32_t c, uint8_t raised)
{
    uint32_t step = c / 4, lane = 4 * r + c % 4, shift = 0;
    if (l->bits == 8) return (int8_t)(block[STEP_BYTES * step + lane] - raised) + 128;
    int q = 0;
    if (l->bits >= 4) {
        q = block[STEP_BYTES * (step % 4) + lane] >> 4 * (step / 4) & 15;
        block += 4 * STEP_BYTES;
        shift = 4;
    }
    if ((l->bits - shift) & 2) {
        q |= (block[STEP_BYTES * (step % 2) + lane] >> 2 * (step / 2) & 3) << shift;
        block += 2 * STEP_BYTES;
        shift += 2;
    }
    if ((l->bits - shift) & 1) q |= (block[lane] >> step & 1) << shift;
    return q;
}

static float half_at(const uint8_t *p, uint32_t i)
{
    return f16_widen(u16(p + 2 * i));
}

/* Scale and minimum (w = scale * q - min) of row r, sub-block s. */
static void scale_at(const struct layout *l, const uint8_t *p, uint32_t blocks, uint32_t r, uint32_t s, float *scale,
                     float *min)
{
    uint32_t subs = blocks * BLOCK_COLS / l->sub, at = HALF_ROWS * s + r;
    uint32_t bytes = l->form == SCALE_BYTE_MIN ? 2 * subs : l->form == SCALE_ODD ? subs / 2 : subs;
    const uint8_t *tail = p + HALF_ROWS * bytes;
    *scale = *min = 0;
    switch (l->form) {
    case SCALE_F16_MIN: *min = -half_at(p, HALF_ROWS * blocks + at); /* fall through */
    case SCALE_F16: *scale = half_at(p, at); break;
    case SCALE_POWER: *scale = ldexpf(1, p[at] - 128); break;
    case SCALE_SIGNED: *scale = half_at(tail, r) * (int8_t)p[at]; break;
    case SCALE_ODD:
        *scale = half_at(tail, r) * l->unit * (float)(2 * (p[HALF_ROWS * (s / 2) + r] >> 4 * (s % 2) & 15) + 1);
        break;
    case SCALE_PACKED_MIN:
        *scale = half_at(tail, r) * (p[at] & 15);
        *min = half_at(tail, HALF_ROWS + r) * (p[at] >> 4);
        break;
    case SCALE_BYTE_MIN:
        *scale = half_at(tail, r) * p[at];
        *min = half_at(tail, HALF_ROWS + r) * p[HALF_ROWS * subs + at];
        break;
    case SCALE_NONE: panic("a float type has no scales");
    }
}

static void unpack_quants(const struct layout *l, uint32_t cols, const uint8_t *tile, uint32_t row, uint8_t raised,
                          float *out)
{
    uint32_t half = row / HALF_ROWS, r = row % HALF_ROWS;
    for (uint32_t c0 = 0; c0 < cols; c0 += GROUP_COLS) {
        uint32_t blocks = (cols - c0 < GROUP_COLS ? cols - c0 : GROUP_COLS) / BLOCK_COLS;
        const struct layout_group at = layout_group(l, blocks);
        const uint8_t *quants = tile + at.quants[half], *scales = tile + at.scales[half];
        for (uint32_t s = 0; s < blocks * BLOCK_COLS / l->sub; s++) {
            float scale, min;
            scale_at(l, scales, blocks, r, s, &scale, &min);
            for (uint32_t i = 0; i < l->sub; i++) {
                uint32_t c = s * l->sub + i;
                int q = quant_at(l, quants + c / BLOCK_COLS * l->block_bytes, r, c % BLOCK_COLS, raised);
                int w = l->table ? l->table[q] : q - l->offset;
                out[c0 + c] = layout_has_minima(l) ? scale * (float)w - min : scale * (float)w;
            }
        }
        tile += at.bytes;
    }
}

void layout_unpack_row(enum type type, uint32_t cols, const void *data, uint32_t row, uint8_t raised, float *out)
{
    const uint8_t *tile = (const uint8_t *)data + row / TILE_ROWS * layout_tile_bytes(type, cols);
    uint32_t r = row % TILE_ROWS;
    if (layouts[type].bits) unpack_quants(&layouts[type], cols, tile, r, raised, out);
    else if (type == TYPE_F32)
        for (uint32_t c = 0; c < cols; c++) memcpy(out + c, tile + 4 * ((size_t)c * TILE_ROWS + r), 4);
    else if (type == TYPE_F16)
        for (uint32_t c = 0; c < cols; c++) out[c] = f16_widen(u16(tile + 2 * ((size_t)c * TILE_ROWS + r)));
    else
        for (uint32_t c = 0; c < cols; c++)
            out[c] = bf16_widen(u16(tile + 4 * ((size_t)(c / 2) * TILE_ROWS + r) + 2 * (c % 2)));
}
