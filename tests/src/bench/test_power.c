/* The suite `power` on a made-up tree of sensors: a package that always draws 20 W and one that draws 5 W, or peaks. */
#include "tests/check.h"
#include "tests/engine/unit/tree.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/gpu/gpu.h"
#include "src/bench/bench.h"

#define ZONE "/sys/class/powercap/intel-rapl:"

static const char *root;
static int runs; /* of each row: each takes a fixed time with all cores busy */
static int64_t began_ns;
static atomic_bool stop;

/* A file that is never seen half written. */
static void put(const char *zone, const char *file, const char *text)
{
    char path[400], fresh[400];
    tree_write(root, text, ZONE "%s/%s.new", zone, file);
    snprintf(fresh, sizeof fresh, "%s" ZONE "%s/%s.new", root, zone, file);
    snprintf(path, sizeof path, "%s" ZONE "%s/%s", root, zone, file);
    if (rename(fresh, path)) CHECK_FAIL("%s: can't be renamed", fresh);
}

static void put_energy(void)
{
    char text[32];
    double seconds = 1e-9 * (double)(clock_ns() - began_ns);
    snprintf(text, sizeof text, "%.0f", 20e6 * seconds);
    put("0", "energy_uj", text);
    snprintf(text, sizeof text, "%.0f", 5e6 * seconds);
    put("1", "energy_uj", text);
}

static void *draw_power(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        put_energy();
        usleep(2000);
    }
    return NULL;
}

/* All tables of the suite; gpu: with pairs of units, of which one row is measured. Returns the last table. */
static bench_table *measure(bool gpu)
{
    static bench b;
    static options o;
    static char *rows[] = {"pairs cores+GPU decode", NULL};
    tdm_error err;
    runs = getenv("TANDEM_LONG") ? 3 : 1;
    b = (bench){.o = &o, .runs = runs, .quick = true, .suite = "power", .model_name = "tiny", .sensors_root = root};
    bench_host_start(&b.host);
    if (gpu) {
        snprintf(b.host.gpu, sizeof b.host.gpu, "gpu:0");
        snprintf(b.host.gpu_pci, sizeof b.host.gpu_pci, "0000:03:00.0");
        o.values[OPTION_ROWS].list = rows;
        o.values[OPTION_ROWS].n = 1;
    }
    if (bench_prompt_open(&b.prompt, &err) ||
        tdm_model_open(&b.models.model, &(tdm_model_options){.path = check_data("goldens/tiny-a")}, &err) ||
        bench_power(&b, &err))
        CHECK_FAIL("%s", err.text);
    bench_pairs_close(&b.pairs);
    tdm_model_close(b.models.model);
    bench_prompt_close(&b.prompt);
    for (int i = 0; i + 1 < b.n_tables; i++) bench_table_free(b.tables[i]);
    return b.n_tables ? b.tables[b.n_tables - 1] : NULL;
}

TEST(watts)
{
    pthread_t thread;
    root = tree_new();
    began_ns = clock_ns();
    for (int zone = 0; zone < 2; zone++) {
        put(zone ? "1" : "0", "name", zone ? "package-1" : "package-0");
        put(zone ? "1" : "0", "max_energy_range_uj", "262143328850");
    }
    put_energy();
    REQUIRE(!pthread_create(&thread, NULL, draw_power, NULL));
    bench_table *t = measure(false);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    REQUIRE(t);
    CHECK_INT(8, t->n_rows); /* rest, prefill, decode, both; of two packages */
    for (int r = 0; r < t->n_rows; r++) {
        bool first = !strcmp(t->rows[r].parameter[1], "package-0"), rests = !strcmp(t->rows[r].parameter[0], "rest");
        double watts = first ? 20 : 5;
        bench_summary average = bench_table_cell(t, r, 0), peak = bench_table_cell(t, r, 1),
                      energy = bench_table_cell(t, r, 2);
        CHECK_INT(runs, average.n);
        CHECK_NEAR(watts, average.median, 0.3 * watts); /* the file may lag behind its clock */
        CHECK(peak.median >= average.median);
        CHECK_INT(first && !rests ? runs : 0, energy.n);
    }
    bench_table_free(t);
}

TEST(unreadable)
{
    root = tree_new();
    bench_table *t = measure(false);
    REQUIRE(t);
    CHECK_INT(0, t->n_rows);
    CHECK(t->n_notes == 1 && !strncmp(t->notes[0], "not measured: ", 14));
    bench_table_free(t);
}

#define GPU "/sys/bus/pci/devices/0000:03:00.0/"

/* A GPU that tells its power alone, beside packages that tell nothing: what is unknown is said to be. */
TEST(a_gpu_of_a_pair)
{
    struct gpu_info info;
    if (gpu_list(&info, 1) < 1) SKIP("no GPU");
    root = tree_new();
    tree_write(root, "0x1002", GPU "vendor");
    tree_write(root, "100000000", GPU "hwmon/hwmon0/power1_average");
    bench_table *t = measure(true);
    REQUIRE(t);
    CHECK_INT(1, t->n_rows);
    CHECK_STR("cores+GPU", t->rows[0].parameter[0]);
    CHECK_STR("decode", t->rows[0].parameter[1]);
    CHECK_STR("gpu:0", t->rows[0].parameter[2]);
    bench_summary watts = bench_table_cell(t, 0, 0), energy = bench_table_cell(t, 0, 2),
                  speed = bench_table_cell(t, 0, 3);
    CHECK_INT(runs, watts.n);
    CHECK_NEAR(100, watts.median, 1e-9);
    CHECK_INT(runs, energy.n);
    CHECK(speed.median > 0);
    for (int i = 0; i < energy.n; i++)
        CHECK_NEAR(100, t->rows[0].value[2].values[i] * t->rows[0].value[3].values[i], 1e-6);
    int unknown = 0;
    for (int i = 0; i < t->n_notes; i++) unknown += !strncmp(t->notes[i], "packages: unknown: ", 19);
    CHECK_INT(1, unknown);
    bench_table_free(t);
}

TEST_MAIN(T(watts), T(unreadable), T(a_gpu_of_a_pair))
