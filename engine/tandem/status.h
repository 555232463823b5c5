/* What a chat does at the moment: for status lines and monitors, which may ask as often as they draw. */
#ifndef TDM_STATUS_H
#define TDM_STATUS_H

#include "conversation.h"
#include "server.h"

/* What is known about the draft, for an indicator beside the input line. */
typedef enum {
    TDM_MARK_OFF,         /* the draft is not read before Enter */
    TDM_MARK_AFTER_REPLY, /* it is read when the reply ends */
    TDM_MARK_FOLLOWING,   /* it is read up to the last dispatch */
    TDM_MARK_TO_READ,     /* more than one dispatch of it is unread */
    TDM_MARK_READY,       /* the whole prompt is read: a reply can begin at once */
    TDM_MARK_QUEUED,      /* a message is queued */
    TDM_MARK_TOO_LONG,    /* the draft does not fit into the context */
    TDM_MARK_NOT_READ     /* no prompt can be made of it, or reading has failed: an event said why. Enter tries again */
} tdm_mark;

typedef enum { TDM_PHASE_IDLE, TDM_PHASE_READING, TDM_PHASE_THINKING, TDM_PHASE_ANSWERING } tdm_phase;

typedef struct {
    tdm_phase phase;
    uint32_t reading_total;     /* TDM_PHASE_READING: prompt tokens that were left to evaluate at Enter */
    uint32_t reading_done;      /* of these, tokens that are evaluated */
    int answers;                /* answers of the running turn, or of the last one */
    int writing;                /* of these, answers that are being written */
    int answer;                 /* number of the current one, from 1 */
    bool queued;                /* a message is queued */
    tdm_mark mark;
    size_t draft_read_bytes;    /* bytes of the latest draft that are evaluated */
    uint32_t draft_tokens;      /* of the draft; 0 also for drafts too long to be counted */
    uint32_t turn_known;        /* tokens of the next turn's part of the prompt, as far as they are known */
    uint32_t turn_read;         /* of these, tokens that are evaluated: turn_before_enter, if it were sent now */
    uint32_t target;            /* tokens of the follower's target: of the next prompt, as far as it is known */
    uint32_t read;              /* of these, tokens in the follower's state */
    uint32_t behind;            /* target - read */
    uint32_t ahead;             /* tokens evaluated since the last turn's Enter */
    uint32_t adopted;           /* of read, tokens that the decoder evaluated and whose state was taken over */
    uint32_t read_again;        /* tokens of the target from the first one on that the last tdm_chat_configure
                                   changed */
    uint32_t wasted;            /* tokens evaluated that no prompt has had */
    uint32_t checkpoints;
    uint64_t checkpoint_bytes;  /* of checkpoints and of the replica */
    uint64_t checkpoint_budget;
    uint64_t replica_bytes;     /* of the replica alone, if the decode unit has its own memory */
    uint64_t carried_ahead;     /* bytes copied to that memory before Enter */
    uint64_t carried_after;     /* bytes copied there after Enter */
    uint64_t carried_ns;        /* time of all these copies */
    bool no_checkpoints;        /* no memory for checkpoints: an edit evaluates the conversation again */
    int dispatch;               /* the most tokens of one of the follower's forward passes */
    bool prefill_failed;        /* the last dispatch failed: prefill rests until the next change or Enter */
    uint32_t context_used, context_size;
    double decode_tps;          /* decode_tps of the running reply, else of the last one; 0: none. Of several answers
                                   each has about the same */
    double prefill_tps;         /* over the last dispatches */
    double speed_kept;          /* decode speed while the prefill unit works, divided by decode speed alone; at most 1;
                                   0: unknown, since too few tokens were measured or their times vary too much */
    double handover_ms;         /* time of the last hand-over */
    uint64_t weight_bytes, state_bytes;
    tdm_speculation level;      /* what is read ahead, as far as options and server allow it */
    bool on_server;             /* the model is on a server, which the members below are about */
    bool rereads;               /* the server has no prefix cache, so less is read ahead */
    double round_trip_ms;
    tdm_server_counts last;     /* of the last request about which the server reported anything */
} tdm_chat_status;

TDM_API void tdm_chat_status_of(const tdm_chat *c, tdm_chat_status *out);
/* Writes the text of the tokens of a span of the chat's units (for a token of a reply: with the few before it), at most
 * `room` bytes, which may end within a character. Returns how many; 0: the span has no tokens, or they are no longer
 * part of the conversation or draft. */
TDM_API size_t tdm_chat_span_text(const tdm_chat *c, const tdm_span *s, char *out, size_t room);

#endif
