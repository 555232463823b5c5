/* Events: how a chat reports what happened. A program that waits for nothing else calls tdm_chat_wait_event; one with a
 * loop of its own waits until the descriptor is readable, then takes all events. */
#ifndef TDM_EVENT_H
#define TDM_EVENT_H

#include "conversation.h"

typedef enum {
    TDM_EV_NONE,
    TDM_EV_TURN,      /* a queued message joined the conversation: node; its reply follows */
    TDM_EV_REPLY,     /* a reply begins: node, stats so far; one for each of several answers, in their order */
    TDM_EV_TEXT,      /* text of node: UTF-8, whole characters; thinking says which part */
    TDM_EV_END,       /* the reply ended: node (0: none, since the reply remained empty), finish, stats, writing */
    TDM_EV_QUEUED,    /* a message was queued, or joined the queued one: text is the whole of it */
    TDM_EV_UNQUEUED,  /* the queued message was sent, taken back or dropped */
    TDM_EV_PATH,      /* the current path changed (undo, redo, select, load, clear) */
    TDM_EV_NOTICE,    /* one line for the user: text */
    TDM_EV_ERROR,     /* something failed, but the chat continues: text */
    TDM_EV_COLD,      /* the result of tdm_chat_cold: cold */
} tdm_event_kind;

typedef struct {
    tdm_pipeline pipeline;
    double warm_ms;          /* time to the first token of the turn that is compared */
    double warm_engine_ms;   /* the engine's share of it */
    double cold_ms;
    uint32_t warm_tokens, cold_tokens; /* evaluated after Enter */
    bool same_first_token;
} tdm_cold;

typedef struct {
    tdm_event_kind kind;
    int node;
    tdm_which_dialogue dialogue;  /* REPLY, TEXT, END: the reply's dialogue; else TDM_FRONT */
    bool again;             /* REPLY: the event repeats a reply that began earlier (tdm_chat_visit); finish is valid */
    int answer, answers;    /* REPLY, TEXT, END: which of the turn's answers, from 1, and how many there are */
    int writing;            /* END: answers of the turn that are still written; 0: the turn has ended */
    size_t lost;            /* END: bytes at the end of the node's text that were not delivered in TEXT events, since
                               memory was short */
    const char *text;       /* not zero-terminated: use length. Valid until the next event of this chat is taken */
    size_t length;
    bool thinking;
    tdm_id id;              /* TEXT: last token of this text; -1: none */
    uint32_t tokens;        /* TEXT: reply_tokens up to the end of this text */
    tdm_finish finish;
    tdm_turn_stats stats;
    tdm_cold cold;
} tdm_event;

/* A descriptor for poll(2), readable when events are queued; sometimes also when none is left. It becomes readable only
 * after the chat has released its lock, so that a woken reader need not wait for it. The chat closes it. */
TDM_API int tdm_chat_fd(const tdm_chat *c);
/* Takes the oldest queued event. false: there is none (out->kind is TDM_EV_NONE). Each turn that has begun comes to
 * its END even when memory is short. Other events may be lost then; an ERROR says so and a PATH follows. */
TDM_API bool tdm_chat_next_event(tdm_chat *c, tdm_event *out);
/* The same, but waits for an event where none is queued. false: timeout_ms has passed (-1: wait for ever). A chat that
 * is idle posts no event. */
TDM_API bool tdm_chat_wait_event(tdm_chat *c, tdm_event *out, int timeout_ms);
/* Waits until no reply is written, no message is queued and there is nothing to read ahead. true: the chat is idle;
 * false: timeout_ms has passed (-1: wait for ever). Events that are posted meanwhile stay queued: take them afterwards.
 */
TDM_API bool tdm_chat_wait_idle(tdm_chat *c, int timeout_ms);

#endif
