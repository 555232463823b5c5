/* When memory is short, by made-up trees of the kernel's files. */
#include "tests/check.h"
#include "tests/engine/unit/tree.h"

#include "src/watch/pressure.h"

#define S INT64_C(1000000000)

static const char source[] = "/proc/pressure/memory";

static void write_share(const char *root, const char *percent)
{
    char text[200];
    snprintf(text, sizeof text, "some avg10=%s avg60=0.00 avg300=0.00 total=1\nfull avg10=99.00 avg60=0.00", percent);
    tree_write(root, text, "%s", source);
}

TEST(without_the_kernels_figures_memory_is_never_short)
{
    pressure p = {.root = tree_new()};
    for (int i = 1; i < 10; i++) CHECK_INT(PRESSURE_AS_BEFORE, pressure_look(&p, 10 * i * S));
    CHECK_INT(-1, pressure_fd(&p));
    CHECK(pressure_deadline(&p) == INT64_MAX);
    static const char *const damaged[] = {"", "some", "some avg10=", "some avg10=nan", "some avg10=-5", "full avg10=50",
                                          "some avg10=1e300", "some avg10=101"};
    for (int i = 0; i < 8; i++) {
        tree_write(p.root, damaged[i], "%s", source);
        if (pressure_look(&p, 1000 * (i + 1) * S) != PRESSURE_AS_BEFORE) CHECK_FAIL("'%s'", damaged[i]);
    }
    pressure_close(&p);
}

TEST(it_is_short_until_it_has_eased_for_a_while)
{
    pressure p = {.root = tree_new()};
    write_share(p.root, "9.99");
    CHECK_INT(PRESSURE_AS_BEFORE, pressure_look(&p, 10 * S));
    write_share(p.root, "10.00");
    CHECK_INT(PRESSURE_AS_BEFORE, pressure_look(&p, 11 * S)); /* at most every 2 s */
    CHECK_INT(PRESSURE_SHORT, pressure_look(&p, 12 * S));
    CHECK(pressure_deadline(&p) == 14 * S);
    CHECK_INT(PRESSURE_SHORT, pressure_look(&p, 14 * S)); /* again, while it lasts */
    write_share(p.root, "0.50");
    CHECK_INT(PRESSURE_AS_BEFORE, pressure_look(&p, 16 * S));
    write_share(p.root, "5.00"); /* not over yet: the half minute begins anew */
    CHECK_INT(PRESSURE_AS_BEFORE, pressure_look(&p, 40 * S));
    write_share(p.root, "0.00");
    CHECK_INT(PRESSURE_AS_BEFORE, pressure_look(&p, 50 * S));
    CHECK_INT(PRESSURE_AS_BEFORE, pressure_look(&p, 79 * S));
    CHECK(pressure_deadline(&p) == 81 * S);
    CHECK_INT(PRESSURE_OVER, pressure_look(&p, 81 * S));
    CHECK(pressure_deadline(&p) == INT64_MAX);
    CHECK_INT(PRESSURE_AS_BEFORE, pressure_look(&p, 90 * S)); /* told once */
    pressure_close(&p);
}

TEST_MAIN(T(without_the_kernels_figures_memory_is_never_short), T(it_is_short_until_it_has_eased_for_a_while))
