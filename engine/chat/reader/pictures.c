#include "engine/chat/reader/pictures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/error.h"
#include "engine/chat/answer.h"
#include "engine/chat/lost.h"
#include "engine/chat/reader/retarget.h"

/* The model that reads pictures, and says where they are encoded. */
static const struct backend_model *reads(const struct tdm_chat *c)
{
    return c->side[TDM_PREFILL_UNIT].residence.model;
}

/* ---- What is wanted ---------------------------------------------------------------------------------------------- */

/* Goes over all pictures that stand somewhere; false of `each` ends it. A prompter that has none to evaluate may still
 * be in its last job. */
typedef bool each_picture(struct tdm_chat *c, struct pads *pads, tdm_picture *picture, void *ctx);

static bool is_prompting(const struct tdm_chat *c)
{
    return stage_prompts(c->front->stage);
}

static void go_over(struct tdm_chat *c, each_picture *each, void *ctx)
{
    struct reader *r = &c->reader;
    bool more = true;
    for (size_t i = 0; more && i < r->prompter.n_pictures; i++)
        more = each(c, r->prompter.pictures[i].pads, r->prompter.pictures[i].picture, ctx);
    for (uint32_t i = 0; more && i < r->target.n_pictures; i++)
        more = each(c, r->target.pictures[i].pads, r->target.pictures[i].picture, ctx);
    /* While a reply is written the draft is no part of the target. */
    bool typed = chat_level(c) >= TDM_SPEC_DRAFT && !c->draft.held && chat_phase(c) == PHASE_DECODE;
    for (size_t i = 0; more && typed && i < c->draft.pictures.n; i++) {
        struct pads *pads;
        tdm_picture *picture = c->draft.pictures.at[i].picture;
        if (!vision_pads(c->model->vision, reads(c), picture, chat_prompt_options(c).picture_tokens, &pads, NULL))
            more = each(c, pads, picture, ctx);
    }
}

struct looked {
    struct pads *pads;
    bool stands;
};

static bool look(struct tdm_chat *c, struct pads *pads, tdm_picture *picture, void *ctx)
{
    struct looked *l = ctx;
    (void)c, (void)picture;
    l->stands = pads == l->pads;
    return !l->stands;
}

static bool stands(struct tdm_chat *c, struct pads *pads)
{
    struct looked l = {.pads = pads};
    go_over(c, look, &l);
    return l.stands;
}

static bool holds(const struct reader_pictures *s, const struct pads *pads)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->held[i] == pads) return true;
    return false;
}

static bool add_held(struct reader_pictures *s, struct pads *pads)
{
    if (s->n == s->room) {
        size_t room = s->room ? 2 * s->room : 8;
        struct pads **grown = realloc(s->held, room * sizeof *grown);
        if (!grown) return false;
        s->held = grown;
        s->room = room;
    }
    s->held[s->n++] = pads;
    return true;
}

/* Drops the encoding and the rows of pictures that are in no prompt or draft any more. */
static void let_go(struct tdm_chat *c)
{
    struct reader_pictures *s = &c->reader.pictures;
    if (s->running && !stands(c, vision_job_pads(s->running))) {
        vision_job_free(s->running);
        s->running = NULL;
    }
    /* What the follower evaluates just now may have been taken out of the target. */
    for (size_t i = 0; i < s->n && !c->reader.follower.plan.active;) {
        if (stands(c, s->held[i])) {
            i++;
            continue;
        }
        vision_release(c->model->vision, s->held[i]);
        s->held[i] = s->held[--s->n];
    }
}

/* Tokens of the target that need not be evaluated, since a state has them, now or once a checkpoint is restored. */
static uint32_t reached(struct tdm_chat *c)
{
    const struct follower *f = &c->reader.follower;
    return f->plan.active ? follower_in_state(f, &c->reader.target) : follower_begins_at(f, &c->reader.target);
}

struct choice {
    uint32_t reached;
    size_t passed; /* pictures that were gone over */
    struct pads *pads;
    tdm_picture *picture;
};

/* Whether the picture stands in the target, and all its places are among the first n ids. */
static bool is_reached(const struct target *t, const struct pads *pads, uint32_t n)
{
    bool there = false;
    for (uint32_t i = 0; i < t->n_pictures; i++) {
        const struct target_picture *p = &t->pictures[i];
        if (p->pads != pads) continue;
        if (p->first + pads->tokens > n) return false;
        there = true;
    }
    return there;
}

/* Holds the rows of pictures that are encoded, and chooses the first picture that isn't. */
static bool choose(struct tdm_chat *c, struct pads *pads, tdm_picture *picture, void *ctx)
{
    struct reader_pictures *s = &c->reader.pictures;
    struct choice *choice = ctx;
    bool prompter = choice->passed++ < c->reader.prompter.n_pictures;
    if (holds(s, pads) || pads == s->failed || (prompter && !is_prompting(c))) return true;
    if (vision_hold(c->model->vision, pads)) {
        if (!add_held(s, pads)) vision_release(c->model->vision, pads);
        return true;
    }
    if (!is_prompting(c) && is_reached(&c->reader.target, pads, choice->reached)) return true;
    choice->pads = pads;
    choice->picture = picture;
    return false;
}

/* A cold prompt's pictures are encoded as if they were new: that is what is measured. */
static void choose_cold(struct tdm_chat *c, struct choice *choice)
{
    struct prompter *p = &c->reader.prompter;
    while (is_prompting(c) && p->cold && p->seen < p->n_pictures && !choice->pads) {
        const struct target_picture *next = &p->pictures[p->seen++];
        size_t same = 0;
        while (p->pictures[same].pads != next->pads) same++;
        if (same + 1 < p->seen) continue; /* it stands there twice */
        choice->pads = next->pads;
        choice->picture = next->picture;
    }
}

/* ---- Encoding ---------------------------------------------------------------------------------------------------- */

/* Without a picture's rows nothing behind it is read: a turn that waits for it fails. */
static void fail(struct tdm_chat *c, struct pads *pads, const char *why)
{
    struct reader_pictures *s = &c->reader.pictures;
    s->failed = pads;
    snprintf(s->why, sizeof s->why, "%.150s", why);
    events_post_line(c->events, TDM_EV_ERROR, "a picture can't be encoded: %s", why);
    c->reader.failed = true;
    if (chat_phase(c) == PHASE_PROMPT) answer_end_all(c, c->front, TDM_FINISH_FAILED);
}

static void job_see(void *ctx, struct team *team, struct activity_span *span)
{
    struct tdm_chat *c = ctx;
    struct reader_pictures *s = &c->reader.pictures;
    struct pads *pads = vision_job_pads(s->running);
    bool done;
    tdm_error err = {0};
    bool more = vision_job_step(s->running, team, &done, &err);
    span->tokens = done ? pads->tokens : 0;
    chat_lock(c);
    s->busy = false;
    s->step = vision_job_done(s->running);
    if (!more) {
        vision_job_free(s->running);
        s->running = NULL;
    }
    if (done && !add_held(s, pads)) vision_release(c->model->vision, pads);
    if (!more && !done && !lost_check(c, err.text)) fail(c, pads, err.text);
    pthread_cond_broadcast(&c->settled);
    chat_unlock(c);
}

bool pictures_next(struct tdm_chat *c, struct work *work, bool *busy)
{
    struct reader_pictures *s = &c->reader.pictures;
    tdm_error err = {0};
    *busy = s->busy;
    bool any = c->reader.target.n_pictures || c->reader.prompter.n_pictures || c->draft.pictures.n;
    if (s->busy || !c->model->vision || !(any || s->running || s->n)) return false;
    let_go(c);
    struct choice first = {.reached = reached(c)};
    if (!s->running) choose_cold(c, &first);
    if (!s->running && !first.pads) go_over(c, choose, &first);
    if (first.pads) {
        if (vision_job_new(&s->running, c->model->vision, reads(c), first.picture, first.pads,
                           (int)machine_workers(c->machine->machine), &err)) {
            fail(c, first.pads, err.text);
            return false;
        }
        s->step = 0;
    }
    if (!s->running) return false;
    s->busy = true;
    *work = (struct work){.fn = job_see,
                          .ctx = c,
                          .kind = SPAN_PICTURE,
                          .on_borrowed_cores = !vision_offloaded(c->model->vision, reads(c))};
    return true;
}

/* ---- What is seen ------------------------------------------------------------------------------------------------ */

void pictures_tell(const struct tdm_chat *c, const tdm_picture *p, tdm_picture_status *out)
{
    const struct reader_pictures *s = &c->reader.pictures;
    const struct target *t = &c->reader.target;
    struct vision *vision = c->model->vision;
    struct pads *pads;
    *out = (tdm_picture_status){.stage = TDM_PICTURE_WAITING};
    if (!vision || vision_pads(vision, reads(c), p, chat_prompt_options(c).picture_tokens, &pads, NULL)) return;
    out->tokens = pads->tokens;
    out->steps = vision_job_steps(vision);
    uint32_t i = 0, read = follower_covered(&c->reader.follower, t);
    while (i < t->n_pictures && t->pictures[i].pads != pads) i++;
    if (i < t->n_pictures && read > t->pictures[i].first) out->read = read - t->pictures[i].first;
    if (out->read > pads->tokens) out->read = pads->tokens;
    if (out->read == pads->tokens) {
        out->stage = TDM_PICTURE_READ;
    } else if (s->running && vision_job_pads(s->running) == pads) {
        out->stage = TDM_PICTURE_ENCODING;
        out->done = s->step;
    } else if (vision_has(vision, pads) || out->read) {
        out->stage = TDM_PICTURE_READING;
    } else if (s->failed == pads) {
        out->stage = TDM_PICTURE_FAILED;
        memcpy(out->why, s->why, sizeof out->why);
    }
    if (out->stage >= TDM_PICTURE_READING && out->stage <= TDM_PICTURE_READ) out->done = out->steps;
}

void pictures_close(struct reader_pictures *s, struct vision *vision)
{
    vision_job_free(s->running);
    for (size_t i = 0; i < s->n; i++) vision_release(vision, s->held[i]);
    free(s->held);
}
