#include "tests/screens/fake_demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/demo/run.h"

#define MS INT64_C(1000000)

static demo_run *running;

static const char *const replies[] = {"Best wishes to Bruno! A dog is a good companion.",
                                      "Your dog's name is Bruno. You told me so when you said hello.",
                                      "On Tuesday you want to bake bread."};

char *demo_run_script(void)
{
    return strdup("tests/screens/demo_script.json");
}

tdm_status demo_run_check(const script *s, const char *name, tdm_error *err)
{
    (void)s, (void)name, (void)err;
    return TDM_OK;
}

tdm_status demo_run_begin(demo_run *r, const demo_wants *wants, tdm_error *err)
{
    (void)err;
    *r = (demo_run){.wants = *wants, .task.running = true};
    running = r;
    return TDM_OK;
}

static void span(demo_take *t, int unit, enum view_kind kind, int64_t from, int64_t length, int tokens)
{
    demo_spans_add(&t->units[unit], &(struct view_span){from, from + length, kind, tokens, 0}, NULL);
}

/* Keys every 80 ms; the words of the draft are read as they are typed, or all is read after Enter. */
static int64_t make_turn(demo_take *take, int k, const char *text, bool ahead, bool scaled, int64_t at)
{
    demo_turn *t = &take->turns[k];
    int64_t dispatch = (scaled ? 300 : 8) * MS, token = (scaled ? 90 : 1) * MS;
    t->key_ns = at;
    for (size_t i = 1; i <= strlen(text); i++, at += 80 * MS) {
        buffer_append(&t->drafts, text, i, NULL);
        demo_marks_add(&t->keys, at, t->drafts.n, NULL);
        if (!ahead || text[i] != ' ') continue;
        span(take, TDM_PREFILL_UNIT, VIEW_K_DRAFT, at + 10 * MS, dispatch / 3, 1);
        span(take, TDM_DECODE_UNIT, VIEW_K_LENT, at + 10 * MS, dispatch / 3, 0);
        demo_marks_add(&t->reads, at + 10 * MS + dispatch / 3, i, NULL);
    }
    if (ahead) span(take, TDM_PREFILL_UNIT, VIEW_K_SUFFIX, at + 100 * MS, dispatch / 3, 4);
    if (ahead) demo_marks_add(&t->reads, at + 100 * MS + dispatch / 3, strlen(text), NULL);
    t->enter_ns = at += 800 * MS;
    for (int i = 0; i < 7 && !ahead; i++, at += dispatch) {
        span(take, TDM_PREFILL_UNIT, i < 5 ? VIEW_K_HISTORY : VIEW_K_PROMPT, at, dispatch, 32);
        span(take, TDM_DECODE_UNIT, VIEW_K_LENT, at, dispatch, 0);
    }
    at += MS / 4;
    span(take, TDM_DECODE_UNIT, VIEW_K_HANDOVER, at - MS / 8, MS / 8, 0);
    t->first_ns = at;
    const char *reply = replies[k % 3];
    for (size_t i = 1; i <= strlen(reply); i++) {
        if (reply[i] && reply[i] != ' ') continue;
        demo_marks_add(&t->texts, at, i, NULL);
        span(take, TDM_DECODE_UNIT, VIEW_K_DECODE, at, token, 1);
        if (ahead && i % 2) span(take, TDM_PREFILL_UNIT, VIEW_K_HISTORY, at + token, token / 2, 2);
        at += token;
    }
    buffer_append(&t->reply, reply, strlen(reply), NULL);
    return t->end_ns = at;
}

static void make_show(demo_run *r, demo_shows *out, demo_timing timing, int turns)
{
    enum { REST_MS = 1500 };
    demo_take takes[DEMO_SIDES];
    const script *s = r->wants.script;
    for (int i = 0; i < DEMO_SIDES; i++) {
        int64_t at = 0;
        demo_take_new(&takes[i], turns, NULL);
        for (int k = 0; k < turns; k++)
            at = make_turn(&takes[i], k, s->turns[k].text, i == DEMO_AHEAD, timing == DEMO_SCALED, at + REST_MS * MS);
    }
    demo_show_make(&out->all[timing], &takes[DEMO_AFTER], &takes[DEMO_AHEAD], REST_MS * MS, NULL);
    for (int i = 0; i < DEMO_SIDES; i++) demo_take_free(&takes[i]);
}

static void make_shows(demo_run *r, demo_shows *out, int turns)
{
    make_show(r, out, DEMO_MEASURED, turns);
    if (r->wants.builtin) make_show(r, out, DEMO_SCALED, turns);
    snprintf(out->origins[DEMO_SCALED], sizeof out->origins[0], "measured with the built-in model, shown as a 4B");
    snprintf(out->origins[DEMO_MEASURED], sizeof out->origins[0],
             "Qwen3.5-4B q4_k, a processor, 2 cores, 22 Nov 09:12");
}

void fake_demo_at(int run, int done_of)
{
    atomic_store(&running->run, run);
    atomic_store(&running->done_of[run ? run - 1 : 0], done_of);
}

void fake_demo_first(void)
{
    make_shows(running, &running->first, 1);
    atomic_store(&running->first_made, true);
}

void fake_demo_made(const char *why)
{
    demo_run *r = running;
    if (why) {
        r->err.code = TDM_E_CONTEXT;
        snprintf(r->err.text, sizeof r->err.text, "%s", why);
    } else {
        make_shows(r, &r->whole, r->wants.script->n);
    }
    atomic_store(&r->task.done, true);
}

bool demo_run_take(demo_run *r)
{
    if (!r->task.running || !atomic_load(&r->task.done)) return false;
    r->task.running = false;
    return true;
}

char *demo_run_end(demo_run *r)
{
    for (int i = 0; i < DEMO_TIMINGS; i++) {
        demo_show_free(&r->first.all[i]);
        demo_show_free(&r->whole.all[i]);
    }
    running = NULL;
    return NULL;
}
