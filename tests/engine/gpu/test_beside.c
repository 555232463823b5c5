/* A reply goes on while its device does something else: loads another model, measures, moves a long state. The loader
 * is held where it tells its progress and inside the driver's slow functions, until the reply has got further (held.h).
 */
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"

#ifdef TANDEM_GPU
#include <sched.h>

#include "engine/gpu/device/device.h"
#include "engine/gpu/tune/measure.h"
#include "tests/engine/gpu/held.h"

enum { VOCAB = 512 };
static const char small[] = "tests/goldens/gguf/tiny-a-q8_0.gguf", other[] = "tests/goldens/gguf/tiny-b-q8_0.gguf";
static tdm_error err;

/* ---- A device that others use ------------------------------------------------------------------------------------ */

static struct vulkan real;
static void (*on_submit)(VkFence fence), (*on_wait)(bool before); /* before the driver's function; and after it */

static VKAPI_ATTR VkResult VKAPI_CALL held_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                  const VkAllocationCallbacks *a, VkDeviceMemory *out)
{
    held_here();
    return real.AllocateMemory(device, info, a, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL held_compiler(VkDevice device, VkPipelineCache cache, uint32_t n,
                                                    const VkComputePipelineCreateInfo *infos,
                                                    const VkAllocationCallbacks *a, VkPipeline *out)
{
    held_here();
    return real.CreateComputePipelines(device, cache, n, infos, a, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL watched_submit(VkQueue queue, uint32_t n, const VkSubmitInfo *infos,
                                                     VkFence fence)
{
    if (on_submit) on_submit(fence);
    return real.QueueSubmit(queue, n, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL watched_wait(VkDevice device, uint32_t n, const VkFence *fences, VkBool32 all,
                                                   uint64_t timeout)
{
    if (on_wait) on_wait(true);
    VkResult result = real.WaitForFences(device, n, fences, all, timeout);
    if (on_wait && result != VK_TIMEOUT) on_wait(false);
    return result;
}

static _Thread_local bool is_timed; /* the thread's next submission */

static VKAPI_ATTR void VKAPI_CALL noted_stamp(VkCommandBuffer commands, VkPipelineStageFlagBits stage, VkQueryPool pool,
                                              uint32_t query)
{
    is_timed = true;
    real.CmdWriteTimestamp(commands, stage, pool, query);
}

static void watch(struct vulkan *vk)
{
    if (!vk->WaitForFences || vk->WaitForFences == watched_wait) return;
    real = *vk;
    vk->AllocateMemory = held_memory;
    vk->CreateComputePipelines = held_compiler;
    vk->QueueSubmit = watched_submit;
    vk->WaitForFences = watched_wait;
    vk->CmdWriteTimestamp = noted_stamp;
}

struct reply {
    struct gpu *gpu;
    struct gpu_model *model;
    struct gpu_state *state;
    int tokens;
    bool busy; /* it does everything that there is */
};

static bool open_reply(struct reply *r, const struct gpu_options *options, struct gpu **g)
{
    static const tdm_id prompt[] = {5, 6, 7};
    vulkan_loaded = watch;
    *g = gpu_rig_open(options);
    *r = (struct reply){.gpu = *g, .model = *g ? gpu_rig_model(*g, small, KV_F16) : NULL, .busy = true};
    if (!r->model) return false;
    r->state = gpu_rig_state(r->model);
    gpu_rig_eval(r->model, r->state, prompt, 3, 3);
    return true;
}

static void close_reply(struct reply *r, struct gpu *g)
{
    on_submit = NULL;
    on_wait = NULL;
    gpu_state_free(r->state);
    gpu_model_free(r->model);
    gpu_close(g);
    vulkan_loaded = NULL;
}

/* A token; then what else is asked of a device while nobody waits for a pass. */
static void reply_on(void *ctx)
{
    struct reply *r = ctx;
    tdm_id id = (tdm_id)(r->tokens * 7 % VOCAB);
    const float *logits;
    gpu_rig_eval(r->model, r->state, &id, 1, 1);
    r->tokens++;
    if (!r->busy) return;
    struct gpu *g = r->gpu;
    struct gpu_state *fork = gpu_rig_fork(r->state);
    struct gpu_image image = gpu_rig_image(fork);
    CHECK(!gpu_rig_load(fork, &image, &err));
    CHECK(!gpu_state_fetch_logits(fork, &logits, &err));
    gpu_state_clear(fork);
    CHECK(!gpu_state_make_room(fork, 40, &err));
    gpu_state_free(fork);
    gpu_rig_image_free(&image);
    static char text[GPU_CHOICES_BYTES];
    gpu_choices(g, text, sizeof text);
    gpu_take_choices(g, text);
    struct gpu_info info;
    gpu_about(g, &info);
    CHECK(gpu_used(g) > 0 && !gpu_is_lost(g));
}

/* ---- Another model is loaded --------------------------------------------------------------------------------------
 */

struct load {
    struct gpu *gpu;
    const char *path;
    tdm_progress progress;
    void *progress_ctx;
    struct gpu_model *model;
    tdm_status status;
};

static void *run_load(void *ctx)
{
    held_begun();
    struct load *l = ctx;
    struct source *source;
    struct gpu_model_options o = {.lm_head = TYPE_COUNT,
                                  .kv = KV_F16,
                                  .context = 256,
                                  .tokens = 16,
                                  .runs = 2,
                                  .progress = l->progress,
                                  .progress_ctx = l->progress_ctx};
    tdm_error own = {0};
    l->status = source_open(&source, l->path, NULL, &own);
    if (!l->status) l->status = gpu_model_new(&l->model, l->gpu, source, &o, &own);
    if (!l->status) l->status = gpu_model_prepare(l->model, &own);
    if (l->status) printf("# %s\n", own.text);
    source_close(source);
    held_end();
    return NULL;
}

/* While weights travel, what others submit is submitted. */
static int *copying; /* progress calls by step */
static void hold_copies(bool before)
{
    if (before && copying[TDM_STEP_COPYING_GPU] && !copying[TDM_STEP_MEASURING_GPU]) held_here();
}

TEST(a_reply_goes_on_while_another_model_is_loaded)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct gpu *g;
    struct reply r;
    REQUIRE(open_reply(&r, NULL, &g));
    struct gpu_state *alone = gpu_rig_fork(r.state);
    int told[16] = {0};
    struct load l = {.gpu = g, .path = other, .progress = held_at_progress, .progress_ctx = told};
    pthread_t thread;
    copying = told;
    on_wait = hold_copies;
    held_start(&thread, run_load, &l, true);
    held_go_on(reply_on, &r);
    pthread_join(thread, NULL);
    CHECK_INT(TDM_OK, l.status);
    CHECK(told[TDM_STEP_COPYING_GPU] > 1 && told[TDM_STEP_MEASURING_GPU] > 1 && told[TDM_STEP_COMPILING_GPU] > 1);
    CHECK(held_count() > told[TDM_STEP_COPYING_GPU] + told[TDM_STEP_MEASURING_GPU] + told[TDM_STEP_COMPILING_GPU]);
    CHECK(r.tokens >= held_count());
    printf("# held %d times, %d tokens meanwhile\n", held_count(), r.tokens);
    /* With the bits that it has by itself. */
    for (int i = 0; i < r.tokens; i++) gpu_rig_eval(r.model, alone, &(tdm_id){i * 7 % VOCAB}, 1, 1);
    CHECK(gpu_rig_equal(r.state, alone));
    gpu_state_free(alone);
    gpu_model_free(l.model);
    close_reply(&r, g);
}

/* ---- Beside a reply ---------------------------------------------------------------------------------------------- */

enum { MEASURED = 10, PAGES = 12, SAVED = 2, MAX_IN_A_ROW = 8 /* a token asks for the lock now and then more */ };
static struct gpu *busy;
static atomic_int others, own_ones; /* submissions: of others; of those that are looked at: all, or measured ones */
static int in_a_row, most_in_a_row; /* of these, without others between them; with the device's lock */
static atomic_bool looks_at_all, measuring;

static void watch_submissions(VkFence fence)
{
    static VkFence theirs; /* of what others submitted last; with the device's lock */
    if (!held_is_me()) {
        CHECK(!measuring);
        theirs = fence;
        others++;
        in_a_row = 0;
        return;
    }
    if (!is_timed && !looks_at_all) return;
    own_ones++;
    if (++in_a_row > most_in_a_row) most_in_a_row = in_a_row;
    if (!looks_at_all) {
        measuring = true;
        if (others && theirs != fence) CHECK_INT(VK_SUCCESS, real.WaitForFences(busy->device, 1, &theirs, VK_TRUE, 0));
    }
    /* Until another asks for the device, which is given it then, before the next one. */
    while (others && ticket_lock_count(&busy->lock) < 2) sched_yield();
}

static void watch_waits(bool before)
{
    if (before || !held_is_me() || !is_timed) return;
    is_timed = false;
    measuring = false;
}

static void *measure(void *ctx)
{
    held_begun();
    struct gpu_product p = {.type = TYPE_BF16, .rows = 96, .cols = 128, .tokens = 4, .tuning = busy->tuning};
    tdm_status *status = ctx;
    for (int i = 0; i < MEASURED && !*status; i++) *status = gpu_measure_product(busy, &p, 1 << 16, NULL);
    held_end();
    return NULL;
}

/* Tokens that a reply makes while another thread does this, each of whose submissions waits until the reply asks for
 * the device, which is given to it then. */
static int tokens_beside(struct reply *r, void *(*what)(void *), void *ctx)
{
    pthread_t thread;
    r->busy = false;
    measuring = false;
    reply_on(r);
    others = own_ones = in_a_row = most_in_a_row = 0;
    on_submit = watch_submissions;
    on_wait = watch_waits;
    held_start(&thread, what, ctx, false);
    int before = r->tokens;
    while (held_runs()) {
        reply_on(r);
        if (r->tokens % 64 == 0) gpu_state_clear(r->state);
    }
    pthread_join(thread, NULL);
    on_submit = NULL;
    on_wait = NULL;
    CHECK(most_in_a_row <= MAX_IN_A_ROW);
    return r->tokens - before;
}

TEST(nothing_runs_beside_what_is_measured)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct reply r;
    tdm_status status = TDM_OK;
    REQUIRE(open_reply(&r, NULL, &busy));
    looks_at_all = false;
    int tokens = tokens_beside(&r, measure, &status);
    CHECK_INT(TDM_OK, status);
    CHECK_INT(4 * MEASURED, own_ones);
    CHECK(tokens >= own_ones / MAX_IN_A_ROW);
    close_reply(&r, busy);
}

struct saving {
    struct gpu_state *state;
    struct gpu_image image;
    tdm_status status;
};

static void *save(void *ctx)
{
    held_begun();
    struct saving *s = ctx;
    for (int i = 0; i < SAVED && !s->status; i++) {
        s->status = gpu_rig_save(s->state, &s->image, NULL);
        if (!s->status) s->status = gpu_rig_load(s->state, &s->image, NULL);
    }
    held_end();
    return NULL;
}

/* A long state has many pieces, whose bytes all cross the bus. */
TEST(a_reply_goes_on_while_a_state_is_moved)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct reply r;
    tdm_id ids[PAGES * KV_PAGE];
    REQUIRE(open_reply(&r, NULL, &busy));
    rig_ids(ids, PAGES * KV_PAGE, VOCAB, 1);
    struct saving s = {.state = gpu_rig_state(r.model)};
    gpu_rig_eval(r.model, s.state, ids, PAGES * KV_PAGE, 128);
    s.image = gpu_rig_image(s.state);
    struct gpu_state *before = gpu_rig_fork(s.state);
    looks_at_all = true;
    int tokens = tokens_beside(&r, save, &s);
    CHECK_INT(TDM_OK, s.status);
    CHECK(own_ones >= 2 * SAVED * PAGES && tokens >= own_ones / MAX_IN_A_ROW);
    CHECK(gpu_rig_equal(s.state, before));
    gpu_state_free(s.state);
    gpu_state_free(before);
    gpu_rig_image_free(&s.image);
    close_reply(&r, busy);
}

TEST_MAIN(T(a_reply_goes_on_while_another_model_is_loaded), T(nothing_runs_beside_what_is_measured),
          T(a_reply_goes_on_while_a_state_is_moved))
#else
TEST(a_reply_goes_on_while_another_model_is_loaded)
{
    SKIP(gpu_absence());
}
TEST_MAIN(T(a_reply_goes_on_while_another_model_is_loaded))
#endif
