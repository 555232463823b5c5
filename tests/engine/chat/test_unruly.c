/* An unruly front end: every function of a chat in any state, in contexts that a message may fill, with any setting,
 * text and loaded conversation. Whatever happens, the chat must come to rest with a conversation that is whole, and say
 * next what a fresh chat says, bit for bit. Most worth under the sanitizers. */
#include "tests/check.h"

#include <pthread.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/tandem/measure.h"
#include "tests/engine/chat/talk.h"
#include "tests/seeing.h"

enum { TEXT_ROOM = 1 << 16, PICTURES = 3, TREE = 14, ACTIONS = 300 };

static tdm_error err;
static uint64_t seed;
static struct unruly {
    struct talk talk;
    tdm_picture *pictures[PICTURES]; /* NULL: the model sees none */
    char state[256];                 /* the path of a saved state */
    bool same_bits;                  /* both units keep the same keys and values */
    pthread_t saver;
    bool saves;
    int context; /* its tokens */
} u;

static uint32_t draw(uint32_t n)
{
    return talk_draw(&seed, n);
}

static bool rarely(void)
{
    return draw(8) == 0;
}

/* ---- What is said ------------------------------------------------------------------------------------------------ */

static const char *const words[] = {"",
                                    " ",
                                    "\n\t ",
                                    "a",
                                    "hello there, ",
                                    "\xff\xfe",
                                    "\xc3",
                                    "é€",
                                    "1 2 3 ",
                                    "<|im_end|>",
                                    "<think>",
                                    "</think>\n\n",
                                    "\r\n",
                                    "<|im_start|>user\n",
                                    "\xf0\x9f\x99\x82",
                                    "{{ x }}",
                                    "e\xcc\x81",
                                    "the the the the "};

/* Mostly a few words, at times none, or more than the context holds. */
static size_t write_text(char *text)
{
    size_t n = 0, most = draw(40) == 0 ? TEXT_ROOM : rarely() ? (size_t)u.context * 6 : 40;
    for (uint32_t left = draw(most > 40 ? 4000 : 8); left--;) {
        const char *word = words[draw(sizeof words / sizeof *words)];
        size_t length = strlen(word);
        if (n + length + 1 > most) break;
        memcpy(text + n, word, length);
        n += length;
        if (draw(200) == 0) text[n++] = 0;
    }
    return n;
}

/* Pictures at places of the text, some of them wrong. */
static size_t place_pictures(tdm_placed_picture *placed, size_t length)
{
    size_t n = u.pictures[0] ? draw(3) : 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        if (length > at && draw(2)) at += draw((uint32_t)(length - at + 1));
        if (draw(20) == 0) at = length + 1;
        placed[i] = (tdm_placed_picture){u.pictures[draw(PICTURES)], at};
    }
    return n;
}

static void type(void)
{
    static char text[TEXT_ROOM];
    tdm_placed_picture placed[PICTURES];
    size_t n = write_text(text), shown = place_pictures(placed, n);
    if (draw(3)) {
        tdm_chat_set_draft_pictures(u.talk.chat, n ? text : NULL, n, placed, shown, rarely(), &err);
        return;
    }
    for (size_t i = 0; i < n && i < 60; i++) tdm_chat_set_draft(u.talk.chat, text, i, false, &err);
}

static void say(void)
{
    static char text[TEXT_ROOM];
    tdm_placed_picture placed[PICTURES];
    size_t n = write_text(text), shown = place_pictures(placed, n);
    int answers = rarely() ? (int)draw(TDM_ANSWERS_MAX + 3) - 1 : 1;
    int64_t now = draw(2) ? clock_ns() : 0;
    switch (draw(4)) {
    case 0: tdm_chat_send(u.talk.chat, n ? text : NULL, n, now, &err); break;
    case 1: tdm_chat_answers(u.talk.chat, answers, draw(2) ? text : NULL, n, now, &err); break;
    default:
        tdm_chat_send_pictures(u.talk.chat, text, n, placed, shown, answers, now, &err);
    }
}

/* Any tree that a file may hold. */
static void load(void)
{
    static char texts[TREE][TEXT_ROOM];
    tdm_placed_picture placed[TREE][PICTURES];
    tdm_node nodes[TREE];
    int n = (int)draw(TREE + 1);
    bool orderly = draw(2);
    for (int i = 0; i < n; i++) {
        size_t length = write_text(texts[i]);
        nodes[i] = (tdm_node){.parent = orderly || draw(2) ? i : (int)draw((uint32_t)i + 1),
                              .role = orderly    ? TDM_USER + i % 2
                                      : draw(30) ? TDM_USER + (int)draw(2)
                                                 : TDM_SYSTEM,
                              .text = texts[i],
                              .length = length,
                              .finish = (tdm_finish)draw(TDM_FINISH_REPEATS + 1),
                              .time_s = draw(3),
                              .pictures = placed[i]};
        if (nodes[i].role == TDM_USER) nodes[i].n_pictures = place_pictures(placed[i], length);
        if (nodes[i].role == TDM_ASSISTANT && draw(2))
            nodes[i].thinking = texts[i], nodes[i].thinking_length = draw((uint32_t)length + 1);
    }
    tdm_chat_load(u.talk.chat, "sys", draw(4), nodes, n, rarely() ? (int)draw((uint32_t)n + 2) : n, draw(2), &err);
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static void choose(tdm_chat_options *o)
{
    static const int limits[] = {0, 0, 1, 2, 5, 30, 500};
    switch (draw(20)) {
    case 0: o->pipeline = draw(2) ? TDM_PIPE_TANDEM : (tdm_pipeline)draw(TDM_PIPELINES + 1); break;
    case 1: o->speculation = (tdm_speculation)draw(TDM_SPEC_FULL + 2); break;
    case 2: o->dispatch = (int)draw(70) - 1; break;
    case 3: o->max_tokens = limits[draw(7)]; break;
    case 4: o->max_answer_tokens = limits[draw(7)]; break;
    case 5: o->think = (tdm_thinking)(draw(2) ? (int)draw(2) : (int)draw(TDM_THINKINGS + 2) - 1); break;
    case 6: o->keep_thinking = (tdm_keep_thinking)((int)draw(TDM_KEEPS + 2) - 1); break;
    case 7: o->checkpoint_bytes = rarely() ? 1 : (uint64_t)(1 + draw(32)) << (10 + draw(12)); break;
    case 8: o->ignore_eos = !o->ignore_eos; break;
    case 9: o->loop_guard = !o->loop_guard; break;
    case 10: o->on_full = (tdm_on_full)draw(2); break;
    case 11: o->pace_tps = rarely() ? 300 : 0; break;
    case 12: o->reading = (tdm_reading)draw(TDM_READ_NEVER + 2); break;
    case 13: o->pause_ms = (int)draw(6) - 2; break;
    case 14: o->mtp = (int)draw(TDM_MTP_MAX + 4) - 2; break;
    case 15: o->picture_tokens = (int)draw(12) - 1; break;
    case 16: o->picture_bytes = draw(2) ? 1 : 1 << 20; break;
    case 17: o->bridge = (tdm_bridge)draw(2); break;
    case 18:
        o->sampling = (tdm_sampling){.temperature = (float)draw(3) / 2, .top_k = (int)draw(30), .seed = draw(9)};
        break;
    default:
        switch (draw(4)) { /* what can't change */
        case 0: o->context += (int)draw(2); break;
        case 1: o->kv = (tdm_kv)draw(TDM_KV_TYPES + 1); break;
        case 2: o->prefill_kv = (tdm_kv)draw(TDM_KV_TYPES + 1); break;
        default:
            o->prefill_model = draw(2) ? NULL : talk_model(NULL);
        }
    }
}

static void configure(void)
{
    tdm_chat_options o, after;
    tdm_chat_options_of(u.talk.chat, &o);
    const tdm_chat_options before = o;
    for (uint32_t n = 1 + draw(3); n--;) choose(&o);
    if (tdm_chat_configure_sized(u.talk.chat, &o, draw(20) ? sizeof o : draw(sizeof o), &err) == TDM_OK) return;
    tdm_chat_options_of(u.talk.chat, &after);
    CHECK(!memcmp(&before, &after, sizeof after));
}

/* ---- What is seen ------------------------------------------------------------------------------------------------ */

/* A path from the root to the leaf, each node with the one before as its parent. */
static void check_path(tdm_which_dialogue which)
{
    /* A queued message and its reply may join it, or leave it again, at any moment. */
    int room = tdm_chat_path(u.talk.chat, which, NULL, 0), length;
    int *path = calloc((size_t)room + 1, sizeof *path);
    length = tdm_chat_path(u.talk.chat, which, path, room);
    if (length > room) length = room;
    for (int i = 0; i < length; i++) {
        tdm_node node;
        if (tdm_chat_node(u.talk.chat, which, path[i], &node, &err)) {
            CHECK(i + 2 >= length);
            continue;
        }
        CHECK(node.node == path[i] && node.parent == (i ? path[i - 1] : 0));
        CHECK(node.branch >= 1 && node.branch <= node.branches);
        tdm_node_free(&node);
    }
    free(path);
}

static void look(void)
{
    tdm_chat *c = u.talk.chat;
    tdm_chat_status s;
    tdm_back_status back;
    tdm_picture_status picture;
    tdm_picture_figures figures;
    tdm_node node;
    tdm_span spans[20];
    char text[40];
    tdm_chat_status_of(c, &s);
    CHECK(s.read <= s.target && s.behind == s.target - s.read && (int)s.context_size == u.context);
    CHECK(s.writing >= 0 && s.writing <= s.answers && s.turn_read <= s.turn_known);
    tdm_chat_back_of(c, &back);
    CHECK(back.writing <= back.answers);
    tdm_chat_picture_figures(c, &figures);
    for (int i = 0; i < PICTURES && u.pictures[i]; i++) {
        tdm_chat_picture_of(c, u.pictures[i], &picture);
        CHECK(picture.done <= picture.steps && picture.read <= picture.tokens);
    }
    for (int unit = 0; unit < TDM_UNITS; unit++) {
        size_t n = tdm_unit_spans(talk_machine(0), unit, 0, spans, 20);
        for (size_t i = 0; i < n; i++)
            CHECK(tdm_chat_span_text(c, &spans[i], text, draw(sizeof text + 1)) <= sizeof text);
    }
    tdm_which_dialogue which = (tdm_which_dialogue)draw(2);
    int n = tdm_chat_nodes(c, which), at = (int)draw((uint32_t)n + 3) - 1;
    tdm_status status = tdm_chat_node(c, which, at, &node, &err);
    CHECK((status == TDM_OK) == (at >= 1 && at <= n));
    if (status == TDM_OK) tdm_node_free(&node);
    tdm_chat_set_user(c, which, at, &u, &err);
    tdm_chat_begun(c, which);
    check_path(which);
}

/* ---- What is done ------------------------------------------------------------------------------------------------ */

static void *save_beside(void *ctx)
{
    tdm_error own;
    (void)ctx;
    tdm_chat_save_state(u.talk.chat, u.state, &own);
    return NULL;
}

static void end_saving(void)
{
    if (u.saves) pthread_join(u.saver, NULL);
    u.saves = false;
}

static void save_or_load(void)
{
    switch (draw(3)) {
    case 0: tdm_chat_save_state(u.talk.chat, u.state, &err); break;
    case 1: tdm_chat_load_state(u.talk.chat, u.state, &err); break;
    default:
        end_saving();
        u.saves = !pthread_create(&u.saver, NULL, save_beside, NULL);
    }
}

static void take_back(void)
{
    tdm_placed_picture *pictures;
    size_t n;
    free(tdm_chat_unqueue_pictures(u.talk.chat, &pictures, &n));
    for (size_t i = 0; i < n; i++) tdm_picture_drop(pictures[i].picture);
    free(pictures);
}

static void act(void)
{
    tdm_chat *c = u.talk.chat;
    int n = tdm_chat_nodes(c, TDM_FRONT), any = (int)draw((uint32_t)n + 3) - 1;
    switch (draw(42)) {
    case 0: case 1: case 2: case 3: say(); break;
    case 4: tdm_chat_send_now(c, clock_ns()); break;
    case 5: tdm_chat_stop(c, (tdm_which_dialogue)draw(2)); break;
    case 6: case 7: tdm_chat_continue(c, &err); break;
    case 8: tdm_chat_regenerate(c, clock_ns(), &err); break;
    case 9: tdm_chat_undo(c, &err); break;
    case 10: tdm_chat_redo(c, &err); break;
    case 11: tdm_chat_edit(c, any, &err); break;
    case 12: tdm_chat_select(c, any, &err); break;
    case 13: if (rarely()) tdm_chat_set_system(c, "Be brief. ", draw(11), &err); break;
    case 14: case 15: case 16: case 17: configure(); break;
    case 18: tdm_chat_cold(c, (tdm_pipeline)draw(TDM_PIPELINES + 1), &err); break;
    case 19: take_back(); break;
    case 20: if (rarely() || n > 60) tdm_chat_clear(c); break;
    case 21: case 22: look(); break;
    case 23: case 24: usleep(draw(3000)); break;
    case 25: case 26: tdm_chat_wait_idle(c, (int)draw(80)); break;
    case 27: tdm_chat_stop_answer(c, any); break;
    case 28: tdm_chat_leave(c, &err); break;
    case 29: tdm_chat_visit(c, draw(2), &err); break;
    case 30: if (rarely()) tdm_chat_forget(c); break;
    case 31: if (rarely()) load(); break;
    case 32: save_or_load(); break;
    case 33: if (n) tdm_chat_select(c, n, &err); break;
    case 34: tdm_chat_set_adoption(c, draw(4)); break;
    case 35: tdm_chat_pretend_drafts(c, draw(3) * 0.5, &err); break;
    default: type(); break;
    }
    if (draw(3)) talk_events(&u.talk);
}

/* ---- What follows ------------------------------------------------------------------------------------------------ */

static tdm_status ask(struct talk *t, const tdm_chat_options *like, struct talk_turn *out)
{
    tdm_chat_options o;
    tdm_chat_options_of(t->chat, &o);
    o.max_tokens = 12;
    o.max_answer_tokens = 0;
    o.think = TDM_THINK_OFF;
    o.keep_thinking = TDM_KEEP_AUTO;
    o.on_full = TDM_FULL_STOP;
    o.ignore_eos = o.hash_logits = true;
    o.loop_guard = false;
    o.pace_tps = 0;
    o.sampling = like->sampling;
    o.picture_tokens = like->picture_tokens;
    CHECK(tdm_chat_configure(t->chat, &o, &err) == TDM_OK);
    CHECK(tdm_chat_set_system(t->chat, "S", 1, &err) == TDM_OK);
    t->n = 0;
    tdm_status status = tdm_chat_send(t->chat, "And now?", 8, clock_ns(), &err);
    if (status == TDM_OK) talk_until(t, 1);
    *out = t->turns[0];
    return status;
}

/* What the chat says to one more message, and what a fresh one says that is given the same conversation. */
static void check_next(const char *of)
{
    struct talk fresh;
    struct talk_turn mine, its;
    tdm_chat_options now, o;
    tdm_chat *c = u.talk.chat;
    take_back();
    tdm_chat_stop(c, TDM_FRONT);
    tdm_chat_forget(c);
    tdm_chat_edit(c, 0, &err);
    tdm_chat_pretend_drafts(c, 0, &err);                    /* which makes other replies */
    tdm_chat_select(c, tdm_chat_nodes(c, TDM_FRONT), &err); /* nothing is left out at its path's beginning */
    CHECK(tdm_chat_wait_idle(c, CHECK_PATIENCE_MS));
    talk_events(&u.talk);
    look();
    int n = tdm_chat_path(c, TDM_FRONT, NULL, 0);
    int *path = calloc((size_t)n + 1, sizeof *path);
    tdm_node *nodes = calloc((size_t)n + 1, sizeof *nodes);
    tdm_chat_path(c, TDM_FRONT, path, n);
    for (int i = 0; i < n; i++) {
        REQUIRE(tdm_chat_node(c, TDM_FRONT, path[i], &nodes[i], &err) == TDM_OK);
        nodes[i].parent = i;
    }
    tdm_chat_options_of(c, &now);
    o = now;
    o.pipeline = TDM_PIPE_SINGLE;
    o.speculation = TDM_SPEC_OFF;
    if (talk_open(&fresh, NULL, 1, &o)) {
        CHECK(tdm_chat_load(fresh.chat, "", 0, nodes, n, n, 0, &err) == TDM_OK);
        tdm_status expected = ask(&fresh, &now, &its), status = ask(&u.talk, &now, &mine);
        if (status != expected) CHECK_FAIL("%s: %s: status %d, of a fresh chat %d", of, err.text, status, expected);
        if (status == TDM_OK && expected == TDM_OK) {
            bool same = its.stats.prompt_tokens == mine.stats.prompt_tokens;
            if (u.same_bits)
                same = same && its.stats.ids_hash == mine.stats.ids_hash && its.text == mine.text &&
                       its.stats.logits_hash == mine.stats.logits_hash;
            if (!same)
                CHECK_FAIL("%s: another reply than a fresh chat's: prompts of %u and %u tokens, ids %d, text %d", of,
                           mine.stats.prompt_tokens, its.stats.prompt_tokens, its.stats.ids_hash == mine.stats.ids_hash,
                           its.text == mine.text);
        }
        talk_close(&fresh);
    }
    for (int i = 0; i < n; i++) tdm_node_free(&nodes[i]);
    free(nodes);
    free(path);
}

/* A message may not fit, and a template may refuse a loaded conversation; nothing else may fail. */
static void check_errors(void)
{
    static const char *const allowed[] = {"the context is full", "the message is too long", "the chat template refuses",
                                          "a cold prompt is being measured"};
    for (char *line = strtok(u.talk.errors, "\n"); line; line = strtok(NULL, "\n")) {
        int i = 0;
        while (i < 4 && !strstr(line, allowed[i])) i++;
        if (i == 4) CHECK_FAIL("%s", line);
    }
}

static void one_chat(uint64_t number, const char *of)
{
    static const int contexts[] = {64, 100, 150, 256, 400};
    char name[100];
    seed = number * 0x9e3779b97f4a7c15;
    tdm_chat_options o = talk_options(talk_model(NULL));
    u.context = o.context = contexts[draw(5)];
    o.checkpoint_bytes = draw(2) ? 64 << 20 : 1 + draw(1 << 16);
    o.kv = draw(2) ? TDM_KV_DEFAULT : (tdm_kv)draw(TDM_KV_TYPES);
    if (rarely()) o.prefill_kv = (tdm_kv)draw(TDM_KV_TYPES);
    u.same_bits = !o.prefill_kv || o.prefill_kv == o.kv;
    o.stops = draw(2) ? NULL : (const char *const[]){"e", "the", NULL};
    o.pause_ms = draw(2) ? TDM_PAUSE_NONE : 2;
    snprintf(name, sizeof name, "%s %llu", of, (unsigned long long)number);
    if (!talk_open(&u.talk, NULL, 0, &o)) return;
    for (int i = 0; i < ACTIONS; i++) act();
    end_saving();
    check_errors();
    check_next(name);
    if (check_failures) printf("# %s\n", name);
    talk_close(&u.talk);
}

static void chats(const char *of, int count)
{
    uint64_t first = getenv("TANDEM_SEED") ? strtoull(getenv("TANDEM_SEED"), NULL, 10) : 1;
    snprintf(u.state, sizeof u.state, "%s/state", check_tmp());
    for (int i = 0; i < count && !check_failures; i++) one_chat(first + (uint64_t)i, of);
}

static void chats_of(const char *path, const char *template, int count)
{
    const char *before = talk_path;
    talk_path = path;
    const tdm_model *m = talk_model(NULL);
    if (m && template) talk_set_template(m, template);
    if (m) chats(template ? template : path, count);
    talk_path = before;
}

static int rounds(int few)
{
    return getenv("TANDEM_LONG") ? 40 * few : few;
}

TEST(a_model_with_states)
{
    chats_of("tests/goldens/tiny-a", "qwen35", rounds(4));
}

TEST(replies_that_are_adopted)
{
    chats_of("tests/goldens/tiny-a", "qwen38", rounds(4));
}

TEST(the_built_in_model)
{
    chats_of(talk_builtin, NULL, rounds(1));
}

TEST(models_of_other_families)
{
    static const char *const families[] = {"gemma3", "gpt-oss", "mistral-window", "qwen3next"};
    const char *before = talk_path;
    for (int i = 0; i < 4; i++)
        if (talk_family(families[i])) chats(families[i], rounds(1));
    talk_path = before;
}

TEST(a_model_that_sees)
{
    const char *folder = seeing_model();
    if (!folder) return;
    for (int i = 0; i < PICTURES; i++) u.pictures[i] = seeing_picture(32 + 32 * (uint32_t)i, 64, (unsigned)i);
    chats_of(folder, "pictures", rounds(3));
    for (int i = 0; i < PICTURES; i++) tdm_picture_drop(u.pictures[i]);
    memset(u.pictures, 0, sizeof u.pictures);
}

TEST_MAIN(T(a_model_with_states), T(replies_that_are_adopted), T(the_built_in_model), T(models_of_other_families),
          T(a_model_that_sees))
