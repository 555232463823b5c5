/* Several models are loaded at once, one that does not fit is refused, and the screen and its reply go on meanwhile.
 * Loaders are held where they tell their progress until the others have got further (held.h). */
#include "tests/check.h"
#include "tests/engine/gpu/rig.h"

#ifdef TANDEM_GPU
#include <poll.h>

#include "engine/backend/loading.h"
#include "engine/gpu/device/device.h"
#include "engine/object/model.h"
#include "tests/engine/chat/talk.h"
#include "tests/engine/gpu/held.h"

static tdm_error err;

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
    held_set(&o->begun, true);
    pthread_mutex_lock(&held_mutex);
    HELD_WAIT(o->may_go_on || o->cancel);
    bool cancel = o->cancel;
    pthread_mutex_unlock(&held_mutex);
    return cancel;
}

static void *run_one(void *ctx)
{
    struct one *o = ctx;
    o->status = backend_gpu.load(&o->model, o->device, &o->what, &o->err);
    held_set(&o->done, true);
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
    held_stuck = false;
    if (pthread_create(&o->thread, NULL, run_one, o)) abort();
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
    held_until(&a.begun);
    begin(&b, d, m, 256);
    held_until(&b.begun); /* both are in the middle */
    begin(&c, d, m, 512);
    held_set(&c.may_go_on, true);
    held_until(&c.done);
    if (c.model) backend_gpu.unload(c.model); /* while the others are held */
    held_set(&a.may_go_on, true);
    end(&a, TDM_OK);
    held_set(&b.cancel, true);
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
    held_until(&a.begun);
    begin(&b, d, m, 128);
    held_until(&b.begun); /* it is told how far the other is */
    uint64_t used = gpu_used(((struct device *)d)->gpu);
    held_set(&b.cancel, true);
    held_until(&b.done); /* though the other does not get on */
    end(&b, TDM_E_CANCELLED);
    begin(&c, d, m, 128);
    held_set(&c.may_go_on, true);
    held_until(&c.begun);
    CHECK(!a.done && !c.done);
    CHECK_INT(used, gpu_used(((struct device *)d)->gpu));
    held_set(&a.may_go_on, true);
    end(&a, TDM_OK);
    end(&c, TDM_OK);
    CHECK(a.model == c.model);
    backend_gpu.unload(a.model);
    backend_gpu.unload(c.model);
    /* Where the one that loads it gives up, the other does it. */
    begin(&a, d, m, 128);
    held_until(&a.begun);
    begin(&b, d, m, 128);
    held_set(&b.may_go_on, true);
    held_until(&b.begun);
    held_set(&a.cancel, true);
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
        held_until(&loads[i].begun);
    }
    REQUIRE(!pthread_create(&closer, NULL, close_it, d));
    for (bool closing = false; !closing; sched_yield()) {
        pthread_mutex_lock(&d->lock);
        closing = d->closing;
        pthread_mutex_unlock(&d->lock);
    }
    for (int i = 0; i < 3; i++) held_set(&loads[i].may_go_on, true);
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
    held_until(&a.begun);
    begin(&b, d, m, 256);
    held_set(&b.may_go_on, true);
    held_until(&b.done);
    end(&b, TDM_OK);
    held_set(&a.may_go_on, true);
    end(&a, TDM_OK);
    backend_gpu.unload(b.model);
    /* a has its memory, but for the states, for which there must be room all the same. */
    struct gpu_needs needs = ((struct model *)a.model)->needs;
    budget = gpu_used(budget_of) + needed_by(m, 256) + 2 * needs.state - 1;
    begin(&b, d, m, 256);
    held_set(&b.may_go_on, true);
    held_until(&b.done);
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
    held_set(&b.may_go_on, true);
    held_until(&b.done);
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
    uint32_t texts;      /* that were told of replies */
    uint32_t draws;
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

/* What a screen does between two frames, and some more of the reply; in the short form each fourth time. */
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
    if (s->draws++ % 4 && !getenv("TANDEM_LONG")) return;
    for (uint32_t before = s->texts; s->texts == before && !held_stuck; take_events(s)) {
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
    held_begun();
    struct opening *o = ctx;
    tdm_chat_options options = talk_options(talk_model(NULL));
    options.context = 512;
    o->status =
        tdm_preload_open(&o->places, talk_model(NULL), o->screen->machine, &options, held_at_progress, o->told, NULL);
    held_end();
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
    held_start(&thread, open_preload, &opening, true);
    held_go_on(draw, &s);
    pthread_join(thread, NULL);
    CHECK_INT(TDM_OK, opening.status);
    CHECK(held_count() > 3);
    tdm_preload_close(opening.places);
    tdm_preload_close(s.places);
    tdm_chat_close(s.chat);
    tdm_machine_close(s.machine);
    tdm_sensors_close(s.sensors);
}

TEST_MAIN(T(two_models_are_loaded_at_once), T(the_same_model_is_loaded_once), T(closing_a_device_gives_up_its_loads),
          T(of_two_models_that_do_not_fit_together_one_is_loaded), T(the_screen_and_its_reply_go_on))
#else
TEST(two_models_are_loaded_at_once)
{
    SKIP(gpu_absence());
}
TEST_MAIN(T(two_models_are_loaded_at_once))
#endif
