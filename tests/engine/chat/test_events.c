/* The queue of events while there is no memory: what a front end waits for comes all the same, and what was lost is
 * told. */
#include "engine/chat/events.h"
#include "tests/starved.h"

#include <poll.h>

static bool post(struct events *q, tdm_event_kind kind, int node)
{
    return events_post(q, &(tdm_event){.kind = kind, .node = node});
}

static bool post_text(struct events *q, const char *text)
{
    return events_post(q, &(tdm_event){.kind = TDM_EV_TEXT, .node = 1, .text = text, .length = strlen(text)});
}

static tdm_event_kind take(struct events *q, tdm_event *e)
{
    *e = (tdm_event){0};
    return events_take(q, e) ? e->kind : TDM_EV_NONE;
}

static bool is_readable(const struct events *q)
{
    return poll(&(struct pollfd){.fd = events_fd(q), .events = POLLIN}, 1, 0) > 0;
}

static struct events *open_empty(int reserved)
{
    struct events *q = NULL;
    tdm_error err;
    if (!starved_can()) return NULL;
    CHECK_INT(TDM_OK, events_open(&q, &err));
    CHECK_INT(TDM_OK, events_reserve(q, reserved, &err));
    starved_always = true;
    starved_after = 0;
    return q;
}

static void close_full(struct events *q)
{
    starved_after = -1;
    events_close(q);
}

TEST(an_end_is_never_dropped)
{
    struct events *q = open_empty(2);
    tdm_event e;
    if (!q) return;
    CHECK(post(q, TDM_EV_REPLY, 7));
    CHECK(!post_text(q, "text"));
    CHECK(post(q, TDM_EV_END, 7));
    events_signal(q);
    CHECK(is_readable(q));
    CHECK_INT(TDM_EV_REPLY, take(q, &e));
    CHECK_INT(TDM_EV_END, take(q, &e));
    CHECK_INT(7, e.node);
    CHECK_INT(TDM_EV_ERROR, take(q, &e));
    CHECK(strstr(e.text, "events were lost") != NULL);
    CHECK_INT(TDM_EV_PATH, take(q, &e));
    CHECK_INT(TDM_EV_NONE, take(q, &e));
    close_full(q);
}

TEST(what_nobody_waits_for_leaves_the_room_to_an_end)
{
    struct events *q = open_empty(1);
    tdm_event e;
    if (!q) return;
    CHECK(!post(q, TDM_EV_PATH, 0));
    CHECK(!post(q, TDM_EV_TURN, 3));
    CHECK(!events_post(q, &(tdm_event){.kind = TDM_EV_REPLY, .again = true}));
    CHECK(post(q, TDM_EV_COLD, 0));
    CHECK(!post(q, TDM_EV_END, 3)); /* more than was set aside */
    CHECK_INT(TDM_EV_COLD, take(q, &e));
    CHECK_INT(TDM_EV_ERROR, take(q, &e));
    close_full(q);
}

TEST(a_loss_alone_wakes_the_reader)
{
    struct events *q = open_empty(0);
    tdm_event e;
    if (!q) return;
    CHECK(!post_text(q, "text"));
    events_signal(q);
    CHECK(is_readable(q));
    CHECK_INT(TDM_EV_ERROR, take(q, &e));
    CHECK_INT(TDM_EV_PATH, take(q, &e));
    CHECK_INT(TDM_EV_NONE, take(q, &e));
    CHECK(!is_readable(q));
    close_full(q);
}

TEST(what_is_left_counts)
{
    struct events *q = open_empty(2);
    tdm_error err;
    if (!q) return;
    CHECK_INT(TDM_OK, events_reserve(q, 2, &err));
    CHECK_INT(TDM_E_NOMEM, events_reserve(q, 3, &err));
    CHECK(strstr(err.text, "memory") != NULL);
    close_full(q);
}

TEST_MAIN(T(an_end_is_never_dropped), T(what_nobody_waits_for_leaves_the_room_to_an_end),
          T(a_loss_alone_wakes_the_reader), T(what_is_left_counts))
