/* What a user does over layers with windows, in conversations that have passed these many times: pages that only a
 * checkpoint needs are kept, so nothing is read again, and a saved state goes on with the same bits. That paths which
 * branch have them, too, is in test_exact.c; several answers are in test_answers.c. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "tests/engine/chat/played.h"

static tdm_error err;

/* One that is in the tree; two kinds of pages; sinks; layers without keys of their own. */
static const char *const families[] = {"mistral-window", "gemma3", "gpt-oss", "gemma4-e"};
enum { FAMILIES = sizeof families / sizeof *families, TURNS = 4 };

/* Turns, each typed with a rest before Enter; the last one is further behind the first than three windows. */
static void say_all(tdm_chat *c, struct played *p)
{
    for (int i = 0; i < TURNS; i++) {
        played_type(c, played_lines[i], 0);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        played_say(c, p, played_lines[i]);
        CHECK_INT(0, p->stats[i].after_enter);
    }
    uint32_t window = pool_shape(c->front->decoder->state->pool)->kind[0].window;
    CHECK(window && p->stats[TURNS - 1].prompt_tokens - p->stats[0].prompt_tokens > 3 * window);
    played_spent(c);
}

static void go_back(bool thinks)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.think = thinks ? TDM_THINK_ON : TDM_THINK_OFF;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    say_all(c, &p);
    for (int i = 1; i < TURNS; i++) CHECK(tdm_chat_undo(c, &err) == TDM_OK && played_spent(c) == 0);
    for (int i = 1; i < TURNS; i++) CHECK(tdm_chat_redo(c, &err) == TDM_OK && played_spent(c) == 0);
    CHECK(tdm_chat_regenerate(c, clock_ns(), &err) == TDM_OK);
    played_until(c, &p, TURNS + 1);
    CHECK_INT(0, p.stats[TURNS].after_enter);
    CHECK(p.stats[TURNS].ids_hash != p.stats[TURNS - 1].ids_hash);
    CHECK(played_spent(c) <= c->reader.target.n - (p.stats[TURNS].prompt_tokens - p.stats[TURNS].turn_tokens));
    /* The second message is written anew: another branch, from which the first is gone back to. */
    int path[2 * TURNS];
    REQUIRE(tdm_chat_path(c, TDM_FRONT, path, 2 * TURNS) == 2 * TURNS);
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    played_say(c, &p, "Something else");
    CHECK(p.stats[TURNS + 1].after_enter <= p.stats[TURNS + 1].turn_tokens);
    played_spent(c);
    CHECK(tdm_chat_select(c, p.node[TURNS - 1], &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK(tdm_chat_select(c, p.node[TURNS + 1], &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(going_back_reads_nothing_again)
{
    const char *before = talk_path;
    for (int i = 0; i < FAMILIES; i++)
        for (int thinks = 0; thinks < 2; thinks++)
            if (talk_family(families[i])) go_back(thinks);
    talk_path = before;
}

/* Turns of a path, for a chat that loads it. */
static int nodes_of(const tdm_chat *c, tdm_node *nodes, int room)
{
    int ids[2 * TURNS], n = tdm_chat_path(c, TDM_FRONT, ids, room);
    for (int i = 0; i < n && i < room; i++) CHECK(tdm_chat_node(c, TDM_FRONT, ids[i], &nodes[i], &err) == TDM_OK);
    return n;
}

/* From half of a conversation, when windows have passed its beginning. */
static void save_and_resume(void)
{
    static struct played p, q;
    tdm_node nodes[2 * TURNS] = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/state", check_tmp());
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    say_all(c, &p);
    REQUIRE(tdm_chat_save_state(c, path, &err) == TDM_OK);
    int n = nodes_of(c, nodes, 2 * TURNS);
    REQUIRE(n == 2 * TURNS);
    played_say(c, &p, "More");
    played_say(c, &p, "And more");
    tdm_chat_close(c);

    c = played_begin(&q);
    REQUIRE(c && tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    REQUIRE(tdm_chat_load_state(c, path, &err) == TDM_OK);
    played_spent(c);
    REQUIRE(tdm_chat_load(c, "", 0, nodes, (size_t)n, n, 0, &err) == TDM_OK);
    CHECK_INT(0, played_spent(c));
    played_say(c, &q, "More");
    played_say(c, &q, "And more");
    for (int i = 0; i < 2; i++)
        CHECK(p.stats[TURNS + i].ids_hash == q.stats[i].ids_hash &&
              p.stats[TURNS + i].logits_hash == q.stats[i].logits_hash);
    tdm_chat_close(c);
    for (int i = 0; i < n; i++) tdm_node_free(&nodes[i]);
}

TEST(a_state_from_half_of_a_conversation_goes_on)
{
    const char *before = talk_path;
    for (int i = 0; i < FAMILIES; i++)
        if (talk_family(families[i])) save_and_resume();
    talk_path = before;
}

TEST_MAIN(T(going_back_reads_nothing_again), T(a_state_from_half_of_a_conversation_goes_on))
