/* A unit that is a GPU, in the real program: what the monitor shows of it at the usual sizes. Without a GPU, software
 * ones included, it is skipped. With $TANDEM_GPU set the screens are kept there (`make figures`). */
#include "tests/check.h"
#include "tests/src/tui/rig.h"

#include "engine/gpu/gpu.h"

static void keep(FILE *out, int rows, const char *about)
{
    char row[RIG_ROW];
    if (!out) return;
    rig_take(700); /* figures are renewed twice a second */
    fprintf(out, "\n%s\n\n", about);
    for (int i = 0; i < rows; i++) {
        rig_text(i, row);
        fprintf(out, row[0] ? "    %s\n" : "\n", row);
    }
}

/* Few tokens: where shaders run on cores, each takes its time. */
static const char *const decodes[] = {"chat", "--ascii", "--temp", "0", "-c", "1024", "-n", "3", "--decode-unit", "gpu",
                                      "--measure-idle", "off", NULL};
static const char *const both[] = {"chat", "--ascii", "--temp", "0", "-c", "1024", "-n", "3", "--prefill-unit", "gpu",
                                   "--decode-unit", "gpu", "--measure-idle", "off", NULL};

static bool has_gpu(void)
{
    struct gpu_info info;
    return gpu_list(&info, 1) > 0;
}

/* Cores compile shaders for half a minute; some minutes where they are slow and busy. */
static bool wait_until_loaded(void)
{
    enum { MINUTES = 4 };
    for (int i = 0; i < MINUTES; i++)
        if (rig_wait("IDLE")) return true;
    return false;
}

static FILE *file;

TEST(a_gpu_that_writes)
{
    const char *kept = getenv("TANDEM_GPU");
    if (!has_gpu()) SKIP("no GPU");
    file = kept && kept[0] ? fopen(kept, "w") : NULL;
    if (file)
        fputs("# The monitor of a GPU unit\n\n`tandem -m builtin --decode-unit gpu --ascii` on a machine without a "
              "GPU:\nMesa's llvmpipe runs the shaders on the cores, so its speeds say nothing of GPUs.\n"
              "`make figures` writes them.\n",
              file);
    REQUIRE(rig_start(check_tmp(), 24, 80, "xterm-256color", decodes) && rig_wait("TESTING GPU 1 of "));
    rig_type("typed meanwhile");
    CHECK(rig_wait("> typed meanwhile") && rig_shows("TESTING GPU "));
    rig_type("\x15");
    CHECK(wait_until_loaded());
    rig_type("Why is the sky blue?\r");
    CHECK(rig_wait("LENGTH | "));
    CHECK(rig_wait("DECODE"));
    keep(file, 24, "80x24, a reply was written:");
    rig_type("/monitor full\r");
    CHECK(rig_wait("DECODE is gpu:0"));
    keep(file, 24, "80x24, in full (`/monitor full`):");
    rig_resize(40, 120);
    rig_type("/monitor panel\r");
    CHECK(rig_wait("DECODE gpu:0, "));
    CHECK(rig_wait("GiB"));
    keep(file, 40, "120x40:");
    rig_resize(60, 200);
    rig_type("/monitor full\r");
    CHECK(rig_wait("DECODE is gpu:0"));
    keep(file, 60, "200x60, in full:");
    rig_type("/units\r");
    CHECK(rig_wait("DECODE: gpu:0, ")); /* and its name */
    rig_type("\x03");
    LEAVE();
}

/* Slower yet where shaders run on cores. */
TEST(one_gpu_for_both)
{
    if (!has_gpu()) SKIP("no GPU");
    if (!file && !getenv("TANDEM_LONG")) SKIP("long: set TANDEM_LONG");
    REQUIRE(rig_start(check_tmp(), 40, 120, "xterm-256color", both) && wait_until_loaded());
    rig_type("/monitor panel\r");
    CHECK(rig_wait("PREFILL gpu:0, ") && rig_wait("both share one GPU: "));
    if (file) {
        rig_type("Why is the sky blue?\r");
        CHECK(rig_wait("LENGTH | "));
    }
    keep(file, 40, "120x40, `--prefill-unit gpu --decode-unit gpu`:");
    LEAVE();
    if (file) fclose(file);
    file = NULL;
}

TEST_MAIN(T(a_gpu_that_writes), T(one_gpu_for_both))
