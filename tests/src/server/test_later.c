/* When a server that has no answer yet is asked again, and when it is given up. */
#include "tests/check.h"

#include <string.h>

#include "src/server/later.h"

static int wait_of(int status, int retry_after_s, const char *body, int tries, int waited_s)
{
    const later_answer a = {.status = status, .retry_after_s = retry_after_s, .body = {body, strlen(body)}};
    return later_seconds(&a, tries, waited_s);
}

TEST(a_busy_server_is_asked_a_few_times)
{
    CHECK_INT(7, wait_of(429, 7, "", 1, 0));
    CHECK_INT(0, wait_of(429, 0, "", LATER_TRIES - 1, 0));
    CHECK_INT(-1, wait_of(429, 7, "", LATER_TRIES, 0));
    CHECK_INT(-1, wait_of(429, LATER_BUSY_S + 1, "", 1, 0));
    CHECK_INT(-1, wait_of(429, -1, "", 1, 0));
}

TEST(a_server_that_loads_is_asked_for_ten_minutes)
{
    static const char *const loading[] = {"{\"error\":{\"message\":\"Loading model\",\"code\":503}}", "LOADING",
                                          "the model is still loading"};
    for (size_t i = 0; i < sizeof loading / sizeof *loading; i++) {
        CHECK_INT(LATER_LOADING_S, wait_of(503, -1, loading[i], 1, 0));
        CHECK_INT(LATER_LOADING_S, wait_of(503, -1, loading[i], 99, LATER_MAX_S - LATER_LOADING_S));
        CHECK_INT(-1, wait_of(503, -1, loading[i], 99, LATER_MAX_S - LATER_LOADING_S + 1));
    }
    CHECK_INT(120, wait_of(503, 120, "", 9, 0));
    CHECK_INT(-1, wait_of(503, 120, "", 9, LATER_MAX_S - 119));
    CHECK_INT(-1, wait_of(503, LATER_MAX_S + 1, "", 1, 0));
    CHECK_INT(-1, wait_of(503, 2147483647, "", 1, LATER_MAX_S));
    CHECK(wait_of(503, 0, "", 1, 0) > 0); /* 'at once' each time is no request without end */
    const later_answer llama = {.status = 503, .retry_after_s = -1, .body = {"", 0}, .loads = true};
    CHECK_INT(LATER_LOADING_S, later_seconds(&llama, 50, 0));
}

TEST(nothing_else_is_asked_again)
{
    CHECK_INT(-1, wait_of(503, -1, "out of order", 1, 0));
    CHECK_INT(-1, wait_of(503, -1, "load", 1, 0));
    CHECK_INT(-1, wait_of(500, 1, "Loading model", 1, 0));
    CHECK_INT(-1, wait_of(200, 1, "Loading model", 1, 0));
    CHECK_INT(-1, wait_of(0, -1, "", 1, 0));
}

TEST_MAIN(T(a_busy_server_is_asked_a_few_times), T(a_server_that_loads_is_asked_for_ten_minutes),
          T(nothing_else_is_asked_again))
