/* How a chat differs if its model is on a server (chat_on_server). Its replies: writer/stream.h. */
#ifndef TANDEM_CHAT_REMOTE_H
#define TANDEM_CHAT_REMOTE_H

#include "engine/chat/chat.h"

/* TDM_E_UNSUPPORTED: an option asks for what only a model on this machine can do. */
tdm_status remote_check(const tdm_chat_options *o, const tdm_model *m, tdm_error *err);
/* Notes the target's text and messages, for the request that asks the server to evaluate its tokens. */
void remote_want(struct tdm_chat *c);
/* Is the target worth a request? Not a template's words alone; and where the server renders the messages, not before
 * there is one of the user: many servers refuse an empty list, and templates one without a user's message. */
bool remote_asks(const struct tdm_chat *c);
/* Lowers the level to what may be read ahead on the server. told: post an event about it, unless the level was as low
 * before. */
void remote_cap(struct tdm_chat *c, bool told);
/* The factor by which tokens counted here may exceed the server's context; 1 for a model on this machine. The small
 * vocabulary for counting yields more tokens than the server's own, and the server knows best when its context is
 * full. */
uint32_t remote_room_factor(const struct tdm_chat *c);
/* Posts one notice about the options that have no effect on a server. */
void remote_tell(struct tdm_chat *c);
/* Calls the server's function `soon`: a key has changed the draft, and something may be sent before Enter. To be called
 * without the lock. */
void remote_warn(const struct tdm_chat *c);
/* The shortest pause, in ns, after which a draft is worth a request. */
int64_t remote_pause_ns(const struct tdm_chat *c);

#endif
