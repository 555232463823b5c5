/* Frames from bytes that come in any pieces: heads alone, heads with payloads, lines that are none, and no memory. */
#include "tests/starved.h"

#include "src/io/frames.h"

TEST(lines_from_a_stream)
{
    frames s = {0};
    json_object *o;
    tdm_error err;
    CHECK(frames_line(&s, "the line", &o, &err) == TDM_OK && !o);
    static const char bytes[] = "{\"a\":1}\n{\"b\":2}\n{\"c\"";
    for (size_t i = 0; i + 1 < sizeof bytes; i++) CHECK(frames_feed(&s, bytes + i, 1, &err) == TDM_OK);
    CHECK(frames_line(&s, "the line", &o, &err) == TDM_OK && json_int(o, "a", 0) == 1);
    json_free(o);
    CHECK(frames_line(&s, "the line", &o, &err) == TDM_OK && json_int(o, "b", 0) == 2);
    json_free(o);
    CHECK(frames_line(&s, "the line", &o, &err) == TDM_OK && !o); /* in the midst of a line: it waits */
    CHECK(frames_feed(&s, ":3}\n", 4, &err) == TDM_OK);
    CHECK(frames_line(&s, "the line", &o, &err) == TDM_OK && json_int(o, "c", 0) == 3);
    json_free(o);
    CHECK(frames_feed(&s, "\033]0;x\a\n[1]\n", 11, &err) == TDM_OK);
    CHECK(frames_line(&s, "the line", &o, &err) == TDM_E_FORMAT && !o);
    CHECK(frames_line(&s, "the line", &o, &err) == TDM_E_FORMAT && !o);
    CHECK_STR("the line: expected an object", err.text);
    frames_free(&s);
}

TEST(a_line_without_end_is_refused)
{
    static char many[65536];
    frames s = {0};
    json_object *o;
    tdm_error err;
    size_t fed = 0;
    memset(many, ' ', sizeof many);
    while (frames_feed(&s, many, sizeof many, &err) == TDM_OK) REQUIRE((fed += sizeof many) <= FRAMES_LONGEST);
    CHECK_INT(FRAMES_LONGEST, fed);
    CHECK_INT(TDM_E_FORMAT, frames_line(&s, "the line", &o, &err));
    CHECK_INT(FRAMES_LONGEST, frames_room(&s)); /* and what comes after it is read again */
    frames_free(&s);
}

TEST(a_payload_follows_its_head)
{
    static const char bytes[] = "{\"payload\":3,\"id\":7}\nab\n{\"payload\":0}\n{}\n";
    frames f = {.most = 3};
    struct frame one;
    tdm_error err;
    for (size_t i = 0; i + 1 < sizeof bytes; i++) {
        CHECK_INT(TDM_OK, frames_feed(&f, bytes + i, 1, &err));
        if (i >= 23) continue;
        CHECK(frames_next(&f, "a line", &one, &err) == TDM_OK && !one.head); /* not before its last byte */
    }
    CHECK_INT(TDM_OK, frames_next(&f, "a line", &one, &err));
    CHECK(json_int(one.head, "id", 0) == 7 && span_is(one.payload, "ab\n"));
    json_free(one.head);
    for (int i = 0; i < 2; i++) {
        CHECK(frames_next(&f, "a line", &one, &err) == TDM_OK && one.head && !one.payload.length);
        json_free(one.head);
    }
    CHECK(frames_next(&f, "a line", &one, &err) == TDM_OK && !one.head);
    CHECK_INT(TDM_OK, frames_feed(&f, "{\"payload\":4}\n", 14, &err));
    CHECK_INT(TDM_E_FORMAT, frames_next(&f, "a line", &one, &err));
    CHECK_STR("a line: expected at most 3 bytes after it, found 4", err.text);
    frames_free(&f);
}

static frames starving;
static struct frame taken;
static tdm_status status;

static void take(void)
{
    status = frames_next(&starving, "a line", &taken, NULL);
}

TEST(a_head_that_there_is_no_memory_for_is_taken_later)
{
    static const char line[] = "{\"payload\":2,\"words\":[\"a\",1.5]}\nab";
    if (!starved_can()) return;
    starving = (frames){.most = 2};
    long n = 0;
    for (bool more = true; more; n++) {
        CHECK_INT(TDM_OK, frames_feed(&starving, line, sizeof line - 1, NULL));
        more = starved_by(n, take);
        CHECK_INT(more ? TDM_E_NOMEM : TDM_OK, status);
        if (more) take();
        CHECK(status == TDM_OK && taken.head && span_is(taken.payload, "ab"));
        json_free(taken.head);
    }
    CHECK(n > 5);
    frames_free(&starving);
}

TEST_MAIN(T(lines_from_a_stream), T(a_line_without_end_is_refused), T(a_payload_follows_its_head),
          T(a_head_that_there_is_no_memory_for_is_taken_later))
