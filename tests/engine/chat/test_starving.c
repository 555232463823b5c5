/* A conversation in which one allocation after the other fails: it goes on, and whatever the failure has left behind,
 * later replies are those that they would have been, bit for bit. In its short form some allocations of each action;
 * TANDEM_LONG=1: all. */
#include "tests/check.h"
#include "tests/engine/chat/talk.h"
#include "tests/starved.h"

#include "engine/base/clock.h"

enum { FEW = 9, COUNT_MAX = 20000 };

static tdm_error err;
static struct talk t;

static void draft(const char *text)
{
    tdm_chat_set_draft(t.chat, text, strlen(text), false, NULL);
}

static void send(const char *text)
{
    tdm_chat_send(t.chat, text, strlen(text), clock_ns(), NULL);
}

static void rest(void)
{
    if (!tdm_chat_wait_idle(t.chat, CHECK_PATIENCE_MS)) CHECK_FAIL("it does not come to rest");
    talk_events(&t);
}

/* ---- What is done without memory --------------------------------------------------------------------------------- */

static void a_turn(void)
{
    draft("And how does ");
    draft("And how does it work? Tell me all of it, from the beginning to the end, ");
    send("And how does it work? Tell me all of it, from the beginning to the end, please.");
    rest();
}

static void three_answers(void)
{
    tdm_chat_answers(t.chat, 3, "And how?", 8, clock_ns(), NULL);
    rest();
}

static void once_more(void)
{
    tdm_chat_regenerate(t.chat, clock_ns(), NULL);
    rest();
}

static void on_with_it(void)
{
    tdm_chat_continue(t.chat, NULL);
    rest();
}

static void a_queue(void)
{
    send("And how?");
    send("And why?");
    rest();
}

static void there_and_back(void)
{
    send("And how?");
    tdm_chat_leave(t.chat, NULL);
    send("Where?");
    rest();
    tdm_chat_visit(t.chat, false, NULL);
    rest();
}

static void back_and_forth(void)
{
    tdm_chat_undo(t.chat, NULL);
    draft("Who");
    tdm_chat_redo(t.chat, NULL);
    tdm_chat_edit(t.chat, 1, NULL);
    send("Who are you?");
    rest();
}

static void a_cold_prompt(void)
{
    tdm_chat_cold(t.chat, TDM_PIPE_TANDEM, NULL);
    rest();
}

/* ---- What must come of it ---------------------------------------------------------------------------------------- */

static bool begin(void)
{
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.sampling.temperature = 0;
    o.max_tokens = 34; /* more than a page */
    if (!talk_open(&t, NULL, 0, &o)) return false;
    send("Hello, what is this?");
    talk_until(&t, 1);
    send("Tell me more.");
    talk_until(&t, 2);
    return true;
}

/* The reply to another message behind the first turn. */
static tdm_turn_stats reply_after(void)
{
    rest();
    int ended = t.n, next = 0;
    tdm_node node;
    for (int i = tdm_chat_nodes(t.chat, TDM_FRONT); i > 2; i--) {
        if (tdm_chat_node(t.chat, TDM_FRONT, i, &node, &err)) continue;
        if (node.parent == 2) next = i;
        tdm_node_free(&node);
    }
    if (tdm_chat_select(t.chat, next ? next : 2, &err)) CHECK_FAIL("%s", err.text);
    if (next && tdm_chat_edit(t.chat, next, &err)) CHECK_FAIL("%s", err.text);
    if (tdm_chat_send(t.chat, "Why?", 4, clock_ns(), &err)) CHECK_FAIL("%s", err.text);
    talk_until(&t, ended + 1);
    if (tdm_chat_node(t.chat, TDM_FRONT, tdm_chat_nodes(t.chat, TDM_FRONT), &node, &err)) return (tdm_turn_stats){0};
    tdm_turn_stats stats = node.stats;
    tdm_node_free(&node);
    return stats;
}

static bool same(const tdm_turn_stats *a, const tdm_turn_stats *b)
{
    return a->ids_hash == b->ids_hash && a->logits_hash == b->logits_hash && a->reply_tokens == b->reply_tokens;
}

static void try_at(long n, void (*act)(void), const tdm_turn_stats *expected, bool *hit)
{
    if (!begin()) return;
    *hit = starved_by(n, act);
    tdm_turn_stats found = reply_after();
    if (!same(&found, expected))
        CHECK_FAIL("allocation %ld%s: another reply afterwards; %s", n, starved_always ? "+" : "", t.errors);
    talk_close(&t);
}

/* A few allocations that lie evenly, or all; each alone, and with all that follow it. */
static void try(void (*act)(void))
{
    if (!starved_can() || !talk_model(NULL) || !begin()) return;
    tdm_turn_stats expected = reply_after();
    CHECK(expected.reply_tokens > 32);
    talk_close(&t);
    bool hit = true, all = getenv("TANDEM_LONG");
    if (!begin()) return;
    starved_by(COUNT_MAX, act);
    CHECK(!starved_hit);
    long count = COUNT_MAX - starved_left;
    tdm_turn_stats usual = reply_after();
    CHECK(same(&usual, &expected));
    talk_close(&t);
    for (long n = 0, step = all || count < FEW ? 1 : count / FEW; n < count; n += step) {
        starved_always = false;
        try_at(n, act, &expected, &hit);
        starved_always = n % 2;
        if (starved_always) try_at(n, act, &expected, &hit);
    }
    starved_always = false;
    CHECK(count > 5);
}

TEST(turns)
{
    try(a_turn);
    try(a_queue);
    try(three_answers);
}

TEST(turns_that_are_left)
{
    try(there_and_back);
    try(back_and_forth);
}

TEST(replies_that_go_on)
{
    try(once_more);
    try(on_with_it);
    try(a_cold_prompt);
}

TEST_MAIN(T(turns), T(turns_that_are_left), T(replies_that_go_on))
