/* Pictures encoded on a GPU: the reference implementation's rows, those of the cores for towers of awkward sizes, with
 * matrix units, where there are some, and without; the same bits beside others. */
#include "engine/gpu/vision/vision.h"
#include "engine/model/hf/safetensors.h"
#include "engine/vision/encoder.h"
#include "tests/check.h"
#include "tests/engine/gpu/rig.h"

static struct gpu_tower *tower_on(struct gpu *g, const struct tower *t)
{
    struct gpu_tower *out;
    struct team solo;
    tdm_error err;
    uint64_t done = 0;
    team_solo(&solo);
    struct gpu_tower_loading l = {.team = &solo, .done = &done, .total = gpu_tower_bytes(t)};
    tdm_status status = gpu_tower_new(&out, g, t, &err);
    if (!status) status = gpu_tower_load(out, t, &l, &err);
    if (status) CHECK_FAIL("%s", err.text);
    return status ? NULL : out;
}

/* The rows, malloc'ed; NULL when it failed. */
static float *encode(struct gpu_tower *t, const struct picture *p, uint32_t out, uint32_t *tokens)
{
    struct gpu_encoding *e;
    tdm_error err;
    bool more;
    tdm_status status = gpu_encoding_new(&e, t, p, &err);
    if (!status) do
            status = gpu_encoding_step(e, &more, &err);
        while (more);
    if (status) {
        CHECK_FAIL("%s", err.text);
        return NULL;
    }
    *tokens = gpu_encoding_tokens(e);
    size_t bytes = (size_t)*tokens * out * sizeof(float);
    float *rows = malloc(bytes);
    memcpy(rows, gpu_encoding_rows(e), bytes);
    gpu_encoding_free(e);
    return rows;
}

/* The root mean square of the differences, in terms of that of what is wanted. */
static double difference(const float *want, const float *got, size_t n)
{
    double squares = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)want[i] - (double)got[i];
        squares += d * d;
        all += (double)want[i] * (double)want[i];
    }
    return sqrt(squares / all);
}

static void compare(struct gpu_tower *t, struct vision_shape s, const char *file, double tolerance)
{
    char path[256];
    struct safetensors *f;
    snprintf(path, sizeof path, "goldens/families/qwen35-vision/%s.safetensors", file);
    REQUIRE(check_shared(path) && !safetensors_open(&f, check_shared(path), NULL));
    const struct safetensors_tensor *want = safetensors_find(f, "image_embeds"), *image = safetensors_find(f, "image");
    struct picture stored = {(uint32_t)image->shape[1], (uint32_t)image->shape[0], image->data}, p;
    uint32_t tokens = 0;
    s.min_pixels = 1024; /* as the model's processor has it; a projector doesn't say */
    REQUIRE(!patches_fit(&s, stored.width, stored.height, &p.width, &p.height, NULL));
    uint8_t *rgb = malloc(3 * (size_t)p.width * p.height);
    REQUIRE(!resize_bicubic(&stored, p.width, p.height, rgb, NULL));
    p.rgb = rgb;
    float *rows = encode(t, &p, s.out, &tokens), *again = encode(t, &p, s.out, &tokens);
    REQUIRE(rows && again && tokens == want->shape[0] && s.out == want->shape[1]);
    double found = difference((const float *)want->data, rows, (size_t)tokens * s.out);
    if (!(found <= tolerance)) CHECK_FAIL("%s: differs by %.2g", file, found);
    CHECK(!memcmp(rows, again, (size_t)tokens * s.out * sizeof *rows));
    free(rows);
    free(again);
    free(rgb);
    safetensors_close(f);
}

static void compare_all(const char *path)
{
    struct tower *t;
    tdm_error err;
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    const char *shared = check_shared(path);
    if (!shared) return;
    REQUIRE(!tower_open(&t, shared, &err));
    struct gpu *g = gpu_rig_open(NULL);
    REQUIRE(g);
    struct gpu_tower *there = tower_on(g, t);
    if (there) {
        compare(there, *tower_shape(t), "image-64x64", 2e-3);
        compare(there, *tower_shape(t), "image-128x96", 2e-3);
        compare(there, *tower_shape(t), "image-96x160", 2e-3);
        compare(there, *tower_shape(t), "image-150x101", 2e-2);
    }
    gpu_tower_free(there);
    gpu_close(g);
    tower_close(t);
}

TEST(a_checkpoint_s_tower_yields_the_reference_s_rows)
{
    compare_all("goldens/families/qwen35-vision");
}
TEST(a_projector_yields_the_reference_s_rows)
{
    compare_all("goldens/families/gguf/qwen35-vision-mmproj.gguf");
}

/* ---- Made-up towers ---------------------------------------------------------------------------------------------- */

static struct vision_shape shape_of(uint32_t head, uint32_t heads, uint32_t intermediate)
{
    return (struct vision_shape){.depth = 2,
                                 .width = head * heads,
                                 .heads = heads,
                                 .intermediate = intermediate,
                                 .out = 20,
                                 .patch = 14,
                                 .merge = 2,
                                 .frames = 2,
                                 .side = 5,
                                 .eps = 1e-6f,
                                 .theta = 10000,
                                 .min_pixels = 1,
                                 .max_pixels = 1 << 20,
                                 .mean = {0.5f, 0.4f, 0.3f},
                                 .deviation = {0.5f, 0.25f, 0.3f}};
}

static struct picture made_up(uint32_t columns, uint32_t rows)
{
    struct picture p = {28 * columns, 28 * rows, NULL};
    uint8_t *rgb = malloc(3 * (size_t)p.width * p.height);
    for (size_t i = 0; i < 3 * (size_t)p.width * p.height; i++) rgb[i] = (uint8_t)(i * 2654435761u >> 24);
    p.rgb = rgb;
    return p;
}

/* By the cores, malloc'ed. */
static float *expected(const struct tower *t, const struct picture *p)
{
    const struct kernels *k;
    struct vision_weights *w;
    struct encoding *e;
    struct team solo;
    team_solo(&solo);
    if (kernels_find(&k, "reference", NULL) || vision_weights_new(&w, t, k, &solo, NULL)) abort();
    if (encoding_new(&e, w, p, 1, NULL)) abort();
    while (encoding_step(e, &solo)) continue;
    size_t bytes = (size_t)encoding_tokens(e) * tower_shape(t)->out * sizeof(float);
    float *rows = malloc(bytes);
    memcpy(rows, encoding_rows(e), bytes);
    encoding_free(e);
    vision_weights_free(w);
    return rows;
}

/* units: with those of the device, if it has some. */
static void compare_made_up(const struct tower *t, const struct picture *p, bool units)
{
    struct gpu *g = gpu_rig_open(&(struct gpu_options){.no_gemm = !units});
    struct gpu_tower *there = g ? tower_on(g, t) : NULL;
    uint32_t tokens, out = tower_shape(t)->out;
    float *want = expected(t, p), *got = there ? encode(there, p, out, &tokens) : NULL;
    if (got) {
        double found = difference(want, got, (size_t)tokens * out);
        if (!(found <= 3e-3)) CHECK_FAIL("%u heads, units %d: differs by %.2g", tower_shape(t)->heads, units, found);
    }
    free(want);
    free(got);
    gpu_tower_free(there);
    gpu_close(g);
}

/* Heads, columns and patches that fill no block, or just one. */
TEST(awkward_towers_yield_the_cores_rows)
{
    static const struct {
        uint32_t head, heads, intermediate, columns, rows;
    } all[] = {{72, 2, 300, 5, 9}, {64, 2, 128, 4, 8}, {4, 5, 36, 1, 1}, {60, 1, 44, 13, 3}, {256, 1, 64, 2, 3}};
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct vision_shape s = shape_of(all[i].head, all[i].heads, all[i].intermediate);
        struct picture p = made_up(all[i].columns, all[i].rows);
        struct tower *t;
        REQUIRE(!tower_make(&t, &s, NULL));
        for (int units = 0; units < 2; units++) compare_made_up(t, &p, units);
        tower_close(t);
        free((void *)p.rgb);
    }
}

/* ---- Attention alone --------------------------------------------------------------------------------------------- */

#ifdef TANDEM_GPU
#include "engine/gpu/vision/private.h"

enum { PATCHES = 100, PADDED = 128, HEAD = 24, ROOM = 32 };

/* Scores to the base 2: of some queries they grow, so that each block of keys has a far larger one, of others they
 * fall, or are all the same. */
static double score(int query, int key)
{
    return (query % 3 - 1) * 1.5 * key;
}

static double expected_mean(int query, int dim)
{
    double sum = 0, all = 0, top = score(query, query % 3 == 2 ? PATCHES - 1 : 0);
    for (int k = 0; k < PATCHES; k++) {
        double weight = exp2(score(query, k) - top);
        sum += weight;
        all += weight * (k + dim);
    }
    return all / sum;
}

static tdm_status attend(struct gpu_tower *t, const struct block *heads, const struct block *out, tdm_error *err)
{
    struct gpu *g = t->gpu;
    device_lock(g);
    tdm_status status = device_begin(g, g->once, true, err);
    struct vision_recording r = {.tower = t, .commands = g->once, .status = status, .err = err};
    vision_attend(&r, &(struct vision_heads){heads->address, out->address, PATCHES, PADDED, ROOM});
    if (!r.status) device_barrier(g, g->once);
    status = r.status ? r.status : device_end(g, g->once, err);
    if (!status) status = device_run(g, &g->once, 1, err);
    device_unlock(g);
    return status;
}

static void check_attention(struct gpu *g, struct gpu_tower *t)
{
    static float values[3][PADDED][ROOM], found[PATCHES][ROOM];
    static uint16_t halves[3 * PADDED * ROOM], out[PATCHES * ROOM];
    struct block heads, result;
    tdm_error err;
    for (int i = 0; i < PATCHES; i++) {
        values[0][i][0] = (float)(i % 3 - 1);
        values[1][i][0] = 1.5f * (float)i;
        for (int d = 0; d < HEAD; d++) values[2][i][d] = (float)(i + d);
    }
    type_narrow(TYPE_F16, &values[0][0][0], halves, 3 * PADDED * ROOM);
    REQUIRE(!block_new(&heads, g, BLOCK_DEVICE, sizeof halves, &err));
    REQUIRE(!block_new(&result, g, BLOCK_DEVICE, sizeof out, &err));
    tdm_status status = device_write(g, &heads, 0, halves, sizeof halves, &err);
    if (!status) status = attend(t, &heads, &result, &err);
    if (!status) status = device_read(g, &result, 0, out, sizeof out, &err);
    if (status) CHECK_FAIL("%s", err.text);
    type_widen(TYPE_F16, out, &found[0][0], PATCHES * ROOM);
    for (int i = 0; i < PATCHES; i++)
        for (int d = 0; d < HEAD; d++) {
            double want = expected_mean(i, d);
            if (!(fabs((double)found[i][d] - want) <= 2e-3 * (want + 1)))
                CHECK_FAIL("query %d, dim %d: %g, expected %g", i, d, (double)found[i][d], want);
        }
    block_free(&heads, g);
    block_free(&result, g);
}

TEST(attention_takes_the_largest_scores_wherever_they_are)
{
    struct vision_shape s = shape_of(HEAD, 1, 32);
    struct tower *t;
    tdm_error err;
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    REQUIRE(!tower_make(&t, &s, NULL));
    for (int units = 0; units < 2; units++) {
        struct gpu_tower *there;
        struct gpu *g = gpu_rig_open(&(struct gpu_options){.no_gemm = !units});
        REQUIRE(g && !gpu_tower_new(&there, g, t, &err));
        CHECK(!there->tilings == !(units && g->products.halves.m));
        check_attention(g, there);
        gpu_tower_free(there);
        gpu_close(g);
    }
    tower_close(t);
}
#else
TEST(attention_takes_the_largest_scores_wherever_they_are)
{
    SKIP(gpu_absence());
}
#endif

/* ---- Beside each other ------------------------------------------------------------------------------------------- */

/* Two encodings go on step by step beside each other, one in memory that a larger one had, one that is given up. */
TEST(others_beside_it_change_no_bit)
{
    struct vision_shape s = shape_of(36, 2, 100);
    struct picture large = made_up(6, 7), small = made_up(3, 2);
    struct gpu_encoding *e[3];
    struct tower *t;
    uint32_t tokens;
    tdm_error err;
    bool more = true, other;
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    REQUIRE(!tower_make(&t, &s, NULL));
    struct gpu *g = gpu_rig_open(NULL);
    struct gpu_tower *there = g ? tower_on(g, t) : NULL;
    REQUIRE(there);
    float *alone = encode(there, &small, s.out, &tokens);
    free(encode(there, &large, s.out, &tokens));
    const struct picture *pictures[] = {&small, &large, &small};
    for (int i = 0; i < 3; i++) REQUIRE(!gpu_encoding_new(&e[i], there, pictures[i], &err));
    REQUIRE(!gpu_encoding_step(e[1], &other, &err));
    for (int i = 0; more || other; i++) {
        REQUIRE(!gpu_encoding_step(e[0], &more, &err) && !gpu_encoding_step(e[2], &other, &err));
        if (i == 1) gpu_encoding_free(e[1]);
    }
    CHECK_INT(s.depth + 2, gpu_encoding_done(e[0]));
    size_t bytes = (size_t)gpu_encoding_tokens(e[0]) * s.out * sizeof(float);
    CHECK(alone && !memcmp(alone, gpu_encoding_rows(e[0]), bytes));
    CHECK(!memcmp(gpu_encoding_rows(e[0]), gpu_encoding_rows(e[2]), bytes));
    gpu_encoding_free(e[0]);
    gpu_encoding_free(e[2]);
    free(alone);
    free((void *)large.rgb);
    free((void *)small.rgb);
    gpu_tower_free(there);
    gpu_close(g);
    tower_close(t);
}

TEST_MAIN(T(a_checkpoint_s_tower_yields_the_reference_s_rows), T(a_projector_yields_the_reference_s_rows),
          T(awkward_towers_yield_the_cores_rows), T(attention_takes_the_largest_scores_wherever_they_are),
          T(others_beside_it_change_no_bit))
