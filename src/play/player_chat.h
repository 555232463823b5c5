/* A player (src/play/player.h) on a chat without a screen, in real time: it types into the chat's draft, and Enter
 * sends that. */
#ifndef TANDEM_SRC_PLAYER_CHAT_H
#define TANDEM_SRC_PLAYER_CHAT_H

#include "src/play/player.h"

typedef struct {
    player player;
    tdm_chat *chat;            /* the caller's */
    tdm_chat_options settings; /* of the chat: the script changes its level of speculation and the limit of replies */
    /* Called with every event, after the player has counted it; an error ends the play. May be NULL. */
    tdm_status (*seen)(void *host, const tdm_event *e, tdm_error *err);
    /* Is called at least every tick_ms (0: 500); false ends the play (TDM_E_CANCELLED). May be NULL. */
    bool (*tick)(void *host);
    int tick_ms;
    int64_t rest_ns; /* as the player's */
    const tdm_placed_picture *pictures; /* pictures of the first message that is sent */
    size_t n_pictures;
} player_chat;

/* The functions for a player_chat as host. A larger host begins with a player_chat, and may replace some of these
 * functions by its own. */
extern const player_functions player_chat_functions;

/* Plays the script to its end. TDM_E_CANCELLED after Ctrl-C, or when standard output is closed; TDM_E_REFUSED if a
 * requested reply doesn't come. */
tdm_status player_chat_play(player_chat *c, const script *s, const player_functions *functions, tdm_error *err);

#endif
