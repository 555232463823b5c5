/* The conversation as it is shown: a copy of the current path that grows with the events. */
#ifndef TANDEM_SRC_TUI_TURNS_H
#define TANDEM_SRC_TUI_TURNS_H

#include "engine/base/buffer.h"
#include "engine/tandem.h"
#include "ui/draw/view.h"

typedef struct tui tui;

typedef struct {
    int node; /* of the chat */
    struct buffer text, thinking;
    struct view_picture *pictures; /* of a message; malloc'ed */
    int64_t enter_ns;    /* the reply's clock */
    int64_t glyph_ns;    /* its first character was on the terminal; 0: not yet, or from a file */
    int64_t thought_ns, answer_ns;
    struct view_turn v;  /* text pointers are set for each frame */
} tui_turn;

typedef struct {
    tui_turn *turns;
    size_t n;
    struct view_turn *shown; /* room for all of them */
    tui_turn answers[TDM_ANSWERS_MAX]; /* to the last message; the path has the one that is selected */
    struct view_turn shown_answers[TDM_ANSWERS_MAX];
    int answer_tokens[TDM_ANSWERS_MAX];
    size_t n_answers;        /* 0: there is one answer */
    size_t looked;           /* which of them is selected, from 0; n_answers: none */
    uint32_t conversation;   /* raised by /new, /resume ..., after which nodes have new numbers */
    int replying;            /* the node that streams; 0: none */
    struct view_ttft ttft;   /* of the running turn, once its reply has begun, else of the last one */
    double tok_s;            /* decode rate of the last reply, of the same turn as ttft; 0: none */
    int after_enter;         /* tokens that it read after Enter */
    int64_t enter_ns;        /* the running turn's clock */
    int64_t cut_ns;          /* when send-now was pressed for the next turn; 0: it wasn't */
    int64_t answered_until_ns; /* until then the screen shows how soon the answer came */
    enum view_state ended; /* how the last reply ended: STOPPED, LENGTH, FULL until the next turn; IDLE: by itself */
    bool waits_for_glyph;
    bool partial;   /* tui_turns_sync lacked memory for all of it, and must be called again */
    bool just_sent; /* a message was sent with nothing left to read, and no frame was drawn since */
} tui_turns;

void tui_turns_sync(tui *t);   /* after anything that changes the path */
void tui_turns_fresh(tui *t);  /* after nodes got new numbers */
void tui_turns_events(tui *t); /* takes all queued events of the chat */
void tui_turns_free(tui_turns *turns);
/* The turn with that id (0: the last reply), or NULL. */
tui_turn *tui_turns_find(tui *t, uint64_t id);
/* Selects answer `number`, from 1: the next message replies to it. */
void tui_turns_look(tui *t, int number);
/* Makes the selected answer the reply, alone on the screen; the others stay as branches. False: there is one answer, or
 * they are being written. */
bool tui_turns_take(tui *t);
/* Called when a message was sent. */
void tui_turns_sent(tui *t, int64_t enter_ns);

#endif
