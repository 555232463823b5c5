/* Pictures in the language model on a GPU: the reference's logits, and the same bits and drafts however a text with
 * pictures is cut into passes, once their rows are gone. */
#include "engine/state/pads.h"
#include "tests/check.h"
#include "tests/engine/forward/expected.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"

/* Pads of a made-up picture, with these rows of embeddings. */
static struct pads *place(tdm_id *ids, uint32_t at, uint64_t hash, uint32_t rows, uint32_t columns, uint32_t width,
                          const float *embeddings)
{
    struct pads *p;
    if (pads_of(&p, (uint64_t[2]){hash, width}, rows, columns, NULL)) abort();
    p->width = width;
    atomic_store(&p->embeddings, embeddings);
    for (uint32_t cell = 0; cell < p->tokens; cell++) ids[at + cell] = p->first - (tdm_id)cell;
    return p;
}

static struct gpu_model *open_model(struct gpu **g, const char *name)
{
    const char *path = gpu_rig_absence() ? NULL : check_shared(name);
    *g = path ? gpu_rig_open(NULL) : NULL;
    return *g ? gpu_rig_model(*g, path, KV_F32) : NULL;
}

TEST(golden_file)
{
    enum { PAD = 508, ROWS = 3, COLUMNS = 5 };
    struct gpu *g;
    struct gpu_model *m = open_model(&g, "goldens/families/qwen35-vision");
    struct safetensors *golden;
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    if (!m) return;
    REQUIRE(!safetensors_open(&golden, check_shared("goldens/families/qwen35-vision/image-150x101.safetensors"), NULL));
    const uint32_t vocab = gpu_model_config(m)->vocab, width = gpu_model_config(m)->hidden;
    uint32_t n = (uint32_t)safetensors_find(golden, "prompt_ids")->elements, at = 0;
    tdm_id ids[64];
    memcpy(ids, expected_tensor(golden, "prompt_ids", "I32", n), n * sizeof *ids);
    while (ids[at] != PAD) at++;
    struct pads *p = place(ids, at, 1, ROWS, COLUMNS, width,
                           expected_tensor(golden, "image_embeds", "F32", (uint64_t)ROWS * COLUMNS * width));
    struct gpu_state *s = gpu_rig_state(m);
    float *logits = malloc((size_t)n * vocab * sizeof *logits);
    gpu_rig_logits(m, s, ids, n, logits, NULL);
    expected_compare("prompt", logits, expected_tensor(golden, "logits", "F32", (uint64_t)n * vocab), (size_t)n * vocab,
                     2e-3, false);
    const int32_t *greedy = expected_tensor(golden, "greedy_ids", "I32", 8);
    const float *after = expected_tensor(golden, "greedy_logits", "F32", 8 * (uint64_t)vocab);
    for (int i = 0; i < 8; i++) {
        gpu_rig_eval(m, s, &greedy[i], 1, 1);
        expected_compare("greedy", gpu_state_logits(s), after + (size_t)i * vocab, vocab, 2e-3, false);
    }
    atomic_store(&p->embeddings, NULL);
    free(logits);
    gpu_state_free(s);
    safetensors_close(golden);
    gpu_model_free(m);
    gpu_close(g);
}

TEST(cuts_change_no_bit)
{
    enum { N = 90, DRAFTS = 3, CUTS = 4 };
    static const uint32_t ends[] = {25, 40, N}, cuts[CUTS] = {N, 1, 7, 33};
    static float embeddings[64 * 1024];
    struct gpu *g;
    struct gpu_model *m = open_model(&g, "goldens/gguf/tiny-f-q8_0.gguf");
    tdm_id ids[N];
    tdm_error err;
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    if (!m) return;
    const uint32_t width = gpu_model_config(m)->hidden;
    uint64_t seed = 7;
    rig_ids(ids, N, gpu_model_config(m)->vocab, 3);
    for (size_t i = 0; i < sizeof embeddings / sizeof *embeddings; i++)
        embeddings[i] = (float)(rig_random(&seed) % 2001) / 20000 - 0.05f;
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        struct gpu_state *whole = NULL;
        tdm_id first[DRAFTS], drafts[DRAFTS];
        for (int i = 0; i < CUTS; i++) {
            struct gpu_state *s = gpu_rig_state(m);
            struct pads *a = place(ids, 5, 2, 5, 7, width, embeddings), *b = place(ids, 60, 3, 8, 2, width, embeddings);
            gpu_rig_eval(m, s, ids, ends[e], cuts[i]);
            atomic_store(&a->embeddings, NULL), atomic_store(&b->embeddings, NULL);
            if (gpu_draft(s, 3, DRAFTS, whole ? drafts : first, NULL, &err)) CHECK_FAIL("%s", err.text);
            if (whole) CHECK(gpu_rig_equal(whole, s) && !memcmp(first, drafts, sizeof first));
            if (whole) gpu_state_free(s);
            whole = whole ? whole : s;
        }
        gpu_state_free(whole);
    }
    gpu_model_free(m);
    gpu_close(g);
}

TEST_MAIN(T(golden_file), T(cuts_change_no_bit))
