/* Weights are brought to GPUs before a chat is opened, which then copies none. */
#include "tests/check.h"

#include "tests/engine/backend/fake_gpu.h"
#include "tests/engine/chat/talk.h"

static tdm_error err;

static tdm_machine *machine_of(const char *prefill, const char *decode)
{
    tdm_machine_options m = {.prefill_unit = prefill, .decode_unit = decode};
    tdm_machine *machine = NULL;
    if (tdm_machine_open(&machine, &m, &err)) CHECK_FAIL("%s", err.text);
    return machine;
}

/* Opens places and then a chat; tells how many copies each made. */
static void open_both(const char *prefill, const char *decode, int context, int copies[2])
{
    tdm_machine *machine = machine_of(prefill, decode);
    tdm_chat_options o = talk_options(talk_model(NULL));
    tdm_preload *places;
    tdm_chat *c = NULL;
    o.context = context;
    int before = fake_gpu_copies();
    CHECK_INT(TDM_OK, tdm_preload_open(&places, talk_model(NULL), machine, &o, NULL, NULL, &err));
    int between = fake_gpu_copies();
    CHECK(o.context > 0);
    CHECK_INT(TDM_OK, tdm_chat_open(&c, talk_model(NULL), machine, &o, &err));
    tdm_preload_close(places);
    copies[0] = between - before;
    copies[1] = fake_gpu_copies() - between;
    tdm_chat_close(c);
    tdm_machine_close(machine);
}

TEST(a_chat_takes_what_is_there)
{
    static const struct {
        const char *prefill, *decode;
        int copies;
    } rows[] = {{NULL, NULL, 0}, {"gpu", NULL, 1}, {NULL, "gpu", 1}, {"gpu", "gpu", 1}, {"gpu:0", "gpu:1", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int context = 0; context <= 512; context += 512) {
            int copies[2];
            open_both(rows[i].prefill, rows[i].decode, context, copies);
            CHECK_INT(rows[i].copies, copies[0]);
            CHECK_INT(0, copies[1]);
        }
}

/* The chat finds it does not fit, takes the cores and says so, as without places. */
TEST(what_does_not_fit_is_left_to_the_chat)
{
    int copies[2];
    fake_gpu_fail(FAKE_LOAD, 1, TDM_E_NOMEM);
    open_both(NULL, "gpu", 512, copies);
    CHECK_INT(0, copies[0]);
    CHECK_INT(1, copies[1]); /* there was room when it was opened */
    fake_gpu_heal();
}

static int cancel(void *ctx, tdm_step step, uint64_t done, uint64_t total)
{
    (void)step, (void)done, (void)total;
    return ++*(int *)ctx == 2; /* the second device's */
}

TEST(copying_is_cancelled)
{
    int calls = 0;
    tdm_preload *places;
    tdm_machine *machine = machine_of("gpu:0", "gpu:1");
    tdm_chat_options o = talk_options(talk_model(NULL));
    CHECK_INT(TDM_E_CANCELLED, tdm_preload_open(&places, talk_model(NULL), machine, &o, cancel, &calls, &err));
    CHECK(!places);
    CHECK_INT(2, calls);
    tdm_machine_close(machine);
}

TEST_MAIN(T(a_chat_takes_what_is_there), T(what_does_not_fit_is_left_to_the_chat), T(copying_is_cancelled))
