/* What it costs to go on with a reply, to go back and to change settings, counted in tokens that the follower
 * evaluates. */
#include "tests/check.h"

#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "tests/engine/chat/played.h"
#include "tests/engine/chat/talk.h"

static tdm_error err;

/* What other options cost. */
static uint32_t configured(tdm_chat *c, const tdm_chat_options *o)
{
    CHECK(tdm_chat_configure(c, o, &err) == TDM_OK);
    return played_spent(c);
}

/* A chat of four turns, typed with a rest before Enter, at rest. */
static tdm_chat *talked(struct played *p)
{
    tdm_chat *c = played_begin(p);
    for (int i = 0; c && i < 4; i++) {
        played_type(c, played_lines[i], 0);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        played_say(c, p, played_lines[i]);
    }
    if (c) played_spent(c);
    return c;
}

static uint32_t count_tokens(const char *text)
{
    tdm_ids ids = {0};
    CHECK(tdm_tokenize(talk_model(NULL), text, strlen(text), false, &ids, &err) == TDM_OK);
    uint32_t n = (uint32_t)ids.n;
    tdm_ids_free(&ids);
    return n;
}

TEST(continue_goes_on_from_the_decoders_state)
{
    static struct played p;
    tdm_chat *c = talked(&p);
    REQUIRE(c);
    /* Cut off by its length, stopped between two tokens, stopped in the middle of one. */
    for (int i = 0; i < 6; i++) {
        played_limit(c, i < 2 ? 7 : 400, i < 2 ? 0 : 300);
        played_spent(c);
        CHECK(tdm_chat_continue(c, &err) == TDM_OK);
        if (i >= 2) {
            usleep(4000 + 1700 * (useconds_t)i);
            tdm_chat_stop(c, TDM_FRONT);
            if (i > 3) { /* at once, perhaps while the last token is still being evaluated */
                CHECK(tdm_chat_continue(c, &err) == TDM_OK);
                tdm_chat_stop(c, TDM_FRONT);
            }
        }
        played_until(c, &p, i < 4 ? 5 + i : 8 + 2 * (i - 3));
        const tdm_turn_stats *s = &p.stats[p.n - 1];
        CHECK(s->after_enter <= 1);
        /* What is read is the reply in its past form, as after any reply. */
        CHECK(played_spent(c) <= c->reader.target.n - (s->prompt_tokens - s->turn_tokens));
    }
    /* Its state is another reply's by now: the prompt is a checkpoint, the reply's tokens are read again. */
    int path[16], n = tdm_chat_path(c, TDM_FRONT, path, 16);
    REQUIRE(n == 8);
    played_limit(c, 5, 0);
    CHECK(tdm_chat_regenerate(c, clock_ns(), &err) == TDM_OK);
    played_until(c, &p, p.n + 1);
    tdm_node node;
    REQUIRE(tdm_chat_node(c, TDM_FRONT, path[7], &node, &err) == TDM_OK);
    CHECK(tdm_chat_select(c, path[7], &err) == TDM_OK);
    played_spent(c);
    CHECK(tdm_chat_continue(c, &err) == TDM_OK);
    played_until(c, &p, p.n + 1);
    CHECK_INT(c->front->conversation.nodes[path[7]].reply.n - 5, p.stats[p.n - 1].after_enter);
    tdm_node_free(&node);
    /* Its record is that of its latest part: there is nothing that a cold prompt could be compared with. */
    CHECK_INT(TDM_E_NOT_FOUND, tdm_chat_cold(c, TDM_PIPE_SINGLE, &err));
    CHECK(strstr(err.text, "gone on with"));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(undo_redo_and_regenerate_evaluate_nothing_again)
{
    static struct played p;
    tdm_chat *c = talked(&p);
    REQUIRE(c);
    CHECK(tdm_chat_undo(c, &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK(tdm_chat_undo(c, &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK(tdm_chat_redo(c, &err) == TDM_OK);
    CHECK(tdm_chat_redo(c, &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK(tdm_chat_regenerate(c, clock_ns(), &err) == TDM_OK);
    played_until(c, &p, 5);
    CHECK_INT(0, p.stats[4].after_enter); /* the prompt with its logits was kept at the rest before Enter */
    CHECK(p.stats[4].ids_hash != p.stats[3].ids_hash);
    /* The new reply in its past form, and the opening of the next turn. */
    CHECK(played_spent(c) <= c->reader.target.n - (p.stats[4].prompt_tokens - p.stats[4].turn_tokens));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

/* However much of the prompt is left at Enter: after the hand-over the follower goes on from at most a dispatch before
 * the end of it, and from the suffix where that began the last of two dispatches. */
TEST(what_is_left_at_enter_is_hardly_read_twice)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    played_limit(c, 3, 0);
    CHECK(tdm_chat_set_draft(c, "x", 1, false, &err) == TDM_OK);
    played_spent(c);
    uint32_t suffix = c->reader.target.n - c->reader.target.draft, dispatch = c->reader.follower.dispatch;
    CHECK(c->reader.target.complete && suffix > 4 && suffix < dispatch);
    CHECK(tdm_chat_set_draft(c, "", 0, false, &err) == TDM_OK);
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.speculation = TDM_SPEC_HISTORY;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    char text[80] = "";
    for (int turns = 0; turns < 12 && !check_failures; turns++) {
        uint32_t left = turns < 6 ? dispatch + 1 + (uint32_t)turns : dispatch - 3 + 7 * (uint32_t)(turns - 6);
        while (strlen(text) + 1 < sizeof text && count_tokens(text) + suffix != left)
            strcat(text, strlen(text) % 2 ? "q" : "!");
        played_spent(c);
        uint32_t read = c->reader.target.n;
        played_say(c, &p, text);
        CHECK_INT(left, p.stats[0].after_enter);
        uint32_t twice = played_spent(c) - (c->reader.target.n - read);
        if (left <= dispatch)
            CHECK_INT(left, twice);
        else
            CHECK_INT(left < dispatch + suffix ? suffix : left - dispatch, twice);
        p.n = 0;
        text[0] = 0;
    }
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(an_edited_message_that_stood_there_has_a_head_start)
{
    static struct played p;
    tdm_chat *c = talked(&p);
    REQUIRE(c);
    int path[16];
    tdm_node node;
    REQUIRE(tdm_chat_path(c, TDM_FRONT, path, 16) == 8);
    REQUIRE(tdm_chat_node(c, TDM_FRONT, path[2], &node, &err) == TDM_OK);
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    CHECK(tdm_chat_set_draft(c, node.text, node.length, false, &err) == TDM_OK);
    CHECK(tdm_chat_set_draft(c, node.text, node.length - 1, false, &err) == TDM_OK);
    played_say(c, &p, "And how");
    CHECK_INT(TDM_TURN_MARK_HEAD_START, p.stats[4].mark);
    CHECK(tdm_chat_set_draft(c, node.text, node.length, false, &err) == TDM_OK); /* nothing is edited any more */
    played_say(c, &p, node.text);
    CHECK_INT(TDM_TURN_MARK_NONE, p.stats[5].mark);
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    CHECK(tdm_chat_set_draft(c, node.text, node.length, false, &err) == TDM_OK);
    CHECK(tdm_chat_set_draft(c, "", 0, false, &err) == TDM_OK); /* begun anew */
    CHECK(tdm_chat_set_draft(c, "Something", 9, false, &err) == TDM_OK);
    played_say(c, &p, "Something");
    CHECK_INT(TDM_TURN_MARK_NONE, p.stats[6].mark);
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    played_type(c, node.text, 0); /* the same text again, by keys */
    played_say(c, &p, node.text);
    CHECK_INT(TDM_TURN_MARK_NONE, p.stats[7].mark);
    tdm_node_free(&node);
    tdm_chat_close(c);
}

TEST(an_edited_message_costs_itself)
{
    static struct played p;
    tdm_chat *c = talked(&p);
    REQUIRE(c);
    int path[16];
    REQUIRE(tdm_chat_path(c, TDM_FRONT, path, 16) == 8);
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK(tdm_chat_edit(c, 0, &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    played_say(c, &p, "Something else");
    CHECK(p.stats[4].after_enter < p.stats[4].turn_tokens);
    CHECK_INT(TDM_TURN_MARK_NONE, p.stats[4].mark); /* the old text stood nowhere */
    CHECK_INT(4, tdm_chat_path(c, TDM_FRONT, path, 16));
    tdm_node node;
    REQUIRE(tdm_chat_node(c, TDM_FRONT, path[2], &node, &err) == TDM_OK);
    CHECK(node.branch == 2 && node.branches == 2);
    tdm_node_free(&node);
    /* Back on the other branch everything is there. */
    played_spent(c);
    CHECK(tdm_chat_select(c, p.node[3], &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(changed_settings_cost_what_they_change)
{
    static struct played p;
    tdm_chat *c = talked(&p);
    REQUIRE(c);
    uint32_t whole = c->reader.target.n;
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.sampling.temperature = 0;
    o.sampling.seed++;
    CHECK_INT(0, configured(c, &o));
    /* Past turns don't show whether the next reply thinks. */
    o.think = !o.think;
    CHECK_INT(0, configured(c, &o));
    CHECK(tdm_chat_set_draft(c, "Well then", 9, false, &err) == TDM_OK);
    uint32_t turn = played_spent(c);
    CHECK_INT(c->reader.target.n - whole, turn);
    o.think = !o.think;
    uint32_t changed = configured(c, &o);
    CHECK(changed > 0 && changed <= c->reader.target.n - c->reader.target.history);
    o.think = !o.think;
    CHECK_INT(0, configured(c, &o));
    CHECK(tdm_chat_set_draft(c, "", 0, false, &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    /* The system prompt stands before everything: all is read again, but once. */
    CHECK(tdm_chat_set_system(c, "Be brief.", 9, &err) == TDM_OK);
    CHECK_INT(c->reader.target.n, played_spent(c));
    CHECK(tdm_chat_set_system(c, "", 0, &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK_INT(whole, c->reader.target.n);
    CHECK(tdm_chat_set_system(c, "Be brief.", 9, &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

/* A second turn, whose prompt is long, in which settings that prompts depend on change or not while it is read. */
static bool long_turn(bool changes, struct talk_turn *out)
{
    struct talk t;
    char text[600];
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.speculation = TDM_SPEC_OFF;
    if (!talk_open(&t, NULL, 0, &o)) return false;
    for (size_t i = 0; i < sizeof text; i++) text[i] = i % 5 == 4 ? ' ' : (char)('a' + i % 7);
    CHECK(tdm_chat_send(t.chat, "Well?", 5, clock_ns(), &err) == TDM_OK);
    talk_until(&t, 1);
    CHECK(tdm_chat_send(t.chat, text, sizeof text, clock_ns(), &err) == TDM_OK);
    o.think = changes ? !o.think : o.think;
    CHECK(tdm_chat_configure(t.chat, &o, &err) == TDM_OK);
    talk_until(&t, 2);
    *out = t.turns[1];
    CHECK_INT(out->stats.prompt_tokens, t.chat->front->decoder->prompt);
    CHECK_STR("", t.errors);
    talk_close(&t);
    return true;
}

TEST(what_is_set_while_a_prompt_is_read_is_for_the_next_one)
{
    struct talk_turn plain, changed;
    REQUIRE(long_turn(false, &plain) && long_turn(true, &changed));
    CHECK_INT(plain.stats.prompt_tokens, changed.stats.prompt_tokens);
    CHECK(plain.stats.ids_hash == changed.stats.ids_hash && plain.text == changed.text);
}

TEST_MAIN(T(continue_goes_on_from_the_decoders_state), T(undo_redo_and_regenerate_evaluate_nothing_again),
          T(what_is_left_at_enter_is_hardly_read_twice), T(an_edited_message_that_stood_there_has_a_head_start),
          T(an_edited_message_costs_itself), T(changed_settings_cost_what_they_change),
          T(what_is_set_while_a_prompt_is_read_is_for_the_next_one))
