/* What is attached and not sent, in a saved session: it stays there as the draft does when the program has to leave.
 * What words of the draft stand for is read anew with that draft. One thread. */
#ifndef TANDEM_SRC_PENDING_H
#define TANDEM_SRC_PENDING_H

#include "src/attach/attach.h"
#include "src/session/session.h"

/* Whether there are attachments to keep. */
bool pending_any(const attachments *a);
/* Adds copies to the session. */
tdm_status pending_keep(session *s, const attachments *a, tdm_error *err);
/* Reads a picture that a session has kept; *seen is the caller's. False: it is not there any more. */
typedef bool pending_picture(void *ctx, const session_picture *p, const picture **out, tdm_picture **seen);
/* Attaches what the session has kept, and counts it; attachments beyond the limits are left out. */
void pending_bring(attachments *a, const session *s, const tdm_model *model, pending_picture *its, void *ctx);

#endif
