/* `tandem bench template`: what the model's chat template costs a conversation, in processor time: a prompt rendered, a
 * key at the end of a draft, and the target of a whole prompt. */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/error.h"
#include "engine/chat/reader/target.h"
#include "engine/object/model.h"
#include "src/bench/bench.h"
#include "src/bench/report/plan.h"

enum { MESSAGE_BYTES = 250, KEYS = 200 };

static const int turns[] = {1, 20, 200};
enum { ROWS = sizeof turns / sizeof *turns };

struct costs {
    bench_table *table;
    struct target_cache *cache;
    struct conversation conversation;
    char draft[KEYS + 64];
};

static double used_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* Words, of which no two messages have the same. */
static void fill_text(char *out, size_t n, unsigned seed)
{
    static const char letters[] = "etaoin shrdlu cmfwyp vbgkqjxz ";
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = letters[(seed >> 24) % (sizeof letters - 1)];
    }
    out[0] = out[n - 1] = 'o';
}

static tdm_status fill_conversation(struct costs *x, int n, tdm_error *err)
{
    char text[MESSAGE_BYTES];
    conversation_clear(&x->conversation);
    for (int i = 0; i < 2 * n; i++) {
        fill_text(text, sizeof text, (unsigned)i);
        tdm_role role = i % 2 ? TDM_ASSISTANT : TDM_USER;
        if (!conversation_add(&x->conversation, x->conversation.leaf, role, text, sizeof text, err)) return TDM_E_NOMEM;
    }
    return TDM_OK;
}

/* The template alone. */
static tdm_status render(const struct costs *x, const struct tdm_model *m, double *us, tdm_error *err)
{
    struct written out = {0};
    int n = x->conversation.n;
    tdm_message *messages = calloc((size_t)n + 1, sizeof *messages);
    if (!messages) return error_set(err, TDM_E_NOMEM, "bench: no memory for messages");
    for (int i = 0; i < n; i++) {
        const struct node *node = &x->conversation.nodes[i + 1];
        messages[i] =
            (tdm_message){.role = node->role, .text = node->text.bytes, .length = node->text.n, .thinking = ""};
    }
    messages[n] = (tdm_message){.role = TDM_USER, .text = x->draft, .length = 32};
    double begin = used_us();
    tdm_status status = template_render(m->template, &(struct template_options){.generation = true}, messages,
                                        (size_t)n + 1, &out, err);
    *us = used_us() - begin;
    written_free(&out);
    free(messages);
    return status;
}

static tdm_status make_target(struct costs *x, size_t keys, bool closed, double *us, tdm_error *err)
{
    struct target_input in = {.conversation = &x->conversation,
                              .level = TDM_SPEC_FULL,
                              .draft = x->draft,
                              .draft_length = keys,
                              .closed = closed};
    struct target target;
    double begin = used_us();
    tdm_status status = target_make(x->cache, &in, &target, err);
    *us = used_us() - begin;
    return status;
}

static tdm_status measure_row(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct costs *x = ctx;
    int n = turns[number];
    double rendered = 0, opening = 0, key = 0, keys = 0, whole = 0;
    (void)round;
    bench_step(b, "%d turns", n);
    tdm_status status = fill_conversation(x, n, err);
    fill_text(x->draft, sizeof x->draft, 77);
    if (!status) status = render(x, b->models.model, &rendered, err);
    if (!status) status = make_target(x, 0, false, &opening, err);
    for (size_t i = 1; i <= KEYS && !status; i++, keys += key) status = make_target(x, i, false, &key, err);
    if (!status) status = make_target(x, KEYS, true, &whole, err);
    if (status) return status;
    int row = bench_table_row(x->table, "%d|%d", n, 2 * n * MESSAGE_BYTES);
    const double cells[] = {rendered, opening, keys / KEYS, whole};
    for (int i = 0; i < 4; i++) bench_table_add(x->table, row, i, cells[i]);
    return TDM_OK;
}

tdm_status bench_template(bench *b, tdm_error *err)
{
    const struct tdm_model *m = b->models.model;
    struct costs x = {0};
    bench_plan plan;
    x.table = bench_new_table(b, "", "the model's chat template, in processor time", "turns|bytes",
                              "render:us|opening:us|key:us|pause:us", err);
    if (!x.table) return err->code;
    bench_table_note(x.table, "render: a prompt's text. opening: of a turn, after a reply that was not read: two "
                              "renderings, and ids for all. key: one more of a draft. pause: the whole prompt");
    tdm_status status = conversation_init(&x.conversation, err);
    if (!status) status = target_cache_new(&x.cache, m->tokenizer, m->template, err);
    bench_plan_open(&plan, x.table);
    for (int i = 0; i < ROWS; i++) bench_plan_add(b, &plan, "%d|%d", turns[i], 2 * turns[i] * MESSAGE_BYTES);
    if (!status) status = bench_plan_run(b, &plan, measure_row, &x, err);
    bench_plan_close(&plan);
    target_cache_free(x.cache);
    conversation_free(&x.conversation);
    return status;
}
