/* Pictures are encoded before their tokens are read: those of the target, of a prompt that is evaluated from its
 * beginning, and of what is typed while a reply is written. They are encoded one at a time, in their order, and a job
 * encodes one layer (a step), or a part of it on a slow GPU. So whatever else the unit has to do comes between two
 * layers, and a picture that was taken out of all of these is given up there. The rows of a picture are held as long as
 * it is in one of them.
 *
 * Pictures whose tokens are in a state already, read from a file perhaps, need no rows. */
#ifndef TANDEM_CHAT_PICTURES_H
#define TANDEM_CHAT_PICTURES_H

#include "engine/chat/chat.h"

/* The work that a unit has to do before it reads: a step of encoding. When this returns false, the rows that the unit's
 * next job needs are held, or they can't be made. *busy: the other unit is encoding. */
bool pictures_next(struct tdm_chat *c, struct work *work, bool *busy);

/* As tdm_chat_picture_of. */
void pictures_tell(const struct tdm_chat *c, const tdm_picture *p, tdm_picture_status *out);

void pictures_close(struct reader_pictures *s, struct vision *vision);

#endif
