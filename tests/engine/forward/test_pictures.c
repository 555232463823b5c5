/* Pictures in the language model: against the golden files, from pixels to logits, and the same bits however a text
 * with pictures is cut into passes, saved and loaded, and drafted from. */
#include "engine/forward/head.h"
#include "engine/state/pads.h"
#include "engine/state/statefile.h"
#include "engine/vision/encoder.h"
#include "tests/check.h"
#include "tests/engine/forward/expected.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/state/equal.h"

/* ---- Golden files ------------------------------------------------------------------------------------------------ */

enum { GOLDEN_PAD = 508, GREEDY = 8 };

/* Each run of pads becomes the next picture's. */
static void place(tdm_id *ids, uint32_t n, struct pads *const *pictures)
{
    for (uint32_t i = 0; i < n;) {
        if (ids[i] != GOLDEN_PAD) {
            i++;
            continue;
        }
        for (uint32_t cell = 0; cell < (*pictures)->tokens; cell++) ids[i++] = (*pictures)->first - (tdm_id)cell;
        pictures++;
    }
}

static void check_positions(const struct safetensors *golden, const tdm_id *ids, uint32_t n)
{
    const int32_t *want = expected_tensor(golden, "positions", "I32", 3 * (uint64_t)n);
    for (uint32_t i = 0; i < n; i++) {
        struct pads_position at = pads_position(ids, i, 0, 0), later = pads_position(ids + i, 0, i, pads_lag(ids, i));
        CHECK_INT(want[i], at.t);
        CHECK_INT(want[n + i], at.h);
        CHECK_INT(want[2 * n + i], at.w);
        CHECK(!memcmp(&at, &later, sizeof at) || ids[i] < 0); /* a text doesn't begin within a picture */
    }
}

/* The picture of this name through the tower: its pads have the rows, which are malloc'ed. */
static float *see(const struct vision_weights *w, const struct safetensors *file, const char *name, struct pads **out)
{
    const struct safetensors_tensor *t = safetensors_find(file, name);
    const struct picture p = {(uint32_t)t->shape[1], (uint32_t)t->shape[0], t->data};
    struct vision_shape shape = w->shape;
    struct picture fitted;
    struct encoding *e;
    struct team solo;
    team_solo(&solo);
    if (patches_fit(&shape, p.width, p.height, &fitted.width, &fitted.height, NULL)) abort();
    uint8_t *rgb = malloc(3 * (size_t)fitted.width * fitted.height);
    if (resize_bicubic(&p, fitted.width, fitted.height, rgb, NULL)) abort();
    fitted.rgb = rgb;
    if (encoding_new(&e, w, &fitted, 1, NULL)) abort();
    while (encoding_step(e, &solo)) continue;
    size_t bytes = (size_t)encoding_tokens(e) * shape.out * sizeof(float);
    float *rows = malloc(bytes);
    memcpy(rows, encoding_rows(e), bytes);
    encoding_free(e);
    free(rgb);
    static uint64_t number;
    const uint64_t hash[2] = {number++, 0};
    if (pads_of(out, hash, fitted.height / 32, fitted.width / 32, NULL)) abort();
    (*out)->width = shape.out;
    atomic_store(&(*out)->embeddings, rows);
    return rows;
}

static void check_golden(struct rig *r, const struct vision_weights *w, const char *name, double tolerance)
{
    const uint32_t vocab = r->weights->config.vocab;
    struct pads *pictures[2] = {NULL};
    float *rows[2] = {NULL};
    struct safetensors *golden;
    char path[256];
    snprintf(path, sizeof path, "goldens/families/qwen35-vision/%s.safetensors", name);
    const char *shared = check_shared(path);
    REQUIRE(shared && !safetensors_open(&golden, shared, NULL));
    bool two = safetensors_find(golden, "image0");
    rows[0] = see(w, golden, two ? "image0" : "image", &pictures[0]);
    if (two) rows[1] = see(w, golden, "image1", &pictures[1]);
    uint32_t length = (uint32_t)safetensors_find(golden, "prompt_ids")->elements;
    tdm_id ids[64];
    memcpy(ids, expected_tensor(golden, "prompt_ids", "I32", length), length * sizeof *ids);
    place(ids, length, pictures);
    check_positions(golden, ids, length);
    struct state *s = rig_state(r);
    float *logits = malloc((size_t)length * vocab * sizeof *logits);
    rig_all_logits(r, s, ids, length, logits, NULL);
    expected_compare(name, logits, expected_tensor(golden, "logits", "F32", (uint64_t)length * vocab),
                     (size_t)length * vocab, tolerance, false);
    const int32_t *greedy = expected_tensor(golden, "greedy_ids", "I32", GREEDY);
    const float *after = expected_tensor(golden, "greedy_logits", "F32", (uint64_t)GREEDY * vocab);
    for (int i = 0; i < GREEDY; i++) {
        rig_eval(r, s, &greedy[i], 1, 1);
        expected_compare("greedy", s->logits, after + (size_t)i * vocab, vocab, tolerance, false);
    }
    free(logits);
    state_free(s);
    safetensors_close(golden);
    for (int i = 0; i < 1 + two; i++) {
        atomic_store(&pictures[i]->embeddings, NULL);
        free(rows[i]);
    }
}

TEST(golden_files)
{
    static const struct {
        const char *name;
        double tolerance;
    } files[] = {{"image-64x64", 2e-3},
                 {"image-128x96", 2e-3},
                 {"image-96x160", 2e-3},
                 {"image-150x101", 2e-2},
                 {"two-images", 2e-3}};
    const char *model = check_shared("goldens/families/qwen35-vision");
    struct tower *tower;
    struct vision_weights *w;
    struct team solo;
    team_solo(&solo);
    if (!model) return;
    REQUIRE(!tower_open(&tower, model, NULL));
    struct rig *r = rig_open(model, "reference", KV_F32, 2);
    REQUIRE(r && !vision_weights_new(&w, tower, r->weights->kernels, &solo, NULL));
    tower_close(tower);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) check_golden(r, w, files[i].name, files[i].tolerance);
    vision_weights_free(w);
    rig_close(r);
}

/* ---- Exactness --------------------------------------------------------------------------------------------------- */

enum { N = 200, DRAFTS = 4 };

static float embeddings[64 * 4096];

/* A text with two pictures, one of which stands twice: ids[0..N). */
static void make_text(const struct rig *r, tdm_id *ids)
{
    static const struct {
        uint32_t at, rows, columns;
    } pictures[] = {{5, 5, 7}, {41, 8, 2}, {120, 5, 7}};
    const uint32_t width = r->weights->config.hidden;
    uint64_t seed = 7;
    rig_ids(ids, N, r->weights->config.vocab, 3);
    for (size_t i = 0; i < sizeof embeddings / sizeof *embeddings; i++)
        embeddings[i] = (float)(rig_random(&seed) % 2001) / 20000 - 0.05f;
    for (int i = 0; i < 3; i++) {
        struct pads *p;
        uint64_t hash[2] = {100 + pictures[i].rows, width};
        if (pads_of(&p, hash, pictures[i].rows, pictures[i].columns, NULL)) abort();
        p->width = width;
        atomic_store(&p->embeddings, embeddings + i % 2 * width);
        for (uint32_t cell = 0; cell < p->tokens; cell++) ids[pictures[i].at + cell] = p->first - (tdm_id)cell;
    }
}

static void without_embeddings(const tdm_id *ids)
{
    for (uint32_t i = 0; i < N; i++)
        if (ids[i] < 0) atomic_store(&pads_find(ids[i], NULL)->embeddings, NULL);
}

static void draft(struct rig *r, struct state *s, tdm_id *drafts)
{
    struct draft_run run = {.state = s, .next = 3, .n = DRAFTS, .drafts = drafts};
    if (!s->headless && forward_draft(r->team, r->weights, r->workspace, &run, 1, NULL, NULL)) CHECK_FAIL("no drafts");
}

/* Ends within pictures, right behind one and in text; what waits then needs no rows of pictures any more. */
static void check_cuts(struct rig *r)
{
    static const uint32_t ends[] = {6, 40, 58, 130, 155, N}, cuts[] = {1, 7, 32, N};
    tdm_id ids[N];
    tdm_error err;
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        struct state *whole = NULL, *loaded = rig_state(r);
        struct state_bytes bytes = {0};
        tdm_id first[DRAFTS] = {0}, drafts[DRAFTS] = {0};
        for (int i = 0; i < 4; i++) {
            struct state *s = rig_state(r);
            make_text(r, ids);
            rig_eval(r, s, ids, ends[e], cuts[i]);
            without_embeddings(ids);
            if (!whole) {
                CHECK(!state_save_memory(s, 1, &bytes, &err));
                draft(r, s, first);
                whole = s;
                continue;
            }
            draft(r, s, drafts);
            CHECK(state_equal(whole, s) && !memcmp(first, drafts, sizeof first));
            state_free(s);
        }
        if (state_load_memory(loaded, 1, bytes.data, bytes.size, &err)) CHECK_FAIL("%s", err.text);
        CHECK(state_is_prefix(loaded, ids, N));
        draft(r, loaded, drafts);
        CHECK(state_equal(whole, loaded) && !memcmp(first, drafts, sizeof first));
        state_bytes_free(&bytes);
        state_free(whole), state_free(loaded);
    }
}

TEST(cuts_change_no_bit)
{
    static const char *const models[] = {"tests/goldens/gguf/tiny-d-q8_0.gguf", "tests/goldens/tiny-a"};
    for (int i = 0; i < 2; i++) {
        struct rig *r = rig_open(models[i], NULL, KV_F16, 3);
        if (!r) continue;
        check_cuts(r);
        rig_close(r);
    }
}

TEST(a_picture_that_is_not_encoded_is_refused)
{
    struct rig *r = rig_open("tests/goldens/tiny-a", NULL, KV_F16, 1);
    tdm_id ids[N];
    tdm_error err;
    REQUIRE(r);
    make_text(r, ids);
    without_embeddings(ids);
    struct state *s = rig_state(r);
    struct forward_run run = {.state = s, .tokens = ids, .n = 20};
    CHECK_INT(TDM_E_ARG, forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err));
    CHECK_STR("a picture is to be read before it is encoded", err.text);
    CHECK_INT(0, s->length);
    ids[5] = INT32_MIN;
    CHECK_INT(TDM_E_ARG, forward(r->team, r->weights, r->workspace, &run, 1, NULL, NULL, &err));
    state_free(s);
    rig_close(r);
}

TEST_MAIN(T(golden_files), T(cuts_change_no_bit), T(a_picture_that_is_not_encoded_is_refused))
