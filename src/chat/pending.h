/* What is attached and not sent, in a saved session: it stays there as the draft does when the program has to leave.
 * What words of the draft stand for is read anew with that draft. One thread. */
#ifndef TANDEM_SRC_PENDING_H
#define TANDEM_SRC_PENDING_H

#include "src/chat/attach.h"
#include "src/session/session.h"

/* Whether there is something to keep. */
bool pending_any(const attachments *a);
/* Adds copies to the session. */
tdm_status pending_keep(session *s, const attachments *a, tdm_error *err);
/* Attaches what the session has kept, and counts it; what has no place is left out. */
void pending_bring(attachments *a, const session *s, const tdm_model *model);

#endif
