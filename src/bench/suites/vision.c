/* `tandem bench images` with a model that sees: a question about a picture, asked at once and after it was read ahead.
 * Each picture is another one, so that nothing is encoded before. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/tandem/measure.h"
#include "src/bench/bench.h"
#include "src/bench/report/plan.h"
#include "src/figures/figures.h"

static const uint32_t sides[][2] = {{320, 240}, {640, 480}, {1024, 1024}};
enum { SIDES = sizeof sides / sizeof *sides, REPLY = 4 };
enum { S_ENCODE, S_READ, S_COLD, S_OF_SUM, S_WARM, S_AHEAD, S_TOKENS };
static const char question[] = "What is to be seen here?";

struct seeing {
    bench *b;
    bench_table *table;
    tdm_machine *machine;
    unsigned pictures; /* so far */
};

static tdm_status make_picture(struct seeing *s, const uint32_t *side, tdm_picture **out, tdm_error *err)
{
    size_t bytes = (size_t)3 * side[0] * side[1];
    uint8_t *rgb = malloc(bytes);
    if (!rgb) return error_set(err, TDM_E_NOMEM, "bench: no memory for a picture");
    s->pictures++;
    for (size_t i = 0; i < bytes; i++) rgb[i] = (uint8_t)((i + s->pictures) * 2654435761u >> 24);
    tdm_status status = tdm_picture_new(out, rgb, side[0], side[1], err);
    free(rgb);
    return status;
}

static tdm_status end_of_turn(tdm_chat *c, tdm_turn_stats *out, tdm_error *err)
{
    tdm_event e;
    do {
        tdm_chat_wait_event(c, &e, -1);
        if (e.kind == TDM_EV_ERROR) return error_set(err, TDM_E_REFUSED, "%.*s", (int)e.length, e.text);
    } while (e.kind != TDM_EV_END || e.writing);
    *out = e.stats;
    return TDM_OK;
}

/* What encoding took, and reading, by the units' spans; all that was done before Enter; the time to the first token. */
struct asked {
    double encode_ms, read_ms, ahead_ms, ttft_ms;
};

/* All reading since the machine was opened. */
static double reading_ms(const tdm_machine *m)
{
    uint64_t ns = 0;
    for (int unit = 0; unit < TDM_UNITS; unit++) {
        tdm_unit_info info;
        tdm_unit_describe(m, unit, &info);
        for (int kind = 0; kind <= TDM_SPAN_PROMPT; kind++) ns += info.total[kind].ns;
    }
    return 1e-6 * (double)ns;
}

static tdm_status ask(struct seeing *s, const uint32_t *side, bool ahead, struct asked *out, tdm_error *err)
{
    tdm_chat *c = NULL;
    tdm_picture *picture = NULL;
    tdm_chat_options o;
    tdm_picture_figures before, after;
    tdm_turn_stats stats;
    bench_chat_options(s->b, &o);
    o.speculation = ahead ? TDM_SPEC_FULL : TDM_SPEC_OFF;
    o.max_tokens = REPLY;
    tdm_status status = make_picture(s, side, &picture, err);
    if (!status) status = tdm_chat_open(&c, s->b->models.model, s->machine, &o, err);
    tdm_placed_picture shown = {picture, 0};
    if (!status) {
        tdm_chat_wait_idle(c, -1);
        tdm_chat_picture_figures(c, &before);
        out->read_ms = -reading_ms(s->machine);
        int64_t start = clock_ns();
        if (ahead) status = tdm_chat_set_draft_pictures(c, question, strlen(question), &shown, 1, false, err);
        if (ahead && !status) tdm_chat_wait_idle(c, -1);
        out->ahead_ms = 1e-6 * (double)(clock_ns() - start);
    }
    if (!status) status = tdm_chat_send_pictures(c, question, strlen(question), &shown, 1, 1, clock_ns(), err);
    if (!status) status = end_of_turn(c, &stats, err);
    if (!status) {
        tdm_chat_picture_figures(c, &after);
        out->encode_ms = 1e-6 * (double)(after.encode_ns - before.encode_ns);
        out->read_ms += reading_ms(s->machine);
        out->ttft_ms = figures_ttft_ms(&stats, 0);
    }
    tdm_chat_close(c);
    tdm_picture_drop(picture);
    return status;
}

static tdm_status measure_row(bench *b, void *ctx, int number, int round, tdm_error *err)
{
    struct seeing *s = ctx;
    const uint32_t *side = sides[number];
    struct asked cold, warm, first;
    tdm_picture_fit fit;
    bench_step(b, "a question about %u x %u", side[0], side[1]);
    tdm_status status = tdm_picture_fit_of(b->models.model, side[0], side[1], 0, &fit, err);
    if (!status && !round) status = ask(s, (const uint32_t[]){64, 64}, false, &first, err); /* packs the weights */
    if (!status) status = ask(s, side, false, &cold, err);
    if (!status) status = ask(s, side, true, &warm, err);
    if (status) return status;
    int row = bench_table_row(s->table, "%ux%u", side[0], side[1]);
    bench_table_add(s->table, row, S_ENCODE, cold.encode_ms);
    bench_table_add(s->table, row, S_READ, cold.read_ms);
    bench_table_add(s->table, row, S_COLD, cold.ttft_ms);
    bench_table_add(s->table, row, S_OF_SUM, cold.ttft_ms / (cold.encode_ms + cold.read_ms));
    bench_table_add(s->table, row, S_WARM, warm.ttft_ms);
    bench_table_add(s->table, row, S_AHEAD, warm.ahead_ms);
    bench_table_add(s->table, row, S_TOKENS, fit.tokens);
    return TDM_OK;
}

tdm_status bench_vision(bench *b, tdm_error *err)
{
    struct seeing s = {.b = b};
    bench_plan plan;
    s.table =
        bench_new_table(b, "asked",
                        "a question about a picture: asked at once (cold: it is encoded, and the prompt read, "
                        "after Enter; of the sum of both), and when all was read ahead (warm); ahead: what that "
                        "took",
                        "picture", "encode:ms|read:ms|cold_TTFT:ms|of_sum:x|warm_TTFT:ms|ahead:ms|tokens:tokens", err);
    if (!s.table) return err->code;
    tdm_status status = bench_machine(b, &s.machine, !options_flag(b->o, OPTION_NO_LENDING), err);
    bench_plan_open(&plan, s.table);
    for (int i = 0; i < SIDES; i++) bench_plan_add(b, &plan, "%ux%u", sides[i][0], sides[i][1]);
    if (!status) status = bench_plan_run(b, &plan, measure_row, &s, err);
    bench_plan_close(&plan);
    tdm_machine_close(s.machine);
    return status;
}
