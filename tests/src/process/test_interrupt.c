/* Signals that are to end the program are caught, but for those that whoever started it ignores. */
#include "tests/check.h"

#include <signal.h>

#include "src/process/interrupt.h"

static bool is_handled_by(int number, void (*handler)(int))
{
    struct sigaction now;
    return !sigaction(number, NULL, &now) && now.sa_handler == handler;
}

TEST(ignored_signals_stay_ignored)
{
    signal(SIGHUP, SIG_IGN);
    interrupt_catch();
    raise(SIGHUP);
    CHECK(!interrupt_seen() && !interrupt_leaving());
    raise(SIGINT);
    CHECK(interrupt_seen() && !interrupt_leaving());
    interrupt_catch();
    CHECK(!interrupt_seen());
    interrupt_release();
    CHECK(is_handled_by(SIGHUP, SIG_IGN) && is_handled_by(SIGINT, SIG_DFL) && is_handled_by(SIGTERM, SIG_DFL));
}

TEST(others_ask_the_program_to_leave)
{
    signal(SIGHUP, SIG_DFL);
    interrupt_catch();
    raise(SIGHUP);
    CHECK(interrupt_seen() && interrupt_leaving());
    interrupt_release();
}

TEST_MAIN(T(ignored_signals_stay_ignored), T(others_ask_the_program_to_leave))
