/* A restless user: thousands of random actions while replies are decoded, without waiting for anything. Afterwards the
 * chat must come to rest, and what it says next must be what a fresh chat says, bit for bit. Most worth under the
 * thread sanitizer. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "tests/engine/chat/talk.h"

static tdm_error err;
static uint64_t seed;

static const char letters[] = "abc de fgh 123\n.,'";

static void draft(struct talk *t)
{
    static char text[400];
    static size_t n;
    switch (talk_draw(&seed, 8)) {
    case 0: n = talk_draw(&seed, (uint32_t)n + 1); break;              /* deleted from here on */
    case 1: if (n) text[talk_draw(&seed, (uint32_t)n)] = 'x'; break;   /* changed in the middle */
    case 2:
        while (n + 1 < sizeof text && talk_draw(&seed, 60)) text[n++] = letters[talk_draw(&seed, sizeof letters - 1)];
        break;
    default:
        if (n + 1 < sizeof text) text[n++] = letters[talk_draw(&seed, sizeof letters - 1)];
        break;
    }
    tdm_chat_set_draft(t->chat, text, n, talk_draw(&seed, 10) == 0, &err);
}

static void settings(struct talk *t)
{
    tdm_chat_options o;
    tdm_chat_options_of(t->chat, &o);
    switch (talk_draw(&seed, 6)) {
    case 0: o.pipeline = talk_draw(&seed, 2) ? TDM_PIPE_TANDEM : (tdm_pipeline)talk_draw(&seed, TDM_PIPELINES); break;
    case 1:
        o.speculation = (tdm_speculation)(TDM_SPEC_OFF + talk_draw(&seed, TDM_SPEC_FULL));
        break;
    case 2: o.dispatch = 1 + (int)talk_draw(&seed, 64); break;
    case 3: o.max_tokens = 1 + (int)talk_draw(&seed, 40); break;
    case 4: o.think = !o.think; break;
    default: o.checkpoint_bytes = (uint64_t)(1 + talk_draw(&seed, 32)) << 20; break;
    }
    CHECK(tdm_chat_configure(t->chat, &o, &err) == TDM_OK);
}

static void look(struct talk *t)
{
    tdm_chat_status status;
    tdm_node node;
    int n = tdm_chat_nodes(t->chat, TDM_FRONT);
    tdm_chat_status_of(t->chat, &status);
    CHECK(status.read <= status.target && status.context_size == 1024);
    if (n && tdm_chat_node(t->chat, TDM_FRONT, 1 + (int)talk_draw(&seed, (uint32_t)n), &node, &err) == TDM_OK)
        tdm_node_free(&node);
}

static void one_action(struct talk *t)
{
    int n = tdm_chat_nodes(t->chat, TDM_FRONT);
    char text[32];
    switch (talk_draw(&seed, 33)) {
    case 0: case 1: case 2:
        snprintf(text, sizeof text, "message %u", talk_draw(&seed, 1000));
        tdm_chat_send(t->chat, text, strlen(text), clock_ns(), &err);
        break;
    case 3: tdm_chat_send_now(t->chat, clock_ns()); break;
    case 4:
        tdm_chat_stop(t->chat, TDM_FRONT);
        break;
    case 5: tdm_chat_continue(t->chat, &err); break;
    case 6: tdm_chat_regenerate(t->chat, clock_ns(), &err); break;
    case 7: tdm_chat_undo(t->chat, &err); break;
    case 8: tdm_chat_redo(t->chat, &err); break;
    case 9: if (n) tdm_chat_edit(t->chat, (int)talk_draw(&seed, (uint32_t)n + 1), &err); break;
    case 10: if (n) tdm_chat_select(t->chat, 1 + (int)talk_draw(&seed, (uint32_t)n), &err); break;
    case 11: tdm_chat_set_system(t->chat, letters, talk_draw(&seed, sizeof letters), &err); break;
    case 12: settings(t); break;
    case 13: tdm_chat_cold(t->chat, (tdm_pipeline)talk_draw(&seed, TDM_PIPELINES), &err); break;
    case 14: free(tdm_chat_unqueue(t->chat)); break;
    case 15: if (talk_draw(&seed, 10) == 0 || n > 60) tdm_chat_clear(t->chat); break;
    case 16: look(t); break;
    case 17: usleep(talk_draw(&seed, 3000)); break;
    case 18:
        tdm_chat_answers(t->chat, 1 + (int)talk_draw(&seed, TDM_ANSWERS_MAX), talk_draw(&seed, 2) ? "Which?" : NULL, 6,
                         clock_ns(), &err);
        break;
    case 19: tdm_chat_stop_answer(t->chat, n - (int)talk_draw(&seed, 4)); break;
    case 20: if (n > 4) tdm_chat_select(t->chat, n - (int)talk_draw(&seed, 4), &err); break;
    default: draft(t); break;
    }
    talk_events(t);
}

static void ask(struct talk *t, struct talk_turn *out, tdm_status *status)
{
    tdm_chat_options o;
    tdm_chat_options_of(t->chat, &o);
    o.max_tokens = 12;
    o.think = false;
    CHECK(tdm_chat_configure(t->chat, &o, &err) == TDM_OK);
    CHECK(tdm_chat_set_system(t->chat, "S", 1, &err) == TDM_OK);
    t->n = 0;
    *status = tdm_chat_send(t->chat, "And now?", 8, clock_ns(), &err);
    if (*status == TDM_OK) talk_until(t, 1);
    *out = t->turns[0];
}

/* What the chat says to one more message, and what a fresh one says that is given the same conversation. */
static void check_next(struct talk *t)
{
    static tdm_node nodes[256];
    int path[256];
    free(tdm_chat_unqueue(t->chat));
    tdm_chat_stop(t->chat, TDM_FRONT);
    tdm_chat_edit(t->chat, 0, &err);
    CHECK(tdm_chat_wait_idle(t->chat, CHECK_PATIENCE_MS));
    talk_events(t);
    int n = tdm_chat_path(t->chat, TDM_FRONT, path, 256);
    REQUIRE(n <= 256);
    for (int i = 0; i < n; i++) {
        REQUIRE(tdm_chat_node(t->chat, TDM_FRONT, path[i], &nodes[i], &err) == TDM_OK);
        nodes[i].parent = i;
    }
    struct talk fresh;
    struct talk_turn mine, its;
    tdm_status status, expected;
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.pipeline = TDM_PIPE_SINGLE;
    o.speculation = TDM_SPEC_OFF;
    if (talk_open(&fresh, NULL, 1, &o)) {
        CHECK(tdm_chat_load(fresh.chat, "", 0, nodes, n, n, 0, &err) == TDM_OK);
        ask(&fresh, &its, &expected);
        ask(t, &mine, &status);
        CHECK_INT(expected, status);
        if (status == TDM_OK && expected == TDM_OK) {
            CHECK_INT(its.stats.prompt_tokens, mine.stats.prompt_tokens);
            CHECK(its.stats.ids_hash == mine.stats.ids_hash && its.stats.logits_hash == mine.stats.logits_hash);
            CHECK(its.text == mine.text);
        }
        talk_close(&fresh);
    }
    for (int i = 0; i < n; i++) tdm_node_free(&nodes[i]);
}

/* The context may become full; nothing else may fail. */
static void check_errors(struct talk *t)
{
    for (char *line = strtok(t->errors, "\n"); line; line = strtok(NULL, "\n"))
        if (!strstr(line, "the context is full") && !strstr(line, "a cold prompt is being measured"))
            CHECK_FAIL("%s", line);
    t->errors[0] = 0;
}

static void stress(int rounds, int parts)
{
    struct talk t;
    int turns = 0;
    for (int round = 0; round < rounds && !check_failures; round++) {
        seed = 1000 + (uint64_t)round;
        REQUIRE(talk_open(&t, NULL, 0, NULL));
        for (int part = 0; part < parts && !check_failures; part++) {
            t.n = 0;
            for (int i = 0; i < 250; i++) one_action(&t);
            turns += t.n;
            check_next(&t);
            check_errors(&t);
        }
        talk_close(&t);
    }
    CHECK(turns > 2 * parts * rounds / 3); /* otherwise nothing was tested */
}

TEST(a_restless_user)
{
    stress(getenv("TANDEM_LONG") ? 100 : check_slow() ? 2 : 6, 3);
}

/* The follower adopts the decoder's state wherever a reply renders as it was decoded. */
TEST(a_restless_user_whose_replies_are_adopted)
{
    const char *before = talk_path;
    talk_path = talk_builtin;
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    talk_set_template(m, "qwen38");
    bool all = getenv("TANDEM_LONG");
    stress(all ? 20 : check_slow() ? 1 : 2, check_slow() && !all ? 1 : 3);
    talk_set_template(m, "qwen35");
    talk_path = before;
}

TEST_MAIN(T(a_restless_user), T(a_restless_user_whose_replies_are_adopted))
