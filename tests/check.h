/* The test harness: a test program has TEST(name) functions and ends with TEST_MAIN().
 *
 *     TEST(adds) { CHECK(1 + 1 == 2); CHECK_INT(3, 1 + 2); }
 *     TEST_MAIN(T(adds))
 *
 * Each test prints `ok NAME`, `not ok NAME` or `skip NAME: reason`; tests/run sums them up. A failed CHECK prints
 * file, line and values, marks the test failed and goes on; REQUIRE ends the test. An argument of the program
 * runs only the tests whose name contains it. */
#ifndef TANDEM_TESTS_CHECK_H
#define TANDEM_TESTS_CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check_test {
    const char *name;
    void (*run)(void);
};

extern int check_failures;          /* of the running test */
extern const char *check_skipped;   /* its reason, or NULL */

int check_main(int argc, char **argv, const struct check_test *tests, int n);

/* The path of a file below ../shared, or NULL with the test marked skipped where it is absent.
 * The string lives until the next call. */
const char *check_shared(const char *path);
/* The path of a file below tests/, e.g. check_data("goldens/tiny-a"). */
const char *check_data(const char *path);
/* A new, empty temporary folder, removed at exit. */
const char *check_tmp(void);
/* Built with a sanitizer or run by an emulator, where everything takes many times as long and memory of its own. */
bool check_slow(void);

/* How long a test waits for what must come: longer than the busiest machine takes, so that only what never comes makes
 * it fail. */
#define CHECK_PATIENCE_MS 300000
#define CHECK_PATIENCE_NS (CHECK_PATIENCE_MS * INT64_C(1000000))

#define TEST(name) static void test_##name(void)
#define T(name) {#name, test_##name}
#define TEST_MAIN(...)                                                                                              \
    int main(int argc, char **argv)                                                                                 \
    {                                                                                                               \
        static const struct check_test tests[] = {__VA_ARGS__};                                                     \
        return check_main(argc, argv, tests, (int)(sizeof tests / sizeof *tests));                                  \
    }

#define CHECK_FAIL(...)                                                                                             \
    do {                                                                                                            \
        check_failures++;                                                                                           \
        if (check_failures <= 20) {                                                                                 \
            printf("# %s:%d: ", __FILE__, __LINE__);                                                                \
            printf(__VA_ARGS__);                                                                                    \
            printf("\n");                                                                                           \
        }                                                                                                           \
    } while (0)
#define CHECK(condition)                                                                                            \
    do {                                                                                                            \
        if (!(condition)) CHECK_FAIL("%s", #condition);                                                             \
    } while (0)
#define REQUIRE(condition)                                                                                          \
    do {                                                                                                            \
        if (!(condition)) {                                                                                         \
            CHECK_FAIL("%s", #condition);                                                                           \
            return;                                                                                                 \
        }                                                                                                           \
    } while (0)
#define CHECK_INT(expected, found)                                                                                  \
    do {                                                                                                            \
        long long check_e = (long long)(expected), check_f = (long long)(found);                                    \
        if (check_e != check_f) CHECK_FAIL("%s: expected %lld, found %lld", #found, check_e, check_f);              \
    } while (0)
#define CHECK_STR(expected, found)                                                                                  \
    do {                                                                                                            \
        const char *check_e = (expected), *check_f = (found);                                                       \
        if (!check_f || strcmp(check_e, check_f))                                                                   \
            CHECK_FAIL("%s: expected \"%s\", found \"%s\"", #found, check_e, check_f ? check_f : "(null)");         \
    } while (0)
#define CHECK_NEAR(expected, found, tolerance)                                                                      \
    do {                                                                                                            \
        double check_e = (expected), check_f = (found);                                                             \
        if (!(fabs(check_e - check_f) <= (tolerance)))                                                              \
            CHECK_FAIL("%s: expected %g, found %g (tolerance %g)", #found, check_e, check_f, (double)(tolerance));  \
    } while (0)
#define SKIP(reason)                                                                                                \
    do {                                                                                                            \
        check_skipped = (reason);                                                                                   \
        return;                                                                                                     \
    } while (0)

#endif
