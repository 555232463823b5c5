#include "tests/engine/forward/coarse.h"

#include "engine/model/codebook.h"
#include "engine/model/gguf/gguf.h"
#include "engine/model/half.h"
#include "engine/os/atomic_file.h"
#include "tests/check.h"

enum { MAX_COMBINATIONS = 6561 /* 3^8; 8^4 are fewer */, BLOCK = TYPE_MAX_BLOCK };

/* What rounding to a codebook type takes. */
struct grid {
    enum type type;
    const struct codebook *book;
    int levels, group;                   /* magnitudes; elements that share an entry */
    bool even;                           /* 8 elements have an even number of signs */
    float spread;                        /* of the largest magnitude, in standard deviations */
    uint16_t nearest[MAX_COMBINATIONS];  /* the entry for the magnitudes' places, the first counting most */
};

/* Puts entry k in place i of a block that is zero there. */
static void put_entry(enum type type, uint8_t *p, int i, uint32_t k)
{
    switch (type) {
    case TYPE_IQ2_XXS:
        p[2 + 8 * (i / 4) + i % 4] = (uint8_t)k;
        break;
    case TYPE_IQ2_XS:
        p[2 + 2 * i] = (uint8_t)k, p[3 + 2 * i] |= (uint8_t)(k >> 8);
        break;
    case TYPE_IQ2_S:
        p[2 + i] = (uint8_t)k, p[66 + i / 4] |= (uint8_t)((k >> 8) << 2 * (i % 4));
        break;
    case TYPE_IQ3_XXS:
        p[2 + i] = (uint8_t)k;
        break;
    default:
        p[2 + i] = (uint8_t)k, p[66 + i / 8] |= (uint8_t)((k >> 8) << i % 8);
    }
}

/* The signs of 8 elements, number i of the block: seven bits of them in some types. */
static void put_signs(enum type type, uint8_t *p, int i, uint32_t signs)
{
    uint32_t word;
    switch (type) {
    case TYPE_IQ2_XS:
        p[3 + 2 * i] |= (uint8_t)(signs << 1);
        break;
    case TYPE_IQ2_S:
        p[34 + i] = (uint8_t)signs;
        break;
    case TYPE_IQ3_S:
        p[74 + i] = (uint8_t)signs;
        break;
    default:
        p += type == TYPE_IQ2_XXS ? 6 + 8 * (i / 4) : 66 + 4 * (i / 4);
        memcpy(&word, p, 4);
        word |= (signs & 127) << 7 * (i % 4);
        memcpy(p, &word, 4);
    }
}

static void put_scale(enum type type, uint8_t *p, int j, uint32_t scale)
{
    if (type == TYPE_IQ2_XXS)
        p[2 + 8 * j + 7] |= (uint8_t)(scale << 4);
    else if (type == TYPE_IQ3_XXS)
        p[66 + 4 * j + 3] |= (uint8_t)(scale << 4);
    else
        p[(type == TYPE_IQ2_XS ? 66 : type == TYPE_IQ2_S ? 74 : 106) + j / 2] |= (uint8_t)(scale << 4 * (j % 2));
}

/* The entries as the engine reads them, and of them the nearest to each combination of magnitudes. */
static void make_grid(struct grid *g, enum type type)
{
    static uint8_t entries[1024][8];
    uint32_t count = type == TYPE_IQ2_S                          ? 1024
                     : type == TYPE_IQ2_XS || type == TYPE_IQ3_S ? 512
                                                                 : 256,
             combinations = 1;
    bool three = type == TYPE_IQ3_XXS || type == TYPE_IQ3_S;
    *g = (struct grid){.type = type,
                       .book = codebook_of(type),
                       .levels = three ? 8 : 3,
                       .group = three ? 4 : 8,
                       .even = type == TYPE_IQ2_XXS || type == TYPE_IQ2_XS || type == TYPE_IQ3_XXS,
                       .spread = three ? 2.5f : 1.8f};
    for (uint32_t k = 0; k < count; k++) {
        uint8_t block[128] = {0}, q[BLOCK], s[16];
        put_entry(type, block, 0, k);
        g->book->split(block, q, s);
        memcpy(entries[k], q, (size_t)g->group);
    }
    for (int i = 0; i < g->group; i++) combinations *= (uint32_t)g->levels;
    for (uint32_t c = 0; c < combinations; c++) {
        int least = INT32_MAX, want[8];
        uint32_t rest = c;
        for (int i = g->group; i-- > 0; rest /= (uint32_t)g->levels)
            want[i] = g->book->values[rest % (uint32_t)g->levels];
        for (uint32_t k = 0; k < count && least; k++) {
            int far = 0;
            for (int i = 0; i < g->group; i++) {
                int d = g->book->values[entries[k][i]] - want[i];
                far += d * d;
            }
            if (far < least) least = far, g->nearest[c] = (uint16_t)k;
        }
    }
}

/* 8 elements, number i of the block, under scale a. */
static void round_eight(const struct grid *g, const float *x, float a, uint8_t *p, int i)
{
    uint32_t signs = 0, small = 0, place[8];
    for (uint32_t e = 0; e < 8; e++) {
        float size = a > 0 ? fabsf(x[e]) / a : 0;
        place[e] = 0;
        while ((int)place[e] + 1 < g->levels &&
               2 * size > (float)(g->book->values[place[e]] + g->book->values[place[e] + 1]))
            place[e]++;
        signs |= (uint32_t)(x[e] < 0) << e;
        if (fabsf(x[e]) < fabsf(x[small])) small = e;
    }
    if (g->even && __builtin_parity(signs)) signs ^= 1u << small;
    put_signs(g->type, p, i, signs);
    for (int first = 0; first < 8; first += g->group) {
        uint32_t c = 0;
        for (int e = 0; e < g->group; e++) c = c * (uint32_t)g->levels + place[first + e];
        put_entry(g->type, p, (8 * i + first) / g->group, g->nearest[c]);
    }
}

static void round_block(const struct grid *g, const float *x, uint8_t *p)
{
    int sub = g->book->sub, subs = BLOCK / sub;
    float ideal[16], most = 0;
    memset(p, 0, type_info(g->type)->block_bytes);
    for (int j = 0; j < subs; j++) {
        float sum = 0;
        for (int e = 0; e < sub; e++) sum += x[sub * j + e] * x[sub * j + e];
        ideal[j] = sqrtf(sum / (float)sub) * g->spread / (float)g->book->values[g->levels - 1];
        most = fmaxf(most, ideal[j]);
    }
    uint16_t h = f16_narrow(most / (31 * g->book->unit));
    float d = f16_widen(h) * g->book->unit;
    memcpy(p, &h, 2);
    for (int j = 0; j < subs; j++) {
        long s = d > 0 ? lrintf((ideal[j] / d - 1) / 2) : 0;
        s = s < 0 ? 0 : s > 15 ? 15 : s;
        put_scale(g->type, p, j, (uint32_t)s);
        for (int i = sub * j / 8; i < sub * (j + 1) / 8; i++) round_eight(g, x + 8 * i, d * (float)(2 * s + 1), p, i);
    }
}

static bool takes(const struct gguf_tensor *t, enum type type, int layers)
{
    return t->dims == 2 && t->type != TYPE_F32 && !strncmp(t->name.bytes, "blk.", 4) &&
           atoi(t->name.bytes + 4) < layers && type_row_bytes(type, t->shape[0]);
}

static tdm_status write_rounded(struct gguf_writer *w, const struct gguf_tensor *t, const struct grid *g,
                                enum type type, tdm_error *err)
{
    uint64_t n = t->shape[0] * t->shape[1];
    const struct type_info *info = type_info(type);
    float *x = malloc(n * sizeof *x);
    uint8_t *out = malloc(n / info->block * info->block_bytes), *p = out;
    type_widen(t->type, t->data, x, n);
    for (uint64_t i = 0; i < n; i += info->block, p += info->block_bytes)
        if (type == TYPE_MXFP4)
            type_narrow(type, x + i, p, 32);
        else
            round_block(g, x + i, p);
    tdm_status status = gguf_write_data(w, out, (uint64_t)(p - out), err);
    free(out);
    free(x);
    return status;
}

bool coarse_write(const char *from, const char *to, enum type type, int layers)
{
    static struct grid grid;
    struct gguf *g;
    struct atomic_file *f;
    tdm_error err;
    const struct gguf_key *keys;
    const struct gguf_tensor *tensors;
    if (gguf_open(&g, from, &err) || atomic_file_new(&f, to, &err)) {
        CHECK_FAIL("%s", err.text);
        return false;
    }
    if (type != TYPE_MXFP4) make_grid(&grid, type);
    struct gguf_writer *w = gguf_writer_new();
    size_t key_count = gguf_keys(g, &keys), count = gguf_tensors(g, &tensors);
    for (size_t i = 0; i < key_count; i++) gguf_add_key(w, &keys[i]);
    for (size_t i = 0; i < count; i++) {
        const struct gguf_tensor *t = &tensors[i];
        gguf_add_tensor(w, t->name, t->dims, t->shape, takes(t, type, layers) ? type : t->type);
    }
    tdm_status status = gguf_write_start(w, f, &err);
    for (size_t i = 0; i < count && !status; i++)
        status = takes(&tensors[i], type, layers) ? write_rounded(w, &tensors[i], &grid, type, &err)
                                          : gguf_write_data(w, tensors[i].data, tensors[i].bytes, &err);
    if (!status) status = atomic_file_commit(f, &err);
    if (status) CHECK_FAIL("%s", err.text);
    gguf_writer_free(w);
    gguf_close(g);
    return !status;
}
