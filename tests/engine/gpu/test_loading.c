/* While a model is loaded onto a device, everybody else goes on: another model's reply, what the screen asks, other
 * loads. The loader is held in the middle, where it tells its progress and inside the driver's slow functions, until
 * the others have got further; a lock that it has there would stop them for good. */
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"

#ifdef TANDEM_GPU
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "engine/backend/loading.h"
#include "engine/gpu/device/device.h"
#include "engine/gpu/tune/measure.h"
#include "engine/object/model.h"
#include "tests/engine/chat/talk.h"

enum { VOCAB = 512, STILL_S = 60 };
static const char small[] = "tests/goldens/gguf/tiny-a-q8_0.gguf", other[] = "tests/goldens/gguf/tiny-b-q8_0.gguf";
static tdm_error err;

/* ---- Holding a loader -------------------------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t loader;
static atomic_bool loading, held, stuck; /* stuck: the others got no further; nothing is held any more */
static int holds, answered;              /* places where the loader was held; where the others have made a round */

/* For as long as `what` is false and anything moves. With the mutex. */
#define WAIT_UNTIL(what)                                                                                               \
    do {                                                                                                               \
        struct timespec at;                                                                                            \
        clock_gettime(CLOCK_REALTIME, &at);                                                                            \
        at.tv_sec += STILL_S;                                                                                          \
        while (!(what) && !stuck)                                                                                      \
            if (pthread_cond_timedwait(&changed, &mutex, &at) == ETIMEDOUT) stuck = true;                              \
    } while (0)

static void set(bool *what, bool value)
{
    pthread_mutex_lock(&mutex);
    *what = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* What such a thread begins with: it is known then. */
static void begun(void)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static void loaded(void)
{
    pthread_mutex_lock(&mutex);
    loading = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

/* The loader stays here until the others have made a round that began after it came. */
static void hold(void)
{
    if (!loading || !held || !pthread_equal(pthread_self(), loader)) return;
    pthread_mutex_lock(&mutex);
    int own = ++holds;
    pthread_cond_broadcast(&changed);
    WAIT_UNTIL(answered >= own);
    pthread_mutex_unlock(&mutex);
}

static int hold_at_progress(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    CHECK(done < total);
    ++((int *)ctx)[step];
    hold();
    return 0;
}

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
    begun();
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
    loaded();
    return NULL;
}

static void start(pthread_t *thread, void *(*what)(void *), void *ctx, bool holds_it)
{
    pthread_mutex_lock(&mutex);
    loading = true;
    held = holds_it;
    stuck = false;
    holds = answered = 0;
    REQUIRE(!pthread_create(thread, NULL, what, ctx));
    loader = *thread;
    pthread_mutex_unlock(&mutex);
}

/* Another round, each time when the loader is held; until it is done. */
static void go_on(void (*round)(void *), void *ctx)
{
    pthread_mutex_lock(&mutex);
    while (loading && !stuck) {
        WAIT_UNTIL(!loading || holds > answered);
        if (!loading) break;
        int seen = holds;
        pthread_mutex_unlock(&mutex);
        round(ctx);
        pthread_mutex_lock(&mutex);
        answered = seen;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&mutex);
    CHECK(!stuck);
}

/* ---- A device that others use ------------------------------------------------------------------------------------ */

static struct vulkan real;
static void (*on_submit)(VkFence fence), (*on_wait)(bool before); /* before the driver's function; and after it */

static VKAPI_ATTR VkResult VKAPI_CALL held_memory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                  const VkAllocationCallbacks *a, VkDeviceMemory *out)
{
    hold();
    return real.AllocateMemory(device, info, a, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL held_compiler(VkDevice device, VkPipelineCache cache, uint32_t n,
                                                    const VkComputePipelineCreateInfo *infos,
                                                    const VkAllocationCallbacks *a, VkPipeline *out)
{
    hold();
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

/* While weights travel, what others submit is submitted. */
static int *copying; /* progress calls by step */
static void hold_copies(bool before)
{
    if (before && copying[TDM_STEP_COPYING_GPU] && !copying[TDM_STEP_MEASURING_GPU]) hold();
}

TEST(a_reply_goes_on_while_another_model_is_loaded)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct gpu *g;
    struct reply r;
    REQUIRE(open_reply(&r, NULL, &g));
    struct gpu_state *alone = gpu_rig_fork(r.state);
    int told[16] = {0};
    struct load l = {.gpu = g, .path = other, .progress = hold_at_progress, .progress_ctx = told};
    pthread_t thread;
    copying = told;
    on_wait = hold_copies;
    start(&thread, run_load, &l, true);
    go_on(reply_on, &r);
    pthread_join(thread, NULL);
    CHECK_INT(TDM_OK, l.status);
    CHECK(told[TDM_STEP_COPYING_GPU] > 1 && told[TDM_STEP_MEASURING_GPU] > 1 && told[TDM_STEP_COMPILING_GPU] > 1);
    CHECK(holds > told[TDM_STEP_COPYING_GPU] + told[TDM_STEP_MEASURING_GPU] + told[TDM_STEP_COMPILING_GPU]);
    CHECK(r.tokens >= holds);
    printf("# held %d times, %d tokens meanwhile\n", holds, r.tokens);
    /* With the bits that it has by itself. */
    for (int i = 0; i < r.tokens; i++) gpu_rig_eval(r.model, alone, &(tdm_id){i * 7 % VOCAB}, 1, 1);
    CHECK(gpu_rig_equal(r.state, alone));
    gpu_state_free(alone);
    gpu_model_free(l.model);
    close_reply(&r, g);
}

/* ---- Beside a reply ---------------------------------------------------------------------------------------------- */

enum { MEASURED = 10, PAGES = 16, SAVED = 4, MAX_IN_A_ROW = 8 /* a token asks for the lock now and then more */ };
static struct gpu *busy;
static atomic_int others, own_ones; /* submissions: of others; of those that are looked at: all, or measured ones */
static int in_a_row, most_in_a_row; /* of these, without others between them; with the device's lock */
static atomic_bool looks_at_all, measuring;

static void watch_submissions(VkFence fence)
{
    static VkFence theirs; /* of what others submitted last; with the device's lock */
    if (!loading || !pthread_equal(pthread_self(), loader)) {
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
    if (before || !loading || !pthread_equal(pthread_self(), loader) || !is_timed) return;
    is_timed = false;
    measuring = false;
}

static void *measure(void *ctx)
{
    begun();
    struct gpu_product p = {.type = TYPE_BF16, .rows = 96, .cols = 128, .tokens = 4, .tuning = busy->tuning};
    tdm_status *status = ctx;
    for (int i = 0; i < MEASURED && !*status; i++) *status = gpu_measure_product(busy, &p, 1 << 16, NULL);
    loaded();
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
    start(&thread, what, ctx, false);
    int before = r->tokens;
    while (loading) {
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
    begun();
    struct saving *s = ctx;
    for (int i = 0; i < SAVED && !s->status; i++) {
        s->status = gpu_rig_save(s->state, &s->image, NULL);
        if (!s->status) s->status = gpu_rig_load(s->state, &s->image, NULL);
    }
    loaded();
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

/* ---- Several loads ----------------------------------------------------------------------------------------------- */

/* One load of several; each has a thread and waits, where it tells its progress, until it may go on. */
struct one {
    struct backend_device *device;
    struct backend_load what;
    struct backend_model *model;
    pthread_t thread;
    bool begun, may_go_on, cancel, done;
    tdm_status status;
    tdm_error err;
};

static int wait_in_the_middle(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    struct one *o = ctx;
    CHECK(step != TDM_STEP_TESTING_GPU && done < total);
    pthread_mutex_lock(&mutex);
    o->begun = true;
    pthread_cond_broadcast(&changed);
    WAIT_UNTIL(o->may_go_on || o->cancel);
    bool cancel = o->cancel;
    pthread_mutex_unlock(&mutex);
    return cancel;
}

static void *run_one(void *ctx)
{
    struct one *o = ctx;
    o->status = backend_gpu.load(&o->model, o->device, &o->what, &o->err);
    set(&o->done, true);
    return NULL;
}

static void begin(struct one *o, struct backend_device *d, const struct tdm_model *m, uint32_t context)
{
    *o = (struct one){.device = d,
                      .what = {.weights = m->weights,
                               .source = m->source,
                               .kv = KV_F16,
                               .context = context,
                               .progress = wait_in_the_middle,
                               .progress_ctx = o}};
    stuck = false;
    if (pthread_create(&o->thread, NULL, run_one, o)) abort();
}

static void until(const bool *what)
{
    pthread_mutex_lock(&mutex);
    WAIT_UNTIL(*what);
    CHECK(!stuck);
    pthread_mutex_unlock(&mutex);
}

static void end(struct one *o, tdm_status expected)
{
    pthread_join(o->thread, NULL);
    CHECK_INT(expected, o->status);
    CHECK(!o->model == (expected != TDM_OK));
}

static struct backend_device *open_backend(void)
{
    struct backend_device *d = NULL;
    if (backend_gpu.open(&d, gpu_rig_name(), &err)) CHECK_FAIL("%s", err.text);
    return d;
}

TEST(two_models_are_loaded_at_once)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct backend_device *d = open_backend();
    const struct tdm_model *m = talk_model(NULL);
    struct one a, b, c;
    REQUIRE(d && m);
    begin(&a, d, m, 128);
    until(&a.begun);
    begin(&b, d, m, 256);
    until(&b.begun); /* both are in the middle */
    begin(&c, d, m, 512);
    set(&c.may_go_on, true);
    until(&c.done);
    if (c.model) backend_gpu.unload(c.model); /* while the others are held */
    set(&a.may_go_on, true);
    end(&a, TDM_OK);
    set(&b.cancel, true);
    end(&b, TDM_E_CANCELLED);
    end(&c, TDM_OK);
    backend_gpu.unload(a.model);
    backend_gpu.close(d);
}

TEST(the_same_model_is_loaded_once)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct backend_device *d = open_backend();
    const struct tdm_model *m = talk_model(NULL);
    struct one a, b, c;
    REQUIRE(d && m);
    begin(&a, d, m, 128);
    until(&a.begun);
    begin(&b, d, m, 128);
    until(&b.begun); /* it is told how far the other is */
    uint64_t used = gpu_used(((struct device *)d)->gpu);
    set(&b.cancel, true);
    until(&b.done); /* though the other does not get on */
    end(&b, TDM_E_CANCELLED);
    begin(&c, d, m, 128);
    set(&c.may_go_on, true);
    until(&c.begun);
    CHECK(!a.done && !c.done);
    CHECK_INT(used, gpu_used(((struct device *)d)->gpu));
    set(&a.may_go_on, true);
    end(&a, TDM_OK);
    end(&c, TDM_OK);
    CHECK(a.model == c.model);
    backend_gpu.unload(a.model);
    backend_gpu.unload(c.model);
    /* Where the one that loads it gives up, the other does it. */
    begin(&a, d, m, 128);
    until(&a.begun);
    begin(&b, d, m, 128);
    set(&b.may_go_on, true);
    until(&b.begun);
    set(&a.cancel, true);
    end(&a, TDM_E_CANCELLED);
    end(&b, TDM_OK);
    backend_gpu.unload(b.model);
    backend_gpu.close(d);
}

static void *close_it(void *ctx)
{
    backend_gpu.close(ctx);
    return NULL;
}

TEST(closing_a_device_gives_up_its_loads)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct device *d = (struct device *)open_backend();
    const struct tdm_model *m = talk_model(NULL);
    struct one loads[3]; /* the last one waits for the second */
    pthread_t closer;
    REQUIRE(d && m);
    for (int i = 0; i < 3; i++) {
        begin(&loads[i], &d->base, m, i ? 256 : 128);
        until(&loads[i].begun);
    }
    REQUIRE(!pthread_create(&closer, NULL, close_it, d));
    for (bool closing = false; !closing; sched_yield()) {
        pthread_mutex_lock(&d->lock);
        closing = d->closing;
        pthread_mutex_unlock(&d->lock);
    }
    for (int i = 0; i < 3; i++) set(&loads[i].may_go_on, true);
    for (int i = 0; i < 3; i++) end(&loads[i], TDM_E_CANCELLED);
    pthread_join(closer, NULL);
}

/* ---- What fits --------------------------------------------------------------------------------------------------- */

static uint64_t budget;
static struct gpu *budget_of;
static PFN_vkGetPhysicalDeviceMemoryProperties2 real_memory;

static VKAPI_ATTR void VKAPI_CALL told_memory(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *out)
{
    real_memory(device, out);
    VkPhysicalDeviceMemoryBudgetPropertiesEXT *b = out->pNext;
    if (!b || b->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT) return;
    memset(b->heapBudget, 0, sizeof b->heapBudget);
    memset(b->heapUsage, 0, sizeof b->heapUsage);
    b->heapBudget[0] = budget;
    b->heapUsage[0] = gpu_used(budget_of);
}

static uint64_t needed_by(const struct tdm_model *m, uint32_t context)
{
    struct gpu_model_options o = {.lm_head = m->weights->lm_head->type,
                                  .kv = KV_F16,
                                  .context = context,
                                  .tokens = PASS_TOKENS,
                                  .runs = PASS_RUNS};
    struct gpu_needs needs;
    gpu_model_needs(m->source, &o, &needs);
    return needs.weights + needs.scratch + 2 * needs.state;
}

TEST(of_two_models_that_do_not_fit_together_one_is_loaded)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct backend_device *d = open_backend();
    const struct tdm_model *m = talk_model(NULL);
    struct one a, b;
    REQUIRE(d && m);
    budget_of = ((struct device *)d)->gpu;
    budget_of->memory.tells_budget = true;
    real_memory = budget_of->vk.GetPhysicalDeviceMemoryProperties2;
    budget_of->vk.GetPhysicalDeviceMemoryProperties2 = told_memory;
    enum { STAGING = 64 << 20 }; /* more than that, and than the tables of passes */
    budget = gpu_used(budget_of) + needed_by(m, 128) + needed_by(m, 256) + STAGING;
    begin(&a, d, m, 128); /* both fit */
    until(&a.begun);
    begin(&b, d, m, 256);
    set(&b.may_go_on, true);
    until(&b.done);
    end(&b, TDM_OK);
    set(&a.may_go_on, true);
    end(&a, TDM_OK);
    backend_gpu.unload(b.model);
    /* a has its memory, but for the states, for which there must be room all the same. */
    struct gpu_needs needs = ((struct model *)a.model)->needs;
    budget = gpu_used(budget_of) + needed_by(m, 256) + 2 * needs.state - 1;
    begin(&b, d, m, 256);
    set(&b.may_go_on, true);
    until(&b.done);
    end(&b, TDM_E_NOMEM);
    CHECK(!b.begun && strstr(b.err.text, "the model takes 0.0 GB there, 0.0 GB are free"));
    /* With its states there nothing more is kept for them. */
    struct pool *pool;
    struct state *s[2];
    REQUIRE(!backend_pool(&pool, a.model, KV_F16, 128, &err));
    for (int i = 0; i < 2; i++) REQUIRE(!state_new(&s[i], pool, &err));
    CHECK_INT(0, budget_of->memory.promised);
    CHECK(pool_stats(pool).bytes >= 2 * needs.state);
    budget = gpu_used(budget_of) + needed_by(m, 256);
    begin(&b, d, m, 256);
    set(&b.may_go_on, true);
    until(&b.done);
    end(&b, TDM_OK);
    CHECK_INT(2 * needs.state, budget_of->memory.promised);
    for (int i = 0; i < 2; i++) state_free(s[i]);
    pool_free(pool);
    if (b.model) backend_gpu.unload(b.model);
    CHECK_INT(0, budget_of->memory.promised);
    backend_gpu.unload(a.model);
    backend_gpu.close(d);
}

/* ---- The front end ----------------------------------------------------------------------------------------------- */

struct screen {
    tdm_machine *machine;
    tdm_chat *chat;
    tdm_sensors *sensors;
    tdm_preload *places; /* of yet another context: closed while the loader is held */
    uint32_t texts;     /* that were told of replies */
};

static void take_events(struct screen *s)
{
    tdm_event e;
    while (tdm_chat_next_event(s->chat, &e)) {
        if (e.kind == TDM_EV_ERROR) CHECK_FAIL("%.*s", (int)e.length, e.text);
        s->texts += e.kind == TDM_EV_TEXT;
        if (e.kind == TDM_EV_END) CHECK_INT(TDM_OK, tdm_chat_send(s->chat, "again", 5, 0, &err));
    }
}

/* What a screen does between two frames, and some more of the reply. */
static void draw(void *ctx)
{
    struct screen *s = ctx;
    static tdm_span spans[64];
    tdm_sensor sensors[16];
    tdm_chat_status status;
    tdm_chat_options o;
    for (int u = 0; u < TDM_UNITS; u++) {
        tdm_unit_info info;
        tdm_unit_describe(s->machine, u, &info);
        CHECK(info.device[0]);
        tdm_unit_spans(s->machine, u, 0, spans, 64);
    }
    tdm_sensors_read(s->sensors, sensors, 16);
    tdm_chat_status_of(s->chat, &status);
    tdm_chat_options_of(s->chat, &o);
    CHECK(!tdm_chat_set_draft(s->chat, "what I type", (size_t)(1 + s->texts % 11), false, &err));
    tdm_preload_close(s->places);
    s->places = NULL;
    for (uint32_t before = s->texts; s->texts == before && !stuck; take_events(s)) {
        struct pollfd fd = {.fd = tdm_chat_fd(s->chat), .events = POLLIN};
        poll(&fd, 1, 1000);
    }
}

struct opening {
    struct screen *screen;
    tdm_preload *places;
    tdm_status status;
    int told[16];
};

static void *open_preload(void *ctx)
{
    begun();
    struct opening *o = ctx;
    tdm_chat_options options = talk_options(talk_model(NULL));
    options.context = 512;
    o->status =
        tdm_preload_open(&o->places, talk_model(NULL), o->screen->machine, &options, hold_at_progress, o->told, NULL);
    loaded();
    return NULL;
}

TEST(the_screen_and_its_reply_go_on)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct screen s = {.sensors = tdm_sensors_open()};
    tdm_machine_options m = {.prefill_unit = gpu_rig_name(), .decode_unit = gpu_rig_name()};
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.max_tokens = 20;
    REQUIRE(s.sensors && !tdm_machine_open(&s.machine, &m, &err));
    REQUIRE(!tdm_chat_open(&s.chat, talk_model(NULL), s.machine, &o, &err));
    o.context = 300;
    REQUIRE(!tdm_preload_open(&s.places, talk_model(NULL), s.machine, &o, NULL, NULL, &err));
    CHECK_INT(TDM_OK, tdm_chat_send(s.chat, "hello", 5, 0, &err));
    struct opening opening = {.screen = &s};
    pthread_t thread;
    start(&thread, open_preload, &opening, true);
    go_on(draw, &s);
    pthread_join(thread, NULL);
    CHECK_INT(TDM_OK, opening.status);
    CHECK(holds > 3);
    tdm_preload_close(opening.places);
    tdm_preload_close(s.places);
    tdm_chat_close(s.chat);
    tdm_machine_close(s.machine);
    tdm_sensors_close(s.sensors);
}

TEST_MAIN(T(a_reply_goes_on_while_another_model_is_loaded), T(nothing_runs_beside_what_is_measured),
          T(a_reply_goes_on_while_a_state_is_moved), T(two_models_are_loaded_at_once), T(the_same_model_is_loaded_once),
          T(closing_a_device_gives_up_its_loads), T(of_two_models_that_do_not_fit_together_one_is_loaded),
          T(the_screen_and_its_reply_go_on))
#else
TEST(a_reply_goes_on_while_another_model_is_loaded)
{
    SKIP(gpu_absence());
}
TEST_MAIN(T(a_reply_goes_on_while_another_model_is_loaded))
#endif
