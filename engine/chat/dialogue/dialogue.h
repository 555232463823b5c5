/* A dialogue: a conversation with all that its turns need, from the queued message to the decoders that write the
 * answers. A chat has two, one of which is in front (chat.h). They change places by an exchange of two pointers, so
 * that no reply is copied or restarted.
 *
 * Not thread-safe: the chat's lock guards a dialogue, apart from what a running job uses of its decoders (chat.h). */
#ifndef TANDEM_CHAT_DIALOGUE_H
#define TANDEM_CHAT_DIALOGUE_H

#include "engine/base/buffer.h"
#include "engine/chat/dialogue/conversation.h"
#include "engine/chat/policy/drafts.h"
#include "engine/chat/policy/guard.h"
#include "engine/chat/dialogue/reply.h"
#include "engine/chat/policy/stage.h"
#include "engine/forward/sampler.h"
#include "engine/object/model.h"
#include "engine/state/state.h"

/* One answer: a reply on its way from the state of its prompt to its last token. */
struct decoder {
    struct state *state;       /* prompt + reply ids, or all of them but the last */
    int number;                /* among the turn's answers, from 1 */
    int node;                  /* its reply; 0: none yet, or it is gone */
    struct dialogue *dialogue; /* whose turn it answers; it never changes */
    bool writing;              /* the reply has begun and not ended */
    size_t undelivered;        /* bytes at the end of its text that no event delivered, for lack of memory */
    int unit;                  /* where it decodes */
    uint32_t prompt;           /* tokens of the state before the reply */
    tdm_ids prefix_ids;        /* of a reply to be continued: the decode unit evaluates them again (reply_prefix.h) */
    uint32_t state_tokens;     /* of the state while no job runs on it; 0: there is no state to continue from */
    uint32_t turn, attempt;    /* of the random numbers */
    uint32_t index;            /* number of the next token in its reply */
    tdm_id next;               /* sampled last, not evaluated yet */
    struct sampler *sampler;
    tdm_sampling sampling; /* as it was when the reply began */
    uint32_t max_tokens;   /* likewise; 0: no limit */
    uint32_t max_answer;   /* likewise; thinking is not counted */
    tdm_thinking think;    /* how the reply shall think first; reply.thinking says whether it is thinking now */
    struct reply reply;
    struct guard guard; /* for the text since the reply began or was continued */
    double pretended_share; /* likewise: share of its drafts that is accepted unseen, for measurements */
    bool hashes;
    uint64_t logits_hash; /* so far; belongs to the running job, which copies it to the statistics with each token */
    uint32_t max_added; /* tokens that the running job adds to the state, at most: 1 or more where it decodes, else 0 */
    /* While accepted drafts are added to the state: the token before the first of them, the drafts, and the token that
     * was sampled last. Otherwise n_accepted is 0, and `next` alone is known to follow in the state. */
    tdm_id accepted[2 + DRAFTS_MAX];
    uint32_t n_accepted;
    uint32_t at_first;    /* tokens tokens of the reply that came at the same time as the first one, so that no rate
                             follows from them */
    tdm_turn_stats stats; /* the turn's, with those of this reply */
};

/* Counts tokens of the reply that came at now_ns. */
static inline void decoder_came(struct decoder *d, uint32_t tokens, int64_t now_ns)
{
    tdm_turn_stats *s = &d->stats;
    if (s->first_id_ns == 0) s->first_id_ns = now_ns;
    if (now_ns == s->first_id_ns) d->at_first += tokens;
    s->last_id_ns = now_ns;
}

/* Tokens per second after the first time that tokens came; 0: all came at once. */
static inline double decoder_rate(const struct decoder *d)
{
    const tdm_turn_stats *s = &d->stats;
    bool later = s->last_id_ns > s->first_id_ns && s->reply_tokens > d->at_first;
    return later ? (s->reply_tokens - d->at_first) * 1e9 / (double)(s->last_id_ns - s->first_id_ns) : 0;
}

/* How many tokens are known to follow those in the state while no job runs; and the i-th of them. */
static inline uint32_t decoder_behind(const struct decoder *d)
{
    return d->n_accepted ? d->n_accepted : 1;
}
static inline tdm_id decoder_token(const struct decoder *d, uint32_t i)
{
    return d->n_accepted ? d->accepted[i] : d->next;
}

/* The options that a prompt depends on. */
struct prompt_options {
    tdm_thinking think;
    tdm_keep_thinking keep;
    uint32_t picture_tokens;
};

struct dialogue {
    struct conversation conversation;
    int path_start; /* messages left out at the beginning of the path (drop-oldest) */
    int editing;    /* the user node that the draft will be a sibling of, or 0 */
    int leaf_before_edit;
    bool is_left; /* the dialogue in the back has a conversation that was left; false: it is empty */

    struct buffer queued;
    struct picture_list queued_pictures;
    bool has_queued;
    int queued_answers; /* answers for the queued message; without one: further answers to the last message; 0: one */

    enum stage stage;      /* of the turn; in the back IDLE or DECODE, or their _BUSY and _RUN forms */
    tdm_pipeline pipeline; /* of the turn under way */
    struct prompt_options prompt_options; /* of that turn's prompt: options set while it is read apply to the next
                                             one */
    int user_node;
    int reply_node;       /* while its prompt is evaluated: the reply that is to be continued, or 0 */
    tdm_turn_stats stats; /* of the turn under way: of its prompt, from which those of its replies begin */
    tdm_ids last_prompt;  /* without its user turn */
    int turns_since_load; /* turns since the conversation was begun or loaded */
    bool was_loaded;      /* it was loaded */
    bool context_warned;

    struct decoder *decoders[TDM_ANSWERS_MAX]; /* the existing ones, at least one; the turn's answers come first */
    int answers;                               /* of the turn under way or the last one */
    bool forks_pending;      /* the other answers' states are still to be forked from the first one's */
    struct decoder *decoder; /* the decoder of the selected answer; changes between turns, or to another answer of the
                                turn */
};

/* An empty conversation and a decoder without a state. After an error, and twice, dialogue_close is allowed. */
tdm_status dialogue_open(struct dialogue *d, const struct tdm_model *m, tdm_pipeline pipeline, tdm_error *err);
/* No job uses its decoders. It may be opened again. */
void dialogue_close(struct dialogue *d);
/* Forgets all but one decoder, without a state, and the system prompt. Likewise. */
void dialogue_empty(struct dialogue *d);
/* Drops the queued message. */
void dialogue_drop_queued(struct dialogue *d);

/* Makes the decoder of this number, from 0, without a state, if there is none. */
tdm_status dialogue_add_decoder(struct dialogue *d, int i, const struct tdm_model *m, tdm_error *err);
/* Prepares for a turn with this many answers: the selected decoder, whose state the turn may reuse, becomes the first
 * and for now the only one. Decoders that are not needed are freed if no job uses them. */
void dialogue_arrange(struct dialogue *d, int answers);
/* The decoder that wrote, or writes, this node in the turn under way or the last one; or NULL. */
struct decoder *dialogue_decoder_of(const struct dialogue *d, int node);
/* How many answers of the turn under way are being written. */
int dialogue_writing(const struct dialogue *d);
/* Frees the states of its decoders. */
void dialogue_drop_states(struct dialogue *d);

/* Does a job run for the turn that this decoder is one of? */
static inline bool decoder_runs(const struct decoder *d)
{
    return d->dialogue->stage == STAGE_DECODE_RUN;
}
/* The message that it answers. */
struct span decoder_message(const struct decoder *d);
/* Tokens of the context that its prompt and reply fill: the server's own count if it reported one. */
uint32_t decoder_filled(const struct decoder *d);

#endif
