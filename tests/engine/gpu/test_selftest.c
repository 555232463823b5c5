/* The self-test of a driver: a good one passes, one that leaves out a step of the arithmetic does not, and what came
 * out is kept for this device, driver and shaders. */
#include "tests/check.h"

#include "engine/backend/known.h"
#include "engine/backend/selftest.h"
#include "tests/engine/gpu/rig.h"

static tdm_error err;

#ifdef TANDEM_GPU
#include "engine/gpu/device/vulkan.h"

/* A driver that forgets one in so many dispatches. */
static PFN_vkCmdDispatch real_dispatch;
static int dispatches, forgotten;

static VKAPI_ATTR void VKAPI_CALL forgetful(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z)
{
    if (++dispatches != forgotten) real_dispatch(commands, x, y, z);
}

static void put_forgetful(struct vulkan *vk)
{
    if (!vk->CmdDispatch || vk->CmdDispatch == forgetful) return;
    real_dispatch = vk->CmdDispatch;
    vk->CmdDispatch = forgetful;
}

/* How many dispatches its first trial had. */
static int note_first(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    int *first = ctx;
    CHECK(step == TDM_STEP_TESTING_GPU && done < total);
    if (done == 1) *first = dispatches;
    return 0;
}

TEST(a_good_driver_passes_and_a_bad_one_does_not)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    struct selftest_result r;
    vulkan_loaded = put_forgetful;
    struct gpu *g = gpu_rig_open(NULL);
    vulkan_loaded = NULL;
    REQUIRE(g != NULL);
    int first = 0;
    CHECK_INT(TDM_OK, selftest_run(&r, g, note_first, &first, &err));
    CHECK(r.known && r.passed && first > 0);
    if (!r.passed) printf("# %s\n", r.why);
    uint64_t used = gpu_used(g);
    /* The last one of a trial, in the comparison of what is drawn: where an earlier one is left out, shaders that run
     * on cores may take what lies in memory for an address. */
    forgotten = getenv("TANDEM_LONG") ? dispatches : first;
    dispatches = 0;
    CHECK_INT(TDM_OK, selftest_run(&r, g, NULL, NULL, &err));
    CHECK(r.known && !r.passed && strstr(r.why, "differ"));
    CHECK(used == gpu_used(g)); /* nothing stays there */
    gpu_close(g);
}
#else
/* How many dispatches its first trial had. */
static int note_first(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    int *first = ctx;
    CHECK(step == TDM_STEP_TESTING_GPU && done < total);
    if (done == 1) *first = dispatches;
    return 0;
}

TEST(a_good_driver_passes_and_a_bad_one_does_not)
{
    SKIP(gpu_absence());
}
#endif

TEST(what_came_out_is_kept_for_this_driver)
{
    struct gpu_info one = {.name = "Some GPU", .driver = "made up 1.0"}, other = one;
    struct selftest_result r, good = {.known = true, .passed = true, .units = "int8 16x16x32"},
                              bad = {.known = true, .why = "products of Q4_K: wrong"};
    char folder[600], name[700];
    snprintf(folder, sizeof folder, "%s/a/b", check_tmp());
    snprintf(other.driver, sizeof other.driver, "made up 1.1");
    selftest_kept(&r, folder, &one);
    CHECK(!r.known);
    CHECK_INT(TDM_OK, selftest_keep(&good, folder, &one, &err));
    CHECK_INT(TDM_OK, selftest_keep(&bad, folder, &other, &err));
    selftest_kept(&r, folder, &one);
    CHECK(r.known && r.passed);
    CHECK_STR(good.units, r.units);
    selftest_kept(&r, folder, &other);
    CHECK(r.known && !r.passed);
    CHECK_STR(bad.why, r.why);
    /* Other subjects have files of their own. */
    CHECK_INT(TDM_OK, known_keep(folder, &one, "-more", "a line\n", &err));
    char *text = known_text(folder, &one, "-more");
    CHECK_STR("a line\n", text ? text : "");
    free(text);
    CHECK(!known_text(folder, &other, "-more") && !known_text(folder, &one, "-less"));
    selftest_kept(&r, folder, &one);
    CHECK(r.known && r.passed);
    /* A file that was cut says nothing. */
    snprintf(name, sizeof name, "truncate -s -2 %s/*.txt", folder);
    CHECK_INT(0, system(name));
    selftest_kept(&r, folder, &one);
    CHECK(!r.known);
}

TEST_MAIN(T(a_good_driver_passes_and_a_bad_one_does_not), T(what_came_out_is_kept_for_this_driver))
