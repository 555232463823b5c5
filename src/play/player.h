/* Plays a script (src/play/script.h) at the keys of a host: the chat itself (src/play/player_chat.h), the full screen,
 * or a test. The player owns the order and the timing; the host's functions carry out the keys.
 *
 * Time is a deadline, never a sleep: player_step does what is due and returns when it must be called again, so a host
 * may block until then or have an event loop. A key comes at its own time however late the one before it was. A step
 * presses one key at most, so the host sees its events between two keys.
 *
 *     player_open(&p, &script, &functions, host);
 *     while (!player_done(&p)) {
 *         for (every event of the chat) player_event(&p, &event);
 *         status = player_step(&p, &next_ns, &err);
 *         wait until next_ns or an event of the chat
 *     }
 *     player_close(&p);
 *
 * One thread. A function of the host may call player_event, and no other function of the player. */
#ifndef TANDEM_SRC_PLAYER_H
#define TANDEM_SRC_PLAYER_H

#include "engine/base/buffer.h"
#include "src/play/script.h"

/* Each returns TDM_OK or ends the play with its error. The draft of the player has the change already. */
typedef struct {
    int64_t (*now)(void *host); /* nanoseconds, on the clock of the deadlines */
    /* A turn begins: its settings, such as its level of speculation. */
    tdm_status (*begin)(void *host, const script_turn *turn, tdm_error *err);
    /* Begins to edit the message of this turn (from 1, history included); no reply runs. */
    tdm_status (*branch)(void *host, int turn, tdm_error *err);
    /* Appends characters to the draft: one typed character, or a pasted text. */
    tdm_status (*type)(void *host, const char *text, size_t n, bool pasted, tdm_error *err);
    /* Removes the last characters of the draft. */
    tdm_status (*erase)(void *host, int characters, tdm_error *err);
    /* Enter: the draft, which isn't empty, is sent; its reply has at most reply_limit tokens. */
    tdm_status (*submit)(void *host, int reply_limit, tdm_error *err);
    /* Ends the reply that runs, so that the message that waits for it is answered. */
    tdm_status (*send_now)(void *host, tdm_error *err);
    /* SCRIPT_CONTINUE, _REGENERATE, _UNDO or _REDO; no reply runs. */
    tdm_status (*act)(void *host, script_action action, int reply_limit, tdm_error *err);
} player_functions;

typedef enum {
    PLAYER_BEGIN,
    PLAYER_TYPE,
    PLAYER_ENTER,
    PLAYER_LATE,
    PLAYER_END,
    PLAYER_DONE,
    PLAYER_STAGES
} player_stage;

/* The cause of a reply. */
typedef struct {
    int turn;             /* of the script, from 0 */
    script_action action; /* SCRIPT_SEND, _REGENERATE or _CONTINUE */
} player_cause;

enum { PLAYER_REPLIES = 4 }; /* at most one runs, one message is queued, and one has just ended */

typedef struct {
    const script *script;
    const player_functions *functions;
    void *host;
    int64_t rest_ns;     /* pause after a reply or a late action, so that a user can read it; 0: none. Set it after
                            player_open */
    struct buffer draft; /* the contents of the input */
    int turn;            /* the script's, from 0 */
    int sent;            /* replies requested so far, by messages or otherwise */
    int begun, ended;    /* how many of these have begun, and ended */
    int reply_tokens;    /* of the reply that runs; 0: none runs */

    /* The player's own. */
    player_cause causes[PLAYER_REPLIES]; /* of the reply of this number; a ring */
    player_stage stage;
    int limit, limit_before; /* token limits of the reply requested last, and of the one before this turn's Enter */
    int event;               /* index of the turn's next event */
    int character;           /* the next to be typed */
    size_t at;               /* its byte in the turn's text */
    int64_t due_ns;          /* of the last key, or of Enter; 0: the turn's first key isn't due yet */
    int64_t rested_ns;       /* when the pause ends; 0: there is none */
    int64_t next_ns;
    bool waits;   /* it waits until next_ns; INT64_MAX: for an event */
    bool pressed; /* a key was pressed in this step */
} player;

/* The script must live as long as the player. */
void player_open(player *p, const script *s, const player_functions *functions, void *host);
void player_close(player *p);

/* Does what is due. *next_ns: when it is to be called again, or as soon as an event was passed to the player
 * (INT64_MAX: then only). */
tdm_status player_step(player *p, int64_t *next_ns, tdm_error *err);
/* Takes every event of the chat, in order. */
void player_event(player *p, const tdm_event *e);
/* True: all text is typed, and every reply has ended. */
bool player_done(const player *p);
/* The cause of the reply that ended last; one must have ended. */
const player_cause *player_ended(const player *p);

#endif
