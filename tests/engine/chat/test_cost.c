/* What it costs to change one's mind, counted in tokens that the follower evaluates; and that no call of the front end
 * waits for a unit. */
#include "tests/check.h"

#include <pthread.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "tests/engine/chat/talk.h"

static tdm_error err;
static struct talk talk;

static void say(const char *text)
{
    if (tdm_chat_send(talk.chat, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
}

static void draft(const char *text)
{
    CHECK(tdm_chat_set_draft(talk.chat, text, strlen(text), false, &err) == TDM_OK);
}

/* Rests, and says how many tokens were evaluated since the last call. */
static uint32_t spent(void)
{
    static uint64_t before;
    CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
    uint64_t now = talk.chat->reader.follower.figures.evaluated, since = now - before;
    before = now;
    return (uint32_t)since;
}

/* A chat of so many turns, each typed with a rest before Enter. */
static bool open_talk(int turns, tdm_chat_options *o)
{
    if (!talk_open(&talk, NULL, 0, o)) return false;
    for (int i = 0; i < turns; i++) {
        char text[80];
        snprintf(text, sizeof text, "Message number %d, about %s", i, i % 2 ? "cats and dogs" : "this");
        draft(text);
        CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
        say(text);
        talk_until(&talk, i + 1);
    }
    spent();
    return true;
}

static void limit(int max_tokens, double pace_tps)
{
    tdm_chat_options o;
    tdm_chat_options_of(talk.chat, &o);
    o.max_tokens = max_tokens;
    o.pace_tps = pace_tps;
    CHECK(tdm_chat_configure(talk.chat, &o, &err) == TDM_OK);
}

TEST(any_past_message_is_gone_back_to_for_nothing)
{
    enum { TURNS = 6 };
    int path[2 * TURNS];
    REQUIRE(open_talk(TURNS, NULL));
    REQUIRE(tdm_chat_path(talk.chat, TDM_FRONT, path, 2 * TURNS) == 2 * TURNS);
    for (int i = TURNS - 1; i >= 0; i--) {
        CHECK(tdm_chat_edit(talk.chat, path[2 * i], &err) == TDM_OK);
        CHECK_INT(0, spent());
    }
    CHECK(tdm_chat_edit(talk.chat, 0, &err) == TDM_OK);
    CHECK_INT(0, spent());
    for (int i = 0; i < TURNS; i++) CHECK(tdm_chat_undo(talk.chat, &err) == TDM_OK);
    for (int i = 0; i < TURNS; i++) CHECK(tdm_chat_redo(talk.chat, &err) == TDM_OK);
    CHECK_INT(0, spent());
    /* Another message in one's place costs itself and its reply. */
    for (int i = TURNS - 1; i >= 0; i -= 2) {
        CHECK(tdm_chat_edit(talk.chat, path[2 * i], &err) == TDM_OK);
        draft("Another one");
        uint32_t typed = spent();
        CHECK_INT(talk.chat->reader.target.n - talk.chat->reader.target.history, typed);
        int ended = talk.n;
        say("Another one");
        talk_until(&talk, ended + 1);
        CHECK_INT(0, talk.turns[ended].stats.after_enter);
        const tdm_turn_stats *s = &talk.turns[ended].stats;
        CHECK(spent() <= talk.chat->reader.target.n - (s->prompt_tokens - s->turn_tokens));
        CHECK(tdm_chat_select(talk.chat, path[2 * TURNS - 1], &err) == TDM_OK);
        CHECK_INT(0, spent());
    }
    CHECK_STR("", talk.errors);
    talk_close(&talk);
}

/* A key, a paste and a deletion in the middle of a long draft: what stands before the place is not read again, but for
 * the part of the dispatch that the place is in. */
TEST(a_change_within_the_draft_costs_what_follows_it)
{
    REQUIRE(open_talk(1, NULL));
    static char text[400], changed[600];
    for (int i = 0; i < 40; i++) sprintf(text + strlen(text), "w%d is, ", i);
    static const char *const pieces[] = {"x", "pasted words, two lines\n", "e\xcc\x81", "\xe4\xbd\xa0\xe5\xa5\xbd"};
    uint32_t dispatch = talk.chat->reader.follower.dispatch;
    for (int i = 0; i < 8; i++) {
        size_t at = strlen(text) * (size_t)(8 - i) / 9;
        draft(text);
        spent();
        struct target *t = &talk.chat->reader.target;
        uint32_t n = t->n;
        tdm_id *whole = malloc(n * sizeof *whole);
        memcpy(whole, t->ids, n * sizeof *whole);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)at, text, pieces[i % 4], text + at);
        draft(changed);
        uint32_t cost = spent(), same = target_common_prefix(t, whole, n);
        CHECK(same > t->history && same < n - 9);
        if (cost > t->n - same + dispatch) CHECK_FAIL("place %d: %u evaluated, %u changed", i, cost, t->n - same);
        free(whole);
    }
    CHECK_STR("", talk.errors);
    talk_close(&talk);
}

/* Copies go to memory that was touched before, also those that are made while the user types. */
TEST(memory_lies_ready_between_two_keys)
{
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    tdm_chat_options o = talk_options(m);
    o.pause_ms = 60000;
    REQUIRE(open_talk(0, &o));
    struct pool *pool = talk.chat->side[TDM_PREFILL_UNIT].pool;
    static struct state *taken[2000];
    int n = 0;
    for (int i = 0; i < 3 && !check_failures; i++) {
        draft("");
        CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
        while (n < 2000 && pool_stats(pool).free_buffers > 0) CHECK(state_new(&taken[n++], pool, &err) == TDM_OK);
        char text[40];
        /* Its first dispatch takes no buffer, so that none comes that way. */
        snprintf(text, sizeof text, "%d more words", i);
        draft(text);
        bool ready = false;
        for (int still = 0; still < 3000 && !ready; still++) {
            struct pool_stats s = pool_stats(pool);
            ready = s.free_buffers >= READY_BUFFERS && s.free_pages >= READY_PAGES;
            usleep(1000);
        }
        CHECK(ready);
    }
    CHECK(n > 3 && n < 2000);
    while (n > 0) state_free(taken[--n]);
    draft("");
    talk_close(&talk);
}

/* The thoughts are shown, and not a part of what is read for the next turn. */
TEST(a_thinking_reply_is_followed_without_its_thoughts)
{
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    tdm_chat_options o = talk_options(m);
    o.think = true;
    o.max_tokens = 60;
    o.max_answer_tokens = 5; /* without the thoughts */
    REQUIRE(open_talk(0, &o));
    draft("Think about it");
    spent();
    say("Think about it");
    talk_until(&talk, 1);
    uint32_t cost = spent();
    const tdm_turn_stats *s = &talk.turns[0].stats;
    CHECK_INT(60, s->reply_tokens);
    CHECK_INT(60, s->thinking_tokens); /* this model does not end them */
    int path[2];
    tdm_node node;
    REQUIRE(tdm_chat_path(talk.chat, TDM_FRONT, path, 2) == 2 &&
            tdm_chat_node(talk.chat, TDM_FRONT, path[1], &node, &err) == TDM_OK);
    CHECK(node.thinking_length > 60 && node.length == 0);
    /* The end of the prompt in its past form, the empty reply's end and the next turn's opening. */
    tdm_message messages[] = {{.role = TDM_USER, .text = "Think about it", .length = 14},
                              {.role = TDM_ASSISTANT, .text = "", .thinking = node.thinking,
                               .thinking_length = node.thinking_length},
                              {.role = TDM_USER, .text = "x", .length = 1}};
    tdm_ids past = {0};
    CHECK(tdm_render(m, messages, 3, &(tdm_render_options){.think = TDM_THINK_ON}, &past, NULL, &err) == TDM_OK);
    CHECK_INT(talk.chat->reader.target.n, target_common_prefix(&talk.chat->reader.target, past.ids, (uint32_t)past.n));
    CHECK(cost <= talk.chat->reader.target.n - (s->prompt_tokens - s->turn_tokens) && cost < 60);
    tdm_ids_free(&past);
    tdm_node_free(&node);
    talk_close(&talk);
}

TEST(a_reply_that_is_ended_costs_no_more_than_itself)
{
    REQUIRE(open_talk(2, NULL));
    for (int i = 0; i < 6; i++) {
        limit(400, 400);
        int ended = talk.n;
        uint32_t read = talk.chat->reader.target.n;
        say("Go on");
        usleep(3000 + 9000 * (useconds_t)i);
        if (i % 2) {
            say("No, stop");
            limit(8, 400);
            tdm_chat_send_now(talk.chat, clock_ns());
            talk_until(&talk, ended + 2);
            CHECK_INT(TDM_TURN_MARK_CUT, talk.turns[ended + 1].stats.mark);
        } else {
            tdm_chat_stop(talk.chat, TDM_FRONT);
            talk_until(&talk, ended + 1);
        }
        CHECK_INT(TDM_FINISH_STOPPED, talk.turns[ended].finish);
        /* All that is new once, and of what was sent without a rest the suffixes in their other form. */
        uint32_t cost = spent(), fresh = talk.chat->reader.target.n - read;
        CHECK(cost >= fresh && cost <= fresh + 2 * talk.chat->reader.follower.dispatch);
    }
    CHECK_STR("", talk.errors);
    talk_close(&talk);
}

/* Keys and values of another type on either side: the state goes over the bridge, timed; of the same: hand over in
 * memory, and the same bits in every pipeline. */
TEST(every_pair_of_key_value_types)
{
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    static const tdm_pipeline pipelines[] = {TDM_PIPE_SINGLE, TDM_PIPE_TANDEM, TDM_PIPE_BATCH, TDM_PIPE_SLOTS};
    for (int kv = TDM_KV_F32; kv <= TDM_KV_Q8_0; kv++) {
        for (int prefill = TDM_KV_F32; prefill <= TDM_KV_Q8_0; prefill++) {
            struct talk_turn single = {0};
            for (int i = 0; i < 4 && !check_failures; i++) {
                tdm_chat_options o = talk_options(m);
                o.kv = (tdm_kv)kv;
                o.prefill_kv = (tdm_kv)prefill;
                o.pipeline = pipelines[i];
                o.bridge = (kv + prefill) % 2 ? TDM_BRIDGE_DIRECT : TDM_BRIDGE_BYTES;
                REQUIRE(open_talk(2, &o));
                CHECK_INT(2, talk.n);
                const tdm_turn_stats *s = &talk.turns[1].stats;
                bool bridge = i > 1 || (i == 1 && kv != prefill);
                bool bytes = bridge && o.bridge == TDM_BRIDGE_BYTES;
                CHECK_INT(bytes, s->save_ms > 0 && s->read_ms > 0 && s->restore_ms > 0);
                if (i != 1) CHECK_INT(bridge && !bytes, s->copy_ms > 0); /* the follower's crosses ahead of Enter */
                CHECK_INT(8, s->reply_tokens);
                if (i == 0) single = talk.turns[1];
                if (kv == prefill)
                    CHECK(s->ids_hash == single.stats.ids_hash && s->logits_hash == single.stats.logits_hash);
                CHECK_STR("", talk.errors);
                talk_close(&talk);
            }
        }
    }
}

/* ---- What the front end waits for ------------------------------------------------------------------------------- */

static atomic_int held;
static atomic_bool let_go;

static void hold(void *ctx, struct team *team, struct activity_span *span)
{
    (void)ctx;
    (void)team;
    (void)span;
    atomic_fetch_add(&held, 1);
    while (!atomic_load(&let_go)) usleep(100);
}

static void *hold_unit(void *unit)
{
    unit_call(unit, &(struct work){.fn = hold});
    return NULL;
}

/* With both units in jobs that do not end, everything that the front end may ask for is done all the same. */
TEST(no_call_of_the_front_end_waits_for_a_unit)
{
    REQUIRE(open_talk(2, NULL));
    tdm_machine_set_lending(talk_machine(0), false); /* each unit has its own cores in its job */
    pthread_t threads[TDM_UNITS];
    for (int u = 0; u < TDM_UNITS; u++)
        pthread_create(&threads[u], NULL, hold_unit, talk_machine(0)->units[u]);
    int both = tdm_machine_cores(talk_machine(0)) > 1 ? 2 : 1; /* on one core they take turns */
    while (atomic_load(&held) < both) usleep(100);

    tdm_chat *c = talk.chat;
    tdm_chat_status status;
    tdm_chat_options o;
    tdm_node node;
    int path[8];
    draft("typed while nothing moves");
    tdm_chat_status_of(c, &status);
    CHECK(status.behind > 0);
    tdm_chat_options_of(c, &o);
    o.think = !o.think;
    CHECK(tdm_chat_configure(c, &o, &err) == TDM_OK);
    CHECK_INT(4, tdm_chat_path(c, TDM_FRONT, path, 8));
    CHECK(tdm_chat_node(c, TDM_FRONT, path[3], &node, &err) == TDM_OK);
    tdm_node_free(&node);
    CHECK(tdm_chat_edit(c, path[0], &err) == TDM_OK);
    CHECK(tdm_chat_edit(c, 0, &err) == TDM_OK);
    CHECK(tdm_chat_undo(c, &err) == TDM_OK && tdm_chat_redo(c, &err) == TDM_OK);
    CHECK(tdm_chat_select(c, path[3], &err) == TDM_OK);
    CHECK(tdm_chat_set_system(c, "Be brief.", 9, &err) == TDM_OK);
    say("Sent");
    say("Queued");
    tdm_chat_status_of(c, &status);
    CHECK(status.phase == TDM_PHASE_READING && status.queued);
    free(tdm_chat_unqueue(c));
    say("Queued again");
    tdm_chat_send_now(c, clock_ns());
    tdm_chat_stop(c, TDM_FRONT);
    CHECK(tdm_chat_regenerate(c, clock_ns(), &err) == TDM_OK);
    tdm_chat_clear(c);
    CHECK_INT(0, tdm_chat_path(c, TDM_FRONT, path, 8));
    talk_events(&talk);
    CHECK(!tdm_chat_wait_idle(c, 1));
    atomic_store(&let_go, true);
    for (int u = 0; u < TDM_UNITS; u++) pthread_join(threads[u], NULL);
    tdm_machine_set_lending(talk_machine(0), true);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    CHECK_STR("", talk.errors);
    talk_close(&talk);
}

/* The jobs that the chat gives its units, held before they do anything. */
static atomic_bool holding;
static atomic_int jobs_held;
static struct work held_work[TDM_UNITS];

static void held_job(void *ctx, struct team *team, struct activity_span *span)
{
    struct work *work = ctx;
    atomic_fetch_add(&jobs_held, 1);
    while (atomic_load(&holding)) usleep(100);
    work->fn(work->ctx, team, span);
}

static int64_t hold_work(int unit, int64_t when, struct work *work)
{
    if (when != UNIT_WORK) return when;
    held_work[unit] = *work;
    work->fn = held_job;
    work->ctx = &held_work[unit];
    return when;
}

static int64_t next_held_prefill(void *chat, int64_t now_ns, struct work *work)
{
    return hold_work(TDM_PREFILL_UNIT, talk.chat->client.next[TDM_PREFILL_UNIT](chat, now_ns, work), work);
}

static int64_t next_held_decode(void *chat, int64_t now_ns, struct work *work)
{
    return hold_work(TDM_DECODE_UNIT, talk.chat->client.next[TDM_DECODE_UNIT](chat, now_ns, work), work);
}

static void hold_jobs(tdm_chat *c)
{
    atomic_store(&jobs_held, 0);
    atomic_store(&holding, true);
    unit_set_source(c->machine->units[TDM_PREFILL_UNIT], next_held_prefill, c);
    unit_set_source(c->machine->units[TDM_DECODE_UNIT], next_held_decode, c);
}

static void until_held(void)
{
    for (int still = 0; atomic_load(&jobs_held) == 0 && still < 600000; still++) usleep(100);
    CHECK(atomic_load(&jobs_held) > 0);
}

static const char *wrong_words(int i)
{
    static char text[1200];
    sprintf(text, "%d", i);
    while (strlen(text) < 600) strcat(text, " wrong words");
    return text;
}

/* A dispatch that is no longer wanted is dropped, and nothing of it stays. */
TEST(what_is_no_longer_wanted_is_cancelled)
{
    REQUIRE(open_talk(1, NULL));
    const char *kept = "so be it";
    draft(kept);
    spent();
    uint32_t n = talk.chat->reader.target.n;
    hold_jobs(talk.chat);
    for (int i = 0; i < 100 && talk.chat->reader.follower.figures.cancelled < 5; i++) { /* at their beginning */
        atomic_store(&jobs_held, 0);
        atomic_store(&holding, true);
        draft(wrong_words(i));
        until_held();
        draft(kept);
        atomic_store(&holding, false);
        CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
    }
    for (int i = 0; i < 100; i++) { /* anywhere, where the unit has begun */
        draft(wrong_words(100 + i));
        usleep(200 + 37 * (useconds_t)(i % 30));
        draft(kept);
    }
    CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
    CHECK(talk.chat->reader.follower.figures.cancelled >= 5);
    CHECK_INT(n, talk.chat->reader.target.n);
    say(kept);
    talk_until(&talk, 2);
    CHECK_INT(0, talk.turns[1].stats.after_enter);
    struct talk_turn first = talk.turns[1];
    talk_close(&talk);
    REQUIRE(open_talk(1, NULL));
    say(kept);
    talk_until(&talk, 2);
    CHECK(first.stats.ids_hash == talk.turns[1].stats.ids_hash &&
          first.stats.logits_hash == talk.turns[1].stats.logits_hash);
    talk_close(&talk);
}

static char state_path[256];
static atomic_bool returned;

static void *load_state(void *chat)
{
    CHECK(tdm_chat_load_state(chat, state_path, &err) == TDM_OK);
    atomic_store(&returned, true);
    return NULL;
}

/* Does it return while the chat's jobs are held, within so many seconds? They are let go then. */
static bool returns_while_held(void *(*call)(void *), tdm_chat *c, int seconds)
{
    pthread_t thread;
    atomic_store(&returned, false);
    pthread_create(&thread, NULL, call, c);
    for (int still = 0; !atomic_load(&returned) && still < 10000 * seconds; still++) usleep(100);
    bool in_time = atomic_load(&returned);
    if (!in_time) atomic_store(&holding, false);
    pthread_join(thread, NULL);
    return in_time;
}

/* A state file is read beside the dispatch that runs, and its state serves once that has ended. */
TEST(a_state_file_is_loaded_without_waiting_for_a_dispatch)
{
    REQUIRE(open_talk(2, NULL));
    snprintf(state_path, sizeof state_path, "%s/state", check_tmp());
    REQUIRE(tdm_chat_save_state(talk.chat, state_path, &err) == TDM_OK);
    tdm_node nodes[4] = {0};
    int path[4];
    REQUIRE(tdm_chat_path(talk.chat, TDM_FRONT, path, 4) == 4);
    for (int i = 0; i < 4; i++) REQUIRE(tdm_chat_node(talk.chat, TDM_FRONT, path[i], &nodes[i], &err) == TDM_OK);
    uint32_t history = talk.chat->reader.target.history;
    talk_close(&talk);

    REQUIRE(open_talk(0, NULL));
    hold_jobs(talk.chat);
    draft("Something else, of which a part is being read");
    until_held();
    CHECK(returns_while_held(load_state, talk.chat, 60));
    REQUIRE(tdm_chat_load(talk.chat, "", 0, nodes, 4, 4, 0, &err) == TDM_OK);
    draft("");
    atomic_store(&holding, false);
    CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
    CHECK_INT(history, talk.chat->reader.target.n);
    CHECK_INT(history, follower_in_state(&talk.chat->reader.follower, &talk.chat->reader.target));
    CHECK(talk.chat->reader.follower.figures.evaluated <
          32); /* the dispatch that was held, and nothing of the history */

    /* A file that can't be read changes nothing. */
    CHECK(truncate(state_path, 1000) == 0);
    CHECK(tdm_chat_load_state(talk.chat, state_path, &err) < 0);
    CHECK_INT(history, follower_in_state(&talk.chat->reader.follower, &talk.chat->reader.target));
    CHECK_STR("", talk.errors);
    for (int i = 0; i < 4; i++) tdm_node_free(&nodes[i]);
    talk_close(&talk);
}

static void *send_another(void *chat)
{
    CHECK(tdm_chat_send(chat, "Another", 7, clock_ns(), &err) == TDM_OK);
    atomic_store(&returned, true);
    return NULL;
}

/* Tandem: the next message is sent while the token of the stopped reply, or a dispatch of it, is still running. */
TEST(a_message_after_a_stopped_one_waits_for_no_job)
{
    REQUIRE(open_talk(1, NULL));
    hold_jobs(talk.chat);
    say("To be stopped");
    until_held();
    tdm_chat_stop(talk.chat, TDM_FRONT);
    CHECK(returns_while_held(send_another, talk.chat, 60));
    CHECK_INT(1, atomic_load(&jobs_held));
    atomic_store(&holding, false);
    talk_until(&talk, 3);
    CHECK_INT(8, talk.turns[2].stats.reply_tokens);
    CHECK_STR("", talk.errors);
    talk_close(&talk);
}

static void nothing(void *ctx, struct team *team, struct activity_span *span)
{
    (void)ctx;
    (void)team;
    (void)span;
}

/* A unit counts a job after what the job did can be seen: each does another one first. */
static uint64_t prompt_tokens(void)
{
    uint64_t n = 0;
    for (int u = 0; u < TDM_UNITS; u++) {
        tdm_unit_info unit;
        unit_call(talk_machine(0)->units[u], &(struct work){.fn = nothing});
        tdm_unit_describe(talk_machine(0), u, &unit);
        n += unit.total[TDM_SPAN_PROMPT].tokens;
    }
    return n;
}

/* In the other pipelines for the stopped prompt alone, which evaluates no token to its end any more. */
TEST(a_message_after_a_stopped_prompt_waits_for_a_layer_at_most)
{
    static const tdm_pipeline pipelines[] = {TDM_PIPE_SINGLE, TDM_PIPE_BATCH, TDM_PIPE_SLOTS, TDM_PIPE_SEQUENTIAL};
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    for (int i = 0; i < 4 && !check_failures; i++) {
        tdm_chat_options o = talk_options(m);
        o.pipeline = pipelines[i];
        REQUIRE(open_talk(1, &o));
        uint64_t before = prompt_tokens();
        hold_jobs(talk.chat);
        say("To be stopped");
        until_held();
        tdm_chat_stop(talk.chat, TDM_FRONT);
        atomic_store(&holding, false);
        send_another(talk.chat);
        talk_until(&talk, 3);
        CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
        CHECK_INT(talk.turns[2].stats.prompt_tokens, prompt_tokens() - before);
        CHECK_INT(8, talk.turns[2].stats.reply_tokens);
        CHECK_STR("", talk.errors);
        talk_close(&talk);
    }
}

static void *measure_cold(void *chat)
{
    err = (tdm_error){0};
    CHECK(tdm_chat_cold(chat, TDM_PIPE_SINGLE, &err) == TDM_OK);
    CHECK_STR("", err.text);
    atomic_store(&returned, true);
    return NULL;
}

/* And a cold prompt waits so, too: nothing else is being measured. */
TEST(a_cold_prompt_after_a_stopped_one_waits_for_it)
{
    const tdm_model *m = talk_model(NULL);
    REQUIRE(m);
    tdm_chat_options o = talk_options(m);
    o.pipeline = TDM_PIPE_SINGLE;
    REQUIRE(open_talk(1, &o));
    hold_jobs(talk.chat);
    say("To be stopped");
    until_held();
    tdm_chat_stop(talk.chat, TDM_FRONT);
    REQUIRE(tdm_chat_undo(talk.chat, &err) == TDM_OK);
    CHECK(!returns_while_held(measure_cold, talk.chat, 1));
    CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
    CHECK_STR("", talk.errors);
    talk_close(&talk);
}

TEST_MAIN(T(any_past_message_is_gone_back_to_for_nothing), T(a_change_within_the_draft_costs_what_follows_it),
          T(memory_lies_ready_between_two_keys), T(a_thinking_reply_is_followed_without_its_thoughts),
          T(a_reply_that_is_ended_costs_no_more_than_itself), T(what_is_no_longer_wanted_is_cancelled),
          T(every_pair_of_key_value_types), T(no_call_of_the_front_end_waits_for_a_unit),
          T(a_state_file_is_loaded_without_waiting_for_a_dispatch), T(a_message_after_a_stopped_one_waits_for_no_job),
          T(a_message_after_a_stopped_prompt_waits_for_a_layer_at_most),
          T(a_cold_prompt_after_a_stopped_one_waits_for_it))
