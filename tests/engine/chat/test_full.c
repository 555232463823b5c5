/* What --on-full drop-oldest leaves out: room for an answer when a turn begins, and more while the reply grows, at the
 * same token in every pipeline. */
#include "tests/check.h"

#include <string.h>

#include "engine/chat/full.h"
#include "tests/engine/chat/played.h"

enum { CONTEXT = 1024, TURNS = 20, FEW = 8 }; /* a few fit, with room for a reply that is short */

static tdm_error err;

/* Turns of the same words. */
static void load(tdm_chat *c, int turns)
{
    static const char said[] = "The quick brown fox jumps over the lazy dog, and then it runs away into the woods. ";
    tdm_node nodes[2 * TURNS];
    for (int i = 0; i < 2 * turns; i++)
        nodes[i] = (tdm_node){.parent = i,
                              .role = i % 2 ? TDM_ASSISTANT : TDM_USER,
                              .text = (char *)said,
                              .length = sizeof said - 1,
                              .finish = TDM_FINISH_END};
    CHECK(tdm_chat_load(c, "", 0, nodes, 2 * turns, 2 * turns, 1000, &err) == TDM_OK);
}

static tdm_chat *begin(struct played *p, tdm_pipeline pipeline, tdm_speculation level, int max, int max_answer)
{
    memset(p, 0, sizeof *p);
    tdm_chat *c = played_open(pipeline, level);
    if (!c) return NULL;
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.on_full = TDM_FULL_DROP_OLDEST;
    o.max_tokens = max;
    o.max_answer_tokens = max_answer;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    return c;
}

/* The prompt's tokens once turns had to be left out; 0: that did not happen. */
static uint32_t dropped(struct played *p, int max, int max_answer)
{
    tdm_chat *c = begin(p, TDM_PIPE_TANDEM, TDM_SPEC_OFF, max, max_answer);
    if (!c) return 0;
    for (int turns = 1; !strstr(p->notices, "left out") && turns <= TURNS && !check_failures; turns++) {
        load(c, turns);
        p->n = 0;
        played_send(c, "Go on");
        tdm_chat_stop(c, TDM_FRONT);
        played_until(c, p, 1);
    }
    CHECK(strstr(p->notices, "left out"));
    tdm_chat_close(c);
    return p->stats[0].prompt_tokens;
}

TEST(there_is_room_for_an_answer)
{
    static struct played p;
    uint32_t quarter = dropped(&p, 0, 0), some = dropped(&p, 0, 400), all = dropped(&p, 420, 0);
    CHECK(quarter && quarter <= CONTEXT - CONTEXT / 4);
    CHECK(some && some <= CONTEXT - 400);
    CHECK(all && all <= CONTEXT - 420);
    uint32_t longest = dropped(&p, 5000, 0); /* which nothing has room for */
    CHECK(longest && longest <= CONTEXT / 2);
}

/* A reply that is longer than the room behind its prompt. */
static void write(struct played *p, tdm_pipeline pipeline, tdm_speculation level, int turns, int tokens)
{
    tdm_chat *c = begin(p, pipeline, level, tokens, 0);
    if (!c) return;
    load(c, turns);
    played_send(c, "Go on");
    played_until(c, p, 1);
    CHECK_INT(2 * turns + 2, tdm_chat_path(c, TDM_FRONT, NULL, 0)); /* what was left out is still there */
    tdm_node node;
    REQUIRE(tdm_chat_node(c, TDM_FRONT, 2 * turns + 2, &node, &err) == TDM_OK);
    CHECK_INT(p->finish[0], node.finish);
    tdm_node_free(&node);
    CHECK_STR("", p->errors);
    tdm_chat_close(c);
}

TEST(a_reply_goes_on_while_turns_can_be_left_out)
{
    static struct played first, other;
    static const struct {
        tdm_pipeline pipeline;
        tdm_speculation level;
    } ways[] = {{TDM_PIPE_TANDEM, TDM_SPEC_OFF},
                {TDM_PIPE_TANDEM, TDM_SPEC_HISTORY},
                {TDM_PIPE_SINGLE, TDM_SPEC_OFF},
                {TDM_PIPE_BATCH, TDM_SPEC_OFF},
                {TDM_PIPE_SEQUENTIAL_SOLO, TDM_SPEC_OFF}};
    write(&first, TDM_PIPE_TANDEM, TDM_SPEC_FULL, FEW, 700);
    CHECK_INT(TDM_FINISH_LENGTH, first.finish[0]);
    CHECK_INT(700, first.stats[0].reply_tokens);
    CHECK(first.stats[0].prompt_tokens + 700 > CONTEXT);
    CHECK(strstr(first.notices, "the context is full: the oldest"));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        write(&other, ways[i].pipeline, ways[i].level, FEW, 700);
        CHECK_INT(700, other.stats[0].reply_tokens);
        CHECK(first.stats[0].ids_hash == other.stats[0].ids_hash);
        CHECK(first.stats[0].logits_hash == other.stats[0].logits_hash);
        CHECK_STR(first.notices, other.notices);
    }
}

/* With its message alone it fills the context: that is the end, and what is left then leads nowhere else. */
TEST(a_reply_that_fills_the_context_alone_ends)
{
    static struct played p;
    write(&p, TDM_PIPE_TANDEM, TDM_SPEC_FULL, 2, 2000);
    CHECK_INT(TDM_FINISH_CONTEXT, p.finish[0]);
    CHECK(strstr(p.notices, "the oldest 4 messages are left out"));
    write(&p, TDM_PIPE_TANDEM, TDM_SPEC_FULL, 0, 2000);
    CHECK_INT(TDM_FINISH_CONTEXT, p.finish[0]);
    CHECK(!strstr(p.notices, "left out"));
}

/* It is stopped while its prompt is read anew, and goes on then. */
TEST(it_can_be_stopped_meanwhile)
{
    static struct played p;
    tdm_chat *c = begin(&p, TDM_PIPE_TANDEM, TDM_SPEC_FULL, 700, 0);
    REQUIRE(c);
    load(c, FEW);
    played_send(c, "Go on");
    while (!strstr(p.notices, "left out") && !p.n) played_events(c, &p);
    tdm_chat_stop(c, TDM_FRONT);
    played_until(c, &p, 1);
    CHECK(p.finish[0] == TDM_FINISH_STOPPED || p.finish[0] == TDM_FINISH_LENGTH);
    if (p.finish[0] == TDM_FINISH_STOPPED) {
        CHECK(tdm_chat_continue(c, &err) == TDM_OK);
        played_until(c, &p, 2);
    }
    CHECK_STR("", p.errors);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    played_limit(c, 5, 0);
    played_send(c, "And now?");
    played_until(c, &p, p.n + 1);
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST_MAIN(T(there_is_room_for_an_answer), T(a_reply_goes_on_while_turns_can_be_left_out),
          T(a_reply_that_fills_the_context_alone_ends), T(it_can_be_stopped_meanwhile))
