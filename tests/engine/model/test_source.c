/* Sources of every format: the goldens' directories and GGUF files hold the same models, so they must say the same. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/model/half.h"
#include "engine/model/source.h"

static struct source *open_with(const char *path, enum type quant)
{
    struct source *s = NULL;
    tdm_error err = {0};
    const struct source_options options = {.quant = quant, .builtin = "assets/tandem-demo-51m-q6_k.gguf"};
    if (source_open(&s, path, &options, &err)) CHECK_FAIL("%s", err.text);
    return s;
}

static struct source *open_data(const char *name)
{
    return open_with(check_data(name), TYPE_F32);
}

static void *rows_of(const struct source *s, const struct tensor *t)
{
    void *scratch = malloc(t->bytes), *out = malloc(t->bytes);
    memcpy(out, source_rows(s, t, 0, t->rows, scratch), t->bytes);
    free(scratch);
    return out;
}

static float *floats_of(const struct source *s, const struct tensor *t)
{
    void *rows = rows_of(s, t);
    float *out = malloc(t->rows * t->cols * sizeof *out);
    type_widen(t->type, rows, out, t->rows * t->cols);
    free(rows);
    return out;
}

TEST(reads_the_shape)
{
    static const char *const names[] = {"goldens/tiny-a", "goldens/gguf/tiny-a-bf16.gguf"};
    for (int i = 0; i < 2; i++) {
        struct source *s = open_data(names[i]);
        REQUIRE(s);
        const struct config *c = source_config(s);
        CHECK_STR("qwen35", c->architecture);
        CHECK_INT(64, c->hidden);
        CHECK_INT(8, c->layers);
        CHECK_INT(160, c->feed.intermediate);
        CHECK_INT(512, c->vocab);
        CHECK_INT(4096, c->context_length);
        CHECK(c->tied);
        CHECK_NEAR(1e-6, c->rms_eps, 1e-12);
        CHECK_INT(4, c->attention.heads);
        CHECK_INT(2, c->attention.kv_heads);
        CHECK_INT(32, c->attention.head_dim);
        CHECK_INT(8, c->rope.dims);
        CHECK_NEAR(1e7, c->rope.theta, 0);
        CHECK_INT(2, c->delta.key_heads);
        CHECK_INT(4, c->delta.value_heads);
        CHECK_INT(16, c->delta.key_dim);
        CHECK_INT(16, c->delta.value_dim);
        CHECK_INT(4, c->delta.conv_kernel);
        CHECK_INT(128, config_conv_channels(&c->delta));
        CHECK_INT(i, c->delta.value_heads_tiled);
        for (uint32_t layer = 0; layer < 8; layer++) CHECK_INT(layer == 3 || layer == 7, c->full_attention[layer]);
        CHECK_INT(507, c->stops.ids[0]);
        CHECK_INT(0, c->mtp.layers);
        CHECK_STR(i ? "Tiny A" : "tiny-a", c->name);
        source_close(s);
    }
}

/* GGUF orders value heads so that head g uses key head g % nk: which head of the checkpoint lies at g. */
static uint32_t checkpoint_head(const struct config *c, uint32_t g)
{
    return g % c->delta.key_heads * (c->delta.value_heads / c->delta.key_heads) + g / c->delta.key_heads;
}

/* The checkpoint's element that GGUF stores at [row][col] of a tensor with this role. */
static void checkpoint_place(const struct config *c, enum role role, uint64_t *row, uint64_t *col)
{
    uint32_t dim = c->delta.value_dim, keys = 2 * c->delta.key_heads * c->delta.key_dim;
    switch (role) {
    case ROLE_LIN_QKV:
    case ROLE_LIN_CONV:
        if (*row >= keys) *row = keys + checkpoint_head(c, (uint32_t)(*row - keys) / dim) * dim + (*row - keys) % dim;
        break;
    case ROLE_LIN_Z:
        *row = checkpoint_head(c, (uint32_t)*row / dim) * dim + *row % dim;
        break;
    case ROLE_LIN_A:
    case ROLE_LIN_B:
        *row = checkpoint_head(c, (uint32_t)*row);
        break;
    case ROLE_LIN_A_LOG:
    case ROLE_LIN_DT_BIAS:
        *col = checkpoint_head(c, (uint32_t)*col);
        break;
    case ROLE_LIN_OUT:
        *col = checkpoint_head(c, (uint32_t)*col / dim) * dim + *col % dim;
        break;
    default:
        break;
    }
}

struct difference {
    double worst, largest; /* of a tensor's elements; the largest of the GGUF file's */
    double cosine;         /* between the two as vectors */
};

static struct difference difference_of(const struct source *hf, const struct source *gguf, const struct tensor *g)
{
    struct difference out = {.cosine = -1};
    const struct config *c = source_config(hf);
    const struct tensor *h = source_tensor(hf, g->role, g->layer);
    if (!h || h->rows != g->rows || h->cols != g->cols) {
        CHECK_FAIL("%s: none, or of another shape", g->name);
        return out;
    }
    size_t n = g->rows * g->cols;
    float *a, *b;
    if (role_is_matrix(g->role)) {
        a = floats_of(hf, h), b = floats_of(gguf, g);
    } else {
        a = malloc(n * sizeof *a), b = malloc(n * sizeof *b);
        source_vector(hf, g->role, g->layer, a, n);
        source_vector(gguf, g->role, g->layer, b, n);
    }
    double products = 0, squares_a = 0, squares_b = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t row = i / g->cols, col = i % g->cols;
        checkpoint_place(c, g->role, &row, &col);
        double x = a[row * g->cols + col], y = b[i], d = fabs(x - y);
        if (!(d <= out.worst)) out.worst = d;
        if (fabs(y) > out.largest) out.largest = fabs(y);
        products += x * y, squares_a += x * x, squares_b += y * y;
    }
    free(a), free(b);
    out.cosine = products / sqrt(squares_a * squares_b);
    return out;
}

static void compare_tensor(const struct source *hf, const struct source *gguf, const struct tensor *g, double tolerance)
{
    struct difference d = difference_of(hf, gguf, g);
    if (!(d.worst <= tolerance * d.largest))
        CHECK_FAIL("%s: largest difference %g of %g", g->name, d.worst, d.largest);
}

/* exact: the relative tolerance of what isn't quantised. */
static void compare(struct source *hf, struct source *gguf, double tolerance, double exact)
{
    REQUIRE(hf && gguf);
    const struct tensor *const *list;
    size_t n = source_tensors(gguf, &list);
    CHECK_INT(source_tensors(hf, &list), n);
    source_tensors(gguf, &list);
    CHECK_INT(source_parameter_count(hf), source_parameter_count(gguf));
    for (size_t i = 0; i < n; i++)
        compare_tensor(hf, gguf, list[i],
                       role_is_matrix(list[i]->role)     ? tolerance
                       : list[i]->role == ROLE_LIN_A_LOG ? exact + 2e-7 /* exp differs in the last bit */
                                                         : exact);
    CHECK(source_fingerprint(hf) != source_fingerprint(gguf));
    source_close(hf);
    source_close(gguf);
}

TEST(a_directory_and_its_gguf_agree)
{
    compare(open_data("goldens/tiny-a"), open_data("goldens/gguf/tiny-a-bf16.gguf"), 0, 0);
    compare(open_data("goldens/tiny-b"), open_data("goldens/gguf/tiny-b-bf16.gguf"), 0, 0);
    compare(open_data("goldens/tiny-a"), open_data("goldens/gguf/tiny-a-q8_0.gguf"), 0.5 / 127 + 0x1p-11,
            0); /* step and scale */
}

TEST(a_mixture_and_its_gguf_agree)
{
    compare(open_data("goldens/tiny-d"), open_data("goldens/gguf/tiny-d-q8_0.gguf"), 0.5 / 127 + 0x1p-11, 0);
    struct source *s = open_data("goldens/tiny-d");
    REQUIRE(s);
    const struct config *c = source_config(s);
    CHECK_STR("qwen35moe", c->architecture);
    CHECK_INT(8, c->experts.count);
    CHECK_INT(2, c->experts.used);
    CHECK_INT(32, c->experts.intermediate);
    CHECK_INT(32, c->feed.intermediate);
    CHECK_INT(0, source_skipped(s)->mtp.tensors);
    CHECK(c->mtp.there && c->mtp.norm && !c->mtp.embed && !c->mtp.head);
    CHECK_INT(64, source_tensor(s, ROLE_MTP_FC, 8)->rows);
    CHECK_INT(8 * 64, source_tensor(s, ROLE_EXPERTS_DOWN, 8)->rows);
    CHECK(!source_tensor(s, ROLE_MTP_FC, 7) && !source_tensor(s, ROLE_MTP_EMBED, 8));
    CHECK_INT(8 * 32, source_tensor(s, ROLE_EXPERTS_UP, 0)->rows);
    source_close(s);

    const char *path = check_shared("goldens/tiny-e"); /* fused there, apart in its GGUF */
    if (!path) return;
    s = open_with(path, TYPE_F32);
    path = check_shared("goldens/gguf/tiny-e-q8_0.gguf");
    compare(s, path ? open_with(path, TYPE_F32) : NULL, 0.5 / 127 + 0x1p-11, 0);
}

/* Rows of experts that don't follow each other in the file, and routers, which stay as they are. */
TEST(experts_are_quantised_a_row_at_a_time)
{
    struct source *hf = open_with(check_data("goldens/tiny-d"), TYPE_Q8_0), *gguf;
    gguf = open_data("goldens/gguf/tiny-d-q8_0.gguf");
    REQUIRE(hf && gguf);
    static const enum role roles[] = {ROLE_EXPERTS_GATE, ROLE_EXPERTS_UP, ROLE_EXPERTS_DOWN};
    for (int i = 0; i < 3; i++) {
        const struct tensor *a = source_tensor(hf, roles[i], 5), *b = source_tensor(gguf, roles[i], 5);
        void *x = rows_of(hf, a), *y = rows_of(gguf, b);
        CHECK_INT(TYPE_Q8_0, a->type);
        CHECK(a->bytes == b->bytes && !memcmp(x, y, a->bytes));
        free(x), free(y);
    }
    CHECK_INT(TYPE_BF16, source_tensor(hf, ROLE_ROUTER, 0)->type);
    source_close(hf);
    source_close(gguf);
}

TEST(the_built_in_model_and_its_checkpoint_agree)
{
    const char *path = check_shared("model/hf");
    if (!path) return;
    struct source *hf = open_with(path, TYPE_F32), *gguf = open_with("assets/tandem-demo-51m-q6_k.gguf", TYPE_F32);
    REQUIRE(hf && gguf);
    for (int i = 0; i < 2; i++) {
        struct source *s = i ? hf : gguf;
        const struct config *c = source_config(s);
        const struct sampling *d = source_sampling(s);
        CHECK_INT(12, c->layers);
        CHECK_INT(1, c->mtp.layers);
        CHECK(c->mtp.there);
        CHECK_INT(0, source_skipped(s)->mtp.tensors);
        CHECK_INT(47161800, source_parameter_count(s));
        CHECK_INT(2, c->stops.count);
        CHECK_INT(8189, c->stops.ids[0]);
        CHECK_INT(8187, c->stops.ids[1]);
        CHECK_NEAR(0.6, d->temperature, 1e-6);
        CHECK_NEAR(0.8, d->top_p, 1e-6);
        CHECK_INT(20, d->top_k);
        CHECK(isnan(d->min_p));
        CHECK(source_text(s)->chat_template.length > 400);
    }
    CHECK_INT(source_text(hf)->chat_template.length, source_text(gguf)->chat_template.length);
    CHECK_INT(8192, source_text(gguf)->token_count);
    CHECK_INT(7931, source_text(gguf)->merge_count);
    CHECK(span_is(source_text(gguf)->tokens[8189], "<|im_end|>"));
    CHECK_INT(3, source_text(gguf)->types[8189]);
    CHECK(span_is(source_text(gguf)->merges[0], "\xc4\xa0 t"));
    CHECK(span_is(source_text(gguf)->pre, "qwen35"));
    /* The checkpoint is the version that the model was trained on from: near, which no other order of heads is. */
    const struct tensor *const *list;
    size_t n = source_tensors(gguf, &list);
    double least = 1;
    for (size_t i = 0; i < n; i++) {
        double cosine = difference_of(hf, gguf, list[i]).cosine;
        if (!(cosine > 0.8)) CHECK_FAIL("%s: cosine %g", list[i]->name, cosine);
        if (cosine < least) least = cosine;
    }
    printf("# least cosine %.3f\n", least);
    source_close(hf);
    source_close(gguf);
}

TEST(float16_checkpoints_agree_with_their_gguf)
{
    const char *path = check_shared("goldens/tiny-c");
    if (!path) return;
    struct source *hf = open_with(path, TYPE_F32);
    path = check_shared("goldens/gguf/tiny-c-q8_0.gguf");
    struct source *gguf = path ? open_with(path, TYPE_F32) : NULL;
    compare(hf, gguf, 0.5 / 127 + 0x1p-11, 0x1p-11); /* the converter added the 1 in float16 */
}

TEST(skips_a_vision_tower)
{
    struct source *s = open_data("goldens/tiny-b");
    REQUIRE(s);
    CHECK_INT(21, source_skipped(s)->vision.tensors);
    CHECK_INT(0, source_skipped(s)->mtp.tensors);
    CHECK(!source_config(s)->tied);
    CHECK(source_tensor(s, ROLE_LM_HEAD, 0) != source_tensor(s, ROLE_EMBED, 0));
    CHECK(source_tensor(s, ROLE_Q, 0) == NULL);
    CHECK(source_tensor(s, ROLE_Q, 3) != NULL);
    CHECK(source_tensor(s, ROLE_Q, 4) == NULL);
    source_close(s);
}

TEST(tied_models_have_one_matrix)
{
    struct source *s = open_data("goldens/tiny-a");
    REQUIRE(s);
    CHECK(source_tensor(s, ROLE_LM_HEAD, 0) == source_tensor(s, ROLE_EMBED, 0));
    source_close(s);
}

/* The public converter made the Q8_0 file from the same BF16 weights: quantising on loading must give its bytes. */
TEST(quantises_to_q8_0_as_the_converter_does)
{
    struct source *hf = open_with(check_data("goldens/tiny-a"), TYPE_Q8_0), *gguf;
    gguf = open_data("goldens/gguf/tiny-a-q8_0.gguf");
    REQUIRE(hf && gguf);
    const struct tensor *const *list;
    size_t n = source_tensors(hf, &list), compared = 0;
    for (size_t i = 0; i < n; i++) {
        enum role role = list[i]->role;
        if (!role_is_matrix(role) || (role >= ROLE_LIN_QKV && role <= ROLE_LIN_OUT)) continue; /* heads reordered */
        const struct tensor *g = source_tensor(gguf, role, list[i]->layer);
        CHECK_INT(TYPE_Q8_0, list[i]->type);
        REQUIRE(g && g->bytes == list[i]->bytes);
        void *a = rows_of(hf, list[i]), *b = rows_of(gguf, g);
        CHECK(!memcmp(a, b, g->bytes));
        free(a), free(b);
        compared++;
    }
    CHECK_INT(1 + 8 * 3 + 2 * 4, compared);
    source_close(hf);
    source_close(gguf);
}

TEST(quantises_only_what_is_not_yet)
{
    struct source *s = open_with(check_data("goldens/gguf/tiny-a-q8_0.gguf"), TYPE_Q4_0);
    REQUIRE(s);
    CHECK_INT(TYPE_Q8_0, source_tensor(s, ROLE_DOWN, 0)->type);
    source_close(s);
    s = open_with(check_data("goldens/gguf/tiny-a-bf16.gguf"), TYPE_Q4_0);
    REQUIRE(s);
    CHECK_INT(TYPE_Q4_0, source_tensor(s, ROLE_DOWN, 0)->type);
    CHECK_INT(TYPE_F32, source_tensor(s, ROLE_LIN_CONV, 0)->type);
    CHECK(source_tensor(s, ROLE_DOWN, 0)->data == NULL);
    source_close(s);
}

TEST(rows_do_not_depend_on_the_panel)
{
    struct source *s = open_with(check_data("goldens/tiny-a"), TYPE_Q4_0);
    REQUIRE(s);
    const struct tensor *t = source_tensor(s, ROLE_UP, 1);
    uint8_t *all = rows_of(s, t), *scratch = malloc(t->bytes);
    for (uint64_t row = 0; row < t->rows; row += 7) {
        uint64_t n = t->rows - row < 7 ? t->rows - row : 7;
        CHECK(!memcmp(source_rows(s, t, row, n, scratch), all + row * t->row_bytes, n * t->row_bytes));
    }
    free(all);
    free(scratch);
    source_close(s);
}

TEST(released_tensors_read_the_same_again)
{
    struct source *s = open_data("goldens/gguf/tiny-b-bf16.gguf");
    REQUIRE(s);
    const struct tensor *t = source_tensor(s, ROLE_EMBED, 0);
    void *before = rows_of(s, t);
    source_release(s, t);
    void *after = rows_of(s, t);
    CHECK(!memcmp(before, after, t->bytes));
    free(before), free(after);
    source_close(s);
}

static long resident_kib(void)
{
    long pages = 0, ignored;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Reading a model tensor by tensor, each released when it is done, keeps only the largest in memory. */
TEST(released_tensors_leave_memory)
{
    struct source *s = open_with("assets/tandem-demo-51m-q6_k.gguf", TYPE_F32);
    REQUIRE(s);
    const struct tensor *const *list;
    size_t n = source_tensors(s, &list);
    long before = resident_kib(), most = 0;
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = source_rows(s, list[i], 0, list[i]->rows, NULL);
        for (uint64_t k = 0; k < list[i]->bytes; k += 512) sum += p[k];
        long now = resident_kib() - before;
        most = now > most ? now : most;
        source_release(s, list[i]);
    }
    CHECK(sum > 0);
    if (before) CHECK(most < 8 * 1024); /* the file has 41,000 KiB, its largest tensor 3,360 */
    source_close(s);
}

TEST(fingerprints_follow_the_contents)
{
    struct source *a = open_data("goldens/tiny-a"), *b = open_data("goldens/tiny-a"), *c = open_data("goldens/tiny-b");
    struct source *q = open_with(check_data("goldens/tiny-a"), TYPE_Q8_0);
    REQUIRE(a && b && c && q);
    CHECK(source_fingerprint(a) == source_fingerprint(b));
    CHECK(source_fingerprint(a) != source_fingerprint(c));
    CHECK(source_fingerprint(a) != source_fingerprint(q));
    source_close(a), source_close(b), source_close(c), source_close(q);
}

TEST(a_missing_path_is_one_line)
{
    struct source *s;
    tdm_error err;
    CHECK_INT(TDM_E_NOT_FOUND, source_open(&s, "/nonexistent/model", NULL, &err));
    CHECK_STR("/nonexistent/model: No such file or directory", err.text);
    CHECK(!s);
    CHECK_INT(TDM_E_NOT_FOUND, source_open(&s, check_tmp(), NULL, &err));
    CHECK(strstr(err.text, "no config.json"));
}

TEST_MAIN(T(reads_the_shape), T(a_directory_and_its_gguf_agree), T(a_mixture_and_its_gguf_agree),
          T(experts_are_quantised_a_row_at_a_time), T(the_built_in_model_and_its_checkpoint_agree),
          T(float16_checkpoints_agree_with_their_gguf), T(skips_a_vision_tower), T(tied_models_have_one_matrix),
          T(quantises_to_q8_0_as_the_converter_does), T(quantises_only_what_is_not_yet),
          T(rows_do_not_depend_on_the_panel), T(released_tensors_read_the_same_again), T(released_tensors_leave_memory),
          T(fingerprints_follow_the_contents), T(a_missing_path_is_one_line))
