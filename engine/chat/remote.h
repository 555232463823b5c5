/* What a chat does in another way where its model is on a server (chat_on_server). Its replies: writer/stream.h. */
#ifndef TANDEM_CHAT_REMOTE_H
#define TANDEM_CHAT_REMOTE_H

#include "engine/chat/chat.h"

/* TDM_E_UNSUPPORTED: an option asks for what only a model on this machine can do. */
tdm_status remote_check(const tdm_chat_options *o, const tdm_model *m, tdm_error *err);
/* The server gets the target's text and messages where it is asked to evaluate its tokens. */
void remote_want(struct tdm_chat *c);
/* Lowers the level to what may be read ahead on the server. told: an event says so, unless it was as low before. */
void remote_cap(struct tdm_chat *c, bool told);
/* By which factor a context may hold more of our tokens than of the server's; 1 for a model on this machine. Words are
 * counted with a small vocabulary here, and the server knows better when its context is full. */
uint32_t remote_room_factor(const struct tdm_chat *c);
/* Posts a notice of the options that have no meaning there; once. */
void remote_tell(struct tdm_chat *c);
/* A key has changed the draft, and something may be sent before Enter: the server's caller learns of it, so without the
 * lock. */
void remote_warn(const struct tdm_chat *c);
/* The least rest of a draft that is worth a request, in ns. */
int64_t remote_pause_ns(const struct tdm_chat *c);

#endif
