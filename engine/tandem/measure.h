/* Functions of Tandem's engine for measurements alone: made-up states, moving a state by itself, and chats that leave
 * out, or pretend, a part of their work. tandem.h does not include this part; a program that talks to a model does not
 * need it.
 */
#ifndef TDM_MEASURE_H
#define TDM_MEASURE_H

#include "../tandem.h"

/* ---- Sequences --------------------------------------------------------------------------------------------------- */

/* Fills the state with made-up keys, values and recurrent states of `length` tokens. */
TDM_API tdm_status tdm_sequence_fill(tdm_sequence *s, size_t length, uint64_t seed, tdm_error *err);
/* Transfers the state of s to dst (same model, keys and values, context) in memory, as a chat does at Enter: the two
 * states change places, nothing is copied. */
TDM_API tdm_status tdm_sequence_handover(tdm_sequence *dst, tdm_sequence *s, tdm_error *err);
/* Copies the state of s to dst (same model, context), whatever memories and types both have, with the cores of the unit
 * of s, as a chat's bridge does directly. *bytes: how many were written. */
TDM_API tdm_status tdm_sequence_cross(tdm_sequence *dst, const tdm_sequence *s, size_t *bytes, tdm_error *err);
/* How long these cores take to copy this many bytes within the host's memory. */
TDM_API tdm_status tdm_sequence_copy_ms(const tdm_sequence *s, size_t bytes, double *ms, tdm_error *err);
/* How long this many bytes take on the link between the host and the device of s alone. 0: there is no link, since the
 * two have one memory. s is empty after a copy to its device. */
TDM_API tdm_status tdm_sequence_link_ms(tdm_sequence *s, size_t bytes, bool to_device, double *ms, tdm_error *err);

/* ---- Chats ------------------------------------------------------------------------------------------------------- */

/* Counts this share of the drafts, 0 to 1, as right, whatever the model says. The text is wrong then, but the time
 * shows what drafting would be worth if it guessed as well as that. It applies to replies that begin from now on; 0,
 * the default: off. */
TDM_API tdm_status tdm_chat_pretend_drafts(tdm_chat *c, double share, tdm_error *err);
/* Whether the follower takes over the decoder's state if that holds what it would have to read. Off: it evaluates
 * every token itself, as between units that differ. The default is on. It has no effect if the model is on a server. */
TDM_API void tdm_chat_set_adoption(tdm_chat *c, bool on);

/* ---- Pictures ---------------------------------------------------------------------------------------------------- */

/* What was encoded so far. */
typedef struct {
    uint64_t encoded;    /* pictures that were encoded to their end */
    uint64_t cancelled;  /* pictures whose encoding was cancelled */
    uint64_t dropped;    /* pictures whose embeddings were dropped, to stay within the budget */
    uint64_t kept_bytes; /* of embeddings */
    uint64_t budget;     /* for embeddings */
    int64_t encode_ns;   /* time of all that were encoded */
} tdm_picture_figures;

TDM_API void tdm_chat_picture_figures(const tdm_chat *c, tdm_picture_figures *out);

#endif
