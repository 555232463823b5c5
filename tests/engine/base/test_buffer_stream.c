/* A text that is written to a stream in memory: all of it, or none. */
#include "engine/base/buffer.h"
#include "tests/check.h"
#include "tests/starved.h"

static char *text;
static size_t length;

static void write_lines(void)
{
    struct buffer_stream s;
    FILE *f = buffer_stream_open(&s);
    text = NULL;
    length = 0;
    if (!f) return;
    for (int i = 0; i < 3000; i++) fprintf(f, "line %d\n", i);
    text = buffer_stream_close(&s, &length);
}

TEST(all_that_is_written)
{
    write_lines();
    REQUIRE(text);
    CHECK_INT(length, strlen(text));
    CHECK(!strncmp(text, "line 0\nline 1\n", 14));
    CHECK_STR("line 2999\n", text + length - 10);
    free(text);
}

TEST(nothing_is_an_empty_text)
{
    struct buffer_stream s;
    REQUIRE(buffer_stream_open(&s));
    char *empty = buffer_stream_close(&s, NULL);
    CHECK_STR("", empty);
    free(empty);
}

TEST(without_memory_there_is_no_part_of_it)
{
    long n = 0, missing = 0;
    if (!starved_can()) return;
    write_lines();
    size_t whole = length;
    free(text);
    for (; starved_by(n, write_lines); n++) {
        if (text && length != whole) CHECK_FAIL("allocation %ld: %zu bytes of %zu", n, length, whole);
        missing += !text;
        free(text);
    }
    free(text);
    CHECK(n > 3 && missing > 2);
}

TEST_MAIN(T(all_that_is_written), T(nothing_is_an_empty_text), T(without_memory_there_is_no_part_of_it))
