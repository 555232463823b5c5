/* What tandem-pull reports is read to its end with memory or without. */
#include "tests/starved.h"

#include <unistd.h>

#include "src/tui/pull.h"

static tui_pull pull;

static void read_all(void)
{
    while (tui_pull_read(&pull)) continue;
}

/* A child that has written its reports and ended. */
static void begin(const char *reports)
{
    int ends[2];
    if (pipe(ends) || write(ends[1], reports, strlen(reports)) != (ssize_t)strlen(reports)) abort();
    close(ends[1]);
    pid_t child = fork();
    if (!child) _exit(0);
    pull = (tui_pull){.runs = true, .pid = child, .fd = ends[0]};
}

TEST(reports_without_memory_end_too)
{
    static const char reports[] = "nonsense\n{\"event\":\"note\",\"text\":\"waits\"}\n{\"event\":\"done\"}\n";
    if (!starved_can()) return;
    begin(reports);
    read_all();
    CHECK(pull.done && !pull.runs);
    CHECK_STR("waits", pull.note);
    tui_pull_close(&pull);
    starved_always = true;
    long n = 0;
    for (bool more = true; more; n++) {
        begin(reports);
        more = starved_by(n, read_all);
        CHECK(!pull.runs && (more || pull.done));
        tui_pull_close(&pull);
    }
    starved_always = false;
    CHECK(n > 5);
}

TEST_MAIN(T(reports_without_memory_end_too))
