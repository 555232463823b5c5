/* A chat plays the same conversation whatever its pipeline, level of speculation and interleaving; and does what it is
 * told: queue, cut, stop, continue. Hashes of ids and logits are compared bit for bit. What going back costs:
 * test_again.c. */
#include "tests/check.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "tests/engine/chat/played.h"

static tdm_error err;

/* How many of the lines are played, and how many tokens a reply has: fewer under a sanitizer, in the short form. */
static int lines(void)
{
    return check_slow() && !getenv("TANDEM_LONG") ? 2 : 4;
}

static int reply(void)
{
    return check_slow() && !getenv("TANDEM_LONG") ? 8 : 20;
}

static void play(struct played *p, tdm_pipeline pipeline, tdm_speculation level, int wait_us, bool rest)
{
    memset(p, 0, sizeof *p);
    tdm_chat *c = played_open(pipeline, level);
    if (!c) return;
    CHECK(tdm_chat_set_system(c, "Be brief.", 9, &err) == TDM_OK);
    played_limit(c, reply(), 0);
    for (int i = 0; i < lines(); i++) {
        played_type(c, played_lines[i], wait_us);
        if (rest) CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        played_say(c, p, played_lines[i]);
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

/* Typed at once and sent, in any pipeline; played once for all tests. */
static const struct played *hasty(tdm_pipeline pipeline)
{
    static struct played kept[TDM_PIPELINES];
    if (!kept[pipeline].n) play(&kept[pipeline], pipeline, TDM_SPEC_FULL, 0, false);
    return &kept[pipeline];
}

/* Typed key by key, and sent when all is read that can be, at any level; played once for all tests. */
static const struct played *calm(tdm_speculation level)
{
    static struct played kept[TDM_SPEC_FULL + 1];
    if (!kept[level].n) play(&kept[level], TDM_PIPE_TANDEM, level, 300, true);
    return &kept[level];
}

TEST(pipelines_and_levels_give_the_same_bits)
{
    static struct played first;
    play(&first, TDM_PIPE_SINGLE, TDM_SPEC_OFF, 0, false);
    CHECK_INT(lines(), first.n);
    for (int i = 0; i < first.n; i++) CHECK_INT(reply(), first.stats[i].reply_tokens);
    for (int p = 0; p < TDM_PIPELINES; p++)
        check_same(&first, hasty((tdm_pipeline)p), tdm_pipeline_name((tdm_pipeline)p));
    for (int l = TDM_SPEC_OFF; l <= TDM_SPEC_FULL; l++)
        check_same(&first, calm((tdm_speculation)l), tdm_speculation_name((tdm_speculation)l));
}

TEST(a_warm_turn_evaluates_nothing_after_enter)
{
    const struct played *p = calm(TDM_SPEC_FULL);
    REQUIRE(p->n == lines());
    CHECK_INT(TDM_TURN_FIRST, p->stats[0].kind);
    for (int i = 0; i < p->n; i++) {
        CHECK_INT(0, p->stats[i].after_enter);
        CHECK_INT(p->stats[i].turn_tokens, p->stats[i].turn_before_enter);
        CHECK_INT(TDM_TURN_MARK_NONE, p->stats[i].mark);
        if (i) CHECK_INT(TDM_TURN_WARM, p->stats[i].kind);
    }
}

/* The clock of a turn is the user's: what lies between the key and the call counts. */
TEST(a_turn_begins_with_its_enter)
{
    static struct played p;
    static const char text[] = "Hello";
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    int64_t enter_ns = clock_ns() - 3000000000;
    CHECK_INT(TDM_OK, tdm_chat_send(c, text, strlen(text), enter_ns, &err));
    played_until(c, &p, 1);
    CHECK_INT(enter_ns, p.begun[0].enter_ns);
    CHECK_INT(enter_ns, p.stats[0].enter_ns);
    CHECK(p.stats[0].first_id_ns >= enter_ns + 3000000000);
    tdm_chat_close(c);
}

/* What the status says of a draft is what the record of its turn will say, all read or not. */
TEST(the_status_and_the_record_of_a_turn_agree)
{
    static const char draft[] = "Tell me of the sea and of the ships that were there";
    for (int level = TDM_SPEC_OFF; level <= TDM_SPEC_FULL; level++) {
        static struct played p;
        tdm_chat *c = played_begin(&p);
        REQUIRE(c);
        tdm_chat_options o;
        tdm_chat_options_of(c, &o);
        o.speculation = (tdm_speculation)level;
        REQUIRE(!tdm_chat_configure(c, &o, NULL));
        played_say(c, &p, "Hello");
        REQUIRE(!tdm_chat_set_draft(c, draft, sizeof draft - 1, false, NULL));
        CHECK(tdm_chat_wait_idle(c, -1));
        tdm_chat_status s;
        tdm_chat_status_of(c, &s);
        CHECK(s.turn_read <= s.turn_known);
        played_say(c, &p, draft);
        const tdm_turn_stats *t = &p.stats[1];
        CHECK(s.turn_known <= t->turn_tokens);
        CHECK_INT(t->turn_before_enter, s.turn_read);
        if (level == TDM_SPEC_FULL) CHECK_INT(t->turn_tokens, s.turn_known);
        if (level == TDM_SPEC_OFF) CHECK_INT(0, s.turn_read);
        tdm_chat_close(c);
    }
}

/* Whatever was read when, the parts of the prompt make the whole, and the kind says what the figures say. */
TEST(the_record_of_a_turn_adds_up_in_every_pipeline)
{
    for (int k = 1; k < TDM_PIPELINES + TDM_SPEC_FULL; k++) {
        bool follows = k >= TDM_PIPELINES; /* after all others, the first pipeline, at all levels */
        tdm_speculation level = follows ? (tdm_speculation)(k - TDM_PIPELINES + TDM_SPEC_OFF) : TDM_SPEC_FULL;
        const struct played *p = follows ? calm(level) : hasty((tdm_pipeline)k);
        CHECK_INT(lines(), p->n);
        for (int i = 0; i < p->n; i++) {
            const tdm_turn_stats *s = &p->stats[i], *told = &p->begun[i];
            CHECK_INT(s->prompt_tokens, s->earlier + s->before_enter + s->after_enter);
            CHECK_INT(!i ? TDM_TURN_FIRST : s->turn_before_enter ? TDM_TURN_WARM : TDM_TURN_COLD, s->kind);
            CHECK(s->turn_before_enter <= s->turn_tokens);
            if (!follows) CHECK_INT(s->prompt_tokens, s->after_enter);
            if (level == TDM_SPEC_OFF) CHECK_INT(0, s->turn_before_enter);
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
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    played_limit(c, 6, 50); /* held down: the time of a forward pass is another */
    tdm_chat_status s;
    tdm_chat_status_of(c, &s);
    CHECK(s.decode_tps == 0);
    for (int i = 1; i <= 2; i++) {
        played_say(c, &p, "Hello");
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
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    const tdm_node nodes[] = {{.node = 1, .role = TDM_USER, .text = "Hello", .length = 5},
                              {.node = 2, .parent = 1, .role = TDM_ASSISTANT, .text = "Good day", .length = 8}};
    CHECK(tdm_chat_load(c, "", 0, nodes, 2, 2, 0, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    played_say(c, &p, "One");
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    played_say(c, &p, "Two");
    tdm_chat_clear(c);
    played_say(c, &p, "Three");
    CHECK(tdm_chat_load(c, "", 0, nodes, 0, 0, 1000, &err) == TDM_OK); /* nothing is no conversation */
    CHECK_INT(1000, tdm_chat_begun(c, TDM_FRONT));
    tdm_chat_clear(c);
    CHECK(tdm_chat_begun(c, TDM_FRONT) > 1000);
    played_say(c, &p, "Four");
    const tdm_turn_kind kinds[] = {TDM_TURN_RESUMED, TDM_TURN_WARM, TDM_TURN_FIRST, TDM_TURN_FIRST};
    for (int i = 0; i < 4; i++) CHECK_INT(kinds[i], p.stats[i].kind);
    tdm_chat_close(c);
}

TEST(loading_beside_a_reply_changes_nothing)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    const tdm_node nodes[] = {{.node = 1, .role = TDM_USER, .text = "Hello", .length = 5}};
    played_send(c, "One");
    CHECK_INT(TDM_E_BUSY, tdm_chat_load(c, "S", 1, nodes, 1, 1, 0, &err));
    CHECK(tdm_chat_nodes(c, TDM_FRONT) >= 1);
    played_until(c, &p, 1);
    CHECK_INT(20, p.stats[0].reply_tokens);
    CHECK_INT(2, tdm_chat_nodes(c, TDM_FRONT));
    tdm_chat_close(c);
}

/* No file that a chat saved has such conversations. */
TEST(a_loaded_reply_without_its_message_is_not_continued)
{
    static struct played p;
    const tdm_node nodes[] = {
        {.role = TDM_ASSISTANT, .text = "Good day", .length = 8, .finish = TDM_FINISH_STOPPED},
        {.role = TDM_USER, .text = "Hello", .length = 5},
        {.parent = 2, .role = TDM_ASSISTANT, .text = "Good", .length = 4, .finish = TDM_FINISH_STOPPED},
        {.parent = 3, .role = TDM_ASSISTANT, .text = "day", .length = 3, .finish = TDM_FINISH_STOPPED}};
    for (int dropped = 0; dropped < 2; dropped++) {
        tdm_chat *c = played_begin(&p);
        REQUIRE(c);
        tdm_chat_options o;
        tdm_chat_options_of(c, &o);
        o.on_full = dropped ? TDM_FULL_DROP_OLDEST : TDM_FULL_STOP;
        CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
        CHECK(tdm_chat_load(c, "", 0, nodes, 1, 1, 0, &err) == TDM_OK);
        CHECK_INT(TDM_E_REFUSED, tdm_chat_continue(c, &err));
        CHECK(tdm_chat_load(c, "S", 1, nodes, 1, 1, 0, &err) == TDM_OK);
        CHECK_INT(TDM_E_REFUSED, tdm_chat_continue(c, &err));
        static char longer[8000];
        memset(longer, 'x', sizeof longer - 1);
        tdm_node full[4];
        memcpy(full, nodes, sizeof full);
        full[3].text = longer;
        full[3].length = strlen(longer);
        CHECK(tdm_chat_load(c, "", 0, full, 4, 4, 0, &err) == TDM_OK);
        CHECK_INT(TDM_E_CONTEXT, tdm_chat_continue(c, &err));
        tdm_chat_close(c);
    }
}

TEST(a_message_sent_while_decoding_is_queued_and_can_cut)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    played_limit(c, 20, 100); /* slow enough for what is sent meanwhile */
    played_send(c, "One");
    played_send(c, "Two");
    played_send(c, "and a half");
    played_until(c, &p, 2);
    CHECK_INT(TDM_TURN_MARK_QUEUED, p.stats[1].mark);
    tdm_node node;
    int path[8];
    REQUIRE(tdm_chat_path(c, TDM_FRONT, path, 8) == 4);
    REQUIRE(tdm_chat_node(c, TDM_FRONT, path[2], &node, &err) == TDM_OK);
    CHECK_STR("Two\nand a half", node.text);
    tdm_node_free(&node);

    played_limit(c, 400, 100);
    played_send(c, "Three");
    played_send(c, "Four");
    tdm_chat_send_now(c, clock_ns());
    played_until(c, &p, 3);
    CHECK_INT(TDM_FINISH_STOPPED, p.finish[2]);
    usleep(1000);
    tdm_chat_stop(c, TDM_FRONT);
    played_until(c, &p, 4);
    CHECK_INT(TDM_TURN_MARK_CUT, p.stats[3].mark);
    tdm_chat_close(c);
}

/* Hashes of the reply that a conversation ends with, told by its text. */
static char *last_text(tdm_chat *c)
{
    int path[32];
    tdm_node node;
    int n = tdm_chat_path(c, TDM_FRONT, path, 32);
    if (n < 1 || tdm_chat_node(c, TDM_FRONT, path[n - 1], &node, &err)) return NULL;
    char *text = strdup(node.text);
    tdm_node_free(&node);
    return text;
}

TEST(an_answer_has_a_length_of_its_own)
{
    static struct played p;
    tdm_chat_options o;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    tdm_chat_options_of(c, &o);
    o.max_answer_tokens = 7;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    played_say(c, &p, "Tell me");
    CHECK_INT(TDM_FINISH_LENGTH, p.finish[0]);
    CHECK_INT(7, p.stats[0].reply_tokens);
    o.think = true; /* and this model does not end its thoughts */
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    played_say(c, &p, "And now?");
    CHECK_INT(o.max_tokens, p.stats[1].reply_tokens);
    tdm_chat_close(c);
}

TEST(stop_and_continue_give_the_whole_reply)
{
    static struct played p, q;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    played_say(c, &p, "Tell me");
    char *whole = last_text(c);
    tdm_chat_close(c);

    c = played_begin(&q);
    REQUIRE(c);
    played_limit(c, 7, 0);
    played_say(c, &q, "Tell me");
    CHECK_INT(TDM_FINISH_LENGTH, q.finish[0]);
    played_limit(c, 13, 0);
    CHECK(tdm_chat_continue(c, &err) == TDM_OK);
    played_until(c, &q, 2);
    char *both = last_text(c);
    CHECK_STR(whole, both);
    CHECK(tdm_chat_continue(c, &err) == TDM_OK);
    played_until(c, &q, 3);
    tdm_chat_close(c);
    free(whole);
    free(both);
}

/* With and without thinking: what was loaded stays the beginning of what is there. */
TEST(a_loaded_reply_can_be_continued_twice)
{
    for (int thinks = 0; thinks < 2; thinks++) {
        static struct played p;
        p = (struct played){0};
        tdm_chat *c = played_begin(&p);
        REQUIRE(c);
        const tdm_node nodes[] = {{.node = 1, .role = TDM_USER, .text = "Hello", .length = 5},
                                  {.node = 2,
                                   .parent = 1,
                                   .role = TDM_ASSISTANT,
                                   .text = "Good day to",
                                   .length = 11,
                                   .finish = TDM_FINISH_LENGTH,
                                   .thinking = thinks ? "Hm." : NULL,
                                   .thinking_length = thinks ? 3 : 0}};
        CHECK(tdm_chat_load(c, "", 0, nodes, 2, 2, 0, &err) == TDM_OK);
        played_limit(c, 6, 0);
        size_t before = 11;
        for (int turn = 1; turn <= 3; turn++) {
            CHECK(tdm_chat_continue(c, &err) == TDM_OK);
            played_until(c, &p, turn);
            tdm_node node;
            CHECK(tdm_chat_node(c, TDM_FRONT, 2, &node, &err) == TDM_OK);
            CHECK(!strncmp(node.text, "Good day to", 11));
            CHECK(node.length > before);
            CHECK_STR(thinks ? "Hm." : "", node.thinking ? node.thinking : "");
            before = node.length;
            tdm_node_free(&node);
        }
        tdm_chat_close(c);
    }
}

TEST(a_failed_dispatch_is_told_and_survived)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    played_say(c, &p, "One");
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    c->reader.fail_dispatches = 1;
    played_say(c, &p, "Two");
    CHECK(strstr(p.errors, "PREFILL failed"));
    CHECK_INT(20, p.stats[1].reply_tokens);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS)); /* all but the next message is read */
    c->reader.fail_dispatches = 100;
    played_say(c, &p, "Three");
    CHECK_INT(TDM_FINISH_FAILED, p.finish[2]);
    tdm_chat_status now;
    /* A draft is read ahead, which fails as well: the unit rests and says so. */
    CHECK(tdm_chat_set_draft(c, "Four", 4, false, &err) == TDM_OK);
    for (int i = 0; i < 60000; i++) {
        tdm_chat_status_of(c, &now);
        if (now.prefill_failed) break;
        usleep(1000);
    }
    CHECK(now.prefill_failed && !now.no_checkpoints);
    c->reader.fail_dispatches = 0;
    played_say(c, &p, "Four");
    CHECK_INT(20, p.stats[3].reply_tokens);
    tdm_chat_status_of(c, &now);
    CHECK(!now.prefill_failed);
    tdm_chat_close(c);
}

TEST(no_memory_for_checkpoints_is_told)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    tdm_chat_options o;
    tdm_chat_status now;
    tdm_chat_options_of(c, &o);
    o.checkpoint_bytes = 1;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    played_say(c, &p, "One");
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
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
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    played_say(c, &p, played_lines[0]);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    REQUIRE(tdm_chat_save_state(c, path, &err) == TDM_OK);
    int ids[4], n = tdm_chat_path(c, TDM_FRONT, ids, 4);
    tdm_node nodes[2] = {0};
    REQUIRE(n == 2);
    for (int i = 0; i < 2; i++) REQUIRE(tdm_chat_node(c, TDM_FRONT, ids[i], &nodes[i], &err) == TDM_OK);
    played_say(c, &p, played_lines[1]);
    tdm_chat_close(c);

    c = played_open(TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    REQUIRE(c);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS)); /* the opening of the first user turn is read by itself */
    uint64_t before = c->reader.follower.figures.evaluated;
    REQUIRE(tdm_chat_load_state(c, path, &err) == TDM_OK);
    REQUIRE(tdm_chat_load(c, "", 0, nodes, 2, 2, 0, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    CHECK_INT(before, c->reader.follower.figures.evaluated);
    played_say(c, &q, played_lines[1]);
    CHECK(p.stats[1].ids_hash == q.stats[0].ids_hash && p.stats[1].logits_hash == q.stats[0].logits_hash);
    CHECK(truncate(path, 1000) == 0);
    CHECK(tdm_chat_load_state(c, path, &err) < 0);
    played_say(c, &q, played_lines[2]);
    CHECK_INT(20, q.stats[1].reply_tokens);
    tdm_chat_close(c);
    for (int i = 0; i < 2; i++) tdm_node_free(&nodes[i]);
}

enum { SMALL = 512 };

/* With a context that is soon full. */
static tdm_chat *begin_small(struct played *p)
{
    uint32_t before = talk_context;
    talk_context = SMALL;
    tdm_chat *c = played_begin(p);
    talk_context = before;
    return c;
}

TEST(a_full_context_is_told)
{
    static struct played p;
    tdm_chat *c = begin_small(&p);
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
    static char huge[200000]; /* more bytes than so many tokens can have: not even counted */
    memset(huge, 'x', sizeof huge - 1);
    CHECK(tdm_chat_set_draft(c, huge, strlen(huge), false, &err) == TDM_OK);
    tdm_chat_status_of(c, &status);
    CHECK_INT(TDM_MARK_TOO_LONG, status.mark);
    CHECK_INT(0, status.draft_tokens);
    CHECK(status.context_used < status.context_size);
    played_say(c, &p, "short");
    CHECK_INT(20, p.stats[0].reply_tokens);
    CHECK_INT(TDM_E_CONTEXT, tdm_chat_send(c, longer, strlen(longer), clock_ns(), &err));
    CHECK(strstr(err.text, "the message is too long")); /* whatever was said before */

    played_limit(c, 0, 0);
    played_say(c, &p, "until the end");
    CHECK_INT(TDM_FINISH_CONTEXT, p.finish[1]);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    tdm_chat_status_of(c, &status);
    CHECK_INT(status.context_size, status.context_used); /* what would close the reply is not in it */
    CHECK_INT(TDM_E_CONTEXT, tdm_chat_send(c, "more", 4, clock_ns(), &err));
    CHECK(strstr(err.text, "the context is full"));
    err.text[0] = 0;
    CHECK_INT(TDM_E_CONTEXT, tdm_chat_continue(c, &err)); /* nothing follows it that could stand alone */
    CHECK(strstr(err.text, "the context is full"));
    tdm_chat_close(c);
}

TEST(four_fifths_of_the_context_are_told_once)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    played_limit(c, 60, 0);
    int turns = 0;
    char line[80] = "";
    while (!p.notices[0] && turns < 15 && !check_failures) {
        played_send(c, "on and on");
        played_until(c, &p, ++turns);
        const tdm_turn_stats *s = &p.stats[turns - 1];
        uint32_t used = s->prompt_tokens + s->reply_tokens; /* how long replies are depends on the processor */
        CHECK((used >= 1024 / 5 * 4) == (p.notices[0] != 0));
        snprintf(line, sizeof line, "the context is %u %% full: %u of 1024 tokens", used * 100 / 1024, used);
    }
    CHECK(strstr(p.notices, line));
    size_t told = strlen(p.notices);
    played_limit(c, 5, 0);
    played_say(c, &p, "and on");
    CHECK_INT(told, strlen(p.notices));
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

/* The conversation without its oldest turns is another prompt: it is read from its beginning, and how far that has got
 * is told. */
TEST(the_oldest_turns_are_dropped_with_progress)
{
    static struct played p;
    tdm_chat *c = begin_small(&p);
    REQUIRE(c);
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.max_tokens = 120;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    int turns = 0;
    do {
        played_send(c, "go on");
        played_until(c, &p, ++turns);
    } while (p.finish[turns - 1] == TDM_FINISH_LENGTH && turns < 12 && !check_failures);
    CHECK_INT(TDM_FINISH_CONTEXT, p.finish[turns - 1]); /* no prompt fits any more */
    o.on_full = TDM_FULL_DROP_OLDEST;
    o.dispatch = 1; /* so that it takes a while */
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    played_send(c, "go on");
    tdm_chat_status s;
    uint32_t done = 0, total = 0, looks = 0;
    for (tdm_chat_status_of(c, &s); s.phase == TDM_PHASE_READING; tdm_chat_status_of(c, &s)) {
        CHECK(s.reading_done <= s.reading_total && s.reading_done >= done);
        looks += s.reading_done > done;
        done = s.reading_done;
        total = s.reading_total;
        usleep(100); /* who sleeps is let in among busy threads; who asks without end waits for its turn */
    }
    played_until(c, &p, ++turns);
    CHECK_INT(TDM_FINISH_LENGTH, p.finish[turns - 1]);
    CHECK_INT(p.stats[turns - 1].after_enter, total);
    CHECK(looks > 2);
    CHECK(p.stats[turns - 1].prompt_tokens <= SMALL / 4 * 3);
    CHECK(strstr(p.notices, "messages are left out"));
    CHECK_INT(2 * turns, tdm_chat_path(c, TDM_FRONT, NULL, 0)); /* they are still in the conversation */
    CHECK_STR("", p.errors);
    tdm_chat_close(c);
}

TEST(cold_compares_with_every_pipeline)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    for (int i = 0; i < 2; i++) {
        played_say(c, &p, played_lines[i]);
    }
    for (int k = 0; k < TDM_PIPELINES; k++) { /* tandem first: nothing but this asks it for a prompter */
        REQUIRE(tdm_chat_cold(c, (tdm_pipeline)k, &err) == TDM_OK);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
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
TEST(a_cold_prompt_that_has_grown_beyond_the_context_is_refused)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    static char longer[8000];
    memset(longer, 'x', sizeof longer - 1);
    played_say(c, &p, "One");
    CHECK(tdm_chat_set_system(c, longer, strlen(longer), &err) == TDM_OK);
    CHECK_INT(TDM_E_CONTEXT, tdm_chat_cold(c, TDM_PIPE_SINGLE, &err));
    CHECK(tdm_chat_set_system(c, "", 0, &err) == TDM_OK);
    CHECK(tdm_chat_cold(c, TDM_PIPE_SINGLE, &err) == TDM_OK);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    tdm_chat_close(c);
}

TEST(a_chat_works_on_when_the_one_before_it_closes)
{
    static struct played p;
    tdm_chat *before = played_begin(&p);
    REQUIRE(before);
    played_send(before, played_lines[0]);
    tdm_chat *c = played_open(TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    tdm_chat_close(before);
    REQUIRE(c);
    played_say(c, &p, played_lines[0]);
    CHECK_INT(20, p.stats[0].reply_tokens);
    tdm_chat_close(c);
}

/* A next one that can't take the conversation over, say: the one before goes on where it was, also within a reply. */
TEST(a_chat_has_the_units_back_when_the_next_one_closes)
{
    static struct played p;
    tdm_chat *c = played_begin(&p);
    REQUIRE(c);
    played_limit(c, 20, 400);
    played_send(c, played_lines[0]);
    tdm_chat *next = played_open(TDM_PIPE_TANDEM, TDM_SPEC_FULL), *last = played_open(TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    REQUIRE(next && last);
    tdm_chat_close(next); /* it had lost them already */
    tdm_chat_close(last);
    played_until(c, &p, 1);
    CHECK_INT(20, p.stats[0].reply_tokens);
    played_say(c, &p, played_lines[1]);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
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
        tdm_chat *c = played_open(TDM_PIPE_TANDEM, (tdm_speculation)level);
        REQUIRE(c);
        played_say(c, &p, played_lines[0]);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        tdm_chat_status_of(c, &s);
        CHECK(s.context_used >= 20 && s.context_used < 200);
        tdm_chat_clear(c);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        tdm_chat_status_of(c, &s);
        CHECK(s.context_used < 10);
        tdm_chat_close(c);
    }
}

TEST_MAIN(T(pipelines_and_levels_give_the_same_bits), T(a_warm_turn_evaluates_nothing_after_enter),
          T(a_turn_begins_with_its_enter), T(the_status_and_the_record_of_a_turn_agree),
          T(the_record_of_a_turn_adds_up_in_every_pipeline), T(a_reply_has_one_rate_from_its_first_token_to_its_last),
          T(the_first_turn_after_loading_is_resumed), T(loading_beside_a_reply_changes_nothing),
          T(a_loaded_reply_without_its_message_is_not_continued),
          T(a_message_sent_while_decoding_is_queued_and_can_cut), T(an_answer_has_a_length_of_its_own),
          T(stop_and_continue_give_the_whole_reply), T(a_loaded_reply_can_be_continued_twice),
          T(a_failed_dispatch_is_told_and_survived), T(no_memory_for_checkpoints_is_told),
          T(a_saved_state_resumes_without_prefill), T(a_full_context_is_told),
          T(four_fifths_of_the_context_are_told_once), T(the_oldest_turns_are_dropped_with_progress),
          T(cold_compares_with_every_pipeline), T(a_cold_prompt_that_has_grown_beyond_the_context_is_refused),
          T(a_chat_works_on_when_the_one_before_it_closes), T(a_chat_has_the_units_back_when_the_next_one_closes),
          T(the_context_used_is_told_at_every_level))
