/* Pictures are encoded before their tokens are read: those of the target, of the prompter's prompt, and of the draft
 * that is typed while a reply is written. They are encoded one at a time, in their order, and a job encodes one layer
 * (a step), or a part of it on a slow GPU. So the unit can do other work between two layers, and a picture that is in
 * none of these any more is given up there. The rows of a picture are held as long as it is in one of them.
 *
 * Pictures whose tokens are in a state already, read from a file perhaps, need no rows. */
#ifndef TANDEM_CHAT_PICTURES_H
#define TANDEM_CHAT_PICTURES_H

#include "engine/chat/chat.h"

/* The next step of encoding that a unit must do before it reads. False: there is none, since the rows that the unit's
 * next job needs are held, or can't be made. *busy: the other unit is encoding. */
bool pictures_next(struct tdm_chat *c, struct work *work, bool *busy);

/* As tdm_chat_picture_of. */
void pictures_tell(const struct tdm_chat *c, const tdm_picture *p, tdm_picture_status *out);

void pictures_close(struct reader_pictures *s, struct vision *vision);

#endif
