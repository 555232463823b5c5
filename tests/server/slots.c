#include "tests/server/slots.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/error.h"

enum { STEP = 32, CHECKPOINTS = 6 };

struct checkpoint {
    size_t tokens; /* 0: none */
    void *bytes;
    size_t n;
};

struct slot {
    slots *all;
    int id;
    bool busy, forget;
    int64_t used_ns;
    tdm_sequence *session;
    tdm_ids ids;   /* what the session has evaluated */
    tdm_ids known; /* the ids that the checkpoints stand on: the longest prompt's */
    struct checkpoint checkpoints[CHECKPOINTS];
    int next_checkpoint;
};

struct slots {
    slots_options options;
    tdm_model *model;
    tdm_machine *machine;
    pthread_mutex_t lock; /* guards busy, forget, used_ns, the counts and the turns */
    pthread_cond_t freed, turned;
    uint64_t next_turn, turn; /* of those who want to evaluate, first come first served */
    uint64_t prompt_tokens, reply_tokens;
    slot *slot;
};

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

static void begin_turn(slots *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t mine = s->next_turn++;
    while (s->turn != mine) pthread_cond_wait(&s->turned, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void end_turn(slots *s, uint64_t *count, uint64_t n)
{
    pthread_mutex_lock(&s->lock);
    s->turn++;
    *count += n;
    pthread_cond_broadcast(&s->turned);
    pthread_mutex_unlock(&s->lock);
    if (s->options.slow_ms) usleep((useconds_t)s->options.slow_ms * 1000);
}

/* ---- What a slot knows ------------------------------------------------------------------------------------------- */

static size_t common(const tdm_ids *a, const tdm_ids *b)
{
    size_t n = 0;
    while (n < a->n && n < b->n && a->ids[n] == b->ids[n]) n++;
    return n;
}

static bool append_ids(tdm_ids *ids, const tdm_id *more, size_t n)
{
    if (ids->n + n > ids->capacity) {
        size_t room = 2 * (ids->n + n) + 64;
        tdm_id *grown = realloc(ids->ids, room * sizeof *grown);
        if (!grown) return false;
        ids->ids = grown;
        ids->capacity = room;
    }
    if (n) memcpy(ids->ids + ids->n, more, n * sizeof *more);
    ids->n += n;
    return true;
}

static void drop_checkpoints(slot *one)
{
    for (int i = 0; i < CHECKPOINTS; i++) {
        free(one->checkpoints[i].bytes);
        one->checkpoints[i] = (struct checkpoint){0};
    }
    one->known.n = 0;
}

/* Tokens of the prompt from which the slot can go on, and the checkpoint that has them; NULL: its state itself. */
static size_t best(const slot *one, const tdm_ids *prompt, const struct checkpoint **which)
{
    size_t most = one->ids.n <= prompt->n && common(&one->ids, prompt) == one->ids.n ? one->ids.n : 0;
    /* The last token's logits are there only while it is the last that was evaluated. */
    if (most == prompt->n && !tdm_sequence_logits(one->session)) most = 0;
    size_t alike = common(&one->known, prompt);
    *which = NULL;
    for (int i = 0; i < CHECKPOINTS; i++) {
        const struct checkpoint *c = &one->checkpoints[i];
        if (c->tokens <= most || c->tokens > alike || c->tokens >= prompt->n) continue;
        most = c->tokens;
        *which = c;
    }
    return most;
}

static void keep_checkpoint(slot *one, const tdm_ids *prompt, size_t tokens)
{
    if (!one->all->options.checkpoints || tokens < 2) return;
    size_t alike = common(&one->known, prompt);
    for (int i = 0; i < CHECKPOINTS; i++) {
        struct checkpoint *c = &one->checkpoints[i];
        if (c->tokens == tokens && tokens <= alike) return;
        if (c->tokens <= alike) continue;
        free(c->bytes);
        *c = (struct checkpoint){0};
    }
    one->known.n = alike;
    struct checkpoint made = {.tokens = tokens};
    if (!append_ids(&one->known, prompt->ids + alike, prompt->n - alike) ||
        tdm_sequence_save(one->session, &made.bytes, &made.n, NULL))
        return;
    struct checkpoint *at = &one->checkpoints[one->next_checkpoint];
    one->next_checkpoint = (one->next_checkpoint + 1) % CHECKPOINTS;
    free(at->bytes);
    *at = made;
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

tdm_status slots_open(slots **out, const slots_options *options, tdm_error *err)
{
    slots *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return error_set(err, TDM_E_NOMEM, "no memory for slots");
    s->options = *options;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->freed, NULL);
    pthread_cond_init(&s->turned, NULL);
    tdm_model_options model = {.path = options->model, .builtin = options->model, .threads = options->threads};
    tdm_status status = tdm_model_open(&s->model, &model, err);
    if (!status) status = tdm_machine_open(&s->machine, &(tdm_machine_options){.threads = options->threads}, err);
    if (!status && !(s->slot = calloc((size_t)options->n, sizeof *s->slot)))
        status = error_set(err, TDM_E_NOMEM, "no memory for slots");
    for (int i = 0; !status && i < options->n; i++) {
        s->slot[i] = (slot){.all = s, .id = i};
        tdm_sequence_options session = {.unit = TDM_DECODE_UNIT, .kv = TDM_KV_F16, .context = options->context};
        status = tdm_sequence_open(&s->slot[i].session, s->model, s->machine, &session, err);
    }
    if (status)
        slots_close(s);
    else
        *out = s;
    return status;
}

void slots_close(slots *s)
{
    if (!s) return;
    for (int i = 0; s->slot && i < s->options.n; i++) {
        slot *one = &s->slot[i];
        drop_checkpoints(one);
        tdm_ids_free(&one->ids);
        tdm_ids_free(&one->known);
        tdm_sequence_close(one->session);
    }
    free(s->slot);
    tdm_machine_close(s->machine);
    tdm_model_close(s->model);
    free(s);
}

const tdm_model *slots_model(const slots *s)
{
    return s->model;
}

int slot_id(const slot *one)
{
    return one->id;
}

void slots_forget(slots *s)
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < s->options.n; i++) s->slot[i].forget = true;
    pthread_mutex_unlock(&s->lock);
}

bool slots_is_busy(slots *s, int id)
{
    pthread_mutex_lock(&s->lock);
    bool busy = s->slot[id].busy;
    pthread_mutex_unlock(&s->lock);
    return busy;
}

void slots_evaluated(slots *s, uint64_t *prompt, uint64_t *reply)
{
    pthread_mutex_lock(&s->lock);
    *prompt = s->prompt_tokens;
    *reply = s->reply_tokens;
    pthread_mutex_unlock(&s->lock);
}

static slot *find_free(slots *s, int id, const tdm_ids *prompt)
{
    slot *found = NULL;
    size_t most = 0;
    for (int i = 0; i < s->options.n; i++) {
        slot *one = &s->slot[i];
        const struct checkpoint *which;
        if (one->busy || (id >= 0 && i != id)) continue;
        size_t known = one->forget ? 0 : best(one, prompt, &which);
        if (found && (known < most || (known == most && one->used_ns >= found->used_ns))) continue;
        found = one;
        most = known;
    }
    return found;
}

slot *slots_take(slots *s, int id, const tdm_ids *prompt, slots_gone *gone, void *ctx)
{
    slot *one = NULL;
    if (id >= s->options.n) return NULL;
    pthread_mutex_lock(&s->lock);
    while (!(one = find_free(s, id, prompt)) && !gone(ctx)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 20000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&s->freed, &s->lock, &until);
    }
    if (one) one->busy = true;
    bool forget = one && one->forget;
    if (forget) one->forget = false;
    pthread_mutex_unlock(&s->lock);
    if (forget) {
        drop_checkpoints(one);
        tdm_sequence_clear(one->session);
        one->ids.n = 0;
    }
    return one;
}

void slots_give(slots *s, slot *one)
{
    pthread_mutex_lock(&s->lock);
    one->busy = false;
    one->used_ns = clock_ns();
    pthread_cond_broadcast(&s->freed);
    pthread_mutex_unlock(&s->lock);
}

/* ---- Evaluation -------------------------------------------------------------------------------------------------- */

static tdm_status evaluate(slot *one, const tdm_id *ids, size_t n, bool want_last, uint64_t *count, tdm_error *err)
{
    begin_turn(one->all);
    tdm_status status = tdm_sequence_eval(one->session, ids, n, want_last, NULL, err);
    end_turn(one->all, count, status ? 0 : n);
    if (!status && !append_ids(&one->ids, ids, n)) status = error_set(err, TDM_E_NOMEM, "no memory for ids");
    return status;
}

static tdm_status go_back(slot *one, const tdm_ids *prompt, bool anew, size_t *known, tdm_error *err)
{
    const struct checkpoint *which = NULL;
    tdm_status status = TDM_OK;
    *known = anew ? 0 : best(one, prompt, &which);
    if (!*known) tdm_sequence_clear(one->session);
    if (which) status = tdm_sequence_load(one->session, which->bytes, which->n, err);
    if (!*known || which) {
        one->ids.n = 0;
        if (!append_ids(&one->ids, prompt->ids, *known)) status = error_set(err, TDM_E_NOMEM, "no memory for ids");
    }
    return status;
}

tdm_status slot_prompt(slot *one, const tdm_ids *prompt, bool anew, slots_gone *gone, void *ctx, slot_work *out,
                       tdm_error *err)
{
    int64_t begun = clock_ns();
    size_t known;
    tdm_status status = go_back(one, prompt, anew, &known, err);
    *out = (slot_work){.prompt = (int)prompt->n, .cached = (int)known};
    while (!status && one->ids.n < prompt->n) {
        size_t left = prompt->n - one->ids.n;
        if (gone(ctx)) {
            status = error_set(err, TDM_E_CANCELLED, "nobody waits for the answer");
            break;
        }
        /* The last token goes alone, so that the same prompt can be asked for again from before it. */
        if (left == 1) keep_checkpoint(one, prompt, one->ids.n);
        size_t n = left == 1 ? 1 : left - 1 < STEP ? left - 1 : STEP;
        status = evaluate(one, prompt->ids + one->ids.n, n, left == 1, &one->all->prompt_tokens, err);
        if (!status) out->evaluated += (int)n;
    }
    out->ms = (double)(clock_ns() - begun) / 1e6;
    return status;
}

tdm_id slot_draw(slot *one, const tdm_sampling *sampling, int index)
{
    tdm_id id;
    return tdm_sequence_sample(one->session, sampling, 0, 0, (uint32_t)index, &id, NULL) ? -1 : id;
}

tdm_status slot_append(slot *one, tdm_id id, tdm_error *err)
{
    return evaluate(one, &id, 1, true, &one->all->reply_tokens, err);
}
