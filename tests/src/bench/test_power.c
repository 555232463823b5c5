/* The suite `power` on a made-up tree of sensors: a package that always draws 20 W and one that draws 5 W, or peaks. */
#include "tests/check.h"
#include "tests/engine/unit/tree.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "src/bench/bench.h"

#define ZONE "/sys/class/powercap/intel-rapl:"

static const char *root;
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

static bench_table *measure(void)
{
    static bench b;
    static options o;
    tdm_error err;
    b = (bench){.o = &o, .runs = 3, .quick = true, .suite = "power", .model_name = "tiny", .sensors_root = root};
    bench_host_start(&b.host);
    if (bench_prompt_open(&b.prompt, &err) ||
        tdm_model_open(&b.models.model, &(tdm_model_options){.path = check_data("goldens/tiny-a")}, &err) ||
        bench_power(&b, &err))
        CHECK_FAIL("%s", err.text);
    tdm_model_close(b.models.model);
    bench_prompt_close(&b.prompt);
    return b.tables[0];
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
    bench_table *t = measure();
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    REQUIRE(t);
    CHECK_INT(8, t->n_rows); /* rest, prefill, decode, both; of two packages */
    for (int r = 0; r < t->n_rows; r++) {
        bool first = !strcmp(t->rows[r].parameter[1], "package-0"), rests = !strcmp(t->rows[r].parameter[0], "rest");
        double watts = first ? 20 : 5;
        bench_summary average = bench_table_cell(t, r, 0), peak = bench_table_cell(t, r, 1),
                      energy = bench_table_cell(t, r, 2);
        CHECK_INT(3, average.n);
        CHECK_NEAR(watts, average.median, 0.3 * watts); /* the file may lag behind its clock */
        CHECK(peak.median >= average.median);
        CHECK_INT(first && !rests ? 3 : 0, energy.n);
    }
    bench_table_free(t);
}

TEST(unreadable)
{
    root = tree_new();
    bench_table *t = measure();
    REQUIRE(t);
    CHECK_INT(0, t->n_rows);
    CHECK(t->n_notes == 1 && !strncmp(t->notes[0], "not measured: ", 14));
    bench_table_free(t);
}

TEST_MAIN(T(watts), T(unreadable))
