/* Two units on one GPU: a long pass is submitted in slices, is given up between two of them, and short passes get in
 * between; no bit depends on it. */
#include "tests/check.h"
#include "tests/engine/forward/rig.h"
#include "tests/engine/gpu/rig.h"

#ifdef TANDEM_GPU
#include <pthread.h>

#include "engine/gpu/device/device.h"

enum { LONG = 140, VOCAB = 512, REPLY = 12 };
static const char model_name[] = "tests/goldens/gguf/tiny-a-q8_0.gguf";
static tdm_error err;

/* What happens after a submission was waited for. */
static PFN_vkWaitForFences real_wait;
static void (*after_wait)(void);

static PFN_vkQueueSubmit real_submit;
static atomic_int flying, most_flying; /* submissions that were not waited for */

static VKAPI_ATTR VkResult VKAPI_CALL watched_submit(VkQueue queue, uint32_t n, const VkSubmitInfo *infos,
                                                     VkFence fence)
{
    if (++flying > most_flying) most_flying = flying;
    return real_submit(queue, n, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL watched_wait(VkDevice device, uint32_t n, const VkFence *fences, VkBool32 all,
                                                   uint64_t timeout)
{
    VkResult result = real_wait(device, n, fences, all, timeout);
    if (result == VK_TIMEOUT) return result;
    flying--;
    if (after_wait) after_wait();
    return result;
}

static void watch(struct vulkan *vk)
{
    if (!vk->WaitForFences || vk->WaitForFences == watched_wait) return;
    real_wait = vk->WaitForFences;
    vk->WaitForFences = watched_wait;
    real_submit = vk->QueueSubmit;
    vk->QueueSubmit = watched_submit;
}

static struct gpu *device;

static struct gpu_model *open_model(void)
{
    vulkan_loaded = watch;
    device = gpu_rig_open(NULL);
    return device ? gpu_rig_model(device, model_name, KV_F16) : NULL;
}

static void close_model(struct gpu_model *m)
{
    after_wait = NULL;
    gpu_model_free(m);
    gpu_close(device);
    vulkan_loaded = NULL;
}

static atomic_bool cancel;
static int waits, cancel_after;

static void count_and_cancel(void)
{
    if (++waits == cancel_after) cancel = true;
}

TEST(a_pass_is_given_up_after_the_slice_that_runs)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct gpu_model *m = open_model();
    REQUIRE(m != NULL);
    tdm_id ids[LONG];
    rig_ids(ids, LONG, VOCAB, 1);
    struct gpu_state *s = gpu_rig_state(m), *before = gpu_rig_state(m), *whole = gpu_rig_state(m);
    struct gpu_run run = {.state = s, .tokens = ids, .n = LONG, .logits = GPU_LOGITS_LAST};
    gpu_rig_eval(m, whole, ids, LONG, LONG);
    for (cancel_after = 1; cancel_after <= 3; cancel_after++) {
        cancel = false;
        waits = 0;
        after_wait = count_and_cancel;
        CHECK_INT(TDM_E_CANCELLED, gpu_forward(m, &run, 1, &(struct gpu_pass_options){.cancel = &cancel}, &err));
        after_wait = NULL;
        CHECK_INT(cancel_after, waits);
        CHECK(gpu_state_broken(s));
        CHECK_INT(TDM_OK, gpu_state_copy(s, before, &err));
    }
    gpu_rig_eval(m, s, ids, LONG, LONG);
    CHECK(gpu_rig_equal(s, whole));
    gpu_state_free(s);
    gpu_state_free(before);
    gpu_state_free(whole);
    close_model(m);
}

/* The times are made up, so that the machine's load decides nothing: a layer takes a quarter of a token's hour, which
 * makes slices of two layers; what is measured meanwhile only makes later slices longer. */
enum { LAYER_S = 900 };

TEST(two_slices_are_submitted_where_both_take_no_longer_than_a_token)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    enum { SOME = 12 };
    struct gpu_model *m = open_model();
    REQUIRE(m != NULL);
    tdm_id ids[SOME];
    rig_ids(ids, SOME, VOCAB, 3);
    struct gpu_state *s = gpu_rig_state(m), *whole = gpu_rig_state(m);
    gpu_rig_eval(m, whole, ids, SOME, 1);
    gpu_rig_times(m, 4 * LAYER_S, LAYER_S);
    most_flying = flying = 0;
    gpu_rig_eval(m, s, ids, SOME, SOME);
    CHECK_INT(2, most_flying);
    CHECK_INT(0, flying);
    CHECK(gpu_rig_equal(s, whole));
    gpu_rig_times(m, 4 * LAYER_S, LAYER_S);
    after_wait = count_and_cancel; /* with another slice submitted, which is waited for as well */
    cancel = false;
    waits = 0;
    cancel_after = 1;
    struct gpu_run run = {.state = s, .tokens = ids, .n = SOME, .logits = GPU_LOGITS_LAST};
    CHECK_INT(TDM_E_CANCELLED, gpu_forward(m, &run, 1, &(struct gpu_pass_options){.cancel = &cancel}, &err));
    CHECK_INT(0, flying);
    CHECK(gpu_state_broken(s));
    gpu_state_free(s);
    gpu_state_free(whole);
    close_model(m);
}

/* ---- A reply beside a long pass ---------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t reader;
static int slices, tokens; /* of the long pass that are done, of the reply */

/* After each of its slices the long pass waits until the reply has got a token further, while there are some. */
static void let_the_reply_go_on(void)
{
    if (!pthread_equal(pthread_self(), reader)) return;
    pthread_mutex_lock(&lock);
    int wanted = ++slices < REPLY ? slices : REPLY;
    pthread_cond_broadcast(&changed);
    while (tokens < wanted) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

struct reading {
    struct gpu_model *model;
    struct gpu_state *state;
    const tdm_id *ids;
};

static void *read_ahead(void *ctx)
{
    struct reading *r = ctx;
    gpu_rig_eval(r->model, r->state, r->ids, LONG, LONG);
    pthread_mutex_lock(&lock);
    slices = 1000;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

TEST(a_reply_goes_on_between_the_slices_of_a_long_pass)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct gpu_model *m = open_model();
    REQUIRE(m != NULL);
    tdm_id ids[LONG], reply[REPLY];
    rig_ids(ids, LONG, VOCAB, 1);
    rig_ids(reply, REPLY, VOCAB, 2);
    struct gpu_state *s[2], *alone[2];
    for (int i = 0; i < 2; i++) s[i] = gpu_rig_state(m), alone[i] = gpu_rig_state(m);
    gpu_rig_eval(m, alone[0], ids, LONG, LONG);
    gpu_rig_eval(m, alone[1], reply, REPLY, 1);
    struct reading reading = {m, s[0], ids};
    slices = tokens = 0;
    pthread_mutex_lock(&lock); /* until `reader` is set */
    after_wait = let_the_reply_go_on;
    CHECK_INT(0, pthread_create(&reader, NULL, read_ahead, &reading));
    int between = 0;
    for (int i = 0; i < REPLY; i++) {
        while (slices <= i && slices < 1000) pthread_cond_wait(&changed, &lock);
        between += slices < 1000;
        pthread_mutex_unlock(&lock);
        gpu_rig_eval(m, s[1], reply + i, 1, 1);
        pthread_mutex_lock(&lock);
        tokens++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    pthread_join(reader, NULL);
    CHECK(between >= 1);
    for (int i = 0; i < 2; i++) {
        CHECK(gpu_rig_equal(s[i], alone[i]));
        gpu_state_free(s[i]);
        gpu_state_free(alone[i]);
    }
    close_model(m);
}

/* ---- Compiling --------------------------------------------------------------------------------------------------- */

/* Cancels at the third time. */
static int third(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    CHECK(done < total && step == TDM_STEP_COMPILING_GPU);
    return ++*(int *)ctx == 3;
}

static void check_prepared(void)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 8, 9, 33, 70, 1, 2, 3};
    struct gpu_model *m = gpu_rig_model(device, model_name, KV_Q8_0);
    REQUIRE(m);
    int told = 0;
    gpu_rig_progress(m, third, &told);
    CHECK_INT(TDM_E_CANCELLED, gpu_model_prepare(m, &err));
    CHECK_INT(3, told);
    REQUIRE(!gpu_model_prepare(m, &err));
    CHECK(told > 6);
    uint32_t prepared = device->n_pipelines;
    struct gpu_state *s = gpu_rig_state(m);
    tdm_id ids[70];
    rig_ids(ids, 70, VOCAB, 5);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) gpu_rig_eval(m, s, ids, sizes[i], 70);
    static float rows[7 * VOCAB];
    gpu_rig_logits(m, s, ids, 7, rows, NULL);
    struct gpu_run run = {.state = s, .tokens = ids, .n = 1, .logits = GPU_LOGITS_TOPK};
    CHECK(!gpu_forward(m, &run, 1, NULL, &err));
    tdm_id sampled[GPU_BURST];
    uint32_t appended, burst = gpu_model_burst(m);
    struct gpu_reply reply = {.state = s, .next = ids[0], .n = burst};
    if (gpu_model_fused_workgroups(m)) CHECK(!gpu_reply(&reply, sampled, &appended, &err));
    CHECK_INT(prepared, device->n_pipelines);
    gpu_state_free(s);
    gpu_model_free(m);
}

TEST(a_prepared_model_waits_for_no_compiler)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    for (int i = 0; i < 2; i++) {
        device = gpu_rig_open(&(struct gpu_options){.tuning = i ? &gpu_rig_fused : NULL});
        REQUIRE(device);
        check_prepared();
        gpu_close(device);
    }
}

#else
TEST(a_prepared_model_waits_for_no_compiler)
{
    SKIP(gpu_absence());
}
TEST(a_pass_is_given_up_after_the_slice_that_runs)
{
    SKIP(gpu_absence());
}
TEST(two_slices_are_submitted_where_both_take_no_longer_than_a_token)
{
    SKIP(gpu_absence());
}
TEST(a_reply_goes_on_between_the_slices_of_a_long_pass)
{
    SKIP(gpu_absence());
}
#endif

TEST_MAIN(T(a_pass_is_given_up_after_the_slice_that_runs),
          T(two_slices_are_submitted_where_both_take_no_longer_than_a_token),
          T(a_reply_goes_on_between_the_slices_of_a_long_pass), T(a_prepared_model_waits_for_no_compiler))
