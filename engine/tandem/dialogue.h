/* Two dialogues in one chat: a dialogue that the user leaves while a reply is written continues in the back.
 *
 * Its replies have the same bits as in front. Their tokens are evaluated in the same passes as those of the replies in
 * front if that slows the front by at most 20 %; otherwise only in every n-th pass. They rest while the prompt in front
 * waits for its first token. tdm_chat_leave and tdm_chat_visit drop a queued message (TDM_EV_UNQUEUED); to keep it,
 * take it back with tdm_chat_unqueue first.
 */
#ifndef TDM_DIALOGUE_H
#define TDM_DIALOGUE_H

#include "conversation.h"

/* Moves the dialogue in front to the back. Afterwards the chat has an empty conversation with the same system prompt in
 * front. TDM_E_BUSY: no reply is being written (its prompt may still be read), or there is a dialogue in the back
 * already, whether its replies have ended or not. TDM_E_UNSUPPORTED: the pipeline decodes on the prefill unit, or the
 * model is on a server. On failure nothing has changed. */
TDM_API tdm_status tdm_chat_leave(tdm_chat *c, tdm_error *err);
/* Brings the dialogue in the back to the front. The one in front goes to the back with `keep`, and is forgotten
 * otherwise. If one of its replies is still written, each of its replies is reported by an event once more (`again`),
 * and so is the text so far of those that are being written. TDM_E_NOT_FOUND: there is none in the back. TDM_E_BUSY:
 * the prompt of the one in front is being read. */
TDM_API tdm_status tdm_chat_visit(tdm_chat *c, bool keep, tdm_error *err);
/* Forgets the dialogue in the back, with the replies that are being written there. */
TDM_API void tdm_chat_forget(tdm_chat *c);

/* The state of the dialogues, as tdm_chat_leave and tdm_chat_visit would find it. */
typedef struct {
    bool possible;     /* tdm_chat_leave works with this pipeline, once a reply is being written */
    bool prompts;      /* the prompt of the one in front is being read: TDM_E_BUSY of tdm_chat_visit */
    bool there;        /* there is a dialogue in the back, which the members below are about */
    int answers;       /* answers of its last turn */
    int writing;       /* of these, those that are being written */
    tdm_finish finish; /* of the current answer */
    uint32_t tokens;   /* of all answers so far */
    double decode_tps; /* of the current answer */
    double cost;       /* the time of a pass in front with them, divided by that of one without; 0: not measured */
    int every;         /* their tokens are in one of this many passes of the replies in front */
} tdm_back_status;

TDM_API void tdm_chat_back_of(const tdm_chat *c, tdm_back_status *out);

#endif
