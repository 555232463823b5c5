/* The target: the ids that the next prompt will begin with, as far as it is known now (engine/README.md, 'The target').
 *
 * It is a function of struct target_input alone. Ids of finished messages and of the beginning of a growing text are
 * cached, so the cost of a call depends only on the text added since the last one. The ids are those of tokenizing the
 * rendered text, which may differ from the ids that a reply was generated as.
 *
 *   a reply is being decoded        history + the stable part of the reply so far, as a past turn
 *   idle, the user types            history + the opening of a user turn + the stable part of the draft
 *   the user pauses, or has sent    the whole prompt, generation suffix included
 *   a reply is continued            the whole prompt + the reply's own ids (where both units give the same bits)
 *
 * Threads: none of its own; the chat's lock guards it.
 */
#ifndef TANDEM_CHAT_TARGET_H
#define TANDEM_CHAT_TARGET_H

#include "engine/chat/conversation.h"
#include "engine/text/ids.h"
#include "engine/text/template.h"

struct target_input {
    const struct conversation *conversation;
    int path_start;       /* messages of the current path that are left out at its beginning (drop-oldest) */
    tdm_speculation level;
    tdm_thinking think;   /* a reply to be continued has its own */
    bool keep;            /* past turns keep their thinking */
    int reply;            /* the node that is being decoded, or 0 */
    int sent;             /* the user node to be answered, or 0: its whole prompt is wanted */
    int resumed;          /* the assistant node to be continued, or 0; */
    bool apart;           /* its own ids are evaluated elsewhere: the target ends before them */
    const char *draft;    /* what the user types */
    size_t draft_length;
    bool draft_held;      /* it may be a command: leave it out of the target */
    bool closed;          /* the user pauses: the draft is treated as the complete message */
};

struct target {
    const tdm_id *ids;    /* [n]; belong to the cache, valid until its next use */
    uint32_t n;
    uint32_t own;         /* ids behind the n: those of a reply to be continued, where they are evaluated elsewhere */
    uint32_t reply;       /* so many of the last ids, own or not, are of a reply to be continued */
    uint32_t opening;     /* where the user's turn opens: ids from here to n are the user's turn with the suffix */
    uint32_t history;     /* ids before this one stand for past turns and the opening of the user's turn */
    uint32_t draft;       /* ids [history, draft) stand for the draft's text, those behind it for the suffix */
    bool complete;        /* the whole prompt: a state at its end can be handed over */
    const uint32_t *turns; /* ascending places where a user turn's text starts: worth a checkpoint */
    uint32_t n_turns;     /* the last one is `history` unless a reply is being decoded */
    const size_t *draft_ends; /* [draft - history]: bytes of the draft that the ids up to this one reach */
};

struct target_cache;

/* The tokenizer must outlive the cache. */
tdm_status target_cache_new(struct target_cache **out, const struct tokenizer *tokenizer, struct template_form form,
                            tdm_error *err);
void target_cache_free(struct target_cache *cache);

tdm_status target_make(struct target_cache *cache, const struct target_input *in, struct target *out, tdm_error *err);

/* The length of the longest common prefix of the target's ids and ids[0..n). */
uint32_t target_common_prefix(const struct target *t, const tdm_id *ids, uint32_t n);

#endif
