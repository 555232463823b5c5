/* Which units are the best, from tables of made-up measurements; what is kept; and the job that measures at a rest. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/error.h"
#include "src/chat/units_job.h"

static tdm_error err;

static const struct {
    double ttft[UNITS_PAIRS], tps[UNITS_PAIRS]; /* ttft 0: not measured */
    units_pair best;
} tables[] = {
    {{2, 30, 30, 0.9}, {20, 18, 180, 200}, UNITS_GPU_GPU},     /* the shortest wait is that of the fastest, too */
    {{2, 30, 30, 3.0}, {20, 18, 180, 200}, UNITS_GPU_GPU},     /* a millisecond is not felt */
    {{2, 30, 4, 9.0}, {20, 18, 180, 200}, UNITS_CORES_GPU},    /* what is felt comes first */
    {{2, 30, 30, 40}, {20, 18, 180, 200}, UNITS_CORES_CORES},
    {{100, 109, 300, 300}, {20, 60, 1, 1}, UNITS_GPU_CORES},   /* a tenth is not felt */
    {{2, 2, 2, 2}, {100, 103, 104, 104}, UNITS_CORES_CORES},   /* equally fast: without the GPU */
    {{2, 0, 0, 0}, {20, 0, 0, 0}, UNITS_CORES_CORES},
    {{0, 0, 0, 0}, {0, 0, 0, 0}, UNITS_CORES_CORES},
    {{0, 0, 5, 0}, {0, 0, 9, 0}, UNITS_CORES_GPU},
};
enum { TABLES = sizeof tables / sizeof *tables };

static units_measured table_of(int i)
{
    units_measured m = {.gpu = "Some GPU", .identity = 0xabcdef0123456789};
    for (int p = 0; p < UNITS_PAIRS; p++)
        m.row[p] = (units_row){tables[i].ttft[p] > 0, tables[i].ttft[p], tables[i].tps[p]};
    return m;
}

TEST(the_wait_after_enter_counts_first_then_the_speed_of_the_reply)
{
    for (int i = 0; i < TABLES; i++) {
        units_measured m = table_of(i);
        if (units_best(&m) != tables[i].best) CHECK_FAIL("table %d: %d", i, units_best(&m));
    }
    char line[300];
    units_measured m = table_of(0);
    units_tell(&m, line, sizeof line);
    CHECK_STR("units measured with this model: GPU + GPU is best, 0.9 ms to the first token and 200 tokens/s (cores + "
              "cores: 2, 20); taken from the next start on", line);
    m = table_of(3);
    units_tell(&m, line, sizeof line);
    CHECK_STR("units measured with this model: the cores stay (20 tokens/s; Some GPU was tried)", line);
}

TEST(a_gpu_that_is_software_is_not_considered)
{
    const tdm_gpu_info gpus[] = {{.software = true}, {.name = "Real"}, {.name = "Other"}};
    CHECK(units_gpu(gpus, 3) == &gpus[1]);
    CHECK(!units_gpu(gpus, 1) && !units_gpu(gpus, 0));
}

static void use_cache(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", check_tmp(), name);
    setenv("XDG_CACHE_HOME", path, 1);
}

TEST(what_was_measured_is_kept_for_the_model)
{
    units_measured found, m = table_of(0);
    units_pair pair;
    char gpu[16], path[400];
    use_cache("kept");
    CHECK(!units_recall(&found, 7));
    REQUIRE(units_keep(&m, 7, &err) == TDM_OK);
    REQUIRE(units_recall(&found, 7));
    CHECK(found.identity == m.identity && !strcmp(found.gpu, m.gpu) && units_best(&found) == UNITS_GPU_GPU);
    for (int i = 0; i < UNITS_PAIRS; i++) CHECK(found.row[i].known && found.row[i].ttft_ms == m.row[i].ttft_ms);
    CHECK(!units_recall(&found, 8));
    CHECK(!units_choose(7, &pair, gpu, sizeof gpu)); /* that GPU is not there */
    snprintf(path, sizeof path, "%s/kept/tandem/units-0000000000000007.json", check_tmp());
    REQUIRE(truncate(path, 30) == 0);
    CHECK(!units_recall(&found, 7));
}

/* ---- The job ----------------------------------------------------------------------------------------------------- */

static int probes;

static tdm_status forced(void *ctx, units_pair pair, const char *gpu, units_row *out, tdm_error *e)
{
    (void)ctx;
    probes++;
    CHECK_STR("gpu:1", gpu);
    if (pair == UNITS_GPU_CORES) return error_set(e, TDM_E_NOMEM, "too small");
    *out = (units_row){true, tables[0].ttft[pair], tables[0].tps[pair]};
    return TDM_OK;
}

static tdm_model *open_builtin(void)
{
    tdm_model *m = NULL;
    tdm_model_options o = {.path = "assets/tandem-demo-51m-q6_k.gguf", .builtin = "assets/tandem-demo-51m-q6_k.gguf"};
    if (tdm_model_open(&m, &o, &err)) CHECK_FAIL("%s", err.text);
    return m;
}

static bool play_job(units_job *j, const tdm_model *m, char *line, size_t room)
{
    int wake[2];
    char byte;
    if (pipe(wake)) return false;
    units_job_begin(j, m, wake[1]);
    bool ended = j->job.running && read(wake[0], &byte, 1) == 1 && units_job_take(j, line, room);
    close(wake[0]);
    close(wake[1]);
    return ended;
}

TEST(the_pairs_are_measured_once)
{
    const tdm_gpu_info gpus[] = {{.software = true}, {.name = "Some GPU", .identity = 5}};
    char line[300];
    tdm_model *m = open_builtin();
    REQUIRE(m != NULL);
    use_cache("once");
    units_job j = {.gpus = gpus, .n_gpus = 2, .probe = forced};
    REQUIRE(play_job(&j, m, line, sizeof line));
    CHECK(probes == UNITS_PAIRS && strstr(line, "GPU + GPU is best")); /* one of them could not be measured */
    CHECK(!play_job(&j, m, line, sizeof line));                        /* the same job has nothing to do */
    units_job next = {.gpus = gpus, .n_gpus = 2, .probe = forced};
    CHECK(play_job(&next, m, line, sizeof line) && probes == UNITS_PAIRS && !line[0]); /* it is kept */
    const tdm_gpu_info newer[] = {{.software = true}, {.name = "Some GPU", .identity = 6}};
    units_job again = {.gpus = newer, .n_gpus = 2, .probe = forced};
    CHECK(play_job(&again, m, line, sizeof line) && probes == 2 * UNITS_PAIRS); /* another driver */
    units_job none = {.gpus = gpus, .n_gpus = 1, .probe = forced};
    CHECK(play_job(&none, m, line, sizeof line) && !line[0] && probes == 2 * UNITS_PAIRS);
    tdm_model_close(m);
}

/* The cores for real, beside a GPU that can't be opened; and given up. */
TEST(two_turns_are_played)
{
    tdm_gpu_info gpus[16];
    char line[300];
    tdm_model *m = open_builtin();
    REQUIRE(m != NULL);
    use_cache("played");
    for (int i = 0; i < 16; i++) gpus[i] = (tdm_gpu_info){.software = i < 15, .name = "None"};
    units_job j = {.gpus = gpus, .n_gpus = 16};
    units_job_begin(&j, m, -1);
    job_end(&j.job);
    CHECK(!j.job.running);
    units_measured found;
    tdm_model_info info;
    tdm_model_describe(m, &info);
    CHECK(!units_recall(&found, info.fingerprint));
    REQUIRE(play_job(&j, m, line, sizeof line));
    CHECK(!strncmp(line, "units measured with this model: the cores stay (", 48));
    REQUIRE(units_recall(&found, info.fingerprint));
    CHECK(found.row[0].known && found.row[0].decode_tps > 0 && found.row[0].ttft_ms > 0 && !found.row[3].known);
    tdm_model_close(m);
}

TEST_MAIN(T(the_wait_after_enter_counts_first_then_the_speed_of_the_reply),
          T(a_gpu_that_is_software_is_not_considered), T(what_was_measured_is_kept_for_the_model),
          T(the_pairs_are_measured_once), T(two_turns_are_played))
