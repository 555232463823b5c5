/* The suites that need a model (suites.h), with a small one. */
#include "tests/check.h"
#include "tests/src/bench/suites.h"

TEST(turns)
{
    CHECK_SUITES(suites_run(SUITES_FORM SUITES_TINY
                            "turns --rows 'pipelines single' --rows 'pipelines batch' --rows 'thinking high' "
                            "--template tests/engine/text/template/templates/harmony.jinja"),
                 {"turns", 18});
}

TEST(most)
{
    CHECK_SUITES(
        suites_run(SUITES_FORM SUITES_TINY
                   "throughput dispatch handover crossover power ttft interference model pass streams -p 20 -n 4 "
                   "-t 1 --dispatch 12,32"),
        {"throughput", 27}, {"dispatch", 10}, {"handover", 27}, {"crossover", 0 /* none on one core */},
        {"power", 0 /* none without sensors */}, {"ttft", 54}, {"interference", 20}, {"model", 9}, {"pass", 22},
        {"streams", 29});
}

/* What is a simulation is said to be one. */
TEST(mtp)
{
    char *text =
        suites_run(SUITES_FORM "mtp -m tests/goldens/tiny-d --mtp-accept 0.8 --rows ' 4' --rows 'prefill' --rows any");
    CHECK_SUITES(strdup(text), {"mtp", 21});
    CHECK(strstr(text, "\"auto, simulated P 0.8\""));
    CHECK(strstr(text, "SIMULATION: with P 0.8 "));
    free(text);
}

TEST(template)
{
    CHECK_SUITES(suites_run(SUITES_FORM SUITES_TINY "template --rows '20 10000'"), {"template", 4});
}

TEST_MAIN(T(turns), T(most), T(mtp), T(template))
