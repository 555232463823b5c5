#include "tests/engine/chat/seeded.h"

#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/object/model.h"
#include "tests/check.h"

const char *seeded_template;
tdm_picture *seeded_pictures[4];
uint32_t seeded_n_pictures;
bool seeded_chooses;
int seeded_steps = 8;
void (*seeded_options)(tdm_chat_options *o);
void (*seeded_opened)(tdm_chat *c);

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

/* What is sent. */
struct message {
    const char *text;
    tdm_placed_picture shown[2];
    size_t n;
};

static struct message new_message(uint64_t *script)
{
    struct message m = {.text = texts[talk_draw(script, sizeof texts / sizeof *texts)]};
    size_t at = 0, length = strlen(m.text);
    for (uint32_t n = seeded_n_pictures ? talk_draw(script, 3) : 0; m.n < n; m.n++) {
        at += talk_draw(script, (uint32_t)(length - at) + 1);
        while ((m.text[at] & 0xc0) == 0x80) at++; /* a character begins there */
        m.shown[m.n] = (tdm_placed_picture){seeded_pictures[talk_draw(script, seeded_n_pictures)], at};
    }
    return m;
}

/* A draft that has `typed` bytes of the message, and as many of its pictures as stand there, at most `shown`. */
static void draft(struct talk *t, const struct message *m, const char *text, size_t n, size_t typed, size_t shown,
                  bool held)
{
    while (shown && m->shown[shown - 1].at > typed) shown--;
    if (tdm_chat_set_draft_pictures(t->chat, text, n, m->shown, shown, held, &err)) CHECK_FAIL("%s", err.text);
}

/* Types with hesitation, wrong keys and pastes; what counts is that the message is sent in the end. */
static void type(struct talk *t, const struct message *m, uint64_t *hand)
{
    char wrong[256];
    const char *text = m->text;
    size_t n = strlen(text);
    bool paste = talk_draw(hand, 4) == 0, slow = talk_draw(hand, 3) == 0;
    for (size_t k = paste ? n : 1; k <= n; k++) {
        if (talk_draw(hand, 12) == 0) {
            snprintf(wrong, sizeof wrong, "%.*sQ z", (int)k - 1, text);
            size_t shown = m->n && talk_draw(hand, 2) ? m->n : 0; /* or they are taken back */
            draft(t, m, wrong, strlen(wrong), k - 1, shown, talk_draw(hand, 4) == 0);
            if (slow) usleep(talk_draw(hand, 4000));
        }
        draft(t, m, text, k, k, m->n, false);
        if (slow) usleep(talk_draw(hand, 800));
    }
    if (talk_draw(hand, 3) == 0) tdm_chat_wait_idle(t->chat, 20);
}

static void configure(struct talk *t, int max_tokens, const struct way *way, uint64_t *hand)
{
    tdm_chat_options o;
    tdm_chat_options_of(t->chat, &o);
    o.max_tokens = max_tokens;
    if (way->level < 0) o.speculation = (tdm_speculation)(TDM_SPEC_OFF + talk_draw(hand, TDM_SPEC_FULL));
    CHECK(tdm_chat_configure(t->chat, &o, &err) == TDM_OK);
}

static void say(struct talk *t, uint64_t *script, uint64_t *hand)
{
    struct message m = new_message(script);
    type(t, &m, hand);
    if (tdm_chat_send_pictures(t->chat, m.text, strlen(m.text), m.shown, m.n, 1, clock_ns(), &err))
        CHECK_FAIL("%s", err.text);
}

/* A user message of the current path, or 0. */
static int some_message(struct talk *t, uint64_t *script)
{
    int path[128], users[128], n = tdm_chat_path(t->chat, TDM_FRONT, path, 128), count = 0;
    for (int i = 0; i < n && i < 128; i++) {
        tdm_node node;
        if (tdm_chat_node(t->chat, TDM_FRONT, path[i], &node, &err)) continue;
        if (node.role == TDM_USER) users[count++] = path[i];
        tdm_node_free(&node);
    }
    return count ? users[talk_draw(script, (uint32_t)count)] : 0;
}

/* One thing that a user does; all replies have ended when it returns. */
static void step(struct talk *t, const struct way *way, uint64_t *script, uint64_t *hand)
{
    int limit = 1 + (int)talk_draw(script, 9), ended = t->n, node;
    uint32_t what = talk_draw(script, seeded_chooses ? 14 : 12);
    configure(t, limit, way, hand);
    switch (what) {
    case 0: /* a message is queued while the reply goes on */
        say(t, script, hand);
        say(t, script, hand);
        talk_until(t, ended + 2);
        break;
    case 1: /* stopped, then continued twice */
        say(t, script, hand);
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
        say(t, script, hand);
        talk_until(t, ended + 1);
        break;
    case 6:
        CHECK(tdm_chat_set_system(t->chat, texts[limit % 3], strlen(texts[limit % 3]), &err) == TDM_OK);
        break;
    case 12:
    case 13: /* another path */
        node = tdm_chat_nodes(t->chat, TDM_FRONT);
        if (node) CHECK(tdm_chat_select(t->chat, 1 + (int)talk_draw(script, (uint32_t)node), &err) == TDM_OK);
        break;
    default:
        say(t, script, hand);
        talk_until(t, ended + 1);
        break;
    }
}

void seeded_play(struct talk *t, const char *kernels, const struct way *way, uint64_t seed, uint64_t hand)
{
    const tdm_model *m = talk_model(kernels);
    if (!m) return;
    if (seeded_template) talk_set_template(m, seeded_template);
    tdm_chat_options o = talk_options(m);
    o.pipeline = way->pipeline;
    o.speculation = way->level < 0 ? TDM_SPEC_FULL : (tdm_speculation)way->level;
    o.dispatch = way->dispatch;
    if (template_facts(m->template)->thinkings >> TDM_THINK_ON & 1) o.think = seed % 2;
    if (seeded_options) seeded_options(&o);
    if (!talk_open(t, kernels, way->threads, &o)) return;
    if (seeded_opened) seeded_opened(t->chat);
    uint64_t script = seed * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < seeded_steps && !check_failures; i++) step(t, way, &script, &hand);
    CHECK_STR("", t->errors);
    talk_close(t);
    if (seeded_template) talk_set_template(m, "qwen35");
}

void seeded_compare(const struct talk *a, const struct talk *b, const char *kernels, const struct way *way,
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
