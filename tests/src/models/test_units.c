/* Which units are the best, from tables of made-up measurements; what is kept; and the job that measures at a rest. */
#include "tests/check.h"

#include <stdlib.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "src/models/load.h"
#include "src/models/units_job.h"
#include "tests/engine/chat/widened.h"

static tdm_error err;

static const struct {
    double ttft[UNITS_PAIRS], tps[UNITS_PAIRS]; /* ttft 0: not measured */
    units_pair best;
} tables[] = {
    {{2, 0, 30, 30, 0.9}, {20, 0, 18, 180, 200}, UNITS_GPU_GPU},   /* the shortest wait is that of the fastest, too */
    {{2, 0, 30, 30, 3.0}, {20, 0, 18, 180, 200}, UNITS_GPU_GPU},   /* a millisecond is not felt */
    {{2, 0, 30, 4, 9.0}, {20, 0, 18, 180, 200}, UNITS_CORES_GPU},  /* what is felt comes first */
    {{2, 0, 30, 30, 40}, {20, 0, 18, 180, 200}, UNITS_CORES_CORES},
    {{100, 0, 109, 300, 300}, {20, 0, 60, 1, 1}, UNITS_GPU_CORES}, /* a tenth is not felt */
    {{2, 0, 2, 2, 2}, {100, 0, 103, 104, 104}, UNITS_CORES_CORES}, /* equally fast: without the GPU */
    {{2, 0, 0, 0, 0}, {20, 0, 0, 0, 0}, UNITS_CORES_CORES},
    {{0, 0, 0, 0, 0}, {0, 0, 0, 0, 0}, UNITS_CORES_CORES},
    {{0, 0, 0, 5, 0}, {0, 0, 0, 9, 0}, UNITS_CORES_GPU},
    {{2, 1, 0, 0, 0}, {20, 90, 0, 0, 0}, UNITS_CORES_CORES}, /* that bfloat16 waits and writes better is chance */
};
enum { TABLES = sizeof tables / sizeof *tables };

static units_measured table_of(int i)
{
    units_measured m = {.gpu = {{"Some GPU", 0xabcdef0123456789}}};
    for (int p = 0; p < UNITS_PAIRS; p++)
        m.row[p] = (units_row){
            .known = tables[i].ttft[p] > 0, .ttft_ms = tables[i].ttft[p], .decode_tps = tables[i].tps[p]};
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
    m.row[UNITS_GPU_OTHER] = (units_row){.known = true, .ttft_ms = 9, .decode_tps = 210};
    char *text = units_table(&m);
    CHECK_STR("pairs measured with this model, PREFILL + DECODE (GPU: Some GPU; other: Some GPU)\n"
              "                 first token   reply\n"
              "cores + cores           2 ms      20 tok/s\n"
              "GPU + cores            30 ms      18 tok/s\n"
              "cores + GPU             4 ms     180 tok/s\n"
              "GPU + GPU               9 ms     200 tok/s\n"
              "GPU + other GPU         9 ms     210 tok/s\n"
              "shortest wait: cores + cores; fastest reply: GPU + other GPU; taken: cores + GPU\n",
              text);
    free(text);
    m.processor = true;
    for (int i = 0; i < UNITS_PAIRS; i++) m.row[i].read_watts = 100 + i, m.row[i].write_watts = 300 - 20 * i;
    text = units_table(&m);
    CHECK(strstr(text, "cores + GPU             4 ms     180 tok/s   103 W   240 W\n"));
    CHECK(strstr(text, "least power to read: cores + cores; least energy of a token: GPU + other GPU\n"));
    free(text);
    m.processor = false; /* then the cores seem to draw nothing */
    text = units_table(&m);
    CHECK(strstr(text, "power of the GPU alone") && !strstr(text, "least"));
    free(text);
}

/* ---- Bfloat16 ---------------------------------------------------------------------------------------------------- */

/* The figures of the cores, and beside them those of cores that read in bfloat16. */
static const struct {
    units_row cores, bf16;
    units_pair best;
    const char *why;
} matrices[] = {
    {{true, 2, 20, 400, 300, 0, 0}, {true, 2, 20, 800, 300, 0, 0}, UNITS_BF16_CORES,
     "bfloat16 + cores beside cores + cores: a prompt is read 2.00 times as fast, a short message 1.00 times: taken\n"},
    {{true, 2, 20, 400, 300, 0, 0}, {true, 6, 19.5, 448, 280, 0, 0}, UNITS_BF16_CORES, "0.93 times: taken\n"},
    {{true, 2, 20, 400, 300, 0, 0}, {true, 2, 20, 432, 360, 0, 0}, UNITS_CORES_CORES,
     "a prompt is read 1.08 times as fast, a short message 1.20 times: not taken, it does not read a prompt faster by "
     "more than a tenth\n"},
    {{true, 2, 20, 400, 300, 0, 0}, {true, 2, 20, 900, 270, 0, 0}, UNITS_CORES_CORES,
     "a short message 0.90 times: not taken, it reads a short message slower\n"},
    {{true, 2, 20, 400, 300, 0, 0}, {true, 8, 20, 900, 300, 0, 0}, UNITS_CORES_CORES,
     "not taken, it is longer until the first token\n"},
    {{true, 2, 20, 400, 300, 0, 0}, {true, 2, 18, 900, 300, 0, 0}, UNITS_CORES_CORES, "not taken, it writes slower\n"},
    {{true, 2, 20, 400, 300, 0, 0}, {true, 2, 20, 900, 0, 0, 0}, UNITS_CORES_CORES,
     "bfloat16 + cores beside cores + cores: not taken, it is not known how fast it reads\n"},
    {{true, 2, 20, 0, 300, 0, 0}, {true, 2, 20, 900, 300, 0, 0}, UNITS_CORES_CORES, "not known how fast it reads\n"},
    {{true, 2, 20, 400, 300, 0, 0}, {0}, UNITS_CORES_CORES, "bfloat16 + cores: not taken, it could not be measured\n"},
    {{0}, {true, 2, 20, 900, 300, 0, 0}, UNITS_CORES_CORES, "not taken, it is not known how fast it reads\n"},
};

static units_measured matrix_of(size_t i)
{
    units_measured m = {.matrix = true};
    m.row[UNITS_CORES_CORES] = matrices[i].cores;
    m.row[UNITS_BF16_CORES] = matrices[i].bf16;
    return m;
}

TEST(bfloat16_is_taken_where_it_reads_faster)
{
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        units_measured m = matrix_of(i);
        char *text = units_table(&m);
        if (units_best(&m) != matrices[i].best) CHECK_FAIL("row %zu: %d", i, units_best(&m));
        if (!text || !strstr(text, matrices[i].why)) CHECK_FAIL("row %zu: %s", i, text);
        free(text);
    }
    char line[300];
    units_measured m = matrix_of(0);
    units_tell(&m, line, sizeof line);
    CHECK_STR("units measured with this model: bfloat16 + cores is best, it reads 800 tokens/s (cores + cores: 400); "
              "taken from the next start on; /units has the table",
              line);
    char *text = units_table(&m);
    CHECK_STR("pairs measured with this model, PREFILL + DECODE (bfloat16: cores with the matrix unit)\n"
              "                 first token   reply  prompt short one\n"
              "cores + cores           2 ms      20     400       300 tok/s\n"
              "bfloat16 + cores        2 ms      20     800       300 tok/s\n"
              "shortest wait: cores + cores; fastest reply: cores + cores; fastest reading: bfloat16 + cores; "
              "taken: bfloat16 + cores\n"
              "bfloat16 + cores beside cores + cores: a prompt is read 2.00 times as fast, a short message 1.00 times: "
              "taken\n",
              text);
    free(text);
    m.row[UNITS_CORES_CORES].short_tps = 6.25;
    m.row[UNITS_BF16_CORES].read_tps = 12345.6;
    text = units_table(&m);
    CHECK(strstr(text, "     400       6.2 tok/s\n") && strstr(text, "   12346       300 tok/s\n"));
    free(text);
    m = matrix_of(2);
    units_tell(&m, line, sizeof line);
    CHECK_STR("units measured with this model: the cores stay (20 tokens/s; bfloat16 was tried)", line);
}

/* A GPU that writes faster, and one that only reads faster. */
TEST(bfloat16_beside_a_gpu)
{
    char line[300];
    units_measured m = matrix_of(0);
    snprintf(m.gpu[0].name, sizeof m.gpu[0].name, "Some GPU");
    m.row[UNITS_CORES_GPU] = (units_row){true, 3, 90, 400, 300, 0, 0};
    CHECK_INT(UNITS_CORES_GPU, units_best(&m));
    char *text = units_table(&m);
    CHECK(strstr(text, "(bfloat16: cores with the matrix unit; GPU: Some GPU)\n") &&
          strstr(text, "bfloat16 + cores beside cores + GPU: a prompt is read 2.00 times") &&
          strstr(text, "not taken, it writes slower\n"));
    free(text);
    m.row[UNITS_CORES_GPU].known = false;
    m.row[UNITS_GPU_CORES] = (units_row){true, 3, 20, 4000, 300, 0, 0};
    CHECK_INT(UNITS_GPU_CORES, units_best(&m));
    text = units_table(&m);
    CHECK(strstr(text, "a short message 1.00 times: not taken, another pair reads faster still\n"));
    free(text);
    units_tell(&m, line, sizeof line);
    CHECK(strstr(line, "GPU + cores is best, it reads 4000 tokens/s (cores + cores: 400)"));
    m.row[UNITS_GPU_CORES].read_tps = 850; /* hardly faster than bfloat16 */
    CHECK_INT(UNITS_BF16_CORES, units_best(&m));
    m.row[UNITS_BF16_CORES].known = false; /* but than the cores */
    CHECK_INT(UNITS_GPU_CORES, units_best(&m));
    m.row[UNITS_GPU_CORES].short_tps = 200;
    CHECK_INT(UNITS_CORES_CORES, units_best(&m));
    units_tell(&m, line, sizeof line);
    CHECK(strstr(line, "bfloat16 and Some GPU were tried"));
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

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
    m.row[UNITS_GPU_CORES].read_watts = 12.5;
    units_choice choice;
    char path[400];
    use_cache("kept");
    CHECK(!units_recall(&found, 7, false));
    REQUIRE(units_keep(&m, 7, &err) == TDM_OK);
    REQUIRE(units_recall(&found, 7, false));
    CHECK(found.gpu[0].identity == m.gpu[0].identity && !strcmp(found.gpu[0].name, m.gpu[0].name) &&
          !found.gpu[1].name[0] && units_best(&found) == UNITS_GPU_GPU);
    for (int i = 0; i < UNITS_PAIRS; i++)
        CHECK(found.row[i].known == m.row[i].known && found.row[i].ttft_ms == m.row[i].ttft_ms);
    CHECK(found.processor && found.row[UNITS_GPU_CORES].read_watts == 12.5 && found.row[0].read_watts == 0);
    CHECK(!units_recall(&found, 8, false));
    CHECK(!units_choose(7, false, &choice)); /* that GPU is not there */
    snprintf(path, sizeof path, "%s/kept/tandem/units-0000000000000007.json", check_tmp());
    REQUIRE(truncate(path, 30) == 0);
    CHECK(!units_recall(&found, 7, false));
}

/* With another text instead of one of the file. */
static void change(const char *path, const char *old, const char *new)
{
    char text[4000];
    FILE *f = fopen(path, "r+");
    REQUIRE(f != NULL);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    char *at = strstr(text, old);
    if (at && strlen(old) == strlen(new)) memcpy(at, new, strlen(new));
    else CHECK_FAIL("%s is not in %s", old, text);
    rewind(f);
    fputs(text, f);
    fclose(f);
}

TEST(bfloat16_is_chosen_by_the_file)
{
    units_measured found, m = matrix_of(0);
    units_choice choice;
    char path[400];
    use_cache("matrix");
    snprintf(path, sizeof path, "%s/matrix/tandem/units-0000000000000007.json", check_tmp());
    REQUIRE(units_keep(&m, 7, &err) == TDM_OK);
    REQUIRE(units_recall(&found, 7, true));
    CHECK(found.matrix && found.row[UNITS_BF16_CORES].read_tps == 800 && found.row[UNITS_BF16_CORES].short_tps == 300);
    CHECK(units_choose(7, true, &choice) && !strcmp(choice.prefill_kind, "amx-bf16") && !choice.unit[0][0] &&
          !choice.unit[1][0]);
    CHECK(!units_recall(&found, 7, false) && !units_choose(7, false, &choice)); /* these cores have no matrix unit */
    CHECK(!choice.prefill_kind);
    change(path, "\"format\":3", "\"format\":2");
    CHECK(!units_recall(&found, 7, true));
    change(path, "\"format\":2", "\"format\":3");
    change(path, "\"read_tps\":800", "\"read_tps\":-80");
    CHECK(!units_recall(&found, 7, true) && !units_choose(7, true, &choice));
    m = matrix_of(2);
    REQUIRE(units_keep(&m, 7, &err) == TDM_OK);
    CHECK(units_recall(&found, 7, true) && !units_choose(7, true, &choice) && !choice.prefill_kind);
}

/* The options and the model's kernels say whether the cores may read in bfloat16. */
TEST(who_names_the_kernels_wants_their_bits)
{
    static const char *const lines[][3] = {{"chat"}, {"chat", "--kernels", "amx"}, {"chat", "--threads", "2"}};
    const tdm_model_info amx = {.kernels = "amx"}, avx512 = {.kernels = "avx512"}, server = {0};
    for (int i = 0; i < 3; i++) {
        options o;
        REQUIRE(options_parse(&o, i ? 3 : 1, (char **)lines[i], &err));
        CHECK_INT(i != 1, units_have_matrix(&o, &amx));
        CHECK_INT(i != 2, units_are_open(&o));
        CHECK(!units_have_matrix(&o, &avx512) && !units_have_matrix(&o, &server));
        options_free(&o);
    }
}

/* ---- The job ----------------------------------------------------------------------------------------------------- */

enum { PAIRS_OF_ONE = 5, PAIRS_OF_TWO = 7 }; /* the first is played twice, the one in bfloat16 not at all */
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
    *out = (units_row){.known = true, .ttft_ms = tables[0].ttft[pair], .decode_tps = tables[0].tps[pair]};
    return TDM_OK;
}

/* Cores alone, of which those that read in bfloat16 can't be measured where `lacks` is set. */
static bool lacks;

static tdm_status with_matrix(void *ctx, units_pair pair, const char *const unit[TDM_UNITS], units_row *out,
                              tdm_error *e)
{
    (void)ctx;
    probes++;
    CHECK(!unit[0] && !unit[1] && (pair == UNITS_CORES_CORES || pair == UNITS_BF16_CORES));
    if (pair == UNITS_BF16_CORES && lacks) return error_set(e, TDM_E_NOMEM, "too small");
    *out = pair == UNITS_BF16_CORES ? matrices[0].bf16 : matrices[0].cores;
    return TDM_OK;
}

static options settings;

static tdm_model *open_model(const char *path)
{
    tdm_model *m = NULL;
    tdm_model_options o = {.path = path, .builtin = "assets/tandem-demo-51m-q6_k.gguf"};
    if (tdm_model_open(&m, &o, &err)) CHECK_FAIL("%s", err.text);
    return m;
}

static tdm_model *open_builtin(void)
{
    return open_model("assets/tandem-demo-51m-q6_k.gguf");
}

static bool play_job(units_job *j, const tdm_model *m, char *line, size_t room)
{
    int wake[2];
    char byte;
    if (pipe(wake)) return false;
    units_job_begin(j, &settings, m, wake[1]);
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
    CHECK(play_job(&two, m, line, sizeof line) && probes == 2 * PAIRS_OF_ONE + PAIRS_OF_TWO); /* a second one */
    units_job none = {.gpus = gpus, .n_gpus = 1, .probe = forced};
    CHECK(play_job(&none, m, line, sizeof line) && !line[0] && probes == 2 * PAIRS_OF_ONE + PAIRS_OF_TWO);
    tdm_model_close(m);
}

TEST(cores_with_a_matrix_unit_are_measured_without_a_gpu)
{
    const tdm_gpu_info none[] = {{.software = true}};
    char line[300];
    units_measured found;
    tdm_model_info info;
    tdm_model *m = open_builtin();
    REQUIRE(m != NULL);
    tdm_model_describe(m, &info);
    use_cache("cores");
    probes = 0;
    units_job j = {.gpus = none, .n_gpus = 1, .matrix = true, .probe = with_matrix};
    REQUIRE(play_job(&j, m, line, sizeof line));
    CHECK(probes == 3 && strstr(line, "bfloat16 + cores is best"));
    CHECK(units_recall(&found, info.fingerprint, true) && units_best(&found) == UNITS_BF16_CORES);
    units_job again = {.gpus = none, .n_gpus = 1, .matrix = true, .probe = with_matrix};
    CHECK(play_job(&again, m, line, sizeof line) && probes == 3 && !line[0]); /* it is kept */
    units_job other = {.gpus = none, .n_gpus = 1, .probe = with_matrix};
    CHECK(play_job(&other, m, line, sizeof line) && probes == 3 && !line[0]); /* nothing to consider */
    use_cache("lacks");
    lacks = true;
    units_job fails = {.gpus = none, .n_gpus = 1, .matrix = true, .probe = with_matrix};
    CHECK(play_job(&fails, m, line, sizeof line) && probes == 6 && strstr(line, "the cores stay"));
    CHECK(units_recall(&found, info.fingerprint, true) && !found.row[UNITS_BF16_CORES].known);
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
    units_job_begin(&j, &settings, m, -1);
    task_end(&j.task);
    CHECK(!j.task.running);
    units_measured found;
    tdm_model_info info;
    tdm_model_describe(m, &info);
    CHECK(!units_recall(&found, info.fingerprint, false));
    REQUIRE(play_job(&j, m, line, sizeof line));
    CHECK(!strncmp(line, "units measured with this model: the cores stay (", 48));
    REQUIRE(units_recall(&found, info.fingerprint, false));
    const units_row *cores = &found.row[UNITS_CORES_CORES];
    CHECK(cores->known && cores->decode_tps > 0 && cores->ttft_ms > 0 && !found.row[UNITS_GPU_CORES].known);
    CHECK(cores->read_tps > 0 && cores->short_tps > 0);
    tdm_model_close(m);
}

/* What the program does at a start: the machine's kind, and the model for it. */
TEST(the_next_start_takes_what_was_measured)
{
    static const char *const lines[][3] = {
        {"chat"}, {"chat", "--prefill-kind", "native"}, {"chat", "--kernels", "amx"}, {"chat", "--threads", "1"}};
    const char *name;
    if (tdm_kernels_name("amx-bf16", &name, NULL)) SKIP("this CPU has no matrix unit");
    use_cache("start");
    setenv("TANDEM_DATADIR", "assets", 1);
    for (int i = 0; i < 4; i++) {
        options o;
        load_pair pair;
        tdm_machine *machine = NULL;
        tdm_model_info info;
        units_measured m = matrix_of(0);
        REQUIRE(options_parse(&o, i ? 3 : 1, (char **)lines[i], &err));
        REQUIRE(load_pair_open(&pair, &o, LOAD_BUILTIN, &(load_how){0}, &err) == TDM_OK);
        tdm_model_describe(pair.model, &info);
        CHECK(units_keep(&m, info.fingerprint, &err) == TDM_OK);
        REQUIRE(load_machine(&machine, &o, pair.model, &(load_how){0}, &err) == TDM_OK);
        CHECK(load_places(&pair, machine, &o, &(load_how){0}, &err) == TDM_OK);
        CHECK_STR(i ? "native" : "amx-bf16", tdm_machine_kind(machine, TDM_PREFILL_UNIT));
        CHECK(!pair.prefill == (i > 0));
        if (pair.prefill) {
            tdm_model_describe(pair.prefill, &info);
            CHECK_STR("amx-bf16", info.kernels);
        }
        load_pair_close(&pair);
        tdm_machine_close(machine);
        options_free(&o);
    }
}

/* Both pairs of cores for real, with the tile instructions in C. */
TEST(the_pair_in_bfloat16_is_played)
{
    const tdm_gpu_info none[] = {{.software = true}};
    char line[300];
    units_measured found;
    tdm_model_info info;
    if (!widened_runs()) SKIP("this CPU has no AVX-512");
    static const char small[] = "tests/goldens/gguf/tiny-a-q8_0.gguf";
    tdm_model *decodes = open_model(small), *reads = open_model(small);
    REQUIRE(decodes && reads && !widened_pair((struct tdm_model *)decodes, (struct tdm_model *)reads, &err));
    use_cache("bfloat16");
    units_job j = {.gpus = none, .n_gpus = 1, .matrix = true, .bf16 = reads};
    REQUIRE(play_job(&j, decodes, line, sizeof line));
    tdm_model_describe(decodes, &info);
    REQUIRE(units_recall(&found, info.fingerprint, true));
    for (int i = 0; i < UNITS_PAIRS; i++) {
        bool played = i == UNITS_CORES_CORES || i == UNITS_BF16_CORES;
        CHECK(found.row[i].known == played);
        CHECK((found.row[i].read_tps > 0) == played && (found.row[i].short_tps > 0) == played);
    }
    tdm_model_close(reads);
    tdm_model_close(decodes);
}

TEST_MAIN(T(the_wait_after_enter_counts_first_then_the_speed_of_the_reply), T(a_gpu_that_is_software_is_not_considered),
          T(what_was_measured_is_kept_for_the_model), T(the_table_says_which_is_best_for_what),
          T(bfloat16_is_taken_where_it_reads_faster), T(bfloat16_beside_a_gpu), T(bfloat16_is_chosen_by_the_file),
          T(who_names_the_kernels_wants_their_bits), T(the_pairs_are_measured_once),
          T(cores_with_a_matrix_unit_are_measured_without_a_gpu), T(two_turns_are_played),
          T(the_next_start_takes_what_was_measured), T(the_pair_in_bfloat16_is_played))
