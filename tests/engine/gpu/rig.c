#include "tests/engine/gpu/rig.h"

#include "engine/gpu/pass.h"
#include "tests/check.h"

static bool failed(tdm_status status, const tdm_error *err)
{
    if (status) CHECK_FAIL("%s", err->text);
    return status != TDM_OK;
}

const char *gpu_rig_absence(void)
{
    if (gpu_absence()) return gpu_absence();
    return gpu_list(NULL, 0) ? NULL : "no driver for Vulkan 1.3 is installed (mesa-vulkan-drivers has one)";
}

const char *gpu_rig_name(void)
{
    static char name[16];
    struct gpu_info infos[8];
    int n = gpu_list(infos, 8), place = 0;
    for (int i = 0; i < n && i < 8; i++)
        if (infos[i].kind == GPU_SOFTWARE) place = i;
    snprintf(name, sizeof name, "gpu:%d", place);
    return name;
}

struct gpu *gpu_rig_open(const struct gpu_options *options)
{
    struct gpu *g;
    tdm_error err;
    return failed(gpu_open(&g, gpu_rig_name(), options, &err), &err) ? NULL : g;
}

struct gpu_model *gpu_rig_model(struct gpu *g, const char *model, enum kv_type kv)
{
    struct gpu_model *m = NULL;
    struct source *source;
    tdm_error err;
    struct source_options options = {.builtin = "assets/tandem-demo-51m-q6_k.gguf"};
    struct gpu_model_options wanted = {
        .lm_head = TYPE_COUNT, .kv = kv, .context = GPU_RIG_CONTEXT, .tokens = GPU_RIG_TOKENS, .runs = GPU_RIG_RUNS};
    if (failed(source_open(&source, model, &options, &err), &err)) return NULL;
    failed(gpu_model_new(&m, g, source, &wanted, &err), &err);
    source_close(source);
    return m;
}

struct gpu_state *gpu_rig_state(struct gpu_model *m)
{
    struct gpu_state *s;
    tdm_error err;
    if (failed(gpu_state_new(&s, m, &err), &err)) abort();
    return s;
}

struct gpu_state *gpu_rig_fork(const struct gpu_state *s)
{
    struct gpu_state *fork;
    tdm_error err;
    if (failed(gpu_state_fork(&fork, s, &err), &err)) abort();
    return fork;
}

void gpu_rig_times(struct gpu_model *m, int64_t token_s, int64_t layer_s)
{
    m->token_ns = token_s * 1000000000;
    for (int i = 0; i < SIZES; i++) m->scratch[SCRATCH_LONG]->layer_ns[i] = layer_s * 1000000000;
}

void gpu_rig_progress(struct gpu_model *m, tdm_progress progress, void *ctx)
{
    m->options.progress = progress;
    m->options.progress_ctx = ctx;
}

void gpu_rig_eval(struct gpu_model *m, struct gpu_state *s, const tdm_id *ids, uint32_t n, uint32_t most)
{
    tdm_error err;
    for (uint32_t i = 0; i < n; i += most) {
        struct gpu_run run = {.state = s, .tokens = ids + i, .n = n - i < most ? n - i : most};
        run.logits = i + run.n == n ? GPU_LOGITS_LAST : GPU_LOGITS_NONE;
        if (failed(gpu_forward(m, &run, 1, NULL, &err), &err)) return;
    }
}

void gpu_rig_logits(struct gpu_model *m, struct gpu_state *s, const tdm_id *ids, uint32_t n, float *out, float *hidden)
{
    tdm_error err;
    struct gpu_run run = {
        .state = s, .tokens = ids, .n = n, .logits = out ? GPU_LOGITS_ALL : GPU_LOGITS_NONE, .all = out};
    struct gpu_pass_options options = {.hidden = hidden};
    failed(gpu_forward(m, &run, 1, &options, &err), &err);
}

struct gpu_image gpu_rig_image(const struct gpu_state *s)
{
    const struct gpu_model *m = gpu_state_model(s);
    tdm_error err;
    size_t pages = (gpu_state_length(s) + KV_PAGE - 1) / KV_PAGE;
    struct gpu_image image = {.pages = calloc(pages + 1, gpu_page_bytes(m)),
                              .recurrent = calloc(gpu_recurrent_floats(m) + 1, sizeof(float)),
                              .conv = calloc(gpu_conv_floats(m) + 1, sizeof(float)),
                              .head_pages = calloc(pages + 1, gpu_head_page_bytes(m) + 1),
                              .waiting = calloc((size_t)GPU_WAITING * gpu_model_config(m)->hidden, sizeof(float))};
    failed(gpu_state_save(s, &image, 0, &err), &err);
    return image;
}

void gpu_rig_image_free(struct gpu_image *image)
{
    free(image->pages);
    free(image->recurrent);
    free(image->conv);
    free(image->head_pages);
    free(image->waiting);
}

/* Keys and values of the positions that there are. */
static bool pages_equal(const struct gpu_model *m, const struct gpu_image *a, const struct gpu_image *b)
{
    size_t page = gpu_page_bytes(m), blocks = 0;
    const struct config *c = gpu_model_config(m);
    for (uint32_t i = 0; i < c->layers; i++) blocks += c->full_attention[i] ? 2 * c->kv_heads : 0;
    if (!blocks) return true;
    size_t block = page / blocks, n = c->head_dim, scales = (n + 31) / 32 * 4;
    bool q8 = block == gpu_kv_bytes(KV_Q8_0, c->head_dim);
    size_t row = q8 ? n : block / KV_PAGE; /* of a position, without its scales */
    for (uint32_t p = 0; p * KV_PAGE < a->length; p++) {
        uint32_t positions = a->length - p * KV_PAGE < KV_PAGE ? a->length - p * KV_PAGE : KV_PAGE;
        for (size_t i = 0; i < blocks; i++) {
            const char *x = (char *)a->pages + p * page + i * block, *y = (char *)b->pages + p * page + i * block;
            if (memcmp(x, y, row * positions)) return false;
            if (q8 && memcmp(x + KV_PAGE * n, y + KV_PAGE * n, scales * positions)) return false;
        }
    }
    return true;
}

bool gpu_rig_equal(const struct gpu_state *a, const struct gpu_state *b)
{
    const struct gpu_model *m = gpu_state_model(a);
    struct gpu_image x = gpu_rig_image(a), y = gpu_rig_image(b);
    size_t vocab = gpu_model_config(m)->vocab;
    bool equal = x.length == y.length && !x.logits == !y.logits &&
                 !memcmp(x.tokens, y.tokens, x.length * sizeof *x.tokens) &&
                 (!x.logits || !memcmp(x.logits, y.logits, vocab * sizeof *x.logits)) && pages_equal(m, &x, &y) &&
                 !memcmp(x.recurrent, y.recurrent, gpu_recurrent_floats(m) * sizeof(float)) &&
                 !memcmp(x.conv, y.conv, gpu_conv_floats(m) * sizeof(float));
    gpu_rig_image_free(&x);
    gpu_rig_image_free(&y);
    return equal;
}
