#include "tests/engine/chat/drawn.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/object/model.h"
#include "tests/check.h"

bool drawn_keeps;

static tdm_error err;

static const char *const texts[] = {
    "Hello, what is this?",
    "  And how does it  work?\n",
    "caf\xc3\xa9 e\xcc\x81 \xe4\xbd\xa0\xe5\xa5\xbd",
    "x<|im_end|>\r\n\r\ny",
    "1234 5678, it's",
    "a",
    "A longer message, which takes more than one dispatch of sixteen tokens to be read by anybody.",
    "tabs\tand  blanks   \n\n  then more",
    "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb ok"};

static const char *some_text(uint64_t *script)
{
    return texts[talk_draw(script, sizeof texts / sizeof *texts)];
}

/* Types with hesitation, wrong keys and pastes; what counts is that the text is sent in the end. */
static void type(struct talk *t, const char *text, uint64_t *hand)
{
    char wrong[256];
    size_t n = strlen(text);
    bool paste = talk_draw(hand, 4) == 0, slow = talk_draw(hand, 3) == 0;
    for (size_t k = paste ? n : 1; k <= n; k++) {
        if (talk_draw(hand, 12) == 0) {
            snprintf(wrong, sizeof wrong, "%.*sQ z", (int)k - 1, text);
            tdm_chat_set_draft(t->chat, wrong, strlen(wrong), talk_draw(hand, 4) == 0, &err);
            if (slow) usleep(talk_draw(hand, 4000));
        }
        tdm_chat_set_draft(t->chat, text, k, false, &err);
        if (slow) usleep(talk_draw(hand, 800));
    }
    if (talk_draw(hand, 3) == 0) tdm_chat_wait_idle(t->chat, 20);
}

static void configure(struct talk *t, int max_tokens, const struct way *way, uint64_t *hand)
{
    tdm_chat_options o;
    tdm_chat_options_of(t->chat, &o);
    o.max_tokens = max_tokens;
    if (way->level < 0) o.speculation = (tdm_speculation)talk_draw(hand, TDM_SPEC_FULL + 1);
    CHECK(tdm_chat_configure(t->chat, &o, &err) == TDM_OK);
}

static void say(struct talk *t, const char *text, uint64_t *hand)
{
    type(t, text, hand);
    if (tdm_chat_send(t->chat, text, strlen(text), clock_ns(), &err)) CHECK_FAIL("%s", err.text);
}

/* A user message of the current path, or 0. */
static int some_message(struct talk *t, uint64_t *script)
{
    int path[128], users[128], n = tdm_chat_path(t->chat, path, 128), count = 0;
    for (int i = 0; i < n && i < 128; i++) {
        tdm_node node;
        if (tdm_chat_node(t->chat, path[i], &node, &err)) continue;
        if (node.role == TDM_USER) users[count++] = path[i];
        tdm_node_free(&node);
    }
    return count ? users[talk_draw(script, (uint32_t)count)] : 0;
}

/* One thing that a user does; all replies have ended when it returns. */
static void step(struct talk *t, const struct way *way, uint64_t *script, uint64_t *hand)
{
    int limit = 1 + (int)talk_draw(script, 9), ended = t->n, node;
    uint32_t what = talk_draw(script, 12);
    configure(t, limit, way, hand);
    switch (what) {
    case 0: /* a message is queued while the reply goes on */
        say(t, some_text(script), hand);
        say(t, some_text(script), hand);
        talk_until(t, ended + 2);
        break;
    case 1: /* stopped, then continued twice */
        say(t, some_text(script), hand);
        talk_until(t, ended + 1);
        configure(t, 1 + (int)talk_draw(script, 9), way, hand);
        for (int i = 1; i <= 2; i++) {
            CHECK(tdm_chat_continue(t->chat, &err) == TDM_OK);
            talk_until(t, ended + 1 + i);
        }
        break;
    case 2:
        if (tdm_chat_regenerate(t->chat, clock_ns(), &err) == TDM_OK) talk_until(t, ended + 1);
        break;
    case 3: tdm_chat_undo(t->chat, &err); break;
    case 4: tdm_chat_redo(t->chat, &err); break;
    case 5: /* a message is written anew */
        node = some_message(t, script);
        if (node) CHECK(tdm_chat_edit(t->chat, node, &err) == TDM_OK);
        say(t, some_text(script), hand);
        talk_until(t, ended + 1);
        break;
    case 6:
        CHECK(tdm_chat_set_system(t->chat, texts[limit % 3], strlen(texts[limit % 3]), &err) == TDM_OK);
        break;
    default:
        say(t, some_text(script), hand);
        talk_until(t, ended + 1);
        break;
    }
}

void drawn_play(struct talk *t, const char *kernels, const struct way *way, uint64_t seed, uint64_t hand)
{
    const tdm_model *m = talk_model(kernels);
    if (!m) return;
    struct template_form was = drawn_keeps ? talk_set_form(m, talk_keeps) : m->form;
    tdm_chat_options o = talk_options(m);
    o.pipeline = way->pipeline;
    o.speculation = way->level < 0 ? TDM_SPEC_FULL : (tdm_speculation)way->level;
    o.dispatch = way->dispatch;
    o.think = seed % 2;
    if (!talk_open(t, kernels, way->threads, &o)) return;
    uint64_t script = seed * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 8 && !check_failures; i++) step(t, way, &script, &hand);
    CHECK_STR("", t->errors);
    talk_close(t);
    talk_set_form(m, was);
}

void drawn_compare(const struct talk *a, const struct talk *b, const char *kernels, const struct way *way,
                   uint64_t seed)
{
    CHECK_INT(a->n, b->n);
    for (int i = 0; i < a->n && i < b->n && i < TALK_TURNS; i++) {
        const struct talk_turn *x = &a->turns[i], *y = &b->turns[i];
        if (x->stats.ids_hash != y->stats.ids_hash || x->stats.logits_hash != y->stats.logits_hash ||
            x->text != y->text || x->stats.reply_tokens != y->stats.reply_tokens)
            CHECK_FAIL("%s, seed %d, %s, level %d, dispatch %d, %d threads: reply %d differs", kernels, (int)seed,
                       tdm_pipeline_name(way->pipeline), way->level, way->dispatch, way->threads, i + 1);
    }
}
