/* Tensor types: widening against values computed outside this program from the formats' descriptions (on blocks of
 * pseudo-random bytes), narrowing against its definition. */
#include "tests/check.h"

#include "engine/model/half.h"
#include "engine/model/type.h"

static uint64_t fnv(const void *data, size_t n)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++) h = (h ^ ((const uint8_t *)data)[i]) * 0x100000001b3;
    return h;
}

static uint64_t lcg;

static uint8_t random_byte(void)
{
    lcg = lcg * 6364136223846793005u + 1442695040888963407u;
    return (uint8_t)(lcg >> 56);
}

/* Where a block's float16 scales are. */
static int scales_of(enum type type, int at[2])
{
    at[0] = 0, at[1] = 2;
    switch (type) {
    case TYPE_Q6_K:
        at[0] = 208;
        return 1;
    case TYPE_Q3_K:
        at[0] = 108;
        return 1;
    case TYPE_Q2_K:
        at[0] = 80, at[1] = 82;
        return 2;
    case TYPE_Q4_1:
    case TYPE_Q5_1:
    case TYPE_Q4_K:
    case TYPE_Q5_K:
        return 2;
    default:
        return 1;
    }
}

TEST(widens_every_quantised_type)
{
    static const struct {
        enum type type;
        uint64_t seed, hash; /* of the four blocks' values */
        float second, seventeenth_last, last;
    } cases[] = {
        {TYPE_Q8_0, 4034, 0x9fde78b7f562e53e, -0x1.bf33000000000p+2f, 0x1.1528800000000p+3f, -0x1.e2f8000000000p-1f},
        {TYPE_Q4_0, 4018, 0xe416e56c20517cd7, 0x0.0p+0f, 0x1.7840000000000p-4f, -0x1.4938000000000p-4f},
        {TYPE_Q4_1, 4020, 0xc55e290ee0fd6f3b, 0x1.2e40000000000p-5f, 0x1.3ebc000000000p-2f, 0x1.20a0000000000p-5f},
        {TYPE_Q5_0, 4022, 0x0700ebb563273c91, -0x1.140c000000000p-2f, 0x0.0p+0f, 0x1.8540000000000p-2f},
        {TYPE_Q5_1, 4024, 0x96d14395a15084c5, -0x1.3d40000000000p-1f, 0x1.3818000000000p-4f, 0x1.c18c000000000p-3f},
        {TYPE_Q4_K, 4144, 0x9900c6c0a521f1dc, -0x1.8d6e000000000p+2f, -0x1.0e64b00000000p+3f, -0x1.9421400000000p+3f},
        {TYPE_Q5_K, 4176, 0x44cb855a88ab5982, -0x1.96b5000000000p+2f, -0x1.30afa00000000p+4f, -0x1.64db000000000p+1f},
        {TYPE_Q6_K, 4210, 0xd2b2207a9adb3d1b, -0x1.1b1e000000000p+5f, -0x1.7943000000000p+5f, 0x1.037e000000000p+4f},
        {TYPE_Q3_K, 4110, 0x69c0e2f9e3496878, 0x1.3e10000000000p+0f, -0x1.1030000000000p-2f, 0x0.0p+0f},
        {TYPE_Q2_K, 4084, 0x78869fbee387f0ae, 0x1.5699000000000p-1f, -0x1.f1d0000000000p-1f, -0x1.ba80000000000p-2f},
        {TYPE_IQ4_NL, 6018, 0xf8703ba5037e9244, 0x1.032a000000000p-1f, -0x1.09b4000000000p+1f, 0x1.222d000000000p+2f},
        {TYPE_IQ4_XS, 6136, 0x8c295b289eff5c19, 0x1.08d8000000000p+8f, -0x1.26ed800000000p+0f, -0x1.7390000000000p-4f},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct type_info *info = type_info(cases[k].type);
        uint8_t blocks[4 * 210];
        float values[4 * 256];
        int at[2], scales = scales_of(cases[k].type, at);
        lcg = cases[k].seed;
        for (uint32_t i = 0; i < 4 * info->block_bytes; i++) blocks[i] = random_byte();
        for (int b = 0; b < 4; b++) /* scales of a sane size */
            for (int s = 0; s < scales; s++) {
                uint8_t *top = &blocks[(uint32_t)b * info->block_bytes + (uint32_t)at[s] + 1];
                *top = (uint8_t)((*top & 0x8f) | 0x20);
            }
        size_t n = 4 * info->block;
        type_widen(cases[k].type, blocks, values, n);
        for (size_t i = 0; i < n; i++) values[i] += 0.0f; /* -0 becomes 0 */
        CHECK_NEAR(cases[k].second, values[1], 0);
        CHECK_NEAR(cases[k].seventeenth_last, values[n - 17], 0);
        CHECK_NEAR(cases[k].last, values[n - 1], 0);
        if (cases[k].hash != fnv(values, n * sizeof *values)) CHECK_FAIL("%s differs", info->name);
    }
}

TEST(half_types_round_to_nearest_even)
{
    static const struct {
        float value;
        uint16_t f16, bf16;
    } cases[] = {
        {0.0f, 0, 0},
        {-0.0f, 0x8000, 0x8000},
        {1.0f, 0x3c00, 0x3f80},
        {-2.0f, 0xc000, 0xc000},
        {65504.0f, 0x7bff, 0x4780},
        {65519.0f, 0x7bff, 0x4780},
        {65520.0f, 0x7c00, 0x4780},
        {0x1p-14f, 0x0400, 0x3880},
        {0x1p-24f, 0x0001, 0x3380},
        {0x1p-25f, 0x0000, 0x3300},   /* a tie: to even */
        {0x1.8p-24f, 0x0002, 0x33c0}, /* a tie: to even */
        {0x1.002p0f, 0x3c00, 0x3f80}, /* a tie for float16 */
        {0x1.006p0f, 0x3c02, 0x3f80},
        {0x1.01p0f, 0x3c04, 0x3f80}, /* a tie for bfloat16 */
        {0x1.03p0f, 0x3c0c, 0x3f82},
        {INFINITY, 0x7c00, 0x7f80},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t h, b;
        type_narrow(TYPE_F16, &cases[i].value, &h, 1);
        type_narrow(TYPE_BF16, &cases[i].value, &b, 1);
        CHECK_INT(cases[i].f16, h);
        CHECK_INT(cases[i].bf16, b);
    }
    CHECK(isnan(f16_widen(f16_narrow(NAN))) && isnan(bf16_widen(bf16_narrow(NAN))));
}

TEST(every_half_widens_and_narrows_to_itself)
{
    for (uint32_t i = 0; i <= 0xffff; i++) {
        if ((i & 0x7c00) != 0x7c00 || !(i & 0x3ff))
            if (f16_narrow(f16_widen((uint16_t)i)) != i) CHECK_FAIL("float16 %04x", i);
        if ((i & 0x7f80) != 0x7f80 || !(i & 0x7f))
            if (bf16_narrow(bf16_widen((uint16_t)i)) != i) CHECK_FAIL("bfloat16 %04x", i);
    }
    CHECK_NEAR(0x1.ffcp15, f16_widen(0x7bff), 0);
    CHECK_NEAR(0x1p-24, f16_widen(1), 0);
    CHECK_NEAR(-0x1.554p-2, f16_widen(0xb555), 0);
}

TEST(q8_0_and_q4_0_follow_their_definitions)
{
    float x[32], y[32];
    uint8_t block[34];
    for (int i = 0; i < 32; i++) x[i] = (float)(i - 15) / 4; /* -3.75 .. 4 */
    type_narrow(TYPE_Q8_0, x, block, 32);
    CHECK_INT(f16_narrow(4.0f / 127), block[0] | block[1] << 8);
    for (int i = 0; i < 32; i++) CHECK_INT((int)roundf(x[i] * (1 / (4.0f / 127))), (int8_t)block[2 + i]);
    type_narrow(TYPE_Q4_0, x, block, 32);
    CHECK_INT(f16_narrow(-0.5f), block[0] | block[1] << 8);
    for (int i = 0; i < 16; i++) CHECK_INT(i ? (int)(x[i] / -0.5f + 8.5f) : 15, block[2 + i] & 15);
    CHECK_INT(0, block[17] >> 4);
    /* Halves go away from zero; the value just below a half does not. */
    float halves[32] = {127, 0.5f, -0.5f, 1.5f, -2.5f, 0.49999997f};
    type_narrow(TYPE_Q8_0, halves, block, 32);
    CHECK_INT(1, (int8_t)block[3]);
    CHECK_INT(-1, (int8_t)block[4]);
    CHECK_INT(2, (int8_t)block[5]);
    CHECK_INT(-3, (int8_t)block[6]);
    CHECK_INT(0, (int8_t)block[7]);
    /* The first of two equal magnitudes gives Q4_0 its sign. */
    float tie[32] = {0, -3, 3};
    type_narrow(TYPE_Q4_0, tie, block, 32);
    type_widen(TYPE_Q4_0, block, y, 32);
    CHECK_NEAR(-3, y[1], 0);
}

/* The error of each type stays within half a step of the coarsest sub-block, and zeros stay zeros. */
TEST(narrowing_is_close)
{
    static const struct {
        enum type type;
        float bound; /* relative to the largest magnitude */
    } cases[] = {{TYPE_F32, 0},       {TYPE_F16, 0x1p-11f}, {TYPE_BF16, 0x1p-8f}, {TYPE_Q8_0, 0.0045f},
                 {TYPE_Q4_0, 0.126f}, {TYPE_Q4_K, 0.1f},    {TYPE_Q6_K, 0.036f}};
    float x[512], y[512];
    uint8_t row[512 * 4];
    lcg = 7;
    for (int i = 0; i < 512; i++) x[i] = (float)(random_byte() - 128) / 128 + (float)random_byte() / 32768;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        type_narrow(cases[k].type, x, row, 512);
        type_widen(cases[k].type, row, y, 512);
        float worst = 0;
        for (int i = 0; i < 512; i++) worst = fmaxf(worst, fabsf(x[i] - y[i]));
        if (!(worst <= cases[k].bound)) CHECK_FAIL("%s: error %g", type_info(cases[k].type)->name, (double)worst);
        float zeros[512] = {0};
        type_narrow(cases[k].type, zeros, row, 512);
        type_widen(cases[k].type, row, y, 512);
        for (int i = 0; i < 512; i++) CHECK_NEAR(0, y[i], 0);
    }
}

TEST(wild_values_narrow_to_finite_blocks)
{
    static const enum type types[] = {TYPE_Q8_0, TYPE_Q4_0, TYPE_Q4_K, TYPE_Q6_K};
    float x[256], y[256];
    uint8_t row[1024];
    for (int i = 0; i < 256; i++) x[i] = (float[]){NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f, -1e-39f, 1}[i % 8];
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        type_narrow(types[k], x, row, 256);
        type_widen(types[k], row, y, 256);
        for (int i = 0; i < 256; i++) CHECK(isfinite(y[i]));
    }
}

TEST(names_and_numbers)
{
    CHECK_INT(TYPE_Q4_K, type_from_name("Q4_K"));
    CHECK_INT(TYPE_COUNT, type_from_name("q4"));
    CHECK_INT(TYPE_IQ4_XS, type_from_gguf(23));
    CHECK_INT(TYPE_IQ2_XXS, type_from_gguf(16));
    CHECK_INT(TYPE_MXFP4, type_from_gguf(39));
    CHECK_INT(TYPE_COUNT, type_from_gguf(19));
    CHECK_STR("IQ1_S", type_foreign_name(19));
    CHECK(type_foreign_name(12345) == NULL);
    char names[200];
    type_names(names, sizeof names);
    CHECK_STR("f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k, q3_k, q2_k, iq4_nl, iq4_xs, iq2_xxs, "
              "iq2_xs, iq2_s, iq3_xxs, iq3_s, mxfp4",
              names);
    CHECK_INT(210 * 3, type_row_bytes(TYPE_Q6_K, 768));
    CHECK_INT(0, type_row_bytes(TYPE_Q6_K, 100));
    for (int t = 0; t < TYPE_COUNT; t++) {
        const struct type_info *i = type_info((enum type)t);
        CHECK(i->name && TYPE_MAX_BLOCK % i->block == 0);
        CHECK_INT(t, type_from_name(i->name));
        CHECK_INT(t, type_from_gguf(i->gguf));
    }
}

TEST_MAIN(T(widens_every_quantised_type), T(half_types_round_to_nearest_even),
          T(every_half_widens_and_narrows_to_itself), T(q8_0_and_q4_0_follow_their_definitions), T(narrowing_is_close),
          T(wild_values_narrow_to_finite_blocks), T(names_and_numbers))
