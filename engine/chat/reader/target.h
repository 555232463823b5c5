/* The target: the ids that the next prompt will begin with, as far as it is known now (engine/README.md, 'The target').
 *
 * It is a function of struct target_input alone. The prompt's text comes from the model's template
 * (engine/text/template): while a message grows, its text is appended to a head that is rendered once for each turn; a
 * complete prompt is rendered as a whole. The ids of the part that a text has in common with the one before are kept,
 * so a key costs the tokenizing of the text around it alone. The ids are those of tokenizing the rendered text, which
 * may differ from the ids that a reply was generated as.
 *
 * Where a picture stands the text has one pad, and the ids have the picture's own (engine/state/pads.h).
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

#include "engine/chat/dialogue/conversation.h"
#include "engine/object/vision.h"
#include "engine/text/ids.h"
#include "engine/text/template/template.h"

struct target_input {
    const struct conversation *conversation;
    int path_start;       /* messages of the current path that are left out at its beginning (drop-oldest) */
    tdm_speculation level;
    tdm_thinking think;   /* a reply to be continued has its own */
    tdm_keep_thinking keep;
    int reply;            /* the node that is being decoded, or 0 */
    int sent;             /* the user node to be answered, or 0: its whole prompt is wanted */
    int resumed;          /* the assistant node to be continued, or 0 */
    bool apart;           /* the decode unit evaluates the ids of the continued reply: the target ends before them */
    const char *draft;    /* what the user types */
    size_t draft_length;
    const struct picture_list *pictures; /* the draft's pictures */
    const struct vision *vision;         /* of the model; NULL: it has none, or ... */
    const struct backend_model *reads;   /* the model that reads the pictures */
    bool served;                         /* ... the model is on a server, which gets the pictures beside the prompt */
    uint32_t picture_tokens;             /* most tokens of a picture; 0: the model's own bound */
    bool draft_held;      /* it may be a command: leave it out of the target */
    bool closed;          /* the user pauses: the draft is treated as the complete message */
};

/* A picture in the target, whose holder is the conversation or the draft. */
struct target_picture {
    struct pads *pads;
    tdm_picture *picture;
    uint32_t first; /* number of its first token */
};

struct target {
    const tdm_id *ids;    /* [n]; belong to the cache, valid until its next use */
    uint32_t n;
    uint32_t reply_prefix; /* ids after the n: those of a reply to be continued, if the decode unit evaluates them */
    uint32_t reply;       /* this many of the last ids, those after n included, are of a reply to be continued */
    uint32_t opening;     /* index where the user's turn opens: ids from here to n are the user's turn with the
                             suffix */
    uint32_t history;     /* ids before this index stand for past turns and the opening of the user's turn, and for a
                             draft with pictures up to the last picture */
    uint32_t typed;       /* index where the draft begins, pictures included: at most `history` */
    uint32_t draft;       /* ids [history, draft) stand for the draft's text, those after it for the suffix */
    bool complete;        /* it is the whole prompt: a state at its end can be handed over */
    const uint32_t *turns; /* ascending indices where a user turn's text starts: worth a checkpoint */
    uint32_t n_turns;     /* the last one is `history` unless a reply is being decoded */
    const size_t *draft_ends; /* [draft - history]: bytes of the draft that the ids up to this one reach */
    const struct target_picture *pictures; /* [n_pictures] in order */
    uint32_t n_pictures;
    /* The text and messages that it was made from; valid as long as the ids. */
    const size_t *ends; /* [n]: bytes of the text that the ids up to this one stand for */
    const struct written *text;
    const tdm_message *messages; /* the last one may be growing */
    size_t n_messages;
};

struct target_cache;

/* Tokenizer and template must outlive the cache. */
tdm_status target_cache_new(struct target_cache **out, const struct tokenizer *tokenizer,
                            const struct template *template, tdm_error *err);
void target_cache_free(struct target_cache *cache);

tdm_status target_make(struct target_cache *cache, const struct target_input *in, struct target *out, tdm_error *err);

/* The length of the longest common prefix of the target's ids and ids[0..n). */
uint32_t target_common_prefix(const struct target *t, const tdm_id *ids, uint32_t n);

#endif
