/* The text of a span's tokens, found in the sequences that the chat still has. */
#include "engine/chat/chat.h"

#include <string.h>

enum { BEFORE = 7 }; /* tokens shown before one of a reply */

struct sequence {
    const tdm_id *ids;
    uint32_t base, n; /* position of ids[0] */
};

static bool holds(const struct sequence *q, const tdm_span *s)
{
    return s->first >= q->base && s->first - q->base <= q->n && s->tokens <= q->n - (s->first - q->base) &&
           activity_hash(q->ids + (s->first - q->base), s->tokens) == s->ids_hash;
}

/* The sequences that a chat has: the target, what was read last, the prompt of a pipeline that does not follow, and the
 * replies. */
enum { SEQUENCES = 3 + 2 * TDM_ANSWERS_MAX };

/* Appends those of a turn's replies. */
static size_t collect_replies(const struct conversation *c, struct decoder *const *decoders, struct sequence *out)
{
    size_t n = 0;
    for (int i = 0; i < TDM_ANSWERS_MAX; i++) {
        const struct decoder *d = decoders[i];
        if (!d || !d->node || d->node > c->n) continue;
        const tdm_ids *reply = &c->nodes[d->node].reply;
        out[n++] = (struct sequence){reply->ids, d->prompt, (uint32_t)reply->n};
    }
    return n;
}

static size_t collect(const struct tdm_chat *c, struct sequence out[SEQUENCES])
{
    size_t n = 0;
    const struct follower *f = &c->reader.follower;
    out[n++] = (struct sequence){c->reader.target.ids, 0, c->reader.target.n};
    out[n++] = (struct sequence){f->path, 0, f->plan.active ? f->plan.from + f->plan.n : f->length};
    out[n++] = (struct sequence){c->reader.prompter.ids.ids, 0, (uint32_t)c->reader.prompter.ids.n};
    n += collect_replies(&c->front->conversation, c->front->decoders, out + n);
    return n + collect_replies(&c->back->conversation, c->back->decoders, out + n);
}

TDM_API size_t tdm_chat_span_text(const tdm_chat *c, const tdm_span *s, char *out, size_t room)
{
    struct sequence all[SEQUENCES];
    size_t used = 0, found = 0;
    if (!s->tokens || !s->ids_hash) return 0;
    chat_lock(c);
    size_t n = collect(c, all);
    while (found < n && !(all[found].ids && holds(&all[found], s))) found++;
    if (found < n) {
        const struct sequence *q = &all[found];
        uint32_t at = s->first - q->base, end = at + s->tokens;
        if (s->kind == TDM_SPAN_DECODE) at -= at < BEFORE ? at : BEFORE;
        for (; at < end; at++) {
            struct span text = tokenizer_bytes(c->model->tokenizer, q->ids[at]);
            size_t left = room - used, take = text.length < left ? text.length : left;
            memcpy(out + used, text.bytes, take);
            used += take;
            if (used == room) break;
        }
    }
    chat_unlock(c);
    return used;
}
