/* The line that says how far a pull is. */
#include "tests/check.h"

#include "src/io/progress_line.h"

static void check_line(const char *expected, const progress_figures *p, int columns)
{
    char line[200];
    size_t n = progress_line(p, columns, line, sizeof line);
    CHECK_STR(expected, line);
    CHECK_INT(strlen(line), n);
    CHECK(n <= (size_t)columns);
}

TEST(a_line_has_what_fits)
{
    progress_figures p = {
        .total = 2740000000, .done = 1180000000, .name = "Q4_K_M/Qwen3.5-4B-Q4_K_M.gguf", .rate = 24000000};
    check_line("Qwen3.5-4B-Q4_K_M.gguf   43 %  [#######-----------]  1.2 of 2.7 GB  24.0 MB/s  65 s left", &p, 88);
    check_line("Qwen3.5-4B-Q4_K_M.gguf   43 %  [###------]  1.2 of 2.7 GB  24.0 MB/s  65 s left", &p, 79);
    check_line("Qwen3.5-4B-Q4_K_M.gguf   43 %  1.2 of 2.7 GB  24.0 MB/s  65 s left", &p, 77);
    check_line(" 43 %  [####------]  1.2 of 2.7 GB  24.0 MB/s  65 s left", &p, 56);
    check_line(" 43 %  1.2 of 2.7 GB  24.0 MB/s  65 s left", &p, 43);
    check_line(" 43 %  1.2 of 2.7 GB  24.0 MB/s", &p, 41);
    check_line(" 43 %  1.2 of 2.7 GB", &p, 30);
    p.rate = 0;
    p.name = NULL;
    check_line(" 43 %  1.2 of 2.7 GB", &p, 20);
    p.done = 118000000;
    check_line("  4 %  118 MB of 2.7 GB", &p, 30);
    p.done = p.total;
    check_line("100 %  2.7 of 2.7 GB", &p, 30);
}

TEST(the_time_left_is_in_its_unit)
{
    progress_figures p = {.total = 1000000000000, .rate = 1000000000};
    check_line("  0 %  0 of 1.0 TB  1.0 GB/s  17 min left", &p, 50);
    p.rate = 100000000;
    check_line("  0 %  0 of 1.0 TB  100 MB/s  2.8 h left", &p, 50);
    p.rate = 1;
    check_line("  0 %  0 of 1.0 TB  1 bytes/s", &p, 40);
}

TEST_MAIN(T(a_line_has_what_fits), T(the_time_left_is_in_its_unit))
