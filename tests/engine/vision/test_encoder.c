/* The vision tower on every kernel set: against the reference implementation's rows, against itself at other numbers of
 * threads, and made-up towers of awkward sizes against a plain float64 computation. */
#include "tests/check.h"

#include "engine/model/hf/safetensors.h"
#include "engine/vision/encoder.h"
#include "engine/vision/tower_private.h"
#include "tests/engine/kernel/tested.h"

static const struct kernels *sets[TESTED_SETS];
static int set_count;

/* The rows of a picture, malloc'ed. */
static float *encode(const struct vision_weights *w, const struct picture *p, int threads, uint32_t *tokens)
{
    struct team *team;
    struct encoding *e;
    if (team_open(&team, threads, NULL, NULL)) abort();
    if (encoding_new(&e, w, p, threads, NULL)) abort();
    for (uint32_t i = 0; i < encoding_steps(e); i++)
        if (!encoding_step(e, team)) abort();
    if (encoding_step(e, team)) abort();
    *tokens = encoding_tokens(e);
    size_t bytes = (size_t)*tokens * w->shape.out * sizeof(float);
    float *rows = malloc(bytes);
    memcpy(rows, encoding_rows(e), bytes);
    encoding_free(e);
    team_close(team);
    return rows;
}

static struct vision_weights *weights_of(const struct tower *t, const struct kernels *k)
{
    struct team solo;
    struct vision_weights *w;
    tdm_error err = {0};
    team_solo(&solo);
    if (vision_weights_new(&w, t, k, &solo, &err)) CHECK_FAIL("%s: %s", k->name, err.text);
    CHECK(!w || w->bytes == vision_weights_bytes(t, k));
    return w;
}

/* Largest difference, as a share of the largest value; the root of the mean square in *relative. */
static double difference(const float *want, const float *got, size_t n, double *relative)
{
    double most = 0, largest = 0, squares = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)want[i] - (double)got[i];
        if (!(fabs(d) <= most)) most = fabs(d);
        if (fabs((double)want[i]) > largest) largest = fabs((double)want[i]);
        squares += d * d;
        all += (double)want[i] * (double)want[i];
    }
    *relative = sqrt(squares / all);
    return most / largest;
}

/* ---- The reference's towers -------------------------------------------------------------------------------------- */

static void fit(const struct vision_shape *s, const struct safetensors *f, const char *name, struct picture *out)
{
    const struct safetensors_tensor *t = safetensors_find(f, name);
    struct picture p = {(uint32_t)t->shape[1], (uint32_t)t->shape[0], t->data};
    if (patches_fit(s, p.width, p.height, &out->width, &out->height, NULL)) abort();
    uint8_t *rgb = malloc(3 * (size_t)out->width * out->height);
    if (resize_bicubic(&p, out->width, out->height, rgb, NULL)) abort();
    out->rgb = rgb;
}

static void compare(const struct tower *t, const struct kernels *k, const char *file, double tolerance)
{
    char path[256];
    snprintf(path, sizeof path, "goldens/families/qwen35-vision/%s.safetensors", file);
    const char *shared = check_shared(path);
    struct safetensors *f;
    struct picture p;
    uint32_t tokens;
    double relative;
    REQUIRE(shared && !safetensors_open(&f, shared, NULL));
    struct vision_weights *w = weights_of(t, k);
    const struct safetensors_tensor *want = safetensors_find(f, "image_embeds");
    REQUIRE(w && want);
    struct vision_shape s = w->shape;
    s.min_pixels = 1024; /* as the model's processor has it; a projector doesn't say */
    fit(&s, f, "image", &p);
    float *rows = encode(w, &p, 1, &tokens);
    REQUIRE(tokens == want->shape[0] && s.out == want->shape[1]);
    double most = difference((const float *)want->data, rows, (size_t)tokens * s.out, &relative);
    bool exact = !strcmp(k->name, "reference");
    if (!(exact ? most <= tolerance : relative <= 0.02 + tolerance))
        CHECK_FAIL("%s, %s: differs by %.2g of the largest, %.2g in all", k->name, file, most, relative);
    free(rows);
    free((void *)p.rgb);
    vision_weights_free(w);
    safetensors_close(f);
}

static void compare_all(const char *path)
{
    static const struct {
        const char *file;
        double tolerance;
    } pictures[] = {{"image-64x64", 2e-3}, {"image-128x96", 2e-3}, {"image-96x160", 2e-3}, {"image-150x101", 2e-2}};
    const char *shared = check_shared(path);
    struct tower *t;
    tdm_error err = {0};
    if (!shared) return;
    if (tower_open(&t, shared, &err)) {
        CHECK_FAIL("%s", err.text);
        return;
    }
    for (int s = 0; s < set_count; s++)
        for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
            compare(t, sets[s], pictures[i].file, pictures[i].tolerance);
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

/* What a tower computes, in float64 and as plainly as it can be written. */
struct plain {
    const struct tower *t;
    const struct vision_shape *s;
    uint32_t n, columns, rows;
    double *x;
};

static double value(const struct plain *p, enum vision_role role, uint32_t block, uint64_t row, uint64_t col)
{
    const struct vision_tensor *t = tower_tensor(p->t, role, block);
    uint16_t half;
    memcpy(&half, t->data + 2 * (row * t->cols + col), 2);
    uint32_t bits = (uint32_t)half << 16;
    float f;
    memcpy(&f, &bits, 4);
    return (double)f;
}

/* out[n][rows] = W in[n][cols] + bias, malloc'ed. */
static double *affine(const struct plain *p, enum vision_role role, enum vision_role bias, uint32_t block,
                      const double *in, uint32_t n)
{
    const struct vision_tensor *t = tower_tensor(p->t, role, block);
    double *out = malloc(sizeof *out * n * t->rows);
    for (uint64_t r = 0; r < t->rows; r++) {
        double *w = malloc(sizeof *w * t->cols), b = value(p, bias, block, 0, r);
        for (uint64_t c = 0; c < t->cols; c++) w[c] = value(p, role, block, r, c);
        for (uint32_t i = 0; i < n; i++) {
            double sum = b;
            for (uint64_t c = 0; c < t->cols; c++) sum += w[c] * in[i * t->cols + c];
            out[i * t->rows + r] = sum;
        }
        free(w);
    }
    return out;
}

static double *normalised(const struct plain *p, enum vision_role role, enum vision_role bias, uint32_t block)
{
    uint32_t width = p->s->width;
    double *out = malloc(sizeof *out * p->n * width);
    for (uint32_t i = 0; i < p->n; i++) {
        const double *x = p->x + (size_t)i * width;
        double mean = 0, variance = 0;
        for (uint32_t c = 0; c < width; c++) mean += x[c] / width;
        for (uint32_t c = 0; c < width; c++) variance += (x[c] - mean) * (x[c] - mean) / width;
        for (uint32_t c = 0; c < width; c++)
            out[(size_t)i * width + c] =
                (x[c] - mean) / sqrt(variance + (double)p->s->eps) * value(p, role, block, 0, c) +
                value(p, bias, block, 0, c);
    }
    return out;
}

static void turn(const struct plain *p, double *v, uint32_t patch)
{
    uint32_t dims = vision_head_dim(p->s), half = dims / 2, quarter = half / 2, row, column;
    patches_place(p->s, p->columns, patch, &row, &column);
    for (uint32_t j = 0; j < half; j++) {
        double angle = (j < quarter ? row : column) * pow((double)p->s->theta, -(double)(j % quarter) / quarter);
        double a = v[j], b = v[j + half];
        v[j] = a * cos(angle) - b * sin(angle);
        v[j + half] = b * cos(angle) + a * sin(angle);
    }
}

static void attention(const struct plain *p, double *qkv, double *out)
{
    uint32_t dims = vision_head_dim(p->s), width = p->s->width;
    double *weight = malloc(sizeof *weight * p->n);
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t h = 0; h < 2 * p->s->heads; h++) turn(p, qkv + (size_t)i * 3 * width + h * dims, i);
    for (uint32_t h = 0; h < p->s->heads; h++)
        for (uint32_t i = 0; i < p->n; i++) {
            double sum = 0, *q = qkv + (size_t)i * 3 * width + h * dims, *o = out + (size_t)i * width + h * dims;
            for (uint32_t j = 0; j < p->n; j++) {
                double *key = qkv + (size_t)j * 3 * width + width + h * dims, score = 0;
                for (uint32_t d = 0; d < dims; d++) score += q[d] * key[d];
                sum += weight[j] = exp(score / sqrt(dims));
            }
            for (uint32_t d = 0; d < dims; d++) {
                o[d] = 0;
                for (uint32_t j = 0; j < p->n; j++)
                    o[d] += weight[j] / sum * qkv[(size_t)j * 3 * width + 2 * width + h * dims + d];
            }
        }
    free(weight);
}

/* x += y, which is freed. */
static void add(struct plain *p, double *y)
{
    for (size_t i = 0; i < (size_t)p->n * p->s->width; i++) p->x[i] += y[i];
    free(y);
}

static void plain_block(struct plain *p, uint32_t b)
{
    double *in = normalised(p, VISION_NORM1, VISION_NORM1_BIAS, b);
    double *qkv = affine(p, VISION_QKV, VISION_QKV_BIAS, b, in, p->n);
    attention(p, qkv, in);
    add(p, affine(p, VISION_OUT, VISION_OUT_BIAS, b, in, p->n));
    free(in);
    free(qkv);
    in = normalised(p, VISION_NORM2, VISION_NORM2_BIAS, b);
    double *up = affine(p, VISION_UP, VISION_UP_BIAS, b, in, p->n);
    for (size_t i = 0; i < (size_t)p->n * p->s->intermediate; i++)
        up[i] *= 0.5 * (1 + tanh(sqrt(2 / M_PI) * (up[i] + 0.044715 * up[i] * up[i] * up[i])));
    add(p, affine(p, VISION_DOWN, VISION_DOWN_BIAS, b, up, p->n));
    free(in);
    free(up);
}

static double position(const struct plain *p, double y, double x, uint32_t c)
{
    uint32_t side = p->s->side, y0 = (uint32_t)y, x0 = (uint32_t)x;
    uint32_t y1 = y0 + 1 < side ? y0 + 1 : y0, x1 = x0 + 1 < side ? x0 + 1 : x0;
    double v = y - y0, u = x - x0;
    return (1 - v) * (1 - u) * value(p, VISION_POSITIONS, 0, y0 * side + x0, c) +
           (1 - v) * u * value(p, VISION_POSITIONS, 0, y0 * side + x1, c) +
           v * (1 - u) * value(p, VISION_POSITIONS, 0, y1 * side + x0, c) +
           v * u * value(p, VISION_POSITIONS, 0, y1 * side + x1, c);
}

static void plain_patches(struct plain *p, const struct picture *picture)
{
    const struct vision_shape *s = p->s;
    uint32_t area = s->patch * s->patch, all = 3 * s->frames * area;
    double *in = malloc(sizeof *in * p->n * all);
    for (uint32_t i = 0; i < p->n; i++) {
        float one[3 * 64 * 64];
        patches_make(s, picture, i, one);
        for (uint32_t k = 0; k < all; k++)
            in[(size_t)i * all + k] = (double)one[k / area / s->frames * area + k % area];
    }
    p->x = affine(p, VISION_PATCH, VISION_PATCH_BIAS, 0, in, p->n);
    free(in);
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t row, column;
        patches_place(s, p->columns, i, &row, &column);
        for (uint32_t c = 0; c < s->width; c++)
            p->x[(size_t)i * s->width + c] +=
                position(p, p->rows > 1 ? row * (s->side - 1.0) / (p->rows - 1) : 0,
                         p->columns > 1 ? column * (s->side - 1.0) / (p->columns - 1) : 0, c);
    }
}

static float *plain_rows(const struct tower *t, const struct picture *picture)
{
    const struct vision_shape *s = tower_shape(t);
    struct plain p = {.t = t, .s = s, .columns = picture->width / s->patch, .rows = picture->height / s->patch};
    p.n = p.columns * p.rows;
    uint32_t tokens = p.n / (s->merge * s->merge), joined = vision_joined(s);
    plain_patches(&p, picture);
    for (uint32_t b = 0; b < s->depth; b++) plain_block(&p, b);
    double *in = normalised(&p, VISION_MERGER_NORM, VISION_MERGER_NORM_BIAS, 0);
    double *hidden = affine(&p, VISION_FC1, VISION_FC1_BIAS, 0, in, tokens);
    for (size_t i = 0; i < (size_t)tokens * joined; i++) hidden[i] *= 0.5 * (1 + erf(hidden[i] / sqrt(2)));
    double *rows = affine(&p, VISION_FC2, VISION_FC2_BIAS, 0, hidden, tokens);
    float *out = malloc(sizeof *out * tokens * s->out);
    for (size_t i = 0; i < (size_t)tokens * s->out; i++) out[i] = (float)rows[i];
    free(in);
    free(hidden);
    free(rows);
    free(p.x);
    return out;
}

static struct picture noise(uint32_t width, uint32_t height)
{
    uint8_t *rgb = malloc(3 * (size_t)width * height);
    uint64_t z = width;
    for (size_t i = 0; i < 3 * (size_t)width * height; i++) {
        z = z * 6364136223846793005u + 1442695040888963407u;
        rgb[i] = (uint8_t)(z >> 56);
    }
    return (struct picture){width, height, rgb};
}

/* Heads of 20 and of 72, an odd feed-forward part, one frame or two, more patches than a strip and a block of keys. */
static struct vision_shape awkward(int which)
{
    struct vision_shape s = tower_usual();
    s.depth = 2, s.width = which ? 144 : 60, s.heads = which ? 2 : 3, s.intermediate = which ? 270 : 100, s.out = 50;
    s.patch = which ? 8 : 16, s.frames = which ? 2 : 1, s.side = which ? 7 : 3, s.theta = 100;
    return s;
}

TEST(made_up_towers_are_computed_as_written)
{
    for (int which = 0; which < 2; which++) {
        struct vision_shape s = awkward(which);
        struct tower *t;
        REQUIRE(!tower_make(&t, &s, NULL));
        struct picture p = which ? noise(176, 112) : noise(96, 32);
        float *want = plain_rows(t, &p);
        for (int k = 0; k < set_count; k++) {
            struct vision_weights *w = weights_of(t, sets[k]);
            uint32_t tokens;
            double relative;
            float *rows = encode(w, &p, 1, &tokens);
            double most = difference(want, rows, (size_t)tokens * s.out, &relative);
            bool exact = !strcmp(sets[k]->name, "reference");
            if (!(exact ? most < 1e-5 : relative < 0.02))
                CHECK_FAIL("%s, tower %d: differs by %.2g of the largest, %.2g in all", sets[k]->name, which, most,
                           relative);
            free(rows);
            vision_weights_free(w);
        }
        free(want);
        free((void *)p.rgb);
        tower_close(t);
    }
}

/* The tower of a model in the tree. */
TEST(a_checkpoint_s_tower_is_computed_as_written)
{
    struct tower *t;
    REQUIRE(!tower_open(&t, check_data("goldens/tiny-b"), NULL));
    struct picture p = noise(160, 96);
    float *want = plain_rows(t, &p);
    for (int k = 0; k < set_count; k++) {
        struct vision_weights *w = weights_of(t, sets[k]);
        uint32_t tokens;
        double relative;
        float *rows = encode(w, &p, 2, &tokens);
        double most = difference(want, rows, (size_t)tokens * w->shape.out, &relative);
        bool exact = !strcmp(sets[k]->name, "reference");
        if (!(exact ? most < 1e-5 : relative < 0.02))
            CHECK_FAIL("%s: differs by %.2g of the largest, %.2g in all", sets[k]->name, most, relative);
        free(rows);
        vision_weights_free(w);
    }
    free(want);
    free((void *)p.rgb);
    tower_close(t);
}

TEST(the_number_of_threads_changes_no_bit)
{
    struct vision_shape s = awkward(1);
    struct tower *t;
    REQUIRE(!tower_make(&t, &s, NULL));
    struct picture p = noise(208, 128);
    for (int k = 0; k < set_count; k++) {
        struct vision_weights *w = weights_of(t, sets[k]);
        uint32_t tokens;
        float *one = encode(w, &p, 1, &tokens);
        for (int threads = 2; threads <= 3; threads++) {
            float *more = encode(w, &p, threads, &tokens);
            if (memcmp(one, more, sizeof *one * tokens * s.out)) CHECK_FAIL("%s, %d threads", sets[k]->name, threads);
            free(more);
        }
        free(one);
        vision_weights_free(w);
    }
    free((void *)p.rgb);
    tower_close(t);
}

/* Between two steps it can be left, whatever has been done. */
TEST(an_encoding_ends_after_any_step)
{
    struct vision_shape s = awkward(0);
    struct tower *t;
    struct team solo;
    team_solo(&solo);
    REQUIRE(!tower_make(&t, &s, NULL));
    struct picture p = noise(64, 32);
    struct vision_weights *w = weights_of(t, sets[set_count - 1]);
    for (uint32_t steps = 0; steps <= 4; steps++) {
        struct encoding *e;
        REQUIRE(!encoding_new(&e, w, &p, 1, NULL));
        CHECK_INT(4, encoding_steps(e));
        for (uint32_t i = 0; i < steps; i++) CHECK(encoding_step(e, &solo));
        CHECK(steps < 4 || !encoding_step(e, &solo));
        encoding_free(e);
    }
    vision_weights_free(w);
    free((void *)p.rgb);
    tower_close(t);
}

int main(int argc, char **argv)
{
    static const struct check_test tests[] = {T(a_checkpoint_s_tower_yields_the_reference_s_rows),
                                              T(a_projector_yields_the_reference_s_rows),
                                              T(made_up_towers_are_computed_as_written),
                                              T(a_checkpoint_s_tower_is_computed_as_written),
                                              T(the_number_of_threads_changes_no_bit),
                                              T(an_encoding_ends_after_any_step)};
    set_count = tested_variants(sets);
    return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));
}
