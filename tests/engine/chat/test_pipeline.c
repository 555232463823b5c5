#include "tests/check.h"

#include <poll.h>

#include "engine/chat/events.h"
#include "engine/chat/policy/pipeline.h"

static uint32_t rows_of(tdm_pipeline p, uint32_t prompt, int *dispatches)
{
    uint32_t rows = 0, padded;
    *dispatches = 0;
    while (prompt) {
        prompt -= pipeline_piece(pipeline_of(p), prompt, 32, 4096, &padded);
        rows += padded;
        ++*dispatches;
    }
    return rows;
}

TEST(pieces_are_as_the_table_says)
{
    int n;
    CHECK_INT(74, rows_of(TDM_PIPE_SINGLE, 74, &n));
    CHECK_INT(1, n);
    CHECK_INT(74, rows_of(TDM_PIPE_SEQUENTIAL, 74, &n));
    CHECK_INT(74, n);
    CHECK_INT(74, rows_of(TDM_PIPE_BATCH, 74, &n));
    CHECK_INT(3, n);
    CHECK_INT(256, rows_of(TDM_PIPE_SLOTS, 74, &n));
    CHECK_INT(1, n);
    CHECK_INT(64, rows_of(TDM_PIPE_SLOTS, 64, &n));
    CHECK_INT(512 + 64, rows_of(TDM_PIPE_SLOTS, 513, &n));
    CHECK_INT(2, n);
    CHECK_INT(512 + 512, rows_of(TDM_PIPE_SLOTS, 900, &n));
}

TEST(names_go_both_ways)
{
    for (int i = 0; i < TDM_PIPELINES; i++) CHECK_INT(i, tdm_pipeline_find(tdm_pipeline_name(i)));
    for (int i = TDM_SPEC_OFF; i <= TDM_SPEC_FULL; i++) CHECK_INT(i, tdm_speculation_find(tdm_speculation_name(i)));
    CHECK_INT(-1, tdm_pipeline_find("twice"));
    CHECK_INT(-1, tdm_speculation_find(""));
}

static bool readable(const struct events *q)
{
    struct pollfd p = {.fd = events_fd(q), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

TEST(events_keep_order_and_join_text)
{
    struct events *q;
    tdm_event e;
    REQUIRE(events_open(&q, NULL) == TDM_OK);
    CHECK(!readable(q) && !events_take(q, &e));
    events_post(q, &(tdm_event){.kind = TDM_EV_REPLY, .node = 2});
    events_post(q, &(tdm_event){.kind = TDM_EV_TEXT, .node = 2, .text = "Hel", .length = 3, .id = 5});
    events_post(q, &(tdm_event){.kind = TDM_EV_TEXT, .node = 2, .text = "lo", .length = 2, .id = 6});
    events_post_line(q, TDM_EV_NOTICE, "%d left", 3);
    CHECK(!readable(q));
    events_signal(q);
    CHECK(readable(q));
    CHECK(events_take(q, &e) && e.kind == TDM_EV_REPLY);
    CHECK(events_take(q, &e) && e.kind == TDM_EV_TEXT && e.id == 6);
    CHECK_STR("Hello", e.text);
    CHECK(readable(q));
    CHECK(events_take(q, &e) && e.kind == TDM_EV_NOTICE);
    CHECK_STR("3 left", e.text);
    CHECK(!readable(q) && !events_take(q, &e));
    events_signal(q);
    CHECK(!readable(q));
    events_post_line(q, TDM_EV_NOTICE, "taken before it was told");
    CHECK(events_take(q, &e) && e.kind == TDM_EV_NOTICE);
    events_post_line(q, TDM_EV_NOTICE, "another");
    events_signal(q);
    CHECK(readable(q));
    events_close(q);
}

TEST_MAIN(T(pieces_are_as_the_table_says), T(names_go_both_ways), T(events_keep_order_and_join_text))
