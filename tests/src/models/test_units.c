/* Which units are the best, from tables of made-up measurements; what is kept; and the job that measures at a rest. */
#include "tests/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "src/models/units_job.h"

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
    units_measured m = {.gpu = {{"Some GPU", 0xabcdef0123456789}}};
    for (int p = 0; p < UNITS_PAIRS; p++)
        m.row[p] = (units_row){tables[i].ttft[p] > 0, tables[i].ttft[p], tables[i].tps[p], 0, 0};
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
              "cores: 2, 20); taken from the next start on; /units has the table",
              line);
    m = table_of(3);
    units_tell(&m, line, sizeof line);
    CHECK_STR("units measured with this model: the cores stay (20 tokens/s; Some GPU was tried)", line);
}

TEST(a_gpu_that_is_software_is_not_considered)
{
    const tdm_gpu_info gpus[] = {
        {.software = true}, {.name = "Real"}, {.software = true}, {.name = "Other"}, {.name = "Third"}};
    int found[UNITS_GPUS];
    CHECK_INT(2, units_gpus(gpus, 5, found));
    CHECK(found[0] == 1 && found[1] == 3);
    CHECK_INT(1, units_gpus(gpus, 3, found));
    CHECK(!units_gpus(gpus, 1, found) && !units_gpus(gpus, 0, found));
}

TEST(the_table_says_which_is_best_for_what)
{
    units_measured m = table_of(2);
    m.gpu[1] = m.gpu[0];
    m.row[UNITS_GPU_OTHER] = (units_row){true, 9, 210, 0, 0};
    char *text = units_table(&m);
    CHECK_STR("pairs measured with this model, PREFILL + DECODE (GPU: Some GPU; other: Some GPU)\n"
              "                 to first token        reply\n"
              "cores + cores              2 ms     20 tok/s\n"
              "GPU + cores               30 ms     18 tok/s\n"
              "cores + GPU                4 ms    180 tok/s\n"
              "GPU + GPU                  9 ms    200 tok/s\n"
              "GPU + other GPU            9 ms    210 tok/s\n"
              "shortest wait: cores + cores; fastest reply: GPU + other GPU; taken: cores + GPU\n",
              text);
    free(text);
    m.processor = true;
    for (int i = 0; i < UNITS_PAIRS; i++) m.row[i].read_watts = 100 + i, m.row[i].write_watts = 300 - 20 * i;
    text = units_table(&m);
    CHECK(strstr(text, "cores + GPU                4 ms    180 tok/s    102 W    260 W\n"));
    CHECK(strstr(text, "least power to read: cores + cores; least energy of a token: GPU + other GPU\n"));
    free(text);
    m.processor = false; /* then the cores seem to draw nothing */
    text = units_table(&m);
    CHECK(strstr(text, "power of the GPU alone") && !strstr(text, "least"));
    free(text);
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
    m.processor = true;
    m.row[1].read_watts = 12.5;
    char unit[TDM_UNITS][UNITS_NAME], path[400];
    use_cache("kept");
    CHECK(!units_recall(&found, 7));
    REQUIRE(units_keep(&m, 7, &err) == TDM_OK);
    REQUIRE(units_recall(&found, 7));
    CHECK(found.gpu[0].identity == m.gpu[0].identity && !strcmp(found.gpu[0].name, m.gpu[0].name) &&
          !found.gpu[1].name[0] && units_best(&found) == UNITS_GPU_GPU);
    for (int i = 0; i < UNITS_PAIRS; i++)
        CHECK(found.row[i].known == (i <= UNITS_GPU_GPU) && found.row[i].ttft_ms == m.row[i].ttft_ms);
    CHECK(found.processor && found.row[1].read_watts == 12.5 && found.row[0].read_watts == 0);
    CHECK(!units_recall(&found, 8));
    CHECK(!units_choose(7, unit)); /* that GPU is not there */
    snprintf(path, sizeof path, "%s/kept/tandem/units-0000000000000007.json", check_tmp());
    REQUIRE(truncate(path, 30) == 0);
    CHECK(!units_recall(&found, 7));
}

/* ---- The job ----------------------------------------------------------------------------------------------------- */

enum { PAIRS_OF_ONE = UNITS_GPU_GPU + 1 };
static int probes;

static tdm_status forced(void *ctx, units_pair pair, const char *const unit[TDM_UNITS], units_row *out, tdm_error *e)
{
    static const char *const named[] = {"gpu:1", "gpu:2"};
    (void)ctx;
    probes++;
    for (int u = 0; u < TDM_UNITS; u++) {
        int place = units_gpu_of(pair, u);
        if (place < 0)
            CHECK(!unit[u]);
        else
            CHECK_STR(named[place], unit[u]);
    }
    if (pair == UNITS_GPU_CORES) return error_set(e, TDM_E_NOMEM, "too small");
    *out = (units_row){true, tables[0].ttft[pair], tables[0].tps[pair], 0, 0};
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
    bool ended = j->task.running && read(wake[0], &byte, 1) == 1 && units_job_take(j, line, room);
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
    CHECK(probes == PAIRS_OF_ONE && strstr(line, "GPU + GPU is best")); /* one of them could not be measured */
    CHECK(!play_job(&j, m, line, sizeof line));                         /* the same job has nothing to do */
    units_job next = {.gpus = gpus, .n_gpus = 2, .probe = forced};
    CHECK(play_job(&next, m, line, sizeof line) && probes == PAIRS_OF_ONE && !line[0]); /* it is kept */
    const tdm_gpu_info newer[] = {{.software = true}, {.name = "Some GPU", .identity = 6}};
    units_job again = {.gpus = newer, .n_gpus = 2, .probe = forced};
    CHECK(play_job(&again, m, line, sizeof line) && probes == 2 * PAIRS_OF_ONE); /* another driver */
    const tdm_gpu_info more[] = {{.software = true}, newer[1], {.name = "Another", .identity = 7}};
    units_job two = {.gpus = more, .n_gpus = 3, .probe = forced};
    CHECK(play_job(&two, m, line, sizeof line) && probes == 2 * PAIRS_OF_ONE + UNITS_PAIRS); /* a second one */
    units_job none = {.gpus = gpus, .n_gpus = 1, .probe = forced};
    CHECK(play_job(&none, m, line, sizeof line) && !line[0] && probes == 2 * PAIRS_OF_ONE + UNITS_PAIRS);
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
    task_end(&j.task);
    CHECK(!j.task.running);
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

TEST_MAIN(T(the_wait_after_enter_counts_first_then_the_speed_of_the_reply), T(a_gpu_that_is_software_is_not_considered),
          T(what_was_measured_is_kept_for_the_model), T(the_table_says_which_is_best_for_what),
          T(the_pairs_are_measured_once), T(two_turns_are_played))
