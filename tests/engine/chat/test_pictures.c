/* Conversations with pictures: the same bits whenever they were encoded and read, no picture encoded twice, and what is
 * told of them (seeing.h). */
#include "tests/check.h"

#include <stdatomic.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/tandem/measure.h"
#include "tests/engine/gpu/rig.h"
#include "tests/seeing.h"

static tdm_error err;
static tdm_machine *machine;
static const char *units; /* both; NULL: by topology */
static int reply = 12; /* tokens */

/* That of the released models, which looks into the parts; NULL: it isn't there. */
static const char *released(void)
{
    static char text[1 << 16];
    const char *path = check_shared("goldens/templates/Qwen3.5-4B.jinja");
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (!f) return NULL;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static const char *template; /* NULL: the folder's */

static tdm_model *open_model(void)
{
    const char *folder = seeing_model();
    tdm_model *m = NULL;
    tdm_model_options o = {.path = folder, .chat_template = template};
    if (!folder) return NULL;
    if (tdm_model_open(&m, &o, &err)) CHECK_FAIL("%s", err.text);
    tdm_machine_options wanted = {.prefill_unit = units, .decode_unit = units};
    if (!machine && tdm_machine_open(&machine, &wanted, &err)) CHECK_FAIL("%s", err.text);
    return m;
}

static tdm_chat *open_chat(const tdm_model *m, tdm_pipeline pipeline, tdm_speculation level)
{
    tdm_chat *c = NULL;
    tdm_chat_options o;
    tdm_chat_defaults(&o, m);
    o.pipeline = pipeline;
    o.speculation = level;
    o.context = 600;
    o.max_tokens = reply;
    o.ignore_eos = true;
    o.hash_logits = true;
    o.pause_ms = TDM_PAUSE_NONE;
    o.checkpoint_bytes = 64 << 20;
    if (tdm_chat_open(&c, m, machine, &o, &err)) CHECK_FAIL("%s", err.text);
    return c;
}

/* Until a turn has ended: its figures. */
static tdm_turn_stats end_of_turn(tdm_chat *c)
{
    tdm_event e;
    int64_t until = clock_ns() + CHECK_PATIENCE_NS;
    while (clock_ns() < until) {
        while (tdm_chat_next_event(c, &e)) {
            if (e.kind == TDM_EV_ERROR) CHECK_FAIL("%.*s", (int)e.length, e.text);
            if (e.kind == TDM_EV_END && !e.writing) return e.stats;
        }
        usleep(1000);
    }
    CHECK_FAIL("the turn doesn't end");
    return (tdm_turn_stats){0};
}

static void draft(tdm_chat *c, const char *text, const tdm_placed_picture *pictures, size_t n)
{
    if (tdm_chat_set_draft_pictures(c, text, strlen(text), pictures, n, false, &err)) CHECK_FAIL("%s", err.text);
}

static tdm_turn_stats say(tdm_chat *c, const char *text, const tdm_placed_picture *pictures, size_t n)
{
    if (tdm_chat_send_pictures(c, text, strlen(text), pictures, n, 1, clock_ns(), &err)) CHECK_FAIL("%s", err.text);
    return end_of_turn(c);
}

static tdm_picture_figures figures(tdm_chat *c)
{
    tdm_picture_figures f;
    tdm_chat_picture_figures(c, &f);
    return f;
}

static tdm_picture_stage stage(tdm_chat *c, const tdm_picture *p)
{
    tdm_picture_status s;
    tdm_chat_picture_of(c, p, &s);
    return s.stage;
}

static uint32_t draft_tokens(tdm_chat *c)
{
    tdm_chat_status s;
    tdm_chat_status_of(c, &s);
    return s.draft_tokens;
}

static void check_cold(tdm_chat *c)
{
    tdm_event e = {0};
    CHECK(!tdm_chat_cold(c, TDM_PIPE_TANDEM, &err));
    int64_t until = clock_ns() + CHECK_PATIENCE_NS;
    while (e.kind != TDM_EV_COLD && clock_ns() < until)
        if (!tdm_chat_next_event(c, &e)) usleep(1000);
    CHECK(e.kind == TDM_EV_COLD && e.cold.same_first_token && e.cold.cold_ms > 0);
}

/* ---- The same bits ----------------------------------------------------------------------------------------------- */

enum { ALL = 100 };

/* Three turns: a picture before the text, none, two of which one stands in the middle. */
static void play(tdm_chat *c, bool types, tdm_picture *const *pictures, tdm_turn_stats out[3])
{
    const tdm_placed_picture one[] = {{pictures[0], 0}}, two[] = {{pictures[1], 3}, {pictures[0], 8}};
    if (types) draft(c, "", one, 1);
    if (types) draft(c, "Wh", one, 1);
    if (types) CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    out[0] = say(c, "What is this?", one, 1);
    if (types) draft(c, "And", NULL, 0);
    out[1] = say(c, "And that?", NULL, 0);
    if (types) draft(c, "In a, b", two, 1);
    if (types) draft(c, "In a, b or c", two, 2);
    out[2] = say(c, "In a, b or c?", two, 2);
}

/* Played in the first n ways, with a picture of that many pixels a row. */
static void check_bits(size_t n, uint32_t width)
{
    static const struct {
        tdm_pipeline pipeline;
        tdm_speculation level;
        bool types;
    } ways[] = {{TDM_PIPE_TANDEM, TDM_SPEC_OFF, false},  {TDM_PIPE_TANDEM, TDM_SPEC_FULL, true},
                {TDM_PIPE_TANDEM, TDM_SPEC_DRAFT, true}, {TDM_PIPE_TANDEM, TDM_SPEC_FULL, false},
                {TDM_PIPE_SINGLE, TDM_SPEC_OFF, true},   {TDM_PIPE_BATCH, TDM_SPEC_OFF, false}};
    tdm_picture *pictures[] = {seeing_picture(width, 101, 1), seeing_picture(64, 96, 2)};
    tdm_turn_stats first[3], turns[3];
    for (size_t w = 0; w < n && w < sizeof ways / sizeof *ways; w++) {
        tdm_model *m = open_model(); /* anew: nothing is encoded */
        if (!m) return;
        tdm_chat *c = open_chat(m, ways[w].pipeline, ways[w].level);
        REQUIRE(c);
        play(c, ways[w].types, pictures, turns);
        if (!w) memcpy(first, turns, sizeof first);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(reply, turns[i].reply_tokens);
            CHECK(turns[i].prompt_tokens == first[i].prompt_tokens && turns[i].turn_tokens == first[i].turn_tokens);
            CHECK(turns[i].ids_hash == first[i].ids_hash && turns[i].logits_hash == first[i].logits_hash);
        }
        CHECK_INT(2, figures(c).encoded);
        CHECK(turns[0].prompt_tokens > 15 &&
              (!ways[w].types || ways[w].pipeline != TDM_PIPE_TANDEM || turns[0].before_enter > 15));
        tdm_chat_close(c);
        tdm_model_close(m);
    }
    tdm_picture_drop(pictures[0]), tdm_picture_drop(pictures[1]);
}

TEST(bits_do_not_depend_on_when_a_picture_was_encoded)
{
    check_bits(ALL, 150);
}

TEST(nor_do_they_with_the_released_template)
{
    template = released();
    if (template) check_bits(ALL, 150);
    template = NULL;
}

/* In the short form as they are read behind Enter and ahead of it, with short replies and a narrow picture. */
TEST(nor_do_they_on_a_gpu)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    tdm_machine *cores = machine;
    machine = NULL;
    units = gpu_rig_name();
    if (!getenv("TANDEM_LONG")) reply = 2;
    check_bits(getenv("TANDEM_LONG") ? ALL : 2, getenv("TANDEM_LONG") ? 150 : 128);
    reply = 12;
    tdm_machine_close(machine);
    machine = cores;
    units = NULL;
}

#ifdef TANDEM_GPU
#include "engine/gpu/device/vulkan.h"

/* A driver that loses the device at the submission before which `left` others were made; below 0: never. */
static PFN_vkQueueSubmit real_submit;
static atomic_int left = -1;

static VKAPI_ATTR VkResult VKAPI_CALL failing(VkQueue queue, uint32_t n, const VkSubmitInfo *submits, VkFence fence)
{
    if (left >= 0 && atomic_fetch_sub(&left, 1) == 0) return VK_ERROR_DEVICE_LOST;
    return real_submit(queue, n, submits, fence);
}

static void put_failing(struct vulkan *vk)
{
    if (!vk->QueueSubmit || vk->QueueSubmit == failing) return;
    real_submit = vk->QueueSubmit;
    vk->QueueSubmit = failing;
}

/* While a picture is encoded: the cores encode it anew, and answer. */
TEST(a_gpu_that_is_lost_changes_no_turn)
{
    if (gpu_rig_absence()) SKIP(gpu_rig_absence());
    tdm_machine *cores = machine;
    machine = NULL;
    units = gpu_rig_name();
    vulkan_loaded = put_failing;
    tdm_model *m = open_model();
    tdm_chat *c = m ? open_chat(m, TDM_PIPE_TANDEM, TDM_SPEC_OFF) : NULL;
    if (!c) return;
    tdm_picture *picture = seeing_picture(150, 101, 1);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    left = 3;
    CHECK_INT(12, say(c, "What is this?", &(tdm_placed_picture){picture, 0}, 1).reply_tokens);
    CHECK(left < 0);
    CHECK(figures(c).encoded == 1 && figures(c).cancelled == 1);
    CHECK_INT(12, say(c, "And that?", NULL, 0).reply_tokens);
    tdm_picture_drop(picture);
    tdm_chat_close(c);
    tdm_model_close(m);
    tdm_machine_close(machine);
    vulkan_loaded = NULL;
    machine = cores;
    units = NULL;
}
#else
TEST(a_gpu_that_is_lost_changes_no_turn)
{
    SKIP(gpu_absence());
}
#endif

/* ---- Drafts ------------------------------------------------------------------------------------------------------ */

TEST(nothing_is_encoded_twice)
{
    tdm_model *m = open_model();
    if (!m) return;
    tdm_chat *c = open_chat(m, TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    tdm_picture *a = seeing_picture(128, 96, 1), *b = seeing_picture(96, 64, 2), *again = seeing_picture(128, 96, 1);
    const tdm_placed_picture one[] = {{a, 0}}, both[] = {{a, 0}, {b, 0}}, turned[] = {{b, 0}, {again, 0}},
                             inside[] = {{a, 4}};
    tdm_picture_status s;
    CHECK_INT(TDM_PICTURE_WAITING, stage(c, a));
    draft(c, "", one, 1);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    tdm_chat_picture_of(c, a, &s);
    CHECK(s.stage == TDM_PICTURE_READ && s.tokens == 12 && s.read == 12 && s.steps == 5 && s.done == 5);
    CHECK_INT(13, draft_tokens(c)); /* with the mark before it */
    draft(c, "Look", one, 1);
    uint32_t before = draft_tokens(c);
    draft(c, "Look here", inside, 1);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS) && stage(c, a) == TDM_PICTURE_READ && draft_tokens(c) >= before);
    draft(c, "Look here", NULL, 0);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS) && stage(c, a) == TDM_PICTURE_READING);
    draft(c, "Look", both, 2);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS) && stage(c, b) == TDM_PICTURE_READ);
    draft(c, "Look", turned, 2);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS) && stage(c, a) == TDM_PICTURE_READ);
    tdm_turn_stats first = say(c, "Look", turned, 2);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    say(c, "And now?", NULL, 0);
    CHECK(!tdm_chat_undo(c, &err) && !tdm_chat_undo(c, &err));
    tdm_turn_stats second = say(c, "Look", turned, 2);
    CHECK(first.ids_hash != 0 && first.prompt_tokens == second.prompt_tokens);
    CHECK(!tdm_chat_regenerate(c, clock_ns(), &err));
    end_of_turn(c);
    CHECK_INT(2, figures(c).encoded);
    CHECK_INT(0, figures(c).cancelled);
    check_cold(c);
    CHECK_INT(4, figures(c).encoded); /* for that, all is done again */
    tdm_node node;
    CHECK(!tdm_chat_node(c, TDM_FRONT, 1, &node, &err) && node.n_pictures == 2 && node.pictures[1].picture == again);
    tdm_node_free(&node);
    tdm_chat_close(c);
    tdm_picture_drop(a), tdm_picture_drop(b), tdm_picture_drop(again);
    tdm_model_close(m);
}

TEST(a_picture_that_is_taken_back_is_given_up)
{
    tdm_model *m = open_model();
    if (!m) return;
    tdm_chat *c = open_chat(m, TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    tdm_picture *large = seeing_picture(512, 512, 3);
    const tdm_placed_picture one[] = {{large, 0}};
    for (int i = 0; i < 20 && !figures(c).cancelled; i++) {
        draft(c, "", one, 1);
        for (int k = 0; k < 10000 && stage(c, large) == TDM_PICTURE_WAITING; k++) usleep(20);
        draft(c, "", NULL, 0);
        CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
        if (figures(c).encoded) break; /* too fast to be caught */
    }
    CHECK(figures(c).encoded + figures(c).cancelled > 0);
    tdm_chat_close(c);
    tdm_picture_drop(large);
    tdm_model_close(m);
}

TEST(pictures_are_queued_and_encoded_beside_a_reply)
{
    tdm_model *m = open_model();
    if (!m) return;
    tdm_chat *c = open_chat(m, TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.pace_tps = 10;
    o.max_tokens = 200; /* it is still being written when the picture is encoded, also where that takes long */
    CHECK(!tdm_chat_configure(c, &o, &err));
    tdm_picture *a = seeing_picture(64, 64, 1), *b = seeing_picture(64, 96, 2);
    const tdm_placed_picture one[] = {{a, 0}}, other[] = {{b, 5}};
    CHECK(!tdm_chat_send(c, "Hello", 5, clock_ns(), &err));
    draft(c, "a", one, 1);
    for (int k = 0; k < 60000 && !figures(c).encoded; k++) usleep(1000);
    tdm_chat_status now;
    tdm_chat_status_of(c, &now);
    CHECK(now.phase != TDM_PHASE_IDLE && stage(c, a) == TDM_PICTURE_READING);
    CHECK(!tdm_chat_send_pictures(c, "first", 5, one, 1, 1, clock_ns(), &err));
    CHECK(!tdm_chat_send_pictures(c, "second", 6, other, 1, 1, clock_ns(), &err));
    tdm_placed_picture *pictures;
    size_t n;
    char *text = tdm_chat_unqueue_pictures(c, &pictures, &n);
    CHECK_STR("first\nsecond", text);
    CHECK(n == 2 && pictures[0].picture == a && pictures[0].at == 0 && pictures[1].picture == b &&
          pictures[1].at == 11);
    CHECK(!tdm_chat_send_pictures(c, text, strlen(text), pictures, n, 1, clock_ns(), &err));
    for (size_t i = 0; i < n; i++) tdm_picture_drop(pictures[i].picture);
    free(pictures);
    free(text);
    o.pace_tps = 0;
    CHECK(!tdm_chat_configure(c, &o, &err));
    end_of_turn(c);
    tdm_turn_stats s = end_of_turn(c);
    CHECK(s.mark == TDM_TURN_MARK_QUEUED && s.turn_tokens > 4 + 6);
    CHECK_INT(2, figures(c).encoded);
    tdm_chat_close(c);
    tdm_picture_drop(a), tdm_picture_drop(b);
    tdm_model_close(m);
}

/* ---- Files and errors -------------------------------------------------------------------------------------------- */

TEST(a_saved_state_needs_no_rows)
{
    tdm_model *m = open_model(), *other = open_model();
    if (!m) return;
    char path[256];
    snprintf(path, sizeof path, "%s/state", check_tmp());
    tdm_chat *c = open_chat(m, TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    tdm_picture *a = seeing_picture(128, 96, 1);
    const tdm_placed_picture one[] = {{a, 2}};
    say(c, "A picture", one, 1);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    CHECK(!tdm_chat_save_state(c, path, &err));
    tdm_node nodes[2];
    for (int i = 0; i < 2; i++) CHECK(!tdm_chat_node(c, TDM_FRONT, i + 1, &nodes[i], &err));
    tdm_chat *d = open_chat(other, TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    CHECK(!tdm_chat_load(d, "", 0, nodes, 2, 2, tdm_chat_begun(c, TDM_FRONT), &err));
    if (tdm_chat_load_state(d, path, &err)) CHECK_FAIL("%s", err.text);
    CHECK(tdm_chat_wait_idle(d, CHECK_PATIENCE_MS));
    tdm_turn_stats resumed = say(d, "More", NULL, 0), went_on;
    CHECK_INT(TDM_TURN_RESUMED, resumed.kind);
    tdm_chat_close(d);
    went_on = say(c, "More", NULL, 0);
    CHECK(resumed.ids_hash == went_on.ids_hash && resumed.logits_hash == went_on.logits_hash);
    int64_t begun_s = tdm_chat_begun(c, TDM_FRONT);
    tdm_chat_close(c);
    tdm_model_close(m);
    /* But where the same picture is shown again. */
    d = open_chat(other, TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    tdm_chat_options o;
    tdm_chat_options_of(d, &o);
    o.picture_bytes = 1; /* no rows of it are left */
    CHECK(!tdm_chat_configure(d, &o, &err) && !figures(d).kept_bytes);
    CHECK(!tdm_chat_load(d, "", 0, nodes, 2, 2, begun_s, &err));
    CHECK(!tdm_chat_load_state(d, path, &err) && tdm_chat_wait_idle(d, CHECK_PATIENCE_MS));
    CHECK(say(d, "More", one, 1).reply_tokens > 0);
    CHECK_INT(1, figures(d).encoded);
    tdm_chat_close(d);
    for (int i = 0; i < 2; i++) tdm_node_free(&nodes[i]);
    tdm_picture_drop(a);
    tdm_model_close(other);
}

TEST(rows_have_a_budget)
{
    tdm_model *m = open_model();
    if (!m) return;
    tdm_chat *c = open_chat(m, TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    tdm_chat_options o;
    tdm_chat_options_of(c, &o);
    o.picture_bytes = 1;
    CHECK(!tdm_chat_configure(c, &o, &err));
    tdm_picture *a = seeing_picture(64, 64, 1);
    const tdm_placed_picture one[] = {{a, 0}};
    draft(c, "x", one, 1);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    CHECK_INT(4 * 128 * 4, figures(c).kept_bytes); /* it stands */
    draft(c, "x", NULL, 0);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    CHECK(figures(c).kept_bytes == 0 && figures(c).dropped == 1);
    o.picture_tokens = 2;
    o.picture_bytes = 0;
    CHECK(!tdm_chat_configure(c, &o, &err));
    draft(c, "x", one, 1);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    tdm_picture_status s;
    tdm_chat_picture_of(c, a, &s);
    CHECK(s.stage == TDM_PICTURE_READ && s.tokens < 4);
    tdm_chat_close(c);
    tdm_picture_drop(a);
    tdm_model_close(m);
}

TEST(what_can_not_be_shown)
{
    tdm_model *m = open_model();
    if (!m) return;
    tdm_chat *c = open_chat(m, TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    tdm_picture *a = seeing_picture(64, 64, 1), *thin = seeing_picture(1, 300, 1);
    const tdm_placed_picture outside[] = {{a, 3}}, within[] = {{a, 1}}, falls[] = {{a, 2}, {a, 0}},
                             long_one[] = {{thin, 0}};
    CHECK_INT(TDM_E_ARG, tdm_chat_set_draft_pictures(c, "ab", 2, outside, 1, false, &err));
    CHECK_STR("picture 1 stands at byte 3 of a text of 2", err.text);
    CHECK_INT(TDM_E_ARG, tdm_chat_set_draft_pictures(c, "\xc3\xa9", 2, within, 1, false, &err));
    CHECK_INT(TDM_E_ARG, tdm_chat_send_pictures(c, "ab", 2, falls, 2, 1, 1, &err));
    CHECK_INT(TDM_E_ARG, tdm_chat_set_draft_pictures(c, "ab", 2, long_one, 1, false, &err));
    tdm_message message = {.role = TDM_USER, .text = "ab", .length = 2, .pictures = falls + 1, .n_pictures = 1};
    char *text = NULL;
    CHECK(!tdm_render(m, &message, 1, &(tdm_render_options){0}, NULL, &text, &err));
    CHECK_STR("<|im_start|>user\n</think><|image_pad|></think>ab<|im_end|>\n", text);
    free(text);
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_render(NULL, &message, 1, &(tdm_render_options){0}, NULL, &text, &err));
    tdm_chat_close(c);
    tdm_picture_drop(a), tdm_picture_drop(thin);
    tdm_model_close(m);
}

static tdm_mark mark_of(tdm_chat *c)
{
    tdm_chat_status s;
    tdm_chat_status_of(c, &s);
    return s.mark;
}

/* A conversation from before, and a draft, for a model without eyes: neither is read, and the mark says so. */
TEST(a_model_without_eyes_reads_no_pictures)
{
    tdm_model *m = NULL;
    tdm_chat *c = NULL;
    tdm_picture *a = seeing_picture(64, 64, 1);
    tdm_placed_picture one[] = {{a, 0}};
    tdm_model_options o = {.path = "assets/tandem-demo-51m-q6_k.gguf"};
    tdm_node nodes[] = {
        {.node = 1, .role = TDM_USER, .text = "What?", .length = 5, .pictures = one, .n_pictures = 1},
        {.node = 2, .parent = 1, .role = TDM_ASSISTANT, .text = "That.", .length = 5},
    };
    if (!machine) REQUIRE(!tdm_machine_open(&machine, &(tdm_machine_options){0}, &err));
    REQUIRE(!tdm_model_open(&m, &o, &err));
    c = open_chat(m, TDM_PIPE_TANDEM, TDM_SPEC_FULL);
    REQUIRE(c);
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_set_draft_pictures(c, "And", 3, one, 1, false, &err));
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS) && mark_of(c) != TDM_MARK_NOT_READ); /* the draft of before */
    CHECK(!tdm_chat_load(c, NULL, 0, nodes, 2, 2, 0, &err));
    CHECK_INT(TDM_MARK_NOT_READ, mark_of(c));
    draft(c, "And", NULL, 0);
    CHECK_INT(TDM_MARK_NOT_READ, mark_of(c));
    CHECK_INT(TDM_E_UNSUPPORTED, tdm_chat_send(c, "And", 3, 1, &err));
    nodes[0].n_pictures = 0; /* its file is gone */
    CHECK(!tdm_chat_load(c, NULL, 0, nodes, 2, 2, 0, &err));
    draft(c, "And", NULL, 0);
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS) && mark_of(c) != TDM_MARK_NOT_READ);
    tdm_chat_close(c);
    tdm_picture_drop(a);
    tdm_model_close(m);
}

/* ---- Servers ----------------------------------------------------------------------------------------------------- */

static tdm_status start(void *ctx, const tdm_server_ask *ask, void **request, tdm_error *e)
{
    (void)ask, (void)e;
    *request = ctx;
    return TDM_OK;
}

static void no_news(void *ctx, void *request, int timeout_ms, tdm_server_news *out)
{
    (void)ctx, (void)request;
    usleep((useconds_t)timeout_ms * 1000);
    *out = (tdm_server_news){.kind = TDM_SERVER_NOTHING, .counts = {-1, -1, -1, -1, -1, -1}};
}

static void end(void *ctx, void *request)
{
    (void)ctx, (void)request;
}

/* Of a server whose requests get this news; *m is closed after it. */
static tdm_chat *on_server(tdm_model **m, void (*news)(void *, void *, int, tdm_server_news *))
{
    static int request;
    tdm_chat *c = NULL;
    tdm_chat_options o;
    const tdm_server_options server = {.name = "made up",
                                       .host = "nowhere",
                                       .tokenizer = "assets/tandem-demo-51m-q6_k.gguf",
                                       .context = 2048,
                                       .ahead = TDM_SPEC_FULL,
                                       .round_trip_ms = 1,
                                       .server = {.ctx = &request, .start = start, .next = news, .end = end}};
    if (!machine && tdm_machine_open(&machine, &(tdm_machine_options){0}, &err)) CHECK_FAIL("%s", err.text);
    if (tdm_model_open_server(m, &server, &err)) CHECK_FAIL("%s", err.text);
    tdm_chat_defaults(&o, *m);
    if (tdm_chat_open(&c, *m, machine, &o, &err)) CHECK_FAIL("%s", err.text);
    return c;
}

TEST(beside_a_server_s_reply_nothing_is_encoded)
{
    tdm_model *m = NULL;
    tdm_picture *a = seeing_picture(64, 64, 1);
    const tdm_placed_picture one[] = {{a, 0}};
    tdm_chat *c = on_server(&m, no_news);
    REQUIRE(c);
    CHECK(!tdm_chat_send(c, "Hello", 5, clock_ns(), &err));
    draft(c, "x", one, 1);
    usleep(100000);
    CHECK_INT(TDM_PICTURE_WAITING, stage(c, a));
    tdm_chat_close(c);
    tdm_picture_drop(a);
    tdm_model_close(m);
}

static int refused; /* requests */

static void refuses(void *ctx, void *request, int timeout_ms, tdm_server_news *out)
{
    static const char why[] = "image input is not supported";
    (void)ctx, (void)request, (void)timeout_ms;
    refused++;
    *out = (tdm_server_news){
        .kind = TDM_SERVER_FAILED, .text = why, .length = sizeof why - 1, .counts = {-1, -1, -1, -1, -1, -1}};
}

TEST(what_a_server_takes_no_pictures_of_is_marked)
{
    tdm_model *m = NULL;
    tdm_picture *a = seeing_picture(64, 64, 1);
    const tdm_placed_picture one[] = {{a, 0}};
    tdm_chat *c = on_server(&m, refuses);
    REQUIRE(c);
    draft(c, "What is it?", one, 1);
    int64_t until = clock_ns() + CHECK_PATIENCE_NS;
    while (mark_of(c) != TDM_MARK_NOT_READ && clock_ns() < until) usleep(1000);
    CHECK_INT(TDM_MARK_NOT_READ, mark_of(c));
    draft(c, "", NULL, 0); /* there is nothing to be asked: no message */
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    CHECK(mark_of(c) != TDM_MARK_NOT_READ);
    tdm_chat_close(c);
    CHECK_INT(1, refused);
    tdm_picture_drop(a);
    tdm_model_close(m);
}

TEST_MAIN(T(bits_do_not_depend_on_when_a_picture_was_encoded), T(nor_do_they_with_the_released_template),
          T(nor_do_they_on_a_gpu), T(a_gpu_that_is_lost_changes_no_turn), T(nothing_is_encoded_twice),
          T(a_picture_that_is_taken_back_is_given_up), T(pictures_are_queued_and_encoded_beside_a_reply),
          T(a_saved_state_needs_no_rows), T(rows_have_a_budget), T(what_can_not_be_shown),
          T(a_model_without_eyes_reads_no_pictures), T(what_a_server_takes_no_pictures_of_is_marked),
          T(beside_a_server_s_reply_nothing_is_encoded))
