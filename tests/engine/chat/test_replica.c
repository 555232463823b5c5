/* States that cross ahead of Enter, to a decode unit with a memory of its own. Cores that keep keys and values in
 * another type are such a pair, all of it C, so that the thread sanitizer sees it; a GPU is another. Whatever is
 * delayed, cut off, done again or in another order: no token and no logit changes. */
#include "tests/check.h"

#include <semaphore.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "tests/engine/chat/seeded.h"
#include "tests/engine/gpu/rig.h"

static tdm_error err;

/* ---- Random schedules -------------------------------------------------------------------------------------------- */

static tdm_kv kv, prefill_kv;
static tdm_bridge bridge;
static uint64_t budget; /* 0: the default */
static uint64_t fate; /* of the prefill unit's thread alone once a chat is open */
static int meddled;

static void options(tdm_chat_options *o)
{
    o->kv = kv;
    o->prefill_kv = prefill_kv;
    o->bridge = bridge;
    o->checkpoint_bytes = budget;
}

static void meddle(void *ctx, struct replica *r, bool before)
{
    (void)ctx;
    meddled++;
    if (talk_draw(&fate, 3) == 0) usleep(talk_draw(&fate, 1500)); /* late */
    if (!r->state) return;
    switch (talk_draw(&fate, 8)) {
    case 0: /* nothing of it is there */
        state_clear(r->state);
        r->whole = false;
        break;
    case 1: /* all of it crosses again */
        r->foreign = true;
        break;
    case 2: /* the rest does, now or when more has been read */
        r->whole = false;
        break;
    case 3: /* what was on its way was cut off */
        if (before || !r->state->length) break;
        struct state *half;
        if (state_new(&half, r->state->pool, NULL)) abort();
        state_begin_with(half, r->state, r->state->length / KV_PAGE / 2);
        state_free(r->state);
        r->state = half;
        r->whole = false;
        break;
    default:
        break;
    }
}

static void opened(tdm_chat *c)
{
    chat_lock(c);
    c->reader.replica.meddle = meddle;
    chat_unlock(c);
}

/* Conversations of a pair, played without reading ahead, then in ways and moments of all sorts. */
static void play(uint64_t from, uint64_t seeds, uint64_t schedules)
{
    static const struct way plain = {TDM_PIPE_TANDEM, TDM_SPEC_OFF, 32, 0};
    static const struct way ways[] = {
        {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 32, 0}, {TDM_PIPE_TANDEM, -1, 7, 0}, {TDM_PIPE_TANDEM, TDM_SPEC_FULL, 64, 2}};
    static struct talk first, other;
    seeded_options = options;
    for (uint64_t seed = from; seed < from + seeds && !check_failures; seed++) {
        bridge = TDM_BRIDGE_BYTES;
        seeded_opened = NULL;
        seeded_play(&first, NULL, &plain, seed, 1);
        CHECK(first.n > 2);
        bridge = TDM_BRIDGE_DIRECT;
        seeded_opened = opened;
        for (uint64_t i = 0; i < schedules && !check_failures; i++) {
            fate = seed * 1000003 + i + 1;
            const struct way *way = &ways[(i + seed) % 3];
            seeded_play(&other, NULL, way, seed, seed * 1000 + i);
            seeded_compare(&first, &other, "replica", way, seed);
        }
    }
    seeded_options = NULL;
    seeded_opened = NULL;
}

static uint64_t times(uint64_t normally, uint64_t at_length)
{
    return getenv("TANDEM_LONG") ? at_length : check_slow() && normally > 1 ? normally / 2 : normally;
}

TEST(no_schedule_changes_a_token_between_types)
{
    static const tdm_kv types[][2] = {{TDM_KV_F16, TDM_KV_F32}, {TDM_KV_F32, TDM_KV_Q8_0}, {TDM_KV_Q8_0, TDM_KV_F16}};
    meddled = 0;
    for (int i = 0; i < 3 && !check_failures; i++) {
        kv = types[i][0];
        prefill_kv = types[i][1];
        play(1 + (uint64_t)i, times(1, 20), times(3, 33));
    }
    printf("# %d carriages\n", meddled);
    CHECK(meddled > 50);
}

/* Then a turn's own state is lent, also by turns that are given up meanwhile. */
TEST(no_schedule_changes_a_token_where_there_is_no_room_for_a_replica)
{
    kv = TDM_KV_F16;
    prefill_kv = TDM_KV_F32;
    budget = 1;
    meddled = 0;
    play(1, times(1, 20), times(3, 33));
    budget = 0;
    printf("# %d carriages\n", meddled);
    CHECK(meddled > 10);
}

/* In the long form a GPU is either unit, and conversations are longer. */
TEST(no_schedule_changes_a_token_beside_a_gpu)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
#ifdef __SANITIZE_THREAD__
    SKIP("the thread sanitizer does not see what a driver's own code does");
#endif
    static char name[16];
    snprintf(name, sizeof name, "%s", gpu_rig_name());
    kv = prefill_kv = TDM_KV_F16;
    seeded_steps = (int)times(2, 8);
    for (int unit = 0; unit < (int)times(1, TDM_UNITS) && !check_failures; unit++) {
        talk_units[unit] = name;
        play(1, 1, times(1, 33));
        talk_units[unit] = NULL;
    }
    seeded_steps = 8;
}

/* Windows whose pages pass in both memories; with layers that have no keys of their own. In the short form a GPU is the
 * decode unit here, and the prefill unit above. */
TEST(no_schedule_changes_a_token_of_windows_beside_a_gpu)
{
    static const char *const families[] = {"mistral-window", "gemma4-e"};
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
#ifdef __SANITIZE_THREAD__
    SKIP("the thread sanitizer does not see what a driver's own code does");
#endif
    const char *before = talk_path;
    kv = prefill_kv = TDM_KV_F16;
    seeded_steps = (int)times(2, 8);
    for (int unit = (int)times(1, 0); unit < TDM_UNITS && !check_failures; unit++) {
        if (!talk_family(families[unit])) continue;
        talk_units[unit] = gpu_rig_name();
        play(1, 1, times(1, 33));
        talk_units[unit] = NULL;
    }
    seeded_steps = 8;
    talk_path = before;
}

/* ---- Ahead of Enter ---------------------------------------------------------------------------------------------- */

static struct talk talk;
static const char text[] =
    "A message of some length, so that it has more than one page of tokens, all of which are read "
    "ahead of Enter. And one more sentence.";

static bool is_ready(void)
{
    struct tdm_chat *c = talk.chat;
    chat_lock(c);
    bool ready = replica_is_ready(&c->reader.replica, &c->reader.follower);
    chat_unlock(c);
    return ready;
}

static uint32_t pages(void)
{
    struct tdm_chat *c = talk.chat;
    chat_lock(c);
    uint32_t n = c->reader.replica.state ? c->reader.replica.state->length / KV_PAGE : 0;
    chat_unlock(c);
    return n;
}

static bool open_talk(tdm_bridge way)
{
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.prefill_kv = TDM_KV_F32;
    o.bridge = way;
    return talk_open(&talk, NULL, 0, &o);
}

static void type(const char *what)
{
    CHECK(!tdm_chat_set_draft(talk.chat, what, strlen(what), false, &err));
    CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
}

TEST(all_is_there_at_enter)
{
    REQUIRE(open_talk(TDM_BRIDGE_DIRECT));
    for (int turn = 0; turn < 3; turn++) {
        type(text);
        CHECK(is_ready());
        CHECK(!tdm_chat_send(talk.chat, text, strlen(text), clock_ns(), &err));
        talk_until(&talk, turn + 1);
        const tdm_turn_stats *s = &talk.turns[turn].stats;
        CHECK(s->copy_ms == 0 && s->save_ms == 0 && s->after_enter == 0);
    }
    talk_close(&talk);
}

/* The rest of a draft that goes on is of no use; its pages are. Nothing crosses by bytes before Enter. */
TEST(pages_stay_while_a_draft_goes_on)
{
    REQUIRE(open_talk(TDM_BRIDGE_DIRECT));
    type(text);
    uint32_t there = pages();
    CHECK(there > 0 && is_ready());
    char more[sizeof text + 40];
    snprintf(more, sizeof more, "%s And on.", text);
    type(more);
    CHECK(pages() >= there && is_ready());
    type("Another one.");
    CHECK(is_ready());
    talk_close(&talk);
    REQUIRE(open_talk(TDM_BRIDGE_BYTES));
    type(text);
    CHECK(!is_ready() && pages() == 0);
    CHECK(!tdm_chat_send(talk.chat, text, strlen(text), clock_ns(), &err));
    talk_until(&talk, 1);
    CHECK(talk.turns[0].stats.save_ms > 0 && talk.turns[0].stats.copy_ms == 0);
    talk_close(&talk);
}

/* What the other memory has counts with the checkpoints, is given back with them, and does without where the budget is
 * too small: then all of it crosses after Enter. */
TEST(a_replica_has_its_share_of_the_budget)
{
    tdm_chat_status s;
    tdm_chat_options o;
    REQUIRE(open_talk(TDM_BRIDGE_DIRECT));
    type(text);
    tdm_chat_status_of(talk.chat, &s);
    CHECK(s.replica_bytes > 0 && s.checkpoint_bytes > s.replica_bytes && s.checkpoint_bytes <= s.checkpoint_budget);
    CHECK(s.carried_ahead > 0 && s.carried_after == 0 && s.carried_ns > 0);
    uint64_t needs = s.replica_bytes, all = s.checkpoint_budget;
    tdm_chat_options_of(talk.chat, &o);
    o.checkpoint_bytes = needs / 2;
    CHECK(!tdm_chat_configure(talk.chat, &o, &err));
    CHECK(tdm_chat_wait_idle(talk.chat, CHECK_PATIENCE_MS));
    tdm_chat_status_of(talk.chat, &s);
    CHECK(s.replica_bytes == 0 && s.checkpoint_bytes <= needs / 2 && !pages() && !is_ready());
    CHECK(!tdm_chat_send(talk.chat, text, strlen(text), clock_ns(), &err));
    talk_until(&talk, 1);
    CHECK(talk.turns[0].stats.copy_ms > 0 && !pages());
    tdm_chat_status_of(talk.chat, &s);
    CHECK(s.carried_after > 0 && s.replica_bytes == 0);
    o.checkpoint_bytes = all;
    CHECK(!tdm_chat_configure(talk.chat, &o, &err));
    type("And then?");
    CHECK(is_ready());
    tdm_chat_status_of(talk.chat, &s);
    CHECK(s.replica_bytes > 0 && s.checkpoint_budget == all && s.checkpoint_bytes <= all);
    talk_close(&talk);
}

/* Enter with the last key: what is left to read, then the copy, of which the turn tells. */
TEST(what_crosses_after_enter_is_told)
{
    REQUIRE(open_talk(TDM_BRIDGE_DIRECT));
    CHECK(!tdm_chat_send(talk.chat, text, strlen(text), clock_ns(), &err));
    talk_until(&talk, 1);
    const tdm_turn_stats *s = &talk.turns[0].stats;
    CHECK(s->copy_ms > 0 && s->handover_ms >= s->copy_ms && s->save_ms == 0);
    talk_close(&talk);
}

static sem_t copying, sent;
static struct state *written; /* by the first copying, once another message was sent */
static bool kept;

static void wait_for_another(void *ctx, struct replica *r, bool before)
{
    (void)ctx;
    if (!before || written) return;
    written = r->state;
    sem_post(&copying);
    sem_wait(&sent);
    kept = r->state == written;
}

/* Where there is no room for a replica the decoder's state is lent to it. A turn that begins while it is written has
 * another one. */
TEST(a_lent_state_is_not_taken_back_while_it_is_written)
{
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.prefill_kv = TDM_KV_F32;
    o.checkpoint_bytes = 1;
    REQUIRE(talk_open(&talk, NULL, 0, &o));
    sem_init(&copying, 0, 0);
    sem_init(&sent, 0, 0);
    written = NULL;
    talk.chat->reader.replica.meddle = wait_for_another;
    CHECK(!tdm_chat_send(talk.chat, text, strlen(text), clock_ns(), &err));
    sem_wait(&copying);
    CHECK(written);
    tdm_chat_stop(talk.chat, TDM_FRONT);
    CHECK(!tdm_chat_send(talk.chat, "Another.", 8, clock_ns(), &err));
    sem_post(&sent);
    talk_until(&talk, 2);
    CHECK(kept && talk.turns[1].stats.reply_tokens == 8);
    talk_close(&talk);
}

TEST_MAIN(T(no_schedule_changes_a_token_between_types), T(no_schedule_changes_a_token_beside_a_gpu),
          T(no_schedule_changes_a_token_of_windows_beside_a_gpu),
          T(no_schedule_changes_a_token_where_there_is_no_room_for_a_replica), T(all_is_there_at_enter),
          T(pages_stay_while_a_draft_goes_on), T(what_crosses_after_enter_is_told),
          T(a_replica_has_its_share_of_the_budget), T(a_lent_state_is_not_taken_back_while_it_is_written))
