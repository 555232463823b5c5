/* A chat plays the same conversation whatever its pipeline, level of speculation and interleaving; and does what it is
 * told: queue, cut, stop, continue, regenerate, undo, redo, edit. Hashes of ids and logits are compared bit for bit. */
#include "tests/check.h"

#include <poll.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "tests/engine/chat/talk.h"

static tdm_error err;
static const tdm_model *model;

struct played {
    tdm_turn_stats stats[16], begun[16]; /* as told at a turn's end, and when its reply began */
    tdm_finish finish[16];
    int node[16];
    int n;
    char text[4096];
    char errors[1024], notices[1024];
    uint32_t told; /* tokens of the running reply, as its text tells them */
};

static tdm_chat *open_chat(tdm_pipeline pipeline, tdm_speculation level)
{
    model = talk_model(NULL);
    tdm_machine *machine = talk_machine(0);
    if (!model || !machine) return NULL;
    tdm_chat_options o = talk_options(model);
    o.pipeline = pipeline;
    o.speculation = level;
    o.max_tokens = 20;
    tdm_chat *c = NULL;
    if (tdm_chat_open(&c, model, machine, &o, &err)) CHECK_FAIL("%s", err.text);
    return c;
}

/* A chat that follows everything, and nothing played yet. */
static tdm_chat *begin(struct played *p)
{
    memset(p, 0, sizeof *p);
    return open_chat(TDM_PIPE_TANDEM, TDM_SPEC_FULL);
}

static void take_events(tdm_chat *c, struct played *p)
{
    tdm_event e;
    while (tdm_chat_next_event(c, &e)) {
        if (e.kind == TDM_EV_END && p->n < 16) {
            p->stats[p->n] = e.stats;
            p->finish[p->n] = e.finish;
            p->node[p->n++] = e.node;
        }
        if (e.kind == TDM_EV_REPLY) p->told = 0;
        if (e.kind == TDM_EV_REPLY && p->n < 16) p->begun[p->n] = e.stats;
        if (e.kind == TDM_EV_TEXT) {
            CHECK(e.tokens >= p->told);
            p->told = e.tokens;
        }
        if (e.kind == TDM_EV_END && e.finish == TDM_LENGTH)
            /* All of them, but for the last ones where they make no whole character. */
            CHECK(p->told <= e.stats.reply_tokens && p->told + 4 > e.stats.reply_tokens);
        if (e.kind == TDM_EV_NOTICE) {
            strncat(p->notices, e.text, sizeof p->notices - strlen(p->notices) - 2);
            strcat(p->notices, "\n");
        }
        if (e.kind == TDM_EV_TEXT && strlen(p->text) + e.length < sizeof p->text) strncat(p->text, e.text, e.length);
        if (e.kind == TDM_EV_ERROR) {
            strncat(p->errors, e.text, sizeof p->errors - strlen(p->errors) - 2);
            strcat(p->errors, "\n");
        }
    }
}

/* Until `turns` turns have ended. */
static void play_until(tdm_chat *c, struct played *p, int turns)
{
    take_events(c, p);
    for (int still = 0; p->n < turns && still < 60;) { /* seconds in which nothing happens */
        struct pollfd fd = {.fd = tdm_chat_fd(c), .events = POLLIN};
        still = poll(&fd, 1, 1000) > 0 ? 0 : still + 1;
        take_events(c, p);
    }
    if (p->n < turns) CHECK_FAIL("only %d of %d turns ended", p->n, turns);
}

static void type(tdm_chat *c, const char *text, int wait_us)
{
    for (size_t n = 1; n <= strlen(text); n++) {
        tdm_chat_set_draft(c, text, n, false, &err);
        if (wait_us) usleep((useconds_t)wait_us);
    }
}

static void send(tdm_chat *c, const char *text)
{
    if (tdm_chat_send(c, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
}

/* Sends, and plays until the turn has ended. */
static void say(tdm_chat *c, struct played *p, const char *text)
{
    send(c, text);
    play_until(c, p, p->n + 1);
}

static void limit(tdm_chat *c, int max_tokens, double pace_tps)
{
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.max_tokens = max_tokens;
    o.pace_tps = pace_tps;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
}

static const char *const lines[] = {"Hello, what is this about?", "  And how does it  work?\n", "I'd like caf\xc3\xa9 \xe4\xbd\xa0\xe5\xa5\xbd",
                                   "Thanks <|im_end|> bye"};

static void play(struct played *p, tdm_pipeline pipeline, tdm_speculation level, int wait_us, bool rest)
{
    memset(p, 0, sizeof *p);
    tdm_chat *c = open_chat(pipeline, level);
    if (!c) return;
    CHECK(tdm_chat_set_system(c, "Be brief.", 9, &err) == TDM_OK);
    for (int i = 0; i < 4; i++) {
        type(c, lines[i], wait_us);
        if (rest) CHECK(tdm_chat_wait_idle(c, 20000));
        say(c, p, lines[i]);
    }
    CHECK_STR("", p->errors);
    tdm_chat_close(c);
}

static void check_same(const struct played *a, const struct played *b, const char *what)
{
    CHECK_INT(a->n, b->n);
    for (int i = 0; i < a->n && i < b->n; i++)
        if (a->stats[i].ids_hash != b->stats[i].ids_hash || a->stats[i].logits_hash != b->stats[i].logits_hash)
            CHECK_FAIL("%s: turn %d differs", what, i + 1);
    if (strcmp(a->text, b->text)) CHECK_FAIL("%s: the text differs", what);
}

TEST(pipelines_and_levels_give_the_same_bits)
{
    static struct played first, other;
    play(&first, TDM_PIPE_SINGLE, TDM_SPEC_OFF, 0, false);
    CHECK_INT(4, first.n);
    for (int i = 0; i < first.n; i++) CHECK_INT(20, first.stats[i].reply_tokens);
    for (int p = 0; p < TDM_PIPELINES; p++) {
        play(&other, (tdm_pipeline)p, TDM_SPEC_FULL, 0, false);
        check_same(&first, &other, tdm_pipeline_name((tdm_pipeline)p));
    }
    for (int l = 0; l <= TDM_SPEC_FULL; l++) {
        play(&other, TDM_PIPE_TANDEM, (tdm_speculation)l, 300, true);
        check_same(&first, &other, tdm_speculation_name((tdm_speculation)l));
    }
}

TEST(a_warm_turn_evaluates_nothing_after_enter)
{
    static struct played p;
    play(&p, TDM_PIPE_TANDEM, TDM_SPEC_FULL, 300, true);
    REQUIRE(p.n == 4);
    CHECK_INT(TDM_FIRST, p.stats[0].kind);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(0, p.stats[i].after_enter);
        CHECK_INT(p.stats[i].turn_tokens, p.stats[i].turn_before_enter);
        CHECK_INT(TDM_UNMARKED, p.stats[i].mark);
        if (i) CHECK_INT(TDM_WARM, p.stats[i].kind);
    }
}

/* Whatever was read when, the parts of the prompt make the whole, and the kind says what the figures say. */
TEST(the_record_of_a_turn_adds_up_in_every_pipeline)
{
    static struct played p;
    for (int k = 0; k < TDM_PIPELINES + TDM_SPEC_FULL; k++) {
        bool follows = k >= TDM_PIPELINES - 1; /* the last pipeline, at all levels */
        play(&p, follows ? TDM_PIPE_TANDEM : (tdm_pipeline)k, follows ? (tdm_speculation)(k - TDM_PIPELINES + 1) : TDM_SPEC_FULL,
             100, k % 2);
        for (int i = 0; i < p.n; i++) {
            const tdm_turn_stats *s = &p.stats[i], *told = &p.begun[i];
            CHECK_INT(s->prompt_tokens, s->earlier + s->before_enter + s->after_enter);
            CHECK_INT(!i ? TDM_FIRST : s->turn_before_enter ? TDM_WARM : TDM_COLD, s->kind);
            CHECK(s->turn_before_enter <= s->turn_tokens);
            if (!follows) CHECK_INT(s->prompt_tokens, s->after_enter);
            if (follows && k == TDM_PIPELINES - 1) CHECK_INT(0, s->turn_before_enter);
            /* What the beginning of the reply told is not told otherwise at its end. */
            CHECK_INT(s->kind, told->kind);
            CHECK_INT(s->enter_ns, told->enter_ns);
            CHECK_INT(s->prompt_tokens, told->prompt_tokens);
            CHECK_INT(s->turn_before_enter, told->turn_before_enter);
            CHECK_INT(s->before_enter, told->before_enter);
            CHECK_INT(s->after_enter, told->after_enter);
            CHECK_INT(s->wasted, told->wasted);
            CHECK(s->handover_ms == told->handover_ms);
        }
    }
}

TEST(a_reply_has_one_rate_from_its_first_token_to_its_last)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    limit(c, 6, 50); /* held down: the time of a forward pass is another */
    tdm_chat_status s;
    tdm_chat_status_of(c, &s);
    CHECK(s.decode_tps == 0);
    for (int i = 1; i <= 2; i++) {
        say(c, &p, "Hello");
        const tdm_turn_stats *t = &p.stats[i - 1];
        CHECK(t->last_id_ns > t->first_id_ns && t->last_id_ns <= t->end_ns);
        CHECK_NEAR(5e9 / (double)(t->last_id_ns - t->first_id_ns), t->decode_tps, 1e-6);
        tdm_chat_status_of(c, &s);
        CHECK(s.decode_tps == t->decode_tps);
    }
    tdm_chat_close(c);
}

TEST(the_first_turn_after_loading_is_resumed)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    const tdm_node nodes[] = {{.node = 1, .role = TDM_USER, .text = "Hello", .length = 5},
                              {.node = 2, .parent = 1, .role = TDM_ASSISTANT, .text = "Good day", .length = 8}};
    CHECK(tdm_chat_load(c, "", 0, nodes, 2, 2, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(c, 20000));
    say(c, &p, "One");
    CHECK(tdm_chat_wait_idle(c, 20000));
    say(c, &p, "Two");
    tdm_chat_clear(c);
    say(c, &p, "Three");
    CHECK(tdm_chat_load(c, "", 0, nodes, 0, 0, &err) == TDM_OK); /* nothing is no conversation */
    say(c, &p, "Four");
    const tdm_turn_kind kinds[] = {TDM_RESUMED, TDM_WARM, TDM_FIRST, TDM_FIRST};
    for (int i = 0; i < 4; i++) CHECK_INT(kinds[i], p.stats[i].kind);
    tdm_chat_close(c);
}

TEST(a_message_sent_while_decoding_is_queued_and_can_cut)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    limit(c, 20, 100); /* slow enough for what is sent meanwhile */
    send(c, "One");
    send(c, "Two");
    send(c, "and a half");
    play_until(c, &p, 2);
    CHECK_INT(TDM_QUEUED, p.stats[1].mark);
    tdm_node node;
    int path[8];
    REQUIRE(tdm_chat_path(c, path, 8) == 4);
    REQUIRE(tdm_chat_node(c, path[2], &node, &err) == TDM_OK);
    CHECK_STR("Two\nand a half", node.text);
    tdm_node_free(&node);

    limit(c, 400, 100);
    send(c, "Three");
    send(c, "Four");
    tdm_chat_send_now(c, clock_ns());
    play_until(c, &p, 3);
    CHECK_INT(TDM_STOPPED, p.finish[2]);
    usleep(1000);
    tdm_chat_stop(c);
    play_until(c, &p, 4);
    CHECK_INT(TDM_CUT, p.stats[3].mark);
    tdm_chat_close(c);
}

/* Hashes of the reply that a conversation ends with, told by its text. */
static char *last_text(tdm_chat *c)
{
    int path[32];
    tdm_node node;
    int n = tdm_chat_path(c, path, 32);
    if (n < 1 || tdm_chat_node(c, path[n - 1], &node, &err)) return NULL;
    char *text = strdup(node.text);
    tdm_node_free(&node);
    return text;
}

TEST(an_answer_has_a_length_of_its_own)
{
    static struct played p;
    tdm_chat_options o;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    tdm_chat_options_of(c, &o);
    o.max_answer_tokens = 7;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    say(c, &p, "Tell me");
    CHECK_INT(TDM_LENGTH, p.finish[0]);
    CHECK_INT(7, p.stats[0].reply_tokens);
    o.think = true; /* and this model does not end its thoughts */
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    say(c, &p, "And now?");
    CHECK_INT(o.max_tokens, p.stats[1].reply_tokens);
    tdm_chat_close(c);
}

TEST(stop_and_continue_give_the_whole_reply)
{
    static struct played p, q;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    say(c, &p, "Tell me");
    char *whole = last_text(c);
    tdm_chat_close(c);

    c = begin(&q);
    REQUIRE(c);
    limit(c, 7, 0);
    say(c, &q, "Tell me");
    CHECK_INT(TDM_LENGTH, q.finish[0]);
    limit(c, 13, 0);
    CHECK(tdm_chat_continue(c, &err) == TDM_OK);
    play_until(c, &q, 2);
    char *both = last_text(c);
    CHECK_STR(whole, both);
    CHECK(tdm_chat_continue(c, &err) == TDM_OK);
    play_until(c, &q, 3);
    tdm_chat_close(c);
    free(whole);
    free(both);
}

/* ---- What things cost, counted in tokens that the follower evaluates -------------------------------------------- */

/* Rests, and says how many tokens were evaluated since the last call. */
static uint32_t spent(tdm_chat *c)
{
    static uint64_t before;
    CHECK(tdm_chat_wait_idle(c, 20000));
    uint64_t now = c->follower.figures.evaluated;
    uint32_t since = now >= before ? (uint32_t)(now - before) : 0;
    before = now;
    return since;
}

/* What other options cost. */
static uint32_t configured(tdm_chat *c, const tdm_chat_options *o)
{
    CHECK(tdm_chat_configure(c, o, &err) == TDM_OK);
    return spent(c);
}

/* A chat of four turns, typed with a rest before Enter, at rest. */
static tdm_chat *talked(struct played *p)
{
    tdm_chat *c = begin(p);
    for (int i = 0; c && i < 4; i++) {
        type(c, lines[i], 0);
        CHECK(tdm_chat_wait_idle(c, 20000));
        say(c, p, lines[i]);
    }
    if (c) spent(c);
    return c;
}

static uint32_t count_tokens(const char *text)
{
    tdm_ids ids = {0};
    CHECK(tdm_tokenize(model, text, strlen(text), false, &ids, &err) == TDM_OK);
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
        limit(c, i < 2 ? 7 : 400, i < 2 ? 0 : 300);
        spent(c);
        CHECK(tdm_chat_continue(c, &err) == TDM_OK);
        if (i >= 2) {
            usleep(4000 + 1700 * (useconds_t)i);
            tdm_chat_stop(c);
            if (i > 3) { /* at once, perhaps while the last token is still being evaluated */
                CHECK(tdm_chat_continue(c, &err) == TDM_OK);
                tdm_chat_stop(c);
            }
        }
        play_until(c, &p, i < 4 ? 5 + i : 8 + 2 * (i - 3));
        const tdm_turn_stats *s = &p.stats[p.n - 1];
        CHECK(s->after_enter <= 1);
        /* What is read is the reply in its past form, as after any reply. */
        CHECK(spent(c) <= c->target.n - (s->prompt_tokens - s->turn_tokens));
    }
    /* Its state is another reply's by now: the prompt is a checkpoint, the reply's tokens are read again. */
    int path[16], n = tdm_chat_path(c, path, 16);
    REQUIRE(n == 8);
    limit(c, 5, 0);
    CHECK(tdm_chat_regenerate(c, clock_ns(), &err) == TDM_OK);
    play_until(c, &p, p.n + 1);
    tdm_node node;
    REQUIRE(tdm_chat_node(c, path[7], &node, &err) == TDM_OK);
    CHECK(tdm_chat_select(c, path[7], &err) == TDM_OK);
    spent(c);
    CHECK(tdm_chat_continue(c, &err) == TDM_OK);
    play_until(c, &p, p.n + 1);
    CHECK_INT(c->conversation.nodes[path[7]].reply.n - 5, p.stats[p.n - 1].after_enter);
    tdm_node_free(&node);
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(undo_redo_and_regenerate_evaluate_nothing_again)
{
    static struct played p;
    tdm_chat *c = talked(&p);
    REQUIRE(c);
    CHECK(tdm_chat_undo(c, &err) == TDM_OK);
    CHECK_INT(0, spent(c));
    CHECK(tdm_chat_undo(c, &err) == TDM_OK);
    CHECK_INT(0, spent(c));
    CHECK(tdm_chat_redo(c, &err) == TDM_OK);
    CHECK(tdm_chat_redo(c, &err) == TDM_OK);
    CHECK_INT(0, spent(c));
    CHECK(tdm_chat_regenerate(c, clock_ns(), &err) == TDM_OK);
    play_until(c, &p, 5);
    CHECK_INT(0, p.stats[4].after_enter); /* the prompt with its logits was kept at the rest before Enter */
    CHECK(p.stats[4].ids_hash != p.stats[3].ids_hash);
    /* The new reply in its past form, and the opening of the next turn. */
    CHECK(spent(c) <= c->target.n - (p.stats[4].prompt_tokens - p.stats[4].turn_tokens));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

/* However much of the prompt is left at Enter: after the hand-over the follower goes on from at most a dispatch before the
 * end of it, and from the suffix where that began the last of two dispatches. */
TEST(what_is_left_at_enter_is_hardly_read_twice)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    limit(c, 3, 0);
    CHECK(tdm_chat_set_draft(c, "x", 1, false, &err) == TDM_OK);
    spent(c);
    uint32_t suffix = c->target.n - c->target.draft, dispatch = c->follower.dispatch;
    CHECK(c->target.complete && suffix > 4 && suffix < dispatch);
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
        spent(c);
        uint32_t read = c->target.n;
        say(c, &p, text);
        CHECK_INT(left, p.stats[0].after_enter);
        uint32_t twice = spent(c) - (c->target.n - read);
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
    REQUIRE(tdm_chat_path(c, path, 16) == 8);
    REQUIRE(tdm_chat_node(c, path[2], &node, &err) == TDM_OK);
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    CHECK(tdm_chat_set_draft(c, node.text, node.length, false, &err) == TDM_OK);
    CHECK(tdm_chat_set_draft(c, node.text, node.length - 1, false, &err) == TDM_OK);
    say(c, &p, "And how");
    CHECK_INT(TDM_HEAD_START, p.stats[4].mark);
    CHECK(tdm_chat_set_draft(c, node.text, node.length, false, &err) == TDM_OK); /* nothing is edited any more */
    say(c, &p, node.text);
    CHECK_INT(TDM_UNMARKED, p.stats[5].mark);
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    CHECK(tdm_chat_set_draft(c, node.text, node.length, false, &err) == TDM_OK);
    CHECK(tdm_chat_set_draft(c, "", 0, false, &err) == TDM_OK); /* begun anew */
    CHECK(tdm_chat_set_draft(c, "Something", 9, false, &err) == TDM_OK);
    say(c, &p, "Something");
    CHECK_INT(TDM_UNMARKED, p.stats[6].mark);
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    type(c, node.text, 0); /* the same text again, by keys */
    say(c, &p, node.text);
    CHECK_INT(TDM_UNMARKED, p.stats[7].mark);
    tdm_node_free(&node);
    tdm_chat_close(c);
}

TEST(an_edited_message_costs_itself)
{
    static struct played p;
    tdm_chat *c = talked(&p);
    REQUIRE(c);
    int path[16];
    REQUIRE(tdm_chat_path(c, path, 16) == 8);
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    CHECK_INT(0, spent(c));
    CHECK(tdm_chat_edit(c, 0, &err) == TDM_OK);
    CHECK_INT(0, spent(c));
    CHECK(tdm_chat_edit(c, path[2], &err) == TDM_OK);
    say(c, &p, "Something else");
    CHECK(p.stats[4].after_enter < p.stats[4].turn_tokens);
    CHECK_INT(TDM_UNMARKED, p.stats[4].mark); /* the old text stood nowhere */
    CHECK_INT(4, tdm_chat_path(c, path, 16));
    tdm_node node;
    REQUIRE(tdm_chat_node(c, path[2], &node, &err) == TDM_OK);
    CHECK(node.branch == 2 && node.branches == 2);
    tdm_node_free(&node);
    /* Back on the other branch everything is there. */
    spent(c);
    CHECK(tdm_chat_select(c, p.node[3], &err) == TDM_OK);
    CHECK_INT(0, spent(c));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(changed_settings_cost_what_they_change)
{
    static struct played p;
    tdm_chat *c = talked(&p);
    REQUIRE(c);
    uint32_t whole = c->target.n;
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.sampling.temperature = 0;
    o.sampling.seed++;
    CHECK_INT(0, configured(c, &o));
    /* Past turns don't show whether the next reply thinks. */
    o.think = !o.think;
    CHECK_INT(0, configured(c, &o));
    CHECK(tdm_chat_set_draft(c, "Well then", 9, false, &err) == TDM_OK);
    uint32_t turn = spent(c);
    CHECK_INT(c->target.n - whole, turn);
    o.think = !o.think;
    uint32_t changed = configured(c, &o);
    CHECK(changed > 0 && changed <= c->target.n - c->target.history);
    o.think = !o.think;
    CHECK_INT(0, configured(c, &o));
    CHECK(tdm_chat_set_draft(c, "", 0, false, &err) == TDM_OK);
    CHECK_INT(0, spent(c));
    /* The system prompt stands before everything: all is read again, but once. */
    CHECK(tdm_chat_set_system(c, "Be brief.", 9, &err) == TDM_OK);
    CHECK_INT(c->target.n, spent(c));
    CHECK(tdm_chat_set_system(c, "", 0, &err) == TDM_OK);
    CHECK_INT(0, spent(c));
    CHECK_INT(whole, c->target.n);
    CHECK(tdm_chat_set_system(c, "Be brief.", 9, &err) == TDM_OK);
    CHECK_INT(0, spent(c));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(a_failed_dispatch_is_told_and_survived)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    say(c, &p, "One");
    CHECK(tdm_chat_wait_idle(c, 20000));
    c->fail_dispatches = 1;
    say(c, &p, "Two");
    CHECK(strstr(p.errors, "the prefill unit failed"));
    CHECK_INT(20, p.stats[1].reply_tokens);
    c->fail_dispatches = 100;
    say(c, &p, "Three");
    CHECK_INT(TDM_FAILED, p.finish[2]);
    tdm_chat_status now;
    for (int i = 0; i < 2000; i++) { /* what it reads ahead fails as well: it rests and says so */
        tdm_chat_status_of(c, &now);
        if (now.prefill_failed) break;
        usleep(1000);
    }
    CHECK(now.prefill_failed && !now.no_checkpoints);
    c->fail_dispatches = 0;
    say(c, &p, "Four");
    CHECK_INT(20, p.stats[3].reply_tokens);
    tdm_chat_status_of(c, &now);
    CHECK(!now.prefill_failed);
    tdm_chat_close(c);
}

TEST(no_memory_for_checkpoints_is_told)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    tdm_chat_options o;
    tdm_chat_status now;
    tdm_chat_options_of(c, &o);
    o.checkpoint_bytes = 1;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    say(c, &p, "One");
    CHECK(tdm_chat_wait_idle(c, 20000));
    tdm_chat_status_of(c, &now);
    CHECK(now.checkpoints == 0 && now.no_checkpoints);
    CHECK_INT(20, p.stats[0].reply_tokens);
    tdm_chat_close(c);
}

TEST(a_saved_state_resumes_without_prefill)
{
    static struct played p, q;
    char path[256];
    snprintf(path, sizeof path, "%s/state", check_tmp());
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    say(c, &p, lines[0]);
    CHECK(tdm_chat_wait_idle(c, 20000));
    REQUIRE(tdm_chat_save_state(c, path, &err) == TDM_OK);
    int ids[4], n = tdm_chat_path(c, ids, 4);
    tdm_node nodes[2] = {0};
    REQUIRE(n == 2);
    for (int i = 0; i < 2; i++) REQUIRE(tdm_chat_node(c, ids[i], &nodes[i], &err) == TDM_OK);
    say(c, &p, lines[1]);
    tdm_chat_close(c);

    c = open_chat(TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    REQUIRE(c);
    CHECK(tdm_chat_wait_idle(c, 20000)); /* the opening of the first user turn is read by itself */
    uint64_t before = c->follower.figures.evaluated;
    REQUIRE(tdm_chat_load_state(c, path, &err) == TDM_OK);
    REQUIRE(tdm_chat_load(c, "", 0, nodes, 2, 2, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(c, 20000));
    CHECK_INT(before, c->follower.figures.evaluated);
    say(c, &q, lines[1]);
    CHECK(p.stats[1].ids_hash == q.stats[0].ids_hash && p.stats[1].logits_hash == q.stats[0].logits_hash);
    CHECK(truncate(path, 1000) == 0);
    CHECK(tdm_chat_load_state(c, path, &err) < 0);
    say(c, &q, lines[2]);
    CHECK_INT(20, q.stats[1].reply_tokens);
    tdm_chat_close(c);
    for (int i = 0; i < 2; i++) tdm_node_free(&nodes[i]);
}

TEST(a_full_context_is_told)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    static char longer[8000];
    memset(longer, 'x', sizeof longer - 1);
    CHECK_INT(TDM_E_CONTEXT, tdm_chat_send(c, longer, strlen(longer), clock_ns(), &err));
    CHECK(strstr(err.text, "the message is too long"));
    tdm_chat_status status;
    CHECK(tdm_chat_set_draft(c, longer, strlen(longer), false, &err) == TDM_OK);
    tdm_chat_status_of(c, &status);
    CHECK_INT(TDM_MARK_TOO_LONG, status.mark);
    CHECK(status.draft_tokens >= status.context_size); /* counted, though it is not read */
    say(c, &p, "short");
    CHECK_INT(20, p.stats[0].reply_tokens);

    limit(c, 0, 0);
    say(c, &p, "until the end");
    CHECK_INT(TDM_CONTEXT, p.finish[1]);
    CHECK_INT(TDM_E_CONTEXT, tdm_chat_send(c, "more", 4, clock_ns(), &err));
    CHECK(strstr(err.text, "the context is full"));
    tdm_chat_close(c);
}

TEST(four_fifths_of_the_context_are_told_once)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    limit(c, 60, 0);
    int turns = 0;
    while (!p.notices[0] && turns < 15 && !check_failures) {
        send(c, "on and on");
        play_until(c, &p, ++turns);
        const tdm_turn_stats *s = &p.stats[turns - 1];
        CHECK((s->prompt_tokens + s->reply_tokens >= 1024 / 5 * 4) == (p.notices[0] != 0));
    }
    CHECK(strstr(p.notices, "the context is 8"));
    size_t told = strlen(p.notices);
    limit(c, 5, 0);
    say(c, &p, "and on");
    CHECK_INT(told, strlen(p.notices));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

/* The conversation without its oldest turns is another prompt: it is read from its beginning, and how far that has got is
 * told. */
TEST(the_oldest_turns_are_dropped_with_progress)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.on_full = TDM_FULL_DROP_OLDEST;
    o.max_tokens = 120;
    o.dispatch = 1; /* so that it takes a while */
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    int turns = 0;
    while (!strstr(p.notices, "left out") && turns < 12 && !check_failures) {
        CHECK(tdm_chat_wait_idle(c, 20000));
        send(c, "go on");
        tdm_chat_status s;
        uint32_t done = 0, total = 0, looks = 0;
        for (tdm_chat_status_of(c, &s); s.phase == TDM_READING; tdm_chat_status_of(c, &s)) {
            CHECK(s.reading_done <= s.reading_total && s.reading_done >= done);
            looks += s.reading_done > done;
            done = s.reading_done;
            total = s.reading_total;
            usleep(100); /* who sleeps is let in among busy threads; who asks without end waits for its turn */
        }
        play_until(c, &p, ++turns);
        CHECK(p.finish[turns - 1] == TDM_LENGTH || p.finish[turns - 1] == TDM_CONTEXT);
        if (!strstr(p.notices, "left out")) continue;
        CHECK_INT(p.stats[turns - 1].after_enter, total);
        CHECK(looks > 2);
        CHECK(p.stats[turns - 1].prompt_tokens <= 1024 / 4 * 3);
    }
    CHECK(strstr(p.notices, "messages are left out"));
    CHECK_INT(2 * turns, tdm_chat_path(c, NULL, 0)); /* they are still in the conversation */
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(cold_compares_with_every_pipeline)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    for (int i = 0; i < 2; i++) {
        say(c, &p, lines[i]);
    }
    for (int k = TDM_PIPELINES; k-- > 0;) { /* tandem first: nothing but this asks it for a prompter */
        REQUIRE(tdm_chat_cold(c, (tdm_pipeline)k, &err) == TDM_OK);
        CHECK(tdm_chat_wait_idle(c, 20000));
        tdm_event e;
        bool found = false;
        while (tdm_chat_next_event(c, &e)) {
            if (e.kind != TDM_EV_COLD) continue;
            found = true;
            CHECK_INT(k, e.cold.pipeline);
            CHECK(e.cold.same_first_token);
            CHECK_INT(p.stats[1].prompt_tokens, e.cold.cold_tokens);
        }
        CHECK(found);
    }
    tdm_chat_close(c);
}

/* /model: the next chat is opened beside the last one, which is then closed. */
TEST(a_chat_works_on_when_the_one_before_it_closes)
{
    static struct played p;
    tdm_chat *before = begin(&p);
    REQUIRE(before);
    send(before, lines[0]);
    tdm_chat *c = open_chat(TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    tdm_chat_close(before);
    REQUIRE(c);
    say(c, &p, lines[0]);
    CHECK_INT(20, p.stats[0].reply_tokens);
    tdm_chat_close(c);
}

/* A next one that can't take the conversation over, say: the one before goes on where it was, also within a reply. */
TEST(a_chat_has_the_units_back_when_the_next_one_closes)
{
    static struct played p;
    tdm_chat *c = begin(&p);
    REQUIRE(c);
    limit(c, 20, 400);
    send(c, lines[0]);
    tdm_chat *next = open_chat(TDM_PIPE_TANDEM, TDM_SPEC_FULL), *last = open_chat(TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    REQUIRE(next && last);
    tdm_chat_close(next); /* it had lost them already */
    tdm_chat_close(last);
    play_until(c, &p, 1);
    CHECK_INT(20, p.stats[0].reply_tokens);
    say(c, &p, lines[1]);
    CHECK(tdm_chat_wait_idle(c, 20000));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

/* What the screen shows as used, also where nothing is read ahead. */
TEST(the_context_used_is_told_at_every_level)
{
    for (int level = TDM_SPEC_OFF; level <= TDM_SPEC_FULL; level++) {
        static struct played p;
        tdm_chat_status s;
        memset(&p, 0, sizeof p);
        tdm_chat *c = open_chat(TDM_PIPE_TANDEM, (tdm_speculation)level);
        REQUIRE(c);
        say(c, &p, lines[0]);
        CHECK(tdm_chat_wait_idle(c, 20000));
        tdm_chat_status_of(c, &s);
        CHECK(s.context_used >= 20 && s.context_used < 200);
        tdm_chat_clear(c);
        CHECK(tdm_chat_wait_idle(c, 20000));
        tdm_chat_status_of(c, &s);
        CHECK(s.context_used < 10);
        tdm_chat_close(c);
    }
}

TEST_MAIN(T(pipelines_and_levels_give_the_same_bits), T(a_warm_turn_evaluates_nothing_after_enter),
          T(the_record_of_a_turn_adds_up_in_every_pipeline), T(a_reply_has_one_rate_from_its_first_token_to_its_last),
          T(the_first_turn_after_loading_is_resumed), T(an_edited_message_that_stood_there_has_a_head_start),
          T(a_message_sent_while_decoding_is_queued_and_can_cut), T(an_answer_has_a_length_of_its_own),
          T(stop_and_continue_give_the_whole_reply),
          T(continue_goes_on_from_the_decoders_state), T(undo_redo_and_regenerate_evaluate_nothing_again),
          T(what_is_left_at_enter_is_hardly_read_twice), T(an_edited_message_costs_itself), T(changed_settings_cost_what_they_change),
          T(a_failed_dispatch_is_told_and_survived), T(no_memory_for_checkpoints_is_told),
          T(a_saved_state_resumes_without_prefill), T(a_full_context_is_told),
          T(four_fifths_of_the_context_are_told_once), T(the_oldest_turns_are_dropped_with_progress),
          T(cold_compares_with_every_pipeline),
          T(a_chat_works_on_when_the_one_before_it_closes), T(a_chat_has_the_units_back_when_the_next_one_closes),
          T(the_context_used_is_told_at_every_level))
