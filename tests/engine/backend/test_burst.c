/* Replies whose tokens come several at once from the device that draws them (fake_gpu.h): the same text, ids and states
 * as token by token, wherever the reply ends, is stopped and continued, and when the device is lost in the middle. */
#include "tests/check.h"

#include "engine/base/clock.h"
#include "engine/chat/chat.h"
#include "engine/object/model.h"
#include "tests/engine/backend/fake_gpu.h"
#include "tests/engine/chat/played.h"

static tdm_error err;
static tdm_machine *machine;

enum { REPLY = 13 };

static tdm_chat_options greedy_options(void)
{
    tdm_chat_options o = talk_options(talk_model(NULL));
    o.sampling = (tdm_sampling){.temperature = 0, .top_p = 1, .repeat_penalty = 1};
    o.hash_logits = false;
    o.max_tokens = REPLY;
    return o;
}

static tdm_chat *open_on(const char *prefill, const char *decode, const tdm_chat_options *o)
{
    tdm_machine_options m = {.prefill_unit = prefill, .decode_unit = decode};
    tdm_chat *c = NULL;
    if (tdm_machine_open(&machine, &m, &err) || tdm_chat_open(&c, talk_model(NULL), machine, o, &err))
        CHECK_FAIL("%s", err.text);
    return c;
}

static void close_all(tdm_chat *c)
{
    tdm_chat_close(c);
    tdm_machine_close(machine);
    machine = NULL;
    fake_gpu_heal();
    fake_gpu_burst(1);
    fake_gpu_interrupt(NULL, NULL);
}

/* Everything that was said in the conversation. */
static void transcript(tdm_chat *c, char *out, size_t size)
{
    int path[32], n = tdm_chat_path(c, TDM_FRONT, path, 32);
    out[0] = 0;
    for (int i = 0; i < n; i++) {
        tdm_node node;
        if (tdm_chat_node(c, TDM_FRONT, path[i], &node, &err)) CHECK_FAIL("%s", err.text);
        size_t at = strlen(out);
        snprintf(out + at, size - at, "%.*s|", (int)node.length, node.text);
        tdm_node_free(&node);
    }
}

struct told {
    char text[4096];
    uint64_t hash[3];
    tdm_finish finish[3];
    uint32_t tokens[3], passes[3];
    int parts; /* that came at once */
    tdm_id ids[REPLY]; /* of the first reply */
};

static void play(struct told *out, const char *prefill, const tdm_chat_options *o, uint32_t burst)
{
    struct played p = {0};
    fake_gpu_heal();
    fake_gpu_burst(burst);
    tdm_chat *c = open_on(prefill, "gpu", o);
    if (!c) return;
    for (int i = 0; i < 3; i++) {
        played_type(c, played_lines[i], 0);
        played_say(c, &p, played_lines[i]);
    }
    CHECK_STR("", p.errors);
    transcript(c, out->text, sizeof out->text);
    for (int i = 0; i < 3; i++) {
        out->hash[i] = p.stats[i].ids_hash;
        out->finish[i] = p.finish[i];
        out->tokens[i] = p.stats[i].reply_tokens;
        out->passes[i] = p.stats[i].passes;
    }
    out->parts = fake_gpu_calls(FAKE_REPLY);
    chat_lock(c);
    const tdm_ids *ids = &c->front->conversation.nodes[2].reply;
    memcpy(out->ids, ids->ids, (ids->n < REPLY ? ids->n : REPLY) * sizeof *ids->ids);
    chat_unlock(c);
    close_all(c);
}

static void compare(const struct told *a, const struct told *b, const char *what)
{
    CHECK_STR(a->text, b->text);
    for (int i = 0; i < 3; i++) {
        CHECK(a->hash[i] == b->hash[i] && a->finish[i] == b->finish[i] && a->tokens[i] == b->tokens[i]);
        CHECK_INT(a->passes[i], b->passes[i]);
    }
    if (check_failures) printf("# %s\n", what);
}

TEST(the_text_is_that_of_single_tokens)
{
    static struct told single, burst;
    static const int lengths[] = {1, 2, 3, 4, 5, 6, REPLY}; /* in the short form every second one */
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && !check_failures; i += getenv("TANDEM_LONG") ? 1 : 2) {
        int most = lengths[i];
        tdm_chat_options o = greedy_options();
        o.max_tokens = most;
        play(&single, NULL, &o, 1);
        CHECK(!single.parts && single.finish[0] == TDM_FINISH_LENGTH && single.tokens[0] == (uint32_t)most);
        for (uint32_t n = 2; n <= 4; n++) {
            play(&burst, NULL, &o, n);
            compare(&single, &burst, "an end by length");
            CHECK(most < 3 || burst.parts > 0);
        }
    }
}

TEST(a_reply_ends_with_the_token_that_ends_it)
{
    static struct told whole, single, burst;
    struct config *config = (struct config *)&talk_model(NULL)->weights->config; /* talk_model's own */
    tdm_id was = config->stops.ids[0];
    int ended = 0;
    tdm_chat_options o = greedy_options();
    play(&whole, NULL, &o, 1);
    o.ignore_eos = false;
    for (int at = REPLY - 2; at > 0 && ended < 4 && !check_failures; at--) {
        int before = 0;
        while (whole.ids[before] != whole.ids[at]) before++;
        if (before < at) continue; /* it would end there */
        config->stops.ids[0] = whole.ids[at];
        play(&single, NULL, &o, 1);
        CHECK(single.finish[0] == TDM_FINISH_END && single.tokens[0] < REPLY);
        ended++;
        play(&burst, NULL, &o, 4);
        compare(&single, &burst, "an end by a token");
    }
    config->stops.ids[0] = was;
    CHECK(ended > 1);
}

TEST(what_needs_the_host_after_each_token_has_single_ones)
{
    static struct told t;
    static const char *const stops[] = {"\x01", NULL};
    for (int way = 0; way < 7; way++) {
        tdm_chat_options o = greedy_options();
        if (way == 1) o.stops = stops;
        if (way == 2) o.hash_logits = true;
        if (way == 3) o.sampling.temperature = 0.5f;
        if (way == 4) o.sampling.presence_penalty = 1;
        if (way == 5) o.pace_tps = 2000;
        play(&t, way == 6 ? "gpu" : NULL, &o, 4); /* both on one device */
        if ((t.parts > 0) != (way == 0)) CHECK_FAIL("way %d: %d parts", way, t.parts);
    }
}

/* Ends the reply in the middle of its n-th part. */
struct cut {
    tdm_chat *chat;
    int part, parts;
    bool at_once; /* it is continued while the part is still evaluated */
};

/* Of the tokens of a part nothing is in the reply, though they are evaluated. */
static uint32_t tokens_before(const struct cut *cut)
{
    return 1 + 4 * (uint32_t)(cut->part - 1);
}

static void continue_reply(const struct cut *cut)
{
    tdm_chat_options o = greedy_options();
    o.max_tokens = REPLY - (int)tokens_before(cut);
    CHECK_INT(TDM_OK, tdm_chat_configure(cut->chat, &o, &err));
    CHECK_INT(TDM_OK, tdm_chat_continue(cut->chat, &err));
}

static void stop_in_the_middle(void *ctx)
{
    struct cut *cut = ctx;
    if (++cut->parts != cut->part) return;
    tdm_chat_stop(cut->chat, TDM_FRONT);
    if (cut->at_once) continue_reply(cut);
}

/* Stopped in a part and continued; part 0: not at all. The text, and the next turn's ids. */
static void stop_and_continue(int part, bool at_once, char *text, size_t size, uint64_t *next)
{
    struct played p = {0};
    struct cut cut = {.part = part, .at_once = at_once};
    tdm_chat_options o = greedy_options();
    fake_gpu_heal();
    fake_gpu_burst(4);
    tdm_chat *c = cut.chat = open_on(NULL, "gpu", &o);
    if (!c) return;
    int turns = part ? 2 : 1;
    if (part) fake_gpu_interrupt(stop_in_the_middle, &cut);
    played_say(c, &p, played_lines[0]);
    if (part) {
        CHECK_INT(TDM_FINISH_STOPPED, p.finish[0]);
        CHECK_INT(tokens_before(&cut), p.stats[0].reply_tokens);
        if (!at_once) continue_reply(&cut);
        played_until(c, &p, turns);
        CHECK_INT(TDM_OK, tdm_chat_configure(c, &o, &err));
    }
    played_say(c, &p, played_lines[1]);
    CHECK_STR("", p.errors);
    *next = p.stats[turns].ids_hash;
    transcript(c, text, size);
    close_all(c);
}

TEST(a_reply_stopped_in_the_middle_goes_on_as_if_it_had_not_been)
{
    static char whole[4096], cut[4096];
    uint64_t next, other;
    stop_and_continue(0, false, whole, sizeof whole, &next);
    for (int i = 0; i < 6 && !check_failures; i++) {
        stop_and_continue(1 + i / 2, i % 2, cut, sizeof cut, &other);
        CHECK_STR(whole, cut);
        CHECK(next == other);
    }
}

/* The last token of a loop is known when the host has looked at it: what was drawn behind it is no part of the reply,
 * nor of what it is continued with, nor of the next turn. */
static tdm_finish loop(const char *question, uint32_t burst, struct played *p, char *text, size_t size)
{
    tdm_chat_options o = greedy_options();
    o.context = 2048;
    o.max_tokens = 300;
    o.ignore_eos = false;
    o.loop_guard = true;
    *p = (struct played){0};
    fake_gpu_heal();
    fake_gpu_burst(burst);
    tdm_chat *c = open_on(NULL, "gpu", &o);
    if (!c) return TDM_FINISH_FAILED;
    played_say(c, p, question);
    if (p->finish[0] == TDM_FINISH_REPEATS) {
        CHECK_INT(TDM_OK, tdm_chat_continue(c, &err));
        played_until(c, p, 2);
    }
    played_limit(c, 30, 0);
    played_say(c, p, "And then?");
    CHECK_STR("", p->errors);
    transcript(c, text, size);
    close_all(c);
    return p->finish[0];
}

TEST(a_loop_ends_at_the_same_token)
{
    if (getenv("TEST_RUNNER") || check_slow()) SKIP("it takes long for the built-in model");
    static const char *const questions[] = {
        "\xd0\xa0\xd0\xb0\xd1\x81\xd1\x81\xd0\xba\xd0\xb0\xd0\xb6\xd0\xb8 \xd0\xbc\xd0\xbd\xd0\xb5 \xd0\xbe "
        "\xd1\x81\xd0\xb5\xd0\xb1\xd0\xb5.",
        "\xe3\x81\x93\xe3\x82\x93\xe3\x81\xab\xe3\x81\xa1\xe3\x81\xaf\xe3\x80\x82\xe7\x89\xa9\xe8\xaa\x9e\xe3\x82"
        "\x92\xe6\x9b\xb8\xe3\x81\x84\xe3\x81\xa6\xe3\x81\x8f\xe3\x81\xa0\xe3\x81\x95\xe3\x81\x84\xe3\x80\x82"};
    static struct played single, burst;
    static char one[8192], more[8192];
    const char *path = talk_path;
    int loops = 0;
    talk_path = talk_builtin;
    for (int i = 0; i < 2 && !check_failures; i++) {
        loops += loop(questions[i], 1, &single, one, sizeof one) == TDM_FINISH_REPEATS;
        loop(questions[i], 4, &burst, more, sizeof more);
        CHECK_STR(one, more);
        CHECK_INT(single.n, burst.n);
        for (int k = 0; k < single.n; k++)
            CHECK(single.finish[k] == burst.finish[k] && single.stats[k].reply_tokens == burst.stats[k].reply_tokens &&
                  single.stats[k].ids_hash == burst.stats[k].ids_hash);
    }
    CHECK(loops > 0);
    talk_path = path;
}

TEST(nothing_said_is_lost_with_the_device)
{
    for (int part = 1; part <= 4 && !check_failures; part++) {
        struct played p = {0};
        tdm_chat_options o = greedy_options();
        fake_gpu_heal();
        fake_gpu_burst(4);
        tdm_chat *c = open_on(NULL, "gpu", &o);
        if (!c) return;
        fake_gpu_fail(FAKE_REPLY, part, TDM_E_IO);
        for (int i = 0; i < 2; i++) played_say(c, &p, played_lines[i]);
        for (int i = 0; i < 2; i++) {
            CHECK_INT(TDM_FINISH_LENGTH, p.finish[i]);
            CHECK_INT(REPLY, p.stats[i].reply_tokens);
        }
        CHECK_STR("", p.errors);
        CHECK(strstr(p.notices, "the cores go on, bits may differ from here"));
        close_all(c);
    }
}

TEST_MAIN(T(the_text_is_that_of_single_tokens), T(a_reply_ends_with_the_token_that_ends_it),
          T(what_needs_the_host_after_each_token_has_single_ones),
          T(a_reply_stopped_in_the_middle_goes_on_as_if_it_had_not_been), T(a_loop_ends_at_the_same_token),
          T(nothing_said_is_lost_with_the_device))
